/// Random and degenerate swept queries.
#include "swept_fixture.h"
#include "test.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const SWEPT_FAMILY_NAMES[SWEPT_FAMILY_COUNT] = { "free", "grid", "slow", "plane", "line", "parallel", "still",
	"coincident", "touch", "ends" };
const char *const SWEPT_CHANGE_NAMES[SWEPT_CHANGE_COUNT] = { "as is", "nudged", "far", "large", "small", "tiny", "flat",
	"turned" };

static int pick(uint64_t *random, int count) { return (int)(test_random(random) >> 33) % count; }

/// A whole number from -most to most.
static double whole(uint64_t *random, int most) { return pick(random, 2 * most + 1) - most; }

static void fill(swept_query *q, uint64_t *random, int most)
{
	for (int i = 0; i < 12; i++) {
		q->begin[i / 3][i % 3] = whole(random, most);
		q->end[i / 3][i % 3] = whole(random, most);
	}
}

/// All coordinates beyond the first `kept` zero, then a whole matrix, so that the plane or the line is any.
static void flatten(swept_query *q, uint64_t *random, int kept)
{
	double m[3][3];
	for (int i = 0; i < 9; i++)
		m[i / 3][i % 3] = whole(random, 3);
	for (int i = 0; i < 8; i++) {
		double *p = i < 4 ? q->begin[i] : q->end[i - 4];
		double r[3] = { 0, 0, 0 };
		for (int k = 0; k < 3; k++) {
			for (int j = 0; j < kept; j++)
				r[k] += m[k][j] * p[j];
		}
		memcpy(p, r, sizeof r);
	}
}

/// Sides along one whole direction at both ends.
static void make_parallel(swept_query *q, uint64_t *random)
{
	fill(q, random, 4);
	for (int t = 0; t < 2; t++) {
		double(*p)[3] = t ? q->end : q->begin;
		double d[3];
		for (int k = 0; k < 3; k++)
			d[k] = whole(random, 2);
		const double a = whole(random, 3), b = whole(random, 3);
		for (int k = 0; k < 3; k++) {
			if (q->kind == CR_SWEPT_VERTEX_FACE) {
				p[2][k] = p[1][k] + a * d[k];
				p[3][k] = p[1][k] + b * d[k];
			} else {
				p[1][k] = p[0][k] + a * d[k];
				p[3][k] = p[2][k] + b * d[k];
			}
		}
	}
}

static void make_coincident(swept_query *q, uint64_t *random)
{
	swept_query few;
	fill(&few, random, 2);
	const int count = 2 + pick(random, 2);
	for (int i = 0; i < 4; i++) {
		const int from = pick(random, count);
		memcpy(q->begin[i], few.begin[from], sizeof q->begin[i]);
		memcpy(q->end[i], few.end[from], sizeof q->end[i]);
	}
}

/// Positions at the time of contact are whole times 16, velocities whole times 8, weights quarters: all exact.
static void make_touch(swept_query *q, uint64_t *random)
{
	double at[4][3];
	for (int i = 0; i < 12; i++)
		at[i / 3][i % 3] = 16 * whole(random, 3);
	const double s = pick(random, 5) / 4.0, r = pick(random, 5) / 4.0;
	for (int k = 0; k < 3; k++) {
		if (q->kind == CR_SWEPT_VERTEX_FACE) {
			const double r1 = r <= 1 - s ? r : 1 - s;
			at[0][k] = at[1][k] + s * (at[2][k] - at[1][k]) + r1 * (at[3][k] - at[1][k]);
		} else {
			// The second edge is moved so that the points meet.
			const double move = at[0][k] + s * (at[1][k] - at[0][k]) - (at[2][k] + r * (at[3][k] - at[2][k]));
			at[2][k] += move;
			at[3][k] += move;
		}
	}
	const double t = pick(random, 9) / 8.0;
	for (int i = 0; i < 12; i++) {
		const double velocity = 8 * whole(random, 8);
		q->begin[i / 3][i % 3] = at[i / 3][i % 3] - t * velocity;
		q->end[i / 3][i % 3] = at[i / 3][i % 3] + (1 - t) * velocity;
	}
}

void swept_make_touching_ends(double size, uint64_t *random, swept_query *q)
{
	const double x0 = -size * test_random_double(random, 0.1, 1), x1 = 0.5 * size * test_random_double(random, 0.1, 1);
	const double y = 0.25 * test_random_double(random, 0.1, 1);
	const double begin[4][3] = { { x0, 0, -1 }, { x1, 0, -1 }, { x1, -y, 0 }, { x1, y, 0 } };
	q->kind = CR_SWEPT_EDGE_EDGE;
	memcpy(q->begin, begin, sizeof begin);
	memcpy(q->end, begin, sizeof begin);
	q->end[0][2] = q->end[1][2] = 1;
}

static void make_family(swept_family family, uint64_t *random, swept_query *q)
{
	switch (family) {
	case SWEPT_FREE:
		for (int i = 0; i < 24; i++)
			(i < 12 ? q->begin : q->end)[i % 12 / 3][i % 3] = test_random_double(random, -1, 1);
		break;
	case SWEPT_GRID: fill(q, random, 2); break;
	case SWEPT_SLOW:
		fill(q, random, 1);
		for (int i = 0; i < 12; i++)
			q->end[i / 3][i % 3] += q->begin[i / 3][i % 3] = whole(random, 3);
		break;
	case SWEPT_PLANE:
		fill(q, random, 4);
		flatten(q, random, 2);
		break;
	case SWEPT_LINE:
		fill(q, random, 6);
		flatten(q, random, 1);
		break;
	case SWEPT_PARALLEL: make_parallel(q, random); break;
	case SWEPT_STILL:
		fill(q, random, 2);
		memcpy(q->end, q->begin, sizeof q->end);
		break;
	case SWEPT_COINCIDENT: make_coincident(q, random); break;
	case SWEPT_ENDS:
		if (q->kind == CR_SWEPT_EDGE_EDGE) {
			static const double sizes[5] = { 0.5, 1, 10, 100, 1000 };
			swept_make_touching_ends(sizes[pick(random, 5)], random, q);
			break;
		} // fall through
	default: make_touch(q, random); break;
	}
}

static void turn(swept_query *q, uint64_t *random)
{
	double m[3][3];
	double *x = m[0], *y = m[1], *z = m[2];
	for (int k = 0; k < 3; k++) {
		x[k] = test_random_double(random, -1, 1);
		y[k] = test_random_double(random, -1, 1);
	}
	const double length = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
	for (int k = 0; k < 3; k++)
		x[k] /= length;
	const double along = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
	for (int k = 0; k < 3; k++)
		y[k] -= along * x[k];
	const double rest = sqrt(y[0] * y[0] + y[1] * y[1] + y[2] * y[2]);
	for (int k = 0; k < 3; k++)
		y[k] /= rest;
	for (int k = 0; k < 3; k++)
		z[k] = x[(k + 1) % 3] * y[(k + 2) % 3] - x[(k + 2) % 3] * y[(k + 1) % 3];
	for (int i = 0; i < 8; i++) {
		double *p = i < 4 ? q->begin[i] : q->end[i - 4];
		const double old[3] = { p[0], p[1], p[2] };
		for (int k = 0; k < 3; k++)
			p[k] = m[k][0] * old[0] + m[k][1] * old[1] + m[k][2] * old[2];
	}
}

cr_swept_boxes *swept_boxes(void)
{
	static _Thread_local cr_swept_boxes s_boxes;
	return &s_boxes;
}

void swept_make_query(cr_swept_kind kind, swept_family family, swept_change change, uint64_t *random, swept_query *q)
{
	q->kind = kind;
	make_family(family, random, q);
	double offset[3];
	for (int k = 0; k < 3; k++)
		offset[k] = test_random_double(random, -1e6, 1e6);
	const int flat = pick(random, 3);
	if (change == SWEPT_TURNED)
		turn(q, random);
	for (int i = 0; i < 24; i++) {
		double *x = &(i < 12 ? q->begin : q->end)[i % 12 / 3][i % 3];
		switch (change) {
		case SWEPT_NUDGED: *x = pick(random, 4) ? *x : nextafter(*x, pick(random, 2) ? 1e9 : -1e9); break;
		case SWEPT_FAR: *x += offset[i % 3]; break;
		case SWEPT_LARGE: *x *= 1000; break;
		case SWEPT_SMALL: *x *= 0x1p-12; break;
		case SWEPT_TINY: *x = ldexp(*x, -1074); break;
		case SWEPT_FLAT: *x *= i % 3 == flat ? 0x1p-30 : 1; break;
		default: break;
		}
	}
}

typedef long double real;
typedef struct point {
	real x, y, z;
} point;

static point minus(point a, point b) { return (point){ a.x - b.x, a.y - b.y, a.z - b.z }; }
static point plus_times(point a, real s, point b) { return (point){ a.x + s * b.x, a.y + s * b.y, a.z + s * b.z }; }
static real times(point a, point b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static point across(point a, point b) { return (point){ a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x }; }

/// Distance of p from the segment ab.
static real point_segment(point p, point a, point b)
{
	const point d = minus(b, a);
	real s = times(d, d) > 0 ? times(minus(p, a), d) / times(d, d) : 0;
	s = s < 0 ? 0 : s > 1 ? 1 : s;
	const point off = minus(p, plus_times(a, s, d));
	return sqrtl(times(off, off));
}

double swept_dull_distance(const swept_query *q, double time)
{
	point p[4];
	for (int i = 0; i < 4; i++) {
		real x[3];
		for (int k = 0; k < 3; k++)
			x[k] = (1 - (real)time) * q->begin[i][k] + (real)time * q->end[i][k];
		p[i] = (point){ x[0], x[1], x[2] };
	}
	const bool edges = q->kind == CR_SWEPT_EDGE_EDGE;
	real best = point_segment(p[0], edges ? p[2] : p[1], edges ? p[3] : p[2]);
	if (edges) {
		best = fminl(best, point_segment(p[1], p[2], p[3]));
		best = fminl(best, fminl(point_segment(p[2], p[0], p[1]), point_segment(p[3], p[0], p[1])));
	} else {
		best = fminl(best, fminl(point_segment(p[0], p[2], p[3]), point_segment(p[0], p[1], p[3])));
	}
	// Over the inside: c + s a + r b = origin, with a height along n.
	const point c = edges ? minus(p[0], p[2]) : minus(p[0], p[1]);
	const point a = edges ? minus(p[1], p[0]) : minus(p[1], p[2]), b = edges ? minus(p[2], p[3]) : minus(p[1], p[3]);
	const point n = across(a, b);
	const real square = times(n, n);
	if (square > 1e-34L * times(a, a) * times(b, b)) {
		const real s = times(across(b, c), n) / square, r = times(across(c, a), n) / square;
		if (s >= 0 && r >= 0 && (edges ? s <= 1 && r <= 1 : s + r <= 1))
			best = fminl(best, fabsl(times(n, c)) / sqrtl(square));
	}
	return (double)best;
}

double swept_query_size(const swept_query *q)
{
	double size = 0;
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < 4; i++) {
			for (int j = 0; j < 4; j++)
				size = fmax(size, fmax(fabs(q->begin[i][k] - q->begin[j][k]), fabs(q->end[i][k] - q->end[j][k])));
		}
	}
	return size;
}

double swept_query_reach(const swept_query *q)
{
	double reach = 0;
	for (int i = 0; i < 12; i++)
		reach = fmax(reach, fmax(fabs(q->begin[i / 3][i % 3]), fabs(q->end[i / 3][i % 3])));
	return reach;
}

void swept_print_query(const swept_query *q)
{
	printf("    kind %d\n", (int)q->kind);
	for (int i = 0; i < 4; i++)
		printf("    %a %a %a   %a %a %a\n", q->begin[i][0], q->begin[i][1], q->begin[i][2], q->end[i][0], q->end[i][1],
			q->end[i][2]);
}
