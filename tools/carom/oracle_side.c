// Does a closed mesh wind around a piece of another one? See tool_oracle.h. Each piece of the inner
// mesh is asked by one of its vertices: a segment from it to a point outside crosses the surface as
// often one way as the other, unless the vertex is inside. The signs are exact; where a segment
// meets an edge or a vertex, so that one is zero, another end is tried.
#include "tool_oracle.h"

#include "mesh_input.h"
#include "oracle_boxes.h"
#include "pieces.h"
#include "io/mesh_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ENDS = 64 };

static carom_vec3 vertex_of(const sim_mesh *mesh, int32_t v)
{
	return (
		carom_vec3){ mesh_input_coordinate(mesh, v, 0), mesh_input_coordinate(mesh, v, 1), mesh_input_coordinate(mesh, v, 2) };
}

static bool is_same_place(carom_vec3 a, carom_vec3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

/// How the segment from p to q crosses a triangle: 1 or -1 by its direction, 0 not at all. *clear
/// becomes false where an edge or a corner is met, or an end lies in the plane.
static int crossing(carom_vec3 p, carom_vec3 q, const carom_vec3 t[3], bool *clear)
{
	// Two corners at one place: the other two sides are one segment, there and back.
	if (is_same_place(t[0], t[1]) || is_same_place(t[1], t[2]) || is_same_place(t[2], t[0]))
		return 0;
	const int from = carom_orientation(t[0], t[1], t[2], p), to = carom_orientation(t[0], t[1], t[2], q);
	if (from * to > 0)
		return 0;
	const int ab = carom_orientation(p, q, t[0], t[1]), bc = carom_orientation(p, q, t[1], t[2]),
			  ca = carom_orientation(p, q, t[2], t[0]);
	if (ab * bc < 0 || bc * ca < 0 || ca * ab < 0)
		return 0;
	if (ab == 0 || bc == 0 || ca == 0 || from == 0 || to == 0)
		*clear = false;
	return from;
}

static int winding(carom_vec3 p, carom_vec3 q, const sim_mesh *mesh, bool *clear)
{
	int sum = 0;
	*clear = true;
	for (int32_t t = 0; t < mesh->triangle_count && *clear; t++) {
		const int32_t *corner = mesh->triangles + 3 * (size_t)t;
		const carom_vec3 c[3] = { vertex_of(mesh, corner[0]), vertex_of(mesh, corner[1]), vertex_of(mesh, corner[2]) };
		sum += crossing(p, q, c, clear);
	}
	return sum;
}

/// A point outside of the box of a mesh, another one for each number.
static carom_vec3 point_outside(const sim_mesh *mesh, int number)
{
	double most = 1;
	for (int64_t i = 0; i < 3 * (int64_t)mesh->vertex_count; i++) {
		const double value = mesh->doubles ? mesh->doubles[i] : (double)mesh->vertices[i];
		most = fmax(most, fabs(value));
	}
	const double turn = 0.7 + 0.61803398874989 * number;
	return (carom_vec3){ 4 * most, most * (3 * (turn - floor(turn)) - 1.3), most * (3 * (7 * turn - floor(7 * turn)) - 1.7) };
}

static bool winds_around(carom_vec3 p, const sim_mesh *mesh)
{
	for (int number = 0; number < MOST_ENDS; number++) {
		bool clear;
		const int sum = winding(p, point_outside(mesh, number), mesh, &clear);
		if (clear)
			return sum != 0;
	}
	return false;
}

static bool some_piece_inside(const sim_mesh *inner, const sim_mesh *outer, int32_t *parents, bool *used)
{
	for (int32_t v = 0; v < inner->vertex_count; v++)
		parents[v] = v;
	for (int32_t t = 0; t < inner->triangle_count; t++) {
		const int32_t *corner = inner->triangles + 3 * (size_t)t;
		used[corner[0]] = used[corner[1]] = used[corner[2]] = true;
		pieces_join(parents, corner[0], corner[1]);
		pieces_join(parents, corner[0], corner[2]);
	}
	oracle_box box = oracle_empty_box(0);
	for (int32_t v = 0; v < outer->vertex_count; v++) {
		const carom_vec3 p = vertex_of(outer, v);
		oracle_grow_box(&box, (const double[3]){ p.x, p.y, p.z });
	}
	for (int32_t v = 0; v < inner->vertex_count; v++) {
		const carom_vec3 p = vertex_of(inner, v);
		const bool near = p.x >= box.lower[0] && p.x <= box.upper[0] && p.y >= box.lower[1] && p.y <= box.upper[1] &&
			p.z >= box.lower[2] && p.z <= box.upper[2];
		if (used[v] && parents[v] == v && near && winds_around(p, outer))
			return true;
	}
	return false;
}

/// A copy, so that its vertices can be welded: split vertices would make every triangle a piece.
static bool copy_mesh(const sim_mesh *mesh, sim_mesh *copy)
{
	const size_t values = 3 * (size_t)mesh->vertex_count, corners = 3 * (size_t)mesh->triangle_count;
	*copy = (sim_mesh){ .vertex_count = mesh->vertex_count, .triangle_count = mesh->triangle_count };
	copy->doubles = malloc(values * sizeof *copy->doubles + 1);
	copy->triangles = malloc(corners * sizeof *copy->triangles + 1);
	if (!copy->doubles || !copy->triangles)
		return false;
	for (size_t i = 0; i < values; i++)
		copy->doubles[i] = mesh->doubles ? mesh->doubles[i] : (double)mesh->vertices[i];
	if (corners > 0)
		memcpy(copy->triangles, mesh->triangles, corners * sizeof *copy->triangles);
	return sim_mesh_round(copy) && io_weld_mesh(copy);
}

bool oracle_lies_inside(const sim_mesh *inner, const sim_mesh *outer, bool *inside)
{
	sim_mesh welded;
	*inside = false;
	bool done = copy_mesh(inner, &welded);
	int32_t *parents = malloc(((size_t)inner->vertex_count + 1) * sizeof *parents);
	bool *used = calloc((size_t)inner->vertex_count + 1, sizeof *used);
	done = done && parents && used;
	if (done)
		*inside = some_piece_inside(&welded, outer, parents, used);
	free(parents);
	free(used);
	sim_mesh_free(&welded);
	return done;
}
