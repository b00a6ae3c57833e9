/// Who takes part in a swept scene of a world: the deforming bodies that ask for it, and the meshes
/// that filters let them meet; and where their vertices are. The scene of impacts and that of
/// surface contacts are two such scenes.
///
/// Who takes part is asked after bodies came or went or filters changed: each body of each asker
/// until one lets it pass.
#ifndef CR_WORLD_MEMBERS_H
#define CR_WORLD_MEMBERS_H

#include "base/array.h"
#include "carom/sweep.h"
#include "frame/body.h"

typedef struct cr_member {
	int32_t body;
	uint32_t generation;
} cr_member;

typedef CR_ARRAY(cr_member) cr_members;

typedef struct cr_membership {
	// Does a body that is alive ask for the scene? Such a body deforms.
	bool (*asks)(const cr_body *body);
	bool with_sensors; // these take part too
	// bodies came or went, or filters changed: who takes part is asked again
	bool stale;
	cr_members list;          // by mesh of the scene: in the order of the bodies' numbers
	cr_members next;          // while they are asked
	CR_ARRAY(int32_t) askers; // numbers of the bodies that ask, while members are asked
} cr_membership;

/// Ask who takes part: next. False when out of memory.
bool cr_list_members(carom_world *world, cr_membership *members);
/// Are the members of next those of the scene?
bool cr_are_members_kept(const cr_membership *members);
/// The place of a body's part in a list; -1: it is not there.
int32_t cr_find_member(const cr_members *members, int64_t part);
/// Add the meshes of next to a scene without meshes: they are its members then. A body meets itself
/// where it asks for the scene and for self-collision.
carom_result cr_add_members(carom_world *world, cr_membership *members, carom_sweep *sweep);
/// Give the meshes of a scene the filters of their bodies.
void cr_filter_members(const carom_world *world, cr_membership *members, carom_sweep *sweep);
/// Begin a step of the scene and put its vertices where the bodies begin and end theirs, or at_rest
/// where they end it. all: of rigid bodies too that have not moved. Parallel over bodies.
void cr_place_members(carom_world *world, const cr_membership *members, carom_sweep *sweep, bool all, bool at_rest);
void cr_free_members(carom_context *memory, cr_membership *members);

#endif
