/// See rigid_walls.h.
///
/// With 2^e just above the largest share, a share x is q + r, where q is x rounded to a multiple of
/// 2^(e-40) and |r| is at most half of that; r is exact, since q and x are multiples of the last
/// place of x and r has no more places than x. r is rounded to a multiple of 2^(e-81). Both are
/// whole numbers of at most 40 bits, so that 2^22 of them fit into 63.
#include "rigid_walls.h"

#include "grain_law.h"
#include <math.h>
#include <string.h>

enum { COARSE = 40, FINE = 81 }; // bits below 2^e

/// The share of a contact with a wall: what it adds to force and torque on the wall. False: the
/// contact is of two bodies.
static bool share_of(const double *row, const rigid_wall_motion *walls, int *wall, double share[RIGID_LOAD])
{
	if (row[RIGID_ROW_B] >= 0)
		return false;
	*wall = -1 - (int)row[RIGID_ROW_B];
	const vec3 force = vec3_scale(vec3_read(row + RIGID_ROW_FORCE), -1);
	const vec3 middle = rigid_middle(vec3_read(row + RIGID_ROW_POINT), vec3_read(row + RIGID_ROW_NORMAL), row[RIGID_ROW_DEPTH]);
	const vec3 torque = vec3_cross(vec3_sub(middle, vec3_read(walls[*wall].about)), force);
	memcpy(share, &force, sizeof force);
	memcpy(share + 3, &torque, sizeof torque);
	return true;
}

double rigid_walls_largest(const rigid_report *report, const rigid_wall_motion *walls)
{
	double largest = 0, share[RIGID_LOAD];
	int wall;
	for (int64_t i = 0; i < report->count; i++) {
		if (!share_of(report->rows + RIGID_ROW * i, walls, &wall, share))
			continue;
		for (int k = 0; k < RIGID_LOAD; k++)
			largest = fmax(largest, isfinite(share[k]) ? fabs(share[k]) : INFINITY);
	}
	return largest;
}

/// Just above the largest share, as a power of two.
static int exponent_of(double largest)
{
	int exponent;
	frexp(largest, &exponent);
	return exponent;
}

void rigid_walls_sum(const rigid_report *report, const rigid_wall_motion *walls, int wall_count, double largest, int64_t *parts)
{
	memset(parts, 0, (size_t)wall_count * RIGID_LOAD_PARTS * sizeof *parts);
	if (!isfinite(largest))
		return;
	const int exponent = exponent_of(largest);
	double share[RIGID_LOAD];
	int wall;
	for (int64_t i = 0; i < report->count; i++) {
		if (!share_of(report->rows + RIGID_ROW * i, walls, &wall, share))
			continue;
		int64_t *const sums = parts + (size_t)wall * RIGID_LOAD_PARTS;
		for (int k = 0; k < RIGID_LOAD; k++) {
			const double coarse = rint(ldexp(share[k], COARSE - exponent));
			const double left = share[k] - ldexp(coarse, exponent - COARSE);
			sums[k] += (int64_t)coarse;
			sums[RIGID_LOAD + k] += (int64_t)rint(ldexp(left, FINE - exponent));
		}
	}
}

void rigid_walls_loads(const int64_t *parts, int wall_count, double largest, double *loads)
{
	const int exponent = exponent_of(largest);
	for (int i = 0; i < RIGID_LOAD * wall_count; i++) {
		const int64_t *const sums = parts + i / RIGID_LOAD * RIGID_LOAD_PARTS + i % RIGID_LOAD;
		const double coarse = ldexp((double)sums[0], exponent - COARSE);
		loads[i] = isfinite(largest) ? coarse + ldexp((double)sums[RIGID_LOAD], exponent - FINE) : NAN;
	}
}
