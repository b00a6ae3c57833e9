/// Builder along the Morton curve (Lauterbach et al., Fast BVH Construction on GPUs, 2009), with
/// tops by the surface area heuristic.
///
/// Centres of boxes get codes and are sorted by them. A node parts where the codes of its range
/// differ first; equal codes are halved. Boxes come afterwards, by the refit. With a top by the
/// heuristic, primitives in one cell of the curve's coarse grid are a cluster; clusters are parted
/// by binned SAH and put in that order, and the codes part the inside of each.
#include "base/parallel.h"
#include "math/box3.h"
#include "tree/morton.h"
#include "tree/slots.h"
#include <math.h>
#include <string.h>

enum {
	CLUSTER_BITS = 12,
	MAX_CLUSTERS = 1 << CLUSTER_BITS,
	// From this depth on clusters are halved: the top then ends before CR_HALVE_DEPTH.
	TOP_HALVE_DEPTH = 16,
	CHUNK_SIZE = 8192,
};

typedef struct cluster {
	box3f bounds;
	int32_t first, count;
} cluster;

typedef struct builder {
	const cr_build_boxes *boxes;
	cr_morton_frame frame;
	cr_key *keys, *scratch;
	cluster *clusters; // NULL: codes alone part
	uint8_t *level;    // [cluster_count] depth of the node that parts before a cluster
	int32_t cluster_count;
} builder;

// ---- Codes ----

static inline float centre(const cr_build_boxes *boxes, int64_t i, int axis)
{
	return 0.5f * boxes->lower[axis][i] + 0.5f * boxes->upper[axis][i];
}

static cr_morton_frame frame_of(const cr_build_boxes *boxes)
{
	box3f all = BOX3F_NONE;
	for (int k = 0; k < 3; k++) {
		for (int32_t i = 0; i < boxes->count; i++) {
			const float c = centre(boxes, i, k);
			all.lower[k] = c < all.lower[k] ? c : all.lower[k];
			all.upper[k] = c > all.upper[k] ? c : all.upper[k];
		}
	}
	return cr_make_morton_frame(all.lower, all.upper);
}

static void make_codes(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	const builder *b = user;
	for (int64_t i = begin; i < end; i++) {
		const uint64_t code = cr_morton_code(&b->frame, centre(b->boxes, i, 0), centre(b->boxes, i, 1), centre(b->boxes, i, 2));
		b->keys[i] = (cr_key){ code, (uint32_t)i };
	}
}

// ---- Tops ----

typedef struct split_map {
	box3f centres;
} split_map;

enum { SPLIT_BINS = 16 };
typedef cluster split_item;
typedef box3f split_box;
typedef double split_real;
#define SPLIT_NONE BOX3F_NONE

static inline float cluster_centre(const cluster *c, int axis)
{
	return 0.5f * c->bounds.lower[axis] + 0.5f * c->bounds.upper[axis];
}

static inline int split_bin(const split_map *map, const cluster *c, int axis)
{
	const float lower = map->centres.lower[axis], width = map->centres.upper[axis] - lower;
	const int bin = (int)((cluster_centre(c, axis) - lower) / width * SPLIT_BINS);
	return bin < SPLIT_BINS ? bin : SPLIT_BINS - 1;
}

static inline box3f split_join(box3f a, box3f b) { return box3f_join(&a, &b); }

static inline double split_area(box3f b) { return box3f_area(&b); }

static inline double split_weight(int32_t count) { return count; }

#include "tree/split.h"

/// Runs of keys whose upper bits agree.
static void list_clusters(builder *b)
{
	for (int32_t i = 0; i < b->boxes->count; i++) {
		const int drop = CR_MORTON_BITS - CLUSTER_BITS;
		if (i == 0 || b->keys[i].key >> drop != b->keys[i - 1].key >> drop)
			b->clusters[b->cluster_count++] = (cluster){ BOX3F_NONE, i, 0 };
		cluster *c = &b->clusters[b->cluster_count - 1];
		box3f one = BOX3F_NONE;
		cr_build_box(b->boxes, (int32_t)b->keys[i].value, one.lower, one.upper);
		c->bounds = box3f_join(&one, &c->bounds);
		c->count++;
	}
}

/// How many of the clusters go left, 1 to count - 1.
static int32_t part_clusters(cluster *clusters, int32_t count, int depth)
{
	split_map map = { BOX3F_NONE };
	for (int32_t i = 0; i < count; i++) {
		const float x = cluster_centre(&clusters[i], 0), y = cluster_centre(&clusters[i], 1),
					z = cluster_centre(&clusters[i], 2);
		map.centres = box3f_join(&(box3f){ { x, y, z }, { x, y, z } }, &map.centres);
	}
	split best = { -1, 0, INFINITY };
	for (int axis = 0; axis < 3 && depth < TOP_HALVE_DEPTH; axis++) {
		const float width = map.centres.upper[axis] - map.centres.lower[axis];
		if (!(width > 0) || isinf(width))
			continue;
		split_row row;
		split_clear(&row);
		for (int32_t i = 0; i < count; i++)
			split_add(&row, split_bin(&map, &clusters[i], axis), clusters[i].bounds, clusters[i].count);
		split_axis(&row, axis, &best);
	}
	const int32_t left = best.axis < 0 ? 0 : split_part(&map, clusters, count, best.axis, best.bin);
	return left > 0 && left < count ? left : count / 2;
}

/// Order the clusters by the tree over them, note where its nodes part, and bring the keys in that
/// order.
static void make_top(builder *b)
{
	struct {
		int32_t first, count, depth;
	} stack[CR_MAX_DEPTH];
	int top = 0;
	list_clusters(b);
	stack[top].first = stack[top].depth = 0;
	stack[top++].count = b->cluster_count;
	while (top > 0) {
		const int32_t first = stack[--top].first, count = stack[top].count, depth = stack[top].depth;
		if (count < 2)
			continue;
		const int32_t left = part_clusters(b->clusters + first, count, depth);
		b->level[first + left] = (uint8_t)depth;
		stack[top].first = first, stack[top].count = left, stack[top++].depth = depth + 1;
		stack[top].first = first + left, stack[top].count = count - left, stack[top++].depth = depth + 1;
	}
	int32_t place = 0;
	for (int32_t c = 0; c < b->cluster_count; c++) {
		memcpy(b->scratch + place, b->keys + b->clusters[c].first, (size_t)b->clusters[c].count * sizeof *b->keys);
		b->clusters[c].first = place;
		place += b->clusters[c].count;
	}
	cr_key *const ordered = b->scratch;
	b->scratch = b->keys;
	b->keys = ordered;
}

// ---- Nodes ----

/// The cluster that holds a place.
static int32_t cluster_at(const builder *b, int32_t place)
{
	int32_t first = 0, count = b->cluster_count;
	while (count > 1) {
		const int32_t half = count / 2;
		if (b->clusters[first + half].first <= place)
			first += half, count -= half;
		else
			count = half;
	}
	return first;
}

static int32_t split_range(const void *user, const cr_slot_job *range, bool parallel, cr_slot *slot)
{
	(void)parallel;
	(void)slot;
	const builder *b = user;
	if (range->count <= CR_WIDTH)
		return 0;
	if (range->depth >= CR_HALVE_DEPTH)
		return range->count / 2;
	const int32_t end = range->first + range->count;
	if (b->clusters) {
		const int32_t last = cluster_at(b, end - 1);
		for (int32_t c = cluster_at(b, range->first) + 1; c <= last; c++) {
			if (b->level[c] == range->depth)
				return b->clusters[c].first - range->first;
		}
	}
	return (int32_t)cr_morton_split(b->keys, (uint32_t)range->first, (uint32_t)end) - range->first;
}

static carom_result build(carom_context *context, builder *b, cr_tree2 *tree)
{
	const int32_t n = b->boxes->count;
	b->frame = frame_of(b->boxes);
	cr_parallel_for(context, make_codes, n, CHUNK_SIZE, b);
	carom_result result = cr_sort_keys(context, b->keys, b->scratch, n, CR_MORTON_BITS);
	if (result != CAROM_SUCCESS)
		return result;
	if (b->clusters)
		make_top(b);
	result = cr_slots_build(context, n, split_range, b, tree);
	if (result != CAROM_SUCCESS)
		return result;
	for (int32_t i = 0; i < n; i++)
		tree->order[i] = (int32_t)b->keys[i].value;
	cr_tree2_refit(tree, cr_build_box, b->boxes);
	return CAROM_SUCCESS;
}

carom_result cr_tree2_build_morton(carom_context *context, const cr_build_boxes *boxes, bool sah_top, cr_tree2 *tree)
{
	*tree = (cr_tree2){ 0 };
	const size_t n = (size_t)boxes->count, most = n < MAX_CLUSTERS ? n : MAX_CLUSTERS;
	if (n == 0)
		return CAROM_SUCCESS;
	builder b = { .boxes = boxes };
	cr_key *const keys = cr_alloc_array(context, 2 * n, sizeof *keys);
	b.keys = keys;
	b.scratch = keys + (keys ? n : 0);
	b.clusters = sah_top ? cr_alloc_array(context, most, sizeof *b.clusters) : NULL;
	b.level = sah_top ? cr_alloc_array(context, most, sizeof *b.level) : NULL;
	carom_result result = CAROM_OUT_OF_MEMORY;
	if (keys && (!sah_top || (b.clusters && b.level)))
		result = build(context, &b, tree);
	cr_free(context, keys, 2 * n * sizeof *keys);
	cr_free(context, b.clusters, sah_top ? most * sizeof *b.clusters : 0);
	cr_free(context, b.level, sah_top ? most * sizeof *b.level : 0);
	return result == CAROM_SUCCESS ? result : cr_fail_memory(context, "a tree");
}
