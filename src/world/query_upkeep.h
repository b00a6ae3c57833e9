/// A box index from the inside: its trees, and how they are kept up to date (see box_index.h).
#ifndef CR_WORLD_QUERY_UPKEEP_H
#define CR_WORLD_QUERY_UPKEEP_H

#include "base/array.h"
#include "tree/dynamic.h"
#include "tree/tree.h"
#include "world/box_index.h"
#include <stdatomic.h>

enum { CR_BOX_SIDES = 6 };

/// How much of an index is up to date.
typedef enum cr_index_state {
	CR_INDEX_STALE, // nothing: the next search builds the tree
	CR_INDEX_NOTED, // all but the items that are noted
	CR_INDEX_READY, // all
} cr_index_state;

/// Where the box of an item is. NOWHERE: it has none.
typedef enum cr_item_where { CR_ITEM_NOWHERE, CR_ITEM_IN_TREE, CR_ITEM_BESIDE, CR_ITEM_ENDLESS } cr_item_where;

typedef struct cr_item_place {
	int32_t at; // primitive of the tree, or leaf of the dynamic tree
	uint8_t where;
	bool noted;
} cr_item_place;

struct cr_box_index {
	carom_context *memory;
	atomic_int state; // a cr_index_state
	atomic_flag lock; // held while the trees are brought up to date
	// The tree that was built last.
	double origin[3];
	CR_ARRAY(int32_t) owners; // item of a primitive; -1: it has gone elsewhere
	CR_ARRAY(float) sides;    // lower x y z, upper x y z, each [stride]
	int64_t stride;
	cr_tree2 binary;
	cr_tree8 tree;
	CR_ARRAY(int32_t) endless; // rising
	// Items that may be noted, and the changes since the build. Reserved by the build, so that a
	// note takes no memory.
	CR_ARRAY(cr_item_place) places; // by item
	CR_ARRAY(int32_t) noted;
	int64_t most_noted;
	cr_dynamic_tree beside; // over the items that changed
	int64_t gone;           // primitives whose items went elsewhere
	int64_t worked;         // insertions since beside was built
};

/// Make the tree over all items. On failure the index is stale.
carom_result cr_index_build(cr_box_index *index, carom_context *context, const cr_boxed_items *items);
/// Look at the noted items again. On failure they stay noted.
carom_result cr_index_update(cr_box_index *index, carom_context *context, const cr_boxed_items *items);
/// Free the trees of an index.
void cr_index_free_trees(cr_box_index *index);

#endif
