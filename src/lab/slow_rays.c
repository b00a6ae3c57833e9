/// Rays one triangle at a time: the thesis' standard algorithms (Lehericey 2013, 2.1) and the
/// oracles of the wide one.

#include "bvh/ray_scalar.h"
#include "lab/lab_state.h"

typedef struct scalar_hit {
	float t;
	int32_t triangle;
	bool back;
} scalar_hit;

static bool load_ray(const carom_ray_batch *rays, int32_t i, cr_scalar_ray *ray)
{
	const float origin[3] = { rays->origin[0][i], rays->origin[1][i], rays->origin[2][i] };
	const float direction[3] = { rays->direction[0][i], rays->direction[1][i], rays->direction[2][i] };
	return cr_scalar_ray_init(ray, origin, direction);
}

static void store_hit(const carom_hit_batch *hits, int32_t i, scalar_hit hit)
{
	hits->triangle[i] = hit.triangle;
	hits->t[i] = hit.triangle < 0 ? 0 : hit.t;
	hits->back_face[i] = hit.triangle >= 0 && hit.back;
}

/// At equal t: see cr_hit_precedes.
static void keep_nearest(const cr_collider *c, scalar_hit *best, const cr_triangle_hit *hit, int32_t triangle)
{
	if (hit->t < best->t || (hit->t == best->t && cr_hit_precedes(c, triangle, hit->back, best->triangle, best->back)))
		*best = (scalar_hit){ hit->t, triangle, hit->back };
}

static void test_triangle(const cr_collider *c, const cr_scalar_ray *ray, int32_t number, bool watertight, scalar_hit *best)
{
	const int32_t *t = &c->topology->triangles[3 * (int64_t)number];
	const float *v = c->topology->vertices;
	const float *p = v + 3 * (int64_t)t[0], *q = v + 3 * (int64_t)t[1], *r = v + 3 * (int64_t)t[2];
	cr_triangle_hit hit;
	const bool met = watertight ? cr_ray_triangle_watertight(&ray->shear, p, q, r, best->t, &hit)
								: cr_ray_triangle_mt(ray->origin, ray->direction, p, q, r, best->t, &hit);
	if (met)
		keep_nearest(c, best, &hit, number);
}

static void cast_all(
	const cr_collider *c, const carom_ray_batch *rays, int32_t begin, int32_t end, const carom_hit_batch *hits, bool watertight)
{
	for (int32_t i = begin; i < end; i++) {
		cr_scalar_ray ray;
		scalar_hit best = { rays->t_max[i], -1, false };
		if (load_ray(rays, i, &ray)) {
			for (int32_t k = 0; k < c->triangle_count; k++)
				test_triangle(c, &ray, cr_used_triangle(c, k), watertight, &best);
		}
		store_hit(hits, i, best);
	}
}

static void cast_basic(
	const cr_collider *c, const carom_ray_batch *rays, int32_t begin, int32_t end, const carom_hit_batch *hits)
{
	cast_all(c, rays, begin, end, hits, true);
}

static void cast_moller_trumbore(
	const cr_collider *c, const carom_ray_batch *rays, int32_t begin, int32_t end, const carom_hit_batch *hits)
{
	cast_all(c, rays, begin, end, hits, false);
}

static void cast_binary(
	const cr_collider *c, const carom_ray_batch *rays, int32_t begin, int32_t end, const carom_hit_batch *hits)
{
	const float pad = cr_ray_pad(c);
	for (int32_t i = begin; i < end; i++) {
		cr_scalar_ray ray;
		scalar_hit best = { rays->t_max[i], -1, false };
		if (load_ray(rays, i, &ray)) {
			int32_t at = 0;
			while (at < c->binary.node_count) {
				const cr_node2 *node = &c->binary.nodes[at];
				const bool met = cr_scalar_ray_meets(&ray, node, pad, best.t);
				if (met && node->count > 0) {
					for (int32_t k = 0; k < node->count; k++)
						test_triangle(c, &ray, cr_used_triangle(c, c->binary.order[node->first + k]), true, &best);
				}
				at = met && node->count == 0 ? at + 1 : node->skip;
			}
		}
		store_hit(hits, i, best);
	}
}

void cr_cast_by(carom_ray_method method, carom_simd simd, const cr_collider *c, const carom_ray_batch *rays, int32_t begin,
	int32_t end, const carom_hit_batch *hits)
{
	// A field has no binary tree.
	if (method == CAROM_RAYS_BINARY && c->binary.node_count > 0) {
		cast_binary(c, rays, begin, end, hits);
		return;
	}
	switch (method) {
	case CAROM_RAYS_BASIC: cast_basic(c, rays, begin, end, hits); break;
	case CAROM_RAYS_MOLLER_TRUMBORE: cast_moller_trumbore(c, rays, begin, end, hits); break;
	default: cr_get_bvh_kernels(simd)->cast(c, rays, begin, end, hits); break;
	}
}

void cr_cast_slowly(const cr_pipeline *p, const cr_body *target, const carom_ray_batch *rays, int32_t begin, int32_t end,
	const carom_hit_batch *hits)
{
	cr_cast_by(p->settings.lab.ray_method, p->context->simd, target->shape.collider, rays, begin, end, hits);
}
