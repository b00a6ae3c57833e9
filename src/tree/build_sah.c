/// Binned SAH builder of the binary tree.
///
/// Input: boxes. Output: nodes in depth-first order with skip links, and the order of the
/// primitives. Nodes of many primitives are binned by all workers; tree/slots.h says how the nodes
/// are made.

// This file is compiled once, so it uses only instructions that every processor of the target has.
#if defined(CR_HAVE_SSE2)
#define CR_ISA sse2
#elif defined(CR_HAVE_NEON)
#define CR_ISA neon
#endif

#include "base/parallel.h"
#include "math/simd.h"
#include "tree/slots.h"
#include <math.h>
#include <string.h>

enum { PARALLEL_BIN_SIZE = 65536 };

/// Lower x, y, z and 0, then upper x, y, z negated and 0: one minimum of eight lanes grows a box.
typedef struct sides {
	float side[8];
} sides;

typedef struct prim {
	sides bounds;
	float centre[4]; // the last one is 0
	int32_t index;
} prim;

static inline f8 box_lanes(const sides *b) { return f8_load(b->side); }

/// How primitives are put in bins along the three axes.
typedef struct binning {
	float origin[4];
	float scale[4]; // 0: flat along this axis
} binning;

// ---- Names that split.h asks for ----

enum { SPLIT_BINS = 16 };
typedef prim split_item;
typedef binning split_map;
typedef f8 split_box;
typedef float split_real;
#define SPLIT_NONE f8_set1(INFINITY)

static inline int split_bin(const binning *b, const prim *p, int axis)
{
	const int i = (int)((p->centre[axis] - b->origin[axis]) * b->scale[axis]);
	return i < 0 ? 0 : i >= SPLIT_BINS ? SPLIT_BINS - 1 : i;
}

static inline f8 split_join(f8 a, f8 b) { return f8_min(a, b); }

static inline float split_area(f8 lanes)
{
	float side[8];
	f8_store(side, lanes);
	const float x = -side[4] - side[0], y = -side[5] - side[1], z = -side[6] - side[2];
	return x < 0 ? 0 : x * y + y * z + z * x;
}

/// Blocks.
static inline float split_weight(int32_t count) { return count <= CR_WIDTH ? 1.0f : (float)count * (1.0f / CR_WIDTH); }

#include "tree/split.h"

// ---- Bins ----

typedef struct bin_set {
	split_row rows[3];
} bin_set;

/// split_bin for all axes.
static inline void bins_of(const binning *b, const prim *p, int bins[4])
{
	for (int k = 0; k < 4; k++)
		bins[k] = (int)((p->centre[k] - b->origin[k]) * b->scale[k]);
	for (int k = 0; k < 4; k++)
		bins[k] = bins[k] < 0 ? 0 : bins[k] >= SPLIT_BINS ? SPLIT_BINS - 1 : bins[k];
}

typedef struct builder {
	carom_context *context;
	float traversal_cost;
	prim *prims;
	bin_set *worker_bins; // [thread_count], for parallel binning
} builder;

static binning make_binning(const float lower[4], const float upper[4])
{
	binning b = { { 0 }, { 0 } };
	for (int k = 0; k < 3; k++) {
		const float extent = upper[k] - lower[k];
		const float scale = (float)SPLIT_BINS / extent;
		b.origin[k] = lower[k];
		b.scale[k] = extent > 0 && isfinite(scale) ? scale : 0;
	}
	return b;
}

static void clear_bins(bin_set *set)
{
	for (int k = 0; k < 3; k++)
		split_clear(&set->rows[k]);
}

static void fill_bins(const binning *b, const prim *prims, int64_t begin, int64_t end, bin_set *set)
{
	for (int64_t i = begin; i < end; i++) {
		const f8 lanes = box_lanes(&prims[i].bounds);
		int bins[4];
		bins_of(b, &prims[i], bins);
		for (int k = 0; k < 3; k++)
			split_add(&set->rows[k], bins[k], lanes, 1);
	}
}

typedef struct fill_task {
	const builder *builder;
	const binning *map;
	const prim *prims;
} fill_task;

static void fill_bins_task(int64_t begin, int64_t end, int worker, void *task)
{
	const fill_task *t = task;
	fill_bins(t->map, t->prims, begin, end, &t->builder->worker_bins[worker]);
}

/// Bins of a range. Boxes and counts merge in any order to the same values, so the cut among
/// workers does not show.
static void bin_range(const builder *b, const binning *map, int32_t first, int32_t count, bool parallel, bin_set *set)
{
	clear_bins(set);
	if (!parallel || count < PARALLEL_BIN_SIZE) {
		fill_bins(map, b->prims, first, (int64_t)first + count, set);
		return;
	}
	for (int w = 0; w < b->context->thread_count; w++)
		clear_bins(&b->worker_bins[w]);
	fill_task task = { b, map, b->prims + first };
	cr_parallel_for(b->context, fill_bins_task, count, PARALLEL_BIN_SIZE / 4, &task);
	for (int w = 0; w < b->context->thread_count; w++) {
		for (int k = 0; k < 3; k++) {
			const split_row *from = &b->worker_bins[w].rows[k];
			for (int i = 0; i < SPLIT_BINS; i++) {
				if (from->used >> i & 1)
					split_add(&set->rows[k], i, from->bounds[i], from->count[i]);
			}
		}
	}
}

static split best_split(const bin_set *set, const binning *b)
{
	split best = { -1, 0, INFINITY };
	for (int axis = 0; axis < 3; axis++) {
		if (b->scale[axis] != 0)
			split_axis(&set->rows[axis], axis, &best);
	}
	return best;
}

/// The box of a node and its primitives into the node, and the box of their centres.
static float bound_node(const prim *prims, cr_slot *raw, float lower[4], float upper[4])
{
	f8 bounds = f8_set1(INFINITY);
	for (int k = 0; k < 4; k++) {
		lower[k] = INFINITY;
		upper[k] = -INFINITY;
	}
	for (int32_t i = 0; i < raw->count; i++) {
		const float *c = prims[i].centre;
		bounds = f8_min(box_lanes(&prims[i].bounds), bounds);
		for (int k = 0; k < 4; k++)
			lower[k] = c[k] < lower[k] ? c[k] : lower[k];
		for (int k = 0; k < 4; k++)
			upper[k] = c[k] > upper[k] ? c[k] : upper[k];
	}
	float side[8];
	f8_store(side, bounds);
	for (int k = 0; k < 3; k++) {
		raw->lower[k] = side[k];
		raw->upper[k] = -side[4 + k];
	}
	return split_area(bounds);
}

/// Part a node that fits in a block only where that is worth a level of the tree. A level that
/// costs a whole block never is.
static bool may_split(const builder *b, const cr_slot_job *node)
{
	return node->count > CR_WIDTH || (node->count > 1 && node->depth < CR_HALVE_DEPTH && b->traversal_cost < 1);
}

/// How many primitives of a node go left; 0 makes it a leaf.
static int32_t split_node(const void *user, const cr_slot_job *node, bool parallel, cr_slot *slot)
{
	const builder *b = user;
	prim *prims = b->prims + node->first;
	float lower[4], upper[4];
	const float area = bound_node(prims, slot, lower, upper);
	if (!may_split(b, node))
		return 0;
	int32_t left = 0;
	if (node->depth < CR_HALVE_DEPTH) {
		const binning map = make_binning(lower, upper);
		bin_set set;
		bin_range(b, &map, node->first, node->count, parallel, &set);
		const split s = best_split(&set, &map);
		const bool fits = node->count <= CR_WIDTH;
		// The negation also makes a leaf of a range without area or with a NaN cost.
		if (fits && !(s.axis >= 0 && s.cost + b->traversal_cost * area < area))
			return 0;
		if (s.axis >= 0)
			left = split_part(&map, prims, node->count, s.axis, s.bin);
	}
	return left == 0 || left == node->count ? node->count / 2 : left;
}

static void take_boxes(builder *b, const cr_build_boxes *boxes)
{
	for (int32_t i = 0; i < boxes->count; i++) {
		prim *p = &b->prims[i];
		p->bounds.side[3] = p->bounds.side[7] = p->centre[3] = 0;
		for (int k = 0; k < 3; k++) {
			const float lower = boxes->lower[k][i], upper = boxes->upper[k][i];
			p->bounds.side[k] = lower;
			p->bounds.side[4 + k] = -upper;
			p->centre[k] = 0.5f * lower + 0.5f * upper;
		}
		p->index = i;
	}
}

carom_result cr_tree2_build(carom_context *context, const cr_build_boxes *boxes, float traversal_cost, cr_tree2 *tree)
{
	*tree = (cr_tree2){ 0 };
	const int32_t n = boxes->count;
	if (n == 0)
		return CAROM_SUCCESS;
	const size_t workers = (size_t)context->thread_count;
	builder b = { .context = context, .traversal_cost = traversal_cost };
	b.prims = cr_alloc_array(context, (size_t)n, sizeof(prim));
	b.worker_bins = cr_alloc_array(context, workers, sizeof(bin_set));
	carom_result result = CAROM_OUT_OF_MEMORY;
	if (b.prims && b.worker_bins) {
		take_boxes(&b, boxes);
		result = cr_slots_build(context, n, split_node, &b, tree);
	}
	for (int32_t i = 0; result == CAROM_SUCCESS && i < n; i++)
		tree->order[i] = b.prims[i].index;
	cr_free(context, b.prims, (size_t)n * sizeof(prim));
	cr_free(context, b.worker_bins, workers * sizeof(bin_set));
	return result == CAROM_SUCCESS ? result : cr_fail_memory(context, "a tree");
}
