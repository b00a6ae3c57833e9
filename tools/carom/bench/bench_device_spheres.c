// device-trees, device-spheres, device-grains: spheres on a graphics device.
#include "bench_device.h"

#include "bench_spheres.h"
#include "scene/sphere_sampling.h"
#include "sim/base/sim_clock.h"
#include "tools/carom/options.h"
#include "tools/carom/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 20, LARGE_REPEATS = 5, QUICK_REPEATS = 3, SIZES = 3, WARMING_MS = 500 };
static const int64_t COUNTS[SIZES] = { 100000, 1000000, 10000000 }, QUICK_COUNTS[SIZES] = { 1000, 3000, 6000 };

static int repeats_of(const bench *b, int64_t count)
{
	return b->quick ? QUICK_REPEATS : count > COUNTS[1] ? LARGE_REPEATS : REPEATS;
}

// ---- One detector over and over ----

typedef struct detection {
	device_cost update, find;
	double ms_sort; // of the pairs, on the processor, the least
	int64_t pairs, tests;
	uint64_t hash;
} detection;

static carom_result detect_once(
	carom_spheres *spheres, const carom_device *device, const carom_sphere_input *input, detection *d)
{
	carom_sphere_pairs pairs;
	const device_work at_update = bench_begin_repeat(device);
	carom_result result = carom_spheres_update(spheres, input);
	if (result != CAROM_SUCCESS)
		return result;
	bench_end_repeat(&d->update, device, &at_update, carom_spheres_get_stats(spheres).ms_update);
	const device_work at_find = bench_begin_repeat(device);
	result = carom_spheres_find_pairs(spheres, &pairs);
	if (result != CAROM_SUCCESS)
		return result;
	const carom_sphere_stats stats = carom_spheres_get_stats(spheres);
	bench_end_repeat(&d->find, device, &at_find, stats.ms_find);
	d->ms_sort = fmin(d->ms_sort, stats.ms_sort);
	d->pairs = pairs.count;
	d->tests = stats.tests;
	d->hash = io_hash_sphere_pairs(pairs.pairs, pairs.count);
	return CAROM_SUCCESS;
}

/// Find the pairs `repeats` times. Before come searches that are not measured: one, and on a device
/// as many as take half a second, since a card that waits lowers its clock, and raises it slowly.
/// device NULL: by the processor's tree.
static int detect(
	carom_context *context, carom_device *device, carom_tree_upkeep upkeep, const io_sphere_set *set, int repeats, detection *d)
{
	const carom_sphere_input input = io_sphere_input(set);
	carom_spheres_def def = carom_default_spheres_def();
	def.method = device ? CAROM_SPHERES_DEVICE : CAROM_SPHERES_TREE;
	def.device = device;
	def.upkeep = upkeep;
	*d = (detection){ .ms_sort = (double)INFINITY };
	carom_spheres *spheres;
	carom_result result = carom_create_spheres(context, &def, &spheres);
	const double start = sim_now_ms();
	do {
		result = detect_once(spheres, device, &input, d);
	} while (result == CAROM_SUCCESS && device && repeats > QUICK_REPEATS && sim_now_ms() - start < WARMING_MS);
	d->update = d->find = (device_cost){ 0 };
	for (int i = 0; i < repeats && result == CAROM_SUCCESS; i++)
		result = detect_once(spheres, device, &input, d);
	const int status = result == CAROM_SUCCESS ? EXIT_DONE : report_error(NULL, "%s", carom_error_text(context));
	carom_destroy_spheres(spheres);
	return status;
}

static int check(const char *what, const detection *found, const detection *reference)
{
	if (found->pairs == reference->pairs && found->hash == reference->hash)
		return EXIT_DONE;
	return report_error(NULL, "%s: the device found %lld pairs and the processor %lld: not the same", what,
		(long long)found->pairs, (long long)reference->pairs);
}

/// Milliseconds of kernels; nothing where there are none, or no time stamps.
static void add_kernels(bench_table *table, const device_cost *cost, double ms, int decimals)
{
	bench_number(table, cost->device_sum > 0 ? ms : NAN, decimals);
}

/// As crowded as a heap at rest: about three pairs for each sphere.
static bool make_dense(int64_t count, io_sphere_set *set)
{
	return scene_strew_spheres(count, 0.0005, 0.006, bench_side_for(count, 0.61), 1, set);
}

// ---- Trees ----

// What one set comes to: found by the processor, and by trees on the device that were built and
// refitted, with time stamps around the kernels and without.
typedef struct tree_run {
	detection here, built, refitted, built_untimed, refitted_untimed;
} tree_run;

static void add_tree_row(
	bench_table *table, int64_t count, const char *what, const device_cost *cost, const device_cost *untimed)
{
	const double device = cost->device_sum / cost->repeats;
	bench_text(table, "%lld", (long long)count);
	bench_text(table, "%s", what);
	bench_number(table, cost->device_least, 4);
	bench_number(table, device, 4);
	bench_number(table, cost->wall_least, 4);
	bench_number(table, cost->wall_sum / cost->repeats, 4);
	bench_number(table, untimed->wall_least, 4);
	bench_number(table, untimed->wall_sum / untimed->repeats, 4);
	bench_number(table, 1e-6 * (double)count / device, 3);
}

/// The sort of a build.
static void add_sort_row(bench_table *table, int64_t count, const device_cost *cost)
{
	const double ms = devices_work_ms(&cost->work, "sort_") / cost->repeats;
	bench_text(table, "%lld", (long long)count);
	bench_text(table, "sort of 63-bit keys with their values");
	bench_text(table, "-");
	bench_number(table, ms, 4);
	for (int i = 0; i < 4; i++)
		bench_text(table, "-");
	bench_number(table, 1e-6 * (double)count / ms, 3);
}

static void add_trees(bench_table *table, bench_table *kernels, int64_t count, const tree_run *r)
{
	char what[BENCH_CELL_SIZE];
	add_sort_row(table, count, &r->built.update);
	add_tree_row(table, count, "build with its sort", &r->built.update, &r->built_untimed.update);
	add_tree_row(table, count, "refit", &r->refitted.update, &r->refitted_untimed.update);
	add_tree_row(table, count, "self-pairs", &r->built.find, &r->built_untimed.find);
	add_tree_row(table, count, "self-pairs after refits", &r->refitted.find, &r->refitted_untimed.find);
	snprintf(what, sizeof what, "build, %lld", (long long)count);
	bench_add_kernels(kernels, what, &r->built.update.work, r->built.update.repeats);
	snprintf(what, sizeof what, "refit, %lld", (long long)count);
	bench_add_kernels(kernels, what, &r->refitted.update.work, r->refitted.update.repeats);
	snprintf(what, sizeof what, "self-pairs, %lld", (long long)count);
	bench_add_kernels(kernels, what, &r->built.find.work, r->built.find.repeats);
}

static int run_trees(
	const bench *b, carom_context *context, carom_device *device, carom_device *untimed, const io_sphere_set *set, tree_run *r)
{
	const int repeats = repeats_of(b, set->count);
	if (detect(context, NULL, CAROM_UPKEEP_REBUILD, set, 1, &r->here) != EXIT_DONE ||
		detect(context, device, CAROM_UPKEEP_REBUILD, set, repeats, &r->built) != EXIT_DONE ||
		detect(context, device, CAROM_UPKEEP_REFIT, set, repeats, &r->refitted) != EXIT_DONE ||
		detect(context, untimed, CAROM_UPKEEP_REBUILD, set, repeats, &r->built_untimed) != EXIT_DONE ||
		detect(context, untimed, CAROM_UPKEEP_REFIT, set, repeats, &r->refitted_untimed) != EXIT_DONE)
		return EXIT_FAILED;
	const detection *const all[] = { &r->built, &r->refitted, &r->built_untimed, &r->refitted_untimed };
	for (int i = 0; i < 4; i++) {
		if (check(i % 2 ? "refitted trees" : "built trees", all[i], &r->here) != EXIT_DONE)
			return EXIT_FAILED;
	}
	return EXIT_DONE;
}

int bench_device_trees(bench *b, bench_report *report)
{
	bench_table *table = bench_add_table(report, "device-trees", "Trees of boxes (tier c): ms",
		"boxes|work|device, least|device, mean|wall, least|wall, mean|no stamps, least|no stamps, mean|G items/s");
	bench_table *kernels = bench_add_kernel_table(report, "device-trees");
	carom_context *context = report_create_context(b->threads, b->simd);
	carom_device *device = context ? bench_open_device(b, context, CAROM_TIER_COMPUTE) : NULL;
	carom_device *untimed = device ? devices_open_untimed(context, b->device) : NULL;
	int status = untimed ? EXIT_DONE : EXIT_FAILED;
	for (int i = 0; i < SIZES && status == EXIT_DONE; i++) {
		const int64_t count = b->quick ? QUICK_COUNTS[i] : COUNTS[i];
		io_sphere_set set = { 0 };
		tree_run r;
		if (!make_dense(count, &set))
			status = report_error(NULL, "out of memory");
		if (status == EXIT_DONE)
			status = run_trees(b, context, device, untimed, &set, &r);
		if (status == EXIT_DONE)
			add_trees(table, kernels, count, &r);
		io_free_spheres(&set);
	}
	if (status == EXIT_DONE)
		bench_note_device(report, device);
	bench_note(report, "boxes of spheres, radii 0.0005 to 0.006, as crowded as a heap; all pairs are the processor's");
	bench_note(report,
		"device: the sum of the kernels; wall: the whole call, copies and the waits for the device included; no stamps: the "
		"whole call without time stamps around the kernels");
	carom_destroy_device(untimed);
	carom_destroy_device(device);
	carom_destroy_context(context);
	return status;
}

// ---- Spheres in each tier ----

typedef struct sphere_tables {
	bench_table *table, *kernels;
} sphere_tables;

static void add_sphere_row(bench_table *table, int64_t count, const char *where, const detection *d)
{
	bench_text(table, "%lld", (long long)count);
	bench_text(table, "%s", where);
	bench_number(table, d->update.wall_least, 3);
	bench_number(table, d->find.wall_least, 3);
	bench_number(table, d->update.wall_least + d->find.wall_least, 3);
	add_kernels(table, &d->update, d->update.device_sum / d->update.repeats, 3);
	add_kernels(table, &d->find, d->find.device_sum / d->find.repeats, 3);
	bench_number(table, d->ms_sort, 3);
	bench_text(table, "%lld", (long long)d->pairs);
	bench_number(table, d->pairs > 0 ? (double)d->tests / (double)d->pairs : NAN, 2);
}

static int measure_tier(const bench *b, const sphere_tables *t, carom_context *context, const io_sphere_set *set,
	carom_device_tier tier, const detection *here)
{
	char what[BENCH_CELL_SIZE];
	detection found;
	carom_device *device = bench_open_device(b, context, tier);
	int status = device ? EXIT_DONE : EXIT_FAILED;
	if (status == EXIT_DONE)
		status = detect(context, device, CAROM_UPKEEP_REBUILD, set, repeats_of(b, set->count), &found);
	if (status == EXIT_DONE)
		status = check(carom_device_tier_name(tier), &found, here);
	if (status == EXIT_DONE) {
		snprintf(what, sizeof what, "%s, %lld: build", carom_device_tier_name(tier), (long long)set->count);
		bench_add_kernels(t->kernels, what, &found.update.work, found.update.repeats);
		snprintf(what, sizeof what, "%s, %lld: pairs", carom_device_tier_name(tier), (long long)set->count);
		bench_add_kernels(t->kernels, what, &found.find.work, found.find.repeats);
		add_sphere_row(t->table, set->count, carom_device_tier_name(tier), &found);
	}
	carom_destroy_device(device);
	return status;
}

static int measure_spheres(
	const bench *b, const sphere_tables *t, carom_context *context, const carom_device_info *info, const io_sphere_set *set)
{
	detection here;
	int status = detect(context, NULL, CAROM_UPKEEP_REBUILD, set, b->quick ? 1 : 3, &here);
	if (status == EXIT_DONE)
		add_sphere_row(t->table, set->count, "processor, tree", &here);
	for (int tier = CAROM_TIER_COMPUTE; tier <= CAROM_TIER_PIPELINE && status == EXIT_DONE; tier++) {
		if (b->tier == CAROM_TIER_AUTO ? devices_has_tier(info, tier) : b->tier == tier)
			status = measure_tier(b, t, context, set, (carom_device_tier)tier, &here);
	}
	return status;
}

int bench_device_spheres(bench *b, bench_report *report)
{
	const sphere_tables t = { bench_add_table(report, "device-spheres", "Touching pairs of spheres: ms",
								  "spheres|where|build, wall|search, wall|both, wall|build, kernels|search, kernels|sorting "
								  "pairs|pairs|tests per pair"),
		bench_add_kernel_table(report, "device-spheres") };
	carom_context *context = report_create_context(b->threads, b->simd);
	carom_device *device = context ? bench_open_device(b, context, CAROM_TIER_COMPUTE) : NULL;
	if (!device) {
		carom_destroy_context(context);
		return EXIT_FAILED;
	}
	const carom_device_info info = carom_device_get_info(device);
	bench_note_device(report, device);
	carom_destroy_device(device);
	int status = EXIT_DONE;
	for (int i = 0; i < SIZES && status == EXIT_DONE; i++) {
		io_sphere_set set = { 0 };
		if (!make_dense(b->quick ? QUICK_COUNTS[i] : COUNTS[i], &set))
			status = report_error(NULL, "out of memory");
		if (status == EXIT_DONE)
			status = measure_spheres(b, &t, context, &info, &set);
		io_free_spheres(&set);
	}
	bench_note(report,
		"dense: radii 0.0005 to 0.006; number and hash of all pairs are the processor's. wall: the least of the repeats; kernels: their mean");
	carom_destroy_context(context);
	return status;
}

// ---- Granular steps ----

enum { RESTING_FACTOR = 15, CHECKED_STEPS = 10, STEPS_AHEAD = 16 };

// What is measured, and where.
typedef struct grains_bench {
	carom_context *context;
	carom_device *device, *untimed; // with time stamps around the kernels, and without
	const scene_description *scene;
	scene_granular_filling filling;
	int steps;
	bench_table *table, *kernels;
} grains_bench;

static sim_granular *start_grains(const grains_bench *g, carom_device *device, sim_error *error)
{
	sim_granular_def def = scene_filled_def(g->scene, &g->filling);
	def.device = device;
	return sim_create_granular(g->context, &def, error);
}

typedef struct grains_run {
	device_cost cost;
	double contacts; // of a step, mean
	int lists;
} grains_run;

/// Steps with so many to a submission, at most STEPS_AHEAD; the times are those of a step. device:
/// whose kernels are timed; NULL: none.
static bool step_grains(sim_granular *granular, carom_device *device, int together, int steps, grains_run *run, sim_error *error)
{
	*run = (grains_run){ 0 };
	for (int i = 0; i < steps; i += together) {
		sim_granular_step told[STEPS_AHEAD];
		const int count = steps - i < together ? steps - i : together;
		const device_work before = bench_begin_repeat(device);
		const double start = sim_now_ms();
		if (!sim_granular_advance_many(granular, count, told, NULL, error))
			return false;
		const double wall = (sim_now_ms() - start) / count;
		for (int k = 0; k < count; k++) {
			bench_end_repeat(&run->cost, device, &before, wall);
			run->contacts += (double)told[k].contacts / steps;
			run->lists += told[k].list_built;
		}
	}
	return true;
}

static void add_grains_row(bench_table *table, const char *where, int64_t count, const grains_run *run)
{
	bench_text(table, "%lld", (long long)count);
	bench_text(table, "%s", where);
	bench_text(table, "%d", run->cost.repeats);
	bench_number(table, 2 * run->contacts / (double)count, 2);
	bench_text(table, "%d", run->lists);
	bench_number(table, run->cost.wall_least, 4);
	bench_number(table, run->cost.wall_sum / run->cost.repeats, 4);
	add_kernels(table, &run->cost, run->cost.device_least, 4);
	add_kernels(table, &run->cost, run->cost.device_sum / run->cost.repeats, 4);
}

/// Further steps on the device, while the heap moves and when it is at rest.
static bool step_further(
	const grains_bench *g, sim_granular *granular, carom_device *device, int together, grains_run runs[2], sim_error *error)
{
	grains_run between;
	return step_grains(granular, device, together, g->steps, &runs[0], error) &&
		step_grains(granular, device, together, RESTING_FACTOR * g->steps, &between, error) &&
		step_grains(granular, device, together, g->steps, &runs[1], error);
}

/// The first steps on both, and the state after them; then further ones on the device.
static int compare_grains(bench_report *report, const grains_bench *g, sim_granular *here, sim_granular *there)
{
	sim_error error;
	grains_run runs[4];
	uint64_t hashes[2];
	if (!step_grains(here, NULL, 1, CHECKED_STEPS, &runs[0], &error) ||
		!step_grains(there, g->device, 1, CHECKED_STEPS, &runs[1], &error))
		return report_error(NULL, "%s", error.text);
	if (!bench_hash_grains(here, &hashes[0]) || !bench_hash_grains(there, &hashes[1]))
		return report_error(NULL, "out of memory");
	if (!step_further(g, there, g->device, 1, &runs[2], &error))
		return report_error(NULL, "%s", error.text);
	const bool exact = sim_granular_get_info(there).device.exact;
	if (exact && hashes[0] != hashes[1])
		return report_error(NULL, "after %d steps the device's spheres are not where the processor's are", CHECKED_STEPS);
	add_grains_row(g->table, "processor, first steps", g->filling.count, &runs[0]);
	add_grains_row(g->table, "device, first steps", g->filling.count, &runs[1]);
	add_grains_row(g->table, "device, moving heap", g->filling.count, &runs[2]);
	add_grains_row(g->table, "device, resting heap", g->filling.count, &runs[3]);
	bench_add_kernels(g->kernels, "a step, moving heap", &runs[2].cost.work, g->steps);
	bench_add_kernels(g->kernels, "a step, resting heap", &runs[3].cost.work, g->steps);
	bench_note(report, "after the first %d steps the states of device and processor are %s; the device rounds %s",
		CHECKED_STEPS, hashes[0] == hashes[1] ? "equal, bit for bit" : "not equal",
		exact ? "as the processor does" : "other than the processor");
	return EXIT_DONE;
}

/// All these steps once more, as `carom run` does them: without time stamps, many a submission.
static int measure_untimed(const grains_bench *g)
{
	sim_error error;
	grains_run first, runs[2];
	sim_granular *granular = start_grains(g, g->untimed, &error);
	const bool done = granular && step_grains(granular, NULL, 1, CHECKED_STEPS, &first, &error) &&
		step_further(g, granular, NULL, STEPS_AHEAD, runs, &error);
	if (done) {
		add_grains_row(g->table, "device, moving heap, 16 steps a submission", g->filling.count, &runs[0]);
		add_grains_row(g->table, "device, resting heap, 16 steps a submission", g->filling.count, &runs[1]);
	}
	sim_destroy_granular(granular);
	return done ? EXIT_DONE : report_error(NULL, "%s", error.text);
}

static int measure_grains(bench_report *report, grains_bench *g, const bench_sphere_case *which)
{
	sim_error error;
	if (!scene_fill_spheres(g->context, g->scene, &g->filling, &error))
		return report_error(NULL, "%s", error.text);
	int status = bench_settle_spheres(g->context, g->device, g->scene, which, &g->filling);
	sim_granular *here = NULL, *there = NULL;
	if (status == EXIT_DONE) {
		here = start_grains(g, NULL, &error);
		there = here ? start_grains(g, g->device, &error) : NULL;
		status = there ? compare_grains(report, g, here, there) : report_error(NULL, "%s", error.text);
	}
	sim_destroy_granular(here);
	sim_destroy_granular(there);
	if (status == EXIT_DONE)
		status = measure_untimed(g);
	scene_destroy_filling(&g->filling);
	return status;
}

int bench_device_grains(bench *b, bench_report *report)
{
	const bench_sphere_case which = { .file = "freefall.json",
		.state = "in a heap",
		.count = b->quick ? 2000 : 1000000,
		.packing = BENCH_HEAP,
		.settle = b->quick ? 200 : 800 };
	scene_description scene;
	grains_bench g = { .scene = &scene, .steps = b->quick ? 20 : 200 };
	g.table = bench_add_table(report, "device-grains", "Granular steps of spheres in a heap: ms",
		"spheres|where|steps|contacts per sphere|lists made|wall, least|wall, mean|kernels, least|kernels, mean");
	g.kernels = bench_add_kernel_table(report, "device-grains");
	g.context = report_create_context(b->threads, b->simd);
	g.device = g.context ? bench_open_device(b, g.context, CAROM_TIER_COMPUTE) : NULL;
	g.untimed = g.device ? devices_open_untimed(g.context, b->device) : NULL;
	int status = g.untimed ? bench_open_sphere_scene(b, &which, &scene) : EXIT_FAILED;
	if (g.untimed) {
		if (status == EXIT_DONE)
			status = measure_grains(report, &g, &which);
		scene_destroy(&scene);
		bench_note_device(report, g.device);
	}
	bench_note(report,
		"ten layers that settled on the device without bouncing under four times the gravity, and move again under one; at rest "
		"after %d times as many steps as are measured; linear springs, no friction; each step is one submission where nothing else is said",
		RESTING_FACTOR);
	carom_destroy_device(g.untimed);
	carom_destroy_device(g.device);
	carom_destroy_context(g.context);
	return status;
}
