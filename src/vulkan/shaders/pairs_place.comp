#version 460
// Puts the larger sphere of each pair into the row of the smaller one, in any order.
//
// Arguments are those of pair_names.glsl, and: address: 3 counts, as pairs_name has made them: they
// go down to 0 [spheres], 4 the first pair of each sphere [spheres+1], 5 rows.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "pair_names.glsl"

void main()
{
	const uint count = pair_count();
	for (uint i = item_number(); i < count; i += all_items()) {
		uvec2 pair;
		if (!name_pair(Pairs(arguments.address[0]).at[i], pair))
			continue;
		const uint behind = atomicAdd(Words(arguments.address[3]).at[pair.x], ~0u); // one less
		Words(arguments.address[5]).at[uint(Longs(arguments.address[4]).at[pair.x]) + behind - 1] = pair.y;
	}
}
