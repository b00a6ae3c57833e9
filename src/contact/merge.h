/// Results of a step as users see them: contacts, pairs and events, in order.
#ifndef CR_CONTACT_MERGE_H
#define CR_CONTACT_MERGE_H

#include "frame/match.h"
#include "contact/contact.h"

typedef struct cr_results {
	CR_ARRAY(carom_contact) contacts;
	// [contacts] in the frame of body A, of steps with solids that deform: these are seen with
	// another pose in each step. Of other steps none: they follow from the last pose of A.
	CR_ARRAY(cr_local_point) local;
	CR_ARRAY(carom_pair) pairs;
	CR_ARRAY(carom_event) events;
	CR_ARRAY(carom_body_pair) body_pairs; // and their events, of worlds that list them
	CR_ARRAY(carom_body_event) body_events;
} cr_results;

/// Two parts a <= b that touch, and that the stages do not find: surfaces, and granular bodies.
/// a == b: a body that touches itself.
typedef struct cr_further_pair {
	int32_t a;
	int32_t b;
	cr_span contacts;        // in the view of surface contacts
	cr_span shape_contacts;  // in that of surface contacts with shapes
	cr_span sphere_contacts; // in the order by pairs of sphere contacts
	int32_t sphere_group;    // in the view of groups of sphere pairs; -1: none
	int32_t row;             // set by cr_end_merge: in the view of pairs
} cr_further_pair;

typedef CR_ARRAY(cr_further_pair) cr_further_pairs;

/// Lists of further pairs, each sorted by a, b. No pair is in two of them.
typedef struct cr_further_lists {
	cr_further_pairs *surfaces;
	cr_further_pairs *grains;
} cr_further_lists;

/// The second half of the merge stage between its two parts.
typedef struct cr_merging {
	cr_pipeline *pipeline;
	cr_further_lists further; // NULL both: none
	cr_results *then;
	cr_results *now;
	int64_t contacts, events;                    // of now: how many
	bool pairs_over, contacts_over, events_over; // they are written over those of then
	bool with_local;
	// [pairs of now] The row of each in the last step; of a pair that begins -1 - n, where n rows
	// come before it.
	int32_t *before;
	// In the same memory, once events are written: the first of its contacts. Until a row is filled
	// it has those of the last step, if it goes on: they are noted in no other place.
	int32_t *first;
	// [contacts of then] and scratch for matching them; NULL: the few of a pair are noted in its
	// turn
	cr_past_contact *past;
	uint8_t *used;
	// contacts that pass on to other parts (contact/passing.c)
	struct cr_giver *givers; // [giver_count]
	int64_t giver_count;
	// contacts of then, wherever they are by now; NULL: no local ones
	const carom_contact *old;
	const cr_local_point *old_local;
} cr_merging;

/// Second half of the merge stage: from the pipeline's pairs, further ones (NULL: none) and the
/// results of the last step (then) to the results of this one. Does all that may fail, and leaves
/// then as it is: room for pairs, contacts and events. Memory for each is taken once: where that of
/// then is large enough, they will be written there.
carom_result cr_begin_merge(
	cr_pipeline *pipeline, const cr_further_lists *further, cr_results *then, cr_results *now, cr_merging *merging);
/// Fill now; then is spent. Bodies, and the contacts of the pipeline, are as they were.
void cr_end_merge(cr_merging *merging);
void cr_results_free(carom_context *context, cr_results *results);
/// Hash of the contacts (carom_world_hash).
uint64_t cr_results_hash(const cr_results *results);

/// Has one of the bodies of a found pair several parts?
bool cr_pair_has_parts(const cr_pipeline *pipeline, const cr_found_pair *found);

/// The user data of a body that an event tells; last: those of a body that was removed.
uint64_t cr_current_user_data(const cr_pipeline *pipeline, carom_body_id id, uint64_t last);

#endif
