#!/bin/bash
# Each header alone: public ones in strict C17 and C++17, the others in C17. A header that the source of its name includes before anything else
# stands alone where that source compiles. Usage: check_headers.sh CC CXX [ROOT [BUILD]]; BUILD was compiled with warnings as errors.
set -u
cc=$1
cxx=$2
cd "${3:-$(dirname "$0")/..}" || exit 2
compiled=${4:+$4/compile_commands.json}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
count=0
# compile LANGUAGE FOLDER COMMAND... -- HEADER...: a file that includes a header, for each, by its name in the folder; one call of the compiler, which
# judges each file by itself. What it says names the file that includes the header.
compile() {
	local language=$1 folder=$2 command=() files=() file
	shift 2
	while [[ $1 != -- ]]; do
		command+=("$1")
		shift
	done
	shift
	for header in "$@"; do
		count=$((count + 1))
		file=$work/$count.${header//\//_}.$language
		printf '#include "%s"\n' "${header#"$folder"}" >"$file"
		files+=("$file")
	done
	((${#files[@]} == 0)) || "${command[@]}" -fsyntax-only -Wall -Wextra -Wshadow -Werror "${files[@]}" && return
	echo "a header does not stand alone: ${command[*]}"
	failures=$((failures + 1))
}
# not_first FOLDER HEADER...: those that no compiled source of their name includes first, before any other line for the preprocessor. Kernels are
# compiled with macros of their own: they prove nothing.
not_first() {
	local folder=$1 header source
	shift
	for header in "$@"; do
		source=${header%.h}.c
		[[ -e $compiled && $source != *_kernels.c && -e $source ]] && grep -qF "/$source\"," "$compiled" &&
			[[ $(grep -m 1 '^ *#' "$source") == "#include \"${header#"$folder"}\"" ]] || echo "$header"
	done
}
compile c include/ "$cc" -std=c17 -pedantic-errors -Iinclude -- include/carom/*.h
compile cpp include/ "$cxx" -std=c++17 -pedantic-errors -Iinclude -- include/carom/*.h
# A form that builders fill in is included by them only.
mapfile -t headers < <(grep -L '^/// Included by builders only' src/*/*.h)
mapfile -t headers < <(not_first src/ "${headers[@]}")
compile c src/ "$cc" -std=c17 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc -- "${headers[@]}"
read -ra packages < <(pkg-config --cflags hdf5 2>/dev/null) # what headers of io/ and scene/ may include
shopt -s nullglob
mapfile -t headers < <(not_first "" sim/*/*.h io/*.h scene/*.h view/*.h plugins/*.h)
compile c "" "$cc" -std=c17 -D_POSIX_C_SOURCE=200809L -Iinclude -I. "${packages[@]}" -- "${headers[@]}"
while read -r place; do
	echo "$place: more than 100 columns"
	failures=$((failures + 1))
done < <(awk '{ line = $0; gsub(/\t/, "    ", line) } length(line) > 100 { print FILENAME ":" FNR }' include/carom/*.h)
echo "$count compilations, $failures failures"
((failures == 0 && count > 0))
