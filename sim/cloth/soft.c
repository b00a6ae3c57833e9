// The cloth simulation: making it, and its steps. See soft.h.
#include "sim/base/state_hash.h"
#include "sim/base/sim_clock.h"
#include "sim/cloth/soft_apart.h"
#include "sim/cloth/soft_levels.h"
#include "sim/cloth/soft_regions.h"
#include "sim/cloth/soft_tear.h"
#include "sim/cloth/soft_topology.h"

#include "carom/carom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Where surfaces cross already, a part of the step is not halved so often before they cross more.
enum { ALIGNMENT = 64, MOST_HALVINGS = 8, CROSSED_HALVINGS = 2, MIN_VERTICES = 2048 };

// Impacts of the last resort: nearer than this, in metres, counts as touching.
static const double SURE_TOLERANCE = 1e-9;
// Impacts that are answered before: nearer than this part of the thickness.
static const double NEAR_PART = 0.5;
// An edge that is this many times as long as at the start is no cloth any more.
static const double MOST_STRETCH = 1000;
// An edge that is this many times as long as it may be lets pass what draws it (lead_apart).
static const double MOST_DRAWN = 2;
// Impacts of the motion that is foreseen become constraints. What rests upon something lies at 0.6
// of the thickness (soft_contact.c), so it has its contacts in every step. Foreseen at NEAR_PART,
// bodies hopped: they were free for a step or two, then stopped in one substep, in which friction
// could not give what it should.
static const double REST_PART = 0.7;

// ---- Memory ----

void *soft_alloc(const sim_soft *s, size_t size)
{
	return s->allocator.allocate(size ? size : 1, ALIGNMENT, s->allocator.user);
}

void soft_free(const sim_soft *s, void *pointer, size_t size)
{
	if (pointer)
		s->allocator.release(pointer, size ? size : 1, ALIGNMENT, s->allocator.user);
}

soft_contact *soft_add_contact(const sim_soft *s, soft_contacts *contacts)
{
	if (contacts->count == contacts->capacity) {
		const int64_t capacity = contacts->capacity ? 2 * contacts->capacity : 1024;
		soft_contact *larger = soft_alloc(s, (size_t)capacity * sizeof *larger);
		if (!larger)
			return NULL;
		if (contacts->count > 0)
			memcpy(larger, contacts->data, (size_t)contacts->count * sizeof *larger);
		soft_free(s, contacts->data, (size_t)contacts->capacity * sizeof *larger);
		contacts->data = larger;
		contacts->capacity = capacity;
	}
	return &contacts->data[contacts->count++];
}

// ---- Defaults and checks ----

sim_soft_def sim_default_soft_def(void)
{
	return (sim_soft_def){
		.gravity = { 0, -9.81, 0 },
		.time_step = 1.0 / 120,
		.substeps = 16,
		.thickness = 0.002,
		.damping = 0.1,
		.solves = 2,
		.rounds = 12,
	};
}

sim_soft_body sim_default_soft_body(void)
{
	return (sim_soft_body){
		.name = "",
		.kind = SIM_SOFT_CLOTH,
		.motion = { .start = { .orientation = { 0, 0, 0, 1 } } },
		.friction = 0.3,
		.density = 0.2,
		.stiffness = 2000,
		.stretch_limit = 0.03,
		.bending = 1e-5,
		.bulk = 2e4,
		.shear = 4e3,
	};
}

typedef struct checked_number {
	const char *name;
	double value, least, most;
} checked_number;

static bool check_numbers(const char *where, const checked_number *numbers, int count, sim_error *error)
{
	for (int i = 0; i < count; i++) {
		if (!(numbers[i].value >= numbers[i].least && numbers[i].value <= numbers[i].most)) {
			return sim_fail(error, "%s%s is %.9g; it must be from %.9g to %.9g", where, numbers[i].name, numbers[i].value,
				numbers[i].least, numbers[i].most);
		}
	}
	return true;
}

static bool check_def(const sim_soft_def *def, sim_error *error)
{
	const checked_number numbers[] = {
		{ "body_count", def->body_count, 1, 1000000 },
		{ "time_step", def->time_step, 1e-9, 1 },
		{ "substeps", def->substeps, 1, 10000 },
		{ "thickness", def->thickness, 1e-6, 1 },
		{ "damping", def->damping, 0, 1e6 },
		{ "solves", def->solves, 1, 100 },
		{ "rounds", def->rounds, 0, 1000 },
		{ "gravity[0]", def->gravity[0], -1e6, 1e6 },
		{ "gravity[1]", def->gravity[1], -1e6, 1e6 },
		{ "gravity[2]", def->gravity[2], -1e6, 1e6 },
	};
	if (!def->bodies) {
		return sim_fail(error, "bodies is NULL");
	}
	if (soft_wind_fault(&def->wind)) {
		return sim_fail(error, "%s is out of range", soft_wind_fault(&def->wind));
	}
	if (!def->allocator.allocate != !def->allocator.release) {
		return sim_fail(error, "allocator: one of its functions is missing");
	}
	return check_numbers("", numbers, (int)(sizeof numbers / sizeof *numbers), error);
}

static bool check_mesh(const sim_soft_body *body, const char *where, sim_error *error)
{
	if (!body->places || !body->triangles) {
		return sim_fail(error, "%s%s is NULL", where, body->places ? "triangles" : "places");
	}
	for (int64_t i = 0; i < 3 * (int64_t)body->vertex_count; i++) {
		if (!(fabs(body->places[i]) <= CAROM_MAX_COORDINATE)) {
			return sim_fail(error, "%splaces: vertex %d is out of range", where, (int)(i / 3));
		}
	}
	for (int64_t i = 0; i < 3 * (int64_t)body->triangle_count; i++) {
		if (body->triangles[i] < 0 || body->triangles[i] >= body->vertex_count) {
			return sim_fail(error, "%striangles: triangle %d names vertex %d of %d", where, (int)(i / 3),
				(int)body->triangles[i], (int)body->vertex_count);
		}
	}
	return true;
}

static bool check_breaking(const sim_soft_body *body, const char *where, sim_error *error)
{
	if (body->break_count == 0)
		return true;
	if (body->kind != SIM_SOFT_CLOTH || body->stretch_limit > 0)
		return sim_fail(error, "%sbreak_forces: pins break of cloth alone whose stretch_limit is 0", where);
	if (body->break_count < 0 || body->break_count > body->vertex_count || !body->break_forces || !body->pin_numbers ||
		!body->pins)
		return sim_fail(error, "%sbreak_forces: break_count is %d, or pins or an array of theirs is missing", where,
			(int)body->break_count);
	for (int32_t i = 0; i < body->break_count; i++) {
		if (!(body->break_forces[i] > 0))
			return sim_fail(error, "%sbreak_forces[%d] is %.9g; it must be above 0", where, (int)i, body->break_forces[i]);
	}
	for (int32_t i = 0; i < body->vertex_count; i++) {
		if (body->pin_numbers[i] < -1 || body->pin_numbers[i] >= body->break_count)
			return sim_fail(error, "%spin_numbers[%d] is %d; there are %d", where, (int)i, (int)body->pin_numbers[i],
				(int)body->break_count);
	}
	return true;
}

static bool check_pins(const sim_soft_def *def, const sim_soft_body *body, const char *where, sim_error *error)
{
	for (int32_t i = 0; body->pins && i < body->vertex_count; i++) {
		const int32_t pin = body->pins[i];
		if (pin == SIM_SOFT_FREE || pin == SIM_SOFT_PINNED ||
			(pin >= 0 && pin < def->body_count && def->bodies[pin].kind == SIM_SOFT_RIGID))
			continue;
		return sim_fail(error, "%spins: vertex %d is pinned to %d, which is no rigid body", where, (int)i, (int)pin);
	}
	for (int32_t i = 0; body->pins && body->until && i < body->vertex_count; i++) {
		if (!(body->until[i] >= 0))
			return sim_fail(error, "%suntil: that of vertex %d is %.9g; it must be 0 or more", where, (int)i, body->until[i]);
	}
	return check_breaking(body, where, error);
}

static bool check_body(const sim_soft_def *def, int32_t number, sim_error *error)
{
	const sim_soft_body *body = &def->bodies[number];
	const bool rigid = body->kind == SIM_SOFT_RIGID;
	char where[100];
	if (!body->name) {
		return sim_fail(error, "body %d: name is NULL", (int)number);
	}
	snprintf(where, sizeof where, "body %d (\"%.60s\"): ", (int)number, body->name);
	const checked_number numbers[] = {
		{ "vertex_count", body->vertex_count, 3, SIM_SOFT_MOST_VERTICES },
		{ "triangle_count", body->triangle_count, 1, SIM_SOFT_MOST_VERTICES },
		{ "friction", body->friction, 0, 1e6 },
		{ "mass",
			body->kind != SIM_SOFT_SOLID ? 1
				: body->led              ? body->weighs.mass
										 : body->mass,
			1e-12, 1e12 },
		{ "density", rigid ? 1 : body->density, 1e-6, 1e9 },
		{ "stiffness", rigid ? 1 : body->stiffness, 1e-9, 1e12 },
		{ "stretch_limit", rigid ? 0 : body->stretch_limit, 0, 1e6 },
		{ "tear_stretch", body->tear_stretch, 0, body->kind == SIM_SOFT_CLOTH && body->stretch_limit == 0 ? 1e6 : 0 },
		{ "bending", rigid ? 1 : body->bending, 0, 1e12 },
		{ "bulk", body->kind == SIM_SOFT_DEFORMABLE ? body->bulk : 1, 1e-9, 1e15 },
		{ "shear", body->kind == SIM_SOFT_DEFORMABLE ? body->shear : 0, 0, 1e15 },
		{ "velocity[0]", body->velocity[0], -1e6, 1e6 },
		{ "velocity[1]", body->velocity[1], -1e6, 1e6 },
		{ "velocity[2]", body->velocity[2], -1e6, 1e6 },
	};
	const char *fault = rigid ? sim_soft_motion_fault(&body->motion) : NULL;
	fault = fault ? fault : soft_frames_fault(body);
	if (fault) {
		return sim_fail(error, "%s%s is out of range", where, fault);
	}
	return check_numbers(where, numbers, (int)(sizeof numbers / sizeof *numbers), error) && check_mesh(body, where, error) &&
		check_pins(def, body, where, error);
}

// ---- Making ----

/// A place for an array behind those that were laid out before, on a cache line of its own; NULL
/// where there is no memory yet.
static void *place_array(char *memory, size_t *used, size_t count, size_t size)
{
	void *array = memory ? memory + *used : NULL;
	*used += (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	return array;
}

/// Lay out all arrays but those of impacts from memory on; NULL: only count. Returns their bytes.
static size_t lay_out_arrays(sim_soft *s, char *memory)
{
	const size_t n = (size_t)s->vertex_count, t = (size_t)s->triangle_count, parts = (size_t)s->part_count;
	double **const vectors[] = { &s->local, &s->rest, &s->committed, &s->committed_velocity, &s->begin, &s->begin_velocity,
		&s->place, &s->velocity, &s->before, &s->solved, &s->carried };
	int32_t **const numbers[] = { &s->part_of, &s->carrier, &s->anchor, &s->zone, &s->zone_carrier, &s->zone_holder,
		&s->zone_anchor };
	size_t used = 0;
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
		*vectors[i] = place_array(memory, &used, 3 * n, sizeof(double));
	}
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		*numbers[i] = place_array(memory, &used, n, sizeof(int32_t));
	}
	s->parts = place_array(memory, &used, parts, sizeof *s->parts);
	s->keys = place_array(memory, &used, (size_t)s->key_count, sizeof *s->keys);
	s->frame_places = place_array(memory, &used, (size_t)s->frame_numbers, sizeof *s->frame_places);
	s->body_vertices = place_array(memory, &used, parts + 1, sizeof *s->body_vertices);
	s->body_triangles = place_array(memory, &used, parts + 1, sizeof *s->body_triangles);
	s->triangles = place_array(memory, &used, 3 * t, sizeof *s->triangles);
	s->around_first = place_array(memory, &used, n + 1, sizeof *s->around_first);
	s->around = place_array(memory, &used, 3 * t, sizeof *s->around);
	s->inverse_mass = place_array(memory, &used, n, sizeof *s->inverse_mass);
	const size_t torn = s->tears ? n : 0;
	s->torn_from = place_array(memory, &used, torn, sizeof *s->torn_from);
	s->shown_places = place_array(memory, &used, 3 * torn, sizeof *s->shown_places);
	s->shown_velocities = place_array(memory, &used, 3 * torn, sizeof *s->shown_velocities);
	s->shown_triangles = place_array(memory, &used, s->tears ? 3 * t : 0, sizeof *s->shown_triangles);
	s->shown_vertices = place_array(memory, &used, s->tears ? parts + 1 : 0, sizeof *s->shown_vertices);
	s->bodies = place_array(memory, &used, parts, sizeof *s->bodies);
	s->edges = place_array(memory, &used, 3 * t, sizeof *s->edges);
	s->hinges = place_array(memory, &used, 3 * t, sizeof *s->hinges);
	const size_t pins = s->lets_go ? n : 0;
	s->until = place_array(memory, &used, pins, sizeof *s->until);
	s->holder = place_array(memory, &used, pins, sizeof *s->holder);
	s->let_go_mass = place_array(memory, &used, pins, sizeof *s->let_go_mass);
	const size_t breaks = (size_t)s->break_count, pulls = breaks > 0 ? 3 * t : 0;
	s->pin_of = place_array(memory, &used, breaks > 0 ? n : 0, sizeof *s->pin_of);
	s->break_force = place_array(memory, &used, breaks, sizeof *s->break_force);
	s->broken_at = place_array(memory, &used, breaks, sizeof *s->broken_at);
	s->pull_now = place_array(memory, &used, 3 * breaks, sizeof *s->pull_now);
	s->pull = place_array(memory, &used, 3 * breaks, sizeof *s->pull);
	s->pull_edges = place_array(memory, &used, pulls, sizeof *s->pull_edges);
	s->pull_hinges = place_array(memory, &used, pulls, sizeof *s->pull_hinges);
	s->blows = place_array(memory, &used, s->def.wind.density > 0 ? 3 * t : 0, sizeof *s->blows);
	s->edge_held = place_array(memory, &used, 3 * t, sizeof *s->edge_held);
	s->zone_sum = place_array(memory, &used, 4 * n, sizeof *s->zone_sum);
	s->tallies = place_array(memory, &used, (size_t)s->worker_count, sizeof *s->tallies);
	s->color_masks = place_array(memory, &used, n, sizeof *s->color_masks);
	return used;
}

/// Take the memory of these arrays, zeroed. Returns false when it is short.
static bool allocate_arrays(sim_soft *s)
{
	s->memory_size = lay_out_arrays(s, NULL);
	s->memory = soft_alloc(s, s->memory_size);
	if (!s->memory) {
		return false;
	}
	memset(s->memory, 0, s->memory_size);
	lay_out_arrays(s, s->memory);
	return true;
}

static void copy_mesh(sim_soft *s, soft_part *part, const sim_soft_body *body)
{
	const int32_t number = (int32_t)(part - s->parts);
	memcpy(s->place + 3 * (int64_t)part->first_vertex, body->places, (size_t)part->vertex_count * 3 * sizeof(double));
	for (int64_t i = 0; i < 3 * (int64_t)part->triangle_count; i++)
		s->triangles[3 * (int64_t)part->first_triangle + i] = body->triangles[i] + part->first_vertex;
	for (int32_t i = 0; i < part->vertex_count; i++) {
		const int32_t v = part->first_vertex + i;
		s->part_of[v] = number;
		s->carrier[v] = part->kind == SIM_SOFT_RIGID ? number : (body->pins ? body->pins[i] : SIM_SOFT_FREE);
		for (int k = 0; k < 3; k++)
			s->velocity[3 * (int64_t)v + k] = s->carrier[v] == SIM_SOFT_FREE ? body->velocity[k] : 0;
	}
}

/// A world holds bodies that rest as floats; so do we, to mean the same places.
static void round_places(double *places, int32_t count)
{
	for (int64_t i = 0; i < 3 * (int64_t)count; i++)
		places[i] = (double)(float)places[i];
}

/// The keys of a motion become our own, from number first on. Returns the number behind them.
static int64_t take_keys(const sim_soft *s, sim_keys *keys, int64_t first)
{
	if (keys->count > 0)
		memcpy(s->keys + first, keys->list, (size_t)keys->count * sizeof *s->keys);
	keys->list = s->keys + first;
	return first + keys->count;
}

static void fill_parts(sim_soft *s, const sim_soft_def *def)
{
	int32_t vertex = 0, triangle = 0, pin = 0;
	int64_t key = 0, frame = 0;
	for (int32_t i = 0; i < s->part_count; i++) {
		const sim_soft_body *body = &def->bodies[i];
		soft_part *part = &s->parts[i];
		*part = (soft_part){ .kind = body->kind,
			.first_vertex = vertex,
			.first_triangle = triangle,
			.vertex_count = body->vertex_count,
			.vertex_room = body->vertex_count + soft_spare_vertices(body),
			.triangle_count = body->triangle_count,
			.friction = body->friction,
			.stretch_limit = body->kind == SIM_SOFT_RIGID ? 0 : body->stretch_limit,
			.tear_stretch = body->tear_stretch,
			.motion = body->motion,
			.frames = body->frames,
			.led = (body->kind == SIM_SOFT_RIGID || body->kind == SIM_SOFT_SOLID) && body->led };
		key = take_keys(s, &part->motion.keys, key);
		frame = soft_take_frames(s, part, frame);
		part->rests =
			body->kind == SIM_SOFT_RIGID && (body->led ? body->fixed : sim_soft_rests(&body->motion) && body->frames.count < 2);
		part->from = part->to = part->way.begin = part->way.end = sim_soft_pose(&body->motion, 0);
		snprintf(part->name, sizeof part->name, "%s", body->name);
		s->solid_count += body->kind == SIM_SOFT_SOLID;
		s->coupled |= body->kind == SIM_SOFT_SOLID && body->led;
		s->body_vertices[i] = vertex;
		s->body_triangles[i] = triangle;
		copy_mesh(s, part, body);
		soft_note_pins(s, body, vertex, pin);
		soft_lay_up_spares(s, part);
		s->bodies[i] = *body;
		s->bodies[i].places = NULL; // the caller's
		s->bodies[i].triangles = s->bodies[i].pins = s->bodies[i].pin_numbers = NULL;
		s->bodies[i].until = s->bodies[i].break_forces = NULL;
		pin += body->break_count;
		if (part->rests)
			round_places(s->place + 3 * (int64_t)vertex, part->vertex_count);
		vertex += part->vertex_room;
		triangle += body->triangle_count;
	}
	s->body_vertices[s->part_count] = vertex;
	s->body_triangles[s->part_count] = triangle;
}

/// Where carried vertices are in the frame of the body that carries them.
static void fill_local(sim_soft *s)
{
	for (int32_t i = 0; i < s->vertex_count; i++) {
		const double *p = s->place + 3 * (int64_t)i;
		if (s->carrier[i] < 0)
			continue;
		const carom_vec3 q = carom_inverse_transform_point(s->parts[s->carrier[i]].from, (carom_vec3){ p[0], p[1], p[2] });
		s->local[3 * (int64_t)i] = q.x;
		s->local[3 * (int64_t)i + 1] = q.y;
		s->local[3 * (int64_t)i + 2] = q.z;
	}
}

static double volume_of(const sim_soft *s, const soft_part *part, const double *places)
{
	double six = 0;
	const double *o = places + 3 * (int64_t)part->first_vertex;
	for (int32_t t = part->first_triangle; t < part->first_triangle + part->triangle_count; t++) {
		double p[3][3];
		for (int i = 0; i < 3; i++) {
			for (int k = 0; k < 3; k++)
				p[i][k] = places[3 * (int64_t)s->triangles[3 * (int64_t)t + i] + k] - o[k];
		}
		six += p[0][0] * (p[1][1] * p[2][2] - p[1][2] * p[2][1]) + p[0][1] * (p[1][2] * p[2][0] - p[1][0] * p[2][2]) +
			p[0][2] * (p[1][0] * p[2][1] - p[1][1] * p[2][0]);
	}
	return six / 6;
}

/// Masses, edges, hinges and volume of a part that is not rigid.
static bool fill_constraints(sim_soft *s, soft_part *part, const sim_soft_body *body, sim_error *error)
{
	bool closed;
	for (int32_t t = part->first_triangle; t < part->first_triangle + part->triangle_count; t++) {
		if (soft_triangle_is_line(s, t)) {
			return sim_fail(error, "body \"%.60s\": triangle %d has no area", body->name, (int)(t - part->first_triangle));
		}
	}
	soft_weigh_part(s, part, body->density, s->inverse_mass); // the masses, so far
	for (int32_t i = part->first_vertex; i < part->first_vertex + part->vertex_count; i++) {
		if (s->inverse_mass[i] == 0) {
			return sim_fail(
				error, "body \"%.60s\": vertex %d belongs to no triangle", body->name, (int)(i - part->first_vertex));
		}
		if (part->kind != SIM_SOFT_SOLID)
			s->inverse_mass[i] = soft_is_held_for_good(s, i) ? 0 : 1 / s->inverse_mass[i];
	}
	if (part->kind == SIM_SOFT_SOLID)
		return soft_make_solid(s, part, body, error);
	if (!soft_connect_part(s, part, body, &closed)) {
		return sim_fail(error, "out of memory");
	}
	if (part->kind != SIM_SOFT_DEFORMABLE)
		return true;
	part->volume = volume_of(s, part, s->place);
	part->compliance = part->volume / body->bulk;
	part->shear = body->shear;
	if (closed && part->volume > 0)
		return true;
	return sim_fail(
		error, "body \"%.60s\": is %s, so it has no volume to keep", body->name, closed ? "turned inside out" : "not closed");
}

static bool fill(sim_soft *s, const sim_soft_def *def, sim_error *error)
{
	fill_parts(s, def);
	fill_local(s);
	soft_fill_anchors(s);
	soft_list_around(s);
	for (int32_t i = 0; i < s->part_count; i++) {
		if (s->parts[i].kind != SIM_SOFT_RIGID && !fill_constraints(s, &s->parts[i], &def->bodies[i], error))
			return false;
	}
	const bool colored = soft_color_shapes(s);
	soft_hold_pins(s);
	soft_list_pulls(s);
	s->levels = colored ? soft_create_levels(s) : NULL;
	if (!s->levels) {
		return sim_fail(error, "out of memory");
	}
	s->regions = soft_create_regions(s, error);
	if (!s->regions)
		return false;
	const size_t bytes = (size_t)s->vertex_count * 3 * sizeof *s->place;
	memcpy(s->rest, s->place, bytes);
	memcpy(s->committed, s->place, bytes);
	memcpy(s->committed_velocity, s->velocity, bytes);
	s->rest_detector = soft_create_detector(s, REST_PART * s->def.thickness, 1e-3 * s->def.thickness, error);
	s->near_detector =
		s->rest_detector ? soft_create_detector(s, NEAR_PART * s->def.thickness, 1e-3 * s->def.thickness, error) : NULL;
	s->sure_detector = s->near_detector ? soft_create_detector(s, 0, SURE_TOLERANCE, error) : NULL;
	return s->sure_detector != NULL;
}

// ---- Crossings ----

/// The pairs of triangles that cross, [2 * *count], to be freed by the caller. False when memory is
/// short.
static bool list_crossings(const sim_soft *s, int32_t (**pairs)[2], int32_t *count)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ s->committed, 0, CAROM_FLOAT64 };
	def.vertex_count = s->vertex_count;
	def.triangles = s->triangles;
	def.triangle_count = s->triangle_count;
	def.grid_resolution = 0;
	carom_mesh *mesh;
	*pairs = NULL;
	if (carom_create_mesh(s->context, &def, NULL, &mesh) != CAROM_SUCCESS)
		return false;
	bool done = carom_mesh_self_intersections(mesh, 0, NULL, count) == CAROM_SUCCESS;
	if (done && *count > 0) {
		*pairs = soft_alloc(s, (size_t)*count * sizeof **pairs);
		done = *pairs && carom_mesh_self_intersections(mesh, *count, *pairs, count) == CAROM_SUCCESS;
	}
	carom_release_mesh(mesh);
	return done;
}

static int32_t part_of_triangle(const sim_soft *s, int32_t triangle) { return s->part_of[s->triangles[3 * (int64_t)triangle]]; }

/// Of pairs that cross, those that are not of two told bodies; *first is the first of them. stiff:
/// those alone of two bodies that keep their form.
static int32_t count_soft_pairs(const sim_soft *s, int32_t (*pairs)[2], int32_t count, bool stiff, int32_t *first)
{
	int32_t found = 0;
	for (int32_t i = 0; i < count; i++) {
		const soft_part *a = &s->parts[part_of_triangle(s, pairs[i][0])];
		const soft_part *b = &s->parts[part_of_triangle(s, pairs[i][1])];
		if ((soft_is_told(a) && soft_is_told(b)) || (stiff && !(soft_keeps_form(a) && soft_keeps_form(b))))
			continue;
		if (found++ == 0)
			*first = i;
	}
	return found;
}

bool sim_soft_count_crossings(const sim_soft *s, int32_t *count)
{
	int32_t(*pairs)[2], all = 0, first;
	const bool done = list_crossings(s, &pairs, &all);
	*count = done && all > 0 ? count_soft_pairs(s, pairs, all, false, &first) : 0;
	soft_free(s, pairs, (size_t)all * sizeof *pairs);
	return done;
}

/// Bodies may cross where at least one of two can be led away. Of two that keep their form the
/// search tells nothing.
static bool check_crossed_start(sim_soft *s, sim_error *error)
{
	int32_t stuck[2] = { -1, -1 };
	if (!soft_count_crossings(s, &s->crossings, stuck, error))
		return false;
	if (s->crossings == 0)
		soft_destroy_apart(s);
	if (stuck[0] < 0)
		return true;
	return sim_fail(error, "body \"%s\" and body \"%s\" cross at the start where neither can move", s->parts[stuck[0]].name,
		s->parts[stuck[1]].name);
}

static bool check_start(sim_soft *s, sim_error *error)
{
	if (s->def.lead_apart && !check_crossed_start(s, error))
		return false;
	if (s->def.lead_apart && s->solid_count == 0)
		return true;
	int32_t(*pairs)[2], count = 0, first = 0;
	bool done = list_crossings(s, &pairs, &count);
	if (!done) {
		sim_fail(error, "%s", carom_error_text(s->context));
	} else if (count > 0 && count_soft_pairs(s, pairs, count, s->def.lead_apart, &first) > 0) {
		const int32_t a = pairs[first][0], b = pairs[first][1];
		const soft_part *p = &s->parts[part_of_triangle(s, a)], *q = &s->parts[part_of_triangle(s, b)];
		sim_fail(error, "triangle %d of body \"%s\" and triangle %d of body \"%s\" cross at the start",
			(int)(a - p->first_triangle), p->name, (int)(b - q->first_triangle), q->name);
		done = false;
	}
	soft_free(s, pairs, (size_t)count * sizeof *pairs);
	return done;
}

// ---- Life ----

/// Of surfaces as they are at the start, with what holds them together.
static uint64_t hash_shape(const sim_soft *s)
{
	uint64_t shape = sim_hash_doubles(SIM_HASH_START, s->local, 3 * (int64_t)s->vertex_count);
	for (int64_t i = 0; i < 3 * (int64_t)s->triangle_count; i++)
		shape = sim_hash_word(shape, (uint64_t)s->triangles[i]);
	for (int64_t i = 0; i < s->edge_count; i++)
		shape = sim_hash_doubles(shape, &s->edges[i].length, 1);
	return soft_hash_frames(s, shape);
}

static bool count_all(sim_soft *s, const sim_soft_def *def, sim_error *error)
{
	int64_t vertices = 0, triangles = 0;
	for (int32_t i = 0; i < def->body_count; i++) {
		if (!check_body(def, i, error))
			return false;
		vertices += (int64_t)def->bodies[i].vertex_count + soft_spare_vertices(&def->bodies[i]);
		s->tears |= def->bodies[i].tear_stretch > 0;
		triangles += def->bodies[i].triangle_count;
		s->lets_go |= def->bodies[i].pins && (def->bodies[i].until || def->bodies[i].break_count > 0);
		s->break_count += def->bodies[i].break_count;
		s->key_count += def->bodies[i].motion.keys.count;
		s->frame_numbers += 3 * (int64_t)def->bodies[i].frames.count * def->bodies[i].vertex_count;
	}
	if (vertices > SIM_SOFT_MOST_VERTICES || triangles > SIM_SOFT_MOST_VERTICES) {
		return sim_fail(error, "all bodies together have %lld vertices and %lld triangles; at most %d are possible",
			(long long)vertices, (long long)triangles, SIM_SOFT_MOST_VERTICES);
	}
	s->vertex_count = (int32_t)vertices;
	s->triangle_count = (int32_t)triangles;
	s->part_count = def->body_count;
	return true;
}

sim_soft *sim_create_soft(carom_context *context, const sim_soft_def *def, sim_error *error)
{
	sim_soft start = {
		.context = context, .allocator = def->allocator, .def = *def, .worker_count = carom_context_threads(context)
	};
	if (!start.allocator.allocate)
		start.allocator = carom_default_allocator();
	start.def.bodies = NULL;
	if (!check_def(def, error) || !count_all(&start, def, error))
		return NULL;
	sim_soft *s = soft_alloc(&start, sizeof *s);
	if (s)
		*s = start;
	if (!s || !allocate_arrays(s)) {
		sim_fail(error, "out of memory");
		sim_destroy_soft(s);
		return NULL;
	}
	if (fill(s, def, error) && check_start(s, error)) {
		s->shape = hash_shape(s);
		soft_show(s);
		return s;
	}
	sim_destroy_soft(s);
	return NULL;
}

void sim_destroy_soft(sim_soft *s)
{
	if (!s) {
		return;
	}
	soft_destroy_detector(s->rest_detector);
	soft_destroy_detector(s->near_detector);
	soft_destroy_detector(s->sure_detector);
	soft_free(s, s->memory, s->memory_size);
	soft_destroy_levels(s, s->levels);
	soft_destroy_regions(s, s->regions);
	soft_destroy_spheres(s);
	soft_destroy_apart(s);
	soft_free_colors(s);
	soft_free(s, s->contacts.data, (size_t)s->contacts.capacity * sizeof *s->contacts.data);
	soft_free(s, s->found.data, (size_t)s->found.capacity * sizeof *s->found.data);
	const sim_soft shell = { .allocator = s->allocator };
	soft_free(&shell, s, sizeof *s);
}

// ---- A step ----

/// A rigid body at a time of the coming step.
static carom_pose pose_at(const sim_soft *s, const soft_part *part, double time)
{
	if (!part->led)
		return sim_soft_pose(&part->motion, time);
	const double passed = (time - s->time) / s->def.time_step;
	return carom_motion_pose(&part->way, passed < 1 ? passed : 1);
}

/// Where carried vertices are at the end, and their bodies' poses.
static void carry(sim_soft *s, double from, double to)
{
	for (int32_t i = 0; i < s->part_count; i++) {
		if (s->parts[i].kind == SIM_SOFT_RIGID) {
			s->parts[i].from = pose_at(s, &s->parts[i], from);
			s->parts[i].to = pose_at(s, &s->parts[i], to);
		}
	}
	for (int32_t v = 0; v < s->vertex_count; v++) {
		const int32_t carrier = s->carrier[v];
		const int64_t i = v;
		if (carrier >= 0 && !s->parts[carrier].rests) {
			const carom_vec3 p = carom_transform_point(s->parts[carrier].to, soft_local_at(s, v, to));
			s->carried[3 * i] = p.x;
			s->carried[3 * i + 1] = p.y;
			s->carried[3 * i + 2] = p.z;
		} else {
			memcpy(s->carried + 3 * i, s->begin + 3 * i, 3 * sizeof *s->carried);
		}
	}
}

static void solve(sim_soft *s, double from, double duration, int32_t substeps)
{
	const double start = sim_now_ms();
	soft_solve(s, from, duration, substeps);
	memcpy(s->solved, s->place, (size_t)s->vertex_count * 3 * sizeof *s->place);
	s->step.solves++;
	s->step.ms_solver += sim_now_ms() - start;
}

/// Correct places alone.
static void settle(sim_soft *s, double duration)
{
	const double start = sim_now_ms();
	soft_settle(s, duration);
	s->step.ms_solver += sim_now_ms() - start;
}

typedef struct flight {
	const sim_soft *soft;
	double duration;
} flight;

/// Where vertices would go by their velocities and gravity alone.
static void fly(int64_t begin, int64_t end, int worker, void *task)
{
	const flight *f = task;
	const sim_soft *s = f->soft;
	(void)worker;
	for (int64_t i = begin; i < end; i++) {
		for (int k = 0; k < 3; k++) {
			const double fall = s->begin_velocity[3 * i + k] + f->duration * s->def.gravity[k];
			s->place[3 * i + k] =
				s->carrier[i] == SIM_SOFT_FREE ? s->begin[3 * i + k] + f->duration * fall : s->carried[3 * i + k];
		}
	}
}

/// The impacts of the motion that neither impacts nor forces hinder are the first constraints.
static bool foresee(sim_soft *s, double duration, sim_error *error)
{
	flight f = { s, duration };
	carom_parallel_for(s->context, fly, s->vertex_count, MIN_VERTICES, &f);
	if (!soft_find(s, s->rest_detector, s->begin, s->place, error))
		return false;
	s->step.impacts += s->found.count;
	const soft_contacts contacts = s->contacts;
	s->contacts = s->found;
	s->found = contacts;
	return soft_color_contacts(s) || sim_fail(error, "out of memory");
}

/// Make constraints of the impacts. Pairs that were near at the begin are constraints already;
/// *near counts those, *open the others, and those that come no farther apart than the search
/// allows.
static bool add_found(sim_soft *s, int64_t *open, int64_t *near)
{
	*open = *near = 0;
	for (int64_t i = 0; i < s->found.count; i++) {
		const soft_contact *f = &s->found.data[i];
		if (f->touching) {
			++*near;
			*open += soft_gap(f, s->place) < fmin(f->start, NEAR_PART * f->thickness) * 0.999;
			continue;
		}
		soft_contact *c = soft_add_contact(s, &s->contacts);
		if (!c)
			return false;
		*c = *f;
		++*open;
	}
	s->step.impacts_more += *open;
	return soft_color_contacts(s);
}

/// A vertex of a zone has moved with it. Other corrections are no motion.
static void take_zone_velocities(sim_soft *s, double duration)
{
	for (int64_t i = 0; i < 3 * (int64_t)s->vertex_count && s->zoned && s->coupled; i++) {
		if (s->zone[i / 3] >= 0)
			s->velocity[i] += (s->place[i] - s->solved[i]) / duration;
	}
}

/// No place is left: let surfaces pass each other. Surfaces that cross then are led apart before
/// the steps that follow.
static void give_way(sim_soft *s, sim_error *error)
{
	memcpy(s->place, s->before, (size_t)s->vertex_count * 3 * sizeof *s->place);
	s->step.gave_way++;
	*error = (sim_error){ "" };
}

static double square_of_edge(const soft_edge *edge, const double *places)
{
	const double *a = places + 3 * (int64_t)edge->vertices[0], *b = places + 3 * (int64_t)edge->vertices[1];
	const double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] };
	return soft_dot(d, d);
}

/// Is an edge so much longer than it may be that what draws it has to pass?
static bool is_drawn(const sim_soft *s)
{
	for (int64_t i = 0; i < s->edge_count; i++) {
		const double most = MOST_DRAWN * s->edges[i].most;
		if (square_of_edge(&s->edges[i], s->place) > most * most)
			return true;
	}
	return false;
}

/// Solve again with some contacts.
static bool solve_with(sim_soft *s, int64_t count, double from, double duration, int32_t substeps)
{
	s->contacts.count = count;
	if (!soft_color_contacts(s))
		return false;
	solve(s, from, duration, substeps);
	settle(s, duration);
	return true;
}

/// Cloth that is held and that a body draws along beyond all measure lets it pass: solve again
/// without the contacts with bodies that move as told. What crosses then is led apart before the
/// steps that follow. Where that does not help they stay: what holds the cloth draws it. *passed:
/// did it help? False when memory is short.
static bool let_pass(sim_soft *s, double from, double duration, int32_t substeps, bool *passed)
{
	const int64_t count = s->contacts.count;
	int64_t kept = 0;
	for (int64_t i = 0; i < count; i++) {
		const soft_contact c = s->contacts.data[i];
		if (s->parts[s->part_of[c.vertices[0]]].kind == SIM_SOFT_RIGID ||
			s->parts[s->part_of[c.vertices[3]]].kind == SIM_SOFT_RIGID)
			continue;
		s->contacts.data[i] = s->contacts.data[kept];
		s->contacts.data[kept++] = c;
	}
	*passed = false;
	if (kept == count)
		return true;
	if (!solve_with(s, kept, from, duration, substeps))
		return false;
	*passed = !is_drawn(s);
	s->step.gave_way += *passed;
	return *passed || solve_with(s, count, from, duration, substeps);
}

/// From begin to the end of a part of the step: solve, look, correct, look again. may_halve: where
/// that does not go, its halves are tried.
static soft_verdict do_part(sim_soft *s, double from, double duration, int32_t substeps, bool may_halve, sim_error *error)
{
	if (!soft_find_spheres(s, duration, error) || !foresee(s, duration, error))
		return SOFT_FAILED;
	int64_t open = 1, near = 0;
	s->zoned = false;
	if (s->coupled)
		memset(s->edge_held, 0, (size_t)s->edge_count * sizeof *s->edge_held);
	for (int32_t round = 0; round < s->def.solves + s->def.rounds && open > 0; round++) {
		if (round < s->def.solves)
			solve(s, from, duration, substeps);
		settle(s, duration);
		if (!soft_find(s, s->near_detector, s->begin, s->place, error))
			return SOFT_FAILED;
		if (!add_found(s, &open, &near)) {
			sim_fail(error, "out of memory");
			return SOFT_FAILED;
		}
	}
	bool passed = false;
	if (s->def.lead_apart && is_drawn(s) && !let_pass(s, from, duration, substeps, &passed)) {
		sim_fail(error, "out of memory");
		return SOFT_FAILED;
	}
	soft_verdict verdict = !passed && (open > 0 || near > 0) ? soft_merge_zones(s, duration, error) : SOFT_DONE;
	if (verdict == SOFT_SQUEEZED && s->def.lead_apart && !may_halve) {
		give_way(s, error);
		verdict = SOFT_DONE;
	}
	if (verdict == SOFT_DONE && !soft_end_spheres(s, error))
		return SOFT_SQUEEZED;
	if (verdict == SOFT_DONE) {
		const double start = sim_now_ms();
		take_zone_velocities(s, duration);
		soft_settle_velocities(s, duration);
		s->step.ms_solver += sim_now_ms() - start;
		soft_end_solids(s, duration);
		soft_sum_reactions(s);
		soft_end_pulls(s, duration);
	}
	return verdict;
}

/// A part of the step, or, where that does not go, its halves.
static soft_verdict advance(sim_soft *s, double from, double to, int32_t substeps, int halvings, sim_error *error)
{
	const size_t bytes = (size_t)s->vertex_count * 3 * sizeof *s->place;
	memcpy(s->begin, s->place, bytes);
	memcpy(s->begin_velocity, s->velocity, bytes);
	carry(s, from, to);
	soft_begin_solids(s);
	const bool may_halve = halvings < (s->step.gave_way > 0 || s->step.crossings > 0 ? CROSSED_HALVINGS : MOST_HALVINGS);
	const soft_verdict verdict = do_part(s, from, to - from, substeps, may_halve, error);
	if (verdict != SOFT_SQUEEZED || !may_halve)
		return verdict;
	memcpy(s->place, s->begin, bytes);
	memcpy(s->velocity, s->begin_velocity, bytes);
	soft_reset_spheres(s, true);
	soft_reset_solids(s, true);
	s->step.halvings++;
	*error = (sim_error){ "" };
	const double middle = 0.5 * (from + to);
	const int32_t half = (substeps + 1) / 2;
	const soft_verdict first = advance(s, from, middle, half, halvings + 1, error);
	return first == SOFT_DONE ? advance(s, middle, to, half, halvings + 1, error) : first;
}

static void measure_edges(sim_soft *s)
{
	double worst = 0, sum = 0;
	for (int64_t i = 0; i < s->edge_count; i++) {
		const soft_edge *edge = &s->edges[i];
		const double stretch = fmax(sqrt(square_of_edge(edge, s->place)) / edge->length - 1, 0);
		if (stretch > worst) {
			worst = stretch;
			s->step.stretch_body = s->part_of[edge->vertices[0]];
		}
		sum += stretch;
	}
	s->step.stretch_worst = worst;
	s->step.stretch_mean = s->edge_count > 0 ? sum / (double)s->edge_count : 0;
}

static void measure(sim_soft *s)
{
	double energy = 0;
	measure_edges(s);
	for (int64_t i = 0; i < s->vertex_count; i++) {
		if (s->inverse_mass[i] > 0 && s->parts[s->part_of[i]].kind != SIM_SOFT_SOLID)
			energy += 0.5 / s->inverse_mass[i] * soft_dot(s->velocity + 3 * i, s->velocity + 3 * i);
	}
	for (int32_t i = 0; i < s->part_count; i++) {
		const soft_part *part = &s->parts[i];
		energy += part->kind == SIM_SOFT_SOLID && !part->led ? soft_solid_energy(part) : 0;
	}
	s->step.kinetic_energy = energy;
}

/// Numbers that run away show as edges that no cloth has.
static bool check_lengths(const sim_soft *s, sim_error *error)
{
	for (int64_t i = 0; i < s->edge_count; i++) {
		const soft_edge *edge = &s->edges[i];
		const double *a = s->place + 3 * (int64_t)edge->vertices[0], *b = s->place + 3 * (int64_t)edge->vertices[1];
		const double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] }, most = MOST_STRETCH * edge->length;
		const soft_part *part = &s->parts[s->part_of[edge->vertices[0]]];
		if (!(soft_dot(d, d) <= most * most))
			return sim_fail(error,
				"body \"%s\" runs away: the edge of its vertices %d and %d is %.3g times as long as at the start; shorter steps "
				"help, or more of them (substeps), and a slower or lighter body that pulls at it",
				part->name, (int)(edge->vertices[0] - part->first_vertex), (int)(edge->vertices[1] - part->first_vertex),
				sqrt(soft_dot(d, d)) / edge->length);
	}
	return true;
}

bool sim_soft_advance(sim_soft *s, sim_soft_step *step, sim_error *error)
{
	const size_t bytes = (size_t)s->vertex_count * 3 * sizeof *s->place;
	const double start = sim_now_ms(), time = (double)(s->steps + 1) * s->def.time_step;
	s->step = (sim_soft_step){ .step = s->steps + 1, .time = time };
	if (!soft_release_pins(s, s->time))
		return sim_fail(error, "out of memory");
	if (!soft_tear(s, error))
		return false;
	memcpy(s->place, s->committed, bytes);
	memcpy(s->velocity, s->committed_velocity, bytes);
	if (s->break_count > 0)
		memset(s->pull, 0, 3 * (size_t)s->break_count * sizeof *s->pull);
	soft_reset_spheres(s, false);
	soft_reset_solids(s, false);
	for (int32_t i = 0; i < s->part_count; i++)
		s->parts[i].reaction = (sim_soft_reaction){ 0 };
	if (s->crossings > 0 && !soft_lead_apart(s, error))
		return false;
	if (advance(s, s->time, time, s->def.substeps, 0, error) != SOFT_DONE || !check_lengths(s, error))
		return false;
	if (s->step.gave_way > 0 && !soft_count_crossings(s, &s->step.crossings, NULL, error))
		return false;
	s->crossings = s->step.crossings;
	if (s->step.leads > 0)
		soft_calm_led(s);
	memcpy(s->committed, s->place, bytes);
	memcpy(s->committed_velocity, s->velocity, bytes);
	soft_commit_spheres(s);
	soft_commit_solids(s);
	s->steps++;
	s->time = time;
	soft_break_pins(s);
	for (int32_t i = 0; i < s->part_count; i++)
		s->parts[i].way.begin = s->parts[i].way.end;
	measure(s);
	soft_show(s);
	s->step.ms_total = sim_now_ms() - start;
	if (step)
		*step = s->step;
	return true;
}

sim_soft_reaction sim_soft_get_reaction(const sim_soft *s, int32_t body) { return s->parts[body].reaction; }

void sim_soft_lead(sim_soft *s, int32_t body, carom_pose end) { s->parts[body].way.end = end; }

// ---- Looking ----

sim_soft_surface sim_soft_get_surface(const sim_soft *s)
{
	if (s->tears)
		return (sim_soft_surface){ s->shown_vertices[s->part_count], s->triangle_count, s->shown_places, s->shown_velocities,
			s->shown_triangles, s->shown_vertices, s->body_triangles, s->part_count, s->torn, true };
	return (sim_soft_surface){ s->vertex_count, s->triangle_count, s->committed, s->committed_velocity, s->triangles,
		s->body_vertices, s->body_triangles, s->part_count, 0, false };
}

bool sim_soft_is_rigid(const sim_soft *s, int32_t body) { return soft_is_told(&s->parts[body]); }

sim_soft_kind sim_soft_get_kind(const sim_soft *s, int32_t body) { return s->parts[body].kind; }

const char *sim_soft_get_name(const sim_soft *s, int32_t body) { return s->parts[body].name; }

uint64_t sim_soft_hash(const sim_soft *s)
{
	const uint64_t hash = sim_hash_doubles(SIM_HASH_START, s->committed, 3 * (int64_t)s->vertex_count);
	return sim_hash_doubles(hash, s->committed_velocity, 3 * (int64_t)s->vertex_count);
}

// ---- Energy ----

static double energy_of_edges(const sim_soft *s)
{
	double sum = 0;
	for (int64_t i = 0; i < s->edge_count; i++) {
		const soft_edge *edge = &s->edges[i];
		const double excess = sqrt(square_of_edge(edge, s->committed)) - edge->length;
		if (s->inverse_mass[edge->vertices[0]] + s->inverse_mass[edge->vertices[1]] > 0)
			sum += 0.5 * excess * excess / edge->compliance;
	}
	return sum;
}

static double energy_of_hinges(const sim_soft *s)
{
	double sum = 0;
	for (int64_t i = 0; i < s->hinge_count; i++) {
		const soft_hinge *hinge = &s->hinges[i];
		double bend[3] = { 0, 0, 0 };
		for (int k = 0; k < 12; k++)
			bend[k % 3] += hinge->weight[k / 3] * s->committed[3 * (int64_t)hinge->vertices[k / 3] + k % 3];
		const double excess = sqrt(soft_dot(bend, bend)) - hinge->rest;
		sum += 0.5 * excess * excess / hinge->compliance;
	}
	return sum;
}

double sim_soft_elastic_energy(const sim_soft *s)
{
	double sum = energy_of_edges(s) + energy_of_hinges(s) + soft_measure_regions(s, s->committed);
	for (int32_t i = 0; i < s->part_count; i++) {
		const soft_part *part = &s->parts[i];
		const double excess = part->compliance > 0 ? volume_of(s, part, s->committed) - part->volume : 0;
		sum += part->compliance > 0 ? 0.5 * excess * excess / part->compliance : 0;
	}
	return sum;
}

// ---- State ----

bool sim_soft_move_state(sim_soft *s, sim_tape *tape, sim_error *error)
{
	const size_t bytes = (size_t)s->vertex_count * 3 * sizeof *s->committed;
	sim_tape_expect(tape, s->vertex_count);
	sim_tape_expect(tape, s->triangle_count);
	sim_tape_expect(tape, s->part_count);
	sim_tape_expect(tape, (long long)s->shape);
	if (tape->failed && !tape->writing)
		return sim_fail(error, "bodies: their surfaces are others");
	sim_tape_move(tape, &s->steps, sizeof s->steps);
	sim_tape_move(tape, &s->time, sizeof s->time);
	sim_tape_move(tape, &s->crossings, sizeof s->crossings);
	if (!soft_move_tears(s, tape, error))
		return false;
	sim_tape_move(tape, s->committed, bytes);
	sim_tape_move(tape, s->committed_velocity, bytes);
	soft_move_pins(s, tape);
	soft_show(s);
	for (int32_t i = 0; i < s->part_count; i++)
		sim_tape_move(tape, &s->parts[i].way, sizeof s->parts[i].way);
	for (int32_t i = 0; i < s->part_count; i++) {
		if (s->parts[i].kind == SIM_SOFT_SOLID)
			sim_tape_move(tape, &s->parts[i].solid.committed, sizeof s->parts[i].solid.committed);
	}
	return soft_move_spheres(s, tape, error) && (!tape->failed || sim_fail(error, "the state ends too early"));
}
