// All pairs of spheres that touch, or may: the tree searched for each sphere. A sphere looks only
// at leaves behind its own, so that each pair is met once.
//
// address: 0 nodes [count-1], 1 spheres in the order of the leaves, 2 their numbers [count], 3 how
// many each one finds [count+1], 4 slots [SLOTS][count], 5 distances computed and nodes visited (two
// words each), 6 the first pair of each one [count+1], 7 pairs.
// word: 0 count, at least 2; 1 scale and 2 add of the reach of a box; 3 near, 4 far (sphere_set.h);
// 5 the number of pairs that there is room for; 6 and 7 the first one wanted, lower and upper half.
//
// A found place has the bit DOUBT where single precision cannot tell (sphere_test.glsl).
#include "reach.glsl"
#include "sphere_test.glsl"

#include "tree_search.glsl"

const uint SLOTS = 16;

vec4 own; // the sphere
uint own_place;
uint tests = 0;

// A sphere was found behind the own one: its place, with DOUBT where that is so. The kernel says
// what becomes of it.
void take(uint other);

void begin_search(uint place)
{
	own_place = place;
	own = Spheres(arguments.address[1]).at[place];
	const vec3 far = box_reach(own, uintBitsToFloat(arguments.word[1]), uintBitsToFloat(arguments.word[2]));
	own_lower = own.xyz - far;
	own_upper = own.xyz + far;
}

void compare(uint other)
{
	const vec4 sphere = Spheres(arguments.address[1]).at[other];
	const uint verdict = test_spheres(own, sphere, uintBitsToFloat(arguments.word[3]), uintBitsToFloat(arguments.word[4]));
	tests++;
	if (verdict != APART)
		take(other | (verdict & DOUBT));
}

void compare_leaf(uint first, uint last)
{
	for (uint other = max(first, own_place + 1); other <= last; other++)
		compare(other);
}

// Every sphere behind the own one that touches or may is taken.
void search() { search_tree(arguments.address[0], own_place + 1); }
