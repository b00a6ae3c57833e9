/// Queries by users, against every triangle in double: rays, nearest points, overlaps, and the stateless functions of query.h.
#include "test.h"
#include "carom/carom.h"
#include "geom/triangle.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// ---- Meshes of known form ----

enum { MAX_VERTICES = 1024, MAX_TRIANGLES = 2048 };

typedef struct soup {
	float vertices[3 * MAX_VERTICES];
	int32_t triangles[3 * MAX_TRIANGLES];
	int32_t vertex_count;
	int32_t triangle_count;
} soup;

static void add_quad(soup *s, int32_t a, int32_t b, int32_t c, int32_t d)
{
	const int32_t corners[6] = { a, b, c, a, c, d };
	memcpy(&s->triangles[3 * s->triangle_count], corners, sizeof corners);
	s->triangle_count += 2;
}

/// A closed lumpy torus around z of major radius 1; offset moves it along x.
static void add_torus(soup *s, int around, int across, double minor, double lump, double offset)
{
	const int32_t base = s->vertex_count;
	for (int i = 0; i < around; i++) {
		for (int k = 0; k < across; k++) {
			const double a = 2 * 3.14159265358979 * i / around, b = 2 * 3.14159265358979 * k / across;
			const double r = minor * (1 + lump * sin(5 * a + 2 * b)), ring = 1 + r * cos(b);
			float *v = &s->vertices[3 * s->vertex_count++];
			v[0] = (float)(ring * cos(a) + offset);
			v[1] = (float)(ring * sin(a));
			v[2] = (float)(r * sin(b));
		}
	}
	for (int i = 0; i < around; i++) {
		for (int k = 0; k < across; k++) {
			const int i1 = (i + 1) % around, k1 = (k + 1) % across;
			add_quad(s, base + i * across + k, base + i1 * across + k, base + i1 * across + k1, base + i * across + k1);
		}
	}
}

/// A cube from -half to half.
static void add_cube(soup *s, double half)
{
	static const int32_t quads[6][4] = { { 0, 2, 3, 1 }, { 4, 5, 7, 6 }, { 0, 1, 5, 4 }, { 2, 6, 7, 3 }, { 0, 4, 6, 2 },
		{ 1, 3, 7, 5 } };
	const int32_t base = s->vertex_count;
	for (int i = 0; i < 8; i++) {
		float *v = &s->vertices[3 * s->vertex_count++];
		for (int k = 0; k < 3; k++)
			v[k] = (float)((i >> k & 1) ? half : -half);
	}
	for (int i = 0; i < 6; i++)
		add_quad(s, base + quads[i][0], base + quads[i][1], base + quads[i][2], base + quads[i][3]);
}

static carom_mesh *make_mesh(carom_context *context, const soup *s)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ s->vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = s->vertex_count;
	def.triangles = s->triangles;
	def.triangle_count = s->triangle_count;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

// ---- A world with its triangles at hand ----

enum { MAX_BODIES = 64 };

typedef struct scene {
	carom_context *context;
	carom_world *world;
	carom_mesh *torus;
	carom_mesh *cube;
	carom_body_id ids[MAX_BODIES];
	const carom_mesh *meshes[MAX_BODIES];
	carom_pose poses[MAX_BODIES];
	int count;
} scene;

static carom_pose random_pose(uint64_t *seed, double span, carom_vec3 origin)
{
	carom_pose p;
	p.position.x = origin.x + test_random_double(seed, -span, span);
	p.position.y = origin.y + test_random_double(seed, -span, span);
	p.position.z = origin.z + test_random_double(seed, -span, span);
	double q[4], length = 0;
	for (int i = 0; i < 4; i++) {
		q[i] = test_random_double(seed, -1, 1);
		length += q[i] * q[i];
	}
	length = sqrt(length);
	p.orientation = (carom_quat){ q[0] / length, q[1] / length, q[2] / length, q[3] / length };
	return p;
}

static void open_scene(scene *s)
{
	*s = (scene){ 0 };
	static soup torus, cube;
	torus = cube = (soup){ 0 };
	add_torus(&torus, 24, 12, 0.4, 0.3, 0);
	add_cube(&cube, 0.5);
	REQUIRE(carom_create_context(NULL, &s->context) == CAROM_SUCCESS);
	REQUIRE(carom_create_world(s->context, NULL, &s->world) == CAROM_SUCCESS);
	s->torus = make_mesh(s->context, &torus);
	s->cube = make_mesh(s->context, &cube);
}

static carom_body_id add_shape(scene *s, const carom_shape *shape, const carom_pose *pose, carom_body_kind kind)
{
	carom_body_def def = carom_default_body_def();
	def.shape = *shape;
	def.pose = *pose;
	def.kind = kind;
	carom_body_id id;
	REQUIRE(carom_world_add_body(s->world, &def, &id) == CAROM_SUCCESS);
	return id;
}

static void add_mesh_body(scene *s, const carom_mesh *mesh, const carom_pose *pose)
{
	s->meshes[s->count] = mesh;
	s->poses[s->count] = *pose;
	s->ids[s->count++] = add_shape(s, &(carom_shape){ .type = CAROM_MESH, .mesh = mesh }, pose, CAROM_DYNAMIC);
}

static void close_scene(scene *s)
{
	carom_destroy_world(s->world);
	carom_release_mesh(s->torus);
	carom_release_mesh(s->cube);
	CHECK(carom_memory_in_use(s->context) < 4096); // the context itself
	carom_destroy_context(s->context);
}

static void triangle_of(const scene *s, int body, int32_t triangle, v3d corners[3])
{
	const float *v = carom_mesh_get_vertices(s->meshes[body]);
	const int32_t *t = carom_mesh_get_triangles(s->meshes[body]) + 3 * triangle;
	for (int k = 0; k < 3; k++)
		corners[k] = carom_transform_point(s->poses[body], v3d_from_floats(&v[3 * t[k]]));
}

static int32_t triangles_of(const scene *s, int body) { return carom_mesh_get_report(s->meshes[body])->triangle_count; }

static void random_scene(scene *s, uint64_t *seed, int bodies, double span, carom_vec3 origin)
{
	open_scene(s);
	for (int i = 0; i < bodies; i++) {
		const carom_pose pose = random_pose(seed, span, origin);
		add_mesh_body(s, i % 3 == 2 ? s->cube : s->torus, &pose);
	}
}

// ---- Rays ----

/// t of a ray with a triangle whose border is moved outward by slack (relative to its size), or infinity.
static double oracle_triangle(const v3d c[3], const carom_ray *ray, double slack)
{
	const v3d e1 = v3d_sub(c[1], c[0]), e2 = v3d_sub(c[2], c[0]), n = v3d_cross(e1, e2), d = ray->direction;
	const double along = v3d_dot(n, d);
	if (fabs(along) < 1e-9 * v3d_length(n) * v3d_length(d))
		return INFINITY;
	const double t = v3d_dot(n, v3d_sub(c[0], ray->origin)) / along;
	const v3d p = v3d_sub(v3d_mad(ray->origin, t, d), c[0]);
	const double u = v3d_dot(v3d_cross(p, e2), n) / v3d_dot(n, n), v = v3d_dot(v3d_cross(e1, p), n) / v3d_dot(n, n);
	const bool inside = u >= -slack && v >= -slack && u + v <= 1 + slack;
	return inside && t >= ray->t_min && t <= ray->t_max ? t : INFINITY;
}

static double oracle_ray(const scene *s, const carom_ray *ray, double slack)
{
	double best = INFINITY;
	for (int b = 0; b < s->count; b++) {
		for (int32_t i = 0; i < triangles_of(s, b); i++) {
			v3d c[3];
			triangle_of(s, b, i, c);
			best = fmin(best, oracle_triangle(c, ray, slack));
		}
	}
	return best;
}

static carom_ray random_ray(uint64_t *seed, double span, carom_vec3 origin)
{
	const carom_pose p = random_pose(seed, span, origin);
	const double length = test_random_double(seed, 0.1, 4);
	return (carom_ray){ p.position, carom_rotate(p.orientation, (carom_vec3){ 0, 0, length }), 0, INFINITY };
}

static int check_random_rays(scene *s, uint64_t *seed, int rays, double span, carom_vec3 origin)
{
	int hits = 0;
	for (int i = 0; i < rays; i++) {
		carom_ray ray = random_ray(seed, span, origin);
		if (i % 4 == 1)
			ray.t_max = test_random_double(seed, 0, 4);
		if (i % 4 == 2)
			ray.t_min = test_random_double(seed, 0, 2);
		bool found, any;
		carom_ray_hit hit;
		REQUIRE(carom_world_cast_ray(s->world, &ray, NULL, &found, &hit) == CAROM_SUCCESS);
		REQUIRE(carom_world_cast_ray_any(s->world, &ray, NULL, &any) == CAROM_SUCCESS);
		CHECK(any == found);
		// What a ray certainly meets, and what it may meet if it passes an edge by a rounding.
		const double certain = oracle_ray(s, &ray, -1e-5), possible = oracle_ray(s, &ray, 1e-5), t = found ? hit.t : INFINITY;
		const double tolerance = 1e-5 * (1 + fabs(fmin(t, 1e3)));
		if (!CHECK(t <= certain + tolerance && t >= possible - tolerance))
			test_check_near(t, certain, tolerance, "t", __FILE__, __LINE__);
		if (!found)
			continue;
		hits++;
		CHECK(hit.t >= ray.t_min && hit.t <= ray.t_max);
		int b = 0;
		while (b < s->count && s->ids[b].index1 != hit.body.index1)
			b++;
		REQUIRE(b < s->count);
		v3d c[3];
		triangle_of(s, b, hit.triangle, c);
		const v3d at = v3d_mad(v3d_mad(c[0], hit.u, v3d_sub(c[1], c[0])), hit.v, v3d_sub(c[2], c[0]));
		CHECK_NEAR(v3d_length(v3d_sub(at, hit.point)), 0, 1e-5);
		CHECK_NEAR(v3d_length(v3d_sub(v3d_mad(ray.origin, hit.t, ray.direction), hit.point)), 0, 1e-6);
		CHECK_NEAR(v3d_length(hit.normal), 1, 1e-9);
		const double facing = v3d_dot(hit.normal, ray.direction);
		CHECK(hit.back_face == (facing > 0) || fabs(facing) < 1e-6);
		const v3d n = v3d_normalize(v3d_cross(v3d_sub(c[1], c[0]), v3d_sub(c[2], c[0])));
		CHECK_NEAR(v3d_dot(n, hit.normal), 1, 1e-6);
	}
	return hits;
}

TEST(query, rays_against_every_triangle)
{
	uint64_t seed = 1;
	scene s;
	const carom_vec3 origin = { 0, 0, 0 };
	random_scene(&s, &seed, 14, 2.5, origin);
	CHECK(check_random_rays(&s, &seed, 600, 3.5, origin) > 150);
	close_scene(&s);
}

TEST(query, rays_in_a_world_far_from_its_origin)
{
	uint64_t seed = 2;
	scene s;
	const carom_vec3 origin = { 1e7, -2e7, 5e6 };
	random_scene(&s, &seed, 14, 2.5, origin);
	CHECK(check_random_rays(&s, &seed, 300, 3.5, origin) > 70);
	close_scene(&s);
}

TEST(query, a_ray_from_far_away_meets_what_a_near_one_meets)
{
	uint64_t seed = 3;
	scene s;
	const carom_vec3 zero = { 0, 0, 0 };
	random_scene(&s, &seed, 8, 2, zero);
	int hits = 0;
	for (int i = 0; i < 300; i++) {
		carom_ray near = random_ray(&seed, 3, zero);
		near.direction = v3d_normalize(near.direction);
		near.origin = v3d_mad(near.origin, -16, near.direction);
		carom_ray far = near;
		far.origin = v3d_mad(near.origin, -0x1p22, near.direction);
		bool found_near, found_far;
		carom_ray_hit hit_near, hit_far;
		REQUIRE(carom_world_cast_ray(s.world, &near, NULL, &found_near, &hit_near) == CAROM_SUCCESS);
		REQUIRE(carom_world_cast_ray(s.world, &far, NULL, &found_far, &hit_far) == CAROM_SUCCESS);
		if (found_near != found_far) // at an outline only
			CHECK(isinf(oracle_ray(&s, &near, -1e-4)) && !isinf(oracle_ray(&s, &near, 1e-4)));
		if (!found_near || !found_far)
			continue;
		hits++;
		CHECK(fabs(hit_far.t - 0x1p22 - hit_near.t) < 1e-5 ||
			fabs(oracle_ray(&s, &near, -1e-4) - oracle_ray(&s, &near, 1e-4)) > 1e-6);
	}
	CHECK(hits > 50);
	close_scene(&s);
}

TEST(query, all_hits_are_sorted_and_begin_with_the_nearest)
{
	uint64_t seed = 4;
	scene s;
	const carom_vec3 zero = { 0, 0, 0 };
	random_scene(&s, &seed, 10, 2, zero);
	int total = 0;
	for (int i = 0; i < 300; i++) {
		carom_ray ray = random_ray(&seed, 3, zero);
		ray.origin = v3d_mad(ray.origin, -50 / v3d_length(ray.direction), ray.direction); // outside of all
		carom_ray_hit hits[256], few[2], nearest;
		int32_t count, count_few, count_none;
		bool found;
		REQUIRE(carom_world_cast_ray_all(s.world, &ray, NULL, 256, hits, &count) == CAROM_SUCCESS);
		REQUIRE(carom_world_cast_ray_all(s.world, &ray, NULL, 2, few, &count_few) == CAROM_SUCCESS);
		REQUIRE(carom_world_cast_ray_all(s.world, &ray, NULL, 0, NULL, &count_none) == CAROM_SUCCESS);
		REQUIRE(carom_world_cast_ray(s.world, &ray, NULL, &found, &nearest) == CAROM_SUCCESS);
		REQUIRE(count <= 256);
		CHECK_INT(count_few, count);
		CHECK_INT(count_none, count);
		CHECK(found == (count > 0));
		int certain = 0, possible = 0, entries = 0;
		for (int b = 0; b < s.count; b++) {
			for (int32_t k = 0; k < triangles_of(&s, b); k++) {
				v3d c[3];
				triangle_of(&s, b, k, c);
				certain += !isinf(oracle_triangle(c, &ray, -1e-4));
				possible += !isinf(oracle_triangle(c, &ray, 1e-4));
			}
		}
		CHECK(count >= certain && count <= possible);
		for (int32_t k = 0; k < count; k++) {
			entries += hits[k].back_face ? -1 : 1;
			if (k > 0)
				CHECK(hits[k - 1].t <= hits[k].t);
			if (k < 2)
				CHECK(few[k].triangle == hits[k].triangle && few[k].t == hits[k].t);
		}
		if (certain == possible)
			CHECK_INT(entries, 0); // in and out of closed meshes
		if (count > 0)
			CHECK_NEAR(nearest.t, hits[0].t, 1e-6 * (1 + nearest.t));
		total += count;
	}
	CHECK(total > 300);
	close_scene(&s);
}

TEST(query, rays_against_volumes)
{
	scene s;
	open_scene(&s);
	carom_pose pose = carom_pose_identity();
	const carom_body_id plane = add_shape(&s, &(carom_shape){ .type = CAROM_PLANE }, &pose, CAROM_STATIC);
	pose.position = (carom_vec3){ 0, 0, 5 };
	const carom_body_id sphere = add_shape(&s, &(carom_shape){ .type = CAROM_SPHERE, .radius = 1 }, &pose, CAROM_DYNAMIC);
	pose.position = (carom_vec3){ 10, 0, 5 };
	const carom_body_id box =
		add_shape(&s, &(carom_shape){ .type = CAROM_BOX, .half_extents = { 1, 2, 3 } }, &pose, CAROM_DYNAMIC);
	pose.position = (carom_vec3){ 20, 0, 5 };
	const carom_body_id capsule =
		add_shape(&s, &(carom_shape){ .type = CAROM_CAPSULE, .radius = 0.5, .half_length = 1 }, &pose, CAROM_DYNAMIC);
	const struct {
		double x;
		carom_body_id body;
		double t;
	} expected[] = { { 0, sphere, 14 }, { 10, box, 12 }, { 20, capsule, 13.5 }, { 30, plane, 20 } };
	for (int i = 0; i < 4; i++) {
		const carom_ray ray = { { expected[i].x, 0, 20 }, { 0, 0, -1 }, 0, INFINITY };
		bool found;
		carom_ray_hit hit;
		REQUIRE(carom_world_cast_ray(s.world, &ray, NULL, &found, &hit) == CAROM_SUCCESS);
		REQUIRE(found);
		CHECK_INT(hit.body.index1, expected[i].body.index1);
		CHECK_NEAR(hit.t, expected[i].t, 1e-12);
		CHECK_NEAR(hit.normal.z, 1, 1e-12);
		CHECK(!hit.back_face);
		CHECK_INT(hit.triangle, 0);
	}
	// Through the sphere and into the plane.
	const carom_ray down = { { 0, 0, 20 }, { 0, 0, -2 }, 0, INFINITY };
	carom_ray_hit hits[8];
	int32_t count;
	REQUIRE(carom_world_cast_ray_all(s.world, &down, NULL, 8, hits, &count) == CAROM_SUCCESS);
	REQUIRE(count == 3);
	CHECK_NEAR(hits[0].t, 7, 1e-12);
	CHECK_NEAR(hits[1].t, 8, 1e-12);
	CHECK(hits[1].back_face);
	CHECK_NEAR(hits[2].t, 10, 1e-12);
	close_scene(&s);
}

// ---- Nearest points ----

/// Solid angle of all triangles of a body seen from a point, in whole spheres (van Oosterom, Strackee 1983).
static double oracle_winding(const scene *s, int body, v3d p)
{
	double sum = 0;
	for (int32_t i = 0; i < triangles_of(s, body); i++) {
		v3d c[3];
		triangle_of(s, body, i, c);
		const v3d a = v3d_sub(c[0], p), b = v3d_sub(c[1], p), d = v3d_sub(c[2], p);
		const double la = v3d_length(a), lb = v3d_length(b), ld = v3d_length(d);
		sum +=
			2 * atan2(v3d_dot(a, v3d_cross(b, d)), la * lb * ld + v3d_dot(a, b) * ld + v3d_dot(b, d) * la + v3d_dot(d, a) * lb);
	}
	return sum / (4 * 3.14159265358979);
}

static double oracle_distance(const scene *s, int body, v3d p)
{
	double best = INFINITY;
	for (int32_t i = 0; i < triangles_of(s, body); i++) {
		v3d c[3];
		cr_feature feature;
		triangle_of(s, body, i, c);
		best = fmin(best, v3d_length(v3d_sub(cr_closest_point_triangle(p, c[0], c[1], c[2], &feature), p)));
	}
	return best;
}

static void check_closest(scene *s, uint64_t *seed, int points, double span, carom_vec3 origin, double tolerance)
{
	int inside = 0;
	for (int i = 0; i < points; i++) {
		const v3d p = random_pose(seed, span, origin).position;
		double expected = INFINITY;
		for (int b = 0; b < s->count; b++)
			expected = fmin(expected, oracle_distance(s, b, p));
		bool found;
		carom_closest_point near;
		REQUIRE(carom_world_closest_point(s->world, p, INFINITY, NULL, &found, &near) == CAROM_SUCCESS);
		REQUIRE(found);
		CHECK_NEAR(fabs(near.distance), expected, tolerance);
		CHECK_NEAR(v3d_length(v3d_sub(near.point, p)), expected, tolerance);
		CHECK_NEAR(v3d_length(near.normal), 1, 1e-6);
		int b = 0;
		while (s->ids[b].index1 != near.body.index1)
			b++;
		const bool is_inside = oracle_winding(s, b, p) > 0.5;
		CHECK((near.distance < 0) == is_inside);
		inside += is_inside;
		// Along the normal the surface is left: the sign of the direction to the point agrees.
		if (fabs(near.distance) > 1e-3)
			CHECK(v3d_dot(near.normal, v3d_sub(p, near.point)) * near.distance > 0);
		REQUIRE(carom_world_closest_point(s->world, p, expected * 0.99, NULL, &found, &near) == CAROM_SUCCESS);
		CHECK(!found);
		REQUIRE(carom_world_closest_point(s->world, p, expected * 1.01 + 1e-6, NULL, &found, &near) == CAROM_SUCCESS);
		CHECK(found);
	}
	CHECK(inside > 3);
}

TEST(query, closest_points_against_every_triangle)
{
	uint64_t seed = 5;
	scene s;
	const carom_vec3 zero = { 0, 0, 0 }, far = { 3e6, 1e7, 0 };
	random_scene(&s, &seed, 10, 2.5, zero);
	check_closest(&s, &seed, 200, 3, zero, 1e-9);
	close_scene(&s);
	random_scene(&s, &seed, 10, 2.5, far);
	check_closest(&s, &seed, 100, 3, far, 1e-7);
	close_scene(&s);
}

TEST(query, closest_point_of_volumes)
{
	scene s;
	open_scene(&s);
	carom_pose pose = carom_pose_identity();
	const carom_body_id plane = add_shape(&s, &(carom_shape){ .type = CAROM_PLANE }, &pose, CAROM_STATIC);
	pose.position.z = 10;
	const carom_body_id sphere = add_shape(&s, &(carom_shape){ .type = CAROM_SPHERE, .radius = 2 }, &pose, CAROM_DYNAMIC);
	bool found;
	carom_closest_point near;
	REQUIRE(carom_world_closest_point(s.world, (carom_vec3){ 0, 0, 3 }, INFINITY, NULL, &found, &near) == CAROM_SUCCESS);
	CHECK(found && near.body.index1 == plane.index1);
	CHECK_NEAR(near.distance, 3, 1e-12);
	REQUIRE(carom_world_closest_point(s.world, (carom_vec3){ 0, 0, 9 }, INFINITY, NULL, &found, &near) == CAROM_SUCCESS);
	CHECK(found && near.body.index1 == sphere.index1);
	CHECK_NEAR(near.distance, -1, 1e-12);
	CHECK_NEAR(near.point.z, 8, 1e-12);
	CHECK_NEAR(near.normal.z, -1, 1e-12);
	REQUIRE(carom_world_closest_point(s.world, (carom_vec3){ 0, 0, 5 }, 1, NULL, &found, &near) == CAROM_SUCCESS);
	CHECK(!found);
	close_scene(&s);
}

// ---- Overlap ----

static double point_box_distance(v3d p, const carom_aabb *box)
{
	double sum = 0;
	for (int k = 0; k < 3; k++) {
		const double x = v3d_get(p, k), d = fmax(fmax(v3d_get(box->lower, k) - x, x - v3d_get(box->upper, k)), 0);
		sum += d * d;
	}
	return sqrt(sum);
}

static bool oracle_box_overlap(const scene *s, int body, const carom_aabb *box)
{
	const v3d centre = v3d_scale(v3d_add(box->lower, box->upper), 0.5), half = v3d_scale(v3d_sub(box->upper, box->lower), 0.5);
	for (int32_t i = 0; i < triangles_of(s, body); i++) {
		v3d c[3];
		triangle_of(s, body, i, c);
		if (cr_triangle_box_overlap(centre, half, c[0], c[1], c[2]))
			return true;
	}
	return oracle_winding(s, body, centre) > 0.5;
}

static void compare_bodies(const scene *s, const bool *expected, const carom_body_id *bodies, int32_t count)
{
	int32_t at = 0;
	for (int b = 0; b < s->count; b++) {
		if (!expected[b])
			continue;
		if (CHECK(at < count))
			CHECK_INT(bodies[at].index1, s->ids[b].index1);
		at++;
	}
	CHECK_INT(count, at);
}

TEST(query, boxes_against_every_triangle)
{
	uint64_t seed = 6;
	scene s;
	const carom_vec3 zero = { 0, 0, 0 };
	random_scene(&s, &seed, 12, 3, zero);
	int total = 0, inside = 0;
	for (int i = 0; i < 300; i++) {
		const v3d centre = random_pose(&seed, 4, zero).position;
		const double size = i % 3 == 0 ? 0.05 : test_random_double(&seed, 0, 1.5);
		const carom_aabb box = { v3d_sub(centre, (v3d){ size, size / 2, size }),
			v3d_add(centre, (v3d){ size, size / 2, size }) };
		bool expected[MAX_BODIES];
		for (int b = 0; b < s.count; b++) {
			expected[b] = oracle_box_overlap(&s, b, &box);
			inside += expected[b] && point_box_distance(s.poses[b].position, &box) > 0 && size == 0.05;
		}
		carom_body_id bodies[MAX_BODIES];
		int32_t count;
		REQUIRE(carom_world_overlap_aabb(s.world, &box, NULL, MAX_BODIES, bodies, &count) == CAROM_SUCCESS);
		compare_bodies(&s, expected, bodies, count);
		total += count;
	}
	CHECK(total > 100);
	CHECK(inside > 5);
	close_scene(&s);
}

static int32_t count_in_box(const scene *s, carom_aabb box)
{
	int32_t count = -1;
	REQUIRE(carom_world_overlap_aabb(s->world, &box, NULL, 0, NULL, &count) == CAROM_SUCCESS);
	return count;
}

/// A body of each kind that ends at x = 0.6; all hold (0.5, 0, 0).
static void add_small_bodies(scene *s)
{
	const double half = 0.1;
	carom_pose pose = carom_pose_identity();
	const carom_shape shapes[] = { { .type = CAROM_SPHERE, .radius = half },
		{ .type = CAROM_BOX, .half_extents = { half, half, half } },
		{ .type = CAROM_CAPSULE, .radius = half, .half_length = 0.2 }, { .type = CAROM_MESH, .mesh = s->cube } };
	for (int i = 0; i < 4; i++) {
		pose.position.x = shapes[i].type == CAROM_MESH ? 0.6 - 0.5 : 0.5;
		add_shape(s, &shapes[i], &pose, CAROM_DYNAMIC);
	}
}

TEST(query, boxes_of_any_size_keep_their_near_side)
{
	scene s;
	open_scene(&s);
	add_small_bodies(&s);
	for (int e = -6; e <= 308; e++) {
		const double far = pow(10, e);
		CHECK_INT(count_in_box(&s, (carom_aabb){ { 1, -1, -1 }, { 1 + far, 1, 1 } }), 0);
		CHECK_INT(count_in_box(&s, (carom_aabb){ { 1, -far, -far }, { 1 + far, far, far } }), 0);
		CHECK_INT(count_in_box(&s, (carom_aabb){ { -2 - far, -far, -far }, { -1.5, far, far } }), 0);
		CHECK_INT(count_in_box(&s, (carom_aabb){ { 0.6001, -1, -1 }, { 0.7 + far, 1, 1 } }), 0);
		CHECK_INT(count_in_box(&s, (carom_aabb){ { 0.5999, -0.2, -0.2 }, { 0.7 + far, 0.2, 0.2 } }), 4);
		CHECK_INT(count_in_box(&s, (carom_aabb){ { -far, -far, -far }, { 1 + far, far, far } }), 4);
	}
	const double most = 1.7e308;
	CHECK_INT(count_in_box(&s, (carom_aabb){ { -most, -most, -most }, { most, most, most } }), 4);
	close_scene(&s);
}

TEST(query, boxes_of_any_size_against_a_plane)
{
	scene s;
	open_scene(&s);
	carom_pose pose = carom_pose_identity();
	pose.orientation = (carom_quat){ 0.6, 0, 0, 0.8 };
	const v3d up = carom_rotate(pose.orientation, (v3d){ 0, 0, 1 });
	CHECK(up.y < 0 && up.z > 0);
	add_shape(&s, &(carom_shape){ .type = CAROM_PLANE }, &pose, CAROM_STATIC);
	for (int e = 0; e <= 308; e += 4) {
		const double far = pow(10, e), deep = 0.001;
		const carom_aabb above = { { -far, -far, deep }, { far, -deep, far } },
						 below = { { -far, -far, -deep }, { far, deep, far } };
		CHECK_INT(count_in_box(&s, above), 0);
		CHECK_INT(count_in_box(&s, below), 1);
	}
	close_scene(&s);
}

TEST(query, spheres_and_capsules_against_every_triangle)
{
	uint64_t seed = 7;
	scene s;
	const carom_vec3 zero = { 0, 0, 0 };
	random_scene(&s, &seed, 12, 2, zero);
	int total = 0;
	for (int i = 0; i < 300; i++) {
		const carom_pose pose = random_pose(&seed, 2.5, zero);
		const carom_shape shape = { .type = i % 2 ? CAROM_SPHERE : CAROM_CAPSULE,
			.radius = test_random_double(&seed, 0.02, 0.5),
			.half_length = test_random_double(&seed, 0, 1) };
		const double length = shape.type == CAROM_SPHERE ? 0 : shape.half_length;
		const v3d p0 = carom_transform_point(pose, (v3d){ 0, 0, -length }),
				  p1 = carom_transform_point(pose, (v3d){ 0, 0, length });
		bool expected[MAX_BODIES];
		for (int b = 0; b < s.count; b++) {
			expected[b] = oracle_winding(&s, b, pose.position) > 0.5;
			for (int32_t k = 0; k < triangles_of(&s, b) && !expected[b]; k++) {
				v3d c[3], on_segment, on_triangle;
				triangle_of(&s, b, k, c);
				expected[b] =
					sqrt(cr_closest_segment_triangle(p0, p1, c[0], c[1], c[2], &on_segment, &on_triangle)) <= shape.radius;
			}
		}
		carom_body_id bodies[MAX_BODIES];
		int32_t count;
		REQUIRE(carom_world_overlap_shape(s.world, &shape, &pose, NULL, MAX_BODIES, bodies, &count) == CAROM_SUCCESS);
		compare_bodies(&s, expected, bodies, count);
		total += count;
	}
	CHECK(total > 100);
	close_scene(&s);
}

TEST(query, meshes_against_every_pair_of_triangles)
{
	uint64_t seed = 8;
	scene s;
	const carom_vec3 zero = { 0, 0, 0 };
	random_scene(&s, &seed, 9, 2.5, zero);
	static soup grain;
	grain = (soup){ 0 };
	add_cube(&grain, 0.06);
	carom_mesh *small = make_mesh(s.context, &grain);
	int total = 0, inside = 0;
	for (int i = 0; i < 60; i++) {
		scene q = { .count = 1, .meshes = { i % 3 ? small : s.cube }, .poses = { random_pose(&seed, 3, zero) } };
		bool expected[MAX_BODIES];
		for (int b = 0; b < s.count; b++) {
			bool meet = false;
			for (int32_t k = 0; k < triangles_of(&s, b) && !meet; k++) {
				for (int32_t j = 0; j < 12 && !meet; j++) {
					v3d ta[3], tb[3];
					triangle_of(&s, b, k, ta);
					triangle_of(&q, 0, j, tb);
					meet = cr_triangles_intersect(ta, tb);
				}
			}
			const bool contained = !meet && oracle_winding(&s, b, q.poses[0].position) > 0.5;
			inside += contained;
			expected[b] = meet || contained;
		}
		const carom_shape shape = { .type = CAROM_MESH, .mesh = q.meshes[0] };
		carom_body_id bodies[MAX_BODIES];
		int32_t count;
		REQUIRE(carom_world_overlap_shape(s.world, &shape, &q.poses[0], NULL, MAX_BODIES, bodies, &count) == CAROM_SUCCESS);
		compare_bodies(&s, expected, bodies, count);
		total += count;
	}
	CHECK(total > 20);
	CHECK(inside > 1);
	carom_release_mesh(small);
	close_scene(&s);
}

TEST(query, a_plane_is_met_by_what_reaches_below_it)
{
	scene s;
	open_scene(&s);
	carom_pose pose = carom_pose_identity();
	add_shape(&s, &(carom_shape){ .type = CAROM_PLANE }, &pose, CAROM_STATIC);
	const carom_shape shapes[] = { { .type = CAROM_SPHERE, .radius = 0.5 },
		{ .type = CAROM_BOX, .half_extents = { 0.5, 0.5, 0.5 } },
		{ .type = CAROM_CAPSULE, .radius = 0.25, .half_length = 0.25 }, { .type = CAROM_MESH, .mesh = s.cube } };
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < 3; k++) {
			pose.position.z = (double[]){ 0.51, 0.49, -1e6 }[k];
			int32_t count;
			carom_body_id body;
			REQUIRE(carom_world_overlap_shape(s.world, &shapes[i], &pose, NULL, 1, &body, &count) == CAROM_SUCCESS);
			CHECK_INT(count, k > 0);
		}
	}
	const carom_aabb above = { { 0, 0, 0.01 }, { 1, 1, 1 } }, point = { { 5, 5, -1 }, { 5, 5, -1 } };
	int32_t count;
	REQUIRE(carom_world_overlap_aabb(s.world, &above, NULL, 0, NULL, &count) == CAROM_SUCCESS);
	CHECK_INT(count, 0);
	REQUIRE(carom_world_overlap_aabb(s.world, &point, NULL, 0, NULL, &count) == CAROM_SUCCESS);
	CHECK_INT(count, 1);
	close_scene(&s);
}

// ---- Worlds that change, filters, misuse ----

static bool ray_sees(const scene *s, double x, const carom_query_filter *filter)
{
	const carom_ray ray = { { x, 0.03, 50 }, { 0, 0, -1 }, 0, INFINITY };
	bool found;
	carom_ray_hit hit;
	REQUIRE(carom_world_cast_ray(s->world, &ray, filter, &found, &hit) == CAROM_SUCCESS);
	return found;
}

TEST(query, queries_see_the_poses_set_last)
{
	scene s;
	open_scene(&s);
	CHECK(!ray_sees(&s, 0.1, NULL)); // an empty world
	carom_pose pose = carom_pose_identity();
	add_mesh_body(&s, s.cube, &pose);
	CHECK(ray_sees(&s, 0.1, NULL));
	pose.position.x = 100;
	REQUIRE(carom_world_set_pose(s.world, s.ids[0], &pose) == CAROM_SUCCESS);
	CHECK(!ray_sees(&s, 0.1, NULL));
	CHECK(ray_sees(&s, 100.1, NULL));
	REQUIRE(carom_world_step(s.world) == CAROM_SUCCESS);
	CHECK(ray_sees(&s, 100.1, NULL));
	REQUIRE(carom_world_remove_body(s.world, s.ids[0]) == CAROM_SUCCESS);
	CHECK(!ray_sees(&s, 100.1, NULL));
	close_scene(&s);
}

TEST(query, filters_leave_bodies_out)
{
	scene s;
	open_scene(&s);
	carom_body_def def = carom_default_body_def();
	def.shape = (carom_shape){ .type = CAROM_SPHERE, .radius = 1 };
	def.category = 2;
	def.mask = 4;
	def.sensor = true;
	carom_body_id id;
	REQUIRE(carom_world_add_body(s.world, &def, &id) == CAROM_SUCCESS);
	carom_query_filter filter = carom_default_query_filter();
	CHECK(ray_sees(&s, 0, &filter));
	filter.category = 3;
	CHECK(!ray_sees(&s, 0, &filter));
	filter.category = 6;
	CHECK(ray_sees(&s, 0, &filter));
	filter.mask = ~(uint64_t)2;
	CHECK(!ray_sees(&s, 0, &filter));
	filter = carom_default_query_filter();
	filter.skip_sensors = true;
	CHECK(!ray_sees(&s, 0, &filter));
	filter = carom_default_query_filter();
	filter.ignore = id;
	CHECK(!ray_sees(&s, 0, &filter));
	filter.ignore.generation++; // an older or newer body of the same number
	CHECK(ray_sees(&s, 0, &filter));
	int32_t count;
	bool found;
	carom_closest_point near;
	filter.ignore = id;
	const carom_aabb box = { { -1, -1, -1 }, { 1, 1, 1 } };
	REQUIRE(carom_world_overlap_aabb(s.world, &box, &filter, 0, NULL, &count) == CAROM_SUCCESS);
	CHECK_INT(count, 0);
	REQUIRE(carom_world_closest_point(s.world, (carom_vec3){ 0, 0, 0 }, 10, &filter, &found, &near) == CAROM_SUCCESS);
	CHECK(!found);
	close_scene(&s);
}

TEST(query, wrong_arguments_are_named)
{
	scene s;
	open_scene(&s);
	const carom_pose pose = carom_pose_identity();
	add_mesh_body(&s, s.cube, &pose);
	bool found = true;
	carom_ray_hit hit;
	int32_t count;
	const carom_ray good = { { 0, 0, 5 }, { 0, 0, -1 }, 0, 10 };
	const struct {
		carom_ray ray;
		const char *word;
	} rays[] = {
		{ { { NAN, 0, 0 }, { 0, 0, 1 }, 0, 1 }, "origin" },
		{ { { 0, INFINITY, 0 }, { 0, 0, 1 }, 0, 1 }, "origin" },
		{ { { 0, 0, 0 }, { 0, 0, NAN }, 0, 1 }, "direction" },
		{ { { 0, 0, 0 }, { 0, INFINITY, 1 }, 0, 1 }, "direction is not finite" },
		{ { { 0, 0, 0 }, { NAN, 0, 0 }, 0, 1 }, "direction is not finite" },
		{ { { 0, 0, 0 }, { 0, 0, 0 }, 0, 1 }, "zero" },
		{ { { 0, 0, 0 }, { 0, 0, 1 }, NAN, 1 }, "t_min" },
		{ { { 0, 0, 0 }, { 0, 0, 1 }, 0, NAN }, "t_max" },
		{ { { 0, 0, 0 }, { 0, 0, 1 }, 2, 1 }, "t_max" },
		{ { { 0, 0, 0 }, { 0, 0, 1 }, -INFINITY, 1 }, "t_min" },
	};
	for (size_t i = 0; i < sizeof rays / sizeof rays[0]; i++) {
		found = true;
		CHECK_INT(carom_world_cast_ray(s.world, &rays[i].ray, NULL, &found, &hit), CAROM_INVALID_ARGUMENT);
		CHECK(!found);
		CHECK(strstr(carom_error_text(s.context), rays[i].word) != NULL);
		CHECK_INT(carom_world_cast_ray_any(s.world, &rays[i].ray, NULL, &found), CAROM_INVALID_ARGUMENT);
		CHECK_INT(carom_world_cast_ray_all(s.world, &rays[i].ray, NULL, 0, NULL, &count), CAROM_INVALID_ARGUMENT);
	}
	CHECK_INT(carom_world_cast_ray(s.world, NULL, NULL, &found, &hit), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_cast_ray(s.world, &good, NULL, NULL, &hit), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_cast_ray(s.world, &good, NULL, &found, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_cast_ray_any(s.world, &good, NULL, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_cast_ray_all(s.world, &good, NULL, 1, NULL, &count), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_cast_ray_all(s.world, &good, NULL, -1, &hit, &count), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_cast_ray_all(s.world, &good, NULL, 1, &hit, NULL), CAROM_INVALID_ARGUMENT);
	carom_closest_point near;
	const carom_vec3 zero = { 0, 0, 0 };
	CHECK_INT(carom_world_closest_point(s.world, zero, -1, NULL, &found, &near), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_closest_point(s.world, zero, NAN, NULL, &found, &near), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_closest_point(s.world, (carom_vec3){ 0, NAN, 0 }, 1, NULL, &found, &near), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_closest_point(s.world, zero, 1, NULL, NULL, &near), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_closest_point(s.world, zero, 1, NULL, &found, NULL), CAROM_INVALID_ARGUMENT);
	const carom_aabb wrong[] = { { { 0, 0, 0 }, { -1, 1, 1 } }, { { 0, NAN, 0 }, { 1, 1, 1 } },
		{ { 0, 0, 0 }, { 1, 1, INFINITY } } };
	for (int i = 0; i < 3; i++)
		CHECK_INT(carom_world_overlap_aabb(s.world, &wrong[i], NULL, 0, NULL, &count), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_overlap_aabb(s.world, NULL, NULL, 0, NULL, &count), CAROM_INVALID_ARGUMENT);
	const carom_shape plane = { .type = CAROM_PLANE }, sphere = { .type = CAROM_SPHERE, .radius = -1 },
					  mesh = { .type = CAROM_MESH };
	CHECK_INT(carom_world_overlap_shape(s.world, &plane, &pose, NULL, 0, NULL, &count), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_overlap_shape(s.world, &sphere, &pose, NULL, 0, NULL, &count), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_overlap_shape(s.world, &mesh, &pose, NULL, 0, NULL, &count), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_overlap_shape(s.world, NULL, &pose, NULL, 0, NULL, &count), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_overlap_shape(s.world, &plane, NULL, NULL, 0, NULL, &count), CAROM_INVALID_ARGUMENT);
	CHECK(carom_world_cast_ray(s.world, &good, NULL, &found, &hit) == CAROM_SUCCESS && found);
	close_scene(&s);
}

/// Nothing is told from anything beyond CAROM_MAX_POSITION: refused, for meshes and volumes alike. At it all work.
TEST(query, places_beyond_the_limit_are_refused)
{
	scene s;
	open_scene(&s);
	add_small_bodies(&s);
	bool found;
	carom_ray_hit hit;
	carom_closest_point near;
	int32_t count;
	for (double away = CAROM_MAX_POSITION; away < 1e308; away *= 1e10) {
		const carom_result expected = away > CAROM_MAX_POSITION ? CAROM_INVALID_ARGUMENT : CAROM_SUCCESS;
		const carom_vec3 places[3] = { { away, 0, 0 }, { 0.5, -away, 0 }, { 0.5, 0, away } };
		for (int k = 0; k < 3; k++) {
			const carom_vec3 p = places[k];
			const carom_ray ray = { p, { k == 0 ? -1 : 0, k == 1, k == 2 ? -1 : 0 }, 0, INFINITY };
			CHECK_INT(carom_world_cast_ray(s.world, &ray, NULL, &found, &hit), expected);
			CHECK_INT(found, expected == CAROM_SUCCESS);
			CHECK_INT(carom_world_cast_ray_any(s.world, &ray, NULL, &found), expected);
			CHECK_INT(carom_world_cast_ray_all(s.world, &ray, NULL, 0, NULL, &count), expected);
			if (expected == CAROM_SUCCESS)
				CHECK(count >= 8); // through an edge of a mesh more
			else
				CHECK(strstr(carom_error_text(s.context), "ray.origin is (") != NULL);
			CHECK_INT(carom_world_closest_point(s.world, p, INFINITY, NULL, &found, &near), expected);
			CHECK_INT(found, expected == CAROM_SUCCESS);
			if (expected != CAROM_SUCCESS)
				CHECK(strstr(carom_error_text(s.context), "carom_world_closest_point: point is (") != NULL);
		}
	}
	close_scene(&s);
}

TEST(query, degenerate_worlds)
{
	scene s;
	open_scene(&s);
	static const soup nothing;
	carom_mesh *empty = make_mesh(s.context, &nothing);
	const carom_pose pose = carom_pose_identity();
	add_shape(&s, &(carom_shape){ .type = CAROM_MESH, .mesh = empty }, &pose, CAROM_DYNAMIC);
	bool found;
	carom_closest_point near;
	int32_t count;
	CHECK(!ray_sees(&s, 0, NULL));
	REQUIRE(carom_world_closest_point(s.world, pose.position, INFINITY, NULL, &found, &near) == CAROM_SUCCESS);
	CHECK(!found);
	const carom_aabb box = { { -1, -1, -1 }, { 1, 1, 1 } };
	REQUIRE(carom_world_overlap_aabb(s.world, &box, NULL, 0, NULL, &count) == CAROM_SUCCESS);
	CHECK_INT(count, 0);
	add_mesh_body(&s, s.cube, &pose);
	const carom_shape query = { .type = CAROM_MESH, .mesh = empty };
	REQUIRE(carom_world_overlap_shape(s.world, &query, &pose, NULL, 0, NULL, &count) == CAROM_SUCCESS);
	CHECK_INT(count, 0);
	// Directions at both ends of the range: t counts in their lengths.
	for (int i = 0; i < 2; i++) {
		const double length = i ? 1e250 : 1e-250;
		const carom_ray ray = { { 0.1, 0.2, 10.5 }, { 0, 0, -length }, 0, INFINITY };
		carom_ray_hit hit;
		REQUIRE(carom_world_cast_ray(s.world, &ray, NULL, &found, &hit) == CAROM_SUCCESS);
		REQUIRE(found);
		CHECK_NEAR(hit.t * length, 10, 1e-5);
		CHECK_NEAR(hit.point.z, 0.5, 1e-5);
	}
	carom_release_mesh(empty);
	close_scene(&s);
}

// ---- Threads ----

typedef struct asker {
	const scene *scene;
	uint64_t sum;
} asker;

static void *ask_many(void *argument)
{
	asker *a = argument;
	uint64_t seed = 21;
	const carom_vec3 zero = { 0, 0, 0 };
	for (int i = 0; i < 200; i++) {
		const carom_ray ray = random_ray(&seed, 4, zero);
		bool found;
		carom_ray_hit hit = { 0 };
		carom_closest_point near = { 0 };
		int32_t count = 0;
		carom_body_id bodies[MAX_BODIES];
		const carom_aabb box = { ray.origin, v3d_add(ray.origin, (v3d){ 1, 1, 1 }) };
		if (carom_world_cast_ray(a->scene->world, &ray, NULL, &found, &hit) != CAROM_SUCCESS)
			return NULL;
		a->sum = a->sum * 31 + (found ? hit.body.index1 * 1000u + (uint32_t)hit.triangle : 7);
		carom_world_closest_point(a->scene->world, ray.origin, INFINITY, NULL, &found, &near);
		carom_world_overlap_aabb(a->scene->world, &box, NULL, MAX_BODIES, bodies, &count);
		a->sum = a->sum * 31 + (uint64_t)near.triangle + (uint64_t)count;
		const carom_shape ball = { .type = CAROM_SPHERE, .radius = 0.2 };
		const carom_motion way = carom_straight_motion((carom_pose){ ray.origin, { 0, 0, 0, 1 } }, ray.direction);
		carom_shape_hit cast = { 0 };
		carom_world_cast_shape(a->scene->world, &ball, &way, 1e-3, NULL, &found, &cast);
		a->sum = a->sum * 31 + (found ? cast.body.index1 * 1000u + (uint32_t)cast.triangle : 7);
	}
	return NULL;
}

TEST(query, many_threads_may_ask_at_once)
{
	uint64_t seed = 9;
	scene s;
	const carom_vec3 zero = { 0, 0, 0 };
	random_scene(&s, &seed, 20, 3, zero);
	asker alone = { &s, 0 };
	ask_many(&alone);
	CHECK(alone.sum != 0);
	for (int round = 0; round < 5; round++) {
		// The world changes, so all threads find the tree missing.
		REQUIRE(carom_world_set_pose(s.world, s.ids[0], &s.poses[0]) == CAROM_SUCCESS);
		enum { THREADS = 4 };
		pthread_t threads[THREADS];
		asker askers[THREADS];
		for (int i = 0; i < THREADS; i++) {
			askers[i] = (asker){ &s, 0 };
			REQUIRE(pthread_create(&threads[i], NULL, ask_many, &askers[i]) == 0);
		}
		for (int i = 0; i < THREADS; i++) {
			pthread_join(threads[i], NULL);
			CHECK(askers[i].sum == alone.sum);
		}
	}
	close_scene(&s);
}

// ---- Out of memory ----

typedef struct limited_memory {
	int64_t allowed;
} limited_memory;

static void *limited_allocate(size_t size, size_t alignment, void *user)
{
	limited_memory *memory = user;
	return memory->allowed-- > 0 ? test_allocate(size, alignment) : NULL;
}

static void limited_release(void *pointer, size_t size, size_t alignment, void *user)
{
	(void)size, (void)alignment, (void)user;
	test_release(pointer);
}

TEST(query, out_of_memory_fails_one_query_only)
{
	limited_memory memory = { INT64_MAX };
	carom_context_def def = carom_default_context_def();
	def.allocator = (carom_allocator){ limited_allocate, limited_release, &memory };
	scene s = { 0 };
	REQUIRE(carom_create_context(&def, &s.context) == CAROM_SUCCESS);
	REQUIRE(carom_create_world(s.context, NULL, &s.world) == CAROM_SUCCESS);
	static soup cube;
	cube = (soup){ 0 };
	add_cube(&cube, 0.5);
	s.cube = make_mesh(s.context, &cube);
	carom_pose pose = carom_pose_identity();
	for (int i = 0; i < 20; i++) {
		pose.position.z = i;
		add_mesh_body(&s, s.cube, &pose);
	}
	const carom_ray ray = { { 0.1, 0.2, -10 }, { 0, 0, 1 }, 0, INFINITY };
	const carom_shape query = { .type = CAROM_MESH, .mesh = s.cube };
	carom_ray_hit hits[64];
	carom_body_id bodies[64];
	int32_t count;
	int failures = 0;
	for (int64_t allowed = 0; allowed < 200; allowed++) {
		REQUIRE(carom_world_set_pose(s.world, s.ids[0], &s.poses[0]) == CAROM_SUCCESS);
		memory.allowed = allowed;
		const carom_result all = carom_world_cast_ray_all(s.world, &ray, NULL, 64, hits, &count);
		memory.allowed = allowed;
		const carom_result overlap = carom_world_overlap_shape(s.world, &query, &s.poses[3], NULL, 64, bodies, &count);
		memory.allowed = INT64_MAX;
		CHECK(all == CAROM_SUCCESS || all == CAROM_OUT_OF_MEMORY);
		CHECK(overlap == CAROM_SUCCESS || overlap == CAROM_OUT_OF_MEMORY);
		failures += (all != CAROM_SUCCESS) + (overlap != CAROM_SUCCESS);
		REQUIRE(carom_world_cast_ray_all(s.world, &ray, NULL, 64, hits, &count) == CAROM_SUCCESS);
		CHECK_INT(count, 40);
		REQUIRE(carom_world_overlap_shape(s.world, &query, &s.poses[3], NULL, 64, bodies, &count) == CAROM_SUCCESS);
		CHECK_INT(count, 3);
		if (all == CAROM_SUCCESS && overlap == CAROM_SUCCESS)
			break;
	}
	CHECK(failures > 3);
	carom_destroy_world(s.world);
	carom_release_mesh(s.cube);
	CHECK(carom_memory_in_use(s.context) < 4096);
	carom_destroy_context(s.context);
}

// ---- Stateless functions ----

TEST(query, mesh_points_against_every_triangle)
{
	uint64_t seed = 10;
	scene s;
	open_scene(&s);
	s.count = 1;
	s.meshes[0] = s.torus;
	s.poses[0] = carom_pose_identity();
	int inside = 0;
	for (int i = 0; i < 400; i++) {
		const v3d p = random_pose(&seed, 1.4, (carom_vec3){ 0, 0, 0 }).position;
		bool found, contained;
		carom_mesh_point near;
		REQUIRE(carom_mesh_closest_point(s.torus, p, INFINITY, &found, &near) == CAROM_SUCCESS);
		REQUIRE(carom_mesh_contains(s.torus, p, &contained) == CAROM_SUCCESS);
		REQUIRE(found);
		CHECK_NEAR(fabs(near.distance), oracle_distance(&s, 0, p), 1e-12);
		CHECK(contained == (oracle_winding(&s, 0, p) > 0.5));
		CHECK(contained == (near.distance < 0));
		inside += contained;
		REQUIRE(carom_mesh_closest_point(s.torus, p, fabs(near.distance) * 0.999, &found, &near) == CAROM_SUCCESS);
		CHECK(!found);
		// Points at a hair's breadth on both sides of the surface: float would round them to it.
		for (int side = -1; side <= 1; side += 2) {
			carom_mesh_point hair;
			const v3d q = v3d_mad(near.point, side * 1e-9, near.normal);
			REQUIRE(carom_mesh_closest_point(s.torus, q, 1, &found, &hair) == CAROM_SUCCESS);
			REQUIRE(carom_mesh_contains(s.torus, q, &contained) == CAROM_SUCCESS);
			CHECK(found && (hair.distance < 0) == (side < 0));
			CHECK(contained == (side < 0));
		}
	}
	CHECK(inside > 40);
	bool flag;
	carom_mesh_point near;
	const carom_vec3 bad = { NAN, 0, 0 }, zero = { 0, 0, 0 };
	CHECK_INT(carom_mesh_contains(s.torus, bad, &flag), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_mesh_contains(s.torus, zero, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_mesh_contains(NULL, zero, &flag), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_mesh_closest_point(s.torus, bad, 1, &flag, &near), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_mesh_closest_point(s.torus, zero, -1, &flag, &near), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_mesh_closest_point(s.torus, zero, 1, NULL, &near), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_mesh_closest_point(NULL, zero, 1, &flag, &near), CAROM_INVALID_ARGUMENT);
	close_scene(&s);
}

TEST(query, self_intersections_against_every_pair)
{
	scene s;
	open_scene(&s);
	int32_t count;
	REQUIRE(carom_mesh_self_intersections(s.torus, 0, NULL, &count) == CAROM_SUCCESS);
	CHECK_INT(count, 0);
	static soup two;
	two = (soup){ 0 };
	add_torus(&two, 20, 8, 0.4, 0, 0);
	add_torus(&two, 20, 8, 0.4, 0.2, 0.9);
	carom_mesh *mesh = make_mesh(s.context, &two);
	static int32_t pairs[4096][2];
	REQUIRE(carom_mesh_self_intersections(mesh, 4096, pairs, &count) == CAROM_SUCCESS);
	REQUIRE(count <= 4096);
	s.count = 1;
	s.meshes[0] = mesh;
	s.poses[0] = carom_pose_identity();
	int32_t expected = 0;
	for (int32_t a = 0; a < two.triangle_count; a++) {
		for (int32_t b = a + 1; b < two.triangle_count; b++) {
			bool shared = false;
			for (int k = 0; k < 9; k++)
				shared = shared || two.triangles[3 * a + k / 3] == two.triangles[3 * b + k % 3];
			v3d ta[3], tb[3];
			triangle_of(&s, 0, a, ta);
			triangle_of(&s, 0, b, tb);
			if (shared || !cr_triangles_intersect(ta, tb))
				continue;
			if (CHECK(expected < count)) {
				CHECK_INT(pairs[expected][0], a);
				CHECK_INT(pairs[expected][1], b);
			}
			expected++;
		}
	}
	CHECK_INT(count, expected);
	CHECK(expected > 20);
	int32_t one[1][2], again;
	REQUIRE(carom_mesh_self_intersections(mesh, 1, one, &again) == CAROM_SUCCESS);
	CHECK_INT(again, expected);
	CHECK(one[0][0] == pairs[0][0] && one[0][1] == pairs[0][1]);
	CHECK_INT(carom_mesh_self_intersections(mesh, 1, NULL, &count), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_mesh_self_intersections(mesh, -1, one, &count), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_mesh_self_intersections(mesh, 1, one, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_mesh_self_intersections(NULL, 1, one, &count), CAROM_INVALID_ARGUMENT);
	carom_release_mesh(mesh);
	close_scene(&s);
}
