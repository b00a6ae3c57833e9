// Cutting of polygons. See polygon.h.
//
// A polygon is looked at in the plane that drops one axis, the one along which Newell's normal
// (Sutherland, Sproull, Schumacker, A Characterization of Ten Hidden-Surface Algorithms, 1974) is
// longest. Coordinates stay as they are in it, and the polygon goes around counter-clockwise.
//
// Why triangles that all turn counter-clockwise are right: each is added to the boundary with its
// three edges, and edges that two of them have in common go both ways, so their boundaries add up
// to the polygon. Hence at every place off the edges the number of triangles there is the winding
// number of the polygon: one within, none outside, if it does not cross itself. So no two triangles
// overlap, and none reaches out. The fan is therefore kept as soon as its triangles all turn that
// way, and an ear is clipped only where it turns that way.
//
// An ear is a corner that turns counter-clockwise and whose triangle holds no other corner
// (Meisters, Polygons have Ears, 1975). If a triangle holds corners, then one that does not turn
// that way (Eberly, Triangulation by Ear Clipping, 2002); those are sorted by their first
// coordinate, so that a small ear looks at few of them. A corner at the place of one of the ear's
// own does not stand in its way: there two parts of the boundary touch, as where a bridge leads to
// a hole, and their inner sides do not overlap.
//
// A turn is certain where it is beyond the rounding of its two products (the bound A of Shewchuk,
// Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates, 1997). One
// that is not certain counts as straight, and stands in the way of an ear.
#include "io/polygon.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct point {
	double x, y;
} point;

/// A polygon in its plane. Corners that were clipped are no longer linked.
typedef struct outline {
	int32_t *corners; ///< [count] vertex numbers
	point *places;    ///< [count]
	int32_t *before;  ///< [count]
	int32_t *after;   ///< [count]
	int32_t *hurdles; ///< [hurdle_count] corners that did not turn counter-clockwise at first, by x
	int32_t hurdle_count;
	int32_t count;
} outline;

/// 1: a, b, c go counter-clockwise; -1: clockwise; 0: straight on, or not certain.
static int turn(point a, point b, point c)
{
	static const double bound = 3.3306690738754716e-16; // (3 + 16 e) e, e = 2^-53
	const double left = (b.x - a.x) * (c.y - a.y), right = (b.y - a.y) * (c.x - a.x);
	const double difference = left - right, error = bound * (fabs(left) + fabs(right));
	return difference > error ? 1 : difference < -error ? -1 : 0;
}

static double coordinate(const sim_mesh *mesh, int32_t vertex, int axis)
{
	const size_t place = 3 * (size_t)vertex + (size_t)axis;
	return mesh->doubles ? mesh->doubles[place] : (double)mesh->vertices[place];
}

// ---- The plane ----

/// The corner of a number, out of the fan: its triangles are (0, k + 1, k + 2).
static int32_t fan_corner(const int32_t *fan, int32_t number)
{
	return number < 2 ? fan[number] : fan[3 * (size_t)(number - 2) + 2];
}

/// Which axes are x and y of the plane. False where the polygon has no area, or one beyond the
/// range of doubles.
static bool choose_plane(const sim_mesh *mesh, const int32_t *fan, int32_t count, int axes[2])
{
	double normal[3] = { 0, 0, 0 }, first[3], before[3];
	for (int axis = 0; axis < 3; axis++) {
		first[axis] = coordinate(mesh, fan[0], axis);
		before[axis] = coordinate(mesh, fan[1], axis) - first[axis];
	}
	for (int32_t i = 2; i < count; i++) {
		double edge[3];
		for (int axis = 0; axis < 3; axis++)
			edge[axis] = coordinate(mesh, fan_corner(fan, i), axis) - first[axis];
		for (int axis = 0; axis < 3; axis++) {
			const int u = (axis + 1) % 3, v = (axis + 2) % 3;
			normal[axis] += before[u] * edge[v] - before[v] * edge[u];
		}
		for (int axis = 0; axis < 3; axis++)
			before[axis] = edge[axis];
	}
	int longest = 0;
	for (int axis = 1; axis < 3; axis++)
		longest = fabs(normal[axis]) > fabs(normal[longest]) ? axis : longest;
	const bool turned = normal[longest] < 0;
	axes[0] = (longest + (turned ? 2 : 1)) % 3;
	axes[1] = (longest + (turned ? 1 : 2)) % 3;
	return isfinite(normal[longest]) && fabs(normal[longest]) > 0;
}

static point place_of(const sim_mesh *mesh, int32_t vertex, const int axes[2])
{
	return (point){ coordinate(mesh, vertex, axes[0]), coordinate(mesh, vertex, axes[1]) };
}

static bool fan_lies_within(const sim_mesh *mesh, const int32_t *fan, int32_t count, const int axes[2])
{
	const point first = place_of(mesh, fan[0], axes);
	point before = place_of(mesh, fan[1], axes);
	for (int32_t i = 2; i < count; i++) {
		const point next = place_of(mesh, fan_corner(fan, i), axes);
		if (turn(first, before, next) <= 0)
			return false;
		before = next;
	}
	return true;
}

// ---- Ears ----

typedef struct by_x {
	double x;
	int32_t corner;
} by_x;

static int compare_x(const void *a, const void *b)
{
	const by_x *p = a, *q = b;
	return p->x < q->x ? -1 : p->x > q->x ? 1 : p->corner < q->corner ? -1 : p->corner > q->corner;
}

static int turn_at(const outline *o, int32_t corner)
{
	return turn(o->places[o->before[corner]], o->places[corner], o->places[o->after[corner]]);
}

/// List the corners that do not turn counter-clockwise. A clipped ear makes the inner angles at its
/// two neighbours smaller, so no corner joins them later.
static bool list_hurdles(outline *o)
{
	by_x *sorted = malloc((size_t)o->count * sizeof *sorted);
	if (!sorted)
		return false;
	for (int32_t i = 0; i < o->count; i++) {
		if (turn_at(o, i) <= 0)
			sorted[o->hurdle_count++] = (by_x){ o->places[i].x, i };
	}
	qsort(sorted, (size_t)o->hurdle_count, sizeof *sorted, compare_x);
	for (int32_t i = 0; i < o->hurdle_count; i++)
		o->hurdles[i] = sorted[i].corner;
	free(sorted);
	return true;
}

static bool open_outline(outline *o, const sim_mesh *mesh, const int32_t *fan, int32_t count, const int axes[2])
{
	*o = (outline){ .count = count };
	o->places = malloc((size_t)count * sizeof *o->places);
	o->corners = malloc(4 * (size_t)count * sizeof *o->corners);
	if (!o->places || !o->corners)
		return false;
	o->before = o->corners + count;
	o->after = o->before + count;
	o->hurdles = o->after + count;
	for (int32_t i = 0; i < count; i++) {
		o->corners[i] = fan_corner(fan, i);
		o->places[i] = place_of(mesh, o->corners[i], axes);
		o->before[i] = i ? i - 1 : count - 1;
		o->after[i] = i + 1 < count ? i + 1 : 0;
	}
	return list_hurdles(o);
}

static void close_outline(outline *o)
{
	free(o->places);
	free(o->corners);
}

/// The first of the hurdles that is not before x.
static int32_t first_hurdle(const outline *o, double x)
{
	int32_t low = 0, high = o->hurdle_count;
	while (low < high) {
		const int32_t middle = low + (high - low) / 2;
		if (o->places[o->hurdles[middle]].x < x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(point a, point b) { return a.x == b.x && a.y == b.y; }

static bool is_ear(const outline *o, int32_t corner)
{
	const point a = o->places[o->before[corner]], b = o->places[corner], c = o->places[o->after[corner]];
	if (turn(a, b, c) <= 0)
		return false;
	const double last = fmax(a.x, fmax(b.x, c.x));
	for (int32_t i = first_hurdle(o, fmin(a.x, fmin(b.x, c.x))); i < o->hurdle_count; i++) {
		const int32_t other = o->hurdles[i];
		const point p = o->places[other];
		if (p.x > last)
			break;
		if (o->before[other] < 0 || is_at(p, a) || is_at(p, b) || is_at(p, c))
			continue;
		if (turn(a, b, p) >= 0 && turn(b, c, p) >= 0 && turn(c, a, p) >= 0)
			return false;
	}
	return true;
}

/// Write the triangle of a corner and take the corner out. Returns the one behind it.
static int32_t clip(outline *o, int32_t corner, int32_t triangle[3])
{
	const int32_t before = o->before[corner], after = o->after[corner];
	triangle[0] = o->corners[before];
	triangle[1] = o->corners[corner];
	triangle[2] = o->corners[after];
	o->after[before] = after;
	o->before[after] = before;
	o->before[corner] = -1;
	return after;
}

/// An ear at or behind a corner; where there is none, a corner on a straight line, whose triangle
/// has no area. -1: neither.
static int32_t next_ear(const outline *o, int32_t corner, int32_t left)
{
	for (int32_t i = 0; i < left; i++, corner = o->after[corner]) {
		if (is_ear(o, corner))
			return corner;
	}
	for (int32_t i = 0; i < left; i++, corner = o->after[corner]) {
		if (turn_at(o, corner) == 0)
			return corner;
	}
	return -1;
}

/// Write count - 2 triangles. False where the polygon crosses itself.
static bool clip_ears(outline *o, int32_t *triangles)
{
	int32_t corner = 0;
	for (int32_t left = o->count; left > 3; left--, triangles += 3) {
		corner = next_ear(o, corner, left);
		if (corner < 0)
			return false;
		corner = o->after[clip(o, corner, triangles)];
	}
	const bool within = turn_at(o, corner) >= 0;
	clip(o, corner, triangles);
	return within;
}

bool io_cut_polygon(sim_mesh *mesh, io_polygon polygon)
{
	int32_t *fan = mesh->triangles + 3 * (size_t)polygon.first;
	const size_t size = 3 * (size_t)(polygon.corners - 2) * sizeof *fan;
	int axes[2];
	if (!choose_plane(mesh, fan, polygon.corners, axes) || fan_lies_within(mesh, fan, polygon.corners, axes))
		return true;
	outline o;
	int32_t *triangles = malloc(size);
	const bool done = triangles && open_outline(&o, mesh, fan, polygon.corners, axes);
	if (done && clip_ears(&o, triangles))
		memcpy(fan, triangles, size);
	if (triangles)
		close_outline(&o);
	free(triangles);
	return done;
}
