/// Convex bodies for closest points, penetration and contacts: each is a core with a support
/// function, and a rounding radius about the core. Pure functions in double; nothing here
/// allocates. Bodies are given in their own frames.
#ifndef CR_GEOM_CONVEX_H
#define CR_GEOM_CONVEX_H

#include "geom/hull_kernels.h"
#include "math/vec.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum cr_core {
	CR_CORE_POINT,     // sphere
	CR_CORE_SEGMENT,   // capsule: along z
	CR_CORE_BOX,       // half
	CR_CORE_HULL,      // hull
	CR_CORE_CYLINDER,  // radius, half_length along z
	CR_CORE_CONE,      // radius of the base at -half_length, apex at +half_length
	CR_CORE_ELLIPSOID, // half: semi-axes
	CR_CORE_TRIANGLE,  // corner
} cr_core;

enum { CR_HULL_STARTS = 54 };

/// A convex polyhedron. Faces are polygons, counter-clockwise seen from outside.
typedef struct cr_hull {
	v3d *vertices;            // [vertex_count]
	int32_t *corners;         // vertices of the faces, face by face
	int32_t *face_first;      // [face_count + 1] into corners
	v3d *normals;             // [face_count] outward, unit
	int32_t *neighbours;      // vertices at the other ends of the edges, vertex by vertex
	int32_t *neighbour_first; // [vertex_count + 1] into neighbours
	int32_t vertex_count, face_count;
	v3d centre;  // a point inside
	double size; // of the farthest vertex from there
	// of a hull of many vertices: one that lies far along the directions of a ninth of a cube's
	// side
	int32_t start[CR_HULL_STARTS];
	// for the wide search, made of the above: vertices of a hull of few, and normals. NULL: none.
	double *rows;
	int32_t vertex_blocks, normal_blocks; // of rows
	const cr_hull_kernels *kernels;
} cr_hull;

/// Fill start, once all else is there. Where the search for the farthest vertex begins depends on
/// the direction alone, so that it ends at the same vertex whatever was asked before.
void cr_hull_set_starts(cr_hull *hull);
/// Say how many blocks the wide search takes, once vertices and faces are counted. Returns the
/// number of doubles in rows; 0: the hull is searched without them.
size_t cr_hull_count_rows(cr_hull *hull);
/// Fill rows, once all else is there, and choose how they are searched.
void cr_hull_fill_rows(cr_hull *hull, carom_simd simd);

typedef struct cr_convex {
	cr_core core;
	double rounding; // radius of the ball that is added to the core
	double radius;
	double half_length;
	double half[3];
	// of an ellipsoid: the core is the points that lie at least so deep in it. At most the least
	// radius of curvature, half_min^2 / half_max: more would leave no support function.
	double inset;
	const cr_hull *hull;
	v3d corner[3];
} cr_convex;

/// Pose of one convex body in the frame of another: p -> rotation p + position.
typedef struct cr_relative {
	m3d rotation;
	v3d position;
} cr_relative;

/// Point of the core that lies farthest along a direction (any length but zero). Of equally far
/// vertices the first counts.
v3d cr_convex_support(const cr_convex *convex, v3d direction);
/// The boundary of a core consists of smooth parts, whose convex hull is the core: one of an
/// ellipsoid, two rims of a cylinder, rim and apex of a cone, each vertex of the others.
/// Returns the point that lies farthest along a direction on the part that holds a point on.
/// farthest: cr_convex_support along that direction.
v3d cr_convex_part_support(const cr_convex *convex, v3d on, v3d farthest, v3d direction);
static inline bool cr_convex_has_rim(const cr_convex *c) { return c->core == CR_CORE_CYLINDER || c->core == CR_CORE_CONE; }
/// Is z an axis of revolution?
static inline bool cr_convex_is_round(const cr_convex *c)
{
	return c->core == CR_CORE_SEGMENT || cr_convex_has_rim(c) || (c->core == CR_CORE_ELLIPSOID && c->half[0] == c->half[1]);
}
static inline bool cr_convex_is_curved(const cr_convex *c) { return c->core == CR_CORE_ELLIPSOID || cr_convex_has_rim(c); }
/// Does a part of a curved core bend, or is it the apex of a cone?
static inline bool cr_convex_part_bends(const cr_convex *c, v3d on) { return c->core != CR_CORE_CONE || on.z < 0; }
/// The second derivatives of the support function of a part that bends, for a unit direction along
/// which farthest lies farthest on it: by two axes across the direction, xx, xy, yy. They are the
/// radii of curvature (Schneider, Convex Bodies, section 2.5). Not finite across a flat cap.
void cr_convex_curvature(const cr_convex *convex, v3d farthest, v3d direction, const v3d axes[2], double radii[3]);
/// A point inside the core.
v3d cr_convex_centre(const cr_convex *convex);
/// A length within which all points of the core lie from its centre.
double cr_convex_size(const cr_convex *convex);

enum { CR_MAX_FACE = 32 };

/// The flat part of a core that faces a direction best: a polygon (counter-clockwise seen against
/// its normal), the two ends of an edge, or one point. Round caps are polygons of 16 corners on
/// their rim, and faces of hulls with more corners than CR_MAX_FACE leave some out. number: tells
/// the flat parts of a core apart.
typedef struct cr_face {
	v3d point[CR_MAX_FACE];
	int count;
	int32_t number;
	v3d normal; // unit; of a polygon only
} cr_face;
void cr_convex_face(const cr_convex *convex, v3d direction, cr_face *face);

#endif
