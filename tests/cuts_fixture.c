#include "cuts_fixture.h"

#include "frame/body.h"
#include "frame/shape_table.h"
#include "geom/convex_query.h"
#include "geom/triangle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void place(const carom_mesh *mesh, carom_pose pose, double *places)
{
	const m3d rotation = m3d_from_quat(pose.orientation);
	REQUIRE(mesh->topology.vertex_count <= CUTS_MOST_VERTICES);
	for (int32_t v = 0; v < mesh->topology.vertex_count; v++) {
		const v3d p = v3d_add(m3d_mul(&rotation, v3d_from_floats(mesh->topology.vertices + 3 * v)), pose.position);
		for (int k = 0; k < 3; k++)
			places[3 * v + k] = v3d_get(p, k);
	}
}

void cuts_move_sheet(cuts_stage *s, bool at_once)
{
	const carom_strided end = { s->places, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(s->world, s->cloth, at_once ? &end : NULL, &end) == CAROM_SUCCESS);
}

static void begin(cuts_stage *s, carom_context *context, carom_mesh *sheet)
{
	s->context = context;
	s->world = fixture_world(context, NULL);
	s->sheet = sheet;
	s->mesh = NULL;
	s->sheet_vertices = sheet->topology.vertex_count;
	s->keep_edges = false;
	place(sheet, fixture_at(0, 0, 0), s->places);
}

static void add_cloth(cuts_stage *s)
{
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(s->sheet);
	def.thickness = CUTS_THICKNESS;
	def.self_collision = false;
	REQUIRE(carom_world_add_body(s->world, &def, &s->cloth) == CAROM_SUCCESS);
}

void cuts_open_stage(cuts_stage *s, carom_context *context, carom_mesh *sheet, carom_mesh *mesh, carom_body_kind kind,
	carom_pose pose, bool solid_first)
{
	begin(s, context, sheet);
	s->mesh = mesh;
	if (!solid_first)
		add_cloth(s);
	s->holder = fixture_add(s->world, fixture_of_mesh(mesh), pose, kind);
	if (solid_first)
		add_cloth(s);
	place(mesh, pose, s->surface);
}

void cuts_open_shape_stage(cuts_stage *s, carom_context *context, carom_mesh *sheet, const carom_shape *shape, carom_pose pose)
{
	begin(s, context, sheet);
	s->shape = *shape;
	s->pose = pose;
	add_cloth(s);
	s->holder = fixture_add(s->world, *shape, pose, CAROM_STATIC);
}

void cuts_put_sheet(cuts_stage *s, carom_pose pose)
{
	place(s->sheet, pose, s->places);
	cuts_move_sheet(s, true);
}

void cuts_close_stage(cuts_stage *s)
{
	carom_destroy_world(s->world);
	if (s->mesh)
		carom_release_mesh(s->mesh);
	carom_release_mesh(s->sheet);
}

// ---- Brute force ----

v3d cuts_corner_of(const carom_mesh *mesh, const double *places, int32_t triangle, int k)
{
	return v3d_from_doubles(&places[3 * mesh->topology.triangles[3 * triangle + k]]);
}

static bool are_apart(const v3d a[3], const v3d b[3])
{
	bool apart = false;
	for (int k = 0; k < 3 && !apart; k++) {
		double ends[2][2] = { { INFINITY, -INFINITY }, { INFINITY, -INFINITY } };
		for (int i = 0; i < 3; i++) {
			const double of[2] = { v3d_get(a[i], k), v3d_get(b[i], k) };
			for (int j = 0; j < 2; j++) {
				ends[j][0] = fmin(ends[j][0], of[j]);
				ends[j][1] = fmax(ends[j][1], of[j]);
			}
		}
		apart = ends[0][0] > ends[1][1] || ends[1][0] > ends[0][1];
	}
	return apart;
}

/// How far a point is from the shape; negative: inside.
static double distance_from_shape(const cuts_stage *s, v3d point)
{
	const m3d rotation = m3d_from_quat(s->pose.orientation);
	const cr_convex convex = cr_convex_of(&s->shape);
	v3d nearest, normal;
	return cr_convex_distance(&convex, m3d_tmul(&rotation, v3d_sub(point, s->pose.position)), &nearest, &normal);
}

enum { POINTS = 8 }; // of an edge

/// Is one of 45 points of a triangle inside the shape?
static bool is_in_shape(const cuts_stage *s, const v3d corner[3])
{
	const v3d middle = v3d_scale(v3d_add(v3d_add(corner[0], corner[1]), corner[2]), 1.0 / 3);
	double size = 0;
	for (int k = 0; k < 3; k++)
		size = fmax(size, v3d_length(v3d_sub(corner[k], middle)));
	bool inside = false;
	if (distance_from_shape(s, middle) > size)
		return false;
	for (int i = 0; i < (POINTS + 1) * (POINTS + 1) && !inside; i++) {
		const double u = (double)(i / (POINTS + 1)) / POINTS, v = (double)(i % (POINTS + 1)) / POINTS;
		if (u + v <= 1)
			inside = distance_from_shape(s, v3d_mad(v3d_mad(v3d_scale(corner[0], 1 - u - v), u, corner[1]), v, corner[2])) < 0;
	}
	return inside;
}

static int count_triangles_in_shape(const cuts_stage *s)
{
	int count = 0;
	for (int32_t i = 0; i < s->sheet->topology.triangle_count; i++) {
		v3d corner[3];
		for (int k = 0; k < 3; k++)
			corner[k] = cuts_corner_of(s->sheet, s->places, i, k);
		count += is_in_shape(s, corner);
	}
	return count;
}

int cuts_count_crossings(const cuts_stage *s)
{
	int count = 0;
	if (!s->mesh)
		return count_triangles_in_shape(s);
	for (int32_t i = 0; i < s->sheet->topology.triangle_count; i++) {
		for (int32_t j = 0; j < s->mesh->topology.triangle_count; j++) {
			v3d a[3], b[3];
			for (int k = 0; k < 3; k++) {
				a[k] = cuts_corner_of(s->sheet, s->places, i, k);
				b[k] = cuts_corner_of(s->mesh, s->surface, j, k);
			}
			count += !are_apart(a, b) && cr_triangles_intersect(a, b);
		}
	}
	return count;
}

bool cuts_is_inside(const cuts_stage *s, int32_t vertex)
{
	const v3d at = v3d_from_doubles(&s->places[3 * vertex]);
	bool inside = !s->mesh && distance_from_shape(s, at) < 0;
	REQUIRE(!s->mesh || carom_mesh_contains(s->mesh, at, &inside) == CAROM_SUCCESS);
	return inside;
}

int cuts_count_inside(const cuts_stage *s)
{
	int count = 0;
	for (int32_t v = 0; v < s->sheet_vertices; v++)
		count += cuts_is_inside(s, v);
	return count;
}

static v3d place_of(const cuts_stage *s, carom_body_id body, int32_t vertex)
{
	return v3d_from_doubles((fixture_same_id(body, s->cloth) ? s->places : s->surface) + 3 * vertex);
}

/// Contacts have weights, and those that are led end on the shape. An edge that grazes a cone may name another of its points.
static void check_shape_contacts(const cuts_stage *s)
{
	int64_t led = 0, beside = 0;
	const carom_surface_shape_contact_view view = carom_world_surface_shape_contacts(s->world);
	for (int64_t i = 0; i < view.count; i++) {
		const carom_surface_shape_contact *c = &view.data[i];
		v3d a = { 0, 0, 0 };
		double sum = 0;
		for (int k = 0; k < 3 && c->vertices[k] >= 0; k++) {
			a = v3d_mad(a, c->weight[k], place_of(s, c->body_a, c->vertices[k]));
			sum += c->weight[k];
		}
		CHECK_NEAR(sum, 1, 1e-9);
		CHECK_NEAR(v3d_length(fixture_vector(c->normal)), 1, 1e-9);
		CHECK(c->distance < c->thickness);
		if (!c->led)
			continue;
		CHECK(c->distance < 0 && v3d_length(v3d_sub(v3d_mad(a, -c->distance, c->normal), c->point)) < 1e-9);
		CHECK(distance_from_shape(s, c->point) > -1e-6);
		led++;
		beside += distance_from_shape(s, c->point) > 1e-5;
	}
	CHECK(20 * beside <= 20 + led);
}

void cuts_check_contacts(const cuts_stage *s)
{
	check_shape_contacts(s);
	const carom_surface_contact_view view = carom_world_surface_contacts(s->world);
	for (int64_t i = 0; i < view.count; i++) {
		const carom_surface_contact *c = &view.data[i];
		const int of_a = c->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2;
		v3d a = { 0, 0, 0 }, b = { 0, 0, 0 };
		for (int k = 0; k < 4; k++) {
			const v3d at = place_of(s, k < of_a ? c->body_a : c->body_b, c->vertices[k]);
			CHECK(c->weight[k] >= 0 && c->weight[k] <= 1);
			if (k < of_a)
				a = v3d_mad(a, c->weight[k], at);
			else
				b = v3d_mad(b, c->weight[k], at);
		}
		CHECK(v3d_length(v3d_sub(a, fixture_vector(c->point_a))) < 1e-9);
		CHECK(v3d_length(v3d_sub(b, fixture_vector(c->point_b))) < 1e-9);
		CHECK_NEAR(v3d_length(fixture_vector(c->normal)), 1, 1e-9);
		CHECK_NEAR(v3d_dot(fixture_vector(c->normal), v3d_sub(a, b)), c->distance, 1e-6);
		CHECK(c->distance < c->thickness);
		CHECK(c->through == (c->distance < 0));
	}
}

// ---- A user ----

enum { ROUNDS = 10 };

/// Keep edges as long as they were, each once.
static void shorten(cuts_stage *s)
{
	const cr_topology *t = &s->sheet->topology;
	for (int32_t i = 0; i < 3 * t->triangle_count; i++) {
		const int32_t a = t->triangles[i], b = t->triangles[i - i % 3 + (i + 1) % 3];
		const v3d now = v3d_sub(v3d_from_doubles(&s->places[3 * b]), v3d_from_doubles(&s->places[3 * a]));
		const double rest = v3d_length(v3d_sub(v3d_from_floats(t->vertices + 3 * b), v3d_from_floats(t->vertices + 3 * a)));
		const double by = 0.5 * (1 - rest / v3d_length(now));
		for (int k = 0; k < 3; k++) {
			s->places[3 * a + k] += by * v3d_get(now, k);
			s->places[3 * b + k] -= by * v3d_get(now, k);
		}
	}
}

/// What contacts ask of the vertices of the sheet.
typedef struct moving {
	cuts_stage *stage;
	const double *began; // where the sheet was when they were found
	v3d moves[CUTS_MOST_VERTICES];
	double shares[CUTS_MOST_VERTICES];
} moving;

/// A contact of a feature of some vertices of the sheet, which lacks a distance along a direction.
static void ask(moving *m, const int32_t *vertices, const double *weight, int count, v3d out, double lacks)
{
	double sum = 0;
	for (int k = 0; k < count; k++) {
		const int32_t v = vertices[k];
		const v3d moved = v3d_sub(v3d_from_doubles(&m->stage->places[3 * v]), v3d_from_doubles(&m->began[3 * v]));
		sum += weight[k] * weight[k];
		lacks -= weight[k] * v3d_dot(out, moved);
	}
	for (int k = 0; k < count && lacks > 0; k++) {
		const int32_t v = vertices[k];
		m->moves[v] = v3d_mad(m->moves[v], weight[k] * weight[k] * lacks / sum, out);
		m->shares[v] += weight[k];
	}
}

/// Each vertex moves by the mean of what its contacts ask for. began: where the sheet was when they were found.
static void part(cuts_stage *s, const double *began)
{
	static moving m;
	const carom_surface_contact_view view = carom_world_surface_contacts(s->world);
	const carom_surface_shape_contact_view shapes = carom_world_surface_shape_contacts(s->world);
	memset(&m, 0, sizeof m);
	m.stage = s;
	m.began = began;
	for (int64_t i = 0; i < view.count; i++) {
		const carom_surface_contact *c = &view.data[i];
		const int of_a = c->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2;
		const bool is_a = fixture_same_id(c->body_a, s->cloth);
		const int first = is_a ? 0 : of_a, end = is_a ? of_a : 4;
		ask(&m, c->vertices + first, c->weight + first, end - first, v3d_scale(fixture_vector(c->normal), is_a ? 1 : -1),
			c->thickness - c->distance);
	}
	for (int64_t i = 0; i < shapes.count; i++) {
		const carom_surface_shape_contact *c = &shapes.data[i];
		ask(&m, c->vertices, c->weight,
			c->vertices[1] < 0       ? 1
				: c->vertices[2] < 0 ? 2
									 : 3,
			fixture_vector(c->normal), c->thickness - c->distance);
	}
	for (int32_t v = 0; v < s->sheet_vertices; v++) {
		for (int k = 0; k < 3 && m.shares[v] > 0; k++)
			s->places[3 * v + k] += v3d_get(m.moves[v], k) / m.shares[v];
	}
}

void cuts_solve(cuts_stage *s)
{
	static double began[3 * CUTS_MOST_VERTICES];
	memcpy(began, s->places, sizeof began);
	for (int round = 0; round < (s->keep_edges ? ROUNDS : 1); round++) {
		part(s, began);
		if (s->keep_edges)
			shorten(s);
	}
	cuts_move_sheet(s, false);
}

int cuts_part(cuts_stage *s, int steps)
{
	for (int step = 0; step < steps; step++) {
		fixture_step(s->world);
		cuts_check_contacts(s);
		if (cuts_count_crossings(s) == 0)
			return step;
		cuts_solve(s);
	}
	return steps;
}
