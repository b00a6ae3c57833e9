/// Calls that fail one after the other: each number, and each stack, has its turn exactly once. What all tests of failed
/// allocations rest on.
#include "failing_calls.h"
#include "fixture.h"
#include "test.h"
#include <stdio.h>

// Places that call, told apart by hand: the functions and loops that a stack leads through.
enum { ALONE, IN_LOOP, SHARED_FROM_ONE, SHARED_FROM_OTHER, DEEP, PLACES = DEEP + 3 };

typedef struct visit {
	failing_calls *calls;
	int made[PLACES], failed[PLACES];
	int depth;
} visit;

// Lengths of loops that no compiler knows: it makes no places of its own.
static volatile int s_five = 5, s_three = 3;

/// Returns whether it succeeds.
__attribute__((noinline)) static bool call(visit *v, int place)
{
	const bool fails = failing_calls_fail(v->calls);
	v->made[place]++;
	v->failed[place] += fails;
	return !fails;
}

__attribute__((noinline)) static bool shared(visit *v, int place)
{
	v->depth++;
	const bool done = call(v, place);
	v->depth--; // so that the call is not the last thing: the frame stays
	return done;
}

__attribute__((noinline)) static bool deep(visit *v)
{
	const int depth = v->depth++;
	const bool done = call(v, DEEP + depth) && (depth == 2 || deep(v));
	v->depth--;
	return done;
}

static bool work(visit *v)
{
	bool done = call(v, ALONE);
	for (int i = 0; i < s_five && done; i++)
		done = call(v, IN_LOOP);
	for (int i = 0; i < s_three && done; i++)
		done = shared(v, SHARED_FROM_ONE);
	if (done)
		done = shared(v, SHARED_FROM_OTHER);
	return done && deep(v);
}

/// Returns the number of runs that failed.
static int work_with_failures(visit *v)
{
	int failures = 0;
	for (bool failed = true; failed; failures += failed) {
		failing_calls_begin(v->calls);
		const bool done = work(v);
		failed = failing_calls_end(v->calls);
		CHECK(done == !failed);
	}
	return failures;
}

TEST(failing_calls, each_number_fails_once)
{
	failing_calls calls = failing_calls_all();
	visit v = { .calls = &calls };
	CHECK_INT(work_with_failures(&v), 13);
	static const int expected[PLACES] = { 1, 5, 3, 1, 1, 1, 1 };
	for (int i = 0; i < PLACES; i++)
		CHECK_INT(v.failed[i], expected[i]);
	failing_calls_free(&calls);
	calls.stride = 5;
	CHECK_INT(work_with_failures(&v), 3);
	failing_calls_free(&calls);
}

TEST(failing_calls, each_stack_fails_once)
{
	failing_calls calls = failing_calls_of_stacks();
	visit v = { .calls = &calls };
	CHECK_INT(work_with_failures(&v), PLACES);
	for (int i = 0; i < PLACES; i++) {
		CHECK(v.made[i] > 0);
		CHECK_INT(v.failed[i], 1);
	}
	failing_calls_free(&calls);
}

static void *call_often(void *user)
{
	visit *v = user;
	for (int i = 0; i < 1000; i++)
		shared(v, 0);
	return NULL;
}

TEST(failing_calls, one_call_of_two_threads_fails_in_a_run)
{
	failing_calls calls = failing_calls_all();
	for (int run = 0; run < 20; run++) {
		visit visits[2] = { { .calls = &calls }, { .calls = &calls } };
		void *users[2] = { &visits[0], &visits[1] };
		failing_calls_begin(&calls);
		fixture_run_two(call_often, users);
		CHECK(failing_calls_end(&calls));
		CHECK_INT(calls.failed, run);
		CHECK_INT(calls.calls, 2000);
		CHECK_INT(visits[0].failed[0] + visits[1].failed[0], 1);
	}
	failing_calls_free(&calls);
}

// ---- A world's memory ----

/// A world of bodies that touch, made and stepped.
static carom_result make_and_step(carom_context *context, const carom_mesh *mesh)
{
	carom_world *world = NULL;
	carom_result result = carom_create_world(context, NULL, &world);
	for (int i = 0; i < 4 && result == CAROM_SUCCESS; i++) {
		carom_body_def def = carom_default_body_def();
		carom_body_id id;
		def.shape = fixture_of_mesh(mesh);
		def.pose = fixture_at(0.4 * i, 0.1 * i, 0);
		result = carom_world_add_body(world, &def, &id);
	}
	for (int i = 0; i < 2 && result == CAROM_SUCCESS; i++)
		result = carom_world_step(world);
	carom_destroy_world(world);
	return result;
}

static int make_with_failures(fixture_heap *heap, failing_calls *calls)
{
	carom_context *context = fixture_heap_context(heap, 1);
	carom_mesh *mesh = fixture_torus_mesh(context, 12, 6, 0.3, 0);
	int failures = 0;
	for (bool failed = true; failed; failures += failed) {
		const long long blocks = atomic_load(&heap->blocks);
		fixture_begin_failing(heap, calls);
		const carom_result result = make_and_step(context, mesh);
		failed = fixture_end_failing(heap);
		CHECK(result == CAROM_SUCCESS || (failed && result == CAROM_OUT_OF_MEMORY));
		CHECK_INT(atomic_load(&heap->blocks), blocks);
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	CHECK_INT(atomic_load(&heap->blocks), 0);
	return failures;
}

/// A world asks for memory from many places, from some of them often.
TEST(failing_calls, stacks_of_a_world_are_fewer_than_its_allocations)
{
	fixture_heap heap;
	failing_calls all = failing_calls_all(), stacks = failing_calls_of_stacks();
	const int each = make_with_failures(&heap, &all), once = make_with_failures(&heap, &stacks);
	CHECK_INT(once, stacks.stack_count);
	CHECK(once > 20 && once < each);
	if (test_failures() > 0)
		printf("%d allocations of %d stacks\n", each, once);
	failing_calls_free(&all);
	failing_calls_free(&stacks);
}
