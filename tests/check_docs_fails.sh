#!/bin/bash
# check_docs.sh must find each kind of fault: a check that passes everything would be worth nothing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# plant: a tree without faults.
plant() {
	rm -rf "$work/tree"
	mkdir -p "$work/tree/docs/internals" "$work/tree/src/base"
	cd "$work/tree" || exit 2
	touch src/base/pool.c
	printf '# Carom\n\n[Guide](docs/guide.md), [a part](docs/guide.md#two-words), [here](#carom), [web](https://example.org)\n' >README.md
	printf '# Guide\n\n## Two words\n\n```c\na[0](b);\n```\n<a id="named"></a>[back](../README.md) [named](#named)\n' >docs/guide.md
	printf '# Internals\n\n[base](base.md)\n' >docs/internals/README.md
	printf '# base\n\nThreads: `pool.c`, `base/pool.c`.\n' >docs/internals/base.md
}

# expect STATUS [WORDS]: the check gives this exit status for the planted tree, and says these words.
expect() {
	local wanted=$1 words=${2:-} status
	"$here/check_docs.sh" "$work/tree" >"$work/log" 2>&1
	status=$?
	if ((status != wanted)) || ! grep -qF -- "$words" "$work/log"; then
		echo "exit status $status, expected $wanted and '$words'"
		cat "$work/log"
		failures=$((failures + 1))
	fi
}

plant
expect 0
plant
echo '[gone](docs/gone.md)' >>README.md
expect 1 'README.md:4: there is no docs/gone.md'
plant
echo '[gone](guide.md#three-words)' >>docs/guide.md
expect 1 'docs/guide.md:9: docs/guide.md has no part three-words'
plant
printf '%0131d\n```\n%0100d %0100d\n```\n| %0131d | |\n|---|---|\n`%0100d %0100d`\n' 0 0 0 0 0 0 >>README.md
expect 0
plant
printf '%0100d %030d\n' 0 0 >>README.md
expect 1 'README.md:4: a line of 131 columns'
plant
printf '| a | b |\n|---|---|\n| 1 | 2 |\n' >>README.md
expect 0
printf '\n| 3 | 4 |\n| 5 | 6 |\n' >>README.md
expect 1 'README.md:8: a table without a heading'
plant
mkdir src/math
expect 1 'src/math/ has no page docs/internals/math.md'
plant
touch docs/internals/math.md
expect 1 'docs/internals/README.md does not lead to math.md'
plant
mv src/base/pool.c src/base/threads.c
expect 1 'docs/internals/base.md:3: there is no file pool.c'
echo "$failures failures"
((failures == 0))
