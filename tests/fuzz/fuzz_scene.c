// Scene files: whatever a parser accepts and is small enough must run for some steps.
#include "fuzz.h"

#include "scene/granular_fill.h"
#include "scene/granular_scene.h"
#include "scene/scene.h"
#include "scene/simulation.h"
#include "scene/soft_scene.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 3 };

static carom_context *the_context(void)
{
	static carom_context *context;
	if (!context)
		context = fuzz_context(CAROM_SIMD_AUTO);
	return context;
}

// A text that ends with a zero, and memory that must be given back.
typedef struct text {
	char *bytes;
	size_t size, memory;
	sim_error error;
} text;

static text open_text(const uint8_t *data, size_t size)
{
	text t = { .bytes = malloc(size + 1), .size = size, .memory = carom_memory_in_use(the_context()) };
	FUZZ_REQUIRE(t.bytes, "out of memory");
	memcpy(t.bytes, data, size);
	t.bytes[size] = '\0';
	return t;
}

static void close_text(text *t)
{
	free(t->bytes);
	FUZZ_REQUIRE(
		carom_memory_in_use(the_context()) == t->memory, "%zu and %zu bytes", carom_memory_in_use(the_context()), t->memory);
}

// Meshes that are small, and none from files.
static bool meshes_are_small(const sim_scene *scene, int32_t triangles)
{
	for (int32_t i = 0; i < scene->mesh_count; i++) {
		const sim_mesh_source *m = &scene->meshes[i];
		if (m->file || m->triangles > triangles || (int64_t)m->columns * m->rows > 400)
			return false;
	}
	return true;
}

// ---- Bodies ----

FUZZ(scene_bodies)
{
	text t = open_text(data, size);
	sim_scene scene;
	bool sound = false;
	if (!sim_is_granular_scene(t.bytes, size) && !sim_is_soft_scene(t.bytes, size)) {
		sound = sim_parse_scene("s.json", t.bytes, size, &scene, &t.error);
		FUZZ_REQUIRE(sound || t.error.text[0], "a failure without a word");
		const bool small = sound && scene.body_count <= 10 && (double)scene.max_substeps * scene.solver.iterations <= 400 &&
			meshes_are_small(&scene, 400);
		sim_simulation *simulation = small ? sim_create_simulation(the_context(), &scene, NULL, &t.error) : NULL;
		for (int i = 0; simulation && i < STEPS; i++)
			if (!sim_simulate_step(simulation, NULL, &t.error))
				break;
		sim_destroy_simulation(simulation);
		sim_destroy_scene(&scene);
	}
	close_text(&t);
	return sound;
}

// ---- Spheres ----

static void run_spheres(const sim_granular_scene *scene, text *t)
{
	int64_t wanted = 0;
	for (int32_t i = 0; i < scene->source_count; i++) {
		const sim_sphere_source *s = &scene->sources[i];
		if (s->kind != SIM_SPHERES_RANDOM || s->count > 200)
			return;
		wanted += s->count * s->copies;
	}
	sim_granular_filling filling;
	if (wanted > 500 || !sim_fill_granular_scene(the_context(), scene, &filling, &t->error))
		return;
	const sim_granular_def def = sim_filled_def(scene, &filling);
	sim_granular *granular = sim_create_granular(the_context(), &def, &t->error);
	for (int i = 0; granular && i < STEPS; i++)
		if (!sim_granular_advance(granular, NULL, &t->error))
			break;
	sim_destroy_granular(granular);
	sim_destroy_filling(&filling);
}

FUZZ(scene_spheres)
{
	text t = open_text(data, size);
	sim_granular_scene scene;
	const bool sound = sim_parse_granular_scene("s.json", t.bytes, size, &scene, &t.error);
	FUZZ_REQUIRE(sound || t.error.text[0], "a failure without a word");
	if (sound)
		run_spheres(&scene, &t);
	sim_destroy_granular_scene(&scene);
	close_text(&t);
	return sound;
}

// ---- Cloth ----

static bool cloth_is_small(const sim_soft_scene *scene)
{
	if (scene->source_count > 4 || scene->def.substeps > 20 || scene->def.rounds > 12 || scene->def.solves > 3 ||
		scene->resolution > 2 || !meshes_are_small(&scene->base, 200))
		return false;
	for (int32_t i = 0; i < scene->source_count; i++) {
		const sim_soft_source *s = &scene->sources[i];
		if (s->form.divisions[0] > 8 || s->form.divisions[1] > 8 || s->form.count > 40 ||
			(int64_t)s->count[0] * s->count[1] * s->count[2] > 3)
			return false;
	}
	return true;
}

FUZZ(scene_cloth)
{
	text t = open_text(data, size);
	sim_soft_scene scene;
	const bool sound = sim_parse_soft_scene("s.json", t.bytes, size, &scene, &t.error);
	FUZZ_REQUIRE(sound || t.error.text[0], "a failure without a word");
	sim_soft *soft = sound && cloth_is_small(&scene) ? sim_start_soft_scene(the_context(), &scene, &t.error) : NULL;
	sim_soft_step step;
	for (int i = 0; soft && i < STEPS; i++)
		if (!sim_soft_advance(soft, &step, &t.error))
			break;
	sim_destroy_soft(soft);
	sim_destroy_soft_scene(&scene);
	close_text(&t);
	return sound;
}
