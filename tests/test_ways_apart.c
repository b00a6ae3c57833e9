/// Ways that lead surfaces apart which cross already: against differences of the length of all lines of crossing, and as a solver of
/// cloth follows them.
#include "fixture.h"
#include "sweep_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static v3d place(const sweep_mesh *m, int32_t v) { return v3d_from_doubles(&m->end[3 * v]); }

// ---- The length of all lines ----

/// Where a segment crosses a triangle; false: it does not.
static bool cross(v3d p, v3d q, const v3d t[3], v3d *at)
{
	const v3d n = v3d_cross(v3d_sub(t[1], t[0]), v3d_sub(t[2], t[0]));
	const double from = v3d_dot(n, v3d_sub(p, t[0])), to = v3d_dot(n, v3d_sub(q, t[0]));
	if ((from > 0) == (to > 0))
		return false;
	*at = v3d_mad(p, from / (from - to), v3d_sub(q, p));
	bool inside = true;
	for (int k = 0; k < 3; k++)
		inside = inside && v3d_dot(n, v3d_cross(v3d_sub(t[(k + 1) % 3], t[k]), v3d_sub(*at, t[k]))) > 0;
	return inside;
}

/// The length of the line along which two triangles cross.
static double length_of_pair(const v3d s[3], const v3d t[3])
{
	v3d at[6];
	int count = 0;
	for (int k = 0; k < 3; k++) {
		count += cross(s[k], s[(k + 1) % 3], t, &at[count]);
		count += cross(t[k], t[(k + 1) % 3], s, &at[count]);
	}
	return count == 2 ? v3d_length(v3d_sub(at[1], at[0])) : 0;
}

static void get_triangle(const sweep_mesh *m, int32_t i, v3d t[3])
{
	for (int k = 0; k < 3; k++)
		t[k] = place(m, m->triangles[3 * i + k]);
}

static double length_of_lines(const sweep_world *world)
{
	const sweep_mesh *a = &world->meshes[0], *b = &world->meshes[1];
	double sum = 0;
	for (int32_t i = 0; i < a->triangle_count; i++) {
		for (int32_t k = 0; k < b->triangle_count; k++) {
			v3d s[3], t[3];
			get_triangle(a, i, s);
			get_triangle(b, k, t);
			sum += length_of_pair(s, t);
		}
	}
	return sum;
}

static void shift_along(sweep_world *world, double *const direction[2], double by)
{
	for (int m = 0; m < 2; m++) {
		for (int32_t i = 0; i < 3 * world->meshes[m].vertex_count; i++)
			world->meshes[m].end[i] += by * direction[m][i];
	}
}

/// How much shorter the lines get along a direction, by the ways.
static double fall_along(const sweep_world *world, carom_sweep_ways_apart ways, double *const direction[2])
{
	double fall = 0;
	for (int64_t i = 0; i < ways.count; i++) {
		const carom_sweep_way_apart *w = &ways.data[i];
		const carom_sweep_crossing *c = &w->crossing;
		const int32_t *corners = &world->meshes[c->mesh_b].triangles[3 * c->triangle];
		v3d of_edge = { 0, 0, 0 }, of_triangle = of_edge;
		for (int k = 0; k < 2; k++)
			of_edge =
				v3d_mad(of_edge, k == 0 ? 1 - w->along : w->along, v3d_from_doubles(&direction[c->mesh_a][3 * c->vertices[k]]));
		for (int k = 0; k < 3; k++)
			of_triangle = v3d_mad(of_triangle, w->weights[k], v3d_from_doubles(&direction[c->mesh_b][3 * corners[k]]));
		fall += v3d_dot(v3d_from_doubles(w->edge_way), of_edge) + v3d_dot(v3d_from_doubles(w->triangle_way), of_triangle);
	}
	return fall;
}

/// The point of each way is that of the edge, and that of the triangle.
static void check_points(const sweep_world *world, carom_sweep_ways_apart ways)
{
	for (int64_t i = 0; i < ways.count; i++) {
		const carom_sweep_way_apart *w = &ways.data[i];
		const sweep_mesh *a = &world->meshes[w->crossing.mesh_a], *b = &world->meshes[w->crossing.mesh_b];
		const v3d point = v3d_from_doubles(w->point), p = place(a, w->crossing.vertices[0]),
				  q = place(a, w->crossing.vertices[1]);
		v3d t[3], on = { 0, 0, 0 };
		get_triangle(b, w->crossing.triangle, t);
		for (int k = 0; k < 3; k++)
			on = v3d_mad(on, w->weights[k], t[k]);
		CHECK(v3d_length(v3d_sub(v3d_mad(p, w->along, v3d_sub(q, p)), point)) < 1e-12);
		CHECK(v3d_length(v3d_sub(on, point)) < 1e-9);
		CHECK_NEAR(w->weights[0] + w->weights[1] + w->weights[2], 1, 1e-9);
	}
}

TEST(ways_apart, are_the_gradient_of_the_length_of_lines)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	uint64_t random = 5;
	int compared = 0;
	for (int round = 0; round < 40; round++) {
		sweep_world world = { 0 };
		sweep_add_torus(&world, 9, 6)->self = false;
		sweep_add_sheet(&world, 6, 6, round % 2 ? 3 : 1)->self = false;
		sweep_move(&world, 0.3, 0.05, &random);
		carom_sweep *sweep = sweep_load(context, NULL, &world);
		sweep_tell(sweep, &world);
		carom_sweep_ways_apart ways;
		carom_sweep_crossings crossings;
		REQUIRE(carom_sweep_find_ways_apart(sweep, &ways) == CAROM_SUCCESS);
		check_points(&world, ways);
		double *direction[2];
		for (int m = 0; m < 2; m++) {
			direction[m] = malloc(3 * (size_t)world.meshes[m].vertex_count * sizeof(double));
			for (int32_t i = 0; i < 3 * world.meshes[m].vertex_count; i++)
				direction[m][i] = test_random_double(&random, -1, 1);
		}
		const double fall = fall_along(&world, ways, direction), by = 1e-7;
		const int64_t count = ways.count;
		REQUIRE(carom_sweep_find_crossings(sweep, &crossings) == CAROM_SUCCESS);
		CHECK_INT(crossings.count, count);
		shift_along(&world, direction, -by);
		const double before = length_of_lines(&world);
		shift_along(&world, direction, 2 * by);
		const double measured = (before - length_of_lines(&world)) / (2 * by);
		compared += fabs(fall - measured) < 1e-4 * (1 + fabs(measured));
		for (int m = 0; m < 2; m++)
			free(direction[m]);
		carom_destroy_sweep(sweep);
		sweep_free_world(&world);
	}
	CHECK(compared >= 38); // an edge may pass a corner within the difference
	carom_destroy_context(context);
}

// ---- Cloth that a solver leads apart ----

enum { SIDE = 16, NODES = SIDE * SIDE, MOST_STEPS = 400, MOST_LINKS = 8 * NODES };

typedef struct link {
	int32_t mesh, ends[2];
	double length;
} link;

/// Sheets, and rigid meshes that stay.
typedef struct cloths {
	sweep_world world;
	link links[2 * MOST_LINKS];
	int link_count;
} cloths;

static void add_link(cloths *s, int mesh, int32_t a, int32_t b)
{
	const double *rest = s->world.meshes[mesh].begin;
	const v3d way = v3d_sub(v3d_from_doubles(&rest[3 * a]), v3d_from_doubles(&rest[3 * b]));
	s->links[s->link_count++] = (link){ mesh, { a, b }, v3d_length(way) };
}

/// A sheet of 16 x 16 nodes, 1.5 m wide, flat; its links hold the length of edges, diagonals and pairs of edges in a row.
static double *add_cloth(cloths *s)
{
	sweep_mesh *m = sweep_add_sheet(&s->world, SIDE, SIDE, 1.5);
	const int mesh = s->world.count - 1;
	m->self = true;
	REQUIRE(m->vertex_count == NODES);
	for (int i = 0; i < NODES; i++) {
		const int x = i % SIDE, y = i / SIDE;
		for (int k = 1; k <= 2; k++) {
			if (x + k < SIDE)
				add_link(s, mesh, i, i + k);
			if (y + k < SIDE)
				add_link(s, mesh, i, i + k * SIDE);
		}
		if (x + 1 < SIDE && y + 1 < SIDE)
			add_link(s, mesh, i, i + SIDE + 1);
	}
	return m->end;
}

static void hold_lengths(cloths *s)
{
	for (int i = 0; i < s->link_count; i++) {
		const link *l = &s->links[i];
		double *p = &s->world.meshes[l->mesh].end[3 * l->ends[0]], *q = &s->world.meshes[l->mesh].end[3 * l->ends[1]];
		const v3d way = v3d_sub(v3d_from_doubles(q), v3d_from_doubles(p));
		const double length = v3d_length(way), part = length > 0 ? 0.5 * (length - l->length) / length : 0;
		const double by[3] = { part * way.x, part * way.y, part * way.z };
		for (int k = 0; k < 3; k++) {
			p[k] += by[k];
			q[k] -= by[k];
		}
	}
}

static v3d way_of(const carom_sweep_way_apart *w)
{
	return v3d_sub(v3d_from_doubles(w->edge_way), v3d_from_doubles(w->triangle_way));
}

/// The sum of the ways of mesh 0 against mesh 1. Inner parts of a line have ways of about 0, and would hold back what its ends want.
static v3d sum_ways(carom_sweep_ways_apart ways)
{
	v3d sum = { 0, 0, 0 };
	for (int64_t i = 0; i < ways.count; i++) {
		const carom_sweep_crossing *c = &ways.data[i].crossing;
		sum = v3d_mad(sum, c->mesh_b - c->mesh_a, way_of(&ways.data[i]));
	}
	return sum;
}

/// Move the two features of a way by at most 0.02 m against each other. common: of mesh 0 against mesh 1, to be added.
static void follow_way(cloths *s, const carom_sweep_way_apart *w, v3d common)
{
	const carom_sweep_crossing *c = &w->crossing;
	sweep_mesh *a = &s->world.meshes[c->mesh_a], *b = &s->world.meshes[c->mesh_b];
	const int32_t *corners = &b->triangles[3 * c->triangle];
	const double of_edge = a->is_rigid ? 0 : 1, of_triangle = b->is_rigid ? 0 : 1;
	const double weights[2] = { 1 - w->along, w->along };
	const v3d apart = v3d_mad(way_of(w), c->mesh_b - c->mesh_a, common);
	double sum = 0;
	for (int k = 0; k < 2; k++)
		sum += of_edge * weights[k] * weights[k];
	for (int k = 0; k < 3; k++)
		sum += of_triangle * w->weights[k] * w->weights[k];
	const double length = v3d_length(apart), by = sum > 0 ? 0.02 / (sqrt(length * length + 1) * sum) : 0;
	const double way[3] = { by * apart.x, by * apart.y, by * apart.z };
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < 2; i++)
			a->end[3 * c->vertices[i] + k] += of_edge * weights[i] * way[k];
		for (int i = 0; i < 3; i++)
			b->end[3 * corners[i] + k] -= of_triangle * w->weights[i] * way[k];
	}
}

/// Crossings at first, and the steps until there is none; -1: some stay.
typedef struct outcome {
	int64_t crossings, left;
	int steps;
} outcome;

static outcome lead_apart(carom_context *context, cloths *s)
{
	outcome out = { .steps = -1 };
	carom_sweep *sweep = sweep_load(context, NULL, &s->world);
	for (int step = 0; step < MOST_STEPS && out.steps < 0; step++) {
		carom_sweep_ways_apart ways;
		sweep_tell(sweep, &s->world);
		REQUIRE(carom_sweep_find_ways_apart(sweep, &ways) == CAROM_SUCCESS);
		out.crossings = step == 0 ? ways.count : out.crossings;
		out.left = ways.count;
		out.steps = ways.count == 0 ? step : -1;
		const v3d common = sum_ways(ways);
		for (int64_t i = 0; i < ways.count; i++)
			follow_way(s, &ways.data[i], common);
		for (int turn = 0; turn < 5; turn++)
			hold_lengths(s);
	}
	carom_destroy_sweep(sweep);
	sweep_free_world(&s->world);
	return out;
}

/// A sheet that hangs through one that lies, by a part of a metre: with its lower border, or turned in its plane, with a corner.
static void make_hanging(cloths *s, double deep, bool corner)
{
	double *lies = add_cloth(s), *hangs = add_cloth(s);
	for (int i = 0; i < NODES; i++) {
		lies[3 * i + 2] = 0.01 * sin(7 * lies[3 * i]) * cos(5 * lies[3 * i + 1]);
		const double turn = corner ? 0.78 : 0, x = hangs[3 * i], y = hangs[3 * i + 1], along = cos(turn) * x - sin(turn) * y;
		hangs[3 * i] = along + 0.03;
		hangs[3 * i + 1] = 0.04 + 0.1 * along;
		hangs[3 * i + 2] = sin(turn) * x + cos(turn) * y + (corner ? 0.75 * sqrt(2.0) : 0.75) - deep;
	}
}

/// A sheet whose corner is turned over and through it.
static void make_crossed_corner(cloths *s, double radius)
{
	double *p = add_cloth(s);
	for (int i = 0; i < NODES; i++) {
		double *at = &p[3 * i];
		const double along = (at[0] + at[1]) / sqrt(2.0), across = (at[0] - at[1]) / sqrt(2.0), beyond = along - 0.2;
		if (beyond <= 0)
			continue;
		const double angle = beyond / radius, there = 0.2 + radius * sin(angle), high = radius * (1 - cos(angle));
		at[0] = (there + across) / sqrt(2.0);
		at[1] = (there - across) / sqrt(2.0);
		at[2] = high;
	}
}

/// A sheet that lies across a ball.
static void make_crossed_ball(cloths *s, double high)
{
	double *p = add_cloth(s);
	for (int i = 0; i < NODES; i++)
		p[3 * i + 2] = high + 0.011;
	sweep_mesh *ball = sweep_add_torus(&s->world, 13, 9);
	ball->is_rigid = true;
	ball->self = false;
	for (int i = 0; i < 3 * ball->vertex_count; i++)
		ball->end[i] = ball->begin[i] *= 0.3;
}

TEST(ways_apart, cloth_that_follows_them_crosses_nowhere)
{
	static cloths s;
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	for (int i = 0; i < 11; i++) {
		s = (cloths){ 0 };
		if (i < 2)
			make_hanging(&s, i == 0 ? 0.06 : 0.16, false);
		else if (i < 5)
			make_hanging(&s, 0.15 * (i - 1), true);
		else if (i < 8)
			make_crossed_corner(&s, 0.08 + 0.02 * (i - 5));
		else
			make_crossed_ball(&s, 0.05 * (i - 8));
		const outcome out = lead_apart(context, &s);
		CHECK(out.crossings > 0 && out.left == 0);
		CHECK(out.steps >= 0 && out.steps <= 200);
	}
	carom_destroy_context(context);
}

// ---- Calls ----

TEST(ways_apart, threads_change_nothing)
{
	carom_sweep_way_apart *first = NULL;
	int64_t count = 0;
	for (int threads = 1; threads <= 3; threads += 2) {
		carom_context *context = sweep_context(threads, CAROM_SIMD_AUTO);
		uint64_t random = 13;
		sweep_world world = { 0 };
		sweep_add_torus(&world, 30, 16);
		sweep_add_sheet(&world, 20, 20, 3);
		sweep_add_mess(&world, 20, 60, &random);
		sweep_move(&world, 0.1, 0.2, &random);
		carom_sweep *sweep = sweep_load(context, NULL, &world);
		sweep_tell(sweep, &world);
		carom_sweep_ways_apart ways;
		REQUIRE(carom_sweep_find_ways_apart(sweep, &ways) == CAROM_SUCCESS);
		CHECK(ways.count > 100);
		for (int64_t i = 0; i < ways.count; i++) {
			for (int k = 0; k < 3; k++)
				CHECK(isfinite(ways.data[i].edge_way[k]) && isfinite(ways.data[i].triangle_way[k]) &&
					isfinite(ways.data[i].weights[k]));
		}
		if (threads == 1) {
			count = ways.count;
			first = malloc((size_t)count * sizeof *first);
			memcpy(first, ways.data, (size_t)count * sizeof *first);
		} else {
			REQUIRE(CHECK_INT(ways.count, count));
			for (int64_t i = 0; i < count; i++) {
				CHECK(memcmp(&first[i].crossing, &ways.data[i].crossing, sizeof first[i].crossing) == 0);
				CHECK(memcmp(first[i].edge_way, ways.data[i].edge_way, sizeof first[i].edge_way) == 0);
				CHECK(memcmp(first[i].triangle_way, ways.data[i].triangle_way, sizeof first[i].triangle_way) == 0);
			}
		}
		carom_destroy_sweep(sweep);
		carom_destroy_context(context);
		sweep_free_world(&world);
	}
	free(first);
}

TEST(ways_apart, what_cannot_be_told_is_none)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	// Two triangles in one plane, which overlap.
	const double places[6][3] = { { 0, 0, 0 }, { 2, 0, 0 }, { 0, 2, 0 }, { 0.5, 0.5, 0 }, { 3, 0.5, 0 }, { 0.5, 3, 0 } };
	const int32_t triangles[2][3] = { { 0, 1, 2 }, { 3, 4, 5 } };
	carom_sweep *sweep;
	carom_sweep_ways_apart ways;
	REQUIRE(carom_create_sweep(context, NULL, &sweep) == CAROM_SUCCESS);
	CHECK(carom_sweep_find_ways_apart(sweep, &ways) == CAROM_SUCCESS && ways.count == 0 && !ways.data);
	carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
	def.vertices = (carom_strided){ places, 0, CAROM_FLOAT64 };
	def.vertex_count = 6;
	def.triangles = triangles[0];
	def.triangle_count = 2;
	int32_t mesh;
	REQUIRE(carom_sweep_add_mesh(sweep, &def, &mesh) == CAROM_SUCCESS);
	REQUIRE(carom_sweep_find_ways_apart(sweep, &ways) == CAROM_SUCCESS);
	CHECK(ways.count > 0);
	for (int64_t i = 0; i < ways.count; i++) {
		for (int k = 0; k < 3; k++)
			CHECK(ways.data[i].edge_way[k] == 0 && ways.data[i].triangle_way[k] == 0 && isfinite(ways.data[i].point[k]));
	}
	CHECK(carom_sweep_find_ways_apart(NULL, &ways) == CAROM_INVALID_ARGUMENT);
	fixture_expect_wrong(context, carom_sweep_find_ways_apart(sweep, NULL), "carom_sweep_find_ways_apart: ways is NULL");
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
}

TEST(ways_apart, survive_every_failed_allocation)
{
	static fixture_heap heap;
	failing_calls calls = failing_calls_of_preset();
	int64_t failed = 0;
	for (bool over = false; !over && test_failures() == 0;) {
		carom_context *context = fixture_heap_context(&heap, 1);
		sweep_world world = { 0 };
		sweep_add_torus(&world, 10, 6);
		sweep_add_sheet(&world, 8, 8, 3);
		carom_sweep *sweep = sweep_load(context, NULL, &world);
		carom_sweep_ways_apart ways;
		fixture_begin_failing(&heap, &calls);
		const carom_result result = carom_sweep_find_ways_apart(sweep, &ways);
		CHECK(result == CAROM_SUCCESS || (result == CAROM_OUT_OF_MEMORY && ways.count == 0));
		failed += result != CAROM_SUCCESS;
		over = !fixture_end_failing(&heap);
		REQUIRE(carom_sweep_find_ways_apart(sweep, &ways) == CAROM_SUCCESS && ways.count > 0);
		carom_destroy_sweep(sweep);
		carom_destroy_context(context);
		CHECK_INT(heap.blocks, 0);
		sweep_free_world(&world);
	}
	CHECK(failed > 3 / TEST_STRIDE);
	failing_calls_free(&calls);
}
