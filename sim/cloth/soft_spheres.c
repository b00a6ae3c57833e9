// Spheres that deforming bodies meet. They are particles of the solver: in each of its substeps a
// sphere and a triangle that come too near are put apart, each by its share of the mass, as
// positions. So a light vertex under a heavy sphere cannot be thrown away, whatever the step, and
// momentum is kept: what the sphere gets, the vertices give.
//
// A contact keeps the centre of a sphere away from the nearest point of a triangle. The distance
// has no edges within a surface, so nothing catches there. The side needs no memory: the centre
// starts on it, a radius away.
//
// That no centre passes a triangle is proved, not hoped for. At the begin of a part of a step a
// search lists all triangles that are nearer to a sphere than radius and margin. Vertices and
// centres move on straight lines. The distance of a listed pair was d at the begin; while the
// centre moves by less than d against each corner, it moves by less than d against each point
// between them, so it reaches none. Of a pair that is not listed, d is at least radius and margin.
// Where either does not hold, the part is halved. What the caller does between two steps is
// checked against the distance at the end in the same way.
#include "sim/cloth/soft_state.h"

#include <stdlib.h>
#include <string.h>

// Spheres keep so many thicknesses away from the middle of a sheet.
static const double SKIN = 0.5;
// Those that begin nearer are taken apart by this share in a step.
static const double RECOVERY = 0.3;
// In thicknesses: what is missing less is no reason for another round.
static const double TOLERANCE = 0.05;
// At the very start a centre must be so many radii away, lest nobody knows on which side it is.
static const double LEAST_START = 0.5;
// Margin of the search, beside the way that all of them foresee, in least radii.
static const double MARGIN = 0.25;

enum { SHEETS = 1, SPHERES = 2 }; // categories of the search

/// Where a sphere is and how it moves.
typedef struct sphere_state {
	double place[3], velocity[3], spin[3];
} sphere_state;

typedef struct soft_sphere {
	double radius, inverse_mass, inverse_inertia, friction;
	double gain[3]; // m/s2, beside contacts
	sphere_state met, committed, begin, now;
	double before[3]; // place at the begin of a substep
	double turn[3];   // of this substep, radians
	double clear;     // no triangle is nearer to the centre as a step begins
	bool known;       // has it been through a step?
	bool touched;     // by a surface, since it was met
} soft_sphere;

/// A sphere and a triangle.
typedef struct sphere_pair {
	int32_t sphere, triangle;
	double friction;
	double start;  // distance of the centre at the begin of the part
	double pushed; // in this substep
	// from the nearest point to the centre, and the corners' weights in it, when last looked at
	double normal[3], weight[3];
} sphere_pair;

struct soft_spheres {
	carom_proximity *search;
	int32_t *parts; // [part_count] mesh of the search, -1: none
	soft_sphere *data;
	int32_t count;
	size_t bytes; // of this record and its arrays
	double least_radius;
	double margin; // of the last search
	sphere_pair *pairs;
	int64_t pair_count, pair_room;
};

// ---- Making ----

void soft_destroy_spheres(sim_soft *s)
{
	soft_spheres *b = s->spheres;
	if (!b)
		return;
	carom_destroy_proximity(b->search);
	soft_free(s, b->pairs, (size_t)b->pair_room * sizeof *b->pairs);
	soft_free(s, b, b->bytes);
	s->spheres = NULL;
}

static bool say(const sim_soft *s, sim_error *error) { return sim_fail(error, "%s", carom_error_text(s->context)); }

static bool add_sheet(const sim_soft *s, const soft_part *part, int32_t *number, sim_error *error)
{
	const size_t corners = 3 * (size_t)part->triangle_count;
	int32_t *triangles = soft_alloc(s, corners * sizeof *triangles);
	if (!triangles)
		return sim_fail(error, "out of memory");
	for (size_t i = 0; i < corners; i++)
		triangles[i] = s->triangles[3 * (size_t)part->first_triangle + i] - part->first_vertex;
	carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
	def.vertices = (carom_strided){ s->committed + 3 * (int64_t)part->first_vertex, 0, CAROM_FLOAT64 };
	def.vertex_count = part->vertex_count;
	def.triangles = triangles;
	def.triangle_count = part->triangle_count;
	def.self = false;
	def.category = SHEETS;
	def.mask = SPHERES;
	const bool added = carom_proximity_add_mesh(s->spheres->search, &def, number) == CAROM_SUCCESS || say(s, error);
	soft_free(s, triangles, corners * sizeof *triangles);
	return added;
}

/// Bodies that others lead meet spheres elsewhere.
static bool add_all(const sim_soft *s, sim_error *error)
{
	soft_spheres *b = s->spheres;
	for (int32_t i = 0; i < s->part_count; i++) {
		b->parts[i] = -1;
		if (!s->parts[i].led && !add_sheet(s, &s->parts[i], &b->parts[i], error))
			return false;
	}
	for (int32_t i = 0; i < b->count; i++) {
		int32_t number;
		carom_proximity_shape_def def = carom_default_proximity_shape_def();
		def.shape = (carom_shape){ .type = CAROM_SPHERE, .radius = b->data[i].radius };
		def.category = SPHERES;
		def.mask = SHEETS;
		if (carom_proximity_add_shape(b->search, &def, &number) != CAROM_SUCCESS)
			return say(s, error);
	}
	return true;
}

static bool make_spheres(sim_soft *s, int32_t count, const sim_soft_sphere *given, sim_error *error)
{
	const size_t head = (sizeof(soft_spheres) + 63) / 64 * 64, balls = (size_t)count * sizeof(soft_sphere);
	const size_t bytes = head + balls + (size_t)s->part_count * sizeof(int32_t);
	char *memory = soft_alloc(s, bytes);
	if (!memory)
		return sim_fail(error, "out of memory");
	memset(memory, 0, bytes);
	s->spheres = (soft_spheres *)memory;
	*s->spheres = (soft_spheres){ .data = (soft_sphere *)(memory + head),
		.parts = (int32_t *)(memory + head + balls),
		.count = count,
		.bytes = bytes,
		.least_radius = INFINITY };
	for (int32_t i = 0; i < count; i++) {
		s->spheres->data[i].radius = given[i].radius;
		s->spheres->least_radius = fmin(s->spheres->least_radius, given[i].radius);
	}
	carom_proximity_def def = carom_default_proximity_def();
	def.device = s->def.device;
	const bool made = carom_create_proximity(s->context, &def, &s->spheres->search) == CAROM_SUCCESS || say(s, error);
	if (made && add_all(s, error))
		return true;
	soft_destroy_spheres(s);
	return false;
}

bool soft_change_search(sim_soft *s, sim_error *error)
{
	if (!s->spheres)
		return true;
	carom_proximity_def def = carom_default_proximity_def();
	def.device = s->def.device;
	carom_destroy_proximity(s->spheres->search);
	s->spheres->search = NULL;
	s->spheres->pair_count = 0;
	return (carom_create_proximity(s->context, &def, &s->spheres->search) == CAROM_SUCCESS || say(s, error)) &&
		add_all(s, error);
}

static bool is_finite(const double v[3], double most) { return fabs(v[0]) <= most && fabs(v[1]) <= most && fabs(v[2]) <= most; }

static bool check_spheres(const sim_soft *s, int32_t count, const sim_soft_sphere *given, sim_error *error)
{
	if (count < 0 || (count > 0 && !given))
		return sim_fail(error, count < 0 ? "count: %d is below 0" : "spheres: NULL, but the count is %d", (int)count);
	if (s->spheres && count != s->spheres->count)
		return sim_fail(error, "count: there are %d spheres, not %d", (int)s->spheres->count, (int)count);
	for (int32_t i = 0; i < count; i++) {
		const sim_soft_sphere *g = &given[i];
		const char *fault = !(g->radius > 0 && g->radius <= CAROM_MAX_COORDINATE) ? "radius"
			: !(g->mass > 0 && g->mass <= 1e30)                                   ? "mass"
			: !(g->friction >= 0 && g->friction <= 1e6)                           ? "friction"
			: !is_finite(g->place, CAROM_MAX_COORDINATE)                          ? "place"
			: !is_finite(g->velocity, 1e9)                                        ? "velocity"
			: !is_finite(g->spin, 1e12)                                           ? "spin"
			: !is_finite(g->force, 1e30)                                          ? "force"
																				  : NULL;
		if (fault)
			return sim_fail(error, "spheres[%d].%s is out of range", (int)i, fault);
		if (s->spheres && g->radius != s->spheres->data[i].radius)
			return sim_fail(
				error, "spheres[%d].radius: it was %g, and cannot become %g", (int)i, s->spheres->data[i].radius, g->radius);
	}
	return true;
}

static double distance(const double a[3], const double b[3])
{
	const double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] };
	return sqrt(soft_dot(d, d));
}

bool sim_soft_meet(sim_soft *s, int32_t count, const sim_soft_sphere *given, sim_error *error)
{
	if (!check_spheres(s, count, given, error) || (!s->spheres && !make_spheres(s, count, given, error)))
		return false;
	for (int32_t i = 0; i < count; i++) {
		const soft_sphere *b = &s->spheres->data[i];
		if (b->known && !(distance(given[i].place, b->committed.place) < b->clear))
			return sim_fail(error, "spheres[%d].place: it may have passed through a surface since the last step", (int)i);
	}
	for (int32_t i = 0; i < count; i++) {
		soft_sphere *b = &s->spheres->data[i];
		const sim_soft_sphere *g = &given[i];
		b->inverse_mass = 1 / g->mass;
		b->inverse_inertia = 1 / (0.4 * g->mass * g->radius * g->radius);
		b->friction = g->friction;
		memcpy(b->met.place, g->place, sizeof b->met.place);
		memcpy(b->met.velocity, g->velocity, sizeof b->met.velocity);
		memcpy(b->met.spin, g->spin, sizeof b->met.spin);
		for (int k = 0; k < 3; k++)
			b->gain[k] = g->force[k] / g->mass;
		b->clear = b->known ? b->clear - distance(b->committed.place, g->place) : 0;
		b->committed = b->now = b->met;
		b->touched = false;
	}
	s->spheres_time = s->time;
	return true;
}

double soft_clear_of_spheres(const sim_soft *s)
{
	double clear = INFINITY;
	for (int32_t i = 0; s->spheres && i < s->spheres->count; i++)
		clear = s->spheres->data[i].known ? fmin(clear, s->spheres->data[i].clear) : clear;
	return clear;
}

sim_soft_sphere_change sim_soft_get_change(const sim_soft *s, int32_t sphere)
{
	const soft_sphere *b = &s->spheres->data[sphere];
	const double passed = s->time - s->spheres_time;
	sim_soft_sphere_change change = { .touched = b->touched };
	for (int k = 0; k < 3 && b->touched; k++) {
		change.impulse[k] = (b->committed.velocity[k] - b->met.velocity[k] - passed * b->gain[k]) / b->inverse_mass;
		change.angular_impulse[k] = (b->committed.spin[k] - b->met.spin[k]) / b->inverse_inertia;
		change.way[k] = b->committed.place[k] - b->met.place[k];
	}
	return change;
}

// ---- Finding ----

static sphere_pair *add_pair(const sim_soft *s)
{
	soft_spheres *b = s->spheres;
	if (b->pair_count == b->pair_room) {
		const int64_t room = 2 * b->pair_room + 256;
		sphere_pair *larger = soft_alloc(s, (size_t)room * sizeof *larger);
		if (!larger)
			return NULL;
		if (b->pair_count > 0)
			memcpy(larger, b->pairs, (size_t)b->pair_count * sizeof *larger);
		soft_free(s, b->pairs, (size_t)b->pair_room * sizeof *larger);
		b->pairs = larger;
		b->pair_room = room;
	}
	return &b->pairs[b->pair_count++];
}

static bool add_triangle(const sim_soft *s, int32_t sphere, int32_t triangle)
{
	sphere_pair *pair = add_pair(s);
	if (!pair)
		return false;
	const soft_part *part = &s->parts[s->part_of[s->triangles[3 * (int64_t)triangle]]];
	*pair = (sphere_pair){
		.sphere = sphere, .triangle = triangle, .friction = sqrt(part->friction * s->spheres->data[sphere].friction)
	};
	return true;
}

/// All triangles that have a feature near a sphere.
static bool add_feature(const sim_soft *s, const carom_proximity_shape_pair *near, const soft_part *part)
{
	if (near->triangle >= 0)
		return add_triangle(s, near->shape, part->first_triangle + near->triangle);
	const int32_t v = near->vertices[0] + part->first_vertex;
	const int32_t other = near->vertices[1] >= 0 ? near->vertices[1] + part->first_vertex : v;
	bool added = true;
	for (int64_t i = s->around_first[v]; i < s->around_first[v + 1] && added; i++) {
		const int32_t *corners = s->triangles + 3 * (int64_t)s->around[i];
		if (corners[0] == other || corners[1] == other || corners[2] == other)
			added = add_triangle(s, near->shape, s->around[i]);
	}
	return added;
}

static int compare_pairs(const void *a, const void *b)
{
	const sphere_pair *p = a, *q = b;
	if (p->sphere != q->sphere)
		return p->sphere < q->sphere ? -1 : 1;
	return (p->triangle > q->triangle) - (p->triangle < q->triangle);
}

/// A triangle with several near features came several times.
static void sort_pairs(soft_spheres *b)
{
	int64_t kept = 0;
	if (b->pair_count > 1)
		qsort(b->pairs, (size_t)b->pair_count, sizeof *b->pairs, compare_pairs);
	for (int64_t i = 0; i < b->pair_count; i++) {
		if (kept == 0 || compare_pairs(&b->pairs[kept - 1], &b->pairs[i]) != 0)
			b->pairs[kept++] = b->pairs[i];
	}
	b->pair_count = kept;
}

/// Weights of the corners in the point of a triangle that is nearest to p (Ericson, Real-Time
/// Collision Detection, 2005, 5.1.5).
static void nearest_weights(const double p[3], const double *a, const double *b, const double *c, double w[3])
{
	double ab[3], ac[3], ap[3];
	for (int k = 0; k < 3; k++) {
		ab[k] = b[k] - a[k];
		ac[k] = c[k] - a[k];
		ap[k] = p[k] - a[k];
	}
	const double bb = soft_dot(ab, ab), bc = soft_dot(ab, ac), cc = soft_dot(ac, ac);
	const double d1 = soft_dot(ab, ap), d2 = soft_dot(ac, ap);
	const double d3 = d1 - bb, d4 = d2 - bc, d5 = d1 - bc, d6 = d2 - cc;
	const double va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
	double second = 0, third = 0;
	if (d1 <= 0 && d2 <= 0) {
		// the first corner
	} else if (d3 >= 0 && d4 <= d3) {
		second = 1;
	} else if (d6 >= 0 && d5 <= d6) {
		third = 1;
	} else if (vc <= 0 && d1 >= 0 && d3 <= 0) {
		second = d1 / (d1 - d3);
	} else if (vb <= 0 && d2 >= 0 && d6 <= 0) {
		third = d2 / (d2 - d6);
	} else if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) {
		third = (d4 - d3) / (d4 - d3 + (d5 - d6));
		second = 1 - third;
	} else {
		second = vb / (va + vb + vc);
		third = vc / (va + vb + vc);
	}
	w[0] = 1 - second - third;
	w[1] = second;
	w[2] = third;
}

/// Look at a pair: its nearest point, the direction from there to the centre, and the distance,
/// which is returned.
static double look(const sim_soft *s, sphere_pair *pair, const double centre[3], const double *places)
{
	const int32_t *v = s->triangles + 3 * (int64_t)pair->triangle;
	const double *a = places + 3 * (int64_t)v[0], *b = places + 3 * (int64_t)v[1], *c = places + 3 * (int64_t)v[2];
	double away[3];
	nearest_weights(centre, a, b, c, pair->weight);
	for (int k = 0; k < 3; k++)
		away[k] = centre[k] - (pair->weight[0] * a[k] + pair->weight[1] * b[k] + pair->weight[2] * c[k]);
	const double length = sqrt(soft_dot(away, away));
	for (int k = 0; k < 3 && length > 0; k++)
		pair->normal[k] = away[k] / length;
	return length;
}

/// The way that spheres and vertices may come in a part of the step, by their present speeds and
/// what pulls at them.
static double foreseen_way(const sim_soft *s, double duration)
{
	double vertex = 0, sphere = 0, pull = soft_dot(s->def.gravity, s->def.gravity);
	for (int64_t i = 0; i < s->vertex_count; i++) {
		const double *v = s->begin_velocity + 3 * i;
		const bool is_free = s->carrier[i] == SIM_SOFT_FREE;
		const double way = is_free ? sqrt(soft_dot(v, v)) * duration : distance(s->carried + 3 * i, s->begin + 3 * i);
		vertex = fmax(vertex, way);
	}
	for (int32_t i = 0; i < s->spheres->count; i++) {
		const soft_sphere *b = &s->spheres->data[i];
		sphere = fmax(sphere, sqrt(soft_dot(b->begin.velocity, b->begin.velocity)));
		pull = fmax(pull, soft_dot(b->gain, b->gain));
	}
	return 2 * (vertex + duration * (sphere + duration * sqrt(pull)));
}

static const char *name_of(const sim_soft *s, const sphere_pair *pair)
{
	return s->parts[s->part_of[s->triangles[3 * (int64_t)pair->triangle]]].name;
}

static bool place_all(const sim_soft *s)
{
	const soft_spheres *b = s->spheres;
	for (int32_t i = 0; i < s->part_count; i++) {
		const carom_strided at = { s->begin + 3 * (int64_t)s->parts[i].first_vertex, 0, CAROM_FLOAT64 };
		if (b->parts[i] >= 0 && carom_proximity_place_mesh(b->search, b->parts[i], &at) != CAROM_SUCCESS)
			return false;
	}
	for (int32_t i = 0; i < b->count; i++) {
		const double *p = b->data[i].begin.place;
		const carom_pose pose = { { p[0], p[1], p[2] }, { 0, 0, 0, 1 } };
		if (carom_proximity_place_shape(b->search, i, &pose) != CAROM_SUCCESS)
			return false;
	}
	return true;
}

static const soft_part *part_of_mesh(const sim_soft *s, int32_t mesh)
{
	int32_t i = mesh; // meshes are the parts that are not led, in their order
	while (s->spheres->parts[i] != mesh)
		i++;
	return &s->parts[i];
}

bool soft_find_spheres(sim_soft *s, double duration, sim_error *error)
{
	soft_spheres *b = s->spheres;
	if (!b || b->count == 0)
		return true;
	for (int32_t i = 0; i < b->count; i++)
		b->data[i].begin = b->data[i].now;
	b->margin = MARGIN * b->least_radius + SKIN * s->def.thickness + foreseen_way(s, duration);
	b->pair_count = 0;
	carom_proximity_view view;
	if (!place_all(s) || carom_proximity_find(b->search, b->margin, &view) != CAROM_SUCCESS)
		return say(s, error);
	for (int64_t i = 0; i < view.shape_pair_count; i++) {
		if (!add_feature(s, &view.shape_pairs[i], part_of_mesh(s, view.shape_pairs[i].mesh)))
			return sim_fail(error, "out of memory");
	}
	sort_pairs(b);
	for (int64_t i = 0; i < b->pair_count; i++) {
		sphere_pair *pair = &b->pairs[i];
		const soft_sphere *ball = &b->data[pair->sphere];
		pair->start = look(s, pair, ball->begin.place, s->begin);
		const bool new = !ball->known && !memcmp(ball->begin.place, ball->met.place, sizeof ball->met.place);
		if (new && pair->start < LEAST_START * ball->radius)
			return sim_fail(error, "sphere %d and body \"%s\" overlap at the start", (int)pair->sphere, name_of(s, pair));
	}
	return true;
}

// ---- Solving ----

void soft_start_spheres(sim_soft *s)
{
	for (int32_t i = 0; s->spheres && i < s->spheres->count; i++)
		s->spheres->data[i].now = s->spheres->data[i].begin;
}

void soft_predict_spheres(sim_soft *s, double duration)
{
	for (int32_t i = 0; s->spheres && i < s->spheres->count; i++) {
		soft_sphere *b = &s->spheres->data[i];
		for (int k = 0; k < 3; k++) {
			b->before[k] = b->now.place[k];
			b->now.velocity[k] += duration * b->gain[k];
			b->now.place[k] += duration * b->now.velocity[k];
			b->turn[k] = duration * b->now.spin[k];
		}
	}
}

/// The sum of the inverse masses of a pair along any direction through the centre.
static double give_way(const sim_soft *s, const sphere_pair *pair)
{
	const int32_t *v = s->triangles + 3 * (int64_t)pair->triangle;
	double sum = s->spheres->data[pair->sphere].inverse_mass;
	for (int i = 0; i < 3; i++)
		sum += pair->weight[i] * pair->weight[i] * s->inverse_mass[v[i]];
	return sum;
}

/// Move vectors of the sphere and of the corners: by times their inverse masses, and opposite.
static void move_pair(const sim_soft *s, const sphere_pair *pair, const double by[3], double *sphere, double *vertices)
{
	const int32_t *v = s->triangles + 3 * (int64_t)pair->triangle;
	for (int k = 0; k < 3; k++)
		sphere[k] += s->spheres->data[pair->sphere].inverse_mass * by[k];
	for (int i = 0; i < 3; i++) {
		const double share = pair->weight[i] * s->inverse_mass[v[i]];
		for (int k = 0; k < 3 && share != 0; k++)
			vertices[3 * (int64_t)v[i] + k] -= share * by[k];
	}
}

/// Coulomb friction at the nearest point, where the surface of the sphere turns too.
static void hold_pair(const sim_soft *s, const sphere_pair *pair, double reach, double most)
{
	soft_sphere *b = &s->spheres->data[pair->sphere];
	const int32_t *v = s->triangles + 3 * (int64_t)pair->triangle;
	const double arm[3] = { -reach * pair->normal[0], -reach * pair->normal[1], -reach * pair->normal[2] };
	double slid[3], moment[3];
	soft_cross(b->turn, arm, slid);
	for (int k = 0; k < 3; k++) {
		slid[k] += b->now.place[k] - b->before[k];
		for (int i = 0; i < 3; i++)
			slid[k] -= pair->weight[i] * (s->place[3 * (int64_t)v[i] + k] - s->before[3 * (int64_t)v[i] + k]);
	}
	const double along = soft_dot(slid, pair->normal);
	for (int k = 0; k < 3; k++)
		slid[k] -= along * pair->normal[k];
	const double way = sqrt(soft_dot(slid, slid));
	if (way == 0)
		return;
	const double full = way / (give_way(s, pair) + reach * reach * b->inverse_inertia);
	const double part = -fmin(full, most) / way;
	const double by[3] = { part * slid[0], part * slid[1], part * slid[2] };
	move_pair(s, pair, by, b->now.place, s->place);
	soft_cross(arm, by, moment);
	for (int k = 0; k < 3; k++)
		b->turn[k] += b->inverse_inertia * moment[k];
}

/// The distance that a pair is to have at a time of the part of the step, from 0 to 1.
static double wanted_distance(const sim_soft *s, const sphere_pair *pair, double progress)
{
	const double most = s->spheres->data[pair->sphere].radius + SKIN * s->def.thickness;
	return pair->start < most ? pair->start + progress * RECOVERY * (most - pair->start) : most;
}

/// Put a pair apart, and its velocities by rate times as much. Returns the push, metres.
static double part_pair(sim_soft *s, sphere_pair *pair, double progress, double rate)
{
	soft_sphere *b = &s->spheres->data[pair->sphere];
	const double push = wanted_distance(s, pair, progress) - look(s, pair, b->now.place, s->place);
	if (!(push > 0))
		return 0;
	b->touched = true;
	const double load = push / give_way(s, pair);
	const double by[3] = { load * pair->normal[0], load * pair->normal[1], load * pair->normal[2] };
	move_pair(s, pair, by, b->now.place, s->place);
	for (int k = 0; k < 3 && rate > 0 && !s->coupled; k++)
		b->now.velocity[k] += b->inverse_mass * rate * by[k];
	if (rate > 0 && s->coupled)
		move_pair(s, pair, (double[3]){ rate * by[0], rate * by[1], rate * by[2] }, b->now.velocity, s->velocity);
	return push;
}

void soft_push_spheres(sim_soft *s, double progress, bool again)
{
	for (int64_t i = 0; s->spheres && i < s->spheres->pair_count; i++) {
		sphere_pair *pair = &s->spheres->pairs[i];
		const double push = part_pair(s, pair, progress, 0);
		pair->pushed = push + (again ? pair->pushed : 0);
		if (push > 0 && pair->friction > 0)
			hold_pair(s, pair, wanted_distance(s, pair, progress), pair->friction * push / give_way(s, pair));
	}
}

int64_t soft_part_spheres(sim_soft *s, double duration)
{
	int64_t near = 0;
	for (int64_t i = 0; s->spheres && i < s->spheres->pair_count; i++)
		near += part_pair(s, &s->spheres->pairs[i], 1, 1 / duration) > TOLERANCE * s->def.thickness;
	return near;
}

void soft_take_sphere_velocities(sim_soft *s, double duration)
{
	for (int32_t i = 0; s->spheres && i < s->spheres->count; i++) {
		soft_sphere *b = &s->spheres->data[i];
		for (int k = 0; k < 3; k++) {
			b->now.velocity[k] = (b->now.place[k] - b->before[k]) / duration;
			b->now.spin[k] = b->turn[k] / duration;
		}
	}
}

void soft_damp_spheres(sim_soft *s)
{
	for (int64_t i = 0; s->spheres && i < s->spheres->pair_count; i++) {
		const sphere_pair *pair = &s->spheres->pairs[i];
		soft_sphere *b = &s->spheres->data[pair->sphere];
		const int32_t *v = s->triangles + 3 * (int64_t)pair->triangle;
		double parting = soft_dot(b->now.velocity, pair->normal);
		for (int k = 0; k < 3; k++)
			parting -= pair->weight[k] * soft_dot(s->velocity + 3 * (int64_t)v[k], pair->normal);
		if (!(pair->pushed > 0) || !(parting > 0))
			continue;
		const double load = -parting / give_way(s, pair);
		const double by[3] = { load * pair->normal[0], load * pair->normal[1], load * pair->normal[2] };
		move_pair(s, pair, by, b->now.velocity, s->velocity);
	}
}

// ---- Ending ----

/// Most that a centre has moved against a corner of a triangle.
static double most_moved(const sim_soft *s, const sphere_pair *pair)
{
	const soft_sphere *b = &s->spheres->data[pair->sphere];
	double most = 0;
	for (int i = 0; i < 3; i++) {
		const int64_t at = 3 * (int64_t)s->triangles[3 * (int64_t)pair->triangle + i];
		double moved[3];
		for (int k = 0; k < 3; k++)
			moved[k] = b->now.place[k] - b->begin.place[k] - (s->place[at + k] - s->begin[at + k]);
		most = fmax(most, soft_dot(moved, moved));
	}
	return sqrt(most);
}

/// Longest way of a vertex in this part of the step.
static double vertex_way(const sim_soft *s)
{
	double most = 0;
	for (int64_t i = 0; i < s->vertex_count; i++)
		most = fmax(most, distance(s->place + 3 * i, s->begin + 3 * i));
	return most;
}

/// Note how clear of surfaces each sphere is at least. False where one may have passed a surface.
static bool measure_clear(sim_soft *s, sim_error *error)
{
	soft_spheres *b = s->spheres;
	const double vertices = vertex_way(s);
	for (int32_t i = 0; i < b->count; i++) {
		soft_sphere *ball = &b->data[i];
		ball->clear = ball->radius + b->margin - (distance(ball->now.place, ball->begin.place) + vertices);
		if (!(ball->clear > 0))
			return sim_fail(error, "sphere %d and surfaces near it move too far in a step", (int)i);
	}
	for (int64_t i = 0; i < b->pair_count; i++) {
		sphere_pair *pair = &b->pairs[i];
		soft_sphere *ball = &b->data[pair->sphere];
		if (!(most_moved(s, pair) < pair->start))
			return sim_fail(error, "sphere %d may pass through body \"%s\" in a step", (int)pair->sphere, name_of(s, pair));
		ball->clear = fmin(ball->clear, look(s, pair, ball->now.place, s->place));
	}
	return true;
}

bool soft_end_spheres(sim_soft *s, sim_error *error) { return !soft_has_spheres(s) || measure_clear(s, error); }

void soft_reset_spheres(sim_soft *s, bool to_begin)
{
	for (int32_t i = 0; s->spheres && i < s->spheres->count; i++) {
		soft_sphere *b = &s->spheres->data[i];
		b->now = to_begin ? b->begin : b->committed;
	}
}

bool soft_has_spheres(const sim_soft *s) { return s->spheres && s->spheres->count > 0; }

void soft_commit_spheres(sim_soft *s)
{
	for (int32_t i = 0; s->spheres && i < s->spheres->count; i++) {
		s->spheres->data[i].committed = s->spheres->data[i].now;
		s->spheres->data[i].known = true;
	}
}

// ---- State ----

/// Make spheres of the radii that a tape has next. Everything else follows it.
static bool make_moved(sim_soft *s, int32_t count, sim_tape *tape, sim_error *error)
{
	sim_soft_sphere *given = soft_alloc(s, (size_t)count * sizeof *given);
	if (!given)
		return sim_fail(error, "out of memory");
	bool valid = true;
	for (int32_t i = 0; i < count; i++) {
		given[i].radius = 0;
		sim_tape_move(tape, &given[i].radius, sizeof given[i].radius);
		valid = valid && given[i].radius > 0 && given[i].radius <= CAROM_MAX_COORDINATE;
	}
	const bool made = valid ? make_spheres(s, count, given, error) : sim_fail(error, "a radius is out of range");
	soft_free(s, given, (size_t)count * sizeof *given);
	return made;
}

bool soft_move_spheres(sim_soft *s, sim_tape *tape, sim_error *error)
{
	int32_t count = s->spheres ? s->spheres->count : 0;
	sim_tape_move(tape, &count, sizeof count);
	sim_tape_move(tape, &s->spheres_time, sizeof s->spheres_time);
	if (tape->failed || count <= 0)
		return true;
	if (!tape->writing && ((size_t)count > tape->size / sizeof(double) || s->spheres))
		return sim_fail(error, "the number of spheres does not fit");
	if (!tape->writing && !make_moved(s, count, tape, error))
		return false;
	for (int32_t i = 0; i < count && tape->writing; i++)
		sim_tape_move(tape, &s->spheres->data[i].radius, sizeof s->spheres->data[i].radius);
	for (int32_t i = 0; i < count; i++) {
		soft_sphere *b = &s->spheres->data[i];
		sim_tape_move(tape, &b->committed, sizeof b->committed);
		sim_tape_move(tape, &b->clear, sizeof b->clear);
		sim_tape_move(tape, &b->known, sizeof b->known);
	}
	return true;
}

bool soft_list_spheres(const sim_soft *s, sim_contact_points *points)
{
	for (int64_t i = 0; s->spheres && i < s->spheres->pair_count; i++) {
		sphere_pair pair = s->spheres->pairs[i];
		const soft_sphere *b = &s->spheres->data[pair.sphere];
		if (!(pair.pushed > 0))
			continue;
		const double length = look(s, &pair, b->committed.place, s->committed);
		sim_contact_point point = { .kind = SIM_CONTACT_SPHERE, .depth = b->radius + SKIN * s->def.thickness - length };
		for (int k = 0; k < 3; k++) {
			point.normal[k] = pair.normal[k];
			point.point[k] = b->committed.place[k] - b->radius * pair.normal[k];
		}
		if (!sim_add_contact_point(points, &point))
			return false;
	}
	return true;
}
