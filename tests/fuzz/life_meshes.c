// Meshes and numbers of the lives (fuzz_life.c): meshes that are closed, open, flat, in pieces, far from their origin, hulls, fields.
#include "life.h"

#include <math.h>
#include <string.h>

enum { MOST = 200 };

typedef struct soup {
	double vertices[3 * MOST];
	int32_t triangles[3 * 2 * MOST];
	int32_t vertex_count, triangle_count;
} soup;

static void add_vertex(soup *s, double x, double y, double z)
{
	double *v = s->vertices + 3 * s->vertex_count++;
	v[0] = x, v[1] = y, v[2] = z;
}

static void add_triangle(soup *s, int32_t a, int32_t b, int32_t c)
{
	int32_t *t = s->triangles + 3 * s->triangle_count++;
	t[0] = a, t[1] = b, t[2] = c;
}

static void add_box(soup *s, const double centre[3], const double half[3], bool inward)
{
	static const int32_t corners[12][3] = { { 0, 2, 3 }, { 0, 3, 1 }, { 4, 5, 7 }, { 4, 7, 6 }, { 0, 1, 5 }, { 0, 5, 4 },
		{ 2, 6, 7 }, { 2, 7, 3 }, { 0, 4, 6 }, { 0, 6, 2 }, { 1, 3, 7 }, { 1, 7, 5 } };
	const int32_t first = s->vertex_count;
	for (int i = 0; i < 8; i++)
		add_vertex(s, centre[0] + half[0] * ((i & 1) * 2 - 1), centre[1] + half[1] * ((i >> 1 & 1) * 2 - 1),
			centre[2] + half[2] * ((i >> 2) * 2 - 1));
	for (int i = 0; i < 12; i++)
		add_triangle(s, first + corners[i][inward ? 2 : 0], first + corners[i][1], first + corners[i][inward ? 0 : 2]);
}

// An L or a step: a polygon of six corners, drawn out along z.
static void add_step(soup *s, double height)
{
	static const double outline[6][2] = { { 0, 0 }, { 1, 0 }, { 1, 0.4 }, { 0.4, 0.4 }, { 0.4, 1 }, { 0, 1 } };
	static const int32_t cap[4][3] = { { 0, 1, 2 }, { 0, 2, 3 }, { 0, 3, 4 }, { 0, 4, 5 } };
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < 6; i++)
			add_vertex(s, outline[i][0] - 0.5, outline[i][1] - 0.5, height * (side - 0.5));
	for (int i = 0; i < 4; i++) {
		add_triangle(s, cap[i][2], cap[i][1], cap[i][0]);
		add_triangle(s, 6 + cap[i][0], 6 + cap[i][1], 6 + cap[i][2]);
	}
	for (int i = 0; i < 6; i++) {
		const int j = (i + 1) % 6;
		add_triangle(s, i, j, 6 + j);
		add_triangle(s, i, 6 + j, 6 + i);
	}
}

static void add_torus(soup *s, int n, double thick)
{
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			const double a = 6.283185307179586 * i / n, b = 6.283185307179586 * j / n, r = 0.6 + thick * cos(b);
			add_vertex(s, r * cos(a), r * sin(a), thick * sin(b));
			const int32_t q[4] = { n * i + j, n * ((i + 1) % n) + j, n * ((i + 1) % n) + (j + 1) % n, n * i + (j + 1) % n };
			add_triangle(s, q[0], q[1], q[2]);
			add_triangle(s, q[0], q[2], q[3]);
		}
}

static void add_sheet(life *l, soup *s, int n, double rough)
{
	for (int i = 0; i <= n; i++)
		for (int j = 0; j <= n; j++)
			add_vertex(s, 2.0 * i / n - 1, 2.0 * j / n - 1, rough * life_signed(l));
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			const int32_t a = i * (n + 1) + j;
			add_triangle(s, a, a + n + 1, a + n + 2);
			add_triangle(s, a, a + n + 2, a + 1);
		}
}

static void fill_soup(life *l, soup *s, int number)
{
	static const double zero[3] = { 0, 0, 0 }, half[3] = { 0.5, 0.5, 0.5 }, shell[3] = { 0.4, 0.4, 0.4 },
						flat[3] = { 0.8, 0.8, 0.02 }, aside[3] = { 0.75, 0, 0 }, small[3] = { 0.25, 0.25, 0.25 };
	switch (number) {
	case 0: add_box(s, zero, half, false); break;
	case 1: add_step(s, 1); break;
	case 2: add_torus(s, 6, 0.25); break;
	case 3: add_torus(s, 12, 0.2); break;
	case 4: // a hollow box
		add_box(s, zero, half, false);
		add_box(s, zero, shell, true);
		break;
	case 5: // two boxes, face on face in part
		add_box(s, zero, half, false);
		add_box(s, aside, small, false);
		break;
	case 6: add_box(s, zero, flat, false); break;
	case 7: add_sheet(l, s, 5, 0); break;
	case 8: add_sheet(l, s, 8, 0.1); break;
	case 9: // some triangles anywhere
		for (int i = 0; i < 24; i++) {
			const carom_vec3 v = life_vector(l, 0.7);
			add_vertex(s, v.x, v.y, v.z);
		}
		for (int i = 0; i < 12; i++) {
			const int32_t a = life_choose(l, 24), b = life_choose(l, 24), c = life_choose(l, 24);
			add_triangle(s, a, b, c);
		}
		break;
	case 10: // an open box
		add_box(s, zero, half, false);
		s->triangle_count = 10;
		break;
	default: // far from the origin of its coordinates
		add_step(s, 0.5);
		for (int i = 0; i < 3 * s->vertex_count; i++)
			s->vertices[i] += 1e6 * (1 + i % 3);
		break;
	}
}

static carom_result make_field(life *l, carom_context *context, carom_mesh **mesh)
{
	enum { COLUMNS = 9, ROWS = 8 };
	float heights[COLUMNS * ROWS];
	for (int i = 0; i < COLUMNS * ROWS; i++) {
		const double height = 0.15 * life_signed(l);
		heights[i] = life_choose(l, 25) == 0 ? NAN : life_choose(l, 2) ? (float)height : 0;
	}
	const double spacing[2] = { 0.3, 0.25 };
	return carom_create_height_field(context, COLUMNS, ROWS, heights, spacing, 0.5, mesh);
}

static carom_result make_hull(life *l, carom_context *context, carom_mesh **mesh)
{
	double points[3 * 24];
	for (int i = 0; i < 3 * 24; i++)
		points[i] = 0.6 * life_signed(l);
	const carom_strided strided = { points, 0, CAROM_FLOAT64 };
	return carom_create_hull(context, &strided, 24, mesh);
}

carom_mesh *life_make_mesh(life *l, int w, int number, uint64_t seed)
{
	// Both worlds get equal meshes: the numbers of each mesh are its own.
	const life_stream stream = l->stream;
	l->stream = (life_stream){ .random = seed + (uint64_t)number };
	carom_mesh *mesh;
	carom_result result;
	if (number >= 14)
		result = make_field(l, l->context[w], &mesh);
	else if (number >= 12)
		result = make_hull(l, l->context[w], &mesh);
	else {
		static soup s;
		s.vertex_count = s.triangle_count = 0;
		fill_soup(l, &s, number);
		uint32_t materials[2 * MOST];
		for (int i = 0; i < 2 * MOST; i++)
			materials[i] = (uint32_t)life_choose(l, 5);
		carom_mesh_def def = carom_default_mesh_def();
		def.vertices = (carom_strided){ s.vertices, 0, CAROM_FLOAT64 };
		def.vertex_count = s.vertex_count;
		def.triangles = s.triangles;
		def.triangle_count = s.triangle_count;
		def.materials = materials;
		def.sides = (carom_mesh_sides)life_choose(l, 3);
		def.grid_resolution = life_choose(l, 2) ? CAROM_GRID_BY_SIZE : life_choose(l, 12);
		if (number == 11)
			def.centre = (carom_vec3){ 1e6, 2e6, 3e6 };
		result = carom_create_mesh(l->context[w], &def, NULL, &mesh);
	}
	FUZZ_REQUIRE(result == CAROM_SUCCESS, "mesh %d: %s", number, carom_error_text(l->context[w]));
	l->stream = stream;
	return mesh;
}

// ---- Numbers ----

static double trouble(life *l)
{
	static const double known[] = { NAN, INFINITY, -1, 1e300, 1e15, 1e12, 1e-300, 5e-324, 1e-20, 0, 1e7, -0.0 };
	return known[life_choose(l, sizeof known / sizeof known[0])];
}

carom_pose life_pose(life *l)
{
	carom_pose p = { life_vector(l, 1.5), { 0, 0, 0, 1 } };
	const int place = life_choose(l, 40);
	if (place < 16) {
		p.position.x = floor(4 * p.position.x) / 4;
		p.position.y = floor(4 * p.position.y) / 4;
		p.position.z = floor(4 * p.position.z) / 4;
	} else if (place == 16)
		p.position = (carom_vec3){ 0, 0, 0 };
	else if (place == 17)
		p.position.x = trouble(l);
	else if (place == 18)
		p.position.y += 1e6;
	const int turn = life_choose(l, 6);
	if (turn < 3)
		return p;
	if (turn == 3) {
		p.orientation = (carom_quat){ 0, 0, 0.70710678118654752, 0.70710678118654752 };
		return p;
	}
	double q[4], sum = 1e-9;
	for (int i = 0; i < 4; i++) {
		q[i] = life_signed(l);
		sum += q[i] * q[i];
	}
	const double scale = 1 / sqrt(sum);
	p.orientation = (carom_quat){ q[0] * scale, q[1] * scale, q[2] * scale, q[3] * scale };
	return p;
}

double life_length(life *l)
{
	const int kind = life_choose(l, 60);
	if (kind == 0)
		return trouble(l);
	if (kind < 25)
		return 0.25 * (1 + kind % 4);
	return 0.525 + 0.475 * life_signed(l);
}

carom_shape life_shape(life *l)
{
	static const carom_shape_type types[] = { CAROM_SPHERE, CAROM_BOX, CAROM_CAPSULE, CAROM_CYLINDER, CAROM_CONE,
		CAROM_ELLIPSOID, CAROM_BOX, CAROM_HULL, CAROM_PLANE, CAROM_MESH, CAROM_MESH, CAROM_MESH, CAROM_MESH, CAROM_MESH };
	carom_shape shape = { .type = types[life_choose(l, sizeof types / sizeof types[0])] };
	shape.radius = 0.5 * life_length(l);
	shape.half_length = 0.5 * life_length(l);
	for (int k = 0; k < 3; k++)
		shape.half_extents[k] = 0.5 * life_length(l);
	shape.rounding = life_choose(l, 8) == 0 && shape.type != CAROM_PLANE ? 0.1 * life_length(l) : 0;
	if (shape.type == CAROM_HULL)
		shape.mesh = l->mesh[0][12 + life_choose(l, 2)];
	if (shape.type == CAROM_MESH)
		shape.mesh = l->mesh[0][life_choose(l, LIFE_MESHES)];
	return shape;
}

carom_shape life_shape_of(const life *l, carom_shape shape, int w)
{
	for (int i = 0; i < LIFE_MESHES && shape.mesh; i++)
		if (l->mesh[0][i] == shape.mesh) {
			shape.mesh = l->mesh[w][i];
			break;
		}
	return shape;
}

carom_body_id life_id(life *l)
{
	if (l->id_count == 0 || life_choose(l, 100) == 0)
		return (carom_body_id){ (uint32_t)life_choose(l, 30), (uint32_t)life_choose(l, 3) };
	return l->ids[life_choose(l, l->id_count)];
}

carom_body_id life_id_of(life *l, unsigned kinds)
{
	for (int i = 0; i < 8; i++) {
		const carom_body_id id = life_id(l);
		carom_body_def def;
		if (carom_world_get_body_def(l->world[0], id, &def) == CAROM_SUCCESS && kinds >> def.kind & 1)
			return id;
	}
	return (carom_body_id){ 0, 0 };
}
