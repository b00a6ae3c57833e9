#version 460
// Makes all boxes fit, from the leaves up. Of the two children of a node the one that arrives
// second goes on with both boxes; the first one ends. Nobody waits for another, so no progress of
// other workgroups is assumed.
//
// address: 0 contents of leaves, in order [count], 1 nodes [count-1], 2 parents of leaves, 3 parents
// of nodes (tree_shape.comp), 4 arrivals [count-1], all 0. word: 0 count, at least 2. Leaves hold
// spheres, and words 1 and 2 are scale and add of the reach of a box; with BOXES they hold boxes,
// each two vec4.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#define ACCESS coherent
#include "tree.glsl"
#include "reach.glsl"

layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer Arrivals { uint at[]; };

// Off on Mesa's llvmpipe: version 22.3 treats a fence as a barrier of the whole workgroup and drops
// invocations that meet it in a loop. Its atomic operations order memory by themselves.
layout(constant_id = 1) const bool FENCES = true;

#ifdef BOXES
Box box_at(uint place)
{
	const vec4 lower = Spheres(arguments.address[0]).at[2 * place], upper = Spheres(arguments.address[0]).at[2 * place + 1];
	Box box;
	for (int k = 0; k < 3; k++) {
		box.lower[k] = lower[k];
		box.upper[k] = upper[k];
	}
	return box;
}
#else
Box box_at(uint place)
{
	const vec4 sphere = Spheres(arguments.address[0]).at[place];
	const vec3 far = box_reach(sphere, uintBitsToFloat(arguments.word[1]), uintBitsToFloat(arguments.word[2]));
	Box box;
	for (int k = 0; k < 3; k++) {
		box.lower[k] = sphere[k] - far[k];
		box.upper[k] = sphere[k] + far[k];
	}
	return box;
}
#endif

Box join(Box a, Box b)
{
	for (int k = 0; k < 3; k++) {
		a.lower[k] = min(a.lower[k], b.lower[k]);
		a.upper[k] = max(a.upper[k], b.upper[k]);
	}
	return a;
}

void main()
{
	const uint leaf = item_number();
	if (leaf >= arguments.word[0])
		return;
	Nodes nodes = Nodes(arguments.address[1]);
	Words node_parents = Words(arguments.address[3]);
	Arrivals arrivals = Arrivals(arguments.address[4]);
	const uint mark = Words(arguments.address[2]).at[leaf];
	if (mark == 0)
		return; // no first place of a leaf
	uint parent = mark - 1;
	Box box = box_at(leaf);
	for (uint place = leaf + 1; place <= nodes.at[parent / 2].last[parent & 1]; place++)
		box = join(box, box_at(place));
	for (;;) {
		const uint node = parent / 2, side = parent & 1;
		for (int k = 0; k < 3; k++) {
			nodes.at[node].box[side].lower[k] = box.lower[k];
			nodes.at[node].box[side].upper[k] = box.upper[k];
		}
		if (FENCES)
			memoryBarrierBuffer(); // the box is seen before the arrival
		const uint before = atomicAdd(arrivals.at[node], 1u);
		if (FENCES)
			memoryBarrierBuffer(); // and the other one's box after it
		if (before == 0 || node == 0)
			return;
		box = join(box, nodes.at[node].box[1 - side]);
		parent = node_parents.at[node];
	}
}
