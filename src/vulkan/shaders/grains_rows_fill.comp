#version 460
// Writes the row of each sphere, ascending, and hands it the springs of its last row.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "kernel.glsl"
#include "grains.glsl"
#define ACCESS readonly
#include "tree.glsl"
#include "grains_rows.glsl"

const uint SHORT = 32; // rows that are sorted by insertion, if they are not in slots

uint64_t begin;
uint found = 0;
Words row;

void take(uint place) { row.at[uint(begin) + found++] = Words(setup.order).at[place]; }

void sort_short(uint n)
{
	for (uint k = 1; k < n; k++) {
		const uint item = row.at[uint(begin) + k];
		uint hole = k;
		for (; hole > 0 && row.at[uint(begin) + hole - 1] > item; hole--)
			row.at[uint(begin) + hole] = row.at[uint(begin) + hole - 1];
		row.at[uint(begin) + hole] = item;
	}
}

void sift(uint root, uint n)
{
	const uint item = row.at[uint(begin) + root];
	for (;;) {
		uint child = 2 * root + 1;
		if (child >= n)
			break;
		if (child + 1 < n && row.at[uint(begin) + child + 1] > row.at[uint(begin) + child])
			child++;
		if (row.at[uint(begin) + child] <= item)
			break;
		row.at[uint(begin) + root] = row.at[uint(begin) + child];
		root = child;
	}
	row.at[uint(begin) + root] = item;
}

// A heap: as good for the row of a giant.
void sort_long(uint n)
{
	for (uint root = n / 2; root-- > 0;)
		sift(root, n);
	for (uint last = n - 1; last > 0; last--) {
		const uint most = row.at[uint(begin)];
		row.at[uint(begin)] = row.at[uint(begin) + last];
		row.at[uint(begin) + last] = most;
		sift(0, last);
	}
}

// A row that is in slots: sorted by comparisons in a fixed order (Batcher's bitonic sort), in
// registers, so that all lanes do alike.
void sort_slots(uint place, uint n)
{
	const uint WIDTH = 32; // a power of two, not below SLOTS
	uint items[WIDTH];
	[[unroll]] for (uint slot = 0; slot < WIDTH; slot++) {
		items[slot] = ~0u;
		if (slot < SLOTS && slot < n)
			items[slot] = Words(setup.slots).at[slot * setup.count + place];
	}
	[[unroll]] for (uint run = 2; run <= WIDTH; run *= 2) {
		[[unroll]] for (uint apart = run / 2; apart > 0; apart /= 2) {
			[[unroll]] for (uint i = 0; i < WIDTH; i++) {
				if ((i & apart) != 0)
					continue;
				const uint a = items[i], b = items[i + apart];
				const bool up = (i & run) == 0;
				items[i] = up ? min(a, b) : max(a, b);
				items[i + apart] = up ? max(a, b) : min(a, b);
			}
		}
	}
	[[unroll]] for (uint slot = 0; slot < SLOTS; slot++) {
		if (slot < n)
			row.at[uint(begin) + slot] = items[slot];
	}
}

void keep_springs(uint sphere, uint next, uint n)
{
	const uint current = 1 - next;
	Words old = Words(setup.other[current]);
	Doubles from = Doubles(setup.springs[current]), to = Doubles(setup.springs[next]);
	uint at = uint(Longs(setup.first[current]).at[sphere]);
	const uint end = uint(Longs(setup.first[current]).at[sphere + 1]);
	for (uint e = uint(begin); e < uint(begin) + n; e++) {
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
	begin = Longs(setup.sums).at[sphere];
	const uint64_t end = Longs(setup.sums).at[sphere + 1];
	const uint n = uint(end - begin);
	Longs(setup.first[next]).at[sphere] = begin;
	if (sphere == setup.count - 1)
		Longs(setup.first[next]).at[setup.count] = end;
	row = Words(setup.other[next]);
	if (n <= SLOTS) {
		sort_slots(place, n);
	} else {
		search_place(place, sphere);
		if (n > SHORT)
			sort_long(n);
		else
			sort_short(n);
	}
	if ((setup.flags & HISTORIES) != 0)
		keep_springs(sphere, next, n);
}
