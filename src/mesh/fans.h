/// The triangles around each vertex, and the normals of vertices and edges, worked out when they
/// are asked for: for surfaces that move more often than they are asked.
#ifndef CR_MESH_FANS_H
#define CR_MESH_FANS_H

#include "mesh/topology.h"

/// Corners of the triangles in use, by vertex as welded. They depend on no place.
typedef struct cr_fans {
	int32_t *first;   // [vertex_count+1] where those of a vertex begin
	int32_t *corners; // [first[vertex_count]] 3 * triangle + corner, ascending for each vertex
	int32_t vertex_count;
} cr_fans;

/// List the corners of a topology. Returns false when out of memory: then the lists are empty.
/// Linear.
bool cr_fans_build(carom_context *context, const cr_topology *topology, cr_fans *fans);
void cr_fans_free(carom_context *context, cr_fans *fans);

/// The normal of a vertex, with the bits that cr_topology_build stores. O(triangles around it).
v3d cr_fan_vertex_normal(const cr_topology *topology, const cr_fans *fans, int32_t vertex);
/// The normal of the edge of a triangle from corner k to corner k + 1, with the bits of
/// cr_edge_normal.
v3d cr_fan_edge_normal(const cr_topology *topology, const cr_fans *fans, int32_t triangle, int k);

#endif
