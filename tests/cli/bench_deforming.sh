#!/bin/bash
# carom bench of the scenes of Li and Yamaguchi: tables and curves have their rows, all ways find the colliding pairs of the full rays, and
# depths grow with the time step.
source "$(dirname "$0")/common.bash"
: "${CAROM_SOURCE:?is the folder of the sources}"
scenes=$CAROM_SOURCE/scenes
[ -z "${CAROM_SANITIZED-}" ] || exit 77 # the same code runs in bench_ccd and bench under sanitizers

for name in table-1 table-2 table-4 depth; do "$CAROM" bench --list | grep -q "^deforming-$name " || fail "no bench deforming-$name"; done
expect 0 out '== deforming-table-1: ' bench deforming-table-1 deforming-table-2 deforming-table-4 deforming-depth --quick --scenes "$scenes" --out all
same "rows of deforming-table-1.csv" "$(wc -l < all/deforming-table-1.csv)" 6
same "rows of deforming-table-2.csv" "$(wc -l < all/deforming-table-2.csv)" 17
same "rows of deforming-table-4.csv" "$(wc -l < all/deforming-table-4.csv)" 7
same "rows of figure-14-deforming.csv" "$(wc -l < all/figure-14-deforming.csv)" 8
for figure in figure-9 figure-10 figure-11 figure-12 figure-13; do
	same "rows of $figure-deforming.csv" "$(wc -l < all/$figure-deforming.csv)" 151
done
grep -q '^HLBVH,.*,0.7 + 72.0$' all/deforming-table-1.csv || fail "Table 1 lacks the paper's times"
grep -q 'all found the same [1-9][0-9]* colliding pairs' all/deforming-table-2.md || fail "iterative rays lose pairs: $(cat all/deforming-table-2.md)"
grep -q 'GJK and EPA, 24 hulls a body" missed 0 ' all/deforming-table-4.md || fail "convex pieces hold the bodies, so they lose no pair"
# The mean depth of the largest step is more than that of the smallest.
awk -F, 'NR == 2 { a = $2 } NR == 8 { b = $2 } END { exit !(b > 1.5 * a) }' all/figure-14-deforming.csv || fail "depth does not grow with the step"

# What no clock decides is the same for any number of threads and instruction set.
expect 0 out . bench deforming-table-4 --quick --scenes "$scenes" --out again --threads 2 --simd scalar
for figure in figure-10 figure-11 figure-12 figure-13; do cmp "all/$figure-deforming.csv" "again/$figure-deforming.csv" || fail "$figure depends on threads"; done

# Velocity rays: each motion has a row, no share is above 100 %, and nothing crosses where the sweep answers.
expect 0 out '== velocity-rays: ' bench velocity-rays --quick --scenes "$scenes" --out rays
same "rows of velocity-rays.csv" "$(wc -l < rays/velocity-rays.csv)" 3
awk -F, 'NR > 1 && $7 != "-" && $7 > 100 { exit 1 }' rays/velocity-rays.csv || fail "more is found than there is"
awk -F, 'NR == 2 { exit !($4 > 50 && $7 > 10) }' rays/velocity-rays.csv || fail "rays find nothing in cloth_capsule"
same "rows of velocity-rays-capsule.csv" "$(wc -l < rays/velocity-rays-capsule.csv)" 7
grep -q '^sweep (carom run cloth_capsule),60,0,0,' rays/velocity-rays-capsule.csv || fail "the sweep lets cloth cross"
