/// See device_sweep.h.
///
/// Why the impacts are those of the processor: the device drops a pair only where the filters of
/// the processor prove that it does not meet (shaders/sweep_filter.comp), and its boxes, which
/// reach half of the separation and more beyond the places, part only where the first of these
/// filters does. So every pair that the ladder of geom/swept.h would report is left. Every pair of
/// a vertex and a triangle, or of two edges, that share no vertex is met once: no orphans are
/// needed.
///
/// Why the pairs of a proximity scene are those of the processor: candidates at rest are measured
/// by cr_are_near, which rules out what lies farther apart than the distance d along an axis, and
/// what has a computed square of the distance of d^2 at least. So a pair that the device drops
/// along an axis is none. Along a diagonal it must be so far apart that the error of the computed
/// square does not matter: 2^-44 of the square of the longest difference, which is 2 sqrt(3) L at
/// most where coordinates are up to L, so less than 2^-40 L^2. The device drops what is farther
/// apart than the margin, which is d + 2^-20 L here, and its square is above d^2 + 2^-40 L^2.
///
/// Places are sent in single precision, scaled by a power of two, which is exact: so scenes of
/// whatever size use the same bounds. The scale stays while coordinates fill an eighth of it.
#include "sweep/device_sweep.h"
#include "base/parallel.h"
#include "vulkan/gpu_sweep.h"
#include "vulkan/vk_commands.h"

#include <math.h>
#include <string.h>

enum {
	PAIRS_A_PIECE = 2048,
	PLACES_A_PIECE = 4096,
	CANDIDATES_A_QUERY = 8, // room for the first search; later ones know better
	LEAST_FILL = 3,         // exponents by which the largest coordinate may fall below the scale
};

// A scene that is wider than the margin would have pairs that do not meet; no more is needed.
#define MOST_MARGIN 8.0
// The smallest scene in which the cubic is asked: its products are far above the allowance of the
// filter of the processor for underflow.
#define LEAST_CUBIC 1e-40
// Of the largest coordinate, which the margin of a proximity scene has beyond the distance.
#define NEAR_ALLOWANCE 0x1p-20

struct cr_device_sweep {
	cr_gpu_sweep gpu;
	bool loaded;
	bool sent;                        // the end of the last step is on the device
	int exponent;                     // coordinates are sent divided by 2^exponent
	CR_ARRAY(float) begin, end, last; // [3*vertices] as sent; last: the end of the last step
	// of a window, where the processor cannot reach the memory of the device
	CR_ARRAY(cr_gpu_sweep_pair) copy;
	uint64_t candidates[2]; // found last, by cr_gpu_sweep_kind
};

void cr_free_device_sweep(carom_sweep *s)
{
	cr_device_sweep *state = s->on_device;
	if (!state)
		return;
	cr_gpu_lock(s->def.device);
	cr_gpu_free_sweep(s->def.device, &state->gpu);
	cr_gpu_unlock(s->def.device, CAROM_SUCCESS);
	cr_array_free(&s->context, &state->begin);
	cr_array_free(&s->context, &state->end);
	cr_array_free(&s->context, &state->last);
	cr_array_free(&s->context, &state->copy);
	cr_free(&s->context, state, sizeof *state);
	s->on_device = NULL;
}

// ---- The scene ----

static void fill_groups(const carom_sweep *s, uint32_t *groups)
{
	for (int32_t v = 0; v < s->order.vertex_count; v++) {
		const int32_t mesh = cr_mesh_of_vertex(s->mesh_vertices.data, (int32_t)s->meshes.count, s->order.given_vertices[v]);
		groups[v] = (uint32_t)(cr_group_of_mesh(s, mesh) + 1);
	}
}

/// Vertices that triangles use: they come first.
static int32_t used_vertices(const cr_sweep_scene *scene)
{
	int32_t used = 0;
	for (int64_t i = 0; i < 3 * (int64_t)scene->triangle_count; i++)
		used = scene->triangles[i] >= used ? scene->triangles[i] + 1 : used;
	return used;
}

static carom_result load(carom_sweep *s)
{
	const cr_sweep_scene *scene = &s->scene;
	const size_t bytes = (size_t)scene->vertex_count * sizeof(uint32_t);
	uint32_t *groups = cr_alloc(&s->context, bytes);
	if (!groups)
		return cr_fail_memory(&s->context, "a sweep on a device");
	fill_groups(s, groups);
	const cr_gpu_sweep_mesh mesh = { scene->triangles, scene->edges, groups, (uint32_t)scene->vertex_count,
		(uint32_t)used_vertices(scene), (uint32_t)scene->triangle_count, (uint32_t)scene->edge_count };
	cr_gpu_lock(s->def.device);
	carom_result result = cr_gpu_load_sweep(s->def.device, &s->on_device->gpu, &mesh);
	result = cr_gpu_unlock(s->def.device, result);
	cr_free(&s->context, groups, bytes);
	s->on_device->loaded = result == CAROM_SUCCESS;
	return result;
}

// ---- The step ----

typedef struct rounding {
	const carom_sweep *sweep;
	float *begin, *end;
	double scale;
} rounding;

static void round_places(int64_t first, int64_t last, int worker, void *context)
{
	(void)worker;
	const rounding *r = context;
	for (int64_t i = 3 * first; i < 3 * last; i++) {
		r->begin[i] = (float)(r->sweep->scene_begin[i] * r->scale);
		r->end[i] = (float)(r->sweep->scene_end[i] * r->scale);
	}
}

static void bound_places(const float *places, int64_t vertices, float lower[3], float upper[3])
{
	for (int64_t i = 0; i < vertices; i++) {
		for (int k = 0; k < 3; k++) {
			lower[k] = fminf(lower[k], places[3 * i + k]);
			upper[k] = fmaxf(upper[k], places[3 * i + k]);
		}
	}
}

/// A scale by which no coordinate is beyond 1; another one than before only where it must be.
static void choose_scale(cr_device_sweep *state, double largest)
{
	int exponent;
	frexp(largest, &exponent);
	exponent = exponent > -1000 ? exponent : -1000; // 2^1000 is a number yet
	if (!state->sent || exponent > state->exponent || exponent < state->exponent - LEAST_FILL) {
		state->exponent = exponent;
		state->sent = false;
	}
}

static carom_result round_step(carom_sweep *s, cr_gpu_sweep_step *step)
{
	cr_device_sweep *state = s->on_device;
	const int64_t vertices = s->order.vertex_count;
	const double largest = cr_sweep_largest(s);
	if (!cr_array_reserve(&s->context, &state->begin, 3 * vertices) ||
		!cr_array_reserve(&s->context, &state->end, 3 * vertices) || !cr_array_reserve(&s->context, &state->last, 3 * vertices))
		return cr_fail_memory(&s->context, "places for a device");
	choose_scale(state, largest);
	rounding r = { s, state->begin.data, state->end.data, ldexp(1, -state->exponent) };
	cr_parallel_for(&s->context, round_places, vertices, PLACES_A_PIECE, &r);
	const bool rests = s->taker.take && !s->taker.moves;
	const double allowance = rests ? NEAR_ALLOWANCE * largest : cr_sweep_bulge(s);
	const double margin = (s->def.min_separation + cr_sweep_thickness(s) + allowance) * r.scale * (1 + 0x1p-18);
	*step = (cr_gpu_sweep_step){ .begin = r.begin, .end = r.end, .lower = { 1, 1, 1 }, .upper = { -1, -1, -1 } };
	step->margin = (float)(fmin(margin, MOST_MARGIN) * (1 + 0x1p-20)) + (margin > 0 ? 0x1p-100f : 0);
	step->is_cubic = !(margin > 0) && largest > LEAST_CUBIC;
	bound_places(r.begin, vertices, step->lower, step->upper);
	bound_places(r.end, vertices, step->lower, step->upper);
	const size_t bytes = 3 * (size_t)vertices * sizeof(float);
	if (rests)
		step->begin = step->end; // nothing moves
	else if (state->sent && memcmp(r.begin, state->last.data, bytes) == 0)
		step->begin = NULL;
	memcpy(state->last.data, r.end, bytes);
	return CAROM_SUCCESS;
}

static carom_result move(carom_sweep *s, const cr_gpu_sweep_step *step)
{
	s->on_device->sent = false; // unless all goes well
	cr_gpu_lock(s->def.device);
	carom_result result = cr_gpu_move_sweep(s->def.device, &s->on_device->gpu, step);
	result = cr_gpu_unlock(s->def.device, result);
	s->on_device->sent = result == CAROM_SUCCESS;
	return result;
}

// ---- Pairs ----

typedef struct hand_task {
	carom_sweep *sweep;
	cr_gpu_sweep_kind kind;
	const cr_gpu_sweep_pair *pairs;
} hand_task;

static void hand_pieces(int64_t begin, int64_t end, int worker, void *context)
{
	const hand_task *task = context;
	const cr_sweep_scene *scene = &task->sweep->scene;
	cr_sweep_worker *w = task->sweep->workers[worker];
	for (int64_t i = begin; i < end; i++) {
		const int32_t a = (int32_t)task->pairs[i].a, b = (int32_t)task->pairs[i].b;
		const int32_t *t = &scene->triangles[3 * (int64_t)b];
		const bool faces = task->kind == CR_GPU_SWEEP_FACES;
		const cr_feature_pair pair = faces ? (cr_feature_pair){ { a, t[0], t[1], t[2] }, a, b } : cr_make_edge_pair(scene, a, b);
		if (cr_sweep_worker_admits(w, pair.vertices[0], pair.vertices[faces ? 1 : 2]))
			cr_sweep_worker_add(w, faces ? CR_SWEPT_VERTEX_FACE : CR_SWEPT_EDGE_EDGE, &pair);
	}
}

/// Where the processor reads count pairs of a window; NULL: a failure, in *result.
static const cr_gpu_sweep_pair *read_window(carom_sweep *s, uint64_t count, carom_result *result)
{
	cr_device_sweep *state = s->on_device;
	const cr_gpu_buffer *buffer = &state->gpu.pairs;
	if (!buffer->mapped && !cr_array_reserve_fresh(&s->context, &state->copy, (int64_t)count)) {
		*result = cr_fail_memory(&s->context, "pairs from a device");
		return NULL;
	}
	cr_gpu_sweep_pair *to = buffer->mapped ? buffer->mapped : state->copy.data;
	cr_gpu_lock(s->def.device);
	*result = cr_gpu_download(s->def.device, buffer, to, count * sizeof(cr_gpu_sweep_pair));
	*result = cr_gpu_unlock(s->def.device, *result);
	return *result == CAROM_SUCCESS ? to : NULL;
}

static carom_result hand_window(
	carom_sweep *s, const cr_gpu_sweep_step *step, cr_gpu_sweep_window *window, cr_gpu_sweep_counts *counts)
{
	uint64_t count;
	cr_gpu_lock(s->def.device);
	carom_result result = cr_gpu_sweep_next(s->def.device, &s->on_device->gpu, step, window, &count, counts);
	result = cr_gpu_unlock(s->def.device, result);
	if (result != CAROM_SUCCESS || count == 0)
		return result;
	hand_task task = { s, window->kind, read_window(s, count, &result) };
	if (task.pairs)
		cr_parallel_for(&s->context, hand_pieces, (int64_t)count, PAIRS_A_PIECE, &task);
	return result;
}

static carom_result find_kind(carom_sweep *s, const cr_gpu_sweep_step *step, cr_gpu_sweep_kind kind, cr_gpu_sweep_counts *counts)
{
	cr_device_sweep *state = s->on_device;
	const uint64_t last = state->candidates[kind], features = (uint64_t)s->scene.edge_count;
	cr_gpu_sweep_window window;
	cr_gpu_lock(s->def.device);
	carom_result result = cr_gpu_start_sweep(
		s->def.device, &state->gpu, kind, last > 0 ? last + last / 8 : CANDIDATES_A_QUERY * features, &window);
	result = cr_gpu_unlock(s->def.device, result);
	while (result == CAROM_SUCCESS && window.next < window.end)
		result = hand_window(s, step, &window, counts);
	state->candidates[kind] = counts->candidates;
	return result;
}

carom_result cr_find_on_device(carom_sweep *s)
{
	if (s->scene.triangle_count < 2)
		return CAROM_SUCCESS; // all that there is shares a vertex
	if (!s->on_device && !(s->on_device = cr_alloc_zero(&s->context, sizeof *s->on_device)))
		return cr_fail_memory(&s->context, "a sweep on a device");
	carom_result result = s->on_device->loaded ? CAROM_SUCCESS : load(s);
	cr_gpu_sweep_step step;
	if (result == CAROM_SUCCESS)
		result = round_step(s, &step);
	if (result == CAROM_SUCCESS)
		result = move(s, &step);
	cr_gpu_sweep_counts counts[2] = { { 0 } };
	for (int kind = 0; kind < 2 && result == CAROM_SUCCESS; kind++)
		result = find_kind(s, &step, (cr_gpu_sweep_kind)kind, &counts[kind]);
	if (result != CAROM_SUCCESS)
		return result;
	s->stats.tests_vf = (int64_t)counts[CR_GPU_SWEEP_FACES].candidates;
	s->stats.tests_ee = (int64_t)counts[CR_GPU_SWEEP_EDGES].candidates;
	for (int kind = 0; kind < 2; kind++)
		s->stats.volume_tests += (int64_t)(2 * counts[kind].visits + counts[kind].tests);
	return CAROM_SUCCESS;
}
