/// Continuous collision of rigid bodies in the step of a world: against carom_time_of_impact over all pairs, against fine steps where
/// bodies have parts, and what a user may get wrong.
#include "fixture.h"

#include "carom/collide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FINE_STEPS = 100, MOST = 320 };

static const double TOLERANCE = 0.001;

/// Bodies with their definitions and motions, as an oracle wants them.
typedef struct flock {
	carom_world *world;
	carom_body_def def[MOST];
	carom_body_id id[MOST];
	carom_motion motion[MOST];
	int count;
} flock;

static carom_body_id add_fast(carom_world *world, carom_shape shape, carom_pose pose)
{
	carom_body_def def = carom_default_body_def();
	def.shape = shape;
	def.pose = pose;
	def.continuous = true;
	carom_body_id id = { 0 };
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

static void move_to(carom_world *world, carom_body_id id, carom_pose pose)
{
	REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
}

static void move_along(carom_world *world, carom_body_id id, carom_motion motion)
{
	REQUIRE(carom_world_set_motions(world, 1, &id, &motion) == CAROM_SUCCESS);
}

/// Bodies at rest that meet nothing: beside so many others few bodies move, and a step looks for those near each of them.
static void add_crowd(carom_world *world, int count)
{
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_box(0.1, 0.1, 0.1);
	def.category = def.mask = 0;
	for (int i = 0; i < count; i++) {
		carom_body_id id;
		def.pose = fixture_at(i % 30 - 15, i / 30 - 15, 0);
		REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	}
}

/// The only impact of the last step, which must be of a status.
static carom_body_impact expect_one(const carom_world *world, carom_toi_status status)
{
	const carom_body_impact_view view = carom_world_body_impacts(world);
	REQUIRE(view.count == 1);
	CHECK_INT(view.data[0].status, status);
	CHECK_INT(carom_world_stats(world).body_impacts, 1);
	return view.data[0];
}

// ---- One bullet ----

TEST(continuous, a_bullet_does_not_pass_through_what_is_thin)
{
	carom_context *context = fixture_context(1);
	static const float flat[9] = { 0 };
	carom_mesh *sheet = fixture_sheet_mesh(context, 4, 4), *field;
	REQUIRE(carom_create_height_field(context, 3, 3, flat, (double[2]){ 2, 2 }, 0.5, &field) == CAROM_SUCCESS);
	const carom_shape walls[] = { fixture_box(2, 2, 0.001), fixture_of_mesh(sheet), fixture_of_mesh(field),
		{ .type = CAROM_PLANE }, fixture_cylinder(2, 0.001) };
	const double tops[] = { 0.001, 0, 0, 0, 0.001 };
	for (size_t i = 0; i < sizeof walls / sizeof *walls; i++) {
		for (int flagged = 0; flagged < 2; flagged++) {
			carom_world *world = fixture_world(context, NULL);
			// A static wall: its lower index makes it A.
			const carom_body_id wall = fixture_add(world, walls[i], fixture_at(0, 0, 0), CAROM_STATIC);
			const carom_body_id bullet = flagged
				? add_fast(world, fixture_sphere(0.01), fixture_at(0.3, 0.2, 2))
				: fixture_add(world, fixture_sphere(0.01), fixture_at(0.3, 0.2, 2), CAROM_DYNAMIC);
			fixture_step(world);
			CHECK_INT(carom_world_body_impacts(world).count, 0);
			move_to(world, bullet, fixture_at(0.3, 0.2, -1.3));
			fixture_step(world);
			if (!flagged) {
				CHECK_INT(carom_world_body_impacts(world).count, 0);
				CHECK_INT((int)carom_world_stats(world).toi_tests, 0);
				CHECK(carom_world_earliest_body_impact(world, bullet) == NULL);
				carom_destroy_world(world);
				continue;
			}
			const carom_body_impact hit = expect_one(world, CAROM_TOI_IMPACT);
			CHECK(fixture_same_id(hit.body_a, wall) && fixture_same_id(hit.body_b, bullet));
			const double gap_at_time = 2 - 3.3 * hit.time - 0.01 - tops[i];
			CHECK(gap_at_time > 0 && gap_at_time <= TOLERANCE * (1 + 1e-6));
			CHECK_NEAR(hit.distance, gap_at_time, 1e-8);
			CHECK_NEAR(hit.normal.z, -1, 1e-6); // from B, the bullet, to A
			CHECK_NEAR(hit.point.z, tops[i], 1e-6);
			CHECK_NEAR(hit.point.x, 0.3, 1e-6);
			const carom_body_impact *earliest = carom_world_earliest_body_impact(world, bullet);
			CHECK(earliest == carom_world_body_impacts(world).data);
			CHECK(earliest == carom_world_earliest_body_impact(world, (carom_body_id){ 0 }));
			// Nothing moves any more.
			fixture_step(world);
			CHECK_INT(carom_world_body_impacts(world).count, 0);
			CHECK_INT((int)carom_world_stats(world).toi_tests, 0);
			carom_destroy_world(world);
		}
	}
	carom_release_mesh(sheet);
	carom_release_mesh(field);
	carom_destroy_context(context);
}

TEST(continuous, bodies_without_contacts_have_impacts_all_the_same)
{
	carom_context *context = fixture_context(1);
	for (int without = 0; without < 4; without++) { // bit 0: the wall; bit 1: the bullet
		carom_world *world = fixture_world(context, NULL);
		carom_body_id ids[2];
		for (int i = 0; i < 2; i++) {
			carom_body_def def = carom_default_body_def();
			def.kind = i == 0 ? CAROM_STATIC : CAROM_DYNAMIC;
			def.shape = i == 0 ? fixture_box(2, 2, 0.1) : fixture_sphere(0.2);
			def.pose = fixture_at(0, 0, 2.0 * i);
			def.continuous = i == 1;
			def.contacts = !(without >> i & 1);
			REQUIRE(carom_world_add_body(world, &def, &ids[i]) == CAROM_SUCCESS);
		}
		fixture_step(world);
		move_to(world, ids[1], fixture_at(0, 0, 0.2));
		fixture_step(world);
		const carom_body_impact hit = expect_one(world, CAROM_TOI_IMPACT);
		CHECK(fixture_same_id(hit.body_a, ids[0]) && fixture_same_id(hit.body_b, ids[1]));
		CHECK_INT(carom_world_pairs(world).count, without == 0);
		CHECK_INT(carom_world_events(world).count, without == 0);
		carom_destroy_world(world);
	}
	carom_destroy_context(context);
}

TEST(continuous, either_body_may_be_the_fast_one)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	// Two bullets that pass each other at once; and a wall that is swung through a resting continuous body.
	const carom_body_id first = fixture_add(world, fixture_sphere(0.1), fixture_at(-50, 0, 0), CAROM_DYNAMIC);
	const carom_body_id second = add_fast(world, fixture_sphere(0.1), fixture_at(50, 0, 0));
	fixture_step(world);
	move_to(world, first, fixture_at(50, 0, 0));
	move_to(world, second, fixture_at(-50, 0, 0));
	fixture_step(world);
	carom_body_impact hit = expect_one(world, CAROM_TOI_IMPACT);
	CHECK_NEAR(hit.time, 0.499, 1e-5);
	CHECK_NEAR(hit.normal.x, -1, 1e-9);
	const carom_body_id resting = add_fast(world, fixture_box(0.1, 0.1, 0.1), fixture_at(0, 5, 0));
	carom_body_def blade = carom_default_body_def();
	blade.kind = CAROM_KINEMATIC;
	blade.shape = fixture_box(3, 0.01, 0.2);
	blade.pose = fixture_at(0, 4, 0);
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &blade, &id) == CAROM_SUCCESS);
	fixture_step(world);
	move_along(world, id, (carom_motion){ fixture_at(0, 3, 0), { { 0, 3, 0 }, fixture_turn((v3d){ 0, 0, 1 }, 3) } });
	fixture_step(world);
	hit = expect_one(world, CAROM_TOI_IMPACT);
	CHECK(fixture_same_id(hit.body_a, resting) && fixture_same_id(hit.body_b, id));
	CHECK(hit.time > 0.3 && hit.time < 0.6);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(continuous, pairs_that_touch_at_the_beginning_are_told_apart)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_STATIC;
	def.shape = fixture_box(50, 50, 0.5);
	def.user_data = 7;
	carom_body_id floor_id, zone_id;
	REQUIRE(carom_world_add_body(world, &def, &floor_id) == CAROM_SUCCESS);
	const carom_body_id box = add_fast(world, fixture_box(0.5, 0.5, 0.5), fixture_at(0, 0, 1));
	fixture_add(world, fixture_box(0.01, 3, 3), fixture_at(10, 0, 1), CAROM_STATIC);
	def.shape = fixture_box(0.01, 3, 3);
	def.pose = fixture_at(5, 0, 1);
	def.sensor = true;
	REQUIRE(carom_world_add_body(world, &def, &zone_id) == CAROM_SUCCESS);
	fixture_step(world);
	move_to(world, box, fixture_at(20, 0, 1));
	fixture_step(world);
	const carom_body_impact_view view = carom_world_body_impacts(world);
	REQUIRE(view.count == 3);
	CHECK(fixture_same_id(view.data[0].body_a, floor_id));
	CHECK_INT(view.data[0].user_data_a, 7);
	CHECK_INT(view.data[0].status, CAROM_TOI_TOUCHING);
	CHECK_NEAR(view.data[0].time, 0, 0);
	CHECK_INT(view.data[1].status, CAROM_TOI_IMPACT);
	CHECK(!view.data[1].sensor);
	CHECK_NEAR(view.data[1].time, 9.49 / 20, 1e-4);
	CHECK(fixture_same_id(view.data[2].body_b, zone_id));
	CHECK(view.data[2].sensor);
	CHECK_NEAR(view.data[2].time, 4.49 / 20, 1e-4);
	CHECK(carom_world_earliest_body_impact(world, box) == &view.data[1]);
	CHECK(carom_world_earliest_body_impact(world, floor_id) == NULL);
	// A removed body is of no impact, and what was continuous is gone.
	REQUIRE(carom_world_remove_body(world, box) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(carom_world_body_impacts(world).count, 0);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// Asleep and at rest they take part as long as another body moves.
TEST(continuous, bodies_asleep_are_met)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_body_id ids[40];
	for (int i = 0; i < 40; i++)
		ids[i] = add_fast(world, fixture_box(0.5, 0.5, 0.5), fixture_at(2 * i, 0, 0));
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_sphere(0.1);
	def.pose = fixture_at(20, 0, 8);
	carom_body_id ball;
	REQUIRE(carom_world_add_body(world, &def, &ball) == CAROM_SUCCESS);
	fixture_step(world);
	REQUIRE(carom_world_set_asleep(world, 40, ids, true) == CAROM_SUCCESS);
	for (int i = 0; i < 3; i++) {
		fixture_step(world);
		CHECK_INT(carom_world_body_impacts(world).count, 0);
		CHECK_INT((int)carom_world_stats(world).toi_tests, 0);
	}
	move_to(world, ball, fixture_at(20, 0, -8));
	fixture_step(world);
	CHECK_NEAR(expect_one(world, CAROM_TOI_IMPACT).time, 7.4 / 16, 1e-3);
	CHECK_INT((int)carom_world_stats(world).toi_tests, 1);
	fixture_step(world);
	CHECK_INT(carom_world_body_impacts(world).count, 0);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(continuous, a_body_that_is_placed_does_not_sweep)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, fixture_box(3, 3, 0.01), fixture_at(0, 0, 0), CAROM_STATIC);
	const carom_body_id ball = add_fast(world, fixture_sphere(0.1), fixture_at(0, 0, 5));
	fixture_step(world);
	// Placed below: begin and end are there, and a pose that is set afterwards starts from there.
	const carom_motion there = { fixture_at(0, 0, -5), fixture_at(0, 0, -5) };
	move_along(world, ball, there);
	move_to(world, ball, fixture_at(0, 0, -6));
	fixture_step(world);
	CHECK_INT(carom_world_body_impacts(world).count, 0);
	// The beginning was for one step: now the way starts where the last one ended.
	move_to(world, ball, fixture_at(0, 0, 4));
	fixture_step(world);
	CHECK_NEAR(expect_one(world, CAROM_TOI_IMPACT).time, 5.89 / 10, 1e-3);
	// Begin and end of a step from elsewhere.
	move_along(world, ball, (carom_motion){ fixture_at(1, 0, 1), fixture_at(1, 0, -1) });
	fixture_step(world);
	CHECK_NEAR(expect_one(world, CAROM_TOI_IMPACT).time, 0.89 / 2, 1e-3);
	carom_pose pose;
	REQUIRE(carom_world_get_pose(world, ball, &pose) == CAROM_SUCCESS);
	CHECK_NEAR(pose.position.z, -1, 0);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- All pairs ----

static double random_in(uint64_t *seed, double lower, double upper) { return test_random_double(seed, lower, upper); }

static carom_shape random_shape(uint64_t *seed, carom_mesh *const meshes[4])
{
	const double x = random_in(seed, 0.1, 0.5), y = random_in(seed, 0.1, 0.5);
	const carom_shape shapes[] = { fixture_sphere(x), fixture_box(x, y, 0.2), fixture_capsule(x, y), fixture_cylinder(x, y),
		fixture_cone(x, y), fixture_ellipsoid(x, y, 0.3), fixture_box(2 * x, 2 * y, 0.002), fixture_of_mesh(meshes[0]),
		fixture_of_mesh(meshes[1]), fixture_of_mesh(meshes[2]), fixture_of_mesh(meshes[3]) };
	return shapes[test_random(seed) % (sizeof shapes / sizeof *shapes)];
}

static carom_body_def random_def(uint64_t *seed, carom_mesh *const meshes[4])
{
	carom_body_def def = carom_default_body_def();
	const uint64_t kind = test_random(seed) % 8;
	def.kind = kind == 0 ? CAROM_STATIC : kind == 1 ? CAROM_KINEMATIC : CAROM_DYNAMIC;
	def.shape = random_shape(seed, meshes);
	if (def.kind != CAROM_DYNAMIC && test_random(seed) % 4 == 0)
		def.shape = (carom_shape){ .type = CAROM_PLANE };
	def.continuous = def.kind != CAROM_STATIC && test_random(seed) % 3 == 0;
	def.sensor = test_random(seed) % 8 == 0;
	def.category = 1u << test_random(seed) % 3;
	def.mask = test_random(seed) % 4 == 0 ? 3 : 7;
	def.group = (int32_t)(test_random(seed) % 5) - 2;
	return def;
}

static bool leave_out_thirteens(carom_body_id a, carom_body_id b, uint64_t data_a, uint64_t data_b, void *user)
{
	(void)data_a, (void)data_b, (void)user;
	return (a.index1 + b.index1) % 13 != 0;
}

static void fill_flock(flock *f, uint64_t *seed, carom_mesh *const meshes[4], int count, double span)
{
	f->count = count;
	for (int i = 0; i < count; i++) {
		f->def[i] = random_def(seed, meshes);
		f->def[i].pose = fixture_random_pose(seed, span);
		REQUIRE(carom_world_add_body(f->world, &f->def[i], &f->id[i]) == CAROM_SUCCESS);
	}
}

/// Moves of any kind: rests, short ones, long ones, turns. Some begin elsewhere.
static void move_flock(flock *f, uint64_t *seed, double span)
{
	for (int i = 0; i < f->count; i++) {
		carom_pose begin, end;
		REQUIRE(carom_world_get_pose(f->world, f->id[i], &begin) == CAROM_SUCCESS);
		const uint64_t kind = test_random(seed) % 6;
		end = kind < 3 ? fixture_random_pose(seed, span) : begin;
		if (kind == 1)
			end.orientation = begin.orientation;
		if (kind == 3)
			end.position.x += random_in(seed, -0.1, 0.1);
		const bool placed = test_random(seed) % 5 == 0;
		if (placed)
			begin = fixture_random_pose(seed, span);
		f->motion[i] = (carom_motion){ begin, end };
		if (placed)
			move_along(f->world, f->id[i], f->motion[i]);
		else if (kind < 4)
			move_to(f->world, f->id[i], end);
		// Normalised, as the world has it.
		REQUIRE(carom_world_get_pose(f->world, f->id[i], &f->motion[i].end) == CAROM_SUCCESS);
	}
}

static bool is_resting(const carom_motion *m) { return memcmp(&m->begin, &m->end, sizeof m->begin) == 0; }

static bool may_meet(const flock *f, int i, int k)
{
	const carom_body_def *a = &f->def[i], *b = &f->def[k];
	const bool by_kind = a->kind == CAROM_DYNAMIC || b->kind == CAROM_DYNAMIC;
	const bool by_group = a->group != 0 && a->group == b->group;
	const bool by_mask = (a->category & b->mask) && (b->category & a->mask);
	return by_kind && (a->continuous || b->continuous) && (by_group ? a->group > 0 : by_mask) &&
		!(is_resting(&f->motion[i]) && is_resting(&f->motion[k])) && leave_out_thirteens(f->id[i], f->id[k], 0, 0, NULL);
}

/// Returns how many impacts there are.
static int compare_all_pairs(const flock *f, carom_context *context)
{
	const carom_body_impact_view view = carom_world_body_impacts(f->world);
	int at = 0;
	for (int i = 0; i < f->count; i++) {
		for (int k = i + 1; k < f->count; k++) {
			carom_toi toi;
			if (!may_meet(f, i, k))
				continue;
			REQUIRE(carom_time_of_impact(context, &f->def[i].shape, &f->motion[i], &f->def[k].shape, &f->motion[k], TOLERANCE,
						&toi) == CAROM_SUCCESS);
			if (toi.status == CAROM_TOI_APART)
				continue;
			REQUIRE(at < view.count);
			const carom_body_impact *p = &view.data[at++];
			CHECK(fixture_same_id(p->body_a, f->id[i]) && fixture_same_id(p->body_b, f->id[k]));
			CHECK_INT(p->sensor, f->def[i].sensor || f->def[k].sensor);
			// A pair that touches from the beginning may have an impact for all that: test_touching.c.
			if (toi.status == CAROM_TOI_TOUCHING && p->status == CAROM_TOI_IMPACT)
				continue;
			CHECK_INT(p->status, toi.status);
			CHECK_NEAR(p->time, toi.time, 1e-9);
			CHECK_NEAR(p->distance, toi.separation.distance, 1e-7);
			CHECK_NEAR(v3d_length(v3d_sub(p->point, toi.separation.point_a)), 0, 1e-4);
			CHECK_NEAR(v3d_length(v3d_sub(p->normal, toi.separation.normal)), 0, 1e-4);
			// Of triangles that are equally near, the last bits of the poses choose.
			CHECK_INT(p->triangle_a < 0, toi.triangle_a < 0);
			CHECK_INT(p->triangle_b < 0, toi.triangle_b < 0);
		}
	}
	CHECK_INT(at, view.count);
	return at;
}

static void make_meshes(carom_context *context, carom_mesh *meshes[4])
{
	static const float heights[9] = { 0, 0.3F, 0, 0.1F, 0.4F, 0, 0, 0, 0.2F };
	meshes[0] = fixture_torus_mesh(context, 8, 5, 0.3, 0.1);
	meshes[1] = fixture_sheet_mesh(context, 3, 2);
	meshes[2] = fixture_box_mesh(context, 0.4, 0.3, 0.2);
	REQUIRE(carom_create_height_field(context, 3, 3, heights, (double[2]){ 0.6, 0.6 }, 0.5, &meshes[3]) == CAROM_SUCCESS);
}

static void free_meshes(carom_mesh *meshes[4])
{
	for (int i = 0; i < 4; i++)
		carom_release_mesh(meshes[i]);
}

/// A flock in a world of a broad phase and number of threads. Returns the hash of all steps, and counts impacts.
static uint64_t run_flock(int broad, int threads, int count, double span, int crowd, int steps, bool compare, int *impacts)
{
	static flock f;
	carom_context *context = fixture_context(threads);
	carom_mesh *meshes[4];
	make_meshes(context, meshes);
	carom_world_def def = carom_default_world_def();
	fixture_set_broad(&def, broad);
	def.pair_filter = leave_out_thirteens;
	f.world = fixture_world(context, &def);
	uint64_t seed = 77 + (uint64_t)count, hash = 0;
	fill_flock(&f, &seed, meshes, count, span);
	add_crowd(f.world, crowd);
	fixture_step(f.world);
	for (int i = 0; i < steps; i++) {
		move_flock(&f, &seed, span);
		fixture_step(f.world);
		hash = hash * 31 + carom_world_hash(f.world);
		*impacts += compare ? compare_all_pairs(&f, context) : 0;
	}
	carom_destroy_world(f.world);
	free_meshes(meshes);
	carom_destroy_context(context);
	return hash;
}

TEST(continuous, all_pairs_by_the_query)
{
	int impacts = 0;
	run_flock(CAROM_BROAD_TREE, 1, 40, 4, 0, 20, true, &impacts);
	CHECK(impacts > 200);
	int few = 0;
	run_flock(CAROM_BROAD_TREE, 1, 300, 40, 0, 3, true, &few);
	CHECK(few > 1000);
	int beside = 0;
	run_flock(CAROM_BROAD_TREE, 1, 40, 4, 700, 20, true, &beside);
	CHECK(beside > 200);
}

TEST(continuous, broad_phases_and_threads_give_the_same_bits)
{
	int none = 0;
	for (int crowd = 0; crowd <= 1000; crowd += 1000) {
		const uint64_t hash = run_flock(CAROM_BROAD_TREE, 1, 60, 5, crowd, 5, false, &none);
		for (int broad = CAROM_BROAD_TREE; broad <= FIXTURE_BROAD_BRUTE; broad++) {
			for (int threads = 1; threads <= 4; threads += 3)
				CHECK(run_flock(broad, threads, 60, 5, crowd, 5, false, &none) == hash);
		}
	}
}

// ---- Parts ----

static const carom_part blade_parts[3] = {
	{ { .type = CAROM_BOX, .half_extents = { 0.5, 0.05, 0.01 } }, { { 1.5, 0, 0 }, { 0, 0, 0, 1 } }, 0 },
	{ { .type = CAROM_SPHERE, .radius = 0.2 }, { { 0, 0, 0.1 }, { 0, 0, 0, 1 } }, 0 },
	{ { .type = CAROM_CAPSULE, .radius = 0.1, .half_length = 0.3 }, { { -1.2, 0.3, 0 }, { 0.6, 0, 0, 0.8 } }, 0 },
};

/// The least distance of two shapes over the way before a time, at fine steps.
static double least_on_the_way(carom_context *context, const carom_shape *a, const carom_motion *ma, const carom_pose *local,
	const carom_shape *b, const carom_motion *mb, double until)
{
	double least = INFINITY;
	for (int i = 0; i <= FINE_STEPS; i++) {
		const double t = until * i / FINE_STEPS;
		const carom_pose pa = fixture_compose(carom_motion_pose(ma, t), *local), pb = carom_motion_pose(mb, t);
		carom_separation s;
		REQUIRE(carom_distance(context, a, &pa, b, &pb, &s) == CAROM_SUCCESS);
		least = fmin(least, s.distance);
	}
	return least;
}

static const carom_body_impact *find_impact(const carom_world *world, int32_t part)
{
	const carom_body_impact_view view = carom_world_body_impacts(world);
	for (int i = 0; i < view.count; i++) {
		if (view.data[i].shape_a == part)
			return view.data + i;
	}
	return NULL;
}

TEST(continuous, parts_turn_about_the_origin_of_their_body)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 5;
	int hits = 0, misses = 0;
	carom_mesh *sheet = fixture_sheet_mesh(context, 2, 1.5);
	const carom_shape others[] = { fixture_box(0.4, 0.3, 0.01), fixture_of_mesh(sheet), fixture_sphere(0.3),
		{ .type = CAROM_PLANE } };
	for (int round = 0; round < 160; round++) {
		carom_world *world = fixture_world(context, NULL);
		const carom_shape other = others[round % 4];
		carom_body_def def = carom_default_body_def();
		carom_motion motions[2] = { { fixture_random_pose(&seed, 2), fixture_random_pose(&seed, 2) },
			{ fixture_random_pose(&seed, 2), fixture_random_pose(&seed, 2) } };
		if (round % 8 >= 4)
			motions[1].end = motions[1].begin;
		carom_body_id ids[2];
		if (round % 3 == 0)
			add_crowd(world, 100);
		def.parts = blade_parts;
		def.part_count = 3;
		def.continuous = true;
		REQUIRE(carom_world_add_body(world, &def, &ids[0]) == CAROM_SUCCESS);
		carom_body_def target = carom_default_body_def();
		target.kind = CAROM_KINEMATIC;
		target.shape = other;
		REQUIRE(carom_world_add_body(world, &target, &ids[1]) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_motions(world, 2, ids, motions) == CAROM_SUCCESS);
		fixture_step(world);
		for (int32_t part = 0; part < 3; part++) {
			const carom_body_impact *hit = find_impact(world, part);
			const double until = hit ? hit->time : 1;
			const double begin = least_on_the_way(
				context, &blade_parts[part].shape, &motions[0], &blade_parts[part].pose, &other, &motions[1], 0);
			if (begin <= TOLERANCE && hit && hit->status == CAROM_TOI_IMPACT)
				continue; // test_touching.c
			const double least = least_on_the_way(
				context, &blade_parts[part].shape, &motions[0], &blade_parts[part].pose, &other, &motions[1], until);
			const carom_pose pa = fixture_compose(carom_motion_pose(&motions[0], until), blade_parts[part].pose);
			const carom_pose pb = carom_motion_pose(&motions[1], until);
			carom_separation at;
			REQUIRE(carom_distance(context, &blade_parts[part].shape, &pa, &other, &pb, &at) == CAROM_SUCCESS);
			if (!hit || hit->status == CAROM_TOI_IMPACT)
				CHECK(least >= 0.5 * TOLERANCE - 1e-7);
			if (hit)
				CHECK(at.distance <= TOLERANCE + 1e-6);
			if (hit && at.distance > 0)
				CHECK_NEAR(hit->distance, at.distance, 1e-6);
			hits += hit != NULL && hit->status == CAROM_TOI_IMPACT;
			misses += hit == NULL;
		}
		carom_destroy_world(world);
	}
	CHECK(hits > 40);
	CHECK(misses > 80);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

TEST(continuous, planes_and_closed_meshes_may_be_parts)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cube = fixture_box_mesh(context, 0.5, 0.5, 0.5);
	carom_world *world = fixture_world(context, NULL);
	// A plane 2 above the origin of a body that turns over: its solid side comes down on a ball.
	const carom_part parts[2] = { { { .type = CAROM_PLANE }, { { 0, 0, -2 }, { 0, 0, 0, 1 } }, 0 },
		{ fixture_of_mesh(cube), { { 30, 0, 0 }, { 0, 0, 0, 1 } }, 0 } };
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_KINEMATIC;
	def.parts = parts;
	def.part_count = 2;
	carom_body_id lid;
	REQUIRE(carom_world_add_body(world, &def, &lid) == CAROM_SUCCESS);
	const carom_body_id ball = add_fast(world, fixture_sphere(0.25), fixture_at(0, 0, 0));
	// Inside the cube, and led out of it.
	const carom_body_id inner = add_fast(world, fixture_sphere(0.05), fixture_at(30.4, 0, 0));
	fixture_step(world);
	const carom_motion rise = { fixture_at(0, 0, 0), fixture_at(0, 0, 10) };
	move_along(world, lid, rise);
	fixture_step(world);
	const carom_body_impact_view view = carom_world_body_impacts(world);
	REQUIRE(view.count == 3);
	CHECK_INT(view.data[0].shape_a, 0);
	CHECK(fixture_same_id(view.data[0].body_b, ball));
	CHECK_INT(view.data[0].status, CAROM_TOI_IMPACT);
	CHECK_NEAR(view.data[0].time, 0.1749, 1e-4);
	CHECK_NEAR(view.data[0].normal.z, -1, 1e-9);
	CHECK(fixture_same_id(view.data[1].body_b, inner));
	CHECK_INT(view.data[1].status, CAROM_TOI_IMPACT); // by the plane
	CHECK_INT(view.data[2].shape_a, 1);
	CHECK_INT(view.data[2].status, CAROM_TOI_TOUCHING);
	CHECK_NEAR(view.data[2].normal.x, -1, 1e-6);
	CHECK_NEAR(view.data[2].distance, -0.15, 1e-6);
	CHECK_NEAR(view.data[2].point.x, 30.5, 1e-6);
	carom_destroy_world(world);
	carom_release_mesh(cube);
	carom_destroy_context(context);
}

TEST(continuous, a_beginning_outlives_other_parts)
{
	carom_context *context = fixture_context(1);
	double times[2];
	for (int late = 0; late < 2; late++) {
		carom_world *world = fixture_world(context, NULL);
		fixture_add(world, fixture_box(9, 9, 0.01), fixture_at(0, 0, 0), CAROM_STATIC);
		carom_body_def def = carom_default_body_def();
		def.parts = late ? &blade_parts[0] : &blade_parts[2];
		def.part_count = 1;
		def.pose = fixture_at(0, 0, 50);
		def.continuous = true;
		carom_body_id id;
		REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
		move_along(world, id, (carom_motion){ fixture_at(0, 0, 4), { { 0, 0, -4 }, fixture_turn((v3d){ 0, 1, 0 }, 2) } });
		if (late)
			REQUIRE(carom_world_set_parts(world, id, &blade_parts[2], 1) == CAROM_SUCCESS);
		fixture_step(world);
		times[late] = expect_one(world, CAROM_TOI_IMPACT).time;
		carom_destroy_world(world);
	}
	CHECK_NEAR(times[0], times[1], 1e-9);
	carom_destroy_context(context);
}

// ---- Misuse, memory, snapshots, recordings ----

static void expect_text(carom_context *context, carom_result result, carom_result expected, const char *text)
{
	CHECK_INT(result, expected);
	CHECK_STR(carom_error_text(context), text);
}

TEST(continuous, misuse_is_named)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cube = fixture_box_mesh(context, 1, 1, 1);
	carom_world *world = fixture_world(context, NULL);
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.shape = fixture_of_mesh(cube);
	def.continuous = true;
	static const struct {
		carom_body_kind kind;
		const char *text;
	} refused[] = {
		{ CAROM_STATIC,
			"carom_world_add_body: continuous is set, but kind is CAROM_STATIC: only dynamic, kinematic and granular bodies may have it" },
		{ CAROM_CLOTH,
			"carom_world_add_body: continuous is set, but kind is CAROM_CLOTH: only dynamic, kinematic and granular bodies may have it" },
		{ CAROM_DEFORMABLE,
			"carom_world_add_body: continuous is set, but kind is CAROM_DEFORMABLE: only dynamic, kinematic and granular bodies may have it" },
	};
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		def.kind = refused[i].kind;
		expect_text(context, carom_world_add_body(world, &def, &id), CAROM_INVALID_ARGUMENT, refused[i].text);
	}
	def.kind = CAROM_KINEMATIC;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	carom_body_def got;
	REQUIRE(carom_world_get_body_def(world, id, &got) == CAROM_SUCCESS);
	CHECK(got.continuous);
	carom_world_def bad = carom_default_world_def();
	carom_world *none;
	bad.toi_tolerance = 0;
	expect_text(context, carom_create_world(context, &bad, &none), CAROM_INVALID_ARGUMENT,
		"carom_create_world: toi_tolerance is 0; it must be above 0 and at most 1e+12");
	bad.toi_tolerance = NAN;
	CHECK_INT(carom_create_world(context, &bad, &none), CAROM_INVALID_ARGUMENT);
	carom_motion motions[2] = { { fixture_at(0, 0, 0), fixture_at(1, 0, 0) }, { fixture_at(0, 0, 0), fixture_at(1, 0, 0) } };
	carom_body_id ids[2] = { id, { 9, 1 } };
	expect_text(context, carom_world_set_motions(world, 2, ids, motions), CAROM_INVALID_BODY,
		"carom_world_set_motions: ids[1]: no body has the id (9, 1); it was removed or is of another world");
	ids[1] = id;
	motions[1].begin.position.y = NAN;
	CHECK_INT(carom_world_set_motions(world, 2, ids, motions), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_world_set_motions: motions[1].begin") != NULL);
	expect_text(context, carom_world_set_motions(world, -1, ids, motions), CAROM_INVALID_ARGUMENT,
		"carom_world_set_motions: count is -1");
	expect_text(context, carom_world_set_motions(world, 1, ids, NULL), CAROM_INVALID_ARGUMENT,
		"carom_world_set_motions: motions is NULL");
	def.continuous = false;
	def.kind = CAROM_CLOTH;
	REQUIRE(carom_world_add_body(world, &def, &ids[0]) == CAROM_SUCCESS);
	CHECK_INT(carom_world_set_motions(world, 1, ids, motions), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "deforms") != NULL);
	carom_pose pose;
	REQUIRE(carom_world_get_pose(world, id, &pose) == CAROM_SUCCESS);
	CHECK_NEAR(pose.position.x, 0, 0); // nothing was moved
	carom_destroy_world(world);
	carom_release_mesh(cube);
	carom_destroy_context(context);
}

/// Four bullets through a wall.
static void add_bullets(carom_world *world, void *user)
{
	(void)user;
	fixture_add(world, fixture_box(5, 5, 0.01), fixture_at(0, 0, 0), CAROM_STATIC);
	for (int i = 0; i < 4; i++) {
		const carom_body_id id = add_fast(world, fixture_sphere(0.1), fixture_at(i, 0, 3));
		// At the end all stand in the wall, so that pairs are found there too.
		move_to(world, id, fixture_at(i, 0, 0.05));
	}
}

static void add_bullets_beside_a_crowd(carom_world *world, void *user)
{
	add_crowd(world, 100);
	add_bullets(world, user);
}

TEST(continuous, a_failed_allocation_loses_nothing)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 2);
	CHECK(fixture_fail_each_allocation(&heap, context, NULL, add_bullets, NULL, 4) > 8);
	CHECK(fixture_fail_each_allocation(&heap, context, NULL, add_bullets_beside_a_crowd, NULL, 4) > 8);
	carom_world *world = fixture_world(context, NULL);
	add_bullets(world, NULL);
	heap.fail_at = heap.calls + 1;
	heap.fail_on = true;
	CHECK_INT(carom_world_step(world), CAROM_OUT_OF_MEMORY);
	heap.fail_on = false;
	heap.fail_at = -1;
	fixture_step(world);
	CHECK_INT(carom_world_body_impacts(world).count, 4);
	// A step like the last ones allocates nothing.
	const carom_body_id bullet = { 2, 1 };
	long long calls = 0;
	for (int i = 0; i < 4; i++) {
		calls = heap.calls;
		move_along(world, bullet, (carom_motion){ fixture_at(0, 0, 3), fixture_at(0, 0, 0.05 + 0.001 * i) });
		fixture_step(world);
		CHECK_INT(carom_world_body_impacts(world).count, 1);
	}
	CHECK_INT((int)(heap.calls - calls), 0);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(continuous, a_snapshot_keeps_the_motion_of_the_coming_step)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	add_bullets(world, NULL);
	fixture_step(world);
	const uint64_t first = carom_world_hash(world);
	carom_body_def def = carom_default_body_def();
	def.parts = blade_parts;
	def.part_count = 3;
	def.continuous = true;
	carom_body_id blade;
	REQUIRE(carom_world_add_body(world, &def, &blade) == CAROM_SUCCESS);
	move_along(world, blade, (carom_motion){ fixture_at(0, 0, 4), fixture_at(0, 0, -4) });
	carom_snapshot *before, *after;
	REQUIRE(carom_create_snapshot(world, &before) == CAROM_SUCCESS && carom_create_snapshot(world, &after) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(world, before) == CAROM_SUCCESS);
	fixture_step(world);
	const uint64_t hash = carom_world_hash(world);
	CHECK(carom_world_body_impacts(world).count >= 3);
	REQUIRE(carom_world_remove_body(world, blade) == CAROM_SUCCESS);
	fixture_step(world);
	REQUIRE(carom_world_restore(world, before) == CAROM_SUCCESS);
	CHECK(carom_world_hash(world) == first);
	CHECK_INT(carom_world_body_impacts(world).count, 4);
	REQUIRE(carom_world_save(world, after) == CAROM_SUCCESS);
	CHECK(!carom_snapshots_differ(before, after, NULL));
	CHECK(carom_snapshot_hash(before) == carom_snapshot_hash(after));
	fixture_step(world);
	CHECK(carom_world_hash(world) == hash);
	// Another beginning is a difference, and so are other impacts.
	REQUIRE(carom_world_restore(world, before) == CAROM_SUCCESS);
	move_along(world, blade, (carom_motion){ fixture_at(0, 0, 3), fixture_at(0, 0, -4) });
	REQUIRE(carom_world_save(world, after) == CAROM_SUCCESS);
	carom_snapshot_difference difference;
	CHECK(carom_snapshots_differ(before, after, &difference));
	CHECK_STR(difference.list, "bodies");
	CHECK_STR(difference.field, "begin.position");
	carom_destroy_snapshot(before);
	carom_destroy_snapshot(after);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(continuous, recordings_replay)
{
	carom_context *context = fixture_context(1);
	carom_world_def world_def = carom_default_world_def();
	world_def.toi_tolerance = 0.004;
	carom_world *world = fixture_world(context, &world_def);
	add_bullets(world, NULL);
	carom_body_def def = carom_default_body_def();
	def.parts = blade_parts;
	def.part_count = 3;
	def.continuous = true;
	carom_body_id blade;
	REQUIRE(carom_world_add_body(world, &def, &blade) == CAROM_SUCCESS);
	// The state has motions before it: of a body with its own beginning too.
	move_along(world, blade, (carom_motion){ fixture_at(0, 0, 4), fixture_at(0, 0, -4) });
	fixture_tape tape = { 0 };
	REQUIRE(carom_world_record(world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK(carom_world_body_impacts(world).count >= 7);
	move_along(world, blade, (carom_motion){ fixture_at(0, 0, -4), { { 1, 0, 4 }, fixture_turn((v3d){ 1, 2, 3 }, 2) } });
	add_fast(world, fixture_box(0.1, 0.1, 0.1), fixture_at(0, 2, 1));
	fixture_step(world);
	const uint64_t hash = carom_world_hash(world);
	REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	if (!CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS))
		CHECK_STR(carom_error_text(context), "");
	CHECK_INT(result.steps, 2);
	CHECK(result.hash == hash);
	free(tape.bytes);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(continuous, the_hash_of_a_world_without_continuous_bodies_is_that_of_its_contacts)
{
	carom_context *context = fixture_context(1);
	uint64_t hashes[2];
	for (int flagged = 0; flagged < 2; flagged++) {
		carom_world *world = fixture_world(context, NULL);
		fixture_add(world, fixture_box(5, 5, 0.5), fixture_at(0, 0, 0), CAROM_STATIC);
		carom_body_def def = carom_default_body_def();
		def.shape = fixture_box(0.5, 0.5, 0.5);
		def.pose = fixture_at(0, 0, 0.99);
		def.continuous = flagged;
		carom_body_id id;
		REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
		fixture_step(world);
		// At rest a continuous body has no impacts either, so hashes are equal.
		hashes[flagged] = carom_world_hash(world);
		carom_destroy_world(world);
	}
	CHECK(hashes[0] == hashes[1]);
	carom_destroy_context(context);
}
