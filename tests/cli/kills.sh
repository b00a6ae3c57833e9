#!/bin/bash
# carom run, killed at any instant: what was there before stays, and what the run has done so far can be read.
source "$(dirname "$0")/common.bash"
kills=8
[ -z "${CAROM_SANITIZED:-}" ] || kills=4
RANDOM=1

# killed ARGUMENT...: a run that is killed within the second behind its first output.
killed() {
	"$CAROM" run "$@" --no-picture --threads 1 > /dev/null 2> killed.err & local run=$!
	for _ in $(seq 600); do [ ! -e dir/stats.csv.part ] || break; sleep 0.02; done
	[ -e dir/stats.csv.part ] || fail "a run has not begun: $(cat killed.err)"
	sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
	kill -KILL "$run" || fail "a run has ended by itself: $(cat killed.err)"
	wait "$run" 2> /dev/null || true
}

# Bodies: all frames but the one that was being written are in recording.h5.part; recording.h5 stays what it was.
cat > bodies.json << 'END'
{
	"steps": 100000000, "record_contacts": true,
	"meshes": { "ring": { "shape": "torus", "triangles": 200, "fit": [1, 1, 1], "centre": true } },
	"planes": [{}],
	"grids": [{ "shape": "mesh", "mesh": "ring", "count": [2, 2, 2], "position": [0, 0.4, 0], "spacing": [1.1, 0.6, 1.1] }],
	"sources": [{ "shape": "sphere", "radius": 0.2, "position": [0, 4, 0], "rate": 20, "count": 5 }]
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
