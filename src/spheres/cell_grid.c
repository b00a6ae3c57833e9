/// A dense grid of cells, the spheres sorted by cell (Green, Particle Simulation using CUDA, 2010),
/// each pair met once: a sphere looks forward in its own row of cells and into the four
/// neighbouring rows that come later. Ghosts have cells of their own; each looks into all nine rows
/// of the others around it, so that two ghosts never meet. Cells are flat along x, since a run of
/// several of them is contiguous; a search of a row ends where its reach does. The box is that of a
/// sample, so that a few flyers do not make all cells wide; who is outside is in a cell of the
/// border. There is at most one cell for each sphere. Time: the spheres plus the pairs of
/// neighbours, quadratic where most spheres share few cells; memory always linear.

#include "spheres/cell_grid.h"
#include "base/parallel.h"
#include "spheres/sphere_kernels.h"
#include <math.h>

// Measured on a million spheres in free fall, 100,000 settled ones and a million of radii 1 to 12.
enum { FLATNESS = 3 }; // how much narrower cells are along x
static const double CELLS_PER_SPHERE = 1;

// Rounding moves a centre and a border of cells by less than 4 * 2^-24 of a cell for each cell of a
// row.
enum { MAX_DIM = 1 << 14, MAX_DIM_X = 1 << 23 };
static const double ROUNDING = 1 + 0x1p-8;

typedef struct cell_grid {
	cr_row_grid rows;
	cr_sphere_sample sample;
	cr_pair_batch *batches; // one for each worker
	int workers;
} cell_grid;

// ---- Layout ----

static double cell_limit(uint32_t count) { return CELLS_PER_SPHERE * count + 64; }

/// Cells of height and depth `width` along y and z; returns their number, infinite when an axis has
/// too many.
static double cut_box(cr_row_grid *grid, const cr_sphere_sample *sample, double width)
{
	double cells = 1;
	for (int k = 0; k < 3; k++) {
		const double step = k == 0 ? width / FLATNESS : width;
		const double dim = floor(((double)sample->upper[k] - sample->lower[k]) / step) + 1;
		if (dim > (k == 0 ? MAX_DIM_X : MAX_DIM))
			return INFINITY;
		grid->lower[k] = sample->lower[k];
		grid->inverse[k] = (float)(1 / step);
		grid->dim[k] = (int32_t)dim;
		cells *= dim;
	}
	return cells;
}

/// Cells as wide as the largest reach, or wider where that gives too many. Returns their width.
static double lay_out(cr_row_grid *grid, const cr_sphere_set *set, const cr_sphere_sample *sample)
{
	grid->reach_pad = cr_reach_pad(set, set->r_max);
	double width = ((double)set->r_max + grid->reach_pad) * ROUNDING + 0x1p-100;
	while (cut_box(grid, sample, width) > cell_limit(set->count))
		width *= 1.04;
	return width;
}

double cr_grid_expected_tests(const cr_sphere_set *set)
{
	cr_row_grid grid;
	cr_sphere_sample *sample = cr_alloc(set->context, sizeof *sample);
	if (!sample)
		return INFINITY;
	cr_take_sample(sample, set);
	const double width = lay_out(&grid, set, sample);
	double radius = 0;
	for (uint32_t i = 0; i < sample->count; i++)
		radius += sample->spheres[i].r / (double)sample->count;
	const double tests =
		cr_compared((radius + grid.reach_pad) / width, FLATNESS) * cr_crowding(sample, width, 0, INFINITY, false);
	cr_free(set->context, sample, sizeof *sample);
	return tests;
}

// ---- The detector ----

static carom_result make_state(cell_grid **state, carom_context *context)
{
	cell_grid *grid = *state ? *state : cr_alloc_zero(context, sizeof *grid);
	if (!grid)
		return cr_fail_memory(context, "the grid of spheres");
	*state = grid;
	grid->workers = context->thread_count;
	if (!grid->batches)
		grid->batches = cr_alloc_array(context, (size_t)grid->workers, sizeof *grid->batches);
	return grid->batches ? CAROM_SUCCESS : cr_fail_memory(context, "the grid of spheres");
}

static carom_result build(void **state, const cr_sphere_set *set)
{
	carom_context *context = set->context;
	cell_grid *grid = *state;
	const carom_result result = make_state(&grid, context);
	*state = grid;
	if (result != CAROM_SUCCESS)
		return result;
	cr_row_grid *rows = &grid->rows;
	const uint32_t tables = set->ghosts > 0 ? 2 : 1;
	if (!cr_cells_reserve(&rows->cells, context, set->count, tables * (uint32_t)cell_limit(set->count), false))
		return cr_fail_memory(context, "the grid of spheres");
	cr_take_sample(&grid->sample, set);
	lay_out(rows, set, &grid->sample);
	const uint32_t cells = (uint32_t)rows->dim[0] * (uint32_t)rows->dim[1] * (uint32_t)rows->dim[2];
	cr_row_grid ghosts = *rows;
	ghosts.first_cell = (int32_t)cells;
	cr_cells_sort(&rows->cells, set, tables * cells, cr_get_sphere_kernels(context->simd)->locate_rows, rows, &ghosts);
	return CAROM_SUCCESS;
}

typedef struct find_task {
	const cell_grid *grid;
	const cr_sphere_set *set;
	const cr_pair_sink *sink;
	cr_find_rows_fn *find;
} find_task;

static void find_part(int64_t begin, int64_t end, int worker, void *task)
{
	const find_task *f = task;
	const cr_sphere_search search = { f->set, f->sink, &f->grid->batches[worker], worker };
	if (!search.batch->stopped)
		f->find(&f->grid->rows, &search, begin, end);
}

static carom_result find(void *state, const cr_sphere_set *set, const cr_pair_sink *sink, int64_t *tests)
{
	const cell_grid *grid = state;
	const cr_sphere_kernels *kernels = cr_get_sphere_kernels(set->context->simd);
	find_task task = { grid, set, sink, kernels->find_rows };
	cr_clear_batches(grid->batches, grid->workers);
	const int64_t rows = (int64_t)grid->rows.dim[1] * grid->rows.dim[2];
	cr_parallel_for(set->context, find_part, rows, 1, &task);
	if (set->ghosts > 0) {
		task.find = kernels->find_ghosts;
		cr_parallel_for(set->context, find_part, rows, 1, &task);
	}
	*tests = cr_sum_tests(grid->batches, grid->workers);
	return CAROM_SUCCESS;
}

static size_t bytes(const void *state)
{
	const cell_grid *grid = state;
	return sizeof *grid + cr_cells_bytes(&grid->rows.cells) + (size_t)grid->workers * sizeof *grid->batches;
}

static void release(carom_context *context, void *state)
{
	cell_grid *grid = state;
	if (!grid)
		return;
	cr_cells_free(&grid->rows.cells, context);
	cr_free(context, grid->batches, (size_t)grid->workers * sizeof *grid->batches);
	cr_free(context, grid, sizeof *grid);
}

const cr_sphere_detector cr_grid_detector = { build, NULL, find, NULL, bytes, release, NULL };
