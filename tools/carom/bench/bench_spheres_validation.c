// spheres-validation: 30 copies of a free fall whose places differ by a little noise, and the
// distribution of the number of collisions per step (Mochi, section 5.1). The paper compares
// distributions of two programs that disagree in detail; here the methods must find exactly the
// same pairs of each copy, which is checked too.
#include "bench_spheres.h"

#include "tools/carom/options.h"
#include "tools/carom/progress.h"
#include "tools/carom/report.h"

#include <math.h>
#include <stdlib.h>

enum { COPIES = 30, CHECKS = 5 };

// The noise of the paper, metres: that much, up or down, along each axis.
static const double LEAST_NOISE = 1e-6, MOST_NOISE = 1e-5;

/// splitmix64 (Steele, Lea and Flood 2014).
static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static void add_noise(double *values, int64_t count, uint64_t seed)
{
	for (int64_t i = 0; i < count; i++) {
		const uint64_t random = next_random(&seed);
		const double noise = LEAST_NOISE + (MOST_NOISE - LEAST_NOISE) * (double)(random >> 11) * 0x1p-53;
		values[i] += random & 1 ? noise : -noise;
	}
}

typedef struct validation {
	carom_context *context;
	bench_finders finders;
	int steps;
	int64_t *contacts; // [COPIES][steps]
	int64_t compared;  // snapshots
} validation;

/// All methods on the spheres as they are now.
static int compare_methods(validation *v, sim_granular *granular, int copy)
{
	const int64_t count = sim_granular_get_info(granular).count;
	bench_finding findings[BENCH_MAX_FINDERS];
	char name[64];
	io_sphere_set set = { 0 };
	if (!io_allocate_spheres(&set, count, true))
		return report_error(NULL, "out of memory");
	double *centres = bench_allocate((size_t)count, 3 * sizeof *centres), *radii = bench_allocate((size_t)count, sizeof *radii);
	sim_granular_get_state(granular, centres, radii, NULL, NULL);
	double *values = set.values;
	for (int64_t i = 0; i < count; i++) {
		for (int k = 0; k < 3; k++)
			values[4 * i + k] = centres[3 * i + k];
		values[4 * i + 3] = radii[i];
	}
	free(centres);
	free(radii);
	snprintf(name, sizeof name, "copy %d", copy);
	const int status = bench_find_pairs(v->context, name, &set, &v->finders, 1, findings);
	io_free_spheres(&set);
	v->compared += status == EXIT_DONE;
	return status;
}

static int run_copy(validation *v, const scene_description *scene, const scene_granular_filling *filling, int copy)
{
	sim_error error;
	scene_granular_filling noisy = *filling;
	noisy.centres = bench_allocate((size_t)filling->count, 3 * sizeof *noisy.centres);
	for (int64_t i = 0; i < 3 * filling->count; i++)
		noisy.centres[i] = filling->centres[i];
	add_noise(noisy.centres, 3 * filling->count, (uint64_t)copy + 1);
	sim_granular_def def = scene_filled_def(scene, &noisy);
	// The steps run on the device, if there is one.
	def.device = v->finders.count > BENCH_METHODS ? v->finders.devices[BENCH_METHODS] : NULL;
	sim_granular *granular = sim_create_granular(v->context, &def, &error);
	int status = granular ? EXIT_DONE : report_error(NULL, "%s", error.text);
	for (int i = 0; i < v->steps && status == EXIT_DONE; i++) {
		sim_granular_step step;
		if (!sim_granular_advance(granular, &step, &error))
			status = report_error(NULL, "%s", error.text);
		v->contacts[(size_t)copy * (size_t)v->steps + (size_t)i] = step.contacts;
		if (status == EXIT_DONE && (i + 1) % (v->steps / CHECKS) == 0)
			status = compare_methods(v, granular, copy);
	}
	sim_destroy_granular(granular);
	free(noisy.centres);
	return status;
}

// ---- Distributions ----

typedef struct distribution {
	double mean, deviation;
	int64_t least, most;
} distribution;

static distribution distribution_of(const validation *v, int step)
{
	distribution d = { 0 };
	for (int copy = 0; copy < COPIES; copy++) {
		const int64_t contacts = v->contacts[(size_t)copy * (size_t)v->steps + (size_t)step];
		d.mean += (double)contacts / COPIES;
		d.least = copy == 0 || contacts < d.least ? contacts : d.least;
		d.most = contacts > d.most ? contacts : d.most;
	}
	double squares = 0;
	for (int copy = 0; copy < COPIES; copy++) {
		const double off = (double)v->contacts[(size_t)copy * (size_t)v->steps + (size_t)step] - d.mean;
		squares += off * off;
	}
	d.deviation = sqrt(squares / (COPIES - 1));
	return d;
}

static void add_tables(const validation *v, bench_report *report)
{
	bench_table *table = bench_add_table(report, "spheres-validation", "Collisions per step, 30 copies with noise",
		"step|mean|deviation|deviation, % of mean|fewest|most");
	for (int check = 1; check <= CHECKS; check++) {
		const int step = check * (v->steps / CHECKS);
		const distribution d = distribution_of(v, step - 1);
		bench_text(table, "%d", step);
		bench_number(table, d.mean, 1);
		bench_number(table, d.deviation, 1);
		bench_number(table, d.mean > 0 ? 100 * d.deviation / d.mean : 0, 2);
		bench_text(table, "%lld", (long long)d.least);
		bench_text(table, "%lld", (long long)d.most);
	}
	bench_table *series = bench_add_table(
		report, "spheres-validation-steps", "Collisions per step, 30 copies with noise", "step|mean|fewest|most|deviation");
	bench_draw(series, BENCH_LINES, 1, 3, "collisions per step");
	series->series = true;
	for (int step = 0; step < v->steps; step++) {
		const distribution d = distribution_of(v, step);
		bench_text(series, "%d", step + 1);
		bench_number(series, d.mean, 2);
		bench_text(series, "%lld", (long long)d.least);
		bench_text(series, "%lld", (long long)d.most);
		bench_number(series, d.deviation, 2);
	}
}

static int run_copies(validation *v, const scene_description *scene, const scene_granular_filling *filling)
{
	int status = EXIT_DONE;
	progress bar;
	progress_start(&bar, "validate", COPIES);
	for (int copy = 0; copy < COPIES && status == EXIT_DONE; copy++) {
		status = run_copy(v, scene, filling, copy);
		progress_update(&bar, copy + 1);
	}
	progress_finish(&bar);
	return status;
}

int bench_spheres_validation(bench *b, bench_report *report)
{
	const bench_sphere_case which = {
		.file = "freefall.json", .count = b->quick ? 1000 : 100000, .packing = BENCH_CROWD, .speed = 0.5
	};
	sim_error error;
	scene_description scene;
	scene_granular_filling filling = { 0 };
	validation v = { .steps = b->quick ? 40 : 300 };
	v.contacts = bench_allocate((size_t)(COPIES * v.steps), sizeof *v.contacts);
	int status = bench_open_sphere_scene(b, &which, &scene);
	v.context = status == EXIT_DONE ? report_create_context(b->threads, b->simd) : NULL;
	status = v.context ? bench_open_finders(b, v.context, true, &v.finders) : EXIT_FAILED;
	if (status == EXIT_DONE && !scene_fill_spheres(v.context, &scene, &filling, &error))
		status = report_error(NULL, "%s", error.text);
	if (status == EXIT_DONE)
		status = run_copies(&v, &scene, &filling);
	if (status == EXIT_DONE) {
		add_tables(&v, report);
		bench_note(report,
			"%lld spheres of the free fall, 15 %% of a cube filled, each with up to 0.5 m/s along each axis; noise of 1e-6 to 1e-5 along each axis. The paper: a million, and "
			"distributions that cannot be told apart",
			(long long)which.count);
		bench_note(report,
			"grid, levels, tree, rays%s and the automatic choice found exactly the same pairs in all %lld snapshots of the copies",
			b->on_device ? ", the device" : "", (long long)v.compared);
	}
	scene_destroy_filling(&filling);
	bench_close_finders(&v.finders);
	carom_destroy_context(v.context);
	scene_destroy(&scene);
	free(v.contacts);
	return status;
}
