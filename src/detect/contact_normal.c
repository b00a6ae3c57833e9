/// Which way a contact points.
///
/// Ghost contacts: on a surface made of triangles every edge can stop a body that slides over it, though the surface is smooth
/// there. As in Jolt ("active edges") and Box3D ("identify edges") an edge between nearly parallel faces, or a hollow one,
/// gives no normal of its own.

#include "detect/contact_normal.h"
#include "math/trig.h"

void cr_project_way(const cr_collider *target, cr_way_out *way)
{
	const v3d n = cr_collider_normal(target, way->triangle);
	const double cosine = v3d_dot(n, v3d_from_floats(way->direction));
	const v3d turned = cosine < 0 ? v3d_neg(n) : n;
	way->depth = (float)(way->depth * fabs(cosine));
	way->direction[0] = (float)turned.x;
	way->direction[1] = (float)turned.y;
	way->direction[2] = (float)turned.z;
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

static edge_bend bend_of(const cr_collider *collider, int32_t half_edge, double cosine)
{
	const int32_t own = half_edge / 3, corner = half_edge % 3, across = collider->topology->neighbours[half_edge];
	if (across < 0)
		return BEND_BORDER;
	const v3d n = cr_collider_normal(collider, own), m = cr_collider_normal(collider, across);
	if (v3d_dot(n, m) >= cosine)
		return BEND_FLAT;
	v3d p[3];
	cr_collider_triangle(collider, own, p);
	const v3d edge = v3d_sub(p[(corner + 1) % 3], p[corner]);
	// The edge runs counter-clockwise round its own face: over a ridge the normals turn about it. A fold by half a turn is the
	// rim of a thin body.
	return v3d_dot(v3d_cross(n, m), edge) < -1e-9 * v3d_length(edge) ? BEND_HOLLOW : BEND_RIDGE;
}

bool cr_edge_is_internal(const cr_collider *collider, int32_t half_edge, double cosine)
{
	if (cosine > 1)
		return false;
	const edge_bend bend = bend_of(collider, half_edge, cosine);
	return bend == BEND_FLAT || bend == BEND_HOLLOW;
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
