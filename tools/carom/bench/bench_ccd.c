// ccd-table-1, ccd-table-2, ccd-orphans, ccd-threads: swept impacts as MCCD has them (Tang, Manocha
// and Tong 2010), on scenes of our own.
#include "bench_ccd.h"

#include "carom/lab.h"

#include "tools/carom/options.h"

#include <unistd.h>

// ---- Ways to search ----

static carom_sweep_def def_of(carom_sweep_method method)
{
	carom_sweep_def def = carom_default_sweep_def();
	def.lab = carom_lab_sweep();
	def.method = method;
	return def;
}

carom_sweep_def bench_ccd_paper_def(void)
{
	carom_sweep_def def = def_of(CAROM_SWEEP_FRONT);
	def.prune_front = false;
	return def;
}

static carom_sweep_def no_orphans_def(void)
{
	carom_sweep_def def = def_of(CAROM_SWEEP_BVH);
	def.orphan_sets = false;
	return def;
}

double bench_saved(double now, double before) { return 100 * (1 - now / before); }

static void note_scenes(const bench *b, bench_report *report)
{
	bench_note(report,
		"means over the last steps of motions of 90 steps made by formula; cloth-ball, skirt, n-body and triangles stand for the paper's "
		"Cloth-ball, Princess and Flamenco, N-body and BART, which are other motions of like size");
	bench_note(report, "all ways found the same impacts, bit for bit, in every step");
	if (b->quick)
		bench_note(report, "quick: meshes of 300 to 4,000 triangles, six steps");
}

int bench_measure_ccd_scenes(const bench *b, bench_report *report, const ccd_way *ways, int count, ccd_add_row *add)
{
	int status = EXIT_DONE;
	for (int scene = 0; scene < CCD_SCENES && status == EXIT_DONE; scene++) {
		ccd_motion motion;
		ccd_cost costs[CCD_MOST_WAYS];
		bench_make_ccd_motion((ccd_scene)scene, b->quick, &motion);
		status = bench_search_ccd(b, &motion, ways, count, costs);
		if (status == EXIT_DONE)
			add(report, b, (ccd_scene)scene, &motion, costs);
		bench_free_ccd_motion(&motion);
	}
	if (status == EXIT_DONE)
		note_scenes(b, report);
	return status;
}

void bench_add_ccd_names(bench_table *table, const ccd_motion *motion)
{
	bench_text(table, "%s", motion->name);
	bench_text(table, "%d", (int)motion->triangle_count);
}

// ---- Table 1 ----

// Update of the tree, traversal, non-adjacent and adjacent tests, percent. Of skirt: Princess,
// Flamenco.
static const char *const PAPER_SHARES[CCD_SCENES] = { "25/45/30/0.1", "48/39/12/0.3, 15/39/45/0.4", "20/37/43/0.0", "-" };

static void add_table_1(bench_report *report, const bench *b, ccd_scene scene, const ccd_motion *motion, const ccd_cost *costs)
{
	(void)b;
	bench_table *table = &report->tables[0];
	const double parts[] = { costs->ms_trees, costs->ms_front, costs->ms_tests, costs->ms_orphans, costs->ms_sort };
	double sum = 0;
	for (int i = 0; i < 5; i++)
		sum += parts[i];
	bench_add_ccd_names(table, motion);
	bench_number(table, costs->impacts, 0);
	bench_number(table, costs->ms, 2);
	for (int i = 0; i < 5; i++)
		bench_number(table, 100 * parts[i] / sum, i == 3 ? 2 : 1);
	bench_text(table, "%s", PAPER_SHARES[scene]);
}

int bench_ccd_table_1(bench *b, bench_report *report)
{
	bench_table *table = bench_add_table(report, "ccd-table-1", "Shares of a step from the root, percent",
		"scene|triangles|impacts|ms|trees|traversal|tests|orphans|sorting|paper: update/traversal/non-adjacent/adjacent");
	bench_draw(table, BENCH_BARS, 4, 5, "percent of a step");
	bench_note(report,
		"the paper's shares are those of its serial algorithm; its elementary tests take about 3 us each, so that they weigh more "
		"there");
	const ccd_way way = { .def = def_of(CAROM_SWEEP_BVH), .threads = b->threads };
	return bench_measure_ccd_scenes(b, report, &way, 1, add_table_1);
}

// ---- Table 2, Figure 7 ----

enum { ROOT, FRONT, PAPER_FRONT, PHC, METHODS, ON_DEVICE = METHODS, MOST_METHODS };

// Milliseconds on 16 cores, and of the serial algorithm.
static const char *const PAPER_TIMES[CCD_SCENES] = { "32.5, 340", "5.3, 55; 27, 350", "11.6, 117", "20.4, 212" };

static void add_table_2(bench_report *report, const bench *b, ccd_scene scene, const ccd_motion *motion, const ccd_cost *costs)
{
	bench_table *times = &report->tables[0], *boxes = &report->tables[1];
	bench_add_ccd_names(times, motion);
	bench_number(times, bench_ccd_sides_per_step(motion), 2);
	for (int i = 0; i < METHODS; i++)
		bench_number(times, costs[i].ms, 2);
	bench_number(times, costs[ROOT].ms / costs[FRONT].ms, 2);
	bench_number(times, costs[PHC].ms / costs[FRONT].ms, 2);
	bench_text(times, "%s", PAPER_TIMES[scene]);
	if (b->on_device) {
		const ccd_cost *device = &costs[ON_DEVICE];
		bench_number(times, device->ms, 2);
		bench_number(times, devices_work_ms(&device->work, NULL) / device->work_steps, 3);
		bench_number(times, 100 * device->device_left / device->queries, 2);
	}
	bench_add_ccd_names(boxes, motion);
	bench_number(boxes, costs[ROOT].volume_tests, 0);
	bench_number(boxes, costs[FRONT].volume_tests, 0);
	bench_number(boxes, costs[PAPER_FRONT].volume_tests, 0);
	bench_number(boxes, bench_saved(costs[FRONT].volume_tests, costs[ROOT].volume_tests), 1);
	bench_number(boxes, bench_saved(costs[PAPER_FRONT].volume_tests, costs[ROOT].volume_tests), 1);
	bench_number(boxes, bench_saved(costs[FRONT].ms, costs[ROOT].ms), 1);
	bench_number(boxes, costs[FRONT].front, 0);
	bench_number(boxes, (double)costs[FRONT].bytes / (1 << 20), 1);
}

int bench_ccd_table_2(bench *b, bench_report *report)
{
	char columns[256];
	snprintf(columns, sizeof columns, "%s%s",
		"scene|triangles|sides moved a step|root|front|front, not pruned|PHC|root/front|PHC/front|paper: 16 cores, serial",
		b->on_device ? "|device|its kernels, mean of all passes|queries left to the processor, %" : "");
	bench_table *table =
		bench_add_table(report, "ccd-table-2", "A step along the front, from the root, and breadth first: ms", columns);
	bench_draw(table, BENCH_BARS, 3, 4, "ms per step");
	table = bench_add_table(report, "ccd-front", "Tests of boxes in a step",
		"scene|triangles|root|front|front, not pruned|saved, %|not pruned, %|ms saved, %|nodes of the front|MiB");
	bench_draw(table, BENCH_BARS, 2, 3, "tests of boxes per step");
	bench_note(report,
		"the paper, by front alone and serially: 37 to 47 %% fewer tests of boxes, 12 to 21 %% less time (the caption of its Figure 7 "
		"says `to` for `by`)");
	bench_note(
		report, "not pruned: rebuilt by Q1 > 30 %% and Q2 > 45 %%, as in the paper; Q2 can never be the first to ask for it");
	const ccd_way ways[MOST_METHODS] = { { .def = def_of(CAROM_SWEEP_BVH), .threads = b->threads },
		{ .def = def_of(CAROM_SWEEP_FRONT), .threads = b->threads }, { .def = bench_ccd_paper_def(), .threads = b->threads },
		{ .def = def_of(CAROM_SWEEP_PHC), .threads = b->threads },
		{ .def = carom_default_sweep_def(), .threads = b->threads, .on_device = true } };
	return bench_measure_ccd_scenes(b, report, ways, b->on_device ? MOST_METHODS : METHODS, add_table_2);
}

// ---- Orphan sets ----

static void add_orphans(bench_report *report, const bench *b, ccd_scene scene, const ccd_motion *motion, const ccd_cost *costs)
{
	(void)b;
	(void)scene;
	bench_table *table = &report->tables[0];
	// Six vertices against faces and nine pairs of edges for each pair of triangles.
	const double plain = 15 * costs[1].adjacent;
	bench_add_ccd_names(table, motion);
	bench_number(table, costs[1].adjacent, 0);
	bench_number(table, plain, 0);
	bench_text(table, "%lld", (long long)costs[0].orphans);
	bench_number(table, plain > 0 ? bench_saved((double)costs[0].orphans, plain) : 0, 2);
	bench_number(table, costs[1].queries, 0);
	bench_number(table, costs[0].queries, 0);
	bench_number(table, costs[1].ms, 2);
	bench_number(table, costs[0].ms, 2);
	bench_number(table, bench_saved(costs[0].ms, costs[1].ms), 1);
}

int bench_ccd_orphans(bench *b, bench_report *report)
{
	bench_table *table = bench_add_table(report, "ccd-orphans", "Adjacent pairs of triangles, with and without orphan sets",
		"scene|triangles|adjacent pairs|their tests|orphans|saved, %|queries without|queries with|ms without|ms with|ms saved, %");
	bench_draw(table, BENCH_BARS, 8, 2, "ms per step");
	bench_note(report,
		"the paper: 99.9 %% fewer tests of adjacent pairs, up to 17 %% of the time. Here every pair of features is tested once in either "
		"case, so orphan sets save the adjacent pairs of leaves, not repeated tests");
	const ccd_way ways[] = { { .def = def_of(CAROM_SWEEP_BVH), .threads = b->threads },
		{ .def = no_orphans_def(), .threads = b->threads } };
	return bench_measure_ccd_scenes(b, report, ways, 2, add_orphans);
}

// ---- Threads ----

enum { MOST_THREADS = 5 };

/// 1, 2, 4, ... and as many as the machine has.
static int thread_counts(const bench *b, int counts[MOST_THREADS])
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN), most = b->quick || cores < 2 ? 2 : cores;
	int n = 0;
	for (long threads = 1; threads < most && n < MOST_THREADS - 1; threads *= 2)
		counts[n++] = (int)threads;
	counts[n++] = (int)most;
	return n;
}

static void add_threads(bench_report *report, const bench *b, ccd_scene scene, const ccd_motion *motion, const ccd_cost *costs)
{
	(void)scene;
	bench_table *table = &report->tables[0];
	int counts[MOST_THREADS];
	const int n = thread_counts(b, counts);
	for (int i = 0; i < n; i++) {
		const ccd_cost *root = &costs[3 * i], *front = root + 1, *phc = root + 2;
		bench_text(table, "%s", motion->name);
		bench_text(table, "%d", counts[i]);
		bench_number(table, root->ms, 2);
		bench_number(table, front->ms, 2);
		bench_number(table, phc->ms, 2);
		bench_number(table, costs[0].ms / front->ms, 2);
		bench_number(table, costs[1].ms / front->ms, 2);
		bench_number(table, costs[0].ms / root->ms, 2);
		bench_number(table, costs[2].ms / phc->ms, 2);
	}
}

int bench_ccd_threads(bench *b, bench_report *report)
{
	bench_table *table = bench_add_table(report, "ccd-threads", "A step on several threads: ms, and times faster",
		"scene|threads|root|front|PHC|front against root on one|front against itself on one|root against itself|PHC against itself");
	bench_draw(table, BENCH_BARS, 2, 3, "ms per step");
	bench_note(report,
		"the paper: 6.4 to 7.7 times faster on 8 cores, 10.1 to 13 on 16, PHC 3.7 to 5.1 on 16. Its speed-ups are against the serial "
		"algorithm from the root, so the gain by the front is in them; both are given here");
	ccd_way ways[CCD_MOST_WAYS];
	int counts[MOST_THREADS];
	const int n = thread_counts(b, counts);
	for (int i = 0; i < n; i++) {
		ways[3 * i] = (ccd_way){ .def = def_of(CAROM_SWEEP_BVH), .threads = counts[i] };
		ways[3 * i + 1] = (ccd_way){ .def = def_of(CAROM_SWEEP_FRONT), .threads = counts[i] };
		ways[3 * i + 2] = (ccd_way){ .def = def_of(CAROM_SWEEP_PHC), .threads = counts[i] };
	}
	return bench_measure_ccd_scenes(b, report, ways, 3 * n, add_threads);
}
