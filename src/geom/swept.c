/// Swept tests: the ladder, over one query and over many. See swept.h.

#include "geom/swept.h"
#include "geom/swept_kernels.h"
#include "geom/swept_motion.h"
#include <math.h>

enum { PIECE = CR_SWEPT_PIECE }; // queries filtered at once: their list stays on the stack

/// Beyond that size products of the rungs' bounds could overflow.
#define MAX_SIZE 1e100

cr_swept_options cr_swept_default_options(cr_swept_boxes *boxes)
{
	return (cr_swept_options){
		.tolerance = 1e-6,
		.t_max = 1,
		.max_iterations = 4096,
		.method = CR_SWEPT_CERTIFIED,
		.simd = CAROM_SIMD_SCALAR,
		.boxes = boxes,
	};
}

void cr_swept_add_stats(cr_swept_stats *sum, const cr_swept_stats *more)
{
	sum->queries += more->queries;
	sum->by_axes += more->by_axes;
	sum->by_diagonals += more->by_diagonals;
	sum->by_cubic += more->by_cubic;
	sum->advanced += more->advanced;
	sum->advances += more->advances;
	sum->bisected += more->bisected;
	sum->bisections += more->bisections;
	sum->clear += more->clear;
	sum->impacts += more->impacts;
	sum->touching += more->touching;
	sum->undecided += more->undecided;
}

cr_swept_impact cr_swept_no_impact(void)
{
	return (cr_swept_impact){ .query = INT64_MAX, .time = INFINITY, .time_high = INFINITY };
}

bool cr_swept_is_earlier(const cr_swept_impact *a, const cr_swept_impact *b)
{
	return a->time < b->time || (a->time == b->time && a->query < b->query);
}

/// Rungs 2 and 3.
static cr_swept_status climb(const cr_swept_motion *motion, const cr_swept_options *options, cr_swept_impact *impact,
	v3d *direction, cr_swept_stats *stats)
{
	cr_swept_status status = CR_SWEPT_UNDECIDED;
	impact->time_high = 1;
	if (!(cr_swept_motion_size(motion) < MAX_SIZE))
		return status;
	if (options->method == CR_SWEPT_CERTIFIED) {
		stats->advanced++;
		impact->rung = 2;
		status = cr_swept_advance(motion, options, impact, direction, &stats->advances);
	}
	if (status == CR_SWEPT_UNDECIDED) {
		stats->bisected++;
		impact->rung = 3;
		status = cr_swept_bisect(motion, options, impact->time, impact, &stats->bisections);
	}
	if (status == CR_SWEPT_UNDECIDED) {
		// Never before the boxes of the features meet: who looks at a part of the step alone relies
		// on it.
		const double apart = cr_swept_clear_along_axes(motion, options->min_separation);
		impact->time = apart > impact->time ? apart : impact->time;
		if (impact->time > options->t_max)
			status = CR_SWEPT_CLEAR;
	}
	return status;
}

/// Whether the motion of a vertex comes before another's, in any fixed order.
static bool moves_before(const double *begin_a, const double *end_a, const double *begin_b, const double *end_b)
{
	for (int k = 0; k < 3; k++) {
		if (begin_a[k] != begin_b[k])
			return begin_a[k] < begin_b[k];
		if (end_a[k] != end_b[k])
			return end_a[k] < end_b[k];
	}
	return false;
}

/// The vertices of a query, in an order that does not depend on how it names them: so neither does
/// the verdict.
typedef struct ordered_query {
	const double *begin[4], *end[4];
	int place[4]; // in the query
	bool swapped; // edge b first
} ordered_query;

static void swap_vertices(ordered_query *q, int a, int b)
{
	const double *const begin = q->begin[a], *const end = q->end[a];
	const int place = q->place[a];
	q->begin[a] = q->begin[b];
	q->end[a] = q->end[b];
	q->place[a] = q->place[b];
	q->begin[b] = begin;
	q->end[b] = end;
	q->place[b] = place;
}

/// Exchange two vertices if they are out of order.
static bool order_vertices(ordered_query *q, int a, int b)
{
	const bool wrong = moves_before(q->begin[b], q->end[b], q->begin[a], q->end[a]);
	if (wrong)
		swap_vertices(q, a, b);
	return wrong;
}

static void order_query(cr_swept_kind kind, ordered_query *q)
{
	for (int k = 0; k < 4; k++)
		q->place[k] = k;
	q->swapped = false;
	if (kind == CR_SWEPT_VERTEX_FACE) {
		order_vertices(q, 1, 2);
		order_vertices(q, 2, 3);
		order_vertices(q, 1, 2);
		return;
	}
	order_vertices(q, 0, 1);
	order_vertices(q, 2, 3);
	// By the first ends; by the second ones where those move alike.
	q->swapped = order_vertices(q, 0, 2);
	if (q->swapped)
		swap_vertices(q, 1, 3);
	else if (!moves_before(q->begin[0], q->end[0], q->begin[2], q->end[2]) && order_vertices(q, 1, 3)) {
		swap_vertices(q, 0, 2);
		q->swapped = true;
	}
}

/// The options of a query whose separation and tolerance are limited by its first distance.
static cr_swept_options limit_separation(const cr_swept_motion *motion, const cr_swept_options *options)
{
	cr_swept_options own = *options;
	cr_swept_nearest nearest;
	cr_swept_find_nearest(motion, 0, &nearest);
	const double kept = options->relative_separation * nearest.distance;
	const double between = 0.5 * (1 - options->relative_separation) * nearest.distance;
	own.min_separation = kept < own.min_separation ? kept : own.min_separation;
	own.tolerance = between < own.tolerance ? between : own.tolerance;
	return own;
}

/// Rungs 2 and 3, or options->solve. begin and end of q are set.
static cr_swept_status test_ordered(
	cr_swept_kind kind, ordered_query *q, const cr_swept_options *options, cr_swept_impact *impact, cr_swept_stats *stats)
{
	v3d direction = { 0, 0, 0 };
	cr_swept_motion motion;
	order_query(kind, q);
	cr_swept_init_motion(&motion, kind, q->begin, q->end);
	*impact = (cr_swept_impact){ 0 };
	cr_swept_options limited;
	if (options->relative_separation > 0) {
		limited = limit_separation(&motion, options);
		options = &limited;
	}
	const cr_swept_status status =
		options->solve ? options->solve(&motion, options, impact) : climb(&motion, options, impact, &direction, stats);
	if (status == CR_SWEPT_CLEAR) {
		stats->clear++;
		return status;
	}
	double weight[4];
	cr_swept_describe(&motion, direction, weight, impact);
	for (int k = 0; k < 4; k++)
		impact->weight[q->place[k]] = weight[k];
	for (int k = 0; k < 3 && q->swapped; k++)
		impact->normal[k] = -impact->normal[k];
	impact->status = (uint8_t)status;
	stats->impacts++;
	stats->touching += status == CR_SWEPT_TOUCHING;
	stats->undecided += status == CR_SWEPT_UNDECIDED;
	return status;
}

cr_swept_status cr_swept_test(cr_swept_kind kind, const double begin[4][3], const double end[4][3],
	const cr_swept_options *options, cr_swept_impact *impact, cr_swept_stats *stats)
{
	cr_swept_stats unused = { 0 };
	ordered_query q;
	for (int k = 0; k < 4; k++) {
		q.begin[k] = begin[k];
		q.end[k] = end[k];
	}
	return test_ordered(kind, &q, options, impact, stats ? stats : &unused);
}

/// Is a query ruled out by filters with the separation of its own two features? *own: the options
/// with that.
static bool rule_out_thick(
	const cr_swept_queries *queries, int64_t query, const cr_swept_options *options, cr_swept_options *own)
{
	const int32_t *v = queries->vertices[query];
	const int second = queries->kind == CR_SWEPT_VERTEX_FACE ? 1 : 2;
	int32_t left[PIECE];
	cr_swept_stats unused = { 0 };
	*own = *options;
	own->min_separation += queries->halves[v[0]] + queries->halves[v[second]];
	return !own->solve && cr_swept_filter(queries, query, 1, own->min_separation, own->simd, left, &unused) == 0;
}

/// One query of a list, after the filters.
static cr_swept_status test_query(const cr_swept_queries *queries, int64_t query, const cr_swept_options *options,
	cr_swept_impact *impact, cr_swept_stats *stats)
{
	ordered_query q;
	cr_swept_options own;
	if (queries->halves) {
		if (rule_out_thick(queries, query, options, &own))
			return CR_SWEPT_CLEAR;
		options = &own;
	}
	for (int k = 0; k < 4; k++) {
		const int64_t place = 3 * (int64_t)queries->vertices[query][k];
		q.begin[k] = queries->begin + place;
		q.end[k] = queries->end + place;
	}
	const cr_swept_status status = test_ordered(queries->kind, &q, options, impact, stats);
	impact->query = query;
	return status;
}

int32_t cr_swept_filter(const cr_swept_queries *queries, int64_t begin, int32_t count, double separation, carom_simd simd,
	int32_t left[CR_SWEPT_PIECE], cr_swept_stats *stats)
{
	return cr_get_swept_kernels(simd)->filter(queries, begin, count, separation, left, stats);
}

/// Queries begin..begin+count-1, count <= PIECE, that need a test of their own.
static int32_t filter_piece(const cr_swept_queries *queries, int64_t begin, int32_t count, const cr_swept_options *options,
	int32_t left[PIECE], cr_swept_stats *stats)
{
	// More than any sum of the two, rounded however.
	const double most = options->min_separation + queries->most_thickness * (1 + 0x1p-40);
	if (!options->solve)
		return cr_swept_filter(queries, begin, count, most, options->simd, left, stats);
	for (int32_t i = 0; i < count; i++)
		left[i] = i;
	stats->queries += count;
	return count;
}

int32_t cr_swept_find(const cr_swept_queries *queries, int64_t begin, int32_t count, const cr_swept_options *options,
	cr_swept_impact *impacts, cr_swept_stats *stats)
{
	int32_t found = 0, left[PIECE];
	for (int64_t first = 0; first < count; first += PIECE) {
		const int32_t here = count - first < PIECE ? (int32_t)(count - first) : PIECE;
		const int32_t left_count = filter_piece(queries, begin + first, here, options, left, stats);
		for (int32_t i = 0; i < left_count; i++)
			found += test_query(queries, begin + first + left[i], options, &impacts[found], stats) != CR_SWEPT_CLEAR;
	}
	return found;
}

void cr_swept_find_earliest(const cr_swept_queries *queries, int64_t begin, int32_t count, const cr_swept_options *options,
	cr_swept_impact *best, cr_swept_stats *stats)
{
	cr_swept_options until = *options;
	int32_t left[PIECE];
	for (int64_t first = 0; first < count; first += PIECE) {
		const int32_t here = count - first < PIECE ? (int32_t)(count - first) : PIECE;
		const int32_t left_count = filter_piece(queries, begin + first, here, options, left, stats);
		for (int32_t i = 0; i < left_count; i++) {
			cr_swept_impact impact;
			if (best->time < until.t_max)
				until.t_max = best->time;
			if (test_query(queries, begin + first + left[i], &until, &impact, stats) != CR_SWEPT_CLEAR &&
				cr_swept_is_earlier(&impact, best))
				*best = impact;
		}
	}
}
