/// Rays and nearest points of one body: to the body's frame in double, the closed form or the tree
/// there, and back.
#include "world/body_query.h"
#include "frame/body_point.h"
#include "geom/volume.h"
#include "frame/shape_table.h"
#include "geom/convex_query.h"

static cr_query_ray ray_to_body(const cr_body *body, const cr_query_ray *ray)
{
	const m3d rotation = cr_rotation_of(body);
	return (cr_query_ray){ m3d_tmul(&rotation, v3d_sub(ray->origin, body->pose.position)), m3d_tmul(&rotation, ray->direction),
		ray->t_min, ray->t_max };
}

/// The weights are those of the corners as the user gave them, also of a mesh that is turned round.
static carom_ray_hit hit_to_world(const cr_body *body, const cr_query_ray *ray, const cr_query_hit *hit)
{
	const bool turned = body->shape.turned;
	return (carom_ray_hit){
		.t = hit->t,
		.point = v3d_mad(ray->origin, hit->t, ray->direction),
		.normal = cr_vector_to_world(body, hit->normal),
		.triangle = hit->triangle,
		.u = (float)(turned ? hit->v : hit->u),
		.v = (float)(turned ? hit->u : hit->v),
		.back_face = hit->back,
	};
}

/// The first hits of a volume, most (1 or 2) of them, in order. Returns their number.
static int cast_volume(const cr_body *body, const cr_query_ray *ray, const cr_query_ray *local, int most, cr_ray_sides sides,
	carom_ray_hit hits[2])
{
	double t[2];
	v3d normal[2];
	bool back[2];
	int count;
	if (body->shape.family == CR_FAMILY_CONVEX) {
		const cr_convex convex = cr_convex_of(&body->shape.def);
		count = cr_convex_ray(&convex, local->origin, local->direction, local->t_min, local->t_max, most, t, normal, back);
	} else {
		count = cr_volume_ray(&body->shape.def, local->origin, local->direction, local->t_min, local->t_max, t, normal, back);
	}
	// A solid without dents is entered before it is left: a front that there is comes first.
	if (sides == CR_RAY_FRONTS && count > 0)
		count = !back[0];
	for (int i = 0; i < count; i++)
		hits[i] = hit_to_world(body, ray, &(cr_query_hit){ .t = t[i], .normal = normal[i], .back = back[i] });
	return count;
}

bool cr_body_cast(
	const cr_body *body, const cr_bvh_kernels *kernels, const cr_query_ray *ray, cr_ray_sides sides, carom_ray_hit *hit)
{
	const cr_query_ray local = ray_to_body(body, ray);
	const cr_collider *mesh = cr_asked_mesh(body);
	if (!mesh) {
		carom_ray_hit hits[2];
		if (cast_volume(body, ray, &local, 1, sides, hits) == 0)
			return false;
		cr_copy_hit(&hits[0], hit);
		return true;
	}
	cr_query_hit found;
	if (!cr_collider_cast(mesh, kernels, &local, &found))
		return false;
	if (sides == CR_RAY_FRONTS && found.back && !cr_collider_cast_front(mesh, &local, &found))
		return false;
	const carom_ray_hit world = hit_to_world(body, ray, &found);
	cr_copy_hit(&world, hit);
	return true;
}

typedef struct all_hits {
	const cr_body *body;
	const cr_query_ray *ray;
	cr_ray_sides sides;
	cr_body_hit_fn *fn;
	void *user;
} all_hits;

static bool pass_hit(const cr_query_hit *hit, void *user)
{
	const all_hits *all = user;
	if (hit->back && all->sides == CR_RAY_FRONTS)
		return true;
	const carom_ray_hit world = hit_to_world(all->body, all->ray, hit);
	return all->fn(&world, all->user);
}

void cr_body_cast_all(const cr_body *body, const cr_query_ray *ray, cr_ray_sides sides, cr_body_hit_fn *fn, void *user)
{
	const cr_query_ray local = ray_to_body(body, ray);
	const cr_collider *mesh = cr_asked_mesh(body);
	if (mesh) {
		all_hits all = { body, ray, sides, fn, user };
		cr_collider_cast_all(mesh, &local, pass_hit, &all);
		return;
	}
	carom_ray_hit hits[2];
	const int count = cast_volume(body, ray, &local, 2, sides, hits);
	for (int i = 0; i < count && fn(&hits[i], user); i++) {
	}
}

bool cr_body_closest_point(
	const cr_body *body, const cr_bvh_kernels *kernels, v3d point, double max_distance, carom_closest_point *result)
{
	cr_surface_point found;
	if (!cr_nearest_on_body(body, kernels, cr_point_to_body(body, point), max_distance, &found))
		return false;
	*result = (carom_closest_point){ .point = cr_point_to_world(body, found.point),
		.normal = cr_vector_to_world(body, found.normal),
		.distance = found.distance,
		.triangle = found.triangle };
	return true;
}
