// pipeline-2015, scene-2-2015, table-1-2015, table-2-2015: lists instead of one loop, and room for
// them that is predicted (Lehericey, Gouranton and Arnaldi, 2015, section 5 and its Tables 1 and
// 2). On a GPU a prediction saves waiting for the device; on a CPU there is nothing to wait for, so
// that only the rays that it misses compare.
#include "bench_replay.h"
#include "tools/carom/options.h"

#include <math.h>

enum { FULL, ITERATIVE, KINDS };

static const char *const KIND_NAMES[KINDS] = { "full rays only", "full and iterative" };

static carom_world_def def_of(int kind) { return kind == FULL ? bench_paper_def() : bench_paper_iterative_def(); }

/// Where pairs change most: from the first touch on.
static bench_window impact_window(const bench_motion *motion)
{
	const bench_phases phases = bench_find_phases(motion);
	return phases.b;
}

// The second scene: 216 rigid bodies with 36 sheets upon them, simulated together. Pairs with a
// sheet (a shell about it, bench_sheets.h) are worked out in full, as the paper's by its basic
// algorithm, the others go on from step to step.
typedef struct scene_two {
	const bench_motion *motion;
	bench_window window;
	bench_sheets *sheets;
} scene_two;

static const char *const SCENE_TWO = "rigid and deforming, full and iterative";

/// A fifth of a second, when the sheets have come down on the bodies.
static int open_scene_two(bench *b, scene_two *s)
{
	enum { FRAMES = 12, QUICK_FRAMES = 4 };
	s->motion = bench_get_motion(b, &bench_scene_terrain_sheets);
	if (!s->motion)
		return EXIT_FAILED;
	const int frames = b->quick ? QUICK_FRAMES : FRAMES, count = s->motion->frame_count;
	s->window = (bench_window){ "sheets", count > frames ? count - frames : 0, count };
	s->sheets = bench_make_sheets(s->motion);
	return EXIT_DONE;
}

static void note_scene_two(bench_report *report, const scene_two *s, const bench_result *result)
{
	const carom_stats *last = &result->frames[result->frame_count - 1];
	bench_note(report,
		"second scene: %s and %d sheets of %d triangles, steps %d to %d; %d pairs of boxes in the last (paper: 216 bodies, 36 sheets of "
		"8,192 triangles, up to 860 + 600 pairs)",
		s->motion->scene.name, bench_sheet_count(s->sheets), bench_sheet_triangles(s->sheets), s->window.first,
		s->window.end - 1, last->box_pairs);
}

/// Replay variants of scene two that differ from the paper's iterative settings by `change` alone.
static int replay_scene_two(
	bench *b, bench_report *report, int count, void (*change)(bench_variant *, int), bench_result *results)
{
	enum { MOST = 4 };
	bench_variant variants[MOST];
	scene_two s;
	if (open_scene_two(b, &s) != EXIT_DONE)
		return EXIT_FAILED;
	for (int i = 0; i < count; i++) {
		variants[i] = (bench_variant){ .def = def_of(ITERATIVE), .lab = bench_paper_lab(), .no_grid = true, .sheets = s.sheets };
		change(&variants[i], i);
	}
	const int status = bench_replay(b, s.motion, &s.window, variants, count, b->quick ? 1 : 2, results);
	if (status == EXIT_DONE) {
		note_scene_two(report, &s, &results[0]);
		bench_note_pairs(report, "second scene", variants, results, count);
	}
	bench_free_sheets(s.sheets);
	return status;
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

static void add_pipeline_row(
	bench_table *table, const char *name, const bench_result *lists, const bench_result *naive, double paper)
{
	const double of_lists = bench_mean_ms(lists, 0, lists->frame_count), of_naive = bench_mean_ms(naive, 0, naive->frame_count);
	bench_text(table, "%s", name);
	bench_number(table, of_naive, 3);
	bench_number(table, of_lists, 3);
	bench_number(table, of_naive / of_lists, 2);
	bench_number(table, paper, 2);
	bench_number(table, bench_sum(naive).ms_total / bench_sum(lists).ms_total, 2);
}

static void choose_stages(bench_variant *variant, int number)
{
	variant->lab.stages = number ? CAROM_STAGES_NAIVE : CAROM_STAGES_LISTS;
	snprintf(variant->name, sizeof variant->name, "%s", number ? "naive" : "lists");
}

static int add_pipeline_of_scene_two(bench *b, bench_report *report, bench_table *table)
{
	bench_result results[2];
	if (replay_scene_two(b, report, 2, choose_stages, results) != EXIT_DONE)
		return EXIT_FAILED;
	add_pipeline_row(table, SCENE_TWO, &results[0], &results[1], 1.84);
	bench_free_results(results, 2);
	return EXIT_DONE;
}

/// Full rays by lists and naive, then full and iterative ones by both. All must find the pairs of
/// the first.
static void choose_rays(bench_variant *variant, int number)
{
	variant->def = def_of(number / 2);
	variant->reference = 0;
	variant->lab.stages = number % 2 ? CAROM_STAGES_NAIVE : CAROM_STAGES_LISTS;
	snprintf(variant->name, sizeof variant->name, "%s, %s", KIND_NAMES[number / 2], number % 2 ? "naive" : "lists");
}

int bench_scene_2_2015(bench *b, bench_report *report)
{
	static const double paper[KINDS] = { NAN, 1.84 };
	bench_result results[2 * KINDS];
	if (replay_scene_two(b, report, 2 * KINDS, choose_rays, results) != EXIT_DONE)
		return EXIT_FAILED;
	bench_table *table = bench_add_table(report, "scene-2-2015",
		"Rigid and deforming bodies simulated together: ms per step of the narrow phase",
		"rays|naive|lists|times faster|paper|whole step, ms|times faster than full rays");
	const double full = bench_sum(&results[0]).ms_total;
	for (int i = 0; i < 2 * KINDS; i += 2) {
		const bench_result *lists = &results[i], *naive = &results[i + 1];
		const double of_lists = bench_mean_ms(lists, 0, lists->frame_count),
					 of_naive = bench_mean_ms(naive, 0, naive->frame_count);
		const double whole = bench_sum(lists).ms_total;
		bench_text(table, "%s", KIND_NAMES[i / 2]);
		bench_number(table, of_naive, 3);
		bench_number(table, of_lists, 3);
		bench_number(table, of_naive / of_lists, 2);
		if (isnan(paper[i / 2]))
			bench_text(table, "-");
		else
			bench_number(table, paper[i / 2], 2);
		bench_number(table, whole / lists->frame_count, 3);
		bench_number(table, full / whole, 2);
	}
	bench_draw(table, BENCH_BARS, 3, 2, "lists: times faster than naive");
	bench_free_results(results, 2 * KINDS);
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
	for (int i = 0; i < LISTS_AND_NAIVE; i += 2)
		add_pipeline_row(table, KIND_NAMES[i / 2], &results[i], &results[i + 1], paper[i / 2]);
	note_window(report, motion, &window);
	bench_note_pairs(report, "pairs", variants, results, LISTS_AND_NAIVE);
	bench_free_results(results, LISTS_AND_NAIVE);
	bench_note(report, "figure-6-2015 holds the curves over the whole run of the first scene");
	if (add_pipeline_of_scene_two(b, report, table) != EXIT_DONE)
		return EXIT_FAILED;
	return add_figure_6(b, report, motion);
}

// in the order of carom_ray_buffers
static const char *const BUFFER_NAMES[] = { "exact", "ignore", "backtrack" };

static void choose_buffers(bench_variant *variant, int number)
{
	variant->lab.ray_buffers = (carom_ray_buffers)number;
	snprintf(variant->name, sizeof variant->name, "%s", BUFFER_NAMES[number]);
}

/// results [3] by buffers.
static void add_room_row(bench_table *table, const char *name, const bench_result *results, double paper)
{
	double ms[3];
	bench_text(table, "%s", name);
	for (int k = 0; k < 3; k++)
		bench_number(table, ms[k] = bench_mean_ms(&results[k], 0, results[k].frame_count), 3);
	bench_number(table, ms[0] - ms[1], 3);
	bench_number(table, ms[0] - ms[2], 3);
	bench_number(table, paper, 2);
	bench_text(table, "%lld", (long long)bench_sum(&results[1]).rays_missed);
	bench_number(table, (double)bench_sum(&results[2]).backtracks / results[2].frame_count, 2);
}

int bench_table_1_2015(bench *b, bench_report *report)
{
	static const double paper[KINDS] = { 2.84, 1.97 };
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
		snprintf(variants[i].name, sizeof variants[i].name, "%s, %s", KIND_NAMES[i / 3], BUFFER_NAMES[i % 3]);
	}
	if (bench_replay(b, motion, &window, variants, VARIANTS, b->quick ? 1 : 3, results) != EXIT_DONE)
		return EXIT_FAILED;
	bench_table *table = bench_add_table(report, "table-1-2015", "Predicted room for rays against exact room: ms per step",
		"rays|exact|ignore|backtrack|gain of ignore|gain of backtrack|gain in the paper|rays missed by ignore|backtracks per step");
	bench_draw(table, BENCH_BARS, 4, 3, "ms gained per step");
	for (int i = 0; i < VARIANTS; i += 3)
		add_room_row(table, KIND_NAMES[i / 3], &results[i], paper[i / 3]);
	note_window(report, motion, &window);
	bench_note(
		report, "the paper's gain is a GPU that no longer waits for the host; a CPU never did, so none is to be expected");
	bench_note_pairs(report, "pairs", variants, results, VARIANTS);
	bench_free_results(results, VARIANTS);
	if (replay_scene_two(b, report, 3, choose_buffers, results) != EXIT_DONE)
		return EXIT_FAILED;
	add_room_row(table, SCENE_TWO, results, 2.05);
	bench_free_results(results, 3);
	return EXIT_DONE;
}

static void add_missed_row(
	bench_table *table, const char *name, const bench_result *by_pairs, const bench_result *by_last, const char *paper)
{
	const carom_stats pairs = bench_sum(by_pairs), last = bench_sum(by_last);
	const double rays_1 = (double)(pairs.rays_full + pairs.rays_iterative + pairs.rays_missed);
	const double rays_2 = (double)(last.rays_full + last.rays_iterative + last.rays_missed);
	bench_text(table, "%s", name);
	bench_number(table, rays_1, 0);
	bench_text(table, "%lld", (long long)pairs.rays_missed);
	bench_text(table, "%lld", (long long)last.rays_missed);
	bench_number(table, rays_1 > 0 ? 100 * (double)pairs.rays_missed / rays_1 : 0, 3);
	bench_number(table, rays_2 > 0 ? 100 * (double)last.rays_missed / rays_2 : 0, 3);
	if (last.rays_missed > 0)
		bench_number(table, 100 - 100 * (double)pairs.rays_missed / (double)last.rays_missed, 1);
	else
		bench_text(table, "-");
	bench_text(table, "%s", paper);
}

static void choose_predictor(bench_variant *variant, int number)
{
	variant->lab.ray_buffers = CAROM_BUFFERS_IGNORE;
	variant->lab.ray_predictor = number ? CAROM_PREDICTOR_LAST : CAROM_PREDICTOR_PAIRS;
	variant->lab.buffer_confidence = 1.02;
	snprintf(variant->name, sizeof variant->name, "Eq. %d", 1 + number);
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
	for (int i = 0; i < VARIANTS; i += 2)
		add_missed_row(table, KIND_NAMES[i / 2], &results[i], &results[i + 1], i == 0 ? "below 0.1 missed" : "79");
	bench_free_results(results, VARIANTS);
	if (replay_scene_two(b, report, 2, choose_predictor, results) != EXIT_DONE)
		return EXIT_FAILED;
	add_missed_row(table, SCENE_TWO, &results[0], &results[1], "28");
	bench_free_results(results, 2);
	return EXIT_DONE;
}
