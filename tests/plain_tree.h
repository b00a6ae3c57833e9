/// The tree of tier COMPUTE in plain C on one thread, and its search of all pairs: an oracle of the tree that a device builds and of the
/// nodes and spheres that its search looks at, and the measure of a driver on the processor (bench/peers/plain_tree_bench.c). The
/// shaders tree_shape, tree_fit and sphere_pairs in src/vulkan/shaders say the method.
#ifndef TESTS_PLAIN_TREE_H
#define TESTS_PLAIN_TREE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct plain_box {
	float lower[3], upper[3];
} plain_box;

/// 64 bytes: boxes of both children; numbers of nodes, or the first place of a leaf with the highest bit; the last place below each.
typedef struct plain_node {
	plain_box box[2];
	uint32_t child[2], last[2];
} plain_node;

typedef struct plain_tree {
	uint32_t count, leaf_size;
	float add;         // a box reaches radius + add
	plain_node *nodes; // [count], by the numbers of Karras (2012)
	float *spheres;    // [4*count] in the order of the leaves
	uint32_t *order;   // [count] their numbers
} plain_tree;

/// Build the tree of count spheres [4*count], at least 2, whose centres lie in the box; leaves hold leaf_size spheres at most. Ends the
/// program without memory. Free with plain_free.
plain_tree plain_build(
	const float *spheres, uint32_t count, const float lower[3], const float upper[3], float add, uint32_t leaf_size);

typedef struct plain_search {
	uint64_t pairs, tests, visits; // pairs that touch in single precision, distances computed, nodes looked at
} plain_search;

/// Search the tree for each sphere: those behind it in the order that touch it.
plain_search plain_find_pairs(const plain_tree *tree);
void plain_free(plain_tree *tree);

#endif
