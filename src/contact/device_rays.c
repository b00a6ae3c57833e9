/// The ray stage on a device: full rays are cast, those of iterative pairs walk over the triangles
/// from where they met them last. Casts and walks go up side by side, and their hits and ends come
/// back into the frame's lists, so that all that follows is the processor's own (ray.c). See
/// device_stages.h.

#include "contact/device_stages.h"
#include "base/parallel.h"
#include "base/time.h"
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
	if (!cr_array_reserve_one(p->context, &d->left))
		return false;
	d->left.data[d->left.count++] = group;
	return true;
}

/// List the rays of the taken pairs by sides, those that are not cast yet: full ones, or walks.
/// false: out of memory.
static bool list_sides(cr_pipeline *p, cr_device_state *d, bool walks)
{
	for (int64_t i = 0; i < p->taken.count; i++) {
		const int32_t number = p->taken.data[i];
		const cr_pair_work *w = &p->work.data[number];
		const bool listed = w->iterative == walks && d->rays_made.data[number] != CR_RAYS_CAST;
		for (int side = 0; side < 2 && listed; side++) {
			const cr_ray_group g = { .rays = w->rays[side],
				.work = number,
				.is_walk = walks,
				.target = side == 0 ? w->b : w->a,
				.reach = walks ? 0 : w->extension,
				.job = CR_NO_JOB };
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
			const cr_ray_group g = {
				.rays = run->range, .work = CR_OF_RUN, .is_walk = true, .target = run->target, .job = CR_NO_JOB
			};
			if (!add_group(p, d, g))
				return false;
		}
		worker->runs.count = 0;
	}
	return true;
}

// ---- Dealing ----

/// The memory of the pair of a group; NULL: it has none.
static cr_pair_memory *memory_of(const cr_pipeline *p, const cr_ray_group *g)
{
	if (g->is_walk || p->work.data[g->work].slot < 0)
		return NULL;
	return cr_memory_of(p, &p->work.data[g->work]);
}

/// The part that has the pair; -1: none that works.
static int32_t remembered_part(const cr_pipeline *p, const cr_device_state *d, const cr_ray_group *g)
{
	const cr_pair_memory *memory = memory_of(p, g);
	const bool known = memory && !memory->ungrouped && memory->group < d->part_count;
	return known && cr_is_working(p, &d->parts[memory->group]) ? memory->group : -1;
}

static int32_t least_loaded(const cr_pipeline *p, const cr_device_state *d)
{
	int32_t least = -1;
	for (int32_t i = 0; i < d->part_count; i++) {
		if (cr_is_working(p, &d->parts[i]) && (least < 0 || d->parts[i].load < d->parts[least].load))
			least = i;
	}
	return least;
}

static void deal_to(const cr_pipeline *p, cr_device_state *d, cr_ray_group *g, int32_t part)
{
	cr_pair_memory *memory = memory_of(p, g);
	g->part = part;
	g->job = CR_NO_JOB;
	d->parts[part].load += g->rays.count;
	if (memory) {
		memory->group = (uint8_t)part;
		memory->ungrouped = false;
	}
}

/// Deal the groups that are left to several parts.
static void deal_to_parts(const cr_pipeline *p, cr_device_state *d)
{
	for (int32_t i = 0; i < d->part_count; i++)
		d->parts[i].load = 0;
	for (int pass = 0; pass < 2; pass++) { // those that are remembered, then the others
		for (int64_t i = 0; i < d->left.count; i++) {
			cr_ray_group *g = &d->left.data[i];
			const int32_t part = remembered_part(p, d, g);
			if (pass == 0) {
				g->part = -1;
				if (part >= 0)
					deal_to(p, d, g, part);
			} else if (g->part < 0) {
				// the other side of the pair may have been dealt in this pass
				deal_to(p, d, g, part >= 0 ? part : least_loaded(p, d));
			}
		}
	}
}

/// Give all groups that are left to the only part: nothing is to be remembered, or looked up.
static void deal_to_one(cr_device_state *d)
{
	for (int64_t i = 0; i < d->left.count; i++) {
		d->left.data[i].part = 0;
		d->left.data[i].job = CR_NO_JOB;
	}
}

/// Deal the groups that are left to the parts that work, of which there are some, and put them in
/// order of parts.
static void deal(const cr_pipeline *p, cr_device_state *d)
{
	if (d->part_count == 1)
		deal_to_one(d);
	else
		deal_to_parts(p, d);
	d->rays.count = 0;
	for (int32_t part = 0; part < d->part_count; part++) {
		cr_device_part *to = &d->parts[part];
		to->first = to->begin = to->end = d->rays.count;
		for (int64_t i = 0; i < 2 * d->left.count; i++) { // casts come before walks
			const cr_ray_group *g = &d->left.data[i % d->left.count];
			if (g->part == part && g->is_walk == (i >= d->left.count))
				d->rays.data[d->rays.count++] = *g;
		}
		to->last = d->rays.count;
	}
	d->left.count = 0;
}

/// A part has failed: the groups that it has not done are left.
static void leave(cr_pipeline *p, cr_device_state *d, cr_device_part *part)
{
	cr_drop_part(p, part);
	for (int64_t i = part->begin; i < part->last; i++) // there was room for all
		d->left.data[d->left.count++] = d->rays.data[i];
	part->begin = part->end = part->last;
}

// ---- A batch ----

/// Take groups for the next batch of a part, from its end on. Neighbours with one target share a
/// job. pairs: cr_gpu_cast_batch.
static void take_batch(const cr_pipeline *p, cr_device_state *d, cr_device_part *part, uint32_t pairs)
{
	cr_gpu_cast_batch batch = { .max_walk = (uint32_t)p->settings.lab.max_walk, .pairs = pairs };
	const cr_ray_group *last = NULL;
	part->begin = part->end;
	for (; part->end < part->last; part->end++) {
		cr_ray_group *g = &d->rays.data[part->end];
		const uint32_t count = (uint32_t)g->rays.count, taken = batch.casts + batch.walks;
		if (count > CR_GPU_MOST_CASTS || !cr_is_on_device(part, target_of(p, g)))
			continue;
		// Casts come before walks.
		if (taken + count > CR_GPU_MOST_CASTS)
			break;
		if (!last || target_of(p, last) != target_of(p, g) || last->reach != g->reach)
			batch.jobs++;
		last = g;
		g->job = (int32_t)batch.jobs - 1;
		g->first = taken;
		*(g->is_walk ? &batch.walks : &batch.casts) += count;
	}
	batch.tier = cr_tier_of_batch(part, batch.casts);
	part->batch = batch;
}

static void pack_rays(const cr_sample_rays *r, int32_t count, uint32_t job, cr_gpu_ray *to)
{
	for (int32_t i = 0; i < count; i++) {
		to[i] = (cr_gpu_ray){ .origin = { r->origin[0][i], r->origin[1][i], r->origin[2][i] },
			.direction = { r->direction[0][i], r->direction[1][i], r->direction[2][i] },
			.job = job };
	}
}

/// Write the jobs of a batch.
static void pack_jobs(const cr_pipeline *p, const cr_device_state *d, const cr_device_part *part)
{
	int32_t written = CR_NO_JOB;
	for (int64_t i = part->begin; i < part->end; i++) {
		const cr_ray_group *g = &d->rays.data[i];
		if (g->job == CR_NO_JOB || g->job == written)
			continue;
		const cr_mesh_addresses at = cr_addresses_of(part, target_of(p, g));
		part->ray_jobs[g->job] = (cr_gpu_cast_job){ at.nodes, at.blocks, at.across, at.structure, at.boxes, g->reach,
			cr_size_of_mesh(target_of(p, g)) };
		written = g->job;
	}
}

/// Write the marks of the rays of a group: those whose origin is not known to be outside, of pairs
/// of which it is asked whether they touch.
static void pack_marks(const cr_pipeline *p, const cr_ray_group *g, uint32_t *marks)
{
	const cr_device_state *d = p->on_device;
	const int32_t item = d->ahead_of.data[g->work];
	const bool asked = item != CR_NO_JOB && d->ahead.items.data[item].waits;
	const cr_walks walks = g->is_walk ? cr_walks_at(&p->frame, g->rays.first) : (cr_walks){ 0 };
	const cr_sample_rays rays = g->is_walk ? walks.rays : cr_casts_at(&p->frame, g->rays.first).rays;
	for (int32_t i = 0; i < g->rays.count; i++) {
		// A walk does not look at the end of its ray.
		const bool tells = asked && rays.side[i] >= 0 && (!g->is_walk || rays.t_max[i] == INFINITY);
		marks[g->first + (uint32_t)i] = tells ? (uint32_t)item + 1 : 0;
	}
}

static void pack_group(const cr_pipeline *p, const cr_device_part *part, const cr_ray_group *g)
{
	cr_gpu_ray *to = part->ray_items + g->first;
	if (g->is_walk) {
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

/// A loop over groups of a part from number first on.
typedef struct group_task {
	const cr_pipeline *pipeline;
	const cr_device_part *part;
	const cr_ray_group *groups;
} group_task;

static void pack_task(int64_t begin, int64_t end, int worker, void *context)
{
	(void)worker;
	const group_task *task = context;
	uint32_t *marks = cr_gpu_cast_marks(task->part->ray_items, &task->part->batch);
	for (int64_t i = begin; i < end; i++) {
		const cr_ray_group *g = &task->groups[i];
		if (g->job == CR_NO_JOB)
			continue;
		pack_group(task->pipeline, task->part, g);
		if (marks)
			pack_marks(task->pipeline, g, marks);
	}
}

/// Let the processor do rays of a group from number first on.
static void do_rays(const cr_pipeline *p, cr_worker *worker, const cr_ray_group *g, int32_t first, int32_t count)
{
	const uint32_t from = g->rays.first + (uint32_t)first;
	if (g->is_walk) {
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

static void unpack_casts(const cr_pipeline *p, cr_worker *worker, const cr_device_part *part, const cr_ray_group *g)
{
	const cr_casts casts = cr_casts_at(&p->frame, g->rays.first);
	worker->rays_on_device += g->rays.count;
	for (int32_t i = 0; i < g->rays.count; i++) {
		const cr_gpu_hit *hit = &part->hits[g->first + (uint32_t)i];
		if (hit->behind != CR_GPU_DOUBTFUL) {
			store_hit(&casts.hits, i, hit);
			continue;
		}
		do_rays(p, worker, g, i, 1);
		worker->rays_returned++;
	}
}

static void unpack_walks(const cr_pipeline *p, cr_worker *worker, const cr_device_part *part, const cr_ray_group *g)
{
	const cr_walks walks = cr_walks_at(&p->frame, g->rays.first);
	worker->walks_on_device += g->rays.count;
	for (int32_t i = 0; i < g->rays.count; i++) {
		const cr_gpu_walked *walked = &part->walked[g->first - part->batch.casts + (uint32_t)i];
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

/// Put the results of groups into the frame's lists, and do the rays that are left.
static void unpack_task(int64_t begin, int64_t end, int worker, void *context)
{
	const group_task *task = context;
	const cr_pipeline *p = task->pipeline;
	for (int64_t i = begin; i < end; i++) {
		const cr_ray_group *g = &task->groups[i];
		if (g->job == CR_NO_JOB)
			do_rays(p, &p->workers[worker], g, 0, g->rays.count);
		else if (g->is_walk)
			unpack_walks(p, &p->workers[worker], task->part, g);
		else
			unpack_casts(p, &p->workers[worker], task->part, g);
	}
}

static void for_batch(cr_pipeline *p, const cr_device_state *d, const cr_device_part *part, carom_task_fn *run)
{
	group_task task = { p, part, d->rays.data + part->begin };
	cr_parallel_for(p->context, run, part->end - part->begin, GROUPS_PER_TASK, &task);
}

/// Write the next batch of a part; part->batch.jobs: there is one.
static carom_result open_batch(cr_pipeline *p, cr_device_state *d, cr_device_part *part, uint32_t pairs)
{
	take_batch(p, d, part, pairs);
	if (part->batch.jobs == 0)
		return CAROM_SUCCESS;
	const carom_result result = cr_gpu_open_casts(part->device, &part->casts, &part->batch, &part->ray_items, &part->ray_jobs);
	if (result != CAROM_SUCCESS)
		return result;
	pack_jobs(p, d, part);
	for_batch(p, d, part, pack_task);
	return CAROM_SUCCESS;
}

/// Begin the next batch of a part.
static carom_result start_batch(cr_pipeline *p, cr_device_state *d, cr_device_part *part)
{
	const carom_result result = open_batch(p, d, part, 0);
	part->begun = cr_time_ms();
	return result == CAROM_SUCCESS && part->batch.jobs > 0 ? cr_gpu_start_casts(part->device, &part->casts, &part->batch)
														   : result;
}

static carom_result end_batch(cr_pipeline *p, cr_device_state *d, cr_device_part *part)
{
	carom_result result = CAROM_SUCCESS;
	if (part->batch.jobs > 0)
		result = cr_gpu_end_casts(part->device, &part->casts, &part->batch, &part->hits, &part->walked);
	if (result == CAROM_SUCCESS && part->batch.jobs > 0)
		cr_note_batch(part, cr_time_ms() - part->begun);
	if (result == CAROM_SUCCESS)
		for_batch(p, d, part, unpack_task);
	return result;
}

/// Bring the meshes of a part to its device. *memory: the processor has none left.
static carom_result prepare_part(cr_pipeline *p, const cr_device_state *d, cr_device_part *part)
{
	for (int64_t i = part->first; i < part->last; i++) {
		if (!cr_want_mesh(p, part, target_of(p, &d->rays.data[i])))
			return cr_fail_memory(p->context, "meshes for a device");
	}
	return part->first < part->last ? cr_put_meshes(p, part) : CAROM_SUCCESS;
}

/// A batch of each part that has one: all are under way at once. Returns the last failure, whose
/// groups are left. *more: there was something to do.
static carom_result do_batches(cr_pipeline *p, cr_device_state *d, bool *more)
{
	carom_result failure = CAROM_SUCCESS;
	bool under_way[CAROM_MAX_DEVICES] = { false };
	*more = false;
	for (int32_t i = 0; i < d->part_count; i++) {
		cr_device_part *part = &d->parts[i];
		if (part->end == part->last)
			continue;
		*more = true;
		const carom_result result = start_batch(p, d, part);
		under_way[i] = result == CAROM_SUCCESS;
		if (under_way[i])
			continue;
		failure = result;
		leave(p, d, part);
	}
	for (int32_t i = 0; i < d->part_count; i++) {
		const carom_result result = under_way[i] ? end_batch(p, d, &d->parts[i]) : CAROM_SUCCESS;
		if (result == CAROM_SUCCESS)
			continue;
		failure = result;
		leave(p, d, &d->parts[i]);
	}
	return failure;
}

/// Deal the groups that are left, and do them. Those of parts that fail are left again.
static carom_result do_round(cr_pipeline *p, cr_device_state *d)
{
	deal(p, d);
	carom_result failure = CAROM_SUCCESS;
	for (int32_t i = 0; i < d->part_count; i++) {
		const carom_result result = prepare_part(p, d, &d->parts[i]);
		if (result == CAROM_SUCCESS)
			continue;
		failure = result;
		leave(p, d, &d->parts[i]);
	}
	for (bool more = true; more;) {
		const carom_result result = do_batches(p, d, &more);
		failure = result == CAROM_SUCCESS ? failure : result;
	}
	return failure;
}

/// All devices are locked. On failure rays are left.
static carom_result do_all(cr_pipeline *p, cr_device_state *d)
{
	carom_result result = cr_working_part(p) ? CAROM_SUCCESS : cr_fail_devices(p);
	while (d->left.count > 0 && cr_working_part(p))
		result = do_round(p, d);
	return d->left.count > 0 ? result : CAROM_SUCCESS;
}

/// Let the processor do the rays that are left.
static void do_without(cr_pipeline *p, cr_device_state *d)
{
	for (int64_t i = 0; i < d->left.count; i++)
		d->left.data[i].job = CR_NO_JOB;
	group_task task = { p, NULL, d->left.data };
	cr_parallel_for(p->context, unpack_task, d->left.count, GROUPS_PER_TASK, &task);
}

bool cr_rays_are_worth_it(const cr_device_state *d)
{
	int64_t casts = 0;
	for (int64_t i = 0; i < d->left.count; i++)
		casts += d->left.data[i].is_walk ? 0 : d->left.data[i].rays.count;
	return d->few_rays > 0 ? casts > d->few_rays : d->left.count > 0;
}

// ---- The first rays of a step, with other work (device_ahead.c) ----

bool cr_list_first_rays(cr_pipeline *p, cr_device_state *d)
{
	d->left.count = 0;
	return list_sides(p, d, false) && list_sides(p, d, true) && cr_array_reserve_fresh(p->context, &d->rays, d->left.count);
}

carom_result cr_pack_first_rays(cr_pipeline *p, cr_device_state *d, cr_device_part *part, uint32_t pairs, bool *fits)
{
	deal(p, d);
	*fits = false;
	const carom_result result = open_batch(p, d, part, pairs);
	*fits = result == CAROM_SUCCESS && part->batch.jobs > 0 && part->end == part->last;
	return result;
}

carom_result cr_take_first_rays(cr_pipeline *p, cr_device_state *d, cr_device_part *part)
{
	const carom_result result = cr_gpu_take_casts(part->device, &part->casts, &part->batch, &part->hits, &part->walked);
	if (result == CAROM_SUCCESS)
		for_batch(p, d, part, unpack_task);
	return result;
}

// ---- The stages ----

/// Make the rays of the pairs that have none yet.
carom_result cr_vertices_on_device(cr_pipeline *p)
{
	const cr_device_state *d = p->on_device;
	const int64_t count = cr_take(p, CR_NEXT_RAYS);
	p->taken.count = 0;
	for (int64_t i = 0; i < count; i++) {
		if (d->rays_made.data[p->taken.data[i]] == CR_RAYS_NOT_MADE)
			p->taken.data[p->taken.count++] = p->taken.data[i];
	}
	if (p->taken.count == 0)
		return CAROM_SUCCESS;
	cr_make_rays(p);
	return cr_check_workers(p, "the rays of a step");
}

/// Cast and walk the rays of the taken pairs.
static carom_result cast_rays(cr_pipeline *p, cr_device_state *d)
{
	d->left.count = 0;
	if (!list_sides(p, d, false) || !list_walks(p, d) || !cr_array_reserve_fresh(p->context, &d->rays, d->left.count))
		return cr_fail_memory(p->context, "rays for a device");
	if (!cr_rays_are_worth_it(d)) {
		do_without(p, d);
		return CAROM_SUCCESS;
	}
	cr_lock_devices(p);
	const carom_result result = cr_unlock_devices(p, do_all(p, d));
	if (result != CAROM_SUCCESS && !cr_falls_back(p))
		return result;
	if (result != CAROM_SUCCESS)
		do_without(p, d);
	return CAROM_SUCCESS;
}

carom_result cr_rays_on_device(cr_pipeline *p)
{
	if (cr_take(p, CR_NEXT_RAYS) == 0)
		return CAROM_SUCCESS;
	cr_device_state *d = p->on_device; // of the near stage, which comes first
	const carom_result result = cast_rays(p, d);
	if (result != CAROM_SUCCESS)
		return result;
	for (int64_t i = 0; i < p->taken.count; i++) // a pair that begins again makes new ones
		d->rays_made.data[p->taken.data[i]] = CR_RAYS_NOT_MADE;
	return cr_judge_rays(p);
}
