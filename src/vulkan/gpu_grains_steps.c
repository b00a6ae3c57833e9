/// Whole steps of spheres on a device. See gpu_grains.h.
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
#include "vulkan/gpu_grains.h"
#include "vulkan/gpu_sort.h"
#include <math.h>
#include <string.h>

// ---- Extent ----

double cr_grains_longest_period(const carom_grains *g)
{
	double longest = 0;
	for (int k = 0; k < 3; k++)
		longest = g->def.periodic[k] ? fmax(longest, g->def.upper[k] - g->def.lower[k]) : longest;
	return longest;
}

double cr_grains_slack(const carom_grains *g)
{
	return 0x1p-21 * (g->span.extent + cr_grains_longest_period(g) + g->span.largest_radius);
}

carom_result cr_grains_check_extent(carom_grains *g)
{
	const double slack = cr_grains_slack(g);
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
	const double slack = cr_grains_slack(g);
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
	s.group_count = cr_grains_groups(g);
	s.list_slots = list_slots;
	s.all_slots = g->gate.used;
	s.allowed = (float)(g->span.extent * (1 - 0x1p-20));
	s.add = reach.add;
	s.far = reach.far;
	// a way that is shorter than this is too short to square
	s.most_moved = skin > 1e-15 ? (float)(0.25 * skin * skin * (1 - 0x1p-18)) : -1;
	s.widest = (float)(box * (1 + 0x1p-16) + (g->span.extent + cr_grains_longest_period(g) + box) * 0x1p-19);
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
	cr_gpu_scan(g->device, g->tree.counts.address, g->tree.first.address, g->count + 1, g->tree.lbvh.scratch.address);
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

_Static_assert(BATCH * sizeof(grains_moment) <= CR_GPU_WRITE_SIZE, "the moments of a batch are one write");

static void write_moments(carom_grains *g, const carom_grains_moment *moments, int count)
{
	grains_moment all[BATCH];
	memset(all, 0, sizeof all);
	for (int i = 0; i < count; i++)
		fill_moment(&moments[i], &all[i]);
	// of the last one no more than its walls
	const size_t left_out = (size_t)(CAROM_GRAINS_MAX_WALLS - moments[count - 1].wall_count) * sizeof(grains_plane);
	cr_gpu_write(g->device, &g->moments, all, (uint32_t)((size_t)count * sizeof *all - left_out));
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
	carom_result result = cr_gpu_begin(g->device);
	if (result != CAROM_SUCCESS)
		return result;
	write_moments(g, moments, count);
	if (g->moved) {
		const uint32_t control[CONTROLS] = { [CURRENT] = g->current, [LISTS] = g->lists };
		cr_gpu_write(g->device, &g->control, control, sizeof control);
	}
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
	g->moved = g->moved && result != CAROM_SUCCESS;
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
		const carom_result result = cr_grains_check_extent(g);
		if (result != CAROM_SUCCESS) {
			g->span.extent = before;
			return result;
		}
	}
	if (stop & STOP_ROOM)
		return cr_grains_reserve_rows(g, 1 - (int)g->current, entries + entries / 8);
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

carom_result carom_grains_advance(
	carom_grains *g, int32_t count, const carom_grains_moment *moments, carom_grains_step *steps, int32_t *done)
{
	int32_t unwanted;
	done = done ? done : &unwanted;
	*done = 0;
	if (count < 0 || (count > 0 && !moments))
		return cr_fail(
			g->context, CAROM_INVALID_ARGUMENT, "carom_grains_advance: %s", count < 0 ? "count is below 0" : "moments is NULL");
	carom_result result = cr_grains_check_ready(g);
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
	cr_grains_count_bytes(g, &copied, true);
	return cr_gpu_unlock(g->device, result);
}

void carom_grains_set_moved(carom_grains *g) { g->moved = true; }
