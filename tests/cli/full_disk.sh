#!/bin/bash
# carom run on a disk that gets full: exit code 1 with a message, no crash, and what was there before stays. The disk is a small tmpfs where this
# user may mount one (in a name space of its own), else a limit for the size of a file.
source "$(dirname "$0")/common.bash"

cat > bodies.json << 'END'
{
	"meshes": { "ring": { "shape": "torus", "triangles": 200, "fit": [1, 1, 1], "centre": true } },
	"bodies": {
		"planes": [{}],
		"grids": [{ "shape": "mesh", "mesh": "ring", "count": [2, 2, 2], "position": [0, 0.4, 0], "spacing": [1.1, 0.6, 1.1] }]
	}
}
END
cat > spheres.json << 'END'
{
	"time_step": 1e-5,
	"spheres": {
		"material": { "stiffness": 1000, "tangential": "spring" },
		"list": [{ "random": 1000, "radius": 0.03 }]
	},
	"output": { "checkpoints": 20 }
}
END

cat > cloth.json << 'END'
{
	"deforming": { "list": [{ "form": "sheet", "size": [1, 1], "divisions": [30, 30] }] },
	"output": { "checkpoints": 2, "frames": 0 }
}
END

# limited KILOBYTES COMMAND...: with a full disk "disk" after so many.
if unshare --user --map-root-user --mount true 2> /dev/null &&
	unshare --user --map-root-user --mount bash -c 'mkdir -p probe && mount -t tmpfs -o size=64k tmpfs probe' 2> /dev/null; then
	kind=tmpfs
	limited() {
		local size=$1
		shift
		# The folder is copied in and out: the mount is gone with the name space.
		unshare --user --map-root-user --mount bash -c 'mkdir -p disk && mount -t tmpfs -o "size=$0k" tmpfs disk &&
			if [ -d saved ]; then cp -r saved/. disk; fi
			status=0; "$@" || status=$?; rm -rf saved; cp -r disk saved; exit $status' "$size" "$@"
	}
else
	kind="limit of file sizes"
	limited() {
		local size=$1 status=0
		shift
		rm -rf disk
		[ ! -d saved ] || cp -r saved disk
		(ulimit -f "$size" && exec "$@") || status=$?
		rm -rf saved
		[ ! -d disk ] || cp -r disk saved
		return $status
	}
fi
echo "full_disk.sh: by a $kind"

# refused SIZE ARGUMENT...: the run must fail with a message.
refused() {
	local size=$1 status=0
	shift
	limited "$size" "$CAROM" run "$@" --out disk/o --no-picture --threads 1 > out 2> err || status=$?
	same "exit code with $size KB ($*; $(cat err))" "$status" 1
	[ ! -e saved/o/stats.csv.part ] || fail "an unfinished table is left with $size KB ($*)"
	grep -qE '^carom: error: disk/o.*: .*(No space left|File too large|disk full|cannot be written|cannot make the folder)' err || fail "no word of the disk: $(cat err)"
}

# Bodies. At most sizes the log of the frames does not fit, at some it does and the finished recording beside it does not.
for size in 4 40 100 140 200 220; do
	rm -rf saved
	refused $size bodies.json --steps 400 --contacts
	[ ! -e saved/o/recording.h5 ] || fail "a recording in spite of a full disk of $size KB"
	if [ -e saved/o/recording.h5.part ]; then
		cp saved/o/recording.h5.part kept.part
		expect 0 err 'frames of it are whole' info kept.part
		grep -q 'recording.h5.part' err || grep -q kept.part err || fail "no word of the log: $(cat err)"
	fi
done
[ -e kept.part ] || fail "no run left its frames"

# A recording that was there stays, and so do the other files of its run.
rm -rf saved
status=0
limited 400 "$CAROM" run bodies.json --steps 20 --out disk/o --no-picture > out 2> err || status=$?
same "exit code of the first run ($(cat err))" "$status" 0
cp -r saved/o first
refused 400 bodies.json --steps 4000 --contacts
cmp first/recording.h5 saved/o/recording.h5 || fail "the recording that was there is another"
cmp first/stats.csv saved/o/stats.csv || fail "the table that was there is another"
cmp first/summary.json saved/o/summary.json || fail "the summary that was there is another"
expect 0 out 'frames: 20' info saved/o/recording.h5

# Spheres: a checkpoint that was there stays whole.
for size in 4 20 40 60 80 120; do
	rm -rf saved
	refused $size spheres.json --steps 100
	[ ! -e saved/o/checkpoint.h5.part ] || fail "an unfinished checkpoint is left"
done
rm -rf saved
status=0
limited 400 "$CAROM" run spheres.json --steps 20 --out disk/o --no-picture > out 2> err || status=$?
same "exit code of the first run of spheres ($(cat err))" "$status" 0
cp -r saved/o spheres
expect 0 out 'continued after step' run spheres.json --restart spheres/checkpoint.h5 --steps 40

# Deforming bodies: no checkpoint, and nothing that looks like one.
for size in 4 20 40; do
	rm -rf saved
	refused $size cloth.json --steps 4
	for file in checkpoint.h5 checkpoint.h5.part; do [ ! -e "saved/o/$file" ] || fail "an unfinished $file of cloth is left ($size KB)"; done
done

# Single outputs: the message names the file, and an older one stays. /dev/full takes no byte.
if [ -e /dev/full ]; then
	expect 1 err '^carom: error: /dev/full: cannot be written: No space left on device$' make lumpy --triangles 64 -o /dev/full
	expect 1 err '^carom: error: /dev/full: cannot be written: No space left on device$' make spheres --free 100 -o /dev/full
	"$CAROM" make lumpy --triangles 64 -o - > /dev/full 2> err && fail "a lost mesh is no failure"
	grep -q '^carom: error: /dev/stdout: cannot be written: No space left on device$' err || fail "no word of the disk: $(cat err)"
fi
rm -rf saved && mkdir saved
"$CAROM" make lumpy --triangles 64 -o saved/m.obj > out 2> err
cp saved/m.obj older.obj
status=0
limited 12 "$CAROM" make lumpy --triangles 6400 -o disk/m.obj > out 2> err || status=$?
same "exit code of a mesh on a full disk" "$status" 1
grep -qE '^carom: error: disk/m.obj: cannot be written: (No space left|File too large)' err || fail "no word of the disk: $(cat err)"
cmp older.obj saved/m.obj || fail "the mesh that was there is another"
[ ! -e saved/m.obj.part ] || fail "an unfinished mesh is left"
