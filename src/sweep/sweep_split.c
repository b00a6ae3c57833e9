/// Where the nodes of a swept tree split: spatial median of the longest axis (Tang, Manocha and Tong 2010), or binned surface area
/// heuristic (Wald 2007, On fast Construction of SAH-based Bounding Volume Hierarchies). Centres of boxes decide the side.
#include "sweep/sweep_tree.h"

#include <float.h>

enum {
	BINS = 16,
	// From here on triangles are halved in their order, which ends after 31 more levels.
	MAX_SPLIT_DEPTH = CR_SWEEP_MAX_DEPTH - 32,
};

typedef struct triangle_boxes {
	const float *low, *high;
} triangle_boxes;

typedef struct box3 {
	float low[3], high[3];
} box3;

static inline float centre(const triangle_boxes *boxes, int32_t triangle, int axis)
{
	const int64_t at = 3 * (int64_t)triangle + axis;
	return 0.5f * boxes->low[at] + 0.5f * boxes->high[at];
}

static box3 empty_box(void) { return (box3){ { FLT_MAX, FLT_MAX, FLT_MAX }, { -FLT_MAX, -FLT_MAX, -FLT_MAX } }; }

static inline void widen(box3 *box, const float low[3], const float high[3])
{
	for (int k = 0; k < 3; k++) {
		box->low[k] = low[k] < box->low[k] ? low[k] : box->low[k];
		box->high[k] = high[k] > box->high[k] ? high[k] : box->high[k];
	}
}

static box3 bound_centres(const triangle_boxes *boxes, const int32_t *order, int32_t count)
{
	box3 box = empty_box();
	for (int32_t i = 0; i < count; i++) {
		const float c[3] = { centre(boxes, order[i], 0), centre(boxes, order[i], 1), centre(boxes, order[i], 2) };
		widen(&box, c, c);
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

static int32_t split_median(const triangle_boxes *boxes, const box3 *centres, int32_t *order, int32_t count)
{
	int axis = 0;
	for (int k = 1; k < 3; k++) {
		if (centres->high[k] - centres->low[k] > centres->high[axis] - centres->low[axis])
			axis = k;
	}
	return part_at(boxes, order, count, axis, 0.5f * centres->low[axis] + 0.5f * centres->high[axis]);
}

// ---- Surface area heuristic ----

typedef struct bins {
	box3 box[BINS];
	int32_t count[BINS];
} bins;

static inline int bin_of(const box3 *centres, int axis, float c)
{
	const float width = centres->high[axis] - centres->low[axis];
	const int bin = (int)((c - centres->low[axis]) / width * BINS);
	return bin < BINS ? bin : BINS - 1;
}

static double half_area(const box3 *box)
{
	const double x = (double)box->high[0] - box->low[0], y = (double)box->high[1] - box->low[1];
	const double z = (double)box->high[2] - box->low[2];
	return x * y + y * z + z * x;
}

/// Cost of a split before each bin, infinite where a side would be empty.
static void cost_bins(const bins *all, double cost[BINS])
{
	box3 box = empty_box();
	int32_t count = 0;
	for (int i = 0; i < BINS; i++) {
		cost[i] = count ? half_area(&box) * count : DBL_MAX;
		if (all->count[i])
			widen(&box, all->box[i].low, all->box[i].high);
		count += all->count[i];
	}
	box = empty_box();
	count = 0;
	for (int i = BINS - 1; i >= 0; i--) {
		if (all->count[i])
			widen(&box, all->box[i].low, all->box[i].high);
		count += all->count[i];
		if (cost[i] < DBL_MAX)
			cost[i] = count ? cost[i] + half_area(&box) * count : DBL_MAX;
	}
}

static int32_t split_sah(const triangle_boxes *boxes, const box3 *centres, int32_t *order, int32_t count)
{
	double best = DBL_MAX;
	int best_axis = 0, best_bin = 0;
	for (int axis = 0; axis < 3; axis++) {
		const float width = centres->high[axis] - centres->low[axis];
		if (!(width > 0) || !(width <= FLT_MAX))
			continue;
		bins all = { 0 };
		for (int i = 0; i < BINS; i++)
			all.box[i] = empty_box();
		for (int32_t i = 0; i < count; i++) {
			const int bin = bin_of(centres, axis, centre(boxes, order[i], axis));
			widen(&all.box[bin], &boxes->low[3 * (int64_t)order[i]], &boxes->high[3 * (int64_t)order[i]]);
			all.count[bin]++;
		}
		double cost[BINS];
		cost_bins(&all, cost);
		for (int i = 1; i < BINS; i++) {
			if (cost[i] < best) {
				best = cost[i];
				best_axis = axis;
				best_bin = i;
			}
		}
	}
	if (best == DBL_MAX)
		return 0;
	int32_t left = 0, right = count;
	while (left < right) {
		if (bin_of(centres, best_axis, centre(boxes, order[left], best_axis)) < best_bin) {
			left++;
		} else {
			const int32_t other = order[--right];
			order[right] = order[left];
			order[left] = other;
		}
	}
	return left;
}

int32_t cr_sweep_split(carom_sweep_build build, const float *low, const float *high, int32_t *order, int32_t count, int depth)
{
	int32_t left = 0;
	if (depth < MAX_SPLIT_DEPTH) {
		const triangle_boxes boxes = { low, high };
		const box3 centres = bound_centres(&boxes, order, count);
		left =
			build == CAROM_SWEEP_SAH ? split_sah(&boxes, &centres, order, count) : split_median(&boxes, &centres, order, count);
	}
	// All centres in one place, or too deep: the object median of the order as it is.
	return left > 0 && left < count ? left : count / 2;
}
