// `carom run` of a scene of bodies. The folder of --out gets stats.csv (a row for each step), summary.json, recording.h5 and
// last.png.
#include "progress.h"
#include "report.h"
#include "run.h"
#include "scene/interpenetration.h"
#include "view/renderer.h"
#include "scene/simulation.h"

#include <math.h>
#include <stdlib.h>

typedef struct run {
	run_options options;
	sim_scene scene;
	carom_context *context;
	sim_simulation *simulation;
	sim_output_file stats;
	sim_interpenetration inside; // at the end
} run;

// ---- Output ----

/// The fields of summary.json; the command's contract names those of the first block.
static cJSON *summary_json(const run *r, const sim_summary *s)
{
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
	cJSON_AddNumberToObject(json, "ray_length", r->inside.ray_length);
	cJSON_AddNumberToObject(json, "rays_inside", (double)r->inside.rays_inside);
	cJSON_AddNumberToObject(json, "plane_depth", r->inside.plane_depth);
	cJSON_AddNumberToObject(json, "plane_vertices", (double)r->inside.plane_vertices);
	cJSON_AddNumberToObject(json, "kinetic_energy_peak_step", (double)s->kinetic_energy_peak_step);
	cJSON_AddNumberToObject(
		json, "kinetic_energy_relative", s->kinetic_energy_peak > 0 ? s->kinetic_energy_final / s->kinetic_energy_peak : 0);
	cJSON_AddStringToObject(json, "scene", r->scene.name);
	cJSON_AddNumberToObject(json, "other_bodies", s->others);
	cJSON_AddNumberToObject(json, "substeps", (double)s->substeps);
	cJSON_AddNumberToObject(json, "contacts_peak", s->contacts_peak);
	cJSON_AddNumberToObject(json, "colliding_pairs_peak", s->pairs_peak);
	cJSON_AddNumberToObject(json, "memory_peak", (double)s->memory_peak);
	cJSON_AddNumberToObject(json, "threads", carom_context_threads(r->context));
	cJSON_AddStringToObject(json, "simd", carom_simd_name(carom_context_simd(r->context)));
	return json;
}

static int print_text(const run *r, const sim_summary *s)
{
	const double steps = s->steps > 0 ? (double)s->steps : 1;
	printf("%s: %lld x %.4g s, moving bodies: %d, others: %d, threads: %d, %s\n", r->scene.name, (long long)s->steps,
		r->scene.time_step, s->bodies, s->others, carom_context_threads(r->context),
		carom_simd_name(carom_context_simd(r->context)));
	printf("  above the ground at the end  %d of %d\n", s->bodies_above_ground, s->bodies);
	printf("  kinetic energy               %.6g J at the end, %.6g J at its peak (step %lld)\n", s->kinetic_energy_final,
		s->kinetic_energy_peak, (long long)s->kinetic_energy_peak_step);
	printf("  deepest penetration          %.4g m (step %lld), %.2f %% of a body (step %lld); at the end %.4g m, %.2f %%\n",
		s->deepest_penetration, (long long)s->deepest_penetration_step, 100 * s->deepest_penetration_relative,
		(long long)s->deepest_penetration_relative_step, s->final_penetration, 100 * s->final_penetration_relative);
	printf("  interpenetration at the end  rays: %.4g m (%lld), below planes: %.4g m (%lld)\n", r->inside.ray_length,
		(long long)r->inside.rays_inside, r->inside.plane_depth, (long long)r->inside.plane_vertices);
	printf("  most in one step             %d colliding pairs, %d contacts\n", s->pairs_peak, s->contacts_peak);
	printf("  detections per step          %.2f\n", (double)s->substeps / steps);
	printf("  milliseconds per step        %.3f: detection %.3f, response %.3f, recording %.3f\n", s->ms_total / steps,
		s->ms_detection / steps, s->ms_response / steps, s->ms_recording / steps);
	printf("  hash                         %016llx\n", (unsigned long long)s->hash);
	return report_end_of_text();
}

// ---- Picture ----

static carom_vec3 up_of(const sim_scene *scene)
{
	const carom_vec3 g = scene->gravity;
	if (g.x == 0 && g.y == 0 && g.z == 0)
		return (carom_vec3){ 0, 1, 0 };
	return (carom_vec3){ -g.x, -g.y, -g.z };
}

/// The scene's camera, or one that sees all that moves (all that there is when nothing does).
static sim_camera choose_camera(const run *r, carom_body_id *ids)
{
	const sim_scene_camera *given = &r->scene.camera;
	if (given->given)
		return (sim_camera){ given->position, given->target, given->up, given->field_of_view };
	const carom_world *world = sim_simulation_world(r->simulation);
	const carom_body_id *all = sim_simulation_ids(r->simulation);
	int count = 0;
	const int32_t body_count = sim_simulation_body_count(r->simulation);
	for (int32_t i = 0; i < body_count; i++) {
		if (r->scene.bodies[i].kind != CAROM_STATIC)
			ids[count++] = all[i];
	}
	carom_aabb box;
	if (!sim_bounds_of_bodies(world, ids, count, &box) && !sim_bounds_of_bodies(world, all, body_count, &box))
		box = (carom_aabb){ { -1, -1, -1 }, { 1, 1, 1 } };
	return sim_frame_box(&box, up_of(&r->scene), (double)given->width / (double)given->height);
}

static int draw(const run *r, const sim_camera *camera, const sim_look *looks, int32_t look_count)
{
	char caption[120];
	sim_error error;
	const sim_summary summary = sim_summarise(r->simulation);
	snprintf(caption, sizeof caption, "%.60s   %.2f s   %d bodies", r->scene.name, (double)summary.steps * r->scene.time_step,
		(int)summary.bodies);
	sim_picture_options options = sim_default_picture_options();
	options.width = r->scene.camera.width;
	options.height = r->scene.camera.height;
	options.threads = (int)r->options.threads;
	options.looks = looks;
	options.look_count = look_count;
	options.caption = caption;
	sim_image image;
	if (!sim_render_world(sim_simulation_world(r->simulation), camera, &options, &image, &error))
		return report_error(r->options.out, "last.png: %s", error.text);
	return run_write_picture(&r->options, "last.png", &image);
}

/// Looks of the bodies that are there. The world is filled in the order of the scene, and the numbers of the parts of a body
/// follow its own. NULL when memory is short.
static sim_look *make_looks(const run *r, int32_t *look_count)
{
	const sim_scene *scene = &r->scene;
	const int32_t count = sim_simulation_body_count(r->simulation);
	*look_count = 0;
	for (int32_t i = 0; i < count; i++)
		*look_count += sim_scene_shape_count(&scene->bodies[i]);
	sim_look *looks = calloc((size_t)*look_count + 1, sizeof *looks), *next = looks;
	for (int32_t i = 0; looks && i < count; i++) {
		const sim_scene_body *body = &scene->bodies[i];
		for (int32_t k = 0; k < sim_scene_shape_count(body); k++)
			*next++ = sim_make_look(sim_scene_shape_of(scene, body, k)->type, body->kind, (int)i);
	}
	return looks;
}

static int write_picture(const run *r)
{
	int32_t look_count;
	sim_look *looks = make_looks(r, &look_count);
	carom_body_id *ids = calloc((size_t)r->scene.body_count, sizeof *ids);
	int status;
	if (looks && ids) {
		const sim_camera camera = choose_camera(r, ids);
		status = draw(r, &camera, looks, look_count);
	} else {
		status = report_error(NULL, "out of memory");
	}
	free(looks);
	free(ids);
	return status;
}

// ---- The run ----

static int prepare(void *run_record)
{
	run *r = run_record;
	sim_error error;
	const run_options *o = &r->options;
	if (!sim_parse_scene(o->scene, o->text, o->text_size, &r->scene, &error))
		return report_error(NULL, "%s", error.text);
	if (run_replace_meshes(o, &r->scene) != EXIT_DONE) {
		return EXIT_FAILED;
	}
	if (o->steps > 0)
		r->scene.steps = o->steps;
	r->scene.record_contacts |= o->contacts;
	r->context = report_create_context(o->threads, o->simd);
	if (!r->context || run_open_folder(o) != EXIT_DONE)
		return EXIT_FAILED;
	char path[SIM_PATH_MAX];
	if (o->out)
		run_out_path(&r->options, "recording.h5", path);
	r->simulation = sim_create_simulation(r->context, &r->scene, o->out ? path : NULL, &error);
	if (!r->simulation)
		return report_error(NULL, "%s", error.text);
	if (!o->out)
		return EXIT_DONE;
	run_out_path(&r->options, "stats.csv", path);
	const int status = report_open(&r->stats, path);
	if (status == EXIT_DONE)
		sim_write_step_names(r->stats.stream);
	return status;
}

static int simulate(void *run_record)
{
	run *r = run_record;
	sim_error error;
	progress bar;
	bool done = true;
	progress_start(&bar, "run", r->scene.steps);
	for (int64_t i = 0; i < r->scene.steps && done && !run_interrupted(); i++) {
		sim_step step;
		done = sim_simulate_step(r->simulation, &step, &error);
		if (done && r->stats.stream)
			sim_write_step(r->stats.stream, &step);
		progress_update(&bar, i + 1);
	}
	progress_finish(&bar);
	return done ? EXIT_DONE : report_error(NULL, "%s", error.text);
}

static int finish(void *run_record)
{
	run *r = run_record;
	sim_error error;
	if (!sim_finish_recording(r->simulation, &error) || !sim_measure_interpenetration(r->simulation, &r->inside, &error))
		return report_error(NULL, "%s", error.text);
	const sim_summary summary = sim_summarise(r->simulation);
	if (r->options.out &&
		(report_commit(&r->stats) != EXIT_DONE || run_write_summary(&r->options, summary_json(r, &summary)) != EXIT_DONE))
		return EXIT_FAILED;
	if (r->options.out && !r->options.no_picture && write_picture(r) != EXIT_DONE)
		return EXIT_FAILED;
	const int status = r->options.json ? report_json(summary_json(r, &summary)) : print_text(r, &summary);
	return run_end(status, summary.steps, r->scene.steps);
}

int run_bodies(const run_options *options)
{
	run r = { .options = *options };
	static const run_stages stages = { prepare, simulate, finish };
	const int status = run_go(&stages, &r, &r.stats);
	sim_destroy_simulation(r.simulation);
	carom_destroy_context(r.context);
	sim_destroy_scene(&r.scene);
	return status;
}
