/// See links.h.
#include "tree/links.h"
#include "tree/quality.h"
#include "tree/slots.h"
#include <string.h>

// ---- Leaves ----

static void make_leaves(cr_links *l, const cr_build_boxes *boxes)
{
	for (int32_t i = 0; i < l->primitives; i++) {
		cr_link *leaf = &l->nodes[i];
		*leaf = (cr_link){ .left = -1, .right = -1, .count = 1 };
		for (int k = 0; k < 3; k++) {
			leaf->box.lower[k] = boxes->lower[k][i];
			leaf->box.upper[k] = boxes->upper[k][i];
		}
		leaf->cost = leaf->measure = box3f_area(&leaf->box);
	}
}

static float centre_of(const cr_link *leaf, int axis) { return 0.5f * leaf->box.lower[axis] + 0.5f * leaf->box.upper[axis]; }

static carom_result sort_leaves(carom_context *context, cr_links *l, cr_key *scratch)
{
	box3f all = BOX3F_NONE;
	for (int32_t i = 0; i < l->primitives; i++) {
		const float c[3] = { centre_of(&l->nodes[i], 0), centre_of(&l->nodes[i], 1), centre_of(&l->nodes[i], 2) };
		all = box3f_join(&(box3f){ { c[0], c[1], c[2] }, { c[0], c[1], c[2] } }, &all);
	}
	const cr_morton_frame frame = cr_make_morton_frame(all.lower, all.upper);
	for (int32_t i = 0; i < l->primitives; i++) {
		const cr_link *leaf = &l->nodes[i];
		l->keys[i] = (cr_key){ cr_morton_code(&frame, centre_of(leaf, 0), centre_of(leaf, 1), centre_of(leaf, 2)), (uint32_t)i };
	}
	return cr_sort_keys(context, l->keys, scratch, l->primitives, CR_MORTON_BITS);
}

bool cr_links_begin(carom_context *context, const cr_build_boxes *boxes, float traversal_cost, cr_links *l)
{
	const size_t n = (size_t)boxes->count;
	*l = (cr_links){ .primitives = boxes->count, .traversal = traversal_cost };
	l->nodes = cr_alloc_array(context, 2 * n - 1, sizeof *l->nodes);
	l->keys = cr_alloc_array(context, n, sizeof *l->keys);
	cr_key *scratch = cr_alloc_array(context, n, sizeof *scratch);
	bool done = l->nodes && l->keys && scratch;
	if (done) {
		make_leaves(l, boxes);
		done = sort_leaves(context, l, scratch) == CAROM_SUCCESS;
	}
	cr_free(context, scratch, n * sizeof *scratch);
	if (!done)
		cr_links_end(context, l);
	return done;
}

void cr_links_end(carom_context *context, cr_links *l)
{
	const size_t n = (size_t)l->primitives;
	cr_free(context, l->nodes, (2 * n - 1) * sizeof *l->nodes);
	cr_free(context, l->keys, n * sizeof *l->keys);
	*l = (cr_links){ 0 };
}

cr_link cr_link_over(const cr_links *l, int32_t left, int32_t right)
{
	const cr_link *a = &l->nodes[left], *b = &l->nodes[right];
	cr_link node = { .box = box3f_join(&a->box, &b->box), .left = left, .right = right, .count = a->count + b->count };
	const double area = box3f_area(&node.box);
	node.cost = l->traversal * area + a->cost + b->cost;
	node.measure = CR_BOX_COST * area + a->measure + b->measure;
	if (node.count <= CR_WIDTH && !(node.cost < area)) {
		node.cost = area;
		node.measure = CR_BLOCK_COST * area * node.count;
	}
	return node;
}

// ---- To a tree ----

/// A subtree to be written: that of a link, or, below CR_HALVE_DEPTH, a range of the order.
typedef struct job {
	int32_t link; // -1: the range
	int32_t first, count;
	int32_t parent; // of a second child: its number belongs there; else -1
	int32_t depth;
} job;

typedef struct writer {
	const cr_links *links;
	cr_node2 *nodes;
	int32_t node_count;
	int32_t *order;
	int32_t order_count;
	int32_t *stack; // [primitives] for the primitives of a subtree
} writer;

/// Append the primitives below a link to the order.
static void append_primitives(writer *w, int32_t link)
{
	int32_t top = 0;
	w->stack[top++] = link;
	while (top > 0) {
		const int32_t node = w->stack[--top];
		if (cr_link_is_leaf(w->links, node)) {
			w->order[w->order_count++] = node;
			continue;
		}
		w->stack[top++] = w->links->nodes[node].right;
		w->stack[top++] = w->links->nodes[node].left;
	}
}

static box3f box_of_range(const writer *w, int32_t first, int32_t count)
{
	box3f box = BOX3F_NONE;
	for (int32_t i = first; i < first + count; i++)
		box = box3f_join(&w->links->nodes[w->order[i]].box, &box);
	return box;
}

/// Does a block of all below cost no more than the two children?
static bool is_block(const cr_link *n) { return n->count == 1 || (n->count <= CR_WIDTH && !(n->cost < box3f_area(&n->box))); }

/// Write one node; push its children, if it has any.
static int write_node(writer *w, const job *j, job *stack, int top)
{
	const int32_t number = w->node_count++;
	cr_node2 *node = &w->nodes[number];
	const cr_link *link = j->link >= 0 ? &w->links->nodes[j->link] : NULL;
	const box3f box = link ? link->box : box_of_range(w, j->first, j->count);
	memcpy(node->lower, box.lower, sizeof node->lower);
	memcpy(node->upper, box.upper, sizeof node->upper);
	node->first = node->count = 0;
	if (j->parent >= 0)
		w->nodes[j->parent].first = number;
	if (link ? is_block(link) : j->count <= CR_WIDTH) {
		node->first = link ? w->order_count : j->first;
		node->count = link ? link->count : j->count;
		if (link)
			append_primitives(w, j->link);
	} else if (link) {
		stack[top++] = (job){ link->right, 0, 0, number, j->depth + 1 };
		stack[top++] = (job){ link->left, 0, 0, -1, j->depth + 1 };
	} else {
		const int32_t half = j->count / 2;
		stack[top++] = (job){ -1, j->first + half, j->count - half, number, j->depth + 1 };
		stack[top++] = (job){ -1, j->first, half, -1, j->depth + 1 };
	}
	return top;
}

static void write_tree(writer *w)
{
	job stack[CR_MAX_DEPTH + 2];
	int top = 0;
	stack[top++] = (job){ w->links->root, 0, 0, -1, 0 };
	while (top > 0) {
		job j = stack[--top];
		if (j.link >= 0 && j.depth >= CR_HALVE_DEPTH && !is_block(&w->links->nodes[j.link])) {
			j.first = w->order_count;
			j.count = w->links->nodes[j.link].count;
			append_primitives(w, j.link);
			j.link = -1;
		}
		top = write_node(w, &j, stack, top);
	}
}

carom_result cr_links_to_tree(carom_context *context, const cr_links *l, cr_tree2 *tree)
{
	const size_t n = (size_t)l->primitives, most = 2 * n - 1;
	writer w = { .links = l };
	*tree = (cr_tree2){ .primitive_count = l->primitives };
	w.nodes = cr_alloc_array(context, most, sizeof *w.nodes);
	w.stack = cr_alloc_array(context, n + 1, sizeof *w.stack);
	w.order = tree->order = cr_alloc_array(context, n, sizeof *tree->order);
	bool fits = w.nodes && w.stack && w.order;
	if (fits) {
		write_tree(&w);
		tree->node_count = w.node_count;
		tree->nodes = cr_alloc_array(context, (size_t)w.node_count, sizeof *tree->nodes);
		fits = tree->nodes != NULL;
	}
	if (fits) {
		memcpy(tree->nodes, w.nodes, (size_t)w.node_count * sizeof *tree->nodes);
		cr_link_skips(tree->nodes, tree->node_count);
	} else {
		cr_tree2_free(context, tree);
	}
	cr_free(context, w.nodes, most * sizeof *w.nodes);
	cr_free(context, w.stack, (n + 1) * sizeof *w.stack);
	return fits ? CAROM_SUCCESS : CAROM_OUT_OF_MEMORY;
}
