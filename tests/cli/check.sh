#!/bin/bash
# carom check: two meshes, one mesh, and what it says about bad ones.
source "${CAROM_SOURCE:?names the repository}/tests/cli/common.bash" || exit

cube a.obj 0
cube b.obj 0

# Two cubes of side 2, the second turned by 45 degrees about x, so that an edge looks at A, and overlapping by 0.1 in z. A
# contact's depth counts along its own direction: the part of it along z is 0.1.
turned=0.3826834323650898,0,0,0.9238795325112867
expect 0 out 'a.obj and b.obj collide: ' check a.obj b.obj --pose-b 0.3,0,2.3142135623730951,$turned
expect 0 out '"collides":[[:space:]]*true' check a.obj b.obj --json --contacts c.txt --pose-b 0.3,0,2.3142135623730951,$turned
same "number of contact lines" "$(wc -l < c.txt)" "$(field contacts out)"
[ "$(field contacts out)" -ge 1 ] || fail "no contacts"
! grep -q '"distance"' out || fail "a distance of meshes that collide"
same "depth" "$(cut -d' ' -f11 c.txt | sort -g | tail -n 1 | cut -c 1-8)" "$(field depth out | cut -c 1-8)"
# The direction takes the line's first body out: away from the other cube.
awk '{ sign = $1 == 0 ? -1 : 1; out = $10 * $11 * sign; if (NF != 11 || out < 0.0999 || out > 0.1001) exit 1 }' c.txt ||
	fail "a line of c.txt does not lead out of the other cube: $(cat c.txt)"
# Apart: how far, and where. The turned cube's edge looks down at the face z = 1 of the other, from 2.6 - sqrt(2).
expect 0 out 'do not collide: they are 0.185786 apart, at ' check a.obj b.obj --pose-b 0.3,0,2.6,$turned
expect 0 out '"collides":[[:space:]]*false' check a.obj b.obj --json --pose-b 0.3,0,2.6,$turned
same "distance" "$(field distance out | cut -c 1-8)" 0.185786
grep -q '"nearest_a":' out && grep -q '"feature":' out || fail "no nearest points: $(cat out)"
expect 0 out '"depth":[[:space:]]*0,' check a.obj b.obj --json --pose-b 9,0,0,0,0,0,1

# One mesh: a cube, then two cubes in one file that cross (the second a turned copy, so that nothing is parallel).
expect 0 out 'a.obj does not intersect itself' check a.obj
{ grep '^v' a.obj; awk '/^v/ { print "v", $2 * 0.9 - $3 * 0.3 + 0.7, $2 * 0.3 + $3 * 0.9 + 0.4, $4 * 0.8 + 0.5 }' a.obj; grep '^f' a.obj
	awk '/^f/ { print "f", $2 + 8, $3 + 8, $4 + 8, $5 + 8 }' a.obj; } > crossing.obj
expect 0 out 'crossing.obj intersects itself: [0-9]+ pairs of triangles' check crossing.obj
expect 0 out '"collides":[[:space:]]*true' check crossing.obj --json --pairs pairs.txt
same "number of pairs" "$(wc -l < pairs.txt)" "$(field contacts out)"
awk '$1 >= $2 || $1 > 11 || $2 < 12 { exit 1 }' pairs.txt || fail "pairs.txt has a pair that is not of both cubes: $(cat pairs.txt)"

# Three own vertices for each triangle: neighbours touch until they are welded.
awk '/^v/ { v[++n] = $0 } /^f/ { print v[$2]; print v[$3]; print v[$4]; print v[$2]; print v[$4]; print v[$5] } END { for (i = 0; i < 12; i++) print "f", 3*i+1, 3*i+2, 3*i+3 }' a.obj > soup.obj
expect 0 out 'soup.obj intersects itself: 46 pairs' check soup.obj
grep -qE '^46 of them meet at split vertices, where each has a vertex of its own: with --weld such triangles are neighbours$' out ||
	fail "no hint at --weld: $(cat out)"
expect 0 out '"at_split_vertices":[[:space:]]*46' check soup.obj --json
expect 0 out 'soup.obj does not intersect itself' check soup.obj --weld
! grep -q weld out || fail "a hint at --weld where it was given"
expect 0 out 'crossing.obj intersects itself' check crossing.obj
! grep -q weld out || fail "a hint at --weld where no vertex is split"

# Decided by the numbers given: two squares 1e-9 apart at 1e5 do not meet, and floats cannot tell them apart. In OBJ and in both kinds of PLY
# text, whatever type the header gives.
awk 'BEGIN { for (i = 0; i < 2; i++) printf "v 10000%s 0 %.17g\nv 100001 0 %.17g\nv 100001 1 %.17g\nv 100000 1 %.17g\n", i ? 0.5 : 0, z = 1e5 + i * 1e-9, z, z, z
	print "f 1 2 3 4\nf 5 6 7 8" }' > layers.obj
for type in float double; do
	printf 'ply\nformat ascii 1.0\nelement vertex 8\nproperty %s x\nproperty %s y\nproperty %s z\nelement face 2\nproperty list uchar int vertex_indices\nend_header\n' $type $type $type
	awk '/^v/ { print $2, $3, $4 } /^f/ { print 4, $2 - 1, $3 - 1, $4 - 1, $5 - 1 }' layers.obj
done > both.ply
csplit -s -z -f layers both.ply '/^ply$/' '{*}'
mv layers00 float.ply
mv layers01 double.ply
for file in layers.obj float.ply double.ply; do
	expect 0 out "$file does not intersect itself" check $file
	expect 0 out '"scalar":[[:space:]]*"float64"' check $file --json
	expect 0 out "$file intersects itself: 4 pairs of triangles" check $file --scalar float32
	expect 0 out '"scalar":[[:space:]]*"float32"' check $file --scalar float32 --json
done
# The other way round: a corner that pierces a square by 1e-9 there.
awk '{ sub(/^v 100001 1 100000.00000000[0-9]*[1-9]$/, "v 100000.75 0.25 99999.999999999") } { print }' layers.obj > pierced.obj
grep -q 99999.999999999 pierced.obj || fail "no pierced.obj: $(cat pierced.obj)"
expect 0 out 'pierced.obj intersects itself: 3 pairs of triangles' check pierced.obj --pairs pairs.txt
awk '$1 > 1 || $2 < 2 { exit 1 }' pairs.txt || fail "pairs within a square: $(cat pairs.txt)"
# Vertices are welded by the numbers given.
expect 0 out 'does not intersect itself' check layers.obj --weld

# Two meshes too. A square at 1e5, and one 1e-9 above it: apart, by so much; and colliding as floats.
grep -E '^v .* 100000$' layers.obj > lower.obj
grep -E '^v .* 100000\.' layers.obj > upper.obj
[ "$(wc -l < lower.obj) $(wc -l < upper.obj)" = "4 4" ] || fail "layers are parted wrongly"
echo "f 1 2 3 4" | tee -a lower.obj >> upper.obj
expect 0 out 'lower.obj and upper.obj do not collide: they are [0-9.]+e-(09|10) apart' check lower.obj upper.obj
expect 0 out '"collides":[[:space:]]*false' check lower.obj upper.obj --json
same scalar "$(field scalar out)" float64
same intersections "$(field intersections out)" 0
awk -v d="$(field distance out)" 'BEGIN { exit !(d > 0.98e-9 && d < 1.02e-9) }' || fail "the distance is $(field distance out)"
expect 0 out '"collides":[[:space:]]*true' check lower.obj upper.obj --json --scalar float32
same "scalar of rounded files" "$(field scalar out)" float32
same "intersections of rounded files" "$(field intersections out)" 4
# And by the pose: from where floats do not tell, down by 3e-9.
expect 0 out '"collides":[[:space:]]*false' check upper.obj lower.obj --json --pose-b 0,0,-3e-9,0,0,0,1
# A corner that pierces the square by 1e-9.
{ grep -E '^v .* 99999\.' pierced.obj; printf 'v 100000.7 0.2 100001\nv 100000.8 0.2 100001\nf 1 2 3\n'; } > thorn.obj
expect 0 out 'lower.obj and thorn.obj collide' check lower.obj thorn.obj
expect 0 out '"collides":[[:space:]]*true' check lower.obj thorn.obj --json --oracle
[ "$(field intersections out)" -ge 1 ] || fail "no triangle of thorn.obj intersects: $(cat out)"
sed 's/99999.999999999/100000.000000001/' thorn.obj > above.obj
expect 0 out '"collides":[[:space:]]*false' check lower.obj above.obj --json
# One in the other: no surfaces intersect, and they collide. An open one has no inside.
awk '/^v/ { print "v", $2 * 0.1, $3 * 0.1, $4 * 0.1; next } { print }' a.obj > small.obj
expect 0 out '"intersections":[[:space:]]*0' check a.obj small.obj --json
same "collides, one in the other" "$(field collides out)" true
expect 0 out 'small.obj and a.obj collide: 8 contacts' check small.obj a.obj
expect 0 out 'do not collide: they are 0.9 apart' check small.obj a.obj --pose-b 2,0,0,0,0,0,1

# The oracle: every pair of triangles without trees. A difference would be an error.
expect 0 out '^the oracle, every pair of triangles: the same [1-9]' check crossing.obj --oracle
expect 0 out '"oracle"' check crossing.obj --oracle --json
same "what the oracle finds" "$(field found out)" "$(field contacts out)"
same "missed and invented" "$(field missed out) $(field invented out)" "0 0"
expect 0 out '^the oracle, every pair of triangles: the same 0$' check a.obj --oracle
for file in soup.obj layers.obj pierced.obj; do
	expect 0 out '^the oracle, every pair of triangles: the same ' check $file --oracle
done
expect 0 out '^the oracle, every pair of triangles: the same 64 that intersect$' check a.obj b.obj --pose-b 2,0,0,0,0,0,1 --oracle
expect 0 out '^the oracle, every pair of triangles: the same [1-9][0-9]* that intersect$' check a.obj b.obj --pose-b 0.3,0,2.3142135623730951,$turned --oracle
expect 0 out '"found":[[:space:]]*4' check lower.obj upper.obj --scalar float32 --oracle --json
# One triangle, and one that is none.
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' > one.obj
printf 'v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n' > flat.obj
expect 0 out '^the oracle, every pair of triangles: the same 0$' check one.obj --oracle
expect 0 out '^the oracle, every pair of triangles: the same 1 that intersect$' check one.obj one.obj --oracle
expect 0 out '^the oracle, every pair of triangles: the same 0 that intersect$' check one.obj flat.obj --oracle
# A pose that leads beyond what coordinates may be.
expect 1 err '^carom: error: b.obj: at its pose: .*vertex 0: x is 1e\+300, beyond the limit' check a.obj b.obj --pose-b 1e300,0,0,0,0,0,1

# An open mesh collides by its triangles, with a warning on stderr and in JSON.
grep -v '^f 5' a.obj > open.obj
expect 0 err '^carom: warning: open.obj: 4 border edges, not closed' check open.obj b.obj --pose-b 0,0,-1.5,$turned
expect 0 out 'open.obj: 4 border edges' check open.obj b.obj --pose-b 0,0,-1.5,$turned --json
same "collides" "$(field collides out)" true

# Bad meshes.
expect 1 err '^carom: error: nothing.obj: cannot be opened: No such file' check nothing.obj a.obj
printf 'v 0 0 0\nv 1 0 0\nv 0 nan 0\nf 1 2 3\n' > nan.obj
expect 1 err '^carom: error: nan.obj: line 3: vertex 2: y is NaN$' check nan.obj
expect 1 err '^carom: error: nan.obj: line 3: vertex 2: y is NaN$' check a.obj nan.obj
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n' > range.obj
expect 1 err '^carom: error: range.obj: line 4: this face names vertex 9; the file has 3$' check range.obj
printf 'v 0 0 0\nv 1 zero 0\n' > text.obj
expect 1 err '^carom: error: text.obj: line 2: this coordinate is not a number: zero' check text.obj
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\n' > points.obj
expect 1 err '^carom: error: points.obj: holds 3 vertices but no triangles' check points.obj
echo "hello" > words.txt
expect 1 err '^carom: error: words.txt: cannot be read as a mesh' check words.txt
expect 1 err '^carom: error: nowhere/c.txt: cannot be written' check a.obj b.obj --contacts nowhere/c.txt

# Wrong use.
expect 2 err '--pose-b 1,2,3: must be seven numbers' check a.obj b.obj --pose-b 1,2,3
expect 2 err '--pose-b .*: the quaternion has length 2; it must be 1' check a.obj b.obj --pose-b 0,0,0,0,0,0,2
expect 2 err 'need a second mesh' check a.obj --pose-b 0,0,0,0,0,0,1
expect 2 err '--pairs is for one mesh' check a.obj b.obj --pairs p.txt

if [ -n "${CAROM_DATA:-}" ] && [ -d "$CAROM_DATA/meshes/dirty" ]; then
	# Whatever is wrong with a mesh, it gives an answer or an error that names the file.
	for mesh in "$CAROM_DATA"/meshes/dirty/*; do
		status=0
		"$CAROM" check "$mesh" --json > out 2> err || status=$?
		case $status in
			0) grep -q '"collides"' out || fail "no answer for $mesh" ;;
			1) grep -qF "carom: error: $mesh: " err || fail "no error for $mesh: $(cat err)" ;;
			*) fail "exit code $status for $mesh: $(cat err)" ;;
		esac
	done
	# The numbers of exact self-intersections are known, and for frames of recorded scenes the pairs themselves.
	for known in bullet-teddy-3192.obj:4 bullet-carrier-cover-2224.obj:2 bullet-stand-3338.obj:22 dirty/soup-100.stl:1248 bullet-bunny-902.obj:0; do
		expect 0 out '"collides"' check "$CAROM_DATA/meshes/${known%:*}" --json
		same "self-intersections of $known" "$(field contacts out)" "${known#*:}"
	done
	# The oracle agrees on whatever can be used; small meshes are enough where every access is judged.
	meshes=("$CAROM_DATA"/meshes/dirty/*)
	[ -n "${CAROM_SANITIZED-}" ] || meshes+=("$CAROM_DATA"/meshes/*.obj)
	for mesh in "${meshes[@]}"; do
		"$CAROM" info "$mesh" --json > out 2> err && grep -qE '"usable":[[:space:]]*true' out || continue
		expect 0 out '"oracle"' check "$mesh" --oracle --json
	done
	expect 0 out '"oracle"' check "$CAROM_DATA/meshes/bullet-bunny-902.obj" "$CAROM_DATA/meshes/bullet-torus-600.obj" --pose-b 1.6,0,0,0,0,0,1 --oracle --json
	[ "$(field found out)" -gt 10 ] || fail "the oracle finds no pairs of two bodies: $(cat out)"
	# Split vertices: most pairs are neighbours, and the hint says so.
	expect 0 out '^4954 of them meet at split vertices' check "$CAROM_DATA/meshes/fcl-env-2180.obj"
	for scene in cloth-ball/frames/cloth_ball92.ply n-body-simulation/frames/balls16_18.ply; do
		expect 0 out '"collides"' check "$CAROM_DATA/ccd/$scene" --json --pairs pairs.txt
		awk '/^#/ { next } /^frame/ { frame = $2; next } frame == 0' "$CAROM_DATA/ccd/${scene%%/*}/selfint.txt" | sort > truth.txt
		[ -s truth.txt ] || fail "no true pairs for $scene"
		sort pairs.txt | cmp - truth.txt || fail "the self-intersections of $scene are not the true ones"
	done
fi
