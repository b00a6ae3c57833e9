// The spheres of `carom run`: checkpoint.h5 (of scenes of spheres alone), when snapshots are wanted
// spheres.pvd with a spheres_STEP.vtp for each, and their part of table, summary and picture.
#include "devices.h"
#include "camera.h"
#include "report.h"
#include "run.h"
#include "run_forces.h"
#include "run_picture.h"
#include "run_points.h"
#include "run_ranks.h"
#include "scene/granular_checkpoint.h"
#include "scene/granular_fill.h"
#include "sim/base/sim_clock.h"
#include "sim/grains/granular_output.h"
#include "sim/grains/granular_ranks.h"
#include "sim/base/state_hash.h"
#include "io/vtk_file.h"
#include "view/sphere_picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST_AHEAD = 16, // steps of a device before somebody looks
};

// Peaks of all steps, and sums over those of this run.
typedef struct run_sums {
	sim_granular_peaks peak;
	double energy_final;
	double ms_build, ms_detection, ms_update, ms_obstacles, ms_total, ms_output;
	sim_granular_step last;
} run_sums;

typedef struct spheres {
	scene_granular_filling filling; // only its copy_starts are kept, for the picture
	// a sum of the rows of the table, those of the runs before this one too
	uint64_t rows;
	io_vtk_series *series;
	int64_t last_snapshot; // its step, -1: none yet
	run_forces forces;
	run_sums sums;
	double energy;                       // of the last step; below 0: not measured
	double ms_last;                      // of the last step, in all
	sim_granular_step ahead[MOST_AHEAD]; // of the steps that were done together last
	int32_t ahead_count;
	double ms_ahead; // of each
	// At the end:
	int64_t inside;
	uint64_t hash;
	int64_t bytes, bytes_lists; // held, on all ranks
} spheres;

// ---- Output ----

static const char stats_names[] =
	"step,time,contacts,wall_contacts,contacts_per_sphere,max_overlap,kinetic_energy,list_built,sorted,ms_build,ms_detection,"
	"ms_update,ms_obstacles,ms_total\n";

static void put_row(spheres *s, const char *row, FILE *table)
{
	fputs(row, table);
	s->rows = sim_hash_text(s->rows, row, strlen(row));
}

static void write_names(FILE *table) { fputs(stats_names, table); }

static void write_row(run *r, void *state, FILE *table)
{
	spheres *s = state;
	const sim_granular_step *step = &s->sums.last;
	char row[RUN_ROW_SIZE];
	const double count = (double)sim_granular_get_info(r->parts.granular).count;
	char energy_text[32] = "";
	if (s->energy >= 0)
		snprintf(energy_text, sizeof energy_text, "%.17g", s->energy);
	snprintf(row, sizeof row, "%lld,%.9g,%lld,%lld,%.6g,%.6g,%s,%d,%d,%.4f,%.4f,%.4f,%.4f,%.4f\n", (long long)step->step,
		step->time, (long long)step->contacts, (long long)step->wall_contacts, count > 0 ? (double)step->contacts / count : 0,
		step->max_overlap, energy_text, step->list_built, step->sorted, step->ms_build, step->ms_detection, step->ms_update,
		step->ms_obstacles, s->ms_last);
	put_row(s, row, table);
}

/// Add the device, its kernels, and the bytes of a substep.
static void add_device(cJSON *json, const run *r, const sim_granular_info *info)
{
	const double steps = info->device.steps > 0 ? (double)info->device.steps : 1;
	devices_add_json(json, r->device);
	cJSON_AddNumberToObject(json, "bytes_up_step", (double)info->device.step_up / steps);
	cJSON_AddNumberToObject(json, "bytes_down_step", (double)info->device.step_down / steps);
	cJSON_AddBoolToObject(json, "exact", info->device.exact);
}

/// Add how the spheres were shared out.
static void add_balance(cJSON *json, const run *r)
{
	const sim_granular_balance b = sim_granular_get_balance(r->parts.granular);
	cJSON *ranks = cJSON_AddObjectToObject(json, "ranks");
	cJSON_AddNumberToObject(ranks, "count", r->options->ranks->count);
	cJSON_AddNumberToObject(ranks, "spheres_most", (double)b.own_most);
	cJSON_AddNumberToObject(ranks, "ghosts", (double)b.ghosts);
	cJSON_AddNumberToObject(ranks, "ghosts_most", (double)b.ghosts_most);
	cJSON_AddNumberToObject(ranks, "bytes_sent_step", (double)b.bytes_step);
	cJSON_AddNumberToObject(ranks, "entries", (double)b.entries);
	cJSON_AddNumberToObject(ranks, "imbalance", b.imbalance);
	cJSON_AddNumberToObject(ranks, "imbalance_worst", b.worst_imbalance);
	cJSON_AddNumberToObject(ranks, "cuts", (double)b.cuts);
	cJSON_AddNumberToObject(ranks, "moved", (double)b.moved);
}

static void print_balance(const run *r)
{
	const sim_granular_balance b = sim_granular_get_balance(r->parts.granular);
	const int count = r->options->ranks->count;
	printf("  ranks                        %d: at most %lld spheres and %lld ghosts; work at most %.3f of the mean\n", count,
		(long long)b.own_most, (long long)b.ghosts_most, b.imbalance);
	printf("  bytes between ranks          %.0f per step and rank; %lld spheres moved, space cut %lld times\n",
		(double)b.bytes_step / count, (long long)b.moved, (long long)b.cuts);
}

enum { WARNINGS_MAX = 2, WARNING_SIZE = 240 };

/// Write what no material does that is as stiff as its load asks for: returns how many texts.
static int list_warnings(const run *r, const spheres *s, char texts[WARNINGS_MAX][WARNING_SIZE])
{
	const long long count = sim_granular_get_info(r->parts.granular).count, outside = count - s->inside;
	int found = 0;
	if (outside > 0)
		snprintf(texts[found++], WARNING_SIZE,
			"%lld of %lld spheres are outside the box of the scene at the end: its walls are too soft for them, or they began there",
			outside, count);
	if (s->sums.peak.overlap > 1)
		snprintf(texts[found++], WARNING_SIZE,
			"two spheres overlapped by %.3g of the smaller radius (step %lld): raise the stiffness of the material, and the substeps",
			s->sums.peak.overlap, (long long)s->sums.peak.overlap_step);
	return found;
}

static void add_warnings(cJSON *json, const run *r, const spheres *s)
{
	char texts[WARNINGS_MAX][WARNING_SIZE];
	const int count = list_warnings(r, s, texts);
	cJSON *list = cJSON_AddArrayToObject(json, "warnings");
	for (int i = 0; i < count; i++)
		report_add(list, NULL, cJSON_CreateString(texts[i]));
}

static void warn(const run *r, const spheres *s)
{
	char texts[WARNINGS_MAX][WARNING_SIZE];
	const int count = run_is_first(r) ? list_warnings(r, s, texts) : 0;
	for (int i = 0; i < count; i++)
		report_warning(r->options->scene, "%s", texts[i]);
}

static cJSON *summarise(const run *r, const void *state)
{
	const spheres *p = state;
	const run_sums *s = &p->sums;
	const sim_granular_info info = sim_granular_get_info(r->parts.granular);
	const double count = info.count > 0 ? (double)info.count : 1;
	cJSON *json = cJSON_CreateObject();
	cJSON_AddNumberToObject(json, "spheres", (double)info.count);
	cJSON_AddNumberToObject(json, "steps", (double)r->parts.steps);
	cJSON_AddNumberToObject(json, "spheres_inside", (double)p->inside);
	cJSON_AddNumberToObject(json, "deepest_overlap_relative", s->peak.overlap);
	cJSON_AddNumberToObject(json, "kinetic_energy_peak", s->peak.energy);
	cJSON_AddNumberToObject(json, "kinetic_energy_final", s->energy_final);
	cJSON_AddNumberToObject(json, "contacts_final", (double)s->last.contacts);
	cJSON *ms = cJSON_AddObjectToObject(json, "ms");
	cJSON_AddNumberToObject(ms, "total", s->ms_total);
	cJSON_AddNumberToObject(ms, "build", s->ms_build);
	cJSON_AddNumberToObject(ms, "detection", s->ms_detection);
	cJSON_AddNumberToObject(ms, "update", s->ms_update);
	cJSON_AddNumberToObject(ms, "obstacles", s->ms_obstacles);
	cJSON_AddNumberToObject(ms, "output", s->ms_output);
	report_add_hash(json, "hash", p->hash);

	cJSON_AddStringToObject(json, "scene", r->scene.name);
	cJSON_AddNumberToObject(json, "first_step", (double)r->first_step);
	cJSON_AddNumberToObject(json, "time", info.time);
	cJSON_AddNumberToObject(json, "time_step", r->scene.time_step);
	if (isfinite(info.step_limit)) {
		cJSON_AddNumberToObject(json, "time_step_limit", info.step_limit);
		cJSON_AddNumberToObject(json, "time_step_limit_pair", info.step_limit_pair);
		cJSON_AddNumberToObject(json, "time_step_limit_met", info.step_limit_met);
	}
	cJSON_AddNumberToObject(json, "deepest_overlap_step", (double)s->peak.overlap_step);
	cJSON_AddNumberToObject(json, "kinetic_energy_peak_step", (double)s->peak.energy_step);
	cJSON_AddNumberToObject(json, "contacts_per_sphere_final", (double)s->last.contacts / count);
	cJSON_AddNumberToObject(json, "wall_contacts_final", (double)s->last.wall_contacts);
	cJSON_AddNumberToObject(json, "contacts_peak", (double)s->peak.contacts);
	cJSON_AddNumberToObject(json, "contacts_peak_step", (double)s->peak.contacts_step);
	cJSON_AddNumberToObject(json, "list_builds", (double)info.list_builds);
	cJSON_AddNumberToObject(json, "sorts", (double)info.sorts);
	cJSON_AddNumberToObject(json, "skin", info.skin);
	cJSON_AddStringToObject(json, "method", info.on_device ? "device" : carom_sphere_method_name(info.detector.method));
	cJSON_AddNumberToObject(json, "snapshots", p->series ? io_vtk_series_count(p->series) : 0);
	cJSON_AddNumberToObject(json, "bytes_per_sphere", (double)p->bytes / count);
	cJSON_AddNumberToObject(json, "bytes_per_sphere_lists", (double)p->bytes_lists / count);
	if (r->options->ranks)
		add_balance(json, r);
	if (r->device)
		add_device(json, r, &info);
	run_add_view(json, r);
	report_add_vector(json, "box_lower", r->scene.spheres.def.lower);
	report_add_vector(json, "box_upper", r->scene.spheres.def.upper);
	add_warnings(json, r, p);
	run_add_machine(json, r);
	return json;
}

static void print(const run *r, const void *state)
{
	const spheres *p = state;
	const run_sums *s = &p->sums;
	const sim_granular_info info = sim_granular_get_info(r->parts.granular);
	const double count = info.count > 0 ? (double)info.count : 1;
	const double steps = r->parts.steps > r->first_step ? (double)(r->parts.steps - r->first_step) : 1;
	printf("%s: %lld x %.4g s, spheres: %lld, threads: %d, %s\n", r->scene.name, (long long)r->parts.steps, r->scene.time_step,
		(long long)info.count, carom_context_threads(r->parts.context), carom_simd_name(carom_context_simd(r->parts.context)));
	if (r->first_step > 0)
		printf("  continued after step         %lld\n", (long long)r->first_step);
	printf("  inside the box at the end    %lld of %lld\n", (long long)p->inside, (long long)info.count);
	printf("  kinetic energy               %.6g J at the end, %.6g J at its peak (step %lld)\n", s->energy_final,
		s->peak.energy, (long long)s->peak.energy_step);
	printf("  contacts                     %lld at the end, %.3f per sphere; at most %lld (step %lld)\n",
		(long long)s->last.contacts, (double)s->last.contacts / count, (long long)s->peak.contacts,
		(long long)s->peak.contacts_step);
	printf("  deepest overlap              %.3g of the smaller radius (step %lld)\n", s->peak.overlap,
		(long long)s->peak.overlap_step);
	printf("  time step                    %.4g s; stable below %.4g s, two spheres alone %.4g s\n", info.time_step,
		info.step_limit_met, info.step_limit_pair);
	printf("  lists of neighbours          %lld in %.0f steps, %s, skin %.4g m\n", (long long)info.list_builds, steps,
		info.on_device ? "on the device" : carom_sphere_method_name(info.detector.method), info.skin);
	printf("  milliseconds per step        %.3f: build %.3f, detection %.3f, update %.3f, obstacles %.3f\n",
		s->ms_total / steps, s->ms_build / steps, s->ms_detection / steps, s->ms_update / steps, s->ms_obstacles / steps);
	printf(
		"  bytes per sphere             %.0f, of which lists %.0f\n", (double)p->bytes / count, (double)p->bytes_lists / count);
	if (r->options->ranks)
		print_balance(r);
	if (r->device) {
		const double substeps = info.device.steps > 0 ? (double)info.device.steps : 1;
		printf("  bytes per substep            %.0f to the device, %.0f from it%s\n", (double)info.device.step_up / substeps,
			(double)info.device.step_down / substeps, info.device.exact ? "" : "; it rounds other than the processor");
		devices_print(r->device);
	}
	printf("  hash                         %016llx\n", (unsigned long long)p->hash);
}

/// The spheres of a range of numbers, of each rank another one, as a file of all.
static int write_shared_snapshot(run *r, spheres *s)
{
	sim_error error;
	sim_granular_frame part;
	int64_t first;
	const sim_granular_info info = sim_granular_get_info(r->parts.granular);
	if (!sim_granular_spread_frame(r->parts.granular, &part, &first, &error))
		return report_error(NULL, "%s", error.text);
	const sim_sphere_cloud cloud = sim_granular_frame_cloud(&part);
	const bool done =
		io_vtk_series_add_part(s->series, r->options->ranks, &cloud, first, info.count, r->parts.steps, info.time, &error);
	s->last_snapshot = r->parts.steps;
	sim_free_granular_frame(&part);
	return done ? EXIT_DONE : report_error(NULL, "%s", error.text);
}

static int write_snapshot(run *r, spheres *s)
{
	sim_error error;
	sim_granular_frame frame;
	const sim_granular_info info = sim_granular_get_info(r->parts.granular);
	if (!s->series || s->last_snapshot == r->parts.steps)
		return EXIT_DONE;
	if (r->options->ranks)
		return write_shared_snapshot(r, s);
	if (!sim_take_granular_frame(r->parts.granular, &frame))
		return report_error(NULL, "out of memory");
	const sim_sphere_cloud cloud = sim_granular_frame_cloud(&frame);
	const bool done = io_vtk_series_add(s->series, &cloud, r->parts.steps, info.time, &error);
	s->last_snapshot = r->parts.steps;
	const int status = done ? run_write_sphere_points(r, &frame) : report_error(NULL, "%s", error.text);
	sim_free_granular_frame(&frame);
	return status;
}

/// The mark lets a run that goes on from here tell which files of the folder are its own.
static int write_checkpoint(run *r, spheres *s)
{
	char path[IO_PATH_MAX];
	sim_error error;
	sim_granular_mark mark = sim_granular_get_mark(r->parts.granular);
	mark.table = s->rows;
	mark.contacts = s->sums.last.contacts;
	mark.wall_contacts = s->sums.last.wall_contacts;
	mark.peaks = s->sums.peak;
	sim_granular_set_mark(r->parts.granular, &mark);
	run_out_path(r->options, "checkpoint.h5", path);
	if (r->stats.stream) // should the run be killed, the rows up to the checkpoint are there
		fflush(r->stats.stream);
	const bool done = r->options->ranks ? scene_granular_write_shared(r->parts.granular, path, &error)
										: scene_granular_write(r->parts.granular, path, &error);
	return done ? EXIT_DONE : report_error(NULL, "%s", error.text);
}

// ---- Picture ----

static carom_aabb scene_box(const run *r)
{
	const sim_granular_def *def = &r->scene.spheres.def;
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

static view_camera choose_camera(const run *r, const sim_sphere_cloud *cloud)
{
	const scene_camera *given = &r->scene.camera;
	if (given->given)
		return camera_of_scene(given);
	carom_aabb box = scene_box(r);
	if (!r->scene.picture.box)
		view_bounds_of_spheres(cloud, &box);
	return view_frame_box(&box, run_up(r), (double)given->width / (double)given->height);
}

static int draw_cloud(const run *r, const spheres *s, const sim_sphere_cloud *cloud, view_image *image)
{
	char caption[120];
	sim_error error;
	const sim_granular_info info = sim_granular_get_info(r->parts.granular);
	const view_camera camera = choose_camera(r, cloud);
	view_sphere_picture_options options = view_default_sphere_picture();
	snprintf(caption, sizeof caption, "%.50s   %.4f s   %lld spheres", r->scene.name, info.time, (long long)info.count);
	options.width = r->scene.camera.width;
	options.height = r->scene.camera.height;
	options.threads = (int)r->options->threads;
	options.color = r->scene.picture.color;
	options.groups = s->filling.copy_starts;
	options.group_count = r->scene.picture.color_copies ? s->filling.copy_count : 0;
	options.box = scene_box(r);
	options.draw_box = r->scene.picture.box;
	options.draw_ground = r->scene.picture.ground;
	options.ground = ground_height(&options.box, camera.up);
	options.caption = caption;
	if (view_draw_spheres(cloud, &camera, &options, image, &error))
		return EXIT_DONE;
	return report_error(r->options->out, "last.png: %s", error.text);
}

int run_take_spheres(const run *r, sim_granular_frame *frame)
{
	sim_error error;
	const bool taken = r->options->ranks
		? sim_granular_gather_frame(r->parts.granular, frame, &error)
		: sim_take_granular_frame(r->parts.granular, frame) || sim_fail(&error, "out of memory");
	return taken ? EXIT_DONE : report_error(NULL, "%s", error.text);
}

static int draw(run *r, void *state, view_image *image)
{
	sim_granular_frame frame;
	if (run_take_spheres(r, &frame) != EXIT_DONE)
		return EXIT_FAILED;
	const sim_sphere_cloud cloud = sim_granular_frame_cloud(&frame);
	const int status = run_is_first(r) ? draw_cloud(r, state, &cloud, image) : EXIT_DONE;
	sim_free_granular_frame(&frame);
	return status;
}

// ---- The run ----

/// From a checkpoint, or from the scene.
static int make_granular(run *r, spheres *s)
{
	sim_error error;
	const char *restart = r->options->restart;
	sim_tape *grains = scene_resume_grains(&r->resume); // of a checkpoint of more than spheres
	const bool keep_copies = r->scene.picture.color_copies;
	if (!scene_run_add_spheres(&r->parts, grains ? NULL : restart, grains, keep_copies, &s->filling, &error))
		return report_error(grains ? restart : NULL, "%s", error.text);
	if (!restart || grains)
		return EXIT_DONE;
	r->first_step = r->parts.steps;
	// One that was killed when all steps were done has its end yet to write.
	if (r->parts.steps > r->scene.steps)
		return report_error(restart, "has done %lld steps already, and %lld are wanted (--steps)", (long long)r->parts.steps,
			(long long)r->scene.steps);
	return EXIT_DONE;
}

bool run_next_row(FILE *table, char line[RUN_ROW_SIZE], long long *step)
{
	while (fgets(line, RUN_ROW_SIZE, table)) {
		if (strchr(line, '\n') && sscanf(line, "%lld,", step) == 1)
			return true;
	}
	return false;
}

/// Tell whether the rows up to a step are those that were written when the checkpoint was.
/// Checkpoints of version 1 do not say (wanted is 0): there the step itself must be among them.
static bool has_rows(FILE *table, int64_t last_step, uint64_t wanted)
{
	char line[RUN_ROW_SIZE];
	long long step;
	bool found = false;
	uint64_t sum = SIM_HASH_START;
	while (run_next_row(table, line, &step)) {
		if (step <= last_step)
			sum = sim_hash_text(sum, line, strlen(line));
		found |= step == last_step;
	}
	rewind(table);
	return wanted ? sum == wanted : found;
}

/// Open the table of the run before: PATH, or PATH.part of one that was killed, whichever has the
/// rows. *table is NULL where there is no table at all. Returns EXIT_FAILED, after a message, where
/// there are tables but of other runs.
static int open_rows_before(const run *r, const char *path, FILE **table)
{
	const uint64_t wanted = sim_granular_get_mark(r->parts.granular).table;
	bool any = false;
	for (int part = 1; part >= 0; part--) {
		char name[IO_PATH_MAX + 8], names[sizeof stats_names] = "";
		snprintf(name, sizeof name, "%s%s", path, part ? ".part" : "");
		*table = fopen(name, "rb");
		if (!*table)
			continue;
		any = true;
		if (has_rows(*table, r->first_step, wanted)) {
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
		(long long)r->first_step, r->options->restart);
}

/// Begin the table, with the rows of the steps that the checkpoint has done. Where these come from
/// stays until all are copied.
static int begin_table(run *r, spheres *s, bool in_place)
{
	char path[IO_PATH_MAX], line[RUN_ROW_SIZE];
	sim_error error;
	long long step;
	FILE *before = NULL;
	run_out_path(r->options, "stats.csv", path);
	if (in_place && open_rows_before(r, path, &before) != EXIT_DONE)
		return EXIT_FAILED;
	const bool open = before ? io_output_open_beside(&r->stats, path, &error) : io_output_open(&r->stats, path, &error);
	if (open)
		fputs(stats_names, r->stats.stream);
	while (open && before && run_next_row(before, line, &step)) {
		if (step <= r->first_step)
			put_row(s, line, r->stats.stream);
	}
	if (before)
		fclose(before);
	return open ? EXIT_DONE : report_error(path, "%s", error.text);
}

static int open_snapshots(run *r, spheres *s)
{
	sim_error error;
	s->series = io_create_vtk_series(r->options->out, "spheres", &error);
	if (!s->series)
		return report_error(r->options->out, "%s", error.text);
	io_vtk_series_set_run(s->series, sim_granular_get_mark(r->parts.granular).run);
	return EXIT_DONE;
}

/// The table of a scene of spheres alone may be the continuation of one.
static int open_table(run *r, void *state)
{
	spheres *s = state;
	sim_error error;
	const bool in_place = run_continues_in_place(r->options);
	if (run_is_first(r) && begin_table(r, s, in_place) != EXIT_DONE)
		return EXIT_FAILED;
	if (s->series && in_place && !io_vtk_series_continue(s->series, r->first_step, &s->last_snapshot, &error))
		return report_error(NULL, "%s", error.text);
	if (!run_is_first(r) || io_output_take_part(&r->stats, &error))
		return EXIT_DONE;
	return report_error(r->stats.path, "%s", error.text);
}

/// Those of a run that goes on begin with what its checkpoint tells.
static void begin_sums(const run *r, run_sums *s)
{
	const sim_granular_mark mark = sim_granular_get_mark(r->parts.granular);
	const double energy = sim_granular_kinetic_energy(r->parts.granular);
	s->peak = mark.peaks;
	s->energy_final = energy;
	s->last.contacts = mark.contacts;
	s->last.wall_contacts = mark.wall_contacts;
	const bool known = mark.peaks.energy > 0 || mark.peaks.contacts > 0;
	if (!known && energy > s->peak.energy) {
		s->peak.energy = energy;
		s->peak.energy_step = r->parts.steps;
	}
	if (!known && mark.contacts > s->peak.contacts) {
		s->peak.contacts = mark.contacts;
		s->peak.contacts_step = r->parts.steps;
	}
}

static int prepare(run *r, void *state)
{
	spheres *s = state;
	if (make_granular(r, s) != EXIT_DONE || run_share(r) != EXIT_DONE)
		return EXIT_FAILED;
	const sim_granular_info info = sim_granular_get_info(r->parts.granular);
	r->scene.output.snapshots = scene_snapshot_steps(&r->scene, info.count);
	s->rows = SIM_HASH_START;
	s->last_snapshot = -1;
	s->energy = -1;
	begin_sums(r, &s->sums);
	if (info.time_step > info.step_limit && run_is_first(r))
		report_warning(
			r->options->scene, "the time step %g s is above the bound of stability, %g s", info.time_step, info.step_limit);
	if (run_open_forces(r, &s->forces) != EXIT_DONE)
		return EXIT_FAILED;
	return r->options->out && r->scene.output.snapshots > 0 ? open_snapshots(r, s) : EXIT_DONE;
}

static void add_step(run *r, spheres *p, const sim_granular_step *step, double ms_total)
{
	run_sums *s = &p->sums;
	p->energy = -1;
	p->ms_last = ms_total;
	if (step->step % r->scene.output.energy == 0 || step->step == r->scene.steps) {
		p->energy = s->energy_final = sim_granular_kinetic_energy(r->parts.granular);
		if (p->energy > s->peak.energy) {
			s->peak.energy = p->energy;
			s->peak.energy_step = step->step;
		}
	}
	if (step->contacts > s->peak.contacts) {
		s->peak.contacts = step->contacts;
		s->peak.contacts_step = step->step;
	}
	if (step->max_overlap > s->peak.overlap) {
		s->peak.overlap = step->max_overlap;
		s->peak.overlap_step = step->step;
	}
	s->ms_build += step->ms_build;
	s->ms_detection += step->ms_detection;
	s->ms_update += step->ms_update;
	s->ms_obstacles += step->ms_obstacles;
	s->ms_total += ms_total;
	s->last = *step;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// Steps from here on of which nobody looks at the state before the last: the energy, snapshots and
/// checkpoints have their intervals, and a viewer wants each step.
static int32_t count_ahead(const run *r)
{
	const scene_output *output = &r->scene.output;
	const int64_t now = r->parts.steps, intervals[] = { output->energy, output->snapshots, output->checkpoints };
	if (run_is_mixed(r) || r->view || !sim_granular_get_info(r->parts.granular).on_device)
		return 1;
	int64_t count = least(MOST_AHEAD, r->scene.steps - now);
	for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++) {
		if (intervals[i] > 0)
			count = least(count, intervals[i] - now % intervals[i]);
	}
	return (int32_t)count;
}

static int step(run *r, void *state)
{
	sim_error error;
	spheres *s = state;
	if (r->ahead == 0) {
		const double begin = sim_now_ms();
		s->ahead_count = count_ahead(r);
		if (!scene_run_step_spheres(&r->parts, s->ahead_count, s->ahead, &error))
			return report_error(NULL, "%s", error.text);
		s->ms_ahead = (sim_now_ms() - begin) / s->ahead_count;
		r->ahead = s->ahead_count;
	}
	add_step(r, state, &s->ahead[s->ahead_count - r->ahead], s->ms_ahead);
	r->ahead--;
	return EXIT_DONE;
}

static int keep(run *r, void *state)
{
	spheres *s = state;
	const double begin = sim_now_ms();
	const int64_t snapshots = r->scene.output.snapshots, checkpoints = r->scene.output.checkpoints;
	const bool first = r->parts.steps == r->first_step;
	int status = EXIT_DONE;
	// A run that goes on in its folder has its first state there.
	if (first ? s->last_snapshot < 0 : snapshots > 0 && r->parts.steps % snapshots == 0)
		status = write_snapshot(r, s);
	if (status == EXIT_DONE && !first)
		status = run_write_forces(r, &s->forces);
	if (status == EXIT_DONE && !first && r->options->out && scene_is_of_spheres(&r->scene) && checkpoints > 0 &&
		r->parts.steps % checkpoints == 0)
		status = write_checkpoint(r, s);
	if (!first)
		s->sums.ms_output += sim_now_ms() - begin;
	return status;
}

/// The sums of all ranks.
static int end_shared(run *r, spheres *s)
{
	sim_error error;
	sim_granular_frame part;
	int64_t first;
	const sim_ranks *ranks = r->options->ranks;
	if (!sim_granular_hash_ranks(r->parts.granular, &s->hash, &error) ||
		!sim_granular_spread_frame(r->parts.granular, &part, &first, &error))
		return report_error(NULL, "%s", error.text);
	int64_t sums[3] = { sim_count_spheres_inside(&part, r->scene.spheres.def.lower, r->scene.spheres.def.upper), s->bytes,
		s->bytes_lists };
	sim_free_granular_frame(&part);
	if (!ranks->sum(ranks->user, 3, sums))
		return report_error(NULL, "another rank has failed");
	s->inside = sums[0];
	s->bytes = sums[1];
	s->bytes_lists = sums[2];
	warn(r, s);
	return EXIT_DONE;
}

/// The output that needs the state in the order of the scene: the last snapshot, the hash, who is
/// inside.
static int end(run *r, void *state)
{
	spheres *s = state;
	sim_granular_frame frame;
	// an interrupted run may end between two measurements
	s->sums.energy_final = sim_granular_kinetic_energy(r->parts.granular);
	if (write_snapshot(r, s) != EXIT_DONE)
		return EXIT_FAILED;
	const sim_granular_info info = sim_granular_get_info(r->parts.granular);
	s->bytes = (int64_t)(info.bytes + info.bytes_detector);
	s->bytes_lists = (int64_t)info.detector.bytes_lists;
	if (r->options->ranks)
		return end_shared(r, s);
	if (!sim_take_granular_frame(r->parts.granular, &frame))
		return report_error(NULL, "out of memory");
	s->hash = sim_hash_granular_frame(&frame);
	s->inside = sim_count_spheres_inside(&frame, r->scene.spheres.def.lower, r->scene.spheres.def.upper);
	sim_free_granular_frame(&frame);
	warn(r, s);
	return EXIT_DONE;
}

/// The state at the end, from which a scene of spheres alone can go on.
static int save_end(run *r, void *state)
{
	if (run_close_forces(&((spheres *)state)->forces) != EXIT_DONE)
		return EXIT_FAILED;
	return r->options->out && scene_is_of_spheres(&r->scene) ? write_checkpoint(r, state) : EXIT_DONE;
}

static void move_sums(void *state, sim_tape *tape)
{
	spheres *s = state;
	sim_tape_move(tape, &s->sums, sizeof s->sums);
	if (!tape->writing) // times are those of the continued part
		s->sums.ms_build = s->sums.ms_detection = s->sums.ms_update = s->sums.ms_obstacles = s->sums.ms_total =
			s->sums.ms_output = 0;
}

static uint64_t hash(const run *r, const void *state)
{
	(void)r;
	return ((const spheres *)state)->hash;
}

static void destroy(run *r, void *state)
{
	(void)r;
	spheres *s = state;
	io_destroy_vtk_series(s->series);
	run_drop_forces(&s->forces);
	scene_destroy_filling(&s->filling);
}

const run_part_kind run_spheres_kind = {
	.section = "spheres",
	.state_size = sizeof(spheres),
	.prepare = prepare,
	.open_table = open_table,
	.write_names = write_names,
	.step = step,
	.write_row = write_row,
	.keep = keep,
	.end = end,
	.draw = draw,
	.move_sums = move_sums,
	.close = save_end,
	.summarise = summarise,
	.print = print,
	.hash = hash,
	.destroy = destroy,
};
