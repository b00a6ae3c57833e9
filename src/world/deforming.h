/// Bodies whose vertices the caller moves: where these are during a step, and their form for
/// queries.
#ifndef CR_WORLD_DEFORMING_H
#define CR_WORLD_DEFORMING_H

#include "frame/body.h"

/// A mesh with its vertices where a pose puts them, at rest. The mesh must outlive it. memory pays;
/// name is the call's, for texts.
carom_result cr_deforming_create(
	carom_context *memory, const carom_mesh *mesh, const carom_pose *pose, bool solid, const char *name, cr_deforming **made);
/// Free it with its forms. NULL does nothing.
void cr_deforming_free(carom_world *world, cr_deforming *deforming);

/// A body as queries want it: itself when rigid, else a rigid one in the form of the present
/// moment, which the first call after a change makes. NULL when out of memory, with *result set.
/// Any thread.
const cr_body *cr_see_body(const cr_body *body, carom_result *result);

#endif
