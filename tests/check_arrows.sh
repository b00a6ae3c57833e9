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

# may_include FOLDER PREFIX...: quoted includes in the folder begin with one of the prefixes, or name a file beside the one that
# includes it.
rules=
may_include() { rules+="$*"$'\n'; }

# check_includes: judges all files by the rules in one pass. Headers that a build generates are for bench/peers and bindings/python,
# those of shaders for src/vulkan.
check_includes() {
	awk '
	NR == FNR { folders[++count] = $1; for (i = 2; i <= NF; i++) prefixes[count, i - 1] = $i; sizes[count] = NF - 1; next }
	function is_beside(name, path) {
		path = FILENAME
		sub(/[^\/]*$/, name, path)
		return path in files
	}
	function fits(name, i) {
		if (name ~ /(^|\/)\.\.\//)
			return 0
		if (name == "build_info.h" || name == "carom_tables.h" || (folders[rule] == "src/vulkan" && name ~ /^carom_.*\.spv\.h/))
			return 1
		for (i = 1; i <= sizes[rule]; i++)
			if (index(name, prefixes[rule, i]) == 1)
				return 1
		return name !~ /\// && is_beside(name)
	}
	BEGIN { for (i = 2; i < ARGC; i++) files[ARGV[i]] }
	FNR == 1 { for (rule = count; rule > 0 && index(FILENAME, folders[rule] "/") != 1; rule--) ; }
	rule && /^[ \t]*#[ \t]*include[ \t]*(["<]carom\/|"|<\.\.)/ {
		name = $0
		sub(/^[^"<]*["<]/, "", name)
		sub(/[">].*/, "", name)
		if (!fits(name))
			print FILENAME ":" FNR ": " folders[rule] " must not include " name
	}' <(printf '%s' "$rules") "$@"
}

seen=()
for folder in base math geom tree mesh bvh surface frame; do
	seen+=("$folder/")
	may_include "src/$folder" "${seen[@]}" carom/
done
seen+=(contact/)
may_include src/contact "${seen[@]}" vulkan/ carom/
may_include src/world "${seen[@]}" sweep/ proximity/ world/ carom/
# What is near what, on swept scenes: the world sees it.
may_include src/proximity base/ math/ geom/ tree/ mesh/ bvh/ surface/ frame/ sweep/ proximity/ carom/
# The laboratory sees what it stands beside; nothing sees it but by its table, frame/laboratory.h.
may_include src/lab "${seen[@]}" sweep/ proximity/ world/ lab/ carom/
# Beside frame and contact: they see what is to its left, and neither it nor each other. The world sees swept scenes.
may_include src/spheres base/ math/ geom/ tree/ mesh/ bvh/ vulkan/ spheres/ carom/
# Graphics devices: the base alone; spheres, contact and sweeps see them.
may_include src/vulkan base/ vulkan/ carom/
may_include src/sweep base/ math/ geom/ tree/ mesh/ bvh/ vulkan/ sweep/ carom/
# The surroundings: simulations see the library alone and no other simulation; files are told of shapes; scenes join them all; pictures
# know no simulation. The commands stand on top.
may_include sim/base carom/ sim/base/
for folder in shapes cloth grains rigid; do
	may_include "sim/$folder" carom/ sim/base/ "sim/$folder/"
done
may_include io carom/ sim/base/ sim/shapes/ io/
may_include scene carom/ sim/ io/ scene/
may_include view carom/ sim/base/ io/ view/
may_include web carom/ sim/base/ io/ web/
may_include bindings/wasm carom/ web/
# LAMMPS' styles see the interface and the readers of mesh files.
may_include bindings/lammps carom/ sim/base/ io/
for folder in tools bench; do
	may_include "$folder" carom/ sim/ io/ scene/ view/ web/ plugins/ "$folder/"
done
for folder in examples plugins; do
	may_include "$folder" carom/ sim/shapes/ plugins/ "$folder/"
done
[[ -z $(find sim -maxdepth 1 -name '*.[ch]' 2>/dev/null) ]] || complain "sim holds files beside its folders: base, shapes, cloth, grains, rigid"
# The Python package sees the interface, the readers of mesh files, and scenes (carom.sim, a module of its own).
may_include bindings/python carom/ io/ scene/ bindings/foreign_absent.h
# Public headers stand alone.
may_include include/carom carom/

mapfile -t all < <(sources src sim io scene view web tools bench examples plugins bindings include/carom)
while IFS= read -r fault; do
	complain "$fault"
done < <(((${#all[@]})) && check_includes "${all[@]}")

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
	while IFS= read -r file; do
		complain "$file is not listed in $folder/CMakeLists.txt"
	done < <(sources "$folder" | grep '\.c$' | awk -v folder="$folder" '
		NR == FNR { if ($0 ~ /^[ \t]+[^ \t]+$/) { sub(/^[ \t]+/, ""); sub(/\)$/, ""); listed[$0] }; next }
		!(substr($0, length(folder) + 2) in listed)' "$folder/CMakeLists.txt" -)
done

if ((failures > 0)); then
	echo "$failures broken rules"
	exit 1
fi
echo "all includes follow the arrows"
