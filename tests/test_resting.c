// Volumes and meshes that stay as they are, and sensors in meshes: what a step takes over from the one before it is what it would
// have found, and sensors tell what contacts tell.
#include "fixture.h"

#include "carom/collide.h"
#include "world/world.h"

#include <string.h>

enum { SHAPES = 9, MESHES = 4, VOLUMES = 24, BODIES = MESHES + VOLUMES };

/// Meshes side by side, each with volumes about it.
typedef struct scene {
	carom_context *context;
	carom_mesh *meshes[MESHES]; // closed, a field, open sheets
	carom_mesh *hull;
	carom_shape shapes[SHAPES];
} scene;

static carom_mesh *sheet_of(carom_context *context, carom_mesh_sides sides)
{
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_sheet(&soup, 6, 3);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ soup.vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = soup.vertex_count;
	def.triangles = soup.triangles;
	def.triangle_count = soup.triangle_count;
	def.sides = sides;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static void open_scene(scene *s, carom_context *context)
{
	enum { SAMPLES = 12 };
	float heights[SAMPLES * SAMPLES], points[3 * 20];
	uint64_t seed = 31;
	for (int i = 0; i < SAMPLES * SAMPLES; i++)
		heights[i] = (float)test_random_double(&seed, -0.3, 0.3);
	for (int i = 0; i < 3 * 20; i++)
		points[i] = (float)test_random_double(&seed, -0.5, 0.5);
	s->context = context;
	s->meshes[0] = fixture_torus_mesh(context, 16, 8, 0.4, 0.2);
	REQUIRE(carom_create_height_field(context, SAMPLES, SAMPLES, heights, (double[2]){ 0.25, 0.25 }, 1, &s->meshes[1]) ==
		CAROM_SUCCESS);
	s->meshes[2] = sheet_of(context, CAROM_SIDES_AUTO);
	s->meshes[3] = sheet_of(context, CAROM_SIDES_BOTH);
	s->hull = fixture_hull_mesh(context, points, 20);
	carom_shape rounded = fixture_box(0.4, 0.3, 0.2);
	rounded.rounding = 0.1;
	const carom_shape shapes[SHAPES] = { fixture_sphere(0.5), fixture_capsule(0.2, 0.5), fixture_cylinder(0.4, 0.4),
		fixture_cone(0.4, 0.5), fixture_ellipsoid(0.6, 0.3, 0.4), rounded, fixture_hull(s->hull), fixture_box(0.4, 0.3, 0.3),
		fixture_sphere(0.05) };
	memcpy(s->shapes, shapes, sizeof shapes);
}

static void close_scene(scene *s)
{
	for (int i = 0; i < MESHES; i++)
		carom_release_mesh(s->meshes[i]);
	carom_release_mesh(s->hull);
}

static carom_pose pose_about(uint64_t *seed, int mesh)
{
	carom_pose pose = fixture_random_pose(seed, 1.7);
	pose.position.z *= 0.5;
	pose.position.x += 20.0 * mesh + (mesh == 1 ? 1.4 : 0);
	pose.position.y += mesh == 1 ? 1.4 : 0;
	return pose;
}

/// A world of these. Volumes do not meet each other.
static carom_world *open_world(
	const scene *s, uint64_t seed, bool sensors, const carom_world_def *def, carom_body_id ids[BODIES])
{
	carom_world *world = fixture_world(s->context, def);
	for (int i = 0; i < BODIES; i++) {
		carom_body_def body = carom_default_body_def();
		const int volume = i - MESHES;
		body.kind = volume < 0 ? (i & 1 ? CAROM_KINEMATIC : CAROM_STATIC) : CAROM_DYNAMIC;
		body.shape = volume < 0 ? fixture_of_mesh(s->meshes[i]) : s->shapes[volume % SHAPES];
		body.pose = volume < 0 ? fixture_at(20 * i, 0, 0) : pose_about(&seed, volume % MESHES);
		body.category = volume < 0 ? 1 : 2;
		body.mask = volume < 0 ? 2 : 1;
		body.sensor = sensors && volume >= 0;
		REQUIRE(carom_world_add_body(world, &body, &ids[i]) == CAROM_SUCCESS);
	}
	return world;
}

static bool touches(const carom_world *world, carom_body_id a, carom_body_id b, bool *listed)
{
	const carom_pair_view pairs = carom_world_pairs(world);
	const carom_contact_view contacts = carom_world_contacts(world);
	*listed = false;
	for (int64_t i = 0; i < pairs.count; i++) {
		const carom_pair *p = &pairs.data[i];
		if (!fixture_same_id(p->body_a, a) || !fixture_same_id(p->body_b, b))
			continue;
		*listed = true;
		for (int32_t k = 0; k < p->contact_count; k++) {
			if (contacts.data[p->first_contact + k].depth >= 0)
				return true;
		}
	}
	return false;
}

static bool has_event(const carom_world *world, carom_body_id a, carom_body_id b, carom_event_kind kind)
{
	const carom_event_view events = carom_world_events(world);
	for (int64_t i = 0; i < events.count; i++) {
		const carom_event *e = &events.data[i];
		if (e->kind == kind && fixture_same_id(e->body_a, a) && fixture_same_id(e->body_b, b))
			return true;
	}
	return false;
}

/// A third of the volumes goes elsewhere; a few move by a bit.
static void move_some(carom_world *const worlds[2], carom_body_id ids[2][BODIES], uint64_t *seed)
{
	for (int i = MESHES; i < BODIES; i++) {
		carom_pose pose;
		const int choice = (int)test_random_double(seed, 0, 6);
		REQUIRE(carom_world_get_pose(worlds[0], ids[0][i], &pose) == CAROM_SUCCESS);
		if (choice < 2)
			pose = pose_about(seed, (i - MESHES) % MESHES);
		if (choice == 2)
			pose.position.z = nextafter(pose.position.z, 9);
		for (int k = 0; k < 2 && choice < 3; k++)
			REQUIRE(carom_world_set_pose(worlds[k], ids[k][i], &pose) == CAROM_SUCCESS);
	}
}

// Sensors beside a world of the bodies without them, whose contacts are worked out in full: who touches whom, and who begins to or
// ends.
TEST(resting, sensors_tell_what_contacts_tell)
{
	scene s;
	carom_context *context = fixture_context(2);
	open_scene(&s, context);
	int touching = 0, begun = 0, ended = 0, ahead = 0;
	for (int round = 0; round < 8; round++) {
		carom_world_def def = carom_default_world_def();
		def.speculative_distance = round & 1 ? 0.1 : 0;
		carom_body_id ids[2][BODIES];
		carom_world *worlds[2];
		worlds[0] = open_world(&s, (uint64_t)round, true, &def, ids[0]);
		def.temporal = CAROM_TEMPORAL_NONE;
		worlds[1] = open_world(&s, (uint64_t)round, false, &def, ids[1]);
		bool was[BODIES] = { false };
		uint64_t seed = (uint64_t)round + 100;
		for (int step = 0; step < 12; step++) {
			for (int k = 0; k < 2; k++)
				fixture_step(worlds[k]);
			fixture_check_views(worlds[0]);
			CHECK_INT(carom_world_contacts(worlds[0]).count, 0);
			for (int i = MESHES; i < BODIES; i++) {
				bool listed, near;
				const carom_body_id *mesh = &ids[0][(i - MESHES) % MESHES];
				touches(worlds[0], *mesh, ids[0][i], &listed);
				const bool now = touches(worlds[1], ids[1][(i - MESHES) % MESHES], ids[1][i], &near);
				CHECK_INT(listed, now);
				CHECK_INT(has_event(worlds[0], *mesh, ids[0][i], CAROM_EVENT_BEGIN), now && !was[i]);
				CHECK_INT(has_event(worlds[0], *mesh, ids[0][i], CAROM_EVENT_END), !now && was[i]);
				CHECK_INT(has_event(worlds[0], *mesh, ids[0][i], CAROM_EVENT_PERSIST), now && was[i]);
				touching += now;
				ahead += near && !now;
				begun += now && !was[i];
				ended += !now && was[i];
				was[i] = now;
			}
			if (step % 3 != 1) // else nothing moves
				move_some(worlds, ids, &seed);
		}
		for (int k = 0; k < 2; k++)
			carom_destroy_world(worlds[k]);
	}
	CHECK(touching > 400 && begun > 100 && ended > 50 && ahead > 20);
	close_scene(&s);
	carom_destroy_context(context);
}

static void check_equal_views(const carom_world *world, const carom_world *other)
{
	const carom_contact_view a = carom_world_contacts(world), b = carom_world_contacts(other);
	const carom_pair_view p = carom_world_pairs(world), q = carom_world_pairs(other);
	const carom_event_view e = carom_world_events(world), f = carom_world_events(other);
	REQUIRE(a.count == b.count && p.count == q.count && e.count == f.count);
	for (int64_t i = 0; i < a.count; i++) {
		CHECK(memcmp(a.data[i].point, b.data[i].point, sizeof a.data[i].point) == 0);
		CHECK(memcmp(a.data[i].normal, b.data[i].normal, sizeof a.data[i].normal) == 0);
		CHECK(a.data[i].depth == b.data[i].depth && a.data[i].kind == b.data[i].kind && a.data[i].pair == b.data[i].pair);
		CHECK(a.data[i].feature_a == b.data[i].feature_a && a.data[i].feature_b == b.data[i].feature_b);
		CHECK_INT(a.data[i].age, b.data[i].age);
	}
	for (int64_t i = 0; i < p.count; i++) {
		CHECK(p.data[i].contact_count == q.data[i].contact_count && p.data[i].found_count == q.data[i].found_count);
		CHECK_INT(p.data[i].age, q.data[i].age);
	}
	for (int64_t i = 0; i < e.count; i++)
		CHECK(e.data[i].kind == f.data[i].kind && e.data[i].pair == f.data[i].pair);
	CHECK_INT(carom_world_stats(world).colliding_pairs, carom_world_stats(other).colliding_pairs);
	CHECK_INT(carom_world_stats(world).contacts_found, carom_world_stats(other).contacts_found);
}

/// One of the changes that a pair at rest must see. Both worlds get it.
static void change(const scene *s, carom_world *world, carom_body_id ids[BODIES], int step)
{
	carom_body_def body;
	const carom_shape larger = fixture_capsule(0.3, 0.5);
	switch (step % 7) {
	case 0: REQUIRE(carom_world_set_shape(world, ids[MESHES + 1], &larger) == CAROM_SUCCESS); break;
	case 1: // pushes to another side
	case 2: // a sensor, and later none
		REQUIRE(carom_world_get_body_def(world, ids[step % 7 == 1 ? 2 : MESHES + 2], &body) == CAROM_SUCCESS);
		body.kind = step % 7 == 1 ? (body.kind == CAROM_STATIC ? CAROM_KINEMATIC : CAROM_STATIC) : body.kind;
		body.sensor = step % 7 == 2 ? !body.sensor : body.sensor;
		REQUIRE(carom_world_set_traits(world, ids[step % 7 == 1 ? 2 : MESHES + 2], &body) == CAROM_SUCCESS);
		break;
	case 3: // another body in the place of one
		REQUIRE(carom_world_get_body_def(world, ids[MESHES + 4], &body) == CAROM_SUCCESS);
		REQUIRE(carom_world_remove_body(world, ids[MESHES + 4]) == CAROM_SUCCESS);
		body.shape = s->shapes[step % SHAPES];
		REQUIRE(carom_world_add_body(world, &body, &ids[MESHES + 4]) == CAROM_SUCCESS);
		break;
	default: break;
	}
}

// A world that takes over, beside one that remembers nothing: all views are equal to the bit, whatever moves or changes.
TEST(resting, what_is_taken_over_would_be_found)
{
	for (int threads = 1; threads <= 3; threads += 2) {
		scene s;
		carom_context *context = fixture_context(threads);
		open_scene(&s, context);
		int taken = 0;
		for (int round = 0; round < 4; round++) {
			carom_world_def def = carom_default_world_def();
			def.speculative_distance = round & 1 ? 0.1 : 0;
			def.max_contacts_per_pair = round & 2 ? 4 : 0;
			carom_body_id ids[2][BODIES];
			carom_world *worlds[2];
			worlds[0] = open_world(&s, (uint64_t)round, false, &def, ids[0]);
			def.temporal = CAROM_TEMPORAL_NONE;
			worlds[1] = open_world(&s, (uint64_t)round, false, &def, ids[1]);
			uint64_t seed = (uint64_t)round + 7;
			for (int step = 0; step < (TEST_FEWER > 1 ? 9 : 21); step++) {
				for (int k = 0; k < 2; k++)
					fixture_step(worlds[k]);
				fixture_check_views(worlds[0]);
				check_equal_views(worlds[0], worlds[1]);
				for (int64_t i = 0; i < worlds[0]->pipeline.found.count; i++)
					taken += worlds[0]->pipeline.found.data[i].rests;
				CHECK_INT(worlds[1]->pipeline.resting[0].pairs.count + worlds[1]->pipeline.resting[1].pairs.count, 0);
				if (step % 4 == 3)
					move_some(worlds, ids, &seed);
				for (int k = 0; k < 2 && step % 4 == 2; k++)
					change(&s, worlds[k], ids[k], step / 4 + round);
			}
			for (int k = 0; k < 2; k++)
				carom_destroy_world(worlds[k]);
		}
		CHECK(taken > (TEST_FEWER > 1 ? 100 : 300));
		close_scene(&s);
		carom_destroy_context(context);
	}
}

static bool is_shallow(const carom_contact *contact, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)user_data_a, (void)user_data_b;
	++*(int *)user;
	return contact->depth < 0.2f;
}

// A filter of contacts is asked in each step, of all contacts.
TEST(resting, a_filter_is_asked_in_each_step)
{
	scene s;
	carom_context *context = fixture_context(1);
	open_scene(&s, context);
	int asked = 0;
	carom_body_id ids[BODIES];
	carom_world_def def = carom_default_world_def();
	def.contact_filter = is_shallow;
	def.filter_user = &asked;
	carom_world *world = open_world(&s, 5, false, &def, ids);
	fixture_step(world);
	const int first = asked;
	CHECK(first > 20);
	for (int i = 2; i < 5; i++) {
		fixture_step(world);
		CHECK_INT(asked, i * first);
	}
	carom_destroy_world(world);
	close_scene(&s);
	carom_destroy_context(context);
}

// A world that is put back takes nothing over from the steps that came after the snapshot.
TEST(resting, a_snapshot_is_seen)
{
	scene s;
	carom_context *context = fixture_context(1);
	open_scene(&s, context);
	carom_body_id ids[2][BODIES];
	carom_world *worlds[2] = { open_world(&s, 5, false, NULL, ids[0]), open_world(&s, 5, false, NULL, ids[1]) };
	carom_snapshot *snapshot;
	uint64_t seed = 3;
	for (int k = 0; k < 2; k++) {
		fixture_step(worlds[k]);
		fixture_step(worlds[k]);
	}
	REQUIRE(carom_create_snapshot(worlds[0], &snapshot) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(worlds[0], snapshot) == CAROM_SUCCESS);
	move_some((carom_world *const[2]){ worlds[0], worlds[0] }, (carom_body_id(*)[BODIES])ids, &seed);
	fixture_step(worlds[0]);
	fixture_step(worlds[0]);
	REQUIRE(carom_world_restore(worlds[0], snapshot) == CAROM_SUCCESS);
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 2; k++)
			fixture_step(worlds[k]);
		check_equal_views(worlds[0], worlds[1]);
	}
	carom_destroy_snapshot(snapshot);
	for (int k = 0; k < 2; k++)
		carom_destroy_world(worlds[k]);
	close_scene(&s);
	carom_destroy_context(context);
}

// A step with other poses that fails, and one after it: nothing of the failed one is taken over.
TEST(resting, failures_leave_a_usable_world)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	scene s;
	open_scene(&s, context);
	int failures = 0;
	for (int n = 0; n < 25; n++) {
		carom_body_id ids[2][BODIES];
		carom_world *worlds[2] = { open_world(&s, 5, n & 1, NULL, ids[0]), open_world(&s, 5, n & 1, NULL, ids[1]) };
		uint64_t seed = (uint64_t)n;
		fixture_step(worlds[0]);
		fixture_step(worlds[0]);
		fixture_step(worlds[1]);
		fixture_step(worlds[1]);
		move_some(worlds, ids, &seed);
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + n);
		failures += carom_world_step(worlds[0]) == CAROM_OUT_OF_MEMORY ? 1 : 0;
		atomic_store(&heap.fail_at, -1);
		fixture_step(worlds[0]);
		fixture_step(worlds[1]);
		fixture_step(worlds[1]);
		const carom_contact_view a = carom_world_contacts(worlds[0]), b = carom_world_contacts(worlds[1]);
		REQUIRE(a.count == b.count && carom_world_pairs(worlds[0]).count == carom_world_pairs(worlds[1]).count);
		for (int64_t i = 0; i < a.count; i++)
			CHECK(memcmp(a.data[i].point, b.data[i].point, sizeof a.data[i].point) == 0 && a.data[i].depth == b.data[i].depth);
		for (int k = 0; k < 2; k++)
			carom_destroy_world(worlds[k]);
	}
	CHECK(failures > 0);
	close_scene(&s);
	carom_destroy_context(context);
	CHECK_INT(atomic_load(&heap.blocks), 0);
}

// A sensor of several parts shows none of the contacts that are found: none of the last step's are looked at where it stays.
TEST(resting, a_sensor_of_parts_that_stays_reads_no_contacts)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *mesh = fixture_box_mesh(context, 1, 1, 1);
	fixture_add(world, (carom_shape){ .type = CAROM_MESH, .mesh = mesh }, fixture_at(0, 0, 0), CAROM_STATIC);
	const carom_part parts[2] = { { fixture_box(0.5, 0.5, 0.5), fixture_at(-0.5, 0, 0), 0 },
		{ fixture_box(0.5, 0.5, 0.5), fixture_at(0.5, 0, 0), 0 } };
	carom_body_def def = carom_default_body_def();
	def.parts = parts;
	def.part_count = 2;
	def.sensor = true;
	def.pose = fixture_at(0, 0, 1.25);
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	for (int step = 0; step < 4; step++) {
		fixture_step(world);
		CHECK_INT(carom_world_contacts(world).count, 0);
		CHECK_INT(carom_world_pairs(world).count, 2);
		for (int32_t i = 0; i < carom_world_pairs(world).count; i++)
			CHECK_INT(carom_world_pairs(world).data[i].age, step);
	}
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
