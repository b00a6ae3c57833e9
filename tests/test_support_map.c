// Tables of how far a mesh reaches: against all vertices, and against the distances of meshes that they call apart.
#include "fixture.h"

#include "frame/body.h"
#include "mesh/support_map.h"

#include <math.h>
#include <string.h>

static v3d random_vector(uint64_t *seed)
{
	const double x = test_random_double(seed, -1, 1), y = test_random_double(seed, -1, 1);
	return (v3d){ x, y, test_random_double(seed, -1, 1) };
}

/// The largest p . d of all vertices.
static double support_of_all(const carom_mesh *mesh, v3d d)
{
	double most = -INFINITY;
	for (int64_t i = 0; i < mesh->topology.vertex_count; i++)
		most = fmax(most, v3d_dot(d, v3d_from_floats(&mesh->topology.vertices[3 * i])));
	return most;
}

static void check_direction(const carom_mesh *mesh, v3d d)
{
	v3d point;
	const double bound = cr_support_bound(mesh->support, d, &point), exact = support_of_all(mesh, d), length = v3d_length(d);
	CHECK(bound >= exact);
	// A corner of a cell is at most 0.21 from its middle: of these directions one in 1,500 is off by
	// more than a tenth of the size, and none by half as much again.
	CHECK(bound <= exact + 0.15 * length * mesh->support->scale);
	CHECK_NEAR(v3d_dot(d, point), bound, 1e-5 * length * mesh->support->scale);
}

TEST(support_map, bounds_hold_all_vertices)
{
	carom_context *context = fixture_context(1);
	carom_mesh *meshes[2] = { fixture_torus_mesh(context, 24, 12, 0.4, 0.2), fixture_sphere_mesh(context, 1e-3, 16) };
	uint64_t seed = 11;
	for (int m = 0; m < 2; m++) {
		REQUIRE(meshes[m]->support);
		for (int i = 0; i < 20000; i++)
			check_direction(meshes[m], v3d_scale(random_vector(&seed), i % 2 ? 1 : 1e6));
		// Axes, edges and corners of the cube of directions, and corners of the grid.
		for (int i = 0; i < 15 * 15 * 15; i++) {
			const v3d d = { i % 15 - 7, i / 15 % 15 - 7, i / 225 - 7 };
			if (v3d_dot(d, d) > 0)
				check_direction(meshes[m], d);
		}
		carom_release_mesh(meshes[m]);
	}
	carom_destroy_context(context);
}

/// Meshes that are called apart are that far apart at least. Returns whether they are.
static bool check_gap(const carom_mesh *a, const carom_mesh *b, carom_pose at_a, carom_pose at_b)
{
	m3d rotation;
	v3d translation;
	cr_relative_pose(&at_a, &at_b, &rotation, &translation);
	const double gap = cr_hull_gap(a->support, b->support, &rotation, translation);
	bool found;
	carom_mesh_gap exact;
	if (gap == 0)
		return false;
	REQUIRE(carom_mesh_distance(a, &at_a, b, &at_b, INFINITY, &found, &exact) == CAROM_SUCCESS);
	CHECK(found && !exact.a_inside_b && !exact.b_inside_a);
	CHECK(gap > 0 && exact.distance >= gap);
	return true;
}

TEST(support_map, gaps_are_no_longer_than_distances)
{
	carom_context *context = fixture_context(1);
	carom_mesh *a = fixture_torus_mesh(context, 24, 12, 0.4, 0.2), *b = fixture_sphere_mesh(context, 0.7, 16);
	uint64_t seed = 5;
	int apart = 0;
	for (int i = 0; i < 3000; i++) {
		const carom_pose at_a = fixture_random_pose(&seed, 1.5);
		apart += check_gap(a, i % 2 ? a : b, at_a, fixture_random_pose(&seed, 1.5));
	}
	CHECK(apart > 300 && apart < 2900);
	// At one place there is no direction to begin with.
	CHECK(!check_gap(a, b, fixture_at(0, 0, 0), fixture_at(0, 0, 0)));
	carom_release_mesh(a);
	carom_release_mesh(b);
	carom_destroy_context(context);
}

TEST(support_map, spheres_are_apart_from_a_tenth_of_their_size_on)
{
	carom_context *context = fixture_context(1);
	carom_mesh *ball = fixture_sphere_mesh(context, 1, 24);
	uint64_t seed = 3;
	for (int i = 0; i < 1000; i++) {
		const v3d way = v3d_scale(v3d_normalize(random_vector(&seed)), 2.25);
		CHECK(check_gap(ball, ball, fixture_random_pose(&seed, 0), (carom_pose){ way, { 0, 0, 0, 1 } }));
	}
	carom_release_mesh(ball);
	carom_destroy_context(context);
}

// ---- Worlds with the tables and without ----

enum { BODIES = 24, STEPS = 60 };

/// Steps of bodies that tumble past each other. tables: of their mesh. Returns the number of contacts.
static int64_t tumble(carom_context *context, bool tables, carom_temporal temporal, uint64_t *hash)
{
	carom_mesh *mesh = fixture_torus_mesh(context, 20, 12, 0.4, 0.2);
	cr_support_map *support = mesh->support;
	REQUIRE(support);
	mesh->support = tables ? support : NULL;
	carom_world_def def = carom_default_world_def();
	def.temporal = temporal;
	carom_world *world;
	REQUIRE(carom_create_world(context, &def, &world) == CAROM_SUCCESS);
	carom_body_id bodies[BODIES];
	carom_vec3 from[BODIES], speed[BODIES];
	uint64_t seed = 8;
	for (int i = 0; i < BODIES; i++) {
		from[i] = v3d_scale(random_vector(&seed), 3);
		speed[i] = v3d_scale(random_vector(&seed), i % 3 ? 0.02 : 0.2);
		bodies[i] = fixture_add(world, (carom_shape){ .type = CAROM_MESH, .mesh = mesh },
			fixture_at(from[i].x, from[i].y, from[i].z), CAROM_DYNAMIC);
	}
	int64_t contacts = 0;
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < BODIES; i++) {
			const carom_quat turn = fixture_turn((v3d){ 1, 2, 3 }, 0.01 * step * (i % 5));
			const carom_pose pose = { v3d_mad(from[i], step, speed[i]), turn };
			REQUIRE(carom_world_set_pose(world, bodies[i], &pose) == CAROM_SUCCESS);
		}
		REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
		hash[step] = carom_world_hash(world);
		contacts += carom_world_contacts(world).count;
	}
	carom_destroy_world(world);
	mesh->support = support;
	carom_release_mesh(mesh);
	return contacts;
}

TEST(support_map, contacts_do_not_depend_on_them)
{
	carom_context *context = fixture_context(1);
	const carom_temporal ways[3] = { CAROM_TEMPORAL_NONE, CAROM_TEMPORAL_ITERATIVE, CAROM_TEMPORAL_PREDICTIVE };
	for (int i = 0; i < 3; i++) {
		uint64_t with[STEPS], without[STEPS];
		const int64_t contacts = tumble(context, true, ways[i], with);
		CHECK(contacts > 1000);
		CHECK_INT(tumble(context, false, ways[i], without), contacts);
		for (int step = 0; step < STEPS; step++)
			CHECK(with[step] == without[step]);
	}
	carom_destroy_context(context);
}

typedef struct block {
	size_t size;
	char bytes[1 << 22];
} block;

static bool keep_bytes(const void *bytes, size_t count, void *user)
{
	block *b = user;
	REQUIRE(b->size + count <= sizeof b->bytes);
	memcpy(b->bytes + b->size, bytes, count);
	b->size += count;
	return true;
}

TEST(support_map, meshes_that_are_loaded_have_one)
{
	static block saved;
	carom_context *context = fixture_context(1);
	carom_mesh *made = fixture_torus_mesh(context, 24, 12, 0.4, 0.2), *loaded;
	REQUIRE(carom_mesh_save(made, keep_bytes, &saved) == CAROM_SUCCESS);
	REQUIRE(carom_mesh_load(context, saved.bytes, saved.size, true, &loaded) == CAROM_SUCCESS);
	REQUIRE(made->support && loaded->support);
	CHECK(memcmp(made->support, loaded->support, sizeof *made->support) == 0);
	carom_release_mesh(made);
	carom_release_mesh(loaded);
	carom_destroy_context(context);
}
