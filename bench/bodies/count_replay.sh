#!/bin/sh
# Instructions of a step of a recorded scene, by callgrind: the counts repeat on a machine that is
# busy otherwise, where times do not. Setup and first steps are taken off: two runs that differ by
# 20 steps are counted.
# Usage: bench/bodies/count_replay.sh CAROM TRAJECTORY MESH FIRST...
# As: count_replay.sh build/release/tools/carom/carom scene1.rbt.gz bullet-bunny-902.obj 80 441
set -eu
if [ $# -lt 4 ]; then
	sed -n 's/^# Usage: /usage: /p' "$0" >&2
	exit 2
fi
carom=$1 trajectory=$2 mesh=$3
shift 3

# Instructions of the steps $1 to $2, with the setup.
count() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$carom" replay "$trajectory" --mesh "$mesh" -t 1 \
		--steps "$1:$2" 2>&1 | sed -n 's/.*Collected : //p'
}

for first; do
	short=$(count "$first" $((first + 6)))
	long=$(count "$first" $((first + 26)))
	[ -n "$short" ] && [ -n "$long" ] || { echo "$first: valgrind counted nothing" >&2; exit 1; }
	echo "steps $((first + 7)) to $((first + 26)): $(((long - short) / 20)) instructions a step"
done
