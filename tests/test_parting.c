// Distances of meshes below zero: the move that parts two overlapping shapes. Dull judges: all
// pairs of triangles along many directions, exact intersections after the move, and hulls, whose
// least way is known.
#include "fixture.h"
#include "oracle.h"

#include "bvh/inner_balls.h"
#include "bvh/parting.h"
#include "carom/collide.h"
#include "carom/carom.h"
#include "frame/body.h"
#include "frame/shape_table.h"
#include "geom/separation.h"

#include <stdlib.h>
#include <string.h>

static carom_separation distance_of(carom_context *context, carom_shape a, carom_pose pa, carom_shape b, carom_pose pb)
{
	carom_separation s;
	REQUIRE(carom_distance(context, &a, &pa, &b, &pb, &s) == CAROM_SUCCESS);
	return s;
}

/// The pose of A after it was moved out.
static carom_pose moved_out(carom_pose pose, const carom_separation *s)
{
	pose.position = v3d_mad(pose.position, -s->distance, s->normal);
	return pose;
}

static bool meshes_are_apart(const carom_mesh *a, carom_pose pa, const carom_mesh *b, carom_pose pb)
{
	int32_t count;
	bool found;
	carom_mesh_gap gap;
	REQUIRE(carom_mesh_intersections(a, &pa, b, &pb, 0, NULL, &count) == CAROM_SUCCESS);
	REQUIRE(carom_mesh_distance(a, &pa, b, &pb, INFINITY, &found, &gap) == CAROM_SUCCESS);
	return count == 0 && !gap.a_inside_b && !gap.b_inside_a;
}

static bool convex_is_apart(const cr_convex *convex, carom_pose pose, const carom_mesh *mesh, carom_pose mesh_pose);

// ---- One direction ----

/// The moves along d at which triangle a meets b, by all pairs of features that may touch first or
/// last.
static bool dull_slide(const v3d a[3], const v3d b[3], v3d d, double *enter, double *leave)
{
	*enter = INFINITY;
	*leave = -INFINITY;
	for (int side = 0; side < 2; side++) {
		const v3d *t = side ? a : b, *points = side ? b : a;
		const v3d n = v3d_cross(v3d_sub(t[1], t[0]), v3d_sub(t[2], t[0]));
		for (int i = 0; i < 3; i++) {
			const double s = v3d_dot(n, v3d_sub(t[0], points[i])) / v3d_dot(n, d);
			const v3d p = v3d_mad(points[i], s, d);
			bool inside = true;
			for (int k = 0; k < 3; k++)
				inside = inside && v3d_dot(n, v3d_cross(v3d_sub(t[(k + 1) % 3], t[k]), v3d_sub(p, t[k]))) >= 0;
			if (inside) {
				*enter = fmin(*enter, side ? -s : s);
				*leave = fmax(*leave, side ? -s : s);
			}
		}
	}
	for (int i = 0; i < 9; i++) {
		const v3d p = a[i / 3], q = b[i % 3], u = v3d_sub(a[(i / 3 + 1) % 3], p), v = v3d_sub(b[(i % 3 + 1) % 3], q);
		const v3d w = v3d_sub(q, p), n = v3d_cross(u, v), across_u = v3d_cross(v, d), across_v = v3d_cross(u, d);
		const double s = v3d_dot(n, w) / v3d_dot(n, d), x = v3d_dot(w, across_u) / v3d_dot(u, across_u),
					 y = -v3d_dot(w, across_v) / v3d_dot(v, across_v);
		if (x >= 0 && x <= 1 && y >= 0 && y <= 1) {
			*enter = fmin(*enter, s);
			*leave = fmax(*leave, s);
		}
	}
	return *leave >= *enter;
}

typedef struct interval {
	double enter, leave;
} interval;

static int by_enter(const void *p, const void *q)
{
	const double a = ((const interval *)p)->enter, b = ((const interval *)q)->enter;
	return (a > b) - (a < b);
}

/// A mesh of one piece for the oracle.
static oracle_shape oracle_of(const carom_mesh *mesh)
{
	const cr_topology *t = &mesh->topology;
	return (oracle_shape){ t->vertices, t->vertex_count, t->triangles, t->triangle_count };
}

static bool solids_overlap_at(const oracle_body *a, const oracle_body *b, v3d move)
{
	oracle_body there = *a;
	there.vertices = malloc((size_t)a->shape->vertex_count * sizeof(v3d));
	for (int32_t i = 0; i < a->shape->vertex_count; i++)
		there.vertices[i] = v3d_add(a->vertices[i], move);
	const bool inside = oracle_point_inside(b, there.vertices[0]) || oracle_point_inside(&there, b->vertices[0]);
	free(there.vertices);
	return inside;
}

/// The first clear move of A along d: all pairs of triangles.
static double dull_way(const oracle_body *a, const oracle_body *b, v3d d)
{
	const int32_t most = a->shape->triangle_count * b->shape->triangle_count;
	interval *list = malloc((size_t)most * sizeof *list);
	int32_t count = 0;
	for (int32_t i = 0; i < most; i++) {
		const int32_t *ta = &a->shape->triangles[3 * (i % a->shape->triangle_count)],
					  *tb = &b->shape->triangles[3 * (i / a->shape->triangle_count)];
		const v3d pa[3] = { a->vertices[ta[0]], a->vertices[ta[1]], a->vertices[ta[2]] };
		const v3d pb[3] = { b->vertices[tb[0]], b->vertices[tb[1]], b->vertices[tb[2]] };
		interval s;
		if (dull_slide(pa, pb, d, &s.enter, &s.leave) && s.leave > 0)
			list[count++] = s;
	}
	qsort(list, (size_t)count, sizeof *list, by_enter);
	double at = 0;
	for (int32_t i = 0;; i++) {
		for (; i < count && list[i].enter <= at; i++)
			at = fmax(at, list[i].leave);
		if (!solids_overlap_at(a, b, v3d_scale(d, at + 1e-9)))
			break;
		REQUIRE(i < count);
		at = list[i].leave;
	}
	free(list);
	return at;
}

/// Two meshes as the search sees them.
typedef struct stage {
	cr_solid solid[2];
	cr_solid_pair pair;
	cr_barriers known;
	cr_arena arena;
} stage;

static void set_stage(stage *s, carom_context *context, const carom_mesh *a, carom_pose pa, const carom_mesh *b, carom_pose pb)
{
	const carom_mesh *meshes[2] = { a, b };
	cr_relative r;
	memset(s, 0, sizeof *s);
	cr_arena_init(&s->arena, context);
	for (int i = 0; i < 2; i++)
		REQUIRE(cr_solid_of_mesh(
			&s->arena, &meshes[i]->collider, &meshes[i]->facets, carom_mesh_get_report(meshes[i])->components, &s->solid[i]));
	cr_relative_pose(&pa, &pb, &r.rotation, &r.position);
	cr_prepare_pair(&s->pair, &s->solid[0], &s->solid[1], &r, 0, fixture_kernels(CAROM_SIMD_SCALAR));
}

static v3d random_direction(uint64_t *seed)
{
	const v3d d = { test_random_double(seed, -1, 1), test_random_double(seed, -1, 1), test_random_double(seed, -1, 1) };
	return v3d_length(d) > 0.1 ? v3d_normalize(d) : random_direction(seed);
}

TEST(parting, the_way_along_a_direction_is_that_of_all_pairs_of_triangles)
{
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 8, 5, 0.4, 0.3), *box = fixture_box_mesh(context, 0.3, 0.4, 0.5);
	const carom_mesh *meshes[2] = { torus, box };
	const oracle_shape shapes[2] = { oracle_of(torus), oracle_of(box) };
	uint64_t seed = 11;
	int overlapping = 0;
	for (int round = 0; round < 120; round++) {
		const int ka = round & 1, kb = round >> 1 & 1;
		const carom_pose pa = { { 0, 0, 0 }, { 0, 0, 0, 1 } }, pb = fixture_random_pose(&seed, round % 3 ? 1 : 0.3);
		oracle_body a = oracle_place(&shapes[ka], &pa), b = oracle_place(&shapes[kb], &pb);
		stage s;
		set_stage(&s, context, meshes[ka], pa, meshes[kb], pb);
		for (int i = 0; i < 12; i++) {
			const v3d d = random_direction(&seed);
			const double dull = dull_way(&a, &b, d);
			cr_clear_way way, cut;
			cr_find_clear_way(&s.pair, d, 0, INFINITY, &s.known, &way);
			CHECK_NEAR(way.length, dull, 1e-6);
			CHECK_INT(way.length > 0, dull > 0);
			overlapping += dull > 0;
			// A limit cuts what is longer, and nothing else; what is known already changes no
			// length.
			cr_find_clear_way(&s.pair, d, 0, way.length, &s.known, &cut);
			CHECK_NEAR(cut.length, way.length, 0);
			if (way.length > 0) {
				cr_find_clear_way(&s.pair, d, 0, 0.999 * way.length, &(cr_barriers){ .count = 0 }, &cut);
				CHECK(!(cut.length < INFINITY));
				CHECK(cut.blocked || dull > 0);
				CHECK(cut.passed > 0.999 * way.length && cut.passed <= way.length);
				// From where it is blocked for sure, the same way is found.
				cr_find_clear_way(&s.pair, d, 0.6 * way.length, INFINITY, &s.known, &cut);
				CHECK_NEAR(cut.length, way.length, 0);
			}
		}
		cr_arena_free(&s.arena);
		oracle_free(&a);
		oracle_free(&b);
	}
	CHECK(overlapping > 400);
	carom_release_mesh(torus);
	carom_release_mesh(box);
	carom_destroy_context(context);
}

// What the balls inside of two bodies tell of a direction, without any search: a move up to which
// all moves are blocked. It never passes the first clear one.
TEST(parting, balls_and_points_inside_never_lead_too_far)
{
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 24, 12, 0.4, 0.3), *ball = fixture_sphere_mesh(context, 0.5, 12);
	const carom_mesh *meshes[2] = { torus, ball };
	const carom_shape shapes[4] = { fixture_sphere(0.3), fixture_box(0.2, 0.3, 0.4), fixture_cone(0.4, 0.3),
		fixture_capsule(0.15, 0.4) };
	uint64_t seed = 31;
	int told = 0, near = 0, asked = 0;
	for (int round = 0; round < 60; round++) {
		const carom_pose pa = { { 0, 0, 0 }, { 0, 0, 0, 1 } }, pb = fixture_random_pose(&seed, 0.6);
		const cr_convex convex = cr_convex_of(&shapes[round / 2 % 4]);
		stage s;
		set_stage(&s, context, meshes[round & 1], pa, meshes[round >> 2 & 1], pb);
		if (round & 2) { // a convex body in the place of either
			const int side = round >> 3 & 1;
			cr_solid_of_convex(&convex, &s.solid[side]);
			const cr_relative r = s.pair.b_in_a;
			cr_prepare_pair(&s.pair, &s.solid[0], &s.solid[1], &r, 0, fixture_kernels(CAROM_SIMD_SCALAR));
		}
		cr_inner_balls balls = { .count = { 0, 0 } };
		cr_find_inner_balls(&s.pair, &balls);
		for (int i = 0; i < 40; i++) {
			const v3d d = random_direction(&seed);
			const double blocked = cr_blocked_until(&s.pair, &balls, d, INFINITY);
			cr_clear_way way;
			cr_find_clear_way(&s.pair, d, 0, INFINITY, &s.known, &way);
			CHECK(blocked <= way.length + 1e-9);
			CHECK(cr_blocked_until(&s.pair, &balls, d, 0.5 * way.length) <= way.length + 1e-9);
			asked += way.length > 0.2;
			told += way.length > 0.2 && blocked > 0;
			near += way.length > 0.2 && blocked > 0.8 * way.length;
			cr_add_inner_points(&s.pair, &way, &balls);
		}
		cr_arena_free(&s.arena);
	}
	CHECK(asked > 1000);
	CHECK(told > 0.6 * asked);
	CHECK(near > 0.3 * asked);
	carom_release_mesh(torus);
	carom_release_mesh(ball);
	carom_destroy_context(context);
}

/// Does a convex body, moved, meet a triangle of a mesh or lie inside it?
static bool convex_meets(const cr_convex *convex, const carom_mesh *mesh, cr_relative r, v3d move)
{
	r.position = v3d_add(r.position, move);
	bool inside;
	REQUIRE(carom_mesh_contains(mesh, v3d_add(m3d_mul(&r.rotation, cr_convex_centre(convex)), r.position), &inside) ==
		CAROM_SUCCESS);
	for (int32_t i = 0; i < mesh->topology.triangle_count && !inside; i++) {
		cr_convex t = { .core = CR_CORE_TRIANGLE };
		cr_separation s;
		cr_collider_triangle(&mesh->collider, i, t.corner);
		cr_convex_separation(&t, convex, &r, &s);
		inside = s.gap < 0;
	}
	return inside;
}

// Convex bodies: every move before the first clear one is blocked by a triangle or lies inside, and
// that one is not.
TEST(parting, the_way_of_a_convex_body_is_the_first_clear_one)
{
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 10, 6, 0.4, 0.3);
	carom_shape shapes[7] = { fixture_sphere(0.3), fixture_box(0.2, 0.3, 0.4), fixture_capsule(0.15, 0.4),
		fixture_cylinder(0.3, 0.2), fixture_cone(0.4, 0.3), fixture_ellipsoid(0.2, 0.3, 0.4), fixture_box(0.2, 0.2, 0.1) };
	shapes[6].rounding = 0.1;
	uint64_t seed = 17;
	int overlapping = 0;
	for (int round = 0; round < 70; round++) {
		const cr_convex convex = cr_convex_of(&shapes[round % 7]);
		const carom_pose pa = fixture_random_pose(&seed, 0.8), pb = { { 0, 0, 0 }, { 0, 0, 0, 1 } };
		const v3d d = random_direction(&seed);
		cr_solid solids[2];
		cr_solid_pair pair;
		cr_relative r, back;
		cr_barriers known = { .count = 0 };
		cr_clear_way way;
		cr_solid_of_convex(&convex, &solids[0]);
		REQUIRE(cr_solid_of_mesh(NULL, &torus->collider, &torus->facets, 1, &solids[1]));
		cr_relative_pose(&pa, &pb, &r.rotation, &r.position);
		cr_relative_pose(&pb, &pa, &back.rotation, &back.position);
		cr_prepare_pair(&pair, &solids[0], &solids[1], &r, 0, fixture_kernels(CAROM_SIMD_SCALAR));
		cr_find_clear_way(&pair, d, 0, INFINITY, &known, &way);
		const v3d along = m3d_mul(&back.rotation, d);
		CHECK(!convex_meets(&convex, torus, back, v3d_scale(along, way.length + 1e-9)));
		for (int i = 0; i < 30 && way.length > 1e-4; i++)
			CHECK(convex_meets(&convex, torus, back, v3d_scale(along, (way.length - 1e-5) * i / 29)));
		overlapping += way.length > 0;
	}
	CHECK(overlapping > 20);
	carom_release_mesh(torus);
	carom_destroy_context(context);
}

// ---- The least way ----

// Cubes and hulls, as meshes: the least way is known from the calls for convex shapes.
TEST(parting, meshes_of_hulls_part_by_the_least_way)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 5;
	int overlapping = 0, inside = 0;
	for (int round = 0; round < 500; round++) {
		carom_mesh *meshes[2];
		carom_shape convex[2];
		carom_pose poses[2];
		for (int k = 0; k < 2; k++) {
			float points[60];
			const double size = round % 5 == 0 && k ? 0.2 : 1;
			for (int i = 0; i < 60; i++)
				points[i] = (float)test_random_double(&seed, -size, size);
			poses[k] = fixture_random_pose(&seed, 0.8);
			meshes[k] = round & 1 ? fixture_hull_mesh(context, points, 20) : fixture_box_mesh(context, size, size, size);
			convex[k] = round & 1 ? fixture_hull(meshes[k]) : fixture_box(size, size, size);
		}
		const carom_separation least = distance_of(context, convex[0], poses[0], convex[1], poses[1]);
		const carom_shape a = fixture_of_mesh(meshes[0]), b = fixture_of_mesh(meshes[1]);
		const carom_separation s = distance_of(context, a, poses[0], b, poses[1]);
		CHECK_INT(s.distance < 0, least.distance < 0);
		CHECK_NEAR(v3d_length(s.normal), 1, 1e-12);
		if (least.distance < -1e-6) {
			int32_t crossings;
			overlapping++;
			CHECK(-s.distance <= -1.01 * least.distance);
			CHECK(-s.distance >= -(1 - 1e-5) * least.distance);
			CHECK(meshes_are_apart(meshes[0], moved_out(poses[0], &s), meshes[1], poses[1]));
			// The points that touch last, before the move.
			const v3d way = v3d_scale(s.normal, -s.distance);
			CHECK_NEAR(v3d_length(v3d_sub(v3d_add(s.point_a, way), s.point_b)), 0, 1e-6);
			CHECK_INT(carom_mesh_intersections(meshes[0], &poses[0], meshes[1], &poses[1], 0, NULL, &crossings), CAROM_SUCCESS);
			inside += crossings == 0;
		} else {
			CHECK_NEAR(s.distance, least.distance, 1e-6);
		}
		carom_release_mesh(meshes[0]);
		carom_release_mesh(meshes[1]);
	}
	CHECK(overlapping > 250);
	CHECK(inside > 5);
	carom_destroy_context(context);
}

// Concave bodies: always parted; against the best of many directions, the long way around only
// rarely.
TEST(parting, concave_meshes_are_parted_near_the_least_way)
{
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 16, 8, 0.4, 0.3);
	const carom_shape shape = fixture_of_mesh(torus);
	uint64_t seed = 7;
	int shallow = 0, near = 0, overlapping = 0;
	for (int round = 0; round < 90; round++) {
		const carom_pose pa = fixture_random_pose(&seed, round % 3 ? 1.4 : 0.1),
						 pb = fixture_random_pose(&seed, round % 3 ? 1.4 : 0.1);
		const carom_separation s = distance_of(context, shape, pa, shape, pb);
		if (!(s.distance < 0))
			continue;
		overlapping++;
		CHECK(meshes_are_apart(torus, moved_out(pa, &s), torus, pb));
		stage st;
		set_stage(&st, context, torus, pa, torus, pb);
		double best = -s.distance;
		for (int i = 0; i < 400; i++) {
			cr_clear_way way;
			const v3d d = random_direction(&seed);
			if (i % TEST_FEWER != 0)
				continue; // the poses of all rounds stay those of release
			cr_find_clear_way(&st.pair, d, 0, best, &st.known, &way);
			best = fmin(best, way.length);
		}
		cr_arena_free(&st.arena);
		if (-s.distance < 0.15) {
			shallow++;
			near += -s.distance <= 1.05 * best;
		}
	}
	CHECK(overlapping > 30);
	CHECK(shallow > 5);
	CHECK_INT(near, shallow);
	carom_release_mesh(torus);
	carom_destroy_context(context);
}

/// The shortest way of many directions, and of many beside the shortest so far. least: a way that is known.
static double slow_way(stage *st, double least, uint64_t *seed)
{
	v3d best = { 0, 0, 1 };
	for (int i = 0; i < 260; i++) {
		const double radius = i < 100 ? 8 : 0.4 * pow(0.98, i - 100);
		const v3d d = v3d_normalize(v3d_mad(best, radius, random_direction(seed)));
		cr_clear_way way;
		cr_find_clear_way(&st->pair, d, 0, least, &st->known, &way);
		if (way.length < least) {
			least = way.length;
			best = d;
		}
	}
	return least;
}

// Bodies with hollows, of which one or both have a grid: hardly a way is over a hundredth longer than that of a slow search.
TEST(parting, ways_are_hardly_longer_than_those_of_a_slow_search)
{
	carom_context *context = fixture_context(1);
	carom_mesh *meshes[2] = { fixture_torus_mesh(context, 16, 8, 0.4, 0.2), fixture_torus_mesh(context, 10, 6, 0.3, 0.1) };
	uint64_t seed = 19;
	int overlapping = 0, longer = 0;
	for (int round = 0; round < 120 / TEST_FEWER; round++) {
		const carom_mesh *a = meshes[round % 2], *b = meshes[round / 2 % 2];
		const carom_pose pa = fixture_random_pose(&seed, 0.5), pb = fixture_random_pose(&seed, 0.1);
		const carom_separation s = distance_of(context, fixture_of_mesh(a), pa, fixture_of_mesh(b), pb);
		if (!(s.distance < -1e-3))
			continue;
		stage st;
		set_stage(&st, context, a, pa, b, pb);
		longer += -s.distance > 1.01 * slow_way(&st, -s.distance, &seed);
		overlapping++;
		cr_arena_free(&st.arena);
	}
	CHECK(overlapping > 60 / TEST_FEWER);
	CHECK(longer <= 8); // 5 of 120; without the rings around the best direction it would be 17
	carom_release_mesh(meshes[0]);
	carom_release_mesh(meshes[1]);
	carom_destroy_context(context);
}

// On the hills of a height field: as short as the best of many directions.
TEST(parting, convex_shapes_leave_a_height_field_near_the_least_way)
{
	enum { COLUMNS = 24 };
	float heights[COLUMNS * COLUMNS];
	for (int i = 0; i < COLUMNS * COLUMNS; i++)
		heights[i] = (float)(0.3 * sin(0.6 * (i % COLUMNS)) * cos(0.5 * (double)(i / COLUMNS)));
	carom_context *context = fixture_context(1);
	carom_mesh *field;
	REQUIRE(carom_create_height_field(context, COLUMNS, COLUMNS, heights, (double[2]){ 0.2, 0.2 }, 1, &field) == CAROM_SUCCESS);
	const carom_shape shapes[6] = { fixture_sphere(0.3), fixture_box(0.3, 0.25, 0.2), fixture_capsule(0.15, 0.2),
		fixture_cylinder(0.3, 0.25), fixture_cone(0.3, 0.3), fixture_ellipsoid(0.3, 0.2, 0.25) };
	uint64_t seed = 3;
	int overlapping = 0;
	for (int round = 0; round < 60; round++) {
		const cr_convex convex = cr_convex_of(&shapes[round % 6]);
		carom_pose pose = fixture_random_pose(&seed, 1), origin = fixture_at(0, 0, 0);
		pose.position = (v3d){ 2.3 + pose.position.x, 2.3 + pose.position.y, 0.3 * pose.position.z };
		const carom_separation s = distance_of(context, shapes[round % 6], pose, fixture_of_mesh(field), origin);
		if (!(s.distance < -1e-3))
			continue;
		overlapping++;
		CHECK(convex_is_apart(&convex, moved_out(pose, &s), field, origin));
		stage st = { .known = { .count = 0 } };
		cr_relative r;
		cr_solid_of_convex(&convex, &st.solid[0]);
		REQUIRE(cr_solid_of_mesh(NULL, &field->collider, &field->facets, 1, &st.solid[1]));
		cr_relative_pose(&pose, &origin, &r.rotation, &r.position);
		cr_prepare_pair(&st.pair, &st.solid[0], &st.solid[1], &r, 0, fixture_kernels(CAROM_SIMD_SCALAR));
		double best = -s.distance;
		for (int i = 0; i < 200; i++) {
			cr_clear_way way;
			cr_find_clear_way(&st.pair, random_direction(&seed), 0, best, &st.known, &way);
			best = fmin(best, way.length);
		}
		CHECK(-s.distance <= 1.03 * best);
	}
	CHECK(overlapping > 30);
	carom_release_mesh(field);
	carom_destroy_context(context);
}

TEST(parting, known_ways_out)
{
	carom_context *context = fixture_context(1);
	carom_mesh *box = fixture_box_mesh(context, 1, 1, 1), *small = fixture_box_mesh(context, 0.1, 0.1, 0.1),
			   *torus = fixture_torus_mesh(context, 32, 16, 0.2, 0);
	const carom_pose origin = fixture_at(0, 0, 0);
	// A box within a box leaves over the nearest side, whichever of the two is moved.
	carom_separation s = distance_of(context, fixture_of_mesh(small), fixture_at(0.2, 0.5, 0.1), fixture_of_mesh(box), origin);
	CHECK_NEAR(s.distance, -0.6, 1e-6);
	CHECK_NEAR(s.normal.y, 1, 1e-9);
	CHECK_NEAR(s.point_b.y, 1, 1e-6);
	s = distance_of(context, fixture_of_mesh(box), origin, fixture_of_mesh(small), fixture_at(0.2, 0.5, 0.1));
	CHECK_NEAR(s.distance, -0.6, 1e-6);
	CHECK_NEAR(s.normal.y, -1, 1e-9);
	// Two in one place.
	s = distance_of(context, fixture_of_mesh(box), origin, fixture_of_mesh(box), origin);
	CHECK_NEAR(s.distance, -2, 1e-6);
	// A box in the hole of a ring touches nothing, and a ball in it is told how near the ring is.
	s = distance_of(context, fixture_of_mesh(small), origin, fixture_of_mesh(torus), origin);
	CHECK(s.distance > 0.6);
	s = distance_of(context, fixture_sphere(0.5), origin, fixture_of_mesh(torus), origin);
	CHECK_NEAR(s.distance, 0.3, 0.02);
	// A peg that fills the hole comes out by its middle, sideways, or the whole way along: the
	// shortest counts.
	s = distance_of(context, fixture_box(0.75, 0.5, 0.05), origin, fixture_of_mesh(torus), origin);
	CHECK(s.distance < -0.05 && s.distance > -0.26);
	carom_release_mesh(box);
	carom_release_mesh(small);
	carom_release_mesh(torus);
	carom_destroy_context(context);
}

// ---- Convex shapes ----

/// Does a convex shape meet no triangle, and lie not inside?
static bool convex_is_apart(const cr_convex *convex, carom_pose pose, const carom_mesh *mesh, carom_pose mesh_pose)
{
	cr_relative r;
	cr_relative_pose(&mesh_pose, &pose, &r.rotation, &r.position);
	const v3d centre = v3d_add(m3d_mul(&r.rotation, cr_convex_centre(convex)), r.position);
	bool inside;
	REQUIRE(carom_mesh_contains(mesh, centre, &inside) == CAROM_SUCCESS);
	for (int32_t i = 0; i < mesh->topology.triangle_count && !inside; i++) {
		cr_convex t = { .core = CR_CORE_TRIANGLE };
		cr_separation s;
		cr_collider_triangle(&mesh->collider, i, t.corner);
		cr_convex_separation(&t, convex, &r, &s);
		inside = s.gap < -1e-9; // a curved one that touches need not know better
	}
	return !inside;
}

static cr_convex core_of(const carom_shape *shape, cr_core core)
{
	return (cr_convex){ .core = core,
		.rounding = core <= CR_CORE_SEGMENT ? shape->radius : shape->rounding,
		.radius = shape->radius,
		.half_length = shape->half_length,
		.half = { shape->half_extents[0], shape->half_extents[1], shape->half_extents[2] } };
}

TEST(parting, convex_shapes_and_meshes)
{
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 16, 8, 0.4, 0.3), *box = fixture_box_mesh(context, 1, 0.8, 0.6);
	const carom_shape solid = fixture_box(1, 0.8, 0.6);
	carom_shape shapes[7] = { fixture_sphere(0.3), fixture_box(0.2, 0.3, 0.4), fixture_capsule(0.15, 0.4),
		fixture_cylinder(0.3, 0.2), fixture_cone(0.4, 0.3), fixture_ellipsoid(0.2, 0.3, 0.4), fixture_box(0.2, 0.2, 0.1) };
	static const cr_core cores[7] = { CR_CORE_POINT, CR_CORE_BOX, CR_CORE_SEGMENT, CR_CORE_CYLINDER, CR_CORE_CONE,
		CR_CORE_ELLIPSOID, CR_CORE_BOX };
	shapes[6].rounding = 0.1;
	uint64_t seed = 9;
	int overlapping = 0, apart = 0;
	for (int round = 0; round < 140; round++) {
		const carom_shape shape = shapes[round % 7];
		const cr_convex core = core_of(&shape, cores[round % 7]);
		const carom_pose pa = fixture_random_pose(&seed, 0.9), pb = fixture_random_pose(&seed, 0.9);
		const carom_mesh *mesh = round & 1 ? torus : box;
		const carom_separation s = distance_of(context, shape, pa, fixture_of_mesh(mesh), pb);
		const carom_separation t = distance_of(context, fixture_of_mesh(mesh), pb, shape, pa);
		CHECK_INT(s.distance < 0, t.distance < 0);
		CHECK_INT(s.distance < 0, !convex_is_apart(&core, pa, mesh, pb));
		if (s.distance < 0) {
			overlapping++;
			CHECK(convex_is_apart(&core, moved_out(pa, &s), mesh, pb));
			CHECK(convex_is_apart(&core, pa, mesh, moved_out(pb, &t)));
		} else {
			apart++;
			CHECK_NEAR(t.distance, s.distance, 1e-6);
			CHECK_NEAR(v3d_length(v3d_sub(v3d_mad(s.point_b, s.distance, s.normal), s.point_a)), 0, 1e-5);
			CHECK_NEAR(v3d_length(v3d_sub(t.point_a, s.point_b)), 0, 0.1);
		}
		if (mesh == box) {
			const carom_separation exact = distance_of(context, shape, pa, solid, pb);
			CHECK_NEAR(s.distance, exact.distance, 1e-5 + (exact.distance < 0 ? -0.01 * exact.distance : 0));
		}
	}
	CHECK(overlapping > 30);
	CHECK(apart > 30);
	carom_release_mesh(torus);
	carom_release_mesh(box);
	carom_destroy_context(context);
}

// ---- The search ends ----

// A second way that is clear a hair beyond 1.3 times the best one was followed for ever: a search
// that came back to it passed the limit by less than the hair. A box stands over an edge of another
// one, 1.3 times as deep along x as along z, up to multiples of less than a hair.
TEST(parting, a_second_way_that_ends_at_the_limit)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cube = fixture_box_mesh(context, 1, 1, 1);
	carom_shape rounded = fixture_box(0.4, 0.4, 0.4);
	rounded.rounding = 0.1;
	const carom_shape shapes[4] = { fixture_box(0.5, 0.5, 0.5), fixture_cylinder(0.5, 0.5), fixture_of_mesh(cube), rounded };
	const double half[4] = { 0.5, 0.5, 1, 0.5 };
	for (int i = 0; i < 4; i++) {
		for (int k = -40; k <= 40; k++) {
			const double depth = 0.01, across = 1.3 * depth + 5e-11 * k;
			const carom_pose at = fixture_at(1 + half[i] - across, 0.1, 1 + half[i] - depth);
			const carom_separation s = distance_of(context, shapes[i], at, fixture_of_mesh(cube), fixture_at(0, 0, 0));
			if (i < 3)
				CHECK_NEAR(s.distance, -depth, 1e-8);
			CHECK_NEAR(s.normal.z, i < 3 ? 1 : s.normal.z, 1e-9);
		}
	}
	carom_release_mesh(cube);
	carom_destroy_context(context);
}

/// A block 6 m wide: with a top that rises by slope, or a wedge that rises from an edge.
static carom_mesh *rim_mesh(carom_context *context, bool wedge, double slope)
{
	static const int32_t block[12][3] = { { 0, 2, 1 }, { 0, 3, 2 }, { 4, 5, 6 }, { 4, 6, 7 }, { 0, 1, 5 }, { 0, 5, 4 },
		{ 1, 2, 6 }, { 1, 6, 5 }, { 2, 3, 7 }, { 2, 7, 6 }, { 3, 0, 4 }, { 3, 4, 7 } };
	static const int32_t prism[8][3] = { { 0, 2, 1 }, { 0, 3, 2 }, { 0, 1, 4 }, { 3, 5, 2 }, { 1, 2, 5 }, { 1, 5, 4 },
		{ 0, 4, 5 }, { 0, 5, 3 } };
	const float low = wedge ? 0 : -3, rise = (float)(3 * slope),
				bottom[4][3] = { { -3, -3, low }, { 3, -3, low }, { 3, 3, low }, { -3, 3, low } };
	const float tops[2][4][3] = { { { -3, -3, -rise }, { 3, -3, rise }, { 3, 3, rise }, { -3, 3, -rise } },
		{ { 3, -3, 2 * rise }, { 3, 3, 2 * rise }, { 0, 0, 0 }, { 0, 0, 0 } } };
	float vertices[8][3];
	memcpy(vertices, bottom, sizeof bottom);
	memcpy(vertices[4], tops[wedge], sizeof tops[wedge]);
	carom_mesh_def def = carom_default_mesh_def();
	carom_mesh *mesh;
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = wedge ? 6 : 8;
	def.triangles = wedge ? prism[0] : block[0];
	def.triangle_count = wedge ? 8 : 12;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

// Shapes let down on the rims of blocks and wedges until they stand a little in them: the search
// comes to an end, and its answer parts the two.
TEST(parting, shallow_overlaps_at_rims)
{
	enum { MESHES = 6, SHAPES = 6 };
	static const double slopes[MESHES] = { 0, 0.02, 0.5, 0.02, 0.2, 1 };
	carom_context *context = fixture_context(1);
	carom_mesh *meshes[MESHES];
	for (int i = 0; i < MESHES; i++)
		meshes[i] = rim_mesh(context, i >= MESHES / 2, slopes[i]);
	carom_shape rounded = fixture_box(0.45, 0.45, 0.45);
	rounded.rounding = 0.05;
	const carom_shape shapes[SHAPES] = { fixture_sphere(0.4), fixture_capsule(0.3, 0.5), fixture_cylinder(0.5, 0.5),
		fixture_box(0.5, 0.5, 0.5), fixture_ellipsoid(0.5, 0.4, 0.3), rounded };
	uint64_t seed = 9;
	int met = 0;
	for (int round = 0; round < 1200 / TEST_FEWER; round++) {
		const carom_shape mesh = fixture_of_mesh(meshes[round % MESHES]), shape = shapes[round / MESHES % SHAPES];
		const carom_quat yaw = fixture_turn((v3d){ 0, 0, 1 }, test_random_double(&seed, 0, 6)),
						 tilt = fixture_turn(
							 (v3d){ test_random_double(&seed, -1, 1), 1, 0 }, test_random_double(&seed, -0.06, 0.06));
		carom_pose at = { { 3 + test_random_double(&seed, -0.6, 0.45), test_random_double(&seed, -3.3, 3.3), 8 },
			quat_mul(tilt, yaw) };
		const carom_motion fall = carom_straight_motion(at, (carom_vec3){ 0, 0, -11 });
		carom_toi toi;
		bool overlap;
		REQUIRE(carom_time_of_impact(context, &shape, &fall, &mesh, NULL, 1e-4, &toi) == CAROM_SUCCESS);
		if (toi.status != CAROM_TOI_IMPACT)
			continue;
		met++;
		at = carom_motion_pose(&fall, toi.time);
		at.position.z -= round & 1 ? 0.003 : test_random_double(&seed, 0.0005, 0.02);
		const carom_separation s = distance_of(context, shape, at, mesh, fixture_at(0, 0, 0));
		carom_pose out = at;
		out.position = v3d_mad(at.position, fmax(-s.distance, 0) + 2e-7, s.normal);
		REQUIRE(carom_overlap(context, &shape, &out, &mesh, NULL, &overlap) == CAROM_SUCCESS);
		CHECK(!overlap);
	}
	CHECK(met > 1000 / TEST_FEWER);
	for (int i = 0; i < MESHES; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(context);
}

// A ball in the first of 300 walls, wider than the slits between them, is inside again behind each
// slit. A way along x meets more walls than are counted; it still ends, and it parts.
TEST(parting, a_way_through_many_walls_ends)
{
	enum { WALLS = 300 };
	carom_context *context = fixture_context(1);
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	for (int i = 0; i < WALLS; i++)
		fixture_soup_box(&soup, (v3d){ i, 0, 0 }, 0.45, 3, 3);
	carom_mesh *walls = fixture_mesh(context, &soup);
	const cr_convex ball = { .core = CR_CORE_POINT, .rounding = 0.3 };
	const cr_relative in_place = { { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } }, { 0, 0, 0 } };
	cr_arena arena;
	cr_solid solids[2];
	cr_solid_pair pair;
	cr_clear_way way;
	cr_barriers known = { .count = 0 };
	cr_arena_init(&arena, context);
	cr_solid_of_convex(&ball, &solids[0]);
	REQUIRE(cr_solid_of_mesh(&arena, &walls->collider, &walls->facets, WALLS, &solids[1]));
	cr_prepare_pair(&pair, &solids[0], &solids[1], &in_place, 0, fixture_kernels(CAROM_SIMD_SCALAR));
	cr_find_clear_way(&pair, (v3d){ 1, 0, 0 }, 0, INFINITY, &known, &way);
	CHECK_NEAR(way.length, WALLS - 1 + 0.45 + 0.3, 1e-4);
	CHECK(way.blocked);
	CHECK_NEAR(way.normal.x, 1, 0);
	CHECK_NEAR(way.reach, way.length, 0);
	// A caller who wants no way that long is told that it is longer.
	cr_find_clear_way(&pair, (v3d){ 1, 0, 0 }, 0, WALLS - 1, &known, &way);
	CHECK(way.length == INFINITY);
	CHECK(way.passed > WALLS - 1);
	cr_arena_free(&arena);
	carom_release_mesh(walls);
	carom_destroy_context(context);
}

// ---- Other bodies ----

/// The least gap of a convex shape from all triangles of a mesh.
static double least_gap(const carom_shape *shape, const carom_pose *pose, const carom_mesh *mesh)
{
	const cr_convex convex = cr_convex_of(shape);
	const cr_relative at = { m3d_from_quat(pose->orientation), pose->position };
	double least = INFINITY;
	for (int32_t i = 0; i < mesh->topology.triangle_count; i++) {
		cr_convex triangle = { .core = CR_CORE_TRIANGLE };
		cr_separation s;
		if (!mesh->topology.used[i])
			continue;
		for (int k = 0; k < 3; k++)
			triangle.corner[k] = v3d_from_floats(mesh->topology.vertices + 3 * mesh->topology.triangles[3 * i + k]);
		cr_convex_separation(&triangle, &convex, &at, &s);
		least = fmin(least, s.gap);
	}
	return least;
}

TEST(parting, shapes_apart_from_meshes_against_every_triangle)
{
	enum { COLUMNS = 12 };
	float heights[COLUMNS * COLUMNS];
	uint64_t seed = 12;
	for (int i = 0; i < COLUMNS * COLUMNS; i++)
		heights[i] = (float)test_random_double(&seed, -0.3, 0.3);
	carom_context *context = fixture_context(1);
	carom_mesh *meshes[2] = { fixture_torus_mesh(context, 16, 8, 0.4, 0.2) };
	REQUIRE(
		carom_create_height_field(context, COLUMNS, COLUMNS, heights, (double[2]){ 0.2, 0.2 }, 1, &meshes[1]) == CAROM_SUCCESS);
	carom_shape rounded = fixture_box(0.3, 0.2, 0.1);
	rounded.rounding = 0.1;
	const carom_shape shapes[7] = { fixture_sphere(0.3), fixture_box(0.3, 0.2, 0.4), fixture_capsule(0.1, 0.3),
		fixture_cylinder(0.2, 0.3), fixture_cone(0.3, 0.3), fixture_ellipsoid(0.4, 0.1, 0.2), rounded };
	int apart = 0;
	for (int i = 0; i < 7 * 20; i++) {
		const carom_shape *shape = &shapes[i % 7], mesh = fixture_of_mesh(meshes[i % 2]);
		carom_pose pose = fixture_random_pose(&seed, 2.2);
		pose.position.z = pose.position.z * 0.4 + 0.7;
		carom_separation s;
		const double least = least_gap(shape, &pose, meshes[i % 2]);
		if (!(least > 0))
			continue;
		REQUIRE(carom_distance(context, shape, &pose, &mesh, NULL, &s) == CAROM_SUCCESS);
		if (s.distance >= 0) { // not within
			CHECK_NEAR(s.distance, least, 2e-6);
			apart++;
		}
	}
	CHECK(apart > 70);
	for (int i = 0; i < 2; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(context);
}

// A body of two pieces, of which one stands wholly inside the other body while the other piece is
// clear.
TEST(parting, every_piece_comes_clear)
{
	carom_context *context = fixture_context(1);
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_box(&soup, (v3d){ 5, 0, 0 }, 0.2, 0.2, 0.2);
	fixture_soup_box(&soup, (v3d){ 0, 0, 0 }, 0.2, 0.2, 0.2);
	carom_mesh *two = fixture_mesh(context, &soup), *box = fixture_box_mesh(context, 1, 1, 1);
	const carom_pose at = fixture_at(0.3, 0, 0), origin = fixture_at(0, 0, 0);
	carom_separation s = distance_of(context, fixture_of_mesh(two), at, fixture_of_mesh(box), origin);
	CHECK_NEAR(s.distance, -0.9, 1e-6);
	CHECK_NEAR(s.normal.x, 1, 1e-9);
	s = distance_of(context, fixture_of_mesh(box), origin, fixture_of_mesh(two), at);
	CHECK_NEAR(s.distance, -0.9, 1e-6);
	// From the one piece to the other: a way that ends inside the second one is none.
	carom_mesh *small = fixture_box_mesh(context, 0.1, 0.1, 0.1), *long_box = fixture_box_mesh(context, 0.1, 3, 3);
	s = distance_of(context, fixture_of_mesh(long_box), fixture_at(0, 0, 0), fixture_of_mesh(two), origin);
	CHECK_NEAR(s.distance, -0.3, 1e-6);
	CHECK_NEAR(fabs(s.normal.x), 1, 1e-9);
	s = distance_of(context, fixture_of_mesh(small), fixture_at(5.05, 0, 0), fixture_of_mesh(two), origin);
	CHECK_NEAR(s.distance, -0.25, 1e-6);
	carom_release_mesh(two);
	carom_release_mesh(box);
	carom_release_mesh(small);
	carom_release_mesh(long_box);
	carom_destroy_context(context);
}

TEST(parting, open_meshes_planes_and_nothing)
{
	carom_context *context = fixture_context(1);
	carom_mesh *sheet = fixture_sheet_mesh(context, 4, 4), *box = fixture_box_mesh(context, 1, 1, 1);
	const carom_shape plane = { .type = CAROM_PLANE }, of_box = fixture_of_mesh(box);
	const carom_pose origin = fixture_at(0, 0, 0);
	// An open mesh is met where its triangles are: a box across it leaves to the nearer side, one
	// behind it is apart.
	carom_separation s = distance_of(context, of_box, fixture_at(0, 0, 0.7), fixture_of_mesh(sheet), origin);
	CHECK_NEAR(s.distance, -0.3, 1e-6);
	CHECK_NEAR(s.normal.z, 1, 1e-9);
	s = distance_of(context, of_box, fixture_at(0, 0, -0.7), fixture_of_mesh(sheet), origin);
	CHECK_NEAR(s.distance, -0.3, 1e-6);
	CHECK_NEAR(s.normal.z, -1, 1e-9);
	s = distance_of(context, of_box, fixture_at(0, 0, -1.5), fixture_of_mesh(sheet), origin);
	CHECK_NEAR(s.distance, 0.5, 1e-6);
	// Planes: the lowest corner, above and below.
	s = distance_of(context, of_box, fixture_at(7, 8, 1.5), plane, origin);
	CHECK_NEAR(s.distance, 0.5, 1e-9);
	CHECK_NEAR(s.normal.z, 1, 0);
	CHECK_NEAR(s.point_b.z, 0, 1e-9);
	s = distance_of(context, plane, origin, of_box, fixture_at(7, 8, -4));
	CHECK_NEAR(s.distance, -5, 1e-9);
	CHECK_NEAR(s.normal.z, -1, 0);
	CHECK_NEAR(s.point_b.z, -5, 1e-9);
	// A mesh without triangles is near nothing.
	carom_mesh_def def = carom_default_mesh_def();
	carom_mesh *empty;
	REQUIRE(carom_create_mesh(context, &def, NULL, &empty) == CAROM_SUCCESS);
	const carom_shape shapes[4] = { of_box, plane, fixture_sphere(1), fixture_of_mesh(empty) };
	for (int i = 0; i < 4; i++) {
		s = distance_of(context, shapes[i], origin, fixture_of_mesh(empty), origin);
		CHECK(s.distance > 0 && isinf(s.distance));
	}
	carom_release_mesh(empty);
	carom_release_mesh(sheet);
	carom_release_mesh(box);
	carom_destroy_context(context);
}

// Doubles that a float does not hold: exact intersections are asked of the doubles.
TEST(parting, meshes_of_doubles_are_parted_exactly)
{
	carom_context *context = fixture_context(1);
	static const int32_t triangles[12][3] = { { 0, 2, 1 }, { 1, 2, 3 }, { 4, 5, 6 }, { 5, 7, 6 }, { 0, 1, 4 }, { 1, 5, 4 },
		{ 2, 6, 3 }, { 3, 6, 7 }, { 0, 4, 2 }, { 2, 4, 6 }, { 1, 3, 5 }, { 3, 7, 5 } };
	double vertices[8][3];
	for (int i = 0; i < 8; i++) {
		for (int k = 0; k < 3; k++)
			vertices[i][k] = (i >> k & 1 ? 1 : -1) * (1000.0 / 3);
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT64 };
	def.vertex_count = 8;
	def.triangles = triangles[0];
	def.triangle_count = 12;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	uint64_t seed = 4;
	for (int round = 0; round < 60; round++) {
		const carom_pose pa = fixture_random_pose(&seed, 200), pb = fixture_random_pose(&seed, 200);
		const carom_separation s = distance_of(context, fixture_of_mesh(mesh), pa, fixture_of_mesh(mesh), pb);
		CHECK(s.distance < 0);
		CHECK(meshes_are_apart(mesh, moved_out(pa, &s), mesh, pb));
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// Far from the origin, and at other sizes: as near it.
TEST(parting, places_and_sizes)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 21;
	static const double sizes[3] = { 1e-4, 1, 1e5 };
	carom_mesh *meshes[3];
	for (int i = 0; i < 3; i++)
		meshes[i] = fixture_box_mesh(context, sizes[i], 0.5 * sizes[i], 0.7 * sizes[i]);
	for (int round = 0; round < 40; round++) {
		const carom_pose pa = fixture_random_pose(&seed, 0.5), pb = fixture_random_pose(&seed, 0.5);
		const double plain = distance_of(context, fixture_of_mesh(meshes[1]), pa, fixture_of_mesh(meshes[1]), pb).distance;
		for (int i = 0; i < 3; i++) {
			carom_pose qa = pa, qb = pb;
			qa.position = v3d_add(v3d_scale(pa.position, sizes[i]), v3d_scale((v3d){ 1e6, -2e6, 3e6 }, sizes[i]));
			qb.position = v3d_add(v3d_scale(pb.position, sizes[i]), v3d_scale((v3d){ 1e6, -2e6, 3e6 }, sizes[i]));
			const carom_shape shape = fixture_of_mesh(meshes[i]);
			CHECK_NEAR(distance_of(context, shape, qa, shape, qb).distance, plain * sizes[i], 1e-6 * sizes[i]);
		}
	}
	for (int i = 0; i < 3; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(context);
}

TEST(parting, every_instruction_set_gives_the_same_bits)
{
	carom_separation first[20];
	for (int k = 0; k < FIXTURE_SIMD_COUNT; k++) {
		if (!fixture_kernels(fixture_all_simd[k]))
			continue;
		carom_context_def def = carom_default_context_def();
		def.simd = fixture_all_simd[k];
		carom_context *context;
		REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
		carom_mesh *torus = fixture_torus_mesh(context, 12, 6, 0.4, 0.3);
		uint64_t seed = 2;
		for (int i = 0; i < 20; i++) {
			const carom_pose pa = fixture_random_pose(&seed, 1), pb = fixture_random_pose(&seed, 1);
			const carom_shape other = i & 1 ? fixture_of_mesh(torus) : fixture_capsule(0.2, 0.4);
			const carom_separation s = distance_of(context, fixture_of_mesh(torus), pa, other, pb);
			if (k == 0)
				first[i] = s;
			CHECK(memcmp(&s, &first[i], sizeof s) == 0);
		}
		carom_release_mesh(torus);
		carom_destroy_context(context);
	}
}

// Only meshes of several pieces take memory: it may run out.
TEST(parting, out_of_memory)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_box(&soup, (v3d){ 3, 0, 0 }, 1, 1, 1);
	fixture_soup_box(&soup, (v3d){ 0, 0, 0 }, 1, 1, 1);
	carom_mesh *two = fixture_mesh(context, &soup), *box = fixture_box_mesh(context, 1, 1, 1);
	const carom_shape a = fixture_of_mesh(two), b = fixture_of_mesh(box);
	const carom_pose at = fixture_at(0.5, 0.1, 0);
	const long long held = atomic_load(&heap.blocks), calls = atomic_load(&heap.calls);
	carom_separation s, t;
	CHECK_INT(carom_distance(context, &b, &at, &b, NULL, &s), CAROM_SUCCESS);
	CHECK_INT(atomic_load(&heap.calls), calls);
	CHECK_INT(carom_distance(context, &a, &at, &b, NULL, &s), CAROM_SUCCESS);
	const long long wanted = atomic_load(&heap.calls) - calls;
	CHECK(wanted > 0);
	for (long long i = 0; i < wanted; i++) {
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + i);
		CHECK_INT(carom_distance(context, &a, &at, &b, NULL, &t), CAROM_OUT_OF_MEMORY);
		CHECK(strstr(carom_error_text(context), "pieces of a mesh") != NULL);
		atomic_store(&heap.fail_at, -1);
	}
	CHECK_INT(carom_distance(context, &a, &at, &b, NULL, &t), CAROM_SUCCESS);
	CHECK(memcmp(&s, &t, sizeof s) == 0);
	CHECK_INT(atomic_load(&heap.blocks), held);
	carom_release_mesh(two);
	carom_release_mesh(box);
	carom_destroy_context(context);
}
