// Solids: rigid bodies with mass among deforming bodies. A solid's vertices are particles of the
// solver with shares of its mass, so whatever pushes vertices pushes it: contacts, friction,
// spheres. Then the solid takes all that they were given: its momentum grows by the sum of mass
// times way, its angular momentum by that of the moments; by its true mass and inertia it moves on,
// and its vertices follow (as positions: Mueller et al., Detailed Rigid Body Simulation with
// Extended Position Based Dynamics, 2020). So linear and angular momentum are kept whatever the
// shares are: these only decide how fast contacts converge. A contact of one vertex moves its share
// alone, and the whole solid by less than was wanted; so a substep visits contacts several times,
// with the sum of their pushes (soft_contact.c).
//
// Vertices of solids move on straight lines within a part of the step, as those of movers do.
#include "sim/cloth/soft_state.h"

#include "sim/base/rotations.h"
#include "sim/base/vectors.h"

#include <string.h>

static carom_vec3 at(const double *v) { return (carom_vec3){ v[0], v[1], v[2] }; }

static void put(double *to, carom_vec3 v)
{
	to[0] = v.x;
	to[1] = v.y;
	to[2] = v.z;
}

static double *vertex_of(const soft_part *part, double *values, int32_t i)
{
	return values + 3 * (int64_t)(part->first_vertex + i);
}

static double share_of(const sim_soft *s, const soft_part *part, int32_t i)
{
	return 1 / s->inverse_mass[part->first_vertex + i];
}

// ---- Rotations ----

static carom_vec3 spin_of(const soft_solid *solid, const soft_motion *m)
{
	return sim_apply_turned_tensor(solid->inverse_inertia, m->pose.orientation, m->moment);
}

/// Turn by a small rotation: its axis times its angle. Without trigonometry, to third order.
static carom_quat turn(carom_quat q, carom_vec3 by)
{
	const carom_vec3 h = sim_scale(by, 0.5);
	const double one = 1 / sqrt(1 + sim_dot(h, h));
	return sim_unit_quat(sim_multiply((carom_quat){ h.x * one, h.y * one, h.z * one, one }, q));
}

/// The small rotation from one orientation to another: turn does it in one go.
static carom_vec3 turn_between(carom_quat from, carom_quat to)
{
	const carom_quat d = sim_multiply(to, sim_conjugate(from));
	return sim_scale((carom_vec3){ d.x, d.y, d.z }, 2 / d.w);
}

// ---- Making ----

static bool measure_mass(const sim_soft *s, const soft_part *part, const sim_soft_body *body, carom_mass *mass, sim_error *error)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ body->places, 0, CAROM_FLOAT64 };
	def.vertex_count = part->vertex_count;
	def.triangles = body->triangles;
	def.triangle_count = part->triangle_count;
	def.grid_resolution = 0;
	carom_mesh *mesh;
	if (carom_create_mesh(s->context, &def, NULL, &mesh) != CAROM_SUCCESS)
		return sim_fail(error, "body \"%.60s\": %s", body->name, carom_error_text(s->context));
	const bool done = carom_mesh_get_mass(mesh, mass) == CAROM_SUCCESS;
	carom_release_mesh(mesh);
	return done || sim_fail(error, "body \"%.60s\": is not closed, so it has no inertia", body->name);
}

/// Shares of the mass by area, and no vertex without one.
static bool share_mass(sim_soft *s, const soft_part *part, const sim_soft_body *body, double mass, sim_error *error)
{
	double sum = 0;
	for (int32_t i = part->first_vertex; i < part->first_vertex + part->vertex_count; i++)
		sum += s->inverse_mass[i]; // areas so far
	for (int32_t i = part->first_vertex; i < part->first_vertex + part->vertex_count; i++) {
		if (s->carrier[i] != SIM_SOFT_FREE)
			return sim_fail(error, "body \"%.60s\": pins: a rigid body with mass has none", body->name);
		s->inverse_mass[i] = sum / (mass * s->inverse_mass[i]);
	}
	return true;
}

/// The mass, its centre and inertia of a led solid are given.
static bool weigh(const sim_soft *s, const soft_part *part, const sim_soft_body *body, carom_mass *mass, sim_error *error)
{
	if (part->led) {
		*mass = body->weighs;
		return true;
	}
	if (!measure_mass(s, part, body, mass, error))
		return false;
	for (int i = 0; i < 6; i++)
		mass->inertia[i] *= body->mass / mass->mass;
	mass->mass = body->mass;
	return true;
}

bool soft_make_solid(sim_soft *s, soft_part *part, const sim_soft_body *body, sim_error *error)
{
	carom_mass mass;
	soft_solid *solid = &part->solid;
	if (!weigh(s, part, body, &mass, error) || !share_mass(s, part, body, mass.mass, error))
		return false;
	memcpy(solid->inertia, mass.inertia, sizeof solid->inertia);
	if (!(mass.mass > 0) || !sim_invert_tensor(solid->inertia, solid->inverse_inertia))
		return sim_fail(error, "body \"%.60s\": has no inertia", body->name);
	solid->mass = mass.mass;
	solid->ease = 1;
	solid->centre = mass.centre;
	solid->now.pose = (carom_pose){ mass.centre, { 0, 0, 0, 1 } };
	if (part->led) {
		solid->now.pose = part->motion.start;
		solid->now.pose.position = carom_transform_point(part->motion.start, mass.centre);
	}
	solid->now.velocity = at(body->velocity);
	solid->now.moment = (carom_vec3){ 0, 0, 0 };
	for (int32_t i = 0; i < part->vertex_count; i++)
		put(vertex_of(part, s->local, i), carom_inverse_transform_point(solid->now.pose, at(vertex_of(part, s->place, i))));
	solid->committed = solid->begin = solid->now;
	return true;
}

// ---- Vertices ----

static carom_vec3 arm_of(const sim_soft *s, const soft_part *part, int32_t i)
{
	return carom_rotate(part->solid.now.pose.orientation, at(vertex_of(part, s->local, i)));
}

static void place_vertices(sim_soft *s, const soft_part *part)
{
	for (int32_t i = 0; i < part->vertex_count; i++)
		put(vertex_of(part, s->place, i), sim_add(part->solid.now.pose.position, arm_of(s, part, i)));
}

static void move_vertices(sim_soft *s, const soft_part *part)
{
	const carom_vec3 spin = spin_of(&part->solid, &part->solid.now);
	for (int32_t i = 0; i < part->vertex_count; i++)
		put(vertex_of(part, s->velocity, i), sim_add(part->solid.now.velocity, sim_cross(spin, arm_of(s, part, i))));
}

/// What solvers did to values of vertices: mass times the difference to those of the solid, and
/// its moment.
static void gather(sim_soft *s, const soft_part *part, bool velocities, carom_vec3 *sum, carom_vec3 *moment)
{
	const soft_motion *m = &part->solid.now;
	const carom_vec3 spin = spin_of(&part->solid, m);
	*sum = *moment = (carom_vec3){ 0, 0, 0 };
	for (int32_t i = 0; i < part->vertex_count; i++) {
		const carom_vec3 arm = arm_of(s, part, i);
		const carom_vec3 own = velocities ? sim_add(m->velocity, sim_cross(spin, arm)) : sim_add(m->pose.position, arm);
		const carom_vec3 is = at(vertex_of(part, velocities ? s->velocity : s->place, i));
		const carom_vec3 given = sim_scale(sim_subtract(is, own), share_of(s, part, i));
		*sum = sim_add(*sum, given);
		*moment = sim_add(*moment, sim_cross(arm, given));
	}
}

static void feel(soft_solid *solid, carom_vec3 impulse, carom_vec3 moment)
{
	solid->now.velocity = sim_add(solid->now.velocity, sim_scale(impulse, 1 / solid->mass));
	solid->now.moment = sim_add(solid->now.moment, moment);
	solid->felt = sim_add(solid->felt, impulse);
	solid->felt_moment = sim_add(solid->felt_moment, moment);
}

// ---- Substeps ----

typedef void solid_fn(sim_soft *s, soft_part *part, double duration);

static void for_all(sim_soft *s, solid_fn *act, double duration)
{
	for (int32_t i = 0; i < s->part_count && s->solid_count > 0; i++) {
		if (s->parts[i].kind == SIM_SOFT_SOLID)
			act(s, &s->parts[i], duration);
	}
}

static void start(sim_soft *s, soft_part *part, double duration)
{
	(void)s;
	(void)duration;
	soft_solid *solid = &part->solid;
	solid->now = solid->begin;
	solid->felt = solid->felt_moment = solid->shift = solid->turn = (carom_vec3){ 0, 0, 0 };
}

static void predict(sim_soft *s, soft_part *part, double duration)
{
	soft_motion *m = &part->solid.now;
	if (!part->led)
		m->velocity = sim_add(m->velocity, sim_scale(at(s->def.gravity), duration));
	m->pose.position = sim_add(m->pose.position, sim_scale(m->velocity, duration));
	m->pose.orientation = turn(m->pose.orientation, sim_scale(spin_of(&part->solid, m), duration));
	place_vertices(s, part);
}

/// Follow the vertices: where to.
static void find_way(sim_soft *s, const soft_part *part, carom_vec3 *sum, carom_vec3 *moment, carom_vec3 *turned)
{
	gather(s, part, false, sum, moment);
	*turned = sim_apply_turned_tensor(part->solid.inverse_inertia, part->solid.now.pose.orientation, *moment);
}

static void go(sim_soft *s, soft_part *part, carom_vec3 shift, carom_vec3 turned)
{
	soft_motion *m = &part->solid.now;
	m->pose.position = sim_add(m->pose.position, shift);
	m->pose.orientation = turn(m->pose.orientation, turned);
	place_vertices(s, part);
}

/// Of vertices that were moved, the solid follows by their share of its mass: where few are, it
/// needs many turns. Returns how many times that way fits best what they moved by: at least 1.
static double stretch_of_way(const sim_soft *s, const soft_part *part, carom_vec3 shift, carom_vec3 turned)
{
	double along = 0, whole = 0;
	for (int32_t i = 0; i < part->vertex_count; i++) {
		const carom_vec3 arm = arm_of(s, part, i), own = sim_add(part->solid.now.pose.position, arm);
		const carom_vec3 moved = sim_subtract(at(vertex_of(part, s->place, i)), own);
		const carom_vec3 way = sim_add(shift, sim_cross(turned, arm));
		if (sim_dot(moved, moved) == 0)
			continue;
		along += share_of(s, part, i) * sim_dot(moved, way);
		whole += share_of(s, part, i) * sim_dot(way, way);
	}
	return whole > 0 ? fmax(along / whole, 1) : 1;
}

static void follow_push(sim_soft *s, soft_part *part, double duration)
{
	carom_vec3 sum, moment, turned;
	find_way(s, part, &sum, &moment, &turned);
	go(s, part, sim_scale(sum, 1 / part->solid.mass), turned);
	feel(&part->solid, sim_scale(sum, 1 / duration), sim_scale(moment, 1 / duration));
}

static void correct(sim_soft *s, soft_part *part, bool full)
{
	carom_vec3 sum, moment, turned;
	find_way(s, part, &sum, &moment, &turned);
	carom_vec3 shift = sim_scale(sum, 1 / (part->solid.mass * part->solid.ease));
	turned = sim_scale(turned, 1 / part->solid.ease);
	const double stretch = full ? stretch_of_way(s, part, shift, turned) : 1;
	shift = sim_scale(shift, stretch);
	turned = sim_scale(turned, stretch);
	go(s, part, shift, turned);
	part->solid.shift = sim_add(part->solid.shift, shift);
	part->solid.turn = sim_add(part->solid.turn, turned);
	move_vertices(s, part); // arms have turned
}

static void follow_correction(sim_soft *s, soft_part *part, double duration)
{
	(void)duration;
	correct(s, part, false);
}

static void follow_in_full(sim_soft *s, soft_part *part, double duration)
{
	(void)duration;
	correct(s, part, part->solid.ease < 1);
}

static void take_velocity(sim_soft *s, soft_part *part, double duration)
{
	const double kept = part->led ? 1 : 1 / (1 + duration * s->def.damping);
	part->solid.now.velocity = sim_scale(part->solid.now.velocity, kept);
	part->solid.now.moment = sim_scale(part->solid.now.moment, kept);
	move_vertices(s, part);
}

static void follow_damping(sim_soft *s, soft_part *part, double duration)
{
	carom_vec3 sum, moment;
	(void)duration;
	gather(s, part, true, &sum, &moment);
	feel(&part->solid, sum, moment);
	move_vertices(s, part);
}

void soft_ease_solid(sim_soft *s, soft_part *part, double ease)
{
	for (int32_t i = part->first_vertex; i < part->first_vertex + part->vertex_count; i++)
		s->inverse_mass[i] *= part->solid.ease / ease;
	part->solid.ease = ease;
}

void soft_start_solids(sim_soft *s) { for_all(s, start, 0); }
void soft_predict_solids(sim_soft *s, double duration) { for_all(s, predict, duration); }
void soft_push_solids(sim_soft *s, double duration) { for_all(s, follow_push, duration); }
void soft_take_solid_velocities(sim_soft *s, double duration) { for_all(s, take_velocity, duration); }
void soft_damp_solids(sim_soft *s) { for_all(s, follow_damping, 0); }
void soft_correct_solids(sim_soft *s, bool full) { for_all(s, full ? follow_in_full : follow_correction, 0); }

// ---- Parts of the step ----

static carom_vec3 moment_of_turn(const soft_solid *solid, double duration)
{
	return sim_apply_turned_tensor(solid->inertia, solid->now.pose.orientation, sim_scale(solid->turn, 1 / duration));
}

void soft_weigh_correction(const soft_part *part, double duration, double *along, double *whole)
{
	const soft_solid *solid = &part->solid;
	const carom_vec3 shift = sim_scale(solid->shift, 1 / duration), spin = sim_scale(solid->turn, 1 / duration);
	*along = solid->mass * sim_dot(solid->now.velocity, shift) + sim_dot(solid->now.moment, spin);
	*whole = solid->mass * sim_dot(shift, shift) + sim_dot(moment_of_turn(solid, duration), spin);
}

void soft_take_correction(sim_soft *s, soft_part *part, double share, double duration)
{
	soft_solid *solid = &part->solid;
	feel(solid, sim_scale(solid->shift, share * solid->mass / duration), sim_scale(moment_of_turn(solid, duration), share));
	move_vertices(s, part);
}

/// Corrections of places are no motion. A solid in a zone has moved with it.
static void end(sim_soft *s, soft_part *part, double duration)
{
	soft_solid *solid = &part->solid;
	soft_motion *m = &solid->now;
	if (s->zoned && s->zone[part->first_vertex] >= 0) {
		const soft_motion before = *m;
		const carom_vec3 spin = sim_scale(turn_between(solid->begin.pose.orientation, solid->zoned.orientation), 1 / duration);
		m->pose = solid->zoned;
		m->velocity = sim_scale(sim_subtract(m->pose.position, solid->begin.pose.position), 1 / duration);
		m->moment = sim_apply_turned_tensor(solid->inertia, m->pose.orientation, spin);
		solid->felt = sim_add(solid->felt, sim_scale(sim_subtract(m->velocity, before.velocity), solid->mass));
		solid->felt_moment = sim_add(solid->felt_moment, sim_subtract(m->moment, before.moment));
	}
	move_vertices(s, part);
	const double felt[3] = { solid->felt.x, solid->felt.y, solid->felt.z };
	const double moment[3] = { solid->felt_moment.x, solid->felt_moment.y, solid->felt_moment.z };
	for (int k = 0; k < 3; k++) {
		part->reaction.impulse[k] += felt[k];
		part->reaction.angular_impulse[k] += moment[k];
	}
}

static void note_begin(sim_soft *s, soft_part *part, double duration)
{
	(void)s;
	(void)duration;
	part->solid.begin = part->solid.now;
}

static void go_back(sim_soft *s, soft_part *part, double duration)
{
	(void)s;
	(void)duration;
	part->solid.now = part->solid.begin;
}

static void restore(sim_soft *s, soft_part *part, double duration)
{
	(void)s;
	(void)duration;
	part->solid.now = part->solid.committed;
}

static void commit(sim_soft *s, soft_part *part, double duration)
{
	(void)s;
	(void)duration;
	part->solid.committed = part->solid.now;
}

void soft_end_solids(sim_soft *s, double duration) { for_all(s, end, duration); }
void soft_begin_solids(sim_soft *s) { for_all(s, note_begin, 0); }
void soft_reset_solids(sim_soft *s, bool to_begin) { for_all(s, to_begin ? go_back : restore, 0); }
void soft_commit_solids(sim_soft *s) { for_all(s, commit, 0); }

void sim_soft_guide(sim_soft *s, int32_t body, carom_pose end, double duration)
{
	soft_solid *solid = &s->parts[body].solid;
	soft_motion *m = &solid->committed;
	const carom_vec3 centre = carom_transform_point(end, solid->centre);
	// The tangent of half the angle, and the angle from it, by a fraction for the arc tangent.
	const carom_vec3 turned = turn_between(m->pose.orientation, end.orientation);
	const double square = 0.25 * sim_dot(turned, turned), angle = (15 + 4 * square) / (15 + 9 * square);
	m->velocity = sim_scale(sim_subtract(centre, m->pose.position), 1 / duration);
	m->moment = sim_apply_turned_tensor(solid->inertia, m->pose.orientation, sim_scale(turned, angle / duration));
}

double soft_solid_energy(const soft_part *part)
{
	const soft_motion *m = &part->solid.now;
	return 0.5 * part->solid.mass * sim_dot(m->velocity, m->velocity) + 0.5 * sim_dot(spin_of(&part->solid, m), m->moment);
}

carom_pose sim_soft_get_solid(const sim_soft *s, int32_t body, double velocity[3], double spin[3])
{
	const soft_solid *solid = &s->parts[body].solid;
	put(velocity, solid->committed.velocity);
	put(spin, spin_of(solid, &solid->committed));
	return solid->committed.pose;
}
