/// Vertex stage: which samples of each body of a pair cast a ray into the other.
///
/// Input: kept pairs of the ray algorithm. Output: two lists of rays in the target's frame, in chunks of the worker that made
/// them; each ordered pair remembers its range.
/// - Full: samples are found by walking the source's tree in the target's box, not by scanning (Lehericey 2013, 1.2), and those
///   that the target's grid knows to be outside are dropped; where entries are predicted, those too far outside.
/// - Iterative: the samples that the pair watches, and nothing else. Within a piece of the work the sides come sorted by
///   target, so that the rays of many pairs fill the lanes of one walk.
/// Parallel over pairs; no order is needed, since ranges hang on the pairs. (Lehericey, Gouranton and Arnaldi 2015, per-vertex
/// step.)

#include "base/parallel.h"
#include "detect/memory.h"
#include <string.h>

enum {
	// Rays of one chunk: enough that a chunk is rarely cut short, small enough for the second-level cache (avalanche, phase B).
	CHUNK_RAYS = 4096,
	PAIRS_PER_TASK = 64,
};

static cr_ray_chunk *new_chunk(cr_worker *worker, int32_t capacity)
{
	const size_t n = (size_t)capacity;
	cr_ray_chunk *chunk = cr_arena_alloc(&worker->arena, sizeof *chunk);
	float *rows = cr_arena_alloc(&worker->arena, 10 * n * sizeof(float));
	int32_t *ints = cr_arena_alloc(&worker->arena, 3 * n * sizeof(int32_t));
	uint8_t *bytes = cr_arena_alloc(&worker->arena, 3 * n);
	if (!chunk || !rows || !ints || !bytes) {
		worker->failed = true;
		return NULL;
	}
	*chunk = (cr_ray_chunk){ .capacity = capacity };
	for (int k = 0; k < 3; k++) {
		chunk->rays.origin[k] = rows + (size_t)k * n;
		chunk->rays.direction[k] = rows + (size_t)(3 + k) * n;
	}
	chunk->rays.t_max = rows + 6 * n;
	chunk->t = rows + 7 * n;
	chunk->behind_t = rows + 8 * n;
	chunk->rays.gap = rows + 9 * n;
	chunk->rays.sample = ints;
	chunk->triangle = ints + n;
	chunk->behind_triangle = ints + 2 * n;
	chunk->rays.side = (int8_t *)bytes;
	chunk->back = bytes + n;
	chunk->behind_back = bytes + 2 * n;
	return chunk;
}

/// The chunk being filled, or a new one in its place when it has no room for count more rays.
static cr_ray_chunk *make_room(cr_worker *worker, cr_ray_chunk **filling, int32_t count)
{
	cr_ray_chunk *chunk = *filling;
	if (!chunk || chunk->capacity - chunk->count < count)
		*filling = chunk = new_chunk(worker, count > CHUNK_RAYS ? count : CHUNK_RAYS);
	return chunk;
}

/// An empty chunk with room for all samples of a large source, of which a few become rays: used again for the next pair, so
/// that a terrain of a million vertices does not cost a chunk of its size for each body on it.
static cr_ray_chunk *staging_for(cr_worker *worker, int32_t count)
{
	if (!worker->staging || worker->staging->capacity < count)
		worker->staging = new_chunk(worker, count);
	return worker->staging;
}

/// Copy rays from the staging chunk to a chunk that keeps them, behind its last ray.
static cr_ray_chunk *move_staged(cr_worker *worker, const cr_ray_chunk *staging, int32_t count)
{
	cr_ray_chunk *chunk = make_room(worker, &worker->chunk, count);
	if (!chunk)
		return NULL;
	const cr_sample_rays *from = &staging->rays, *to = &chunk->rays;
	const size_t n = (size_t)count, at = (size_t)chunk->count;
	for (int k = 0; k < 3; k++) {
		memcpy(to->origin[k] + at, from->origin[k], n * sizeof(float));
		memcpy(to->direction[k] + at, from->direction[k], n * sizeof(float));
	}
	memcpy(to->t_max + at, from->t_max, n * sizeof(float));
	memcpy(to->sample + at, from->sample, n * sizeof(int32_t));
	memcpy(to->side + at, from->side, n);
	memcpy(to->gap + at, from->gap, n * sizeof(float));
	return chunk;
}

cr_ray_chunk *cr_open_rays(cr_worker *worker, int32_t count)
{
	return count > CHUNK_RAYS ? staging_for(worker, count) : make_room(worker, &worker->chunk, count);
}

cr_ray_range cr_close_rays(cr_worker *worker, cr_ray_chunk *chunk, int32_t count)
{
	if (chunk == worker->staging)
		chunk = move_staged(worker, chunk, count);
	if (!chunk)
		return (cr_ray_range){ 0 };
	const cr_ray_range range = { chunk, chunk->count, count };
	chunk->count += count;
	return range;
}

static void move_ray(const cr_sample_rays *r, int32_t from, int32_t to)
{
	for (int k = 0; k < 3; k++) {
		r->origin[k][to] = r->origin[k][from];
		r->direction[k][to] = r->direction[k][from];
	}
	r->t_max[to] = r->t_max[from];
	r->sample[to] = r->sample[from];
	r->side[to] = r->side[from];
}

/// Drop those of count rays from first on whose origins are known to be outside and are too far to enter: cells tell distances only
/// roughly (avalanche at rest: three rays in four of the vertices outside). The others get their gap. Returns how many rays remain.
static int32_t drop_far(const cr_pipeline *p, const cr_pair_work *w, const cr_collider *target, const cr_sample_rays *r,
	int32_t first, int32_t count)
{
	if (w->extension == 0)
		return count; // what is known to be outside was not collected
	const float reach = cr_entry_reach(p, w);
	int32_t kept = first;
	for (int32_t i = first; i < first + count; i++) {
		float gap = 0;
		if (r->side[i] < 0) {
			const float origin[3] = { r->origin[0][i], r->origin[1][i], r->origin[2][i] };
			int32_t nearest;
			gap = p->bvh->nearest(target, origin, reach, &nearest);
			if (nearest < 0)
				continue;
		}
		if (kept < i)
			move_ray(r, i, kept);
		r->gap[kept++] = gap;
	}
	return kept - first;
}

/// Full rays from all samples of a side in reach of the target.
static void collect_side(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, int side)
{
	const cr_collider *source = cr_source_of(p, w, side)->shape.collider;
	const cr_collider *target = cr_target_of(p, w, side)->shape.collider;
	w->rays[side].count = 0;
	// Only a closed target has an inside to be in.
	if (!target->closed)
		return;
	cr_ray_chunk *chunk = cr_open_rays(worker, source->sample_count);
	if (!chunk)
		return;
	const cr_transform *to_target = cr_to_target(w, side), *to_source = cr_to_target(w, 1 - side);
	int64_t tested = 0;
	int32_t count = p->detect->collect(source, target, to_target, to_source, w->extension, p->settings.exit_distance_test,
		&chunk->rays, chunk->count, &tested);
	count = drop_far(p, w, target, &chunk->rays, chunk->count, count);
	w->rays[side] = cr_close_rays(worker, chunk, count);
	worker->vertices_tested += tested;
	worker->vertices_culled += tested - count;
}

// ---- Iterative rays ----

/// An ordered pair that continues.
typedef struct walking_side {
	const cr_collider *target;
	cr_pair_work *work;
	int side;
} walking_side;

static void add_run(cr_worker *worker, const cr_collider *target, const cr_ray_range *range)
{
	if (range->count == 0)
		return;
	if (worker->runs.count > 0) {
		cr_ray_run *last = &worker->runs.data[worker->runs.count - 1];
		if (last->target == target && last->chunk == range->chunk && last->first + last->count == range->first &&
			last->count < CHUNK_RAYS / 4) {
			last->count += range->count;
			return;
		}
	}
	if (worker->runs.count == worker->runs.capacity) {
		const int32_t capacity = worker->runs.capacity ? 2 * worker->runs.capacity : 64;
		cr_ray_run *data = cr_arena_alloc(&worker->arena, (size_t)capacity * sizeof *data);
		if (!data) {
			worker->failed = true;
			return;
		}
		for (int32_t i = 0; i < worker->runs.count; i++)
			data[i] = worker->runs.data[i];
		worker->runs.data = data;
		worker->runs.capacity = capacity;
	}
	worker->runs.data[worker->runs.count++] = (cr_ray_run){ target, range->chunk, range->first, range->count };
}

/// The rays of those watched samples of one side that may have entered, from where each met the target last.
static void continue_side(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, int side)
{
	const cr_pair_memory *m = cr_memory_of(p, w);
	// All that the pair watches, also when the stage is done again; less only where there is no room (buffers.c).
	const bool cut = p->settings.ray_buffers == CAROM_BUFFERS_IGNORE;
	const int32_t watched = cut ? w->rays[side].count : m->watched_count[side];
	const cr_collider *source = cr_source_of(p, w, side)->shape.collider;
	const cr_transform *to_target = cr_to_target(w, side);
	cr_ray_chunk *chunk = make_room(worker, &worker->walking, watched);
	if (!chunk)
		return;
	const cr_transform then = cr_reference_transform(&m->full, side);
	const int32_t count = p->detect->follow(source, cr_target_of(p, w, side)->shape.collider, to_target, &then,
		m->watched[side], watched, (float)p->settings.speculative_distance, p->settings.exit_distance_test, &chunk->rays,
		chunk->triangle, chunk->behind_triangle, chunk->count);
	w->rays[side] = (cr_ray_range){ chunk, chunk->count, count };
	chunk->count += count;
	worker->vertices_watched += watched;
	worker->rays_iterative += count;
}

/// Append the rays of one side to the batch for its target mesh, so that rays of many pairs share the lanes.
static void add_side(const cr_pipeline *p, cr_worker *worker, const walking_side *s)
{
	continue_side(p, worker, s->work, s->side);
	if (!worker->failed)
		add_run(worker, s->target, &s->work->rays[s->side]);
}

/// Insert by target, stable: there are few, and mostly few targets.
static void insert_sorted(walking_side *sides, int count, walking_side side)
{
	int at = count;
	for (; at > 0 && (uintptr_t)side.target < (uintptr_t)sides[at - 1].target; at--)
		sides[at] = sides[at - 1];
	sides[at] = side;
}

/// Note a side that continues, and ask for what it watches, which is read when all of the piece are noted. Returns how many were noted.
static int begin_walking(const cr_pipeline *p, cr_pair_work *w, int side, walking_side *sides, int count)
{
	const cr_pair_memory *m = cr_memory_of(p, w);
	if (m->watched_count[side] == 0)
		return 0;
	cr_prefetch_watched(m, side);
	insert_sorted(sides, count, (walking_side){ cr_target_of(p, w, side)->shape.collider, w, side });
	return 1;
}

static void vertex_piece(const cr_pipeline *p, cr_worker *worker, int64_t begin, int64_t end)
{
	walking_side sides[2 * PAIRS_PER_TASK];
	int count = 0;
	for (int64_t i = begin; i < end && !worker->failed; i++) {
		cr_pair_work *w = &p->work.data[p->taken.data[i]];
		for (int side = 0; side < 2; side++) {
			if (!w->iterative)
				collect_side(p, worker, w, side);
			else
				count += begin_walking(p, w, side, sides, count);
		}
	}
	for (int i = 0; i < count && !worker->failed; i++)
		add_side(p, worker, &sides[i]);
}

static void vertex_task(int64_t begin, int64_t end, int worker, void *task)
{
	const cr_pipeline *p = task;
	for (int64_t i = begin; i < end; i += PAIRS_PER_TASK)
		vertex_piece(p, &p->workers[worker], i, i + PAIRS_PER_TASK < end ? i + PAIRS_PER_TASK : end);
}

carom_result cr_stage_vertices(cr_pipeline *p)
{
	if (cr_take(p, CR_NEXT_RAYS) == 0 && p->round > 0)
		return CAROM_SUCCESS;
	cr_plan_rays(p);
	cr_for_pairs(p, vertex_task, PAIRS_PER_TASK);
	if (cr_must_backtrack(p))
		cr_for_pairs(p, vertex_task, PAIRS_PER_TASK);
	cr_cut_rays(p);
	return cr_check_workers(p, "the rays of a step");
}
