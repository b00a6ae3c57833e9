/// The nearest point of a body's surface, in the body's own frame, whatever its shape.
#ifndef CR_FRAME_BODY_POINT_H
#define CR_FRAME_BODY_POINT_H

#include "bvh/collider_query.h"
#include "frame/body.h"

/// The mesh that answers questions about a body: its own, or that of a hull without rounding, which
/// is exact. NULL: there is none.
const cr_collider *cr_asked_mesh(const cr_body *body);

/// Find the surface point nearest to a point of the body's frame. false: none is within
/// max_distance (>= 0, may be infinite). normal: the direction from there to the point, inside the
/// opposite one; on the surface its own. Of shapes that are no meshes only point, normal and
/// distance are set.
bool cr_nearest_on_body(
	const cr_body *body, const cr_bvh_kernels *kernels, v3d point, double max_distance, cr_surface_point *nearest);

#endif
