#!/bin/bash
# No command writes over its own input, nor two outputs into one file: each such use is refused before anything is opened.
source "${CAROM_SOURCE:?names the repository}/tests/cli/common.bash" || exit

cube a.obj 0
cube b.obj 1
mkdir folder
ln a.obj hard.obj
ln -s a.obj soft.obj
printf '0,0,0,1\n1,0,0,1\n' > s.csv

# refused OUTPUT INPUT ARGUMENT...: wrong use that names both, and no file changes.
refused() {
	local output=$1 input=$2 before
	shift 2
	before=$(find . -type f ! -name out ! -name err -exec cksum {} + | sort -k 3)
	expect 2 err "$output and $input are one file" "$@"
	same "the files after carom $*" "$(find . -type f ! -name out ! -name err -exec cksum {} + | sort -k 3)" "$before"
}

refused '--pairs a.obj' 'the argument a.obj' check a.obj --pairs a.obj
refused '--pairs ./folder/../a.obj' 'the argument a.obj' check a.obj --pairs ./folder/../a.obj
refused '--pairs hard.obj' 'the argument a.obj' check a.obj --pairs hard.obj
refused '--pairs a.obj' 'the argument soft.obj' check soft.obj --pairs=a.obj
refused '--contacts a.obj' 'the argument a.obj' check a.obj b.obj --contacts a.obj
refused '--contacts b.obj' 'the argument b.obj' check a.obj b.obj --contacts b.obj
# The name that an output is written under first.
cp a.obj out.txt.part
refused '--pairs out.txt' 'the argument out.txt.part' check out.txt.part --pairs out.txt
refused '--hits a.obj' 'the argument a.obj' ccd a.obj a.obj --hits a.obj
refused '--hits a.obj' '--sequence a.obj|--hits a.obj and --sequence a.obj' ccd positions --sequence a.obj --hits a.obj
refused '--pairs s.csv' 'the argument s.csv' spheres s.csv --pairs s.csv
"$CAROM" bake a.obj -o a.cmesh > out
refused '--output a.cmesh' 'the argument a.cmesh' bake a.cmesh -o a.cmesh
refused '--output a.obj' 'the argument a.obj' make spheres a.obj -o a.obj --count 5
# Two outputs, also where neither is there yet, one a link to nothing.
ln -s new.txt new.link
refused '--pairs new.txt' '--contacts folder/../new.txt' replay a.obj --pairs new.txt --contacts folder/../new.txt
refused '--pairs new.link' '--record new.txt' replay a.obj --pairs new.link --record new.txt
refused '--pairs a.obj' '--mesh a.obj|--pairs a.obj' replay none --mesh a.obj --pairs a.obj
# Of a folder the files that a run keeps there.
cat > scene.json << 'END'
{ "steps": 2, "bodies": { "list": [ { "name": "ball", "shape": "sphere", "radius": 0.5, "position": [0, 1, 0] } ] } }
END
expect 0 out . run scene.json --no-picture -o folder
for output in --pairs --contacts --record; do
	refused "$output folder/recording.h5" 'the argument folder/recording.h5' replay folder/recording.h5 $output folder/recording.h5
done
cp scene.json folder/summary.json
refused '--out folder \(its summary.json\)' 'the argument folder/summary.json' run folder/summary.json -o folder
ln folder/recording.h5 page.html
refused '--output page.html' 'the argument folder \(its recording.h5\)' export folder -o page.html
ln -s folder/recording.h5 picture.png
refused '--output picture.png' 'the argument folder/recording.h5' render folder/recording.h5 -o picture.png

# Devices may be given twice, and other files of one folder are no hindrance.
expect 0 out 'intersects itself|does not' check a.obj --pairs /dev/null
expect 0 out . replay folder/recording.h5 --pairs /dev/null --contacts /dev/null
expect 0 out . replay folder/recording.h5 --pairs folder/pairs --contacts folder/contacts
[ -e folder/pairs ] && [ -e folder/contacts ] || fail "two files of one folder were not written"
