// `carom spheres`: all touching pairs of a file of spheres, and how long finding them takes.
#include "commands.h"
#include "devices.h"
#include "options.h"
#include "tool_oracle.h"
#include "progress.h"
#include "report.h"
#include "sphere_source.h"

#include <stdlib.h>

enum { REPEAT_MAX = 1000 };

typedef struct spheres_options {
	const char *path;
	const char *pairs;
	int64_t repeat, threads, memory;
	int method, simd, backend, tier;
	const char *device, *kernels, *kernel_times;
	sphere_source_options input;
	bool oracle, json;
} spheres_options;

// Milliseconds of one repetition.
typedef struct timing {
	double build, query, sort;
} timing;

typedef struct measured {
	io_sphere_set set;
	int64_t pairs;
	uint64_t hash;
	timing best; // with the least total
	double totals[REPEAT_MAX], median;
	carom_sphere_stats stats;
	int threads;
	carom_simd simd;
	oracle_difference difference; // with --oracle
	carom_device *device;         // with --backend vulkan
	device_table kernel_times;
} measured;

static int parse(spheres_options *o, int argc, char **argv)
{
	// clang-format off
	const option options[] = {
		{ .name = "method", .letter = 'm', .argument = "METHOD", .kind = OPTION_CHOICE, .value = &o->method,
			.choices = options_sphere_method_words, .help = "the same pairs, other times (auto)" },
		{ .name = "backend", .argument = "WHERE", .kind = OPTION_CHOICE, .value = &o->backend,
			.choices = device_backend_words, .help = "cpu (default), or vulkan: a graphics device" },
		{ .name = "device", .argument = "WHICH", .kind = OPTION_TEXT, .value = &o->device,
			.help = "with vulkan: auto (default), an index of `carom info --devices`, or a part of a name" },
		{ .name = "tier", .argument = "TIER", .kind = OPTION_CHOICE, .value = &o->tier, .choices = device_tier_words,
			.help = "with vulkan: c (compute), q (ray queries), p (ray pipelines), or the fastest (auto)" },
		{ .name = "kernels", .argument = "FILE", .kind = OPTION_TEXT, .value = &o->kernels, .file = OPTION_WRITES,
			.help = "keep compiled kernels there (a file in the user's cache folder); off: nowhere" },
		{ .name = "kernel-times", .argument = "FILE", .kind = OPTION_TEXT, .value = &o->kernel_times, .file = OPTION_WRITES,
			.help = "with vulkan: write calls and milliseconds of each kernel in each repetition as CSV" },
		{ .name = "repeat", .letter = 'r', .argument = "N", .kind = OPTION_INTEGER, .value = &o->repeat, .minimum = 1,
			.maximum = REPEAT_MAX, .help = "build and query N times, from scratch each time (5)" },
		{ .name = "pairs", .argument = "FILE", .kind = OPTION_TEXT, .value = &o->pairs, .file = OPTION_WRITES,
			.help = "write the pairs: `a b`, a < b, sorted" },
		{ .name = "radius", .argument = "R", .kind = OPTION_REAL, .value = &o->input.radius, .minimum = 0, .maximum = 1e12,
			.help = "radius of all spheres of a CSV or PLY file that has no radii" },
		{ .name = "double", .kind = OPTION_FLAG, .value = &o->input.wide,
			.help = "take the numbers of CSV and PLY files as double, not as the nearest float" },
		{ .name = "memory", .argument = "MIB", .kind = OPTION_INTEGER, .value = &o->memory, .minimum = 1, .maximum = 1 << 24,
			.help = "most memory for the search and its pairs; what needs more fails (no limit)" },
		{ .name = "oracle", .kind = OPTION_FLAG, .value = &o->oracle,
			.help = "compare with every pair whose boxes overlap, without grid or tree: slow; a difference is an error" },
		{ .name = "threads", .letter = 't', .argument = "N", .kind = OPTION_INTEGER, .value = &o->threads, .maximum = 256,
			.help = "threads (0: one for each core)" },
		{ .name = "simd", .argument = "SET", .kind = OPTION_CHOICE, .value = &o->simd, .choices = options_simd_words,
			.help = "instruction set (auto)" },
		{ .name = "json", .kind = OPTION_FLAG, .value = &o->json, .help = "print one JSON object" },
		{ 0 },
	};
	// clang-format on
	const command_line line = {
		.command = "spheres",
		.synopsis = "FILE [options]",
		.summary = "All pairs of spheres that touch, and how long finding them takes.",
		.details =
			"FILE: a snapshot (.sph), CSV (x,y,z,r) or the points of a PLY file. A snapshot that knows its pairs is checked\n"
			"against them: other pairs are an error. `carom make spheres` makes files of spheres.",
		.options = options,
		.least = 1,
		.most = 1,
	};
	int count;
	const int status = options_parse(&line, argc, argv, &o->path, &count);
	if (status != OPTIONS_GO_ON)
		return status;
	if (o->backend != BACKEND_VULKAN && (o->device || o->kernels || o->kernel_times || o->tier != CAROM_TIER_AUTO))
		return options_misuse(line.command, "--device, --tier, --kernels and --kernel-times need --backend vulkan");
	if (o->backend == BACKEND_VULKAN && o->method != CAROM_SPHERES_AUTO)
		return options_misuse(line.command, "--method is one of the processor: leave it out with --backend vulkan");
	return OPTIONS_GO_ON;
}

static double total(const timing *t) { return t->build + t->query; }

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/// Build and query again, time after time. The pairs of the last time stay valid.
static bool measure(carom_spheres *spheres, const spheres_options *o, measured *m, carom_sphere_pairs *pairs)
{
	const carom_sphere_input input = io_sphere_input(&m->set);
	progress bar;
	progress_start(&bar, "spheres", o->repeat);
	bool done = true;
	for (int64_t i = 0; done && i < o->repeat; i++) {
		done =
			carom_spheres_update(spheres, &input) == CAROM_SUCCESS && carom_spheres_find_pairs(spheres, pairs) == CAROM_SUCCESS;
		devices_add_rows(&m->kernel_times, m->device, i + 1);
		const carom_sphere_stats stats = carom_spheres_get_stats(spheres);
		const timing t = { stats.ms_update, stats.ms_find, stats.ms_sort };
		m->totals[i] = total(&t);
		if (i == 0 || m->totals[i] < total(&m->best)) {
			m->best = t;
			m->stats = stats;
		}
		progress_update(&bar, i + 1);
	}
	progress_finish(&bar);
	if (!done)
		return false;
	qsort(m->totals, (size_t)o->repeat, sizeof m->totals[0], by_value);
	m->median = 0.5 * (m->totals[(o->repeat - 1) / 2] + m->totals[o->repeat / 2]);
	return true;
}

static int check_expected(const spheres_options *o, const measured *m)
{
	const io_sphere_set *s = &m->set;
	if (!s->has_expected || (s->expected_pairs == (uint64_t)m->pairs && s->expected_hash == m->hash))
		return EXIT_DONE;
	return report_error(o->path,
		"its header gives %llu pairs with hash %016llx, but %lld pairs with hash %016llx were found; the spheres are not those that "
		"were counted",
		(unsigned long long)s->expected_pairs, (unsigned long long)s->expected_hash, (long long)m->pairs,
		(unsigned long long)m->hash);
}

static int ask_oracle(const spheres_options *o, const carom_sphere_pairs *pairs, measured *m)
{
	oracle_pairs dull;
	int status = EXIT_FAILED;
	if (oracle_find_sphere_pairs(&m->set, &dull)) {
		oracle_compare_pairs("spheres", (const int32_t(*)[2])(const void *)pairs->pairs, pairs->count, &dull, &m->difference);
		status = oracle_report(o->path, -1, &m->difference);
	} else {
		report_error(NULL, "out of memory");
	}
	oracle_free_pairs(&dull);
	return status;
}

static int write_pairs(const char *path, const carom_sphere_pairs *pairs)
{
	io_output_file file;
	if (report_open(&file, path) != EXIT_DONE)
		return EXIT_FAILED;
	for (int64_t i = 0; i < pairs->count; i++)
		fprintf(file.stream, "%u %u\n", pairs->pairs[i].a, pairs->pairs[i].b);
	return report_commit(&file);
}

// ---- Output ----

static double for_each_sphere(const measured *m, double value) { return m->set.count ? value / (double)m->set.count : 0; }

static int print_json(const spheres_options *o, const measured *m)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddNumberToObject(json, "spheres", (double)m->set.count);
	cJSON_AddNumberToObject(json, "pairs", (double)m->pairs);
	cJSON_AddNumberToObject(json, "contacts_per_sphere", for_each_sphere(m, 2 * (double)m->pairs));
	cJSON_AddStringToObject(json, "method", carom_sphere_method_name(m->stats.method));
	cJSON_AddNumberToObject(json, "threads", m->threads);
	cJSON_AddStringToObject(json, "simd", carom_simd_name(m->simd));
	cJSON_AddNumberToObject(json, "repeat", (double)o->repeat);
	cJSON *ms = cJSON_AddObjectToObject(json, "ms");
	cJSON_AddNumberToObject(ms, "build", m->best.build);
	cJSON_AddNumberToObject(ms, "query", m->best.query);
	cJSON_AddNumberToObject(ms, "sort", m->best.sort);
	cJSON_AddNumberToObject(ms, "total", total(&m->best));
	cJSON_AddNumberToObject(ms, "median", m->median);
	cJSON_AddNumberToObject(json, "tests", (double)m->stats.tests);
	cJSON_AddNumberToObject(json, "bytes", (double)m->stats.bytes);
	cJSON_AddNumberToObject(json, "bytes_lists", (double)m->stats.bytes_lists);
	cJSON_AddNumberToObject(json, "bytes_peak", (double)m->stats.bytes_peak);
	cJSON_AddNumberToObject(json, "bytes_per_sphere", for_each_sphere(m, (double)(m->stats.bytes - m->stats.bytes_lists)));
	report_add_hash(json, "hash", m->hash);
	if (o->oracle)
		oracle_add_json(json, &m->difference);
	cJSON_AddBoolToObject(json, "checked", m->set.has_expected);
	if (m->device)
		devices_add_json(json, m->device);
	return report_json(json);
}

static int print_text(const spheres_options *o, const measured *m)
{
	printf("%s: %lld spheres, %lld pairs that touch, %.4g contacts per sphere\n", o->path, (long long)m->set.count,
		(long long)m->pairs, for_each_sphere(m, 2 * (double)m->pairs));
	printf("  %-12s %s, %d thread%s, %s\n", "method", carom_sphere_method_name(m->stats.method), m->threads,
		m->threads == 1 ? "" : "s", carom_simd_name(m->simd));
	printf("  %-12s %.3f ms\n", "build", m->best.build);
	printf("  %-12s %.3f ms\n", "query", m->best.query);
	printf("  %-12s %.3f ms, the best of %lld; median %.3f ms\n", "both", total(&m->best), (long long)o->repeat, m->median);
	printf("  %-12s %.3f ms\n", "sort", m->best.sort);
	printf("  %-12s %.1f bytes per sphere and %.1f MiB for the pairs\n", "memory",
		for_each_sphere(m, (double)(m->stats.bytes - m->stats.bytes_lists)), (double)m->stats.bytes_lists / (1 << 20));
	printf("  %-12s %016llx%s\n", "hash", (unsigned long long)m->hash, m->set.has_expected ? ", as its header has it" : "");
	if (m->device)
		devices_print(m->device);
	if (o->oracle)
		printf("  %-12s every pair of spheres: the same %lld\n", "oracle", (long long)m->difference.count);
	return report_end_of_text();
}

static int search(const spheres_options *o, carom_context *context, measured *m)
{
	carom_spheres_def def = carom_default_spheres_def();
	def.method = (carom_sphere_method)o->method;
	// A refitted tree would be measured as a new one.
	def.upkeep = CAROM_UPKEEP_REBUILD;
	def.memory_budget = (size_t)o->memory << 20;
	if (m->device) {
		def.method = CAROM_SPHERES_DEVICE;
		def.device = m->device;
	}
	carom_spheres *spheres;
	carom_sphere_pairs pairs;
	m->threads = carom_context_threads(context);
	m->simd = carom_context_simd(context);
	if (carom_create_spheres(context, &def, &spheres) != CAROM_SUCCESS)
		return report_error(NULL, "%s", carom_error_text(context));
	int status = devices_open_table(&m->kernel_times, o->kernel_times);
	if (status == EXIT_DONE && !measure(spheres, o, m, &pairs))
		status = report_error(o->path, "%s", carom_error_text(context));
	if (status == EXIT_DONE) {
		m->pairs = pairs.count;
		m->hash = io_hash_sphere_pairs(pairs.pairs, pairs.count);
		status = check_expected(o, m);
	}
	if (status == EXIT_DONE && o->oracle)
		status = ask_oracle(o, &pairs, m);
	if (status == EXIT_DONE && o->pairs)
		status = write_pairs(o->pairs, &pairs);
	if (status == EXIT_DONE)
		status = devices_close_table(&m->kernel_times);
	io_output_abandon(&m->kernel_times.file);
	carom_destroy_spheres(spheres);
	return status;
}

int cmd_spheres(int argc, char **argv)
{
	spheres_options o = { .repeat = 5, .input = { .radius = -1 } };
	int status = parse(&o, argc, argv);
	if (status != OPTIONS_GO_ON)
		return status;
	measured m = { 0 };
	carom_context *context = NULL;
	status = EXIT_FAILED;
	if (sphere_source_load(o.path, &o.input, &m.set) && (context = report_create_context(o.threads, o.simd)) != NULL &&
		(o.backend == BACKEND_CPU || (m.device = devices_open(context, o.device, o.tier, o.kernels)) != NULL))
		status = search(&o, context, &m);
	if (status == EXIT_DONE)
		status = (o.json ? print_json : print_text)(&o, &m);
	carom_destroy_device(m.device);
	carom_destroy_context(context);
	io_free_spheres(&m.set);
	return status;
}
