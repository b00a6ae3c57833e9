// `carom replay`: detection alone over recorded poses. Each step puts the bodies where the recording has them and finds all
// contacts; the milliseconds are those that the library itself reports for its stages.
#include "commands.h"
#include "mesh_input.h"
#include "motion.h"
#include "options.h"
#include "progress.h"
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Steps before the measured ones that let caches, pools and temporal data settle.
enum { WARM_UP_STEPS = 10 };

typedef struct replay_options {
	const char *motion;
	motion_options source;
	option_range steps;
	int64_t threads;
	int simd, rays, broad;
	bool no_complete, exit_distance, json;
	int64_t max_contacts;
	double speculative;
	const char *pairs, *contacts, *record;
} replay_options;

// Sums over the measured steps.
typedef struct replay_sums {
	int64_t steps;
	double box_pairs, narrow_pairs, colliding_pairs, contacts, contacts_found, vertices_tested, rays_full, pairs_completed,
		pairs_crossing, triangle_tests;
	double total, trees, pair, vertex, ray, complete, merge;
	double *totals; // milliseconds of each step
	double deepest;
	uint64_t hash;
	size_t memory_peak;
} replay_sums;

typedef struct replay {
	replay_options options;
	carom_context *context;
	motion motion;
	carom_world *world;
	replay_sums sums;
	sim_output_file pairs_file, contacts_file, record_file;
} replay;

static int parse(replay_options *o, int argc, char **argv)
{
	// clang-format off
	const option options[] = {
		{ .name = "mesh", .letter = 'm', .argument = "FILE", .kind = OPTION_TEXT, .value = &o->source.mesh,
			.help = "mesh of the bodies (needed for .rbt.gz)" },
		{ .name = "ground", .letter = 'g', .kind = OPTION_FLAG, .value = &o->source.ground,
			.help = "add the recording's ground plane as body -1" },
		{ .name = "steps", .letter = 's', .argument = "A:B", .kind = OPTION_RANGE, .value = &o->steps,
			.help = "measure steps A to B-1 (all); the ten before A run unmeasured" },
		{ .name = "threads", .letter = 't', .argument = "N", .kind = OPTION_INTEGER, .value = &o->threads, .maximum = 256,
			.help = "threads (0: one for each core)" },
		{ .name = "rays", .argument = "METHOD", .kind = OPTION_CHOICE, .value = &o->rays, .choices = options_ray_words,
			.help = "how rays are cast (wide)" },
		{ .name = "broad", .argument = "METHOD", .kind = OPTION_CHOICE, .value = &o->broad, .choices = options_broad_words,
			.help = "how pairs of boxes are found (the library's default)" },
		{ .name = "no-complete", .kind = OPTION_FLAG, .value = &o->no_complete,
			.help = "leave out the triangle test of pairs that no ray hit" },
		{ .name = "exit-distance", .kind = OPTION_FLAG, .value = &o->exit_distance,
			.help = "drop rays that leave their own body before the target" },
		{ .name = "max-contacts", .argument = "N", .kind = OPTION_INTEGER, .value = &o->max_contacts, .maximum = 256,
			.help = "contacts kept for each pair (0: all)" },
		{ .name = "speculative", .argument = "D", .kind = OPTION_REAL, .value = &o->speculative, .maximum = 1e6,
			.help = "report surfaces apart by at most D metres too (0)" },
		{ .name = "grid", .argument = "N", .kind = OPTION_INTEGER, .value = &o->source.grid_resolution, .maximum = 128,
			.help = "cells of the inside-outside grid of meshes, 0: none" },
		{ .name = "simd", .argument = "SET", .kind = OPTION_CHOICE, .value = &o->simd, .choices = options_simd_words,
			.help = "instruction set (auto)" },
		{ .name = "pairs", .argument = "FILE", .kind = OPTION_TEXT, .value = &o->pairs,
			.help = "write the colliding pairs: `step a b`" },
		{ .name = "contacts", .argument = "FILE", .kind = OPTION_TEXT, .value = &o->contacts,
			.help = "write the contacts: `step a b vertex triangle p n depth`" },
		{ .name = "record", .argument = "FILE", .kind = OPTION_TEXT, .value = &o->record,
			.help = "record all library calls, for a bug report: `carom replay FILE` repeats them" },
		{ .name = "json", .kind = OPTION_FLAG, .value = &o->json, .help = "print one JSON object" },
		{ 0 },
	};
	// clang-format on
	const command_line line = {
		.command = "replay",
		.synopsis = "TRAJECTORY --mesh MESH [options]",
		.summary = "Detect collisions over recorded poses: milliseconds of each stage, pairs, contacts.",
		.details = "TRAJECTORY is a recorded motion (.rbt.gz), a recording.h5 of `carom run` (which holds its meshes), or a\n"
				   "recording of library calls, whose results are compared with the recorded ones.\n"
				   "All numbers are means per step. docs/command.md describes files and fields.",
		.options = options,
		.least = 1,
		.most = 1,
	};
	int count;
	return options_parse(&line, argc, argv, &o->motion, &count);
}

static bool create_world(replay *r)
{
	const replay_options *o = &r->options;
	carom_world_def def = carom_default_world_def();
	if (o->broad >= 0)
		def.broad_phase = (carom_broad_phase)o->broad;
	def.ray_method = (carom_ray_method)o->rays;
	def.max_contacts_per_pair = (int32_t)o->max_contacts;
	def.complete = !o->no_complete;
	def.exit_distance_test = o->exit_distance;
	def.speculative_distance = o->speculative;
	if (carom_create_world(r->context, &def, &r->world) == CAROM_SUCCESS)
		return true;
	report_error(NULL, "cannot make the world: %s", carom_error_text(r->context));
	return false;
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

static void add_stats(replay_sums *sums, const carom_world *world)
{
	const carom_stats s = carom_world_stats(world);
	const carom_contact_view contacts = carom_world_contacts(world);
	sums->totals[sums->steps++] = s.ms_total;
	sums->box_pairs += s.box_pairs;
	sums->narrow_pairs += s.narrow_pairs;
	sums->colliding_pairs += s.colliding_pairs;
	sums->contacts += s.contacts;
	sums->contacts_found += s.contacts_found;
	sums->vertices_tested += (double)s.vertices_tested;
	sums->rays_full += (double)s.rays_full;
	sums->pairs_completed += s.pairs_completed;
	sums->pairs_crossing += s.pairs_crossing;
	sums->triangle_tests += (double)s.triangle_tests;
	sums->total += s.ms_total;
	sums->trees += s.ms_trees;
	sums->pair += s.ms_pair;
	sums->vertex += s.ms_vertex;
	sums->ray += s.ms_ray;
	sums->complete += s.ms_complete;
	sums->merge += s.ms_merge;
	sums->memory_peak = s.memory_peak;
	for (int32_t i = 0; i < contacts.count; i++)
		if ((double)contacts.data[i].depth > sums->deepest)
			sums->deepest = (double)contacts.data[i].depth;
	// The finaliser of splitmix64 (Steele, Lea, Flood 2014) makes the order of the steps count.
	uint64_t h = sums->hash + carom_world_hash(world) + 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
	h = (h ^ h >> 27) * 0x94d049bb133111ebu;
	sums->hash = h ^ h >> 31;
}

static bool step(replay *r, int64_t frame)
{
	if (!motion_apply(&r->motion, r->world, frame))
		return false;
	if (carom_world_step(r->world) != CAROM_SUCCESS) {
		report_error(NULL, "step %lld: %s", (long long)frame, carom_error_text(r->context));
		return false;
	}
	if (frame < r->options.steps.first)
		return true;
	add_stats(&r->sums, r->world);
	if (r->pairs_file.stream)
		write_pairs(r->pairs_file.stream, r->world, frame);
	if (r->contacts_file.stream)
		write_contacts(r->contacts_file.stream, r->world, frame);
	return true;
}

static bool run_steps(replay *r)
{
	const option_range range = r->options.steps;
	const int64_t begin = range.first > WARM_UP_STEPS ? range.first - WARM_UP_STEPS : 0;
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

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

// Sorts the milliseconds.
static double median_total(replay_sums *sums)
{
	qsort(sums->totals, (size_t)sums->steps, sizeof *sums->totals, compare_doubles);
	const int64_t half = sums->steps / 2;
	return sums->steps % 2 ? sums->totals[half] : 0.5 * (sums->totals[half - 1] + sums->totals[half]);
}

static int print_json(replay *r)
{
	replay_sums *s = &r->sums;
	const double n = (double)s->steps, median = median_total(s);
	cJSON *json = cJSON_CreateObject();
	cJSON_AddNumberToObject(json, "steps", n);
	cJSON_AddNumberToObject(json, "first_step", (double)r->options.steps.first);
	cJSON_AddNumberToObject(json, "bodies", (double)r->motion.body_count);
	cJSON_AddBoolToObject(json, "ground", r->options.source.ground);
	cJSON_AddNumberToObject(json, "threads", carom_context_threads(r->context));
	cJSON_AddStringToObject(json, "simd", carom_simd_name(carom_context_simd(r->context)));
	cJSON_AddNumberToObject(json, "pairs", s->box_pairs / n);
	cJSON_AddNumberToObject(json, "narrow_pairs", s->narrow_pairs / n);
	cJSON_AddNumberToObject(json, "colliding_pairs", s->colliding_pairs / n);
	cJSON_AddNumberToObject(json, "contacts", s->contacts / n);
	cJSON_AddNumberToObject(json, "contacts_found", s->contacts_found / n);
	cJSON_AddNumberToObject(json, "deepest", s->deepest);
	cJSON_AddNumberToObject(json, "vertices", s->vertices_tested / n);
	cJSON *rays = cJSON_AddObjectToObject(json, "rays");
	cJSON_AddNumberToObject(rays, "full", s->rays_full / n);
	cJSON_AddNumberToObject(rays, "iterative", 0);
	cJSON_AddNumberToObject(rays, "predictive", 0);
	cJSON_AddNumberToObject(rays, "lost", 0);
	cJSON_AddNumberToObject(json, "pairs_completed", s->pairs_completed / n);
	cJSON_AddNumberToObject(json, "pairs_crossing", s->pairs_crossing / n);
	cJSON_AddNumberToObject(json, "triangle_tests", s->triangle_tests / n);
	cJSON *ms = cJSON_AddObjectToObject(json, "ms");
	cJSON_AddNumberToObject(ms, "total", s->total / n);
	cJSON_AddNumberToObject(ms, "min", s->totals[0]);
	cJSON_AddNumberToObject(ms, "median", median);
	cJSON_AddNumberToObject(ms, "trees", s->trees / n);
	cJSON_AddNumberToObject(ms, "pair", s->pair / n);
	cJSON_AddNumberToObject(ms, "vertex", s->vertex / n);
	cJSON_AddNumberToObject(ms, "ray", s->ray / n);
	cJSON_AddNumberToObject(ms, "complete", s->complete / n);
	cJSON_AddNumberToObject(ms, "merge", s->merge / n);
	cJSON_AddNumberToObject(json, "memory_peak", (double)s->memory_peak);
	report_add_hash(json, "hash", s->hash);
	return report_json(json);
}

static int print_text(replay *r)
{
	replay_sums *s = &r->sums;
	const double n = (double)s->steps, median = median_total(s);
	printf("%s: %lld bodies%s, steps %lld to %lld, %d thread%s, %s\n", r->options.motion, (long long)r->motion.body_count,
		r->options.source.ground ? " and the ground" : "", (long long)r->options.steps.first,
		(long long)r->options.steps.end - 1, carom_context_threads(r->context),
		carom_context_threads(r->context) == 1 ? "" : "s", carom_simd_name(carom_context_simd(r->context)));
	const struct {
		const char *label;
		double sum;
	} counts[] = { { "pairs of boxes", s->box_pairs }, { "pairs of oriented boxes", s->narrow_pairs },
		{ "colliding pairs", s->colliding_pairs }, { "contacts", s->contacts }, { "vertices reached", s->vertices_tested },
		{ "rays", s->rays_full }, { "pairs completed", s->pairs_completed }, { "triangle tests", s->triangle_tests } },
	  times[] = { { "trees", s->trees }, { "pair", s->pair }, { "vertex", s->vertex }, { "ray", s->ray },
		  { "complete", s->complete }, { "merge", s->merge }, { "total", s->total } };
	printf("\nmean per step\n");
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
		printf("  %-24s %12.1f\n", counts[i].label, counts[i].sum / n);
	printf("\nmilliseconds per step\n");
	for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
		printf("  %-24s %12.4f %5.1f %%\n", times[i].label, times[i].sum / n, s->total > 0 ? 100 * times[i].sum / s->total : 0);
	printf("  %-24s %12.4f\n  %-24s %12.4f\n", "least total", s->totals[0], "median total", median);
	printf("\ndeepest contact %.6g m, most memory %.1f MiB, hash %016llx\n", s->deepest, (double)s->memory_peak / 1048576,
		(unsigned long long)s->hash);
	return report_end_of_text();
}

// The steps of the option against those that there are.
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
		(o->record && report_open(&r->record_file, o->record) != EXIT_DONE))
		return EXIT_FAILED;
	if (o->record && carom_world_record(r->world, write_calls, r->record_file.stream) != CAROM_SUCCESS)
		return report_error(o->record, "%s", carom_error_text(r->context));
	return EXIT_DONE;
}

static int commit_outputs(replay *r)
{
	if (r->record_file.stream && carom_world_record(r->world, NULL, NULL) != CAROM_SUCCESS)
		return report_error(r->options.record, "%s", carom_error_text(r->context));
	sim_output_file *const files[] = { &r->pairs_file, &r->contacts_file, &r->record_file };
	for (int i = 0; i < 3; i++)
		if (files[i]->stream && report_commit(files[i]) != EXIT_DONE)
			return EXIT_FAILED;
	return EXIT_DONE;
}

static int measure(replay *r)
{
	const option_range *steps = &r->options.steps;
	if (!check_range(r) || !create_world(r))
		return EXIT_FAILED;
	r->sums.totals = malloc((size_t)(steps->end - steps->first) * sizeof(double));
	if (!r->sums.totals)
		return report_error(NULL, "out of memory");
	if (open_outputs(r) != EXIT_DONE || !run_steps(r) || commit_outputs(r) != EXIT_DONE)
		return EXIT_FAILED;
	return (r->options.json ? print_json : print_text)(r);
}

// A stream of library calls is run by the library itself, which compares what it finds with what was recorded.
static bool read_calls(void *bytes, size_t count, void *user) { return fread(bytes, 1, count, user) == count; }

static int replay_calls(replay *r)
{
	const replay_options *o = &r->options;
	if (o->source.mesh || o->source.ground || o->pairs || o->contacts || o->record)
		return options_misuse("replay",
			"%s is a recording of library calls: --mesh, --ground, --pairs, --contacts and --record do not apply", o->motion);
	FILE *file = fopen(o->motion, "rb");
	if (!file)
		return report_error(o->motion, "cannot be opened: %s", strerror(errno));
	carom_replay_result result = { 0 };
	const carom_result code = carom_replay_recording(r->context, read_calls, file, &result);
	fclose(file);
	if (code != CAROM_SUCCESS)
		return report_error(o->motion, "%s", carom_error_text(r->context));
	if (!o->json) {
		printf("%s: %lld steps of library calls, all with the recorded results, hash %016llx\n", o->motion,
			(long long)result.steps, (unsigned long long)result.hash);
		return report_end_of_text();
	}
	cJSON *json = cJSON_CreateObject();
	cJSON_AddNumberToObject(json, "steps", (double)result.steps);
	report_add_hash(json, "hash", result.hash);
	return report_json(json);
}

static int replay_motion(replay *r, file_kind kind)
{
	int status = motion_open(r->context, r->options.motion, kind, &r->options.source, &r->motion);
	if (status == OPTIONS_GO_ON)
		status = measure(r);
	carom_destroy_world(r->world); // first: it may still write to the record
	sim_output_abandon(&r->pairs_file);
	sim_output_abandon(&r->contacts_file);
	sim_output_abandon(&r->record_file);
	free(r->sums.totals);
	motion_close(&r->motion);
	return status;
}

int cmd_replay(int argc, char **argv)
{
	replay r = { .options = { .steps = { 0, INT64_MAX }, .broad = -1, .source.grid_resolution = -1 } };
	int status = parse(&r.options, argc, argv);
	if (status != OPTIONS_GO_ON)
		return status;
	const file_kind kind = motion_file_kind(r.options.motion);
	if (kind == FILE_UNREADABLE)
		return EXIT_FAILED;
	if (kind == FILE_OTHER)
		return report_error(r.options.motion,
			"is not a recorded motion; give a .rbt.gz file, a recording.h5 of `carom run` or a recording of library calls");
	r.context = report_create_context(r.options.threads, r.options.simd);
	if (!r.context)
		return EXIT_FAILED;
	status = kind == FILE_CALLS ? replay_calls(&r) : replay_motion(&r, kind);
	carom_destroy_context(r.context);
	return status;
}
