#!/bin/bash
# carom bench of spheres: every table has its rows, the paper's figures stand beside ours, all methods agree, and counts that no clock
# decides are the same for any number of threads and instruction set; mistakes.
source "$(dirname "$0")/common.bash"
: "${CAROM_SOURCE:?is the folder of the sources}"
scenes=$CAROM_SOURCE/scenes

expect 0 out '^spheres-table-1 ' bench --list
for name in scale gravity radii grains interval validation methods; do
	grep -q "^spheres-$name " out || fail "no bench spheres-$name"
done

rows() { same "rows of $1.csv" "$(wc -l < "all/$1.csv")" "$2"; }
benches="spheres-table-1 spheres-gravity spheres-radii spheres-grains spheres-scale spheres-interval spheres-validation spheres-methods"
expect 0 out '== spheres-table-1: ' bench $benches --quick --scenes "$scenes" --out all
rows spheres-table-1 11
rows spheres-table-1-total 6
rows spheres-gravity 10
rows spheres-radii 5
rows spheres-grains 5
rows spheres-scale 3
rows spheres-interval 12
rows spheres-interval-rays 12
rows spheres-validation 6
rows spheres-validation-steps 41
rows spheres-methods 9
rows spheres-methods-parts 41

# Table 1 of the paper in milliseconds a step: 7.56 minutes of 80,000 steps are 5.67 ms.
grep -q '^1000,falling,.*,1\.22,4\.08,0\.37,5\.67,25\.03$' all/spheres-table-1.csv || fail "the paper's figures: $(sed -n 2p all/spheres-table-1.csv)"
# In a heap spheres touch each other.
awk -F, '$2 == "in a heap" && !($3 > 3)' all/spheres-table-1.csv all/spheres-gravity.csv | grep . && fail "a heap without contacts"
grep -q 'the gain of detection falls from 2 million on' out || fail "nothing about the paper's speed-ups"

# A tree that is rebuilt every n-th of 24 steps is made so often, and all ways find the same pairs.
same "trees made" "$(cut -d , -f 1,2 all/spheres-interval.csv | sed -n '2,10p' | tr '\n' ' ')" "1,24 2,12 4,6 8,3 16,2 32,1 64,1 128,1 never,1 "
grep -q 'tree: all found the same [1-9][0-9]* pairs in 24 steps' out || fail "no pairs of the trees"
same "pairs of rays and tree" "$(grep -o 'rays: all found the same [0-9]*' out | grep -o '[0-9]*$')" "$(grep -o 'tree: all found the same [0-9]*' out | grep -o '[0-9]*$')"
grep -q 'exactly the same pairs in all 150 snapshots' out || fail "the methods were not compared"
awk -F, 'NR > 1 && !($2 > 0 && $3 > 0 && $5 <= $2 && $2 <= $6)' all/spheres-validation.csv | grep . && fail "no distribution"

[ -n "${CAROM_SANITIZED-}" ] && exit 0 # what follows would take as long again

# Collisions are the same for any number of threads and instruction set.
expect 0 out '== spheres-validation' bench spheres-validation --quick --scenes "$scenes" --out again --threads 2 --simd scalar
cmp all/spheres-validation-steps.csv again/spheres-validation-steps.csv || fail "other collisions with two threads"

# Snapshots of a folder. One whose header tells of other pairs is an error.
mkdir data
expect 0 out . make spheres --free 500 -o data/b.sph
expect 0 out . make spheres --wide 500 --box 0.5 -o data/a.sph
expect 0 out '^  a\.sph .* 500 ' bench spheres-methods --quick --data data --out with
same "snapshots by name" "$(tail -n 2 with/spheres-methods.csv | cut -d , -f 1 | tr '\n' ' ')" "a.sph b.sph "
printf '\005' | dd of=data/b.sph bs=1 seek=40 conv=notrunc 2> err
printf '\007' | dd of=data/b.sph bs=1 seek=48 conv=notrunc 2> err
expect 1 err 'b\.sph: "grid" found [0-9]* pairs, and the snapshot.s header tells of 5' bench spheres-methods --quick --data data

# Mistakes.
expect 1 err 'nowhere: No such file' bench spheres-methods --quick --data nowhere
mkdir empty
expect 1 err 'empty: holds no snapshot of spheres' bench spheres-methods --quick --data empty
expect 1 err 'nowhere/freefall.json' bench spheres-scale --quick --scenes nowhere
