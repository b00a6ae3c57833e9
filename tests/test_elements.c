// Batches of elementary tests (carom/batch.h): each record against the single test, bit for bit, on
// one thread and on four; degenerate records, misuse, memory.
#include "fixture.h"
#include "pool_fixture.h"

#include "carom/batch.h"

#include <math.h>
#include <string.h>

enum { VERTICES = 6 * 3000, RECORDS = 3000 };

typedef struct records {
	double positions[3 * VERTICES];
	double end[3 * VERTICES];
	int32_t numbers[6 * RECORDS];
	carom_elements in_order;
	carom_elements numbered;
} records;

/// Places on a coarse grid: many records touch, lie in one plane, or have no area.
static void fill(records *r)
{
	uint64_t seed = 4;
	for (int i = 0; i < 3 * VERTICES; i++) {
		r->positions[i] = i % 9 ? test_random_double(&seed, -1, 1) : floor(test_random_double(&seed, -2, 3)) / 2;
		r->end[i] = r->positions[i] + test_random_double(&seed, -0.5, 0.5);
	}
	for (int i = 0; i < 6 * RECORDS; i++)
		r->numbers[i] = (int32_t)(test_random(&seed) % (i / 6 % 5 ? VERTICES : 12));
	r->in_order = (carom_elements){ RECORDS, r->positions, VERTICES, NULL };
	r->numbered = (carom_elements){ RECORDS, r->positions, VERTICES, r->numbers };
}

static void places_of(const carom_elements *e, int size, int i, carom_vec3 places[6])
{
	for (int k = 0; k < size; k++) {
		const double *p = e->positions + 3 * (e->vertices ? e->vertices[size * i + k] : size * i + k);
		places[k] = (carom_vec3){ p[0], p[1], p[2] };
	}
}

static bool same_number(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

static bool same_on_triangle(const carom_triangle_point *a, const carom_triangle_point *b)
{
	return fixture_same_vector(a->point, b->point) && memcmp(a->weights, b->weights, sizeof a->weights) == 0 &&
		a->feature == b->feature && a->number == b->number;
}

static bool same_on_edge(const carom_edge_point *a, const carom_edge_point *b)
{
	return fixture_same_vector(a->point, b->point) && a->t == b->t && a->feature == b->feature && a->number == b->number;
}

static void check_of_four(carom_context *context, const carom_elements *e)
{
	static double distances[RECORDS], alone[RECORDS];
	static carom_triangle_point on[RECORDS];
	static carom_edge_point on_a[RECORDS], on_b[RECORDS];
	static int8_t signs[RECORDS];
	int count[3] = { 0 };
	carom_vec3 p[6];
	REQUIRE(carom_point_triangle_distances(context, e, distances, on) == CAROM_SUCCESS);
	REQUIRE(carom_point_triangle_distances(context, e, alone, NULL) == CAROM_SUCCESS);
	for (int i = 0; i < RECORDS; i++) {
		carom_triangle_point expected = { .number = 0 };
		places_of(e, 4, i, p);
		CHECK(same_number(distances[i], carom_point_triangle_distance(p[0], p + 1, &expected)));
		CHECK(same_number(distances[i], alone[i]));
		CHECK(same_on_triangle(&on[i], &expected));
	}
	REQUIRE(carom_edge_edge_distances(context, e, distances, on_a, on_b) == CAROM_SUCCESS);
	REQUIRE(carom_edge_edge_distances(context, e, alone, NULL, NULL) == CAROM_SUCCESS);
	REQUIRE(carom_orientations(context, e, signs) == CAROM_SUCCESS);
	for (int i = 0; i < RECORDS; i++) {
		carom_edge_point a = { .t = 0 }, b = { .t = 0 };
		places_of(e, 4, i, p);
		CHECK(same_number(distances[i], carom_edge_edge_distance(p, p + 2, &a, &b)));
		CHECK(same_number(distances[i], alone[i]));
		CHECK(same_on_edge(&on_a[i], &a) && same_on_edge(&on_b[i], &b));
		CHECK_INT(signs[i], carom_orientation(p[0], p[1], p[2], p[3]));
		count[signs[i] + 1]++;
	}
	CHECK(count[0] > 100 && count[2] > 100);
	CHECK(!e->vertices || count[1] > 10);
}

static void check_of_six(carom_context *context, const carom_elements *e)
{
	static double distances[RECORDS];
	static carom_triangle_point on_a[RECORDS], on_b[RECORDS];
	static bool intersect[RECORDS];
	int crossing = 0;
	carom_vec3 p[6];
	REQUIRE(carom_triangle_triangle_distances(context, e, distances, on_a, on_b) == CAROM_SUCCESS);
	REQUIRE(carom_triangle_pairs_intersect(context, e, intersect) == CAROM_SUCCESS);
	for (int i = 0; i < RECORDS; i++) {
		carom_triangle_point a = { .number = 0 }, b = { .number = 0 };
		places_of(e, 6, i, p);
		CHECK(same_number(distances[i], carom_triangle_triangle_distance(p, p + 3, &a, &b)));
		CHECK(same_on_triangle(&on_a[i], &a) && same_on_triangle(&on_b[i], &b));
		CHECK_INT(intersect[i], carom_triangles_intersect(p, p + 3));
		crossing += intersect[i];
	}
	CHECK(crossing > 100 && crossing < RECORDS);
}

static void check_swept(carom_context *context, const records *r, const carom_elements *e, carom_sweep_kind kind)
{
	static double times[RECORDS], alone[RECORDS];
	static carom_sweep_hit hits[RECORDS];
	int hit_count = 0;
	REQUIRE(carom_sweep_test_pairs(context, NULL, kind, e, r->end, times, hits) == CAROM_SUCCESS);
	REQUIRE(carom_sweep_test_pairs(context, NULL, kind, e, r->end, alone, NULL) == CAROM_SUCCESS);
	for (int i = 0; i < RECORDS; i++) {
		double begin[4][3], end[4][3];
		bool found;
		carom_sweep_hit hit = { .time = 0 };
		for (int k = 0; k < 4; k++) {
			const int64_t vertex = e->vertices ? e->vertices[4 * i + k] : 4 * i + k;
			memcpy(begin[k], r->positions + 3 * vertex, sizeof begin[k]);
			memcpy(end[k], r->end + 3 * vertex, sizeof end[k]);
		}
		REQUIRE(carom_sweep_test_pair(context, NULL, kind, (const double(*)[3])begin, (const double(*)[3])end, &found, &hit) ==
			CAROM_SUCCESS);
		CHECK(same_number(times[i], found ? hit.time : (double)INFINITY));
		CHECK(same_number(times[i], alone[i]));
		CHECK(hits[i].kind == hit.kind && hits[i].status == hit.status && hits[i].triangle == hit.triangle);
		CHECK(memcmp(hits[i].weight, hit.weight, sizeof hit.weight) == 0);
		CHECK(memcmp(hits[i].normal, hit.normal, sizeof hit.normal) == 0);
		for (int k = 0; k < 4 && found; k++)
			CHECK_INT(hits[i].vertices[k], e->vertices ? e->vertices[4 * i + k] : 4 * i + k);
		hit_count += found;
	}
	CHECK(hit_count > 30 && hit_count < RECORDS);
}

static void check_with(int threads)
{
	static records r;
	carom_context *context = fixture_context(threads);
	fill(&r);
	for (int kind = 0; kind < 2; kind++) {
		check_swept(context, &r, &r.in_order, (carom_sweep_kind)kind);
		check_swept(context, &r, &r.numbered, (carom_sweep_kind)kind);
	}
	// Not finite: no distance.
	r.positions[100] = NAN;
	r.positions[3 * 700] = INFINITY;
	check_of_four(context, &r.in_order);
	check_of_four(context, &r.numbered);
	check_of_six(context, &r.in_order);
	check_of_six(context, &r.numbered);
	carom_destroy_context(context);
}

TEST(elements, records_of_one_thread_are_those_of_single_tests) { check_with(1); }

TEST(elements, records_of_four_threads_are_those_of_single_tests)
{
	pool_require_threads();
	check_with(4);
}

TEST(elements, the_first_wrong_record_is_named_on_any_threads)
{
	static records r;
	static double times[RECORDS];
	carom_context *context = fixture_context(4);
	fill(&r);
	r.numbers[4 * 2000] = -1;
	r.numbers[4 * 1500 + 2] = VERTICES;
	for (int round = 0; round < 20; round++) {
		times[0] = 7;
		fixture_expect_wrong(context, carom_point_triangle_distances(context, &r.numbered, times, NULL),
			"carom_point_triangle_distances: vertex 2 of record 1500 is 18000; there are 18000 vertices");
		fixture_expect_wrong(context,
			carom_sweep_test_pairs(context, NULL, CAROM_SWEEP_EDGE_EDGE, &r.numbered, r.end, times, NULL),
			"carom_sweep_test_pairs: vertex 2 of record 1500 is 18000");
		CHECK_NEAR(times[0], 7, 0);
	}
	r.end[3 * 401 + 1] = INFINITY;
	fixture_expect_wrong(context, carom_sweep_test_pairs(context, NULL, CAROM_SWEEP_EDGE_EDGE, &r.in_order, r.end, times, NULL),
		"carom_sweep_test_pairs: end[401] is (");
	CHECK(strstr(carom_error_text(context), "record 100 has it") != NULL);
	r.positions[3 * 7 + 2] = NAN;
	fixture_expect_wrong(context,
		carom_sweep_test_pairs(context, NULL, CAROM_SWEEP_VERTEX_FACE, &r.in_order, r.end, times, NULL), "positions[7] is (");
	carom_destroy_context(context);
}

TEST(elements, empty_batches_and_misuse)
{
	static records r;
	carom_context *context = fixture_context(1);
	const carom_elements none = { 0, NULL, 0, NULL }, negative = { -1, r.positions, 4, NULL };
	const carom_elements few = { 3, r.positions, 11, NULL }, lost = { 1, NULL, 4, NULL };
	double distances[2];
	int8_t signs[2];
	bool intersect[2];
	fill(&r);
	CHECK_INT(carom_point_triangle_distances(context, &none, NULL, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_edge_edge_distances(context, &none, NULL, NULL, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_triangle_triangle_distances(context, &none, NULL, NULL, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_triangle_pairs_intersect(context, &none, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_orientations(context, &none, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_sweep_test_pairs(context, NULL, CAROM_SWEEP_EDGE_EDGE, &none, NULL, NULL, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_orientations(NULL, &r.in_order, signs), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_sweep_test_pairs(NULL, NULL, CAROM_SWEEP_EDGE_EDGE, &none, NULL, NULL, NULL), CAROM_INVALID_ARGUMENT);
	fixture_expect_wrong(context, carom_orientations(context, NULL, signs), "carom_orientations: elements is NULL");
	fixture_expect_wrong(context, carom_orientations(context, &negative, signs), "elements->count is -1");
	fixture_expect_wrong(context, carom_orientations(context, &lost, signs), "elements->positions is NULL");
	fixture_expect_wrong(
		context, carom_orientations(context, &few, signs), "3 records of 4 vertices, but elements->vertex_count is 11");
	fixture_expect_wrong(context, carom_triangle_pairs_intersect(context, &few, intersect), "3 records of 6 vertices");
	fixture_expect_wrong(context, carom_orientations(context, &r.in_order, NULL), "signs is NULL");
	fixture_expect_wrong(context, carom_edge_edge_distances(context, &r.in_order, NULL, NULL, NULL), "distances is NULL");
	fixture_expect_wrong(context,
		carom_sweep_test_pairs(context, NULL, (carom_sweep_kind)7, &r.in_order, r.end, distances, NULL),
		"carom_sweep_test_pairs: kind is 7");
	fixture_expect_wrong(context, carom_sweep_test_pairs(context, NULL, CAROM_SWEEP_EDGE_EDGE, NULL, r.end, distances, NULL),
		"elements is NULL");
	fixture_expect_wrong(context,
		carom_sweep_test_pairs(context, NULL, CAROM_SWEEP_EDGE_EDGE, &r.in_order, NULL, distances, NULL), "end is NULL");
	fixture_expect_wrong(
		context, carom_sweep_test_pairs(context, NULL, CAROM_SWEEP_EDGE_EDGE, &r.in_order, r.end, NULL, NULL), "times is NULL");
	carom_sweep_def def = carom_default_sweep_def();
	def.tolerance = -1;
	fixture_expect_wrong(context,
		carom_sweep_test_pairs(context, &def, CAROM_SWEEP_EDGE_EDGE, &r.in_order, r.end, distances, NULL), "tolerance");
	carom_destroy_context(context);
}

TEST(elements, memory_is_taken_by_swept_tests_alone)
{
	static records r;
	static double times[RECORDS];
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	fill(&r);
	atomic_store(&heap.fail_at, atomic_load(&heap.calls));
	CHECK_INT(carom_point_triangle_distances(context, &r.numbered, times, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_triangle_triangle_distances(context, &r.numbered, times, NULL, NULL), CAROM_SUCCESS);
	times[0] = 7;
	CHECK_INT(
		carom_sweep_test_pairs(context, NULL, CAROM_SWEEP_EDGE_EDGE, &r.in_order, r.end, times, NULL), CAROM_OUT_OF_MEMORY);
	CHECK_NEAR(times[0], 7, 0);
	atomic_store(&heap.fail_at, -1);
	CHECK_INT(carom_sweep_test_pairs(context, NULL, CAROM_SWEEP_EDGE_EDGE, &r.in_order, r.end, times, NULL), CAROM_SUCCESS);
	carom_destroy_context(context);
	CHECK_INT(atomic_load(&heap.blocks), 0);
}
