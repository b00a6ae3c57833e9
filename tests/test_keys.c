/// Poses between keys: ways, speeds, loops, faults.
#include "sim/base/keys.h"
#include "sim/base/rotations.h"
#include "sim/base/vectors.h"
#include "test.h"

#include <math.h>
#include <string.h>

static sim_key key_at(double time, double x, double y, double degrees)
{
	return (sim_key){ time, { { x, y, 0 }, sim_axis_angle((const double[3]){ 0, 0, 1 }, degrees * SIM_PI / 180) } };
}

static double turn_of(carom_pose pose) { return sim_rotation_vector(pose.orientation).z * 180 / SIM_PI; }

TEST(keys, rotation_vectors_are_exact)
{
	uint64_t state = 5;
	for (int i = 0; i < 500; i++) {
		double axis[3];
		for (int k = 0; k < 3; k++)
			axis[k] = sim_random_unit(&state) + 1e-3;
		const double angle = (i % 2 ? 1 : 1e-7) * 3.14159 * fabs(sim_random_unit(&state)), length = sim_length3(axis);
		const carom_vec3 v = sim_rotation_vector(sim_axis_angle(axis, angle));
		CHECK_NEAR(v.x, angle * axis[0] / length, 1e-13);
		CHECK_NEAR(v.y, angle * axis[1] / length, 1e-13);
		CHECK_NEAR(v.z, angle * axis[2] / length, 1e-13);
	}
	const carom_vec3 none = sim_rotation_vector((carom_quat){ 0, 0, 0, 1 }),
					 half = sim_rotation_vector((carom_quat){ 1, 0, 0, 0 });
	CHECK(none.x == 0 && none.y == 0 && none.z == 0);
	CHECK_NEAR(half.x, SIM_PI, 1e-14);
}

TEST(keys, linear_ways_are_straight_and_rest_outside)
{
	const sim_key list[] = { key_at(1, 0, 0, 0), key_at(2, 4, 2, 90), key_at(4, 4, 0, -60) };
	const sim_keys keys = { list, 3, false, false };
	const carom_pose before = sim_keys_pose(&keys, 0), after = sim_keys_pose(&keys, 100);
	CHECK(memcmp(&before, &list[0].pose, sizeof before) == 0 && memcmp(&after, &list[2].pose, sizeof after) == 0);
	for (int i = 0; i <= 100; i++) {
		const double u = i / 100.0;
		const carom_pose first = sim_keys_pose(&keys, 1 + u), second = sim_keys_pose(&keys, 2 + 2 * u);
		CHECK_NEAR(first.position.x, 4 * u, 1e-12);
		CHECK_NEAR(first.position.y, 2 * u, 1e-12);
		CHECK_NEAR(turn_of(first), 90 * u, 1e-10);
		CHECK_NEAR(second.position.y, 2 - 2 * u, 1e-12);
		CHECK_NEAR(turn_of(second), 90 - 150 * u, 1e-10);
	}
}

/// The largest jump of velocity and of spin between neighbouring instants of a motion.
static double roughest(const sim_keys *keys, double from, double to, int count)
{
	const double h = (to - from) / count;
	carom_vec3 v[2], w[2];
	double most = 0;
	for (int i = 0; i < count; i++) {
		const carom_pose a = sim_keys_pose(keys, from + i * h), b = sim_keys_pose(keys, from + (i + 1) * h);
		sim_pose_velocity(&a, &b, h, &v[i % 2], &w[i % 2]);
		if (i > 0)
			most = fmax(most, sim_length(sim_subtract(v[0], v[1])) + sim_length(sim_subtract(w[0], w[1])));
	}
	return most;
}

TEST(keys, smooth_ways_go_through_keys_without_a_jump_of_speed)
{
	uint64_t state = 11;
	sim_key list[9];
	double time = 0.5;
	for (int i = 0; i < 9; i++) {
		list[i].time = time += 0.3 + 0.2 * sim_random_unit(&state);
		const double x = sim_random_unit(&state), y = sim_random_unit(&state), z = sim_random_unit(&state);
		list[i].pose = (carom_pose){ { x, y, z }, sim_random_rotation(&state, 1.4) };
	}
	list[8].pose = list[0].pose;
	for (int loop = 0; loop < 2; loop++) {
		sim_keys keys = { list, 9, true, loop };
		for (int i = 0; i < 9; i++) {
			const carom_pose pose = sim_keys_pose(&keys, list[i].time);
			CHECK(memcmp(&pose.position, &list[i].pose.position, sizeof pose.position) == 0);
			CHECK_NEAR(sim_length(sim_rotation_vector(sim_multiply(sim_conjugate(pose.orientation), list[i].pose.orientation))),
				0, 1e-12);
		}
		// Jumps of a motion whose acceleration is bounded shrink with the distance of instants; those of a linear one do not.
		const double end = loop ? time + 2 : time + 0.5, coarse = roughest(&keys, 0, end, 4000),
					 fine = roughest(&keys, 0, end, 40000);
		CHECK(fine < 0.15 * coarse);
		keys.smooth = false;
		CHECK(roughest(&keys, 0, end, 40000) > 1);
	}
}

TEST(keys, smooth_ways_go_beyond_no_key)
{
	// It stands, goes, comes back: a spline by differences would dip below its keys.
	const sim_key list[] = { key_at(0, 0, 0, 0), key_at(1, 0, 0, 0), key_at(1.1, 1, 0, 80), key_at(2, 1, 0, 80),
		key_at(3, 0, 0, 0) };
	const sim_keys keys = { list, 5, true, false };
	for (int i = 0; i <= 3000; i++) {
		const carom_pose pose = sim_keys_pose(&keys, i * 0.001);
		CHECK(pose.position.x >= -1e-15 && pose.position.x <= 1 + 1e-15);
		CHECK(turn_of(pose) >= -1e-9 && turn_of(pose) <= 80 + 1e-9);
		if (i <= 1000)
			CHECK(pose.position.x == 0);
	}
}

TEST(keys, a_loop_begins_again)
{
	const sim_key list[] = { key_at(1, 0, 0, 0), key_at(1.5, 1, 0, 40), key_at(2.25, 0, 0, 0) };
	for (int smooth = 0; smooth < 2; smooth++) {
		const sim_keys keys = { list, 3, smooth, true };
		for (int i = 0; i < 100; i++) {
			const carom_pose one = sim_keys_pose(&keys, 1 + 0.0125 * i), other = sim_keys_pose(&keys, 1 + 0.0125 * i + 7 * 1.25);
			CHECK_NEAR(one.position.x, other.position.x, 1e-12);
			CHECK_NEAR(turn_of(one), turn_of(other), 1e-9);
		}
		CHECK_NEAR(sim_keys_pose(&keys, 0.3).position.x, sim_keys_pose(&keys, 1.55).position.x, 1e-12);
	}
}

TEST(keys, faults_are_named)
{
	int32_t key = -1;
	sim_key list[] = { key_at(1, 0, 0, 0), key_at(2, 1, 0, 0), key_at(3, 0, 0, 0) };
	sim_keys keys = { list, 3, true, true };
	CHECK(sim_keys_fault(&keys, &key) == NULL);
	list[2].pose.position.x = 1e-3;
	CHECK_STR(sim_keys_fault(&keys, &key), "loop");
	CHECK_INT(key, 2);
	keys.loop = false;
	CHECK(sim_keys_fault(&keys, &key) == NULL);
	list[1].time = 1;
	CHECK_STR(sim_keys_fault(&keys, &key), "time");
	CHECK_INT(key, 1);
	list[1].time = NAN;
	CHECK_STR(sim_keys_fault(&keys, &key), "time");
	list[1].time = 2;
	list[1].pose.position.y = NAN;
	CHECK_STR(sim_keys_fault(&keys, &key), "pose.position");
	list[1].pose.position.y = 0;
	list[1].pose.orientation.w = 2;
	CHECK_STR(sim_keys_fault(&keys, &key), "pose.orientation");
}
