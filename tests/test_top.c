// Free turning of rigid bodies against Euler's equations, integrated by a dull method, and against closed forms.
#include "test.h"

#include "sim/base/rotations.h"
#include "sim/base/vectors.h"
#include "sim/rigid/dynamics.h"
#include "sim/rigid/top.h"

#include <math.h>
#include <string.h>

static double random_between(uint64_t *seed, double low, double high)
{
	return low + (high - low) * 0.5 * (1 + sim_random_unit(seed));
}

/// The tensor in the body's frame of three principal moments, whose axes q turns there.
static void turn_moments(const double moments[3], carom_quat q, double inertia[6])
{
	const double diagonal[6] = { moments[0], moments[1], moments[2], 0, 0, 0 };
	const carom_vec3 x = sim_apply_turned_tensor(diagonal, q, (carom_vec3){ 1, 0, 0 });
	const carom_vec3 y = sim_apply_turned_tensor(diagonal, q, (carom_vec3){ 0, 1, 0 });
	const carom_vec3 z = sim_apply_turned_tensor(diagonal, q, (carom_vec3){ 0, 0, 1 });
	const double t[6] = { x.x, y.y, z.z, x.y, x.z, y.z };
	memcpy(inertia, t, sizeof t);
}

/// Moments of a solid box, which may be a rod, a slab or a cube.
static void random_moments(uint64_t *seed, double moments[3])
{
	double side[3];
	for (int k = 0; k < 3; k++)
		side[k] = random_between(seed, 0.02, 2);
	const int kind = (int)random_between(seed, 0, 4);
	if (kind > 1)
		side[1] = side[0];
	if (kind > 2)
		side[2] = side[0];
	for (int k = 0; k < 3; k++)
		moments[k] = side[(k + 1) % 3] * side[(k + 1) % 3] + side[(k + 2) % 3] * side[(k + 2) % 3];
}

// The oracle: q' = w q / 2 in the world, w = I^-1 L, by the method of Runge and Kutta in many small steps.

static carom_quat rate_of(const double inverse[6], carom_quat q, carom_vec3 momentum)
{
	const carom_vec3 w = sim_apply_turned_tensor(inverse, q, momentum);
	return sim_multiply((carom_quat){ 0.5 * w.x, 0.5 * w.y, 0.5 * w.z, 0 }, q);
}

static carom_quat along(carom_quat q, carom_quat rate, double time)
{
	return sim_unit_quat((carom_quat){ q.x + time * rate.x, q.y + time * rate.y, q.z + time * rate.z, q.w + time * rate.w });
}

static carom_quat turn_dully(const double inertia[6], carom_quat q, carom_vec3 momentum, double duration, int steps)
{
	double inverse[6];
	const double h = duration / steps;
	REQUIRE(sim_invert_tensor(inertia, inverse));
	for (int i = 0; i < steps; i++) {
		const carom_quat a = rate_of(inverse, q, momentum);
		const carom_quat b = rate_of(inverse, along(q, a, 0.5 * h), momentum);
		const carom_quat c = rate_of(inverse, along(q, b, 0.5 * h), momentum);
		const carom_quat d = rate_of(inverse, along(q, c, h), momentum);
		const carom_quat sum = { a.x + 2 * b.x + 2 * c.x + d.x, a.y + 2 * b.y + 2 * c.y + d.y, a.z + 2 * b.z + 2 * c.z + d.z,
			a.w + 2 * b.w + 2 * c.w + d.w };
		q = along(q, sum, h / 6);
	}
	return q;
}

static double angle_between(carom_quat a, carom_quat b)
{
	const carom_quat d = sim_multiply(a, sim_conjugate(b));
	return 2 * atan2(sqrt(d.x * d.x + d.y * d.y + d.z * d.z), fabs(d.w));
}

TEST(top, principal_axes_are_found_and_ordered)
{
	uint64_t seed = 1;
	for (int i = 0; i < 2000; i++) {
		double moments[3], inertia[6];
		sim_top top;
		random_moments(&seed, moments);
		turn_moments(moments, i % 5 ? sim_random_rotation(&seed, SIM_PI) : (carom_quat){ 0, 0, 0, 1 }, inertia);
		REQUIRE(sim_make_top(inertia, &top));
		const carom_vec3 axes[3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
		const double rates[3] = { top.round, top.round + top.flat, top.round + top.odd };
		for (int k = 0; k < 3; k++) {
			const carom_vec3 axis = carom_rotate(top.axes, axes[k]), l = sim_apply_tensor(inertia, axis);
			const carom_vec3 rest = sim_subtract(axis, sim_scale(l, rates[k]));
			CHECK(sim_length(rest) < 1e-11);
		}
		CHECK(fabs(top.flat) <= fabs(top.odd) * (1 + 1e-12) + 1e-12 &&
			fabs(top.flat) <= fabs(top.odd - top.flat) * (1 + 1e-12) + 1e-12);
	}
	sim_top top;
	CHECK(!sim_make_top((const double[6]){ 1, 1, 0, 0, 0, 0 }, &top));
	CHECK(!sim_make_top((const double[6]){ 1, 1, -1, 0, 0, 0 }, &top));
}

/// Up to 15 rad/s about the slowest axis, in steps of 1/60 s.
TEST(top, turns_as_eulers_equations_say)
{
	uint64_t seed = 2;
	double worst = 0;
	for (int i = 0; i < 300; i++) {
		double moments[3], inertia[6];
		sim_top top;
		random_moments(&seed, moments);
		turn_moments(moments, sim_random_rotation(&seed, SIM_PI), inertia);
		REQUIRE(sim_make_top(inertia, &top));
		const double least = fmin(moments[0], fmin(moments[1], moments[2])), size = random_between(&seed, 0, 15) * least;
		const double x = sim_random_unit(&seed), y = sim_random_unit(&seed), z = sim_random_unit(&seed);
		const carom_vec3 momentum = sim_scale(sim_normalize((carom_vec3){ x, y, z }), size);
		const carom_quat start = sim_random_rotation(&seed, SIM_PI);
		carom_quat q = start;
		for (int k = 0; k < 60; k++)
			q = sim_turn_freely(&top, q, momentum, 1.0 / 60);
		worst = fmax(worst, angle_between(q, turn_dully(inertia, start, momentum, 1, 4000)));
	}
	CHECK(worst < 2e-5);
	CHECK(worst > 0); // the two are not one program
}

/// What is turned on and then back is where it was; a turn of no momentum, or of none that is a number, is none.
TEST(top, turning_back_returns)
{
	sim_top top;
	REQUIRE(sim_make_top((const double[6]){ 1, 2, 2.5, 0.2, -0.1, 0.3 }, &top));
	const carom_quat start = sim_unit_quat((carom_quat){ 0.1, 0.2, -0.4, 0.7 });
	const carom_vec3 momentum = { 20, -50, 30 };
	carom_quat q = start;
	for (int k = 0; k < 600; k++)
		q = sim_turn_freely(&top, q, momentum, k < 300 ? 0.01 : -0.01);
	CHECK(angle_between(q, start) < 1e-12);
	const carom_quat still = sim_turn_freely(&top, start, (carom_vec3){ 0, 0, 0 }, 1);
	const carom_quat lost = sim_turn_freely(&top, start, (carom_vec3){ NAN, 0, 0 }, 1);
	CHECK(memcmp(&still, &start, sizeof start) == 0 && memcmp(&lost, &start, sizeof start) == 0);
}

// ---- In the solver's world ----

static sim_dynamics *open_world(double damping, double most)
{
	const sim_solver_settings settings = { .iterations = 50,
		.over_relaxation = 1.3,
		.error_reduction = 0.2,
		.softness = 1e-9,
		.max_correcting_speed = 2,
		.angular_damping = damping,
		.max_angular_speed = most };
	sim_dynamics *dynamics = sim_create_dynamics(&settings, (carom_vec3){ 0, 0, 0 });
	REQUIRE(dynamics != NULL);
	return dynamics;
}

static void put_top(sim_dynamics *dynamics, const double inertia[6], carom_vec3 at, carom_vec3 spin)
{
	sim_error error = { "" };
	sim_dynamic_body body = {
		.kind = CAROM_DYNAMIC, .pose = carom_pose_identity(), .mass = { .mass = 3 }, .angular_velocity = spin, .friction = 0.5
	};
	body.pose.position = at;
	memcpy(body.mass.inertia, inertia, sizeof body.mass.inertia);
	REQUIRE(sim_dynamics_add_body(dynamics, &body, &error));
}

static carom_vec3 momentum_of(const sim_dynamics *dynamics, int32_t body)
{
	return sim_apply_turned_tensor(sim_dynamics_get_mass(dynamics, body).inertia,
		sim_dynamics_get_pose(dynamics, body).orientation, sim_dynamics_get_angular_velocity(dynamics, body));
}

static void step_world(sim_dynamics *dynamics, sim_dynamic_contact *contacts, int32_t count)
{
	int32_t lost = -1;
	REQUIRE(sim_dynamics_step(dynamics, 1.0 / 60, contacts, count, &lost));
}

/// Largest relative changes of energy and of angular momentum of a body in so many steps.
static void run_free(sim_dynamics *dynamics, int steps, double *energy_change, double *momentum_change)
{
	const double energy = sim_dynamics_kinetic_energy(dynamics);
	const carom_vec3 l = momentum_of(dynamics, 0);
	*energy_change = *momentum_change = 0;
	for (int i = 0; i < steps; i++) {
		step_world(dynamics, NULL, 0);
		*energy_change = fmax(*energy_change, fabs(sim_dynamics_kinetic_energy(dynamics) / energy - 1));
		*momentum_change = fmax(*momentum_change, sim_length(sim_subtract(momentum_of(dynamics, 0), l)) / sim_length(l));
	}
}

TEST(top, free_bodies_keep_energy_and_angular_momentum)
{
	static const carom_vec3 spins[] = { { 0.01, 4, 0.01 }, { 0.1, 10, 0 }, { 5, 7, -3 }, { 0, 25, 0.2 }, { 3, 0, 0 } };
	static const double inertias[3][6] = {
		{ 3.25, 2.5, 1.25, 0, 0, 0 }, { 3, 4, 5, 0.5, 0.2, -0.3 }, { 1.001, 1, 0.0011, 0, 0, 0 } // a brick, a lump, a needle
	};
	for (int i = 0; i < 15; i++) {
		double energy, momentum;
		sim_dynamics *dynamics = open_world(0, INFINITY);
		put_top(dynamics, inertias[i / 5], (carom_vec3){ 1, 2, 3 }, spins[i % 5]);
		run_free(dynamics, 3600, &energy, &momentum);
		CHECK(energy < 1e-4);
		CHECK(momentum < 1e-11);
		sim_destroy_dynamics(dynamics);
	}
}

/// The complete elliptic integral K of the parameter m = k^2, by the arithmetic-geometric mean.
static double elliptic(double m)
{
	double a = 1, b = sqrt(1 - m);
	for (int i = 0; i < 30; i++) {
		const double next = 0.5 * (a + b);
		b = sqrt(a * b);
		a = next;
	}
	return SIM_PI / (2 * a);
}

/// Time between two flips of a body that spins about its middle axis (L. Landau, E. Lifshitz, Mechanics, 37). Moments ascend.
static double flip_time(const double moments[3], carom_vec3 w)
{
	const double energy = moments[0] * w.x * w.x + moments[1] * w.y * w.y + moments[2] * w.z * w.z; // twice
	const double square = pow(moments[0] * w.x, 2) + pow(moments[1] * w.y, 2) + pow(moments[2] * w.z, 2);
	const bool about_last = square > energy * moments[1];
	const double first = moments[about_last ? 0 : 2], last = moments[about_last ? 2 : 0];
	const double rate = sqrt((last - moments[1]) * (square - energy * first) / (moments[0] * moments[1] * moments[2]));
	const double m = (moments[1] - first) * (energy * last - square) / ((last - moments[1]) * (square - energy * first));
	return 2 * elliptic(m) / rate;
}

/// Dzhanibekov's effect: a handle that spins about its middle axis turns over now and then, for a minute.
TEST(top, a_handle_turns_over_on_time)
{
	static const double moments[3] = { 0.9, 1.7, 2.3 };
	static const carom_vec3 spins[] = { { 0.01, 6, 0.003 }, { 0.002, 6, 0.02 }, { 1e-4, 12, 1e-4 } };
	for (int i = 0; i < 3; i++) {
		sim_dynamics *dynamics = open_world(0, INFINITY);
		put_top(dynamics, (const double[6]){ moments[0], moments[1], moments[2], 0, 0, 0 }, (carom_vec3){ 0, 0, 0 }, spins[i]);
		double before = spins[i].y, first = 0, last = 0;
		int flips = 0;
		for (int k = 1; k <= 3600; k++) {
			step_world(dynamics, NULL, 0);
			const carom_quat back = sim_conjugate(sim_dynamics_get_pose(dynamics, 0).orientation);
			const double now = carom_rotate(back, sim_dynamics_get_angular_velocity(dynamics, 0)).y;
			if (before * now < 0) {
				last = (k - 1 + before / (before - now)) / 60;
				first = flips++ ? first : last;
			}
			before = now;
		}
		REQUIRE(flips > 10);
		const double expected = flip_time(moments, spins[i]);
		CHECK_NEAR((last - first) / (flips - 1), expected, 0.005 * expected);
		CHECK_INT(flips, (int)floor((60 - first) / expected) + 1);
		sim_destroy_dynamics(dynamics);
	}
}

/// The axis of a symmetric top goes around the angular momentum at |L| / I, at a constant angle; at 120 rad/s too.
TEST(top, symmetric_tops_precess_by_the_formula)
{
	static const carom_vec3 spins[] = { { 1, 0, 8 }, { 3, 0, -2 }, { 20, 0, 120 } };
	for (int i = 0; i < 6; i++) {
		const double across = 2, along_axis = i < 3 ? 0.5 : 3.9;
		const double inertia[6] = { across, across, along_axis, 0, 0, 0 };
		sim_dynamics *dynamics = open_world(0, INFINITY);
		put_top(dynamics, inertia, (carom_vec3){ 0, 0, 0 }, spins[i % 3]);
		const carom_vec3 l = momentum_of(dynamics, 0);
		for (int k = 1; k <= 600; k++) {
			step_world(dynamics, NULL, 0);
			const carom_vec3 axis = carom_rotate(sim_dynamics_get_pose(dynamics, 0).orientation, (carom_vec3){ 0, 0, 1 });
			const carom_quat turned = sim_axis_angle((const double[3]){ l.x, l.y, l.z }, sim_length(l) / across * k / 60);
			const carom_vec3 there = carom_rotate(turned, (carom_vec3){ 0, 0, 1 });
			CHECK(sim_length(sim_subtract(axis, there)) < 1e-9);
		}
		sim_destroy_dynamics(dynamics);
	}
}

/// However fast: the angular momentum stays, and the energy within what it can be with it.
TEST(top, fast_spins_do_not_blow_up)
{
	for (double speed = 100; speed < 2e7; speed *= 10) {
		double energy, momentum;
		sim_dynamics *dynamics = open_world(0, INFINITY);
		put_top(dynamics, (const double[6]){ 1, 2, 2.9, 0.1, 0, 0.2 }, (carom_vec3){ 0, 0, 0 },
			(carom_vec3){ 0.3 * speed, speed, 0 });
		run_free(dynamics, 600, &energy, &momentum);
		CHECK(momentum < 1e-10);
		CHECK(energy < 2); // Imax / Imin is below 3.1
		sim_destroy_dynamics(dynamics);
	}
}

TEST(top, damping_and_the_largest_speed_hold)
{
	sim_dynamics *dynamics = open_world(0.5, 7);
	put_top(dynamics, (const double[6]){ 1, 2, 2.9, 0.1, 0, 0.2 }, (carom_vec3){ 0, 0, 0 }, (carom_vec3){ 1, 20, 2 });
	step_world(dynamics, NULL, 0);
	CHECK(sim_length(sim_dynamics_get_angular_velocity(dynamics, 0)) < 7 + 1e-12);
	const carom_vec3 l = momentum_of(dynamics, 0);
	for (int k = 0; k < 120; k++)
		step_world(dynamics, NULL, 0);
	const carom_vec3 left = momentum_of(dynamics, 0), wanted = sim_scale(l, pow(1 / (1 + 0.5 / 60), 120));
	CHECK(sim_length(left) < sim_length(wanted) + 1e-9); // the largest speed may cut it once more
	CHECK(sim_length(left) > 0.8 * sim_length(wanted));
	sim_destroy_dynamics(dynamics);
}

/// Two bodies that tumble and hit each other with friction: all of the angular momentum about the origin is there after it.
TEST(top, blows_keep_the_sum_of_angular_momentum)
{
	uint64_t seed = 5;
	for (int i = 0; i < 100; i++) {
		double moments[3], inertia[6];
		sim_dynamics *dynamics = open_world(0, INFINITY);
		carom_vec3 sum[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
		for (int side = 0; side < 2; side++) {
			random_moments(&seed, moments);
			turn_moments(moments, sim_random_rotation(&seed, SIM_PI), inertia);
			const double x = 9 * sim_random_unit(&seed), y = 9 * sim_random_unit(&seed), z = 9 * sim_random_unit(&seed);
			put_top(dynamics, inertia, (carom_vec3){ side, 0.1, 0.2 }, (carom_vec3){ x, y, z });
			sim_dynamics_kick(dynamics, side, (carom_vec3){ side ? -9 : 6, 2, 1 }, (carom_vec3){ 0, 0, 0 });
		}
		const double y = 0.3 * sim_random_unit(&seed), z = 0.3 * sim_random_unit(&seed);
		sim_dynamic_contact contact = { .body_a = 0, .body_b = 1, .point = { 0.5, y, z }, .normal = { -1, 0, 0 }, .depth = 0 };
		for (int after = 0; after < 2; after++) {
			for (int side = 0; side < 2; side++) {
				const carom_vec3 p = sim_scale(sim_dynamics_get_velocity(dynamics, side), 3);
				const carom_vec3 orbit = sim_cross((carom_vec3){ side, 0.1, 0.2 }, p); // where the blow was
				sum[after] = sim_add(sum[after], sim_add(orbit, momentum_of(dynamics, side)));
			}
			step_world(dynamics, &contact, 1);
		}
		CHECK(sim_length(sim_subtract(sum[1], sum[0])) < 1e-11 * (1 + sim_length(sum[0])));
		sim_destroy_dynamics(dynamics);
	}
}
