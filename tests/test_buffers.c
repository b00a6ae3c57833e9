/// Room for rays that is predicted, and the two layouts of the work: all of it must give the contacts of the plain form.
#include "moving.h"

/// Counts of some steps.
typedef struct sums {
	uint64_t hashes[64];
	int64_t backtracks;
	int64_t missed;
	int64_t rays; // full and iterative
	int64_t iterative;
	int64_t walk_steps;
	int64_t contacts;
} sums;

static void run(moving_scene *s, const carom_world_def *def, int steps, sums *to)
{
	carom_body_id ids[MOVING_BODIES];
	carom_world *world = moving_world(s, def, 0, ids);
	*to = (sums){ 0 };
	for (int step = 0; step < steps; step++) {
		moving_place(s, world, ids, step);
		fixture_step(world);
		const carom_stats stats = carom_world_stats(world);
		to->hashes[step] = carom_world_hash(world);
		to->backtracks += stats.backtracks;
		to->missed += stats.rays_missed;
		to->rays += stats.rays_full + stats.rays_iterative;
		to->iterative += stats.rays_iterative;
		to->walk_steps += stats.walk_steps;
		to->contacts += stats.contacts_found;
	}
	carom_destroy_world(world);
}

static int count_different(const sums *a, const sums *b, int steps)
{
	int count = 0;
	for (int step = 0; step < steps; step++)
		count += a->hashes[step] != b->hashes[step];
	return count;
}

/// Settings that change what the stages do.
static carom_world_def variant(int i)
{
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = i % 2 ? 0 : 8;
	def.temporal = i == 0 ? CAROM_TEMPORAL_NONE : CAROM_TEMPORAL_PREDICTIVE;
	fixture_lab(&def)->exit_distance_test = i == 2;
	def.speculative_distance = i == 3 ? 0.03 : 0;
	fixture_lab(&def)->displacement_threshold = i >= 4 ? 0.05 : 0;
	if (i == 4)
		def.temporal = CAROM_TEMPORAL_ITERATIVE;
	fixture_lab(&def)->lost_rays = i == 5 ? CAROM_LOST_DROP : CAROM_LOST_RECAST;
	fixture_lab(&def)->max_walk = i == 5 ? 2 : 32;
	fixture_lab(&def)->complete = i != 6;
	fixture_lab(&def)->max_depth_ratio = i == 6 ? 0 : 2;
	return def;
}
enum { VARIANTS = 7 };

TEST(buffers, naive_loop_gives_the_same)
{
	enum { STEPS = TEST_FEWER > 1 ? 5 : 20 };
	moving_scene s;
	moving_open(&s, fixture_context(1), MOVING_KINDS, true);
	for (int i = 0; i < VARIANTS; i++) {
		carom_world_def def = variant(i);
		sums lists, naive;
		run(&s, &def, STEPS, &lists);
		fixture_lab(&def)->stages = CAROM_STAGES_NAIVE;
		run(&s, &def, STEPS, &naive);
		CHECK_INT(count_different(&lists, &naive, STEPS), 0);
		CHECK_INT(naive.iterative, lists.iterative);
		CHECK(lists.contacts > 1000 && (lists.iterative > 0) == (i != 0));
	}
	moving_close(&s);
}

/// Meshes of which nothing is known but the surface, finely divided, with exit tests.
TEST(buffers, naive_loop_gives_the_same_without_grids)
{
	carom_context *context = fixture_context(1);
	const float heights[4] = { 0, 0, 0, 0 };
	const double spacing[2] = { 8, 8 };
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_torus(&soup, 100, 40, 0.3, 0.2);
	carom_mesh_def mesh_def = carom_default_mesh_def();
	mesh_def.vertices = (carom_strided){ soup.vertices, 0, CAROM_FLOAT32 };
	mesh_def.vertex_count = soup.vertex_count;
	mesh_def.triangles = soup.triangles;
	mesh_def.triangle_count = soup.triangle_count;
	mesh_def.grid_resolution = 0;
	carom_mesh *fine = NULL, *flat = NULL;
	REQUIRE(carom_create_mesh(context, &mesh_def, NULL, &fine) == CAROM_SUCCESS);
	REQUIRE(carom_create_height_field(context, 2, 2, heights, spacing, 1, &flat) == CAROM_SUCCESS);
	uint64_t hashes[2][12];
	for (int stages = 0; stages < 2; stages++) {
		carom_world_def def = carom_default_world_def();
		fixture_lab(&def)->stages = (carom_stages)stages;
		fixture_lab(&def)->exit_distance_test = true;
		carom_world *world = fixture_world(context, &def);
		fixture_add(world, fixture_of_mesh(flat), fixture_at(-4, -4, 0), CAROM_STATIC);
		carom_body_id ids[3];
		for (int i = 0; i < 3; i++)
			ids[i] = fixture_add(
				world, i == 2 ? fixture_box(1, 0.4, 0.3) : fixture_of_mesh(fine), fixture_at(i, 0, 0.3), CAROM_DYNAMIC);
		for (int step = 0; step < 12; step++) {
			for (int i = 0; i < 3; i++) {
				const carom_pose pose = { { 0.9 * i, 0.001 * step * i, 0.25 - 0.002 * step },
					fixture_turn((v3d){ 1, i, 0 }, 0.4 * i) };
				REQUIRE(carom_world_set_pose(world, ids[i], &pose) == CAROM_SUCCESS);
			}
			fixture_step(world);
			hashes[stages][step] = carom_world_hash(world);
			CHECK(carom_world_stats(world).colliding_pairs >= 3);
		}
		carom_destroy_world(world);
	}
	for (int step = 0; step < 12; step++)
		CHECK(hashes[0][step] == hashes[1][step]);
	carom_release_mesh(fine);
	carom_release_mesh(flat);
	carom_destroy_context(context);
}

TEST(buffers, backtracking_gives_the_same)
{
	enum { STEPS = TEST_FEWER > 1 ? 14 : 18 };
	moving_scene s;
	moving_open(&s, fixture_context(2), MOVING_KINDS, true);
	for (int i = 0; i < VARIANTS; i++) {
		sums exact, predicted;
		const carom_world_def exact_def = variant(i);
		run(&s, &exact_def, STEPS, &exact);
		// Sanitizers take one predictor for each variant.
		for (int predictor = TEST_FEWER > 1 ? i % 2 : 0; predictor < (TEST_FEWER > 1 ? i % 2 + 1 : 2); predictor++) {
			carom_world_def def = variant(i);
			fixture_lab(&def)->ray_buffers = CAROM_BUFFERS_BACKTRACK;
			fixture_lab(&def)->ray_predictor = (carom_ray_predictor)predictor;
			fixture_lab(&def)->buffer_confidence = 1;
			run(&s, &def, STEPS, &predicted);
			CHECK_INT(count_different(&exact, &predicted, STEPS), 0);
			CHECK_INT(exact.backtracks, 0);
			CHECK_INT(exact.missed, 0);
			CHECK(predicted.backtracks > 0 && predicted.backtracks <= STEPS);
			CHECK(predicted.missed >= predicted.backtracks);
			CHECK_INT(predicted.rays, exact.rays);
			CHECK_INT(predicted.walk_steps, exact.walk_steps); // what was thrown away is not walked
		}
	}
	moving_close(&s);
}

/// With room for everything nothing is left out, and nothing is done twice.
TEST(buffers, confidence_spares_the_second_run)
{
	enum { STEPS = 20 };
	moving_scene s;
	moving_open(&s, fixture_context(1), MOVING_SPIN, true);
	carom_world_def def = carom_default_world_def();
	sums exact, predicted;
	run(&s, &def, STEPS, &exact);
	for (int mode = CAROM_BUFFERS_IGNORE; mode <= CAROM_BUFFERS_BACKTRACK; mode++) {
		fixture_lab(&def)->ray_buffers = (carom_ray_buffers)mode;
		fixture_lab(&def)->buffer_confidence = 1e6;
		run(&s, &def, STEPS, &predicted);
		CHECK_INT(predicted.missed, 0);
		CHECK_INT(predicted.backtracks, 0);
		CHECK_INT(count_different(&exact, &predicted, STEPS), 0);
	}
	moving_close(&s);
}

/// Bodies that come to touch one after the other: pairs and rays grow with each step.
static int64_t count_missed_while_growing(
	carom_ray_predictor predictor, carom_ray_buffers buffers, carom_stats *first, int64_t *rays)
{
	enum { BODIES = 24 };
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_sphere_mesh(context, 0.5, 10);
	carom_world_def def = carom_default_world_def();
	def.temporal = CAROM_TEMPORAL_NONE;
	fixture_lab(&def)->complete = false; // which casts rays of its own
	fixture_lab(&def)->ray_buffers = buffers;
	fixture_lab(&def)->ray_predictor = predictor;
	fixture_lab(&def)->buffer_confidence = 1;
	carom_world *world = fixture_world(context, &def);
	int64_t missed = 0;
	*rays = 0;
	for (int i = 0; i < BODIES; i++) {
		fixture_add(world, fixture_of_mesh(mesh), fixture_at(0.9 * i, 0, 0), CAROM_DYNAMIC);
		fixture_step(world);
		const carom_stats stats = carom_world_stats(world);
		// No pair, then no ray to judge from: nothing is missed in the first two steps.
		if (i == 1)
			*first = stats;
		missed += stats.rays_missed;
		*rays += stats.rays_full;
		CHECK(buffers == CAROM_BUFFERS_EXACT ? stats.colliding_pairs == i : stats.colliding_pairs <= i);
	}
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	return missed;
}

TEST(buffers, ignoring_leaves_out_rays_and_counts_them)
{
	carom_stats first;
	int64_t rays_all, rays_pairs, rays_last;
	CHECK_INT(count_missed_while_growing(CAROM_PREDICTOR_PAIRS, CAROM_BUFFERS_EXACT, &first, &rays_all), 0);
	const int64_t by_last = count_missed_while_growing(CAROM_PREDICTOR_LAST, CAROM_BUFFERS_IGNORE, &first, &rays_last);
	CHECK_INT(first.rays_missed, 0);
	CHECK(first.rays_full > 0);
	const int64_t by_pairs = count_missed_while_growing(CAROM_PREDICTOR_PAIRS, CAROM_BUFFERS_IGNORE, &first, &rays_pairs);
	CHECK_INT(first.rays_missed, 0);
	CHECK(by_last > 0);
	CHECK(by_pairs < by_last); // Eq. 1 knows that the pairs grow, Eq. 2 does not
	CHECK_INT(rays_last + by_last, rays_all);
	CHECK_INT(rays_pairs + by_pairs, rays_all);
}

/// A scene that loses all its rays gets them back: a prediction of none would last for ever.
TEST(buffers, none_is_not_predicted_for_ever)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_sphere_mesh(context, 0.5, 10);
	carom_world_def def = carom_default_world_def();
	fixture_lab(&def)->ray_buffers = CAROM_BUFFERS_IGNORE;
	def.temporal = CAROM_TEMPORAL_NONE;
	carom_world *world = fixture_world(context, &def);
	fixture_add(world, fixture_of_mesh(mesh), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	const carom_body_id id = fixture_add(world, fixture_of_mesh(mesh), fixture_at(0.8, 0, 0), CAROM_DYNAMIC);
	static const double places[] = { 0.8, 20, 20, 0.8, 0.8 };
	for (int step = 0; step < 5; step++) {
		const carom_pose pose = fixture_at(places[step], 0, 0);
		REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
		fixture_step(world);
		const carom_stats stats = carom_world_stats(world);
		CHECK_INT(stats.rays_missed, 0);
		CHECK((stats.rays_full > 0) == (places[step] < 1));
		CHECK_INT(stats.colliding_pairs, places[step] < 1);
	}
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

/// What is left out is the same for any number of threads.
TEST(buffers, ignoring_does_not_depend_on_threads)
{
	enum { STEPS = 32 / TEST_FEWER };
	sums first;
	for (int threads = TEST_LEAST_THREADS; threads <= 3 && threads <= TEST_MOST_THREADS; threads++) {
		moving_scene s;
		moving_open(&s, fixture_context(threads), MOVING_KINDS, true);
		carom_world_def def = carom_default_world_def();
		fixture_lab(&def)->ray_buffers = CAROM_BUFFERS_IGNORE;
		fixture_lab(&def)->buffer_confidence = 1;
		sums now;
		run(&s, &def, STEPS, &now);
		CHECK(now.missed > 0);
		if (threads == TEST_LEAST_THREADS)
			first = now;
		CHECK_INT(count_different(&first, &now, STEPS), 0);
		CHECK_INT(now.missed, first.missed);
		moving_close(&s);
	}
}
