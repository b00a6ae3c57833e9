/// Broad phases against brute force: the same pairs in any scene, while bodies move, come and go, on any number of workers.
#include "test.h"
#include "lab/lab_state.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef carom_result create_fn(carom_context *context, cr_broad **broad);

static create_fn *const FAST[] = { cr_broad_create_sweep, cr_broad_create_tree };
static const char *const FAST_NAME[] = { "sweep", "tree" };
enum { FAST_COUNT = 2 };

static void set_box(cr_body *body, const double centre[3], const double half[3])
{
	for (int k = 0; k < 3; k++) {
		body->lower[k] = centre[k] - half[k];
		body->upper[k] = centre[k] + half[k];
	}
	body->moved = true;
}

static void make_body(cr_body *body, uint8_t kind)
{
	const uint32_t generation = body->generation;
	*body = (cr_body){ .alive = true,
		.refiltered = true,
		.kind = kind,
		.generation = generation + 1,
		.contacts = true,
		.category = 1,
		.mask = UINT64_MAX };
}

static void random_box(uint64_t *seed, cr_body *body, double span, const double origin[3])
{
	double centre[3], half[3];
	for (int k = 0; k < 3; k++) {
		centre[k] = origin[k] + test_random_double(seed, -span, span);
		half[k] = test_random_double(seed, 0.2, 1.0);
	}
	set_box(body, centre, half);
}

static void endless_box(cr_body *body)
{
	for (int k = 0; k < 3; k++) {
		body->lower[k] = -INFINITY;
		body->upper[k] = INFINITY;
	}
	body->moved = true;
}

static carom_context *make_context(int threads)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	carom_context *context = NULL;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	return context;
}

/// The broad phases under test with the oracle beside them.
typedef struct bench {
	carom_context *context;
	cr_broad *oracle;
	cr_broad *fast[FAST_COUNT];
	cr_pair_list expected;
	cr_pair_list found;
	int64_t pairs; // expected in all calls, so that a test cannot pass on empty scenes
} bench;

static void bench_open(bench *b, int threads)
{
	*b = (bench){ .context = make_context(threads) };
	REQUIRE(cr_broad_create_brute(b->context, &b->oracle) == CAROM_SUCCESS);
	for (int i = 0; i < FAST_COUNT; i++)
		REQUIRE(FAST[i](b->context, &b->fast[i]) == CAROM_SUCCESS);
}

static void bench_close(bench *b)
{
	b->oracle->destroy(b->oracle);
	for (int i = 0; i < FAST_COUNT; i++)
		b->fast[i]->destroy(b->fast[i]);
	cr_array_free(b->context, &b->expected);
	cr_array_free(b->context, &b->found);
	CHECK_INT(carom_memory_in_use(b->context), b->context->size);
	carom_destroy_context(b->context);
}

static bool same_pairs(const cr_pair_list *a, const cr_pair_list *b)
{
	return a->count == b->count && (a->count == 0 || memcmp(a->data, b->data, (size_t)a->count * sizeof *a->data) == 0);
}

/// Run all on the bodies and compare; moved flags are cleared afterwards as a step does.
static bool bench_check(bench *b, cr_body *bodies, int32_t count)
{
	bool same = true;
	REQUIRE(b->oracle->find(b->oracle, bodies, count, &b->expected) == CAROM_SUCCESS);
	b->pairs += b->expected.count;
	for (int i = 0; i < FAST_COUNT; i++) {
		REQUIRE(b->fast[i]->find(b->fast[i], bodies, count, &b->found) == CAROM_SUCCESS);
		if (!CHECK(same_pairs(&b->found, &b->expected))) {
			test_check_str(FAST_NAME[i], "the oracle's pairs", "broad phase", __FILE__, __LINE__);
			test_check_int(b->found.count, b->expected.count, "pairs", __FILE__, __LINE__);
			same = false;
		}
	}
	for (int32_t i = 0; i < count; i++)
		bodies[i].moved = bodies[i].refiltered = false;
	return same;
}

TEST(broad, brute_force_finds_what_overlaps)
{
	// The oracle itself, against what is plain to see: closed boxes in a row, each touching the next.
	carom_context *context = make_context(1);
	cr_broad *brute;
	REQUIRE(cr_broad_create_brute(context, &brute) == CAROM_SUCCESS);
	cr_body bodies[5] = { 0 };
	for (int i = 0; i < 5; i++) {
		make_body(&bodies[i], CAROM_DYNAMIC);
		set_box(&bodies[i], (double[]){ 2.0 * i, 0, 0 }, (double[]){ 1, 1, 1 });
	}
	cr_pair_list pairs = { 0 };
	REQUIRE(brute->find(brute, bodies, 5, &pairs) == CAROM_SUCCESS);
	REQUIRE(pairs.count == 4);
	for (int i = 0; i < 4; i++) {
		CHECK_INT(pairs.data[i].a, i);
		CHECK_INT(pairs.data[i].b, i + 1);
	}
	bodies[1].alive = false;
	bodies[3].kind = bodies[4].kind = CAROM_STATIC;
	REQUIRE(brute->find(brute, bodies, 5, &pairs) == CAROM_SUCCESS);
	REQUIRE(pairs.count == 1);
	CHECK_INT(pairs.data[0].a, 2);
	CHECK_INT(pairs.data[0].b, 3);
	REQUIRE(brute->find(brute, bodies, 0, &pairs) == CAROM_SUCCESS);
	CHECK_INT(pairs.count, 0);
	cr_array_free(context, &pairs);
	brute->destroy(brute);
	carom_destroy_context(context);
}

/// How a scene of the random walk differs.
typedef struct walk {
	int32_t count;
	double span;
	double origin[3];
	double step; // of moving bodies
	int share;   // 1 in share bodies moves each step
	int steps;
	bool comes_and_goes;
	int threads;
} walk;

/// One of few filters, so that many pairs share one, as set by a call between steps.
static void random_filter(uint64_t *seed, cr_body *body)
{
	static const uint64_t masks[] = { UINT64_MAX, UINT64_MAX, 1, 2, 3, 0 };
	static const int32_t groups[] = { 0, 0, 0, -3, 5, 6 };
	body->category = test_random(seed) % 4;
	body->mask = masks[test_random(seed) % 6];
	body->group = groups[test_random(seed) % 6];
	body->refiltered = true;
}

static void random_walk(const walk *w, uint64_t seed)
{
	bench b;
	bench_open(&b, w->threads);
	cr_body *bodies = calloc((size_t)w->count, sizeof *bodies);
	for (int32_t i = 0; i < w->count; i++) {
		make_body(&bodies[i], (uint8_t)(i % 7 == 0 ? CAROM_STATIC : i % 7 == 1 ? CAROM_KINEMATIC : CAROM_DYNAMIC));
		bodies[i].group = i % 11 == 0 ? -3 : 0;
		bodies[i].mask = i % 13 == 0 ? 2 : UINT64_MAX;
		random_box(&seed, &bodies[i], w->span, w->origin);
	}
	if (w->count > 20) {
		endless_box(&bodies[7]);
		endless_box(&bodies[14]);
	}
	for (int step = 0; step < w->steps; step++) {
		if (!bench_check(&b, bodies, w->count))
			break;
		for (int32_t i = 0; i < w->count; i++) {
			if (test_random(&seed) % (uint64_t)w->share != 0)
				continue;
			if (w->comes_and_goes && test_random(&seed) % 3 == 0) {
				bodies[i].alive = !bodies[i].alive;
				if (!bodies[i].alive)
					continue;
				make_body(&bodies[i], (uint8_t)(test_random(&seed) % 3));
				random_box(&seed, &bodies[i], w->span, w->origin);
				if (test_random(&seed) % 16 == 0 && bodies[i].kind != CAROM_DYNAMIC)
					endless_box(&bodies[i]);
			} else if (w->comes_and_goes && w->count > 20 && bodies[i].alive && test_random(&seed) % 4 == 0) {
				random_filter(&seed, &bodies[i]);
			} else if (bodies[i].alive) {
				for (int k = 0; k < 3; k++) {
					const double d = test_random_double(&seed, -w->step, w->step);
					bodies[i].lower[k] += d;
					bodies[i].upper[k] += d;
				}
				bodies[i].moved = true;
			}
		}
	}
	CHECK(b.pairs > w->steps);
	free(bodies);
	bench_close(&b);
}

TEST(broad, all_agree_while_everything_creeps)
{
	random_walk(&(walk){ .count = 400, .span = 6, .step = 0.05, .share = 1, .steps = 80, .threads = 1 }, 1);
}

TEST(broad, all_agree_while_everything_jumps)
{
	random_walk(&(walk){ .count = 400, .span = 6, .step = 3, .share = 1, .steps = 30, .threads = 1 }, 2);
}

TEST(broad, all_agree_while_little_moves)
{
	random_walk(&(walk){ .count = 500, .span = 7, .step = 1, .share = 40, .steps = 200, .threads = 1 }, 3);
}

TEST(broad, all_agree_while_bodies_come_and_go)
{
	random_walk(
		&(walk){ .count = 300, .span = 5, .step = 0.5, .share = 20, .steps = 200, .comes_and_goes = true, .threads = 1 }, 4);
	random_walk(
		&(walk){ .count = 300, .span = 5, .step = 0.5, .share = 2, .steps = 50, .comes_and_goes = true, .threads = 1 }, 5);
	random_walk(
		&(walk){ .count = 6, .span = 1, .step = 0.5, .share = 3, .steps = 300, .comes_and_goes = true, .threads = 1 }, 6);
}

TEST(broad, all_agree_far_from_the_origin)
{
	random_walk(
		&(walk){ .count = 300, .span = 5, .origin = { 1e7, -1e7, 3e6 }, .step = 0.3, .share = 3, .steps = 60, .threads = 1 }, 7);
	random_walk(
		&(walk){ .count = 200, .span = 5, .origin = { 1e12, 0, 0 }, .step = 1, .share = 3, .steps = 20, .threads = 1 }, 8);
}

TEST(broad, workers_do_not_show)
{
	random_walk(&(walk){ .count = 2000, .span = 11, .step = 0.1, .share = 1, .steps = 6, .threads = 2 }, 9);
	random_walk(
		&(walk){ .count = 1500, .span = 10, .step = 1, .share = 30, .steps = 12, .comes_and_goes = true, .threads = 4 }, 10);
}

TEST(broad, a_world_that_drifts_away_stays_right)
{
	// All bodies travel together from 0 to 1e8 m: the tree must follow with its origin.
	bench b;
	bench_open(&b, 1);
	enum { COUNT = 120 };
	cr_body bodies[COUNT] = { 0 };
	uint64_t seed = 11;
	const double origin[3] = { 0 };
	for (int i = 0; i < COUNT; i++) {
		make_body(&bodies[i], CAROM_DYNAMIC);
		random_box(&seed, &bodies[i], 3, origin);
	}
	for (double distance = 1; distance < 1e8; distance *= 1.7) {
		if (!bench_check(&b, bodies, COUNT))
			break;
		for (int i = 0; i < COUNT; i++) {
			bodies[i].lower[0] += distance;
			bodies[i].upper[0] += distance;
			bodies[i].moved = true;
		}
	}
	CHECK(b.pairs > 1000);
	bench_close(&b);
}

TEST(broad, degenerate_boxes)
{
	bench b;
	bench_open(&b, 1);
	enum { COUNT = 90 };
	cr_body bodies[COUNT] = { 0 };
	// All the same point; all the same box; touching faces only; one huge box; signed zeros.
	for (int scene = 0; scene < 5; scene++) {
		const int64_t before = b.pairs;
		for (int i = 0; i < COUNT; i++) {
			make_body(&bodies[i], CAROM_DYNAMIC);
			const double x = scene == 2 ? 2.0 * i : 0, size = scene == 0 ? 0 : scene == 3 && i == 40 ? 1e20 : 1;
			set_box(&bodies[i], (double[]){ x, 0, 0 }, (double[]){ size, size, size });
			if (scene == 4) {
				for (int k = 0; k < 3; k++) {
					bodies[i].lower[k] = i % 2 ? 0.0 : -1;
					bodies[i].upper[k] = i % 2 ? 1 : -0.0;
				}
			}
		}
		CHECK(bench_check(&b, bodies, COUNT));
		CHECK_INT(b.pairs - before, scene == 2 ? COUNT - 1 : COUNT * (COUNT - 1) / 2);
	}
	CHECK(bench_check(&b, bodies, 0));
	CHECK(bench_check(&b, bodies, 1));
	CHECK(bench_check(&b, bodies, COUNT));
	bench_close(&b);
}

TEST(broad, boxes_at_the_end_of_the_numbers)
{
	bench b;
	bench_open(&b, 1);
	cr_body bodies[12] = { 0 };
	for (int i = 0; i < 12; i++) {
		make_body(&bodies[i], CAROM_DYNAMIC);
		const double c = i < 4 ? 1.5e308 : i < 8 ? -1.5e308 : 1e29;
		set_box(&bodies[i], (double[]){ c, i, 0 }, (double[]){ 1e292, 1, 1 });
	}
	CHECK(bench_check(&b, bodies, 12));
	CHECK(b.pairs > 0);
	bench_close(&b);
}

TEST(broad, empty_boxes)
{
	// What a mesh without triangles has: from inf to -inf. By the rule for closed boxes it overlaps what has no end, and nothing else.
	bench b;
	bench_open(&b, 1);
	enum { COUNT = 60 };
	cr_body bodies[COUNT] = { 0 };
	uint64_t seed = 23;
	const double origin[3] = { 0 };
	for (int i = 0; i < COUNT; i++) {
		make_body(&bodies[i], CAROM_DYNAMIC);
		random_box(&seed, &bodies[i], 2, origin);
		if (i % 4 == 0) {
			for (int k = 0; k < 3; k++) {
				bodies[i].lower[k] = INFINITY;
				bodies[i].upper[k] = -INFINITY;
			}
		}
	}
	CHECK(bench_check(&b, bodies, COUNT));
	make_body(&bodies[30], CAROM_STATIC);
	endless_box(&bodies[30]);
	CHECK(bench_check(&b, bodies, COUNT));
	random_box(&seed, &bodies[4], 2, origin);
	CHECK(bench_check(&b, bodies, COUNT));
	CHECK(b.pairs > 100);
	bench_close(&b);
}

TEST(broad, many_planes_and_many_bodies)
{
	bench b;
	bench_open(&b, 1);
	enum { COUNT = 600 };
	cr_body *bodies = calloc(COUNT, sizeof *bodies);
	uint64_t seed = 13;
	const double origin[3] = { 0 };
	for (int i = 0; i < COUNT; i++) {
		make_body(&bodies[i], i % 10 == 0 ? CAROM_STATIC : CAROM_DYNAMIC);
		if (i % 10 == 0)
			endless_box(&bodies[i]);
		else
			random_box(&seed, &bodies[i], 8, origin);
	}
	for (int step = 0; step < 4; step++) {
		CHECK(bench_check(&b, bodies, COUNT));
		for (int i = step; i < COUNT; i += 50)
			random_box(&seed, &bodies[i], 8, origin); // some planes become boxes
	}
	CHECK(b.pairs > 60 * 540);
	free(bodies);
	bench_close(&b);
}

// ---- What far bodies, filters and planes cost ----

enum { CLOUD = 2000 };

/// Boxes in a cube, and how many pairs of boxes a broad phase compares in a first call; 1 in share of them lies far off in each axis.
static int64_t compared_in_cloud(create_fn *create, double far, int share)
{
	carom_context *context = make_context(1);
	cr_broad *broad, *oracle;
	REQUIRE(create(context, &broad) == CAROM_SUCCESS && cr_broad_create_brute(context, &oracle) == CAROM_SUCCESS);
	static cr_body bodies[CLOUD];
	memset(bodies, 0, sizeof bodies);
	uint64_t seed = 31;
	for (int i = 0; i < CLOUD; i++) {
		const double off = share > 0 && i % share == share / 2 ? far : 0;
		make_body(&bodies[i], CAROM_DYNAMIC);
		random_box(&seed, &bodies[i], 12, (double[]){ off, off, off });
	}
	cr_pair_list found = { 0 }, expected = { 0 };
	REQUIRE(broad->find(broad, bodies, CLOUD, &found) == CAROM_SUCCESS);
	REQUIRE(oracle->find(oracle, bodies, CLOUD, &expected) == CAROM_SUCCESS);
	CHECK(same_pairs(&found, &expected));
	CHECK(found.count > CLOUD / 4);
	const int64_t compared = broad->compared;
	cr_array_free(context, &found);
	cr_array_free(context, &expected);
	broad->destroy(broad);
	oracle->destroy(oracle);
	carom_destroy_context(context);
	return compared;
}

TEST(broad, far_bodies_cost_nothing)
{
	for (int i = 0; i < FAST_COUNT; i++) {
		const int64_t near = compared_in_cloud(FAST[i], 0, 0);
		for (double far = 1e5; far <= 1e15; far *= 100) {
			// One body, one in a hundred, and two heaps.
			CHECK(compared_in_cloud(FAST[i], far, CLOUD) <= near + near / 10);
			CHECK(compared_in_cloud(FAST[i], far, 100) <= near + near / 10);
			// At 1e15 the far boxes, of 0.4 to 2, are blurred in double.
			if (far <= 1e13)
				CHECK(compared_in_cloud(FAST[i], far, 2) <= near + near / 2);
		}
	}
}

TEST(broad, a_body_that_flies_off_costs_nothing)
{
	// Bodies change places, few at a time, while one body flies off to 1e13.
	int64_t compared[2] = { 0 };
	for (int far = 0; far < 2; far++) {
		bench b;
		bench_open(&b, 1);
		static cr_body bodies[CLOUD];
		memset(bodies, 0, sizeof bodies);
		uint64_t seed = 37;
		for (int i = 0; i < CLOUD; i++) {
			make_body(&bodies[i], CAROM_DYNAMIC);
			random_box(&seed, &bodies[i], 12, (double[]){ 0, 0, 0 });
		}
		for (int step = 0; step < 150; step++) {
			const double out = far ? 10 * pow(1.2, step) : 0;
			set_box(&bodies[7], (double[]){ out, -out, out }, (double[]){ 0.5, 0.5, 0.5 });
			for (int i = 0; i < CLOUD / 10; i++)
				random_box(&seed, &bodies[test_random(&seed) % (CLOUD - 8) + 8], 12, (double[]){ 0, 0, 0 });
			REQUIRE(b.fast[1]->find(b.fast[1], bodies, CLOUD, &b.found) == CAROM_SUCCESS);
			compared[far] += b.fast[1]->compared;
			for (int i = 0; i < CLOUD; i++)
				bodies[i].moved = false;
		}
		CHECK(bench_check(&b, bodies, CLOUD));
		bench_close(&b);
	}
	CHECK(compared[1] < compared[0] + compared[0] / 5);
}

TEST(broad, masks_and_groups_are_asked_of_subtrees)
{
	// All at one place, and no two may collide: two kinds of body that want neither their own nor the other, and one negative group.
	for (int scene = 0; scene < 3; scene++) {
		bench b;
		bench_open(&b, 1);
		static cr_body bodies[CLOUD];
		memset(bodies, 0, sizeof bodies);
		for (int i = 0; i < CLOUD; i++) {
			make_body(&bodies[i], CAROM_DYNAMIC);
			set_box(&bodies[i], (double[]){ 0, 0, 0 }, (double[]){ 1, 1, 1 });
			bodies[i].category = scene == 0 ? 1 : scene == 1 ? 1 + i % 2 : 3;
			bodies[i].mask = scene == 0 ? 2 : scene == 1 ? 4 : UINT64_MAX;
			bodies[i].group = scene == 2 ? -7 : 0;
		}
		bench_check(&b, bodies, CLOUD);
		CHECK_INT(b.pairs, 0);
		CHECK(b.fast[1]->compared < 3 * CLOUD);
		CHECK(carom_memory_peak(b.context) < 600 * CLOUD);
		// One of them wants the others, who want it: its pairs come, and go again.
		for (int step = 0; step < 4; step++) {
			bodies[5].category = bodies[5].mask = step % 2 == 0 ? UINT64_MAX : 0;
			bodies[5].group = 0;
			bodies[5].refiltered = true;
			const int64_t before = b.pairs;
			bench_check(&b, bodies, CLOUD);
			CHECK_INT(b.pairs - before, step % 2 == 0 ? CLOUD - 1 : 0);
		}
		bench_close(&b);
	}
}

/// A filter that lets few pairs pass, and counts.
typedef struct asked_pairs {
	int64_t count;
	int64_t wrong;
	int32_t share; // one pair in so many passes; 0: none
} asked_pairs;

static bool let_few_pass(void *user, int32_t a, int32_t b)
{
	asked_pairs *q = user;
	q->count++;
	q->wrong += a >= b;
	return q->share > 0 && (a + b) % q->share == 0;
}

TEST(broad, refused_pairs_take_no_memory)
{
	// Far more pairs than are kept, nearly all refused by the user's filter; then the bodies part, and come back.
	for (int share = 0; share <= 1000; share += 1000) {
		bench b;
		bench_open(&b, 1);
		asked_pairs asked[1 + FAST_COUNT] = { { .share = share }, { .share = share }, { .share = share } };
		cr_broad *all[1 + FAST_COUNT] = { b.oracle, b.fast[0], b.fast[1] };
		for (int i = 0; i <= FAST_COUNT; i++) {
			all[i]->verdict = let_few_pass;
			all[i]->verdict_user = &asked[i];
		}
		static cr_body bodies[CLOUD];
		memset(bodies, 0, sizeof bodies);
		for (int i = 0; i < CLOUD; i++)
			make_body(&bodies[i], CAROM_DYNAMIC);
		uint64_t seed = 41;
		for (int step = 0; step < 6; step++) {
			const double span = step == 2 || step == 3 ? 30 : 0.1;
			for (int i = 0; i < CLOUD; i++) {
				if (step != 1 && step != 3)
					random_box(&seed, &bodies[i], span, (double[]){ 0, 0, 0 });
			}
			bench_check(&b, bodies, CLOUD);
			for (int i = 0; i <= FAST_COUNT; i++) {
				CHECK_INT(asked[i].count, asked[0].count);
				CHECK_INT(all[i]->met, b.oracle->met);
				CHECK_INT(asked[i].wrong, 0);
			}
		}
		CHECK(asked[0].count > 4 * 1000000);
		// 2 million pairs a step: of 8 bytes each 16 MB. The tree found out after 300,000.
		CHECK(carom_memory_peak(b.context) < 10 * 1000000);
		bench_close(&b);
	}
}

TEST(broad, running_out_of_memory_is_noticed_at_once)
{
	// Two million pairs, and a budget for some ten thousand of them: no broad phase looks for the others first.
	create_fn *const all[] = { cr_broad_create_brute, cr_broad_create_sweep, cr_broad_create_tree };
	static cr_body bodies[CLOUD];
	memset(bodies, 0, sizeof bodies);
	uint64_t seed = 53;
	for (int i = 0; i < CLOUD; i++) {
		make_body(&bodies[i], CAROM_DYNAMIC);
		random_box(&seed, &bodies[i], 0.1, (double[]){ 0, 0, 0 });
	}
	for (int i = 0; i < 3; i++) {
		carom_context *parent = make_context(1), child;
		cr_context_init_child(&child, parent, 1500000);
		cr_broad *broad;
		cr_pair_list found = { 0 };
		REQUIRE(all[i](&child, &broad) == CAROM_SUCCESS);
		CHECK_INT(broad->find(broad, bodies, CLOUD, &found), CAROM_OUT_OF_MEMORY);
		CHECK_INT(found.count, 0);
		CHECK(broad->compared < 1000000);
		CHECK(carom_memory_peak(&child) <= 1500000);
		// It lives on.
		REQUIRE(broad->find(broad, bodies, 200, &found) == CAROM_SUCCESS);
		CHECK_INT(found.count, 200 * 199 / 2);
		cr_array_free(&child, &found);
		broad->destroy(broad);
		CHECK_INT(carom_memory_in_use(&child), 0);
		carom_destroy_context(parent);
	}
}

TEST(broad, many_refused_pairs_and_many_threads)
{
	bench b;
	bench_open(&b, 4);
	static cr_body bodies[CLOUD];
	memset(bodies, 0, sizeof bodies);
	uint64_t seed = 43;
	for (int i = 0; i < CLOUD; i++) {
		make_body(&bodies[i], i % 9 == 0 ? CAROM_STATIC : CAROM_DYNAMIC);
		random_box(&seed, &bodies[i], 0.1, (double[]){ 0, 0, 0 });
	}
	for (int step = 0; step < (TEST_SEEKS_RACES ? 1 : 2); step++)
		CHECK(bench_check(&b, bodies, CLOUD));
	bench_close(&b);
}

TEST(broad, planes_meet_what_is_not_wholly_above)
{
	// Against the lowest corner of the box, in long double, over planes of any pose.
	uint64_t seed = 47;
	int64_t counts[2] = { 0 };
	for (int i = 0; i < 20000; i++) {
		cr_body plane = { .shape.def.type = CAROM_PLANE }, body = { 0 };
		const double scale = pow(10, test_random_double(&seed, -3, 6)), margin = i % 2 ? 0.1 * scale : 0;
		const v3d axis = { test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1),
			test_random_double(&seed, -1, 1) };
		const double turn = i % 5 == 0 ? 0 : test_random_double(&seed, -3, 3), s = sin(0.5 * turn) / v3d_length(axis);
		plane.pose.orientation = (carom_quat){ s * axis.x, s * axis.y, s * axis.z, cos(0.5 * turn) };
		const m3d rotation = m3d_from_quat(plane.pose.orientation);
		plane.pose.position = (carom_vec3){ test_random_double(&seed, -scale, scale), test_random_double(&seed, -scale, scale),
			test_random_double(&seed, -scale, scale) };
		random_box(&seed, &body, scale, (double[]){ 0, 0, 0 });
		const double at[3] = { plane.pose.position.x, plane.pose.position.y, plane.pose.position.z };
		long double lowest = INFINITY;
		for (int corner = 0; corner < 8; corner++) {
			long double height = 0;
			for (int k = 0; k < 3; k++)
				height += rotation.row[k].z * ((long double)(corner >> k & 1 ? body.upper[k] : body.lower[k]) - at[k]);
			lowest = height < lowest ? height : lowest;
		}
		const bool meets = cr_plane_meets_box(&plane, &body, margin);
		counts[meets]++;
		if (lowest <= margin)
			CHECK(meets);
		if (lowest > margin + 1e-9 * (scale + 10))
			CHECK(!meets);
	}
	CHECK(counts[0] > 5000 && counts[1] > 5000);
}

// ---- Out of memory ----

typedef struct counted_memory {
	int64_t allowed; // allocations before failure; negative: all fail
	int64_t done;
} counted_memory;

static void *counted_allocate(size_t size, size_t alignment, void *user)
{
	counted_memory *memory = user;
	memory->done++;
	if (memory->allowed-- <= 0)
		return NULL;
	return test_allocate(size, alignment);
}

static void counted_release(void *pointer, size_t size, size_t alignment, void *user)
{
	(void)size, (void)alignment, (void)user;
	test_release(pointer);
}

static carom_context *counted_context(counted_memory *memory)
{
	carom_context_def def = carom_default_context_def();
	def.allocator = (carom_allocator){ counted_allocate, counted_release, memory };
	def.thread_count = 1;
	carom_context *context = NULL;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	return context;
}

/// The scene at a time: bodies 0..count-1 alive and moved as a world would have it.
static int32_t scene_at(int time, cr_body *bodies, uint64_t *seed)
{
	const double origin[3] = { 0 };
	const int32_t count = 60 + 40 * time;
	for (int32_t i = 0; i < count; i++) {
		if (!bodies[i].alive) {
			make_body(&bodies[i], i % 5 == 0 ? CAROM_STATIC : CAROM_DYNAMIC);
			random_box(seed, &bodies[i], 4, origin);
		} else if (i % 9 == time % 9) {
			random_box(seed, &bodies[i], 4, origin);
		}
	}
	if (time == 2)
		endless_box(&bodies[5]);
	return count;
}

enum { SCENE_TIMES = 5, SCENE_BODIES = 60 + 40 * SCENE_TIMES };

/// Step through the scene with one broad phase. The allocation number fail_at from the first step on fails, once; the step is then
/// repeated with the moved flags cleared, as a caller that lost them would. Returns false when no allocation was left to fail.
static bool steps_with_failure(create_fn *create, int64_t fail_at)
{
	counted_memory memory = { INT64_MAX, 0 };
	carom_context *context = counted_context(&memory);
	cr_broad *broad, *oracle;
	REQUIRE(create(context, &broad) == CAROM_SUCCESS && cr_broad_create_brute(context, &oracle) == CAROM_SUCCESS);
	static cr_body bodies[SCENE_BODIES];
	memset(bodies, 0, sizeof bodies);
	cr_pair_list found = { 0 }, expected = { 0 };
	uint64_t seed = 17;
	int64_t left = fail_at;
	bool failed = false;
	for (int time = 0; time < SCENE_TIMES; time++) {
		const int32_t count = scene_at(time, bodies, &seed);
		REQUIRE(oracle->find(oracle, bodies, count, &expected) == CAROM_SUCCESS);
		memory = (counted_memory){ failed ? INT64_MAX : left, 0 };
		carom_result result = broad->find(broad, bodies, count, &found);
		left -= memory.done;
		memory.allowed = INT64_MAX;
		for (int32_t i = 0; i < count; i++)
			bodies[i].moved = false;
		if (result != CAROM_SUCCESS) {
			CHECK_INT(result, CAROM_OUT_OF_MEMORY);
			CHECK_INT(found.count, 0);
			failed = true;
			result = broad->find(broad, bodies, count, &found);
		}
		CHECK_INT(result, CAROM_SUCCESS);
		CHECK(same_pairs(&found, &expected));
	}
	cr_array_free(context, &found);
	cr_array_free(context, &expected);
	broad->destroy(broad);
	oracle->destroy(oracle);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
	return failed;
}

TEST(broad, failed_allocations_leave_it_usable)
{
	create_fn *const all[] = { cr_broad_create_brute, cr_broad_create_sweep, cr_broad_create_tree };
	for (int i = 0; i < 3; i++) {
		int64_t fail_at = 0;
		while (steps_with_failure(all[i], fail_at))
			fail_at++;
		CHECK(fail_at >= 3);
	}
}

TEST(broad, failed_creation_leaks_nothing)
{
	create_fn *const all[] = { cr_broad_create_brute, cr_broad_create_sweep, cr_broad_create_tree };
	for (int i = 0; i < 3; i++) {
		for (int64_t allowed = 0;; allowed++) {
			counted_memory memory = { INT64_MAX, 0 };
			carom_context *context = counted_context(&memory);
			memory.allowed = allowed;
			cr_broad *broad;
			const carom_result result = all[i](context, &broad);
			if (result == CAROM_SUCCESS) {
				broad->destroy(broad);
			} else {
				CHECK_INT(result, CAROM_OUT_OF_MEMORY);
				CHECK(broad == NULL);
			}
			CHECK_INT(carom_memory_in_use(context), context->size);
			carom_destroy_context(context);
			if (result == CAROM_SUCCESS) {
				CHECK(allowed >= 1);
				break;
			}
		}
	}
}

enum { CROWD = 1 << 16, NEIGHBOURS = 5 };

/// Puts a body of a row that meets NEIGHBOURS bodies before it and as many after it.
static void put_in_row(cr_body *body, int place)
{
	set_box(body, (double[3]){ place, 0, 0 }, (double[3]){ 0.5 * NEIGHBOURS + 0.1, 0.5, 0.5 });
}

TEST(broad, many_bodies_give_back_the_memory_of_builds)
{
	bench b;
	bench_open(&b, 1);
	cr_broad *tree, *sweep;
	REQUIRE(
		cr_broad_create_tree(b.context, &tree) == CAROM_SUCCESS && cr_broad_create_sweep(b.context, &sweep) == CAROM_SUCCESS);
	cr_body *bodies = cr_alloc_zero(b.context, CROWD * sizeof *bodies);
	REQUIRE(bodies != NULL);
	cr_pair_list found = { 0 }, expected = { 0 };
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < CROWD; i++) {
			if (round == 0)
				make_body(&bodies[i], CAROM_DYNAMIC);
			put_in_row(&bodies[i], round == 0 ? i : i * 7 % CROWD);
		}
		REQUIRE(sweep->find(sweep, bodies, CROWD, &expected) == CAROM_SUCCESS);
		const size_t before = carom_memory_in_use(b.context);
		REQUIRE(tree->find(tree, bodies, CROWD, &found) == CAROM_SUCCESS);
		CHECK(found.count > NEIGHBOURS * (CROWD - NEIGHBOURS));
		CHECK(same_pairs(&found, &expected));
		// Nodes, members and numbers of bodies, and two lists of pairs of leaves, whose boxes are wider; no boxes for a build.
		CHECK(carom_memory_in_use(b.context) - before < CROWD * (184 + 2 * (NEIGHBOURS + 1) * sizeof(cr_body_pair)));
	}
	cr_array_free(b.context, &found);
	cr_array_free(b.context, &expected);
	cr_free(b.context, bodies, CROWD * sizeof *bodies);
	tree->destroy(tree);
	sweep->destroy(sweep);
	bench_close(&b);
}

TEST(broad, a_steady_state_allocates_nothing)
{
	for (int i = 0; i < FAST_COUNT; i++) {
		counted_memory memory = { INT64_MAX, 0 };
		carom_context *context = counted_context(&memory);
		cr_broad *broad;
		REQUIRE(FAST[i](context, &broad) == CAROM_SUCCESS);
		static cr_body bodies[SCENE_BODIES];
		memset(bodies, 0, sizeof bodies);
		uint64_t seed = 19;
		const int32_t count = scene_at(3, bodies, &seed);
		cr_pair_list pairs = { 0 };
		for (int step = 0; step < 3; step++)
			REQUIRE(broad->find(broad, bodies, count, &pairs) == CAROM_SUCCESS);
		const int64_t before = memory.done;
		REQUIRE(broad->find(broad, bodies, count, &pairs) == CAROM_SUCCESS);
		CHECK_INT(memory.done, before);
		CHECK(pairs.count > 0);
		cr_array_free(context, &pairs);
		broad->destroy(broad);
		carom_destroy_context(context);
	}
}
