/// The stable sort against the order that numbers and places tell.
#include "base/stable_sort.h"
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 3000 };

typedef struct item {
	int32_t key;
	int32_t place; // at first
	char more[57]; // of an odd size, larger than a piece that is exchanged at once
} item;

static int64_t comparisons;

static int compare_keys(const void *a, const void *b)
{
	comparisons++;
	const int32_t x = ((const item *)a)->key, y = ((const item *)b)->key;
	return (x > y) - (x < y);
}

static int compare_bytes(const void *a, const void *b) { return *(const uint8_t *)a - *(const uint8_t *)b; }

/// kind 0: in order; 1: in reverse; 2: few keys; 3: all alike; 4: many keys; 5: two runs.
static int32_t make_key(int kind, int32_t i, int32_t count, uint64_t *seed)
{
	switch (kind) {
	case 0: return i / 2;
	case 1: return -i / 3;
	case 2: return (int32_t)(test_random(seed) % 7);
	case 3: return 5;
	case 4: return (int32_t)(test_random(seed) % 1000000);
	default: return 2 * i < count ? i : i - count / 2;
	}
}

TEST(stable_sort, keeps_the_order_of_equals)
{
	static item items[MOST];
	uint64_t seed = 3;
	for (int32_t count = 0; count <= MOST; count += count < 70 ? 1 : count / 2) {
		for (int kind = 0; kind < 6; kind++) {
			int64_t sum = 0, sum_after = 0;
			for (int32_t i = 0; i < count; i++) {
				items[i] = (item){ make_key(kind, i, count, &seed), i, { 0 } };
				memset(items[i].more, items[i].key, sizeof items[i].more);
				sum += items[i].key;
			}
			comparisons = 0;
			cr_sort_stably(items, count, sizeof *items, compare_keys);
			for (int32_t i = 0; i < count; i++) {
				char more[sizeof items[i].more];
				memset(more, items[i].key, sizeof more);
				CHECK(memcmp(more, items[i].more, sizeof more) == 0);
				sum_after += items[i].key;
				if (i > 0)
					CHECK(items[i - 1].key < items[i].key ||
						(items[i - 1].key == items[i].key && items[i - 1].place < items[i].place));
			}
			CHECK(sum == sum_after);
			double logarithm = 1;
			while ((1 << (int)logarithm) < count)
				logarithm++;
			CHECK((double)comparisons <= (kind == 0 || kind == 3 ? 2 : 8 + 2 * logarithm) * count);
		}
	}
}

TEST(stable_sort, sorts_bytes_and_nothing)
{
	uint8_t bytes[300];
	uint64_t seed = 5;
	for (int i = 0; i < 300; i++)
		bytes[i] = (uint8_t)test_random(&seed);
	cr_sort_stably(bytes, 300, 1, compare_bytes);
	for (int i = 1; i < 300; i++)
		CHECK(bytes[i - 1] <= bytes[i]);
	cr_sort_stably(NULL, 0, 1, compare_bytes);
}
