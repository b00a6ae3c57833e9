// Contacts of shapes without a step (carom_collide): those of a world with the two, to the bit.
#include "fixture.h"
#include "manifold_fixture.h"
#include "pool_fixture.h"
#include "tiles_fixture.h"

#include "carom/collide.h"
#include "world/world.h"

#include <string.h>

enum { SHAPES = 11, MOST = 64, BODIES = 12 };

/// One shape of each type, and what they are made of.
typedef struct stock {
	carom_mesh *torus, *box, *sheet, *hull;
	carom_shape shapes[SHAPES];
} stock;

static stock make_stock(carom_context *context)
{
	static const float points[18] = { 0.5f, 0, 0, -0.5f, 0, 0, 0, 0.4f, 0, 0, -0.4f, 0, 0, 0, 0.6f, 0, 0, -0.6f };
	stock s = { fixture_torus_mesh(context, 16, 8, 0.4, 0.3), fixture_box_mesh(context, 0.5, 0.4, 0.3),
		fixture_sheet_mesh(context, 4, 3), fixture_hull_mesh(context, points, 6), { { 0 } } };
	const carom_shape shapes[SHAPES] = { fixture_of_mesh(s.torus), fixture_of_mesh(s.box), fixture_of_mesh(s.sheet),
		fixture_hull(s.hull), fixture_sphere(0.5), fixture_box(0.4, 0.5, 0.6), fixture_capsule(0.3, 0.5),
		fixture_cylinder(0.4, 0.3), fixture_cone(0.4, 0.5), fixture_ellipsoid(0.3, 0.5, 0.4), { .type = CAROM_PLANE } };
	memcpy(s.shapes, shapes, sizeof shapes);
	return s;
}

static void free_stock(stock *s)
{
	carom_release_mesh(s->torus);
	carom_release_mesh(s->box);
	carom_release_mesh(s->sheet);
	carom_release_mesh(s->hull);
}

/// Are contacts those of a world's view but for the numbers of bodies and pairs?
static bool are_alike(const carom_contact *found, int32_t count, carom_contact_view view)
{
	bool alike = count == view.count;
	for (int32_t i = 0; alike && i < count; i++) {
		carom_contact p = found[i], q = view.data[i];
		p.body_a = q.body_a;
		p.body_b = q.body_b;
		p.pair = q.pair;
		alike = memcmp(&p, &q, sizeof p) == 0;
	}
	return alike;
}

TEST(shape_contacts, two_shapes_have_those_of_a_world)
{
	carom_context *context = fixture_context(2);
	stock s = make_stock(context);
	uint64_t seed = 1;
	int pairs_with_contacts = 0, contacts_seen = 0;
	for (int round = 0; round < 6 * SHAPES * SHAPES; round++) {
		const carom_shape a = s.shapes[round % SHAPES], b = s.shapes[round / SHAPES % SHAPES];
		if (a.type == CAROM_PLANE && b.type == CAROM_PLANE)
			continue;
		const carom_pose pa = fixture_random_pose(&seed, 0.7), pb = fixture_random_pose(&seed, 0.7);
		carom_world_def def = carom_default_world_def();
		def.speculative_distance = round & 1 ? 0 : 0.1;
		carom_world *world = fixture_world(context, &def);
		fixture_add(world, a, pa, a.type == CAROM_PLANE ? CAROM_STATIC : CAROM_DYNAMIC);
		fixture_add(world, b, pb, a.type == CAROM_PLANE ? CAROM_DYNAMIC : CAROM_STATIC);
		fixture_step(world);
		carom_contact found[MOST];
		int32_t count;
		CHECK_INT(carom_collide(context, &a, &pa, &b, &pb, def.speculative_distance, MOST, found, &count), CAROM_SUCCESS);
		CHECK(are_alike(found, count, carom_world_contacts(world)));
		pairs_with_contacts += count > 0;
		contacts_seen += count;
		carom_destroy_world(world);
	}
	CHECK(pairs_with_contacts > 300);
	CHECK(contacts_seen > 1000);
	free_stock(&s);
	carom_destroy_context(context);
}

TEST(shape_contacts, capacity_and_misuse_of_two_shapes)
{
	carom_context *context = fixture_context(1);
	stock s = make_stock(context);
	const carom_shape *mesh = &s.shapes[1], *plane = &s.shapes[SHAPES - 1], bad = { .type = CAROM_SPHERE, .radius = -1 };
	const carom_pose at = fixture_at(0, 0, 0.25);
	carom_contact found[8], first;
	int32_t count = 7, all;
	REQUIRE(carom_collide(context, mesh, &at, plane, NULL, 0, 8, found, &all) == CAROM_SUCCESS);
	CHECK_INT(all, 4);
	CHECK_NEAR(found[0].depth, 0.05, 1e-6);
	CHECK_INT(found[0].body_a.index1, 0);
	CHECK_INT(carom_collide(context, mesh, &at, plane, NULL, 0, 0, NULL, &count), CAROM_SUCCESS);
	CHECK_INT(count, all);
	CHECK_INT(carom_collide(context, mesh, &at, plane, NULL, 0, 1, &first, &count), CAROM_SUCCESS);
	CHECK(memcmp(&first, found, sizeof first) == 0);
	const struct {
		const carom_shape *a, *b;
		carom_pose pose;
		double margin;
		int32_t capacity;
		carom_result result;
		const char *text;
	} cases[] = {
		{ NULL, mesh, at, 0, 8, CAROM_INVALID_ARGUMENT, "a is NULL" },
		{ mesh, NULL, at, 0, 8, CAROM_INVALID_ARGUMENT, "b is NULL" },
		{ mesh, &bad, at, 0, 8, CAROM_INVALID_ARGUMENT, "shape.radius" },
		{ mesh, plane, { { NAN, 0, 0 }, { 0, 0, 0, 1 } }, 0, 8, CAROM_INVALID_ARGUMENT, "pose_a.position" },
		{ mesh, plane, at, -1, 8, CAROM_INVALID_ARGUMENT, "margin is -1" },
		{ mesh, plane, at, NAN, 8, CAROM_INVALID_ARGUMENT, "margin is" },
		{ mesh, plane, at, 0, -1, CAROM_INVALID_ARGUMENT, "capacity is -1" },
		{ plane, plane, at, 0, 8, CAROM_UNSUPPORTED, "two planes" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		count = 7;
		CHECK_INT(carom_collide(
					  context, cases[i].a, &cases[i].pose, cases[i].b, NULL, cases[i].margin, cases[i].capacity, found, &count),
			cases[i].result);
		CHECK(strstr(carom_error_text(context), cases[i].text) != NULL);
		CHECK_INT(count, 0);
	}
	CHECK_INT(carom_collide(NULL, mesh, NULL, mesh, NULL, 0, 8, found, &count), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_collide(context, mesh, NULL, mesh, NULL, 0, 8, NULL, &count), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "contacts is NULL") != NULL);
	CHECK_INT(carom_collide(context, mesh, NULL, mesh, NULL, 0, 8, found, NULL), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "count is NULL") != NULL);
	free_stock(&s);
	carom_destroy_context(context);
}

/// Let the next call make its lists again: take those that the last one left.
static void drop_kept(carom_context *context)
{
	for (cr_spare *spare = cr_take_spare(context); spare; spare = cr_take_spare(context))
		spare->destroy(spare);
}

TEST(shape_contacts, out_of_memory_between_two_shapes)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	stock s = make_stock(context);
	const carom_pose pa = fixture_at(0.3, 0.1, 0.2);
	carom_mesh *fine = manifold_made_mesh(context, "lumpy", 5632);
	const carom_shape large = fixture_of_mesh(fine);
	const carom_shape *pairs[4][2] = { { &s.shapes[0], &s.shapes[1] }, { &s.shapes[5], &s.shapes[0] },
		{ &s.shapes[4], &s.shapes[0] }, { &large, &large } };
	for (int i = 0; i < 4; i++) {
		const long long held = atomic_load(&heap.blocks), before = atomic_load(&heap.calls);
		carom_contact found[8];
		int32_t count, again;
		REQUIRE(carom_collide(context, pairs[i][0], &pa, pairs[i][1], NULL, 0, 8, found, &count) == CAROM_SUCCESS);
		CHECK(count > 0);
		const long long wanted = atomic_load(&heap.calls) - before;
		CHECK(wanted > 8);
		for (long long k = 0; k < wanted; k++) {
			drop_kept(context);
			CHECK_INT(atomic_load(&heap.blocks), held);
			atomic_store(&heap.fail_at, atomic_load(&heap.calls) + k);
			again = 7;
			const carom_result result = carom_collide(context, pairs[i][0], &pa, pairs[i][1], NULL, 0, 8, found, &again);
			CHECK(result == CAROM_OUT_OF_MEMORY || (result == CAROM_SUCCESS && again == count)); // some room is only wished for
			CHECK(result == CAROM_SUCCESS || again == 0);
			atomic_store(&heap.fail_at, -1);
			// One that has failed is not kept.
			CHECK(result == CAROM_SUCCESS || atomic_load(&heap.blocks) == held);
		}
		drop_kept(context);
	}
	carom_release_mesh(fine);
	free_stock(&s);
	carom_destroy_context(context);
}

/// A call leaves its lists with the context: the next one takes no memory.
TEST(shape_contacts, lists_stay_with_the_context_unless_they_are_large)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *cube = fixture_box_mesh(context, 0.5, 0.5, 0.5), *fine = manifold_made_mesh(context, "lumpy", 22528);
	const carom_shape shape = fixture_of_mesh(cube), large = fixture_of_mesh(fine), box = fixture_box(0.3, 0.4, 0.5);
	const carom_pose at = fixture_at(0.3, 0.2, 0.9);
	carom_contact found[8], again[8];
	int32_t count, count_again;
	const long long blocks = atomic_load(&heap.blocks);
	const size_t before = carom_memory_in_use(context);
	for (int i = 0; i < 2; i++) {
		REQUIRE(carom_collide(context, &shape, &at, &shape, NULL, 0, 8, found, &count) == CAROM_SUCCESS);
		REQUIRE(carom_collide(context, &box, &at, &shape, NULL, 0, 8, again, &count_again) == CAROM_SUCCESS);
	}
	CHECK(count > 0 && count_again > 0);
	const size_t kept = carom_memory_in_use(context) - before;
	CHECK(kept > 0);
	CHECK(kept < 700 * 1024);
	const long long calls = atomic_load(&heap.calls);
	for (int i = 0; i < 4; i++) {
		REQUIRE(carom_collide(context, &shape, &at, &shape, NULL, 0, 8, again, &count_again) == CAROM_SUCCESS);
		CHECK_INT(count_again, count);
		CHECK(memcmp(again, found, (size_t)count * sizeof *found) == 0);
		REQUIRE(carom_collide(context, &box, &at, &shape, NULL, 0, 8, again, &count_again) == CAROM_SUCCESS);
	}
	CHECK_INT(atomic_load(&heap.calls), calls);
	// Lists of fine meshes are given back, and those that were kept before with them.
	const carom_pose inside = fixture_at(0.001, 0, 0);
	REQUIRE(carom_collide(context, &large, &inside, &large, NULL, 0, 8, again, &count_again) == CAROM_SUCCESS);
	CHECK(count_again > 0);
	CHECK_INT(atomic_load(&heap.blocks), blocks);
	carom_release_mesh(fine);
	carom_release_mesh(cube);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

/// What one thread asks.
typedef struct asker {
	carom_context *context;
	const stock *stock;
	double sum;
	bool failed;
} asker;

static void *ask_often(void *user)
{
	asker *a = user;
	uint64_t seed = 8;
	for (int i = 0; i < 60; i++) {
		const carom_pose pa = fixture_random_pose(&seed, 0.7), pb = fixture_random_pose(&seed, 0.7);
		carom_contact found[8];
		int32_t count;
		a->failed |= carom_collide(a->context, &a->stock->shapes[i % 10], &pa, &a->stock->shapes[0], &pb, 0, 8, found,
						 &count) != CAROM_SUCCESS;
		for (int k = 0; k < count; k++)
			a->sum += (double)found[k].depth;
	}
	return NULL;
}

TEST(shape_contacts, two_threads_ask_at_once)
{
	pool_require_threads();
	carom_context *context = fixture_context(2);
	stock s = make_stock(context);
	asker askers[2] = { { .context = context, .stock = &s }, { .context = context, .stock = &s } };
	fixture_run_two(ask_often, (void *[2]){ &askers[0], &askers[1] });
	CHECK(!askers[0].failed && !askers[1].failed);
	CHECK(askers[0].sum > 0);
	CHECK_NEAR(askers[0].sum, askers[1].sum, 0);
	free_stock(&s);
	carom_destroy_context(context);
}

// ---- Against a world ----

/// A crowd of all shapes around the origin, on a plane; the first body is the query's shape where
/// first is not NULL.
static carom_world *make_crowd(carom_context *context, const stock *s, const carom_shape *first, carom_pose pose, double margin,
	uint64_t seed, carom_body_id ids[BODIES])
{
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = margin;
	carom_world *world = fixture_world(context, &def);
	if (first)
		fixture_add(world, *first, pose, CAROM_DYNAMIC);
	for (int i = 0; i < BODIES; i++) {
		const carom_pose at = fixture_random_pose(&seed, 1.5);
		const carom_shape shape = s->shapes[i % SHAPES];
		const bool still = shape.type == CAROM_PLANE || i % 3 == 0;
		ids[i] = fixture_add(
			world, shape, shape.type == CAROM_PLANE ? fixture_at(0, 0, -0.6) : at, still ? CAROM_STATIC : CAROM_DYNAMIC);
	}
	return world;
}

TEST(shape_contacts, a_query_has_the_contacts_that_a_body_would_have)
{
	carom_context *context = fixture_context(2);
	stock s = make_stock(context);
	uint64_t seed = 3;
	int contacts_seen = 0;
	for (int round = 0; round < 60; round++) {
		const carom_shape shape = s.shapes[round % (SHAPES - 1)];
		const carom_pose pose = fixture_random_pose(&seed, 1);
		const double margin = round & 1 ? 0.1 : 0;
		carom_body_id ids[BODIES], with_ids[BODIES];
		carom_world *world = make_crowd(context, &s, NULL, pose, margin, (uint64_t)round + 1, ids);
		carom_world *with = make_crowd(context, &s, &shape, pose, margin, (uint64_t)round + 1, with_ids);
		fixture_step(with);
		carom_contact found[2 * MOST];
		int32_t count, next = 0;
		REQUIRE(carom_world_collide_shape(world, &shape, &pose, NULL, 2 * MOST, found, &count) == CAROM_SUCCESS);
		const carom_contact_view view = carom_world_contacts(with);
		for (int32_t i = 0; i < view.count; i++) {
			if (view.data[i].body_a.index1 != 1)
				continue;
			REQUIRE(next < count);
			carom_contact p = found[next++];
			CHECK_INT(p.body_b.index1, view.data[i].body_b.index1 - 1);
			CHECK(fixture_same_id(p.body_b, ids[p.body_b.index1 - 1]));
			CHECK(p.pair >= 0 && p.pair < BODIES);
			CHECK_INT(p.body_a.index1, 0);
			p.body_a = view.data[i].body_a;
			p.body_b = view.data[i].body_b;
			p.pair = view.data[i].pair;
			CHECK(memcmp(&p, &view.data[i], sizeof p) == 0);
		}
		CHECK_INT(next, count);
		contacts_seen += count;
		carom_destroy_world(world);
		carom_destroy_world(with);
	}
	CHECK(contacts_seen > 300);
	free_stock(&s);
	carom_destroy_context(context);
}

TEST(shape_contacts, filters_and_misuse_of_a_query)
{
	carom_context *context = fixture_context(1);
	stock s = make_stock(context);
	carom_world *world = fixture_world(context, NULL);
	const carom_shape ball = fixture_sphere(0.5), plane = { .type = CAROM_PLANE };
	const carom_body_id first = fixture_add(world, ball, fixture_at(0.8, 0, 0), CAROM_DYNAMIC);
	const carom_body_id second = fixture_add(world, fixture_of_mesh(s.box), fixture_at(-0.8, 0, 0), CAROM_STATIC);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_DYNAMIC;
	def.shape = ball;
	def.sensor = true;
	carom_body_id sensor;
	REQUIRE(carom_world_add_body(world, &def, &sensor) == CAROM_SUCCESS);
	const carom_pose at = fixture_at(0, 0, 0), wrong = { { 0, NAN, 0 }, { 0, 0, 0, 1 } };
	carom_contact found[8];
	int32_t count;
	REQUIRE(carom_world_collide_shape(world, &ball, &at, NULL, 8, found, &count) == CAROM_SUCCESS);
	CHECK_INT(count, 2); // none with the sensor
	CHECK(fixture_same_id(found[0].body_b, first) && fixture_same_id(found[1].body_b, second));
	CHECK_NEAR(found[0].depth, 0.2, 1e-6);
	CHECK_NEAR(found[0].normal[0], -1, 1e-6); // takes the query's shape out
	CHECK_NEAR(found[1].normal[0], 1, 1e-6);
	carom_query_filter filter = carom_default_query_filter();
	filter.ignore = first;
	REQUIRE(carom_world_collide_shape(world, &ball, &at, &filter, 1, found, &count) == CAROM_SUCCESS);
	CHECK_INT(count, 1);
	CHECK(fixture_same_id(found[0].body_b, second));
	const carom_pose away = fixture_at(50, 0, 0);
	REQUIRE(carom_world_collide_shape(world, &ball, &away, NULL, 8, found, &count) == CAROM_SUCCESS);
	CHECK_INT(count, 0);
	const struct {
		const carom_shape *shape;
		const carom_pose *pose;
		int32_t capacity;
		carom_contact *contacts;
		const char *text;
	} cases[] = {
		{ NULL, &at, 8, found, "shape is NULL" },
		{ &ball, NULL, 8, found, "pose is NULL" },
		{ &plane, &at, 8, found, "CAROM_PLANE" },
		{ &ball, &wrong, 8, found, "pose.position" },
		{ &ball, &at, -1, found, "capacity is -1" },
		{ &ball, &at, 8, NULL, "contacts is NULL" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		count = 7;
		CHECK_INT(
			carom_world_collide_shape(world, cases[i].shape, cases[i].pose, NULL, cases[i].capacity, cases[i].contacts, &count),
			CAROM_INVALID_ARGUMENT);
		CHECK(strstr(carom_error_text(context), cases[i].text) != NULL);
	}
	CHECK_INT(carom_world_collide_shape(world, &ball, &at, NULL, 8, found, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_collide_shape(NULL, &ball, &at, NULL, 8, found, &count), CAROM_INVALID_ARGUMENT);
	carom_destroy_world(world);
	free_stock(&s);
	carom_destroy_context(context);
}

/// A floor of tiles in a world of its own, under a body if there is one.
typedef struct tiled {
	const carom_part *parts;
	const carom_shape *body;
	double ahead;
	int32_t most; // contacts of two bodies; 0: any number
} tiled;

static carom_world *make_tiled(carom_context *context, const tiled *t, carom_pose pose, bool with_body)
{
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = t->ahead;
	carom_world *world = fixture_world(context, &def);
	CHECK_INT(carom_world_set_body_pairs(world, false, t->most), CAROM_SUCCESS);
	if (with_body)
		fixture_add(world, *t->body, pose, CAROM_DYNAMIC);
	tiles_add(world, t->parts, TILES, CAROM_STATIC);
	return world;
}

/// Do a query over a floor and the first step of a body at its place have contacts that are equal to the bit? Returns their number.
static int compare_over_tiles(carom_context *context, const tiled *t, carom_pose pose)
{
	carom_world *world = make_tiled(context, t, pose, false), *with = make_tiled(context, t, pose, true);
	carom_contact found[2 * MOST];
	int32_t count;
	fixture_step(with);
	REQUIRE(carom_world_collide_shape(world, t->body, &pose, NULL, 2 * MOST, found, &count) == CAROM_SUCCESS);
	for (int32_t i = 0; i < count; i++)
		CHECK_INT(found[i].body_b.index1, 1);
	CHECK(are_alike(found, count, carom_world_contacts(with)));
	carom_destroy_world(world);
	carom_destroy_world(with);
	return count;
}

TEST(shape_contacts, a_query_over_flush_parts_has_the_contacts_of_a_step)
{
	enum { ROUNDS = 12 };
	carom_context *context = fixture_context(1);
	uint64_t seed = 29;
	for (int kind = 0; kind < TILE_KINDS; kind++) {
		carom_part parts[TILES];
		carom_mesh *mesh, *moving;
		tiles_lay(tiles_make_tile(context, (tile_kind)kind, &mesh), 0, parts);
		for (int slider = 0; slider < SLIDERS; slider++) {
			const carom_shape body = tiles_make_slider(context, slider, &moving);
			int contacts = 0;
			for (int i = 0; i < ROUNDS; i++) {
				const tiled t = { parts, &body, i % 2 ? 0.05 : 0, i % 3 == 2 ? 2 : 0 };
				carom_pose pose = fixture_random_pose(&seed, 0.5);
				if (i < ROUNDS / 2)
					pose.orientation = fixture_turn((v3d){ 0, 0, 1 }, 6 * i);
				// over a seam, or a place where four tiles meet, so deep that sides and edges of tiles are met
				pose.position.x = 0.6 * (i % 3) + test_random_double(&seed, -0.02, 0.02);
				pose.position.y = i % 4 ? pose.position.y : 0;
				pose.position.z = 0.1 - test_random_double(&seed, 0.001, 0.03);
				contacts += compare_over_tiles(context, &t, pose);
			}
			CHECK(contacts >= ROUNDS);
			carom_release_mesh(moving);
		}
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

/// A crate that sinks 1 cm into two tiles, 2 mm over their seam: the side of the second one is no wall.
TEST(shape_contacts, a_query_knows_no_seam_of_a_floor)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_part parts[2] = { { .shape = fixture_box(2, 2, 0.5), .pose = fixture_at(-2, 0, -0.5) },
		{ .shape = fixture_box(2, 2, 0.5), .pose = fixture_at(2, 0, -0.5) } };
	const carom_shape crate = fixture_box(0.3, 0.3, 0.3);
	const carom_pose at = fixture_at(-0.298, 0, 0.29);
	tiles_add(world, parts, 2, CAROM_STATIC);
	carom_contact found[16];
	int32_t count;
	REQUIRE(carom_world_collide_shape(world, &crate, &at, NULL, 16, found, &count) == CAROM_SUCCESS);
	CHECK_INT(count, 4);
	for (int32_t i = 0; i < count; i++) {
		CHECK_NEAR(found[i].normal[2], 1, 1e-6);
		CHECK_NEAR(found[i].depth, 0.01, 1e-6);
	}
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// Wherever memory runs out, a query fails, or tells all.
static void fail_everywhere(fixture_heap *heap, carom_context *context, carom_world *world, carom_shape shape, carom_pose at)
{
	carom_contact found[2 * MOST];
	int32_t count, again;
	REQUIRE(carom_world_collide_shape(world, &shape, &at, NULL, 2 * MOST, found, &count) == CAROM_SUCCESS);
	CHECK(count > 3);
	drop_kept(context);
	const long long held = atomic_load(&heap->blocks), before = atomic_load(&heap->calls);
	REQUIRE(carom_world_collide_shape(world, &shape, &at, NULL, 2 * MOST, found, &count) == CAROM_SUCCESS);
	const long long wanted = atomic_load(&heap->calls) - before;
	int failures = 0;
	for (long long k = 0; k < wanted; k++) {
		drop_kept(context);
		CHECK_INT(atomic_load(&heap->blocks), held);
		atomic_store(&heap->fail_at, atomic_load(&heap->calls) + k);
		const carom_result result = carom_world_collide_shape(world, &shape, &at, NULL, 0, NULL, &again);
		CHECK(result == CAROM_OUT_OF_MEMORY || (result == CAROM_SUCCESS && again == count));
		CHECK(result == CAROM_SUCCESS || again == 0);
		failures += result != CAROM_SUCCESS;
		atomic_store(&heap->fail_at, -1);
	}
	drop_kept(context);
	CHECK_INT(atomic_load(&heap->blocks), held);
	CHECK(failures > 5);
}

TEST(shape_contacts, out_of_memory_in_a_query)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	stock s = make_stock(context);
	carom_body_id ids[BODIES];
	carom_world *world = make_crowd(context, &s, NULL, fixture_at(0, 0, 0), 0, 5, ids);
	fail_everywhere(&heap, context, world, fixture_box(1, 0.8, 0.9), fixture_at(0.1, 0, 0));
	carom_destroy_world(world);
	carom_part parts[TILES];
	tiles_lay(fixture_box(0.3, 0.6, 0.1), 0, parts);
	world = make_tiled(context, &(tiled){ .parts = parts }, fixture_at(0, 0, 0), false);
	fail_everywhere(&heap, context, world, fixture_box(0.2, 0.2, 0.2), fixture_at(0.01, 0.02, 0.18));
	carom_destroy_world(world);
	free_stock(&s);
	carom_destroy_context(context);
}

// ---- The nearest body ----

/// Of equally deep bodies the one with the lowest index, and of the parts of one body the deepest.
TEST(shape_contacts, the_deepest_of_several_that_overlap)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_shape ball = fixture_sphere(1);
	const double places[] = { 1.5, -0.8, 0.8, 3 };
	carom_body_id ids[4];
	for (int i = 0; i < 4; i++)
		ids[i] = fixture_add(world, ball, fixture_at(places[i], 0, 0), CAROM_STATIC);
	const carom_pose origin = carom_pose_identity();
	bool found;
	carom_closest_body result;
	REQUIRE(carom_world_closest_body(world, &ball, &origin, 0, NULL, &found, &result) == CAROM_SUCCESS);
	CHECK(found && fixture_same_id(result.body, ids[1]));
	CHECK_NEAR(result.distance, -1.2, 1e-9);
	CHECK_NEAR(result.normal.x, 1, 1e-9);
	const carom_part parts[] = { { .shape = ball, .pose = fixture_at(0, 0, 1.9) }, { .shape = ball, .pose = fixture_at(0, 0, -0.5) } };
	carom_body_def def = carom_default_body_def();
	def.parts = parts;
	def.part_count = 2;
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	REQUIRE(carom_world_closest_body(world, &ball, &origin, 0, NULL, &found, &result) == CAROM_SUCCESS);
	CHECK(found && fixture_same_id(result.body, id));
	CHECK_INT(result.shape, 1);
	CHECK_NEAR(result.distance, -1.5, 1e-9);
	CHECK_NEAR(result.normal.z, 1, 1e-9);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(shape_contacts, the_nearest_body_is_that_of_all_distances)
{
	carom_context *context = fixture_context(1);
	stock s = make_stock(context);
	uint64_t seed = 13;
	int overlapping = 0, apart = 0, none = 0, several = 0;
	for (int round = 0; round < 80; round++) {
		carom_body_id ids[BODIES];
		carom_world *world = make_crowd(context, &s, NULL, fixture_at(0, 0, 0), 0, (uint64_t)round + 1, ids);
		const carom_shape shape = s.shapes[round % (SHAPES - 1)];
		carom_pose pose = fixture_random_pose(&seed, round & 1 ? 4 : 1);
		pose.position.z += round & 1 ? 5 : 0;
		const double most = round % 3 == 0 ? 2 : INFINITY;
		double least = INFINITY;
		int best = -1, deep = 0;
		for (int i = 0; i < BODIES; i++) {
			carom_body_def def;
			carom_separation gap;
			REQUIRE(carom_world_get_body_def(world, ids[i], &def) == CAROM_SUCCESS);
			REQUIRE(carom_distance(context, &shape, &pose, &def.shape, &def.pose, &gap) == CAROM_SUCCESS);
			deep += gap.distance < 0;
			if (gap.distance < least) {
				least = gap.distance;
				best = i;
			}
		}
		several += deep > 1;
		bool found;
		carom_closest_body result;
		REQUIRE(carom_world_closest_body(world, &shape, &pose, most, NULL, &found, &result) == CAROM_SUCCESS);
		CHECK_INT(found, least <= most);
		if (found) {
			carom_body_def def;
			carom_separation gap;
			CHECK(fixture_same_id(result.body, ids[best]));
			REQUIRE(carom_world_get_body_def(world, result.body, &def) == CAROM_SUCCESS);
			REQUIRE(carom_distance(context, &shape, &pose, &def.shape, &def.pose, &gap) == CAROM_SUCCESS);
			// Poses read back are normalised once more.
			CHECK_NEAR(result.distance, gap.distance, 1e-12);
			CHECK_NEAR(v3d_length(v3d_sub(result.on_body, gap.point_b)), 0, 1e-9);
			CHECK_NEAR(v3d_length(v3d_sub(result.normal, gap.normal)), 0, 1e-9);
			// Without it, another one.
			carom_query_filter filter = carom_default_query_filter();
			filter.ignore = result.body;
			carom_closest_body next;
			REQUIRE(carom_world_closest_body(world, &shape, &pose, INFINITY, &filter, &found, &next) == CAROM_SUCCESS);
			CHECK(found && !fixture_same_id(next.body, result.body));
			CHECK(next.distance >= result.distance);
			overlapping += result.distance < 0;
			apart += result.distance > 0;
		} else {
			none++;
		}
		carom_destroy_world(world);
	}
	CHECK(overlapping > 20);
	CHECK(several > 10); // the deepest counts
	CHECK(apart > 20);
	CHECK(none > 3);
	free_stock(&s);
	carom_destroy_context(context);
}

/// A box of a world has no mesh before a step in which it meets one. Queries do not wait for that, and leave the world as it is.
TEST(shape_contacts, boxes_that_have_met_no_mesh)
{
	static carom_contact found[2][64];
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *torus = fixture_torus_mesh(context, 12, 6, 0.3, 0.1);
	const carom_shape query = fixture_of_mesh(torus);
	const carom_pose pose = carom_pose_identity();
	int32_t counts[2];
	for (int met = 0; met < 2; met++) {
		carom_world *world = fixture_world(context, NULL);
		for (int i = 0; i < 6; i++)
			fixture_add(world, fixture_box(0.2, 0.2 + 0.01 * i, 0.3), fixture_at(i % 2 ? 1 : -1, 0.2 * i, 0), CAROM_DYNAMIC);
		carom_body_id visitor = { 0 };
		if (met)
			visitor = fixture_add(world, query, pose, CAROM_STATIC);
		fixture_step(world);
		CHECK_INT(world->bodies.data[0].shape.mesh != NULL, met);
		if (met)
			REQUIRE(carom_world_remove_body(world, visitor) == CAROM_SUCCESS);
		const long long blocks = atomic_load(&heap.blocks);
		REQUIRE(carom_world_collide_shape(world, &query, &pose, NULL, 64, found[met], &counts[met]) == CAROM_SUCCESS);
		drop_kept(context);
		CHECK(atomic_load(&heap.blocks) <= blocks + 12); // the trees of queries, and nothing of boxes
		CHECK_INT(world->bodies.data[0].shape.mesh != NULL, met);
		carom_destroy_world(world);
	}
	CHECK(counts[0] > 6);
	CHECK_INT(counts[0], counts[1]);
	CHECK(memcmp(found[0], found[1], (size_t)counts[0] * sizeof **found) == 0);
	carom_release_mesh(torus);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

TEST(shape_contacts, misuse_of_the_nearest_body)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_shape ball = fixture_sphere(0.5), plane = { .type = CAROM_PLANE };
	const carom_pose at = fixture_at(0, 0, 0), wrong = { { 0, 0, 0 }, { 0, 0, 0, 2 } };
	bool found = true;
	carom_closest_body result;
	CHECK_INT(carom_world_closest_body(world, &ball, &at, INFINITY, NULL, &found, &result), CAROM_SUCCESS);
	CHECK(!found);
	const struct {
		const carom_shape *shape;
		const carom_pose *pose;
		double most;
		bool *found;
		carom_closest_body *result;
		const char *text;
	} cases[] = {
		{ NULL, &at, 1, &found, &result, "shape is NULL" },
		{ &ball, NULL, 1, &found, &result, "pose is NULL" },
		{ &plane, &at, 1, &found, &result, "CAROM_PLANE" },
		{ &ball, &wrong, 1, &found, &result, "pose.orientation" },
		{ &ball, &at, -1, &found, &result, "max_distance is -1" },
		{ &ball, &at, NAN, &found, &result, "max_distance is" },
		{ &ball, &at, 1, NULL, &result, "found is NULL" },
		{ &ball, &at, 1, &found, NULL, "result is NULL" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		CHECK_INT(carom_world_closest_body(
					  world, cases[i].shape, cases[i].pose, cases[i].most, NULL, cases[i].found, cases[i].result),
			CAROM_INVALID_ARGUMENT);
		CHECK(strstr(carom_error_text(context), cases[i].text) != NULL);
	}
	CHECK_INT(carom_world_closest_body(NULL, &ball, &at, 1, NULL, &found, &result), CAROM_INVALID_ARGUMENT);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- In a loop ----

enum { LOOPED = 64 };

typedef struct collide_loop {
	carom_context *context;
	const carom_world *world;
	const carom_shape *shape;
	carom_contact contacts[LOOPED][2][8];
	int32_t counts[LOOPED][2];
	pool_meeting meeting; // so that all workers have pieces
} collide_loop;

static void collide_in_piece(int64_t begin, int64_t end, int worker, void *task)
{
	collide_loop *loop = task;
	pool_meet(begin, end, worker, &loop->meeting);
	for (int64_t i = begin; i < end; i++) {
		const carom_pose at = fixture_at(0.1, 0.005 * (double)i, 0.5);
		carom_collide(loop->context, loop->shape, &at, loop->shape, NULL, 0, 8, loop->contacts[i][0], &loop->counts[i][0]);
		carom_world_collide_shape(loop->world, loop->shape, &at, NULL, 8, loop->contacts[i][1], &loop->counts[i][1]);
	}
}

// A call has memory of its own for one worker, whichever worker of the context runs it.
TEST(shape_contacts, contacts_found_in_pieces_of_a_parallel_loop)
{
	pool_require_threads();
	static collide_loop loop, alone;
	carom_context *context = fixture_context(4);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *torus = fixture_torus_mesh(context, 12, 8, 0.4, 0.2);
	const carom_shape shape = fixture_of_mesh(torus);
	fixture_add(world, shape, fixture_at(0, 0, 0), CAROM_STATIC);
	loop.context = alone.context = context;
	loop.world = alone.world = world;
	loop.shape = alone.shape = &shape;
	loop.meeting.expected = 4;
	alone.meeting.expected = 1;
	carom_parallel_for(context, collide_in_piece, LOOPED, LOOPED / 4, &loop);
	collide_in_piece(0, LOOPED, 0, &alone);
	for (int i = 0; i < LOOPED; i++) {
		for (int k = 0; k < 2; k++) {
			CHECK(loop.counts[i][k] > 0);
			CHECK_INT(loop.counts[i][k], alone.counts[i][k]);
			for (int j = 0; j < alone.counts[i][k] && j < 8; j++)
				CHECK_NEAR(loop.contacts[i][k][j].depth, alone.contacts[i][k][j].depth, 0);
		}
	}
	carom_destroy_world(world);
	carom_release_mesh(torus);
	carom_destroy_context(context);
}
