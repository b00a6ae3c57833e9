#!/bin/bash
# The rules of the folders: who includes whom, one name for one file, where intrinsics and threads may be, all sources listed. Usage: check_arrows.sh [ROOT]
set -u
cd "${1:-$(dirname "$0")/..}" || exit 2
failures=0
complain() {
	echo "$*"
	failures=$((failures + 1))
}

# Sources of a folder, generated ones aside.
sources() {
	find "$@" -type f \( -name '*.c' -o -name '*.h' -o -name '*.cpp' \) 2>/dev/null | sort
}

# check_includes FOLDER ALLOWED...: quoted includes must begin with an allowed prefix or name a file beside the one that includes it.
check_includes() {
	local folder=$1 file line name allowed ok
	shift
	while read -r file; do
		while IFS=: read -r line name; do
			ok=no
			for allowed in "$@"; do
				[[ $name == "$allowed"* ]] && ok=yes
			done
			[[ $name != */* && -e "$(dirname "$file")/$name" ]] && ok=yes
			[[ $name == build_info.h || $name == carom_tables.h ]] && ok=yes # generated, for bench/peers and bindings/python
			[[ $folder == src/vulkan && $name == carom_*.spv.h ]] && ok=yes # generated from src/vulkan/shaders
			[[ $name == ../* || $name == */../* ]] && ok=no
			[[ $ok == yes ]] || complain "$file:$line: $folder must not include $name"
		done < <(sed -nE '/^[ \t]*#[ \t]*include[ \t]*["<](carom\/|[^>"]*"|\.\.)/{=;s/^[^"<]*["<]([^">]*)[">].*/\1/p}' "$file" | paste -d: - -)
	done < <(sources "$folder")
}

seen=()
for folder in base math geom tree mesh bvh surface frame contact; do
	seen+=("$folder/")
	check_includes "src/$folder" "${seen[@]}" carom/
done
check_includes src/world "${seen[@]}" sweep/ proximity/ world/ carom/
# What is near what, on swept scenes: the world sees it.
check_includes src/proximity base/ math/ geom/ tree/ mesh/ bvh/ surface/ frame/ sweep/ proximity/ carom/
# The laboratory sees what it stands beside; nothing sees it but by its table, frame/laboratory.h.
check_includes src/lab "${seen[@]}" sweep/ proximity/ world/ lab/ carom/
# Beside frame and contact: they see what is to its left, and neither it nor each other. The world sees swept scenes.
check_includes src/spheres base/ math/ geom/ tree/ mesh/ bvh/ vulkan/ spheres/ carom/
# Graphics devices: the base alone, and spheres see them.
check_includes src/vulkan base/ vulkan/ carom/
check_includes src/sweep base/ math/ geom/ tree/ mesh/ bvh/ sweep/ carom/
# The surroundings: simulations see the library alone and no other simulation; files are told of shapes; scenes join them all; pictures
# know no simulation. The commands stand on top.
check_includes sim/base carom/ sim/base/
for folder in shapes cloth grains rigid; do
	check_includes "sim/$folder" carom/ sim/base/ "sim/$folder/"
done
check_includes io carom/ sim/base/ sim/shapes/ io/
check_includes scene carom/ sim/ io/ scene/
check_includes view carom/ sim/base/ io/ view/
check_includes web carom/ sim/base/ io/ web/
check_includes bindings/wasm carom/ web/
check_includes bindings/lammps carom/
for folder in tools bench; do
	check_includes "$folder" carom/ sim/ io/ scene/ view/ web/ plugins/ "$folder/"
done
for folder in examples plugins; do
	check_includes "$folder" carom/ sim/shapes/ plugins/ "$folder/"
done
[[ -z $(find sim -maxdepth 1 -name '*.[ch]' 2>/dev/null) ]] || complain "sim holds files beside its folders: base, shapes, cloth, grains, rigid"
# The Python package sees the interface, the readers of mesh files, and scenes (carom.sim, a module of its own).
check_includes bindings/python carom/ io/ scene/
# Public headers stand alone.
check_includes include/carom carom/

# Shapes, cloth and grains need no package: of other headers they include those of the C library alone.
while IFS= read -r hit; do
	complain "$hit: this part is built without any package"
done < <(sources sim/base sim/shapes sim/cloth sim/grains | xargs grep -nE '#[ \t]*include[ \t]*<' /dev/null |
	grep -vE '<(assert|errno|float|inttypes|limits|math|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|time)\.h>')

# One file name, one file: a name alone says which file is meant. Public headers are named with carom/ before it.
while read -r name; do
	complain "several files are called $name: $(find . -name "$name" -type f -not -path './.git/*' -not -path './build/*' -not -path './out/*' | tr '\n' ' ')"
done < <(sources src sim io scene view web tools bench examples plugins bindings tests | sed 's:.*/::' | sort | uniq -d)

while IFS= read -r hit; do
	complain "$hit: intrinsics belong into src/math/simd.h"
done < <(sources src sim io scene view web tools plugins bindings | grep -v '^src/math/simd\.h$' |
	xargs grep -nE '(immintrin|emmintrin|xmmintrin|arm_neon)\.h|\b_mm(256|512)?_[a-z]|\bv[a-z0-9_]+q_[fsu](8|16|32|64)\(' /dev/null)
while IFS= read -r hit; do
	complain "$hit: threads and locks of the system belong into src/base/thread.c"
done < <(sources src sim io scene view web tools plugins bindings | grep -v '^src/base/thread\.[ch]$' |
	xargs grep -nE '#[ \t]*pragma[ \t]+omp|<(omp|pthread|threads)\.h>|\b_OPENMP\b|\bpthread_[a-z]|\bCreateThread\b' /dev/null)

# A source that no list names would be compiled by nobody.
for folder in src sim/base sim/shapes sim/cloth sim/grains sim/rigid io scene view web tools/carom bindings/python; do
	[[ -e $folder/CMakeLists.txt ]] || continue
	while read -r file; do
		grep -qE "^[[:space:]]+${file#"$folder"/}\)?\$" "$folder/CMakeLists.txt" || complain "$file is not listed in $folder/CMakeLists.txt"
	done < <(sources "$folder" | grep '\.c$')
done

if ((failures > 0)); then
	echo "$failures broken rules"
	exit 1
fi
echo "all includes follow the arrows"
