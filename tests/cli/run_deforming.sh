#!/bin/bash
# carom run of cloth: what a run leaves behind, frames that `carom ccd` and `carom check` find without fault, the same state for any number
# of threads, the scenes of the repository at a coarse resolution, interrupts, and what it says about mistakes.
source "$(dirname "$0")/common.bash"

cat > scene.json << 'END'
{
	"name": "rag",
	"time_step": 0.008333333333333333,
	"steps": 40,
	"meshes": { "stone": { "shape": "lumpy", "triangles": 300, "fit": [0.5, 0.5, 0.5], "centre": true } },
	"deforming": {
		"thickness": 0.004,
		"movers": [{ "name": "stone", "mesh": "stone", "friction": 0.8, "motion": { "spin": { "degrees_per_second": 200 } } }],
		"list": [{ "form": "sheet", "size": [0.9, 0.9], "divisions": [24, 24], "position": [0, 0.3, 0], "velocity": [0, -2, 0] }]
	},
	"camera": { "width": 320, "height": 200 }
}
END

# Substeps: twice as long steps in two substeps each are the same motion.
expect 0 out . run scene.json --json
hash=$(field hash out) impacts=$(field impacts out)
sed 's/0.008333333333333333/0.016666666666666666/; s/"steps": 40/"steps": 20/; s/"thickness"/"substeps": 2, "thickness"/' scene.json > coarse.json
expect 0 out . run coarse.json --json
for name in hash impacts; do same "$name with substeps" "$(field $name out)" "${!name}"; done
same "steps of the scene" "$(field steps out)" 20

# The files, the fields, and a table with the columns that are promised.
expect 0 out '"crossings_final":[[:space:]]*0,' run scene.json --out one --threads 1 --json
for name in scene bodies vertices triangles steps time_step frames impacts impacts_more impacts_undecided impacts_peak searches solves zones zone_vertices halvings leads gave_way crossed_steps pins_broken pin_force_peak tears stretch_peak stretch_final stretch_mean_final kinetic_energy_peak kinetic_energy_final total detection solver output hash threads simd; do
	[ -n "$(field $name out)" ] || fail "no field $name"
done
cmp out one/summary.json || fail "--json is not summary.json"
for file in stats.csv summary.json last.png frames/frame_000040.ply; do [ -s "one/$file" ] || fail "no $file"; done
same bodies "$(field bodies out)" 2
same triangles "$(field triangles out)" 1452
same frames "$(field frames out)" 41
same "files of frames" "$(ls one/frames/frame_* | wc -l)" 41
same "rows of stats.csv" "$(wc -l < one/stats.csv)" 41
head -1 one/stats.csv | grep -q '^step,time,impacts,impacts_more,undecided,searches,solves,zones,zone_vertices,halvings,leads,gave_way,crossings,pins_broken,pin_force,tears,stretch_worst,stretch_mean,kinetic_energy,ms_detection,ms_solver,ms_total$' || fail "columns of stats.csv: $(head -1 one/stats.csv)"
[ "$(field impacts out)" -gt 100 ] || fail "the cloth met nothing"
hash=$(field hash out)

# Between any two frames nothing passes through anything, and no frame crosses itself, rounded to float as they are.
expect 0 out 'impacts +0 vf, 0 ee' ccd one/frames/*.ply
for i in 000020 000040; do expect 0 out 'does not intersect itself' check one/frames/frame_$i.ply; done

# The same bits for other threads and code, with and without output; fewer frames, as OBJ, and none left from before.
expect 0 out . run scene.json --threads 2 --simd scalar --json
same "hash with two threads" "$(field hash out)" "$hash"
sed 's/"steps"/"output": { "format": "obj", "frames": 20 }, "steps"/' scene.json > obj.json
expect 0 out 'triangles: 1452' run obj.json --out one --no-picture
same "frames as OBJ" "$(ls one/frames | grep frame_ | tr '\n' ' ')" "frame_000000.obj frame_000001.obj frame_000002.obj "
expect 0 out . run scene.json --out none --frames 0 --steps 1 --no-picture
{ [ ! -e none/frames ] && [ ! -e none/last.png ]; } || fail "frames or a picture that nobody wanted"
# A run without frames leaves none of an earlier one: they would look like its own.
expect 0 out . run scene.json --frames 1 --steps 2 --out none --no-picture
same "frames before" "$(ls none/frames | grep -c frame_ || true)" 3
expect 0 out . run scene.json --frames 0 --steps 1 --out none --no-picture
same "frames of an earlier run" "$(ls none/frames | grep -c frame_ || true)" 0

# The scenes of the repository, coarse.
for scene in cloth_ball skirt spheres_cones triangles; do
	[ -z "${CAROM_SANITIZED:-}" ] || [ "$scene" = cloth_ball ] || continue
	expect 0 out '"crossings_final":[[:space:]]*0,' run "$CAROM_SOURCE/scenes/$scene.json" --resolution 0.2 --steps 20 --frames 5 --out "$scene" --json --no-picture
	same "frames of $scene" "$(ls $scene/frames/frame_* | wc -l)" 5
done

# A mesh from a file; a movie where there is ffmpeg.
"$CAROM" make sphere --triangles 320 -o ball.obj
expect 0 out '"triangles":[[:space:]]*1472,' run scene.json --mesh stone=ball.obj --steps 2 --json
if command -v ffmpeg > /dev/null; then
	expect 0 out . run scene.json --steps 3 --movie --out film --frames 0 --json
	[ -s film/movie.mp4 ] || fail "no movie"
fi

# Cut off: what there is so far is written.
"$CAROM" run scene.json --steps 100000000 --out cut --no-picture --threads 1 > out 2> err & run=$!
wait_for "$run" test -e cut/frames/frame_000003.ply
kill -INT "$run"
status=0
wait "$run" || status=$?
same "exit code of an interrupted run" "$status" 1
grep -q 'interrupted after' err || fail "no word of the interrupt: $(cat err)"
same "rows of an interrupted run" "$(wc -l < cut/stats.csv)" $(($(field steps cut/summary.json) + 1))

# A step that fails leaves the rows and frames of those before it.
cat > press.json << 'END'
{
	"steps": 60,
	"camera": { "width": 320, "height": 200 },
	"time_step": 0.008333333333333333,
	"deforming": {
		"thickness": 0.004,
		"movers": [{ "name": "below", "form": "sheet", "size": [1, 1], "divisions": [4, 4], "position": [0, -0.2, 0], "motion": { "velocity": [0, 1, 0] } },
			{ "name": "above", "form": "sheet", "size": [1, 1], "divisions": [4, 4], "position": [0, 0.2, 0], "motion": { "velocity": [0, -1, 0] } }],
		"list": [{ "name": "rag", "form": "sheet", "size": [0.5, 0.5], "divisions": [4, 4] }]
	}
}
END
expect 1 err 'step [0-9]+: vertex [0-9]+ of body "rag" is squeezed between ("below" and "above"|"above" and "below")' run press.json --out press --no-picture
[ "$(wc -l < press/stats.csv)" -gt 10 ] || fail "a failed run left no table"
same "frames of a failed run" "$(ls press/frames/frame_* | wc -l)" "$(wc -l < press/stats.csv)"
[ ! -e press/summary.json ] || fail "a failed run has a summary"

# A vertex that lies on an edge it is no part of: turned, it is no crossing for floats, but nothing can part them.
printf 'v %s\n' "0 0 0" "1 0 0" "0.3 0 0" "0.5 0 1" "0.5 0 -1" > joint.obj
printf 'f %s\n' "1 3 4" "3 2 4" "1 5 2" >> joint.obj
echo '{ "meshes": { "m": { "file": "joint.obj" } }, "deforming": { "list": [{ "name": "rag", "mesh": "m", "rotation": { "axis": [1, 0.2, 3], "degrees": 50 } }] } }' > joint.json
expect 1 err 'step 1: vertex 2 of body "rag" touches body "rag" \(near its vertex [0-9]\) already' run joint.json

# Mistakes.
sed 's/"thickness"/"thicknes"/' scene.json > typo.json
expect 1 err 'typo.json:7: field "deforming.thicknes": unknown field; did you mean "thickness"' run typo.json
sed 's/0, 0.3, 0/0, 0, 0/' scene.json > crossing.json
expect 1 err 'crossing.json: triangle [0-9]+ of body "stone" and triangle [0-9]+ of body "cloth" cross at the start' run crossing.json
sed 's/"thickness"/"solver": { "lead_apart": true }, "thickness"/; s/0, 0.3, 0/0, 0.15, 0/' scene.json > apart.json
expect 0 out '"crossings_final":[[:space:]]*0,' run apart.json --json
[ "$(field leads out)" -gt 0 ] || fail "nothing was led apart"
expect 1 err '--mesh: .*has no mesh "rock"' run scene.json --mesh rock=ball.obj
expect 1 err '--movie needs --out' run scene.json --movie
expect 2 err '--count is for scenes with "spheres"; scene.json has none' run scene.json --count 5
echo '{ "bodies": { "planes": [{}] } }' > bodies.json
for option in "resolution 0.5" "frames 2" movie; do
	# shellcheck disable=SC2086
	expect 2 err "--${option% *} is for scenes with \"deforming\"; bodies.json has none" run bodies.json --$option
done
