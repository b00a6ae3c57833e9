/// Rays and nearest points of one shape at a pose, without a world, singly and in batches: a body
/// is made of the shape for the length of the call, and asked as the queries over a world ask
/// theirs.
#include "frame/shape_table.h"
#include "world/batch_loop.h"
#include "world/body_query.h"
#include "world/single_query.h"

enum { MIN_QUERIES = 16 }; // of a piece

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
	return result;
}

static carom_result cast(
	carom_context *context, const cr_body *body, const carom_ray *ray, const char *name, bool *found, carom_ray_hit *hit)
{
	cr_query_ray taken;
	double scale;
	const carom_result result = cr_take_ray(context, ray, name, &taken, &scale);
	if (result != CAROM_SUCCESS)
		return result;
	*found = cr_body_cast(body, cr_get_bvh_kernels(context->simd), &taken, CR_RAY_BOTH, hit);
	if (*found) {
		hit->t /= scale;
		hit->material = cr_material_at(body, hit->triangle, hit->point, hit->normal);
	}
	return CAROM_SUCCESS;
}

static bool find_point(
	const carom_context *context, const cr_body *body, carom_vec3 point, double max_distance, carom_closest_point *closest)
{
	if (!cr_body_closest_point(body, cr_get_bvh_kernels(context->simd), point, max_distance, closest))
		return false;
	closest->material = cr_material_at(body, closest->triangle, closest->point, closest->normal);
	return true;
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
	const carom_result result = make_body(context, shape, pose, name, &body);
	return result == CAROM_SUCCESS ? cast(context, &body, ray, name, found, hit) : result;
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
	*found = find_point(context, &body, point, max_distance, result);
	return CAROM_SUCCESS;
}

// ---- Batches ----

typedef struct body_batch {
	carom_context *context;
	cr_body body;
	const void *records;
	double max_distance;
	void *answers;
} body_batch;

static carom_result ask_ray(void *user, int64_t i, int worker, const char *name)
{
	(void)worker;
	const body_batch *b = user;
	carom_ray_hit *hit = (carom_ray_hit *)b->answers + i;
	bool found = false;
	const carom_result result = cast(b->context, &b->body, (const carom_ray *)b->records + i, name, &found, hit);
	if (result == CAROM_SUCCESS && !found)
		*hit = cr_no_ray_hit();
	return result;
}

static carom_result ask_point(void *user, int64_t i, int worker, const char *name)
{
	(void)worker;
	const body_batch *b = user;
	const carom_vec3 point = ((const carom_vec3 *)b->records)[i];
	carom_closest_point *closest = (carom_closest_point *)b->answers + i;
	const carom_result result = cr_check_position(b->context, point, name, "point");
	if (result == CAROM_SUCCESS && !find_point(b->context, &b->body, point, b->max_distance, closest))
		*closest = cr_no_closest_point();
	return result;
}

carom_result carom_shape_cast_rays(carom_context *context, const carom_batch *batch, const carom_shape *shape,
	const carom_pose *pose, const carom_ray *rays, carom_ray_hit *hits)
{
	static const char *const name = "carom_shape_cast_rays";
	body_batch b = { .context = context, .records = rays, .answers = hits };
	const cr_batch_array arrays[] = { { rays, "rays" }, { hits, "hits" } };
	const cr_batch loop = { context, name, "rays", batch, MIN_QUERIES, ask_ray, NULL, &b, hits, sizeof *hits };
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	carom_result result = cr_check_shape_batch(context, name, batch, arrays, 2, hits, sizeof *hits);
	if (result != CAROM_SUCCESS)
		return result;
	result = make_body(context, shape, pose, name, &b.body);
	return result == CAROM_SUCCESS ? cr_run_batch(&loop) : cr_fail_batch(batch, hits, sizeof *hits, result);
}

carom_result carom_shape_closest_points(carom_context *context, const carom_batch *batch, const carom_shape *shape,
	const carom_pose *pose, const carom_vec3 *points, double max_distance, carom_closest_point *closest)
{
	static const char *const name = "carom_shape_closest_points";
	body_batch b = { .context = context, .records = points, .max_distance = max_distance, .answers = closest };
	const cr_batch_array arrays[] = { { points, "points" }, { closest, "closest" } };
	const cr_batch loop = { context, name, "points", batch, MIN_QUERIES, ask_point, NULL, &b, closest, sizeof *closest };
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	carom_result result = cr_check_shape_batch(context, name, batch, arrays, 2, closest, sizeof *closest);
	if (result != CAROM_SUCCESS)
		return result;
	result = make_body(context, shape, pose, name, &b.body);
	if (result == CAROM_SUCCESS)
		result = cr_check_max_distance(context, max_distance, name);
	return result == CAROM_SUCCESS ? cr_run_batch(&loop) : cr_fail_batch(batch, closest, sizeof *closest, result);
}
