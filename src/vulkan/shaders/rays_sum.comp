#version 460
// Sums what rays have met, and puts an end to the list of what each one has found. Rays cannot do so
// themselves, because subgroups do not add in their shaders.
//
// address: 3 how many each one finds [count+1], 5 distances computed and boxes met (two words each),
// 8 boxes met and distances computed [count]. word: 0 count.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "counters.glsl"

void main()
{
	const uint place = item_number(), count = arguments.word[0];
	uvec2 work = uvec2(0);
	if (place == count)
		Words(arguments.address[3]).at[count] = 0; // the sum up to here is that of all
	if (place < count)
		work = Pairs(arguments.address[8]).at[place];
	add_to(0, work.y);
	add_to(2, work.x);
}
