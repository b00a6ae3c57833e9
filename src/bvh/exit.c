/// Exit distances: how far the inward ray of each sample travels inside its own body.

#include "base/parallel.h"
#include "bvh/ray_scalar.h"

enum { BLOCKS_PER_TASK = 256 };

static bool has_corner_at(const cr_topology *t, int32_t number, const float point[3])
{
	for (int c = 0; c < 3; c++) {
		const float *v = &t->vertices[3 * (int64_t)t->triangles[3 * (int64_t)number + c]];
		if (v[0] == point[0] && v[1] == point[1] && v[2] == point[2])
			return true;
	}
	return false;
}

/// Nearest back face along the ray. The triangles around the origin are left out: their t is zero up to rounding, either sign.
static float measure_exit(const cr_collider *c, const float origin[3], const float direction[3])
{
	cr_scalar_ray ray;
	if (!cr_scalar_ray_init(&ray, origin, direction))
		return INFINITY;
	const float pad = cr_ray_pad(c);
	const cr_topology *t = c->topology;
	float best = INFINITY;
	for (int32_t at = 0; at < c->binary.node_count;) {
		const cr_node2 *node = &c->binary.nodes[at];
		const bool met = cr_scalar_ray_meets(&ray, node, pad, best);
		for (int32_t k = 0; met && k < node->count; k++) {
			const int32_t number = c->triangle_number[c->binary.order[node->first + k]];
			const int32_t *v = &t->triangles[3 * (int64_t)number];
			const float *p = &t->vertices[3 * (int64_t)v[0]], *q = &t->vertices[3 * (int64_t)v[1]],
						*r = &t->vertices[3 * (int64_t)v[2]];
			cr_triangle_hit hit;
			if (cr_ray_triangle_watertight(&ray.shear, p, q, r, best, &hit) && hit.back && !has_corner_at(t, number, origin))
				best = hit.t;
		}
		at = met && node->count == 0 ? at + 1 : node->skip;
	}
	return best;
}

static void measure_exits_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const cr_collider *c = task;
	for (int64_t b = begin; b < end; b++) {
		cr_sample8 *block = &c->samples[b];
		for (int lane = 0; lane < block->count; lane++) {
			const float origin[3] = { block->point[0][lane], block->point[1][lane], block->point[2][lane] };
			const float direction[3] = { block->inward[0][lane], block->inward[1][lane], block->inward[2][lane] };
			block->exit[lane] = measure_exit(c, origin, direction);
		}
	}
}

void cr_collider_measure_exits(carom_context *context, cr_collider *c)
{
	cr_parallel_for(context, measure_exits_task, c->sample_tree.block_count, BLOCKS_PER_TASK, c);
}
