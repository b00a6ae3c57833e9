/// See support_map.h.

#include "mesh/support_map.h"
#include <math.h>

enum {
	FEWEST_TRIANGLES = 256,
	MOST_VERTICES = 1 << 14,
	// Directions that are tried. Of the pairs of the avalanche on impact whose hulls are apart this
	// finds 97 of 100.
	MOST_TRIES = 4,
};

// Of the scales of two meshes: more than the roundings of all that looks at them later.
static const double APART = 0x1p-16;
// Of the step that would bring the direction to a right angle with the way between the two points:
// past it, since those points are not the last ones (avalanche: flat from 1.3 to 1.8).
static const double PAST = 1.5;

bool cr_wants_support_map(int32_t triangle_count, int32_t vertex_count)
{
	return triangle_count >= FEWEST_TRIANGLES && vertex_count <= MOST_VERTICES;
}

/// The coordinate of a corner of the grid along a side of its face.
static float corner_at(int i) { return -1 + 2 * (float)i / (CR_SUPPORT_ROW - 1); }

/// Measure a row of corners of the faces across an axis: at 1 along it, at u along the next axis,
/// and in turn along the last. The opposite corners follow from the least instead of the largest.
static void fill_row(cr_support_map *map, const float *vertices, int32_t count, int axis, int row)
{
	const int next = (axis + 1) % 3, last = (axis + 2) % 3;
	const float u = corner_at(row);
	float v[CR_SUPPORT_ROW], most[CR_SUPPORT_ROW], least[CR_SUPPORT_ROW];
	for (int i = 0; i < CR_SUPPORT_ROW; i++) {
		v[i] = corner_at(i);
		most[i] = -INFINITY;
		least[i] = INFINITY;
	}
	for (int32_t k = 0; k < count; k++) {
		const float *p = &vertices[3 * (int64_t)k];
		const float along = p[axis] + u * p[next], across = p[last];
		for (int i = 0; i < CR_SUPPORT_ROW; i++) {
			const float reach = along + v[i] * across;
			most[i] = reach > most[i] ? reach : most[i];
			least[i] = reach < least[i] ? reach : least[i];
		}
	}
	// The roundings of the corners and of the sums, and what is lost in the smallest numbers.
	const float margin = map->scale * 0x1p-20f + 0x1p-126f;
	const int end = CR_SUPPORT_ROW - 1;
	for (int i = 0; i < CR_SUPPORT_ROW; i++) {
		map->at[2 * axis][row][i] = most[i] + margin;
		map->at[2 * axis + 1][end - row][end - i] = -least[i] + margin;
	}
}

void cr_fill_support_map(cr_support_map *map, const float *vertices, int32_t count)
{
	map->scale = 0;
	for (int64_t i = 0; i < 3 * (int64_t)count; i++)
		map->scale = fmaxf(map->scale, fabsf(vertices[i]));
	for (int axis = 0; axis < 3; axis++) {
		for (int row = 0; row < CR_SUPPORT_ROW; row++)
			fill_row(map, vertices, count, axis, row);
	}
}

double cr_support_bound(const cr_support_map *map, v3d direction, v3d *point)
{
	const double d[3] = { direction.x, direction.y, direction.z };
	const double cells = 0.5 * (CR_SUPPORT_ROW - 1);
	int axis = fabs(d[0]) >= fabs(d[1]) ? 0 : 1;
	axis = fabs(d[axis]) >= fabs(d[2]) ? axis : 2;
	const int next = (axis + 1) % 3, last = (axis + 2) % 3, face = 2 * axis + (d[axis] < 0);
	const double length = fabs(d[axis]), inverse = 1 / length;
	double u = (d[next] * inverse + 1) * cells, v = (d[last] * inverse + 1) * cells;
	const int row = u < CR_SUPPORT_ROW - 2 ? (int)u : CR_SUPPORT_ROW - 2;
	const int column = v < CR_SUPPORT_ROW - 2 ? (int)v : CR_SUPPORT_ROW - 2;
	u -= row;
	v -= column;
	const float *low = &map->at[face][row][column], *high = &map->at[face][row + 1][column];
	const double at_low = low[0] + v * (low[1] - low[0]), at_high = high[0] + v * (high[1] - high[0]);
	const double bound = at_low + u * (at_high - at_low);
	// h is linear along rays from the origin, so its gradient is the point.
	double p[3];
	p[next] = (at_high - at_low) * cells;
	p[last] = ((low[1] - low[0]) * (1 - u) + (high[1] - high[0]) * u) * cells;
	p[axis] = (bound - (d[next] * p[next] + d[last] * p[last]) * inverse) * (d[axis] < 0 ? -1 : 1);
	*point = v3d_from_doubles(p);
	return length * bound;
}

double cr_hull_gap(const cr_support_map *a, const cr_support_map *b, const m3d *rotation, v3d translation)
{
	const double margin = APART * ((double)a->scale + (double)b->scale);
	v3d direction = translation;
	for (int i = 0; i < MOST_TRIES; i++) {
		const double squares = v3d_dot(direction, direction);
		if (!(squares > 0))
			return 0;
		v3d of_a, of_b;
		const double reach_a = cr_support_bound(a, direction, &of_a);
		const double reach_b = cr_support_bound(b, v3d_neg(m3d_tmul(rotation, direction)), &of_b);
		const double apart = v3d_dot(direction, translation) - reach_b - reach_a;
		if (apart > 0) {
			const double gap = apart / sqrt(squares) - margin;
			if (gap > 0)
				return gap;
		}
		// Turn away from the way between the two points.
		const v3d way = v3d_sub(v3d_add(m3d_mul(rotation, of_b), translation), of_a);
		const double way2 = v3d_dot(way, way);
		if (!(way2 > 0))
			return 0;
		direction = v3d_mad(direction, -PAST * v3d_dot(way, direction) / way2, way);
	}
	return 0;
}
