#!/bin/bash
# check_style.sh must find each kind of fault: a check that passes everything would be worth nothing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# repeat COUNT LINE
repeat() {
	local i
	for ((i = 0; i < $1; i++)); do printf '%s\n' "$2"; done
}

# function_of LINES: one of so many.
function_of() {
	printf 'int f(void)\n{\n'
	repeat "$1" '	g();'
	printf '}\n'
}

# page BLOCKS: of a guide, without faults where there are 60 blocks.
page() {
	printf '# A page\n\nWords about 1 thing, and about nothing else, for as long as it takes to be many words; and that is now, or then.\nA second line has none, but goes on with some more words for as long as the first.\n\n'
	repeat "$1" $'```c\n1 2 3 4 5 6 7 8 9\n```'
}

# plant FOLDER FILE TEXT: a file of the tree in this folder.
plant() {
	mkdir -p "$work/$1/${2%/*}"
	printf '%s\n' "$3" >"$work/$1/$2"
}

# check FOLDER [WORDS...]: the check finds a fault for each of these words in this tree, and no others, and says the words.
check() {
	local folder=$work/$1 count=$(($# - 1)) status said words wrong=""
	shift
	said=$("$here/check_style.sh" "$folder" 2>&1)
	status=$?
	((status == (count > 0))) || wrong="exit status $status"
	[[ $count == 0 || $said == *"$count faults of style" ]] || wrong="not $count faults"
	for words in "$@"; do
		[[ $said == *"$words"* ]] || wrong="'$words' is not said"
	done
	rm -rf "$folder"
	[[ -n $wrong ]] || return 0
	echo "$wrong, where $count faults were expected: $*"
	echo "$said"
	failures=$((failures + 1))
}

number=0
faults=()
# expect STATUS FILE TEXT [WORDS]: a file gives this exit status, and the check says these words. The check starts many processes, so files
# share a tree while their names differ: those without faults one, those with a fault each another. The check tells how many faults it found.
expect() {
	local file=$2 words=${4:-} tree=clean name
	(($1)) && tree=faulty
	[[ $file == */* ]] || file=./$file
	name=${file/\/a.[ch]/\/a$number.${file##*.}}
	number=$((number + 1))
	words=${words/"$file"/"$name"}
	[[ ! -e $work/$tree/$name ]] || check_$tree
	plant $tree "$name" "$3"
	(($1 == 0)) || faults+=("$words")
}

# expect_alone STATUS FILE TEXT WORDS: likewise, of a fault that depends on the whole tree.
expect_alone() {
	check_faulty
	expect "$@"
	check_faulty
}

# The files so far, with faults and without.
check_faulty() {
	((${#faults[@]} == 0)) || check faulty "${faults[@]}"
	faults=()
}
check_clean() { check clean; }

short=$(repeat 10 'int h(void) { return 1; }')
expect 0 src/base/a.c "$(function_of 25)"
expect 0 src/base/a.c "$(function_of 60)
$short"
expect 1 src/base/a.c "$(function_of 61)
$short" 'src/base/a.c:2: a function of 61 lines'
expect 1 scene/a.c "$(function_of 61)
$short" 'scene/a.c:2: a function of 61 lines'
expect 1 tools/carom/a.c "$(function_of 61)
$short" 'tools/carom/a.c:2: a function of 61 lines'
expect 1 tests/a.c "$(function_of 61)" 'tests/a.c:2: a helper of 61 lines'
expect 0 tests/a.c "$(printf 'TEST(a, b)\n'; function_of 61 | tail -n +2)"
world_def() {
	printf 'typedef struct carom_world_def {\n\tint cookie; ///< do not touch\n'
	repeat "$1" '	double d; ///< one; and no more'
	printf '} carom_world_def;\ntypedef struct other {\n\tint a;\n} other;\n'
}
expect 0 include/carom/world.h "$(world_def 14)"
expect 1 include/carom/world.h "$(world_def 16)" 'carom_world_def has 16 settings; at most 15'
expect 1 tests/a.c 'extern int table[];' 'tests/a.c:1:extern int table[];: a declaration'
expect 0 tests/a.h 'extern int table[];'
expect_alone 1 tools/carom/a.c "$(function_of 26)" 'tools: 1 of 1 functions have more than 25 lines'
expect 0 src/base/a.c "$(printf 'static const int numbers[] = {\n'; repeat 70 '	1,'; echo '};')"
expect 1 src/base/a.h '/// The same, for floats.' 'src/base/a.h:1:/// The same'
expect 1 sim/a.c '	// The rest of them.' 'sim/a.c:1:// The rest'
expect 1 include/carom/a.h '	int a; ///< The same for b.' 'include/carom/a.h:1:///< The same'
expect 0 src/base/a.h '/// Boxes of the same size.'
expect 0 src/base/a.h "/// $(repeat 24 'word' | tr '\n' ' ' | head -c 96)"
expect 1 src/base/a.h "	/// $(repeat 24 'word' | tr '\n' ' ' | head -c 93)" 'src/base/a.h:1: a comment that ends in column 101; at most 100'
expect 1 sim/a.c "	int a; // $(repeat 24 'word' | tr '\n' ' ' | head -c 91)" 'sim/a.c:1: a comment that ends in column 105; at most 100'
expect 0 src/base/a.h "$(repeat 1999 '/// word')
/// what"
expect_alone 1 src/base/a.h "$(repeat 1998 '/// word')
/// what" 'include, src: "what" in comments: 1 in 1999 words'
expect 0 src/base/a.h "$(printf 'int what(int what); // %s' word)"
expect 0 README.md "$(repeat 90 line)"
expect 1 README.md "$(repeat 91 line)" 'README.md: 91 lines; at most 90'
expect 1 src/bvh/a.c 'typedef struct box {' 'src/bvh/a.c:1:'
expect 1 src/bvh/a.c '} box;' 'src/bvh/a.c:1:'
expect 0 src/math/a.h '} box3f;'
corners=$'\tdouble lower[3], upper[3]; // closed\n} hull;'
expect 1 src/geom/a.c "typedef struct hull {
$corners" 'src/geom/a.c:1: hull: boxes have one type'
expect 1 src/geom/a.c $'typedef struct hull {\n\tfloat min[3];\n\tfloat max[3];\n} hull;' 'src/geom/a.c:1: hull: boxes have one type'
expect 0 src/geom/a.c $'typedef struct hull {\n\tfloat min[3], max[3];\n\tint part;\n} hull;'
expect 0 src/math/box3.h "typedef struct hull {
$corners"
expect 1 src/bvh/a.c '	right_cost[i] = area * count;' 'src/bvh/a.c:1:	right_cost[i] = area * count;: a second binner'
expect 1 src/sweep/a.c '	grow(&row->bounds[bin], box);' ': a second binner'
expect 1 src/sweep/a.c 'enum { SAH_BINS = 12 };' 'src/sweep/a.c: bins of the surface area heuristic without tree/split.h'
expect 0 src/sweep/a.c 'enum { SPLIT_BINS = 12 };
#include "tree/split.h"'
expect 0 src/tree/split.h '	row->bounds[bin] = split_join(box, row->bounds[bin]);'
expect 1 src/geom/a.c '#include "carom/carom.h"' 'src/geom/a.c:1: carom.h below the world'
expect 0 src/world/a.c '#include "carom/carom.h"'
list=$'\tint *rows;\n} a;'
expect 1 src/frame/frame.h "typedef struct cr_frame {
$list" 'src/frame/frame.h:2: a pointer in a list of the frame'
expect 0 src/frame/frame.h "typedef struct cr_walks {
$list"
expect 0 docs/guide/a.md "$(page 60)"
expect 1 docs/guide/a.md "$(page 59)" 'docs/guide: 59 blocks of C'
expect 1 docs/guide/a.md "$(page 60)
Steps of 0.1 s." 'docs/guide/a.md: 2 numbers in'
expect 0 docs/guide/a.md "$(page 60)
$(repeat 120 word)"
expect 1 docs/guide/a.md "$(page 60)
$(repeat 121 word)" 'a paragraph of more than 120 words'
expect 0 docs/guide/a.md "$(page 60)
$(repeat 61 'two words' | sed '30s/.*//')"
expect 1 io/a.h 'int sim_read(void);' 'sim_read: a name of sim/ that is not there'
expect 0 sim/base/a.h 'int sim_read(void);'
check_faulty
check_clean
echo "$failures failures"
((failures == 0))
