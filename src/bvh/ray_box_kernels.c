/// A ray in double against eight boxes of the tree over the bodies of a world, or over the spheres
/// of a granular body. Compiled once for each instruction set (CR_ISA).
///
/// Each lane takes the steps of cr_ray_box one by one, so it has the bits of cr_ray_box. Divisions
/// and the choice of near and far planes are made once for all lanes.
#include "bvh/bvh_isa.h"
#include "bvh/collider_query.h"
#include "math/simd.h"

/// Planes of the boxes where they are, grown by more than the addition of the origin rounds.
/// outward: -1 or 1.
static inline d8 planes_in_place(const float side[CR_WIDTH], double origin, double outward)
{
	const d8 plane = d8_add(d8_load_floats(side), d8_set1(origin));
	return d8_add(plane, d8_mul(d8_abs(plane), d8_set1(outward * 0x1p-51)));
}

uint32_t CR_ISA_NAME(cr_ray_boxes)(const cr_query_ray *ray, const cr_boxes8 *boxes, double enter[CR_WIDTH])
{
	d8 first = d8_set1(ray->t_min), last = d8_set1(ray->t_max);
	for (int k = 0; k < 3; k++) {
		const double o = v3d_get(ray->origin, k), inverse = cr_slab_inverse(v3d_get(ray->direction, k));
		const d8 lower = planes_in_place(boxes->lower[k], boxes->origin[k], -1);
		const d8 upper = planes_in_place(boxes->upper[k], boxes->origin[k], 1);
		const d8 reach = d8_add(d8_add(d8_set1(fabs(o)), d8_abs(lower)), d8_abs(upper));
		const d8 loss = d8_mul(reach, d8_set1(0x1p-51)), at = d8_set1(o), by = d8_set1(inverse);
		const d8 low = d8_sub(d8_sub(lower, loss), at), high = d8_sub(d8_add(upper, loss), at);
		const d8 t0 = d8_mul(inverse < 0 ? high : low, by);
		const d8 t1 = d8_mul(d8_mul(inverse < 0 ? low : high, by), d8_set1(1 + 0x1p-50));
		first = d8_max(t0, first);
		last = d8_min(t1, last);
	}
	d8_store(enter, first);
	return ~d8_lt(last, first) & ((1u << CR_WIDTH) - 1);
}
