#!/bin/bash
# carom run of a scene with rigid bodies, deforming bodies and spheres: one clock, one table, one summary and one picture; each part moves as it
# does alone, for any number of threads; interrupts, and what it says about options that are for one kind alone.
source "$(dirname "$0")/common.bash"

cat > scene.json << 'END'
{
	"name": "mix",
	"time_step": 0.01,
	"steps": 30,
	"meshes": { "ring": { "shape": "torus", "triangles": 200, "fit": [1, 1, 1], "centre": true } },
	"bodies": {
		"planes": [{}],
		"grids": [{ "mesh": "ring", "count": [2, 2, 1], "position": [0, 0.3, 0], "spacing": [1.1, 0.5, 1] }]
	},
	"deforming": {
		"substeps": 2,
		"movers": [{ "form": "sphere", "radius": 0.3, "divisions": [12, 8], "position": [4, 1, 0] }],
		"list": [{ "form": "sheet", "size": [0.8, 0.8], "divisions": [12, 12], "position": [4, 1.33, 0] }]
	},
	"spheres": {
		"substeps": 20,
		"box": { "lower": [-3, 0, -1], "upper": [-1, 2, 1] },
		"material": { "density": 500, "stiffness": 2000 },
		"list": [{ "random": 200, "radius": [0.05, 0.08] }]
	},
	"output": { "frames": 10, "snapshots": 10 },
	"camera": { "width": 320, "height": 200 }
}
END

# What a run leaves behind.
expect 0 out '"hash"' run scene.json --out one --threads 1 --contacts --json
cmp out one/summary.json || fail "--json is not summary.json"
for file in stats.csv summary.json recording.h5 last.png frames/frame_000003.ply spheres.pvd spheres_000000030.vtp; do
	[ -s "one/$file" ] || fail "no $file"
done
[ ! -e one/checkpoint.h5 ] || fail "a checkpoint that nobody asked for"
same "rows of stats.csv" "$(wc -l < one/stats.csv)" 31
for name in step time bodies_contacts deforming_impacts spheres_contacts spheres_kinetic_energy; do
	head -1 one/stats.csv | tr ',' '\n' | grep -qx "$name" || fail "no column $name: $(head -1 one/stats.csv)"
done
same "numbers in each row" "$(awk -F, '{ print NF }' one/stats.csv | sort -u | wc -l)" 1
same "columns named alike" "$(head -1 one/stats.csv | tr ',' '\n' | sort | uniq -d)" ""
same "the last step and time" "$(tail -1 one/stats.csv | cut -d, -f1,2)" "30,0.3"
expect 0 out '"frames":[[:space:]]*30,' info one/recording.h5 --json
expect 0 out 'Deforming bodies and spheres act on each other only with' run scene.json --steps 2
expect 0 out 'Obstacles and deforming bodies push each other' run "$CAROM_SOURCE/scenes/trampoline.json" --steps 2
expect 0 out 'Obstacles and spheres push each other' run "$CAROM_SOURCE/scenes/buoyancy.json" --steps 2
hash=$(tail -10 one/summary.json | sed -n 's/.*"hash":[^"]*"\([0-9a-f]*\)".*/\1/p')
[ -n "$hash" ] || fail "no hash of the whole"

# The same state and picture for other threads and code.
expect 0 out . run scene.json --out two --threads 2 --simd scalar --contacts --json
same hashes "$(grep '"hash"' two/summary.json)" "$(grep '"hash"' one/summary.json)"
for file in recording.h5 last.png frames/frame_000003.ply spheres_000000030.vtp; do cmp "one/$file" "two/$file" || fail "$file depends on the threads"; done

# Each part alone moves as it does with the others.
alone() { # SECTION COLUMN: a scene without the two others
	local others=(bodies deforming spheres) words='"output"|"x"'
	for other in "${others[@]}"; do [ "$other" = "$1" ] || words+="|\"$other\""; done
	awk -v words="^\t($words)" '$0 ~ words { skip = /[{]$/ ? 1 : 0; next } skip { if (/^\t[}]/) skip = 0; next } { print }' scene.json > "$1.json"
	expect 0 out . run "$1.json" --json
	grep -q "$(field hash out)" one/summary.json || fail "$1 moves otherwise alone"
}
for section in bodies deforming spheres; do alone $section; done

# Bodies that are obstacles push deforming bodies: a stone that rises lifts the cloth above it, and goes its way as without it.
obstacles() { # NAMES
	cat << END
{
	"time_step": 0.01,
	"steps": 50,
	"meshes": { "stone": { "shape": "sphere", "triangles": 320, "fit": [0.6, 0.6, 0.6], "centre": true } },
	"bodies": {
		"planes": [{}],
		"list": [{ "name": "stone", "mesh": "stone", "position": [0, 1.2, 0], "velocity": [0, 3, 0] }]
	},
	"deforming": {
		"substeps": 2,
		"obstacles": [$1],
		"list": [{ "form": "sheet", "size": [1, 1], "divisions": [16, 16], "position": [0, 1.6, 0] }]
	}
}
END
}
obstacles '"stone"' > pushed.json
sed '/"obstacles"/d' pushed.json > free.json
expect 0 out 'Obstacles push deforming bodies' run pushed.json --out pushed --no-picture
expect 0 out 'Rigid bodies act on other sections only as their "obstacles"' run free.json --out free --no-picture
same "crossings of what is pushed" "$(field crossings_final pushed/summary.json)" 0
[ "$(field impacts pushed/summary.json)" -gt 100 ] || fail "nothing was pushed"
same "impacts of what is free" "$(field impacts free/summary.json)" 0
stone() { tr -d '\n' < "$1/summary.json" | sed 's/.*"bodies":[^{]*{\(.*\)"deforming".*/\1/' | grep -o '"hash":[^"]*"[0-9a-f]*"'; }
[ -n "$(stone free)" ] || fail "no hash of the stone"
same "the way of the stone" "$(stone pushed)" "$(stone free)"
hash=$(grep '"hash"' pushed/summary.json)
expect 0 out . run pushed.json --out pushed --no-picture --threads 2 --simd scalar
same "hashes with obstacles" "$(grep '"hash"' pushed/summary.json)" "$hash"

# The scene of the repository.
expect 0 out '"hash"' run "$CAROM_SOURCE/scenes/together.json" --resolution 0.3 --steps 40 --out small --json
same "crossings in together.json" "$(field crossings_final small/summary.json)" 0
[ -s small/last.png ] || fail "no picture of together.json"

# A movie shows all parts, where there is ffmpeg.
if command -v ffmpeg > /dev/null; then
	expect 0 out . run scene.json --steps 3 --movie --out film --frames 0 --snapshots 0 --json
	[ -s film/movie.mp4 ] || fail "no movie"
fi

# An interrupt ends all parts at one step.
"$CAROM" run scene.json --steps 100000000 --out cut --no-picture --threads 1 > out 2> err & run=$!
wait_for "$run" test -e cut/spheres_000000010.vtp
kill -INT "$run"
status=0
wait "$run" || status=$?
same "exit code of an interrupted run" "$status" 1
steps=$(field steps cut/summary.json)
same "rows of an interrupted run" "$(wc -l < cut/stats.csv)" $((steps + 1))
expect 0 out "\"frames\":[[:space:]]*$steps," info cut/recording.h5 --json

# A step that one part fails in leaves the steps before it, of all parts.
sed 's/"list": \[{ "form"/"movers": [{ "name": "press", "form": "sheet", "size": [1, 1], "divisions": [4, 4], "position": [4, 1.5, 0], "motion": { "velocity": [0, -1, 0] } }, { "form": "sphere", "radius": 0.3, "divisions": [12, 8], "position": [4, 1, 0] }], &/; /"movers": \[{ "form": "sphere"/d' scene.json > press.json
expect 1 err 'is squeezed between' run press.json --out press --no-picture
rows=$(wc -l < press/stats.csv)
[ "$rows" -gt 2 ] || fail "a failed run left no table"
[ ! -e press/summary.json ] || fail "a failed run has a summary"

# Mistakes.
expect 1 err 'one/recording.h5: is no checkpoint' run scene.json --restart one/recording.h5
echo '{ "planes": [{}], "bodies": [] }' > old.json
expect 1 err 'old.json:1: field "planes": belongs into "bodies" \(docs/scenes.md\)' run old.json
echo '{ "name": "nothing" }' > empty.json
expect 1 err 'empty.json:1: the scene is empty: it needs "bodies", "deforming" or "spheres"' run empty.json
echo '{ "bodies": { "planes": [{}] } }' > bodies.json
expect 2 err '--movie is for scenes with "deforming"; bodies.json has none' run bodies.json --movie --out film
