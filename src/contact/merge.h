/// Results of a step as users see them: contacts, pairs and events, in order.
#ifndef CR_CONTACT_MERGE_H
#define CR_CONTACT_MERGE_H

#include "frame/match.h"
#include "contact/contact.h"

typedef struct cr_results {
	CR_ARRAY(carom_contact) contacts;
	CR_ARRAY(cr_local_point) local; // beside the contacts
	CR_ARRAY(carom_pair) pairs;
	CR_ARRAY(carom_event) events;
} cr_results;

/// Second half of the merge stage: from the pipeline's pairs and the results of the last step to
/// the results of this one. On failure now is undefined and then untouched.
carom_result cr_merge(cr_pipeline *pipeline, const cr_results *then, cr_results *now);
void cr_results_free(carom_context *context, cr_results *results);
/// Hash of the contacts (carom_world_hash).
uint64_t cr_results_hash(const cr_results *results);

#endif
