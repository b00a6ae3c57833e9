// Motions of rigid bodies: see soft_motion.h.
#include "sim/cloth/soft_motion.h"

#include "carom/mesh.h"
#include "sim/base/rotations.h"

#include <math.h>

static bool is_zero(const double v[3]) { return v[0] == 0 && v[1] == 0 && v[2] == 0; }

static bool is_within(const double v[3], double most) { return fabs(v[0]) <= most && fabs(v[1]) <= most && fabs(v[2]) <= most; }

static bool is_axis(const double v[3]) { return is_within(v, 1e6) && sim_length3(v) >= 1e-9; }

const char *sim_soft_motion_fault(const sim_soft_motion *m)
{
	const carom_vec3 p = m->start.position;
	const carom_quat q = m->start.orientation;
	const double square = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
	const bool swings = m->swing != 0 || !is_zero(m->shift);
	int32_t key = 0;
	const struct {
		const char *name;
		bool fits;
	} fields[] = {
		{ "motion.start.position", is_within((const double[3]){ p.x, p.y, p.z }, CAROM_MAX_COORDINATE) },
		{ "motion.start.orientation", square >= 1e-18 && square <= 1e18 },
		{ "motion.velocity", is_within(m->velocity, 1e6) },
		{ "motion.spin", fabs(m->spin) <= 1e6 },
		{ "motion.spin_axis", m->spin == 0 || is_axis(m->spin_axis) },
		{ "motion.swing", fabs(m->swing) <= 1e6 },
		{ "motion.swing_axis", m->swing == 0 || is_axis(m->swing_axis) },
		{ "motion.shift", is_within(m->shift, 1e6) },
		{ "motion.period", m->period <= 1e6 && (m->period >= 1e-6 || (m->period == 0 && !swings)) },
		{ "motion.phase", fabs(m->phase) <= 1e6 },
		{ "motion.ramp", m->ramp >= 0 && m->ramp <= 1e6 },
		{ "motion.from", m->from >= 0 && m->from <= 1e6 },
		{ "motion.until", m->until == 0 || (m->until > m->from && m->until <= 1e6) },
		{ "motion.keys", m->keys.count >= 0 && (m->keys.count == 0 || m->keys.list) && !sim_keys_fault(&m->keys, &key) },
	};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (!fields[i].fits)
			return fields[i].name;
	}
	return NULL;
}

bool sim_soft_rests(const sim_soft_motion *motion)
{
	return motion->keys.count < 2 && is_zero(motion->velocity) && motion->spin == 0 && motion->swing == 0 &&
		is_zero(motion->shift);
}

carom_pose sim_soft_pose(const sim_soft_motion *motion, double time)
{
	if (motion->keys.count > 0)
		return sim_keys_pose(&motion->keys, time);
	carom_pose pose = motion->start;
	if (motion->until > 0)
		time = fmin(time, motion->until);
	time = fmax(time - motion->from, 0);
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
