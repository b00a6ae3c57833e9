#include "cuts_fixture.h"

#include "frame/body.h"
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

void cuts_open_stage(cuts_stage *s, carom_context *context, carom_mesh *sheet, carom_mesh *mesh, carom_body_kind kind,
	carom_pose pose, bool solid_first)
{
	carom_body_def def = carom_default_body_def();
	s->context = context;
	s->world = fixture_world(context, NULL);
	s->sheet = sheet;
	s->mesh = mesh;
	s->sheet_vertices = sheet->topology.vertex_count;
	s->keep_edges = false;
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(sheet);
	def.thickness = CUTS_THICKNESS;
	def.self_collision = false;
	if (solid_first)
		s->holder = fixture_add(s->world, fixture_of_mesh(mesh), pose, kind);
	REQUIRE(carom_world_add_body(s->world, &def, &s->cloth) == CAROM_SUCCESS);
	if (!solid_first)
		s->holder = fixture_add(s->world, fixture_of_mesh(mesh), pose, kind);
	place(mesh, pose, s->surface);
	place(sheet, fixture_at(0, 0, 0), s->places);
}

void cuts_put_sheet(cuts_stage *s, carom_pose pose)
{
	place(s->sheet, pose, s->places);
	cuts_move_sheet(s, true);
}

void cuts_close_stage(cuts_stage *s)
{
	carom_destroy_world(s->world);
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

int cuts_count_crossings(const cuts_stage *s)
{
	int count = 0;
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

int cuts_count_inside(const cuts_stage *s)
{
	int count = 0;
	for (int32_t v = 0; v < s->sheet_vertices; v++) {
		bool inside = false;
		REQUIRE(carom_mesh_contains(s->mesh, v3d_from_doubles(&s->places[3 * v]), &inside) == CAROM_SUCCESS);
		count += inside;
	}
	return count;
}

static v3d place_of(const cuts_stage *s, carom_body_id body, int32_t vertex)
{
	return v3d_from_doubles((fixture_same_id(body, s->cloth) ? s->places : s->surface) + 3 * vertex);
}

void cuts_check_contacts(const cuts_stage *s)
{
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

/// Each vertex moves by the mean of what its contacts ask for. began: where the sheet was when they were found.
static void part(cuts_stage *s, const double *began)
{
	static v3d moves[CUTS_MOST_VERTICES];
	static double shares[CUTS_MOST_VERTICES];
	const carom_surface_contact_view view = carom_world_surface_contacts(s->world);
	memset(moves, 0, sizeof moves);
	memset(shares, 0, sizeof shares);
	for (int64_t i = 0; i < view.count; i++) {
		const carom_surface_contact *c = &view.data[i];
		const int of_a = c->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2;
		const bool is_a = fixture_same_id(c->body_a, s->cloth);
		const int first = is_a ? 0 : of_a, end = is_a ? of_a : 4;
		const v3d out = v3d_scale(fixture_vector(c->normal), is_a ? 1 : -1);
		double sum = 0, lacks = c->thickness - c->distance;
		for (int k = first; k < end; k++) {
			const int32_t v = c->vertices[k];
			const v3d moved = v3d_sub(v3d_from_doubles(&s->places[3 * v]), v3d_from_doubles(&began[3 * v]));
			sum += c->weight[k] * c->weight[k];
			lacks -= c->weight[k] * v3d_dot(out, moved);
		}
		for (int k = first; k < end && lacks > 0; k++) {
			const int32_t v = c->vertices[k];
			moves[v] = v3d_mad(moves[v], c->weight[k] * c->weight[k] * lacks / sum, out);
			shares[v] += c->weight[k];
		}
	}
	for (int32_t v = 0; v < s->sheet_vertices; v++) {
		for (int k = 0; k < 3 && shares[v] > 0; k++)
			s->places[3 * v + k] += v3d_get(moves[v], k) / shares[v];
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
