// Rigid bodies on ODE. ODE's body frame lies in the centre of mass with the axes of the detection
// frame, so the two differ by a shift only; the inertia tensor keeps its off-diagonal terms.
//
// ODE solves contacts for one velocity of the whole step. A body that spins has no such velocity,
// and ODE's own term for that keeps neither energy nor angular momentum. So free turning is left to
// top.h. With L the angular momentum at the begin of a step h, q(t) the orientation that free
// turning would have, and I(t) the inertia in it, ODE gets the inertia I(h/2) and the angular
// velocity m = I(h/2)^-1 L, which is the mean one to the second order. It answers with w. Then
//   orientation  exp(h (w - m)) q(h)     angular momentum  L + I(h/2) (w - m) = I(h/2) w
// A body that nothing touches turns freely; contacts and pushes change the angular momentum by
// their impulses exactly; a body that they stop has none left.
#include "sim/rigid/dynamics.h"

#include "sim/base/rotations.h"
#include "sim/base/vectors.h"
#include "sim/rigid/contact_solver.h"
#include "sim/rigid/top.h"

#include <math.h>
#include <ode/ode.h>
#include <stdlib.h>
#include <string.h>

typedef struct body_state {
	carom_body_kind kind;
	dBodyID body;      // NULL for static bodies
	carom_pose pose;   // of static bodies
	carom_vec3 centre; // of mass, in the detection frame
	bool turns;        // this step by the numbers below
	carom_quat before; // its orientation when the step began
	// of dynamic bodies: half a step and a step on as if free, and the angular velocity for ODE
	carom_quat halfway, free;
	carom_vec3 mean, momentum;
	sim_top top;
	double mass;
	double friction;
	double restitution;
	// seconds of rest that are left before it sleeps; ODE counts them too, but does not tell
	double rest_left;
} body_state;

struct sim_dynamics {
	dWorldID world;
	dJointGroupID joints; // the contacts of the present step
	sim_solver_settings settings;
	body_state *bodies;
	int32_t count;
	int32_t room;
	double step;                      // the duration that damping and springs are set for
	double error_reduction, softness; // of contacts, in such a step
	sim_contact_solver *solver;
	sim_solved_body *solved_bodies;
	sim_solved_contact *solved;
	int32_t solved_body_room, solved_room;
};

// ---- World ----

sim_dynamics *sim_create_dynamics(const sim_solver_settings *settings, carom_vec3 gravity)
{
	sim_dynamics *dynamics = calloc(1, sizeof *dynamics);
	if (!dynamics)
		return NULL;
	dynamics->settings = *settings;
	dynamics->solver = sim_create_contact_solver();
	if (!dynamics->solver) {
		free(dynamics);
		return NULL;
	}
	dInitODE2(0); // counts: each dCloseODE takes one back
	dynamics->world = dWorldCreate();
	dynamics->joints = dJointGroupCreate(0);
	dWorldSetQuickStepNumIterations(dynamics->world, 1); // nothing is left for it to solve
	dWorldSetGravity(dynamics->world, gravity.x, gravity.y, gravity.z);
	if (isfinite(settings->max_angular_speed))
		dWorldSetMaxAngularSpeed(dynamics->world, settings->max_angular_speed);
	dWorldSetAutoDisableFlag(dynamics->world, settings->sleep);
	dWorldSetAutoDisableLinearThreshold(dynamics->world, settings->sleep_linear_speed);
	dWorldSetAutoDisableAngularThreshold(dynamics->world, settings->sleep_angular_speed);
	dWorldSetAutoDisableTime(dynamics->world, settings->sleep_time);
	dWorldSetAutoDisableSteps(dynamics->world, 0);
	return dynamics;
}

void sim_destroy_dynamics(sim_dynamics *dynamics)
{
	if (!dynamics)
		return;
	dJointGroupDestroy(dynamics->joints);
	dWorldDestroy(dynamics->world);
	dCloseODE();
	sim_destroy_contact_solver(dynamics->solver);
	free(dynamics->solved_bodies);
	free(dynamics->solved);
	free(dynamics->bodies);
	free(dynamics);
}

// ---- Bodies ----

/// Positive definite by its leading minors (Sylvester), and no axis inertia larger than the sum of
/// the others.
static bool is_solid(const carom_mass *m)
{
	const double *i = m->inertia; // xx, yy, zz, xy, xz, yz
	const double minor2 = i[0] * i[1] - i[3] * i[3];
	const double determinant =
		i[0] * (i[1] * i[2] - i[5] * i[5]) - i[3] * (i[3] * i[2] - i[5] * i[4]) + i[4] * (i[3] * i[5] - i[1] * i[4]);
	const double slack = 1 + 1e-6;
	return m->mass > 0 && isfinite(m->mass) && i[0] > 0 && minor2 > 0 && determinant > 0 && isfinite(determinant) &&
		i[0] <= slack * (i[1] + i[2]) && i[1] <= slack * (i[0] + i[2]) && i[2] <= slack * (i[0] + i[1]);
}

static bool reserve_body(sim_dynamics *dynamics)
{
	if (dynamics->count < dynamics->room)
		return true;
	const int32_t room = dynamics->room ? 2 * dynamics->room : 64;
	body_state *larger = realloc(dynamics->bodies, (size_t)room * sizeof *larger);
	if (!larger)
		return false;
	dynamics->bodies = larger;
	dynamics->room = room;
	return true;
}

static carom_quat get_orientation(dBodyID body)
{
	const dReal *q = dBodyGetQuaternion(body);
	return (carom_quat){ q[1], q[2], q[3], q[0] };
}

static void set_orientation(dBodyID body, carom_quat q) { dBodySetQuaternion(body, (dQuaternion){ q.w, q.x, q.y, q.z }); }

static void place(const body_state *state, const carom_pose *pose)
{
	const carom_vec3 centre = carom_transform_point(*pose, state->centre);
	dBodySetPosition(state->body, centre.x, centre.y, centre.z);
	set_orientation(state->body, pose->orientation);
}

bool sim_dynamics_add_body(sim_dynamics *dynamics, const sim_dynamic_body *def, sim_error *error)
{
	if (def->kind == CAROM_DYNAMIC && !is_solid(&def->mass)) {
		return sim_fail(error, "mass %.6g kg with moments of inertia %.6g, %.6g, %.6g kg m2 is not that of a solid body",
			def->mass.mass, def->mass.inertia[0], def->mass.inertia[1], def->mass.inertia[2]);
	}
	if (!reserve_body(dynamics)) {
		return sim_fail(error, "out of memory");
	}
	body_state *state = &dynamics->bodies[dynamics->count++];
	*state = (body_state){ .kind = def->kind,
		.pose = def->pose,
		.friction = def->friction,
		.restitution = def->restitution,
		.rest_left = dynamics->settings.sleep_time };
	if (def->kind == CAROM_STATIC)
		return true;

	dBodyID body = state->body = dBodyCreate(dynamics->world);
	if (def->kind == CAROM_DYNAMIC) {
		const double *i = def->mass.inertia;
		dMass mass;
		dMassSetParameters(&mass, def->mass.mass, 0, 0, 0, i[0], i[1], i[2], i[3], i[4], i[5]);
		dBodySetMass(body, &mass);
		dBodySetGyroscopicMode(body, 0);
		(void)sim_make_top(i, &state->top); // a solid has one
		state->centre = def->mass.centre;
		state->mass = def->mass.mass;
	} else {
		dBodySetKinematic(body);
		dBodySetAutoDisableFlag(body, 0);
	}
	place(state, &def->pose);
	dBodySetLinearVel(body, def->velocity.x, def->velocity.y, def->velocity.z);
	dBodySetAngularVel(body, def->angular_velocity.x, def->angular_velocity.y, def->angular_velocity.z);
	return true;
}

int32_t sim_dynamics_body_count(const sim_dynamics *dynamics) { return dynamics->count; }

carom_mass sim_dynamics_get_mass(const sim_dynamics *dynamics, int32_t number)
{
	const body_state *state = &dynamics->bodies[number];
	dMass mass;
	dBodyGetMass(state->body, &mass);
	const dReal *i = mass.I; // rows of four
	return (carom_mass){ mass.mass, state->centre, { i[0], i[5], i[10], i[1], i[2], i[6] } };
}

carom_pose sim_dynamics_get_pose(const sim_dynamics *dynamics, int32_t number)
{
	const body_state *state = &dynamics->bodies[number];
	if (!state->body)
		return state->pose;
	const dReal *p = dBodyGetPosition(state->body);
	carom_pose pose = { .orientation = get_orientation(state->body) };
	const carom_vec3 shift = carom_rotate(pose.orientation, state->centre);
	pose.position = (carom_vec3){ p[0] - shift.x, p[1] - shift.y, p[2] - shift.z };
	return pose;
}

void sim_dynamics_set_pose(sim_dynamics *dynamics, int32_t number, const carom_pose *pose)
{
	place(&dynamics->bodies[number], pose);
}

void sim_dynamics_set_velocity(sim_dynamics *dynamics, int32_t number, carom_vec3 velocity, carom_vec3 angular_velocity)
{
	const body_state *state = &dynamics->bodies[number];
	dBodySetLinearVel(state->body, velocity.x, velocity.y, velocity.z);
	dBodySetAngularVel(state->body, angular_velocity.x, angular_velocity.y, angular_velocity.z);
}

static carom_vec3 to_vec3(const dReal *v) { return (carom_vec3){ v[0], v[1], v[2] }; }

carom_vec3 sim_dynamics_get_velocity(const sim_dynamics *dynamics, int32_t number)
{
	const body_state *state = &dynamics->bodies[number];
	return state->body ? to_vec3(dBodyGetLinearVel(state->body)) : (carom_vec3){ 0, 0, 0 };
}

carom_vec3 sim_dynamics_get_angular_velocity(const sim_dynamics *dynamics, int32_t number)
{
	const body_state *state = &dynamics->bodies[number];
	return state->body ? to_vec3(dBodyGetAngularVel(state->body)) : (carom_vec3){ 0, 0, 0 };
}

carom_vec3 sim_dynamics_get_centre(const sim_dynamics *dynamics, int32_t number)
{
	const body_state *state = &dynamics->bodies[number];
	return state->body ? to_vec3(dBodyGetPosition(state->body)) : state->pose.position;
}

double sim_dynamics_kinetic_energy(const sim_dynamics *dynamics)
{
	double energy = 0;
	for (int32_t n = 0; n < dynamics->count; n++) {
		const body_state *state = &dynamics->bodies[n];
		if (state->kind != CAROM_DYNAMIC)
			continue;
		const carom_vec3 v = to_vec3(dBodyGetLinearVel(state->body)), w = to_vec3(dBodyGetAngularVel(state->body));
		const carom_vec3 l = sim_spin_to_momentum(&state->top, get_orientation(state->body), w);
		energy += 0.5 * (state->mass * sim_dot(v, v) + sim_dot(w, l));
	}
	return energy;
}

static double length3(const dReal *v) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

double sim_dynamics_fastest(const sim_dynamics *dynamics, const double *radii)
{
	double fastest = 0;
	for (int32_t i = 0; i < dynamics->count; i++) {
		const body_state *state = &dynamics->bodies[i];
		if (state->body)
			fastest =
				fmax(fastest, length3(dBodyGetLinearVel(state->body)) + length3(dBodyGetAngularVel(state->body)) * radii[i]);
	}
	return fastest;
}

// ---- Step ----

/// Velocity of a body's point, world frame.
static carom_vec3 point_velocity(const body_state *state, carom_vec3 point)
{
	if (!state->body)
		return (carom_vec3){ 0, 0, 0 };
	const carom_vec3 arm = sim_subtract(point, to_vec3(dBodyGetPosition(state->body)));
	return sim_add(to_vec3(dBodyGetLinearVel(state->body)), sim_cross(to_vec3(dBodyGetAngularVel(state->body)), arm));
}

/// Friction acts in the plane across the normal, in the direction of sliding first: the pyramid
/// then limits sliding like the cone.
static carom_vec3 sliding_direction(carom_vec3 normal, carom_vec3 sliding)
{
	const double speed = sim_length(sliding);
	if (speed > 1e-3)
		return sim_scale(sliding, 1 / speed);
	carom_vec3 first, second;
	sim_tangents(normal, &first, &second);
	return first;
}

/// The speeds at which two bodies are to part at a contact: that which takes the penetration back,
/// or that of a bounce, which stays. Bodies that are still apart may approach so fast that they
/// just meet at the end of the step.
static void set_speeds(const sim_dynamics *dynamics, double bounce, double speed, double step, sim_solved_contact *solved)
{
	const sim_solver_settings *settings = &dynamics->settings;
	const double ahead = solved->depth < 0 ? solved->depth / step : 0;
	const double out = dynamics->error_reduction * fmax(solved->depth - settings->slop, 0) / step;
	solved->speed = fmin(out + ahead, settings->max_correcting_speed);
	solved->speed_after = ahead;
	if (!(bounce > 0 && ahead - speed > settings->restitution_speed))
		return;
	solved->speed_after = bounce * (ahead - speed) + ahead;
	solved->speed = fmax(solved->speed, solved->speed_after);
}

/// What a contact wants of the coming step, by how its bodies move now.
static void aim_contact(const sim_dynamics *dynamics, double step, sim_solved_contact *solved)
{
	const body_state *a = &dynamics->bodies[solved->body_a], *b = &dynamics->bodies[solved->body_b];
	const carom_vec3 of_bodies = sim_subtract(point_velocity(a, solved->point), point_velocity(b, solved->point));
	const carom_vec3 velocity = sim_add(of_bodies, solved->surface);
	const double speed = sim_dot(velocity, solved->normal);
	solved->along = sliding_direction(solved->normal, sim_subtract(velocity, sim_scale(solved->normal, speed)));
	set_speeds(dynamics, fmax(a->restitution, b->restitution), speed, step, solved);
}

static bool is_moved(const sim_dynamics *dynamics, const sim_dynamic_contact *contact)
{
	return dynamics->bodies[contact->body_a].kind == CAROM_DYNAMIC || dynamics->bodies[contact->body_b].kind == CAROM_DYNAMIC;
}

/// The contact for the solver; for ODE a joint that solves nothing, but keeps islands awake.
static void add_contact(sim_dynamics *dynamics, const sim_dynamic_contact *contact, double step, sim_solved_contact *solved)
{
	const body_state *a = &dynamics->bodies[contact->body_a];
	const body_state *b = &dynamics->bodies[contact->body_b];
	const carom_vec3 force = { (double)contact->force[0], (double)contact->force[1], (double)contact->force[2] };
	*solved = (sim_solved_contact){ .body_a = contact->body_a,
		.body_b = contact->body_b,
		.point = { contact->point[0], contact->point[1], contact->point[2] },
		.normal = { contact->normal[0], contact->normal[1], contact->normal[2] },
		.depth = contact->depth,
		.surface = { contact->surface[0], contact->surface[1], contact->surface[2] },
		.friction = sqrt(a->friction * b->friction),
		.impulse = sim_scale(force, step) };
	// Null joints make ODE's memory too small. So it is a contact that never pushes: its bodies may
	// meet as fast as they like.
	const dContact open = { .surface = { .mode = dContactMotionN, .motionN = -1e20 },
		.geom = { .pos = { solved->point.x, solved->point.y, solved->point.z },
			.normal = { solved->normal.x, solved->normal.y, solved->normal.z } } };
	dJointID joint = dJointCreateContact(dynamics->world, dynamics->joints, &open);
	dJointAttach(joint, a->body, b->body);
}

/// The part of a velocity that goes in a step, by the implicit Euler step of v' = -damping v.
static double damping_scale(double damping, double step) { return damping * step / (1 + damping * step); }

/// Contacts as springs with dampers: with step h, stiffness k and damping d, the error reduction is
/// hk / (hk + d) and the softness 1 / (hk + d) (ODE manual, "How to use ERP and CFM").
static void set_softness(sim_dynamics *dynamics, double step)
{
	const double k = dynamics->settings.stiffness, d = dynamics->settings.damping;
	dynamics->error_reduction = k > 0 ? step * k / (step * k + d) : dynamics->settings.error_reduction;
	dynamics->softness = k > 0 ? 1 / (step * k + d) : dynamics->settings.softness;
}

/// Wake a body: the time of its rest begins again.
static void wake(const sim_dynamics *dynamics, body_state *state)
{
	dBodyEnable(state->body);
	state->rest_left = dynamics->settings.sleep_time;
}

/// Count the time at rest as dWorldQuickStep does at its begin: of bodies that are awake and have
/// contacts.
static void count_rest(sim_dynamics *dynamics, double step)
{
	const double linear = dynamics->settings.sleep_linear_speed, angular = dynamics->settings.sleep_angular_speed;
	for (int32_t i = 0; i < dynamics->count && dynamics->settings.sleep; i++) {
		body_state *state = &dynamics->bodies[i];
		if (state->kind != CAROM_DYNAMIC || !dBodyIsEnabled(state->body) || dBodyGetNumJoints(state->body) == 0)
			continue;
		const dReal *v = dBodyGetLinearVel(state->body), *w = dBodyGetAngularVel(state->body);
		const bool rests = v[0] * v[0] + v[1] * v[1] + v[2] * v[2] <= linear * linear &&
			w[0] * w[0] + w[1] * w[1] + w[2] * w[2] <= angular * angular;
		state->rest_left = rests ? state->rest_left - step : dynamics->settings.sleep_time;
	}
}

static bool is_finite_body(const body_state *state)
{
	if (!state->body)
		return true;
	const dReal *p = dBodyGetPosition(state->body);
	const dReal *q = dBodyGetQuaternion(state->body);
	const dReal *v = dBodyGetLinearVel(state->body);
	const dReal *w = dBodyGetAngularVel(state->body);
	// One sum tells: a number that is not finite makes it not finite.
	return isfinite(p[0] + p[1] + p[2] + q[0] + q[1] + q[2] + q[3] + v[0] + v[1] + v[2] + w[0] + w[1] + w[2]);
}

void sim_dynamics_kick(sim_dynamics *dynamics, int32_t number, carom_vec3 impulse, carom_vec3 angular_impulse)
{
	body_state *state = &dynamics->bodies[number];
	if (state->kind != CAROM_DYNAMIC)
		return;
	const carom_vec3 v = to_vec3(dBodyGetLinearVel(state->body)), w = to_vec3(dBodyGetAngularVel(state->body));
	const carom_vec3 push = sim_scale(impulse, 1 / state->mass);
	const carom_vec3 turn = sim_momentum_to_spin(&state->top, get_orientation(state->body), angular_impulse);
	wake(dynamics, state);
	dBodySetLinearVel(state->body, v.x + push.x, v.y + push.y, v.z + push.z);
	dBodySetAngularVel(state->body, w.x + turn.x, w.y + turn.y, w.z + turn.z);
}

static int small_steps(const sim_dynamics *dynamics, double step)
{
	const double most = dynamics->settings.small_step;
	return most > 0 && step > most ? (int)ceil(step / most - 1e-6) : 1;
}

// ---- Turning ----

/// Show ODE a body halfway on its free turn.
static void begin_free_turn(body_state *state, double step)
{
	const carom_vec3 spin = to_vec3(dBodyGetAngularVel(state->body));
	state->momentum = sim_spin_to_momentum(&state->top, state->before, spin);
	state->halfway = sim_turn_freely(&state->top, state->before, state->momentum, 0.5 * step);
	state->free = sim_turn_freely(&state->top, state->halfway, state->momentum, 0.5 * step);
	state->mean = sim_momentum_to_spin(&state->top, state->halfway, state->momentum);
	set_orientation(state->body, state->halfway);
	dBodySetAngularVel(state->body, state->mean.x, state->mean.y, state->mean.z);
}

static void begin_turns(sim_dynamics *dynamics, double step)
{
	for (int32_t i = 0; i < dynamics->count; i++) {
		body_state *state = &dynamics->bodies[i];
		state->turns = state->body && sim_length(to_vec3(dBodyGetAngularVel(state->body))) > 0;
		if (!state->body)
			continue;
		state->before = state->halfway = state->free = get_orientation(state->body);
		state->mean = state->momentum = (carom_vec3){ 0, 0, 0 };
		if (state->turns && state->kind == CAROM_DYNAMIC)
			begin_free_turn(state, step);
	}
}

/// Damping belongs to the momenta: so it takes no part in what moves the body.
static void finish_free_turn(const sim_dynamics *dynamics, const body_state *state, const sim_solved_body *solved, double step)
{
	const carom_vec3 change = sim_subtract(to_vec3(dBodyGetAngularVel(state->body)), state->mean);
	const carom_vec3 after = sim_subtract(solved->spin, state->mean);
	const bool free = sim_length(change) == 0 && sim_length(after) == 0;
	const carom_vec3 v = sim_scale(solved->velocity, 1 - damping_scale(dynamics->settings.linear_damping, step));
	dBodySetLinearVel(state->body, v.x, v.y, v.z);
	if (free && !state->turns)
		return;
	const carom_quat q = sim_turn_by(state->free, change, step);
	const carom_vec3 l = free ? state->momentum : sim_spin_to_momentum(&state->top, state->halfway, solved->spin);
	carom_vec3 spin =
		sim_scale(sim_momentum_to_spin(&state->top, q, l), 1 - damping_scale(dynamics->settings.angular_damping, step));
	const double speed = sim_length(spin);
	if (speed > dynamics->settings.max_angular_speed)
		spin = sim_scale(spin, dynamics->settings.max_angular_speed / speed);
	set_orientation(state->body, q);
	dBodySetAngularVel(state->body, spin.x, spin.y, spin.z);
}

/// Bodies that move by velocities of the caller's go the whole way too: ODE turns by the tangent of
/// half the angle of a step, made unit, which is too little by the part (angle)^2 / 12.
static void finish_turns(sim_dynamics *dynamics, double step)
{
	for (int32_t i = 0; i < dynamics->count; i++) {
		const body_state *state = &dynamics->bodies[i];
		if (state->kind == CAROM_KINEMATIC && state->turns)
			set_orientation(state->body, sim_turn_by(state->before, to_vec3(dBodyGetAngularVel(state->body)), step));
		if (state->kind != CAROM_DYNAMIC)
			continue;
		if (dBodyIsEnabled(state->body)) {
			finish_free_turn(dynamics, state, &dynamics->solved_bodies[i], step);
			continue;
		}
		// It sleeps: ODE does not use up its forces. Perhaps it fell asleep when ODE's step began.
		dBodySetForce(state->body, 0, 0, 0);
		dBodySetTorque(state->body, 0, 0, 0);
		if (state->turns)
			set_orientation(state->body, state->before);
	}
}

// ---- Contacts ----

/// A body as contacts find it: halfway on its free turn, with all that acts in the step but them.
static sim_solved_body solved_body(const sim_dynamics *dynamics, const body_state *state, double step)
{
	sim_solved_body body = { .centre = state->pose.position };
	if (!state->body)
		return body;
	body.centre = to_vec3(dBodyGetPosition(state->body));
	body.velocity = to_vec3(dBodyGetLinearVel(state->body));
	body.spin = to_vec3(dBodyGetAngularVel(state->body));
	body.awake = dBodyIsEnabled(state->body);
	if (state->kind != CAROM_DYNAMIC)
		return body;
	dVector3 gravity;
	dWorldGetGravity(dynamics->world, gravity);
	sim_turn_tensor(state->top.inverse, state->halfway, body.inverse_inertia);
	body.inverse_mass = 1 / state->mass;
	const carom_vec3 push = to_vec3(dBodyGetForce(state->body)), torque = to_vec3(dBodyGetTorque(state->body));
	const carom_vec3 rate = sim_add(to_vec3(gravity), sim_scale(push, body.inverse_mass));
	body.velocity = sim_add(body.velocity, sim_scale(rate, step));
	body.spin = sim_add(body.spin, sim_scale(sim_apply_tensor(body.inverse_inertia, torque), step));
	return body;
}

/// Forces that make of the velocities before those after.
static void push_body(const body_state *state, const sim_solved_body *solved, double step)
{
	const carom_vec3 change = sim_subtract(solved->moving, solved->start_velocity),
					 turn = sim_subtract(solved->turning, solved->start_spin);
	const carom_vec3 force = sim_scale(change, state->mass / step);
	const carom_vec3 torque = sim_scale(sim_spin_to_momentum(&state->top, state->halfway, turn), 1 / step);
	dBodyAddForce(state->body, force.x, force.y, force.z);
	dBodyAddTorque(state->body, torque.x, torque.y, torque.z);
}

static bool reserve_contacts(sim_dynamics *dynamics, int32_t count)
{
	if (dynamics->solved_body_room < dynamics->count) {
		sim_solved_body *larger = realloc(dynamics->solved_bodies, (size_t)dynamics->room * sizeof *larger);
		if (!larger)
			return false;
		dynamics->solved_bodies = larger;
		dynamics->solved_body_room = dynamics->room;
	}
	if (dynamics->solved_room < count) {
		const size_t room = (size_t)count + (size_t)count / 2 + 64;
		sim_solved_contact *larger = room <= INT32_MAX ? realloc(dynamics->solved, room * sizeof *larger) : NULL;
		if (!larger)
			return false;
		dynamics->solved = larger;
		dynamics->solved_room = (int32_t)room;
	}
	return true;
}

/// Turn contacts into forces on the bodies.
static bool solve_contacts(sim_dynamics *dynamics, double step, int32_t count, int steps)
{
	for (int32_t i = 0; i < count; i++)
		aim_contact(dynamics, step, &dynamics->solved[i]);
	for (int32_t i = 0; i < dynamics->count; i++)
		dynamics->solved_bodies[i] = solved_body(dynamics, &dynamics->bodies[i], step);
	const int parts = steps * (dynamics->settings.stiffness > 0 ? 1 : 2);
	const sim_contact_rules rules = { .iterations = (dynamics->settings.iterations + parts - 1) / parts,
		.over_relaxation = dynamics->settings.over_relaxation,
		.softness = dynamics->softness / step,
		.accuracy = 1e-6,
		.springs = dynamics->settings.stiffness > 0 };
	if (!sim_solve_contacts(dynamics->solver, &rules, dynamics->solved_bodies, dynamics->count, dynamics->solved, count))
		return false;
	for (int32_t i = 0; i < dynamics->count; i++) {
		const body_state *state = &dynamics->bodies[i];
		if (state->kind == CAROM_DYNAMIC && dynamics->solved_bodies[i].touched)
			push_body(state, &dynamics->solved_bodies[i], step);
	}
	return true;
}

/// Move contacts as their bodies have moved in the step: the point with the centres, the depth by
/// the velocities there. So a ball that rolls keeps its point below it.
static void move_contacts(sim_dynamics *dynamics, double step, int32_t count)
{
	for (int32_t i = 0; i < count; i++) {
		sim_solved_contact *contact = &dynamics->solved[i];
		const sim_solved_body *a = &dynamics->solved_bodies[contact->body_a], *b = &dynamics->solved_bodies[contact->body_b];
		const carom_vec3 at_a = sim_add(a->moving, sim_cross(a->turning, sim_subtract(contact->point, a->centre)));
		const carom_vec3 at_b = sim_add(b->moving, sim_cross(b->turning, sim_subtract(contact->point, b->centre)));
		contact->depth -= step * sim_dot(sim_add(sim_subtract(at_a, at_b), contact->surface), contact->normal);
		const double part_a = a->inverse_mass == 0 ? 0 : b->inverse_mass == 0 ? 1 : 0.5;
		const carom_vec3 mean = sim_add(sim_scale(a->moving, part_a), sim_scale(b->moving, 1 - part_a));
		contact->point = sim_add(contact->point, sim_scale(mean, step));
	}
}

/// One small step, with the contacts found at the begin of all of them.
static bool step_on(sim_dynamics *dynamics, double step, int32_t count, int steps)
{
	begin_turns(dynamics, step);
	if (!solve_contacts(dynamics, step, count, steps))
		return false;
	count_rest(dynamics, step);
	dWorldQuickStep(dynamics->world, step);
	finish_turns(dynamics, step);
	move_contacts(dynamics, step, count);
	return true;
}

static int32_t take_contacts(sim_dynamics *dynamics, double step, const sim_dynamic_contact *contacts, int32_t count)
{
	int32_t solved = 0;
	for (int32_t i = 0; i < count; i++) {
		if (is_moved(dynamics, &contacts[i]))
			add_contact(dynamics, &contacts[i], step, &dynamics->solved[solved++]);
	}
	return solved;
}

static void give_forces(const sim_dynamics *dynamics, double step, sim_dynamic_contact *contacts, int32_t count)
{
	int32_t solved = 0;
	for (int32_t i = 0; i < count; i++) {
		const carom_vec3 none = { 0, 0, 0 };
		const carom_vec3 impulse = is_moved(dynamics, &contacts[i]) ? dynamics->solved[solved++].impulse : none;
		contacts[i].force[0] = (float)(impulse.x / step);
		contacts[i].force[1] = (float)(impulse.y / step);
		contacts[i].force[2] = (float)(impulse.z / step);
	}
}

bool sim_dynamics_step(sim_dynamics *dynamics, double step, sim_dynamic_contact *contacts, int32_t count, int32_t *lost)
{
	const int parts = small_steps(dynamics, step);
	*lost = -1;
	if (!reserve_contacts(dynamics, count))
		return false;
	set_softness(dynamics, step / parts);
	const int32_t solved = take_contacts(dynamics, step / parts, contacts, count);
	bool done = true;
	for (int part = 0; part < parts && done; part++)
		done = step_on(dynamics, step / parts, solved, parts);
	dJointGroupEmpty(dynamics->joints);
	if (!done)
		return false;
	give_forces(dynamics, step / parts, contacts, count);
	for (int32_t i = 0; i < dynamics->count; i++) {
		if (!is_finite_body(&dynamics->bodies[i])) {
			*lost = i;
			return false;
		}
	}
	return true;
}

// ---- State ----

/// ODE makes quaternions unit again when it is given one, which may change their last bits, and
/// those of the matrix. So the numbers are put where it keeps them.
static void move_numbers(sim_tape *tape, const dReal *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sim_tape_move(tape, (dReal *)&numbers[i], sizeof *numbers);
}

/// Whether a body sleeps, and when it will: waking it gives it all the time that is set.
static void move_sleep(const sim_dynamics *dynamics, sim_tape *tape, body_state *state)
{
	int32_t awake = dBodyIsEnabled(state->body);
	sim_tape_move(tape, &state->rest_left, sizeof state->rest_left);
	sim_tape_move(tape, &awake, sizeof awake);
	if (tape->writing || !dynamics->settings.sleep)
		return;
	dBodySetAutoDisableTime(state->body, state->rest_left);
	dBodyEnable(state->body);
	dBodySetAutoDisableTime(state->body, dynamics->settings.sleep_time);
	if (!awake)
		dBodyDisable(state->body);
}

static void move_body(const sim_dynamics *dynamics, sim_tape *tape, body_state *state)
{
	sim_tape_move(tape, &state->pose, sizeof state->pose);
	if (!state->body)
		return;
	move_numbers(tape, dBodyGetPosition(state->body), 3);
	move_numbers(tape, dBodyGetQuaternion(state->body), 4);
	move_numbers(tape, dBodyGetRotation(state->body), 12);
	move_numbers(tape, dBodyGetLinearVel(state->body), 3);
	move_numbers(tape, dBodyGetAngularVel(state->body), 3);
	if (state->kind == CAROM_DYNAMIC)
		move_sleep(dynamics, tape, state);
}

void sim_dynamics_move_state(sim_dynamics *dynamics, sim_tape *tape)
{
	sim_tape_expect(tape, dynamics->count);
	for (int32_t i = 0; i < dynamics->count && !tape->failed; i++)
		move_body(dynamics, tape, &dynamics->bodies[i]);
}
