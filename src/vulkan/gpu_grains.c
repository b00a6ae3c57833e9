/// Spheres on a device: making and destroying them, their memory, numbers and buffers. See
/// gpu_grains.h.
#include "vulkan/gpu_grains.h"
#include "vulkan/gpu_device.h"
#include "vulkan/gpu_trial.h"
#include <math.h>
#include <string.h>

carom_grains_def carom_default_grains_def(void) { return (carom_grains_def){ .cookie = GRAINS_COOKIE }; }

// ---- Memory ----

#define GRAINS_BUFFERS 21

static void list_buffers(carom_grains *g, cr_gpu_buffer *list[GRAINS_BUFFERS])
{
	cr_gpu_buffer *all[GRAINS_BUFFERS] = { &g->places, &g->motions, &g->spins, &g->loads, &g->held, &g->slots, &g->first[0],
		&g->first[1], &g->other[0], &g->other[1], &g->springs[0], &g->springs[1], &g->wall_marks, &g->wall_springs, &g->tallies,
		&g->control, &g->moments, &g->results, &g->groups, &g->wanted, &g->setup };
	memcpy(list, all, sizeof all);
}

static uint64_t bytes_of(const carom_grains *g)
{
	carom_grains copy = *g;
	cr_gpu_buffer *list[GRAINS_BUFFERS];
	list_buffers(&copy, list);
	uint64_t bytes = cr_gpu_tree_bytes(&g->tree);
	for (int i = 0; i < GRAINS_BUFFERS; i++)
		bytes += list[i]->size;
	return bytes;
}

carom_result cr_grains_reserve_rows(carom_grains *g, int which, uint64_t entries)
{
	if (entries > MOST_ROOM)
		return cr_fail(g->context, CAROM_UNSUPPORTED, "rows of neighbours of grains: %llu entries are more than %d",
			(unsigned long long)entries, MOST_ROOM);
	g->room[which] = 0;
	carom_result result = cr_gpu_reserve(g->device, &g->other[which], 4 * entries);
	if (result == CAROM_SUCCESS && g->histories)
		result = cr_gpu_reserve(g->device, &g->springs[which], 24 * entries);
	if (result == CAROM_SUCCESS)
		g->room[which] = entries;
	return result;
}

static carom_result reserve_all(carom_grains *g)
{
	const uint64_t n = g->count, turning = g->def.turns ? n : 0, walled = g->def.wall_springs > 0 ? n : 0;
	const struct {
		cr_gpu_buffer *buffer;
		uint64_t size;
	} wanted[] = { { &g->places, 32 * n }, { &g->motions, 32 * n }, { &g->spins, 32 * turning }, { &g->loads, 48 * n },
		{ &g->held, 32 * n }, { &g->slots, 4 * SLOTS * n }, { &g->first[0], 8 * (n + 1) }, { &g->first[1], 8 * (n + 1) },
		{ &g->wall_marks, 4 * walled }, { &g->wall_springs, 24 * walled * (uint64_t)g->def.wall_springs },
		{ &g->tallies, TALLY_BYTES * (uint64_t)cr_grains_groups(g) }, { &g->control, 4 * CONTROLS },
		{ &g->moments, BATCH * sizeof(grains_moment) }, { &g->results, BATCH * sizeof(grains_result) },
		{ &g->groups, sizeof g->gate.wanted }, { &g->wanted, sizeof g->gate.wanted }, { &g->setup, sizeof(grains_setup) } };
	carom_result result = cr_gpu_reserve_tree(g->device, &g->tree, g->count);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted && result == CAROM_SUCCESS; i++)
		result = cr_gpu_reserve(g->device, wanted[i].buffer, wanted[i].size);
	for (int which = 0; which < 2 && result == CAROM_SUCCESS; which++)
		result = cr_grains_reserve_rows(g, which, ROW_GUESS * n);
	return result;
}

static void release(carom_grains *g)
{
	carom_context *context = g->context;
	cr_gpu_buffer *list[GRAINS_BUFFERS];
	list_buffers(g, list);
	cr_gpu_lock(g->device);
	for (int i = 0; i < GRAINS_BUFFERS; i++)
		cr_gpu_free(g->device, list[i]);
	cr_gpu_free_tree(g->device, &g->tree);
	cr_gpu_unlock(g->device, CAROM_SUCCESS);
	cr_free(context, g, sizeof *g);
}

// ---- Making ----

static carom_result check_box(carom_context *context, const carom_grains_def *def)
{
	for (int k = 0; k < 3; k++) {
		const bool box = isfinite(def->lower[k]) && isfinite(def->upper[k]) && def->lower[k] < def->upper[k];
		if (def->periodic[k] && !box)
			return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_grains_def.lower[%d], upper[%d]: %g, %g are no box", k, k,
				def->lower[k], def->upper[k]);
	}
	return CAROM_SUCCESS;
}

static carom_result check_law(carom_context *context, const carom_grain_law *law, const char *name, bool turns)
{
	const double numbers[] = { law->stiffness, law->modulus, law->shear, law->damping, law->damping_root,
		law->tangential_stiffness, law->tangential_damping, law->friction, law->rolling_friction };
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		if (!(numbers[i] >= 0 && isfinite(numbers[i])))
			return cr_fail(context, CAROM_INVALID_ARGUMENT,
				"carom_grains_def.%s: its number %d is %g, not a finite one of at least 0", name, (int)i, numbers[i]);
	}
	if ((law->tangential || law->rolling) && !turns)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_grains_def.turns is off, but the law of %s turns spheres", name);
	return CAROM_SUCCESS;
}

static carom_result check_def(carom_context *context, const carom_grains_def *def)
{
	if (def->cookie != GRAINS_COOKIE)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_grains_def.cookie: start from carom_default_grains_def");
	if (!def->device)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_grains_def.device is NULL");
	if (def->count < 0 || def->count > CAROM_GRAINS_MAX_COUNT)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_grains_def.count is %lld, not within 0 and %d",
			(long long)def->count, CAROM_GRAINS_MAX_COUNT);
	if (!(def->time_step > 0 && isfinite(def->time_step)))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_grains_def.time_step is %g, not above 0", def->time_step);
	if (!(def->skin >= 0 && isfinite(def->skin)))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_grains_def.skin is %g, below 0 or not finite", def->skin);
	if (def->wall_springs < 0 || def->wall_springs > CAROM_GRAINS_MAX_WALLS)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_grains_def.wall_springs is %d, not within 0 and %d",
			(int)def->wall_springs, CAROM_GRAINS_MAX_WALLS);
	if (def->walls.tangential && def->wall_springs == 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_grains_def.wall_springs is 0, but the law of walls has springs");
	carom_result result = cr_check_device_context(context, def->device, "carom_grains_def.device");
	if (result == CAROM_SUCCESS)
		result = check_box(context, def);
	if (result == CAROM_SUCCESS)
		result = check_law(context, &def->spheres, "spheres", def->turns);
	if (result == CAROM_SUCCESS)
		result = check_law(context, &def->walls, "walls", def->turns);
	if (result == CAROM_SUCCESS && !def->device->info.doubles)
		result = cr_fail(context, CAROM_UNSUPPORTED, "%s has no double precision, which grains need", def->device->info.name);
	return result;
}

/// All at rest, at the origin, without contacts.
static carom_result clear_all(carom_grains *g)
{
	cr_gpu_buffer *list[GRAINS_BUFFERS];
	list_buffers(g, list);
	const carom_result result = cr_gpu_begin(g->device);
	if (result != CAROM_SUCCESS)
		return result;
	for (int i = 0; i < GRAINS_BUFFERS; i++) {
		if (list[i]->buffer)
			cr_gpu_clear(g->device, list[i], list[i]->size);
	}
	return cr_gpu_finish(g->device);
}

static carom_result open_grains(carom_grains *g)
{
	cr_gpu_lock(g->device);
	carom_result result = cr_gpu_try_arithmetic(g->device, &g->stats.exact);
	if (result == CAROM_SUCCESS && g->count > 0)
		result = reserve_all(g);
	if (result == CAROM_SUCCESS && g->count > 0)
		result = clear_all(g);
	return cr_gpu_unlock(g->device, result);
}

carom_result carom_create_grains(carom_context *context, const carom_grains_def *def, carom_grains **grains)
{
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!def || !grains)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_create_grains: %s is NULL", !def ? "def" : "grains");
	*grains = NULL;
	carom_result result = check_def(context, def);
	if (result != CAROM_SUCCESS)
		return result;
	carom_grains *g = cr_alloc_zero(context, sizeof *g);
	if (!g)
		return cr_fail_memory(context, "grains");
	g->context = context;
	g->device = def->device;
	g->def = *def;
	g->count = (uint32_t)def->count;
	g->histories = def->spheres.tangential;
	g->tree.tier = CAROM_TIER_COMPUTE;
	result = open_grains(g);
	if (result != CAROM_SUCCESS) {
		release(g);
		return result;
	}
	atomic_fetch_add(&context->live_objects, 1);
	*grains = g;
	return CAROM_SUCCESS;
}

void carom_destroy_grains(carom_grains *g)
{
	if (!g)
		return;
	atomic_fetch_sub(&g->context->live_objects, 1);
	release(g);
}

// ---- Numbers and buffers ----

carom_result cr_grains_check_ready(carom_grains *g)
{
	if (g->failed)
		return cr_fail(g->context, CAROM_INVALID_ARGUMENT, "grains: a call has failed before; set their state again");
	return CAROM_SUCCESS;
}

void cr_grains_count_bytes(carom_grains *g, const carom_device_stats *before, bool step)
{
	const int64_t up = g->device->stats.bytes_up - before->bytes_up, down = g->device->stats.bytes_down - before->bytes_down;
	g->stats.bytes_up += up;
	g->stats.bytes_down += down;
	g->stats.step_up += step ? up : 0;
	g->stats.step_down += step ? down : 0;
}

carom_grains_stats carom_grains_get_stats(const carom_grains *g)
{
	carom_grains_stats stats = g->stats;
	stats.bytes = bytes_of(g);
	return stats;
}

carom_result carom_grains_get_buffers(carom_grains *g, carom_grains_buffers *buffers)
{
	if (!buffers)
		return cr_fail(g->context, CAROM_INVALID_ARGUMENT, "carom_grains_get_buffers: buffers is NULL");
	*buffers = (carom_grains_buffers){ 0 };
	const carom_result result = cr_grains_check_ready(g);
	if (result != CAROM_SUCCESS)
		return result;
	const uint32_t c = g->current;
	*buffers = (carom_grains_buffers){ cr_show_buffer(&g->places), cr_show_buffer(&g->motions), cr_show_buffer(&g->spins),
		cr_show_buffer(&g->wall_marks), cr_show_buffer(&g->wall_springs), cr_show_buffer(&g->first[c]),
		cr_show_buffer(&g->other[c]), cr_show_buffer(&g->springs[c]), cr_show_buffer(&g->loads) };
	return CAROM_SUCCESS;
}
