#!/bin/bash
# What a run or a picture leaves out is said: spheres that nothing holds, sections that a recording does not draw.
source "${CAROM_SOURCE:?names the repository}/tests/cli/common.bash" || exit

# spheres STIFFNESS: balls that fall on the bottom of a box.
spheres() {
	cat << END
{ "time_step": 0.01, "steps": 60, "spheres": { "substeps": 60, "material": { "stiffness": $1 },
	"box": { "lower": [0, 0, 0], "upper": [1, 2, 1] },
	"list": [ { "random": 30, "radius": 0.05, "lower": [0, 0.2, 0], "upper": [1, 1, 1] } ] } }
END
}
spheres 1 > soft.json
spheres 20000 > stiff.json
expect 0 err 'warning: soft.json: [1-9][0-9]* of 30 spheres are outside the box of the scene' run soft.json -o soft --no-picture
grep -q 'spheres are outside the box' soft/summary.json || fail "no warning in summary.json"
expect 0 out 'inside the box at the end +30 of 30' run stiff.json -o stiff --no-picture
! grep -q warning err || fail "a warning of stiff spheres: $(cat err)"
grep -qE '"warnings":[[:space:]]*\[\]' stiff/summary.json || fail "no empty list of warnings"
# One that goes on when all is done counts the contacts that it begins with.
expect 0 out 'contacts +([0-9]+) at the end, .*; at most \1 \(step 60\)' run stiff.json -o stiff --restart stiff/checkpoint.h5 --no-picture

# Sections that a run has not written.
cat > all.json << 'END'
{ "name": "all", "steps": 3, "bodies": { "planes": [ {} ], "list": [ { "shape": "sphere", "radius": 0.5, "position": [0, 1, 0] } ] },
  "deforming": { "list": [ { "form": "sheet", "size": [1, 1], "divisions": [4, 4], "position": [3, 1, 0] } ] },
  "spheres": { "substeps": 40, "box": { "lower": [4, 0, 0], "upper": [5, 1, 1] },
    "list": [ { "random": 5, "radius": 0.03, "lower": [4.1, 0.1, 0.1], "upper": [4.9, 0.9, 0.9] } ] } }
END
expect 0 out . run all.json -o all --no-picture --frames 0 --snapshots 0
expect 0 err 'warning: all/recording.h5: The deforming bodies are left out: the run wrote no frames of them' render all/recording.h5 --size 40x30 -o x.png
grep -q 'warning: all/recording.h5: The spheres are left out: the run wrote no snapshots of them' err || fail "no word of the spheres: $(cat err)"
expect 0 out '"left_out":[[:space:]]*\["The deforming bodies are left out.*", "The spheres' render all --size 40x30 -o x.png --json
expect 0 err 'warning: all: The spheres are left out: the run wrote no snapshots of them' export all -o x.html
expect 1 err 'error: soft: holds neither recording.h5, nor frames/frame_000000.ply \(or .obj\), nor spheres.pvd' render soft -o x.png
expect 2 err '-o f%s.png: a % must begin %d or %04d' render all -o 'f%s.png'
expect 2 err '-o f%d%d.png: a % must begin' render all -o 'f%d%d.png'
