// table-2.1: ray tracing in the three phases of the avalanche (Lehericey, 2013, Table 2.1 and
// Figure 2.13). The paper's times are those of a GTX 660; ours are of CPU threads, so that only the
// ratios compare. Where our ratio is smaller the cost of a ray says why.
#include "bench_replay.h"
#include "tools/carom/options.h"

enum { VARIANTS = BENCH_RAY_VARIANTS, PAPER_VARIANTS = BENCH_CAROM_FULL };

// Milliseconds: average in A, peak in B, average in C.
static const double PAPER_MS[VARIANTS][3] = {
	[BENCH_BASIC] = { 3.78, 82.6, 66.2 },
	[BENCH_ITERATIVE_BASIC] = { 1.04, 56.7, 3.02 },
	[BENCH_BVH] = { 9.43, 18.5, 14.0 },
	[BENCH_ITERATIVE_BVH] = { 9.71, 14.1, 2.27 },
};

// The measurements in the three phases.
typedef struct phase_results {
	bench_window windows[3];
	int count; // of variants
	bench_result of[3][VARIANTS];
} phase_results;

/// Ours in a phase: the mean in A and C, the peak in B.
static double phase_ms(const phase_results *r, int variant, int phase)
{
	const bench_result *result = &r->of[phase][variant];
	return phase == 1 ? bench_peak_ms(result) : bench_mean_ms(result, 0, result->frame_count);
}

static void add_times(bench_report *report, const bench_variant *variants, const phase_results *results)
{
	bench_table *table = bench_add_table(report, "table-2.1",
		"Ray tracing in three phases, ms per step: A free fall (mean), B impact (peak), C rest (mean)",
		"rays|A|A paper|B|B paper|C|C paper");
	for (int i = 0; i < results->count; i++) {
		bench_text(table, "%s", variants[i].name);
		for (int k = 0; k < 3; k++) {
			bench_number(table, phase_ms(results, i, k), 3);
			if (i < PAPER_VARIANTS)
				bench_number(table, PAPER_MS[i][k], 2);
			else
				bench_text(table, "-");
		}
	}
}

static void add_ratios(bench_report *report, const phase_results *results)
{
	bench_table *table = bench_add_table(
		report, "table-2.1-speedup", "Iterative over full: how many times faster", "rays|A|A paper|B|B paper|C|C paper");
	bench_draw(table, BENCH_BARS, 1, 6, "times faster than full rays");
	for (int i = 0; i < results->count; i += 2) {
		bench_text(table, "%s", bench_ray_name(i));
		for (int k = 0; k < 3; k++) {
			bench_number(table, phase_ms(results, i, k) / phase_ms(results, i + 1, k), 2);
			if (i + 1 < PAPER_VARIANTS)
				bench_number(table, PAPER_MS[i][k] / PAPER_MS[i + 1][k], 2);
			else
				bench_text(table, "-");
		}
	}
}

static void add_costs(bench_report *report, const bench_variant *variants, const phase_results *results)
{
	bench_table *table = bench_add_table(report, "table-2.1-rays",
		"Rays per step and the cost of one (culling and casting), ns", "rays|rays in A|ns|rays in B|ns|rays in C|ns");
	for (int i = 0; i < results->count; i++) {
		bench_text(table, "%s", variants[i].name);
		for (int k = 0; k < 3; k++) {
			const bench_result *part = &results->of[k][i];
			const carom_stats sum = bench_sum(part);
			const double rays = (double)(sum.rays_full + sum.rays_iterative);
			bench_number(table, rays / part->frame_count, 0);
			bench_number(table, rays > 0 ? 1e6 * (sum.ms_vertex + sum.ms_ray) / rays : 0, 0);
		}
	}
}

static void add_curves(bench_report *report, const bench_variant *variants, const phase_results *results)
{
	char columns[VARIANTS * BENCH_CELL_SIZE + 8] = "step";
	for (int i = 0, used = 4; i < results->count; i++)
		used += snprintf(columns + used, sizeof columns - (size_t)used, "|%s", variants[i].name);
	bench_table *table = bench_add_table(
		report, "figure-2.13", "Time of ray tracing in each step of the three phases of the avalanche", columns);
	table->series = true;
	table->logarithmic = true;
	bench_draw(table, BENCH_LINES, 1, results->count, "ms");
	for (int k = 0; k < 3; k++) {
		for (int at = 0; at < results->of[k][0].frame_count; at++) {
			bench_text(table, "%d", results->windows[k].first + at);
			for (int i = 0; i < results->count; i++)
				bench_number(table, bench_narrow_ms(&results->of[k][i].frames[at]), 4);
		}
	}
}

int bench_table_2_1(bench *b, bench_report *report)
{
	const bench_motion *motion = bench_get_motion(b, &bench_scene_avalanche);
	if (!motion)
		return EXIT_FAILED;
	const bench_phases phases = bench_find_phases(motion);
	bench_variant variants[VARIANTS];
	phase_results results = { .windows = { phases.a, phases.b, phases.c } };
	results.count = bench_make_ray_variants(b, variants);
	// Once each: the mean of a phase is of many steps, and the basic rays take a minute as it is.
	for (int k = 0; k < 3; k++) {
		if (bench_replay(b, motion, &results.windows[k], variants, results.count, 1, results.of[k]) != EXIT_DONE)
			return EXIT_FAILED;
	}
	add_times(report, variants, &results);
	add_ratios(report, &results);
	add_costs(report, variants, &results);
	add_curves(report, variants, &results);
	bench_note(report, "A: steps %d to %d, B: peak of steps %d to %d, C: steps %d to %d", phases.a.first, phases.a.end - 1,
		phases.b.first, phases.b.end - 1, phases.c.first, phases.c.end - 1);
	for (int k = 0; k < 3; k++) {
		bench_note_pairs(report, results.windows[k].name, variants, results.of[k], results.count);
		bench_free_results(results.of[k], results.count);
	}
	return EXIT_DONE;
}
