/// Numbers by the order of the leaves. See sweep/sweep_order.h. One pass over the triangles.
#include "sweep/sweep_order.h"

/// Give the next number to a vertex that has none.
static inline int32_t number_vertex(cr_sweep_order *order, int32_t *numbers, int32_t *next, int32_t given)
{
	if (numbers[given] < 0) {
		order->given_vertices[*next] = given;
		numbers[given] = (*next)++;
	}
	return numbers[given];
}

static void fill(cr_sweep_order *order, cr_sweep_tree *tree, const int32_t *triangles, int32_t *numbers)
{
	for (int32_t v = 0; v < order->vertex_count; v++)
		numbers[v] = -1;
	int32_t leaf = 0, vertex = 0;
	for (int32_t i = 0; i < tree->node_count; i++) {
		cr_sweep_node *node = &tree->nodes[i];
		if (!cr_is_leaf(node))
			continue;
		const int32_t given = ~node->right;
		for (int k = 0; k < 3; k++)
			order->corners[3 * (int64_t)leaf + k] = number_vertex(order, numbers, &vertex, triangles[3 * (int64_t)given + k]);
		order->given_triangles[leaf] = given;
		node->right = ~leaf++;
	}
	order->named_count = vertex;
	for (int32_t v = 0; v < order->vertex_count; v++)
		number_vertex(order, numbers, &vertex, v);
}

bool cr_sweep_order_make(
	carom_context *context, cr_sweep_tree *tree, const int32_t *triangles, int32_t vertex_count, cr_sweep_order *order)
{
	*order = (cr_sweep_order){ .triangle_count = tree->node_count / 2 + 1, .vertex_count = vertex_count };
	order->corners = cr_alloc_array(context, (size_t)order->triangle_count, 3 * sizeof(int32_t));
	order->given_triangles = cr_alloc_array(context, (size_t)order->triangle_count, sizeof(int32_t));
	order->given_vertices = cr_alloc_array(context, (size_t)vertex_count, sizeof(int32_t));
	int32_t *numbers = cr_alloc_array(context, (size_t)vertex_count, sizeof *numbers);
	const bool done = order->corners && order->given_triangles && order->given_vertices && numbers;
	if (done)
		fill(order, tree, triangles, numbers);
	cr_free(context, numbers, (size_t)vertex_count * sizeof *numbers);
	if (!done)
		cr_sweep_order_free(context, order);
	return done;
}

void cr_sweep_order_free(carom_context *context, cr_sweep_order *order)
{
	cr_free(context, order->corners, 3 * (size_t)order->triangle_count * sizeof(int32_t));
	cr_free(context, order->given_triangles, (size_t)order->triangle_count * sizeof(int32_t));
	cr_free(context, order->given_vertices, (size_t)order->vertex_count * sizeof(int32_t));
	*order = (cr_sweep_order){ 0 };
}
