// Meshes of scenes that are kept, and memory that fails while they are made and copied.
#include "failing_memory.h"
#include "test.h"

#include "scene/scene.h"

#include <string.h>

static const char TEXT[] =
	"{\"meshes\": {\"a\": {\"shape\": \"lumpy\", \"triangles\": 64, \"fit\": [1, 2, 3]},"
	"\"b\": {\"shape\": \"box\", \"triangles\": 12, \"centre\": true, \"scale\": 0.3}}, \"bodies\": {\"planes\": [{}]}}";

static bool same_mesh(const sim_mesh *a, const sim_mesh *b)
{
	return a->vertex_count == b->vertex_count && a->triangle_count == b->triangle_count && a->sides == b->sides &&
		memcmp(a->vertices, b->vertices, 12 * (size_t)a->vertex_count) == 0 &&
		memcmp(a->triangles, b->triangles, 12 * (size_t)a->triangle_count) == 0 && !a->doubles == !b->doubles;
}

TEST(scene_memory, kept_shapes_are_those_that_are_made)
{
	scene_description scene;
	sim_error error;
	sim_mesh made[2], kept;
	REQUIRE(scene_parse("x.json", TEXT, strlen(TEXT), &scene, &error));
	REQUIRE(scene.mesh_count == 2);
	for (int i = 0; i < 2; i++)
		REQUIRE(scene_build_mesh(&scene, i, &made[i], &error));
	for (int round = 0; round < 2; round++) {
		REQUIRE(scene_keep_shapes(&scene, &error));
		for (int i = 0; i < 2; i++) {
			CHECK(scene.meshes[i].kept != NULL);
			REQUIRE(scene_build_mesh(&scene, i, &kept, &error));
			CHECK(same_mesh(&made[i], &kept));
			sim_mesh_free(&kept);
		}
	}
	sim_mesh_free(&made[0]);
	sim_mesh_free(&made[1]);
	scene_destroy(&scene);
}

/// Make, keep and copy all meshes of a scene.
static bool build_kept(void *user)
{
	scene_description *scene = user;
	sim_error error;
	bool done = scene_keep_shapes(scene, &error);
	for (int i = 0; i < scene->mesh_count && done; i++) {
		sim_mesh mesh;
		done = scene_build_mesh(scene, i, &mesh, &error);
		if (done)
			sim_mesh_free(&mesh);
	}
	if (!done)
		CHECK(strstr(error.text, "out of memory") != NULL);
	return done;
}

static void forget(bool done, void *user)
{
	scene_description *scene = user;
	(void)done;
	scene_destroy(scene);
	CHECK(scene_parse("x.json", TEXT, strlen(TEXT), scene, NULL));
}

TEST(scene_memory, a_kept_mesh_is_whole_where_any_allocation_fails)
{
	scene_description scene;
	REQUIRE(scene_parse("x.json", TEXT, strlen(TEXT), &scene, NULL));
	CHECK(failing_memory_each(1, build_kept, forget, &scene) > 12);
	scene_destroy(&scene);
}
