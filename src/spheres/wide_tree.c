/// The wide tree. See spheres/wide_tree.h.
///
/// The trees of all bands lie one after the other in one array of spheres. A band of n spheres has
/// 2^depth leaves of at most eight, leaf i the places n * i >> depth to n * (i + 1) >> depth from
/// the band's first: no node needs to say which spheres are its own. Nodes are numbered as in a
/// heap, the root 1, the children of k 2k and 2k + 1.
///
/// A box holds the ball of radius r + skin / 2 around each of its centres, so the boxes of two
/// spheres that touch overlap. Room for roundings: a touching pair (in double as sphere_set.h
/// defines it) is apart by its reach times 1 + 2^-50 at most, and centres err by 2^-53 of their
/// size; squares vanish below 2^-537.
#include "spheres/wide_tree.h"
#include "base/array.h"
#include "base/parallel.h"
#include "math/box3.h"
#include "spheres/sphere_kernels.h"
#include <math.h>

enum {
	BANDS = 16, // of 16 times in radius each
	// exponents of a band as a power of two: 4; the last band takes all that is finer
	BAND_SHIFT = 2,
	LEAF = 8, // spheres of a leaf, at most
	MAX_DEPTH = 32,
};

/// A sphere of the tree.
typedef struct wide_sphere {
	double at[4]; // x, y, z, r
	uint32_t id;  // place in the set
} wide_sphere;

/// Spheres of like radii and their tree.
typedef struct wide_band {
	uint32_t first, count;
	int depth;
	int64_t boxes; // of the tree: node k is at boxes + k
} wide_band;

typedef struct wide_tree {
	carom_context *context;
	double half_skin;
	CR_ARRAY(wide_sphere) spheres;
	CR_ARRAY(box3d) boxes;
	wide_band bands[BANDS];
	cr_pair_batch *batches; // one for each worker
} wide_tree;

// ---- Bands ----

/// The band of a radius, when r_max is the largest.
static int band_of(double radius, int largest)
{
	int exponent;
	frexp(radius, &exponent);
	const int band = (largest - exponent) >> BAND_SHIFT;
	return radius > 0 && band < BANDS ? band : BANDS - 1;
}

static int depth_for(uint32_t count)
{
	int depth = 0;
	while (((uint64_t)count + (1ull << depth) - 1) >> depth > LEAF)
		depth++;
	return depth;
}

/// Deal the spheres of the set into bands. Returns the number of boxes that they need.
static int64_t deal_bands(wide_tree *tree, const cr_sphere_set *set)
{
	double r_max = 0;
	for (uint32_t i = 0; i < set->count; i++)
		r_max = fmax(r_max, cr_read_sphere(set, i).r);
	int largest;
	frexp(r_max, &largest);
	for (int b = 0; b < BANDS; b++)
		tree->bands[b] = (wide_band){ 0 };
	for (uint32_t i = 0; i < set->count; i++)
		tree->bands[band_of(cr_read_sphere(set, i).r, largest)].count++;
	uint32_t first = 0, next[BANDS];
	int64_t boxes = 0;
	for (int b = 0; b < BANDS; b++) {
		wide_band *band = &tree->bands[b];
		band->first = next[b] = first;
		band->depth = depth_for(band->count);
		band->boxes = boxes;
		first += band->count;
		boxes += (int64_t)2 << band->depth;
	}
	for (uint32_t i = 0; i < set->count; i++) {
		const cr_exact_sphere s = cr_read_sphere(set, i);
		tree->spheres.data[next[band_of(s.r, largest)]++] = (wide_sphere){ { s.x, s.y, s.z, s.r }, i };
	}
	return boxes;
}

// ---- Building ----

/// The places of node `index` (from 0) of those at a depth.
static inline uint32_t place_of(const wide_band *band, uint64_t index, int depth)
{
	return band->first + (uint32_t)(band->count * index >> depth);
}

static inline uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
	return x ^ x >> 29;
}

static double median3(double a, double b, double c) { return fmax(fmin(a, b), fmin(fmax(a, b), c)); }

/// Bring the spheres of s[count] into such an order along an axis that none before middle is above
/// any from there on (Hoare 1961, from pivots at places that no input can foresee).
static void part_spheres(wide_sphere *s, int64_t count, int64_t middle, int axis)
{
	for (int64_t low = 0, high = count - 1; low < high;) {
		const uint64_t span = (uint64_t)(high - low) + 1, seed = mix((uint64_t)low << 32 ^ (uint64_t)high);
		const double pivot = median3(s[low + (int64_t)(seed % span)].at[axis], s[low + (int64_t)(mix(seed) % span)].at[axis],
			s[low + (int64_t)(span / 2)].at[axis]);
		int64_t i = low, j = high;
		while (i <= j) {
			while (s[i].at[axis] < pivot)
				i++;
			while (s[j].at[axis] > pivot)
				j--;
			if (i <= j) {
				const wide_sphere swap = s[i];
				s[i++] = s[j];
				s[j--] = swap;
			}
		}
		if (middle <= j)
			high = j;
		else if (middle >= i)
			low = i;
		else
			return;
	}
}

static int longest_axis(const wide_sphere *s, int64_t count)
{
	double length[3];
	for (int k = 0; k < 3; k++) {
		double low = INFINITY, high = -INFINITY;
		for (int64_t i = 0; i < count; i++) {
			low = s[i].at[k] < low ? s[i].at[k] : low;
			high = s[i].at[k] > high ? s[i].at[k] : high;
		}
		length[k] = high - low;
	}
	return length[0] >= length[1] && length[0] >= length[2] ? 0 : length[1] >= length[2] ? 1 : 2;
}

/// The nodes of one band at one depth.
typedef struct level_task {
	wide_tree *tree;
	const wide_band *band;
	int depth;
} level_task;

static void part_nodes(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	const level_task *task = user;
	for (int64_t n = begin; n < end; n++) {
		const uint32_t first = place_of(task->band, (uint64_t)n, task->depth),
					   middle = place_of(task->band, 2 * (uint64_t)n + 1, task->depth + 1),
					   last = place_of(task->band, (uint64_t)n + 1, task->depth);
		wide_sphere *s = task->tree->spheres.data + first;
		part_spheres(s, last - first, middle - first, longest_axis(s, last - first));
	}
}

static inline box3d box_of(const wide_tree *tree, const wide_sphere *s)
{
	box3d box;
	const double reach = (s->at[3] + tree->half_skin) * (1 + 0x1p-40) + 0x1p-500;
	for (int k = 0; k < 3; k++) {
		const double margin = fabs(s->at[k]) * 0x1p-50;
		box.lower[k] = s->at[k] - reach - margin;
		box.upper[k] = s->at[k] + reach + margin;
	}
	return box;
}

static void box_nodes(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	const level_task *task = user;
	box3d *boxes = task->tree->boxes.data + task->band->boxes;
	for (int64_t n = begin; n < end; n++) {
		const int64_t node = ((int64_t)1 << task->depth) + n;
		box3d box = BOX3D_NONE;
		if (task->depth < task->band->depth) {
			box = box3d_join(&boxes[2 * node], &boxes[2 * node + 1]);
		} else {
			for (uint32_t i = place_of(task->band, (uint64_t)n, task->depth);
				 i < place_of(task->band, (uint64_t)n + 1, task->depth); i++) {
				const box3d one = box_of(task->tree, &task->tree->spheres.data[i]);
				box = box3d_join(&one, &box);
			}
		}
		boxes[node] = box;
	}
}

static void build_band(wide_tree *tree, const wide_band *band)
{
	level_task task = { tree, band, 0 };
	for (task.depth = 0; task.depth < band->depth; task.depth++)
		cr_parallel_for(tree->context, part_nodes, (int64_t)1 << task.depth, 1 + (1024 >> (band->depth - task.depth)), &task);
	for (task.depth = band->depth; task.depth >= 0; task.depth--)
		cr_parallel_for(tree->context, box_nodes, (int64_t)1 << task.depth, 256, &task);
}

static carom_result build(void **state, const cr_sphere_set *set)
{
	carom_context *context = set->context;
	wide_tree *tree = *state ? *state : cr_alloc_zero(context, sizeof *tree);
	*state = tree;
	if (tree) {
		tree->context = context;
		tree->half_skin = set->skin / 2;
		if (!tree->batches)
			tree->batches = cr_alloc_array(context, (size_t)context->thread_count, sizeof *tree->batches);
	}
	if (!tree || !tree->batches || !cr_array_reserve_fresh(context, &tree->spheres, set->count) ||
		!cr_array_reserve_fresh(context, &tree->boxes, deal_bands(tree, set)))
		return cr_fail_memory(context, "the wide tree of spheres");
	for (int b = 0; b < BANDS; b++)
		build_band(tree, &tree->bands[b]);
	return CAROM_SUCCESS;
}

// ---- Searching ----

/// The leaves of one band through the tree of another, or of the same.
typedef struct find_task {
	const wide_tree *tree;
	const cr_sphere_set *set;
	const cr_pair_sink *sink;
	const wide_band *from, *into;
} find_task;

/// One worker's part of it.
typedef struct leaf_search {
	const find_task *task;
	cr_sphere_search search;
	uint32_t begin, end; // places of the leaf
	box3d box;           // of the leaf
} leaf_search;

/// Each sphere of the leaf with those of another, or behind it in the same.
static void compare_leaves(const leaf_search *l, int64_t leaf)
{
	const find_task *task = l->task;
	const wide_tree *tree = task->tree;
	cr_pair_batch *batch = l->search.batch;
	const uint32_t begin = place_of(task->into, (uint64_t)leaf, task->into->depth),
				   end = place_of(task->into, (uint64_t)leaf + 1, task->into->depth);
	const box3d *other = &tree->boxes.data[task->into->boxes + ((int64_t)1 << task->into->depth) + leaf];
	for (uint32_t i = l->begin; i < l->end; i++) {
		const box3d box = box_of(tree, &tree->spheres.data[i]);
		if (!box3d_overlap(&box, other))
			continue;
		for (uint32_t j = begin == l->begin ? i + 1 : begin; j < end; j++) {
			const uint32_t a = tree->spheres.data[i].id, b = tree->spheres.data[j].id;
			if (cr_is_ghost(task->set, a) && cr_is_ghost(task->set, b))
				continue;
			batch->tests++;
			if (!cr_spheres_touch(task->set, a, b) || !cr_name_pair(task->set, a, b, &batch->pairs[batch->count]))
				continue;
			if (++batch->count == CR_PAIR_BATCH)
				cr_flush_pairs(batch, task->sink, l->search.worker);
		}
	}
}

/// All leaves of the other tree that the leaf's box overlaps; of the own one those from the leaf
/// on.
static void search_leaf(const leaf_search *l, int64_t least)
{
	const wide_band *into = l->task->into;
	const box3d *boxes = l->task->tree->boxes.data + into->boxes;
	struct {
		int64_t node;
		int depth;
	} stack[MAX_DEPTH + 1], top;
	int count = 1;
	stack[0].node = 1;
	stack[0].depth = 0;
	while (count > 0 && !l->search.batch->stopped) {
		top = stack[--count];
		const int below = into->depth - top.depth;
		const int64_t last_leaf = ((top.node + 1) << below) - 1 - ((int64_t)1 << into->depth);
		if (last_leaf < least || !box3d_overlap(&l->box, &boxes[top.node]))
			continue;
		if (below == 0) {
			compare_leaves(l, last_leaf);
			continue;
		}
		for (int child = 1; child >= 0; child--) {
			stack[count].node = 2 * top.node + child;
			stack[count++].depth = top.depth + 1;
		}
	}
}

static void find_leaves(int64_t begin, int64_t end, int worker, void *user)
{
	const find_task *task = user;
	const wide_band *from = task->from;
	leaf_search l = { task, { task->set, task->sink, &task->tree->batches[worker], worker }, 0, 0, { { 0 }, { 0 } } };
	for (int64_t leaf = begin; leaf < end && !l.search.batch->stopped; leaf++) {
		l.begin = place_of(from, (uint64_t)leaf, from->depth);
		l.end = place_of(from, (uint64_t)leaf + 1, from->depth);
		l.box = task->tree->boxes.data[from->boxes + ((int64_t)1 << from->depth) + leaf];
		search_leaf(&l, task->from == task->into ? leaf : 0);
	}
}

static carom_result find(void *state, const cr_sphere_set *set, const cr_pair_sink *sink, int64_t *tests)
{
	const wide_tree *tree = state;
	const int workers = set->context->thread_count;
	cr_clear_batches(tree->batches, workers);
	for (int a = 0; a < BANDS; a++) {
		for (int b = a; b < BANDS; b++) {
			const wide_band *coarse = &tree->bands[a], *fine = &tree->bands[b];
			const bool few = coarse->count <= fine->count;
			find_task task = { tree, set, sink, few ? coarse : fine, few ? fine : coarse };
			if (coarse->count > 0 && fine->count > 0)
				cr_parallel_for(set->context, find_leaves, (int64_t)1 << task.from->depth, 16, &task);
		}
	}
	for (int w = 0; w < workers; w++)
		cr_flush_pairs(&tree->batches[w], sink, w);
	*tests = cr_sum_tests(tree->batches, workers);
	return CAROM_SUCCESS;
}

static size_t bytes(const void *state)
{
	const wide_tree *tree = state;
	return sizeof *tree + (size_t)tree->spheres.capacity * sizeof *tree->spheres.data +
		(size_t)tree->boxes.capacity * sizeof *tree->boxes.data +
		(tree->batches ? (size_t)tree->context->thread_count * sizeof *tree->batches : 0);
}

static void release(carom_context *context, void *state)
{
	wide_tree *tree = state;
	if (!tree)
		return;
	cr_array_free(context, &tree->spheres);
	cr_array_free(context, &tree->boxes);
	cr_free(context, tree->batches, (size_t)context->thread_count * sizeof *tree->batches);
	cr_free(context, tree, sizeof *tree);
}

const cr_sphere_detector cr_wide_detector = { build, NULL, find, NULL, bytes, release, NULL };
