#!/bin/bash
# A project that contains Carom by add_subdirectory: it gets the library alone, without options and targets that it did not ask for, and no
# internal name of the library meets one of its own (where names are hidden).
# The library is compiled there by the commands of the build that is tested, but for names of folders. Where a command is the same, the
# object of that build is taken; any other command is run.
# Usage: check_embedded.sh CMAKE CC SOURCE_FOLDER GENERATOR NAMES_ARE_HIDDEN BUILD_FOLDER
set -eu
cmake=$1
hidden=$5
tested=$6
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "$*"
	exit 1
}

# commands FOLDER PREFIX: of a build, a line "OUTPUT COMMAND" each, of compilers and of what makes kernels of devices. Names of outputs begin
# behind the prefix, and the folder's name is taken out.
commands() {
	{
		sed -nE 's|^ *"command": "(.*)",?$|\1|p' "$1/compile_commands.json"
		sed -nE 's|^ *COMMAND = .* && ([^ ]*)/[^ ]*( .* --vn .*)|glslang \2|p' "$1/build.ninja" 2>/dev/null || true # other generators have none
	} | sed -E "s|$1/$2|@/|g; s|^(.* -o )(@/)?($2)?([^ ]*)(.*)|\\4 \\1\\4\\5|" | LC_ALL=C sort
}

# The Python package, where that is built, asks for code that is independent of its place in all that it is made of.
options=(-DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_POSITION_INDEPENDENT_CODE=ON)
for name in CMAKE_BUILD_TYPE CMAKE_C_FLAGS CMAKE_C_FLAGS_DEBUG CMAKE_C_FLAGS_RELEASE CAROM_WERROR CAROM_VULKAN CAROM_KERNELS CAROM_SCALAR; do
	value=$(sed -nE "s/^$name:[A-Z]*=//p" "$tested/CMakeCache.txt")
	options+=("-D$name=$value")
done
glslang=$(sed -nE 's/^CAROM_GLSLANG:[A-Z]*=(.+)/\1/p' "$tested/CMakeCache.txt")
if [[ -x $glslang ]]; then
	printf '#!/bin/sh\nexec "%s" "%s" carom/ "%s" "$@"\n' "$3/tests/reuse_objects.sh" "$tested" "$glslang" >"$work/glslang.sh"
	chmod +x "$work/glslang.sh"
	options+=("-DCAROM_GLSLANG=$work/glslang.sh")
fi
[[ $hidden == ON ]] && options+=(-DSAME_NAMES=ON)
"$cmake" -G "$4" -S "$3/tests/parent" -B "$work/build" -DCAROM_SOURCE="$3" -DCMAKE_C_COMPILER="$2" "${options[@]}" \
	"-DCMAKE_C_COMPILER_LAUNCHER=$3/tests/reuse_objects.sh;$tested;carom/" >"$work/configure.log" 2>&1 || fail "$(<"$work/configure.log")"
cache=$work/build/CMakeCache.txt
grep '^CAROM_EMBREE:' "$cache" || fail "CAROM_EMBREE is not in the cache: does the test look at the right one?"
for entry in BUILD_SHARED_LIBS embree_DIR CMAKE_CXX_COMPILER; do
	grep "^$entry:" "$cache" && fail "$entry was put into the cache of a project that contains Carom"
done
same=$(LC_ALL=C comm -12 <(commands "$work/build" carom/) <(commands "$tested" "") | cut -d ' ' -f 1)
SAME_OBJECTS=" "
for object in $same; do
	[[ ! -e $tested/$object ]] || SAME_OBJECTS+="carom/$object $work/build/carom/$object "
done
export SAME_OBJECTS
"$cmake" --build "$work/build" --parallel >"$work/build.log" 2>&1 || fail "$(tail -20 "$work/build.log")"
targets=$("$cmake" --build "$work/build" --target help)
grep -q embree <<<"$targets" && fail "the Embree plug-in is a target of a project that contains Carom"
"$work/build/parent"
"$cmake" --install "$work/build" --prefix "$work/usr" >"$work/install.log"
[[ -z $(find "$work/usr" -name '*carom*' 2>/dev/null) ]] || fail "Carom is installed with a project that did not ask for it"
echo "embedded and run; $(wc -w <<<"$same") outputs by the commands of the build that is tested"
