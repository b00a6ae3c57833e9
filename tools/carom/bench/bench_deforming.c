// deforming-table-1, -2 and -4: detection between 100 rings and 100 lumpy bodies, rigid and waving
// (Li and Yamaguchi, Tables 1 to 4 and Figures 10 to 13). The bodies move as in the simulation of
// the rigid scene; a waving one changes its form in each frame beside (bench_forms.h). So all ways
// to detect see one motion, and one that lets bodies pass each other cannot change what the others
// find.
#include "bench_replay.h"
#include "tools/carom/options.h"

#include <math.h>

enum { SCENES = 2, FRAMES = 20 };

static const char *const SCENE_NAMES[SCENES] = { "100 rings", "100 lumpy bodies" };

static const bench_motion *motion_of(bench *b, int scene)
{
	return bench_get_motion(b, scene == 0 ? &bench_scene_tori : &bench_scene_bunnies);
}

/// A third of a second from when the last body has appeared: most lie, the last ones fall or roll.
static bench_window all_there(const bench *b, const bench_motion *motion)
{
	int first = 0;
	while (first < motion->frame_count - 1 && motion->present[first] < motion->scene.rigid.body_count)
		first++;
	const int frames = b->quick ? 5 : FRAMES, end = first + frames < motion->frame_count ? first + frames : motion->frame_count;
	return (bench_window){ "all bodies", end - frames > 0 ? end - frames : 0, end };
}

static void note_window(bench_report *report, const bench_motion *motion, const bench_window *window)
{
	bench_note(report, "%s: steps %d to %d, %d bodies that move; milliseconds are means of a step", motion->scene.name,
		window->first, window->end - 1, motion->present[window->end - 1] - 1);
}

/// Solids get their meshes while pairs are looked for.
static double mean_update(const bench_result *result)
{
	const carom_stats sum = bench_sum(result);
	return (sum.ms_trees + sum.ms_pair) / result->frame_count;
}

/// A step without the search for impacts, which rigid bodies do not have.
static double mean_step(const bench_result *result)
{
	const carom_stats sum = bench_sum(result);
	return (sum.ms_trees + sum.ms_pair + bench_narrow_ms(&sum) + sum.ms_merge) / result->frame_count;
}

static double mean_narrow(const bench_result *result) { return bench_mean_ms(result, 0, result->frame_count); }

// ---- Table 1 ----

enum { BUILDERS = 5 };

static void make_builders(bench_variant *variants)
{
	static const struct {
		const char *name;
		carom_mesh_build build;
	} ways[BUILDERS] = {
		{ "TrBVH", CAROM_MESH_TRBVH },
		{ "HLBVH", CAROM_MESH_HLBVH },
		{ "LBVH", CAROM_MESH_LBVH },
		{ "surface area heuristic", CAROM_MESH_SAH },
		{ "Carom's own: refitted, complete", CAROM_MESH_SAH },
	};
	for (int i = 0; i < BUILDERS; i++) {
		variants[i] = (bench_variant){ .def = bench_paper_def(), .lab = bench_paper_lab(), .build = ways[i].build };
		variants[i].form = i == BUILDERS - 1 ? BENCH_REFITTED : BENCH_REMADE;
		variants[i].no_lab = i == BUILDERS - 1;
		snprintf(variants[i].name, sizeof variants[i].name, "%s", ways[i].name);
	}
}

int bench_deforming_table_1(bench *b, bench_report *report)
{
	static const char *const paper[BUILDERS] = { "3.1 + 56.7", "0.7 + 72.0", "-", "-", "-" };
	const bench_motion *motion = motion_of(b, 0);
	if (!motion)
		return EXIT_FAILED;
	const bench_window window = all_there(b, motion);
	bench_variant variants[BUILDERS];
	bench_result results[BUILDERS];
	make_builders(variants);
	if (bench_replay(b, motion, &window, variants, BUILDERS, b->quick ? 1 : 2, results) != EXIT_DONE)
		return EXIT_FAILED;
	bench_table *table =
		bench_add_table(report, "deforming-table-1", "100 waving rings: meshes made again in each step, and full rays: ms",
			"trees|update and broad phase|narrow phase|both|rays|paper: update + narrow");
	bench_draw(table, BENCH_BARS, 1, 2, "ms");
	for (int i = 0; i < BUILDERS; i++) {
		bench_text(table, "%s", variants[i].name);
		bench_number(table, mean_update(&results[i]), 3);
		bench_number(table, mean_narrow(&results[i]), 3);
		bench_number(table, mean_update(&results[i]) + mean_narrow(&results[i]), 3);
		bench_text(table, "%lld", (long long)(bench_sum(&results[i]).rays_full / results[i].frame_count));
		bench_text(table, "%s", paper[i]);
	}
	note_window(report, motion, &window);
	bench_note(report,
		"update holds all that a mesh is made with: check, edges, normals, trees; the last row refits a mesh that is there, where its "
		"box meets another's, and looks for edges that cross too. Rays of the others go through the binary tree without a stack, as on a "
		"graphics card, and are all that they do");
	bench_note_pairs(report, "pairs", variants, results, BUILDERS);
	bench_free_results(results, BUILDERS);
	return EXIT_DONE;
}

// ---- Tables 2 and 3 ----

enum { PAPER_KINDS = 3, DEFAULTS = PAPER_KINDS, ON_DEVICE, MOST_KINDS, MOST_WAYS = 2 * MOST_KINDS };

/// How many kinds of rays: the last one with a device alone.
static int kinds_of(const bench *b) { return b->on_device ? MOST_KINDS : ON_DEVICE; }

/// Rigid bodies first, then waving ones.
static void make_ways(const bench *b, bench_variant *variants)
{
	static const char *const names[MOST_KINDS] = { "full", "iterative", "iterative and predictive", "Carom's defaults",
		"Carom's on the device" };
	static const carom_temporal temporal[PAPER_KINDS] = { CAROM_TEMPORAL_NONE, CAROM_TEMPORAL_ITERATIVE,
		CAROM_TEMPORAL_PREDICTIVE };
	for (int i = 0; i < 2 * kinds_of(b); i++) {
		const int kind = i % kinds_of(b), first = i - kind;
		variants[i] = (bench_variant){ .def = bench_paper_def(), .lab = bench_paper_lab(), .reference = first };
		if (kind >= DEFAULTS) {
			variants[i].def = carom_default_world_def();
			variants[i].no_lab = true;
			variants[i].reference = first + DEFAULTS;
			variants[i].devices = kind == ON_DEVICE;
		} else {
			variants[i].def.temporal = temporal[kind];
			variants[i].no_grid = true;
		}
		variants[i].form = first == 0 ? BENCH_RIGID : BENCH_REFITTED;
		// A binary tree would be made once more in each step, and with it the numbers of samples.
		if (first > 0)
			variants[i].lab.ray_method = CAROM_RAYS_WIDE;
		snprintf(variants[i].name, sizeof variants[i].name, "%s, %s", first == 0 ? "rigid" : "waving", names[kind]);
	}
}

static void add_ways(const bench *b, bench_table *table, int scene, const bench_variant *variants, const bench_result *results)
{
	static const char *const paper[SCENES][MOST_KINDS] = { { "56.7", "36.2", "37.2", "-", "-" },
		{ "129.2", "116.3", "118.6", "-", "-" } };
	for (int i = 0; i < 2 * kinds_of(b); i++) {
		const int kind = i % kinds_of(b);
		const carom_stats sum = bench_sum(&results[i]);
		bench_text(table, "%s, %s", SCENE_NAMES[scene], variants[i].name);
		bench_number(table, mean_narrow(&results[i]), 3);
		bench_number(table, mean_narrow(&results[i - kind]) / mean_narrow(&results[i]), 2);
		bench_number(table, mean_step(&results[i]), 3);
		bench_text(table, "%lld", (long long)(sum.rays_full / results[i].frame_count));
		bench_text(table, "%lld", (long long)(sum.rays_iterative / results[i].frame_count));
		bench_text(table, "%s", paper[scene][kind]);
	}
}

int bench_deforming_table_2(bench *b, bench_report *report)
{
	bench_table *table = bench_add_table(report, "deforming-table-2", "Full, iterative and predictive rays: ms of a step",
		"bodies and rays|narrow phase|times faster than full|step without impacts|full rays|iterative rays|paper: narrow phase");
	bench_draw(table, BENCH_BARS, 1, 1, "ms");
	for (int scene = 0; scene < SCENES; scene++) {
		const bench_motion *motion = motion_of(b, scene);
		bench_variant variants[MOST_WAYS];
		bench_result results[MOST_WAYS];
		const int count = 2 * kinds_of(b);
		if (!motion)
			return EXIT_FAILED;
		const bench_window window = all_there(b, motion);
		make_ways(b, variants);
		if (bench_replay(b, motion, &window, variants, count, b->quick ? 1 : 2, results) != EXIT_DONE)
			return EXIT_FAILED;
		add_ways(b, table, scene, variants, results);
		note_window(report, motion, &window);
		bench_note_pairs(report, SCENE_NAMES[scene], variants, results, count);
		bench_free_results(results, count);
	}
	bench_note(report,
		"rays of rigid bodies go through the binary tree, those of waving ones through the wide tree, which is refitted in each step");
	return EXIT_DONE;
}

// ---- Table 4, Figures 10 to 13 ----

enum { RAYS, RAYS_WAVING, HULLS, METHODS };

static void make_methods(bench_variant *variants, int pieces)
{
	for (int i = 0; i < METHODS; i++)
		variants[i] =
			(bench_variant){ .def = carom_default_world_def(), .lab = carom_default_lab(), .reference = i, .pieces = pieces };
	variants[RAYS_WAVING].form = BENCH_REFITTED;
	variants[HULLS].form = BENCH_PIECES;
	variants[HULLS].reference = RAYS;
	snprintf(variants[RAYS].name, sizeof variants[RAYS].name, "rays");
	snprintf(variants[RAYS_WAVING].name, sizeof variants[RAYS_WAVING].name, "rays, waving");
	snprintf(variants[HULLS].name, sizeof variants[HULLS].name, "GJK and EPA, %d hulls a body", pieces);
}

/// Means over all frames in which bodies touch.
static void mean_touching(const bench_result *result, double *pairs, double *depth)
{
	double sum = 0;
	int64_t touching = 0;
	for (int i = 0; i < result->frame_count; i++) {
		sum += result->depths[i] * result->touching[i];
		touching += result->touching[i];
	}
	*pairs = (double)touching / result->frame_count;
	*depth = touching > 0 ? sum / (double)touching : 0;
}

static void add_methods(
	bench_table *table, int scene, const bench_variant *variants, const bench_result *results, const bench_result *whole)
{
	static const char *const paper[SCENES][METHODS] = { { "61.0", "61.0", "77.0" }, { "-", "-", "-" } };
	for (int i = 0; i < METHODS; i++) {
		bench_text(table, "%s, %s", SCENE_NAMES[scene], variants[i].name);
		bench_number(table, mean_step(&results[i]), 3);
		bench_text(table, "%s", paper[scene][i]);
		double pairs = NAN, depth = NAN;
		if (i != RAYS_WAVING)
			mean_touching(&whole[i], &pairs, &depth);
		bench_number(table, pairs, 1);
		bench_number(table, 1e3 * depth, 3);
	}
}

static void add_curves(bench_report *report, int scene, const bench_result *whole)
{
	static const char *const names[SCENES][2] = { { "figure-12-deforming", "figure-13-deforming" },
		{ "figure-10-deforming", "figure-11-deforming" } };
	bench_table *pairs =
		bench_add_table(report, names[scene][0], "Pairs of bodies with contacts in each step", "step|rays|GJK and EPA");
	bench_table *depths = bench_add_table(
		report, names[scene][1], "Mean of the deepest contact of each pair in each step, mm", "step|rays|GJK and EPA");
	pairs->series = depths->series = true;
	bench_draw(pairs, BENCH_LINES, 1, 2, "pairs");
	bench_draw(depths, BENCH_LINES, 1, 2, "mm");
	for (int step = 0; step < whole[RAYS].frame_count; step++) {
		bench_text(pairs, "%d", step);
		bench_text(depths, "%d", step);
		for (int i = RAYS; i < METHODS; i += HULLS - RAYS) {
			bench_text(pairs, "%d", whole[i].touching[step]);
			bench_number(depths, 1e3 * whole[i].depths[step], 4);
		}
	}
}

static int compare_methods(bench *b, bench_report *report, bench_table *table, int scene)
{
	const bench_motion *motion = motion_of(b, scene);
	bench_variant variants[METHODS];
	bench_result results[METHODS], whole[METHODS];
	if (!motion)
		return EXIT_FAILED;
	const bench_window window = all_there(b, motion), all = { "all", 0, motion->frame_count };
	make_methods(variants, 24);
	if (bench_replay(b, motion, &window, variants, METHODS, b->quick ? 1 : 2, results) != EXIT_DONE)
		return EXIT_FAILED;
	variants[RAYS_WAVING].form = BENCH_RIGID; // its impacts would take minutes
	if (bench_replay(b, motion, &all, variants, METHODS, 1, whole) != EXIT_DONE) {
		bench_free_results(results, METHODS);
		return EXIT_FAILED;
	}
	add_methods(table, scene, variants, results, whole);
	add_curves(report, scene, whole);
	note_window(report, motion, &window);
	bench_note_pairs(report, SCENE_NAMES[scene], variants, whole, METHODS);
	bench_free_results(results, METHODS);
	bench_free_results(whole, METHODS);
	return EXIT_DONE;
}

int bench_deforming_table_4(bench *b, bench_report *report)
{
	bench_table *table = bench_add_table(report, "deforming-table-4", "Rays beside GJK and EPA on one motion",
		"bodies and method|step without impacts, ms|paper, ms|colliding pairs a step|mean depth, mm");
	bench_draw(table, BENCH_BARS, 1, 1, "ms");
	for (int scene = 0; scene < SCENES; scene++) {
		if (compare_methods(b, report, table, scene) != EXIT_DONE)
			return EXIT_FAILED;
	}
	bench_note(report,
		"GJK and EPA are the library's own, for bodies of convex parts; the parts are hulls of pieces of the surface, as the clusters of "
		"Bullet's soft bodies. Pairs and depths are those of bodies that move, over the whole run");
	return EXIT_DONE;
}
