/// Contacts that pass from one part of a body to another one (passing.c).
#ifndef CR_CONTACT_PASSING_H
#define CR_CONTACT_PASSING_H

#include "contact/merge.h"

/// A pair of parts that had contacts in the last step and has none now, while others of its bodies
/// have some.
struct cr_giver {
	cr_past_contact *contacts; // [count], not local
	int32_t count;
	int32_t parts[2];   // of A and B: numbers within their bodies
	int64_t first, end; // rows of the two bodies, now
};

/// Note the pairs that give contacts away: then is as the last step left it. false: out of memory.
bool cr_plan_passing(cr_merging *m);
/// Let the new contacts of other parts, once all are filled, go on with them.
void cr_pass_on(const cr_merging *m);

#endif
