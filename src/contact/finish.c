/// Finish stage: ways out of pairs as a whole, contacts ahead, and the memory of pairs. Input: all
/// kept pairs, with the contacts of the stages before. Parallel over pairs.

#include "base/parallel.h"
#include "contact/crossing.h"
#include "contact/manifold.h"
#include "frame/memory.h"
#include "contact/near_contacts.h"

enum { PAIRS_PER_TASK = 64 };

/// Do the bodies overlap, by the contacts so far?
static bool has_depth(const cr_raw_contacts *contacts)
{
	for (int64_t i = 0; i < contacts->count; i++) {
		if (contacts->data[i].depth >= 0)
			return true;
	}
	return false;
}

/// Contacts ahead of a pair. Where it is apart they replace the hits of its rays ahead; where it
/// touches they complete its patches.
static void look_ahead(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, bool touching)
{
	if (!touching)
		worker->contacts.count = 0;
	cr_completion c = cr_begin_completion(p, worker, w);
	cr_add_near_contacts(&c, touching);
}

/// Would the next step find all contacts of a pair again, if its bodies stood still? Those of an
/// iterative pair follow from the poses and from its memory: which samples it watches, from
/// where each walks, and which triangles are near. The list of near triangles leaves out none that
/// cross, however its gaps have changed, so it does not count. A pair that did not touch before
/// looks at its surfaces first, and would go another way in the next step.
static bool is_settled(const cr_pipeline *p, const cr_pair_work *w, bool touched_before)
{
	return w->iterative && !w->changed && !w->beside && touched_before && w->contacts.count > 0 && !p->leaves_rays &&
		!cr_wants_near_contacts(p) && !cr_pair_deforms(&p->bodies[w->a], &p->bodies[w->b]);
}

static void finish_pair(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	if (w->rests)
		return;
	const cr_pair_memory *m = cr_memory_of(p, w);
	w->by_poses = w->by_poses || (m && is_settled(p, w, m->touched));
	if (cr_may_lack_way(p, w))
		cr_add_way_apart(p, worker, w);
	bool touched = w->contacts.count > 0;
	if (cr_wants_near_contacts(p)) {
		cr_load_contacts(worker, w->contacts);
		touched = has_depth(&worker->contacts);
		if (!touched || cr_wants_manifold(p, w))
			look_ahead(p, worker, w, touched);
		cr_keep_contacts(worker, &w->contacts);
	}
	if (cr_memory_of(p, w) && !worker->failed)
		cr_update_memory(p, worker, w, touched);
}

static void finish_task(int64_t begin, int64_t end, int worker, void *task)
{
	cr_pipeline *p = task;
	for (int64_t i = begin; i < end && !p->workers[worker].failed; i++)
		finish_pair(p, &p->workers[worker], &p->work.data[p->taken.data[i]]);
}

carom_result cr_stage_finish(cr_pipeline *p)
{
	cr_take(p, CR_NEXT_NONE);
	cr_for_pairs(p, finish_task, PAIRS_PER_TASK);
	return cr_check_workers(p, "the contacts of a step");
}
