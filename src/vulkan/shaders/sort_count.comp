#version 460
// Counts how often each digit occurs in each block of keys: for the first digit alone, since
// sort_scatter counts those of the next one.
//
// address: 0 keys [count], 1 counts [256][blocks], 2 counts of the second digit, which are zeroed.
// word: 0 count, 1 lowest bit of the digit, 2 blocks, 3 rows: items of each invocation.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "sort.glsl"

shared uint counts[DIGITS];

void main()
{
	const uint block = group_number(), count = arguments.word[0], shift = arguments.word[1], blocks = arguments.word[2],
			   rows = arguments.word[3];
	if (block >= blocks)
		return; // the whole workgroup
	const uint threads = gl_WorkGroupSize.x, me = gl_LocalInvocationIndex;
	for (uint d = me; d < DIGITS; d += threads)
		counts[d] = 0;
	barrier();
	for (uint row = 0; row < ROWS; row++) {
		const uint i = (block * rows + row) * threads + me;
		if (row < rows && i < count)
			atomicAdd(counts[digit_of(Keys(arguments.address[0]).at[i], shift)], 1u);
	}
	barrier();
	for (uint d = me; d < DIGITS; d += threads) {
		Words(arguments.address[1]).at[d * blocks + block] = counts[d];
		Words(arguments.address[2]).at[d * blocks + block] = 0;
	}
}
