/// One tree over all triangles of a swept scene, and the boxes of all that moves in it.
///
/// Binary, a triangle a leaf, in depth-first order: the left child follows its parent. Built once
/// from places at the beginning of a step; after that only the boxes change. Boxes hold a feature
/// at both ends of the step, so at every time between, and half of the separation that counts as an
/// impact. They are floats, rounded outward.
///
/// Whatever the boxes tell apart is ruled out by the filters of geom/swept.h as well: the margins
/// here exceed those of the filters. So which tree, which kind of box and which order of traversal
/// is used never changes the impacts.
#ifndef CR_SWEEP_SWEEP_TREE_H
#define CR_SWEEP_SWEEP_TREE_H

#include "carom/sweep.h"
#include "sweep/sweep_scene.h"

enum {
	/// Axes of an 18-DOP: x, y, z, x+y, x-y, x+z, x-z, y+z in one record of eight, and y-z apart.
	CR_DOP_AXES = 9,
	CR_DOP_STRIDE = 16,
	CR_AABB_STRIDE = 8,
	/// No leaf is deeper.
	CR_SWEEP_MAX_DEPTH = 96,
	/// Pairs that a traversal in depth-first order may have before it: each level of the two trees
	/// adds at most two.
	CR_SWEEP_DEPTH_FIRST = 2 * 2 * CR_SWEEP_MAX_DEPTH + 4,
	/// Pairs that any traversal has before it.
	CR_SWEEP_STACK = 4096,
	/// Boxes to be joined by one worker at a time.
	CR_SWEEP_PART_NODES = 4096,
};

/// Boxes of many features. main: 18-DOP lower[8], upper[8]; AABB lower[3], 0, upper[3], 0. last: of
/// the ninth axis, lower and upper; NULL for AABB.
typedef struct cr_sweep_boxes {
	float *main;
	float *last;
	int64_t count;
} cr_sweep_boxes;

typedef struct cr_sweep_node {
	int32_t right; // inner: right child; leaf: ~triangle
	int32_t size;  // nodes of the subtree, itself included
	int32_t parent;
	int32_t group; // the group of all its triangles, -1 when they are of several or of none
} cr_sweep_node;

/// The scene that is searched. Two triangles of one group never hit each other; group -1 is none.
typedef struct cr_sweep_tree {
	carom_sweep_volume volume;
	const cr_sweep_scene *scene;
	int32_t node_count;
	cr_sweep_node *nodes;
	cr_sweep_boxes node_boxes;
	cr_sweep_boxes vertex_boxes;
	// roots of subtrees that cover all leaves, in order: the pieces of the parallel refit
	int32_t *parts;
	int32_t *joints; // nodes above them, parents first
	int32_t part_count, joint_count;
	bool grouped; // some node has a group
} cr_sweep_tree;

static inline bool cr_is_leaf(const cr_sweep_node *node) { return node->right < 0; }

/// Two leaves or subtrees that share no triangle of a pair to be searched.
static inline bool cr_is_excluded(const cr_sweep_node *a, const cr_sweep_node *b)
{
	return a->group >= 0 && a->group == b->group;
}

/// Build over triangles [3*triangle_count], at least one. positions [3*vertices]; groups
/// [triangle_count]. False when out of memory; the tree is then empty. There are no boxes yet.
/// Deterministic, one thread.
bool cr_sweep_tree_build(carom_context *context, const int32_t *triangles, int32_t triangle_count, const double *positions,
	const int32_t *groups, carom_sweep_build build, cr_sweep_tree *tree);
/// Make room for the boxes of a scene, which must outlive the tree and holds the triangles that its
/// leaves name. Boxes are not filled in yet. False when out of memory; the tree can then only be
/// freed.
bool cr_sweep_tree_attach(carom_context *context, const cr_sweep_scene *scene, carom_sweep_volume volume, cr_sweep_tree *tree);
void cr_sweep_tree_free(carom_context *context, cr_sweep_tree *tree);

/// The motion that is bounded: that of all vertices from time 0 to until.
typedef struct cr_sweep_bounds {
	const double *begin, *end; // [3*vertex_count] at both ends of the step
	double largest;            // no coordinate at either end is larger
	double min_separation;
	double tolerance; // of the elementary tests, for a part of the step
	double until;     // 1: the whole step
	// [vertex_count] at least the largest coordinate of each vertex's mesh; NULL: largest will do
	// for all
	const float *sizes;
	const double *halves; // [vertex_count] of thicknesses (cr_swept_queries); NULL: none
} cr_sweep_bounds;

/// Boxes of all features and nodes, in parallel. Features that the boxes of a part of the step tell
/// apart are never reported before its end.
void cr_sweep_tree_refit(carom_context *context, cr_sweep_tree *tree, const cr_sweep_bounds *bounds);

/// The order of the triangles, and where each subtree splits: sweep_split.c. order[count] is
/// permuted; returns how many of them are to the left. low and high are the corners of the
/// triangles' boxes, 3 floats each; depth is that of the node.
int32_t cr_sweep_split(carom_sweep_build build, const float *low, const float *high, int32_t *order, int32_t count, int depth);

#endif
