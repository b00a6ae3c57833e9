/// The back end that casts full rays on a graphics device; all else runs on the processor.
///
/// The trees and triangles of targets stay on the device, in one buffer, as long as they are those
/// that were copied there (cr_collider.revision). The rays of a step go up in the order of the
/// pairs, side by side, and their hits come back into the frame's list, so that all that follows is
/// the processor's own. Rays that the device leaves open, and those against meshes that it cannot
/// hold (no_room), the processor casts. So contacts are those of cr_cpu_stages, bit for bit.

#include "base/parallel.h"
#include "contact/contact.h"
#include "vulkan/gpu_casts.h"
#include "vulkan/gpu_trial.h"
#include "vulkan/vk_commands.h"
#include <float.h>
#include <string.h>

enum { SIDES_PER_TASK = 16, NOWHERE = -1, NO_JOB = -1 };
_Static_assert(sizeof(cr_gpu_ray) == 32 && sizeof(cr_gpu_cast_job) == 32 && sizeof(cr_gpu_hit) == 16, "mesh_cast.comp");

/// A mesh on the device, or one that cannot be there.
typedef struct held_mesh {
	uint64_t revision;           // of the collider; no two are the same
	const cr_collider *collider; // in the step of `run`
	uint64_t run;                // of the pipeline, when it was wanted last
	int64_t place;               // in the buffer; NOWHERE: not there yet
	uint64_t bytes;
	bool no_room; // it is too deep, too large or too odd
} held_mesh;

/// The rays of one side of a pair.
typedef struct cast_side {
	int32_t work;
	int32_t side;
	int32_t job;    // of the batch; NO_JOB: the processor casts them
	uint32_t first; // ray of the batch
} cast_side;

typedef struct device_state {
	cr_gpu_casts casts;
	CR_ARRAY(held_mesh) meshes; // sorted by revision
	uint64_t used;              // bytes of the buffer
	CR_ARRAY(cast_side) sides;  // of the stage
	// of the batch that is under way: of sides
	int64_t begin, end;
	cr_gpu_ray *rays;
	cr_gpu_cast_job *jobs;
	const cr_gpu_hit *hits;
} device_state;

// ---- Meshes ----

static bool is_odd(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	bits &= INT32_MAX;
	return (bits != 0 && bits < 0x00800000u) || bits >= (uint32_t)(127 + CR_GPU_MESH_EXPONENT) << 23;
}

/// Can the kernel go through a mesh? See gpu_casts.h.
static bool fits(const cr_collider *c)
{
	if (c->tree.node_count == 0 || c->tree.depth > CR_GPU_TREE_DEPTH)
		return false;
	for (int32_t b = 0; b < c->tree.block_count; b++) {
		const float *corners = &c->blocks[b].corner[0][0][0];
		for (size_t i = 0; i < sizeof c->blocks->corner / sizeof *corners; i++) {
			if (is_odd(corners[i]))
				return false;
		}
	}
	return true;
}

static uint64_t node_bytes(const cr_collider *c) { return (uint64_t)c->tree.node_count * sizeof *c->tree.nodes; }
static uint64_t block_bytes(const cr_collider *c) { return (uint64_t)c->tree.block_count * sizeof *c->blocks; }

/// Where a mesh of a revision is in the list, or belongs.
static int64_t find_mesh(const device_state *d, uint64_t revision)
{
	int64_t low = 0, high = d->meshes.count;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		if (d->meshes.data[middle].revision < revision)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/// Note that a mesh is wanted in this step. false: out of memory.
static bool want_mesh(cr_pipeline *p, device_state *d, const cr_collider *c)
{
	const int64_t at = find_mesh(d, c->revision);
	held_mesh *m = d->meshes.data + at;
	if (at < d->meshes.count && m->revision == c->revision) {
		m->run = p->run;
		m->collider = c;
		return true;
	}
	if (!cr_array_reserve_one(p->context, &d->meshes))
		return false;
	m = d->meshes.data + at;
	memmove(m + 1, m, (size_t)(d->meshes.count++ - at) * sizeof *m);
	const uint64_t bytes = node_bytes(c) + block_bytes(c), align = CR_GPU_SURFACE_ALIGN;
	*m = (held_mesh){ c->revision, c, p->run, NOWHERE, (bytes + align - 1) / align * align, !fits(c) };
	return true;
}

/// Let go of the meshes that this step does not want, and of all places.
static void forget_places(cr_pipeline *p, device_state *d)
{
	int64_t kept = 0;
	for (int64_t i = 0; i < d->meshes.count; i++) {
		held_mesh *m = &d->meshes.data[i];
		m->place = NOWHERE;
		if (m->run == p->run)
			d->meshes.data[kept++] = *m;
	}
	d->meshes.count = kept;
	d->used = 0;
}

/// Bytes of meshes that are wanted and have no place.
static uint64_t missing_bytes(const cr_pipeline *p, const device_state *d)
{
	uint64_t bytes = 0;
	for (int64_t i = 0; i < d->meshes.count; i++) {
		const held_mesh *m = &d->meshes.data[i];
		if (m->run == p->run && m->place == NOWHERE && !m->no_room)
			bytes += m->bytes;
	}
	return bytes;
}

static carom_result put_mesh(cr_pipeline *p, device_state *d, held_mesh *m)
{
	const cr_collider *c = m->collider;
	carom_result result = cr_gpu_upload_at(p->device, &d->casts.surfaces, d->used, c->tree.nodes, node_bytes(c));
	if (result == CAROM_SUCCESS)
		result = cr_gpu_upload_at(p->device, &d->casts.surfaces, d->used + node_bytes(c), c->blocks, block_bytes(c));
	if (result != CAROM_SUCCESS)
		return result;
	m->place = (int64_t)d->used;
	d->used += m->bytes;
	return CAROM_SUCCESS;
}

/// Bring the wanted meshes to the device that are not there.
static carom_result put_meshes(cr_pipeline *p, device_state *d)
{
	uint64_t missing = missing_bytes(p, d);
	if (missing == 0)
		return CAROM_SUCCESS;
	if (d->used + missing > d->casts.surfaces.size) {
		forget_places(p, d);
		missing = missing_bytes(p, d);
		bool lost;
		const carom_result result = cr_gpu_reserve_surfaces(p->device, &d->casts, missing, &lost);
		if (result != CAROM_SUCCESS)
			return result;
	}
	carom_result result = CAROM_SUCCESS;
	for (int64_t i = 0; i < d->meshes.count && result == CAROM_SUCCESS; i++) {
		held_mesh *m = &d->meshes.data[i];
		if (m->run == p->run && m->place == NOWHERE && !m->no_room)
			result = put_mesh(p, d, m);
	}
	return result;
}

// ---- Rays ----

static const cr_collider *target_of(const cr_pipeline *p, const cast_side *s)
{
	return cr_target_of(p, &p->work.data[s->work], s->side)->shape.collider;
}

static cr_span span_of(const cr_pipeline *p, const cast_side *s) { return p->work.data[s->work].rays[s->side]; }

/// List the sides that have full rays, and note the meshes that these are cast against.
static carom_result list_sides(cr_pipeline *p, device_state *d)
{
	d->sides.count = 0;
	if (!cr_array_reserve_fresh(p->context, &d->sides, 2 * p->taken.count))
		return cr_fail_memory(p->context, "rays for a device");
	for (int64_t i = 0; i < p->taken.count; i++) {
		const cr_pair_work *w = &p->work.data[p->taken.data[i]];
		for (int side = 0; side < 2 && !w->iterative; side++) {
			if (w->rays[side].count == 0)
				continue;
			const cast_side s = { p->taken.data[i], side, NO_JOB, 0 };
			d->sides.data[d->sides.count++] = s;
			if (!want_mesh(p, d, target_of(p, &s)))
				return cr_fail_memory(p->context, "meshes for a device");
		}
	}
	return CAROM_SUCCESS;
}

/// Take sides for the next batch, from d->end on. Returns how many rays it has; *jobs: sides with
/// rays on the device.
static uint32_t take_batch(cr_pipeline *p, device_state *d, uint32_t *jobs)
{
	uint32_t rays = 0;
	*jobs = 0;
	d->begin = d->end;
	for (; d->end < d->sides.count; d->end++) {
		cast_side *s = &d->sides.data[d->end];
		const cr_span span = span_of(p, s);
		const held_mesh *m = &d->meshes.data[find_mesh(d, target_of(p, s)->revision)];
		if (m->no_room || span.count > CR_GPU_MOST_CASTS)
			continue;
		if (rays + (uint32_t)span.count > CR_GPU_MOST_CASTS)
			break;
		s->job = (int32_t)(*jobs)++;
		s->first = rays;
		rays += (uint32_t)span.count;
	}
	return rays;
}

static void pack_side(const cr_pipeline *p, const device_state *d, const cast_side *s)
{
	const cr_collider *c = target_of(p, s);
	const held_mesh *m = &d->meshes.data[find_mesh(d, c->revision)];
	const uint64_t nodes = cr_gpu_surface_address(&d->casts, (uint64_t)m->place);
	d->jobs[s->job] = (cr_gpu_cast_job){ nodes, nodes + node_bytes(c), p->work.data[s->work].extension, { 0 } };
	const cr_span span = span_of(p, s);
	const cr_sample_rays r = cr_casts_at(&p->frame, span.first).rays;
	for (int32_t i = 0; i < span.count; i++)
		d->rays[s->first + (uint32_t)i] = (cr_gpu_ray){ { r.origin[0][i], r.origin[1][i], r.origin[2][i] },
			fminf(r.t_max[i], FLT_MAX), { r.direction[0][i], r.direction[1][i], r.direction[2][i] }, (uint32_t)s->job };
}

static void pack_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const cr_pipeline *p = task;
	const device_state *d = p->on_device;
	for (int64_t i = d->begin + begin; i < d->begin + end; i++) {
		if (d->sides.data[i].job != NO_JOB)
			pack_side(p, d, &d->sides.data[i]);
	}
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

/// Put the hits of a side into the frame's list, and cast the rays that are left.
static void unpack_side(const cr_pipeline *p, cr_worker *worker, const device_state *d, const cast_side *s)
{
	const cr_pair_work *w = &p->work.data[s->work];
	const cr_body *target = cr_target_of(p, w, s->side);
	const cr_span span = span_of(p, s);
	const cr_casts casts = cr_casts_at(&p->frame, span.first);
	if (s->job == NO_JOB) {
		cr_cast_lines(p, target, &casts, span.count, w->extension);
		return;
	}
	worker->rays_on_device += span.count;
	for (int32_t i = 0; i < span.count; i++) {
		const cr_gpu_hit *hit = &d->hits[s->first + (uint32_t)i];
		if (hit->behind != CR_GPU_DOUBTFUL) {
			store_hit(&casts.hits, i, hit);
			continue;
		}
		const cr_casts one = cr_casts_at(&p->frame, span.first + (uint32_t)i);
		cr_cast_lines(p, target, &one, 1, w->extension);
		worker->rays_returned++;
	}
}

static void unpack_task(int64_t begin, int64_t end, int worker, void *task)
{
	const cr_pipeline *p = task;
	const device_state *d = p->on_device;
	for (int64_t i = d->begin + begin; i < d->begin + end; i++)
		unpack_side(p, &p->workers[worker], d, &d->sides.data[i]);
}

/// Cast the rays of the next sides. The device is locked.
static carom_result cast_batch(cr_pipeline *p, device_state *d)
{
	uint32_t jobs;
	const uint32_t rays = take_batch(p, d, &jobs);
	if (rays == 0)
		return CAROM_SUCCESS;
	carom_result result = cr_gpu_open_casts(p->device, &d->casts, rays, jobs, &d->rays, &d->jobs);
	if (result != CAROM_SUCCESS)
		return result;
	cr_parallel_for(p->context, pack_task, d->end - d->begin, SIDES_PER_TASK, p);
	return cr_gpu_cast(p->device, &d->casts, rays, jobs, &d->hits);
}

static carom_result cast_all(cr_pipeline *p, device_state *d)
{
	d->begin = d->end = 0;
	carom_result result = put_meshes(p, d);
	while (d->end < d->sides.count && result == CAROM_SUCCESS) {
		result = cast_batch(p, d);
		if (result == CAROM_SUCCESS)
			cr_parallel_for(p->context, unpack_task, d->end - d->begin, SIDES_PER_TASK, p);
	}
	return result;
}

/// The device has failed: let the processor cast the rays from the batch that was under way on.
static carom_result fall_back(cr_pipeline *p, device_state *d)
{
	cr_log(p->context, CAROM_LOG_WARNING, "the processor casts rays in the place of a device: %s", carom_error_text(p->context));
	p->fallbacks++;
	d->end = d->sides.count;
	for (int64_t i = d->begin; i < d->end; i++)
		d->sides.data[i].job = NO_JOB;
	cr_parallel_for(p->context, unpack_task, d->end - d->begin, SIDES_PER_TASK, p);
	return CAROM_SUCCESS;
}

static device_state *state_of(cr_pipeline *p)
{
	if (!p->on_device)
		p->on_device = cr_alloc_zero(p->context, sizeof(device_state));
	return p->on_device;
}

static carom_result cast_on_device(cr_pipeline *p)
{
	if (cr_take(p, CR_NEXT_RAYS) == 0)
		return CAROM_SUCCESS;
	device_state *d = state_of(p);
	if (!d)
		return cr_fail_memory(p->context, "rays for a device");
	cr_walk_all(p);
	carom_result result = list_sides(p, d);
	if (result == CAROM_SUCCESS && d->sides.count > 0) {
		cr_gpu_lock(p->device);
		result = cast_all(p, d);
		cr_gpu_unlock(p->device);
		if (result != CAROM_SUCCESS && p->device_fallback)
			result = fall_back(p, d);
	}
	return result == CAROM_SUCCESS ? cr_judge_rays(p) : result;
}

static void close(cr_pipeline *p)
{
	device_state *d = p->on_device;
	if (!d)
		return;
	cr_gpu_lock(p->device);
	cr_gpu_free_casts(p->device, &d->casts);
	cr_gpu_unlock(p->device);
	cr_array_free(p->context, &d->meshes);
	cr_array_free(p->context, &d->sides);
	cr_free(p->context, d, sizeof *d);
	p->on_device = NULL;
}

const cr_stages cr_device_stages = { "device", cr_open_stages, cr_stage_pairs, cr_stage_near, cr_stage_crossings,
	cr_stage_vertices, cast_on_device, cr_stage_finish, cr_stage_simple, cr_stage_reduce, close };

carom_result cr_check_stage_device(carom_context *context, const char *function, carom_device *device)
{
	if (cr_context_root(device->context) != cr_context_root(context))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: device is of another context", function);
	if (!device->info.doubles)
		return cr_fail(context, CAROM_UNSUPPORTED, "%s: %s has no double precision, which rays against meshes need", function,
			device->info.name);
	bool exact;
	cr_gpu_lock(device);
	const carom_result result = cr_gpu_try_arithmetic(device, &exact);
	cr_gpu_unlock(device);
	if (result == CAROM_SUCCESS && !exact)
		return cr_fail(
			context, CAROM_UNSUPPORTED, "%s: %s rounds doubles otherwise than the processor", function, device->info.name);
	return result;
}
