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
sed 's/^v 4 1 1/v 4 1e13 1/' a.obj > far.obj
expect 0 out '^  error +vertex 6: y is 1e\+13' info far.obj
expect 0 out '"usable":[[:space:]]*false' info --json far.obj
sed 's/^v 4 1 1/v 4 inf 1/' a.obj > inf.obj
expect 1 err '^carom: error: inf.obj: line 7: vertex 6: y is infinite$' info inf.obj
grep -v '^f 1 4' a.obj > open.obj
expect 0 out '^  closed +no' info open.obj
expect 0 out '^  4 +border edges' info open.obj
awk '/^f/ { print $1, $5, $4, $3, $2; next } { print }' a.obj > inverted.obj
expect 0 out 'inside out' info inverted.obj

# A doubled triangle is left out, and its edges then explain why the mesh is not closed.
awk '/^f 5/ { print "f 5 6 7"; print "f 5 7 8"; print "f 5 6 7"; print "v 0 0 9"; print "f 5 6 9"; print "f 6 7 9"; print "f 7 5 9"; next } { print }' a.obj > doubled.obj
expect 0 out '^  closed +no' info doubled.obj
expect 0 out '^  1 +duplicate triangles' info doubled.obj
expect 0 out '^  3 +edges of more than two triangles, more often one way than the other' info doubled.obj
expect 0 out '"unbalanced_edges":[[:space:]]*3' info doubled.obj --json
expect 0 err 'doubled.obj: 1 duplicate triangle \(left out\), 3 edges of more than two triangles, 3 edges more often one way' check doubled.obj
# Both sides of a sheet: no vertex of it has a normal.
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 3 2 1\n' > sheet.obj
expect 0 out '^  3 +vertices without a normal' info sheet.obj
expect 0 out '"normalless_vertices":[[:space:]]*3' info sheet.obj --json
# Doubles are said to be such.
awk '/^v/ { $2 = $2 + 100000 ".3" } { print }' a.obj > far.obj
expect 0 out '^  numbers +doubles; as floats 8 vertices change, a coordinate by at most 0.00' info far.obj
expect 0 out '"scalar":[[:space:]]*"float64"' info far.obj --json
same rounded_vertices "$(field rounded_vertices out)" 8
expect 0 out '"scalar":[[:space:]]*"float32"' info a.obj --json
same rounding "$(field rounding out)" 0

# No number is minus zero.
printf 'v -0 0 0\nv 1 0 0\nv -0 1 0\nf 1 2 3\n' > zero.obj
expect 0 out '"lower"' info zero.obj --json
! grep -qE -- '-0([],]|$)' out || fail "minus zero: $(cat out)"

: > empty.obj
expect 1 err '^carom: error: empty.obj: is empty' info empty.obj
expect 1 err '^carom: error: \.: ' info .
head -c 100 "$CAROM" > program.ply
expect 1 err '^carom: error: program.ply: is not a PLY file' info program.ply
printf '\211HDF\r\n\032\nrubbish' > broken.h5
expect 1 err '^carom: error: .*broken.h5' info broken.h5
printf '\037\213rubbish' > broken.rbt.gz
expect 1 err '^carom: error: broken.rbt.gz: is not a recorded motion' info broken.rbt.gz


# What comes through a pipe can be read once only, and its format is told by its bytes.
# piped FILE PATTERN ARGUMENT...
piped() {
	local file=$1 pattern=$2
	shift 2
	cat "$file" | "$CAROM" "$@" > out 2> err || fail "exit code $?: cat $file | carom $* ($(head -c 600 err))"
	grep -qE -- "$pattern" out || fail "no '$pattern' on stdout: cat $file | carom $* ($(head -c 600 out))"
}
"$CAROM" make lumpy --triangles 902 -o l.obj && "$CAROM" make lumpy --triangles 902 -o l.ply && "$CAROM" make lumpy --triangles 902 -o l.stl
awk '/^v/ { $1 = ""; v[++n] = $0 } /^f/ { f[++m] = "3 " $2 - 1 " " $3 - 1 " " $4 - 1 } END { print "OFF"; print n, m, 0
	for (i = 1; i <= n; i++) print v[i]; for (i = 1; i <= m; i++) print f[i] }' l.obj > l.off
for extension in obj ply stl off; do
	piped l.$extension ': a mesh of 453 vertices and 902 triangles$' info /dev/stdin
	piped l.$extension 'does not intersect itself' check /dev/stdin
	piped l.$extension '"spheres":[[:space:]]*[1-9]' make spheres /dev/stdin --radius 0.1 -o s.sph --json
	"$CAROM" info l.$extension --json | grep -v '"first_finding"' > by_path
	piped l.$extension '"kind":[[:space:]]*"mesh"' info /dev/stdin --json
	grep -v '"first_finding"' out | diff by_path - || fail "l.$extension holds something else by pipe"
done
piped l.obj '"collides":[[:space:]]*false' check /dev/stdin l.ply --pose-b 9,0,0,0,0,0,1 --json
piped s.sph '[0-9] spheres$' info /dev/stdin
printf 'x,y,z,r\n1,2,3,4\n' > s.csv
piped s.csv '1 touching|0 touching|spheres' spheres /dev/stdin
printf 'RBTRAJ1\0' | "$CAROM" info /dev/stdin 2> err && fail "a motion from a pipe was read"
grep -q '^carom: error: /dev/stdin: is a recorded motion, and those are read from files' err || fail "no word on pipes: $(cat err)"

# Damage is told with its place, and what a header claims takes no memory.
head -c -3 l.off > cut.off
expect 1 err '^carom: error: cut.off: line 1357: ' info cut.off
printf 'OFF\n900000000 1 0\n0 0 0\n' > claim.off
expect 1 err '^carom: error: claim.off: line 2: ends too early: 900000000 vertices and 1 faces do not fit in it' info claim.off
head -c 200 l.stl > cut.stl
expect 1 err '^carom: error: cut.stl: byte 200: ends too early, in triangle 2 of 902' info cut.stl
head -c 84 /dev/zero > none.stl
expect 1 err '^carom: error: none.stl: holds no triangles$' info none.stl
{ head -c 30000 l.obj; head -c 512 /dev/zero; tail -c +30513 l.obj; } > zeros.obj
expect 1 err '^carom: error: zeros.obj: line [0-9]+: holds a zero byte' info zeros.obj
printf 'not a mesh at all' > words.txt
expect 1 err '^carom: error: words.txt: cannot be read as a mesh: .*; give an .obj, .ply, .stl, .off or .cmesh file$' info words.txt

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
	expect 1 err 'nan-inf-coordinates.obj: line [0-9]+: vertex 0: x is infinite' info "$CAROM_DATA/meshes/dirty/nan-inf-coordinates.obj"
	expect 0 out '"volume":[[:space:]]*8,' info --json "$CAROM_DATA/meshes/dirty/negative-indices-quads.obj"
	expect 0 out '^  note +triangle 3 has two corners' info "$CAROM_DATA/meshes/dirty/repeated-index.obj"
	expect 0 out '512 bodies over 600 frames' info "$CAROM_DATA/trajectories/scene1.rbt.gz"
	expect 0 out '"mesh":[[:space:]]*"bullet-bunny-902.obj"' info --json "$CAROM_DATA/trajectories/scene1.rbt.gz"
fi
