#!/bin/bash
# What check_layout.py must find: a struct that grows, a member that moves or goes, a value that changes. What is new is told, and is no fault.
# Usage: check_layout_fails.sh PYTHON COMPILER SOURCE_FOLDER
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$(cd "$(dirname "$0")" && pwd)

copy() {
	rm -rf "$work/tree"
	mkdir -p "$work/tree/bindings/python" "$work/tree/debian"
	cp -r "$3/include" "$work/tree/"
	cp "$3"/debian/*.layout "$work/tree/debian/"
	cp "$3"/bindings/python/{tables,member_words}.py "$work/tree/bindings/python/"
}
# wants RESULT PATTERN PYTHON COMPILER: the check of the copy ends so, and says that.
wants() {
	local result=0
	"$3" "$here/check_layout.py" "$4" "$work/tree" >"$work/out" || result=$?
	[[ $result == "$1" ]] || { echo "the check ends with $result, not $1: $(<"$work/out")"; exit 1; }
	grep -qE "$2" "$work/out" || { echo "the check does not say '$2': $(<"$work/out")"; exit 1; }
}
copy "$@"
status=0
"$1" "$here/check_layout.py" "$2" "$work/tree" >/dev/null || status=$?
[[ $status != 77 ]] || exit 77
wants 0 'promised places and values' "$1" "$2"
sed -i 's|^\tdouble weld_distance;|\tdouble weld_distance;\n\tdouble weld_angle;|' "$work/tree/include/carom/mesh.h"
wants 1 'carom_mesh_def was [0-9]+, and is [0-9]+' "$1" "$2"
wants 1 'carom_mesh_def.centre was ' "$1" "$2"
wants 1 'new since .* carom_mesh_def.weld_angle' "$1" "$2"
copy "$@"
sed -i 's|^\tcarom_scalar type;|\tcarom_scalar kind;|' "$work/tree/include/carom/mesh.h"
wants 1 'carom_strided.type is gone' "$1" "$2"
copy "$@"
sed -i 's|^\tCAROM_MESH_HLBVH,|\tCAROM_MESH_FAST,\n\tCAROM_MESH_HLBVH,|' "$work/tree/include/carom/mesh.h"
wants 1 'CAROM_MESH_LBVH was 2, and is 3' "$1" "$2"
copy "$@"
printf 'typedef struct carom_new_thing {\n\tint value;\n} carom_new_thing;\n' >"$work/new"
sed -i "/^\/\/\/ The type of coordinates/{
r $work/new
N
}" "$work/tree/include/carom/mesh.h"
wants 0 'new since .* carom_new_thing' "$1" "$2"
