/// Meshes of boxes, which they get when they first meet a mesh.
#ifndef CR_WORLD_BOX_MESH_H
#define CR_WORLD_BOX_MESH_H

#include "frame/body.h"

enum { CR_BOX_FORMS = 27 };

typedef struct cr_box_entry {
	carom_mesh *mesh; // a reference; NULL: free
	uint32_t hash;    // of its half extents
} cr_box_entry;

/// The meshes of the boxes of one world or query: equal boxes have one, and all share the arrays
/// that do not depend on their size. Zeroed: empty.
typedef struct cr_box_meshes {
	cr_box_entry *table; // [room] by hash
	int32_t room;        // a power of two, or 0
	int32_t count;
	// references: meshes from which those of boxes are copied, by the order of their half extents;
	// NULL: not made yet
	carom_mesh *forms[CR_BOX_FORMS];
} cr_box_meshes;

/// Give a box its mesh: that of an equal box, or a new one, for which memory pays and which stays
/// there for further boxes. whole: it has a binary tree, and shares nothing. On failure the shape
/// has none. O(1), amortized.
carom_result cr_make_box_mesh(carom_context *memory, cr_box_meshes *meshes, bool whole, cr_shape *shape);
/// Give up the meshes that no box has.
void cr_trim_box_meshes(carom_context *memory, cr_box_meshes *meshes);
/// Give up the references of kept meshes.
void cr_free_box_meshes(carom_context *memory, cr_box_meshes *meshes);

#endif
