// scene-2: the end of the fountain (Lehericey, 2013, section 2.3.4 and Figure 2.14), where most of
// the bodies lie in a heap.
#include "bench_replay.h"
#include "tools/carom/options.h"

enum { VARIANTS = BENCH_RAY_VARIANTS, WINDOW = 30 };

int bench_scene_2(bench *b, bench_report *report)
{
	static const double paper[] = { 33.0, 19.0 };
	const bench_motion *motion = bench_get_motion(b, &bench_scene_fountain);
	if (!motion)
		return EXIT_FAILED;
	const int end = motion->frame_count;
	const bench_window window = { "end", end > 2 * WINDOW ? end - WINDOW : end / 2, end };
	bench_variant variants[VARIANTS];
	bench_result results[VARIANTS];
	const int count = bench_make_ray_variants(b, variants);
	if (bench_replay(b, motion, &window, variants, count, b->quick ? 1 : 2, results) != EXIT_DONE)
		return EXIT_FAILED;

	bench_table *table = bench_add_table(report, "scene-2", "The end of the fountain: ray tracing, ms per step",
		"rays|full|iterative|times faster|paper|ns per ray, full|ns per ray, iterative");
	bench_draw(table, BENCH_BARS, 3, 2, "iterative: times faster than full rays");
	for (int i = 0; i < count; i += 2) {
		bench_text(table, "%s", bench_ray_name(i));
		double ms[2], ns[2];
		for (int k = 0; k < 2; k++) {
			const carom_stats sum = bench_sum(&results[i + k]);
			const double rays = (double)(sum.rays_full + sum.rays_iterative);
			ms[k] = bench_mean_ms(&results[i + k], 0, results[i + k].frame_count);
			ns[k] = rays > 0 ? 1e6 * (sum.ms_vertex + sum.ms_ray) / rays : 0;
		}
		bench_number(table, ms[0], 3);
		bench_number(table, ms[1], 3);
		bench_number(table, ms[0] / ms[1], 2);
		if (i < BENCH_CAROM_FULL)
			bench_number(table, paper[i / 2], 1);
		else
			bench_text(table, "-");
		bench_number(table, ns[0], 0);
		bench_number(table, ns[1], 0);
	}
	const carom_stats last = results[0].frames[results[0].frame_count - 1];
	bench_note(report, "steps %d to %d; at the end %d bodies, %d pairs of boxes (paper: 500 bodies, about 10,000 pairs)",
		window.first, window.end - 1, last.bodies, last.box_pairs);
	bench_note_pairs(report, "pairs", variants, results, count);
	bench_free_results(results, count);
	return EXIT_DONE;
}
