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

#endif
