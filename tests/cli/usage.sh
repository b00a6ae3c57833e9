#!/bin/bash
# The command itself: help, version, and what it says about wrong use.
source "${CAROM_SOURCE:?names the repository}/tests/cli/common.bash" || exit

expect 0 out '^  replay +' --help
expect 0 out '^carom [0-9]+\.[0-9]+\.[0-9]+$' --version
expect 2 err 'a command is missing'
expect 2 err 'there is no command repaly; did you mean replay\?' repaly
expect 2 err 'there is no command xylophone$' xylophone
expect 2 err 'there is no option --versoin; did you mean --version\?' --versoin

for command in run replay check spheres ccd make bake render info; do
	expect 0 out "^carom $command " $command --help
	expect 0 out '^Options:' $command -h
	grep -q -- '--json' out || fail "$command --help does not list --json"
	awk 'length > 132 { exit 1 }' out || fail "$command --help has lines over 132 columns"
	expect 2 err 'there is no option --jsno; did you mean --json\?' $command --jsno
	expect 2 err 'there is no option -Z' $command -Z
	expect 2 err '--json takes no value' $command --json=yes
done

# Numbers, ranges, choices, missing values.
expect 2 err '--threads many: not a whole number' replay x --threads many
expect 2 err '--threads 1.5: not a whole number' replay x --threads 1.5
expect 2 err '--threads 99999: must be from 0 to 256' replay x --threads 99999
expect 2 err '--threads 99999999999999999999: not a whole number' replay x --threads=99999999999999999999
expect 2 err '--threads needs a value: --threads N' replay x --threads
expect 2 err '--speculative nan: not a number' replay x --speculative nan
expect 2 err '--speculative -1: must be from 0' replay x --speculative -1
expect 2 err '--steps 5: must be A:B' replay x --steps 5
expect 2 err '--steps : must|--steps :: must' replay x --steps :
expect 2 err '--steps 9:9: is empty' replay x --steps 9:9
expect 2 err '--steps 2:x: must be A:B' replay x --steps 2:x
expect 2 err '--rays fast: must be one of wide, binary, basic, moller-trumbore' replay x --rays fast
expect 2 err '--mesh is empty' replay x --mesh ''
expect 2 err 'y is one argument too many' replay x y
expect 2 err 'an argument is missing; usage: carom replay TRAJECTORY' replay

# With --json a failure prints an object on stdout too.
expect 1 out '"error":[[:space:]]*"none.obj: cannot be opened: ' info none.obj --json
expect 2 out '"error":[[:space:]]*"--threads many: not a whole number"' replay x --json --threads many
expect 2 out '"error":[[:space:]]*"there is no option --jsno' info x --jsno --json
grep -q '^Try `carom info' err || fail "nothing on stderr: $(cat err)"
expect 1 err 'none.obj' info none.obj

# Text in brackets without end.
{ printf '{ "a": '; head -c 100000 /dev/zero | tr '\0' '['; } > deep.json
expect 1 err 'deep.json:1: nested too deeply: at most 1000 brackets' run deep.json

# Everything behind -- is an argument, and a lost stdout is a failure.
expect 1 err '^carom: error: --json: cannot be opened: No such file' info -- --json
if [ -w /dev/full ]; then
	status=0
	"$CAROM" --help > /dev/full 2> err || status=$?
	same "exit code of --help on a full device" $status 1
	grep -q 'cannot write to standard output: No space left' err || fail "a full device is not reported: $(cat err)"
	for command in run replay check spheres ccd bench make bake render info "make spheres"; do
		status=0
		# shellcheck disable=SC2086
		"$CAROM" $command --help > /dev/full 2> err || status=$?
		same "exit code of $command --help on a full device" $status 1
	done
fi
