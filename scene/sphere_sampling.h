/// @file sphere_sampling.h
/// Sets of spheres that are made: a solid filled with spheres, and spheres strewn at random in a
/// cube. The same arguments give the same bytes on every machine: only + - * / and square roots are
/// used.
#ifndef SCENE_SPHERE_SAMPLING_H
#define SCENE_SPHERE_SAMPLING_H

#include "sim/base/sim_error.h"
#include "sim/shapes/shapes.h"
#include "io/sphere_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How to fill a mesh with spheres. Start from scene_default_sampling.
typedef struct scene_sampling {
	double radius; ///< of the larger spheres; 0: as large as they can be without touching
	int64_t count; ///< how many; 0: as many as have room without touching
	bool mix;      ///< half of the spheres, by chance, have half the radius
	/// 0 to below 1: spheres stand off the lattice by at most half this part of its spacing, along
	/// each axis
	double jitter;
	uint64_t seed;
} scene_sampling;

/// Radius and count 0 (one of them must be set), not mixed, jitter 0.1, seed 1.
scene_sampling scene_default_sampling(void);

/// Fill a closed mesh with spheres whose centres lie inside it, on a jittered cubic lattice, in
/// random order (a simulation that wants them in an order of its own sorts them). With a count, the
/// lattice is as wide as was found to hold that many (a surplus is left out evenly), whatever the
/// radius: spheres may overlap. *spacing: of the lattice. The mesh is only read. On failure false,
/// no spheres, and one sentence in error. Takes time with the surface of the mesh in spacings
/// squared.
bool scene_sample_mesh(carom_context *context, const sim_mesh *mesh, const scene_sampling *sampling, io_sphere_set *spheres,
	double *spacing, sim_error *error);

/// Spheres strewn uniformly in the cube 0..side, radii uniform in radius_min..radius_max, in random
/// order; they may overlap, and those at the sides stand out. The free fall of Mochi, section
/// 4.1.1, is radii 0.0005..0.0006 in a cube of side 1; its changing radii, section 4.1.3,
/// 0.0005..0.006 and 0.0005..0.06 in a cube of side 16. False when out of memory or count is not in
/// 0..CAROM_MAX_SPHERES.
bool scene_strew_spheres(
	int64_t count, double radius_min, double radius_max, double side, uint64_t seed, io_sphere_set *spheres);

#ifdef __cplusplus
}
#endif
#endif
