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

/// The changes that other places of some vertices bring.
typedef struct cr_change {
	int32_t *triangles; // [triangle_count] those in use with a corner that moved, ascending
	int32_t triangle_count;
	uint8_t *of_triangle; // [topology's triangles] 1: among them
	// [topology's vertices] by vertex as welded: which of the normals that changed is its own; -1:
	// none
	int32_t *normal;
	int32_t normal_count;
	float lower[3]; // box of the triangles, as they were and as they are
	float upper[3];
	double area; // gain of the surface
	double volume;
	// Lengths of the arrays, for cr_change_free.
	int32_t room; // of triangles
	int32_t all_triangles;
	int32_t all_vertices;
} cr_change;

/// Give vertices [count], all different, their places [3*count], and bring normals of vertices and
/// edges up to date, with the bits that cr_topology_build gives them. No vertex may come to the
/// place of another, or leave one that it is welded to, and no triangle that is left out may gain
/// an area. Linear in the surroundings, and it clears a byte for each triangle and four for each
/// vertex. CAROM_INVALID_MESH where a triangle has lost its area, or a vertex its normal: then
/// the topology has to be built. The change is the caller's to free whatever is returned.
carom_result cr_topology_refit(carom_context *context, cr_topology *topology, const int32_t *vertices, const float *places,
	int32_t count, const cr_surroundings *near, cr_change *change);
void cr_surroundings_free(carom_context *context, cr_surroundings *surroundings);
void cr_change_free(carom_context *context, cr_change *change);

#endif
