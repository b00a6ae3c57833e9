#version 460
// Adds the totals of the blocks below to the sums of each block.
//
// address: 0 sums [count], 1 totals of the blocks, summed. word: 0 count.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Sums { TO at[]; };

const uint BLOCK = 1024;

void main()
{
	const uint i = item_number();
	if (i < arguments.word[0])
		Sums(arguments.address[0]).at[i] += Sums(arguments.address[1]).at[i / BLOCK];
}
