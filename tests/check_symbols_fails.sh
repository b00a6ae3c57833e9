#!/bin/bash
# What check_symbols.sh must find: a public function that is gone, one that is renamed, one that no header declares, one without a body.
# Usage: check_symbols_fails.sh NM LIBRARY SOURCE_FOLDER
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$(cd "$(dirname "$0")" && pwd)

# wants PATTERN: the check of the copy fails and prints the pattern.
wants() {
	if "$here/check_symbols.sh" "$1" "$2" "$work" >"$work/out"; then
		echo "the check does not find it: $3"
		exit 1
	fi
	grep -q "$3" "$work/out" || { echo "the check does not say '$3': $(<"$work/out")"; exit 1; }
}
copy() {
	rm -rf "$work/include" "$work/debian"
	mkdir "$work/include" "$work/debian"
	cp -r "$3/include/carom" "$work/include/"
	cp "$3"/debian/*.symbols "$work/debian/"
}
copy "$@"
"$here/check_symbols.sh" "$1" "$2" "$work" >/dev/null
echo ' carom_function_of_yesterday@CAROM_0.1 0.1.0' >>"$work/debian/libcarom0.1.symbols"
wants "$1" "$2" 'gone.*carom_function_of_yesterday'
copy "$@"
sed -i 's/^ carom_world_step@/ carom_world_stride@/' "$work/debian/libcarom0.1.symbols"
wants "$1" "$2" 'gone.*carom_world_stride'
copy "$@"
sed -i 's/carom_world_step(/carom_world_stride(/' "$work/include/carom/world.h"
wants "$1" "$2" 'not in .*: carom_world_stride'
wants "$1" "$2" 'not declared in include/carom: carom_world_step'
