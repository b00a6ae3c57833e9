/// Rays against meshes on a device. See vulkan/gpu_casts.h.
#include "vulkan/gpu_casts.h"
#include "vulkan/vk_commands.h"
#include "vulkan/vk_kernels.h"

carom_result cr_gpu_reserve_surfaces(carom_device *device, cr_gpu_casts *c, uint64_t bytes, bool *lost)
{
	*lost = bytes > c->surfaces.size;
	return cr_gpu_reserve(device, &c->surfaces, bytes);
}

carom_result cr_gpu_open_casts(
	carom_device *device, cr_gpu_casts *c, uint32_t ray_count, uint32_t job_count, cr_gpu_ray **rays, cr_gpu_cast_job **jobs)
{
	carom_result result = cr_gpu_reserve(device, &c->rays, ray_count * sizeof(cr_gpu_ray));
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &c->jobs, job_count * sizeof(cr_gpu_cast_job));
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &c->hits, ray_count * sizeof(cr_gpu_hit));
	if (result != CAROM_SUCCESS)
		return result;
	*rays = c->rays.mapped;
	*jobs = c->jobs.mapped;
	if (*rays && *jobs)
		return CAROM_SUCCESS;
	if (!cr_array_reserve_fresh(device->context, &c->ray_copy, ray_count) ||
		!cr_array_reserve_fresh(device->context, &c->job_copy, job_count) ||
		!cr_array_reserve_fresh(device->context, &c->hit_copy, ray_count))
		return cr_fail_memory(device->context, "rays for a device");
	*rays = c->ray_copy.data;
	*jobs = c->job_copy.data;
	return CAROM_SUCCESS;
}

carom_result cr_gpu_cast(carom_device *device, cr_gpu_casts *c, uint32_t ray_count, uint32_t job_count, const cr_gpu_hit **hits)
{
	const bool mapped = c->rays.mapped && c->jobs.mapped;
	const void *rays = mapped ? c->rays.mapped : c->ray_copy.data, *jobs = mapped ? c->jobs.mapped : c->job_copy.data;
	carom_result result = cr_gpu_upload(device, &c->rays, rays, ray_count * sizeof(cr_gpu_ray));
	if (result == CAROM_SUCCESS)
		result = cr_gpu_upload(device, &c->jobs, jobs, job_count * sizeof(cr_gpu_cast_job));
	if (result == CAROM_SUCCESS)
		result = cr_gpu_begin(device);
	if (result != CAROM_SUCCESS)
		return result;
	const cr_gpu_arguments arguments = { { c->rays.address, c->jobs.address, c->hits.address }, { ray_count } };
	cr_gpu_run(device, CR_KERNEL_MESH_CAST, ray_count, CR_GPU_THREADS, &arguments);
	result = cr_gpu_finish(device);
	cr_gpu_hit *to = mapped ? c->hits.mapped : c->hit_copy.data;
	if (result == CAROM_SUCCESS)
		result = cr_gpu_download(device, &c->hits, to, ray_count * sizeof(cr_gpu_hit));
	*hits = to;
	return result;
}

void cr_gpu_free_casts(carom_device *device, cr_gpu_casts *c)
{
	cr_gpu_free(device, &c->surfaces);
	cr_gpu_free(device, &c->rays);
	cr_gpu_free(device, &c->jobs);
	cr_gpu_free(device, &c->hits);
	cr_array_free(device->context, &c->ray_copy);
	cr_array_free(device->context, &c->job_copy);
	cr_array_free(device->context, &c->hit_copy);
	*c = (cr_gpu_casts){ 0 };
}
