/// Exit distances: how far the inward ray of each sample travels inside its own body.

#include "bvh/collider.h"
#include "geom/triangle.h"

static bool has_corner_at(const cr_topology *t, int32_t number, const float point[3])
{
	for (int c = 0; c < 3; c++) {
		const float *v = &t->vertices[3 * (int64_t)t->triangles[3 * (int64_t)number + c]];
		if (v[0] == point[0] && v[1] == point[1] && v[2] == point[2])
			return true;
	}
	return false;
}

static bool box_in_reach(const cr_node2 *node, const float origin[3], const float inverse[3], float pad, float t_max)
{
	float enter = 0, leave = t_max;
	for (int k = 0; k < 3; k++) {
		const float t0 = (node->lower[k] - pad - origin[k]) * inverse[k], t1 = (node->upper[k] + pad - origin[k]) * inverse[k];
		enter = fmaxf(enter, fminf(t0, t1));
		leave = fminf(leave, fmaxf(t0, t1));
	}
	return enter <= leave * 1.0000009f;
}

/// Nearest back face along the ray. The triangles around the origin are left out: their t is zero up to rounding, either sign.
static float measure_exit(const cr_collider *c, const float origin[3], const float direction[3])
{
	cr_ray_shear shear;
	cr_ray_shear_init(&shear, origin, direction);
	float inverse[3];
	for (int k = 0; k < 3; k++)
		inverse[k] = 1.0f / (fabsf(direction[k]) < 1e-30f ? copysignf(1e-30f, direction[k]) : direction[k]);
	const float pad = c->scale * 0x1p-21f;
	const cr_topology *t = c->topology;
	float best = INFINITY;
	for (int32_t at = 0; at < c->binary.node_count;) {
		const cr_node2 *node = &c->binary.nodes[at];
		const bool met = box_in_reach(node, origin, inverse, pad, best);
		for (int32_t k = 0; met && k < node->count; k++) {
			const int32_t number = c->triangle_number[c->binary.order[node->first + k]];
			const int32_t *v = &t->triangles[3 * (int64_t)number];
			const float *p = &t->vertices[3 * (int64_t)v[0]], *q = &t->vertices[3 * (int64_t)v[1]], *r = &t->vertices[3 * (int64_t)v[2]];
			cr_triangle_hit hit;
			if (cr_ray_triangle_watertight(&shear, p, q, r, best, &hit) && hit.back && !has_corner_at(t, number, origin))
				best = hit.t;
		}
		at = met && node->count == 0 ? at + 1 : node->skip;
	}
	return best;
}

void cr_collider_measure_exits(cr_collider *c)
{
	for (int32_t b = 0; b < c->sample_tree.block_count; b++) {
		cr_sample8 *block = &c->samples[b];
		for (int lane = 0; lane < block->count; lane++) {
			const float origin[3] = { block->point[0][lane], block->point[1][lane], block->point[2][lane] };
			const float direction[3] = { block->inward[0][lane], block->inward[1][lane], block->inward[2][lane] };
			block->exit[lane] = measure_exit(c, origin, direction);
		}
	}
}
