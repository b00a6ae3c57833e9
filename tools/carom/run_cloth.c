// `carom run` of a scene of cloth. The folder of --out gets stats.csv (a row for each step), summary.json, last.png, the folder
// frames with a mesh file for every step that is wanted, as `carom ccd` reads them, and movie.mp4 with --movie.
#include "movie.h"
#include "progress.h"
#include "report.h"
#include "run.h"
#include "io/mesh_file.h"
#include "sim/base/sim_clock.h"
#include "tools/carom/soft_picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Sums over the steps.
typedef struct run_sums {
	int64_t steps, impacts, impacts_more, undecided, searches, solves, zones, zone_vertices, halvings;
	int64_t impacts_peak, impacts_peak_step;
	double stretch_peak;
	int64_t stretch_peak_step;
	double energy_peak;
	double ms_total, ms_detection, ms_solver, ms_output;
	sim_soft_step last;
} run_sums;

typedef struct cloth_run {
	const run_options *options;
	sim_soft_scene scene;
	carom_context *context;
	sim_soft *soft;
	sim_output_file stats;
	sim_camera camera; // of the movie: it stands still
	movie film;
	char movie_path[SIM_PATH_MAX]; // the movie keeps it
	int64_t frame_count;
	float *floats; // [3*vertex_count] of a frame
	run_sums sums;
	int32_t crossings; // at the end
} cloth_run;

// ---- Output ----

static const char stats_names[] =
	"step,time,impacts,impacts_more,undecided,searches,solves,zones,zone_vertices,halvings,stretch_worst,stretch_mean,"
	"kinetic_energy,ms_detection,ms_solver,ms_total\n";

static void write_row(FILE *file, const sim_soft_step *s)
{
	fprintf(file, "%lld,%.9g,%lld,%lld,%lld,%d,%d,%d,%d,%d,%.6g,%.6g,%.17g,%.4f,%.4f,%.4f\n", (long long)s->step, s->time,
		(long long)s->impacts, (long long)s->impacts_more, (long long)s->impacts_undecided, (int)s->searches, (int)s->solves,
		(int)s->zones, (int)s->zone_vertices, (int)s->halvings, s->stretch_worst, s->stretch_mean, s->kinetic_energy,
		s->ms_detection, s->ms_solver, s->ms_total);
}

static cJSON *summary_json(const cloth_run *r)
{
	const run_sums *s = &r->sums;
	const sim_soft_surface surface = sim_soft_get_surface(r->soft);
	cJSON *json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "scene", r->scene.base.name);
	cJSON_AddNumberToObject(json, "bodies", surface.body_count);
	cJSON_AddNumberToObject(json, "vertices", surface.vertex_count);
	cJSON_AddNumberToObject(json, "triangles", surface.triangle_count);
	cJSON_AddNumberToObject(json, "steps", (double)s->steps);
	cJSON_AddNumberToObject(json, "time_step", r->scene.def.time_step);
	cJSON_AddNumberToObject(json, "crossings_final", r->crossings);
	cJSON_AddNumberToObject(json, "frames", (double)r->frame_count);
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
	cJSON_AddNumberToObject(json, "stretch_peak", s->stretch_peak);
	cJSON_AddNumberToObject(json, "stretch_peak_step", (double)s->stretch_peak_step);
	cJSON_AddNumberToObject(json, "stretch_final", s->last.stretch_worst);
	cJSON_AddNumberToObject(json, "stretch_mean_final", s->last.stretch_mean);
	cJSON_AddNumberToObject(json, "kinetic_energy_peak", s->energy_peak);
	cJSON_AddNumberToObject(json, "kinetic_energy_final", s->last.kinetic_energy);
	cJSON *ms = cJSON_AddObjectToObject(json, "ms");
	cJSON_AddNumberToObject(ms, "total", s->ms_total);
	cJSON_AddNumberToObject(ms, "detection", s->ms_detection);
	cJSON_AddNumberToObject(ms, "solver", s->ms_solver);
	cJSON_AddNumberToObject(ms, "output", s->ms_output);
	report_add_hash(json, "hash", sim_soft_hash(r->soft));
	cJSON_AddNumberToObject(json, "threads", carom_context_threads(r->context));
	cJSON_AddStringToObject(json, "simd", carom_simd_name(carom_context_simd(r->context)));
	return json;
}

static int print_text(const cloth_run *r)
{
	const run_sums *s = &r->sums;
	const sim_soft_surface surface = sim_soft_get_surface(r->soft);
	const double steps = s->steps > 0 ? (double)s->steps : 1;
	printf("%s: %lld x %.4g s, bodies: %d, triangles: %d, threads: %d, %s\n", r->scene.base.name, (long long)s->steps,
		r->scene.def.time_step, (int)surface.body_count, (int)surface.triangle_count, carom_context_threads(r->context),
		carom_simd_name(carom_context_simd(r->context)));
	printf("  pairs that cross at the end  %d\n", (int)r->crossings);
	printf("  impacts per step             %.1f foreseen, %.1f found later; at most %lld foreseen (step %lld)\n",
		(double)s->impacts / steps, (double)s->impacts_more / steps, (long long)s->impacts_peak,
		(long long)s->impacts_peak_step);
	printf("  per step                     %.2f searches, %.2f solutions; zones in all: %lld of %lld vertices, halvings %lld\n",
		(double)s->searches / steps, (double)s->solves / steps, (long long)s->zones, (long long)s->zone_vertices,
		(long long)s->halvings);
	printf("  longest stretch of an edge   %.2f %% (step %lld), at the end %.2f %%, mean %.3f %%\n", 100 * s->stretch_peak,
		(long long)s->stretch_peak_step, 100 * s->last.stretch_worst, 100 * s->last.stretch_mean);
	printf("  kinetic energy               %.6g J at the end, %.6g J at its peak\n", s->last.kinetic_energy, s->energy_peak);
	printf("  milliseconds per step        %.1f: detection %.1f, solver %.1f\n", s->ms_total / steps, s->ms_detection / steps,
		s->ms_solver / steps);
	printf("  hash                         %016llx\n", (unsigned long long)sim_soft_hash(r->soft));
	return report_end_of_text();
}

// ---- Frames ----

static void frame_path(const cloth_run *r, int64_t number, bool obj, char path[SIM_PATH_MAX])
{
	char name[64];
	snprintf(name, sizeof name, "frames/frame_%06lld.%s", (long long)number, obj ? "obj" : "ply");
	run_out_path(r->options, name, path);
}

/// Frames of an earlier run, which would look like ours.
static void remove_old_frames(const cloth_run *r)
{
	char path[SIM_PATH_MAX];
	for (int obj = 0; obj < 2; obj++) {
		for (int64_t i = 0;; i++) {
			frame_path(r, i, obj, path);
			if (unlink(path) != 0)
				break;
		}
	}
}

static int write_frame(cloth_run *r)
{
	char path[SIM_PATH_MAX];
	sim_error error;
	const sim_soft_surface surface = sim_soft_get_surface(r->soft);
	for (int64_t i = 0; i < 3 * (int64_t)surface.vertex_count; i++)
		r->floats[i] = (float)surface.places[i];
	const sim_mesh mesh = { .vertex_count = surface.vertex_count,
		.triangle_count = surface.triangle_count,
		.vertices = r->floats,
		.triangles = (int32_t *)surface.triangles };
	frame_path(r, r->frame_count++, r->scene.frames_as_obj, path);
	return sim_save_mesh(path, &mesh, &error) ? EXIT_DONE : report_error(path, "%s", error.text);
}

static int draw(const cloth_run *r, const sim_camera *camera, sim_image *image)
{
	char caption[120];
	sim_error error;
	snprintf(caption, sizeof caption, "%.50s   %.3f s   %d triangles", r->scene.base.name,
		(double)r->sums.steps * r->scene.def.time_step, (int)sim_soft_get_surface(r->soft).triangle_count);
	if (sim_draw_soft(r->context, &r->scene, r->soft, camera, caption, (int)r->options->threads, image, &error))
		return EXIT_DONE;
	return report_error(NULL, "%s", error.text);
}

static int write_picture(const cloth_run *r)
{
	sim_image image;
	const sim_camera camera = sim_soft_camera(&r->scene, r->soft);
	if (draw(r, &camera, &image) != EXIT_DONE)
		return EXIT_FAILED;
	return run_write_picture(r->options, "last.png", &image);
}

static int add_to_movie(cloth_run *r)
{
	sim_image image;
	if (draw(r, &r->camera, &image) != EXIT_DONE)
		return EXIT_FAILED;
	const int status = movie_add(&r->film, &image);
	sim_destroy_image(&image);
	return status;
}

/// What a state leaves behind, the first one too.
static int write_state(cloth_run *r)
{
	const double start = sim_now_ms();
	int status = EXIT_DONE;
	const int64_t interval = r->floats ? r->scene.frame_interval : 0;
	if (interval > 0 && r->sums.steps % interval == 0)
		status = write_frame(r);
	if (status == EXIT_DONE && r->options->movie)
		status = add_to_movie(r);
	r->sums.ms_output += sim_now_ms() - start;
	return status;
}

// ---- The run ----

static int load_scene(cloth_run *r)
{
	sim_error error;
	const run_options *o = r->options;
	if (o->movie && !o->out)
		return report_error(NULL, "--movie needs --out: where should it go?");
	if (!sim_parse_soft_scene(o->scene, o->text, o->text_size, &r->scene, &error))
		return report_error(NULL, "%s", error.text);
	if (run_replace_meshes(o, &r->scene.base) != EXIT_DONE) {
		return EXIT_FAILED;
	}
	if (o->steps > 0)
		r->scene.base.steps = o->steps;
	if (o->resolution > 0)
		r->scene.resolution = o->resolution;
	if (o->frames >= 0)
		r->scene.frame_interval = o->frames;
	return EXIT_DONE;
}

static int open_frames(cloth_run *r)
{
	char path[SIM_PATH_MAX];
	run_out_path(r->options, "frames", path);
	if (report_make_folder(path) != EXIT_DONE)
		return EXIT_FAILED;
	r->floats = malloc((size_t)sim_soft_get_surface(r->soft).vertex_count * 3 * sizeof *r->floats);
	return r->floats ? EXIT_DONE : report_error(NULL, "out of memory");
}

static int open_output(cloth_run *r)
{
	char path[SIM_PATH_MAX];
	if (!r->options->out)
		return EXIT_DONE;
	remove_old_frames(r);
	if (r->scene.frame_interval > 0 && open_frames(r) != EXIT_DONE)
		return EXIT_FAILED;
	r->camera = sim_soft_camera(&r->scene, r->soft);
	run_out_path(r->options, "stats.csv", path);
	if (report_open(&r->stats, path) != EXIT_DONE)
		return EXIT_FAILED;
	fputs(stats_names, r->stats.stream);
	if (!r->options->movie)
		return EXIT_DONE;
	run_out_path(r->options, "movie.mp4", r->movie_path);
	const double rate = fmin(fmax(1 / r->scene.def.time_step, 1), 120);
	return movie_open(&r->film, r->movie_path, r->scene.base.camera.width, r->scene.base.camera.height, rate);
}

static int prepare(void *run_record)
{
	cloth_run *r = run_record;
	sim_error error;
	if (load_scene(r) != EXIT_DONE)
		return EXIT_FAILED;
	r->context = report_create_context(r->options->threads, r->options->simd);
	if (!r->context || run_open_folder(r->options) != EXIT_DONE)
		return EXIT_FAILED;
	r->soft = sim_start_soft_scene(r->context, &r->scene, &error);
	return r->soft ? open_output(r) : report_error(NULL, "%s", error.text);
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
	if (step->impacts > s->impacts_peak) {
		s->impacts_peak = step->impacts;
		s->impacts_peak_step = step->step;
	}
	if (step->stretch_worst > s->stretch_peak) {
		s->stretch_peak = step->stretch_worst;
		s->stretch_peak_step = step->step;
	}
	s->energy_peak = fmax(s->energy_peak, step->kinetic_energy);
	s->ms_total += step->ms_total;
	s->ms_detection += step->ms_detection;
	s->ms_solver += step->ms_solver;
	s->last = *step;
}

static int simulate(void *run_record)
{
	cloth_run *r = run_record;
	sim_error error;
	progress bar;
	int status = write_state(r);
	progress_start(&bar, "run", r->scene.base.steps);
	for (int64_t i = 0; i < r->scene.base.steps && status == EXIT_DONE && !run_interrupted(); i++) {
		sim_soft_step step;
		if (!sim_soft_advance(r->soft, &step, &error)) {
			status = report_error(NULL, "step %lld: %s", (long long)i + 1, error.text);
			break;
		}
		add_step(&r->sums, &step);
		if (r->stats.stream)
			write_row(r->stats.stream, &step);
		status = write_state(r);
		progress_update(&bar, i + 1);
	}
	progress_finish(&bar);
	return status;
}

static int finish(void *run_record)
{
	cloth_run *r = run_record;
	if (!sim_soft_count_crossings(r->soft, &r->crossings))
		return report_error(NULL, "%s", carom_error_text(r->context));
	if (r->options->out && !r->options->no_picture && write_picture(r) != EXIT_DONE)
		return EXIT_FAILED;
	if (r->options->movie && movie_close(&r->film) != EXIT_DONE)
		return EXIT_FAILED;
	if (r->options->out &&
		(report_commit(&r->stats) != EXIT_DONE || run_write_summary(r->options, summary_json(r)) != EXIT_DONE))
		return EXIT_FAILED;
	const int status = r->options->json ? report_json(summary_json(r)) : print_text(r);
	return run_end(status, r->sums.steps, r->scene.base.steps);
}

int run_cloth(const run_options *options)
{
	cloth_run r = { .options = options };
	static const run_stages stages = { prepare, simulate, finish };
	const int status = run_go(&stages, &r, &r.stats);
	movie_abandon(&r.film);
	sim_destroy_soft(r.soft);
	carom_destroy_context(r.context);
	sim_destroy_soft_scene(&r.scene);
	free(r.floats);
	return status;
}
