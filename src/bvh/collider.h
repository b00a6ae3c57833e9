/// What detection needs of a triangle mesh: trees over its triangles and over its samples, and the inside-outside grid.
/// Immutable after it was built; shared by all bodies of the mesh.
#ifndef CR_BVH_COLLIDER_H
#define CR_BVH_COLLIDER_H

#include "bvh/tree.h"
#include "mesh/topology.h"

/// Up to eight triangles, structure of arrays. Unused lanes repeat the first triangle and are masked off by count.
typedef struct cr_tri8 {
	float corner[3][3][CR_WIDTH]; // corner, axis, lane
	int32_t number[CR_WIDTH];     // in file order
	int32_t count;
	int32_t padding[7];
} cr_tri8;

/// What lies across the edges of the triangles of a block. Triangles have places besides their numbers: place 8 * block + lane.
typedef struct cr_across8 {
	int32_t edge[3][CR_WIDTH]; // place across the edge from corner k to corner k + 1, by lane; -1 at a border
} cr_across8;

/// Up to eight points of a surface that may cast rays: the vertices of a mesh, or samples of a volume's surface.
typedef struct cr_sample8 {
	float point[3][CR_WIDTH];
	float inward[3][CR_WIDTH]; // unit: opposite of the vertex normal
	float exit[CR_WIDTH];      // how far the inward ray travels in its own body (design, "Data"); infinite when open
	int32_t number[CR_WIDTH];  // vertex in file order
	int32_t count;
	int32_t padding[7];
} cr_sample8;

/// Cells of the inside-outside grid: what is known of all points in a cell.
enum {
	CR_CELL_INSIDE = 0x80,   // bit: inside the solid; the rest is a distance
	CR_CELL_DISTANCE = 0x7f, // Chebyshev distance in cells to the nearest cell that the surface touches; 0: this one is
};

/// A uniform grid over the box of a closed mesh. A point in a cell at distance d >= 1 is at least (d-1) cells from the surface
/// and on the side that the bit says: most vertices near a body need no ray to be known outside it.
typedef struct cr_grid {
	float origin[3];
	float inverse_cell;
	float cell;
	int32_t size[3];
	uint8_t *cells; // [size[2]][size[1]][size[0]]; NULL: no grid
} cr_grid;

/// Eight boxes that enclose part of a mesh.
typedef struct cr_outline8 {
	float lower[3][CR_WIDTH];
	float upper[3][CR_WIDTH];
} cr_outline8;

typedef struct cr_collider {
	const cr_topology *topology; // not owned
	float lower[3];              // exact box of the triangles in use
	float upper[3];
	float scale;    // largest |coordinate|
	float diagonal; // of the box
	bool closed;
	int32_t triangle_count;   // in use
	int32_t *triangle_number; // [triangle_count] in file order, by primitive of the binary tree
	cr_tree2 binary;
	cr_tree8 tree;
	cr_tri8 *blocks;               // [tree.block_count]
	cr_across8 *across;            // [tree.block_count]
	int32_t *place;                // [topology->triangle_count] place of a triangle by its number; -1: left out
	cr_outline8 outline[CR_WIDTH]; // the boxes two levels below the root: a turned mesh fills them far better than its one box
	int32_t outline_count;
	int32_t sample_count;
	cr_tree8 sample_tree;
	cr_sample8 *samples; // [sample_tree.block_count]
	cr_grid grid;
} cr_collider;

/// Surface points that cast rays, arrays of count elements; number: what contacts call them.
typedef struct cr_sample_set {
	const float *points;    // [3*count]
	const float *normals;   // [3*count] unit outward; zero: undefined, no ray is cast
	const int32_t *numbers; // negative: left out
	int32_t count;
} cr_sample_set;

/// Build everything over a topology, which must outlive the collider. samples NULL: the welded vertices of the used triangles.
/// grid_resolution as in carom_mesh_def. On failure the collider is empty.
carom_result cr_collider_build(carom_context *context, const cr_topology *topology, bool closed, const cr_sample_set *samples,
	int32_t grid_resolution, cr_collider *collider);
void cr_collider_free(carom_context *context, cr_collider *collider);
/// Bytes held.
size_t cr_collider_bytes(const cr_collider *collider);

/// Make the grid of a closed collider whose trees are ready (grid.c).
carom_result cr_grid_build(carom_context *context, const cr_collider *collider, int32_t resolution, cr_grid *grid);
void cr_grid_free(carom_context *context, cr_grid *grid);

/// Exit distances of all samples (exit.c): the first back face of the own mesh along the inward ray, the triangles around the
/// vertex left out; infinite when there is none.
void cr_collider_measure_exits(carom_context *context, cr_collider *collider);

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
	return v3d_normalize(v3d_cross(v3d_sub(p[1], p[0]), v3d_sub(p[2], p[0])));
}

#endif
