/// Dynamic trees of boxes: whole after every change, and pairs as a plain double loop finds them, for any layout; as good as a fresh
/// build until they say that they are worn out.
#include "fixture.h"
#include "test.h"
#include "tree/quality.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 120, OUT = -1 };

typedef enum layout { SCATTERED, POINTS, EQUAL, NESTED, EXPONENTIAL, HUGE_AND_TINY, FLAT, LAYOUTS } layout;

/// Items beside their tree: box and leaf of each.
typedef struct bench {
	carom_context *context;
	cr_dynamic_tree tree;
	cr_dynamic_stack stack;
	box3d box[ITEMS];
	int32_t leaf[ITEMS]; // OUT: not in the tree
	uint64_t seed;
	uint8_t found[ITEMS][ITEMS];
} bench;

static box3d make_box(uint64_t *seed, layout kind, int32_t item)
{
	box3d b;
	for (int k = 0; k < 3; k++) {
		double lower = test_random_double(seed, -1, 1), size = test_random_double(seed, 0, 0.4);
		if (kind == POINTS)
			size = 0;
		if (kind == EQUAL)
			lower = 0.25, size = 0.5;
		if (kind == NESTED)
			lower = -1 - item, size = 2 + 2 * item;
		if (kind == EXPONENTIAL)
			lower = k == 0 ? ldexp(1, item - 60) : 0, size = lower;
		if (kind == HUGE_AND_TINY)
			lower *= item % 7 == 0 ? 1e29 : 1e-29, size *= item % 5 == 0 ? 1e29 : 0;
		if (kind == FLAT && k == 1)
			lower = size = 0;
		b.lower[k] = lower;
		b.upper[k] = lower + size;
	}
	return b;
}

static bench *open_bench(carom_context *context)
{
	bench *b = calloc(1, sizeof *b);
	REQUIRE(b);
	b->context = context;
	cr_dynamic_clear(&b->tree);
	for (int i = 0; i < ITEMS; i++)
		b->leaf[i] = OUT;
	return b;
}

static void close_bench(bench *b)
{
	cr_dynamic_free(b->context, &b->tree);
	cr_array_free(b->context, &b->stack);
	free(b);
}

static carom_context *make_context(void)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	carom_context *context = NULL;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	return context;
}

// ---- Pairs ----

static bool note_pair(void *user, int32_t a, int32_t b)
{
	bench *own = user;
	own->found[a < b ? a : b][a < b ? b : a]++;
	return true;
}

static cr_dynamic_walk make_walk(bench *b)
{
	return (cr_dynamic_walk){
		.context = b->context, .a = &b->tree, .b = &b->tree, .stack = &b->stack, .pair = note_pair, .user = b
	};
}

/// Are two items in the tree, with leaves whose boxes overlap? Those of the items do so only if they do.
static bool leaves_overlap(const bench *b, int i, int j)
{
	if (b->leaf[i] == OUT || b->leaf[j] == OUT)
		return false;
	const box3d box_i = cr_dynamic_box(&b->tree.nodes.data[b->leaf[i]]), box_j = cr_dynamic_box(&b->tree.nodes.data[b->leaf[j]]);
	CHECK(box3d_overlap(&box_i, &box_j) || !box3d_overlap(&b->box[i], &b->box[j]));
	return box3d_overlap(&box_i, &box_j);
}

/// All pairs once, by the children of every node; and those of each item, by its leaf.
static void check_pairs(bench *b)
{
	int wrong = 0;
	cr_dynamic_walk walk = make_walk(b);
	memset(b->found, 0, sizeof b->found);
	for (int64_t i = 0; i < b->tree.nodes.count; i++) {
		const cr_dynamic_node *n = &b->tree.nodes.data[i];
		if (!cr_dynamic_is_leaf(n))
			REQUIRE(cr_dynamic_pairs(&walk, n->child[0], n->child[1]));
	}
	for (int i = 0; i < ITEMS; i++) {
		for (int j = i + 1; j < ITEMS; j++)
			wrong += b->found[i][j] != leaves_overlap(b, i, j);
	}
	for (int i = 0; i < ITEMS; i += 17) {
		memset(b->found, 0, sizeof b->found);
		if (b->leaf[i] != OUT)
			REQUIRE(cr_dynamic_pairs(&walk, b->leaf[i], b->tree.root));
		for (int j = 0; j < ITEMS; j++)
			wrong += b->found[i < j ? i : j][i < j ? j : i] != leaves_overlap(b, i, j);
	}
	CHECK_INT(wrong, 0);
}

/// Is the box of a leaf that of its item, but for roundings to float outward?
static bool fits_closely(const cr_dynamic_node *leaf, const box3d *item)
{
	const box3d box = cr_dynamic_box(leaf);
	bool close = memcmp(box.lower, item->lower, sizeof box.lower) == 0 && box3d_contains(&box, item);
	for (int k = 0; k < 3; k++)
		close = close &&
			box.upper[k] - item->upper[k] <= 1e-6 * (item->upper[k] - item->lower[k]) + 1e-15 * fabs(item->upper[k]) + 1e-44;
	return close;
}

static void check_bench(bench *b)
{
	int leaves = 0, wrong = 0;
	for (int i = 0; i < ITEMS; i++) {
		if (b->leaf[i] == OUT)
			continue;
		const cr_dynamic_node *leaf = &b->tree.nodes.data[b->leaf[i]];
		wrong += cr_dynamic_item(leaf) != i || !fits_closely(leaf, &b->box[i]);
		leaves++;
	}
	CHECK_INT(wrong, 0);
	CHECK_INT(b->tree.leaves, leaves);
	CHECK_INT(b->tree.root == CR_NO_NODE, leaves == 0);
	CHECK(cr_dynamic_check(&b->tree));
}

/// Put an item in, take it out, or move it.
static void change_item(bench *b, layout kind, int32_t item, bool in)
{
	if (b->leaf[item] != OUT) {
		cr_dynamic_remove(&b->tree, b->leaf[item]);
		b->leaf[item] = OUT;
	}
	if (in) {
		b->box[item] = make_box(&b->seed, kind, item);
		b->leaf[item] = cr_dynamic_insert(&b->tree, item, &b->box[item]);
	}
}

static void build_bench(bench *b)
{
	int32_t items[ITEMS], count = 0;
	box3d boxes[ITEMS];
	for (int32_t i = ITEMS - 1; i >= 0; i--) {
		if (b->leaf[i] == OUT)
			continue;
		boxes[count] = b->box[i];
		items[count] = i;
		b->leaf[i] = count++;
	}
	cr_dynamic_build(&b->tree, items, boxes, count);
}

TEST(tree_dynamic, whole_and_complete_while_boxes_come_move_and_go)
{
	carom_context *context = make_context();
	for (int kind = 0; kind < LAYOUTS; kind++) {
		const int before = test_failures();
		bench *b = open_bench(context);
		b->seed = (uint64_t)kind + 1;
		REQUIRE(cr_dynamic_reserve(context, &b->tree, ITEMS));
		for (int step = 0; step < 60; step++) {
			// First they come, then they move, then they go; every 20 steps the tree is built over those that are there.
			const int changes = step % 3 == 0 ? 1 : 12;
			for (int i = 0; i < changes; i++)
				change_item(b, (layout)kind, (int32_t)(test_random(&b->seed) % ITEMS),
					test_random_double(&b->seed, 0, 1) < (step < 25          ? 0.9
																 : step < 45 ? 0.6
																			 : 0.1));
			if (step % 20 == 19)
				build_bench(b);
			check_bench(b);
			check_pairs(b);
		}
		for (int i = 0; i < ITEMS; i++)
			change_item(b, (layout)kind, i, false);
		check_bench(b);
		close_bench(b);
		if (test_failures() != before)
			test_check_int(kind, -1, "boxes of this layout", __FILE__, __LINE__);
	}
	carom_destroy_context(context);
}

TEST(tree_dynamic, few_items)
{
	carom_context *context = make_context();
	for (int count = 0; count < 4; count++) {
		for (int built = 0; built < 2; built++) {
			bench *b = open_bench(context);
			REQUIRE(cr_dynamic_reserve(context, &b->tree, count));
			for (int i = 0; i < count; i++)
				change_item(b, EQUAL, i, true);
			if (built)
				build_bench(b);
			check_bench(b);
			check_pairs(b);
			// Leaves of area 1.5 under the same box (half of it is 0.75): each costs a test, each node above them 1.2.
			CHECK_NEAR(cr_dynamic_sah_cost(&b->tree), count + 1.2 * (count > 0 ? count - 1 : 0), 1e-12);
			close_bench(b);
		}
	}
	carom_destroy_context(context);
}

TEST(tree_dynamic, sah_cost_worked_out_by_hand)
{
	// Two unit cubes (area 6 each) under a box of 3 by 1 by 1 (area 14).
	carom_context *context = make_context();
	bench *b = open_bench(context);
	REQUIRE(cr_dynamic_reserve(context, &b->tree, 2));
	cr_dynamic_insert(&b->tree, 0, &(box3d){ { 0, 0, 0 }, { 1, 1, 1 } });
	cr_dynamic_insert(&b->tree, 1, &(box3d){ { 2, 0, 0 }, { 3, 1, 1 } });
	CHECK_NEAR(cr_dynamic_sah_cost(&b->tree), 1.2 + 2 * 6.0 / 14, 1e-12);
	close_bench(b);
	// Points have no area: every node is met.
	b = open_bench(context);
	REQUIRE(cr_dynamic_reserve(context, &b->tree, 2));
	cr_dynamic_insert(&b->tree, 0, &(box3d){ { 0, 0, 0 }, { 0, 0, 0 } });
	cr_dynamic_insert(&b->tree, 1, &(box3d){ { 0, 0, 0 }, { 0, 0, 0 } });
	CHECK_NEAR(cr_dynamic_sah_cost(&b->tree), 1.2 + 2, 1e-12);
	close_bench(b);
	carom_destroy_context(context);
}

TEST(tree_dynamic, insertion_is_as_good_as_a_build)
{
	carom_context *context = make_context();
	bench *b = open_bench(context);
	b->seed = 3;
	REQUIRE(cr_dynamic_reserve(context, &b->tree, ITEMS));
	for (int step = 0; step < 1000; step++)
		change_item(b, SCATTERED, step % ITEMS, true);
	const double grown = cr_dynamic_sah_cost(&b->tree);
	build_bench(b);
	const double built = cr_dynamic_sah_cost(&b->tree);
	printf("SAH cost of %d boxes: %.2f after 1000 insertions, %.2f built\n", ITEMS, grown, built);
	CHECK(grown < 1.1 * built);
	CHECK(!cr_dynamic_is_worn_out(&b->tree));
	close_bench(b);
	carom_destroy_context(context);
}

TEST(tree_dynamic, worn_out_when_it_has_doubled_or_spread)
{
	carom_context *context = make_context();
	bench *b = open_bench(context);
	b->seed = 4;
	REQUIRE(cr_dynamic_reserve(context, &b->tree, ITEMS));
	for (int i = 0; i < ITEMS / 3; i++)
		change_item(b, POINTS, i, true);
	build_bench(b);
	CHECK(!cr_dynamic_is_worn_out(&b->tree));
	int added = ITEMS / 3;
	while (added < ITEMS && !cr_dynamic_is_worn_out(&b->tree))
		change_item(b, POINTS, added++, true);
	// by its boxes before it has doubled, or just when it has
	CHECK(added > ITEMS / 3 + 1 && added <= 2 * (ITEMS / 3) + 1);
	build_bench(b);
	CHECK(!cr_dynamic_is_worn_out(&b->tree));
	close_bench(b);
	carom_destroy_context(context);
}

// ---- Walks ----

static bool refuse(void *user, int32_t a, int32_t b)
{
	const bench *own = user;
	// Refuses every node but the root with itself.
	return a == own->tree.root && b == own->tree.root;
}

static bool stop(void *user, int32_t a, int32_t b)
{
	note_pair(user, a, b);
	return false;
}

TEST(tree_dynamic, walks_are_cut_and_ended)
{
	carom_context *context = make_context();
	bench *b = open_bench(context);
	REQUIRE(cr_dynamic_reserve(context, &b->tree, ITEMS));
	for (int i = 0; i < ITEMS; i++)
		change_item(b, EQUAL, i, true);
	cr_dynamic_walk walk = make_walk(b);
	walk.may = refuse;
	CHECK(cr_dynamic_pairs(&walk, b->tree.root, b->tree.root));
	CHECK_INT(walk.compared, 3); // the root, and its two children with it
	walk = make_walk(b);
	walk.pair = stop;
	CHECK(cr_dynamic_pairs(&walk, b->tree.root, b->tree.root));
	int pairs = 0;
	for (int i = 0; i < ITEMS * ITEMS; i++)
		pairs += b->found[i / ITEMS][i % ITEMS];
	CHECK_INT(pairs, 1);
	close_bench(b);
	carom_destroy_context(context);
}

static void count_visit(void *user, const cr_dynamic_tree *tree, int32_t node)
{
	int *height = user;
	const cr_dynamic_node *n = &tree->nodes.data[node];
	CHECK_INT(height[node], 0); // once
	height[node] = 1;
	if (!cr_dynamic_is_leaf(n)) {
		CHECK(height[n->child[0]] > 0 && height[n->child[1]] > 0); // children first
		height[node] += height[n->child[0]] + height[n->child[1]];
	}
}

TEST(tree_dynamic, visits_go_up)
{
	carom_context *context = make_context();
	bench *b = open_bench(context);
	int height[2 * ITEMS] = { 0 };
	cr_dynamic_visit_up(&b->tree, count_visit, height);
	REQUIRE(cr_dynamic_reserve(context, &b->tree, ITEMS));
	for (int i = 0; i < ITEMS; i++)
		change_item(b, NESTED, i, true);
	for (int i = 0; i < ITEMS; i += 3)
		change_item(b, NESTED, i, false);
	cr_dynamic_visit_up(&b->tree, count_visit, height);
	CHECK_INT(height[b->tree.root], 2 * b->tree.leaves - 1);
	close_bench(b);
	carom_destroy_context(context);
}

// ---- Memory, damage ----

TEST(tree_dynamic, every_allocation_may_fail)
{
	int failures = 0;
	bool done = false;
	for (int64_t fail_at = 1; !done && fail_at < 50; fail_at++) {
		fixture_heap heap;
		carom_context *context = fixture_heap_context(&heap, 1);
		bench *b = open_bench(context);
		atomic_store(&heap.fail_at, fail_at);
		// Little room at first, so that both arrays and the stack grow.
		bool fits = cr_dynamic_reserve(context, &b->tree, 1);
		for (int i = 0; fits && i < ITEMS; i++) {
			fits = cr_dynamic_reserve(context, &b->tree, i + 1);
			if (fits)
				change_item(b, SCATTERED, i, true);
			check_bench(b);
		}
		if (fits) {
			cr_dynamic_walk walk = make_walk(b);
			fits = done = cr_dynamic_pairs(&walk, b->tree.root, b->tree.root);
		}
		failures += !fits;
		close_bench(b);
		CHECK_INT(atomic_load(&heap.blocks), 1);
		carom_destroy_context(context);
	}
	CHECK(done);
	CHECK(failures > 5);
}

/// A change to the tree that must be found. which: one of DAMAGES.
enum { DAMAGES = 9 };
static void damage(cr_dynamic_tree *t, int which)
{
	int32_t inner = t->nodes.data[t->root].child[0];
	if (cr_dynamic_is_leaf(&t->nodes.data[inner]))
		inner = t->nodes.data[t->root].child[1];
	cr_dynamic_node *n = &t->nodes.data[inner];
	switch (which) {
	case 0: n->size[1] += 1; break;
	case 1: n->lower[2] += 0.01; break;
	case 2: n->parent = inner; break;
	case 3: n->child[1] = n->child[0]; break;
	case 4: n->child[0] = (int32_t)t->nodes.count; break;
	case 5: t->leaves++; break;
	case 6: t->free_node = CR_NO_NODE; break;
	case 7: n->child[0] = CR_NO_NODE; break;
	default: t->root = n->child[0]; break;
	}
}

TEST(tree_dynamic, damage_is_found)
{
	carom_context *context = make_context();
	for (int which = 0; which < DAMAGES; which++) {
		bench *b = open_bench(context);
		REQUIRE(cr_dynamic_reserve(context, &b->tree, ITEMS));
		for (int i = 0; i < ITEMS; i++)
			change_item(b, SCATTERED, i, true);
		change_item(b, SCATTERED, 7, false);
		CHECK(cr_dynamic_check(&b->tree));
		damage(&b->tree, which);
		const bool found = !cr_dynamic_check(&b->tree);
		test_check_int(found ? which : -1, which, "damage that is found", __FILE__, __LINE__);
		close_bench(b);
	}
	carom_destroy_context(context);
}
