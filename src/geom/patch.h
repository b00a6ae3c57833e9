/// The common part of two faces, and the names of its points. A point lies on two edges of the
/// faces, and is named by these and by the faces. So it keeps its name from step to step, whichever
/// points beside it come and go, and wherever clipping begins (feature pairs, as in Catto, Box2D,
/// 2006, and Gregorius 2013).
///
/// The edges of a face of A are numbered from 0, of one of B from CR_EDGES_OF_B. Edge i of a face
/// goes from its corner i to the next.
#ifndef CR_GEOM_PATCH_H
#define CR_GEOM_PATCH_H

#include "geom/convex.h"
#include "geom/volume.h"

#include <math.h>

/// Of the smaller body's size: a point that is no farther beyond a side of a face lies on it. So
/// bodies that lie flush keep the names of their points while they tremble.
#define CR_FLUSH 1e-4

enum { CR_EDGES_OF_B = CR_MAX_FACE, CR_MOST_PATCH_POINTS = 2 * CR_MAX_FACE };

/// A corner of a patch: the two edges that meet in it.
typedef struct cr_corner_edges {
	uint8_t edge[2];
} cr_corner_edges;

/// Corner i of a face of count corners, whose edges are numbered from first. An edge alone (count
/// 2) has the last two numbers as its ends, a point alone meets itself.
static inline cr_corner_edges cr_face_corner(int first, int count, int i)
{
	if (count < 3)
		return (cr_corner_edges){ { (uint8_t)first, (uint8_t)(count == 2 ? first + CR_EDGES_OF_B - 1 - i : first) } };
	return (cr_corner_edges){ { (uint8_t)(first + (i > 0 ? i : count) - 1), (uint8_t)(first + i) } };
}

/// A polygon, a segment or a point, while it is clipped.
typedef struct cr_patch {
	v3d point[CR_MOST_PATCH_POINTS];
	cr_corner_edges corner[CR_MOST_PATCH_POINTS]; // of a cut, the side that made it comes second
	uint8_t edge[CR_MOST_PATCH_POINTS];           // from the point to the next
	int count;
} cr_patch;

/// A whole face of count corners.
static inline void cr_begin_patch(const v3d *corners, int count, int first, cr_patch *patch)
{
	patch->count = count;
	for (int i = 0; i < count; i++) {
		patch->point[i] = corners[i];
		patch->corner[i] = cr_face_corner(first, count, i);
		patch->edge[i] = (uint8_t)(first + i);
	}
}

/// Leave the part on the inner side of a plane, outward . p <= offset (Sutherland, Hodgman, 1974).
/// side: number of the edge that the plane stands on. It adds at most one point to a convex
/// polygon; further ones, made by rounding, have no room and no use.
void cr_clip_patch(cr_patch *patch, v3d outward, double offset, int side);

/// The faces of two shapes by their numbers.
static inline int32_t cr_name_faces(int32_t face_a, int32_t face_b)
{
	return (int32_t)(((uint32_t)face_a * 509u + (uint32_t)face_b) & 0x7ffffu);
}

/// Not negative.
static inline int32_t cr_name_corner(int32_t faces, cr_corner_edges corner)
{
	const int32_t a = corner.edge[0], b = corner.edge[1];
	return faces << 12 | (a < b ? a << 6 | b : b << 6 | a);
}

/// The deepest place of two faces, where no corner of the patch is.
static inline int32_t cr_name_deepest(int32_t faces) { return faces << 12 | 0xfff; }

/// Depths that differ by so much are about equal: a twentieth, and two thousandths of the smaller
/// body's size. At rest a solver keeps about that depth.
static inline double cr_little_depth(double depth, double size) { return 0.05 * fabs(depth) + 2e-3 * size; }

static inline double cr_contacts_apart(const cr_volume_contact *a, const cr_volume_contact *b)
{
	return v3d_length(v3d_sub(a->point, b->point));
}

/// count: at least 1.
const cr_volume_contact *cr_deepest_contact(const cr_volume_contact *contacts, int count);
/// The number of the contact that is nearest to a place, of those that are about as deep as it is,
/// or as the deepest is; 0 where there are none. size: of the smaller body.
int cr_nearest_deep_contact(const cr_volume_contact *place, double size, const cr_volume_contact *contacts, int count);
/// Moving by the deepest contact is to part the bodies, but the place where they are deepest may
/// lie beside the patch: at the far corner of a floor that is turned against a foot by rounding
/// alone. Where little is missing, a point of the patch gets the depth: the nearest to that place
/// of those that are about as deep. A contact at the place itself would hold the body where nothing
/// touches, and would jump from corner to corner. Else the place becomes a contact. size: of the
/// smaller body. Returns how many contacts there are.
int cr_reach_depth(const cr_volume_contact *place, double size, cr_volume_contact *contacts, int count);
/// Make a place a contact, of CR_MAX_VOLUME_CONTACTS at most. Returns how many contacts there are.
int cr_add_place(const cr_volume_contact *place, double size, cr_volume_contact *contacts, int count);

#endif
