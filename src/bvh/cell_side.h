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
///
/// Included by kernel files, which ask for most sides and are compiled for an instruction set each,
/// and by cell_side.c. All round alike.
#ifndef CR_BVH_CELL_SIDE_H
#define CR_BVH_CELL_SIDE_H

#include "bvh/collider.h"

// Of the scale: the most that rounding changes the height of a point over a plane, both in float:
// some 16 roundings of 2^-24.
static const float HEIGHT_ERROR = 0x1p-19f;
// Of the product of the largest components: six products of three differences, each off by at most
// seven roundings of 2^-53, and as much again for safety.
static const double PRODUCT_ERROR = 1e-14;

static inline double larger_part(double a, double b) { return a > b ? a : b; }
static inline double largest_part(v3d a) { return larger_part(larger_part(fabs(a.x), fabs(a.y)), fabs(a.z)); }

/// See cr_line_meets.
static inline int line_meets_listed(const cr_collider *c, int32_t number, const float anchor[3], const float point[3])
{
	const v3d from = v3d_from_floats(anchor), way = v3d_sub(v3d_from_floats(point), from);
	v3d t[3];
	cr_collider_triangle(c, number, t);
	for (int k = 0; k < 3; k++)
		t[k] = v3d_sub(t[k], from);
	const double reach = larger_part(larger_part(largest_part(t[0]), largest_part(t[1])), largest_part(t[2]));
	const double bound = PRODUCT_ERROR * largest_part(way) * reach * reach;
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
static inline bool find_parting(
	const cr_collider *c, const cr_touched_cell *cell, const float point[3], float error, unsigned *parting)
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

/// See cr_side_in_cell.
static inline int side_in_cell(const cr_collider *c, const cr_touched_cell *cell, const float anchor[3], const float point[3])
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
		const int meets = cell->count == 1 ? 1 : line_meets_listed(c, cell->triangle[i], anchor, point);
		if (meets < 0)
			return 0;
		winding += cell->above >> i & 1 ? meets : -meets;
	}
	return winding != 0 ? 1 : -1;
}

#endif
