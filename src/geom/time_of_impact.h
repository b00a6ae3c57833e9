/// When two convex bodies that move first come near each other: conservative advancement (Mirtich, Impulse-based Dynamic Simulation of
/// Rigid Body Systems, 1996), with the bound along the separating direction. No impact is missed; the proof is at the head of the source.
#ifndef CR_GEOM_TIME_OF_IMPACT_H
#define CR_GEOM_TIME_OF_IMPACT_H

#include "geom/separation.h"

/// A body that moves on a straight line and turns at a constant rate about an axis through its frame's origin, time 0 to 1.
typedef struct cr_motion {
	carom_pose begin;
	v3d travel;   // of the origin
	v3d axis;     // unit
	double angle; // radians, 0 to pi
} cr_motion;

/// The motion that leads from one pose to another, turning the shorter way.
cr_motion cr_motion_between(const carom_pose *begin, const carom_pose *end);
carom_pose cr_motion_at(const cr_motion *motion, double t);

typedef enum cr_impact_state {
	CR_IMPACT_NONE,      // the bodies stay apart
	CR_IMPACT_FOUND,     // apart before time, within tolerance at time
	CR_IMPACT_TOUCHING,  // within tolerance, or overlapping, at time 0
	CR_IMPACT_UNDECIDED, // out of steps: apart before time, nothing is known beyond
} cr_impact_state;

typedef struct cr_impact {
	cr_impact_state state;
	double time;              // never later than the true impact; 1 where there is none
	cr_separation separation; // axes of the world, origin at A's position at separation_time
	double separation_time;   // time, or where the bodies stay apart the last one that was looked at
	int steps;
} cr_impact;

/// The first time at which the bodies come within tolerance (above 0) of each other.
void cr_find_impact(const cr_convex *a, const cr_motion *motion_a, const cr_convex *b, const cr_motion *motion_b,
	double tolerance, cr_impact *impact);

#endif
