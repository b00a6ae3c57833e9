/// Swept queries: instruction sets, lists, the earliest, separations, symmetries, known cases. Exact truth: test_swept_exact.c.
#include "test.h"
#include "swept_fixture.h"
#include "geom/swept_kernels.h"
#include "lab/sweep_methods.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_COUNT = 3000 };

/// A list of queries of one kind, each with vertices of its own.
typedef struct list {
	swept_query query[LIST_COUNT];
	double begin[LIST_COUNT][4][3], end[LIST_COUNT][4][3];
	int32_t vertices[LIST_COUNT][4];
	cr_swept_queries queries;
	cr_swept_impact impacts[LIST_COUNT];
} list;

static list *make_list(cr_swept_kind kind, uint64_t seed)
{
	list *l = calloc(1, sizeof *l);
	REQUIRE(l);
	for (int i = 0; i < LIST_COUNT; i++) {
		// Half of them without degeneracy.
		const swept_family family = i % 2 ? SWEPT_FREE : (swept_family)(i / 2 % SWEPT_FAMILY_COUNT);
		swept_make_query(kind, family, (swept_change)(i / 20 % SWEPT_CHANGE_COUNT), &seed, &l->query[i]);
		memcpy(l->begin[i], l->query[i].begin, sizeof l->begin[i]);
		memcpy(l->end[i], l->query[i].end, sizeof l->end[i]);
		for (int k = 0; k < 4; k++)
			l->vertices[i][k] = 4 * i + k;
	}
	l->queries = (cr_swept_queries){ kind, &l->begin[0][0][0], &l->end[0][0][0], (const int32_t(*)[4])l->vertices, NULL, 0 };
	return l;
}

static const carom_simd SETS[] = {
#ifdef CR_HAVE_SSE2
	CAROM_SIMD_SSE2,
#endif
#ifdef CR_HAVE_AVX2
	CAROM_SIMD_AVX2,
#endif
#ifdef CR_HAVE_AVX512
	CAROM_SIMD_AVX512,
#endif
#ifdef CR_HAVE_NEON
	CAROM_SIMD_NEON,
#endif
	CAROM_SIMD_SCALAR,
};
enum { SET_COUNT = sizeof SETS / sizeof *SETS };

/// Whether this machine can run the set.
static bool has_set(carom_simd simd)
{
	carom_context_def def = carom_default_context_def();
	def.simd = simd;
	def.thread_count = 1;
	carom_context *context = NULL;
	if (carom_create_context(&def, &context) != CAROM_SUCCESS)
		return false;
	carom_destroy_context(context);
	return true;
}

TEST(swept, filters_agree_on_all_instruction_sets)
{
	for (int kind = 0; kind < 2; kind++) {
		list *l = make_list((cr_swept_kind)kind, 7);
		static const double separations[3] = { 0, 1e-3, 0.5 };
		for (int s = 0; s < 3; s++) {
			static int32_t expected[LIST_COUNT], left[LIST_COUNT];
			cr_swept_stats expected_stats = { 0 };
			const int32_t expected_count = cr_get_swept_kernels(CAROM_SIMD_SCALAR)
											   ->filter(&l->queries, 0, LIST_COUNT, separations[s], expected, &expected_stats);
			CHECK(expected_count > LIST_COUNT / 10 && expected_count < LIST_COUNT);
			CHECK_INT(expected_stats.queries, LIST_COUNT);
			CHECK_INT(
				expected_count + expected_stats.by_axes + expected_stats.by_diagonals + expected_stats.by_cubic, LIST_COUNT);
			for (int k = 0; k < SET_COUNT; k++) {
				cr_swept_stats stats = { 0 };
				if (!has_set(SETS[k]))
					continue;
				const int32_t count =
					cr_get_swept_kernels(SETS[k])->filter(&l->queries, 0, LIST_COUNT, separations[s], left, &stats);
				REQUIRE(CHECK_INT(count, expected_count));
				CHECK(memcmp(left, expected, (size_t)count * sizeof *left) == 0);
				CHECK(memcmp(&stats, &expected_stats, sizeof stats) == 0);
			}
		}
		free(l);
	}
}

static bool same_impact(const cr_swept_impact *a, const cr_swept_impact *b)
{
	return a->query == b->query && a->time == b->time && a->time_high == b->time_high && a->distance == b->distance &&
		memcmp(a->weight, b->weight, sizeof a->weight) == 0 && memcmp(a->normal, b->normal, sizeof a->normal) == 0 &&
		a->status == b->status && a->rung == b->rung;
}

TEST(swept, lists_are_cut_anywhere)
{
	for (int kind = 0; kind < 2; kind++) {
		list *l = make_list((cr_swept_kind)kind, 8);
		const cr_swept_options options = cr_swept_default_options(swept_boxes());
		cr_swept_stats stats = { 0 };
		const int32_t count = cr_swept_find(&l->queries, 0, LIST_COUNT, &options, l->impacts, &stats);
		CHECK(count > LIST_COUNT / 20);
		CHECK_INT(stats.impacts, count);
		CHECK_INT(stats.advanced, stats.clear + stats.impacts);
		int32_t at = 0;
		uint64_t random = 3;
		for (int32_t begin = 0, here; begin < LIST_COUNT; begin += here) {
			cr_swept_impact piece[40];
			here = (int32_t)(test_random(&random) % 40);
			here = here < LIST_COUNT - begin ? here : LIST_COUNT - begin;
			const int32_t found = cr_swept_find(&l->queries, begin, here, &options, piece, &stats);
			REQUIRE(at + found <= count);
			for (int32_t i = 0; i < found; i++)
				CHECK(same_impact(&piece[i], &l->impacts[at + i]));
			at += found;
		}
		CHECK_INT(at, count);
		free(l);
	}
}

/// The sum over statuses and all bits of the times: the same for every compiler and machine.
static uint64_t hash_impacts(const cr_swept_impact *impacts, int32_t count)
{
	uint64_t hash = 14695981039346656037u;
	for (int32_t i = 0; i < count; i++) {
		uint64_t words[10] = { (uint64_t)impacts[i].query, impacts[i].status };
		memcpy(&words[2], &impacts[i].time, 8);
		memcpy(&words[3], impacts[i].weight, 32);
		memcpy(&words[7], impacts[i].normal, 24);
		for (int k = 0; k < 10; k++)
			hash = (hash ^ words[k]) * 1099511628211u;
	}
	return hash;
}

TEST(swept, determinism)
{
	static const uint64_t expected[2][2] = { { 0x59fad38b90fa2a44, 0x8f01c3fe2d5c4b49 },
		{ 0xe200a0fc9c661548, 0x3ff4293def643123 } };
	for (int kind = 0; kind < 2; kind++) {
		list *l = make_list((cr_swept_kind)kind, 9);
		for (int method = 0; method < 2; method++) {
			cr_swept_options options = cr_swept_default_options(swept_boxes());
			cr_swept_stats stats = { 0 };
			options.method = (cr_swept_method)method;
			const int32_t count = cr_swept_find(&l->queries, 0, LIST_COUNT, &options, l->impacts, &stats);
			const uint64_t hash = hash_impacts(l->impacts, count);
			if (!CHECK(hash == expected[kind][method]))
				printf("    kind %d, method %d: 0x%" PRIx64 "\n", kind, method, hash);
		}
		free(l);
	}
}

TEST(swept, earliest_is_the_first_of_all)
{
	for (int kind = 0; kind < 2; kind++) {
		list *l = make_list((cr_swept_kind)kind, 10);
		const cr_swept_options options = cr_swept_default_options(swept_boxes());
		cr_swept_stats stats = { 0 };
		// Whole lists hold impacts at time 0; so ever shorter pieces too.
		for (int32_t begin = 0; begin < LIST_COUNT; begin += 30) {
			const int32_t count = cr_swept_find(&l->queries, begin, 30, &options, l->impacts, &stats);
			cr_swept_impact expected = cr_swept_no_impact(), forward = expected, backward = expected;
			for (int32_t i = 0; i < count; i++) {
				if (cr_swept_is_earlier(&l->impacts[i], &expected))
					expected = l->impacts[i];
			}
			cr_swept_find_earliest(&l->queries, begin, 30, &options, &forward, &stats);
			for (int32_t part = 9; part >= 0; part--)
				cr_swept_find_earliest(&l->queries, begin + 3 * part, 3, &options, &backward, &stats);
			CHECK(same_impact(&forward, &expected));
			CHECK(same_impact(&backward, &expected));
		}
		free(l);
	}
}

TEST(swept, later_impacts_are_not_looked_for)
{
	uint64_t random = 11;
	int before = 0, after = 0;
	for (int i = 0; i < 4000; i++) {
		swept_query q;
		cr_swept_impact whole, part;
		cr_swept_options options = cr_swept_default_options(swept_boxes());
		swept_make_query((cr_swept_kind)(i % 2), i % 4 < 2 ? SWEPT_FREE : SWEPT_TOUCH, SWEPT_AS_IS, &random, &q);
		if (cr_swept_test(q.kind, q.begin, q.end, &options, &whole, NULL) == CR_SWEPT_CLEAR)
			continue;
		options.t_max = 0.4;
		const cr_swept_status status = cr_swept_test(q.kind, q.begin, q.end, &options, &part, NULL);
		if (whole.time <= 0.4) {
			CHECK(status != CR_SWEPT_CLEAR && same_impact(&whole, &part));
			before++;
		} else {
			CHECK_INT(status, CR_SWEPT_CLEAR);
			after++;
		}
	}
	CHECK(before > 200 && after > 200);
}

TEST(swept, ends_that_touch_exactly)
{
	static const double sizes[5] = { 0.5, 1, 10, 100, 1000 };
	uint64_t random = 12;
	for (int s = 0; s < 5; s++) {
		for (int i = 0; i < 4000 / TEST_FEWER; i++) {
			swept_query q;
			swept_make_touching_ends(sizes[s], &random, &q);
			for (int method = 0; method < 2; method++) {
				cr_swept_options options = cr_swept_default_options(swept_boxes());
				cr_swept_impact impact = { .time = 2 };
				options.method = (cr_swept_method)method;
				const cr_swept_status status = cr_swept_test(q.kind, q.begin, q.end, &options, &impact, NULL);
				CHECK_INT(status, CR_SWEPT_IMPACT);
				CHECK(impact.time <= 0.5);
				CHECK_NEAR(impact.time, 0.5, 1e-5);
			}
		}
	}
}

/// The least distance over the step, from above: by sampling, then by halving around the best sample.
static double dull_least_distance(const swept_query *q)
{
	enum { SAMPLES = 400 };
	double best = INFINITY, at = 0;
	for (int i = 0; i <= SAMPLES; i++) {
		const double distance = swept_dull_distance(q, (double)i / SAMPLES);
		if (distance < best) {
			best = distance;
			at = (double)i / SAMPLES;
		}
	}
	for (double width = 1.0 / SAMPLES; width > 1e-12; width *= 0.5) {
		for (int side = -1; side <= 1; side += 2) {
			const double time = fmin(fmax(at + side * width, 0), 1), distance = swept_dull_distance(q, time);
			if (distance < best) {
				best = distance;
				at = time;
			}
		}
	}
	return best;
}

TEST(swept, separation_is_kept)
{
	uint64_t random = 13;
	int near = 0, far = 0, undecided = 0;
	for (int i = 0; i < 3000; i++) {
		swept_query q;
		static const double separations[4] = { 1e-5, 0.01, 0.2, 1 };
		cr_swept_options options = cr_swept_default_options(swept_boxes());
		options.min_separation = separations[i / 2 % 4];
		options.method = i % 16 < 14 ? CR_SWEPT_CERTIFIED : CR_SWEPT_INCLUSION;
		swept_make_query(
			(cr_swept_kind)(i % 2), (swept_family)(i / 8 % SWEPT_FAMILY_COUNT), i % 3 ? SWEPT_AS_IS : SWEPT_FAR, &random, &q);
		static const int32_t vertices[1][4] = { { 0, 1, 2, 3 } };
		const cr_swept_queries one = { q.kind, &q.begin[0][0], &q.end[0][0], vertices, NULL, 0 };
		cr_swept_impact impact;
		cr_swept_stats stats = { 0 };
		const bool found = cr_swept_find(&one, 0, 1, &options, &impact, &stats) > 0;
		const double least = dull_least_distance(&q);
		if (least <= options.min_separation * (1 - 1e-12)) {
			CHECK(found);
			near++;
		}
		if (!found) {
			CHECK(least > options.min_separation * (1 - 1e-12));
			far++;
		} else if (impact.status == CR_SWEPT_UNDECIDED) {
			undecided += options.method == CR_SWEPT_CERTIFIED;
		} else {
			CHECK(swept_dull_distance(&q, impact.time) <= options.min_separation + options.tolerance * 1.001 + 1e-12);
			// Clear before: look at a few times.
			for (int k = 0; k < 8; k++)
				CHECK(impact.time == 0 || swept_dull_distance(&q, impact.time * k / 8) > options.min_separation);
		}
	}
	CHECK(near > 500 && far > 500);
	CHECK(undecided < 30);
}

/// The same query with its ends, edges or corners named in another order.
static void rename_vertices(const swept_query *q, int way, swept_query *other)
{
	static const int edges[8][4] = { { 0, 1, 2, 3 }, { 1, 0, 2, 3 }, { 0, 1, 3, 2 }, { 1, 0, 3, 2 }, { 2, 3, 0, 1 },
		{ 3, 2, 0, 1 }, { 2, 3, 1, 0 }, { 3, 2, 1, 0 } };
	static const int faces[8][4] = { { 0, 1, 2, 3 }, { 0, 2, 3, 1 }, { 0, 3, 1, 2 }, { 0, 1, 3, 2 }, { 0, 2, 1, 3 },
		{ 0, 3, 2, 1 }, { 0, 1, 2, 3 }, { 0, 2, 3, 1 } };
	other->kind = q->kind;
	for (int i = 0; i < 4; i++) {
		const int from = (q->kind == CR_SWEPT_EDGE_EDGE ? edges : faces)[way][i];
		memcpy(other->begin[i], q->begin[from], sizeof q->begin[from]);
		memcpy(other->end[i], q->end[from], sizeof q->end[from]);
	}
}

TEST(swept, order_of_the_vertices_does_not_matter)
{
	uint64_t random = 14;
	const cr_swept_options options = cr_swept_default_options(swept_boxes());
	for (int i = 0; i < 8000; i++) {
		swept_query q, other;
		cr_swept_impact impact = { .time = 2 };
		swept_make_query((cr_swept_kind)(i % 2), (swept_family)(i / 2 % SWEPT_FAMILY_COUNT),
			(swept_change)(i / 20 % SWEPT_CHANGE_COUNT), &random, &q);
		const bool clear = cr_swept_test(q.kind, q.begin, q.end, &options, &impact, NULL) == CR_SWEPT_CLEAR;
		for (int way = 1; way < 8; way++) {
			cr_swept_impact renamed = { .time = 2 };
			rename_vertices(&q, way, &other);
			const cr_swept_status status = cr_swept_test(other.kind, other.begin, other.end, &options, &renamed, NULL);
			CHECK_INT(status == CR_SWEPT_CLEAR, clear);
		}
	}
}

TEST(swept, moving_all_exactly_changes_no_bit)
{
	uint64_t random = 15;
	const cr_swept_options options = cr_swept_default_options(swept_boxes());
	for (int i = 0; i < 2000; i++) {
		swept_query q, moved;
		cr_swept_impact impact = { .time = 2 }, other = { .time = 2 };
		swept_make_query((cr_swept_kind)(i % 2), (swept_family)(i / 2 % 9), SWEPT_AS_IS, &random, &q);
		for (int k = 0; k < 24; k++) // whole multiples of 2^-20, so that the sums are exact
			(k < 12 ? q.begin : q.end)[k % 12 / 3][k % 3] =
				floor((k < 12 ? q.begin : q.end)[k % 12 / 3][k % 3] * 0x1p20) * 0x1p-20;
		moved = q;
		for (int k = 0; k < 24; k++)
			(k < 12 ? moved.begin : moved.end)[k % 12 / 3][k % 3] += k < 12 ? 1048576.0 : 3145728.0;
		const cr_swept_status status = cr_swept_test(q.kind, q.begin, q.end, &options, &impact, NULL);
		CHECK_INT(cr_swept_test(moved.kind, moved.begin, moved.end, &options, &other, NULL), status);
		CHECK(status == CR_SWEPT_CLEAR || same_impact(&impact, &other));
	}
}

TEST(swept, impacts_are_described)
{
	uint64_t random = 16;
	const cr_swept_options options = cr_swept_default_options(swept_boxes());
	int found = 0;
	for (int i = 0; i < 20000; i++) {
		swept_query q;
		cr_swept_impact impact;
		swept_make_query((cr_swept_kind)(i % 2), SWEPT_FREE, SWEPT_AS_IS, &random, &q);
		if (cr_swept_test(q.kind, q.begin, q.end, &options, &impact, NULL) != CR_SWEPT_IMPACT)
			continue;
		found++;
		const int split = q.kind == CR_SWEPT_EDGE_EDGE ? 2 : 1;
		double first = 0, second = 0, square = 0, toward = 0;
		for (int k = 0; k < 3; k++) {
			double off = 0;
			for (int v = 0; v < 4; v++) {
				const double x = (1 - impact.time) * q.begin[v][k] + impact.time * q.end[v][k];
				off += (v < split ? impact.weight[v] : -impact.weight[v]) * x;
				// A little earlier, the first feature is on the side that the normal points to.
				const double motion = q.end[v][k] - q.begin[v][k];
				toward -= (v < split ? impact.weight[v] : -impact.weight[v]) * motion * impact.normal[k];
			}
			CHECK_NEAR(off, 0, 2e-6);
			square += impact.normal[k] * impact.normal[k];
		}
		for (int v = 0; v < 4; v++) {
			CHECK(impact.weight[v] >= -1e-9 && impact.weight[v] <= 1 + 1e-9);
			*(v < split ? &first : &second) += impact.weight[v];
		}
		CHECK_NEAR(first, 1, 1e-12);
		CHECK_NEAR(second, 1, 1e-12);
		CHECK_NEAR(square, 1, 1e-12);
		CHECK(toward > -1e-6);
		CHECK(impact.time <= impact.time_high && impact.distance <= options.tolerance);
	}
	CHECK(found > 300);
}

/// Whether the description of an impact keeps its promises: a unit normal, weights that sum to 1, all finite.
static bool is_described(const cr_swept_impact *impact, cr_swept_kind kind)
{
	const int split = kind == CR_SWEPT_EDGE_EDGE ? 2 : 1;
	const double *n = impact->normal, *w = impact->weight;
	const double square = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
	const double first = split == 2 ? w[0] + w[1] : w[0], second = (split == 2 ? 0 : w[1]) + w[2] + w[3];
	bool within = impact->time >= 0 && impact->time <= impact->time_high && impact->time_high <= 1;
	for (int v = 0; v < 4; v++)
		within &= w[v] >= -1e-9 && w[v] <= 1 + 1e-9;
	return within && fabs(square - 1) <= 1e-14 && fabs(first - 1) <= 1e-12 && fabs(second - 1) <= 1e-12;
}

/// Numbers of sizes that differ: of each coordinate, of each vertex, or of each query.
static void spread_sizes(swept_query *q, int way, uint64_t *random)
{
	static const double sizes[12] = { 0x1p-1074, 1e-320, 1e-310, 1e-300, 1e-200, 1e-160, 1e-100, 1e-30, 1, 1e12, 1e90, 1e300 };
	double size = 1;
	for (int i = 0; i < 24; i++) {
		if (way == 0 ? i == 0 : way == 1 ? i % 3 == 0 : true)
			size = sizes[test_random(random) % 12];
		(i < 12 ? q->begin : q->end)[i % 12 / 3][i % 3] *= size;
	}
}

TEST(swept, normals_are_unit_whatever_the_size)
{
	uint64_t random = 19;
	int found = 0;
	for (int i = 0; i < 60000; i++) {
		swept_query q;
		cr_swept_impact impact = { .time = 2 };
		cr_swept_options options = cr_swept_default_options(swept_boxes());
		options.method = (cr_swept_method)(i / 2 % 3);
		options.tolerance = i % 5 ? 1e-6 : 0;
		options.min_separation = i % 7 ? 0 : 1e-3;
		swept_make_query((cr_swept_kind)(i % 2), (swept_family)(i / 6 % SWEPT_FAMILY_COUNT),
			(swept_change)(i / 60 % SWEPT_CHANGE_COUNT), &random, &q);
		spread_sizes(&q, i % 3, &random);
		if (i % 4 == 0)
			memcpy(q.end, q.begin, sizeof q.end);
		if (cr_swept_test(q.kind, q.begin, q.end, &options, &impact, NULL) == CR_SWEPT_CLEAR)
			continue;
		found++;
		if (CHECK(is_described(&impact, q.kind)))
			continue;
		printf("    query %d: normal %g %g %g, weights %g %g %g %g, time %g\n", i, impact.normal[0], impact.normal[1],
			impact.normal[2], impact.weight[0], impact.weight[1], impact.weight[2], impact.weight[3], impact.time);
		swept_print_query(&q);
	}
	CHECK(found > 10000);
}

TEST(swept, what_touches_is_described_alike_at_any_size)
{
	uint64_t random = 20;
	static const double sizes[5] = { 0x1p-1074, 0x1p-1030, 0x1p-800, 0x1p-540, 0x1p-270 };
	int found = 0;
	for (int i = 0; i < 4000; i++) {
		swept_query q;
		cr_swept_impact impact = { .time = 2 };
		cr_swept_options options = cr_swept_default_options(swept_boxes());
		options.tolerance = 0;
		swept_make_query((cr_swept_kind)(i % 2), (swept_family)(SWEPT_GRID + i / 2 % 8), SWEPT_AS_IS, &random, &q);
		memcpy(q.end, q.begin, sizeof q.end);
		if (cr_swept_test(q.kind, q.begin, q.end, &options, &impact, NULL) != CR_SWEPT_TOUCHING || impact.distance > 0)
			continue;
		found++;
		for (int k = 0; k < 5; k++) {
			swept_query tiny = q;
			cr_swept_impact other = { .time = 2 };
			for (int n = 0; n < 24; n++)
				(n < 12 ? tiny.begin : tiny.end)[n % 12 / 3][n % 3] *= sizes[k];
			CHECK(cr_swept_test(q.kind, tiny.begin, tiny.end, &options, &other, NULL) == CR_SWEPT_TOUCHING);
			CHECK(memcmp(other.weight, impact.weight, sizeof other.weight) == 0);
			CHECK(memcmp(other.normal, impact.normal, sizeof other.normal) == 0);
		}
	}
	CHECK(found > 500);
}

TEST(swept, what_is_not_finite_is_not_clear)
{
	static const double bad[3] = { NAN, INFINITY, -INFINITY };
	uint64_t random = 17;
	for (int i = 0; i < 24 * 3 * 2; i++) {
		swept_query q;
		cr_swept_impact impact;
		cr_swept_stats stats = { 0 };
		static const int32_t vertices[1][4] = { { 0, 1, 2, 3 } };
		const cr_swept_options options = cr_swept_default_options(swept_boxes());
		swept_make_query((cr_swept_kind)(i % 2), SWEPT_STILL, SWEPT_AS_IS, &random, &q);
		const int place = i / 2 % 24;
		(place < 12 ? q.begin : q.end)[place % 12 / 3][place % 3] = bad[i / 48];
		const cr_swept_queries one = { q.kind, &q.begin[0][0], &q.end[0][0], vertices, NULL, 0 };
		if (!CHECK_INT(cr_swept_find(&one, 0, 1, &options, &impact, &stats), 1))
			continue;
		CHECK_INT(impact.status, CR_SWEPT_UNDECIDED);
		CHECK(impact.time == 0 && impact.time_high == 1);
		CHECK(isfinite(impact.normal[0]));
	}
}

TEST(swept, the_plain_cubic_misses_what_stays_in_a_plane)
{
	uint64_t random = 18;
	int certified = 0, cubic = 0, agree = 0, total = 0;
	for (int i = 0; i < 2000; i++) {
		swept_query q;
		cr_swept_impact impact;
		cr_swept_options options = cr_swept_default_options(swept_boxes());
		swept_make_query((cr_swept_kind)(i % 2), i < 1000 ? SWEPT_PLANE : SWEPT_FREE, SWEPT_AS_IS, &random, &q);
		const bool found = cr_swept_test(q.kind, q.begin, q.end, &options, &impact, NULL) != CR_SWEPT_CLEAR;
		const double time = impact.time;
		options.solve = cr_swept_solve_cubic;
		const bool plain = cr_swept_test(q.kind, q.begin, q.end, &options, &impact, NULL) != CR_SWEPT_CLEAR;
		if (i < 1000) {
			certified += found;
			cubic += plain;
		} else {
			total++;
			agree += found == plain && (!found || fabs(impact.time - time) < 1e-6);
		}
	}
	CHECK(cubic < certified / 2);
	CHECK_INT(agree, total); // without degeneracy it is right
}
