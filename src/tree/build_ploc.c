/// Parallel locally-ordered clustering (Meister and Bittner, Parallel Locally-Ordered Clustering
/// for Bounding Volume Hierarchy Construction, 2018).
///
/// All primitives are clusters in the order of the Morton curve. In each round every cluster looks
/// for the one that makes the smallest box with it among those near it in the order. Two that chose
/// each other become one, in the place of the first. Pairs are ordered by area, and of equal areas
/// by the exclusive or of their places: the first pair of that order has chosen each other, so each
/// round joins something, and equal boxes are joined two by two. Nested boxes all choose smaller
/// ones, and a round then joins two of all: after a round that joins fewer than one cluster in
/// SLOW, neighbours in the order are joined two by two. So the rounds are few for any boxes.
/// Looking is parallel, joining is not; nothing depends on the threads. Some 5 n RADIUS boxes are
/// measured.
#include "base/parallel.h"
#include "tree/links.h"

enum { RADIUS = 16, CHUNK = 512, SLOW = 16 };

typedef struct clusters {
	cr_links *links;
	int32_t *node;   // [count] of each cluster
	int32_t *choice; // [count] place of the cluster that each would join
	int32_t count;
} clusters;

static void choose(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	const clusters *c = user;
	for (int64_t i = begin; i < end; i++) {
		const box3f *own = &c->links->nodes[c->node[i]].box;
		const int64_t from = i > RADIUS ? i - RADIUS : 0, to = i + RADIUS < c->count ? i + RADIUS : c->count - 1;
		double least = INFINITY;
		int64_t best = i == 0 ? 1 : i - 1;
		for (int64_t j = from; j <= to; j++) {
			const box3f both = box3f_join(own, &c->links->nodes[c->node[j]].box);
			const double area = box3f_area(&both);
			if (j != i && (area < least || (area == least && (i ^ j) < (i ^ best)))) {
				least = area;
				best = j;
			}
		}
		c->choice[i] = (int32_t)best;
	}
}

/// Let neighbours in the order choose each other; the last of an odd number stays alone.
static void choose_neighbours(clusters *c)
{
	for (int32_t i = 0; i < c->count; i++)
		c->choice[i] = (i ^ 1) < c->count ? i ^ 1 : i - 1;
}

/// Join what chose each other, and close the gaps.
static void join(clusters *c, int32_t *next_node)
{
	int32_t kept = 0;
	for (int32_t i = 0; i < c->count; i++) {
		const int32_t other = c->choice[i];
		const bool mutual = c->choice[other] == i;
		if (mutual && other < i)
			continue; // gone into the other
		int32_t node = c->node[i];
		if (mutual) {
			c->links->nodes[*next_node] = cr_link_over(c->links, node, c->node[other]);
			node = (*next_node)++;
		}
		c->node[kept++] = node;
	}
	c->count = kept;
}

static void cluster_all(carom_context *context, clusters *c)
{
	int32_t next_node = c->links->primitives;
	for (int32_t i = 0; i < c->count; i++)
		c->node[i] = (int32_t)c->links->keys[i].value;
	while (c->count > 1) {
		const int32_t before = c->count;
		cr_parallel_for(context, choose, c->count, CHUNK, c);
		join(c, &next_node);
		if (before - c->count < before / SLOW) {
			choose_neighbours(c);
			join(c, &next_node);
		}
	}
	c->links->root = c->node[0];
}

carom_result cr_tree2_build_ploc(carom_context *context, const cr_build_boxes *boxes, float traversal_cost, cr_tree2 *tree)
{
	*tree = (cr_tree2){ 0 };
	const size_t n = (size_t)boxes->count;
	if (n == 0)
		return CAROM_SUCCESS;
	cr_links links;
	if (!cr_links_begin(context, boxes, traversal_cost, &links))
		return cr_fail_memory(context, "a tree");
	clusters c = { .links = &links, .count = boxes->count };
	c.node = cr_alloc_array(context, n, sizeof *c.node);
	c.choice = cr_alloc_array(context, n, sizeof *c.choice);
	carom_result result = CAROM_OUT_OF_MEMORY;
	if (c.node && c.choice) {
		cluster_all(context, &c);
		result = cr_links_to_tree(context, &links, tree);
	}
	cr_free(context, c.node, n * sizeof *c.node);
	cr_free(context, c.choice, n * sizeof *c.choice);
	cr_links_end(context, &links);
	return result == CAROM_SUCCESS ? result : cr_fail_memory(context, "a tree");
}
