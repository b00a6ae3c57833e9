#!/bin/bash
# check_arrows.sh must find each kind of breach: a check that passes everything would be worth nothing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# expect STATUS FILE LINE [LISTS]: a tree that holds only this file gives this exit status; LISTS goes into src/CMakeLists.txt.
expect() {
	local wanted=$1 file=$2 line=$3 lists=${4:-} status
	rm -rf "$work/tree"
	mkdir -p "$work/tree/src/world" "$work/tree/$(dirname "$file")"
	echo '#include "base/context.h"' >"$work/tree/src/world/world.c"
	printf '%s\n' "$line" >>"$work/tree/$file"
	[[ -z $lists ]] || printf '\t%s\n' world/world.c "$lists" >"$work/tree/src/CMakeLists.txt"
	"$here/check_arrows.sh" "$work/tree" >"$work/log" 2>&1
	status=$?
	if ((status != wanted)); then
		echo "$file with '$line': exit status $status, expected $wanted"
		cat "$work/log"
		failures=$((failures + 1))
	fi
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
expect 1 src/base/world.c '// the name of another file'
expect 1 src/bvh/a.c '#include <immintrin.h>'
expect 1 src/bvh/a.c 'x = _mm256_add_ps(x, y);'
expect 1 src/bvh/a.c 'x = vaddq_f32(x, y);'
expect 1 src/bvh/a.c '#pragma omp parallel'
expect 1 src/base/parallel.c '#pragma omp parallel'
expect 1 sim/grains/a.c '#include <pthread.h>'
expect 1 tools/carom/a.c 'pthread_create(&thread, NULL, run, NULL);'
expect 0 src/base/thread.c '#include <pthread.h>'
expect 0 src/math/simd.h '#include <immintrin.h>'
expect 0 src/bvh/a.c '// listed' bvh/a.c
expect 0 src/bvh/a.c '// listed last' 'bvh/a.c)'
expect 1 src/bvh/a.c '// not listed' bvh/aa.c
echo "$failures failures"
((failures == 0))
