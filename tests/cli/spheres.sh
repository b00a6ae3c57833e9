#!/bin/bash
# carom spheres, carom make spheres, carom info of spheres: counts, pairs, hashes; what is said about bad files.
source "${CAROM_SOURCE:?names the repository}/tests/cli/common.bash" || exit

# Five spheres in a row of which each touches the next, the third and the fourth exactly; the last one is apart.
cat > row.csv << 'END'
x,y,z,r
0,0,0,0.5
0.75,0,0,0.5
1.5,0,0,0.25
2,0,0,0.25
9,0,0,0.5
END
printf '0 1\n1 2\n2 3\n' > truth.txt
expect 0 out '^row.csv: 5 spheres, 3 pairs that touch, 1.2 contacts per sphere$' spheres row.csv
grep -q '^  method ' out && grep -q '^  build .* ms$' out && grep -q '^  query .* ms$' out && grep -q '^  sort .* ms$' out ||
	fail "a line is missing: $(cat out)"
expect 0 out '"spheres":[[:space:]]*5' spheres row.csv --json --pairs pairs.txt --repeat 2
cmp pairs.txt truth.txt || fail "the pairs are wrong: $(cat pairs.txt)"
same pairs "$(field pairs out)" 3
same repeat "$(field repeat out)" 2
same checked "$(field checked out)" false
for name in build query sort total median; do
	[ -n "$(field $name out)" ] || fail "no ms.$name: $(cat out)"
done
hash=$(field hash out)
[[ $hash =~ ^[0-9a-f]{16}$ ]] || fail "the hash is no hash: $hash"

# Every method, instruction set and number of threads finds the same.
for method in auto grid levels tree rays; do
	for more in "--threads 1" "--threads 2" "--simd scalar"; do
		# shellcheck disable=SC2086
		expect 0 out '"hash"' spheres row.csv --json --repeat 1 --method $method $more --pairs pairs.txt
		same "hash of $method $more" "$(field hash out)" "$hash"
		cmp pairs.txt truth.txt || fail "$method $more finds other pairs: $(cat pairs.txt)"
		[ $method = auto ] || same "method" "$(field method out)" $method
	done
done

# Files without radii.
tail -n +2 row.csv | cut -d, -f1-3 > centres.csv
expect 1 err '^carom: error: centres.csv: line 1: has no radii: there is no column r; --radius R gives all spheres one$' spheres centres.csv
expect 0 out 'centres.csv: 5 spheres, 3 pairs' spheres centres.csv --radius 0.375
expect 0 out 'centres.csv: 5 spheres, 1 pairs' spheres centres.csv --radius 0.25
expect 0 out 'centres.csv: 5 spheres, 0 pairs' spheres centres.csv --radius 0
expect 1 err '^carom: error: row.csv: has radii of its own; leave --radius out$' spheres row.csv --radius 1
{ printf 'ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\nproperty float y\nproperty float z\nend_header\n'; tr , ' ' < centres.csv; } > centres.ply
expect 1 err '^carom: error: centres.ply: line [0-9]+: has no radii: .*; --radius R' spheres centres.ply
expect 0 out 'centres.ply: 5 spheres, 3 pairs' spheres centres.ply --radius 0.375

# A gap that floats do not see: 0.1 + 0.2 reaches 0.3 as double, not as float, and 2^-30 beyond 1 is 1.
printf '0,0,0,0.5\n1.000000000931322574615478515625,0,0,0.5\n' > gap.csv
expect 0 out 'gap.csv: 2 spheres, 1 pairs' spheres gap.csv
expect 0 out 'gap.csv: 2 spheres, 0 pairs' spheres gap.csv --double

# A budget: twenty thousand spheres at one place have 200 million pairs.
for ((i = 0; i < 20000; i++)); do echo 0,0,0,1; done > heap.csv
expect 1 err '^carom: error: heap.csv: carom_spheres_find_pairs: needs more than the memory_budget of 33554432 bytes$' \
	spheres heap.csv --memory 32 --repeat 1
expect 0 out 'row.csv: 5 spheres, 3 pairs' spheres row.csv --memory 32
expect 2 err '.--memory' spheres row.csv --memory 0

# Bad files.
expect 1 err '^carom: error: nothing.sph: cannot be opened: No such file' spheres nothing.sph
printf '1,2,3,4\n5,six,7,8\n' > words.csv
expect 1 err '^carom: error: words.csv: line 2: this is not a number: six$' spheres words.csv
printf '0,0,0,1\n1e30,0,0,1\n' > far.csv
expect 1 err '^carom: error: far.csv: .*1' spheres far.csv
: > empty.sph
expect 1 err '^carom: error: empty.sph: is empty' spheres empty.sph
expect 1 err '^carom: error: nowhere/p.txt: cannot be written' spheres row.csv --pairs nowhere/p.txt
printf 'x,y,z,r\n' > none.csv
expect 0 out '^none.csv: 0 spheres, 0 pairs that touch, 0 contacts per sphere$' spheres none.csv
expect 0 out '"contacts_per_sphere":[[:space:]]*0,' spheres none.csv --json

# Made spheres: the same words, the same bytes.
expect 0 out '^free.sph: 20000 spheres$' make spheres --free 20000 -o free.sph
expect 0 out '"spheres":[[:space:]]*20000' make spheres --free 20000 -o again.sph --json
cmp free.sph again.sph || fail "the same words give other bytes"
same "bytes of a snapshot" "$(wc -c < free.sph)" $((64 + 16 * 20000))
expect 0 out 'spheres' make spheres --free 20000 --seed 2 -o other.sph
! cmp -s free.sph other.sph || fail "the seed changes nothing"
expect 0 out '^wide.csv: 1500 spheres$' make spheres --wide 1500 --max-radius 0.06 --box 0.8 -o wide.csv
same "lines of wide.csv" "$(wc -l < wide.csv)" 1501
awk -F, 'NR > 1 && ($1 < 0 || $1 > 0.8 || $3 < 0 || $3 > 0.8 || $4 < 0.00049 || $4 > 0.0601) { exit 1 }' wide.csv || fail "wide.csv leaves its box"
expect 0 out '"kind":[[:space:]]*"spheres"' info wide.csv --json
expect 0 out '^  walls +0 0 0 to 1 1 1$' info free.sph
expect 0 out '^  radii +0.0005[0-9]* to 0.0005999[0-9]*, mean 0.000(549|550)' info free.sph

# All methods agree on spheres of many sizes too, from either format, and with a brute-force count.
expect 0 out '"hash"' spheres wide.csv --json --repeat 1
hash=$(field hash out)
same "pairs of wide.csv" "$(field pairs out)" "$(awk -F, 'BEGIN { n = 0 } NR > 1 { for (i = 0; i < n; i++) { d = ($1-x[i])^2 + ($2-y[i])^2 + ($3-z[i])^2
	if (d <= ($4+r[i])^2) pairs++ } x[n] = $1; y[n] = $2; z[n] = $3; r[n++] = $4 } END { print pairs + 0 }' wide.csv)"
for method in grid levels tree rays; do
	expect 0 out '"hash"' spheres wide.csv --json --repeat 1 --method $method
	same "hash of $method" "$(field hash out)" "$hash"
done

# A filled mesh.
expect 0 out '^body.sph: 5000 spheres, spacing 0\.[0-9]+$' make spheres lumpy --count 5000 --radius 0.005 --mix --fit 0.5 -o body.sph
expect 0 out '^  radii +0.00249999[0-9]* to 0.00499999[0-9]*, ' info body.sph
expect 0 out '"spheres":[[:space:]]*5000' info body.sph --json
awk 'BEGIN { exit !('"$(field volume_fraction out)"' < 0.5) }' || fail "the volume fraction is wrong: $(cat out)"
cube cube.obj 5
expect 0 out '^cube.csv: 1000 spheres, spacing 0.2$' make spheres cube.obj --radius 0.09 -o cube.csv
awk -F, 'NR > 1 && ($1 <= 4 || $1 >= 6 || $2 <= -1 || $2 >= 1 || $3 <= -1 || $3 >= 1) { exit 1 }' cube.csv || fail "a sphere is outside the cube"
expect 0 out '^cube.csv: 1000 spheres, 0 pairs' spheres cube.csv
expect 0 out '^box.csv: 1000 spheres, spacing 0.1$' make spheres cube.obj --radius 0.045 --fit 1 --jitter 0.1 -o box.csv
expect 0 out '^t.sph: 64 spheres' make spheres torus --triangles 600 -n 64 -o t.sph

# The oracle: every pair of spheres without grid or tree. A difference would be an error.
expect 0 out '^  oracle +every pair of spheres: the same 0$' spheres cube.csv --oracle --repeat 1
for method in grid levels tree rays; do
	expect 0 out '"oracle"' spheres wide.csv --oracle --json --repeat 1 --method $method
	same "what the oracle finds, $method" "$(field found out) $(field missed out) $(field invented out)" "$(field pairs out) 0 0"
done

# The header knows its pairs: a snapshot whose pairs are others is an error. Byte 40 holds the number, 48 the hash.
put() { printf "$(printf '\\x%s' "${@:3}")" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
expect 0 out '^wide.sph: 1500 spheres$' make spheres --wide 1500 --max-radius 0.06 --box 0.8 -o wide.sph
expect 0 out '"hash"' spheres wide.sph --json --repeat 1
same "hash of the snapshot and of the CSV file" "$(field hash out)" "$hash"
pairs=$(printf %016x "$(field pairs out)")
[ "$(field checked out)" = false ] || fail "nothing to check was checked"
bytes() { sed 's/../& /g' <<< "$1" | tr ' ' '\n' | grep . | tac; }
cp wide.sph known.sph
# shellcheck disable=SC2046
put known.sph 40 $(bytes "$pairs") $(bytes "$hash")
expect 0 out '"checked":[[:space:]]*true' spheres known.sph --json --repeat 1
expect 0 out "^  hash +$hash, as its header has it$" spheres known.sph --repeat 1
expect 0 out "^  pairs +[0-9]+ that touch, hash $hash$" info known.sph
put known.sph 40 ff
expect 1 err '^carom: error: known.sph: its header gives [0-9]+ pairs with hash [0-9a-f]{16}, but [0-9]+ pairs with hash [0-9a-f]{16} were found' spheres known.sph --pairs no.txt
[ ! -e no.txt ] || fail "pairs of the wrong spheres were written"
cp wide.sph known.sph
# shellcheck disable=SC2046
put known.sph 40 $(bytes "$pairs") 01 02 03 04 05 06 07 08
expect 1 err '^carom: error: known.sph: its header gives [0-9]+ pairs with hash 0807060504030201, but ' spheres known.sph --json
head -c 1000 free.sph > cut.sph
expect 1 err '^carom: error: cut.sph: ends too early, in sphere 58 of 20000$' spheres cut.sph
expect 1 err '^carom: error: cut.sph: ends too early, in sphere 58 of 20000$' info cut.sph
expect 0 out '^centres.ply: 5 spheres$' info centres.ply
expect 0 out '^  radii +none$' info centres.csv

# Wrong use.
expect 2 err '--method fast: must be one of auto, grid, levels, tree, rays' spheres row.csv --method fast
expect 2 err '--repeat 0: must be from 1' spheres row.csv --repeat 0
expect 2 err 'give one of MESH, --free N and --wide N' make spheres -o x.sph
expect 2 err 'give one of MESH, --free N and --wide N' make spheres lumpy --free 10 -o x.sph
expect 2 err '-o FILE is missing' make spheres --free 10
expect 2 err '--radius R or --count N is missing' make spheres lumpy -o x.sph
expect 2 err 'need a MESH' make spheres --free 10 --mix -o x.sph
expect 2 err 'need --wide N' make spheres --free 10 --box 2 -o x.sph
expect 2 err 'so --triangles has no meaning' make spheres cube.obj --triangles 900 -n 5 -o x.sph
expect 2 err '`spheres` must be the first word' make -n 902 spheres -o x.sph
expect 0 out '^carom make spheres MESH' make spheres --help
awk 'length > 132 { exit 1 }' out || fail "make spheres --help has lines over 132 columns"
expect 1 err '^carom: error: x.obj: no format of spheres has this extension; use .sph or .csv' make spheres --free 10 -o x.obj
expect 1 err '^carom: error: absent.obj: cannot be opened' make spheres absent.obj -n 5 -o x.sph
grep -v '^f 5' cube.obj > open.obj
expect 1 err '^carom: error: open.obj: is not closed, so it has no inside to fill' make spheres open.obj -n 5 -o x.sph
[ ! -e x.sph ] || fail "a failure wrote x.sph"

# Snapshots whose pairs are known, by every method. A header with 0 for both does not check: the number is compared here.
if [ -n "${CAROM_DATA:-}" ] && [ -d "$CAROM_DATA/spheres" ]; then
	while read -r name pairs; do
		[ -z "${CAROM_SANITIZED-}" ] || [ "$name" = dense_100k ] || [ "$name" = bunny_half ] || continue
		for method in auto grid levels tree rays; do
			expect 0 out '"pairs"' spheres "$CAROM_DATA/spheres/$name.sph" --json --repeat 1 --method $method
			same "pairs of $name by $method" "$(field pairs out)" "$pairs"
			[ "$pairs" = 0 ] || same "check of $name" "$(field checked out)" true
		done
		expect 0 out '"walls"' info "$CAROM_DATA/spheres/$name.sph" --json
	done << 'END'
dense_100k 305867
dense_1m 3086736
floor_250k 478197
bunny_mix 289971
bunny_half 0
END
fi
