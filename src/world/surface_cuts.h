/// Cloth and a closed mesh that cross: where edges of the one pierce faces of the other.
/// surface_cuts.c lists them, surface_caps.c leads parts of the mesh back that have come through
/// faces of the cloth, surface_arches.c leads edges of the cloth out of the mesh.
#ifndef CR_WORLD_SURFACE_CUTS_H
#define CR_WORLD_SURFACE_CUTS_H

#include "proximity/proximity_state.h"
#include "world/surface_contacts.h"

/// A cloth and a closed mesh that cross.
typedef struct cr_cut_pair {
	carom_world *world;
	int32_t cloth, solid; // members of the scene
	cr_placed of_cloth, of_solid;
	const cr_piercings *cloth_edges, *solid_edges; // by ends, then place, then triangle; each once
} cr_cut_pair;

/// Called for each pair that crosses. False when out of memory.
typedef bool cr_cut_pair_fn(const cr_cut_pair *pair, void *user);
/// Call it for all pairs of the last search, in order. False as soon as a call is false, or when
/// out of memory.
bool cr_visit_cut_pairs(carom_world *world, cr_cut_pair_fn *fn, void *user);

/// Where the piercings of an edge begin, lower end first, or would.
int64_t cr_first_piercing(const cr_piercings *list, int32_t low, int32_t high);

/// How many directions are tried for a way out.
enum { CR_DIRECTIONS = 26 };

/// A unit direction across a unit one.
static inline v3d cr_across(v3d along)
{
	return v3d_normalize(v3d_cross(along, fabs(along.x) < 0.5 ? (v3d){ 1, 0, 0 } : (v3d){ 0, 1, 0 }));
}

/// Directions to the faces, edges and corners of a cube whose axes are two unit vectors at right
/// angles, and the one across both.
void cr_look_around(v3d normal, v3d along, v3d around[CR_DIRECTIONS]);

#endif
