/// Signed distances of two shapes of which one at least is a mesh (carom/collide.h).
#ifndef CR_WORLD_MESH_DISTANCE_H
#define CR_WORLD_MESH_DISTANCE_H

#include "carom/collide.h"

/// Keeps the promise of carom_distance for two checked shapes at checked poses, one of them a mesh,
/// the other perhaps a plane. apart: they are known not to overlap; that spares time, memory and
/// stack. Fails only out of memory.
carom_result cr_mesh_separation(carom_context *context, const carom_shape *const shapes[2], const carom_pose poses[2],
	bool apart, carom_separation *separation);

#endif
