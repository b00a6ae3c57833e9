/// The second scene of Lehericey, Gouranton and Arnaldi (2015) in small: sheets fall on rigid bodies that lie on irregular ground, and
/// both sides push each other. The full scene has 216 bodies and 36 sheets.
#include "test.h"

#include "scene/scene_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BODIES = TEST_FEWER > 1 ? 4 : 12, SHEETS = 4, STEPS = TEST_FEWER > 1 ? 70 : 110 };

// Metres: of the sheets at the start.
static const double HEIGHT = 6;

static void load_in_small(scene_description *scene)
{
	char path[500];
	sim_error error = { "" };
	snprintf(path, sizeof path, "%s/terrain_sheets.json", CAROM_SCENES);
	const bool loaded = scene_load(path, scene, &error);
	CHECK_STR(error.text, "");
	REQUIRE(loaded);
	// The ground, then the bodies in rows.
	CHECK_INT(scene->rigid.body_count, 217);
	CHECK_INT(scene->deforming.obstacle_count, 217);
	scene->rigid.body_count = scene->deforming.obstacle_count = 1 + BODIES;
	CHECK_INT(scene->deforming.source_count, 1);
	int32_t *count = scene->deforming.sources[0].count;
	CHECK_INT(count[0] * count[1] * count[2], 36);
	CHECK_INT(2 * scene->deforming.sources[0].form.divisions[0] * scene->deforming.sources[0].form.divisions[1], 8192);
	count[0] = count[2] = 2;
	count[1] = 1;
	scene->deforming.sources[0].body.motion.start.position.y = HEIGHT; // nearer than in the scene: they meet sooner
	scene->deforming.resolution *= 0.125;
	for (int32_t i = 0; i < scene->mesh_count; i++) {
		if (scene->meshes[i].kind == SCENE_MESH_SHAPE)
			scene->meshes[i].triangles = 300;
	}
}

/// The middle of a body of the surface.
static carom_vec3 middle_of(const sim_soft_surface *surface, int32_t body)
{
	carom_vec3 sum = { 0, 0, 0 };
	const int32_t first = surface->body_vertices[body], end = surface->body_vertices[body + 1];
	for (int32_t i = first; i < end; i++) {
		sum.x += surface->places[3 * (int64_t)i] / (end - first);
		sum.y += surface->places[3 * (int64_t)i + 1] / (end - first);
		sum.z += surface->places[3 * (int64_t)i + 2] / (end - first);
	}
	return sum;
}

// In every step no triangle of a sheet crosses a body, the ground, another sheet or itself. Nothing falls through: sheets end more than
// a body's half height above where they would be in free fall, and every body is above the ground.
TEST(sheets_on_bodies, lie_on_them_without_a_crossing)
{
	scene_description scene;
	sim_error error = { "" };
	load_in_small(&scene);
	scene_run run = { .scene = &scene };
	REQUIRE(carom_create_context(NULL, &run.context) == CAROM_SUCCESS);
	const bool made = scene_run_add_all(&run, NULL, NULL, &error);
	CHECK_STR(error.text, "");
	REQUIRE(made);
	const sim_soft_surface surface = sim_soft_get_surface(run.soft);
	double longest = 0;
	int64_t impacts = 0;
	for (int step = 0; step < STEPS; step++) {
		scene_run_step done = { 0 };
		int32_t crossings = -1;
		const bool stepped = scene_run_step_all(&run, &done, &error);
		CHECK_STR(error.text, "");
		REQUIRE(stepped);
		REQUIRE(sim_soft_count_crossings(run.soft, &crossings));
		CHECK_INT(crossings, 0);
		longest = fmax(longest, done.deforming.stretch_worst);
		impacts += done.deforming.impacts;
	}
	const double time = STEPS / 60.0, fallen = HEIGHT - 0.5 * 9.81 * time * time;
	int above = 0;
	for (int32_t i = 0; i < SHEETS; i++)
		above += middle_of(&surface, i).y > fmax(fallen + 0.5, -4);
	printf("%d of %d bodies above the ground, %d of %d sheets; %lld impacts, longest edge %.2f %%\n",
		(int)scene_summarise(run.simulation).bodies_above_ground, BODIES, above, SHEETS, (long long)impacts, 100 * longest);
	CHECK_INT(scene_summarise(run.simulation).bodies_above_ground, BODIES);
	if (TEST_FEWER == 1)
		CHECK_INT(above, SHEETS);
	CHECK(impacts > 1000 / TEST_FEWER);
	CHECK(longest <= 0.06);
	scene_run_end(&run);
	carom_destroy_context(run.context);
	scene_destroy(&scene);
}
