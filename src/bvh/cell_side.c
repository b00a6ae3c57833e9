/// On which side of a closed mesh a point lies, from the cell of the grid that holds it.
///
/// A cell that the surface does not touch knows. Else the surface winds around the point as around
/// the cell's anchor, plus one for each triangle through which the way from there to the point goes
/// in, less one for each through which it comes out; only triangles that touch the cell can lie on
/// that way. (A parity test, Shimrat, Algorithm 112, 1962, on less than a cell.)
///
/// On which side of a triangle's plane the anchor lies is listed with the cell, and where it is the
/// point's side too the triangle is not on the way. Where it is not, the volumes that the way spans
/// with the edges decide, in double with error bounds. A side that rounding leaves open counts as
/// not known.

#include "bvh/collider.h"

// Of the scale: the most that rounding changes the height of a point over a plane, both in float:
// some 16 roundings of 2^-24.
static const float HEIGHT_ERROR = 0x1p-19f;
// Of the product of the largest components: six products of three differences, each off by at most
// seven roundings of 2^-53, and as much again for safety.
static const double PRODUCT_ERROR = 1e-14;

static double larger(double a, double b) { return a > b ? a : b; }
static double largest(v3d a) { return larger(larger(fabs(a.x), fabs(a.y)), fabs(a.z)); }

int cr_line_meets(const cr_collider *c, int32_t number, const float anchor[3], const float point[3])
{
	const v3d from = v3d_from_floats(anchor), way = v3d_sub(v3d_from_floats(point), from);
	v3d t[3];
	cr_collider_triangle(c, number, t);
	for (int k = 0; k < 3; k++)
		t[k] = v3d_sub(t[k], from);
	const double reach = larger(larger(largest(t[0]), largest(t[1])), largest(t[2]));
	const double bound = PRODUCT_ERROR * largest(way) * reach * reach;
	int above = 0, below = 0;
	for (int k = 0; k < 3; k++) {
		const double volume = v3d_dot(way, v3d_cross(t[k], t[(k + 1) % 3]));
		above += volume > bound;
		below += volume < -bound;
	}
	if (above > 0 && below > 0)
		return 0;
	return above == 3 || below == 3 ? 1 : -1;
}

/// Bits of the triangles whose planes part the point from the anchor. false: the point is too near
/// one of them to tell.
static bool find_parting(const cr_collider *c, const cr_touched_cell *cell, const float point[3], float error, unsigned *parting)
{
	unsigned above = 0, near = 0;
	for (int i = 0; i < cell->count; i++) {
		float own[4];
		const float *plane = c->lean ? own : c->grid.planes[cell->triangle[i]];
		if (c->lean)
			cr_work_out_plane(c, cell->triangle[i], own);
		const float height = ((plane[0] * point[0] + plane[1] * point[1]) + plane[2] * point[2]) - plane[3];
		above |= (unsigned)(height > 0) << i;
		near |= (unsigned)(fabsf(height) <= error);
	}
	*parting = above ^ cell->above;
	return near == 0;
}

int cr_side_in_cell(const cr_collider *c, const cr_touched_cell *cell, const float anchor[3], const float point[3])
{
	const cr_grid *g = &c->grid;
	// Beyond the cell there may be triangles that are not listed.
	for (int k = 0; k < 3; k++) {
		const float from_middle = point[k] - anchor[k] + (CR_CELL_ANCHOR[k] - 0.5f) * g->cell;
		if (fabsf(from_middle) > CR_CELL_REACH * g->cell)
			return 0;
	}
	unsigned parting;
	if (cell->count == 0 || !find_parting(c, cell, point, HEIGHT_ERROR * c->scale, &parting))
		return 0;
	int winding = cell->winding;
	for (int i = 0; parting >> i != 0; i++) {
		if ((parting >> i & 1) == 0)
			continue;
		// One alone parts the whole cell: where it ended its neighbour would be listed.
		const int meets = cell->count == 1 ? 1 : cr_line_meets(c, cell->triangle[i], anchor, point);
		if (meets < 0)
			return 0;
		winding += cell->above >> i & 1 ? meets : -meets;
	}
	return winding != 0 ? 1 : -1;
}

int cr_side_of(const cr_collider *c, const float point[3])
{
	const cr_grid *g = &c->grid;
	if (!g->cells)
		return 0;
	int32_t cell[3];
	float anchor[3];
	const int64_t index = cr_cell_of(g, point, cell);
	const uint8_t known = g->cells[index];
	if (known & CR_CELL_INSIDE)
		return 1;
	if (known > 0)
		return -1;
	cr_anchor_of_cell(g, cell, anchor);
	return cr_side_in_cell(c, cr_touched_cell_at(g, index), anchor, point);
}
