// Points on the unit sphere and their convex hull, which is their Delaunay triangulation on the
// sphere. The hull grows from the top down: a point below all others sees at least one triangle at
// the point before it, because the hull lies in the half space above that point. From there the
// visible triangles are found by their neighbours, and replaced by a fan.
#include "sim/shapes/shape_parts.h"
#include <stdlib.h>
#include <string.h>

void sim_fibonacci_sphere(int32_t count, carom_vec3 *points)
{
	const double golden = 0.618033988749894848; // turns
	for (int32_t i = 0; i < count; i++) {
		double z = 1 - (2 * i + 1.0) / count;
		double radius = sqrt(1 - z * z), sine, cosine;
		sim_sincos(i * golden, &sine, &cosine);
		points[i] = (carom_vec3){ radius * cosine, radius * sine, z };
	}
}

// side[k] of a face: the side beyond (3 * face + side).
typedef struct hull_face {
	int32_t corner[3];
	int32_t side[3];
	bool dead;
} hull_face;

// A side of a live face seen from the dead one across it.
typedef struct horizon_edge {
	int32_t from, to, beyond;
} horizon_edge;

typedef struct hull {
	const carom_vec3 *points;
	hull_face *faces;
	int32_t face_count;
	int32_t *unused; // stack of dead faces whose place is free
	int32_t unused_count;
	int32_t *stack; // dead faces of this step
	int32_t dead_count;
	horizon_edge *horizon;
	int32_t horizon_count;
	int32_t *fan_at; // [points] the face of the newest fan that starts at a point
	int32_t *fan;    // faces of the newest fan
	int32_t fan_count;
} hull;

static bool sees(const hull *h, int32_t face, int32_t point)
{
	const int32_t *corner = h->faces[face].corner;
	carom_vec3 a = h->points[corner[0]];
	carom_vec3 normal = sim_cross(sim_sub(h->points[corner[1]], a), sim_sub(h->points[corner[2]], a));
	return sim_dot(normal, sim_sub(h->points[point], a)) > 0;
}

static void link_sides(hull *h, int32_t a, int32_t b)
{
	h->faces[a / 3].side[a % 3] = b;
	h->faces[b / 3].side[b % 3] = a;
}

static void start(hull *h)
{
	static const int32_t corners[4][3] = { { 0, 1, 2 }, { 0, 3, 1 }, { 1, 3, 2 }, { 2, 3, 0 } };
	h->face_count = 4;
	for (int i = 0; i < 4; i++) {
		memcpy(h->faces[i].corner, corners[i], sizeof corners[i]);
	}
	bool inside_out = sees(h, 0, 3);
	for (int i = 0; inside_out && i < 4; i++) {
		h->faces[i].corner[1] = corners[i][2];
		h->faces[i].corner[2] = corners[i][1];
	}
	for (int32_t a = 0; a < 12; a++) {
		for (int32_t b = 0; b < a; b++) {
			const int32_t *p = h->faces[a / 3].corner, *q = h->faces[b / 3].corner;
			if (p[a % 3] == q[(b % 3 + 1) % 3] && p[(a % 3 + 1) % 3] == q[b % 3]) {
				link_sides(h, a, b);
			}
		}
	}
	h->fan_count = 4;
	for (int i = 0; i < 4; i++) {
		h->fan[i] = i;
	}
}

static void mark_dead(hull *h, int32_t face)
{
	h->faces[face].dead = true;
	h->stack[h->dead_count++] = face;
}

/// Mark all faces that the point sees and list the sides around them; false when it sees none.
static bool find_visible(hull *h, int32_t point)
{
	h->dead_count = h->horizon_count = 0;
	for (int32_t i = 0; i < h->fan_count && h->dead_count == 0; i++) {
		if (sees(h, h->fan[i], point)) {
			mark_dead(h, h->fan[i]);
		}
	}
	for (int32_t i = 0; i < h->dead_count; i++) {
		const hull_face *face = &h->faces[h->stack[i]];
		for (int k = 0; k < 3; k++) {
			int32_t beyond = face->side[k];
			if (!h->faces[beyond / 3].dead && sees(h, beyond / 3, point)) {
				mark_dead(h, beyond / 3);
			}
		}
	}
	for (int32_t i = 0; i < h->dead_count; i++) {
		const hull_face *face = &h->faces[h->stack[i]];
		for (int k = 0; k < 3; k++) {
			if (!h->faces[face->side[k] / 3].dead) {
				h->horizon[h->horizon_count++] = (horizon_edge){ face->corner[k], face->corner[(k + 1) % 3], face->side[k] };
			}
		}
	}
	return h->dead_count > 0;
}

static void add_fan(hull *h, int32_t point)
{
	for (int32_t i = 0; i < h->dead_count; i++) {
		h->unused[h->unused_count++] = h->stack[i];
	}
	h->fan_count = 0;
	for (int32_t i = 0; i < h->horizon_count; i++) {
		const horizon_edge *edge = &h->horizon[i];
		int32_t face = h->unused_count > 0 ? h->unused[--h->unused_count] : h->face_count++;
		h->faces[face] = (hull_face){ { edge->from, edge->to, point }, { 0, 0, 0 }, false };
		link_sides(h, 3 * face, edge->beyond);
		h->fan_at[edge->from] = face;
		h->fan[h->fan_count++] = face;
	}
	for (int32_t i = 0; i < h->fan_count; i++) {
		int32_t face = h->fan[i];
		link_sides(h, 3 * face + 1, 3 * h->fan_at[h->faces[face].corner[1]] + 2);
	}
}

static bool hull_alloc(hull *h, const sim_surface *surface)
{
	// A closed triangulation of n points has 2n - 4 faces and no step has more.
	size_t points = (size_t)surface->vertex_count, faces = 2 * points;
	memset(h, 0, sizeof *h);
	h->points = surface->points;
	h->faces = calloc(faces, sizeof *h->faces);
	h->unused = calloc(faces, sizeof *h->unused);
	h->stack = calloc(faces, sizeof *h->stack);
	h->horizon = calloc(faces, sizeof *h->horizon);
	h->fan = calloc(faces, sizeof *h->fan);
	h->fan_at = calloc(points, sizeof *h->fan_at);
	return h->faces != NULL && h->unused != NULL && h->stack != NULL && h->horizon != NULL && h->fan != NULL &&
		h->fan_at != NULL;
}

static void hull_free(hull *h)
{
	free(h->faces);
	free(h->unused);
	free(h->stack);
	free(h->horizon);
	free(h->fan);
	free(h->fan_at);
}

/// With every point a corner, no place is left unused and the faces lie without gaps.
static bool take_faces(const hull *h, sim_surface *surface)
{
	if (h->unused_count != 0 || h->face_count != surface->triangle_count) {
		return false;
	}
	for (int32_t i = 0; i < h->face_count; i++) {
		memcpy(surface->triangles + 3 * i, h->faces[i].corner, sizeof h->faces[i].corner);
		memcpy(surface->neighbours + 3 * i, h->faces[i].side, sizeof h->faces[i].side);
	}
	return true;
}

bool sim_sphere_hull(sim_surface *surface)
{
	hull h;
	bool done = hull_alloc(&h, surface);
	if (done) {
		start(&h);
	}
	for (int32_t point = 4; done && point < surface->vertex_count; point++) {
		done = find_visible(&h, point);
		if (done) {
			add_fan(&h, point);
		}
	}
	done = done && take_faces(&h, surface);
	hull_free(&h);
	return done;
}

bool sim_make_sphere(int32_t triangles, sim_surface *surface, sim_error *error)
{
	if (triangles % 2 != 0) {
		return sim_fail(error, "a closed sphere has an even number of triangles: take %d or %d", triangles - 1, triangles + 1);
	}
	if (!sim_surface_alloc(surface, triangles / 2 + 2, triangles)) {
		return false;
	}
	sim_fibonacci_sphere(surface->vertex_count, surface->points);
	return sim_sphere_hull(surface);
}
