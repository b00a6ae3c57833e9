/// The corners of solids that contacts act on: beside the vertices of the features, and the nearest point of all triangles.
#include "carom/geometry.h"
#include "fixture.h"

#include <math.h>
#include <string.h>

typedef struct pair {
	carom_context *context;
	carom_world *world;
	carom_mesh *mesh[2];
	carom_body_id id[2];
	uint64_t seed;
} pair;

/// Two soft balls, or cubes, that lie in each other; other: the second one is a rigid body of this shape.
static void open_pair(pair *p, bool cubes, const carom_shape *other)
{
	*p = (pair){ .context = fixture_context(1), .seed = 7 };
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = 0.01;
	p->world = fixture_world(p->context, &def);
	for (int i = 0; i < 2; i++) {
		const carom_pose pose = fixture_at(0.1 * i, 0.13 * i, 0.97 * i);
		p->mesh[i] = cubes ? fixture_box_mesh(p->context, 0.5, 0.5, 0.5) : fixture_sphere_mesh(p->context, 0.5, 8);
		p->id[i] = fixture_add(p->world, i == 1 && other ? *other : fixture_of_mesh(p->mesh[i]), pose,
			i == 1 && other ? CAROM_STATIC : CAROM_DEFORMABLE);
	}
}

static void close_pair(pair *p)
{
	carom_destroy_world(p->world);
	carom_release_mesh(p->mesh[0]);
	carom_release_mesh(p->mesh[1]);
	carom_destroy_context(p->context);
}

/// Tremble, do a step, and leave the places [3*vertices] of a body.
static void stir(pair *p, int which, double wobble, double *places)
{
	carom_vertex_view view;
	REQUIRE(carom_world_get_vertices(p->world, p->id[which], &view) == CAROM_SUCCESS);
	for (int i = 0; i < 3 * view.count; i++)
		places[i] = view.data[i] + test_random_double(&p->seed, -wobble, wobble);
	const carom_strided end = { .data = places, .type = CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(p->world, p->id[which], NULL, &end) == CAROM_SUCCESS);
}

static v3d place_of(const carom_contact_corners *c, const double *places)
{
	v3d sum = { 0, 0, 0 };
	double weights = 0;
	for (int k = 0; k < 3; k++) {
		CHECK(c->weights[k] >= 0 && c->weights[k] <= 1);
		if (k >= c->count) {
			CHECK(c->weights[k] == 0 && c->vertices[k] == 0);
			continue;
		}
		weights += c->weights[k];
		const double *at = places + 3 * (int64_t)c->vertices[k];
		sum = v3d_add(sum, v3d_scale((v3d){ at[0], at[1], at[2] }, c->weights[k]));
	}
	CHECK_NEAR(weights, 1, 1e-12);
	return sum;
}

/// How far a point is from the surface of a mesh with these places.
static double surface_distance(const carom_mesh *mesh, const double *places, v3d point)
{
	const int32_t *triangles = carom_mesh_get_triangles(mesh);
	double nearest = INFINITY;
	for (int32_t t = 0; t < carom_mesh_get_report(mesh)->triangle_count; t++) {
		carom_vec3 corner[3];
		for (int k = 0; k < 3; k++) {
			const double *at = places + 3 * (int64_t)triangles[3 * t + k];
			corner[k] = (carom_vec3){ at[0], at[1], at[2] };
		}
		carom_triangle_point on;
		nearest = fmin(nearest, carom_point_triangle_distance((carom_vec3){ point.x, point.y, point.z }, corner, &on));
	}
	return nearest;
}

enum { MOST = 600 };

static int check_side(const pair *p, int which, const carom_contact_corners *corners, const double *places)
{
	const carom_contact_view contacts = carom_world_contacts(p->world);
	int checked = 0;
	for (int32_t i = 0; i < contacts.count; i++) {
		const carom_contact *c = &contacts.data[i];
		REQUIRE(corners[i].count > 0);
		const v3d at = place_of(&corners[i], places), point = fixture_point(c);
		CHECK_NEAR(surface_distance(p->mesh[which], places, at), 0, 1e-9);
		const bool is_a = which == 0, is_vertex = c->kind == (is_a ? CAROM_VERTEX_A : CAROM_VERTEX_B);
		CHECK_INT(corners[i].count == 1, is_vertex);
		if (is_vertex)
			CHECK_INT(corners[i].vertices[0], is_a ? c->feature_a : c->feature_b);
		// The place is as near as the surface that the contact leads to. The triangle of an edge is where its part inside ends.
		const bool is_edge = c->kind == CAROM_EDGE_A || c->kind == CAROM_EDGE_B;
		CHECK(v3d_length(v3d_sub(at, point)) <= fabs((double)c->depth) * 1.1 + (is_edge ? 0.02 : 1e-3));
		checked++;
	}
	return checked;
}

TEST(contact_corners, make_the_place_of_the_contact)
{
	static double places[2][3 * MOST];
	static carom_contact_corners corners[2][4 * MOST];
	for (int cubes = 0; cubes < 2; cubes++) {
		pair p;
		int checked = 0;
		open_pair(&p, cubes, NULL);
		for (int step = 0; step < 20; step++) {
			stir(&p, 0, 0.002, places[0]);
			stir(&p, 1, 0.002, places[1]);
			fixture_step(p.world);
			const int32_t count = carom_world_contacts(p.world).count;
			REQUIRE(count <= 4 * MOST);
			REQUIRE(carom_world_get_contact_corners(p.world, 0, count, corners[0], corners[1]) == CAROM_SUCCESS);
			checked += check_side(&p, 0, corners[0], places[0]) + check_side(&p, 1, corners[1], places[1]);
		}
		CHECK(checked > 60);
		close_pair(&p);
	}
}

TEST(contact_corners, bodies_that_do_not_deform_have_none)
{
	static double places[3 * MOST];
	const carom_shape box = fixture_box(2, 2, 0.5), ball = fixture_sphere(0.5), plane = { .type = CAROM_PLANE };
	const carom_shape shapes[] = { box, ball, plane };
	for (int i = 0; i < 3; i++) {
		carom_contact_corners a[64], b[64];
		pair p;
		open_pair(&p, true, &shapes[i]);
		stir(&p, 0, 0.001, places);
		fixture_step(p.world);
		const int32_t count = carom_world_contacts(p.world).count;
		REQUIRE(count > 0 && count <= 64);
		REQUIRE(carom_world_get_contact_corners(p.world, 0, count, a, b) == CAROM_SUCCESS);
		REQUIRE(carom_world_get_contact_corners(p.world, 0, count, NULL, NULL) == CAROM_SUCCESS);
		for (int32_t k = 0; k < count; k++) {
			CHECK(a[k].count >= 1);
			CHECK_NEAR(surface_distance(p.mesh[0], places, place_of(&a[k], places)), 0, 1e-9);
			const carom_contact_corners none = { 0 };
			CHECK(memcmp(&b[k], &none, sizeof none) == 0);
		}
		// Features of another mesh mean nothing; nor do those of a body that has gone.
		REQUIRE(carom_world_set_mesh(p.world, p.id[0], p.mesh[0], NULL, NULL) == CAROM_SUCCESS);
		REQUIRE(carom_world_get_contact_corners(p.world, count - 1, 1, a, NULL) == CAROM_SUCCESS);
		REQUIRE(carom_world_remove_body(p.world, p.id[0]) == CAROM_SUCCESS);
		REQUIRE(carom_world_get_contact_corners(p.world, count - 1, 1, a, NULL) == CAROM_SUCCESS);
		CHECK_INT(a[0].count, 0);
		close_pair(&p);
	}
}

TEST(contact_corners, misuse_is_an_error)
{
	pair p;
	carom_contact_corners corners[1];
	open_pair(&p, true, NULL);
	fixture_step(p.world);
	const int32_t count = carom_world_contacts(p.world).count;
	CHECK_INT(carom_world_get_contact_corners(p.world, count, 0, corners, NULL), CAROM_SUCCESS);
	fixture_expect_wrong(p.context, carom_world_get_contact_corners(p.world, count, 1, corners, NULL),
		"carom_world_get_contact_corners: first is");
	fixture_expect_wrong(p.context, carom_world_get_contact_corners(p.world, -1, 1, corners, NULL), "first is -1");
	fixture_expect_wrong(p.context, carom_world_get_contact_corners(p.world, 0, -1, corners, NULL), "count is -1");
	fixture_expect_wrong(p.context, carom_world_get_contact_corners(p.world, 1, INT32_MAX, corners, NULL), "but there are");
	close_pair(&p);
}
