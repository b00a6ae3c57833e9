/// @file math.h
/// Plain values that cross the interface. Right-handed axes; quaternions x, y, z, w; lengths in
/// metres by convention (any unit works as long as it is used throughout).
#ifndef CAROM_MATH_H
#define CAROM_MATH_H

#include "carom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A point, a direction or a size.
typedef struct carom_vec3 {
	double x, y, z;
} carom_vec3;

/// A rotation as a unit quaternion; q and -q are one rotation. The library normalises quaternions
/// that it is given, and refuses those whose length is not within 1e-3 of 1.
typedef struct carom_quat {
	double x, y, z, w;
} carom_quat;

/// Largest coordinate of a position: of poses, and of points and origins of rays that a world is
/// asked about. Larger ones are refused. Doubles are still an eighth apart there.
#define CAROM_MAX_POSITION 1e15

/// A position and an orientation. A point v of the body lies at rotate(orientation, v) + position
/// in the world. No coordinate of position may be beyond CAROM_MAX_POSITION.
typedef struct carom_pose {
	carom_vec3 position;
	carom_quat orientation;
} carom_pose;

/// A motion from begin (time 0) to end (time 1). The origin of the shape's frame moves on a
/// straight line at a constant speed, and the shape turns at a constant rate, the shorter way
/// round.
typedef struct carom_motion {
	carom_pose begin;
	carom_pose end;
} carom_motion;

/// An axis-aligned box; its faces belong to it.
typedef struct carom_aabb {
	carom_vec3 lower;
	carom_vec3 upper;
} carom_aabb;

/// The pose that changes nothing.
static inline carom_pose carom_pose_identity(void)
{
	carom_pose pose = { { 0, 0, 0 }, { 0, 0, 0, 1 } };
	return pose;
}

/// rotate(q, v) for a unit quaternion q.
static inline carom_vec3 carom_rotate(carom_quat q, carom_vec3 v)
{
	// v + 2 u x (u x v + w v), u the vector part.
	carom_vec3 c = { q.y * v.z - q.z * v.y + q.w * v.x, q.z * v.x - q.x * v.z + q.w * v.y,
		q.x * v.y - q.y * v.x + q.w * v.z };
	carom_vec3 r = { v.x + 2 * (q.y * c.z - q.z * c.y), v.y + 2 * (q.z * c.x - q.x * c.z),
		v.z + 2 * (q.x * c.y - q.y * c.x) };
	return r;
}

/// A point of the body frame in the world frame.
static inline carom_vec3 carom_transform_point(carom_pose pose, carom_vec3 v)
{
	carom_vec3 r = carom_rotate(pose.orientation, v);
	r.x += pose.position.x;
	r.y += pose.position.y;
	r.z += pose.position.z;
	return r;
}

/// A point of the world frame in the body frame.
static inline carom_vec3 carom_inverse_transform_point(carom_pose pose, carom_vec3 v)
{
	carom_quat inverse = { -pose.orientation.x, -pose.orientation.y, -pose.orientation.z,
		pose.orientation.w };
	carom_vec3 d = { v.x - pose.position.x, v.y - pose.position.y, v.z - pose.position.z };
	return carom_rotate(inverse, d);
}

/// The pose of a frame that stands at inner in the frame of outer: a point v lies at
/// carom_transform_point(outer, carom_transform_point(inner, v)). So the hand of a robot is at
/// carom_compose_poses(arm, hand_in_arm). The quaternion is not normalised: its length is the
/// product of theirs, and stays within some roundings of 1 along a chain of unit ones.
static inline carom_pose carom_compose_poses(carom_pose outer, carom_pose inner)
{
	carom_quat p = outer.orientation, q = inner.orientation;
	carom_pose pose = { carom_transform_point(outer, inner.position),
		{ p.w * q.x + p.x * q.w + p.y * q.z - p.z * q.y,
			p.w * q.y - p.x * q.z + p.y * q.w + p.z * q.x,
			p.w * q.z + p.x * q.y - p.y * q.x + p.z * q.w,
			p.w * q.w - p.x * q.x - p.y * q.y - p.z * q.z } };
	return pose;
}

/// The pose that undoes one with a unit quaternion: B in the frame of A is
/// carom_compose_poses(carom_invert_pose(A), B).
static inline carom_pose carom_invert_pose(carom_pose pose)
{
	carom_vec3 origin = { 0, 0, 0 };
	carom_pose inverse = { carom_inverse_transform_point(pose, origin),
		{ -pose.orientation.x, -pose.orientation.y, -pose.orientation.z, pose.orientation.w } };
	return inverse;
}

/// The motion from a pose along way without turning, as of a bullet, or of a step of a character.
static inline carom_motion carom_straight_motion(carom_pose begin, carom_vec3 way)
{
	carom_motion motion = { begin, begin };
	motion.end.position.x += way.x;
	motion.end.position.y += way.y;
	motion.end.position.z += way.z;
	return motion;
}

#ifdef __cplusplus
}
#endif
#endif
