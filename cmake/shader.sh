#!/bin/sh
# Makes the header of a kernel, or copies that of another build, where it is newer than all that it is made of: glslangValidator takes 0.3 s for
# the smallest kernel. Usage: shader.sh OTHER_HEADER HEADER SOURCES... -- GLSLANG ARGUMENT...
other=$1
header=$2
shift 2
made=
[ ! -s "$other" ] || made=yes
while [ "$1" != -- ]; do
	[ "$other" -nt "$1" ] || made=
	shift
done
shift
[ -z "$made" ] || exec cp "$other" "$header"
exec "$@"
