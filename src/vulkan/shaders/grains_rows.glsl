// Rows of neighbours: for each sphere all others that are nearer than the sum of radii and the skin,
// and maybe some more (single precision leaves out only what is farther for sure).
//
// Along a periodic axis the tree is searched for each image of the sphere whose box reaches into
// the box around all: the period is so long that no other sphere is near two of them.
#extension GL_GOOGLE_include_directive : require
#include "reach.glsl"
#include "sphere_test.glsl"
#include "tree_search.glsl"

const uint SLOTS = 24;

vec4 own;
uint own_place;

// The sphere at this place of the tree is a neighbour.
void take(uint place);

void compare_leaf(uint first, uint last)
{
	for (uint other = first; other <= last; other++) {
		if (other != own_place &&
			test_spheres(own, Spheres(setup.in_order).at[other], setup.near, setup.far) != APART)
			take(other);
	}
}

// Shifts of images along an axis: 0, and of those by the period the ones whose box may reach into
// the box of the period. Bits 1: none, 2: up, 4: down.
uint find_shifts(double x, int axis, float far)
{
	if ((setup.flags & (PERIODIC << axis)) == 0)
		return 1;
	const double low = setup.lower[axis], high = setup.upper[axis];
	const double reach = double(far + setup.widest);
	return 1 | (x - reach < low ? 2u : 0u) | (x + reach > high ? 4u : 0u);
}

void search_place(uint place, uint sphere)
{
	own_place = place;
	const dvec4 exact = Fours(setup.places).at[sphere];
	const vec3 far = box_reach(Spheres(setup.in_order).at[place], 1, setup.add);
	uint shifts[3];
	for (int k = 0; k < 3; k++)
		shifts[k] = find_shifts(exact[k], k, far[k]);
	const bool alone = (setup.flags & (PERIODIC | PERIODIC << 1 | PERIODIC << 2)) == 0; // without images
	for (uint image = 0; image < (alone ? 1 : 27); image++) {
		const uint turn[3] = { image % 3, image / 3 % 3, image / 9 };
		bool there = true;
		dvec4 moved = exact;
		for (int k = 0; k < 3; k++) {
			const double period = setup.upper[k] - setup.lower[k];
			there = there && (shifts[k] >> turn[k] & 1) != 0;
			moved[k] += (turn[k] == 1 ? period : turn[k] == 2 ? -period : 0) - setup.origin[k];
		}
		if (!there)
			continue;
		own = vec4(moved);
		const vec3 reach = box_reach(own, 1, setup.add);
		own_lower = own.xyz - reach;
		own_upper = own.xyz + reach;
		search_tree(setup.nodes, 0);
	}
}
