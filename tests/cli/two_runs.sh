#!/bin/bash
# carom run, two at a time into one folder: the second is refused by name and touches nothing, whatever the kinds of scenes; the first ends as if
# it were alone. Nothing is left that would keep a later run out, not even after a kill.
source "$(dirname "$0")/common.bash"

cat > bodies.json << 'END'
{
	"steps": 100000000,
	"bodies": {
		"planes": [{}],
		"list": [{ "shape": "sphere", "radius": 0.5, "position": [0, 3, 0] }]
	}
}
END
cat > spheres.json << 'END'
{
	"time_step": 1e-5,
	"steps": 100000000,
	"spheres": {
		"material": { "stiffness": 1000 },
		"list": [{ "random": 100, "radius": 0.03 }]
	}
}
END
cat > cloth.json << 'END'
{
	"steps": 100000000,
	"deforming": {
		"movers": [{ "form": "sphere", "radius": 0.5, "divisions": [8, 6] }],
		"list": [{ "form": "sheet", "size": [1, 1], "divisions": [4, 4], "position": [0, 0.6, 0] }]
	},
	"output": { "frames": 1000 }
}
END

# start SCENE: in the background, until it writes.
start() {
	"$CAROM" run "$1.json" --out dir --no-picture --threads 1 > first.out 2> first.err & run=$!
	wait_for "$run" test -e dir/stats.csv.part
}

for first in bodies spheres cloth; do
	rm -rf dir
	start $first
	files=$(ls dir)
	for second in bodies spheres cloth; do
		expect 1 err '^carom: error: dir: another run is writing into this folder' run $second.json --steps 1 --out dir
		expect 1 err 'another run is writing into this folder' run $second.json --steps 1 --out dir/../dir/
	done
	same "files beside a run of $first" "$(ls dir)" "$files"
	kill -INT "$run"
	status=0
	wait "$run" || status=$?
	same "exit code of the first run" "$status" 1
	grep -q 'interrupted after' first.err || fail "the first run: $(cat first.err)"
	[ -s dir/summary.json ] || fail "the first run left no summary"
	same "rows of the first run" "$(wc -l < dir/stats.csv)" $(($(field steps dir/summary.json) + 1))
	if [ $first = bodies ]; then
		expect 0 out '"finished":[[:space:]]*true' info dir/recording.h5 --json
		same "frames of the first run" "$(field frames out)" "$(field steps dir/summary.json)"
	fi
	# A lock is not left over.
	start $first
	kill -KILL "$run"
	wait "$run" 2> /dev/null || true
	expect 0 out . run $first.json --steps 1 --out dir --no-picture
done
