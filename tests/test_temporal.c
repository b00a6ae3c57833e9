/// Pairs that continue from their last full step, against a world that works out every pair again: no colliding pair may ever be lost.
#include "moving.h"

#include "frame/temporal.h"

/// All contacts, so that what is compared does not depend on which are kept.
static carom_world_def all_contacts(void)
{
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	return def;
}

/// What two worlds did over some steps.
typedef struct outcome {
	moving_difference difference;
	int64_t pairs_full;
	int64_t pairs_iterative;
	int64_t pairs_apart;
	int64_t rays_iterative;
	int64_t rays_lost;
	int64_t rays_recast;
	int64_t rays_full;
} outcome;

/// Step a world of a definition and one that forgets nothing because it remembers nothing.
static outcome run_against_full(moving_kind kind, bool scenery, const carom_world_def *def, int steps)
{
	moving_scene s;
	moving_open(&s, fixture_context(2), kind, scenery);
	carom_world_def full_def = *def;
	full_def.temporal = CAROM_TEMPORAL_NONE;
	carom_body_id ids[MOVING_BODIES];
	carom_world *world = moving_world(&s, def, 0, ids), *full = moving_world(&s, &full_def, 0, NULL);
	outcome o = { 0 };
	for (int step = 0; step < steps; step++) {
		moving_place(&s, world, ids, step);
		moving_place(&s, full, ids, step);
		fixture_step(world);
		fixture_step(full);
		fixture_check_views(world);
		const int64_t before = o.difference.pairs_missing + o.difference.pairs_added;
		moving_compare(full, world, &o.difference);
		CHECK_INT(o.difference.pairs_missing + o.difference.pairs_added, before);
		const carom_stats stats = carom_world_stats(world);
		o.pairs_full += stats.pairs_full;
		o.pairs_iterative += stats.pairs_iterative;
		o.pairs_apart += stats.pairs_apart;
		o.rays_iterative += stats.rays_iterative;
		o.rays_lost += stats.rays_lost;
		o.rays_recast += stats.rays_recast;
		o.rays_full += stats.rays_full;
	}
	carom_destroy_world(world);
	carom_destroy_world(full);
	moving_close(&s);
	return o;
}

/// With prediction, and lost rays cast again: at most one contact in a thousand is missing, and none deeper than the bodies may have moved.
static void check_contacts(const outcome *o, double threshold)
{
	CHECK(o->difference.pairs > 0);
	CHECK(1000 * o->difference.contacts_missing <= o->difference.contacts);
	CHECK(o->difference.deepest_missing <= threshold);
}

// The largest threshold that is chosen for the largest diagonal of two moving bodies (cr_choose_threshold).
static const double CHOSEN_THRESHOLD = 0.025 * 4;

// ---- No pair is lost, few contacts are ----

static void run_kind(moving_kind kind)
{
	const carom_world_def def = all_contacts();
	const outcome o = run_against_full(kind, true, &def, TEST_FEWER > 1 ? 37 : 60);
	check_contacts(&o, CHOSEN_THRESHOLD);
	CHECK(kind == MOVING_FLY || o.pairs_iterative > 0);
}

TEST(temporal, rest_finds_all_pairs) { run_kind(MOVING_REST); }
TEST(temporal, jitter_finds_all_pairs) { run_kind(MOVING_JITTER); }
TEST(temporal, settling_finds_all_pairs) { run_kind(MOVING_SETTLE); }
TEST(temporal, sliding_finds_all_pairs) { run_kind(MOVING_SLIDE); }
TEST(temporal, rolling_finds_all_pairs) { run_kind(MOVING_ROLL); }
TEST(temporal, spinning_finds_all_pairs) { run_kind(MOVING_SPIN); }
TEST(temporal, leaving_and_coming_back_finds_all_pairs) { run_kind(MOVING_RETURN); }
TEST(temporal, flying_finds_all_pairs) { run_kind(MOVING_FLY); }
TEST(temporal, teleports_find_all_pairs) { run_kind(MOVING_TELEPORT); }

TEST(temporal, given_thresholds_find_all_pairs)
{
	static const double thresholds[] = { 0.001, 0.01, 0.05, 0.2 };
	for (int i = 0; i < 4; i++) {
		carom_world_def def = all_contacts();
		fixture_lab(&def)->displacement_threshold = thresholds[i];
		const outcome o = run_against_full(MOVING_KINDS, true, &def, 40 / TEST_FEWER);
		check_contacts(&o, thresholds[i]);
		CHECK(o.pairs_iterative > 0 && o.pairs_full > 0);
	}
}

TEST(temporal, given_extensions_find_all_pairs)
{
	static const double extensions[] = { 0.002, 0.03 };
	for (int i = 0; i < 2; i++) {
		carom_world_def def = all_contacts();
		fixture_lab(&def)->distance_extension = extensions[i];
		fixture_lab(&def)->displacement_threshold = i == 0 ? 0 : 0.02;
		const outcome o = run_against_full(MOVING_KINDS, true, &def, 40 / TEST_FEWER);
		check_contacts(&o, extensions[i]);
		CHECK(o.pairs_iterative > 0);
	}
}

TEST(temporal, exit_tests_find_all_pairs)
{
	for (int i = 0; i < 2; i++) {
		carom_world_def def = all_contacts();
		fixture_lab(&def)->exit_distance_test = true;
		fixture_lab(&def)->displacement_threshold = i == 0 ? 0 : 0.05;
		const outcome o = run_against_full(MOVING_KINDS, true, &def, 60 / TEST_FEWER);
		check_contacts(&o, CHOSEN_THRESHOLD);
	}
}

TEST(temporal, speculative_worlds_find_all_pairs)
{
	for (int i = 0; i < 2; i++) {
		carom_world_def def = all_contacts();
		def.speculative_distance = 0.04;
		fixture_lab(&def)->displacement_threshold = i == 0 ? 0 : 0.05;
		const outcome o = run_against_full(MOVING_KINDS, true, &def, 60 / TEST_FEWER);
		check_contacts(&o, CHOSEN_THRESHOLD);
	}
}

TEST(temporal, plain_depths_find_all_pairs)
{
	carom_world_def def = all_contacts();
	fixture_lab(&def)->max_depth_ratio = 0;
	def.contact_normal = CAROM_NORMAL_TRIANGLE;
	const outcome o = run_against_full(MOVING_KINDS, true, &def, 60 / TEST_FEWER);
	// Depth here is the length of a ray, which does not tell how far the vertex went in.
	CHECK(1000 * o.difference.contacts_missing <= o.difference.contacts);
}

TEST(temporal, all_ray_methods_find_all_pairs)
{
	static const carom_ray_method methods[] = { CAROM_RAYS_BINARY, CAROM_RAYS_BASIC, CAROM_RAYS_MOLLER_TRUMBORE };
	for (int i = 0; i < 3; i++) {
		carom_world_def def = all_contacts();
		fixture_lab(&def)->ray_method = methods[i];
		const outcome o = run_against_full(MOVING_KINDS, methods[i] == CAROM_RAYS_BINARY, &def, 24 / TEST_FEWER);
		check_contacts(&o, CHOSEN_THRESHOLD);
	}
}

/// Whatever becomes of the contacts, the pairs are all there.
TEST(temporal, no_setting_loses_a_pair)
{
	for (int i = 0; i < 8; i++) {
		carom_world_def def = all_contacts();
		def.temporal = i & 1 ? CAROM_TEMPORAL_PREDICTIVE : CAROM_TEMPORAL_ITERATIVE;
		fixture_lab(&def)->lost_rays = i & 2 ? CAROM_LOST_DROP : CAROM_LOST_RECAST;
		fixture_lab(&def)->max_walk = i & 4 ? 1 : 32;
		fixture_lab(&def)->displacement_threshold = 0.1;
		const outcome o = run_against_full(MOVING_KINDS, true, &def, 28 / TEST_FEWER);
		CHECK(o.pairs_iterative > 0);
	}
}

// ---- A vertex that comes in between two full steps (Lehericey 2013, Figure 2.4) ----

/// A cube on its corner sinks into the top of another: 10 mm above it, then 10 and 50 mm deep. colliding: pairs in each step.
static void run_sinking_corner(bool predict, int colliding[3])
{
	static const double heights[] = { 0.01, -0.01, -0.05 };
	carom_context *context = fixture_context(1);
	// A slab with a post at its rim, so that the boxes overlap from the first step on.
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_box(&soup, (v3d){ 0, 0, 0 }, 1, 1, 1);
	fixture_soup_box(&soup, (v3d){ 1.5, 0, 0 }, 0.1, 0.1, 2);
	carom_mesh *big = fixture_mesh(context, &soup), *small = fixture_box_mesh(context, 0.2, 0.2, 0.2);
	carom_world_def def = all_contacts();
	fixture_lab(&def)->complete = false;
	def.temporal = predict ? CAROM_TEMPORAL_PREDICTIVE : CAROM_TEMPORAL_ITERATIVE;
	fixture_lab(&def)->displacement_threshold = 0.05;
	carom_world *world = fixture_world(context, &def);
	fixture_add(world, fixture_of_mesh(big), fixture_at(0, 0, -1), CAROM_STATIC);
	// The diagonal (1, 1, 1) turned downward.
	carom_pose pose = { { 0.13, 0.07, 0 }, fixture_turn((v3d){ -1, 1, 0 }, FIXTURE_PI - acos(1 / sqrt(3))) };
	const double reach = -carom_rotate(pose.orientation, (carom_vec3){ 0.2, 0.2, 0.2 }).z;
	REQUIRE(fabs(reach - 0.2 * sqrt(3)) < 1e-9);
	const carom_body_id id = fixture_add(world, fixture_of_mesh(small), pose, CAROM_DYNAMIC);
	for (int step = 0; step < 3; step++) {
		pose.position.z = reach + heights[step];
		REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
		fixture_step(world);
		colliding[step] = carom_world_pairs(world).count;
		if (colliding[step])
			CHECK_NEAR(carom_world_contacts(world).data[0].depth, -heights[step], 1e-5);
	}
	carom_destroy_world(world);
	carom_release_mesh(big);
	carom_release_mesh(small);
	carom_destroy_context(context);
}

TEST(temporal, prediction_takes_away_the_delay)
{
	int colliding[3];
	run_sinking_corner(false, colliding);
	CHECK_INT(colliding[0], 0);
	CHECK_INT(colliding[1], 0);
	CHECK_INT(colliding[2], 1);
	run_sinking_corner(true, colliding);
	CHECK_INT(colliding[0], 0);
	CHECK_INT(colliding[1], 1);
	CHECK_INT(colliding[2], 1);
}

// ---- Bodies that come wholly inside another between two full steps ----

/// A ball beside the tube of a ring, then wholly inside it, then farther in. Returns the steps in which it was found, a bit each.
static unsigned run_swallowed_ball(bool predict)
{
	carom_context *context = fixture_context(1);
	carom_mesh *ring = fixture_torus_mesh(context, 32, 16, 0.4, 0), *ball = fixture_sphere_mesh(context, 0.05, 8);
	carom_world_def def = all_contacts();
	def.temporal = predict ? CAROM_TEMPORAL_PREDICTIVE : CAROM_TEMPORAL_ITERATIVE;
	fixture_lab(&def)->displacement_threshold = 1;
	carom_world *world = fixture_world(context, &def);
	fixture_add(world, fixture_of_mesh(ring), fixture_at(0, 0, 0), CAROM_STATIC);
	const carom_body_id id = fixture_add(world, fixture_of_mesh(ball), fixture_at(0.5, 0, 0), CAROM_DYNAMIC);
	static const double places[] = { 0.5, 0.9, 1.0 };
	unsigned found = 0;
	for (unsigned step = 0; step < 3; step++) {
		const carom_pose pose = fixture_at(places[step], 0, 0);
		REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
		fixture_step(world);
		found |= (unsigned)carom_world_pairs(world).count << step;
	}
	carom_destroy_world(world);
	carom_release_mesh(ring);
	carom_release_mesh(ball);
	carom_destroy_context(context);
	return found;
}

/// Of a body in one piece any vertex tells.
TEST(temporal, swallowed_bodies_are_found_at_once)
{
	CHECK_INT(run_swallowed_ball(false), 6);
	CHECK_INT(run_swallowed_ball(true), 6);
}

/// A body of two balls, far apart: one of them is above a slab, then wholly inside it, 0.5 lower, then 0.2 lower still, which is
/// more than the threshold. Returns the steps in which it was found, a bit each.
static unsigned run_swallowed_piece(bool predict, bool turned)
{
	carom_context *context = fixture_context(1);
	// A post, so that the boxes overlap from the first step on.
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_box(&soup, (v3d){ 0, 0, -1 }, 1, 1, 1);
	fixture_soup_box(&soup, (v3d){ 0.9, 0, 4 }, 0.05, 0.05, 4.5);
	carom_mesh *slab = fixture_mesh(context, &soup);
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_sphere(&soup, (v3d){ 0, 0, 0 }, 0.1, 8);
	fixture_soup_sphere(&soup, (v3d){ 0, 0, 6 }, 0.1, 8);
	carom_mesh *balls = fixture_mesh(context, &soup);
	carom_world_def def = all_contacts();
	def.temporal = predict ? CAROM_TEMPORAL_PREDICTIVE : CAROM_TEMPORAL_ITERATIVE;
	fixture_lab(&def)->displacement_threshold = 0.6;
	carom_world *world = fixture_world(context, &def);
	fixture_add(world, fixture_of_mesh(slab), fixture_at(0, 0, 0), CAROM_STATIC);
	carom_pose pose = { { 0, 0, 0 }, fixture_turn((v3d){ 1, 0, 0 }, turned ? FIXTURE_PI : 0) };
	const carom_body_id id = fixture_add(world, fixture_of_mesh(balls), pose, CAROM_DYNAMIC);
	static const double heights[] = { 0.2, -0.3, -0.5 };
	unsigned found = 0;
	for (unsigned step = 0; step < 3; step++) {
		pose.position.z = heights[step] + (turned ? 6 : 0);
		REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
		fixture_step(world);
		CHECK_INT(carom_world_stats(world).pairs_iterative, step == 1);
		found |= (unsigned)carom_world_pairs(world).count << step;
	}
	carom_destroy_world(world);
	carom_release_mesh(slab);
	carom_release_mesh(balls);
	carom_destroy_context(context);
	return found;
}

/// One vertex of a body is asked. Of two pieces it tells of the one that has it; the other is seen by its watched vertices, which
/// there are with prediction, or else by the next full step.
TEST(temporal, one_vertex_speaks_for_its_piece_alone)
{
	const unsigned without[2] = { run_swallowed_piece(false, false), run_swallowed_piece(false, true) };
	CHECK((without[0] == 6 && without[1] == 4) || (without[0] == 4 && without[1] == 6));
	CHECK_INT(run_swallowed_piece(true, false), 6);
	CHECK_INT(run_swallowed_piece(true, true), 6);
}

// ---- The bound on the motion ----

static cr_body body_at(carom_pose pose, const double half[3])
{
	cr_body body = { .pose = pose };
	const double centre[3] = { pose.position.x, pose.position.y, pose.position.z };
	for (int k = 0; k < 3; k++) {
		body.lower[k] = centre[k] - half[k];
		body.upper[k] = centre[k] + half[k];
	}
	return body;
}

static carom_pose moved(carom_pose pose, uint64_t *seed, double shift, double angle)
{
	const v3d axis = { test_random_double(seed, -1, 1), test_random_double(seed, -1, 1), test_random_double(seed, 0.1, 1) };
	carom_pose to = fixture_compose(pose, (carom_pose){ { 0, 0, 0 }, fixture_turn(axis, angle) });
	to.position.x += test_random_double(seed, -shift, shift);
	to.position.y += test_random_double(seed, -shift, shift);
	to.position.z += test_random_double(seed, -shift, shift);
	return to;
}

/// The relative pose of two bodies, from the poses alone.
static cr_reference reference_of(carom_pose a, carom_pose b)
{
	const m3d of_a = m3d_from_quat(a.orientation), of_b = m3d_from_quat(b.orientation);
	return (
		cr_reference){ m3d_transpose_mul(&of_a, &of_b), m3d_tmul(&of_a, v3d_sub(b.position, a.position)), { 0, 0 }, { 0, 0 } };
}

/// How far apart two points that now coincide at p were at the reference.
static double true_displacement(const cr_body *a, const cr_body *b, const cr_reference *then, v3d p)
{
	const v3d of_a = cr_point_to_body(a, p), of_b = cr_point_to_body(b, p);
	return v3d_length(v3d_sub(of_a, v3d_add(m3d_mul(&then->rotation, of_b), then->translation)));
}

static v3d point_in_region(const cr_body *a, const cr_body *b, uint64_t *seed, bool corner)
{
	double p[3];
	for (int k = 0; k < 3; k++) {
		const double lower = fmax(a->lower[k], b->lower[k]), upper = fmin(a->upper[k], b->upper[k]);
		p[k] = corner ? (test_random(seed) & 1 ? lower : upper) : test_random_double(seed, lower, upper);
	}
	return (v3d){ p[0], p[1], p[2] };
}

TEST(temporal, displacement_is_never_exceeded)
{
	static const double angles[] = { 0, 1e-6, 1e-3, 0.1, 1, 3.1 };
	uint64_t seed = 21;
	double tightest = 0;
	for (int i = 0; i < 4000; i++) {
		const carom_pose a0 = fixture_random_pose(&seed, 1), b0 = fixture_random_pose(&seed, 1);
		const double shift = i % 3 ? test_random_double(&seed, 0, 0.5) : 0, half_a[3] = { 1.2, 1.5, 2 },
					 half_b[3] = { 2, 1.3, 1.1 };
		const cr_body a = body_at(moved(a0, &seed, shift, angles[i % 6]), half_a);
		const cr_body b = body_at(moved(b0, &seed, shift, i % 5 ? angles[i / 6 % 6] : 0), half_b);
		const cr_shared_region region = cr_find_shared_region(&a, &b);
		if (region.radius == 0 || !cr_boxes_overlap(&a, &b))
			continue;
		cr_reference then = reference_of(a0, b0), now = reference_of(a.pose, b.pose);
		const double bound = cr_displacement(&a, &b, &region, &now.rotation, &then, INFINITY);
		for (int k = 0; k < 20; k++) {
			const v3d p = point_in_region(&a, &b, &seed, k % 2);
			const double d = true_displacement(&a, &b, &then, p);
			CHECK(d <= bound + 1e-12);
			if (bound > 1e-3)
				tightest = fmax(tightest, d / bound);
		}
	}
	CHECK(tightest > 0.95); // and it is no wild guess
}

/// Where the first bound is more than what is allowed, the answer is the motion of a corner: never exceeded, reached at one of them.
TEST(temporal, displacement_beyond_what_is_allowed_is_that_of_a_corner)
{
	uint64_t seed = 24;
	int less = 0;
	for (int i = 0; i < 2000; i++) {
		const carom_pose a0 = fixture_random_pose(&seed, 1), b0 = fixture_random_pose(&seed, 1);
		const double half_a[3] = { 1.2, 1.5, 2 }, half_b[3] = { 2, 1.3, 1.1 };
		const cr_body a = body_at(moved(a0, &seed, 0.2, i % 3 ? 0.3 : 0), half_a);
		const cr_body b = body_at(moved(b0, &seed, i % 5 ? 0.2 : 0, i % 4 ? 0.3 : 0), half_b);
		if (!cr_boxes_overlap(&a, &b))
			continue;
		const cr_shared_region region = cr_find_shared_region(&a, &b);
		cr_reference then = reference_of(a0, b0);
		const cr_reference now = reference_of(a.pose, b.pose);
		const double first = cr_displacement(&a, &b, &region, &now.rotation, &then, INFINITY);
		const double bound = cr_displacement(&a, &b, &region, &now.rotation, &then, 0.999 * first);
		double farthest = 0;
		for (int k = 0; k < 200; k++)
			farthest = fmax(farthest, true_displacement(&a, &b, &then, point_in_region(&a, &b, &seed, k % 4 > 0)));
		CHECK(farthest <= bound + 1e-12);
		CHECK_NEAR(bound, farthest, 1e-12);
		less += bound < 0.8 * first;
	}
	CHECK(less > 100);
}

/// The paper bounds the motion by the way of the centres plus angle * maxRadius, the distance of the vertex farthest out. Where two boxes share a
/// corner a body's own points go that far, but points of the other one at that place do not stay within it.
TEST(temporal, displacement_of_box_corners_exceeds_the_paper)
{
	const double radius = 1, half[3] = { radius, radius, radius };
	const carom_pose a0 = fixture_at(0, 0, 0), b0 = fixture_at(0.1, 0.1, 0.1);
	for (int i = 1; i <= 20; i++) {
		const double angle = 0.05 * i;
		carom_pose turned = b0;
		turned.orientation = fixture_turn((v3d){ 1, -1, 0 }, angle); // across the boxes' diagonal
		const cr_body a = body_at(a0, half), b = body_at(turned, half);
		const cr_shared_region region = cr_find_shared_region(&a, &b);
		const cr_reference then = reference_of(a0, b0), now = reference_of(a0, turned);
		const v3d corner = { 1, 1, 1 };
		const double d = true_displacement(&a, &b, &then, corner), paper = angle * radius;
		CHECK(d > paper);
		CHECK(d <= cr_displacement(&a, &b, &region, &now.rotation, &then, 0) + 1e-12);
	}
}

TEST(temporal, displacement_of_a_turn_is_its_chord)
{
	const double half[3] = { 1, 1, 1 };
	for (int i = 0; i <= 31; i++) {
		const double angle = 0.1 * i;
		carom_pose turned = carom_pose_identity();
		turned.orientation = fixture_turn((v3d){ 1, 2, 3 }, angle);
		const cr_body a = body_at(carom_pose_identity(), half), b = body_at(turned, half);
		const cr_shared_region region = cr_find_shared_region(&a, &b);
		CHECK_NEAR(region.radius, sqrt(3), 1e-12);
		const cr_reference then = reference_of(a.pose, carom_pose_identity()), now = reference_of(a.pose, turned);
		const double bound = cr_displacement(&a, &b, &region, &now.rotation, &then, 0);
		CHECK_NEAR(bound, 2 * sin(angle / 2) * sqrt(3), 1e-12);
		CHECK(bound <= angle * sqrt(3) + 1e-12); // the arc
	}
}

/// A part of b is bounded by its own corners: never exceeded, reached at one of them.
TEST(temporal, displacement_of_a_part_is_that_of_a_corner)
{
	uint64_t seed = 22;
	for (int i = 0; i < 2000; i++) {
		const carom_pose a0 = fixture_random_pose(&seed, 1), b0 = fixture_random_pose(&seed, 1);
		const carom_pose b1 = moved(b0, &seed, i % 3 ? 0.2 : 0, i % 4 ? 0.3 : 0);
		const cr_reference then = reference_of(a0, b0), now = reference_of(a0, b1);
		const cr_part part = { { test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1),
								   test_random_double(&seed, -1, 1) },
			{ test_random_double(&seed, 0, 1), test_random_double(&seed, 0, 1), test_random_double(&seed, 0, 1) } };
		const double bound = cr_part_displacement(&part, &now, &then);
		double farthest = 0;
		for (int k = 0; k < 40; k++) {
			// Corners first, then points inside.
			double p[3];
			for (int x = 0; x < 3; x++) {
				const double half = x == 0 ? part.half.x : x == 1 ? part.half.y : part.half.z;
				p[x] = v3d_get(part.middle, x) + half * (k < 8 ? (k >> x & 1 ? 1 : -1) : test_random_double(&seed, -1, 1));
			}
			const v3d point = { p[0], p[1], p[2] };
			const v3d here = v3d_add(m3d_mul(&now.rotation, point), now.translation);
			const v3d there = v3d_add(m3d_mul(&then.rotation, point), then.translation);
			farthest = fmax(farthest, v3d_length(v3d_sub(here, there)));
		}
		CHECK_NEAR(bound, farthest, 1e-12);
	}
}

/// What a body's path grows by in a step is never less than the way of any of its points.
TEST(temporal, paths_are_never_exceeded)
{
	uint64_t seed = 23;
	double tightest = 0;
	for (int i = 0; i < 2000; i++) {
		const carom_pose last = fixture_random_pose(&seed, 1), now = moved(last, &seed, i % 3 ? 0.2 : 0, i % 4 ? 0.3 : 0);
		cr_course course = { .last = last };
		cr_body body = { .pose = now, .course = &course };
		const m3d rotation = m3d_from_quat(now.orientation), last_rotation = m3d_from_quat(last.orientation);
		course.turn = cr_turn(&rotation, &last_rotation);
		cr_collider collider = { .triangle_count = 1 };
		for (int x = 0; x < 3; x++) {
			collider.lower[x] = (float)test_random_double(&seed, -2, 0.5);
			collider.upper[x] = collider.lower[x] + (float)test_random_double(&seed, 0.2, 2);
		}
		body.shape.family = CR_FAMILY_MESH;
		body.shape.collider = &collider;
		const double bound = cr_step_length(&body);
		for (int k = 0; k < 8; k++) {
			double p[3];
			for (int x = 0; x < 3; x++)
				p[x] = k >> x & 1 ? collider.upper[x] : collider.lower[x];
			const v3d point = { p[0], p[1], p[2] };
			const v3d here = v3d_add(m3d_mul(&rotation, point), now.position);
			const v3d there = v3d_add(m3d_mul(&last_rotation, point), last.position);
			const double way = v3d_length(v3d_sub(here, there));
			CHECK(way <= bound + 1e-12);
			if (bound > 1e-3)
				tightest = fmax(tightest, way / bound);
		}
	}
	CHECK(tightest > 0.95);
}

/// After a very long way a step may be too short to change the sum of all: still no pair is lost.
TEST(temporal, short_steps_after_a_long_way_count)
{
	carom_context *context = fixture_context(1);
	carom_mesh *ball = fixture_sphere_mesh(context, 0.5, 8);
	carom_world_def def = all_contacts();
	carom_world *worlds[2];
	carom_body_id ids[2];
	for (int i = 0; i < 2; i++) {
		def.temporal = i == 0 ? CAROM_TEMPORAL_PREDICTIVE : CAROM_TEMPORAL_NONE;
		worlds[i] = fixture_world(context, &def);
		fixture_add(worlds[i], fixture_of_mesh(ball), fixture_at(0, 0, 0), CAROM_STATIC);
		ids[i] = fixture_add(worlds[i], fixture_of_mesh(ball), fixture_at(5e11, 0, 0), CAROM_DYNAMIC);
		fixture_step(worlds[i]);
	}
	int found = 0, apart = 0;
	for (int step = 0; step <= 600; step++) {
		const double along = 0.58 - 5e-5 * step;
		const carom_pose pose = fixture_at(along, along, along);
		for (int i = 0; i < 2; i++) {
			REQUIRE(carom_world_set_pose(worlds[i], ids[i], &pose) == CAROM_SUCCESS);
			fixture_step(worlds[i]);
		}
		CHECK_INT(carom_world_pairs(worlds[0]).count, carom_world_pairs(worlds[1]).count);
		found += (int)carom_world_pairs(worlds[1]).count;
		apart += carom_world_stats(worlds[0]).pairs_apart;
	}
	CHECK(found > 50 && apart > 50);
	carom_destroy_world(worlds[0]);
	carom_destroy_world(worlds[1]);
	carom_release_mesh(ball);
	carom_destroy_context(context);
}

// ---- Walks that get lost ----

TEST(temporal, samples_known_outside_are_not_cast)
{
	const carom_world_def def = all_contacts();
	// A cast for each of them in each step would be one of twenty rays.
	const outcome o = run_against_full(MOVING_SLIDE, true, &def, 60 / TEST_FEWER);
	CHECK(o.rays_iterative > 0);
	CHECK(100 * o.rays_recast < o.rays_iterative);
	check_contacts(&o, CHOSEN_THRESHOLD);
}

TEST(temporal, lost_rays_are_cast_again_or_dropped)
{
	carom_world_def def = all_contacts();
	fixture_lab(&def)->displacement_threshold = 0.3;
	fixture_lab(&def)->max_walk = 2;
	const outcome recast = run_against_full(MOVING_ROLL, true, &def, 60 / TEST_FEWER);
	CHECK(recast.rays_lost > 0);
	CHECK(recast.rays_recast > 0);
	CHECK(1000 * recast.difference.contacts_missing <= recast.difference.contacts);
	fixture_lab(&def)->lost_rays = CAROM_LOST_DROP;
	const outcome drop = run_against_full(MOVING_ROLL, true, &def, 60 / TEST_FEWER);
	CHECK(drop.rays_lost > 0);
	CHECK(drop.difference.contacts_missing > 10 * recast.difference.contacts_missing);
	CHECK(drop.rays_full < recast.rays_full);
}

// ---- Thresholds that are chosen ----

TEST(temporal, a_world_at_rest_does_nothing_in_full)
{
	moving_scene s;
	moving_open(&s, fixture_context(1), MOVING_JITTER, true);
	carom_world_def def = carom_default_world_def();
	// Patches are made of the crossing triangles in every step, and such pairs count as full; this is about rays.
	def.contact_normal = CAROM_NORMAL_RAY;
	carom_body_id ids[MOVING_BODIES];
	carom_world *world = moving_world(&s, &def, 0, ids);
	int64_t full = 0, iterative = 0, rays_full = 0, first_rays = 0;
	for (int step = 0; step < 40; step++) {
		moving_place(&s, world, ids, step);
		fixture_step(world);
		const carom_stats stats = carom_world_stats(world);
		first_rays = step == 0 ? stats.rays_full : first_rays;
		if (step < 5)
			continue;
		full += stats.pairs_full;
		iterative += stats.pairs_iterative;
		rays_full += stats.rays_full;
	}
	CHECK(iterative > 0);
	CHECK(50 * full < iterative);
	CHECK(5 * rays_full < 35 * first_rays);
	carom_destroy_world(world);
	moving_close(&s);
}

static bool any_contact(const carom_contact *contact, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)contact, (void)user_data_a, (void)user_data_b, (void)user;
	return true;
}

/// Bodies that stop, and go on later. A world whose contacts a filter is asked about takes none over: it is the one to be equal to.
TEST(temporal, bodies_that_stand_still_take_over_their_contacts)
{
	moving_scene s;
	moving_open(&s, fixture_context(2), MOVING_JITTER, true);
	const carom_world_def def = all_contacts();
	carom_world_def asked = def;
	asked.contact_filter = any_contact;
	carom_body_id ids[MOVING_BODIES];
	carom_world *world = moving_world(&s, &def, 0, ids), *slow = moving_world(&s, &asked, 0, NULL);
	int64_t cast = 0, cast_slow = 0;
	for (int step = 0; step < 40; step++) {
		// Ten steps of motion, ten at rest.
		const int at = step % 20 < 10 ? step : step / 20 * 20 + 10;
		moving_place(&s, world, ids, at);
		moving_place(&s, slow, ids, at);
		fixture_step(world);
		fixture_step(slow);
		fixture_check_views(world);
		CHECK(carom_world_hash(world) == carom_world_hash(slow));
		cast += step % 20 > 12 ? carom_world_stats(world).rays_iterative : 0;
		cast_slow += step % 20 > 12 ? carom_world_stats(slow).rays_iterative : 0;
	}
	CHECK(cast_slow > 0);
	CHECK(4 * cast < cast_slow);
	carom_destroy_world(world);
	carom_destroy_world(slow);
	moving_close(&s);
}

TEST(temporal, a_fast_world_does_all_in_full)
{
	const carom_world_def def = all_contacts();
	const outcome o = run_against_full(MOVING_FLY, true, &def, 20);
	CHECK(o.pairs_full > 0);
	// Pairs that are apart by their hulls are left alone, however fast they are.
	CHECK(20 * (o.pairs_iterative - o.pairs_apart) <= o.pairs_full);
}

// ---- The past that is gone ----

/// A world of the same poses that has no past must find the same pairs.
static void compare_with_fresh(const moving_scene *s, const carom_world *world, const carom_world_def *def, int step)
{
	carom_world *fresh = moving_world(s, def, step, NULL);
	fixture_step(fresh);
	moving_difference d = { 0 };
	moving_compare(fresh, world, &d);
	CHECK(d.pairs > 0);
	CHECK_INT(d.pairs_missing, 0);
	CHECK_INT(d.pairs_added, 0);
	CHECK(100 * d.contacts_missing <= d.contacts);
	carom_destroy_world(fresh);
}

/// Other shapes at the same numbers and places, while nothing else moves.
TEST(temporal, replaced_bodies_are_new)
{
	for (int stages = 0; stages < 2; stages++) {
		moving_scene s;
		moving_open(&s, fixture_context(1), MOVING_JITTER, true);
		carom_world_def def = all_contacts();
		fixture_lab(&def)->stages = (carom_stages)stages;
		carom_body_id ids[MOVING_BODIES];
		carom_world *world = moving_world(&s, &def, 0, ids);
		for (int step = 0; step < 24 / TEST_STRIDE; step++) {
			moving_place(&s, world, ids, step);
			fixture_step(world);
			compare_with_fresh(&s, world, &def, step);
			const int i = MOVING_FIXED + step % (s.count - MOVING_FIXED);
			REQUIRE(carom_world_remove_body(world, ids[i]) == CAROM_SUCCESS);
			s.shape[i] = s.shape[MOVING_FIXED + (step + 7) % (s.count - MOVING_FIXED)];
			const carom_body_id old = ids[i];
			ids[i] = fixture_add(world, s.shape[i], moving_pose(&s, i, step), CAROM_DYNAMIC);
			CHECK(ids[i].index1 == old.index1 && ids[i].generation != old.generation);
		}
		carom_destroy_world(world);
		moving_close(&s);
	}
}

static void set_mask(carom_world *world, carom_body_id id, uint64_t mask)
{
	REQUIRE(carom_world_set_filter(world, id, 1, mask, 0) == CAROM_SUCCESS);
}

/// Bodies that do not meet for a while, and meet again after they were moved or not.
TEST(temporal, filters_come_and_go)
{
	moving_scene s;
	moving_open(&s, fixture_context(1), MOVING_KINDS, true);
	const carom_world_def def = all_contacts();
	carom_body_id ids[MOVING_BODIES];
	carom_world *world = moving_world(&s, &def, 0, ids);
	for (int step = 0; step < 30; step++) {
		moving_place(&s, world, ids, step);
		for (int i = MOVING_FIXED; i < s.count; i++)
			set_mask(world, ids[i], step % 3 == 1 && i % 2 ? 2 : UINT64_MAX);
		fixture_step(world);
		if (step % 3 != 1)
			compare_with_fresh(&s, world, &def, step);
		else
			CHECK(carom_world_stats(world).colliding_pairs > 0);
	}
	carom_destroy_world(world);
	moving_close(&s);
}

static bool pass_when_told(carom_body_id a, carom_body_id b, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)user_data_a, (void)user_data_b;
	const bool *all = user;
	return *all || (a.index1 + b.index1) % 2 == 0;
}

/// What the user's filter rejects moves on unseen: its memory must not outlive that.
TEST(temporal, a_pair_filter_interrupts_memory)
{
	moving_scene s;
	moving_open(&s, fixture_context(1), MOVING_RETURN, true);
	bool all = true;
	carom_world_def def = all_contacts();
	def.pair_filter = pass_when_told;
	def.filter_user = &all;
	carom_body_id ids[MOVING_BODIES];
	carom_world *world = moving_world(&s, &def, 0, ids);
	for (int step = 0; step < 40; step++) {
		moving_place(&s, world, ids, step);
		all = step % 4 != 1;
		fixture_step(world);
		compare_with_fresh(&s, world, &def, step);
	}
	carom_destroy_world(world);
	moving_close(&s);
}

TEST(temporal, moved_scenery_is_seen)
{
	moving_scene s;
	moving_open(&s, fixture_context(1), MOVING_REST, true);
	const carom_world_def def = all_contacts();
	carom_body_id ids[MOVING_BODIES];
	carom_world *world = moving_world(&s, &def, 0, ids);
	for (int step = 0; step < 20; step++) {
		for (int i = 0; i < MOVING_FIXED; i++) {
			s.rest[i].position.z += step % 5 == 4 ? 0.4 : 0.003;
			s.rest[i].position.z -= step % 5 == 1 ? 0.4 : 0;
			REQUIRE(carom_world_set_pose(world, ids[i], &s.rest[i]) == CAROM_SUCCESS);
		}
		fixture_step(world);
		compare_with_fresh(&s, world, &def, step);
	}
	carom_destroy_world(world);
	moving_close(&s);
}

// ---- Memory ----

/// Every allocation of some consecutive steps fails once: the results stay those of the last good step, and the repeated one is right.
TEST(temporal, allocation_failures_leave_a_usable_world)
{
	static fixture_heap heap;
	moving_scene s;
	moving_open(&s, fixture_heap_context(&heap, 1), MOVING_KINDS, false);
	const carom_world_def def = all_contacts();
	carom_body_id ids[MOVING_BODIES];
	carom_world *world = moving_world(&s, &def, 0, ids);
	int failures = 0;
	failing_calls calls = failing_calls_of_preset();
	for (int step = 0; step < 8; step++) {
		moving_place(&s, world, ids, step);
		for (bool failed = true; failed;) {
			const uint64_t before = carom_world_hash(world);
			fixture_begin_failing(&heap, &calls);
			const carom_result result = carom_world_step(world);
			failed = fixture_end_failing(&heap);
			// An arena whose blocks cannot be joined goes on with them: a step may do without that one allocation.
			CHECK(result == CAROM_SUCCESS || (failed && result == CAROM_OUT_OF_MEMORY));
			CHECK(result == CAROM_SUCCESS || carom_world_hash(world) == before);
			failures += result == CAROM_OUT_OF_MEMORY;
		}
		fixture_check_views(world);
		compare_with_fresh(&s, world, &def, step);
	}
	CHECK(failures > 12);
	failing_calls_free(&calls);
	carom_destroy_world(world);
	moving_close(&s);
	CHECK_INT(atomic_load(&heap.blocks), 0);
}

// ---- Bodies of few facets at rest ----

enum { HEAP_BODIES = 12 };

/// Cubes and rings of 40 triangles, each of which overlaps with its neighbours.
typedef struct heap_of_few {
	carom_mesh *ring, *cube;
	carom_pose poses[HEAP_BODIES];
	carom_body_id ids[HEAP_BODIES];
} heap_of_few;

static carom_world *open_heap(heap_of_few *h, carom_context *context, const carom_world_def *def)
{
	carom_world *world = fixture_world(context, def);
	for (int i = 0; i < HEAP_BODIES; i++)
		h->ids[i] = fixture_add(world, fixture_of_mesh(i % 3 ? h->ring : h->cube), h->poses[i], CAROM_DYNAMIC);
	return world;
}

static void make_heap(heap_of_few *h, carom_context *context)
{
	h->ring = fixture_torus_mesh(context, 5, 4, 0.45, 0.1);
	h->cube = fixture_box_mesh(context, 0.6, 0.6, 0.6);
	for (int i = 0; i < HEAP_BODIES; i++)
		h->poses[i] =
			(carom_pose){ { 1.1 * (i % 3), 1.1 * (i / 3 % 2), 1.1 * (i / 6) }, fixture_turn((v3d){ 1, i, 2 }, 0.4 * i) };
}

static void release_heap(heap_of_few *h)
{
	carom_release_mesh(h->ring);
	carom_release_mesh(h->cube);
}

/// A world without a past finds the same contacts, bit for bit, but for how old they are.
static void check_as_from_nothing(heap_of_few *h, const carom_world *world)
{
	carom_world_def def = carom_default_world_def();
	def.temporal = CAROM_TEMPORAL_NONE;
	carom_context *context = fixture_context(1);
	heap_of_few fresh = *h;
	make_heap(&fresh, context);
	memcpy(fresh.poses, h->poses, sizeof fresh.poses);
	carom_world *other = open_heap(&fresh, context, &def);
	fixture_step(other);
	const carom_contact_view a = carom_world_contacts(world), b = carom_world_contacts(other);
	REQUIRE(a.count == b.count && a.count > 20);
	for (int64_t i = 0; i < a.count; i++) {
		CHECK(memcmp(a.data[i].point, b.data[i].point, sizeof a.data[i].point) == 0);
		CHECK(memcmp(a.data[i].normal, b.data[i].normal, sizeof a.data[i].normal) == 0);
		CHECK(a.data[i].depth == b.data[i].depth && a.data[i].kind == b.data[i].kind);
		CHECK(a.data[i].feature_a == b.data[i].feature_a && a.data[i].feature_b == b.data[i].feature_b);
	}
	const carom_pair_view p = carom_world_pairs(world), q = carom_world_pairs(other);
	REQUIRE(p.count == q.count);
	for (int64_t i = 0; i < p.count; i++)
		CHECK(p.data[i].contact_count == q.data[i].contact_count && p.data[i].found_count == q.data[i].found_count);
	carom_destroy_world(other);
	release_heap(&fresh);
	carom_destroy_context(context);
}

/// Set all poses, step, compare. Returns how many pairs were worked out.
static int step_heap(heap_of_few *h, carom_world *world)
{
	REQUIRE(carom_world_set_poses(world, HEAP_BODIES, h->ids, h->poses) == CAROM_SUCCESS);
	fixture_step(world);
	fixture_check_views(world);
	check_as_from_nothing(h, world);
	return carom_world_stats(world).pairs_full;
}

TEST(temporal, few_facets_at_rest_take_over_their_contacts)
{
	for (int threads = 1; threads <= 3; threads += 2) {
		carom_context *context = fixture_context(threads);
		heap_of_few h;
		make_heap(&h, context);
		carom_world *world = open_heap(&h, context, NULL);
		const int all = step_heap(&h, world);
		CHECK(all > 15);
		CHECK_INT(step_heap(&h, world), 0);
		CHECK_INT(step_heap(&h, world), 0);
		// One that moves is worked out with its neighbours, and so it is by the last bit of its place.
		for (int i = 0; i < 2; i++) {
			double *x = &h.poses[4].position.x;
			*x = i ? nextafter(*x, 2 * *x) : *x + 0.01;
			const int some = step_heap(&h, world);
			CHECK(some > 0 && some < all);
			CHECK_INT(step_heap(&h, world), 0);
		}
		// What pairs remember does not outlive the shape.
		carom_mesh *mesh = fixture_box_mesh(context, 0.65, 0.65, 0.65);
		const carom_shape larger = fixture_of_mesh(mesh);
		REQUIRE(carom_world_set_shape(world, h.ids[3], &larger) == CAROM_SUCCESS);
		fixture_step(world);
		CHECK(carom_world_stats(world).pairs_full > 0);
		carom_release_mesh(mesh);
		carom_destroy_world(world);
		release_heap(&h);
		carom_destroy_context(context);
	}
}

static bool all_but_deep(const carom_contact *contact, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)user_data_a, (void)user_data_b;
	int *asked = user;
	(*asked)++;
	return contact->depth < 0.1f;
}

/// A filter is asked in each step, of all contacts.
TEST(temporal, few_facets_at_rest_ask_their_filter)
{
	int asked = 0;
	carom_context *context = fixture_context(1);
	carom_world_def def = carom_default_world_def();
	def.contact_filter = all_but_deep;
	def.filter_user = &asked;
	heap_of_few h;
	make_heap(&h, context);
	carom_world *world = open_heap(&h, context, &def);
	fixture_step(world);
	const int first = asked;
	fixture_step(world);
	CHECK(first > 50);
	CHECK_INT(asked, 2 * first);
	carom_destroy_world(world);
	release_heap(&h);
	carom_destroy_context(context);
}

/// A step with another pose that fails, and one after it with the first poses: nothing of the failed one is taken over.
TEST(temporal, few_facets_at_rest_bear_failures)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	heap_of_few h;
	make_heap(&h, context);
	const double x = h.poses[4].position.x;
	int failures = 0;
	for (int n = 0; n < 12; n++) {
		carom_world *world = open_heap(&h, context, NULL);
		fixture_step(world);
		for (int away = 1; away >= 0; away--) {
			h.poses[4].position.x = x + 0.02 * away;
			REQUIRE(carom_world_set_poses(world, HEAP_BODIES, h.ids, h.poses) == CAROM_SUCCESS);
			atomic_store(&heap.fail_at, away ? atomic_load(&heap.calls) + n : -1);
			failures += carom_world_step(world) == CAROM_OUT_OF_MEMORY;
			atomic_store(&heap.fail_at, -1);
		}
		check_as_from_nothing(&h, world);
		carom_destroy_world(world);
	}
	CHECK(failures > 0);
	release_heap(&h);
	carom_destroy_context(context);
	CHECK_INT(atomic_load(&heap.blocks), 0);
}

/// What pairs leave behind is tidied up: pairs that come and go all the time need no more memory after 160 steps than after 60.
TEST(temporal, memory_does_not_grow)
{
	enum { STEPS = TEST_FEWER > 1 ? 36 : 160, EARLY = TEST_FEWER > 1 ? 24 : 60 };
	for (int groups = 0; groups <= 3; groups += 3) {
		moving_scene s;
		moving_open(&s, fixture_context(1), MOVING_JITTER, true);
		carom_world_def def = carom_default_world_def();
		fixture_lab(&def)->displacement_threshold = 2e-4; // of the jitter: a good part of the pairs is full in each step
		fixture_lab(&def)->worker_groups = groups;
		carom_body_id ids[MOVING_BODIES];
		carom_world *world = moving_world(&s, &def, 0, ids);
		size_t early = 0;
		int64_t full = 0;
		for (int step = 0; step < STEPS; step++) {
			moving_place(&s, world, ids, step);
			fixture_step(world);
			full += carom_world_stats(world).pairs_full;
			if (step < EARLY)
				early = carom_world_stats(world).memory;
		}
		CHECK(full > STEPS);
		CHECK(carom_world_stats(world).memory <= early + early / 4);
		carom_destroy_world(world);
		moving_close(&s);
	}
}

/// A ball in a hollow one: where surfaces run beside each other, the triangles that are near are too many to be kept.
TEST(temporal, a_ball_in_a_hollow_one_needs_no_long_list)
{
	carom_context *context = fixture_context(1);
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_sphere(&soup, (v3d){ 0, 0, 0 }, 1, 24);
	const int32_t hole = soup.triangle_count;
	fixture_soup_sphere(&soup, (v3d){ 0, 0, 0 }, 0.58, 32);
	for (int32_t *t = &soup.triangles[3 * hole]; t < &soup.triangles[3 * soup.triangle_count]; t += 3) {
		const int32_t second = t[1];
		t[1] = t[2];
		t[2] = second;
	}
	carom_mesh *hollow = fixture_mesh(context, &soup), *ball = fixture_sphere_mesh(context, 0.5, 32);
	const carom_world_def def = all_contacts();
	carom_world *world = fixture_world(context, &def);
	fixture_add(world, fixture_of_mesh(hollow), fixture_at(0, 0, 0), CAROM_STATIC);
	const carom_body_id id = fixture_add(world, fixture_of_mesh(ball), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	for (int step = 0; step <= 20; step++) {
		const carom_pose pose = fixture_at(0, 0, 0.005 * step);
		REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
		fixture_step(world);
		CHECK_INT(carom_world_pairs(world).count, pose.position.z > 0.08 - 1e-9);
		CHECK(step != 1 || carom_world_stats(world).pairs_apart == 1);
	}
	CHECK(carom_world_stats(world).memory_peak < 5e6); // 28 MB with all of them
	carom_destroy_world(world);
	carom_release_mesh(hollow);
	carom_release_mesh(ball);
	carom_destroy_context(context);
}

TEST(temporal, steps_over_budget_can_be_repeated)
{
	moving_scene s;
	moving_open(&s, fixture_context(1), MOVING_KINDS, true);
	carom_world_def def = all_contacts();
	carom_body_id ids[MOVING_BODIES];
	carom_world *world = moving_world(&s, &def, 0, ids);
	fixture_step(world);
	const size_t needed = carom_world_stats(world).memory_peak;
	carom_destroy_world(world);
	int over = 0, good = 0;
	for (int share = 5; share <= 13; share += TEST_FEWER > 1 ? 4 : 1) {
		def.memory_budget = needed * (size_t)share / 10;
		const carom_world_def unbound = all_contacts();
		world = moving_world(&s, &def, 0, ids);
		for (int step = 0; step < 6; step++) {
			moving_place(&s, world, ids, step);
			const carom_result result = carom_world_step(world);
			CHECK(result == CAROM_SUCCESS || result == CAROM_OVER_BUDGET);
			over += result == CAROM_OVER_BUDGET;
			good += result == CAROM_SUCCESS;
			CHECK(carom_world_stats(world).memory <= def.memory_budget);
			if (result == CAROM_SUCCESS)
				compare_with_fresh(&s, world, &unbound, step);
		}
		carom_destroy_world(world);
	}
	CHECK(over > 0 && good > 0);
	moving_close(&s);
}
