// Convex bodies: hulls against every plane through three points, distances against every pair of triangles, depths against every axis
// that can be the least one, contacts against what must hold of them.
#include "fixture.h"

#include "geom/convex_contacts.h"
#include "geom/convex_query.h"
#include "geom/time_of_impact.h"
#include "geom/triangle.h"
#include "mesh/hull.h"

#include <string.h>

enum { MOST_POINTS = 400 };

// ---- Making bodies ----

static v3d random_point(uint64_t *seed, double size)
{
	const double x = test_random_double(seed, -size, size), y = test_random_double(seed, -size, size);
	return (v3d){ x, y, test_random_double(seed, -size, size) };
}

static v3d random_on_sphere(uint64_t *seed, double radius)
{
	for (;;) {
		const v3d p = random_point(seed, 1);
		const double length = v3d_length(p);
		if (length > 0.1 && length <= 1)
			return v3d_scale(p, radius / length);
	}
}

static cr_convex of_hull(const cr_hull_data *data) { return (cr_convex){ .core = CR_CORE_HULL, .hull = &data->hull }; }

static cr_relative relative_of(carom_pose pose) { return (cr_relative){ m3d_from_quat(pose.orientation), pose.position }; }

static v3d placed(const cr_relative *r, v3d p) { return v3d_add(m3d_mul(&r->rotation, p), r->position); }

static carom_result build(carom_context *context, const v3d *points, int32_t count, cr_hull_data *data)
{
	return cr_hull_build(context, points, count, data);
}

static void random_hull(carom_context *context, uint64_t *seed, int32_t count, cr_hull_data *data)
{
	v3d points[MOST_POINTS];
	for (int32_t i = 0; i < count; i++)
		points[i] = random_on_sphere(seed, 1);
	REQUIRE(build(context, points, count, data) == CAROM_SUCCESS);
}

// ---- Hulls ----

// What holds of every hull: closed, convex exactly, no point outside, polygons and triangles of one surface.
static void check_hull(const cr_hull_data *d, const v3d *points, int32_t count)
{
	const cr_hull *h = &d->hull;
	CHECK_INT(d->triangle_count, 2 * (h->vertex_count - 2)); // Euler
	for (int32_t t = 0; t < d->triangle_count; t++) {
		const int32_t *c = &d->triangles[3 * t];
		for (int32_t i = 0; i < count; i++) {
			if (cr_orient3d_sign(h->vertices[c[0]], h->vertices[c[1]], h->vertices[c[2]], points[i]) > 0)
				CHECK_INT(i, -1); // this point lies outside triangle t
		}
	}
	int32_t corners = 0;
	for (int32_t f = 0; f < h->face_count; f++) {
		const int32_t n = h->face_first[f + 1] - h->face_first[f];
		CHECK(n >= 3);
		corners += n;
		CHECK_NEAR(v3d_length(h->normals[f]), 1, 1e-12);
		const v3d origin = h->vertices[h->corners[h->face_first[f]]];
		for (int32_t i = 0; i < n; i++) {
			const v3d p = h->vertices[h->corners[h->face_first[f] + i]];
			CHECK_NEAR(v3d_dot(h->normals[f], v3d_sub(p, origin)), 0, 4e-6 * h->size);
		}
		CHECK(v3d_dot(h->normals[f], v3d_sub(origin, h->centre)) > 0);
	}
	CHECK(corners <= 3 * d->triangle_count);
	// Neighbours are mutual.
	for (int32_t v = 0; v < h->vertex_count; v++) {
		for (int32_t k = h->neighbour_first[v]; k < h->neighbour_first[v + 1]; k++) {
			bool back = false;
			for (int32_t m = h->neighbour_first[h->neighbours[k]]; m < h->neighbour_first[h->neighbours[k] + 1]; m++)
				back = back || h->neighbours[m] == v;
			CHECK(back);
		}
	}
}

TEST(convex, hulls_of_random_points)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 1;
	for (int round = 0; round < 60; round++) {
		v3d points[MOST_POINTS];
		const int32_t count = 4 + (int32_t)(test_random(&seed) % (MOST_POINTS - 4));
		for (int32_t i = 0; i < count; i++)
			points[i] = round % 2 ? random_on_sphere(&seed, 1) : random_point(&seed, 1);
		cr_hull_data data;
		REQUIRE(build(context, points, count, &data) == CAROM_SUCCESS);
		check_hull(&data, points, count);
		cr_hull_free(context, &data);
	}
	carom_destroy_context(context);
}

static double farthest(const cr_hull *h, v3d d)
{
	double most = -INFINITY;
	for (int32_t i = 0; i < h->vertex_count; i++)
		most = fmax(most, v3d_dot(h->vertices[i], d));
	return most;
}

// A direction that may be any, or one of the borders between the parts of the cube that the starts belong to.
static v3d any_direction(uint64_t *seed)
{
	static const double parts[6] = { 0, -0.0, 1, -1, 1.0 / 3, -1.0 / 3 };
	if (test_random(seed) % 2)
		return v3d_scale(random_on_sphere(seed, 1), test_random(seed) % 3 ? 1 : 1e-12);
	const v3d d = { parts[test_random(seed) % 6], parts[test_random(seed) % 6], parts[test_random(seed) % 6] };
	return v3d_length(d) > 0 ? d : (v3d){ 1, 0, 0 };
}

TEST(convex, the_farthest_vertex_of_hulls_of_many)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 17;
	for (int round = 0; round < 24; round++) {
		v3d points[MOST_POINTS];
		const int32_t count = round < 4 ? 33 + round : 40 + (int32_t)(test_random(&seed) % (MOST_POINTS - 40));
		const v3d stretch = { round % 3 == 1 ? 100 : 1, 1, round % 3 == 2 ? 0.01 : 1 };
		for (int32_t i = 0; i < count; i++) {
			const v3d p = random_on_sphere(&seed, 1);
			points[i] = (v3d){ p.x * stretch.x + round, p.y, p.z * stretch.z };
		}
		cr_hull_data data;
		REQUIRE(build(context, points, count, &data) == CAROM_SUCCESS);
		REQUIRE(data.hull.vertex_count > 32);
		const cr_convex body = of_hull(&data);
		for (int i = 0; i < 2000; i++) {
			const v3d d = any_direction(&seed);
			const double most = farthest(&data.hull, d);
			CHECK_NEAR(v3d_dot(cr_convex_support(&body, d), d), most, 1e-13 * v3d_length(d) * (100 + round));
		}
		cr_hull_free(context, &data);
	}
	carom_destroy_context(context);
}

// What a loop over the vectors finds: of equally far ones the first.
static int32_t first_farthest(const v3d *vectors, int32_t count, v3d d)
{
	int32_t best = 0;
	for (int32_t i = 1; i < count; i++)
		best = v3d_dot(vectors[i], d) > v3d_dot(vectors[best], d) ? i : best;
	return best;
}

static bool is_same_vector(v3d a, v3d b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

static carom_context *context_of_set(carom_simd simd)
{
	carom_context_def def = carom_default_context_def();
	def.simd = simd;
	def.thread_count = 1;
	carom_context *context = NULL;
	return carom_create_context(&def, &context) == CAROM_SUCCESS ? context : NULL;
}

// A direction of points on a grid, along which many of them are equally far, or any one.
static v3d even_direction(uint64_t *seed)
{
	static const double parts[5] = { 0, -0.0, 1, -1, 2 };
	const uint64_t x = test_random(seed) % 5, y = test_random(seed) % 5, z = test_random(seed) % 5;
	return x % 2 || y % 3 ? (v3d){ parts[x], parts[y], parts[z] } : any_direction(seed);
}

static void check_wide_search(carom_context *context, uint64_t seed)
{
	for (int round = 0; round < 120; round++) {
		v3d points[MOST_POINTS];
		const int32_t count = 4 + round % 60;
		for (int32_t i = 0; i < count; i++) {
			const v3d p = round % 3 ? random_on_sphere(&seed, 1) : random_point(&seed, 2.4);
			points[i] = round % 3 ? p : (v3d){ rint(p.x), rint(p.y), rint(p.z) };
		}
		cr_hull_data data;
		if (build(context, points, count, &data) != CAROM_SUCCESS)
			continue; // points of a grid that lie in a plane
		const cr_hull *h = &data.hull;
		const cr_convex body = of_hull(&data);
		for (int i = 0; i < 300; i++) {
			const v3d d = round % 3 ? any_direction(&seed) : even_direction(&seed);
			if (h->vertex_count <= 32)
				CHECK(is_same_vector(cr_convex_support(&body, d), h->vertices[first_farthest(h->vertices, h->vertex_count, d)]));
			cr_face face;
			cr_convex_face(&body, d, &face);
			CHECK_INT(face.number, first_farthest(h->normals, h->face_count, d));
		}
		const v3d nowhere = { NAN, NAN, NAN };
		if (h->vertex_count <= 32)
			CHECK(is_same_vector(cr_convex_support(&body, nowhere), h->vertices[0]));
		cr_hull_free(context, &data);
	}
}

TEST(convex, the_wide_search_finds_what_a_loop_finds)
{
	int sets = 0;
	for (int k = 0; k < FIXTURE_SIMD_COUNT; k++) {
		carom_context *context = context_of_set(fixture_all_simd[k]);
		if (!context)
			continue;
		check_wide_search(context, 91);
		carom_destroy_context(context);
		sets++;
	}
	CHECK(sets > 0);
}

// The search begins near its end: the start of each ninth of a cube's side is the farthest vertex along its middle.
TEST(convex, starts_lie_far_along_their_directions)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 18;
	cr_hull_data data;
	random_hull(context, &seed, 300, &data);
	int32_t used = 0;
	for (int i = 0; i < CR_HULL_STARTS; i++) {
		const int axis = i / 18;
		double part[3];
		part[axis] = i / 9 % 2 ? 1 : -1;
		part[(axis + 1) % 3] = (i % 9 / 3 - 1) / 1.5;
		part[(axis + 2) % 3] = (i % 3 - 1) / 1.5;
		const v3d d = { part[0], part[1], part[2] };
		CHECK_NEAR(v3d_dot(data.hull.vertices[data.hull.start[i]], d), farthest(&data.hull, d), 1e-14);
		used += i == 0 || data.hull.start[i] != data.hull.start[i - 1];
	}
	CHECK(used > CR_HULL_STARTS / 2);
	cr_hull_free(context, &data);
	random_hull(context, &seed, 20, &data);
	for (int i = 0; i < CR_HULL_STARTS; i++)
		CHECK_INT(data.hull.start[i], 0);
	cr_hull_free(context, &data);
	carom_destroy_context(context);
}

// Points on a grid: many in a plane, on a line, and equal.
TEST(convex, hulls_of_grids_and_doubles)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 2;
	for (int round = 0; round < 40; round++) {
		v3d points[MOST_POINTS];
		const int32_t count = 20 + (int32_t)(test_random(&seed) % (MOST_POINTS - 20));
		const int side = 2 + round % 5;
		for (int32_t i = 0; i < count; i++)
			points[i] = (v3d){ (double)(test_random(&seed) % (uint64_t)side), (double)(test_random(&seed) % (uint64_t)side),
				(double)(test_random(&seed) % (uint64_t)side) };
		cr_hull_data data;
		if (build(context, points, count, &data) != CAROM_SUCCESS)
			continue;
		check_hull(&data, points, count);
		if (count > 300 && side <= 3) {
			CHECK_INT(data.hull.face_count, 6); // a full grid is a cube
			CHECK(data.hull.vertex_count >= 8);
		}
		cr_hull_free(context, &data);
	}
	carom_destroy_context(context);
}

TEST(convex, a_cube_has_six_faces_of_four_corners_in_any_pose_and_in_float)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 3;
	for (int round = 0; round < 50; round++) {
		const carom_pose pose = fixture_random_pose(&seed, 3);
		v3d points[8];
		for (int i = 0; i < 8; i++) {
			const v3d corner = { i & 1 ? 1 : -1, i & 2 ? 0.5 : -0.5, i & 4 ? 2 : -2 }, p = carom_transform_point(pose, corner);
			points[i] = (v3d){ (float)p.x, (float)p.y, (float)p.z };
		}
		cr_hull_data data;
		REQUIRE(build(context, points, 8, &data) == CAROM_SUCCESS);
		CHECK_INT(data.hull.vertex_count, 8);
		CHECK_INT(data.hull.face_count, 6);
		CHECK_INT(data.hull.face_first[6], 24);
		cr_hull_free(context, &data);
	}
	carom_destroy_context(context);
}

TEST(convex, points_in_a_plane_have_no_hull)
{
	carom_context *context = fixture_context(1);
	v3d points[50];
	uint64_t seed = 4;
	cr_hull_data data;
	for (int i = 0; i < 50; i++)
		points[i] = (v3d){ test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), 3 };
	CHECK_INT(build(context, points, 50, &data), CAROM_INVALID_MESH);
	for (int i = 0; i < 50; i++)
		points[i] = (v3d){ i, 2 * i, -i };
	CHECK_INT(build(context, points, 50, &data), CAROM_INVALID_MESH);
	memset(points, 0, sizeof points);
	CHECK_INT(build(context, points, 50, &data), CAROM_INVALID_MESH);
	CHECK_INT(build(context, points, 3, &data), CAROM_INVALID_MESH);
	// One point off the plane by the last place is enough.
	for (int i = 0; i < 50; i++)
		points[i] = (v3d){ test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), 1 };
	points[17].z = nextafter(1, 2);
	CHECK_INT(build(context, points, 50, &data), CAROM_SUCCESS);
	cr_hull_free(context, &data);
	carom_destroy_context(context);
}

TEST(convex, hulls_survive_every_failed_allocation)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	v3d points[60];
	uint64_t seed = 5;
	for (int i = 0; i < 60; i++)
		points[i] = random_on_sphere(&seed, 1);
	const long long blocks = atomic_load(&heap.blocks);
	cr_hull_data data;
	int failed = 0;
	for (long long at = 0;; at++) {
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + at);
		const carom_result result = build(context, points, 60, &data);
		atomic_store(&heap.fail_at, -1);
		if (result == CAROM_SUCCESS)
			break;
		CHECK_INT(result, CAROM_OUT_OF_MEMORY);
		CHECK_INT(atomic_load(&heap.blocks), blocks);
		failed++;
	}
	CHECK(failed > 8);
	cr_hull_free(context, &data);
	CHECK_INT(atomic_load(&heap.blocks), blocks);
	carom_destroy_context(context);
}

// ---- Oracles ----

// The least distance over all pairs of triangles of two hulls.
static double dull_distance(const cr_hull_data *a, const cr_hull_data *b, const cr_relative *at)
{
	double least = (double)INFINITY;
	for (int32_t i = 0; i < a->triangle_count; i++) {
		for (int32_t j = 0; j < b->triangle_count; j++) {
			v3d ta[3], tb[3];
			for (int k = 0; k < 3; k++) {
				ta[k] = a->hull.vertices[a->triangles[3 * i + k]];
				tb[k] = placed(at, b->hull.vertices[b->triangles[3 * j + k]]);
			}
			cr_triangle_point p, q;
			least = fmin(least, cr_closest_triangles(ta, tb, &p, &q));
		}
	}
	return sqrt(least);
}

// The most of direction . point over the vertices of a hull.
static double reach(const cr_hull *h, v3d d)
{
	double most = -INFINITY;
	for (int32_t i = 0; i < h->vertex_count; i++)
		most = fmax(most, v3d_dot(h->vertices[i], d));
	return most;
}

static double depth_along(const cr_hull *a, const cr_hull *b, const cr_relative *at, v3d n)
{
	return reach(a, v3d_neg(n)) + v3d_dot(n, at->position) + reach(b, m3d_tmul(&at->rotation, n));
}

static void try_axis(const cr_hull *a, const cr_hull *b, const cr_relative *at, v3d n, double *least)
{
	if (!(v3d_length(n) > 1e-6))
		return;
	n = v3d_normalize(n);
	*least = fmin(*least, fmin(depth_along(a, b, at, n), depth_along(a, b, at, v3d_neg(n))));
}

// The least way out: along a face normal of either hull, or across two edges.
static double dull_depth(const cr_hull_data *a, const cr_hull_data *b, const cr_relative *at)
{
	double least = (double)INFINITY;
	const cr_hull *ha = &a->hull, *hb = &b->hull;
	for (int32_t f = 0; f < ha->face_count; f++)
		try_axis(ha, hb, at, ha->normals[f], &least);
	for (int32_t f = 0; f < hb->face_count; f++)
		try_axis(ha, hb, at, m3d_mul(&at->rotation, hb->normals[f]), &least);
	for (int32_t i = 0; i < 3 * a->triangle_count; i++) {
		const v3d p = v3d_sub(ha->vertices[a->triangles[i % 3 == 2 ? i - 2 : i + 1]], ha->vertices[a->triangles[i]]);
		for (int32_t j = 0; j < 3 * b->triangle_count; j++) {
			const v3d q = v3d_sub(hb->vertices[b->triangles[j % 3 == 2 ? j - 2 : j + 1]], hb->vertices[b->triangles[j]]);
			try_axis(ha, hb, at, v3d_cross(p, m3d_mul(&at->rotation, q)), &least);
		}
	}
	return least;
}

// What holds of every separation, whatever the bodies are: the gap is that along the normal, and the points lie that far apart.
static void check_separation(const cr_convex *a, const cr_convex *b, const cr_relative *at, const cr_separation *s)
{
	CHECK_NEAR(v3d_length(s->normal), 1, 1e-12);
	const v3d n = s->normal, low = cr_convex_support(a, v3d_neg(n)),
			  high = placed(at, cr_convex_support(b, m3d_tmul(&at->rotation, n)));
	const double size = cr_convex_size(a) + cr_convex_size(b) + a->rounding + b->rounding + v3d_length(at->position);
	CHECK_NEAR(v3d_dot(n, v3d_sub(low, high)) - a->rounding - b->rounding, s->gap, 1e-9 * size);
	CHECK(s->error >= 0);
	CHECK(s->error <= 2e-3 * size);
}

TEST(convex, distances_of_hulls_against_every_pair_of_triangles)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 6;
	int apart = 0;
	for (int round = 0; round < 300; round++) {
		cr_hull_data a, b;
		random_hull(context, &seed, 4 + (int32_t)(test_random(&seed) % 40), &a);
		random_hull(context, &seed, 4 + (int32_t)(test_random(&seed) % 40), &b);
		carom_pose pose = fixture_random_pose(&seed, 1.7);
		const cr_relative at = relative_of(pose);
		const cr_convex ca = of_hull(&a), cb = of_hull(&b);
		cr_separation s;
		cr_convex_separation(&ca, &cb, &at, &s);
		check_separation(&ca, &cb, &at, &s);
		const double dull = dull_distance(&a, &b, &at);
		if (dull > 0) {
			// Surfaces apart: the bodies are, too, unless one lies within the other.
			if (s.gap > 0) {
				CHECK_NEAR(s.gap, dull, 1e-9);
				CHECK_NEAR(v3d_length(v3d_sub(s.on_a, s.on_b)), dull, 1e-9);
				apart++;
			}
		} else
			CHECK(s.gap <= 1e-12);
		cr_hull_free(context, &a);
		cr_hull_free(context, &b);
	}
	CHECK(apart > 60);
	carom_destroy_context(context);
}

TEST(convex, depths_of_hulls_against_every_axis)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 7;
	int deep = 0;
	double worst = 0;
	for (int round = 0; round < 400; round++) {
		cr_hull_data a, b;
		random_hull(context, &seed, 4 + (int32_t)(test_random(&seed) % 20), &a);
		random_hull(context, &seed, 4 + (int32_t)(test_random(&seed) % 20), &b);
		const carom_pose pose = fixture_random_pose(&seed, round % 4 == 0 ? 0.1 : 1);
		const cr_relative at = relative_of(pose);
		const cr_convex ca = of_hull(&a), cb = of_hull(&b);
		cr_separation s;
		cr_convex_separation(&ca, &cb, &at, &s);
		check_separation(&ca, &cb, &at, &s);
		if (s.gap < 0) {
			const double dull = dull_depth(&a, &b, &at);
			CHECK(-s.gap >= dull - 1e-9);
			worst = fmax(worst, -s.gap / dull);
			deep++;
		}
		cr_hull_free(context, &a);
		cr_hull_free(context, &b);
	}
	CHECK(deep > 200);
	CHECK_NEAR(worst, 1, 1e-6);
	carom_destroy_context(context);
}

// ---- Other cores ----

static cr_convex ellipsoid(double x, double y, double z)
{
	return (cr_convex){ .core = CR_CORE_ELLIPSOID, .half = { x, y, z } };
}
static cr_convex cylinder(double r, double h) { return (cr_convex){ .core = CR_CORE_CYLINDER, .radius = r, .half_length = h }; }
static cr_convex cone(double r, double h) { return (cr_convex){ .core = CR_CORE_CONE, .radius = r, .half_length = h }; }
static cr_convex ball(double r) { return (cr_convex){ .core = CR_CORE_POINT, .rounding = r }; }
static cr_convex brick(double x, double y, double z) { return (cr_convex){ .core = CR_CORE_BOX, .half = { x, y, z } }; }

static cr_convex random_convex(uint64_t *seed)
{
	const double x = test_random_double(seed, 0.2, 1), y = test_random_double(seed, 0.2, 1),
				 z = test_random_double(seed, 0.2, 1);
	cr_convex c;
	switch (test_random(seed) % 6) {
	case 0: c = ellipsoid(x, y, z); break;
	case 1: c = cylinder(x, y); break;
	case 2: c = cone(x, y); break;
	case 3: c = ball(x); break;
	case 4: c = (cr_convex){ .core = CR_CORE_SEGMENT, .half_length = x, .rounding = 0.3 * y }; break;
	default: c = brick(x, y, z); break;
	}
	if (test_random(seed) % 3 == 0)
		c.rounding += 0.2 * z;
	return c;
}

// Many directions: no plane parts the bodies by more than the gap says, and no other way out is much shorter.
static double dull_gap(const cr_convex *a, const cr_convex *b, const cr_relative *at, uint64_t *seed, v3d near)
{
	double most = -INFINITY;
	for (int i = 0; i < 3000; i++) {
		const v3d wide = random_on_sphere(seed, 1), n = i % 2 ? wide : v3d_normalize(v3d_mad(near, 0.05 * (i % 7), wide));
		const v3d low = cr_convex_support(a, v3d_neg(n)), high = placed(at, cr_convex_support(b, m3d_tmul(&at->rotation, n)));
		most = fmax(most, v3d_dot(n, v3d_sub(low, high)));
	}
	return most - a->rounding - b->rounding;
}

TEST(convex, separations_of_all_cores_against_many_directions)
{
	uint64_t seed = 8;
	int deep = 0, converged = 0;
	enum { ROUNDS = 400 };
	for (int round = 0; round < ROUNDS; round++) {
		const cr_convex a = random_convex(&seed), b = random_convex(&seed);
		const cr_relative at = relative_of(fixture_random_pose(&seed, round % 3 == 0 ? 0.3 : 1.2));
		cr_separation s;
		cr_convex_separation(&a, &b, &at, &s);
		check_separation(&a, &b, &at, &s);
		const double dull = dull_gap(&a, &b, &at, &seed, s.normal);
		CHECK(s.gap >= dull - 1e-9); // the best of many directions, and better
		CHECK(s.gap <= dull + s.error + 0.05);
		deep += s.gap < 0;
		converged += s.converged;
	}
	CHECK(deep > 100 && deep < ROUNDS - 50);
	CHECK(converged > ROUNDS * 9 / 10);
}

TEST(convex, known_separations)
{
	cr_separation s;
	cr_relative at = { m3d_from_quat((carom_quat){ 0, 0, 0, 1 }), { 0, 0, 5 } };
	const cr_convex wheel = cylinder(1, 0.5), egg = ellipsoid(1, 2, 3), hat = cone(1, 1), pea = ball(0.25);
	cr_convex_separation(&wheel, &egg, &at, &s); // one above the other: 5 - 0.5 - 3
	CHECK_NEAR(s.gap, 1.5, 1e-9);
	CHECK_NEAR(s.normal.z, -1, 1e-9);
	at.position = (v3d){ 0, 3.5, 0 };
	cr_convex_separation(&wheel, &egg, &at, &s); // side by side
	CHECK_NEAR(s.gap, 0.5, 1e-9);
	at.position = (v3d){ 0, 0, 1.5 };
	cr_convex_separation(&hat, &pea, &at, &s); // on the tip
	CHECK_NEAR(s.gap, 0.25, 1e-9);
	at.position = (v3d){ 0, 0, -1.1 };
	cr_convex_separation(&hat, &pea, &at, &s); // under the base, 0.15 deep
	CHECK_NEAR(s.gap, -0.15, 1e-9);
	CHECK_NEAR(s.normal.z, 1, 1e-9);
	at.position = (v3d){ 0, 0, 0.125 };
	cr_convex_separation(&wheel, &pea, &at, &s); // wholly inside: the nearer cap is the way out
	CHECK_NEAR(s.gap, -0.625, 1e-9);
	CHECK_NEAR(s.normal.z, -1, 1e-9);
	at.position = (v3d){ 0, 0, 0 };
	cr_convex_separation(&pea, &pea, &at, &s); // at one place: any direction
	CHECK_NEAR(s.gap, -0.5, 1e-9);
	CHECK_NEAR(v3d_length(s.normal), 1, 1e-12);
}

/// Any turn and back again: rounding alone is left.
static m3d turn_and_back(uint64_t *seed)
{
	const m3d turn = m3d_from_quat(fixture_random_pose(seed, 1).orientation), back = m3d_transposed(&turn);
	m3d both;
	for (int i = 0; i < 3; i++)
		both.row[i] = m3d_mul(&back, back.row[i]);
	return both;
}

/// Cylinders in one place, turned against each other by rounding alone: of the ways out to the side, which are all as good, one is found.
TEST(convex, depths_of_cylinders_in_one_place)
{
	const cr_convex wheel = cylinder(0.3, 0.5);
	uint64_t seed = 22;
	for (int i = 0; i < 2000 / TEST_FEWER; i++) {
		const cr_relative at = { turn_and_back(&seed), { 0, 0, 0 } };
		cr_separation s;
		cr_convex_separation(&wheel, &wheel, &at, &s);
		CHECK_NEAR(s.gap, -0.6, 1e-6);
		CHECK_NEAR(v3d_length(s.normal), 1, 1e-12);
	}
}

TEST(convex, flat_and_touching_cores)
{
	cr_separation s;
	const cr_relative at = { m3d_from_quat((carom_quat){ 0, 0, 0, 1 }), { 0, 0, 0 } };
	cr_convex t = { .core = CR_CORE_TRIANGLE, .corner = { { -1, -1, 0 }, { 1, -1, 0 }, { 0, 1, 0 } } }, u = t;
	cr_convex_separation(&t, &u, &at, &s); // in one plane: nothing to move
	CHECK_NEAR(s.gap, 0, 1e-12);
	CHECK_NEAR(fabs(s.normal.z), 1, 1e-9);
	const cr_convex pill = { .core = CR_CORE_SEGMENT, .half_length = 1, .rounding = 0.1 };
	cr_convex_separation(&pill, &pill, &at, &s);
	CHECK_NEAR(s.gap, -0.2, 1e-9);
	CHECK_NEAR(s.normal.z, 0, 1e-9);
	const cr_convex point = ball(0), box = brick(1, 1, 1);
	const cr_relative corner = { at.rotation, { 1, 1, 1 } };
	cr_convex_separation(&box, &point, &corner, &s); // exactly on a corner
	CHECK_NEAR(s.gap, 0, 1e-9);
	cr_convex_separation(&point, &point, &at, &s);
	CHECK_NEAR(s.gap, 0, 1e-12);
	CHECK_NEAR(v3d_length(s.normal), 1, 1e-12);
}

// ---- Points ----

/// How far a body reaches along a direction.
static double reach_of(const cr_convex *c, v3d n) { return v3d_dot(n, cr_convex_support(c, n)) + c->rounding; }

/// A point about a body: anywhere, on its axis or next to it, on its surface or its border up to rounding, or in a plane of symmetry.
static v3d point_about(const cr_convex *c, uint64_t *seed)
{
	static const double aside[6] = { 0, 1e-17, 1e-12, 1e-9, 1e-5, 1e-3 };
	v3d p = random_point(seed, 1.2);
	switch (test_random(seed) % 5) {
	case 0: return p;
	case 1: return (v3d){ aside[test_random(seed) % 6], -aside[test_random(seed) % 6], p.z };
	case 2: return v3d_scale(cr_convex_support(c, random_on_sphere(seed, 1)), test_random(seed) % 2 ? 1 : 1 - 1e-9);
	case 3: return (v3d){ p.x, 0, test_random(seed) % 2 ? p.z : 0 };
	default: return v3d_scale(p, 0.3);
	}
}

/// Does the nearest point fit the distance and the normal? It lies that far away along the normal, in the body and on the plane that
/// touches the body there. Outside, that plane is proof that no point is nearer; inside, other directions lead out no sooner.
static void check_nearest(const cr_convex *c, v3d p, uint64_t *seed)
{
	v3d on, n;
	const double distance = cr_convex_distance(c, p, &on, &n), reach = reach_of(c, n);
	CHECK_NEAR(v3d_length(n), 1, 1e-12);
	CHECK_NEAR(v3d_length(v3d_sub(p, v3d_mad(on, distance, n))), 0, 1e-6);
	CHECK_NEAR(v3d_length(v3d_sub(on, p)), fabs(distance), 1e-6);
	CHECK_NEAR(reach - v3d_dot(n, on), 0, 1e-6);
	for (int i = 0; i < 300; i++) {
		const v3d wide = random_on_sphere(seed, 1), m = i % 2 ? wide : v3d_normalize(v3d_mad(n, 0.05 * (1 + i % 7), wide));
		const double beyond = reach_of(c, m) - v3d_dot(m, on);
		CHECK(beyond >= -1e-6);
		if (distance < 0)
			CHECK(reach_of(c, m) - v3d_dot(m, p) >= -distance - 1e-6);
	}
}

TEST(convex, nearest_points_fit_their_distances)
{
	carom_context *context = fixture_context(1);
	cr_hull_data hull;
	uint64_t seed = 23;
	random_hull(context, &seed, 20, &hull);
	const cr_convex forms[] = { cylinder(0.3, 0.5), cylinder(0.6, 0.2), cylinder(0.4, 0.4), cone(0.4, 0.5), cone(0.2, 0.9),
		cone(0.9, 0.2), ellipsoid(0.3, 0.2, 0.6), ellipsoid(0.4, 0.4, 0.9), brick(0.3, 0.3, 0.3), brick(0.2, 0.4, 0.6),
		ball(0.3), { .core = CR_CORE_SEGMENT, .half_length = 0.5, .rounding = 0.25 }, of_hull(&hull) };
	for (int i = 0; i < 12000 / TEST_FEWER; i++) {
		cr_convex c = forms[i % (int)(sizeof forms / sizeof *forms)];
		if (i % 2)
			c.rounding += 0.1;
		check_nearest(&c, point_about(&c, &seed), &seed);
	}
	cr_hull_free(context, &hull);
	carom_destroy_context(context);
}

/// Distance of a rounded cylinder, and of a rounded box where radius is 0, in closed form: of the corner in the plane, or in space.
static double formula(const cr_convex *c, v3d p)
{
	double q[3] = { sqrt(p.x * p.x + p.y * p.y) - c->radius, fabs(p.z) - c->half_length, -INFINITY };
	if (c->core == CR_CORE_BOX) {
		for (int k = 0; k < 3; k++)
			q[k] = fabs(v3d_get(p, k)) - c->half[k];
	}
	const v3d beyond = { fmax(q[0], 0), fmax(q[1], 0), fmax(q[2], 0) };
	return v3d_length(beyond) + fmin(fmax(q[0], fmax(q[1], q[2])), 0) - c->rounding;
}

TEST(convex, distances_of_points_against_formulas)
{
	uint64_t seed = 24;
	v3d on, n;
	for (int i = 0; i < 20000 / TEST_FEWER; i++) {
		const double x = test_random_double(&seed, 0.2, 1), y = test_random_double(&seed, 0.2, 1);
		cr_convex c = i % 2 ? cylinder(x, y) : brick(x, y, 0.5);
		c.rounding = i % 4 < 2 ? 0 : 0.1;
		const v3d p = point_about(&c, &seed);
		CHECK_NEAR(cr_convex_distance(&c, p, &on, &n), formula(&c, p), 1e-14);
	}
	// On the axis of a cone: its slope is nearer than its tip, and its base than its slope.
	const cr_convex hat = cone(0.4, 1.5);
	CHECK_NEAR(cr_convex_distance(&hat, (v3d){ 0, 0, 1.4 }, &on, &n), -0.1 * 0.4 / sqrt(0.16 + 9), 1e-15);
	CHECK_NEAR(v3d_length(v3d_sub(on, (v3d){ 0, 0, 1.4 })), 0.1 * 0.4 / sqrt(0.16 + 9), 1e-15);
	CHECK_NEAR(n.z, 0.4 / sqrt(0.16 + 9), 1e-15);
	CHECK_NEAR(cr_convex_distance(&hat, (v3d){ 0, 0, -1.4 }, &on, &n), -0.1, 1e-15);
	CHECK_NEAR(n.z, -1, 0);
	CHECK_NEAR(cr_convex_distance(&hat, (v3d){ 0, 0, 1.7 }, &on, &n), 0.2, 1e-15);
	CHECK_NEAR(on.z, 1.5, 0);
	// Sizes that squares of squares would lose.
	const cr_convex small = cylinder(1e-100, 2e-100);
	CHECK_NEAR(cr_convex_distance(&small, (v3d){ 3e-101, 4e-101, 0 }, &on, &n), -5e-101, 1e-114);
	CHECK_NEAR(n.x, 0.6, 1e-12);
}

// ---- Contacts ----

// What must hold of contacts: unit normals, points on A's surface, none deeper than the bodies are along its normal, the deepest as deep
// as moving by it takes to part them.
static void check_contacts(const cr_convex *a, const cr_convex *b, const cr_relative *at, double margin, bool *some)
{
	cr_volume_contact c[CR_MAX_VOLUME_CONTACTS];
	cr_separation s;
	cr_convex_separation(a, b, at, &s);
	const int count = cr_convex_contacts(a, b, at, margin, c);
	*some = count > 0;
	CHECK_INT(count > 0, s.gap <= margin);
	double deepest = -INFINITY;
	for (int i = 0; i < count; i++) {
		CHECK_NEAR(v3d_length(c[i].normal), 1, 1e-12);
		CHECK(c[i].depth >= -margin);
		const v3d n = c[i].normal, low = cr_convex_support(a, v3d_neg(n)),
				  high = placed(at, cr_convex_support(b, m3d_tmul(&at->rotation, n)));
		const double along = v3d_dot(n, v3d_sub(low, high)) - a->rounding - b->rounding;
		CHECK(-c[i].depth >= along - 1e-9);
		CHECK_NEAR(v3d_dot(n, c[i].normal), v3d_dot(n, c[0].normal), 2e-3);
		deepest = fmax(deepest, c[i].depth);
	}
	if (count == 0)
		return;
	// Moving A by the deepest along its normal parts the bodies.
	const cr_relative moved = { at->rotation, v3d_mad(at->position, -(deepest + 1e-9), c[0].normal) };
	cr_separation after;
	cr_convex_separation(a, b, &moved, &after);
	CHECK(after.gap >= -1e-6);
}

TEST(convex, contacts_of_random_bodies)
{
	uint64_t seed = 9;
	int touching = 0;
	for (int round = 0; round < 1500; round++) {
		const cr_convex a = random_convex(&seed), b = random_convex(&seed);
		const cr_relative at = relative_of(fixture_random_pose(&seed, 1));
		bool some;
		check_contacts(&a, &b, &at, round % 2 ? 0.1 : 0, &some);
		touching += some;
	}
	CHECK(touching > 500);
}

// A body that rests on a larger one is held at the ends of the patch.
static void check_rest(const cr_convex *body, double lowest, carom_quat turn, int least, double extent)
{
	const cr_convex ground = brick(5, 5, 1);
	const m3d r = m3d_from_quat(turn);
	// The ground in the frame of the body, which lies 1 mm deep.
	const v3d place = { 0, 0, lowest + 1 - 1e-3 };
	const cr_relative at = { m3d_transposed(&r), m3d_tmul(&r, v3d_neg(place)) };
	cr_volume_contact c[CR_MAX_VOLUME_CONTACTS];
	const int count = cr_convex_contacts(body, &ground, &at, 0, c);
	CHECK(count >= least);
	double widest = 0;
	for (int i = 0; i < count; i++) {
		CHECK_NEAR(m3d_mul(&r, c[i].normal).z, 1, 1e-9);
		CHECK_NEAR(c[i].depth, 1e-3, 1e-9);
		for (int k = 0; k < i; k++)
			widest = fmax(widest, v3d_length(v3d_sub(c[i].point, c[k].point)));
	}
	CHECK_NEAR(widest, extent, 1e-6 + 0.02 * extent);
}

TEST(convex, resting_bodies_are_held_at_the_ends_of_the_patch)
{
	const cr_convex wheel = cylinder(1, 0.5), hat = cone(1, 1), box = brick(1, 2, 0.5), egg = ellipsoid(1, 2, 3);
	const carom_quat upright = { 0, 0, 0, 1 }, side = fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI / 2);
	check_rest(&wheel, 0.5, upright, 4, 2);
	check_rest(&wheel, 1, side, 2, 1);
	check_rest(&hat, 1, upright, 4, 2);
	check_rest(&box, 0.5, fixture_turn((v3d){ 0, 0, 1 }, 0.7), 4, 2 * sqrt(5));
	check_rest(&egg, 3, upright, 1, 0);
}

// The ground is turned against a foot by a little, so it is deepest at one of its far corners, where nothing touches.
TEST(convex, a_foot_has_no_contacts_beside_it)
{
	const cr_convex foot = brick(0.1, 0.1, 0.5), ground = brick(1, 2, 0.3);
	uint64_t seed = 17;
	for (int round = 0; round < 400; round++) {
		const double most = pow(10, test_random_double(&seed, -9, -3));
		const v3d axis = { test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1),
			test_random_double(&seed, -1, 1) };
		const m3d turn = m3d_from_quat(fixture_turn(v3d_normalize(axis), most));
		const bool below = round % 2; // the ground is B, or A
		const v3d shift = { 0.4, -0.7, below ? -0.799 : 0.799 };
		const cr_relative at = { turn, below ? shift : v3d_neg(shift) };
		cr_volume_contact c[CR_MAX_VOLUME_CONTACTS];
		const int count =
			below ? cr_convex_contacts(&foot, &ground, &at, 0.01, c) : cr_convex_contacts(&ground, &foot, &at, 0.01, c);
		CHECK(count >= 4);
		const v3d middle = below ? (v3d){ 0, 0, 0 } : v3d_neg(shift);
		for (int i = 0; i < count; i++) {
			CHECK(fabs(c[i].point.x - middle.x) < 0.101 && fabs(c[i].point.y - middle.y) < 0.101);
			CHECK_NEAR(c[i].depth, 1e-3, 4 * most + 1e-9);
		}
	}
}

// Two long edges, or two faces, lie side by side: several faces of the difference of the bodies lie in one plane.
TEST(convex, deepest_points_lie_in_both_bodies)
{
	const cr_convex crate = brick(0.5, 0.5, 0.5), plank = brick(2, 0.5, 0.5), wheel = cylinder(0.5, 0.5);
	uint64_t seed = 31;
	for (int round = 0; round < 6000; round++) {
		const cr_convex *a = round % 2 ? &crate : &plank, *b = round % 4 < 2 ? &plank : &crate;
		a = round % 5 ? a : &wheel;
		const v3d axis = { test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), 0 };
		const carom_pose tilt = { { 0, 0, 0 }, fixture_turn(axis, pow(10, test_random_double(&seed, -5, -1))) };
		const carom_pose yaw = { { 0, 0, 0 }, fixture_turn((v3d){ 0, 0, 1 }, test_random_double(&seed, -3, 3)) };
		carom_pose pose = fixture_compose(tilt, yaw);
		pose.position = (carom_vec3){ test_random_double(&seed, -1.4, 1.4), test_random_double(&seed, -0.5, 0.5), 0.999 };
		const cr_relative at = relative_of(pose);
		cr_separation s;
		cr_convex_separation(a, b, &at, &s);
		if (s.gap > 0)
			continue;
		// The points differ by the way out alone, and lie in the bodies: as near as the bounds of the depth are to each other.
		CHECK_NEAR(v3d_length(v3d_mad(v3d_sub(s.on_a, s.on_b), -s.gap, s.normal)), 0, 1e-10);
		const v3d on_b = m3d_tmul(&at.rotation, v3d_sub(s.on_b, at.position));
		const double half = b == &plank ? 2 : 0.5;
		const double most = 0.5 * s.error + 2e-8;
		CHECK(fabs(on_b.x) < half + most && fabs(on_b.y) < 0.5 + most && fabs(on_b.z) < 0.5 + most);
	}
}

// ---- Time of impact ----

static carom_pose random_pose_at(uint64_t *seed, double span) { return fixture_random_pose(seed, span); }

// Small steps: the first time at which the bodies are nearer than the tolerance; 2: never.
static double dull_impact(const cr_convex *a, const cr_motion *ma, const cr_convex *b, const cr_motion *mb, double tolerance)
{
	for (int i = 0; i <= 2000; i++) {
		const carom_pose pa = cr_motion_at(ma, i / 2000.0), pb = cr_motion_at(mb, i / 2000.0);
		const m3d ra = m3d_from_quat(pa.orientation), rb = m3d_from_quat(pb.orientation);
		const cr_relative at = { m3d_transpose_mul(&ra, &rb), m3d_tmul(&ra, v3d_sub(pb.position, pa.position)) };
		cr_separation s;
		cr_convex_separation(a, b, &at, &s);
		if (s.gap <= tolerance)
			return i / 2000.0;
	}
	return 2;
}

TEST(convex, no_impact_is_missed_and_none_comes_late)
{
	uint64_t seed = 10;
	int found = 0, none = 0, most_steps = 0;
	for (int round = 0; round < 250; round++) {
		const cr_convex a = random_convex(&seed), b = random_convex(&seed);
		const carom_pose p[4] = { random_pose_at(&seed, 3), random_pose_at(&seed, 3), random_pose_at(&seed, 3),
			random_pose_at(&seed, 3) };
		const cr_motion ma = cr_motion_between(&p[0], &p[1]), mb = cr_motion_between(&p[2], &p[3]);
		const double tolerance = 1e-4;
		cr_impact impact;
		cr_find_impact(&a, &ma, &b, &mb, tolerance, &impact);
		CHECK(impact.state != CR_IMPACT_UNDECIDED);
		const double dull = dull_impact(&a, &ma, &b, &mb, 0);
		CHECK(impact.time <= dull);
		if (impact.state == CR_IMPACT_FOUND) {
			CHECK(impact.separation.gap <= 2 * tolerance);
			CHECK(impact.separation.gap > 0);
			found++;
		} else if (impact.state == CR_IMPACT_NONE) {
			CHECK(dull == 2);
			none++;
		}
		most_steps = impact.steps > most_steps ? impact.steps : most_steps;
	}
	CHECK(found > 40);
	CHECK(none > 40);
	CHECK(most_steps < 400);
}

TEST(convex, motions_reach_their_ends)
{
	uint64_t seed = 11;
	for (int round = 0; round < 300; round++) {
		const carom_pose p = fixture_random_pose(&seed, 3);
		carom_pose q = fixture_random_pose(&seed, 3);
		if (round % 3 == 0)
			q.orientation =
				fixture_compose((carom_pose){ { 0, 0, 0 }, fixture_turn(random_on_sphere(&seed, 1), 1e-7 * (round + 1)) }, p)
					.orientation;
		const cr_motion m = cr_motion_between(&p, &q);
		const carom_pose end = cr_motion_at(&m, 1);
		const v3d v = random_on_sphere(&seed, 1);
		CHECK_NEAR(v3d_length(v3d_sub(carom_transform_point(end, v), carom_transform_point(q, v))), 0, 1e-10);
		const carom_pose begin = cr_motion_at(&m, 0);
		CHECK_NEAR(v3d_length(v3d_sub(carom_transform_point(begin, v), carom_transform_point(p, v))), 0, 1e-12);
	}
}
