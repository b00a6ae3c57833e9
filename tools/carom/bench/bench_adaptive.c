// adaptive: displacement_threshold and distance_extension chosen for each pair, against a sweep of
// fixed values. The papers leave them as constants that depend on the sizes and velocities of a
// scene, and name values that adapt as future work (Lehericey, 2013, conclusion).
#include "bench_replay.h"
#include "tools/carom/options.h"

enum { FIXED = 7, CHOSEN = FIXED, FULL, VARIANTS, PHASES = 3 };

static const double FIXED_METRES[FIXED] = { 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16 };

static void make_variants(bench_variant *v)
{
	for (int i = 0; i < VARIANTS; i++) {
		v[i] =
			(bench_variant){ .name = "chosen", .def = carom_default_world_def(), .lab = carom_default_lab(), .reference = FULL };
		if (i < FIXED) {
			snprintf(v[i].name, sizeof v[i].name, "%g m", FIXED_METRES[i]);
			v[i].lab.displacement_threshold = v[i].lab.distance_extension = FIXED_METRES[i];
		}
	}
	v[FULL].def.temporal = CAROM_TEMPORAL_NONE;
	snprintf(v[FULL].name, sizeof v[FULL].name, "full in every step");
}

static int best_fixed(const double ms[VARIANTS][PHASES], int phase)
{
	int best = 0;
	for (int i = 1; i < FIXED; i++) {
		if (ms[i][phase] < ms[best][phase])
			best = i;
	}
	return best;
}

static void fill(bench_report *report, const bench_variant *variants, const double ms[VARIANTS][PHASES])
{
	bench_table *table = bench_add_table(report, "adaptive",
		"Thresholds: fixed ones, and those chosen for each pair (*): ms per step of culling, rays and completion",
		"threshold|A|B|C");
	bench_draw(table, BENCH_BARS, 1, PHASES, "ms per step");
	table->logarithmic = true;
	for (int i = 0; i < VARIANTS; i++) {
		bench_text(table, "%s%s", variants[i].name, i == CHOSEN ? " *" : "");
		for (int k = 0; k < PHASES; k++)
			bench_number(table, ms[i][k], 4);
	}
	for (int k = 0; k < PHASES; k++) {
		const int best = best_fixed(ms, k);
		bench_note(report, "phase %c: chosen takes %.2f times the best fixed one (%s)", 'A' + k, ms[CHOSEN][k] / ms[best][k],
			variants[best].name);
	}
}

int bench_adaptive(bench *b, bench_report *report)
{
	const bench_motion *motion = bench_get_motion(b, &bench_scene_avalanche);
	if (!motion)
		return EXIT_FAILED;
	const bench_phases phases = bench_find_phases(motion);
	const bench_window windows[PHASES] = { phases.a, phases.b, phases.c };
	bench_variant variants[VARIANTS];
	bench_result results[VARIANTS];
	double ms[VARIANTS][PHASES];
	make_variants(variants);
	for (int k = 0; k < PHASES; k++) {
		if (bench_replay(b, motion, &windows[k], variants, VARIANTS, b->quick ? 1 : 3, results) != EXIT_DONE)
			return EXIT_FAILED;
		for (int i = 0; i < VARIANTS; i++)
			ms[i][k] = bench_mean_ms(&results[i], 0, results[i].frame_count);
		bench_note_pairs(report, windows[k].name, variants, results, VARIANTS);
		bench_free_results(results, VARIANTS);
	}
	fill(report, variants, (const double(*)[PHASES])ms);
	return EXIT_DONE;
}
