// Motions of rigid bodies: see soft_motion.h.
#include "sim/soft_motion.h"

#include "sim/rotations.h"

static bool is_zero(const double v[3]) { return v[0] == 0 && v[1] == 0 && v[2] == 0; }

bool sim_soft_rests(const sim_soft_motion *motion)
{
	return is_zero(motion->velocity) && motion->spin == 0 && motion->swing == 0 && is_zero(motion->shift);
}

carom_pose sim_soft_pose(const sim_soft_motion *motion, double time)
{
	carom_pose pose = motion->start;
	const double t = time < motion->ramp ? 0.5 * time * time / motion->ramp : time - 0.5 * motion->ramp;
	const double wave = motion->period > 0 ? sim_sine(2 * SIM_PI * t / motion->period + motion->phase) : 0;
	if (motion->spin != 0)
		pose.orientation = sim_multiply(sim_axis_angle(motion->spin_axis, motion->spin * t), pose.orientation);
	if (motion->swing != 0)
		pose.orientation = sim_multiply(sim_axis_angle(motion->swing_axis, motion->swing * wave), pose.orientation);
	pose.orientation = sim_unit_quat(pose.orientation);
	pose.position.x += motion->velocity[0] * t + motion->shift[0] * wave;
	pose.position.y += motion->velocity[1] * t + motion->shift[1] * wave;
	pose.position.z += motion->velocity[2] * t + motion->shift[2] * wave;
	return pose;
}
