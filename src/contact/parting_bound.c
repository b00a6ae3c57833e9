/// The bound of all depths: a way along which two closed bodies part altogether (manifold.c).
///
/// Along a normal n that leads out of body s, let top be the greatest n . p of its points p, and
/// bottom the least one of the other body. Moved by top - bottom along n, no point of the other
/// body lies below one of s. So no contact need be deeper than the least of these lengths.
///
/// A plane that is chosen may be deeper all the same: where an element lies below no facet that
/// took part, but over the foot of a side wall. That happens to edges that lie in a face of the
/// other body up to little more than rounding. Such an element has a contact along the way apart.
///
/// The normals that are tried: those of the planes, and the axes of both bodies' boxes. Top and
/// bottom are those of boxes around parts of each body (cr_contact_kernels.bounds), so a length is
/// never too short. Cost: planes times boxes, of pairs with a plane that is deeper than SHALLOW.

#include "contact/manifold.h"

// Of the smaller body's diagonal: less deep planes are not compared with the way apart.
static const double SHALLOW = 0.02;

/// The least and the greatest place of a body along three directions of A's frame.
static void span_along(const cr_completion *c, int side, const v3d directions[3], double low[3], double high[3])
{
	cr_transform turn = { { { 0 } }, { 0, 0, 0 } };
	float lower[3], upper[3];
	for (int k = 0; k < 3; k++) {
		const v3d d = cr_direction_from_a(c, side, directions[k]);
		for (int i = 0; i < 3; i++)
			turn.r[k][i] = (float)v3d_get(d, i);
	}
	c->pipeline->kernels->bounds(c->collider[side], &turn, lower, upper);
	for (int k = 0; k < 3; k++) {
		const double moved = side == 0 ? 0 : v3d_dot(directions[k], c->translation);
		low[k] = lower[k] + moved;
		high[k] = upper[k] + moved;
	}
}

/// Try three directions, out of either body.
static void try_directions(const cr_completion *c, const v3d directions[3], cr_parting_way *best)
{
	double low[2][3], high[2][3];
	for (int side = 0; side < 2; side++)
		span_along(c, side, directions, low[side], high[side]);
	for (int k = 0; k < 3; k++) {
		for (int side = 0; side < 2; side++) {
			const double depth = high[side][k] - low[1 - side][k];
			if (depth < best->depth)
				*best = (cr_parting_way){ depth, side, directions[k], high[side][k], low[1 - side][k] };
		}
	}
}

cr_parting_way cr_begin_parting_way(const cr_completion *c)
{
	cr_parting_way way = { .depth = INFINITY };
	for (int side = 0; side < 2; side++) {
		v3d directions[3];
		for (int k = 0; k < 3; k++)
			directions[k] = cr_direction_to_a(c, side, (v3d){ k == 0, k == 1, k == 2 });
		try_directions(c, directions, &way);
	}
	return way;
}

/// Is a depth so small that it is not compared with the way apart, or is there none?
static bool is_shallow(const cr_completion *c, double depth)
{
	return depth <= SHALLOW * fminf(c->collider[0]->diagonal, c->collider[1]->diagonal) || !c->collider[0]->closed ||
		!c->collider[1]->closed;
}

/// Turn a contact of a point of a side (A's frame) to the way apart.
static double turn_to(const cr_parting_way *way, int side, v3d point, v3d *out)
{
	const double height = v3d_dot(way->normal, point);
	*out = side == way->side ? v3d_neg(way->normal) : way->normal;
	return fmax(side == way->side ? height - way->bottom : way->top - height, 0);
}

bool cr_parts_sooner(cr_manifold *m, double depth)
{
	if (is_shallow(m->completion, depth) || cr_are_both_convex(m->overlap))
		return false;
	if (!m->apart_known) {
		m->apart = cr_begin_parting_way(m->completion);
		for (int32_t i = 0; i < m->plane_count; i += 3) {
			v3d directions[3];
			for (int32_t k = 0; k < 3; k++)
				directions[k] = m->planes[i + k < m->plane_count ? i + k : i].normal;
			try_directions(m->completion, directions, &m->apart);
		}
	}
	m->apart_known = true;
	return m->apart.depth < depth;
}

void cr_add_parting_contact(cr_manifold *m, int32_t corner_number)
{
	const cr_completion *c = m->completion;
	const cr_overlap_corner *corner = &m->overlap->corners[corner_number];
	const int other = 1 - corner->side;
	v3d out;
	const double depth = turn_to(&m->apart, corner->side, corner->at, &out);
	const bool vertex = corner->kind == CR_CORNER_VERTEX;
	cr_near_point near;
	if (!c->pipeline->bvh->closest(c->collider[other], cr_from_a(c, other, corner->at), INFINITY, true, &near))
		return;
	cr_add_crossing_contact(m->completion, corner->side, corner->at, out, depth, corner->number, near.triangle,
		corner->side == 0 ? (vertex ? CAROM_VERTEX_A : CAROM_EDGE_A) : (vertex ? CAROM_VERTEX_B : CAROM_EDGE_B));
}
