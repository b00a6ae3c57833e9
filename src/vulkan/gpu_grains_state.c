/// The state of spheres on a device, to there and back. See gpu_grains.h.
#include "vulkan/gpu_grains.h"
#include "vulkan/vk_commands.h"
#include <math.h>
#include <string.h>

// ---- To the device ----

static carom_result check_sphere(carom_grains *g, const carom_grains_state *s, int64_t i)
{
	const double *p = &s->places[4 * i], *v = &s->motions[4 * i];
	bool finite = p[3] > 0 && v[3] > 0;
	for (int k = 0; k < 4; k++)
		finite = finite && isfinite(p[k]) && isfinite(v[k]) && (!s->spins || isfinite(s->spins[4 * i + k]));
	if (!finite)
		return cr_fail(g->context, CAROM_INVALID_ARGUMENT,
			"carom_grains_state: sphere %lld: its numbers must be finite, its radius and 1 / mass above 0", (long long)i);
	for (int k = 0; k < 3; k++) {
		if (g->def.periodic[k] && !(p[k] >= g->def.lower[k] && p[k] < g->def.upper[k]))
			return cr_fail(g->context, CAROM_INVALID_ARGUMENT,
				"carom_grains_state.places: sphere %lld lies outside of the period along axis %d", (long long)i, k);
	}
	return CAROM_SUCCESS;
}

static carom_result check_rows(carom_grains *g, const carom_grains_state *s)
{
	if (!s->first)
		return CAROM_SUCCESS;
	if (!g->histories || s->first[0] != 0 || (s->first[g->count] > 0 && (!s->other || !s->springs)))
		return cr_fail(g->context, CAROM_INVALID_ARGUMENT, "carom_grains_state.first: %s",
			!g->histories          ? "contacts of spheres have no springs"
				: s->first[0] != 0 ? "it does not begin with 0"
								   : "other or springs is NULL");
	for (int64_t i = 0; i < g->count; i++) {
		bool rising = s->first[i + 1] >= s->first[i];
		for (int64_t e = s->first[i]; rising && e < s->first[i + 1]; e++)
			rising = s->other[e] < g->count && s->other[e] != i && (e == s->first[i] || s->other[e] > s->other[e - 1]);
		if (!rising)
			return cr_fail(g->context, CAROM_INVALID_ARGUMENT,
				"carom_grains_state.other: the contacts of sphere %lld are not ascending numbers of others", (long long)i);
	}
	return CAROM_SUCCESS;
}

static carom_result check_state(carom_grains *g, const carom_grains_state *s)
{
	if (!s || (g->count > 0 && (!s->places || !s->motions || (g->def.turns && !s->spins))))
		return cr_fail(g->context, CAROM_INVALID_ARGUMENT, "carom_grains_set_state: %s is NULL",
			!s                ? "state"
				: !s->places  ? "places"
				: !s->motions ? "motions"
							  : "spins");
	if (s->wall_marks && (g->def.wall_springs == 0 || !s->wall_springs))
		return cr_fail(g->context, CAROM_INVALID_ARGUMENT, "carom_grains_state.wall_marks: %s",
			g->def.wall_springs == 0 ? "walls have no springs" : "wall_springs is NULL");
	carom_result result = CAROM_SUCCESS;
	for (int64_t i = 0; i < g->count && result == CAROM_SUCCESS; i++)
		result = check_sphere(g, s, i);
	return result == CAROM_SUCCESS ? check_rows(g, s) : result;
}

static void measure(carom_grains *g, const carom_grains_state *s)
{
	double low[3] = { INFINITY, INFINITY, INFINITY }, high[3] = { -INFINITY, -INFINITY, -INFINITY };
	g->span.largest_radius = g->span.extent = 0;
	for (int64_t i = 0; i < g->count; i++) {
		for (int k = 0; k < 3; k++) {
			low[k] = fmin(low[k], s->places[4 * i + k]);
			high[k] = fmax(high[k], s->places[4 * i + k]);
		}
		g->span.largest_radius = fmax(g->span.largest_radius, s->places[4 * i + 3]);
	}
	for (int k = 0; k < 3; k++) {
		low[k] = g->def.periodic[k] ? g->def.lower[k] : low[k];
		high[k] = g->def.periodic[k] ? g->def.upper[k] : high[k];
		g->span.origin[k] = 0.5 * low[k] + 0.5 * high[k];
		g->span.extent = fmax(g->span.extent, 0.5 * high[k] - 0.5 * low[k]);
	}
	g->span.extent = 1.5 * g->span.extent + 4 * g->span.largest_radius;
}

/// Rows of contacts as the device has them: 64-bit sums, and the mark of touch.
static carom_result upload_rows(carom_grains *g, const carom_grains_state *s)
{
	const uint64_t n = (uint64_t)g->count + 1, entries = s->first ? (uint64_t)s->first[g->count] : 0;
	g->current = 0;
	carom_result result = entries > g->room[0] ? cr_grains_reserve_rows(g, 0, entries) : CAROM_SUCCESS;
	const size_t bytes = (size_t)(8 * n + 4 * entries);
	uint64_t *first = result == CAROM_SUCCESS ? cr_alloc_zero(g->context, bytes) : NULL;
	if (!first)
		return result == CAROM_SUCCESS ? cr_fail_memory(g->context, "contacts of grains") : result;
	uint32_t *other = (uint32_t *)(first + n);
	for (uint64_t i = 0; s->first && i < n; i++)
		first[i] = (uint64_t)s->first[i];
	for (uint64_t e = 0; e < entries; e++)
		other[e] = s->other[e] | CAROM_GRAINS_TOUCHED;
	result = cr_gpu_upload(g->device, &g->first[0], first, 8 * n);
	if (result == CAROM_SUCCESS && entries > 0)
		result = cr_gpu_upload(g->device, &g->other[0], other, 4 * entries);
	if (result == CAROM_SUCCESS && entries > 0)
		result = cr_gpu_upload(g->device, &g->springs[0], s->springs, 24 * entries);
	cr_free(g->context, first, bytes);
	return result;
}

static carom_result upload_state(carom_grains *g, const carom_grains_state *s)
{
	const uint64_t n = g->count, walls = (uint64_t)g->def.wall_springs;
	const uint32_t control[CONTROLS] = { [LISTS] = g->lists };
	carom_result result = cr_gpu_upload(g->device, &g->places, s->places, 32 * n);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_upload(g->device, &g->motions, s->motions, 32 * n);
	if (result == CAROM_SUCCESS && g->def.turns)
		result = cr_gpu_upload(g->device, &g->spins, s->spins, 32 * n);
	if (result == CAROM_SUCCESS && s->wall_marks)
		result = cr_gpu_upload(g->device, &g->wall_marks, s->wall_marks, 4 * n);
	if (result == CAROM_SUCCESS && s->wall_marks)
		result = cr_gpu_upload(g->device, &g->wall_springs, s->wall_springs, 24 * n * walls);
	if (result == CAROM_SUCCESS)
		result = upload_rows(g, s);
	return result == CAROM_SUCCESS ? cr_gpu_upload(g->device, &g->control, control, sizeof control) : result;
}

carom_result carom_grains_set_state(carom_grains *g, const carom_grains_state *state)
{
	carom_result result = check_state(g, state);
	if (result != CAROM_SUCCESS || g->count == 0)
		return result;
	const grains_span before = g->span;
	measure(g, state);
	result = cr_grains_check_extent(g);
	if (result != CAROM_SUCCESS) {
		g->span = before;
		return result;
	}
	cr_gpu_lock(g->device);
	const carom_device_stats copied = g->device->stats;
	g->failed = true;
	if (!state->wall_marks && g->wall_marks.buffer) {
		result = cr_gpu_begin(g->device);
		if (result == CAROM_SUCCESS) {
			cr_gpu_clear(g->device, &g->wall_marks, 4 * (uint64_t)g->count);
			result = cr_gpu_finish(g->device);
		}
	}
	if (result == CAROM_SUCCESS)
		result = upload_state(g, state);
	cr_grains_count_bytes(g, &copied, false);
	result = cr_gpu_unlock(g->device, result);
	g->failed = result != CAROM_SUCCESS;
	return result;
}

// ---- From the device ----

/// The rows of the present list, as the device has them.
typedef struct rows {
	uint64_t *first;
	uint32_t *other;
	uint64_t entries;
	size_t bytes;
} rows;

static void free_rows(carom_grains *g, rows *r) { cr_free(g->context, r->first, r->bytes); }

static carom_result read_rows(carom_grains *g, rows *r)
{
	const uint64_t n = (uint64_t)g->count + 1, room = g->room[g->current];
	*r = (rows){ .bytes = (size_t)(8 * n + 4 * room) };
	r->first = cr_alloc(g->context, r->bytes);
	if (!r->first)
		return cr_fail_memory(g->context, "contacts of grains");
	r->other = (uint32_t *)(r->first + n);
	carom_result result = cr_gpu_download(g->device, &g->first[g->current], r->first, 8 * n);
	r->entries = result == CAROM_SUCCESS ? r->first[n - 1] : 0;
	if (result == CAROM_SUCCESS && r->entries > 0)
		result = cr_gpu_download(g->device, &g->other[g->current], r->other, 4 * r->entries);
	if (result != CAROM_SUCCESS)
		free_rows(g, r);
	return result;
}

static int64_t count_touching(const rows *r)
{
	int64_t count = 0;
	for (uint64_t e = 0; e < r->entries; e++)
		count += r->other[e] >> 31;
	return count;
}

static void pack_springs(const carom_grains *g, const rows *r, const double *springs, carom_grains_state *to)
{
	int64_t at = 0;
	for (uint32_t i = 0; i < g->count; i++) {
		to->first[i] = at;
		for (uint64_t e = r->first[i]; e < r->first[i + 1]; e++) {
			if (!(r->other[e] & CAROM_GRAINS_TOUCHED))
				continue;
			to->other[at] = r->other[e] & ~CAROM_GRAINS_TOUCHED;
			memcpy(&to->springs[3 * at], &springs[3 * e], 3 * sizeof *springs);
			at++;
		}
	}
	to->first[g->count] = at;
}

static carom_result read_springs(carom_grains *g, carom_grains_state *to)
{
	rows r;
	carom_result result = read_rows(g, &r);
	if (result != CAROM_SUCCESS)
		return result;
	const size_t bytes = (size_t)(24 * r.entries) + 1;
	double *springs = cr_alloc(g->context, bytes);
	if (!springs)
		result = cr_fail_memory(g->context, "contacts of grains");
	else if (r.entries > 0)
		result = cr_gpu_download(g->device, &g->springs[g->current], springs, 24 * r.entries);
	if (result == CAROM_SUCCESS)
		pack_springs(g, &r, springs, to);
	cr_free(g->context, springs, bytes);
	free_rows(g, &r);
	return result;
}

carom_result carom_grains_count_springs(carom_grains *g, int64_t *count)
{
	*count = 0;
	carom_result result = cr_grains_check_ready(g);
	if (result != CAROM_SUCCESS || g->count == 0 || !g->histories)
		return result;
	rows r;
	cr_gpu_lock(g->device);
	const carom_device_stats copied = g->device->stats;
	const carom_result read = read_rows(g, &r);
	cr_grains_count_bytes(g, &copied, false);
	result = cr_gpu_unlock(g->device, read);
	if (result == CAROM_SUCCESS)
		*count = count_touching(&r);
	if (read == CAROM_SUCCESS)
		free_rows(g, &r);
	return result;
}

static carom_result read_state(carom_grains *g, carom_grains_state *s)
{
	const uint64_t n = g->count, walls = (uint64_t)g->def.wall_springs;
	const struct {
		const cr_gpu_buffer *from;
		void *to;
		uint64_t size;
	} arrays[] = { { &g->places, s->places, 32 * n }, { &g->motions, s->motions, 32 * n },
		{ &g->spins, g->def.turns ? s->spins : NULL, 32 * n }, { &g->wall_marks, walls ? s->wall_marks : NULL, 4 * n },
		{ &g->wall_springs, walls ? s->wall_springs : NULL, 24 * n * walls } };
	carom_result result = CAROM_SUCCESS;
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays && result == CAROM_SUCCESS; i++) {
		if (arrays[i].to)
			result = cr_gpu_download(g->device, arrays[i].from, arrays[i].to, arrays[i].size);
	}
	return result == CAROM_SUCCESS && s->first && g->histories ? read_springs(g, s) : result;
}

carom_result carom_grains_get_state(carom_grains *g, carom_grains_state *state)
{
	carom_result result = cr_grains_check_ready(g);
	if (result == CAROM_SUCCESS && (!state || (state->first && (!state->other || !state->springs))))
		result = cr_fail(
			g->context, CAROM_INVALID_ARGUMENT, "carom_grains_get_state: %s is NULL", !state ? "state" : "other or springs");
	if (result != CAROM_SUCCESS)
		return result;
	if (state->first && (g->count == 0 || !g->histories))
		memset(state->first, 0, ((size_t)g->count + 1) * sizeof *state->first);
	if (g->count == 0)
		return CAROM_SUCCESS;
	cr_gpu_lock(g->device);
	const carom_device_stats copied = g->device->stats;
	result = read_state(g, state);
	cr_grains_count_bytes(g, &copied, false);
	return cr_gpu_unlock(g->device, result);
}
