// The steps of a motion searched in several ways, which must all find the same.
#include "bench_ccd.h"
#include "options.h"
#include "progress.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	UNMEASURED = 2, // steps before: lists grow, fronts come about
	PASSES = 2,     // over the whole motion; each step counts with its least time
};

// A way as it goes through the motion.
typedef struct runner {
	carom_context *context;
	carom_sweep *sweep;
	double *least;            // [steps] milliseconds
	carom_sweep_stats *stats; // [steps] of that pass
	uint64_t *hash;           // [steps] of the impacts
} runner;

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static carom_strided places_of(const ccd_motion *motion, int frame)
{
	return (carom_strided){ motion->frames + (int64_t)frame * 3 * motion->vertex_count, 3 * sizeof(double), CAROM_FLOAT64 };
}

// FNV-1a over what tells impacts apart, and their times.
static uint64_t hash_hits(const carom_sweep_hits *hits)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (int64_t i = 0; i < hits->count; i++) {
		const carom_sweep_hit *h = &hits->data[i];
		unsigned char bytes[sizeof h->vertices + sizeof h->time];
		memcpy(bytes, h->vertices, sizeof h->vertices);
		memcpy(bytes + sizeof h->vertices, &h->time, sizeof h->time);
		for (size_t k = 0; k < sizeof bytes; k++)
			hash = (hash ^ bytes[k]) * 0x100000001b3u;
	}
	return hash;
}

static int say_error(const runner *r) { return report_error(NULL, "%s", carom_error_text(r->context)); }

// A scene of its own for each pass.
static int begin_pass(runner *r, const ccd_motion *motion, const carom_sweep_def *def)
{
	carom_destroy_sweep(r->sweep);
	r->sweep = NULL;
	carom_sweep_mesh_def mesh = carom_default_sweep_mesh_def();
	mesh.vertex_count = motion->vertex_count;
	mesh.triangles = motion->triangles;
	mesh.triangle_count = motion->triangle_count;
	mesh.vertices = places_of(motion, 0);
	int32_t number;
	if (carom_create_sweep(r->context, def, &r->sweep) != CAROM_SUCCESS ||
		carom_sweep_add_mesh(r->sweep, &mesh, &number) != CAROM_SUCCESS)
		return say_error(r);
	return EXIT_DONE;
}

static int run_step(runner *r, const ccd_motion *motion, int step)
{
	const carom_strided end = places_of(motion, step + 1);
	carom_sweep_hits hits;
	const double start = now_ms();
	if (carom_sweep_move_mesh(r->sweep, 0, &end) != CAROM_SUCCESS || carom_sweep_find(r->sweep, &hits) != CAROM_SUCCESS)
		return say_error(r);
	const double taken = now_ms() - start;
	if (taken < r->least[step]) {
		r->least[step] = taken;
		r->stats[step] = carom_sweep_get_stats(r->sweep);
	}
	r->hash[step] = hash_hits(&hits);
	return EXIT_DONE;
}

static int run_passes(const ccd_motion *motion, const ccd_way *ways, runner *runners, int count)
{
	const int steps = motion->frame_count - 1;
	int status = EXIT_DONE;
	progress bar;
	progress_start(&bar, motion->name, PASSES * steps);
	for (int pass = 0; pass < PASSES && status == EXIT_DONE; pass++) {
		for (int i = 0; i < count && status == EXIT_DONE; i++)
			status = begin_pass(&runners[i], motion, &ways[i].def);
		for (int step = 0; step < steps && status == EXIT_DONE; step++) {
			for (int i = 0; i < count && status == EXIT_DONE; i++)
				status = run_step(&runners[(i + step) % count], motion, step);
			progress_update(&bar, pass * steps + step + 1);
		}
	}
	progress_finish(&bar);
	for (int step = 0; step < steps && status == EXIT_DONE; step++)
		for (int i = 1; i < count; i++)
			if (runners[i].hash[step] != runners[0].hash[step])
				return report_error(NULL, "%s, step %d: ways %d and 0 do not find the same impacts", motion->name, step, i);
	return status;
}

static void take_means(const runner *r, int steps, ccd_cost *cost)
{
	*cost = (ccd_cost){ 0 };
	const int first = steps > 2 * UNMEASURED ? UNMEASURED : 0;
	const double share = 1.0 / (steps - first);
	for (int i = first; i < steps; i++) {
		const carom_sweep_stats *s = &r->stats[i];
		cost->ms += share * r->least[i];
		cost->ms_trees += share * s->ms_trees;
		cost->ms_front += share * s->ms_front;
		cost->ms_tests += share * s->ms_tests;
		cost->ms_orphans += share * s->ms_orphans;
		cost->ms_sort += share * s->ms_sort;
		cost->volume_tests += share * (double)s->volume_tests;
		cost->front += share * (double)s->front;
		cost->queries += share * (double)(s->tests_vf + s->tests_ee);
		cost->adjacent += share * (double)s->adjacent_pairs;
		cost->impacts += share * (double)(s->hits_vf + s->hits_ee);
	}
	cost->orphans = r->stats[steps - 1].orphans_vf + r->stats[steps - 1].orphans_ee;
	cost->bytes = r->stats[steps - 1].bytes_peak;
}

static bool start_runner(runner *r, const bench *b, int threads, int steps)
{
	r->least = bench_allocate((size_t)steps, sizeof *r->least);
	r->stats = bench_allocate((size_t)steps, sizeof *r->stats);
	r->hash = bench_allocate((size_t)steps, sizeof *r->hash);
	for (int i = 0; i < steps; i++)
		r->least[i] = (double)INFINITY;
	r->context = report_create_context(threads, b->simd);
	return r->context != NULL;
}

int bench_search_ccd(const bench *b, const ccd_motion *motion, const ccd_way *ways, int count, ccd_cost *costs)
{
	runner runners[CCD_MOST_WAYS] = { { 0 } };
	const int steps = motion->frame_count - 1;
	int status = EXIT_DONE;
	for (int i = 0; i < count && status == EXIT_DONE; i++)
		if (!start_runner(&runners[i], b, ways[i].threads, steps))
			status = EXIT_FAILED;
	if (status == EXIT_DONE)
		status = run_passes(motion, ways, runners, count);
	for (int i = 0; i < count; i++) {
		if (status == EXIT_DONE)
			take_means(&runners[i], steps, &costs[i]);
		carom_destroy_sweep(runners[i].sweep);
		carom_destroy_context(runners[i].context);
		free(runners[i].least);
		free(runners[i].stats);
		free(runners[i].hash);
	}
	return status;
}
