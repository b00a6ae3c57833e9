/// The tree of tier COMPUTE in plain C. See plain_tree.h.
#include "plain_tree.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LEAF (1u << 31)

typedef struct coded {
	uint64_t code;
	uint32_t number;
} coded;

static void *must_have(size_t count, size_t size)
{
	void *memory = calloc(count, size);
	if (!memory) {
		printf("out of memory\n");
		exit(1);
	}
	return memory;
}

// ---- The order ----

static uint64_t code_of(const float *sphere, const float lower[3], float cells)
{
	uint64_t code = 0;
	for (int k = 0; k < 3; k++) {
		const float at = fminf(fmaxf((sphere[k] - lower[k]) * cells, 0), 2097151);
		for (int bit = 0; bit < 21; bit++)
			code |= (uint64_t)((uint32_t)at >> bit & 1) << (3 * bit + k);
	}
	return code;
}

static int by_code(const void *p, const void *q)
{
	const coded *a = p, *b = q;
	if (a->code != b->code)
		return a->code < b->code ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static coded *sort_codes(const float *spheres, uint32_t count, const float lower[3], const float upper[3])
{
	coded *codes = must_have(count, sizeof *codes);
	float extent = 0;
	for (int k = 0; k < 3; k++)
		extent = fmaxf(extent, upper[k] - lower[k]);
	const float cells = extent > 0 && isfinite(2097152 / extent) ? 2097152 / extent : 0;
	for (uint32_t i = 0; i < count; i++)
		codes[i] = (coded){ code_of(spheres + 4 * (size_t)i, lower, cells), i };
	qsort(codes, count, sizeof *codes, by_code);
	return codes;
}

// ---- The tree ----

static plain_box box_of(const plain_tree *tree, uint32_t place)
{
	const float *sphere = tree->spheres + 4 * (size_t)place, reach = (sphere[3] + tree->add) * (1 + 0x1p-18f);
	plain_box box;
	for (int k = 0; k < 3; k++) {
		const float far = reach + (fabsf(sphere[k]) + reach) * 0x1p-21f;
		box.lower[k] = sphere[k] - far;
		box.upper[k] = sphere[k] + far;
	}
	return box;
}

static plain_box join(plain_box a, plain_box b)
{
	for (int k = 0; k < 3; k++) {
		a.lower[k] = fminf(a.lower[k], b.lower[k]);
		a.upper[k] = fmaxf(a.upper[k], b.upper[k]);
	}
	return a;
}

/// The last place of the first half of a range: where the highest bit in which codes differ changes. Equal codes: bits of places.
static uint32_t split_of(const coded *codes, uint32_t first, uint32_t last)
{
	const uint64_t differ = codes[first].code ^ codes[last].code;
	uint64_t bit = 1;
	uint32_t split = first;
	while ((differ ? differ : first ^ last) >> 1 >= bit)
		bit *= 2;
	for (uint32_t at = first + 1; at < last; at++)
		split += differ ? !(codes[at].code & bit) : !(at & bit);
	return split;
}

/// Make the node of a range; returns its box.
static plain_box make_node(plain_tree *tree, const coded *codes, uint32_t number, uint32_t first, uint32_t last)
{
	const uint32_t split = split_of(codes, first, last), begin[2] = { first, split + 1 }, end[2] = { split, last };
	plain_node *node = &tree->nodes[number];
	for (uint32_t side = 0; side < 2; side++) {
		node->last[side] = end[side];
		node->child[side] = end[side] - begin[side] < tree->leaf_size ? begin[side] | LEAF : split + side;
		if (!(node->child[side] & LEAF)) {
			node->box[side] = make_node(tree, codes, split + side, begin[side], end[side]);
			continue;
		}
		node->box[side] = box_of(tree, begin[side]);
		for (uint32_t place = begin[side] + 1; place <= end[side]; place++)
			node->box[side] = join(node->box[side], box_of(tree, place));
	}
	return join(node->box[0], node->box[1]);
}

plain_tree plain_build(
	const float *spheres, uint32_t count, const float lower[3], const float upper[3], float add, uint32_t leaf_size)
{
	plain_tree tree = { .count = count, .leaf_size = leaf_size, .add = add };
	coded *codes = sort_codes(spheres, count, lower, upper);
	tree.nodes = must_have(count, sizeof *tree.nodes);
	tree.spheres = must_have(4 * (size_t)count, sizeof *tree.spheres);
	tree.order = must_have(count, sizeof *tree.order);
	for (uint32_t i = 0; i < count; i++) {
		tree.order[i] = codes[i].number;
		for (int k = 0; k < 4; k++)
			tree.spheres[4 * (size_t)i + (size_t)k] = spheres[4 * (size_t)codes[i].number + (size_t)k];
	}
	make_node(&tree, codes, 0, 0, count - 1);
	free(codes);
	return tree;
}

void plain_free(plain_tree *tree)
{
	free(tree->nodes);
	free(tree->spheres);
	free(tree->order);
	*tree = (plain_tree){ 0 };
}

// ---- Pairs ----

static bool meet(const plain_box *a, const plain_box *b)
{
	return a->lower[0] <= b->upper[0] && a->upper[0] >= b->lower[0] && a->lower[1] <= b->upper[1] &&
		a->upper[1] >= b->lower[1] && a->lower[2] <= b->upper[2] && a->upper[2] >= b->lower[2];
}

static void compare_leaf(const plain_tree *tree, uint32_t own, uint32_t first, uint32_t last, plain_search *search)
{
	const float *a = tree->spheres + 4 * (size_t)own;
	for (uint32_t other = first > own ? first : own + 1; other <= last; other++) {
		const float *b = tree->spheres + 4 * (size_t)other;
		const float x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2], sum = a[3] + b[3];
		search->tests++;
		search->pairs += x * x + y * y + z * z <= sum * sum;
	}
}

static void search_for(const plain_tree *tree, uint32_t own, plain_search *search)
{
	uint32_t stack[96], top = 0, number = 0;
	const plain_box box = box_of(tree, own);
	for (;;) {
		const plain_node *node = &tree->nodes[number];
		uint32_t next[2], count = 0;
		search->visits++;
		for (uint32_t side = 0; side < 2; side++) {
			if (node->last[side] <= own || !meet(&box, &node->box[side]))
				continue;
			if (node->child[side] & LEAF)
				compare_leaf(tree, own, node->child[side] & ~LEAF, node->last[side], search);
			else
				next[count++] = node->child[side];
		}
		if (count == 2)
			stack[top++] = next[1];
		if (count > 0)
			number = next[0];
		else if (top > 0)
			number = stack[--top];
		else
			return;
	}
}

plain_search plain_find_pairs(const plain_tree *tree)
{
	plain_search search = { 0 };
	for (uint32_t own = 0; own < tree->count; own++)
		search_for(tree, own, &search);
	return search;
}
