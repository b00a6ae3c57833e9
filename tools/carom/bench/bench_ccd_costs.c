// ccd-fronts and ccd-costs: the statements of MCCD (Tang, Manocha and Tong 2010) on the front with
// orphan sets (Figure 9) and of costs (section 1 and Equations 10 to 13), measured on scenes of our
// own.
#include "bench_ccd.h"

#include "carom/carom.h"
#include "carom/lab.h"
#include "sim/base/sim_clock.h"
#include "tools/carom/options.h"

#include <math.h>

// ---- The front with and without orphan sets ----

enum { KEPT, KEPT_PLAIN, PRUNED, PRUNED_PLAIN, FRONTS };

static carom_sweep_def without_orphans(carom_sweep_def def)
{
	def.orphan_sets = false;
	return def;
}

static void add_fronts(bench_report *report, const bench *b, ccd_scene scene, const ccd_motion *motion, const ccd_cost *costs)
{
	(void)b;
	(void)scene;
	bench_table *table = &report->tables[0];
	for (int i = 0; i < FRONTS; i += 2) {
		const ccd_cost *with = &costs[i], *without = &costs[i + 1];
		bench_add_ccd_names(table, motion);
		bench_text(table, "%s", i == KEPT ? "as the paper" : "pruned");
		bench_number(table, without->front, 0);
		bench_number(table, with->front, 0);
		bench_number(table, bench_saved(with->front, without->front), 1);
		bench_text(table, "20 to 40");
		bench_number(table, without->volume_tests, 0);
		bench_number(table, with->volume_tests, 0);
		bench_number(table, without->ms, 2);
		bench_number(table, with->ms, 2);
		bench_number(table, bench_saved(with->ms, without->ms), 1);
		bench_text(table, "up to 17");
	}
}

int bench_ccd_fronts(bench *b, bench_report *report)
{
	bench_table *table = bench_add_table(report, "ccd-fronts", "The front with and without orphan sets",
		"scene|triangles|front|nodes without|nodes with|shorter by, %|paper, %|box tests without|box tests with|ms without|ms with|"
		"ms saved, %|paper: ms saved, %");
	bench_draw(table, BENCH_BARS, 3, 2, "nodes of the front");
	bench_note(report,
		"as the paper: the front is made again by its two thresholds and never pruned. Adjacent pairs are the nodes that orphan sets "
		"take from the front: where triangles lie close to others that are not their neighbours, they are a smaller part of it");
	const carom_sweep_def paper = bench_ccd_paper_def();
	carom_sweep_def pruned = paper;
	pruned.prune_front = true;
	const ccd_way ways[FRONTS] = { { .def = paper, .threads = b->threads },
		{ .def = without_orphans(paper), .threads = b->threads }, { .def = pruned, .threads = b->threads },
		{ .def = without_orphans(pruned), .threads = b->threads } };
	return bench_measure_ccd_scenes(b, report, ways, FRONTS, add_fronts);
}

// ---- Costs ----

enum { ROOT, FRONT, ROOT_BETWEEN, PHC, PHC_TWO, COSTS };
enum { SHARES, MODEL, MEMORY };

static double walk_ms(const ccd_cost *cost) { return cost->ms_front; }
static double test_ms(const ccd_cost *cost) { return cost->ms_tests + cost->ms_orphans; }
static double search_ms(const ccd_cost *cost) { return walk_ms(cost) + test_ms(cost); }

/// Nanoseconds for a discrete pair of triangles: their distance, of each triangle and the one a few
/// numbers on, in the first frame.
static double discrete_ns(const ccd_motion *motion)
{
	enum { AHEAD = 7 };
	const int32_t count = motion->triangle_count - AHEAD;
	double least = (double)INFINITY, sum = 0;
	for (int pass = 0; pass < 3; pass++) {
		const double start = 1e6 * sim_now_ms();
		for (int32_t i = 0; i < count; i++) {
			carom_vec3 corners[2][3];
			for (int k = 0; k < 6; k++) {
				const double *p = &motion->frames[3 * (int64_t)motion->triangles[3 * (i + (k < 3 ? 0 : AHEAD)) + k % 3]];
				corners[k / 3][k % 3] = (carom_vec3){ p[0], p[1], p[2] };
			}
			carom_triangle_point on[2];
			sum += carom_triangle_triangle_distance(corners[0], corners[1], &on[0], &on[1]);
		}
		const double taken = 1e6 * sim_now_ms() - start;
		least = taken < least ? taken : least;
	}
	// the sum is used, so that the loop cannot be left out
	return sum >= 0 && count > 0 ? least / count : 0;
}

static void add_shares(bench_table *table, const ccd_motion *motion, const ccd_cost *costs)
{
	const ccd_cost *root = &costs[ROOT];
	const double test = root->queries > 0 ? 1e6 * root->ms_tests / root->queries : 0, discrete = discrete_ns(motion);
	bench_add_ccd_names(table, motion);
	bench_number(table, test, 1);
	bench_number(table, discrete, 0);
	bench_number(table, 15 * test / discrete, 2);
	bench_number(table, bench_saved(search_ms(&costs[ROOT_BETWEEN]), search_ms(root)), 1);
	bench_number(table, bench_saved(costs[ROOT_BETWEEN].queries, root->queries), 1);
	bench_number(table, root->leaf_pairs > 0 ? bench_saved(root->impacts, root->leaf_pairs) : 0, 2);
	bench_number(table, root->queries > 0 ? bench_saved(root->impacts, root->queries) : 0, 2);
	bench_number(table, root->queries > 0 ? 100 * root->filtered / root->queries : 0, 1);
}

/// Equations 10 to 13. C_t and C_b are one figure here, since a step of the traversal is a test of
/// boxes; S is the part of the tests of boxes that the front leaves. The first part of PHC, which
/// one thread does, follows from its times on one and two threads.
static void add_model(bench_table *table, const ccd_motion *motion, const ccd_cost *costs)
{
	const double walk = walk_ms(&costs[ROOT]), tests = test_ms(&costs[ROOT]);
	const double share = costs[FRONT].volume_tests / costs[ROOT].volume_tests;
	const double serial = fmax(0, fmin(walk, 2 * search_ms(&costs[PHC_TWO]) - search_ms(&costs[PHC])));
	const double front = share * walk + tests;
	bench_add_ccd_names(table, motion);
	bench_number(table, walk, 2);
	bench_number(table, tests, 2);
	bench_number(table, share, 3);
	bench_text(table, "0.53 to 0.63");
	bench_number(table, front, 2);
	bench_number(table, search_ms(&costs[FRONT]), 2);
	bench_number(table, serial, 2);
	bench_number(table, (walk + tests) / front, 2);
	bench_number(table, search_ms(&costs[PHC]) / search_ms(&costs[FRONT]), 2);
	const double k1 = serial / front, k2 = (1 - share) * walk / front;
	bench_number(table, 15 * k1 + k2 + 1, 2);
}

static void add_memory(bench_table *table, const ccd_motion *motion, const ccd_cost *costs)
{
	const double n = motion->triangle_count;
	bench_add_ccd_names(table, motion);
	bench_number(table, costs[FRONT].front / n, 2);
	bench_number(table, (double)costs[ROOT].bytes / n, 0);
	bench_number(table, (double)costs[FRONT].bytes / n, 0);
	bench_number(table, (double)costs[FRONT].bytes_front / n, 0);
}

static void add_costs(bench_report *report, const bench *b, ccd_scene scene, const ccd_motion *motion, const ccd_cost *costs)
{
	(void)b;
	(void)scene;
	add_shares(&report->tables[SHARES], motion, costs);
	add_model(&report->tables[MODEL], motion, costs);
	add_memory(&report->tables[MEMORY], motion, costs);
}

int bench_ccd_costs(bench *b, bench_report *report)
{
	bench_add_table(report, "ccd-costs", "What a test costs, and how many are in vain",
		"scene|triangles|ns a test|ns a discrete pair|15 tests/pair|saved without self-collision, % of time|of tests|pairs of "
		"boxes in vain, %|tests in vain, %|of tests filtered, %");
	bench_add_table(report, "ccd-model", "The cost model: ms of a search on one thread, without trees and sorting",
		"scene|triangles|C_t + C_b|C_e|S|paper: S|T_FBD by Eq. 12|measured|first part of PHC|T_PHC/T_FBD by Eq. 13|measured|by Eq. 13, N "
		"= 16");
	bench_add_table(report, "ccd-memory", "Memory of a search",
		"scene|triangles|front nodes a triangle|bytes a triangle, from the root|with "
		"a front|of them the front");
	bench_note(report,
		"the paper: 3000 ns a test, 300 a discrete pair, 15 tests as much as 140 to 150 pairs; self-collision 50 to 90 %% of a query; "
		"over 90 %% of the tests of boxes in vain. A discrete pair is here the distance of two triangles");
	bench_note(report,
		"pairs of boxes in vain: at least so many pairs of triangles whose boxes overlap have no impact; saved without self-collision: what "
		"a search saves when each connected piece is a mesh without it; below 0: it takes longer. "
		"The extrapolation to 16 threads is the model's, nothing was measured there");
	carom_sweep_def defs[3];
	for (int i = 0; i < 3; i++)
		defs[i] = carom_default_sweep_def();
	defs[0].method = CAROM_SWEEP_BVH;
	defs[1].method = CAROM_SWEEP_FRONT;
	defs[2].method = CAROM_SWEEP_PHC;
	defs[2].lab = carom_lab_sweep();
	const ccd_way ways[COSTS] = { { .def = defs[0], .threads = 1 }, { .def = defs[1], .threads = 1 },
		{ .def = defs[0], .threads = 1, .between_pieces = true }, { .def = defs[2], .threads = 1 },
		{ .def = defs[2], .threads = 2 } };
	return bench_measure_ccd_scenes(b, report, ways, COSTS, add_costs);
}
