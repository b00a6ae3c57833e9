/// The inside-outside grid: which cells of a closed mesh's box the surface touches, and on which
/// side the others lie.
///
/// Cells that a triangle may touch are marked; the remaining cells fall into pieces connected
/// through faces, each wholly inside or outside, and one winding number decides for a piece. Cost:
/// cells + triangle-cell overlaps + one ray a piece. A refinement of "only vertices inside the
/// intersection of the bounding volumes cast a ray": the grid is a tighter bounding volume.

#include "base/array.h"
#include "base/radix.h"
#include "bvh/bvh_kernels.h"
#include <stdlib.h>
#include <string.h>

static const uint8_t PADDING_BYTE = 0xff;
enum {
	FAR = CR_CELL_DISTANCE - 1,
	// The most cells that the boxes of all triangles may touch, counted once for each. Meshes of
	// even triangles touch 10 to 30 each.
	OVERLAPS = 1 << 22,
	OVERLAPS_PER_CELL = 16,
	OVERLAPS_PER_TRIANGLE = 256,
	// Rays left to cast on the recorded avalanche, at rest: 24 cells 13,514 a step, 32 10,022, 48
	// 6,542, 64 4,886; beyond 48 the grid of a 902-triangle body leaves the first-level cache.
	FINEST = 48,
	COARSEST = 4,
	// Triangles for each further cell along the longest side. Detection in a pile of 216 bodies:
	// with 80 triangles 8 cells were 2 % faster than 48, with 192 triangles 13 cells 5 % slower.
	TRIANGLES_PER_CELL = 20,
	// A mesh of fewer triangles has no grid of its own accord: it would take half of the time that
	// a mesh of 12 takes to be made. A step of a pile of 216 bodies of 12 to 64 triangles takes
	// 0.96 to 1.02 times as long without (80 triangles: 1.04 to 1.11 times).
	FEWEST_TRIANGLES = 64,
};

static int64_t cell_count(const cr_grid *g) { return (int64_t)g->size[0] * g->size[1] * g->size[2]; }
static int64_t word_count(const cr_grid *g) { return (cell_count(g) + 63) / 64; }

// A box may be so flat or so small that cells mean nothing in float.
static bool is_usable(const cr_grid *g) { return g->cell > 0 && isfinite(g->inverse_cell); }

/// The cells that the box of a triangle touches.
typedef struct cell_range {
	int32_t first[3];
	int32_t last[3];
} cell_range;

static double lower_of(double a, double b) { return a < b ? a : b; }
static double higher_of(double a, double b) { return a > b ? a : b; }

static cell_range cells_around(const cr_grid *g, const v3d corner[3])
{
	cell_range range;
	for (int k = 0; k < 3; k++) {
		const double p = v3d_get(corner[0], k), q = v3d_get(corner[1], k), r = v3d_get(corner[2], k);
		const int32_t first = (int32_t)((lower_of(lower_of(p, q), r) - g->origin[k]) / g->cell - 0.001);
		const int32_t last = (int32_t)((higher_of(higher_of(p, q), r) - g->origin[k]) / g->cell + 0.001);
		range.first[k] = first < 0 ? 0 : first;
		range.last[k] = last >= g->size[k] ? g->size[k] - 1 : last;
	}
	return range;
}

/// At least as many cells as the boxes of the triangles touch: a side of so many cells reaches into
/// one or two more.
static double most_overlaps(const cr_collider *c, const cr_grid *g)
{
	double sum = 0;
	for (int32_t i = 0; i < c->triangle_count; i++) {
		const int32_t *t = &c->topology->triangles[3 * (int64_t)cr_used_triangle(c, i)];
		const float *p = &c->topology->vertices[3 * (int64_t)t[0]], *q = &c->topology->vertices[3 * (int64_t)t[1]],
					*r = &c->topology->vertices[3 * (int64_t)t[2]];
		float cells = 1;
		for (int k = 0; k < 3; k++) {
			const float low = p[k] < q[k] ? p[k] : q[k], high = p[k] > q[k] ? p[k] : q[k];
			cells *= ((high > r[k] ? high : r[k]) - (low < r[k] ? low : r[k])) * g->inverse_cell + 2.1f;
		}
		sum += cells;
	}
	return 1.01 * sum;
}

/// Do the boxes of the triangles touch more cells than a grid is worth? Where they are long against
/// their distances these are far more than the cells or the triangles: a field of 10,000 x 2
/// samples, 1 mm and 1 km apart, took 82 s.
static bool overlaps_are_many(const cr_collider *c, const cr_grid *g)
{
	const int64_t allowed = OVERLAPS + OVERLAPS_PER_CELL * cell_count(g) + OVERLAPS_PER_TRIANGLE * (int64_t)c->triangle_count;
	if (most_overlaps(c, g) <= (double)allowed)
		return false;
	int64_t overlaps = 0;
	for (int32_t i = 0; i < c->triangle_count; i++) {
		v3d corner[3];
		cr_collider_triangle(c, cr_used_triangle(c, i), corner);
		const cell_range r = cells_around(g, corner);
		int64_t cells = 1;
		for (int k = 0; k < 3; k++)
			cells *= r.last[k] - r.first[k] + 1;
		overlaps += cells;
	}
	return overlaps > allowed;
}

/// As many cells along the longest side as a mesh of so many triangles is worth, or 0. With 48
/// cells a small mesh would take nearly all of its time to make the grid.
static int32_t resolution_by_size(int32_t triangles)
{
	if (triangles < FEWEST_TRIANGLES)
		return 0;
	const int32_t resolution = COARSEST + triangles / TRIANGLES_PER_CELL;
	return resolution < FINEST ? resolution : FINEST;
}

/// Choose the cells: as many as are asked for along the longest side, or fewer until neither they
/// nor the work is too much.
static void place_grid(const cr_collider *c, int32_t resolution, cr_grid *g)
{
	float longest = 0;
	for (int k = 0; k < 3; k++)
		longest = fmaxf(longest, c->upper[k] - c->lower[k]);
	do {
		g->cell = longest / (float)resolution;
		g->inverse_cell = 1.0f / g->cell;
		if (!is_usable(g))
			return;
		for (int k = 0; k < 3; k++) {
			// One empty layer all round, so that the outside is one piece and rounding cannot step
			// off the grid.
			g->size[k] = (int32_t)((c->upper[k] - c->lower[k]) * g->inverse_cell) + 4;
			g->origin[k] = c->lower[k] - 1.5f * g->cell;
		}
		resolution = resolution * 15 / 16;
	} while (resolution > 0 && (cell_count(g) > CR_GRID_MAX_CELLS || overlaps_are_many(c, g)));
}

// ---- Touched cells of a triangle ----

/// Cells of a row that a triangle touches.
typedef struct span {
	int32_t triangle; // in file order
	int32_t first;    // cell
	int32_t count;
} span;

typedef CR_ARRAY(span) span_list;

/// An axis that may part a triangle from a cell. Middles of cells are points of whole numbers here;
/// those of touched cells lie between two bounds.
typedef struct parting_axis {
	double x, y, z;
	double inverse_x; // 0: x is too small to tell cells of a row apart
	double lower, upper;
} parting_axis;

// Axes that may part a triangle from a box, besides those of the box: its normal, and the products
// of its edges with the box's (Akenine- Moeller, Fast 3D Triangle-Box Overlap Testing, 2001).
enum { PARTING_AXES = 10 };

// In cells: half a cell, and a thousandth more on each side.
static const double HALF_CELL = 0.501;

/// An axis with the span of the triangle along it; slack as for its roundings.
static parting_axis make_axis(v3d axis, double lower, double upper, double slack)
{
	const double reach = HALF_CELL * (fabs(axis.x) + fabs(axis.y) + fabs(axis.z)) + slack;
	const bool flat = fabs(axis.x) * CR_GRID_MAX_ROW <= 1e-9 * (fabs(axis.y) + fabs(axis.z));
	return (parting_axis){ axis.x, axis.y, axis.z, flat ? 0 : 1 / axis.x, lower - reach, upper + reach };
}

static void make_axes(const cr_grid *g, const v3d corner[3], parting_axis axes[PARTING_AXES])
{
	v3d p[3], e[3];
	const v3d origin = v3d_from_floats(g->origin);
	for (int k = 0; k < 3; k++) {
		p[k] = v3d_scale(v3d_sub(corner[k], origin), 1.0 / g->cell);
		p[k] = v3d_sub(p[k], (v3d){ 0.5, 0.5, 0.5 });
	}
	for (int k = 0; k < 3; k++)
		e[k] = v3d_sub(p[(k + 1) % 3], p[k]);
	const v3d normal = v3d_cross(e[0], e[1]);
	const double offset = v3d_dot(normal, p[0]);
	// The normal of a thin triangle is off by more than its own roundings.
	axes[0] = make_axis(normal, offset, offset, 1e-11 * (v3d_length(e[0]) * v3d_length(e[1])));
	for (int k = 0; k < 3; k++) {
		const v3d products[3] = { { 0, -e[k].z, e[k].y }, { e[k].z, 0, -e[k].x }, { -e[k].y, e[k].x, 0 } };
		for (int j = 0; j < 3; j++) {
			const double edge = v3d_dot(products[j], p[k]), opposite = v3d_dot(products[j], p[(k + 2) % 3]);
			axes[1 + 3 * k + j] = make_axis(products[j], lower_of(edge, opposite), higher_of(edge, opposite), 0);
		}
	}
}

// Rows that are clipped side by side.
enum { ROWS = 4 };

/// Cells lower..upper of ROWS rows that follow one another in y.
typedef struct row_set {
	double y[ROWS];
	double lower[ROWS];
	double upper[ROWS];
} row_set;

/// Empty the rows that an axis across them parts from the triangle.
static void clip_across(const parting_axis *a, double z, row_set *rows)
{
	for (int i = 0; i < ROWS; i++) {
		const double at = a->y * rows->y[i] + a->z * z;
		rows->upper[i] = at < a->lower || at > a->upper ? -1 : rows->upper[i];
	}
}

/// Keep the cells of all rows at z that the axes without y leave. false: none.
static bool clip_layer(const parting_axis axes[PARTING_AXES], const cell_range *r, double z, double *lower, double *upper)
{
	*lower = r->first[0];
	*upper = r->last[0];
	for (int k = 2; k < PARTING_AXES; k += 3) {
		const parting_axis *a = &axes[k];
		const double at = a->z * z;
		if (a->inverse_x == 0) {
			if (at < a->lower || at > a->upper)
				return false;
			continue;
		}
		const double p = (a->lower - at) * a->inverse_x, q = (a->upper - at) * a->inverse_x;
		*lower = higher_of(*lower, lower_of(p, q));
		*upper = lower_of(*upper, higher_of(p, q));
	}
	return *lower <= *upper;
}

/// Keep the cells of some rows that a slanted axis leaves.
static void clip_along(const parting_axis *a, double z, row_set *rows)
{
	for (int i = 0; i < ROWS; i++) {
		const double at = a->y * rows->y[i] + a->z * z;
		const double p = (a->lower - at) * a->inverse_x, q = (a->upper - at) * a->inverse_x;
		rows->lower[i] = higher_of(rows->lower[i], lower_of(p, q));
		rows->upper[i] = lower_of(rows->upper[i], higher_of(p, q));
	}
}

static void clip_rows(const parting_axis *a, double z, row_set *rows)
{
	if (a->inverse_x == 0)
		clip_across(a, z, rows);
	else
		clip_along(a, z, rows);
}

/// Rows from y on with the cells that the axes without z leave, in all layers.
static row_set clip_block(const parting_axis axes[PARTING_AXES], const cell_range *r, int32_t y)
{
	row_set rows;
	for (int i = 0; i < ROWS; i++) {
		rows.y[i] = y + i;
		rows.lower[i] = r->first[0];
		rows.upper[i] = r->last[0];
	}
	for (int k = 3; k < PARTING_AXES; k += 3)
		clip_rows(&axes[k], 0, &rows);
	return rows;
}

/// The rows of a block at z.
static row_set clip_block_at(const parting_axis axes[PARTING_AXES], const row_set *block, double z, double lower, double upper)
{
	row_set rows = *block;
	for (int i = 0; i < ROWS; i++) {
		rows.lower[i] = higher_of(rows.lower[i], lower);
		rows.upper[i] = lower_of(rows.upper[i], upper);
	}
	clip_rows(&axes[0], z, &rows);
	for (int k = 1; k < PARTING_AXES; k += 3) // their x is zero
		clip_across(&axes[k], z, &rows);
	return rows;
}

static int64_t cell_index(const cr_grid *g, int32_t x, int32_t y, int32_t z)
{
	return ((int64_t)z * g->size[1] + y) * g->size[0] + x;
}

/// Set the bits of cells first..first+count-1.
static void set_touched(cr_cell_word *words, int64_t first, int32_t count)
{
	while (count > 0) {
		const int shift = (int)(first & 63), taken = count < 64 - shift ? count : 64 - shift;
		words[first / 64].touched |= (~(uint64_t)0 >> (64 - taken)) << shift;
		first += taken;
		count -= taken;
	}
}

static void mark_span(cr_grid *g, int32_t number, int64_t cell, int32_t count, span_list *spans)
{
	spans->data[spans->count++] = (span){ number, (int32_t)cell, count };
	set_touched(g->words, cell, count);
}

/// Mark the remaining parts of some rows, from y on, once they are clipped.
static void mark_rows(cr_grid *g, int32_t number, const row_set *rows, int32_t y, int32_t z, int32_t last_y, span_list *spans)
{
	for (int i = 0; i < ROWS && y + i <= last_y; i++) {
		const double lower = rows->lower[i];
		if (lower > rows->upper[i])
			continue;
		const int32_t first = (int32_t)lower + ((int32_t)lower < lower), last = (int32_t)rows->upper[i];
		if (first <= last)
			mark_span(g, number, cell_index(g, first, y + i, z), last - first + 1, spans);
	}
}

/// List the cells that a triangle touches, and mark them. Cells count as larger by a thousandth on
/// each side. false: out of memory.
static bool mark_triangle(carom_context *context, cr_grid *g, int32_t number, const v3d corner[3], span_list *spans)
{
	const cell_range r = cells_around(g, corner);
	const int64_t rows = (int64_t)(r.last[1] - r.first[1] + 1) * (r.last[2] - r.first[2] + 1);
	if (!cr_array_reserve(context, spans, spans->count + rows))
		return false;
	if (rows == 1) { // all cells between its ends
		mark_span(g, number, cell_index(g, r.first[0], r.first[1], r.first[2]), r.last[0] - r.first[0] + 1, spans);
		return true;
	}
	parting_axis axes[PARTING_AXES];
	make_axes(g, corner, axes);
	for (int32_t y = r.first[1]; y <= r.last[1]; y += ROWS) {
		const row_set block = clip_block(axes, &r, y);
		for (int32_t z = r.first[2]; z <= r.last[2]; z++) {
			double lower, upper;
			if (!clip_layer(axes, &r, z, &lower, &upper))
				continue;
			const row_set rows_at = clip_block_at(axes, &block, z, lower, upper);
			mark_rows(g, number, &rows_at, y, z, r.last[1], spans);
		}
	}
	return true;
}

/// Mark the cells that the surface touches. false: out of memory.
static bool mark_triangles(carom_context *context, const cr_collider *c, cr_grid *g, span_list *spans)
{
	for (int32_t i = 0; i < c->triangle_count; i++) {
		v3d corner[3];
		cr_collider_triangle(c, cr_used_triangle(c, i), corner);
		if (!mark_triangle(context, g, cr_used_triangle(c, i), corner, spans))
			return false;
	}
	return true;
}

static void cell_at(const cr_grid *g, int32_t index, int32_t cell[3])
{
	const int32_t row = index / g->size[0];
	cell[0] = index % g->size[0];
	cell[1] = row % g->size[1];
	cell[2] = row / g->size[1];
}

static void middle_of(const cr_grid *g, const int32_t cell[3], float middle[3])
{
	for (int k = 0; k < 3; k++)
		middle[k] = g->origin[k] + ((float)cell[k] + 0.5f) * g->cell;
}

// Not along an axis: meshes love axes, and then every edge would need the exact signs.
static const float DIRECTION[3] = { 0.5f, 0.7f, 0.3f };

// ---- Pieces ----

/// Cells of a row that the surface does not touch, first..end-1. Runs that share faces of cells are
/// one piece.
typedef struct run {
	int32_t first;
	int32_t end;
	// a run of the same piece that is not behind this one; the first run of a piece is its own
	int32_t parent;
} run;

typedef struct run_list {
	run *runs;
	int32_t *row_first; // [rows + 1] in runs
	int32_t count;
	int32_t rows;
} run_list;

/// The first cell from `first` on, before `end`, that is touched or is not; end if there is none.
static int32_t next_cell(const cr_grid *g, int32_t first, int32_t end, bool touched)
{
	for (int32_t at = first; at < end; at = (at | 63) + 1) {
		const uint64_t word = g->words[at / 64].touched, wanted = (touched ? word : ~word) >> (at & 63);
		if (wanted != 0) {
			const int32_t found = at + __builtin_ctzll(wanted);
			return found < end ? found : end;
		}
	}
	return end;
}

/// List the runs of all rows.
static void list_runs(const cr_grid *g, run_list *list)
{
	list->count = 0;
	for (int32_t row = 0; row < list->rows; row++) {
		const int32_t row_end = (row + 1) * g->size[0];
		list->row_first[row] = list->count;
		for (int32_t first = next_cell(g, row * g->size[0], row_end, false), end; first < row_end;
			 first = next_cell(g, end, row_end, false)) {
			end = next_cell(g, first, row_end, true);
			list->runs[list->count] = (run){ first, end, list->count };
			list->count++;
		}
	}
	list->row_first[list->rows] = list->count;
}

/// The first run of the piece of a run.
static int32_t piece_of(run *runs, int32_t at)
{
	while (runs[at].parent != at) {
		runs[at].parent = runs[runs[at].parent].parent;
		at = runs[at].parent;
	}
	return at;
}

/// Join the runs of a row with those of an earlier row that lie beside them.
static void join_rows(const run_list *list, int32_t row, int32_t before, int32_t shift)
{
	int32_t a = list->row_first[row], b = list->row_first[before];
	while (a < list->row_first[row + 1] && b < list->row_first[before + 1]) {
		const run *p = &list->runs[a], *q = &list->runs[b];
		if (p->first < q->end + shift && q->first + shift < p->end) {
			const int32_t first = piece_of(list->runs, a), second = piece_of(list->runs, b);
			list->runs[first > second ? first : second].parent = first < second ? first : second;
		}
		if (p->end < q->end + shift)
			a++;
		else
			b++;
	}
}

static void join_runs(const cr_grid *g, const run_list *list)
{
	for (int32_t row = 0; row < list->rows; row++) {
		if (row % g->size[1] > 0)
			join_rows(list, row, row - 1, g->size[0]);
		if (row >= g->size[1])
			join_rows(list, row, row - g->size[1], g->size[0] * g->size[1]);
	}
}

/// Give all cells that the surface does not touch their sides: one ray from the first cell of each
/// piece. Returns the winding number of all pieces inside, or 0 where they differ or there are
/// none.
static int set_sides(carom_context *context, const cr_collider *c, cr_grid *g, const run_list *list)
{
	int inside = 0;
	bool differ = false;
	const cr_bvh_kernels *kernels = cr_get_bvh_kernels(context->simd);
	for (int32_t i = 0; i < list->count; i++) {
		const run *r = &list->runs[i];
		uint8_t side = g->cells[list->runs[piece_of(list->runs, i)].first] & CR_CELL_INSIDE;
		if (r->parent == i) {
			int32_t cell[3];
			float centre[3];
			cell_at(g, r->first, cell);
			middle_of(g, cell, centre);
			const int winding = kernels->winding(c, centre, DIRECTION);
			side = winding != 0 ? CR_CELL_INSIDE : 0;
			differ = differ || (winding != 0 && inside != 0 && winding != inside);
			inside = winding != 0 ? winding : inside;
		}
		for (int32_t cell = r->first; side != 0 && cell < r->end; cell++)
			g->cells[cell] |= CR_CELL_INSIDE;
	}
	return differ ? 0 : inside;
}

/// The most runs that there may be: a row has one more than stretches of touched cells, which are
/// no more than spans and have a cell between them.
static int64_t most_runs(const cr_grid *g, int64_t spans)
{
	const int64_t rows = (int64_t)g->size[1] * g->size[2], by_cells = rows * ((g->size[0] + 1) / 2);
	return rows + spans < by_cells ? rows + spans : by_cells;
}

/// Find the pieces of the cells that are not touched, and their sides. *inside: as set_sides.
/// false: out of memory.
static bool classify(carom_context *context, const cr_collider *c, cr_grid *g, int64_t spans, int *inside)
{
	run_list list = { .rows = g->size[1] * g->size[2] };
	const size_t run_bytes = (size_t)most_runs(g, spans) * sizeof *list.runs,
				 row_bytes = ((size_t)list.rows + 1) * sizeof(int32_t);
	list.runs = cr_alloc(context, run_bytes);
	list.row_first = cr_alloc(context, row_bytes);
	const bool enough = list.runs && list.row_first;
	if (enough) {
		list_runs(g, &list);
		join_runs(g, &list);
		*inside = set_sides(context, c, g, &list);
	}
	cr_free(context, list.runs, run_bytes);
	cr_free(context, list.row_first, row_bytes);
	return enough;
}

// ---- Distances ----

static uint8_t lesser(uint8_t a, uint8_t b) { return a < b ? a : b; }

enum { LANES = 16 }; // bytes that are worked on side by side

/// The grid's distances with rows of whole lanes, a far lane before and behind each, and far rows
/// around them in y and z.
typedef struct room {
	uint8_t *bytes;
	int64_t row_bytes; // of a row with the lanes around it
	int64_t rows;      // of a layer
	int64_t layers;
} room;

static uint8_t *row_of(const room *r, int64_t y, int64_t z)
{
	return r->bytes + ((z + 1) * r->rows + y + 1) * r->row_bytes + LANES;
}

/// Distances of a row from the cells that are touched in it. Where there are none all stay far.
static void measure_row(const cr_grid *g, int32_t row, uint8_t *distances)
{
	const int32_t begin = row * g->size[0], end = begin + g->size[0];
	int32_t touched = next_cell(g, begin, end, true);
	for (int32_t i = 1; touched < end && i <= touched - begin; i++)
		distances[touched - begin - i] = i < FAR ? (uint8_t)i : FAR;
	while (touched < end) {
		distances[touched - begin] = 0;
		const int32_t next = next_cell(g, touched + 1, end, true), length = next - touched;
		const int32_t half = next < end ? length / 2 : length - 1;
		for (int32_t i = 1; i <= half; i++)
			distances[touched - begin + i] = i < FAR ? (uint8_t)i : FAR;
		for (int32_t i = 1; i < length - half; i++)
			distances[next - begin - i] = i < FAR ? (uint8_t)i : FAR;
		touched = next;
	}
}

/// The least of a cell and the two beside it in its row.
static inline uint8_t least_of_three(const uint8_t *cell) { return lesser(lesser(cell[-1], cell[0]), cell[1]); }

/// Lower a row by the four rows that are done. One plain loop over no other memory, which compilers
/// turn into vectors.
static void lower_row(uint8_t *restrict row, int64_t count, const uint8_t *restrict beside, const uint8_t *restrict lower,
	const uint8_t *restrict middle, const uint8_t *restrict upper)
{
	for (int64_t x = 0; x < count; x++) {
		const uint8_t least = lesser(lesser(least_of_three(beside + x), least_of_three(lower + x)),
			lesser(least_of_three(middle + x), least_of_three(upper + x)));
		row[x] = lesser(row[x], (uint8_t)(least + 1));
	}
}

/// Distances of a row from its own and the rows before it (direction -1) or behind it (1).
static void sweep_row(const room *r, int64_t y, int64_t z, int direction)
{
	const uint8_t *beside = row_of(r, y + direction, z), *before = row_of(r, y, z + direction);
	lower_row(row_of(r, y, z), r->row_bytes - 2 * LANES, beside, before - r->row_bytes, before, before + r->row_bytes);
}

static void measure_room(const cr_grid *g, const room *r)
{
	const int32_t rows = g->size[1] * g->size[2];
	memset(r->bytes, FAR, (size_t)(r->row_bytes * r->rows * r->layers));
	for (int32_t i = 0; i < rows; i++)
		measure_row(g, i, row_of(r, i % g->size[1], i / g->size[1]));
	for (int32_t i = 0; i < rows; i++)
		sweep_row(r, i % g->size[1], i / g->size[1], -1);
	for (int32_t i = rows - 1; i >= 0; i--) {
		const int32_t y = i % g->size[1], z = i / g->size[1];
		sweep_row(r, y, z, 1);
		memcpy(&g->cells[cell_index(g, 0, y, z)], row_of(r, y, z), (size_t)g->size[0]);
	}
}

/// Chebyshev distances to the touched cells. A shortest way of a king may begin along x, which the
/// distances within rows tell, and goes from row to row then, with steps along x or without. For
/// those one sweep forward and one backward are enough (Rosenfeld, Pfaltz, Distance Functions on
/// Digital Pictures, 1968). Cells of a row beyond the grid are far, or at their true distance.
/// false: out of memory.
static bool measure_distances(carom_context *context, const cr_grid *g)
{
	room r = { NULL, (g->size[0] + 3 * LANES - 1) / LANES * LANES, g->size[1] + 2, g->size[2] + 2 };
	const size_t bytes = (size_t)(r.row_bytes * r.rows * r.layers);
	r.bytes = cr_alloc(context, bytes);
	if (!r.bytes)
		return false;
	measure_room(g, &r);
	cr_free(context, r.bytes, bytes);
	return true;
}

// ---- Touched cells ----

/// Number the touched cells.
static void number_touched(cr_grid *g)
{
	for (int64_t w = 0; w < word_count(g); w++) {
		g->words[w].before = g->touched_count;
		g->touched_count += __builtin_popcountll(g->words[w].touched);
	}
}

/// Add a triangle to the cells of a row that it touches, whose records follow one another. One
/// triangle too many is counted, so that the list is known to be too long.
static void list_span(const cr_grid *g, const span *s)
{
	cr_touched_cell *cells = cr_touched_cell_at(g, s->first);
	for (int32_t i = 0; i < s->count; i++) {
		cr_touched_cell *cell = &cells[i];
		if (cell->count > CR_CELL_TRIANGLES)
			continue;
		if (cell->count < CR_CELL_TRIANGLES)
			cell->triangle[cell->count] = s->triangle;
		cell->count++;
	}
}

/// The plane of a triangle.
typedef struct exact_plane {
	v3d normal; // outward, unit; zero: the direction is lost in rounding
	double offset;
} exact_plane;

static exact_plane plane_of(const v3d corner[3])
{
	const v3d e = v3d_sub(corner[1], corner[0]), f = v3d_sub(corner[2], corner[0]), n = v3d_cross(e, f);
	const double length = v3d_length(n);
	if (length <= 1e-8 * v3d_length(e) * v3d_length(f))
		return (exact_plane){ { 0, 0, 0 }, 0 };
	const v3d normal = v3d_scale(n, 1 / length);
	return (exact_plane){ normal, v3d_dot(normal, corner[0]) };
}

/// The planes of some triangles.
typedef struct plane_list {
	const exact_plane *planes; // by number, or as numbers
	const cr_key *numbers;     // [count] rising, in the keys; NULL: planes of all
	int64_t count;
} plane_list;

static const exact_plane *plane_at(const plane_list *l, int32_t number)
{
	return &l->planes[l->numbers ? cr_first_key(l->numbers, l->count, (uint64_t)number) : number];
}

static bool is_lost(const exact_plane *p) { return p->normal.x == 0 && p->normal.y == 0 && p->normal.z == 0; }

/// On which side of its triangles the anchor of a listed cell lies. false: too near one of them, or
/// their planes, for floats to tell, or for the winding number around it.
static bool place_anchor(const cr_collider *c, const plane_list *planes, const float anchor[3], cr_touched_cell *cell)
{
	for (int i = 0; i < cell->count; i++) {
		const exact_plane *plane = plane_at(planes, cell->triangle[i]);
		if (is_lost(plane))
			return false;
		const double height = v3d_dot(plane->normal, v3d_from_floats(anchor)) - plane->offset;
		if (fabs(height) <= c->scale * 0x1p-18)
			return false;
		cell->above |= (uint8_t)((height > 0) << i);
	}
	return true;
}

/// How often the surface winds around the anchor of a touched cell, from a point in a cell beside
/// it that is not touched: only the cell's own triangles can lie between them. false: rounding
/// leaves it open.
static bool winding_from(const cr_collider *c, const plane_list *planes, const cr_touched_cell *cell, const float from[3],
	const float anchor[3], int *winding)
{
	for (int i = 0; i < cell->count; i++) {
		const exact_plane *plane = plane_at(planes, cell->triangle[i]);
		const double height = v3d_dot(plane->normal, v3d_from_floats(from)) - plane->offset;
		const bool above = cell->above >> i & 1;
		if (fabs(height) <= c->scale * 0x1p-18)
			return false;
		if ((height > 0) == above)
			continue;
		const int meets = cr_line_meets(c, cell->triangle[i], from, anchor);
		if (meets < 0)
			return false;
		*winding += above ? -meets : meets;
	}
	return true;
}

/// winding_from for the neighbours of a touched cell, one after the other. inside: winding number
/// of cells inside, 0: not known.
static bool winding_from_neighbours(const cr_collider *c, const cr_grid *g, const plane_list *planes, int inside,
	const int32_t at[3], const cr_touched_cell *cell, const float anchor[3], int *winding)
{
	const int64_t strides[3] = { 1, g->size[0], (int64_t)g->size[0] * g->size[1] }, index = cell_index(g, at[0], at[1], at[2]);
	for (int side = 0; side < 6; side++) {
		const int axis = side / 2, step = side % 2 ? 1 : -1;
		if (at[axis] + step < 0 || at[axis] + step >= g->size[axis])
			continue;
		const uint8_t known = g->cells[index + step * strides[axis]];
		if (known == 0 || (known & CR_CELL_INSIDE && inside == 0))
			continue;
		int32_t beside[3] = { at[0], at[1], at[2] };
		float middle[3];
		beside[axis] += step;
		*winding = known & CR_CELL_INSIDE ? inside : 0;
		middle_of(g, beside, middle);
		if (winding_from(c, planes, cell, middle, anchor, winding))
			return true;
	}
	return false;
}

/// Everything that a touched cell's own record tells; see place_anchors.
static void place_anchor_of(const cr_bvh_kernels *kernels, const cr_collider *c, const plane_list *planes, int inside,
	const cr_grid *g, int32_t index, cr_touched_cell *cell)
{
	int32_t at[3];
	float anchor[3];
	cell_at(g, index, at);
	cr_anchor_of_cell(g, at, anchor);
	int winding = INT16_MAX;
	const bool coarse = g->cell >= c->scale * 0x1p-13f;
	if (coarse && cell->count <= CR_CELL_TRIANGLES && place_anchor(c, planes, anchor, cell) &&
		!winding_from_neighbours(c, g, planes, inside, at, cell, anchor, &winding))
		winding = kernels->winding(c, anchor, DIRECTION);
	cell->winding = (int16_t)winding;
	if (abs(winding) >= INT16_MAX)
		cell->count = 0;
}

/// The sides and windings of the anchors of the touched cells; where these cannot be told, or a
/// thousandth of a cell is less than the rounding of coordinates, the list is dropped.
static void place_anchors(carom_context *context, const cr_collider *c, const plane_list *planes, int inside, cr_grid *g)
{
	const cr_bvh_kernels *kernels = cr_get_bvh_kernels(context->simd);
	cr_touched_cell *cell = g->touched;
	for (int64_t w = 0; w < word_count(g); w++) {
		for (uint64_t rest = g->words[w].touched; rest != 0; rest &= rest - 1)
			place_anchor_of(kernels, c, planes, inside, g, (int32_t)(64 * w) + __builtin_ctzll(rest), cell++);
	}
}

static exact_plane plane_of_triangle(const cr_collider *c, int32_t number)
{
	v3d corner[3];
	cr_collider_triangle(c, number, corner);
	return plane_of(corner);
}

static void round_plane(const exact_plane *plane, float rounded[4])
{
	const double values[4] = { plane->normal.x, plane->normal.y, plane->normal.z, plane->offset };
	for (int k = 0; k < 4; k++)
		rounded[k] = (float)values[k];
}

void cr_work_out_plane(const cr_collider *c, int32_t number, float rounded[4])
{
	const exact_plane plane = plane_of_triangle(c, number);
	round_plane(&plane, rounded);
}

/// The planes of the triangles in use, by number: exact, and as floats.
static void list_planes(const cr_collider *c, cr_grid *g, exact_plane *planes)
{
	for (int32_t i = 0; i < c->triangle_count; i++) {
		const int32_t number = cr_used_triangle(c, i);
		planes[number] = plane_of_triangle(c, number);
		if (g->planes)
			round_plane(&planes[number], g->planes[number]);
	}
}

/// Make the records of the touched cells. false: out of memory.
static bool list_touched(carom_context *context, const cr_collider *c, const span_list *spans, int inside, cr_grid *g)
{
	number_touched(g);
	g->touched = cr_alloc_zero(context, (size_t)g->touched_count * sizeof *g->touched);
	g->plane_count = c->lean ? 0 : c->topology->triangle_count;
	g->planes = c->lean ? NULL : cr_alloc_zero(context, (size_t)g->plane_count * sizeof *g->planes);
	const size_t plane_bytes = (size_t)c->topology->triangle_count * sizeof(exact_plane);
	exact_plane *planes = cr_alloc(context, plane_bytes);
	const bool enough = g->touched && (c->lean || g->planes) && planes;
	if (enough) {
		for (int64_t i = 0; i < spans->count; i++)
			list_span(g, &spans->data[i]);
		list_planes(c, g, planes);
		place_anchors(context, c, &(plane_list){ planes, NULL, 0 }, inside, g);
	}
	cr_free(context, planes, plane_bytes);
	return enough;
}

/// Everything over the cells, once they are placed. false: out of memory.
static bool fill_grid(carom_context *context, const cr_collider *c, cr_grid *g)
{
	const size_t cells = (size_t)cell_count(g);
	span_list spans = { 0 };
	g->cells = cr_alloc(context, cells + CR_GRID_PADDING);
	g->words = cr_alloc_zero(context, (size_t)word_count(g) * sizeof *g->words);
	if (!g->cells || !g->words)
		return false;
	memset(g->cells + cells, PADDING_BYTE, CR_GRID_PADDING);
	int inside = 0;
	const bool enough = mark_triangles(context, c, g, &spans) && measure_distances(context, g) &&
		classify(context, c, g, spans.count, &inside) && list_touched(context, c, &spans, inside, g);
	cr_array_free(context, &spans);
	return enough;
}

carom_result cr_grid_build(carom_context *context, const cr_collider *c, int32_t resolution, cr_grid *grid)
{
	*grid = (cr_grid){ 0 };
	cr_grid g = { 0 };
	const int32_t cells = resolution < 0 ? resolution_by_size(c->triangle_count) : resolution;
	if (cells == 0)
		return CAROM_SUCCESS;
	place_grid(c, cells, &g);
	if (!is_usable(&g) || g.cell < c->scale * 0x1p-16f) // go without
		return CAROM_SUCCESS;
	if (!fill_grid(context, c, &g)) {
		cr_grid_free(context, &g);
		return cr_fail_memory(context, "the grid of a mesh");
	}
	*grid = g;
	return CAROM_SUCCESS;
}

// ---- Refitting ----
//
// All triangles that changed lie in one box of cells, as they were and as they are. Only cells of
// that box are touched otherwise or change sides.

/// A word as it was.
typedef struct old_word {
	int64_t index;
	uint64_t touched;
} old_word;

/// A cell as it was.
typedef struct old_cell {
	int32_t cell;
	uint8_t byte;
} old_cell;

/// A grid that is brought up to date. All that may fail comes first, so that a failure leaves the
/// grid as it was.
typedef struct refit {
	carom_context *context;
	const cr_collider *collider;
	cr_grid *grid;
	cell_range box;
	span_list spans; // of the triangles that touch the box, within it
	int32_t *blocks; // [block_count] that may hold such triangles
	int32_t block_count;
	cr_key *numbers; // [2 * 8 * block_count] of those triangles, sorted
	int64_t number_count;
	exact_plane *planes; // [number_count]
	old_word *words;     // [word_room] those with cells of the box, rising
	int64_t word_count;
	int64_t word_room;
	CR_ARRAY(old_cell) changed; // whose distances do, as often as they do
	CR_ARRAY(cr_key) starts;    // [2 * count] cells that distances spread from, by these
	bool failed;                // out of memory
} refit;

bool cr_grid_holds(const cr_collider *c, const cr_grid *g)
{
	bool holds = true;
	for (int k = 0; k < 3; k++) {
		const float last = g->origin[k] + (float)(g->size[k] - 1) * g->cell;
		holds = holds && c->lower[k] >= g->origin[k] + 1.01f * g->cell && c->upper[k] <= last - 0.01f * g->cell;
	}
	return holds;
}

static bool are_apart(const cell_range *a, const cell_range *b)
{
	for (int k = 0; k < 3; k++) {
		if (a->last[k] < b->first[k] || b->last[k] < a->first[k])
			return true;
	}
	return false;
}

static bool is_in(const cell_range *r, int32_t x, int32_t y, int32_t z)
{
	return x >= r->first[0] && x <= r->last[0] && y >= r->first[1] && y <= r->last[1] && z >= r->first[2] && z <= r->last[2];
}

static bool is_touched(const cr_grid *g, int64_t cell) { return g->words[cell / 64].touched >> (cell & 63) & 1; }

static void clear_touched(cr_grid *g, const cell_range *box)
{
	for (int32_t z = box->first[2]; z <= box->last[2]; z++) {
		for (int32_t y = box->first[1]; y <= box->last[1]; y++) {
			for (int64_t i = cell_index(g, box->first[0], y, z), end = i + box->last[0] - box->first[0]; i <= end; i++)
				g->words[i / 64].touched &= ~((uint64_t)1 << (i & 63));
		}
	}
}

/// List the triangles that may touch the box, in order, with their planes. false: out of memory.
static bool list_triangles_of_box(refit *r)
{
	const cr_collider *c = r->collider;
	const cr_grid *g = r->grid;
	const cr_bvh_kernels *kernels = cr_get_bvh_kernels(r->context->simd);
	float lower[3], upper[3];
	for (int k = 0; k < 3; k++) {
		lower[k] = g->origin[k] + ((float)r->box.first[k] - 0.1f) * g->cell;
		upper[k] = g->origin[k] + ((float)r->box.last[k] + 1.1f) * g->cell;
	}
	r->block_count = kernels->blocks_in_box(c, lower, upper, 0, NULL);
	r->blocks = cr_alloc_array(r->context, (size_t)r->block_count, sizeof *r->blocks);
	r->numbers = cr_alloc_array(r->context, 2 * CR_WIDTH * (size_t)r->block_count, sizeof *r->numbers);
	if (r->block_count > 0 && (!r->blocks || !r->numbers))
		return false;
	kernels->blocks_in_box(c, lower, upper, r->block_count, r->blocks);
	for (int32_t i = 0; i < r->block_count; i++) {
		const cr_tri8 *block = &c->blocks[r->blocks[i]];
		for (int lane = 0; lane < block->count; lane++) {
			v3d corner[3];
			cr_collider_triangle(c, block->number[lane], corner);
			const cell_range range = cells_around(g, corner);
			if (!are_apart(&range, &r->box))
				r->numbers[r->number_count++].key = (uint64_t)block->number[lane];
		}
	}
	cr_radix_sort(r->numbers, r->numbers + (size_t)r->block_count * CR_WIDTH, r->number_count, 32);
	r->planes = cr_alloc_array(r->context, (size_t)r->number_count, sizeof *r->planes);
	for (int64_t i = 0; r->planes && i < r->number_count; i++)
		r->planes[i] = plane_of_triangle(c, (int32_t)r->numbers[i].key);
	return r->planes || r->number_count == 0;
}

/// Note the words with cells of the box. false: out of memory.
static bool save_words(refit *r)
{
	const cr_grid *g = r->grid;
	const int32_t height = r->box.last[1] - r->box.first[1] + 1;
	const int64_t rows = (int64_t)height * (r->box.last[2] - r->box.first[2] + 1);
	r->word_room = rows * ((r->box.last[0] - r->box.first[0]) / 64 + 2);
	r->words = cr_alloc_array(r->context, (size_t)r->word_room, sizeof *r->words);
	int64_t next = 0;
	for (int64_t row = 0; r->words && row < rows; row++) {
		const int32_t y = r->box.first[1] + (int32_t)(row % height), z = r->box.first[2] + (int32_t)(row / height);
		const int64_t first = cell_index(g, r->box.first[0], y, z) / 64, last = cell_index(g, r->box.last[0], y, z) / 64;
		for (next = next > first ? next : first; next <= last; next++)
			r->words[r->word_count++] = (old_word){ next, g->words[next].touched };
	}
	return r->words != NULL;
}

static void restore_words(const refit *r)
{
	for (int64_t i = 0; i < r->word_count; i++)
		r->grid->words[r->words[i].index].touched = r->words[i].touched;
}

/// Copy the records of touched cells, word by word, to an array with room for so many more. false:
/// out of memory, with nothing done.
static bool widen_touched(refit *r, bool owned, int64_t more)
{
	cr_grid *g = r->grid;
	int64_t live = 0;
	for (int64_t w = 0; w < word_count(g); w++)
		live += __builtin_popcountll(g->words[w].touched);
	const int64_t most = live + live / 8 + more;
	cr_touched_cell *touched = cr_alloc_array(r->context, (size_t)most, sizeof *touched);
	if (!touched)
		return false;
	int64_t placed = 0;
	for (int64_t w = 0; w < word_count(g); w++) {
		const int64_t count = __builtin_popcountll(g->words[w].touched);
		if (count > 0)
			memcpy(touched + placed, g->touched + g->words[w].before, (size_t)count * sizeof *touched);
		g->words[w].before = placed;
		placed += count;
	}
	if (owned || g->touched_room > 0)
		cr_free(r->context, g->touched, cr_touched_bytes(g));
	g->touched = touched;
	g->touched_count = placed;
	g->touched_room = most;
	return true;
}

/// Make room for the records of all words that may need a new place. false: out of memory.
static bool reserve_touched(refit *r, bool owned)
{
	const int64_t more = 64 * r->word_count;
	return r->grid->touched_room - r->grid->touched_count >= more || widen_touched(r, owned, more);
}

/// Cut a span to the box. false: none of it is there.
static bool cut_span(const refit *r, span *s)
{
	int32_t at[3];
	cell_at(r->grid, s->first, at);
	if (at[1] < r->box.first[1] || at[1] > r->box.last[1] || at[2] < r->box.first[2] || at[2] > r->box.last[2])
		return false;
	const int32_t low = at[0] > r->box.first[0] ? at[0] : r->box.first[0], end = at[0] + s->count - 1;
	const int32_t high = end < r->box.last[0] ? end : r->box.last[0];
	s->first += low - at[0];
	s->count = high - low + 1;
	return s->count > 0;
}

/// Mark the touched cells of the box again. Triangles that reach beyond it mark cells there that
/// are marked. false: out of memory.
static bool mark_box(refit *r)
{
	clear_touched(r->grid, &r->box);
	int64_t kept = 0;
	for (int64_t i = 0; i < r->number_count; i++) {
		const int32_t number = (int32_t)r->numbers[i].key;
		v3d corner[3];
		cr_collider_triangle(r->collider, number, corner);
		if (!mark_triangle(r->context, r->grid, number, corner, &r->spans))
			return false;
		int64_t from = kept;
		for (int64_t k = from; k < r->spans.count; k++) {
			span s = r->spans.data[k];
			if (cut_span(r, &s))
				r->spans.data[kept++] = s;
		}
		r->spans.count = kept;
	}
	return true;
}

/// Place the records of a word again: those of cells of the box are empty, the others stay. A word
/// with more than before gets a place at the end.
static void place_word(const refit *r, const old_word *old)
{
	cr_grid *g = r->grid;
	cr_cell_word *word = &g->words[old->index];
	cr_touched_cell records[64];
	int count = 0;
	for (uint64_t rest = word->touched; rest != 0; rest &= rest - 1) {
		const int bit = __builtin_ctzll(rest);
		int32_t at[3];
		cell_at(g, (int32_t)(64 * old->index) + bit, at);
		const int64_t before = word->before + __builtin_popcountll(old->touched & (((uint64_t)1 << bit) - 1));
		records[count++] = is_in(&r->box, at[0], at[1], at[2]) ? (cr_touched_cell){ .count = 0 } : g->touched[before];
	}
	if (count > __builtin_popcountll(old->touched)) {
		word->before = g->touched_count;
		g->touched_count += count;
	}
	if (count > 0)
		memcpy(g->touched + word->before, records, (size_t)count * sizeof *records);
}

/// Make the records of the touched cells of the box again.
static void replace_touched(const refit *r)
{
	for (int64_t i = 0; i < r->word_count; i++)
		place_word(r, &r->words[i]);
	for (int64_t i = 0; i < r->spans.count; i++) {
		span s = r->spans.data[i];
		for (const int32_t end = s.first + s.count; s.first < end; s.first++)
			list_span(r->grid, &(span){ s.triangle, s.first, 1 });
	}
}

// ---- Distances that change ----
//
// The distance of a cell is one more than the least of the 26 cells around it. A cell at distance d
// keeps it as long as one of them is at d - 1 and keeps it. From the cells that are touched no more
// on, level by level, those are found that lose theirs. Then distances spread, from the cells
// around these and from those that are touched now, the nearest first. Both come to the distances
// of a whole build. Cost: some 26 looks at 26 cells for each that changes.

enum { LOST = CR_CELL_DISTANCE };

static int32_t distance_of(const cr_grid *g, int32_t cell) { return g->cells[cell] & CR_CELL_DISTANCE; }

/// List the cells around one, and itself, as far as there are any.
static int list_around(const cr_grid *g, int32_t cell, int32_t around[27])
{
	int32_t at[3];
	int count = 0;
	cell_at(g, cell, at);
	const int32_t low = at[0] > 0 ? -1 : 0, high = at[0] + 1 < g->size[0] ? 1 : 0;
	for (int32_t z = at[2] > 0 ? at[2] - 1 : 0; z <= at[2] + 1 && z < g->size[2]; z++) {
		for (int32_t y = at[1] > 0 ? at[1] - 1 : 0; y <= at[1] + 1 && y < g->size[1]; y++) {
			for (int32_t x = low; x <= high; x++)
				around[count++] = (int32_t)cell_index(g, at[0], y, z) + x;
		}
	}
	return count;
}

/// The least distance around a cell.
static int32_t least_around(const cr_grid *g, int32_t cell)
{
	int32_t around[27], least = LOST;
	const int count = list_around(g, cell, around);
	for (int i = 0; i < count; i++)
		least = distance_of(g, around[i]) < least ? distance_of(g, around[i]) : least;
	return least;
}

/// Give a cell another distance, and note its byte. Without memory nothing is done.
static void change_distance(refit *r, int32_t cell, int32_t distance)
{
	uint8_t *byte = &r->grid->cells[cell];
	if (r->failed || !cr_array_reserve_one(r->context, &r->changed)) {
		r->failed = true;
		return;
	}
	r->changed.data[r->changed.count++] = (old_cell){ cell, *byte };
	*byte = (uint8_t)((*byte & CR_CELL_INSIDE) | distance);
}

/// Add a cell that distances spread from.
static void add_start(refit *r, int32_t cell, int32_t distance)
{
	if (r->failed || !cr_array_reserve_one(r->context, &r->starts)) {
		r->failed = true;
		return;
	}
	r->starts.data[r->starts.count++] = (cr_key){ (uint64_t)distance, (uint32_t)cell };
}

/// Take the distances of the cells of a word that are touched no more, and begin at those that are
/// touched now.
static void compare_word(refit *r, const old_word *old)
{
	const uint64_t now = r->grid->words[old->index].touched;
	for (uint64_t rest = old->touched & ~now; rest != 0; rest &= rest - 1)
		change_distance(r, (int32_t)(64 * old->index) + __builtin_ctzll(rest), LOST);
	for (uint64_t rest = now & ~old->touched; rest != 0; rest &= rest - 1)
		add_start(r, (int32_t)(64 * old->index) + __builtin_ctzll(rest), 0);
}

/// Take the distances of all cells that do not keep theirs, by rising distance.
static void lose_distances(refit *r)
{
	const cr_grid *g = r->grid;
	for (int64_t i = 0; i < r->changed.count && !r->failed; i++) {
		const int32_t next = (r->changed.data[i].byte & CR_CELL_DISTANCE) + 1;
		int32_t around[27];
		const int count = next < FAR ? list_around(g, r->changed.data[i].cell, around) : 0;
		for (int k = 0; k < count; k++) {
			if (distance_of(g, around[k]) == next && least_around(g, around[k]) >= next)
				change_distance(r, around[k], LOST);
		}
	}
}

/// Let the distance of a cell spread to those around it.
static void spread_from(refit *r, int32_t cell)
{
	int32_t around[27];
	const int32_t next = distance_of(r->grid, cell) + 1;
	const int count = next < FAR ? list_around(r->grid, cell, around) : 0;
	for (int i = 0; i < count; i++) {
		if (distance_of(r->grid, around[i]) > next)
			change_distance(r, around[i], next);
	}
}

/// Let distances spread. Starts and the cells that they reach are two lists, each by rising
/// distance: the nearer one of both goes on.
static void spread_distances(refit *r)
{
	const int64_t count = r->starts.count;
	if (r->failed || !cr_array_reserve(r->context, &r->starts, 2 * count)) {
		r->failed = true;
		return;
	}
	cr_radix_sort(r->starts.data, r->starts.data + count, count, 7);
	int64_t at = 0, reached = r->changed.count;
	while (!r->failed && (at < count || reached < r->changed.count)) {
		const int32_t distance = at < count ? (int32_t)r->starts.data[at].key : LOST;
		const int32_t other = reached < r->changed.count ? distance_of(r->grid, r->changed.data[reached].cell) : LOST;
		if (at == count || other < distance) {
			spread_from(r, r->changed.data[reached++].cell);
			continue;
		}
		const int32_t cell = (int32_t)r->starts.data[at++].value;
		if (distance_of(r->grid, cell) > distance)
			change_distance(r, cell, distance);
		// At once: it is noted behind cells that may be farther away.
		if (distance_of(r->grid, cell) == distance)
			spread_from(r, cell);
	}
}

/// Bring distances up to date. false: out of memory, with the cells as they were.
static bool measure_again(refit *r)
{
	cr_grid *g = r->grid;
	for (int64_t i = 0; i < r->word_count; i++)
		compare_word(r, &r->words[i]);
	lose_distances(r);
	const int64_t lost = r->changed.count;
	for (int64_t i = 0; i < lost; i++) {
		const int32_t least = least_around(g, r->changed.data[i].cell);
		if (least < LOST)
			add_start(r, r->changed.data[i].cell, least < FAR ? least + 1 : FAR);
	}
	spread_distances(r);
	for (int64_t i = 0; i < lost && !r->failed; i++) {
		if (distance_of(g, r->changed.data[i].cell) == LOST)
			g->cells[r->changed.data[i].cell] -= LOST - FAR;
	}
	for (int64_t i = r->changed.count - 1; r->failed && i >= 0; i--)
		g->cells[r->changed.data[i].cell] = r->changed.data[i].byte;
	return !r->failed;
}

/// Is the side of a cell known, which is beyond the box or before the row (y, z) of it? Touched
/// cells have none.
static bool is_known(const refit *r, int32_t x, int32_t y, int32_t z, bool before)
{
	const cr_grid *g = r->grid;
	if (x < 0 || y < 0 || z < 0 || x >= g->size[0] || y >= g->size[1] || z >= g->size[2])
		return false;
	return (before || !is_in(&r->box, x, y, z)) && !is_touched(g, cell_index(g, x, y, z));
}

/// The side of cells first..end-1 of a row of the box, none of them touched: that of a cell beside
/// them, or a ray tells.
static uint8_t side_of_run(const refit *r, int32_t first, int32_t end, int32_t y, int32_t z)
{
	static const int32_t steps[4][2] = { { -1, 0 }, { 0, -1 }, { 1, 0 }, { 0, 1 } };
	const cr_grid *g = r->grid;
	if (is_known(r, first - 1, y, z, false))
		return g->cells[cell_index(g, first - 1, y, z)] & CR_CELL_INSIDE;
	if (is_known(r, end, y, z, false))
		return g->cells[cell_index(g, end, y, z)] & CR_CELL_INSIDE;
	for (int i = 0; i < 4; i++) {
		for (int32_t x = first; x < end; x++) {
			if (is_known(r, x, y + steps[i][0], z + steps[i][1], i < 2))
				return g->cells[cell_index(g, x, y + steps[i][0], z + steps[i][1])] & CR_CELL_INSIDE;
		}
	}
	float middle[3];
	middle_of(g, (int32_t[3]){ first, y, z }, middle);
	return cr_get_bvh_kernels(r->context->simd)->winding(r->collider, middle, DIRECTION) != 0 ? CR_CELL_INSIDE : 0;
}

/// Give the cells of the box that are not touched their sides.
static void set_sides_of_box(refit *r)
{
	cr_grid *g = r->grid;
	for (int32_t z = r->box.first[2]; z <= r->box.last[2]; z++) {
		for (int32_t y = r->box.first[1]; y <= r->box.last[1]; y++) {
			const int32_t row = (int32_t)cell_index(g, 0, y, z), last = row + r->box.last[0] + 1;
			for (int32_t at = row + r->box.first[0]; at < last;) {
				const int32_t first = next_cell(g, at, last, false), end = next_cell(g, first, last, true);
				memset(&g->cells[at], 0, (size_t)(first - at));
				const uint8_t side = first < end ? side_of_run(r, first - row, end - row, y, z) : 0;
				for (int32_t i = first; i < end; i++)
					g->cells[i] = (uint8_t)((g->cells[i] & CR_CELL_DISTANCE) | side);
				at = end;
			}
		}
	}
}

/// An inside cell, below the box or else anywhere; -1: there is none.
static int64_t find_inside(const refit *r)
{
	const cr_grid *g = r->grid;
	for (int32_t z = r->box.first[2] - 1; z >= 0; z--) {
		const int64_t i = cell_index(g, r->box.first[0], r->box.first[1], z);
		if (g->cells[i] & CR_CELL_INSIDE)
			return i;
	}
	const int64_t count = cell_count(g);
	for (int64_t i = 0; i < count; i++) {
		if (g->cells[i] & CR_CELL_INSIDE)
			return i;
	}
	return -1;
}

/// How often the surface winds around its inside; 0: not known.
static int winding_inside(const refit *r)
{
	int32_t cell[3];
	float middle[3];
	const int64_t at = find_inside(r);
	if (at < 0)
		return 0;
	cell_at(r->grid, (int32_t)at, cell);
	middle_of(r->grid, cell, middle);
	return cr_get_bvh_kernels(r->context->simd)->winding(r->collider, middle, DIRECTION);
}

static void place_anchors_of_box(refit *r, int inside)
{
	cr_grid *g = r->grid;
	const cr_bvh_kernels *kernels = cr_get_bvh_kernels(r->context->simd);
	const plane_list planes = { r->planes, r->numbers, r->number_count };
	for (int32_t z = r->box.first[2]; z <= r->box.last[2]; z++) {
		for (int32_t y = r->box.first[1]; y <= r->box.last[1]; y++) {
			for (int32_t x = r->box.first[0]; x <= r->box.last[0]; x++) {
				const int64_t i = cell_index(g, x, y, z);
				if (is_touched(g, i))
					place_anchor_of(kernels, r->collider, &planes, inside, g, (int32_t)i, cr_touched_cell_at(g, i));
			}
		}
	}
}

/// Everything. false: out of memory, with nothing done.
static bool refit_grid(refit *r, const cr_change *change, bool owned)
{
	cr_grid *g = r->grid;
	const v3d corners[3] = { v3d_from_floats(change->lower), v3d_from_floats(change->upper), v3d_from_floats(change->lower) };
	r->box = cells_around(g, corners);
	if (!list_triangles_of_box(r) || !save_words(r) || !reserve_touched(r, owned))
		return false;
	if (!mark_box(r) || !measure_again(r)) {
		restore_words(r);
		return false;
	}
	replace_touched(r);
	set_sides_of_box(r);
	for (int32_t i = 0; g->planes && i < change->triangle_count; i++)
		cr_work_out_plane(r->collider, change->triangles[i], g->planes[change->triangles[i]]);
	place_anchors_of_box(r, winding_inside(r));
	return true;
}

carom_result cr_grid_refit(carom_context *context, const cr_collider *c, const cr_change *change, bool owned, cr_grid *grid)
{
	refit r = { .context = context, .collider = c, .grid = grid };
	const bool done = refit_grid(&r, change, owned);
	cr_array_free(context, &r.spans);
	cr_free(context, r.blocks, (size_t)r.block_count * sizeof *r.blocks);
	cr_free(context, r.numbers, 2 * CR_WIDTH * (size_t)r.block_count * sizeof *r.numbers);
	cr_free(context, r.planes, (size_t)r.number_count * sizeof *r.planes);
	cr_free(context, r.words, (size_t)r.word_room * sizeof *r.words);
	cr_array_free(context, &r.changed);
	cr_array_free(context, &r.starts);
	return done ? CAROM_SUCCESS : cr_fail_memory(context, "the grid of a mesh");
}

void cr_grid_free(carom_context *context, cr_grid *g)
{
	cr_free(context, g->cells, (size_t)cell_count(g) + CR_GRID_PADDING);
	cr_free(context, g->words, (size_t)word_count(g) * sizeof *g->words);
	cr_free(context, g->touched, cr_touched_bytes(g));
	cr_free(context, g->planes, (size_t)g->plane_count * sizeof *g->planes);
	*g = (cr_grid){ 0 };
}

size_t cr_grid_bytes(const cr_grid *g)
{
	if (!g->cells)
		return 0;
	return (size_t)cell_count(g) + CR_GRID_PADDING + (size_t)word_count(g) * sizeof *g->words + cr_touched_bytes(g) +
		(size_t)g->plane_count * sizeof *g->planes;
}
