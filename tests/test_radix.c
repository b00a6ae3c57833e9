/// Radix sort against the C library's qsort (with the input place as the last word, which makes it stable).
#include "test.h"
#include "base/radix.h"
#include <stdlib.h>
#include <string.h>

static int compare_keys(const void *a_pointer, const void *b_pointer)
{
	const cr_key *a = a_pointer;
	const cr_key *b = b_pointer;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->value < b->value ? -1 : a->value > b->value;
}

/// Sort count keys of the given mask and compare; values are the input places.
static void check_sort(int64_t count, uint64_t mask, int key_bits, uint64_t seed)
{
	const size_t size = (size_t)(count + 1) * sizeof(cr_key);
	cr_key *keys = malloc(size), *scratch = malloc(size), *expected = malloc(size);
	REQUIRE(keys && scratch && expected);
	for (int64_t i = 0; i < count; i++)
		keys[i] = (cr_key){ test_random(&seed) & mask, (uint32_t)i };
	keys[count] = (cr_key){ 0, 12345 }; // must not be touched
	memcpy(expected, keys, size);
	qsort(expected, (size_t)count, sizeof *expected, compare_keys);
	cr_radix_sort(keys, scratch, count, key_bits);
	for (int64_t i = 0; i <= count; i++) {
		if (!CHECK(keys[i].key == expected[i].key && keys[i].value == expected[i].value))
			break;
	}
	free(keys);
	free(scratch);
	free(expected);
}

TEST(radix, all_small_sizes)
{
	for (int64_t count = 0; count <= 300; count++)
		check_sort(count, UINT64_MAX, 64, (uint64_t)count);
}

TEST(radix, large)
{
	check_sort(1000000, UINT64_MAX, 64, 1);
	check_sort(1000000, (1u << 30) - 1, 30, 2);
}

TEST(radix, equal_keys_keep_their_order)
{
	check_sort(20, 3, 2, 3);
	check_sort(100000, 3, 2, 4);
	check_sort(100000, 0, 0, 5);
	check_sort(100000, 0, 64, 6);
}

TEST(radix, any_key_bits_and_passes_that_are_skipped)
{
	for (int bits = 1; bits <= 64; bits++)
		check_sort(1000, UINT64_MAX >> (64 - bits), bits, (uint64_t)bits);
	check_sort(5000, 0xff00000000000000u, 64, 7);
	check_sort(5000, 0x00ff00ff00ff00ffu, 64, 8);
	check_sort(5000, 0x000000ff00000000u, 64, 9);
}

TEST(radix, sorted_and_reversed_input)
{
	enum { COUNT = 4096 };
	static cr_key keys[COUNT], scratch[COUNT];
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < COUNT; i++)
			keys[i] = (cr_key){ (uint64_t)(pass == 0 ? i : COUNT - 1 - i) * 77, (uint32_t)i };
		cr_radix_sort(keys, scratch, COUNT, 64);
		for (int i = 0; i < COUNT; i++) {
			REQUIRE(keys[i].key == (uint64_t)i * 77);
			REQUIRE(keys[i].value == (uint32_t)(pass == 0 ? i : COUNT - 1 - i));
		}
	}
}
