/// See grain_columns.h.
#include "grain_columns.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// A column is so many spheres wide. Two of its layers, and the forces of their contacts, fill the
/// second cache; narrower ones have more guests.
static const double WIDTH = 64;
/// A side is taken for the long one, or another one for as long, up to this ratio.
static const double ALIKE = 1.25;

void grain_columns_free(grain_columns *columns)
{
	free(columns->cells);
	*columns = (grain_columns){ 0 };
}

/// A box around centres, cut into cells.
typedef struct grid {
	double low[3], size[3]; // of the box
	double per[3];          // cells for a unit of length
	int64_t count[3];
	int along; // the axis of columns
} grid;

static void find_box(grid *box, const double *centres, int64_t spheres)
{
	for (int axis = 0; axis < 3; axis++) {
		double low = INFINITY, high = -INFINITY;
		for (int64_t i = 0; i < spheres; i++) {
			const double at = centres[3 * i + axis];
			low = at < low ? at : low;
			high = at > high ? at : high;
		}
		box->low[axis] = spheres > 0 ? low : 0;
		box->size[axis] = spheres > 0 ? high - low : 0;
	}
}

/// The distance of spheres if they stood evenly in the box. A side of less than that does not
/// count: the spheres are a plane, or a line.
static double find_spacing(const grid *box, int64_t spheres)
{
	double a = box->size[0], b = box->size[1], c = box->size[2], less;
	if (b > a)
		less = a, a = b, b = less;
	if (c > b)
		less = b, b = c, c = less;
	if (b > a)
		less = a, a = b, b = less;
	const double n = (double)spheres;
	double spacing = cbrt(a / n * b * c);
	if (!(c > spacing))
		spacing = sqrt(a / n * b);
	if (!(b > spacing))
		spacing = a / n;
	return spacing;
}

/// Columns lie along the longest side: along the last of those that are about as long, whose layers
/// stand together in arrays that LAMMPS has sorted.
static int find_along(const grid *box)
{
	int along = 2;
	for (int axis = 1; axis >= 0; axis--)
		along = box->size[axis] > ALIKE * box->size[along] ? axis : along;
	return along;
}

static void cut_box(grid *box, int64_t spheres)
{
	const double spacing = find_spacing(box, spheres);
	box->along = find_along(box);
	for (int axis = 0; axis < 3; axis++) {
		const double width = (axis == box->along ? 1 : WIDTH) * spacing, count = ceil(box->size[axis] / width);
		box->count[axis] = count > 1 ? (int64_t)count : 1; // no number where the box is a point
		box->per[axis] = box->count[axis] > 1 ? (double)box->count[axis] / box->size[axis] : 0;
	}
}

static uint32_t find_cell(const grid *box, const double *centre)
{
	int64_t at[3];
	for (int axis = 0; axis < 3; axis++) {
		at[axis] = (int64_t)((centre[axis] - box->low[axis]) * box->per[axis]);
		at[axis] = at[axis] < box->count[axis] ? at[axis] : box->count[axis] - 1;
	}
	const int layer = box->along, across = layer == 0 ? 1 : 0, other = layer == 2 ? 1 : 2;
	return (uint32_t)((at[other] * box->count[across] + at[across]) * box->count[layer] + at[layer]);
}

static bool reserve(grain_columns *columns, int64_t cells)
{
	if (cells <= columns->room)
		return true;
	free(columns->cells);
	columns->room = cells + cells / 8 + 64;
	columns->cells = malloc((size_t)columns->room * sizeof *columns->cells);
	if (!columns->cells)
		columns->room = 0;
	return columns->cells;
}

bool grain_columns_cut(grain_columns *columns, const double *centres, int64_t spheres, uint32_t *order, uint32_t *column)
{
	grid box = { 0 };
	find_box(&box, centres, spheres);
	cut_box(&box, spheres);
	const int64_t cells = box.count[0] * box.count[1] * box.count[2];
	const uint32_t layers = (uint32_t)box.count[box.along];
	if (!reserve(columns, cells + 2))
		return false;
	int64_t *const first = columns->cells;
	memset(first, 0, (size_t)(cells + 2) * sizeof *first);
	for (int64_t i = 0; i < spheres; i++) {
		column[i] = find_cell(&box, centres + 3 * i);
		first[column[i] + 2]++;
	}
	for (int64_t c = 2; c < cells + 2; c++)
		first[c] += first[c - 1];
	for (int64_t i = 0; i < spheres; i++) {
		order[first[column[i] + 1]++] = (uint32_t)i;
		column[i] /= layers;
	}
	return true;
}
