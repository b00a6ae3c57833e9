#!/bin/bash
# Rules of style that a machine can judge: lengths of functions and of README.md, words of comments, one type for boxes, the guide.
# Usage: check_style.sh [ROOT]
set -u
cd "${1:-$(dirname "$0")/..}" || exit 2
failures=0
complain() {
	echo "$*"
	failures=$((failures + 1))
}

mapfile -t all < <(find include src sim io scene view web tools bench examples plugins bindings tests -type f \
	\( -name '*.c' -o -name '*.h' -o -name '*.cpp' \) 2>/dev/null | LC_ALL=C sort)
# sources FOLDER...: the sources in these folders. It starts no process.
sources() {
	local folder file
	for folder in "$@"; do
		for file in "${all[@]}"; do
			[[ $file == "$folder"/* ]] && printf '%s\n' "$file"
		done
	done
}

# What a program leaves behind is not committed: the root holds these files alone.
if [[ -e .git ]]; then
	while IFS= read -r file; do
		case $file in
		.clang-format | .gitignore | CHANGELOG.md | CMakeLists.txt | CMakePresets.json | CONTRIBUTING.md | LICENSE | README.md | dev | pyproject.toml) ;;
		*) complain "$file: a file in the root; does it belong there? (tests/check_style.sh lists them)" ;;
		esac
	done < <(git ls-files | grep -v /)
fi

# lengths: FILE:LINE and the lines between the braces of each function, of files that clang-format laid out. One-line functions count 1.
lengths() {
	xargs -r awk '
		FNR == 1 { start = 0 }
		/^\{$/ { start = FNR; next }
		start && /^\}/ { if ($0 == "}") print FILENAME ":" start, FNR - start - 1; start = 0 }
		/^[A-Za-z_].*\) \{ .* \}$/ { print FILENAME ":" FNR, 1 }'
}

# No function has more than 60 lines, and nine of ten have at most 25.
while read -r place lines; do
	complain "$place: a function of $lines lines; at most 60"
done < <(sources src sim io scene view web tools bench plugins bindings | lengths | awk '$2 > 60')
# Nor has a helper of the tests; a case of a test may be a long table.
while read -r place lines; do
	complain "$place: a helper of $lines lines; at most 60"
done < <(sources tests | xargs -r awk '
	FNR == 1 { start = 0; before = "" }
	/^\{$/ { start = FNR; name = before }
	start && /^\}$/ { if (FNR - start - 1 > 60 && name !~ /^TEST\(/) print FILENAME ":" start, FNR - start - 1; start = 0 }
	{ before = $0 }')
for folder in src sim io scene view web tools bench bindings; do
	long=$(sources "$folder" | lengths | awk '{ all++; long += $2 > 25 } END { if (10 * long > all) print long " of " all }')
	[[ -z $long ]] || complain "$folder: $long functions have more than 25 lines; at most one of ten"
done

# What another file defines is declared in a header, where both see it.
while IFS= read -r hit; do
	complain "$hit: a declaration of what another file defines belongs into a header"
done < <(sources src sim io scene view web tools bench examples plugins bindings tests | grep '\.c$' | xargs -r grep -nE '^extern ' /dev/null)

# A comment can be read alone: it does not begin with a word for another one.
while IFS= read -r hit; do
	complain "$hit: a comment that begins so cannot be read alone"
done < <(sources include src sim io scene view web tools bench examples plugins bindings | xargs -r grep -noE '//+<? ?(The same|The rest)\b' /dev/null)

# Comments keep to 100 columns, a tab being 4: whole lines of them, and lines that end in one.
while IFS= read -r fault; do
	complain "$fault"
done < <(sources include src sim io scene view web tools bench examples plugins bindings | LC_ALL=C xargs -r awk '
	{
		line = $0
		gsub(/[\200-\277]/, "", line) # further bytes of a character
		for (columns = i = 0; i < length(line); )
			columns += substr(line, ++i, 1) == "\t" ? 4 - columns % 4 : 1
		if (columns > 100 && line ~ /(^|[ \t;{,])\/\/[\/ ]/ && line !~ /cppcheck-suppress/)
			print FILENAME ":" FNR ": a comment that ends in column " columns "; at most 100"
	}')

# A comment has a noun where it could have a relative "what": fewer than 1 in 2000 words.
whats=$(sources include src | xargs -r awk '
	match($0, /\/\/+<?/) {
		n = split(tolower(substr($0, RSTART + RLENGTH)), word, /[^a-z]+/)
		for (i = 1; i <= n; i++) {
			words += word[i] != ""
			whats += word[i] == "what"
		}
	}
	END { if (2000 * whats > words) print whats " in " words }')
[[ -z $whats ]] || complain "include, src: \"what\" in comments: $whats words; fewer than 1 in 2000"

# A newcomer reads the first page to its end.
if [[ -f README.md ]]; then
	lines=$(wc -l <README.md)
	((lines <= 90)) || complain "README.md: $lines lines; at most 90"
fi

# A box has one type, in src/math.
while IFS= read -r hit; do
	complain "$hit: boxes have one type, box3f or box3d (src/math/box3.h)"
done < <(sources src | xargs -r grep -nE 'typedef struct box \{|^\} box;' /dev/null)
# Whatever its name: a struct of two corners and nothing else. Eight boxes have a type too, in src/math/box8.h.
while IFS= read -r hit; do
	complain "$hit: boxes have one type, box3f or box3d (src/math/box3.h)"
done < <(sources src | grep -v '^src/math/box[38]\.h$' | xargs -r awk '
	FNR == 1 { inside = 0 }
	/^typedef struct [a-z0-9_]* \{$/ { name = $3; body = ""; start = FNR; inside = 1; next }
	inside && /^\}/ {
		inside = 0
		gsub(/[ \t]+/, " ", body)
		if (body ~ /^ ?(float|double) (lower|low|min)\[3\](,|; ?(float|double)) ?(upper|high|max)\[3\]; ?$/)
			print FILENAME ":" start ": " name
	}
	inside { sub(/\/\/.*/, ""); body = body $0 }')

# The surface area heuristic has one binner, src/tree/split.h: there alone bins grow and the costs of parting between them are compared.
while IFS= read -r hit; do
	complain "$hit: a second binner of the surface area heuristic; include tree/split.h"
done < <(sources src | grep -vE '^src/(tree/split\.h$|spheres/)' | xargs -r grep -nE '(right|left)_(cost|area)s?\[|(bounds|box|boxes)\[[a-z_.>-]*bin(s?\[[a-z]\])?\]' /dev/null)
while IFS= read -r file; do
	grep -q '#include "tree/split.h"' "$file" || complain "$file: bins of the surface area heuristic without tree/split.h"
done < <(sources src | grep -v '^src/tree/split\.h$' | xargs -r grep -lE '(SPLIT|SAH)_BINS' /dev/null)

# The guide shows code: 60 blocks in all, few numbers, short paragraphs.
if [[ -d docs/guide ]]; then
	blocks=$(cat docs/guide/*.md | grep -c '^```c$')
	((blocks >= 60)) || complain "docs/guide: $blocks blocks of C; at least 60"
	while IFS= read -r fault; do
		complain "$fault"
	done < <(awk '
		function page_ends() {
			if (words > 0 && 100 * numbers >= 3 * words)
				print page ": " numbers " numbers in " words " words; fewer than 3 in 100"
			words = numbers = paragraph = 0
		}
		FNR == 1 { page_ends(); page = FILENAME; code = 0 }
		/^```/ { code = !code; paragraph = 0; next }
		code { next }
		/^[|#]/ || /^[ \t]*$/ { paragraph = 0; next }
		/^[ \t]*([-*]|[0-9]+\.) / { paragraph = 0 }
		{
			words += NF
			for (i = 1; i <= NF; i++)
				numbers += $i ~ /^[(]?-?[0-9]/
			if (paragraph <= 120 && paragraph + NF > 120)
				print FILENAME ":" FNR ": a paragraph of more than 120 words"
			paragraph += NF
		}
		END { page_ends() }' docs/guide/*.md)
fi

# Below the world a file includes the public headers that it needs, not all of them.
while IFS= read -r hit; do
	complain "$hit: carom.h below the world"
done < <(sources src | grep -v '^src/\(world\|lab\)/' | xargs -r grep -Hn '#include "carom/carom\.h"' | cut -d: -f1,2)

# A world has few settings: what repeats papers is in the laboratory, and the rest belongs to bodies. The cookie is none.
if [[ -f include/carom/world.h ]]; then
	settings=$(awk '/^typedef struct carom_world_def [{]/ { inside = 1; next } /^[}]/ { inside = 0 }
		inside { sub(/[\/][\/].*/, ""); count += gsub(/;/, ""); count -= /int cookie/ } END { print count + 0 }' include/carom/world.h)
	((settings <= 15)) || complain "include/carom/world.h: carom_world_def has $settings settings; at most 15"
fi

# Lists of a frame hold offsets: they may move. cr_walks and cr_casts are views of lists, for as long as a function runs.
if [[ -f src/frame/frame.h ]]; then
	while IFS= read -r hit; do
		complain "src/frame/frame.h:$hit: a pointer in a list of the frame"
	done < <(awk '/^typedef struct (cr_walks|cr_casts) [{]/ { view = 1 } /^typedef struct/ { inside = 1 } /^[}]/ { inside = view = 0 }
		inside && !view { sub(/\/\/.*/, ""); if (/[*]/) print FNR }' src/frame/frame.h)
fi

# Names tell the room: sim_ is declared in sim/, other rooms have prefixes of their own.
sim_names() { sources "$@" | xargs -r grep -ohE '\<sim_[a-z0-9_]+' | sort -u; }
while IFS= read -r name; do
	complain "$name: a name of sim/ that is not there; the prefix is that of the room: io_, scene_, view_, web_"
done < <(comm -23 <(sim_names io scene view web tools bench) <(sim_names sim))

if ((failures > 0)); then
	echo "$failures faults of style"
	exit 1
fi
echo "the style is kept"
