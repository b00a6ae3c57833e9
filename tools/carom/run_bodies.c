// The rigid bodies of `carom run`: recording.h5, and their part of table, summary and picture.
#include "devices.h"
#include "picture.h"
#include "report.h"
#include "run.h"
#include "run_picture.h"
#include "scene/interpenetration.h"
#include "view/renderer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct bodies {
	scene_step last;
	scene_summary summary;         // at the end
	scene_interpenetration inside; // at the end
} bodies;

// ---- Output ----

/// The fields of summary.json; the command's contract names those of the first block.
static cJSON *summarise(const run *r, const void *state)
{
	const bodies *b = state;
	const scene_summary *s = &b->summary;
	cJSON *json = cJSON_CreateObject();
	cJSON_AddNumberToObject(json, "bodies", s->bodies);
	cJSON_AddNumberToObject(json, "steps", (double)s->steps);
	cJSON_AddNumberToObject(json, "bodies_above_ground", s->bodies_above_ground);
	cJSON_AddNumberToObject(json, "deepest_penetration", s->deepest_penetration);
	cJSON_AddNumberToObject(json, "kinetic_energy_peak", s->kinetic_energy_peak);
	cJSON_AddNumberToObject(json, "kinetic_energy_final", s->kinetic_energy_final);
	cJSON *ms = cJSON_AddObjectToObject(json, "ms");
	cJSON_AddNumberToObject(ms, "total", s->ms_total);
	cJSON_AddNumberToObject(ms, "detection", s->ms_detection);
	cJSON_AddNumberToObject(ms, "response", s->ms_response);
	cJSON_AddNumberToObject(ms, "recording", s->ms_recording);
	report_add_hash(json, "hash", s->hash);

	cJSON_AddNumberToObject(json, "deepest_penetration_step", (double)s->deepest_penetration_step);
	cJSON_AddNumberToObject(json, "deepest_penetration_relative", s->deepest_penetration_relative);
	cJSON_AddNumberToObject(json, "deepest_penetration_relative_step", (double)s->deepest_penetration_relative_step);
	cJSON_AddNumberToObject(json, "final_penetration", s->final_penetration);
	cJSON_AddNumberToObject(json, "final_penetration_relative", s->final_penetration_relative);
	cJSON_AddNumberToObject(json, "ray_length", b->inside.ray_length);
	cJSON_AddNumberToObject(json, "rays_inside", (double)b->inside.rays_inside);
	cJSON_AddNumberToObject(json, "plane_depth", b->inside.plane_depth);
	cJSON_AddNumberToObject(json, "plane_vertices", (double)b->inside.plane_vertices);
	cJSON_AddNumberToObject(json, "kinetic_energy_peak_step", (double)s->kinetic_energy_peak_step);
	cJSON_AddNumberToObject(
		json, "kinetic_energy_relative", s->kinetic_energy_peak > 0 ? s->kinetic_energy_final / s->kinetic_energy_peak : 0);
	cJSON_AddStringToObject(json, "scene", r->scene.name);
	cJSON_AddNumberToObject(json, "other_bodies", s->others);
	cJSON_AddNumberToObject(json, "substeps", (double)s->substeps);
	cJSON_AddNumberToObject(json, "contacts_peak", s->contacts_peak);
	cJSON_AddNumberToObject(json, "colliding_pairs_peak", s->pairs_peak);
	cJSON_AddNumberToObject(json, "memory_peak", (double)s->memory_peak);
	run_add_machine(json, r);
	if (r->device && !r->scene.has_spheres) // which tell of it
		devices_add_json(json, r->device);
	return json;
}

static void print(const run *r, const void *state)
{
	const bodies *b = state;
	const scene_summary *s = &b->summary;
	const double steps = s->steps > 0 ? (double)s->steps : 1;
	printf("%s: %lld x %.4g s, moving bodies: %d, others: %d, threads: %d, %s\n", r->scene.name, (long long)s->steps,
		r->scene.time_step, s->bodies, s->others, carom_context_threads(r->parts.context),
		carom_simd_name(carom_context_simd(r->parts.context)));
	printf("  above the ground at the end  %d of %d\n", s->bodies_above_ground, s->bodies);
	printf("  kinetic energy               %.6g J at the end, %.6g J at its peak (step %lld)\n", s->kinetic_energy_final,
		s->kinetic_energy_peak, (long long)s->kinetic_energy_peak_step);
	printf("  deepest penetration          %.4g m (step %lld), %.2f %% of a body (step %lld); at the end %.4g m, %.2f %%\n",
		s->deepest_penetration, (long long)s->deepest_penetration_step, 100 * s->deepest_penetration_relative,
		(long long)s->deepest_penetration_relative_step, s->final_penetration, 100 * s->final_penetration_relative);
	printf("  interpenetration at the end  rays: %.4g m (%lld), below planes: %.4g m (%lld)\n", b->inside.ray_length,
		(long long)b->inside.rays_inside, b->inside.plane_depth, (long long)b->inside.plane_vertices);
	printf("  most in one step             %d colliding pairs, %d contacts\n", s->pairs_peak, s->contacts_peak);
	printf("  detections per step          %.2f\n", (double)s->substeps / steps);
	printf("  milliseconds per step        %.3f: detection %.3f, response %.3f, recording %.3f\n", s->ms_total / steps,
		s->ms_detection / steps, s->ms_response / steps, s->ms_recording / steps);
	printf("  hash                         %016llx\n", (unsigned long long)s->hash);
	if (r->device && !r->scene.has_spheres)
		devices_print(r->device);
}

// ---- Picture ----

static int draw_world(const run *r, const view_camera *camera, const view_look *looks, int32_t look_count, view_image *image)
{
	char caption[120];
	sim_error error;
	snprintf(caption, sizeof caption, "%.60s   %.2f s   %d bodies", r->scene.name, run_time(r),
		(int)scene_summarise(r->parts.simulation).bodies);
	view_picture_options options = run_picture_options(r);
	options.looks = looks;
	options.look_count = look_count;
	options.caption = caption;
	if (view_render_world(scene_simulation_world(r->parts.simulation), camera, &options, image, &error))
		return EXIT_DONE;
	return report_error(r->options->out, "last.png: %s", error.text);
}

/// Looks of the bodies that are there. The world is filled in the order of the scene, and the
/// numbers of the parts of a body follow its own. NULL when memory is short.
static view_look *make_looks(const run *r, int32_t *look_count)
{
	const scene_description *scene = &r->scene;
	const int32_t count = scene_simulation_body_count(r->parts.simulation);
	*look_count = 0;
	for (int32_t i = 0; i < count; i++)
		*look_count += scene_shape_count(&scene->rigid.bodies[i]);
	view_look *looks = calloc((size_t)*look_count + 1, sizeof *looks), *next = looks;
	for (int32_t i = 0; looks && i < count; i++) {
		const scene_body *body = &scene->rigid.bodies[i];
		for (int32_t k = 0; k < scene_shape_count(body); k++)
			*next++ = picture_scene_look(scene, i, k, (int)i);
	}
	return looks;
}

static int draw(run *r, void *state, view_image *image)
{
	(void)state;
	int32_t look_count;
	view_look *looks = make_looks(r, &look_count);
	if (!looks)
		return report_error(NULL, "out of memory");
	const view_camera camera = run_camera(r);
	const int status = draw_world(r, &camera, looks, look_count, image);
	free(looks);
	return status;
}

// ---- The run ----

static int prepare(run *r, void *state)
{
	(void)state;
	sim_error error;
	char path[IO_PATH_MAX];
	// Each rank has all bodies; the first one writes what they do.
	const bool recorded = r->options->out && run_is_first(r);
	if (recorded)
		run_out_path(r->options, "recording.h5", path);
	return scene_run_add_bodies(&r->parts, recorded ? path : NULL, &error) ? EXIT_DONE : report_error(NULL, "%s", error.text);
}

static int step(run *r, void *state)
{
	bodies *b = state;
	sim_error error;
	if (scene_simulate_step(r->parts.simulation, &b->last, &error))
		return EXIT_DONE;
	// The recording is written in the step: its message begins with its path.
	r->file_failed = r->options->out && !strncmp(error.text, r->options->out, strlen(r->options->out));
	return report_error(NULL, "%s", error.text);
}

static void write_row(run *r, void *state, FILE *table)
{
	(void)r;
	const bodies *b = state;
	scene_write_step(table, &b->last);
}

static int end(run *r, void *state)
{
	bodies *b = state;
	sim_error error;
	if (!scene_finish_recording(r->parts.simulation, &error) ||
		(run_is_first(r) && !scene_measure_interpenetration(r->parts.simulation, &b->inside, &error)))
		return report_error(NULL, "%s", error.text);
	b->summary = scene_summarise(r->parts.simulation);
	return EXIT_DONE;
}

static uint64_t hash(const run *r, const void *state)
{
	(void)r;
	return ((const bodies *)state)->summary.hash;
}

const run_part_kind run_bodies_kind = {
	.section = "bodies",
	.state_size = sizeof(bodies),
	.prepare = prepare,
	.write_names = scene_write_step_names,
	.step = step,
	.write_row = write_row,
	.end = end,
	.draw = draw,
	.summarise = summarise,
	.print = print,
	.hash = hash,
};
