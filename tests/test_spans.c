// The search for a first impact span by span of time (bvh/mover_spans.c): forced on random pairs, against distances at fine
// steps and against the walk through the whole motion; surfaces that stay close, with known impacts; and its budget.
#include "fixture.h"

#include "bvh/mover_spans.h"
#include "carom/carom.h"
#include "carom/collide.h"
#include "frame/shape_table.h"

#include <math.h>

enum { FINE_STEPS = 60, SIDES = 24 };

static const double TOLERANCE = 1e-4;

/// A tube of SIDES sides, which no cylinder of the inner radius touches, from z = 0 to height.
static carom_mesh *make_tube(carom_context *context, double inner, double outer, double height)
{
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	const double pi = 3.14159265358979323846, grown = inner / cos(pi / SIDES);
	for (int i = 0; i < SIDES; i++) {
		const double x = cos(2 * pi * i / SIDES), y = sin(2 * pi * i / SIDES);
		for (int k = 0; k < 4; k++) {
			const double r = k == 0 || k == 3 ? grown : outer;
			fixture_soup_vertex(&soup, r * x, r * y, k >= 2 ? height : 0);
		}
	}
	for (int i = 0; i < SIDES; i++) {
		const int32_t here = 4 * i, next = 4 * ((i + 1) % SIDES);
		for (int k = 0; k < 4; k++)
			fixture_soup_quad(&soup, here + k, next + k, next + (k + 1) % 4, here + (k + 1) % 4);
	}
	carom_mesh *mesh = fixture_mesh(context, &soup);
	CHECK(carom_mesh_get_report(mesh)->closed && !carom_mesh_get_report(mesh)->inverted);
	return mesh;
}

/// Two shapes on their ways.
typedef struct pair {
	carom_context *context;
	carom_shape shape[2];
	carom_motion motion[2];
} pair;

static double gap_at(const pair *p, double t)
{
	const carom_pose a = carom_motion_pose(&p->motion[0], t), b = carom_motion_pose(&p->motion[1], t);
	carom_separation s;
	REQUIRE(carom_distance(p->context, &p->shape[0], &a, &p->shape[1], &b, &s) == CAROM_SUCCESS);
	return s.distance;
}

/// Clear before the time, and within the tolerance at it.
static void check_impact(const pair *p, carom_toi_status status, double time, double end)
{
	for (int i = 0; i <= FINE_STEPS; i++) {
		const double t = end * i / FINE_STEPS;
		if (status == CAROM_TOI_TOUCHING || t > time)
			break;
		CHECK(gap_at(p, t) > 0);
	}
	const double then = gap_at(p, time);
	if (status == CAROM_TOI_IMPACT)
		CHECK(then >= 0.499 * TOLERANCE && then <= 1.001 * TOLERANCE);
	else if (status == CAROM_TOI_TOUCHING)
		CHECK(then <= 1.001 * TOLERANCE && time == 0);
	else
		CHECK(status == CAROM_TOI_APART && time == 1);
}

static carom_toi_status search(const pair *p, bool by_spans, cr_mover_impact *found)
{
	cr_convex convex[2];
	cr_mover movers[2];
	cr_mover_scratch scratch;
	int64_t work = INT64_MAX;
	const cr_bvh_kernels *kernels = fixture_kernels(CAROM_SIMD_SCALAR);
	for (int i = 0; i < 2; i++) {
		movers[i] = cr_mover_of(&p->shape[i], &convex[i]);
		movers[i].motion = cr_motion_between(&p->motion[i].begin, &p->motion[i].end);
	}
	*found = cr_no_impact();
	if (cr_find_inside(kernels, &movers[0], &movers[1], found))
		return CAROM_TOI_TOUCHING;
	if (by_spans)
		cr_find_impact_by_spans(&scratch, &movers[0], &movers[1], TOLERANCE, 1, &work, found);
	else
		cr_find_mover_impact(kernels, &scratch, &movers[0], &movers[1], TOLERANCE, 1, found);
	CHECK(work > 0);
	return cr_toi_status_of(found->impact.state);
}

static carom_shape random_shape(uint64_t *seed, carom_mesh *const meshes[3])
{
	const double x = test_random_double(seed, 0.1, 0.5), y = test_random_double(seed, 0.1, 0.5);
	const carom_shape shapes[8] = { fixture_of_mesh(meshes[0]), fixture_of_mesh(meshes[1]), fixture_of_mesh(meshes[2]),
		fixture_box(x, y, 0.2), fixture_capsule(x, y), fixture_cylinder(x, y), fixture_cone(x, y),
		fixture_ellipsoid(x, y, 0.3) };
	carom_shape shape = shapes[test_random(seed) % 8];
	shape.rounding = test_random(seed) % 3 == 0 ? 0.05 : 0;
	return shape;
}

TEST(spans, random_pairs_against_distances_and_the_walk)
{
	carom_context *context = fixture_context(1);
	carom_mesh *meshes[3] = { fixture_torus_mesh(context, 10, 6, 0.4, 0.3), fixture_box_mesh(context, 0.5, 0.4, 0.3),
		make_tube(context, 0.3, 0.5, 0.6) };
	uint64_t seed = 1;
	int statuses[4] = { 0 };
	for (int round = 0; round < 240 / TEST_FEWER && !test_failures(); round++) {
		pair p = { .context = context, .shape[0] = random_shape(&seed, meshes), .shape[1] = fixture_of_mesh(meshes[round % 3]) };
		p.shape[1].rounding = round % 4 == 3 ? 0.03 : 0; // a padded mesh
		for (int i = 0; i < 2; i++) {
			p.motion[i].begin = fixture_random_pose(&seed, 1.5);
			p.motion[i].end = fixture_random_pose(&seed, 1.5);
			if (test_random(&seed) % 4 == 0)
				p.motion[i].end = p.motion[i].begin;
		}
		cr_mover_impact found, walked;
		const carom_toi_status status = search(&p, true, &found), other = search(&p, false, &walked);
		statuses[status]++;
		check_impact(&p, status, found.impact.time, 1);
		if (status != CAROM_TOI_TOUCHING)
			CHECK_NEAR(found.impact.separation.gap, gap_at(&p, found.impact.separation_time), 1e-7);
		// Only what passes within the tolerance may be told otherwise.
		if (status != other)
			CHECK(gap_at(&p, status == CAROM_TOI_IMPACT ? found.impact.time : walked.impact.time) > 0.499 * TOLERANCE);
		CHECK((status == CAROM_TOI_TOUCHING) == (other == CAROM_TOI_TOUCHING));
		if (test_failures())
			CHECK_INT(round, -1);
	}
	for (int i = 0; i < 3; i++) {
		CHECK(statuses[i] > 10 / TEST_FEWER);
		carom_release_mesh(meshes[i]);
	}
	CHECK_INT(statuses[CAROM_TOI_UNDECIDED], 0);
	carom_destroy_context(context);
}

/// A peg that goes through a tube and turns, with a clearance of 0.01.
static pair peg_in_tube(carom_context *context, carom_mesh *tube, const carom_shape *peg)
{
	pair p = { context, { *peg, fixture_of_mesh(tube) }, { { fixture_at(0, 0, 0.6), fixture_at(0, 0, 0.2) } } };
	p.motion[0].end.orientation = fixture_turn((v3d){ 0, 0, 1 }, 1.5);
	p.motion[1] = (carom_motion){ carom_pose_identity(), carom_pose_identity() };
	return p;
}

static carom_toi ask(const pair *p, double tolerance, int64_t *work)
{
	carom_toi toi;
	REQUIRE(carom_time_of_impact_within(
				p->context, &p->shape[0], &p->motion[0], &p->shape[1], &p->motion[1], tolerance, work, &toi) == CAROM_SUCCESS);
	return toi;
}

TEST(spans, a_peg_that_turns_in_its_hole_takes_few_separations)
{
	carom_context *context = fixture_context(1);
	carom_mesh *tube = make_tube(context, 1.01, 2, 1), *bar = make_tube(context, 0.2, 0.98, 1);
	const carom_shape pegs[3] = { fixture_cylinder(1, 1), fixture_capsule(1, 1), fixture_of_mesh(bar) };
	for (int i = 0; i < 3; i++) {
		const pair p = peg_in_tube(context, tube, &pegs[i]);
		int64_t work = INT64_MAX;
		const carom_toi toi = ask(&p, 1e-4, &work);
		CHECK_INT(toi.status, CAROM_TOI_APART);
		CHECK(toi.time == 1 && toi.steps < 25000);
		CHECK_NEAR(toi.separation.distance, gap_at(&p, 1), 1e-6);
	}
	carom_release_mesh(tube);
	carom_release_mesh(bar);
	carom_destroy_context(context);
}

// A square bar of half width 1 turns in a square hole of half width 1 + c: its edge meets the wall where
// cos t + sin t = 1 + c.
TEST(spans, a_bar_that_turns_in_a_square_hole_meets_it_at_the_known_angle)
{
	carom_context *context = fixture_context(1);
	const double clearance = 0.01, turn = 0.2, angle = asin((1 + clearance) / sqrt(2)) - asin(1 / sqrt(2));
	carom_mesh *walls[4];
	const carom_shape bar = fixture_box(1, 1, 3);
	for (int i = 0; i < 4; i++) {
		walls[i] = fixture_box_mesh(context, 0.5, 4, 1);
		const carom_quat side = fixture_turn((v3d){ 0, 0, 1 }, i * 1.57079632679489661923);
		pair p = { context, { bar, fixture_of_mesh(walls[i]) },
			{ { carom_pose_identity(), { { 0, 0, 0 }, fixture_turn((v3d){ 0, 0, 1 }, turn) } } } };
		p.motion[1].begin = (carom_pose){ carom_rotate(side, (v3d){ 1.5 + clearance, 0, 0 }), side };
		p.motion[1].end = p.motion[1].begin;
		cr_mover_impact found;
		CHECK_INT(search(&p, true, &found), CAROM_TOI_IMPACT);
		CHECK(found.impact.time * turn <= angle);
		CHECK(found.impact.time * turn > angle - 2 * TOLERANCE);
		carom_release_mesh(walls[i]);
	}
	carom_destroy_context(context);
}

// ---- The budget ----

TEST(spans, a_budget_tells_how_far_the_way_is_clear)
{
	carom_context *context = fixture_context(1);
	carom_mesh *tube = make_tube(context, 1.01, 2, 1), *bar = make_tube(context, 0.2, 0.98, 1);
	const carom_shape peg = fixture_of_mesh(bar);
	pair p = peg_in_tube(context, tube, &peg);
	p.motion[0].end.position.x = 0.05; // it meets the wall on the way
	int64_t all = INT64_MAX, least = 1;
	const carom_toi whole = ask(&p, TOLERANCE, &all);
	all = INT64_MAX - all;
	CHECK_INT(whole.status, CAROM_TOI_IMPACT);
	CHECK(all > 10000);
	double last = 0;
	int undecided = 0, on_the_way = 0;
	for (int64_t budget = least; budget < 4 * all; budget *= 2) {
		int64_t left = budget;
		const carom_toi toi = ask(&p, TOLERANCE, &left);
		CHECK(left >= 0 && left < budget);
		CHECK(toi.time >= last && toi.time <= whole.time * (1 + 1e-3));
		last = toi.time;
		CHECK(toi.status == CAROM_TOI_UNDECIDED || toi.status == CAROM_TOI_IMPACT);
		undecided += toi.status == CAROM_TOI_UNDECIDED;
		on_the_way += toi.status == CAROM_TOI_UNDECIDED && toi.time > 0;
		if (toi.status == CAROM_TOI_UNDECIDED) {
			CHECK(left == 0 && toi.triangle_a == -1 && toi.separation.distance == 0);
			for (int i = 0; i <= FINE_STEPS / 4; i++)
				CHECK(gap_at(&p, toi.time * 4 * i / FINE_STEPS) > 0);
		} else {
			check_impact(&p, toi.status, toi.time, toi.time);
		}
	}
	CHECK(undecided > 5 && on_the_way > 1);
	CHECK(last >= whole.time * (1 - 1e-2));
	carom_release_mesh(tube);
	carom_release_mesh(bar);
	carom_destroy_context(context);
}

TEST(spans, a_budget_that_is_enough_changes_no_bit_of_a_short_search)
{
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 10, 6, 0.4, 0.3);
	const carom_shape ball = fixture_sphere(0.2), ground = { .type = CAROM_PLANE };
	const pair pairs[3] = { { context, { ball, fixture_of_mesh(torus) }, { { fixture_at(0.4, 0, 2), fixture_at(0.4, 0, -2) } } },
		{ context, { ball, ball }, { { fixture_at(0.1, 0, 2), fixture_at(0, 0, -2) } } },
		{ context, { fixture_of_mesh(torus), ground }, { { fixture_at(0.1, 0, 2), fixture_at(0, 0, -2) } } } };
	for (int i = 0; i < 3; i++) {
		pair p = pairs[i];
		p.motion[1] = (carom_motion){ carom_pose_identity(), carom_pose_identity() };
		int64_t work = 100000;
		carom_toi toi;
		REQUIRE(carom_time_of_impact(context, &p.shape[0], &p.motion[0], &p.shape[1], &p.motion[1], TOLERANCE, &toi) ==
			CAROM_SUCCESS);
		const carom_toi within = ask(&p, TOLERANCE, &work);
		CHECK(within.status == CAROM_TOI_IMPACT && within.time == toi.time && within.steps == toi.steps);
		CHECK(work < 100000);
		work = 0;
		const carom_toi none = ask(&p, TOLERANCE, &work);
		CHECK(none.status == CAROM_TOI_UNDECIDED && none.time == 0 && work == 0 && none.steps == 0);
	}
	carom_release_mesh(torus);
	carom_destroy_context(context);
}

TEST(spans, misuse_of_a_budget)
{
	carom_context *context = fixture_context(1);
	const carom_shape ball = fixture_sphere(1);
	carom_toi toi;
	int64_t work = -1;
	fixture_expect_error(context, carom_time_of_impact_within(context, &ball, NULL, &ball, NULL, 1, &work, &toi),
		CAROM_INVALID_ARGUMENT, "carom_time_of_impact_within: *work is -1; it must be at least 0");
	fixture_expect_error(context, carom_time_of_impact_within(context, &ball, NULL, &ball, NULL, 1, NULL, &toi),
		CAROM_INVALID_ARGUMENT, "carom_time_of_impact_within: work is NULL");
	work = 100;
	fixture_expect_error(context, carom_time_of_impact_within(context, &ball, NULL, &ball, NULL, 1, &work, NULL),
		CAROM_INVALID_ARGUMENT, "carom_time_of_impact_within: toi is NULL");
	fixture_expect_error(context, carom_time_of_impact_within(context, &ball, NULL, &ball, NULL, 0, &work, &toi),
		CAROM_INVALID_ARGUMENT, "carom_time_of_impact_within: tolerance is 0");
	fixture_expect_error(context, carom_time_of_impact_within(context, &ball, NULL, NULL, NULL, 1, &work, &toi),
		CAROM_INVALID_ARGUMENT, "carom_time_of_impact_within: b is NULL");
	CHECK_INT(work, 100);
	CHECK(carom_time_of_impact_within(NULL, &ball, NULL, &ball, NULL, 1, &work, &toi) == CAROM_INVALID_ARGUMENT);
	carom_destroy_context(context);
}
