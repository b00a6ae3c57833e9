/// Contacts of consecutive steps: which one of now is which one of then, for warm starts and stable
/// stacks.
#ifndef CR_FRAME_MATCH_H
#define CR_FRAME_MATCH_H

#include "base/float_mode.h"
#include "carom/results.h"
#include "math/vec.h"
#include <string.h>

/// A contact's point in the frame of body A, by which contacts of two steps are compared.
typedef struct cr_local_point {
	float p[3];
} cr_local_point;

/// Contacts of one pair in this step, and the poses of its bodies.
typedef struct cr_contact_set {
	carom_contact *contacts;
	int32_t count;
	const carom_pose *pose;   // of body A
	const carom_pose *pose_b; // NULL: not known; then the bodies count as at rest with each other
} cr_contact_set;

/// The fields of a contact of the last step that are matched and carried over. Contacts of this
/// step may be written over those of the last one, once these are noted.
typedef struct cr_past_contact {
	carom_contact_kind kind;
	int32_t feature_a;
	int32_t feature_b;
	int32_t age;
	float impulse[3];
	float normal[3]; // world, then
	// The world place is noted, since few contacts are matched by it, and to turn it takes longer.
	union {
		double point[3];      // of a set that is not local
		cr_local_point local; // of one that is
	} at;
} cr_past_contact;

typedef struct cr_past_set {
	const cr_past_contact *contacts;
	int32_t count;
	const carom_pose *pose; // of body A, then
	const carom_pose *pose_b;
	bool local; // places are local
} cr_past_set;

/// The age of something that has lasted another step.
static inline int32_t cr_next_age(int32_t age) { return age < INT32_MAX ? age + 1 : age; }
/// Let a contact go on with one of the last step.
static inline void cr_carry_over(carom_contact *now, const cr_past_contact *then)
{
	now->age = cr_next_age(then->age);
	memcpy(now->impulse, then->impulse, sizeof now->impulse);
}

static inline cr_local_point cr_local_point_of(const double point[3], v3d position, const m3d *rotation)
{
	const v3d local = m3d_tmul(rotation, v3d_sub((v3d){ point[0], point[1], point[2] }, position));
	return (cr_local_point){ { (float)local.x, (float)local.y, (float)local.z } };
}

/// Note a contact of a set that is not local.
static inline cr_past_contact cr_past_of(const carom_contact *c)
{
	return (cr_past_contact){ c->kind, c->feature_a, c->feature_b, c->age, { c->impulse[0], c->impulse[1], c->impulse[2] },
		{ c->normal[0], c->normal[1], c->normal[2] }, { { c->point[0], c->point[1], c->point[2] } } };
}

/// Give each contact of now the age and impulse of the one that it continues. Each old contact is
/// used once. Contacts whose normals are more than 90 degrees apart, in the world and in the frame
/// of A, are never one. used: scratch, [then->count]. In this order:
/// 1. Equal features. An edge in a triangle may have a contact at either end, or at both, and all
///    have one name: so contacts of edges go on only within distance of the old place, or of where
///    the motion of the bodies takes it.
/// 2. The vertex that is now over another triangle.
/// 3. The nearest within distance, where at most 64 of each step are left.
/// 4. Equal features of edges, no farther away than far; or anywhere, if the bodies have moved
///    against each other by more than distance there.
void cr_match_contacts(const cr_past_set *then, const cr_contact_set *now, double distance, double far, uint8_t *used);

/// By distance alone, where a body has got another shape: its features have other numbers.
void cr_match_places(const cr_past_set *then, const cr_contact_set *now, double distance, uint8_t *used);

#endif
