/// The inside-outside grid: which cells of a closed mesh's box the surface touches, and on which side the others lie.
///
/// Cells that a triangle may touch are marked; the remaining cells fall into pieces connected through faces, each wholly inside or
/// outside, and one winding number decides for a piece. Cost: cells + triangle-cell overlaps + one ray a piece. A refinement of
/// "only vertices inside the intersection of the bounding volumes cast a ray": the grid is a tighter bounding volume.

#include "bvh/bvh_kernels.h"
#include "geom/triangle.h"
#include <stdlib.h>
#include <string.h>

// Before a cell has a side and a distance: no such pair, since distances stop one short of the mask.
static const uint8_t UNKNOWN = 0xff;
enum {
	FAR = CR_CELL_DISTANCE - 1,
	GATHER_PADDING = 3,  // wide look-ups read four bytes for one
	MAX_CELLS = 1 << 22, // wide look-ups count cells in floats, exact up to 2^24
	// The most cells that the boxes of all triangles may touch, counted once for each. Meshes of even triangles touch 10 to 30 each.
	OVERLAPS = 1 << 22,
	OVERLAPS_PER_CELL = 16,
	OVERLAPS_PER_TRIANGLE = 256,
};

static int64_t cell_count(const cr_grid *g) { return (int64_t)g->size[0] * g->size[1] * g->size[2]; }

// A box may be so flat or so small that cells mean nothing in float.
static bool is_usable(const cr_grid *g) { return g->cell > 0 && isfinite(g->inverse_cell); }

/// The cells that the box of a triangle touches.
typedef struct cell_range {
	int32_t first[3];
	int32_t last[3];
} cell_range;

static cell_range cells_around(const cr_grid *g, const v3d corner[3])
{
	cell_range range;
	for (int k = 0; k < 3; k++) {
		double lower = INFINITY, upper = -INFINITY;
		for (int c = 0; c < 3; c++) {
			lower = fmin(lower, v3d_get(corner[c], k));
			upper = fmax(upper, v3d_get(corner[c], k));
		}
		const int32_t first = (int32_t)((lower - g->origin[k]) / g->cell - 0.001);
		const int32_t last = (int32_t)((upper - g->origin[k]) / g->cell + 0.001);
		range.first[k] = first < 0 ? 0 : first;
		range.last[k] = last >= g->size[k] ? g->size[k] - 1 : last;
	}
	return range;
}

/// Do the boxes of the triangles touch more cells than a grid is worth? Where they are long against their distances these are far more
/// than the cells or the triangles: a field of 10,000 x 2 samples, 1 mm and 1 km apart, took 82 s.
static bool overlaps_are_many(const cr_collider *c, const cr_grid *g)
{
	int64_t overlaps = 0;
	for (int32_t i = 0; i < c->triangle_count; i++) {
		v3d corner[3];
		cr_collider_triangle(c, c->triangle_number[i], corner);
		const cell_range r = cells_around(g, corner);
		int64_t cells = 1;
		for (int k = 0; k < 3; k++)
			cells *= r.last[k] - r.first[k] + 1;
		overlaps += cells;
	}
	return overlaps > OVERLAPS + OVERLAPS_PER_CELL * cell_count(g) + OVERLAPS_PER_TRIANGLE * (int64_t)c->triangle_count;
}

/// Choose the cells: as many as are asked for along the longest side, or fewer until neither they nor the work is too much.
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
			// One empty layer all round, so that the outside is one piece and rounding cannot step off the grid.
			g->size[k] = (int32_t)((c->upper[k] - c->lower[k]) * g->inverse_cell) + 4;
			g->origin[k] = c->lower[k] - 1.5f * g->cell;
		}
		resolution = resolution * 15 / 16;
	} while (resolution > 0 && (cell_count(g) > MAX_CELLS || overlaps_are_many(c, g)));
}

/// Cells count as larger by a thousandth on each side.
static bool touches(const cr_grid *g, int32_t x, int32_t y, int32_t z, const v3d corner[3])
{
	const double half = 0.501 * g->cell;
	const v3d extent = { half, half, half };
	const v3d centre = { g->origin[0] + (x + 0.5) * g->cell, g->origin[1] + (y + 0.5) * g->cell,
		g->origin[2] + (z + 0.5) * g->cell };
	return cr_triangle_box_overlap(centre, extent, corner[0], corner[1], corner[2]);
}

static int64_t cell_index(const cr_grid *g, int32_t x, int32_t y, int32_t z)
{
	return ((int64_t)z * g->size[1] + y) * g->size[0] + x;
}

/// Mark the cells that a triangle touches.
static void mark_triangle(cr_grid *g, const v3d corner[3])
{
	const cell_range r = cells_around(g, corner);
	for (int32_t z = r.first[2]; z <= r.last[2]; z++) {
		for (int32_t y = r.first[1]; y <= r.last[1]; y++) {
			for (int32_t x = r.first[0]; x <= r.last[0]; x++) {
				uint8_t *cell = &g->cells[cell_index(g, x, y, z)];
				if (*cell != 0 && touches(g, x, y, z, corner))
					*cell = 0;
			}
		}
	}
}

/// Give a whole piece its side.
static void flood(cr_grid *g, int64_t seed, uint8_t side, int32_t *stack)
{
	const int64_t step[3] = { 1, g->size[0], (int64_t)g->size[0] * g->size[1] };
	int64_t top = 0;
	g->cells[seed] = side;
	stack[top++] = (int32_t)seed;
	while (top > 0) {
		const int64_t cell = stack[--top];
		const int64_t at[3] = { cell % g->size[0], cell / step[1] % g->size[1], cell / step[2] };
		for (int k = 0; k < 3; k++) {
			for (int d = -1; d <= 1; d += 2) {
				if (at[k] + d < 0 || at[k] + d >= g->size[k])
					continue;
				const int64_t next = cell + d * step[k];
				if (g->cells[next] == UNKNOWN) {
					g->cells[next] = side;
					stack[top++] = (int32_t)next;
				}
			}
		}
	}
}

static void cell_at(const cr_grid *g, int64_t index, int32_t cell[3])
{
	const int64_t row = index / g->size[0];
	cell[0] = (int32_t)(index % g->size[0]);
	cell[1] = (int32_t)(row % g->size[1]);
	cell[2] = (int32_t)(row / g->size[1]);
}

// Not along an axis: meshes love axes, and then every edge would need the exact signs.
static const float DIRECTION[3] = { 0.5f, 0.7f, 0.3f };

static void classify(carom_context *context, const cr_collider *c, cr_grid *g, int32_t *stack)
{
	const cr_bvh_kernels *kernels = cr_get_bvh_kernels(context->simd);
	for (int64_t i = 0; i < cell_count(g); i++) {
		if (g->cells[i] != UNKNOWN)
			continue;
		int32_t cell[3];
		float centre[3];
		cell_at(g, i, cell);
		for (int k = 0; k < 3; k++)
			centre[k] = g->origin[k] + ((float)cell[k] + 0.5f) * g->cell;
		const bool inside = kernels->winding(c, centre, DIRECTION) != 0;
		flood(g, i, (uint8_t)((inside ? CR_CELL_INSIDE : 0) | FAR), stack);
	}
}

/// Chebyshev distances to the touched cells by one sweep forward and one backward, 13 neighbours each (Rosenfeld, Pfaltz,
/// Distance Functions on Digital Pictures, 1968).
static void measure_distances(cr_grid *g)
{
	const int64_t count = cell_count(g);
	for (int pass = 0; pass < 2; pass++) {
		for (int64_t n = 0; n < count; n++) {
			const int64_t i = pass == 0 ? n : count - 1 - n;
			const int direction = pass == 0 ? -1 : 1;
			int best = g->cells[i] & CR_CELL_DISTANCE;
			if (best == 0)
				continue;
			const int64_t x = i % g->size[0], y = i / g->size[0] % g->size[1], z = i / g->size[0] / g->size[1];
			for (int step = 1; step <= 13; step++) {
				// The 13 neighbours that come before (after) a cell: offsets 1..13 in base 3 around the centre 13.
				const int code = 13 + step;
				const int64_t nx = x + direction * (code % 3 - 1), ny = y + direction * (code / 3 % 3 - 1),
							  nz = z + direction * (code / 9 - 1);
				if (nx < 0 || ny < 0 || nz < 0 || nx >= g->size[0] || ny >= g->size[1] || nz >= g->size[2])
					continue;
				const int other = (g->cells[(nz * g->size[1] + ny) * g->size[0] + nx] & CR_CELL_DISTANCE) + 1;
				best = other < best ? other : best;
			}
			g->cells[i] = (uint8_t)((g->cells[i] & CR_CELL_INSIDE) | best);
		}
	}
}

// ---- Touched cells ----

static int64_t word_count(const cr_grid *g) { return (cell_count(g) + 63) / 64; }

/// Number the touched cells.
static void number_touched(cr_grid *g)
{
	for (int64_t w = 0; w < word_count(g); w++) {
		g->words[w] = (cr_cell_word){ 0, g->touched_count };
		for (int64_t i = 64 * w; i < 64 * w + 64 && i < cell_count(g); i++) {
			const bool touched = g->cells[i] == 0;
			g->words[w].touched |= (uint64_t)touched << (i & 63);
			g->touched_count += touched;
		}
	}
}

/// Add a triangle to the cells that it touches; one triangle too many is counted, so that the list is known to be too long.
static void list_triangle(const cr_grid *g, int32_t number, const v3d corner[3])
{
	const cell_range r = cells_around(g, corner);
	for (int32_t z = r.first[2]; z <= r.last[2]; z++) {
		for (int32_t y = r.first[1]; y <= r.last[1]; y++) {
			for (int32_t x = r.first[0]; x <= r.last[0]; x++) {
				const int64_t index = cell_index(g, x, y, z);
				if (g->cells[index] != 0)
					continue;
				cr_touched_cell *cell = cr_touched_cell_at(g, index);
				if (cell->count > CR_CELL_TRIANGLES || !touches(g, x, y, z, corner))
					continue;
				if (cell->count < CR_CELL_TRIANGLES)
					cell->triangle[cell->count] = number;
				cell->count++;
			}
		}
	}
}

/// Outward unit normal and offset. false: its direction is lost in rounding.
static bool plane_of(const v3d corner[3], v3d *normal, double *offset)
{
	const v3d e = v3d_sub(corner[1], corner[0]), f = v3d_sub(corner[2], corner[0]), n = v3d_cross(e, f);
	const double length = v3d_length(n);
	if (length <= 1e-8 * v3d_length(e) * v3d_length(f))
		return false;
	*normal = v3d_scale(n, 1 / length);
	*offset = v3d_dot(*normal, corner[0]);
	return true;
}

/// On which side of its triangles the anchor of a listed cell lies. false: too near one of them, or their planes, for floats to
/// tell, or for the winding number around it.
static bool place_anchor(const cr_collider *c, const float anchor[3], cr_touched_cell *cell)
{
	for (int i = 0; i < cell->count; i++) {
		v3d corner[3], normal;
		double offset;
		cr_collider_triangle(c, cell->triangle[i], corner);
		if (!plane_of(corner, &normal, &offset))
			return false;
		const double height = v3d_dot(normal, v3d_from_floats(anchor)) - offset;
		if (fabs(height) <= c->scale * 0x1p-18)
			return false;
		cell->above |= (uint8_t)((height > 0) << i);
	}
	return true;
}

/// The sides and windings of the anchors of the touched cells; where these cannot be told, or a thousandth of a cell is less than
/// the rounding of coordinates, the list is dropped.
static void place_anchors(carom_context *context, const cr_collider *c, cr_grid *g)
{
	const cr_bvh_kernels *kernels = cr_get_bvh_kernels(context->simd);
	const bool coarse = g->cell >= c->scale * 0x1p-13f;
	for (int64_t i = 0; i < cell_count(g); i++) {
		if (g->cells[i] != 0)
			continue;
		cr_touched_cell *cell = cr_touched_cell_at(g, i);
		int32_t at[3];
		float anchor[3];
		cell_at(g, i, at);
		cr_anchor_of_cell(g, at, anchor);
		int winding = INT16_MAX;
		if (coarse && cell->count <= CR_CELL_TRIANGLES && place_anchor(c, anchor, cell))
			winding = kernels->winding(c, anchor, DIRECTION);
		cell->winding = (int16_t)winding;
		if (abs(winding) >= INT16_MAX)
			cell->count = 0;
	}
}

static void list_planes(const cr_collider *c, cr_grid *g)
{
	for (int32_t i = 0; i < c->triangle_count; i++) {
		const int32_t number = c->triangle_number[i];
		v3d corner[3], normal;
		double offset;
		cr_collider_triangle(c, number, corner);
		list_triangle(g, number, corner);
		if (!plane_of(corner, &normal, &offset))
			continue;
		const double plane[4] = { normal.x, normal.y, normal.z, offset };
		for (int k = 0; k < 4; k++)
			g->planes[number][k] = (float)plane[k];
	}
}

/// What the touched cells know. false: out of memory.
static bool list_touched(carom_context *context, const cr_collider *c, cr_grid *g)
{
	g->words = cr_alloc_array(context, (size_t)word_count(g), sizeof *g->words);
	if (!g->words)
		return false;
	number_touched(g);
	g->touched = cr_alloc_zero(context, (size_t)g->touched_count * sizeof *g->touched);
	g->plane_count = c->topology->triangle_count;
	g->planes = cr_alloc_zero(context, (size_t)g->plane_count * sizeof *g->planes);
	if (!g->touched || !g->planes)
		return false;
	list_planes(c, g);
	place_anchors(context, c, g);
	return true;
}

carom_result cr_grid_build(carom_context *context, const cr_collider *c, int32_t resolution, cr_grid *grid)
{
	*grid = (cr_grid){ 0 };
	cr_grid g = { 0 };
	place_grid(c, resolution, &g);
	if (!is_usable(&g) || g.cell < c->scale * 0x1p-16f) // go without
		return CAROM_SUCCESS;
	const size_t cells = (size_t)cell_count(&g);
	g.cells = cr_alloc(context, cells + GATHER_PADDING);
	int32_t *stack = cr_alloc_array(context, cells, sizeof *stack);
	if (!g.cells || !stack) {
		cr_free(context, stack, cells * sizeof *stack);
		cr_grid_free(context, &g);
		return cr_fail_memory(context, "the grid of a mesh");
	}
	memset(g.cells, UNKNOWN, cells + GATHER_PADDING);
	for (int32_t i = 0; i < c->triangle_count; i++) {
		v3d corner[3];
		cr_collider_triangle(c, c->triangle_number[i], corner);
		mark_triangle(&g, corner);
	}
	classify(context, c, &g, stack);
	measure_distances(&g);
	cr_free(context, stack, cells * sizeof *stack);
	if (!list_touched(context, c, &g)) {
		cr_grid_free(context, &g);
		return cr_fail_memory(context, "the grid of a mesh");
	}
	*grid = g;
	return CAROM_SUCCESS;
}

void cr_grid_free(carom_context *context, cr_grid *g)
{
	cr_free(context, g->cells, (size_t)cell_count(g) + GATHER_PADDING);
	cr_free(context, g->words, (size_t)word_count(g) * sizeof *g->words);
	cr_free(context, g->touched, (size_t)g->touched_count * sizeof *g->touched);
	cr_free(context, g->planes, (size_t)g->plane_count * sizeof *g->planes);
	*g = (cr_grid){ 0 };
}

size_t cr_grid_bytes(const cr_grid *g)
{
	if (!g->cells)
		return 0;
	return (size_t)cell_count(g) + (size_t)word_count(g) * sizeof *g->words + (size_t)g->touched_count * sizeof *g->touched +
		(size_t)g->plane_count * sizeof *g->planes;
}
