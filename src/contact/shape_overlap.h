/// Do shapes at poses touch or overlap, as solids (open meshes: as surfaces)? For queries and for
/// sensors, which want no contacts.
#ifndef CR_CONTACT_SHAPE_OVERLAP_H
#define CR_CONTACT_SHAPE_OVERLAP_H

#include "bvh/collider_query.h"
#include "frame/body.h"

/// Two shapes. memory pays for the walk of two meshes.
carom_result cr_shapes_overlap(carom_context *memory, const cr_bvh_kernels *kernels, const carom_shape *a,
	const carom_pose *pose_a, const carom_shape *b, const carom_pose *pose_b, bool *overlap);
/// A mesh and a shape of another kind. Takes no memory.
bool cr_mesh_meets_volume(const cr_collider *mesh, const cr_bvh_kernels *kernels, const carom_pose *mesh_pose,
	const carom_shape *shape, const carom_pose *pose);

#endif
