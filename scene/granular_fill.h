/// @file granular_fill.h
/// The spheres of a scene, from its section "spheres": strewn, read, sampled from meshes, copied,
/// turned and set in motion. Equal scenes give equal bits on every machine.
#ifndef SCENE_GRANULAR_FILL_H
#define SCENE_GRANULAR_FILL_H

#include "scene/scene.h"

/// Spheres in the order of the scene: source after source, copy after copy.
typedef struct scene_granular_filling {
	int64_t count;
	double *centres;            ///< [3*count]
	double *radii;              ///< [count]
	double *velocities;         ///< [3*count]
	double *angular_velocities; ///< [3*count]; NULL when nothing turns
	uint32_t *copy_starts;      ///< [copy_count] number of the first sphere of each copy, rising
	int32_t copy_count;
} scene_granular_filling;

/// Make the spheres. False, with "FILE:LINE: field "spheres.list[i]": …" in error, when that fails;
/// *filling is empty then. Give it back with scene_destroy_filling.
bool scene_fill_spheres(
	carom_context *context, const scene_description *scene, scene_granular_filling *filling, sim_error *error);

/// Free the spheres. An empty (all zero) filling is fine.
void scene_destroy_filling(scene_granular_filling *filling);

/// The section's definition with these spheres; valid as long as they are.
sim_granular_def scene_filled_def(const scene_description *scene, const scene_granular_filling *filling);

#endif
