/// How a pair of bodies is tested, and whether their boxes come near each other at all.

#include "contact/contact.h"
#include <math.h>

/// The selection table by families of shapes: a new family adds a row and a column, a new algorithm
/// an entry.
static const uint8_t ALGORITHMS[CR_FAMILY_COUNT][CR_FAMILY_COUNT] = {
	// round, box, plane, mesh, convex
	[CR_FAMILY_ROUND] = { CR_ALGORITHM_VOLUMES, CR_ALGORITHM_VOLUMES, CR_ALGORITHM_VOLUMES, CR_ALGORITHM_ROUND,
		CR_ALGORITHM_CONVEX },
	[CR_FAMILY_BOX] = { CR_ALGORITHM_VOLUMES, CR_ALGORITHM_VOLUMES, CR_ALGORITHM_VOLUMES, CR_ALGORITHM_RAYS,
		CR_ALGORITHM_CONVEX },
	[CR_FAMILY_PLANE] = { CR_ALGORITHM_VOLUMES, CR_ALGORITHM_VOLUMES, CR_ALGORITHM_NONE, CR_ALGORITHM_PLANE,
		CR_ALGORITHM_CONVEX_PLANE },
	[CR_FAMILY_MESH] = { CR_ALGORITHM_ROUND, CR_ALGORITHM_RAYS, CR_ALGORITHM_PLANE, CR_ALGORITHM_RAYS,
		CR_ALGORITHM_CONVEX_MESH },
	[CR_FAMILY_CONVEX] = { CR_ALGORITHM_CONVEX, CR_ALGORITHM_CONVEX, CR_ALGORITHM_CONVEX_PLANE, CR_ALGORITHM_CONVEX_MESH,
		CR_ALGORITHM_CONVEX },
};

static double larger(double a, double b) { return b > a ? b : a; }

/// Separating axes of two oriented boxes: three faces of each, then the nine products of edges
/// (Gottschalk, Lin, Manocha, OBBTree, 1996). r: rows of R from b's frame to a's; d: from a's
/// centre to b's, in a's frame. Returns a lower bound of how far apart they are, by the faces where
/// these part them by more than margin; 0 or less: they may come within margin of each other.
static double oriented_gap(const double ha[3], const double hb[3], const m3d *r, v3d d, double margin)
{
	const double rot[3][3] = { { r->row[0].x, r->row[0].y, r->row[0].z }, { r->row[1].x, r->row[1].y, r->row[1].z },
		{ r->row[2].x, r->row[2].y, r->row[2].z } };
	const double dist[3] = { d.x, d.y, d.z };
	double abs_rot[3][3], gap = 0;
	for (int i = 0; i < 3; i++) {
		// larger, so that near-parallel edges make no axis of rounding errors
		for (int j = 0; j < 3; j++)
			abs_rot[i][j] = fabs(rot[i][j]) + 1e-12;
	}
	for (int i = 0; i < 3; i++) {
		const double reach_a = ha[i] + hb[0] * abs_rot[i][0] + hb[1] * abs_rot[i][1] + hb[2] * abs_rot[i][2];
		gap = larger(gap, fabs(dist[i]) - reach_a);
		const double along_b = dist[0] * rot[0][i] + dist[1] * rot[1][i] + dist[2] * rot[2][i];
		const double reach_b = hb[i] + ha[0] * abs_rot[0][i] + ha[1] * abs_rot[1][i] + ha[2] * abs_rot[2][i];
		gap = larger(gap, fabs(along_b) - reach_b);
	}
	if (gap > margin)
		return gap;
	for (int i = 0; i < 3; i++) {
		const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
		for (int j = 0; j < 3; j++) {
			const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
			const double reach =
				ha[i1] * abs_rot[i2][j] + ha[i2] * abs_rot[i1][j] + hb[j1] * abs_rot[i][j2] + hb[j2] * abs_rot[i][j1];
			const double apart = fabs(dist[i2] * rot[i1][j] - dist[i1] * rot[i2][j]) - reach;
			// The axis is no longer than 1, so they are no less apart.
			if (apart > margin * 1.5)
				return apart;
		}
	}
	return 0;
}

cr_algorithm cr_algorithm_of(const cr_body *a, const cr_body *b)
{
	return (cr_algorithm)ALGORITHMS[a->shape.family][b->shape.family];
}

/// cr_local_box_of, at once for the many rigid meshes.
static inline cr_local_box local_box(const cr_body *body)
{
	const cr_collider *c = body->shape.collider;
	if (body->shape.family != CR_FAMILY_MESH || !cr_is_rigid(body) || c->triangle_count == 0)
		return cr_local_box_of(body);
	const v3d lower = v3d_from_floats(c->lower), upper = v3d_from_floats(c->upper);
	return (cr_local_box){ v3d_scale(v3d_add(lower, upper), 0.5), v3d_scale(v3d_sub(upper, lower), 0.5) };
}

bool cr_boxes_are_near(double ahead, const cr_body *body_a, const cr_body *body_b, const m3d *r, v3d t, double *gap)
{
	const cr_local_box a = local_box(body_a), b = local_box(body_b);
	const v3d d = v3d_sub(v3d_add(m3d_mul(r, b.centre), t), a.centre);
	const double half_a[3] = { a.half.x, a.half.y, a.half.z }, half_b[3] = { b.half.x, b.half.y, b.half.z };
	*gap = oriented_gap(half_a, half_b, r, d, ahead);
	return *gap <= 0;
}

/// The table of a rigid mesh; NULL: it has none.
static const cr_support_map *support_of(const cr_body *body)
{
	return body->shape.family == CR_FAMILY_MESH && cr_is_rigid(body) ? body->shape.mesh->support : NULL;
}

double cr_hulls_gap(const cr_body *a, const cr_body *b, const m3d *rotation, v3d translation)
{
	const cr_support_map *of_a = support_of(a), *of_b = support_of(b);
	return of_a && of_b ? cr_hull_gap(of_a, of_b, rotation, translation) : 0;
}

bool cr_pair_is_near(double ahead, const cr_body *a, const cr_body *b)
{
	switch (cr_algorithm_of(a, b)) {
	case CR_ALGORITHM_ROUND:
	case CR_ALGORITHM_RAYS:
	case CR_ALGORITHM_CONVEX:
	case CR_ALGORITHM_CONVEX_MESH: break;
	default: return true;
	}
	m3d rotation;
	v3d translation;
	double gap;
	cr_relative_transform(a, b, &rotation, &translation);
	return cr_boxes_are_near(ahead, a, b, &rotation, translation, &gap);
}
