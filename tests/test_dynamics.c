// Rigid dynamics: free motion against formulas, contacts made by hand, and the same bits every time.
#include "test.h"

#include "sim/base/rotations.h"
#include "sim/rigid/dynamics.h"

#include <math.h>
#include <string.h>

static const double step = 1.0 / 60;

static sim_solver_settings settings(void)
{
	return (sim_solver_settings){ .iterations = 50,
		.over_relaxation = 1.3,
		.error_reduction = 0.2,
		.softness = 1e-9,
		.max_correcting_speed = 2,
		.restitution_speed = 0.1,
		.max_angular_speed = INFINITY };
}

static sim_dynamics *create(const sim_solver_settings *with, double gravity)
{
	sim_dynamics *dynamics = sim_create_dynamics(with, (carom_vec3){ 0, gravity, 0 });
	REQUIRE(dynamics != NULL);
	return dynamics;
}

static sim_dynamic_body ball(double height)
{
	sim_dynamic_body body = { .kind = CAROM_DYNAMIC, .pose = carom_pose_identity(), .friction = 0.5 };
	body.pose.position.y = height;
	const double mass = SIM_PI / 6;
	body.mass = (carom_mass){ .mass = mass, .inertia = { 0.1 * mass, 0.1 * mass, 0.1 * mass } };
	return body;
}

static sim_dynamic_body fixed(void)
{
	return (sim_dynamic_body){ .kind = CAROM_STATIC, .pose = carom_pose_identity(), .friction = 0.5 };
}

static void add(sim_dynamics *dynamics, const sim_dynamic_body *body)
{
	sim_error error = { "" };
	CHECK(sim_dynamics_add_body(dynamics, body, &error));
	CHECK_STR(error.text, "");
}

static void advance(sim_dynamics *dynamics, sim_dynamic_contact *contacts, int32_t count)
{
	int32_t lost = -1;
	CHECK(sim_dynamics_step(dynamics, step, contacts, count, &lost));
}

// Ball (body 1) of radius 0.5 on the plane y = 0 (body 0).
static sim_dynamic_contact ground_contact(const sim_dynamics *dynamics)
{
	const carom_vec3 p = sim_dynamics_get_centre(dynamics, 1);
	return (sim_dynamic_contact){
		.body_a = 0, .body_b = 1, .point = { p.x, p.y - 0.5, p.z }, .normal = { 0, -1, 0 }, .depth = 0.5 - p.y
	};
}

TEST(dynamics, free_fall_follows_the_integrator)
{
	const sim_solver_settings with = settings();
	sim_dynamics *dynamics = create(&with, -10);
	const sim_dynamic_body body = ball(100);
	add(dynamics, &body);
	for (int i = 0; i < 60; i++)
		advance(dynamics, NULL, 0);
	// Semi-implicit Euler: v = -g n h, y = y0 - g h^2 n (n + 1) / 2.
	CHECK_NEAR(sim_dynamics_get_velocity(dynamics, 0).y, -10, 1e-9);
	CHECK_NEAR(sim_dynamics_get_pose(dynamics, 0).position.y, 100 - 10 * step * step * 60 * 61 / 2, 1e-9);
	CHECK_NEAR(sim_dynamics_kinetic_energy(dynamics), 0.5 * body.mass.mass * 100, 1e-6);
	sim_destroy_dynamics(dynamics);
}

// The frame of detection is not the centre of mass: a body that turns in flight keeps the centre still, and
// energy and angular momentum too, also with an inertia tensor that is not diagonal.
TEST(dynamics, rotation_is_about_the_centre_of_mass)
{
	const sim_solver_settings with = settings();
	sim_dynamics *dynamics = create(&with, 0);
	sim_dynamic_body body = { .kind = CAROM_DYNAMIC, .pose = carom_pose_identity(), .angular_velocity = { 0, 0, 3 } };
	body.pose.position = (carom_vec3){ 5, 0, 0 };
	body.mass = (carom_mass){ .mass = 2, .centre = { 1, 0.5, 0.25 }, .inertia = { 3, 4, 5, 0.5, 0, 0 } };
	add(dynamics, &body);
	CHECK_NEAR(sim_dynamics_get_pose(dynamics, 0).position.x, 5, 1e-15);
	CHECK_NEAR(sim_dynamics_get_centre(dynamics, 0).x, 6, 1e-15);
	CHECK_NEAR(sim_dynamics_kinetic_energy(dynamics), 0.5 * 5 * 9, 1e-12);
	for (int i = 0; i < 60; i++)
		advance(dynamics, NULL, 0);
	const carom_vec3 centre = sim_dynamics_get_centre(dynamics, 0);
	CHECK_NEAR(centre.x, 6, 1e-12);
	CHECK_NEAR(centre.y, 0.5, 1e-12);
	const carom_pose pose = sim_dynamics_get_pose(dynamics, 0);
	const carom_vec3 back = carom_transform_point(pose, (carom_vec3){ 1, 0.5, 0.25 });
	CHECK_NEAR(back.x, centre.x, 1e-12);
	CHECK_NEAR(back.z, centre.z, 1e-12);
	CHECK(hypot(pose.position.x - 5, pose.position.y) > 0.1); // the frame did move
	CHECK_NEAR(2 * atan2(pose.orientation.z, pose.orientation.w), 3 - 2 * acos(-1) * (3 > acos(-1)), 1e-12);
	CHECK_NEAR(sim_dynamics_kinetic_energy(dynamics), 22.5, 1e-11);
	sim_destroy_dynamics(dynamics);
}

TEST(dynamics, body_rests_on_contacts)
{
	const sim_solver_settings with = settings();
	sim_dynamics *dynamics = create(&with, -10);
	const sim_dynamic_body ground = fixed(), body = ball(0.495);
	add(dynamics, &ground);
	add(dynamics, &body);
	for (int i = 0; i < 120; i++) {
		sim_dynamic_contact contact = ground_contact(dynamics);
		advance(dynamics, &contact, contact.depth >= 0);
	}
	CHECK_NEAR(sim_dynamics_get_centre(dynamics, 1).y, 0.5, 2e-3);
	CHECK(sim_dynamics_kinetic_energy(dynamics) < 1e-2);
	CHECK_NEAR(sim_dynamics_get_pose(dynamics, 0).position.y, 0, 0); // the static body stays
	sim_destroy_dynamics(dynamics);
}

TEST(dynamics, restitution_above_its_threshold_only)
{
	for (int fast = 0; fast < 2; fast++) {
		sim_solver_settings with = settings();
		with.restitution_speed = 1;
		with.error_reduction = 0;
		sim_dynamics *dynamics = create(&with, 0);
		sim_dynamic_body ground = fixed(), body = ball(0.5);
		body.restitution = 0.5;
		body.velocity.y = fast ? -4 : -0.5;
		add(dynamics, &ground);
		add(dynamics, &body);
		sim_dynamic_contact contact = ground_contact(dynamics);
		advance(dynamics, &contact, 1);
		CHECK_NEAR(sim_dynamics_get_velocity(dynamics, 1).y, fast ? 2 : 0, 1e-6);
		sim_destroy_dynamics(dynamics);
	}
}

// A box that slides is slowed by friction times gravity, whatever its direction: the pyramid lies along the motion.
TEST(dynamics, friction_slows_alike_in_all_directions)
{
	for (int i = 0; i < 6; i++) {
		const double angle = i * acos(-1) / 10;
		const sim_solver_settings with = settings();
		sim_dynamics *dynamics = create(&with, -10);
		const sim_dynamic_body ground = fixed();
		sim_dynamic_body body = ball(0.5);
		body.mass.inertia[0] = body.mass.inertia[1] = body.mass.inertia[2] = 1e3; // does not roll
		body.velocity = (carom_vec3){ 3 * cos(angle), 0, 3 * sin(angle) };
		add(dynamics, &ground);
		add(dynamics, &body);
		for (int k = 0; k < 30; k++) {
			sim_dynamic_contact contact = ground_contact(dynamics);
			contact.depth = 0;
			advance(dynamics, &contact, 1);
		}
		const carom_vec3 v = sim_dynamics_get_velocity(dynamics, 1);
		CHECK_NEAR(hypot(v.x, v.z), 3 - 0.5 * 10 * 30 * step, 0.02);
		CHECK_NEAR(v.z * cos(angle), v.x * sin(angle), 1e-3);
		sim_destroy_dynamics(dynamics);
	}
}

// A speculative contact stops the body where the surfaces meet, neither before nor behind.
TEST(dynamics, negative_depth_stops_at_the_surface)
{
	const sim_solver_settings with = settings();
	sim_dynamics *dynamics = create(&with, 0);
	const sim_dynamic_body ground = fixed();
	sim_dynamic_body body = ball(0.6);
	body.velocity.y = -30;
	add(dynamics, &ground);
	add(dynamics, &body);
	sim_dynamic_contact contact = ground_contact(dynamics);
	CHECK_NEAR(contact.depth, -0.1, 1e-12);
	advance(dynamics, &contact, 1);
	CHECK_NEAR(sim_dynamics_get_centre(dynamics, 1).y, 0.5, 1e-6);
	sim_destroy_dynamics(dynamics);

	// One that moves slowly enough, or away, is left alone.
	dynamics = create(&with, 0);
	body.velocity.y = -3;
	add(dynamics, &ground);
	add(dynamics, &body);
	contact = ground_contact(dynamics);
	advance(dynamics, &contact, 1);
	CHECK_NEAR(sim_dynamics_get_velocity(dynamics, 1).y, -3, 1e-9);
	sim_destroy_dynamics(dynamics);
}

// A contact that is a spring with a damper holds a body at the depth m g / k, whatever the step.
TEST(dynamics, stiff_contacts_are_springs)
{
	for (int i = 1; i <= 4; i *= 2) {
		sim_solver_settings with = settings();
		with.stiffness = 5000;
		with.damping = 300;
		sim_dynamics *dynamics = create(&with, -10);
		const sim_dynamic_body ground = fixed(), body = ball(0.5);
		add(dynamics, &ground);
		add(dynamics, &body);
		for (int k = 0; k < 240 * i; k++) {
			sim_dynamic_contact contact = ground_contact(dynamics);
			int32_t lost;
			CHECK(sim_dynamics_step(dynamics, step / i, &contact, contact.depth > 0, &lost));
		}
		CHECK_NEAR(sim_dynamics_get_centre(dynamics, 1).y, 0.5 - body.mass.mass * 10 / 5000, 1e-6);
		sim_destroy_dynamics(dynamics);
	}
}

TEST(dynamics, fastest_point_of_all_bodies)
{
	const sim_solver_settings with = settings();
	sim_dynamics *dynamics = create(&with, 0);
	const sim_dynamic_body ground = fixed();
	sim_dynamic_body body = ball(0);
	const double radii[3] = { 100, 2, 0.5 };
	add(dynamics, &ground);
	CHECK_NEAR(sim_dynamics_fastest(dynamics, radii), 0, 0);
	body.velocity = (carom_vec3){ 3, 4, 0 };
	add(dynamics, &body);
	CHECK_NEAR(sim_dynamics_fastest(dynamics, radii), 5, 1e-12);
	body.velocity = (carom_vec3){ 0, 0, 1 };
	body.angular_velocity = (carom_vec3){ 0, 10, 0 };
	add(dynamics, &body);
	CHECK_NEAR(sim_dynamics_fastest(dynamics, radii), 6, 1e-12);
	sim_destroy_dynamics(dynamics);
}

TEST(dynamics, deep_penetration_is_taken_back_slowly)
{
	const sim_solver_settings with = settings();
	sim_dynamics *dynamics = create(&with, 0);
	const sim_dynamic_body ground = fixed(), body = ball(-2);
	add(dynamics, &ground);
	add(dynamics, &body);
	sim_dynamic_contact contact = ground_contact(dynamics);
	advance(dynamics, &contact, 1);
	CHECK_NEAR(sim_dynamics_get_centre(dynamics, 1).y, -2 + 2 * step, 1e-8); // max_correcting_speed, not 0.2 * 2.5 m * 60 Hz
	CHECK_NEAR(sim_dynamics_get_velocity(dynamics, 1).y, 0, 1e-6);           // and it is not thrown
	sim_destroy_dynamics(dynamics);
}

TEST(dynamics, kinematic_body_keeps_its_motion_and_pushes)
{
	const sim_solver_settings with = settings();
	sim_dynamics *dynamics = create(&with, -10);
	sim_dynamic_body pusher = { .kind = CAROM_KINEMATIC, .pose = carom_pose_identity(), .velocity = { 0, 3, 0 } };
	const sim_dynamic_body body = ball(0.5);
	add(dynamics, &pusher);
	for (int i = 0; i < 60; i++)
		advance(dynamics, NULL, 0);
	CHECK_NEAR(sim_dynamics_get_pose(dynamics, 0).position.y, 3, 1e-9);
	CHECK_NEAR(sim_dynamics_kinetic_energy(dynamics), 0, 0); // it has none of its own
	add(dynamics, &body);
	sim_dynamic_contact contact = ground_contact(dynamics);
	contact.depth = 0;
	advance(dynamics, &contact, 1);
	CHECK_NEAR(sim_dynamics_get_velocity(dynamics, 1).y, 3, 1e-6);
	CHECK_NEAR(sim_dynamics_get_velocity(dynamics, 0).y, 3, 0);
	sim_destroy_dynamics(dynamics);
}

TEST(dynamics, a_kinematic_body_turns_by_all_of_its_angle)
{
	// Up to more than half a turn in a step; about its own origin, which moves on.
	static const double speeds[4] = { 1, 30, 120, 250 };
	const sim_solver_settings with = settings();
	for (int k = 0; k < 4; k++) {
		sim_dynamics *dynamics = create(&with, 0);
		const double w = speeds[k], axis[3] = { 2.0 / 3, -1.0 / 3, 2.0 / 3 };
		sim_dynamic_body body = { .kind = CAROM_KINEMATIC, .pose = { { 1, 2, 3 }, { 0.5, 0.5, 0.5, 0.5 } } };
		body.velocity = (carom_vec3){ 0.25, 0, 0 };
		body.angular_velocity = (carom_vec3){ w * axis[0], w * axis[1], w * axis[2] };
		add(dynamics, &body);
		for (int i = 0; i < 240; i++)
			advance(dynamics, NULL, 0);
		const carom_pose pose = sim_dynamics_get_pose(dynamics, 0);
		const carom_quat expected = sim_multiply(sim_axis_angle(axis, 4 * w), body.pose.orientation);
		const double along = pose.orientation.x * expected.x + pose.orientation.y * expected.y +
			pose.orientation.z * expected.z + pose.orientation.w * expected.w;
		CHECK_NEAR(fabs(along), 1, 1e-12);
		CHECK_NEAR(pose.position.x, 2, 1e-9);
		CHECK_NEAR(pose.position.y, 2, 1e-12);
		sim_destroy_dynamics(dynamics);
	}
}

TEST(dynamics, sleep_is_by_request)
{
	for (int sleep = 0; sleep < 2; sleep++) {
		sim_solver_settings with = settings();
		with.sleep = sleep;
		with.sleep_linear_speed = with.sleep_angular_speed = 0.1;
		with.sleep_time = 0.2;
		sim_dynamics *dynamics = create(&with, 0);
		sim_dynamic_body ground = fixed(), body = ball(0.5);
		ground.friction = 0;
		body.velocity.x = 0.05;
		add(dynamics, &ground);
		add(dynamics, &body);
		for (int i = 0; i < 60; i++) {
			sim_dynamic_contact contact = ground_contact(dynamics);
			advance(dynamics, &contact, 1);
		}
		CHECK_NEAR(sim_dynamics_get_velocity(dynamics, 1).x, sleep ? 0 : 0.05, 1e-9);
		sim_destroy_dynamics(dynamics);
	}
}

TEST(dynamics, damping_is_per_second)
{
	sim_solver_settings with = settings();
	with.linear_damping = 0.5;
	with.angular_damping = 1;
	sim_dynamics *dynamics = create(&with, 0);
	sim_dynamic_body body = ball(0);
	body.velocity.x = 1;
	body.angular_velocity.z = 1;
	add(dynamics, &body);
	for (int i = 0; i < 60; i++)
		advance(dynamics, NULL, 0);
	CHECK_NEAR(sim_dynamics_get_velocity(dynamics, 0).x, exp(-0.5), 0.01);
	CHECK_NEAR(sim_dynamics_get_angular_velocity(dynamics, 0).z, exp(-1), 0.01);
	sim_destroy_dynamics(dynamics);
}

TEST(dynamics, bad_masses_are_refused)
{
	static const carom_mass masses[] = {
		{ .mass = 0, .inertia = { 1, 1, 1 } },
		{ .mass = 1, .inertia = { 1, 1, 0 } },
		{ .mass = 1, .inertia = { 1, 1, 5 } },
		{ .mass = 1, .inertia = { 1, 1, 1, 2, 0, 0 } },
		{ .mass = INFINITY, .inertia = { 1, 1, 1 } },
		{ .mass = 1, .inertia = { NAN, 1, 1 } },
	};
	const sim_solver_settings with = settings();
	sim_dynamics *dynamics = create(&with, 0);
	for (size_t i = 0; i < sizeof masses / sizeof masses[0]; i++) {
		sim_error error = { "" };
		const sim_dynamic_body body = { .kind = CAROM_DYNAMIC, .pose = carom_pose_identity(), .mass = masses[i] };
		CHECK(!sim_dynamics_add_body(dynamics, &body, &error));
		CHECK(strstr(error.text, "is not that of a solid body") != NULL);
	}
	CHECK_INT(sim_dynamics_body_count(dynamics), 0);
	sim_destroy_dynamics(dynamics);
	sim_destroy_dynamics(NULL);
}

// A body whose numbers overflow is named; the program goes on.
TEST(dynamics, lost_body_is_named)
{
	const sim_solver_settings with = settings();
	sim_dynamics *dynamics = create(&with, 0);
	const sim_dynamic_body fine = ball(0);
	sim_dynamic_body fast = ball(5);
	fast.velocity.x = 1e308;
	fast.velocity.y = 1e308;
	fast.pose.position.x = 1.7e308;
	add(dynamics, &fine);
	add(dynamics, &fast);
	int32_t lost = -1;
	bool done = true;
	for (int i = 0; i < 10 && done; i++)
		done = sim_dynamics_step(dynamics, 1, NULL, 0, &lost);
	CHECK(!done);
	CHECK_INT(lost, 1);
	sim_destroy_dynamics(dynamics);
}

static void run_pile(carom_pose *poses, bool disturb)
{
	const sim_solver_settings with = settings();
	sim_dynamics *dynamics = create(&with, -10);
	const sim_dynamic_body ground = fixed();
	sim_dynamics *other = disturb ? create(&with, -3) : NULL;
	add(dynamics, &ground);
	for (int i = 0; i < 20; i++) {
		const sim_dynamic_body body = ball(0.5 + 0.9 * i);
		add(dynamics, &body);
		if (other)
			add(other, &body);
	}
	for (int i = 0; i < 60; i++) {
		sim_dynamic_contact contacts[20];
		for (int k = 0; k < 20; k++) {
			const carom_vec3 a = sim_dynamics_get_centre(dynamics, k), b = sim_dynamics_get_centre(dynamics, k + 1);
			const double gap = k == 0 ? b.y - 0.5 : b.y - a.y - 1;
			contacts[k] = (sim_dynamic_contact){
				.body_a = k, .body_b = k + 1, .point = { 0.01 * k, b.y - 0.5, 0 }, .normal = { 0, -1, 0 }, .depth = -gap
			};
		}
		advance(dynamics, contacts, 20);
		if (other) {
			contacts[0].body_a = 5; // this world has no ground
			advance(other, contacts, 19);
		}
	}
	for (int i = 0; i < 20; i++)
		poses[i] = sim_dynamics_get_pose(dynamics, i + 1);
	sim_destroy_dynamics(dynamics);
	sim_destroy_dynamics(other);
}

// ODE draws random numbers from a global: neither an earlier run nor another world between the steps may show.
TEST(dynamics, determinism_beside_another_world)
{
	carom_pose first[20], again[20], disturbed[20];
	run_pile(first, false);
	run_pile(again, false);
	run_pile(disturbed, true);
	CHECK(memcmp(first, again, sizeof first) == 0);
	CHECK(memcmp(first, disturbed, sizeof first) == 0);
	CHECK(first[0].position.y > 0.3 && first[19].position.y > first[0].position.y);
}
