#!/bin/bash
# The public functions, three times: as the headers declare them, as the built library defines them, and as debian/*.symbols promises them to
# programs that are there already. What is promised must be in the library. Usage: check_symbols.sh NM LIBRARY SOURCE_FOLDER
set -u
nm=$1 library=$2 source=$3 faults=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# carom_NAME( behind CAROM_API, where a declaration may begin on the line before; the laboratory is not in the library.
for header in "$source"/include/carom/*.h; do
	[[ ${header##*/} == lab.h ]] || sed -n '/^CAROM_API/,/;/p' "$header"
done | tr '\n' ' ' | sed 's/CAROM_API/\n/g' | sed -nE 's/^[^(]*[ *](carom_[a-z0-9_]+)\(.*/\1/p' | sort >"$work/declared"
case $library in
*.a) "$nm" -g --defined-only "$library" ;;
*) "$nm" -D --defined-only "$library" ;;
esac | sed -nE 's/^[0-9a-f]+ [TW] (carom_[a-z0-9_]+)(@.*)?$/\1/p' | sort >"$work/defined"
sed -nE 's/^ (carom_[a-z0-9_]+)@.*/\1/p' "$source"/debian/*.symbols | sort >"$work/promised"

# tell WORDS FILE: the names of the file, if there are any, are a fault.
tell() {
	[[ -s $2 ]] || return 0
	echo "$1:" $(<"$2")
	faults=1
}
for list in declared defined promised; do
	[[ $(wc -l <"$work/$list") -gt 100 ]] || { echo "only $(wc -l <"$work/$list") names are $list"; exit 1; }
	uniq -d "$work/$list" >"$work/twice"
	tell "twice among those that are $list" "$work/twice"
done
comm -23 "$work/declared" "$work/defined" >"$work/undefined"
comm -13 "$work/declared" "$work/defined" >"$work/undeclared"
comm -23 "$work/promised" "$work/defined" >"$work/gone"
tell "declared in include/carom, and not in $library" "$work/undefined"
tell "in $library, and not declared in include/carom" "$work/undeclared"
tell "promised by debian/*.symbols, and gone: programs that call them no longer start" "$work/gone"
comm -13 "$work/promised" "$work/defined" >"$work/new"
[[ ! -s $work/new ]] || echo "new since the list was written (add them with the version of the release):" $(<"$work/new")
echo "$(wc -l <"$work/promised") promised names, $(wc -l <"$work/defined") defined"
exit $faults
