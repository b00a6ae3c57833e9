/// Rigid meshes that turn during a step: their vertices move on arcs, and impacts with them are
/// those of the arcs.
///
/// Boxes and filters know straight lines alone. A vertex on its arc is never farther than the bulge
/// of its mesh from where the straight line is at that time, so boxes and filters that allow for
/// the bulge lose nothing. A pair of features that passes them is tested by itself, piece by piece
/// of the step: a piece half as long bulges a quarter as much.
#ifndef CR_SWEEP_SWEEP_ARC_H
#define CR_SWEEP_SWEEP_ARC_H

#include "geom/swept.h"
#include "geom/time_of_impact.h"

typedef struct cr_sweep_arc {
	bool turns;            // else the vertices move on straight lines
	cr_motion motion;      // of the mesh
	const float *vertices; // [3*n] of the mesh, in its own frame
	double bulge;          // above 0 where it turns
} cr_sweep_arc;

/// How far a point on its arc may be from where the straight line between its two ends is at the
/// same time. reach: no point lies farther from the origin of the body's frame.
double cr_bulge_of(const cr_motion *motion, double reach);

/// A pair of features of which some vertices move on an arc, and the others on straight lines.
typedef struct cr_arc_query {
	cr_swept_kind kind;
	double begin[4][3], end[4][3];
	const cr_sweep_arc *arc; // of those whose number is at least 0
	int32_t number[4];       // in the mesh of the arc; below 0: on a straight line
} cr_arc_query;

/// The swept test of such a pair. Before the time of an impact the features are proved to be more
/// than min_separation apart. At it they are within min_separation, the tolerance, and half of the
/// tolerance (or the rounding of the places, where that is more). Returns false where they stay
/// apart.
bool cr_test_arc(const cr_arc_query *query, const cr_swept_options *options, cr_swept_impact *impact);

#endif
