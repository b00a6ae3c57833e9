// The deforming bodies and movers of a scene: forms and meshes, put in their places, many from one
// where there is a grid.
#include "scene/soft_fill.h"

#include "scene/enclosing_mesh.h"
#include "scene/scene_animation.h"
#include "sim/base/rotations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Bodies being made. Each owns its places and pins; triangles belong to the first body of a source.
typedef struct filling {
	const scene_description *scene;
	sim_soft_body *bodies;
	char (*names)[SIM_SOFT_NAME]; // of copies
	int32_t count;
	int64_t vertices; // of all
	carom_context *context;
	const scene_simulation *simulation; // of the rigid bodies, or NULL
	sim_error *error;
} filling;

static bool no_memory(const filling *f) { return sim_fail(f->error, "out of memory"); }

/// What is wrong with a source, with its place in the file.
static bool say(const filling *f, const scene_soft_source *source, const char *text)
{
	return sim_fail(f->error, "%s:%d: field \"deforming.%s[%d]\": %s", f->scene->file, source->line,
		source->rigid ? "movers" : "list", source->number, text);
}

// ---- Surfaces ----

/// A mesh, which is given back, as a form.
static bool take_mesh(const filling *f, sim_mesh *mesh, sim_form_mesh *made)
{
	made->vertex_count = mesh->vertex_count;
	made->triangle_count = mesh->triangle_count;
	made->places = malloc((size_t)mesh->vertex_count * 3 * sizeof *made->places);
	made->triangles = mesh->triangles;
	mesh->triangles = NULL;
	for (int64_t i = 0; made->places && i < 3 * (int64_t)mesh->vertex_count; i++)
		made->places[i] = (double)mesh->vertices[i];
	sim_mesh_free(mesh);
	return made->places || no_memory(f);
}

/// Files of an animation, scaled and shifted as the form of the source, into *frames for the caller
/// to free.
static bool make_animation(const filling *f, const scene_soft_source *source, sim_form_mesh *made, float **frames)
{
	sim_mesh mesh;
	if (!scene_load_animation(&source->animation, &mesh, frames, f->error))
		return sim_fail_in(
			f->error, "%s:%d: field \"deforming.movers[%d].animation\": ", f->scene->file, source->line, source->number);
	const int64_t numbers = 3 * (int64_t)mesh.vertex_count * source->animation.count;
	for (int64_t i = 0; i < numbers; i++)
		(*frames)[i] = (float)((double)(*frames)[i] * source->scale[i % 3] + source->offset[i % 3]);
	for (int64_t i = 0; i < 3 * (int64_t)mesh.vertex_count; i++)
		mesh.vertices[i] = (*frames)[i];
	return take_mesh(f, &mesh, made);
}

static bool make_surface(const filling *f, const scene_soft_source *source, sim_form_mesh *made, float **frames)
{
	sim_mesh mesh;
	*made = (sim_form_mesh){ 0 };
	if (source->animation.files)
		return make_animation(f, source, made, frames);
	if (source->mesh >= 0) {
		if (!scene_build_mesh(f->scene, source->mesh, &mesh, f->error) || !take_mesh(f, &mesh, made))
			return false;
	} else if (sim_form_triangles(&source->form, f->scene->deforming.resolution) > SIM_FORM_MOST_TRIANGLES) {
		return say(f, source, "has more than 10000000 triangles at this resolution");
	} else if (!sim_make_form(&source->form, f->scene->deforming.resolution, made)) {
		return no_memory(f);
	}
	for (int64_t i = 0; i < 3 * (int64_t)made->vertex_count; i++)
		made->places[i] = made->places[i] * source->scale[i % 3] + source->offset[i % 3];
	return true;
}

bool scene_make_mover(const scene_description *scene, int32_t number, sim_form_mesh *mesh, float **forms, sim_error *error)
{
	const filling f = { .scene = scene, .error = error };
	return make_surface(&f, &scene->deforming.sources[number], mesh, forms);
}

// ---- Placing ----

static double *place_vertices(const sim_form_mesh *mesh, carom_pose pose)
{
	double *places = malloc((size_t)mesh->vertex_count * 3 * sizeof *places);
	for (int32_t i = 0; places && i < mesh->vertex_count; i++) {
		const double *p = mesh->places + 3 * (int64_t)i;
		const carom_vec3 q = carom_transform_point(pose, (carom_vec3){ p[0], p[1], p[2] });
		places[3 * (int64_t)i] = q.x;
		places[3 * (int64_t)i + 1] = q.y;
		places[3 * (int64_t)i + 2] = q.z;
	}
	return places;
}

static bool within(const double *place, const scene_soft_pin *pin)
{
	for (int k = 0; k < 3; k++) {
		if (place[k] < pin->lower[k] || place[k] > pin->upper[k])
			return false;
	}
	return true;
}

/// Bodies of all sources, copies among them: the number of the first obstacle.
static int64_t count_bodies(const scene_description *scene)
{
	int64_t count = 0;
	for (int32_t i = 0; i < scene->deforming.source_count; i++) {
		const int32_t *copies = scene->deforming.sources[i].count;
		count += (int64_t)copies[0] * copies[1] * copies[2];
	}
	return count;
}

/// The number of a body is that of its source for rigid ones, which come first and have no copies.
static int32_t holder_of(const scene_description *scene, const scene_soft_pin *pin)
{
	const scene_deforming *deforming = &scene->deforming;
	for (int32_t i = 0; i < deforming->source_count && pin->to[0]; i++) {
		if (deforming->sources[i].rigid && !strcmp(deforming->sources[i].name, pin->to))
			return i;
	}
	for (int32_t i = 0; i < deforming->obstacle_count && pin->to[0]; i++) {
		if (!strcmp(scene->rigid.bodies[deforming->obstacles[i]].name, pin->to))
			return (int32_t)count_bodies(scene) + i;
	}
	return SIM_SOFT_PINNED;
}

/// Do some of its pins let go?
static bool has_times(const scene_soft_source *source)
{
	for (int32_t k = 0; k < source->pin_count; k++) {
		if (source->pins[k].until < INFINITY)
			return true;
	}
	return false;
}

/// Do some of its pins break?
static bool has_forces(const scene_soft_source *source)
{
	for (int32_t k = 0; k < source->pin_count; k++) {
		if (source->pins[k].break_force < INFINITY)
			return true;
	}
	return false;
}

/// The pins that break of a body: all its pins are counted.
static bool note_forces(const filling *f, const scene_soft_source *source, sim_soft_body *body)
{
	double *forces = malloc((size_t)source->pin_count * sizeof *forces);
	int32_t *numbers = malloc((size_t)body->vertex_count * sizeof *numbers);
	body->break_forces = forces;
	body->pin_numbers = numbers;
	if (!forces || !numbers)
		return no_memory(f);
	body->break_count = source->pin_count;
	for (int32_t k = 0; k < source->pin_count; k++)
		forces[k] = source->pins[k].break_force;
	for (int32_t i = 0; i < body->vertex_count; i++) {
		numbers[i] = -1;
		for (int32_t k = 0; k < source->pin_count; k++) {
			if (within(body->places + 3 * (int64_t)i, &source->pins[k]))
				numbers[i] = forces[k] < INFINITY ? k : -1;
		}
	}
	return true;
}

static bool pin_vertices(const filling *f, const scene_soft_source *source, sim_soft_body *body)
{
	if (source->pin_count == 0)
		return true;
	int32_t *pins = malloc((size_t)body->vertex_count * sizeof *pins), held = 0;
	double *until = has_times(source) ? malloc((size_t)body->vertex_count * sizeof *until) : NULL;
	body->pins = pins;
	body->until = until;
	if (!pins || (!until && has_times(source)))
		return no_memory(f);
	if (has_forces(source) && !note_forces(f, source, body))
		return false;
	for (int32_t i = 0; i < body->vertex_count; i++) {
		pins[i] = SIM_SOFT_FREE;
		if (until)
			until[i] = INFINITY;
		for (int32_t k = 0; k < source->pin_count; k++) {
			if (!within(body->places + 3 * (int64_t)i, &source->pins[k]))
				continue;
			pins[i] = holder_of(f->scene, &source->pins[k]);
			if (until)
				until[i] = source->pins[k].until;
		}
		held += pins[i] != SIM_SOFT_FREE;
	}
	return held > 0 || say(f, source, "no vertex starts in the boxes of its pins");
}

/// A message about one of many copies says which: "cone[12]".
static const char *name_copy(filling *f, const scene_soft_source *source, int32_t copy)
{
	const char *name = source->name[0] ? source->name : (source->rigid ? "mover" : "cloth");
	if (source->count[0] * source->count[1] * source->count[2] == 1)
		return name;
	snprintf(f->names[f->count], sizeof *f->names, "%s[%d]", name, (int)copy);
	return f->names[f->count];
}

static bool add_copy(filling *f, int32_t number, int32_t copy, const sim_form_mesh *mesh, const carom_pose *pose)
{
	const scene_soft_source *source = &f->scene->deforming.sources[number];
	sim_soft_body *body = &f->bodies[f->count];
	*body = source->body;
	body->name = name_copy(f, source, copy);
	f->count++;
	body->vertex_count = mesh->vertex_count;
	body->triangle_count = mesh->triangle_count;
	body->triangles = mesh->triangles;
	body->motion.start = *pose;
	// A rigid body is where its motion has it at time 0.
	const carom_pose start = source->rigid ? sim_soft_pose(&body->motion, 0) : *pose;
	body->places = place_vertices(mesh, start);
	return body->places ? pin_vertices(f, source, body) : no_memory(f);
}

/// Better said than tried: copies are made before the simulation counts them.
static bool check_room(filling *f, const scene_soft_source *source, const sim_form_mesh *mesh)
{
	char text[120];
	f->vertices += (int64_t)source->count[0] * source->count[1] * source->count[2] * mesh->vertex_count;
	if (f->vertices <= SIM_SOFT_MOST_VERTICES)
		return true;
	snprintf(text, sizeof text, "all bodies up to this one have %lld vertices; at most %d are possible", (long long)f->vertices,
		SIM_SOFT_MOST_VERTICES);
	return say(f, source, text);
}

static bool add_copies(filling *f, int32_t number, const sim_form_mesh *mesh)
{
	const scene_soft_source *source = &f->scene->deforming.sources[number];
	const int32_t *count = source->count;
	uint64_t state = source->jitter_seed;
	if (!check_room(f, source, mesh))
		return false;
	for (int32_t i = 0; i < count[0] * count[1] * count[2]; i++) {
		const int32_t at[3] = { i % count[0], i / count[0] / count[2], i / count[0] % count[2] };
		carom_pose pose = source->body.motion.start;
		double by[3];
		for (int k = 0; k < 3; k++)
			by[k] = at[k] * source->spacing[k] + (source->shift > 0 ? source->shift * sim_random_unit(&state) : 0);
		pose.position = (carom_vec3){ pose.position.x + by[0], pose.position.y + by[1], pose.position.z + by[2] };
		if (source->degrees > 0)
			pose.orientation =
				sim_unit_quat(sim_multiply(sim_random_rotation(&state, source->degrees * SIM_PI / 180), pose.orientation));
		if (!add_copy(f, number, i, mesh, &pose))
			return false;
	}
	return true;
}

// ---- Obstacles ----

// Meshes around volumes are nearer to them than this part of the thickness.
static const double ENCLOSING_PART = 0.25;

static bool say_obstacle(const filling *f, const scene_body *from, const char *text)
{
	return sim_fail(f->error, "%s:%d: field \"%s\": %s", f->scene->file, from->line, from->where, text);
}

/// The middle of the bodies so far, and how far a plane reaches around it, so that they stay on it:
/// 100 m, or ten times the size of their box.
static double reach_of_planes(const filling *f, carom_vec3 *middle)
{
	double lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY }, reach = 100;
	for (int32_t i = 0; i < f->count; i++) {
		for (int64_t k = 0; k < 3 * (int64_t)f->bodies[i].vertex_count && !f->bodies[i].led; k++) {
			lower[k % 3] = fmin(lower[k % 3], f->bodies[i].places[k]);
			upper[k % 3] = fmax(upper[k % 3], f->bodies[i].places[k]);
		}
	}
	for (int k = 0; k < 3; k++)
		reach = fmax(reach, 10 * (upper[k] - lower[k]));
	*middle = (carom_vec3){ 0.5 * (lower[0] + upper[0]), 0.5 * (lower[1] + upper[1]), 0.5 * (lower[2] + upper[2]) };
	return reach;
}

/// No vertex may begin within a volume, or below a plane: nothing would lead it out. shape: of the
/// triangles from first on, at their places in the world.
static bool check_outside(
	const filling *f, const scene_body *from, const scene_shape *shape, const sim_form_mesh *mesh, int32_t first)
{
	char text[200];
	if (shape->type == CAROM_MESH)
		return true;
	for (int32_t i = 0; i < f->count; i++) {
		const sim_soft_body *body = &f->bodies[i];
		for (int32_t k = 0; k < body->vertex_count && body->kind != SIM_SOFT_RIGID && !body->led; k++) {
			if (!scene_is_behind(mesh, first, body->places + 3 * (int64_t)k))
				continue;
			snprintf(text, sizeof text, "vertex %d of the deforming body \"%.60s\" begins inside of it", (int)k, body->name);
			return say_obstacle(f, from, text);
		}
	}
	return true;
}

/// The mesh of an obstacle, at its place in the world.
static bool make_obstacle(const filling *f, const scene_body *from, sim_form_mesh *mesh)
{
	carom_vec3 middle;
	const double reach = reach_of_planes(f, &middle), tolerance = ENCLOSING_PART * f->scene->deforming.def.thickness;
	for (int32_t k = 0; k < scene_shape_count(from); k++) {
		const scene_shape *shape = scene_shape_of(f->scene, from, k);
		carom_pose pose = from->pose;
		if (from->part_count > 0) {
			const carom_pose *part = &f->scene->rigid.parts[from->first_part + k].pose;
			pose.position = carom_transform_point(from->pose, part->position);
			pose.orientation = sim_multiply(from->pose.orientation, part->orientation);
		}
		const int32_t first = mesh->triangle_count;
		if (!scene_enclose_shape(f->context, f->scene, shape, &pose, tolerance, middle, reach, mesh, f->error))
			return false;
		if (!check_outside(f, from, shape, mesh, first))
			return false;
	}
	return true;
}

/// A rigid body of the scene, where it is at the start.
static bool add_obstacle(filling *f, int32_t number, sim_form_mesh *mesh)
{
	const scene_body *from = &f->scene->rigid.bodies[number];
	sim_soft_body *body = &f->bodies[f->count];
	if (!make_obstacle(f, from, mesh))
		return false;
	*body = sim_default_soft_body();
	f->count++;
	body->name = from->name;
	body->kind = SIM_SOFT_RIGID;
	body->led = true;
	body->fixed = from->kind == CAROM_STATIC;
	if (f->simulation && f->scene->deforming.two_way && from->kind == CAROM_DYNAMIC) {
		body->kind = SIM_SOFT_SOLID;
		body->weighs = scene_simulation_mass(f->simulation, number);
	}
	body->friction = from->friction;
	body->motion.start = from->pose;
	body->vertex_count = mesh->vertex_count;
	body->triangle_count = mesh->triangle_count;
	body->triangles = mesh->triangles;
	body->places = mesh->places; // the body owns them
	mesh->places = NULL;
	return true;
}

// ---- The whole ----

/// frames: of movers that have some.
static bool fill(filling *f, sim_form_mesh *meshes, float **frames)
{
	for (int32_t i = 0; i < f->scene->deforming.source_count; i++) {
		const scene_soft_source *source = &f->scene->deforming.sources[i];
		if (!make_surface(f, source, &meshes[i], &frames[i]) || !add_copies(f, i, &meshes[i]))
			return false;
		if (frames[i])
			f->bodies[i].frames = (sim_soft_frames){ frames[i], source->animation.count, source->animation.per_second,
				source->animation.start, source->animation.loop };
	}
	for (int32_t i = 0; i < f->scene->deforming.obstacle_count; i++) {
		if (!add_obstacle(f, f->scene->deforming.obstacles[i], &meshes[f->scene->deforming.source_count + i]))
			return false;
	}
	return true;
}

sim_soft *scene_start_deforming(carom_context *context, const scene_description *scene, sim_error *error)
{
	return scene_start_deforming_among(context, scene, NULL, error);
}

sim_soft *scene_start_deforming_among(
	carom_context *context, const scene_description *scene, const scene_simulation *simulation, sim_error *error)
{
	filling f = { .scene = scene, .context = context, .simulation = simulation, .error = error };
	const int32_t mesh_count = scene->deforming.source_count + scene->deforming.obstacle_count;
	const int64_t most = count_bodies(scene) + scene->deforming.obstacle_count;
	sim_form_mesh *meshes = calloc((size_t)(uint32_t)mesh_count, sizeof *meshes);
	float **frames = calloc((size_t)scene->deforming.source_count + 1, sizeof *frames);
	f.bodies = calloc((size_t)most, sizeof *f.bodies);
	f.names = calloc((size_t)most, sizeof *f.names);
	sim_soft *soft = NULL;
	if (!meshes || !frames || !f.bodies || !f.names) {
		no_memory(&f);
	} else if (fill(&f, meshes, frames)) {
		sim_soft_def def = scene->deforming.def;
		def.bodies = f.bodies;
		def.body_count = f.count;
		soft = sim_create_soft(context, &def, error);
		if (!soft)
			sim_fail_in(error, "%s: ", scene->file);
	}
	for (int32_t i = 0; meshes && i < mesh_count; i++)
		sim_free_form_mesh(&meshes[i]);
	for (int32_t i = 0; i < f.count; i++) {
		free((void *)f.bodies[i].places);
		free((void *)f.bodies[i].pins);
		free((void *)f.bodies[i].until);
		free((void *)f.bodies[i].break_forces);
		free((void *)f.bodies[i].pin_numbers);
	}
	for (int32_t i = 0; frames && i < scene->deforming.source_count; i++)
		free(frames[i]);
	free(frames);
	free(meshes);
	free(f.names);
	free(f.bodies);
	return soft;
}
