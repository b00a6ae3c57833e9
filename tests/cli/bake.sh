#!/bin/bash
# carom bake: meshes made once; every command reads them like the mesh that they were made from, whatever their name.
source "${CAROM_SOURCE:?names the repository}/tests/cli/common.bash" || exit

expect 0 out triangles make lumpy -n 902 -o body.obj
expect 0 out '^body.cmesh: 453 vertices, 902 triangles, [0-9.]+ KiB$' bake body.obj -o body.cmesh
grep -qE '^  times +[0-9.]+ ms to read the source, [0-9.]+ to make the mesh, [0-9.]+ to load the baked one$' out ||
	fail "no times: $(cat out)"
expect 0 out '"hull":[[:space:]]*false' bake body.obj -o again.cmesh --json
same bytes "$(field bytes out)" "$(wc -c < again.cmesh)"
same triangles "$(field triangles out)" 902
cmp body.cmesh again.cmesh || fail "the same mesh gives other bytes"

# info says of it what it says of its source, and where it was baked. The tree's own bytes differ.
expect 0 out '^body.cmesh: a baked mesh of 453 vertices and 902 triangles$' info body.cmesh
expect 0 out '"baked_bytes"' info --json body.cmesh
grep -vE '"(baked_bytes|sides|hull|materials|bytes)"' out > baked.json
expect 0 out '"kind"' info --json body.obj
grep -vE '"bytes"' out | diff - baked.json || fail "info tells other things of a baked mesh"

# Every command takes it, by its content: under another name, and through a pipe.
cp body.cmesh named.obj
"$CAROM" check body.obj body.obj --pose-b 0.3,0.1,0,0,0,0,1 --json > source.json
for file in body.cmesh named.obj; do
	"$CAROM" check "$file" "$file" --pose-b 0.3,0.1,0,0,0,0,1 --json | diff - source.json || fail "check $file answers otherwise"
done
"$CAROM" info --json /dev/stdin < body.cmesh | diff - <("$CAROM" info --json body.cmesh) || fail "a pipe changes something"
# Into a pipe: the bytes alone, and what is told goes to stderr.
for output in - /dev/stdout; do
	"$CAROM" bake body.obj -o $output 2> err | cat > piped.cmesh
	cmp body.cmesh piped.cmesh || fail "-o $output writes other bytes"
	grep -qE '^  times +[0-9.]+ ms to read the source, [0-9.]+ to make the mesh$' err || fail "no times: $(cat err)"
done
"$CAROM" bake body.obj -o - 2> err | "$CAROM" info - > out || fail "info cannot read it: $(cat out err)"
grep -q 'a baked mesh of 453 vertices and 902 triangles' out || fail "info reads another mesh: $(cat out)"
expect 2 err '--json prints on stdout, and --output goes there' bake body.obj -o - --json
mkfifo queue
"$CAROM" info queue > out & reader=$!
"$CAROM" bake body.obj -o queue > /dev/null || fail "it cannot write to a named pipe"
wait $reader && grep -q 'a baked mesh of 453 vertices' out || fail "a named pipe holds no mesh: $(cat out)"
expect 0 out 'does not intersect itself' check body.cmesh
expect 0 out 'does not intersect itself' check body.cmesh --weld
expect 0 out '"spheres"' make spheres body.cmesh --radius 0.1 -o a.csv --json
expect 0 out '"spheres"' make spheres body.obj --radius 0.1 -o b.csv --json
cmp a.csv b.csv || fail "spheres in a baked mesh are others"
for scale in 1 0.75; do
	for file in body.obj body.cmesh; do
		cat > scene.json << END
{
	"gravity": [0, 0, -9.8],
	"steps": 60,
	"meshes": { "m": { "file": "$file", "scale": $scale } },
	"bodies": {
		"list": [ { "shape": "plane", "kind": "static" }, { "mesh": "m", "position": [0, 0, 2] }, { "mesh": "m", "position": [0.3, 0.1, 5] } ]
	}
}
END
		expect 0 out '"hash"' run scene.json --no-picture --json
		field hash out > "${file#*.}.hash"
	done
	cmp obj.hash cmesh.hash || fail "a scene with a baked mesh runs otherwise at scale $scale"
done

# Options: hulls, sizes, sides, doubles, materials.
expect 0 out '^hull.cmesh: a hull, ' bake body.obj --hull -o hull.cmesh
expect 0 out '"closed":[[:space:]]*true' info --json hull.cmesh
grep -q '"hull":[[:space:]]*true' out || fail "info does not call it a hull: $(cat out)"
expect 0 out ': a baked hull of ' info hull.cmesh
cube cube.obj 0
expect 0 out '12 triangles' bake cube.obj --scale 2 -o large.cmesh
expect 0 out '"kind"' info --json large.cmesh
same volume "$(field volume out)" 64
expect 0 out '12 triangles' bake cube.obj --scale=-1,2,0.5 -o flat.cmesh
expect 0 out '"closed":[[:space:]]*true' info --json flat.cmesh
same volume "$(field volume out)" 8
expect 0 out '12 triangles' bake large.cmesh --scale 0.5 -o small.cmesh
expect 0 out '"kind"' info --json small.cmesh
same volume "$(field volume out)" 8
grep -v '^f 1 4' cube.obj > open.obj
expect 0 err '4 border edges' bake open.obj --sides front --grid 8 -o open.cmesh
expect 0 out '"sides":[[:space:]]*"front"' info --json open.cmesh
expect 0 err '4 border edges' bake open.cmesh --sides both -o both.cmesh
expect 0 out '"sides":[[:space:]]*"both"' info --json both.cmesh
# Sides that a closed mesh would ignore are refused; a container takes its triangles from within.
expect 1 err '--sides front: the mesh is closed, so it has an inside and no sides' bake cube.obj --sides front -o no.cmesh
expect 1 err '--sides both: the mesh is closed' bake cube.obj --sides both -o no.cmesh
expect 0 out '12 triangles' bake cube.obj --sides container -o within.cmesh
expect 0 out '"sides":[[:space:]]*"container"' info --json within.cmesh
grep -q '"closed":[[:space:]]*false' out || fail "a container is closed: $(cat out)"
expect 0 err 'facing outwards \(turned round to a container\)' bake cube.obj --sides container -o within.cmesh
awk '/^f/ { line = "f"; for (i = NF; i > 1; i--) line = line " " $i; print line; next } { print }' cube.obj > inward.obj
expect 0 err 'facing inwards \(turned round to a solid' bake inward.obj -o solid.cmesh
expect 0 out 'no: it is a container, which collides from within' info within.cmesh
# Cracks: a cube whose triangles do not quite meet.
awk 'BEGIN { split("2 3 4 2 4 5", at, " ") }
	/^v/ { v[++n] = $2 " " $3 " " $4 }
	/^f/ { for (i = 1; i <= 6; i++) {
		split(v[$at[i]], p, " ")
		printf "v %.9f %.9f %.9f\n", p[1] + (6 * NR + i) * 1e-6, p[2], p[3] - i * 1e-6
		if (i % 3 == 0) { k += 3; print "f", k - 2, k - 1, k } } }' cube.obj > cracked.obj
expect 0 err '36 border edges' bake cracked.obj -o cracked.cmesh
expect 0 out '12 triangles' bake cracked.obj --weld-distance 1e-3 -o cracked.cmesh
expect 0 out '"closed":[[:space:]]*true' info --json cracked.cmesh
expect 0 out '"closed":[[:space:]]*true' info --json cracked.obj --weld-distance 1e-3
expect 2 err '--weld-distance' bake cracked.obj --weld-distance -1 -o cracked.cmesh
expect 2 err '--hull does not go with --weld-distance' bake cracked.obj --hull --weld-distance 1e-3 -o cracked.cmesh
awk '/^v/ { $2 = $2 ".3" } { print }' cube.obj > far.obj
expect 0 out '12 triangles' bake far.obj -o far.cmesh
expect 0 out '"scalar":[[:space:]]*"float64"' info --json far.cmesh
expect 0 out '12 triangles' bake far.obj --scalar float32 -o far.cmesh
expect 0 out '"scalar":[[:space:]]*"float32"' info --json far.cmesh
awk '/^f 5/ { print "usemtl ice" } /^f 3/ { print "usemtl stone" } /^f 4/ { print "usemtl ice" } { print }' cube.obj > painted.obj
expect 0 out '^ +2: stone$' bake painted.obj -o painted.cmesh
expect 0 out '"materials":.*\["ice", "stone"\]' bake painted.obj -o painted.cmesh --json
expect 0 out '12 triangles' bake cube.obj -o cube.cmesh
! cmp -s painted.cmesh cube.cmesh || fail "materials change nothing"
expect 0 out '^  materials +3 different numbers$' info painted.cmesh
expect 0 out '"materials":[[:space:]]*3' info painted.cmesh --json
grep -q '"hull":[[:space:]]*false' out || fail "a mesh counts as a hull"
expect 0 out '12 triangles' bake painted.cmesh -o kept.cmesh
cmp painted.cmesh kept.cmesh || fail "a baked mesh loses its materials"

# Whatever damage: an error that names the file.
# damaged FILE PATTERN
damaged() {
	expect 1 err "^carom: error: $1: $2" info "$1"
	expect 1 err "^carom: error: $1: $2" check "$1"
	expect 1 err "^carom: error: .*$1: $2" run scene.json --no-picture --mesh "m=$1"
}
head -c 1000 body.cmesh > short.cmesh
damaged short.cmesh 'size is 1000, but the mesh was baked as'
head -c 20 body.cmesh > head.cmesh
damaged head.cmesh 'size is 20, less than the 64 bytes of a head'
{ head -c 3000 body.cmesh; printf 'X'; tail -c +3002 body.cmesh; } > flipped.cmesh
damaged flipped.cmesh 'digest: the bytes are damaged'
{ head -c 8 body.cmesh; printf '\001\001'; tail -c +11 body.cmesh; } > version.cmesh
damaged version.cmesh 'version is 257; this library reads [0-9]+: bake the mesh again'
expect 1 err '^carom: error: flipped.cmesh: digest' bake flipped.cmesh -o kept.cmesh
cmp painted.cmesh kept.cmesh || fail "a failed bake lost the old file"

expect 2 err '-o FILE is missing' bake body.obj
expect 2 err '-o body.bin: the name must end in .cmesh' bake body.obj -o body.bin
expect 2 err '--scale 1,2: must be one number, or three' bake body.obj -o x.cmesh --scale 1,2
expect 2 err '--scale 1,0,2: must not be 0' bake body.obj -o x.cmesh --scale 1,0,2
expect 2 err '--sides up: must be one of auto, front, both' bake body.obj -o x.cmesh --sides up
expect 2 err '--hull goes with neither --sides nor --grid' bake body.obj -o x.cmesh --hull --grid 4
expect 1 err '^carom: error: nothing.obj: cannot be opened' bake nothing.obj -o x.cmesh
expect 1 err '^carom: error: nowhere/x.cmesh: cannot be written: No such file' bake body.obj -o nowhere/x.cmesh
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' > leaf.obj
expect 1 err '^carom: error: leaf.obj: .*a hull takes 4 points at least' bake leaf.obj --hull -o x.cmesh
sed 's/^v 1 1 1/v 1 1e13 1/' cube.obj > far.obj
expect 1 err '^carom: error: far.obj: .*vertex 6: y is 1e\+13, .*; `carom info`' bake far.obj -o x.cmesh
[ ! -e x.cmesh ] || fail "a failure left a file"
if [ -w /dev/full ]; then
	ln -s /dev/full kept.cmesh.part
	expect 1 err '^carom: error: kept.cmesh: cannot be written: No space left' bake body.obj -o kept.cmesh
	cmp painted.cmesh kept.cmesh || fail "a full disk damaged the old file"
fi

# How trees are built: another tree, and the same answers.
expect 0 out '902 triangles' bake body.obj --build ploc -o ploc.cmesh
cmp -s body.cmesh ploc.cmesh && fail "--build ploc changes nothing"
"$CAROM" check ploc.cmesh ploc.cmesh --pose-b 0.3,0.1,0,0,0,0,1 --json | diff - source.json || fail "check answers otherwise by another tree"
for build in sah hlbvh lbvh trbvh ploc; do
	expect 0 out '"sah_cost"' info body.obj --build $build --json
	field sah_cost out
done | sort -u | wc -l | grep -qx 5 || fail "five ways to build give fewer trees"
expect 0 out '"sah_cost"' info body.cmesh --build ploc --json
field sah_cost out > cost
expect 0 out '"sah_cost"' info ploc.cmesh --json
same "cost of the tree" "$(field sah_cost out)" "$(cat cost)"
expect 2 err '--build' info body.obj --build fast
expect 2 err '--build goes with neither' bake body.obj --build lbvh --hull -o no.cmesh
