/// The inside-outside grid asked for eight points or boxes at once. Included by kernel files only.
#ifndef CR_BVH_GRID8_H
#define CR_BVH_GRID8_H

#include "bvh/collider.h"
#include "math/box8.h"

/// The cells that eight points count to (cr_cell_of), along each axis; returns their indices. Whole
/// numbers below 2^24: exact.
static inline f8 grid_cells(const cr_grid *grid, const f8 point[3], f8 cell[3])
{
	f8 index = f8_set1(0);
	for (int k = 2; k >= 0; k--) {
		const f8 position = f8_mul(f8_sub(point[k], f8_set1(grid->origin[k])), f8_set1(grid->inverse_cell));
		cell[k] = f8_truncate(f8_min(f8_max(position, f8_set1(0)), f8_set1((float)(grid->size[k] - 1))));
		index = f8_add(f8_mul(index, f8_set1((float)grid->size[k])), cell[k]);
	}
	return index;
}

/// The values of the cells of eight points (see CR_CELL_INSIDE). Points beyond the grid count as
/// the nearest point of it: that is no farther from anything in the grid than they are.
static inline f8 grid_at(const cr_grid *grid, const f8 point[3])
{
	f8 cell[3];
	return f8_gather_bytes(grid->cells, grid_cells(grid, point, cell));
}

/// Middles and largest half extents of boxes; the latter in cells, with a thousandth of a cell for
/// the roundings of the middle.
static inline f8 measure_boxes(const cr_grid *grid, const box8 *boxes, float margin, f8 middle[3])
{
	const f8 half = f8_set1(0.5f);
	f8 reach = f8_set1(0);
	for (int k = 0; k < 3; k++) {
		middle[k] = f8_mul(half, f8_add(boxes->lower[k], boxes->upper[k]));
		reach = f8_max(reach, f8_mul(half, f8_sub(boxes->upper[k], boxes->lower[k])));
	}
	return f8_add(f8_mul(f8_add(reach, f8_set1(margin)), f8_set1(grid->inverse_cell)), f8_set1(0.001f));
}

/// Boxes whose points all lie farther than margin from the surface: the nearest touched cell is d
/// cells from the middle's cell, so at least d - 1 cells from the middle along some axis.
static inline uint32_t grid_clear(const cr_grid *grid, const box8 *boxes, float margin)
{
	if (!grid->cells)
		return 0;
	f8 middle[3];
	const f8 reach = measure_boxes(grid, boxes, margin, middle);
	const f8 known = grid_at(grid, middle), inside = f8_set1(CR_CELL_INSIDE);
	const f8 one = f8_set1(1);
	const m8 clear_outside = m8_and(f8_lt(known, inside), f8_lt(reach, f8_sub(known, one)));
	const m8 clear_inside = f8_lt(reach, f8_sub(f8_sub(known, inside), one));
	return m8_bits(m8_or(clear_outside, clear_inside));
}

/// grid_clear for boxes that lie outside.
static inline uint32_t grid_outside(const cr_grid *grid, const box8 *boxes, float margin)
{
	if (!grid->cells)
		return 0;
	f8 middle[3];
	const f8 reach = measure_boxes(grid, boxes, margin, middle);
	const f8 known = grid_at(grid, middle);
	return m8_bits(m8_and(f8_lt(known, f8_set1(CR_CELL_INSIDE)), f8_lt(reach, f8_sub(known, f8_set1(1)))));
}

#endif
