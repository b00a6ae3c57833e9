// device-rays, device-sweep: contacts and impacts of meshes with a graphics device.
#include "bench_device.h"

#include "bench_ccd.h"
#include "bench_motion.h"
#include "bench_replay.h"
#include "tools/carom/options.h"
#include "tools/carom/report.h"

#include <string.h>

// ---- Rays ----

enum { FULL, FULL_DEVICE, ITERATIVE, ITERATIVE_DEVICE, RAY_WAYS };

static void make_ways(bench_variant ways[RAY_WAYS])
{
	static const char *const names[RAY_WAYS] = { "full, processor", "full, device", "iterative, processor",
		"iterative, device" };
	for (int i = 0; i < RAY_WAYS; i++) {
		ways[i] = (bench_variant){ .def = carom_default_world_def(), .reference = i & ~1, .no_lab = true, .devices = i % 2 };
		ways[i].def.temporal = i < ITERATIVE ? CAROM_TEMPORAL_NONE : CAROM_TEMPORAL_PREDICTIVE;
		snprintf(ways[i].name, sizeof ways[i].name, "%s", names[i]);
	}
}

static void add_ray_row(bench_table *table, const char *phase, const bench_variant *way, const bench_result *result)
{
	const carom_stats sum = bench_sum(result);
	const double share = 1.0 / result->frame_count;
	bench_text(table, "%s", phase);
	bench_text(table, "%s", way->name);
	bench_number(table, share * sum.ms_total, 3);
	bench_number(table, share * sum.ms_ray, 3);
	bench_number(table, share * sum.ms_complete, 3);
	bench_number(table, share * devices_work_ms(&result->work, NULL), 4);
	bench_number(table, share * (double)sum.rays_full, 0);
	bench_number(table, share * (double)sum.rays_iterative, 0);
	bench_number(table, share * (double)result->pairs, 0);
}

static int measure_rays(
	const bench *b, const bench_motion *motion, const bench_window *window, bench_table *table, bench_table *kernels)
{
	static const char *const phases[3] = { "falling", "impact", "rest" };
	const char *phase = phases[window->name[0] - 'A'];
	bench_variant ways[RAY_WAYS];
	bench_result results[RAY_WAYS];
	make_ways(ways);
	if (bench_replay(b, motion, window, ways, RAY_WAYS, b->quick ? 1 : 3, results) != EXIT_DONE)
		return EXIT_FAILED;
	for (int i = 0; i < RAY_WAYS; i++) {
		char what[BENCH_CELL_SIZE];
		add_ray_row(table, phase, &ways[i], &results[i]);
		snprintf(what, sizeof what, "%.10s: %.40s", phase, ways[i].name);
		if (ways[i].devices > 0)
			bench_add_kernels(kernels, what, &results[i].work, results[i].frame_count);
	}
	bench_free_results(results, RAY_WAYS);
	return EXIT_DONE;
}

int bench_device_rays(bench *b, bench_report *report)
{
	const bench_motion *motion = bench_get_motion(b, &bench_scene_avalanche);
	if (!motion)
		return EXIT_FAILED;
	const bench_phases phases = bench_find_phases(motion);
	const bench_window *const windows[3] = { &phases.a, &phases.b, &phases.c };
	bench_table *table = bench_add_table(report, "device-rays", "An avalanche of bodies of 902 triangles: ms a step",
		"phase|rays|whole step, wall|rays, wall|completion, wall|kernels|full rays|iterative rays|colliding pairs");
	bench_table *kernels = bench_add_kernel_table(report, "device-rays");
	int status = EXIT_DONE;
	for (int i = 0; i < 3 && status == EXIT_DONE; i++)
		status = measure_rays(b, motion, windows[i], table, kernels);
	bench_note(report,
		"%d bodies; each frame with the repeat in which its narrow phase took least, means over the frames of a phase; contacts are the processor's, bit for bit",
		motion->scene.rigid.body_count);
	bench_note(report, "near triangles, tests of triangles that may cross and rays run on the device, all else on the processor");
	return status;
}

// ---- Impacts ----

enum { FRONT, ROOT, SWEEP_DEVICE, SWEEP_WAYS };

int bench_device_sweep(bench *b, bench_report *report)
{
	static const char *const names[SWEEP_WAYS] = { "processor, front", "processor, from the root", "device" };
	bench_table *table = bench_add_table(report, "device-sweep", "Impacts of a cloth on a ball: ms a step",
		"scene|triangles|where|step, wall|kernels|queries|left to the processor|impacts");
	bench_table *kernels = bench_add_kernel_table(report, "device-sweep");
	ccd_way ways[SWEEP_WAYS];
	ccd_cost costs[SWEEP_WAYS];
	for (int i = 0; i < SWEEP_WAYS; i++)
		ways[i] = (ccd_way){ .def = carom_default_sweep_def(), .threads = b->threads, .on_device = i == SWEEP_DEVICE };
	ways[ROOT].def.method = CAROM_SWEEP_BVH;
	ccd_motion motion;
	bench_make_ccd_motion(CCD_CLOTH_BALL, b->quick, &motion);
	const int status = bench_search_ccd(b, &motion, ways, SWEEP_WAYS, costs);
	for (int i = 0; i < SWEEP_WAYS && status == EXIT_DONE; i++) {
		bench_add_ccd_names(table, &motion);
		bench_text(table, "%s", names[i]);
		bench_number(table, costs[i].ms, 3);
		bench_number(table, devices_work_ms(&costs[i].work, NULL) / costs[i].work_steps, 4);
		bench_number(table, costs[i].queries, 0);
		bench_number(table, costs[i].device_left, 0);
		bench_number(table, costs[i].impacts, 0);
	}
	if (status == EXIT_DONE)
		bench_add_kernels(kernels, "a step", &costs[SWEEP_DEVICE].work, costs[SWEEP_DEVICE].work_steps);
	bench_note(report, "all ways found the same impacts, bit for bit, in every step");
	bench_free_ccd_motion(&motion);
	return status;
}
