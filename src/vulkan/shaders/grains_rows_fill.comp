#version 460
// Writes the row of each sphere, ascending, and hands it the springs of its last row.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "grains.glsl"
#define ACCESS readonly
#include "tree.glsl"
#include "grains_rows.glsl"
const uint ROW_WIDTH = 32; // not below SLOTS
#include "row_sort.glsl"

uint found = 0;

void take(uint place) { row.at[row_begin + found++] = Words(setup.order).at[place]; }

// A row that is in slots.
void sort_slots(uint place, uint n)
{
	[[unroll]] for (uint slot = 0; slot < ROW_WIDTH; slot++) {
		row_items[slot] = ~0u;
		if (slot < SLOTS && slot < n)
			row_items[slot] = Words(setup.slots).at[slot * setup.count + place];
	}
	sort_items();
	[[unroll]] for (uint slot = 0; slot < SLOTS; slot++) {
		if (slot < n)
			row.at[row_begin + slot] = row_items[slot];
	}
}

void keep_springs(uint sphere, uint next, uint n)
{
	const uint current = 1 - next;
	Words old = Words(setup.other[current]);
	Doubles from = Doubles(setup.springs[current]), to = Doubles(setup.springs[next]);
	uint at = uint(Longs(setup.first[current]).at[sphere]);
	const uint end = uint(Longs(setup.first[current]).at[sphere + 1]);
	for (uint e = row_begin; e < row_begin + n; e++) {
		const uint item = row.at[e];
		while (at < end && (old.at[at] & ~TOUCHED) < item)
			at++;
		if (at == end)
			return;
		if (old.at[at] != (item | TOUCHED))
			continue;
		row.at[e] = item | TOUCHED;
		for (uint k = 0; k < 3; k++)
			to.at[3 * e + k] = from.at[3 * at + k];
	}
}

void main()
{
	const uint place = item_number();
	if (place >= setup.count)
		return;
	const uint next = 1 - control().at[CURRENT], sphere = Words(setup.order).at[place];
	const uint64_t begin = Longs(setup.sums).at[sphere], end = Longs(setup.sums).at[sphere + 1];
	const uint n = uint(end - begin);
	row_begin = uint(begin);
	Longs(setup.first[next]).at[sphere] = begin;
	if (sphere == setup.count - 1)
		Longs(setup.first[next]).at[setup.count] = end;
	row = Words(setup.other[next]);
	if (n <= SLOTS) {
		sort_slots(place, n);
	} else {
		search_place(place, sphere);
		sort_row(n);
	}
	if ((setup.flags & HISTORIES) != 0)
		keep_springs(sphere, next, n);
}
