/// How far a body must move along one direction until it is clear of another: convex bodies and
/// meshes, in any pair. Nothing here allocates; everything may run on many threads at once.
#ifndef CR_BVH_CLEAR_WAY_H
#define CR_BVH_CLEAR_WAY_H

#include "bvh/collider_query.h"
#include "geom/slide.h"
#include "mesh/facets.h"

/// A convex body or a mesh. A closed mesh is solid; of an open one only the triangles are met.
typedef struct cr_solid {
	const cr_convex *convex;     // NULL: a mesh
	const cr_collider *collider; // of a mesh
	const cr_facets *facets;     // of a mesh
	double padding;              // of a mesh: radius of a ball that is added to it
	v3d place;                   // a point of its first piece, own frame
	const v3d *places;           // [place_count] of every piece; NULL: it has only one
	int32_t place_count;
} cr_solid;

/// A and B. All in the frame of A.
typedef struct cr_solid_pair {
	const cr_solid *a;
	const cr_solid *b;
	cr_relative b_in_a;
	const cr_bvh_kernels *kernels;
	double size;  // of both and the space between them
	double slack; // far more than roundings
} cr_solid_pair;

/// A move that brings A clear, or the obstacle of a longer one.
typedef struct cr_clear_way {
	v3d direction; // unit
	double length; // 0: A and B do not overlap; infinite: none up to the limit
	double passed; // no move before it is clear; above the limit where length is infinite
	// unit: A comes clear of the parts that it leaves last by any move p with normal . p > reach
	v3d normal;
	double reach;
	int32_t triangle[2]; // these parts, numbers in file order; -1: a convex body
	bool blocked;        // anything was in the way
} cr_clear_way;

enum { CR_MOST_BARRIERS = 16 };

/// Parts of a pair that stood in the way along other directions. Zero: none. They shorten the
/// search and change no length.
typedef struct cr_barriers {
	uint32_t part[CR_MOST_BARRIERS][2];
	int count;
	int next;
} cr_barriers;

/// Sets the pair up. The solids must outlive it. rounding: how far coordinates may lie from those
/// of the true bodies, which the moves part too; 0: not at all.
void cr_prepare_pair(cr_solid_pair *pair, const cr_solid *a, const cr_solid *b, const cr_relative *b_in_a, double rounding,
	const cr_bvh_kernels *kernels);

/// Finds the first move of A along a direction, at most limit, at which it does not meet B and
/// neither lies inside the other. So the move parts the two, whatever their form. from: no move up
/// to it is clear. Cost: O(log n) pairs of boxes for each triangle that is left on the way.
void cr_find_clear_way(
	const cr_solid_pair *pair, v3d direction, double from, double limit, cr_barriers *known, cr_clear_way *way);

/// Returns the convex body of a solid, or one triangle of its mesh (number in file order).
cr_convex cr_part_of_solid(const cr_solid *solid, int32_t triangle);

/// The box of a solid in its frame.
void cr_solid_box(const cr_solid *solid, v3d *centre, v3d *extent);

#endif
