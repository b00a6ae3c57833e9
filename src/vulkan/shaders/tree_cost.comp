#version 460
// Surface areas of all boxes, for the cost of the tree: a sum for each workgroup. An inner box
// counts twice, because who meets it looks at two boxes, and a leaf as often as it has spheres.
//
// address: 0 nodes [count-1], 1 sums [number of workgroups + 1]; the last one gets the area of the
// box around all. word: 0 count, at least 2; 1 number of workgroups.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#define ACCESS readonly
#include "tree.glsl"

const uint THREADS = 128;
shared float sums[THREADS];

float area(vec3 size) { return 2 * (size.x * size.y + size.y * size.z + size.z * size.x); }

vec3 vector(float v[3]) { return vec3(v[0], v[1], v[2]); }

void main()
{
	const uint me = gl_LocalInvocationIndex, groups = arguments.word[1];
	if (group_number() >= groups)
		return; // the whole workgroup
	Nodes nodes = Nodes(arguments.address[0]);
	Floats partial = Floats(arguments.address[1]);
	float sum = 0;
	for (uint i = group_number() * THREADS + me; i < arguments.word[0] - 1; i += groups * THREADS) {
		for (int side = 0; side < 2 && nodes.at[i].child[0] != NO_NODE; side++) {
			const Box box = nodes.at[i].box[side];
			const float one = area(vector(box.upper) - vector(box.lower));
			const uint child = nodes.at[i].child[side];
			sum += (child & LEAF) != 0 ? one * float(nodes.at[i].last[side] - (child & ~LEAF) + 1) : 2 * one;
		}
	}
	sums[me] = sum;
	barrier();
	for (uint part = THREADS / 2; part > 0; part /= 2) {
		if (me < part)
			sums[me] += sums[me + part];
		barrier();
	}
	if (me != 0)
		return;
	partial.at[group_number()] = sums[0];
	if (group_number() == 0) {
		const Box a = nodes.at[0].box[0], b = nodes.at[0].box[1];
		partial.at[groups] = area(max(vector(a.upper), vector(b.upper)) - min(vector(a.lower), vector(b.lower)));
	}
}
