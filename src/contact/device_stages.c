/// The back end that finds near triangles, tests those that may cross, and casts and walks rays on
/// a graphics device; all else runs on the processor. Contacts are those of cr_cpu_stages, bit for
/// bit.

#include "contact/device_stages.h"
#include "vulkan/gpu_device.h"
#include "vulkan/gpu_trial.h"
#include "vulkan/vk_commands.h"

// Work for each thread of the processor from which on a device is asked. On NVIDIA's H100 and H200
// near walks and tests gained nothing on two threads of a Xeon, and lost on 16, however many there
// were (docs/measured/device.md): their lists are made and read on the processor. Full rays gained
// a little on two threads, from 30,000 on, and lost on 16 with half a million. A list of rays takes
// a device a time for each ray that hardly depends on the threads, while threads share the casting:
// so the bound grows with the square of the threads. Iterative rays never gained.
enum { WALKS_A_THREAD = 25000, RAYS_A_SQUARED_THREAD = 2500, TESTS_A_THREAD = 25000 };

/// Set how little work no device is asked to do.
static void set_least(const cr_pipeline *p, cr_device_state *d)
{
	bool always = false;
	for (int32_t i = 0; i < p->device_count; i++)
		always = always || p->devices[i]->def.always;
	const int64_t threads = always ? 0 : p->context->thread_count;
	d->few_walks = d->few_first = threads * WALKS_A_THREAD;
	d->few_rays = threads * threads * RAYS_A_SQUARED_THREAD;
	d->few_tests = threads * TESTS_A_THREAD;
	// The processor looks at the bodies alone that have moved. No card was measured beside it.
	d->few_bodies = always ? 1 : INT64_MAX;
}

cr_device_state *cr_state_on_device(cr_pipeline *p)
{
	cr_device_state *d = p->on_device;
	if (d)
		return d;
	p->on_device = d = cr_alloc_zero(p->context, sizeof *d);
	if (!d)
		return NULL;
	d->part_count = p->device_count;
	set_least(p, d);
	for (int32_t i = 0; i < p->device_count; i++)
		d->parts[i].device = p->devices[i];
	return d;
}

/// In the order of their addresses: worlds that share devices would else wait for each other.
void cr_lock_devices(const cr_pipeline *p)
{
	carom_device *sorted[CAROM_MAX_DEVICES];
	for (int32_t i = 0; i < p->device_count; i++) {
		int32_t at = i;
		for (; at > 0 && (uintptr_t)sorted[at - 1] > (uintptr_t)p->devices[i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = p->devices[i];
	}
	for (int32_t i = 0; i < p->device_count; i++)
		cr_gpu_lock(sorted[i]);
}

carom_result cr_unlock_devices(const cr_pipeline *p, carom_result result)
{
	for (int32_t i = 0; i < p->device_count; i++)
		result = cr_gpu_unlock(p->devices[i], result);
	return result;
}

cr_device_part *cr_working_part(const cr_pipeline *p)
{
	cr_device_state *d = p->on_device;
	for (int32_t i = 0; i < d->part_count; i++) {
		if (cr_is_working(p, &d->parts[i]))
			return &d->parts[i];
	}
	return NULL;
}

void cr_drop_part(cr_pipeline *p, cr_device_part *part)
{
	part->failed = p->run;
	if (!cr_working_part(p))
		return; // cr_falls_back tells
	cr_log(p->context, CAROM_LOG_WARNING, "other devices do the work of one: %s", carom_error_text(p->context));
	p->fallbacks++;
}

carom_result cr_fail_devices(const cr_pipeline *p)
{
	for (int32_t i = 0; i < p->device_count; i++) {
		if (p->devices[i]->stats.lost)
			return cr_gpu_begin(p->devices[i]); // which is refused, and tells of the call
	}
	return cr_fail(p->context, CAROM_DEVICE_FAILED, "all devices of the world have failed in this step");
}

bool cr_falls_back(cr_pipeline *p)
{
	if (!p->device_fallback)
		return false;
	cr_log(p->context, CAROM_LOG_WARNING, "the processor does the work of a device: %s", carom_error_text(p->context));
	p->fallbacks++;
	return true;
}

// ---- Tiers ----

enum { BATCHES_A_TIER = 2, CASTS_OF_TRIAL = 512 }; // of fewer casts the time says little

static bool has_tier(const carom_device *device, int tier)
{
	return tier == CAROM_TIER_COMPUTE || (tier == CAROM_TIER_QUERY ? device->rays.query : device->rays.pipeline);
}

/// The tier that is tried next; AUTO: all were tried.
static carom_device_tier untried_tier(const cr_device_part *part)
{
	for (int tier = CAROM_TIER_COMPUTE; tier <= CAROM_TIER_PIPELINE; tier++) {
		if (has_tier(part->device, tier) && part->trial.batches[tier] < BATCHES_A_TIER)
			return (carom_device_tier)tier;
	}
	return CAROM_TIER_AUTO;
}

static carom_device_tier fastest_tier(const cr_device_part *part)
{
	carom_device_tier best = CAROM_TIER_COMPUTE;
	for (int tier = CAROM_TIER_QUERY; tier <= CAROM_TIER_PIPELINE; tier++) {
		if (part->trial.batches[tier] == BATCHES_A_TIER && part->trial.ms[tier] < part->trial.ms[best])
			best = (carom_device_tier)tier;
	}
	return best;
}

bool cr_traces_rays(const cr_device_part *part)
{
	const carom_device *device = part->device;
	if (device->def.tier != CAROM_TIER_AUTO)
		return device->def.tier != CAROM_TIER_COMPUTE;
	return (device->rays.query || device->rays.pipeline) &&
		(untried_tier(part) != CAROM_TIER_AUTO || fastest_tier(part) != CAROM_TIER_COMPUTE);
}

carom_device_tier cr_tier_of_batch(const cr_device_part *part, uint32_t casts)
{
	if (part->device->def.tier != CAROM_TIER_AUTO)
		return part->device->def.tier;
	const carom_device_tier untried = untried_tier(part);
	if (untried == CAROM_TIER_AUTO)
		return fastest_tier(part);
	return casts >= CASTS_OF_TRIAL ? untried : CAROM_TIER_COMPUTE;
}

void cr_note_batch(cr_device_part *part, double ms)
{
	const carom_device_tier tier = part->batch.tier;
	if (part->device->def.tier != CAROM_TIER_AUTO || part->batch.casts < CASTS_OF_TRIAL ||
		part->trial.batches[tier] >= BATCHES_A_TIER)
		return;
	const double each = ms / part->batch.casts;
	if (part->trial.batches[tier]++ == 0 || each < part->trial.ms[tier])
		part->trial.ms[tier] = each;
}

// ---- The state ----

static void free_batch(carom_context *context, cr_near_batch *batch)
{
	cr_array_free(context, &batch->items);
	cr_array_free(context, &batch->jobs);
	cr_array_free(context, &batch->next);
	cr_array_free(context, &batch->first);
	cr_array_free(context, &batch->order);
}

static void close(cr_pipeline *p)
{
	cr_device_state *d = p->on_device;
	if (!d)
		return;
	cr_wake_broad(p);
	for (int32_t i = 0; i < d->part_count; i++) {
		cr_device_part *part = &d->parts[i];
		cr_gpu_lock(part->device);
		cr_free_meshes(p->context, part);
		cr_free_boxes(p->context, part->device, &part->boxes);
		cr_gpu_free_casts(part->device, &part->casts);
		cr_gpu_free_near(part->device, &part->near);
		cr_gpu_free_near(part->device, &part->ahead);
		cr_gpu_unlock(part->device, CAROM_SUCCESS);
	}
	cr_array_free(p->context, &d->rays);
	cr_array_free(p->context, &d->left);
	cr_array_free(p->context, &d->couples);
	free_batch(p->context, &d->near);
	free_batch(p->context, &d->ahead);
	cr_array_free(p->context, &d->ahead_of);
	cr_array_free(p->context, &d->rays_made);
	cr_free(p->context, d, sizeof *d);
	p->on_device = NULL;
}

const cr_stages cr_device_stages = { "device", cr_open_stages, cr_pairs_on_device, cr_stage_begin, cr_near_on_device,
	cr_crossings_on_device, cr_vertices_on_device, cr_rays_on_device, cr_stage_finish, cr_stage_simple, cr_stage_reduce, close };

carom_result cr_check_stage_device(carom_context *context, const char *function, carom_device *device)
{
	if (cr_check_device_context(context, device, "carom_world_set_device: device") != CAROM_SUCCESS)
		return CAROM_INVALID_ARGUMENT;
	if (!device->info.doubles)
		return cr_fail(
			context, CAROM_UNSUPPORTED, "%s: %s has no double precision, which meshes need", function, device->info.name);
	bool exact;
	cr_gpu_lock(device);
	const carom_result result = cr_gpu_unlock(device, cr_gpu_try_arithmetic(device, &exact));
	if (result == CAROM_SUCCESS && !exact)
		return cr_fail(
			context, CAROM_UNSUPPORTED, "%s: %s rounds doubles otherwise than the processor", function, device->info.name);
	return result;
}
