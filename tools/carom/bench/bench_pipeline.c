// pipeline-2015, table-1-2015, table-2-2015: lists instead of one loop, and room for them that is
// predicted (Lehericey, Gouranton and Arnaldi, 2015, section 5 and its Tables 1 and 2). On a GPU a
// prediction saves waiting for the device; on a CPU there is nothing to wait for, so that only the
// rays that it misses compare.
#include "bench_replay.h"
#include "tools/carom/options.h"

enum { FULL, ITERATIVE, KINDS };

static const char *const KIND_NAMES[KINDS] = { "full rays only", "full and iterative" };

static carom_world_def def_of(int kind) { return kind == FULL ? bench_paper_def() : bench_paper_iterative_def(); }

/// Where pairs change most: from the first touch on.
static bench_window impact_window(const bench_motion *motion)
{
	const bench_phases phases = bench_find_phases(motion);
	return phases.b;
}

static void note_window(bench_report *report, const bench_motion *motion, const bench_window *window)
{
	const carom_stats *last = &motion->steps[window->end - 1].detection;
	bench_note(report,
		"%s: steps %d to %d, the impact; %d bodies, %d pairs of boxes in the last (paper: 1,000 bodies, up to 10,000 pairs)",
		motion->scene.name, window->first, window->end - 1, last->bodies, last->box_pairs);
}

enum { LISTS_AND_NAIVE = 2 * KINDS };

/// Lists and naive loop for each kind of rays: the odd ones are naive.
static void make_stage_variants(bench_variant *variants)
{
	for (int i = 0; i < LISTS_AND_NAIVE; i++) {
		variants[i] = (bench_variant){ .def = def_of(i / 2), .lab = bench_paper_lab(), .reference = i - i % 2, .no_grid = true };
		variants[i].lab.stages = i % 2 ? CAROM_STAGES_NAIVE : CAROM_STAGES_LISTS;
		snprintf(variants[i].name, sizeof variants[i].name, "%s, %s", KIND_NAMES[i / 2], i % 2 ? "naive" : "lists");
	}
}

/// Figure 6: the time of the narrow phase in each step of the whole run.
static int add_figure_6(bench *b, bench_report *report, const bench_motion *motion)
{
	const bench_window all = { "all", 0, motion->frame_count };
	bench_variant variants[LISTS_AND_NAIVE];
	bench_result results[LISTS_AND_NAIVE];
	make_stage_variants(variants);
	if (bench_replay(b, motion, &all, variants, LISTS_AND_NAIVE, 1, results) != EXIT_DONE)
		return EXIT_FAILED;
	bench_table *table = bench_add_table(report, "figure-6-2015", "Narrow phase in each step: lists against one loop",
		"step|full, lists|full, naive|full and iterative, lists|full and iterative, naive");
	table->series = true;
	bench_draw(table, BENCH_LINES, 1, LISTS_AND_NAIVE, "ms");
	for (int step = 0; step < results[0].frame_count; step++) {
		bench_text(table, "%d", step);
		for (int i = 0; i < LISTS_AND_NAIVE; i++)
			bench_number(table, bench_narrow_ms(&results[i].frames[step]), 4);
	}
	bench_free_results(results, LISTS_AND_NAIVE);
	return EXIT_DONE;
}

int bench_pipeline_2015(bench *b, bench_report *report)
{
	static const double paper[KINDS] = { 1.31, 2.73 };
	const bench_motion *motion = bench_get_motion(b, &bench_scene_terrain);
	if (!motion)
		return EXIT_FAILED;
	const bench_window window = impact_window(motion);
	bench_variant variants[LISTS_AND_NAIVE];
	bench_result results[LISTS_AND_NAIVE];
	make_stage_variants(variants);
	if (bench_replay(b, motion, &window, variants, LISTS_AND_NAIVE, b->quick ? 1 : 3, results) != EXIT_DONE)
		return EXIT_FAILED;
	bench_table *table = bench_add_table(report, "pipeline-2015",
		"Lists for each stage and ray algorithm against one loop with a switch: ms per step",
		"rays|naive|lists|times faster|paper|whole step, times faster");
	bench_draw(table, BENCH_BARS, 3, 2, "lists: times faster than naive");
	for (int i = 0; i < LISTS_AND_NAIVE; i += 2) {
		const double lists = bench_mean_ms(&results[i], 0, results[i].frame_count);
		const double naive = bench_mean_ms(&results[i + 1], 0, results[i + 1].frame_count);
		bench_text(table, "%s", KIND_NAMES[i / 2]);
		bench_number(table, naive, 3);
		bench_number(table, lists, 3);
		bench_number(table, naive / lists, 2);
		bench_number(table, paper[i / 2], 2);
		bench_number(table, bench_sum(&results[i + 1]).ms_total / bench_sum(&results[i]).ms_total, 2);
	}
	note_window(report, motion, &window);
	bench_note_pairs(report, "pairs", variants, results, LISTS_AND_NAIVE);
	bench_free_results(results, LISTS_AND_NAIVE);
	bench_note(report,
		"figure-6-2015 holds the curves over the whole run. The paper's second scene and its Figures 5 and 7 need contacts of deforming "
		"bodies, which Carom does not have yet");
	return add_figure_6(b, report, motion);
}

int bench_table_1_2015(bench *b, bench_report *report)
{
	static const double paper[KINDS] = { 2.84, 1.97 };
	// in the order of carom_ray_buffers
	static const char *const names[] = { "exact", "ignore", "backtrack" };
	const bench_motion *motion = bench_get_motion(b, &bench_scene_terrain);
	if (!motion)
		return EXIT_FAILED;
	const bench_window window = impact_window(motion);
	enum { VARIANTS = 3 * KINDS };
	bench_variant variants[VARIANTS];
	bench_result results[VARIANTS];
	for (int i = 0; i < VARIANTS; i++) {
		variants[i] = (bench_variant){ .def = def_of(i / 3), .lab = bench_paper_lab(), .reference = i - i % 3, .no_grid = true };
		variants[i].lab.ray_buffers = (carom_ray_buffers)(i % 3);
		snprintf(variants[i].name, sizeof variants[i].name, "%s, %s", KIND_NAMES[i / 3], names[i % 3]);
	}
	if (bench_replay(b, motion, &window, variants, VARIANTS, b->quick ? 1 : 3, results) != EXIT_DONE)
		return EXIT_FAILED;
	bench_table *table = bench_add_table(report, "table-1-2015", "Predicted room for rays against exact room: ms per step",
		"rays|exact|ignore|backtrack|gain of ignore|gain of backtrack|gain in the paper|rays missed by ignore|backtracks per step");
	bench_draw(table, BENCH_BARS, 4, 3, "ms gained per step");
	for (int i = 0; i < VARIANTS; i += 3) {
		double ms[3];
		bench_text(table, "%s", KIND_NAMES[i / 3]);
		for (int k = 0; k < 3; k++)
			bench_number(table, ms[k] = bench_mean_ms(&results[i + k], 0, results[i + k].frame_count), 3);
		bench_number(table, ms[0] - ms[1], 3);
		bench_number(table, ms[0] - ms[2], 3);
		bench_number(table, paper[i / 3], 2);
		bench_text(table, "%lld", (long long)bench_sum(&results[i + 1]).rays_missed);
		bench_number(table, (double)bench_sum(&results[i + 2]).backtracks / results[i + 2].frame_count, 2);
	}
	note_window(report, motion, &window);
	bench_note(
		report, "the paper's gain is a GPU that no longer waits for the host; a CPU never did, so none is to be expected");
	bench_note_pairs(report, "pairs", variants, results, VARIANTS);
	bench_free_results(results, VARIANTS);
	return EXIT_DONE;
}

int bench_table_2_2015(bench *b, bench_report *report)
{
	const bench_motion *motion = bench_get_motion(b, &bench_scene_terrain);
	if (!motion)
		return EXIT_FAILED;
	const bench_window all = { "all", 0, motion->frame_count };
	enum { VARIANTS = 2 * KINDS };
	bench_variant variants[VARIANTS];
	bench_result results[VARIANTS];
	for (int i = 0; i < VARIANTS; i++) {
		variants[i] = (bench_variant){ .def = def_of(i / 2), .lab = bench_paper_lab(), .reference = i - i % 2, .no_grid = true };
		variants[i].lab.ray_buffers = CAROM_BUFFERS_IGNORE;
		variants[i].lab.ray_predictor = i % 2 ? CAROM_PREDICTOR_LAST : CAROM_PREDICTOR_PAIRS;
		variants[i].lab.buffer_confidence = 1.02;
		snprintf(variants[i].name, sizeof variants[i].name, "%s, Eq. %d", KIND_NAMES[i / 2], 1 + i % 2);
	}
	if (bench_replay(b, motion, &all, variants, VARIANTS, 1, results) != EXIT_DONE)
		return EXIT_FAILED;
	bench_table *table =
		bench_add_table(report, "table-2-2015", "Rays missed by predictions that were too low, confidence 1.02, whole motion",
			"kind of rays|rays|missed, Eq. 1|missed, Eq. 2|Eq. 1, %|Eq. 2, %|fewer by, %|paper, %");
	bench_draw(table, BENCH_BARS, 4, 2, "missed rays, %");
	for (int i = 0; i < VARIANTS; i += 2) {
		const carom_stats pairs = bench_sum(&results[i]), last = bench_sum(&results[i + 1]);
		const double rays_1 = (double)(pairs.rays_full + pairs.rays_iterative + pairs.rays_missed);
		const double rays_2 = (double)(last.rays_full + last.rays_iterative + last.rays_missed);
		bench_text(table, "%s", KIND_NAMES[i / 2]);
		bench_number(table, rays_1, 0);
		bench_text(table, "%lld", (long long)pairs.rays_missed);
		bench_text(table, "%lld", (long long)last.rays_missed);
		bench_number(table, rays_1 > 0 ? 100 * (double)pairs.rays_missed / rays_1 : 0, 3);
		bench_number(table, rays_2 > 0 ? 100 * (double)last.rays_missed / rays_2 : 0, 3);
		if (last.rays_missed > 0)
			bench_number(table, 100 - 100 * (double)pairs.rays_missed / (double)last.rays_missed, 1);
		else
			bench_text(table, "-");
		bench_text(table, "%s", i == 0 ? "below 0.1 missed" : "79");
	}
	bench_free_results(results, VARIANTS);
	return EXIT_DONE;
}
