/// The SIMD wrapper lane by lane against plain C, on every instruction set of this machine; and the wide kernels, which must give the same
/// on all of them (rays: test_rays.c).
#include "test.h"
#include "base/cpu.h"
#include "bvh/bvh_kernels.h"
#include "frame/body.h"
#include "geom/triangle.h"
#include "kernels/simd_ops.h"
#include "math/simd.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct table {
	carom_simd simd;
	const simd_ops *ops;
} table;

static const table TABLES[] = {
	{ CAROM_SIMD_SCALAR, &simd_ops_scalar },
#ifdef SIMD_OPS_SSE2
	{ CAROM_SIMD_SSE2, &simd_ops_sse2 },
#endif
#ifdef SIMD_OPS_AVX2
	{ CAROM_SIMD_AVX2, &simd_ops_avx2 },
#endif
#ifdef SIMD_OPS_AVX512
	{ CAROM_SIMD_AVX512, &simd_ops_avx512 },
#endif
#ifdef SIMD_OPS_NEON
	{ CAROM_SIMD_NEON, &simd_ops_neon },
#endif
};
enum { TABLE_COUNT = sizeof TABLES / sizeof *TABLES };

/// A context that uses the instruction set; NULL where the machine lacks it.
static carom_context *context_of(carom_simd simd)
{
	carom_context_def def = carom_default_context_def();
	def.simd = simd;
	def.thread_count = 1;
	carom_context *context = NULL;
	const carom_result result = carom_create_context(&def, &context);
	REQUIRE(result == CAROM_SUCCESS || result == CAROM_UNSUPPORTED);
	return context;
}

static bool machine_has(carom_simd simd)
{
	carom_context *context = context_of(simd);
	carom_destroy_context(context);
	return context != NULL;
}

// ---- Lanes ----

static const float ODD[] = { 0, -0.0f, 1, -1, 0x1p-149f, -0x1p-149f, 0x1.fffffcp-127f, 0x1p-126f, 0x1.fffffep127f,
	-0x1.fffffep127f, INFINITY, -INFINITY, NAN, -NAN, 0.1f, 3, 0x1.000002p0f, 16777215 };
enum { ODD_COUNT = sizeof ODD / sizeof *ODD };

static void random_lanes(uint64_t *seed, float lanes[8])
{
	for (int i = 0; i < 8; i++) {
		const uint32_t bits = (uint32_t)(test_random(seed) >> 32);
		const uint64_t kind = test_random(seed) % 3;
		if (kind == 0)
			lanes[i] = ODD[bits % ODD_COUNT];
		else if (kind == 1)
			lanes[i] = (float)test_random_double(seed, -10, 10);
		else
			memcpy(&lanes[i], &bits, sizeof bits); // any number there is
	}
}

/// By halves, as simd.h says: which of two NaN or zeros is left depends on it.
static float expected_extreme(const float a[8], bool lowest)
{
	float left[8];
	memcpy(left, a, sizeof left);
	for (int step = 4; step > 0; step /= 2) {
		for (int i = 0; i < step; i++) {
			const bool first = lowest ? left[i] < left[i + step] : left[i] > left[i + step];
			left[i] = first ? left[i] : left[i + step];
		}
	}
	return left[0];
}

static float expected_lane(simd_op op, const float a[8], const float b[8], int i)
{
	switch (op) {
	case SIMD_ADD: return a[i] + b[i];
	case SIMD_SUB: return a[i] - b[i];
	case SIMD_MUL: return a[i] * b[i];
	case SIMD_DIV: return a[i] / b[i];
	case SIMD_MIN: return a[i] < b[i] ? a[i] : b[i];
	case SIMD_MAX: return a[i] > b[i] ? a[i] : b[i];
	case SIMD_ABS: return fabsf(a[i]);
	case SIMD_NEG: return -a[i];
	case SIMD_SET1: return a[0];
	case SIMD_SELECT: return a[i] < b[i] ? -b[i] : a[i];
	case SIMD_SQRT: return sqrtf(a[i]);
	case SIMD_LOWEST: return expected_extreme(a, true);
	case SIMD_HIGHEST: return expected_extreme(a, false);
	default: return a[i];
	}
}

/// The same bits. Which of two NaN goes on is the compiler's choice, so arithmetic may give any.
static bool same_lane(simd_op op, float x, float y)
{
	if ((op <= SIMD_DIV || op == SIMD_SQRT) && isnan(x) && isnan(y))
		return true;
	return memcmp(&x, &y, sizeof x) == 0;
}

static void random_doubles(uint64_t *seed, double lanes[8])
{
	static const double odd[] = { 0, -0.0, 1, -1, 0x1p-1074, -0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023, INFINITY, -INFINITY,
		NAN, 0.1 };
	for (int i = 0; i < 8; i++) {
		const uint64_t bits = test_random(seed), kind = test_random(seed) % 3;
		if (kind == 0)
			lanes[i] = odd[bits % (sizeof odd / sizeof *odd)];
		else if (kind == 1)
			lanes[i] = test_random_double(seed, -10, 10);
		else
			memcpy(&lanes[i], &bits, sizeof bits); // any number there is
	}
}

static double expected_double(simd_op op, const double a[8], const double b[8], int i)
{
	switch (op) {
	case SIMD_ADD: return a[i] + b[i];
	case SIMD_SUB: return a[i] - b[i];
	case SIMD_MUL: return a[i] * b[i];
	case SIMD_DIV: return a[i] / b[i];
	case SIMD_MIN: return a[i] < b[i] ? a[i] : b[i];
	case SIMD_MAX: return a[i] > b[i] ? a[i] : b[i];
	case SIMD_ABS: return fabs(a[i]);
	case SIMD_SET1: return a[0];
	default: return a[i];
	}
}

TEST(simd, doubles_of_any_kind)
{
	static const simd_op ops[9] = { SIMD_ADD, SIMD_SUB, SIMD_MUL, SIMD_DIV, SIMD_MIN, SIMD_MAX, SIMD_ABS, SIMD_SET1, SIMD_COPY };
	for (int t = 0; t < TABLE_COUNT; t++) {
		uint64_t seed = 52;
		if (!cr_cpu_has(TABLES[t].simd))
			continue;
		int wrong = 0;
		for (int round = 0; round < 20000 && wrong == 0; round++) {
			double a[8], b[8], r[8], base[40];
			int32_t index[8];
			random_doubles(&seed, a);
			random_doubles(&seed, b);
			for (int k = 0; k < 9; k++) {
				TABLES[t].ops->compute_doubles(ops[k], a, b, r);
				for (int i = 0; i < 8; i++) {
					const double expected = expected_double(ops[k], a, b, i);
					const bool any_nan = ops[k] <= SIMD_DIV && isnan(r[i]) && isnan(expected);
					wrong += !any_nan && memcmp(&r[i], &expected, sizeof expected) != 0;
				}
			}
			const uint32_t less = TABLES[t].ops->doubles_less(a, b);
			for (int i = 0; i < 40; i++)
				base[i] = i;
			for (int i = 0; i < 8; i++)
				index[i] = (int32_t)(test_random(&seed) % 40);
			float narrow[8];
			double widened[8];
			for (int i = 0; i < 8; i++)
				narrow[i] = (float)a[i];
			TABLES[t].ops->load_floats(narrow, widened);
			for (int i = 0; i < 8; i++)
				wrong += widened[i] != (double)narrow[i] && !isnan(narrow[i]);
			TABLES[t].ops->to_floats(a, narrow);
			for (int i = 0; i < 8; i++) {
				const float expected = (float)a[i];
				wrong += !isnan(a[i]) && memcmp(&narrow[i], &expected, sizeof expected) != 0;
			}
			TABLES[t].ops->gather_doubles(base, index, r);
			for (int i = 0; i < 8; i++)
				wrong += (less >> i & 1) != (uint32_t)(a[i] < b[i]) || r[i] != index[i];
			wrong += less >> 8 != 0;
		}
		CHECK_INT(wrong, 0);
	}
}

TEST(simd, masks_from_bits)
{
	const float a[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, b[8] = { -1, -2, -3, -4, -5, -6, -7, -8 };
	for (int t = 0; t < TABLE_COUNT; t++) {
		for (uint32_t lanes = 0; lanes < 256 && cr_cpu_has(TABLES[t].simd); lanes++) {
			float r[8];
			TABLES[t].ops->select_bits(lanes, a, b, r);
			for (int i = 0; i < 8; i++)
				CHECK(r[i] == (lanes >> i & 1 ? a[i] : b[i]));
		}
	}
}

TEST(simd, arithmetic_of_any_numbers)
{
	for (int t = 0; t < TABLE_COUNT; t++) {
		uint64_t seed = 51;
		if (!cr_cpu_has(TABLES[t].simd))
			continue;
		int wrong = 0;
		for (int round = 0; round < 20000 && wrong == 0; round++) {
			float a[8], b[8], r[8];
			random_lanes(&seed, a);
			random_lanes(&seed, b);
			for (int op = 0; op < SIMD_OPS; op++) {
				TABLES[t].ops->compute((simd_op)op, a, b, r);
				for (int i = 0; i < 8; i++) {
					if (same_lane((simd_op)op, r[i], expected_lane((simd_op)op, a, b, i)))
						continue;
					wrong++;
					printf("%s, operation %d of %a and %a: %a, expected %a\n", carom_simd_name(TABLES[t].simd), op, a[i], b[i],
						r[i], expected_lane((simd_op)op, a, b, i));
				}
			}
		}
		CHECK_INT(wrong, 0);
	}
}

static bool expected_test(simd_test test, float a, float b)
{
	switch (test) {
	case SIMD_LT: return a < b;
	case SIMD_LE: return a <= b;
	case SIMD_EQ: return a == b;
	case SIMD_LT_AND_LE: return a < b && fabsf(b) <= fabsf(a);
	default: return a < b || a == b;
	}
}

TEST(simd, comparisons_of_any_numbers)
{
	for (int t = 0; t < TABLE_COUNT; t++) {
		uint64_t seed = 52;
		if (!cr_cpu_has(TABLES[t].simd))
			continue;
		int wrong = 0;
		for (int round = 0; round < 20000 && wrong == 0; round++) {
			float a[8], b[8];
			random_lanes(&seed, a);
			random_lanes(&seed, b);
			// Equal lanes are rare otherwise.
			for (int i = 0; i < 8; i++)
				b[i] = test_random(&seed) % 4 == 0 ? a[i] : b[i];
			for (int test = 0; test < SIMD_TESTS; test++) {
				uint32_t expected = 0;
				for (int i = 0; i < 8; i++)
					expected |= (uint32_t)expected_test((simd_test)test, a[i], b[i]) << i;
				wrong += !CHECK_INT(TABLES[t].ops->compare((simd_test)test, a, b), expected);
			}
		}
		if (wrong > 0)
			printf("instruction set %s\n", carom_simd_name(TABLES[t].simd));
	}
}

TEST(simd, truncation_and_gathering)
{
	uint8_t bytes[1000 + 3];
	for (int i = 0; i < 1003; i++)
		bytes[i] = (uint8_t)(i * 37 + 11);
	for (int t = 0; t < TABLE_COUNT; t++) {
		uint64_t seed = 53;
		if (!cr_cpu_has(TABLES[t].simd))
			continue;
		for (int round = 0; round < 2000; round++) {
			static const float SPECIAL[] = { 0, -0.0f, 0.99999994f, -0.99999994f, 16777215, -16777215, 8388607.5f, 1e-40f };
			float a[8], index[8], r[8];
			for (int i = 0; i < 8; i++) {
				a[i] = round == 0 ? SPECIAL[i] : (float)test_random_double(&seed, -1, 1) * ldexpf(1, round % 25);
				index[i] = round == 0 ? (i < 4 ? 0.0f : 999.0f) : (float)(test_random(&seed) % 1000);
			}
			TABLES[t].ops->truncate(a, r);
			for (int i = 0; i < 8; i++) {
				const float expected = (float)(int32_t)a[i];
				CHECK(memcmp(&r[i], &expected, sizeof expected) == 0);
			}
			TABLES[t].ops->gather(bytes, index, r);
			for (int i = 0; i < 8; i++)
				CHECK_INT(r[i], bytes[(int)index[i]]);
		}
	}
}

static int32_t expected_whole(simd_whole_op op, const int32_t a[8], const int32_t b[8], int i)
{
	switch (op) {
	case SIMD_WHOLE_ADD: return (int32_t)((uint32_t)a[i] + (uint32_t)b[i]);
	case SIMD_WHOLE_AND: return a[i] & b[i];
	case SIMD_WHOLE_SHIFT: return (int32_t)((uint32_t)a[i] << 3);
	case SIMD_WHOLE_SELECT: return a[i] < b[i] ? b[i] : a[i];
	case SIMD_WHOLE_SUB: return (int32_t)((uint32_t)a[i] - (uint32_t)b[i]);
	case SIMD_WHOLE_MUL: return (int32_t)((uint32_t)a[i] * (uint32_t)b[i]);
	case SIMD_WHOLE_XOR: return a[i] ^ b[i];
	case SIMD_WHOLE_MIN: return a[i] < b[i] ? a[i] : b[i];
	case SIMD_WHOLE_MAX: return a[i] > b[i] ? a[i] : b[i];
	case SIMD_WHOLE_SHIFT_RIGHT: return (int32_t)((uint32_t)a[i] >> 5);
	case SIMD_WHOLE_EQUAL: return a[i] == b[i] ? -1 : 0;
	default: return a[0];
	}
}

TEST(simd, whole_numbers)
{
	float floats[500];
	int32_t numbers[500];
	for (int i = 0; i < 500; i++) {
		floats[i] = 0.25f * (float)i - 7;
		numbers[i] = i * 8191 - 300000;
	}
	for (int t = 0; t < TABLE_COUNT; t++) {
		uint64_t seed = 58;
		if (!cr_cpu_has(TABLES[t].simd))
			continue;
		for (int round = 0; round < 2000; round++) {
			int32_t a[8], b[8], r[8];
			float f[8];
			uint32_t less = 0;
			for (int i = 0; i < 8; i++) {
				a[i] = (int32_t)(uint32_t)test_random(&seed) >> (i * 3);
				b[i] = test_random(&seed) % 4 == 0 ? a[i] : (int32_t)(uint32_t)test_random(&seed) >> (i * 3);
				less |= (uint32_t)(a[i] < b[i]) << i;
			}
			for (int op = 0; op < SIMD_WHOLE_OPS; op++) {
				TABLES[t].ops->compute_whole((simd_whole_op)op, a, b, r);
				for (int i = 0; i < 8; i++)
					CHECK_INT(r[i], expected_whole((simd_whole_op)op, a, b, i));
			}
			CHECK_INT(TABLES[t].ops->whole_less(a, b), less);
			for (int i = 0; i < 8; i++)
				a[i] = (int32_t)(test_random(&seed) % 500);
			TABLES[t].ops->gather_floats(floats, a, f);
			TABLES[t].ops->gather_whole(numbers, a, r);
			for (int i = 0; i < 8; i++) {
				CHECK(f[i] == floats[a[i]]);
				CHECK_INT(r[i], numbers[a[i]]);
			}
		}
	}
}

TEST(simd, lanes_are_packed_paired_and_transposed)
{
	for (int t = 0; t < TABLE_COUNT; t++) {
		if (!cr_cpu_has(TABLES[t].simd))
			continue;
		// Every mask there is.
		for (int mask = 0; mask < 256; mask++) {
			int32_t a[8], b[8], packed[8], pairs[16];
			float fours[32], columns[4][8];
			for (int i = 0; i < 8; i++) {
				a[i] = 1000 * mask + 7 * i - 100000;
				b[i] = a[i] + (mask >> i & 1);
			}
			for (int i = 0; i < 32; i++)
				fours[i] = (float)(mask * 32 + i) - 0.5f;
			const int count = TABLES[t].ops->compress(a, b, packed);
			CHECK_INT(count, __builtin_popcount((unsigned)mask));
			for (int i = 0, at = 0; i < 8; i++) {
				if (mask >> i & 1)
					CHECK_INT(packed[at++], a[i]);
			}
			TABLES[t].ops->store_pairs(a, b, pairs);
			for (int i = 0; i < 16; i++)
				CHECK_INT(pairs[i], i % 2 ? b[i / 2] : a[i / 2]);
			TABLES[t].ops->load_fours(fours, columns);
			for (int i = 0; i < 32; i++)
				CHECK(columns[i % 4][i / 4] == fours[i]);
			int32_t rows[8];
			float threes[3][8];
			for (int i = 0; i < 8; i++)
				rows[i] = (mask + 3 * i) % 10; // the last of the ten ends two floats before the end
			TABLES[t].ops->load_threes(fours, rows, threes);
			for (int i = 0; i < 24; i++)
				CHECK(threes[i % 3][i / 3] == fours[3 * rows[i / 3] + i % 3]);
			const float halves[8] = { 0, -0.0f, 0.99f, -0.99f, 2147483520.0f, -2147483648.0f, (float)mask + 0.5f,
				-(float)mask - 0.5f };
			int32_t whole[8];
			TABLES[t].ops->truncate_whole(halves, whole);
			for (int i = 0; i < 8; i++)
				CHECK_INT(whole[i], (int32_t)halves[i]);
		}
	}
}

TEST(simd, lowest_bit_is_taken)
{
	uint32_t bits = 0xa0000011u;
	CHECK_INT(cr_take_lowest_bit(&bits), 0);
	CHECK_INT(cr_take_lowest_bit(&bits), 4);
	CHECK_INT(cr_take_lowest_bit(&bits), 29);
	CHECK_INT(cr_take_lowest_bit(&bits), 31);
	CHECK_INT(bits, 0);
}

// ---- Kernels over meshes ----

// More blocks of eight than the walks for pairs have in hand at once.
enum { SOUP = 280 };

/// Triangles here and there, open.
static carom_mesh *make_soup(carom_context *context, uint64_t seed)
{
	float vertices[9 * SOUP];
	int32_t triangles[3 * SOUP];
	for (int i = 0; i < SOUP; i++) {
		double centre[3];
		for (int k = 0; k < 3; k++) {
			centre[k] = test_random_double(&seed, -1, 1);
			triangles[3 * i + k] = 3 * i + k;
		}
		for (int k = 0; k < 9; k++)
			vertices[9 * i + k] = (float)(centre[k % 3] + test_random_double(&seed, -0.3, 0.3));
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = 3 * SOUP;
	def.triangles = triangles;
	def.triangle_count = SOUP;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

/// A turn about z by the angle whose cosine is 3/5, and a move: exact enough in float, with its inverse.
static void make_transforms(double shift, cr_transform *b_to_a, cr_transform *a_to_b)
{
	*b_to_a = (cr_transform){ { { 0.6f, -0.8f, 0 }, { 0.8f, 0.6f, 0 }, { 0, 0, 1 } }, { (float)shift, 0.25f, 0.5f } };
	*a_to_b = (cr_transform){ { { 0.6f, 0.8f, 0 }, { -0.8f, 0.6f, 0 }, { 0, 0, 1 } }, { 0 } };
	for (int i = 0; i < 3; i++) {
		double t = 0;
		for (int k = 0; k < 3; k++)
			t -= (double)a_to_b->r[i][k] * b_to_a->t[k];
		a_to_b->t[i] = (float)t;
	}
}

static void place_triangle(const cr_collider *c, int32_t number, const cr_transform *m, v3d corners[3])
{
	cr_collider_triangle(c, number, corners);
	for (int k = 0; m && k < 3; k++) {
		const v3d p = corners[k];
		double at[3];
		for (int i = 0; i < 3; i++)
			at[i] = (double)m->r[i][0] * p.x + (double)m->r[i][1] * p.y + (double)m->r[i][2] * p.z + m->t[i];
		corners[k] = (v3d){ at[0], at[1], at[2] };
	}
}

/// Every pair of triangles that intersects is among the candidates, and none is there twice.
static int check_candidates(const cr_collider *a, const cr_collider *b, const cr_transform *b_to_a, const cr_candidates *found)
{
	static uint8_t listed[SOUP][SOUP];
	memset(listed, 0, sizeof listed);
	for (int32_t i = 0; i < found->count; i++) {
		const cr_candidate c = found->data[i];
		REQUIRE(c.a >= 0 && c.a < SOUP && c.b >= 0 && c.b < SOUP);
		CHECK_INT(listed[c.a][c.b]++, 0);
	}
	int crossings = 0, missed = 0;
	for (int32_t i = 0; i < SOUP; i++) {
		for (int32_t k = 0; k < SOUP; k++) {
			v3d s[3], t[3];
			place_triangle(a, i, NULL, s);
			place_triangle(b, k, b_to_a, t);
			const bool cross = cr_triangles_intersect(s, t);
			crossings += cross;
			missed += cross && !listed[i][k];
		}
	}
	CHECK_INT(missed, 0);
	return crossings;
}

TEST(simd, pairs_of_triangles_are_the_same_on_all)
{
	carom_context *context = context_of(CAROM_SIMD_SCALAR);
	carom_mesh *a = make_soup(context, 54), *b = make_soup(context, 55);
	for (int round = 0; round < 12; round++) {
		cr_transform b_to_a, a_to_b;
		make_transforms(0.3 * round - 1, &b_to_a, &a_to_b);
		cr_arena arena;
		cr_arena_init(&arena, context);
		cr_candidates expected = { .arena = &arena };
		cr_get_bvh_kernels(CAROM_SIMD_SCALAR)->pairs(&a->collider, &b->collider, &b_to_a, &a_to_b, 0, &expected);
		CHECK(!expected.failed);
		const int crossings = check_candidates(&a->collider, &b->collider, &b_to_a, &expected);
		CHECK(crossings > 0 || round > 9);
		for (int t = 1; t < TABLE_COUNT; t++) {
			if (!machine_has(TABLES[t].simd))
				continue;
			cr_candidates found = { .arena = &arena };
			cr_get_bvh_kernels(TABLES[t].simd)->pairs(&a->collider, &b->collider, &b_to_a, &a_to_b, 0, &found);
			REQUIRE(CHECK_INT(found.count, expected.count));
			CHECK(found.count == 0 || memcmp(found.data, expected.data, (size_t)found.count * sizeof *found.data) == 0);
			// Up to a number that is enough the same; else the walk ends after the leaves that it had in hand (pair_kernels.c).
			for (int32_t most = 1; most <= expected.count; most += most) {
				found.count = 0;
				found.most = most;
				cr_get_bvh_kernels(TABLES[t].simd)->pairs(&a->collider, &b->collider, &b_to_a, &a_to_b, 0, &found);
				CHECK(found.count > most ? found.count <= most + 32 * CR_WIDTH * CR_WIDTH : found.count == expected.count);
				CHECK((found.count > most) == (expected.count > most));
				CHECK(memcmp(found.data, expected.data, (size_t)found.count * sizeof *found.data) == 0);
			}
		}
		cr_arena_free(&arena);
	}
	carom_release_mesh(a);
	carom_release_mesh(b);
	carom_destroy_context(context);
}

TEST(simd, blocks_in_a_box_are_the_same_on_all)
{
	carom_context *context = context_of(CAROM_SIMD_SCALAR);
	carom_mesh *mesh = make_soup(context, 56);
	const cr_collider *c = &mesh->collider;
	uint64_t seed = 57;
	for (int round = 0; round < 300; round++) {
		float lower[3], upper[3];
		for (int k = 0; k < 3; k++) {
			lower[k] = (float)test_random_double(&seed, -1.5, 1.2);
			upper[k] = lower[k] + (float)test_random_double(&seed, 0, round % 2 ? 0.2 : 1);
		}
		int32_t expected[SOUP], found[SOUP];
		const int32_t count = cr_get_bvh_kernels(CAROM_SIMD_SCALAR)->blocks_in_box(c, lower, upper, SOUP, expected);
		// Every triangle whose corners' box meets the box is in a block of the list.
		for (int32_t b = 0; b < c->tree.block_count; b++) {
			bool listed = false, meets = false;
			for (int32_t i = 0; i < count; i++)
				listed = listed || expected[i] == b;
			for (int lane = 0; lane < c->blocks[b].count; lane++) {
				bool overlap = true;
				for (int k = 0; k < 3; k++) {
					const float x = c->blocks[b].corner[0][k][lane], y = c->blocks[b].corner[1][k][lane],
								z = c->blocks[b].corner[2][k][lane];
					overlap = overlap && fminf(fminf(x, y), z) <= upper[k] && fmaxf(fmaxf(x, y), z) >= lower[k];
				}
				meets = meets || overlap;
			}
			CHECK(listed || !meets);
		}
		for (int t = 1; t < TABLE_COUNT; t++) {
			if (!machine_has(TABLES[t].simd))
				continue;
			const cr_bvh_kernels *kernels = cr_get_bvh_kernels(TABLES[t].simd);
			REQUIRE(CHECK_INT(kernels->blocks_in_box(c, lower, upper, SOUP, found), count));
			CHECK(memcmp(found, expected, (size_t)count * sizeof *found) == 0);
			// Too little room: the number is still right, and nothing is written beyond.
			found[1] = -7;
			CHECK_INT(kernels->blocks_in_box(c, lower, upper, 1, found), count);
			CHECK_INT(found[1], -7);
		}
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
