/// Whole steps of spheres on a device. See carom/grains.h, and shaders/grains.glsl for the kernels.
///
/// A step is recorded in full: kernel `grains_steer` decides on the device whether the list is made
/// again, by writing the numbers of workgroups that the kernels behind it start with (the gate of
/// vulkan/vk_commands.h). The list is a tree of boxes in single precision (gpu_tree.h), and a row
/// of neighbours for each sphere. There are two sets of rows: a new one takes the springs of the
/// last.
///
/// The proof that rows hold all that touch: a place is stored in single precision from an origin.
/// Of a sphere or its image, no coordinate is farther from there than E + period, where E is the
/// bound that the device compares with; so it is off by at most 2^-24 of that, a difference of two
/// by 2^-23, a distance by sqrt(3) times as much, and the sum of radii by 2^-23 of the largest one:
/// together less than half of slack = 2^-21 (E + period + r_max). So a pair that is nearer than
/// r_a + r_b + skin is nearer than r_a + r_b + skin + slack as the device sees it, and
/// sphere_test.glsl leaves out nothing of that, whatever its roundings. Boxes reach half of it
/// farther each. Until two spheres have moved by skin / 2, no other pair can touch.
#include "carom/grains.h"
#include "vulkan/gpu_tree.h"
#include "vulkan/gpu_trial.h"
#include "vulkan/vk_kernels.h"
#include <math.h>
#include <string.h>

enum {
	GRAINS_COOKIE = 0x43677231,
	BATCH = 16,          // steps of a submission
	ROW_GUESS = 8,       // entries of a row, of the first list
	SLOTS = 16,          // grains_rows.glsl
	MOST_ROOM = 1 << 30, // entries of all rows: numbers of springs have 32 bits
};

/// As grains.glsl has it.
typedef struct grains_law {
	double stiffness, modulus, shear, damping, damping_root;
	double tangential_stiffness, tangential_damping, friction, rolling_friction;
	uint32_t flags, none;
} grains_law;
enum { HERTZ = 1, SCALED = 2, TANGENTIAL = 4, ROLLING = 8 };

typedef struct grains_setup {
	uint64_t places, motions, spins, loads, held;
	uint64_t floats, in_order, order, nodes;
	uint64_t counts, sums, slots;
	uint64_t first[2], other[2], springs[2];
	uint64_t wall_marks, wall_springs;
	uint64_t tallies, control, moments, results, groups, wanted;
	double time_step;
	double origin[3], lower[3], upper[3];
	grains_law between, against;
	uint64_t room[2];
	uint32_t count, flags, wall_slots, group_count;
	uint32_t list_slots, all_slots;
	float allowed, add, near, far, most_moved, widest;
} grains_setup;
enum { PERIODIC = 1, TURNS = 8, HISTORIES = 16, ORDERED = 32 };

enum { STOP, CURRENT, HAS_LIST, MOVED, BUILT, STEP, LISTS, EXTENT, CONTROLS };
enum { STOP_ROOM = 1, STOP_EXTENT = 2, STOP_LOST = 4 };
enum { BEGIN, CHECK, FLIP }; // of grains_steer.comp

typedef struct grains_plane {
	double normal[3], offset, velocity[3];
	uint32_t bit, slot;
} grains_plane;

typedef struct grains_moment {
	double gravity[3];
	uint32_t plane_count, none;
	grains_plane planes[CAROM_GRAINS_MAX_WALLS];
} grains_moment;

typedef struct grains_result {
	double overlap;
	uint32_t contacts, wall_contacts, lost, built;
	float moved;
	uint32_t none;
} grains_result;

enum { TALLY_BYTES = 24 };
_Static_assert(sizeof(grains_plane) == 64 && sizeof(grains_moment) == 32 + 16 * 64, "as std430 has it");
_Static_assert(sizeof(grains_result) == 32 && sizeof(grains_law) == 80, "as std430 has it");

/// Where the spheres are, and how large.
typedef struct grains_span {
	double origin[3], extent, largest_radius; // a coordinate is at most extent from the origin
} grains_span;

struct carom_grains {
	carom_context *context;
	carom_device *device;
	carom_grains_def def;
	uint32_t count;
	bool failed;    // the state on the device is not known
	bool histories; // contacts of spheres have springs
	grains_span span;
	cr_gpu_tree tree; // its first, counts are used, its slots are not
	cr_gpu_buffer places, motions, spins, loads, held, slots;
	cr_gpu_buffer first[2], other[2], springs[2];
	cr_gpu_buffer wall_marks, wall_springs;
	cr_gpu_buffer tallies, control, moments, results, groups, wanted, setup;
	uint64_t room[2];
	uint32_t current; // which rows hold; the device's word for it as it was read last
	bool moved;       // the next step makes a list
	uint32_t lists;   // the device's count of them, likewise
	grains_setup last_setup;
	cr_gpu_gate gate;
	uint32_t last_wanted[CR_GPU_GATE_SLOTS][3];
	uint32_t last_slots;
	carom_grains_stats stats;
};

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

/// Workgroups that a step's kernels have.
static uint32_t groups_of(const carom_grains *g) { return (g->count + CR_GPU_THREADS - 1) / CR_GPU_THREADS; }

/// Room in one set of rows. Its entries are lost.
static carom_result reserve_rows(carom_grains *g, int which, uint64_t entries)
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
		{ &g->tallies, TALLY_BYTES * (uint64_t)groups_of(g) }, { &g->control, 4 * CONTROLS },
		{ &g->moments, BATCH * sizeof(grains_moment) }, { &g->results, BATCH * sizeof(grains_result) },
		{ &g->groups, sizeof g->gate.wanted }, { &g->wanted, sizeof g->gate.wanted }, { &g->setup, sizeof(grains_setup) } };
	carom_result result = cr_gpu_reserve_tree(g->device, &g->tree, g->count);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted && result == CAROM_SUCCESS; i++)
		result = cr_gpu_reserve(g->device, wanted[i].buffer, wanted[i].size);
	for (int which = 0; which < 2 && result == CAROM_SUCCESS; which++)
		result = reserve_rows(g, which, ROW_GUESS * n);
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
	cr_gpu_unlock(g->device);
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
	if (def->device->context != context)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_grains_def.device is of another context");
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
	carom_result result = check_box(context, def);
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
	cr_gpu_unlock(g->device);
	return result;
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

// ---- The state, to the device ----

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

/// The longest period, and the part of a length that single precision may lose.
static double longest_period(const carom_grains *g)
{
	double longest = 0;
	for (int k = 0; k < 3; k++)
		longest = g->def.periodic[k] ? fmax(longest, g->def.upper[k] - g->def.lower[k]) : longest;
	return longest;
}

static double slack_of(const carom_grains *g)
{
	return 0x1p-21 * (g->span.extent + longest_period(g) + g->span.largest_radius);
}

/// Can single precision tell such spheres apart, so far from the origin?
static carom_result check_extent(carom_grains *g)
{
	const double slack = slack_of(g);
	if (!(slack <= fmax(g->def.skin, g->span.largest_radius)) || !(g->span.extent < 1e30))
		return cr_fail(g->context, CAROM_INVALID_ARGUMENT,
			"grains: a sphere is %g away from the middle, too far for single precision beside a radius of %g", g->span.extent,
			g->span.largest_radius);
	for (int k = 0; k < 3; k++) {
		const double least = 2 * (2 * g->span.largest_radius + g->def.skin + 2 * slack);
		if (g->def.periodic[k] && !(g->def.upper[k] - g->def.lower[k] > least))
			return cr_fail(g->context, CAROM_INVALID_ARGUMENT,
				"carom_grains_def.upper[%d]: a period of %g is not above %g, for radii of up to %g and the skin", k,
				g->def.upper[k] - g->def.lower[k], least, g->span.largest_radius);
	}
	return CAROM_SUCCESS;
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
	carom_result result = entries > g->room[0] ? reserve_rows(g, 0, entries) : CAROM_SUCCESS;
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

/// Add the bytes copied since `before` to the counts.
static void count_bytes(carom_grains *g, const carom_device_stats *before, bool step)
{
	const int64_t up = g->device->stats.bytes_up - before->bytes_up, down = g->device->stats.bytes_down - before->bytes_down;
	g->stats.bytes_up += up;
	g->stats.bytes_down += down;
	g->stats.step_up += step ? up : 0;
	g->stats.step_down += step ? down : 0;
}

carom_result carom_grains_set_state(carom_grains *g, const carom_grains_state *state)
{
	carom_result result = check_state(g, state);
	if (result != CAROM_SUCCESS || g->count == 0)
		return result;
	const grains_span before = g->span;
	measure(g, state);
	result = check_extent(g);
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
	g->failed = result != CAROM_SUCCESS;
	count_bytes(g, &copied, false);
	cr_gpu_unlock(g->device);
	return result;
}

// ---- Recording ----

static grains_law law_of(const carom_grain_law *law)
{
	return (grains_law){ law->stiffness, law->modulus, law->shear, law->damping, law->damping_root, law->tangential_stiffness,
		law->tangential_damping, law->friction, law->rolling_friction,
		(law->hertz ? HERTZ : 0) | (law->scaled ? SCALED : 0) | (law->tangential ? TANGENTIAL : 0) |
			(law->rolling ? ROLLING : 0),
		0 };
}

static uint32_t flags_of(const carom_grains *g)
{
	uint32_t flags = (g->def.turns ? TURNS : 0) | (g->histories ? HISTORIES : 0) | (g->count > 1 ? ORDERED : 0);
	for (int k = 0; k < 3; k++)
		flags |= g->def.periodic[k] ? PERIODIC << k : 0;
	return flags;
}

/// The reach of boxes and of rows, with room for the roundings of single precision.
static cr_gpu_reach reach_of(const carom_grains *g)
{
	const double slack = slack_of(g);
	return (cr_gpu_reach){ .add = (float)((0.5 * g->def.skin + slack) * (1 + 0x1p-20)) + 0x1p-100f,
		.far = (float)((g->def.skin + slack) * (1 + 0x1p-20)) };
}

static grains_setup make_setup(const carom_grains *g, uint32_t list_slots)
{
	const cr_gpu_tree *t = &g->tree;
	const cr_gpu_reach reach = reach_of(g);
	const double skin = g->def.skin, box = g->span.largest_radius + reach.add;
	grains_setup s = { .places = g->places.address,
		.motions = g->motions.address,
		.spins = g->spins.address,
		.loads = g->loads.address,
		.held = g->held.address,
		.floats = t->spheres.address,
		.in_order = t->in_order.address,
		.order = t->lbvh.order[t->lbvh.sorted].address,
		.nodes = t->lbvh.nodes.address,
		.counts = t->counts.address,
		.sums = t->first.address,
		.slots = g->slots.address,
		.wall_marks = g->wall_marks.address,
		.wall_springs = g->wall_springs.address,
		.tallies = g->tallies.address,
		.control = g->control.address,
		.moments = g->moments.address,
		.results = g->results.address,
		.groups = g->groups.address,
		.wanted = g->wanted.address };
	for (int which = 0; which < 2; which++) {
		s.first[which] = g->first[which].address;
		s.other[which] = g->other[which].address;
		s.springs[which] = g->springs[which].address;
		s.room[which] = g->room[which];
	}
	s.time_step = g->def.time_step;
	memcpy(s.origin, g->span.origin, sizeof s.origin);
	memcpy(s.lower, g->def.lower, sizeof s.lower);
	memcpy(s.upper, g->def.upper, sizeof s.upper);
	s.between = law_of(&g->def.spheres);
	s.against = law_of(&g->def.walls);
	s.count = g->count;
	s.flags = flags_of(g);
	s.wall_slots = (uint32_t)g->def.wall_springs;
	s.group_count = groups_of(g);
	s.list_slots = list_slots;
	s.all_slots = g->gate.used;
	s.allowed = (float)(g->span.extent * (1 - 0x1p-20));
	s.add = reach.add;
	s.far = reach.far;
	// a way that is shorter than this is too short to square
	s.most_moved = skin > 1e-15 ? (float)(0.25 * skin * skin * (1 - 0x1p-18)) : -1;
	s.widest = (float)(box * (1 + 0x1p-16) + (g->span.extent + longest_period(g) + box) * 0x1p-19);
	return s;
}

static void steer(carom_grains *g, uint32_t what, uint32_t forget)
{
	const cr_gpu_arguments arguments = { { g->setup.address }, { 0, what, forget } };
	cr_gpu_run(g->device, CR_KERNEL_GRAINS_STEER, 1, CR_GPU_THREADS, &arguments);
}

static void run(carom_grains *g, cr_kernel kernel, uint64_t count)
{
	const cr_gpu_arguments arguments = { .address = { g->setup.address } };
	cr_gpu_run(g->device, kernel, count, CR_GPU_THREADS, &arguments);
}

/// Record a new list, at the gate.
static void record_list(carom_grains *g)
{
	const float far = (float)g->span.extent, lower[3] = { -far, -far, -far }, upper[3] = { far, far, far };
	run(g, CR_KERNEL_GRAINS_PLACE, g->count);
	cr_gpu_record_tree(g->device, &g->tree, g->count, lower, upper, reach_of(g));
	run(g, CR_KERNEL_GRAINS_ROWS_COUNT, (uint64_t)g->count + 1);
	cr_gpu_scan(g->device, g->tree.counts.address, g->tree.first.address, g->count + 1, true, g->tree.lbvh.scratch.address);
	steer(g, CHECK, 0);
	run(g, CR_KERNEL_GRAINS_ROWS_FILL, g->count);
	steer(g, FLIP, 0);
}

/// Record a step. Returns the number of slots of the gate that its list has.
static uint32_t record_step(carom_grains *g, bool first)
{
	g->device->gate = NULL;
	g->gate.used = 0;
	g->gate.groups = &g->groups;
	steer(g, BEGIN, first);
	g->device->gate = &g->gate;
	if (g->count > 1)
		record_list(g);
	const uint32_t list_slots = g->gate.used;
	run(g, CR_KERNEL_GRAINS_FORCE, g->count);
	run(g, CR_KERNEL_GRAINS_MOVE, g->count);
	run(g, CR_KERNEL_GRAINS_SUM, 1);
	g->device->gate = NULL;
	return list_slots;
}

/// Bring the setup and the numbers of workgroups to the device, where they have changed.
static carom_result upload_setup(carom_grains *g, uint32_t list_slots)
{
	const grains_setup setup = make_setup(g, list_slots);
	const size_t wanted = g->gate.used * sizeof *g->gate.wanted;
	carom_result result = CAROM_SUCCESS;
	if (memcmp(&setup, &g->last_setup, sizeof setup) != 0)
		result = cr_gpu_upload(g->device, &g->setup, &setup, sizeof setup);
	if (result == CAROM_SUCCESS && (g->last_slots != g->gate.used || memcmp(g->gate.wanted, g->last_wanted, wanted) != 0))
		result = cr_gpu_upload(g->device, &g->wanted, g->gate.wanted, wanted);
	if (result != CAROM_SUCCESS)
		return result;
	g->last_setup = setup;
	g->last_slots = g->gate.used;
	memcpy(g->last_wanted, g->gate.wanted, wanted);
	return CAROM_SUCCESS;
}

// ---- Steps ----

static carom_result check_moment(carom_grains *g, const carom_grains_moment *m, int number)
{
	if (m->wall_count < 0 || m->wall_count > CAROM_GRAINS_MAX_WALLS || (m->wall_count > 0 && !m->walls))
		return cr_fail(g->context, CAROM_INVALID_ARGUMENT,
			"carom_grains_moment.wall_count of moment %d is %d, not within 0 and %d, or walls is NULL", number,
			(int)m->wall_count, CAROM_GRAINS_MAX_WALLS);
	for (int w = 0; w < m->wall_count; w++) {
		const carom_grain_wall *wall = &m->walls[w];
		if (wall->number >= CAROM_GRAINS_MAX_WALLS || (g->def.wall_springs > 0 && wall->spring >= (uint32_t)g->def.wall_springs))
			return cr_fail(g->context, CAROM_INVALID_ARGUMENT,
				"carom_grain_wall %d of moment %d: number %u or spring %u is too large", w, number, (unsigned)wall->number,
				(unsigned)wall->spring);
	}
	return CAROM_SUCCESS;
}

static void fill_moment(const carom_grains_moment *m, grains_moment *to)
{
	memcpy(to->gravity, m->gravity, sizeof to->gravity);
	to->plane_count = (uint32_t)m->wall_count;
	for (int w = 0; w < m->wall_count; w++) {
		const carom_grain_wall *wall = &m->walls[w];
		grains_plane *plane = &to->planes[w];
		memcpy(plane->normal, wall->normal, sizeof plane->normal);
		plane->offset = wall->offset;
		memcpy(plane->velocity, wall->velocity, sizeof plane->velocity);
		plane->bit = 1u << wall->number;
		plane->slot = wall->spring;
	}
}

static carom_result upload_moments(carom_grains *g, const carom_grains_moment *moments, int count)
{
	const size_t bytes = BATCH * sizeof(grains_moment);
	grains_moment *all = cr_alloc_zero(g->context, bytes);
	if (!all)
		return cr_fail_memory(g->context, "moments of grains");
	for (int i = 0; i < count; i++)
		fill_moment(&moments[i], &all[i]);
	// of the last one no more than its walls
	const size_t left_out = (size_t)(CAROM_GRAINS_MAX_WALLS - moments[count - 1].wall_count) * sizeof(grains_plane);
	const carom_result result = cr_gpu_upload(g->device, &g->moments, all, (size_t)count * sizeof *all - left_out);
	cr_free(g->context, all, bytes);
	return result;
}

/// The findings of a submission: words of control, results and the entries of the last list.
typedef struct batch_end {
	const uint32_t *control;
	const grains_result *results;
	const uint64_t *entries;
} batch_end;

/// Submit count steps, and wait. *end is valid until the device's next work.
static carom_result run_batch(carom_grains *g, const carom_grains_moment *moments, int count, batch_end *end)
{
	carom_result result = upload_moments(g, moments, count);
	if (result == CAROM_SUCCESS && g->moved) {
		const uint32_t control[CONTROLS] = { [CURRENT] = g->current, [LISTS] = g->lists };
		result = cr_gpu_upload(g->device, &g->control, control, sizeof control);
		g->moved = result != CAROM_SUCCESS;
	}
	if (result == CAROM_SUCCESS)
		result = cr_gpu_begin(g->device);
	if (result != CAROM_SUCCESS)
		return result;
	uint32_t list_slots = 0;
	for (int i = 0; i < count; i++)
		list_slots = record_step(g, i == 0);
	end->control = cr_gpu_read(g->device, &g->control, 0, 4 * CONTROLS);
	end->results = cr_gpu_read(g->device, &g->results, 0, (uint32_t)count * (uint32_t)sizeof(grains_result));
	end->entries = cr_gpu_read(g->device, &g->tree.first, 8 * (uint64_t)g->count, 8);
	if (g->device->failed == CAROM_SUCCESS)
		g->device->failed = upload_setup(g, list_slots);
	const bool recorded = g->device->failed == CAROM_SUCCESS;
	result = cr_gpu_finish(g->device);
	g->failed = recorded && result != CAROM_SUCCESS;
	g->stats.submissions += recorded;
	return result;
}

/// Steps had to stop: mend it. Those that are left can go on then, or the call fails.
static carom_result mend(carom_grains *g, const batch_end *end)
{
	const uint32_t stop = end->control[STOP];
	const uint64_t entries = *end->entries;
	float extent;
	memcpy(&extent, &end->control[EXTENT], sizeof extent);
	if (stop & STOP_LOST) {
		g->failed = true;
		return cr_fail(g->context, CAROM_INVALID_ARGUMENT, "grains: the motion of sphere %u is not finite",
			(unsigned)end->results[end->control[STEP] - 1].lost);
	}
	g->stats.retries++;
	if (stop & STOP_EXTENT) {
		const double before = g->span.extent;
		g->span.extent = 2 * (double)extent;
		const carom_result result = check_extent(g);
		if (result != CAROM_SUCCESS) {
			g->span.extent = before;
			return result;
		}
	}
	if (stop & STOP_ROOM)
		return reserve_rows(g, 1 - (int)g->current, entries + entries / 8);
	return CAROM_SUCCESS;
}

static void note_steps(carom_grains *g, const batch_end *end, carom_grains_step *steps)
{
	const uint32_t done = end->control[STEP];
	for (uint32_t i = 0; steps && i < done; i++)
		steps[i] = (carom_grains_step){ .contacts = end->results[i].contacts / 2,
			.wall_contacts = end->results[i].wall_contacts,
			.max_overlap = end->results[i].overlap,
			.list_built = end->results[i].built != 0 };
	g->stats.steps += done;
	g->stats.lists += end->control[LISTS] - g->lists;
	g->lists = end->control[LISTS];
	g->current = end->control[CURRENT];
	if (!(end->control[STOP] & STOP_ROOM) && g->count > 1)
		g->stats.entries = (int64_t)*end->entries;
}

static carom_result advance(
	carom_grains *g, int32_t count, const carom_grains_moment *moments, carom_grains_step *steps, int32_t *done)
{
	while (*done < count) {
		const int batch = count - *done < BATCH ? count - *done : BATCH;
		batch_end end;
		carom_result result = run_batch(g, &moments[*done], batch, &end);
		if (result != CAROM_SUCCESS)
			return result;
		note_steps(g, &end, steps ? &steps[*done] : NULL);
		*done += (int32_t)end.control[STEP];
		result = end.control[STOP] ? mend(g, &end) : CAROM_SUCCESS;
		if (result != CAROM_SUCCESS)
			return result;
	}
	return CAROM_SUCCESS;
}

static carom_result check_ready(carom_grains *g)
{
	if (g->failed)
		return cr_fail(g->context, CAROM_INVALID_ARGUMENT, "grains: a call has failed before; set their state again");
	return CAROM_SUCCESS;
}

carom_result carom_grains_advance(
	carom_grains *g, int32_t count, const carom_grains_moment *moments, carom_grains_step *steps, int32_t *done)
{
	int32_t unwanted;
	done = done ? done : &unwanted;
	*done = 0;
	if (count < 0 || (count > 0 && !moments))
		return cr_fail(
			g->context, CAROM_INVALID_ARGUMENT, "carom_grains_advance: %s", count < 0 ? "count is below 0" : "moments is NULL");
	carom_result result = check_ready(g);
	for (int i = 0; i < count && result == CAROM_SUCCESS; i++)
		result = check_moment(g, &moments[i], i);
	if (result != CAROM_SUCCESS)
		return result;
	if (g->count == 0) {
		if (steps)
			memset(steps, 0, (size_t)count * sizeof *steps);
		g->stats.steps += count;
		*done = count;
		return CAROM_SUCCESS;
	}
	cr_gpu_lock(g->device);
	const carom_device_stats copied = g->device->stats;
	g->device->stats.tier = CAROM_TIER_COMPUTE;
	result = advance(g, count, moments, steps, done);
	count_bytes(g, &copied, true);
	cr_gpu_unlock(g->device);
	return result;
}

void carom_grains_set_moved(carom_grains *g) { g->moved = true; }

// ---- The state, from the device ----

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
	carom_result result = check_ready(g);
	if (result != CAROM_SUCCESS || g->count == 0 || !g->histories)
		return result;
	rows r;
	cr_gpu_lock(g->device);
	const carom_device_stats copied = g->device->stats;
	result = read_rows(g, &r);
	count_bytes(g, &copied, false);
	cr_gpu_unlock(g->device);
	if (result != CAROM_SUCCESS)
		return result;
	*count = count_touching(&r);
	free_rows(g, &r);
	return CAROM_SUCCESS;
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
	carom_result result = check_ready(g);
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
	count_bytes(g, &copied, false);
	cr_gpu_unlock(g->device);
	return result;
}

// ---- Numbers and buffers ----

carom_grains_stats carom_grains_get_stats(const carom_grains *g)
{
	carom_grains_stats stats = g->stats;
	stats.bytes = bytes_of(g);
	return stats;
}

static carom_device_buffer show(const cr_gpu_buffer *buffer)
{
	return (carom_device_buffer){ (uint64_t)(uintptr_t)buffer->buffer, buffer->address, buffer->size };
}

carom_result carom_grains_get_buffers(carom_grains *g, carom_grains_buffers *buffers)
{
	if (!buffers)
		return cr_fail(g->context, CAROM_INVALID_ARGUMENT, "carom_grains_get_buffers: buffers is NULL");
	*buffers = (carom_grains_buffers){ 0 };
	const carom_result result = check_ready(g);
	if (result != CAROM_SUCCESS)
		return result;
	const uint32_t c = g->current;
	*buffers = (carom_grains_buffers){ show(&g->places), show(&g->motions), show(&g->spins), show(&g->wall_marks),
		show(&g->wall_springs), show(&g->first[c]), show(&g->other[c]), show(&g->springs[c]), show(&g->loads) };
	return CAROM_SUCCESS;
}
