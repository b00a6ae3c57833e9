/// Where a node parts by the binned surface area heuristic (Wald, On fast Construction of SAH-based
/// Bounding Volume Hierarchies, 2007): the one form for all builders. Primitives are dealt into
/// bins by their centres; of the places between two bins the one is taken where the area of either
/// side times the cost of its primitives is least.
///
/// Included by builders only, once each. Before, they define how they keep primitives and boxes:
///
///   split_item                          a primitive in the builder's list
///   split_map                           how primitives go into bins
///   int split_bin(map, item, axis)      the bin of a primitive, 0 to SPLIT_BINS - 1
///   SPLIT_BINS                          32 at most
///   split_box, SPLIT_NONE               a box, and the box of nothing
///   split_box split_join(a, b)          the box around two
///   split_real split_area(box)          half of its area; float or double
///   split_real split_weight(count)      the cost of a side that has so many primitives
#include <string.h>

/// Bins along one axis.
typedef struct split_row {
	split_box bounds[SPLIT_BINS];
	int32_t count[SPLIT_BINS];
	uint32_t used; // a bit for each bin that holds anything
} split_row;

/// A place between two bins.
typedef struct split {
	int axis; // -1: none
	int bin;  // primitives in bins below go left
	split_real cost;
} split;

static inline void split_clear(split_row *row)
{
	for (int i = 0; i < SPLIT_BINS; i++)
		row->bounds[i] = SPLIT_NONE;
	memset(row->count, 0, sizeof row->count);
	row->used = 0;
}

static inline void split_add(split_row *row, int bin, split_box box, int32_t count)
{
	row->bounds[bin] = split_join(box, row->bounds[bin]);
	row->count[bin] += count;
	row->used |= 1u << bin;
}

/// The best place to part the bins of an axis, if it is better than the best so far. A place behind
/// an empty bin parts them as the place before it does, so only those behind a bin in use are
/// looked at.
static void split_axis(const split_row *row, int axis, split *best)
{
	split_real right_cost[SPLIT_BINS];
	split_box grown = SPLIT_NONE;
	int32_t count = 0;
	for (uint32_t rest = row->used; (rest & (rest - 1)) != 0;) {
		const int i = 31 - __builtin_clz(rest);
		grown = split_join(row->bounds[i], grown);
		count += row->count[i];
		right_cost[i] = split_area(grown) * split_weight(count);
		rest &= ~(1u << i);
	}
	grown = SPLIT_NONE;
	count = 0;
	for (uint32_t rest = row->used; (rest & (rest - 1)) != 0;) {
		const int i = __builtin_ctz(rest);
		rest &= rest - 1;
		grown = split_join(row->bounds[i], grown);
		count += row->count[i];
		// cppcheck-suppress uninitvar // the bins behind i were seen above
		const split_real cost = split_area(grown) * split_weight(count) + right_cost[__builtin_ctz(rest)];
		if (cost < best->cost)
			*best = (split){ axis, i + 1, cost };
	}
}

/// Bring primitives of bins below the place to the front, and return how many they are.
static int32_t split_part(const split_map *map, split_item *items, int32_t count, int axis, int bin)
{
	int32_t left = 0, right = count;
	while (left < right) {
		if (split_bin(map, &items[left], axis) < bin) {
			left++;
		} else {
			const split_item moved = items[--right];
			items[right] = items[left];
			items[left] = moved;
		}
	}
	return left;
}
