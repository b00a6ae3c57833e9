#version 460
// Moves keys and values to their places by one digit. Equal digits keep their order.
//
// A workgroup takes a block of items, and each of its subgroups a part of the block, row by row.
// The lanes of a row that hold equal digits find each other by a ballot for each bit. Nothing is
// assumed of the size of a subgroup, but that a workgroup holds at most SUBGROUPS whole ones
// (vk_kernels.c sees to it).
//
// Then the block is put in order in shared memory, and written from there, so that neighbours in a
// subgroup write neighbours in memory as far as a digit's run in the block goes. Whoever writes an
// item counts its next digit for the block that it comes to: the next pass begins with counts.
//
// address: 0 keys, 1 values, 2 keys moved, 3 values moved [count each], 4 counts [256][blocks], 5
// items of each digit [256], 6 counts of the next digit, 7 those of the one behind it, which are
// zeroed. word: 0 count, 1 lowest bit of the digit, 2 blocks, 3 rows: items of each invocation; 4
// bits: FEW, counts are those of each block alone, and address 5 is not read: the workgroup sums them
// itself; else sort_sum has summed them; NEXT: there is a next digit.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "kernel.glsl"
#include "sort.glsl"

const uint FEW = 1, NEXT = 2;
const uint SUBGROUPS = 8;
// Counts of each subgroup at first, then the items of the block, one word at a time. With starts and
// sums this keeps below 16 KiB, which every device has.
shared uint pool[POOL];
shared uint starts[DIGITS]; // where the items of a digit go, and how far that is from the pool
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

// The sum of the numbers of invocations before this one. All call it.
uint sum_before(uint own)
{
	const uint before = subgroupExclusiveAdd(own), all = subgroupAdd(own);
	barrier(); // whoever reads the last sums has done so
	if (subgroupElect())
		sums[gl_SubgroupID] = all;
	barrier();
	uint place = before;
	for (uint s = 0; s < gl_SubgroupID; s++)
		place += sums[s];
	return place;
}

// Items of a digit in the blocks before this one, and in all blocks.
uvec2 count_digit(uint digit, uint block, uint blocks)
{
	Words counts = Words(arguments.address[4]);
	if ((arguments.word[4] & FEW) == 0)
		return uvec2(counts.at[digit * blocks + block], Words(arguments.address[5]).at[digit]);
	uvec2 sum = uvec2(0);
	for (uint b = 0; b < blocks; b++) {
		const uint here = counts.at[digit * blocks + b];
		sum += uvec2(b < block ? here : 0, here);
	}
	return sum;
}

// Puts a word of each item where it belongs in the block, and takes that which is this invocation's
// in the order of the block.
void exchange(inout uint words[ROWS], uint place[ROWS], uint rows, uint threads, uint me, uint live)
{
	barrier();
	[[unroll]] for (uint row = 0; row < ROWS; row++) {
		if (row < rows && place[row] != ~0u)
			pool[place[row]] = words[row];
	}
	barrier();
	[[unroll]] for (uint row = 0; row < ROWS; row++) {
		if (row < rows && row * threads + me < live)
			words[row] = pool[row * threads + me];
	}
}

void main()
{
	const uint block = group_number(), count = arguments.word[0], shift = arguments.word[1], blocks = arguments.word[2],
			   rows = arguments.word[3];
	if (block >= blocks)
		return; // the whole workgroup
	const uint threads = gl_WorkGroupSize.x, me = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
	const uint mine = gl_SubgroupID * DIGITS, size = rows * threads;
	const uint live = min(count - block * size, size);
	const uint first = block * size + gl_SubgroupID * gl_SubgroupSize * rows + gl_SubgroupInvocationID;
	for (uint i = me; i < SUBGROUPS * DIGITS; i += threads)
		pool[i] = 0;
	// Where each digit goes. An invocation has some digits, and adds them up.
	const uint each = (DIGITS + threads - 1) / threads, low = min(me * each, DIGITS), high = min(low + each, DIGITS);
	uint all = 0;
	for (uint d = low; d < high; d++) {
		const uvec2 sum = count_digit(d, block, blocks);
		starts[d] = sum.x + all; // behind the digits of this invocation
		all += sum.y;
	}
	const uint place = sum_before(all);
	for (uint d = low; d < high; d++) {
		starts[d] += place;
		if ((arguments.word[4] & NEXT) != 0)
			Words(arguments.address[7]).at[d * blocks + block] = 0;
	}
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
		rank[row] = ~0u;
		if (row < rows) { // for the whole workgroup alike
			const bool is_live = first + row * gl_SubgroupSize < count;
			const uint digit = digit_of(keys[row], shift);
			const uvec4 peers = find_peers(is_live, digit);
			const uint below = subgroupBallotBitCount(peers & gl_SubgroupLtMask);
			const uint before = pool[mine + digit];
			subgroupMemoryBarrierShared();
			subgroupBarrier();
			if (is_live && below == 0)
				pool[mine + digit] = before + subgroupBallotBitCount(peers);
			subgroupMemoryBarrierShared();
			subgroupBarrier();
			rank[row] = is_live ? before + below : ~0u;
		}
	}
	barrier();
	// Where each digit of each subgroup begins in the block.
	uint here = 0;
	for (uint d = low; d < high; d++) {
		for (uint s = 0; s < SUBGROUPS; s++) {
			const uint of_subgroup = pool[s * DIGITS + d];
			pool[s * DIGITS + d] = here;
			here += of_subgroup;
		}
	}
	const uint in_block = sum_before(here);
	for (uint d = low; d < high; d++) {
		starts[d] -= pool[d] + in_block; // of the first subgroup
		for (uint s = 0; s < SUBGROUPS; s++)
			pool[s * DIGITS + d] += in_block;
	}
	barrier();
	[[unroll]] for (uint row = 0; row < ROWS; row++) {
		if (rank[row] != ~0u)
			rank[row] += pool[mine + digit_of(keys[row], shift)];
	}
	uint words[ROWS];
	[[unroll]] for (uint row = 0; row < ROWS; row++)
		words[row] = uint(keys[row]);
	exchange(words, rank, rows, threads, me, live);
#ifdef WIDE
	uint upper[ROWS];
	[[unroll]] for (uint row = 0; row < ROWS; row++)
		upper[row] = uint(keys[row] >> 32);
	exchange(upper, rank, rows, threads, me, live);
#endif
	exchange(values, rank, rows, threads, me, live);
	[[unroll]] for (uint row = 0; row < ROWS; row++) {
		const uint at = row * threads + me;
		if (row < rows && at < live) {
#ifdef WIDE
			const KEY key = KEY(words[row]) | KEY(upper[row]) << 32;
#else
			const KEY key = words[row];
#endif
			const uint to = starts[digit_of(key, shift)] + at;
			Keys(arguments.address[2]).at[to] = key;
			Words(arguments.address[3]).at[to] = values[row];
			if ((arguments.word[4] & NEXT) != 0)
				atomicAdd(Words(arguments.address[6]).at[digit_of(key, shift + 8) * blocks + to / size], 1u);
		}
	}
}
