// Round tubes along a curve: n rings of m points, two triangles for each cell. A ring closes on
// itself; the lock is cut open and its two ends are fans around a pole, which replace the missing
// row of cells, so that all have 2 * n * m triangles.
#include "sim/shapes/shape_parts.h"
#include <string.h>

// The centre line at a parameter in [0, 1], with two unit vectors across it.
typedef void curve_fn(double turn, carom_vec3 *point, carom_vec3 *across, carom_vec3 *other);

typedef struct tube {
	const char *name;
	curve_fn *curve;
	double radius;
	double aspect; // length of the centre line over that of a ring: rings to points of a ring
	bool open;
} tube;

static void circle(double turn, double radius, carom_vec3 *point, carom_vec3 *across, carom_vec3 *other)
{
	double s, c;
	sim_sincos(turn, &s, &c);
	*point = (carom_vec3){ radius * c, radius * s, 0 };
	*across = (carom_vec3){ c, s, 0 };
	*other = (carom_vec3){ 0, 0, 1 };
}

static void torus_curve(double turn, carom_vec3 *point, carom_vec3 *across, carom_vec3 *other)
{
	circle(turn, 0.6, point, across, other);
}

/// A gap of 0.16 turns: about 0.6 wide, twice the tube that has to pass.
static void lock_curve(double turn, carom_vec3 *point, carom_vec3 *across, carom_vec3 *other)
{
	circle(0.08 + 0.84 * turn, 0.6, point, across, other);
}

/// Twice round a torus the long way and three times the short way. The torus's normal and its
/// product with the tangent are a frame that closes without a twist.
static void knot_curve(double turn, carom_vec3 *point, carom_vec3 *across, carom_vec3 *other)
{
	const double large = 0.62, small = 0.3;
	double s2, c2, s3, c3;
	sim_sincos(2 * turn, &s2, &c2);
	sim_sincos(3 * turn, &s3, &c3);
	double radius = large + small * c3;
	*point = (carom_vec3){ radius * c2, radius * s2, small * s3 };
	*across = (carom_vec3){ c3 * c2, c3 * s2, s3 };
	carom_vec3 tangent = { -3 * small * s3 * c2 - 2 * radius * s2, -3 * small * s3 * s2 + 2 * radius * c2, 3 * small * c3 };
	*other = sim_cross(sim_unit(tangent), *across);
}

static const tube TUBES[] = {
	{ "torus", torus_curve, 0.22, 2.73, false },
	{ "knot", knot_curve, 0.14, 11.0, false },
	{ "lock", lock_curve, 0.15, 3.36, true },
};

typedef struct tube_size {
	int32_t rings, sides;
} tube_size;

/// How far a grid is from square cells: 1 is square.
static double stretch(const tube *t, int32_t rings, int32_t sides)
{
	double ratio = rings / (sides * t->aspect);
	return ratio < 1 ? 1 / ratio : ratio;
}

/// The best grid of exactly this many triangles; false when all would have cells longer than four
/// times their width.
static bool choose_size(const tube *t, int32_t triangles, tube_size *size)
{
	const double max_stretch = 4;
	double best = max_stretch;
	bool found = false;
	int32_t cells = triangles / 2;
	for (int32_t sides = 3; triangles % 2 == 0 && sides <= cells / 3; sides++) {
		if (cells % sides == 0 && stretch(t, cells / sides, sides) <= best) {
			best = stretch(t, cells / sides, sides);
			*size = (tube_size){ cells / sides, sides };
			found = true;
		}
	}
	return found;
}

static bool name_nearest(const tube *t, int32_t triangles, sim_error *error)
{
	int32_t below = triangles, above = triangles;
	tube_size size;
	while (below > 0 && !choose_size(t, below, &size)) {
		below--;
	}
	while (!choose_size(t, above, &size)) {
		above++;
	}
	if (below == 0 || above > SIM_MAX_SHAPE_TRIANGLES) {
		return sim_fail(
			error, "%d triangles make no even grid for a %s: take %d", triangles, t->name, below == 0 ? above : below);
	}
	return sim_fail(error, "%d triangles make no even grid for a %s: take %d or %d", triangles, t->name, below, above);
}

static void place_rings(const tube *t, tube_size size, carom_vec3 *points)
{
	for (int32_t i = 0; i < size.rings; i++) {
		carom_vec3 point, across, other;
		t->curve((double)i / (t->open ? size.rings - 1 : size.rings), &point, &across, &other);
		for (int32_t j = 0; j < size.sides; j++) {
			double s, c;
			sim_sincos((double)j / size.sides, &s, &c);
			points[i * size.sides + j] = sim_mad(sim_mad(point, t->radius * c, across), t->radius * s, other);
		}
	}
}

static double distance_squared(const carom_vec3 *points, int32_t a, int32_t b)
{
	carom_vec3 d = sim_sub(points[a], points[b]);
	return sim_dot(d, d);
}

/// Each cell is cut along its shorter diagonal.
static void add_cell(sim_surface *surface, int32_t a, int32_t b, int32_t c, int32_t d)
{
	const double tie = 1e-9;
	bool cut_ac = distance_squared(surface->points, a, c) <= distance_squared(surface->points, b, d) + tie;
	const int32_t along_ac[6] = { a, b, c, a, c, d }, along_bd[6] = { a, b, d, b, c, d };
	memcpy(surface->triangles + 3 * surface->triangle_count, cut_ac ? along_ac : along_bd, sizeof along_ac);
	surface->triangle_count += 2;
}

static void add_cells(const tube *t, tube_size size, sim_surface *surface)
{
	int32_t rows = t->open ? size.rings - 1 : size.rings;
	for (int32_t i = 0; i < rows; i++) {
		int32_t row = i * size.sides, next_row = (i + 1) % size.rings * size.sides;
		for (int32_t j = 0; j < size.sides; j++) {
			int32_t next = (j + 1) % size.sides;
			add_cell(surface, row + j, next_row + j, next_row + next, row + next);
		}
	}
}

/// Close one end with a blunt cone. direction: -1 at the start, 1 at the end.
static void add_cap(const tube *t, tube_size size, int direction, sim_surface *surface)
{
	carom_vec3 point, across, other;
	int32_t row = direction < 0 ? 0 : (size.rings - 1) * size.sides;
	int32_t pole = size.rings * size.sides + (direction < 0 ? 0 : 1);
	t->curve(direction < 0 ? 0 : 1, &point, &across, &other);
	surface->points[pole] = sim_mad(point, direction * 0.5 * t->radius, sim_cross(other, across));
	for (int32_t j = 0; j < size.sides; j++) {
		int32_t next = (j + 1) % size.sides;
		int32_t *corner = surface->triangles + 3 * surface->triangle_count++;
		corner[0] = pole;
		corner[1] = row + (direction < 0 ? j : next);
		corner[2] = row + (direction < 0 ? next : j);
	}
}

bool sim_make_tube(const char *shape, int32_t triangles, sim_surface *surface, sim_error *error)
{
	const tube *t = TUBES;
	while (strcmp(t->name, shape) != 0) {
		t++;
	}
	tube_size size;
	if (!choose_size(t, triangles, &size)) {
		return name_nearest(t, triangles, error);
	}
	if (!sim_surface_alloc(surface, size.rings * size.sides + (t->open ? 2 : 0), triangles)) {
		return false;
	}
	surface->triangle_count = 0;
	place_rings(t, size, surface->points);
	add_cells(t, size, surface);
	if (t->open) {
		add_cap(t, size, -1, surface);
		add_cap(t, size, 1, surface);
	}
	return true;
}
