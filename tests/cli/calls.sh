#!/bin/bash
# Recordings of library calls as runs: carom replay --out, export, render and info of what a program recorded (record_calls.c), against the
# program's own figures; several recordings in a file; damaged, cut off and too new ones.
source "$(dirname "$0")/common.bash"
: "${RECORD_CALLS:?is the path of the program that records}"
export TMPDIR=$PWD/temporary
mkdir temporary

"$RECORD_CALLS" calls.rec two.rec > truth || fail "the program does not run"
truth() { sed -n "s/^$1 //p" truth; }

# A run folder holds what the program saw.
expect 0 out '"hash"' replay calls.rec --out run --json
for name in steps hash bodies deforming spheres contacts surface_contacts sphere_contacts sphere_pairs impacts; do
	same "$name" "$(field $name out)" "$(truth $name)"
done
for name in contacts surface_contacts sphere_contacts sphere_pairs; do [ "$(truth $name)" -gt 100 ] || fail "few $name in the recording"; done
expect 0 out "run: rigid bodies: $(truth bodies), deforming: 3, places of spheres: 32, contacts in all steps: $(truth contacts)" \
	replay calls.rec --out run
same "rows of the table" "$(tail -n +2 run/stats.csv | wc -l)" 40
same "contacts of the table" "$(awk -F, 'NR > 1 { n += $9 } END { print n }' run/stats.csv)" "$(truth contacts)"
same "bodies asleep" "$(awk -F, 'NR == 15 { print $4 }' run/stats.csv)" 1
same "frames" "$(ls run/frames/frame_*.ply | wc -l)" 40
same "moments of spheres" "$(grep -c '<DataSet' run/spheres.pvd)" 40
# Rigid contacts are in the recording, those of the solid that deforms in the frames, with those of surfaces; impacts, too.
expect 0 out '"contacts"' info run/recording.h5 --json
rigid=$(field contacts out)
points() { cat run/$1 | awk -F, -v kind="$2" '$1 == kind { n++ } END { print n + 0 }'; }
same "contacts of cloth and solids" "$(points 'frames/contacts_*.csv' cloth)" "$(($(truth contacts) - rigid + $(truth surface_contacts)))"
same "impacts" "$(points 'frames/contacts_*.csv' impact)" "$(truth impacts)"
same "contacts of spheres" "$(points 'contacts_*.csv' sphere)" "$(($(truth sphere_contacts) + $(truth sphere_pairs)))"
# Bodies are those of the program: one is added, one removed, one gets another shape; places are told from the first origin.
same "the body that was added" "$(awk -F, '$4 == 113 { print $5, $7, $8 }' run/bodies.csv)" "dynamic 10 29"
same "the ball and its larger form" "$(awk -F, '$2 == 3 { print $1, $4, $7, $8 }' run/bodies.csv | tr '\n' ';')" "2 102 0 14;15 102 15 39;"
same "the hammer" "$(awk -F, '$6 == 2 { print $7, $8 }' run/bodies.csv | tr '\n' ';')" "0 14;15 39;"
expect 0 out '"frames":[[:space:]]*40' info run --json
same "elements" "$(grep -c '"elements":' out)" 3
# The recorded poses give contacts again: motions that end are followed.
expect 0 out '"steps":[[:space:]]*40' replay run/recording.h5 --json --warm-up 0
for python in python3 /usr/bin/python3; do
	[ -e poses ] || "$python" - > poses 2> /dev/null << 'END' || rm -f poses
import h5py
poses = h5py.File("run/recording.h5")["poses"][:]
row = 14 + 2 # the body that was added, behind two parts of the hammer
print(poses.shape[0], (~(poses[:, :, 0] != poses[:, :, 0])).sum(0).tolist(), abs(poses[39, 3, :3] - [1.2, 0, 0.39]).max() < 1e-12)
END
done
[ ! -e poses ] || same "frames of the rows" "$(cat poses)" \
	"40 [40, 40, 15, 40, 40, 40, 40, 40, 40, 40, 40, 40, 15, 15, 40, 20, 25, 25, 25] True"

# The page of a recording is that of its run, and no temporary folder is left.
expect 0 err 'run.html: [0-9.]+ MB, 40 frames' export run -o run.html
expect 0 err 'calls.html: [0-9.]+ MB, 40 frames' export calls.rec -o calls.html
cmp run.html calls.html || fail "the page of the recording differs from that of its run"
same "temporary folders" "$(ls temporary)" ""
if command -v node > /dev/null && node -e 'process.exit(typeof DecompressionStream === "undefined" ? 1 : 0)'; then
	node "$CAROM_SOURCE/tests/browser/decode.mjs" calls.html run > decoded || fail "calls.html does not hold the run"
	grep -q "40 frames of vertices, $(truth impacts) impacts, .* 0 sphere points, 40 frames of spheres, .* $(($(truth sphere_contacts) + $(truth sphere_pairs))) sphere points, $rigid contacts" \
		decoded || fail "calls.html lacks contacts: $(cat decoded)"
else
	echo "without a Node that has DecompressionStream: pages are not read back"
fi
grep -q '"body_user_data":\["100"' calls.html || fail "the page does not tell user data"
grep -q 'The program moved the origin' calls.html || fail "the page does not tell of the moved origin"
expect 0 err 'of 40, to fit into 0.14 MB' export calls.rec -o thin.html --max-mb 0.14
expect 0 out '"poses":[[:space:]]*8' export calls.rec -o every.html --every 5 --json
expect 0 err 'two.html: .* beside them 40 frames' export calls.rec calls.rec -o two.html
for form in gltf glb usda; do expect 0 err "model.$form: [0-9.]+ MB, 17 bodies" export calls.rec -o model.$form; done
grep -qwi 'nan' model.usda && fail "a model has places that are no numbers"
for form in gltf usda; do
	read -r _ _ frames < <(python3 "$CAROM_SOURCE/tests/cli/read_model.py" $form model.$form)
	same "frames of model.$form" "$frames" 40
done
# Seconds and the direction that is up are the caller's, or guessed: a plane, and a wide box.
expect 0 out 'hash' replay calls.rec --out timed --time-step 0.01 --up 0,1,0
same "the last time" "$(tail -n 1 timed/stats.csv | cut -d, -f2)" 0.39
grep -qE '"gravity":\s*\[0, -9.81, 0\]' timed/summary.json || fail "--up is not taken: $(cat timed/summary.json)"
grep -qE '"gravity":\s*\[0, 0, -9.81\]' run/summary.json || fail "the plane does not tell what is up"
# A picture of the last frame, with contacts.
expect 0 err 'last.png: 1 picture of 64x48' render calls.rec -o last.png --size 64x48 --contacts
expect 0 err '40 pictures' render calls.rec -o 'p%02d.png' --size 16x12 --threads 1
cmp -s p00.png p39.png && fail "all pictures are alike"
same "temporary folders" "$(ls temporary)" ""
expect 0 out 'rigid bodies: 2, deforming: 0' replay two.rec --out run # of another run: nothing of the earlier one stays
same "what is left of the earlier run" "$(ls run)" "$(printf 'bodies.csv\nrecording.h5\nstats.csv\nsummary.json')"
grep -qE '"gravity":\s*\[0, -9.81, 0\]' run/summary.json || fail "the wide box does not tell what is up"

# Several recordings in a file.
expect 0 err 'two.rec: holds 2 recordings; this is number 0' replay two.rec
expect 0 out 'two.rec: 6 steps' replay two.rec --recording 1
expect 1 err 'holds 2 recordings, from 0; --recording asks for 2' replay two.rec --recording 2
expect 0 err 'second.html: .* 6 frames' export two.rec --recording 1 -o second.html
expect 0 out '"recordings":[[:space:]]*2' info two.rec --json
same "steps of both" "$(field steps out)" 11
expect 0 out '"version":[[:space:]]*21' info calls.rec --json

# Cut off: what was whole is shown, with a warning, and the page says so.
head -c 60000 calls.rec > cut.rec
expect 1 err 'cut.rec: carom_replay_recording: record [0-9]+: the stream ends' replay cut.rec
expect 1 err 'cut: holds the [0-9]+ steps before the fault' replay cut.rec --out cut
steps=$(field steps cut/summary.json)
[ "$steps" -gt 5 ] && [ "$steps" -lt 40 ] || fail "the recording is cut after $steps steps"
expect 0 err "warning: cut.rec: It ends after $steps steps: .* the stream ends" export cut.rec -o cut.html
grep -q "It ends after $steps steps" cut.html || fail "the page does not tell that the recording is cut off"
grep -q "cut.html: .* $steps frames" err || fail "the page of $steps steps: $(cat err)"
expect 0 err 'warning: cut.rec: It ends after' render cut.rec -o cut.png --size 16x12
# Damaged at once, or of a newer library: a message, and no page.
{ head -c 9000 calls.rec; printf '\252'; tail -c +9002 calls.rec; } > damaged.rec
expect 1 err '^carom: error: damaged.rec: carom_replay_recording: record [0-9]+: its check sum is wrong' export damaged.rec -o page.html
{ head -c 8 calls.rec; printf '\143'; tail -c +10 calls.rec; } > newer.rec
expect 1 err '^carom: error: newer.rec: .* of version 99; this library reads 1 to' export newer.rec -o page.html
expect 1 err '^carom: error: newer.rec: .* of version 99' render newer.rec -o page.png
printf 'CAROMREC' > short.rec
expect 1 err '^carom: error: short.rec: ' export short.rec -o page.html
[ ! -e page.html ] && [ ! -e page.png ] || fail "a failure leaves a page"
same "temporary folders" "$(ls temporary)" ""
TMPDIR=$PWD/nowhere expect 1 err 'nowhere/carom-.*: cannot make the folder' export calls.rec -o page.html

# A command that is killed leaves nothing, either.
"$CAROM" render calls.rec -o 'q%02d.png' --size 1920x1080 2> err &
process=$!
has_folder() { ls temporary/*/recording.h5* > ls.out 2>&1; }
wait_for $process has_folder
kill -9 $process
wait $process 2> /dev/null || true
for ((i = 0; i < 500; i++)); do [ -z "$(ls temporary)" ] && break || sleep 0.02; done
same "temporary folders" "$(ls temporary)" ""

# Wrong use.
expect 2 err '--up takes three numbers' export calls.rec -o page.html --up z
expect 2 err '--up takes three numbers' replay calls.rec --up 0,0,0
expect 2 err 'time-step' render calls.rec -o page.png --time-step 0
expect 2 err '--out needs a recording of library calls' replay run/recording.h5 --out again
