/// @file soft_motion.h
/// How a rigid body moves that nothing hinders: on and on, to and fro, or from key to key.
#ifndef SIM_SOFT_MOTION_H
#define SIM_SOFT_MOTION_H

#include "carom/math.h"
#include "sim/base/keys.h"

/// A motion. All zero except the start: at rest.
typedef struct sim_soft_motion {
	carom_pose start;     ///< at time 0 when phase is 0
	double velocity[3];   ///< m/s
	double spin_axis[3];  ///< not zero where spin is not, world frame
	double spin;          ///< rad/s
	double swing_axis[3]; ///< not zero where swing is not, world frame
	double swing;         ///< to and fro by so much each way, rad
	double shift[3];      ///< to and fro by so much each way, m
	double period;        ///< of both, seconds; above 0 where one of them is not 0
	double phase;         ///< of both, rad
	double ramp;          ///< seconds in which the motion gathers its full speed
	double from;          ///< it begins at this time, seconds
	double until;         ///< it ends at this time, above from; 0: never
	/// Where there are some, they alone say where the body is, and the fields above count for
	/// nothing.
	sim_keys keys;
} sim_soft_motion;

/// The pose at a time >= 0: turned about the body's own origin by the spin, then by the swing.
carom_pose sim_soft_pose(const sim_soft_motion *motion, double time);

/// Name of the first field that no motion can have (not finite, an axis or a period of 0 where one
/// is needed, ...), or NULL.
const char *sim_soft_motion_fault(const sim_soft_motion *motion);

/// Does it never move?
bool sim_soft_rests(const sim_soft_motion *motion);

#endif
