// Two bodies against the dull judge of oracle.h, and against what can be worked out by hand.

#include "labs.h"
#include "test.h"

#include "carom/carom.h"
#include "geom/triangle.h"
#include "oracle.h"
#include "sim/shapes/shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

// ---- Two bodies in a world ----

typedef struct duel {
	carom_context *context;
	carom_world *world;
	carom_mesh *mesh[2];
	carom_body_id id[2];
	const oracle_shape *shape[2];
} duel;

static carom_mesh *make_mesh(carom_context *context, const oracle_shape *shape)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices.data = shape->vertices;
	def.vertices.type = CAROM_FLOAT32;
	def.vertex_count = shape->vertex_count;
	def.triangles = shape->triangles;
	def.triangle_count = shape->triangle_count;
	carom_mesh_report report;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, &report, &mesh) == CAROM_SUCCESS);
	REQUIRE(report.closed && !report.inverted && report.degenerate_triangles == 0 && report.duplicate_triangles == 0);
	return mesh;
}

/// The first shape becomes the body with the lower index. The world's definition is changed to give all contacts.
static duel duel_open_with(const oracle_shape *first, const oracle_shape *second, carom_world_def world_def)
{
	duel d = { .shape = { first, second } };
	carom_context_def context_def = carom_default_context_def();
	context_def.thread_count = 1;
	REQUIRE(carom_create_context(&context_def, &d.context) == CAROM_SUCCESS);
	world_def.max_contacts_per_pair = 0;
	fixture_lab(&world_def)->complete = true;
	REQUIRE(carom_create_world(d.context, &world_def, &d.world) == CAROM_SUCCESS);
	for (int i = 0; i < 2; i++) {
		d.mesh[i] = make_mesh(d.context, d.shape[i]);
		carom_body_def body_def = carom_default_body_def();
		body_def.shape.type = CAROM_MESH;
		body_def.shape.mesh = d.mesh[i];
		body_def.kind = CAROM_DYNAMIC;
		REQUIRE(carom_world_add_body(d.world, &body_def, &d.id[i]) == CAROM_SUCCESS);
	}
	return d;
}

static duel duel_open(const oracle_shape *first, const oracle_shape *second)
{
	carom_world_def def = carom_default_world_def();
	def.contact_normal = CAROM_NORMAL_RAY; // what is known of rays; patches have tests of their own (test_manifold.c)
	return duel_open_with(first, second, def);
}

static void duel_close(duel *d)
{
	carom_destroy_world(d->world);
	carom_release_mesh(d->mesh[0]);
	carom_release_mesh(d->mesh[1]);
	carom_destroy_context(d->context);
}

static carom_contact_view duel_step(duel *d, carom_pose first, carom_pose second)
{
	const carom_pose poses[2] = { first, second };
	REQUIRE(carom_world_set_poses(d->world, 2, d->id, poses) == CAROM_SUCCESS);
	const carom_result stepped = carom_world_step(d->world);
	CHECK_STR(carom_error_text(d->context), "");
	REQUIRE(stepped == CAROM_SUCCESS);
	carom_contact_view contacts = carom_world_contacts(d->world);
	CHECK_INT(carom_world_pairs(d->world).count, contacts.count > 0);
	return contacts;
}

static const carom_contact *deepest(carom_contact_view contacts)
{
	const carom_contact *best = NULL;
	for (int32_t i = 0; i < contacts.count; i++) {
		if (best == NULL || contacts.data[i].depth > best->depth) {
			best = &contacts.data[i];
		}
	}
	return best;
}

// ---- Shapes ----

/// The project's own meshes, scaled so that their longest side is 2 and centred.
static sim_mesh load_shape(const char *name, int triangles, uint64_t seed)
{
	sim_mesh mesh;
	sim_error error = { "" };
	bool made = sim_make_shape(name, triangles, seed, &mesh, &error);
	CHECK_STR(error.text, "");
	REQUIRE(made);
	float lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY }, side = 0;
	for (int32_t i = 0; i < 3 * mesh.vertex_count; i++) {
		lower[i % 3] = fminf(lower[i % 3], mesh.vertices[i]);
		upper[i % 3] = fmaxf(upper[i % 3], mesh.vertices[i]);
	}
	for (int k = 0; k < 3; k++) {
		side = fmaxf(side, upper[k] - lower[k]);
	}
	for (int32_t i = 0; i < 3 * mesh.vertex_count; i++) {
		mesh.vertices[i] = (mesh.vertices[i] - 0.5f * (lower[i % 3] + upper[i % 3])) * (2 / side);
	}
	return mesh;
}

static oracle_shape as_shape(const sim_mesh *mesh)
{
	return (oracle_shape){ mesh->vertices, mesh->vertex_count, mesh->triangles, mesh->triangle_count };
}

/// A mesh that grows in place, of the few kinds that the analytic cases need.
typedef struct mesh_buffer {
	float vertices[3 * 8192];
	int32_t triangles[3 * 16384];
	int32_t vertex_count;
	int32_t triangle_count;
} mesh_buffer;

static mesh_buffer *buffer_make(void)
{
	mesh_buffer *buffer = calloc(1, sizeof *buffer);
	REQUIRE(buffer != NULL);
	return buffer;
}

static oracle_shape buffer_shape(const mesh_buffer *buffer)
{
	return (oracle_shape){ buffer->vertices, buffer->vertex_count, buffer->triangles, buffer->triangle_count };
}

/// The vertex at a position, new or already there.
static int32_t buffer_vertex(mesh_buffer *buffer, double x, double y, double z)
{
	const float p[3] = { (float)x, (float)y, (float)z };
	for (int32_t i = 0; i < buffer->vertex_count; i++) {
		const float *q = &buffer->vertices[3 * i];
		if (p[0] == q[0] && p[1] == q[1] && p[2] == q[2]) {
			return i;
		}
	}
	memcpy(&buffer->vertices[3 * buffer->vertex_count], p, sizeof p);
	return buffer->vertex_count++;
}

static void buffer_triangle(mesh_buffer *buffer, int32_t a, int32_t b, int32_t c)
{
	int32_t *t = &buffer->triangles[3 * buffer->triangle_count++];
	t[0] = a;
	t[1] = b;
	t[2] = c;
}

/// A box about the origin, each face n x n squares.
static mesh_buffer *make_box(double hx, double hy, double hz, int n)
{
	mesh_buffer *box = buffer_make();
	const double half[3] = { hx, hy, hz };
	for (int face = 0; face < 6; face++) {
		const int w = face / 2, u = (w + 1) % 3, v = (w + 2) % 3;
		const double side = face % 2 ? 1 : -1;
		for (int cell = 0; cell < n * n; cell++) {
			int32_t corner[4];
			for (int k = 0; k < 4; k++) { // counter-clockwise in u, v
				const int i = cell % n + (k == 1 || k == 2), j = cell / n + (k >= 2);
				double p[3];
				p[u] = (2 * (double)i / n - 1) * half[u];
				p[v] = (2 * (double)j / n - 1) * half[v];
				p[w] = side * half[w];
				corner[k] = buffer_vertex(box, p[0], p[1], p[2]);
			}
			const int second = side > 0 ? 1 : 3, fourth = 4 - second;
			buffer_triangle(box, corner[0], corner[second], corner[2]);
			buffer_triangle(box, corner[0], corner[2], corner[fourth]);
		}
	}
	return box;
}

/// A sphere by rings (not at the poles) and segments, with vertices on it; inward turns it inside out.
static void add_sphere(mesh_buffer *sphere, double radius, int rings, int segments, bool inward)
{
	const int32_t south = buffer_vertex(sphere, 0, 0, -radius), north = buffer_vertex(sphere, 0, 0, radius);
	const int32_t first = sphere->vertex_count;
	for (int i = 1; i <= rings; i++) {
		const double latitude = PI * i / (rings + 1) - PI / 2;
		for (int j = 0; j < segments; j++) {
			const double longitude = 2 * PI * j / segments, r = radius * cos(latitude);
			buffer_vertex(sphere, r * cos(longitude), r * sin(longitude), radius * sin(latitude));
		}
	}
	const int32_t start = sphere->triangle_count;
	for (int j = 0; j < segments; j++) {
		const int32_t next = (j + 1) % segments, top = first + (rings - 1) * segments;
		buffer_triangle(sphere, south, first + next, first + j);
		buffer_triangle(sphere, north, top + j, top + next);
		for (int i = 0; i + 1 < rings; i++) {
			const int32_t a = first + i * segments + j, b = first + i * segments + next;
			buffer_triangle(sphere, a, b, b + segments);
			buffer_triangle(sphere, a, b + segments, a + segments);
		}
	}
	for (int32_t i = start; inward && i < sphere->triangle_count; i++) {
		int32_t *t = &sphere->triangles[3 * i];
		const int32_t swap = t[1];
		t[1] = t[2];
		t[2] = swap;
	}
}

/// A torus about the z axis: the tube's centre at distance ring, the tube's radius tube.
static mesh_buffer *make_torus(double ring, double tube, int n, int m)
{
	mesh_buffer *torus = buffer_make();
	for (int i = 0; i < n; i++) {
		for (int j = 0; j < m; j++) {
			const double a = 2 * PI * i / n, b = 2 * PI * j / m, r = ring + tube * cos(b);
			buffer_vertex(torus, r * cos(a), r * sin(a), tube * sin(b));
		}
	}
	for (int i = 0; i < n; i++) {
		for (int j = 0; j < m; j++) {
			const int32_t i1 = (i + 1) % n, j1 = (j + 1) % m;
			buffer_triangle(torus, i * m + j, i1 * m + j, i1 * m + j1);
			buffer_triangle(torus, i * m + j, i1 * m + j1, i * m + j1);
		}
	}
	return torus;
}

// ---- Poses ----

static carom_pose shift(double x, double y, double z)
{
	carom_pose pose = carom_pose_identity();
	pose.position = (carom_vec3){ x, y, z };
	return pose;
}

/// Uniform over all rotations (Shoemake, Uniform Random Rotations, 1992).
static carom_quat random_rotation(uint64_t *state)
{
	const double u = test_random_double(state, 0, 1), a = test_random_double(state, 0, 2 * PI),
				 b = test_random_double(state, 0, 2 * PI);
	return (carom_quat){ sqrt(1 - u) * sin(a), sqrt(1 - u) * cos(a), sqrt(u) * sin(b), sqrt(u) * cos(b) };
}

static carom_pose random_pose(uint64_t *state, double reach)
{
	return (carom_pose){ { test_random_double(state, -reach, reach), test_random_double(state, -reach, reach),
							 test_random_double(state, -reach, reach) },
		random_rotation(state) };
}

// ---- What holds of all contacts ----

static void check_contact(const duel *d, const carom_contact *c, const carom_pose pose[2])
{
	const carom_vec3 point = { c->point[0], c->point[1], c->point[2] };
	CHECK_NEAR(sqrt(v3d_dot(v3d_from_floats(c->normal), v3d_from_floats(c->normal))), 1, 1e-5);
	CHECK(c->depth >= 0);
	CHECK(c->body_a.index1 == d->id[0].index1 && c->body_b.index1 == d->id[1].index1);
	for (int i = 0; i < 2; i++) {
		const carom_mesh_report *report = carom_mesh_get_report(d->mesh[i]);
		const carom_vec3 local = carom_inverse_transform_point(pose[i], point);
		double diagonal = 0, slack = 0;
		for (int k = 0; k < 3; k++) {
			const double side = report->upper[k] - report->lower[k];
			diagonal += side * side;
			slack = fmax(slack, 1e-5 * side + 1e-15 * fabs(v3d_get(pose[i].position, k)));
		}
		for (int k = 0; k < 3; k++) {
			CHECK(v3d_get(local, k) >= report->lower[k] - slack && v3d_get(local, k) <= report->upper[k] + slack);
		}
		if (c->kind == (i == 0 ? CAROM_VERTEX_B : CAROM_VERTEX_A)) { // the way out is a way through the body that was hit
			CHECK(c->depth <= sqrt(diagonal) * 1.0001);
		}
	}
}

/// Moving A by depth * normal brings the point to the other's surface: for vertices, onto the plane of the triangle that was hit.
static void check_reaches_surface(const duel *d, const carom_contact *c, const carom_pose pose[2], double tolerance)
{
	if (c->kind != CAROM_VERTEX_A && c->kind != CAROM_VERTEX_B) {
		return;
	}
	const bool from_a = c->kind == CAROM_VERTEX_A;
	const int source = from_a ? 0 : 1, target = 1 - source;
	const int32_t vertex = from_a ? c->feature_a : c->feature_b, triangle = from_a ? c->feature_b : c->feature_a;
	REQUIRE(
		vertex >= 0 && vertex < d->shape[source]->vertex_count && triangle >= 0 && triangle < d->shape[target]->triangle_count);
	const v3d at = carom_transform_point(pose[source], v3d_from_floats(&d->shape[source]->vertices[3 * vertex]));
	const v3d point = v3d_make(c->point[0], c->point[1], c->point[2]);
	CHECK_NEAR(v3d_length(v3d_sub(at, point)), 0, tolerance);
	const v3d moved = v3d_mad(point, from_a ? c->depth : -c->depth, v3d_from_floats(c->normal));
	const v3d local = carom_inverse_transform_point(pose[target], moved);
	v3d corner[3];
	for (int k = 0; k < 3; k++) {
		corner[k] = v3d_from_floats(&d->shape[target]->vertices[3 * d->shape[target]->triangles[3 * triangle + k]]);
	}
	cr_feature feature;
	const v3d nearest = cr_closest_point_triangle(local, corner[0], corner[1], corner[2], &feature);
	CHECK_NEAR(v3d_length(v3d_sub(nearest, local)), 0, tolerance);
}

/// One pair of poses: does the library say what the oracle says? offset moves both, exactly, for the library alone.
static bool check_against_oracle(duel *d, carom_pose first, carom_pose second, carom_vec3 offset)
{
	oracle_body a = oracle_place(d->shape[0], &first), b = oracle_place(d->shape[1], &second);
	const bool expected = oracle_solids_touch(&a, &b);
	oracle_free(&a);
	oracle_free(&b);
	first.position = v3d_add(first.position, offset);
	second.position = v3d_add(second.position, offset);
	const carom_pose pose[2] = { first, second };
	carom_contact_view contacts = duel_step(d, first, second);
	CHECK_INT(contacts.count > 0, expected);
	for (int32_t i = 0; i < contacts.count; i++) {
		check_contact(d, &contacts.data[i], pose);
		check_reaches_surface(d, &contacts.data[i], pose, 2e-5 + 1e-15 * v3d_length(offset));
	}
	return expected;
}

/// Random poses of two shapes so close that about half of them collide.
static void run_random(const sim_mesh *first, const sim_mesh *second, uint64_t seed, int count, double reach)
{
	const oracle_shape a = as_shape(first), b = as_shape(second);
	duel d = duel_open(&a, &b);
	uint64_t state = seed;
	int collisions = 0;
	for (int i = 0; i < count; i++) {
		const carom_pose pose_a = random_pose(&state, 0.1), pose_b = random_pose(&state, reach);
		const int failures = test_failures();
		collisions += check_against_oracle(&d, pose_a, pose_b, v3d_make(0, 0, 0));
		if (test_failures() != failures) {
			fprintf(stderr, "seed %d, pose %d\n", (int)seed, i);
		}
	}
	CHECK(collisions > count / 10 && collisions < count - count / 10);
	duel_close(&d);
}

// ---- The oracle itself ----

TEST(oracle, triangles_agree_with_cgal)
{
#ifdef CAROM_HAVE_CGAL
	uint64_t state = 11;
	int intersecting = 0;
	for (int i = 0; i < 200000; i++) {
		// Small whole numbers: coplanar and touching triangles are common. Every fourth pair has any numbers, near each other.
		v3d t[6];
		for (int k = 0; k < 6; k++) {
			double c[3];
			for (int axis = 0; axis < 3; axis++) {
				const double flat = axis == i / 4 % 3 ? 1e-9 : 1;
				c[axis] = i % 4 ? (double)(test_random(&state) % 4) : test_random_double(&state, -1, 1) * flat;
			}
			t[k] = v3d_make(c[0], c[1], c[2]);
		}
		const v3d na = v3d_cross(v3d_sub(t[1], t[0]), v3d_sub(t[2], t[0])),
				  nb = v3d_cross(v3d_sub(t[4], t[3]), v3d_sub(t[5], t[3]));
		if (v3d_dot(na, na) == 0 || v3d_dot(nb, nb) == 0) {
			continue; // CGAL takes no degenerate triangles
		}
		const bool expected = oracle_cgal_triangles_intersect(t, t + 3);
		intersecting += expected;
		if (!CHECK_INT(cr_triangles_intersect(t, t + 3), expected)) {
			fprintf(stderr, "pair %d\n", i);
			break;
		}
	}
	CHECK(intersecting > 20000);
#else
	test_skip("built without CGAL (Debian: libcgal-dev; CAROM_TEST_CGAL)");
#endif
}

TEST(oracle, inside_by_solid_angles)
{
	mesh_buffer *torus = make_torus(1, 0.3, 48, 24);
	const oracle_shape shape = buffer_shape(torus);
	const carom_pose pose = { { 5, 6, 7 }, { 0, 0.6, 0, 0.8 } };
	oracle_body body = oracle_place(&shape, &pose);
	CHECK(oracle_point_inside(&body, carom_transform_point(pose, v3d_make(1, 0, 0))));
	CHECK(oracle_point_inside(&body, carom_transform_point(pose, v3d_make(0, -1.2, 0.1))));
	CHECK(!oracle_point_inside(&body, carom_transform_point(pose, v3d_make(0, 0, 0)))); // the hole
	CHECK(!oracle_point_inside(&body, carom_transform_point(pose, v3d_make(1, 0, 0.4))));
	CHECK(!oracle_point_inside(&body, v3d_make(0, 0, 0)));
	oracle_free(&body);
	free(torus);
}

TEST(oracle, distance_of_boxes)
{
	mesh_buffer *box = make_box(1, 1, 1, 2);
	const oracle_shape shape = buffer_shape(box);
	const carom_pose near = shift(2.5, 0.3, 0), corner = shift(3, 4, 2), crossing = shift(1.5, 0.2, 0);
	oracle_body a = oracle_place(&shape, &(carom_pose){ { 0, 0, 0 }, { 0, 0, 0, 1 } });
	oracle_body b = oracle_place(&shape, &near), c = oracle_place(&shape, &corner), e = oracle_place(&shape, &crossing);
	CHECK_NEAR(oracle_distance(&a, &b), 0.5, 1e-12);
	CHECK_NEAR(oracle_distance(&a, &c), sqrt(1 + 4), 1e-12);
	CHECK_NEAR(oracle_distance(&a, &e), 0, 0);
	CHECK(!oracle_solids_touch(&a, &b) && oracle_solids_touch(&a, &e));
	oracle_free(&a);
	oracle_free(&b);
	oracle_free(&c);
	oracle_free(&e);
	free(box);
}

// ---- Random poses ----

TEST(oracle, random_poses_lumpy)
{
	sim_mesh a = load_shape("lumpy", 902, 1), b = load_shape("lumpy", 902, 2);
	run_random(&a, &b, 101, 300, 1.1);
	sim_mesh_free(&a);
	sim_mesh_free(&b);
}

TEST(oracle, random_poses_tori)
{
	sim_mesh a = load_shape("torus", 600, 1), b = load_shape("torus", 600, 1);
	run_random(&a, &b, 102, 300, 1.1);
	sim_mesh_free(&a);
	sim_mesh_free(&b);
}

TEST(oracle, random_poses_knots)
{
	sim_mesh a = load_shape("knot", 2130, 1), b = load_shape("lumpy", 902, 3);
	run_random(&a, &b, 103, 200, 1.2);
	sim_mesh_free(&a);
	sim_mesh_free(&b);
}

/// A shape of random kind, size (a thousandth to a thousand of another's) and, at times, flattened along one axis.
static sim_mesh make_random_shape(uint64_t *state, double *size)
{
	static const struct {
		const char *name;
		int triangles;
	} kinds[] = { { "lumpy", 902 }, { "torus", 600 }, { "knot", 902 }, { "box", 12 }, { "L", 28 }, { "sphere", 320 } };
	const uint64_t kind = test_random(state) % 6;
	sim_mesh mesh = load_shape(kinds[kind].name, kinds[kind].triangles, test_random(state) % 10);
	const uint64_t flat_axis = test_random(state) % 6;
	const double flat = test_random_double(state, 0.01, 1), factor = exp(test_random_double(state, -3.45, 3.45));
	for (int32_t i = 0; i < 3 * mesh.vertex_count; i++) {
		mesh.vertices[i] *= (float)(factor * ((uint64_t)i % 3 == flat_axis ? flat : 1));
	}
	*size = factor;
	return mesh;
}

// Any two shapes of any sizes, by all of the library's own methods.
TEST(oracle, random_sizes_and_methods)
{
	static const carom_ray_method methods[] = { CAROM_RAYS_WIDE, CAROM_RAYS_BINARY, CAROM_RAYS_BASIC,
		CAROM_RAYS_MOLLER_TRUMBORE };
	static const int broad_phases[] = { CAROM_BROAD_TREE, CAROM_BROAD_SWEEP, FIXTURE_BROAD_BRUTE };
	uint64_t state = 110;
	int collisions = 0;
	for (int i = 0; i < 60 / TEST_FEWER; i++) {
		double size[2];
		sim_mesh first = make_random_shape(&state, &size[0]), second = make_random_shape(&state, &size[1]);
		const oracle_shape a = as_shape(&first), b = as_shape(&second);
		carom_world_def def = carom_default_world_def();
		fixture_lab(&def)->ray_method = methods[i % 4];
		fixture_set_broad(&def, broad_phases[i % 3]);
		fixture_lab(&def)->exit_distance_test = i % 2;
		duel d = duel_open_with(&a, &b, def);
		for (int k = 0; k < 10; k++) {
			const int failures = test_failures();
			carom_pose pose_a = { { 0, 0, 0 }, random_rotation(&state) },
					   pose_b = random_pose(&state, 0.5 * (size[0] + size[1]));
			oracle_body body_a = oracle_place(&a, &pose_a), body_b = oracle_place(&b, &pose_b);
			const bool expected = oracle_solids_touch(&body_a, &body_b);
			CHECK_INT(duel_step(&d, pose_a, pose_b).count > 0, expected);
			collisions += expected;
			if (test_failures() != failures) {
				fprintf(stderr, "shapes %d, pose %d\n", i, k);
			}
			oracle_free(&body_a);
			oracle_free(&body_b);
		}
		duel_close(&d);
		sim_mesh_free(&first);
		sim_mesh_free(&second);
	}
	CHECK(collisions > 120 / TEST_FEWER && collisions < 500 / TEST_FEWER);
}

TEST(oracle, far_from_the_origin)
{
	sim_mesh first = load_shape("lumpy", 902, 4), second = load_shape("knot", 902, 5);
	const oracle_shape a = as_shape(&first), b = as_shape(&second);
	duel d = duel_open(&a, &b);
	const carom_vec3 offset = { 1e7, -1e7, 3e6 };
	uint64_t state = 104;
	int collisions = 0;
	for (int i = 0; i < 150; i++) {
		carom_pose pose_a = random_pose(&state, 0.1), pose_b = random_pose(&state, 1.1);
		for (int k = 0; k < 2; k++) { // positions that the offset leaves exact
			carom_pose *pose = k == 0 ? &pose_a : &pose_b;
			pose->position = v3d_sub(v3d_add(pose->position, offset), offset);
		}
		collisions += check_against_oracle(&d, pose_a, pose_b, offset);
	}
	CHECK(collisions > 20 && collisions < 140);
	duel_close(&d);
	sim_mesh_free(&first);
	sim_mesh_free(&second);
}

// The same depths and directions at the origin and ten thousand kilometres away.
TEST(oracle, far_contacts_equal_near_ones)
{
	sim_mesh first = load_shape("lumpy", 902, 4);
	const oracle_shape a = as_shape(&first);
	duel d = duel_open(&a, &a);
	const carom_vec3 offset = { 8388608, -8388608, 4194304 };
	const carom_pose pose_a = { { 0, 0, 0 }, { 0.6, 0, 0, 0.8 } };
	carom_pose far_a = pose_a, pose_b = { { 0.75, 0.5, 0.125 }, { 0, 0.8, 0, 0.6 } }, far_b = pose_b;
	far_a.position = v3d_add(far_a.position, offset);
	far_b.position = v3d_add(far_b.position, offset);
	carom_contact_view view = duel_step(&d, pose_a, pose_b);
	const int32_t count = view.count;
	REQUIRE(count > 0);
	carom_contact *near = malloc(sizeof *near * (size_t)count);
	REQUIRE(near != NULL);
	memcpy(near, view.data, sizeof *near * (size_t)count);
	view = duel_step(&d, far_a, far_b);
	CHECK_INT(view.count, count);
	for (int32_t i = 0; i < count && i < view.count; i++) {
		CHECK_INT(view.data[i].kind, near[i].kind);
		CHECK_INT(view.data[i].feature_a, near[i].feature_a);
		CHECK_INT(view.data[i].feature_b, near[i].feature_b);
		CHECK_NEAR(view.data[i].depth, near[i].depth, 0);
		for (int k = 0; k < 3; k++) {
			CHECK_NEAR(view.data[i].normal[k], near[i].normal[k], 0);
			CHECK_NEAR(view.data[i].point[k] - v3d_get(offset, k), near[i].point[k], 4e-9);
		}
	}
	free(near);
	duel_close(&d);
	sim_mesh_free(&first);
}

// ---- Special positions ----

TEST(oracle, equal_poses)
{
	static const char *const names[] = { "lumpy", "torus", "knot" };
	uint64_t state = 105;
	for (int i = 0; i < 3; i++) {
		sim_mesh mesh = load_shape(names[i], 902, 1);
		const oracle_shape shape = as_shape(&mesh);
		duel d = duel_open(&shape, &shape);
		for (int k = 0; k < 4; k++) {
			const carom_pose pose = k == 0 ? carom_pose_identity() : random_pose(&state, 10);
			const carom_pose poses[2] = { pose, pose };
			carom_contact_view contacts = duel_step(&d, pose, pose);
			CHECK(contacts.count > 0);
			for (int32_t c = 0; c < contacts.count; c++) {
				check_contact(&d, &contacts.data[c], poses);
			}
		}
		duel_close(&d);
		sim_mesh_free(&mesh);
	}
}

// Boxes that share a face, an edge or a corner exactly touch: the sets of points are closed. A hair apart they do not.
TEST(oracle, touching_boxes)
{
	mesh_buffer *box = make_box(1, 1, 1, 1), *fine = make_box(1, 1, 1, 4);
	const oracle_shape coarse_shape = buffer_shape(box), fine_shape = buffer_shape(fine);
	const oracle_shape *shapes[2] = { &coarse_shape, &fine_shape };
	static const double touching[][3] = { { 2, 0, 0 }, { 0, -2, 0 }, { 0, 0.25, 2 }, { 2, 2, 0 }, { 2, -2, 0.5 }, { 2, 2, 2 },
		{ -2, 2, -2 } };
	for (int i = 0; i < 4; i++) {
		duel d = duel_open(shapes[i / 2], shapes[i % 2]);
		for (size_t k = 0; k < sizeof touching / sizeof *touching; k++) {
			const double *t = touching[k];
			carom_contact_view contacts = duel_step(&d, shift(0, 0, 0), shift(t[0], t[1], t[2]));
			CHECK(contacts.count > 0);
			for (int32_t c = 0; c < contacts.count; c++) {
				CHECK_NEAR(contacts.data[c].depth, 0, 1e-6);
			}
			const double away = 1 + 1e-5;
			CHECK_INT(duel_step(&d, shift(0, 0, 0), shift(t[0] * away, t[1] * away, t[2] * away)).count, 0);
		}
		duel_close(&d);
	}
	free(box);
	free(fine);
}

TEST(oracle, contained)
{
	sim_mesh mesh = load_shape("lumpy", 902, 6);
	mesh_buffer *box = make_box(3, 3, 3, 1);
	const oracle_shape inner = as_shape(&mesh), outer = buffer_shape(box);
	uint64_t state = 106;
	for (int order = 0; order < 2; order++) {
		duel d = order ? duel_open(&inner, &outer) : duel_open(&outer, &inner);
		for (int i = 0; i < 20; i++) {
			const carom_pose pose_inner = random_pose(&state, 0.5), pose_outer = random_pose(&state, 0.1);
			CHECK(order ? check_against_oracle(&d, pose_inner, pose_outer, v3d_make(0, 0, 0))
						: check_against_oracle(&d, pose_outer, pose_inner, v3d_make(0, 0, 0)));
		}
		duel_close(&d);
	}
	sim_mesh_free(&mesh);
	free(box);
}

// A ball in the cavity of a hollow ball touches nothing; in its shell it collides.
TEST(oracle, in_a_cavity)
{
	mesh_buffer *hollow = buffer_make(), *ball = buffer_make();
	add_sphere(hollow, 2, 24, 48, false);
	add_sphere(hollow, 1, 24, 48, true);
	add_sphere(ball, 0.25, 12, 24, false);
	const oracle_shape hollow_shape = buffer_shape(hollow), ball_shape = buffer_shape(ball);
	duel d = duel_open(&hollow_shape, &ball_shape);
	static const struct {
		double at;
		bool collides;
	} cases[] = { { 0, false }, { 0.5, false }, { 0.73, false }, { 0.8, true }, { 1.2, true }, { 1.5, true }, { 1.7, true },
		{ 2.2, true }, { 2.26, false } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const double x = cases[i].at;
		CHECK_INT(duel_step(&d, shift(0, 0, 0), shift(0.6 * x, 0, 0.8 * x)).count > 0, cases[i].collides);
	}
	duel_close(&d);
	free(hollow);
	free(ball);
}

// Plates of a hundredth of their width that stick into each other: no ray from a vertex helps.
TEST(oracle, thin_plates)
{
	mesh_buffer *plate = make_box(1, 1, 0.01, 1);
	const oracle_shape shape = buffer_shape(plate);
	duel d = duel_open(&shape, &shape);
	uint64_t state = 107;
	int collisions = 0;
	for (int i = 0; i < 400; i++) {
		collisions += check_against_oracle(&d, random_pose(&state, 0.1), random_pose(&state, 0.8), v3d_make(0, 0, 0));
	}
	CHECK(collisions > 100 && collisions < 390);
	// Upright in the other: it cuts through its middle and has its own corners far away.
	const double s = sqrt(0.5);
	const carom_pose upright = { { 0.1, 0.05, 0 }, { s, 0, 0, s } };
	CHECK(duel_step(&d, shift(0, 0, 0), upright).count > 0);
	duel_close(&d);
	free(plate);
}

// Exchanging the two bodies changes nothing but the sign of the normal and the names.
TEST(oracle, swap_symmetry)
{
	sim_mesh first = load_shape("lumpy", 902, 7), second = load_shape("torus", 600, 1);
	const oracle_shape a = as_shape(&first), b = as_shape(&second);
	duel d = duel_open(&a, &b), e = duel_open(&b, &a);
	uint64_t state = 108;
	int compared = 0;
	for (int i = 0; i < 100; i++) {
		const carom_pose pose_a = random_pose(&state, 0.1), pose_b = random_pose(&state, 1);
		carom_contact_view x = duel_step(&d, pose_a, pose_b), y = duel_step(&e, pose_b, pose_a);
		CHECK_INT(x.count, y.count);
		for (int32_t j = 0; j < x.count; j++) {
			const carom_contact *c = &x.data[j];
			bool found = false;
			for (int32_t k = 0; k < y.count && !found; k++) {
				const carom_contact *f = &y.data[k];
				found = c->feature_a == f->feature_b && c->feature_b == f->feature_a &&
					fabs(c->point[0] - f->point[0]) + fabs(c->point[1] - f->point[1]) + fabs(c->point[2] - f->point[2]) < 1e-5 &&
					fabsf(c->depth - f->depth) < 1e-5f &&
					fabsf(c->normal[0] + f->normal[0]) + fabsf(c->normal[1] + f->normal[1]) +
							fabsf(c->normal[2] + f->normal[2]) <
						1e-3f;
			}
			CHECK(found);
			compared++;
		}
	}
	CHECK(compared > 100);
	duel_close(&d);
	duel_close(&e);
	sim_mesh_free(&first);
	sim_mesh_free(&second);
}

// ---- Depth and direction by hand ----

// A small box, all faces finely divided, a tenth deep in the top of a large one: every contact takes it out through the top.
TEST(oracle, depth_box_in_box)
{
	mesh_buffer *large = make_box(2, 2, 1, 1), *small = make_box(0.5, 0.5, 0.5, 4);
	const oracle_shape large_shape = buffer_shape(large), small_shape = buffer_shape(small);
	duel d = duel_open(&small_shape, &large_shape);
	const carom_pose turned = { { 0.1, 0.2, 1.4 }, { 0, 0, sin(0.2), cos(0.2) } };
	const carom_pose poses[2] = { turned, shift(0, 0, 0) };
	carom_contact_view contacts = duel_step(&d, poses[0], poses[1]);
	int straight = 0;
	CHECK(contacts.count >= 25); // the vertices of the bottom face
	for (int32_t i = 0; i < contacts.count; i++) {
		const carom_contact *c = &contacts.data[i];
		check_contact(&d, c, poses);
		check_reaches_surface(&d, c, poses, 1e-5);
		CHECK_NEAR(c->depth * c->normal[2], 0.1, 1e-5);
		straight += fabsf(c->normal[2] - 1) < 1e-5f;
	}
	CHECK(straight >= 9); // those within the face; the way out of corners and edges is slanted
	duel_close(&d);
	free(large);
	free(small);
}

// Two bars crossed like a plus, a fiftieth deep: no vertex is inside, the edges tell the way out. The inward normal of an edge
// halves the angle of its faces, so the way is slanted like that of a vertex, and as long as it takes to come out.
TEST(oracle, depth_crossed_bars)
{
	mesh_buffer *bar = make_box(1, 0.05, 0.05, 1);
	const oracle_shape shape = buffer_shape(bar);
	duel d = duel_open(&shape, &shape);
	const double s = sqrt(0.5);
	for (int side = -1; side <= 1; side += 2) {
		const carom_pose poses[2] = { { { 0.013, 0.007, side * 0.08 }, { 0, 0, s, s } }, shift(0, 0, 0) };
		carom_contact_view contacts = duel_step(&d, poses[0], poses[1]);
		REQUIRE(contacts.count > 0);
		for (int32_t i = 0; i < contacts.count; i++) {
			const carom_contact *c = &contacts.data[i];
			check_contact(&d, c, poses);
			CHECK(c->kind == CAROM_EDGE_A || c->kind == CAROM_EDGE_B);
			CHECK_NEAR(c->depth * c->normal[2], side * 0.02, 1e-6);
		}
	}
	duel_close(&d);
	free(bar);
}

// Spheres: the deepest contact lies on the line of the centres.
TEST(oracle, depth_spheres)
{
	mesh_buffer *sphere = buffer_make();
	add_sphere(sphere, 1, 40, 80, false);
	const oracle_shape shape = buffer_shape(sphere);
	duel d = duel_open(&shape, &shape);
	uint64_t state = 109;
	for (int i = 0; i < 50; i++) {
		const double distance = test_random_double(&state, 1.7, 1.98);
		carom_pose poses[2] = { random_pose(&state, 1), random_pose(&state, 1) };
		const v3d axis = carom_rotate(random_rotation(&state), v3d_make(1, 0, 0)); // from B to A
		poses[0].position = v3d_mad(poses[1].position, distance, axis);
		carom_contact_view contacts = duel_step(&d, poses[0], poses[1]);
		REQUIRE(contacts.count > 0);
		const carom_contact *best = deepest(contacts);
		// Faces lie up to r (1 - cos(pi/80 + ...)) within the sphere, vertices up to half a cell beside the axis.
		CHECK_NEAR(best->depth, 2 - distance, 0.006);
		CHECK(v3d_dot(v3d_from_floats(best->normal), axis) > cos(0.15));
		for (int32_t k = 0; k < contacts.count; k++) {
			CHECK(contacts.data[k].depth <= 1.01 * (2 - distance));
			check_reaches_surface(&d, &contacts.data[k], poses, 1e-5);
		}
		poses[0].position = v3d_mad(poses[1].position, 2.0001, axis);
		CHECK_INT(duel_step(&d, poses[0], poses[1]).count, 0);
	}
	duel_close(&d);
	free(sphere);
}

// Links of a chain: free while the gap is open, and a tenth too far they meet tube on tube.
TEST(oracle, depth_interlocked_tori)
{
	mesh_buffer *torus = make_torus(1, 0.3, 96, 48);
	const oracle_shape shape = buffer_shape(torus);
	duel d = duel_open(&shape, &shape);
	const double s = sqrt(0.5);
	const carom_pose link = shift(0, 0, 0);
	for (int i = 0; i <= 8; i++) {
		const double x = 0.65 + 0.0875 * i; // gaps of 0.05 at both ends
		CHECK_INT(duel_step(&d, link, (carom_pose){ { x, 0, 0 }, { s, 0, 0, s } }).count, 0);
	}
	// The second link's tube, centred at x - 1, reaches to x - 0.7; the first begins at 0.7.
	const carom_pose poses[2] = { link, { { 1.5, 0, 0 }, { s, 0, 0, s } } };
	carom_contact_view contacts = duel_step(&d, poses[0], poses[1]);
	REQUIRE(contacts.count > 0);
	const carom_contact *best = deepest(contacts);
	CHECK_NEAR(best->depth, 0.1, 0.004);
	CHECK(best->normal[0] > 0.99f);
	for (int32_t i = 0; i < contacts.count; i++) {
		check_contact(&d, &contacts.data[i], poses);
		check_reaches_surface(&d, &contacts.data[i], poses, 1e-5);
	}
	duel_close(&d);
	free(torus);
}
