#!/bin/bash
# No stage of a step calls another: a file that defines a stage (cr_stage_...) uses nothing that the file of another stage defines. What
# several stages need is in files of its own. The table of stages names all of them and may.
# Usage: check_stages.sh NM CC FOLDER_WITH_OBJECTS
set -eu
nm=$1
cc=$2
objects=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# calls_between FOLDER: a line for each name of a stage's object that the object of another stage uses; last the number of stages' objects.
calls_between() {
	"$nm" -A "$1"/*.o | awk '
		{ file = $1; sub(/:.*/, "", file); sub(/.*\//, "", file) }
		$(NF - 1) == "T" { home[$NF] = file; if ($NF ~ /^cr_stage_/) stage[file] = 1 }
		$(NF - 1) == "U" { uses[file, $NF] = 1 }
		END {
			for (pair in uses) {
				split(pair, part, SUBSEP)
				to = home[part[2]]
				if ((part[1] in stage) && (to in stage) && part[1] !~ /^cpu_stages/) print part[1] ": uses " part[2] " of " to
			}
			for (file in stage) count++
			print count + 0
		}'
}

# First, that a breach is found.
echo 'void help(void) {} void cr_stage_a(void) {}' >"$work/a.c"
echo 'void help(void); void cr_stage_b(void) { help(); }' >"$work/b.c"
for file in a b; do "$cc" -c "$work/$file.c" -o "$work/$file.o"; done
[[ $(calls_between "$work") == $'b.o: uses help of a.o\n2' ]] || { echo "a breach was not found"; exit 1; }

found=$(calls_between "$objects")
if [[ ! $found =~ ^[0-9]+$ ]] || ((found < 8)); then
	echo "$found"
	exit 1
fi
echo "none of $found stages calls another"
