/// On which side of a triangle mesh a point lies, seen from the nearest part of its surface: the
/// mesh may be open, and may come near itself elsewhere.
#ifndef CR_SURFACE_SIDE_H
#define CR_SURFACE_SIDE_H

#include "mesh/topology.h"

/// A mesh where its vertices are at one instant.
typedef struct cr_placed {
	const cr_topology *faces;
	const double *places; // [3*vertex_count]
} cr_placed;

/// The side of a point, as a part of the surface sees it.
typedef enum cr_side {
	CR_SIDE_BACK = -1,
	CR_SIDE_NONE = 0, // it is beside the border, or in the surface
	CR_SIDE_FRONT = 1,
} cr_side;

/// The nearest point of a triangle.
typedef struct cr_foot {
	int32_t triangle;
	double weight[3]; // of its corners; those that are 0 tell the part: face, edge or corner
	v3d offset;       // from it to the point
	double distance2;
} cr_foot;

static inline v3d cr_placed_vertex(const cr_placed *s, int32_t vertex)
{
	return v3d_from_doubles(s->places + 3 * (int64_t)vertex);
}

/// The point of a triangle that is nearest to a point.
cr_foot cr_foot_on_triangle(const cr_placed *surface, int32_t triangle, v3d point);
/// Go from a triangle over its neighbours, and theirs, as long as one is nearer to a point: the
/// nearest point of the surface about there. Ends: each step comes nearer.
cr_foot cr_follow_surface(const cr_placed *surface, int32_t triangle, v3d point);
/// The side of the point of a foot: by the normal of the triangle, of its edge, or of its corner
/// (weighted by angles: Baerentzen and Aanaes 2005), wherever the foot is.
cr_side cr_side_of_foot(const cr_placed *surface, const cr_foot *foot);
/// The unit normal of a triangle to its front; zero where it has no area.
v3d cr_placed_normal(const cr_placed *surface, int32_t triangle);

#endif
