/// Questions about one body or one shape at a pose, in the world, as the queries over a world ask
/// them of each body that they meet.
#ifndef CR_WORLD_BODY_QUERY_H
#define CR_WORLD_BODY_QUERY_H

#include "bvh/collider_query.h"
#include "contact/material.h"
#include "world/world.h"

/// Which sides of surfaces a ray meets.
typedef enum cr_ray_sides { CR_RAY_BOTH, CR_RAY_FRONTS } cr_ray_sides;

/// Nearest hit of a ray in the world; all of hit is set but its body, material and user data.
bool cr_body_cast(
	const cr_body *body, const cr_bvh_kernels *kernels, const cr_query_ray *ray, cr_ray_sides sides, carom_ray_hit *hit);

/// Receives a hit without its body, material and user data; false to stop.
typedef bool cr_body_hit_fn(const carom_ray_hit *hit, void *user);
/// Copy the members of a hit. Batches hand answers out as bytes: the padding of to, which is zero
/// there, stays.
static inline void cr_copy_hit(const carom_ray_hit *from, carom_ray_hit *to)
{
	to->body = from->body;
	to->t = from->t;
	to->point = from->point;
	to->normal = from->normal;
	to->triangle = from->triangle;
	to->u = from->u;
	to->v = from->v;
	to->back_face = from->back_face;
	to->shape = from->shape;
	to->material = from->material;
	to->user_data = from->user_data;
}
/// Every hit, in no particular order.
void cr_body_cast_all(const cr_body *body, const cr_query_ray *ray, cr_ray_sides sides, cr_body_hit_fn *fn, void *user);

/// Nearest surface point within max_distance; all of result is set but its body, material and user
/// data.
bool cr_body_closest_point(
	const cr_body *body, const cr_bvh_kernels *kernels, v3d point, double max_distance, carom_closest_point *result);

#endif
