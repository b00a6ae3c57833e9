/// The frame: no stage keeps a pointer into a list for the next one. A back end moves all lists to fresh memory after each stage
/// and overwrites the old; its results are those of the plain one, bit for bit.
#include "base/list.h"
#include "base/parallel.h"
#include "fixture.h"
#include "test.h"
#include "world/world.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Lists ----

static const size_t SIZES[2] = { sizeof(int32_t), sizeof(double) };

typedef struct filling {
	cr_list list;
	cr_list_tail tails[4];
	uint32_t number[1000];
	bool failed;
} filling;

/// Item i opens i % 37 + 1 entries, keeps half of them, and writes i to these.
static void fill_task(int64_t begin, int64_t end, int worker, void *task)
{
	filling *f = task;
	for (int64_t i = begin; i < end; i++) {
		const uint32_t count = (uint32_t)(i % 37 + 1), kept = (count + 1) / 2;
		cr_list_tail *tail = &f->tails[worker];
		if (!cr_list_open(&f->list, tail, count)) {
			f->failed = true;
			return;
		}
		f->number[i] = tail->next;
		for (uint32_t k = 0; k < kept; k++) {
			((int32_t *)cr_list_at(&f->list, 0, tail->next))[k] = (int32_t)i;
			((double *)cr_list_at(&f->list, 1, tail->next))[k] = -(double)i;
		}
		tail->next += kept;
	}
}

static void check_filling(const filling *f, int64_t items)
{
	for (int64_t i = 0; i < items; i++) {
		for (uint32_t k = 0; k < ((uint32_t)(i % 37 + 1) + 1) / 2; k++) {
			REQUIRE(((int32_t *)cr_list_at(&f->list, 0, f->number[i]))[k] == i);
			REQUIRE(((double *)cr_list_at(&f->list, 1, f->number[i] + k))[0] == -(double)i);
		}
	}
}

TEST(frame, lists_hold_what_several_threads_append)
{
	carom_context *context = fixture_context(4);
	const size_t before = carom_memory_in_use(context);
	filling *f = calloc(1, sizeof *f);
	REQUIRE(f);
	cr_list_init(&f->list, context, 64, 2, SIZES);
	for (int round = 0; round < 3; round++) {
		cr_parallel_for(context, fill_task, 1000, 1, f);
		CHECK(!f->failed);
		check_filling(f, 1000);
		CHECK(cr_list_used(&f->list) >= 12 * 9500);
		REQUIRE(cr_list_move(&f->list));
		check_filling(f, 1000);
		memset(f->tails, 0, sizeof f->tails);
		cr_list_reset(&f->list);
		CHECK_INT(cr_list_used(&f->list), 0);
		CHECK_INT(atomic_load(&f->list.segment_count), 1);
	}
	cr_list_free(&f->list);
	CHECK_INT(carom_memory_in_use(context), before);
	free(f);
	carom_destroy_context(context);
}

TEST(frame, a_list_without_memory_keeps_its_entries)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	cr_list list;
	cr_list_tail tail = { 0 };
	cr_list_init(&list, context, 64, 2, SIZES);
	REQUIRE(cr_list_open(&list, &tail, 0));
	CHECK(cr_list_at(&list, 0, 0) == NULL);
	REQUIRE(cr_list_open(&list, &tail, 100));
	const uint32_t first = tail.next;
	for (int32_t i = 0; i < 100; i++)
		((int32_t *)cr_list_at(&list, 0, first))[i] = i;
	tail.next += 100;
	const cr_list_tail then = tail;
	heap.fail_at = heap.calls;
	heap.fail_on = true;
	CHECK(!cr_list_open(&list, &tail, 1 << 20));
	CHECK(!cr_list_move(&list));
	CHECK(!cr_list_open(&list, &tail, UINT32_MAX));
	CHECK(tail.next == then.next && tail.end == then.end);
	for (int32_t i = 0; i < 100; i++)
		REQUIRE(*(int32_t *)cr_list_at(&list, 0, first + (uint32_t)i) == i);
	heap.fail_at = -1;
	heap.fail_on = false;
	REQUIRE(cr_list_open(&list, &tail, 1 << 20));
	CHECK(*(int32_t *)cr_list_at(&list, 0, first + 99) == 99);
	cr_list_free(&list);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

// ---- A back end that moves everything ----

/// Move an array to fresh memory and overwrite the old.
static bool move_array(carom_context *context, void *data_pointer, int64_t count, int64_t capacity, size_t element)
{
	void **data = data_pointer;
	if (capacity == 0)
		return true;
	void *moved = cr_alloc(context, (size_t)capacity * element);
	if (!moved)
		return false;
	memcpy(moved, *data, (size_t)count * element);
	memset(*data, 0xdd, (size_t)capacity * element);
	cr_free(context, *data, (size_t)capacity * element);
	*data = moved;
	return true;
}

#define MOVE(p, array, used) move_array((p)->context, &(p)->array.data, (used), (p)->array.capacity, sizeof *(p)->array.data)

/// Stages after which all has moved. Parts of the pairs call each stage hundreds of times: builds that do less move every fourth time
/// then. There are nine stages, so each has its turn.
static int moves, move_each;

static carom_result move_all(cr_pipeline *p, carom_result result)
{
	if (result != CAROM_SUCCESS)
		return result;
	if (moves++ % move_each != 0)
		return CAROM_SUCCESS;
	const bool moved = cr_frame_move(&p->frame) && cr_kept_move(&p->memories[p->keeping]) && MOVE(p, pairs, p->pairs.count) &&
		MOVE(p, simple, p->simple.count) && MOVE(p, work, p->work.count) && MOVE(p, kept, p->kept.count) &&
		MOVE(p, next, p->work.count) && MOVE(p, order, p->order.count) && MOVE(p, taken, p->taken.count) &&
		MOVE(p, found, p->found.count) && MOVE(p, met, p->met.count);
	return moved ? CAROM_SUCCESS : cr_fail_memory(p->context, "moved lists");
}

static carom_result pairs(cr_pipeline *p) { return move_all(p, cr_cpu_stages.pairs(p)); }
static carom_result begin(cr_pipeline *p) { return move_all(p, cr_cpu_stages.begin(p)); }
static carom_result near_triangles(cr_pipeline *p) { return move_all(p, cr_cpu_stages.near(p)); }
static carom_result crossings(cr_pipeline *p) { return move_all(p, cr_cpu_stages.crossings(p)); }
static carom_result vertices(cr_pipeline *p) { return move_all(p, cr_cpu_stages.vertices(p)); }
static carom_result rays(cr_pipeline *p) { return move_all(p, cr_cpu_stages.rays(p)); }
static carom_result finish(cr_pipeline *p) { return move_all(p, cr_cpu_stages.finish(p)); }
static carom_result simple(cr_pipeline *p) { return move_all(p, cr_cpu_stages.simple(p)); }
static carom_result reduce(cr_pipeline *p) { return move_all(p, cr_cpu_stages.reduce(p)); }

static const cr_stages MOVING = { "moving", cr_open_stages, pairs, begin, near_triangles, crossings, vertices, rays, finish,
	simple, reduce, NULL };

// ---- Twin worlds ----

enum { MESHES = 5, BODIES = 32, STEPS = 6 };

typedef struct zoo {
	carom_context *context;
	carom_mesh *mesh[MESHES];
	carom_world *world[2]; // plain, moving
	carom_body_id id[2][BODIES];
	carom_pose pose[BODIES];
	carom_vec3 velocity[BODIES];
} zoo;

static carom_shape shape_of(const zoo *z, int i)
{
	switch (i % 8) {
	case 5: return fixture_sphere(0.3);
	case 6: return fixture_box(0.3, 0.2, 0.4);
	case 7: return fixture_cylinder(0.2, 0.3);
	default: return fixture_of_mesh(z->mesh[i % 4]);
	}
}

static void open_zoo(zoo *z, int threads, const carom_world_def *def)
{
	uint64_t seed = 5;
	z->context = fixture_context(threads);
	z->mesh[0] = fixture_box_mesh(z->context, 0.3, 0.3, 0.4);
	z->mesh[1] = fixture_torus_mesh(z->context, 16, 8, 0.3, 0.2);
	z->mesh[2] = fixture_sphere_mesh(z->context, 0.5, 12);
	z->mesh[3] = fixture_torus_mesh(z->context, 24, 12, 0.4, 0);
	z->mesh[4] = fixture_sheet_mesh(z->context, 12, 8);
	for (int i = 0; i < BODIES; i++) {
		const double turn = test_random_double(&seed, 0, 6);
		z->pose[i] = fixture_at(
			test_random_double(&seed, -1.5, 1.5), test_random_double(&seed, -1.5, 1.5), test_random_double(&seed, 0, 2));
		z->pose[i].orientation = fixture_turn((v3d){ 1, 0.5, -0.3 }, turn);
		z->velocity[i] = (carom_vec3){ test_random_double(&seed, -0.03, 0.03), test_random_double(&seed, -0.03, 0.03),
			test_random_double(&seed, -0.03, 0.03) };
	}
	for (int k = 0; k < 2; k++) {
		z->world[k] = fixture_world(z->context, def);
		fixture_add(z->world[k], fixture_of_mesh(z->mesh[4]), fixture_at(0, 0, 0), CAROM_STATIC);
		for (int i = 0; i < BODIES; i++)
			z->id[k][i] = fixture_add(z->world[k], shape_of(z, i), z->pose[i], CAROM_DYNAMIC);
	}
	z->world[1]->pipeline.stages = &MOVING;
}

static void close_zoo(zoo *z)
{
	carom_destroy_world(z->world[0]);
	carom_destroy_world(z->world[1]);
	for (int i = 0; i < MESHES; i++)
		carom_release_mesh(z->mesh[i]);
	carom_destroy_context(z->context);
}

/// Step both worlds, fast and then slow, so that pairs are full and iterative. Their results and what they did must be equal. part: pairs
/// of meshes that the second world takes through the stages together; 0: all.
static void check_twins(int threads, const carom_world_def *def, int64_t part)
{
	static zoo z;
	int64_t contacts = 0, full = 0, iterative = 0;
	open_zoo(&z, threads, def);
	if (part > 0)
		z.world[1]->pipeline.most = part;
	moves = 0;
	move_each = part > 0 && TEST_FEWER > 1 ? 4 : 1;
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < BODIES; i++) {
			const double share = step < STEPS / 2 ? 1 : 0.02;
			z.pose[i].position.x += share * z.velocity[i].x;
			z.pose[i].position.y += share * z.velocity[i].y;
			z.pose[i].position.z += share * z.velocity[i].z;
		}
		for (int k = 0; k < 2; k++) {
			REQUIRE(carom_world_set_poses(z.world[k], BODIES, z.id[k], z.pose) == CAROM_SUCCESS);
			fixture_step(z.world[k]);
		}
		const carom_stats a = carom_world_stats(z.world[0]), b = carom_world_stats(z.world[1]);
		REQUIRE(carom_world_hash(z.world[0]) == carom_world_hash(z.world[1]));
		CHECK(a.rays_full == b.rays_full && a.rays_iterative == b.rays_iterative && a.triangle_tests == b.triangle_tests);
		CHECK(a.narrow_pairs == b.narrow_pairs && a.pairs_full == b.pairs_full && a.pairs_apart == b.pairs_apart);
		contacts += carom_world_contacts(z.world[0]).count;
		full += a.pairs_full;
		iterative += a.pairs_iterative;
	}
	CHECK(contacts > 100 && full > 100);
	CHECK(iterative > 100 || def->temporal != CAROM_TEMPORAL_PREDICTIVE);
	CHECK(moves >= (part > 0 ? 16 : 8) * STEPS);
	close_zoo(&z);
}

TEST(frame, lists_may_move_between_stages)
{
	for (int threads = 1; threads <= 2 && threads <= TEST_MOST_THREADS; threads++) {
		carom_world_def def = carom_default_world_def();
		check_twins(threads, &def, 0);
		def.speculative_distance = 0.05;
		def.max_contacts_per_pair = 4;
		check_twins(threads, &def, 0);
		def.contact_normal = CAROM_NORMAL_RAY;
		fixture_lab(&def)->exit_distance_test = true;
		check_twins(threads, &def, 0);
		def.temporal = CAROM_TEMPORAL_NONE;
		fixture_lab(&def)->complete = false;
		check_twins(threads, &def, 0);
	}
}

/// The pairs of meshes pass the stages in parts of some pairs, with the same contacts, rays and tests as all at once. Parts of one pair
/// leave most of them without a kept pair.
TEST(frame, parts_of_the_pairs_change_nothing)
{
	carom_world_def def = carom_default_world_def();
	check_twins(TEST_MOST_THREADS > 1 ? 2 : 1, &def, 7);
	def.speculative_distance = 0.05;
	def.max_contacts_per_pair = 4;
	check_twins(1, &def, 1);
}

/// Numbers of two triangles that do not fit in a word stand in two. A step that remembers finds what one that remembers nothing does.
TEST(frame, near_triangles_of_large_meshes)
{
	carom_context *context = fixture_context(1);
	enum { SIDE = 190 };
	static float heights[SIDE * SIDE];
	for (int i = 0; i < SIDE * SIDE; i++)
		heights[i] = i < 2 ? 2 * (float)i - 1 : 0.1F * (float)(i * 7 % 5); // its box is higher than where they meet
	carom_mesh *field = NULL;                                              // of 75,000 triangles
	REQUIRE(carom_create_height_field(context, SIDE, SIDE, heights, (double[2]){ 1, 1 }, 1, &field) == CAROM_SUCCESS);
	carom_world_def def = carom_default_world_def();
	carom_world *worlds[2];
	carom_body_id ids[2];
	for (int k = 0; k < 2; k++) {
		def.temporal = k ? CAROM_TEMPORAL_NONE : CAROM_TEMPORAL_PREDICTIVE;
		worlds[k] = fixture_world(context, &def);
		fixture_add(worlds[k], fixture_of_mesh(field), fixture_at(0, 0, 0), CAROM_STATIC);
		ids[k] = fixture_add(worlds[k], fixture_of_mesh(field), fixture_at(185.5, 185.5, 2.41), CAROM_DYNAMIC);
	}
	int32_t held = 0, contacts = 0;
	for (int step = 0; step < 8; step++) {
		const carom_pose pose = fixture_at(185.5, 185.5 + 0.0001 * step, 2.41 - 0.002 * step);
		for (int k = 0; k < 2; k++) {
			REQUIRE(carom_world_set_pose(worlds[k], ids[k], &pose) == CAROM_SUCCESS);
			fixture_step(worlds[k]);
		}
		REQUIRE(worlds[0]->pipeline.temporal.slots.count == 1);
		const cr_near_list *list = &worlds[0]->pipeline.temporal.slots.data[0].near;
		held += list->holds && list->wide && list->pairs.count > 0;
		contacts += carom_world_contacts(worlds[0]).count;
		CHECK(carom_world_hash(worlds[0]) == carom_world_hash(worlds[1]));
	}
	CHECK(held > 0);
	CHECK(contacts > 0);
	carom_destroy_world(worlds[0]);
	carom_destroy_world(worlds[1]);
	carom_release_mesh(field);
	carom_destroy_context(context);
}
