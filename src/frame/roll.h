/// Contacts that move on both bodies at once, as those of a wheel: which one of now is which one
/// of then.
#ifndef CR_FRAME_ROLL_H
#define CR_FRAME_ROLL_H

#include "frame/body.h"
#include "frame/match.h"

enum { CR_MOST_ROLLING = 16 };

/// An old contact that no new one has continued.
typedef struct cr_rolled {
	const cr_past_contact *contact;
	v3d point; // world, then
	bool used;
} cr_rolled;

/// Candidates: contacts of two parts, or of a part and all parts of a body.
typedef struct cr_rolling {
	const cr_body *bodies[2]; // A and B; of a body whose parts are all meant any one
	bool wheels[2];           // which of them may roll
	double size;              // metres: the radius of the smaller body
	double distance;          // metres: a place that is so near is where it was expected
	cr_rolled *then;          // [then_count], at most CR_MOST_ROLLING
	int32_t then_count;
	carom_contact **now; // [now_count], likewise; those of age 0 are free
	int32_t now_count;
} cr_rolling;

/// Half of the diagonal of a body's box.
double cr_radius_of(const cr_body *body);
/// May contacts of two parts roll: has one of them a round surface, and does neither deform?
bool cr_may_roll(const cr_body *a, const cr_body *b);

/// Give new contacts the age and impulse of old ones. See roll.c.
void cr_match_rolling(const cr_rolling *r);

#endif
