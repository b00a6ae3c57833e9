/// Rays and nearest points of one shape at a pose, without a world: a body is made of the shape for the length of the call, and
/// asked as the queries over a world ask theirs.
#include "carom/collide.h"
#include "detect/shape_table.h"
#include "world/body_query.h"
#include "world/single_query.h"

/// Make a body of a shape, in memory of the caller. It holds no reference.
static carom_result make_body(
	carom_context *context, const carom_shape *shape, const carom_pose *pose, const char *name, cr_body *body)
{
	if (!shape)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: shape is NULL", name);
	carom_result result = cr_check_shape(context, shape, name);
	if (result != CAROM_SUCCESS)
		return result;
	*body = (cr_body){ .pose = carom_pose_identity(), .shape = { .def = *shape, .family = cr_family_of(shape) } };
	if (cr_has_mesh(shape)) {
		body->shape.mesh = (carom_mesh *)shape->mesh; // only read
		body->shape.collider = &shape->mesh->collider;
	}
	if (pose)
		result = cr_check_pose(context, pose, name, "pose", &body->pose);
	body->rotation = m3d_from_quat(body->pose.orientation);
	return result;
}

carom_result carom_shape_cast_ray(carom_context *context, const carom_shape *shape, const carom_pose *pose,
	const carom_ray *ray, bool *found, carom_ray_hit *hit)
{
	static const char *const name = "carom_shape_cast_ray";
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!found || !hit)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, found ? "hit" : "found");
	*found = false;
	cr_body body;
	cr_query_ray taken;
	double scale;
	carom_result result = make_body(context, shape, pose, name, &body);
	if (result == CAROM_SUCCESS)
		result = cr_take_ray(context, ray, name, &taken, &scale);
	if (result != CAROM_SUCCESS)
		return result;
	*found = cr_body_cast(&body, cr_get_bvh_kernels(context->simd), &taken, hit);
	if (*found)
		hit->t /= scale;
	return CAROM_SUCCESS;
}

carom_result carom_shape_closest_point(carom_context *context, const carom_shape *shape, const carom_pose *pose,
	carom_vec3 point, double max_distance, bool *found, carom_closest_point *result)
{
	static const char *const name = "carom_shape_closest_point";
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!found || !result)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, found ? "result" : "found");
	*found = false;
	cr_body body;
	carom_result checked = make_body(context, shape, pose, name, &body);
	if (checked == CAROM_SUCCESS)
		checked = cr_check_position(context, point, name, "point");
	if (checked == CAROM_SUCCESS)
		checked = cr_check_max_distance(context, max_distance, name);
	if (checked != CAROM_SUCCESS)
		return checked;
	*found = cr_body_closest_point(&body, cr_get_bvh_kernels(context->simd), point, max_distance, result);
	return CAROM_SUCCESS;
}
