#version 460
// Spheres in the order of the leaves.
//
// address: 0 spheres, 1 order, 2 spheres in order [count each]. word: 0 count.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

void main()
{
	const uint i = item_number();
	if (i < arguments.word[0])
		Spheres(arguments.address[2]).at[i] = Spheres(arguments.address[0]).at[Words(arguments.address[1]).at[i]];
}
