/// Where the nodes of a swept tree split: spatial median of the longest axis (Tang, Manocha and
/// Tong 2010), or binned surface area heuristic (Wald 2007, On fast Construction of SAH-based
/// Bounding Volume Hierarchies). Centres of boxes decide the side.
#include "math/box3.h"
#include "sweep/sweep_tree.h"

#include <float.h>

enum {
	// From here on triangles are halved in their order, which ends after 31 more levels.
	MAX_SPLIT_DEPTH = CR_SWEEP_MAX_DEPTH - 32,
};

typedef struct triangle_boxes {
	const float *low, *high;
} triangle_boxes;

static inline float centre(const triangle_boxes *boxes, int32_t triangle, int axis)
{
	const int64_t at = 3 * (int64_t)triangle + axis;
	return 0.5f * boxes->low[at] + 0.5f * boxes->high[at];
}

static box3f bound_centres(const triangle_boxes *boxes, const int32_t *order, int32_t count)
{
	box3f box = BOX3F_NONE;
	for (int32_t i = 0; i < count; i++) {
		const float x = centre(boxes, order[i], 0), y = centre(boxes, order[i], 1), z = centre(boxes, order[i], 2);
		box = box3f_join(&(box3f){ { x, y, z }, { x, y, z } }, &box);
	}
	return box;
}

/// Triangles whose centre is below a place come first; returns how many.
static int32_t part_at(const triangle_boxes *boxes, int32_t *order, int32_t count, int axis, float place)
{
	int32_t left = 0, right = count;
	while (left < right) {
		if (centre(boxes, order[left], axis) < place) {
			left++;
		} else {
			const int32_t other = order[--right];
			order[right] = order[left];
			order[left] = other;
		}
	}
	return left;
}

static int32_t split_median(const triangle_boxes *boxes, const box3f *centres, int32_t *order, int32_t count)
{
	int axis = 0;
	for (int k = 1; k < 3; k++) {
		if (centres->upper[k] - centres->lower[k] > centres->upper[axis] - centres->lower[axis])
			axis = k;
	}
	return part_at(boxes, order, count, axis, 0.5f * centres->lower[axis] + 0.5f * centres->upper[axis]);
}

// ---- Surface area heuristic ----

typedef struct split_map {
	triangle_boxes boxes;
	box3f centres;
} split_map;

enum { SPLIT_BINS = 16 };
typedef int32_t split_item;
typedef box3f split_box;
typedef double split_real;
#define SPLIT_NONE BOX3F_NONE

static inline int split_bin(const split_map *map, const int32_t *triangle, int axis)
{
	const float lower = map->centres.lower[axis], width = map->centres.upper[axis] - lower;
	const int bin = (int)((centre(&map->boxes, *triangle, axis) - lower) / width * SPLIT_BINS);
	return bin < SPLIT_BINS ? bin : SPLIT_BINS - 1;
}

static inline box3f split_join(box3f a, box3f b) { return box3f_join(&a, &b); }

static inline double split_area(box3f box) { return box3f_area(&box); }

static inline double split_weight(int32_t count) { return count; }

#include "tree/split.h"

static int32_t split_sah(const split_map *map, int32_t *order, int32_t count)
{
	split best = { -1, 0, DBL_MAX };
	for (int axis = 0; axis < 3; axis++) {
		const float width = map->centres.upper[axis] - map->centres.lower[axis];
		if (!(width > 0) || !(width <= FLT_MAX))
			continue;
		split_row row;
		split_clear(&row);
		for (int32_t i = 0; i < count; i++) {
			box3f box;
			memcpy(box.lower, &map->boxes.low[3 * (int64_t)order[i]], sizeof box.lower);
			memcpy(box.upper, &map->boxes.high[3 * (int64_t)order[i]], sizeof box.upper);
			split_add(&row, split_bin(map, &order[i], axis), box, 1);
		}
		split_axis(&row, axis, &best);
	}
	return best.axis < 0 ? 0 : split_part(map, order, count, best.axis, best.bin);
}

int32_t cr_sweep_split(carom_sweep_build build, const float *low, const float *high, int32_t *order, int32_t count, int depth)
{
	int32_t left = 0;
	if (depth < MAX_SPLIT_DEPTH) {
		split_map map = { .boxes = { low, high } };
		map.centres = bound_centres(&map.boxes, order, count);
		left = build == CAROM_SWEEP_SAH ? split_sah(&map, order, count) : split_median(&map.boxes, &map.centres, order, count);
	}
	// All centres in one place, or too deep: the object median of the order as it is.
	return left > 0 && left < count ? left : count / 2;
}
