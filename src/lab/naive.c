/// The naive form of the vertex and the ray stage: one loop over pairs and all their vertices, with
/// a switch for each vertex and nothing to do for most of them. It gives the contacts of the staged
/// form and exists to be compared with it (Lehericey, Gouranton and Arnaldi 2015, section 5).

#include "frame/memory.h"
#include "lab/lab_state.h"
#include <string.h>

enum { PAIRS_PER_TASK = 8 };

/// Ray of one sample, in the arithmetic of the stages' kernels: false when it lies outside the box
/// of the target.
static bool collect_one(const cr_pipeline *p, const cr_pair_work *w, int side, int32_t sample, const cr_sample_rays *rays)
{
	const cr_collider *target = cr_target_of(p, w, side)->shape.collider;
	const cr_watch one = { sample, 0, -1 };
	const cr_transform *to_target = cr_to_target(w, side);
	const cr_motion_since since = { .then = to_target };
	const cr_collider *source = cr_source_of(p, w, side)->shape.collider;
	int32_t place, entry;
	p->kernels->follow(
		source, target, to_target, &since, &one, 1, 0, p->settings.lab.exit_distance_test, rays, &place, &entry, 0);
	cr_direct_rays(p, source, to_target, rays, 1);
	rays->gap[0] = 0; // not known
	for (int k = 0; k < 3; k++) {
		const float x = rays->origin[k][0];
		if (x < target->lower[k] - w->extension || x > target->upper[k] + w->extension)
			return false;
	}
	return true;
}

/// The rays of a full side, made and cast one by one. They stand in the list beside their hits.
static int32_t cast_side(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, int side, int32_t samples)
{
	const cr_collider *source = cr_source_of(p, w, side)->shape.collider;
	cr_list_tail *tail = &worker->tails.casts;
	w->rays[side] = (cr_span){ 0 };
	if (!cr_list_open(&worker->frame->casts, tail, (uint32_t)samples)) {
		worker->failed = true;
		return 0;
	}
	w->rays[side].first = tail->next;
	int32_t count = 0;
	for (int32_t sample = 0; sample < samples; sample++) {
		if (sample % CR_WIDTH >= source->samples[sample / CR_WIDTH].count)
			continue;
		worker->vertices_tested++;
		const cr_casts one = cr_casts_at(worker->frame, tail->next);
		if (!collect_one(p, w, side, sample, &one.rays))
			continue;
		cr_cast_lines(p, cr_target_of(p, w, side), &one, 1, w->extension);
		tail->next++;
		count++;
	}
	w->rays[side].count = count;
	return count;
}

/// The rays of an iterative side, made and walked one by one.
static int32_t walk_side(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, int side, int32_t samples)
{
	const cr_collider *source = cr_source_of(p, w, side)->shape.collider, *target = cr_target_of(p, w, side)->shape.collider;
	const cr_pair_memory *m = cr_memory_of(p, w);
	cr_transform then;
	const cr_motion_since since = cr_motion_since_full(p, w, side, &then);
	const int32_t watched = w->rays[side].count;
	const cr_watch *watches = cr_watched(p, m, side);
	cr_list_tail *tail = &worker->tails.walks;
	int32_t *entry = cr_arena_alloc(&worker->arena, (size_t)samples * sizeof *entry);
	w->rays[side] = (cr_span){ 0 };
	if (!entry || !cr_list_open(&worker->frame->walks, tail, (uint32_t)watched)) {
		worker->failed = true;
		return 0;
	}
	// Temporal data as the paper keeps them: a place for each vertex of each pair.
	memset(entry, 0xff, (size_t)samples * sizeof *entry);
	for (int32_t k = 0; k < watched; k++)
		entry[watches[k].sample] = k;
	w->rays[side].first = tail->next;
	for (int32_t sample = 0; sample < samples; sample++) {
		if (sample % CR_WIDTH >= source->samples[sample / CR_WIDTH].count)
			continue;
		worker->vertices_tested++;
		if (entry[sample] < 0)
			continue;
		const cr_walks one = cr_walks_at(worker->frame, tail->next);
		if (p->kernels->follow(source, target, cr_to_target(w, side), &since, &watches[entry[sample]], 1,
				(float)p->settings.world.speculative_distance, p->settings.lab.exit_distance_test, &one.rays, one.place,
				one.entry, 0) == 0)
			continue;
		cr_direct_rays(p, source, cr_to_target(w, side), &one.rays, 1);
		one.entry[0] = entry[sample];
		cr_walk_range(p, worker, target, &one, 0, 1);
		tail->next++;
		w->rays[side].count++;
	}
	worker->rays_iterative += w->rays[side].count;
	worker->vertices_watched += watched;
	return w->rays[side].count;
}

static void run_side(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, int side)
{
	const cr_collider *source = cr_source_of(p, w, side)->shape.collider;
	const int32_t samples = CR_WIDTH * source->sample_tree.block_count;
	if (cr_target_of(p, w, side)->shape.collider->closed) {
		const int32_t count = w->iterative ? walk_side(p, worker, w, side, samples) : cast_side(p, worker, w, side, samples);
		worker->vertices_culled += source->sample_count - count;
	} else {
		w->rays[side].count = 0;
	}
	if (!worker->failed)
		cr_judge_side(p, worker, w, side); // drops the watches of another body at this place
}

static void naive_task(int64_t begin, int64_t end, int worker, void *task)
{
	const cr_pipeline *p = task;
	for (int64_t i = begin; i < end && !p->workers[worker].failed; i++) {
		cr_pair_work *w = &p->work.data[p->taken.data[i]];
		cr_load_contacts(&p->workers[worker], w->contacts);
		for (int side = 0; side < 2; side++)
			run_side(p, &p->workers[worker], w, side);
		cr_keep_contacts(&p->workers[worker], &w->contacts);
		p->next.data[p->taken.data[i]] = (uint8_t)cr_after_rays(p, w);
	}
}

static carom_result run_naively(cr_pipeline *p)
{
	if (cr_take(p, CR_NEXT_RAYS) == 0)
		return CAROM_SUCCESS;
	cr_for_pairs(p, naive_task, PAIRS_PER_TASK);
	return cr_check_workers(p, "the contacts of a step");
}

const cr_stages cr_naive_stages = { "naive", cr_open_stages, cr_stage_pairs, cr_stage_begin, cr_stage_near, cr_stage_crossings,
	NULL, run_naively, cr_stage_finish, cr_stage_simple, cr_stage_reduce, NULL };
