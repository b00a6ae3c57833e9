/// Oriented boxes: closest points and contacts. The larger part of volume.h, which is the interface
/// of the other folders.
#ifndef CR_GEOM_BOX_H
#define CR_GEOM_BOX_H

#include "geom/volume.h"

/// Centre, unit axes, half extents along them.
typedef struct cr_box {
	v3d centre;
	v3d axis[3];
	double half[3];
} cr_box;

/// The form CAROM_BOX at a pose whose position is taken relative to origin, so that nothing is lost
/// far from zero.
cr_box cr_box_place(const carom_shape *shape, const carom_pose *pose, v3d origin);

/// Coordinates of a point along the axes of a box from its centre, and back.
v3d cr_box_to_local(const cr_box *box, v3d p);
v3d cr_box_to_world(const cr_box *box, v3d local);

/// Distance between the segment p0p1 and the solid box of these half extents about the origin, and
/// a nearest pair of points; *s is the parameter on the segment. 0 when they touch or overlap.
double cr_closest_segment_box(v3d p0, v3d p1, const double half[3], double *s, v3d *on_segment, v3d *on_box);

/// Signed distance from p to the surface of the box of these half extents about the origin,
/// negative inside, with the nearest surface point and its outward normal.
double cr_box_distance(const double half[3], v3d p, v3d *nearest, v3d *normal);

/// Distance of two solid boxes and a nearest pair of points. 0 when they touch or overlap, or a
/// rounding more where no edge of one passes through the inside of the other.
double cr_closest_boxes(const cr_box *a, const cr_box *b, v3d *on_a, v3d *on_b);

/// The least overlap of two boxes along an axis that could part them (separating axis test); below
/// 0: one does.
double cr_box_box_depth(const cr_box *a, const cr_box *b);

/// Contacts of two boxes, in the frame in which they are given; as cr_volume_contacts.
int cr_box_box_contacts(const cr_box *a, const cr_box *b, double margin, cr_volume_contact *contacts);

/// Contacts of a capsule (A: radius about the segment p0p1) with a box (B); as cr_volume_contacts.
/// One at each end of the part of the capsule that lies along a face or an edge, else one.
int cr_capsule_box_contacts(v3d p0, v3d p1, double radius, const cr_box *b, double margin, cr_volume_contact *contacts);

#endif
