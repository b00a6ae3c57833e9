/// Which way a contact points.
///
/// Ghost contacts: on a surface made of triangles every edge can stop a body that slides over it,
/// though the surface is smooth there. As in Jolt ("active edges") and Box3D ("identify edges") an
/// edge between nearly parallel faces, or a hollow one, gives no normal of its own.

#include "contact/contact_normal.h"
#include "math/trig.h"

v3d cr_project_way(const cr_collider *target, cr_way_out *way)
{
	const v3d n = cr_collider_normal(target, way->triangle);
	cr_turn_way(n, way);
	return n;
}

double cr_internal_cosine(double angle)
{
	// Beyond every cosine; and within the error of cr_sincos flat edges must stay flat.
	static const double none = 2, error = 1e-11;
	if (angle == 0)
		return none;
	double sine, cosine;
	cr_sincos(angle, &sine, &cosine);
	return cosine - error;
}

/// How an edge bends between its two faces.
typedef enum edge_bend { BEND_BORDER, BEND_FLAT, BEND_RIDGE, BEND_HOLLOW } edge_bend;

static edge_bend bend_between(const cr_collider *collider, int32_t half_edge, v3d n, v3d m, double cosine)
{
	if (v3d_dot(n, m) >= cosine)
		return BEND_FLAT;
	const int corner = half_edge % 3;
	v3d p[3];
	cr_collider_triangle(collider, half_edge / 3, p);
	const v3d edge = v3d_sub(p[(corner + 1) % 3], p[corner]);
	// The edge runs counter-clockwise round its own face: over a ridge the normals turn about it. A
	// fold by half a turn is the rim of a thin body.
	return v3d_dot(v3d_cross(n, m), edge) < -1e-9 * v3d_length(edge) ? BEND_HOLLOW : BEND_RIDGE;
}

static edge_bend bend_of(const cr_collider *collider, int32_t half_edge, double cosine)
{
	const int32_t across = collider->topology->neighbours[half_edge];
	if (across < 0)
		return BEND_BORDER;
	const v3d n = cr_collider_normal(collider, half_edge / 3), m = cr_collider_normal(collider, across);
	return bend_between(collider, half_edge, n, m, cosine);
}

bool cr_edge_is_internal(const cr_collider *collider, int32_t half_edge, v3d own_normal, v3d across_normal, double cosine)
{
	if (cosine > 1 || collider->topology->neighbours[half_edge] < 0)
		return false;
	return bend_between(collider, half_edge, own_normal, across_normal, cosine) != BEND_RIDGE;
}

unsigned cr_counting_edges(const cr_collider *collider, int32_t triangle, double cosine)
{
	unsigned mask = 0;
	for (int k = 0; k < 3; k++) {
		const edge_bend bend = cosine > 1 ? BEND_RIDGE : bend_of(collider, 3 * triangle + k, cosine);
		if (bend == BEND_BORDER || bend == BEND_RIDGE || (bend == BEND_HOLLOW && !collider->closed))
			mask |= 1u << k;
	}
	return mask;
}
