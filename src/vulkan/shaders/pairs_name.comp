#version 460
// Counts the pairs of each sphere, the smaller of both, and lists those in doubt.
//
// Arguments are those of pair_names.glsl, and: address: 3 counts [spheres], 4 doubts, three words
// each: number of the pair of places, and both, 5 how many doubts there are. word: 5 how many there
// is room for.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "pair_names.glsl"

void add_doubt(uint number, uvec2 found)
{
	const uint at = atomicAdd(Words(arguments.address[5]).at[0], 1u);
	if (at >= arguments.word[5])
		return;
	Words doubts = Words(arguments.address[4]);
	doubts.at[3 * at] = number;
	doubts.at[3 * at + 1] = found.x;
	doubts.at[3 * at + 2] = found.y & ~DOUBT;
}

void main()
{
	const uint count = pair_count();
	for (uint i = item_number(); i < count; i += all_items()) {
		const uvec2 found = Pairs(arguments.address[0]).at[i];
		uvec2 pair;
		if (!name_pair(found, pair))
			continue;
		atomicAdd(Words(arguments.address[3]).at[pair.x], 1u);
		if ((found.y & DOUBT) != 0)
			add_doubt(i, found);
	}
}
