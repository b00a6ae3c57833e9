/// A topology whose vertices move while its triangles stay: normals, mass and facets are mended
/// around them, not made again.
#ifndef CR_MESH_REFIT_H
#define CR_MESH_REFIT_H

#include "mesh/topology.h"

/// Triangles in use, ascending, among them all that share a corner with one that has a corner that
/// moves.
typedef struct cr_surroundings {
	int32_t *triangles; // [count]
	int32_t count;
} cr_surroundings;

/// An entry of a table.
typedef struct cr_numbered {
	int32_t vertex1; // the vertex and 1; 0: free
	int32_t number;
} cr_numbered;

/// The changes that other places of some vertices bring.
typedef struct cr_change {
	int32_t *triangles; // [triangle_count] those in use with a corner that moved, ascending
	int32_t triangle_count;
	// [normal_room, a power of two] a table by vertex as welded (cr_changed_normal)
	cr_numbered *normals;
	int32_t normal_count;
	float lower[3]; // box of the triangles, as they were and as they are
	float upper[3];
	double area; // gain of the surface
	double volume;
	// Lengths of the arrays, for cr_change_free.
	int32_t room; // of triangles
	int32_t normal_room;
} cr_change;

/// Where a vertex is in the table, or would be.
static inline cr_numbered *cr_find_numbered(const cr_change *c, int32_t vertex)
{
	uint32_t at = (uint32_t)vertex * 0x9e3779b1u >> 7 & (uint32_t)(c->normal_room - 1);
	while (c->normals[at].vertex1 != 0 && c->normals[at].vertex1 != vertex + 1)
		at = (at + 1) & (uint32_t)(c->normal_room - 1);
	return &c->normals[at];
}

/// Which of the normals that changed is that of a vertex as welded; -1: none.
static inline int32_t cr_changed_normal(const cr_change *c, int32_t vertex)
{
	const cr_numbered *found = c->normal_room > 0 ? cr_find_numbered(c, vertex) : NULL;
	return found && found->vertex1 != 0 ? found->number : -1;
}

/// Is a triangle among those listed?
static inline bool cr_has_changed(const cr_change *c, int32_t triangle)
{
	int32_t low = 0, high = c->triangle_count;
	while (low < high) {
		const int32_t middle = low + (high - low) / 2;
		if (c->triangles[middle] < triangle)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->triangle_count && c->triangles[low] == triangle;
}

/// Give vertices [count], all different, their places [3*count], and bring normals of vertices and
/// edges up to date, with the bits that cr_topology_build gives them. No vertex may come to the
/// place of another, or leave one that it is welded to, and no triangle that is left out may gain
/// an area. Linear in the surroundings. CAROM_INVALID_MESH where a triangle has lost its area, or a
/// vertex its normal: the topology has to be built then. The caller frees the change in any case.
carom_result cr_topology_refit(carom_context *context, cr_topology *topology, const int32_t *vertices, const float *places,
	int32_t count, const cr_surroundings *near, cr_change *change);
void cr_surroundings_free(carom_context *context, cr_surroundings *surroundings);
void cr_change_free(carom_context *context, cr_change *change);

#endif
