#version 460
// Of edges (CORNERS is 2) or triangles (3). With POINTS: a point of each, for its place along the
// curve. Else: the leaves of the tree, in their order: two vec4 with the lower and the
// upper corner of the box, and behind them the first two vertices.
//
// address: 0 vertices of the features [CORNERS][count], 1 places at the beginning, 2 at the end, 3
// points or leaves, 4 order (of leaves). word: 0 count, 1 margin of boxes.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "sweep.glsl"

void main()
{
	const uint i = item_number();
	if (i >= arguments.word[0])
		return;
	const uint64_t begin = arguments.address[1], end = arguments.address[2];
	Words vertices = Words(arguments.address[0]);
#ifdef POINTS
	vec3 sum = vec3(0);
	for (uint k = 0; k < CORNERS; k++)
		sum += place_of(begin, vertices.at[CORNERS * i + k]) + place_of(end, vertices.at[CORNERS * i + k]);
	Spheres(arguments.address[3]).at[i] = vec4(sum / float(2 * CORNERS), 0);
#else
	const uint number = Words(arguments.address[4]).at[i];
	const float margin = uintBitsToFloat(arguments.word[1]);
	const uint first = vertices.at[CORNERS * number], second = vertices.at[CORNERS * number + 1];
	Reach reach = reach_of_vertex(begin, end, first, margin);
	join_reach(reach, reach_of_vertex(begin, end, second, margin));
	if (CORNERS == 3)
		join_reach(reach, reach_of_vertex(begin, end, vertices.at[CORNERS * number + 2], margin));
	Spheres(arguments.address[3]).at[2 * i] = vec4(reach.lower, uintBitsToFloat(first));
	Spheres(arguments.address[3]).at[2 * i + 1] = vec4(reach.upper, uintBitsToFloat(second));
#endif
}
