/// How facets grow, for those that grow all (facets.c) and those that grow some again
/// (thin_facets.c): both come to the same bits.
#ifndef CR_MESH_FACET_GROWTH_H
#define CR_MESH_FACET_GROWTH_H

#include "mesh/facets.h"

/// Twice the area of a triangle along its normal.
v3d cr_area_of(const cr_topology *topology, int32_t triangle);
/// The key that triangles are sorted by, from the length of that: the larger, the lower.
uint64_t cr_area_key(double size);
/// The plane that a facet begins with, of a triangle with this area.
cr_facet cr_begin_facet(const cr_topology *topology, int32_t seed, v3d area);
/// Does a triangle with this area, of this length, lie in the plane that a facet began with?
bool cr_lies_in_facet(
	const cr_topology *topology, double tolerance, const cr_facet *facet, int32_t triangle, v3d area, double size);
/// The plane of a facet from all its triangles, whose areas have the sum. triangles: the list that
/// facet->first is a place in.
void cr_settle_facet(const cr_topology *topology, const int32_t *triangles, v3d sum, cr_facet *facet);
/// As cr_settle_facet, with the areas of the facet's triangles, in their order.
void cr_settle_by_triangles(const cr_topology *topology, const int32_t *triangles, cr_facet *facet);
/// Do two creases that leave a vertex make one that goes on through it?
bool cr_goes_straight_on(v3d line, v3d other);
/// The tolerance of triangles that fill a box.
double cr_facet_tolerance(const float lower[3], const float upper[3]);
/// The tolerance of the triangles in use; 0: none is.
double cr_used_tolerance(const cr_topology *topology);

#endif
