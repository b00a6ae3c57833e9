// Sets of spheres that are made. A solid is filled by the points of a cubic lattice that lie inside
// its mesh. Which those are is found by halving blocks of the lattice: one that no triangle comes
// near is inside or outside as a whole, so the cost goes with the surface, not with the volume.
#include "scene/sphere_sampling.h"

#include "carom/carom.h"
#include "io/sphere_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// The lattice has at most this many points along an axis, so that a point's number fits into 63
// bits.
enum { AXIS_MAX = 1 << 20 };

// A spacing at which the lattice holds at most this part more than wanted is good enough.
static const double SURPLUS_ACCEPTED = 0.002;

scene_sampling scene_default_sampling(void) { return (scene_sampling){ .jitter = 0.1, .seed = 1 }; }

// ---- The lattice ----

typedef struct lattice {
	const carom_mesh *mesh;
	double lower[3], size[3]; // box of the mesh
	double spacing;
	double reach;    // how far jitter takes a point at most
	int64_t side[3]; // points along each axis
	int64_t count;   // inside so far
	int64_t limit;   // count no further
	int64_t visits;  // blocks that may yet be looked at
	// Where the points go; NULL: they are only counted.
	int64_t *numbers;
	bool *near; // the surface is within reach of jitter
} lattice;

typedef struct block {
	int64_t begin[3], end[3];
} block;

/// A coordinate of the lattice, as it is stored when the point is not moved.
static double coordinate(const lattice *l, int axis, int64_t i)
{
	return (double)(float)(l->lower[axis] + ((double)i + 0.5) * l->spacing);
}

static bool contains(const lattice *l, carom_vec3 point)
{
	bool inside;
	return carom_mesh_contains(l->mesh, point, &inside) == CAROM_SUCCESS && inside;
}

/// All points of a block are inside.
static void take_block(lattice *l, const block *b, bool near)
{
	if (!l->numbers) {
		l->count += (b->end[0] - b->begin[0]) * (b->end[1] - b->begin[1]) * (b->end[2] - b->begin[2]);
		return;
	}
	for (int64_t z = b->begin[2]; z < b->end[2]; z++) {
		for (int64_t y = b->begin[1]; y < b->end[1]; y++) {
			for (int64_t x = b->begin[0]; x < b->end[0]; x++) {
				l->near[l->count] = near;
				l->numbers[l->count++] = (z * AXIS_MAX + y) * AXIS_MAX + x;
			}
		}
	}
}

/// Count or take the points of a block that are inside the mesh.
static void walk(lattice *l, const block *b)
{
	if (l->count > l->limit || l->visits-- <= 0)
		return;
	double middle[3], square = 0;
	int longest = 0;
	for (int axis = 0; axis < 3; axis++) {
		const double first = coordinate(l, axis, b->begin[axis]), last = coordinate(l, axis, b->end[axis] - 1);
		middle[axis] = 0.5 * (first + last);
		square += 0.25 * (last - first) * (last - first);
		if (b->end[axis] - b->begin[axis] > b->end[longest] - b->begin[longest])
			longest = axis;
	}
	const bool single = b->end[longest] - b->begin[longest] == 1;
	const carom_vec3 point = { middle[0], middle[1], middle[2] };
	// Beyond the corners and the jitter; the factor covers the rounding of both.
	const double radius = 1.000001 * (sqrt(square) + l->reach);
	bool found = true;
	carom_mesh_point nearest;
	if (carom_mesh_closest_point(l->mesh, point, radius, &found, &nearest) != CAROM_SUCCESS)
		return;
	if (!found || single) {
		if (contains(l, point))
			take_block(l, b, found);
		return;
	}
	block half[2] = { *b, *b };
	half[0].end[longest] = half[1].begin[longest] = (b->begin[longest] + b->end[longest]) / 2;
	walk(l, &half[0]);
	walk(l, &half[1]);
}

/// Set the spacing; false when there would be too many points along an axis.
static bool set_spacing(lattice *l, double spacing, double jitter)
{
	l->spacing = spacing;
	// half the diagonal of the cube in which a point may stand
	l->reach = 0.8660254037844387 * jitter * spacing;
	l->count = 0;
	for (int axis = 0; axis < 3; axis++) {
		const double points = ceil(l->size[axis] / spacing);
		if (!(points < AXIS_MAX))
			return false;
		l->side[axis] = points < 1 ? 1 : (int64_t)points;
	}
	return true;
}

static void walk_all(lattice *l)
{
	const block all = { { 0, 0, 0 }, { l->side[0], l->side[1], l->side[2] } };
	walk(l, &all);
}

// ---- The spacing ----

/// By Newton's method, so that the last bit does not depend on the C library.
static double cube_root(double a)
{
	double x = a < 1 ? 1 : a;
	for (int i = 0; i < 100; i++)
		x -= (x - a / (x * x)) / 3;
	return x;
}

/// Count the points inside at a spacing. False when that would take too long: a solid has far fewer
/// blocks at its surface than points in it, once there are some, but there are meshes too thin for
/// that.
static bool count_inside(lattice *l, double spacing, double jitter, int64_t wanted)
{
	l->visits = 50 * wanted + 200000;
	if (!set_spacing(l, spacing, jitter))
		return false;
	walk_all(l);
	return l->visits > 0;
}

/// The widest spacing found at which at least wanted points are inside. Their number goes with the
/// third power of the spacing, which gives a guess; where it does not (points come and go as the
/// lattice moves), bisection ends the search. False when the mesh is too thin.
static bool find_spacing(lattice *l, int64_t wanted, double jitter)
{
	enum { TRIES = 40, SOME = 64 };
	const double accepted = (double)wanted * (1 + SURPLUS_ACCEPTED), aim = (double)wanted * (1 + 0.5 * SURPLUS_ACCEPTED);
	double enough = fmax(l->size[0], fmax(l->size[1], l->size[2])), too_wide = 0;
	if (!count_inside(l, enough, jitter, wanted))
		return false;
	while (l->count < wanted) {
		too_wide = enough;
		enough *= l->count < SOME ? 0.5 : fmin(0.9, 0.99 * cube_root((double)l->count / aim));
		if (!count_inside(l, enough, jitter, wanted))
			return false;
	}
	int64_t count = l->count;
	// Without a spacing that is too wide, there is the one point of the widest lattice.
	for (int i = 0; i < TRIES && too_wide > 0 && (double)count > accepted; i++) {
		double spacing = enough * cube_root((double)count / aim);
		if (i % 3 == 2 || !(spacing > enough && spacing < too_wide))
			spacing = 0.5 * (enough + too_wide);
		if (!count_inside(l, spacing, jitter, wanted))
			return false;
		if (l->count < wanted) {
			too_wide = spacing;
		} else {
			enough = spacing;
			count = l->count;
		}
	}
	return set_spacing(l, enough, jitter);
}

// ---- The spheres ----

/// Sphere q of the set, from entry i of the lattice's list. Jitter never takes it out of the mesh.
static void place_sphere(const lattice *l, const scene_sampling *s, double radius, int64_t i, int64_t q, float *xyzr)
{
	const int64_t number = l->numbers[i];
	const int64_t at[3] = { number % AXIS_MAX, number / AXIS_MAX % AXIS_MAX, number / AXIS_MAX / AXIS_MAX };
	float moved[3];
	for (int axis = 0; axis < 3; axis++) {
		const double u = (double)io_uniform(s->seed, 4 * (uint64_t)q + (uint64_t)axis) - 0.5;
		xyzr[axis] = (float)coordinate(l, axis, at[axis]);
		moved[axis] = (float)(l->lower[axis] + ((double)at[axis] + 0.5 + s->jitter * u) * l->spacing);
	}
	if (!l->near[i] || contains(l, (carom_vec3){ (double)moved[0], (double)moved[1], (double)moved[2] }))
		memcpy(xyzr, moved, sizeof moved);
	const bool half = s->mix && io_uniform(s->seed, 4 * (uint64_t)q + 3) < 0.5f;
	xyzr[3] = (float)(half ? 0.5 * radius : radius);
}

/// Neighbours in space become strangers in memory (Fisher and Yates' shuffle).
static void shuffle(io_sphere_set *spheres, uint64_t seed)
{
	float(*values)[4] = spheres->values;
	for (int64_t i = spheres->count; i > 1; i--) {
		const int64_t j = (int64_t)(io_mix64(io_mix64(~seed) ^ (uint64_t)i) % (uint64_t)i);
		float t[4];
		memcpy(t, values[i - 1], sizeof t);
		memcpy(values[i - 1], values[j], sizeof t);
		memcpy(values[j], t, sizeof t);
	}
}

/// The listed points, less a surplus that is left out evenly.
static void place_spheres(const lattice *l, const scene_sampling *s, double radius, io_sphere_set *spheres)
{
	float *values = spheres->values;
	const int64_t wanted = spheres->count;
	int64_t q = 0;
	for (int64_t i = 0; i < l->count; i++)
		// Of the first i + 1 points, this part is to have been taken.
		if (q < wanted * (i + 1) / l->count) {
			place_sphere(l, s, radius, i, q, values + 4 * q);
			q++;
		}
	spheres->count = q;
	shuffle(spheres, s->seed);
}

/// All points of the lattice, whose spacing is set, into spheres.
static bool fill(lattice *l, const scene_sampling *s, io_sphere_set *spheres, sim_error *error)
{
	l->count = 0;
	l->limit = CAROM_MAX_SPHERES + CAROM_MAX_SPHERES / 2; // a surplus aside
	l->visits = INT64_MAX;
	walk_all(l);
	const int64_t found = l->count, wanted = s->count ? s->count : found;
	if (found == 0)
		return sim_fail(error, "has no room for a sphere of this radius: no point of the lattice is inside");
	if (wanted > CAROM_MAX_SPHERES || found > l->limit)
		return sim_fail(error, "holds more spheres than the 50000000 that a set can have; choose a larger radius");
	l->numbers = malloc(((size_t)found + 1) * sizeof *l->numbers);
	l->near = malloc(((size_t)found + 1) * sizeof *l->near);
	const bool room = l->numbers && l->near && io_allocate_spheres(spheres, wanted, false);
	if (room) {
		l->count = 0;
		l->visits = INT64_MAX;
		walk_all(l);
		// Nothing touches when neighbours that jitter takes towards each other are a diameter
		// apart.
		const double radius = s->radius > 0 ? s->radius : 0.5 * (1 - s->jitter) * l->spacing;
		place_spheres(l, s, radius, spheres);
	}
	free(l->numbers);
	free(l->near);
	return room || sim_fail(error, "out of memory");
}

static bool sample(const carom_mesh *mesh, const carom_mesh_report *report, const scene_sampling *s, io_sphere_set *spheres,
	double *spacing, sim_error *error)
{
	lattice l = { .mesh = mesh, .limit = INT64_MAX };
	for (int axis = 0; axis < 3; axis++) {
		l.lower[axis] = report->lower[axis];
		l.size[axis] = report->upper[axis] - report->lower[axis];
	}
	const bool found =
		s->count ? find_spacing(&l, s->count, s->jitter) : set_spacing(&l, 2 * s->radius / (1 - s->jitter), s->jitter);
	if (!found)
		return sim_fail(error,
			s->count ? "is too thin to hold that many spheres"
					 : "would need more than a million spheres along an axis; choose a larger radius");
	*spacing = l.spacing;
	return fill(&l, s, spheres, error);
}

bool scene_sample_mesh(carom_context *context, const sim_mesh *mesh, const scene_sampling *sampling, io_sphere_set *spheres,
	double *spacing, sim_error *error)
{
	memset(spheres, 0, sizeof *spheres);
	if (!(sampling->radius >= 0 && isfinite(sampling->radius)) || sampling->count < 0 || sampling->count > CAROM_MAX_SPHERES ||
		!(sampling->jitter >= 0 && sampling->jitter < 1) || (sampling->radius == 0 && sampling->count == 0))
		return sim_fail(error,
			"the sampling is wrong: it needs a radius above 0 or a count of 1 to 50000000, and a jitter from 0 to below 1");
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices.data = mesh->vertices;
	def.vertices.type = CAROM_FLOAT32;
	def.vertex_count = mesh->vertex_count;
	def.triangles = mesh->triangles;
	def.triangle_count = mesh->triangle_count;
	carom_mesh_report report;
	carom_mesh *made;
	const carom_result result = carom_create_mesh(context, &def, &report, &made);
	if (result == CAROM_INVALID_MESH)
		return sim_fail(error, "%s", report.first_finding);
	if (result != CAROM_SUCCESS)
		return sim_fail(error, "%s", carom_error_text(context));
	const bool done = report.closed ? sample(made, &report, sampling, spheres, spacing, error)
									: sim_fail(error, "is not closed, so it has no inside to fill");
	carom_release_mesh(made);
	return done;
}

// ---- Spheres at random ----

bool scene_strew_spheres(int64_t count, double radius_min, double radius_max, double side, uint64_t seed, io_sphere_set *spheres)
{
	if (!io_allocate_spheres(spheres, count, false))
		return false;
	const float length = (float)side, least = (float)radius_min, range = (float)(radius_max - radius_min);
	float *values = spheres->values;
	for (int64_t i = 0; i < 4 * count; i++) {
		const float u = io_uniform(seed, (uint64_t)i);
		values[i] = i % 4 < 3 ? length * u : least + range * u;
	}
	spheres->has_walls = true;
	for (int axis = 0; axis < 3; axis++)
		spheres->upper[axis] = length;
	return true;
}
