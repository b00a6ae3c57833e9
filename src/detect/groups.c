/// Worker groups: who serves which pair.
///
/// A pair of meshes stays with the group that has served it, because its memory is there; a new one goes to the group with the
/// least work, counted in pairs that have a memory or get one. Within a group pairs keep their order. (Lehericey 2013, 2.3: the
/// pairs of several GPUs; there new pairs are cut into blocks.) The contacts do not depend on any of this: every pair is worked
/// out by itself.

#include "base/parallel.h"
#include "detect/pipeline.h"

static bool is_grouped(const cr_pair_work *w) { return w->slot >= 0; }

/// New pairs, in order, each to the least loaded group (the first of them).
static void deal_new_pairs(cr_pipeline *p)
{
	const int32_t groups = p->settings.worker_groups;
	for (int32_t g = 0; g < groups; g++)
		p->groups[g] = (carom_group_stats){ 0 };
	for (int64_t i = 0; i < p->work.count; i++) {
		const cr_pair_work *w = &p->work.data[i];
		if (is_grouped(w) && !cr_memory_of(p, w)->ungrouped)
			p->groups[cr_memory_of(p, w)->group].pairs++;
	}
	for (int64_t i = 0; i < p->work.count; i++) {
		const cr_pair_work *w = &p->work.data[i];
		if (!is_grouped(w) || !cr_memory_of(p, w)->ungrouped)
			continue;
		int32_t least = 0;
		for (int32_t g = 1; g < groups; g++) {
			if (p->groups[g].pairs < p->groups[least].pairs)
				least = g;
		}
		cr_memory_of(p, w)->group = (uint8_t)least;
		cr_memory_of(p, w)->ungrouped = false;
		p->groups[least].pairs++;
		p->groups[least].new_pairs++;
	}
}

/// Pairs without a memory (no temporal coherence) are dealt in turn.
static int32_t group_of(const cr_pipeline *p, const cr_pair_work *w, int64_t turn)
{
	return is_grouped(w) ? cr_memory_of(p, w)->group : (int32_t)(turn % p->settings.worker_groups);
}

void cr_deal_to_groups(cr_pipeline *p)
{
	const int32_t groups = p->settings.worker_groups;
	p->order.count = p->kept.count;
	if (groups == 0) {
		for (int64_t i = 0; i < p->kept.count; i++)
			p->order.data[i] = p->kept.data[i];
		return;
	}
	deal_new_pairs(p);
	// A counting sort by group, stable.
	int64_t place[CAROM_MAX_WORKER_GROUPS + 1] = { 0 };
	for (int64_t i = 0; i < p->kept.count; i++)
		place[group_of(p, &p->work.data[p->kept.data[i]], i) + 1]++;
	for (int32_t g = 0; g < groups; g++)
		place[g + 1] += place[g];
	for (int32_t g = 0; g <= groups; g++)
		p->order_first[g] = place[g];
	for (int64_t i = 0; i < p->kept.count; i++)
		p->order.data[place[group_of(p, &p->work.data[p->kept.data[i]], i)]++] = p->kept.data[i];
}

int64_t cr_take(cr_pipeline *p, cr_next next)
{
	int32_t g = 0;
	p->taken.count = 0;
	for (int64_t i = 0; i < p->order.count; i++) {
		for (; g < p->settings.worker_groups && i == p->order_first[g]; g++)
			p->taken_first[g] = p->taken.count;
		if (p->next.data[p->order.data[i]] == next)
			p->taken.data[p->taken.count++] = p->order.data[i];
	}
	for (; g <= p->settings.worker_groups; g++)
		p->taken_first[g] = p->taken.count;
	return p->taken.count;
}

/// A loop over groups: each by one worker at a time, which uses the group's memory.
typedef struct group_loop {
	cr_pipeline *pipeline;
	carom_task_fn *task_fn;
} group_loop;

static void group_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const group_loop *loop = task;
	const int64_t *first = loop->pipeline->taken_first;
	for (int64_t g = begin; g < end; g++)
		loop->task_fn(first[g], first[g + 1], (int)g, loop->pipeline);
}

void cr_for_pairs(cr_pipeline *p, carom_task_fn *task_fn, int64_t min_range)
{
	if (p->settings.worker_groups == 0) {
		cr_parallel_for(p->context, task_fn, p->taken.count, min_range, p);
		return;
	}
	group_loop loop = { p, task_fn };
	cr_parallel_for(p->context, group_task, p->settings.worker_groups, 1, &loop);
}

carom_result cr_check_workers(const cr_pipeline *p, const char *what)
{
	for (int32_t i = 0; i < p->worker_count; i++) {
		if (p->workers[i].failed)
			return cr_fail_memory(p->context, what);
	}
	return CAROM_SUCCESS;
}
