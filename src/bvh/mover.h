/// When two things that move first come near each other: convex bodies, meshes or planes, in any
/// pair but two planes. No impact is missed; the proof is at the head of the source. Nothing here
/// allocates; everything may run on many threads at once.
#ifndef CR_BVH_MOVER_H
#define CR_BVH_MOVER_H

#include "bvh/collider_query.h"
#include "geom/time_of_impact.h"

/// A convex body, a mesh or a plane on its way.
typedef struct cr_mover {
	const cr_convex *convex;     // NULL: none
	const cr_collider *collider; // of a mesh; NULL: none
	cr_motion motion;            // neither: a plane, the half space z <= 0 of its frame
} cr_mover;

typedef struct cr_mover_impact {
	cr_impact impact;
	int32_t triangle[2]; // of meshes, numbers in file order; -1: no mesh, or nothing is near
	bool inside;         // one begins inside the other, a closed mesh: separation leads it out
} cr_mover_impact;

/// Finds the first time before limit (0 to 1) at which A and B come within tolerance (above 0) of
/// each other. A closed mesh is solid: what begins inside is CR_IMPACT_TOUCHING, and separation
/// leads its middle out through the nearest point of the surface. Else with a mesh separation is
/// not set: cr_find_nearest_parts tells it. A mesh without triangles is near nothing.
void cr_find_mover_impact(const cr_bvh_kernels *kernels, const cr_mover *a, const cr_mover *b, double tolerance, double limit,
	cr_mover_impact *impact);

/// Sets separation and triangles to the parts of A and B that are nearest to each other at
/// separation_time. Overlapping parts count by their depth. False: a mesh has no triangles.
bool cr_find_nearest_parts(const cr_mover *a, const cr_mover *b, cr_mover_impact *impact);

#endif
