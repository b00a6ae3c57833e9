/// carom_world_def.max_depth_ratio: where a ray runs far inside although the surface is near, the nearest surface point counts.
#include "fixture.h"
#include "geom/triangle.h"
#include <math.h>
#include <string.h>

/// Nearest distance from a point in a mesh's frame to its surface, every triangle.
static double surface_distance(const carom_mesh *mesh, v3d p)
{
	const float *v = carom_mesh_get_vertices(mesh);
	const int32_t *t = carom_mesh_get_triangles(mesh);
	double best = INFINITY;
	for (int32_t i = 0; i < carom_mesh_get_report(mesh)->triangle_count; i++) {
		cr_feature feature;
		const v3d q = cr_closest_point_triangle(p, v3d_from_floats(&v[3 * t[3 * i]]), v3d_from_floats(&v[3 * t[3 * i + 1]]),
			v3d_from_floats(&v[3 * t[3 * i + 2]]), &feature);
		best = fmin(best, v3d_length(v3d_sub(q, p)));
	}
	return best;
}

static double box_diagonal(const carom_mesh *mesh)
{
	const carom_mesh_report *r = carom_mesh_get_report(mesh);
	double sum = 0;
	for (int k = 0; k < 3; k++)
		sum += (r->upper[k] - r->lower[k]) * (r->upper[k] - r->lower[k]);
	return sqrt(sum);
}

typedef struct counts {
	int contacts;
	int replaced;
	int wrong;
} counts;

/// Compare the contacts of two worlds, with and without the limit: the same features of the source, and for each vertex the depth that the
/// rule gives.
static void compare(const carom_world *plain, const carom_world *limited, const carom_mesh *const meshes[2],
	const carom_pose poses[2], double ratio, counts *n)
{
	const carom_contact_view a = carom_world_contacts(plain), b = carom_world_contacts(limited);
	CHECK_INT(b.count, a.count);
	for (int32_t i = 0; i < a.count && i < b.count; i++) {
		const carom_contact *ray = &a.data[i];
		if (ray->kind > CAROM_VERTEX_B)
			continue;
		// Sorted by the triangle of A first, the vertices of B may come in another order.
		const carom_contact *got = NULL;
		for (int32_t k = 0; k < b.count; k++) {
			const bool same =
				ray->kind == CAROM_VERTEX_A ? b.data[k].feature_a == ray->feature_a : b.data[k].feature_b == ray->feature_b;
			if (b.data[k].kind == ray->kind && same)
				got = &b.data[k];
		}
		REQUIRE(got != NULL);
		const int target = ray->kind == CAROM_VERTEX_A ? 1 : 0;
		const carom_vec3 p = { ray->point[0], ray->point[1], ray->point[2] };
		const double distance = surface_distance(meshes[target], carom_inverse_transform_point(poses[target], p));
		const double least = 0.02 * fmin(box_diagonal(meshes[0]), box_diagonal(meshes[1]));
		n->contacts++;
		// Within rounding of a bound both answers are right.
		if (fabs(ray->depth - ratio * distance) < 1e-5 || fabs(ray->depth - least) < 1e-5)
			continue;
		const bool replace = ray->depth > least && ray->depth > ratio * distance;
		n->replaced += replace;
		n->wrong += fabs(got->depth - (replace ? distance : ray->depth)) > 1e-5;
		if (!replace || distance < 1e-4)
			continue;
		// Moving out by depth * normal must lead to the surface: A moves, or B the other way.
		const double way = (target == 1 ? 1 : -1) * (double)got->depth;
		const carom_vec3 q = { p.x + way * got->normal[0], p.y + way * got->normal[1], p.z + way * got->normal[2] };
		n->wrong += surface_distance(meshes[target], carom_inverse_transform_point(poses[target], q)) > 1e-5;
	}
}

TEST(depth, long_rays_give_way_to_the_nearest_surface)
{
	static const double ratios[] = { 1, 2, 5 };
	carom_context *context = fixture_context(1);
	const carom_mesh *meshes[2] = { fixture_torus_mesh(context, 24, 12, 0.4, 0.3),
		fixture_torus_mesh(context, 16, 10, 0.3, 0.2) };
	uint64_t seed = 71;
	counts n = { 0 };
	for (int i = 0; i < 90; i++) {
		carom_world_def def = carom_default_world_def();
		def.max_contacts_per_pair = 0;
		fixture_lab(&def)->max_depth_ratio = 0;
		def.contact_normal = CAROM_NORMAL_RAY;
		carom_world *plain = fixture_world(context, &def);
		fixture_lab(&def)->max_depth_ratio = ratios[i % 3];
		carom_world *limited = fixture_world(context, &def);
		const carom_pose poses[2] = { fixture_random_pose(&seed, 0.3), fixture_random_pose(&seed, 0.9) };
		for (int k = 0; k < 2; k++) {
			fixture_add(plain, fixture_of_mesh(meshes[k]), poses[k], CAROM_DYNAMIC);
			fixture_add(limited, fixture_of_mesh(meshes[k]), poses[k], CAROM_DYNAMIC);
		}
		fixture_step(plain);
		fixture_step(limited);
		compare(plain, limited, meshes, poses, fixture_lab(&def)->max_depth_ratio, &n);
		carom_destroy_world(plain);
		carom_destroy_world(limited);
	}
	CHECK_INT(n.wrong, 0);
	CHECK(n.contacts > 500);
	CHECK(n.replaced > 50);
	carom_release_mesh((carom_mesh *)meshes[0]);
	carom_release_mesh((carom_mesh *)meshes[1]);
	carom_destroy_context(context);
}

TEST(depth, ratios_below_one_are_refused)
{
	carom_context *context = fixture_context(1);
	static const double bad[] = { -1, 0.5, NAN, INFINITY };
	for (int i = 0; i < 4; i++) {
		carom_world_def def = carom_default_world_def();
		fixture_lab(&def)->max_depth_ratio = bad[i];
		carom_world *world;
		CHECK_INT(carom_create_world(context, &def, &world), CAROM_INVALID_ARGUMENT);
		CHECK(strstr(carom_error_text(context), "max_depth_ratio") != NULL);
		CHECK(world == NULL);
	}
	carom_destroy_context(context);
}

/// A box sunk into flat ground: its corners and edges cast rays along each of their faces, and only the shortest, which is the one straight
/// up, becomes a contact.
TEST(depth, corners_of_a_box_take_the_shortest_way)
{
	carom_context *context = fixture_context(1);
	carom_mesh *ground = fixture_box_mesh(context, 6, 6, 1);
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	fixture_lab(&def)->max_depth_ratio = 0;
	def.contact_normal = CAROM_NORMAL_RAY;
	carom_world *world = fixture_world(context, &def);
	fixture_add(world, fixture_of_mesh(ground), fixture_at(0, 0, -1), CAROM_STATIC);
	fixture_add(world, fixture_box(0.5, 0.4, 0.3), fixture_at(0.3, 0.2, 0.25), CAROM_DYNAMIC);
	fixture_step(world);
	const carom_contact_view contacts = carom_world_contacts(world);
	CHECK_INT(contacts.count, 4); // the corners of the lower face
	for (int32_t i = 0; i < contacts.count; i++) {
		CHECK_NEAR(contacts.data[i].depth, 0.05, 1e-6);
		CHECK_NEAR(fabs(contacts.data[i].normal[2]), 1, 1e-6);
	}
	carom_destroy_world(world);
	carom_release_mesh(ground);
	carom_destroy_context(context);
}
