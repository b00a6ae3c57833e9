#!/bin/bash
# carom run --checkpoint and --restart for scenes with rigid bodies, cloth, solids and spheres, alone and together: N steps, a checkpoint, another
# process with other threads and code and N more steps are the 2 N steps of one run in every bit; what it says about files that do not fit.
source "$(dirname "$0")/common.bash"

# The columns of a table that no clock and no memory decide, of the last N steps.
rows() { # TABLE N
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) keep[i] = $i !~ /(^|_)(ms|memory|scratch)_?|list_built|sorted/; next }
		{ line = ""; for (i = 1; i <= NF; i++) if (keep[i]) line = line "," $i; print line }' "$1" | tail -n "$2"
}

# halves NAME SCENE N OPTION...: leaves NAME/{whole,half,rest}.
halves() {
	local name=$1 scene=$2 n=$3
	shift 3
	expect 0 out '"hash"' run "$scene" --steps $((2 * n)) --out "$name/whole" --no-picture --threads 1 --json "$@"
	expect 0 out . run "$scene" --steps "$n" --checkpoint 0 --out "$name/half" --no-picture --threads 1 "$@"
	[ -s "$name/half/checkpoint.h5" ] || fail "$name: no checkpoint"
	[ ! -e "$name/half/checkpoint.h5.part" ] || fail "$name: an unfinished checkpoint is left"
	[ ! -e "$name/whole/checkpoint.h5" ] || fail "$name: a checkpoint that nobody asked for"
	cp "$name/half/checkpoint.h5" before.h5
	expect 0 out . run "$scene" --steps $((2 * n)) --restart "$name/half/checkpoint.h5" --out "$name/rest" --no-picture --threads 2 --simd scalar --json "$@"
	cmp before.h5 "$name/half/checkpoint.h5" || fail "$name: the checkpoint that was read is another"
	same "hashes of $name" "$(grep '"hash"' "$name/rest/summary.json")" "$(grep '"hash"' "$name/whole/summary.json")"
	same "rows of the table of $name" "$(wc -l < "$name/rest/stats.csv")" $((n + 1))
	same "the table of $name" "$(rows "$name/rest/stats.csv" "$n")" "$(rows "$name/whole/stats.csv" "$n")"
}

cat > rigid.json << 'END'
{
	"name": "rigid", "time_step": 0.01, "steps": 60,
	"meshes": { "ring": { "shape": "torus", "triangles": 200, "fit": [1, 1, 1], "centre": true } },
	"bodies": {
		"max_substeps": 3, "substep_travel": 0.05,
		"planes": [{}],
		"list": [
			{ "name": "stone", "shape": "sphere", "radius": 0.1, "position": [5, 1, 0], "velocity": [0, -60, 0], "continuous": true },
			{ "name": "mill", "mesh": "ring", "kind": "kinematic", "position": [0, 0.5, 0], "angular_velocity": [0, 2, 0] }
		],
		"grids": [{ "mesh": "ring", "count": [2, 2, 2], "position": [0, 1, 0], "spacing": [0.8, 0.45, 0.8], "jitter": { "degrees": 180, "seed": 3 } }],
		"sources": [{ "rate": 10, "count": 10, "mesh": "ring", "position": [3, 1, 0], "mass": 1 }]
	}
}
END
# Bodies that fall asleep: some do before the checkpoint, some wait for it, and the last stone wakes them.
cat > sleep.json << 'END'
{
	"name": "sleep", "time_step": 0.01, "steps": 200,
	"bodies": {
		"solver": { "sleep": { "linear_speed": 0.3, "angular_speed": 0.5, "time": 0.3 } },
		"planes": [{}],
		"list": [
			{ "shape": "box", "half_extents": [0.2, 0.2, 0.2], "position": [0, 0.2, 0] },
			{ "shape": "box", "half_extents": [0.2, 0.2, 0.2], "position": [1, 0.6, 0] },
			{ "shape": "box", "half_extents": [0.2, 0.2, 0.2], "position": [2, 1.2, 0] },
			{ "shape": "sphere", "radius": 0.2, "position": [-0.9, 1.9, 0], "velocity": [1, 0, 0] }
		]
	}
}
END
cat > cloth.json << 'END'
{
	"name": "cloth", "time_step": 0.01, "steps": 30,
	"deforming": {
		"movers": [{ "form": "sphere", "radius": 0.3, "divisions": [12, 8], "motion": { "velocity": [0, 0.5, 0] } }],
		"list": [
			{ "form": "sheet", "size": [0.8, 0.8], "divisions": [10, 10], "position": [0, 0.31, 0] },
			{ "form": "sheet", "size": [0.6, 0.6], "divisions": [8, 8], "position": [0, 0.35, 0] }
		]
	}
}
END
cat > solid.json << 'END'
{
	"name": "solid", "time_step": 0.005, "steps": 40,
	"meshes": { "ring": { "shape": "torus", "triangles": 200, "fit": [0.8, 0.8, 0.8], "centre": true } },
	"deforming": {
		"movers": [{ "form": "sheet", "size": [2, 2], "divisions": [4, 4] }],
		"list": [{ "mesh": "ring", "keeps_volume": true, "position": [0, 0.45, 0], "rotation": { "axis": [1, 0, 0], "degrees": 70 }, "velocity": [0, -2, 0] }]
	}
}
END
cat > all.json << 'END'
{
	"name": "all", "time_step": 0.005, "steps": 40,
	"meshes": { "ring": { "shape": "torus", "triangles": 200, "fit": [0.4, 0.4, 0.4], "centre": true } },
	"bodies": {
		"planes": [{}],
		"list": [{ "name": "ring", "mesh": "ring", "density": 300, "position": [0, 1.25, 0], "velocity": [0, -1, 0] }]
	},
	"deforming": {
		"substeps": 2, "obstacles": ["ring"], "two_way": true,
		"list": [{ "form": "sheet", "size": [1, 1], "divisions": [10, 10], "position": [0, 1, 0], "stiffness": 8000, "density": 0.5,
			"pins": [{ "lower": [-1, 0, -1], "upper": [-0.49, 2, 1] }, { "lower": [0.49, 0, -1], "upper": [1, 2, 1] }] }]
	},
	"spheres": {
		"substeps": 10, "deforming": true, "obstacles": ["ring"], "two_way": true,
		"box": { "lower": [-1, 0, -1], "upper": [1, 3, 1], "walls": false },
		"material": { "density": 500, "stiffness": 10000, "tangential": "spring", "friction": 0.4 },
		"list": [{ "random": 30, "radius": [0.03, 0.05], "lower": [-0.3, 1.5, -0.3], "upper": [0.3, 1.9, 0.3], "velocity": [0, -5, 0] }]
	},
	"output": { "frames": 20, "snapshots": 20 }
}
END
halves rigid rigid.json 30
moments=(8 20 47 60 100)
[ -z "${CAROM_SANITIZED-}" ] || moments=(47)
for n in "${moments[@]}"; do halves sleep$n sleep.json $n; done
halves cloth cloth.json 15
halves solid solid.json 20
halves all all.json 20
halves buoyancy "$CAROM_SOURCE/scenes/buoyancy.json" 2
halves trampoline "$CAROM_SOURCE/scenes/trampoline.json" 6 --resolution 0.4
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 15 { b += $at["spheres_wall_contacts"]; d += $at["deforming_impacts"] } END { exit !(b > 0 && d > 0) }' all/whole/stats.csv ||
	fail "the parts of all.json do not meet"

# Checkpoints on the way: the last one of a run that ends there or is cut; and one from a run that was continued.
expect 0 out . run all.json --steps 25 --checkpoint 10 --out way --no-picture
expect 0 out . run all.json --steps 40 --restart way/checkpoint.h5 --checkpoint 15 --out more --no-picture
same "hashes of a run with checkpoints on the way" "$(grep '"hash"' more/summary.json)" "$(grep '"hash"' all/whole/summary.json)"
expect 0 out . run all.json --restart more/checkpoint.h5 --out end --no-picture
same "hashes of a run without steps" "$(grep '"hash"' end/summary.json)" "$(grep '"hash"' all/whole/summary.json)"
"$CAROM" run all.json --steps 1000000 --checkpoint 5 --out cut --no-picture --threads 1 > out 2> err & run=$!
wait_for "$run" test -e cut/checkpoint.h5
kill -KILL "$run"
wait "$run" 2> /dev/null || true
if "$CAROM" run all.json --restart cut/checkpoint.h5 --out after --no-picture > out 2> err; then
	same "hashes after a kill" "$(grep '"hash"' after/summary.json)" "$(grep '"hash"' all/whole/summary.json)"
else
	grep -q 'steps already' err || fail "the checkpoint of a killed run: $(cat err)"
fi

# What may differ, and what may not: the field is named.
sed 's/"steps": 40/"steps": 41/; s/"frames": 20/"frames": 0/; s/"name": "all"/"name": "other"/' all.json > free.json
expect 0 out . run free.json --restart all/half/checkpoint.h5 --out free --no-picture --steps 21
differs() { # FIELD SED: the scene that sed makes of all.json has another field
	sed "$2" all.json > other.json
	! cmp -s other.json all.json || fail "nothing differs: $2"
	expect 1 err "other.json: field \"$1\": differs from that of the run which wrote all/half/checkpoint.h5" run other.json --restart all/half/checkpoint.h5 --out o
	[ ! -e o/stats.csv ] || fail "a table of a run that did not begin"
}
differs 'bodies.list\[0\].density' 's/"density": 300/"density": 301/'
differs 'deforming.list\[0\].divisions\[1\]' 's/\[10, 10\]/[10, 11]/'
differs 'spheres.material.friction' 's/, "friction": 0.4//'
differs 'time_step' 's/0.005/0.004/'
cube cube.obj 0
expect 1 err 'field "meshes.ring": is another mesh' run all.json --restart all/half/checkpoint.h5 --mesh ring=cube.obj --out o
expect 1 err 'field "deforming": bodies: their surfaces are others' run cloth.json --restart cloth/half/checkpoint.h5 --resolution 0.5 --out o
expect 1 err 'field "spheres": there are 31 of them, not 30' run all.json --restart all/half/checkpoint.h5 --count 31 --out o
expect 1 err 'holds no "deforming"; the scene does' run cloth.json --restart rigid/half/checkpoint.h5 --out o
expect 1 err 'has done 20 steps already, and 10 are wanted' run all.json --restart all/half/checkpoint.h5 --steps 10 --out o
expect 1 err 'all/half/checkpoint.h5: the run goes on in another folder, so that nothing is lost: take another --out' \
	run all.json --restart all/half/checkpoint.h5 --out all/half
[ "$(wc -l < all/half/stats.csv)" = 21 ] || fail "the table beside the checkpoint is another"

# Files of other kinds, cut and damaged ones.
sed '/"bodies": {/,/^\t},/d; /"deforming": {/,/^\t},/d; s/"deforming": true, "obstacles": \["ring"\], "two_way": true,//; s/"frames": 20, //' all.json > grains.json
expect 0 out . run grains.json --steps 5 --out grains --no-picture
expect 1 err 'is a checkpoint of a scene of spheres alone, and this scene holds more' run all.json --restart grains/checkpoint.h5 --out o
expect 1 err 'all/half/checkpoint.h5: is no checkpoint of a granular simulation' run grains.json --restart all/half/checkpoint.h5 --out o
expect 1 err 'nothing.h5: cannot be read, or is no checkpoint' run all.json --restart nothing.h5 --out o
size=$(stat -c %s all/half/checkpoint.h5)
for at in 100 700 $((size / 3)) $((size / 2)) $((size - 9)); do
	cp all/half/checkpoint.h5 bad.h5
	printf 'x' | dd of=bad.h5 bs=1 seek=$at conv=notrunc 2> /dev/null
	cmp -s bad.h5 all/half/checkpoint.h5 || expect 1 err 'bad.h5: is damaged' run all.json --restart bad.h5 --out o
	head -c $at all/half/checkpoint.h5 > bad.h5
	expect 1 err 'bad.h5: (is damaged|cannot be read, or is no checkpoint)' run all.json --restart bad.h5 --out o
done

# A place that cannot be written leaves the checkpoint that is there.
cp -r all/half full
mkdir full/checkpoint.h5.part
expect 1 err 'full/checkpoint.h5: cannot be written' run all.json --steps 3 --checkpoint 0 --out full --no-picture
cmp full/checkpoint.h5 all/half/checkpoint.h5 || fail "the checkpoint that was there is another"
