/// Checks that two meshes, made in different ways, are one and the same, part by part.
#ifndef CAROM_TESTS_SAME_MESH_H
#define CAROM_TESTS_SAME_MESH_H

#include "bvh/collider.h"
#include "mesh/facets.h"
#include "test.h"

#define CHECK_SAME(a, b, count) CHECK((count) == 0 || memcmp((a), (b), (size_t)(count) * sizeof *(a)) == 0)

/// heights [samples] of a field (NULL, 0: another mesh): where a height is NaN the vertex may lie anywhere.
void same_faces(const cr_topology *a, const cr_topology *b, const float *heights, int32_t samples);
/// Normals too.
void same_topology(const cr_topology *a, const cr_topology *b, const float *heights, int32_t samples);
void same_facets(const cr_facets *a, const cr_facets *b);
/// The trees may be others, but each must be one over the same boxes.
void same_trees(const cr_collider *a, const cr_collider *b);

#endif
