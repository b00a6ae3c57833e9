/// Whole granular steps on a device (carom/grains.h): the processor's trajectory, bit for bit, under all laws; lists that do not fit;
/// periods; state there and back; failures of every kind; and kernels that contract nothing.
#include "device_failures.h"
#include "device_fixture.h"
#include "device_spirv.h"
#include "fixture.h"
#include "granular_fixture.h"
#include "sim/grains/granular_memento.h"
#include "vulkan/vk_commands.h"
#include "vulkan/vk_kernels.h"
#include "vulkan/vk_memory.h"

/// A device and a context for it.
typedef struct place {
	carom_context *context;
	carom_device *device;
} place;

static place open_place(bool staging)
{
	carom_device_def def = carom_default_device_def();
	def.staging = staging;
	place p = { .context = granular_context(1) };
	p.device = fixture_device(p.context, &def);
	if (!carom_device_get_info(p.device).doubles) {
		carom_destroy_device(p.device);
		carom_destroy_context(p.context);
		test_skip("the device has no double precision");
	}
	return p;
}

static void close_place(place p)
{
	carom_destroy_device(p.device);
	CHECK_INT(carom_memory_in_use(p.context), p.context->size);
	carom_destroy_context(p.context);
}

/// Run both ways; each step finds as many contacts, and the state at the end is the same, springs (by their energy) included.
static sim_granular_info compare(place p, sim_granular_def def, int64_t steps)
{
	sim_granular *both[2];
	both[0] = granular_create(p.context, &def);
	def.device = p.device;
	both[1] = granular_create(p.context, &def);
	int64_t contacts = 0;
	for (int64_t i = 0; i < steps; i++) {
		const sim_granular_step here = granular_run(both[0], 1), there = granular_run(both[1], 1);
		CHECK_INT(there.contacts, here.contacts);
		CHECK_INT(there.wall_contacts, here.wall_contacts);
		CHECK(fabs(there.max_overlap - here.max_overlap) <= 1e-15);
		contacts += here.contacts;
	}
	CHECK(contacts > 0);
	const sim_granular_info info = sim_granular_get_info(both[1]);
	CHECK(info.on_device && info.device.steps == steps);
	if (!info.device.exact)
		test_skip("the device does not round as IEEE 754 says");
	CHECK(granular_hash(both[0]) == granular_hash(both[1]));
	const sim_granular_energy here = granular_energy(both[0]), there = granular_energy(both[1]);
	CHECK(memcmp(&here, &there, sizeof here) == 0);
	// What was asked for has changed nothing.
	granular_run(both[0], 3);
	granular_run(both[1], 3);
	CHECK(granular_hash(both[0]) == granular_hash(both[1]));
	sim_destroy_granular(both[0]);
	sim_destroy_granular(both[1]);
	return info;
}

enum { SIDE = 10 };

static void check_law(void change(sim_granular_def *def), bool staging, int64_t steps)
{
	const place p = open_place(staging);
	granular_scene s = granular_scene_heap(SIDE, 1, 5);
	sim_granular_def def = granular_scene_rough(&s);
	change(&def);
	const sim_granular_info info = compare(p, def, steps / TEST_FEWER);
	CHECK(info.list_builds >= 1 && info.list_builds < steps);
	granular_scene_free(&s);
	close_place(p);
}

static void keep(sim_granular_def *def) { (void)def; }

static void make_smooth(sim_granular_def *def)
{
	def->spheres.tangential = def->walls.tangential = SIM_GRANULAR_SMOOTH;
	def->spheres.rolling_friction = def->walls.rolling_friction = 0;
}

static void make_scaled(sim_granular_def *def)
{
	def->spheres.stiffness_radius = 0.025;
	def->spheres.rolling_friction = 0;
}

static void make_hertz(sim_granular_def *def)
{
	def->spheres.normal = def->walls.normal = SIM_GRANULAR_HERTZ;
	def->spheres.tangential = def->walls.tangential = SIM_GRANULAR_MINDLIN;
	def->spheres.young = def->walls.young = 1e6;
}

static void make_shaken(sim_granular_def *def)
{
	make_hertz(def);
	def->faces[0] = def->faces[1] = false;
	def->periodic[0] = true;
	def->upper[0] = 0.5;
	def->gravity_rate = 30;
	def->moving_count = 2;
	def->moving[0] =
		(sim_granular_wall){ .point = { 0, 0.02, 0 }, .normal = { 0, 1, 0.1 }, .amplitude = { 0, 0.01, 0 }, .frequency = 500 };
	def->moving[1] = (sim_granular_wall){ .point = { 0, 0.53, 0 }, .normal = { 0, -1, 0 }, .velocity = { 2, -1, 0 } };
}

static void make_periodic(sim_granular_def *def)
{
	for (int k = 0; k < 3; k++) {
		def->faces[2 * k] = def->faces[2 * k + 1] = false;
		def->periodic[k] = true;
		def->lower[k] = 0.01;
		def->upper[k] = 0.51;
	}
	def->skin = 0.003;
}

TEST(device_grains, springs_with_history_are_the_processors) { check_law(keep, false, 120); }
TEST(device_grains, springs_through_the_ring_are_the_processors) { check_law(keep, true, 40); }
TEST(device_grains, smooth_spheres_are_the_processors) { check_law(make_smooth, false, 80); }
TEST(device_grains, scaled_stiffness_is_the_processors) { check_law(make_scaled, false, 60); }
TEST(device_grains, hertz_and_mindlin_are_the_processors) { check_law(make_hertz, false, 80); }
TEST(device_grains, moving_walls_and_a_period_are_the_processors) { check_law(make_shaken, false, 100); }
TEST(device_grains, contacts_across_all_borders_are_the_processors) { check_law(make_periodic, false, 100); }

TEST(device_grains, few_spheres_are_the_processors)
{
	const place p = open_place(false);
	for (int64_t count = 0; count < 4; count++) {
		granular_scene s = granular_scene_heap(2, 1, 3);
		s.count = count;
		for (int64_t i = 0; i < count; i++)
			s.centres[3 * i + 1] = 0.01; // in the floor
		sim_granular_def def = granular_scene_rough(&s);
		sim_granular *both[2];
		both[0] = granular_create(p.context, &def);
		def.device = p.device;
		both[1] = granular_create(p.context, &def);
		const sim_granular_step here = granular_run(both[0], 30), there = granular_run(both[1], 30);
		CHECK_INT(here.step, there.step);
		CHECK_INT(here.wall_contacts, there.wall_contacts);
		CHECK(granular_hash(both[0]) == granular_hash(both[1]));
		sim_destroy_granular(both[0]);
		sim_destroy_granular(both[1]);
		granular_scene_free(&s);
	}
	close_place(p);
}

/// Rows that are longer than was foreseen, and than are sorted by insertion: small spheres around a giant.
TEST(device_grains, rows_that_do_not_fit_make_room)
{
	const place p = open_place(false);
	granular_scene s = granular_scene_heap(SIDE, 0.5, 8);
	s.radii[555] = 0.2;
	sim_granular_def def = granular_scene_rough(&s);
	def.skin = 0.03;
	def.stability = SIM_GRANULAR_REPORT;
	const sim_granular_info info = compare(p, def, 30 / TEST_FEWER);
	CHECK(info.device.retries > 0 && info.device.entries > 10 * s.count);
	granular_scene_free(&s);
	close_place(p);
}

/// A gas without walls leaves the room that single precision was prepared for.
TEST(device_grains, spheres_that_fly_away_are_followed)
{
	const place p = open_place(false);
	granular_scene s = granular_scene_heap(6, 200, 8);
	sim_granular_def def = granular_scene_def(&s);
	def.time_step = 5e-5;
	def.skin = 0.02;
	const sim_granular_info info = compare(p, def, 200);
	CHECK(info.device.retries > 0 && info.list_builds > 20);
	granular_scene_free(&s);
	close_place(p);
}

TEST(device_grains, coincident_centres_part_as_on_the_processor)
{
	const place p = open_place(false);
	granular_scene s = granular_scene_heap(4, 1, 8);
	for (int64_t i = 0; i + 1 < s.count; i += 7)
		memcpy(&s.centres[3 * i], &s.centres[3 * i + 3], 3 * sizeof(double));
	const sim_granular_def def = granular_scene_rough(&s);
	compare(p, def, 20);
	granular_scene_free(&s);
	close_place(p);
}

TEST(device_grains, a_lost_sphere_is_named)
{
	const place p = open_place(false);
	granular_scene s = granular_scene_heap(4, 1, 8);
	memcpy(&s.centres[3 * 17], &s.centres[3 * 20], 3 * sizeof(double));
	s.centres[3 * 17] += 0.001;
	sim_granular_def def = granular_scene_def(&s);
	def.spheres.stiffness = 1e250;
	def.stability = SIM_GRANULAR_REPORT;
	def.device = p.device;
	sim_granular *g = granular_create(p.context, &def);
	sim_error error = { "" };
	CHECK(!sim_granular_advance(g, NULL, &error));
	if (!CHECK(strstr(error.text, "is not finite") != NULL))
		printf("%s\n", error.text);
	CHECK(!sim_granular_advance(g, NULL, &error) && strstr(error.text, "failed before") != NULL);
	sim_destroy_granular(g);
	granular_scene_free(&s);
	close_place(p);
}

/// A memento taken on one side goes on on the other one.
TEST(device_grains, checkpoints_go_on_anywhere)
{
	const place p = open_place(false);
	granular_scene s = granular_scene_heap(8, 1, 5);
	sim_granular_def def = granular_scene_rough(&s);
	for (int from = 0; from < 2; from++) {
		uint64_t hashes[2];
		sim_granular *first, *second[2];
		def.device = from ? p.device : NULL;
		first = granular_create(p.context, &def);
		granular_run(first, 40);
		sim_error error = { "" };
		sim_granular_memento memento;
		REQUIRE(sim_granular_take_memento(first, &memento, &error));
		granular_scene later = granular_scene_make(s.count);
		sim_granular_get_state(first, later.centres, later.radii, later.velocities, later.spins);
		sim_granular_def resumed = granular_scene_rough(&later);
		resumed.angular_velocities = (carom_strided){ later.spins, 0, CAROM_FLOAT64 };
		for (int to = 0; to < 2; to++) {
			resumed.device = to ? p.device : NULL;
			second[to] = granular_create(p.context, &resumed);
			REQUIRE(sim_granular_restore_memento(second[to], &memento, &error));
		}
		sim_granular_drop_memento(first, &memento);
		granular_run(first, 30);
		for (int to = 0; to < 2; to++) {
			granular_run(second[to], 30);
			hashes[to] = granular_hash(second[to]);
			sim_destroy_granular(second[to]);
		}
		CHECK(hashes[0] == hashes[1] && hashes[0] == granular_hash(first));
		sim_destroy_granular(first);
		granular_scene_free(&later);
	}
	granular_scene_free(&s);
	close_place(p);
}

TEST(device_grains, what_a_device_does_not_know_is_refused)
{
	const place p = open_place(false);
	granular_scene s = granular_scene_heap(2, 1, 8);
	sim_granular_def def = granular_scene_def(&s);
	def.device = p.device;
	def.touches = true;
	sim_error error = { "" };
	CHECK(sim_create_granular(p.context, &def, &error) == NULL && strstr(error.text, "touches") != NULL);
	granular_scene_free(&s);
	close_place(p);
}

// ---- By the library's own interface ----

/// A heap for the library: linear springs with friction, over a floor.
typedef struct heap {
	int64_t count;
	double *places, *motions, *spins;
	carom_grain_wall floor;
	carom_grains_def def;
} heap;

static heap make_heap(carom_device *device)
{
	granular_scene s = granular_scene_heap(6, 1, 4);
	heap h = { .count = s.count, .floor = { .normal = { 0, 1, 0 }, .number = 2, .spring = 1 } };
	h.places = calloc(12 * (size_t)s.count, sizeof *h.places);
	h.motions = h.places + 4 * s.count;
	h.spins = h.motions + 4 * s.count;
	for (int64_t i = 0; i < s.count; i++) {
		const double r = s.radii[i], mass = 2500 * 4.18879 * r * r * r;
		for (int k = 0; k < 3; k++) {
			h.places[4 * i + k] = s.centres[3 * i + k];
			h.motions[4 * i + k] = s.velocities[3 * i + k];
		}
		h.places[4 * i + 3] = r;
		h.motions[4 * i + 3] = 1 / mass;
		h.spins[4 * i + 3] = 1 / (0.4 * mass * r * r);
	}
	h.def = carom_default_grains_def();
	h.def.device = device;
	h.def.count = s.count;
	h.def.time_step = 2e-5;
	h.def.skin = 0.005;
	h.def.spheres = (carom_grain_law){ .tangential = true,
		.stiffness = 1e4,
		.damping_root = 20,
		.tangential_stiffness = 3e3,
		.tangential_damping = 0.5,
		.friction = 0.4 };
	h.def.walls = h.def.spheres;
	h.def.turns = true;
	h.def.wall_springs = 2;
	granular_scene_free(&s);
	return h;
}

static void free_heap(heap *h) { free(h->places); }

static carom_grains_state state_of(const heap *h)
{
	return (carom_grains_state){ .places = h->places, .motions = h->motions, .spins = h->spins };
}

enum { MOMENTS = 40 };

static carom_result advance(carom_grains *grains, const heap *h, int32_t count, int32_t *done)
{
	carom_grains_moment moments[MOMENTS];
	for (int i = 0; i < count; i++)
		moments[i] = (carom_grains_moment){ { 0, -9.81, 0 }, 1, &h->floor };
	return carom_grains_advance(grains, count, moments, NULL, done);
}

TEST(device_grains, many_steps_of_one_call_are_those_of_many)
{
	const place p = open_place(false);
	heap h[2] = { make_heap(p.device), make_heap(p.device) };
	carom_grains *grains[2];
	for (int k = 0; k < 2; k++) {
		REQUIRE(carom_create_grains(p.context, &h[k].def, &grains[k]) == CAROM_SUCCESS);
		carom_grains_state state = state_of(&h[k]);
		REQUIRE(carom_grains_set_state(grains[k], &state) == CAROM_SUCCESS);
		int32_t done = 0;
		if (k == 0)
			CHECK(advance(grains[k], &h[k], MOMENTS, &done) == CAROM_SUCCESS && done == MOMENTS);
		for (int i = 0; k == 1 && i < MOMENTS; i++)
			CHECK(advance(grains[k], &h[k], 1, NULL) == CAROM_SUCCESS);
		REQUIRE(carom_grains_get_state(grains[k], &state) == CAROM_SUCCESS);
	}
	CHECK(memcmp(h[0].places, h[1].places, 12 * (size_t)h[0].count * sizeof(double)) == 0);
	const carom_grains_stats one = carom_grains_get_stats(grains[0]), many = carom_grains_get_stats(grains[1]);
	CHECK(one.steps == MOMENTS && many.steps == MOMENTS && one.lists == many.lists && one.lists > 0);
	CHECK(one.submissions - one.retries == 3 && many.submissions - many.retries == MOMENTS);
	// Down come words of control, the number of entries and what each step has done; up a moment.
	CHECK_INT(many.step_down, (4 * 8 + 32 + 8) * many.submissions);
	CHECK(many.step_up < 400 * MOMENTS + 4000);
	for (int k = 0; k < 2; k++) {
		carom_destroy_grains(grains[k]);
		free_heap(&h[k]);
	}
	close_place(p);
}

/// Steps of one call are those of many calls, on the processor and on a device; there they are few submissions.
static void check_many(place p, void change(sim_granular_def *def))
{
	enum { STEPS = 40 };
	granular_scene s = granular_scene_heap(SIDE, 1, 5);
	sim_granular_def def = granular_scene_rough(&s);
	change(&def);
	sim_granular *all[3];
	sim_granular_step steps[STEPS], one;
	sim_error error;
	for (int i = 0; i < 3; i++) {
		def.device = i == 0 ? NULL : p.device;
		all[i] = granular_create(p.context, &def);
	}
	for (int i = 0; i < STEPS; i++)
		one = granular_run(all[2], 1);
	for (int i = 0; i < 2; i++) {
		int64_t done;
		REQUIRE(sim_granular_advance_many(all[i], STEPS / 2, steps, &done, &error) && done == STEPS / 2);
		REQUIRE(sim_granular_advance_many(all[i], STEPS / 2, NULL, NULL, &error));
		CHECK(steps[STEPS / 2 - 1].step == STEPS / 2 && steps[3].time == 4 * def.time_step);
		REQUIRE(sim_granular_advance_many(all[i], 0, NULL, &done, &error) && done == 0);
	}
	const carom_grains_stats few = sim_granular_get_info(all[1]).device, many = sim_granular_get_info(all[2]).device;
	CHECK_INT(few.submissions - few.retries, 4); // of 16, 4, 16 and 4
	CHECK_INT(many.submissions - many.retries, STEPS);
	CHECK(few.steps == STEPS && few.lists == many.lists && one.step == STEPS);
	if (few.exact)
		CHECK(granular_hash(all[0]) == granular_hash(all[1]));
	CHECK(granular_hash(all[1]) == granular_hash(all[2]));
	const sim_granular_energy left = granular_energy(all[1]), right = granular_energy(all[2]);
	CHECK(memcmp(&left, &right, sizeof left) == 0);
	for (int i = 0; i < 3; i++)
		sim_destroy_granular(all[i]);
	granular_scene_free(&s);
}

TEST(device_grains, many_steps_of_a_simulation_are_few_submissions)
{
	const place p = open_place(false);
	check_many(p, keep);
	check_many(p, make_shaken); // walls that move, and gravity that turns
	close_place(p);
}

TEST(device_grains, many_steps_that_cannot_be_are_refused)
{
	const place p = open_place(false);
	granular_scene s = granular_scene_heap(4, 1, 5);
	sim_granular_def def = granular_scene_rough(&s);
	sim_error error;
	int64_t done = 7;
	sim_granular *g = granular_create(p.context, &def);
	CHECK(!sim_granular_advance_many(g, -1, NULL, &done, &error) && strstr(error.text, "count is -1") && done == 0);
	sim_destroy_granular(g);
	def.touches = true;
	g = granular_create(p.context, &def);
	CHECK(!sim_granular_advance_many(g, 2, NULL, NULL, &error) && strstr(error.text, "touches"));
	CHECK(sim_granular_advance_many(g, 1, NULL, &done, &error) && done == 1);
	sim_destroy_granular(g);
	def.touches = false;
	def.device = p.device;
	g = granular_create(p.context, &def);
	p.device->stats.lost = true; // not really
	CHECK(!sim_granular_advance_many(g, 20, NULL, &done, &error) && done == 0 && strstr(error.text, "lost"));
	p.device->stats.lost = false;
	CHECK(!sim_granular_advance_many(g, 1, NULL, NULL, &error) && strstr(error.text, "failed before"));
	sim_destroy_granular(g);
	granular_scene_free(&s);
	close_place(p);
}

TEST(device_grains, springs_come_back_and_go_there)
{
	const place p = open_place(true);
	heap h = make_heap(p.device);
	carom_grains *grains;
	REQUIRE(carom_create_grains(p.context, &h.def, &grains) == CAROM_SUCCESS);
	carom_grains_state state = state_of(&h);
	REQUIRE(carom_grains_set_state(grains, &state) == CAROM_SUCCESS);
	CHECK(advance(grains, &h, 20, NULL) == CAROM_SUCCESS);
	int64_t contacts;
	REQUIRE(carom_grains_count_springs(grains, &contacts) == CAROM_SUCCESS && contacts > 0);
	int64_t *first = calloc((size_t)h.count + 1, sizeof *first);
	uint32_t *other = calloc((size_t)contacts, sizeof *other), *marks = calloc((size_t)h.count, sizeof *marks);
	double *springs = calloc(3 * (size_t)contacts, sizeof *springs), *walls = calloc(6 * (size_t)h.count, sizeof *walls);
	state.first = first;
	state.other = other;
	state.springs = springs;
	state.wall_marks = marks;
	state.wall_springs = walls;
	REQUIRE(carom_grains_get_state(grains, &state) == CAROM_SUCCESS);
	CHECK_INT(first[h.count], contacts);
	CHECK(advance(grains, &h, 15, NULL) == CAROM_SUCCESS);
	heap after[2] = { make_heap(p.device), make_heap(p.device) };
	for (int k = 0; k < 2; k++) {
		if (k == 1) { // again from where they were
			REQUIRE(carom_grains_set_state(grains, &state) == CAROM_SUCCESS);
			CHECK(advance(grains, &h, 15, NULL) == CAROM_SUCCESS);
		}
		carom_grains_state now = state_of(&after[k]);
		REQUIRE(carom_grains_get_state(grains, &now) == CAROM_SUCCESS);
	}
	CHECK(memcmp(after[0].places, after[1].places, 12 * (size_t)h.count * sizeof(double)) == 0);
	CHECK(memcmp(after[0].places, h.places, 4 * (size_t)h.count * sizeof(double)) != 0);
	other[0] = (uint32_t)h.count; // no such sphere
	CHECK(carom_grains_set_state(grains, &state) == CAROM_INVALID_ARGUMENT && strstr(carom_error_text(p.context), "ascending"));
	free(first), free(other), free(marks), free(springs), free(walls);
	free_heap(&after[0]), free_heap(&after[1]), free_heap(&h);
	carom_destroy_grains(grains);
	close_place(p);
}

TEST(device_grains, misuse_is_told)
{
	const place p = open_place(false);
	heap h = make_heap(p.device);
	const struct {
		const char *text;
		void *field;
		double number;
	} wrong[] = { { "time_step", &h.def.time_step, 0 }, { "skin", &h.def.skin, -1 }, { "spheres", &h.def.spheres.friction, -1 },
		{ "walls", &h.def.walls.stiffness, NAN } };
	carom_grains *grains;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		double *field = wrong[i].field;
		const double right = *field;
		*field = wrong[i].number;
		CHECK(carom_create_grains(p.context, &h.def, &grains) == CAROM_INVALID_ARGUMENT && !grains);
		if (!CHECK(strstr(carom_error_text(p.context), wrong[i].text) != NULL))
			printf("%s\n", carom_error_text(p.context));
		*field = right;
	}
	h.def.turns = false;
	CHECK(carom_create_grains(p.context, &h.def, &grains) == CAROM_INVALID_ARGUMENT);
	h.def.turns = true;
	h.def.periodic[1] = true;
	CHECK(carom_create_grains(p.context, &h.def, &grains) == CAROM_INVALID_ARGUMENT); // no box
	h.def.upper[1] = 0.1;
	REQUIRE(carom_create_grains(p.context, &h.def, &grains) == CAROM_SUCCESS);
	carom_grains_state state = state_of(&h);
	CHECK(carom_grains_set_state(grains, &state) == CAROM_INVALID_ARGUMENT); // outside of the period
	for (int64_t i = 0; i < h.count; i++)
		h.places[4 * i + 1] = 0.05;
	CHECK(carom_grains_set_state(grains, &state) == CAROM_INVALID_ARGUMENT && strstr(carom_error_text(p.context), "period of"));
	h.places[3] = -1;
	CHECK(carom_grains_set_state(grains, &state) == CAROM_INVALID_ARGUMENT && strstr(carom_error_text(p.context), "sphere 0"));
	CHECK(carom_grains_advance(grains, 1, NULL, NULL, NULL) == CAROM_INVALID_ARGUMENT);
	h.floor.number = CAROM_GRAINS_MAX_WALLS;
	CHECK(advance(grains, &h, 1, NULL) == CAROM_INVALID_ARGUMENT && strstr(carom_error_text(p.context), "number 16"));
	carom_destroy_grains(grains);
	free_heap(&h);
	close_place(p);
}

// ---- Failures ----

/// All calls that use the device, with new grains.
static carom_result do_all(carom_context *context, heap *h, bool *created)
{
	carom_grains *grains;
	carom_result result = carom_create_grains(context, &h->def, &grains);
	*created = result == CAROM_SUCCESS;
	carom_grains_state state = state_of(h);
	if (result == CAROM_SUCCESS)
		result = carom_grains_set_state(grains, &state);
	if (result == CAROM_SUCCESS)
		result = advance(grains, h, 2, NULL);
	int64_t contacts;
	if (result == CAROM_SUCCESS)
		result = carom_grains_count_springs(grains, &contacts);
	if (result == CAROM_SUCCESS)
		result = carom_grains_get_state(grains, &state);
	carom_destroy_grains(grains);
	return result;
}

static void check_failing_calls(VkResult failure, carom_result expected)
{
	const place p = open_place(true);
	heap h = make_heap(p.device);
	h.def.skin = 0.03; // the rows must grow
	bool created;
	int failures = 0;
	REQUIRE(do_all(p.context, &h, &created) == CAROM_SUCCESS); // kernels are there
	failing_calls calls = failing_calls_of_preset();
	for (bool failed = true; failed && failures < 1000;) {
		begin_failing(p.device, &calls, failure);
		const carom_result result = do_all(p.context, &h, &created);
		failed = end_failing(p.device);
		if (failed && !CHECK_INT(result, expected))
			printf("call %lld, %s: %s\n", calls.failed, s_failed, carom_error_text(p.context));
		CHECK(!failed || strstr(carom_error_text(p.context), s_failed) != NULL);
		failures += failed;
		p.device->stats.lost = false; // it is not, really
	}
	CHECK(calls.failed < 0 && failures > (calls.by_stack ? 30 : 200));
	failing_calls_free(&calls);
	CHECK(do_all(p.context, &h, &created) == CAROM_SUCCESS);
	free_heap(&h);
	close_place(p);
}

TEST(device_grains, every_call_may_run_out_of_device_memory)
{
	check_failing_calls(VK_ERROR_OUT_OF_DEVICE_MEMORY, CAROM_OUT_OF_MEMORY);
}

TEST(device_grains, a_lost_device_is_told) { check_failing_calls(VK_ERROR_DEVICE_LOST, CAROM_DEVICE_FAILED); }

TEST(device_grains, every_allocation_may_fail)
{
	fixture_heap memory;
	place p = { .context = fixture_heap_context(&memory, 1) };
	p.device = fixture_device(p.context, NULL);
	heap h = make_heap(p.device);
	bool created;
	int failures = 0;
	failing_calls calls = failing_calls_of_preset();
	for (bool failed = true; failed; failures += failed) {
		fixture_begin_failing(&memory, &calls);
		const carom_result result = do_all(p.context, &h, &created);
		failed = fixture_end_failing(&memory);
		CHECK_INT(result, failed ? CAROM_OUT_OF_MEMORY : CAROM_SUCCESS);
	}
	CHECK(failures >= 3);
	failing_calls_free(&calls);
	free_heap(&h);
	close_place(p);
}

TEST(device_grains, a_budget_is_kept)
{
	carom_device_def def = carom_default_device_def();
	def.memory_budget = (size_t)CR_GPU_READBACK_SIZE + 60000;
	place p = { .context = granular_context(1) };
	p.device = fixture_device(p.context, &def);
	heap h = make_heap(p.device);
	bool created;
	CHECK_INT(do_all(p.context, &h, &created), CAROM_OVER_BUDGET);
	CHECK(!created && carom_device_get_stats(p.device).bytes == CR_GPU_READBACK_SIZE);
	free_heap(&h);
	close_place(p);
}

// ---- What can be seen from outside ----

static void count_errors(carom_log_level level, const char *text, void *user)
{
	if (level == CAROM_LOG_ERROR)
		printf("%s\n", text);
	*(int *)user += level == CAROM_LOG_ERROR;
}

TEST(device_grains, the_validation_layer_has_nothing_to_say)
{
	int errors = 0;
	carom_context_def context_def = carom_default_context_def();
	context_def.log = count_errors;
	context_def.log_user = &errors;
	place p;
	REQUIRE(carom_create_context(&context_def, &p.context) == CAROM_SUCCESS);
	for (int staging = 0; staging < 2; staging++) {
		carom_device_def def = carom_default_device_def();
		def.staging = staging;
		def.validation = def.timing = true;
		p.device = fixture_device(p.context, &def);
		heap h = make_heap(p.device);
		h.def.skin = staging ? 0.03 : 0.001;
		bool created;
		CHECK(do_all(p.context, &h, &created) == CAROM_SUCCESS);
		CHECK_INT(carom_device_get_stats(p.device).validation_messages, 0);
		free_heap(&h);
		carom_destroy_device(p.device);
	}
	CHECK_INT(errors, 0);
	carom_destroy_context(p.context);
}

// ---- A device of the caller's ----

/// Copy a buffer by commands of our own on the caller's device, and wait. Returns the bytes, in memory that `to` maps.
static const void *copy_by_hand(carom_device *own, carom_device_buffer from, cr_gpu_buffer *to)
{
	const cr_vk *vk = own->vk;
	REQUIRE(cr_gpu_make_staging(own, to, from.size) == CAROM_SUCCESS);
	VkCommandPool pool;
	VkCommandBuffer commands;
	const VkCommandPoolCreateInfo pool_info = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.queueFamilyIndex = own->queue_family };
	REQUIRE(vk->CreateCommandPool(own->device, &pool_info, NULL, &pool) == VK_SUCCESS);
	const VkCommandBufferAllocateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1
	};
	REQUIRE(vk->AllocateCommandBuffers(own->device, &info, &commands) == VK_SUCCESS);
	const VkCommandBufferBeginInfo begin_info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
	REQUIRE(vk->BeginCommandBuffer(commands, &begin_info) == VK_SUCCESS);
	const VkBufferCopy piece = { 0, 0, from.size };
	VkBuffer source;
	memcpy(&source, &from.buffer, sizeof source);
	vk->CmdCopyBuffer(commands, source, to->buffer, 1, &piece);
	REQUIRE(vk->EndCommandBuffer(commands) == VK_SUCCESS);
	const VkSubmitInfo submit_info = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands
	};
	REQUIRE(vk->QueueSubmit(own->queue, 1, &submit_info, VK_NULL_HANDLE) == VK_SUCCESS);
	REQUIRE(vk->DeviceWaitIdle(own->device) == VK_SUCCESS);
	vk->DestroyCommandPool(own->device, pool, NULL);
	return to->mapped;
}

/// What a caller would have made: the handles of a device.
static carom_vulkan_handles handles_of(const carom_device *own)
{
	carom_vulkan_handles h = { .instance = own->instance.instance,
		.physical_device = own->physical,
		.device = own->device,
		.queue = own->queue,
		.queue_family = own->queue_family,
		.doubles = true };
	memcpy(&h.get_instance_proc_addr, &own->instance.get_function, sizeof h.get_instance_proc_addr);
	return h;
}

/// Every neighbour that touches in plain C is in the row that the caller's own copy brings.
static void check_rows(const heap *h, const uint64_t *first, const uint32_t *other)
{
	int64_t touching = 0;
	for (int64_t i = 0; i < h->count; i++) {
		uint64_t e = first[i];
		for (int64_t j = 0; j < h->count; j++) {
			const double *a = &h->places[4 * i], *b = &h->places[4 * j], sum = a[3] + b[3];
			const double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] };
			while (e < first[i + 1] && (other[e] & ~CAROM_GRAINS_TOUCHED) < j)
				e++;
			if (i == j || d[0] * d[0] + d[1] * d[1] + d[2] * d[2] > sum * sum)
				continue;
			touching++;
			CHECK(e < first[i + 1] && (other[e] & ~CAROM_GRAINS_TOUCHED) == j);
		}
	}
	CHECK(touching > 0);
}

TEST(device_grains, a_callers_device_reads_the_buffers_without_the_library)
{
	const place p = open_place(false);
	const carom_vulkan_handles handles = handles_of(p.device);
	carom_device_def def = carom_default_device_def();
	def.vulkan = &handles;
	carom_device *lent;
	REQUIRE(carom_create_device(p.context, &def, &lent) == CAROM_SUCCESS);
	heap h = make_heap(lent);
	carom_grains *grains;
	REQUIRE(carom_create_grains(p.context, &h.def, &grains) == CAROM_SUCCESS);
	carom_grains_state state = state_of(&h);
	REQUIRE(carom_grains_set_state(grains, &state) == CAROM_SUCCESS);
	CHECK(advance(grains, &h, 10, NULL) == CAROM_SUCCESS);
	carom_grains_buffers buffers;
	REQUIRE(carom_grains_get_buffers(grains, &buffers) == CAROM_SUCCESS);
	const carom_grains_stats before = carom_grains_get_stats(grains);
	cr_gpu_buffer copies[3] = { { 0 }, { 0 }, { 0 } };
	cr_gpu_lock(p.device);
	const double *places = copy_by_hand(p.device, buffers.places, &copies[0]);
	const uint64_t *first = copy_by_hand(p.device, buffers.first, &copies[1]);
	const uint32_t *other = copy_by_hand(p.device, buffers.other, &copies[2]);
	CHECK_INT(cr_gpu_unlock(p.device, CAROM_SUCCESS), CAROM_SUCCESS);
	CHECK(buffers.places.address != 0 && buffers.springs.address != 0);
	CHECK_INT(carom_grains_get_stats(grains).bytes_down, before.bytes_down);
	memcpy(h.places, places, 4 * (size_t)h.count * sizeof *places);
	check_rows(&h, first, other);
	heap seen = make_heap(lent);
	carom_grains_state now = state_of(&seen);
	REQUIRE(carom_grains_get_state(grains, &now) == CAROM_SUCCESS);
	CHECK(memcmp(seen.places, h.places, 4 * (size_t)h.count * sizeof *h.places) == 0);
	cr_gpu_lock(p.device);
	for (int k = 0; k < 3; k++)
		cr_gpu_free(p.device, &copies[k]);
	CHECK_INT(cr_gpu_unlock(p.device, CAROM_SUCCESS), CAROM_SUCCESS);
	carom_destroy_grains(grains);
	carom_destroy_device(lent);
	free_heap(&seen);
	free_heap(&h);
	close_place(p);
}

TEST(device_grains, a_callers_device_is_checked)
{
	const place p = open_place(false);
	carom_device_def def = carom_default_device_def();
	carom_vulkan_handles handles = handles_of(p.device);
	def.vulkan = &handles;
	carom_device *lent;
	def.choice = "0";
	CHECK(
		carom_create_device(p.context, &def, &lent) == CAROM_INVALID_ARGUMENT && strstr(carom_error_text(p.context), "choice"));
	def.choice = NULL;
	def.tier = CAROM_TIER_QUERY;
	CHECK(carom_create_device(p.context, &def, &lent) == CAROM_INVALID_ARGUMENT && strstr(carom_error_text(p.context), "tier"));
	def.tier = CAROM_TIER_AUTO;
	handles.doubles = false;
	REQUIRE(carom_create_device(p.context, &def, &lent) == CAROM_SUCCESS);
	heap h = make_heap(lent);
	carom_grains *grains;
	CHECK(carom_create_grains(p.context, &h.def, &grains) == CAROM_UNSUPPORTED && strstr(carom_error_text(p.context), "double"));
	carom_destroy_device(lent);
	handles.queue = NULL;
	CHECK(carom_create_device(p.context, &def, &lent) == CAROM_INVALID_ARGUMENT && strstr(carom_error_text(p.context), "queue"));
	free_heap(&h);
	close_place(p);
}

TEST(device_grains, kernels_contract_no_doubles)
{
	int all;
	CHECK_INT(count_contractible(CR_KERNEL_GRAINS_FORCE, &all), 0);
	CHECK(all > 80);
	CHECK_INT(count_contractible(CR_KERNEL_GRAINS_MOVE, &all), 0);
	CHECK(all > 10);
	CHECK_INT(count_contractible(CR_KERNEL_ARITHMETIC, &all), 0);
	CHECK(all > 5);
}
