#version 460
// Moves keys and values to their places by one digit. Equal digits keep their order.
//
// A workgroup takes a block of items, and each of its subgroups a part of the block, row by row.
// The lanes of a row that hold equal digits find each other by a ballot for each bit. Nothing is
// assumed of the size of a subgroup, but that a workgroup holds at most SUBGROUPS whole ones
// (vk_kernels.c sees to it).
//
// address: 0 keys, 1 values, 2 keys moved, 3 values moved [count each], 4 places [256][blocks] of
// the first item of a digit in a block, behind the first of that digit, 5 items of each digit
// [256]. word: 0 count, 1 lowest bit of the digit, 2 blocks, 3 rows: items of each invocation.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "kernel.glsl"
#include "sort.glsl"

const uint SUBGROUPS = 8;
shared uint counts[SUBGROUPS * DIGITS];
shared uint starts[DIGITS]; // where the items of a digit begin
shared uint sums[SUBGROUPS]; // of the digits of a subgroup

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

// Writes starts: each invocation adds up some digits, and a subgroup the sums of its invocations.
void add_digits(uint me, uint threads)
{
	const uint each = (DIGITS + threads - 1) / threads, first = min(me * each, DIGITS), last = min(first + each, DIGITS);
	uint sum = 0;
	for (uint d = first; d < last; d++)
		sum += Words(arguments.address[5]).at[d];
	uint place = subgroupExclusiveAdd(sum);
	const uint all = subgroupAdd(sum);
	if (subgroupElect())
		sums[gl_SubgroupID] = all;
	barrier();
	for (uint s = 0; s < gl_SubgroupID; s++)
		place += sums[s];
	for (uint d = first; d < last; d++) {
		starts[d] = place;
		place += Words(arguments.address[5]).at[d];
	}
}

void main()
{
	const uint block = group_number(), count = arguments.word[0], shift = arguments.word[1], blocks = arguments.word[2],
			   rows = arguments.word[3];
	if (block >= blocks)
		return; // the whole workgroup
	const uint threads = gl_WorkGroupSize.x, me = gl_LocalInvocationIndex, mine = gl_SubgroupID * DIGITS;
	const uint first = block * rows * threads + gl_SubgroupID * gl_SubgroupSize * rows + gl_SubgroupInvocationID;
	for (uint i = me; i < SUBGROUPS * DIGITS; i += threads)
		counts[i] = 0;
	add_digits(gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID, threads);
	barrier();
	// All that is read is read at once: a card waits once, not for each row.
	KEY keys[ROWS];
	uint values[ROWS], rank[ROWS];
	[[unroll]] for (uint row = 0; row < ROWS; row++) {
		const uint i = first + row * gl_SubgroupSize;
		keys[row] = 0;
		values[row] = 0;
		if (row < rows && i < count) {
			keys[row] = Keys(arguments.address[0]).at[i];
			values[row] = Words(arguments.address[1]).at[i];
		}
	}
	[[unroll]] for (uint row = 0; row < ROWS; row++) {
		if (row < rows) { // for the whole workgroup alike
			const bool live = first + row * gl_SubgroupSize < count;
			const uint digit = digit_of(keys[row], shift);
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
	}
	barrier();
	for (uint d = me; d < DIGITS; d += threads) {
		uint place = starts[d] + Words(arguments.address[4]).at[d * blocks + block];
		for (uint s = 0; s < SUBGROUPS; s++) {
			const uint here = counts[s * DIGITS + d];
			counts[s * DIGITS + d] = place;
			place += here;
		}
	}
	barrier();
	[[unroll]] for (uint row = 0; row < ROWS; row++) {
		if (row < rows && first + row * gl_SubgroupSize < count) {
			const uint place = counts[mine + digit_of(keys[row], shift)] + rank[row];
			Keys(arguments.address[2]).at[place] = keys[row];
			Words(arguments.address[3]).at[place] = values[row];
		}
	}
}
