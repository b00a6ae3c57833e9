/// Stateless queries of nearest points (carom/mesh_query.h, carom/geometry.h): of points, edges and
/// triangles, of one mesh and of two; inside.
#include "bvh/collider_query.h"
#include "carom/mesh_query.h"
#include "contact/contact.h"
#include "world/world.h"

static bool is_finite_point(carom_vec3 p) { return isfinite(p.x) && isfinite(p.y) && isfinite(p.z); }

static carom_feature feature_of(cr_feature f)
{
	return f == CR_FEATURE_FACE ? CAROM_FEATURE_FACE : f < CR_FEATURE_A ? CAROM_FEATURE_EDGE : CAROM_FEATURE_VERTEX;
}

static int32_t number_of(cr_feature f)
{
	return f == CR_FEATURE_FACE ? 0 : f < CR_FEATURE_A ? (int32_t)f - CR_FEATURE_EDGE_AB : (int32_t)f - CR_FEATURE_A;
}

static carom_triangle_point public_point(const cr_triangle_point *p, v3d point)
{
	return (carom_triangle_point){ point, { p->weight[0], p->weight[1], p->weight[2] }, feature_of(p->feature),
		number_of(p->feature) };
}

// ---- Points, edges, triangles ----

/// Points brought to a size at which products of six of them neither overflow nor vanish, by a
/// power of two, so that nothing but the smallest numbers is rounded.
typedef struct scaled {
	v3d point[6];
	int count;
	double back; // scaled to given
} scaled;

static void add_points(scaled *s, const carom_vec3 *points, int count)
{
	for (int i = 0; i < count; i++)
		s->point[s->count++] = points[i];
}

/// False for points that are not finite.
static bool scale_points(scaled *s)
{
	double largest = 0, by = 1;
	for (int i = 0; i < s->count; i++) {
		const v3d p = s->point[i];
		if (!is_finite_point(p))
			return false;
		largest = fmax(largest, fmax(fabs(p.x), fmax(fabs(p.y), fabs(p.z))));
	}
	// The largest number needs 17 steps of 2^60, and 2^1020 can still be written; so can its
	// inverse.
	for (int i = 0; i < 17 && largest * by > 0x1p60; i++)
		by *= 0x1p-60;
	for (int i = 0; i < 17 && largest * by < 0x1p-60; i++)
		by *= 0x1p60;
	for (int i = 0; i < s->count && by != 1; i++)
		s->point[i] = v3d_scale(s->point[i], by);
	s->back = 1 / by;
	return true;
}

static carom_triangle_point scaled_back(const scaled *s, const cr_triangle_point *p, const carom_vec3 triangle[3])
{
	const bool corner = p->feature >= CR_FEATURE_A;
	return public_point(p, corner ? triangle[p->feature - CR_FEATURE_A] : v3d_scale(p->point, s->back));
}

double carom_point_triangle_distance(carom_vec3 point, const carom_vec3 triangle[3], carom_triangle_point *on_triangle)
{
	scaled s = { .count = 0 };
	if (!triangle || !on_triangle)
		return NAN;
	add_points(&s, &point, 1);
	add_points(&s, triangle, 3);
	if (!scale_points(&s))
		return NAN;
	const cr_triangle_point p = cr_closest_on_triangle(s.point[0], &s.point[1]);
	*on_triangle = scaled_back(&s, &p, triangle);
	return v3d_length(v3d_sub(p.point, s.point[0])) * s.back;
}

static carom_edge_point edge_point(const scaled *s, v3d p, double t, const carom_vec3 edge[2])
{
	if (t > 0 && t < 1)
		return (carom_edge_point){ v3d_scale(p, s->back), t, CAROM_FEATURE_EDGE, 0 };
	return (carom_edge_point){ edge[t > 0], t, CAROM_FEATURE_VERTEX, t > 0 };
}

double carom_edge_edge_distance(const carom_vec3 a[2], const carom_vec3 b[2], carom_edge_point *on_a, carom_edge_point *on_b)
{
	scaled s = { .count = 0 };
	if (!a || !b || !on_a || !on_b)
		return NAN;
	add_points(&s, a, 2);
	add_points(&s, b, 2);
	if (!scale_points(&s))
		return NAN;
	double t, u;
	v3d p, q;
	const double distance2 = cr_closest_segments(s.point[0], s.point[1], s.point[2], s.point[3], &t, &u, &p, &q);
	*on_a = edge_point(&s, p, t, a);
	*on_b = edge_point(&s, q, u, b);
	return sqrt(distance2) * s.back;
}

double carom_triangle_triangle_distance(
	const carom_vec3 a[3], const carom_vec3 b[3], carom_triangle_point *on_a, carom_triangle_point *on_b)
{
	scaled s = { .count = 0 };
	if (!a || !b || !on_a || !on_b)
		return NAN;
	add_points(&s, a, 3);
	add_points(&s, b, 3);
	if (!scale_points(&s))
		return NAN;
	cr_triangle_point p, q;
	const double distance2 = cr_closest_triangles(&s.point[0], &s.point[3], &p, &q);
	*on_a = scaled_back(&s, &p, a);
	*on_b = scaled_back(&s, &q, b);
	if (distance2 == 0)
		on_b->point = on_a->point;
	return sqrt(distance2) * s.back;
}

// ---- One mesh ----

carom_result carom_mesh_closest_point(
	const carom_mesh *mesh, carom_vec3 point, double max_distance, bool *found, carom_mesh_point *result)
{
	static const char *const name = "carom_mesh_closest_point";
	if (!mesh)
		return CAROM_INVALID_ARGUMENT;
	if (!found || !result)
		return cr_fail(mesh->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, found ? "result" : "found");
	*found = false;
	if (!is_finite_point(point))
		return cr_fail(mesh->context, CAROM_INVALID_ARGUMENT, "%s: point is not finite", name);
	if (!(max_distance >= 0))
		return cr_fail(
			mesh->context, CAROM_INVALID_ARGUMENT, "%s: max_distance is %g; it must be at least 0", name, max_distance);
	cr_surface_point p;
	if (!cr_collider_closest_point(&mesh->collider, cr_get_bvh_kernels(mesh->context->simd), point, max_distance, &p))
		return CAROM_SUCCESS;
	*found = true;
	*result = (carom_mesh_point){ p.point, p.normal, p.distance, p.triangle, { p.weight[0], p.weight[1], p.weight[2] },
		feature_of(p.feature), number_of(p.feature) };
	return CAROM_SUCCESS;
}

carom_result carom_mesh_contains(const carom_mesh *mesh, carom_vec3 point, bool *inside)
{
	if (!mesh)
		return CAROM_INVALID_ARGUMENT;
	if (!inside)
		return cr_fail(mesh->context, CAROM_INVALID_ARGUMENT, "carom_mesh_contains: inside is NULL");
	*inside = false;
	if (!is_finite_point(point))
		return cr_fail(mesh->context, CAROM_INVALID_ARGUMENT, "carom_mesh_contains: point is not finite");
	*inside = cr_collider_contains(&mesh->collider, cr_get_bvh_kernels(mesh->context->simd), point);
	return CAROM_SUCCESS;
}

// ---- Two meshes ----

static v3d to_world(const m3d *rotation, const carom_pose *pose, v3d p)
{
	return v3d_add(m3d_mul(rotation, p), pose->position);
}

static void write_gap(const cr_collider_gap *gap, const m3d *rotation, const carom_pose *pose_a, carom_mesh_gap *result)
{
	result->distance = sqrt(gap->distance2);
	result->on_a = public_point(&gap->on_a, to_world(rotation, pose_a, gap->on_a.point));
	result->on_b = public_point(&gap->on_b, to_world(rotation, pose_a, gap->on_b.point));
	result->triangle_a = gap->a;
	result->triangle_b = gap->b;
	result->a_inside_b = result->b_inside_a = false;
}

/// Both poses, checked and normalised, or an error.
static carom_result check_poses(carom_context *context, const carom_pose *given[2], carom_pose poses[2])
{
	static const char *const names[2] = { "pose_a", "pose_b" };
	for (int i = 0; i < 2; i++) {
		poses[i] = carom_pose_identity();
		const carom_result result =
			given[i] ? cr_check_pose(context, given[i], "carom_mesh_distance", names[i], &poses[i]) : CAROM_SUCCESS;
		if (result != CAROM_SUCCESS)
			return result;
	}
	return CAROM_SUCCESS;
}

carom_result carom_mesh_distance(const carom_mesh *mesh_a, const carom_pose *pose_a, const carom_mesh *mesh_b,
	const carom_pose *pose_b, double max_distance, bool *found, carom_mesh_gap *result)
{
	static const char *const name = "carom_mesh_distance";
	if (!mesh_a)
		return CAROM_INVALID_ARGUMENT;
	carom_context *context = mesh_a->context;
	if (!mesh_b || !found || !result)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name,
			!mesh_b      ? "mesh_b"
				: !found ? "found"
						 : "result");
	*found = false;
	if (!(max_distance >= 0))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: max_distance is %g; it must be at least 0", name, max_distance);
	carom_pose poses[2];
	const carom_result checked = check_poses(context, (const carom_pose *[2]){ pose_a, pose_b }, poses);
	if (checked != CAROM_SUCCESS)
		return checked;
	const cr_bvh_kernels *kernels = cr_get_bvh_kernels(context->simd);
	const cr_collider *a = &mesh_a->collider, *b = &mesh_b->collider;
	const m3d turn_a = m3d_from_quat(poses[0].orientation), turn_b = m3d_from_quat(poses[1].orientation),
			  b_to_a = m3d_transpose_mul(&turn_a, &turn_b);
	const v3d b_in_a = m3d_tmul(&turn_a, v3d_sub(poses[1].position, poses[0].position));
	cr_collider_gap gap;
	if (!kernels->gap(a, b, &b_to_a, b_in_a, max_distance, &gap))
		return CAROM_SUCCESS;
	*found = true;
	write_gap(&gap, &turn_a, &poses[0], result);
	if (gap.distance2 > 0) {
		result->b_inside_a = cr_collider_contains(a, kernels, gap.on_b.point);
		result->a_inside_b = cr_collider_contains(b, kernels, m3d_tmul(&b_to_a, v3d_sub(gap.on_a.point, b_in_a)));
	}
	return CAROM_SUCCESS;
}
