#!/bin/bash
# carom render: pictures, a picture for each frame, movies; what it says about mistakes, with which exit code.
set -euo pipefail

fail() { echo "render.sh: $*" >&2; exit 1; }

# expect CODE TEXT COMMAND...: the command must end with this code and say this text on stderr.
expect() {
	local code=$1 text=$2 status=0
	shift 2
	"$@" > stdout.txt 2> stderr.txt || status=$?
	[ "$status" = "$code" ] || fail "exit code $status instead of $code: $* ($(cat stderr.txt))"
	grep -qF -- "$text" stderr.txt || fail "did not say '$text' but '$(cat stderr.txt)': $*"
}

# png_size FILE: WIDTHxHEIGHT of a PNG, from its header.
png_size() {
	[ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || fail "$1 is no PNG"
	od -An -j16 -N8 -tu1 "$1" | awk '{ print $1*16777216+$2*65536+$3*256+$4 "x" $5*16777216+$6*65536+$7*256+$8 }'
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > scene.json << 'END'
{
	"steps": 12,
	"meshes": { "ring": { "shape": "torus", "triangles": 600, "fit": [1, 1, 1], "centre": true } },
	"bodies": {
		"planes": [{}],
		"grids": [{ "shape": "mesh", "mesh": "ring", "count": [2, 2, 2], "position": [0, 0.4, 0], "spacing": [1.1, 0.6, 1.1] }]
	},
	"camera": { "width": 160, "height": 90 }
}
END
"$CAROM" run scene.json --out out > /dev/null 2>&1 || fail "the scene does not run"
recording=out/recording.h5

# One picture: the last frame, at the size of the scene.
"$CAROM" render $recording -o last.png 2> /dev/null
[ "$(png_size last.png)" = 160x90 ] || fail "last.png has $(png_size last.png)"
"$CAROM" render $recording --frames 11:12 --threads 3 -o same.png 2> /dev/null
cmp last.png same.png || fail "threads or an explicit last frame change the picture"
"$CAROM" render $recording --frames 0:1 -o first.png 2> /dev/null
cmp -s last.png first.png && fail "the first frame looks like the last"
"$CAROM" render $recording --contacts -o contacts.png 2> /dev/null
cmp -s last.png contacts.png && fail "contacts change nothing"
"$CAROM" render $recording --flat -o flat.png 2> /dev/null
cmp -s last.png flat.png && fail "--flat changes nothing"

# One object on stdout, nothing else.
"$CAROM" render $recording --size 64x48 --json -o small.png > result.json
[ "$(png_size small.png)" = 64x48 ] || fail "--size is not kept"
grep -q '"frames":[[:space:]]*1' result.json || fail "--json does not tell the frames: $(cat result.json)"

# A picture for each frame.
"$CAROM" render $recording --frames 2:9 --every 3 --size 32x32 -o 'frame%03d.png' 2> /dev/null
[ "$(echo frame*.png)" = "frame002.png frame005.png frame008.png" ] || fail "wrong names: $(echo frame*.png)"

# Movies: a clear error without ffmpeg, nothing left over; a file with it, also for odd sizes and names that a shell would take apart.
mkdir empty
expect 1 "it is not installed" env PATH="$PWD/empty" "$CAROM" render $recording --size 32x32 -o movie.mp4
[ ! -e movie.mp4 ] && [ ! -e movie.mp4.part ] || fail "a movie is left over"
if command -v ffmpeg > /dev/null; then
	"$CAROM" render $recording --size 33x31 -o "a 'movie'; \$x.mp4" 2> /dev/null
	[ -s "a 'movie'; \$x.mp4" ] || fail "no movie"
fi

# A program that ends before the end is an error, not our end.
printf '#!/bin/sh\nexit 3\n' > empty/ffmpeg
chmod +x empty/ffmpeg
expect 1 "ffmpeg" env PATH="$PWD/empty:/bin:/usr/bin" "$CAROM" render $recording --size 320x320 -o broken.mp4
[ ! -e broken.mp4 ] && [ ! -e broken.mp4.part ] || fail "a broken movie is left over"

# Mistakes.
expect 2 "an argument is missing" "$CAROM" render
expect 2 "-o FILE.png" "$CAROM" render $recording
expect 2 "ends neither in .png nor in .mp4" "$CAROM" render $recording -o picture.gif
expect 2 "several frames" "$CAROM" render $recording --frames 0:5 -o picture.png
expect 2 "--size" "$CAROM" render $recording --size 12 -o picture.png
expect 2 "--size" "$CAROM" render $recording --size 0x5 -o picture.png
expect 2 "--camera" "$CAROM" render $recording --camera 1,2,3 -o picture.png
expect 1 "camera" "$CAROM" render $recording --camera 1,2,3,1,2,3 -o picture.png
expect 1 "holds frames 0 to 11" "$CAROM" render $recording --frames 12: -o picture.png
expect 1 "holds frames 0 to 11" "$CAROM" render $recording --frames 5:40 -o movie.mp4
expect 1 "missing.h5" "$CAROM" render missing.h5 -o picture.png
expect 1 "scene.json" "$CAROM" render scene.json -o picture.png
expect 1 "cannot be written" "$CAROM" render $recording -o missing/picture.png
expect 1 "cannot be written" "$CAROM" render $recording -o missing/movie.mp4
[ ! -e picture.png ] || fail "a picture was written after a mistake"

# Sections: everything that the scene holds is in the picture, as in last.png of the run.
cat > all.json << 'END'
{
	"name": "all", "time_step": 0.01, "steps": 20,
	"meshes": { "stone": { "shape": "lumpy", "triangles": 400, "fit": [0.5, 0.5, 0.5], "centre": true } },
	"bodies": {
		"planes": [{}],
		"list": [{ "name": "stone", "mesh": "stone", "kind": "kinematic", "position": [0, 0.5, 0] }, { "shape": "box", "half_extents": [0.2, 0.2, 0.2], "position": [-1, 0.5, 0] }]
	},
	"deforming": {
		"obstacles": ["stone"],
		"movers": [{ "form": "sphere", "radius": 0.2, "divisions": [12, 8], "position": [-1, 0.9, -1] }],
		"list": [{ "name": "a \"cloth\"", "form": "sheet", "size": [1, 1], "divisions": [12, 12], "position": [0, 0.9, 0] }]
	},
	"spheres": {
		"substeps": 20, "box": { "lower": [1, 0, -0.5], "upper": [2, 1, 0.5] },
		"material": { "density": 500, "stiffness": 2000 }, "list": [{ "random": 60, "radius": 0.08 }]
	},
	"output": { "frames": 1, "snapshots": 1 },
	"camera": { "position": [1, 1.6, 3], "target": [0.3, 0.4, 0], "width": 200, "height": 120 }
}
END
"$CAROM" run all.json --contacts --out all > /dev/null 2>&1 || fail "all.json does not run"
"$CAROM" render all --plain -o all.png 2> stderr.txt || fail "all is not drawn: $(cat stderr.txt)"
! grep -q warning stderr.txt || fail "a warning where nothing is left out: $(cat stderr.txt)"
"$CAROM" render all/recording.h5 --plain -o file.png 2> stderr.txt
cmp all.png file.png || fail "the recording in the folder is drawn otherwise"
"$CAROM" render all --contacts --plain -o marks.png 2> /dev/null
cmp -s all.png marks.png && fail "contacts change nothing"
printf '%s\n' 'kind,vertices,triangles,name' 'mover,98,192,"mover"' 'cloth,169,288,"a ""cloth"""' 'obstacle,202,400,"stone"' > wanted.csv
diff wanted.csv all/frames/bodies.csv || fail "bodies.csv tells of other bodies"
# Each section is seen: without its files the picture is another, and a warning tells so.
for section in recording.h5 frames spheres.pvd; do
	rm -rf part && cp -r all part && rm -r part/$section
	"$CAROM" render part --plain --json -o part.png > result.json 2> stderr.txt || fail "no picture without $section: $(cat stderr.txt)"
	grep -q 'warning: part: The .* are left out' stderr.txt || fail "no warning without $section: $(cat stderr.txt)"
	grep -q 'are left out' result.json || fail "JSON does not tell what is left out: $(cat result.json)"
	cmp -s all.png part.png && fail "$section is not in the picture"
done
# Without a word a run of several sections writes snapshots, so that nothing is left out.
sed 's/, "snapshots": 1//' all.json > quiet.json
"$CAROM" run quiet.json --out quiet > /dev/null 2>&1 || fail "quiet.json does not run"
"$CAROM" render quiet --plain -o quiet.png 2> stderr.txt
cmp all.png quiet.png || fail "snapshots without a word are others: $(cat stderr.txt)"
"$CAROM" run quiet.json --out rare --snapshots 20 > /dev/null 2>&1 || fail "quiet.json does not run with --snapshots 20"
expect 0 "sections are up to 0.1 s apart in a picture" "$CAROM" render rare --frames 10:11 -o rare.png

# Cloth and spheres alone.
cat > cloth.json << 'END'
{ "steps": 6, "deforming": { "list": [{ "form": "sheet", "size": [1, 1], "divisions": [8, 8] }] }, "camera": { "width": 160, "height": 90 } }
END
cat > spheres.json << 'END'
{ "steps": 6, "time_step": 1e-4, "spheres": { "list": [{ "random": 200, "radius": [0.02, 0.05] }] }, "output": { "snapshots": 2 }, "picture": { "color": "radius" }, "camera": { "width": 160, "height": 90 } }
END
for kind in cloth spheres; do
	"$CAROM" run $kind.json --out $kind > /dev/null 2>&1 || fail "$kind.json does not run"
	"$CAROM" render $kind -o $kind.png 2> /dev/null || fail "$kind is not drawn"
	[ "$(png_size $kind.png)" = 160x90 ] || fail "$kind.png has not the size of the scene"
done
"$CAROM" render cloth --frames 2:5 -o 'cloth%d.png' 2> /dev/null
[ "$(echo cloth?.png)" = "cloth2.png cloth3.png cloth4.png" ] || fail "wrong names: $(echo cloth?.png)"
printf 'kind,vertices,triangles,name\ncloth,3,1,"x"\n' > cloth/frames/bodies.csv
expect 1 'cloth/frames/bodies.csv: tells of 3 vertices and 1 triangles, and frame 0 has 81 and 128' "$CAROM" render cloth -o no.png
printf 'kind,vertices,triangles,name\nrubbish\n' > cloth/frames/bodies.csv
expect 1 'cloth/frames/bodies.csv: line 2: ' "$CAROM" render cloth -o no.png
[ ! -e no.png ] || fail "a picture was written after a mistake"
