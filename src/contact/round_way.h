/// The way of a sphere or capsule out of a mesh that its core has entered or pierced.
#ifndef CR_CONTACT_ROUND_WAY_H
#define CR_CONTACT_ROUND_WAY_H

#include "base/arena.h"
#include "bvh/bvh_kernels.h"

enum { CR_MOST_ROUND_WAYS = 48 };

/// Directions that are tried.
typedef struct cr_round_tries {
	v3d direction[CR_MOST_ROUND_WAYS]; // unit
	int count;
	// from here on: only where those before bring a way that is far longer than least
	int spare;
	// unit: of an open mesh, to the side that the body leaves by; 0 for a closed one
	v3d front;
	double least;   // no way is shorter
	bool inside[2]; // is an end of the core inside a closed mesh?
} cr_round_tries;

/// Add a direction of any length, unless it is 0, like one that is there, or leads to the back of
/// an open mesh.
void cr_try_round_way(cr_round_tries *tries, v3d direction);

typedef struct cr_round_way {
	v3d direction;
	double depth;     // infinite: there is none
	int32_t triangle; // that is touched last
} cr_round_way;

/// Find the direction along which the body comes clear of the mesh soonest: the first move at which
/// it overlaps no triangle, and is not inside. A direction along an open mesh counts three times.
/// All in the mesh's frame. false: out of memory.
bool cr_find_round_way(const cr_bvh_kernels *kernels, cr_arena *arena, const cr_collider *collider, const v3d core[2],
	double radius, const cr_round_tries *tries, cr_round_way *way);

#endif
