#!/bin/bash
# carom run: what a run leaves behind, the same files for any number of threads, interrupts, and what it says about mistakes.
source "$(dirname "$0")/common.bash"

cat > scene.json << 'END'
{
	"name": "rings",
	"steps": 12,
	"camera": { "width": 320, "height": 200 },
	"meshes": { "ring": { "shape": "torus", "triangles": 600, "fit": [1, 1, 1], "centre": true } },
	"bodies": {
		"planes": [{}],
		"grids": [{ "shape": "mesh", "mesh": "ring", "count": [2, 2, 2], "position": [0, 0.4, 0], "spacing": [1.1, 0.6, 1.1] }]
	}
}
END

# The files, the contract's fields, and the same bits for 1 and 2 threads and scalar code.
expect 0 out 'rounded to float' run --help
expect 0 out '"bodies_above_ground"' run scene.json --out one --threads 1 --contacts --json
for name in bodies steps bodies_above_ground deepest_penetration kinetic_energy_peak kinetic_energy_final total detection response hash ray_length rays_inside plane_depth plane_vertices; do
	[ -n "$(field $name out)" ] || fail "no field $name"
done
cmp out one/summary.json || fail "--json is not summary.json"
for file in stats.csv summary.json recording.h5 last.png; do [ -s "one/$file" ] || fail "no $file"; done
same "rows of stats.csv" "$(wc -l < one/stats.csv)" 13
same "moving bodies" "$(field bodies out)" 8
hash=$(field hash out)
expect 0 out . run scene.json --out two --threads 2 --simd scalar --contacts --json
same hash "$(field hash out)" "$hash"
cmp one/recording.h5 two/recording.h5 || fail "equal runs left different recordings"
cmp one/last.png two/last.png || fail "equal runs left different pictures"

# The table has the counters of what is continued from earlier steps.
for name in rays_iterative rays_predictive rays_lost rays_recast rays_missed walk_steps backtracks pairs_full pairs_iterative pairs_apart vertices_watched; do
	head -1 one/stats.csv | grep -q ",$name," || fail "no column $name in stats.csv"
done

# Bodies of a source come in one after another: in the table, in the recording, in its replay and in its pictures.
cat > source.json << 'END'
{
	"steps": 13,
	"camera": { "width": 320, "height": 200 },
	"bodies": {
		"planes": [{}],
		"sources": [{ "shape": "sphere", "radius": 0.5, "position": [0, 2, 0], "rate": 10, "count": 5, "circle": { "radius": 1, "turns_per_second": 2 } }]
	}
}
END
expect 0 out '"bodies":[[:space:]]*3,' run source.json --out source --json
same "bodies in each step" "$(tail -n +2 source/stats.csv | cut -d, -f4 | tr '\n' ' ')" "2 2 2 2 2 2 3 3 3 3 3 3 4 "
expect 0 out '"steps":[[:space:]]*13' replay source/recording.h5 --steps 0:13 --json
"$CAROM" render source/recording.h5 --frames 0:13 --every 6 --camera 0,2,9,0,2,0 --plain --size 64x48 -o source/%02d.png 2> err || fail "render: $(cat err)"
cmp -s source/00.png source/06.png && fail "a new body does not show"
cmp -s source/06.png source/12.png && fail "another new body does not show"

# Another mesh, fewer steps, no picture.
"$CAROM" make knot --triangles 902 -o knot.obj
expect 0 out '3 x ' run scene.json --mesh ring=knot.obj --steps 3 --no-picture --out three
[ ! -e three/last.png ] || fail "--no-picture left a picture"

# An interrupt, sent twice as timeout does: everything is written for the steps that are done.
"$CAROM" run scene.json --steps 100000000 --out cut --no-picture --threads 1 > out 2> err & run=$!
wait_for "$run" has_lines cut/stats.csv.part 3
kill -INT "$run" && { kill -INT "$run" || true; }
status=0
wait "$run" || status=$?
same "exit code of an interrupted run" "$status" 1
has_lines cut/stats.csv 3 || fail "steps of an interrupted run are lost"
grep -q 'interrupted after' err || fail "no word of the interrupt: $(cat err)"
for file in stats.csv summary.json recording.h5; do [ -s "cut/$file" ] || fail "an interrupted run left no $file"; done

# An interrupt after the last step, while the picture is made: the run is whole.
sed 's/"width": 320, "height": 200/"width": 4096, "height": 4096/' scene.json > large.json
"$CAROM" run large.json --steps 3 --checkpoint 0 --out whole --threads 1 > out 2> err & run=$!
wait_for "$run" [ -e whole/checkpoint.h5 ]
kill -INT "$run" || true
status=0
wait "$run" || status=$?
same "exit code of a run that was interrupted after its last step" "$status" 0
grep -q 'interrupted' err && fail "a word of an interrupt that cut nothing: $(cat err)"

# Mistakes.
expect 1 err 'nowhere.json: cannot be opened' run nowhere.json
expect 1 err 'has no mesh "rong"; it has: ring' run scene.json --mesh rong=knot.obj
expect 2 err '.--backend gpu: must be one of cpu, vulkan' run scene.json --backend gpu
expect 2 err 'did you mean --steps' run scene.json --step 3
expect 2 err 'must be from 1' run scene.json --steps 0
echo '{ "gravty": [0, 0, 0] }' > typo.json
expect 1 err 'typo.json:1: field "gravty": unknown field; did you mean "gravity"' run typo.json
: > file
expect 1 err 'cannot make the folder|is not a folder' run scene.json --out file
