/// @file shape.h
/// The shapes of bodies and queries: basic volumes, hulls, meshes, and parts.
#ifndef CAROM_SHAPE_H
#define CAROM_SHAPE_H

#include "carom/mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The shape of a body, in its own frame; lengths in metres.
typedef enum carom_shape_type {
	CAROM_SPHERE,  ///< radius about the origin
	CAROM_BOX,     ///< half_extents about the origin
	CAROM_CAPSULE, ///< radius about the segment from (0,0,-half_length) to (0,0,half_length)
	CAROM_PLANE,   ///< the half space z <= 0 of the body's frame; static or kinematic bodies only
	CAROM_MESH,    ///< a triangle mesh or a height field
	// Convex shapes (docs/convex.md).
	CAROM_HULL, ///< a convex hull: a mesh that carom_create_hull made
	/// Radius about the segment from (0,0,-half_length) to (0,0,half_length), flat ends.
	CAROM_CYLINDER,
	CAROM_CONE,      ///< base of this radius at z = -half_length, apex at (0,0,half_length)
	CAROM_ELLIPSOID, ///< half_extents: semi-axes along x, y, z
} carom_shape_type;

/// The form of a body, in its own frame. Set the fields of its type.
typedef struct carom_shape {
	carom_shape_type type;
	double radius;
	double half_length;
	double half_extents[3];
	const carom_mesh *mesh; ///< made from the context of the world; the body takes a reference
	/// Radius of a ball that is added to a box, hull, cylinder, cone or ellipsoid: it grows by this
	/// much, and its edges become round. 0 or more; not used for other types.
	double rounding;
} carom_shape;

/// One of the shapes that a body consists of, and where it is.
typedef struct carom_part {
	carom_shape shape;
	carom_pose pose; ///< in the frame of the body; no coordinate beyond CAROM_MAX_COORDINATE
} carom_part;

#ifdef __cplusplus
}
#endif
#endif
