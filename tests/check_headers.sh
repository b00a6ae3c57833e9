#!/bin/bash
# Each header alone: public ones in strict C17 and C++17, the others in C17. Usage: check_headers.sh CC CXX [ROOT]
set -u
cc=$1
cxx=$2
cd "${3:-$(dirname "$0")/..}" || exit 2
failures=0
count=0
compile() { # compile HEADER COMMAND...
	local header=$1
	shift
	count=$((count + 1))
	if ! echo "#include \"$header\"" | "$@" -fsyntax-only -Wall -Wextra -Wshadow -Werror -; then
		echo "$header does not stand alone: $*"
		failures=$((failures + 1))
	fi
}
for header in include/carom/*.h; do
	compile "${header#include/}" "$cc" -std=c17 -pedantic-errors -Iinclude -x c
	compile "${header#include/}" "$cxx" -std=c++17 -pedantic-errors -Iinclude -x c++
done
for header in src/*/*.h; do
	grep -q '^/// Included by builders only' "$header" && continue # a form that each of them fills in
	compile "${header#src/}" "$cc" -std=c17 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc -x c
done
read -ra packages < <(pkg-config --cflags hdf5 2>/dev/null) # what headers of io/ and scene/ may include
for header in sim/*/*.h io/*.h scene/*.h view/*.h plugins/*.h; do
	[[ -e $header ]] && compile "$header" "$cc" -std=c17 -D_POSIX_C_SOURCE=200809L -Iinclude -I. "${packages[@]}" -x c
done
while read -r place; do
	echo "$place: more than 100 columns"
	failures=$((failures + 1))
done < <(awk '{ line = $0; gsub(/\t/, "    ", line) } length(line) > 100 { print FILENAME ":" FNR }' include/carom/*.h)
echo "$count compilations, $failures failures"
((failures == 0 && count > 0))
