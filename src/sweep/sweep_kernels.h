/// Wide kernels over the tree of a swept scene: one table for each instruction set, all with the
/// same bits.
#ifndef CR_SWEEP_SWEEP_KERNELS_H
#define CR_SWEEP_SWEEP_KERNELS_H

#include "sweep/sweep_tree.h"

/// A node of the bounding volume test tree (BVTT): two nodes of the tree, a < b apart from each
/// other; or a node against itself.
typedef struct cr_sweep_pair {
	int32_t a, b;
} cr_sweep_pair;

/// A pair of leaves, and the pairs of features that it answers for: that is a rule of the mesh
/// alone, so a front remembers it.
typedef struct cr_leaf_pair {
	cr_sweep_pair nodes;
	uint32_t features; // cr_features_mask, or CR_FEATURES_UNKNOWN
} cr_leaf_pair;

enum {
	CR_SWEEP_LEAVES = 256, // pairs of leaves that a walk hands on, and takes, at once
	CR_SWEEP_STOPS = 2048, // nodes of the front that it hands on at once, of either kind
	CR_FRONT_BLOCK = 4096, // nodes of blocks that were joined
};

/// A part of a front: pairs that were apart, and pairs of leaves, which stay until an ancestor is
/// apart.
typedef struct cr_front_block {
	cr_sweep_pair *nodes; // [count], allocated for node_room
	cr_leaf_pair *leaves; // [leaf_count], allocated for leaf_room
	int32_t count, leaf_count;
	int32_t node_room, leaf_room;
	// its place in the front: that of the task it comes of, then its order among those of the task
	int32_t task, order;
} cr_front_block;

/// A traversal: its settings and its findings. Full lists are handed on; the caller hands on the
/// last ones.
typedef struct cr_sweep_walk cr_sweep_walk;
struct cr_sweep_walk {
	const cr_sweep_tree *tree;
	bool keep_adjacent; // pairs of leaves that share a vertex count as others
	bool keep_stops;    // list where the traversal stops: the front
	bool prune;         // follow: nodes below boxes that are apart give way to them
	void (*leaves_full)(cr_sweep_walk *walk);
	void (*stops_full)(cr_sweep_walk *walk);
	int32_t leaf_count, stop_count, leaf_stop_count;
	cr_leaf_pair leaves[CR_SWEEP_LEAVES]; // pairs of leaves whose boxes overlap
	// where it stopped: pairs that are apart and no pairs of leaves
	cr_sweep_pair stops[CR_SWEEP_STOPS];
	cr_leaf_pair leaf_stops[CR_SWEEP_STOPS]; // pairs of leaves where it stopped
	cr_sweep_pair stack[CR_SWEEP_STACK];     // pairs to be opened
	// Counters, added to.
	int64_t tests;
	// nodes where the traversal stopped, listed or not: all, pairs of leaves
	int64_t stop_total, leaf_stop_total;
	int64_t adjacent;                         // pairs of leaves that share a vertex
	int64_t kept, sprouted, replaced, pruned; // of a front
	// of a sample of the pairs that are apart: their number, and that of pairs whose parents are
	// apart
	int64_t sampled, stale;
};

/// Lists of queries for geom/swept.h; each has room for the queries of CR_SWEEP_LEAVES pairs.
typedef struct cr_sweep_queries {
	int32_t (*faces)[4];
	int32_t *face_triangle; // of faces
	int32_t (*edges)[4];
	int32_t face_count, edge_count;
	// CR_SWEEP_FEATURE_ROOM bytes that list_features works in: more than a stack should hold
	void *room;
} cr_sweep_queries;

enum { CR_SWEEP_FEATURE_ROOM = 26 << 10 };

/// Places of all vertices at both ends of the step, and the margins of boxes beyond them.
typedef struct cr_sweep_motion {
	const double *begin, *end; // 3 for each vertex
	double until;              // boxes hold the motion from 0 to this time
	double straight;           // along x, y, z
	double diagonal;           // along the other axes
	// Where meshes differ in size: instead of these two, base + share * size, and of that as much
	// more as diagonals take.
	const float *sizes; // [vertices]; NULL: straight and diagonal
	double base, share;
	const double *halves; // [vertices] of thicknesses, which come on top; NULL: none
} cr_sweep_motion;

// Of the largest coordinate: the error of sums along a diagonal axis.
#define CR_SWEEP_DIAGONAL_ROUNDING 0x1p-46
// And how much longer features that differ by 1 along an axis can be apart along a diagonal one.
#define CR_SWEEP_DIAGONAL 1.4142135623730952

typedef struct cr_sweep_kernels {
	/// Boxes of vertices, and of nodes (from those below them and of vertices), begin..end-1.
	void (*bound_vertices)(cr_sweep_tree *tree, const cr_sweep_motion *motion, int64_t begin, int64_t end);
	void (*bound_nodes)(cr_sweep_tree *tree, int32_t begin, int32_t end);
	/// Do the boxes of two nodes overlap?
	bool (*overlap)(const cr_sweep_tree *tree, int32_t a, int32_t b);
	/// Everything below a node of the BVTT whose boxes overlap (MCCD, Algorithms 3 and 4), opened
	/// in batches.
	void (*walk)(cr_sweep_walk *walk, cr_sweep_pair from);
	/// From each node of this part of a front: it stays in the part while its boxes are apart or
	/// when both are leaves; else it goes, and where the traversal from it stops is listed.
	void (*follow)(cr_sweep_walk *walk, cr_front_block *block);
	/// Take pairs of leaves that something else than the tree found (sweep/sweep_lab.h), a < b, at
	/// most CR_SWEEP_LEAVES of them: those whose boxes overlap go on. pairs is changed.
	void (*meet)(cr_sweep_walk *walk, cr_sweep_pair *pairs, int32_t count);
	/// List the pairs of leaves whose boxes (18-DOP) overlap by at least so much along each of the
	/// first eight axes: kept [count]. Returns how many there are.
	int32_t (*keep_deep)(const cr_sweep_tree *tree, const cr_leaf_pair *leaves, int32_t count, float least, int32_t *kept);
	/// The pairs of features that pairs of leaves answer for, those whose boxes overlap. every: all
	/// that share no vertex are wanted from the first pair of triangles that holds them, be it of
	/// adjacent ones (no orphan sets).
	void (*list_features)(
		const cr_sweep_tree *tree, const cr_leaf_pair *leaves, int32_t count, bool every, cr_sweep_queries *queries);
} cr_sweep_kernels;

/// The table for an instruction set that was built in.
const cr_sweep_kernels *cr_get_sweep_kernels(carom_simd simd);

/// The children of a node of the BVTT whose boxes overlap, in the order of the traversal; 0 for a
/// pair of leaves, and for a leaf against itself. Excluded ones are left out.
int cr_sweep_children(const cr_sweep_tree *tree, cr_sweep_pair pair, cr_sweep_pair children[3]);

#endif
