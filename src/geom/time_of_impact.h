/// When two convex bodies that move first come near each other: conservative advancement (Mirtich,
/// Impulse-based Dynamic Simulation of Rigid Body Systems, 1996), with the bound along the
/// separating direction. No impact is missed; the proof is at the head of the source.
#ifndef CR_GEOM_TIME_OF_IMPACT_H
#define CR_GEOM_TIME_OF_IMPACT_H

#include "carom/results.h"
#include "geom/separation.h"

/// A body that moves on a straight line and turns at a constant rate about an axis through its
/// frame's origin, time 0 to 1.
typedef struct cr_motion {
	carom_pose begin;
	v3d travel;   // of the origin
	v3d axis;     // unit
	double angle; // radians, 0 to pi
	// Of a part of a body with parts: begin, travel, axis and angle are the body's, and the part is
	// at local in the body's frame.
	bool is_part;
	carom_pose local;
	double lever; // length of local.position; 0: no part
} cr_motion;

/// The motion that leads from one pose to another, turning the shorter way.
cr_motion cr_motion_between(const carom_pose *begin, const carom_pose *end);
/// The motion of a part of a body, which is at local (normalised) in the frame of the body.
cr_motion cr_motion_of_part(const cr_motion *body, const carom_pose *local);
/// The pose of a moving body, or of a part of one, at a time.
carom_pose cr_motion_at(const cr_motion *motion, double t);
/// The pose at time 0, without the roundings of cr_motion_at where it is no part.
carom_pose cr_motion_start(const cr_motion *motion);
/// Where a moving body is at a time, and the matrix of its orientation.
typedef struct cr_motion_place {
	double time;
	carom_pose pose;
	m3d rotation;
} cr_motion_place;
static inline cr_motion_place cr_motion_place_at(const cr_motion *motion, double t)
{
	const carom_pose pose = cr_motion_at(motion, t);
	return (cr_motion_place){ t, pose, m3d_from_quat(pose.orientation) };
}
/// Where it is at the beginning, and where it was when it was last asked for. So those who look at
/// one time often work it out once.
typedef struct cr_motion_places {
	const cr_motion *motion;
	cr_motion_place begin, last;
} cr_motion_places;
static inline cr_motion_places cr_motion_places_of(const cr_motion *motion)
{
	const cr_motion_place begin = cr_motion_place_at(motion, 0);
	return (cr_motion_places){ motion, begin, begin };
}
static inline const cr_motion_place *cr_look_at_place(cr_motion_places *places, double t)
{
	if (t == 0)
		return &places->begin;
	if (t != places->last.time)
		places->last = cr_motion_place_at(places->motion, t);
	return &places->last;
}
/// Says how fast any two points of two bodies may approach each other along a unit direction n from
/// B to A, at any time of the motions. reach: the most that a point lies away from the origin of
/// its body's frame.
double cr_motion_approach(const cr_motion *a, double reach_a, const cr_motion *b, double reach_b, v3d n);
/// Bounds the loss of a separation of two bodies by roundings, with their places this far apart.
double cr_motion_rounding(double reach_a, double reach_b, double apart);
/// Bounds how far any point of a body lies from the origin of its frame.
double cr_convex_reach(const cr_convex *convex);

typedef enum cr_impact_state {
	CR_IMPACT_NONE,      // the bodies stay apart
	CR_IMPACT_FOUND,     // apart before time, within tolerance at time
	CR_IMPACT_TOUCHING,  // within tolerance, or overlapping, at time 0
	CR_IMPACT_UNDECIDED, // out of steps: apart before time, nothing is known beyond
} cr_impact_state;

/// How callers are told.
static inline carom_toi_status cr_toi_status_of(cr_impact_state state)
{
	static const carom_toi_status statuses[] = { [CR_IMPACT_NONE] = CAROM_TOI_APART,
		[CR_IMPACT_FOUND] = CAROM_TOI_IMPACT,
		[CR_IMPACT_TOUCHING] = CAROM_TOI_TOUCHING,
		[CR_IMPACT_UNDECIDED] = CAROM_TOI_UNDECIDED };
	return statuses[state];
}

typedef struct cr_impact {
	cr_impact_state state;
	double time;              // never later than the true impact; 1 where there is none
	cr_separation separation; // axes of the world, origin at A's position at separation_time
	// time, or where the bodies stay apart the last one that was looked at
	double separation_time;
	int steps;
} cr_impact;

/// A time at which the bodies are within tolerance (above 0) of each other, and before which they
/// were never nearer than half of it.
void cr_find_impact(const cr_convex *a, const cr_motion *motion_a, const cr_convex *b, const cr_motion *motion_b,
	double tolerance, cr_impact *impact);

/// Does so between two times only: the bodies are known to be apart before from (from above 0), and
/// impacts at limit or later do not count. CR_IMPACT_TOUCHING is said at time 0 only, and there for
/// any limit.
void cr_find_impact_between(const cr_convex *a, const cr_motion *motion_a, const cr_convex *b, const cr_motion *motion_b,
	double tolerance, double from, double limit, cr_impact *impact);

/// Does so with the longer of both proved bounds from the first step on (head of the source): for
/// bodies that stay close to each other while they turn.
void cr_find_impact_guarded(const cr_convex *a, const cr_motion *motion_a, const cr_convex *b, const cr_motion *motion_b,
	double tolerance, double from, double limit, cr_impact *impact);

/// Measures two bodies at two places, if they are no farther apart than enough (see
/// cr_convex_separation_to). Axes of the world, origin at A's position. b_to_a: turns the axes of B
/// to those of A.
void cr_placed_separation(const cr_convex *a, const cr_motion_place *pa, const cr_convex *b, const cr_motion_place *pb,
	const m3d *b_to_a, double enough, cr_separation *separation);
/// Does so at a time of their motions.
void cr_motion_separation(
	const cr_convex *a, const cr_motion *ma, const cr_convex *b, const cr_motion *mb, double t, cr_separation *separation);

// ---- Triangles whose corners move on straight lines, in the place of A ----

typedef struct cr_moving_triangle {
	v3d begin[3];  // corners at time 0
	v3d travel[3]; // from there to time 1
} cr_moving_triangle;

/// Where the corners are at a time.
void cr_triangle_at(const cr_moving_triangle *triangle, double t, v3d corners[3]);
/// Finds an impact of a triangle with a convex body, as cr_find_impact does. separation has its
/// origin at the first corner at separation_time. Places should be near the triangle's.
void cr_find_triangle_impact(
	const cr_moving_triangle *a, const cr_convex *b, const cr_motion *motion_b, double tolerance, cr_impact *impact);

// ---- Planes: the half space z <= 0 of a frame that moves, which stands in for B ----

/// Bounds for a body over a plane, from the time on at which the plane's normal is up (world,
/// unit).
typedef struct cr_plane_bounds {
	double speed; // no point of the body within reach of its origin comes down faster
	double lost;  // to roundings of a height
} cr_plane_bounds;

/// height: the one that is measured then.
cr_plane_bounds cr_bound_over_plane(const cr_motion *motion, double reach, const cr_motion *plane, v3d up, double height);

/// Measures a body over a plane, as cr_motion_separation does.
void cr_plane_separation(const cr_convex *a, const cr_motion *ma, const cr_motion *plane, double t, cr_separation *separation);

/// Finds an impact with a plane, as cr_find_impact_between does.
void cr_find_plane_impact(const cr_convex *a, const cr_motion *ma, const cr_motion *plane, double tolerance, double from,
	double limit, cr_impact *impact);

#endif
