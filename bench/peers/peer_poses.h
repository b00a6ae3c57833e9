/// @file peer_poses.h
/// Random poses, and poses as Bullet has them.
#ifndef BENCH_PEER_POSES_H
#define BENCH_PEER_POSES_H

#include "carom/math.h"

#ifdef BENCH_HAVE_BULLET
#include <LinearMath/btTransform.h>
#endif

#include <cmath>
#include <random>

namespace bench {

/// Any orientation, position within span of the origin along each axis.
inline carom_pose random_pose(std::mt19937 &random, double span)
{
	std::normal_distribution<double> normal;
	std::uniform_real_distribution<double> place(-span, span);
	double q[4], length = 0;
	for (double &x : q) {
		x = normal(random);
		length += x * x;
	}
	length = std::sqrt(length);
	return { { place(random), place(random), place(random) }, { q[0] / length, q[1] / length, q[2] / length, q[3] / length } };
}

#ifdef BENCH_HAVE_BULLET
inline btTransform bullet_pose(const carom_pose &p)
{
	return btTransform(btQuaternion(static_cast<btScalar>(p.orientation.x), static_cast<btScalar>(p.orientation.y),
						   static_cast<btScalar>(p.orientation.z), static_cast<btScalar>(p.orientation.w)),
		btVector3(
			static_cast<btScalar>(p.position.x), static_cast<btScalar>(p.position.y), static_cast<btScalar>(p.position.z)));
}
#endif

} // namespace bench

#endif
