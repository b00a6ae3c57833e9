/// The same trajectory, bit for bit, whatever is chosen for speed: threads, instructions, method, skin, order in memory.
#include "sim/grains/granular.h"
#include "granular_fixture.h"

/// How a run is done.
typedef struct manner {
	int threads;
	carom_simd simd;
	carom_sphere_method method;
	double skin;
	bool keep_order;
} manner;

static uint64_t run_manner(sim_granular_def def, manner m, int64_t steps, sim_granular_info *info)
{
	def.method = m.method;
	def.skin = m.skin;
	def.keep_order = m.keep_order;
	carom_context_def context_def = carom_default_context_def();
	context_def.thread_count = m.threads;
	context_def.simd = m.simd;
	carom_context *context = NULL;
	REQUIRE(carom_create_context(&context_def, &context) == CAROM_SUCCESS);
	sim_granular *g = granular_create(context, &def);
	granular_run(g, steps);
	const uint64_t hash = granular_hash(g);
	const sim_granular_energy energy = granular_energy(g);
	uint64_t bits;
	memcpy(&bits, &energy.kinetic, sizeof bits);
	uint64_t elastic;
	memcpy(&elastic, &energy.elastic, sizeof elastic);
	*info = sim_granular_get_info(g);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	return hash ^ bits * 3 ^ elastic * 5;
}

/// Runs that are to have one result. ThreadSanitizer takes those on several threads, and fewer steps: each part of a step comes in
/// the first ones, and a list that is made again within them.
static void compare_manners(const sim_granular_def *def, int64_t steps)
{
	enum { RACE_STEPS = 20 };
	steps = TEST_SEEKS_RACES && steps > RACE_STEPS ? RACE_STEPS : steps;
	static const manner manners[] = {
		{ 2, CAROM_SIMD_AUTO, CAROM_SPHERES_GRID, 0.002, false },
		{ 3, CAROM_SIMD_AUTO, CAROM_SPHERES_AUTO, -1, false },
		{ 1, CAROM_SIMD_AUTO, CAROM_SPHERES_LEVELS, 0.0005, true },
		{ 2, CAROM_SIMD_AUTO, CAROM_SPHERES_TREE, 0.01, false },
		{ 3, CAROM_SIMD_AUTO, CAROM_SPHERES_RAYS, 0.004, true },
	};
	sim_granular_info first, info;
	const uint64_t expected =
		run_manner(*def, (manner){ TEST_LEAST_THREADS, CAROM_SIMD_SCALAR, CAROM_SPHERES_GRID, 0, true }, steps, &first);
	CHECK(first.max_overlap > 0);
	for (size_t k = 0; k < sizeof manners / sizeof *manners; k++) {
		if (manners[k].threads < TEST_LEAST_THREADS)
			continue;
		if (!CHECK(run_manner(*def, manners[k], steps, &info) == expected))
			printf("manner %zu\n", k);
		CHECK(info.list_builds < first.list_builds);
		CHECK(info.max_overlap == first.max_overlap);
	}
}

TEST(granular_determinism, springs_with_history_on_any_threads)
{
	granular_scene s = granular_scene_heap(17, 1, 5);
	const sim_granular_def def = granular_scene_rough(&s);
	compare_manners(&def, TEST_FEWER > 1 ? 60 : 150);
	granular_scene_free(&s);
}

TEST(granular_determinism, smooth_spheres_on_any_threads)
{
	granular_scene s = granular_scene_heap(17, 2, 6);
	sim_granular_def def = granular_scene_rough(&s);
	def.spheres.tangential = def.walls.tangential = SIM_GRANULAR_SMOOTH;
	def.spheres.rolling_friction = def.walls.rolling_friction = 0;
	compare_manners(&def, TEST_FEWER > 1 ? 60 : 150);
	def.spheres.stiffness_radius = 0.025;
	compare_manners(&def, 50);
	granular_scene_free(&s);
}

TEST(granular_determinism, mindlin_and_periodic_on_any_threads)
{
	granular_scene s = granular_scene_heap(17, 1, 7);
	sim_granular_def def = granular_scene_rough(&s);
	def.spheres.normal = SIM_GRANULAR_HERTZ;
	def.spheres.tangential = SIM_GRANULAR_MINDLIN;
	def.faces[0] = def.faces[1] = false;
	def.periodic[0] = true;
	def.upper[0] = 0.9;
	def.moving_count = 1;
	def.moving[0] =
		(sim_granular_wall){ .point = { 0, 0.02, 0 }, .normal = { 0, 1, 0.1 }, .amplitude = { 0, 0.01, 0 }, .frequency = 500 };
	compare_manners(&def, TEST_FEWER > 1 ? 40 : 100);
	def.spheres.tangential = SIM_GRANULAR_SMOOTH;
	def.spheres.rolling_friction = 0;
	def.walls = def.spheres;
	compare_manners(&def, 50);
	granular_scene_free(&s);
}

static void lean(const sim_granular_side *a, const sim_granular_side *b, const double normal[3], double overlap,
	double time_step, double history[3], double force[3], double torque[3], void *user)
{
	(void)user;
	for (int k = 0; k < 3; k++) {
		history[k] += time_step * (a->velocity[k] - b->velocity[k]);
		force[k] = 1e4 * overlap * normal[k] - 10 * history[k];
		torque[k] = -1e-4 * (a->angular_velocity[k] - b->angular_velocity[k]);
	}
}

TEST(granular_determinism, a_users_force_on_any_threads)
{
	granular_scene s = granular_scene_heap(17, 1, 8);
	sim_granular_def def = granular_scene_rough(&s);
	def.force = lean;
	compare_manners(&def, 60);
	granular_scene_free(&s);
}

TEST(granular_determinism, names_do_not_depend_on_the_order_in_memory)
{
	granular_scene s = granular_scene_heap(17, 0.1, 10);
	const sim_granular_def def = granular_scene_rough(&s);
	carom_context *context = granular_context(2);
	sim_granular *g = granular_create(context, &def);
	granular_run(g, 1);
	CHECK(sim_granular_get_info(g).sorts == 1);
	const sim_granular_view view = sim_granular_get_view(g);
	double *radii = malloc((size_t)s.count * sizeof *radii);
	bool *seen = calloc((size_t)s.count, sizeof *seen);
	sim_granular_get_state(g, NULL, radii, NULL, NULL);
	bool moved = false;
	for (int64_t i = 0; i < view.count; i++) {
		const uint32_t id = view.ids[i];
		REQUIRE(id < s.count && !seen[id]);
		seen[id] = true;
		moved |= id != i;
		CHECK(view.spheres[4 * i + 3] == s.radii[id] && radii[id] == s.radii[id]);
	}
	CHECK(moved);
	free(radii);
	free(seen);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}

// A thin cloud: most spheres meet nothing for long, some meet walls and each other.
static granular_scene thin_cloud(double speed)
{
	granular_scene s = granular_scene_heap(17, speed, 11);
	for (int64_t i = 0; i < s.count; i++)
		s.radii[i] *= 0.2;
	return s;
}

/// What is asked for on the way: nothing of it may change the motion.
typedef enum asking { ASK_NOTHING, ASK_VIEW, ASK_ENERGY, ASK_ALL_WAYS } asking;

static uint64_t run_asking(const sim_granular_def *def, asking asked, int64_t *contacts, int64_t *wall_contacts)
{
	carom_context *context = granular_context(2);
	sim_granular *g = granular_create(context, def);
	*contacts = *wall_contacts = 0;
	for (int step = 0; step < 300; step++) {
		const sim_granular_step done = granular_run(g, 1);
		*contacts += done.contacts;
		*wall_contacts += done.wall_contacts;
		if (asked == ASK_VIEW || (asked == ASK_ALL_WAYS && step % 7 == 3))
			sim_granular_get_view(g);
		if ((asked == ASK_ENERGY || asked == ASK_ALL_WAYS) && step % 11 == 5)
			granular_energy(g);
	}
	const uint64_t hash = granular_hash(g);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	return hash;
}

TEST(granular_determinism, free_spheres_that_lag_arrive_where_they_would_have_been)
{
	granular_scene s = thin_cloud(1);
	sim_granular_def def = granular_scene_rough(&s);
	def.time_step = 1e-4;
	def.stability = SIM_GRANULAR_REPORT;
	def.gravity_rate = 3;
	def.gravity_axis[0] = 1;
	for (int variant = TEST_SEEKS_RACES ? 2 : 0; variant < 3; variant++) {
		if (variant >= 1)
			def.spheres.tangential = def.walls.tangential = SIM_GRANULAR_SMOOTH;
		if (variant == 2) {
			def.periodic[0] = true;
			def.faces[0] = def.faces[1] = false;
		}
		// Without a skin there is a list in each step, and nobody lags.
		int64_t expected_contacts, expected_wall_contacts, contacts, wall_contacts;
		def.skin = 0;
		const uint64_t expected = run_asking(&def, ASK_NOTHING, &expected_contacts, &expected_wall_contacts);
		CHECK(expected_contacts > 0 && expected_wall_contacts > 0);
		def.skin = 0.01;
		for (asking asked = ASK_NOTHING; asked <= ASK_ALL_WAYS; asked++) {
			if (TEST_FEWER > 1 && (asked == ASK_VIEW || asked == ASK_ENERGY))
				continue; // all ways ask for both
			if (!CHECK(run_asking(&def, asked, &contacts, &wall_contacts) == expected))
				printf("variant %d, asking %d\n", variant, asked);
			CHECK_INT(wall_contacts, expected_wall_contacts);
			CHECK_INT(contacts, expected_contacts);
		}
	}
	granular_scene_free(&s);
}

TEST(granular_determinism, a_sphere_faster_than_foreseen_meets_its_wall_in_time)
{
	// In the first step no speed is known yet, so a sphere close to a wall counts as free.
	granular_scene s = granular_scene_make(1);
	s.radii[0] = 0.01;
	s.centres[1] = s.centres[2] = 0.5;
	s.velocities[0] = -1;
	sim_granular_def def = granular_scene_def(&s);
	def.faces[0] = true;
	for (int start = 0; start < 40; start += TEST_FEWER) {
		s.centres[0] = 0.01 + 1e-5 * (start + 0.5);
		int64_t expected_wall_contacts, contacts, wall_contacts;
		def.skin = 0;
		const uint64_t expected = run_asking(&def, ASK_NOTHING, &contacts, &expected_wall_contacts);
		CHECK(expected_wall_contacts > 0);
		def.skin = 0.01;
		CHECK(run_asking(&def, ASK_NOTHING, &contacts, &wall_contacts) == expected);
		CHECK_INT(wall_contacts, expected_wall_contacts);
	}
	granular_scene_free(&s);
}

TEST(granular_determinism, a_view_shows_free_spheres_where_they_are)
{
	granular_scene s = thin_cloud(0);
	sim_granular_def def = granular_scene_rough(&s);
	def.skin = 0.01;
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	double speed = 0, fall = 0;
	for (int step = 1; step <= 40; step++) {
		granular_run(g, 1);
		speed += def.time_step * def.gravity[1];
		fall += def.time_step * speed;
		if (step % 13 != 0)
			continue;
		const sim_granular_view view = sim_granular_get_view(g);
		for (int64_t i = 0; i < view.count; i++) {
			const double *start = s.centres + 3 * (int64_t)view.ids[i];
			CHECK_NEAR(view.spheres[4 * i + 1], start[1] + fall, 1e-12);
			CHECK_NEAR(view.motions[4 * i + 1], speed, 1e-12);
			CHECK(view.spheres[4 * i] == start[0]);
		}
	}
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}
