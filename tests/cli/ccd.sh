#!/bin/bash
# carom ccd: counts, what the file of impacts holds, frames of several formats; what is said about bad frames.
source "${CAROM_SOURCE:?names the repository}/tests/cli/common.bash" || exit

# vertices HEIGHT_OF_VERTEX_3 DROP: a flat triangle 0 1 2 with a triangle over it whose vertex 3 is at that height, and apart from them two upright
# triangles, 6 7 8 and 9 10 11, whose edges 6 7 and 9 10 cross when the second has dropped by 1.
vertices() {
	awk -v z="$1" -v drop="$2" 'BEGIN { print "0 0 0\n4 0 0\n0 4 0\n1 1 " z "\n1 1 4\n2 1 4"
		print "9 0 0\n11 0 0\n10 0 -2\n10 -1 " 1 - drop "\n10 1 " 1 - drop "\n10 0 " 3 - drop }'
}
faces="0 1 2
3 4 5
6 7 8
9 10 11"
obj() { vertices "$@" | sed 's/^/v /'; awk '{ print "f", $1 + 1, $2 + 1, $3 + 1 }' <<< "$faces"; }
obj 1 0 > 0.obj
obj -1 0 > 1.obj
obj -1 1.5 > 2.obj

# near WHAT VALUE TRUTH: a time of impact is never late, and early by little.
near() { awk -v t="$2" -v truth="$3" 'BEGIN { exit !(t <= truth && t > truth - 1e-4) }' || fail "$1: $2 instead of $3"; }

# Two frames: no comment in the file.
expect 0 out '^0.obj to 1.obj: 2 frames, 12 vertices, 4 triangles, floats$' ccd 0.obj 1.obj --hits hits.txt
grep -qE '^  impacts +1 vf, 0 ee; 0 touching at the beginning of a step, 0 undecided$' out || fail "other impacts: $(cat out)"
grep -qE '^  earliest +0\.(5|4999[0-9]*) in step 0: vf 3 0 1 2$' out || fail "the earliest is wrong: $(cat out)"
for word in trees front tests orphans sort total; do
	grep -qE "^  $word +[0-9.]+ ms\$" out || fail "no line $word: $(cat out)"
done
[ ! -s err ] || fail "progress where there is no terminal: $(cat err)"
same "impacts of step 0" "$(cut -d' ' -f1-5 hits.txt)" "vf 3 0 1 2"
near "time of the vertex" "$(cut -d' ' -f6 hits.txt)" 0.5

# Three frames: a comment before each step.
expect 0 out '"frames":[[:space:]]*3' ccd 0.obj 1.obj 2.obj --hits hits.txt --json
cut -d' ' -f1-5 hits.txt > features.txt
printf '# step 0\nvf 3 0 1 2\n# step 1\nee 6 7 9 10\n' > truth.txt
cmp features.txt truth.txt || fail "other impacts: $(cat hits.txt)"
near "time of the edges" "$(awk '/^ee/ { print $6 }' hits.txt)" 0.66666666666666669
near earliest "$(field earliest out)" 0.5
near "time of the earliest" "$(field time out)" 0.5
same vf "$(field vf out)" 1
same ee "$(field ee out)" 1
same undecided "$(field undecided out)" 0
same vertices "$(field vertices out | tr -d '[')" 12
same edges "$(field edges out)" 12
same triangles "$(field triangles out)" 4
same method "$(field method out)" auto
for name in total trees front tests orphans sort volume_tests leaf_pairs adjacent_pairs tests_vf tests_ee filtered bytes_peak; do
	[ -n "$(field $name out)" ] || fail "no field $name: $(cat out)"
done
hash=$(field hash out)
[[ $hash =~ ^[0-9a-f]{16}$ ]] || fail "the hash is no hash: $hash"

# Every way to search finds the same.
cp hits.txt all.txt
for more in "--method front" "--method bvh" "--method phc" "--method sort" "--threads 1" "--threads 3" "--simd scalar" "--volume aabb" "--build sah" \
	"--no-orphans" "--no-pruning"; do
	# shellcheck disable=SC2086
	expect 0 out '"hash"' ccd 0.obj 1.obj 2.obj --json --hits hits.txt $more
	same "hash of $more" "$(field hash out)" "$hash"
	cmp hits.txt all.txt || fail "$more finds others: $(cat hits.txt)"
done
for test in certified inclusion cubic; do
	expect 0 out '"test"' ccd 0.obj 1.obj 2.obj --json --hits hits.txt --test $test
	cut -d' ' -f1-5 hits.txt | cmp - truth.txt || fail "$test finds others: $(cat hits.txt)"
	same "test" "$(field test out)" $test
done
expect 0 out '"hash"' ccd 0.obj 2.obj 1.obj --json
[ "$(field hash out)" != "$hash" ] || fail "other frames, the same hash"

# The earliest of each step alone.
expect 0 out '"vf":[[:space:]]*1' ccd 0.obj 2.obj --json
same "ee of both in one step" "$(field ee out)" 1
expect 0 out '"earliest"' ccd 0.obj 2.obj --earliest --hits hits.txt --json
same "the earliest impact" "$(cut -d' ' -f1-5 hits.txt)" "vf 3 0 1 2"
same "ee with --earliest" "$(field ee out)" 0
expect 0 out '^  impacts +1 vf, 1 ee' ccd 0.obj 1.obj 2.obj --earliest --hits hits.txt
cut -d' ' -f1-5 hits.txt | cmp - truth.txt || fail "--earliest finds others: $(cat hits.txt)"

# A separation stops the vertex at a height of 1/4.
expect 0 out '^  impacts +1 vf, 0 ee' ccd 0.obj 1.obj --separation 0.25 --hits hits.txt
near "time with separation" "$(cut -d' ' -f6 hits.txt)" 0.375
# What has met before it moves touches at time 0.
obj 0 0 > touching.obj
expect 0 out '"touching":[[:space:]]*1,' ccd touching.obj 0.obj --json
near "time of touching" "$(field time out)" 0

# Nothing moves, and nothing touches: no impact. Polygons are fans.
expect 0 out '^  impacts +0 vf, 0 ee' ccd 0.obj 0.obj --hits hits.txt
grep -qE '^  earliest +none$' out || fail "an earliest impact of none: $(cat out)"
[ -e hits.txt ] && [ ! -s hits.txt ] || fail "impacts where nothing moves: $(cat hits.txt)"
expect 0 out '"earliest":[[:space:]]*null' ccd 0.obj 0.obj --earliest --json
cube cube.obj 5
cube moved.obj 9
expect 0 out '^cube.obj to moved.obj: 2 frames, 8 vertices, 12 triangles, floats$' ccd cube.obj moved.obj

# Binary files. bytes ORDER: numbers of the frames as floats in that order.
bytes() {
	local number hex
	while read -r number; do
		case $number in
			0) hex=00000000 ;; 1) hex=3f800000 ;; 2) hex=40000000 ;; 3) hex=40400000 ;; 4) hex=40800000 ;; 9) hex=41100000 ;;
			10) hex=41200000 ;; 11) hex=41300000 ;; 1.5) hex=3fc00000 ;; -0.5) hex=bf000000 ;; -1) hex=bf800000 ;; -2) hex=c0000000 ;;
			nan) hex=7fc00000 ;; *) fail "no bytes for $number" ;;
		esac
		[ "$1" = big ] || hex=${hex:6:2}${hex:4:2}${hex:2:2}${hex:0:2}
		printf '%b' "\\x${hex:0:2}\\x${hex:2:2}\\x${hex:4:2}\\x${hex:6:2}"
	done
}
# Numbers as little-endian doubles.
doubles() {
	local text
	text=$(awk '{ v = $1 < 0 ? -$1 : +$1; e = m = 0
		if (v > 0) { e = 1023; while (v >= 2) { v /= 2; e++ } while (v < 1) { v *= 2; e-- } m = (v - 1) * 4503599627370496 }
		for (i = 0; i < 6; i++) { low = int(m / 256); printf "\\0%03o", m - 256 * low; m = low }
		printf "\\0%03o\\0%03o", e % 16 * 16 + m, ($1 < 0) * 128 + int(e / 16) }')
	printf '%b' "$text"
}
# Big endian, with colours after the coordinates and an element of no interest.
ply() {
	printf 'ply\nformat binary_big_endian 1.0\nelement vertex 12\nproperty float x\nproperty float y\nproperty float z\n'
	printf 'property uchar red\nproperty uchar green\nproperty uchar blue\nelement face 4\nproperty list uchar int vertex_indices\nend_header\n'
	local x y z a b c
	while read -r x y z; do
		printf '%s\n' "$x" "$y" "$z" | bytes big
		printf '\377\0\n'
	done < <(vertices "$@")
	while read -r a b c; do
		printf '%b' "\\x3\\0\\0\\0\\x$(printf %x "$a")\\0\\0\\0\\x$(printf %x "$b")\\0\\0\\0\\x$(printf %x "$c")"
	done <<< "$faces"
}
ply 1 0 > 0.ply
ply -1 0 > 1.ply
ply -1 1.5 > 2.ply
expect 0 out '^0.ply to 2.ply: 3 frames, 12 vertices, 4 triangles, floats$' ccd 0.ply 1.ply 2.ply --hits hits.txt
cmp hits.txt all.txt || fail "PLY frames collide otherwise: $(cat hits.txt)"
expect 0 out "^  hash +$hash\$" ccd 0.obj 1.ply 2.obj

# One file of positions, with the faces of a mesh file whose own positions do not count.
{ vertices 1 0; vertices -1 0; vertices -1 1.5; } | tr ' ' '\n' | bytes little > positions.f32
expect 0 out '^positions.f32: 3 frames, 12 vertices, 4 triangles, floats$' ccd --sequence 2.obj positions.f32 --hits hits.txt
cmp hits.txt all.txt || fail "a file of positions collides otherwise: $(cat hits.txt)"
expect 0 out '"first_frame":[[:space:]]*1' ccd positions.f32 --sequence 2.obj --frames 1:3 --json --hits hits.txt
same "impacts of frames 1 and 2" "$(cut -d' ' -f1-5 hits.txt)" "ee 6 7 9 10"
same "step of the first impact" "$(field step out)" 1
near "earliest of frames 1 and 2" "$(field earliest out)" 1.6666666666666667
expect 0 out '^1.obj to 2.obj: 2 frames' ccd 0.obj 1.obj 2.obj --frames 1:
grep -qE '^  earliest .* in step 1: ee 6 7 9 10$' out || fail "the step is wrong: $(cat out)"

# Many impacts: a body that is pressed flat and turned inside out, and back. All ways find the same, each impact once, sorted.
"$CAROM" make lumpy --triangles 500 -o body0.obj > /dev/null
i=0
for height in -0.5 0.5 0.25 -1; do
	i=$((i + 1))
	awk -v h=$height '$1 == "v" { $4 *= h; $2 += 0.05 * $4 } { print }' body0.obj > body$i.obj
done
expect 0 out '"hash"' ccd body?.obj --json --hits body.txt
hash=$(field hash out)
same "lines of the file" "$(wc -l < body.txt)" $(($(field vf out) + $(field ee out) + 4))
[ "$(field vf out)" -gt 400 ] && [ "$(field ee out)" -gt 2000 ] || fail "too few impacts for a test: $(cat out)"
for step in 0 1 2 3; do
	awk -v s=$step '$1 == "#" { take = $3 == s; next } take { print $1 == "ee", $2, $3, $4, $5 }' body.txt > step.txt
	sort -k1,1n -k2,2n -k3,3n -k4,4n -k5,5n -u step.txt | cmp - step.txt || fail "step $step is not sorted, or lists an impact twice"
done
awk '$1 == "ee" && !($2 < $3 && $4 < $5) { exit 1 }' body.txt || fail "an edge begins with its higher vertex"
awk '$1 != "#" && ($6 < 0 || $6 > 1) { exit 1 }' body.txt || fail "a time is not in 0 to 1"
awk '$1 == "f" { seen[$2 - 1, $3 - 1, $4 - 1] = 1; next } $1 == "vf" && !(($3, $4, $5) in seen) { exit 1 }' body0.obj body.txt ||
	fail "a face is none of the mesh"
settings=("--method front" "--method bvh" "--method phc" "--method sort" "--threads 1" "--threads 3" "--simd scalar" "--no-orphans" "--no-pruning")
[ -z "${CAROM_SANITIZED-}" ] || settings=("--method sort" "--threads 3 --simd scalar")
for more in "${settings[@]}"; do
	# shellcheck disable=SC2086
	expect 0 out '"hash"' ccd body?.obj --json $more
	same "hash of $more" "$(field hash out)" "$hash"
done
for step in 0 1 2 3; do
	least=$(awk -v s=$step '$1 == "#" { take = $3 == s; next } take && (least == "" || $6 < value) { least = $0; value = $6 } END { print least }' body.txt)
	expect 0 out 'impacts' ccd body?.obj --frames $step:$((step + 2)) --earliest --hits hits.txt
	same "the earliest of step $step" "$(cat hits.txt)" "$least"
done

# The oracle: every pair of features. It must find what the search finds, and notice what the plain cubic gets wrong.
expect 0 out '^  oracle +every pair of features: the same 2$' ccd 0.obj 1.obj 2.obj --oracle
expect 0 out '"oracle"' ccd 0.obj 1.obj 2.obj --oracle --json
same "what the oracle finds" "$(field found out) $(field missed out) $(field invented out) $(field at_other_times out)" "2 0 0 0"
settings=("" "--separation 0.01" "--test inclusion" "--no-orphans")
[ -z "${CAROM_SANITIZED-}" ] || settings=("--separation 0.01") # the search is judged by its own tests there
for more in "${settings[@]}"; do
	# shellcheck disable=SC2086
	expect 0 out '"oracle"' ccd body?.obj --oracle --json $more
	same "what the oracle finds, $more" "$(field found out)" $(($(field vf out) + $(field ee out)))
done
expect 0 out '^  oracle +every pair of features: the same [1-4]$' ccd body?.obj --oracle --earliest
expect 0 out '^  oracle +every pair of features: the same 0$' ccd 0.obj 0.obj --oracle
expect 1 err '^carom: error: body1.obj: step 0: differs from the oracle, which finds [0-9]+: [0-9]+ missed, [1-9][0-9]* at another time, [0-9]+ invented; ' \
	ccd body?.obj --oracle --test cubic --hits none.txt
[ ! -e none.txt ] || fail "impacts that differ from the oracle's were written"

# What bears on impacts is warned of once, on stderr and in JSON. An open mesh is no matter here.
expect 0 out '"warnings":[[:space:]]*\[\]' ccd 0.obj 1.obj --json
[ ! -s err ] || fail "a warning of sound frames: $(cat err)"
twice() { cat "$1"; sed -n '1p;2p;3p' "$1"; echo "f 1 2 3"; echo "f 1 1 2"; echo "f 13 14 15"; }
twice 0.obj > twice0.obj
twice 1.obj > twice1.obj
warning='1 triangle without area, 2 duplicate triangles, 3 vertices at the position of another one \(features of the two meet at once; make them one vertex\)'
expect 0 err "^carom: warning: twice0.obj: $warning" ccd twice0.obj twice1.obj
same "number of warnings" "$(grep -c warning err)" 1
expect 0 out "\"twice0.obj: $warning" ccd twice0.obj twice1.obj --json
expect 0 out '^  oracle +every pair of features: the same ' ccd twice0.obj twice1.obj --oracle
rm -f none.txt

# Bad frames. What was written for the frames before is no result.
expect 1 err '^carom: error: absent.obj: cannot be opened: No such file' ccd absent.obj 1.obj
expect 1 err '^carom: error: absent.obj: cannot be opened: No such file' ccd 0.obj 1.obj absent.obj --hits none.txt
expect 1 err '^carom: error: cube.obj: has 8 vertices, but 0.obj has 12$' ccd 0.obj 1.obj cube.obj --hits none.txt
sed 's/^f 7 8 9$/f 7 9 8/' 1.obj > turned.obj
expect 1 err '^carom: error: turned.obj: face 2 has the vertices 6 8 7, but 6 7 8 in 0.obj; all frames must have the same faces$' ccd 0.obj turned.obj
head -n 14 1.obj > fewer.obj
expect 1 err '^carom: error: fewer.obj: face 2 is in 0.obj only \(2 faces against 4\)' ccd 0.obj fewer.obj
expect 1 err '^carom: error: 0.obj: face 2 is in this file only \(4 faces against 2\)' ccd fewer.obj 0.obj
sed '2s/.*/v 4 nan 0/' 1.obj > nan.obj
expect 1 err '^carom: error: nan.obj: line 2: vertex 1: y is NaN$' ccd 0.obj nan.obj --hits none.txt
expect 1 err '^carom: error: nan.obj: line 2: vertex 1: y is NaN$' ccd nan.obj 0.obj
sed '5s/.*/v 4 -2e12 0/' 1.obj > far.obj
expect 1 err '^carom: error: far.obj: vertex 4: -2e\+12 is beyond 1e\+12$' ccd 0.obj far.obj
sed '$s/.*/f 1 2 13/' 0.obj > range.obj
expect 1 err '^carom: error: range.obj: line 16: this face names vertex 13; the file has 12$' ccd range.obj range.obj
printf 'v 0 0 zero\n' > word.obj
expect 1 err '^carom: error: word.obj: line 1' ccd 0.obj word.obj
head -c 300 1.ply > cut.ply
expect 1 err '^carom: error: cut.ply: byte 300: ends too early' ccd 0.ply cut.ply
[ ! -e none.txt ] && [ ! -e none.txt.part ] || fail "a failure wrote impacts"
expect 1 err '^carom: error: nowhere/h.txt: cannot be written' ccd 0.obj 1.obj --hits nowhere/h.txt

# Doubles stay doubles: far from the origin, where floats lie 8 apart, the same impacts. In files of every format that holds them.
far() { awk '/^v/ { printf "v %.17g %.17g %.17g\n", 1e8 + $2 / 4, $3 / 4 - 1e8, $4 / 4; next } { print }' "$1"; }
far_ply() {
	printf 'ply\nformat %s 1.0\nelement vertex 12\nproperty %s x\nproperty %s y\nproperty %s z\nelement face 4\nproperty list uchar int vertex_indices\nend_header\n' "$2" "$3" "$3" "$3"
	if [ "$2" = ascii ]; then
		far "$1" | awk '/^v/ { print $2, $3, $4 } /^f/ { print 3, $2 - 1, $3 - 1, $4 - 1 }'
	else
		far "$1" | awk '/^v/ { print $2; print $3; print $4 }' | doubles
		printf '\003\0\0\0\0\001\0\0\0\002\0\0\0\003\003\0\0\0\004\0\0\0\005\0\0\0\003\006\0\0\0\007\0\0\0\010\0\0\0\003\011\0\0\0\012\0\0\0\013\0\0\0'
	fi
}
for i in 0 1 2; do
	far $i.obj > far$i.obj
	far_ply $i.obj ascii double > double$i.ply
	far_ply $i.obj ascii float > text$i.ply
	far_ply $i.obj binary_little_endian double > binary$i.ply
done
for frames in far{0,1,2}.obj double{0,1,2}.ply text{0,1,2}.ply binary{0,1,2}.ply; do echo "$frames"; done | paste -d' ' - - - > lists.txt
while read -r -a frames; do
	expect 0 out ', 12 vertices, 4 triangles, doubles$' ccd "${frames[@]}" --hits hits.txt
	same "impacts of doubles, ${frames[0]}" "$(cut -d' ' -f1-5 hits.txt)" "$(cut -d' ' -f1-5 all.txt)"
	expect 0 out '"scalar":[[:space:]]*"float64"' ccd "${frames[@]}" --json
	same "hash, ${frames[0]}" "$(field hash out)" "${hash_of_doubles:=$(field hash out)}"
done < lists.txt
expect 0 out '^  oracle +every pair of features: the same 2$' ccd far{0,1,2}.obj --oracle
expect 0 out ', 12 vertices, 4 triangles, floats$' ccd far{0,1,2}.obj --scalar float32 --hits hits.txt
! cmp -s <(cut -d' ' -f1-5 hits.txt) <(cut -d' ' -f1-5 all.txt) || fail "rounding to float changed no impact"
expect 0 out '"scalar":[[:space:]]*"float32"' ccd far{0,1,2}.obj --scalar float32 --json
# A file of positions: doubles by its name, or when told so.
for i in 0 1 2; do far $i.obj | awk '/^v/ { print $2; print $3; print $4 }'; done | doubles > positions.f64
cp positions.f64 positions.raw
expect 0 out '^positions.f64: 3 frames, 12 vertices, 4 triangles, doubles$' ccd --sequence 0.obj positions.f64 --hits hits.txt
same "impacts of a file of doubles" "$(cut -d' ' -f1-5 hits.txt)" "$(cut -d' ' -f1-5 all.txt)"
expect 0 out '"hash":[[:space:]]*"'"$hash_of_doubles" ccd --sequence 0.obj positions.raw --scalar float64 --json
expect 0 out '"first_frame":[[:space:]]*1' ccd positions.f64 --sequence 2.obj --frames 1:3 --json
same "impacts of the second step" "$(field vf out) $(field ee out)" "0 1"
expect 1 err '^carom: error: positions.f64: holds 864 bytes, which are not whole frames of 192 bytes: cube.obj has 8 vertices of 24 bytes$' \
	ccd --sequence cube.obj positions.f64
# Doubles whose numbers floats hold give the very results of floats.
for i in 0 1 2; do awk '/^v/ { print $2; print $3; print $4 }' $i.obj; done | doubles > exact.f64
expect 0 out '^exact.f64: 3 frames, 12 vertices, 4 triangles, floats$' ccd --sequence 0.obj exact.f64 --hits hits.txt
cmp hits.txt all.txt || fail "doubles that floats hold collide otherwise: $(cat hits.txt)"

# Bad files of positions.
expect 1 err '^carom: error: absent.f32: cannot be opened: No such file' ccd --sequence 0.obj absent.f32
expect 1 err '^carom: error: absent.obj: cannot be opened: No such file' ccd --sequence absent.obj positions.f32
expect 1 err '^carom: error: positions.f32: holds 432 bytes, which are not whole frames of 96 bytes: cube.obj has 8 vertices' ccd --sequence cube.obj positions.f32
head -c 144 positions.f32 > one.f32
expect 1 err '^carom: error: one.f32: holds 1 frame; two are needed at least$' ccd --sequence 0.obj one.f32
: > none.f32
expect 1 err '^carom: error: none.f32: holds 0 frames; two are needed' ccd --sequence 0.obj none.f32
expect 1 err '^carom: error: \.: is no regular file$' ccd --sequence 0.obj .
{ head -c 156 positions.f32; echo nan | bytes little; tail -c +161 positions.f32; } > nan.f32
expect 1 err '^carom: error: nan.f32: frame 1: vertex 1: -?nan is not finite$' ccd --sequence 0.obj nan.f32
expect 1 err '^carom: error: positions.f32: --frames asks for frame 3, and there are 3, from 0$' ccd --sequence 0.obj positions.f32 --frames 3:
expect 1 err '^carom: error: positions.f32: --frames asks for frame 8, and there are 3' ccd --sequence 0.obj positions.f32 --frames 1:9
expect 1 err '^carom: error: --frames gives one frame; two are needed' ccd 0.obj 1.obj 2.obj --frames 2:3

# Wrong use.
expect 2 err 'there is one frame; give two at least, or --sequence MESH' ccd 0.obj
expect 2 err 'an argument is missing; usage: carom ccd FRAME0 FRAME1' ccd
expect 2 err '1.obj: --sequence goes with one file of positions' ccd --sequence 0.obj positions.f32 1.obj
expect 2 err '--method fast: must be one of auto, front, bvh, phc, sort' ccd 0.obj 1.obj --method fast
expect 2 err '--volume obb: must be one of dop18, aabb' ccd 0.obj 1.obj --volume obb
expect 2 err '--test exact: must be one of certified, inclusion, cubic' ccd 0.obj 1.obj --test exact
expect 2 err '--tolerance 0: must be above 0 and at most ' ccd 0.obj 1.obj --tolerance 0
expect 2 err '--tolerance 1e300: must be above 0 and at most 1' ccd 0.obj 1.obj --tolerance 1e300
expect 2 err '--separation -1: must be from 0' ccd 0.obj 1.obj --separation -1
expect 2 err '--frames 2:2: is empty' ccd 0.obj 1.obj --frames 2:2

# Frames whose impacts are known exactly: none may be missing, and at most ten may be too many. (Under sanitizers the search is judged by
# its own tests, some of them on these frames.)
[ -z "${CAROM_SANITIZED-}" ] || exit 0
if [ -z "${CAROM_DATA:-}" ] || [ ! -d "$CAROM_DATA/ccd" ]; then
	exit 0
fi
sorted_edges='{ if ($2 > $3) { t = $2; $2 = $3; $3 = t } if ($4 > $5) { t = $4; $4 = $5; $5 = t }
	if ($2 > $4 || ($2 == $4 && $3 > $5)) { t = $2; $2 = $4; $4 = t; t = $3; $3 = $5; $5 = t } }'
for scene in cloth-ball n-body-simulation; do
	frames=("$CAROM_DATA/ccd/$scene/frames/"*.ply)
	expect 0 out '"hash"' ccd "${frames[@]}" --json --hits hits.txt
	hash=$(field hash out)
	same "undecided in $scene" "$(field undecided out)" 0
	# The faces are the end of the file: a byte 3 and three big-endian numbers each.
	tail -c $((13 * $(field triangles out))) "${frames[0]}" | od -An -v -tu1 -w13 |
		awk '{ print "f", ($2*256+$3)*65536 + $4*256+$5, ($6*256+$7)*65536 + $8*256+$9, ($10*256+$11)*65536 + $12*256+$13 }' > faces.txt
	awk '$1 == "f" { face[count++] = $2 " " $3 " " $4 } $1 == "vf" { print $1, $2, face[$3] }
		$1 == "ee" '"$sorted_edges"' $1 == "ee" { print }' faces.txt "$CAROM_DATA/ccd/$scene/truth.txt" | sort > truth.txt
	awk '{ NF = 5 } $1 == "ee" '"$sorted_edges"' { print }' hits.txt | sort > found.txt
	[ "$(wc -l < truth.txt)" -gt 50000 ] || fail "the truth of $scene was not read"
	same "missed impacts of $scene" "$(comm -23 truth.txt found.txt | wc -l)" 0
	[ "$(comm -13 truth.txt found.txt | wc -l)" -le 10 ] || fail "too many false impacts in $scene"
	expect 0 out '"hash"' ccd "${frames[@]}" --json --method bvh --threads 1
	same "hash of $scene from the root" "$(field hash out)" "$hash"
done

# The front lives through a sequence, and what it finds is what the tree finds.
for sequence in horse-collapse kick; do
	folder=$CAROM_DATA/sequences/$sequence
	[ -d "$folder" ] || continue
	expect 0 out '"hash"' ccd --sequence "$folder/mesh.ply" "$folder/positions.f32" --frames 10:14 --json --method front
	hash=$(field hash out)
	awk 'BEGIN { exit !('"$(field front_kept out)"' > 0) }' || fail "the front of $sequence does not live: $(cat out)"
	expect 0 out '"hash"' ccd --sequence "$folder/mesh.ply" "$folder/positions.f32" --frames 10:14 --json --method bvh
	same "hash of $sequence from the root" "$(field hash out)" "$hash"
done
