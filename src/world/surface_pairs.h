/// Pairs of triangles that intersect, on the coordinates as they were given. See surface_pairs.c.
#ifndef CR_WORLD_SURFACE_PAIRS_H
#define CR_WORLD_SURFACE_PAIRS_H

#include "base/array.h"
#include "base/radix.h"
#include "carom/mesh.h"
#include "math/transform.h"
#include "mesh/topology.h"

/// A mesh and where its vertices are.
typedef struct cr_placed_surface {
	const cr_topology *topology;
	const double *exact; // [3*vertex_count]; NULL: those of the topology
	// exact are places, and all triangles with three corners take part; else those that have an
	// area, moved by rotation and position
	bool deforms;
	m3d rotation;
	v3d position;
} cr_placed_surface;

/// Two triangles in a key: that of A, and that of B below it.
typedef CR_ARRAY(cr_key) cr_triangle_pairs;

/// Find the pairs of triangles of two surfaces that intersect, sorted; b NULL: those within a that
/// share no vertex. The old content of pairs is lost, and its memory is used again. False when out
/// of memory. The caller frees pairs in any case.
bool cr_find_surface_pairs(
	carom_context *context, const cr_placed_surface *a, const cr_placed_surface *b, cr_triangle_pairs *pairs);

/// Find the pairs of triangles of one mesh that intersect and share no vertex, sorted; the first
/// capacity of them are written. False when out of memory, with *count 0.
bool cr_find_self_pairs(const carom_mesh *mesh, int32_t capacity, int32_t (*pairs)[2], int32_t *count);

#endif
