#version 460
// Sums the counts of a digit over the blocks. A workgroup takes a digit, whatever the number of
// blocks: one kernel is enough, and sort_scatter adds where digits begin.
//
// address: 0 counts [256][blocks], which become the sums of those before, 1 items of each digit
// [256]. word: 0 blocks.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "sort.glsl"

const uint THREADS = 128;
shared uint sums[THREADS];

void main()
{
	const uint digit = group_number(), blocks = arguments.word[0], me = gl_LocalInvocationIndex;
	if (digit >= DIGITS)
		return; // the whole workgroup
	uint before = 0; // in the blocks of earlier rounds
	for (uint first = 0; first < blocks; first += THREADS) {
		const uint at = digit * blocks + first + me;
		const uint own = first + me < blocks ? Words(arguments.address[0]).at[at] : 0;
		sums[me] = own;
		barrier();
		// Hillis and Steele: after each round sums[me] covers twice as many threads.
		for (uint step = 1; step < THREADS; step *= 2) {
			const uint added = me >= step ? sums[me - step] : 0;
			barrier();
			sums[me] += added;
			barrier();
		}
		if (first + me < blocks)
			Words(arguments.address[0]).at[at] = before + sums[me] - own;
		before += sums[THREADS - 1];
		barrier();
	}
	if (me == 0)
		Words(arguments.address[1]).at[digit] = before;
}
