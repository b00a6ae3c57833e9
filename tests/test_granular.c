/// Granular dynamics against what is known in closed form: impacts, springs, friction, rolling, walls, borders, gravity.
#include "sim/grains/granular.h"
#include "granular_fixture.h"

static const double pi = 3.14159265358979323846;

// Two spheres head on along x, at speeds 1 and -2.
static granular_scene head_on(double ra, double rb)
{
	granular_scene s = granular_scene_make(2);
	s.radii[0] = ra;
	s.radii[1] = rb;
	s.centres[0] = -ra - 1e-4;
	s.centres[3] = rb + 1e-4;
	s.velocities[0] = 1;
	s.velocities[3] = -2;
	return s;
}

static void run_head_on(const sim_granular_def *def, int64_t steps, double *velocities)
{
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, def);
	granular_run(g, steps);
	sim_granular_get_state(g, NULL, NULL, velocities, NULL);
	CHECK_NEAR(granular_energy(g).elastic, 0, 0); // they have parted
	sim_destroy_granular(g);
	carom_destroy_context(context);
}

TEST(granular, an_elastic_pair_returns_its_speeds)
{
	granular_scene s = head_on(0.01, 0.02);
	sim_granular_def def = granular_scene_def(&s);
	def.time_step = 1e-7;
	double v[6];
	run_head_on(&def, 80000, v);
	// Masses 1 and 8: relative speed -3 turns about the centre of mass, which moves at (1 - 16) / 9.
	const double centre = -15.0 / 9;
	CHECK_NEAR(v[0], 2 * centre - 1, 1e-6);
	CHECK_NEAR(v[3], 2 * centre + 2, 1e-6);
	CHECK_NEAR(v[1], 0, 0);
	granular_scene_free(&s);
}

TEST(granular, restitution_is_what_was_asked_for)
{
	granular_scene s = head_on(0.01, 0.02);
	for (int law = 0; law < 2; law++) {
		for (double e = 0.1; e <= 1; e += 0.3) {
			sim_granular_def def = granular_scene_def(&s);
			def.spheres.normal = law ? SIM_GRANULAR_HERTZ : SIM_GRANULAR_LINEAR;
			def.spheres.restitution = e;
			def.time_step = 1e-6;
			double v[6];
			run_head_on(&def, 20000, v);
			if (!CHECK_NEAR((v[3] - v[0]) / 3, e, 2e-3))
				printf("law %d, restitution %g\n", law, e);
			CHECK_NEAR(v[0] + 8 * v[3], -15, 1e-9); // momentum
		}
	}
	granular_scene_free(&s);
}

TEST(granular, a_hertz_impact_is_as_deep_as_it_should_be)
{
	granular_scene s = head_on(0.01, 0.01);
	sim_granular_def def = granular_scene_def(&s);
	def.spheres.normal = SIM_GRANULAR_HERTZ;
	def.time_step = 1e-7;
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	granular_run(g, 50000);
	// Johnson, Contact Mechanics (1985), section 11.4: (15 m v^2 / (16 sqrt(R) E))^(2/5).
	const double m = 2500 * 4.0 / 3 * pi * 1e-6 / 2;
	const double modulus = 1e7 / (2 * (1 - 0.0625));
	const double depth = pow(15 * m * 9 / (16 * sqrt(0.005) * modulus), 0.4);
	CHECK_NEAR(sim_granular_get_info(g).max_overlap * 0.01 / depth, 1, 1e-4);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}

TEST(granular, a_closed_elastic_gas_keeps_energy_and_momentum)
{
	granular_scene s = granular_scene_heap(6, 1, 3);
	sim_granular_def def = granular_scene_def(&s);
	def.time_step = 2e-6;
	for (int k = 0; k < 3; k++) {
		def.periodic[k] = true;
		def.upper[k] = 0.4;
	}
	carom_context *context = granular_context(2);
	sim_granular *g = granular_create(context, &def);
	const sim_granular_energy before = granular_energy(g);
	int64_t contacts = 0;
	for (int i = 0; i < 20; i++) {
		contacts += granular_run(g, 500).contacts;
		const sim_granular_energy now = granular_energy(g);
		CHECK_NEAR(granular_total(&now) / granular_total(&before), 1, 1e-3);
		for (int k = 0; k < 3; k++)
			CHECK_NEAR(now.momentum[k], before.momentum[k], 1e-12);
	}
	CHECK(contacts > 100);
	CHECK(sim_granular_get_info(g).list_builds > 1);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}

TEST(granular, dissipation_is_monotone)
{
	granular_scene s = granular_scene_heap(6, 1, 4);
	sim_granular_def def = granular_scene_rough(&s);
	memset(def.faces, 0, sizeof def.faces);
	def.gravity[1] = 0;
	def.time_step = 1e-6;
	for (int k = 0; k < 3; k++) {
		def.periodic[k] = true;
		def.upper[k] = 0.32;
	}
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	sim_granular_energy first = granular_energy(g), last = first;
	for (int i = 0; i < 60; i++) {
		granular_run(g, 200);
		const sim_granular_energy now = granular_energy(g);
		// A part in 1e4 for what the integration of springs swings.
		CHECK(granular_total(&now) <= granular_total(&last) + 1e-4 * granular_total(&first));
		last = now;
	}
	CHECK(granular_total(&last) < 0.7 * granular_total(&first));
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}

TEST(granular, friction_keeps_angular_momentum)
{
	granular_scene s = head_on(0.01, 0.02);
	s.centres[4] = 0.012; // off centre
	s.spins[0] = 3;
	s.spins[5] = -70;
	sim_granular_def def = granular_scene_def(&s);
	def.angular_velocities = (carom_strided){ s.spins, 0, CAROM_FLOAT64 };
	def.spheres.tangential = SIM_GRANULAR_SPRING;
	def.spheres.friction = 0.5;
	def.spheres.restitution = 0.8;
	def.time_step = 1e-6;
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	const sim_granular_energy before = granular_energy(g);
	granular_run(g, 20000);
	const sim_granular_energy after = granular_energy(g);
	const double scale = fabs(before.angular_momentum[2]);
	for (int k = 0; k < 3; k++)
		CHECK_NEAR(after.angular_momentum[k], before.angular_momentum[k], 1e-12 * scale);
	CHECK(fabs(after.rotational - before.rotational) > 0.01 * before.rotational); // they did rub
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}

// One sphere of radius 0.1 on the floor, pressed into it as far as its weight does.
static granular_scene on_the_floor(sim_granular_def *def)
{
	granular_scene s = granular_scene_make(1);
	s.radii[0] = 0.1;
	*def = granular_scene_def(&s);
	def->gravity[1] = -10;
	def->faces[2] = true;
	def->walls.stiffness = 1e6;
	def->walls.restitution = 0.2;
	def->walls.tangential = SIM_GRANULAR_SPRING;
	def->walls.friction = 0.3;
	def->time_step = 1e-5;
	const double mass = def->density * 4.0 / 3 * pi * 1e-3;
	s.centres[1] = 0.1 - mass * 10 / def->walls.stiffness;
	return s;
}

TEST(granular, a_sliding_ball_begins_to_roll_at_five_sevenths)
{
	sim_granular_def def;
	granular_scene s = on_the_floor(&def);
	s.velocities[0] = 1;
	def.velocities.data = s.velocities;
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	double v[3], w[3];
	granular_run(g, 2000); // 0.02 s of sliding: friction takes 0.3 * 10 m/s^2
	sim_granular_get_state(g, NULL, NULL, v, w);
	CHECK_NEAR(v[0], 1 - 0.3 * 10 * 0.02, 2e-3);
	granular_run(g, 20000); // rolling since (2 / 7) / 3 s
	sim_granular_get_state(g, NULL, NULL, v, w);
	CHECK_NEAR(v[0], 5.0 / 7, 5e-3);
	CHECK_NEAR(w[2], -v[0] / 0.1, 0.15);
	CHECK_NEAR(v[2], 0, 0);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}

TEST(granular, friction_holds_a_ball_up_to_its_limit)
{
	// A ball that rolling friction keeps from rolling, pulled sideways, is a block that slides or does not.
	for (int slips = 0; slips < 2; slips++) {
		sim_granular_def def;
		granular_scene s = on_the_floor(&def);
		def.walls.rolling_friction = 10;
		def.gravity[0] = slips ? 3.5 : 2.5; // limit: 0.3 * 10
		carom_context *context = granular_context(1);
		sim_granular *g = granular_create(context, &def);
		granular_run(g, 10000); // 0.1 s
		double before[3], after[3], x[3];
		sim_granular_get_state(g, NULL, NULL, before, NULL);
		granular_run(g, 10000);
		sim_granular_get_state(g, x, NULL, after, NULL);
		if (slips)
			CHECK_NEAR(after[0] - before[0], 0.5 * 0.1, 1e-3); // 3.5 - 3 m/s^2
		else
			CHECK(fabs(x[0]) < 5e-4 && fabs(x[0]) > 1e-5); // the spring gives a little
		sim_destroy_granular(g);
		carom_destroy_context(context);
		granular_scene_free(&s);
	}
}

TEST(granular, rolling_friction_stops_a_ball)
{
	double speed[2];
	for (int k = 0; k < 2; k++) {
		sim_granular_def def;
		granular_scene s = on_the_floor(&def);
		s.velocities[0] = 1;
		s.spins[2] = -10;
		def.velocities.data = s.velocities;
		def.angular_velocities = (carom_strided){ s.spins, 0, CAROM_FLOAT64 };
		def.walls.rolling_friction = k ? 0.05 : 0;
		carom_context *context = granular_context(1);
		sim_granular *g = granular_create(context, &def);
		granular_run(g, 50000);
		double v[3];
		sim_granular_get_state(g, NULL, NULL, v, NULL);
		speed[k] = v[0];
		sim_destroy_granular(g);
		carom_destroy_context(context);
		granular_scene_free(&s);
	}
	CHECK_NEAR(speed[0], 1, 1e-2);
	// Torque mu R m g against rolling: a = mu g / (1 + 2/5) = 0.357 m/s^2 for half a second.
	CHECK_NEAR(speed[1], 1 - 0.05 * 10 / 1.4 * 0.5, 1e-2);
}

TEST(granular, a_moving_wall_pushes_and_a_belt_carries)
{
	granular_scene s = granular_scene_make(1);
	s.radii[0] = 0.1;
	s.centres[0] = 0.1 + 1e-4;
	sim_granular_def def = granular_scene_def(&s);
	def.moving_count = 1;
	def.walls.stiffness = 1e6;
	def.moving[0] = (sim_granular_wall){ .normal = { 2, 0, 0 }, .velocity = { 1, 0, 0 } };
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	granular_run(g, 10000);
	double v[3], p[3];
	sim_granular_get_state(g, NULL, NULL, v, NULL);
	CHECK_NEAR(v[0], 2, 1e-4); // elastic, against a wall of no end of mass
	sim_granular_get_wall(g, 0, p);
	CHECK_NEAR(p[0], 0.1, 1e-9);
	sim_destroy_granular(g);
	granular_scene_free(&s);

	granular_scene belt = on_the_floor(&def);
	def.faces[2] = false;
	def.moving_count = 1;
	def.moving[0] = (sim_granular_wall){ .normal = { 0, 1, 0 }, .velocity = { 0, 0, 1 } };
	def.walls.rolling_friction = 10; // carried, not rolled
	g = granular_create(context, &def);
	granular_run(g, 100000);
	sim_granular_get_state(g, NULL, NULL, v, NULL);
	CHECK_NEAR(v[2], 1, 2e-2);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&belt);
}

TEST(granular, an_oscillating_wall_is_where_it_should_be)
{
	granular_scene s = granular_scene_make(0);
	sim_granular_def def = granular_scene_def(&s);
	def.moving_count = 1;
	def.moving[0] = (sim_granular_wall){
		.point = { 1, 2, 3 }, .normal = { 0, 0, 1 }, .amplitude = { 0, 0, 0.5 }, .frequency = pi, .phase = pi / 2
	};
	def.time_step = 0.5;
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	double p[3];
	sim_granular_get_wall(g, 0, p);
	CHECK_NEAR(p[2], 3.5, 1e-12);
	granular_run(g, 2);
	sim_granular_get_wall(g, 0, p);
	CHECK_NEAR(p[2], 2.5, 1e-12);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}

TEST(granular, gravity_turns)
{
	granular_scene s = granular_scene_make(1);
	s.radii[0] = 0.01;
	sim_granular_def def = granular_scene_def(&s);
	def.gravity[0] = 9.81;
	def.gravity_axis[1] = -2;
	def.gravity_rate = 0.25 * pi;
	def.time_step = 1e-3;
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	granular_run(g, 2000); // a quarter turn, from x to z
	double gravity[3], v[3];
	sim_granular_get_gravity(g, gravity);
	CHECK_NEAR(gravity[0], 0, 1e-12);
	CHECK_NEAR(gravity[1], 0, 1e-12);
	CHECK_NEAR(gravity[2], 9.81, 1e-12);
	sim_granular_get_state(g, NULL, NULL, v, NULL);
	const double expected = 9.81 / (0.25 * pi);
	CHECK_NEAR(v[0], expected, 1e-2);
	CHECK_NEAR(v[2], expected, 1e-2);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}

TEST(granular, contacts_reach_across_a_periodic_border)
{
	// Head on through the border of x, from centres given outside the box.
	granular_scene s = granular_scene_make(2);
	s.radii[0] = s.radii[1] = 0.05;
	s.centres[0] = 7.9;
	s.centres[3] = -2.9;
	s.velocities[0] = 1;
	s.velocities[3] = -1;
	sim_granular_def def = granular_scene_def(&s);
	def.periodic[0] = true;
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	double x[6], v[6];
	sim_granular_get_state(g, x, NULL, NULL, NULL);
	CHECK_NEAR(x[0], 0.9, 1e-12);
	CHECK_NEAR(x[3], 0.1, 1e-12);
	int64_t contacts = 0;
	for (int i = 0; i < 200; i++)
		contacts += granular_run(g, 100).contacts;
	CHECK(contacts > 0);
	sim_granular_get_state(g, x, NULL, v, NULL);
	CHECK_NEAR(v[0], -1, 1e-4);
	CHECK_NEAR(v[3], 1, 1e-4);
	for (int k = 0; k < 6; k += 3)
		CHECK(x[k] >= 0 && x[k] < 1);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}

TEST(granular, contacts_are_counted_right_whatever_the_period)
{
	granular_scene s = granular_scene_make(2);
	s.radii[0] = s.radii[1] = 0.05;
	s.centres[3] = 0.08;
	for (int k = 0; k < 3; k++) {
		for (double period = 0.3; period < 2.5; period += 0.1) {
			sim_granular_def def = granular_scene_def(&s);
			def.periodic[k] = true;
			def.upper[k] = period;
			carom_context *context = granular_context(1);
			sim_granular *g = granular_create(context, &def);
			if (!CHECK_INT(granular_run(g, 1).contacts, 1))
				printf("axis %d, period %g\n", k, period);
			CHECK_INT(granular_run(g, 1).contacts, 1); // now of the pairs that were chosen
			sim_destroy_granular(g);
			carom_destroy_context(context);
		}
	}
	granular_scene_free(&s);
}

static void repel(const sim_granular_side *a, const sim_granular_side *b, const double normal[3], double overlap,
	double time_step, double history[3], double force[3], double torque[3], void *user)
{
	(void)torque;
	history[0] += time_step; // how long they have touched
	for (int k = 0; k < 3; k++)
		force[k] = 1e4 * overlap * normal[k];
	double *longest = user;
	if (history[0] > *longest)
		*longest = history[0];
	CHECK(a->id != b->id && a->mass > 0 && b->radius > 0);
}

TEST(granular, a_users_force_replaces_the_law)
{
	granular_scene s = head_on(0.01, 0.01);
	sim_granular_def def = granular_scene_def(&s);
	double law[6], own[6], longest = 0;
	def.time_step = 1e-6;
	run_head_on(&def, 10000, law);
	def.force = repel;
	def.force_user = &longest;
	run_head_on(&def, 10000, own);
	CHECK(memcmp(law, own, sizeof law) == 0); // the elastic spring is the same formula
	// Half a period of the spring.
	const double m = 2500 * 4.0 / 3 * pi * 1e-6 / 2;
	CHECK_NEAR(longest, pi * sqrt(m / 1e4), 3e-6);
	granular_scene_free(&s);
}

TEST(granular, coincident_centres_part)
{
	granular_scene s = granular_scene_make(2);
	s.radii[0] = s.radii[1] = 0.01;
	sim_granular_def def = granular_scene_def(&s);
	def.stability = SIM_GRANULAR_REPORT;
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	granular_run(g, 1000);
	double x[6];
	sim_granular_get_state(g, x, NULL, NULL, NULL);
	CHECK(x[0] > 0.005 && x[3] == -x[0]);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}

TEST(granular, contacts_are_counted_by_id)
{
	granular_scene s = granular_scene_heap(8, 0, 9);
	sim_granular_def def = granular_scene_def(&s);
	def.faces[2] = true;
	carom_context *context = granular_context(2);
	sim_granular *g = granular_create(context, &def);
	int32_t *counts = malloc((size_t)s.count * sizeof *counts);
	sim_error error;
	REQUIRE(sim_granular_count_contacts(g, counts, &error));
	int64_t sum = 0;
	for (int64_t i = 0; i < s.count; i++) {
		int32_t expected = 0;
		for (int64_t j = 0; j < s.count; j++) {
			double squared = 0;
			for (int k = 0; k < 3; k++)
				squared += (s.centres[3 * i + k] - s.centres[3 * j + k]) * (s.centres[3 * i + k] - s.centres[3 * j + k]);
			const double reach = s.radii[i] + s.radii[j];
			expected += i != j && squared <= reach * reach;
		}
		CHECK_INT(counts[i], expected);
		sum += expected;
	}
	CHECK(sum > 100);
	CHECK_INT(granular_run(g, 1).contacts, sum / 2);
	free(counts);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}

// A pair that begins inside its spring, without damping: grows without bound above the limit, and does not below.
static double swing(double factor, sim_granular_info *info)
{
	granular_scene s = granular_scene_make(2);
	s.radii[0] = s.radii[1] = 0.01;
	s.centres[0] = 0.0199999;
	sim_granular_def def = granular_scene_def(&s);
	def.spheres.stiffness = 1;
	def.stability_contacts = 1;
	def.stability = SIM_GRANULAR_REPORT;
	const double mass = def.density * 4.0 / 3 * pi * 1e-6;
	def.time_step = factor * 2 * sqrt(mass / 2);
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	*info = sim_granular_get_info(g);
	granular_run(g, 1);
	double x[6];
	sim_granular_get_state(g, x, NULL, NULL, NULL);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
	return fabs(x[0] - x[3] - 0.02);
}

TEST(granular, the_bound_of_stability_is_that_of_the_oscillator)
{
	sim_granular_info info;
	// One step takes the deviation d to d (1 - (w dt)^2): beyond -3 d at the bound of 2 / w it grows.
	CHECK_NEAR(swing(1, &info) / 1e-7, 3, 1e-4);
	CHECK_NEAR(info.time_step / info.step_limit, 1, 1e-12);
	CHECK_NEAR(info.step_limit, info.step_limit_pair, 0);
	swing(0.5, &info);
	CHECK_NEAR(info.time_step / info.step_limit, 0.5, 1e-12);
}

TEST(granular, a_step_above_the_bound_is_refused_or_reported)
{
	granular_scene s = head_on(0.01, 0.02);
	sim_granular_def def = granular_scene_def(&s);
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	const sim_granular_info info = sim_granular_get_info(g);
	sim_destroy_granular(g);
	// Six contacts of the lightest sphere: 2 sqrt(m / (12 k)).
	const double mass = def.density * 4.0 / 3 * pi * 1e-6;
	CHECK_NEAR(info.step_limit, 2 * sqrt(mass / (12 * 1e4)), 1e-12);
	CHECK_NEAR(info.step_limit_pair, 2 * sqrt(mass / (2 * 1e4)), 1e-12);
	sim_error error = { "" };
	def.time_step = 1.001 * info.step_limit;
	CHECK(sim_create_granular(context, &def, &error) == NULL);
	CHECK(strncmp(error.text, "time_step: ", 11) == 0);
	def.stability = SIM_GRANULAR_REPORT;
	g = granular_create(context, &def);
	CHECK(sim_granular_get_info(g).time_step > sim_granular_get_info(g).step_limit);
	sim_destroy_granular(g);
	// Damping lowers it, a stiff wall too; Hertz's goes by the overlap.
	def.spheres.restitution = 0.1;
	g = granular_create(context, &def);
	CHECK(sim_granular_get_info(g).step_limit < 0.8 * info.step_limit);
	sim_destroy_granular(g);
	def.spheres.restitution = 1;
	def.faces[0] = true;
	def.walls.stiffness = 1e7;
	g = granular_create(context, &def);
	CHECK_NEAR(sim_granular_get_info(g).step_limit, 2 * sqrt(mass / 1e7), 1e-12);
	sim_destroy_granular(g);
	def.faces[0] = false;
	def.spheres.normal = SIM_GRANULAR_HERTZ;
	g = granular_create(context, &def);
	const double k = 2 * 1e7 / (2 * (1 - 0.0625)) * sqrt(0.005 * 0.05 * 0.01);
	CHECK_NEAR(sim_granular_get_info(g).step_limit, 2 * sqrt(mass / (12 * k)), 1e-12);
	granular_run(g, 2000);
	CHECK(sim_granular_get_info(g).max_overlap > 0);
	CHECK(sim_granular_get_info(g).step_limit_met != sim_granular_get_info(g).step_limit);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}
