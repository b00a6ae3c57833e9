/// Trees over the boxes of numbered items, for searches in double: brought up to date by the first
/// search after a change, behind a lock, so that searches may come from many threads at once. A
/// world has an index of its bodies, and a granular body one of its spheres. query_upkeep.h has its
/// inside.
#ifndef CR_WORLD_BOX_INDEX_H
#define CR_WORLD_BOX_INDEX_H

#include "bvh/bvh_kernels.h"

typedef struct cr_box_index cr_box_index;

/// The items that an index is made of.
typedef struct cr_boxed_items {
	int64_t count; // their numbers are below
	int64_t most;  // of them have boxes
	/// The box of an item in the world; false: it has none, and no search meets it.
	bool (*bounds)(const void *user, int64_t item, double lower[3], double upper[3]);
	const void *user;
	// Made along the Morton curve: sooner, of lesser quality. For many small items that all move: a
	// note of one invalidates all.
	bool along_curve;
} cr_boxed_items;

/// A search among items, nearest first by a key that the searcher gives to boxes (a ray's t, a
/// distance; 0 where order does not matter).
typedef struct cr_box_search {
	/// Key of a box in the world, or infinite to leave it out. Must not exceed the keys of the
	/// box's content.
	double (*key)(const void *asker, const double lower[3], const double upper[3]);
	/// Keys of eight boxes, and the lanes that are not left out. One of key and keys is given, the
	/// other one is NULL.
	uint32_t (*keys)(const void *asker, const cr_boxes8 *boxes, double key[CR_WIDTH]);
	const void *asker; // what key and keys are given
	/// Look at an item; false to stop. May lower *limit: boxes with a higher key are passed over.
	bool (*visit)(void *user, int32_t item, double *limit);
	void *user;
	double limit;
	// The only child of a node is gone into without a look at its box: what is visited says as soon
	// whether it is met.
	bool takes_lone;
} cr_box_search;

/// Make an index without content. memory pays for it and its content. NULL when out of memory.
cr_box_index *cr_box_index_create(carom_context *memory);
void cr_box_index_destroy(cr_box_index *index);
/// Give back all memory. The next search builds the tree.
void cr_box_index_trim(cr_box_index *index);
/// Any boxes may have changed. The next search builds the tree, O(n log n).
void cr_box_index_invalidate(cr_box_index *index);
/// The box of an item changed, or the item came or went. The next search looks at it again: O(k log
/// n) for k noted items, or a build where they are many. Takes no memory.
void cr_box_index_note(cr_box_index *index, int64_t item);

/// Bring the trees up to date, then search. Any thread, but not beside a note. Items without end
/// come first. context takes the error; what was noted before it stays noted.
carom_result cr_box_index_search(
	cr_box_index *index, carom_context *context, const cr_boxed_items *items, cr_box_search *search);

#endif
