/// The order in which a scene keeps its triangles and vertices: that of the tree's leaves, so that
/// neighbours in space are neighbours in memory. Callers never see it: impacts carry the numbers
/// that were given.
#ifndef CR_SWEEP_SWEEP_ORDER_H
#define CR_SWEEP_SWEEP_ORDER_H

#include "sweep/sweep_tree.h"

typedef struct cr_sweep_order {
	int32_t triangle_count, vertex_count;
	int32_t named_count; // vertices of triangles, which come first
	// [3*triangle_count] the triangles in their new order, with the new numbers of their vertices
	int32_t *corners;
	int32_t *given_triangles; // [triangle_count] the number that was given to each
	int32_t *given_vertices;  // [vertex_count]
} cr_sweep_order;

/// Number triangles [3*triangle_count] by the leaves of a tree over them, and vertices as these
/// triangles name them first; those that no triangle names come last. The leaves get the new
/// numbers. False when out of memory; nothing has changed then.
bool cr_sweep_order_make(
	carom_context *context, cr_sweep_tree *tree, const int32_t *triangles, int32_t vertex_count, cr_sweep_order *order);
void cr_sweep_order_free(carom_context *context, cr_sweep_order *order);

#endif
