#!/bin/bash
# carom replay: a motion made here, whose contacts are known, a recording of carom run, and damaged files.
source "${CAROM_SOURCE:?names the repository}/tests/cli/common.bash" || exit

cube cube.obj 0

# motion FILE FRAMES: three cubes in a row above a floor that lies at y = -1. The first and the second one overlap by 0.1 once
# the second one, turned by 45 degrees about y, has moved to the left; the third one sinks 0.01 deeper into the floor each
# frame.
motion() {
	perl -e '
		my $frames = shift;
		print pack("a8 V4 f<13", "RBTRAJ1", 1, 128, 3, $frames, 1/60, 0, -9.81, 0, 0, 1, 0, -1);
	' "$2" | head -c 56 > "$1"
	perl -e '
		my $frames = shift;
		print pack("V2 f<4 V4 a32", 8, 12, 1, 0, 0.5, 0, 0, 0, 0, 0, "cube.obj");
		for my $k (0 .. $frames - 1) {
			print pack("f<7", 0, 5, 0, 0, 0, 0, 1);
			print pack("f<7", $k < 4 ? 9 : 2.3142135623730951, 5.3, 0, 0, sin(3.14159265358979 / 8), 0, cos(3.14159265358979 / 8));
			print pack("f<7", 20, -0.01 * $k, 0, 0, 0, 0, 1);
		}
	' "$2" >> "$1"
}
motion plain.rbt 20
gzip -c plain.rbt > moved.rbt.gz

expect 0 out '^colliding pairs|colliding pairs +0\.8' replay moved.rbt.gz --mesh cube.obj
expect 0 out '"hash"' replay moved.rbt.gz --mesh cube.obj --json --pairs pairs.txt --contacts contacts.txt
same steps "$(field steps out)" 20
same bodies "$(field bodies out)" 3
same colliding_pairs "$(field colliding_pairs out)" 0.8
same "pair lines" "$(cat pairs.txt)" "$(seq -f '%g 0 1' 4 19)"
for name in total trees pair vertex ray complete merge min median full iterative predictive lost recast missed contacts pairs \
	pairs_full pairs_iterative pairs_apart vertices_watched walk_steps backtracks; do
	[ -n "$(field $name out)" ] || fail "no field $name: $(cat out)"
done
awk '$1 < 4 || NF != 12 || !($2 == 0 && $3 == 1 || $2 == 1 && $3 == 0) { exit 1 }
	{ out = $9 * $12 * ($2 == 0 ? -1 : 1); if (out < 0.0999 || out > 0.1001) exit 1 }' contacts.txt ||
	fail "contacts.txt has a wrong line: $(head -n 3 contacts.txt)"
hash=$(field hash out)

# The same answer for other ways of getting it, and from a file that is not gzipped.
for way in "--threads 1" "--threads 3" "--simd scalar" "--broad brute" "--broad sweep" "--broad tree" "--rays binary" "--rays basic" "--grid 0"; do
	expect 0 out '"hash"' replay plain.rbt --mesh cube.obj --json $way
	same "hash with $way" "$(field hash out)" "$hash"
done

# Ways that may take another path but find the same: laid out otherwise, in groups, with room predicted and made.
for way in "--naive" "--groups 2" "--groups 16 --threads 3" "--buffers backtrack --predictor last" "--confidence 1.5 --buffers backtrack" "--warm-up 0"; do
	expect 0 out '"hash"' replay plain.rbt --mesh cube.obj --json $way
	same "hash with $way" "$(field hash out)" "$hash"
done
expect 0 out '"new_pairs"' replay plain.rbt --mesh cube.obj --json --groups 2
expect 0 out 'group 1 ' replay plain.rbt --mesh cube.obj --groups 2

# Nothing taken over: every pair is done in full, and the full world finds the same. The other world must lose no pair.
expect 0 out '"hash"' replay plain.rbt --mesh cube.obj --json --temporal none --against-full
for name in iterative pairs_iterative pairs_apart vertices_watched walk_steps missing extra pairs_missing pairs_extra deepest_missing \
	missing_last_step extra_last_step deepest_missing_last_step iterative_steps_since_full; do
	same "$name with --temporal none" "$(field $name out)" 0
done
same "colliding pairs of the full world" "$(sed -n '/against_full/,$p' out | field pairs /dev/stdin)" 16
expect 0 out '"against_full"' replay plain.rbt --mesh cube.obj --ground --json --temporal iterative --against-full
same "pairs missing" "$(field pairs_missing out)" 0
same "missing contacts of a pair at rest" "$(field missing_last_step out)" 0
expect 0 out 'last step .* of [1-9][0-9]* contacts missing' replay plain.rbt --mesh cube.obj --temporal iterative --against-full
# What one world found, less what is extra, is what the other found, less what is missing.
expect 0 out '"hash"' replay plain.rbt --mesh cube.obj --json --against-full --contacts contacts.txt
same "contacts of both worlds" "$(awk -v full="$(sed -n '/against_full/,$p' out | field contacts /dev/stdin)" \
	-v missing="$(field missing out)" -v extra="$(field extra out)" 'END { print NR - full + missing - extra }' contacts.txt)" 0

# All settings at once, and those that are wrong.
expect 0 out '"hash"' replay plain.rbt -m cube.obj --json --temporal iterative --drop-lost --max-walk 7 --threshold 0.01 \
	--extension 0.005 --normal triangle --edge-angle 10 --naive --buffers ignore --predictor last --confidence 1.1 --groups 3
expect 2 err 'temporal sometimes: must be one of none, iterative' replay plain.rbt -m cube.obj --temporal sometimes
expect 2 err 'max-walk 0: must be from 1 to 65536' replay plain.rbt -m cube.obj --max-walk 0
expect 2 err 'threshold -1: must be from 0' replay plain.rbt -m cube.obj --threshold -1
expect 2 err 'extension nan: not a number' replay plain.rbt -m cube.obj --extension nan
expect 2 err 'threshold 0.02 is more than --extension 0.01: a vertex' replay plain.rbt -m cube.obj --threshold 0.02 --extension 0.01
expect 2 err 'normal up: must be one of ray, triangle' replay plain.rbt -m cube.obj --normal up
expect 2 err 'edge-angle 181: must be from 0 to 180' replay plain.rbt -m cube.obj --edge-angle 181
expect 2 err 'buffers big: must be one of exact, ignore, backtrack' replay plain.rbt -m cube.obj --buffers big
expect 2 err 'predictor all: must be one of pairs, last' replay plain.rbt -m cube.obj --predictor all
expect 2 err 'confidence 0.5: must be from 1' replay plain.rbt -m cube.obj --confidence 0.5
expect 2 err 'groups 17: must be from 0 to 16' replay plain.rbt -m cube.obj --groups 17
expect 2 err 'against-full compares all contacts: leave --max-contacts out' replay plain.rbt -m cube.obj --against-full --max-contacts 4
expect 2 err 'all contacts: leave --max-body-contacts out' replay plain.rbt -m cube.obj --against-full --max-body-contacts 4
expect 2 err 'max-body-contacts' replay plain.rbt -m cube.obj --max-body-contacts 257

# The ground: body -1, first in its pair; contacts move the cube out of it, upward. Ten steps warm up, and are not counted.
expect 0 out '"hash"' replay moved.rbt.gz -m cube.obj -g -s 15:17 --json --pairs pairs.txt --contacts contacts.txt
same "pair lines with the ground" "$(tr '\n' ';' < pairs.txt)" "15 -1 2;15 0 1;16 -1 2;16 0 1;"
same steps "$(field steps out)" 2
awk '$3 == -1 && $2 == 2 { n++; d = 0.01 * $1; if ($10 < 0.999 || $12 < d - 1e-5 || $12 > d + 1e-5) exit 1 } END { exit !(n >= 8) }' contacts.txt ||
	fail "the ground's contacts are wrong: $(cat contacts.txt)"

# Wrong use, bad input.
expect 2 err 'moved.rbt.gz needs the mesh of its bodies: --mesh FILE with the 8 vertices and 12 triangles of cube.obj' replay moved.rbt.gz
expect 1 err '^carom: error: nothing.rbt.gz: cannot be opened' replay nothing.rbt.gz --mesh cube.obj
expect 1 err '^carom: error: nothing.obj: cannot be opened' replay moved.rbt.gz --mesh nothing.obj
# Rounding to float that moves a vertex is said; what no one feels is not.
awk '/^v/ { $2 = $2 + 100000 ".3" } { print }' cube.obj > moved.obj
expect 0 err '^carom: warning: moved.obj: coordinates rounded to float by up to 0\.00[0-9]*, beside a size of ' replay moved.rbt.gz --mesh moved.obj
awk '/^v/ { $2 *= 0.7; $3 *= 0.7; $4 *= 0.7 } { print }' cube.obj > sevenths.obj
expect 0 out '"hash"' replay moved.rbt.gz --mesh sevenths.obj --json
[ ! -s err ] || fail "a warning of what floats hold well: $(cat err)"
expect 0 out 'rounded to float' replay --help
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n' > tetrahedron.obj
expect 1 err '^carom: error: tetrahedron.obj: has 4 vertices and 4 triangles, but the bodies of moved.rbt.gz have 8 and 12' \
	replay moved.rbt.gz --mesh tetrahedron.obj
expect 1 err '^carom: error: moved.rbt.gz: holds 20 steps, 0 to 19; choose --steps A:B within 0:20' replay moved.rbt.gz -m cube.obj -s 5:21
expect 1 err '^carom: error: cube.obj: is not a recorded motion' replay cube.obj
head -c 900 plain.rbt > short.rbt
expect 1 err '^carom: error: short.rbt: is damaged in frame 9 of 20: the file ends too early' replay short.rbt -m cube.obj
head -c 150 moved.rbt.gz > short.rbt.gz
expect 1 err '^carom: error: short.rbt.gz: is damaged in frame' replay short.rbt.gz -m cube.obj
expect 1 err '^carom: error: nowhere/pairs.txt: cannot be written' replay moved.rbt.gz -m cube.obj --pairs nowhere/pairs.txt

# Library calls: recorded, repeated with the same results, and found out when damaged.
expect 0 out '"hash"' replay moved.rbt.gz -m cube.obj -g --json --record calls.rec
expect 0 out 'calls.rec: 20 steps of library calls, all with the recorded results, hash ' replay calls.rec
expect 0 out '"hash"' replay calls.rec --json --threads 2
same steps "$(field steps out)" 20
expect 0 out 'a recording of library calls' info calls.rec
expect 0 out '"kind":[[:space:]]*"calls"' info calls.rec --json
expect 2 err 'do not apply' replay calls.rec --mesh cube.obj
expect 2 err 'do not apply' replay calls.rec --against-full
{ head -c 2000 calls.rec; printf '\252'; tail -c +2002 calls.rec; } > damaged.rec
! cmp -s calls.rec damaged.rec || fail "the damage changed nothing"
expect 1 err '^carom: error: damaged.rec: ' replay damaged.rec
head -c 3000 calls.rec > short.rec
expect 1 err '^carom: error: short.rec: ' replay short.rec

# A failure half way leaves the old list alone.
if [ -w /dev/full ]; then
	echo old > kept.txt
	ln -s /dev/full kept.txt.part
	expect 1 err '^carom: error: kept.txt: cannot be written: No space left' replay moved.rbt.gz -m cube.obj --pairs kept.txt
	same "kept.txt" "$(cat kept.txt)" old
fi

# A recording of carom run brings its meshes along; detection finds what the run found.
cat > scene.json << 'END'
{
	"steps": 40,
	"meshes": { "ring": { "shape": "torus", "triangles": 600, "fit": [1, 1, 1], "centre": true } },
	"bodies": {
		"planes": [{}],
		"grids": [{ "shape": "mesh", "mesh": "ring", "count": [2, 2, 2], "position": [0, 0.4, 0], "spacing": [1.1, 0.6, 1.1] }]
	}
}
END
expect 0 out '"hash"' run scene.json --out out.d --no-picture --json
expect 0 out '"colliding_pairs"' replay out.d/recording.h5 --json --steps 30:40
awk "BEGIN { exit !($(field colliding_pairs out) > 0) }" || fail "the recording has no collisions: $(cat out)"
expect 2 err 'holds its own meshes and ground' replay out.d/recording.h5 --mesh cube.obj
# Bodies are counted as the run counted them: the plane is another one.
expect 0 out '"other_bodies":[[:space:]]*1,' replay out.d/recording.h5 --json --steps 0:1
same "bodies of the replay" "$(field bodies out)" "$(field bodies out.d/summary.json)"
expect 0 out 'moving bodies: 8, others: 1' replay out.d/recording.h5 --steps 0:1
expect 0 out 'moving bodies: 8, others: 1, frames: 40' info out.d/recording.h5
expect 0 out '"bodies":[[:space:]]*8,' info out.d/recording.h5 --json
same "other bodies" "$(field other_bodies out)" 1
# Bodies of several parts, which a source adds: detection finds what the run found between the parts, and each body counts once.
cat > parts.json << 'END'
{
	"steps": 60,
	"bodies": {
		"detection": { "temporal": "none" },
		"planes": [{}],
		"sources": [{ "count": 8, "rate": 10, "position": [0, 1, 0], "jitter": { "degrees": 180, "shift": 0.4 }, "parts": [
			{ "shape": "box", "half_extents": [0.4, 0.12, 0.12], "position": [0.28, 0, 0] },
			{ "shape": "sphere", "radius": 0.3, "position": [0, 0.4, 0] } ] }]
	}
}
END
expect 0 out '"hash"' run parts.json --out parts.d --contacts --json
deepest=$(field deepest_penetration out)
expect 0 out 'moving bodies: 8, others: 1, frames: 60' info parts.d/recording.h5
expect 0 out '"contacts"' info parts.d/recording.h5 --json
recorded=$(field contacts out)
[ "$recorded" -gt 100 ] || fail "few contacts of parts: $(cat out)"
expect 0 out '"deepest"' replay parts.d/recording.h5 --json
same "bodies of parts" "$(field bodies out)" 8
same "the deepest contact of parts" "$(field deepest out)" "$deepest"
same "contacts of parts" "$(awk "BEGIN { printf \"%.6g\", $(field contacts out) * 60 }")" "$recorded"
all=$(field contacts out)
expect 0 out '"contacts"' replay parts.d/recording.h5 --max-body-contacts 1 --json
awk "BEGIN { exit !($(field contacts out) < $all) }" || fail "a limit of contacts of two bodies leaves out none: $(cat out)"
expect 0 err 'parts.png: 1 picture' render parts.d/recording.h5 -o parts.png --size 64x48
# One byte that is another is found before anything is believed.
printf '\377' | dd of=out.d/recording.h5 bs=1 seek=5000 conv=notrunc status=none
expect 1 err 'do not have the digest' replay out.d/recording.h5
expect 1 err 'do not have the digest' info out.d/recording.h5

if [ -n "${CAROM_DATA:-}" ] && [ -f "$CAROM_DATA/trajectories/scene1.rbt.gz" ]; then
	# Pairs that exact predicates call intersecting, at the listed frames of the impact.
	zcat "$CAROM_DATA/trajectories/scene1.pairs.txt.gz" | awk '$1 >= 95 && $1 < 99' | sort > truth.txt
	expect 0 out '"hash"' replay "$CAROM_DATA/trajectories/scene1.rbt.gz" --mesh "$CAROM_DATA/meshes/bullet-bunny-902.obj" --steps 95:99 --json --pairs pairs.txt
	awk 'NR == FNR { listed[$1]; next } $1 in listed' truth.txt pairs.txt | sort > found.txt
	[ -s truth.txt ] || fail "no true pairs in frames 95 to 98"
	same "missed pairs" "$(comm -23 truth.txt found.txt | wc -l)" 0
fi
