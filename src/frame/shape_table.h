/// The table of shapes: one row for each type, and all that differs between families of types.
///
/// A new convex shape is a row here, and its support function and faces in geom/convex.c. Which
/// algorithm a pair of families gets is the table in algorithm.c; the names of shapes in scene
/// files are the table in scene/scene_bodies.c.
#ifndef CR_FRAME_SHAPE_TABLE_H
#define CR_FRAME_SHAPE_TABLE_H

#include "bvh/mover.h"
#include "frame/body.h"

/// Which fields of carom_shape a type needs.
enum {
	CR_FIELD_RADIUS = 1,
	CR_FIELD_LENGTH = 2,     // half_length above 0
	CR_FIELD_ANY_LENGTH = 4, // half_length, which may be 0
	CR_FIELD_EXTENTS = 8,    // half_extents
	// a mesh from carom_create_mesh, carom_create_height_field or carom_create_hull
	CR_FIELD_MESH = 16,
	CR_FIELD_HULL = 32,     // a mesh from carom_create_hull
	CR_FIELD_ROUNDING = 64, // rounding, which is used everywhere
	// rounding, which the calls that ask about distances use alone (cr_check_padded_shape)
	CR_FIELD_PADDING = 128,
};

typedef struct cr_shape_row {
	const char *name; // as in the public header
	uint8_t family;   // cr_family
	uint8_t fields;
	uint8_t core; // cr_core; of convex types
} cr_shape_row;

/// The row of a type; NULL where the number is no type.
const cr_shape_row *cr_shape_row_of(carom_shape_type type);
/// The family of a checked shape. A rounded box is one of the convex family.
cr_family cr_family_of(const carom_shape *shape);
/// A checked shape as a convex body; not of planes and meshes.
cr_convex cr_convex_of(const carom_shape *shape);
/// A checked shape as one that moves, at rest at the origin. convex: room for its body, which the
/// mover points to.
cr_mover cr_mover_of(const carom_shape *shape, cr_convex *convex);
/// The ball that is added to a mesh; 0 of other shapes, whose algorithms see their rounding.
static inline double cr_padding_of(const carom_shape *shape) { return shape->type == CAROM_MESH ? shape->rounding : 0; }
/// Does a shape refer to a mesh? A hull does.
static inline bool cr_has_mesh(const carom_shape *shape) { return shape->type == CAROM_MESH || shape->type == CAROM_HULL; }

#endif
