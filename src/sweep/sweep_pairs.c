/// Elementary tests of many pairs of features (carom_sweep_test_pairs): the filters over eight
/// pairs at a time, then the ladder of each that they leave (geom/swept.h). Each worker takes
/// pieces of records in memory of its own.

#include "base/parallel.h"
#include "mesh/elements.h"
#include "sweep/sweep_motion.h"
#include "sweep/sweep_state.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 256, MIN_RECORDS = 64 };

typedef struct pair_worker {
	cr_swept_boxes boxes;
	cr_swept_impact impacts[CHUNK];
	int32_t in_order[CHUNK][4]; // of records without numbers
} pair_worker;

typedef struct pair_loop {
	const carom_elements *elements;
	const double *end;
	carom_sweep_kind kind;
	cr_swept_options options;
	double *times;
	carom_sweep_hit *hits; // NULL: not wanted
	pair_worker *workers;
} pair_loop;

/// The records from first on, as the kernels take them.
static cr_swept_queries queries_of(const pair_loop *loop, const pair_worker *w, int64_t first)
{
	const carom_elements *e = loop->elements;
	const int64_t skipped = e->vertices ? 0 : 12 * first;
	return (cr_swept_queries){ loop->kind == CAROM_SWEEP_VERTEX_FACE ? CR_SWEPT_VERTEX_FACE : CR_SWEPT_EDGE_EDGE,
		e->positions + skipped, loop->end + skipped,
		e->vertices ? (const int32_t(*)[4])(e->vertices + 4 * first) : (const int32_t(*)[4])w->in_order, NULL, 0 };
}

static void write_hit(const pair_loop *loop, int64_t i, const cr_swept_impact *impact)
{
	loop->times[i] = impact->time;
	if (!loop->hits)
		return;
	cr_fill_pair_hit(impact, loop->kind, &loop->hits[i]);
	for (int k = 0; k < 4; k++)
		loop->hits[i].vertices[k] = (int32_t)cr_element_vertex(loop->elements, 4, i, k);
}

static void test_chunk(const pair_loop *loop, pair_worker *w, int64_t first, int32_t count)
{
	const cr_swept_queries queries = queries_of(loop, w, first);
	cr_swept_options options = loop->options;
	cr_swept_stats stats = { 0 };
	options.boxes = &w->boxes;
	for (int32_t i = 0; i < count; i++)
		loop->times[first + i] = INFINITY;
	if (loop->hits)
		memset(loop->hits + first, 0, (size_t)count * sizeof *loop->hits);
	const int32_t found = cr_swept_find(&queries, 0, count, &options, w->impacts, &stats);
	for (int32_t i = 0; i < found; i++)
		write_hit(loop, first + w->impacts[i].query, &w->impacts[i]);
}

static void test_piece(int64_t begin, int64_t end, int worker, void *task)
{
	const pair_loop *loop = task;
	pair_worker *w = &loop->workers[worker];
	for (int32_t i = 0; i < CHUNK; i++) {
		for (int k = 0; k < 4; k++)
			w->in_order[i][k] = 4 * i + k;
	}
	for (int64_t first = begin; first < end; first += CHUNK)
		test_chunk(loop, w, first, end - first < CHUNK ? (int32_t)(end - first) : CHUNK);
}

static carom_result check(carom_context *context, const char *name, const carom_sweep_def *def, const pair_loop *loop)
{
	if (loop->kind != CAROM_SWEEP_VERTEX_FACE && loop->kind != CAROM_SWEEP_EDGE_EDGE)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: kind is %d, none of carom_sweep_kind", name, (int)loop->kind);
	const carom_result result = cr_check_sweep_def(context, def);
	if (result != CAROM_SUCCESS)
		return result;
	if (loop->elements && loop->elements->count > 0 && (!loop->end || !loop->times))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, loop->end ? "times" : "end");
	if (loop->elements && loop->elements->vertex_count > INT32_MAX / 3 - 1)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: elements->vertex_count is %d, at most %d", name,
			(int)loop->elements->vertex_count, INT32_MAX / 3 - 1);
	return cr_check_elements(context, name, loop->elements, 4, loop->end, true);
}

carom_result carom_sweep_test_pairs(carom_context *context, const carom_sweep_def *def, carom_sweep_kind kind,
	const carom_elements *elements, const double *end, double *times, carom_sweep_hit *hits)
{
	static const char *const name = "carom_sweep_test_pairs";
	const carom_sweep_def defaults = carom_default_sweep_def();
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	pair_loop loop = { .elements = elements, .end = end, .kind = kind, .times = times, .hits = hits };
	const carom_result result = check(context, name, def ? def : &defaults, &loop);
	if (result != CAROM_SUCCESS || elements->count == 0)
		return result;
	const size_t workers = (size_t)context->thread_count;
	loop.options = cr_swept_options_of(def ? def : &defaults, context->simd);
	loop.workers = cr_alloc_array(context, workers, sizeof *loop.workers);
	if (!loop.workers)
		return cr_fail_memory(context, "pairs of features");
	cr_parallel_for(context, test_piece, elements->count, MIN_RECORDS, &loop);
	cr_free(context, loop.workers, workers * sizeof *loop.workers);
	return CAROM_SUCCESS;
}
