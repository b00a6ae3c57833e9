#version 460
// Moves keys and values to their places by one digit. Equal digits keep their order.
//
// A workgroup takes a block of items, and each of its subgroups a part of the block, row by row.
// The lanes of a row that hold equal digits find each other by a ballot for each bit. Nothing is
// assumed of the size of a subgroup, but that a workgroup holds at most SUBGROUPS whole ones
// (vk_kernels.c sees to it).
//
// address: 0 keys, 1 values, 2 keys moved, 3 values moved [count each], 4 places [256][blocks]
// where the first item of a digit in a block goes to. word: 0 count, 1 lowest bit of the digit,
// 2 blocks.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "kernel.glsl"
#include "sort.glsl"

const uint SUBGROUPS = 8;
shared uint counts[SUBGROUPS * DIGITS];

// The lanes that hold this lane's digit.
uvec4 find_peers(bool live, uint digit)
{
	uvec4 peers = subgroupBallot(live);
	for (uint bit = 0; bit < 8; bit++) {
		const bool set = (digit >> bit & 1) != 0;
		const uvec4 lanes = subgroupBallot(set);
		peers &= set ? lanes : ~lanes;
	}
	return peers;
}

void main()
{
	const uint block = group_number(), count = arguments.word[0], shift = arguments.word[1], blocks = arguments.word[2];
	if (block >= blocks)
		return; // the whole workgroup
	const uint threads = gl_WorkGroupSize.x, me = gl_LocalInvocationIndex, mine = gl_SubgroupID * DIGITS;
	const uint first = block * ROWS * threads + gl_SubgroupID * gl_SubgroupSize * ROWS + gl_SubgroupInvocationID;
	for (uint i = me; i < SUBGROUPS * DIGITS; i += threads)
		counts[i] = 0;
	barrier();
	uint rank[ROWS];
	for (uint row = 0; row < ROWS; row++) {
		const uint i = first + row * gl_SubgroupSize;
		const bool live = i < count;
		const uint digit = live ? digit_of(Keys(arguments.address[0]).at[i], shift) : 0;
		const uvec4 peers = find_peers(live, digit);
		const uint below = subgroupBallotBitCount(peers & gl_SubgroupLtMask);
		const uint before = counts[mine + digit];
		subgroupMemoryBarrierShared();
		subgroupBarrier();
		if (live && below == 0)
			counts[mine + digit] = before + subgroupBallotBitCount(peers);
		subgroupMemoryBarrierShared();
		subgroupBarrier();
		rank[row] = before + below;
	}
	barrier();
	for (uint d = me; d < DIGITS; d += threads) {
		uint place = Words(arguments.address[4]).at[d * blocks + block];
		for (uint s = 0; s < SUBGROUPS; s++) {
			const uint here = counts[s * DIGITS + d];
			counts[s * DIGITS + d] = place;
			place += here;
		}
	}
	barrier();
	for (uint row = 0; row < ROWS; row++) {
		const uint i = first + row * gl_SubgroupSize;
		if (i >= count)
			break;
		const KEY key = Keys(arguments.address[0]).at[i];
		const uint place = counts[mine + digit_of(key, shift)] + rank[row];
		Keys(arguments.address[2]).at[place] = key;
		Words(arguments.address[3]).at[place] = Words(arguments.address[1]).at[i];
	}
}
