#version 460
// Decides about the pairs in doubt as the processor does (cr_spheres_touch), and drops those that do
// not touch: from the list and from the counts of pairs_name. Where there was no room for all
// doubts, it leaves them.
//
// Arguments are those of pairs_name.comp, and: address: 6 spheres, [places] of x, y, z, radius. word:
// 6 and 7 the skin, a double.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "pair_names.glsl"

// A float as a double. Devices may take small floats for 0, so those are made of their bits.
double widen(uint bits)
{
	const uint size = bits & 0x7fffffffu;
	if (size >= 0x00800000u)
		return double(uintBitsToFloat(bits));
	precise double value = double(size) * 1.401298464324817070923729583289916131280e-45LF; // 2^-149
	return bits != size ? -value : value;
}

bool touches(uint a, uint b)
{
	Words spheres = Words(arguments.address[6]);
	double p[4], q[4];
	for (uint k = 0; k < 4; k++) {
		p[k] = widen(spheres.at[4 * a + k]);
		q[k] = widen(spheres.at[4 * b + k]);
	}
	const double skin = packDouble2x32(uvec2(arguments.word[6], arguments.word[7]));
	precise double x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2];
	precise double reach = p[3] + q[3] + skin;
	precise double square = x * x + y * y + z * z, limit = reach * reach;
	return square <= limit;
}

void main()
{
	const uint count = Words(arguments.address[5]).at[0];
	if (count > arguments.word[5])
		return;
	Words doubts = Words(arguments.address[4]);
	for (uint i = item_number(); i < count; i += all_items()) {
		const uint number = doubts.at[3 * i];
		if (touches(doubts.at[3 * i + 1], doubts.at[3 * i + 2]))
			continue;
		uvec2 pair;
		name_pair(Pairs(arguments.address[0]).at[number], pair);
		atomicAdd(Words(arguments.address[3]).at[pair.x], ~0u); // one less
		Pairs(arguments.address[0]).at[number].y = NO_PAIR;
	}
}
