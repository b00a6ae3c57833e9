/// @file keys.h
/// Poses at given times, and the poses between them: how an animator moves a body.
#ifndef SIM_KEYS_H
#define SIM_KEYS_H

#include "carom/math.h"

#include <stdbool.h>
#include <stdint.h>

/// A pose at a time.
typedef struct sim_key {
	double time; ///< seconds, 0 or later
	carom_pose pose;
} sim_key;

/// Keys in the order of their times. Two neighbours differ by less than half a turn, or the way
/// between them is the shortest one. All zero: there are none.
typedef struct sim_keys {
	const sim_key *list; ///< [count], the caller's
	int32_t count;
	/// From key to key the velocity has no jump, rests where the motion turns back, and goes beyond
	/// no key along any axis. It is zero at the first key and the last. False: straight ways at
	/// constant speeds, which jump at keys.
	bool smooth;
	/// The last key has the pose of the first, and all repeats, after it and before the first one;
	/// then smooth keys have no jump there either. False: the first pose holds before, the last one
	/// after.
	bool loop;
} sim_keys;

/// The pose at a time. There must be a key.
///
/// Smooth positions are cubic Hermite splines with the slopes of Fritsch and Butland (A Method for
/// Constructing Local Monotone Piecewise Cubic Interpolants, 1984). Smooth rotations are the cubic
/// curves of Kim, Kim and Shin (A General Construction Scheme for Unit Quaternion Curves, 1995)
/// through angular velocities that are chosen in the same way, in the frame of the body.
carom_pose sim_keys_pose(const sim_keys *keys, double time);

/// What is wrong with keys, as the name of a field of the key *key ("time", "pose.position", ...),
/// or NULL. Of a loop that does not close it is the last one.
const char *sim_keys_fault(const sim_keys *keys, int32_t *key);

/// The rotation vector (axis times angle, at most pi) of a unit quaternion, without functions of
/// the C library whose bits differ between machines.
carom_vec3 sim_rotation_vector(carom_quat q);

/// The velocity (m/s) and angular velocity (rad/s, world frame) that take one pose to another in so
/// many seconds.
void sim_pose_velocity(const carom_pose *from, const carom_pose *to, double seconds, carom_vec3 *velocity, carom_vec3 *spin);

#endif
