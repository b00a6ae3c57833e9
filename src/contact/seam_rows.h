/// The found pairs of two bodies of parts, as seams.c looks at them, and where their contacts lie.
#ifndef CR_CONTACT_SEAM_ROWS_H
#define CR_CONTACT_SEAM_ROWS_H

#include "contact/union_way.h"
#include "base/radix.h"

// In slops: a contact that is less deep leads to no part that the other body does not touch.
#define CR_SEAM_DEEP 4.0
// Cosine: a contact may be turned to a facet that faces the side of its normal by more.
#define CR_SEAM_SAME_SIDE 0.1

/// The state of a contact.
/// - CR_SEAM_LEANS: covered, and to be turned only if no other contact does its work.
enum { CR_SEAM_STAYS, CR_SEAM_COVERED, CR_SEAM_LEANS, CR_SEAM_DROPPED };

/// A found pair.
typedef struct cr_seam_row {
	cr_found_pair *found;
	const cr_raw_contact *contacts;
	cr_raw_contact *turned; // a copy of the contacts, some of them turned; NULL: none is
	uint8_t *state;         // [found->contacts.count]; NULL: all stay
	cr_raw_contact *led;    // [led_count] contacts out of the body in the place of some; NULL: none
	int32_t led_count;
} cr_seam_row;

/// Rows of one part and several parts of another body.
typedef struct cr_seam_group {
	const cr_pipeline *pipeline;
	cr_worker *worker;
	cr_seam_row **rows; // [count]
	int32_t count;
	int side; // of the body of several parts: 0 A, 1 B
	double rounding;
	// the others whose boxes are near that of the row in hand
	const cr_body **near;
	int32_t near_count;
	const cr_body **others; // room for those near a contact, and CR_MOST_COVERING
	// of many rows: by the lower ends of boxes along x, and the widest box; else NULL
	cr_key *order;
	double widest;
} cr_seam_group;

/// The part of a row on a side.
const cr_body *cr_seam_body(const cr_seam_group *g, const cr_seam_row *row, int side);
/// A part of a found pair, in the array where all others of its body stand beside it; NULL: it has
/// none.
const cr_body *cr_seam_original(const cr_pipeline *p, const cr_found_pair *found, int side);
/// All parts of a body of a found pair.
cr_whole cr_seam_whole(const cr_pipeline *p, const cr_found_pair *found, int side, double slop);
/// The slop of a row's two parts, with the roundings of the group.
double cr_seam_slop(const cr_seam_group *g, const cr_seam_row *row);

/// The points of both surfaces that a contact is about.
typedef struct cr_contact_ends {
	v3d at[2]; // on A, on B
} cr_contact_ends;

/// The ends of a contact whose point lies on A, or else on B.
cr_contact_ends cr_ends_if(const cr_raw_contact *c, bool on_a);
/// Does the point of a contact lie on A? Points of volumes may lie on either body, or beside one.
bool cr_lies_on_a(const cr_pipeline *p, const cr_seam_row *row, const cr_raw_contact *c);
cr_contact_ends cr_ends_of(const cr_pipeline *p, const cr_seam_row *row, const cr_raw_contact *c);
/// The normal of a contact, away from the body of the group's side.
v3d cr_seam_outward(const cr_seam_group *g, const cr_raw_contact *c);

/// The state of a contact of a row.
int cr_seam_state(const cr_seam_row *row, int32_t contact);
/// Note it. Out of memory: the worker has failed.
void cr_set_seam_state(cr_worker *worker, cr_seam_row *row, int32_t contact, uint8_t state);

// ---- Round bodies (seam_round.c) ----

/// The state of a covered contact of a smooth body, with its ends: it leans off a facet of its
/// side, or stays on a ridge; else CR_SEAM_COVERED. g->others: [others], some, that may reach its
/// point.
int cr_round_seam_state(cr_seam_group *g, const cr_seam_row *row, const cr_raw_contact *c, const cr_contact_ends *ends,
	int32_t others, const cr_bare_facet *facet, double slop);
/// Leave out doubles: contacts of a round body at one place, with two parts.
void cr_drop_seam_twins(cr_seam_group *g);

// ---- Other ways (seam_ways.c) ----

/// Turn a covered contact to a bare facet at its point, if one faces the same side and the contact
/// is not too far ahead of it. Where a volume is far deeper than the contact tells, it is led out.
bool cr_turn_seam_contact(cr_seam_group *g, cr_seam_row *row, int32_t contact, const cr_bare_facet *facet, double slop);
/// Let covered contacts that no other one replaces lead out of the whole body.
void cr_lead_out_of_seams(cr_seam_group *g, cr_seam_row *row);

#endif
