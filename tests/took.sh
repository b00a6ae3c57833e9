#!/bin/bash
# Runs a test, and prints the processor time of all that it started, as carom_tests prints that of its cases: "took SECONDS s: NAME".
# Usage: took.sh NAME COMMAND...
name=$1
shift
status=0
"$@" || status=$?
[[ ! -r /proc/$$/stat ]] || awk -v name="$name" '{ printf "took %.2f s: %s\n", ($16 + $17) / 100, name }' "/proc/$$/stat"
exit "$status"
