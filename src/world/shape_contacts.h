/// Contacts of one shape with some bodies, by the stages of a world and without a step of one.
#ifndef CR_WORLD_SHAPE_CONTACTS_H
#define CR_WORLD_SHAPE_CONTACTS_H

#include "world/world.h"

/// Checks two shapes and their poses (NULL: the identity).
carom_result cr_check_two_shapes(carom_context *context, const char *function, const carom_shape *const shapes[2],
	const carom_pose *const given[2], carom_pose poses[2]);

/// Bodies for one call, and the stages that they go through. The context keeps it for the next
/// call.
/// - Of a world: the first body is the query's shape; it meets all others, which do not meet each
///   other.
/// - Of pairs of shapes: bodies 2i and 2i + 1 meet each other, and nothing else.
typedef struct cr_contact_query {
	cr_spare spare;
	carom_context *context; // the user's
	carom_context memory;   // child of one thread: pays for everything here
	CR_ARRAY(cr_body) bodies;
	CR_ARRAY(const cr_body *) originals; // beside bodies: cr_pipeline.originals
	cr_box_meshes box_meshes;
	int32_t shapes; // of the first bodies: these hold shapes of their own
	bool has_parts; // some bodies are parts of one
	bool in_pairs;
	bool failed;
	cr_stages stages;
	cr_pipeline pipeline;
	cr_results results;
} cr_contact_query;

/// Begins a query of up to so many bodies. On failure there is nothing to end.
carom_result cr_begin_contacts(carom_context *context, int32_t capacity, cr_contact_query **query);
/// Adds a checked shape at a checked pose; shapes go before copies of bodies.
void cr_add_contact_shape(cr_contact_query *query, const carom_shape *shape, const carom_pose *pose, carom_body_kind kind);
/// Adds a copy of a body of a world, which stays as it is. joins: it is a part of the body that the
/// last one is a part of.
void cr_add_contact_body(cr_contact_query *query, const cr_body *body, bool joins);
/// Likewise of a part that stands beside all others of its body until the query ends.
void cr_add_contact_part(cr_contact_query *query, const cr_body *part, bool joins);
/// Finds the contacts of the first body with the others, into results. Body numbers in them count
/// from 1 in the order in which bodies were added, and parts of one body from 0 in that order.
carom_result cr_find_contacts(cr_contact_query *query, const cr_settings *settings);
/// Ends a query: its bodies and results are gone.
void cr_end_contacts(cr_contact_query *query);

// ---- Pairs of shapes ----

/// Two shapes at two poses, of which A moves, unless it is a plane.
typedef struct cr_shape_pair {
	const carom_shape *shapes[2];
	carom_pose poses[2];
} cr_shape_pair;

carom_result cr_check_contact_margin(carom_context *context, double margin, const char *function);
/// Checks two shapes that are to have contacts, and their poses (NULL: the identity), into pair.
carom_result cr_check_contact_pair(carom_context *context, const char *function, const carom_shape *const shapes[2],
	const carom_pose *const given[2], cr_shape_pair *pair);
/// Adds a checked pair to a query of pairs, behind those that it has. *query: NULL before the first
/// one; it is begun then, for up to capacity pairs. A pair whose shapes are farther apart than
/// margin is not added; *added tells. On failure *query has the pairs that it had.
carom_result cr_add_contact_pair(
	carom_context *context, const cr_shape_pair *pair, double margin, int32_t capacity, cr_contact_query **query, bool *added);
/// Finds the contacts of all pairs that were added, into results: a pair of these for each that has
/// contacts, in order. Body ids of the pairs count from 1; those of contacts are null.
carom_result cr_find_pair_contacts(cr_contact_query *query, double margin);
/// Takes all pairs away, so that others can be added. A query that holds much memory is ended:
/// *query is NULL then.
void cr_rest_contacts(cr_contact_query **query);

/// Are the oriented boxes of two shapes farther apart than margin, so that these do not meet within
/// it? Takes no memory.
bool cr_shapes_are_far(const carom_shape *const shapes[2], const carom_pose poses[2], double margin);

#endif
