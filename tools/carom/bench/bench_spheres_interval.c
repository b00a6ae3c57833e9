// spheres-interval: a tree rebuilt every n-th step and refitted in between (Mochi, Figure 10), and
// the two ways to choose that the paper could not have, since graphics hardware does not show its
// trees: by measured times and by the tree's cost.
#include "bench_spheres.h"

#include "tools/carom/devices.h"
#include "tools/carom/options.h"
#include "tools/carom/progress.h"
#include "tools/carom/report.h"
#include "scene/sphere_sampling.h"

#include <math.h>
#include <stdlib.h>

enum { INTERVALS = 8, VARIANTS = INTERVALS + 3 };

typedef struct upkeep_cost {
	double ms_update, ms_find;
	int64_t tests, pairs, builds;
} upkeep_cost;

// ---- Motion ----

// Each sphere flies with a velocity of its own, and walls reflect it: neighbours part as in a box
// that is shaken.
typedef struct flight {
	io_sphere_set set;
	float *velocities; // [3*count] per frame
	float side;
} flight;

// Up to so much of the mean radius along each axis in a frame: 5 m/s at the time step of the
// paper's turning gravity.
static const double MOST_MOTION = 0.45;

static bool start_flight(flight *f, int64_t count)
{
	const double least = 0.0005, most = 0.0006, volume = 4.19 * 1.67e-10, filled = 0.05;
	io_sphere_set speeds = { 0 };
	f->side = (float)cbrt((double)count * volume / filled);
	if (!scene_strew_spheres(count, least, most, (double)f->side, 1, &f->set) ||
		!scene_strew_spheres(count, 0, 0, 1, 2, &speeds)) {
		io_free_spheres(&f->set);
		return false;
	}
	f->velocities = bench_allocate((size_t)count, 3 * sizeof *f->velocities);
	const float *uniform = speeds.values;
	const float scale = (float)(MOST_MOTION * 0.5 * (least + most));
	for (int64_t i = 0; i < count; i++) {
		for (int k = 0; k < 3; k++)
			f->velocities[3 * i + k] = scale * (2 * uniform[4 * i + k] - 1);
	}
	io_free_spheres(&speeds);
	return true;
}

static void fly(flight *f)
{
	float *values = f->set.values;
	for (int64_t i = 0; i < f->set.count; i++) {
		for (int k = 0; k < 3; k++) {
			float *x = &values[4 * i + k], *v = &f->velocities[3 * i + k];
			if (*x + *v < 0 || *x + *v > f->side)
				*v = -*v;
			*x += *v;
		}
	}
}

// ---- Measurement ----

static bool work_frame(carom_spheres *spheres, const carom_sphere_input *input, upkeep_cost *cost)
{
	carom_sphere_pairs pairs;
	if (carom_spheres_update(spheres, input) != CAROM_SUCCESS || carom_spheres_find_pairs(spheres, &pairs) != CAROM_SUCCESS)
		return false;
	const carom_sphere_stats stats = carom_spheres_get_stats(spheres);
	cost->ms_update += stats.ms_update;
	cost->ms_find += stats.ms_find;
	cost->tests += stats.tests;
	cost->pairs += stats.pairs;
	cost->builds = stats.tree_builds;
	return true;
}

/// All variants see the same frames, in turns.
static int run_flight(carom_context *context, flight *f, carom_spheres **spheres, int frames, upkeep_cost *costs)
{
	const carom_sphere_input input = io_sphere_input(&f->set);
	progress bar;
	progress_start(&bar, "interval", frames);
	for (int frame = 0; frame < frames; frame++) {
		for (int i = 0; i < VARIANTS; i++) {
			if (!work_frame(spheres[(i + frame) % VARIANTS], &input, &costs[(i + frame) % VARIANTS])) {
				progress_finish(&bar);
				return report_error(NULL, "%s", carom_error_text(context));
			}
		}
		fly(f);
		progress_update(&bar, frame + 1);
	}
	progress_finish(&bar);
	for (int i = 1; i < VARIANTS; i++) {
		if (costs[i].pairs != costs[0].pairs)
			return report_error(NULL, "upkeeps %d and 0 found %lld and %lld pairs: not the same", i, (long long)costs[i].pairs,
				(long long)costs[0].pairs);
	}
	return EXIT_DONE;
}

static void make_variants(
	carom_spheres_def *defs, char names[][BENCH_CELL_SIZE], carom_sphere_method method, carom_device *device)
{
	for (int i = 0; i < VARIANTS; i++) {
		defs[i] = carom_default_spheres_def();
		defs[i].method = method;
		defs[i].device = device;
		defs[i].upkeep = CAROM_UPKEEP_INTERVAL;
		defs[i].rebuild_interval = 1 << (i < INTERVALS ? i : 0);
		snprintf(names[i], BENCH_CELL_SIZE, "%d", defs[i].rebuild_interval);
	}
	static const carom_tree_upkeep others[] = { CAROM_UPKEEP_REFIT, CAROM_UPKEEP_QUALITY, CAROM_UPKEEP_AUTO };
	static const char *const other_names[] = { "never", "by quality", "by time" };
	for (int i = 0; i < VARIANTS - INTERVALS; i++) {
		defs[INTERVALS + i].upkeep = others[i];
		snprintf(names[INTERVALS + i], BENCH_CELL_SIZE, "%s", other_names[i]);
	}
}

/// pairs: those that a method before has found, or 0; then those of this one.
static int measure_method(
	bench *b, bench_report *report, const char *name, const char *title, carom_sphere_method method, int64_t *pairs)
{
	const int64_t count = b->quick ? 2000 : 20000;
	const int frames = b->quick ? 24 : 256;
	carom_spheres_def defs[VARIANTS];
	char names[VARIANTS][BENCH_CELL_SIZE];
	carom_spheres *spheres[VARIANTS] = { NULL };
	upkeep_cost costs[VARIANTS] = { 0 };
	flight f = { 0 };
	carom_context *context = report_create_context(b->threads, b->simd);
	carom_device *device = NULL;
	int status = context ? EXIT_DONE : EXIT_FAILED;
	// Refits of several tiers would be compared with each other's trees: one tier serves all.
	if (context && method == CAROM_SPHERES_DEVICE &&
		!(device = devices_open(context, b->device, b->tier == CAROM_TIER_AUTO ? CAROM_TIER_COMPUTE : b->tier, NULL)))
		status = EXIT_FAILED;
	make_variants(defs, names, method, device);
	if (status == EXIT_DONE && !start_flight(&f, count))
		status = report_error(NULL, "out of memory");
	for (int i = 0; i < VARIANTS && status == EXIT_DONE; i++) {
		if (carom_create_spheres(context, &defs[i], &spheres[i]) != CAROM_SUCCESS)
			status = report_error(NULL, "%s", carom_error_text(context));
	}
	if (status == EXIT_DONE)
		status = run_flight(context, &f, spheres, frames, costs);
	if (status == EXIT_DONE && *pairs > 0 && costs[0].pairs != *pairs)
		status = report_error(NULL, "%s found %lld pairs, and the method before %lld: not the same", name,
			(long long)costs[0].pairs, (long long)*pairs);
	*pairs = costs[0].pairs;
	bench_table *table = bench_add_table(report, name, title, "rebuild every|built in all|build|query|total|tests per sphere");
	bench_draw(table, BENCH_BARS, 2, 3, "ms per step");
	for (int i = 0; i < VARIANTS && status == EXIT_DONE; i++) {
		bench_text(table, "%s", names[i]);
		bench_text(table, "%lld", (long long)costs[i].builds);
		bench_number(table, costs[i].ms_update / frames, 3);
		bench_number(table, costs[i].ms_find / frames, 3);
		bench_number(table, (costs[i].ms_update + costs[i].ms_find) / frames, 3);
		bench_number(table, (double)costs[i].tests / frames / (double)count, 2);
	}
	if (status == EXIT_DONE)
		bench_note(report, "%s: all found the same %lld pairs in %d steps", carom_sphere_method_name(method),
			(long long)costs[0].pairs, frames);
	for (int i = 0; i < VARIANTS; i++)
		carom_destroy_spheres(spheres[i]);
	carom_destroy_device(device);
	carom_destroy_context(context);
	io_free_spheres(&f.set);
	free(f.velocities);
	return status;
}

int bench_spheres_interval(bench *b, bench_report *report)
{
	int64_t pairs = 0;
	if (measure_method(b, report, "spheres-interval", "Tree of boxes, pair traversal: ms per step", CAROM_SPHERES_TREE,
			&pairs) != EXIT_DONE ||
		measure_method(b, report, "spheres-interval-rays",
			"Point rays through boxes of twice the radius, as in the paper: ms per step", CAROM_SPHERES_RAYS,
			&pairs) != EXIT_DONE)
		return EXIT_FAILED;
	if (b->on_device &&
		measure_method(b, report, "spheres-interval-device", "On the device: ms per step", CAROM_SPHERES_DEVICE, &pairs) !=
			EXIT_DONE)
		return EXIT_FAILED;
	bench_note(report,
		"%lld spheres fill 5 %% of a cube, fly with up to %.2f mean radii a step along each axis, and are reflected by its walls",
		b->quick ? 2000LL : 20000LL, MOST_MOTION);
	bench_note(report,
		"by time: until the query has lost as much as a rebuild costs; by quality: until the tree's cost (surface area heuristic) has "
		"grown 1.5 times. The paper's figure has no numbers: its total falls, then rises with n");
	return EXIT_DONE;
}
