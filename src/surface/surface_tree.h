/// The tree of a surface that moves, as queries walk it: refitted where its vertices have moved,
/// rebuilt where it has become bad. docs/internals/surface.md says when.
#ifndef CR_SURFACE_SURFACE_TREE_H
#define CR_SURFACE_SURFACE_TREE_H

#include "bvh/collider.h"

/// A list of numbers of vertices or triangles.
typedef struct cr_numbers {
	int32_t *data;
	int32_t count;
} cr_numbers;

typedef struct cr_surface_tree {
	const cr_collider *rest;        // of the mesh: its triangles, and the first tree; not owned
	const carom_mesh_report *given; // of the mesh; not owned
	bool solid;
	// As of the last update:
	v3d middle; // world frame; the others are about it
	// of a plain surface its vertices alone are its own, the rest is the mesh's, and it has no
	// normals
	cr_topology now;
	carom_mesh_report report; // of now
	cr_collider collider;
	// How it got there:
	bool ready; // the lists below are made
	// the surface is not plain: now and the collider share nothing with the mesh
	bool apart;
	cr_fans fans;        // of a plain surface
	cr_numbers welded;   // vertices that lie where another one does
	cr_numbers strays;   // vertices of no triangle in use
	cr_numbers left_out; // flat triangles of three corners
	double cost;         // of the tree when it was copied or built
	int64_t refits;      // counted, for tests
	int64_t rebuilds;    // of these by codes
} cr_surface_tree;

/// The middle of a box; zero where lower is above upper.
v3d cr_middle_of_box(const double lower[3], const double upper[3]);
/// Write places [3*count] about the middle, in float. A vertex of no triangle may lie anywhere: it
/// is kept within the bounds of a mesh.
void cr_round_places(const double *places, v3d middle, int32_t count, float *vertices);

/// Set a tree up over the mesh of a collider, which must outlive it as the report must. Takes no
/// memory.
void cr_surface_tree_init(cr_surface_tree *tree, const cr_collider *rest, const carom_mesh_report *given, bool solid);
/// Bring the tree up to places [3*vertices] whose triangles have the box lower to upper. O(n); O(n
/// log n) where it is rebuilt. On failure (out of memory) it is empty, and may be updated again. It
/// must not move in memory afterwards.
carom_result cr_surface_tree_update(
	carom_context *memory, cr_surface_tree *tree, const double *places, const double lower[3], const double upper[3]);
void cr_surface_tree_free(carom_context *memory, cr_surface_tree *tree);

#endif
