// The dull answers of --oracle: against plain double loops, and they must notice answers that were falsified.
#include "io/mesh_file.h"
#include "sweep_fixture.h"
#include "test.h"
#include "tools/carom/tool_oracle.h"
#include "tools/carom/oracle_boxes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Boxes ----

enum { BOXES = 60 };

static bool count_pair(int32_t a, int32_t b, void *user)
{
	((int32_t(*)[BOXES])user)[a][b]++;
	return true;
}

static bool stop_at_once(int32_t a, int32_t b, void *user)
{
	(void)a, (void)b;
	++*(int *)user;
	return false;
}

/// Boxes on a small grid, so that many of them only touch and many begin together.
static void make_boxes(oracle_box *boxes, uint64_t *random)
{
	for (int32_t i = 0; i < BOXES; i++) {
		boxes[i] = oracle_empty_box(i);
		for (int k = 0; k < 2; k++) {
			double corner[3];
			for (int axis = 0; axis < 3; axis++)
				corner[axis] = (double)(test_random(random) % 6);
			oracle_grow_box(&boxes[i], corner);
		}
	}
}

static bool boxes_overlap(const oracle_box *a, const oracle_box *b)
{
	bool overlap = true;
	for (int axis = 0; axis < 3; axis++)
		overlap = overlap && a->lower[axis] <= b->upper[axis] && b->lower[axis] <= a->upper[axis];
	return overlap;
}

TEST(tool_oracle, boxes_that_overlap_are_visited_once)
{
	uint64_t random = 1;
	static int32_t times[BOXES][BOXES];
	for (int round = 0; round < 20; round++) {
		oracle_box a[BOXES], b[BOXES], as_made[2][BOXES];
		make_boxes(a, &random);
		make_boxes(b, &random);
		memcpy(as_made[0], a, sizeof a);
		memcpy(as_made[1], b, sizeof b);
		memset(times, 0, sizeof times);
		CHECK(oracle_visit_overlaps(a, BOXES, b, BOXES, count_pair, times));
		for (int i = 0; i < BOXES * BOXES; i++)
			CHECK_INT(times[i / BOXES][i % BOXES], boxes_overlap(&as_made[0][i / BOXES], &as_made[1][i % BOXES]));
		memset(times, 0, sizeof times);
		CHECK(oracle_visit_overlaps(a, BOXES, a, BOXES, count_pair, times));
		for (int i = 0; i < BOXES * BOXES; i++) {
			const int p = i / BOXES, q = i % BOXES;
			CHECK_INT(times[p][q] + times[q][p], p != q && boxes_overlap(&as_made[0][p], &as_made[0][q]));
		}
		int visits = 0;
		CHECK(!oracle_visit_overlaps(a, BOXES, b, BOXES, stop_at_once, &visits));
		CHECK_INT(visits, 1);
	}
	CHECK(oracle_visit_overlaps(NULL, 0, NULL, 0, count_pair, times));
}

// ---- Triangles ----

/// Random triangles whose corners lie on a small grid: flat ones, repeated ones, and many that just touch.
static sim_mesh make_soup(int32_t triangles, uint64_t *random)
{
	sim_mesh mesh = { .vertex_count = 3 * triangles, .triangle_count = triangles };
	mesh.vertices = malloc(9 * (size_t)triangles * sizeof *mesh.vertices);
	mesh.triangles = malloc(3 * (size_t)triangles * sizeof *mesh.triangles);
	REQUIRE(mesh.vertices && mesh.triangles);
	for (int32_t i = 0; i < 3 * triangles; i++) {
		mesh.triangles[i] = test_random(random) % 4 == 0 ? (int32_t)(test_random(random) % (uint64_t)mesh.vertex_count) : i;
		for (int axis = 0; axis < 3; axis++)
			mesh.vertices[3 * i + axis] = (float)(test_random(random) % 4);
	}
	for (int k = 0; k < 3; k++)
		mesh.triangles[3 + k] = mesh.triangles[k];
	return mesh;
}

static carom_mesh *make_library_mesh(carom_context *context, const sim_mesh *from)
{
	carom_mesh_def def = carom_default_mesh_def();
	carom_mesh *mesh = NULL;
	def.vertices = (carom_strided){ .data = from->vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = from->vertex_count;
	def.triangles = from->triangles;
	def.triangle_count = from->triangle_count;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static void check_no_difference(const int32_t (*fast)[2], int32_t count, const oracle_pairs *dull)
{
	oracle_difference d = { 0 };
	oracle_compare_pairs("triangles", fast, count, dull, &d);
	CHECK_INT(d.count, count);
	CHECK_INT(d.missed + d.invented + d.other, 0);
	CHECK_STR(d.first, "");
	CHECK_INT(oracle_report("soup", -1, &d), 0);
}

TEST(tool_oracle, pairs_of_triangles_are_those_of_the_library)
{
	enum { MOST = 20000 };
	static int32_t fast[MOST][2];
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	uint64_t random = 7;
	int64_t total = 0;
	for (int round = 0; round < 20; round++) {
		sim_mesh a = make_soup(40, &random), b = make_soup(30, &random);
		carom_mesh *meshes[2] = { make_library_mesh(context, &a), make_library_mesh(context, &b) };
		oracle_pairs self, both;
		int32_t count;
		REQUIRE(oracle_find_self_pairs(&a, &self) && oracle_find_mesh_pairs(&a, &b, &both));
		REQUIRE(carom_mesh_self_intersections(meshes[0], MOST, fast, &count) == CAROM_SUCCESS && count <= MOST);
		check_no_difference((const int32_t(*)[2])fast, count, &self);
		REQUIRE(
			carom_mesh_intersections(meshes[0], NULL, meshes[1], NULL, MOST, fast, &count) == CAROM_SUCCESS && count <= MOST);
		check_no_difference((const int32_t(*)[2])fast, count, &both);
		total += self.count + both.count;
		oracle_free_pairs(&self);
		oracle_free_pairs(&both);
		for (int i = 0; i < 2; i++)
			carom_release_mesh(meshes[i]);
		sim_mesh_free(&a);
		sim_mesh_free(&b);
	}
	CHECK(total > 5000);
	carom_destroy_context(context);
}

TEST(tool_oracle, no_triangles_and_one)
{
	float corners[9] = { 0, 0, 0, 1, 0, 0, 0, 1, 0 };
	int32_t triangle[3] = { 0, 1, 2 };
	sim_mesh none = { 0 }, one = { .vertex_count = 3, .triangle_count = 1, .vertices = corners, .triangles = triangle };
	oracle_pairs pairs;
	CHECK(oracle_find_self_pairs(&none, &pairs) && pairs.count == 0);
	oracle_free_pairs(&pairs);
	CHECK(oracle_find_self_pairs(&one, &pairs) && pairs.count == 0);
	oracle_free_pairs(&pairs);
	CHECK(oracle_find_mesh_pairs(&one, &none, &pairs) && pairs.count == 0);
	oracle_free_pairs(&pairs);
	CHECK(oracle_find_mesh_pairs(&one, &one, &pairs) && pairs.count == 1);
	oracle_free_pairs(&pairs);
}

TEST(tool_oracle, falsified_pairs_are_told)
{
	int32_t dull_pairs[4][2] = { { 0, 5 }, { 1, 2 }, { 1, 7 }, { 3, 4 } };
	const oracle_pairs dull = { .data = dull_pairs, .count = 4, .capacity = 4 };
	const int32_t missing[3][2] = { { 0, 5 }, { 1, 7 }, { 3, 4 } };
	const int32_t more[5][2] = { { 0, 5 }, { 1, 2 }, { 1, 7 }, { 3, 4 }, { 3, 9 } };
	const int32_t other[4][2] = { { 0, 5 }, { 1, 2 }, { 1, 6 }, { 3, 4 } };
	oracle_difference d = { 0 };
	oracle_compare_pairs("triangles", missing, 3, &dull, &d);
	CHECK_INT(d.count, 4);
	CHECK_INT(d.missed, 1);
	CHECK_INT(d.invented, 0);
	CHECK_STR(d.first, "triangles 1 and 2 are missed");
	CHECK_INT(oracle_report("missing", -1, &d), 1);
	d = (oracle_difference){ 0 };
	oracle_compare_pairs("spheres", more, 5, &dull, &d);
	CHECK_INT(d.missed, 0);
	CHECK_INT(d.invented, 1);
	CHECK_STR(d.first, "spheres 3 and 9 are invented");
	CHECK_INT(oracle_report("more", -1, &d), 1);
	d = (oracle_difference){ 0 };
	oracle_compare_pairs("triangles", other, 4, &dull, &d);
	CHECK_INT(d.missed, 1);
	CHECK_INT(d.invented, 1);
	CHECK_STR(d.first, "triangles 1 and 6 are invented");
	d = (oracle_difference){ 0 };
	oracle_compare_pairs("triangles", NULL, 0, &dull, &d);
	CHECK_INT(d.missed, 4);
	CHECK_INT(oracle_report("none", -1, &d), 1);
}

// ---- Spheres ----

TEST(tool_oracle, pairs_of_spheres_are_those_of_a_double_loop)
{
	enum { COUNT = 300 };
	uint64_t random = 5;
	for (int round = 0; round < 4; round++) {
		io_sphere_set set = { 0 };
		REQUIRE(io_allocate_spheres(&set, COUNT, round % 2));
		// Numbers on a grid, so that many spheres just touch.
		for (int64_t i = 0; i < 4 * COUNT; i++) {
			const double value = (double)(test_random(&random) % (i % 4 == 3 ? 3 : 20)) / 2;
			if (set.wide)
				((double *)set.values)[i] = value;
			else
				((float *)set.values)[i] = (float)value;
		}
		oracle_pairs found;
		REQUIRE(oracle_find_sphere_pairs(&set, &found));
		int64_t at = 0;
		for (int32_t i = 0; i < COUNT; i++) {
			for (int32_t k = i + 1; k < COUNT; k++) {
				double p[4], q[4];
				io_get_sphere(&set, i, p);
				io_get_sphere(&set, k, q);
				const double x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2], reach = p[3] + q[3];
				if (x * x + y * y + z * z > reach * reach)
					continue;
				REQUIRE(at < found.count);
				CHECK(found.data[at][0] == i && found.data[at][1] == k);
				at++;
			}
		}
		CHECK_INT(found.count, at);
		CHECK(at > 100);
		oracle_free_pairs(&found);
		io_free_spheres(&set);
	}
}

// ---- Impacts ----

typedef struct step {
	carom_context *context;
	carom_sweep *sweep;
	carom_sweep_def def;
	sim_mesh begin, end;
	carom_sweep_hits hits;
	carom_sweep_hit *changed; // a copy of the hits
} step;

static carom_strided doubles_of(const sim_mesh *mesh)
{
	return (carom_strided){ .data = mesh->doubles, .type = CAROM_FLOAT64 };
}

static void copy_as_doubles(const sim_mesh *from, sim_mesh *to)
{
	*to = (sim_mesh){ .vertex_count = from->vertex_count, .triangle_count = from->triangle_count };
	to->doubles = malloc(3 * (size_t)from->vertex_count * sizeof *to->doubles);
	to->triangles = malloc(3 * (size_t)from->triangle_count * sizeof *to->triangles);
	REQUIRE(to->doubles && to->triangles);
	for (int32_t i = 0; i < 3 * from->vertex_count; i++)
		to->doubles[i] = (double)from->vertices[i];
	memcpy(to->triangles, from->triangles, 3 * (size_t)from->triangle_count * sizeof *to->triangles);
}

/// A body that is turned inside out by a third, with a repeated triangle and one of a repeated corner.
static void open_step(step *s)
{
	sim_error error;
	sim_mesh shape;
	REQUIRE(sim_make_shape("lumpy", 160, 1, &shape, &error));
	for (int k = 0; k < 3; k++)
		shape.triangles[3 + k] = shape.triangles[k];
	shape.triangles[6] = shape.triangles[7];
	copy_as_doubles(&shape, &s->begin);
	copy_as_doubles(&shape, &s->end);
	sim_mesh_free(&shape);
	for (int32_t v = 0; v < s->end.vertex_count; v++) {
		s->end.doubles[3 * v + 2] *= -0.3;
		s->end.doubles[3 * v] += 0.1 * s->end.doubles[3 * v + 2] * s->end.doubles[3 * v + 1];
	}
	s->context = sweep_context(1, CAROM_SIMD_AUTO);
	s->def = carom_default_sweep_def();
	carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
	def.vertices = doubles_of(&s->begin);
	def.vertex_count = s->begin.vertex_count;
	def.triangles = s->begin.triangles;
	def.triangle_count = s->begin.triangle_count;
	const carom_strided end = doubles_of(&s->end);
	int32_t number;
	REQUIRE(carom_create_sweep(s->context, &s->def, &s->sweep) == CAROM_SUCCESS);
	REQUIRE(carom_sweep_add_mesh(s->sweep, &def, &number) == CAROM_SUCCESS);
	REQUIRE(carom_sweep_move_mesh(s->sweep, 0, &end) == CAROM_SUCCESS);
	REQUIRE(carom_sweep_find(s->sweep, &s->hits) == CAROM_SUCCESS && s->hits.count > 100);
	s->changed = malloc((size_t)s->hits.count * sizeof *s->changed);
	REQUIRE(s->changed != NULL);
	memcpy(s->changed, s->hits.data, (size_t)s->hits.count * sizeof *s->changed);
}

static void close_step(step *s)
{
	free(s->changed);
	sim_mesh_free(&s->begin);
	sim_mesh_free(&s->end);
	carom_destroy_sweep(s->sweep);
	carom_destroy_context(s->context);
}

static oracle_difference compare_hits(step *s, const carom_sweep_hit *hits, int64_t count, bool earliest)
{
	oracle_difference d = { 0 };
	const carom_sweep_hits list = { hits, count };
	CHECK(oracle_compare_impacts(s->context, &s->def, &s->begin, &s->end, &list, earliest, &d));
	return d;
}

static void check_difference(const oracle_difference *d, int64_t missed, int64_t invented, int64_t other)
{
	CHECK_INT(d->missed, missed);
	CHECK_INT(d->invented, invented);
	CHECK_INT(d->other, other);
	CHECK_INT(d->first[0] != '\0', missed + invented + other > 0);
	CHECK_INT(oracle_report("step", -1, d), missed + invented + other > 0);
}

TEST(tool_oracle, falsified_impacts_are_told)
{
	step s = { 0 };
	open_step(&s);
	const int64_t count = s.hits.count;
	oracle_difference d = compare_hits(&s, s.hits.data, count, false);
	CHECK_INT(d.count, count);
	check_difference(&d, 0, 0, 0);
	d = compare_hits(&s, s.hits.data + 1, count - 1, false);
	check_difference(&d, 1, 0, 0);
	CHECK(strstr(d.first, "is missed") != NULL);
	d = compare_hits(&s, s.hits.data, 0, false);
	check_difference(&d, count, 0, 0);
	// A time that differs in the last bit.
	s.changed[count / 2].time = nextafter(s.changed[count / 2].time, 2);
	d = compare_hits(&s, s.changed, count, false);
	check_difference(&d, 0, 0, 1);
	CHECK(strstr(d.first, "is found at another time") != NULL);
	// Another vertex, and an impact listed twice.
	s.changed[count / 2] = s.hits.data[count / 2];
	s.changed[0].vertices[0] = s.begin.vertex_count;
	d = compare_hits(&s, s.changed, count, false);
	check_difference(&d, 1, 1, 0);
	s.changed[0] = s.changed[1];
	d = compare_hits(&s, s.changed, count, false);
	check_difference(&d, 1, 1, 0);
	close_step(&s);
}

TEST(tool_oracle, a_falsified_earliest_impact_is_told)
{
	step s = { 0 };
	open_step(&s);
	carom_sweep_hit first;
	bool found;
	REQUIRE(carom_sweep_find_earliest(s.sweep, &first, &found) == CAROM_SUCCESS && found);
	oracle_difference d = compare_hits(&s, &first, 1, true);
	check_difference(&d, 0, 0, 0);
	d = compare_hits(&s, &first, 0, true);
	check_difference(&d, 1, 0, 0);
	first.time = nextafter(first.time, -1);
	d = compare_hits(&s, &first, 1, true);
	check_difference(&d, 0, 0, 1);
	close_step(&s);
}

// ---- Inside ----

/// A box from -half to half about x, its triangles faced outwards; with a triangle that is one point.
static sim_mesh make_box(double half, double x)
{
	static const int32_t triangles[39] = { 0, 2, 1, 0, 3, 2, 4, 5, 6, 4, 6, 7, 0, 1, 5, 0, 5, 4, 1, 2, 6, 1, 6, 5, 2, 3, 7, 2,
		7, 6, 3, 0, 4, 3, 4, 7, 1, 1, 1 };
	static const double corners[8][3] = { { -1, -1, -1 }, { 1, -1, -1 }, { 1, 1, -1 }, { -1, 1, -1 }, { -1, -1, 1 },
		{ 1, -1, 1 }, { 1, 1, 1 }, { -1, 1, 1 } };
	sim_mesh mesh = { .vertex_count = 8, .triangle_count = 13 };
	mesh.doubles = malloc(24 * sizeof *mesh.doubles);
	mesh.triangles = malloc(sizeof triangles);
	REQUIRE(mesh.doubles && mesh.triangles);
	memcpy(mesh.triangles, triangles, sizeof triangles);
	for (int i = 0; i < 24; i++)
		mesh.doubles[i] = half * corners[i / 3][i % 3] + (i % 3 == 0 ? x : 0);
	return mesh;
}

/// The triangles of b, turned round when asked, after those of a.
static void append_mesh(sim_mesh *a, const sim_mesh *b, bool turned)
{
	const int32_t vertices = a->vertex_count, triangles = a->triangle_count;
	a->vertex_count += b->vertex_count;
	a->triangle_count += b->triangle_count;
	a->doubles = realloc(a->doubles, 3 * (size_t)a->vertex_count * sizeof *a->doubles);
	a->triangles = realloc(a->triangles, 3 * (size_t)a->triangle_count * sizeof *a->triangles);
	REQUIRE(a->doubles && a->triangles);
	memcpy(a->doubles + 3 * vertices, b->doubles, 3 * (size_t)b->vertex_count * sizeof *a->doubles);
	for (int32_t i = 0; i < 3 * b->triangle_count; i++)
		a->triangles[3 * triangles + i] = vertices + b->triangles[turned ? 3 * (i / 3) + 2 - i % 3 : i];
}

static bool is_inside(const sim_mesh *inner, const sim_mesh *outer)
{
	bool inside = false;
	CHECK(oracle_lies_inside(inner, outer, &inside));
	return inside;
}

TEST(tool_oracle, one_mesh_in_another)
{
	sim_mesh large = make_box(4, 0), hole = make_box(2, 0), small = make_box(1, 0), beside = make_box(1, 9), none = { 0 };
	CHECK(is_inside(&small, &large));
	CHECK(!is_inside(&large, &small));
	CHECK(!is_inside(&beside, &large));
	CHECK(!is_inside(&none, &large));
	CHECK(!is_inside(&small, &none));
	// One piece of two is enough, whichever is the first.
	sim_mesh both = make_box(1, 9);
	append_mesh(&both, &small, false);
	CHECK(is_inside(&both, &large));
	sim_mesh turned = make_box(1, 0);
	append_mesh(&turned, &beside, false);
	CHECK(is_inside(&turned, &large));
	// In a cavity nothing is inside; in the wall around it all is.
	sim_mesh hollow = make_box(4, 0), in_wall = make_box(0.5, 3);
	append_mesh(&hollow, &hole, true);
	CHECK(!is_inside(&small, &hollow));
	CHECK(is_inside(&in_wall, &hollow));
	sim_mesh *const all[8] = { &large, &hole, &small, &beside, &both, &turned, &hollow, &in_wall };
	for (int i = 0; i < 8; i++)
		sim_mesh_free(all[i]);
}
