#version 460
// Counts the pairs of each sphere, and keeps the first of them (sphere_pairs.glsl).
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#define ACCESS readonly
#include "tree.glsl"
#include "sphere_pairs.glsl"
#include "counters.glsl"

uint found = 0;

void take(uint other)
{
	if (found < SLOTS)
		Words(arguments.address[4]).at[found * arguments.word[0] + own_place] = other;
	found++;
}

void main()
{
	const uint place = item_number(), count = arguments.word[0];
	if (place == count)
		Words(arguments.address[3]).at[count] = 0; // the sum up to here is that of all
	if (place < count) {
		begin_search(place);
		search();
		Words(arguments.address[3]).at[place] = found;
	}
	add_to(0, tests);
	add_to(2, visits);
}
