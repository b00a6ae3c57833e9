#!/bin/bash
# carom export to glTF and USD: read by a reader of our own (tests/cli/read_model.py), pose by pose, and by assimp.
source "$(dirname "$0")/common.bash"
source "$CAROM_SOURCE/tests/cli/export_scenes.bash"
read_model() { python3 "$CAROM_SOURCE/tests/cli/read_model.py" "$@"; }

export_scenes bodies cloth spheres all
command -v python3 > /dev/null || { echo "there is no Python"; exit 77; }
for python in python3 /usr/bin/python3; do
	[ -e poses.raw ] || "$python" -c 'import h5py; h5py.File("bodies/recording.h5")["poses"][:].astype("<f8").tofile("poses.raw")' 2> /dev/null || true
done
compared=()
if [ -e poses.raw ]; then compared=(poses.raw 13); else echo "without h5py: poses are not compared"; fi

for form in gltf glb usda; do
	expect 0 err "bodies.$form: [0-9.]+ MB, 13 bodies of 6 shapes, each 1. frame" export bodies -o bodies.$form
	"$CAROM" export bodies -o again.$form 2> err
	cmp bodies.$form again.$form || fail "bodies.$form differs from one export to another"
done
read -r triangles nodes frames < <(read_model gltf bodies.gltf "${compared[@]}")
same "nodes" "$nodes" 27
same "frames" "$frames" 25
same "the .glb" "$(read_model gltf bodies.glb "${compared[@]}")" "$triangles $nodes $frames"
read_model same bodies.gltf bodies.glb
same "triangles of the .usda" "$(read_model usda bodies.usda "${compared[@]}" | cut -d ' ' -f 1,3)" "$triangles $frames"
# Eight rings of 300 triangles and its hull, a capsule, a cone, a box, a plane.
[ "$triangles" -gt $((8 * 300 + 12 + 2)) ] || fail "only $triangles triangles"
"$CAROM" info bodies.glb --json > info.json 2> err || fail "assimp does not read bodies.glb: $(cat err)"
same "triangles that assimp finds" "$(field triangles info.json)" "$triangles"
"$CAROM" info bodies.gltf --json > info.json 2> err
same "triangles that assimp finds in the text" "$(field triangles info.json)" "$triangles"
if command -v assimp > /dev/null; then
	assimp info bodies.glb > assimp.out || fail "assimp info: $(tail -n 3 assimp.out)"
	grep -qE '^Animations: +1$' assimp.out || fail "assimp finds no animation: $(cat assimp.out)"
fi

# Deforming bodies: morph targets, time samples.
expect 0 err 'cloth.gltf: ' export cloth -o cloth.gltf
expect 0 err 'cloth.usda: ' export cloth -o cloth.usda
same "frames of cloth" "$(read_model gltf cloth.gltf | cut -d ' ' -f 3)" 11
same "the cloth in both" "$(read_model usda cloth.usda | cut -d ' ' -f 1,3)" "$(read_model gltf cloth.gltf | cut -d ' ' -f 1,3)"
expect 0 err 'each 5. frame' export cloth --every 5 -o cloth5.gltf
same "each fifth" "$(read_model gltf cloth5.gltf | cut -d ' ' -f 3)" 3

# Spheres are in USD alone.
expect 0 err 'spheres.usda: ' export spheres/spheres.pvd -o spheres.usda
same "moments of spheres" "$(read_model usda spheres.usda)" "0 2 6"
expect 1 err 'spheres alone, for which glTF has no form: write .usda' export spheres -o spheres.gltf
expect 0 err 'the spheres are left out' export all -o all.glb
"$CAROM" export all -o all.usda --json > all.json 2> err
same "bytes" "$(field bytes all.json)" "$(stat -c %s all.usda)"
read_model usda all.usda > out || fail "all.usda"

# Names of the scene, legal and each once.
cat > names.json << 'END'
{
	"steps": 2,
	"bodies": {
		"planes": [{ "name": "floor" }],
		"list": [{ "name": "crate (left)", "shape": "sphere", "radius": 0.1, "position": [0, 1, 0] }, { "shape": "sphere", "radius": 0.1, "position": [2, 1, 0] },
			{ "name": "body_2", "shape": "sphere", "radius": 0.1, "position": [4, 1, 0] }, { "name": "9 \"lives\"", "shape": "sphere", "radius": 0.1, "position": [6, 1, 0] }],
		"grids": [{ "name": "brick", "shape": "sphere", "radius": 0.1, "count": [3, 1, 1], "position": [0, 1, 4] }]
	},
	"deforming": {
		"movers": [{ "name": "hand", "form": "sphere", "radius": 0.1, "divisions": [8, 6], "position": [0, 2, 9] }],
		"list": [{ "name": "flag", "form": "sheet", "size": [1, 1], "divisions": [2, 2], "position": [0, 2, 0], "grid": { "count": [2, 1, 1], "spacing": [2, 1, 1] } },
			{ "form": "sheet", "size": [1, 1], "divisions": [2, 2], "position": [0, 3, 0] }]
	}
}
END
"$CAROM" run names.json --out names > out 2> err
for form in usda gltf; do "$CAROM" export names -o names.$form 2> err; done
read_model usda names.usda > out || fail "names.usda"
read_model gltf names.gltf > out || fail "names.gltf"
same "names in USD" "$(grep -oE '^    def (Xform|Mesh) "[^"]*"' names.usda | cut -d '"' -f 2 | tr '\n' ' ')" \
	"shape_0 shape_1 floor crate_left body_2 body_2_1 _9_lives brick brick_1 brick_2 hand flag_0 flag_1 cloth " # shapes are no bodies
same "names in glTF" "$(python3 -c 'import json; print(" ".join(n["name"].replace(" ", "+") for n in json.load(open("names.gltf"))["nodes"]))')" \
	"floor crate_left body+2 body_2_1 _9_lives brick brick_1 brick_2 floor+part+0 crate_left+part+0 part+2 body_2_1+part+0 _9_lives+part+0 brick+part+0 brick_1+part+0 brick_2+part+0 hand flag_0 flag_1 cloth run"

# Mistakes; nothing half written stays.
expect 2 err "ends in none of .html, .gltf, .glb, .usda" export bodies -o bodies.fbx
expect 1 err 'cannot be written' export bodies -o nowhere/bodies.usda
head -c 300 cloth/frames/frame_000004.ply > cut
mv cut cloth/frames/frame_000004.ply
for form in gltf glb usda; do
	expect 1 err 'frame_000004.ply: ' export cloth -o broken.$form
done
if ls broken.* > /dev/null 2>&1; then fail "a model that could not be finished is left over"; fi
