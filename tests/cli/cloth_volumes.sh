#!/bin/bash
# Cloth that falls on planes, boxes, balls and other volumes of a scene, and on rigid meshes: it comes to rest, and no vertex is ever inside.
source "$(dirname "$0")/common.bash"

# Under sanitizers the cloths only begin to lie.
steps=220
[ -z "${CAROM_SANITIZED-}" ] || steps=40

# scene OBSTACLES [FIELDS]
scene() {
	cat << END
{
	"name": "rest", "time_step": 0.01, "steps": $steps,
	"meshes": { "stone": { "shape": "sphere", "triangles": 720, "fit": [0.5, 0.5, 0.5], "centre": true } },
	"bodies": {
		"planes": [{ "name": "floor" }],
		"list": [
			{ "name": "box", "shape": "box", "kind": "static", "half_extents": [0.2, 0.2, 0.2], "position": [0, 0.2, 0] },
			{ "name": "ball", "shape": "sphere", "kind": "static", "radius": 0.25, "position": [2, 0.25, 0] },
			{ "name": "stone", "mesh": "stone", "kind": "static", "position": [4, 0.25, 0] }
		]
	},
	"deforming": {
		"obstacles": $1,
		"solver": { "damping": 2 },
		"list": [{ "name": "cloth", "form": "sheet", "size": [0.8, 0.8], "divisions": [12, 12], "position": [0, 0.55, 0], "friction": 0.6, "grid": { "count": [4, 1, 1], "spacing": [2, 1, 1] } }]
	},
	"output": { "frames": 5, "format": "obj" }
}
END
}
scene '"all"' > all.json
expect 0 out 'Obstacles push deforming bodies' run all.json --out all --no-picture
same "crossings at the end" "$(field crossings_final all/summary.json)" 0
peak=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "deforming_kinetic_energy") at = i; next } $at > most { most = $at } { last = $at } END { printf "%.9g %.9g %d", most, last, last < 0.01 * most }' all/stats.csv)
[ "${peak##* }" = 1 ] || [ $steps = 40 ] || fail "the cloths do not come to rest: $peak"

# Each vertex of the 4 cloths of 169 vertices in all frames: above the floor, outside box and ball; and they do lie there.
for frame in all/frames/frame_*.obj; do
	awk '/^v / && ++n <= 676 {
			x = $2; y = $3; z = $4; u = x - 2
			if (y < 0 || (x * x < 0.04 && z * z < 0.04 && y < 0.4) || u * u + (y - 0.25) ^ 2 + z * z < 0.0625) { print FILENAME ": vertex " n ": " x, y, z; bad = 1 }
		} END { exit bad || n < 676 }' "$frame" > inside || fail "a vertex inside: $(head -3 inside)"
done
awk '/^v / && ++n <= 676 { if ($2 < 1 && $3 > top[1]) top[1] = $3; else if ($2 > 1 && $2 < 3 && $3 > top[2]) top[2] = $3; else if ($2 > 3 && $2 < 5 && $3 > top[3]) top[3] = $3; else if ($2 > 5 && $3 > top[4]) top[4] = $3 }
	END { exit !(top[1] > 0.4 && top[1] < 0.43 && top[2] > 0.5 && top[2] < 0.53 && top[3] > 0.49 && top[3] < 0.53 && top[4] < 0.1) }' all/frames/frame_$(printf %06d $((steps / 5))).obj || [ $steps = 40 ] || fail "the cloths lie elsewhere"

# The names do as "all" does, and threads change nothing.
hash=$(grep '"hash"' all/summary.json)
scene '["floor", "box", "ball", "stone"]' > names.json
expect 0 out . run names.json --out names --no-picture --threads 2 --simd scalar
same "hashes by names" "$(grep '"hash"' names/summary.json)" "$hash"
expect 0 out . run all.json --out half --no-picture --steps $((steps / 2)) --checkpoint 0
expect 0 out . run all.json --out rest --no-picture --restart half/checkpoint.h5
same "hashes after a restart" "$(grep '"hash"' rest/summary.json)" "$hash"

# Cloth and a dynamic box push each other: it is caught by a cloth that is held at its rim.
cat > net.json << 'END'
{
	"name": "net", "time_step": 0.005, "steps": 300,
	"bodies": { "list": [{ "name": "crate", "shape": "box", "half_extents": [0.1, 0.1, 0.1], "mass": 1, "position": [0, 1.2, 0] }] },
	"deforming": {
		"obstacles": ["crate"], "two_way": true,
		"list": [{ "form": "sheet", "size": [1, 1], "divisions": [14, 14], "position": [0, 1, 0], "stiffness": 8000, "density": 1,
			"pins": [{ "lower": [-1, 0, -1], "upper": [-0.49, 2, 1] }, { "lower": [0.49, 0, -1], "upper": [1, 2, 1] }, { "lower": [-1, 0, -1], "upper": [1, 2, -0.49] }, { "lower": [-1, 0, 0.49], "upper": [1, 2, 1] }] }]
	},
	"output": { "frames": 0 }
}
END
expect 0 out 'Obstacles and deforming bodies push each other' run net.json --out net --no-picture
lowest=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "bodies_lowest_centre") at = i; next } { y = $at } END { print y }' net/stats.csv)
awk "BEGIN { exit !($lowest > 0.7 && $lowest < 1.15) }" || fail "the crate is at $lowest"
same "crossings in the net" "$(field crossings_final net/summary.json)" 0

# Cloth that begins inside a volume, or below a plane.
sed 's/"position": \[0, 0.55, 0\]/"position": [0, 0.3, 0]/' all.json > inside.json
expect 1 err 'inside.json:7: field "bodies.list\[0\]": vertex [0-9]+ of the deforming body "cloth\[0\]" begins inside of it' run inside.json
sed 's/"position": \[0, 0.55, 0\]/"position": [0, -0.3, 0]/' all.json > below.json
expect 1 err 'below.json:5: field "bodies.planes\[0\]": vertex 0 of the deforming body "cloth\[0\]" begins inside of it' run below.json
scene '"some"' > some.json
expect 1 err 'some.json:13: field "deforming.obstacles": must be an array of names, or "all"' run some.json

# The scene of the repository.
expect 0 out . run "$CAROM_SOURCE/scenes/cloth_volumes.json" --resolution 0.5 --steps 60 --out small --no-picture
same "crossings in cloth_volumes.json" "$(field crossings_final small/summary.json)" 0
