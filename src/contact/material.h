/// Materials of contacts: from the features of a contact to the numbers that the caller gave to
/// triangles.
#ifndef CR_CONTACT_MATERIAL_H
#define CR_CONTACT_MATERIAL_H

#include "contact/contact.h"

/// Fill material_a and material_b of the contacts of a pair, whose bodies these are, from all their
/// other fields (carom_contact explains them). Where a body has no materials, its numbers stay as
/// they are.
void cr_set_materials(const cr_pipeline *pipeline, const cr_body *a, const cr_body *b, carom_contact *contacts, int32_t count);

#endif
