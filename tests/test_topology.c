// The mesh check and the topology against small meshes made by hand, one for each defect, and against a plain quadratic
// oracle on random triangles over a small lattice, where everything that can go wrong does.
#include "test.h"
#include "base/context.h"
#include "mesh/topology.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float CUBE_VERTICES[24] = { 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1 };
static const int32_t CUBE_TRIANGLES[36] = { 0, 2, 1, 0, 3, 2, 4, 5, 6, 4, 6, 7, 0, 1, 5, 0, 5, 4, 1, 2, 6, 1, 6, 5, 2, 3, 7, 2,
	7, 6, 3, 0, 4, 3, 4, 7 };

// An allocator that counts, and fails at one allocation.
typedef struct counter {
	int64_t made, fail_at, live;
} counter;

static void *count_allocate(size_t size, size_t alignment, void *user)
{
	counter *c = user;
	if (c->made++ == c->fail_at) {
		return NULL;
	}
	c->live++;
	return test_allocate(size, alignment);
}

static void count_release(void *pointer, size_t size, size_t alignment, void *user)
{
	(void)size;
	(void)alignment;
	((counter *)user)->live--;
	test_release(pointer);
}

static carom_context *make_context(counter *c)
{
	*c = (counter){ 0, -1, 0 };
	carom_context_def def = carom_default_context_def();
	def.allocator = (carom_allocator){ count_allocate, count_release, c };
	def.thread_count = 1;
	carom_context *context = NULL;
	CHECK_INT(carom_create_context(&def, &context), CAROM_SUCCESS);
	return context;
}

static carom_mesh_def make_def(const float *vertices, int32_t vertex_count, const int32_t *triangles, int32_t triangle_count)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices.data = vertices;
	def.vertices.type = CAROM_FLOAT32;
	def.vertex_count = vertex_count;
	def.triangles = triangles;
	def.triangle_count = triangle_count;
	return def;
}

static carom_mesh_report check_mesh(
	const float *vertices, int32_t vertex_count, const int32_t *triangles, int32_t triangle_count)
{
	counter c;
	carom_context *context = make_context(&c);
	carom_mesh_def def = make_def(vertices, vertex_count, triangles, triangle_count);
	carom_mesh_report report;
	CHECK_INT(carom_check_mesh(context, &def, &report), CAROM_SUCCESS);
	carom_destroy_context(context);
	CHECK_INT(c.live, 0);
	return report;
}

TEST(topology, cube)
{
	carom_mesh_report r = check_mesh(CUBE_VERTICES, 8, CUBE_TRIANGLES, 12);
	CHECK(r.usable && r.closed && !r.inverted);
	CHECK_INT(r.vertex_count, 8);
	CHECK_INT(r.triangle_count, 12);
	CHECK_INT(r.nonfinite_vertices + r.huge_vertices + r.out_of_range_triangles, 0);
	CHECK_INT(r.degenerate_triangles + r.duplicate_triangles + r.unreferenced_vertices + r.duplicate_vertices, 0);
	CHECK_INT(r.border_edges + r.nonmanifold_edges + r.inconsistent_edges + r.nonmanifold_vertices, 0);
	CHECK_INT(r.components, 1);
	CHECK_INT(r.euler, 2);
	CHECK_NEAR(r.volume, 1, 1e-15);
	CHECK_NEAR(r.area, 6, 1e-14);
	for (int axis = 0; axis < 3; axis++) {
		CHECK_NEAR(r.lower[axis], 0, 0);
		CHECK_NEAR(r.upper[axis], 1, 0);
	}
	CHECK_INT(r.first_element, -1);
	CHECK_STR(r.first_finding, "");
}

TEST(topology, empty)
{
	carom_mesh_report r = check_mesh(NULL, 0, NULL, 0);
	CHECK(r.usable && !r.closed && !r.inverted);
	CHECK_STR(r.first_finding, "");
	CHECK_INT(r.components, 0);
	r = check_mesh(CUBE_VERTICES, 8, NULL, 0);
	CHECK(r.usable && !r.closed);
	CHECK_INT(r.unreferenced_vertices, 8);
	CHECK_STR(r.first_finding, "vertex 0 is used by no triangle");
	CHECK_INT(r.first_element, 0);
}

TEST(topology, bad_coordinates)
{
	float v[24];
	memcpy(v, CUBE_VERTICES, sizeof v);
	v[9] = NAN;
	v[5] = 2e12f;
	v[20] = -INFINITY;
	carom_mesh_report r = check_mesh(v, 8, CUBE_TRIANGLES, 12);
	CHECK(!r.usable && !r.closed);
	CHECK_INT(r.nonfinite_vertices, 2);
	CHECK_INT(r.huge_vertices, 1);
	CHECK_INT(r.first_element, 3);
	CHECK_STR(r.first_finding, "vertex 3: x is NaN");
	v[9] = 0;
	r = check_mesh(v, 8, CUBE_TRIANGLES, 12);
	CHECK_INT(r.nonfinite_vertices, 1);
	CHECK_STR(r.first_finding, "vertex 6: z is infinite");
	v[20] = 1;
	r = check_mesh(v, 8, CUBE_TRIANGLES, 12);
	CHECK(!r.usable);
	CHECK_INT(r.first_element, 1);
	CHECK_STR(r.first_finding, "vertex 1: z is 2e+12, beyond the limit of 1e+12");
	v[5] = 1e12f;
	CHECK(check_mesh(v, 8, CUBE_TRIANGLES, 12).usable);
}

TEST(topology, huge_doubles)
{
	double v[9] = { 0, 0, 0, 1e300, 0, 0, 0, -1e12, 0 };
	int32_t t[3] = { 0, 1, 2 };
	counter c;
	carom_context *context = make_context(&c);
	carom_mesh_def def = make_def(NULL, 3, t, 1);
	def.vertices.data = v;
	def.vertices.type = CAROM_FLOAT64;
	carom_mesh_report r;
	CHECK_INT(carom_check_mesh(context, &def, &r), CAROM_SUCCESS);
	CHECK_INT(r.nonfinite_vertices, 0);
	CHECK_INT(r.huge_vertices, 1);
	CHECK_STR(r.first_finding, "vertex 1: x is 1e+300, beyond the limit of 1e+12");
	carom_destroy_context(context);
}

TEST(topology, index_out_of_range)
{
	int32_t t[36];
	memcpy(t, CUBE_TRIANGLES, sizeof t);
	t[3 * 7 + 1] = 8;
	t[3 * 9 + 2] = -1;
	carom_mesh_report r = check_mesh(CUBE_VERTICES, 8, t, 12);
	CHECK(!r.usable);
	CHECK_INT(r.out_of_range_triangles, 2);
	CHECK_INT(r.first_element, 7);
	CHECK_STR(r.first_finding, "triangle 7: corner 1 has index 8, but there are 8 vertices");
	r = check_mesh(NULL, 0, CUBE_TRIANGLES, 12);
	CHECK_INT(r.out_of_range_triangles, 12);
}

TEST(topology, border)
{
	carom_mesh_report r = check_mesh(CUBE_VERTICES, 8, CUBE_TRIANGLES, 11);
	CHECK(r.usable && !r.closed);
	CHECK_INT(r.border_edges, 3);
	CHECK_INT(r.euler, 1);
	CHECK_NEAR(r.volume, 0, 0);
	CHECK_INT(r.first_element, 3);
	r = check_mesh(CUBE_VERTICES, 8, CUBE_TRIANGLES, 1);
	CHECK_INT(r.border_edges, 3);
	CHECK_INT(r.unreferenced_vertices, 5);
	const float v[9] = { 0, 0, 0, 1, 0, 0, 0, 1, 0 };
	const int32_t t[3] = { 2, 0, 1 };
	r = check_mesh(v, 3, t, 1);
	CHECK_STR(r.first_finding, "edge 2-0 of triangle 0 has no second triangle");
	CHECK_INT(r.first_element, 0);
	CHECK_NEAR(r.area, 0.5, 0);
}

TEST(topology, degenerate_and_duplicate)
{
	int32_t t[36 + 12];
	memcpy(t, CUBE_TRIANGLES, sizeof CUBE_TRIANGLES);
	const int32_t extra[12] = { 3, 3, 5, 0, 1, 1, 2, 1, 0, 6, 5, 4 }; // two repeated corners, a copy of 0, the back of 2
	memcpy(t + 36, extra, sizeof extra);
	carom_mesh_report r = check_mesh(CUBE_VERTICES, 8, t, 15);
	CHECK(r.usable && r.closed);
	CHECK_INT(r.degenerate_triangles, 2);
	CHECK_INT(r.duplicate_triangles, 1);
	CHECK_INT(r.first_element, 12);
	CHECK_STR(r.first_finding, "triangle 12 has two corners at one position");
	CHECK_NEAR(r.area, 6, 1e-14);
	CHECK_NEAR(r.volume, 1, 1e-15);
	memmove(t + 36, t + 42, 6 * sizeof *t);
	r = check_mesh(CUBE_VERTICES, 8, t, 14);
	CHECK(!r.closed); // the back of a triangle is no duplicate: it stands on the cube as a third face
	CHECK_INT(r.nonmanifold_edges, 3);
	CHECK_STR(r.first_finding, "triangle 12 has the same corners as triangle 0");
}

TEST(topology, flat_triangle_carries_topology)
{
	// A quad of a tetrahedron's base edge split by a flat triangle 0 4 1 (4 is the middle of the edge 0-1).
	const float v[15] = { 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 0, 0 };
	const int32_t t[18] = { 0, 2, 4, 4, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3, 0, 4, 1 };
	carom_mesh_report r = check_mesh(v, 5, t, 6);
	CHECK(r.usable && r.closed);
	CHECK_INT(r.degenerate_triangles, 1);
	CHECK_STR(r.first_finding, "triangle 5 has no area");
	CHECK_INT(r.euler, 2);
	CHECK_NEAR(r.volume, 8.0 / 6, 1e-15);
}

TEST(topology, inconsistent_and_nonmanifold)
{
	int32_t t[36];
	memcpy(t, CUBE_TRIANGLES, sizeof t);
	t[1] = 1;
	t[2] = 2; // triangle 0 the other way round
	carom_mesh_report r = check_mesh(CUBE_VERTICES, 8, t, 12);
	CHECK(!r.closed);
	CHECK_INT(r.inconsistent_edges, 3);
	CHECK_INT(r.first_element, 0);
	CHECK_STR(r.first_finding, "edge 0-1 of triangle 0 runs the same way in its second triangle");
	const float v[15] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1 };
	const int32_t book[9] = { 0, 1, 2, 1, 0, 3, 0, 1, 4 };
	r = check_mesh(v, 5, book, 3);
	CHECK_INT(r.nonmanifold_edges, 1);
	CHECK_INT(r.border_edges, 6);
	CHECK_INT(r.nonmanifold_vertices, 0);
	CHECK_INT(r.components, 1);
}

TEST(topology, two_cubes_at_a_corner)
{
	float v[48];
	int32_t t[72];
	for (int i = 0; i < 24; i++) {
		v[i] = CUBE_VERTICES[i];
		v[24 + i] = CUBE_VERTICES[i] - 1;
	}
	for (int i = 0; i < 36; i++) {
		t[i] = CUBE_TRIANGLES[i];
		t[36 + i] = CUBE_TRIANGLES[i] + 8;
	}
	carom_mesh_report r = check_mesh(v, 16, t, 24);
	CHECK(r.closed);
	CHECK_INT(r.components, 2);
	CHECK_INT(r.nonmanifold_vertices, 1);
	CHECK_INT(r.duplicate_vertices, 1);
	CHECK_INT(r.euler, 3);
	CHECK_NEAR(r.volume, 2, 1e-14);
	CHECK_STR(r.first_finding, "vertex 14 is at the position of vertex 0");
	// The normals of the two corners cancel out: both vertices there are without one.
	CHECK_INT(r.normalless_vertices, 2);
	// With one vertex for both corners there is one, beside the vertex that no triangle uses then.
	for (int i = 36; i < 72; i++)
		t[i] = t[i] == 14 ? 0 : t[i];
	v[42] = 9;
	r = check_mesh(v, 16, t, 24);
	CHECK_INT(r.unreferenced_vertices, 1);
	CHECK_INT(r.normalless_vertices, 1);
	CHECK_INT(r.nonmanifold_vertices, 1);
}

TEST(topology, both_sides_of_a_sheet_have_no_normals)
{
	const float v[12] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 5, 5, 5 };
	const int32_t t[9] = { 0, 1, 2, 0, 2, 1, 3, 3, 3 };
	carom_mesh_report r = check_mesh(v, 3, t, 2);
	CHECK(r.closed);
	CHECK_INT(r.normalless_vertices, 3);
	CHECK_INT(r.first_element, 0);
	CHECK_STR(r.first_finding, "vertex 0 has no normal: those of the triangles around it cancel out");
	// Vertices of what is left out do not count.
	r = check_mesh(v, 4, t, 3);
	CHECK_INT(r.normalless_vertices, 3);
}

TEST(topology, a_doubled_triangle_explains_why_a_mesh_is_not_closed)
{
	// Two tetrahedra on one face, which both have: one of the two is left out, and its edges have three triangles.
	const float v[15] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0.2f, 0.2f, -1 };
	const int32_t t[24] = { 0, 1, 2, 0, 1, 2, 1, 0, 3, 2, 1, 3, 0, 2, 3, 1, 0, 4, 2, 1, 4, 0, 2, 4 };
	carom_mesh_report r = check_mesh(v, 5, t, 8);
	CHECK(!r.closed);
	CHECK_INT(r.duplicate_triangles, 1);
	CHECK_INT(r.border_edges + r.inconsistent_edges, 0);
	CHECK_INT(r.nonmanifold_edges, 3);
	CHECK_INT(r.unbalanced_edges, 3);
	// As many one way as the other: closed.
	const int32_t two[24] = { 0, 1, 2, 0, 2, 1, 1, 0, 3, 2, 1, 3, 0, 2, 3, 0, 1, 4, 1, 2, 4, 2, 0, 4 };
	r = check_mesh(v, 5, two, 8);
	CHECK_INT(r.nonmanifold_edges, 3);
	CHECK_INT(r.unbalanced_edges, 0);
	CHECK(r.closed);
}

TEST(topology, soup_of_own_corners)
{
	// Three vertices for each triangle, zeros of both signs, doubles at an odd address with a stride.
	char memory[36 * 40 + 1];
	int32_t t[36];
	for (int i = 0; i < 36; i++) {
		double p[3];
		for (int axis = 0; axis < 3; axis++) {
			double value = CUBE_VERTICES[3 * CUBE_TRIANGLES[i] + axis];
			p[axis] = value == 0 && i % 2 == 0 ? -0.0 : value;
		}
		memcpy(memory + 1 + 40 * i, p, sizeof p);
		t[i] = i;
	}
	counter c;
	carom_context *context = make_context(&c);
	carom_mesh_def def = make_def(NULL, 36, t, 12);
	def.vertices = (carom_strided){ memory + 1, 40, CAROM_FLOAT64 };
	carom_mesh_report r;
	REQUIRE(carom_check_mesh(context, &def, &r) == CAROM_SUCCESS);
	CHECK(r.usable && r.closed);
	CHECK_INT(r.duplicate_vertices, 28);
	CHECK_INT(r.euler, 2);
	CHECK_INT(r.components, 1);
	CHECK_NEAR(r.volume, 1, 1e-15);
	// The same read backwards.
	for (int i = 0; i < 36; i++) {
		t[i] = 35 - i;
	}
	def.vertices = (carom_strided){ memory + 1 + 35 * 40, -40, CAROM_FLOAT64 };
	REQUIRE(carom_check_mesh(context, &def, &r) == CAROM_SUCCESS);
	CHECK(r.closed && !r.inverted);
	carom_destroy_context(context);
}

TEST(topology, flat_closed_sheet_has_no_volume)
{
	const float v[12] = { 0.1f, 0.7f, 0.3f, 1.3f, 0.2f, 0.9f, 0.4f, 1.9f, 0.6f };
	const int32_t t[6] = { 0, 1, 2, 0, 2, 1 };
	carom_mesh_report r = check_mesh(v, 3, t, 2);
	CHECK(r.closed && !r.inverted);
	CHECK_NEAR(r.volume, 0, 0);
	CHECK_INT(r.duplicate_triangles, 0);
}

// Normals of a cube: each corner's is a diagonal however the squares are cut, each edge's the mean of two axes.
static void check_cube_normals(const cr_topology *topology)
{
	for (int32_t i = 0; i < topology->vertex_count; i++) {
		for (int axis = 0; axis < 3; axis++) {
			double sign = topology->vertices[3 * i + axis] > 0.5f ? 1 : -1;
			CHECK_NEAR(topology->normals[3 * i + axis], sign * sqrt(1.0 / 3), 1e-6);
		}
	}
	for (int32_t side = 0; side < 36; side++) {
		int32_t a = topology->triangles[side], b = topology->triangles[side % 3 == 2 ? side - 2 : side + 1];
		double expected[3], length = 0;
		for (int axis = 0; axis < 3; axis++) {
			expected[axis] = topology->vertices[3 * a + axis] + topology->vertices[3 * b + axis] - 1;
			length += expected[axis] * expected[axis];
		}
		for (int axis = 0; axis < 3; axis++) {
			CHECK_NEAR(v3d_get(cr_edge_normal(topology, side), axis), expected[axis] / sqrt(length), 1e-6);
		}
	}
}

// Neighbours by comparing all sides of used triangles with each other.
static void check_neighbours(const cr_topology *topology)
{
	for (int32_t s = 0; s < 3 * topology->triangle_count; s++) {
		int32_t expected = -1;
		int32_t a = topology->weld[topology->triangles[s]];
		int32_t b = topology->weld[topology->triangles[s % 3 == 2 ? s - 2 : s + 1]];
		for (int32_t o = 0; o < 3 * topology->triangle_count; o++) {
			int32_t p = topology->weld[topology->triangles[o]];
			int32_t q = topology->weld[topology->triangles[o % 3 == 2 ? o - 2 : o + 1]];
			if (o / 3 != s / 3 && ((p == b && q == a) || (p == a && q == b))) {
				expected = o / 3;
			}
		}
		CHECK_INT(topology->neighbours[s], expected);
	}
}

TEST(topology, build_cube_and_its_inside_out)
{
	counter c;
	carom_context *context = make_context(&c);
	int32_t inverted[36];
	for (int i = 0; i < 36; i += 3) {
		inverted[i] = CUBE_TRIANGLES[i];
		inverted[i + 1] = CUBE_TRIANGLES[i + 2];
		inverted[i + 2] = CUBE_TRIANGLES[i + 1];
	}
	for (int turned = 0; turned < 2; turned++) {
		carom_mesh_def def = make_def(CUBE_VERTICES, 8, turned ? inverted : CUBE_TRIANGLES, 12);
		carom_mesh_report r;
		cr_topology topology;
		REQUIRE(cr_topology_build(context, &def, &r, &topology) == CAROM_SUCCESS);
		CHECK_INT(r.inverted, turned);
		CHECK_NEAR(r.volume, turned ? -1 : 1, 1e-15);
		CHECK_STR(r.first_finding, turned ? "the triangles face inwards (volume -1) and are turned round" : "");
		CHECK_INT(r.first_element, -1);
		CHECK_INT(memcmp(topology.triangles, CUBE_TRIANGLES, sizeof CUBE_TRIANGLES), 0);
		check_cube_normals(&topology);
		check_neighbours(&topology);
		carom_mass mass;
		cr_topology_mass(&topology, &mass);
		CHECK_NEAR(mass.mass, 1, 1e-14);
		CHECK_NEAR(mass.centre.x, 0.5, 1e-15);
		for (int i = 0; i < 6; i++) {
			CHECK_NEAR(mass.inertia[i], i < 3 ? 1.0 / 6 : 0, 1e-15);
		}
		CHECK(cr_topology_bytes(&topology) <= carom_memory_in_use(context));
		CHECK(cr_topology_bytes(&topology) >= sizeof CUBE_VERTICES + sizeof CUBE_TRIANGLES);
		cr_topology_free(context, &topology);
		CHECK(topology.vertices == NULL);
	}
	carom_destroy_context(context);
	CHECK_INT(c.live, 0);
}

// The normal of an edge by looking at all triangles.
static v3d sum_at_edge(const cr_topology *t, int32_t side)
{
	const int32_t next = side % 3 == 2 ? side - 2 : side + 1;
	const int32_t ends[2] = { t->weld[t->triangles[side]], t->weld[t->triangles[next]] };
	v3d sum = { 0, 0, 0 };
	for (int32_t i = 0; i < t->triangle_count; i++) {
		int found = 0;
		for (int k = 0; k < 3; k++)
			found += t->weld[t->triangles[3 * i + k]] == ends[0] || t->weld[t->triangles[3 * i + k]] == ends[1];
		if (t->used[i] && found == 2)
			sum = v3d_add(sum, cr_face_normal(t, i));
	}
	return sum;
}

static void check_edge_normals(carom_context *context, const carom_mesh_def *def, bool stored)
{
	carom_mesh_report r;
	cr_topology topology;
	REQUIRE(cr_topology_build(context, def, &r, &topology) == CAROM_SUCCESS);
	CHECK_INT(topology.edge_normals != NULL, stored);
	for (int32_t side = 0; side < 3 * topology.triangle_count; side++) {
		const v3d normal = cr_edge_normal(&topology, side);
		float expected[3] = { 0, 0, 0 };
		if (topology.used[side / 3])
			cr_store_normal(sum_at_edge(&topology, side), expected);
		for (int k = 0; k < 3; k++)
			CHECK((float)v3d_get(normal, k) == expected[k]);
	}
	cr_topology_free(context, &topology);
}

TEST(topology, normals_of_edges_are_the_sums_of_their_triangles)
{
	counter c;
	carom_context *context = make_context(&c);
	float v[24];
	int32_t t[3 * 14];
	uint64_t seed = 5;
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 24; i++)
			v[i] = CUBE_VERTICES[i] + (float)test_random_double(&seed, -0.3, 0.3);
		memcpy(t, CUBE_TRIANGLES, sizeof CUBE_TRIANGLES);
		for (int i = 0; i < 12 && round % 2; i++) { // turned round
			const int32_t corner = t[3 * i + 1];
			t[3 * i + 1] = t[3 * i + 2];
			t[3 * i + 2] = corner;
		}
		if (round % 4 >= 2) { // two of no area, at edges that have two triangles without them
			memcpy(t + 36, (int32_t[6]){ 0, 0, 1, 2, 3, 3 }, 6 * sizeof *t);
			carom_mesh_def def = make_def(v, 8, t, 14);
			check_edge_normals(context, &def, false);
		}
		memcpy(t + 36, (int32_t[6]){ t[0], t[1], 7, t[1], t[0], 6 }, 6 * sizeof *t);
		for (int32_t count = 10; count <= 14; count += 2) { // open, closed, four at an edge
			carom_mesh_def def = make_def(v, 8, t, count);
			check_edge_normals(context, &def, count == 14);
		}
	}
	carom_destroy_context(context);
}

TEST(topology, unreferenced_vertex_has_no_normal)
{
	float v[27];
	memcpy(v, CUBE_VERTICES, sizeof CUBE_VERTICES);
	v[24] = v[25] = v[26] = 0; // at the position of vertex 0, but no triangle's corner
	counter c;
	carom_context *context = make_context(&c);
	carom_mesh_def def = make_def(v, 9, CUBE_TRIANGLES, 12);
	carom_mesh_report r;
	cr_topology topology;
	REQUIRE(cr_topology_build(context, &def, &r, &topology) == CAROM_SUCCESS);
	CHECK_INT(topology.weld[8], 0);
	CHECK_INT(r.unreferenced_vertices, 1);
	CHECK(topology.normals[24] == 0 && topology.normals[25] == 0 && topology.normals[26] == 0);
	CHECK(topology.normals[0] < 0);
	cr_topology_free(context, &topology);
	carom_destroy_context(context);
}

TEST(topology, mass_of_a_tetrahedron_by_sampling)
{
	// Far from the origin and askew; the oracle integrates the tetrahedron's barycentric moments.
	const float v[12] = { 100, 50, -20, 101.5f, 50.25f, -20, 100.5f, 52, -19.5f, 100.25f, 50.5f, -17 };
	const int32_t t[12] = { 0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2 };
	counter c;
	carom_context *context = make_context(&c);
	carom_mesh_def def = make_def(v, 4, t, 4);
	carom_mesh_report r;
	cr_topology topology;
	REQUIRE(cr_topology_build(context, &def, &r, &topology) == CAROM_SUCCESS);
	carom_mass mass;
	cr_topology_mass(&topology, &mass);
	CHECK_NEAR(mass.mass, r.volume, 1e-12);
	double mean[3] = { 0, 0, 0 }, second[3][3] = { { 0 } };
	for (int i = 0; i < 12; i++) {
		mean[i % 3] += v[i] / 4.0;
	}
	for (int a = 0; a < 3; a++) {
		for (int b = 0; b < 3; b++) {
			for (int i = 0; i < 4; i++) {
				// The mean of x_a x_b over a tetrahedron with its centre at 0 is the sum over its corners / 20.
				second[a][b] += mass.mass * (v[3 * i + a] - mean[a]) * (v[3 * i + b] - mean[b]) / 20;
			}
		}
	}
	CHECK_NEAR(mass.centre.x, mean[0], 1e-12);
	CHECK_NEAR(mass.centre.y, mean[1], 1e-12);
	CHECK_NEAR(mass.centre.z, mean[2], 1e-12);
	CHECK_NEAR(mass.inertia[0], second[1][1] + second[2][2], 1e-12);
	CHECK_NEAR(mass.inertia[1], second[0][0] + second[2][2], 1e-12);
	CHECK_NEAR(mass.inertia[2], second[0][0] + second[1][1], 1e-12);
	CHECK_NEAR(mass.inertia[3], -second[0][1], 1e-12);
	CHECK_NEAR(mass.inertia[4], -second[0][2], 1e-12);
	CHECK_NEAR(mass.inertia[5], -second[1][2], 1e-12);
	cr_topology_free(context, &topology);
	carom_destroy_context(context);
}

enum { MAX_ORACLE = 40 };

// What the check should say, by comparing everything with everything.
typedef struct oracle {
	int32_t t[MAX_ORACLE][3]; // welded
	bool carries[MAX_ORACLE], used[MAX_ORACLE];
	int32_t count;
	carom_mesh_report r;
} oracle;

static bool oracle_same(const int32_t *a, const int32_t *b)
{
	for (int k = 0; k < 3; k++) {
		if (a[0] == b[k] && a[1] == b[(k + 1) % 3] && a[2] == b[(k + 2) % 3]) {
			return true;
		}
	}
	return false;
}

static void oracle_triangles(oracle *o, const float *v, int32_t vertex_count, const int32_t *t)
{
	for (int32_t i = 0; i < o->count; i++) {
		for (int k = 0; k < 3; k++) {
			int32_t first = 0;
			while (memcmp(v + 3 * first, v + 3 * t[3 * i + k], 3 * sizeof *v) != 0) {
				first++;
			}
			o->t[i][k] = first;
		}
		const int32_t *w = o->t[i];
		bool repeated = w[0] == w[1] || w[1] == w[2] || w[2] == w[0];
		v3d a = v3d_from_floats(v + 3 * w[0]);
		v3d n = v3d_cross(v3d_sub(v3d_from_floats(v + 3 * w[1]), a), v3d_sub(v3d_from_floats(v + 3 * w[2]), a));
		bool flat = v3d_length(n) == 0, copy = false;
		for (int32_t j = 0; j < i; j++) {
			copy = copy || (!repeated && oracle_same(w, o->t[j]));
		}
		o->carries[i] = !repeated && !copy;
		o->used[i] = !flat && !copy;
		o->r.degenerate_triangles += flat;
		o->r.duplicate_triangles += copy && !flat;
	}
	for (int32_t i = 0; i < vertex_count; i++) {
		bool seen = false, first = true;
		for (int32_t j = 0; j < 3 * o->count; j++) {
			seen = seen || t[j] == i;
		}
		for (int32_t j = 0; j < i; j++) {
			first = first && memcmp(v + 3 * i, v + 3 * j, 3 * sizeof *v) != 0;
		}
		o->r.unreferenced_vertices += !seen;
		o->r.duplicate_vertices += !first;
	}
}

// Sides that run from a to b.
static int oracle_sides(const oracle *o, int32_t a, int32_t b)
{
	int sides = 0;
	for (int32_t i = 0; i < o->count; i++) {
		for (int k = 0; o->carries[i] && k < 3; k++) {
			sides += o->t[i][k] == a && o->t[i][(k + 1) % 3] == b;
		}
	}
	return sides;
}

// Do triangles i and j share an edge (at the vertex, when it is not -1)?
static bool oracle_touch(const oracle *o, int32_t i, int32_t j, int32_t vertex)
{
	int shared = 0;
	bool at = vertex < 0;
	for (int k = 0; k < 9; k++) {
		if (o->t[i][k / 3] == o->t[j][k % 3]) {
			shared++;
			at = at || o->t[i][k / 3] == vertex;
		}
	}
	return o->carries[i] && o->carries[j] && shared >= 2 && at;
}

// Pieces of the triangles around a vertex, or of all for -1, by flooding.
static int oracle_pieces(const oracle *o, int32_t vertex)
{
	int label[MAX_ORACLE] = { 0 }, pieces = 0;
	for (int32_t i = 0; i < o->count; i++) {
		const int32_t *w = o->t[i];
		bool member = o->carries[i] && (vertex < 0 || w[0] == vertex || w[1] == vertex || w[2] == vertex);
		label[i] = member ? i : -1;
	}
	for (int round = 0; round < o->count; round++) {
		for (int32_t i = 0; i < o->count; i++) {
			for (int32_t j = 0; j < o->count; j++) {
				if (label[i] >= 0 && label[j] > label[i] && oracle_touch(o, i, j, vertex)) {
					label[j] = label[i];
				}
			}
		}
	}
	for (int32_t i = 0; i < o->count; i++) {
		pieces += label[i] == i;
	}
	return pieces;
}

static void oracle_edges(oracle *o, int32_t vertex_count)
{
	o->r.closed = true;
	int faces = 0;
	for (int32_t a = 0; a < vertex_count; a++) {
		for (int32_t b = a + 1; b < vertex_count; b++) {
			int there = oracle_sides(o, a, b), back = oracle_sides(o, b, a);
			o->r.euler -= there + back > 0;
			o->r.border_edges += there + back == 1;
			o->r.nonmanifold_edges += there + back > 2;
			o->r.inconsistent_edges += there + back == 2 && there != 1;
			o->r.unbalanced_edges += there + back > 2 && there != back;
			o->r.closed = o->r.closed && there == back;
		}
		int fans = oracle_pieces(o, a);
		o->r.euler += fans > 0;
		o->r.nonmanifold_vertices += fans > 1;
	}
	for (int32_t i = 0; i < o->count; i++) {
		faces += o->carries[i];
	}
	o->r.euler += faces;
	o->r.closed = o->r.closed && faces > 0;
	o->r.components = oracle_pieces(o, -1);
}

static void check_against_oracle(const oracle *o, const carom_mesh_report *r, const cr_topology *topology)
{
	CHECK(r->usable);
	CHECK_INT(r->degenerate_triangles, o->r.degenerate_triangles);
	CHECK_INT(r->duplicate_triangles, o->r.duplicate_triangles);
	CHECK_INT(r->unreferenced_vertices, o->r.unreferenced_vertices);
	CHECK_INT(r->duplicate_vertices, o->r.duplicate_vertices);
	CHECK_INT(r->border_edges, o->r.border_edges);
	CHECK_INT(r->nonmanifold_edges, o->r.nonmanifold_edges);
	CHECK_INT(r->inconsistent_edges, o->r.inconsistent_edges);
	CHECK_INT(r->nonmanifold_vertices, o->r.nonmanifold_vertices);
	CHECK_INT(r->unbalanced_edges, o->r.unbalanced_edges);
	CHECK(r->closed || r->border_edges + r->inconsistent_edges + r->unbalanced_edges > 0 || o->r.components == 0);
	int32_t normalless = 0;
	for (int32_t v = 0; v < topology->vertex_count; v++) {
		bool in_use = false;
		for (int32_t i = 0; i < 3 * o->count; i++) {
			in_use = in_use || (o->used[i / 3] && topology->triangles[i] == v);
		}
		const float *n = topology->normals + 3 * v;
		normalless += in_use && n[0] == 0 && n[1] == 0 && n[2] == 0;
	}
	CHECK_INT(r->normalless_vertices, normalless);
	CHECK_INT(r->components, o->r.components);
	CHECK_INT(r->euler, o->r.euler);
	CHECK_INT(r->closed, o->r.closed);
	for (int32_t i = 0; i < o->count; i++) {
		CHECK_INT(topology->used[i], o->used[i]);
		for (int k = 0; k < 3; k++) {
			int turned = r->inverted ? 2 - k : k;
			int32_t a = o->t[i][k], b = o->t[i][(k + 1) % 3], expected = -1;
			for (int32_t j = 0; j < o->count; j++) {
				bool other = j != i && o->used[i] && o->used[j] && oracle_sides(o, a, b) + oracle_sides(o, b, a) == 2;
				for (int m = 0; other && m < 3; m++) {
					int32_t p = o->t[j][m], q = o->t[j][(m + 1) % 3];
					expected = (p == a && q == b) || (p == b && q == a) ? j : expected;
				}
			}
			CHECK_INT(topology->neighbours[3 * i + turned], expected);
		}
	}
}

// Loose triangles, or (closed) the four faces of tetrahedra, some of them turned inside out.
static int32_t random_triangles(uint64_t *state, bool closed, int32_t vertex_count, int32_t *t)
{
	int32_t count = 0, wanted = 1 + (int32_t)(test_random(state) % (closed ? 6 : 16));
	for (int32_t i = 0; i < wanted; i++) {
		int32_t c[4];
		for (int k = 0; k < 4; k++) {
			c[k] = (int32_t)(test_random(state) % (uint64_t)vertex_count);
		}
		const int32_t faces[12] = { c[0], c[2], c[1], c[0], c[1], c[3], c[1], c[2], c[3], c[0], c[3], c[2] };
		int32_t face_count = closed ? 4 : 1;
		memcpy(t + 3 * count, faces, 3 * (size_t)face_count * sizeof *t);
		count += face_count;
	}
	return count;
}

TEST(topology, random_meshes_against_oracle)
{
	counter c;
	carom_context *context = make_context(&c);
	uint64_t state = 2026;
	int closed_count = 0, inverted_count = 0, messy_count = 0;
	for (int trial = 0; trial < 600 && test_failures() == 0; trial++) {
		float v[36];
		int32_t t[3 * MAX_ORACLE], vertex_count = 4 + (int32_t)(test_random(&state) % 9);
		for (int i = 0; i < 3 * vertex_count; i++) {
			v[i] = (float)(test_random(&state) % 3);
		}
		oracle o;
		memset(&o, 0, sizeof o);
		o.count = random_triangles(&state, trial % 2 == 0, vertex_count, t);
		oracle_triangles(&o, v, vertex_count, t);
		oracle_edges(&o, vertex_count);
		carom_mesh_def def = make_def(v, vertex_count, t, o.count);
		carom_mesh_report r;
		cr_topology topology;
		REQUIRE(cr_topology_build(context, &def, &r, &topology) == CAROM_SUCCESS);
		check_against_oracle(&o, &r, &topology);
		closed_count += r.closed;
		inverted_count += r.inverted;
		messy_count += r.nonmanifold_edges > 0 && r.degenerate_triangles > 0 && r.duplicate_vertices > 0;
		cr_topology_free(context, &topology);
	}
	// The trials reach what they are for.
	CHECK(closed_count > 50);
	CHECK(inverted_count > 20);
	CHECK(messy_count > 50);
	carom_destroy_context(context);
	CHECK_INT(c.live, 0);
}

TEST(topology, misuse)
{
	counter c;
	carom_context *context = make_context(&c);
	carom_mesh_report r;
	carom_mesh_def good = make_def(CUBE_VERTICES, 8, CUBE_TRIANGLES, 12), def = good;
	CHECK_INT(carom_check_mesh(NULL, &good, &r), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_check_mesh(context, &good, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_check_mesh(context, NULL, &r), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_def is NULL");
	def.cookie = 0;
	CHECK_INT(carom_check_mesh(context, &def, &r), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_def.cookie: start from carom_default_mesh_def");
	def = good;
	def.vertex_count = -1;
	CHECK_INT(carom_check_mesh(context, &def, &r), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_def.vertex_count is -1, below 0");
	def = good;
	def.vertices.data = NULL;
	CHECK_INT(carom_check_mesh(context, &def, &r), CAROM_INVALID_ARGUMENT);
	def = good;
	def.vertices.stride = 3;
	CHECK_INT(carom_check_mesh(context, &def, &r), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_def.vertices.stride is 3 bytes, less than the 12 of three coordinates");
	def = good;
	def.vertices.type = (carom_scalar)7;
	CHECK_INT(carom_check_mesh(context, &def, &r), CAROM_INVALID_ARGUMENT);
	def = good;
	def.triangle_count = -2;
	CHECK_INT(carom_check_mesh(context, &def, &r), CAROM_INVALID_ARGUMENT);
	def.triangle_count = 715827883; // 3 * that does not fit in 31 bits
	CHECK_INT(carom_check_mesh(context, &def, &r), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_def.triangle_count is 715827883, not in 0 to 715827882");
	def = good;
	def.triangles = NULL;
	CHECK_INT(carom_check_mesh(context, &def, &r), CAROM_INVALID_ARGUMENT);
	def = good;
	def.grid_resolution = 1025;
	CHECK_INT(carom_check_mesh(context, &def, &r), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_check_mesh(context, &good, &r), CAROM_SUCCESS);
	carom_destroy_context(context);
	CHECK_INT(c.live, 0);
}

TEST(topology, every_failing_allocation)
{
	counter c;
	carom_context *context = make_context(&c);
	carom_mesh_def def = make_def(CUBE_VERTICES, 8, CUBE_TRIANGLES, 12);
	int64_t live = c.live;
	for (int with_topology = 0; with_topology < 2; with_topology++) {
		carom_result result = CAROM_OUT_OF_MEMORY;
		int64_t failures = -1;
		while (result == CAROM_OUT_OF_MEMORY && failures < 100) {
			failures++;
			c.made = 0;
			c.fail_at = failures;
			carom_mesh_report r;
			cr_topology topology;
			memset(&topology, 0, sizeof topology);
			result = cr_topology_build(context, &def, &r, with_topology ? &topology : NULL);
			if (result == CAROM_OUT_OF_MEMORY) {
				CHECK_INT(c.live, live);
				CHECK(topology.vertices == NULL && topology.vertex_count == 0);
				CHECK(strlen(carom_error_text(context)) > 0);
			}
			cr_topology_free(context, &topology);
			CHECK_INT(c.live, live);
		}
		CHECK_INT(result, CAROM_SUCCESS);
		CHECK(failures >= (with_topology ? 14 : 11));
	}
	carom_destroy_context(context);
	CHECK_INT(c.live, 0);
}

TEST(topology, a_million_triangles)
{
	// A torus of 1000 x 500 cells; wavy, so that nothing is flat.
	enum { ROWS = 1000 / TEST_FEWER, SIDES = 500 };
	float *v = malloc(3 * sizeof(float) * ROWS * SIDES);
	int32_t *t = malloc(6 * sizeof(int32_t) * ROWS * SIDES);
	REQUIRE(v != NULL && t != NULL);
	for (int32_t i = 0; i < ROWS * SIDES; i++) {
		double u = i / SIDES * 6.283185307179586 / ROWS, w = i % SIDES * 6.283185307179586 / SIDES;
		v[3 * i] = (float)((2 + cos(w)) * cos(u));
		v[3 * i + 1] = (float)((2 + cos(w)) * sin(u));
		v[3 * i + 2] = (float)sin(w);
		int32_t row = i / SIDES * SIDES, next = (row + SIDES) % (ROWS * SIDES), a = i % SIDES, b = (a + 1) % SIDES;
		const int32_t cell[6] = { row + a, next + a, next + b, row + a, next + b, row + b };
		memcpy(t + 6 * i, cell, sizeof cell);
	}
	carom_mesh_report r = check_mesh(v, ROWS * SIDES, t, 2 * ROWS * SIDES);
	CHECK(r.closed && r.usable && !r.inverted);
	CHECK_INT(r.euler, 0);
	CHECK_INT(r.components, 1);
	CHECK_INT(r.degenerate_triangles + r.duplicate_triangles + r.duplicate_vertices, 0);
	CHECK_NEAR(r.volume, 2 * 9.869604401089358 * 2, 0.01);
	free(v);
	free(t);
}
