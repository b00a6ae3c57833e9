/// Spheres sorted by cell, each coordinate a column of its own: the grids search these. Which cell
/// a sphere is in is the grid's business; here is the sort.
#ifndef CR_SPHERES_SPHERE_CELLS_H
#define CR_SPHERES_SPHERE_CELLS_H

#include "spheres/sphere_set.h"

/// Columns are readable for so many entries behind the last sphere.
enum { CR_CELL_PAD = 16 };

/// The cell of each of count spheres; tag: a further number to be kept of each, NULL where the sort
/// has none.
typedef void cr_locate_fn(const void *map, const cr_sphere *spheres, int64_t count, uint32_t *cell, uint32_t *tag);

/// Zero is empty. Cell c holds the places start[c] .. start[c+1]-1, in the order of the input.
typedef struct cr_cells {
	uint32_t count, cell_count;
	float *x, *y, *z, *r; // [count + CR_CELL_PAD]
	uint32_t *id;         // index in the set
	uint32_t *tag;        // NULL without tags
	uint32_t *start;      // [cell_count + 1]

	uint8_t *memory, *scratch; // columns; and room for the sort
	size_t memory_bytes, scratch_bytes, start_bytes;
} cr_cells;

/// Memory for count spheres in up to cell_count cells. Keeps arrays that are large enough already;
/// false when out of memory.
bool cr_cells_reserve(cr_cells *cells, carom_context *context, uint32_t count, uint32_t cell_count, bool tags);
/// Sort the spheres of the set into cell_count cells, both at most the numbers reserved last. The
/// map of ghosts tells their cells, which no other sphere is in. The result does not depend on the
/// number of threads.
void cr_cells_sort(cr_cells *cells, const cr_sphere_set *set, uint32_t cell_count, cr_locate_fn *locate, const void *map,
	const void *ghost_map);
size_t cr_cells_bytes(const cr_cells *cells);
void cr_cells_free(cr_cells *cells, carom_context *context);

enum { CR_SAMPLE = 4096, CR_SAMPLE_TABLE = 4 * CR_SAMPLE };

/// Some spheres of a set, to judge by how all of them are spread, and a table to count them by
/// cell.
typedef struct cr_sphere_sample {
	uint32_t count;
	double share; // spheres of the set for each one of the sample
	// extent of the centres without a thousandth at each end: a few far out do not count
	float lower[3], upper[3];
	cr_sphere spheres[CR_SAMPLE];
	uint64_t keys[CR_SAMPLE_TABLE];
	uint32_t counts[CR_SAMPLE_TABLE];
} cr_sphere_sample;

/// Take a sample, spread over the set without a pattern: always the same one of the same set.
void cr_take_sample(cr_sphere_sample *sample, const cr_sphere_set *set);
/// About how many pairs of spheres, one with a radius from r_low to r_high, the other not larger
/// than r_high but, with below, smaller than r_low, without it in the same range, are in the same
/// one of the cubes of this width.
double cr_crowding(cr_sphere_sample *sample, double width, float r_low, float r_high, bool below);

/// For each pair that shares a cube of a grid's cells: how many pairs the search of the grid
/// compares, the spheres reaching `reach` cubes far, and cells being `flatness` times as narrow
/// along x. Half of the rows in reach, from the start of the first cell to the end of the last,
/// less a quarter that the gaps between rows cut off (12 to 14 where 13 were measured, reach 1).
static inline double cr_compared(double reach, double flatness)
{
	return 0.75 * (1 + 2 * reach) * (1 + 2 * reach) * (2 * reach + 1 / flatness);
}

/// At least r_a + r_b + skin and all rounding of centres and radii, when r is the radius of a and
/// other at least that of b.
static inline float cr_reach_pad(const cr_sphere_set *set, float other)
{
	return (float)((other + set->skin + set->slack) * (1 + 0x1p-20));
}

#endif
