/// Pairs of bodies: the found pairs of their parts, which stand side by side.
#ifndef CR_CONTACT_BODY_PAIRS_H
#define CR_CONTACT_BODY_PAIRS_H

#include "contact/merge.h"

/// The first of the found pairs begin to end - 1 (sorted by bodies) that is of other bodies than
/// the one before it; end: there is none. So each task of a parallel loop begins with whole bodies.
int64_t cr_begin_of_bodies(const cr_pipeline *pipeline, int64_t begin, int64_t end);
/// The end of the found pairs that are of the bodies of found pair i, from there on.
int64_t cr_end_of_bodies(const cr_pipeline *pipeline, int64_t i);

/// Reduce the contacts of each two bodies to the limit of carom_world_set_body_pairs, where one has
/// parts (body_limit.c). Found pairs are sorted by bodies. A pair that loses all contacts stays
/// a pair. false: out of memory.
bool cr_limit_bodies(cr_pipeline *pipeline);

/// Make room in now for the pairs of bodies and their events. Found pairs are those of the views.
/// false: out of memory.
bool cr_reserve_body_pairs(const cr_pipeline *pipeline, const cr_results *then, cr_results *now);
/// Fill them from the pairs of parts, which are filled, and give these their body_pair. Cannot
/// fail.
void cr_list_body_pairs(const cr_pipeline *pipeline, const cr_results *then, cr_results *now);

#endif
