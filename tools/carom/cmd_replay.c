// `carom replay`: detection alone over recorded poses. Each step puts the bodies where the
// recording has them and finds all contacts; the milliseconds are those that the library itself
// reports for its stages.
#include "calls.h"
#include "commands.h"
#include "devices.h"
#include "mesh_input.h"
#include "motion.h"
#include "options.h"
#include "progress.h"
#include "replay_compare.h"
#include "replay_sums.h"

#include <stdlib.h>
#include <string.h>

typedef struct replay_options {
	const char *motion;
	motion_options source;
	option_range steps;
	int64_t warm_up, threads;
	int simd, rays, broad;
	bool no_complete, exit_distance, against_full, json;
	int64_t max_contacts;
	int64_t max_body_contacts;
	double speculative;
	// Temporal data and stages; -1: the library's default.
	int temporal, normal, buffers, predictor;
	bool drop_lost, naive;
	int64_t max_walk, groups;
	double threshold, extension, edge_angle, long_edges, confidence;
	const char *pairs, *contacts, *record, *out;
	int backend, tier; // device_backend, carom_device_tier
	const char *device, *kernels, *kernel_times;
} replay_options;

typedef struct replay {
	replay_options options;
	carom_context *context;
	motion motion;
	carom_world *world;
	carom_world *full;    // --against-full
	carom_device *device; // --backend vulkan
	replay_sums sums;
	replay_compare compare;
	io_output_file pairs_file, contacts_file, record_file;
	device_table kernel_times;
} replay;

// The values of the command line.
static replay_options given;

// clang-format off
static const option OPTIONS[] = {
	{ .name = "mesh", .letter = 'm', .argument = "FILE", .kind = OPTION_TEXT, .value = &given.source.mesh, .file = OPTION_READS,
		.help = "mesh of the bodies (needed for .rbt.gz)" },
	{ .name = "ground", .letter = 'g', .kind = OPTION_FLAG, .value = &given.source.ground,
		.help = "add the recording's ground plane as body -1" },
	{ .name = "steps", .letter = 's', .argument = "A:B", .kind = OPTION_RANGE, .value = &given.steps,
		.help = "measure steps A to B-1 (all)" },
	{ .name = "warm-up", .argument = "N", .kind = OPTION_INTEGER, .value = &given.warm_up, .maximum = 1e9,
		.help = "unmeasured steps before A (10)" },
	{ .name = "threads", .letter = 't', .argument = "N", .kind = OPTION_INTEGER, .value = &given.threads, .maximum = 256,
		.help = "threads (0: one for each core)" },
	{ .name = "rays", .argument = "METHOD", .kind = OPTION_CHOICE, .value = &given.rays, .choices = options_ray_words,
		.help = "how rays are cast (wide)" },
	{ .name = "broad", .argument = "METHOD", .kind = OPTION_CHOICE, .value = &given.broad, .choices = options_broad_words,
		.help = "how pairs of boxes are found (the library's default)" },
	{ .name = "no-complete", .kind = OPTION_FLAG, .value = &given.no_complete,
		.help = "leave out the triangle test of pairs that no ray hit" },
	{ .name = "exit-distance", .kind = OPTION_FLAG, .value = &given.exit_distance,
		.help = "drop rays that leave their own body before the target" },
	{ .name = "max-contacts", .argument = "N", .kind = OPTION_INTEGER, .value = &given.max_contacts, .maximum = 256,
		.help = "contacts kept for each pair (0: all)" },
	{ .name = "max-body-contacts", .argument = "N", .kind = OPTION_INTEGER, .value = &given.max_body_contacts, .maximum = 256,
		.help = "contacts kept for two bodies, whatever parts they have (0: all)" },
	{ .name = "speculative", .argument = "D", .kind = OPTION_REAL, .value = &given.speculative, .maximum = 1e6,
		.help = "report surfaces apart by at most D metres too (0)" },
	{ .name = "temporal", .argument = "WHAT", .kind = OPTION_CHOICE, .value = &given.temporal, .choices = options_temporal_words,
		.help = "what steps take over from those before (the library's default)" },
	{ .name = "drop-lost", .kind = OPTION_FLAG, .value = &given.drop_lost,
		.help = "drop iterative rays that get lost, do not cast them again" },
	{ .name = "max-walk", .argument = "N", .kind = OPTION_INTEGER, .value = &given.max_walk, .minimum = 1, .maximum = 65536,
		.help = "most triangles that an iterative ray visits (32)" },
	{ .name = "threshold", .argument = "D", .kind = OPTION_REAL, .value = &given.threshold, .maximum = 1e6,
		.help = "metres that a pair may move between full steps (0: chosen)" },
	{ .name = "extension", .argument = "D", .kind = OPTION_REAL, .value = &given.extension, .maximum = 1e6,
		.help = "metres that rays are followed outward (0: chosen)" },
	{ .name = "normal", .argument = "WHICH", .kind = OPTION_CHOICE, .value = &given.normal, .choices = options_normal_words,
		.help = "which way contacts of rays point (the library's default)" },
	{ .name = "edge-angle", .argument = "DEGREES", .kind = OPTION_REAL, .value = &given.edge_angle, .maximum = 180,
		.help = "edges flatter than this are none to contacts (5)" },
	{ .name = "long-edges", .argument = "SHARE", .kind = OPTION_REAL, .value = &given.long_edges, .maximum = 1e6,
		.help = "meshes with edges of this share of their size have contacts of edges, too (0.2); 0: all" },
	{ .name = "naive", .kind = OPTION_FLAG, .value = &given.naive, .help = "one loop over pairs in place of lists" },
	{ .name = "buffers", .argument = "WAY", .kind = OPTION_CHOICE, .value = &given.buffers, .choices = options_buffer_words,
		.help = "what to do when rays need more room than predicted (exact)" },
	{ .name = "predictor", .argument = "RULE", .kind = OPTION_CHOICE, .value = &given.predictor,
		.choices = options_predictor_words, .help = "how the room for rays is predicted (pairs)" },
	{ .name = "confidence", .argument = "C", .kind = OPTION_REAL, .value = &given.confidence, .minimum = 1, .maximum = 1e6,
		.help = "factor of that prediction (1.02)" },
	{ .name = "groups", .argument = "N", .kind = OPTION_INTEGER, .value = &given.groups, .maximum = CAROM_MAX_WORKER_GROUPS,
		.help = "deal pairs of meshes to N groups of one worker each (0: no groups)" },
	{ .name = "against-full", .kind = OPTION_FLAG, .value = &given.against_full,
		.help = "compare each measured step with one that takes nothing over" },
	{ .name = "grid", .argument = "N", .kind = OPTION_INTEGER, .value = &given.source.grid_resolution, .maximum = 128,
		.help = "cells of the inside-outside grid of meshes, 0: none" },
	{ .name = "simd", .argument = "SET", .kind = OPTION_CHOICE, .value = &given.simd, .choices = options_simd_words,
		.help = "instruction set (auto)" },
	{ .name = "pairs", .argument = "FILE", .kind = OPTION_TEXT, .value = &given.pairs, .file = OPTION_WRITES,
		.help = "write the colliding pairs: `step a b`" },
	{ .name = "contacts", .argument = "FILE", .kind = OPTION_TEXT, .value = &given.contacts, .file = OPTION_WRITES,
		.help = "write the contacts: `step a b vertex triangle p n depth`" },
	{ .name = "record", .argument = "FILE", .kind = OPTION_TEXT, .value = &given.record, .file = OPTION_WRITES,
		.help = "record all library calls, for a bug report: `carom replay FILE` repeats them" },
	{ .name = "out", .letter = 'o', .argument = "DIR", .kind = OPTION_TEXT, .value = &given.out, .file = OPTION_FOLDER,
		.help = "library calls: write the run there, for export and render: recording.h5, stats.csv, frames, spheres" },
	CALLS_OPTIONS,
	{ .name = "backend", .argument = "WHERE", .kind = OPTION_CHOICE, .value = &given.backend, .choices = device_backend_words,
		.help = "of rays and crossings: cpu (default), or vulkan: a graphics device" },
	{ .name = "device", .argument = "WHICH", .kind = OPTION_TEXT, .value = &given.device,
		.help = "index or a part of the name; `carom info --devices` lists them" },
	{ .name = "tier", .argument = "TIER", .kind = OPTION_CHOICE, .value = &given.tier, .choices = device_tier_words,
		.help = "rays: c (our kernels), q or p (the driver's), or the fastest one (auto)" },
	{ .name = "kernels", .argument = "FILE", .kind = OPTION_TEXT, .value = &given.kernels, .file = OPTION_WRITES,
		.help = "keep compiled kernels there for the next time (a file in the user's cache folder); off: nowhere" },
	{ .name = "kernel-times", .argument = "FILE", .kind = OPTION_TEXT, .value = &given.kernel_times, .file = OPTION_WRITES,
		.help = "with vulkan: write calls and milliseconds of each kernel in each step as CSV" },
	{ .name = "json", .kind = OPTION_FLAG, .value = &given.json, .help = "print one JSON object" },
	{ 0 },
};
// clang-format on

static int parse(int argc, char **argv)
{
	const command_line line = {
		.command = "replay",
		.synopsis = "TRAJECTORY --mesh MESH [options]",
		.summary = "Detect collisions over recorded poses: milliseconds of each stage, pairs, contacts.",
		.details =
			"TRAJECTORY is a recorded motion (.rbt.gz), a recording.h5 of `carom run` (which holds its meshes), or a\n"
			"recording of library calls, whose results are compared with the recorded ones, and which --out makes a run of.\n"
			"The coordinates of MESH are rounded to float; a warning tells where that moves a vertex by more than a millionth\n"
			"of the mesh's size. All numbers are means per step. docs/command.md describes files and fields.",
		.options = OPTIONS,
		.least = 1,
		.most = 1,
	};
	int count;
	return options_parse(&line, argc, argv, &given.motion, &count);
}

static void set_temporal(const replay_options *o, carom_world_def *def, carom_lab *lab)
{
	if (o->temporal >= 0)
		def->temporal = (carom_temporal)o->temporal;
	lab->lost_rays = o->drop_lost ? CAROM_LOST_DROP : CAROM_LOST_RECAST;
	lab->max_walk = (int32_t)o->max_walk;
	lab->displacement_threshold = o->threshold;
	lab->distance_extension = o->extension;
	if (o->normal >= 0)
		def->contact_normal = (carom_contact_normal)o->normal;
	if (o->edge_angle >= 0)
		def->internal_edge_angle = o->edge_angle / 180 * 3.14159265358979323846;
	if (o->long_edges >= 0)
		def->long_edge_share = o->long_edges;
}

static void set_stages(const replay_options *o, carom_lab *lab)
{
	lab->stages = o->naive ? CAROM_STAGES_NAIVE : CAROM_STAGES_LISTS;
	if (o->buffers >= 0)
		lab->ray_buffers = (carom_ray_buffers)o->buffers;
	if (o->predictor >= 0)
		lab->ray_predictor = (carom_ray_predictor)o->predictor;
	lab->buffer_confidence = o->confidence;
	lab->worker_groups = (int32_t)o->groups;
	lab->ray_method = (carom_ray_method)o->rays;
	lab->complete = !o->no_complete;
	lab->exit_distance_test = o->exit_distance;
}

static void set_broad_phase(const replay_options *o, carom_world_def *def, carom_lab *lab)
{
	lab->brute_broad_phase = o->broad == OPTIONS_BRUTE;
	if (o->broad >= 0 && !lab->brute_broad_phase)
		def->broad_phase = (carom_broad_phase)o->broad;
}

static bool create_world(carom_context *context, const carom_world_def *def, carom_world **world)
{
	if (carom_create_world(context, def, world) == CAROM_SUCCESS)
		return true;
	report_error(NULL, "cannot make the world: %s", carom_error_text(context));
	return false;
}

static bool create_worlds(replay *r)
{
	const replay_options *o = &r->options;
	carom_lab lab = carom_default_lab();
	carom_world_def def = carom_default_world_def();
	def.lab = &lab;
	def.max_contacts_per_pair = (int32_t)o->max_contacts;
	def.speculative_distance = o->speculative;
	set_broad_phase(o, &def, &lab);
	set_temporal(o, &def, &lab);
	set_stages(o, &lab);
	if (o->backend == BACKEND_VULKAN && !(r->device = devices_open(r->context, o->device, o->tier, o->kernels)))
		return false;
	if (!create_world(r->context, &def, &r->world))
		return false;
	if (carom_world_set_body_pairs(r->world, false, (int32_t)o->max_body_contacts) != CAROM_SUCCESS ||
		carom_world_set_device(r->world, r->device, false) != CAROM_SUCCESS) {
		report_error(NULL, "%s", carom_error_text(r->context));
		return false;
	}
	// Nothing taken over, nothing left out, all on the processor.
	def.temporal = CAROM_TEMPORAL_NONE;
	lab.ray_buffers = CAROM_BUFFERS_EXACT;
	return !o->against_full || create_world(r->context, &def, &r->full);
}

static int64_t number_of(uint64_t user_data)
{
	return (int64_t)user_data; // motion_apply stores it
}

static void write_pairs(FILE *file, const carom_world *world, int64_t step)
{
	const carom_pair_view pairs = carom_world_pairs(world);
	for (int32_t i = 0; i < pairs.count; i++)
		fprintf(file, "%lld %lld %lld\n", (long long)step, (long long)number_of(pairs.data[i].user_data_a),
			(long long)number_of(pairs.data[i].user_data_b));
}

static void write_contacts(FILE *file, const carom_world *world, int64_t step)
{
	const carom_pair_view pairs = carom_world_pairs(world);
	const carom_contact_view contacts = carom_world_contacts(world);
	for (int32_t i = 0; i < contacts.count; i++) {
		const carom_pair *pair = &pairs.data[contacts.data[i].pair];
		fprintf(file, "%lld ", (long long)step);
		report_contact(file, &contacts.data[i], number_of(pair->user_data_a), number_of(pair->user_data_b));
	}
}

static bool step_world(const replay *r, carom_world *world, int64_t frame)
{
	if (carom_world_step(world) == CAROM_SUCCESS)
		return true;
	report_error(NULL, "step %lld: %s", (long long)frame, carom_error_text(r->context));
	return false;
}

/// The full step of a measured step, and the differences.
static bool compare_step(replay *r, int64_t frame)
{
	if (!step_world(r, r->full, frame))
		return false;
	if (replay_compare_add(&r->compare, r->world, r->full))
		return true;
	report_error(NULL, "out of memory");
	return false;
}

static bool step(replay *r, int64_t frame)
{
	carom_world *const worlds[2] = { r->world, r->full };
	if (!motion_apply(&r->motion, worlds, r->full ? 2 : 1, frame) || !step_world(r, r->world, frame))
		return false;
	replay_compare_note(&r->compare, r->world);
	if (frame < r->options.steps.first) {
		devices_skip_rows(&r->kernel_times, r->device);
		return true;
	}
	devices_add_rows(&r->kernel_times, r->device, frame);
	replay_sums_add(&r->sums, r->world);
	if (r->full && !compare_step(r, frame))
		return false;
	if (r->pairs_file.stream)
		write_pairs(r->pairs_file.stream, r->world, frame);
	if (r->contacts_file.stream)
		write_contacts(r->contacts_file.stream, r->world, frame);
	return true;
}

static bool run_steps(replay *r)
{
	const option_range range = r->options.steps;
	const int64_t warm_up = r->options.warm_up, begin = range.first > warm_up ? range.first - warm_up : 0;
	progress bar;
	progress_start(&bar, "replay", range.end - begin);
	bool done = true;
	for (int64_t frame = begin; done && frame < range.end; frame++) {
		done = step(r, frame);
		progress_update(&bar, frame + 1 - begin);
	}
	progress_finish(&bar);
	return done;
}

static int print_json(replay *r)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddNumberToObject(json, "steps", (double)r->sums.steps);
	cJSON_AddNumberToObject(json, "first_step", (double)r->options.steps.first);
	cJSON_AddNumberToObject(json, "bodies", (double)(r->motion.body_count - r->motion.other_count));
	cJSON_AddNumberToObject(json, "other_bodies", (double)r->motion.other_count);
	cJSON_AddBoolToObject(json, "ground", r->options.source.ground);
	cJSON_AddNumberToObject(json, "threads", carom_context_threads(r->context));
	cJSON_AddStringToObject(json, "simd", carom_simd_name(carom_context_simd(r->context)));
	replay_sums_print_json(&r->sums, json);
	if (r->full)
		replay_compare_print_json(&r->compare, json);
	if (r->device)
		devices_add_json(json, r->device);
	return report_json(json);
}

static int print_text(replay *r)
{
	char others[60] = "";
	if (r->options.source.ground)
		snprintf(others, sizeof others, ", and the ground");
	else if (r->motion.other_count > 0)
		snprintf(others, sizeof others, ", others: %lld", (long long)r->motion.other_count);
	printf("%s: moving bodies: %lld%s, steps %lld to %lld, %d thread%s, %s\n", r->options.motion,
		(long long)(r->motion.body_count - r->motion.other_count), others, (long long)r->options.steps.first,
		(long long)r->options.steps.end - 1, carom_context_threads(r->context),
		carom_context_threads(r->context) == 1 ? "" : "s", carom_simd_name(carom_context_simd(r->context)));
	replay_sums_print_text(&r->sums);
	if (r->full)
		replay_compare_print_text(&r->compare);
	if (r->device)
		devices_print(r->device);
	return report_end_of_text();
}

/// The steps of the option against those that there are.
static bool check_range(replay *r)
{
	option_range *steps = &r->options.steps;
	const int64_t frames = r->motion.frame_count;
	if (steps->end == INT64_MAX)
		steps->end = frames;
	if (steps->first < steps->end && steps->end <= frames)
		return true;
	report_error(r->options.motion, "holds %lld steps, 0 to %lld; choose --steps A:B within 0:%lld", (long long)frames,
		(long long)frames - 1, (long long)frames);
	return false;
}

static bool write_calls(const void *bytes, size_t count, void *user) { return fwrite(bytes, 1, count, user) == count; }

static int open_outputs(replay *r)
{
	const replay_options *o = &r->options;
	if ((o->pairs && report_open(&r->pairs_file, o->pairs) != EXIT_DONE) ||
		(o->contacts && report_open(&r->contacts_file, o->contacts) != EXIT_DONE) ||
		(o->record && report_open(&r->record_file, o->record) != EXIT_DONE) ||
		devices_open_table(&r->kernel_times, o->kernel_times) != EXIT_DONE)
		return EXIT_FAILED;
	if (o->record && carom_world_record(r->world, write_calls, r->record_file.stream) != CAROM_SUCCESS)
		return report_error(o->record, "%s", carom_error_text(r->context));
	return EXIT_DONE;
}

static int commit_outputs(replay *r)
{
	if (r->record_file.stream && carom_world_record(r->world, NULL, NULL) != CAROM_SUCCESS)
		return report_error(r->options.record, "%s", carom_error_text(r->context));
	io_output_file *const files[] = { &r->pairs_file, &r->contacts_file, &r->record_file, &r->kernel_times.file };
	for (int i = 0; i < 4; i++) {
		if (files[i]->stream && report_commit(files[i]) != EXIT_DONE)
			return EXIT_FAILED;
	}
	return EXIT_DONE;
}

static int measure(replay *r)
{
	const option_range *steps = &r->options.steps;
	if (!check_range(r) || !create_worlds(r))
		return EXIT_FAILED;
	r->sums.totals = malloc((size_t)(steps->end - steps->first) * sizeof(double));
	r->sums.group_count = (int)r->options.groups;
	if (!r->sums.totals)
		return report_error(NULL, "out of memory");
	if (open_outputs(r) != EXIT_DONE || !run_steps(r) || commit_outputs(r) != EXIT_DONE)
		return EXIT_FAILED;
	return (r->options.json ? print_json : print_text)(r);
}

/// Say what a replay of library calls has shown.
static int tell_calls(const replay_options *o, const calls_told *t)
{
	if (!o->json) {
		printf("%s: %lld steps of library calls, all with the recorded results, hash %016llx\n", o->motion,
			(long long)t->replay.steps, (unsigned long long)t->replay.hash);
		if (o->out)
			printf("%s: rigid bodies: %lld, deforming: %lld, places of spheres: %lld, contacts in all steps: %lld\n", o->out,
				(long long)t->bodies, (long long)t->deforming, (long long)t->spheres, (long long)t->contacts);
		return report_end_of_text();
	}
	cJSON *json = cJSON_CreateObject();
	cJSON_AddNumberToObject(json, "steps", (double)t->replay.steps);
	report_add_hash(json, "hash", t->replay.hash);
	cJSON_AddNumberToObject(json, "recordings", (double)t->recordings);
	if (o->out) {
		cJSON_AddNumberToObject(json, "bodies", (double)t->bodies);
		cJSON_AddNumberToObject(json, "deforming", (double)t->deforming);
		cJSON_AddNumberToObject(json, "spheres", (double)t->spheres);
		cJSON_AddNumberToObject(json, "contacts", (double)t->contacts);
		cJSON_AddNumberToObject(json, "surface_contacts", (double)t->surface_contacts);
		cJSON_AddNumberToObject(json, "sphere_contacts", (double)t->sphere_contacts);
		cJSON_AddNumberToObject(json, "sphere_pairs", (double)t->sphere_pairs);
		cJSON_AddNumberToObject(json, "impacts", (double)t->impacts);
	}
	return report_json(json);
}

/// A stream of library calls is run by the library itself, which compares its results with the
/// recorded ones.
static int replay_calls(replay *r)
{
	const replay_options *o = &r->options;
	calls_told told;
	if (o->source.mesh || o->source.ground || o->pairs || o->contacts || o->record || o->against_full ||
		o->backend == BACKEND_VULKAN)
		return options_misuse("replay",
			"%s is a recording of library calls: --mesh, --ground, --pairs, --contacts, --record, --against-full and --backend do "
			"not apply",
			o->motion);
	int status = o->out ? report_make_folder(o->out) : EXIT_DONE;
	if (status == EXIT_DONE)
		status = o->out ? calls_write_run(r->context, o->motion, &calls_given, o->out, &told)
						: calls_replay(r->context, o->motion, &calls_given, &told);
	if (status != EXIT_DONE)
		return status;
	if (told.recordings > 1)
		report_warning(o->motion, "holds %lld recordings; this is number %lld of them, from 0 (--recording N)",
			(long long)told.recordings, (long long)calls_given.number);
	if (!told.broken[0])
		return tell_calls(o, &told);
	if (o->out)
		report_warning(o->out, "holds the %lld steps before the fault", (long long)told.replay.steps);
	return report_error(o->motion, "%s", told.broken);
}

static int replay_motion(replay *r, file_kind kind)
{
	int status = motion_open(r->context, r->options.motion, kind, &r->options.source, &r->motion);
	if (status == OPTIONS_GO_ON)
		status = measure(r);
	carom_destroy_world(r->world); // first: it may still write to the record
	carom_destroy_world(r->full);
	carom_destroy_device(r->device);
	io_output_abandon(&r->pairs_file);
	io_output_abandon(&r->contacts_file);
	io_output_abandon(&r->record_file);
	io_output_abandon(&r->kernel_times.file);
	free(r->sums.totals);
	replay_compare_free(&r->compare);
	motion_close(&r->motion);
	return status;
}

static bool is_predictive(const replay_options *o) { return o->temporal < 0 || o->temporal == CAROM_TEMPORAL_PREDICTIVE; }

/// Options that exclude each other.
static int check_options(const replay_options *o)
{
	if (o->against_full && (o->max_contacts > 0 || o->max_body_contacts > 0))
		return options_misuse("replay", "--against-full compares all contacts: leave %s out",
			o->max_contacts > 0 ? "--max-contacts" : "--max-body-contacts");
	if (o->backend != BACKEND_VULKAN && (o->device || o->kernels || o->kernel_times || o->tier != CAROM_TIER_AUTO))
		return options_misuse("replay", "--device, --tier, --kernels and --kernel-times need --backend vulkan");
	if (calls_check_options("replay") != OPTIONS_GO_ON)
		return EXIT_USAGE;
	if (is_predictive(o) && o->extension > 0 && o->threshold > o->extension)
		return options_misuse("replay",
			"--threshold %g is more than --extension %g: a vertex that no ray reached could enter unseen between full steps",
			o->threshold, o->extension);
	return OPTIONS_GO_ON;
}

/// The values of all that the command line does not name.
static replay_options default_options(void)
{
	const carom_lab lab = carom_default_lab();
	return (replay_options){ .steps = { 0, INT64_MAX },
		.warm_up = 10,
		.broad = -1,
		.source.grid_resolution = -1,
		.temporal = -1,
		.normal = -1,
		.buffers = -1,
		.predictor = -1,
		.max_walk = lab.max_walk,
		.groups = lab.worker_groups,
		.threshold = lab.displacement_threshold,
		.extension = lab.distance_extension,
		.edge_angle = -1,
		.long_edges = -1,
		.confidence = lab.buffer_confidence };
}

int cmd_replay(int argc, char **argv)
{
	given = default_options();
	int status = parse(argc, argv);
	replay r = { .options = given };
	if (status == OPTIONS_GO_ON)
		status = check_options(&r.options);
	if (status != OPTIONS_GO_ON)
		return status;
	const file_kind kind = motion_file_kind(r.options.motion);
	if (kind == FILE_UNREADABLE)
		return EXIT_FAILED;
	if (kind == FILE_OTHER)
		return report_error(r.options.motion,
			"is not a recorded motion; give a .rbt.gz file, a recording.h5 of `carom run` or a recording of library calls");
	if (kind != FILE_CALLS && r.options.out)
		return options_misuse(
			"replay", "--out needs a recording of library calls, which %s is not: export takes it as it is", r.options.motion);
	r.context = report_create_context(r.options.threads, r.options.simd);
	if (!r.context)
		return EXIT_FAILED;
	status = kind == FILE_CALLS ? replay_calls(&r) : replay_motion(&r, kind);
	carom_destroy_context(r.context);
	return status;
}
