/// Features that move, on a device. See vulkan/gpu_sweep.h.
#include "vulkan/gpu_sweep.h"
#include "vulkan/vk_kernels.h"
#include <math.h>
#include <string.h>

enum {
	COUNTER_BYTES = 32, // sweep_search.comp, sweep_filter.comp
	LEAF_BYTES = 32,    // sweep_leaves.comp
	LEAST_ROOM = 1024,
	MOST_ROOM = 1 << 26, // candidates: half a gigabyte, and as much for those that stay
	// Invocations of the filter, which goes through all candidates in steps of as many.
	FILTER_THREADS = 1 << 16,
};

// ---- Memory ----

#define SWEEP_BUFFERS 12

static void list_buffers(cr_gpu_sweep *s, cr_gpu_buffer *list[SWEEP_BUFFERS])
{
	cr_gpu_sweep_tree *faces = &s->trees[0], *edges = &s->trees[1];
	cr_gpu_buffer *all[SWEEP_BUFFERS] = { &faces->vertices, &faces->points, &faces->leaves, &edges->vertices, &edges->points,
		&edges->leaves, &s->groups, &s->places[0], &s->places[1], &s->counters, &s->candidates, &s->pairs };
	memcpy(list, all, sizeof all);
}

uint64_t cr_gpu_sweep_bytes(const cr_gpu_sweep *sweep)
{
	cr_gpu_sweep copy = *sweep;
	cr_gpu_buffer *list[SWEEP_BUFFERS];
	list_buffers(&copy, list);
	uint64_t bytes = cr_gpu_lbvh_bytes(&sweep->trees[0].lbvh) + cr_gpu_lbvh_bytes(&sweep->trees[1].lbvh);
	for (int i = 0; i < SWEEP_BUFFERS; i++)
		bytes += list[i]->size;
	return bytes;
}

void cr_gpu_free_sweep(carom_device *device, cr_gpu_sweep *sweep)
{
	cr_gpu_buffer *list[SWEEP_BUFFERS];
	list_buffers(sweep, list);
	for (int i = 0; i < SWEEP_BUFFERS; i++)
		cr_gpu_free(device, list[i]);
	cr_gpu_free_lbvh(device, &sweep->trees[0].lbvh);
	cr_gpu_free_lbvh(device, &sweep->trees[1].lbvh);
	*sweep = (cr_gpu_sweep){ 0 };
}

static carom_result reserve_tree(carom_device *device, cr_gpu_sweep_tree *tree, uint64_t n, uint64_t corners)
{
	carom_result result = cr_gpu_reserve_lbvh(device, &tree->lbvh, n, true);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &tree->vertices, 4 * corners * n);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &tree->points, 16 * n);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &tree->leaves, LEAF_BYTES * n);
	tree->lbvh.count = (uint32_t)n;
	tree->built_cost = tree->cost = 0;
	return result;
}

static carom_result reserve(carom_device *device, cr_gpu_sweep *s, const cr_gpu_sweep_mesh *mesh)
{
	const uint64_t n = mesh->vertex_count;
	carom_result result = reserve_tree(device, &s->trees[0], mesh->face_count, 3);
	if (result == CAROM_SUCCESS)
		result = reserve_tree(device, &s->trees[1], mesh->edge_count, 2);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &s->groups, 4 * n);
	for (int end = 0; end < 2 && result == CAROM_SUCCESS; end++)
		result = cr_gpu_reserve(device, &s->places[end], 12 * n);
	return result == CAROM_SUCCESS ? cr_gpu_reserve(device, &s->counters, COUNTER_BYTES) : result;
}

carom_result cr_gpu_load_sweep(carom_device *device, cr_gpu_sweep *s, const cr_gpu_sweep_mesh *mesh)
{
	carom_result result = reserve(device, s, mesh);
	s->vertex_count = mesh->vertex_count;
	s->query_count = mesh->query_count;
	if (result == CAROM_SUCCESS)
		result = cr_gpu_upload(device, &s->trees[0].vertices, mesh->faces, 12 * (uint64_t)mesh->face_count);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_upload(device, &s->trees[1].vertices, mesh->edges, 8 * (uint64_t)mesh->edge_count);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_upload(device, &s->groups, mesh->groups, 4 * (uint64_t)mesh->vertex_count);
	return result;
}

static carom_result try_room(carom_device *device, cr_gpu_sweep *s, uint64_t want)
{
	carom_result result = cr_gpu_reserve(device, &s->candidates, want * sizeof(cr_gpu_sweep_pair));
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &s->pairs, want * sizeof(cr_gpu_sweep_pair));
	const uint64_t least = s->pairs.size < s->candidates.size ? s->pairs.size : s->candidates.size;
	s->room = least / sizeof(cr_gpu_sweep_pair);
	s->room = s->room < UINT32_MAX ? s->room : UINT32_MAX;
	return result;
}

/// Room for as many candidates as are wanted, or for as many as there is memory for: the rest comes
/// in further windows.
static carom_result reserve_room(carom_device *device, cr_gpu_sweep *s, uint64_t want)
{
	want = want < MOST_ROOM ? want : MOST_ROOM;
	want = want > LEAST_ROOM ? want : LEAST_ROOM;
	if (want <= s->room)
		return CAROM_SUCCESS;
	for (;;) {
		const carom_result result = try_room(device, s, want);
		const bool scarce = result == CAROM_OUT_OF_MEMORY || result == CAROM_OVER_BUDGET || result == CAROM_UNSUPPORTED;
		if (!scarce || want == LEAST_ROOM)
			return result;
		cr_gpu_free(device, &s->candidates); // each may take all that the other one leaves
		cr_gpu_free(device, &s->pairs);
		want = want / 2 > LEAST_ROOM ? want / 2 : LEAST_ROOM;
	}
}

// ---- A step ----

/// Where features are at the beginning of the step.
static VkDeviceAddress begin_of(const cr_gpu_sweep *s) { return s->places[s->rests].address; }

/// Points along the curve, and a shape over them.
static void record_shape(
	carom_device *device, cr_gpu_sweep *s, cr_gpu_sweep_kind kind, const float lower[3], const float upper[3])
{
	cr_gpu_sweep_tree *tree = &s->trees[kind];
	const uint32_t n = tree->lbvh.count;
	const cr_gpu_arguments points = { { tree->vertices.address, begin_of(s), s->places[1].address, tree->points.address },
		{ n } };
	const cr_kernel kernel = kind == CR_GPU_SWEEP_FACES ? CR_KERNEL_SWEEP_FACE_POINTS : CR_KERNEL_SWEEP_EDGE_POINTS;
	cr_gpu_run(device, kernel, n, CR_GPU_THREADS, &points);
	cr_gpu_record_order(device, &tree->lbvh, tree->points.address, n, lower, upper);
	cr_gpu_record_shape(device, &tree->lbvh);
}

static VkDeviceAddress order_of(const cr_gpu_sweep_tree *tree) { return tree->lbvh.order[tree->lbvh.sorted].address; }

static const float *record_boxes(carom_device *device, cr_gpu_sweep *s, cr_gpu_sweep_kind kind)
{
	cr_gpu_sweep_tree *tree = &s->trees[kind];
	const uint32_t n = tree->lbvh.count;
	const cr_gpu_arguments leaves = { { tree->vertices.address, begin_of(s), s->places[1].address, tree->leaves.address,
										  order_of(tree) },
		{ n, cr_gpu_float_bits(s->margin) } };
	const cr_kernel kernel = kind == CR_GPU_SWEEP_FACES ? CR_KERNEL_SWEEP_FACE_LEAVES : CR_KERNEL_SWEEP_EDGE_LEAVES;
	cr_gpu_run(device, kernel, n, CR_GPU_THREADS, &leaves);
	cr_gpu_record_fit(device, &tree->lbvh, CR_KERNEL_TREE_FIT_BOXES, tree->leaves.address, 0, 0);
	return cr_gpu_record_cost(device, &tree->lbvh);
}

/// Make both trees fit: those that have no shape, or a bad one, get another one.
static carom_result fit_trees(carom_device *device, cr_gpu_sweep *s, const cr_gpu_sweep_step *step)
{
	const float *costs[2];
	bool shaped[2];
	carom_result result = cr_gpu_begin(device);
	if (result != CAROM_SUCCESS)
		return result;
	const uint64_t bytes = 12 * (uint64_t)s->vertex_count;
	if (step->begin && !s->rests)
		cr_gpu_send(device, &s->places[0], step->begin, bytes);
	cr_gpu_send(device, &s->places[1], step->end, bytes);
	for (int kind = 0; kind < 2; kind++) {
		cr_gpu_sweep_tree *tree = &s->trees[kind];
		shaped[kind] = !(tree->built_cost > 0) || tree->cost > CR_GPU_SWEEP_WORSE * tree->built_cost;
		if (shaped[kind])
			record_shape(device, s, (cr_gpu_sweep_kind)kind, step->lower, step->upper);
		costs[kind] = record_boxes(device, s, (cr_gpu_sweep_kind)kind);
		tree->built_cost = shaped[kind] ? 0 : tree->built_cost; // until it is made
	}
	result = cr_gpu_finish(device);
	for (int kind = 0; kind < 2 && result == CAROM_SUCCESS; kind++) {
		s->trees[kind].cost = cr_gpu_lbvh_cost(costs[kind]);
		s->trees[kind].built_cost = shaped[kind] ? s->trees[kind].cost : s->trees[kind].built_cost;
	}
	return result;
}

carom_result cr_gpu_move_sweep(carom_device *device, cr_gpu_sweep *s, const cr_gpu_sweep_step *step)
{
	// Half of the margin belongs to each box.
	s->margin = 0.5f * step->margin;
	s->rests = step->begin == step->end;
	if (!step->begin && !s->rests) {
		const cr_gpu_buffer end = s->places[1];
		s->places[1] = s->places[0];
		s->places[0] = end;
	}
	return fit_trees(device, s, step);
}

// ---- Searching ----

carom_result cr_gpu_start_sweep(
	carom_device *device, cr_gpu_sweep *s, cr_gpu_sweep_kind kind, uint64_t want, cr_gpu_sweep_window *window)
{
	const uint32_t end = kind == CR_GPU_SWEEP_FACES ? s->query_count : s->trees[1].lbvh.count;
	*window = (cr_gpu_sweep_window){ .kind = kind, .end = end, .range = end };
	return reserve_room(device, s, want);
}

static void record_search(carom_device *device, const cr_gpu_sweep *s, const cr_gpu_sweep_window *w, uint32_t count)
{
	const cr_gpu_sweep_tree *tree = &s->trees[w->kind];
	const bool faces = w->kind == CR_GPU_SWEEP_FACES;
	const cr_gpu_arguments arguments = {
		{ tree->lbvh.nodes.address, tree->leaves.address, order_of(tree), begin_of(s), s->places[1].address,
			s->counters.address, s->candidates.address, s->groups.address, tree->vertices.address },
		{ w->next, w->next + count, cr_gpu_float_bits(s->margin), (uint32_t)s->room, (uint32_t)w->skip },
	};
	cr_gpu_run(device, faces ? CR_KERNEL_SWEEP_SEARCH_FACES : CR_KERNEL_SWEEP_SEARCH_EDGES, count, CR_GPU_THREADS, &arguments);
}

static void record_filter(
	carom_device *device, const cr_gpu_sweep *s, const cr_gpu_sweep_step *step, const cr_gpu_sweep_window *w)
{
	const bool faces = w->kind == CR_GPU_SWEEP_FACES;
	const uint64_t threads = s->room < FILTER_THREADS ? s->room : FILTER_THREADS;
	const cr_gpu_arguments arguments = {
		{ begin_of(s), s->places[1].address, s->trees[1].vertices.address, s->trees[0].vertices.address, s->candidates.address,
			s->counters.address, s->pairs.address },
		{ (uint32_t)s->room, cr_gpu_float_bits(step->margin), step->is_cubic, (uint32_t)w->skip },
	};
	cr_gpu_run(device, faces ? CR_KERNEL_SWEEP_FILTER_FACES : CR_KERNEL_SWEEP_FILTER_EDGES, threads, CR_GPU_THREADS, &arguments);
}

typedef struct search_counters {
	uint64_t found, visits, tests;
	uint32_t pairs, unused;
} search_counters;
_Static_assert(sizeof(search_counters) == COUNTER_BYTES, "as the kernels have them");

static carom_result search(carom_device *device, cr_gpu_sweep *s, const cr_gpu_sweep_step *step, const cr_gpu_sweep_window *w,
	uint32_t count, search_counters *counters)
{
	carom_result result = cr_gpu_begin(device);
	if (result != CAROM_SUCCESS)
		return result;
	cr_gpu_clear(device, &s->counters, COUNTER_BYTES);
	record_search(device, s, w, count);
	if (!step->unfiltered)
		record_filter(device, s, step, w);
	const void *read = cr_gpu_read(device, &s->counters, 0, COUNTER_BYTES);
	result = cr_gpu_finish(device);
	if (result == CAROM_SUCCESS)
		memcpy(counters, read, COUNTER_BYTES);
	device->stats.tier = CAROM_TIER_COMPUTE;
	return result;
}

carom_result cr_gpu_sweep_next(carom_device *device, cr_gpu_sweep *s, const cr_gpu_sweep_step *step, cr_gpu_sweep_window *w,
	uint64_t *count, cr_gpu_sweep_counts *counts)
{
	for (;;) {
		const uint32_t left = w->end - w->next, here = w->skip > 0 ? 1 : w->range < left ? w->range : left;
		search_counters found;
		carom_result result = search(device, s, step, w, here, &found);
		if (result != CAROM_SUCCESS)
			return result;
		const uint64_t more = found.found - w->skip;
		counts->visits += found.visits;
		counts->tests += found.tests;
		if (more <= s->room || here == 1) {
			const uint64_t taken = more < s->room ? more : s->room;
			w->skip = more <= s->room ? 0 : w->skip + s->room;
			w->next += w->skip == 0 ? here : 0;
			w->range = 2 * more <= s->room && w->range < w->end ? 2 * w->range : w->range;
			*count = step->unfiltered ? taken : found.pairs;
			counts->candidates += taken;
			counts->pairs += *count;
			return CAROM_SUCCESS;
		}
		const uint64_t room = s->room;
		if (!w->full)
			result = reserve_room(device, s, more + more / 8);
		if (result != CAROM_SUCCESS)
			return result;
		w->full = w->full || s->room < more;
		if (s->room <= room)
			w->range = here / 2;
	}
}
