/// A ray for walks that test one box and one triangle at a time.

#include "bvh/ray_scalar.h"

bool cr_scalar_ray_init(cr_scalar_ray *ray, const float origin[3], const float direction[3])
{
	if (direction[0] == 0 && direction[1] == 0 && direction[2] == 0)
		return false;
	for (int k = 0; k < 3; k++) {
		ray->origin[k] = origin[k];
		ray->direction[k] = direction[k];
		ray->inverse[k] = 1.0f / (fabsf(direction[k]) < 1e-30f ? copysignf(1e-30f, direction[k]) : direction[k]);
	}
	cr_ray_shear_init(&ray->shear, origin, direction);
	return true;
}

bool cr_scalar_ray_meets(const cr_scalar_ray *ray, const cr_node2 *node, float pad, float t_max)
{
	float enter = 0, leave = t_max;
	for (int k = 0; k < 3; k++) {
		const float t0 = (node->lower[k] - pad - ray->origin[k]) * ray->inverse[k];
		const float t1 = (node->upper[k] + pad - ray->origin[k]) * ray->inverse[k];
		const float near = t0 < t1 ? t0 : t1, far = t0 < t1 ? t1 : t0;
		enter = near > enter ? near : enter;
		leave = far < leave ? far : leave;
	}
	return enter <= leave * CR_SLAB_SLACK;
}
