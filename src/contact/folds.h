/// Contacts with solids that are folded: ways out of the solid as a whole.
#ifndef CR_CONTACT_FOLDS_H
#define CR_CONTACT_FOLDS_H

#include "contact/contact.h"

/// Lead points of the other body out of a solid whose surface winds around them more than once, or
/// the wrong way round. contacts: of a pair of meshes, of which one deforms. Where no surface does
/// so, nothing changes.
void cr_lead_out_of_folds(const cr_pipeline *pipeline, const cr_body *a, const cr_body *b, cr_raw_contacts *contacts);

#endif
