/// Worker groups: who serves which pair.
///
/// A pair of meshes stays with the group that has served it, because its memory is there; a new one
/// goes to the group with the least work, counted in pairs that have a memory or get one. Within a
/// group pairs keep their order. (Lehericey 2013, 2.3: the pairs of several GPUs; there new pairs
/// are cut into blocks.) The contacts do not depend on any of this: every pair is worked out by
/// itself.

#include "base/parallel.h"
#include "lab/lab_state.h"

static bool is_grouped(const cr_pair_work *w) { return w->slot >= 0; }

/// New pairs, in order, each to the least loaded group (the first of them).
static void deal_new_pairs(cr_pipeline *p)
{
	const int32_t groups = p->settings.lab.worker_groups;
	cr_lab_plain *lab = &cr_lab_of(p)->plain;
	for (int32_t g = 0; g < groups; g++)
		lab->groups[g] = (carom_group_stats){ 0 };
	for (int64_t i = 0; i < p->work.count; i++) {
		const cr_pair_work *w = &p->work.data[i];
		if (is_grouped(w) && !cr_memory_of(p, w)->ungrouped)
			lab->groups[cr_memory_of(p, w)->group].pairs++;
	}
	for (int64_t i = 0; i < p->work.count; i++) {
		const cr_pair_work *w = &p->work.data[i];
		if (!is_grouped(w) || !cr_memory_of(p, w)->ungrouped)
			continue;
		int32_t least = 0;
		for (int32_t g = 1; g < groups; g++) {
			if (lab->groups[g].pairs < lab->groups[least].pairs)
				least = g;
		}
		cr_memory_of(p, w)->group = (uint8_t)least;
		cr_memory_of(p, w)->ungrouped = false;
		lab->groups[least].pairs++;
		lab->groups[least].new_pairs++;
	}
}

/// Pairs without a memory (no temporal coherence) are dealt in turn.
static int32_t group_of(const cr_pipeline *p, const cr_pair_work *w, int64_t turn)
{
	return is_grouped(w) ? cr_memory_of(p, w)->group : (int32_t)(turn % p->settings.lab.worker_groups);
}

carom_result cr_order_by_group(cr_pipeline *p)
{
	const int32_t groups = p->settings.lab.worker_groups;
	cr_lab_state *lab = cr_lab_of(p);
	if (!cr_array_reserve(p->context, &lab->group_of, p->work.count))
		return cr_fail_memory(p->context, "the groups of a step");
	deal_new_pairs(p);
	// A counting sort by group, stable.
	int64_t place[CAROM_MAX_WORKER_GROUPS + 1] = { 0 };
	for (int64_t i = 0; i < p->kept.count; i++) {
		const int32_t pair = p->kept.data[i], group = group_of(p, &p->work.data[pair], i);
		lab->group_of.data[pair] = (uint8_t)group;
		place[group + 1]++;
	}
	for (int32_t g = 0; g < groups; g++)
		place[g + 1] += place[g];
	for (int64_t i = 0; i < p->kept.count; i++)
		p->order.data[place[lab->group_of.data[p->kept.data[i]]]++] = p->kept.data[i];
	return CAROM_SUCCESS;
}

/// A loop over groups: each by one worker at a time, which uses the group's memory.
typedef struct group_loop {
	cr_pipeline *pipeline;
	carom_task_fn *task_fn;
	int64_t first[CAROM_MAX_WORKER_GROUPS + 1]; // of each group, in pipeline->taken
} group_loop;

static void group_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const group_loop *loop = task;
	for (int64_t g = begin; g < end; g++)
		loop->task_fn(loop->first[g], loop->first[g + 1], (int)g, loop->pipeline);
}

void cr_for_groups(cr_pipeline *p, carom_task_fn *task_fn, int64_t min_range)
{
	(void)min_range;
	const uint8_t *group_of = cr_lab_of(p)->group_of.data;
	group_loop loop = { .pipeline = p, .task_fn = task_fn };
	int64_t at = 0;
	for (int32_t g = 0; g <= p->settings.lab.worker_groups; g++) {
		while (at < p->taken.count && group_of[p->taken.data[at]] < g)
			at++;
		loop.first[g] = at;
	}
	cr_parallel_for(p->context, group_task, p->settings.lab.worker_groups, 1, &loop);
}

void cr_count_groups(cr_pipeline *p)
{
	for (int32_t g = 0; g < p->settings.lab.worker_groups; g++)
		cr_lab_of(p)->plain.groups[g].rays = p->workers[g].rays_full + p->workers[g].rays_iterative;
}
