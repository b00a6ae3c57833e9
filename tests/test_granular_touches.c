/// Bodies of other kinds that touch spheres: beside the walls of the simulation itself, whose law they share, reactions,
/// springs, misuse, memory.
#include "granular_fixture.h"

enum { MOST_TOUCHES = 512 };

/// The touches of a moving wall, found as the simulation finds them.
static int64_t touch_wall(
	sim_granular *g, const sim_granular_wall *wall, double time, uint64_t body, sim_granular_touch *touches)
{
	const int64_t count = sim_granular_get_info(g).count;
	double *x = malloc((size_t)(4 * count) * sizeof *x), *r = x + 3 * count;
	int64_t found = 0;
	sim_granular_get_state(g, x, r, NULL, NULL);
	double offset = 0;
	for (int k = 0; k < 3; k++)
		offset += (wall->point[k] + wall->velocity[k] * time) * wall->normal[k];
	for (int64_t i = 0; i < count; i++) {
		const double *p = &x[3 * i], *n = wall->normal;
		const double overlap = r[i] - (n[0] * p[0] + n[1] * p[1] + n[2] * p[2] - offset);
		if (overlap < 0)
			continue;
		REQUIRE(found < MOST_TOUCHES);
		sim_granular_touch *t = &touches[found++];
		*t = (sim_granular_touch){ .sphere = (uint32_t)i, .body = body, .overlap = overlap };
		memcpy(t->normal, wall->normal, sizeof t->normal);
		memcpy(t->velocity, wall->velocity, sizeof t->velocity);
	}
	free(x);
	return found;
}

static void set_touches(sim_granular *g, int64_t count, const sim_granular_touch *touches)
{
	sim_error error = { "" };
	const bool set = sim_granular_set_touches(g, count, touches, &error);
	CHECK_STR(error.text, "");
	REQUIRE(set);
}

/// A heap that falls on a plate that rises and slides, as a wall or as touches. Returns the hash of the motion.
static uint64_t run_plate(const sim_granular_def *base, int threads, bool touches)
{
	static sim_granular_touch list[MOST_TOUCHES];
	const sim_granular_wall plate = { .point = { 0, 0.01, 0 }, .normal = { 0, 1, 0 }, .velocity = { 0.3, 0.2, 0 } };
	sim_granular_def def = *base;
	carom_context *context = granular_context(threads);
	def.faces[2] = false;
	def.touches = touches;
	if (!touches)
		def.moving[def.moving_count++] = plate;
	sim_granular *g = granular_create(context, &def);
	int64_t met = 0;
	for (int i = 0; i < 1500; i++) {
		if (touches)
			set_touches(g, touch_wall(g, &plate, (double)i * def.time_step, 7, list), list);
		met += granular_run(g, 1).wall_contacts;
	}
	CHECK(met > 1000);
	const uint64_t hash = granular_hash(g);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	return hash;
}

TEST(granular_touches, a_plate_of_touches_is_a_moving_wall_bit_for_bit)
{
	granular_scene s = granular_scene_heap(4, 0.5, 11);
	sim_granular_def def = granular_scene_rough(&s);
	CHECK(run_plate(&def, 1, true) == run_plate(&def, 1, false));
	def.spheres.tangential = def.walls.tangential = SIM_GRANULAR_MINDLIN;
	def.spheres.normal = def.walls.normal = SIM_GRANULAR_HERTZ;
	def.spheres.young = def.walls.young = 1e6;
	CHECK(run_plate(&def, 1, true) == run_plate(&def, 1, false));
	// Spheres that do not turn take another pass.
	def = granular_scene_rough(&s);
	def.spheres.tangential = def.walls.tangential = SIM_GRANULAR_SMOOTH;
	def.spheres.rolling_friction = def.walls.rolling_friction = 0;
	CHECK(run_plate(&def, 1, true) == run_plate(&def, 1, false));
	granular_scene_free(&s);
}

TEST(granular_touches, threads_change_nothing)
{
	granular_scene s = granular_scene_heap(4, 0.5, 12);
	const sim_granular_def def = granular_scene_rough(&s);
	const uint64_t hash = run_plate(&def, 1, true);
	CHECK(run_plate(&def, 2, true) == hash);
	CHECK(run_plate(&def, 4, true) == hash);
	granular_scene_free(&s);
}

TEST(granular_touches, reactions_are_what_spheres_get_turned_round)
{
	static sim_granular_touch list[MOST_TOUCHES];
	granular_scene s = granular_scene_heap(3, 1, 13);
	sim_granular_def def = granular_scene_rough(&s);
	const sim_granular_wall plate = { .point = { 0, 0.03, 0 }, .normal = { 0.6, 0.8, 0 }, .velocity = { 0, 0.5, 1 } };
	def.gravity[1] = 0;
	def.touches = true;
	for (int f = 0; f < 6; f++)
		def.faces[f] = false;
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	double impulse[3] = { 0 }, twist[3] = { 0 };
	const sim_granular_energy before = granular_energy(g);
	int64_t met = 0;
	for (int i = 0; i < 500; i++) {
		const int64_t count = touch_wall(g, &plate, (double)i * def.time_step, 1, list);
		set_touches(g, count, list);
		granular_run(g, 1);
		const sim_granular_reaction *r = sim_granular_get_reactions(g);
		met += count;
		for (int64_t k = 0; k < count; k++) {
			const double *p = r[k].point, *f = r[k].force;
			for (int c = 0; c < 3; c++) {
				const int u = (c + 1) % 3, v = (c + 2) % 3;
				impulse[c] += f[c] * def.time_step;
				twist[c] += (p[u] * f[v] - p[v] * f[u] + r[k].torque[c]) * def.time_step;
			}
		}
	}
	const sim_granular_energy after = granular_energy(g);
	CHECK(met > 300);
	for (int c = 0; c < 3; c++) {
		CHECK_NEAR(after.momentum[c] - before.momentum[c] + impulse[c], 0, 1e-12);
		CHECK_NEAR(after.angular_momentum[c] - before.angular_momentum[c] + twist[c], 0, 1e-4 * fabs(twist[c]) + 1e-9);
	}
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}

/// A sphere that slides over a body at 0.1 m/s: the force across in the second of two steps, 1e-5 s each. The normals of
/// the two steps differ by an angle, the bodies may differ.
static double second_drag(double angle, uint64_t second_body, int repeats)
{
	granular_scene s = granular_scene_make(1);
	s.radii[0] = 0.01;
	sim_granular_def def = granular_scene_rough(&s);
	def.gravity[1] = 0;
	def.walls.friction = 100;
	def.walls.restitution = 1; // no dashpot: the force across is the spring's
	def.walls.rolling_friction = 0;
	def.density = 1e9; // it hardly moves
	def.touches = true;
	for (int f = 0; f < 6; f++)
		def.faces[f] = false;
	def.time_step = 1e-5;
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	const sim_granular_touch first = { .body = 5, .normal = { 0, 1, 0 }, .overlap = 1e-4, .velocity = { 0, 0, 0.1 } };
	sim_granular_touch second = { .body = second_body, .overlap = 1e-4, .velocity = { 0, 0, 0.1 } };
	second.normal[0] = sin(angle);
	second.normal[1] = cos(angle);
	set_touches(g, 1, &first);
	granular_run(g, 1);
	for (int i = 0; i < repeats; i++)
		set_touches(g, 1, &second);
	granular_run(g, 1);
	const double drag = repeats ? -sim_granular_get_reactions(g)[0].force[2] : 0;
	if (repeats == 0) { // a step without touches: the spring is gone
		set_touches(g, 1, &second);
		granular_run(g, 1);
		CHECK_NEAR(sim_granular_get_reactions(g)[0].force[2], -(2.0 / 7) * 1e4 * 1e-6, 1e-9);
	}
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
	return drag;
}

TEST(granular_touches, springs_last_from_step_to_step)
{
	const double one = (2.0 / 7) * 1e4 * 1e-6; // N after one step
	CHECK_NEAR(second_drag(0, 5, 1), 2 * one, 1e-3 * one);
	CHECK_NEAR(second_drag(1, 5, 1), 2 * one, 1e-3 * one); // over an edge of 57 degrees
	CHECK_NEAR(second_drag(2, 5, 1), one, 1e-3 * one);     // another place
	CHECK_NEAR(second_drag(0, 6, 1), one, 1e-3 * one);     // another body
	CHECK_NEAR(second_drag(0, 5, 3), 2 * one, 1e-3 * one); // set again before the step: the last ones count
	second_drag(0, 5, 0);
}

TEST(granular_touches, two_places_keep_two_springs)
{
	granular_scene s = granular_scene_make(2);
	s.radii[0] = s.radii[1] = 0.01;
	s.centres[3] = 1;
	sim_granular_def def = granular_scene_rough(&s);
	def.gravity[1] = 0;
	def.walls.friction = 100;
	def.walls.restitution = 1;
	def.walls.rolling_friction = 0;
	def.density = 1e9;
	def.touches = true;
	for (int f = 0; f < 6; f++)
		def.faces[f] = false;
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	sim_granular_touch t[3] = { { 0, 5, { 0, 1, 0 }, 1e-4, { 0, 0, 0.1 } }, { 0, 5, { 1, 0, 0 }, 1e-4, { 0, 0, 0.3 } },
		{ 1, 5, { 0, 1, 0 }, 1e-4, { 0, 0, 0.5 } } };
	set_touches(g, 3, t);
	granular_run(g, 1);
	const sim_granular_touch swapped[3] = { t[1], t[0], t[2] };
	set_touches(g, 3, swapped);
	granular_run(g, 1);
	const sim_granular_reaction *r = sim_granular_get_reactions(g);
	const double unit = (2.0 / 7) * 1e4 * def.time_step;
	CHECK_NEAR(-r[0].force[2], 2 * 0.3 * unit, 1e-3 * unit);
	CHECK_NEAR(-r[1].force[2], 2 * 0.1 * unit, 1e-3 * unit);
	CHECK_NEAR(-r[2].force[2], 2 * 0.5 * unit, 1e-3 * unit);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}

// ---- Misuse ----

static void refused(sim_granular *g, int64_t count, const sim_granular_touch *touches, const char *text)
{
	sim_error error = { "" };
	CHECK(!sim_granular_set_touches(g, count, touches, &error));
	CHECK_STR(error.text, text);
}

TEST(granular_touches, misuse_names_the_field)
{
	granular_scene s = granular_scene_heap(2, 1, 1);
	sim_granular_def def = granular_scene_rough(&s);
	carom_context *context = granular_context(1);
	sim_granular *without = granular_create(context, &def);
	const sim_granular_touch good = { .sphere = 3, .normal = { 0, 0, 1 }, .overlap = 0.001 };
	refused(without, 1, &good, "touches: the definition of the simulation has none (sim_granular_def.touches)");
	sim_destroy_granular(without);
	def.touches = true;
	sim_granular *g = granular_create(context, &def);
	refused(g, -1, &good, "count: -1 touches are not within 0 to 4294967294");
	refused(g, 1, NULL, "touches: NULL, but the count is 1");
	sim_granular_touch bad[2] = { good, good };
	bad[1].sphere = 8;
	refused(g, 2, bad, "touches[1].sphere: 8 is not below 8");
	bad[1].sphere = 2;
	refused(g, 2, bad, "touches[1].sphere: 2 comes after 3; they must be sorted");
	bad[1] = good;
	bad[1].normal[2] = 2;
	refused(g, 2, bad, "touches[1].normal: (0, 0, 2) is not of length 1");
	bad[1].normal[2] = NAN;
	CHECK(!sim_granular_set_touches(g, 2, bad, &(sim_error){ "" }));
	bad[1] = good;
	bad[1].overlap = -1;
	refused(g, 2, bad, "touches[1].overlap: -1 is not a finite number of at least 0");
	bad[1] = good;
	bad[1].velocity[0] = INFINITY;
	refused(g, 2, bad, "touches[1].velocity: (inf, 0, 0) is not finite");
	set_touches(g, 1, &good);
	granular_run(g, 2);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}

TEST(granular_touches, short_memory_changes_nothing)
{
	granular_scene s = granular_scene_heap(2, 1, 1);
	sim_granular_def def = granular_scene_rough(&s);
	short_memory memory = { 1000000, 0 };
	def.touches = true;
	for (int f = 0; f < 6; f++)
		def.faces[f] = false;
	def.allocator = (carom_allocator){ short_allocate, short_release, &memory };
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	sim_granular_touch touches[40] = { { .sphere = 3, .body = 1, .normal = { 0, 0, 1 }, .overlap = 0.001 } };
	set_touches(g, 1, touches);
	for (int i = 1; i < 40; i++)
		touches[i] = touches[0];
	for (int left = 0; left < 4; left++) {
		memory.left = left;
		refused(g, 40, touches, "out of memory for the bodies that touch spheres");
	}
	memory.left = 1000000;
	CHECK_INT(granular_run(g, 1).wall_contacts, 1); // that of before
	set_touches(g, 40, touches);
	CHECK_INT(granular_run(g, 1).wall_contacts, 40);
	sim_destroy_granular(g);
	CHECK_INT(memory.live, 0);
	carom_destroy_context(context);
	granular_scene_free(&s);
}
