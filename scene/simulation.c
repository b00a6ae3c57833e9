// A scene in motion: see simulation.h.
#include "scene/simulation.h"

#include "scene/keyed_bodies.h"
#include "scene/mover_bodies.h"

#include "carom/collide.h"
#include "io/baked_file.h"
#include "sim/base/rotations.h"
#include "sim/base/sim_clock.h"
#include "sim/rigid/dynamics.h"
#include "scene/volumes.h"
#include "sim/base/state_hash.h"
#include "io/recording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Where a body was at the last detection, and when it stops on its way from there.
typedef struct scene_stop {
	carom_pose begin;
	double time;     // 1: it does not
	int32_t carrier; // the kinematic body that it stops at, which goes on; -1: none
} scene_stop;

struct scene_simulation {
	const scene_description *scene;
	carom_world *world;
	carom_mesh **meshes; // [scene->mesh_count]
	// [scene->mesh_count] of those that a body or part is the hull of; else NULL
	carom_mesh **hulls;
	carom_part *parts;  // [scene->rigid.part_count]
	int32_t body_count; // bodies that are there: the first ones of the scene
	carom_body_id *ids; // [scene->rigid.body_count]
	double *sizes;      // longest side of each body's box, INFINITY for static and kinematic ones
	double *radii;      // half the longest side of each body's box; 0 for planes
	// Movers that push rigid bodies are the first bodies of dynamics, and the last ones by user
	// data of the world: there the first has the number scene->rigid.body_count.
	scene_mover_bodies *movers;
	int32_t mover_count;
	double *dynamic_radii; // of all bodies of dynamics: 0 for movers, then radii
	sim_dynamics *dynamics;
	io_recorder *recorder;     // NULL: none
	carom_body_id *moving_ids; // of the bodies that are not static
	carom_pose *moving_poses;
	int32_t *moving; // their numbers
	int32_t moving_count;
	int32_t *planes; // numbers of the static planes
	int32_t plane_count;
	carom_pose *poses; // of all bodies
	int32_t continuous_count;
	scene_stop *stops; // of all bodies
	// [scene->rigid.body_count + 1] of the recording: the first one of each body, which has one for
	// each part
	int32_t *rows;
	carom_pose *row_poses;
	sim_dynamic_contact *contacts;
	float *forces; // of the contacts, [3 * contact_room]
	io_recorded_contact *recorded;
	int32_t recorded_count; // contacts without those with movers, which the recording does not hold
	int32_t contact_room;
	int64_t step;
	carom_vec3 up; // unit, against gravity
	scene_summary summary;
};

/// The number of a body in dynamics.
static int32_t dynamic_of(const scene_simulation *s, int32_t body) { return s->mover_count + body; }

/// Which mover a number is that the world has as user data; below 0: a body of the scene.
static int32_t mover_of(const scene_simulation *s, int32_t number) { return number - s->scene->rigid.body_count; }

static uint64_t hash_pose(uint64_t hash, const carom_pose *pose)
{
	double numbers[7];
	_Static_assert(sizeof numbers == sizeof *pose, "a pose is seven doubles");
	memcpy(numbers, pose, sizeof numbers);
	return sim_hash_doubles(hash, numbers, 7);
}

// ---- Setting up ----

static bool out_of_memory(const scene_simulation *s, sim_error *error)
{
	return sim_fail(error, "%s: out of memory", s->scene->file);
}

static carom_result create_mesh(
	carom_context *context, const scene_description *scene, int32_t index, carom_mesh **mesh, bool *made, sim_error *error)
{
	const scene_mesh_source *source = &scene->meshes[index];
	*made = true;
	if (source->kind == SCENE_MESH_HEIGHT_FIELD)
		return carom_create_height_field(
			context, source->columns, source->rows, source->heights, source->spacing, source->thickness, mesh);
	sim_mesh triangles;
	*made = scene_build_mesh(scene, index, &triangles, error);
	if (!*made)
		return CAROM_INVALID_MESH;
	const carom_result result = io_create_mesh(context, &triangles, CAROM_GRID_BY_SIZE, NULL, mesh);
	sim_mesh_free(&triangles);
	if (result != CAROM_SUCCESS || source->sides <= CAROM_SIDES_AUTO || !carom_mesh_get_report(*mesh)->closed)
		return result;
	// The mesh is the simulation's already, which frees it.
	*made = false;
	sim_fail(error, "%s: field \"meshes.%s.sides\": the mesh is closed%s", scene->file, source->name,
		source->sides == CAROM_SIDES_CONTAINER
			? ", but it encloses nothing, so it is no container"
			: ", so it has an inside and no sides; \"container\" makes a closed mesh collide from within");
	return CAROM_INVALID_MESH;
}

static bool create_meshes(scene_simulation *s, carom_context *context, sim_error *error)
{
	for (int32_t i = 0; i < s->scene->mesh_count; i++) {
		const scene_mesh_source *source = &s->scene->meshes[i];
		bool made;
		const carom_result result = create_mesh(context, s->scene, i, &s->meshes[i], &made, error);
		if (!made)
			return false;
		if (result != CAROM_SUCCESS) {
			return sim_fail(error, "%s: field \"meshes.%s\": %s%s%s", s->scene->file, source->name,
				source->kind == SCENE_MESH_FILE ? source->file : "", source->kind == SCENE_MESH_FILE ? ": " : "",
				carom_error_text(context));
		}
	}
	return true;
}

static bool body_error(const scene_simulation *s, int32_t i, const char *text, sim_error *error)
{
	const scene_body *body = &s->scene->rigid.bodies[i];
	return sim_fail(error, "%s:%d: field \"%s\": %s", s->scene->file, body->line, body->where, text);
}

static bool create_hulls(scene_simulation *s, carom_context *context, sim_error *error)
{
	for (int32_t i = 0; i < s->scene->rigid.body_count; i++) {
		const scene_body *body = &s->scene->rigid.bodies[i];
		for (int32_t k = 0; k < scene_shape_count(body); k++) {
			const scene_shape *shape = scene_shape_of(s->scene, body, k);
			if (shape->type == CAROM_HULL &&
				scene_hull_of(context, s->meshes[shape->mesh], &s->hulls[shape->mesh]) != CAROM_SUCCESS)
				return body_error(s, i, carom_error_text(context), error);
		}
	}
	return true;
}

static carom_shape shape_of(const scene_simulation *s, const scene_shape *from)
{
	return (carom_shape){
		.type = from->type,
		.radius = from->radius,
		.half_length = from->half_length,
		.half_extents = { from->half_extents[0], from->half_extents[1], from->half_extents[2] },
		.mesh = from->type == CAROM_MESH ? s->meshes[from->mesh]
			: from->type == CAROM_HULL   ? s->hulls[from->mesh]
										 : NULL,
		.rounding = from->rounding,
	};
}

static void create_parts(scene_simulation *s)
{
	for (int32_t i = 0; i < s->scene->rigid.part_count; i++)
		s->parts[i] = (carom_part){ shape_of(s, &s->scene->rigid.parts[i].shape), s->scene->rigid.parts[i].pose, 0 };
}

/// The box of a shape in its own frame, without its rounding. A plane is infinite.
static carom_aabb bare_box(const carom_shape *shape)
{
	const double *half = shape->half_extents, r = shape->radius, l = shape->half_length;
	switch (shape->type) {
	case CAROM_SPHERE: return (carom_aabb){ { -r, -r, -r }, { r, r, r } };
	case CAROM_CAPSULE: return (carom_aabb){ { -r, -r, -(r + l) }, { r, r, r + l } };
	case CAROM_BOX:
	case CAROM_ELLIPSOID: return (carom_aabb){ { -half[0], -half[1], -half[2] }, { half[0], half[1], half[2] } };
	case CAROM_CYLINDER:
	case CAROM_CONE: return (carom_aabb){ { -r, -r, -l }, { r, r, l } };
	case CAROM_PLANE: return (carom_aabb){ { -INFINITY, -INFINITY, -INFINITY }, { INFINITY, INFINITY, INFINITY } };
	default: break;
	}
	const carom_mesh_report *report = carom_mesh_get_report(shape->mesh);
	return (carom_aabb){ { report->lower[0], report->lower[1], report->lower[2] },
		{ report->upper[0], report->upper[1], report->upper[2] } };
}

static double longest_of(const carom_aabb *box)
{
	return fmax(box->upper.x - box->lower.x, fmax(box->upper.y - box->lower.y, box->upper.z - box->lower.z));
}

static double rounding_of(const carom_shape *shape) { return shape->type == CAROM_MESH ? 0 : shape->rounding; }

/// Make a box in the frame of a body hold the box of a part.
static void add_part_box(carom_aabb *box, const carom_part *part)
{
	const carom_aabb bare = bare_box(&part->shape);
	const double more = rounding_of(&part->shape);
	for (int i = 0; i < 8; i++) {
		const carom_vec3 corner = { i & 1 ? bare.upper.x : bare.lower.x, i & 2 ? bare.upper.y : bare.lower.y,
			i & 4 ? bare.upper.z : bare.lower.z };
		const carom_vec3 p = carom_transform_point(part->pose, corner);
		box->lower =
			(carom_vec3){ fmin(box->lower.x, p.x - more), fmin(box->lower.y, p.y - more), fmin(box->lower.z, p.z - more) };
		box->upper =
			(carom_vec3){ fmax(box->upper.x, p.x + more), fmax(box->upper.y, p.y + more), fmax(box->upper.z, p.z + more) };
	}
}

static bool has_plane(const carom_body_def *def)
{
	for (int32_t i = 0; i < def->part_count; i++) {
		if (def->parts[i].shape.type == CAROM_PLANE)
			return true;
	}
	return def->part_count == 0 && def->shape.type == CAROM_PLANE;
}

static double longest_side(const carom_body_def *def)
{
	carom_aabb box = { { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY } };
	if (has_plane(def))
		return INFINITY;
	for (int32_t i = 0; i < def->part_count; i++)
		add_part_box(&box, &def->parts[i]);
	if (def->part_count > 0)
		return longest_of(&box);
	box = bare_box(&def->shape);
	return longest_of(&box) + 2 * rounding_of(&def->shape);
}

/// Let a part be one that has a volume. An open mesh has none: it weighs as its box does then, and
/// its mass must be given.
static bool make_solid(const scene_simulation *s, int32_t i, carom_part *part, sim_error *error)
{
	if (part->shape.type != CAROM_MESH)
		return true;
	const carom_mesh_report *report = carom_mesh_get_report(part->shape.mesh);
	if (report->closed && report->volume != 0)
		return true;
	if (s->scene->rigid.bodies[i].mass == 0)
		return body_error(s, i, "its mesh is not closed, so it has no volume: give \"mass\" in place of \"density\"", error);
	part->shape = (carom_shape){ .type = CAROM_BOX };
	for (int k = 0; k < 3; k++)
		part->shape.half_extents[k] = fmax(0.5 * (report->upper[k] - report->lower[k]), 1e-9);
	part->pose.position = carom_transform_point(part->pose,
		(carom_vec3){ 0.5 * (report->lower[0] + report->upper[0]), 0.5 * (report->lower[1] + report->upper[1]),
			0.5 * (report->lower[2] + report->upper[2]) });
	return true;
}

static void scale_mass(carom_mass *mass, double factor)
{
	mass->mass *= factor;
	for (int k = 0; k < 6; k++)
		mass->inertia[k] *= factor;
}

/// The mass of parts [count], which are changed to solids, with room for their densities.
static bool weigh(const scene_simulation *s, int32_t i, carom_part *parts, double *densities, int32_t count, carom_mass *mass,
	sim_error *error)
{
	const scene_body *body = &s->scene->rigid.bodies[i];
	for (int32_t k = 0; k < count; k++) {
		densities[k] = body->part_count > 0 ? s->scene->rigid.parts[body->first_part + k].density / body->density : 1;
		if (!make_solid(s, i, &parts[k], error))
			return false;
	}
	carom_context *context = carom_world_context(s->world);
	if (carom_parts_get_mass(context, parts, count, densities, mass) != CAROM_SUCCESS)
		return body_error(s, i, carom_error_text(context), error);
	scale_mass(mass, body->mass > 0 ? body->mass / mass->mass : body->density);
	return true;
}

/// Mass and inertia of a body. One part at the pose of its body weighs, bit for bit, as much as a
/// body of that shape.
static bool mass_of(const scene_simulation *s, int32_t i, const carom_body_def *def, carom_mass *mass, sim_error *error)
{
	const carom_part whole = { .shape = def->shape, .pose = carom_pose_identity() };
	const int32_t count = def->part_count > 0 ? def->part_count : 1;
	carom_part *parts = malloc((size_t)count * sizeof *parts);
	double *densities = malloc((size_t)count * sizeof *densities);
	bool done = (parts && densities) || out_of_memory(s, error);
	if (done) {
		memcpy(parts, def->part_count > 0 ? def->parts : &whole, (size_t)count * sizeof *parts);
		done = weigh(s, i, parts, densities, count, mass, error);
	}
	free(densities);
	free(parts);
	return done;
}

static bool add_dynamics(scene_simulation *s, int32_t i, const carom_body_def *made, sim_error *error)
{
	const scene_body *body = &s->scene->rigid.bodies[i];
	sim_error reason;
	sim_dynamic_body def = {
		.kind = body->kind,
		.pose = body->pose,
		.velocity = body->velocity,
		.angular_velocity = body->angular_velocity,
		.friction = body->friction,
		.restitution = body->restitution,
	};
	if (body->kind == CAROM_DYNAMIC && !mass_of(s, i, made, &def.mass, error))
		return false;
	return sim_dynamics_add_body(s->dynamics, &def, &reason) || body_error(s, i, reason.text, error);
}

carom_body_def scene_simulation_body_def(const scene_simulation *s, int32_t i)
{
	const scene_body *body = &s->scene->rigid.bodies[i];
	carom_body_def def = carom_default_body_def();
	if (body->part_count > 0) {
		def.parts = s->parts + body->first_part;
		def.part_count = body->part_count;
	} else {
		def.shape = shape_of(s, &body->shape);
	}
	def.kind = body->kind;
	def.pose = i < s->body_count ? s->poses[i] : body->pose;
	def.category = body->category;
	def.mask = body->mask;
	def.group = body->group;
	def.continuous = body->continuous;
	def.user_data = (uint64_t)i;
	return def;
}

static bool is_plane(const scene_body *body) { return body->part_count == 0 && body->shape.type == CAROM_PLANE; }

static bool add_body(scene_simulation *s, int32_t i, sim_error *error)
{
	const scene_body *body = &s->scene->rigid.bodies[i];
	const carom_body_def def = scene_simulation_body_def(s, i);
	if (carom_world_add_body(s->world, &def, &s->ids[i]) != CAROM_SUCCESS)
		return body_error(s, i, carom_error_text(carom_world_context(s->world)), error);
	s->sizes[i] = body->kind == CAROM_DYNAMIC ? longest_side(&def) : INFINITY;
	s->radii[i] = has_plane(&def) ? 0 : 0.5 * longest_side(&def);
	s->poses[i] = s->stops[i].begin = body->pose;
	s->continuous_count += body->continuous;
	if (body->kind == CAROM_DYNAMIC)
		s->summary.bodies++;
	else
		s->summary.others++;
	if (is_plane(body) && body->kind == CAROM_STATIC)
		s->planes[s->plane_count++] = i;
	if (body->kind != CAROM_STATIC) {
		s->moving[s->moving_count] = i;
		s->moving_ids[s->moving_count++] = s->ids[i];
	}
	s->body_count++;
	s->rows[i + 1] = s->rows[i] + scene_shape_count(body);
	return add_dynamics(s, i, &def, error);
}

io_recorded_body scene_recorded_body(const scene_description *scene, int32_t i, int32_t k)
{
	const scene_body *from = &scene->rigid.bodies[i];
	const scene_shape *shape = scene_shape_of(scene, from, k);
	return (io_recorded_body){
		.kind = from->kind,
		.type = shape->type,
		.mesh = shape->mesh,
		.radius = shape->radius,
		.half_length = shape->half_length,
		.half_extents = { shape->half_extents[0], shape->half_extents[1], shape->half_extents[2] },
		.rounding = shape->rounding,
		.part = from->part_count > 0 ? k + 1 : 0,
		.place = from->part_count > 0 ? scene->rigid.parts[from->first_part + k].pose : carom_pose_identity(),
	};
}

static bool record_body(scene_simulation *s, int32_t i, sim_error *error)
{
	for (int32_t k = 0; k < scene_shape_count(&s->scene->rigid.bodies[i]); k++) {
		const io_recorded_body body = scene_recorded_body(s->scene, i, k);
		if (!io_recorder_add_body(s->recorder, &body, error))
			return false;
	}
	return true;
}

/// Bodies of sources come into being when their step begins: before it there is nothing of them to
/// meet or to draw, and the recording holds no pose of them.
static bool add_due_bodies(scene_simulation *s, sim_error *error)
{
	while (s->body_count < s->scene->rigid.body_count && s->scene->rigid.bodies[s->body_count].first_step <= s->step) {
		const int32_t i = s->body_count;
		if (!add_body(s, i, error))
			return false;
		if (s->recorder && !record_body(s, i, error))
			return false;
	}
	return true;
}

/// Movers that push bodies: in dynamics each is one that nothing moves, at the origin. How its
/// surface moves is said contact by contact.
static bool add_movers(scene_simulation *s, sim_error *error)
{
	s->movers = scene_add_mover_bodies(s->world, s->scene, s->scene->rigid.body_count, error);
	if (!s->movers)
		return false;
	for (int32_t i = 0; i < s->mover_count; i++) {
		const sim_dynamic_body def = { .kind = CAROM_KINEMATIC,
			.pose = carom_pose_identity(),
			.friction = scene_mover_friction(s->movers, i),
			.restitution = 0 };
		if (!sim_dynamics_add_body(s->dynamics, &def, error))
			return false;
	}
	return true;
}

static bool start_recording(scene_simulation *s, const char *path, sim_error *error)
{
	const io_recording_info info = {
		.gravity = s->scene->gravity,
		.time_step = s->scene->time_step,
		.contacts = s->scene->output.contacts,
		.scene_text = s->scene->text,
		.scene_name = s->scene->name,
	};
	s->recorder = io_create_recorder(path, &info, error);
	bool done = s->recorder != NULL;
	for (int32_t i = 0; i < s->scene->mesh_count && done; i++) {
		const carom_mesh_report *report = carom_mesh_get_report(s->meshes[i]);
		io_recorded_mesh mesh = {
			.vertex_count = report->vertex_count,
			.triangle_count = report->triangle_count,
			.vertices = carom_mesh_get_vertices(s->meshes[i]),
			.triangles = carom_mesh_get_triangles(s->meshes[i]),
		};
		snprintf(mesh.name, sizeof mesh.name, "%s", s->scene->meshes[i].name);
		done = io_recorder_add_mesh(s->recorder, &mesh, error);
	}
	for (int32_t i = 0; i < s->body_count && done; i++)
		done = record_body(s, i, error);
	return done;
}

/// Rows that a recording of all bodies has.
static size_t count_rows(const scene_description *scene)
{
	size_t rows = 0;
	for (int32_t i = 0; i < scene->rigid.body_count; i++)
		rows += (size_t)scene_shape_count(&scene->rigid.bodies[i]);
	return rows;
}

static bool allocate(scene_simulation *s)
{
	const size_t bodies = (size_t)s->scene->rigid.body_count;
	s->meshes = calloc((size_t)s->scene->mesh_count + 1, sizeof *s->meshes);
	s->hulls = calloc((size_t)s->scene->mesh_count + 1, sizeof *s->hulls);
	s->ids = calloc(bodies, sizeof *s->ids);
	s->sizes = calloc(bodies, sizeof *s->sizes);
	s->mover_count = scene_count_mover_bodies(s->scene);
	s->dynamic_radii = calloc((size_t)s->mover_count + bodies, sizeof *s->dynamic_radii);
	s->radii = s->dynamic_radii ? s->dynamic_radii + s->mover_count : NULL;
	s->moving = calloc(bodies, sizeof *s->moving);
	s->moving_ids = calloc(bodies, sizeof *s->moving_ids);
	s->moving_poses = calloc(bodies, sizeof *s->moving_poses);
	s->planes = calloc(bodies, sizeof *s->planes);
	s->poses = calloc(bodies, sizeof *s->poses);
	s->stops = calloc(bodies, sizeof *s->stops);
	s->parts = calloc((size_t)s->scene->rigid.part_count + 1, sizeof *s->parts);
	s->rows = calloc(bodies + 1, sizeof *s->rows);
	s->row_poses = calloc(count_rows(s->scene), sizeof *s->row_poses);
	sim_solver_settings solver = s->scene->rigid.solver;
	solver.small_step = s->scene->time_step / s->scene->rigid.small_steps;
	s->dynamics = sim_create_dynamics(&solver, s->scene->gravity);
	return s->meshes && s->hulls && s->ids && s->sizes && s->radii && s->moving && s->moving_ids && s->moving_poses &&
		s->planes && s->poses && s->stops && s->parts && s->rows && s->row_poses && s->dynamics;
}

static carom_vec3 against(carom_vec3 gravity)
{
	const double length = sqrt(gravity.x * gravity.x + gravity.y * gravity.y + gravity.z * gravity.z);
	if (length == 0)
		return (carom_vec3){ 0, 1, 0 };
	return (carom_vec3){ -gravity.x / length, -gravity.y / length, -gravity.z / length };
}

/// A body that is stopped at an impact stands within toi_tolerance of the other body: it has
/// contacts there.
static carom_world_def detection_of(const scene_description *scene)
{
	carom_world_def def = scene->rigid.detection;
	def.lab = &scene->rigid.lab;
	for (int32_t i = 0; i < scene->rigid.body_count; i++) {
		if (scene->rigid.bodies[i].continuous)
			def.speculative_distance = fmax(def.speculative_distance, def.toi_tolerance);
	}
	return def;
}

static bool set_up(scene_simulation *s, carom_context *context, const char *recording, sim_error *error)
{
	if (!allocate(s))
		return out_of_memory(s, error);
	s->up = against(s->scene->gravity);
	s->summary.hash = SIM_HASH_START;
	if (!create_meshes(s, context, error) || !create_hulls(s, context, error))
		return false;
	create_parts(s);
	const carom_world_def def = detection_of(s->scene);
	if (carom_create_world(context, &def, &s->world) != CAROM_SUCCESS ||
		carom_world_set_body_pairs(s->world, false, s->scene->rigid.max_contacts_per_body_pair) != CAROM_SUCCESS) {
		return sim_fail(error, "%s: field \"detection\": %s", s->scene->file, carom_error_text(context));
	}
	if (carom_world_set_device(s->world, s->scene->rigid.device, false) != CAROM_SUCCESS)
		return sim_fail(error, "%s", carom_error_text(context));
	if (!add_movers(s, error) || !add_due_bodies(s, error))
		return false;
	return !recording || start_recording(s, recording, error);
}

scene_simulation *scene_create_simulation(
	carom_context *context, const scene_description *scene, const char *recording, sim_error *error)
{
	scene_simulation *s = calloc(1, sizeof *s);
	if (!s) {
		sim_fail(error, "%s: out of memory", scene->file);
		return NULL;
	}
	s->scene = scene;
	if (set_up(s, context, recording, error))
		return s;
	scene_destroy_simulation(s);
	return NULL;
}

bool scene_finish_recording(scene_simulation *s, sim_error *error)
{
	io_recorder *recorder = s->recorder;
	const double start = sim_now_ms();
	s->recorder = NULL;
	const bool done = io_close_recorder(recorder, error);
	const double duration = sim_now_ms() - start;
	s->summary.ms_recording += duration;
	s->summary.ms_total += duration;
	return done;
}

void scene_destroy_simulation(scene_simulation *s)
{
	if (!s)
		return;
	scene_finish_recording(s, NULL);
	carom_destroy_world(s->world);
	scene_free_mover_bodies(s->movers);
	for (int32_t i = 0; s->meshes && i < s->scene->mesh_count; i++)
		carom_release_mesh(s->meshes[i]);
	for (int32_t i = 0; s->hulls && i < s->scene->mesh_count; i++)
		carom_release_mesh(s->hulls[i]);
	sim_destroy_dynamics(s->dynamics);
	free(s->meshes);
	free(s->hulls);
	free(s->ids);
	free(s->sizes);
	free(s->dynamic_radii);
	free(s->moving);
	free(s->moving_ids);
	free(s->moving_poses);
	free(s->planes);
	free(s->poses);
	free(s->stops);
	free(s->parts);
	free(s->rows);
	free(s->row_poses);
	free(s->contacts);
	free(s->forces);
	free(s->recorded);
	free(s);
}

// ---- Stepping ----

static bool reserve_contacts(scene_simulation *s, int32_t count)
{
	if (count <= s->contact_room)
		return true;
	const size_t room = (size_t)count + (size_t)count / 2;
	sim_dynamic_contact *contacts = realloc(s->contacts, room * sizeof *contacts);
	if (contacts)
		s->contacts = contacts;
	io_recorded_contact *recorded = realloc(s->recorded, room * sizeof *recorded);
	if (recorded)
		s->recorded = recorded;
	float *forces = realloc(s->forces, 3 * room * sizeof *forces);
	if (forces)
		s->forces = forces;
	if (!contacts || !recorded || !forces)
		return false;
	s->contact_room = (int32_t)room;
	return true;
}

/// One side of a contact for dynamics, and for the recording, which has rows of parts. False: it is
/// a mover, which has none.
static bool take_side(const scene_simulation *s, uint64_t number, int32_t part, int32_t *body, int32_t *row)
{
	const int32_t mover = mover_of(s, (int32_t)number);
	*body = mover < 0 ? dynamic_of(s, (int32_t)number) : mover;
	*row = mover < 0 ? s->rows[number] + part : -1;
	return mover < 0;
}

static double size_of(const scene_simulation *s, uint64_t number)
{
	return mover_of(s, (int32_t)number) < 0 ? s->sizes[number] : INFINITY;
}

/// Hand the contacts of the last detection over to dynamics and recording, in the numbers of the
/// scene's bodies.
static bool take_contacts(scene_simulation *s, scene_step *step)
{
	const carom_contact_view view = carom_world_contacts(s->world);
	const carom_pair_view pairs = carom_world_pairs(s->world);
	if (!reserve_contacts(s, view.count))
		return false;
	s->recorded_count = 0;
	for (int32_t i = 0; i < view.count; i++) {
		const carom_contact *c = &view.data[i];
		const carom_pair *pair = &pairs.data[c->pair];
		sim_dynamic_contact *contact = &s->contacts[i];
		io_recorded_contact *recorded = &s->recorded[s->recorded_count];
		const bool has_a = take_side(s, pair->user_data_a, pair->shape_a, &contact->body_a, &recorded->body_a);
		const bool has_b = take_side(s, pair->user_data_b, pair->shape_b, &contact->body_b, &recorded->body_b);
		for (int k = 0; k < 3; k++) {
			contact->point[k] = recorded->point[k] = c->point[k];
			recorded->normal[k] = c->normal[k];
			contact->normal[k] = (double)c->normal[k];
			contact->force[k] = c->impulse[k];
			contact->surface[k] = 0;
		}
		contact->depth = (double)c->depth;
		recorded->depth = c->depth;
		recorded->feature_a = c->feature_a;
		recorded->feature_b = c->feature_b;
		recorded->kind = (int32_t)c->kind;
		s->recorded_count += has_a && has_b;
		const double size = fmin(size_of(s, pair->user_data_a), size_of(s, pair->user_data_b));
		step->deepest = fmax(step->deepest, contact->depth);
		step->deepest_relative = fmax(step->deepest_relative, contact->depth / size);
	}
	return true;
}

static bool step_error(const scene_simulation *s, sim_error *error)
{
	return sim_fail(
		error, "%s: step %lld: %s", s->scene->file, (long long)s->step, carom_error_text(carom_world_context(s->world)));
}

static bool detect(scene_simulation *s, scene_step *step, sim_error *error)
{
	const carom_stats sum = step->detection;
	if (carom_world_step(s->world) != CAROM_SUCCESS)
		return step_error(s, error);
	step->detection = carom_world_stats(s->world);
	step->detection.ms_total += sum.ms_total;
	step->detection.ms_trees += sum.ms_trees;
	step->detection.ms_pair += sum.ms_pair;
	step->detection.ms_vertex += sum.ms_vertex;
	step->detection.ms_ray += sum.ms_ray;
	step->detection.ms_complete += sum.ms_complete;
	step->detection.ms_merge += sum.ms_merge;
	step->detection.ms_sweep += sum.ms_sweep;
	s->summary.hash = sim_hash_word(s->summary.hash, carom_world_hash(s->world));
	return take_contacts(s, step) || out_of_memory(s, error);
}

// ---- Continuous bodies ----

/// When each of them stops: at its earliest impact, and no later than the continuous bodies that it
/// meets, for it was not looked at with these at rest. Returns false where none does.
static bool find_stops(scene_simulation *s)
{
	const carom_body_impact_view view = carom_world_body_impacts(s->world);
	bool any = false, changed = view.count > 0;
	for (int32_t i = 0; i < s->body_count && changed; i++)
		s->stops[i].time = 1;
	while (changed) {
		changed = false;
		for (int32_t i = 0; i < view.count; i++) {
			const carom_body_impact *hit = &view.data[i];
			const int32_t body[2] = { (int32_t)hit->user_data_a, (int32_t)hit->user_data_b };
			const double time = fmin(hit->time, fmin(s->stops[body[0]].time, s->stops[body[1]].time));
			for (int side = 0; side < 2 && hit->status != CAROM_TOI_TOUCHING && !hit->sensor; side++) {
				const int32_t other = body[1 - side];
				if (!s->scene->rigid.bodies[body[side]].continuous || !(time < s->stops[body[side]].time))
					continue;
				s->stops[body[side]].time = time;
				s->stops[body[side]].carrier = s->scene->rigid.bodies[other].kind == CAROM_KINEMATIC ? other : -1;
				any = changed = true;
			}
		}
	}
	return any;
}

static carom_pose stopped_pose(const scene_simulation *s, int32_t i)
{
	const scene_stop *stop = &s->stops[i];
	const carom_motion way = { stop->begin, s->poses[i] };
	const carom_pose pose = carom_motion_pose(&way, stop->time);
	if (stop->carrier < 0)
		return pose;
	// The other goes on to its end and takes the body along.
	const carom_pose end = s->poses[stop->carrier];
	const carom_motion carry = { s->stops[stop->carrier].begin, end };
	const carom_pose met = carom_motion_pose(&carry, stop->time);
	const carom_quat q = met.orientation, back = { -q.x, -q.y, -q.z, q.w };
	return (carom_pose){ carom_transform_point(end, carom_inverse_transform_point(met, pose.position)),
		sim_unit_quat(sim_multiply(end.orientation, sim_multiply(back, pose.orientation))) };
}

/// Puts continuous bodies where they first met something on their way from the last detection, and
/// detects the contacts there.
static bool stop_at_impacts(scene_simulation *s, scene_step *step, sim_error *error)
{
	const bool any = s->continuous_count > 0 && find_stops(s);
	carom_result result = CAROM_SUCCESS;
	for (int32_t k = 0; k < s->moving_count && any && result == CAROM_SUCCESS; k++) {
		const int32_t i = s->moving[k];
		if (!(s->scene->rigid.bodies[i].continuous && s->stops[i].time < 1))
			continue;
		const carom_pose pose = stopped_pose(s, i);
		sim_dynamics_set_pose(s->dynamics, dynamic_of(s, i), &pose);
		s->moving_poses[k] = pose;
		result = carom_world_set_motions(s->world, 1, &s->ids[i], &(carom_motion){ pose, pose });
	}
	if (result != CAROM_SUCCESS)
		return step_error(s, error);
	for (int32_t k = 0; k < s->moving_count && s->continuous_count > 0; k++) {
		const int32_t i = s->moving[k];
		if (any && s->scene->rigid.bodies[i].continuous && s->stops[i].time < 1)
			s->poses[i] = s->moving_poses[k];
		s->stops[i].begin = s->poses[i];
	}
	return !any || detect(s, step, error);
}

static bool record_frame(scene_simulation *s, scene_step *step, sim_error *error)
{
	if (!s->recorder)
		return true;
	const double start = sim_now_ms();
	for (int32_t i = 0; i < s->body_count; i++) {
		for (int32_t row = s->rows[i]; row < s->rows[i + 1]; row++)
			s->row_poses[row] = s->poses[i];
	}
	const bool done = io_recorder_add_frame(s->recorder, step->time, s->row_poses, s->recorded, s->recorded_count, error);
	step->ms_recording += sim_now_ms() - start;
	return done;
}

/// Seconds at the begin of a substep; that behind the last one begins the next step.
static double time_of_substep(const scene_simulation *s, int32_t substep, int32_t substeps)
{
	return substep < substeps ? ((double)s->step + (double)substep / substeps) * s->scene->time_step
							  : (double)(s->step + 1) * s->scene->time_step;
}

static carom_vec3 surface_of(const scene_simulation *s, const carom_contact *contact, uint64_t number, bool is_a)
{
	const int32_t mover = mover_of(s, (int32_t)number);
	return mover < 0 ? (carom_vec3){ 0, 0, 0 } : scene_mover_velocity(s->movers, mover, contact, is_a);
}

/// Say how movers go on in a substep, and at what speeds they meet bodies there.
static void aim_movers(scene_simulation *s, double from, double to)
{
	const carom_contact_view view = carom_world_contacts(s->world);
	const carom_pair_view pairs = carom_world_pairs(s->world);
	scene_aim_movers(s->movers, from, to);
	for (int32_t i = 0; i < view.count && s->mover_count > 0; i++) {
		const carom_contact *c = &view.data[i];
		const carom_vec3 a = surface_of(s, c, pairs.data[c->pair].user_data_a, true);
		const carom_vec3 b = surface_of(s, c, pairs.data[c->pair].user_data_b, false);
		s->contacts[i].surface[0] = a.x - b.x;
		s->contacts[i].surface[1] = a.y - b.y;
		s->contacts[i].surface[2] = a.z - b.z;
	}
}

static bool respond(scene_simulation *s, scene_step *step, int32_t substep, sim_error *error)
{
	const double start = sim_now_ms(), end = time_of_substep(s, substep + 1, step->substeps);
	const double duration = s->scene->time_step / step->substeps;
	const int32_t count = carom_world_contacts(s->world).count;
	int32_t lost;
	scene_aim_keyed(s->scene, s->dynamics, s->mover_count, time_of_substep(s, substep, step->substeps), end);
	aim_movers(s, time_of_substep(s, substep, step->substeps), end);
	if (!sim_dynamics_step(s->dynamics, duration, s->contacts, count, &lost)) {
		char text[200];
		if (lost < 0)
			return out_of_memory(s, error);
		snprintf(text, sizeof text,
			"body %d of the scene flew out of the range of numbers in step %lld; smaller \"time_step\" or more \"substeps\" help",
			(int)(lost - s->mover_count), (long long)s->step);
		return body_error(s, lost - s->mover_count, text, error);
	}
	scene_place_keyed(s->scene, s->dynamics, s->mover_count, end);
	// As forces, since substeps may change: the world keeps them for the contacts that go on.
	for (int32_t i = 0; i < count; i++)
		memcpy(&s->forces[3 * (int64_t)i], s->contacts[i].force, sizeof s->contacts[i].force);
	if (carom_world_set_impulses(s->world, count, s->forces) != CAROM_SUCCESS)
		return step_error(s, error);
	for (int32_t k = 0; k < s->moving_count; k++)
		s->poses[s->moving[k]] = s->moving_poses[k] = sim_dynamics_get_pose(s->dynamics, dynamic_of(s, s->moving[k]));
	if (carom_world_set_poses(s->world, s->moving_count, s->moving_ids, s->moving_poses) != CAROM_SUCCESS ||
		scene_place_movers(s->movers) != CAROM_SUCCESS)
		return step_error(s, error);
	step->ms_response += sim_now_ms() - start;
	return true;
}

static double height_of(const scene_simulation *s, carom_vec3 v) { return v.x * s->up.x + v.y * s->up.y + v.z * s->up.z; }

static double lowest_centre(const scene_simulation *s)
{
	double lowest = INFINITY;
	for (int32_t i = 0; i < s->body_count; i++) {
		if (s->scene->rigid.bodies[i].kind == CAROM_DYNAMIC)
			lowest = fmin(lowest, height_of(s, sim_dynamics_get_centre(s->dynamics, dynamic_of(s, i))));
	}
	return lowest < INFINITY ? lowest : 0;
}

static void add_to_summary(scene_summary *summary, const scene_step *step, double ms_total)
{
	if (step->deepest > summary->deepest_penetration) {
		summary->deepest_penetration = step->deepest;
		summary->deepest_penetration_step = step->step;
	}
	if (step->deepest_relative > summary->deepest_penetration_relative) {
		summary->deepest_penetration_relative = step->deepest_relative;
		summary->deepest_penetration_relative_step = step->step;
	}
	if (step->kinetic_energy > summary->kinetic_energy_peak) {
		summary->kinetic_energy_peak = step->kinetic_energy;
		summary->kinetic_energy_peak_step = step->step;
	}
	summary->final_penetration = step->deepest;
	summary->final_penetration_relative = step->deepest_relative;
	summary->kinetic_energy_final = step->kinetic_energy;
	if (step->detection.contacts > summary->contacts_peak)
		summary->contacts_peak = step->detection.contacts;
	if (step->detection.colliding_pairs > summary->pairs_peak)
		summary->pairs_peak = step->detection.colliding_pairs;
	summary->memory_peak = step->detection.memory_peak;
	summary->ms_detection += step->detection.ms_total;
	summary->ms_response += step->ms_response;
	summary->ms_recording += step->ms_recording;
	summary->ms_total += ms_total;
	summary->steps++;
	summary->substeps += step->substeps;
}

/// Gravity's part of the coming step counts too: a body that starts to fall is still slow.
static int32_t choose_substeps(const scene_simulation *s)
{
	const scene_description *scene = s->scene;
	const carom_vec3 g = scene->gravity;
	const double fall = sqrt(g.x * g.x + g.y * g.y + g.z * g.z) * scene->time_step;
	double fastest = sim_dynamics_fastest(s->dynamics, s->dynamic_radii);
	for (int32_t i = 0; i < s->mover_count; i++)
		fastest = fmax(fastest, scene_mover_speed(s->movers, i));
	const double travel = (fastest + fall) * scene->time_step;
	const double wanted = ceil(travel / scene->rigid.substep_travel);
	if (wanted >= scene->rigid.max_substeps)
		return scene->rigid.max_substeps;
	return wanted > scene->rigid.substeps ? (int32_t)wanted : scene->rigid.substeps;
}

bool scene_simulate_step(scene_simulation *s, scene_step *result, sim_error *error)
{
	const double start = sim_now_ms();
	scene_step step = { .step = s->step, .time = (double)s->step * s->scene->time_step };
	if (!add_due_bodies(s, error))
		return false;
	scene_aim_keyed(s->scene, s->dynamics, s->mover_count, step.time, time_of_substep(s, 1, 1));
	scene_aim_movers(s->movers, step.time, time_of_substep(s, 1, 1));
	step.substeps = choose_substeps(s);
	for (int32_t k = 0; k < step.substeps; k++) {
		if (!detect(s, &step, error) || !stop_at_impacts(s, &step, error))
			return false;
		if (k == 0 && !record_frame(s, &step, error))
			return false;
		if (!respond(s, &step, k, error))
			return false;
	}
	step.kinetic_energy = sim_dynamics_kinetic_energy(s->dynamics);
	step.lowest = lowest_centre(s);
	add_to_summary(&s->summary, &step, sim_now_ms() - start);
	s->step++;
	if (result)
		*result = step;
	return true;
}

void scene_simulation_kick(scene_simulation *s, int32_t body, carom_vec3 impulse, carom_vec3 angular_impulse)
{
	sim_dynamics_kick(s->dynamics, dynamic_of(s, body), impulse, angular_impulse);
}

static int compare_int32(const void *a, const void *b)
{
	const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return (x > y) - (x < y);
}

bool scene_simulation_place(scene_simulation *s, int32_t body, const carom_pose *pose, sim_error *error)
{
	const int32_t *found = bsearch(&body, s->moving, (size_t)s->moving_count, sizeof *s->moving, compare_int32);
	if (!found)
		return sim_fail(error, "%s: body %d cannot be moved", s->scene->file, (int)body);
	sim_dynamics_set_pose(s->dynamics, dynamic_of(s, body), pose);
	const carom_pose placed = sim_dynamics_get_pose(s->dynamics, dynamic_of(s, body));
	s->poses[body] = s->moving_poses[found - s->moving] = placed;
	return carom_world_set_poses(s->world, 1, &s->ids[body], &placed) == CAROM_SUCCESS || step_error(s, error);
}

carom_vec3 scene_simulation_velocity(const scene_simulation *s, int32_t body)
{
	return sim_dynamics_get_velocity(s->dynamics, dynamic_of(s, body));
}

carom_vec3 scene_simulation_angular_velocity(const scene_simulation *s, int32_t body)
{
	return sim_dynamics_get_angular_velocity(s->dynamics, dynamic_of(s, body));
}

carom_vec3 scene_simulation_centre(const scene_simulation *s, int32_t body)
{
	return sim_dynamics_get_centre(s->dynamics, dynamic_of(s, body));
}

carom_mass scene_simulation_mass(const scene_simulation *s, int32_t body)
{
	return sim_dynamics_get_mass(s->dynamics, dynamic_of(s, body));
}

// ---- Results ----

static bool is_above_planes(const scene_simulation *s, carom_vec3 centre, int64_t *tests)
{
	for (int32_t k = 0; k < s->plane_count; k++) {
		++*tests;
		if (!(carom_inverse_transform_point(s->scene->rigid.bodies[s->planes[k]].pose, centre).z > 0))
			return false;
	}
	return true;
}

static double corner_height(const scene_simulation *s, const carom_aabb *box)
{
	return s->up.x * (s->up.x > 0 ? box->lower.x : box->upper.x) + s->up.y * (s->up.y > 0 ? box->lower.y : box->upper.y) +
		s->up.z * (s->up.z > 0 ? box->lower.z : box->upper.z);
}

/// Height below which a body has fallen past everything: -INFINITY when planes decide, or when
/// nothing is static.
static double height_of_ground(const scene_simulation *s)
{
	double ground = INFINITY;
	for (int32_t i = 0; i < s->body_count; i++) {
		carom_aabb box;
		if (s->scene->rigid.bodies[i].kind != CAROM_STATIC)
			continue;
		if (is_plane(&s->scene->rigid.bodies[i]))
			return -INFINITY;
		if (carom_world_get_aabb(s->world, s->ids[i], &box) == CAROM_SUCCESS)
			ground = fmin(ground, corner_height(s, &box));
	}
	return ground < INFINITY ? ground : -INFINITY;
}

scene_summary scene_summarise(const scene_simulation *s)
{
	scene_summary summary = s->summary;
	const double ground = height_of_ground(s);
	for (int32_t i = 0; i < s->body_count; i++) {
		summary.hash = hash_pose(summary.hash, &s->poses[i]);
		if (s->scene->rigid.bodies[i].kind != CAROM_DYNAMIC)
			continue;
		const carom_vec3 centre = sim_dynamics_get_centre(s->dynamics, dynamic_of(s, i));
		summary.bodies_above_ground += is_above_planes(s, centre, &summary.plane_tests) && height_of(s, centre) > ground;
	}
	return summary;
}

const carom_world *scene_simulation_world(const scene_simulation *s) { return s->world; }

int32_t scene_simulation_body_count(const scene_simulation *s) { return s->body_count; }

const carom_body_id *scene_simulation_ids(const scene_simulation *s) { return s->ids; }

const io_recorded_contact *scene_simulation_contacts(const scene_simulation *s, int32_t *count)
{
	*count = s->recorded ? s->recorded_count : 0;
	return s->recorded;
}

const carom_pose *scene_simulation_poses(const scene_simulation *s) { return s->poses; }

void scene_write_step_names(FILE *file)
{
	fputs(
		"step,time,substeps,bodies,box_pairs,narrow_pairs,colliding_pairs,contacts_found,contacts,vertices_tested,vertices_culled,"
		"rays_full,rays_outward,rays_iterative,rays_predictive,rays_lost,rays_recast,rays_missed,walk_steps,backtracks,pairs_full,"
		"pairs_iterative,pairs_apart,vertices_watched,pairs_completed,pairs_crossing,triangle_tests,impacts,ms_total,ms_trees,ms_pair,"
		"ms_vertex,ms_ray,ms_complete,ms_merge,ms_sweep,memory,memory_peak,scratch_peak,ms_response,ms_recording,deepest_penetration,"
		"deepest_penetration_relative,kinetic_energy,lowest_centre\n",
		file);
}

void scene_write_step(FILE *file, const scene_step *step)
{
	const carom_stats *d = &step->detection;
	fprintf(file, "%lld,%.9g,%d,%d,%d,%d,%d,%lld,%d", (long long)step->step, step->time, step->substeps, d->bodies,
		d->box_pairs, d->narrow_pairs, d->colliding_pairs, (long long)d->contacts_found, d->contacts);
	fprintf(file, ",%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld", (long long)d->vertices_tested, (long long)d->vertices_culled,
		(long long)d->rays_full, (long long)d->rays_outward, (long long)d->rays_iterative, (long long)d->rays_predictive,
		(long long)d->rays_lost, (long long)d->rays_recast, (long long)d->rays_missed);
	fprintf(file, ",%lld,%d,%d,%d,%d,%lld", (long long)d->walk_steps, d->backtracks, d->pairs_full, d->pairs_iterative,
		d->pairs_apart, (long long)d->vertices_watched);
	fprintf(
		file, ",%d,%d,%lld,%lld", d->pairs_completed, d->pairs_crossing, (long long)d->triangle_tests, (long long)d->impacts);
	fprintf(file, ",%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%zu,%zu,%zu", d->ms_total, d->ms_trees, d->ms_pair, d->ms_vertex,
		d->ms_ray, d->ms_complete, d->ms_merge, d->ms_sweep, d->memory, d->memory_peak, d->scratch_peak);
	fprintf(file, ",%.4f,%.4f,%.9g,%.9g,%.9g,%.9g\n", step->ms_response, step->ms_recording, step->deepest,
		step->deepest_relative, step->kinetic_energy, step->lowest);
}

// ---- State ----

/// The shapes of the scene: a mesh file may have changed since a tape was written.
static bool expect_meshes(const scene_simulation *s, sim_tape *tape, sim_error *error)
{
	for (int32_t i = 0; i < s->scene->mesh_count; i++) {
		const carom_mesh_report *report = carom_mesh_get_report(s->meshes[i]);
		const float *vertices = carom_mesh_get_vertices(s->meshes[i]);
		const int32_t *triangles = carom_mesh_get_triangles(s->meshes[i]);
		uint64_t hash = SIM_HASH_START;
		for (int64_t k = 0; k < 3 * (int64_t)report->vertex_count; k++) {
			const double number = (double)vertices[k];
			hash = sim_hash_doubles(hash, &number, 1);
		}
		for (int64_t k = 0; k < 3 * (int64_t)report->triangle_count; k++)
			hash = sim_hash_word(hash, (uint64_t)triangles[k]);
		sim_tape_expect(tape, (long long)hash);
		if (tape->failed && !tape->writing)
			return sim_fail(error, "field \"meshes.%s\": is another mesh", s->scene->meshes[i].name);
	}
	return true;
}

static bool put_bytes(const void *bytes, size_t count, void *user)
{
	sim_tape *tape = user;
	int64_t size = (int64_t)count;
	sim_tape_move(tape, &size, sizeof size);
	sim_tape_move(tape, (void *)bytes, count);
	return !tape->failed;
}

/// The world, with all that its pairs remember.
static carom_result move_world(scene_simulation *s, carom_snapshot *snapshot, sim_tape *tape)
{
	if (tape->writing) {
		const carom_result result = carom_world_save(s->world, snapshot);
		return result == CAROM_SUCCESS ? carom_snapshot_save(snapshot, put_bytes, tape) : result;
	}
	int64_t size = 0;
	sim_tape_move(tape, &size, sizeof size);
	if (tape->failed || size < 0 || (uint64_t)size > tape->size - tape->at) {
		tape->failed = true;
		return CAROM_SUCCESS;
	}
	const carom_result result = carom_snapshot_load(snapshot, tape->bytes + tape->at, (size_t)size);
	tape->at += (size_t)size;
	return result == CAROM_SUCCESS ? carom_world_restore(s->world, snapshot) : result;
}

/// Bodies that sources have made before the state was written.
static bool add_earlier_bodies(scene_simulation *s, sim_tape *tape, sim_error *error)
{
	int32_t count = s->body_count;
	sim_tape_move(tape, &s->step, sizeof s->step);
	sim_tape_move(tape, &count, sizeof count);
	if (tape->failed || tape->writing)
		return true;
	s->step--; // they came when the last step began
	const bool added = add_due_bodies(s, error);
	s->step++;
	if (!added)
		return false;
	return count == s->body_count ||
		sim_fail(error, "field \"bodies\": there are %d of them, not %d", (int)s->body_count, (int)count);
}

static void move_poses(scene_simulation *s, sim_tape *tape)
{
	const size_t count = (size_t)s->body_count;
	scene_summary summary = s->summary; // its counts of bodies are those that are there
	sim_tape_move(tape, s->poses, count * sizeof *s->poses);
	sim_tape_move(tape, s->stops, count * sizeof *s->stops);
	sim_tape_move(tape, &summary, sizeof summary);
	for (int32_t k = 0; k < s->moving_count; k++)
		s->moving_poses[k] = s->poses[s->moving[k]];
	s->summary = summary;
}

bool scene_simulation_move_state(scene_simulation *s, sim_tape *tape, sim_error *error)
{
	if (!expect_meshes(s, tape, error) || !add_earlier_bodies(s, tape, error))
		return false;
	move_poses(s, tape);
	sim_dynamics_move_state(s->dynamics, tape);
	if (tape->failed)
		return sim_fail(error, tape->writing ? "out of memory" : "field \"bodies\": the state is of other bodies");
	carom_snapshot *snapshot;
	carom_result result = carom_create_snapshot(s->world, &snapshot);
	if (result == CAROM_SUCCESS)
		result = move_world(s, snapshot, tape);
	const bool moved = result == CAROM_SUCCESS || sim_fail(error, "%s", carom_error_text(carom_world_context(s->world)));
	carom_destroy_snapshot(snapshot);
	return moved && (!tape->failed || sim_fail(error, tape->writing ? "out of memory" : "the state ends too early"));
}
