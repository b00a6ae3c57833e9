#!/bin/bash
# What CMake makes of compilers and machines that this one is not: each is refused with a clear text, or gets its own kernels and flags.
# Usage: check_toolchains.sh CMAKE SOURCE_FOLDER
set -eu
cmake=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "$*"
	exit 1
}

# configure NAME [CMAKE_ARGUMENT...]: the library alone; its output into text, its exit code into code.
configure() {
	build=$work/$1
	shift
	code=0
	text=$("$cmake" -S "$source" -B "$build" -G Ninja -DCAROM_BUILD_TOOLS=OFF -DCAROM_BUILD_BENCH=OFF -DCAROM_BUILD_TESTS=OFF \
		-DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@" 2>&1) || code=$?
	text=$(tr -s ' \n' ' ' <<<"$text")
}

# configure_here NAME [CMAKE_ARGUMENT...]: likewise, by the compiler of this machine: what CMake has found out about it once is in the cache.
configure_here() {
	mkdir -p "$work/$1/CMakeFiles"
	cp -r "$work"/plain/CMakeFiles/[0-9]* "$work/$1/CMakeFiles/"
	sed "s|$work/plain|$work/$1|g" "$work/plain/CMakeCache.txt" >"$work/$1/CMakeCache.txt"
	configure "$@"
}

# refused TEXT: the last configure failed, and said so.
refused() {
	((code != 0)) || fail "was not refused: $1"
	[[ $text == *"$1"* ]] || fail "not the expected text ($1): $text"
}

configure plain
((code == 0)) || fail "$text"

# One compilation for two machines would get kernels of one of them, or of none.
configure_here universal "-DCMAKE_OSX_ARCHITECTURES=arm64;x86_64"
refused 'CMAKE_OSX_ARCHITECTURES is "arm64;x86_64": kernels are built for one architecture at a time.'
configure_here universal_scalar "-DCMAKE_OSX_ARCHITECTURES=arm64;x86_64" -DCAROM_SCALAR=ON
((code == 0)) || fail "$text"
configure_here universal_one -DCMAKE_OSX_ARCHITECTURES=x86_64
((code == 0)) || fail "$text"

# A compiler of which nothing is known.
configure unknown -DCMAKE_C_COMPILER_ID=MSVC -DCMAKE_C_COMPILER_ID_RUN=1 -DCMAKE_C_COMPILER_FORCED=1
refused "not by MSVC: nothing is known of the flags that make its results the same bits."

# Names can be hidden only where there are the tools for it. What was asked for and cannot be had is an error.
configure_here hidden -DCAROM_HIDE_NAMES=ON -DCMAKE_OBJCOPY=
refused "CAROM_HIDE_NAMES is ON, but internal names cannot be hidden here: it needs a linker and objcopy"
configure_here hidden_auto -DCMAKE_OBJCOPY=
((code == 0)) || fail "$text"
[[ $text == *"The static library shows its internal names: it needs a linker and objcopy"* ]] || fail "$text"
configure_here lto -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON
((code == 0)) || fail "$text"
[[ $text == *"link-time optimization"* ]] || fail "$text"

# clang with the options of Microsoft's compiler: it takes -Wall for all warnings that it has, and -ffp-contract only by /clang:.
if command -v clang-cl-14 >/dev/null; then
	configure clang_cl "-DCMAKE_TOOLCHAIN_FILE=$source/cmake/toolchains/clang-cl.cmake"
	((code == 0)) || fail "$text"
	commands=$(<"$build/compile_commands.json")
	[[ $commands == *" /clang:-ffp-contract=off "* ]] || fail "clang-cl may fuse"
	[[ $commands != *" -Wall "* ]] || fail "clang-cl gets -Wall, which turns on all warnings that it has"
	[[ $commands == *"CR_ISA=avx512"* ]] || fail "clang-cl gets no wide kernels"
fi

# Makefiles run targets side by side, and a target finds the files of another one only if it waits for it.
build=$work/makefiles
"$cmake" -S "$source" -B "$build" -G "Unix Makefiles" -DCAROM_BUILD_TOOLS=OFF -DCAROM_BUILD_BENCH=OFF -DCAROM_BUILD_TESTS=OFF \
	-DCAROM_HIDE_NAMES=ON >"$work/log" 2>&1 || fail "$(<"$work/log")"
for target in carom_core carom_scalar; do
	grep -qxF "src/CMakeFiles/carom.dir/all: src/CMakeFiles/$target.dir/all" "$build/CMakeFiles/Makefile2" ||
		fail "make -j2 may join the objects of the library before those of $target are there"
done
echo "all compilers and machines are refused or served"
