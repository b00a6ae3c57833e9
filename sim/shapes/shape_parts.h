/// Functions that the makers of shapes share. Only sim/shapes/*.c and their test include this.
#ifndef SIM_SHAPE_PARTS_H
#define SIM_SHAPE_PARTS_H

#include "sim/base/vectors.h"
#include "sim/shapes/shapes.h"

#include <math.h>

/// A mesh in the making, in double.
typedef struct sim_surface {
	int32_t vertex_count;
	int32_t triangle_count;
	carom_vec3 *points;
	int32_t *triangles; // [3*triangle_count]
	// [3*triangle_count] the side of the other triangle (3 * triangle + side); only from
	// sim_sphere_hull
	int32_t *neighbours;
} sim_surface;

static inline carom_vec3 sim_sub(carom_vec3 a, carom_vec3 b) { return (carom_vec3){ a.x - b.x, a.y - b.y, a.z - b.z }; }
static inline carom_vec3 sim_mad(carom_vec3 a, double s, carom_vec3 b)
{
	return (carom_vec3){ a.x + s * b.x, a.y + s * b.y, a.z + s * b.z };
}
static inline carom_vec3 sim_unit(carom_vec3 a) { return sim_scale(a, 1 / sim_length(a)); }

/// Sine and cosine of an angle in turns, the same bits everywhere.
void sim_sincos(double turns, double *sine, double *cosine);

enum { SIM_SINES = 4 };
/// Sines alone, several side by side: the bits of sim_sincos in a fifth of the time.
void sim_sines(const double turns[SIM_SINES], double sines[SIM_SINES]);

/// Make room for a surface; false when out of memory.
bool sim_surface_alloc(sim_surface *surface, int32_t vertex_count, int32_t triangle_count);
void sim_surface_free(sim_surface *surface);

/// count points of a golden-angle spiral on the unit sphere, from the top down.
void sim_fibonacci_sphere(int32_t count, carom_vec3 *points);

/// Join surface->points on the unit sphere, sorted by z downwards, by the triangles of their convex
/// hull: 2 * vertex_count - 4, with neighbours. False when out of memory or when the points are not
/// in general position. O(n sqrt n) for even points.
bool sim_sphere_hull(sim_surface *surface);

/// The makers: false with a text in error, or with none when out of memory.
bool sim_make_sphere(int32_t triangles, sim_surface *surface, sim_error *error);
bool sim_make_lumpy(int32_t triangles, uint64_t seed, sim_surface *surface, sim_error *error);
bool sim_make_gear(int32_t triangles, sim_surface *surface, sim_error *error);
bool sim_make_tube(const char *shape, int32_t triangles, sim_surface *surface, sim_error *error);
bool sim_make_blocks(const char *shape, int32_t triangles, sim_surface *surface, sim_error *error);

#endif
