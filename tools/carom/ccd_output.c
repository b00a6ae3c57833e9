// The output of `carom ccd`: means over the steps, as text or JSON. See ccd.h.
#include "ccd.h"

#include "devices.h"
#include "report.h"

#include <math.h>
#include <string.h>

const char *const ccd_method_words[] = { "auto", "front", "bvh", "phc", "sort", NULL };
const char *const ccd_volume_words[] = { "dop18", "aabb", NULL };
const char *const ccd_build_words[] = { "median", "sah", NULL };
const char *const ccd_test_words[] = { "certified", "inclusion", "cubic", NULL };

const char *ccd_kind_word(carom_sweep_kind kind) { return kind == CAROM_SWEEP_VERTEX_FACE ? "vf" : "ee"; }

// ---- Means ----

// Offsets of members of carom_sweep_stats: of milliseconds, and of counts.
typedef struct field {
	const char *name;
	size_t offset;
} field;

static const field TIMES[] = {
	{ "total", offsetof(carom_sweep_stats, ms_total) },
	{ "trees", offsetof(carom_sweep_stats, ms_trees) },
	{ "front", offsetof(carom_sweep_stats, ms_front) },
	{ "tests", offsetof(carom_sweep_stats, ms_tests) },
	{ "orphans", offsetof(carom_sweep_stats, ms_orphans) },
	{ "sort", offsetof(carom_sweep_stats, ms_sort) },
};
static const field COUNTS[] = {
	{ "volume_tests", offsetof(carom_sweep_stats, volume_tests) },
	{ "front", offsetof(carom_sweep_stats, front) },
	{ "front_kept", offsetof(carom_sweep_stats, front_kept) },
	{ "front_sprouted", offsetof(carom_sweep_stats, front_sprouted) },
	{ "front_pruned", offsetof(carom_sweep_stats, front_pruned) },
	{ "leaf_pairs", offsetof(carom_sweep_stats, leaf_pairs) },
	{ "adjacent_pairs", offsetof(carom_sweep_stats, adjacent_pairs) },
	{ "tests_vf", offsetof(carom_sweep_stats, tests_vf) },
	{ "tests_ee", offsetof(carom_sweep_stats, tests_ee) },
	{ "filtered", offsetof(carom_sweep_stats, filtered) },
	{ "device_left", offsetof(carom_sweep_stats, device_left) },
};
enum { TIME_COUNT = sizeof TIMES / sizeof TIMES[0], NUMBER_COUNT = sizeof COUNTS / sizeof COUNTS[0] };

static double mean_time(const ccd_run *run, size_t offset)
{
	double sum = 0;
	for (int64_t i = 0; i < run->step_count; i++) {
		double ms;
		memcpy(&ms, (const char *)&run->steps[i].stats + offset, sizeof ms);
		sum += ms;
	}
	return sum / (double)run->step_count;
}

static double mean_count(const ccd_run *run, size_t offset)
{
	double sum = 0;
	for (int64_t i = 0; i < run->step_count; i++)
		sum += (double)*(const int64_t *)((const char *)&run->steps[i].stats + offset);
	return sum / (double)run->step_count;
}

static const carom_sweep_stats *last_stats(const ccd_run *run) { return &run->steps[run->step_count - 1].stats; }

// Counts and greatest values over all steps.
typedef struct ccd_extremes {
	int64_t rebuilt, over_budget; // steps
	size_t bytes, bytes_front;
} ccd_extremes;

static ccd_extremes extremes_of(const ccd_run *run)
{
	ccd_extremes e = { 0 };
	for (int64_t i = 0; i < run->step_count; i++) {
		const carom_sweep_stats *stats = &run->steps[i].stats;
		e.rebuilt += stats->front_rebuilt;
		e.over_budget += stats->front_over_budget;
		e.bytes = stats->bytes_peak > e.bytes ? stats->bytes_peak : e.bytes;
		e.bytes_front = stats->bytes_front > e.bytes_front ? stats->bytes_front : e.bytes_front;
	}
	return e;
}

// ---- Output ----

static void add_time(cJSON *json, const char *name, double time)
{
	if (isnan(time))
		cJSON_AddNullToObject(json, name);
	else
		cJSON_AddNumberToObject(json, name, time);
}

static void add_first(cJSON *json, const ccd_run *run)
{
	const bool found = run->first_step >= 0;
	add_time(json, "earliest", found ? (double)run->first_step + run->first.time : (double)NAN);
	if (!found)
		return;
	cJSON *first = cJSON_AddObjectToObject(json, "earliest_hit");
	cJSON_AddNumberToObject(first, "step", (double)run->first_step);
	cJSON_AddStringToObject(first, "kind", ccd_kind_word(run->first.kind));
	cJSON_AddItemToObject(first, "vertices", cJSON_CreateIntArray(run->first.vertices, 4));
	cJSON_AddNumberToObject(first, "time", run->first.time);
}

static void add_steps(cJSON *json, const ccd_run *run)
{
	cJSON *steps = cJSON_AddArrayToObject(json, "steps");
	for (int64_t i = 0; i < run->step_count; i++) {
		const ccd_step *s = &run->steps[i];
		cJSON *step = cJSON_CreateObject();
		cJSON_AddItemToArray(steps, step);
		cJSON_AddNumberToObject(step, "step", (double)s->number);
		cJSON_AddNumberToObject(step, "vf", (double)s->vf);
		cJSON_AddNumberToObject(step, "ee", (double)s->ee);
		add_time(step, "earliest", s->earliest);
		cJSON_AddNumberToObject(step, "ms", s->stats.ms_total);
		cJSON_AddNumberToObject(step, "volume_tests", (double)s->stats.volume_tests);
		cJSON_AddNumberToObject(step, "front", (double)s->stats.front);
		cJSON_AddBoolToObject(step, "front_rebuilt", s->stats.front_rebuilt);
	}
}

static const char *method_word(const ccd_options *o, const ccd_run *run)
{
	return run->device ? "device" : ccd_method_words[o->method];
}

static void add_settings(cJSON *json, const ccd_options *o, const ccd_run *run)
{
	cJSON_AddStringToObject(json, "method", method_word(o, run));
	cJSON_AddStringToObject(json, "volume", ccd_volume_words[o->volume]);
	cJSON_AddStringToObject(json, "build", ccd_build_words[o->build]);
	cJSON_AddStringToObject(json, "test", ccd_test_words[o->test]);
	cJSON_AddNumberToObject(json, "tolerance", o->tolerance);
	cJSON_AddNumberToObject(json, "separation", o->separation);
	cJSON_AddNumberToObject(json, "threads", run->threads);
	cJSON_AddStringToObject(json, "simd", carom_simd_name(run->simd));
}

int ccd_print_json(const ccd_options *o, const ccd_run *run)
{
	const carom_sweep_stats *last = last_stats(run);
	const ccd_extremes extremes = extremes_of(run);
	cJSON *json = cJSON_CreateObject();
	cJSON_AddNumberToObject(json, "frames", (double)run->frames.count);
	cJSON_AddNumberToObject(json, "first_frame", (double)run->frames.first);
	cJSON_AddNumberToObject(json, "vertices", run->frames.mesh.vertex_count);
	cJSON_AddNumberToObject(json, "edges", (double)last->edges);
	cJSON_AddNumberToObject(json, "triangles", run->frames.mesh.triangle_count);
	cJSON_AddStringToObject(json, "scalar", mesh_scalar_words[run->frames.has_doubles ? SCALAR_FLOAT64 : SCALAR_FLOAT32]);
	add_settings(json, o, run);
	cJSON_AddNumberToObject(json, "vf", (double)run->sums.vf);
	cJSON_AddNumberToObject(json, "ee", (double)run->sums.ee);
	cJSON_AddNumberToObject(json, "touching", (double)run->sums.touching);
	cJSON_AddNumberToObject(json, "undecided", (double)run->sums.undecided);
	add_first(json, run);
	cJSON *ms = cJSON_AddObjectToObject(json, "ms");
	for (int i = 0; i < TIME_COUNT; i++)
		cJSON_AddNumberToObject(ms, TIMES[i].name, mean_time(run, TIMES[i].offset));
	for (int i = 0; i < NUMBER_COUNT; i++)
		cJSON_AddNumberToObject(json, COUNTS[i].name, mean_count(run, COUNTS[i].offset));
	cJSON_AddNumberToObject(json, "fronts_rebuilt", (double)extremes.rebuilt);
	cJSON_AddNumberToObject(json, "steps_over_budget", (double)extremes.over_budget);
	cJSON_AddNumberToObject(json, "orphans_vf", (double)last->orphans_vf);
	cJSON_AddNumberToObject(json, "orphans_ee", (double)last->orphans_ee);
	cJSON_AddNumberToObject(json, "bytes_peak", (double)extremes.bytes);
	cJSON_AddNumberToObject(json, "bytes_front", (double)extremes.bytes_front);
	report_add_hash(json, "hash", run->hash);
	if (o->oracle)
		oracle_add_json(json, &run->difference);
	if (run->device)
		devices_add_json(json, run->device);
	cJSON_AddItemToObject(json, "warnings", cJSON_Duplicate(run->warnings, true));
	add_steps(json, run);
	return report_json(json);
}

static void print_results(const ccd_run *run)
{
	printf("  %-12s %lld vf, %lld ee; %lld touching at the beginning of a step, %lld undecided\n", "impacts",
		(long long)run->sums.vf, (long long)run->sums.ee, (long long)run->sums.touching, (long long)run->sums.undecided);
	const int32_t *v = run->first.vertices;
	if (run->first_step < 0)
		printf("  %-12s none\n", "earliest");
	else
		printf("  %-12s %.9g in step %lld: %s %d %d %d %d\n", "earliest", run->first.time, (long long)run->first_step,
			ccd_kind_word(run->first.kind), v[0], v[1], v[2], v[3]);
}

#define MEAN(member) mean_count(run, offsetof(carom_sweep_stats, member))

static void print_front(const ccd_run *run)
{
	printf("  %-12s %12.0f nodes: %.0f stayed, %.0f came, %.0f went\n", "front", MEAN(front), MEAN(front_kept),
		MEAN(front_sprouted), MEAN(front_pruned));
	printf("  %-12s %12.0f of triangles, and %.0f of adjacent ones\n", "leaf pairs", MEAN(leaf_pairs), MEAN(adjacent_pairs));
}

int ccd_print_text(const ccd_options *o, const ccd_run *run)
{
	const frames *f = &run->frames;
	const char *from = frames_first_path(f), *to = frames_last_path(f);
	const ccd_extremes extremes = extremes_of(run);
	printf("%s%s%s: %lld frames, %d vertices, %d triangles, %s\n", from, from == to ? "" : " to ", from == to ? "" : to,
		(long long)f->count, (int)f->mesh.vertex_count, (int)f->mesh.triangle_count, f->has_doubles ? "doubles" : "floats");
	printf("  %-12s %s, %s, %s, %s, tolerance %g, separation %g, %d thread%s, %s\n", "method", method_word(o, run),
		ccd_volume_words[o->volume], ccd_build_words[o->build], ccd_test_words[o->test], o->tolerance, o->separation,
		run->threads, run->threads == 1 ? "" : "s", carom_simd_name(run->simd));
	print_results(run);
	if (o->oracle)
		printf("  %-12s every pair of features: the same %lld\n", "oracle", (long long)run->difference.count);
	printf("%s\n", run->step_count == 1 ? "The step:" : "Means of a step:");
	for (int i = 1; i < TIME_COUNT; i++)
		printf("  %-12s %12.3f ms\n", TIMES[i].name, mean_time(run, TIMES[i].offset));
	printf("  %-12s %12.3f ms\n", TIMES[0].name, mean_time(run, TIMES[0].offset));
	printf("  %-12s %12.0f\n", "box tests", MEAN(volume_tests));
	if (!run->device)
		print_front(run);
	printf("  %-12s %12.0f vf, %.0f ee; %.0f of these filtered\n", "queries", MEAN(tests_vf), MEAN(tests_ee), MEAN(filtered));
	if (run->device)
		printf("  %-12s %12.0f of these left to the processor\n", "", MEAN(device_left));
	printf("  %-12s %12.1f MiB at most, the front %.1f MiB\n", "memory", (double)extremes.bytes / (1 << 20),
		(double)extremes.bytes_front / (1 << 20));
	printf("  %-12s %016llx\n", "hash", (unsigned long long)run->hash);
	if (run->device)
		devices_print(run->device);
	return report_end_of_text();
}
