// table-2.2: from one device to two (Lehericey, 2013, Table 2.2). A worker group stands for a
// device: it keeps the temporal data of its pairs, and one thread serves it.
#include "bench_replay.h"
#include "tools/carom/options.h"

enum { BASIC_ONE, BASIC_TWO, BVH_ONE, BVH_TWO, VARIANTS };

static void make_variants(bench_variant *v)
{
	static const char *const names[VARIANTS] = { "basic, 1 group", "basic, 2 groups", "BVH, 1 group", "BVH, 2 groups" };
	for (int i = 0; i < VARIANTS; i++) {
		v[i] = (bench_variant){ .def = bench_paper_iterative_def(),
			.lab = bench_paper_lab(),
			.threads = 1 + i % 2,
			.reference = BASIC_ONE,
			.no_grid = true };
		snprintf(v[i].name, sizeof v[i].name, "%s", names[i]);
		v[i].lab.ray_method = i < BVH_ONE ? CAROM_RAYS_BASIC : CAROM_RAYS_BINARY;
		v[i].lab.worker_groups = 1 + i % 2;
	}
}

/// A row of two results, one after the other, up to their ratio.
static void add_row(bench_table *table, const char *scene, const char *rays, const bench_result *results)
{
	const double one = bench_mean_ms(&results[0], 0, results[0].frame_count);
	const double two = bench_mean_ms(&results[1], 0, results[1].frame_count);
	bench_text(table, "%s, %s", scene, rays);
	bench_number(table, one, 3);
	bench_number(table, two, 3);
	bench_number(table, one / two, 2);
}

static void add_whole_step(bench_table *table, const bench_result *results)
{
	bench_number(table, bench_sum(&results[0]).ms_total / bench_sum(&results[1]).ms_total, 2);
}

static int measure(bench *b, bench_report *report, bench_table *table, const char *name, const bench_motion *motion,
	const bench_window *window, const double *paper)
{
	bench_variant variants[VARIANTS];
	bench_result results[VARIANTS];
	make_variants(variants);
	if (bench_replay(b, motion, window, variants, VARIANTS, b->quick ? 1 : 3, results) != EXIT_DONE)
		return EXIT_FAILED;
	for (int i = 0; i < VARIANTS; i += 2) {
		add_row(table, name, i == BASIC_ONE ? "iterative basic" : "iterative BVH", &results[i]);
		bench_number(table, paper[i / 2], 2);
		add_whole_step(table, &results[i]);
	}
	bench_note_pairs(report, name, variants, results, VARIANTS);
	bench_free_results(results, VARIANTS);
	return EXIT_DONE;
}

/// On one device, and on two: the device of the bench opened twice.
static int measure_devices(bench *b, bench_report *report, bench_table *table, const char *name, const bench_motion *motion,
	const bench_window *window)
{
	enum { WAYS = 1 + BENCH_MAX_DEVICES };
	bench_variant variants[WAYS];
	bench_result results[WAYS];
	for (int i = 0; i < WAYS; i++) {
		variants[i] = (bench_variant){ .def = carom_default_world_def(), .no_lab = true, .devices = i };
		snprintf(variants[i].name, sizeof variants[i].name, i == 0 ? "processor" : "device, opened %d times", i);
	}
	if (bench_replay(b, motion, window, variants, WAYS, b->quick ? 1 : 3, results) != EXIT_DONE)
		return EXIT_FAILED;
	add_row(table, name, "Carom on a device, opened once and twice", &results[1]);
	bench_text(table, "-");
	add_whole_step(table, &results[1]);
	bench_note(report, "%s: contacts of one and of two devices are the processor's, bit for bit", name);
	bench_free_results(results, WAYS);
	return EXIT_DONE;
}

/// Figures 2.15 and 2.16: the time of ray tracing in each step of a whole run, BVH rays on one and
/// two groups.
static int add_curve(bench *b, bench_report *report, const char *name, const bench_motion *motion)
{
	const bench_window all = { "all", 0, motion->frame_count };
	bench_variant variants[VARIANTS];
	bench_result results[2];
	make_variants(variants);
	variants[BVH_ONE].reference = variants[BVH_TWO].reference = 0; // of the two that run
	if (bench_replay(b, motion, &all, &variants[BVH_ONE], 2, 1, results) != EXIT_DONE)
		return EXIT_FAILED;
	bench_table *table =
		bench_add_table(report, name, "Time of ray tracing in each step, iterative BVH rays", "step|1 group|2 groups");
	table->series = true;
	bench_draw(table, BENCH_LINES, 1, 2, "ms");
	for (int i = 0; i < results[0].frame_count; i++) {
		bench_text(table, "%d", i);
		for (int k = 0; k < 2; k++)
			bench_number(table, bench_narrow_ms(&results[k].frames[i]), 4);
	}
	bench_free_results(results, 2);
	return EXIT_DONE;
}

int bench_table_2_2(bench *b, bench_report *report)
{
	static const double paper_1[] = { 1.72, 1.77 }, paper_2[] = { 1.64, 1.66 };
	const bench_motion *avalanche = bench_get_motion(b, &bench_scene_avalanche);
	const bench_motion *fountain = avalanche ? bench_get_motion(b, &bench_scene_fountain) : NULL;
	if (!fountain)
		return EXIT_FAILED;
	bench_table *table = bench_add_table(report, "table-2.2", "One and two groups of workers, a thread each: ms per step",
		"scene and rays|1 group|2 groups|times faster|paper|whole step, times faster");
	bench_draw(table, BENCH_BARS, 3, 2, "times faster with two");
	const bench_window impact = bench_find_phases(avalanche).b;
	const int end = fountain->frame_count;
	const bench_window last = { "end", end > 120 ? end - 30 : end / 2, end };
	if (measure(b, report, table, "scene 1", avalanche, &impact, paper_1) != EXIT_DONE)
		return EXIT_FAILED;
	bench_note(report, "scene 1: the avalanche's impact, steps %d to %d; scene 2: the fountain's end, steps %d to %d",
		impact.first, impact.end - 1, last.first, last.end - 1);
	if (measure(b, report, table, "scene 2", fountain, &last, paper_2) != EXIT_DONE)
		return EXIT_FAILED;
	if (b->on_device &&
		(measure_devices(b, report, table, "scene 1", avalanche, &impact) != EXIT_DONE ||
			measure_devices(b, report, table, "scene 2", fountain, &last) != EXIT_DONE))
		return EXIT_FAILED;
	bench_note(
		report, "figure-2.15 and figure-2.16 hold the curves over the whole runs, of BVH rays: basic ones would take hours");
	if (add_curve(b, report, "figure-2.15", avalanche) != EXIT_DONE)
		return EXIT_FAILED;
	return add_curve(b, report, "figure-2.16", fountain);
}
