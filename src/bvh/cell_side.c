/// The side of a point by the grid of a collider.

#include "bvh/cell_side.h"

int cr_line_meets(const cr_collider *c, int32_t number, const float anchor[3], const float point[3])
{
	return line_meets_listed(c, number, anchor, point);
}

int cr_side_in_cell(const cr_collider *c, const cr_touched_cell *cell, const float anchor[3], const float point[3])
{
	return side_in_cell(c, cell, anchor, point);
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
	return side_in_cell(c, cr_touched_cell_at(g, index), anchor, point);
}
