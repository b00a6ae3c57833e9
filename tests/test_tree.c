/// Trees over boxes: complete and tight for any input, the same for any number of threads, of bounded depth; and their quality numbers
/// against cases worked out by hand and against a plain double loop.
#include "fixture.h"
#include "test.h"
#include "bvh/collider_query.h"
#include "frame/body.h"
#include "tree/quality.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Boxes ----

typedef struct box_set {
	float *rows[6];
	cr_build_boxes view;
} box_set;

static box_set make_boxes(int32_t count)
{
	box_set set;
	for (int k = 0; k < 6; k++) {
		set.rows[k] = calloc((size_t)count + 1, sizeof(float));
		REQUIRE(set.rows[k]);
	}
	set.view = (cr_build_boxes){ { set.rows[0], set.rows[1], set.rows[2] }, { set.rows[3], set.rows[4], set.rows[5] }, count };
	return set;
}

static void free_boxes(box_set *set)
{
	for (int k = 0; k < 6; k++)
		free(set->rows[k]);
}

static void set_box(box_set *set, int32_t i, const double lower[3], const double size[3])
{
	for (int k = 0; k < 3; k++) {
		set->rows[k][i] = (float)lower[k];
		set->rows[3 + k][i] = (float)(lower[k] + size[k]);
	}
}

typedef enum layout {
	RANDOM_BOXES,
	RANDOM_POINTS,
	CLUSTERED,
	COLLINEAR,
	ALL_EQUAL,
	EXPONENTIAL, // each box twice as far away as the last: splits cut off one at a time
	NESTED,
	HUGE_AND_TINY,
	LAYOUTS,
} layout;

static void fill_boxes(box_set *set, layout kind, uint64_t seed)
{
	for (int32_t i = 0; i < set->view.count; i++) {
		double lower[3] = { 0 }, size[3] = { 0 };
		for (int k = 0; k < 3; k++) {
			lower[k] = test_random_double(&seed, -1, 1);
			size[k] = kind == RANDOM_POINTS ? 0 : test_random_double(&seed, 0, 0.1);
			if (kind == CLUSTERED)
				lower[k] = 1e-4 * lower[k] + (double)(((uint32_t)i * 2654435761u >> (8 * k)) % 5);
			if (kind == COLLINEAR)
				lower[k] = size[k] = k == 1 ? i * 0.5 : 3;
			if (kind == ALL_EQUAL)
				lower[k] = size[k] = 0.25;
			if (kind == EXPONENTIAL)
				lower[k] = k == 0 ? ldexp(1, i % 240 - 120) : 0, size[k] = 0;
			if (kind == NESTED)
				lower[k] = -1 - i, size[k] = 2 + 2 * i;
			if (kind == HUGE_AND_TINY)
				lower[k] *= i % 17 == 0 ? 1e12 : 1e-12, size[k] *= i % 13 == 0 ? 1e12 : 0;
		}
		set_box(set, i, lower, size);
	}
}

// ---- An independent check ----

static bool holds(const cr_node2 *n, const box_set *set, int32_t primitive)
{
	for (int k = 0; k < 3; k++) {
		if (!(n->lower[k] <= set->rows[k][primitive] && n->upper[k] >= set->rows[3 + k][primitive]))
			return false;
	}
	return true;
}

/// Walk by the child links: every ancestor holds every primitive of a leaf. Returns the depth, and counts each primitive.
static int walk_binary(const cr_tree2 *tree, const box_set *set, int32_t at, const int32_t *ancestors, int depth, int32_t *seen)
{
	int32_t path[CR_MAX_DEPTH + 8];
	const cr_node2 *n = &tree->nodes[at];
	REQUIRE(depth <= CR_MAX_DEPTH);
	for (int i = 0; i < depth; i++)
		path[i] = ancestors[i];
	path[depth] = at;
	if (n->count == 0) {
		const int left = walk_binary(tree, set, at + 1, path, depth + 1, seen);
		const int right = walk_binary(tree, set, n->first, path, depth + 1, seen);
		return left > right ? left : right;
	}
	CHECK(n->count <= CR_WIDTH);
	for (int32_t i = 0; i < n->count; i++) {
		const int32_t primitive = tree->order[n->first + i];
		seen[primitive]++;
		for (int d = 0; d <= depth; d++)
			CHECK(holds(&tree->nodes[path[d]], set, primitive));
	}
	return depth + 1;
}

/// The skip links visit every node, and skipping each inner node visits no descendant of it.
static void check_skips(const cr_tree2 *tree)
{
	for (int32_t at = 0; at < tree->node_count; at++) {
		const cr_node2 *n = &tree->nodes[at];
		CHECK(n->skip > at && n->skip <= tree->node_count);
		int32_t end = at + 1; // first node after the subtree, by counting open subtrees
		for (int32_t open = n->count == 0 ? 2 : 0; open > 0 && end < tree->node_count; end++)
			open += tree->nodes[end].count == 0 ? 1 : -1;
		if (tree->node_count <= 3000)
			CHECK_INT(n->skip, end);
		else if (at == 3000)
			break;
	}
}

/// A wide child's box holds the primitives of its blocks. Returns the depth.
static int walk_wide(const cr_tree8 *tree, const cr_tree2 *binary, const box_set *set, uint32_t at, float pad, int32_t *seen)
{
	const cr_node8 *n = &tree->nodes[at];
	int depth = 1;
	CHECK(n->child_count >= 1 && n->child_count <= CR_WIDTH);
	for (uint32_t i = 0; i < CR_WIDTH; i++) {
		if (i >= n->child_count) {
			// A box that nothing finite overlaps.
			CHECK(n->lower[0][i] > 1e29f && n->upper[0][i] < -1e29f);
			continue;
		}
		if (!(n->child[i] & CR_LEAF_BIT)) {
			const int below = walk_wide(tree, binary, set, n->child[i], pad, seen);
			depth = below + 1 > depth ? below + 1 : depth;
			continue;
		}
		const uint32_t block = n->child[i] & ~CR_LEAF_BIT;
		REQUIRE((int32_t)block < tree->block_count);
		for (int32_t k = 0; k < tree->block_size[block]; k++) {
			const int32_t primitive = binary->order[tree->block_first[block] + k];
			seen[primitive]++;
			for (int axis = 0; axis < 3; axis++) {
				CHECK(n->lower[axis][i] <= set->rows[axis][primitive] - pad);
				CHECK(n->upper[axis][i] >= set->rows[3 + axis][primitive] + pad);
			}
		}
	}
	return depth;
}

static void check_once(int32_t *seen, int32_t count)
{
	int32_t wrong = 0;
	for (int32_t i = 0; i < count; i++)
		wrong += seen[i] != 1;
	CHECK_INT(wrong, 0);
	memset(seen, 0, (size_t)count * sizeof *seen);
}

static carom_context *make_context(int threads)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	carom_context *context = NULL;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	return context;
}

typedef enum builder { BY_SAH, BY_SAH_FULL, BY_LBVH, BY_HLBVH, BY_PLOC, BY_TREELETS, BUILDERS } builder;

static carom_result build_by(builder how, carom_context *context, const box_set *set, cr_tree2 *tree)
{
	if (how == BY_SAH || how == BY_SAH_FULL)
		return cr_tree2_build(context, &set->view, how == BY_SAH ? CR_SAH_TRAVERSAL : CR_FULL_LEAVES, tree);
	if (how == BY_PLOC)
		return cr_tree2_build_ploc(context, &set->view, CR_SAH_TRAVERSAL, tree);
	if (how == BY_TREELETS)
		return cr_tree2_build_treelets(context, &set->view, CR_SAH_TRAVERSAL, tree);
	return cr_tree2_build_morton(context, &set->view, how == BY_HLBVH, tree);
}

/// Build both trees over a set and look at them from all sides.
static void check_set(carom_context *context, const box_set *set, builder how)
{
	cr_tree2 binary;
	cr_tree8 wide;
	const int32_t count = set->view.count;
	const float pad = 0.5f;
	REQUIRE(build_by(how, context, set, &binary) == CAROM_SUCCESS);
	REQUIRE(cr_tree8_build(context, &binary, pad, &wide) == CAROM_SUCCESS);
	CHECK(cr_tree2_check(&binary, &set->view));
	CHECK(cr_tree8_check(&wide, &binary));
	CHECK_INT(binary.primitive_count, count);
	if (count == 0) {
		CHECK_INT(binary.node_count, 0);
		CHECK_INT(wide.node_count, 0);
	} else {
		int32_t *seen = calloc((size_t)count, sizeof *seen);
		CHECK(walk_binary(&binary, set, 0, NULL, 0, seen) <= CR_MAX_DEPTH);
		check_once(seen, count);
		check_skips(&binary);
		const int depth = walk_wide(&wide, &binary, set, 0, pad, seen);
		check_once(seen, count);
		CHECK_INT(wide.depth, depth);
		CHECK(depth <= CR_MAX_DEPTH);
		free(seen);
	}
	cr_tree8_free(context, &wide);
	cr_tree2_free(context, &binary);
}

TEST(tree, every_primitive_once_for_any_layout)
{
	carom_context *context = make_context(1);
	const int32_t counts[] = { 0, 1, 2, 7, 8, 9, 63, 64, 65, 500, 3000 };
	for (int kind = 0; kind < LAYOUTS; kind++) {
		for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
			const int before = test_failures();
			box_set set = make_boxes(counts[i]);
			fill_boxes(&set, (layout)kind, 7);
			for (int how = 0; how < BUILDERS; how++)
				check_set(context, &set, (builder)how);
			free_boxes(&set);
			if (test_failures() != before)
				test_check_int(
					counts[i], -1, kind == RANDOM_BOXES ? "boxes of random layout" : "boxes of this layout", __FILE__, kind);
		}
	}
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

TEST(tree, grids_have_full_leaves)
{
	carom_context *context = make_context(1);
	const int32_t sides[][2] = { { 1, 1 }, { 1, 9 }, { 2, 2 }, { 3, 5 }, { 8, 8 }, { 17, 16 }, { 40, 1 }, { 64, 64 } };
	for (int i = 0; i < 8 * 4; i++) {
		const int32_t each = 1 << i % 4, rest = i % 3 == 0 ? 0 : 13 * i, *side = sides[i / 4], cells = each * side[0] * side[1];
		const cr_rows rows = { side[0], side[1], each, { 1, i % 2 ? 0.5 : 40 } };
		box_set set = make_boxes(cells + rest);
		fill_boxes(&set, RANDOM_BOXES, 3);
		cr_tree2 tree;
		cr_tree8 wide;
		REQUIRE(cr_tree2_build_rows(context, &rows, &set.view, CR_FULL_LEAVES, &tree) == CAROM_SUCCESS);
		REQUIRE(cr_tree8_build(context, &tree, 0.5f, &wide) == CAROM_SUCCESS);
		CHECK(cr_tree2_check(&tree, &set.view));
		CHECK(cr_tree8_check(&wide, &tree));
		// Cells come first, in the order of the leaves; those of 64 x 64 fill all of theirs.
		int32_t leaves = 0;
		for (int32_t n = 0; n < tree.node_count; n++)
			leaves += tree.nodes[n].count > 0 && tree.nodes[n].first < cells;
		CHECK(leaves <= (side[0] + 1) * (side[1] + 1));
		if (side[0] == 64)
			CHECK_INT(leaves, cells / CR_WIDTH);
		cr_tree8_free(context, &wide);
		cr_tree2_free(context, &tree);
		free_boxes(&set);
	}
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

TEST(tree, depth_is_bounded_for_exponential_spacing)
{
	// Without the bound a split by space takes one box from the rest, again and again: 240 levels.
	carom_context *context = make_context(1);
	for (int32_t count = 100; count <= 100000; count *= 10) {
		box_set set = make_boxes(count);
		fill_boxes(&set, EXPONENTIAL, 0);
		for (int how = 0; how < BUILDERS; how++)
			check_set(context, &set, (builder)how);
		free_boxes(&set);
	}
	carom_destroy_context(context);
}

/// Primitives whose boxes overlap a box, by skip links.
static void mark_overlaps(const cr_tree2 *tree, const box_set *set, const float lower[3], const float upper[3], uint8_t *marks)
{
	for (int32_t at = 0; at < tree->node_count;) {
		const cr_node2 *n = &tree->nodes[at];
		bool meets = true;
		for (int k = 0; k < 3; k++)
			meets = meets && n->lower[k] <= upper[k] && lower[k] <= n->upper[k];
		for (int32_t i = 0; meets && i < n->count; i++) {
			const int32_t p = tree->order[n->first + i];
			bool hit = true;
			for (int k = 0; k < 3; k++)
				hit = hit && set->rows[k][p] <= upper[k] && lower[k] <= set->rows[3 + k][p];
			marks[p] += hit;
		}
		at = meets && n->count == 0 ? at + 1 : n->skip;
	}
}

TEST(tree, overlaps_are_those_of_brute_force_for_all_builders)
{
	carom_context *context = make_context(1);
	enum { COUNT = 700 };
	for (int kind = 0; kind < LAYOUTS; kind++) {
		box_set set = make_boxes(COUNT);
		fill_boxes(&set, (layout)kind, 17);
		cr_tree2 trees[BUILDERS];
		for (int how = 0; how < BUILDERS; how++)
			REQUIRE(build_by((builder)how, context, &set, &trees[how]) == CAROM_SUCCESS);
		for (int32_t q = 0; q < COUNT; q += 7) {
			uint8_t expected[COUNT] = { 0 };
			const float lower[3] = { set.rows[0][q], set.rows[1][q], set.rows[2][q] };
			const float upper[3] = { set.rows[3][q], set.rows[4][q], set.rows[5][q] };
			for (int32_t p = 0; p < COUNT; p++) {
				expected[p] = 1;
				for (int k = 0; k < 3; k++)
					expected[p] &= set.rows[k][p] <= upper[k] && lower[k] <= set.rows[3 + k][p];
			}
			for (int how = 0; how < BUILDERS; how++) {
				uint8_t marks[COUNT] = { 0 };
				mark_overlaps(&trees[how], &set, lower, upper, marks);
				CHECK(memcmp(marks, expected, sizeof marks) == 0);
			}
		}
		for (int how = 0; how < BUILDERS; how++)
			cr_tree2_free(context, &trees[how]);
		free_boxes(&set);
	}
	carom_destroy_context(context);
}

static void box_of_set(const void *user, int32_t primitive, float lower[3], float upper[3])
{
	const box_set *set = user;
	for (int k = 0; k < 3; k++) {
		lower[k] = set->rows[k][primitive];
		upper[k] = set->rows[3 + k][primitive];
	}
}

TEST(tree, refitted_boxes_are_tight)
{
	carom_context *context = make_context(1);
	for (int how = 0; how < BUILDERS; how++) {
		box_set set = make_boxes(500), moved = make_boxes(500);
		fill_boxes(&set, RANDOM_BOXES, 23);
		fill_boxes(&moved, CLUSTERED, 29);
		cr_tree2 tree;
		REQUIRE(build_by((builder)how, context, &set, &tree) == CAROM_SUCCESS);
		const size_t bytes = (size_t)tree.node_count * sizeof *tree.nodes;
		cr_node2 *built = malloc(bytes);
		REQUIRE(built);
		memcpy(built, tree.nodes, bytes);
		// Every second primitive moves: the boxes are those of a refit of all at once. And back.
		for (int32_t i = 0; i < 500; i++) {
			for (int k = 0; k < 6 && i % 2 == 0; k++)
				moved.rows[k][i] = set.rows[k][i];
		}
		const box3f everywhere = { { -INFINITY, -INFINITY, -INFINITY }, { INFINITY, INFINITY, INFINITY } };
		CHECK_INT(cr_tree2_refit_near(&tree, &everywhere, box_of_set, &moved), tree.node_count);
		CHECK(cr_tree2_check(&tree, &moved.view));
		CHECK(memcmp(tree.nodes, built, bytes) != 0);
		cr_node2 *partly = malloc(bytes);
		REQUIRE(partly);
		memcpy(partly, tree.nodes, bytes);
		cr_tree2_refit(&tree, box_of_set, &moved);
		CHECK(memcmp(tree.nodes, partly, bytes) == 0);
		const box3f nowhere = BOX3F_NONE;
		CHECK_INT(cr_tree2_refit_near(&tree, &nowhere, box_of_set, &set), 0);
		CHECK(memcmp(tree.nodes, partly, bytes) == 0);
		cr_tree2_refit_near(&tree, &everywhere, box_of_set, &set);
		CHECK(memcmp(tree.nodes, built, bytes) == 0);
		free(partly);
		free(built);
		cr_tree2_free(context, &tree);
		free_boxes(&set);
		free_boxes(&moved);
	}
	carom_destroy_context(context);
}

TEST(tree, full_leaves_fill_blocks)
{
	carom_context *context = make_context(1);
	box_set set = make_boxes(8);
	fill_boxes(&set, RANDOM_POINTS, 3);
	cr_tree2 binary;
	cr_tree8 wide;
	REQUIRE(cr_tree2_build(context, &set.view, CR_FULL_LEAVES, &binary) == CAROM_SUCCESS);
	REQUIRE(cr_tree8_build(context, &binary, 0, &wide) == CAROM_SUCCESS);
	CHECK_INT(binary.node_count, 1);
	CHECK_INT(wide.node_count, 1);
	CHECK_INT(wide.block_count, 1);
	CHECK_INT(wide.block_size[0], 8);
	cr_tree8_free(context, &wide);
	cr_tree2_free(context, &binary);
	free_boxes(&set);
	carom_destroy_context(context);
}

// ---- Threads ----

TEST(tree, threads_do_not_show)
{
	// Above the size from which on bins are filled in parallel.
	const layout kinds[] = { RANDOM_BOXES, CLUSTERED };
	for (size_t kind = 0; kind < 2 * BUILDERS; kind++) {
		const builder how = (builder)(kind / 2);
		box_set set = make_boxes(how < BY_PLOC ? 100000 : 30000); // these fill no bins, and take longer
		fill_boxes(&set, kinds[kind % 2], 9);
		carom_context *one = make_context(TEST_LEAST_THREADS);
		cr_tree2 expected;
		cr_tree8 expected_wide;
		REQUIRE(build_by(how, one, &set, &expected) == CAROM_SUCCESS);
		REQUIRE(cr_tree8_build(one, &expected, 0, &expected_wide) == CAROM_SUCCESS);
		CHECK(cr_tree2_check(&expected, &set.view));
		CHECK(cr_tree8_check(&expected_wide, &expected));
		for (int threads = 2; threads <= (TEST_FEWER > 1 ? 2 : 5) && threads > TEST_LEAST_THREADS; threads += 3) {
			carom_context *many = make_context(threads);
			cr_tree2 tree;
			REQUIRE(build_by(how, many, &set, &tree) == CAROM_SUCCESS);
			REQUIRE(tree.node_count == expected.node_count);
			CHECK(memcmp(tree.nodes, expected.nodes, (size_t)tree.node_count * sizeof *tree.nodes) == 0);
			CHECK(memcmp(tree.order, expected.order, (size_t)tree.primitive_count * sizeof *tree.order) == 0);
			cr_tree2_free(many, &tree);
			carom_destroy_context(many);
		}
		cr_tree8_free(one, &expected_wide);
		cr_tree2_free(one, &expected);
		carom_destroy_context(one);
		free_boxes(&set);
	}
}

// ---- Memory ----

static void fail_every_allocation(builder how)
{
	box_set set = make_boxes(300);
	fill_boxes(&set, RANDOM_BOXES, 5);
	bool built = false;
	int64_t failures = 0;
	for (int64_t fail_at = 1; !built && fail_at < 100; fail_at++) {
		fixture_heap heap;
		carom_context *context = fixture_heap_context(&heap, 1);
		atomic_store(&heap.fail_at, fail_at);
		cr_tree2 binary;
		cr_tree8 wide = { 0 };
		carom_result result = build_by(how, context, &set, &binary);
		if (result == CAROM_SUCCESS)
			result = cr_tree8_build(context, &binary, 0, &wide);
		else
			CHECK(!binary.nodes && !binary.order && binary.node_count == 0 && binary.primitive_count == 0);
		if (result != CAROM_SUCCESS) {
			CHECK_INT(result, CAROM_OUT_OF_MEMORY);
			CHECK(strstr(carom_error_text(context), "tree") != NULL);
			CHECK(!wide.nodes && wide.node_count == 0 && wide.block_count == 0);
			failures++;
		} else {
			built = true;
			CHECK(cr_tree8_check(&wide, &binary));
		}
		cr_tree8_free(context, &wide);
		cr_tree2_free(context, &binary);
		CHECK_INT(atomic_load(&heap.blocks), 1);
		carom_destroy_context(context);
	}
	CHECK(built);
	CHECK(failures > 5);
	free_boxes(&set);
}

TEST(tree, every_allocation_may_fail)
{
	for (int how = 0; how < BUILDERS; how++)
		fail_every_allocation((builder)how);
}

/// A scheduler that runs a loop as one piece, and adds up the items in user (int64_t).
static void count_items(carom_task_fn *fn, int64_t count, int64_t min_range, void *task, void *user)
{
	(void)min_range;
	*(int64_t *)user += count;
	fn(0, count, 0, task);
}

TEST(tree, clustering_of_nested_boxes_takes_few_rounds)
{
	// Every box would join a smaller one, and only the two smallest agree: one box a round would go.
	int64_t items = 0;
	carom_context_def def = carom_default_context_def();
	def.thread_count = 2;
	def.parallel_for = count_items;
	def.parallel_for_user = &items;
	carom_context *context = NULL;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	enum { COUNT = 4000 };
	box_set set = make_boxes(COUNT);
	for (int32_t i = 0; i < COUNT; i++) {
		const double half = 1 + 0.001 * i;
		set_box(&set, i, (double[3]){ -half, -half, -half }, (double[3]){ 2 * half, 2 * half, 2 * half });
	}
	cr_tree2 tree;
	REQUIRE(build_by(BY_PLOC, context, &set, &tree) == CAROM_SUCCESS);
	CHECK(cr_tree2_check(&tree, &set.view));
	printf("%lld items for %d boxes\n", (long long)items, COUNT);
	CHECK(items >= COUNT && items < 20 * COUNT);
	cr_tree2_free(context, &tree);
	free_boxes(&set);
	carom_destroy_context(context);
}

TEST(tree, quality_of_builders)
{
	// The codes alone lose to the heuristic, and its top gains some of that back; so do treelets, and on clusters clustering.
	carom_context *context = make_context(1);
	const layout kinds[] = { RANDOM_BOXES, CLUSTERED };
	for (int kind = 0; kind < 2; kind++) {
		double costs[BUILDERS], wide_costs[BUILDERS];
		box_set set = make_boxes(20000);
		fill_boxes(&set, kinds[kind], 31);
		for (int how = 0; how < BUILDERS; how++) {
			cr_tree2 tree;
			cr_tree8 wide;
			REQUIRE(build_by((builder)how, context, &set, &tree) == CAROM_SUCCESS);
			REQUIRE(cr_tree8_build(context, &tree, 0, &wide) == CAROM_SUCCESS);
			costs[how] = cr_tree2_sah_cost(&tree);
			wide_costs[how] = cr_tree8_sah_cost(&wide);
			cr_tree8_free(context, &wide);
			cr_tree2_free(context, &tree);
		}
		printf("SAH cost: heuristic %.1f, full leaves %.1f, codes %.1f, codes with a top %.1f, clustering %.1f, treelets %.1f\n",
			costs[BY_SAH], costs[BY_SAH_FULL], costs[BY_LBVH], costs[BY_HLBVH], costs[BY_PLOC], costs[BY_TREELETS]);
		printf("wide trees: %.2f, %.2f, %.2f, %.2f, %.2f, %.2f\n", wide_costs[BY_SAH], wide_costs[BY_SAH_FULL],
			wide_costs[BY_LBVH], wide_costs[BY_HLBVH], wide_costs[BY_PLOC], wide_costs[BY_TREELETS]);
		CHECK(costs[BY_SAH] < costs[BY_LBVH] && costs[BY_HLBVH] <= costs[BY_LBVH]);
		CHECK(costs[BY_TREELETS] < 0.98 * costs[BY_LBVH] && wide_costs[BY_TREELETS] < 0.96 * wide_costs[BY_LBVH]);
		CHECK(costs[BY_PLOC] < costs[BY_LBVH] && wide_costs[BY_PLOC] < 1.05 * wide_costs[BY_LBVH]);
		free_boxes(&set);
	}
	carom_destroy_context(context);
}

TEST(tree, treelets_never_end_worse_than_they_began)
{
	// Their tree begins as the one along the curve, and its cost may only fall.
	carom_context *context = make_context(1);
	const int32_t counts[] = { 1, 2, 9, 65, 500, 3000, 20000 };
	int better = 0;
	for (int kind = 0; kind < LAYOUTS; kind++) {
		for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
			const int before = test_failures();
			box_set set = make_boxes(counts[i]);
			fill_boxes(&set, (layout)kind, 17);
			double cost[2], wide_cost[2];
			for (int k = 0; k < 2; k++) {
				cr_tree2 tree;
				cr_tree8 wide;
				REQUIRE(build_by(k == 0 ? BY_LBVH : BY_TREELETS, context, &set, &tree) == CAROM_SUCCESS);
				REQUIRE(cr_tree8_build(context, &tree, 0, &wide) == CAROM_SUCCESS);
				cost[k] = cr_tree2_sah_cost(&tree);
				wide_cost[k] = cr_tree8_sah_cost(&wide);
				cr_tree8_free(context, &wide);
				cr_tree2_free(context, &tree);
			}
			CHECK(cost[1] <= cost[0] * (1 + 1e-6));
			CHECK(wide_cost[1] <= 1.05 * wide_cost[0]); // other children are gathered
			better += cost[1] < 0.95 * cost[0];
			free_boxes(&set);
			if (test_failures() != before) {
				printf("layout %d, %d boxes: binary %g from %g, wide %g from %g\n", kind, counts[i], cost[1], cost[0],
					wide_cost[1], wide_cost[0]);
			}
		}
	}
	CHECK(better > 8);
	carom_destroy_context(context);
}

// ---- The checks themselves ----

typedef struct trees {
	carom_context *context;
	box_set set;
	cr_tree2 binary;
	cr_tree8 wide;
} trees;

static trees open_trees(void)
{
	trees t = { .context = make_context(1), .set = make_boxes(200) };
	fill_boxes(&t.set, RANDOM_BOXES, 13);
	REQUIRE(cr_tree2_build(t.context, &t.set.view, CR_SAH_TRAVERSAL, &t.binary) == CAROM_SUCCESS);
	REQUIRE(cr_tree8_build(t.context, &t.binary, 0, &t.wide) == CAROM_SUCCESS);
	return t;
}

static void close_trees(trees *t)
{
	cr_tree8_free(t->context, &t->wide);
	cr_tree2_free(t->context, &t->binary);
	free_boxes(&t->set);
	carom_destroy_context(t->context);
}

TEST(tree, damaged_binary_trees_are_found)
{
	trees t = open_trees();
	cr_tree2 *tree = &t.binary;
	int32_t leaf = 0;
	while (tree->nodes[leaf].count == 0)
		leaf++;
	REQUIRE(tree->nodes[leaf].count > 0 && leaf > 1);
#define DAMAGED(field, value)                      \
	do {                                           \
		const __typeof__(field) saved = (field);   \
		(field) = (value);                         \
		CHECK(!cr_tree2_check(tree, &t.set.view)); \
		(field) = saved;                           \
		CHECK(cr_tree2_check(tree, &t.set.view));  \
	} while (0)
	DAMAGED(tree->order[0], -1);
	DAMAGED(tree->order[3], 200);
	DAMAGED(tree->order[5], tree->order[6]);
	DAMAGED(tree->nodes[0].upper[1], 0.0f);
	DAMAGED(tree->nodes[0].lower[2], NAN);
	DAMAGED(tree->nodes[leaf].lower[0], tree->nodes[leaf].upper[0]);
	DAMAGED(tree->nodes[leaf].skip, leaf + 2);
	DAMAGED(tree->nodes[leaf].count, tree->nodes[leaf].count + 1);
	DAMAGED(tree->nodes[leaf].first, 1);
	DAMAGED(tree->nodes[0].skip, 1);
	DAMAGED(tree->nodes[0].first, tree->nodes[0].first + 1);
	DAMAGED(tree->nodes[1].skip, tree->nodes[1].skip + 1);
	DAMAGED(tree->node_count, tree->node_count - 1);
#undef DAMAGED
	cr_build_boxes fewer = t.set.view;
	fewer.count = 199;
	CHECK(!cr_tree2_check(tree, &fewer));
	fewer.count = 0;
	CHECK(!cr_tree2_check(tree, &fewer));
	close_trees(&t);
}

TEST(tree, damaged_wide_trees_are_found)
{
	trees t = open_trees();
	cr_tree8 *tree = &t.wide;
	REQUIRE(tree->node_count > 3);
	uint32_t inner = 0;
	while (tree->nodes[0].child[inner] & CR_LEAF_BIT)
		inner++;
	REQUIRE(inner < tree->nodes[0].child_count);
#define DAMAGED(field, value)                    \
	do {                                         \
		const __typeof__(field) saved = (field); \
		(field) = (value);                       \
		CHECK(!cr_tree8_check(tree, &t.binary)); \
		(field) = saved;                         \
		CHECK(cr_tree8_check(tree, &t.binary));  \
	} while (0)
	DAMAGED(tree->nodes[0].child[inner], 0);
	DAMAGED(tree->nodes[0].child[inner], (uint32_t)tree->node_count);
	DAMAGED(tree->nodes[0].child[inner], CR_LEAF_BIT | (uint32_t)tree->block_count);
	DAMAGED(tree->nodes[0].child[inner], CR_LEAF_BIT);
	DAMAGED(tree->nodes[0].upper[0][inner], tree->nodes[0].lower[0][inner]);
	DAMAGED(tree->nodes[0].child_count, tree->nodes[0].child_count - 1);
	DAMAGED(tree->block_size[0], tree->block_size[0] + 1);
	DAMAGED(tree->block_count, tree->block_count + 1);
	DAMAGED(tree->node_count, 0);
#undef DAMAGED
	close_trees(&t);
}

// ---- Quality ----

TEST(tree, sah_cost_of_small_trees)
{
	carom_context *context = make_context(1);
	cr_tree2 tree;
	box_set none = make_boxes(0);
	REQUIRE(cr_tree2_build(context, &none.view, CR_SAH_TRAVERSAL, &tree) == CAROM_SUCCESS);
	CHECK_NEAR(cr_tree2_sah_cost(&tree), 0, 0);
	free_boxes(&none);

	// One leaf of three: every ray that meets it tests three.
	box_set three = make_boxes(3);
	fill_boxes(&three, ALL_EQUAL, 0);
	REQUIRE(cr_tree2_build(context, &three.view, CR_SAH_TRAVERSAL, &tree) == CAROM_SUCCESS);
	CHECK_NEAR(cr_tree2_sah_cost(&tree), 3, 1e-12);
	cr_tree2_free(context, &tree);
	// The same without area: the area of the root cannot divide.
	for (int k = 0; k < 6; k++)
		memset(three.rows[k], 0, 3 * sizeof(float));
	REQUIRE(cr_tree2_build(context, &three.view, CR_SAH_TRAVERSAL, &tree) == CAROM_SUCCESS);
	CHECK_NEAR(cr_tree2_sah_cost(&tree), 3, 1e-12);
	cr_tree2_free(context, &tree);
	free_boxes(&three);

	// Two unit cubes 9 apart: root 10 x 1 x 1 with area 42, leaves 6 each. 1.2 for the inner node (Aila et al.).
	box_set two = make_boxes(2);
	set_box(&two, 0, (double[]){ 0, 0, 0 }, (double[]){ 1, 1, 1 });
	set_box(&two, 1, (double[]){ 9, 0, 0 }, (double[]){ 1, 1, 1 });
	REQUIRE(cr_tree2_build(context, &two.view, 0, &tree) == CAROM_SUCCESS);
	CHECK_INT(tree.node_count, 3);
	CHECK_NEAR(cr_tree2_sah_cost(&tree), 1.2 + 2 * 6.0 / 42, 1e-6);
	cr_tree2_free(context, &tree);
	free_boxes(&two);
	carom_destroy_context(context);
}

static carom_mesh *make_mesh(carom_context *context, const float *vertices, int32_t triangle_count)
{
	int32_t *triangles = calloc(3 * (size_t)triangle_count, sizeof *triangles);
	for (int32_t i = 0; i < 3 * triangle_count; i++)
		triangles[i] = i;
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = 3 * triangle_count;
	def.triangles = triangles;
	def.triangle_count = triangle_count;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	free(triangles);
	return mesh;
}

/// Area of the part of a triangle inside a box, by cutting it into cells of barycentric coordinates: dull, and right to the square of a cell.
static double area_inside(const v3d t[3], const float lower[3], const float upper[3], int cells)
{
	int64_t inside = 0, all = 0;
	for (int i = 0; i < cells; i++) {
		for (int k = 0; k < 2 * (cells - i) - 1; k++) {
			// Middles of the small triangles that point up (even k) and down.
			const double third = k % 2 ? 2.0 / 3 : 1.0 / 3;
			const double u = (i + third) / cells, v = (k / 2 + third) / cells;
			const v3d p = v3d_mad(v3d_mad(t[0], u, v3d_sub(t[1], t[0])), v, v3d_sub(t[2], t[0]));
			all++;
			inside +=
				p.x >= lower[0] && p.x <= upper[0] && p.y >= lower[1] && p.y <= upper[1] && p.z >= lower[2] && p.z <= upper[2];
		}
	}
	return 0.5 * v3d_length(v3d_cross(v3d_sub(t[1], t[0]), v3d_sub(t[2], t[0]))) * (double)inside / (double)all;
}

/// End-point overlap by definition: each node against each triangle that it does not hold, over the whole area.
static double epo_by_sampling(const cr_collider *c, int cells)
{
	double sum = 0, area = 0;
	bool *held = calloc((size_t)c->topology->triangle_count, sizeof *held);
	for (int32_t i = 0; i < c->triangle_count; i++) {
		v3d t[3];
		cr_collider_triangle(c, c->triangle_number[i], t);
		area += 0.5 * v3d_length(v3d_cross(v3d_sub(t[1], t[0]), v3d_sub(t[2], t[0])));
	}
	for (int32_t at = 0; at < c->binary.node_count; at++) {
		const cr_node2 *n = &c->binary.nodes[at];
		memset(held, 0, (size_t)c->topology->triangle_count * sizeof *held);
		for (int32_t below = at; below < n->skip; below++) {
			const cr_node2 *leaf = &c->binary.nodes[below];
			for (int32_t i = 0; i < leaf->count; i++)
				held[c->triangle_number[c->binary.order[leaf->first + i]]] = true;
		}
		for (int32_t i = 0; i < c->triangle_count; i++) {
			v3d t[3];
			cr_collider_triangle(c, c->triangle_number[i], t);
			if (!held[c->triangle_number[i]])
				sum += (n->count > 0 ? n->count : 1.2) * area_inside(t, n->lower, n->upper, cells);
		}
	}
	free(held);
	return sum / area;
}

TEST(tree, epo_of_triangles_that_are_apart)
{
	carom_context *context = make_context(1);
	float vertices[9 * 40];
	for (int i = 0; i < 40; i++) {
		const float t[9] = { 0, 0, 0, 1, 0, 0, 0, 1, 1 };
		for (int k = 0; k < 9; k++)
			vertices[9 * i + k] = t[k] + (k % 3 == 0 ? 3.0f * (float)i : 0);
	}
	carom_mesh *mesh = make_mesh(context, vertices, 40);
	carom_tree_info info;
	REQUIRE(carom_mesh_get_tree_info(mesh, true, &info) == CAROM_SUCCESS);
	CHECK(info.binary_nodes > 3);
	CHECK_NEAR(info.epo, 0, 0);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

TEST(tree, epo_against_sampling)
{
	carom_context *context = make_context(1);
	uint64_t seed = 21;
	for (int round = 0; round < 3; round++) {
		enum { COUNT = 30 };
		float vertices[9 * COUNT];
		for (int i = 0; i < COUNT; i++) {
			double centre[3];
			for (int k = 0; k < 3; k++)
				centre[k] = test_random_double(&seed, -1, 1);
			for (int k = 0; k < 9; k++)
				vertices[9 * i + k] = (float)(centre[k % 3] + test_random_double(&seed, -0.7, 0.7));
		}
		carom_mesh *mesh = make_mesh(context, vertices, COUNT);
		const double expected = epo_by_sampling(&mesh->collider, 80);
		CHECK(expected > 0.5);
		CHECK_NEAR(cr_collider_epo(&mesh->collider), expected, 0.01 * expected);
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

/// The sum of the costs of all nodes: no triangle has more of its area inside each of them than all
/// of it.
static double cost_of_all_nodes(const cr_collider *c)
{
	double sum = 0;
	for (int32_t at = 0; at < c->binary.node_count; at++)
		sum += c->binary.nodes[at].count > 0 ? c->binary.nodes[at].count : 1.2;
	return sum;
}

static void check_epo_bounds(carom_context *context, const float *vertices, int32_t triangle_count)
{
	carom_mesh *mesh = make_mesh(context, vertices, triangle_count);
	const double epo = cr_collider_epo(&mesh->collider);
	// A sliver's corners are rounded by more than it is wide: its clipped area is then as uncertain
	// as its area.
	CHECK(epo >= 0 && isfinite(epo));
	if (mesh->collider.triangle_count > 0)
		CHECK(epo <= 4 * cost_of_all_nodes(&mesh->collider));
	carom_release_mesh(mesh);
}

/// Eleven triangles that a fuzzer found, of sizes from 1e-44 to 1e-11: nine corners were not enough
/// for one of them.
TEST(tree, epo_of_a_polygon_that_rounding_bends)
{
	static const float corners[13][3] = { { 0x1.ep-145f, 0x1.1818p-136f, 0x1.4p-136f },
		{ 0x1.48p-136f, 0x1.1818p-128f, 0x1.48p-128f }, { 0x1p-43f, 0x1p-121f, 0x1.2p-144f },
		{ 0x1.5p-144f, 0x1.28p-144f, 0x1.2818p-136f }, { 0x1.5p-136f, 0x1.58p-136f, 0x1.2818p-128f },
		{ 0x1.58p-128f, 0x1.3p-128f, 0x1.06p-51f }, { 0x1.3p-144f, 0x1.6p-144f, 0x1.38p-144f },
		{ 0x1.3818p-136f, 0x1.6p-136f, 0x1.4p-136f }, { 0x1.3818p-128f, 0x1.4p-128f, 0x1.18p-128f },
		{ 0x1.06p-47f, 0x1p-37f, 0x1p-35f }, { 0x1.48p-144f, 0x1.4818p-136f, 0x1.7p-136f },
		{ 0x1.78p-136f, 0x1.4818p-128f, 0x1.78p-128f }, { 0x1.8p-147f, 0x1.8p-146f, 0x1.cp-147f } };
	static const int32_t triangles[11][3] = { { 0, 4, 5 }, { 0, 5, 1 }, { 2, 6, 7 }, { 2, 7, 3 }, { 3, 7, 8 }, { 3, 8, 4 },
		{ 4, 8, 9 }, { 4, 9, 5 }, { 6, 10, 11 }, { 6, 11, 7 }, { 8, 12, 9 } };
	carom_context *context = make_context(1);
	for (int power = 0; power <= 60; power += 60) {
		float vertices[9 * 11];
		for (int i = 0; i < 9 * 11; i++)
			vertices[i] = ldexpf(corners[triangles[i / 9][i % 9 / 3]][i % 3], power);
		check_epo_bounds(context, vertices, 11);
	}
	carom_destroy_context(context);
}

/// Rounded corners make a clipped polygon non-convex, and a side of a box then cuts it more than
/// twice. Sizes differ by up to 56 powers of ten, in every fourth mesh without denormal numbers.
TEST(tree, epo_of_triangles_of_wildly_different_sizes)
{
	carom_context *context = make_context(1);
	uint64_t seed = 43;
	for (int round = 0; round < 800; round++) {
		enum { COUNT = 48 };
		float vertices[9 * COUNT];
		for (int i = 0; i < 9 * COUNT; i++)
			vertices[i] =
				(float)(test_random_double(&seed, 0, 1) * exp2(test_random_double(&seed, round % 4 == 0 ? -120 : -149, 38)));
		check_epo_bounds(context, vertices, COUNT);
	}
	carom_destroy_context(context);
}
