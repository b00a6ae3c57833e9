/// @file vectors.h
/// The few operations on vectors that shapes, masses and pictures need.
#ifndef SIM_VECTORS_H
#define SIM_VECTORS_H

#include "carom/math.h"

#include <math.h>

static inline carom_vec3 sim_add(carom_vec3 a, carom_vec3 b) { return (carom_vec3){ a.x + b.x, a.y + b.y, a.z + b.z }; }

static inline carom_vec3 sim_subtract(carom_vec3 a, carom_vec3 b) { return (carom_vec3){ a.x - b.x, a.y - b.y, a.z - b.z }; }

static inline carom_vec3 sim_scale(carom_vec3 a, double factor)
{
	return (carom_vec3){ a.x * factor, a.y * factor, a.z * factor };
}

static inline double sim_dot(carom_vec3 a, carom_vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

static inline carom_vec3 sim_cross(carom_vec3 a, carom_vec3 b)
{
	return (carom_vec3){ a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x };
}

static inline double sim_length(carom_vec3 a) { return sqrt(sim_dot(a, a)); }

/// a at length 1; zero stays zero.
static inline carom_vec3 sim_normalize(carom_vec3 a)
{
	const double length = sim_length(a);
	return length > 0 ? sim_scale(a, 1 / length) : a;
}

/// Two unit vectors that with the unit vector n make a right-handed frame (first, second, n); x and
/// y for n = z.
static inline void sim_tangents(carom_vec3 n, carom_vec3 *first, carom_vec3 *second)
{
	const carom_vec3 axis = fabs(n.x) < 0.9 ? (carom_vec3){ 1, 0, 0 } : (carom_vec3){ 0, 1, 0 };
	*second = sim_normalize(sim_cross(n, axis));
	*first = sim_cross(*second, n);
}

#endif
