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
		join_vertices(t, &t->triangles[3 * (int64_t)c->triangle_number[i]], 3, lower, upper);
	c->scale = 0;
	for (int k = 0; k < 3; k++) {
		c->lower[k] = lower[k];
		c->upper[k] = upper[k];
		c->scale = fmaxf(c->scale, fmaxf(fabsf(lower[k]), fabsf(upper[k])));
	}
}

bool cr_collider_refit_all(carom_simd simd, bool strays, cr_collider *c)
{
	int32_t lengths[CR_LENGTHS] = { 0 };
	const cr_bvh_kernels *kernels = cr_get_bvh_kernels(simd);
	measure_vertices(strays, c);
	if (!kernels->refit(c, cr_ray_pad(c), lengths))
		return false;
	cr_collider_measure_extent(c, lengths);
	cr_collider_outline(c);
	kernels->refit_samples(c);
	return true;
}
