// deforming-depth: how deep contacts are in simulations of the 100 rings, with and without
// predictive rays, and for time steps from 2/120 to 8/120 s (Li and Yamaguchi, Figures 9 and 14).
// One detection in a step, rays as the paper casts them.
#include "bench_motion.h"
#include "tools/carom/options.h"
#include "tools/carom/progress.h"
#include "tools/carom/report.h"

#include <math.h>
#include <stdlib.h>

/// What a run was like, step by step, between bodies that move.
typedef struct depth_curve {
	int count;
	double *firsts;   // [count] sum of the deepest contacts of pairs that begin to touch
	int *first_count; // [count] how many these are
	double *depths;   // [count] mean depth of the contacts
	double *spreads;  // [count] standard deviation within the step
} depth_curve;

static void set_up(scene_description *scene, carom_temporal temporal, double time_step)
{
	const int32_t contacts = scene->rigid.detection.max_contacts_per_pair;
	const double duration = scene->time_step * (double)scene->steps;
	scene->rigid.detection = bench_paper_def();
	scene->rigid.lab = bench_paper_lab();
	scene->rigid.detection.max_contacts_per_pair = contacts;
	scene->rigid.detection.temporal = temporal;
	scene->rigid.substeps = scene->rigid.max_substeps = 1;
	scene->rigid.solver.slop = 0;
	for (int32_t i = 0; i < scene->rigid.body_count; i++)
		scene->rigid.bodies[i].first_step =
			(int64_t)floor((double)scene->rigid.bodies[i].first_step * scene->time_step / time_step + 0.5);
	scene->time_step = time_step;
	scene->steps = (int64_t)(duration / time_step);
}

static void measure_contacts(const carom_world *world, double *depth, double *spread)
{
	const carom_contact_view contacts = carom_world_contacts(world);
	const carom_pair_view pairs = carom_world_pairs(world);
	double sum = 0, squares = 0;
	int32_t count = 0;
	for (int32_t i = 0; i < contacts.count; i++) {
		if (pairs.data[contacts.data[i].pair].user_data_a == 0) // the ground
			continue;
		const double d = (double)contacts.data[i].depth;
		sum += d;
		squares += d * d;
		count++;
	}
	*depth = count > 0 ? sum / count : 0;
	*spread = count > 0 ? sqrt(fmax(0, squares / count - *depth * *depth)) : 0;
}

static void measure_firsts(const carom_world *world, double *sum, int *count)
{
	const carom_contact_view contacts = carom_world_contacts(world);
	const carom_pair_view pairs = carom_world_pairs(world);
	for (int32_t i = 0; i < pairs.count; i++) {
		const carom_pair *pair = &pairs.data[i];
		double deepest = 0;
		if (pair->user_data_a == 0 || pair->age > 0)
			continue;
		for (int32_t k = 0; k < pair->contact_count; k++)
			deepest = fmax(deepest, (double)contacts.data[pair->first_contact + k].depth);
		*sum += deepest;
		++*count;
	}
}

static void free_curve(depth_curve *curve)
{
	free(curve->firsts);
	free(curve->first_count);
	free(curve->depths);
	free(curve->spreads);
	*curve = (depth_curve){ 0 };
}

static int simulate(const bench *b, const scene_description *scene, depth_curve *curve)
{
	sim_error error;
	progress bar;
	carom_context *context = report_create_context(b->threads, b->simd);
	if (!context)
		return EXIT_FAILED;
	const size_t count = (size_t)scene->steps;
	*curve = (depth_curve){ .count = (int)scene->steps,
		.firsts = bench_allocate(count, sizeof(double)),
		.first_count = bench_allocate(count, sizeof(int)),
		.depths = bench_allocate(count, sizeof(double)),
		.spreads = bench_allocate(count, sizeof(double)) };
	scene_simulation *simulation = scene_create_simulation(context, scene, NULL, &error);
	bool done = simulation != NULL;
	progress_start(&bar, "simulate", scene->steps);
	for (int i = 0; i < curve->count && done; i++) {
		done = scene_simulate_step(simulation, NULL, &error);
		if (done) {
			measure_contacts(scene_simulation_world(simulation), &curve->depths[i], &curve->spreads[i]);
			measure_firsts(scene_simulation_world(simulation), &curve->firsts[i], &curve->first_count[i]);
		}
		progress_update(&bar, i + 1);
	}
	progress_finish(&bar);
	scene_destroy_simulation(simulation);
	carom_destroy_context(context);
	if (done)
		return EXIT_DONE;
	free_curve(curve);
	return report_error(NULL, "%s", error.text);
}

static int run(const bench *b, carom_temporal temporal, double time_step, depth_curve *curve)
{
	scene_description scene;
	if (bench_load_scene(b, &bench_scene_tori, &scene) != EXIT_DONE)
		return EXIT_FAILED;
	set_up(&scene, temporal, time_step);
	const int status = simulate(b, &scene, curve);
	scene_destroy(&scene);
	return status;
}

static double mean(const double *values, int first, int end)
{
	double sum = 0;
	for (int i = first; i < end; i++)
		sum += values[i];
	return end > first ? sum / (end - first) : 0;
}

// ---- Figure 9 ----

static int add_figure_9(const bench *b, bench_report *report)
{
	static const carom_temporal temporal[2] = { CAROM_TEMPORAL_ITERATIVE, CAROM_TEMPORAL_PREDICTIVE };
	depth_curve curves[2];
	for (int i = 0; i < 2; i++) {
		if (run(b, temporal[i], 1.0 / 60, &curves[i]) != EXIT_DONE) {
			if (i == 1)
				free_curve(&curves[0]);
			return EXIT_FAILED;
		}
	}
	bench_table *table = bench_add_table(report, "figure-9-deforming", "Mean depth of the contacts of each step, mm",
		"step|without predictive rays|with predictive rays");
	table->series = true;
	bench_draw(table, BENCH_LINES, 1, 2, "mm");
	for (int i = 0; i < curves[0].count; i++) {
		bench_text(table, "%d", i);
		bench_number(table, 1e3 * curves[0].depths[i], 4);
		bench_number(table, 1e3 * curves[1].depths[i], 4);
	}
	const double without = mean(curves[0].depths, 0, curves[0].count), with = mean(curves[1].depths, 0, curves[1].count);
	bench_note(report, "Figure 9: mean depth %.3f mm without predictive rays, %.3f mm with them (%.1f %% less)", 1e3 * without,
		1e3 * with, without > 0 ? 100 - 100 * with / without : 0);
	free_curve(&curves[0]);
	free_curve(&curves[1]);
	return EXIT_DONE;
}

// ---- Figure 14 ----

enum { STEPS = 7 };

/// r² of the line of least squares.
static double fit(const double *x, const double *y, int count)
{
	double mx = 0, my = 0, xx = 0, xy = 0, yy = 0;
	for (int i = 0; i < count; i++) {
		mx += x[i] / count;
		my += y[i] / count;
	}
	for (int i = 0; i < count; i++) {
		xx += (x[i] - mx) * (x[i] - mx);
		xy += (x[i] - mx) * (y[i] - my);
		yy += (y[i] - my) * (y[i] - my);
	}
	return xx > 0 && yy > 0 ? xy * xy / (xx * yy) : 0;
}

/// One run, a row of the table. depths [2]: means of all contacts, and of pairs that begin.
static int add_time_step(const bench *b, bench_table *table, int number, double depths[2])
{
	depth_curve curve;
	const double step = number / 120.0;
	if (run(b, CAROM_TEMPORAL_PREDICTIVE, step, &curve) != EXIT_DONE)
		return EXIT_FAILED;
	const int last = (int)(10 / step), end = last < curve.count ? last : curve.count;
	const int third = (int)(3 / step), first = third < end / 2 ? third : end / 2;
	double sum = 0;
	int count = 0;
	for (int i = first; i < end; i++) {
		sum += curve.firsts[i];
		count += curve.first_count[i];
	}
	depths[0] = mean(curve.depths, first, end);
	depths[1] = count > 0 ? sum / count : 0;
	bench_text(table, "%d", number);
	bench_number(table, 1e3 * depths[0], 3);
	bench_number(table, 1e3 * mean(curve.spreads, first, end), 3);
	bench_number(table, 1e3 * depths[1], 3);
	bench_text(table, "%d", count);
	free_curve(&curve);
	return EXIT_DONE;
}

static int add_figure_14(const bench *b, bench_report *report)
{
	double steps[STEPS], all[STEPS], firsts[STEPS];
	bench_table *table = bench_add_table(report, "figure-14-deforming", "Depth of contacts by time step, from 3 s to 10 s, mm",
		"time step, 1/120 s|all contacts|their standard deviation in a step|pairs in their first step|how many pairs begin");
	bench_draw(table, BENCH_LINES, 1, 3, "mm");
	for (int i = 0; i < STEPS; i++) {
		double depths[2];
		if (add_time_step(b, table, i + 2, depths) != EXIT_DONE)
			return EXIT_FAILED;
		steps[i] = i + 2;
		all[i] = depths[0];
		firsts[i] = depths[1];
	}
	bench_note(report, "Figure 14: a line fits the means of all contacts with r² = %.4f, those of first steps with r² = %.4f",
		fit(steps, all, STEPS), fit(steps, firsts, STEPS));
	return EXIT_DONE;
}

int bench_deforming_depth(bench *b, bench_report *report)
{
	if (add_figure_9(b, report) != EXIT_DONE || add_figure_14(b, report) != EXIT_DONE)
		return EXIT_FAILED;
	bench_note(report, "of contacts of rings with each other; those with the ground are left out");
	return EXIT_DONE;
}
