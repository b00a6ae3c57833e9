/// See half_spaces.h. The shortest move is the point nearest to the origin on one plane, on the
/// line of two, or where three meet: all of these are tried.

#include "geom/half_spaces.h"
#include <math.h>
#include <stdbool.h>

/// The point nearest to the origin of where up to three planes meet: i, j, k, which may be one.
/// false: they do not meet in one place.
static bool meet_planes(const cr_half_spaces *p, int i, int j, int k, v3d *at)
{
	const v3d u = p->normal[i], v = p->normal[j];
	const double r = p->reach[i], q = p->reach[j];
	if (i == j) {
		*at = v3d_scale(u, r);
		return true;
	}
	const v3d line = v3d_cross(u, v);
	const double square = v3d_dot(line, line);
	if (!(square > 1e-12))
		return false;
	*at = v3d_scale(v3d_cross(v3d_sub(v3d_scale(v, r), v3d_scale(u, q)), line), 1 / square);
	if (j == k)
		return true;
	const double rise = v3d_dot(line, p->normal[k]);
	if (!(fabs(rise) > 1e-6))
		return false;
	*at = v3d_mad(*at, (p->reach[k] - v3d_dot(p->normal[k], *at)) / rise, line);
	return true;
}

static bool is_feasible(const cr_half_spaces *p, v3d at, double slack)
{
	for (int i = 0; i < p->count; i++) {
		if (v3d_dot(p->normal[i], at) < p->reach[i] - slack)
			return false;
	}
	return true;
}

double cr_shortest_move(const cr_half_spaces *spaces, double slack, v3d *move)
{
	double least = INFINITY;
	for (int i = 0; i < spaces->count; i++) {
		for (int j = i; j < spaces->count; j++) {
			for (int k = j; k < spaces->count; k++) {
				v3d at;
				if ((i == j && j != k) || !meet_planes(spaces, i, j, k, &at))
					continue;
				const double length = v3d_length(at);
				if (length < least && is_feasible(spaces, at, slack)) {
					least = length;
					*move = at;
				}
			}
		}
	}
	return least;
}
