#!/bin/bash
# Outputs to stdout, by -o - or /dev/stdout, and inputs from stdin by -: pipes, files behind stdout, what is printed besides, and wrong use.
source "$(dirname "$0")/common.bash"

"$CAROM" make lumpy --triangles 64 -o file.obj > told 2> err
for name in - /dev/stdout /dev/fd/1 /proc/self/fd/1; do
	"$CAROM" make lumpy --triangles 64 -o "$name" > piped.obj 2> err || fail "no mesh at $name: $(cat err)"
	cmp file.obj piped.obj || fail "another mesh at $name"
	grep -q '34 vertices, 64 triangles$' err || fail "nothing is told on stderr: $(cat err)"
done
[ -L /dev/stdout ] || [ ! -e /dev/stdout.part ] || fail "/dev/stdout was replaced"
echo '# a line before' > after.obj
"$CAROM" make lumpy --triangles 64 -o - >> after.obj 2> err
{ echo '# a line before' && cat file.obj; } | cmp - after.obj || fail "a file behind stdout was cut"
"$CAROM" make lumpy --triangles 64 -o - 2> err | "$CAROM" info - > out 2> err || fail "a pipe cannot be read: $(cat err)"
grep -q ': a mesh of 34 vertices and 64 triangles$' out || fail "the pipe holds another mesh: $(cat out)"
"$CAROM" make spheres --free 100 --seed 3 -o - 2> err | "$CAROM" spheres - --json > out 2> err || fail "spheres in a pipe: $(cat err)"
same spheres "$(field spheres out)" 100
"$CAROM" check file.obj - --contacts - < file.obj > list 2> err || fail "check: $(cat err)"
grep -q 'collide' err || fail "the result is not told on stderr: $(cat err)"
expect 0 out 'collide' check file.obj file.obj --contacts list2
cmp list list2 || fail "contacts on stdout are others"
cat > scene.json << 'END'
{ "steps": 3, "bodies": { "planes": [{}], "list": [{ "shape": "sphere", "radius": 0.5, "position": [0, 1, 0] }] }, "camera": { "width": 40, "height": 30 } }
END
expect 0 out 'hash' run - < scene.json
expect 0 out . run scene.json --out run
"$CAROM" render run -o - > piped.png 2> err && "$CAROM" render run -o file.png 2> err
cmp piped.png file.png || fail "the picture in a pipe is another"
"$CAROM" export run -o - > piped.html 2> err && "$CAROM" export run -o file.html 2> err
cmp piped.html file.html || fail "the page in a pipe is another"
mkfifo fifo.obj
cat fifo.obj > through & "$CAROM" make lumpy --triangles 64 -o fifo.obj > out 2> err
wait
cmp through file.obj || fail "a named pipe holds another mesh"

# Wrong use.
expect 2 err '--json prints on stdout, and --output goes there' make lumpy --triangles 64 -o - --json
expect 2 err '--pairs and --contacts (both go to stdout|.* are one file)|are one file' replay run/recording.h5 --pairs - --contacts -
expect 1 err 'no mesh format has this extension' make lumpy --triangles 64 -o mesh.txt
