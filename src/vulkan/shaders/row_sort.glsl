// Sorts a row of numbers in memory: row.at[row_begin] and so many behind it, ascending.
//
// ROW_WIDTH: how many fit into registers, a power of two.
#extension GL_EXT_control_flow_attributes : require

const uint ROW_SHORT = 32; // rows that are sorted by insertion, if they are not in registers

Words row;
uint row_begin;

void sort_short(uint n)
{
	for (uint k = 1; k < n; k++) {
		const uint item = row.at[row_begin + k];
		uint hole = k;
		for (; hole > 0 && row.at[row_begin + hole - 1] > item; hole--)
			row.at[row_begin + hole] = row.at[row_begin + hole - 1];
		row.at[row_begin + hole] = item;
	}
}

void sift(uint root, uint n)
{
	const uint item = row.at[row_begin + root];
	for (;;) {
		uint child = 2 * root + 1;
		if (child >= n)
			break;
		if (child + 1 < n && row.at[row_begin + child + 1] > row.at[row_begin + child])
			child++;
		if (row.at[row_begin + child] <= item)
			break;
		row.at[row_begin + root] = row.at[row_begin + child];
		root = child;
	}
	row.at[row_begin + root] = item;
}

// A heap: as good for the row of a giant.
void sort_long(uint n)
{
	for (uint root = n / 2; root-- > 0;)
		sift(root, n);
	for (uint last = n - 1; last > 0; last--) {
		const uint most = row.at[row_begin];
		row.at[row_begin] = row.at[row_begin + last];
		row.at[row_begin + last] = most;
		sift(0, last);
	}
}

void sort_row(uint n)
{
	if (n > ROW_SHORT)
		sort_long(n);
	else
		sort_short(n);
}

uint row_items[ROW_WIDTH]; // ~0u where there is none

// Sorted by comparisons in a fixed order (Batcher's bitonic sort), in registers, so that all lanes
// do alike.
void sort_items()
{
	[[unroll]] for (uint run = 2; run <= ROW_WIDTH; run *= 2) {
		[[unroll]] for (uint apart = run / 2; apart > 0; apart /= 2) {
			[[unroll]] for (uint i = 0; i < ROW_WIDTH; i++) {
				if ((i & apart) != 0)
					continue;
				const uint a = row_items[i], b = row_items[i + apart];
				const bool up = (i & run) == 0;
				row_items[i] = up ? min(a, b) : max(a, b);
				row_items[i + apart] = up ? max(a, b) : min(a, b);
			}
		}
	}
}
