// `carom run` of a scene of spheres. The folder of --out gets stats.csv (a row for each step), summary.json, checkpoint.h5,
// last.png, and, when snapshots are wanted, spheres.pvd with a spheres_STEP.vtp for each.
#include "progress.h"
#include "report.h"
#include "run.h"
#include "scene/granular_checkpoint.h"
#include "scene/granular_fill.h"
#include "sim/base/sim_clock.h"
#include "sim/grains/granular_output.h"
#include "sim/base/state_hash.h"
#include "io/vtk_file.h"
#include "view/sphere_picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ROW_SIZE = 512 }; // of the table of steps, most

// Sums over the steps of this run.
typedef struct run_sums {
	int64_t first_step; // done before, by the run that wrote the checkpoint
	int64_t contacts_peak, contacts_peak_step;
	double overlap_peak; // as part of the smaller radius
	int64_t overlap_peak_step;
	double energy_peak, energy_final;
	int64_t energy_peak_step;
	double ms_build, ms_detection, ms_update, ms_total, ms_output;
	sim_granular_step last;
} run_sums;

typedef struct sphere_run {
	const run_options *options;
	sim_granular_scene scene;
	sim_granular_filling filling; // only its copy_starts are kept, for the picture
	carom_context *context;
	sim_granular *granular;
	sim_output_file stats;
	uint64_t rows; // a sum of the rows of the table, those of the runs before this one too
	sim_vtk_series *series;
	int64_t last_snapshot; // its step, -1: none yet
	run_sums sums;
	// At the end:
	int64_t inside;
	uint64_t hash;
} sphere_run;

// ---- Output ----

static const char stats_names[] =
	"step,time,contacts,wall_contacts,contacts_per_sphere,max_overlap,kinetic_energy,list_built,sorted,ms_build,ms_detection,"
	"ms_update,ms_total\n";

static void put_row(sphere_run *r, const char *row)
{
	fputs(row, r->stats.stream);
	r->rows = sim_hash_text(r->rows, row, strlen(row));
}

/// energy below 0: not measured in this step.
static void write_row(sphere_run *r, const sim_granular_step *step, double energy, double ms_total)
{
	char row[ROW_SIZE];
	const double count = (double)sim_granular_get_info(r->granular).count;
	char energy_text[32] = "";
	if (energy >= 0)
		snprintf(energy_text, sizeof energy_text, "%.17g", energy);
	snprintf(row, sizeof row, "%lld,%.9g,%lld,%lld,%.6g,%.6g,%s,%d,%d,%.4f,%.4f,%.4f,%.4f\n", (long long)step->step, step->time,
		(long long)step->contacts, (long long)step->wall_contacts, count > 0 ? (double)step->contacts / count : 0,
		step->max_overlap, energy_text, step->list_built, step->sorted, step->ms_build, step->ms_detection, step->ms_update,
		ms_total);
	put_row(r, row);
}

static cJSON *summary_json(const sphere_run *r)
{
	const run_sums *s = &r->sums;
	const sim_granular_info info = sim_granular_get_info(r->granular);
	const double count = info.count > 0 ? (double)info.count : 1;
	cJSON *json = cJSON_CreateObject();
	cJSON_AddNumberToObject(json, "spheres", (double)info.count);
	cJSON_AddNumberToObject(json, "steps", (double)info.steps);
	cJSON_AddNumberToObject(json, "spheres_inside", (double)r->inside);
	cJSON_AddNumberToObject(json, "deepest_overlap_relative", s->overlap_peak);
	cJSON_AddNumberToObject(json, "kinetic_energy_peak", s->energy_peak);
	cJSON_AddNumberToObject(json, "kinetic_energy_final", s->energy_final);
	cJSON_AddNumberToObject(json, "contacts_final", (double)s->last.contacts);
	cJSON *ms = cJSON_AddObjectToObject(json, "ms");
	cJSON_AddNumberToObject(ms, "total", s->ms_total);
	cJSON_AddNumberToObject(ms, "build", s->ms_build);
	cJSON_AddNumberToObject(ms, "detection", s->ms_detection);
	cJSON_AddNumberToObject(ms, "update", s->ms_update);
	cJSON_AddNumberToObject(ms, "output", s->ms_output);
	report_add_hash(json, "hash", r->hash);

	cJSON_AddStringToObject(json, "scene", r->scene.base.name);
	cJSON_AddNumberToObject(json, "first_step", (double)s->first_step);
	cJSON_AddNumberToObject(json, "time", info.time);
	cJSON_AddNumberToObject(json, "time_step", info.time_step);
	if (isfinite(info.step_limit)) {
		cJSON_AddNumberToObject(json, "time_step_limit", info.step_limit);
		cJSON_AddNumberToObject(json, "time_step_limit_pair", info.step_limit_pair);
		cJSON_AddNumberToObject(json, "time_step_limit_met", info.step_limit_met);
	}
	cJSON_AddNumberToObject(json, "deepest_overlap_step", (double)s->overlap_peak_step);
	cJSON_AddNumberToObject(json, "kinetic_energy_peak_step", (double)s->energy_peak_step);
	cJSON_AddNumberToObject(json, "contacts_per_sphere_final", (double)s->last.contacts / count);
	cJSON_AddNumberToObject(json, "wall_contacts_final", (double)s->last.wall_contacts);
	cJSON_AddNumberToObject(json, "contacts_peak", (double)s->contacts_peak);
	cJSON_AddNumberToObject(json, "contacts_peak_step", (double)s->contacts_peak_step);
	cJSON_AddNumberToObject(json, "list_builds", (double)info.list_builds);
	cJSON_AddNumberToObject(json, "sorts", (double)info.sorts);
	cJSON_AddNumberToObject(json, "skin", info.skin);
	cJSON_AddStringToObject(json, "method", carom_sphere_method_name(info.detector.method));
	cJSON_AddNumberToObject(json, "snapshots", r->series ? sim_vtk_series_count(r->series) : 0);
	cJSON_AddNumberToObject(json, "bytes_per_sphere", (double)(info.bytes + info.bytes_detector) / count);
	cJSON_AddNumberToObject(json, "bytes_per_sphere_lists", (double)info.detector.bytes_lists / count);
	cJSON_AddNumberToObject(json, "threads", carom_context_threads(r->context));
	cJSON_AddStringToObject(json, "simd", carom_simd_name(carom_context_simd(r->context)));
	return json;
}

static int print_text(const sphere_run *r)
{
	const run_sums *s = &r->sums;
	const sim_granular_info info = sim_granular_get_info(r->granular);
	const double count = info.count > 0 ? (double)info.count : 1;
	const double steps = info.steps > s->first_step ? (double)(info.steps - s->first_step) : 1;
	printf("%s: %lld x %.4g s, spheres: %lld, threads: %d, %s\n", r->scene.base.name, (long long)info.steps, info.time_step,
		(long long)info.count, carom_context_threads(r->context), carom_simd_name(carom_context_simd(r->context)));
	if (s->first_step > 0)
		printf("  continued after step         %lld\n", (long long)s->first_step);
	printf("  inside the box at the end    %lld of %lld\n", (long long)r->inside, (long long)info.count);
	printf("  kinetic energy               %.6g J at the end, %.6g J at its peak (step %lld)\n", s->energy_final,
		s->energy_peak, (long long)s->energy_peak_step);
	printf("  contacts                     %lld at the end, %.3f per sphere; at most %lld (step %lld)\n",
		(long long)s->last.contacts, (double)s->last.contacts / count, (long long)s->contacts_peak,
		(long long)s->contacts_peak_step);
	printf("  deepest overlap              %.3g of the smaller radius (step %lld)\n", s->overlap_peak,
		(long long)s->overlap_peak_step);
	printf("  time step                    %.4g s; stable below %.4g s, two spheres alone %.4g s\n", info.time_step,
		info.step_limit_met, info.step_limit_pair);
	printf("  lists of neighbours          %lld in %.0f steps, %s, skin %.4g m\n", (long long)info.list_builds, steps,
		carom_sphere_method_name(info.detector.method), info.skin);
	printf("  milliseconds per step        %.3f: build %.3f, detection %.3f, update %.3f\n", s->ms_total / steps,
		s->ms_build / steps, s->ms_detection / steps, s->ms_update / steps);
	printf("  bytes per sphere             %.0f, of which lists %.0f\n", (double)(info.bytes + info.bytes_detector) / count,
		(double)info.detector.bytes_lists / count);
	printf("  hash                         %016llx\n", (unsigned long long)r->hash);
	return report_end_of_text();
}

static int write_snapshot(sphere_run *r)
{
	sim_error error;
	sim_granular_frame frame;
	const sim_granular_info info = sim_granular_get_info(r->granular);
	if (!r->series || r->last_snapshot == info.steps)
		return EXIT_DONE;
	if (!sim_take_granular_frame(r->granular, &frame))
		return report_error(NULL, "out of memory");
	const sim_sphere_cloud cloud = sim_granular_frame_cloud(&frame);
	const bool done = sim_vtk_series_add(r->series, &cloud, info.steps, info.time, &error);
	sim_free_granular_frame(&frame);
	r->last_snapshot = info.steps;
	return done ? EXIT_DONE : report_error(NULL, "%s", error.text);
}

/// The mark lets a run that goes on from here tell what in the folder is its own.
static int write_checkpoint(sphere_run *r)
{
	char path[SIM_PATH_MAX];
	sim_error error;
	sim_granular_mark mark = sim_granular_get_mark(r->granular);
	mark.table = r->rows;
	mark.contacts = r->sums.last.contacts;
	mark.wall_contacts = r->sums.last.wall_contacts;
	sim_granular_set_mark(r->granular, &mark);
	run_out_path(r->options, "checkpoint.h5", path);
	if (r->stats.stream)
		fflush(r->stats.stream); // should the run be killed, the rows up to the checkpoint are there
	return sim_granular_write(r->granular, path, &error) ? EXIT_DONE : report_error(NULL, "%s", error.text);
}

// ---- Picture ----

/// Gravity that turns has no up; its axis has.
static carom_vec3 up_of(const sphere_run *r)
{
	const double *axis = r->scene.def.gravity_axis;
	double g[3];
	if (r->scene.def.gravity_rate != 0)
		return (carom_vec3){ axis[0], axis[1], axis[2] };
	sim_granular_get_gravity(r->granular, g);
	if (g[0] == 0 && g[1] == 0 && g[2] == 0)
		return (carom_vec3){ 0, 1, 0 };
	return (carom_vec3){ -g[0], -g[1], -g[2] };
}

static carom_aabb scene_box(const sphere_run *r)
{
	const sim_granular_def *def = &r->scene.def;
	return (carom_aabb){ { def->lower[0], def->lower[1], def->lower[2] }, { def->upper[0], def->upper[1], def->upper[2] } };
}

/// The lowest corner of the box along up.
static double ground_height(const carom_aabb *box, carom_vec3 up)
{
	const double length = sqrt(up.x * up.x + up.y * up.y + up.z * up.z);
	return ((up.x < 0 ? box->upper.x : box->lower.x) * up.x + (up.y < 0 ? box->upper.y : box->lower.y) * up.y +
			   (up.z < 0 ? box->upper.z : box->lower.z) * up.z) /
		length;
}

static sim_camera choose_camera(const sphere_run *r, const sim_sphere_cloud *cloud)
{
	const sim_scene_camera *given = &r->scene.base.camera;
	if (given->given)
		return (sim_camera){ given->position, given->target, given->up, given->field_of_view };
	carom_aabb box = scene_box(r);
	if (!r->scene.draw_box)
		sim_bounds_of_spheres(cloud, &box);
	return sim_frame_box(&box, up_of(r), (double)given->width / (double)given->height);
}

static int write_picture(const sphere_run *r, const sim_sphere_cloud *cloud)
{
	char caption[120];
	sim_error error;
	const sim_granular_info info = sim_granular_get_info(r->granular);
	const sim_camera camera = choose_camera(r, cloud);
	sim_sphere_picture_options options = sim_default_sphere_picture();
	snprintf(caption, sizeof caption, "%.50s   %.4f s   %lld spheres", r->scene.base.name, info.time, (long long)info.count);
	options.width = r->scene.base.camera.width;
	options.height = r->scene.base.camera.height;
	options.threads = (int)r->options->threads;
	options.color = r->scene.color;
	options.groups = r->filling.copy_starts;
	options.group_count = r->scene.color_copies ? r->filling.copy_count : 0;
	options.box = scene_box(r);
	options.draw_box = r->scene.draw_box;
	options.draw_ground = r->scene.draw_ground;
	options.ground = ground_height(&options.box, camera.up);
	options.caption = caption;
	sim_image image;
	if (!sim_draw_spheres(cloud, &camera, &options, &image, &error))
		return report_error(r->options->out, "last.png: %s", error.text);
	return run_write_picture(r->options, "last.png", &image);
}

// ---- The run ----

static int load_scene(sphere_run *r)
{
	sim_error error;
	const run_options *o = r->options;
	sim_granular_scene *scene = &r->scene;
	if (!sim_parse_granular_scene(o->scene, o->text, o->text_size, scene, &error))
		return report_error(NULL, "%s", error.text);
	if (run_replace_meshes(o, &scene->base) != EXIT_DONE) {
		return EXIT_FAILED;
	}
	if (o->count > 0 && o->restart)
		return report_error(NULL, "--count: a checkpoint has its spheres already");
	if (o->count > 0 && !sim_granular_scene_set_count(scene, o->count, &error))
		return report_error(NULL, "--count: %s", error.text);
	if (o->steps > 0)
		scene->base.steps = o->steps;
	if (o->snapshots >= 0)
		scene->snapshot_interval = o->snapshots;
	if (o->checkpoints >= 0)
		scene->checkpoint_interval = o->checkpoints;
	return EXIT_DONE;
}

/// A number that tells this run from others: what the scene says, and where its spheres begin.
static uint64_t number_of_run(const sphere_run *r)
{
	const sim_granular_filling *f = &r->filling;
	const uint64_t hash = sim_hash_text(SIM_HASH_START, r->options->text, r->options->text_size);
	return sim_hash_doubles(sim_hash_doubles(hash, f->centres, 3 * f->count), f->radii, f->count);
}

/// From a checkpoint, or from the scene. The spheres' places are not needed any more once the simulation has them.
static int make_granular(sphere_run *r)
{
	sim_error error;
	const bool restart = r->options->restart != NULL;
	// The copies of a continued run have their colours from the scene.
	if ((!restart || r->scene.color_copies) && !sim_fill_granular_scene(r->context, &r->scene, &r->filling, &error))
		return report_error(NULL, "%s", error.text);
	if (restart) {
		sim_granular_resume resume = sim_default_granular_resume();
		resume.method = r->scene.def.method;
		resume.skin = r->scene.def.skin;
		r->granular = sim_granular_read(r->context, r->options->restart, &resume, &error);
		if (!r->granular)
			return report_error(NULL, "%s", error.text);
	} else {
		const sim_granular_def def = sim_filled_def(&r->scene, &r->filling);
		r->granular = sim_create_granular(r->context, &def, &error);
		if (!r->granular)
			return report_error(r->options->scene, "%s", error.text);
		sim_granular_set_mark(r->granular, &(sim_granular_mark){ .run = number_of_run(r) });
	}
	free(r->filling.centres);
	free(r->filling.radii);
	free(r->filling.velocities);
	free(r->filling.angular_velocities);
	r->filling.centres = r->filling.radii = r->filling.velocities = r->filling.angular_velocities = NULL;
	return EXIT_DONE;
}

/// Does the run go on in the folder that the checkpoint is in?
static bool continues_in_place(const run_options *o)
{
	char folder[SIM_PATH_MAX];
	struct stat from, to;
	if (!o->restart || strlen(o->restart) >= sizeof folder)
		return false;
	snprintf(folder, sizeof folder, "%s", o->restart);
	char *slash = strrchr(folder, '/');
	snprintf(slash ? slash + 1 : folder, 2, ".");
	return stat(folder, &from) == 0 && stat(o->out, &to) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino;
}

/// The next row of a table and its step; a row without its end was being written when all ended.
static bool next_row(FILE *table, char line[ROW_SIZE], long long *step)
{
	while (fgets(line, ROW_SIZE, table)) {
		if (strchr(line, '\n') && sscanf(line, "%lld,", step) == 1)
			return true;
	}
	return false;
}

/// Tell whether the rows up to a step are those that were written when the checkpoint was. Checkpoints of version 1 do not say
/// (wanted is 0): there the step itself must be among them.
static bool has_rows(FILE *table, int64_t last_step, uint64_t wanted)
{
	char line[ROW_SIZE];
	long long step;
	bool found = false;
	uint64_t sum = SIM_HASH_START;
	while (next_row(table, line, &step)) {
		if (step <= last_step)
			sum = sim_hash_text(sum, line, strlen(line));
		found |= step == last_step;
	}
	rewind(table);
	return wanted ? sum == wanted : found;
}

/// Open the table of the run before: PATH, or PATH.part of one that was killed, whichever has the rows. *table is NULL where there
/// is no table at all. Returns EXIT_FAILED, after a message, where there are tables but of other runs.
static int open_rows_before(const sphere_run *r, const char *path, FILE **table)
{
	const uint64_t wanted = sim_granular_get_mark(r->granular).table;
	bool any = false;
	for (int part = 1; part >= 0; part--) {
		char name[SIM_PATH_MAX + 8], names[sizeof stats_names] = "";
		snprintf(name, sizeof name, "%s%s", path, part ? ".part" : "");
		*table = fopen(name, "rb");
		if (!*table)
			continue;
		any = true;
		if (has_rows(*table, r->sums.first_step, wanted)) {
			if (fgets(names, sizeof names, *table) && !strcmp(names, stats_names))
				return EXIT_DONE;
			fclose(*table);
			return report_error(name, "has other columns than a run writes now: take another --out");
		}
		fclose(*table);
		*table = NULL;
	}
	if (!any)
		return EXIT_DONE;
	return report_error(path, "does not hold the rows up to step %lld that were there when %s was written: take another --out",
		(long long)r->sums.first_step, r->options->restart);
}

/// Begin the table, with the rows of the steps that the checkpoint has done. Where these come from stays until all are copied.
static int open_stats(sphere_run *r, bool in_place)
{
	char path[SIM_PATH_MAX], line[ROW_SIZE];
	sim_error error;
	long long step;
	FILE *before = NULL;
	run_out_path(r->options, "stats.csv", path);
	if (in_place && open_rows_before(r, path, &before) != EXIT_DONE)
		return EXIT_FAILED;
	const bool open = before ? sim_output_open_beside(&r->stats, path, &error) : sim_output_open(&r->stats, path, &error);
	r->rows = SIM_HASH_START;
	if (open)
		fputs(stats_names, r->stats.stream);
	while (open && before && next_row(before, line, &step)) {
		if (step <= r->sums.first_step)
			put_row(r, line);
	}
	if (before)
		fclose(before);
	return open ? EXIT_DONE : report_error(path, "%s", error.text);
}

static int open_snapshots(sphere_run *r, bool in_place)
{
	sim_error error;
	r->series = sim_create_vtk_series(r->options->out, "spheres", &error);
	if (!r->series)
		return report_error(r->options->out, "%s", error.text);
	sim_vtk_series_set_run(r->series, sim_granular_get_mark(r->granular).run);
	if (in_place && !sim_vtk_series_continue(r->series, r->sums.first_step, &r->last_snapshot, &error))
		return report_error(NULL, "%s", error.text);
	return EXIT_DONE;
}

static int open_output(sphere_run *r)
{
	sim_error error;
	if (!r->options->out)
		return EXIT_DONE;
	const bool in_place = continues_in_place(r->options);
	if (open_stats(r, in_place) != EXIT_DONE || (r->scene.snapshot_interval > 0 && open_snapshots(r, in_place) != EXIT_DONE))
		return EXIT_FAILED;
	return sim_output_take_part(&r->stats, &error) ? EXIT_DONE : report_error(r->stats.path, "%s", error.text);
}

static int prepare(void *run_record)
{
	sphere_run *r = run_record;
	if (load_scene(r) != EXIT_DONE)
		return EXIT_FAILED;
	r->context = report_create_context(r->options->threads, r->options->simd);
	if (!r->context || run_open_folder(r->options) != EXIT_DONE || make_granular(r) != EXIT_DONE)
		return EXIT_FAILED;
	const sim_granular_info info = sim_granular_get_info(r->granular);
	r->sums.first_step = info.steps;
	r->last_snapshot = -1;
	r->sums.energy_peak = r->sums.energy_final = sim_granular_kinetic_energy(r->granular);
	r->sums.energy_peak_step = info.steps;
	r->sums.last.contacts = sim_granular_get_mark(r->granular).contacts;
	r->sums.last.wall_contacts = sim_granular_get_mark(r->granular).wall_contacts;
	// One that was killed when all steps were done has its end yet to write.
	if (r->options->restart && info.steps > r->scene.base.steps)
		return report_error(r->options->restart, "has done %lld steps already, and %lld are wanted (--steps)",
			(long long)info.steps, (long long)r->scene.base.steps);
	if (info.time_step > info.step_limit)
		report_warning(
			r->options->scene, "the time step %g s is above the bound of stability, %g s", info.time_step, info.step_limit);
	return open_output(r);
}

static void add_step(sphere_run *r, const sim_granular_step *step, double ms_total)
{
	run_sums *s = &r->sums;
	double energy = -1;
	if (step->step % r->scene.energy_interval == 0 || step->step == r->scene.base.steps) {
		energy = s->energy_final = sim_granular_kinetic_energy(r->granular);
		if (energy > s->energy_peak) {
			s->energy_peak = energy;
			s->energy_peak_step = step->step;
		}
	}
	if (step->contacts > s->contacts_peak) {
		s->contacts_peak = step->contacts;
		s->contacts_peak_step = step->step;
	}
	if (step->max_overlap > s->overlap_peak) {
		s->overlap_peak = step->max_overlap;
		s->overlap_peak_step = step->step;
	}
	s->ms_build += step->ms_build;
	s->ms_detection += step->ms_detection;
	s->ms_update += step->ms_update;
	s->ms_total += ms_total;
	s->last = *step;
	if (r->stats.stream)
		write_row(r, step, energy, ms_total);
}

static int one_step(sphere_run *r)
{
	sim_error error;
	sim_granular_step step;
	const double begin = sim_now_ms();
	if (!sim_granular_advance(r->granular, &step, &error))
		return report_error(NULL, "%s", error.text);
	const double end = sim_now_ms();
	add_step(r, &step, end - begin);
	const int64_t snapshots = r->scene.snapshot_interval, checkpoints = r->scene.checkpoint_interval;
	int status = EXIT_DONE;
	if (snapshots > 0 && step.step % snapshots == 0)
		status = write_snapshot(r);
	if (status == EXIT_DONE && r->options->out && checkpoints > 0 && step.step % checkpoints == 0)
		status = write_checkpoint(r);
	r->sums.ms_output += sim_now_ms() - end;
	return status;
}

static int simulate(void *run_record)
{
	sphere_run *r = run_record;
	progress bar;
	const int64_t first = r->sums.first_step, steps = r->scene.base.steps;
	// A run that goes on in its folder has its first state there.
	int status = r->last_snapshot >= 0 ? EXIT_DONE : write_snapshot(r);
	progress_start(&bar, "run", steps - first);
	for (int64_t i = first; i < steps && status == EXIT_DONE && !run_interrupted(); i++) {
		status = one_step(r);
		progress_update(&bar, i + 1 - first);
	}
	progress_finish(&bar);
	return status;
}

/// What needs the state in the order of the scene: the hash, who is inside, the picture.
static int look_at_end(sphere_run *r)
{
	sim_granular_frame frame;
	if (!sim_take_granular_frame(r->granular, &frame))
		return report_error(NULL, "out of memory");
	r->hash = sim_hash_granular_frame(&frame);
	r->inside = sim_count_spheres_inside(&frame, r->scene.def.lower, r->scene.def.upper);
	const sim_sphere_cloud cloud = sim_granular_frame_cloud(&frame);
	int status = EXIT_DONE;
	if (r->options->out && !r->options->no_picture)
		status = write_picture(r, &cloud);
	sim_free_granular_frame(&frame);
	return status;
}

static int finish(void *run_record)
{
	sphere_run *r = run_record;
	r->sums.energy_final = sim_granular_kinetic_energy(r->granular); // an interrupted run may end between two measurements
	if (write_snapshot(r) != EXIT_DONE || look_at_end(r) != EXIT_DONE)
		return EXIT_FAILED;
	if (r->options->out &&
		(report_commit(&r->stats) != EXIT_DONE || write_checkpoint(r) != EXIT_DONE ||
			run_write_summary(r->options, summary_json(r)) != EXIT_DONE))
		return EXIT_FAILED;
	const int status = r->options->json ? report_json(summary_json(r)) : print_text(r);
	return run_end(status, sim_granular_get_info(r->granular).steps, r->scene.base.steps);
}

int run_spheres(const run_options *options)
{
	sphere_run r = { .options = options };
	static const run_stages stages = { prepare, simulate, finish };
	const int status = run_go(&stages, &r, &r.stats);
	sim_destroy_vtk_series(r.series);
	sim_destroy_granular(r.granular);
	carom_destroy_context(r.context);
	sim_destroy_filling(&r.filling);
	sim_destroy_granular_scene(&r.scene);
	return status;
}
