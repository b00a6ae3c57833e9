#version 460
// Codes of centres along the Morton curve: 21 bits for each axis.
//
// address: 0 spheres, 1 codes, 2 numbers (0, 1, 2 ...) [count each]. word: 0 count, 1 to 3 lower
// corner of the box, 4 cells for each unit of length.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

// 21 bits, two zeros between neighbours.
uint64_t spread(uint cell)
{
	uint64_t v = uint64_t(cell);
	v = (v | v << 32) & 0x001f00000000fffful;
	v = (v | v << 16) & 0x001f0000ff0000fful;
	v = (v | v << 8) & 0x100f00f00f00f00ful;
	v = (v | v << 4) & 0x10c30c30c30c30c3ul;
	return (v | v << 2) & 0x1249249249249249ul;
}

void main()
{
	const uint i = item_number();
	if (i >= arguments.word[0])
		return;
	const vec3 lower = uintBitsToFloat(uvec3(arguments.word[1], arguments.word[2], arguments.word[3]));
	const vec3 at = (Spheres(arguments.address[0]).at[i].xyz - lower) * uintBitsToFloat(arguments.word[4]);
	const uvec3 cell = min(uvec3(clamp(at, 0.0, 2097151.0)), uvec3(2097151));
	Longs(arguments.address[1]).at[i] = spread(cell.x) | spread(cell.y) << 1 | spread(cell.z) << 2;
	Words(arguments.address[2]).at[i] = i;
}
