/// The crossings stage on a device: it tests which of the triangles that may meet cross, and where
/// their edges pierce (shaders/mesh_pierce.comp). Those that rounding leaves open go to the exact
/// predicates of the processor, which makes the contacts. See device_stages.h.

#include "contact/device_stages.h"
#include "base/parallel.h"
#include "vulkan/vk_commands.h"

enum { PAIRS_PER_TASK = 16 };

/// Is a number of a pose one that the kernel can take? See mesh_pierce.comp.
static bool is_fit(double x) { return x == 0 || (fabs(x) >= 0x1p-200 && fabs(x) <= 0x1p40); }

static bool is_fit_point(v3d v) { return is_fit(v.x) && is_fit(v.y) && is_fit(v.z); }

static bool is_fit_pose(const cr_reference *now)
{
	const m3d *r = &now->rotation;
	return is_fit_point(r->row[0]) && is_fit_point(r->row[1]) && is_fit_point(r->row[2]) && is_fit_point(now->translation);
}

static const cr_collider *collider_of(const cr_pipeline *p, const cr_pair_work *w, int side)
{
	return cr_source_of(p, w, side)->shape.collider;
}

/// List the taken pairs whose meetings are to be tested there. false: out of memory.
static bool list_couples(cr_pipeline *p, cr_device_state *d)
{
	d->couples.count = 0;
	for (int64_t i = 0; i < p->taken.count; i++) {
		cr_pair_work *w = &p->work.data[p->taken.data[i]];
		w->tested = 0;
		if (!cr_tests_meetings(p, w) || !is_fit_pose(&w->now))
			continue;
		if (!cr_array_reserve_one(p->context, &d->couples))
			return false;
		d->couples.data[d->couples.count++] = (cr_couple_group){ p->taken.data[i], 0 };
	}
	return true;
}

static int64_t count_tests(const cr_pipeline *p, const cr_device_state *d)
{
	int64_t count = 0;
	for (int64_t i = 0; i < d->couples.count; i++)
		count += p->work.data[d->couples.data[i].work].meetings.count;
	return count;
}

/// Note the meshes of the listed pairs. false: out of memory.
static bool want_meshes(const cr_pipeline *p, const cr_device_state *d, cr_device_part *part)
{
	for (int64_t i = 0; i < d->couples.count; i++) {
		const cr_pair_work *w = &p->work.data[d->couples.data[i].work];
		if (!cr_want_mesh(p, part, collider_of(p, w, 0)) || !cr_want_mesh(p, part, collider_of(p, w, 1)))
			return false;
	}
	return true;
}

/// Drop the pairs with a mesh that cannot be there, and those that are too many at once. Returns
/// how many meetings the others have.
static uint32_t choose_couples(const cr_pipeline *p, cr_device_state *d, const cr_device_part *part)
{
	int64_t kept = 0;
	uint32_t count = 0;
	for (int64_t i = 0; i < d->couples.count; i++) {
		cr_couple_group g = d->couples.data[i];
		const cr_pair_work *w = &p->work.data[g.work];
		if (w->meetings.count > CR_GPU_MOST_CASTS - (int32_t)count || !cr_is_on_device(part, collider_of(p, w, 0)) ||
			!cr_is_on_device(part, collider_of(p, w, 1)))
			continue;
		g.first = count;
		count += (uint32_t)w->meetings.count;
		d->couples.data[kept++] = g;
	}
	d->couples.count = kept;
	return count;
}

/// A loop over pairs, for the part that does them.
typedef struct couple_task {
	const cr_pipeline *pipeline;
	const cr_device_state *state;
	const cr_device_part *part;
} couple_task;

static void pack_couples(const cr_pipeline *p, const cr_device_state *d, const cr_device_part *part, int64_t number)
{
	const cr_couple_group *g = &d->couples.data[number];
	const cr_pair_work *w = &p->work.data[g->work];
	const cr_collider *a = collider_of(p, w, 0), *b = collider_of(p, w, 1);
	cr_gpu_couple_job *job = &d->couple_jobs[number];
	job->blocks[0] = cr_addresses_of(part, a).blocks;
	job->blocks[1] = cr_addresses_of(part, b).blocks;
	for (int k = 0; k < 3; k++) {
		for (int l = 0; l < 3; l++)
			job->rotation[k][l] = v3d_get(w->now.rotation.row[k], l);
		job->translation[k] = v3d_get(w->now.translation, k);
	}
	const cr_candidate *meetings = cr_meetings_at(&p->frame, w->meetings.first);
	for (int32_t i = 0; i < w->meetings.count; i++)
		d->couple_items[g->first + (uint32_t)i] =
			(cr_gpu_couple){ { a->place[meetings[i].a], b->place[meetings[i].b] }, (uint32_t)number, 0 };
}

static void pack_task(int64_t begin, int64_t end, int worker, void *context)
{
	(void)worker;
	const couple_task *task = context;
	for (int64_t i = begin; i < end; i++)
		pack_couples(task->pipeline, task->state, task->part, i);
}

/// Test the meetings of the listed pairs on one device. All are locked.
static carom_result test_couples(cr_pipeline *p, cr_device_state *d, cr_device_part *part)
{
	if (!want_meshes(p, d, part))
		return cr_fail_memory(p->context, "triangles for a device");
	const uint32_t count = choose_couples(p, d, part), jobs = (uint32_t)d->couples.count;
	carom_result result = count > 0 ? cr_put_meshes(p, part) : CAROM_SUCCESS;
	if (result == CAROM_SUCCESS && count > 0)
		result = cr_gpu_open_couples(part->device, &part->casts, count, jobs, &d->couple_items, &d->couple_jobs);
	if (result != CAROM_SUCCESS || count == 0)
		return result;
	couple_task task = { p, d, part };
	cr_parallel_for(p->context, pack_task, d->couples.count, PAIRS_PER_TASK, &task);
	result = cr_gpu_pierce(part->device, &part->casts, count, jobs, &p->pierced);
	for (int64_t i = 0; i < d->couples.count && result == CAROM_SUCCESS; i++) {
		const cr_couple_group *g = &d->couples.data[i];
		p->work.data[g->work].tested = g->first + 1;
	}
	return result;
}

/// On the first device that can do it.
static carom_result test_somewhere(cr_pipeline *p, cr_device_state *d)
{
	cr_device_part *part = cr_working_part(p);
	carom_result result = part ? CAROM_SUCCESS : cr_fail_devices(p);
	for (bool done = false; part && !done; part = cr_working_part(p)) {
		result = test_couples(p, d, part);
		done = result == CAROM_SUCCESS;
		if (!done)
			cr_drop_part(p, part);
	}
	return result;
}

carom_result cr_crossings_on_device(cr_pipeline *p)
{
	if (cr_take(p, CR_NEXT_CROSSINGS) == 0)
		return CAROM_SUCCESS;
	cr_device_state *d = cr_state_on_device(p);
	if (!d || !list_couples(p, d))
		return cr_fail_memory(p->context, "triangles for a device");
	if (count_tests(p, d) <= d->few_tests)
		return cr_judge_crossings(p);
	// Other worlds have their turn before the results are read: they are this world's own.
	cr_lock_devices(p);
	const carom_result result = cr_unlock_devices(p, test_somewhere(p, d));
	return result == CAROM_SUCCESS || cr_falls_back(p) ? cr_judge_crossings(p) : result;
}
