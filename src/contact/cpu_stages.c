/// The table of the stages on the CPU, and the last of them: the contacts of each pair of meshes
/// are sorted and reduced (reduce.c). Parallel over pairs.

#include "base/parallel.h"
#include "contact/folds.h"
#include "contact/solid_vertices.h"

enum { PAIRS_PER_TASK = 256 };

carom_result cr_open_stages(cr_pipeline *p)
{
	p->bvh = cr_get_bvh_kernels(p->context->simd);
	p->kernels = cr_get_contact_kernels(p->context->simd);
	if (p->broad) // the laboratory's
		return CAROM_SUCCESS;
	if (p->settings.world.broad_phase == CAROM_BROAD_SWEEP)
		return cr_broad_create_sweep(p->context, &p->broad);
	return cr_broad_create_tree(p->context, &p->broad);
}

/// Name, filter, sort and reduce the contacts of a pair, and remember where they are if the next
/// step may take them over. Those that were taken over are done already.
static void reduce_pair(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	if (!w->rests) {
		cr_raw_contacts contacts = { cr_contacts_at(&p->frame, w->contacts.first), w->contacts.count, w->contacts.count };
		const bool deforms = cr_pair_deforms(&p->bodies[w->a], &p->bodies[w->b]);
		if (deforms)
			cr_lead_out_of_folds(p, &p->bodies[w->a], &p->bodies[w->b], &contacts);
		cr_name_edges(&p->bodies[w->a], &p->bodies[w->b], &contacts);
		if (p->keep_contact)
			cr_filter_contacts(p, w->a, w->b, &contacts);
		if (deforms)
			cr_join_vertex_contacts(worker, &p->bodies[w->a], &p->bodies[w->b], &contacts);
		w->found = cr_reduce_contacts(p, worker, &p->bodies[w->a], &p->bodies[w->b], &contacts);
		w->contacts.count = (int32_t)contacts.count;
	}
	cr_pair_memory *m = cr_memory_of(p, w);
	if (m && w->by_poses && !p->keep_contact && !p->lab)
		m->rest = (cr_rest){ p->run, w->contacts, w->found };
}

static void reduce_task(int64_t begin, int64_t end, int worker, void *task)
{
	cr_pipeline *p = task;
	for (int64_t i = begin; i < end; i++) {
		cr_pair_work *w = &p->work.data[p->kept.data[i]];
		if (i + 2 < end)
			__builtin_prefetch(cr_contacts_at(&p->frame, p->work.data[p->kept.data[i + 2]].contacts.first));
		reduce_pair(p, &p->workers[worker], w);
	}
}

carom_result cr_stage_reduce(cr_pipeline *p)
{
	cr_parallel_for(p->context, reduce_task, p->kept.count, PAIRS_PER_TASK, p);
	return cr_check_workers(p, "the contacts of a step");
}

const cr_stages cr_cpu_stages = { "cpu", cr_open_stages, cr_stage_pairs, cr_stage_begin, cr_stage_near, cr_stage_crossings,
	cr_stage_vertices, cr_stage_rays, cr_stage_finish, cr_stage_simple, cr_stage_reduce, NULL };
