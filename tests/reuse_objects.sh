#!/bin/sh
# Stands before a compiler, as ccache does: where another build has compiled the same source by the same command, its output is copied.
# Usage: reuse_objects.sh OTHER_BUILD PREFIX COMPILER ARGUMENT...; the variable SAME_OBJECTS holds the names of such outputs, each between
# blanks. In the other build they have the part of the name that is behind the prefix.
other=$1
prefix=$2
shift 2
object=
dependencies=
before=
for word in "$@"; do
	case $before in
	-o) object=$word ;;
	-MF) dependencies=$word ;;
	esac
	before=$word
done
case $SAME_OBJECTS in
*" $object "*)
	[ -z "$dependencies" ] || echo "$object:" >"$dependencies"
	exec cp "$other/${object##*"$prefix"}" "$object"
	;;
esac
exec "$@"
