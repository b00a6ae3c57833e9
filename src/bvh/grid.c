/// The inside-outside grid: which cells of a closed mesh's box the surface touches, and on which side the others lie.
///
/// Cells that a triangle may touch are marked; what is left falls into pieces connected through faces, each wholly inside or
/// outside, and one winding number decides for a piece. Cost: cells + triangle-cell overlaps + one ray a piece. A refinement of
/// "only vertices inside the intersection of the bounding volumes cast a ray": the grid is a tighter bounding volume.

#include "bvh/bvh_kernels.h"
#include "geom/triangle.h"
#include <string.h>

// Before a cell has a side and a distance: no such pair, since distances stop one short of the mask.
static const uint8_t UNKNOWN = 0xff;
enum {
	FAR = CR_CELL_DISTANCE - 1,
	GATHER_PADDING = 3,  // wide look-ups read four bytes for one
	MAX_CELLS = 1 << 22, // wide look-ups count cells in floats, exact up to 2^24
};

static int64_t cell_count(const cr_grid *g) { return (int64_t)g->size[0] * g->size[1] * g->size[2]; }

// A box may be so flat or so small that cells mean nothing in float.
static bool is_usable(const cr_grid *g) { return g->cell > 0 && isfinite(g->inverse_cell); }

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
	} while (cell_count(g) > MAX_CELLS && resolution > 0);
}

/// Mark the cells that a triangle touches. Cells count as larger by a thousandth: far more than the rounding of the look-up.
static void mark_triangle(cr_grid *g, const v3d corner[3])
{
	int32_t first[3], last[3];
	for (int k = 0; k < 3; k++) {
		double lower = INFINITY, upper = -INFINITY;
		for (int c = 0; c < 3; c++) {
			lower = fmin(lower, v3d_get(corner[c], k));
			upper = fmax(upper, v3d_get(corner[c], k));
		}
		first[k] = (int32_t)((lower - g->origin[k]) / g->cell - 0.001);
		last[k] = (int32_t)((upper - g->origin[k]) / g->cell + 0.001);
		first[k] = first[k] < 0 ? 0 : first[k];
		last[k] = last[k] >= g->size[k] ? g->size[k] - 1 : last[k];
	}
	const double half = 0.501 * g->cell;
	const v3d extent = { half, half, half };
	for (int32_t z = first[2]; z <= last[2]; z++) {
		for (int32_t y = first[1]; y <= last[1]; y++) {
			for (int32_t x = first[0]; x <= last[0]; x++) {
				const v3d centre = { g->origin[0] + (x + 0.5) * g->cell, g->origin[1] + (y + 0.5) * g->cell,
					g->origin[2] + (z + 0.5) * g->cell };
				uint8_t *cell = &g->cells[((int64_t)z * g->size[1] + y) * g->size[0] + x];
				if (*cell != 0 && cr_triangle_box_overlap(centre, extent, corner[0], corner[1], corner[2]))
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

static void classify(carom_context *context, const cr_collider *c, cr_grid *g, int32_t *stack)
{
	const cr_bvh_kernels *kernels = cr_get_bvh_kernels(context->simd);
	// Not along an axis: meshes love axes, and then every edge would need the exact signs.
	const float direction[3] = { 0.5f, 0.7f, 0.3f };
	for (int64_t i = 0; i < cell_count(g); i++) {
		if (g->cells[i] != UNKNOWN)
			continue;
		const int64_t at[3] = { i % g->size[0], i / g->size[0] % g->size[1], i / g->size[0] / g->size[1] };
		float centre[3];
		for (int k = 0; k < 3; k++)
			centre[k] = g->origin[k] + ((float)at[k] + 0.5f) * g->cell;
		const bool inside = kernels->winding(c, centre, direction) != 0;
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
		cr_free(context, g.cells, cells + GATHER_PADDING);
		cr_free(context, stack, cells * sizeof *stack);
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
	*grid = g;
	return CAROM_SUCCESS;
}

void cr_grid_free(carom_context *context, cr_grid *g)
{
	cr_free(context, g->cells, (size_t)cell_count(g) + GATHER_PADDING);
	*g = (cr_grid){ 0 };
}
