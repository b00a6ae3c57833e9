#!/bin/bash
# carom bench: every bench runs in its quick form and leaves its tables and figures; without gnuplot the tables are still there; mistakes.
source "$(dirname "$0")/common.bash"
: "${CAROM_SOURCE:?is the folder of the sources}"
scenes=$CAROM_SOURCE/scenes

# What there is.
expect 0 out '^table-2\.1 ' bench --list
mapfile -t names < <(cut -d ' ' -f 1 out | grep -Ev "^(spheres|ccd|deforming|device)-") # those have scripts of their own; device.sh has the last
expect 0 out '"name":.*"fig-2\.12"' bench --list --json
expect 0 out '^device-trees ' bench --list --backend vulkan
grep -q '^adaptive ' out && fail "adaptive has no form for a device, and is listed"

# One of them, as text and as files. The scenes are found in the working folder too.
ln -s "$scenes" scenes
expect 0 out '^== pipeline-2015: ' bench pipeline-2015 --quick --out here/there
grep -q 'quick: small scenes' out || fail "a quick run does not say so"
grep -q 'all found the same [1-9][0-9]* colliding pairs' out || fail "lists and naive did not find the same pairs: $(cat out)"
same "rows of pipeline-2015.csv" "$(wc -l < here/there/pipeline-2015.csv)" 4
same "steps of figure-6-2015.csv" "$(wc -l < here/there/figure-6-2015.csv)" 61
grep -q '^full and iterative,.*,2\.73,' here/there/pipeline-2015.csv || fail "the paper's figure is not in the table"
grep -q '^"rigid and deforming, full and iterative",.*,1.84,' here/there/pipeline-2015.csv || fail "the second scene is not in the table"
# A page for the documents: the command that wrote it, the machine, each table, the remarks.
page=here/there/pipeline-2015.md
grep -q '^# Lists against one loop$' $page || fail "no heading: $(head -n 3 $page)"
grep -qE '^Lehericey et al\. 2015, .*`carom bench pipeline-2015 --quick --threads 1`, Carom [0-9.]+, [0-9-]{10}\.$' $page || fail "the page does not say what wrote it: $(cat $page)"
grep -qE '^.*, 1 thread; quick: small scenes' $page || fail "the page does not name the machine"
same "columns of the page's table" "$(grep -m 1 '^|---' $page | tr -cd '|' | wc -c)" "$(grep -m 1 '^| rays | naive ' $page | tr -cd '|' | wc -c)"
same "rows of the page's table" "$(grep -c '^| ' $page)" "$(wc -l < here/there/pipeline-2015.csv)"
grep -q '^- .*all found the same [1-9]' $page || fail "the page lacks a remark"
grep -q '^processor,cores,compiler,simd,threads,size$' here/there/machine.csv || fail "no machine.csv"
if command -v gnuplot > /dev/null; then
	grep -q '</svg>' here/there/pipeline-2015.svg || fail "no figure"
fi
rm scenes

# Without gnuplot in PATH: a warning, the tables, and what draws them.
mkdir empty
status=0
env PATH="$PWD/empty" "$CAROM" bench fig-2.12 --quick --scenes "$scenes" --out bare > out 2> err || status=$?
same "exit code without gnuplot" "$status" 0
grep -q 'carom: warning: bare: gnuplot draws the figures, and it is not installed' err || fail "no word of gnuplot: $(cat err)"
[ -s bare/figure-2.12.csv ] && [ -s bare/figure-2.12.gnuplot ] && [ ! -e bare/figure-2.12.svg ] || fail "wrong files: $(ls bare)"

# Mistakes.
expect 2 err 'there is no bench table-2\.11; did you mean table-2\.1' bench table-2.11
expect 2 err 'there is no bench nothing-like-it' bench nothing-like-it
expect 2 err '.--device and --tier need --backend vulkan' bench adaptive --device 0
expect 2 err 'adaptive has no form for a device .docs.papers.md.: leave --backend vulkan out' bench device adaptive --backend vulkan
expect 2 err 'device-list needs --backend vulkan' bench device --quick
expect 2 err 'there is no bench devic;' bench devic
expect 1 err 'neither in the folder scenes nor installed; name its folder with --scenes' bench adaptive --quick
expect 1 err 'nowhere/avalanche.json: cannot be opened' bench adaptive --quick --scenes nowhere
# One that fails leaves the others their turn, and the exit code tells.
status=0
"$CAROM" bench adaptive ccd-orphans --quick --scenes nowhere > out 2> err || status=$?
same "exit code where one fails" "$status" 1
grep -q '^carom: error: the bench adaptive has failed' err || fail "no word of what failed: $(cat err)"
grep -q '^== ccd-orphans: ' out || fail "ccd-orphans did not run: $(cat out)"
: > file
expect 1 err 'cannot make the folder|is not a folder' bench adaptive --quick --scenes "$scenes" --out file
rm file

# Under sanitizers two more of them, for the time that it takes.
if [ -n "${CAROM_SANITIZED-}" ]; then
	expect 0 out '"tables"' bench table-2.3 adaptive --quick --json --scenes "$scenes" --out all --peers ./nowhere
	exit 0
fi

# The others, by one call. carom_peers may be there or not; a wrong name of it is said, and is no failure.
mapfile -t names < <(printf '%s\n' "${names[@]}" | grep -v '^pipeline-2015$')
((${#names[@]} >= 10)) || fail "only ${#names[@]} benches: ${names[*]}"
expect 0 out '"tables"' bench "${names[@]}" --quick --json --scenes "$scenes" --out all --peers ./nowhere
for name in "${names[@]}"; do grep -q "\"name\":[[:space:]]*\"$name\"" out || fail "$name did not run"; done
grep -q 'carom_peers is neither' out || fail "no word of carom_peers"
for table in table-2.1 table-2.1-speedup table-2.1-rays figure-2.13 figure-2.12 figure-2.12-shares scene-2 table-2.2 table-2.3 table-2.4 \
	table-1-2015 adaptive figure-2.15 figure-2.16 figure-2.17; do
	[ -s "all/$table.csv" ] || fail "no $table.csv"
done
grep -q '^basic,.*,21\.92$' all/table-2.1-speedup.csv || fail "Table 2.1 lacks the paper's ratio"
# The three phases of the quick avalanche, and the names.
same "steps of figure-2.13.csv" "$(wc -l < all/figure-2.13.csv)" 108
# Curves have a row for each step of the run.
same "steps of figure-2.15.csv" "$(wc -l < all/figure-2.15.csv)" 121
# Projected constraints leave less in other bodies. What lies below the plane, our solver takes back in either way.
awk -F, '/^standard/ { a = $6 } /^projected/ { exit !($6 < a) }' all/figure-2.17.csv || fail "projected constraints do not help among the bodies"
# A step's pairs and rays are the same whatever was measured: the number of rays of full casts does not depend on the clock.
rays() { grep '^full, B' "$1/table-2.1-rays.csv" 2> /dev/null || grep '^"full, BVH"' "$1/table-2.1-rays.csv"; }
expect 0 out . bench table-2.1 --quick --scenes "$scenes" --out again --threads 2 --simd scalar
same "rays in C" "$(rays again | cut -d , -f 7)" "$(rays all | cut -d , -f 7)"
