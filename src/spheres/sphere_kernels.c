/// Wide kernels of the grid of one level. Compiled once for each instruction set (CR_ISA); see
/// math/simd.h for why the bits agree, and spheres/sphere_tasks.h for the steps of a search.

#include "spheres/sphere_isa.h"
#include "spheres/sphere_tasks.h"

static inline i8 row_cell(const cr_row_grid *grid, int k, f8 p)
{
	return i8_truncate(cell_along(p, grid->lower[k], f8_set1(grid->inverse[k]), f8_set1((float)(grid->dim[k] - 1))));
}

static inline i8 locate_eight(const cr_row_grid *grid, const cr_sphere *spheres)
{
	f8 p[4];
	f8_load_fours(&spheres->x, p);
	const i8 x = row_cell(grid, 0, p[0]);
	const i8 y = row_cell(grid, 1, p[1]);
	const i8 z = row_cell(grid, 2, p[2]);
	const i8 row = i8_add(i8_mul(z, i8_set1(grid->dim[1])), y);
	return i8_add(i8_mul(row, i8_set1(grid->dim[0])), i8_add(x, i8_set1(grid->first_cell)));
}

static void locate_rows(const void *map, const cr_sphere *spheres, int64_t count, uint32_t *cell, uint32_t *tag)
{
	(void)tag;
	int64_t i = 0;
	for (; i + 8 <= count; i += 8)
		i8_store((int32_t *)cell + i, locate_eight(map, spheres + i));
	if (i == count)
		return;
	cr_sphere rest[8] = { 0 };
	int32_t cells[8];
	for (int64_t k = i; k < count; k++)
		rest[k - i] = spheres[k];
	i8_store(cells, locate_eight(map, rest));
	for (int64_t k = i; k < count; k++)
		cell[k] = (uint32_t)cells[k - i];
}

/// A row while it is searched.
typedef struct row_walk {
	const cr_row_grid *grid;
	const int32_t *start;             // of the row's cells, of spheres that are no ghosts
	int32_t end;                      // of the row's spheres that look
	bool up, down, deeper, shallower; // is there a row y+1, y-1; are there rows z+1, z-1
	// Nothing in row y+1 lies below up_y, nothing in y-1 above down_y, nothing in z+1 below
	// deeper_z, nothing in z-1 above shallower_z.
	float up_y, down_y, deeper_z, shallower_z;
} row_walk;

/// No centre in cell `cell` or beyond is below this: cell / inverse from lower on, less the
/// roundings.
static float lower_edge(const cr_row_grid *grid, int k, int32_t cell)
{
	const double edge = grid->lower[k] + cell / (double)grid->inverse[k] * (1 - 0x1p-21);
	return nextafterf((float)edge, -INFINITY);
}

/// No centre in cell `cell` or before it is above this.
static float upper_edge(const cr_row_grid *grid, int k, int32_t cell)
{
	const double edge = grid->lower[k] + (cell + 1) / (double)grid->inverse[k] * (1 + 0x1p-21);
	return nextafterf((float)edge, INFINITY);
}

/// The cells of a row that hold the spheres within `half` of x, as a run of places. The row's start
/// array begins at `start`.
static inline void add_row(task_list *tasks, const cr_row_grid *grid, const int32_t *start, m8 live, i8 place, f8 x, f8 rest)
{
	const f8 half = f8_sqrt(f8_max(rest, f8_set1(0)));
	const i8 first = row_cell(grid, 0, f8_sub(x, half));
	const i8 last = row_cell(grid, 0, f8_add(x, half));
	live = m8_and(live, f8_le(f8_set1(0), rest));
	add_tasks(tasks, live, place, i8_gather(start, first), i8_gather(start + 1, last), place, false);
}

/// Tasks of the eight spheres from place on. Reaches are balls: in a row that begins at a distance
/// only the remaining radius counts (Pythagoras), the square widened by more than its roundings.
static inline void add_eight(const row_walk *w, task_list *tasks, int32_t place)
{
	const cr_row_grid *grid = w->grid;
	const cr_cells *cells = &grid->cells;
	const f8 x = f8_load(cells->x + place), y = f8_load(cells->y + place), z = f8_load(cells->z + place);
	const f8 reach = f8_add(f8_load(cells->r + place), f8_set1(grid->reach_pad));
	const f8 square = reach_square(reach);
	const i8 places = i8_add(i8_load(CR_LANES), i8_set1(place));
	const m8 live = i8_lt(places, i8_set1(w->end));
	const i8 last = row_cell(grid, 0, f8_add(x, reach));
	add_tasks(tasks, live, places, i8_add(places, i8_set1(1)), i8_gather(w->start + 1, last), places, false);
	const f8 up = gap_square(f8_sub(f8_set1(w->up_y), y));
	const int32_t width = grid->dim[0];
	if (w->up)
		add_row(tasks, grid, w->start + width, live, places, x, f8_sub(square, up));
	if (!w->deeper)
		return;
	const int32_t *deeper = w->start + (int64_t)width * grid->dim[1];
	const f8 rest = f8_sub(square, gap_square(f8_sub(f8_set1(w->deeper_z), z)));
	if (w->down)
		add_row(tasks, grid, deeper - width, live, places, x, f8_sub(rest, gap_square(f8_sub(y, f8_set1(w->down_y)))));
	add_row(tasks, grid, deeper, live, places, x, rest);
	if (w->up)
		add_row(tasks, grid, deeper + width, live, places, x, f8_sub(rest, up));
}

/// The row's neighbours, for eight spheres that look into all nine rows around them.
static inline void add_eight_around(const row_walk *w, task_list *tasks, int32_t place)
{
	const cr_row_grid *grid = w->grid;
	const cr_cells *cells = &grid->cells;
	const f8 x = f8_load(cells->x + place), y = f8_load(cells->y + place), z = f8_load(cells->z + place);
	const f8 square = reach_square(f8_add(f8_load(cells->r + place), f8_set1(grid->reach_pad)));
	const i8 places = i8_add(i8_load(CR_LANES), i8_set1(place));
	const m8 live = i8_lt(places, i8_set1(w->end));
	const int32_t layer = grid->dim[0] * grid->dim[1];
	const f8 rests[3] = { f8_sub(square, gap_square(f8_sub(z, f8_set1(w->shallower_z)))), square,
		f8_sub(square, gap_square(f8_sub(f8_set1(w->deeper_z), z))) };
	const bool there[3] = { w->shallower, true, w->deeper };
	for (int dz = 0; dz < 3; dz++) {
		if (!there[dz])
			continue;
		const int32_t *start = w->start + (dz - 1) * layer;
		if (w->down)
			add_row(tasks, grid, start - grid->dim[0], live, places, x,
				f8_sub(rests[dz], gap_square(f8_sub(y, f8_set1(w->down_y)))));
		add_row(tasks, grid, start, live, places, x, rests[dz]);
		if (w->up)
			add_row(
				tasks, grid, start + grid->dim[0], live, places, x, f8_sub(rests[dz], gap_square(f8_sub(f8_set1(w->up_y), y))));
	}
}

static row_walk walk_row(const cr_row_grid *grid, int64_t row)
{
	const int32_t y = (int32_t)(row % grid->dim[1]), z = (int32_t)(row / grid->dim[1]);
	row_walk w = { .grid = grid, .start = (const int32_t *)grid->cells.start + row * grid->dim[0] };
	w.up = y + 1 < grid->dim[1];
	w.down = y > 0;
	w.deeper = z + 1 < grid->dim[2];
	w.shallower = z > 0;
	w.up_y = w.up ? lower_edge(grid, 1, y + 1) : 0;
	w.down_y = w.down ? upper_edge(grid, 1, y - 1) : 0;
	w.deeper_z = w.deeper ? lower_edge(grid, 2, z + 1) : 0;
	w.shallower_z = w.shallower ? upper_edge(grid, 2, z - 1) : 0;
	return w;
}

/// Rows of spheres whose cells begin at first_cell, each sphere looking forward or around itself.
static inline void search_rows(const cr_row_grid *grid, const cr_sphere_search *search, int64_t begin, int64_t end,
	int64_t first_cell, void add(const row_walk *w, task_list *tasks, int32_t place))
{
	const cr_cells *cells = &grid->cells;
	const margins m = make_margins(search->set);
	task_list tasks;
	hit_list hits;
	tasks.count = hits.count = 0;
	for (int64_t row = begin; row < end; row++) {
		const int32_t *own = (const int32_t *)cells->start + first_cell + row * grid->dim[0];
		if (own[0] == own[grid->dim[0]])
			continue;
		row_walk w = walk_row(grid, row);
		w.end = own[grid->dim[0]];
		for (int32_t place = own[0]; place < w.end; place += 8) {
			add(&w, &tasks, place);
			if (tasks.count > CR_TASKS)
				run_tasks(cells, search, m, &tasks, &hits, false);
		}
		if (search->batch->stopped)
			return;
	}
	run_tasks(cells, search, m, &tasks, &hits, false);
	hand_on_hits(&hits, search);
}

static void find_rows(const cr_row_grid *grid, const cr_sphere_search *search, int64_t begin, int64_t end)
{
	search_rows(grid, search, begin, end, 0, add_eight);
}

static void find_ghosts(const cr_row_grid *grid, const cr_sphere_search *search, int64_t begin, int64_t end)
{
	const int64_t rows = (int64_t)grid->dim[1] * grid->dim[2];
	search_rows(grid, search, begin, end, rows * grid->dim[0], add_eight_around);
}

const cr_sphere_kernels CR_ISA_NAME(
	cr_sphere_kernels) = { locate_rows, find_rows, find_ghosts, CR_ISA_NAME(cr_locate_levels), CR_ISA_NAME(cr_find_in_level) };
