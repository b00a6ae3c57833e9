/// @file polygon.h
/// Polygons of mesh files as triangles that lie within them.
#ifndef IO_POLYGON_H
#define IO_POLYGON_H

#include "sim/shapes/shapes.h"

#include <stdbool.h>
#include <stdint.h>

/// A polygon whose corners - 2 triangles begin with triangle first of a mesh. They are the fan
/// about its first corner until it is cut.
typedef struct io_polygon {
	int32_t first;
	int32_t corners;
} io_polygon;

/// Cut a polygon of four corners or more, in place. Where the fan lies within the polygon it stays,
/// as it does in every convex one. Else ears are clipped (see polygon.c). The triangles turn about
/// the polygon's normal as its corners do, and their areas in its plane add up to its area. A
/// polygon that crosses itself, or that has no area, stays a fan. Corners must be in range. False
/// when out of memory; the fan stays then.
bool io_cut_polygon(sim_mesh *mesh, io_polygon polygon);

#endif
