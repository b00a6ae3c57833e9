#!/bin/bash
# carom run, killed at any instant: what was there before stays, and what the run has done so far can be read.
source "$(dirname "$0")/common.bash"
kills=6
[ -z "${CAROM_SANITIZED:-}" ] || kills=4
RANDOM=1

# killed ARGUMENT...: a run that is killed within half a second behind its first output.
killed() {
	"$CAROM" run "$@" --no-picture --threads 1 > /dev/null 2> killed.err & local run=$!
	wait_for "$run" test -e dir/stats.csv.part
	sleep "0.$((RANDOM % 5))$((RANDOM % 10))"
	kill -KILL "$run" || fail "a run has ended by itself: $(cat killed.err)"
	wait "$run" 2> /dev/null || true
}

# Bodies: all frames but the one that was being written are in recording.h5.part; recording.h5 stays what it was.
cat > bodies.json << 'END'
{
	"steps": 100000000,
	"meshes": { "ring": { "shape": "torus", "triangles": 200, "fit": [1, 1, 1], "centre": true } },
	"bodies": {
		"planes": [{}],
		"grids": [{ "shape": "mesh", "mesh": "ring", "count": [2, 2, 2], "position": [0, 0.4, 0], "spacing": [1.1, 0.6, 1.1] }],
		"sources": [{ "shape": "sphere", "radius": 0.2, "position": [0, 4, 0], "rate": 20, "count": 5 }]
	},
	"output": { "contacts": true }
}
END
most=0
for i in $(seq $kills); do
	rm -rf dir
	mkdir dir
	echo before > dir/recording.h5
	killed bodies.json --out dir
	same "the recording that was there" "$(cat dir/recording.h5)" before
	expect 0 err 'recording.h5.part: the recording of a run that goes on or was cut off: [0-9]+ frames of it are whole' \
		info dir/recording.h5.part --json
	same "finished" "$(field finished out)" false
	frames=$(sed -nE 's/.*cut off: ([0-9]+) frames.*/\1/p' err)
	if [ "$frames" -gt "$most" ]; then
		most=$frames
		cp dir/recording.h5.part longest.part
	fi
done
[ "$most" -gt 10 ] || fail "no killed run came to ten frames"
# The longest of them is, frame by frame, what a run of so many steps records.
expect 0 out . run bodies.json --steps "$most" --out again --no-picture --threads 1
expect 0 err 'was cut off' replay longest.part --steps "0:$most" --contacts killed.txt
expect 0 out . replay again/recording.h5 --steps "0:$most" --contacts whole.txt
cmp killed.txt whole.txt || fail "a killed run recorded other poses"
"$CAROM" render longest.part --frames 0:1 --size 64x48 --plain -o killed.png 2> err || fail "render: $(cat err)"
rm -f again/recording.h5
cp longest.part again/recording.h5.part
expect 1 err 'under this name with .part behind it' info again/recording.h5
# The next run into the folder clears it up.
expect 0 out . run bodies.json --steps 3 --out again --no-picture
[ ! -e again/recording.h5.part ] || fail "a finished run left recording.h5.part"
expect 0 out 'frames: 3' info again/recording.h5

# Spheres: killed again and again, and continued from the checkpoint; the end is that of a run that was left alone, the table whole.
cat > spheres.json << 'END'
{
	"time_step": 1e-5,
	"steps": 400,
	"spheres": {
		"material": { "stiffness": 1000, "tangential": "spring" },
		"list": [{ "random": 20000, "radius": 0.008, "apart": false }]
	},
	"output": { "checkpoints": 10, "snapshots": 40 }
}
END
expect 0 out . run spheres.json --out alone --no-picture --threads 1 --json
rm -rf dir
restart=()
for i in $(seq $kills); do
	"$CAROM" run spheres.json "${restart[@]}" --out dir --no-picture --threads 1 > /dev/null 2> killed.err & run=$!
	wait_for "$run" test -e dir/checkpoint.h5
	sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
	kill -KILL "$run" 2> /dev/null || break # it has come to its end
	wait "$run" 2> /dev/null || true
	restart=(--restart dir/checkpoint.h5)
done
wait "$run" 2> /dev/null || true
expect 0 out . run spheres.json --restart dir/checkpoint.h5 --out dir --no-picture --threads 1 --json
same "hash after kills" "$(field hash out)" "$(field hash alone/summary.json)"
same "rows after kills" "$(tail -n +2 dir/stats.csv | cut -d, -f1 | tr '\n' ' ')" "$(seq 1 400 | tr '\n' ' ')"
cut -d, -f1-6 alone/stats.csv > alone.columns
cut -d, -f1-6 dir/stats.csv | cmp - alone.columns || fail "the table of a run that was killed is another"
same "collection after kills" "$(grep -c '<DataSet' dir/spheres.pvd)" "$(grep -c '<DataSet' alone/spheres.pvd)"
# A restart that is killed at once loses no rows: they are in the old .part or in the new one.
cp -r dir before
for i in 1 2 3 4; do
	rm -rf dir
	cp -r before dir
	mv dir/stats.csv dir/stats.csv.part
	inode=$(stat -c %i dir/stats.csv.part)
	"$CAROM" run spheres.json --restart dir/checkpoint.h5 --steps 100000 --checkpoint 0 --out dir --no-picture --threads 1 > /dev/null 2> killed.err & run=$!
	[ $i = 1 ] || for _ in $(seq 400); do [ "$(stat -c %i dir/stats.csv.part)" = "$inode" ] || break; done
	kill -KILL "$run" || fail "a restarted run has ended by itself: $(cat killed.err)"
	wait "$run" 2> /dev/null || true
	same "rows of a restart that was killed at once" "$(head -401 dir/stats.csv.part | tail -n +2 | cut -d, -f1 | tr '\n' ' ')" "$(seq 1 400 | tr '\n' ' ')"
done

# Cloth: every frame that is there is whole. A kill can hurt the last ones alone.
cat > cloth.json << 'END'
{
	"steps": 100000000,
	"deforming": {
		"movers": [{ "form": "sphere", "radius": 0.5, "divisions": [24, 16] }],
		"list": [{ "form": "sheet", "size": [2, 2], "divisions": [30, 30], "position": [0, 0.6, 0] }]
	}
}
END
for i in 1 2; do
	rm -rf dir
	killed cloth.json --out dir
	for frame in $(printf '%s\n' dir/frames/*.ply | sort -V | tail -n 12); do expect 0 out 'triangles' info "$frame"; done
done
