/// Sides of a surface, seen locally. See side.h.
///
/// A point whose nearest point is on the border of an open mesh is beside it, on no side: it may go
/// round. Everywhere else the sign of the offset along the normal of the face, edge or corner tells
/// the side, for the normals are sums of those of the triangles around, weighted by their angles.
#include "surface/side.h"
#include "geom/triangle.h"
#include "math/trig.h"

static void corners_of(const cr_placed *s, int32_t triangle, v3d corners[3])
{
	for (int k = 0; k < 3; k++)
		corners[k] = cr_placed_vertex(s, s->faces->triangles[3 * (int64_t)triangle + k]);
}

v3d cr_placed_normal(const cr_placed *s, int32_t triangle)
{
	v3d c[3];
	corners_of(s, triangle, c);
	return v3d_normalize(v3d_cross(v3d_sub(c[1], c[0]), v3d_sub(c[2], c[0])));
}

cr_foot cr_foot_on_triangle(const cr_placed *s, int32_t triangle, v3d point)
{
	v3d c[3];
	corners_of(s, triangle, c);
	for (int k = 0; k < 3; k++)
		c[k] = v3d_sub(c[k], point);
	const cr_triangle_point on = cr_closest_on_triangle((v3d){ 0, 0, 0 }, c);
	v3d offset = { 0, 0, 0 };
	for (int k = 0; k < 3; k++)
		offset = v3d_mad(offset, -on.weight[k], c[k]);
	return (cr_foot){ triangle, { on.weight[0], on.weight[1], on.weight[2] }, offset, v3d_dot(offset, offset) };
}

/// The corner or edge that a foot is on. Returns 3 in its face, 2 on the edge from corner *k on, 1
/// on corner *k.
static int part_of(const cr_foot *foot, int *k)
{
	int parts = 0;
	for (int i = 0; i < 3; i++)
		parts += foot->weight[i] > 0;
	*k = 0;
	for (int i = 0; i < 3; i++) {
		if (parts == 1 ? foot->weight[i] > 0 : parts == 2 && !(foot->weight[(i + 2) % 3] > 0))
			*k = i;
	}
	return parts;
}

// ---- Walking ----

/// Take the foot on a triangle where it is nearer.
static bool take_nearer(const cr_placed *s, int32_t triangle, v3d point, cr_foot *best)
{
	const cr_foot next = cr_foot_on_triangle(s, triangle, point);
	if (!(next.distance2 < best->distance2))
		return false;
	*best = next;
	return true;
}

/// Look at all triangles around a corner.
static bool look_around(const cr_placed *s, int32_t triangle, int corner, v3d point, cr_foot *best)
{
	bool nearer = false;
	for (int back = 0; back < 2; back++) {
		int32_t at = triangle;
		int k = corner;
		while (cr_next_in_fan(s->faces, !back, &at, &k) && at != triangle)
			nearer |= take_nearer(s, at, point, best);
		if (at == triangle)
			break; // all the way round
	}
	return nearer;
}

cr_foot cr_follow_surface(const cr_placed *s, int32_t triangle, v3d point)
{
	cr_foot best = cr_foot_on_triangle(s, triangle, point);
	for (bool nearer = true; nearer;) {
		int k;
		const int parts = part_of(&best, &k);
		const int32_t across = s->faces->neighbours[3 * (int64_t)best.triangle + k];
		nearer = parts == 1 ? look_around(s, best.triangle, k, point, &best)
			: parts == 2    ? across >= 0 && take_nearer(s, across, point, &best)
							: false;
	}
	return best;
}

// ---- Sides ----

static cr_side side_along(v3d offset, v3d normal)
{
	const double height = v3d_dot(offset, normal);
	return height > 0 ? CR_SIDE_FRONT : height < 0 ? CR_SIDE_BACK : CR_SIDE_NONE;
}

static v3d weighted_normal(const cr_placed *s, int32_t triangle, int corner)
{
	v3d c[3];
	corners_of(s, triangle, c);
	const v3d a = v3d_normalize(v3d_sub(c[(corner + 1) % 3], c[corner])),
			  b = v3d_normalize(v3d_sub(c[(corner + 2) % 3], c[corner]));
	return v3d_scale(cr_placed_normal(s, triangle), cr_acos(v3d_dot(a, b)));
}

/// The normal of a corner; false at a border.
static bool corner_normal(const cr_placed *s, int32_t triangle, int corner, v3d *normal)
{
	*normal = weighted_normal(s, triangle, corner);
	int32_t at = triangle;
	int k = corner;
	while (cr_next_in_fan(s->faces, true, &at, &k)) {
		if (at == triangle)
			return true;
		*normal = v3d_add(*normal, weighted_normal(s, at, k));
	}
	return false;
}

cr_side cr_side_of_foot(const cr_placed *s, const cr_foot *foot)
{
	int k;
	const int parts = part_of(foot, &k);
	v3d normal = cr_placed_normal(s, foot->triangle);
	if (parts == 2) {
		const int32_t across = s->faces->neighbours[3 * (int64_t)foot->triangle + k];
		if (across < 0)
			return CR_SIDE_NONE;
		normal = v3d_add(normal, cr_placed_normal(s, across));
	} else if (parts == 1 && !corner_normal(s, foot->triangle, k, &normal)) {
		return CR_SIDE_NONE;
	}
	return side_along(foot->offset, normal);
}
