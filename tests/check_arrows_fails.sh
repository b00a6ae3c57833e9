#!/bin/bash
# check_arrows.sh must find each kind of breach: a check that passes everything would be worth nothing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# plant FILE LINE: the line is in a file of the tree.
plant() {
	mkdir -p "$work/tree/${1%/*}"
	printf '%s\n' "$2" >>"$work/tree/$1"
}

# check STATUS WHAT: the check gives this exit status for the tree.
check() {
	local status
	"$here/check_arrows.sh" "$work/tree" >"$work/log" 2>&1
	status=$?
	((status == $1)) && return
	echo "$2: exit status $status, expected $1"
	cat "$work/log"
	failures=$((failures + 1))
}

kept=() broken=()
# expect STATUS FILE LINE: a tree with this file keeps the rules (0) or breaks them (1). All that keep them share a tree, and all that
# break them share one, of which each has to be named. a.c gets a number, for a name of its own.
expect() {
	local file
	if (($1)); then
		file=${2/\/a./\/a${#broken[@]}.}
		broken+=("$file" "$3")
	else
		file=${2/\/a./\/a${#kept[@]}.}
		kept+=("$file" "$3")
	fi
}

# expect_listed STATUS LINE: src/CMakeLists.txt with this line gives this exit status where there is a bvh/a.c.
expect_listed() {
	rm -rf "$work/tree"
	plant src/world/world.c '#include "base/context.h"'
	plant src/bvh/a.c '// listed, or not'
	printf '\t%s\n' world/world.c "$2" >"$work/tree/src/CMakeLists.txt"
	check "$1" "$2"
}

expect 0 src/bvh/a.c '#include "mesh/topology.h"'
expect 0 src/bvh/a.c '#include <stdio.h>'
expect 0 src/bvh/a.c '#include "carom/carom.h"'
expect 0 scene/a.c '#include "scene/scene.h"'
expect 0 scene/a.c '#include "sim/grains/granular.h"'
expect 1 scene/a.c '#include "view/renderer.h"'
expect 0 io/a.c '#include "sim/shapes/shapes.h"'
expect 1 io/a.c '#include "sim/cloth/soft.h"'
expect 0 view/a.c '#include "io/output_file.h"'
expect 1 view/a.c '#include "scene/scene.h"'
expect 0 sim/cloth/a.c '#include "sim/base/rotations.h"'
expect 1 sim/cloth/a.c '#include "sim/grains/granular.h"'
expect 1 sim/grains/a.c '#include "io/hdf5_file.h"'
expect 1 sim/rigid/a.c '#include "scene/scene.h"'
expect 1 sim/a.c '// in no part'
expect 0 sim/rigid/a.c '#include <ode/ode.h>'
expect 1 sim/grains/a.c '#include <hdf5.h>'
expect 0 tools/carom/bench/a.c '#include "tools/carom/options.h"'
expect 1 src/bvh/a.c '#include "contact/contact.h"'
expect 1 src/base/a.c '  #  include "math/vec.h"'
expect 1 src/math/a.c '#include "../world/world.h"'
expect 1 src/world/a.c '#include "scene/scene.h"'
expect 0 src/spheres/a.c '#include "tree/tree.h"'
expect 0 src/mesh/a.c '#include "tree/tree.h"'
expect 1 src/tree/a.c '#include "mesh/topology.h"'
expect 1 src/geom/a.c '#include "tree/tree.h"'
expect 1 src/spheres/a.c '#include "contact/contact.h"'
expect 1 src/contact/a.c '#include "spheres/sphere_set.h"'
expect 1 src/world/a.c '#include "spheres/sphere_set.h"'
expect 0 src/sweep/a.c '#include "tree/tree.h"'
expect 1 src/sweep/a.c '#include "contact/contact.h"'
expect 1 src/sweep/a.c '#include "spheres/sphere_set.h"'
expect 1 src/spheres/a.c '#include "sweep/sweep_tree.h"'
expect 1 src/contact/a.c '#include "sweep/sweep_tree.h"'
expect 0 src/world/a.c '#include "sweep/sweep_tree.h"'
expect 1 sim/cloth/a.c '#include "base/context.h"'
expect 1 tools/carom/a.c '#include "mesh/topology.h"'
expect 1 examples/a.c '#include "geom/triangle.h"'
expect 1 include/carom/a.h '#include "base/context.h"'
expect 1 src/bvh/a.c '#include <immintrin.h>'
expect 1 src/bvh/a.c 'x = _mm256_add_ps(x, y);'
expect 1 src/bvh/a.c 'x = vaddq_f32(x, y);'
expect 1 src/bvh/a.c '#pragma omp parallel'
expect 1 src/base/parallel.c '#pragma omp parallel'
expect 1 sim/grains/a.c '#include <pthread.h>'
expect 1 tools/carom/a.c 'pthread_create(&thread, NULL, run, NULL);'
expect 0 src/base/thread.c '#include <pthread.h>'
expect 0 src/math/simd.h '#include <immintrin.h>'
expect 1 src/base/world.c '// the name of another file'

plant src/world/world.c '#include "base/context.h"'
for ((i = 0; i < ${#kept[@]}; i += 2)); do plant "${kept[i]}" "${kept[i + 1]}"; done
check 0 'a tree that keeps the rules'
rm -rf "$work/tree"
plant src/world/world.c '#include "base/context.h"'
for ((i = 0; i < ${#broken[@]}; i += 2)); do plant "${broken[i]}" "${broken[i + 1]}"; done
check 1 'a tree that breaks them'
for ((i = 0; i < ${#broken[@]}; i += 2)); do
	[[ ${broken[i]} == sim/a* ]] && wanted='^sim holds files beside' || wanted="^${broken[i]}:|\./${broken[i]} "
	grep -qE "$wanted" "$work/log" && continue
	echo "${broken[i]} with '${broken[i + 1]}' passed"
	failures=$((failures + 1))
done

expect_listed 0 bvh/a.c
expect_listed 0 'bvh/a.c)'
expect_listed 1 bvh/aa.c
echo "$failures failures"
((failures == 0))
