#version 460
// How well the order of boxes still keeps neighbours together. What tree a driver makes of boxes is
// not known, so the cost is that of a tree of our own over their order: the areas of the boxes
// around 1, 2, 4 ... 128 of them in a row. Boxes around several count twice, as in tree_cost.comp.
// Levels above these hold little of a tree's area, and are left out.
//
// address: 0 lower and upper corners of boxes [6*count], 1 for each workgroup a sum, and the lower
// and the upper corner around all of its boxes [7*groups]. word: 0 count, 1 number of workgroups.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

const uint THREADS = 128;
const float LARGEST = 3.4028234663852886e+38;
shared vec3 lowers[THREADS], uppers[THREADS];
shared float sums[THREADS];

float area(vec3 size) { return 2 * (size.x * size.y + size.y * size.z + size.z * size.x); }

vec3 corner(uint at)
{
	Floats boxes = Floats(arguments.address[0]);
	return vec3(boxes.at[at], boxes.at[at + 1], boxes.at[at + 2]);
}

void main()
{
	const uint me = gl_LocalInvocationIndex, count = arguments.word[0], groups = arguments.word[1];
	if (group_number() >= groups)
		return; // the whole workgroup
	vec3 lower = vec3(LARGEST), upper = vec3(-LARGEST); // around all
	float sum = 0;
	for (uint first = group_number() * THREADS; first < count; first += groups * THREADS) {
		const uint i = first + me;
		barrier(); // who reads the blocks before has done so
		if (i < count) {
			lowers[me] = corner(6 * i);
			uppers[me] = corner(6 * i + 3);
			sum += area(uppers[me] - lowers[me]);
		}
		for (uint step = 1; step < THREADS; step *= 2) {
			barrier();
			if (me % (2 * step) == 0 && i + step < count) {
				lowers[me] = min(lowers[me], lowers[me + step]);
				uppers[me] = max(uppers[me], uppers[me + step]);
				sum += 2 * area(uppers[me] - lowers[me]);
			}
		}
		barrier();
		lower = min(lower, lowers[0]);
		upper = max(upper, uppers[0]);
	}
	barrier();
	sums[me] = sum;
	barrier();
	for (uint part = THREADS / 2; part > 0; part /= 2) {
		if (me < part)
			sums[me] += sums[me + part];
		barrier();
	}
	if (me != 0)
		return;
	Floats partial = Floats(arguments.address[1]);
	partial.at[7 * group_number()] = sums[0];
	for (int k = 0; k < 3; k++) {
		partial.at[7 * group_number() + 1 + k] = lower[k];
		partial.at[7 * group_number() + 4 + k] = upper[k];
	}
}
