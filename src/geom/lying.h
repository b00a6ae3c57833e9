/// A capsule that lies on a face or along an edge: contacts at the ends of the stretch of its axis
/// that lies over it. However little the capsule is tilted, and whichever end hangs over a border,
/// it rests on both ends of the stretch.
#ifndef CR_GEOM_LYING_H
#define CR_GEOM_LYING_H

#include "geom/patch.h"

/// Of the smaller body's size: an axis that is no farther beyond a side of a face lies over it.
#define CR_LYING_FLUSH 1e-5

/// Contacts here have the point of the axis for their point, and their normal leads out of the
/// other body.
typedef struct cr_lying {
	v3d end[2];                // of the axis
	double radius;             // of the capsule, with the rounding of the other body
	double flush;              // CR_LYING_FLUSH of the smaller size
	double margin;             // contacts are at least -margin deep
	cr_volume_contact deepest; // of the pair; alone, it has this name
	int32_t name[2];           // of the contacts at the ends
} cr_lying;

/// Contacts of a capsule on a face, a polygon that is counter-clockwise seen against its normal up
/// (unit), or along one of its sides; at most three. Returns their number: 0 where no stretch lies
/// over the face or a side, or where the face lies far from across the normal of the pair. All have
/// that normal, and the greatest depth is that of the pair.
int cr_lying_contacts(const cr_lying *l, const v3d *corner, int count, v3d up, cr_volume_contact *contacts);

#endif
