/// Growing arrays: content survives growth and failed growth.
#include "test.h"
#include "base/array.h"
#include <stdlib.h>

typedef CR_ARRAY(int32_t) int_array;

TEST(array, grows_by_half_and_keeps_its_content)
{
	carom_context *context;
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	const size_t empty = carom_memory_in_use(context);
	int_array array = { 0 };
	int growths = 0;
	for (int32_t i = 0; i < 10000; i++) {
		const int64_t capacity = array.capacity;
		REQUIRE(cr_array_reserve(context, &array, array.count + 1));
		if (array.capacity != capacity) {
			growths++;
			CHECK(array.capacity >= capacity + capacity / 2);
		}
		array.data[array.count++] = i;
	}
	CHECK(growths < 30);
	for (int32_t i = 0; i < 10000; i++)
		REQUIRE(array.data[i] == i);
	const int32_t *data = array.data;
	CHECK(cr_array_reserve(context, &array, 10));
	CHECK(array.data == data);
	CHECK_INT(carom_memory_in_use(context), empty + (size_t)array.capacity * sizeof(int32_t));
	cr_array_free(context, &array);
	CHECK(array.data == NULL);
	CHECK_INT(array.count, 0);
	CHECK_INT(array.capacity, 0);
	CHECK_INT(carom_memory_in_use(context), empty);
	cr_array_free(context, &array); // again: nothing to do
	carom_destroy_context(context);
}

TEST(array, growth_within_a_budget_takes_few_copies)
{
	// The budget is 5,000 elements, of old and new memory together.
	carom_context *parent, child;
	REQUIRE(carom_create_context(NULL, &parent) == CAROM_SUCCESS);
	cr_context_init_child(&child, parent, 20000);
	int_array array = { 0 };
	REQUIRE(cr_array_reserve(&child, &array, 1000));
	int growths = 0;
	for (int64_t want = 1001; want < 5000; want++) {
		const int64_t capacity = array.capacity;
		if (!cr_array_reserve(&child, &array, want))
			break;
		growths += array.capacity != capacity;
	}
	// Old and new stand side by side: near half of the budget is the end.
	CHECK(array.capacity > 2400 && array.capacity < 2600);
	CHECK(growths >= 3 && growths < 15);
	cr_array_free(&child, &array);
	CHECK_INT(carom_memory_in_use(&child), 0);
	carom_destroy_context(parent);
}

static void *allocate_while_allowed(size_t size, size_t alignment, void *user)
{
	int *allowed = user;
	return (*allowed)-- > 0 ? test_allocate(size, alignment) : NULL;
}

static void release(void *pointer, size_t size, size_t alignment, void *user)
{
	(void)size, (void)alignment, (void)user;
	test_release(pointer);
}

TEST(array, failed_growth_changes_nothing)
{
	int allowed = 2; // the context and the first growth
	carom_context_def def = carom_default_context_def();
	def.allocator = (carom_allocator){ allocate_while_allowed, release, &allowed };
	carom_context *context;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	int_array array = { 0 };
	REQUIRE(cr_array_reserve(context, &array, 4));
	for (int32_t i = 0; i < 4; i++)
		array.data[array.count++] = 100 + i;
	const int32_t *data = array.data;
	CHECK(!cr_array_reserve(context, &array, 5));
	CHECK(!cr_array_reserve(context, &array, INT64_MAX));
	CHECK(array.data == data);
	CHECK_INT(array.capacity, 4);
	for (int32_t i = 0; i < 4; i++)
		CHECK_INT(array.data[i], 100 + i);
	cr_array_free(context, &array);
	carom_destroy_context(context);
}
