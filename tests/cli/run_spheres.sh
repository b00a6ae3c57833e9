#!/bin/bash
# carom run of spheres: what a run leaves behind, the same state for any number of threads, method, skin and break, snapshots for
# ParaView, interrupts, and what it says about mistakes.
source "$(dirname "$0")/common.bash"

cat > scene.json << 'END'
{
	"name": "drum",
	"time_step": 1e-4,
	"steps": 400,
	"gravity": { "direction": [0, -1, 0], "axis": [0, 0, 1], "degrees_per_second": 720 },
	"spheres": {
		"box": { "upper": [0.2, 0.2, 0.1], "periodic": ["z"] },
		"material": { "density": 500, "stiffness": 100, "tangential": "spring", "friction": 0.4 },
		"list": [{ "random": 2000, "radius": [0.003, 0.005], "velocity_spread": [1, 1, 1], "seed": 7 }]
	},
	"output": { "energy": 100 },
	"camera": { "width": 320, "height": 200 }
}
END

# The files, the contract's fields, and a table with the columns that are promised.
expect 0 out '"spheres_inside"' run scene.json --out one --threads 1 --snapshots 150 --json
for name in spheres steps spheres_inside deepest_overlap_relative kinetic_energy_peak kinetic_energy_final contacts_final contacts_per_sphere_final total build detection update output bytes_per_sphere time_step_limit hash; do
	[ -n "$(field $name out)" ] || fail "no field $name"
done
cmp out one/summary.json || fail "--json is not summary.json"
for file in stats.csv summary.json checkpoint.h5 last.png spheres.pvd; do [ -s "one/$file" ] || fail "no $file"; done
same spheres "$(field spheres out)" 2000
same steps "$(field steps out)" 400
same "spheres inside" "$(field spheres_inside out)" 2000
same "rows of stats.csv" "$(wc -l < one/stats.csv)" 401
head -1 one/stats.csv | grep -q '^step,time,contacts,wall_contacts,contacts_per_sphere,max_overlap,kinetic_energy,list_built,sorted,ms_build,ms_detection,ms_update,ms_obstacles,ms_total$' || fail "columns of stats.csv: $(head -1 one/stats.csv)"
same "steps with a measured energy" "$(awk -F, 'NR > 1 && $7 != "" { printf "%s ", $1 }' one/stats.csv)" "100 200 300 400 "
awk -F, 'NR > 1 && $3 > 0 { touched = 1 } END { exit !touched }' one/stats.csv || fail "nothing touched"
hash=$(field hash out)

# Snapshots: the first state, every 150 steps, and the last one.
same snapshots "$(cd one && ls spheres_*.vtp | tr '\n' ' ')" "spheres_000000000.vtp spheres_000000150.vtp spheres_000000300.vtp spheres_000000400.vtp "
same "files in the collection" "$(grep -c '<DataSet' one/spheres.pvd)" 4
grep -q '<DataSet timestep="0.03[0-9]*" part="0" file="spheres_000000300.vtp"/>' one/spheres.pvd || fail "$(cat one/spheres.pvd)"
grep -aq '<Piece NumberOfPoints="2000" NumberOfVerts="1">' one/spheres_000000400.vtp || fail "spheres_000000400.vtp lacks its points"

# The same bits for other threads, code, method and skin.
expect 0 out . run scene.json --out two --threads 2 --simd scalar --snapshots 150 --json
same "hash with two threads" "$(field hash out)" "$hash"
for file in last.png spheres_000000400.vtp; do cmp "one/$file" "two/$file" || fail "$file depends on the threads"; done
for detection in '"method": "tree", "skin": 0' '"method": "levels", "skin": 0.006'; do
	sed "s/\"box\"/\"detection\": { $detection }, \"box\"/" scene.json > other.json
	expect 0 out . run other.json --json
	same "hash with $detection" "$(field hash out)" "$hash"
done

# A list that lasts long: wider than a sphere, kept while spheres come near that were two radii apart.
sed 's/, "periodic": \["z"\]//; s/"tangential": "spring", "friction": 0.4/"restitution": 0.5/' scene.json > dry.json
for skin in 0 0.006; do
	sed "s/\"box\"/\"detection\": { \"skin\": $skin }, \"box\"/" dry.json > other.json
	expect 0 out . run other.json --json
	[ "$skin" = 0 ] || same "hash with a wide skin" "$(field hash out)" "$dry"
	dry=$(field hash out)
done

# A run in two parts ends as the run in one.
expect 0 out 'spheres: 2000' run scene.json --out part --steps 230 --checkpoint 100 --no-picture
[ ! -e part/last.png ] || fail "--no-picture left a picture"
expect 0 out . run scene.json --restart part/checkpoint.h5 --out rest --threads 2 --json
same "hash after a restart" "$(field hash out)" "$hash"
# Peaks are those of all steps, whichever part of the run has them.
for peak in deepest_overlap_relative deepest_overlap_step kinetic_energy_peak kinetic_energy_peak_step contacts_peak contacts_peak_step; do
	same "$peak after a restart" "$(field $peak out)" "$(field $peak one/summary.json)"
done
[ "$(field deepest_overlap_step out)" -le "$(field first_step out)" ] || fail "the deepest overlap is none of the part before: the test tells nothing"
same first_step "$(field first_step out)" 230
same "rows after a restart" "$(wc -l < rest/stats.csv)" 171
cmp one/last.png rest/last.png || fail "the picture differs after a restart"

# Substeps: four times as long steps in four substeps each are the same motion, and go on from a checkpoint too.
sed 's/1e-4/4e-4/; s/"steps": 400/"steps": 100/; s/"box"/"substeps": 4, "box"/' scene.json > coarse.json
expect 0 out . run coarse.json --out coarse --snapshots 50 --no-picture --json
same "hash with substeps" "$(field hash out)" "$hash"
same "steps of the scene" "$(field steps out)" 100
same "rows with substeps" "$(wc -l < coarse/stats.csv)" 101
same "snapshots with substeps" "$(cd coarse && ls spheres_*.vtp | tr '\n' ' ')" "spheres_000000000.vtp spheres_000000050.vtp spheres_000000100.vtp "
expect 0 out . run coarse.json --steps 60 --out coarse --no-picture
expect 0 out . run coarse.json --restart coarse/checkpoint.h5 --out coarse --no-picture --json
same "hash after a restart with substeps" "$(field hash out)" "$hash"
same "first_step with substeps" "$(field first_step out)" 60
same "rows after a restart with substeps" "$(wc -l < coarse/stats.csv)" 101
expect 1 err 'has done 230 substeps, which is not a whole number of steps of 4' run coarse.json --restart part/checkpoint.h5

# In the folder of the checkpoint, table and collection go on behind what it has done; in another one they begin with it.
expect 0 out . run scene.json --steps 230 --snapshots 50 --out whole --no-picture
expect 0 out . run scene.json --steps 170 --snapshots 50 --out whole --no-picture # what 230 wrote goes
expect 0 out . run scene.json --restart whole/checkpoint.h5 --out whole/../whole --snapshots 50 --no-picture --json
same "hash after a restart in place" "$(field hash out)" "$hash"
same "steps in the table" "$(tail -n +2 whole/stats.csv | cut -d, -f1 | tr '\n' ' ')" "$(seq 1 400 | tr '\n' ' ')"
cut -d, -f1-6 one/stats.csv > one.columns
cut -d, -f1-6 whole/stats.csv | cmp - one.columns || fail "the table of a continued run is another"
same "files in the continued collection" "$(sed -n 's/.*spheres_0*\([0-9]*\).vtp.*/\1/p' whole/spheres.pvd | tr '\n' ' ')" " 50 100 150 170 200 250 300 350 400 "
same snapshots "$(field snapshots out)" 10
# A run that was killed left its table as .part, with a row that is not whole; its checkpoint is older than that.
expect 0 out . run scene.json --steps 100 --out killed --no-picture
mv killed/stats.csv killed/stats.csv.part
printf '101,0.0101,5,5,1,1,,0,0,1,1,1,1\n102,0.01' >> killed/stats.csv.part
expect 0 out . run scene.json --restart killed/checkpoint.h5 --steps 110 --out killed --no-picture
same "steps after a kill" "$(tail -n +2 killed/stats.csv | cut -d, -f1 | tr '\n' ' ')" "$(seq 1 110 | tr '\n' ' ')"
# Nor do rows get lost where a run before it finished: a table ends at 110, one that was killed came to 130 and its checkpoint to 120.
cp killed/stats.csv before.csv
expect 0 out . run scene.json --restart killed/checkpoint.h5 --steps 120 --out killed --no-picture
cp killed/checkpoint.h5 at120.h5
expect 0 out . run scene.json --restart killed/checkpoint.h5 --steps 130 --out killed --no-picture
mv killed/stats.csv killed/stats.csv.part
cp before.csv killed/stats.csv
cp at120.h5 killed/checkpoint.h5
expect 0 out . run scene.json --restart killed/checkpoint.h5 --steps 140 --out killed --no-picture
same "steps after a second kill" "$(tail -n +2 killed/stats.csv | cut -d, -f1 | tr '\n' ' ')" "$(seq 1 140 | tr '\n' ' ')"
# One that was killed before it came to the checkpoint's step has nothing to add.
head -4 killed/stats.csv > killed/stats.csv.part
expect 0 out . run scene.json --restart killed/checkpoint.h5 --steps 150 --out killed --no-picture
same "steps after a third kill" "$(tail -n +2 killed/stats.csv | cut -d, -f1 | tr '\n' ' ')" "$(seq 1 150 | tr '\n' ' ')"
sed -i 1s/time/hour/ killed/stats.csv
expect 1 err 'has other columns' run scene.json --restart killed/checkpoint.h5 --steps 160 --out killed --no-picture
# A table or a collection that another run has left in the folder is not taken for the checkpoint's own; nothing of it is lost.
sed 's/"seed": 7/"seed": 8/' scene.json > other.json
expect 0 out . run scene.json --steps 60 --snapshots 20 --out mixed --no-picture
cp -r mixed mine
expect 0 out . run other.json --steps 70 --snapshots 20 --out mixed --no-picture
cp mine/checkpoint.h5 mixed/checkpoint.h5
mv mixed/stats.csv mixed/stats.csv.part
cp mixed/stats.csv.part theirs.csv
expect 1 err 'stats.csv: does not hold the rows up to step 60 that were there when mixed/checkpoint.h5 was written: take another --out' \
	run scene.json --restart mixed/checkpoint.h5 --steps 80 --out mixed --no-picture
cmp theirs.csv mixed/stats.csv.part || fail "the table of another run is gone"
cp mine/stats.csv mixed/stats.csv
expect 1 err 'spheres.pvd: is that of another run' run scene.json --restart mixed/checkpoint.h5 --steps 80 --snapshots 20 --out mixed --no-picture
cmp theirs.csv mixed/stats.csv.part || fail "the table of another run is gone"
expect 0 out . run scene.json --restart mixed/checkpoint.h5 --steps 80 --out mixed --no-picture
same "steps beside another run" "$(tail -n +2 mixed/stats.csv | cut -d, -f1 | tr '\n' ' ')" "$(seq 1 80 | tr '\n' ' ')"
head -81 one/stats.csv | cut -d, -f1-6 > one.columns
cut -d, -f1-6 mixed/stats.csv | cmp - one.columns || fail "rows of another run got into the table"
# A run that was killed between its last checkpoint and its summary is finished by a restart without steps.
expect 0 out . run scene.json --steps 80 --out whole80 --no-picture --json
expect 0 out . run scene.json --steps 80 --out ended --no-picture
rm ended/summary.json
mv ended/stats.csv ended/stats.csv.part
expect 0 out . run scene.json --restart ended/checkpoint.h5 --steps 80 --out ended --json
for name in steps hash contacts_final wall_contacts_final kinetic_energy_final; do
	same "$name of a run that was killed at its end" "$(field $name ended/summary.json)" "$(field $name whole80/summary.json)"
done
same "rows of a run that was killed at its end" "$(wc -l < ended/stats.csv)" 81
[ -s ended/last.png ] || fail "no picture"

# A step that fails leaves the rows of those before it.
cat > lost.json << 'END'
{
	"time_step": 1,
	"steps": 10000,
	"gravity": { "magnitude": 1e6 },
	"spheres": {
		"box": { "walls": false },
		"material": { "stiffness": 1e-3, "density": 1e6 },
		"list": [{ "random": 20, "radius": 0.05, "velocity_spread": [1e6, 1e6, 1e6] }]
	}
}
END
expect 1 err 'is farther away' run lost.json --out lost --no-picture --threads 1
[ "$(wc -l < lost/stats.csv)" -gt 2 ] || fail "a failed run left no table"
[ ! -e lost/summary.json ] || fail "a failed run has a summary"

# The state of every N-th step is there when a run is cut off.
"$CAROM" run scene.json --steps 100000000 --checkpoint 5 --out cut --no-picture --threads 1 > out 2> err & run=$!
wait_for "$run" test -e cut/checkpoint.h5
kill -INT "$run" && { kill -INT "$run" || true; }
status=0
wait "$run" || status=$?
same "exit code of an interrupted run" "$status" 1
grep -q 'interrupted after' err || fail "no word of the interrupt: $(cat err)"
for file in stats.csv summary.json checkpoint.h5; do [ -s "cut/$file" ] || fail "an interrupted run left no $file"; done
steps=$(field steps cut/summary.json)
same "rows of an interrupted run" "$(wc -l < cut/stats.csv)" $((steps + 1))

# Another number of spheres; a scene of the repository; a mesh from a file, in copies with a colour each.
expect 0 out '"spheres":[[:space:]]*500,' run "$CAROM_SOURCE/scenes/freefall.json" --count 500 --steps 3 --json
"$CAROM" make sphere --triangles 960 -o ball.obj
sed 's/"count": 82337/"count": 40/' "$CAROM_SOURCE/scenes/grains14.json" > grains.json
expect 0 out '"spheres":[[:space:]]*560,' run grains.json --mesh grain=ball.obj --steps 2 --out grains --json
[ -s grains/last.png ] || fail "no picture of grains"
cat > csv.json << 'END'
{
	"time_step": 1e-4,
	"steps": 1,
	"spheres": {
		"list": [{ "file": "three.csv", "position": [0.5, 0.5, 0.5] }]
	}
}
END
printf 'x,y,z,radius\n0,0,0,0.1\n0.3,0,0,0.1\n0,0.3,0,0.1\n' > three.csv
expect 0 out '"spheres":[[:space:]]*3,' run csv.json --json

# Mistakes.
expect 1 err 'has 0 random sources of spheres' run csv.json --count 5
expect 1 err 'a checkpoint has its spheres already' run scene.json --restart part/checkpoint.h5 --count 5
expect 1 err 'has done 230 steps already, and 200 are wanted' run scene.json --restart part/checkpoint.h5 --steps 200
expect 1 err 'three.csv' run scene.json --restart three.csv
expect 1 err 'time_step: 0.01 s is not below' run <(sed 's/1e-4/1e-2/' scene.json)
echo '{ "bodies": { "planes": [{}] } }' > bodies.json
for option in "count 5" "snapshots 5"; do
	# shellcheck disable=SC2086
	expect 2 err "--${option% *} is for scenes with \"spheres\"" run bodies.json --$option
done
sed 's/"friction": 0.4/"fricton": 0.4/' scene.json > typo.json
expect 1 err 'typo.json:8: field "spheres.material.fricton": unknown field; did you mean "friction"' run typo.json
sed 's/1e-4/1e-3/; s/"box"/"stability": { "check": "report" }, "box"/' scene.json > unstable.json
expect 0 err 'carom: warning: .*above the bound of stability' run unstable.json --steps 1
: > file
expect 1 err 'cannot make the folder|is not a folder' run scene.json --out file
