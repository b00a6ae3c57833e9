#version 460
// Writes the pairs whose numbers lie in a window: from the slots, or, where a sphere has found more
// than there were slots, by another search (sphere_pairs.glsl).
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#define ACCESS readonly
#include "tree.glsl"
#include "sphere_pairs.glsl"

uint64_t window() { return uint64_t(arguments.word[6]) | uint64_t(arguments.word[7]) << 32; }

uint64_t next; // number of the next pair
uint mine;     // number of the sphere

void take(uint other)
{
	// Numbers before the window wrap round, and are beyond it as well.
	const uint64_t at = next - window();
	if (at < uint64_t(arguments.word[5]))
		Pairs(arguments.address[7]).at[uint(at)] =
			uvec2(mine, Words(arguments.address[2]).at[other & ~DOUBT] | (other & DOUBT));
	next++;
}

void main()
{
	const uint place = item_number(), count = arguments.word[0];
	if (place >= count)
		return;
	next = Longs(arguments.address[6]).at[place];
	const uint64_t end = Longs(arguments.address[6]).at[place + 1];
	if (end <= window() || next >= window() + uint64_t(arguments.word[5]))
		return;
	mine = Words(arguments.address[2]).at[place];
	if (end - next > uint64_t(SLOTS)) {
		begin_search(place);
		search();
		return;
	}
	for (uint slot = 0; next < end; slot++)
		take(Words(arguments.address[4]).at[slot * count + place]);
}
