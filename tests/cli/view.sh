#!/bin/bash
# carom run --view without a browser: what the server answers and refuses, that it never holds up the run, and that it ends with the run.
# tests/cli/view.py asks it.
source "$(dirname "$0")/common.bash"
source "$CAROM_SOURCE/tests/cli/export_scenes.bash"

command -v python3 > /dev/null || { echo "skipped: there is no python3"; exit 77; }
client=$CAROM_SOURCE/tests/cli/view.py
export_scenes all
sed 's/"steps": 4/"steps": 100000000/' all.json > endless.json

# start SCENE [ARGUMENT...]: in the background, until the address is there.
start() {
	nice -n 5 "$CAROM" run "$@" --view --threads 1 > view.out 2> view.err & run=$!
	for _ in $(seq 600); do port=$(sed -nE 's|^carom: view: http://127\.0\.0\.1:([0-9]+)/$|\1|p' view.err); [ -z "$port" ] || return 0; sleep 0.05; done
	fail "no address: $(cat view.err)"
}

# end CODE: of the run.
end() {
	local status=0
	wait "$run" || status=$?
	same "exit code" "$status" "$1"
}

expect 2 err 'view-port 65536: must be from 0 to 65535' run all.json --view-port 65536
sed 's/"steps": 4/"steps": 2000/; s/"snapshots": 2, "frames": 1/"snapshots": 0, "frames": 0/' all.json > some.json
"$CAROM" run some.json --out unseen --threads 1 > run.out 2> run.err || fail "the run: $(cat run.err)"
python3 "$client" whole 0 "$CAROM" run some.json --view --threads 1 --out seen
# It is the run that it would be unseen.
same "the table" "$(cut -d, -f1-4 seen/stats.csv)" "$(cut -d, -f1-4 unseen/stats.csv)"
same "the hash" "$(field hash seen/summary.json)" "$(field hash unseen/summary.json)"

start endless.json
expect 1 err "^carom: error: --view: port $port cannot be opened: it is in use" run all.json --view-port "$port"
python3 "$client" refusals "$port"
python3 "$client" slow "$port"
python3 "$client" interrupted "$port" "$run"
end 1
grep -q 'interrupted after' view.err || fail "no word about the interrupt: $(cat view.err)"

# A run that is killed takes its server with it.
start endless.json
python3 "$client" killed "$port" "$run"
wait "$run" 2> killed.err || true

# Nobody looks: the end of the run is not delayed, and the server is gone.
start all.json
end 0
python3 "$client" gone "$port"
