/// Vertex stage: which samples of each body of a pair cast a ray into the other.
///
/// Input: the pairs that wait for their rays. Output: two lists of rays in the target's frame; each
/// side of a pair keeps its range.
/// - Full: samples are found by walking the source's tree in the target's box, not by scanning
///   (Lehericey 2013, 1.2), and those that the target's grid knows to be outside are dropped; where
///   entries are predicted, those too far outside.
/// - Iterative: the samples that the pair watches, and nothing else. Within a piece of the work the
///   sides come sorted by target, so that the rays of many pairs fill the lanes of one walk.
/// Parallel over pairs; no order is needed, since ranges hang on the pairs. (Lehericey, Gouranton
/// and Arnaldi 2015, per-vertex step.)

#include "base/parallel.h"
#include "contact/contact.h"
#include "frame/memory.h"
#include <string.h>

enum { PAIRS_PER_TASK = 64 };

/// Memory of the worker for all samples of a large source, of which a few become rays: used again
/// for the next pair, so that a terrain of a million vertices does not take as much of the list for
/// each body on it. false: out of memory.
static bool stage_casts(cr_worker *worker, int32_t count)
{
	if (worker->staging_count >= count)
		return true;
	void *memory = cr_arena_alloc(&worker->arena, cr_cast_bytes(count));
	if (!memory)
		return false;
	worker->staging = cr_casts_in(memory, count);
	worker->staging_count = count;
	return true;
}

bool cr_open_casts(cr_worker *worker, int32_t count, cr_casts *casts)
{
	if (count > CR_RAYS_AT_ONCE) {
		worker->failed |= !stage_casts(worker, count);
		*casts = worker->staging;
	} else {
		worker->failed |= !cr_list_open(&worker->frame->casts, &worker->tails.casts, (uint32_t)count);
		*casts = cr_casts_at(worker->frame, worker->tails.casts.next);
	}
	return !worker->failed;
}

static void copy_rays(const cr_sample_rays *to, const cr_sample_rays *from, size_t count)
{
	for (int k = 0; k < 3; k++) {
		memcpy(to->origin[k], from->origin[k], count * sizeof(float));
		memcpy(to->direction[k], from->direction[k], count * sizeof(float));
	}
	memcpy(to->t_max, from->t_max, count * sizeof(float));
	memcpy(to->sample, from->sample, count * sizeof(int32_t));
	memcpy(to->side, from->side, count);
	memcpy(to->gap, from->gap, count * sizeof(float));
}

cr_span cr_close_casts(cr_worker *worker, const cr_casts *casts, int32_t count)
{
	cr_list_tail *tail = &worker->tails.casts;
	if (count > 0 && casts->rays.sample == worker->staging.rays.sample) {
		if (!cr_list_open(&worker->frame->casts, tail, (uint32_t)count)) {
			worker->failed = true;
			return (cr_span){ 0 };
		}
		const cr_casts kept = cr_casts_at(worker->frame, tail->next);
		copy_rays(&kept.rays, &casts->rays, (size_t)count);
	}
	const cr_span range = { tail->next, count };
	tail->next += (uint32_t)count;
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

/// Is the surface within reach of the origin of ray i, or the origin inside? Sets the gap of one
/// that is near, and the side of one that is far and inside.
static bool may_enter(const cr_pipeline *p, const cr_collider *target, const cr_sample_rays *r, int32_t i, float reach)
{
	const float origin[3] = { r->origin[0][i], r->origin[1][i], r->origin[2][i] };
	int32_t nearest;
	const float gap = p->bvh->nearest(target, origin, reach, &nearest);
	r->gap[i] = nearest >= 0 ? gap : 0;
	if (nearest >= 0)
		return true;
	const float direction[3] = { 0.5f, 0.7f, 0.3f };
	if (r->side[i] == 0 && p->bvh->winding(target, origin, direction) != 0)
		r->side[i] = 1;
	return r->side[i] > 0;
}

/// Drop those of count rays whose origins are outside and are too far to enter: cells tell
/// distances only roughly (avalanche at rest: three rays in four of the vertices outside), and
/// where there is no grid, nothing is told yet. The others get their gap: 0 where it is not known.
/// Returns how many rays remain.
static int32_t drop_far(
	const cr_pipeline *p, const cr_pair_work *w, const cr_collider *target, const cr_sample_rays *r, int32_t count)
{
	if (w->extension == 0)
		return count; // samples known to be outside were not collected
	const float reach = cr_entry_reach(p, w);
	const int8_t asked = target->grid.cells ? -1 : 0;
	int32_t kept = 0;
	for (int32_t i = 0; i < count; i++) {
		r->gap[i] = 0;
		if (r->side[i] <= asked && !may_enter(p, target, r, i, reach))
			continue;
		if (kept < i)
			move_ray(r, i, kept);
		r->gap[kept++] = r->gap[i];
	}
	return kept;
}

void cr_direct_rays(
	const cr_pipeline *p, const cr_collider *source, const cr_transform *to_target, const cr_sample_rays *r, int32_t count)
{
	for (int32_t i = 0; (source->fans || source->lean) && i < count; i++) {
		const int32_t sample = r->sample[i], lane = sample % CR_WIDTH;
		const cr_sample8 *block = &source->samples[sample / CR_WIDTH];
		const float origin[3] = { block->point[0][lane], block->point[1][lane], block->point[2][lane] };
		float inward[3];
		cr_sample_inward(source, sample, inward);
		for (int k = 0; k < 3; k++) {
			// As in the kernels.
			const float *m = to_target->r[k];
			r->direction[k][i] = (m[0] * inward[0] + m[1] * inward[1]) + m[2] * inward[2];
		}
		r->t_max[i] = p->settings.lab.exit_distance_test ? p->bvh->exit(source, origin, inward) : INFINITY;
	}
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
	cr_casts casts;
	if (!cr_open_casts(worker, source->sample_count, &casts))
		return;
	const cr_transform *to_target = cr_to_target(w, side), *to_source = cr_to_target(w, 1 - side);
	int64_t tested = 0;
	int32_t count = p->kernels->collect(source, target, to_target, to_source, w->extension, p->settings.lab.exit_distance_test,
		p->bvh->winding, &casts.rays, 0, &tested);
	count = drop_far(p, w, target, &casts.rays, count);
	cr_direct_rays(p, source, to_target, &casts.rays, count);
	w->rays[side] = cr_close_casts(worker, &casts, count);
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

/// Join a range of walks to the last run where it goes on there: one batch of lanes then.
static bool join_run(const cr_pipeline *p, cr_worker *worker, const cr_collider *target, cr_span range)
{
	if (worker->runs.count == 0)
		return false;
	cr_ray_run *last = &worker->runs.data[worker->runs.count - 1];
	if (p->bodies[last->target].shape.collider != target || last->range.first + (uint32_t)last->range.count != range.first ||
		last->range.count >= CR_RAYS_AT_ONCE / 4)
		return false;
	last->range.count += range.count;
	return true;
}

static void add_run(const cr_pipeline *p, cr_worker *worker, const walking_side *s)
{
	const cr_span range = s->work->rays[s->side];
	if (range.count == 0 || join_run(p, worker, s->target, range))
		return;
	if (worker->runs.count == worker->runs.capacity) {
		cr_ray_run *grown = cr_arena_grow(
			&worker->arena, worker->runs.data, worker->runs.count, &worker->runs.capacity, sizeof *worker->runs.data);
		if (!grown) {
			worker->failed = true;
			return;
		}
		worker->runs.data = grown;
	}
	const int32_t target = s->side == 0 ? s->work->b : s->work->a;
	worker->runs.data[worker->runs.count++] = (cr_ray_run){ target, range };
}

/// Make the rays of the watched samples of one side that may have entered, from where each met the
/// target last.
static void continue_side(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, int side)
{
	const cr_pair_memory *m = cr_memory_of(p, w);
	// All that the pair watches, even when its rays are made once more; less only where the
	// laboratory has cut them.
	const int32_t watched = p->leaves_rays ? w->rays[side].count : m->watched[side].count;
	const cr_collider *source = cr_source_of(p, w, side)->shape.collider;
	const cr_transform *to_target = cr_to_target(w, side);
	cr_list_tail *tail = &worker->tails.walks;
	if (!cr_list_open(&worker->frame->walks, tail, (uint32_t)watched)) {
		worker->failed = true;
		return;
	}
	const cr_walks walks = cr_walks_at(worker->frame, tail->next);
	cr_transform then;
	const cr_motion_since since = cr_motion_since_full(p, w, side, &then);
	const int32_t count = p->kernels->follow(source, cr_target_of(p, w, side)->shape.collider, to_target, &since,
		cr_watched(p, m, side), watched, (float)p->settings.world.speculative_distance, p->settings.lab.exit_distance_test,
		&walks.rays, walks.place, walks.entry, 0);
	cr_direct_rays(p, source, to_target, &walks.rays, count);
	w->rays[side] = (cr_span){ tail->next, count };
	tail->next += (uint32_t)count;
	worker->vertices_watched += watched;
	worker->rays_iterative += count;
}

/// Append the rays of one side to the batch for its target mesh, so that rays of many pairs share
/// the lanes.
static void add_side(const cr_pipeline *p, cr_worker *worker, const walking_side *s)
{
	continue_side(p, worker, s->work, s->side);
	if (!worker->failed)
		add_run(p, worker, s);
}

/// Insert by target, stable: there are few, and mostly few targets.
static void insert_sorted(walking_side *sides, int count, walking_side side)
{
	int at = count;
	for (; at > 0 && (uintptr_t)side.target < (uintptr_t)sides[at - 1].target; at--)
		sides[at] = sides[at - 1];
	sides[at] = side;
}

/// Note a side that continues, and prefetch its watches, which are read when all of the piece are
/// noted. Returns how many were noted.
static int begin_walking(const cr_pipeline *p, cr_pair_work *w, int side, walking_side *sides, int count)
{
	const cr_pair_memory *m = cr_memory_of(p, w);
	if (m->watched[side].count == 0)
		return 0;
	cr_prefetch_watched(p, m, side);
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

void cr_make_rays(cr_pipeline *p) { cr_for_pairs(p, vertex_task, PAIRS_PER_TASK); }

carom_result cr_stage_vertices(cr_pipeline *p)
{
	if (cr_take(p, CR_NEXT_RAYS) == 0)
		return CAROM_SUCCESS;
	cr_make_rays(p);
	return cr_check_workers(p, "the rays of a step");
}
