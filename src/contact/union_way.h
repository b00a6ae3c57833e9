/// Ways out of all parts of a body at once, where they lie flush (union_way.c).
#ifndef CR_CONTACT_UNION_WAY_H
#define CR_CONTACT_UNION_WAY_H

#include "contact/seams.h"

/// All parts of a rigid body, side by side.
typedef struct cr_whole {
	const cr_bvh_kernels *kernels;
	const cr_body *parts; // [count]
	int32_t count;
	double slop; // metres: parts that are no farther apart are flush
} cr_whole;

enum { CR_MOST_COVERING = 32 };

/// List the parts that may help to cover a part at a point (world frame), without the part; at most
/// CR_MOST_COVERING. Returns how many. Their world boxes are not read, and may be old. O(parts).
int32_t cr_list_covering(const cr_whole *whole, const cr_body *except, v3d point, const cr_body *covering[CR_MOST_COVERING]);

/// A way out of a body.
typedef struct cr_union_way {
	v3d direction; // unit, world frame
	v3d exit;      // where a place that goes along it comes out, world frame
} cr_union_way;

/// Find the way along which a body that is in a part has to go least until its place (world frame)
/// is out of the part, and out of all other parts that cover the way. leaver: the other body, whose
/// lowest point along the way counts if it is a convex volume; else the place itself. place: of the
/// leaver, in the part. false: there is none, as in a mesh that is not convex.
bool cr_find_union_way(
	const cr_whole *whole, cr_worker *worker, const cr_body *part, const cr_body *leaver, v3d place, cr_union_way *way);

/// Is a body a volume that cr_convex_of knows?
bool cr_is_convex_volume(const cr_body *body);
/// The point of such a body that lies lowest along a unit direction. World frame.
v3d cr_lowest_point(const cr_body *volume, v3d direction);
/// Does a point (world frame) lie in any part of a body? O(parts).
bool cr_is_in_parts(const cr_whole *whole, v3d point);

#endif
