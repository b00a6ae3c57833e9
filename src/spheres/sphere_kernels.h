/// Wide kernels of the grids: one table for each instruction set, all with the same result.
#ifndef CR_SPHERES_SPHERE_KERNELS_H
#define CR_SPHERES_SPHERE_KERNELS_H

#include "spheres/sphere_cells.h"

/// One grid of rows along x: cell (x, y, z) has the number (z * dim[1] + y) * dim[0] + x. Along
/// each axis a centre is in cell (p - lower) * inverse, in float, cut to a whole number and to 0 ..
/// dim-1: whatever lies outside is in the cells of the border. Where there are ghosts, the cells of
/// these have numbers of their own: behind those of the others, in the order of theirs.
typedef struct cr_row_grid {
	cr_cells cells;
	float lower[3], inverse[3];
	int32_t dim[3];     // <= 2^23
	int32_t first_cell; // added to each number, for locate_rows
	// radius + this: how far the centres of touching spheres can be, at most one cell in y and z
	float reach_pad;
} cr_row_grid;

enum {
	CR_LEVELS = 32,
	CR_STRIP_CELLS = 4, // cells of a strip, along x
};

/// Grids of several widths over the same spheres, one for each class of radii. A level's cells come
/// in strips of CR_STRIP_CELLS along x, and strips in a table of buckets, either each in its own
/// or, where the level has more strips than buckets, hashed. Cell x of a strip in bucket b has the
/// number b * CR_STRIP_CELLS + x % CR_STRIP_CELLS; strips that share a bucket are told apart by a
/// tag, the low bits of their coordinates: those that one search looks into differ in them, and
/// spheres that are that far away from a sphere otherwise do not touch it.
/// Cells are cut to 0 .. dim-1 as in a cr_row_grid, and half as wide along x as along y and z.
typedef struct cr_level_grid {
	cr_cells cells;
	float lower[3];
	int32_t level_count;
	int32_t level_of[256]; // by the exponent of the radius

	// Of each level, coarse to fine:
	float width[CR_LEVELS]; // of its cells along y and z, rounded down
	// cells for each unit of length along y and z
	float inverse[CR_LEVELS];
	float inverse_x[CR_LEVELS];                                    // and along x
	float last_x[CR_LEVELS], last_y[CR_LEVELS], last_z[CR_LEVELS]; // dim - 1, <= 2^21
	// bucket = strip + y * stride_y + z * stride_z; stride_z 0: hashed
	int32_t stride_y[CR_LEVELS], stride_z[CR_LEVELS];
	int32_t mask[CR_LEVELS]; // buckets - 1, buckets being a power of two
	int32_t first_bucket[CR_LEVELS];
	int32_t begin[CR_LEVELS + 1]; // places of its spheres
	// radius + this: how far touching spheres can be; less than a cell's width for r of this level
	// or a finer one
	float reach_pad[CR_LEVELS];
	uint8_t search[CR_LEVELS][CR_LEVELS]; // [a][b]: cr_level_search, of the spheres of a in level b
} cr_level_grid;

/// How the spheres of one level look into another. For each two levels just one of them looks.
typedef enum cr_level_search {
	CR_LEVEL_NOT,    // they do not: the other way round, or one of them is empty
	CR_LEVEL_COARSE, // b is coarser (or the same: each pair once): into the next cells
	CR_LEVEL_FINE,   // b is finer: into all cells that they meet
	CR_LEVEL_ALL,    // all spheres of b, cells being more
} cr_level_search;

/// One worker's part of a search.
typedef struct cr_sphere_search {
	const cr_sphere_set *set;
	const cr_pair_sink *sink;
	cr_pair_batch *batch;
	int worker;
} cr_sphere_search;

/// Before and after a search: batches empty; the sum of their tests.
void cr_clear_batches(cr_pair_batch *batches, int count);
int64_t cr_sum_tests(const cr_pair_batch *batches, int count);
/// Hand on the pairs in the batch, images named by their owners.
void cr_hand_on_pairs(const cr_sphere_search *search);

/// Pairs of the spheres in rows begin..end-1 of a cr_row_grid.
typedef void cr_find_rows_fn(const cr_row_grid *grid, const cr_sphere_search *search, int64_t begin, int64_t end);

typedef struct cr_sphere_kernels {
	/// Cells of a cr_row_grid.
	cr_locate_fn *locate_rows;
	/// Pairs whose first sphere (in the order of the cells) is in rows begin..end-1.
	cr_find_rows_fn *find_rows;
	/// Pairs of ghosts in rows begin..end-1 of theirs (which begin at 0) with spheres that are
	/// none.
	cr_find_rows_fn *find_ghosts;
	/// Cells and tags of a cr_level_grid.
	cr_locate_fn *locate_levels;
	/// Pairs that places begin..end-1, all of this level, are to look for.
	void (*find_in_level)(const cr_level_grid *grid, const cr_sphere_search *search, int32_t level, int64_t begin, int64_t end);
} cr_sphere_kernels;

/// The kernels for an instruction set.
const cr_sphere_kernels *cr_get_sphere_kernels(carom_simd simd);

#endif
