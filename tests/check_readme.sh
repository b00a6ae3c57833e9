#!/bin/bash
# The program in README.md is examples/hello.c, letter for letter. Usage: check_readme.sh ROOT
set -u
cd "$1" || exit 2
if diff <(sed -n '/^```c$/,/^```$/p' README.md | sed '1d;$d') examples/hello.c; then
	echo "README.md shows examples/hello.c"
else
	echo "README.md does not show examples/hello.c as it is"
	exit 1
fi
