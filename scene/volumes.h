/// @file volumes.h
/// Volumes of scenes and recordings: their mass, and the hulls of meshes among them.
#ifndef SIM_VOLUMES_H
#define SIM_VOLUMES_H

#include "carom/carom.h"
#include "io/recording.h"

/// Mass and inertia of a solid volume of density 1 about its centre of mass, in the frame of carom_shape:
/// sphere, box, capsule, hull, cylinder, cone, ellipsoid. Rounded ones are good to about a hundredth. Not for
/// planes and meshes.
carom_mass sim_volume_mass(const carom_shape *shape);

/// The hull of a mesh's vertices, made when *hull is NULL. The caller releases it.
carom_result sim_hull_of(carom_context *context, const carom_mesh *mesh, carom_mesh **hull);

/// The shape of a recorded body, of whose hull hulls[mesh] is a cache (NULL: not made yet).
carom_result sim_recorded_shape(
	carom_context *context, const sim_recorded_body *body, carom_mesh *const *meshes, carom_mesh **hulls, carom_shape *shape);

#endif
