// Times of impact of meshes: against all triangles at fine steps, meshes against the least distance of meshes at fine steps,
// planes that move and turn, and what begins inside, ends apart, or has no triangles.
#include "fixture.h"

#include "carom/collide.h"
#include "carom/carom.h"
#include "frame/shape_table.h"
#include "geom/separation.h"

#include <math.h>
#include <string.h>

enum { MESHES = 5, FINE_STEPS = 120 };

static const double TOLERANCE = 1e-4;

/// Concave and convex, closed and open, and a height field.
static void make_meshes(carom_context *context, carom_mesh *meshes[MESHES])
{
	static float heights[5 * 5];
	for (int i = 0; i < 25; i++)
		heights[i] = 0.2f * (float)(i * 7 % 5);
	meshes[0] = fixture_torus_mesh(context, 8, 6, 0.4, 0.3);
	meshes[1] = fixture_box_mesh(context, 0.7, 0.5, 0.3);
	meshes[2] = fixture_sheet_mesh(context, 4, 2);
	meshes[3] = fixture_sphere_mesh(context, 0.6, 6);
	REQUIRE(carom_create_height_field(context, 5, 5, heights, (double[2]){ 0.4, 0.4 }, 0.5, &meshes[4]) == CAROM_SUCCESS);
}

static void free_meshes(carom_mesh *meshes[MESHES])
{
	for (int i = 0; i < MESHES; i++)
		carom_release_mesh(meshes[i]);
}

static carom_mesh *random_hull(carom_context *context, uint64_t *seed, int count)
{
	float points[3 * 20];
	for (int i = 0; i < 3 * count; i++)
		points[i] = (float)test_random_double(seed, -0.5, 0.5);
	return fixture_hull_mesh(context, points, count);
}

static carom_shape random_convex(uint64_t *seed, const carom_mesh *hull)
{
	const double x = test_random_double(seed, 0.1, 0.5), y = test_random_double(seed, 0.1, 0.5);
	carom_shape shapes[7] = { fixture_sphere(x), fixture_box(x, y, 0.2), fixture_capsule(x, y), fixture_cylinder(x, y),
		fixture_cone(x, y), fixture_ellipsoid(x, y, 0.3), fixture_hull(hull) };
	carom_shape shape = shapes[test_random(seed) % 7];
	shape.rounding = test_random(seed) % 3 == 0 ? 0.05 : 0;
	return shape;
}

/// A motion of any turn; some only turn, some only travel, some rest.
static carom_motion random_motion(uint64_t *seed)
{
	carom_motion motion = { fixture_random_pose(seed, 2.5), fixture_random_pose(seed, 2.5) };
	const uint64_t kind = test_random(seed) % 8;
	if (kind == 0)
		motion.end.position = motion.begin.position;
	if (kind == 1 || kind == 2)
		motion.end.orientation = motion.begin.orientation;
	return kind == 3 ? (carom_motion){ motion.begin, motion.begin } : motion;
}

/// The least gap of a convex shape to all triangles of a mesh.
static double dull_gap(const carom_shape *shape, carom_pose pose, const carom_mesh *mesh, carom_pose mesh_pose)
{
	const cr_convex convex = cr_convex_of(shape);
	const float *v = carom_mesh_get_vertices(mesh);
	const int32_t *t = carom_mesh_get_triangles(mesh);
	cr_relative at;
	cr_relative_pose(&pose, &mesh_pose, &at.rotation, &at.position);
	double least = INFINITY;
	for (int32_t i = 0; i < carom_mesh_get_report(mesh)->triangle_count; i++) {
		cr_convex triangle = { .core = CR_CORE_TRIANGLE };
		for (int k = 0; k < 3; k++)
			triangle.corner[k] = v3d_from_floats(&v[3 * t[3 * i + k]]);
		cr_separation s;
		cr_convex_separation(&convex, &triangle, &at, &s);
		least = fmin(least, s.gap);
	}
	return least;
}

/// The distance of two meshes; 0 where they meet.
static double mesh_gap(const carom_mesh *a, carom_pose pa, const carom_mesh *b, carom_pose pb, bool *inside)
{
	carom_mesh_gap gap;
	bool found;
	REQUIRE(carom_mesh_distance(a, &pa, b, &pb, INFINITY, &found, &gap) == CAROM_SUCCESS && found);
	*inside = gap.a_inside_b || gap.b_inside_a;
	return gap.distance;
}

/// The least height of a shape over a plane: of the vertices of a mesh.
static double plane_gap(carom_context *context, const carom_shape *shape, carom_pose pose, carom_pose plane_pose)
{
	const carom_shape plane = { .type = CAROM_PLANE };
	if (shape->type != CAROM_MESH) {
		carom_separation s;
		REQUIRE(carom_distance(context, shape, &pose, &plane, &plane_pose, &s) == CAROM_SUCCESS);
		return s.distance;
	}
	const float *v = carom_mesh_get_vertices(shape->mesh);
	double least = INFINITY;
	for (int32_t i = 0; i < carom_mesh_get_report(shape->mesh)->vertex_count; i++) {
		const carom_vec3 p = carom_transform_point(pose, v3d_from_floats(&v[3 * i]));
		least = fmin(least, carom_inverse_transform_point(plane_pose, p).z);
	}
	return least;
}

/// A pair that moves, and how its gap is measured without the code under test.
typedef struct pair {
	carom_context *context;
	carom_shape shape[2];
	carom_motion motion[2];
} pair;

static double gap_at(const pair *p, double t)
{
	const carom_pose pa = carom_motion_pose(&p->motion[0], t), pb = carom_motion_pose(&p->motion[1], t);
	bool inside;
	if (p->shape[0].type == CAROM_PLANE)
		return plane_gap(p->context, &p->shape[1], pb, pa);
	if (p->shape[1].type == CAROM_PLANE)
		return plane_gap(p->context, &p->shape[0], pa, pb);
	if (p->shape[0].type == CAROM_MESH && p->shape[1].type == CAROM_MESH)
		return mesh_gap(p->shape[0].mesh, pa, p->shape[1].mesh, pb, &inside);
	return p->shape[0].type == CAROM_MESH ? dull_gap(&p->shape[1], pb, p->shape[0].mesh, pa)
										  : dull_gap(&p->shape[0], pa, p->shape[1].mesh, pb);
}

/// Does separation belong to time? Where no mesh takes part and the shapes stay apart, it is that of the last look.
static bool tells_place(const pair *p, const carom_toi *toi)
{
	return toi->status != CAROM_TOI_APART || p->shape[0].type == CAROM_MESH || p->shape[1].type == CAROM_MESH;
}

/// No surfaces meet before the time, and they are within the tolerance at it. Whether one begins
/// inside the other is told by the caller.
static void check_against_fine_steps(const pair *p, const carom_toi *toi, bool begins_inside)
{
	const double begin = gap_at(p, 0);
	if (begins_inside || begin <= 0) {
		CHECK_INT(toi->status, CAROM_TOI_TOUCHING);
		CHECK_NEAR(toi->time, 0, 0);
		return;
	}
	for (int i = 0; i <= FINE_STEPS; i++) {
		const double t = (double)i / FINE_STEPS;
		if (t > toi->time)
			break;
		CHECK(gap_at(p, t) > 0);
	}
	const double then = gap_at(p, toi->time);
	if (tells_place(p, toi))
		CHECK_NEAR(toi->separation.distance, then, 1e-7);
	if (toi->status == CAROM_TOI_APART) {
		CHECK_NEAR(toi->time, 1, 0);
		return;
	}
	CHECK(toi->status == CAROM_TOI_IMPACT || toi->status == CAROM_TOI_TOUCHING);
	CHECK(then > 0);
	CHECK(then <= TOLERANCE * (1 + 1e-4));
	CHECK_NEAR(v3d_length(v3d_sub(toi->separation.point_a, toi->separation.point_b)), then, 1e-7);
}

static bool middle_is_inside(carom_shape shape, carom_pose pose, const carom_mesh *mesh, carom_pose mesh_pose)
{
	const cr_convex convex = cr_convex_of(&shape);
	const v3d place = carom_transform_point(pose, cr_convex_centre(&convex));
	bool inside;
	REQUIRE(carom_mesh_contains(mesh, carom_inverse_transform_point(mesh_pose, place), &inside) == CAROM_SUCCESS);
	return inside;
}

TEST(mover, convex_shapes_against_all_triangles)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 1;
	carom_mesh *meshes[MESHES], *hull = random_hull(context, &seed, 20);
	make_meshes(context, meshes);
	int statuses[4] = { 0 };
	for (int round = 0; round < 600 / TEST_FEWER; round++) {
		const carom_mesh *mesh = meshes[round % MESHES];
		pair p = { context, { random_convex(&seed, hull), fixture_of_mesh(mesh) },
			{ random_motion(&seed), random_motion(&seed) } };
		const bool inside = middle_is_inside(p.shape[0], p.motion[0].begin, mesh, p.motion[1].begin);
		const int at = round % 2; // where the convex shape is
		if (at) {
			const carom_motion motion = p.motion[0];
			p = (pair){ context, { p.shape[1], p.shape[0] }, { p.motion[1], motion } };
		}
		carom_toi toi;
		REQUIRE(carom_time_of_impact(context, &p.shape[0], &p.motion[0], &p.shape[1], &p.motion[1], TOLERANCE, &toi) ==
			CAROM_SUCCESS);
		check_against_fine_steps(&p, &toi, inside);
		CHECK_INT(at ? toi.triangle_b : toi.triangle_a, -1);
		CHECK((at ? toi.triangle_a : toi.triangle_b) >= 0);
		statuses[toi.status]++;
		if (test_failures()) {
			CHECK_INT(round, -1);
			break;
		}
	}
	CHECK(statuses[CAROM_TOI_APART] > 100 / TEST_FEWER);
	CHECK(statuses[CAROM_TOI_IMPACT] > 100 / TEST_FEWER);
	CHECK(statuses[CAROM_TOI_TOUCHING] > 5 / TEST_FEWER);
	CHECK_INT(statuses[CAROM_TOI_UNDECIDED], 0);
	free_meshes(meshes);
	carom_release_mesh(hull);
	carom_destroy_context(context);
}

TEST(mover, meshes_against_their_least_distance)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 2;
	carom_mesh *meshes[MESHES];
	make_meshes(context, meshes);
	int statuses[4] = { 0 };
	for (int round = 0; round < 600 / TEST_FEWER; round++) {
		const carom_mesh *a = meshes[round % MESHES], *b = meshes[(round / MESHES) % MESHES];
		const pair p = { context, { fixture_of_mesh(a), fixture_of_mesh(b) }, { random_motion(&seed), random_motion(&seed) } };
		bool inside;
		mesh_gap(a, p.motion[0].begin, b, p.motion[1].begin, &inside);
		carom_toi toi;
		REQUIRE(carom_time_of_impact(context, &p.shape[0], &p.motion[0], &p.shape[1], &p.motion[1], TOLERANCE, &toi) ==
			CAROM_SUCCESS);
		check_against_fine_steps(&p, &toi, inside);
		CHECK(toi.triangle_a >= -1 && toi.triangle_b >= -1);
		statuses[toi.status]++;
		if (test_failures()) {
			CHECK_INT(round, -1);
			break;
		}
	}
	CHECK(statuses[CAROM_TOI_APART] > 100 / TEST_FEWER);
	CHECK(statuses[CAROM_TOI_IMPACT] > 100 / TEST_FEWER);
	CHECK(statuses[CAROM_TOI_TOUCHING] > 5 / TEST_FEWER);
	free_meshes(meshes);
	carom_destroy_context(context);
}

/// A plane far below most of what moves, so that it is not met from the first.
static carom_motion random_plane_motion(uint64_t *seed)
{
	carom_motion motion = random_motion(seed);
	if (test_random(seed) % 2)
		motion.end.orientation = motion.begin.orientation;
	for (int i = 0; i < 2; i++) {
		carom_pose *pose = i ? &motion.end : &motion.begin;
		const carom_vec3 up = carom_rotate(pose->orientation, (carom_vec3){ 0, 0, 1 });
		pose->position = v3d_mad(pose->position, -test_random_double(seed, 0, 5), up);
	}
	return motion;
}

TEST(mover, planes_that_move_against_fine_steps)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 7;
	carom_mesh *meshes[MESHES], *hull = random_hull(context, &seed, 20);
	make_meshes(context, meshes);
	int statuses[4] = { 0 };
	for (int round = 0; round < 2000; round++) {
		const bool of_mesh = round / 2 % 2, first = round % 2;
		const carom_shape shape = of_mesh ? fixture_of_mesh(meshes[round / 4 % MESHES]) : random_convex(&seed, hull);
		pair p = { context, { shape, { .type = CAROM_PLANE } }, { random_motion(&seed), random_plane_motion(&seed) } };
		if (first)
			p = (pair){ context, { p.shape[1], p.shape[0] }, { p.motion[1], p.motion[0] } };
		carom_toi toi;
		REQUIRE(carom_time_of_impact(context, &p.shape[0], &p.motion[0], &p.shape[1], &p.motion[1], TOLERANCE, &toi) ==
			CAROM_SUCCESS);
		check_against_fine_steps(&p, &toi, false);
		const bool told = tells_place(&p, &toi);
		const carom_vec3 up =
			carom_rotate(carom_motion_pose(&p.motion[!first], toi.time).orientation, (carom_vec3){ 0, 0, first ? -1 : 1 });
		CHECK(!told || v3d_length(v3d_sub(toi.separation.normal, up)) < 1e-9);
		// The point on the plane lies on it.
		const carom_vec3 on = first ? toi.separation.point_a : toi.separation.point_b;
		CHECK(!told || fabs(carom_inverse_transform_point(carom_motion_pose(&p.motion[!first], toi.time), on).z) < 1e-9);
		CHECK_INT((first ? toi.triangle_b : toi.triangle_a) >= 0, of_mesh);
		statuses[toi.status]++;
		if (test_failures()) {
			CHECK_INT(round, -1);
			break;
		}
	}
	CHECK(statuses[CAROM_TOI_APART] > 100);
	CHECK(statuses[CAROM_TOI_IMPACT] > 100);
	CHECK(statuses[CAROM_TOI_TOUCHING] > 100);
	CHECK_INT(statuses[CAROM_TOI_UNDECIDED], 0);
	carom_release_mesh(hull);
	free_meshes(meshes);
	carom_destroy_context(context);
}

/// Returns what carom_time_of_impact tells, with the status that is expected.
static carom_toi expect_toi(carom_context *context, const carom_shape *a, const carom_motion *motion_a, const carom_shape *b,
	const carom_motion *motion_b, double tolerance, carom_toi_status status)
{
	carom_toi toi;
	REQUIRE(carom_time_of_impact(context, a, motion_a, b, motion_b, tolerance, &toi) == CAROM_SUCCESS);
	CHECK_INT(toi.status, status);
	return toi;
}

TEST(mover, known_times_of_planes)
{
	carom_context *context = fixture_context(1);
	const carom_shape ball = fixture_sphere(0.5), plane = { .type = CAROM_PLANE };
	carom_toi toi;
	// The plane's own place does not count: here and a million metres aside.
	for (int i = 0; i < 2; i++) {
		const carom_pose ground = fixture_at(i * 1e6, 0, 1);
		const carom_motion rest = { ground, ground }, fall = carom_straight_motion(fixture_at(0, 0, 11), (v3d){ 3, 0, -20 });
		toi = expect_toi(context, &ball, &fall, &plane, &rest, 1e-6, CAROM_TOI_IMPACT);
		CHECK(toi.time <= 9.5 / 20);
		CHECK_NEAR(toi.time, 9.5 / 20, 1e-6 / 20 + 1e-9);
		CHECK_NEAR(toi.separation.point_b.z, 1, 1e-9);
	}
	// A plane that tips about x by a right angle sweeps a ball at y = 5, one metre up: cos a = 5 sin a + 0.5.
	const carom_motion tip = { carom_pose_identity(), { { 0, 0, 0 }, fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI / 2) } };
	const carom_motion hold = { fixture_at(0, 5, 1), fixture_at(0, 5, 1) };
	toi = expect_toi(context, &ball, &hold, &plane, &tip, 1e-6, CAROM_TOI_IMPACT);
	const double angle = acos(0.5 / sqrt(26)) - atan(5);
	CHECK(toi.time <= angle / (FIXTURE_PI / 2));
	CHECK_NEAR(toi.time, angle / (FIXTURE_PI / 2), 1e-6);
	// A plane that turns about its own normal goes nowhere.
	const carom_motion spin = { carom_pose_identity(), { { 0, 0, 0 }, fixture_turn((v3d){ 0, 0, 1 }, 3) } };
	toi = expect_toi(context, &ball, &hold, &plane, &spin, 1e-6, CAROM_TOI_APART);
	CHECK(toi.steps <= 2);
	carom_destroy_context(context);
}

// A hull is a mesh too: both ways must tell the time within what the tolerance allows.
TEST(mover, hulls_and_their_meshes_meet_at_one_time)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 3;
	int met = 0;
	for (int round = 0; round < 200; round++) {
		carom_mesh *hull[2];
		for (int i = 0; i < 2; i++)
			hull[i] = random_hull(context, &seed, 16);
		const carom_motion motion[2] = { random_motion(&seed), random_motion(&seed) };
		carom_toi toi[4];
		for (int i = 0; i < 4; i++) {
			const carom_shape a = i & 1 ? fixture_of_mesh(hull[0]) : fixture_hull(hull[0]),
							  b = i & 2 ? fixture_of_mesh(hull[1]) : fixture_hull(hull[1]);
			REQUIRE(carom_time_of_impact(context, &a, &motion[0], &b, &motion[1], 1e-7, &toi[i]) == CAROM_SUCCESS);
			CHECK_INT(toi[i].status, toi[0].status);
			// The gap closes no faster than the shapes move; a grazing one closes slowly.
			CHECK_NEAR(toi[i].time, toi[0].time, 2e-3);
		}
		met += toi[0].status == CAROM_TOI_IMPACT;
		carom_release_mesh(hull[0]);
		carom_release_mesh(hull[1]);
	}
	CHECK(met > 10);
	carom_destroy_context(context);
}

TEST(mover, known_times)
{
	carom_context *context = fixture_context(1);
	carom_mesh *sheet = fixture_sheet_mesh(context, 40, 20), *torus = fixture_torus_mesh(context, 32, 16, 0.25, 0);
	const carom_shape ball = fixture_sphere(0.2), ground = fixture_of_mesh(sheet), ring = fixture_of_mesh(torus);
	carom_toi toi;
	// A bullet through a sheet without thickness, here and a million metres away.
	for (int i = 0; i < 2; i++) {
		const double x = i ? 1e6 : 0;
		const carom_motion fall = carom_straight_motion(fixture_at(x + 0.3, -7.1, 50), (v3d){ 0, 0, -100 });
		const carom_motion rest = { fixture_at(x, -7, 0), fixture_at(x, -7, 0) };
		toi = expect_toi(context, &ball, &fall, &ground, &rest, 1e-5, CAROM_TOI_IMPACT);
		CHECK(toi.time <= 0.498);
		CHECK_NEAR(toi.time, 0.498, 1e-5 / 100 + 1e-9);
		CHECK_NEAR(toi.separation.normal.z, 1, 1e-9);
		CHECK_NEAR(toi.separation.point_b.z, 0, 1e-9);
		CHECK_NEAR(toi.separation.point_b.x, x + 0.3, 1e-6);
		CHECK_INT(toi.triangle_a, -1);
		CHECK(toi.triangle_b >= 0);
	}
	// A ball flies through the hole of a ring, whose box it meets; and a bigger one does not.
	const carom_motion through = carom_straight_motion(fixture_at(0, 0, 5), (v3d){ 0, 0, -10 });
	toi = expect_toi(context, &ball, &through, &ring, NULL, 1e-5, CAROM_TOI_APART);
	const carom_shape thick = fixture_sphere(0.9);
	toi = expect_toi(context, &thick, &through, &ring, NULL, 1e-5, CAROM_TOI_IMPACT);
	// Two rings that are linked: one turns in the other's hole without touching it.
	const carom_motion linked = { { { 1, 0, 0 }, fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI / 2) },
		{ { 1, 0, 0 }, fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI / 2 + 0.2) } };
	toi = expect_toi(context, &ring, &linked, &ring, NULL, 1e-5, CAROM_TOI_APART);
	// Pulled apart they meet: tubes of radius 0.25 whose middles are a metre apart.
	carom_motion pulled = linked;
	pulled.end = pulled.begin;
	pulled.end.position.x = 3;
	toi = expect_toi(context, &ring, &pulled, &ring, NULL, 1e-5, CAROM_TOI_IMPACT);
	CHECK_NEAR(toi.time, 0.25, 0.02);
	carom_release_mesh(sheet);
	carom_release_mesh(torus);
	carom_destroy_context(context);
}

// A closed mesh is solid: what begins inside touches, and the separation leads it out.
TEST(mover, what_begins_inside_is_led_out)
{
	carom_context *context = fixture_context(1);
	carom_mesh *room = fixture_box_mesh(context, 2, 2, 2), *crate = fixture_box_mesh(context, 0.1, 0.1, 0.1);
	const carom_shape solid = fixture_of_mesh(room), small = fixture_of_mesh(crate), ball = fixture_sphere(0.1);
	const carom_motion inside = carom_straight_motion(fixture_at(0.5, 1.5, 0), (v3d){ 0, 9, 0 });
	carom_toi toi;
	for (int i = 0; i < 2; i++) {
		toi = expect_toi(context, i ? &small : &ball, &inside, &solid, NULL, 1e-3, CAROM_TOI_TOUCHING);
		CHECK_NEAR(toi.time, 0, 0);
		CHECK_NEAR(toi.separation.distance, -0.6, 1e-6);
		CHECK_NEAR(toi.separation.normal.y, 1, 1e-9);
		CHECK_NEAR(toi.separation.point_a.y, 1.4, 1e-6);
		CHECK_NEAR(toi.separation.point_b.y, 2, 1e-6);
		toi = expect_toi(context, &solid, NULL, i ? &small : &ball, &inside, 1e-3, CAROM_TOI_TOUCHING);
		CHECK_NEAR(toi.separation.distance, -0.6, 1e-6);
		CHECK_NEAR(toi.separation.normal.y, -1, 1e-9);
		CHECK_NEAR(toi.separation.point_b.y, 1.4, 1e-6);
	}
	// Above an open sheet or below it nothing is inside.
	carom_mesh *sheet = fixture_sheet_mesh(context, 4, 4);
	const carom_shape ground = fixture_of_mesh(sheet);
	const carom_motion below = carom_straight_motion(fixture_at(0, 0, -0.5), (v3d){ 0, 0, -1 });
	toi = expect_toi(context, &ball, &below, &ground, NULL, 1e-3, CAROM_TOI_APART);
	carom_release_mesh(sheet);
	carom_release_mesh(room);
	carom_release_mesh(crate);
	carom_destroy_context(context);
}

TEST(mover, meshes_without_triangles_are_near_nothing)
{
	carom_context *context = fixture_context(1);
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ soup.vertices, 0, CAROM_FLOAT32 };
	def.triangles = soup.triangles;
	carom_mesh *empty, *box = fixture_box_mesh(context, 1, 1, 1);
	REQUIRE(carom_create_mesh(context, &def, NULL, &empty) == CAROM_SUCCESS);
	const carom_shape shapes[4] = { fixture_of_mesh(empty), fixture_of_mesh(box), fixture_sphere(1), { .type = CAROM_PLANE } };
	carom_toi toi;
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < 2; k++) {
			REQUIRE(
				carom_time_of_impact(context, &shapes[k ? 0 : i], NULL, &shapes[k ? i : 0], NULL, 1e-3, &toi) == CAROM_SUCCESS);
			CHECK_INT(toi.status, CAROM_TOI_APART);
			CHECK_INT(toi.triangle_a, -1);
			CHECK_INT(toi.triangle_b, -1);
		}
	}
	carom_release_mesh(empty);
	carom_release_mesh(box);
	carom_destroy_context(context);
}

TEST(mover, misuse_of_meshes)
{
	carom_context *context = fixture_context(1), *other = fixture_context(1);
	carom_mesh *foreign = fixture_box_mesh(other, 1, 1, 1);
	const carom_shape ball = fixture_sphere(1);
	carom_shape mesh = { .type = CAROM_MESH };
	carom_toi toi;
	fixture_expect_error(context, carom_time_of_impact(context, &mesh, NULL, &ball, NULL, 1, &toi), CAROM_INVALID_ARGUMENT,
		"carom_time_of_impact: a: shape.mesh is NULL");
	mesh.mesh = foreign;
	fixture_expect_error(context, carom_time_of_impact(context, &ball, NULL, &mesh, NULL, 1, &toi), CAROM_INVALID_ARGUMENT,
		"shape.mesh was made from another context");
	fixture_expect_error(
		other, carom_time_of_impact(other, &mesh, NULL, NULL, NULL, 1, &toi), CAROM_INVALID_ARGUMENT, "b is NULL");
	carom_release_mesh(foreign);
	carom_destroy_context(context);
	carom_destroy_context(other);
}

TEST(mover, takes_no_memory)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *meshes[MESHES];
	make_meshes(context, meshes);
	const long long calls = atomic_load(&heap.calls);
	uint64_t seed = 5;
	for (int round = 0; round < 25; round++) {
		const carom_shape a = fixture_of_mesh(meshes[round % MESHES]), b = fixture_of_mesh(meshes[round / MESHES]);
		const carom_motion ma = random_motion(&seed), mb = random_motion(&seed);
		carom_toi toi;
		REQUIRE(carom_time_of_impact(context, &a, &ma, &b, &mb, TOLERANCE, &toi) == CAROM_SUCCESS);
	}
	CHECK_INT(atomic_load(&heap.calls), calls);
	free_meshes(meshes);
	carom_destroy_context(context);
}

// The work follows the place where the surfaces meet, not their size.
TEST(mover, large_meshes_take_few_separations)
{
	carom_context *context = fixture_context(1);
	carom_mesh *ground = fixture_sheet_mesh(context, 60, 60), *ring = fixture_torus_mesh(context, 60, 30, 0.3, 0.2);
	const carom_shape field = fixture_of_mesh(ground), torus = fixture_of_mesh(ring), ball = fixture_sphere(0.3);
	uint64_t seed = 6;
	int most[2] = { 0 };
	for (int round = 0; round < 40; round++) {
		carom_motion fall = { fixture_random_pose(&seed, 10), fixture_random_pose(&seed, 10) };
		fall.begin.position.z = 10;
		fall.end.position.z = -10;
		for (int i = 0; i < 2; i++) {
			carom_toi toi;
			toi = expect_toi(context, i ? &torus : &ball, &fall, &field, NULL, 1e-4, CAROM_TOI_IMPACT);
			most[i] = toi.steps > most[i] ? toi.steps : most[i];
		}
	}
	// 7,200 triangles of ground, and 26 million pairs with the ring.
	CHECK(most[0] < 150);
	CHECK(most[1] < 5000);
	carom_release_mesh(ground);
	carom_release_mesh(ring);
	carom_destroy_context(context);
}

/// A mesh of two balls, of which the second lies in a large one: the first, which all corners before it belong to, does not.
TEST(mover, any_piece_may_begin_inside)
{
	static fixture_soup soup;
	soup = (fixture_soup){ 0 };
	fixture_soup_sphere(&soup, (v3d){ 5, 0, 0 }, 0.2, 6);
	fixture_soup_sphere(&soup, (v3d){ 0, 0.7, 0 }, 0.2, 6);
	carom_context *context = fixture_context(1);
	carom_mesh *balls = fixture_mesh(context, &soup), *large = fixture_sphere_mesh(context, 1, 12);
	const carom_shape a = fixture_of_mesh(balls), b = fixture_of_mesh(large);
	CHECK_INT(carom_mesh_get_report(balls)->components, 2);
	for (int swapped = 0; swapped < 2; swapped++) {
		carom_toi toi;
		REQUIRE(carom_time_of_impact(context, swapped ? &b : &a, NULL, swapped ? &a : &b, NULL, 1e-3, &toi) == CAROM_SUCCESS);
		CHECK_INT(toi.status, CAROM_TOI_TOUCHING);
		CHECK(toi.separation.distance < -0.2);
		CHECK((swapped ? -1 : 1) * toi.separation.normal.y > 0.8); // the nearest way out of the large one
	}
	carom_release_mesh(balls);
	carom_release_mesh(large);
	carom_destroy_context(context);
}
