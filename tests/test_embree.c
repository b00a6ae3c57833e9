// The Embree plug-in by itself, against every triangle in double.

#include "test.h"

#include "carom/lab.h"
#include "math/vec.h"
#include "sim/shapes/shapes.h"

#include <string.h>

#ifdef CAROM_HAVE_EMBREE
#include "plugins/embree.h"

enum { RAYS = 4096 };

typedef struct ray_arrays {
	float origin[3][RAYS];
	float direction[3][RAYS];
	float t_max[RAYS];
	int32_t triangle[RAYS];
	float t[RAYS];
	uint8_t back_face[RAYS];
} ray_arrays;

static const carom_ray_plugin *make_plugin(void)
{
	const carom_ray_plugin *plugin = carom_create_embree_plugin();
	REQUIRE(plugin != NULL);
	CHECK_STR(plugin->name, "embree");
	return plugin;
}

static void cast(const carom_ray_plugin *plugin, void *state, ray_arrays *r)
{
	const carom_ray_batch rays = { RAYS, { r->origin[0], r->origin[1], r->origin[2] },
		{ r->direction[0], r->direction[1], r->direction[2] }, r->t_max };
	const carom_hit_batch hits = { r->triangle, r->t, r->back_face };
	plugin->cast(state, &rays, &hits, plugin->user);
}

/// Rays from anywhere in and around the unit mesh, of any length; every third ends early.
static void fill_rays(ray_arrays *r, uint64_t *state)
{
	for (int i = 0; i < RAYS; i++) {
		const double scale = test_random_double(state, 0.01, 3);
		for (int k = 0; k < 3; k++) {
			r->origin[k][i] = (float)test_random_double(state, -1, 1);
			r->direction[k][i] = (float)(scale * test_random_double(state, -1, 1));
		}
		r->t_max[i] = i % 3 ? INFINITY : (float)test_random_double(state, 0, 0.5);
	}
}

/// Nearest hit by every triangle in double (Moeller and Trumbore 1997). clear: no triangle is grazed within 1e-5, no end of the ray
/// lies that near to a surface, and no second triangle is as near: only then must all agree.
typedef struct reference_hit {
	int32_t triangle;
	double t;
	bool back;
	bool clear;
} reference_hit;

static reference_hit reference_cast(const sim_mesh *mesh, v3d origin, v3d direction, double t_max)
{
	reference_hit best = { -1, INFINITY, false, true };
	const double margin = 1e-5;
	for (int32_t i = 0; i < mesh->triangle_count; i++) {
		const int32_t *t = &mesh->triangles[3 * i];
		const v3d a = v3d_from_floats(&mesh->vertices[3 * t[0]]);
		const v3d e1 = v3d_sub(v3d_from_floats(&mesh->vertices[3 * t[1]]), a),
				  e2 = v3d_sub(v3d_from_floats(&mesh->vertices[3 * t[2]]), a);
		const v3d p = v3d_cross(direction, e2), s = v3d_sub(origin, a), q = v3d_cross(s, e1);
		const double det = v3d_dot(e1, p), u = v3d_dot(s, p) / det, v = v3d_dot(direction, q) / det, w = v3d_dot(e2, q) / det;
		const double inside = fmin(fmin(u, v), 1 - u - v);
		if (!(fabs(inside) > margin)) {
			best.clear = best.clear && fabs(inside) > 0 && !(w > -margin && w < fmin(best.t, t_max) + margin);
		}
		if (!(inside > 0)) {
			continue;
		}
		best.clear = best.clear && fabs(w) > margin && fabs(w - t_max) > margin && fabs(w - best.t) > margin;
		if (w >= 0 && w <= t_max && w < best.t) {
			best.triangle = i;
			best.t = w;
			best.back = v3d_dot(direction, v3d_cross(e1, e2)) > 0;
		}
	}
	return best;
}

static int check_rays(const sim_mesh *mesh, const int32_t *number, const ray_arrays *r)
{
	int compared = 0;
	for (int i = 0; i < RAYS; i++) {
		const v3d origin = v3d_make(r->origin[0][i], r->origin[1][i], r->origin[2][i]);
		const v3d direction = v3d_make(r->direction[0][i], r->direction[1][i], r->direction[2][i]);
		const reference_hit hit = reference_cast(mesh, origin, direction, r->t_max[i]);
		if (!hit.clear) {
			continue;
		}
		compared++;
		CHECK_INT(r->triangle[i], hit.triangle < 0 ? -1 : number[hit.triangle]);
		if (hit.triangle >= 0 && r->triangle[i] >= 0) {
			CHECK_NEAR(r->t[i], hit.t, 1e-4 * hit.t + 1e-6 / v3d_length(direction));
			CHECK_INT(r->back_face[i], hit.back);
		}
	}
	return compared;
}
#endif

TEST(embree, nearest_hits_of_a_mesh)
{
#ifdef CAROM_HAVE_EMBREE
	const carom_ray_plugin *plugin = make_plugin();
	sim_mesh mesh;
	sim_error error = { "" };
	REQUIRE(sim_make_shape("lumpy", 902, 1, &mesh, &error));
	int32_t number[902];
	for (int32_t i = 0; i < 902; i++) {
		number[i] = 5000 - 3 * i; // what is reported is the given number, not Embree's
	}
	void *state = plugin->build(mesh.vertices, mesh.vertex_count, mesh.triangles, number, mesh.triangle_count, plugin->user);
	REQUIRE(state != NULL);
	static ray_arrays rays;
	uint64_t random = 7;
	fill_rays(&rays, &random);
	cast(plugin, state, &rays);
	CHECK(check_rays(&mesh, number, &rays) > RAYS * 9 / 10);
	plugin->destroy(state, plugin->user);
	sim_mesh_free(&mesh);
	carom_destroy_embree_plugin(plugin);
#else
	test_skip("built without Embree (Debian: libembree-dev)");
#endif
}

TEST(embree, mesh_without_triangles)
{
#ifdef CAROM_HAVE_EMBREE
	const carom_ray_plugin *plugin = make_plugin();
	void *state = plugin->build(NULL, 0, NULL, NULL, 0, plugin->user);
	REQUIRE(state != NULL);
	static ray_arrays rays;
	uint64_t random = 8;
	fill_rays(&rays, &random);
	memset(rays.triangle, 0, sizeof rays.triangle);
	cast(plugin, state, &rays);
	for (int i = 0; i < RAYS; i++) {
		CHECK_INT(rays.triangle[i], -1);
		CHECK_INT(rays.back_face[i], 0);
	}
	plugin->destroy(state, plugin->user);
	carom_destroy_embree_plugin(plugin);
	carom_destroy_embree_plugin(NULL);
#else
	test_skip("built without Embree (Debian: libembree-dev)");
#endif
}

// Two plug-ins at once share nothing; each outlives the other's meshes.
TEST(embree, two_plugins)
{
#ifdef CAROM_HAVE_EMBREE
	const carom_ray_plugin *first = make_plugin(), *second = make_plugin();
	static const float vertices[9] = { 0, 0, 0, 1, 0, 0, 0, 1, 0 };
	static const int32_t triangle[3] = { 0, 1, 2 }, number[1] = { 42 };
	void *a = first->build(vertices, 3, triangle, number, 1, first->user);
	void *b = second->build(vertices, 3, triangle, number, 1, second->user);
	REQUIRE(a != NULL && b != NULL);
	first->destroy(a, first->user);
	carom_destroy_embree_plugin(first);
	static ray_arrays rays;
	for (int i = 0; i < RAYS; i++) { // one ray from above, one from below, one that ends before, one beside
		rays.origin[0][i] = i % 4 == 3 ? 0.75f : 0.25f;
		rays.origin[1][i] = i % 4 == 3 ? 0.75f : 0.25f;
		rays.origin[2][i] = i % 4 == 1 ? -1 : 1;
		rays.direction[0][i] = rays.direction[1][i] = 0;
		rays.direction[2][i] = i % 4 == 1 ? 2 : -2;
		rays.t_max[i] = i % 4 == 2 ? 0.499f : INFINITY;
	}
	cast(second, b, &rays);
	for (int i = 0; i < 4; i++) {
		CHECK_INT(rays.triangle[i], i < 2 ? 42 : -1);
		CHECK_INT(rays.back_face[i], i == 1); // from below, along the normal
	}
	CHECK_NEAR(rays.t[0], 0.5, 1e-6);
	second->destroy(b, second->user);
	carom_destroy_embree_plugin(second);
#else
	test_skip("built without Embree (Debian: libembree-dev)");
#endif
}
