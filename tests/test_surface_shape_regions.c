/// Sheets that begin across the middle of a shape that is no mesh: they leave to one side.
#include "cuts_fixture.h"
#include "frame/body.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHAPES = 8, STEPS = 60 };

static const char *const names[SHAPES] = { "sphere", "box", "capsule", "cylinder", "cone", "ellipsoid", "hull", "rounded box" };

/// One of each kind, about the origin.
static void list_shapes(const carom_mesh *hull, carom_shape shapes[SHAPES])
{
	const carom_shape all[SHAPES] = { fixture_sphere(0.4), fixture_box(0.3, 0.4, 0.2), fixture_capsule(0.2, 0.3),
		fixture_cylinder(0.3, 0.2), fixture_cone(0.4, 0.4), fixture_ellipsoid(0.4, 0.3, 0.2), fixture_hull(hull),
		fixture_box(0.3, 0.2, 0.2) };
	memcpy(shapes, all, sizeof all);
	shapes[SHAPES - 1].rounding = 0.1;
}

static carom_mesh *make_hull(carom_context *context)
{
	static const float points[] = { -0.4f, -0.3f, -0.2f, 0.5f, -0.2f, -0.3f, 0.1f, 0.4f, -0.2f, -0.3f, 0.1f, 0.4f, 0.3f, 0.1f,
		0.35f, 0, -0.3f, 0.3f };
	return fixture_hull_mesh(context, points, 6);
}

/// All contacts that are led have one normal, which is returned; zero: there are none. count: how many there are.
static v3d check_one_way(const carom_world *world, int *count)
{
	const carom_surface_shape_contact_view view = carom_world_surface_shape_contacts(world);
	v3d way = { 0, 0, 0 };
	*count = 0;
	for (int64_t i = 0; i < view.count; i++) {
		const carom_surface_shape_contact *c = &view.data[i];
		CHECK(!c->led || *count == 0 || v3d_length(v3d_sub(way, c->normal)) < 1e-9);
		way = c->led ? c->normal : way;
		*count += c->led;
	}
	return way;
}

/// A sheet across the middle of a shape.
typedef struct across {
	carom_shape shape;
	carom_pose pose; // of the shape
	double turn;     // of the sheet
	int cells;
	double size;
	bool keep_edges;
	int inside[2], crossing[2]; // before and after
	int led;                    // contacts of the first step
	int back;                   // vertices that began inside and went against the direction of the region
} across;

static void run(carom_context *context, across *a)
{
	static cuts_stage s;
	static bool inside[CUTS_MOST_VERTICES];
	static v3d places[CUTS_MOST_VERTICES];
	cuts_open_shape_stage(&s, context, fixture_sheet_mesh(context, a->cells, a->size), &a->shape, a->pose);
	cuts_put_sheet(&s, (carom_pose){ { 0.01, 0.02, 0 }, fixture_turn((v3d){ 1, 0.2, 0.1 }, a->turn) });
	s.keep_edges = a->keep_edges;
	a->inside[0] = cuts_count_inside(&s);
	a->crossing[0] = cuts_count_crossings(&s);
	for (int32_t v = 0; v < s.sheet_vertices; v++) {
		inside[v] = cuts_is_inside(&s, v);
		places[v] = v3d_from_doubles(&s.places[3 * v]);
	}
	fixture_step(s.world);
	cuts_check_contacts(&s);
	const v3d way = check_one_way(s.world, &a->led);
	cuts_solve(&s);
	cuts_part(&s, STEPS);
	a->inside[1] = cuts_count_inside(&s);
	a->crossing[1] = cuts_count_crossings(&s);
	a->back = 0;
	for (int32_t v = 0; v < s.sheet_vertices; v++)
		a->back += inside[v] && v3d_dot(way, v3d_sub(v3d_from_doubles(&s.places[3 * v]), places[v])) < -CUTS_THICKNESS;
	cuts_close_stage(&s);
}

/// Before features left with their regions, 10 of these sheets had vertices inside or triangles that cross after 60 steps.
TEST(surface_shape_regions, sheets_across_shapes_come_out_on_one_side)
{
	carom_context *context = fixture_context(1);
	carom_mesh *hull = make_hull(context);
	carom_shape shapes[SHAPES];
	int began = 0, led = 0;
	list_shapes(hull, shapes);
	for (int round = 0; round < 4 * SHAPES; round++) {
		const int kind = round % SHAPES;
		across a = { .shape = shapes[kind],
			.pose = { { 0, 0, 0 }, fixture_turn((v3d){ 0.3, 1, 0.2 }, 0.3 * kind) },
			.turn = 0.05 + 0.7 * ((round / SHAPES + kind) % 3),
			.cells = round / SHAPES % 2 ? 16 : 8,
			.size = kind % 2 ? 1.3 : 0.7,
			.keep_edges = round >= 2 * SHAPES };
		run(context, &a);
		if (a.inside[1] + a.crossing[1] + a.back > 0)
			printf("%s, turned by %.2f, %d cells, edges %s: %d vertices inside, %d triangles; then %d and %d; %d went back\n",
				names[kind], a.turn, a.cells, a.keep_edges ? "kept" : "free", a.inside[0], a.crossing[0], a.inside[1],
				a.crossing[1], a.back);
		CHECK_INT(a.inside[1], 0);
		CHECK_INT(a.crossing[1], 0);
		CHECK(a.keep_edges || a.back == 0); // a sheet that keeps its edges may turn as a whole
		began += a.inside[0];
		led += a.led;
	}
	CHECK(began > 1000 && led > began);
	carom_release_mesh(hull);
	carom_destroy_context(context);
}

/// A ball within one face of the sheet: no vertex is inside.
TEST(surface_shape_regions, faces_across_a_ball_come_out)
{
	static cuts_stage s;
	carom_context *context = fixture_context(1);
	for (int place = 0; place < 3; place++) { // in a face, across an edge, and around a vertex's fan
		const carom_shape ball = fixture_sphere(0.15);
		const carom_pose pose = fixture_at(place == 0 ? 0.35 : 0.25, place == 2 ? 0.02 : 0.2, 0.03 * place);
		cuts_open_shape_stage(&s, context, fixture_sheet_mesh(context, 2, 1), &ball, pose);
		CHECK(cuts_count_crossings(&s) > 0);
		CHECK_INT(cuts_count_inside(&s), 0);
		CHECK(cuts_part(&s, 20) < 20);
		CHECK_INT(cuts_count_crossings(&s), 0);
		cuts_close_stage(&s);
	}
	carom_destroy_context(context);
}

/// Contacts of a sheet that came in by a way that is known are not led.
TEST(surface_shape_regions, a_sheet_that_was_pushed_in_is_not_led)
{
	static cuts_stage s;
	int led;
	carom_context *context = fixture_context(1);
	const carom_shape ball = fixture_sphere(0.4);
	cuts_open_shape_stage(&s, context, fixture_sheet_mesh(context, 16, 1), &ball, fixture_at(0, 0, 0));
	for (int step = 0; step < 40; step++) { // down to the middle
		cuts_put_sheet(&s, fixture_at(0, 0, 0.405 - 0.01 * step));
		for (int32_t v = 0; v < s.sheet_vertices; v++) { // wrapped around the ball where it meets it first
			const v3d p = v3d_from_doubles(&s.places[3 * v]);
			const double flat = p.x * p.x + p.y * p.y;
			if (step == 0)
				s.places[3 * v + 2] = flat < 0.4 * 0.4 ? sqrt(0.4 * 0.4 - flat) + 0.004 : 0.004;
		}
		cuts_move_sheet(&s, step == 0);
		fixture_step(s.world);
		check_one_way(s.world, &led);
		if (step > 0)
			CHECK_INT(led, 0);
	}
	CHECK(cuts_count_inside(&s) > 100);
	cuts_close_stage(&s);
	carom_destroy_context(context);
}

/// A sheet that is draped over a ball of radius 0.4, and hangs down beside it; its vertices above the middle are up to deep in it.
static void drape(cuts_stage *s, double deep, uint64_t *random)
{
	cuts_put_sheet(s, fixture_at(0, 0, 0));
	for (int32_t v = 0; v < s->sheet_vertices; v++) {
		double *p = &s->places[3 * v];
		const double along = hypot(p[0], p[1]), angle = fmin(along / 0.4, 1.5);
		const double away = angle < 1.1 ? 0.4 - deep * test_random_double(random, 0.3, 1) : 0.42;
		const double aside = along > 0 ? away * sin(angle) / along : 0;
		p[0] *= aside;
		p[1] *= aside;
		p[2] = away * cos(angle) - fmax(along - 0.6, 0);
	}
	cuts_move_sheet(s, true);
	fixture_step(s->world);
}

/// A solver leaves cloth that is draped over a ball a little inside. The cloth beside hangs down, and is no reason to lead it down
/// through the ball: before, up to 0.7 m.
TEST(surface_shape_regions, cloth_draped_over_a_ball_goes_out_all_around)
{
	static cuts_stage s;
	carom_context *context = fixture_context(1);
	const carom_shape ball = fixture_sphere(0.4);
	uint64_t random = 3;
	cuts_open_shape_stage(&s, context, fixture_sheet_mesh(context, 20, 1.4), &ball, fixture_at(0, 0, 0));
	for (int round = 0; round < 12; round++) {
		const double deep = 0.004 * (round + 1);
		cuts_put_sheet(&s, fixture_at(0, 0, 2)); // away, so that nothing is remembered
		cuts_move_sheet(&s, true);
		fixture_step(s.world);
		drape(&s, deep, &random);
		const carom_surface_shape_contact_view view = carom_world_surface_shape_contacts(s.world);
		int inside = 0;
		for (int64_t i = 0; i < view.count; i++) {
			const carom_surface_shape_contact *c = &view.data[i];
			CHECK(!c->led && c->distance > -deep - 0.02);
			if (c->vertices[1] >= 0)
				continue;
			const v3d from = v3d_normalize(v3d_from_doubles(&s.places[3 * c->vertices[0]]));
			CHECK(v3d_dot(fixture_vector(c->normal), from) > 0.999);
			inside += c->distance < 0;
		}
		CHECK(inside > 60);
	}
	cuts_close_stage(&s);
	carom_destroy_context(context);
}

/// As above, over a ball that is a closed mesh: no vertex goes farther than it is deep, and all come out.
TEST(surface_shape_regions, cloth_draped_over_a_mesh_goes_out_all_around)
{
	static cuts_stage s;
	static double first[3 * CUTS_MOST_VERTICES];
	carom_context *context = fixture_context(1);
	uint64_t random = 3;
	for (int round = 0; round < 8; round++) {
		const double deep = 0.006 * (round + 1);
		cuts_open_stage(&s, context, fixture_sheet_mesh(context, 20, 1.4), fixture_sphere_mesh(context, 0.4, 24), CAROM_STATIC,
			fixture_at(0, 0, 0), round % 2);
		drape(&s, deep, &random);
		memcpy(first, s.places, sizeof first);
		CHECK(cuts_count_inside(&s) > 60);
		cuts_solve(&s);
		cuts_part(&s, 30);
		CHECK_INT(cuts_count_inside(&s), 0);
		double farthest = 0;
		for (int32_t v = 0; v < s.sheet_vertices; v++)
			farthest = fmax(farthest, v3d_length(v3d_sub(v3d_from_doubles(&s.places[3 * v]), v3d_from_doubles(&first[3 * v]))));
		CHECK(farthest < deep + 0.06);
		cuts_close_stage(&s);
	}
	carom_destroy_context(context);
}

static carom_body_id add_cloth(carom_world *world, carom_mesh *sheet)
{
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(sheet);
	def.thickness = CUTS_THICKNESS;
	def.self_collision = false;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

/// Of a body of flush boxes, all parts are left to one side; and directions turn with the body.
TEST(surface_shape_regions, parts_of_a_body_are_left_to_one_side)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *sheet = fixture_sheet_mesh(context, 16, 1);
	carom_part parts[4];
	for (int i = 0; i < 4; i++)
		parts[i] = (carom_part){ fixture_box(0.1, 0.4, 0.05), fixture_at(0.2 * i - 0.3, 0, i % 2 ? 0.02 : -0.02), 0 };
	carom_body_def def = carom_default_body_def();
	carom_body_id body;
	int led;
	def.kind = CAROM_KINEMATIC;
	def.parts = parts;
	def.part_count = 4;
	add_cloth(world, sheet);
	REQUIRE(carom_world_add_body(world, &def, &body) == CAROM_SUCCESS);
	fixture_step(world);
	const v3d first = check_one_way(world, &led);
	CHECK(led > 100 && fabs(first.z) > 0.99);
	const carom_pose turned = { { 0, 0, 0 }, fixture_turn((v3d){ 1, 0, 0 }, 0.02) };
	const m3d rotation = m3d_from_quat(turned.orientation);
	REQUIRE(carom_world_set_pose(world, body, &turned) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK(v3d_length(v3d_sub(check_one_way(world, &led), m3d_mul(&rotation, first))) < 1e-9);
	CHECK(led > 100);
	carom_destroy_world(world);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

// ---- Memory, snapshots, threads ----

/// Three steps of a sheet across a ball, the last two from a snapshot, which has the memory of the direction.
static uint64_t hash_with(int threads, carom_simd simd)
{
	carom_context_def def = carom_default_context_def();
	carom_context *context;
	carom_snapshot *snapshot;
	uint64_t hash[2];
	int led = 0;
	def.thread_count = threads;
	def.simd = simd;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *sheet = fixture_sheet_mesh(context, 12, 1);
	add_cloth(world, sheet);
	fixture_add(world, fixture_sphere(0.4), fixture_at(0.01, 0.02, 0.01), CAROM_STATIC);
	fixture_add(world, fixture_box(0.1, 0.1, 0.3), fixture_at(0.45, 0.45, 0.03), CAROM_STATIC);
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
	fixture_step(world);
	REQUIRE(carom_world_save(world, snapshot) == CAROM_SUCCESS);
	for (int turn = 0; turn < 2; turn++) {
		fixture_step(world);
		fixture_step(world);
		hash[turn] = carom_world_hash(world);
		REQUIRE(carom_world_restore(world, snapshot) == CAROM_SUCCESS);
	}
	CHECK(hash[0] == hash[1]);
	const carom_surface_shape_contact_view view = carom_world_surface_shape_contacts(world);
	for (int64_t i = 0; i < view.count; i++)
		led += view.data[i].led;
	CHECK(led > 50);
	carom_destroy_snapshot(snapshot);
	carom_destroy_world(world);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
	return hash[0];
}

TEST(surface_shape_regions, are_found_alike_by_any_number_of_threads_and_instruction_set)
{
	const uint64_t hash = hash_with(1, CAROM_SIMD_AUTO);
	CHECK(hash_with(3, CAROM_SIMD_AUTO) == hash);
	for (int i = 0; i < FIXTURE_SIMD_COUNT; i++) {
		const uint64_t other = fixture_kernels(fixture_all_simd[i]) ? hash_with(2, fixture_all_simd[i]) : hash;
		CHECK(other == hash);
	}
}

TEST(surface_shape_regions, every_allocation_may_fail)
{
	static fixture_heap heap;
	int failed = 0;
	for (bool done = false; !done; failed += !done) {
		int led;
		carom_context *context = fixture_heap_context(&heap, 1);
		carom_world *world = fixture_world(context, NULL);
		carom_mesh *sheet = fixture_sheet_mesh(context, 8, 1);
		add_cloth(world, sheet);
		fixture_add(world, fixture_sphere(0.4), fixture_at(0, 0, 0.01), CAROM_STATIC);
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + failed);
		done = carom_world_step(world) == CAROM_SUCCESS;
		atomic_store(&heap.fail_at, -1);
		fixture_step(world);
		check_one_way(world, &led);
		CHECK(led > 20);
		carom_destroy_world(world);
		carom_release_mesh(sheet);
		carom_destroy_context(context);
		CHECK_INT(heap.blocks, 0);
	}
	CHECK(failed > 10);
}
