/// Cloth that begins inside closed meshes: against brute force over random placements, teleports, growth, mirrored meshes and thin
/// plates; a small solver; threads, recordings, snapshots, failed allocations.
#include "fixture.h"

#include "frame/body.h"
#include "geom/triangle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 9, VERTICES = (CELLS + 1) * (CELLS + 1), MOST = 600, HOLDERS = 6 };

#define THICKNESS 0.02

/// A sheet, and a closed mesh that may hold it.
typedef struct stage {
	carom_context *context;
	carom_world *world;
	carom_mesh *sheet, *mesh;
	carom_body_id cloth, holder;
	carom_pose pose; // of the holder
	double places[3 * VERTICES];
	double surface[3 * MOST]; // vertices of the holder in the world
} stage;

static carom_mesh *make_holder(carom_context *context, int which)
{
	static const double mirror[3] = { -1.3, 0.9, 1.1 };
	carom_mesh *torus = fixture_torus_mesh(context, 14, 9, 0.3, 0.1), *mesh = NULL;
	switch (which) {
	case 0: mesh = fixture_box_mesh(context, 0.5, 0.4, 0.3); break;
	case 1: mesh = fixture_sphere_mesh(context, 0.5, 10); break;
	case 2: mesh = fixture_torus_mesh(context, 14, 9, 0.3, 0.1); break;
	case 3: // as thick as the distance that cloth keeps
		mesh = fixture_box_mesh(context, 0.6, 0.6, 0.25 * THICKNESS);
		break;
	case 4: // thinner
		mesh = fixture_box_mesh(context, 0.6, 0.6, 0.1 * THICKNESS);
		break;
	default: REQUIRE(carom_create_scaled_mesh(context, torus, mirror, &mesh) == CAROM_SUCCESS);
	}
	carom_release_mesh(torus);
	return mesh;
}

static void place_holder(stage *s)
{
	const m3d rotation = m3d_from_quat(s->pose.orientation);
	REQUIRE(s->mesh->topology.vertex_count <= MOST);
	for (int32_t v = 0; v < s->mesh->topology.vertex_count; v++) {
		const v3d p = v3d_add(m3d_mul(&rotation, v3d_from_floats(s->mesh->topology.vertices + 3 * v)), s->pose.position);
		for (int k = 0; k < 3; k++)
			s->surface[3 * v + k] = v3d_get(p, k);
	}
}

static void add_cloth(stage *s)
{
	carom_body_def def = carom_default_body_def();
	s->sheet = fixture_sheet_mesh(s->context, CELLS, 1);
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(s->sheet);
	def.thickness = THICKNESS;
	REQUIRE(carom_world_add_body(s->world, &def, &s->cloth) == CAROM_SUCCESS);
}

static void open_stage(stage *s, carom_context *context, int which, carom_body_kind kind, carom_pose pose)
{
	s->context = context;
	s->world = fixture_world(context, NULL);
	s->mesh = make_holder(context, which);
	s->pose = pose;
	s->holder = fixture_add(s->world, fixture_of_mesh(s->mesh), pose, kind);
	place_holder(s);
	add_cloth(s);
}

static void close_stage(stage *s)
{
	carom_destroy_world(s->world);
	carom_release_mesh(s->mesh);
	carom_release_mesh(s->sheet);
}

/// Put the sheet somewhere, without a way there.
static void put_sheet(stage *s, carom_pose pose, double scale)
{
	const m3d rotation = m3d_from_quat(pose.orientation);
	for (int32_t v = 0; v < VERTICES; v++) {
		const v3d local = v3d_scale(v3d_from_floats(s->sheet->topology.vertices + 3 * v), scale);
		const v3d p = v3d_add(m3d_mul(&rotation, local), pose.position);
		for (int k = 0; k < 3; k++)
			s->places[3 * v + k] = v3d_get(p, k);
	}
	const carom_strided there = { s->places, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(s->world, s->cloth, &there, &there) == CAROM_SUCCESS);
}

static void move_sheet(stage *s)
{
	const carom_strided end = { s->places, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(s->world, s->cloth, NULL, &end) == CAROM_SUCCESS);
}

// ---- Brute force ----

static v3d place_of(const stage *s, int32_t vertex) { return v3d_from_doubles(&s->places[3 * vertex]); }

static void corners_about(const stage *s, int32_t triangle, v3d point, v3d c[3])
{
	for (int k = 0; k < 3; k++)
		c[k] = v3d_sub(v3d_from_doubles(&s->surface[3 * s->mesh->topology.triangles[3 * triangle + k]]), point);
}

/// By the solid angles of all triangles (van Oosterom and Strackee 1983).
static bool is_inside(const stage *s, v3d point)
{
	double angle = 0;
	for (int32_t i = 0; i < s->mesh->topology.triangle_count; i++) {
		v3d c[3];
		corners_about(s, i, point, c);
		const double l[3] = { v3d_length(c[0]), v3d_length(c[1]), v3d_length(c[2]) };
		angle += 2 *
			atan2(v3d_dot(c[0], v3d_cross(c[1], c[2])),
				l[0] * l[1] * l[2] + v3d_dot(c[0], c[1]) * l[2] + v3d_dot(c[1], c[2]) * l[0] + v3d_dot(c[2], c[0]) * l[1]);
	}
	return fabs(angle) > 6;
}

static double distance_of(const stage *s, v3d point)
{
	double least = INFINITY;
	for (int32_t i = 0; i < s->mesh->topology.triangle_count; i++) {
		v3d c[3];
		corners_about(s, i, point, c);
		least = fmin(least, v3d_length(cr_closest_on_triangle((v3d){ 0, 0, 0 }, c).point));
	}
	return least;
}

static bool is_of_vertex(const stage *s, const carom_surface_contact *c, int32_t vertex)
{
	return c->kind == CAROM_SWEEP_VERTEX_FACE && fixture_same_id(c->body_a, s->cloth) && c->vertices[0] == vertex;
}

/// The deepest contact of a vertex of the sheet that is through, by its least way; NULL: there is none.
static const carom_surface_contact *way_of(const stage *s, int32_t vertex)
{
	const carom_surface_contact_view view = carom_world_surface_contacts(s->world);
	const carom_surface_contact *best = NULL;
	for (int64_t i = 0; i < view.count; i++) {
		if (is_of_vertex(s, &view.data[i], vertex) && view.data[i].through && (!best || view.data[i].distance > best->distance))
			best = &view.data[i];
	}
	return best;
}

/// A vertex that is led out with its region: along the way that its neighbours have, as far as the mesh reaches.
static void check_led(const stage *s, const carom_surface_contact *c, double least)
{
	const v3d normal = fixture_vector(c->normal), at = place_of(s, c->vertices[0]);
	CHECK(-c->distance >= least * (1 - 1e-6));
	CHECK(is_inside(s, v3d_mad(at, -0.999 * c->distance - 1e-6, normal)));
	for (int k = 0; k < 2; k++) {
		const int32_t beside = c->vertices[0] + (k ? CELLS + 1 : 1);
		const carom_surface_contact *other = beside < VERTICES && (k || beside % (CELLS + 1) > 0) ? way_of(s, beside) : NULL;
		CHECK(!other || !other->led || v3d_dot(fixture_vector(other->normal), normal) > 1 - 1e-9);
	}
}

/// Each vertex inside is led out by the nearest way, or with its region, and no other one is. Returns how many are.
static int check_ways(const stage *s)
{
	int inside = 0;
	for (int32_t v = 0; v < VERTICES; v++) {
		const v3d at = place_of(s, v);
		const carom_surface_contact *c = way_of(s, v);
		const double least = distance_of(s, at);
		if (least < 1e-5)
			continue; // too near to tell by floats
		if (!is_inside(s, at)) {
			CHECK(c == NULL);
			continue;
		}
		inside++;
		if (!CHECK(c != NULL))
			continue;
		if (c->led)
			check_led(s, c, least);
		else
			CHECK_NEAR(c->distance, -least, 1e-6 * least);
		CHECK_INT(c->side, 1);
		CHECK_NEAR(v3d_length(fixture_vector(c->normal)), 1, 1e-9);
		CHECK(!is_inside(s, v3d_mad(at, 1e-5 - c->distance, fixture_vector(c->normal))));
	}
	return inside;
}

/// A pose at which a sheet cuts a holder.
static carom_pose pose_across(const stage *s, int which, uint64_t *seed)
{
	const bool torus = which == 2 || which == 5; // there is nothing in its middle
	return fixture_compose(
		fixture_compose(s->pose, fixture_at(torus ? 1 : 0, 0, 0)), fixture_random_pose(seed, torus ? 0.1 : 0.3));
}

TEST(surface_inside, cloth_is_led_out_by_the_nearest_way)
{
	uint64_t seed = 7;
	carom_context *context = fixture_context(1);
	for (int which = 0; which < HOLDERS; which++) {
		int inside = 0;
		for (int round = 0; round < 4; round++) {
			static stage s;
			open_stage(&s, context, which, round % 2 ? CAROM_DEFORMABLE : CAROM_STATIC, fixture_random_pose(&seed, 0.3));
			// Thin plates hold a sheet that lies in them, turned a little.
			const bool plate = which == 3 || which == 4;
			const carom_pose within = fixture_compose(
				s.pose, (carom_pose){ { 0.01, 0.02, 0 }, fixture_turn((v3d){ 1, 0.3, 0 }, 0.005 * (1 + round)) });
			put_sheet(&s, plate ? within : pose_across(&s, which, &seed), 0.9);
			fixture_step(s.world);
			inside += check_ways(&s);
			fixture_step(s.world); // remembered, at the same places
			check_ways(&s);
			for (int32_t v = 0; v < VERTICES; v++)
				CHECK(!way_of(&s, v) || way_of(&s, v)->age == 1);
			close_stage(&s);
		}
		CHECK(inside > 25);
	}
	carom_destroy_context(context);
}

TEST(surface_inside, after_a_teleport_too)
{
	carom_context *context = fixture_context(1);
	for (int kind = 0; kind < 2; kind++) {
		static stage s;
		open_stage(&s, context, 1, kind ? CAROM_DEFORMABLE : CAROM_KINEMATIC, fixture_at(0, 0, 0));
		put_sheet(&s, fixture_at(0, 0, 2), 1);
		fixture_step(s.world);
		CHECK_INT(check_ways(&s), 0);
		put_sheet(&s, fixture_at(0.1, 0, 0.2), 1); // the cloth
		fixture_step(s.world);
		CHECK(check_ways(&s) > 20);
		put_sheet(&s, fixture_at(0, 0, 2), 1);
		fixture_step(s.world);
		CHECK_INT(check_ways(&s), 0);
		if (!kind) { // the body
			s.pose = (carom_pose){ { 0.1, 0, 1.8 }, fixture_turn((v3d){ 1, 0, 0 }, 1) };
			const carom_motion motion = { .begin = s.pose, .end = s.pose };
			REQUIRE(carom_world_set_motions(s.world, 1, &s.holder, &motion) == CAROM_SUCCESS);
			place_holder(&s);
			fixture_step(s.world);
			CHECK(check_ways(&s) > 20);
		}
		close_stage(&s);
	}
	carom_destroy_context(context);
}

/// A body that has grown over cloth that had no contact with it.
TEST(surface_inside, after_growth_too)
{
	static const double small[3] = { 0.2, 0.2, 0.2 };
	static stage s;
	carom_context *context = fixture_context(1);
	for (int which = 0; which < 3; which++) {
		open_stage(&s, context, which, CAROM_STATIC, fixture_at(0, 0, 0));
		carom_mesh *less;
		REQUIRE(carom_create_scaled_mesh(context, s.mesh, small, &less) == CAROM_SUCCESS);
		const carom_shape shapes[2] = { fixture_of_mesh(less), fixture_of_mesh(s.mesh) };
		REQUIRE(carom_world_set_shape(s.world, s.holder, &shapes[0]) == CAROM_SUCCESS);
		put_sheet(&s, fixture_at(which == 2 ? 1 : 0.02, 0.01, 0.14), 1);
		fixture_step(s.world);
		CHECK_INT(carom_world_surface_contacts(s.world).count, 0);
		REQUIRE(carom_world_set_shape(s.world, s.holder, &shapes[1]) == CAROM_SUCCESS);
		fixture_step(s.world);
		CHECK(check_ways(&s) > 10);
		carom_release_mesh(less);
		close_stage(&s);
	}
	carom_destroy_context(context);
}

/// A sheet that lies in a plate is pushed through it: each vertex, and each edge, keeps the way out that it had first.
TEST(surface_inside, a_plate_does_not_turn_the_way_out)
{
	carom_context *context = fixture_context(1);
	for (int kind = 0; kind < 2; kind++) {
		static stage s;
		open_stage(&s, context, 0, kind ? CAROM_DEFORMABLE : CAROM_STATIC, fixture_at(0, 0, 0));
		put_sheet(&s, fixture_at(0.01, 0.02, 0.05), 0.2); // above the middle, the nearest way out is up
		fixture_step(s.world);
		for (int step = 0; step < 5; step++) {
			for (int32_t v = 0; v < VERTICES; v++)
				s.places[3 * v + 2] -= 0.04;
			move_sheet(&s);
			fixture_step(s.world);
			for (int32_t v = 0; v < VERTICES; v++) {
				const carom_surface_contact *c = way_of(&s, v);
				REQUIRE(c != NULL);
				CHECK(c->normal.z > 0.99);
				CHECK_NEAR(c->distance, s.places[3 * v + 2] - 0.3, 1e-6);
				CHECK_INT(c->age, step + 1);
			}
		}
		close_stage(&s);
		open_stage(&s, context, 4, kind ? CAROM_DEFORMABLE : CAROM_STATIC, fixture_at(0, 0, 0));
		put_sheet(&s, fixture_at(0.01, 0.02, 0.0005), 1);
		for (int step = 0; step < 4; step++) {
			fixture_step(s.world);
			const carom_surface_contact_view view = carom_world_surface_contacts(s.world);
			CHECK(view.count >= VERTICES);
			for (int64_t i = 0; i < view.count; i++) {
				const double sign = fixture_same_id(view.data[i].body_a, s.cloth) ? 1 : -1;
				if (view.data[i].through && fabs(view.data[i].normal.z) > 0.5)
					CHECK(sign * view.data[i].normal.z > 0);
			}
			for (int32_t v = 0; v < VERTICES; v++)
				s.places[3 * v + 2] -= 0.0004;
			move_sheet(&s);
		}
		close_stage(&s);
	}
	carom_destroy_context(context);
}

// ---- A user ----

/// Move each vertex as far as its contact that leads out says, and a little beyond.
static void solve(stage *s)
{
	for (int32_t v = 0; v < VERTICES; v++) {
		const carom_surface_contact *c = way_of(s, v);
		if (!c)
			continue;
		const v3d p = v3d_mad(place_of(s, v), c->thickness - c->distance, fixture_vector(c->normal));
		for (int k = 0; k < 3; k++)
			s->places[3 * v + k] = v3d_get(p, k);
	}
	move_sheet(s);
}

TEST(surface_inside, a_solver_brings_cloth_out)
{
	uint64_t seed = 21;
	carom_context *context = fixture_context(1);
	for (int which = 0; which < HOLDERS; which++) {
		static stage s;
		open_stage(&s, context, which, which % 2 ? CAROM_DEFORMABLE : CAROM_STATIC, fixture_random_pose(&seed, 0.3));
		put_sheet(&s, pose_across(&s, which, &seed), 0.9);
		for (int step = 0; step < 4; step++) {
			fixture_step(s.world);
			solve(&s);
		}
		for (int32_t v = 0; v < VERTICES; v++)
			CHECK(!is_inside(&s, place_of(&s, v)) || distance_of(&s, place_of(&s, v)) < 1e-5);
		close_stage(&s);
	}
	carom_destroy_context(context);
}

/// A filter that refuses a contact, sensors, categories: what has no contacts has none here.
TEST(surface_inside, filters_and_sensors_count)
{
	static stage s;
	carom_context *context = fixture_context(1);
	for (int how = 0; how < 3; how++) {
		open_stage(&s, context, 1, CAROM_STATIC, fixture_at(0, 0, 0));
		if (how == 1)
			REQUIRE(carom_world_set_filter(s.world, s.holder, 1, 0, 0) == CAROM_SUCCESS);
		if (how == 2) {
			carom_body_def def;
			REQUIRE(carom_world_get_body_def(s.world, s.holder, &def) == CAROM_SUCCESS);
			def.sensor = true;
			def.shape = fixture_of_mesh(s.mesh);
			REQUIRE(carom_world_remove_body(s.world, s.holder) == CAROM_SUCCESS);
			REQUIRE(carom_world_add_body(s.world, &def, &s.holder) == CAROM_SUCCESS);
		}
		put_sheet(&s, fixture_at(0, 0, 0.1), 0.6);
		fixture_step(s.world);
		CHECK_INT(carom_world_surface_contacts(s.world).count, how == 0 ? VERTICES : 0);
		CHECK_INT(carom_world_pairs(s.world).count, how == 1 ? 0 : 1);
		close_stage(&s);
	}
	carom_destroy_context(context);
}

// ---- Threads, memory, recordings ----

static void fill_two(carom_world *world, void *user)
{
	carom_mesh **meshes = user;
	carom_body_id id;
	carom_body_def def = carom_default_body_def();
	fixture_add(world, fixture_of_mesh(meshes[1]), fixture_at(0, 0, 0), CAROM_STATIC);
	fixture_add(world, fixture_of_mesh(meshes[1]), fixture_at(0.3, 0.2, 0), CAROM_DEFORMABLE);
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(meshes[0]);
	def.thickness = THICKNESS;
	def.pose = (carom_pose){ { 0.1, 0, 0.1 }, fixture_turn((v3d){ 1, 2, 0 }, 0.4) };
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
}

static uint64_t hash_with(int threads, carom_simd simd, fixture_tape *tape)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	def.simd = simd;
	carom_context *context;
	if (carom_create_context(&def, &context) != CAROM_SUCCESS)
		return 0;
	carom_mesh *meshes[2] = { fixture_sheet_mesh(context, 40, 1), fixture_sphere_mesh(context, 0.5, 16) };
	carom_world *world = fixture_world(context, NULL);
	if (tape)
		REQUIRE(carom_world_record(world, fixture_write_tape, tape) == CAROM_SUCCESS);
	fill_two(world, meshes);
	uint64_t hash = 0;
	carom_snapshot *snapshot;
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
	for (int step = 0; step < 2; step++) {
		fixture_step(world);
		hash = hash * 31 + carom_world_hash(world);
		if (step == 0 && !tape)
			REQUIRE(carom_world_save(world, snapshot) == CAROM_SUCCESS);
	}
	CHECK(carom_world_surface_contacts(world).count > 500);
	const uint64_t last = carom_world_hash(world);
	if (!tape) { // what is remembered comes back
		REQUIRE(carom_world_restore(world, snapshot) == CAROM_SUCCESS);
		fixture_step(world);
		CHECK(carom_world_hash(world) == last);
	}
	if (tape)
		REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	carom_destroy_snapshot(snapshot);
	carom_destroy_world(world);
	for (int i = 0; i < 2; i++)
		carom_release_mesh(meshes[i]);
	if (tape) {
		carom_replay_result result;
		CHECK_INT(carom_replay_recording(context, fixture_read_tape, tape, &result), CAROM_SUCCESS);
		CHECK_INT(result.steps, 2);
		CHECK_INT(result.first_difference, -1);
	}
	carom_destroy_context(context);
	return hash;
}

TEST(surface_inside, is_found_alike_by_any_number_of_threads_and_instruction_set)
{
	const uint64_t hash = hash_with(TEST_LEAST_THREADS, CAROM_SIMD_AUTO, NULL);
	CHECK(hash_with(3, CAROM_SIMD_AUTO, NULL) == hash);
	if (TEST_SEEKS_RACES)
		return; // instruction sets and replays on one thread have none
	for (int i = 0; i < FIXTURE_SIMD_COUNT; i++) {
		const uint64_t other = fixture_kernels(fixture_all_simd[i]) ? hash_with(2, fixture_all_simd[i], NULL) : hash;
		CHECK(other == hash);
	}
	fixture_tape tape = { 0 };
	CHECK(hash_with(1, CAROM_SIMD_AUTO, &tape) == hash);
	free(tape.bytes);
}

TEST(surface_inside, every_allocation_may_fail)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *meshes[2] = { fixture_sheet_mesh(context, CELLS, 1), fixture_sphere_mesh(context, 0.5, 6) };
	CHECK(fixture_fail_each_allocation(&heap, context, NULL, fill_two, meshes, 3) > 10);
	for (int i = 0; i < 2; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
