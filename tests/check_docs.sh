#!/bin/bash
# The documents agree with the tree: links lead somewhere, each folder has its page, and pages name files that exist. Lines are short, and
# tables whole.
# Usage: check_docs.sh [ROOT [links]]; links: of installed documents, where the files that they are about are not.
set -u
cd "${1:-$(dirname "$0")/..}" || exit 2
failures=0
complain() {
	echo "$*"
	failures=$((failures + 1))
}

# links DOCUMENT...: each link of theirs outside of code blocks: document, line, target, part of it that is named ("-": none),
# whether the target is a document without that part.
links() {
	awk '
	FNR == 1 { code = 0; read_too[FILENAME] }
	/^```/ { code = !code; next }
	code { next }
	/<a id="/ {
		for (line = $0; match(line, /<a id="[^"]*"/); line = substr(line, RSTART + RLENGTH))
			parts[FILENAME, substr(line, RSTART + 7, RLENGTH - 8)]
	}
	/^#+ / {
		line = tolower($0)
		sub(/^#+ +/, "", line)
		gsub(/[^a-z0-9_ -]/, "", line)
		gsub(/ /, "-", line)
		parts[FILENAME, line]
	}
	{
		for (line = $0; match(line, /\]\([^()]+\)/); line = substr(line, RSTART + RLENGTH)) {
			links++
			document[links] = FILENAME
			number[links] = FNR
			link[links] = substr(line, RSTART + 2, RLENGTH - 3)
		}
	}
	END {
		for (i = 1; i <= links; i++) {
			if (link[i] ~ /:\/\/|^mailto:/)
				continue
			path = part = link[i]
			sub(/#.*/, "", path)
			if (!sub(/^[^#]*#/, "", part))
				part = "-"
			target = document[i]
			if (path != "")
				sub(/[^\/]*$/, path, target)
			while (sub(/[^\/.]+\/\.\.\//, "", target)) # a/../b is b
				;
			print document[i] ":" number[i], target, part, part != "-" && target in read_too && !((target, part) in parts)
		}
	}' "$@"
}

mapfile -t documents < <(find README.md CONTRIBUTING.md CHANGELOG.md docs -name '*.md' 2>/dev/null | sort)
while read -r place target part missing; do
	if [[ ! -e $target ]]; then
		complain "$place: there is no $target"
	elif ((missing)); then
		complain "$place: $target has no part $part"
	fi
done < <(((${#documents[@]})) && links "${documents[@]}")

# Lines of prose have at most 130 columns. Code and tables may be longer, and one word or one piece of code by itself.
while IFS= read -r fault; do
	complain "$fault"
done < <(((${#documents[@]})) && LC_ALL=C awk '
	FNR == 1 { code = 0 }
	/^ *```/ { code = !code }
	{ line = $0; gsub(/[\200-\277]/, "", line) }
	!code && length(line) > 130 && !/^ *\|/ && /^ *([-*] )?[^ `]+ +[^ ]|^ *([-*] )?`[^`]*`.* [^ ]/ {
		print FILENAME ":" FNR ": a line of " length(line) " columns"
	}' "${documents[@]}")

# A table begins with a heading and a line below it: an empty line in the middle makes text of the rows behind it.
while IFS= read -r fault; do
	complain "$fault"
done < <(((${#documents[@]})) && awk '
	FNR == 1 { code = row = 0 }
	/^ *```/ { code = !code }
	row == 1 && !/^ *\|[-| :]+$/ { print FILENAME ":" FNR - 1 ": a table without a heading" }
	{ row = !code && /^ *\|/ ? row + 1 : 0 }' "${documents[@]}")

# Each folder has its page among the internals, and the index leads to each page.
if [[ -d docs/internals && ${2:-} != links ]]; then
	for folder in src/*/ sim/ io/ scene/ view/ web/ tools/ tests/; do
		page=docs/internals/$(basename "$folder").md
		[[ ! -d $folder || -f $page ]] || complain "$folder has no page $page"
	done
	for page in docs/internals/*.md; do
		name=$(basename "$page")
		[[ $name == README.md ]] || grep -qF "]($name)" docs/internals/README.md || complain "docs/internals/README.md does not lead to $name"
	done
	while IFS= read -r fault; do
		complain "$fault"
	done < <(grep -noE '`[a-z0-9_/]+\.(c|h|cpp|sh)`' docs/internals/*.md /dev/null | tr -d '`' | awk -F: '
		NR == FNR { sub(/.*\//, ""); files[$0]; next }
		{
			name = $3
			sub(/.*\//, "", name)
			if (!(name in files))
				print $1 ":" $2 ": there is no file " $3
		}' <(find src include sim io scene view web tools bench tests cmake plugins examples bindings -type f 2>/dev/null; echo) -)
fi

if ((failures > 0)); then
	echo "$failures faults of documents"
	exit 1
fi
echo "the documents agree with the tree"
