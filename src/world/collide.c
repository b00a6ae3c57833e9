/// The calls of carom/collide.h: checks, and from the frame of A to the world.

#include "carom/collide.h"
#include "geom/convex_contacts.h"
#include "frame/shape_table.h"
#include "contact/shape_overlap.h"
#include "world/body_query.h"
#include "world/mesh_distance.h"
#include "world/shape_contacts.h"
#include "world/single_query.h"
#include "world/world.h"

/// The input of one call: two shapes whose poses are made relative to each other, and how to come
/// back.
typedef struct question {
	cr_convex convex[2];
	carom_pose pose[2];
	m3d rotation[2];
	cr_relative b_in_a;
	int plane; // which of the two is a plane; -1: none
} question;

/// The convex body of a shape; planes are none. Checks it.
static carom_result make_convex(
	carom_context *context, const carom_shape *shape, const char *function, const char *argument, cr_convex *convex)
{
	if (shape && shape->type == CAROM_MESH)
		return cr_fail(context, CAROM_UNSUPPORTED,
			"%s: %s: shape.type is CAROM_MESH, which need not be convex; carom_collide takes it", function, argument);
	const carom_result result = cr_check_given_shape(context, shape, function, argument);
	if (result == CAROM_SUCCESS && shape->type != CAROM_PLANE)
		*convex = cr_convex_of(shape);
	return result;
}

static carom_result take_pose(
	carom_context *context, const carom_pose *given, const char *function, const char *field, carom_pose *pose)
{
	*pose = carom_pose_identity();
	return given ? cr_check_pose(context, given, function, field, pose) : CAROM_SUCCESS;
}

static carom_result ask_meshes(carom_context *context, const char *function, const carom_shape *const shapes[2],
	const carom_pose *const given[2], carom_separation *separation)
{
	carom_pose poses[2];
	const carom_result result = cr_check_two_shapes(context, function, shapes, given, poses);
	return result == CAROM_SUCCESS ? cr_mesh_separation(context, shapes, poses, false, separation) : result;
}

/// From the poses.
static void relate(question *q)
{
	for (int i = 0; i < 2; i++)
		q->rotation[i] = m3d_from_quat(q->pose[i].orientation);
	q->b_in_a = (cr_relative){ m3d_transpose_mul(&q->rotation[0], &q->rotation[1]),
		m3d_tmul(&q->rotation[0], v3d_sub(q->pose[1].position, q->pose[0].position)) };
}

static carom_result ask(carom_context *context, const char *function, const carom_shape *const shapes[2],
	const carom_pose *const poses[2], question *q)
{
	static const char *const fields[2] = { "pose_a", "pose_b" };
	q->plane = -1;
	for (int i = 0; i < 2; i++) {
		carom_result result = make_convex(context, shapes[i], function, i ? "b" : "a", &q->convex[i]);
		if (result == CAROM_SUCCESS)
			result = take_pose(context, poses[i], function, fields[i], &q->pose[i]);
		if (result != CAROM_SUCCESS)
			return result;
		if (shapes[i]->type == CAROM_PLANE && q->plane >= 0)
			return cr_fail(context, CAROM_UNSUPPORTED, "%s: two planes have no distance", function);
		if (shapes[i]->type == CAROM_PLANE)
			q->plane = i;
	}
	relate(q);
	return CAROM_SUCCESS;
}

static v3d from_a(const question *q, v3d p) { return v3d_add(m3d_mul(&q->rotation[0], p), q->pose[0].position); }

// ---- Planes ----

/// A convex body over a plane: normal and height of the plane in the body's frame, normal . p =
/// height on it.
typedef struct over_plane {
	const cr_convex *convex;
	const carom_pose *pose;
	const m3d *rotation;
	v3d up; // world frame
	v3d own_up;
	double height;
	double sign; // 1: the body is A; -1: the plane is
} over_plane;

static over_plane place_over(const question *q)
{
	const int body = 1 - q->plane;
	over_plane o = { &q->convex[body], &q->pose[body], &q->rotation[body], .sign = body == 0 ? 1 : -1 };
	o.up = m3d_mul(&q->rotation[q->plane], (v3d){ 0, 0, 1 });
	o.own_up = m3d_tmul(o.rotation, o.up);
	o.height = v3d_dot(o.up, v3d_sub(q->pose[q->plane].position, o.pose->position));
	return o;
}

static v3d to_world(const over_plane *o, v3d p) { return v3d_add(m3d_mul(o->rotation, p), o->pose->position); }

/// Height of a point of the core, with the rounding below it, above the plane.
static double height_of(const over_plane *o, v3d p) { return v3d_dot(o->own_up, p) - o->height - o->convex->rounding; }

static v3d on_surface(const over_plane *o, v3d p) { return v3d_mad(to_world(o, p), -o->convex->rounding, o->up); }

static carom_separation separate_from_plane(const over_plane *o)
{
	const v3d lowest = cr_convex_support(o->convex, v3d_neg(o->own_up)), point = on_surface(o, lowest);
	const double height = height_of(o, lowest);
	const v3d below = v3d_mad(point, -height, o->up);
	return (carom_separation){ height, 0, v3d_scale(o->up, o->sign), o->sign > 0 ? point : below, o->sign > 0 ? below : point };
}

static void collide_with_plane(const over_plane *o, double margin, carom_manifold *m)
{
	cr_volume_contact contacts[CR_MAX_VOLUME_CONTACTS];
	m->normal = v3d_scale(o->up, o->sign);
	m->count = cr_convex_plane_contacts(o->convex, o->own_up, o->height, margin, contacts);
	for (int i = 0; i < m->count; i++) {
		const v3d surface = on_surface(o, contacts[i].point);
		const double depth = contacts[i].depth;
		m->points[i] = (carom_manifold_point){ o->sign > 0 ? surface : v3d_mad(surface, depth, o->up), depth };
	}
}

// ---- Calls ----

static carom_separation separate(const question *q)
{
	if (q->plane >= 0) {
		const over_plane o = place_over(q);
		return separate_from_plane(&o);
	}
	cr_separation s;
	cr_convex_separation(&q->convex[0], &q->convex[1], &q->b_in_a, &s);
	return (carom_separation){ s.gap, s.error, m3d_mul(&q->rotation[0], s.normal), from_a(q, s.on_a), from_a(q, s.on_b) };
}

void cr_separate_shapes(const carom_shape *const shapes[2], const carom_pose poses[2], carom_separation *separation)
{
	question q = { .plane = -1 };
	for (int i = 0; i < 2; i++) {
		q.pose[i] = poses[i];
		if (shapes[i]->type == CAROM_PLANE)
			q.plane = i;
		else
			q.convex[i] = cr_convex_of(shapes[i]);
	}
	relate(&q);
	*separation = separate(&q);
}

carom_result cr_ask_distance(carom_context *context, const carom_shape *a, const carom_pose *pose_a, const carom_shape *b,
	const carom_pose *pose_b, const char *name, carom_separation *separation)
{
	question q;
	if ((a && a->type == CAROM_MESH) || (b && b->type == CAROM_MESH))
		return ask_meshes(
			context, name, (const carom_shape *[2]){ a, b }, (const carom_pose *[2]){ pose_a, pose_b }, separation);
	const carom_result result =
		ask(context, name, (const carom_shape *[2]){ a, b }, (const carom_pose *[2]){ pose_a, pose_b }, &q);
	if (result == CAROM_SUCCESS)
		*separation = separate(&q);
	return result;
}

carom_result carom_distance(carom_context *context, const carom_shape *a, const carom_pose *pose_a, const carom_shape *b,
	const carom_pose *pose_b, carom_separation *separation)
{
	static const char *const name = "carom_distance";
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!separation)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: separation is NULL", name);
	return cr_ask_distance(context, a, pose_a, b, pose_b, name, separation);
}

/// Are both convex, and one of a form that has to be searched? One look along the line of their
/// centres parts such shapes faster than their boxes do.
static bool are_searched(const carom_shape *const shapes[2])
{
	bool searched = false;
	for (int i = 0; i < 2; i++) {
		const cr_family family = cr_family_of(shapes[i]);
		if (family == CR_FAMILY_MESH || shapes[i]->type == CAROM_PLANE)
			return false;
		searched = searched || family == CR_FAMILY_CONVEX;
	}
	return searched;
}

carom_result cr_ask_pair_overlap(carom_context *context, const carom_shape *a, const carom_pose *pose_a, const carom_shape *b,
	const carom_pose *pose_b, const char *name, bool *overlap)
{
	const carom_shape *const shapes[2] = { a, b };
	carom_pose poses[2];
	*overlap = false;
	const carom_result result = cr_check_two_shapes(context, name, shapes, (const carom_pose *[2]){ pose_a, pose_b }, poses);
	if (result != CAROM_SUCCESS)
		return result;
	if (a->type == CAROM_PLANE && b->type == CAROM_PLANE)
		return cr_fail(context, CAROM_UNSUPPORTED, "%s: two planes always overlap, or never", name);
	const double padding = cr_padding_of(a) + cr_padding_of(b);
	if (!are_searched(shapes) && cr_shapes_are_far(shapes, poses, padding))
		return CAROM_SUCCESS;
	return cr_shapes_overlap(context, cr_get_bvh_kernels(context->simd), a, &poses[0], b, &poses[1], overlap);
}

carom_result carom_overlap(carom_context *context, const carom_shape *a, const carom_pose *pose_a, const carom_shape *b,
	const carom_pose *pose_b, bool *overlap)
{
	static const char *const name = "carom_overlap";
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!overlap)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: overlap is NULL", name);
	return cr_ask_pair_overlap(context, a, pose_a, b, pose_b, name, overlap);
}

carom_result cr_ask_manifold(carom_context *context, const carom_shape *a, const carom_pose *pose_a, const carom_shape *b,
	const carom_pose *pose_b, double margin, const char *name, carom_manifold *manifold)
{
	question q;
	const carom_result result =
		ask(context, name, (const carom_shape *[2]){ a, b }, (const carom_pose *[2]){ pose_a, pose_b }, &q);
	if (result != CAROM_SUCCESS)
		return result;
	*manifold = (carom_manifold){ .count = 0 };
	if (q.plane >= 0) {
		const over_plane o = place_over(&q);
		collide_with_plane(&o, margin, manifold);
		return CAROM_SUCCESS;
	}
	cr_volume_contact contacts[CR_MAX_VOLUME_CONTACTS];
	_Static_assert((int)CR_MAX_VOLUME_CONTACTS <= CAROM_MAX_MANIFOLD, "a manifold holds all contacts");
	manifold->count = cr_convex_contacts(&q.convex[0], &q.convex[1], &q.b_in_a, margin, contacts);
	for (int i = 0; i < manifold->count; i++) {
		manifold->normal = m3d_mul(&q.rotation[0], contacts[i].normal);
		manifold->points[i] = (carom_manifold_point){ from_a(&q, contacts[i].point), contacts[i].depth };
	}
	return CAROM_SUCCESS;
}

carom_result cr_check_margin(carom_context *context, double margin, const char *function)
{
	return margin >= 0 ? CAROM_SUCCESS
					   : cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: margin is %g; it must be at least 0", function, margin);
}

carom_result carom_collide_convex(carom_context *context, const carom_shape *a, const carom_pose *pose_a, const carom_shape *b,
	const carom_pose *pose_b, double margin, carom_manifold *manifold)
{
	static const char *const name = "carom_collide_convex";
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!manifold)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: manifold is NULL", name);
	const carom_result checked = cr_check_margin(context, margin, name);
	return checked == CAROM_SUCCESS ? cr_ask_manifold(context, a, pose_a, b, pose_b, margin, name, manifold) : checked;
}

carom_pose carom_motion_pose(const carom_motion *motion, double time)
{
	const cr_motion m = cr_motion_between(&motion->begin, &motion->end);
	return cr_motion_at(&m, time);
}

/// A motion relative to an origin, checked.
static carom_result take_motion(carom_context *context, const carom_motion *given, const char *name,
	const char *const fields[2], v3d origin, cr_motion *motion)
{
	carom_pose begin, end;
	carom_result result = take_pose(context, given ? &given->begin : NULL, name, fields[0], &begin);
	if (result == CAROM_SUCCESS)
		result = take_pose(context, given ? &given->end : NULL, name, fields[1], &end);
	if (result != CAROM_SUCCESS)
		return result;
	begin.position = v3d_sub(begin.position, origin);
	end.position = v3d_sub(end.position, origin);
	*motion = cr_motion_between(&begin, &end);
	return CAROM_SUCCESS;
}

/// A shape that moves, checked. convex: where its body is kept.
static carom_result take_mover(carom_context *context, const carom_shape *shape, const char *name, const char *argument,
	cr_convex *convex, cr_mover *mover)
{
	const carom_result result = cr_check_given_shape(context, shape, name, argument);
	if (result == CAROM_SUCCESS)
		*mover = cr_mover_of(shape, convex);
	return result;
}

static void write_impact(const cr_mover *a, const cr_mover_impact *found, v3d origin, carom_toi *toi)
{
	const cr_impact *impact = &found->impact;
	const cr_separation *s = &impact->separation;
	const bool known = !found->out_of_work;
	const v3d at = known ? v3d_add(cr_motion_at(&a->motion, impact->separation_time).position, origin) : (v3d){ 0, 0, 0 };
	*toi = (carom_toi){ cr_toi_status_of(impact->state), impact->time,
		{ s->gap, s->error, s->normal, v3d_add(s->on_a, at), v3d_add(s->on_b, at) }, impact->steps, found->triangle[0],
		found->triangle[1] };
}

/// Not one look is left: nothing is known.
static cr_mover_impact nothing_known(void)
{
	cr_mover_impact none = cr_no_impact();
	none.impact.state = CR_IMPACT_UNDECIDED;
	none.impact.time = none.impact.separation_time = 0;
	none.out_of_work = true;
	return none;
}

static void find_impact(
	carom_context *context, const cr_mover movers[2], double tolerance, int64_t *work, cr_mover_impact *found)
{
	cr_mover_scratch scratch;
	const cr_bvh_kernels *kernels = cr_get_bvh_kernels(context->simd);
	*found = nothing_known();
	if (*work <= 0)
		return;
	cr_find_mover_impact_within(kernels, &scratch, &movers[0], &movers[1], tolerance, 1, work, found);
	const bool told = found->inside || found->told || found->out_of_work;
	if (!told && (movers[0].collider || movers[1].collider))
		cr_find_nearest_parts(&scratch, &movers[0], &movers[1], found);
}

carom_result cr_ask_impact(carom_context *context, const carom_shape *a, const carom_motion *motion_a, const carom_shape *b,
	const carom_motion *motion_b, double tolerance, int64_t *work, const char *name, carom_toi *toi)
{
	static const char *const fields[2][2] = { { "motion_a.begin", "motion_a.end" }, { "motion_b.begin", "motion_b.end" } };
	cr_convex convex[2];
	cr_mover movers[2] = { { 0 } };
	const v3d origin = motion_a ? motion_a->begin.position : (v3d){ 0, 0, 0 };
	carom_result result = CAROM_SUCCESS;
	for (int i = 0; i < 2 && result == CAROM_SUCCESS; i++)
		result = take_mover(context, i ? b : a, name, i ? "b" : "a", &convex[i], &movers[i]);
	for (int i = 0; i < 2 && result == CAROM_SUCCESS; i++)
		result = take_motion(context, i ? motion_b : motion_a, name, fields[i], origin, &movers[i].motion);
	if (result == CAROM_SUCCESS && a->type == CAROM_PLANE && b->type == CAROM_PLANE)
		result = cr_fail(context, CAROM_UNSUPPORTED, "%s: two planes have no distance", name);
	if (result != CAROM_SUCCESS)
		return result;
	cr_mover_impact found;
	find_impact(context, movers, tolerance, work, &found);
	write_impact(&movers[0], &found, origin, toi);
	return CAROM_SUCCESS;
}

carom_result cr_check_tolerance(carom_context *context, double tolerance, const char *function)
{
	return tolerance > 0 && tolerance < INFINITY
		? CAROM_SUCCESS
		: cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: tolerance is %g; it must be finite and above 0", function, tolerance);
}

carom_result carom_time_of_impact(carom_context *context, const carom_shape *a, const carom_motion *motion_a,
	const carom_shape *b, const carom_motion *motion_b, double tolerance, carom_toi *toi)
{
	static const char *const name = "carom_time_of_impact";
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!toi)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: toi is NULL", name);
	int64_t work = INT64_MAX;
	const carom_result checked = cr_check_tolerance(context, tolerance, name);
	return checked == CAROM_SUCCESS ? cr_ask_impact(context, a, motion_a, b, motion_b, tolerance, &work, name, toi) : checked;
}

carom_result carom_time_of_impact_within(carom_context *context, const carom_shape *a, const carom_motion *motion_a,
	const carom_shape *b, const carom_motion *motion_b, double tolerance, int64_t *work, carom_toi *toi)
{
	static const char *const name = "carom_time_of_impact_within";
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!work || !toi)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, work ? "toi" : "work");
	if (*work < 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: *work is %lld; it must be at least 0", name, (long long)*work);
	int64_t left = *work;
	carom_result result = cr_check_tolerance(context, tolerance, name);
	if (result == CAROM_SUCCESS)
		result = cr_ask_impact(context, a, motion_a, b, motion_b, tolerance, &left, name, toi);
	if (result == CAROM_SUCCESS)
		*work = left > 0 ? left : 0;
	return result;
}
