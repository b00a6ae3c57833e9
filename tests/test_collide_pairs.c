// Batches of contacts of two shapes (carom_collide_pairs): those of single calls, bit for bit, on any
// threads; short room, misuse, failures of every allocation, memory.
#include "fixture.h"
#include "pool_fixture.h"

#include "carom/batch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHAPES = 16, PAIRS = 3 * SHAPES * SHAPES, OF_PAIR = 8, MOST = OF_PAIR * PAIRS, FIELD = 9, PLANE = 0 };

/// One shape of each type, and pairs of any two of them: some deep, some near, some far apart.
typedef struct stock {
	carom_context *context;
	carom_mesh *torus, *box, *sheet, *hull, *painted, *field, *nothing;
	carom_shape shapes[SHAPES];
	carom_shape_pair pairs[PAIRS];
} stock;

static carom_mesh *make_field(carom_context *context)
{
	float heights[FIELD * FIELD];
	carom_mesh *field;
	for (int i = 0; i < FIELD * FIELD; i++)
		heights[i] = i == 40 ? NAN : (float)(0.3 * sin(0.9 * (i % FIELD)) * cos(0.7 * (int)(i / FIELD)));
	REQUIRE(carom_create_height_field(context, FIELD, FIELD, heights, (double[2]){ 0.25, 0.25 }, 1, &field) == CAROM_SUCCESS);
	return field;
}

static carom_mesh *make_nothing(carom_context *context)
{
	carom_mesh_def def = carom_default_mesh_def();
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static void make_meshes(stock *s)
{
	static const float points[18] = { 0.5f, 0, 0, -0.5f, 0, 0, 0, 0.4f, 0, 0, -0.4f, 0, 0, 0, 0.6f, 0, 0, -0.6f };
	static const uint32_t materials[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };
	s->torus = fixture_torus_mesh(s->context, 16, 8, 0.4, 0.3);
	s->box = fixture_box_mesh(s->context, 0.5, 0.4, 0.3);
	s->sheet = fixture_sheet_mesh(s->context, 4, 3);
	s->hull = fixture_hull_mesh(s->context, points, 6);
	REQUIRE(carom_create_painted_mesh(s->context, s->hull, materials, 8, &s->painted) == CAROM_SUCCESS);
	s->field = make_field(s->context);
	s->nothing = make_nothing(s->context);
}

static void open_stock(stock *s, carom_context *context)
{
	uint64_t seed = 11;
	*s = (stock){ .context = context };
	make_meshes(s);
	const carom_shape shapes[SHAPES] = { { .type = CAROM_PLANE }, fixture_of_mesh(s->torus), fixture_of_mesh(s->box),
		fixture_of_mesh(s->sheet), fixture_of_mesh(s->field), fixture_of_mesh(s->nothing), fixture_hull(s->hull),
		fixture_hull(s->painted), fixture_sphere(0.5), fixture_box(0.4, 0.5, 0.6), fixture_capsule(0.3, 0.5),
		fixture_cylinder(0.4, 0.3), fixture_cone(0.4, 0.5), fixture_ellipsoid(0.3, 0.5, 0.4), fixture_box(0.3, 0.2, 0.4),
		fixture_hull(s->hull) };
	memcpy(s->shapes, shapes, sizeof shapes);
	s->shapes[14].rounding = s->shapes[15].rounding = 0.1;
	for (int i = 0; i < PAIRS; i++) {
		const double span = (double[3]){ 0.3, 0.8, 3 }[i % 3];
		const int a = i / 3 % SHAPES, b = i / 3 / SHAPES;
		const carom_pose pose_a = fixture_random_pose(&seed, span), pose_b = fixture_random_pose(&seed, span);
		// Two planes have no contacts: a ball in the place of one.
		s->pairs[i] = (carom_shape_pair){ &s->shapes[a == PLANE && b == PLANE ? 8 : a], &s->shapes[b], pose_a, pose_b };
	}
}

static void close_stock(stock *s)
{
	carom_mesh *const meshes[] = { s->torus, s->box, s->sheet, s->hull, s->painted, s->field, s->nothing };
	for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++)
		carom_release_mesh(meshes[i]);
}

/// All members; contacts have no padding.
static bool are_equal(const carom_contact *a, const carom_contact *b, int64_t count)
{
	_Static_assert(sizeof(carom_contact) % sizeof(double) == 0, "whole doubles");
	return count == 0 || memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

static void check_margin(const stock *s, double margin, int64_t *total)
{
	static carom_contact contacts[MOST];
	static int64_t first[PAIRS + 1];
	const carom_batch batch = { .count = PAIRS };
	int with_contacts = 0;
	REQUIRE(carom_collide_pairs(s->context, &batch, s->pairs, margin, MOST, contacts, first) == CAROM_SUCCESS);
	CHECK_INT(first[0], 0);
	for (int i = 0; i < PAIRS; i++) {
		const carom_shape_pair *p = &s->pairs[i];
		carom_contact expected[OF_PAIR];
		int32_t count;
		REQUIRE(
			carom_collide(s->context, p->a, &p->pose_a, p->b, &p->pose_b, margin, OF_PAIR, expected, &count) == CAROM_SUCCESS);
		CHECK_INT(first[i + 1] - first[i], count);
		CHECK(are_equal(&contacts[first[i]], expected, count));
		with_contacts += count > 0;
	}
	CHECK(with_contacts > PAIRS / 4 && with_contacts < PAIRS * 3 / 4);
	*total = first[PAIRS];
}

/// Batches of so many pairs each: other pairs go through the stages together.
static void check_pieces(const stock *s, int size, int64_t total)
{
	static carom_contact contacts[MOST], all[MOST];
	static int64_t first[PAIRS + 1];
	int64_t found = 0;
	REQUIRE(carom_collide_pairs(s->context, &(carom_batch){ .count = PAIRS }, s->pairs, 0.1, MOST, all, first) == CAROM_SUCCESS);
	for (int i = 0; i < PAIRS; i += size) {
		const int count = i + size < PAIRS ? size : PAIRS - i;
		int64_t part[PAIRS + 1];
		REQUIRE(carom_collide_pairs(s->context, &(carom_batch){ .count = count }, &s->pairs[i], 0.1, MOST, contacts, part) ==
			CAROM_SUCCESS);
		CHECK_INT(part[count], first[i + count] - first[i]);
		CHECK(are_equal(contacts, &all[first[i]], part[count]));
		found += part[count];
	}
	CHECK_INT(found, total);
}

static void check_with(int threads)
{
	if (threads < TEST_LEAST_THREADS)
		test_skip("there are no races on one thread");
	static stock s;
	carom_context *context = fixture_context(threads);
	int64_t touching, near;
	open_stock(&s, context);
	check_margin(&s, 0, &touching);
	check_margin(&s, 0.1, &near);
	CHECK(near > touching && touching > PAIRS);
	check_pieces(&s, 1, near);
	check_pieces(&s, 7, near);
	check_pieces(&s, 65, near);
	close_stock(&s);
	carom_destroy_context(context);
}

TEST(collide_pairs, one_thread_finds_the_contacts_of_single_calls) { check_with(1); }

TEST(collide_pairs, four_threads_find_the_contacts_of_single_calls)
{
	pool_require_threads();
	check_with(4);
}

TEST(collide_pairs, short_room_tells_how_many_there_are)
{
	static stock s;
	static carom_contact all[MOST], few[MOST];
	static int64_t first[PAIRS + 1], again[PAIRS + 1];
	carom_context *context = fixture_context(2);
	open_stock(&s, context);
	const carom_batch batch = { .count = PAIRS };
	REQUIRE(carom_collide_pairs(context, &batch, s.pairs, 0, MOST, all, first) == CAROM_SUCCESS);
	const int64_t total = first[PAIRS], rooms[] = { 0, 1, 5, total / 2, total - 1, total };
	for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
		memset(few, 0x5a, sizeof few);
		memset(again, 0x5a, sizeof again);
		REQUIRE(carom_collide_pairs(context, &batch, s.pairs, 0, rooms[i], rooms[i] ? few : NULL, again) == CAROM_SUCCESS);
		CHECK(memcmp(first, again, sizeof first) == 0);
		CHECK(are_equal(few, all, rooms[i]));
		// Nothing is written beyond the room.
		for (size_t k = (size_t)rooms[i] * sizeof *few; k < sizeof few; k++) {
			if (((const unsigned char *)few)[k] != 0x5a) {
				CHECK_INT(k, sizeof few);
				break;
			}
		}
	}
	close_stock(&s);
	carom_destroy_context(context);
}

TEST(collide_pairs, wrong_pairs_are_named_by_number_and_field)
{
	static const carom_shape bad = { .type = CAROM_SPHERE, .radius = -1 }, plane = { .type = CAROM_PLANE };
	static stock s;
	static carom_contact contacts[MOST];
	static int64_t first[PAIRS + 1], good[PAIRS + 1];
	static carom_result results[PAIRS];
	carom_context *context = fixture_context(4);
	open_stock(&s, context);
	carom_batch batch = { .count = PAIRS };
	carom_shape padded = s.shapes[1];
	padded.rounding = 0.1;
	REQUIRE(carom_collide_pairs(context, &batch, s.pairs, 0, MOST, contacts, good) == CAROM_SUCCESS);
	const struct {
		carom_shape_pair pair;
		carom_result result;
		const char *text;
	} wrong[] = {
		{ { &bad, &plane, fixture_at(0, 0, 0), fixture_at(0, 0, 0) }, CAROM_INVALID_ARGUMENT, "a: shape.radius is -1" },
		{ { &plane, NULL, fixture_at(0, 0, 0), fixture_at(0, 0, 0) }, CAROM_INVALID_ARGUMENT, "b is NULL" },
		{ { &plane, &plane, fixture_at(0, 0, 0), fixture_at(0, 0, 0) }, CAROM_UNSUPPORTED, "two planes have no contacts" },
		{ { &padded, &plane, fixture_at(0, 0, 0), fixture_at(0, 0, 0) }, CAROM_INVALID_ARGUMENT, "a: shape.rounding is 0.1" },
		{ { &plane, &padded, fixture_at(0, 0, 0), fixture_at(0, 0, 0) }, CAROM_INVALID_ARGUMENT, "b: shape.rounding is 0.1" },
		{ { &s.shapes[1], &plane, fixture_at(NAN, 0, 0), fixture_at(0, 0, 0) }, CAROM_INVALID_ARGUMENT, "pose_a.position" },
		{ { &s.shapes[1], &plane, fixture_at(0, 0, 0), { { 0, 0, 0 }, { 0, 0, 0, 2 } } }, CAROM_INVALID_ARGUMENT,
			"pose_b.orientation has length 2" },
	};
	for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
		char text[128];
		snprintf(text, sizeof text, "carom_collide_pairs: pairs[70]: %s", wrong[k].text);
		const carom_shape_pair kept[2] = { s.pairs[70], s.pairs[500] };
		s.pairs[70] = s.pairs[500] = wrong[k].pair;
		batch.results = NULL;
		memset(first, 1, sizeof first);
		fixture_expect_error(
			context, carom_collide_pairs(context, &batch, s.pairs, 0, MOST, contacts, first), wrong[k].result, text);
		for (int i = 0; i <= PAIRS; i++)
			CHECK_INT(first[i], 0);
		batch.results = results;
		fixture_expect_error(
			context, carom_collide_pairs(context, &batch, s.pairs, 0, MOST, contacts, first), CAROM_SUCCESS, text);
		for (int i = 0; i < PAIRS; i++) {
			const bool is_wrong = i == 70 || i == 500;
			CHECK_INT(results[i], is_wrong ? wrong[k].result : CAROM_SUCCESS);
			CHECK_INT(first[i + 1] - first[i], is_wrong ? 0 : good[i + 1] - good[i]);
		}
		s.pairs[70] = kept[0];
		s.pairs[500] = kept[1];
	}
	close_stock(&s);
	carom_destroy_context(context);
}

TEST(collide_pairs, misuse_and_empty_batches)
{
	carom_context *context = fixture_context(1);
	const carom_shape ball = fixture_sphere(1);
	const carom_shape_pair pair = { &ball, &ball, fixture_at(0, 0, 0), fixture_at(1, 0, 0) };
	const carom_batch one = { .count = 1 }, none = { .count = 0 };
	const carom_query_filter filter = carom_default_query_filter();
	carom_contact contact;
	carom_result result = CAROM_SUCCESS;
	int64_t first[2] = { 5, 5 };
	CHECK_INT(carom_collide_pairs(context, &none, NULL, 0, 0, NULL, first), CAROM_SUCCESS);
	CHECK_INT(first[0], 0);
	CHECK_INT(carom_collide_pairs(context, &one, &pair, 0, 1, &contact, first), CAROM_SUCCESS);
	CHECK_INT(first[1], 1);
	CHECK_NEAR(contact.depth, 1, 1e-12);
	CHECK_INT(carom_collide_pairs(NULL, &one, &pair, 0, 1, &contact, first), CAROM_INVALID_ARGUMENT);
	fixture_expect_wrong(
		context, carom_collide_pairs(context, NULL, &pair, 0, 1, &contact, first), "carom_collide_pairs: batch is NULL");
	fixture_expect_wrong(context, carom_collide_pairs(context, &one, NULL, 0, 1, &contact, first), "pairs is NULL");
	fixture_expect_wrong(context, carom_collide_pairs(context, &one, &pair, 0, 1, NULL, first), "contacts is NULL");
	fixture_expect_wrong(context, carom_collide_pairs(context, &one, &pair, 0, 1, &contact, NULL), "first is NULL");
	fixture_expect_wrong(context, carom_collide_pairs(context, &one, &pair, 0, -1, &contact, first), "capacity is -1");
	fixture_expect_wrong(context, carom_collide_pairs(context, &(carom_batch){ .count = -3 }, &pair, 0, 1, &contact, first),
		"batch->count is -3");
	const double margins[] = { -1, NAN, INFINITY };
	for (int i = 0; i < 3; i++) {
		first[0] = first[1] = 5;
		fixture_expect_wrong(context,
			carom_collide_pairs(
				context, &(carom_batch){ .count = 1, .results = &result }, &pair, margins[i], 1, &contact, first),
			"carom_collide_pairs: margin is");
		CHECK(result == CAROM_INVALID_ARGUMENT && first[0] == 0 && first[1] == 0);
	}
	fixture_expect_wrong(context,
		carom_collide_pairs(context, &(carom_batch){ .count = 1, .filter = &filter }, &pair, 0, 1, &contact, first),
		"batch->filter is given, which is for worlds alone");
	carom_destroy_context(context);
}

/// Let the next call make its lists again: take those that the last one left.
static void drop_kept(carom_context *context)
{
	for (cr_spare *spare = cr_take_spare(context); spare; spare = cr_take_spare(context))
		spare->destroy(spare);
}

enum { FAILING = 60 };

/// The batch over and over, where one allocation after the other fails.
static void fail_with_room(stock *s, fixture_heap *heap, int64_t capacity, const int64_t *good)
{
	static carom_contact contacts[MOST];
	static int64_t first[FAILING + 1];
	static carom_result results[FAILING];
	const carom_batch batch = { .count = FAILING, .results = results };
	failing_calls calls = failing_calls_of_preset();
	int failures = 0;
	for (bool failed = true; failed;) {
		drop_kept(s->context);
		memset(first, 1, sizeof first);
		fixture_begin_failing(heap, &calls);
		const carom_result result = carom_collide_pairs(s->context, &batch, s->pairs, 0, capacity, contacts, first);
		failed = fixture_end_failing(heap);
		failures += result != CAROM_SUCCESS;
		CHECK(result == CAROM_SUCCESS || (failed && result == CAROM_OUT_OF_MEMORY));
		for (int i = 0; i <= FAILING; i++)
			CHECK_INT(first[i], result == CAROM_SUCCESS ? good[i] : 0);
		for (int i = 0; i < FAILING; i++)
			CHECK_INT(results[i], result);
	}
	CHECK(failures > 10);
	failing_calls_free(&calls);
}

static void fail_allocations(int threads)
{
	if (threads < TEST_LEAST_THREADS)
		test_skip("there are no races on one thread");
	static stock s;
	static int64_t good[FAILING + 1];
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, threads);
	open_stock(&s, context);
	// Pairs that overlap, of all shapes.
	for (int i = 0; i < FAILING; i++)
		s.pairs[i] = s.pairs[3 * (i * 7 % (SHAPES * SHAPES))];
	REQUIRE(carom_collide_pairs(context, &(carom_batch){ .count = FAILING }, s.pairs, 0, 0, NULL, good) == CAROM_SUCCESS);
	fail_with_room(&s, &heap, OF_PAIR * FAILING, good);
	fail_with_room(&s, &heap, OF_PAIR * FAILING - 1, good);
	close_stock(&s);
	carom_destroy_context(context);
	CHECK_INT(atomic_load(&heap.blocks), 0);
}

TEST(collide_pairs, no_memory_fails_the_whole_call_of_one_thread) { fail_allocations(1); }

TEST(collide_pairs, no_memory_fails_the_whole_call_of_four_threads)
{
	pool_require_threads();
	fail_allocations(4);
}

/// Each box of a size of its own gets a mesh on a field: these must not heap up.
TEST(collide_pairs, many_boxes_of_different_sizes_hold_little_memory)
{
	enum { BOXES = 6000 };
	static carom_shape boxes[BOXES];
	static carom_shape_pair pairs[BOXES];
	static int64_t first[BOXES + 1];
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *mesh = make_field(context);
	const carom_shape field = fixture_of_mesh(mesh);
	uint64_t seed = 3;
	for (int i = 0; i < BOXES; i++) {
		boxes[i] = fixture_box(0.1 + 1e-5 * i, 0.2, 0.15);
		pairs[i] = (carom_shape_pair){ &boxes[i], &field, fixture_random_pose(&seed, 0.2), fixture_at(-1, -1, 0) };
	}
	const size_t before = carom_memory_in_use(context);
	size_t peak = 0;
	REQUIRE(carom_collide_pairs(context, &(carom_batch){ .count = BOXES }, pairs, 0, 0, NULL, first) == CAROM_SUCCESS);
	peak = carom_memory_peak(context);
	CHECK(first[BOXES] > 2 * BOXES);
	// The contacts, which are kept until the end, in a list that doubles; and what is given back in time.
	CHECK(peak < before + 2 * (size_t)first[BOXES] * sizeof(carom_contact) + ((size_t)10 << 20));
	CHECK(carom_memory_in_use(context) < before + ((size_t)1 << 20));
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	CHECK_INT(atomic_load(&heap.blocks), 0);
}

static void ask_in_piece(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	stock *s = user;
	for (int64_t i = begin; i < end; i++) {
		carom_contact contacts[OF_PAIR * SHAPES];
		int64_t first[SHAPES + 1];
		const carom_batch batch = { .count = SHAPES };
		// A shape of the stock is spoiled where a call fails.
		if (carom_collide_pairs(s->context, &batch, &s->pairs[SHAPES * i], 0, OF_PAIR * SHAPES, contacts, first) !=
			CAROM_SUCCESS)
			s->shapes[0].type = CAROM_SPHERE;
	}
}

TEST(collide_pairs, a_batch_inside_a_piece_of_a_loop_runs_on_its_worker)
{
	static stock s;
	carom_context *context = fixture_context(4);
	open_stock(&s, context);
	carom_parallel_for(context, ask_in_piece, PAIRS / SHAPES, 4, &s);
	CHECK_INT(s.shapes[0].type, CAROM_PLANE);
	close_stock(&s);
	carom_destroy_context(context);
}

TEST(collide_pairs, poses_compose_and_invert)
{
	uint64_t seed = 9;
	for (int i = 0; i < 100; i++) {
		const carom_pose a = fixture_random_pose(&seed, 3), b = fixture_random_pose(&seed, 3);
		const carom_vec3 point = fixture_random_pose(&seed, 3).position;
		const carom_pose both = carom_compose_poses(a, b), back = carom_compose_poses(carom_invert_pose(a), both);
		const carom_vec3 once = carom_transform_point(both, point);
		const carom_vec3 twice = carom_transform_point(a, carom_transform_point(b, point));
		CHECK_NEAR(v3d_length(v3d_sub(once, twice)), 0, 1e-13);
		CHECK_NEAR(v3d_length(v3d_sub(back.position, b.position)), 0, 1e-13);
		CHECK_NEAR(v3d_length(v3d_sub(carom_rotate(back.orientation, point), carom_rotate(b.orientation, point))), 0, 1e-13);
		CHECK_NEAR(
			v3d_length(carom_transform_point(carom_compose_poses(a, carom_invert_pose(a)), (carom_vec3){ 0, 0, 0 })), 0, 1e-13);
	}
}
