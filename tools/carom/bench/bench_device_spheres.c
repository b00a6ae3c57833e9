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

enum { REPEATS = 20, QUICK_REPEATS = 3, SIZES = 2 };
static const int64_t COUNTS[SIZES] = { 100000, 1000000 }, QUICK_COUNTS[SIZES] = { 2000, 10000 };

static int repeats_of(const bench *b) { return b->quick ? QUICK_REPEATS : REPEATS; }

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

/// Find the pairs `repeats` times, after one time that is not measured. device NULL: by the
/// processor's tree.
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
	for (int i = -1; i < repeats && result == CAROM_SUCCESS; i++) {
		if (i == 0)
			d->update = d->find = (device_cost){ 0 };
		result = detect_once(spheres, device, &input, d);
	}
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

/// As crowded as a heap at rest: about three pairs for each sphere.
static bool make_dense(int64_t count, io_sphere_set *set)
{
	return scene_strew_spheres(count, 0.0005, 0.006, bench_side_for(count, 0.61), 1, set);
}

// ---- Trees ----

static void add_tree_row(bench_table *table, int64_t count, const char *what, double device, const device_cost *cost)
{
	bench_text(table, "%lld", (long long)count);
	bench_text(table, "%s", what);
	bench_number(table, cost ? cost->device_least : NAN, 4);
	bench_number(table, device, 4);
	bench_number(table, cost ? cost->wall_least : NAN, 4);
	bench_number(table, cost ? cost->wall_sum / cost->repeats : NAN, 4);
	bench_number(table, device > 0 ? 1e-6 * (double)count / device : NAN, 3);
}

static void add_trees(bench_table *table, bench_table *kernels, int64_t count, const detection *built, const detection *refitted)
{
	const device_work *w = &built->update.work;
	const double share = 1.0 / built->update.repeats;
	char what[BENCH_CELL_SIZE];
	// In a build, sums are made for the sort alone.
	add_tree_row(table, count, "sort of 63-bit keys with their values",
		share * (devices_work_ms(w, "sort_") + devices_work_ms(w, "scan")), NULL);
	add_tree_row(table, count, "build with its sort", share * built->update.device_sum, &built->update);
	add_tree_row(table, count, "refit", share * refitted->update.device_sum, &refitted->update);
	add_tree_row(table, count, "self-pairs", share * built->find.device_sum, &built->find);
	add_tree_row(table, count, "self-pairs after refits", share * refitted->find.device_sum, &refitted->find);
	snprintf(what, sizeof what, "build, %lld", (long long)count);
	bench_add_kernels(kernels, what, w, built->update.repeats);
	snprintf(what, sizeof what, "refit, %lld", (long long)count);
	bench_add_kernels(kernels, what, &refitted->update.work, refitted->update.repeats);
	snprintf(what, sizeof what, "self-pairs, %lld", (long long)count);
	bench_add_kernels(kernels, what, &built->find.work, built->find.repeats);
}

int bench_device_trees(bench *b, bench_report *report)
{
	bench_table *table = bench_add_table(report, "device-trees", "Trees of boxes (tier c): ms",
		"boxes|work|device, least|device, mean|wall, least|wall, mean|G items/s");
	bench_table *kernels = bench_add_kernel_table(report, "device-trees");
	carom_context *context = report_create_context(b->threads, b->simd);
	carom_device *device = context ? bench_open_device(b, context, CAROM_TIER_COMPUTE) : NULL;
	int status = device ? EXIT_DONE : EXIT_FAILED;
	for (int i = 0; i < SIZES && status == EXIT_DONE; i++) {
		const int64_t count = b->quick ? QUICK_COUNTS[i] : COUNTS[i];
		io_sphere_set set = { 0 };
		detection here, built, refitted;
		if (!make_dense(count, &set))
			status = report_error(NULL, "out of memory");
		if (status == EXIT_DONE)
			status = detect(context, NULL, CAROM_UPKEEP_REBUILD, &set, 1, &here);
		if (status == EXIT_DONE)
			status = detect(context, device, CAROM_UPKEEP_REBUILD, &set, repeats_of(b), &built);
		if (status == EXIT_DONE)
			status = detect(context, device, CAROM_UPKEEP_REFIT, &set, repeats_of(b), &refitted);
		if (status == EXIT_DONE)
			status = check("built trees", &built, &here);
		if (status == EXIT_DONE)
			status = check("refitted trees", &refitted, &here);
		if (status == EXIT_DONE)
			add_trees(table, kernels, count, &built, &refitted);
		io_free_spheres(&set);
	}
	if (status == EXIT_DONE)
		bench_note_device(report, device);
	bench_note(report, "boxes of spheres, radii 0.0005 to 0.006, as crowded as a heap; all pairs are the processor's");
	bench_note(report, "device: the sum of the kernels; wall: the whole call, copies and the waits for the device included");
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
	bench_number(table, d->update.device_sum / d->update.repeats, 3);
	bench_number(table, d->find.device_sum / d->find.repeats, 3);
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
		status = detect(context, device, CAROM_UPKEEP_REBUILD, set, repeats_of(b), &found);
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
		if (devices_has_tier(info, tier) && (b->tier == CAROM_TIER_AUTO || b->tier == tier))
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

enum { RESTING_FACTOR = 15, CHECKED_STEPS = 10 };

static sim_granular *start_grains(carom_context *context, carom_device *device, const scene_description *scene,
	const scene_granular_filling *filling, sim_error *error)
{
	sim_granular_def def = scene_filled_def(scene, filling);
	def.device = device;
	return sim_create_granular(context, &def, error);
}

typedef struct grains_run {
	device_cost cost;
	double contacts; // of a step, mean
	int lists;
} grains_run;

static bool step_grains(sim_granular *granular, carom_device *device, int steps, grains_run *run, sim_error *error)
{
	*run = (grains_run){ 0 };
	for (int i = 0; i < steps; i++) {
		sim_granular_step step;
		const device_work before = bench_begin_repeat(device);
		const double start = sim_now_ms();
		if (!sim_granular_advance(granular, &step, error))
			return false;
		bench_end_repeat(&run->cost, device, &before, sim_now_ms() - start);
		run->contacts += (double)step.contacts / steps;
		run->lists += step.list_built;
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
	bench_number(table, run->cost.device_least, 4);
	bench_number(table, run->cost.device_sum / run->cost.repeats, 4);
}

/// The first steps on both, and the state after them; then further ones on the device, while the heap moves and at rest.
static int compare_grains(bench_report *report, bench_table *tables[2], sim_granular *here, sim_granular *there,
	carom_device *device, int64_t count, int steps)
{
	sim_error error;
	grains_run runs[5];
	uint64_t hashes[2];
	if (!step_grains(here, NULL, CHECKED_STEPS, &runs[0], &error) ||
		!step_grains(there, device, CHECKED_STEPS, &runs[1], &error))
		return report_error(NULL, "%s", error.text);
	if (!bench_hash_grains(here, &hashes[0]) || !bench_hash_grains(there, &hashes[1]))
		return report_error(NULL, "out of memory");
	if (!step_grains(there, device, steps, &runs[2], &error) ||
		!step_grains(there, device, RESTING_FACTOR * steps, &runs[3], &error) ||
		!step_grains(there, device, steps, &runs[4], &error))
		return report_error(NULL, "%s", error.text);
	const bool exact = sim_granular_get_info(there).device.exact;
	if (exact && hashes[0] != hashes[1])
		return report_error(NULL, "after %d steps the device's spheres are not where the processor's are", CHECKED_STEPS);
	add_grains_row(tables[0], "processor, first steps", count, &runs[0]);
	add_grains_row(tables[0], "device, first steps", count, &runs[1]);
	add_grains_row(tables[0], "device, moving heap", count, &runs[2]);
	add_grains_row(tables[0], "device, resting heap", count, &runs[4]);
	bench_add_kernels(tables[1], "a step, moving heap", &runs[2].cost.work, steps);
	bench_add_kernels(tables[1], "a step, resting heap", &runs[4].cost.work, steps);
	bench_note(report, "after the first %d steps the states of device and processor are %s; the device rounds %s",
		CHECKED_STEPS, hashes[0] == hashes[1] ? "equal, bit for bit" : "not equal",
		exact ? "as the processor does" : "other than the processor");
	return EXIT_DONE;
}

static int measure_grains(const bench *b, bench_report *report, bench_table *tables[2], carom_context *context,
	carom_device *device, const scene_description *scene, const bench_sphere_case *which)
{
	sim_error error;
	scene_granular_filling filling = { 0 };
	if (!scene_fill_spheres(context, scene, &filling, &error))
		return report_error(NULL, "%s", error.text);
	int status = bench_settle_spheres(context, device, scene, which, &filling);
	sim_granular *here = NULL, *there = NULL;
	if (status == EXIT_DONE) {
		here = start_grains(context, NULL, scene, &filling, &error);
		there = here ? start_grains(context, device, scene, &filling, &error) : NULL;
		status = there ? compare_grains(report, tables, here, there, device, filling.count, b->quick ? 20 : 200)
					   : report_error(NULL, "%s", error.text);
	}
	sim_destroy_granular(here);
	sim_destroy_granular(there);
	scene_destroy_filling(&filling);
	return status;
}

int bench_device_grains(bench *b, bench_report *report)
{
	bench_table *tables[2];
	tables[0] = bench_add_table(report, "device-grains", "Granular steps of spheres in a heap: ms",
		"spheres|where|steps|contacts per sphere|lists made|wall, least|wall, mean|kernels, least|kernels, mean");
	tables[1] = bench_add_kernel_table(report, "device-grains");
	const bench_sphere_case which = { .file = "freefall.json",
		.state = "in a heap",
		.count = b->quick ? 2000 : 1000000,
		.packing = BENCH_HEAP,
		.settle = b->quick ? 200 : 800 };
	scene_description scene;
	carom_context *context = report_create_context(b->threads, b->simd);
	carom_device *device = context ? bench_open_device(b, context, CAROM_TIER_COMPUTE) : NULL;
	int status = device ? bench_open_sphere_scene(b, &which, &scene) : EXIT_FAILED;
	if (device) {
		if (status == EXIT_DONE)
			status = measure_grains(b, report, tables, context, device, &scene, &which);
		scene_destroy(&scene);
		bench_note_device(report, device);
	}
	bench_note(report,
		"ten layers that settled on the device without bouncing under four times the gravity, and move again under one; at rest "
		"after %d times as many steps as are measured; linear springs, no friction; each step is one submission",
		RESTING_FACTOR);
	carom_destroy_device(device);
	carom_destroy_context(context);
	return status;
}
