/// Rays against meshes on a device, and triangles against triangles. See vulkan/gpu_casts.h.
#include "vulkan/gpu_casts.h"
#include "vulkan/vk_commands.h"
#include "vulkan/vk_kernels.h"

_Static_assert(sizeof(cr_gpu_ray) == 32 && sizeof(cr_gpu_cast_job) == 48, "mesh_jobs.glsl");
_Static_assert(sizeof(cr_gpu_hit) == 16 && sizeof(cr_gpu_walked) == 16, "mesh_cast.comp, mesh_walk.comp");
_Static_assert(sizeof(cr_gpu_couple) == 16 && sizeof(cr_gpu_couple_job) == 112, "mesh_pierce.comp");
_Static_assert(sizeof(cr_gpu_pierced) == 56, "mesh_pierce.comp");

// ---- Lists ----

typedef struct list_bytes {
	uint64_t items, jobs, results;
} list_bytes;

/// Does the processor reach all of them?
static bool is_mapped(const cr_gpu_lists *l) { return l->items.mapped && l->jobs.mapped && l->results.mapped; }

/// Room for lists, where the processor writes items and jobs.
static carom_result open_lists(carom_device *device, cr_gpu_lists *l, const list_bytes *bytes, void **items, void **jobs)
{
	carom_result result = cr_gpu_reserve_shared(device, &l->items, bytes->items);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve_shared(device, &l->jobs, bytes->jobs);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve_shared(device, &l->results, bytes->results);
	if (result != CAROM_SUCCESS)
		return result;
	*items = l->items.mapped;
	*jobs = l->jobs.mapped;
	if (is_mapped(l))
		return CAROM_SUCCESS;
	if (!cr_array_reserve_fresh(device->context, &l->item_copy, (int64_t)bytes->items) ||
		!cr_array_reserve_fresh(device->context, &l->job_copy, (int64_t)bytes->jobs) ||
		!cr_array_reserve_fresh(device->context, &l->result_copy, (int64_t)bytes->results))
		return cr_fail_memory(device->context, "lists for a device");
	*items = l->item_copy.data;
	*jobs = l->job_copy.data;
	return CAROM_SUCCESS;
}

/// Bring items and jobs to the device.
static carom_result send_lists(carom_device *device, cr_gpu_lists *l, const list_bytes *bytes)
{
	const bool mapped = is_mapped(l);
	carom_result result = cr_gpu_upload(device, &l->items, mapped ? l->items.mapped : l->item_copy.data, bytes->items);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_upload(device, &l->jobs, mapped ? l->jobs.mapped : l->job_copy.data, bytes->jobs);
	return result;
}

/// Bring the results, once the work is done.
static carom_result take_lists(carom_device *device, cr_gpu_lists *l, const list_bytes *bytes, const void **results)
{
	void *to = is_mapped(l) ? l->results.mapped : l->result_copy.data;
	*results = to;
	return cr_gpu_download(device, &l->results, to, bytes->results);
}

static void free_lists(carom_device *device, cr_gpu_lists *l)
{
	cr_gpu_free(device, &l->items);
	cr_gpu_free(device, &l->jobs);
	cr_gpu_free(device, &l->results);
	cr_array_free(device->context, &l->item_copy);
	cr_array_free(device->context, &l->job_copy);
	cr_array_free(device->context, &l->result_copy);
}

// ---- Meshes ----

carom_result cr_gpu_reserve_surfaces(carom_device *device, cr_gpu_casts *c, uint64_t bytes)
{
	return cr_gpu_reserve(device, &c->surfaces, bytes);
}

void cr_gpu_free_casts(carom_device *device, cr_gpu_casts *c)
{
	cr_gpu_free(device, &c->surfaces);
	cr_gpu_free(device, &c->structures);
	cr_gpu_free(device, &c->scratch);
	free_lists(device, &c->rays);
	free_lists(device, &c->couples);
	cr_gpu_free(device, &c->touched);
	*c = (cr_gpu_casts){ 0 };
}

// ---- Rays ----

static uint32_t count_rays(const cr_gpu_cast_batch *b) { return b->casts + b->walks; }

/// Marks follow the rays.
static list_bytes ray_bytes(const cr_gpu_cast_batch *b)
{
	const uint64_t rays = count_rays(b), each = sizeof(cr_gpu_ray) + (b->pairs > 0 ? sizeof(uint32_t) : 0);
	return (list_bytes){ rays * each, b->jobs * sizeof(cr_gpu_cast_job), rays * sizeof(cr_gpu_hit) };
}

uint32_t *cr_gpu_cast_marks(cr_gpu_ray *rays, const cr_gpu_cast_batch *b)
{
	return b->pairs > 0 ? (uint32_t *)(rays + count_rays(b)) : NULL;
}

carom_result cr_gpu_open_casts(
	carom_device *device, cr_gpu_casts *c, const cr_gpu_cast_batch *batch, cr_gpu_ray **rays, cr_gpu_cast_job **jobs)
{
	const list_bytes bytes = ray_bytes(batch);
	void *items = NULL, *common = NULL;
	const carom_result result = open_lists(device, &c->rays, &bytes, &items, &common);
	*rays = items;
	*jobs = common;
	return result;
}

carom_result cr_gpu_send_casts(carom_device *device, cr_gpu_casts *c, const cr_gpu_cast_batch *batch)
{
	const list_bytes bytes = ray_bytes(batch);
	const carom_result result = cr_gpu_reserve(device, &c->touched, batch->pairs * sizeof(uint32_t));
	return result == CAROM_SUCCESS ? send_lists(device, &c->rays, &bytes) : result;
}

void cr_gpu_record_casts(carom_device *device, cr_gpu_casts *c, const cr_gpu_cast_batch *batch)
{
	const cr_gpu_lists *l = &c->rays;
	const VkDeviceAddress rays = l->items.address, hits = l->results.address, pairs = c->touched.address,
						  marks = batch->pairs > 0 ? rays + count_rays(batch) * sizeof(cr_gpu_ray) : 0;
	cr_gpu_clear(device, &c->touched, batch->pairs * sizeof(uint32_t));
	const cr_gpu_arguments casts = { { rays, l->jobs.address, hits, marks, pairs }, { batch->casts } };
	if (batch->tier == CAROM_TIER_PIPELINE)
		cr_gpu_trace(device, CR_KERNEL_MESH_TRACE, batch->casts, &casts);
	else
		cr_gpu_run(device, batch->tier == CAROM_TIER_QUERY ? CR_KERNEL_MESH_QUERY : CR_KERNEL_MESH_CAST, batch->casts,
			CR_GPU_THREADS, &casts);
	if (batch->casts > 0)
		device->stats.tier = batch->tier == CAROM_TIER_AUTO ? CAROM_TIER_COMPUTE : batch->tier;
	const cr_gpu_arguments walks = { { rays + batch->casts * sizeof(cr_gpu_ray), l->jobs.address,
										 hits + batch->casts * sizeof(cr_gpu_hit),
										 marks > 0 ? marks + batch->casts * sizeof(uint32_t) : 0, pairs },
		{ batch->walks, batch->max_walk } };
	cr_gpu_run(device, CR_KERNEL_MESH_WALK, batch->walks, CR_GPU_THREADS, &walks);
}

carom_result cr_gpu_start_casts(carom_device *device, cr_gpu_casts *c, const cr_gpu_cast_batch *batch)
{
	carom_result result = cr_gpu_send_casts(device, c, batch);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_begin(device);
	if (result != CAROM_SUCCESS)
		return result;
	cr_gpu_record_casts(device, c, batch);
	return cr_gpu_submit(device);
}

carom_result cr_gpu_take_casts(carom_device *device, cr_gpu_casts *c, const cr_gpu_cast_batch *batch, const cr_gpu_hit **hits,
	const cr_gpu_walked **walked)
{
	const list_bytes bytes = ray_bytes(batch);
	const void *results;
	const carom_result result = take_lists(device, &c->rays, &bytes, &results);
	*hits = results;
	*walked = (const cr_gpu_walked *)results + batch->casts;
	return result;
}

carom_result cr_gpu_end_casts(carom_device *device, cr_gpu_casts *c, const cr_gpu_cast_batch *batch, const cr_gpu_hit **hits,
	const cr_gpu_walked **walked)
{
	const carom_result result = cr_gpu_complete(device);
	return result == CAROM_SUCCESS ? cr_gpu_take_casts(device, c, batch, hits, walked) : result;
}

// ---- Triangles against triangles ----

static list_bytes couple_bytes(uint32_t count, uint32_t job_count)
{
	return (list_bytes){ count * sizeof(cr_gpu_couple), job_count * sizeof(cr_gpu_couple_job), count * sizeof(cr_gpu_pierced) };
}

carom_result cr_gpu_open_couples(carom_device *device, cr_gpu_casts *c, uint32_t count, uint32_t job_count,
	cr_gpu_couple **couples, cr_gpu_couple_job **jobs)
{
	const list_bytes bytes = couple_bytes(count, job_count);
	void *items = NULL, *common = NULL;
	const carom_result result = open_lists(device, &c->couples, &bytes, &items, &common);
	*couples = items;
	*jobs = common;
	return result;
}

carom_result cr_gpu_pierce(
	carom_device *device, cr_gpu_casts *c, uint32_t count, uint32_t job_count, const cr_gpu_pierced **pierced)
{
	const list_bytes bytes = couple_bytes(count, job_count);
	carom_result result = send_lists(device, &c->couples, &bytes);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_begin(device);
	if (result != CAROM_SUCCESS)
		return result;
	const cr_gpu_lists *l = &c->couples;
	const cr_gpu_arguments arguments = { { l->items.address, l->jobs.address, l->results.address }, { count } };
	cr_gpu_run(device, CR_KERNEL_MESH_PIERCE, count, CR_GPU_THREADS, &arguments);
	result = cr_gpu_finish(device);
	if (result != CAROM_SUCCESS)
		return result;
	const void *results;
	result = take_lists(device, &c->couples, &bytes, &results);
	*pierced = results;
	return result;
}
