/// A ray for walks that test one box and one triangle at a time.
#ifndef CR_BVH_RAY_SCALAR_H
#define CR_BVH_RAY_SCALAR_H

#include "bvh/collider.h"
#include "geom/triangle.h"

/// Widens slab intervals by more than the three roundings of (plane - origin) * (1 / direction) can
/// shrink them (Ize, Robust BVH Ray Traversal, JCGT 2013). The wide walks take the same.
#define CR_SLAB_SLACK 1.0000009f

typedef struct cr_scalar_ray {
	float origin[3];
	float direction[3];
	float inverse[3]; // 1 / direction; tiny components count as 1e-30, so that it is finite
	cr_ray_shear shear;
} cr_scalar_ray;

/// false: the direction is zero, nothing is hit.
bool cr_scalar_ray_init(cr_scalar_ray *ray, const float origin[3], const float direction[3]);

/// Does the ray meet the box of a node before t_max? Widened like that of the wide tree: the pad
/// for the shear's rounding, a slack for the slabs' own.
bool cr_scalar_ray_meets(const cr_scalar_ray *ray, const cr_node2 *node, float pad, float t_max);

/// By how much boxes grow for watertight rays: the shear may move a triangle this far out of its
/// box.
static inline float cr_ray_pad(const cr_collider *c) { return c->scale * 0x1p-21f; }

#endif
