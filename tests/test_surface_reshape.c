/// The memory of surface contacts where shapes, parts and meshes are exchanged: against worlds that had the new ones from the
/// beginning; where nothing can be remembered; failed allocations, snapshots, recordings.
#include "fixture.h"

#include "frame/body.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 400, TOP = 12 };

// Half the thickness of the plates below: so thin that without memory a deep vertex goes on.
#define THIN 0.05
#define THICKNESS 0.02

/// A small sheet that is pushed through a plate, step by step.
typedef struct stage {
	carom_context *context;
	carom_world *world;
	carom_mesh *sheet;
	carom_body_id cloth, plate;
	double places[3 * MOST];
} stage;

static void put_sheet(stage *s, double height, bool there)
{
	for (int32_t v = 0; v < s->sheet->topology.vertex_count; v++) {
		for (int k = 0; k < 3; k++)
			s->places[3 * v + k] = s->sheet->topology.vertices[3 * v + k];
		s->places[3 * v] += 0.013;
		s->places[3 * v + 1] += 0.007;
		s->places[3 * v + 2] = height + 0.002 * (v % 3);
	}
	const carom_strided places = { s->places, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(s->world, s->cloth, there ? &places : NULL, &places) == CAROM_SUCCESS);
}

static void open_world(stage *s)
{
	s->world = fixture_world(s->context, NULL);
	s->sheet = fixture_sheet_mesh(s->context, 4, 0.4);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(s->sheet);
	def.thickness = THICKNESS;
	REQUIRE(carom_world_add_body(s->world, &def, &s->cloth) == CAROM_SUCCESS);
	put_sheet(s, THIN + 0.005, true);
}

static void open_stage(stage *s)
{
	s->context = fixture_context(1);
	open_world(s);
}

static void close_world(stage *s)
{
	carom_destroy_world(s->world);
	carom_release_mesh(s->sheet);
}

static void close_stage(stage *s)
{
	close_world(s);
	carom_destroy_context(s->context);
}

/// Push it from above the plate to behind its middle, or the other way round after a turn of the sheet's path.
static void push(stage *s, int first, int end)
{
	for (int step = first; step < end; step++) {
		put_sheet(s, THIN + 0.005 - 0.01 * step, false);
		fixture_step(s->world);
	}
}

// ---- What contacts say ----

static bool is_near(carom_vec3 a, carom_vec3 b) { return v3d_length(v3d_sub(a, b)) < 1e-6; }

static bool is_equal(const carom_surface_contact *a, const carom_surface_contact *b)
{
	return a->kind == b->kind && memcmp(a->vertices, b->vertices, sizeof a->vertices) == 0 && a->triangle == b->triangle &&
		a->through == b->through && a->side == b->side && is_near(a->normal, b->normal) &&
		fabs(a->distance - b->distance) < 1e-6;
}

static bool is_equal_shape(const carom_surface_shape_contact *a, const carom_surface_shape_contact *b)
{
	return a->triangle == b->triangle && memcmp(a->vertices, b->vertices, sizeof a->vertices) == 0 &&
		is_near(a->normal, b->normal) && fabs(a->distance - b->distance) < 1e-6;
}

static bool is_of_sheet(const stage *s, const carom_surface_contact *c)
{
	return c->kind == CAROM_SWEEP_VERTEX_FACE && fixture_same_id(c->body_a, s->cloth);
}

/// Do the vertices of the sheet have the same contacts in two worlds?
static void check_equal(const stage *s, const stage *t)
{
	const carom_surface_contact_view a = carom_world_surface_contacts(s->world), b = carom_world_surface_contacts(t->world);
	const carom_surface_shape_contact_view c = carom_world_surface_shape_contacts(s->world),
										   d = carom_world_surface_shape_contacts(t->world);
	int64_t twins[2] = { 0, 0 }, count[2] = { 0, 0 };
	for (int64_t i = 0; i < a.count * b.count; i++)
		twins[0] += is_of_sheet(s, &a.data[i / b.count]) && is_equal(&a.data[i / b.count], &b.data[i % b.count]);
	for (int64_t i = 0; i < b.count; i++)
		count[0] += is_of_sheet(t, &b.data[i]);
	for (int64_t i = 0; i < c.count * d.count; i++)
		twins[1] += c.data[i / d.count].vertices[1] < 0 && is_equal_shape(&c.data[i / d.count], &d.data[i % d.count]);
	for (int64_t i = 0; i < d.count; i++)
		count[1] += d.data[i].vertices[1] < 0;
	CHECK_INT(twins[0], count[0]);
	CHECK_INT(twins[1], count[1]);
	CHECK_INT(count[0] + count[1], s->sheet->topology.vertex_count);
	for (int64_t i = 0; i < c.count; i++)
		CHECK(c.data[i].normal.z > 0.9); // edges and triangles too
}

/// How many vertices of the sheet have a contact whose normal points up, or down.
static int count_vertices(const stage *s, double up)
{
	const carom_surface_contact_view a = carom_world_surface_contacts(s->world);
	const carom_surface_shape_contact_view b = carom_world_surface_shape_contacts(s->world);
	int count = 0;
	for (int64_t i = 0; i < a.count; i++)
		count += a.data[i].kind == CAROM_SWEEP_VERTEX_FACE && fixture_same_id(a.data[i].body_a, s->cloth) &&
			up * a.data[i].normal.z > 0.9;
	for (int64_t i = 0; i < b.count; i++)
		count += b.data[i].vertices[1] < 0 && up * b.data[i].normal.z > 0.9;
	return count;
}

// ---- Plates ----

enum { BOX, WIDE_BOX, HULL, MESH, WIDE_MESH, OTHER_MESH, PLATES };

/// A closed mesh with the faces of a box, each cut along the other diagonal.
static carom_mesh *other_box_mesh(carom_context *context, double x, double y, double z)
{
	carom_mesh *box = fixture_box_mesh(context, x, y, z);
	const cr_topology *t = &box->topology;
	int32_t triangles[3 * TOP];
	REQUIRE(t->triangle_count == TOP);
	for (int32_t i = 0; i < TOP; i++) { // from the last to the first, and from another corner on
		for (int k = 0; k < 3; k++)
			triangles[3 * i + k] = t->vertex_count - 1 - t->triangles[3 * (TOP - 1 - i) + (k + 1) % 3];
	}
	float vertices[3 * 24];
	for (int32_t v = 0; v < t->vertex_count; v++)
		memcpy(&vertices[3 * v], &t->vertices[3 * (t->vertex_count - 1 - v)], 3 * sizeof *vertices);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = t->vertex_count;
	def.triangles = triangles;
	def.triangle_count = TOP;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	carom_release_mesh(box);
	return mesh;
}

typedef struct plates {
	carom_mesh *mesh[PLATES];
	carom_shape shape[PLATES];
} plates;

static void make_plates(carom_context *context, plates *p)
{
	float corners[24];
	for (int i = 0; i < 8; i++) {
		corners[3 * i] = i & 1 ? 1.0F : -1.0F;
		corners[3 * i + 1] = i & 2 ? 1.0F : -1.0F;
		corners[3 * i + 2] = i & 4 ? (float)THIN : -(float)THIN;
	}
	*p = (plates){ .mesh = { [HULL] = fixture_hull_mesh(context, corners, 8),
					   [MESH] = fixture_box_mesh(context, 1, 1, THIN),
					   [WIDE_MESH] = fixture_box_mesh(context, 1.5, 1.25, THIN),
					   [OTHER_MESH] = other_box_mesh(context, 1, 1, THIN) } };
	p->shape[BOX] = fixture_box(1, 1, THIN);
	p->shape[WIDE_BOX] = fixture_box(1.5, 1.25, THIN);
	p->shape[HULL] = fixture_hull(p->mesh[HULL]);
	for (int i = MESH; i < PLATES; i++)
		p->shape[i] = fixture_of_mesh(p->mesh[i]);
}

static void free_plates(plates *p)
{
	for (int i = 0; i < PLATES; i++)
		carom_release_mesh(p->mesh[i]);
}

/// Each plate becomes each other one while a sheet is behind its middle: from then on the world is one that had the other plate from
/// the beginning.
TEST(surface_reshape, a_sheet_within_a_plate_knows_where_it_came_from)
{
	for (int before = 0; before < PLATES; before++) {
		for (int now = 0; now < PLATES; now++) {
			static stage s, fresh;
			plates p;
			open_stage(&s);
			fresh.context = s.context;
			open_world(&fresh);
			make_plates(s.context, &p);
			s.plate = fixture_add(s.world, p.shape[before], fixture_at(0, 0, 0), CAROM_STATIC);
			fresh.plate = fixture_add(fresh.world, p.shape[now], fixture_at(0, 0, 0), CAROM_STATIC);
			push(&s, 0, 8); // behind the middle
			push(&fresh, 0, 9);
			REQUIRE(carom_world_set_shape(s.world, s.plate, &p.shape[now]) == CAROM_SUCCESS);
			push(&s, 8, 9);
			CHECK_INT(count_vertices(&s, 1), 25);
			check_equal(&s, &fresh);
			push(&s, 9, 10);
			push(&fresh, 9, 10);
			check_equal(&s, &fresh);
			close_world(&fresh);
			free_plates(&p);
			close_stage(&s);
		}
	}
}

/// An open mesh that a sheet has gone through becomes a finer one: the sheet is still on its wrong side.
TEST(surface_reshape, a_finer_ground_remembers_who_came_through)
{
	static stage s, fresh;
	open_stage(&s);
	fresh.context = s.context;
	open_world(&fresh);
	carom_mesh *coarse = fixture_sheet_mesh(s.context, 2, 2), *fine = fixture_sheet_mesh(s.context, 9, 2);
	const carom_shape now = fixture_of_mesh(fine);
	s.plate = fixture_add(s.world, fixture_of_mesh(coarse), fixture_at(0, 0, 0), CAROM_STATIC);
	fresh.plate = fixture_add(fresh.world, now, fixture_at(0, 0, 0), CAROM_STATIC);
	push(&s, 4, 9);
	push(&fresh, 4, 10);
	REQUIRE(carom_world_set_shape(s.world, s.plate, &now) == CAROM_SUCCESS);
	push(&s, 9, 10);
	CHECK_INT(count_vertices(&s, 1), 25);
	check_equal(&s, &fresh);
	close_world(&fresh);
	carom_release_mesh(coarse);
	carom_release_mesh(fine);
	close_stage(&s);
}

/// How many contacts of vertices of the plate with the sheet have a twin in another world. *all: of the other one.
static int64_t count_twins(const stage *s, const stage *t, int64_t *all)
{
	const carom_surface_contact_view a = carom_world_surface_contacts(s->world), b = carom_world_surface_contacts(t->world);
	int64_t twins = 0;
	*all = 0;
	for (int64_t i = 0; i < b.count; i++) {
		const bool counts = fixture_same_id(b.data[i].body_a, t->plate) && b.data[i].kind == CAROM_SWEEP_VERTEX_FACE;
		*all += counts;
		for (int64_t k = 0; k < a.count && counts; k++)
			twins += is_equal(&a.data[k], &b.data[i]);
	}
	return twins;
}

/// A body in an open sheet grows: its own vertices know on which side of the sheet they belong.
TEST(surface_reshape, vertices_of_a_body_that_grows_keep_their_sides)
{
	static stage s, fresh;
	open_stage(&s);
	fresh.context = s.context;
	open_world(&fresh);
	carom_mesh *flat = fixture_sheet_mesh(s.context, 2, 0.15), *larger = fixture_sheet_mesh(s.context, 2, 0.17);
	const carom_shape now = fixture_of_mesh(larger);
	s.plate = fixture_add(s.world, fixture_of_mesh(flat), fixture_at(0, 0, 0), CAROM_STATIC);
	fresh.plate = fixture_add(fresh.world, now, fixture_at(0, 0, 0), CAROM_STATIC);
	push(&s, 4, 9);
	push(&fresh, 4, 10);
	REQUIRE(carom_world_set_shape(s.world, s.plate, &now) == CAROM_SUCCESS);
	push(&s, 9, 10);
	int64_t all = 0;
	const int64_t twins = count_twins(&s, &fresh, &all);
	CHECK_INT(twins, all);
	CHECK(all >= 9);
	close_world(&fresh);
	carom_release_mesh(flat);
	carom_release_mesh(larger);
	close_stage(&s);
}

// ---- Parts ----

static carom_body_id add_parts(carom_world *world, const carom_part parts[2])
{
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_KINEMATIC;
	def.parts = parts;
	def.part_count = 2;
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

static int oldest(const stage *s)
{
	const carom_surface_shape_contact_view view = carom_world_surface_shape_contacts(s->world);
	int age = 0;
	for (int64_t i = 0; i < view.count; i++)
		age = view.data[i].age > age ? view.data[i].age : age;
	return age;
}

TEST(surface_reshape, parts_far_away_and_parts_that_move_a_little_change_nothing)
{
	static stage s;
	open_stage(&s);
	carom_part parts[2] = { { .shape = fixture_box(1, 1, THIN), .pose = fixture_at(0, 0, 0) },
		{ .shape = fixture_box(1, 1, 1), .pose = fixture_at(5, 0, 0) } };
	s.plate = add_parts(s.world, parts);
	push(&s, 0, 8);
	CHECK_INT(count_vertices(&s, 1), 25);
	parts[1].shape = fixture_sphere(0.4); // far away
	REQUIRE(carom_world_set_parts(s.world, s.plate, parts, 2) == CAROM_SUCCESS);
	push(&s, 7, 8);
	CHECK_INT(count_vertices(&s, 1), 25);
	CHECK_INT(oldest(&s), 8);
	parts[0].pose.position.z = -0.005; // the sheet is still in it
	parts[0].pose.orientation = fixture_turn((v3d){ 0, 0, 1 }, 0.1);
	REQUIRE(carom_world_set_parts(s.world, s.plate, parts, 2) == CAROM_SUCCESS);
	push(&s, 7, 8);
	CHECK_INT(count_vertices(&s, 1), 25);
	CHECK_INT(oldest(&s), 9);
	REQUIRE(carom_world_set_parts(s.world, s.plate, parts, 1) == CAROM_SUCCESS); // the other one is gone
	push(&s, 7, 8);
	CHECK_INT(count_vertices(&s, 1), 25);
	CHECK_INT(oldest(&s), 10);
	close_stage(&s);
}

/// A sheet over a plate, wider than it. The plate is a part that moves up: into the sheet, so far that edges of the sheet cross its
/// side, or beyond it. Whatever is through leads up; no other contact holds it down.
TEST(surface_reshape, no_edge_points_down_where_a_part_comes_up)
{
	static const double heights[] = { 0.02, 0.06, 0.08, 0.16 };
	carom_context *context = fixture_context(1);
	carom_mesh *plate = fixture_box_mesh(context, 1, 1, 0.05), *other = fixture_box_mesh(context, 1, 1, 0.04),
			   *sheet = fixture_sheet_mesh(context, 6, 3);
	for (int round = 0; round < 8; round++) {
		carom_world *world = fixture_world(context, NULL);
		carom_part parts[2] = { { .shape = fixture_of_mesh(plate), .pose = fixture_at(0, 0, 0) },
			{ .shape = fixture_of_mesh(plate), .pose = fixture_at(9, 0, 0) } };
		carom_body_def def = carom_default_body_def();
		carom_body_id cloth;
		const carom_body_id body = add_parts(world, parts);
		def.kind = CAROM_CLOTH;
		def.shape = fixture_of_mesh(sheet);
		def.thickness = 0.02;
		def.self_collision = false;
		def.pose = fixture_at(0.03, 0.02, 0.055);
		REQUIRE(carom_world_add_body(world, &def, &cloth) == CAROM_SUCCESS);
		fixture_step(world);
		parts[0].pose.position.z = heights[round % 4];
		parts[0].shape = fixture_of_mesh(round < 4 ? plate : other);
		REQUIRE(carom_world_set_parts(world, body, parts, 2) == CAROM_SUCCESS);
		for (int step = 0; step < 3; step++) {
			fixture_step(world);
			const carom_surface_contact_view view = carom_world_surface_contacts(world);
			CHECK(view.count > 40);
			for (int64_t i = 0; i < view.count; i++)
				CHECK((fixture_same_id(view.data[i].body_a, cloth) ? 1 : -1) * view.data[i].normal.z >= 0);
		}
		carom_destroy_world(world);
	}
	carom_release_mesh(plate);
	carom_release_mesh(other);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

TEST(surface_reshape, what_a_shape_has_passed_forgets)
{
	static stage s;
	open_stage(&s);
	carom_part parts[2] = { { .shape = fixture_box(1, 1, THIN), .pose = fixture_at(0, 0, 0) },
		{ .shape = fixture_box(1, 1, 1), .pose = fixture_at(5, 0, 0) } };
	s.plate = add_parts(s.world, parts);
	push(&s, 0, 2);
	CHECK_INT(count_vertices(&s, 1), 25);
	parts[0].pose.position.z = 0.09; // its lower side is just below the sheet
	REQUIRE(carom_world_set_parts(s.world, s.plate, parts, 2) == CAROM_SUCCESS);
	push(&s, 1, 2);
	CHECK_INT(count_vertices(&s, -1), 25);
	close_stage(&s);
}

// ---- Another mesh in a shape ----

/// The vertices of a sheet that is deep in a plate get other numbers, or it gets finer; all still know where they came from.
static void refine(bool is_mesh)
{
	static stage s;
	static int32_t from[MOST];
	open_stage(&s);
	carom_mesh *plate = fixture_box_mesh(s.context, 1, 1, THIN), *fine = fixture_sheet_mesh(s.context, 16, 0.4);
	s.plate =
		fixture_add(s.world, is_mesh ? fixture_of_mesh(plate) : fixture_box(1, 1, THIN), fixture_at(0, 0, 0), CAROM_STATIC);
	push(&s, 0, 8);
	for (int32_t v = 0; v < 17 * 17; v++)
		from[v] = v % 17 % 4 || v / 17 % 4 ? -1 : v / 17 / 4 * 5 + v % 17 / 4;
	stage later = s;
	later.sheet = fine;
	for (int32_t v = 0; v < 17 * 17; v++) {
		for (int k = 0; k < 3; k++)
			later.places[3 * v + k] = fine->topology.vertices[3 * v + k];
		later.places[3 * v + 2] = THIN + 0.005 - 0.07;
	}
	const carom_strided places = { later.places, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_mesh(s.world, s.cloth, fine, from, &places) == CAROM_SUCCESS);
	carom_release_mesh(s.sheet);
	s.sheet = fine;
	push(&s, 8, 9);
	CHECK_INT(count_vertices(&s, 1), 17 * 17);
	CHECK_INT(count_vertices(&s, -1), 0);
	const carom_surface_shape_contact_view view = carom_world_surface_shape_contacts(s.world);
	for (int64_t i = 0; i < view.count; i++) {
		CHECK(view.data[i].normal.z > 0.9);
		if (view.data[i].vertices[1] < 0)
			CHECK_INT(view.data[i].age, from[view.data[i].vertices[0]] >= 0 ? 8 : 0);
	}
	carom_release_mesh(plate);
	close_stage(&s);
}

TEST(surface_reshape, new_vertices_belong_where_their_neighbours_do)
{
	refine(false);
	refine(true);
}

/// Two worlds: in one the sheet gets other numbers while it is in the plate. Impulses and ages go along.
TEST(surface_reshape, other_numbers_change_nothing_in_a_shape)
{
	static stage s;
	static int32_t from[MOST], triangles[6 * MOST];
	static float vertices[3 * MOST];
	open_stage(&s);
	s.plate = fixture_add(s.world, fixture_box(1, 1, THIN), fixture_at(0, 0, 0), CAROM_STATIC);
	push(&s, 0, 8);
	const carom_surface_shape_contact_view view = carom_world_surface_shape_contacts(s.world);
	for (int32_t i = 0; i < view.count; i++) {
		const float impulse[3] = { (float)view.data[i].vertices[0], (float)view.data[i].vertices[1], 1 };
		REQUIRE(carom_world_set_surface_shape_impulse(s.world, i, impulse) == CAROM_SUCCESS);
	}
	const cr_topology *t = &s.sheet->topology;
	for (int32_t v = 0; v < t->vertex_count; v++) {
		from[v] = t->vertex_count - 1 - v;
		memcpy(&vertices[3 * v], &t->vertices[3 * from[v]], 3 * sizeof *vertices);
	}
	for (int32_t i = 0; i < 3 * t->triangle_count; i++)
		triangles[i] = t->vertex_count - 1 - t->triangles[i];
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = t->vertex_count;
	def.triangles = triangles;
	def.triangle_count = t->triangle_count;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(s.context, &def, NULL, &mesh) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_mesh(s.world, s.cloth, mesh, from, NULL) == CAROM_SUCCESS);
	fixture_step(s.world);
	const carom_surface_shape_contact_view after = carom_world_surface_shape_contacts(s.world);
	CHECK_INT(after.count, view.count);
	for (int64_t i = 0; i < after.count; i++) {
		const carom_surface_shape_contact *c = &after.data[i];
		CHECK(c->normal.z > 0.9 && c->age >= 1 && c->impulse[2] == 1);
		if (c->vertices[1] < 0)
			CHECK(c->impulse[0] == (float)from[c->vertices[0]]);
		else if (c->triangle < 0) // the ends of the edge, lower first
			CHECK(c->impulse[0] == (float)from[c->vertices[1]] && c->impulse[1] == (float)from[c->vertices[0]]);
	}
	carom_release_mesh(mesh);
	close_stage(&s);
}

// ---- Memory, snapshots ----

/// A call that runs out of memory changes nothing, and a snapshot between shape and step brings the memory back.
static void fail_each(int before, int now)
{
	static fixture_heap heap;
	static stage s;
	int failed = 0;
	for (bool done = false; !done; failed += !done) {
		plates p;
		s.context = fixture_heap_context(&heap, 1);
		open_world(&s);
		make_plates(s.context, &p);
		s.plate = fixture_add(s.world, p.shape[before], fixture_at(0, 0, 0), CAROM_STATIC);
		push(&s, 0, 8);
		put_sheet(&s, -0.025, false);
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + failed);
		done = carom_world_set_shape(s.world, s.plate, &p.shape[now]) == CAROM_SUCCESS;
		atomic_store(&heap.fail_at, -1);
		carom_snapshot *snapshot;
		REQUIRE(carom_create_snapshot(s.world, &snapshot) == CAROM_SUCCESS);
		REQUIRE(carom_world_save(s.world, snapshot) == CAROM_SUCCESS);
		for (int turn = 0; turn < 2; turn++) {
			fixture_step(s.world);
			CHECK_INT(count_vertices(&s, 1), 25);
			REQUIRE(carom_world_restore(s.world, snapshot) == CAROM_SUCCESS);
		}
		carom_destroy_snapshot(snapshot);
		free_plates(&p);
		close_stage(&s);
		CHECK_INT(heap.blocks, 0);
	}
	CHECK(failed > 0);
}

TEST(surface_reshape, every_allocation_may_fail)
{
	fail_each(BOX, HULL);
	fail_each(MESH, OTHER_MESH);
	fail_each(MESH, BOX);
	fail_each(BOX, MESH);
}

/// A step after a change of shape that runs out of memory forgets nothing. (A list that cannot grow by much grows by less: not each
/// failed allocation fails the step.)
TEST(surface_reshape, a_step_that_fails_forgets_nothing)
{
	static fixture_heap heap;
	static stage s;
	int failed = 0;
	for (int at = 0; at < 6; at++) {
		s.context = fixture_heap_context(&heap, 1);
		open_world(&s);
		s.plate = fixture_add(s.world, fixture_box(1, 1, THIN), fixture_at(0, 0, 0), CAROM_STATIC);
		push(&s, 0, 8);
		const carom_shape wide = fixture_box(1.5, 1, THIN);
		REQUIRE(carom_world_set_shape(s.world, s.plate, &wide) == CAROM_SUCCESS);
		put_sheet(&s, -0.025, false);
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + at);
		const bool done = carom_world_step(s.world) == CAROM_SUCCESS;
		atomic_store(&heap.fail_at, -1);
		failed += !done;
		if (!done)
			fixture_step(s.world);
		CHECK_INT(count_vertices(&s, 1), 25);
		close_stage(&s);
		CHECK_INT(heap.blocks, 0);
	}
	CHECK(failed > 0);
}

// ---- What ends with its bodies ----

static void make_three(stage *s, carom_mesh *three[3])
{
	open_stage(s);
	three[0] = fixture_box_mesh(s->context, 0.19, 0.19, THIN);
	three[1] = fixture_box_mesh(s->context, 0.18, 0.185, THIN);
	three[2] = fixture_box_mesh(s->context, 0.185, 0.19, THIN);
	s->plate = fixture_add(s->world, fixture_of_mesh(three[0]), fixture_at(0, 0, 0), CAROM_STATIC);
	push(s, 0, 2);
}

static void exchange(stage *s, carom_mesh *plate)
{
	const carom_shape shape = fixture_of_mesh(plate);
	REQUIRE(carom_world_set_shape(s->world, s->plate, &shape) == CAROM_SUCCESS);
}

static void close_three(stage *s, carom_mesh *three[3])
{
	for (int i = 0; i < 3; i++)
		carom_release_mesh(three[i]);
	close_stage(s);
}

TEST(surface_reshape, memory_that_is_carried_ends_with_the_cloth)
{
	for (int again = 0; again < 2; again++) {
		static stage s;
		carom_mesh *three[3];
		make_three(&s, three);
		CHECK(carom_world_surface_contacts(s.world).count > 0);
		exchange(&s, three[1]);
		REQUIRE(carom_world_remove_body(s.world, s.cloth) == CAROM_SUCCESS);
		carom_mesh *small = fixture_sheet_mesh(s.context, 1, 0.4);
		if (again) { // another cloth, with fewer vertices, in its place
			carom_body_def def = carom_default_body_def();
			def.kind = CAROM_CLOTH;
			def.shape = fixture_of_mesh(small);
			def.thickness = THICKNESS;
			REQUIRE(carom_world_add_body(s.world, &def, &s.cloth) == CAROM_SUCCESS);
		}
		exchange(&s, three[2]);
		fixture_step(s.world);
		carom_release_mesh(small);
		close_three(&s, three);
	}
}

TEST(surface_reshape, a_body_in_the_place_of_one_that_is_gone_has_no_memory)
{
	static stage s;
	carom_mesh *three[3];
	make_three(&s, three);
	exchange(&s, three[1]);
	REQUIRE(carom_world_remove_body(s.world, s.plate) == CAROM_SUCCESS);
	s.plate = fixture_add(s.world, fixture_of_mesh(three[1]), fixture_at(0, 0, 0), CAROM_STATIC);
	push(&s, 2, 3);
	const carom_surface_contact_view contacts = carom_world_surface_contacts(s.world);
	CHECK(contacts.count > 0);
	for (int64_t i = 0; i < contacts.count; i++)
		CHECK_INT(contacts.data[i].age, 0);
	close_three(&s, three);
}
