#!/bin/bash
# carom_sphere_peers: all libraries find the same pairs, an external program's figures are read and its pairs compared, granular steps
# beside a LAMMPS of our own making; mistakes. Skipped where it was not built.
source "$(dirname "$0")/common.bash"
peers=$(dirname "$CAROM")/../../bench/peers/carom_sphere_peers
[ -x "$peers" ] || { echo "carom_sphere_peers was not built"; exit 77; }

# run CODE STREAM PATTERN ARGUMENT...
run() {
	local code=$1 stream=$2 pattern=$3 status=0
	shift 3
	"$peers" "$@" > out 2> err || status=$?
	[ "$status" = "$code" ] || fail "exit code $status instead of $code: carom_sphere_peers $* ($(head -c 600 err))"
	grep -qE -- "$pattern" "$stream" || fail "no '$pattern' on std$stream: carom_sphere_peers $* ($(head -c 600 "$stream"))"
}

# What is found is what `carom spheres` finds.
expect 0 out . make spheres --wide 3000 --box 1 -o set.sph
expect 0 out . spheres set.sph --json
pairs=$(field pairs out) hash=$(field hash out)
run 0 out "^set.sph: 3000 spheres, $pairs pairs \\($hash, the same for all\\), 2 threads" set.sph --reps 2 --rounds 2 --threads 2 --csv table.csv
same "ratio of Carom" "$(sed -n 2p table.csv | cut -d , -f 11)" 1
same "pairs in the table" "$(tail -n +2 table.csv | cut -d , -f 3 | sort -u)" "$pairs"
run 0 out '^free:2000: 2000 spheres' free:2000 wide:500:0.06:1 --reps 1 --rounds 1 --only carom
run 0 out '^apart:3000: [0-9]+ spheres, 0 pairs' apart:3000 --reps 1 --rounds 1 --only carom
run 0 out '^free:2000: 2000 spheres' free:2000 --reps 1 --rounds 1 --only carom
same "libraries" "$(grep -cE '^(embree|nanoflann)' out || true)" 0

# An external program: its fields, its number of threads, the least of its runs, and what it found.
cat > yard << END
#!/bin/sh
echo "something else"
[ "\$1" = set.sph ] && [ "\$2" = fast ] && [ "\$3" = 2 ] || exit 1
echo x >> runs
n=\$(wc -l < runs)
echo "grid|set|T=\$OMP_NUM_THREADS|build_ms 1.5|query_ms 2|total_ms \$((1000 + n))|median_ms 2000|pairs $pairs|sum $hash|ok"
END
chmod +x yard
run 0 out '^yard fast +1001\.000 +2000\.000 ' set.sph --reps 2 --rounds 3 --only carom --yardstick ./yard:fast
same "runs of the external program" "$(wc -l < runs)" 3
sed -i 's/pairs [0-9]*/pairs 1/' yard
run 1 err 'yard fast finds 1 pairs and Carom' set.sph --reps 2 --rounds 1 --only carom --yardstick ./yard:fast
run 1 err 'failed' set.sph --reps 1 --rounds 1 --only carom --yardstick ./yard:fast
printf '#!/bin/sh\necho nothing\n' > yard
run 1 err 'printed no line with total_ms and pairs' set.sph --reps 2 --rounds 1 --only carom --yardstick ./yard:fast

# Steps: LAMMPS is asked for each skin once and for the best of them again.
mkdir bin
cat > bin/lmp << 'END'
#!/bin/sh
[ "$1" = -in ] || exit 1
skin=$(sed -n 's/^neighbor \([^ ]*\) bin$/\1/p' "$2")
echo "$skin" >> skins
grep -q '^run 7$' "$2" && grep -q '^fix wallx all wall/gran hooke 40 0 4000 0 0 0 xplane 0 1$' "$2" || exit 1
grep -q '^3000 atoms$' "$(sed -n 's/^read_data //p' "$2")" || exit 1
echo "Loop time of 99 on 1 procs for 20 steps with 3000 atoms"
echo "       7            24"
awk -v s="$skin" 'BEGIN { print "Loop time of " 0.7 + s " on 1 procs for 7 steps with 3000 atoms" }'
echo "Neighbor list builds = 3"
END
chmod +x bin/lmp
PATH=$PWD/bin:$PATH run 0 out '^lammps +10[0-9]\.[0-9]+ +[0-9.]+ +12 +3 +skin 0\.1' free:3000 --steps 7 --skins 0.5,0.1,1 --rounds 2
same "runs of lmp" "$(wc -l < skins)" 4
same "the best skin again" "$(sed -n 2p skins)" "$(sed -n 4p skins)"

# Mistakes.
run 2 err 'a set of spheres is needed'
run 2 err 'wrong option --nothing 1' set.sph --nothing 1
run 2 err 'needs a number of at least 1' set.sph --reps none
run 2 err 'needs PROGRAM:METHOD' set.sph --yardstick yard
run 1 err 'nowhere.sph' nowhere.sph
run 1 err 'cannot write nowhere/table.csv' set.sph --only carom --reps 1 --rounds 1 --csv nowhere/table.csv
