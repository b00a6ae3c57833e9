#version 460
// Sums the counts of a digit over the blocks. A subgroup takes a digit, whatever the number of
// blocks: one kernel without barriers is enough, and sort_scatter adds where digits begin.
//
// address: 0 counts [256][blocks], which become the sums of those before, 1 items of each digit
// [256]. word: 0 blocks.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "kernel.glsl"
#include "sort.glsl"

const uint EACH = 4; // blocks of an invocation in a round

void main()
{
	const uint digit = group_number() * gl_NumSubgroups + gl_SubgroupID, blocks = arguments.word[0];
	if (digit >= DIGITS)
		return; // the whole subgroup
	Words counts = Words(arguments.address[0]);
	uint before = 0; // in the blocks of earlier rounds
	for (uint first = 0; first < blocks; first += EACH * gl_SubgroupSize) {
		const uint block = first + EACH * gl_SubgroupInvocationID, at = digit * blocks + block;
		uint own[EACH], sum = 0;
		[[unroll]] for (uint i = 0; i < EACH; i++) {
			own[i] = block + i < blocks ? counts.at[at + i] : 0;
			sum += own[i];
		}
		uint place = before + subgroupExclusiveAdd(sum);
		[[unroll]] for (uint i = 0; i < EACH; i++) {
			if (block + i < blocks)
				counts.at[at + i] = place;
			place += own[i];
		}
		before += subgroupAdd(sum);
	}
	if (subgroupElect())
		Words(arguments.address[1]).at[digit] = before;
}
