/// The first submission of a step: rays, and the walks of near triangles that may be wanted.
///
/// In the first round some pairs wait for their rays and others for the near stage. Most of the
/// former come to the near stage in the next round, unless a ray hits. So all go up at once: the
/// rays that are wanted already; the walks of pairs that wait for the near stage; and walks of the
/// pairs that wait for their rays. The device leaves the latter out where it sees that a ray hits:
/// a back face ahead of an origin that is not known to be outside (shaders/mesh_ray.glsl).
///
/// The finds are kept until the stages ask for them. A walk that they plan otherwise is made then,
/// and so is one of a pair of which the processor finds that its origin was outside after all. So
/// the results do not depend on it. See device_stages.h.

#include "contact/device_stages.h"
#include "contact/manifold.h"
#include "base/time.h"
#include "vulkan/vk_commands.h"

/// Forget the last step. false: out of memory.
static bool reset(cr_pipeline *p, cr_device_state *d)
{
	const int64_t count = p->work.count;
	d->ahead.items.count = 0;
	if (!cr_array_reserve_fresh(p->context, &d->ahead_of, count) || !cr_array_reserve_fresh(p->context, &d->rays_made, count))
		return false;
	for (int64_t i = 0; i < count; i++) {
		d->ahead_of.data[i] = CR_NO_JOB;
		d->rays_made.data[i] = CR_RAYS_NOT_MADE;
	}
	return true;
}

/// May a step begin in this way? Several devices share its rays, and the laboratory looks at each
/// stage.
static bool goes_ahead(const cr_pipeline *p)
{
	return p->device_count == 1 && cr_working_part(p) && !p->leaves_rays && !p->hooks.cast && !p->hooks.order &&
		!p->hooks.for_pairs;
}

/// Does a pair that waits for its rays come to the near stage where none of them hits?
static bool may_come_near(const cr_pipeline *p, const cr_pair_work *w)
{
	return (p->settings.lab.complete || cr_wants_manifold(p, w)) && cr_needs_near_walk(p, w);
}

static bool add_item(cr_pipeline *p, cr_device_state *d, int32_t work, bool waits)
{
	cr_near_batch *batch = &d->ahead;
	if (batch->items.count == CR_GPU_MOST_NEAR_WALKS)
		return true;
	if (!cr_add_near_item(p, batch, work, waits))
		return false;
	d->ahead_of.data[work] = (int32_t)batch->items.count - 1;
	cr_begin_near_walk(p, &p->work.data[work], &batch->items.data[batch->items.count - 1].walk);
	return true;
}

/// List the pairs whose walks go ahead: those that wait for them, then those that may. Patches are
/// made whether rays hit or not. false: out of memory.
static bool list_walks(cr_pipeline *p, cr_device_state *d)
{
	for (int64_t i = 0; i < d->near.items.count; i++) {
		if (!add_item(p, d, d->near.items.data[i].work, false))
			return false;
	}
	for (int64_t i = 0; i < p->taken.count; i++) {
		const int32_t number = p->taken.data[i];
		const cr_pair_work *w = &p->work.data[number];
		if (may_come_near(p, w) && !add_item(p, d, number, !cr_wants_manifold(p, w)))
			return false;
	}
	return true;
}

/// Bring the meshes that rays and walks meet.
static carom_result put_meshes(cr_pipeline *p, cr_device_state *d, const cr_near_task *task)
{
	bool fits = cr_want_near_meshes(task, d->ahead.items.count);
	for (int64_t i = 0; i < d->left.count && fits; i++)
		fits = cr_want_mesh(p, task->part, p->bodies[d->left.data[i].target].shape.collider);
	return fits ? cr_put_meshes(p, task->part) : cr_fail_memory(p->context, "meshes for a device");
}

/// Send rays and walks, and take the hits. *sent: all were. The device is locked.
static carom_result send(cr_pipeline *p, cr_device_state *d, const cr_near_task *task, bool *sent)
{
	cr_device_part *part = task->part;
	const int64_t items = d->ahead.items.count;
	bool fits = false;
	carom_result result = put_meshes(p, d, task);
	if (result == CAROM_SUCCESS && !cr_deal_near_jobs(task, items))
		result = cr_fail_memory(p->context, "near triangles for a device");
	if (result == CAROM_SUCCESS)
		result = cr_pack_first_rays(p, d, part, (uint32_t)items, &fits);
	if (result != CAROM_SUCCESS || !fits || d->ahead.list.waves == 0)
		return result;
	cr_pack_near_jobs(task, items);
	d->ahead.list.casts = &part->casts;
	d->ahead.list.batch = &part->batch;
	bool holds = false;
	part->begun = cr_time_ms();
	result = cr_gpu_find_near(part->device, &part->ahead, &d->ahead.list, &holds);
	if (result == CAROM_SUCCESS)
		cr_note_batch(part, cr_time_ms() - part->begun);
	if (result == CAROM_SUCCESS)
		result = cr_take_first_rays(p, d, part);
	if (result == CAROM_SUCCESS && holds && !cr_order_near_finds(task))
		result = cr_fail_memory(p->context, "near triangles for a device");
	for (int64_t i = 0; i < items && !holds; i++)
		d->ahead.items.data[i].job = CR_NO_JOB; // lists are too long: the near stage goes by halves
	*sent = result == CAROM_SUCCESS;
	return result;
}

/// Note that the rays of the taken pairs are cast, or that nothing went ahead.
static void note_outcome(cr_pipeline *p, cr_device_state *d, bool sent)
{
	for (int64_t i = 0; i < d->ahead.items.count && !sent; i++)
		d->ahead_of.data[d->ahead.items.data[i].work] = CR_NO_JOB;
	for (int64_t i = 0; i < p->taken.count && sent; i++)
		d->rays_made.data[p->taken.data[i]] = CR_RAYS_CAST;
	for (int32_t i = 0; i < p->worker_count && sent; i++)
		p->workers[i].runs.count = 0;
}

carom_result cr_send_ahead(cr_pipeline *p, cr_device_state *d)
{
	if (!reset(p, d))
		return cr_fail_memory(p->context, "what goes to a device");
	if (!goes_ahead(p) || cr_take(p, CR_NEXT_RAYS) == 0)
		return CAROM_SUCCESS;
	if (d->near.items.count + p->taken.count <= d->few_first) // at most these would be walks
		return CAROM_SUCCESS;
	cr_make_rays(p);
	carom_result result = cr_check_workers(p, "the rays of a step");
	if (result != CAROM_SUCCESS)
		return result;
	for (int64_t i = 0; i < p->taken.count; i++)
		d->rays_made.data[p->taken.data[i]] = CR_RAYS_MADE;
	if (!cr_list_first_rays(p, d) || !list_walks(p, d))
		return cr_fail_memory(p->context, "what goes to a device");
	bool sent = false;
	if (cr_rays_are_worth_it(d) && d->ahead.items.count > d->few_first) {
		cr_device_part *part = &d->parts[0];
		const cr_near_task task = { p, &d->ahead, part, &part->ahead, 0 };
		cr_lock_devices(p);
		result = cr_unlock_devices(p, send(p, d, &task, &sent));
		if (result != CAROM_SUCCESS)
			cr_drop_part(p, part);
	}
	note_outcome(p, d, sent);
	return result == CAROM_SUCCESS || cr_falls_back(p) ? CAROM_SUCCESS : result;
}
