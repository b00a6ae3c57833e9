// fig-2.12: the shares of the time of a step (Lehericey, 2013, Figure 2.12, which gives no numbers
// in its text). The avalanche as it is simulated, response by ODE; and, on the same motion, the
// libraries of carom_peers where that program is there, Bullet's GIMPACT among them.
#include "bench_motion.h"
#include "bench_peers.h"
#include "tools/carom/options.h"

enum { PARTS = 7, PHASES = 3 };

static const char *const PART_NAMES[PARTS] = { "trees", "pair", "vertex", "ray", "complete", "merge", "response" };

static void parts_of(const scene_step *step, double parts[PARTS])
{
	const carom_stats *d = &step->detection;
	const double all[PARTS] = { d->ms_trees, d->ms_pair, d->ms_vertex, d->ms_ray, d->ms_complete, d->ms_merge,
		step->ms_response };
	for (int i = 0; i < PARTS; i++)
		parts[i] = all[i];
}

static void add_curves(bench_report *report, const bench_motion *motion)
{
	bench_table *table = bench_add_table(report, "figure-2.12", "Where the time of each step of the avalanche goes",
		"step|trees|pair|vertex|ray|complete|merge|response");
	table->series = true;
	bench_draw(table, BENCH_AREAS, 1, PARTS, "ms, all substeps");
	for (int i = 0; i < motion->frame_count; i++) {
		double parts[PARTS];
		parts_of(&motion->steps[i], parts);
		bench_text(table, "%d", i);
		for (int k = 0; k < PARTS; k++)
			bench_number(table, parts[k], 4);
	}
}

static void sum_window(const bench_motion *motion, const bench_window *window, double sums[PARTS], double *substeps)
{
	*substeps = 0;
	for (int k = 0; k < PARTS; k++)
		sums[k] = 0;
	for (int i = window->first; i < window->end; i++) {
		double parts[PARTS];
		parts_of(&motion->steps[i], parts);
		for (int k = 0; k < PARTS; k++)
			sums[k] += parts[k];
		*substeps += motion->steps[i].substeps;
	}
}

static void add_shares(bench_report *report, const bench_motion *motion, const bench_phases *phases)
{
	const bench_window windows[PHASES] = { phases->a, phases->b, phases->c };
	bench_table *table = bench_add_table(report, "figure-2.12-shares",
		"What a substep (a detection and a response) takes on average, ms, and its shares",
		"stage|A, ms|A, %|B, ms|B, %|C, ms|C, %");
	double sums[PHASES][PARTS], substeps[PHASES], total[PHASES] = { 0 };
	for (int p = 0; p < PHASES; p++) {
		sum_window(motion, &windows[p], sums[p], &substeps[p]);
		for (int k = 0; k < PARTS; k++)
			total[p] += sums[p][k];
	}
	for (int k = 0; k <= PARTS; k++) {
		bench_text(table, "%s", k < PARTS ? PART_NAMES[k] : "total");
		for (int p = 0; p < PHASES; p++) {
			const double sum = k < PARTS ? sums[p][k] : total[p];
			bench_number(table, sum / substeps[p], 3);
			bench_number(table, 100 * sum / total[p], 1);
		}
	}
}

static void add_peers(bench *b, bench_report *report, const bench_motion *motion, const bench_phases *phases)
{
	const bench_window windows[PHASES] = { phases->a, phases->b, phases->c };
	bench_peer_times peers;
	sim_error reason;
	if (!bench_run_peers(b, motion, windows, &peers, &reason)) {
		bench_note(report, "no comparison with Bullet's GIMPACT: %s", reason.text);
		return;
	}
	bench_table *table = bench_add_table(report, "figure-2.12-peers",
		"Detection of body against body on frames of the same motion, one thread, ms per frame",
		"library|A|B|C|A, times Carom's|B|C");
	bench_draw(table, BENCH_BARS, 1, PHASES, "ms per frame");
	table->logarithmic = true;
	for (int i = 0; i < peers.count; i++) {
		bench_text(table, "%s", peers.names[i]);
		for (int p = 0; p < PHASES; p++)
			bench_number(table, peers.ms[i][p], 3);
		for (int p = 0; p < PHASES; p++)
			bench_number(table, peers.ms[i][p] / peers.ms[0][p], 2);
	}
	bench_note(report, "carom_peers picks single frames: Carom works each out in full there, as the others do");
}

int bench_figure_2_12(bench *b, bench_report *report)
{
	const bench_motion *motion = bench_get_motion(b, &bench_scene_avalanche);
	if (!motion)
		return EXIT_FAILED;
	const bench_phases phases = bench_find_phases(motion);
	add_shares(report, motion, &phases);
	add_curves(report, motion);
	add_peers(b, report, motion, &phases);
	bench_note(report,
		"A: steps %d to %d, B: %d to %d, C: %d to %d; the paper: \"the performance of the whole simulation is limited by the rest of "
		"the simulation\"",
		phases.a.first, phases.a.end - 1, phases.b.first, phases.b.end - 1, phases.c.first, phases.c.end - 1);
	return EXIT_DONE;
}
