#!/bin/bash
# carom export: pages of rigid bodies, of deforming bodies and of spheres; what is in them is what the run left (by Node, where it is there); what
# the command says about mistakes and damage.
source "$(dirname "$0")/common.bash"
source "$CAROM_SOURCE/tests/cli/export_scenes.bash"

# Pages are small where no carom.wasm stands beside the command; ./dev wasm puts one there.
mkdir bin
cp "$CAROM" bin/carom
ln -s "$(dirname "$CAROM")/../lib" lib # its modules
CAROM=$PWD/bin/carom

export_scenes
cp cloth.json again.json

# What is told; one object on stdout.
expect 0 err 'bodies.html: [0-9.]+ MB, 25 frames' export bodies -o bodies.html
"$CAROM" export cloth -o cloth.html --json > cloth.json 2> err
same "frames of vertices" "$(field vertices cloth.json)" 11
same "bytes" "$(field bytes cloth.json)" "$(stat -c %s cloth.html)"
expect 0 err 'spheres.html: .* 6 frames' export spheres/spheres.pvd -o spheres.html
expect 0 err 'all.html: .* MB' export all -o all.html
expect 0 err '5 frames' export bodies/recording.h5 --every 5 -o every.html

# The same page each time, whole, and with nothing in it that a browser would fetch.
"$CAROM" export bodies -o again.html 2> err
cmp bodies.html again.html || fail "the page differs from one export to another"
for page in bodies cloth spheres all; do
	tail -n 3 $page.html | grep -qF 'caromEnd()' || fail "$page.html has no end"
	if sed 's/<link rel="icon" href="data:,">//' $page.html | grep -aoE '(src|href) *= *"?[a-z]+:|https?://'; then fail "$page.html names an address"; fi
done

# Limits: frames, then spheres are left out, and both are told.
expect 0 err 'of 25, to fit into 0.135 MB' export bodies --max-mb 0.135 -o thin.html
[ "$(stat -c %s thin.html)" -le 135000 ] || fail "the page is larger than --max-mb"
expect 1 err 'one frame alone takes more than 0.14 MB' export large --max-mb 0.14 -o full.html
[ ! -e full.html ] && [ ! -e full.html.part ] || fail "a page that got too large is left over"
"$CAROM" export many --max-mb 0.5 --json -o many.html > many.json 2> err
[ "$(stat -c %s many.html)" -le 500000 ] || fail "the page is larger than --max-mb"
[ "$(field spheres_left_out many.json)" -gt 0 ] || fail "no spheres are left out: $(cat many.json)"

if command -v node > /dev/null && node -e 'process.exit(typeof DecompressionStream === "undefined" ? 1 : 0)'; then
	for python in python3 /usr/bin/python3; do
		[ -e poses.raw ] || "$python" -c 'import h5py; h5py.File("bodies/recording.h5")["poses"][:].astype("<f8").tofile("poses.raw")' 2> /dev/null || true
	done
	[ -e poses.raw ] || echo "without h5py: poses are not compared"
	node "$CAROM_SOURCE/tests/browser/shapes.mjs" "$CAROM_SOURCE/web/viewer/shapes.js" > shapes.out || fail "rounded shapes of the viewer are wrong"
	node "$CAROM_SOURCE/tests/browser/decode.mjs" bodies.html bodies poses.raw > decoded || fail "bodies.html does not hold the run"
	grep -q ' contacts' decoded || fail "bodies.html has no contacts"
	node "$CAROM_SOURCE/tests/browser/decode.mjs" cloth.html cloth > decoded || fail "cloth.html does not hold the run"
	grep -Eq ' [1-9][0-9]* impacts, [1-9][0-9]* cloth points, 0 sphere points' decoded || fail "cloth.html lacks impacts or contacts: $(cat decoded)"
	node "$CAROM_SOURCE/tests/browser/decode.mjs" spheres.html spheres > decoded || fail "spheres.html does not hold the run"
	grep -Eq ' 0 impacts, 0 cloth points, [1-9][0-9]* sphere points' decoded || fail "spheres.html lacks contacts: $(cat decoded)"
	node "$CAROM_SOURCE/tests/browser/decode.mjs" many.html many
	node "$CAROM_SOURCE/tests/browser/decode.mjs" all.html all
else
	echo "without a Node that has DecompressionStream: pages are not read back"
fi

# Wrong use.
expect 2 err 'an argument is missing' export
expect 2 err '-o PAGE.html' export bodies
expect 2 err "ends in none of .html" export bodies -o page.png
expect 2 err 'max-mb' export bodies -o page.html --max-mb 1000
expect 2 err 'every' export bodies -o page.html --every 0

# Bad input: what is wrong is told, and no page is left.
mkdir empty
expect 1 err 'holds neither recording.h5' export empty -o page.html
expect 1 err 'cannot be opened' export nowhere.h5 -o page.html
echo "no recording at all, but text" > text.h5
expect 1 err 'not an HDF5 file' export text.h5 -o page.html
head -c 3000 bodies/recording.h5 > cut.h5
expect 1 err 'damaged' export cut.h5 -o page.html
cp bodies/recording.h5 flipped.h5
printf 'X' | dd of=flipped.h5 bs=1 seek=2000 conv=notrunc 2> /dev/null
expect 1 err 'damaged' export flipped.h5 -o page.html
mkdir -p less/frames
cp cloth/frames/frame_000000.ply less/frames
head -c 400 cloth/frames/frame_000001.ply > less/frames/frame_000001.ply
expect 1 err 'frame_000001.ply' export less -o page.html
cp many.ply less/frames/frame_000001.ply
expect 1 err 'frames of different runs' export less -o page.html
# A gap names the file that is missing.
mkdir -p gap
cp -r cloth/frames cloth/summary.json gap
rm gap/frames/frame_000004.ply
expect 1 err 'gap/frames/frame_000004.ply: is missing, and frame 10 is there' export gap -o page.html
expect 1 err 'gap/frames/frame_000004.ply: is missing' export gap -o page.usda
rm gap/frames/frame_00000[5-9].ply gap/frames/frame_000010.ply
cp cloth/frames/frame_000009.ply gap/frames/frame_9.ply # no name of a frame
expect 0 err 'page.html: [0-9.]+ MB, 4 frames' export gap -o page.html
rm page.html

# Two recordings: limits, and what is wrong, hold for both.
expect 0 err 'two.html: [0-9.]+ MB, 25 frames; beside them 11 frames' export bodies cloth -o two.html
grep -q 'data-name="second-vertices-0"' two.html || fail "no second recording"
[ "$(grep -c 'data-name="poses-0"' two.html)" = 1 ] || fail "blocks of the first recording"
expect 0 out '"second":' export bodies cloth -o two.html --json
same "frames of the second recording" "$(field vertices out)" 11
cp two.html again.html
expect 0 out '"second":' export bodies cloth -o two.html --json
cmp -s two.html again.html || fail "equal recordings give other pages"
expect 0 err 'beside them [0-9]+ frames; of [0-9]+, to fit into 0.14 MB' export bodies cloth --max-mb 0.14 -o two.html
expect 1 err "^carom: error: nowhere.h5: cannot be opened" export bodies nowhere.h5 -o page.html
expect 1 err 'frames of different runs' export bodies less -o page.html
expect 2 err 'two recordings go into a page' export bodies cloth -o two.glb
expect 2 err '' export bodies cloth bodies -o page.html

# Files of contacts: one that is not there makes no page fail, one that is damaged does.
cp -r cloth points
rm points/frames/contacts_000003.csv
expect 0 err 'points.html' export points -o points.html
grep -q '"points":' points.html || fail "the contacts are not in the page"
head -c -3 cloth/frames/contacts_000010.csv > points/frames/contacts_000010.csv
expect 1 err 'frames/contacts_000010.csv: line [0-9]+: has no end' export points -o page.html
printf 'kind,x,y,z,nx,ny,nz,depth\ncloth,1,2,3,0,0,1\n' > points/frames/contacts_000010.csv
expect 1 err 'contacts_000010.csv: line 2: depth: is no finite number' export points -o page.html
# A run without --contacts removes those of an earlier one.
"$CAROM" run again.json --out points --no-picture > run.out 2> run.err || fail "cloth does not run again: $(cat run.err)"
if ls points/frames/contacts_* 2> ls.err; then fail "contacts of an earlier run are left over"; fi

mkdir part
cp spheres/spheres* part
truncate -s -100 part/spheres_000000004.vtp
expect 1 err 'spheres_000000004.vtp: is damaged' export part -o page.html
rm part/spheres_000000002.vtp
expect 1 err 'spheres_000000002.vtp' export part -o page.html
echo "<VTKFile>" > part/spheres.pvd
expect 1 err 'damaged, or no collection' export part -o page.html
expect 1 err 'cannot be' export bodies -o nowhere/page.html
[ ! -e page.html ] && [ ! -e page.html.part ] || fail "a failure leaves a page"

# The recording of a run that was cut off is a page with a note.
if [ -e cut/recording.h5.part ]; then
	expect 0 err 'warning.*(not finished|unfinished|cut off)' export cut -o cut.html
	grep -q 'Of the recording: ' cut.html || fail "the page does not tell that the run was cut off"
fi
