/// Basic volumes (sphere, box, capsule, plane) in their own frames, and contacts between two of
/// them.
#ifndef CR_GEOM_VOLUME_H
#define CR_GEOM_VOLUME_H

#include "carom/shape.h"
#include "math/vec.h"

enum { CR_MAX_VOLUME_CONTACTS = 8 };

/// The radius of a sphere or capsule with the ball that its rounding adds.
static inline double cr_round_radius(const carom_shape *shape) { return shape->radius + shape->rounding; }

/// One contact of two volumes, world frame: moving A by depth * normal brings it out. point: the
/// deepest point of A's surface.
typedef struct cr_volume_contact {
	v3d point;
	v3d normal;
	double depth;
	int32_t name; // of the point within the pair: it keeps it from step to step (geom/patch.h)
} cr_volume_contact;

/// Contacts of two basic volumes (any of sphere, box, capsule, plane; not two planes) with depth >=
/// -margin. At most CR_MAX_VOLUME_CONTACTS; returns their number. Box-box: separating axis test and
/// clipping of the incident face against the reference face (as in Gottschalk 1996, Gregorius
/// 2013); others by closest points. Deterministic; handles coincident centres (a fixed direction is
/// taken) and zero-length capsules.
int cr_volume_contacts(const carom_shape *a, const carom_pose *pose_a, const carom_shape *b, const carom_pose *pose_b,
	double margin, cr_volume_contact *contacts);

/// Signed distance from p to the surface of a volume (own frame; negative inside), with the nearest
/// surface point and its outward normal.
double cr_volume_distance(const carom_shape *shape, v3d p, v3d *nearest, v3d *normal);

/// A ray (own frame) against the surface of a volume: all crossings with t_min <= t <= t_max,
/// sorted; at most 2. back[i] when it comes from inside.
int cr_volume_ray(
	const carom_shape *shape, v3d origin, v3d direction, double t_min, double t_max, double t[2], v3d normal[2], bool back[2]);

/// Local box of a volume; infinite for a plane.
carom_aabb cr_volume_bounds(const carom_shape *shape);

/// Smallest distance between two basic volumes; 0 when they touch or overlap.
double cr_volume_gap(const carom_shape *a, const carom_pose *pose_a, const carom_shape *b, const carom_pose *pose_b);

#endif
