// Spheres that meet rigid bodies: see sphere_meeting.h.
//
// A world of its own holds the obstacles, as kinematic bodies, and one granular body: those spheres
// whose boxes overlap the box of an obstacle, without those that are known to be far from it
// (clear_spheres.h). A substep puts all of them where they are, asks the world for contacts, hands
// these to the granular simulation as touches, and gives the reactions to the bodies. Cost of a
// substep: a look at each sphere, and a step of that world. Where ranks share the spheres, each has
// all obstacles, and does this for its own spheres.
//
// Where a body is: on its way through the step (carom_motion_pose), turned and moved by the answer
// to spheres so far. The answer is the change of the body's velocity since the step began,
// integrated over the substeps. It begins with nothing in each step, because the solver of the
// bodies takes their velocities, and the places where they then are, from there.
#include "scene/sphere_meeting.h"

#include "scene/clear_spheres.h"
#include "sim/base/rotations.h"
#include "sim/grains/granular_ranks.h"
#include "sim/base/sim_clock.h"
#include "sim/base/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct obstacle {
	int32_t body; // of the scene
	carom_body_id id;
	bool answers;        // dynamic, and the scene is two-way
	carom_vec3 centre;   // of mass, in the frame of the body
	carom_motion way;    // through the present step
	carom_vec3 velocity; // when the step began
	carom_vec3 angular_velocity;
	carom_vec3 shift; // the answer so far: of the centre of mass ...
	carom_quat turn;  // ... and about it
	carom_vec3 impulse;
	sim_exact_sum sum; // of forces since somebody took it, about the origin of the body
} obstacle;

struct scene_sphere_meeting {
	const scene_description *scene;
	scene_simulation *simulation;
	sim_granular *granular;
	carom_world *world;
	obstacle *obstacles; // [scene->spheres.obstacle_count]
	carom_body_id *ids;  // [obstacle_count]
	carom_pose *poses;   // [obstacle_count]
	carom_aabb *boxes;   // [obstacle_count]
	carom_body_id grains;
	// [near_count] by number: the box of each overlaps that of an obstacle, and it may touch one
	scene_asked_sphere *near;
	int32_t near_count, near_room;
	scene_clear_spheres clear;
	sim_granular_touch *touches;
	int64_t touch_count, touch_room;
	bool is_new; // no step was done
};

static const carom_quat NO_TURN = { 0, 0, 0, 1 };

// ---- Making ----

static bool add_obstacle(scene_sphere_meeting *m, int32_t i)
{
	obstacle *o = &m->obstacles[i];
	*o = (obstacle){ .body = m->scene->spheres.obstacles[i], .turn = NO_TURN };
	carom_body_def def = scene_simulation_body_def(m->simulation, o->body);
	o->answers = m->scene->spheres.two_way && def.kind == CAROM_DYNAMIC;
	o->centre = carom_inverse_transform_point(def.pose, scene_simulation_centre(m->simulation, o->body));
	o->way = (carom_motion){ def.pose, def.pose };
	// Bodies that others move meet granular bodies, and nothing else here.
	def.kind = CAROM_KINEMATIC;
	def.continuous = false;
	def.category = 1;
	def.mask = UINT64_MAX;
	def.group = 0;
	def.user_data = (uint64_t)i;
	const carom_result result = carom_world_add_body(m->world, &def, &o->id);
	m->ids[i] = o->id;
	return result == CAROM_SUCCESS;
}

static bool add_grains(scene_sphere_meeting *m)
{
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_GRANULAR;
	def.self_collision = false;
	return carom_world_add_body(m->world, &def, &m->grains) == CAROM_SUCCESS;
}

static bool make_parts(scene_sphere_meeting *m)
{
	const size_t count = (size_t)m->scene->spheres.obstacle_count;
	m->obstacles = calloc(count, sizeof *m->obstacles);
	m->ids = calloc(count, sizeof *m->ids);
	m->poses = calloc(count, sizeof *m->poses);
	m->boxes = calloc(count, sizeof *m->boxes);
	return m->obstacles && m->ids && m->poses && m->boxes;
}

scene_sphere_meeting *scene_create_sphere_meeting(
	const scene_description *scene, scene_simulation *simulation, sim_granular *granular, sim_error *error)
{
	carom_context *context = carom_world_context(scene_simulation_world(simulation));
	scene_sphere_meeting *m = calloc(1, sizeof *m);
	if (!m || (m->scene = scene, !make_parts(m))) {
		sim_fail(error, "%s: out of memory", scene->file);
		scene_destroy_sphere_meeting(m);
		return NULL;
	}
	m->is_new = true;
	m->simulation = simulation;
	m->granular = granular;
	bool made = carom_create_world(context, NULL, &m->world) == CAROM_SUCCESS;
	for (int32_t i = 0; i < scene->spheres.obstacle_count && made; i++)
		made = add_obstacle(m, i);
	if (made && add_grains(m))
		return m;
	sim_fail(error, "%s: field \"spheres.obstacles\": %s", scene->file, carom_error_text(context));
	scene_destroy_sphere_meeting(m);
	return NULL;
}

void scene_destroy_sphere_meeting(scene_sphere_meeting *m)
{
	if (!m)
		return;
	carom_destroy_world(m->world);
	free(m->obstacles);
	free(m->ids);
	free(m->poses);
	free(m->boxes);
	free(m->near);
	scene_clear_free(&m->clear);
	free(m->touches);
	free(m);
}

// ---- Where bodies are ----

/// The bodies have done a step: their ways through it. Each begins where spheres have last seen it.
static void begin_step(scene_sphere_meeting *m)
{
	for (int32_t i = 0; i < m->scene->spheres.obstacle_count; i++) {
		obstacle *o = &m->obstacles[i];
		o->way = (carom_motion){ o->way.end, scene_simulation_body_def(m->simulation, o->body).pose };
		o->velocity = scene_simulation_velocity(m->simulation, o->body);
		o->angular_velocity = scene_simulation_angular_velocity(m->simulation, o->body);
		o->shift = o->impulse = (carom_vec3){ 0, 0, 0 };
		o->turn = NO_TURN;
	}
}

/// A pose on the way, turned about the centre of mass and shifted by the answer so far.
static carom_pose answered(const obstacle *o, carom_pose pose)
{
	const carom_vec3 centre = sim_add(carom_transform_point(pose, o->centre), o->shift);
	pose.orientation = sim_unit_quat(sim_multiply(o->turn, pose.orientation));
	pose.position = sim_subtract(centre, carom_rotate(pose.orientation, o->centre));
	return pose;
}

static carom_pose pose_at(const obstacle *o, double time)
{
	const carom_pose pose = time > 0 ? (time < 1 ? carom_motion_pose(&o->way, time) : o->way.end) : o->way.begin;
	return o->answers ? answered(o, pose) : pose;
}

/// Velocity of the material of a body that is at a point of it, in a substep that begins at a time
/// and lasts for a part of the step. That of its way is a difference of places, so what a sphere
/// feels is how the surface really moves.
static carom_vec3 velocity_at(const scene_sphere_meeting *m, const obstacle *o, carom_vec3 point, double time, double part)
{
	const carom_pose here = pose_at(o, time), there = pose_at(o, time + part);
	const carom_vec3 next = carom_transform_point(there, carom_inverse_transform_point(here, point));
	const carom_vec3 along = sim_scale(sim_subtract(next, point), 1 / (part * m->scene->time_step));
	if (!o->answers)
		return along;
	const carom_vec3 linear = sim_subtract(scene_simulation_velocity(m->simulation, o->body), o->velocity);
	const carom_vec3 angular = sim_subtract(scene_simulation_angular_velocity(m->simulation, o->body), o->angular_velocity);
	const carom_vec3 arm = sim_subtract(point, carom_transform_point(here, o->centre));
	return sim_add(along, sim_add(linear, sim_cross(angular, arm)));
}

static bool place_bodies(scene_sphere_meeting *m, double time)
{
	const int32_t count = m->scene->spheres.obstacle_count;
	for (int32_t i = 0; i < count; i++)
		m->poses[i] = pose_at(&m->obstacles[i], time);
	bool placed = carom_world_set_poses(m->world, count, m->ids, m->poses) == CAROM_SUCCESS;
	for (int32_t i = 0; i < count && placed; i++)
		placed = carom_world_get_aabb(m->world, m->ids[i], &m->boxes[i]) == CAROM_SUCCESS;
	return placed;
}

// ---- Spheres near them ----

static bool overlaps(const carom_aabb *box, const double *sphere)
{
	const double r = sphere[3];
	return sphere[0] + r >= box->lower.x && sphere[0] - r <= box->upper.x && sphere[1] + r >= box->lower.y &&
		sphere[1] - r <= box->upper.y && sphere[2] + r >= box->lower.z && sphere[2] - r <= box->upper.z;
}

static carom_aabb box_of_all(const scene_sphere_meeting *m)
{
	carom_aabb all = { { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY } };
	for (int32_t i = 0; i < m->scene->spheres.obstacle_count; i++) {
		const carom_aabb *box = &m->boxes[i];
		all.lower =
			(carom_vec3){ fmin(all.lower.x, box->lower.x), fmin(all.lower.y, box->lower.y), fmin(all.lower.z, box->lower.z) };
		all.upper =
			(carom_vec3){ fmax(all.upper.x, box->upper.x), fmax(all.upper.y, box->upper.y), fmax(all.upper.z, box->upper.z) };
	}
	return all;
}

static bool is_near(const scene_sphere_meeting *m, const double *sphere)
{
	for (int32_t i = 0; i < m->scene->spheres.obstacle_count; i++) {
		if (overlaps(&m->boxes[i], sphere))
			return true;
	}
	return false;
}

/// Room for one more sphere.
static bool reserve_near(scene_sphere_meeting *m)
{
	if (m->near_count < m->near_room)
		return true;
	const int32_t room = m->near_room + m->near_room / 2 + 256;
	scene_asked_sphere *near = realloc(m->near, (size_t)room * sizeof *near);
	if (!near)
		return false;
	m->near = near;
	m->near_room = room;
	return true;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t x = ((const scene_asked_sphere *)a)->number, y = ((const scene_asked_sphere *)b)->number;
	return (x > y) - (x < y);
}

/// In the order of their numbers: their order in memory must not decide anything.
static bool gather_spheres(scene_sphere_meeting *m)
{
	const sim_granular_view view = sim_granular_get_view(m->granular);
	const carom_aabb all = box_of_all(m);
	m->near_count = 0;
	if (!scene_clear_order(&m->clear, view.count, view.ids))
		return false;
	for (int64_t i = 0; i < view.count; i++) {
		double sphere[4];
		memcpy(sphere, &view.spheres[4 * i], sizeof sphere);
		if (scene_is_clear(&m->clear, i, sphere) || !overlaps(&all, sphere) || !is_near(m, sphere))
			continue;
		if (!reserve_near(m))
			return false;
		scene_asked_sphere *near = &m->near[m->near_count++];
		*near = (scene_asked_sphere){ .number = view.ids[i], .place = i };
		memcpy(near->sphere, sphere, sizeof near->sphere);
	}
	if (m->near_count > 1)
		qsort(m->near, (size_t)m->near_count, sizeof *m->near, compare_numbers);
	return true;
}

static bool put_spheres(scene_sphere_meeting *m)
{
	const double *first = m->near_count > 0 ? m->near->sphere : NULL;
	const carom_strided centres = { .data = first, .stride = sizeof *m->near, .type = CAROM_FLOAT64 };
	const carom_strided radii = { .data = first ? first + 3 : NULL, .stride = sizeof *m->near, .type = CAROM_FLOAT64 };
	return carom_world_set_spheres(m->world, m->grains, m->near_count, &centres, &radii) == CAROM_SUCCESS;
}

// ---- Touches ----

static bool reserve_touches(scene_sphere_meeting *m, int64_t count)
{
	if (count <= m->touch_room)
		return true;
	const int64_t room = count + count / 2;
	sim_granular_touch *touches = realloc(m->touches, (size_t)room * sizeof *touches);
	if (!touches)
		return false;
	m->touches = touches;
	m->touch_room = room;
	return true;
}

/// Contacts are sorted by sphere, then body, so the touches are.
static bool take_touches(scene_sphere_meeting *m, double time, double part)
{
	const carom_sphere_contact_view view = carom_world_sphere_contacts(m->world);
	m->touch_count = 0;
	if (!reserve_touches(m, view.count))
		return false;
	for (int64_t i = 0; i < view.count; i++) {
		const carom_sphere_contact *c = &view.data[i];
		m->near[c->sphere].touches = true;
		if (c->depth < 0)
			continue;
		const obstacle *o = &m->obstacles[c->user_data_b];
		const double *sphere = m->near[c->sphere].sphere;
		const double lever = sphere[3] - c->depth;
		const carom_vec3 point = { sphere[0] - lever * c->normal.x, sphere[1] - lever * c->normal.y,
			sphere[2] - lever * c->normal.z };
		const carom_vec3 v = velocity_at(m, o, point, time, part);
		m->touches[m->touch_count++] = (sim_granular_touch){ .sphere = m->near[c->sphere].number,
			.body = c->user_data_b,
			.normal = { c->normal.x, c->normal.y, c->normal.z },
			.overlap = c->depth,
			.velocity = { v.x, v.y, v.z } };
	}
	return true;
}

/// Does a contact say that the middle of a sphere is inside an obstacle, or behind its front?
static bool is_buried(const scene_sphere_meeting *m, const carom_sphere_contact *c)
{
	const double radius = m->near[c->sphere].sphere[3];
	return c->depth > radius * (1 + 1e-9);
}

/// Spheres that begin inside an obstacle would be shot out of it: name the first obstacle, and how
/// many spheres are in it.
static bool check_begin(const scene_sphere_meeting *m, sim_error *error)
{
	const carom_sphere_contact_view view = carom_world_sphere_contacts(m->world);
	int64_t first = 0;
	while (first < view.count && !is_buried(m, &view.data[first]))
		first++;
	if (first == view.count)
		return true;
	const uint64_t number = view.data[first].user_data_b;
	const scene_body *body = &m->scene->rigid.bodies[m->obstacles[number].body];
	int64_t count = 0;
	for (int64_t i = first, last = -1; i < view.count; i++) {
		const carom_sphere_contact *c = &view.data[i];
		if (c->user_data_b != number || !is_buried(m, c) || c->sphere == last)
			continue;
		last = c->sphere;
		count++;
	}
	const bool holds = body->part_count > 0 || body->shape.type == CAROM_MESH;
	return sim_fail(error,
		"%s: field \"spheres.obstacles[%d]\": %lld %s with the middle inside of \"%s\" (the first is sphere %u)%s",
		m->scene->file, (int)number, (long long)count, count == 1 ? "sphere begins" : "spheres begin", body->name,
		m->near[view.data[first].sphere].number,
		holds ? "; a closed mesh that is to hold spheres needs \"sides\": \"container\" in its entry of \"meshes\"" : "");
}

static carom_vec3 vector_of(const double v[3]) { return (carom_vec3){ v[0], v[1], v[2] }; }

/// Add a force to the sums of an obstacle, which depend on no order.
static void add_to_sum(obstacle *o, carom_vec3 origin, const sim_granular_reaction *r)
{
	const double arm[3] = { r->point[0] - origin.x, r->point[1] - origin.y, r->point[2] - origin.z };
	sim_note_force(&o->sum, arm, r->force, r->torque);
}

/// The substep is done: low units of the sums go into their high ones.
static void carry_sums(scene_sphere_meeting *m)
{
	for (int32_t i = 0; i < m->scene->spheres.obstacle_count; i++) {
		sim_exact_sum carried = { .touches = 0 };
		sim_join_exact_sum(&carried, &m->obstacles[i].sum);
		m->obstacles[i].sum = carried;
	}
}

/// Give bodies what their spheres have got, for a substep of so many seconds.
static void answer(scene_sphere_meeting *m, double seconds)
{
	const sim_granular_reaction *reactions = sim_granular_get_reactions(m->granular);
	for (int64_t i = 0; i < m->touch_count; i++) {
		obstacle *o = &m->obstacles[m->touches[i].body];
		const sim_granular_reaction *r = &reactions[i];
		const carom_vec3 impulse = sim_scale(vector_of(r->force), seconds), torque = sim_scale(vector_of(r->torque), seconds);
		o->impulse = sim_add(o->impulse, impulse);
		if (m->scene->output.forces > 0)
			add_to_sum(o, m->poses[m->touches[i].body].position, r);
		if (!o->answers)
			continue;
		const carom_vec3 centre = carom_transform_point(m->poses[m->touches[i].body], o->centre);
		const carom_vec3 arm = sim_subtract(vector_of(r->point), centre);
		const carom_vec3 angular = sim_add(sim_cross(arm, impulse), torque);
		scene_simulation_kick(m->simulation, o->body, impulse, angular);
	}
	carry_sums(m);
}

/// The change of velocity moves bodies, as spheres move: with the velocities after the forces.
static void drift(scene_sphere_meeting *m, double seconds)
{
	for (int32_t i = 0; i < m->scene->spheres.obstacle_count; i++) {
		obstacle *o = &m->obstacles[i];
		if (!o->answers)
			continue;
		const carom_vec3 v = sim_subtract(scene_simulation_velocity(m->simulation, o->body), o->velocity);
		const carom_vec3 w = sim_subtract(scene_simulation_angular_velocity(m->simulation, o->body), o->angular_velocity);
		const double angle = sim_length(w) * seconds;
		o->shift = sim_add(o->shift, sim_scale(v, seconds));
		if (angle > 0)
			o->turn = sim_unit_quat(sim_multiply(sim_axis_angle((const double[3]){ w.x, w.y, w.z }, angle), o->turn));
	}
}

/// Bodies that spheres have pushed go on from where they have come to.
static bool end_step(scene_sphere_meeting *m, sim_error *error)
{
	for (int32_t i = 0; i < m->scene->spheres.obstacle_count; i++) {
		obstacle *o = &m->obstacles[i];
		const bool pushed = o->shift.x != 0 || o->shift.y != 0 || o->shift.z != 0 || o->turn.w != 1;
		if (!o->answers || !pushed)
			continue;
		o->way.end = answered(o, o->way.end);
		if (!scene_simulation_place(m->simulation, o->body, &o->way.end, error))
			return false;
	}
	return true;
}

/// Hand the touches at the beginning of a substep to the simulation of the spheres.
static bool find_touches(scene_sphere_meeting *m, int32_t substep, sim_error *error)
{
	const int32_t substeps = m->scene->spheres.substeps;
	const double part = 1.0 / substeps, time = (double)substep / substeps;
	if (substep == 0)
		begin_step(m);
	if (!place_bodies(m, time))
		return sim_fail(error, "%s: %s", m->scene->file, carom_error_text(carom_world_context(m->world)));
	// What the step would begin with comes first: on ranks the spheres are then where they stay.
	if (!sim_granular_prepare(m->granular, error))
		return false;
	if (!scene_clear_follow(&m->clear, m->scene->spheres.obstacle_count, m->poses, m->boxes) || !gather_spheres(m))
		return sim_fail(error, "%s: out of memory", m->scene->file);
	if (!put_spheres(m) || carom_world_step(m->world) != CAROM_SUCCESS)
		return sim_fail(error, "%s: %s", m->scene->file, carom_error_text(carom_world_context(m->world)));
	if (m->is_new && !check_begin(m, error))
		return false;
	m->is_new = false;
	if (!take_touches(m, time, part) || !scene_clear_ask(&m->clear, m->world, m->grains, m->near_count, m->near))
		return sim_fail(error, "%s: out of memory", m->scene->file);
	return sim_granular_set_touches(m->granular, m->touch_count, m->touches, error);
}

bool scene_meeting_advance(scene_sphere_meeting *m, int32_t substep, sim_granular_step *step, sim_error *error)
{
	const int32_t substeps = m->scene->spheres.substeps;
	const double seconds = m->scene->time_step / substeps, begin = sim_now_ms();
	if (!find_touches(m, substep, error))
		return false;
	const double found = sim_now_ms();
	if (!sim_granular_advance(m->granular, step, error))
		return false;
	const double advanced = sim_now_ms();
	answer(m, seconds);
	drift(m, seconds);
	const bool ended = substep + 1 < substeps || end_step(m, error);
	if (step)
		step->ms_obstacles = found - begin + (sim_now_ms() - advanced);
	return ended;
}

void scene_meeting_forget(scene_sphere_meeting *m) { scene_clear_free(&m->clear); }

carom_vec3 scene_meeting_get_impulse(const scene_sphere_meeting *m, int32_t i) { return m->obstacles[i].impulse; }

bool scene_meeting_take_sum(scene_sphere_meeting *m, int32_t i, sim_granular_wall_sum *sum, sim_error *error)
{
	sim_exact_sum *exact = &m->obstacles[i].sum;
	const sim_ranks *ranks = sim_granular_get_ranks(m->granular);
	if (ranks && !sim_sum_exact_over_ranks(ranks, 1, exact))
		return sim_fail(error, "another rank has failed, or the connection to it");
	*sum = sim_granular_read_sum(exact, m->scene->time_step / m->scene->spheres.substeps);
	*exact = (sim_exact_sum){ .touches = 0 };
	return true;
}

void scene_meeting_move_state(scene_sphere_meeting *m, sim_tape *tape)
{
	// a checkpoint is of a run that has begun
	m->is_new = m->is_new && tape->writing;
	for (int32_t i = 0; i < m->scene->spheres.obstacle_count; i++) {
		obstacle *o = &m->obstacles[i];
		sim_tape_move(tape, &o->way, sizeof o->way);
		sim_tape_move(tape, &o->impulse, sizeof o->impulse);
	}
}
