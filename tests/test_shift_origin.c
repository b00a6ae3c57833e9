/// Another origin for a world (carom_world_shift_origin). The oracle is a world that is treated alike but stays where it is: what it
/// lists lies off by the offset. Places are multiples of 2^-20, so that all sums are exact.
#include "carom/query.h"
#include "carom/record.h"
#include "carom/snapshot.h"
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RIGID = 40, STEPS = 6 };
static const double OFFSET[3] = { 1024, -2048, 64 };

typedef struct scene {
	carom_context *context;
	carom_mesh *cube, *torus, *sheet, *ball;
	carom_world *world;
	carom_body_id rigid[RIGID], cloth, solid, grains, compound;
} scene;

static double exact(double x) { return floor(x * 1048576) / 1048576; }

static carom_pose exact_pose(uint64_t *seed, double span)
{
	carom_pose pose = fixture_random_pose(seed, span);
	pose.position = (carom_vec3){ exact(pose.position.x), exact(pose.position.y), exact(0.3 * pose.position.z) };
	return pose;
}

static void add_rigid(scene *s)
{
	uint64_t seed = 7;
	const carom_shape shapes[] = { fixture_box(0.5, 0.4, 0.3), fixture_of_mesh(s->cube), fixture_of_mesh(s->torus),
		fixture_sphere(0.4), fixture_cylinder(0.3, 0.5) };
	for (int i = 0; i < RIGID; i++) {
		carom_body_def def = carom_default_body_def();
		def.shape = shapes[i % 5];
		def.pose = exact_pose(&seed, 3);
		def.continuous = i % 4 == 0;
		REQUIRE(carom_world_add_body(s->world, &def, &s->rigid[i]) == CAROM_SUCCESS);
	}
	const carom_part parts[2] = { { .shape = fixture_sphere(0.5), .pose = fixture_at(-0.5, 0, 0) },
		{ .shape = fixture_of_mesh(s->cube), .pose = fixture_at(0.5, 0, 0) } };
	carom_body_def def = carom_default_body_def();
	def.parts = parts;
	def.part_count = 2;
	def.pose.position = (carom_vec3){ 0.25, 0.5, 0 };
	REQUIRE(carom_world_add_body(s->world, &def, &s->compound) == CAROM_SUCCESS);
	fixture_add(s->world, fixture_box(9, 9, 1), fixture_at(0, 0, -1.5), CAROM_STATIC);
}

/// Cloth on a ball, a solid on a box, and grains on it.
static void add_soft(scene *s)
{
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_CLOTH;
	def.thickness = 0.25;
	def.shape = fixture_of_mesh(s->sheet);
	def.pose.position = (carom_vec3){ 20, 0, 1.0625 };
	REQUIRE(carom_world_add_body(s->world, &def, &s->cloth) == CAROM_SUCCESS);
	fixture_add(s->world, fixture_of_mesh(s->ball), fixture_at(20, 0, 0), CAROM_STATIC);
	fixture_add(s->world, fixture_sphere(0.5), fixture_at(21.5, 0, 0.5), CAROM_STATIC);
	def = carom_default_body_def();
	def.kind = CAROM_DEFORMABLE;
	def.shape = fixture_of_mesh(s->cube);
	def.pose.position = (carom_vec3){ 30, 0, 0.25 };
	REQUIRE(carom_world_add_body(s->world, &def, &s->solid) == CAROM_SUCCESS);
	fixture_add(s->world, fixture_box(2, 2, 1), fixture_at(30, 0, -1), CAROM_STATIC);
	const double spheres[] = { 31.5, 0, 0.25, 0.375, 31.5, 0, 0.875, 0.375 };
	def = carom_default_body_def();
	def.kind = CAROM_GRANULAR;
	def.continuous = true;
	def.sphere_count = 2;
	def.centres = (carom_strided){ spheres, 4 * sizeof *spheres, CAROM_FLOAT64 };
	def.radii = (carom_strided){ spheres + 3, 4 * sizeof *spheres, CAROM_FLOAT64 };
	REQUIRE(carom_world_add_body(s->world, &def, &s->grains) == CAROM_SUCCESS);
}

static void open_scene(scene *s, carom_context *context)
{
	s->context = context;
	s->cube = fixture_box_mesh(context, 0.5, 0.5, 0.5);
	s->torus = fixture_torus_mesh(context, 12, 6, 0.25, 0.1);
	s->sheet = fixture_sheet_mesh(context, 8, 4);
	s->ball = fixture_sphere_mesh(context, 1, 8);
	s->world = fixture_world(context, NULL);
	add_rigid(s);
	add_soft(s);
}

static void close_scene(scene *s)
{
	carom_destroy_world(s->world);
	carom_release_mesh(s->cube);
	carom_release_mesh(s->torus);
	carom_release_mesh(s->sheet);
	carom_release_mesh(s->ball);
}

/// A step before which some bodies move.
static void live(scene *s, uint64_t *seed)
{
	for (int i = 0; i < RIGID; i += 3) {
		carom_pose pose;
		REQUIRE(carom_world_get_pose(s->world, s->rigid[i], &pose) == CAROM_SUCCESS);
		pose.position.x += exact(test_random_double(seed, -0.01, 0.01));
		pose.position.z += exact(test_random_double(seed, -0.01, 0.01));
		REQUIRE(carom_world_set_pose(s->world, s->rigid[i], &pose) == CAROM_SUCCESS);
	}
	fixture_step(s->world);
}

static bool is_off(const double *a, const double *b, const double offset[3])
{
	bool off = true;
	for (int k = 0; k < 3; k++)
		off = off && fabs(a[k] + offset[k] - b[k]) < 1e-9;
	return off;
}

/// All contacts of the second world are those of the first one, off by the offset.
static void compare(const carom_world *here, const carom_world *there, const double offset[3])
{
	const carom_contact_view a = carom_world_contacts(here), b = carom_world_contacts(there);
	REQUIRE(a.count == b.count && a.count > 0);
	for (int32_t i = 0; i < a.count; i++) {
		const carom_contact *x = &a.data[i], *y = &b.data[i];
		CHECK(fixture_same_id(x->body_a, y->body_a) && fixture_same_id(x->body_b, y->body_b));
		CHECK(is_off(x->point, y->point, offset));
		CHECK(x->feature_a == y->feature_a && x->feature_b == y->feature_b && x->kind == y->kind);
		CHECK_INT(y->age, x->age);
		CHECK_NEAR(y->depth, x->depth, 1e-6);
		CHECK_NEAR(y->impulse[0], x->impulse[0], 0);
	}
	const carom_surface_contact_view c = carom_world_surface_contacts(here), d = carom_world_surface_contacts(there);
	REQUIRE(c.count == d.count && c.count > 0);
	for (int64_t i = 0; i < c.count; i++) {
		CHECK(is_off(&c.data[i].point_a.x, &d.data[i].point_a.x, offset) && c.data[i].side == d.data[i].side);
		CHECK_INT(d.data[i].age, c.data[i].age);
	}
	const carom_surface_shape_contact_view e = carom_world_surface_shape_contacts(here),
										   f = carom_world_surface_shape_contacts(there);
	REQUIRE(e.count == f.count && e.count > 0);
	for (int64_t i = 0; i < e.count; i++)
		CHECK(is_off(&e.data[i].point.x, &f.data[i].point.x, offset) && e.data[i].age == f.data[i].age);
	const carom_sphere_contact_view g = carom_world_sphere_contacts(here), h = carom_world_sphere_contacts(there);
	REQUIRE(g.count == h.count && g.count > 0);
	for (int64_t i = 0; i < g.count; i++)
		CHECK(is_off(&g.data[i].point.x, &h.data[i].point.x, offset) && g.data[i].age == h.data[i].age);
	CHECK_INT(carom_world_impacts(there).count, carom_world_impacts(here).count);
	CHECK_INT(carom_world_body_impacts(there).count, carom_world_body_impacts(here).count);
	CHECK_INT(carom_world_stats(there).colliding_pairs, carom_world_stats(here).colliding_pairs);
	CHECK_INT(carom_world_stats(there).surface_pairs, carom_world_stats(here).surface_pairs);
}

static void compare_events(const carom_world *here, const carom_world *there)
{
	const carom_event_view a = carom_world_events(here), b = carom_world_events(there);
	REQUIRE(a.count == b.count);
	for (int32_t i = 0; i < a.count; i++)
		CHECK(a.data[i].kind == b.data[i].kind && fixture_same_id(a.data[i].body_a, b.data[i].body_a));
}

static void compare_queries(const scene *here, const scene *there, const double offset[3])
{
	uint64_t seed = 3;
	for (int i = 0; i < 50; i++) {
		const carom_vec3 at = { exact(test_random_double(&seed, -3, 32)), exact(test_random_double(&seed, -3, 3)), 8 };
		const carom_ray a = { .origin = at, .direction = { 0.125, 0, -1 }, .t_max = 20 };
		carom_ray b = a;
		b.origin = (carom_vec3){ at.x + offset[0], at.y + offset[1], at.z + offset[2] };
		bool found_a, found_b;
		carom_ray_hit hit_a = { 0 }, hit_b = { 0 };
		REQUIRE(carom_world_cast_ray(here->world, &a, NULL, &found_a, &hit_a) == CAROM_SUCCESS);
		REQUIRE(carom_world_cast_ray(there->world, &b, NULL, &found_b, &hit_b) == CAROM_SUCCESS);
		CHECK_INT(found_b, found_a);
		CHECK(fixture_same_id(hit_a.body, hit_b.body));
		CHECK_NEAR(hit_b.t, hit_a.t, 1e-9);
	}
}

static void store_impulses(carom_world *world)
{
	for (int32_t i = 0; i < carom_world_contacts(world).count; i++)
		REQUIRE(carom_world_set_impulse(world, i, (const float[3]){ (float)i, 0, 1 }) == CAROM_SUCCESS);
}

TEST(shift_origin, all_lies_off_by_the_offset)
{
	carom_context *context = fixture_context(1);
	scene here, there;
	const double none[3] = { 0, 0, 0 }, back[3] = { -OFFSET[0], -OFFSET[1], -OFFSET[2] };
	open_scene(&here, context);
	open_scene(&there, context);
	uint64_t seed[2] = { 1, 1 };
	for (int k = 0; k < STEPS; k++) {
		live(&here, &seed[0]);
		live(&there, &seed[1]);
	}
	compare_queries(&here, &there, none);
	store_impulses(here.world);
	store_impulses(there.world);
	REQUIRE(carom_world_set_asleep(here.world, 6, here.rigid, true) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_asleep(there.world, 6, there.rigid, true) == CAROM_SUCCESS);
	fixture_step(here.world);
	fixture_step(there.world);
	REQUIRE(carom_world_shift_origin(there.world, OFFSET) == CAROM_SUCCESS);
	compare(here.world, there.world, OFFSET); // the views move along
	compare_queries(&here, &there, OFFSET);
	for (int k = 0; k < STEPS; k++) {
		if (k == 3) {
			REQUIRE(carom_world_set_asleep(here.world, 6, here.rigid, false) == CAROM_SUCCESS);
			REQUIRE(carom_world_set_asleep(there.world, 6, there.rigid, false) == CAROM_SUCCESS);
		}
		fixture_step(here.world);
		fixture_step(there.world);
		compare(here.world, there.world, OFFSET);
		compare_events(here.world, there.world);
		// The step after the shift works contacts out that it would have taken over.
		if (k > 0)
			CHECK_INT(carom_world_stats(there.world).pairs_full, carom_world_stats(here.world).pairs_full);
	}
	REQUIRE(carom_world_shift_origin(there.world, back) == CAROM_SUCCESS);
	live(&here, &seed[0]);
	live(&there, &seed[1]);
	compare(here.world, there.world, none);
	compare_events(here.world, there.world);
	close_scene(&here);
	close_scene(&there);
	carom_destroy_context(context);
}

/// Motions that are set before and after the shift of a step.
TEST(shift_origin, a_motion_goes_on)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_sphere(0.25);
	def.continuous = true;
	carom_body_id ball;
	REQUIRE(carom_world_add_body(world, &def, &ball) == CAROM_SUCCESS);
	fixture_add(world, fixture_box(0.5, 2, 2), fixture_at(4, 0, 0), CAROM_STATIC);
	fixture_step(world);
	const carom_pose beyond = fixture_at(8, 0, 0);
	REQUIRE(carom_world_set_pose(world, ball, &beyond) == CAROM_SUCCESS);
	REQUIRE(carom_world_shift_origin(world, OFFSET) == CAROM_SUCCESS);
	fixture_step(world);
	const carom_body_impact_view impacts = carom_world_body_impacts(world);
	REQUIRE(impacts.count == 1);
	CHECK_NEAR(impacts.data[0].time, 3.25 / 8, 0.001);
	CHECK_NEAR(impacts.data[0].point.x, 1024 + 3.5, 0.01);
	REQUIRE(carom_world_shift_origin(world, OFFSET) == CAROM_SUCCESS);
	CHECK_NEAR(carom_world_body_impacts(world).data[0].point.x, 2048 + 3.5, 0.01);
	fixture_step(world);
	CHECK_INT(carom_world_body_impacts(world).count, 0);
	carom_pose pose;
	REQUIRE(carom_world_get_pose(world, ball, &pose) == CAROM_SUCCESS);
	CHECK_NEAR(pose.position.x, 2056, 0);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(shift_origin, wrong_offsets_change_nothing)
{
	carom_context *context = fixture_context(1);
	scene s;
	open_scene(&s, context);
	fixture_step(s.world);
	carom_snapshot *before, *after;
	REQUIRE(carom_create_snapshot(s.world, &before) == CAROM_SUCCESS && carom_create_snapshot(s.world, &after) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(s.world, before) == CAROM_SUCCESS);
	fixture_expect_wrong(context, carom_world_shift_origin(s.world, NULL), "offset is NULL");
	fixture_expect_wrong(context, carom_world_shift_origin(s.world, (const double[3]){ 0, NAN, 0 }), "offset[1] is");
	fixture_expect_wrong(context, carom_world_shift_origin(s.world, (const double[3]){ 0, 0, INFINITY }), "offset[2] is");
	fixture_expect_wrong(
		context, carom_world_shift_origin(s.world, (const double[3]){ 2e15, 0, 0 }), "takes a pose of the body (1, 1)");
	fixture_expect_wrong(
		context, carom_world_shift_origin(s.world, (const double[3]){ 0, 2e12, 0 }), "takes a vertex of the body");
	REQUIRE(carom_world_remove_body(s.world, s.cloth) == CAROM_SUCCESS &&
		carom_world_remove_body(s.world, s.solid) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(s.world, before) == CAROM_SUCCESS);
	fixture_expect_wrong(
		context, carom_world_shift_origin(s.world, (const double[3]){ 0, 2e12, 0 }), "takes a sphere of the body");
	REQUIRE(carom_world_save(s.world, after) == CAROM_SUCCESS);
	CHECK_INT(carom_snapshot_hash(after), carom_snapshot_hash(before));
	carom_destroy_snapshot(before);
	carom_destroy_snapshot(after);
	close_scene(&s);
	carom_destroy_context(context);
}

/// Recordings repeat it, for offsets that are not exact too, and snapshots go back over it.
TEST(shift_origin, recordings_and_snapshots_hold_it)
{
	carom_context *context = fixture_context(1);
	scene s;
	uint64_t seed = 2, then;
	fixture_tape tape = { 0 };
	carom_snapshot *saved;
	open_scene(&s, context);
	REQUIRE(carom_create_snapshot(s.world, &saved) == CAROM_SUCCESS);
	live(&s, &seed);
	REQUIRE(carom_world_save(s.world, saved) == CAROM_SUCCESS);
	then = seed;
	live(&s, &seed);
	const uint64_t hash = carom_world_hash(s.world);
	REQUIRE(carom_world_record(s.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	live(&s, &seed);
	REQUIRE(carom_world_shift_origin(s.world, (const double[3]){ 1e5 + 0.1, -0.3, 77.7 }) == CAROM_SUCCESS);
	live(&s, &seed);
	REQUIRE(carom_world_shift_origin(s.world, (const double[3]){ -4.4e4, 1. / 3, -1e3 }) == CAROM_SUCCESS);
	live(&s, &seed);
	REQUIRE(carom_world_record(s.world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS);
	CHECK_INT(result.steps, 3);
	REQUIRE(carom_world_restore(s.world, saved) == CAROM_SUCCESS);
	seed = then;
	live(&s, &seed);
	CHECK_INT(carom_world_hash(s.world), hash);
	free(tape.bytes);
	carom_destroy_snapshot(saved);
	close_scene(&s);
	carom_destroy_context(context);
}

/// Roundings of a large offset: pairs that were there go on, and none is lost for good.
TEST(shift_origin, large_offsets_round_and_lose_no_pair)
{
	carom_context *context = fixture_context(1);
	scene s;
	open_scene(&s, context);
	uint64_t seed = 4;
	for (int k = 0; k < STEPS; k++)
		live(&s, &seed);
	const int32_t pairs = carom_world_stats(s.world).colliding_pairs;
	for (int k = 0; k < 4; k++) {
		const double far = k % 2 ? -1e8 - 0.7 : 1e8 + 0.7;
		REQUIRE(carom_world_shift_origin(s.world, (const double[3]){ far, far / 3, -far }) == CAROM_SUCCESS);
		fixture_step(s.world);
		fixture_check_views(s.world);
		CHECK_INT(carom_world_stats(s.world).colliding_pairs, pairs);
		const carom_event_view events = carom_world_events(s.world);
		for (int32_t i = 0; i < events.count; i++)
			CHECK_INT(events.data[i].kind, CAROM_EVENT_PERSIST);
	}
	close_scene(&s);
	carom_destroy_context(context);
}
