#!/bin/bash
# Install a build and use it from outside, by find_package and by pkg-config. What comes with it: the licence and the documents, and no
# global name that is not public (where internal names are hidden).
# Usage: check_install.sh CMAKE BUILD_FOLDER CC C_FLAGS SOURCE_FOLDER GENERATOR NM NAMES_ARE_HIDDEN
set -eu
cmake=$1
build=$2
cc=$3
read -ra flags <<<"$4"
consumer=$5/examples/consumer
nm=$7
hidden=$8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "$*"
	exit 1
}

"$cmake" --install "$build" --prefix "$work/usr" >"$work/install.log"
if [[ -x $build/tools/carom/carom ]]; then
	"$work/usr/bin/carom" --version
	"$work/usr/bin/carom" info "$work/install.log" >"$work/info.out" 2>&1 && fail "a log is read as a mesh"
	grep -q 'cannot be read as a mesh: No suitable reader' "$work/info.out" || fail "assimp is not found: $(<"$work/info.out")"
	if [[ -d $build/tools/carom/manual ]]; then
		for file in man/man1/carom.1 man/man1/carom-run.1 bash-completion/completions/carom zsh/site-functions/_carom \
			fish/vendor_completions.d/carom.fish; do
			[[ -s $work/usr/share/$file ]] || fail "share/$file was not installed"
		done
	fi
fi
for program in carom_lammps carom_lmp; do
	if [[ -x $build/bindings/lammps/$program ]]; then
		[[ -x $work/usr/bin/$program ]] || fail "bin/$program was not installed"
		[[ -n $(find "$work/usr" -path '*/carom/caromplugin.so') ]] || fail "caromplugin.so was not installed"
	fi
done
if [[ -e $build/tools/carom/carom.wasm ]]; then
	cmp "$build/tools/carom/carom.wasm" "$work/usr/share/carom/carom.wasm" || fail "share/carom/carom.wasm was not installed"
fi

# The documents keep their places, so that links from one to another lead somewhere.
licence=$(find "$work/usr" -name LICENSE)
cmp "$licence" "$5/LICENSE"
while read -r file; do
	cmp "$5/$file" "${licence%/*}/$file" || fail "$file is not beside the licence"
done < <(cd "$5" && find CHANGELOG.md CONTRIBUTING.md docs -type f)
diff <(sed 's/](include[^)]*)/](include)/' "$5/README.md") <(sed 's/]([^)]*include[^)]*)/](include)/' "${licence%/*}/README.md")
"${0%/*}/check_docs.sh" "${licence%/*}" links

# Global names of the library, those that it defines.
library=$(find "$work/usr" -name 'libcarom.a' -o -name 'libcarom.so')
case $library in
*.so) names=$("$nm" -D --defined-only "$library" | sed 's/@.*//') ;; # names carry the version
*.a) names=$("$nm" -g --defined-only "$library") ;;
*) fail "no library was installed" ;;
esac
grep -q ' T carom_world_step$' <<<"$names" || fail "$library does not define carom_world_step"

# Nothing of src/lab: no name that its objects define is in the library, be it hidden.
of_lab=$(find "$build/src" -path '*carom_lab*' -name '*.o*' -exec "$nm" -g --defined-only {} + | sed -nE 's/^[0-9a-f]+ [A-Za-z] //p' | sort -u)
all=$("$nm" "$library" | sed -nE 's/^[0-9a-f ]+ [A-Za-z] //p' | sort -u)
grep -q '^cr_sweep_methods$' <<<"$of_lab" || fail "the objects of the laboratory are not where they were looked for"
grep -q '^cr_get_sweep_kernels$' <<<"$all" || fail "$library does not tell its internal names"
both=$(comm -12 <(echo "$of_lab") <(echo "$all"))
[[ -z $both ]] || fail "$library holds the laboratory:" $both
[[ -z $(find "$work/usr" -name lab.h) ]] || fail "lab.h was installed"
others=$(sed -nE 's/^[0-9a-f]+ [A-Za-z] //p' <<<"$names" | grep -vE '^carom_|^CAROM_[0-9.]+$' || true)
if [[ -n $others && $hidden == ON ]]; then
	fail "$library shows $(wc -l <<<"$others") names that are not public:" $others
fi

"$cmake" -G "$6" -S "$consumer" -B "$work/found" -DCMAKE_PREFIX_PATH="$work/usr" \
	-DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="$4" >"$work/configure.log"
"$cmake" --build "$work/found" >"$work/build.log"
"$work/found/consumer"

config=$(find "$work/usr" -name carom.pc)
export PKG_CONFIG_PATH=${config%/*}
read -ra from_pkg_config < <(pkg-config --cflags --libs carom)
"$cc" "${flags[@]}" -std=c17 "$consumer/consumer.c" -o "$work/packaged" "${from_pkg_config[@]}"
LD_LIBRARY_PATH=${config%/pkgconfig/*} "$work/packaged"
echo "installed, found and run; $(wc -l <<<"$names") global names"
