/// The settled part of the recorded avalanche: iterative and full worlds collide alike. Apart from test_temporal.c, since the recording needs the
/// simulation library.
#include "moving.h"

#include "io/mesh_file.h"
#include "io/trajectory.h"
#include <stdlib.h>

enum { FIRST = 420, LAST = 450 };

TEST(temporal_data, avalanche_at_rest_keeps_all_pairs)
{
	io_trajectory trajectory;
	sim_mesh file;
	sim_error error = { "" };
	const bool loaded = io_load_trajectory(test_data_path("trajectories/scene1.rbt.gz"), &trajectory, &error) &&
		io_load_mesh(test_data_path("meshes/bullet-bunny-902.obj"), &file, &error);
	CHECK_STR(error.text, "");
	REQUIRE(loaded);
	carom_context *context = fixture_context(2);
	carom_mesh_def mesh_def = carom_default_mesh_def();
	mesh_def.vertices = (carom_strided){ file.vertices, 0, CAROM_FLOAT32 };
	mesh_def.vertex_count = file.vertex_count;
	mesh_def.triangles = file.triangles;
	mesh_def.triangle_count = file.triangle_count;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &mesh_def, NULL, &mesh) == CAROM_SUCCESS);

	const size_t count = (size_t)trajectory.body_count;
	carom_body_id *ids = calloc(count, sizeof *ids);
	carom_pose *poses = calloc(count, sizeof *poses);
	REQUIRE(ids && poses);
	carom_world *worlds[2]; // full, predictive
	for (int w = 0; w < 2; w++) {
		carom_world_def def = carom_default_world_def();
		def.max_contacts_per_pair = 0;
		def.temporal = w == 0 ? CAROM_TEMPORAL_NONE : CAROM_TEMPORAL_PREDICTIVE;
		worlds[w] = fixture_world(context, &def);
		io_trajectory_poses(&trajectory, FIRST, poses);
		for (size_t i = 0; i < count; i++)
			ids[i] = fixture_add(worlds[w], fixture_of_mesh(mesh), poses[i], CAROM_DYNAMIC);
	}
	moving_difference d = { 0 };
	int64_t iterative = 0, full = 0;
	for (int frame = FIRST; frame <= LAST; frame++) {
		io_trajectory_poses(&trajectory, frame, poses);
		for (int w = 0; w < 2; w++) {
			REQUIRE(carom_world_set_poses(worlds[w], (int)count, ids, poses) == CAROM_SUCCESS);
			fixture_step(worlds[w]);
		}
		moving_compare(worlds[0], worlds[1], &d);
		iterative += carom_world_stats(worlds[1]).pairs_iterative;
		full += carom_world_stats(worlds[1]).pairs_full;
	}
	CHECK_INT(d.pairs_missing, 0);
	CHECK_INT(d.pairs_added, 0);
	CHECK(d.pairs > 800 * (LAST - FIRST));
	CHECK(1000 * d.contacts_missing <= d.contacts);
	CHECK(d.deepest_missing <= 0.025 * 2);
	CHECK(iterative > full); // at rest, though jittering

	carom_destroy_world(worlds[0]);
	carom_destroy_world(worlds[1]);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	io_free_trajectory(&trajectory);
	sim_mesh_free(&file);
	free(ids);
	free(poses);
}
