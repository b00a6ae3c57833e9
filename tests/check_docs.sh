#!/bin/bash
# The documents agree with the tree: links lead somewhere, each folder has its page, and pages name files that exist.
# Usage: check_docs.sh [ROOT]
set -u
cd "${1:-$(dirname "$0")/..}" || exit 2
failures=0
complain() {
	echo "$*"
	failures=$((failures + 1))
}

# outside_code FILE: its lines outside of code blocks, each with its number.
outside_code() {
	awk '/^```/ { code = !code; next } !code { print FNR ":" $0 }' "$1"
}

# anchors FILE: the places that a link may name.
anchors() {
	outside_code "$1" | sed 's/^[0-9]*://' | awk '
		{
			line = $0
			while (match(line, /<a id="[^"]*"/)) {
				print substr(line, RSTART + 7, RLENGTH - 8)
				line = substr(line, RSTART + RLENGTH)
			}
		}
		/^#+ / {
			line = tolower($0)
			sub(/^#+ +/, "", line)
			gsub(/[^a-z0-9_ -]/, "", line)
			gsub(/ /, "-", line)
			print line
		}'
}

documents=$(find README.md CONTRIBUTING.md CHANGELOG.md docs -name '*.md' 2>/dev/null | sort)
while IFS=: read -r document line link; do
	case $link in
	*://* | mailto:*) continue ;;
	esac
	path=${link%%#*}
	target=$document
	[[ -z $path ]] || target=$(dirname "$document")/$path
	if [[ ! -e $target ]]; then
		complain "$document:$line: there is no $path"
	elif [[ $link == *#* && $target == *.md ]]; then
		anchors "$target" | grep -qxF -- "${link#*#}" || complain "$document:$line: $target has no part ${link#*#}"
	fi
done < <(for document in $documents; do
	outside_code "$document" | awk -v document="$document" '{
		number = $0
		sub(/:.*/, "", number)
		line = $0
		while (match(line, /\]\([^()]+\)/)) {
			print document ":" number ":" substr(line, RSTART + 2, RLENGTH - 3)
			line = substr(line, RSTART + RLENGTH)
		}
	}'
done)

# Each folder has its page among the internals, and the index leads to each page.
if [[ -d docs/internals ]]; then
	for folder in src/*/ sim/ io/ scene/ view/ web/ tools/ tests/; do
		page=docs/internals/$(basename "$folder").md
		[[ ! -d $folder || -f $page ]] || complain "$folder has no page $page"
	done
	for page in docs/internals/*.md; do
		name=$(basename "$page")
		[[ $name == README.md ]] || grep -qF "]($name)" docs/internals/README.md || complain "docs/internals/README.md does not lead to $name"
	done
	files=$(find src include sim io scene view web tools bench tests cmake plugins examples bindings -type f 2>/dev/null | sed 's,.*/,,')
	while IFS=: read -r page line name; do
		name=${name//\`/}
		grep -qxF -- "${name##*/}" <<<"$files" || complain "$page:$line: there is no file $name"
	done < <(grep -noE '`[a-z0-9_/]+\.(c|h|cpp|sh)`' docs/internals/*.md /dev/null)
fi

if ((failures > 0)); then
	echo "$failures faults of documents"
	exit 1
fi
echo "the documents agree with the tree"
