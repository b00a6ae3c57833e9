/// Determinism on recorded motion: see test_determinism.c.
#include "determinism_fixture.h"
#include "io/mesh_file.h"
#include "io/trajectory.h"
#include "test.h"
#include <stdlib.h>

typedef struct recorded {
	int frame;
	sim_mesh mesh;
	io_trajectory trajectory;
	carom_body_id *ids;
	carom_pose *poses;
} recorded;

static void load_recorded(recorded *r)
{
	sim_error error = { "" };
	const bool loaded = io_load_trajectory(test_data_path("trajectories/scene1.rbt.gz"), &r->trajectory, &error) &&
		io_load_mesh(test_data_path("meshes/bullet-bunny-902.obj"), &r->mesh, &error);
	CHECK_STR(error.text, "");
	REQUIRE(loaded);
	r->ids = calloc((size_t)r->trajectory.body_count, sizeof *r->ids);
	r->poses = calloc((size_t)r->trajectory.body_count, sizeof *r->poses);
	REQUIRE(r->ids && r->poses);
}

static void free_recorded(recorded *r)
{
	sim_mesh_free(&r->mesh);
	io_free_trajectory(&r->trajectory);
	free(r->ids);
	free(r->poses);
}

/// The hash of one frame, all contacts, ground included.
static uint64_t hash_frame(const determinism_way *w, carom_context *context, void *recorded_pointer)
{
	const recorded *r = recorded_pointer;
	carom_mesh_def mesh_def = carom_default_mesh_def();
	mesh_def.vertices = (carom_strided){ r->mesh.vertices, 0, CAROM_FLOAT32 };
	mesh_def.vertex_count = r->mesh.vertex_count;
	mesh_def.triangles = r->mesh.triangles;
	mesh_def.triangle_count = r->mesh.triangle_count;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &mesh_def, NULL, &mesh) == CAROM_SUCCESS);
	carom_world_def world_def = carom_default_world_def();
	fixture_set_broad(&world_def, w->broad_phase);
	fixture_lab(&world_def)->ray_method = w->rays;
	world_def.max_contacts_per_pair = 0;
	carom_world *world = NULL;
	REQUIRE(carom_create_world(context, &world_def, &world) == CAROM_SUCCESS);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_DYNAMIC;
	def.shape = determinism_mesh_shape(mesh);
	for (int32_t i = 0; i < r->trajectory.body_count; i++)
		REQUIRE(carom_world_add_body(world, &def, &r->ids[i]) == CAROM_SUCCESS);
	def.kind = CAROM_STATIC;
	def.shape = (carom_shape){ .type = CAROM_PLANE };
	def.pose = io_trajectory_ground_pose(&r->trajectory);
	carom_body_id ground;
	REQUIRE(carom_world_add_body(world, &def, &ground) == CAROM_SUCCESS);
	io_trajectory_poses(&r->trajectory, r->frame, r->poses);
	REQUIRE(carom_world_set_poses(world, r->trajectory.body_count, r->ids, r->poses) == CAROM_SUCCESS);
	REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
	CHECK(carom_world_contacts(world).count > 20);
	const uint64_t hash = carom_world_hash(world);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	return hash;
}

static void check_frame(const char *name, int frame)
{
	recorded r = { .frame = frame };
	load_recorded(&r);
	determinism_check(name, hash_frame, &r);
	free_recorded(&r);
}

TEST(determinism, scene1_step_80) { check_frame("scene1_step_80", 80); }

TEST(determinism, scene1_step_420) { check_frame("scene1_step_420", 420); }
