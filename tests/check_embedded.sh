#!/bin/bash
# A project that contains Carom by add_subdirectory: it gets the library alone, without options and targets that it did not ask for, and no
# internal name of the library meets one of its own (where names are hidden).
# Usage: check_embedded.sh CMAKE CC SOURCE_FOLDER GENERATOR NAMES_ARE_HIDDEN
set -eu
cmake=$1
hidden=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "$*"
	exit 1
}

same_names=()
[[ $hidden == ON ]] && same_names=(-DCMAKE_C_FLAGS=-DSAME_NAMES)
# Without optimisation, wide kernels, words for debuggers and devices, on which nothing here depends.
"$cmake" -G "$4" -S "$3/tests/parent" -B "$work/build" -DCAROM_SOURCE="$3" -DCMAKE_C_COMPILER="$2" -DCMAKE_BUILD_TYPE=Debug -DCAROM_SCALAR=ON \
	-DCMAKE_C_FLAGS_DEBUG= -DCAROM_VULKAN=OFF \
	"${same_names[@]}" >"$work/configure.log" 2>&1 || fail "$(<"$work/configure.log")"
cache=$work/build/CMakeCache.txt
grep '^CAROM_EMBREE:' "$cache" || fail "CAROM_EMBREE is not in the cache: does the test look at the right one?"
for entry in BUILD_SHARED_LIBS embree_DIR CMAKE_CXX_COMPILER; do
	grep "^$entry:" "$cache" && fail "$entry was put into the cache of a project that contains Carom"
done
"$cmake" --build "$work/build" --parallel >"$work/build.log" 2>&1 || fail "$(tail -20 "$work/build.log")"
targets=$("$cmake" --build "$work/build" --target help)
grep -q embree <<<"$targets" && fail "the Embree plug-in is a target of a project that contains Carom"
"$work/build/parent"
"$cmake" --install "$work/build" --prefix "$work/usr" >"$work/install.log"
[[ -z $(find "$work/usr" -name '*carom*' 2>/dev/null) ]] || fail "Carom is installed with a project that did not ask for it"
echo "embedded and run"
