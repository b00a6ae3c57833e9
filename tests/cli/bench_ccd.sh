#!/bin/bash
# carom bench of swept impacts: every table has its rows and the paper's figures, all ways find the same impacts, and what no clock decides is
# the same for any number of threads and instruction set.
source "$(dirname "$0")/common.bash"

names="ccd-table-1 ccd-table-2 ccd-fronts ccd-orphans ccd-costs ccd-threads"
expect 0 out '^ccd-table-1 ' bench --list
for name in $names; do grep -q "^$name " out || fail "no bench $name"; done

expect 0 out '== ccd-table-2: ' bench $names --quick --out all
same "benches whose ways were compared" "$(grep -c 'all ways found the same impacts, bit for bit' out)" 6
grep -q 'quick: meshes' out || fail "a quick run does not say so"
for table in ccd-table-1 ccd-table-2 ccd-front ccd-orphans; do
	same "rows of $table.csv" "$(wc -l < all/$table.csv)" 5
	same "scenes of $table.csv" "$(sed 1d all/$table.csv | cut -d , -f 1 | tr '\n' ' ')" "cloth-ball skirt n-body triangles "
done
same "rows of ccd-threads.csv" "$(wc -l < all/ccd-threads.csv)" 9
grep -q '^cloth-ball,3392,.*,25/45/30/0.1$' all/ccd-table-1.csv || fail "Table 1 lacks the paper's shares"
grep -q '^cloth-ball,3392,.*,"32.5, 340"$' all/ccd-table-2.csv || fail "Table 2 lacks the paper's times"

# Every scene has impacts, and moves.
awk -F, 'NR > 1 && !($3 > 0)' all/ccd-table-1.csv | grep . && fail "a scene without impacts"
awk -F, 'NR > 1 && !($3 > 0.01)' all/ccd-table-2.csv | grep . && fail "a scene that does not move"
# The front saves as many tests of boxes as in the paper, and more.
awk -F, 'NR > 1 && !($6 >= 37)' all/ccd-front.csv | grep . && fail "the front saves too few tests of boxes"
# Orphan sets: nothing else of the queries is added or lost. Each pair of features is tested once either way.
awk -F, 'NR > 1 && $1 != "triangles" && !($6 > 98 && $5 > 0)' all/ccd-orphans.csv | grep . && fail "orphans are not few"
awk -F, 'NR > 1 && !($8 >= $7 && $8 - $7 <= $5)' all/ccd-orphans.csv | grep . && fail "orphan sets add queries other than the orphans"

# Orphan sets make the front shorter, and never longer: by a fifth or more where triangles have neighbours (MCCD, Figure 9).
same "rows of ccd-fronts.csv" "$(wc -l < all/ccd-fronts.csv)" 9
awk -F, 'NR > 1 && !($5 <= $4 && ($1 == "triangles" || $6 >= 20))' all/ccd-fronts.csv | grep . && fail "orphan sets do not make the front shorter"
# Costs: shares lie between their bounds; loose triangles have no self-collision; the front leaves a part of the tests of boxes.
for table in ccd-costs ccd-model ccd-memory; do same "rows of $table.csv" "$(wc -l < all/$table.csv)" 5; done
awk -F, 'NR > 1 && !($3 > 0 && $4 > 0 && $7 >= 0 && $7 <= 100 && $8 <= 100 && $9 <= 100)' all/ccd-costs.csv | grep . && fail "costs out of bounds"
same "self-collision of loose triangles" "$(grep '^triangles,' all/ccd-costs.csv | cut -d , -f 7)" 0.0
awk -F, 'NR > 1 && !($5 > 0 && $5 < 1)' all/ccd-model.csv | grep . && fail "the front leaves no part of the tests of boxes"
awk -F, 'NR > 1 && !($5 > $6 && $6 > 0)' all/ccd-memory.csv | grep . && fail "the front takes no memory, or all"

# Counts are the same for any number of threads and instruction set.
expect 0 out '== ccd-table-2' bench ccd-table-2 --quick --out again --threads 2 --simd scalar
same "tests of boxes" "$(cut -d , -f 1-7,9 again/ccd-front.csv)" "$(cut -d , -f 1-7,9 all/ccd-front.csv)"
