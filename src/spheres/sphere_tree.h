/// A tree of boxes over spheres, eight children to a node, for the detectors "tree" and "rays".
///
/// Input: a cr_sphere_set. The spheres are sorted along the Morton curve. The tree is the radix
/// tree of their codes (Karras 2012; equal codes are told apart by their place), cut where a range
/// holds eight spheres or fewer: those ranges are the leaves. It is determined by the codes alone,
/// so that it can be made in any order by any number of threads. Nodes of two children are gathered
/// to eight, the most populous child being opened first. Boxes come from the leaves up and are
/// rounded outward, so that refitting is the second half of building. O(n) beside the sort.
#ifndef CR_SPHERES_SPHERE_TREE_H
#define CR_SPHERES_SPHERE_TREE_H

#include "base/array.h"
#include "base/radix.h"
#include "spheres/sphere_order.h"

enum {
	CR_TREE_WIDTH = 8, // children of a node, and spheres of a leaf, at most
	CR_TREE_INNER = 255,
	// Of the radix tree, which the gathered one does not exceed: the bit of ghosts, those of the
	// codes, then halvings of equal ones.
	CR_TREE_MAX_DEPTH = 1 + CR_MORTON_BITS + 32,
};

/// Boxes of unused children are empty (lower above upper): nothing overlaps them.
typedef struct cr_sphere_node {
	float lower[3][CR_TREE_WIDTH];
	float upper[3][CR_TREE_WIDTH];
	uint32_t child[CR_TREE_WIDTH]; // inner: number of the node; leaf: first place
	uint8_t size[CR_TREE_WIDTH];   // CR_TREE_INNER; leaf: number of spheres; 0: unused
	uint8_t child_count;
	uint8_t owned; // bit i: child i holds spheres that are no ghosts
	uint8_t pad[CR_CACHE_LINE - CR_TREE_WIDTH * (sizeof(uint32_t) + 1) - 2];
} cr_sphere_node;

/// A part of the tree that one worker builds and fits.
typedef struct cr_tree_job {
	uint32_t begin, end; // places
	// of the range that the job's nodes are taken from, parents before children
	uint32_t first_node;
	uint32_t node_capacity, node_count; // of it, and of these used
	// surface area heuristic, not yet divided by the root's area
	double cost;
} cr_tree_job;

/// How far the box of a sphere reaches from its centre: scale * r + skin_share * skin, and the
/// margins of rounding.
typedef struct cr_tree_reach {
	float scale, skin_share;
} cr_tree_reach;

typedef struct cr_sphere_tree {
	carom_context *context;
	cr_tree_reach reach;
	float add; // reach beyond scale * r, rounded up
	// spheres; those at place k (0 to count-1) of the order along the curve:
	uint32_t count;
	uint32_t owned; // places of spheres that are no ghosts; those of ghosts are behind them
	// [count + CR_TREE_WIDTH], the surplus finite; one block of memory
	float *x, *y, *z, *r;
	uint32_t *id;                   // [count] their place in the set
	int64_t capacity;               // of each of these five
	CR_ARRAY(cr_sphere_node) nodes; // the root first
	uint32_t top_count;             // nodes above the jobs, parents before children
	CR_ARRAY(cr_tree_job) jobs;
	CR_ARRAY(cr_key) keys; // of the build
	double cost;
} cr_sphere_tree;

/// How far the box of a sphere of radius r reaches from its centre, in single precision as any
/// instruction set would compute it: 2^-20 more than asked for, which covers the relative errors of
/// the rounded distances and radii and those of this line.
static inline float cr_tree_reach_of(const cr_sphere_tree *tree, float r)
{
	return (tree->reach.scale * r + tree->add) * (1 + 0x1p-20f);
}

/// Make the tree of a set; *state is NULL or an earlier one, whose memory is used again. On
/// CAROM_OUT_OF_MEMORY it is empty.
carom_result cr_build_sphere_tree(void **state, const cr_sphere_set *set, cr_tree_reach reach);

/// Follow as many spheres to other places: boxes are made to fit. As a detector's table wants it;
/// succeeds.
carom_result cr_refit_sphere_tree(void *state, const cr_sphere_set *set);

// Further entries of a cr_sphere_detector whose state is a cr_sphere_tree:
double cr_sphere_tree_cost(const void *tree);
size_t cr_sphere_tree_bytes(const void *tree);
void cr_release_sphere_tree(carom_context *context, void *tree);

#endif
