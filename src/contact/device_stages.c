/// The back end that casts and walks rays, and tests triangles that may cross, on a graphics
/// device; all else runs on the processor. Contacts are those of cr_cpu_stages, bit for bit.

#include "contact/device_stages.h"
#include "vulkan/gpu_device.h"
#include "vulkan/gpu_trial.h"
#include "vulkan/vk_commands.h"

cr_device_state *cr_state_on_device(cr_pipeline *p)
{
	if (!p->on_device)
		p->on_device = cr_alloc_zero(p->context, sizeof(cr_device_state));
	return p->on_device;
}

bool cr_falls_back(cr_pipeline *p)
{
	if (!p->device_fallback)
		return false;
	cr_log(p->context, CAROM_LOG_WARNING, "the processor does the work of a device: %s", carom_error_text(p->context));
	p->fallbacks++;
	return true;
}

static void close(cr_pipeline *p)
{
	cr_device_state *d = p->on_device;
	if (!d)
		return;
	cr_gpu_lock(p->device);
	cr_gpu_free_casts(p->device, &d->casts);
	cr_gpu_unlock(p->device);
	cr_array_free(p->context, &d->meshes);
	cr_array_free(p->context, &d->rays);
	cr_array_free(p->context, &d->couples);
	cr_free(p->context, d, sizeof *d);
	p->on_device = NULL;
}

const cr_stages cr_device_stages = { "device", cr_open_stages, cr_stage_pairs, cr_stage_near, cr_crossings_on_device,
	cr_stage_vertices, cr_rays_on_device, cr_stage_finish, cr_stage_simple, cr_stage_reduce, close };

carom_result cr_check_stage_device(carom_context *context, const char *function, carom_device *device)
{
	if (cr_check_device_context(context, device, "carom_world_set_device: device") != CAROM_SUCCESS)
		return CAROM_INVALID_ARGUMENT;
	if (!device->info.doubles)
		return cr_fail(
			context, CAROM_UNSUPPORTED, "%s: %s has no double precision, which meshes need", function, device->info.name);
	bool exact;
	cr_gpu_lock(device);
	const carom_result result = cr_gpu_try_arithmetic(device, &exact);
	cr_gpu_unlock(device);
	if (result == CAROM_SUCCESS && !exact)
		return cr_fail(
			context, CAROM_UNSUPPORTED, "%s: %s rounds doubles otherwise than the processor", function, device->info.name);
	return result;
}
