/// When two balls on straight ways first meet, in closed form. No meeting is missed; the proof and
/// the bound of errors are at the head of the source.
#ifndef CR_GEOM_BALL_TIME_H
#define CR_GEOM_BALL_TIME_H

#include "geom/time_of_impact.h"

/// A ball whose centre goes from begin to begin + travel, time 0 to 1.
typedef struct cr_moving_ball {
	v3d begin;
	v3d travel;
	double radius; // above 0
} cr_moving_ball;

typedef struct cr_ball_time {
	cr_impact_state state; // NONE, FOUND or TOUCHING: they touch at time 0, and do not push on
	double time;           // of FOUND: never later than the true impact
} cr_ball_time;

/// Finds the first time at which two balls come within tolerance (above 0) of each other. Balls
/// that touch at time 0 are found where they get deeper by more than a quarter of the smaller
/// radius (or half of the tolerance, if that is more).
cr_ball_time cr_find_ball_time(const cr_moving_ball *a, const cr_moving_ball *b, double tolerance);

/// A bound of all roundings in the distance of two balls at any time of their ways.
double cr_ball_rounding(const cr_moving_ball *a, const cr_moving_ball *b);

#endif
