// `carom bench`: the tables and figures of the papers again, our values beside theirs.
#include "tools/carom/bench/bench.h"
#include "sim/base/words.h"
#include "tools/carom/bench/bench_ccd.h"
#include "tools/carom/bench/bench_device.h"
#include "tools/carom/bench/bench_motion.h"
#include "tools/carom/bench/bench_plot.h"
#include "tools/carom/bench/bench_spheres.h"
#include "commands.h"
#include "devices.h"
#include "options.h"
#include "report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEVICES "graphics devices beside the processor"

static const bench_entry ENTRIES[] = {
	{ "table-2.1", "ray tracing in three phases: full and iterative, basic and BVH", "Lehericey 2013, Table 2.1, Figure 2.13",
		bench_table_2_1, BENCH_EITHER },
	{ "fig-2.12", "what the time of a step goes to; other libraries beside", "Lehericey 2013, Figure 2.12", bench_figure_2_12,
		BENCH_HERE },
	{ "scene-2", "the end of the fountain: full and iterative", "Lehericey 2013, section 2.3.4", bench_scene_2, BENCH_EITHER },
	{ "table-2.2", "from one group of workers to two", "Lehericey 2013, Table 2.2, Figures 2.15 and 2.16", bench_table_2_2,
		BENCH_EITHER },
	{ "table-2.3", "interpenetration with and without prediction", "Lehericey 2013, Table 2.3", bench_table_2_3, BENCH_HERE },
	{ "table-2.4", "interpenetration with and without projected constraints", "Lehericey 2013, Table 2.4", bench_table_2_4,
		BENCH_HERE },
	{ "fig-2.17", "216 bodies on a plane with and without projected constraints", "Lehericey 2013, Figure 2.17",
		bench_figure_2_17, BENCH_HERE },
	{ "pipeline-2015", "lists against one loop", "Lehericey et al. 2015, section 5.2, Figure 6", bench_pipeline_2015,
		BENCH_HERE },
	{ "scene-2-2015", "rigid bodies and sheets simulated together: full and iterative rays",
		"Lehericey et al. 2015, section 5.2", bench_scene_2_2015, BENCH_HERE },
	{ "table-1-2015", "predicted room for rays against exact room", "Lehericey et al. 2015, Table 1", bench_table_1_2015,
		BENCH_HERE },
	{ "table-2-2015", "rays missed by two predictions", "Lehericey et al. 2015, Table 2", bench_table_2_2015, BENCH_HERE },
	{ "deforming-table-1", "trees made again in each step, by four builders, and refitted", "Li and Yamaguchi, Table 1",
		bench_deforming_table_1, BENCH_HERE },
	{ "deforming-table-2", "full, iterative and predictive rays", "Li and Yamaguchi, Tables 2 and 3", bench_deforming_table_2,
		BENCH_EITHER },
	{ "deforming-table-4", "rays beside GJK and EPA: time, colliding pairs, depth",
		"Li and Yamaguchi, Table 4, Figures 10 to 13", bench_deforming_table_4, BENCH_HERE },
	{ "deforming-depth", "depth of contacts by prediction and by time step", "Li and Yamaguchi, Figures 9 and 14",
		bench_deforming_depth, BENCH_HERE },
	{ "velocity-rays", "self-collision of cloth by rays along velocities, beside the sweep",
		"Li and Yamaguchi, Algorithm 1, Figures 15 and 16", bench_velocity_rays, BENCH_HERE },
	{ "adaptive", "thresholds: fixed and chosen", "future work of Lehericey 2013", bench_adaptive, BENCH_HERE },
	{ "spheres-table-1", "millions of spheres in free fall: what a step goes to", "Mochi, Table 1, Figure 4",
		bench_spheres_table_1, BENCH_EITHER },
	{ "spheres-gravity", "the same under gravity that turns", "Mochi, section 4.1.2, Figure 5", bench_spheres_gravity,
		BENCH_EITHER },
	{ "spheres-radii", "wide ranges of radii", "Mochi, section 4.1.3, Figure 6", bench_spheres_radii, BENCH_EITHER },
	{ "spheres-grains", "one and fourteen bodies of 82,337 spheres", "Mochi, section 4.1.4, Figure 7", bench_spheres_grains,
		BENCH_EITHER },
	{ "spheres-scale", "from a thousand to a million spheres", "Mochi, section 4.2.2, Figure 8", bench_spheres_scale,
		BENCH_EITHER },
	{ "spheres-interval", "how often a tree is rebuilt", "Mochi, section 4.2.4, Figure 10", bench_spheres_interval,
		BENCH_EITHER },
	{ "spheres-validation", "collisions per step of 30 perturbed copies", "Mochi, section 5.1", bench_spheres_validation,
		BENCH_EITHER },
	{ "spheres-methods", "all methods on all kinds of sets", "no figure: what the automatic choice is about",
		bench_spheres_methods, BENCH_EITHER },
	{ "ccd-table-1", "swept impacts: what a step goes to", "MCCD, Table 1", bench_ccd_table_1, BENCH_HERE },
	{ "ccd-table-2", "along the front, from the root, breadth first", "MCCD, Table 2, Figure 7", bench_ccd_table_2,
		BENCH_EITHER },
	{ "ccd-fronts", "the front with and without orphan sets", "MCCD, section 4.6, Figure 9", bench_ccd_fronts, BENCH_HERE },
	{ "ccd-orphans", "adjacent triangles with and without orphan sets", "MCCD, section 4", bench_ccd_orphans, BENCH_HERE },
	{ "ccd-costs", "the cost model, what a test costs, false positives, memory", "MCCD, sections 1 and 5, Eq. 10 to 13",
		bench_ccd_costs, BENCH_HERE },
	{ "ccd-threads", "swept impacts on several threads", "MCCD, Figures 4 and 12 to 18", bench_ccd_threads, BENCH_HERE },
	{ "device-list", "the devices of this machine, and the one that is measured", DEVICES, bench_device_list, BENCH_DEVICE },
	{ "device-trees", "sort, build, refit and self-pairs of boxes", DEVICES, bench_device_trees, BENCH_DEVICE },
	{ "device-spheres", "touching pairs of spheres in each tier", DEVICES, bench_device_spheres, BENCH_DEVICE },
	{ "device-grains", "whole granular steps of spheres in a heap", DEVICES, bench_device_grains, BENCH_DEVICE },
	{ "device-rays", "contacts of meshes: falling, at the impact, at rest", DEVICES, bench_device_rays, BENCH_DEVICE },
	{ "device-sweep", "impacts of a cloth", DEVICES, bench_device_sweep, BENCH_DEVICE },
	{ "device-start", "the first step of a new process", DEVICES, bench_device_start, BENCH_DEVICE },
};
enum { ENTRY_COUNT = sizeof ENTRIES / sizeof ENTRIES[0] };

/// The names of all benches, ended by NULL.
static void name_entries(const char *names[ENTRY_COUNT + 1])
{
	for (int i = 0; i < ENTRY_COUNT; i++)
		names[i] = ENTRIES[i].name;
	names[ENTRY_COUNT] = NULL;
}

void *bench_allocate(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);
	if (!memory)
		exit(report_error(NULL, "out of memory"));
	return memory;
}

carom_world_def bench_paper_def(void)
{
	carom_world_def def = carom_default_world_def();
	def.internal_edge_angle = 0;
	def.temporal = CAROM_TEMPORAL_NONE;
	return def;
}

carom_world_def bench_paper_iterative_def(void)
{
	carom_world_def def = bench_paper_def();
	def.temporal = CAROM_TEMPORAL_PREDICTIVE;
	return def;
}

carom_lab bench_paper_lab(void)
{
	carom_lab lab = carom_default_lab();
	lab.ray_method = CAROM_RAYS_BINARY;
	lab.complete = false;
	lab.exit_distance_test = true;
	lab.max_depth_ratio = 0;
	lab.lost_rays = CAROM_LOST_DROP;
	return lab;
}

// ---- The machine ----

/// The processor by name, as Linux tells it.
static void processor_name(char name[128])
{
	snprintf(name, 128, "unknown");
	FILE *file = fopen("/proc/cpuinfo", "r");
	if (!file)
		return;
	char line[256];
	while (fgets(line, sizeof line, file)) {
		if (sscanf(line, "model name : %127[^\n]", name) == 1)
			break;
	}
	fclose(file);
}

typedef struct machine {
	char processor[128];
	char compiler[128];
	long cores;
	const char *simd;
	int threads;
} machine;

static bool describe_machine(const bench *b, machine *m)
{
	carom_context *context = report_create_context(b->threads, b->simd);
	if (!context)
		return false;
	processor_name(m->processor);
#ifdef __clang__
	snprintf(m->compiler, sizeof m->compiler, "%s", __VERSION__);
#else
	snprintf(m->compiler, sizeof m->compiler, "gcc %s", __VERSION__);
#endif
	m->cores = sysconf(_SC_NPROCESSORS_ONLN);
	m->simd = carom_simd_name(carom_context_simd(context)); // static text
	m->threads = b->threads;
	carom_destroy_context(context);
	return true;
}

static cJSON *machine_json(const machine *m)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "processor", m->processor);
	cJSON_AddNumberToObject(json, "cores", (double)m->cores);
	cJSON_AddStringToObject(json, "compiler", m->compiler);
	cJSON_AddStringToObject(json, "simd", m->simd);
	cJSON_AddNumberToObject(json, "threads", m->threads);
	return json;
}

/// Beside the tables, in the form of one.
static int write_machine(const bench *b, const machine *m)
{
	bench_report report = { 0 };
	bench_table *table = bench_add_table(&report, "machine", "", "processor|cores|compiler|simd|threads|size");
	bench_text(table, "%s", m->processor);
	bench_text(table, "%ld", m->cores);
	bench_text(table, "%s", m->compiler);
	bench_text(table, "%s", m->simd);
	bench_text(table, "%d", m->threads);
	bench_text(table, "%s", b->quick ? "quick" : "full");
	const int status = bench_write_csv(&report, b->out);
	bench_clear(&report);
	return status;
}

// ---- Running ----

static const bench_entry *find_entry(const char *name)
{
	for (int i = 0; i < ENTRY_COUNT; i++) {
		if (strcmp(ENTRIES[i].name, name) == 0)
			return &ENTRIES[i];
	}
	return NULL;
}

static int unknown_name(const char *name)
{
	const char *names[ENTRY_COUNT + 1];
	name_entries(names);
	const char *nearest = sim_nearest_word(name, names);
	if (nearest)
		return options_misuse("bench", "there is no bench %s; did you mean %s?", name, nearest);
	return options_misuse("bench", "there is no bench %s; --list names them", name);
}

typedef struct bench_options {
	bool list, quick, json;
	int64_t threads;
	int simd, backend, tier;
	const char *out, *scenes, *peers, *data, *device;
} bench_options;

/// Can it run where the call wants it?
static bool can_run(const bench_options *o, const bench_entry *entry)
{
	return o->backend == BACKEND_VULKAN ? entry->place != BENCH_HERE : entry->place != BENCH_DEVICE;
}

/// All benches, or with --backend vulkan those that a device can run.
static int list_entries(const bench_options *o)
{
	cJSON *object = o->json ? cJSON_CreateObject() : NULL, *list = o->json ? cJSON_AddArrayToObject(object, "benches") : NULL;
	for (int i = 0; i < ENTRY_COUNT; i++) {
		const bench_entry *entry = &ENTRIES[i];
		if (o->backend == BACKEND_VULKAN && !can_run(o, entry))
			continue;
		if (!o->json) {
			printf("%-18s %s (%s)\n", entry->name, entry->title, entry->source);
			continue;
		}
		cJSON *json = cJSON_CreateObject();
		cJSON_AddStringToObject(json, "name", entry->name);
		cJSON_AddStringToObject(json, "title", entry->title);
		cJSON_AddStringToObject(json, "source", entry->source);
		cJSON_AddBoolToObject(json, "device", entry->place != BENCH_HERE);
		cJSON_AddItemToArray(list, json);
	}
	return o->json ? report_json(object) : report_end_of_text();
}

static void print_machine(const bench *b, const machine *m, FILE *file)
{
	fprintf(file, "%s, %ld cores, %s, %s, %d thread%s; %s\n\n", m->processor, m->cores, m->compiler, m->simd, m->threads,
		m->threads == 1 ? "" : "s",
		b->quick ? "quick: small scenes, the figures are not to be quoted" : "least of the repeats, settings in turns");
}

/// Write NAME.md: the tables of a bench as a page for docs/measured, with the command, version, day
/// and machine.
static int write_page(const bench *b, const machine *m, const bench_entry *entry, const bench_report *report)
{
	char path[IO_PATH_MAX], day[16];
	snprintf(path, sizeof path, "%s/%s.md", b->out, entry->name);
	const time_t now = time(NULL);
	const struct tm *calendar = gmtime(&now);
	strftime(day, sizeof day, "%Y-%m-%d", calendar);
	io_output_file file = { 0 };
	if (report_open(&file, path) != EXIT_DONE)
		return EXIT_FAILED;
	const carom_version version = carom_get_version();
	fprintf(file.stream, "# %c%s\n\n", toupper((unsigned char)entry->title[0]), entry->title + 1);
	fprintf(file.stream, "%s. Written by `carom bench %s%s --threads %d`, Carom %d.%d.%d, %s.\n\n", entry->source, entry->name,
		b->quick ? " --quick" : "", b->threads, version.major, version.minor, version.patch, day);
	print_machine(b, m, file.stream);
	bench_write_markdown(report, file.stream);
	return report_commit(&file);
}

/// Run one bench; its results go to the folder at once.
static int run_entry(bench *b, const machine *m, const bench_entry *entry, bench_report *report)
{
	int status = entry->run(b, report);
	if (status != EXIT_DONE)
		report_error(NULL, "the bench %s has failed", entry->name);
	if (status == EXIT_DONE && b->out)
		status = bench_write_csv(report, b->out);
	if (status == EXIT_DONE && b->out)
		status = write_page(b, m, entry, report);
	if (status == EXIT_DONE && b->out)
		status = bench_draw_all(report, b->out);
	return status;
}

/// The others run even where one fails.
static int run_as_text(bench *b, const machine *m, const bench_entry *const *chosen, int count)
{
	int result = EXIT_DONE;
	bool begun = false;
	for (int i = 0; i < count; i++) {
		bench_report report = { 0 };
		const int status = run_entry(b, m, chosen[i], &report);
		if (status == EXIT_DONE) {
			if (!begun)
				print_machine(b, m, stdout);
			begun = true;
			printf("== %s: %s (%s)\n", chosen[i]->name, chosen[i]->title, chosen[i]->source);
			bench_print(&report);
			fflush(stdout);
		}
		bench_clear(&report);
		result = status == EXIT_DONE ? result : status;
	}
	const int end = report_end_of_text();
	return result == EXIT_DONE ? end : result;
}

static int run_as_json(bench *b, const machine *m, const bench_entry *const *chosen, int count)
{
	int result = EXIT_DONE;
	cJSON *json = cJSON_CreateObject();
	cJSON_AddItemToObject(json, "machine", machine_json(m));
	cJSON_AddBoolToObject(json, "quick", b->quick);
	cJSON *list = cJSON_AddArrayToObject(json, "benches");
	for (int i = 0; i < count; i++) {
		bench_report report = { 0 };
		const int status = run_entry(b, m, chosen[i], &report);
		if (status == EXIT_DONE) {
			cJSON *object = cJSON_CreateObject();
			cJSON_AddStringToObject(object, "name", chosen[i]->name);
			cJSON_AddStringToObject(object, "source", chosen[i]->source);
			bench_add_json(object, &report);
			cJSON_AddItemToArray(list, object);
		}
		bench_clear(&report);
		result = status == EXIT_DONE ? result : status;
	}
	const int end = report_json(json);
	return result == EXIT_DONE ? end : result;
}

static int run_all(bench *b, const bench_entry *const *chosen, int count, bool json)
{
	machine m;
	if (!describe_machine(b, &m))
		return EXIT_FAILED;
	if (b->out && (report_make_folder(b->out) != EXIT_DONE || write_machine(b, &m) != EXIT_DONE))
		return EXIT_FAILED;
	return json ? run_as_json(b, &m, chosen, count) : run_as_text(b, &m, chosen, count);
}

/// The path of the running command, if the system tells it.
static const char *own_path(char path[IO_PATH_MAX])
{
	const ssize_t length = readlink("/proc/self/exe", path, IO_PATH_MAX - 1);
	path[length > 0 ? length : 0] = 0;
	return path;
}

static int parse(bench_options *o, int argc, char **argv, const char **names, int *count)
{
	// clang-format off
	const option options[] = {
		{ .name = "list", .letter = 'l', .kind = OPTION_FLAG, .value = &o->list, .help = "name the benches, and do nothing" },
		{ .name = "quick", .letter = 'q', .kind = OPTION_FLAG, .value = &o->quick,
			.help = "small scenes and few steps: to see that all works, not to be quoted" },
		{ .name = "out", .letter = 'o', .argument = "DIR", .kind = OPTION_TEXT, .value = &o->out,
			.help = "write each table as CSV and Markdown and each figure as SVG there (by gnuplot)" },
		{ .name = "threads", .letter = 't', .argument = "N", .kind = OPTION_INTEGER, .value = &o->threads, .minimum = 1, .maximum = 256,
			.help = "threads of the detection (1)" },
		{ .name = "scenes", .argument = "DIR", .kind = OPTION_TEXT, .value = &o->scenes,
			.help = "folder of the scene files (scenes, else where they are installed)" },
		{ .name = "peers", .argument = "PROGRAM", .kind = OPTION_TEXT, .value = &o->peers,
			.help = "the program carom_peers (beside this one, else in PATH)" },
		{ .name = "data", .argument = "DIR", .kind = OPTION_TEXT, .value = &o->data,
			.help = "spheres-methods: measure the snapshots of spheres (*.sph) in this folder too" },
		{ .name = "simd", .argument = "SET", .kind = OPTION_CHOICE, .value = &o->simd, .choices = options_simd_words,
			.help = "instruction set (auto)" },
		{ .name = "backend", .argument = "WHERE", .kind = OPTION_CHOICE, .value = &o->backend, .choices = device_backend_words,
			.help = "cpu (default), or vulkan: the benches that run on a graphics device" },
		{ .name = "device", .argument = "WHICH", .kind = OPTION_TEXT, .value = &o->device,
			.help = "with vulkan: auto (default), an index of `carom info --devices`, or a part of a name" },
		{ .name = "tier", .argument = "TIER", .kind = OPTION_CHOICE, .value = &o->tier, .choices = device_tier_words,
			.help = "with vulkan: how spheres are searched, as in `carom spheres` (auto)" },
		{ .name = "json", .kind = OPTION_FLAG, .value = &o->json, .help = "print one JSON object" },
		{ 0 },
	};
	// clang-format on
	const char *words[ENTRY_COUNT + 1];
	name_entries(words);
	const command_line line = {
		.command = "bench",
		.synopsis = "[NAME ...] [options]",
		.summary = "Reproduce tables and figures of five papers: our values beside theirs.",
		.details =
			"Without a name all benches run, which takes many minutes; --list names them, and a name that others begin with\n"
			"(`spheres`, `ccd`, `device`) stands for those. Times are milliseconds of this machine's processor, the papers'\n"
			"those of their graphics cards or processors: the ratios are what compares. With --backend vulkan those benches\n"
			"run that can use a graphics device: `carom bench device --backend vulkan` measures all that devices do.",
		.options = options,
		.least = 0,
		.most = ENTRY_COUNT,
		.words = words,
	};
	return options_parse(&line, argc, argv, names, count);
}

static int cannot_run(const bench_options *o, const bench_entry *entry)
{
	return options_misuse("bench",
		o->backend == BACKEND_VULKAN ? "%s has no form for a device (docs/papers.md): leave --backend vulkan out"
									 : "%s needs --backend vulkan",
		entry->name);
}

/// Is it the name, or the beginning of it before a '-'?
static bool stands_for(const char *name, const bench_entry *entry)
{
	const size_t length = strlen(name);
	return strncmp(name, entry->name, length) == 0 && (entry->name[length] == 0 || entry->name[length] == '-');
}

/// The benches that the words name, each once; without words all that can run. OPTIONS_GO_ON, or
/// the exit code after a message.
static int choose(const bench_options *o, const char *const *names, int named, const bench_entry **chosen, int *count)
{
	bool wanted[ENTRY_COUNT] = { false };
	*count = 0;
	for (int i = 0; i < named; i++) {
		const bench_entry *exact = find_entry(names[i]);
		bool found = false;
		for (int k = 0; k < ENTRY_COUNT; k++) {
			if (exact ? exact != &ENTRIES[k] : !stands_for(names[i], &ENTRIES[k]))
				continue;
			if (!can_run(o, &ENTRIES[k]))
				return cannot_run(o, &ENTRIES[k]);
			if (!wanted[k])
				chosen[(*count)++] = &ENTRIES[k];
			found = wanted[k] = true;
		}
		if (!found)
			return unknown_name(names[i]);
	}
	for (int k = 0; named == 0 && k < ENTRY_COUNT; k++) {
		if (can_run(o, &ENTRIES[k]))
			chosen[(*count)++] = &ENTRIES[k];
	}
	return OPTIONS_GO_ON;
}

int cmd_bench(int argc, char **argv)
{
	bench_options o = { .threads = 1 };
	const char *names[ENTRY_COUNT];
	int named, count;
	int status = parse(&o, argc, argv, names, &named);
	if (status != OPTIONS_GO_ON)
		return status;
	if (o.backend != BACKEND_VULKAN && (o.device || o.tier != CAROM_TIER_AUTO))
		return options_misuse("bench", "--device and --tier need --backend vulkan");
	const bench_entry *chosen[ENTRY_COUNT];
	status = choose(&o, names, named, chosen, &count);
	if (status != OPTIONS_GO_ON)
		return status;
	if (o.list)
		return list_entries(&o);
	char program[IO_PATH_MAX];
	bench b = { .quick = o.quick,
		.threads = (int)o.threads,
		.simd = o.simd,
		.scenes = o.scenes,
		.peers = o.peers,
		.data = o.data,
		.out = o.out,
		.on_device = o.backend == BACKEND_VULKAN,
		.device = o.device,
		.tier = o.tier,
		.program = own_path(program) };
	const int result = run_all(&b, chosen, count, o.json);
	bench_free_motions(&b);
	free(b.depths);
	return result;
}
