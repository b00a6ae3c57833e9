/// The rule of carom/base.h on NULL handles: calls that return carom_result refuse them, worlds aside.
#include "test.h"
#include "carom/carom.h"
#include "carom/spheres.h"

#define REFUSED(call) CHECK_INT((call), CAROM_INVALID_ARGUMENT)

TEST(nulls, contexts)
{
	carom_world *world;
	carom_mesh *mesh;
	carom_spheres *spheres;
	carom_sweep *sweep;
	carom_mesh_report report;
	carom_replay_result replay;
	const carom_mesh_def def = carom_default_mesh_def();
	const float heights[4] = { 0 };
	const double spacing[2] = { 1, 1 }, corners[4][3] = { { 0 } };
	carom_sweep_hit hit;
	bool found;
	REFUSED(carom_create_world(NULL, NULL, &world));
	REFUSED(carom_create_mesh(NULL, &def, NULL, &mesh));
	REFUSED(carom_check_mesh(NULL, &def, &report));
	REFUSED(carom_mesh_load(NULL, heights, sizeof heights, true, &mesh));
	REFUSED(carom_create_height_field(NULL, 2, 2, heights, spacing, 1, &mesh));
	REFUSED(carom_create_edited_field(NULL, NULL, NULL, heights, &mesh));
	REFUSED(carom_create_spheres(NULL, NULL, &spheres));
	REFUSED(carom_create_sweep(NULL, NULL, &sweep));
	REFUSED(carom_sweep_test_pair(NULL, NULL, CAROM_SWEEP_VERTEX_FACE, corners, corners, &found, &hit));
	REFUSED(carom_replay_recording(NULL, NULL, NULL, &replay));
	CHECK_STR(carom_error_text(NULL), "");
}

TEST(nulls, meshes)
{
	carom_mass mass;
	carom_tree_info info;
	carom_mesh_point point;
	carom_mesh_gap gap;
	uint32_t material;
	const carom_pose pose = { { 0 }, { 0, 0, 0, 1 } };
	const carom_ray_batch rays = { 0 };
	const carom_hit_batch hits = { 0 };
	int32_t pairs[1][2], count;
	bool found;
	REFUSED(carom_mesh_save(NULL, NULL, NULL));
	REFUSED(carom_mesh_get_mass(NULL, &mass));
	REFUSED(carom_mesh_get_tree_info(NULL, false, &info));
	REFUSED(carom_mesh_get_material(NULL, 0, &material));
	REFUSED(carom_mesh_self_intersections(NULL, 1, pairs, &count));
	REFUSED(carom_mesh_intersections(NULL, &pose, NULL, &pose, 1, pairs, &count));
	REFUSED(carom_mesh_cast_rays(NULL, &rays, &hits));
	REFUSED(carom_mesh_closest_point(NULL, (carom_vec3){ 0 }, 1, &found, &point));
	REFUSED(carom_mesh_distance(NULL, &pose, NULL, &pose, 1, &found, &gap));
	REFUSED(carom_mesh_contains(NULL, (carom_vec3){ 0 }, &found));
}

static bool no_pairs(const carom_sphere_pair *pairs, int64_t count, int worker, void *user)
{
	(void)pairs, (void)count, (void)worker, (void)user;
	return true;
}

static void no_force(
	uint32_t a, uint32_t b, const double direction[3], double overlap, double force[3], double torque[3], void *user)
{
	(void)a, (void)b, (void)direction, (void)overlap, (void)force, (void)torque, (void)user;
}

TEST(nulls, spheres_and_sweeps)
{
	const carom_sphere_input input = carom_default_sphere_input();
	carom_sphere_pairs pairs;
	carom_sphere_neighbours neighbours;
	double forces[3];
	uint32_t order[1];
	REFUSED(carom_spheres_update(NULL, &input));
	REFUSED(carom_spheres_find_pairs(NULL, &pairs));
	REFUSED(carom_spheres_visit_pairs(NULL, no_pairs, NULL));
	REFUSED(carom_spheres_sum_forces(NULL, no_force, NULL, forces, NULL));
	REFUSED(carom_spheres_get_neighbours(NULL, &neighbours));
	REFUSED(carom_spheres_get_order(NULL, order));
	CHECK_INT(carom_spheres_get_stats(NULL).count, 0);

	const carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
	const carom_strided view = { 0 };
	carom_sweep_hits hits;
	carom_sweep_hit hit;
	bool found;
	int32_t mesh;
	REFUSED(carom_sweep_add_mesh(NULL, &def, &mesh));
	REFUSED(carom_sweep_move_mesh(NULL, 0, &view));
	REFUSED(carom_sweep_place_mesh(NULL, 0, &view));
	REFUSED(carom_sweep_set_filter(NULL, 0, 1, 1, 0));
	REFUSED(carom_sweep_find(NULL, &hits));
	REFUSED(carom_sweep_find_earliest(NULL, &hit, &found));
	CHECK_INT(carom_sweep_get_stats(NULL).vertices, 0);
}

TEST(nulls, destroying_none_does_nothing)
{
	carom_destroy_context(NULL);
	carom_destroy_world(NULL);
	carom_release_mesh(NULL);
	carom_destroy_spheres(NULL);
	carom_destroy_sweep(NULL);
}
