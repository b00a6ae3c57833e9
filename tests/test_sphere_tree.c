/// Morton order, the tree over spheres, and the detectors "tree" and "rays": against dull oracles, for any number of threads and any
/// instruction set, after motion, and when memory fails.
#include "fixture.h"
#include "spheres_fixture.h"
#include "spheres/sphere_order.h"
#include "spheres/sphere_tree.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct named_detector {
	const char *name;
	const cr_sphere_detector *detector;
} named_detector;

static const named_detector DETECTORS[] = { { "tree", &cr_tree_detector }, { "rays", &cr_rays_detector } };
enum { DETECTOR_COUNT = 2 };

static void *must_have(size_t size)
{
	void *memory = malloc(size ? size : 1);
	REQUIRE(memory);
	return memory;
}

// ---- Morton order ----

/// Bit by bit.
static uint64_t dull_code(const cr_sphere_set *set, const cr_sphere *s)
{
	const float at[3] = { s->x, s->y, s->z };
	double side = 0;
	for (int k = 0; k < 3; k++)
		side = fmax(side, (double)set->upper[k] - set->lower[k]);
	uint64_t code = 0;
	for (int k = 0; k < 3; k++) {
		const double cell = side > 0 ? floor(((double)at[k] - set->lower[k]) * (2097152.0 / side)) : 0;
		const uint64_t whole = (uint64_t)fmin(cell, 2097151);
		for (int bit = 0; bit < 21; bit++)
			code |= (whole >> bit & 1) << (3 * bit + k);
	}
	return code;
}

static int compare_keys(const void *p, const void *q)
{
	const cr_key *a = p, *b = q;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->value > b->value) - (a->value < b->value);
}

static void check_order(const cr_sphere_set *set, const char *what)
{
	cr_key *expected = must_have(set->real * sizeof *expected);
	uint32_t *order = must_have(set->real * sizeof *order);
	for (uint32_t i = 0; i < set->real; i++)
		expected[i] = (cr_key){ dull_code(set, &set->spheres[i]), i };
	qsort(expected, set->real, sizeof *expected, compare_keys);
	REQUIRE(cr_morton_order(set->context, set, order) == CAROM_SUCCESS);
	for (uint32_t i = 0; i < set->real; i++) {
		if (!CHECK_INT(order[i], expected[i].value)) {
			printf("%s: place %u of %u\n", what, i, set->real);
			break;
		}
	}
	free(expected);
	free(order);
}

TEST(sphere_tree, morton_order_is_that_of_interleaved_bits)
{
	carom_context *context = fixture_context(2);
	for (int kind = 0; kind < CLOUD_KINDS; kind++) {
		for (int64_t count = 0; count <= 3000; count = count < 3 ? count + 1 : count * 10) {
			fixture_cloud cloud = fixture_make_cloud((fixture_cloud_kind)kind, count, 3);
			fixture_set made = fixture_make_set(context, &cloud, !cloud.single, 0, NULL);
			check_order(&made.set, cloud.name);
			fixture_free_set(&made);
			fixture_free_cloud(&cloud);
		}
	}
	carom_destroy_context(context);
}

TEST(sphere_tree, morton_order_leaves_images_out)
{
	carom_context *context = fixture_context(1);
	const double period[3] = { 1, 1, 1 };
	fixture_cloud cloud = fixture_make_periodic_cloud(period, 500, 4);
	fixture_set made = fixture_make_set(context, &cloud, true, 0, period);
	CHECK(made.set.count > made.set.real);
	check_order(&made.set, cloud.name);
	fixture_free_set(&made);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

/// Keys of a kind: 0 random, 1 all in one heap of the first deal, 2 few values, 3 one value, 4 sorted downwards.
static uint64_t key_of(int kind, int64_t i, uint64_t *seed)
{
	switch (kind) {
	case 0: return test_random(seed) >> 1;
	case 1: return i % 1000 == 0 ? test_random(seed) >> 1 : test_random(seed) >> 24;
	case 2: return (test_random(seed) & 3) << 40;
	case 3: return 77;
	default: return ((uint64_t)1 << 62) - (uint64_t)i * 12345;
	}
}

TEST(sphere_tree, keys_are_sorted_by_any_number_of_threads)
{
	static const int64_t COUNTS[] = { 0, 1, 24, 25, 1000, 65535, 65536, 200000, 1200000 / TEST_FEWER };
	for (size_t c = 0; c < sizeof COUNTS / sizeof *COUNTS; c++) {
		const int64_t count = COUNTS[c];
		const size_t size = (size_t)(count + 1) * sizeof(cr_key);
		cr_key *keys = must_have(size), *scratch = must_have(size), *expected = must_have(size), *given = must_have(size);
		for (int kind = 0; kind < (count > 200000 ? 2 : 5); kind++) {
			uint64_t seed = 5;
			for (int64_t i = 0; i < count; i++)
				given[i] = (cr_key){ key_of(kind, i, &seed), (uint32_t)i };
			memcpy(expected, given, (size_t)count * sizeof *given);
			qsort(expected, (size_t)count, sizeof *expected, compare_keys);
			for (int threads = TEST_SEEKS_RACES ? 3 : 1; threads <= 3 && threads <= TEST_MOST_THREADS; threads++) {
				carom_context *context = fixture_context(threads);
				memcpy(keys, given, (size_t)count * sizeof *given);
				REQUIRE(cr_sort_keys(context, keys, scratch, count, 63) == CAROM_SUCCESS);
				bool same = true;
				for (int64_t i = 0; i < count; i++)
					same = same && keys[i].key == expected[i].key && keys[i].value == expected[i].value;
				if (!CHECK(same))
					printf("%lld keys of kind %d, %d threads\n", (long long)count, kind, threads);
				carom_destroy_context(context);
			}
		}
		free(keys);
		free(scratch);
		free(expected);
		free(given);
	}
}

// ---- All pairs ----

TEST(sphere_tree, finds_every_pair_once)
{
	for (int d = 0; d < DETECTOR_COUNT; d++)
		fixture_check_detector_on_threads(DETECTORS[d].detector, TEST_FEWER > 1 ? 1500 : 3000);
}

TEST(sphere_tree, finds_every_pair_of_few)
{
	for (int d = 0; d < DETECTOR_COUNT; d++)
		fixture_check_detector_of_few(DETECTORS[d].detector);
}

TEST(sphere_tree, instruction_sets_find_the_same)
{
	int sets = 0;
	for (int i = 0; i < FIXTURE_SIMD_COUNT; i++) {
		carom_context_def def = carom_default_context_def();
		def.simd = fixture_all_simd[i];
		def.thread_count = 1;
		carom_context *context = NULL;
		if (carom_create_context(&def, &context) != CAROM_SUCCESS)
			continue;
		sets++;
		int64_t tests[DETECTOR_COUNT];
		static int64_t first_tests[DETECTOR_COUNT];
		for (int d = 0; d < DETECTOR_COUNT; d++) {
			fixture_check_detector_everywhere(DETECTORS[d].detector, context, 700);
			fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 5000, 6);
			fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
			fixture_collector *collector = fixture_make_collector();
			void *state = NULL;
			REQUIRE(DETECTORS[d].detector->build(&state, &made.set) == CAROM_SUCCESS);
			REQUIRE(DETECTORS[d].detector->find(state, &made.set, &collector->sink, &tests[d]) == CAROM_SUCCESS);
			DETECTORS[d].detector->release(context, state);
			fixture_free_collector(collector);
			fixture_free_set(&made);
			fixture_free_cloud(&cloud);
			if (sets == 1)
				first_tests[d] = tests[d];
			CHECK(tests[d] > 0);
			CHECK_INT(tests[d], first_tests[d]);
		}
		carom_destroy_context(context);
	}
	CHECK(sets >= 1);
}

static void check_snapshot(const char *file, int64_t pairs, uint64_t checksum)
{
	FILE *in = fopen(test_data_path(file), "rb");
	REQUIRE(in);
	uint64_t header[8];
	REQUIRE(fread(header, sizeof header, 1, in) == 1);
	fixture_cloud cloud = { .name = file, .count = (int64_t)header[1], .single = true };
	cloud.spheres = must_have((size_t)cloud.count * 4 * sizeof(double));
	for (int64_t i = 0; i < 4 * cloud.count; i++) {
		float value;
		REQUIRE(fread(&value, sizeof value, 1, in) == 1);
		cloud.spheres[i] = value;
	}
	fclose(in);
	carom_context *context = fixture_context(2);
	fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
	for (int d = 0; d < DETECTOR_COUNT; d++) {
		fixture_collector *collector = fixture_make_collector();
		void *state = NULL;
		int64_t tests;
		REQUIRE(DETECTORS[d].detector->build(&state, &made.set) == CAROM_SUCCESS);
		REQUIRE(DETECTORS[d].detector->find(state, &made.set, &collector->sink, &tests) == CAROM_SUCCESS);
		fixture_pairs found = fixture_collected(collector);
		uint64_t sum = 0;
		for (int64_t i = 0; i < found.count; i++)
			sum += fixture_mix((uint64_t)found.pairs[i].a << 32 | found.pairs[i].b);
		CHECK_INT(found.count, pairs);
		CHECK(sum == checksum && found.count == (int64_t)header[5] && sum == header[6]);
		fixture_free_pairs(&found);
		DETECTORS[d].detector->release(context, state);
		fixture_free_collector(collector);
	}
	fixture_free_set(&made);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

TEST(sphere_tree, pairs_of_the_snapshots)
{
	check_snapshot("spheres/dense_100k.sph", 305867, 0x3dd54578b962d0f2);
	check_snapshot("spheres/bunny_mix.sph", 289971, 0x9dc29295208ea0f6);
	check_snapshot("spheres/bunny_half.sph", 0, 0);
}

// ---- Mochi, Algorithm 1 ----

/// The algorithm as it is printed, in single precision, over every ray and box; boxes are not rounded outward. Counts how often each
/// pair is reported.
static fixture_pairs literal_rays(const cr_sphere_set *set)
{
	fixture_collector *collector = fixture_make_collector();
	for (uint32_t i = 0; i < set->count; i++) {
		const cr_sphere p = set->spheres[i];
		for (uint32_t j = 0; j < set->count; j++) {
			const cr_sphere q = set->spheres[j];
			const float half = 2 * q.r;
			if (p.x < q.x - half || p.x > q.x + half || p.y < q.y - half || p.y > q.y + half || p.z < q.z - half ||
				p.z > q.z + half)
				continue;
			const float dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z, dist = sqrtf(dx * dx + dy * dy + dz * dz);
			if (p.r + q.r - dist < 0 || 2 * q.r - dist < 0)
				continue;
			if (j <= i && 2 * p.r - dist >= 0)
				continue;
			const carom_sphere_pair pair = { i < j ? i : j, i < j ? j : i };
			REQUIRE(collector->sink.take(&pair, 1, 0, collector));
		}
	}
	fixture_pairs found = fixture_collected(collector);
	fixture_free_collector(collector);
	return found;
}

/// What touches by the same single precision arithmetic.
static fixture_pairs literal_pairs(const cr_sphere_set *set)
{
	fixture_collector *collector = fixture_make_collector();
	for (uint32_t i = 0; i < set->count; i++) {
		const cr_sphere p = set->spheres[i];
		for (uint32_t j = i + 1; j < set->count; j++) {
			const cr_sphere q = set->spheres[j];
			const float dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z;
			if (fabsf(dx) > p.r + q.r) // the root is not less, rounded or not
				continue;
			if (p.r + q.r - sqrtf(dx * dx + dy * dy + dz * dz) < 0)
				continue;
			const carom_sphere_pair pair = { i, j };
			REQUIRE(collector->sink.take(&pair, 1, 0, collector));
		}
	}
	fixture_pairs found = fixture_collected(collector);
	fixture_free_collector(collector);
	return found;
}

TEST(sphere_tree, algorithm_1_reports_every_pair_once_in_five_arrangements)
{
	static const fixture_cloud_kind ARRANGEMENTS[5] = { CLOUD_DENSE, CLOUD_WIDE, CLOUD_TOUCHING, CLOUD_CLUSTERS,
		CLOUD_TWO_SIZES };
	carom_context *context = fixture_context(2);
	for (int a = 0; a < 5; a++) {
		fixture_cloud cloud = fixture_make_cloud(ARRANGEMENTS[a], 8000 / TEST_FEWER, 8);
		fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
		fixture_pairs touching = literal_pairs(&made.set), once = literal_rays(&made.set);
		CHECK(touching.count > 4000 / TEST_FEWER);
		fixture_check_pairs(&once, &touching, cloud.name);
		// The detector decides in double; but for what lies within the rounding of float that is the same.
		fixture_pairs expected = fixture_oracle_pairs(&cloud, 0, NULL);
		fixture_check_detector(&cr_rays_detector, &made.set, &expected, cloud.name);
		fixture_free_pairs(&touching);
		fixture_free_pairs(&once);
		fixture_free_pairs(&expected);
		fixture_free_set(&made);
		fixture_free_cloud(&cloud);
	}
	carom_destroy_context(context);
}

/// Centres in proxy boxes other than their own, and pairs of real boxes that overlap.
static void count_boxes(const fixture_set *made, int64_t *hits, int64_t *boxes)
{
	*hits = *boxes = 0;
	for (uint32_t i = 0; i < made->set.count; i++) {
		for (uint32_t j = 0; j < made->set.count; j++) {
			const cr_sphere p = made->spheres[i], q = made->spheres[j];
			const float d = fmaxf(fabsf(p.x - q.x), fmaxf(fabsf(p.y - q.y), fabsf(p.z - q.z)));
			*boxes += i < j && d <= p.r + q.r;
			*hits += i != j && d <= 2 * q.r;
		}
	}
}

/// What the proxies cost: hardware looks at twice as many candidates as a tree of the spheres' own boxes must where radii are equal,
/// since 4 (2 r)^3 stands against half of (2 r)^3 of volume; and at 2.65 times as many where radii are even from 0.0005 to 0.06.
TEST(sphere_tree, rays_meet_more_boxes_than_there_are_pairs_of_boxes)
{
	static const struct {
		fixture_cloud_kind kind;
		double ratio;
	} CASES[] = { { CLOUD_DENSE, 2 }, { CLOUD_WIDE, 2.65 } };
	carom_context *context = fixture_context(1);
	for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
		fixture_cloud cloud = fixture_make_cloud(CASES[i].kind, 10000, 9);
		fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
		int64_t boxes, hits, tests[2];
		count_boxes(&made, &hits, &boxes);
		CHECK_NEAR((double)hits / (double)boxes, CASES[i].ratio, 0.1);
		for (int d = 0; d < DETECTOR_COUNT; d++) {
			void *state = NULL;
			fixture_collector *collector = fixture_make_collector();
			REQUIRE(DETECTORS[d].detector->build(&state, &made.set) == CAROM_SUCCESS);
			REQUIRE(DETECTORS[d].detector->find(state, &made.set, &collector->sink, &tests[d]) == CAROM_SUCCESS);
			DETECTORS[d].detector->release(context, state);
			fixture_free_collector(collector);
		}
		// The rays' tests are their hits, their own boxes included; outward rounding may add very few.
		CHECK(tests[1] >= hits + made.set.count && tests[1] <= hits + made.set.count + 10);
		fixture_free_set(&made);
		fixture_free_cloud(&cloud);
	}
	carom_destroy_context(context);
}

// ---- The tree itself ----

/// What a walk over a tree has seen.
typedef struct walk {
	const cr_sphere_tree *tree;
	uint8_t *seen; // [count] how often each place
	int64_t nodes;
	int depth;
	uint64_t hash; // of all that is in the nodes, in the order of the walk
	double cost;   // areas of the boxes of all children, times their tests
} walk;

static void hash_bytes(walk *w, const void *bytes, size_t size)
{
	const uint8_t *byte = bytes;
	for (size_t i = 0; i < size; i++)
		w->hash = (w->hash ^ byte[i]) * 0x100000001b3u;
}

/// Does the box of a child hold the boxes of the spheres at a place? In double, which is exact enough to see a float too small.
static void check_leaf(walk *w, const cr_sphere_node *node, int lane)
{
	const cr_sphere_tree *tree = w->tree;
	for (uint32_t k = node->child[lane]; k < node->child[lane] + node->size[lane]; k++) {
		REQUIRE(k < tree->count);
		w->seen[k]++;
		const double at[3] = { tree->x[k], tree->y[k], tree->z[k] }, reach = tree->reach.scale * (double)tree->r[k] + tree->add;
		for (int axis = 0; axis < 3; axis++)
			CHECK(node->lower[axis][lane] <= at[axis] - reach && node->upper[axis][lane] >= at[axis] + reach);
	}
}

static double area_of(const double lower[3], const double upper[3])
{
	const double x = upper[0] - lower[0], y = upper[1] - lower[1], z = upper[2] - lower[2];
	return x * y + y * z + z * x;
}

static double area_of_child(const cr_sphere_node *node, int lane)
{
	return area_of((double[3]){ node->lower[0][lane], node->lower[1][lane], node->lower[2][lane] },
		(double[3]){ node->upper[0][lane], node->upper[1][lane], node->upper[2][lane] });
}

/// Area of the box around a node's children.
static double area_of_node(const cr_sphere_node *node)
{
	double lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY };
	for (int i = 0; i < 3 * node->child_count; i++) {
		lower[i % 3] = fmin(lower[i % 3], node->lower[i % 3][i / 3]);
		upper[i % 3] = fmax(upper[i % 3], node->upper[i % 3][i / 3]);
	}
	return area_of(lower, upper);
}

static void check_node(walk *w, uint32_t number, int depth)
{
	const cr_sphere_tree *tree = w->tree;
	const cr_sphere_node *node = &tree->nodes.data[number];
	w->nodes++;
	w->depth = depth > w->depth ? depth : w->depth;
	hash_bytes(w, node->lower, sizeof node->lower);
	hash_bytes(w, node->upper, sizeof node->upper);
	hash_bytes(w, node->size, sizeof node->size);
	hash_bytes(w, node->child, node->child_count * sizeof *node->child);
	CHECK(node->child_count >= 1 && node->child_count <= CR_TREE_WIDTH);
	for (int i = 0; i < CR_TREE_WIDTH; i++) {
		if (node->size[i] > 0)
			w->cost += area_of_child(node, i) * (node->size[i] == CR_TREE_INNER ? 1.2 : node->size[i]);
		if (node->size[i] == 0) {
			CHECK(i >= node->child_count && node->lower[0][i] > node->upper[0][i]);
		} else if (node->size[i] != CR_TREE_INNER) {
			check_leaf(w, node, i);
		} else {
			const cr_sphere_node *child = &tree->nodes.data[node->child[i]];
			for (int lane = 0; lane < child->child_count; lane++) {
				for (int axis = 0; axis < 3; axis++)
					CHECK(node->lower[axis][i] <= child->lower[axis][lane] && node->upper[axis][i] >= child->upper[axis][lane]);
			}
			check_node(w, node->child[i], depth + 1);
		}
	}
}

/// Every sphere is in one leaf, and in all boxes above it. Returns the hash; depth and nodes as wished.
static uint64_t check_tree(const cr_sphere_tree *tree, int *depth, int64_t *nodes)
{
	walk w = { .tree = tree, .hash = 0xcbf29ce484222325u };
	w.seen = must_have(tree->count);
	memset(w.seen, 0, tree->count);
	if (tree->count > 0) {
		check_node(&w, 0, 1);
		// the measure of all trees: a node is 1.2 tests
		const double cost = 1.2 + w.cost / area_of_node(&tree->nodes.data[0]);
		CHECK(fabs(tree->cost - cost) <= 1e-9 * cost);
	}
	hash_bytes(&w, tree->id, tree->count * sizeof *tree->id);
	hash_bytes(&w, &tree->cost, sizeof tree->cost);
	bool each_once = true;
	for (uint32_t k = 0; k < tree->count; k++)
		each_once = each_once && w.seen[k] == 1;
	CHECK(each_once);
	CHECK(w.depth <= CR_TREE_MAX_DEPTH);
	free(w.seen);
	if (depth)
		*depth = w.depth;
	if (nodes)
		*nodes = w.nodes;
	return w.hash;
}

TEST(sphere_tree, boxes_hold_their_spheres)
{
	carom_context *context = fixture_context(1);
	for (int kind = 0; kind < CLOUD_KINDS; kind++) {
		fixture_cloud cloud = fixture_make_cloud((fixture_cloud_kind)kind, 4000, 10);
		fixture_set made = fixture_make_set(context, &cloud, !cloud.single, 0.001, NULL);
		for (int d = 0; d < DETECTOR_COUNT; d++) {
			void *state = NULL;
			REQUIRE(DETECTORS[d].detector->build(&state, &made.set) == CAROM_SUCCESS);
			check_tree(state, NULL, NULL);
			CHECK(DETECTORS[d].detector->bytes(state) < 4000 * 130 + 4096);
			DETECTORS[d].detector->release(context, state);
		}
		fixture_free_set(&made);
		fixture_free_cloud(&cloud);
	}
	carom_destroy_context(context);
}

TEST(sphere_tree, the_same_tree_for_any_number_of_threads)
{
	for (int kind = 0; kind < CLOUD_KINDS; kind++) {
		fixture_cloud cloud =
			fixture_make_cloud((fixture_cloud_kind)kind, kind == CLOUD_DENSE ? 150000 : 20000 / TEST_FEWER, 11);
		uint64_t first = 0;
		for (int threads = TEST_LEAST_THREADS; threads <= 4 && threads <= TEST_MOST_THREADS; threads++) {
			if (TEST_FEWER > 1 && threads == 3)
				continue;
			carom_context *context = fixture_context(threads);
			fixture_set made = fixture_make_set(context, &cloud, !cloud.single, 0, NULL);
			void *state = NULL;
			REQUIRE(cr_tree_detector.build(&state, &made.set) == CAROM_SUCCESS);
			const uint64_t hash = check_tree(state, NULL, NULL);
			first = threads == TEST_LEAST_THREADS ? hash : first;
			CHECK(hash == first);
			cr_tree_detector.release(context, state);
			fixture_free_set(&made);
			carom_destroy_context(context);
		}
		fixture_free_cloud(&cloud);
	}
}

/// Along the diagonal, each pair of planes twice as far from the corner as the last: every bit of the code splits one sphere off; and
/// most spheres in one place, which are halved.
static fixture_cloud make_chain(int64_t count)
{
	fixture_cloud cloud = { .name = "chain", .count = count, .single = true };
	cloud.spheres = must_have((size_t)count * 4 * sizeof(double));
	for (int64_t i = 0; i < count; i++) {
		double *s = cloud.spheres + 4 * i;
		for (int k = 0; k < 3; k++)
			s[k] = i < 63 ? ldexp(i % 3 >= k ? 1 : 0, (int)(-i / 3)) : 0;
		s[3] = i < 63 ? ldexp(1, (int)(-i / 3) - 2) : i % 100 == 0 ? 1e-7 : 0;
	}
	return cloud;
}

TEST(sphere_tree, a_chain_stays_within_the_depth)
{
	carom_context *context = fixture_context(2);
	fixture_cloud cloud = make_chain(500);
	fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
	fixture_pairs expected = fixture_oracle_pairs(&cloud, 0, NULL);
	for (int d = 0; d < DETECTOR_COUNT; d++) {
		void *state = NULL;
		REQUIRE(DETECTORS[d].detector->build(&state, &made.set) == CAROM_SUCCESS);
		int depth;
		check_tree(state, &depth, NULL);
		CHECK(depth >= 9); // 63 halvings of one sphere each, 7 to a node
		fixture_check_found(DETECTORS[d].detector, state, &made.set, &expected, cloud.name);
		DETECTORS[d].detector->release(context, state);
	}
	fixture_free_pairs(&expected);
	fixture_free_set(&made);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

/// Nine spheres in each place of a lattice of a power of two: a node for every nine, more than a job takes at first.
TEST(sphere_tree, jobs_that_need_more_nodes_get_them)
{
	enum { SIDE = 16, PLACES = SIDE * SIDE * SIDE, COUNT = 9 * PLACES };
	carom_context *context = fixture_context(2);
	fixture_cloud cloud = { .name = "nines", .count = COUNT, .single = true };
	cloud.spheres = must_have(COUNT * 4 * sizeof(double));
	for (int i = 0; i < COUNT; i++) {
		const int place = i % PLACES;
		const double at[4] = { place % SIDE, place / SIDE % SIDE, place / SIDE / SIDE, 0.25 };
		memcpy(cloud.spheres + (size_t)4 * (size_t)i, at, sizeof at);
	}
	fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
	fixture_pairs expected = fixture_oracle_pairs(&cloud, 0, NULL);
	CHECK_INT(expected.count, PLACES * 36);
	void *state = NULL;
	REQUIRE(cr_tree_detector.build(&state, &made.set) == CAROM_SUCCESS);
	int64_t nodes;
	check_tree(state, NULL, &nodes);
	CHECK(nodes > COUNT / 9);
	fixture_check_found(&cr_tree_detector, state, &made.set, &expected, cloud.name);
	cr_tree_detector.release(context, state);
	fixture_free_pairs(&expected);
	fixture_free_set(&made);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

TEST(sphere_tree, radii_near_the_largest_float)
{
	carom_context *context = fixture_context(1);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_WIDE, 300, 12);
	cloud.spheres[4 * 100 + 3] = 3e38f;
	cloud.spheres[4 * 200 + 3] = 1e20f;
	fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
	fixture_pairs expected = fixture_oracle_pairs(&cloud, 0, NULL);
	CHECK(expected.count >= 2 * 300 - 3);
	for (int d = 0; d < DETECTOR_COUNT; d++)
		fixture_check_detector(DETECTORS[d].detector, &made.set, &expected, DETECTORS[d].name);
	fixture_free_pairs(&expected);
	fixture_free_set(&made);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

TEST(sphere_tree, cost_of_two_spheres)
{
	carom_context *context = fixture_context(1);
	const cr_sphere spheres[2] = { { 0, 0, 0, 1 }, { 3, 0, 0, 1 } };
	const cr_sphere_set set = {
		.context = context, .count = 2, .real = 2, .spheres = spheres, .upper = { 3, 0, 0 }, .r_min = 1, .r_max = 1
	};
	void *state = NULL;
	REQUIRE(cr_tree_detector.build(&state, &set) == CAROM_SUCCESS);
	CHECK_NEAR(cr_tree_detector.cost(state), 1.2 + 2, 1e-9); // the root, and one leaf of two that is as wide
	cr_tree_detector.release(context, state);
	carom_destroy_context(context);
}

// ---- Refit ----

/// Another cloud of as many spheres: moved at random, some far, radii changed.
static void shake(fixture_cloud *cloud, double distance, uint64_t *seed)
{
	for (int64_t i = 0; i < cloud->count; i++) {
		double *s = cloud->spheres + 4 * i;
		const double far = i % 100 == 7 ? 20 : 1;
		for (int k = 0; k < 3; k++)
			s[k] = (float)(s[k] + far * test_random_double(seed, -distance, distance));
		s[3] = (float)(s[3] * test_random_double(seed, 0.7, 1.4));
	}
}

TEST(sphere_tree, refitted_trees_find_the_same)
{
	for (int threads = 1; threads <= 2 && threads <= TEST_MOST_THREADS; threads++) {
		carom_context *context = fixture_context(threads);
		for (int d = 0; d < DETECTOR_COUNT; d++) {
			const cr_sphere_detector *detector = DETECTORS[d].detector;
			fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 6000, 13);
			uint64_t seed = 14;
			fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
			void *state = NULL;
			REQUIRE(detector->build(&state, &made.set) == CAROM_SUCCESS);
			for (int time = 0; time < 5; time++) {
				shake(&cloud, 0.001, &seed);
				fixture_free_set(&made);
				made = fixture_make_set(context, &cloud, false, time == 3 ? 0.0002 : 0, NULL);
				fixture_pairs expected = fixture_oracle_pairs(&cloud, made.set.skin, NULL);
				REQUIRE(detector->refit(state, &made.set) == CAROM_SUCCESS);
				check_tree(state, NULL, NULL);
				fixture_check_found(detector, state, &made.set, &expected, DETECTORS[d].name);
				fixture_free_pairs(&expected);
			}
			const double refitted = detector->cost(state);
			REQUIRE(detector->build(&state, &made.set) == CAROM_SUCCESS); // in the same memory
			CHECK(detector->cost(state) < refitted / 1.2);
			check_tree(state, NULL, NULL);
			detector->release(context, state);
			fixture_free_set(&made);
			fixture_free_cloud(&cloud);
		}
		carom_destroy_context(context);
	}
}

TEST(sphere_tree, refit_of_unmoved_spheres_changes_nothing)
{
	carom_context *context = fixture_context(2);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_CLUSTERS, 5000, 15);
	fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
	void *state = NULL;
	REQUIRE(cr_tree_detector.build(&state, &made.set) == CAROM_SUCCESS);
	const uint64_t hash = check_tree(state, NULL, NULL);
	REQUIRE(cr_tree_detector.refit(state, &made.set) == CAROM_SUCCESS);
	CHECK(check_tree(state, NULL, NULL) == hash);
	cr_tree_detector.release(context, state);
	fixture_free_set(&made);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

TEST(sphere_tree, state_is_used_again_for_other_sets)
{
	static const int64_t COUNTS[] = { 500, 0, 70000, 3, 20000 };
	carom_context *context = fixture_context(2);
	for (int d = 0; d < DETECTOR_COUNT; d++) {
		void *state = NULL;
		for (size_t c = 0; c < sizeof COUNTS / sizeof *COUNTS; c++) {
			fixture_cloud cloud = fixture_make_cloud(CLOUD_WIDE, COUNTS[c], 16 + c);
			fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
			fixture_pairs expected = fixture_oracle_pairs(&cloud, 0, NULL);
			REQUIRE(DETECTORS[d].detector->build(&state, &made.set) == CAROM_SUCCESS);
			fixture_check_found(DETECTORS[d].detector, state, &made.set, &expected, DETECTORS[d].name);
			check_order(&made.set, "used again");
			fixture_free_pairs(&expected);
			fixture_free_set(&made);
			fixture_free_cloud(&cloud);
		}
		DETECTORS[d].detector->release(context, state);
	}
	carom_destroy_context(context);
}

// ---- Sinks that stop, memory that fails ----

TEST(sphere_tree, a_sink_can_stop_the_search)
{
	for (int d = 0; d < DETECTOR_COUNT; d++) {
		carom_context *context = fixture_context(2);
		fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 20000, 17);
		fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
		fixture_collector *collector = fixture_make_collector();
		collector->stop_after = 0;
		void *state = NULL;
		int64_t tests, all_tests;
		REQUIRE(DETECTORS[d].detector->build(&state, &made.set) == CAROM_SUCCESS);
		CHECK_INT(DETECTORS[d].detector->find(state, &made.set, &collector->sink, &tests), CAROM_SUCCESS);
		fixture_pairs found = fixture_collected(collector);
		CHECK(found.count > 0 && found.count <= 2 * CR_PAIR_BATCH); // one batch of each worker
		collector->stop_after = -1;
		CHECK_INT(DETECTORS[d].detector->find(state, &made.set, &collector->sink, &all_tests), CAROM_SUCCESS);
		CHECK(tests < all_tests / 2);
		fixture_free_pairs(&found);
		fixture_free_collector(collector);
		DETECTORS[d].detector->release(context, state);
		fixture_free_set(&made);
		fixture_free_cloud(&cloud);
		carom_destroy_context(context);
	}
}

/// Clouds of two sizes and their pairs.
typedef struct failing_scene {
	fixture_cloud clouds[2];
	fixture_pairs expected[2];
} failing_scene;

/// Build, find, build a larger set; the allocation with number fail_at fails. False when none was left to fail.
static bool works_with_failure(const cr_sphere_detector *detector, const failing_scene *scene, int64_t fail_at)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 2);
	const long long before = atomic_load(&heap.blocks);
	atomic_store(&heap.calls, 0);
	atomic_store(&heap.fail_at, fail_at);
	void *state = NULL;
	bool failed = false;
	for (int time = 0; time < 2; time++) {
		fixture_set made = fixture_make_set(context, &scene->clouds[time], false, 0, NULL);
		fixture_collector *collector = fixture_make_collector();
		int64_t tests;
		carom_result result = detector->build(&state, &made.set);
		if (result == CAROM_SUCCESS)
			result = detector->find(state, &made.set, &collector->sink, &tests);
		if (result != CAROM_SUCCESS) {
			CHECK_INT(result, CAROM_OUT_OF_MEMORY);
			CHECK(carom_error_text(context)[0] != '\0');
			CHECK(!failed);
			failed = true;
			CHECK_INT(detector->build(&state, &made.set), CAROM_SUCCESS); // again, with memory
			fixture_check_found(detector, state, &made.set, &scene->expected[time], "after a failure");
		} else {
			fixture_pairs found = fixture_collected(collector);
			fixture_check_pairs(&found, &scene->expected[time], "without a failure");
			fixture_free_pairs(&found);
		}
		fixture_free_collector(collector);
		fixture_free_set(&made);
	}
	detector->release(context, state);
	CHECK_INT(atomic_load(&heap.blocks), before);
	carom_destroy_context(context);
	return failed;
}

TEST(sphere_tree, failed_allocations_leave_it_usable)
{
	static const int64_t COUNTS[2] = { 2000, 70000 };
	failing_scene scene;
	for (int i = 0; i < 2; i++) {
		scene.clouds[i] = fixture_make_cloud(CLOUD_FREE_FALL, COUNTS[i], 18);
		scene.expected[i] = fixture_oracle_pairs(&scene.clouds[i], 0, NULL);
	}
	for (int d = 0; d < DETECTOR_COUNT; d++) {
		int64_t fail_at = 0;
		while (works_with_failure(DETECTORS[d].detector, &scene, fail_at))
			fail_at += TEST_STRIDE;
		CHECK(fail_at >= 12);
	}
	for (int i = 0; i < 2; i++) {
		fixture_free_pairs(&scene.expected[i]);
		fixture_free_cloud(&scene.clouds[i]);
	}
}

TEST(sphere_tree, failed_order_leaks_nothing)
{
	fixture_cloud cloud = fixture_make_cloud(CLOUD_FREE_FALL, 70000, 19);
	uint32_t *order = must_have(70000 * sizeof *order);
	for (int64_t fail_at = 0;; fail_at++) {
		fixture_heap heap;
		carom_context *context = fixture_heap_context(&heap, 1);
		fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
		const long long before = atomic_load(&heap.blocks);
		atomic_store(&heap.calls, 0);
		atomic_store(&heap.fail_at, fail_at);
		const carom_result result = cr_morton_order(context, &made.set, order);
		CHECK_INT(atomic_load(&heap.blocks), before);
		fixture_free_set(&made);
		carom_destroy_context(context);
		if (result == CAROM_SUCCESS) {
			CHECK(fail_at >= 4);
			break;
		}
		CHECK_INT(result, CAROM_OUT_OF_MEMORY);
	}
	free(order);
	fixture_free_cloud(&cloud);
}

// ---- Memory ----

TEST(sphere_tree, memory_of_trees_over_doubles_stays_below_120_bytes_a_sphere)
{
	enum { SIDE = 46, COUNT = SIDE * SIDE * SIDE };
	uint64_t state = 5;
	double(*spheres)[4] = must_have(COUNT * sizeof *spheres);
	for (int i = 0; i < COUNT; i++) {
		const int at[3] = { i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE };
		for (int k = 0; k < 3; k++)
			spheres[i][k] = at[k] + test_random_double(&state, -0.2, 0.2);
		spheres[i][3] = 0.5;
	}
	for (carom_sphere_method method = CAROM_SPHERES_TREE; method <= CAROM_SPHERES_RAYS; method++) {
		// A lattice's codes fill the nodes least where their number is just above a power of eight.
		for (int count = COUNT; count > 30000; count -= 20000) {
			carom_context *context = fixture_context(1);
			carom_spheres_def def = carom_default_spheres_def();
			def.method = method;
			carom_spheres *detector;
			REQUIRE(carom_create_spheres(context, &def, &detector) == CAROM_SUCCESS);
			const size_t before = carom_memory_in_use(context);
			carom_sphere_input input = carom_default_sphere_input();
			input.count = count;
			input.centres = (carom_strided){ spheres, sizeof *spheres, CAROM_FLOAT64 };
			input.radii = (carom_strided){ &spheres[0][3], sizeof *spheres, CAROM_FLOAT64 };
			REQUIRE(carom_spheres_update(detector, &input) == CAROM_SUCCESS);
			const double bytes = (double)(carom_memory_peak(context) - before) / count;
			if (!CHECK(bytes < 120))
				printf("%d spheres: %.1f bytes each\n", count, bytes);
			carom_destroy_spheres(detector);
			carom_destroy_context(context);
		}
	}
	free(spheres);
}
