/// The ray stage on a device: full rays are cast, those of iterative pairs walk over the triangles
/// from where they met them last. Casts and walks go up side by side, and their hits and ends come
/// back into the frame's lists, so that all that follows is the processor's own (ray.c). See
/// device_stages.h.

#include "contact/device_stages.h"
#include "base/parallel.h"
#include "vulkan/vk_commands.h"
#include <float.h>

enum { GROUPS_PER_TASK = 16 };
_Static_assert(CR_WALK_LOST == 0 && CR_WALK_BACK == 1 && CR_WALK_FRONT == 2, "mesh_walk.comp");

static const cr_collider *target_of(const cr_pipeline *p, const cr_ray_group *g) { return p->bodies[g->target].shape.collider; }

// ---- Groups ----

static bool add_group(cr_pipeline *p, cr_device_state *d, cr_ray_group group)
{
	if (group.rays.count == 0)
		return true;
	if (!cr_array_reserve_one(p->context, &d->rays))
		return false;
	d->rays.data[d->rays.count++] = group;
	return cr_want_mesh(p, d, target_of(p, &group));
}

/// List the full rays of the taken pairs by sides. false: out of memory.
static bool list_casts(cr_pipeline *p, cr_device_state *d)
{
	for (int64_t i = 0; i < p->taken.count; i++) {
		const cr_pair_work *w = &p->work.data[p->taken.data[i]];
		for (int side = 0; side < 2 && !w->iterative; side++) {
			const cr_ray_group g = { w->rays[side], side == 0 ? w->b : w->a, w->extension, false, CR_NO_JOB, 0 };
			if (!add_group(p, d, g))
				return false;
		}
	}
	return true;
}

/// List the walks as the workers have joined them. false: out of memory.
static bool list_walks(cr_pipeline *p, cr_device_state *d)
{
	for (int32_t i = 0; i < p->worker_count; i++) {
		cr_worker *worker = &p->workers[i];
		for (int64_t r = 0; r < worker->runs.count; r++) {
			const cr_ray_run *run = &worker->runs.data[r];
			if (!add_group(p, d, (cr_ray_group){ run->range, run->target, 0, true, CR_NO_JOB, 0 }))
				return false;
		}
		worker->runs.count = 0;
	}
	return true;
}

// ---- A batch ----

/// Take groups for the next batch, from d->end on.
static cr_gpu_cast_batch take_batch(const cr_pipeline *p, cr_device_state *d)
{
	cr_gpu_cast_batch batch = { .max_walk = (uint32_t)p->settings.lab.max_walk };
	d->begin = d->end;
	for (; d->end < d->rays.count; d->end++) {
		cr_ray_group *g = &d->rays.data[d->end];
		const uint32_t count = (uint32_t)g->rays.count, taken = batch.casts + batch.walks;
		if (count > CR_GPU_MOST_CASTS || !cr_is_on_device(d, target_of(p, g)))
			continue;
		if (taken + count > CR_GPU_MOST_CASTS)
			break;
		g->job = (int32_t)batch.jobs++;
		g->first = taken;
		*(g->walks ? &batch.walks : &batch.casts) += count;
	}
	d->cast_count = batch.casts;
	return batch;
}

static void pack_rays(const cr_sample_rays *r, int32_t count, uint32_t job, cr_gpu_ray *to)
{
	for (int32_t i = 0; i < count; i++) {
		to[i] = (cr_gpu_ray){ .origin = { r->origin[0][i], r->origin[1][i], r->origin[2][i] },
			.direction = { r->direction[0][i], r->direction[1][i], r->direction[2][i] },
			.job = job };
	}
}

static void pack_group(const cr_pipeline *p, const cr_device_state *d, const cr_ray_group *g)
{
	const cr_mesh_addresses at = cr_addresses_of(d, target_of(p, g));
	cr_gpu_ray *to = d->ray_items + g->first;
	d->ray_jobs[g->job] = (cr_gpu_cast_job){ at.nodes, at.blocks, at.across, g->reach, 0 };
	if (g->walks) {
		const cr_walks walks = cr_walks_at(&p->frame, g->rays.first);
		pack_rays(&walks.rays, g->rays.count, (uint32_t)g->job, to);
		for (int32_t i = 0; i < g->rays.count; i++)
			to[i].place = walks.place[i];
		return;
	}
	const cr_casts casts = cr_casts_at(&p->frame, g->rays.first);
	pack_rays(&casts.rays, g->rays.count, (uint32_t)g->job, to);
	for (int32_t i = 0; i < g->rays.count; i++)
		to[i].t_max = fminf(casts.rays.t_max[i], FLT_MAX);
}

static void pack_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const cr_pipeline *p = task;
	const cr_device_state *d = p->on_device;
	for (int64_t i = d->begin + begin; i < d->begin + end; i++) {
		if (d->rays.data[i].job != CR_NO_JOB)
			pack_group(p, d, &d->rays.data[i]);
	}
}

/// Let the processor do rays of a group from number first on.
static void do_rays(const cr_pipeline *p, cr_worker *worker, const cr_ray_group *g, int32_t first, int32_t count)
{
	const uint32_t from = g->rays.first + (uint32_t)first;
	if (g->walks) {
		const cr_walks walks = cr_walks_at(&p->frame, from);
		cr_walk_range(p, worker, target_of(p, g), &walks, 0, count);
		return;
	}
	const cr_casts casts = cr_casts_at(&p->frame, from);
	cr_cast_lines(p, &p->bodies[g->target], &casts, count, g->reach);
}

static void store_hit(const cr_line_hits *to, int32_t i, const cr_gpu_hit *hit)
{
	const bool ahead = hit->triangle != CR_GPU_NO_HIT, behind = hit->behind != CR_GPU_NO_HIT;
	to->triangle[i] = ahead ? (int32_t)(hit->triangle & ~CR_GPU_BACK) : -1;
	to->t[i] = hit->t;
	to->back[i] = hit->triangle >> 31;
	to->behind_triangle[i] = behind ? (int32_t)(hit->behind & ~CR_GPU_BACK) : -1;
	to->behind_t[i] = hit->behind_t;
	to->behind_back[i] = hit->behind >> 31;
}

static void unpack_casts(const cr_pipeline *p, cr_worker *worker, const cr_device_state *d, const cr_ray_group *g)
{
	const cr_casts casts = cr_casts_at(&p->frame, g->rays.first);
	worker->rays_on_device += g->rays.count;
	for (int32_t i = 0; i < g->rays.count; i++) {
		const cr_gpu_hit *hit = &d->hits[g->first + (uint32_t)i];
		if (hit->behind != CR_GPU_DOUBTFUL) {
			store_hit(&casts.hits, i, hit);
			continue;
		}
		do_rays(p, worker, g, i, 1);
		worker->rays_returned++;
	}
}

static void unpack_walks(const cr_pipeline *p, cr_worker *worker, const cr_device_state *d, const cr_ray_group *g)
{
	const cr_walks walks = cr_walks_at(&p->frame, g->rays.first);
	worker->walks_on_device += g->rays.count;
	for (int32_t i = 0; i < g->rays.count; i++) {
		const cr_gpu_walked *walked = &d->walked[g->first - d->cast_count + (uint32_t)i];
		if (walked->end != CR_GPU_DOUBTFUL) {
			walks.place[i] = walked->place;
			walks.t[i] = walked->t;
			walks.end[i] = (uint8_t)walked->end;
			worker->walk_steps += walked->visited;
			continue;
		}
		do_rays(p, worker, g, i, 1);
		worker->rays_returned++;
	}
}

/// Put the results of a group into the frame's list, and do the rays that are left.
static void unpack_task(int64_t begin, int64_t end, int worker, void *task)
{
	const cr_pipeline *p = task;
	const cr_device_state *d = p->on_device;
	for (int64_t i = d->begin + begin; i < d->begin + end; i++) {
		const cr_ray_group *g = &d->rays.data[i];
		if (g->job == CR_NO_JOB)
			do_rays(p, &p->workers[worker], g, 0, g->rays.count);
		else if (g->walks)
			unpack_walks(p, &p->workers[worker], d, g);
		else
			unpack_casts(p, &p->workers[worker], d, g);
	}
}

/// Cast and walk the rays of the next groups. The device is locked.
static carom_result do_batch(cr_pipeline *p, cr_device_state *d)
{
	const cr_gpu_cast_batch batch = take_batch(p, d);
	if (batch.jobs == 0)
		return CAROM_SUCCESS;
	const carom_result result = cr_gpu_open_casts(p->device, &d->casts, &batch, &d->ray_items, &d->ray_jobs);
	if (result != CAROM_SUCCESS)
		return result;
	cr_parallel_for(p->context, pack_task, d->end - d->begin, GROUPS_PER_TASK, p);
	return cr_gpu_cast(p->device, &d->casts, &batch, &d->hits, &d->walked);
}

static carom_result do_batches(cr_pipeline *p, cr_device_state *d)
{
	d->begin = d->end = 0;
	carom_result result = cr_put_meshes(p, d);
	while (d->end < d->rays.count && result == CAROM_SUCCESS) {
		result = do_batch(p, d);
		if (result == CAROM_SUCCESS)
			cr_parallel_for(p->context, unpack_task, d->end - d->begin, GROUPS_PER_TASK, p);
	}
	return result;
}

/// Let the processor do the rays from the batch that was under way on.
static void do_without(cr_pipeline *p, cr_device_state *d)
{
	d->end = d->rays.count;
	for (int64_t i = d->begin; i < d->end; i++)
		d->rays.data[i].job = CR_NO_JOB;
	cr_parallel_for(p->context, unpack_task, d->end - d->begin, GROUPS_PER_TASK, p);
}

carom_result cr_rays_on_device(cr_pipeline *p)
{
	if (cr_take(p, CR_NEXT_RAYS) == 0)
		return CAROM_SUCCESS;
	cr_device_state *d = cr_state_on_device(p);
	if (!d)
		return cr_fail_memory(p->context, "rays for a device");
	d->rays.count = 0;
	if (!list_casts(p, d) || !list_walks(p, d))
		return cr_fail_memory(p->context, "rays for a device");
	if (d->rays.count > 0) {
		cr_gpu_lock(p->device);
		const carom_result result = do_batches(p, d);
		cr_gpu_unlock(p->device);
		if (result != CAROM_SUCCESS && !cr_falls_back(p))
			return result;
		if (result != CAROM_SUCCESS)
			do_without(p, d);
	}
	return cr_judge_rays(p);
}
