// The steps of a motion searched in several ways, which must all find the same.
#include "bench_ccd.h"
#include "sim/base/sim_clock.h"
#include "tools/carom/options.h"
#include "tools/carom/progress.h"
#include "tools/carom/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	UNMEASURED = 2, // steps before: lists grow, fronts come about
	PASSES = 2,     // over the whole motion; each step counts with its least time
};

// A way as it goes through the motion.
typedef struct runner {
	const ccd_way *way;
	carom_context *context;
	carom_device *device; // NULL: the processor
	carom_sweep *sweep;
	ccd_pieces pieces;        // count 0: the motion is one mesh
	double *gathered;         // [3*vertex_count] the places of a frame, piece by piece
	double *least;            // [steps] milliseconds
	carom_sweep_stats *stats; // [steps] of that pass
	uint64_t *hash;           // [steps] of the impacts
} runner;

static carom_strided places_of(const ccd_motion *motion, int frame)
{
	return (carom_strided){ motion->frames + (int64_t)frame * 3 * motion->vertex_count, 3 * sizeof(double), CAROM_FLOAT64 };
}

/// FNV-1a over the features of impacts, and their times.
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

static int mesh_count(const runner *r) { return r->pieces.count > 0 ? r->pieces.count : 1; }

/// The places of one mesh of the sweep in a frame. Those of pieces must have been gathered.
static carom_strided places_of_mesh(const runner *r, const ccd_motion *motion, int frame, int mesh)
{
	if (r->pieces.count == 0)
		return places_of(motion, frame);
	return (carom_strided){ r->gathered + 3 * (int64_t)r->pieces.first_vertex[mesh], 3 * sizeof(double), CAROM_FLOAT64 };
}

static void gather_places(const runner *r, const ccd_motion *motion, int frame)
{
	const double *from = motion->frames + (int64_t)frame * 3 * motion->vertex_count;
	for (int64_t i = 0; r->pieces.count > 0 && i < motion->vertex_count; i++)
		memcpy(&r->gathered[3 * i], &from[3 * (int64_t)r->pieces.vertices[i]], 3 * sizeof(double));
}

static carom_sweep_mesh_def mesh_of(const runner *r, const ccd_motion *motion, int mesh)
{
	carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
	const ccd_pieces *p = &r->pieces;
	def.vertices = places_of_mesh(r, motion, 0, mesh);
	def.vertex_count = p->count > 0 ? p->first_vertex[mesh + 1] - p->first_vertex[mesh] : motion->vertex_count;
	def.triangles = p->count > 0 ? p->triangles + 3 * (int64_t)p->first_triangle[mesh] : motion->triangles;
	def.triangle_count = p->count > 0 ? p->first_triangle[mesh + 1] - p->first_triangle[mesh] : motion->triangle_count;
	def.self = p->count == 0;
	return def;
}

/// A scene of its own for each pass.
static int begin_pass(runner *r, const ccd_motion *motion)
{
	carom_destroy_sweep(r->sweep);
	r->sweep = NULL;
	gather_places(r, motion, 0);
	carom_sweep_def def = r->way->def;
	def.device = r->device;
	carom_result result = carom_create_sweep(r->context, &def, &r->sweep);
	for (int i = 0; i < mesh_count(r) && result == CAROM_SUCCESS; i++) {
		const carom_sweep_mesh_def mesh = mesh_of(r, motion, i);
		int32_t number;
		result = carom_sweep_add_mesh(r->sweep, &mesh, &number);
	}
	return result == CAROM_SUCCESS ? EXIT_DONE : say_error(r);
}

static int run_step(runner *r, const ccd_motion *motion, int step)
{
	carom_sweep_hits hits;
	carom_result result = CAROM_SUCCESS;
	gather_places(r, motion, step + 1);
	const double start = sim_now_ms();
	for (int i = 0; i < mesh_count(r) && result == CAROM_SUCCESS; i++) {
		const carom_strided end = places_of_mesh(r, motion, step + 1, i);
		result = carom_sweep_move_mesh(r->sweep, i, &end);
	}
	if (result == CAROM_SUCCESS)
		result = carom_sweep_find(r->sweep, &hits);
	if (result != CAROM_SUCCESS)
		return say_error(r);
	const double taken = sim_now_ms() - start;
	if (taken < r->least[step]) {
		r->least[step] = taken;
		r->stats[step] = carom_sweep_get_stats(r->sweep);
	}
	r->hash[step] = hash_hits(&hits);
	return EXIT_DONE;
}

static int run_passes(const ccd_motion *motion, runner *runners, int count)
{
	const int steps = motion->frame_count - 1;
	int status = EXIT_DONE;
	progress bar;
	progress_start(&bar, motion->name, PASSES * steps);
	for (int pass = 0; pass < PASSES && status == EXIT_DONE; pass++) {
		for (int i = 0; i < count && status == EXIT_DONE; i++)
			status = begin_pass(&runners[i], motion);
		for (int step = 0; step < steps && status == EXIT_DONE; step++) {
			for (int i = 0; i < count && status == EXIT_DONE; i++)
				status = run_step(&runners[(i + step) % count], motion, step);
			progress_update(&bar, pass * steps + step + 1);
		}
	}
	progress_finish(&bar);
	for (int step = 0; step < steps && status == EXIT_DONE; step++) {
		for (int i = 1; i < count; i++) {
			if (!runners[i].way->between_pieces && runners[i].hash[step] != runners[0].hash[step])
				return report_error(NULL, "%s, step %d: ways %d and 0 do not find the same impacts", motion->name, step, i);
		}
	}
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
		cost->leaf_pairs += share * (double)s->leaf_pairs;
		cost->filtered += share * (double)s->filtered;
		cost->queries += share * (double)(s->tests_vf + s->tests_ee);
		cost->device_left += share * (double)s->device_left;
		cost->adjacent += share * (double)s->adjacent_pairs;
		cost->impacts += share * (double)(s->hits_vf + s->hits_ee);
	}
	cost->orphans = r->stats[steps - 1].orphans_vf + r->stats[steps - 1].orphans_ee;
	cost->bytes = r->stats[steps - 1].bytes_peak;
	cost->bytes_front = r->stats[steps - 1].bytes_front;
	if (r->device)
		cost->work = devices_work(r->device);
	cost->work_steps = PASSES * steps;
}

static bool start_runner(runner *r, const bench *b, const ccd_motion *motion, const ccd_way *way)
{
	const int steps = motion->frame_count - 1;
	r->way = way;
	if (way->between_pieces) {
		bench_find_pieces(motion, &r->pieces);
		r->gathered = bench_allocate((size_t)motion->vertex_count, 3 * sizeof *r->gathered);
	}
	r->least = bench_allocate((size_t)steps, sizeof *r->least);
	r->stats = bench_allocate((size_t)steps, sizeof *r->stats);
	r->hash = bench_allocate((size_t)steps, sizeof *r->hash);
	for (int i = 0; i < steps; i++)
		r->least[i] = (double)INFINITY;
	r->context = report_create_context(way->threads, b->simd);
	if (r->context && way->on_device)
		r->device = devices_open(r->context, b->device, CAROM_TIER_COMPUTE, NULL);
	return r->context && (r->device || !way->on_device);
}

int bench_search_ccd(const bench *b, const ccd_motion *motion, const ccd_way *ways, int count, ccd_cost *costs)
{
	runner runners[CCD_MOST_WAYS] = { { 0 } };
	const int steps = motion->frame_count - 1;
	int status = EXIT_DONE;
	for (int i = 0; i < count && status == EXIT_DONE; i++) {
		if (!start_runner(&runners[i], b, motion, &ways[i]))
			status = EXIT_FAILED;
	}
	if (status == EXIT_DONE)
		status = run_passes(motion, runners, count);
	for (int i = 0; i < count; i++) {
		if (status == EXIT_DONE)
			take_means(&runners[i], steps, &costs[i]);
		carom_destroy_sweep(runners[i].sweep);
		carom_destroy_device(runners[i].device);
		carom_destroy_context(runners[i].context);
		free(runners[i].least);
		free(runners[i].stats);
		free(runners[i].hash);
		free(runners[i].gathered);
		bench_free_pieces(&runners[i].pieces);
	}
	return status;
}
