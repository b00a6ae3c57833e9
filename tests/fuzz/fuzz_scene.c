// Scene files: whatever is accepted and is small enough must run for some steps, each section by itself.
#include "fuzz.h"

#include "scene/granular_fill.h"
#include "scene/scene.h"
#include "scene/simulation.h"
#include "scene/soft_fill.h"

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
static bool meshes_are_small(const scene_description *scene, int32_t triangles)
{
	for (int32_t i = 0; i < scene->mesh_count; i++) {
		const scene_mesh_source *m = &scene->meshes[i];
		if (m->file || m->triangles > triangles || (int64_t)m->columns * m->rows > 400)
			return false;
	}
	return true;
}

static void run_bodies(const scene_description *scene, text *t)
{
	const scene_rigid *rigid = &scene->rigid;
	if (!scene->has_bodies || rigid->body_count > 10 || (double)rigid->max_substeps * rigid->solver.iterations > 400)
		return;
	scene_simulation *simulation = scene_create_simulation(the_context(), scene, NULL, &t->error);
	for (int i = 0; simulation && i < STEPS; i++)
		if (!scene_simulate_step(simulation, NULL, &t->error))
			break;
	scene_destroy_simulation(simulation);
}

static bool spheres_are_few(const scene_spheres *spheres)
{
	int64_t wanted = 0;
	for (int32_t i = 0; i < spheres->source_count; i++) {
		const scene_sphere_source *s = &spheres->sources[i];
		if (s->kind != SCENE_SPHERES_RANDOM || s->count > 200)
			return false;
		wanted += s->count * s->copies;
	}
	return wanted <= 500;
}

static void run_spheres(const scene_description *scene, text *t)
{
	scene_granular_filling filling;
	if (!scene->has_spheres || !spheres_are_few(&scene->spheres) ||
		!scene_fill_spheres(the_context(), scene, &filling, &t->error))
		return;
	const sim_granular_def def = scene_filled_def(scene, &filling);
	sim_granular *granular = sim_create_granular(the_context(), &def, &t->error);
	for (int i = 0; granular && i < STEPS; i++)
		if (!sim_granular_advance(granular, NULL, &t->error))
			break;
	sim_destroy_granular(granular);
	scene_destroy_filling(&filling);
}

static bool surfaces_are_small(const scene_description *scene)
{
	const scene_deforming *deforming = &scene->deforming;
	if (deforming->source_count > 4 || deforming->def.substeps > 20 || deforming->def.rounds > 12 ||
		deforming->def.solves > 3 || deforming->resolution > 2 || !meshes_are_small(scene, 200))
		return false;
	for (int32_t i = 0; i < deforming->source_count; i++) {
		const scene_soft_source *s = &deforming->sources[i];
		if (s->form.divisions[0] > 8 || s->form.divisions[1] > 8 || s->form.count > 40 ||
			(int64_t)s->count[0] * s->count[1] * s->count[2] > 3)
			return false;
	}
	return true;
}

static void run_deforming(const scene_description *scene, text *t)
{
	sim_soft_step step;
	if (!scene->has_deforming || !surfaces_are_small(scene))
		return;
	sim_soft *soft = scene_start_deforming(the_context(), scene, &t->error);
	for (int i = 0; soft && i < STEPS; i++)
		if (!sim_soft_advance(soft, &step, &t->error))
			break;
	sim_destroy_soft(soft);
}

FUZZ(scene)
{
	text t = open_text(data, size);
	scene_description scene, recorded;
	const bool sound = scene_parse("s.json", t.bytes, size, &scene, &t.error);
	FUZZ_REQUIRE(sound || t.error.text[0], "a failure without a word");
	if (sound && meshes_are_small(&scene, 400)) {
		run_bodies(&scene, &t);
		run_deforming(&scene, &t);
		run_spheres(&scene, &t);
	}
	FUZZ_REQUIRE(scene_parse_recorded("r.h5", t.bytes, size, &recorded, &t.error) || !sound, "%s", t.error.text);
	scene_destroy(&recorded);
	scene_destroy(&scene);
	close_text(&t);
	return sound;
}
