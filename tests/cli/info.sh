#!/bin/bash
# carom info: meshes sound and dirty, motions, recordings.
source "${CAROM_SOURCE:?names the repository}/tests/cli/common.bash" || exit

cube a.obj 3
expect 0 out '^a.obj: a mesh of 8 vertices and 12 triangles$' info a.obj
expect 0 out '"closed":[[:space:]]*true' info --json --epo a.obj
same volume "$(field volume out)" 8
same area "$(field area out)" 24
same euler "$(field euler out)" 2
grep -q '"lower":.*\[2, -1, -1\]' out || fail "the box is wrong: $(cat out)"
grep -q '"centre_of_mass":.*\[3, 0, 0\]' out || fail "the centre is wrong: $(cat out)"
grep -q '"epo"' out || fail "--epo gives no end-point overlap"

# A mesh with faults is an answer, not a failure.
sed 's/^v 4 1 1/v 4 inf 1/' a.obj > inf.obj
expect 0 out '^  error +vertex 6: y is infinite' info inf.obj
expect 0 out '"usable":[[:space:]]*false' info --json inf.obj
same nonfinite_vertices "$(field nonfinite_vertices out)" 1
grep -v '^f 1 4' a.obj > open.obj
expect 0 out '^  closed +no' info open.obj
expect 0 out '^  4 +border edges' info open.obj
awk '/^f/ { print $1, $5, $4, $3, $2; next } { print }' a.obj > inverted.obj
expect 0 out 'inside out' info inverted.obj

: > empty.obj
expect 1 err '^carom: error: empty.obj: is empty' info empty.obj
expect 1 err '^carom: error: \.: ' info .
head -c 100 "$CAROM" > program.ply
expect 1 err '^carom: error: program.ply: is not a PLY file' info program.ply
printf '\211HDF\r\n\032\nrubbish' > broken.h5
expect 1 err '^carom: error: .*broken.h5' info broken.h5
printf '\037\213rubbish' > broken.rbt.gz
expect 1 err '^carom: error: broken.rbt.gz: is not a recorded motion' info broken.rbt.gz

if [ -n "${CAROM_DATA:-}" ] && [ -d "$CAROM_DATA/meshes/dirty" ]; then
	for mesh in "$CAROM_DATA"/meshes/dirty/*; do
		status=0
		"$CAROM" info "$mesh" --json > out 2> err || status=$?
		case $status in
			0) grep -q '"usable"' out || fail "no answer for $mesh" ;;
			1) grep -qF "carom: error: $mesh: " err || fail "no error for $mesh: $(cat err)" ;;
			*) fail "exit code $status for $mesh: $(cat err)" ;;
		esac
	done
	expect 1 err 'header-only.ply: holds no triangles' info "$CAROM_DATA/meshes/dirty/header-only.ply"
	expect 1 err 'empty.stl: holds no triangles' info "$CAROM_DATA/meshes/dirty/empty.stl"
	expect 0 out 'vertex 0: x is infinite' info "$CAROM_DATA/meshes/dirty/nan-inf-coordinates.obj"
	expect 0 out '"volume":[[:space:]]*8,' info --json "$CAROM_DATA/meshes/dirty/negative-indices-quads.obj"
	expect 0 out '^  note +triangle 3 has two corners' info "$CAROM_DATA/meshes/dirty/repeated-index.obj"
	expect 0 out '512 bodies over 600 frames' info "$CAROM_DATA/trajectories/scene1.rbt.gz"
	expect 0 out '"mesh":[[:space:]]*"bullet-bunny-902.obj"' info --json "$CAROM_DATA/trajectories/scene1.rbt.gz"
fi
