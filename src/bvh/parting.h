/// The way out of an overlap: a move, near the shortest one, that parts two bodies of any form.
#ifndef CR_BVH_PARTING_H
#define CR_BVH_PARTING_H

#include "base/arena.h"
#include "bvh/clear_way.h"

/// Makes the solid of a mesh. Meshes of several pieces take memory from the arena. false: out of
/// memory.
bool cr_solid_of_mesh(cr_arena *arena, const cr_collider *collider, const cr_facets *facets, int32_t pieces, cr_solid *solid);
/// Makes that of a convex body, which must outlive it.
void cr_solid_of_convex(const cr_convex *convex, cr_solid *solid);

/// Finds a move that parts A from B. Its length is 0 where they do not overlap. The move is proved
/// to part them; that no shorter one does is not.
void cr_part_solids(const cr_solid_pair *pair, cr_clear_way *way);

#endif
