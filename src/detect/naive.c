/// The naive form of the vertex and the ray stage: one loop over pairs and all their vertices, with a switch for each vertex
/// and nothing to do for most of them. It gives the contacts of the staged form and exists to be compared with it (Lehericey,
/// Gouranton and Arnaldi 2015, section 5).

#include "detect/pipeline.h"
#include <string.h>

enum { PAIRS_PER_TASK = 8 };

/// Ray of one sample, in the arithmetic of the stages' kernels: false when it lies outside the box of the target.
static bool collect_one(
	const cr_pipeline *p, const cr_pair_work *w, int side, int32_t sample, const cr_ray_chunk *chunk, int32_t at)
{
	const cr_collider *source = cr_source_of(p, w, side)->shape.collider;
	const cr_collider *target = cr_target_of(p, w, side)->shape.collider;
	const cr_watch one = { sample, 0, -1 };
	const cr_transform *to_target = cr_to_target(w, side);
	p->detect->follow(source, target, to_target, to_target, &one, 1, 0, p->settings.exit_distance_test, &chunk->rays,
		chunk->triangle, chunk->behind_triangle, at);
	for (int k = 0; k < 3; k++) {
		const float x = chunk->rays.origin[k][at];
		if (x < target->lower[k] - w->extension || x > target->upper[k] + w->extension)
			return false;
	}
	return true;
}

/// Rays of a large source were moved out of the staging chunk: what they found follows them.
static void move_hits(const cr_ray_chunk *from, const cr_ray_range *to)
{
	const size_t n = (size_t)to->count, at = (size_t)to->first;
	memcpy(to->chunk->triangle + at, from->triangle, n * sizeof *from->triangle);
	memcpy(to->chunk->t + at, from->t, n * sizeof *from->t);
	memcpy(to->chunk->back + at, from->back, n);
	memcpy(to->chunk->behind_triangle + at, from->behind_triangle, n * sizeof *from->behind_triangle);
	memcpy(to->chunk->behind_t + at, from->behind_t, n * sizeof *from->behind_t);
	memcpy(to->chunk->behind_back + at, from->behind_back, n);
}

static void run_side(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, int side)
{
	const cr_collider *source = cr_source_of(p, w, side)->shape.collider;
	const cr_collider *target = cr_target_of(p, w, side)->shape.collider;
	const cr_transform *to_target = cr_to_target(w, side);
	const cr_pair_memory *m = cr_memory_of(p, w);
	if (!target->closed) {
		w->rays[side].count = 0;
		cr_judge_side(p, worker, w, side); // forgets what another body at this place watched
		return;
	}
	const int32_t samples = CR_WIDTH * source->sample_tree.block_count;
	cr_ray_chunk *chunk = cr_open_rays(worker, samples);
	int32_t *entry = cr_arena_alloc(&worker->arena, (size_t)samples * sizeof *entry);
	if (!chunk || !entry) {
		worker->failed = true;
		return;
	}
	// Temporal data as the paper keeps them: a place for each vertex of each pair.
	memset(entry, 0xff, (size_t)samples * sizeof *entry);
	const int32_t walks = w->iterative ? w->rays[side].count : 0;
	for (int32_t k = 0; k < walks; k++)
		entry[m->watched[side][k].sample] = k;
	const cr_transform then = w->iterative ? cr_reference_transform(&m->full, side) : *to_target;
	int32_t count = 0;
	for (int32_t sample = 0; sample < samples; sample++) {
		if (sample % CR_WIDTH >= source->samples[sample / CR_WIDTH].count)
			continue;
		worker->vertices_tested++;
		if (w->iterative) {
			if (entry[sample] < 0)
				continue;
			const int32_t at = chunk->count + count;
			const int32_t made = p->detect->follow(source, target, to_target, &then, &m->watched[side][entry[sample]], 1,
				(float)p->settings.speculative_distance, p->settings.exit_distance_test, &chunk->rays, chunk->triangle,
				chunk->behind_triangle, at);
			if (made == 0)
				continue;
			chunk->behind_triangle[at] = entry[sample];
			cr_walk_range(p, worker, target, chunk, at, at + 1);
			count++;
		} else if (collect_one(p, w, side, sample, chunk, chunk->count + count)) {
			cr_cast_lines(p, cr_target_of(p, w, side), chunk, chunk->count + count, chunk->count + count + 1, w->extension);
			count++;
		}
	}
	worker->vertices_culled += source->sample_count - count;
	worker->rays_iterative += w->iterative ? count : 0;
	worker->vertices_watched += walks;
	w->rays[side] = cr_close_rays(worker, chunk, count);
	if (count > 0 && w->rays[side].chunk && w->rays[side].chunk != chunk)
		move_hits(chunk, &w->rays[side]);
	cr_judge_side(p, worker, w, side);
}

static void naive_task(int64_t begin, int64_t end, int worker, void *task)
{
	const cr_pipeline *p = task;
	for (int64_t i = begin; i < end && !p->workers[worker].failed; i++) {
		cr_pair_work *w = &p->work.data[p->taken.data[i]];
		for (int side = 0; side < 2; side++)
			run_side(p, &p->workers[worker], w, side);
		p->next.data[p->taken.data[i]] = (uint8_t)cr_after_rays(p, w);
	}
}

carom_result cr_stage_naive(cr_pipeline *p)
{
	if (cr_take(p, CR_NEXT_RAYS) == 0)
		return CAROM_SUCCESS;
	cr_for_pairs(p, naive_task, PAIRS_PER_TASK);
	return cr_check_workers(p, "the contacts of a step");
}
