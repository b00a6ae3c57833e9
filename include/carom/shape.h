/// @file shape.h
/// The shapes of bodies and queries: primitives, hulls, meshes, and parts.
#ifndef CAROM_SHAPE_H
#define CAROM_SHAPE_H

#include "carom/mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The type of a shape. Each lies in its own frame, about the origin and with z as its axis;
/// lengths are in metres.
typedef enum carom_shape_type {
	CAROM_SPHERE,  ///< radius about the origin
	CAROM_BOX,     ///< half_extents about the origin
	CAROM_CAPSULE, ///< radius about the segment from (0,0,-half_length) to (0,0,half_length)
	CAROM_PLANE,   ///< the half space z <= 0 of the body's frame; static or kinematic bodies only
	CAROM_MESH,    ///< a triangle mesh or a height field
	// Convex shapes (docs/convex.md).
	CAROM_HULL, ///< a convex hull: a mesh that carom_create_hull made
	/// Radius about the segment from (0,0,-half_length) to (0,0,half_length), with flat ends.
	CAROM_CYLINDER,
	CAROM_CONE,      ///< base of this radius at z = -half_length, apex at (0,0,half_length)
	CAROM_ELLIPSOID, ///< half_extents: semi-axes along x, y, z
} carom_shape_type;

/// A shape in its own frame. Set type, the fields that it names, and rounding where it is wanted;
/// the others are not read.
typedef struct carom_shape {
	carom_shape_type type;
	double radius;
	double half_length;
	double half_extents[3];
	/// For CAROM_MESH and CAROM_HULL: a mesh of the world's context. A body takes a reference to
	/// it.
	const carom_mesh *mesh;
	/// Radius of a ball that is added to the shape (the Minkowski sum of both): the shape grows by
	/// it on all sides, and its edges become round. 0 or more. So padding of a robot's link is one
	/// field, whatever its shape.
	/// - CAROM_MESH: distances, overlaps, nearest bodies, shape casts and times of impact take it
	///   (carom_distance, carom_overlap, carom_time_of_impact, carom_world_overlap_shape,
	///   carom_world_closest_body, carom_world_cast_shape, and their batches). An open mesh becomes
	///   a plate of twice this thickness. Bodies, contacts, rays and nearest points refuse a mesh
	///   with a rounding (CAROM_INVALID_ARGUMENT).
	/// - CAROM_PLANE: it must be 0.
	/// - All others: it counts everywhere. That of a sphere or capsule adds to its radius.
	double rounding;
} carom_shape;

/// One shape of a body that has several, and where it is in the body. Set all members.
typedef struct carom_part {
	carom_shape shape;
	carom_pose pose; ///< in the frame of the body; no coordinate beyond CAROM_MAX_COORDINATE
	/// A number of the caller's, 0 for none. carom_world_get_part_data (carom/world.h) tells the
	/// number of the part that a contact, an event, an impact or a query names.
	uint64_t user_data;
} carom_part;

#ifdef __cplusplus
}
#endif
#endif
