/// See sweep_arc.h.
///
/// The bulge. A point at v in the frame of a body is at x(t) = o + t d + R(t) v, and |x''| is at
/// most w^2 |v| with the angle w of the whole turn, since the origin moves on a straight line. The
/// line between two values of a function differs from it by at most an eighth of the square of the
/// distance of the arguments, times the largest second derivative. So the bulge of a piece of
/// length h is h^2 w^2 reach / 8.
///
/// The test. A piece is tested on straight lines between where its features are at both ends, with
/// min_separation more by the bulge of the piece and by the rounding of the places. Clear: the arcs
/// stay more than min_separation apart in the piece. Not clear: they do before the time that was
/// found. The next piece begins there, and is half as long where the bulge is still more than half
/// of the tolerance: else the impact is told. A clear piece makes the next one twice as long.
#include "sweep/sweep_arc.h"

#include <math.h>
#include <string.h>

// Pieces of a pair, and then it is undecided. Shorter than the square root of tolerance / bulge
// they never get.
enum { MOST_PIECES = 100000 };

// Of the largest coordinate: places at a time are off by less (a pose, a product with a rotation,
// a sum).
static const double ROUNDING = 0x1p-46;

double cr_bulge_of(const cr_motion *motion, double reach)
{
	return 0.125 * motion->angle * motion->angle * (reach + motion->lever) * (1 + 0x1p-40);
}

static void place_at(const cr_arc_query *q, double t, double places[4][3])
{
	const carom_pose pose = cr_motion_at(&q->arc->motion, t);
	const m3d rotation = m3d_from_quat(pose.orientation);
	for (int v = 0; v < 4; v++) {
		if (t <= 0 || t >= 1) {
			memcpy(places[v], t <= 0 ? q->begin[v] : q->end[v], sizeof places[v]);
		} else if (q->number[v] < 0) {
			for (int k = 0; k < 3; k++)
				places[v][k] = q->begin[v][k] + t * (q->end[v][k] - q->begin[v][k]);
		} else {
			const v3d p =
				v3d_add(m3d_mul(&rotation, v3d_from_floats(&q->arc->vertices[3 * (int64_t)q->number[v]])), pose.position);
			places[v][0] = p.x;
			places[v][1] = p.y;
			places[v][2] = p.z;
		}
	}
}

static double largest_of(const cr_arc_query *q)
{
	double largest = 0;
	for (int v = 0; v < 4; v++) {
		for (int k = 0; k < 3; k++)
			largest = fmax(largest, fmax(fabs(q->begin[v][k]), fabs(q->end[v][k])));
	}
	return largest + 2 * q->arc->bulge;
}

/// Test a piece on straight lines. Returns false where it is clear.
static bool test_piece(cr_swept_kind kind, double from[4][3], double to[4][3], const cr_swept_options *options, double slack,
	cr_swept_impact *impact)
{
	static const int32_t in_order[1][4] = { { 0, 1, 2, 3 } };
	const cr_swept_queries query = { .kind = kind, .begin = from[0], .end = to[0], .vertices = in_order };
	cr_swept_options wide = *options;
	wide.min_separation += slack;
	cr_swept_stats unused = { 0 };
	return cr_swept_find(&query, 0, 1, &wide, impact, &unused) > 0;
}

/// An impact of a piece, told by the time of the step.
static void tell(cr_swept_impact *impact, double begin, double length, bool undecided)
{
	const double early = begin + length * impact->time * (1 - 0x1p-50);
	impact->time = fmin(fmax(early * (1 - 0x1p-50), begin), 1);
	impact->time_high = fmin(begin + length * impact->time_high * (1 + 0x1p-50), 1);
	if (undecided)
		impact->status = CR_SWEPT_UNDECIDED;
	else if (impact->status == CR_SWEPT_TOUCHING && begin > 0)
		impact->status = CR_SWEPT_IMPACT;
}

bool cr_test_arc(const cr_arc_query *q, const cr_swept_options *options, cr_swept_impact *impact)
{
	const double rounding = ROUNDING * largest_of(q), enough = fmax(0.5 * options->tolerance, 2 * rounding);
	double begin = 0, length = 1, from[4][3], to[4][3];
	place_at(q, 0, from);
	for (int piece = 1; begin < 1; piece++) {
		length = fmin(length, 1 - begin);
		const double until = begin + length, slack = q->arc->bulge * length * length + rounding;
		place_at(q, until, to);
		if (!test_piece(q->kind, from, to, options, slack, impact)) {
			begin = until;
			memcpy(from, to, sizeof from);
			length *= 2;
			continue;
		}
		if (slack <= enough || piece == MOST_PIECES) {
			tell(impact, begin, length, slack > enough);
			return true;
		}
		const double clear = begin + length * impact->time * (1 - 0x1p-50);
		if (clear > begin && clear < until) {
			begin = clear;
			place_at(q, begin, from);
		}
		length *= 0.5;
	}
	return false;
}
