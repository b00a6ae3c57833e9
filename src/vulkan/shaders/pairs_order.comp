#version 460
// Sorts the row of each sphere, and writes it as pairs. A row that is too long for one invocation is
// written as it is, and counted: the processor sorts it.
//
// address: 0 the first pair of each sphere [spheres+1], 1 rows, 2 pairs, 3 counter of long rows.
// word: 0 spheres, 1 the longest row that is sorted.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
const uint ROW_WIDTH = 16;
#include "row_sort.glsl"

void order_items(uint sphere, uint n)
{
	[[unroll]] for (uint i = 0; i < ROW_WIDTH; i++)
		row_items[i] = i < n ? row.at[row_begin + i] : ~0u;
	sort_items();
	[[unroll]] for (uint i = 0; i < ROW_WIDTH; i++) {
		if (i < n)
			Pairs(arguments.address[2]).at[row_begin + i] = uvec2(sphere, row_items[i]);
	}
}

void main()
{
	const uint sphere = item_number();
	if (sphere >= arguments.word[0])
		return;
	const uint64_t begin = Longs(arguments.address[0]).at[sphere], end = Longs(arguments.address[0]).at[sphere + 1];
	const uint n = uint(end - begin);
	row = Words(arguments.address[1]);
	row_begin = uint(begin);
	if (n == 0)
		return;
	if (n <= ROW_WIDTH) {
		order_items(sphere, n);
		return;
	}
	if (n > arguments.word[1])
		atomicAdd(Words(arguments.address[3]).at[0], 1u);
	else
		sort_row(n);
	for (uint i = 0; i < n; i++)
		Pairs(arguments.address[2]).at[row_begin + i] = uvec2(sphere, row.at[row_begin + i]);
}
