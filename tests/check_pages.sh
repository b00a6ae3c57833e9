#!/bin/bash
# The reference has no public declaration without a comment, and the pages are whole: each link leads somewhere, nothing is fetched.
# Usage: check_pages.sh PYTHON ROOT
set -eu
python=$1 root=$2
export PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "$*"
	exit 1
}

"$python" "$root/packaging/pages/headers.py" "$root/include/carom"

# A comment that is taken away is missed, be it of a function, a type or a constant.
for name in carom_world_step carom_toi CAROM_MAX_SPHERES; do
	rm -rf "$work/carom"
	cp -r "$root/include/carom" "$work/"
	awk -v name="$name" '{ line[NR] = $0 } END {
		for (i = 1; i <= NR; i++)
			if (line[i] ~ "(CAROM_API|typedef|#define).*" name "([( ]|$)")
				for (j = i - 1; line[j] ~ /^\/\/\//; j--)
					line[j] = ""
		for (i = 1; i <= NR; i++)
			print line[i]
	}' "$(grep -lE "(CAROM_API|typedef|#define).* $name([( ]|\$)" "$work"/carom/*.h)" >"$work/changed"
	cp "$work/changed" "$(grep -lE "(CAROM_API|typedef|#define).* $name([( ]|\$)" "$work"/carom/*.h)"
	if "$python" "$root/packaging/pages/headers.py" "$work/carom" 2>"$work/faults"; then fail "$name may lose its comment"; fi
	grep -q ": $name has no comment" "$work/faults" || fail "not told of $name: $(<"$work/faults")"
done

if ! "$python" -c 'import markdown_it, pygments' 2>"$work/err"; then
	echo "comments are whole; the pages were not made: $(tail -n 1 "$work/err") (Debian: python3-markdown-it, python3-pygments)"
	exit 0
fi
"$python" "$root/packaging/pages/build.py" "$root" "$work/pages"
for page in index guide/hello reference/world reference/index measured/index internals/glossary command; do
	[[ -s $work/pages/$page.html ]] || fail "there is no $page.html"
done
if grep -rlE '(src|href)="https?:|@import|url\(' "$work/pages" --include='*.html' --include='*.css' --include='*.js' | grep -v /files/ |
	xargs -r grep -lE '<(script|link|img)[^>]*(src|href)="https?:|@import|url\('; then fail "a page fetches something"; fi
grep -q '"carom_world_step","reference/world.html#carom_world_step"' "$work/pages/search.js" || fail "search does not know carom_world_step"
grep -q 'id="carom_world_step"' "$work/pages/reference/world.html" || fail "reference/world.html lacks carom_world_step"
