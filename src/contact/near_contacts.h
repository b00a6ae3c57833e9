/// Contacts ahead of two meshes: where their features come near each other.
#ifndef CR_CONTACT_NEAR_CONTACTS_H
#define CR_CONTACT_NEAR_CONTACTS_H

#include "contact/crossing.h"

/// Do pairs of meshes that are apart get these contacts, in place of the contacts of their rays?
bool cr_wants_near_contacts(const cr_pipeline *pipeline);
/// Add contacts with depths from -speculative_distance to 0: all of a pair whose surfaces do not
/// meet, or, where it touches, those that complete the patches that it has. Overwrites
/// worker->candidates.
void cr_add_near_contacts(cr_completion *completion, bool touching);

/// Which corners and edges of two bodies that touch may complete their patch.
typedef struct cr_near_features {
	uint8_t *corners[2]; // [vertex_count]; NULL: all may
	uint8_t *edges[2];   // [3 * triangle_count] half-edges, of the lower of two triangles
	bool any;
} cr_near_features;

/// Tell them, of convex bodies of few facets and triangles. normals: of the contacts, out of B, in
/// A's frame, at most 8. false: out of memory (near_features.c).
bool cr_find_near_features(
	const cr_completion *completion, double reach, const v3d *normals, int normal_count, cr_near_features *found);

#endif
