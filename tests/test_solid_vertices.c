/// Each vertex of a solid that lies in another body has one contact for each way that it is pushed, and none is deeper than it need be
/// where the solid lies over an edge. The oracle: floors are level, so a vertex is in one where its height is below zero and it is not
/// beyond the rim.
#include "cube_fixture.h"

#include <math.h>
#include <string.h>

enum { FLOORS = 10, PLACES = TEST_FEWER > 1 ? 3 : 12 };

/// Floors of 4 by 4 metres, or of radius 2, whose top is at height 0.
typedef struct floors {
	carom_mesh *hull, *closed, *open, *field;
	carom_shape shape[FLOORS];
	carom_pose pose[FLOORS];
} floors;

enum { SOFT = FLOORS - 1 };

static void open_floors(carom_context *context, floors *f)
{
	static const float corners[24] = { -2, -2, -1, 2, -2, -1, -2, 2, -1, 2, 2, -1, -2, -2, 1, 2, -2, 1, -2, 2, 1, 2, 2, 1 };
	static const float heights[100] = { 0 };
	const double spacing[2] = { 4.0 / 9, 4.0 / 9 };
	f->hull = fixture_hull_mesh(context, corners, 8);
	f->closed = fixture_box_mesh(context, 2, 2, 1);
	f->open = fixture_sheet_mesh(context, 4, 4);
	REQUIRE(carom_create_height_field(context, 10, 10, heights, spacing, 1, &f->field) == CAROM_SUCCESS);
	carom_shape rounded = fixture_box(1.9, 1.9, 0.9);
	rounded.rounding = 0.1;
	const carom_shape shapes[FLOORS] = { fixture_box(2, 2, 1), fixture_hull(f->hull), fixture_cylinder(2, 1), fixture_cone(2, 1),
		rounded, fixture_of_mesh(f->closed), fixture_of_mesh(f->open), fixture_of_mesh(f->field), { .type = CAROM_PLANE } };
	memcpy(f->shape, shapes, sizeof shapes);
	for (int i = 0; i < FLOORS; i++)
		f->pose[i] = fixture_at(0, 0, -1);
	f->pose[3].orientation = (carom_quat){ 1, 0, 0, 0 }; // the base up
	f->pose[6] = f->pose[8] = fixture_at(0, 0, 0);
	f->pose[7] = fixture_at(-2, -2, 0);
}

static void close_floors(floors *f)
{
	carom_release_mesh(f->hull);
	carom_release_mesh(f->closed);
	carom_release_mesh(f->open);
	carom_release_mesh(f->field);
}

static void add_floor(carom_world *world, const floors *f, int number)
{
	if (number < SOFT) {
		fixture_add(world, f->shape[number], f->pose[number], CAROM_STATIC);
		return;
	}
	static cube g;
	make_cube(&g, 3, 4);
	for (int32_t i = 0; i < g.vertex_count; i++)
		g.place[i][2] -= 4;
	add_cube(world, &g);
}

/// Is a contact at a vertex, as seen from above? The points of two bodies lie over each other.
static bool is_at(const carom_contact *c, const double place[3])
{
	return hypot(c->point[0] - place[0], c->point[1] - place[1]) < 1e-3 && fabs(c->point[2] - place[2]) < 0.05;
}

/// Of the vertices below height 0: are there any, how many have no contact, how many have two that push alike?
static void count_told(const cube *g, carom_contact_view contacts, int *below, int *untold, int *twice)
{
	for (int32_t i = 0; i < g->vertex_count; i++) {
		if (!g->used[i] || g->place[i][2] > -1e-6)
			continue;
		int told = 0;
		for (int k = 0; k < contacts.count; k++)
			told += is_at(&contacts.data[k], g->place[i]);
		(*below)++;
		*untold += told == 0;
		*twice += told > 1;
	}
}

/// Solids set into a floor, flat or with a wobble: each vertex in it has a contact upward, as deep as it lies.
static void check_floor(carom_context *context, const floors *f, int number, double wobble, double ahead)
{
	static cube g;
	uint64_t seed = 40 + (uint64_t)number;
	int below = 0, untold = 0, twice = 0, wrong = 0;
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = ahead;
	for (int i = 0; i < PLACES; i++) {
		carom_world *world = fixture_world(context, &def);
		add_floor(world, f, number);
		make_cube(&g, 1 + i % MOST_CELLS, 1);
		const v3d to = { test_random_double(&seed, -0.6, 0.6), test_random_double(&seed, -0.6, 0.6),
			-test_random_double(&seed, 1e-4, 0.03) };
		put_cube(&g, &seed, i % 4 == 0 ? 0 : test_random_double(&seed, 0, 6), to, wobble);
		const carom_body_id solid = add_cube(world, &g);
		fixture_step(world);
		const carom_contact_view contacts = carom_world_contacts(world);
		count_told(&g, contacts, &below, &untold, &twice);
		double lowest = 0;
		for (int32_t k = 0; k < g.vertex_count; k++)
			lowest = fmin(lowest, g.place[k][2]);
		for (int k = 0; k < contacts.count; k++) {
			const carom_contact *c = &contacts.data[k];
			const double up = (c->body_a.index1 == solid.index1 ? 1 : -1) * (double)c->normal[2];
			wrong += up < 0.99 || c->depth > 1e-6 - lowest;
		}
		carom_destroy_world(world);
	}
	CHECK(below > 4 * PLACES);
	CHECK_INT(untold, 0);
	CHECK(100 * twice <= below); // where an edge leaves the floor beside a vertex
	CHECK_INT(wrong, 0);
}

TEST(solid_vertices, each_in_a_floor_has_a_contact)
{
	carom_context *context = fixture_context(1);
	floors f;
	open_floors(context, &f);
	for (int i = 0; i < FLOORS; i++) {
		check_floor(context, &f, i, 0, 0);
		check_floor(context, &f, i, 1e-3, 0);
		check_floor(context, &f, i, 0, 0.01);
		check_floor(context, &f, i, 1e-3, 0.01);
	}
	close_floors(&f);
	carom_destroy_context(context);
}

/// The limit of two bodies holds for solids as well. A reduced patch of a flat face keeps its extent.
TEST(solid_vertices, a_limit_of_bodies_keeps_the_extent)
{
	static cube g;
	carom_context *context = fixture_context(1);
	floors f;
	open_floors(context, &f);
	for (int i = 0; i < FLOORS; i++) {
		uint64_t seed = 9;
		carom_world *world = fixture_world(context, NULL);
		REQUIRE(carom_world_set_body_pairs(world, false, 8) == CAROM_SUCCESS);
		add_floor(world, &f, i);
		make_cube(&g, 5, 1);
		put_cube(&g, &seed, 0.3, (v3d){ 0.1, 0.2, -0.01 }, 0);
		add_cube(world, &g);
		fixture_step(world);
		const carom_contact_view c = carom_world_contacts(world);
		double area = 0; // of the largest triangle
		for (int k = 0; k < c.count * c.count * c.count; k++) {
			const double *p = c.data[k % c.count].point, *q = c.data[k / c.count % c.count].point,
						 *r = c.data[k / c.count / c.count].point;
			area = fmax(area, 0.5 * fabs((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])));
		}
		CHECK_INT(c.count, 8);
		CHECK(area > 0.45); // of the face 0.5
		carom_destroy_world(world);
	}
	close_floors(&f);
	carom_destroy_context(context);
}

// ---- Over edges ----

/// How many contacts of a solid over the edge of a floor are deeper than it lies in it, or lead down.
static int count_deep(carom_context *context, const floors *f, int number, double wobble, double most)
{
	static cube g;
	uint64_t seed = 70 + (uint64_t)number;
	int deep = 0;
	for (int i = 0; i < 8 * PLACES; i++) {
		carom_world *world = fixture_world(context, NULL);
		add_floor(world, f, number);
		make_cube(&g, 2 + i % 3, 1);
		const double along = test_random_double(&seed, 0, 6.3), out = test_random_double(&seed, 1.6, 2.4);
		const bool round = number == 2 || number == 3;
		const v3d to = { round ? out * cos(along) : out, round ? out * sin(along) : 0.7 * (along - 3.15),
			-test_random_double(&seed, 1e-4, most) };
		put_cube(&g, &seed, test_random_double(&seed, 0, 6.3), to, wobble);
		const carom_body_id solid = add_cube(world, &g);
		double lowest = 0;
		for (int32_t k = 0; k < g.vertex_count; k++)
			lowest = fmin(lowest, g.place[k][2]);
		fixture_step(world);
		const carom_contact_view contacts = carom_world_contacts(world);
		bool found = contacts.count == 0 && out < 2.3;
		for (int k = 0; k < contacts.count; k++) {
			const double up = (contacts.data[k].body_a.index1 == solid.index1 ? 1 : -1) * (double)contacts.data[k].normal[2];
			// A way aside may be a twentieth longer.
			found = found || contacts.data[k].depth > -1.06 * lowest + 5e-3 || up < -1e-2;
		}
		deep += found;
		carom_destroy_world(world);
	}
	return deep;
}

TEST(solid_vertices, over_edges_are_no_deeper_than_they_lie)
{
	carom_context *context = fixture_context(1);
	floors f;
	open_floors(context, &f);
	for (int i = 0; i < 6; i++) {
		CHECK_INT(count_deep(context, &f, i, 0, 0.03), 0);
		CHECK_INT(count_deep(context, &f, i, 1e-3, 0.03), 0);
		CHECK_INT(count_deep(context, &f, i, 1e-3, 0.1), 0);
	}
	close_floors(&f);
	carom_destroy_context(context);
}

// ---- Solids alike ----

/// The hash of a step of solids on all floors, side by side.
static uint64_t hash_with(int threads)
{
	static cube g;
	carom_context *context = fixture_context(threads);
	floors f;
	open_floors(context, &f);
	carom_world *world = fixture_world(context, NULL);
	uint64_t seed = 5, hash = 0;
	for (int i = 0; i < SOFT - 1; i++) { // without the plane, which is everywhere
		carom_pose at = f.pose[i];
		at.position.x += 6 * i;
		fixture_add(world, f.shape[i], at, CAROM_STATIC);
		for (int k = 0; k < 2; k++) {
			make_cube(&g, 3, 1);
			put_cube(&g, &seed, 0.2, (v3d){ 6 * i + 0.1 * k, 0, -0.01 + 0.99 * k }, k * 1e-3);
			add_cube(world, &g);
		}
	}
	for (int step = 0; step < 2; step++) {
		fixture_step(world);
		hash ^= carom_world_hash(world);
	}
	CHECK(carom_world_contacts(world).count > 50);
	carom_destroy_world(world);
	close_floors(&f);
	carom_destroy_context(context);
	return hash;
}

TEST(solid_vertices, threads_change_nothing) { CHECK(hash_with(1) == hash_with(3)); }

/// A solid over the edge of a hull.
static void put_on_hull(carom_world *world, void *hull)
{
	static cube g;
	uint64_t seed = 8;
	make_cube(&g, 3, 1);
	put_cube(&g, &seed, 0.4, (v3d){ 1.8, 0, 0.99 }, 1e-3);
	add_cube(world, &g);
	fixture_add(world, fixture_hull(hull), fixture_at(0, 0, 0), CAROM_STATIC);
}

TEST(solid_vertices, memory_that_fails_costs_the_step)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	static const float corners[24] = { -2, -2, -1, 2, -2, -1, -2, 2, -1, 2, 2, -1, -2, -2, 1, 2, -2, 1, -2, 2, 1, 2, 2, 1 };
	carom_mesh *hull = fixture_hull_mesh(context, corners, 8);
	CHECK(fixture_fail_each_allocation(&heap, context, NULL, put_on_hull, hull, 1) > 10);
	carom_release_mesh(hull);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
