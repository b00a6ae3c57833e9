// Balls beside meshes that do not turn: what is told quickly is what the general search tells; the triangles around a point
// against all of them.
#include "fixture.h"

#include "bvh/mover.h"
#include "frame/shape_table.h"

#include <math.h>

enum { MESHES = 4, TRIES = 4000, FOUND = 64 };

static const double TOLERANCE = 1e-3;

typedef struct kit {
	carom_context *context;
	carom_mesh *mesh[MESHES];
	const cr_bvh_kernels *kernels;
} kit;

static void make_kit(kit *k)
{
	static float heights[9 * 9];
	for (int i = 0; i < 81; i++)
		heights[i] = 0.05f * (float)(i * 7 % 5);
	k->context = fixture_context(1);
	k->mesh[0] = fixture_torus_mesh(k->context, 12, 8, 0.4, 0.1);
	k->mesh[1] = fixture_box_mesh(k->context, 0.7, 0.5, 0.3);
	k->mesh[2] = fixture_sheet_mesh(k->context, 6, 2);
	REQUIRE(carom_create_height_field(k->context, 9, 9, heights, (double[2]){ 0.2, 0.2 }, 0.5, &k->mesh[3]) == CAROM_SUCCESS);
	k->kernels = fixture_kernels(CAROM_SIMD_AUTO);
}

static void free_kit(kit *k)
{
	for (int i = 0; i < MESHES; i++)
		carom_release_mesh(k->mesh[i]);
	carom_destroy_context(k->context);
}

/// What continuous bodies were told before there was anything quicker.
static void search(const kit *k, const cr_mover *a, const cr_mover *b, cr_mover_impact *found)
{
	static cr_mover_scratch scratch;
	if (cr_find_later_impact(&scratch, a, b, TOLERANCE, 1, NULL, found)) {
		if (found->impact.state == CR_IMPACT_TOUCHING)
			cr_find_inside(k->kernels, a, b, found);
		return;
	}
	cr_find_mover_impact(k->kernels, &scratch, a, b, TOLERANCE, 1, found);
	if (found->impact.state != CR_IMPACT_NONE && !found->inside)
		cr_find_nearest_parts(&scratch, a, b, found);
}

static v3d random_vector(uint64_t *seed, double most)
{
	const double x = test_random_double(seed, -most, most), y = test_random_double(seed, -most, most);
	return (v3d){ x, y, test_random_double(seed, -most, most) };
}

/// A ball that begins over a triangle, under it, or far from it, in the frame of the mesh.
static v3d random_place(const cr_collider *c, double radius, uint64_t *seed)
{
	v3d p[3];
	const int32_t triangle = (int32_t)(test_random(seed) % (uint64_t)c->triangle_count);
	cr_collider_triangle(c, triangle, p);
	const double u = test_random_double(seed, 0, 1), v = test_random_double(seed, 0, 1 - u);
	const v3d on = v3d_add(p[0], v3d_add(v3d_scale(v3d_sub(p[1], p[0]), u), v3d_scale(v3d_sub(p[2], p[0]), v)));
	const double heights[4] = { radius - test_random_double(seed, 0, 2e-3), radius + test_random_double(seed, 0, 0.05),
		test_random_double(seed, -1.5, 1.5) * radius, radius };
	return v3d_mad(on, heights[test_random(seed) % 4], cr_collider_normal(c, triangle));
}

typedef struct tally {
	int touching, apart, inside, unsaid;
} tally;

static void check_told(const cr_mover_impact *told, const cr_mover_impact *slow, tally *t)
{
	CHECK_INT(told->impact.state, slow->impact.state);
	CHECK(told->inside == slow->inside);
	t->inside += told->inside;
	t->apart += told->impact.state == CR_IMPACT_NONE;
	if (told->impact.state != CR_IMPACT_TOUCHING)
		return;
	t->touching++;
	CHECK(told->impact.time == 0 && told->impact.separation_time == 0);
	const cr_separation *a = &told->impact.separation, *b = &slow->impact.separation;
	CHECK_NEAR(a->gap, b->gap, 1e-9);
	CHECK((told->triangle[0] < 0) == (slow->triangle[0] < 0) && (told->triangle[1] < 0) == (slow->triangle[1] < 0));
	// Of triangles at an edge rounding may choose either, and of two places as near as each other.
	if (v3d_dot(a->normal, b->normal) > 0.999)
		CHECK(v3d_length(v3d_sub(a->on_a, b->on_a)) < 1e-6 && v3d_length(v3d_sub(a->on_b, b->on_b)) < 1e-6);
	CHECK_NEAR(v3d_length(v3d_sub(v3d_sub(a->on_a, a->on_b), v3d_scale(a->normal, a->gap))), 0, 1e-12);
}

static void try_ball(const kit *k, uint64_t *seed, tally *t)
{
	const int mesh = (int)(test_random(seed) % MESHES);
	const double radius = test_random_double(seed, 0.01, 0.2), far = test_random(seed) % 3 ? 0.01 : 2 * radius;
	const carom_shape shapes[2] = { fixture_sphere(radius), fixture_of_mesh(k->mesh[mesh]) };
	cr_convex convex;
	cr_mover ball = cr_mover_of(&shapes[0], &convex), ground = cr_mover_of(&shapes[1], NULL);
	ground.motion.begin = fixture_random_pose(seed, 3);
	ground.motion.travel = test_random(seed) % 2 ? random_vector(seed, 0.1) : (v3d){ 0, 0, 0 };
	ground.two_sided = !ground.collider->closed && test_random(seed) % 2;
	const v3d place = random_place(ground.collider, radius, seed);
	ball.motion.begin.position = v3d_add(carom_rotate(ground.motion.begin.orientation, place), ground.motion.begin.position);
	ball.motion.travel = v3d_add(ground.motion.travel, random_vector(seed, far));
	ball.sinking = 0.25 * radius;
	ground.sinking = test_random(seed) % 4 ? (double)INFINITY : 0.02;
	const bool first = test_random(seed) % 2;
	const cr_mover *a = first ? &ball : &ground, *b = first ? &ground : &ball;
	cr_mover_impact told, slow;
	if (!cr_find_ball_way(k->kernels, a, b, TOLERANCE, &told)) {
		t->unsaid++;
		return;
	}
	search(k, a, b, &slow);
	check_told(&told, &slow, t);
}

TEST(ball_way, what_is_told_at_once_is_what_the_search_tells)
{
	uint64_t seed = 11;
	tally t = { 0 };
	kit k;
	make_kit(&k);
	for (int i = 0; i < TRIES / TEST_FEWER; i++)
		try_ball(&k, &seed, &t);
	CHECK(t.touching > TRIES / TEST_FEWER / 20 && t.apart > TRIES / TEST_FEWER / 20 && t.unsaid > TRIES / TEST_FEWER / 20);
	CHECK(t.inside > 0);
	free_kit(&k);
}

TEST(ball_way, grains_that_creep_on_a_field_are_told_at_once)
{
	static float heights[33 * 33];
	uint64_t seed = 4;
	carom_mesh *field;
	kit k;
	make_kit(&k);
	for (int i = 0; i < 33 * 33; i++)
		heights[i] = (float)(0.2 * sin(0.3 * (i % 33)) * cos(0.2 * (double)(i / 33)));
	REQUIRE(carom_create_height_field(k.context, 33, 33, heights, (double[2]){ 0.1, 0.1 }, 0.5, &field) == CAROM_SUCCESS);
	const carom_shape shapes[2] = { fixture_sphere(0.1), fixture_of_mesh(field) };
	int told = 0;
	for (int i = 0; i < 200; i++) {
		cr_convex convex;
		cr_mover_impact impact;
		cr_mover ball = cr_mover_of(&shapes[0], &convex), ground = cr_mover_of(&shapes[1], NULL);
		ball.motion.begin.position = random_place(ground.collider, 0.1, &seed);
		ball.motion.travel = random_vector(&seed, 1e-3);
		ball.sinking = 0.025;
		ground.sinking = INFINITY;
		told += cr_find_ball_way(k.kernels, &ball, &ground, TOLERANCE, &impact);
	}
	CHECK(told > 120);
	carom_release_mesh(field);
	free_kit(&k);
}

TEST(ball_way, only_of_balls_and_meshes_that_do_not_turn)
{
	kit k;
	make_kit(&k);
	const carom_shape shapes[4] = { fixture_sphere(0.1), fixture_box(0.1, 0.1, 0.1), fixture_of_mesh(k.mesh[0]),
		{ .type = CAROM_PLANE } };
	cr_convex convex[2];
	cr_mover ball = cr_mover_of(&shapes[0], &convex[0]), box = cr_mover_of(&shapes[1], &convex[1]);
	cr_mover mesh = cr_mover_of(&shapes[2], NULL), plane = cr_mover_of(&shapes[3], NULL);
	cr_mover_impact impact;
	ball.motion.begin.position = (carom_vec3){ 5, 0, 0 };
	CHECK(cr_find_ball_way(k.kernels, &ball, &mesh, TOLERANCE, &impact) && impact.impact.state == CR_IMPACT_NONE);
	CHECK(cr_find_ball_way(k.kernels, &mesh, &ball, TOLERANCE, &impact) && impact.impact.state == CR_IMPACT_NONE);
	CHECK(!cr_find_ball_way(k.kernels, &box, &mesh, TOLERANCE, &impact));
	CHECK(!cr_find_ball_way(k.kernels, &ball, &plane, TOLERANCE, &impact));
	CHECK(!cr_find_ball_way(k.kernels, &mesh, &mesh, TOLERANCE, &impact));
	ball.motion.travel.x = 1; // longer than its way is short
	CHECK(!cr_find_ball_way(k.kernels, &ball, &mesh, TOLERANCE, &impact));
	ball.motion.travel.x = 0.1;
	mesh.motion.angle = 0.1;
	CHECK(!cr_find_ball_way(k.kernels, &ball, &mesh, TOLERANCE, &impact));
	free_kit(&k);
}

// ---- Triangles around a point ----

static bool holds(const int32_t *list, int32_t count, int32_t number)
{
	for (int32_t i = 0; i < count; i++) {
		if (list[i] == number)
			return true;
	}
	return false;
}

static void check_around(const cr_collider *c, v3d point, double reach, const int32_t *list, int32_t count)
{
	for (int32_t i = 0; i < c->triangle_count; i++) {
		v3d corner[3];
		cr_collider_triangle(c, i, corner);
		const double distance = v3d_length(v3d_sub(cr_closest_on_triangle(point, corner).point, point));
		const bool listed = holds(list, count, i);
		CHECK(listed || distance > reach);
		// What is listed is not far: boxes and planes tell most.
		CHECK(!listed || distance < 3 * reach + 1);
	}
}

TEST(ball_way, triangles_around_a_point_against_all)
{
	uint64_t seed = 2;
	kit k;
	make_kit(&k);
	int most = 0;
	for (int i = 0; i < 60; i++) {
		const cr_collider *c = &k.mesh[i % MESHES]->collider;
		const v3d point = random_vector(&seed, i % 7 == 0 ? 20 : 1);
		const double reach = i % 5 == 0 ? 0 : test_random_double(&seed, 0, 0.5);
		int32_t list[1024], other[1024];
		const int32_t count = k.kernels->around(c, point, reach, 1024, list);
		REQUIRE(count <= 1024);
		check_around(c, point, reach, list, count);
		most = count > most ? count : most;
		for (int s = 0; s < FIXTURE_SIMD_COUNT; s++) {
			const cr_bvh_kernels *kernels = fixture_kernels(fixture_all_simd[s]);
			if (!kernels)
				continue;
			CHECK_INT(kernels->around(c, point, reach, 3, other), count); // room for three
			CHECK_INT(kernels->around(c, point, reach, 1024, other), count);
			for (int32_t n = 0; n < count; n++)
				CHECK_INT(other[n], list[n]);
		}
	}
	CHECK(most > 10);
	free_kit(&k);
}
