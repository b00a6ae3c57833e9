/// The parallel part of a search of a tree, which the detectors "tree" and "rays" share.
#ifndef CR_SPHERES_TREE_SEARCH_H
#define CR_SPHERES_TREE_SEARCH_H

#include "spheres/tree_kernels.h"

typedef struct cr_tree_find {
	const cr_sphere_tree *tree;
	const cr_sphere_set *set;
	const cr_pair_sink *sink;
	const cr_tree_kernels *kernels;
	cr_pair_batch *batches;       // [thread_count]
	CR_ARRAY(cr_tree_pair) front; // of the detector "tree": pairs to be searched by one worker each
	CR_ARRAY(cr_tree_pair) next;
	CR_ARRAY(cr_tree_pair) stacks; // of the same: [thread_count][CR_TREE_PAIR_STACK]
	bool failed;                   // no memory for them
} cr_tree_find;

/// Get ready; false when out of memory. Call cr_end_find in any case.
bool cr_begin_find(cr_tree_find *find, const cr_sphere_tree *tree, const cr_sphere_set *set, const cr_pair_sink *sink);

/// Hand on the rest of the batches, add up the tests and free the memory.
void cr_end_find(cr_tree_find *find, int64_t *tests);

/// The search of one worker, with the margins of its tests in single precision.
cr_tree_search cr_make_tree_search(const cr_tree_find *find, int worker);

/// Put a pair of places of the set that touch into a batch, unless it is reported elsewhere
/// (cr_name_pair).
void cr_put_pair(const cr_tree_search *search, uint32_t i, uint32_t j);

#endif
