// Deforming bodies in `carom run`: the folder frames with a mesh file for every step that is
// wanted, as `carom ccd` reads them, movie.mp4 with --movie, and its part of table, summary and
// picture.
#include "devices.h"
#include "movie.h"
#include "report.h"
#include "run.h"
#include "run_picture.h"
#include "run_points.h"
#include "io/mesh_file.h"
#include "sim/base/sim_clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Sums over the steps.
typedef struct run_sums {
	int64_t steps, impacts, impacts_more, undecided, searches, solves, zones, zone_vertices, halvings, leads, gave_way, crossed;
	int64_t impacts_peak, impacts_peak_step;
	double stretch_peak;
	int64_t stretch_peak_step;
	int32_t stretch_peak_body;
	int64_t pins_broken, tears;
	double pin_force_peak;
	double energy_peak;
	double ms_total, ms_detection, ms_solver, ms_output;
	sim_soft_step last;
} run_sums;

typedef struct deforming {
	sim_soft_step last; // of the scene: the sum of its substeps
	view_camera camera; // of the movie: it stands still
	movie film;
	char movie_path[IO_PATH_MAX]; // the movie keeps it
	int64_t frame_count;
	float *floats; // [3*vertex_count] of a frame
	run_sums sums;
	int32_t crossings; // at the end
} deforming;

// ---- Output ----

static const char stats_names[] =
	"step,time,impacts,impacts_more,undecided,searches,solves,zones,zone_vertices,halvings,leads,gave_way,crossings,pins_broken,pin_force,tears,stretch_worst,stretch_mean,"
	"kinetic_energy,ms_detection,ms_solver,ms_total\n";

static void write_names(FILE *table) { fputs(stats_names, table); }

static void write_row(run *r, void *state, FILE *table)
{
	(void)r;
	const sim_soft_step *s = &((const deforming *)state)->last;
	fprintf(table, "%lld,%.9g,%lld,%lld,%lld,%d,%d,%d,%d,%d,%d,%d,%lld,%d,%.6g,%d,%.6g,%.6g,%.17g,%.4f,%.4f,%.4f\n",
		(long long)s->step, s->time, (long long)s->impacts, (long long)s->impacts_more, (long long)s->impacts_undecided,
		(int)s->searches, (int)s->solves, (int)s->zones, (int)s->zone_vertices, (int)s->halvings, (int)s->leads,
		(int)s->gave_way, (long long)s->crossings, (int)s->pins_broken, s->pin_force, (int)s->tears, s->stretch_worst,
		s->stretch_mean, s->kinetic_energy, s->ms_detection, s->ms_solver, s->ms_total);
}

/// The largest limit of stretch of the bodies; 0: one has none.
static double largest_limit(const run *r)
{
	double largest = 0;
	for (int32_t i = 0; i < r->scene.deforming.source_count; i++) {
		const scene_soft_source *source = &r->scene.deforming.sources[i];
		const bool deforms = !source->rigid && source->body.kind != SIM_SOFT_SOLID;
		if (deforms && source->body.stretch_limit == 0)
			return 0;
		largest = deforms ? fmax(largest, source->body.stretch_limit) : largest;
	}
	return largest;
}

// A stretch of so many limits is warned of.
static const double FAR_ABOVE = 5;

// Stages of a deforming body that a device does, and those that it has no form of.
static const char on_device[] = "impacts, spheres near surfaces", on_processor[] = "solver, crossings, leading apart";

/// Is the device told of here, and not with rigid bodies or spheres?
static bool tells_of_device(const run *r) { return r->device && !r->scene.has_bodies && !r->scene.has_spheres; }

static void add_device(cJSON *json, const run *r)
{
	if (!r->device)
		return;
	cJSON_AddStringToObject(json, "on_device", on_device);
	cJSON_AddStringToObject(json, "on_processor", on_processor);
	if (tells_of_device(r))
		devices_add_json(json, r->device);
}

static cJSON *summarise(const run *r, const void *state)
{
	const deforming *d = state;
	const run_sums *s = &d->sums;
	const sim_soft_surface surface = sim_soft_get_surface(r->parts.soft);
	cJSON *json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "scene", r->scene.name);
	cJSON_AddNumberToObject(json, "bodies", surface.body_count);
	cJSON_AddNumberToObject(json, "vertices", surface.vertex_count);
	cJSON_AddNumberToObject(json, "triangles", surface.triangle_count);
	cJSON_AddNumberToObject(json, "steps", (double)s->steps);
	cJSON_AddNumberToObject(json, "time_step", r->scene.time_step);
	cJSON_AddNumberToObject(json, "crossings_final", d->crossings);
	cJSON_AddNumberToObject(json, "frames", (double)d->frame_count);
	cJSON_AddNumberToObject(json, "frame_steps", (double)r->scene.output.frames);
	cJSON_AddNumberToObject(json, "impacts", (double)s->impacts);
	cJSON_AddNumberToObject(json, "impacts_more", (double)s->impacts_more);
	cJSON_AddNumberToObject(json, "impacts_undecided", (double)s->undecided);
	cJSON_AddNumberToObject(json, "impacts_peak", (double)s->impacts_peak);
	cJSON_AddNumberToObject(json, "impacts_peak_step", (double)s->impacts_peak_step);
	cJSON_AddNumberToObject(json, "searches", (double)s->searches);
	cJSON_AddNumberToObject(json, "solves", (double)s->solves);
	cJSON_AddNumberToObject(json, "zones", (double)s->zones);
	cJSON_AddNumberToObject(json, "zone_vertices", (double)s->zone_vertices);
	cJSON_AddNumberToObject(json, "halvings", (double)s->halvings);
	cJSON_AddNumberToObject(json, "leads", (double)s->leads);
	cJSON_AddNumberToObject(json, "gave_way", (double)s->gave_way);
	cJSON_AddNumberToObject(json, "crossed_steps", (double)s->crossed);
	cJSON_AddNumberToObject(json, "pins_broken", (double)s->pins_broken);
	cJSON_AddNumberToObject(json, "pin_force_peak", s->pin_force_peak);
	cJSON_AddNumberToObject(json, "tears", (double)s->tears);
	cJSON_AddNumberToObject(json, "stretch_peak", s->stretch_peak);
	cJSON_AddNumberToObject(json, "stretch_peak_step", (double)s->stretch_peak_step);
	cJSON_AddNumberToObject(json, "stretch_final", s->last.stretch_worst);
	cJSON_AddNumberToObject(json, "stretch_mean_final", s->last.stretch_mean);
	cJSON_AddNumberToObject(json, "kinetic_energy_peak", s->energy_peak);
	cJSON_AddNumberToObject(json, "kinetic_energy_final", s->last.kinetic_energy);
	add_device(json, r);
	cJSON *ms = cJSON_AddObjectToObject(json, "ms");
	cJSON_AddNumberToObject(ms, "total", s->ms_total);
	cJSON_AddNumberToObject(ms, "detection", s->ms_detection);
	cJSON_AddNumberToObject(ms, "solver", s->ms_solver);
	cJSON_AddNumberToObject(ms, "output", s->ms_output);
	report_add_hash(json, "hash", sim_soft_hash(r->parts.soft));
	run_add_view(json, r);
	run_add_machine(json, r);
	return json;
}

static void print(const run *r, const void *state)
{
	const deforming *d = state;
	const run_sums *s = &d->sums;
	const sim_soft_surface surface = sim_soft_get_surface(r->parts.soft);
	const double steps = s->steps > 0 ? (double)s->steps : 1;
	printf("%s: %lld x %.4g s, bodies: %d, triangles: %d, threads: %d, %s\n", r->scene.name, (long long)s->steps,
		r->scene.time_step, (int)surface.body_count, (int)surface.triangle_count, carom_context_threads(r->parts.context),
		carom_simd_name(carom_context_simd(r->parts.context)));
	printf("  pairs that cross at the end  %d\n", (int)d->crossings);
	if (s->leads + s->gave_way > 0)
		printf("  led apart                    %lld times, %lld steps ended crossed, squeezed through in %lld parts of steps\n",
			(long long)s->leads, (long long)s->crossed, (long long)s->gave_way);
	printf("  impacts per step             %.1f foreseen, %.1f found later; at most %lld foreseen (step %lld)\n",
		(double)s->impacts / steps, (double)s->impacts_more / steps, (long long)s->impacts_peak,
		(long long)s->impacts_peak_step);
	printf("  per step                     %.2f searches, %.2f solutions; zones in all: %lld of %lld vertices, halvings %lld\n",
		(double)s->searches / steps, (double)s->solves / steps, (long long)s->zones, (long long)s->zone_vertices,
		(long long)s->halvings);
	if (s->pin_force_peak > 0)
		printf("  pins that broke              %lld; at most %.4g N pulled at one\n", (long long)s->pins_broken,
			s->pin_force_peak);
	if (s->tears > 0)
		printf("  tears                        vertices were split %lld times\n", (long long)s->tears);
	printf("  longest stretch of an edge   %.2f %% (step %lld), at the end %.2f %%, mean %.3f %%\n", 100 * s->stretch_peak,
		(long long)s->stretch_peak_step, 100 * s->last.stretch_worst, 100 * s->last.stretch_mean);
	const double limit = largest_limit(r);
	if (limit > 0 && s->stretch_peak > FAR_ABOVE * limit)
		printf(
			"  warning                      body \"%s\" could not keep its stretch_limit: an edge was %.3g times as long as at the "
			"start (step %lld): more \"substeps\", slower movers, or \"lead_apart\" help\n",
			sim_soft_get_name(r->parts.soft, s->stretch_peak_body), 1 + s->stretch_peak, (long long)s->stretch_peak_step);
	printf("  kinetic energy               %.6g J at the end, %.6g J at its peak\n", s->last.kinetic_energy, s->energy_peak);
	printf("  milliseconds per step        %.1f: detection %.1f, solver %.1f\n", s->ms_total / steps, s->ms_detection / steps,
		s->ms_solver / steps);
	printf("  hash                         %016llx\n", (unsigned long long)sim_soft_hash(r->parts.soft));
	if (r->device)
		printf("  on the device                %s; on the processor: %s\n", on_device, on_processor);
	if (tells_of_device(r))
		devices_print(r->device);
}

// ---- Frames ----

static void frame_path(const run *r, int64_t number, bool obj, char path[IO_PATH_MAX])
{
	char name[64];
	snprintf(name, sizeof name, "frames/frame_%06lld.%s", (long long)number, obj ? "obj" : "ply");
	run_out_path(r->options, name, path);
}

/// Frames of an earlier run, which would look like ours.
static void remove_old_frames(const run *r)
{
	char path[IO_PATH_MAX];
	run_out_path(r->options, "frames/bodies.csv", path);
	unlink(path);
	for (int obj = 0; obj < 2; obj++) {
		for (int64_t i = 0;; i++) {
			frame_path(r, i, obj, path);
			if (unlink(path) != 0)
				break;
		}
	}
}

static int write_frame(run *r, deforming *d)
{
	char path[IO_PATH_MAX];
	sim_error error;
	const sim_soft_surface surface = sim_soft_get_surface(r->parts.soft);
	for (int64_t i = 0; i < 3 * (int64_t)surface.vertex_count; i++)
		d->floats[i] = (float)surface.places[i];
	const sim_mesh mesh = { .vertex_count = surface.vertex_count,
		.triangle_count = surface.triangle_count,
		.vertices = d->floats,
		.triangles = (int32_t *)surface.triangles };
	const int64_t number = d->frame_count++;
	frame_path(r, number, r->scene.output.frames_as_obj, path);
	if (!io_save_mesh(path, &mesh, &error))
		return report_error(path, "%s", error.text);
	return run_write_deforming_points(r, number);
}

static int open_movie(run *r, deforming *d)
{
	d->camera = run_camera(r);
	run_out_path(r->options, "movie.mp4", d->movie_path);
	const double rate = fmin(fmax(1 / r->scene.time_step, 1), 120);
	return movie_open(&d->film, d->movie_path, r->scene.camera.width, r->scene.camera.height, rate);
}

static int add_to_movie(run *r, deforming *d)
{
	view_image image;
	// the first picture: now all parts are there
	if (!d->movie_path[0] && open_movie(r, d) != EXIT_DONE)
		return EXIT_FAILED;
	if (run_draw_all(r, &d->camera, &image) != EXIT_DONE)
		return EXIT_FAILED;
	const int status = movie_add(&d->film, &image);
	view_destroy_image(&image);
	return status;
}

/// The files of a state, of the first one too.
static int keep(run *r, void *state)
{
	deforming *d = state;
	const double start = sim_now_ms();
	int status = EXIT_DONE;
	const int64_t interval = d->floats ? r->scene.output.frames : 0;
	if (interval > 0 && r->parts.steps % interval == 0)
		status = write_frame(r, d);
	if (status == EXIT_DONE && r->options->movie)
		status = add_to_movie(r, d);
	d->sums.ms_output += sim_now_ms() - start;
	return status;
}

static int draw(run *r, void *state, view_image *image)
{
	(void)state;
	const view_camera camera = run_camera(r);
	return run_draw_all(r, &camera, image);
}

// ---- The run ----

/// The kind of a body of the frames, as a word: obstacles come last.
static const char *kind_of(const run *r, int32_t body, int32_t body_count)
{
	if (body >= body_count - r->scene.deforming.obstacle_count)
		return "obstacle";
	switch (sim_soft_get_kind(r->parts.soft, body)) {
	case SIM_SOFT_RIGID: return "mover";
	case SIM_SOFT_DEFORMABLE: return "soft";
	case SIM_SOFT_SOLID: return "solid";
	case SIM_SOFT_CLOTH: break;
	}
	return "cloth";
}

/// A name as a field of a table: quotes are doubled, ends of lines become blanks.
static void put_name(FILE *file, const char *name)
{
	fputc('"', file);
	for (; *name; name++) {
		if (*name == '"')
			fputc('"', file);
		fputc((unsigned char)*name < ' ' ? ' ' : *name, file);
	}
	fputc('"', file);
}

/// Which bodies lie behind each other in the frames.
static int write_bodies(const run *r)
{
	char path[IO_PATH_MAX];
	io_output_file file;
	const sim_soft_surface s = sim_soft_get_surface(r->parts.soft);
	run_out_path(r->options, "frames/bodies.csv", path);
	if (report_open(&file, path) != EXIT_DONE)
		return EXIT_FAILED;
	fputs("kind,vertices,triangles,name\n", file.stream);
	for (int32_t i = 0; i < s.body_count; i++) {
		fprintf(file.stream, "%s,%d,%d,", kind_of(r, i, s.body_count), (int)(s.body_vertices[i + 1] - s.body_vertices[i]),
			(int)(s.body_triangles[i + 1] - s.body_triangles[i]));
		put_name(file.stream, sim_soft_get_name(r->parts.soft, i));
		fputc('\n', file.stream);
	}
	return report_commit(&file);
}

static int open_frames(run *r, deforming *d)
{
	char path[IO_PATH_MAX];
	run_out_path(r->options, "frames", path);
	if (report_make_folder(path) != EXIT_DONE || write_bodies(r) != EXIT_DONE)
		return EXIT_FAILED;
	// A cloth that tears gets vertices, but never more than its triangles have corners.
	const sim_soft_surface s = sim_soft_get_surface(r->parts.soft);
	d->floats = malloc((size_t)fmax(s.vertex_count, 3.0 * s.triangle_count) * 3 * sizeof *d->floats);
	return d->floats ? EXIT_DONE : report_error(NULL, "out of memory");
}

static int prepare(run *r, void *state)
{
	deforming *d = state;
	sim_error error;
	if (!scene_run_add_deforming(&r->parts, &error))
		return report_error(NULL, "%s", error.text);
	if (!r->options->out)
		return EXIT_DONE;
	remove_old_frames(r);
	return r->scene.output.frames > 0 ? open_frames(r, d) : EXIT_DONE;
}

static void add_step(run_sums *s, const sim_soft_step *step)
{
	s->steps = step->step;
	s->impacts += step->impacts;
	s->impacts_more += step->impacts_more;
	s->undecided += step->impacts_undecided;
	s->searches += step->searches;
	s->solves += step->solves;
	s->zones += step->zones;
	s->zone_vertices += step->zone_vertices;
	s->halvings += step->halvings;
	s->leads += step->leads;
	s->gave_way += step->gave_way;
	s->crossed += step->crossings > 0;
	s->pins_broken += step->pins_broken;
	s->tears += step->tears;
	s->pin_force_peak = fmax(s->pin_force_peak, step->pin_force);
	if (step->impacts > s->impacts_peak) {
		s->impacts_peak = step->impacts;
		s->impacts_peak_step = step->step;
	}
	if (step->stretch_worst > s->stretch_peak) {
		s->stretch_peak = step->stretch_worst;
		s->stretch_peak_step = step->step;
		s->stretch_peak_body = step->stretch_body;
	}
	s->energy_peak = fmax(s->energy_peak, step->kinetic_energy);
	s->ms_total += step->ms_total;
	s->ms_detection += step->ms_detection;
	s->ms_solver += step->ms_solver;
	s->last = *step;
}

static int step(run *r, void *state)
{
	deforming *d = state;
	sim_error error;
	if (!scene_run_step_deforming(&r->parts, &d->last, &error))
		return report_error(NULL, "%s", error.text);
	add_step(&d->sums, &d->last);
	return EXIT_DONE;
}

static int end(run *r, void *state)
{
	deforming *d = state;
	if (!sim_soft_count_crossings(r->parts.soft, &d->crossings))
		return report_error(NULL, "%s", carom_error_text(r->parts.context));
	return EXIT_DONE;
}

static int close_movie(run *r, void *state)
{
	deforming *d = state;
	return r->options->movie ? movie_close(&d->film) : EXIT_DONE;
}

static uint64_t hash(const run *r, const void *state)
{
	(void)state;
	return sim_soft_hash(r->parts.soft);
}

static void move_sums(void *state, sim_tape *tape)
{
	deforming *d = state;
	sim_tape_move(tape, &d->sums, sizeof d->sums);
	sim_tape_move(tape, &d->last, sizeof d->last);
}

static void destroy(run *r, void *state)
{
	(void)r;
	deforming *d = state;
	movie_abandon(&d->film);
	free(d->floats);
}

const run_part_kind run_deforming_kind = {
	.section = "deforming",
	.state_size = sizeof(deforming),
	.prepare = prepare,
	.write_names = write_names,
	.step = step,
	.write_row = write_row,
	.keep = keep,
	.end = end,
	.draw = draw,
	.move_sums = move_sums,
	.close = close_movie,
	.summarise = summarise,
	.print = print,
	.hash = hash,
	.destroy = destroy,
};
