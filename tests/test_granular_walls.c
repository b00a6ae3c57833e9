/// Sums of the forces of spheres on walls: momentum is kept, a heap at rest presses with its weight, and the sums have the same bits
/// on any number of threads and ranks.
#include "sim/grains/granular_ranks.h"
#include "granular_fixture.h"
#include "rank_hub.h"

enum { COUNT = 150 };

typedef struct heap {
	double centres[3 * COUNT], radii[COUNT];
	sim_granular_def def;
} heap;

/// Spheres over the floor of a box, with a wall that swings and one that leans.
static void fill_heap(heap *h, double restitution)
{
	uint64_t seed = 4;
	for (int i = 0; i < COUNT; i++) {
		h->radii[i] = test_random_double(&seed, 0.03, 0.05);
		h->centres[3 * i] = 0.1 + 0.2 * (i % 5);
		h->centres[3 * i + 1] = 0.06 + 0.11 * (i / 25);
		h->centres[3 * i + 2] = 0.1 + 0.2 * (i / 5 % 5);
		for (int k = 0; k < 3; k += 2)
			h->centres[3 * i + k] += test_random_double(&seed, -0.02, 0.02);
	}
	h->def = sim_default_granular_def();
	h->def.count = COUNT;
	h->def.centres.data = h->centres;
	h->def.radii.data = h->radii;
	h->def.time_step = 1e-4;
	h->def.upper[1] = 2;
	h->def.spheres.stiffness = 5000;
	h->def.spheres.restitution = restitution;
	h->def.spheres.tangential = SIM_GRANULAR_SPRING;
	h->def.spheres.friction = 0.5;
	h->def.spheres.rolling_friction = 0.1;
	h->def.walls = h->def.spheres;
	for (int f = 0; f < 6; f++)
		h->def.faces[f] = f != 3;
	h->def.moving[0] = (sim_granular_wall){ .point = { 0.06, 0, 0 }, .normal = { 1, 0.3, 0 } };
	h->def.moving[1] =
		(sim_granular_wall){ .point = { 0.98, 0, 0 }, .normal = { -1, 0, 0 }, .amplitude = { 0.01, 0, 0 }, .frequency = 60 };
	h->def.moving_count = 2;
}

static void momentum_of(sim_granular *g, double momentum[6])
{
	sim_granular_frame f;
	REQUIRE(sim_take_granular_frame(g, &f));
	memset(momentum, 0, 6 * sizeof *momentum);
	for (int64_t i = 0; i < f.count; i++) {
		const double mass = 2500 * 4 / 3.0 * 3.14159265358979323846 * f.radii[i] * f.radii[i] * f.radii[i];
		const double *x = &f.centres[3 * i], *v = &f.velocities[3 * i], *w = &f.angular_velocities[3 * i];
		for (int k = 0; k < 3; k++) {
			const int a = (k + 1) % 3, b = (k + 2) % 3;
			momentum[k] += mass * v[k];
			momentum[3 + k] += mass * (x[a] * v[b] - x[b] * v[a]) + 0.4 * mass * f.radii[i] * f.radii[i] * w[k];
		}
	}
	sim_free_granular_frame(&f);
}

/// Momentum that is missing is what the walls have got; so is the angular momentum, about the origin.
TEST(granular_walls, get_the_momentum_that_spheres_lose)
{
	static heap h;
	fill_heap(&h, 0.6);
	carom_context *context = granular_context(2);
	sim_granular *g = granular_create(context, &h.def);
	sim_error error;
	REQUIRE(sim_granular_watch_walls(g, &error));
	double before[6], after[6];
	momentum_of(g, before);
	int64_t touches[SIM_GRANULAR_WALL_SUMS] = { 0 };
	const double mass = sim_granular_get_info(g).mass;
	for (int round = 0; round < 3; round++) {
		sim_granular_wall_sum walls[SIM_GRANULAR_WALL_SUMS];
		granular_run(g, 1000);
		REQUIRE(sim_granular_take_wall_sums(g, walls, &error));
		momentum_of(g, after);
		double total[3] = { 0, -9.81 * mass * 0.1, 0 };
		for (int i = 0; i < SIM_GRANULAR_WALL_SUMS; i++) {
			for (int k = 0; k < 3; k++)
				total[k] -= walls[i].impulse[k];
			CHECK(walls[i].touches > 0 || (walls[i].impulse[0] == 0 && walls[i].impulse[1] == 0));
		}
		for (int k = 0; k < 3; k++)
			CHECK_NEAR(after[k] - before[k], total[k], 1e-9 * mass);
		for (int i = 0; i < SIM_GRANULAR_WALL_SUMS; i++)
			touches[i] += walls[i].touches;
		memcpy(before, after, sizeof before);
	}
	CHECK(touches[2] > 0 && touches[6] > 0 && touches[7] > 0 && touches[3] == 0 && touches[8] == 0);
	sim_destroy_granular(g);
	carom_destroy_context(context);
}

/// Without gravity, in the middle of its box, so nothing but walls turns the whole.
TEST(granular_walls, get_the_angular_momentum_that_spheres_lose)
{
	static heap h;
	fill_heap(&h, 0.6);
	h.def.gravity[1] = 0;
	static double velocities[3 * COUNT];
	uint64_t seed = 8;
	for (int i = 0; i < 3 * COUNT; i++)
		velocities[i] = test_random_double(&seed, -1, 1);
	h.def.velocities.data = velocities;
	h.def.spheres.rolling_friction = 0; // couples of rolling need not be opposite in torque about the origin
	h.def.walls.rolling_friction = 0.1;
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &h.def);
	sim_error error;
	REQUIRE(sim_granular_watch_walls(g, &error));
	double before[6], after[6], got[3] = { 0 };
	momentum_of(g, before);
	sim_granular_wall_sum walls[SIM_GRANULAR_WALL_SUMS];
	granular_run(g, 2000);
	REQUIRE(sim_granular_take_wall_sums(g, walls, &error));
	momentum_of(g, after);
	double scale = 0;
	for (int i = 0; i < SIM_GRANULAR_WALL_SUMS; i++) {
		for (int k = 0; k < 3; k++) {
			got[k] += walls[i].angular_impulse[k];
			scale += fabs(walls[i].angular_impulse[k]);
		}
	}
	// The places of the forces move within a step: an error of the first order.
	for (int k = 0; k < 3; k++)
		CHECK_NEAR(after[3 + k] - before[3 + k], -got[k], 2e-3 * scale);
	CHECK(scale > 1);
	sim_destroy_granular(g);
	carom_destroy_context(context);
}

TEST(granular_walls, carry_the_weight_of_a_heap_at_rest)
{
	static heap h;
	fill_heap(&h, 0.1);
	h.def.moving_count = 0;
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &h.def);
	sim_error error;
	sim_granular_wall_sum walls[SIM_GRANULAR_WALL_SUMS];
	granular_run(g, 30000);
	REQUIRE(sim_granular_watch_walls(g, &error));
	granular_run(g, 1000);
	REQUIRE(sim_granular_take_wall_sums(g, walls, &error));
	double force = 0, weight = 9.81 * sim_granular_get_info(g).mass;
	for (int i = 0; i < 6; i++)
		force += walls[i].impulse[1] / (1000 * h.def.time_step);
	CHECK_NEAR(force, -weight, 1e-3 * weight);
	CHECK(-walls[2].impulse[1] / (1000 * h.def.time_step) > 0.7 * weight);
	sim_destroy_granular(g);
	carom_destroy_context(context);
}

/// A rank's work; alone it is the only one.
typedef struct wall_task {
	const heap *h;
	int threads;
	bool watch;
	sim_granular_wall_sum walls[SIM_GRANULAR_WALL_SUMS];
	uint64_t hash;
	sim_error error;
} wall_task;

static bool run_rank(const sim_ranks *ranks, void *user)
{
	wall_task *t = user;
	carom_context *context = granular_context(t->threads);
	sim_granular *g = sim_create_granular_share(context, &t->h->def, ranks, &t->error);
	bool done = g && (!t->watch || sim_granular_watch_walls(g, &t->error));
	for (int i = 0; i < 1200 && done; i++)
		done = sim_granular_advance(g, NULL, &t->error);
	done = done && (!t->watch || sim_granular_take_wall_sums(g, t->walls, &t->error)) &&
		sim_granular_hash_ranks(g, &t->hash, &t->error);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	return done;
}

TEST(granular_walls, have_equal_sums_on_any_number_of_threads_and_ranks)
{
	static heap h;
	static wall_task tasks[4];
	sim_granular_wall_sum wanted[SIM_GRANULAR_WALL_SUMS];
	uint64_t hash = 0;
	fill_heap(&h, 0.6);
	for (int turn = 0; turn < 4; turn++) {
		const int ranks = turn < 2 ? 1 : turn, threads = turn == 1 ? 3 : 1;
		void *users[4];
		for (int r = 0; r < ranks; r++) {
			tasks[r] = (wall_task){ .h = &h, .threads = threads, .watch = true };
			users[r] = &tasks[r];
		}
		CHECK_INT(rank_hub_run(ranks, run_rank, users), 0);
		if (turn == 0) {
			memcpy(wanted, tasks[0].walls, sizeof wanted);
			hash = tasks[0].hash;
			CHECK(wanted[2].impulse[1] < 0);
		}
		for (int r = 0; r < ranks; r++) {
			CHECK(memcmp(tasks[r].walls, wanted, sizeof wanted) == 0);
			CHECK(tasks[r].hash == hash);
		}
	}
	// Whoever does not watch has the same trajectory.
	void *users[1] = { &tasks[0] };
	tasks[0] = (wall_task){ .h = &h, .threads = 1 };
	CHECK_INT(rank_hub_run(1, run_rank, users), 0);
	CHECK(tasks[0].hash == hash);
}

TEST(granular_walls, must_be_watched_before_sums_are_taken)
{
	static heap h;
	fill_heap(&h, 0.6);
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &h.def);
	sim_error error;
	sim_granular_wall_sum walls[SIM_GRANULAR_WALL_SUMS];
	CHECK(!sim_granular_take_wall_sums(g, walls, &error));
	CHECK_STR(error.text, "nobody watches the walls (sim_granular_watch_walls)");
	sim_destroy_granular(g);
	carom_destroy_context(context);
}
