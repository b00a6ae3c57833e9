// Movers that push rigid bodies: see mover_bodies.h. Where they are depends on the time alone, so a
// run that goes on from a checkpoint needs nothing else to do it.
#include "scene/mover_bodies.h"

#include "scene/soft_fill.h"
#include "sim/base/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct mover {
	const scene_soft_source *source;
	sim_form_mesh form; // at the start, in its own frame
	float *forms;       // of the animation; NULL: it keeps its form
	carom_body_id id;
	double *now, *next; // [3 * form.vertex_count] at both ends of the step, world frame
	double duration;    // of the step, s
} mover;

struct scene_mover_bodies {
	carom_world *world;
	mover *all;
	int32_t count;
};

int32_t scene_count_mover_bodies(const scene_description *scene)
{
	int32_t count = 0;
	for (int32_t i = 0; i < scene->deforming.source_count; i++)
		count += scene->deforming.sources[i].pushes_bodies;
	return count;
}

// ---- Where they are ----

static sim_soft_frames frames_of(const mover *m)
{
	const scene_animation *animation = &m->source->animation;
	return (sim_soft_frames){ m->forms, animation->count, animation->per_second, animation->start, animation->loop };
}

/// All vertices at a time.
static void place(const mover *m, double time, double *places)
{
	const carom_pose pose = sim_soft_pose(&m->source->body.motion, time);
	const sim_soft_frames frames = frames_of(m);
	for (int32_t i = 0; i < m->form.vertex_count; i++) {
		double local[3];
		memcpy(local, m->form.places + 3 * (int64_t)i, sizeof local);
		if (m->forms)
			sim_soft_frame_place(&frames, m->form.vertex_count, i, time, local);
		const carom_vec3 p = carom_transform_point(pose, (carom_vec3){ local[0], local[1], local[2] });
		places[3 * (int64_t)i] = p.x;
		places[3 * (int64_t)i + 1] = p.y;
		places[3 * (int64_t)i + 2] = p.z;
	}
}

static void aim(mover *m, double from, double to)
{
	place(m, from, m->now);
	place(m, to, m->next);
	m->duration = to - from;
}

// ---- Making ----

static bool say(const scene_description *scene, const mover *m, const char *text, sim_error *error)
{
	return sim_fail(error, "%s:%d: field \"deforming.movers[%d]\": %s", scene->file, m->source->line, m->source->number, text);
}

static bool add_body(scene_mover_bodies *movers, const scene_description *scene, mover *m, int32_t number, sim_error *error)
{
	carom_context *context = carom_world_context(movers->world);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ m->now, 0, CAROM_FLOAT64 };
	def.vertex_count = m->form.vertex_count;
	def.triangles = m->form.triangles;
	def.triangle_count = m->form.triangle_count;
	def.grid_resolution = 0;
	carom_mesh *mesh;
	if (carom_create_mesh(context, &def, NULL, &mesh) != CAROM_SUCCESS)
		return say(scene, m, carom_error_text(context), error);
	bool added = carom_mesh_get_report(mesh)->closed ||
		say(scene, m, "is not closed: with \"pushes_bodies\" its surface must have an inside", error);
	carom_body_def body = carom_default_body_def();
	body.kind = CAROM_DEFORMABLE;
	body.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
	body.user_data = (uint64_t)number;
	if (added && carom_world_add_body(movers->world, &body, &m->id) != CAROM_SUCCESS)
		added = say(scene, m, carom_error_text(context), error);
	carom_release_mesh(mesh);
	return added;
}

static bool make_mover(
	scene_mover_bodies *movers, const scene_description *scene, int32_t source, int32_t number, sim_error *error)
{
	mover *m = &movers->all[movers->count++];
	m->source = &scene->deforming.sources[source];
	if (!scene_make_mover(scene, source, &m->form, &m->forms, error))
		return false;
	m->now = malloc((size_t)m->form.vertex_count * 3 * sizeof *m->now);
	m->next = malloc((size_t)m->form.vertex_count * 3 * sizeof *m->next);
	if (!m->now || !m->next)
		return sim_fail(error, "%s: out of memory", scene->file);
	aim(m, 0, 1);
	return add_body(movers, scene, m, number, error);
}

scene_mover_bodies *scene_add_mover_bodies(
	carom_world *world, const scene_description *scene, int32_t first_number, sim_error *error)
{
	scene_mover_bodies *movers = calloc(1, sizeof *movers);
	if (movers) {
		movers->world = world;
		movers->all = calloc((size_t)scene_count_mover_bodies(scene) + 1, sizeof *movers->all);
	}
	if (!movers || !movers->all) {
		free(movers);
		sim_fail(error, "%s: out of memory", scene->file);
		return NULL;
	}
	for (int32_t i = 0; i < scene->deforming.source_count; i++) {
		if (!scene->deforming.sources[i].pushes_bodies || make_mover(movers, scene, i, first_number + movers->count, error))
			continue;
		scene_free_mover_bodies(movers);
		return NULL;
	}
	return movers;
}

void scene_free_mover_bodies(scene_mover_bodies *movers)
{
	if (!movers)
		return;
	for (int32_t i = 0; i < movers->count; i++) {
		sim_free_form_mesh(&movers->all[i].form);
		free(movers->all[i].forms);
		free(movers->all[i].now);
		free(movers->all[i].next);
	}
	free(movers->all);
	free(movers);
}

double scene_mover_friction(const scene_mover_bodies *movers, int32_t number)
{
	return movers->all[number].source->body.friction;
}

// ---- Stepping ----

void scene_aim_movers(scene_mover_bodies *movers, double from, double to)
{
	for (int32_t i = 0; i < movers->count; i++)
		aim(&movers->all[i], from, to);
}

carom_result scene_place_movers(scene_mover_bodies *movers)
{
	carom_result result = CAROM_SUCCESS;
	for (int32_t i = 0; i < movers->count && result == CAROM_SUCCESS; i++) {
		const carom_strided places = { movers->all[i].next, 0, CAROM_FLOAT64 };
		result = carom_world_set_vertices(movers->world, movers->all[i].id, &places, NULL);
	}
	return result;
}

static carom_vec3 vertex_at(const double *places, int32_t i)
{
	const double *p = places + 3 * (int64_t)i;
	return (carom_vec3){ p[0], p[1], p[2] };
}

static carom_vec3 vertex_velocity(const mover *m, int32_t i)
{
	return sim_scale(sim_subtract(vertex_at(m->next, i), vertex_at(m->now, i)), 1 / m->duration);
}

double scene_mover_speed(const scene_mover_bodies *movers, int32_t number)
{
	const mover *m = &movers->all[number];
	double fastest = 0;
	for (int32_t i = 0; i < m->form.vertex_count; i++)
		fastest = fmax(fastest, sim_length(vertex_velocity(m, i)));
	return fastest;
}

/// Weights of the corners of a triangle for the point of its plane nearest to a point, each 0 to 1:
/// a contact may lie a little beyond the rim.
static void weigh_corners(const carom_vec3 p[3], carom_vec3 point, double weights[3])
{
	const carom_vec3 normal = sim_cross(sim_subtract(p[1], p[0]), sim_subtract(p[2], p[0]));
	double sum = 0;
	for (int k = 0; k < 3; k++) {
		const carom_vec3 next = sim_subtract(p[(k + 1) % 3], point), last = sim_subtract(p[(k + 2) % 3], point);
		weights[k] = fmax(sim_dot(sim_cross(next, last), normal), 0);
		sum += weights[k];
	}
	for (int k = 0; k < 3; k++)
		weights[k] = sum > 0 ? weights[k] / sum : 1.0 / 3;
}

static carom_vec3 triangle_velocity(const mover *m, int32_t triangle, carom_vec3 point)
{
	const int32_t *corners = m->form.triangles + 3 * (int64_t)triangle;
	const carom_vec3 p[3] = { vertex_at(m->now, corners[0]), vertex_at(m->now, corners[1]), vertex_at(m->now, corners[2]) };
	double weights[3];
	carom_vec3 velocity = { 0, 0, 0 };
	weigh_corners(p, point, weights);
	for (int k = 0; k < 3; k++)
		velocity = sim_add(velocity, sim_scale(vertex_velocity(m, corners[k]), weights[k]));
	return velocity;
}

carom_vec3 scene_mover_velocity(const scene_mover_bodies *movers, int32_t number, const carom_contact *contact, bool is_a)
{
	const mover *m = &movers->all[number];
	const carom_vec3 point = { contact->point[0], contact->point[1], contact->point[2] };
	const int32_t feature = is_a ? contact->feature_a : contact->feature_b;
	if (contact->kind == (is_a ? CAROM_VERTEX_A : CAROM_VERTEX_B))
		return vertex_velocity(m, feature);
	if (contact->kind == (is_a ? CAROM_EDGE_A : CAROM_EDGE_B))
		return triangle_velocity(m, feature / 3, point);
	return triangle_velocity(m, feature, point);
}
