/// A triangle mesh made ready for detection: trees over its triangles and over its samples, and the
/// inside-outside grid. It changes only where its mesh does (cr_collider_refit_trees). All bodies
/// of the mesh share it.
#ifndef CR_BVH_COLLIDER_H
#define CR_BVH_COLLIDER_H

#include "geom/triangle.h"
#include "mesh/fans.h"
#include "mesh/refit.h"
#include "tree/tree.h"
#include <string.h>

/// Up to eight triangles, structure of arrays. Unused lanes repeat the first triangle and are
/// masked off by count.
typedef struct cr_tri8 {
	float corner[3][3][CR_WIDTH]; // corner, axis, lane
	int32_t number[CR_WIDTH];     // in file order
	int32_t count;
	int32_t padding[7];
} cr_tri8;

/// Blocks without gaps that hold all triangles of a collider of few (cr_pack_triangles).
enum { CR_PACKED_BLOCKS = 8 };

/// The neighbours across the edges of the triangles of a block. Triangles have places besides their
/// numbers: place 8 * block + lane.
typedef struct cr_across8 {
	// place across the edge from corner k to corner k + 1, by lane; -1 at a border
	int32_t edge[3][CR_WIDTH];
} cr_across8;

/// Up to eight points of a surface that may cast rays: the vertices of a mesh, or samples of a
/// volume's surface.
typedef struct cr_sample8 {
	float point[3][CR_WIDTH];
	float inward[3][CR_WIDTH]; // unit: opposite of the vertex normal
	// how far the inward ray travels in its own body (design, "Data"); infinite when open
	float exit[CR_WIDTH];
	int32_t number[CR_WIDTH]; // vertex in file order
	int32_t count;
	int32_t padding[7];
} cr_sample8;

/// Cells of the inside-outside grid: the facts about all points in a cell.
enum {
	CR_CELL_INSIDE = 0x80, // bit: inside the solid; the rest is a distance
	// Chebyshev distance in cells to the nearest cell that the surface touches; 0: this one is
	CR_CELL_DISTANCE = 0x7f,
};

enum {
	CR_GRID_MAX_ROW = 1024 + 4,  // cells along a side
	CR_GRID_MAX_CELLS = 1 << 22, // wide look-ups count cells in floats, exact up to 2^24
	CR_GRID_PADDING = 3,         // bytes behind the cells: wide look-ups read four bytes for one
};

// Triangles listed for a cell that the surface touches: a cell of the default grid is touched by
// one or two triangles of a mesh of a thousand, by six or seven at a vertex.
enum { CR_CELL_TRIANGLES = 7 };

/// A cell that the surface touches, and all triangles that do: how often the surface winds around a
/// point of the cell follows from the triangles between it and the cell's anchor.
typedef struct cr_touched_cell {
	int32_t triangle[CR_CELL_TRIANGLES]; // in file order
	// 0: not listed, for they are too many or one is too near the anchor to tell its side
	uint8_t count;
	uint8_t above;   // bits of the triangles that the anchor lies outside of
	int16_t winding; // of the surface around the anchor
} cr_touched_cell;

/// Which of 64 cells are touched, and how many are before them.
typedef struct cr_cell_word {
	uint64_t touched;
	int64_t before;
} cr_cell_word;

/// A uniform grid over the box of a closed mesh. A point in a cell at distance d >= 1 is at least
/// (d-1) cells from the surface and on the side that the bit says: most vertices near a body need
/// no ray to be known outside it. For those in touched cells the triangles there tell (cr_side_of).
typedef struct cr_grid {
	float origin[3];
	float inverse_cell;
	float cell;
	int32_t size[3];
	uint8_t *cells;           // [size[2]][size[1]][size[0]]; NULL: no grid
	cr_cell_word *words;      // [cells / 64, rounded up]
	cr_touched_cell *touched; // [touched_count] in the order of the cells
	int64_t touched_count;
	int64_t touched_room; // of touched, once an edit has changed it; else 0
	// [plane_count] outward unit normal and offset of each triangle, in file order; none of a lean
	// collider (cr_work_out_plane)
	float (*planes)[4];
	int32_t plane_count;
} cr_grid;

/// Eight boxes that enclose part of a mesh.
typedef struct cr_outline8 {
	float lower[3][CR_WIDTH];
	float upper[3][CR_WIDTH];
} cr_outline8;

/// The class of lengths (cr_length_class) that half of the triangles reach.
typedef struct cr_median {
	uint32_t number;
	int32_t shorter; // triangles of the classes before it
	int32_t within;  // triangles of it; 0: the class is not known
} cr_median;

typedef struct cr_collider {
	const cr_topology *topology; // not owned
	// not owned: of a topology that stores no normals; else NULL. Then the samples' inward
	// directions and exits are not up to date either: a ray that needs them works them out.
	const cr_fans *fans;
	carom_mesh_build build; // of the trees
	float lower[3];         // exact box of the triangles in use
	float upper[3];
	float scale;    // largest |coordinate|
	float diagonal; // of the box
	float extent;   // the same of most of the triangles: strays do not count
	// of a collider that was built here, not loaded: the extent comes from it
	cr_median median;
	bool closed;
	// Of a field: planes of the grid and exits of samples are worked out when they are asked for,
	// not stored. Few ever are, and an edit need not look for those that it changes. Where all
	// triangles are in use there are no triangle_number, binary tree and lists of blocks either.
	bool lean;
	// of tree, blocks and across: another one after each change (cr_next_serial)
	uint64_t revision;
	int32_t triangle_count; // in use
	// [triangle_count] in file order, by primitive of the binary tree; NULL: their own numbers
	// (cr_used_triangle)
	int32_t *triangle_number;
	cr_tree2 binary;
	cr_tree8 tree;
	cr_tri8 *blocks;    // [tree.block_count]
	cr_across8 *across; // [tree.block_count]
	// [topology->triangle_count] place of a triangle by its number; -1: left out
	int32_t *place;
	// [outline_count] boxes two levels below the root: a turned mesh fills them far better than its
	// one box
	cr_outline8 *outline;
	int32_t outline_count; // at most CR_WIDTH
	int32_t sample_count;
	cr_tree8 sample_tree;
	cr_sample8 *samples; // [sample_tree.block_count]
	cr_grid grid;
} cr_collider;

/// Surface points that cast rays, arrays of count elements; number: by which contacts name them.
typedef struct cr_sample_set {
	const float *points;    // [3*count]
	const float *normals;   // [3*count] unit outward; zero: undefined, no ray is cast
	const int32_t *numbers; // negative: left out
	int32_t count;
} cr_sample_set;

/// A triangle in use, by its number among them: its number in file order.
static inline int32_t cr_used_triangle(const cr_collider *c, int32_t i)
{
	return c->triangle_number ? c->triangle_number[i] : i;
}

/// Do a few triangles lie so far from most that floats good for them are too rough for the others?
static inline bool cr_is_uneven(const cr_collider *c) { return c->extent < 0.125f * c->diagonal; }

/// Build everything over a topology, which must outlive the collider. samples NULL: the welded
/// vertices of the used triangles. grid_resolution as in carom_mesh_def. On failure the collider is
/// empty.
carom_result cr_collider_build(carom_context *context, const cr_topology *topology, bool closed, const cr_sample_set *samples,
	int32_t grid_resolution, carom_mesh_build build, cr_collider *collider);
/// cr_collider_build over the vertices of a field, lean. rows: of its samples, if all triangles and
/// vertices are in use and first come two triangles for each cell; else NULL.
carom_result cr_collider_build_lean(
	carom_context *context, const cr_topology *topology, const cr_rows *rows, int32_t grid_resolution, cr_collider *collider);
/// Make the binary tree again of a collider that has none, as cr_collider_build_lean made it. On
/// failure the tree is empty.
carom_result cr_collider_binary(carom_context *context, const cr_collider *collider, const cr_rows *rows, cr_tree2 *binary);
void cr_collider_free(carom_context *context, cr_collider *collider);
/// Bring trees, samples, boxes and lengths up to date, near the change alone, of a collider whose
/// topology was refitted. Takes no memory. Done once more after the vertices moved back, it undoes
/// itself; only boxes of the wide tree may stay larger than they need be. Exits and grid are not
/// touched. Returns the nodes of trees that were refitted.
int32_t cr_collider_refit_trees(cr_collider *collider, const cr_change *change);
/// List the surroundings of vertices that are to move, before they do. CAROM_OUT_OF_MEMORY leaves
/// nothing to free.
carom_result cr_collider_surroundings(
	carom_context *context, const cr_collider *collider, const int32_t *vertices, int32_t count, cr_surroundings *surroundings);

/// Build a collider without places across edges, samples, exits, grid and binary tree: all that
/// queries need.
carom_result cr_collider_build_tree(
	carom_context *context, const cr_topology *topology, bool closed, carom_mesh_build build, cr_collider *collider);
/// Copy that part of a collider, for a topology of the same triangles, of which the same ones are
/// in use (collider_moving.c). On failure the copy is empty.
carom_result cr_collider_copy_tree(
	carom_context *context, const cr_collider *from, const cr_topology *topology, bool closed, cr_collider *collider);
/// Bring a collider that stores no normals up to date all of whose vertices have moved: boxes,
/// blocks, and the places of its samples, if it has some. strays: some vertices belong to no
/// triangle in use, and may lie anywhere. Takes no memory. Returns false where a triangle in use
/// has lost its area: then the collider is only good to be freed (collider_moving.c).
bool cr_collider_refit_all(carom_simd simd, bool strays, cr_collider *collider);

/// Bring a closed collider up to date all of whose vertices have moved, as cr_collider_build makes
/// it, but for its binary tree and grid, which it does not have. points: those of the samples, by
/// number, whose normals stay. Takes no memory; false as of cr_collider_refit_all.
bool cr_collider_refit_sampled(carom_context *context, const float *points, cr_collider *collider);

/// Lengths of triangles are told apart by the leading bits of the float: by an eighth at most.
enum { CR_LENGTH_SHIFT = 20, CR_LENGTHS = 0x7f800000 >> CR_LENGTH_SHIFT };
static inline uint32_t cr_length_class(float length)
{
	uint32_t bits;
	memcpy(&bits, &length, sizeof bits);
	const uint32_t number = bits >> CR_LENGTH_SHIFT;
	return number < CR_LENGTHS ? number : CR_LENGTHS - 1;
}
/// Set diagonal and extent from the box and the number of triangles of each class of lengths.
void cr_collider_measure_extent(cr_collider *collider, const int32_t lengths[CR_LENGTHS]);
/// Bring the outline up to date, for which there is room, from the tree.
void cr_collider_outline(cr_collider *collider);

/// Bytes held.
size_t cr_collider_bytes(const cr_collider *collider);

/// Make the grid of a closed collider whose trees are ready; resolution as in carom_mesh_def
/// (grid.c).
carom_result cr_grid_build(carom_context *context, const cr_collider *collider, int32_t resolution, cr_grid *grid);
/// Does the surface still lie in the space of the cells? (grid.c)
bool cr_grid_holds(const cr_collider *collider, const cr_grid *grid);
/// Bring the grid of a collider up to date that has changed otherwise, near the change. owned:
/// touched may be freed where it becomes too small; one that an edit made always may. On failure
/// the grid is as it was. (grid.c)
carom_result cr_grid_refit(
	carom_context *context, const cr_collider *collider, const cr_change *change, bool owned, cr_grid *grid);
/// The bytes of the records of touched cells.
static inline size_t cr_touched_bytes(const cr_grid *g)
{
	return (size_t)(g->touched_room > 0 ? g->touched_room : g->touched_count) * sizeof *g->touched;
}
void cr_grid_free(carom_context *context, cr_grid *grid);
/// Bytes held.
size_t cr_grid_bytes(const cr_grid *grid);

// In cells, how far from its middle a cell reaches along an axis: half a cell, and far more than
// the rounding of the look-up. Triangles touch a cell when they do so with twice as much.
#define CR_CELL_REACH 0.5005f

// Where the anchor of a cell is, in cells: not in the middle, where the lowest sides of a block
// lie.
static const float CR_CELL_ANCHOR[3] = { 0.61f, 0.57f, 0.53f };

/// The plane of a triangle in file order, as floats, with the bits that are stored otherwise
/// (grid.c).
void cr_work_out_plane(const cr_collider *collider, int32_t number, float plane[4]);

/// The point of a touched cell whose side is listed.
static inline void cr_anchor_of_cell(const cr_grid *g, const int32_t cell[3], float anchor[3])
{
	for (int k = 0; k < 3; k++)
		anchor[k] = g->origin[k] + ((float)cell[k] + CR_CELL_ANCHOR[k]) * g->cell;
}

/// The record of a touched cell.
static inline cr_touched_cell *cr_touched_cell_at(const cr_grid *g, int64_t index)
{
	const cr_cell_word *word = &g->words[index / 64];
	return &g->touched[word->before + __builtin_popcountll(word->touched & (((uint64_t)1 << (index & 63)) - 1))];
}

/// The cell that a point counts to, in x, y and z; points beyond the grid count as the nearest
/// point of it. Returns its index.
static inline int64_t cr_cell_of(const cr_grid *g, const float point[3], int32_t cell[3])
{
	int64_t index = 0;
	for (int k = 2; k >= 0; k--) {
		const float position = (point[k] - g->origin[k]) * g->inverse_cell, last = (float)(g->size[k] - 1);
		cell[k] = (int32_t)(position > 0 ? position < last ? position : last : 0);
		index = index * g->size[k] + cell[k];
	}
	return index;
}

/// The side of a point by the grid and the triangles in its cell: 1 inside, -1 outside, 0 nothing
/// (cell_side.c).
int cr_side_of(const cr_collider *collider, const float point[3]);
/// Does the line through anchor and point meet a triangle (number in file order)? 1 yes, 0 no, -1
/// open.
int cr_line_meets(const cr_collider *collider, int32_t number, const float anchor[3], const float point[3]);
/// Has a collider so few triangles that cr_pack_triangles takes them?
static inline bool cr_has_few_triangles(const cr_collider *c)
{
	return c->topology->triangle_count <= CR_PACKED_BLOCKS * CR_WIDTH;
}
/// Copy all triangles of a collider that has few (cr_has_few_triangles) into blocks, in the order
/// of the tree. Returns how many blocks are used.
int32_t cr_pack_triangles(const cr_collider *collider, cr_tri8 blocks[CR_PACKED_BLOCKS]);
/// cr_side_of for a point in a touched cell, whose record and anchor are known.
int cr_side_in_cell(const cr_collider *collider, const cr_touched_cell *cell, const float anchor[3], const float point[3]);

/// Exit distances of all samples (exit.c): the first back face of the own mesh along the inward
/// ray, the triangles around the vertex left out; infinite when there is none.
void cr_collider_measure_exits(carom_context *context, cr_collider *collider);

/// Does a triangle come before another by where they are, whatever their numbers? Each lists its
/// corners around from the lowest one (in x, then y, then z), and the lower list is first; of
/// triangles with the same corners the lower number.
bool cr_triangle_precedes(const cr_collider *collider, int32_t triangle, int32_t other);

/// Does a triangle that a ray meets take the place of another one at the same t (-1: none)? One
/// that it leaves the solid through goes first, because a ray from inside leaves before it can
/// enter anything, as where closed parts touch in a corner. Of two such ones cr_triangle_precedes
/// decides.
static inline bool cr_hit_precedes(const cr_collider *c, int32_t triangle, bool leaving, int32_t other, bool other_leaving)
{
	if (other < 0 || leaving != other_leaving)
		return other < 0 || leaving;
	return cr_triangle_precedes(c, triangle, other);
}

/// The normal of a vertex, with the bits that cr_topology.normals has for it.
static inline v3d cr_collider_vertex_normal(const cr_collider *c, int32_t vertex)
{
	if (c->fans)
		return cr_fan_vertex_normal(c->topology, c->fans, vertex);
	return v3d_from_floats(&c->topology->normals[3 * (int64_t)vertex]);
}

/// The normal of an edge of a triangle, with the bits of cr_edge_normal.
static inline v3d cr_collider_edge_normal(const cr_collider *c, int32_t half_edge)
{
	if (c->fans)
		return cr_fan_edge_normal(c->topology, c->fans, half_edge / 3, half_edge % 3);
	return cr_edge_normal(c->topology, half_edge);
}

/// The direction in which a sample casts its ray, own frame; up to date or worked out.
static inline void cr_sample_inward(const cr_collider *c, int32_t sample, float inward[3])
{
	const cr_sample8 *block = &c->samples[sample / CR_WIDTH];
	const int lane = sample % CR_WIDTH;
	if (!c->fans) {
		for (int k = 0; k < 3; k++)
			inward[k] = block->inward[k][lane];
		return;
	}
	const v3d normal = cr_fan_vertex_normal(c->topology, c->fans, block->number[lane]);
	for (int k = 0; k < 3; k++)
		inward[k] = -(float)v3d_get(normal, k);
}

/// Number (file order) of the triangle at a place.
static inline int32_t cr_place_number(const cr_collider *c, int32_t place)
{
	return c->blocks[place / CR_WIDTH].number[place % CR_WIDTH];
}

/// Corners of triangle number (file order) in double.
static inline void cr_collider_triangle(const cr_collider *c, int32_t number, v3d corners[3])
{
	const int32_t *t = &c->topology->triangles[3 * (int64_t)number];
	for (int k = 0; k < 3; k++)
		corners[k] = v3d_from_floats(&c->topology->vertices[3 * (int64_t)t[k]]);
}

/// Outward unit normal of triangle number (file order) in double.
static inline v3d cr_collider_normal(const cr_collider *c, int32_t number)
{
	v3d p[3];
	cr_collider_triangle(c, number, p);
	return cr_triangle_normal(p);
}

#endif
