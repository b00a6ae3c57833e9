/// Contacts of two convex bodies: the patch in which they meet, as a few points with one normal.
#ifndef CR_GEOM_CONVEX_CONTACTS_H
#define CR_GEOM_CONVEX_CONTACTS_H

#include "geom/separation.h"
#include "geom/volume.h"
#include <stdbool.h>

/// Contacts with depth >= -margin, in the frame of A; at most CR_MAX_VOLUME_CONTACTS. Returns their
/// number; it is 0 only where the bodies are farther apart than margin.
///
/// The direction of least separation is found first. Where a face of either body lies nearly across
/// it and parts the bodies nearly as well, its normal is that of all contacts, and the facing part
/// of the other body is clipped against its sides (Gregorius, Robust Contact Creation for Physics
/// Simulations, 2015). Edges that run side by side give the two ends of their common part. Else
/// there is one contact, at the nearest points.
int cr_convex_contacts(
	const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, double margin, cr_volume_contact *contacts);

/// The most contacts of a body with a triangle: the corners of a patch.
enum { CR_MAX_TRIANGLE_CONTACTS = 2 * CR_MAX_FACE };

/// How the surface goes on around a triangle.
typedef struct cr_triangle_rim {
	unsigned inner;    // bit i: in one plane beyond the edge from corner i to i + 1
	unsigned straight; // bit i: corner i is no corner of the flat part that the triangle belongs to
	double flush;      // a point that is no farther beyond a border of that part lies on it
} cr_triangle_rim;

/// Contacts of a body A with the front of a triangle B, all along the triangle's normal, at the
/// points of A's facing part that lie over the triangle, or over the flat part that it belongs to:
/// there is none where two of its triangles meet. Both in the frame of A. Returns their number,
/// at most CR_MAX_TRIANGLE_CONTACTS, which is 0 where nothing of A's part lies over the triangle.
/// They are not reduced: a choice for each triangle would change whenever a point trembles over an
/// edge between two of them.
int cr_convex_contacts_on_triangle(
	const cr_convex *a, const cr_convex *triangle, cr_triangle_rim rim, double margin, cr_volume_contact *contacts);

/// Contacts of a body A and a triangle B in the frame of A: as cr_convex_contacts, but the
/// triangle's own normal counts only where the body touches the triangle itself: *on_face is set
/// then. *least: how far apart the two are; there are contacts where that is margin at most. Not
/// reduced either.
int cr_convex_triangle_contacts(const cr_convex *a, const cr_convex *triangle, cr_triangle_rim rim, double margin,
	cr_separation *least, bool *on_face, cr_volume_contact *contacts);

/// Contacts of a body with the half space up . p <= height in the body's frame, with depth >=
/// -margin. point: of the core, so that the surface's point lies rounding below it. The part that
/// faces the plane: corners far from each other where there are more than fit, and always the
/// greatest depth. Returns their number.
int cr_convex_plane_contacts(const cr_convex *convex, v3d up, double height, double margin, cr_volume_contact *contacts);

#endif
