#!/bin/bash
# No source of the library may be compiled with arithmetic that breaks its promises. Usage: check_float_mode.sh CC SOURCE_FOLDER [BUILD NINJA]
set -u
cc=$1
build=${3:-}
ninja=${4:-}
cd "$2" || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
complain() {
	echo "$*"
	failures=$((failures + 1))
}

preprocess() {
	"$cc" -std=c17 -D_POSIX_C_SOURCE=200809L -DCR_ISA=scalar -DCR_HAVE_SCALAR=1 -DCAROM_BUILDING -Iinclude -Isrc -E "$@" >/dev/null 2>"$work/log"
}

# refuses FILE MESSAGE FLAG...: the compiler stops at the message.
refuses() {
	local file=$1 message=$2
	shift 2
	preprocess -Wfatal-errors "$@" "$file" && complain "$file compiles with $*"
	grep -q "error.*$message" "$work/log" || complain "$file with $*: the message is not '$message' but $(head -1 "$work/log")"
}

preprocess src/math/trig.c || complain "src/math/trig.c does not compile without flags: $(head -1 "$work/log")"
# A source that has read base/float_mode.h stops there. Ninja knows what the compiler read for each object of the build; the sources that were not
# compiled are asked by one call of the compiler: the first error ends a file, and each is to end at this one.
refuses src/base/float_mode.c 'Carom must not be compiled with -ffast-math' -ffast-math
mapfile -t sources < <(find src -name '*.c' | LC_ALL=C sort)
if [[ -n $ninja ]]; then
	"$ninja" -C "$build" -t deps | awk '/^[^ ].*: #deps/ { valid = /^src\/.* \(VALID\)$/; next } /^ / && valid {
		sub(/^ +/, ""); if (source == "") source = $0; if (/\/src\/base\/float_mode\.h$/) sees = 1; next }
		{ if (source ~ /\/src\/.*\.c$/) print sees ? "sees" : "blind", source; source = ""; sees = 0 }' >"$work/read"
	grep '^blind' "$work/read" && complain "these sources were compiled without base/float_mode.h"
	mapfile -t sources < <(printf '%s\n' "${sources[@]}" | LC_ALL=C comm -23 - <(sed -n "s|^sees .*/src/|src/|p" "$work/read" | LC_ALL=C sort -u))
	((${#sources[@]} < 20)) || complain "the build in $build has compiled next to nothing"
fi
((${#sources[@]} == 0)) || preprocess -Wfatal-errors -ffast-math "${sources[@]}" && complain "all sources compile with -ffast-math"
refused=$(grep -c 'error: .*Carom must not be compiled with -ffast-math' "$work/log")
if ((refused != ${#sources[@]})); then
	complain "of ${#sources[@]} sources $refused stop at 'Carom must not be compiled with -ffast-math'. These do not, or at something else first:"
	LC_ALL=C comm -23 <(printf '%s\n' "${sources[@]}") <(grep -B 20 'error: .*Carom must not' "$work/log" | grep -oE 'src/[a-z0-9_/]*\.c\b' | LC_ALL=C sort -u)
fi
refuses src/math/trig.c 'Carom must not be compiled with -ffast-math' -Ofast
refuses src/math/trig.c 'Carom must not be compiled with -ffast-math' -ffinite-math-only
# Only gcc for x86 computes floats as longer ones when told to.
if echo | "$cc" -mfpmath=387 -E -dM -include float.h - 2>/dev/null | grep -q '__FLT_EVAL_METHOD__ 2'; then
	refuses src/math/trig.c 'Carom needs floats computed as floats' -mfpmath=387
fi

# What no macro tells is found when a context is made.
cat >"$work/main.c" <<'END'
#include "base/float_mode.h"
#include <stdio.h>
int main(void)
{
	const char *fault = cr_float_mode_fault();
	puts(fault ? fault : "default");
}
END
# says WORDS FLAG...: the look at the arithmetic gives these words.
says() {
	local words=$1
	shift
	"$cc" -std=c17 -O2 "$@" -Iinclude -Isrc "$work/main.c" src/base/float_mode.c -o "$work/look" -lm || complain "float_mode.c does not compile with $*"
	[[ $("$work/look") == "$words" ]] || complain "with $*: '$("$work/look")' instead of '$words'"
}
says default -ffp-contract=off
if grep -qw fma /proc/cpuinfo 2>/dev/null && [[ $(uname -m) == x86_64 ]]; then
	says default -ffp-contract=off -mfma
	says 'fuses multiplication and addition (the library was compiled without -ffp-contract=off)' -ffp-contract=fast -mfma
fi
echo "$failures failures"
((failures == 0))
