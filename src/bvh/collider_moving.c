/// The part of a collider that queries need, of a surface all of whose vertices move: a copy of
/// another one's tree, and the refit.
#include "bvh/bvh_kernels.h"
#include "bvh/ray_scalar.h"

static void *copy_of(carom_context *context, const void *from, int32_t count, size_t size, bool *ok)
{
	void *to = cr_alloc_array(context, (size_t)count, size);
	if (to)
		memcpy(to, from, (size_t)count * size);
	*ok = *ok && (to || count == 0);
	return to;
}

carom_result cr_collider_copy_tree(
	carom_context *context, const cr_collider *from, const cr_topology *topology, bool closed, cr_collider *c)
{
	const cr_tree8 *tree = &from->tree;
	bool ok = true;
	*c = *from; // for the measured parts
	c->topology = topology;
	c->revision = cr_next_serial();
	c->fans = NULL;
	c->closed = closed;
	c->binary = (cr_tree2){ 0 };
	c->across = NULL;
	c->place = NULL;
	c->sample_count = 0;
	c->sample_tree = (cr_tree8){ 0 };
	c->samples = NULL;
	c->grid = (cr_grid){ 0 };
	// Which triangles a block holds is in the block.
	c->tree = (cr_tree8){ .node_count = tree->node_count, .block_count = tree->block_count, .depth = tree->depth };
	c->tree.nodes = copy_of(context, tree->nodes, tree->node_count, sizeof(cr_node8), &ok);
	c->blocks = copy_of(context, from->blocks, tree->block_count, sizeof(cr_tri8), &ok);
	c->outline = copy_of(context, from->outline, from->outline_count, sizeof(cr_outline8), &ok);
	if (from->triangle_number)
		c->triangle_number = copy_of(context, from->triangle_number, from->triangle_count, sizeof(int32_t), &ok);
	if (ok)
		return CAROM_SUCCESS;
	cr_collider_free(context, c);
	return cr_fail_memory(context, "the tree of a surface");
}

/// Join the box of a list of vertices; numbers NULL: of the first count.
static void join_vertices(const cr_topology *t, const int32_t *numbers, int64_t count, float lower[3], float upper[3])
{
	for (int64_t i = 0; i < count; i++) {
		const float *p = &t->vertices[3 * (numbers ? (int64_t)numbers[i] : i)];
		for (int k = 0; k < 3; k++) {
			lower[k] = p[k] < lower[k] ? p[k] : lower[k];
			upper[k] = p[k] > upper[k] ? p[k] : upper[k];
		}
	}
}

/// The box and the largest coordinate of all triangles in use.
static void measure_vertices(bool strays, cr_collider *c)
{
	const cr_topology *t = c->topology;
	float lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY };
	if (!strays)
		join_vertices(t, NULL, t->vertex_count, lower, upper);
	for (int32_t i = 0; strays && i < c->triangle_count; i++)
		join_vertices(t, &t->triangles[3 * (int64_t)cr_used_triangle(c, i)], 3, lower, upper);
	c->scale = 0;
	for (int k = 0; k < 3; k++) {
		c->lower[k] = lower[k];
		c->upper[k] = upper[k];
		c->scale = fmaxf(c->scale, fmaxf(fabsf(lower[k]), fabsf(upper[k])));
	}
}

/// Bring all up to date but the samples.
static bool refit_triangles(const cr_bvh_kernels *kernels, bool strays, cr_collider *c)
{
	int32_t lengths[CR_LENGTHS] = { 0 };
	c->revision = cr_next_serial();
	measure_vertices(strays, c);
	if (!kernels->refit(c, cr_ray_pad(c), lengths))
		return false;
	cr_collider_measure_extent(c, lengths);
	cr_collider_outline(c);
	return true;
}

bool cr_collider_refit_all(carom_simd simd, bool strays, cr_collider *c)
{
	const cr_bvh_kernels *kernels = cr_get_bvh_kernels(simd);
	if (!refit_triangles(kernels, strays, c))
		return false;
	kernels->refit_samples(c);
	return true;
}

/// Put the samples of a block at their points; the box of these is that of child i of a node.
static void place_block(cr_sample8 *block, const float *points, cr_node8 *node, uint32_t i)
{
	for (int k = 0; k < 3; k++) {
		node->lower[k][i] = INFINITY;
		node->upper[k][i] = -INFINITY;
		for (int lane = 0; lane < CR_WIDTH; lane++) {
			const float x = points[3 * (int64_t)block->number[lane] + k];
			block->point[k][lane] = x;
			node->lower[k][i] = x < node->lower[k][i] ? x : node->lower[k][i];
			node->upper[k][i] = x > node->upper[k][i] ? x : node->upper[k][i];
		}
	}
}

/// The box of an inner child of a node is that of all its own children; unused ones are empty.
static void join_children(const cr_node8 *child, cr_node8 *node, uint32_t i)
{
	for (int k = 0; k < 3; k++) {
		node->lower[k][i] = INFINITY;
		node->upper[k][i] = -INFINITY;
		for (int lane = 0; lane < CR_WIDTH; lane++) {
			node->lower[k][i] = fminf(node->lower[k][i], child->lower[k][lane]);
			node->upper[k][i] = fmaxf(node->upper[k][i], child->upper[k][lane]);
		}
	}
}

bool cr_collider_refit_sampled(carom_context *context, const float *points, cr_collider *c)
{
	if (!refit_triangles(cr_get_bvh_kernels(context->simd), false, c))
		return false;
	// Children come after their parents.
	for (int32_t n = c->sample_tree.node_count - 1; n >= 0; n--) {
		cr_node8 *node = &c->sample_tree.nodes[n];
		for (uint32_t i = 0; i < node->child_count; i++) {
			if (node->child[i] & CR_LEAF_BIT)
				place_block(&c->samples[node->child[i] & ~CR_LEAF_BIT], points, node, i);
			else
				join_children(&c->sample_tree.nodes[node->child[i]], node, i);
		}
	}
	cr_collider_measure_exits(context, c);
	return true;
}
