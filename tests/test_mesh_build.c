/// The builders of a mesh's trees, as users choose them: contacts, hits and distances are equal bit for bit.
#include "bvh/collider_query.h"
#include "carom/query.h"
#include "frame/body.h"
#include "fixture.h"
#include "test.h"
#include <math.h>
#include <stdio.h>

enum { BUILDS = CAROM_MESH_PLOC + 1, BODIES = 12, STEPS = 6 };

/// A torus, its trees built as said.
static carom_mesh *torus_of(carom_context *context, carom_mesh_build build, int around, double lump)
{
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_torus(&soup, around, 12, 0.4, lump);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ soup.vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = soup.vertex_count;
	def.triangles = soup.triangles;
	def.triangle_count = soup.triangle_count;
	def.build = build;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static carom_mesh *lumpy_mesh(carom_context *context, carom_mesh_build build) { return torus_of(context, build, 40, 0.3); }

static carom_mesh *plain_mesh(carom_context *context, carom_mesh_build build) { return torus_of(context, build, 12, 0); }

/// Hashes of a heap of lumpy bodies that are pushed into each other and turned. Returns how many
/// contacts there were.
static int64_t run_heap(carom_context *context, const carom_mesh *mesh, uint64_t hashes[STEPS])
{
	carom_world_def world_def = carom_default_world_def();
	carom_world *world = fixture_world(context, &world_def);
	carom_body_id ids[BODIES];
	uint64_t seed = 3;
	int64_t contacts = 0;
	for (int i = 0; i < BODIES; i++) {
		carom_body_def def = carom_default_body_def();
		def.shape = fixture_of_mesh(mesh);
		def.pose = fixture_at(test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), 0.6 * i);
		REQUIRE(carom_world_add_body(world, &def, &ids[i]) == CAROM_SUCCESS);
	}
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < BODIES; i++) {
			carom_pose pose = fixture_at(test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), 0.6 * i);
			pose.orientation = (carom_quat){ 0, 0.6, 0, 0.8 };
			if ((i + step) % 3 == 0)
				REQUIRE(carom_world_set_pose(world, ids[i], &pose) == CAROM_SUCCESS);
		}
		fixture_step(world);
		contacts += carom_world_stats(world).contacts_found;
		hashes[step] = carom_world_hash(world);
	}
	carom_destroy_world(world);
	return contacts;
}

/// Three continuous bodies that lie in each other, and beside each other, are moved and turned a little. Adds how many impacts and
/// touching pairs are told of them.
static uint64_t run_touching(carom_context *context, const carom_mesh *mesh, uint64_t seed, int told[2])
{
	carom_world *world = fixture_world(context, NULL);
	carom_body_id ids[3];
	for (int i = 0; i < 3; i++) {
		carom_body_def def = carom_default_body_def();
		def.shape = fixture_of_mesh(mesh);
		def.continuous = true;
		def.pose = fixture_random_pose(&seed, 0.5);
		def.pose.position.x += 0.9 * i;
		REQUIRE(carom_world_add_body(world, &def, &ids[i]) == CAROM_SUCCESS);
	}
	fixture_step(world);
	for (int i = 0; i < 3; i++) {
		carom_pose pose;
		REQUIRE(carom_world_get_pose(world, ids[i], &pose) == CAROM_SUCCESS);
		const double x = test_random_double(&seed, -0.15, 0.15), z = test_random_double(&seed, -0.15, 0.15);
		const double angle = test_random_double(&seed, 0, 0.2) * (double)(seed >> 20 & 1);
		pose.position.x += x;
		pose.position.z += z;
		pose.orientation = fixture_compose(
			(carom_pose){ { 0, 0, 0 }, fixture_turn((v3d){ 1, 2, 3 }, angle) }, (carom_pose){ { 0, 0, 0 }, pose.orientation })
							   .orientation;
		REQUIRE(carom_world_set_pose(world, ids[i], &pose) == CAROM_SUCCESS);
	}
	fixture_step(world);
	const carom_body_impact_view impacts = carom_world_body_impacts(world);
	for (int32_t i = 0; i < impacts.count; i++)
		told[impacts.data[i].status == CAROM_TOI_IMPACT]++;
	const uint64_t hash = carom_world_hash(world);
	carom_destroy_world(world);
	return hash;
}

/// Of bodies that overlap at first, too: their guards, and which of their triangles are told.
TEST(mesh_build, impacts_do_not_depend_on_the_builder)
{
	carom_context *context = fixture_context(1);
	carom_mesh *meshes[BUILDS];
	int told[2] = { 0, 0 };
	for (int build = 0; build < BUILDS; build++)
		meshes[build] = plain_mesh(context, (carom_mesh_build)build);
	for (uint64_t seed = 1; seed <= 120; seed++) {
		const uint64_t first = run_touching(context, meshes[0], seed, told);
		for (int build = 1; build < BUILDS; build++)
			CHECK(run_touching(context, meshes[build], seed, told) == first);
	}
	CHECK(told[0] > 100);
	CHECK(told[1] > 100);
	for (int build = 0; build < BUILDS; build++)
		carom_release_mesh(meshes[build]);
	carom_destroy_context(context);
}

TEST(mesh_build, contacts_do_not_depend_on_the_builder)
{
	carom_context *context = fixture_context(1);
	uint64_t expected[STEPS] = { 0 }, hashes[STEPS] = { 0 };
	for (int build = 0; build < BUILDS; build++) {
		carom_mesh *mesh = lumpy_mesh(context, (carom_mesh_build)build);
		CHECK(run_heap(context, mesh, build == 0 ? expected : hashes) > 100);
		for (int step = 0; build > 0 && step < STEPS; step++)
			CHECK(hashes[step] == expected[step]);
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

TEST(mesh_build, rays_and_nearest_points_do_not_depend_on_the_builder)
{
	carom_context *context = fixture_context(1);
	carom_mesh *meshes[BUILDS];
	for (int build = 0; build < BUILDS; build++)
		meshes[build] = lumpy_mesh(context, (carom_mesh_build)build);
	uint64_t seed = 5;
	int hits = 0;
	for (int i = 0; i < 2000; i++) {
		cr_query_ray ray = { .t_max = INFINITY };
		ray.origin =
			(v3d){ test_random_double(&seed, -2, 2), test_random_double(&seed, -2, 2), test_random_double(&seed, -2, 2) };
		ray.direction = v3d_sub((v3d){ test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), 0 }, ray.origin);
		cr_query_hit hit[BUILDS];
		carom_mesh_point nearest[BUILDS];
		bool met[BUILDS], found;
		for (int build = 0; build < BUILDS; build++) {
			met[build] = cr_collider_cast(&meshes[build]->collider, cr_get_bvh_kernels(CAROM_SIMD_SCALAR), &ray, &hit[build]);
			REQUIRE(carom_mesh_closest_point(meshes[build], ray.origin, INFINITY, &found, &nearest[build]) == CAROM_SUCCESS);
			CHECK(met[build] == met[0]);
			CHECK(!met[0] || (hit[build].triangle == hit[0].triangle && hit[build].t == hit[0].t));
			CHECK(nearest[build].triangle == nearest[0].triangle && nearest[build].distance == nearest[0].distance);
		}
		hits += met[0];
	}
	CHECK(hits > 100);
	for (int build = 0; build < BUILDS; build++)
		carom_release_mesh(meshes[build]);
	carom_destroy_context(context);
}

TEST(mesh_build, faster_builders_make_trees_of_higher_cost)
{
	carom_context *context = fixture_context(1);
	double costs[BUILDS];
	for (int build = 0; build < BUILDS; build++) {
		carom_mesh *mesh = lumpy_mesh(context, (carom_mesh_build)build);
		carom_tree_info info;
		REQUIRE(carom_mesh_get_tree_info(mesh, false, &info) == CAROM_SUCCESS);
		costs[build] = info.sah_cost;
		carom_release_mesh(mesh);
	}
	printf("SAH cost of trees: %.1f, %.1f, %.1f, %.1f, %.1f\n", costs[0], costs[1], costs[2], costs[3], costs[4]);
	CHECK(costs[CAROM_MESH_SAH] < costs[CAROM_MESH_HLBVH] && costs[CAROM_MESH_SAH] < costs[CAROM_MESH_LBVH]);
	CHECK(costs[CAROM_MESH_TRBVH] < costs[CAROM_MESH_LBVH] && costs[CAROM_MESH_PLOC] < costs[CAROM_MESH_LBVH]);
	carom_destroy_context(context);
}

TEST(mesh_build, unknown_builders_are_refused)
{
	carom_context *context = fixture_context(1);
	for (int value = -1; value <= BUILDS; value += BUILDS + 1) {
		carom_mesh_def def = carom_default_mesh_def();
		def.build = (carom_mesh_build)value;
		carom_mesh *mesh;
		char text[100];
		CHECK_INT(carom_create_mesh(context, &def, NULL, &mesh), CAROM_INVALID_ARGUMENT);
		snprintf(text, sizeof text, "carom_mesh_def.build is %d, not in 0 to 4", value);
		CHECK_STR(carom_error_text(context), text);
	}
	carom_destroy_context(context);
}
