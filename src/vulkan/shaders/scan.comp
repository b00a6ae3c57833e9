#version 460
// One level of an exclusive prefix sum: each workgroup sums 1024 items and leaves its total for the
// next level. FROM and TO are the types of items and sums.
//
// address: 0 items [count], 1 sums [count] (may be the items where the types agree), 2 totals
// [number of workgroups]. word: 0 count.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

layout(buffer_reference, std430, buffer_reference_align = 4) buffer From { FROM at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer To { TO at[]; };

const uint THREADS = 128, EACH = 8, BLOCK = THREADS * EACH;
shared TO items[BLOCK];
shared TO sums[THREADS];

void main()
{
	const uint count = arguments.word[0], first = group_number() * BLOCK, me = gl_LocalInvocationIndex;
	if (first >= count)
		return; // the whole workgroup
	for (uint i = me; i < BLOCK; i += THREADS)
		items[i] = first + i < count ? TO(From(arguments.address[0]).at[first + i]) : TO(0);
	barrier();
	TO sum = TO(0);
	for (uint i = 0; i < EACH; i++) {
		const TO item = items[me * EACH + i];
		items[me * EACH + i] = sum;
		sum += item;
	}
	sums[me] = sum;
	barrier();
	// Hillis and Steele: after each round sums[me] covers twice as many threads.
	for (uint step = 1; step < THREADS; step *= 2) {
		const TO before = me >= step ? sums[me - step] : TO(0);
		barrier();
		sums[me] += before;
		barrier();
	}
	for (uint i = me; i < BLOCK; i += THREADS) {
		const uint thread = i / EACH;
		if (first + i < count)
			To(arguments.address[1]).at[first + i] = items[i] + (thread > 0 ? sums[thread - 1] : TO(0));
	}
	if (me == 0)
		To(arguments.address[2]).at[group_number()] = sums[THREADS - 1];
}
