/// Which way a contact points: projection on the triangle that a ray met, and edges that are none
/// to a contact.
#ifndef CR_CONTACT_CONTACT_NORMAL_H
#define CR_CONTACT_CONTACT_NORMAL_H

#include "contact/contact.h"

/// Turn a way out, or the way ahead of a speculative contact (negative depth), to the normal of its
/// triangle, with the depth measured along it: depth * |cosine| (Lehericey 2013, projected
/// constraints). Of all directions this is the shortest push that takes the point out of the
/// triangle's plane. The direction stays on the side it was, so it still takes the source out.
///
/// A way that cr_finish_way has first replaced by the one to the nearest surface point
/// (carom_lab.max_depth_ratio) is treated alike: where that point lies within a face, the way is
/// its normal already and stays; at a hollow edge or corner it becomes the normal of the nearest
/// triangle, and the depth that to its plane.
///
/// Returns the triangle's outward unit normal.
v3d cr_project_way(const cr_collider *target, cr_way_out *way);

/// Do what cr_project_way does, where the outward unit normal of the way's triangle is known.
static inline void cr_turn_way(v3d normal, cr_way_out *way)
{
	const double cosine = v3d_dot(normal, v3d_from_floats(way->direction));
	const v3d turned = cosine < 0 ? v3d_neg(normal) : normal;
	way->depth = (float)(way->depth * fabs(cosine));
	way->direction[0] = (float)turned.x;
	way->direction[1] = (float)turned.y;
	way->direction[2] = (float)turned.z;
}

/// The number that cr_edge_is_internal takes for carom_world_def.internal_edge_angle. Above 1: no
/// edge is internal (angle 0).
double cr_internal_cosine(double angle);

/// Is a half-edge none to a contact: between two triangles whose outward normals differ by no more
/// than the angle, or hollow? Borders, and edges of more than two triangles, always count. The
/// outward unit normals, in the collider's frame, are those of the edge's own face and of that
/// across.
bool cr_edge_is_internal(const cr_collider *collider, int32_t half_edge, v3d own_normal, v3d across_normal, double cosine);

/// The edges of a triangle that count where its two sides do (no inside to tell which is out): bit
/// k for edge k. Hollow edges of open meshes count, for they are ridges seen from behind.
unsigned cr_counting_edges(const cr_collider *collider, int32_t triangle, double cosine);

#endif
