/// Wide searches of trees over spheres: one table for each instruction set, all with the same pairs
/// and counts.
#ifndef CR_SPHERES_TREE_KERNELS_H
#define CR_SPHERES_TREE_KERNELS_H

#include "spheres/sphere_tree.h"

/// The memory of one worker that searches a tree.
typedef struct cr_tree_search {
	const cr_sphere_tree *tree;
	const cr_sphere_set *set;
	const cr_pair_sink *sink;
	cr_pair_batch *batch;
	int worker;
	struct cr_tree_pair *stack; // [CR_TREE_PAIR_STACK] of search_pair; NULL where it is not called
	// Spheres further apart than r_a + r_b + far do not touch, those nearer than r_a + r_b + near
	// do, both beyond relative errors.
	float near, far;
	bool has_ghosts;
} cr_tree_search;

/// Two children of nodes, as 8 * node + lane, whose boxes overlap; or, with b = CR_TREE_SELF, a
/// node to be searched in itself.
typedef struct cr_tree_pair {
	uint32_t a, b;
} cr_tree_pair;

#define CR_TREE_SELF UINT32_MAX
enum {
	CR_TREE_STEP = CR_TREE_WIDTH * CR_TREE_WIDTH, // pairs that one step can leave
	CR_TREE_PAIR_STACK = CR_TREE_MAX_DEPTH * CR_TREE_STEP,
};

typedef struct cr_tree_kernels {
	/// Find the pairs of spheres in a pair of boxes where both are leaves; else open it and write
	/// the pairs of children that overlap to out [CR_TREE_STEP], as far as they are not both
	/// leaves, which are searched at once. Returns how many.
	int32_t (*open_pair)(const cr_tree_search *search, cr_tree_pair pair, cr_tree_pair *out);
	/// Find the pairs of spheres in a pair of boxes and in all pairs below it.
	void (*search_pair)(const cr_tree_search *search, cr_tree_pair pair);
	/// Cast rays of no length from the centres at places begin..end-1 of the order, through boxes
	/// of the spheres' proxies.
	void (*cast_points)(const cr_tree_search *search, uint32_t begin, uint32_t end);
} cr_tree_kernels;

/// The table for an instruction set that was built in.
const cr_tree_kernels *cr_get_tree_kernels(carom_simd simd);

/// The spheres at two places of the order touch (sure), or are too near to the limit to tell in
/// single precision: into the batch.
void cr_tree_take_pair(const cr_tree_search *search, uint32_t a, uint32_t b, bool sure);

/// The ray from the centre at place i of the order has met the box of the sphere at place j, and
/// they may touch.
void cr_tree_take_hit(const cr_tree_search *search, uint32_t i, uint32_t j);

#endif
