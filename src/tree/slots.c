/// Binary trees from a rule of parting. See tree/slots.h.
#include "tree/slots.h"
#include "base/parallel.h"
#include <string.h>

// Below this a subtree is one task; above, its splitting is shared (scanned bunny of 69 k
// triangles, 2 workers).
enum { SUBTREE_SIZE = 4096 };

typedef struct builder {
	cr_split_fn *split;
	const void *user;
	cr_slot *slots;
	cr_slot_job *jobs; // subtrees to build in parallel
	int32_t job_count;
} builder;

static bool split_slot(const builder *b, const cr_slot_job *node, bool parallel, cr_slot_job children[2])
{
	cr_slot *slot = &b->slots[node->slot];
	slot->right = 0;
	slot->first = node->first;
	slot->count = node->count;
	const int32_t left = b->split(b->user, node, parallel, slot);
	if (left == 0)
		return false;
	children[0] = (cr_slot_job){ node->slot + 1, node->first, left, node->depth + 1 };
	children[1] = (cr_slot_job){ node->slot + 2 * left, node->first + left, node->count - left, node->depth + 1 };
	slot->right = children[1].slot;
	return true;
}

static void build_subtree(const builder *b, cr_slot_job root)
{
	cr_slot_job stack[CR_MAX_DEPTH + 1];
	int depth = 0;
	stack[depth++] = root;
	while (depth > 0) {
		const cr_slot_job node = stack[--depth];
		cr_slot_job children[2];
		if (split_slot(b, &node, false, children)) {
			stack[depth++] = children[1];
			stack[depth++] = children[0];
		}
	}
}

static void build_subtree_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const builder *b = task;
	for (int64_t i = begin; i < end; i++)
		build_subtree(b, b->jobs[i]);
}

/// Split from the root until the rest is small enough for one task each.
static void split_top(builder *b, int32_t count)
{
	cr_slot_job stack[CR_MAX_DEPTH + 1];
	int depth = 0;
	stack[depth++] = (cr_slot_job){ 0, 0, count, 0 };
	while (depth > 0) {
		const cr_slot_job node = stack[--depth];
		cr_slot_job children[2];
		if (node.count <= SUBTREE_SIZE) {
			b->jobs[b->job_count++] = node;
		} else if (split_slot(b, &node, true, children)) {
			stack[depth++] = children[1];
			stack[depth++] = children[0];
		}
	}
}

/// Slots in use: a first child follows its parent, a second child is where the parent says.
static int32_t count_used(const cr_slot *slots)
{
	int32_t stack[CR_MAX_DEPTH + 1], slot = 0, count = 0;
	int depth = 0;
	for (;;) {
		count++;
		if (slots[slot].right) {
			stack[depth++] = slots[slot++].right;
			continue;
		}
		if (depth == 0)
			return count;
		slot = stack[--depth];
	}
}

/// Copy the used slots, which are in depth-first order already, without the gaps.
static void compact(const cr_slot *slots, cr_node2 *out)
{
	struct {
		int32_t slot;   // of a second child still to come
		int32_t parent; // where its number belongs
	} stack[CR_MAX_DEPTH + 1];
	int depth = 0;
	int32_t slot = 0, next_index = 0;
	for (;;) {
		const cr_slot *from = &slots[slot];
		cr_node2 *to = &out[next_index];
		memcpy(to->lower, from->lower, sizeof to->lower);
		memcpy(to->upper, from->upper, sizeof to->upper);
		to->first = from->right ? 0 : from->first;
		to->count = from->right ? 0 : from->count;
		to->skip = -1;
		if (from->right) {
			stack[depth].slot = from->right;
			stack[depth++].parent = next_index++;
			slot++;
			continue;
		}
		next_index++;
		if (depth == 0)
			return;
		depth--;
		out[stack[depth].parent].first = next_index;
		slot = stack[depth].slot;
	}
}

void cr_link_skips(cr_node2 *nodes, int32_t count)
{
	nodes[0].skip = count;
	for (int32_t i = 0; i < count; i++) {
		if (nodes[i].count > 0)
			continue;
		const int32_t second = nodes[i].first;
		nodes[i + 1].skip = second;
		nodes[second].skip = nodes[i].skip;
	}
}

/// Make the nodes of a tree from the slots in use. false: out of memory.
static bool take_nodes(carom_context *context, const cr_slot *slots, cr_tree2 *tree)
{
	tree->node_count = count_used(slots);
	tree->nodes = cr_alloc_array(context, (size_t)tree->node_count, sizeof *tree->nodes);
	if (!tree->nodes)
		return false;
	compact(slots, tree->nodes);
	cr_link_skips(tree->nodes, tree->node_count);
	return true;
}

carom_result cr_slots_build(carom_context *context, int32_t count, cr_split_fn *split, const void *user, cr_tree2 *tree)
{
	const size_t n = (size_t)count, slots = 2 * n - 1;
	builder b = { .split = split, .user = user };
	*tree = (cr_tree2){ .primitive_count = count };
	b.slots = cr_alloc_array(context, slots, sizeof *b.slots);
	b.jobs = cr_alloc_array(context, n, sizeof *b.jobs);
	tree->order = cr_alloc_array(context, n, sizeof *tree->order);
	bool fits = b.slots && b.jobs && tree->order;
	if (fits) {
		split_top(&b, count);
		cr_parallel_for(context, build_subtree_task, b.job_count, 1, &b);
		fits = take_nodes(context, b.slots, tree);
	}
	if (!fits)
		cr_tree2_free(context, tree);
	cr_free(context, b.slots, slots * sizeof *b.slots);
	cr_free(context, b.jobs, n * sizeof *b.jobs);
	return fits ? CAROM_SUCCESS : CAROM_OUT_OF_MEMORY;
}

void cr_tree2_free(carom_context *context, cr_tree2 *tree)
{
	cr_free(context, tree->nodes, (size_t)tree->node_count * sizeof(cr_node2));
	cr_free(context, tree->order, (size_t)tree->primitive_count * sizeof(int32_t));
	*tree = (cr_tree2){ 0 };
}
