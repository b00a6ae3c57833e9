#!/bin/bash
# carom make: shapes of exact size, the same bytes each time, all formats; nothing is lost when a file cannot be written.
source "${CAROM_SOURCE:?names the repository}/tests/cli/common.bash" || exit

expect 0 out '^lumpy +' make --list
expect 0 out '"name":[[:space:]]*"lumpy"' make --list --json

expect 0 out '^body.obj: 453 vertices, 902 triangles$' make lumpy --triangles 902 -o body.obj
expect 0 out '"triangles":[[:space:]]*902' make lumpy -n 902 -o again.obj --json
cmp body.obj again.obj || fail "the same words give other bytes"
expect 0 out '902 triangles' make lumpy -n 902 --seed 2 -o other.obj
! cmp -s body.obj other.obj || fail "the seed changes nothing"
for extension in ply stl; do
	expect 0 out '902 triangles' make lumpy -n 902 -o "body.$extension"
	expect 0 out '"closed":[[:space:]]*true' info --json "body.$extension"
	mv out "$extension.json"
	expect 0 out '"vertices":[[:space:]]*453' info --json body.obj
	same "volume in $extension" "$(field volume $extension.json)" "$(field volume out)"
done

# The sizes of the scenes, each as a shape of its own.
while read -r shape triangles; do
	expect 0 out ", $triangles triangles" make "$shape" -n "$triangles" -o "$shape.ply"
	expect 0 out 'does not intersect itself' check "$shape.ply"
done << 'END'
lumpy 3458
knot 2130
lock 3264
lock 3456
END

expect 2 err 'a shape is missing' make -n 902 -o x.obj
expect 2 err 'there is no shape lumpi; did you mean lumpy\?' make lumpi -n 902 -o x.obj
expect 2 err "there is no shape lumpi; did you mean lumpy" make lumpi -o x.obj
expect 2 err '--triangles N is missing' make lumpy -o x.obj
expect 2 err '-o FILE is missing' make lumpy -n 902
expect 2 err '--triangles 3: must be from 4' make lumpy -n 3 -o x.obj
expect 1 err '^carom: error: body.gif: no mesh format has this extension; use .obj, .ply or .stl' make lumpy -n 902 -o body.gif
expect 1 err '^carom: error: nowhere/body.obj: cannot be written: No such file' make lumpy -n 902 -o nowhere/body.obj
mkdir folder.obj
expect 1 err '^carom: error: folder.obj: is a folder' make lumpy -n 902 -o folder.obj

# A full device: the old file stays, and no rest of the new one lies about.
if [ -w /dev/full ]; then
	cp body.obj kept.obj
	ln -s /dev/full kept.obj.part
	expect 1 err '^carom: error: kept.obj: cannot be written: No space left' make lumpy -n 902 --seed 2 -o kept.obj
	cmp body.obj kept.obj || fail "a failed write damaged the old file"
	[ ! -e kept.obj.part ] || fail "kept.obj.part was left behind"
fi
