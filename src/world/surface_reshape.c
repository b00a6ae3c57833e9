/// The memory of surface contacts where a rigid body gets another shape, or a part another place in
/// its body (carom_world_set_shape, carom_world_set_parts).
///
/// In: the contacts that the next step would remember, the shape and its pose of before, and those
/// of now. Out: contacts with the new shape that say on which side features belong. Only the search
/// for sides, ways out, ages and impulses reads them; the views of the last step stay.
///
/// - Two meshes of the same triangles keep all numbers: a mesh that was scaled, for example.
/// - Of other meshes the place tells. The triangle is the one that a line along the normal meets
///   first, from the point where the contact was, or else the nearest one. A vertex or an edge of
///   the body is one at the same place.
/// - A shape that is no mesh keeps its contacts, which are named by features of the surface, with
///   the ways out that they had. Where its middle has passed a feature, the shape has come over it
///   from the other side, and the feature forgets.
/// - From mesh to shape and back the vertices of surfaces are carried over, and the edges and faces
///   that met the mesh become features that meet the shape.
///
/// Distances are those from the new shape, at most, so that the next step looks far enough. Cost:
/// O(pairs of surfaces), and O(log triangles) for each contact of the part.
#include "frame/shape_table.h"
#include "geom/feature_distance.h"
#include "geom/triangle.h"
#include "world/body_query.h"
#include "world/surface_contacts.h"
#include "world/world.h"
#include <string.h>

// Cosine from which on a direction tells the side of a surface.
#define CLEARLY 0.25
// By how much a place on a mesh may differ from that on another, by the reach of the part.
#define SAME_PLACE 1e-6

typedef struct reshaping {
	const carom_world *world;
	int32_t part;
	const cr_shape *before, *now;
	const carom_pose *pose_before; // of the part at the end of the last step
	cr_body seen;                  // the new shape, where it would have been then
	bool keeps_numbers;
	double slack; // within which places are equal
	cr_carried *carried;
	bool failed; // out of memory
} reshaping;

static bool is_mesh(const cr_shape *shape) { return shape->def.type == CAROM_MESH; }

// ---- Places on the new mesh ----

static void corners_at(const reshaping *r, int32_t triangle, v3d corners[3])
{
	const cr_topology *t = &r->now->mesh->topology;
	for (int k = 0; k < 3; k++) {
		const int64_t vertex = t->triangles[3 * (int64_t)triangle + k];
		corners[k] = cr_point_to_world(&r->seen, v3d_from_floats(t->vertices + 3 * vertex));
	}
}

/// The triangle that a line from a point meets first, and how far away. Of a closed mesh only one
/// that the line leaves by. -1: none.
static int32_t cast_along(const reshaping *r, v3d from, v3d along, double *distance)
{
	const bool closed = r->now->mesh->report.closed;
	int32_t best = -1;
	*distance = INFINITY;
	for (int sign = -1; sign <= 1; sign += 2) {
		const v3d way = v3d_scale(along, sign), begin = v3d_mad(from, -r->slack, way);
		const cr_query_ray ray = { begin, way, 0, INFINITY };
		carom_ray_hit hit;
		if (!cr_body_cast(&r->seen, cr_get_bvh_kernels(r->world->context->simd), &ray, CR_RAY_BOTH, &hit))
			continue;
		v3d corners[3];
		corners_at(r, hit.triangle, corners);
		if (hit.t < *distance && (!closed || v3d_dot(cr_triangle_normal(corners), along) > 0)) {
			*distance = hit.t;
			best = hit.triangle;
		}
	}
	return best;
}

static int32_t nearest_triangle(const reshaping *r, v3d point)
{
	carom_closest_point closest;
	const bool found = cr_body_closest_point(&r->seen, cr_get_bvh_kernels(r->world->context->simd), point, INFINITY, &closest);
	return found ? closest.triangle : -1;
}

/// The triangle that stands for the place of a contact whose second feature was the old shape, and
/// the side of it where the normal points. False: it cannot be told.
static bool find_side(const reshaping *r, v3d point, v3d normal, int32_t *triangle, int32_t *side)
{
	double distance;
	*triangle = cast_along(r, point, normal, &distance);
	if (*triangle < 0)
		*triangle = nearest_triangle(r, point);
	if (*triangle < 0)
		return false;
	v3d corners[3];
	corners_at(r, *triangle, corners);
	const double along = v3d_dot(cr_triangle_normal(corners), normal);
	*side = r->now->mesh->report.closed || along > 0 ? CR_SIDE_FRONT : CR_SIDE_BACK;
	return r->now->mesh->report.closed || fabs(along) > CLEARLY;
}

/// The vertex of the new mesh at the place of an old one; -1: there is none.
static int32_t find_vertex(const reshaping *r, int32_t vertex)
{
	if (r->keeps_numbers)
		return vertex;
	const v3d local = v3d_from_floats(r->before->mesh->topology.vertices + 3 * (int64_t)vertex);
	const m3d rotation = m3d_from_quat(r->pose_before->orientation);
	const v3d at = v3d_add(m3d_mul(&rotation, local), r->pose_before->position);
	const int32_t triangle = nearest_triangle(r, at);
	if (triangle < 0)
		return -1;
	v3d corners[3];
	corners_at(r, triangle, corners);
	for (int k = 0; k < 3; k++) {
		if (v3d_length(v3d_sub(corners[k], at)) <= r->slack)
			return r->now->mesh->topology.triangles[3 * (int64_t)triangle + k];
	}
	return -1;
}

// ---- Writing ----

static void emit(reshaping *r, const carom_surface_contact *c)
{
	r->failed = r->failed || !cr_emit_carried(&((carom_world *)r->world)->memory, r->carried, c);
}

static void emit_shape(reshaping *r, const carom_surface_shape_contact *c)
{
	r->failed = r->failed || !cr_emit_carried_shape(&((carom_world *)r->world)->memory, r->carried, c);
}

static double distance_from(const v3d corners[3], v3d point)
{
	v3d c[3];
	for (int k = 0; k < 3; k++)
		c[k] = v3d_sub(corners[k], point);
	const cr_triangle_point on = cr_closest_on_triangle((v3d){ 0, 0, 0 }, c);
	return v3d_length(on.point);
}

/// Where a vertex of a contact was at the end of the last step; of the part, the one that it is
/// now.
static v3d vertex_then(const reshaping *r, int32_t part, int32_t vertex)
{
	if (part != r->part)
		return cr_vertex_at(r->world, part, vertex, 0);
	return cr_point_to_world(&r->seen, v3d_from_floats(r->now->mesh->topology.vertices + 3 * (int64_t)vertex));
}

/// Let a contact be with a face of the body's mesh: its triangle is set. point: of the surface.
static void set_face(const reshaping *r, v3d point, carom_surface_contact *c)
{
	v3d corners[3];
	corners_at(r, c->triangle, corners);
	memcpy(&c->vertices[1], &r->now->mesh->topology.triangles[3 * (int64_t)c->triangle], 3 * sizeof c->vertices[1]);
	c->distance = distance_from(corners, point);
}

// ---- From mesh to mesh ----

/// A vertex of a surface against the body's mesh.
static void carry_face(reshaping *r, const carom_surface_contact *c)
{
	carom_surface_contact now = *c;
	if (!r->keeps_numbers && !find_side(r, c->point_b, c->normal, &now.triangle, &now.side))
		return;
	set_face(r, c->point_a, &now);
	emit(r, &now);
}

/// A vertex of the body's mesh against a face of a surface.
static void carry_vertex(reshaping *r, const carom_surface_contact *c)
{
	carom_surface_contact now = *c;
	now.vertices[0] = find_vertex(r, c->vertices[0]);
	if (now.vertices[0] < 0)
		return;
	v3d corners[3];
	for (int k = 0; k < 3; k++)
		corners[k] = vertex_then(r, cr_part_b_of(c), c->vertices[1 + k]);
	now.distance = distance_from(corners, vertex_then(r, r->part, now.vertices[0]));
	emit(r, &now);
}

/// The edges may have passed each other by the change: then they are through.
static void carry_edges(reshaping *r, const carom_surface_contact *c)
{
	carom_surface_contact now = *c;
	const int first = cr_part_a_of(c) == r->part ? 0 : 2;
	const int32_t a = find_vertex(r, c->vertices[first]), b = find_vertex(r, c->vertices[first + 1]);
	if (a < 0 || b < 0 || a == b)
		return;
	now.vertices[first] = a < b ? a : b;
	now.vertices[first + 1] = a < b ? b : a;
	v3d at[4];
	for (int k = 0; k < 4; k++)
		at[k] = vertex_then(r, k < 2 ? cr_part_a_of(c) : cr_part_b_of(c), now.vertices[k]);
	cr_near near;
	cr_near_of(CR_SWEPT_EDGE_EDGE, at, &near);
	now.distance = sqrt(near.distance2);
	now.through = v3d_dot(v3d_sub(near.on_a, near.on_b), c->normal) < 0;
	emit(r, &now);
}

// ---- From mesh to shape ----

/// The feature of the surface in a contact with the body's mesh, as one that meets a shape.
static void carry_to_shape(reshaping *r, const carom_surface_contact *c)
{
	const bool first = cr_part_a_of(c) != r->part; // the surface has the first feature
	const double sign = first ? 1 : -1;
	carom_surface_shape_contact now = { .body_a = first ? c->body_a : c->body_b,
		.body_b = first ? c->body_b : c->body_a,
		.shape_b = first ? c->shape_b : c->shape_a,
		.vertices = { -1, -1, -1 },
		.triangle = -1,
		.age = c->age,
		.point = first ? c->point_b : c->point_a,
		.normal = v3d_scale(c->normal, sign),
		.distance = c->distance,
		.thickness = c->thickness };
	const bool is_face = c->kind == CAROM_SWEEP_VERTEX_FACE;
	const int begin = first ? 0 : is_face ? 1 : 2, count = !is_face ? 2 : first ? 1 : 3;
	for (int k = 0; k < count; k++) {
		now.vertices[k] = c->vertices[begin + k];
		now.weight[k] = c->weight[begin + k];
	}
	if (count == 3)
		now.triangle = c->triangle;
	for (int k = 0; k < 3; k++)
		now.impulse[k] = (float)sign * c->impulse[k];
	emit_shape(r, &now);
}

static void carry_contact(reshaping *r, const carom_surface_contact *c)
{
	if (!is_mesh(r->now))
		carry_to_shape(r, c);
	else if (c->kind == CAROM_SWEEP_EDGE_EDGE)
		carry_edges(r, c);
	else if (cr_part_b_of(c) == r->part)
		carry_face(r, c);
	else
		carry_vertex(r, c);
}

// ---- From shape ----

/// How far a shape at a pose reaches along a direction. Planes are not asked.
static double reach_along(const cr_shape *shape, const carom_pose *pose, v3d direction)
{
	const cr_convex convex = cr_convex_of(&shape->def);
	const m3d rotation = m3d_from_quat(pose->orientation);
	const v3d local = m3d_tmul(&rotation, direction);
	return v3d_dot(local, cr_convex_support(&convex, local)) + convex.rounding * v3d_length(local) +
		v3d_dot(direction, pose->position);
}

/// Has the middle of the shape, along the contact's normal, passed its feature?
static bool has_passed(const reshaping *r, const carom_surface_shape_contact *c)
{
	if (r->before->def.type == CAROM_PLANE || r->now->def.type == CAROM_PLANE)
		return false;
	const v3d normal = c->normal, back = v3d_neg(normal);
	const double feature = v3d_dot(normal, c->point) + c->distance;
	const double before = reach_along(r->before, r->pose_before, normal) - reach_along(r->before, r->pose_before, back);
	const double now = reach_along(r->now, &r->seen.pose, normal) - reach_along(r->now, &r->seen.pose, back);
	return feature >= 0.5 * before && feature < 0.5 * now;
}

/// A vertex that met the shape, against the mesh.
static void carry_to_mesh(reshaping *r, const carom_surface_shape_contact *c)
{
	if (c->vertices[1] >= 0)
		return;
	const int32_t surface = (int32_t)c->body_a.index1 - 1;
	carom_surface_contact now = { .body_a = c->body_a,
		.body_b = c->body_b,
		.shape_b = c->shape_b,
		.kind = CAROM_SWEEP_VERTEX_FACE,
		.vertices = { c->vertices[0] },
		.age = c->age,
		.normal = c->normal,
		.thickness = c->thickness };
	if (!find_side(r, c->point, c->normal, &now.triangle, &now.side))
		return;
	memcpy(now.impulse, c->impulse, sizeof now.impulse);
	set_face(r, cr_vertex_at(r->world, surface, c->vertices[0], 0), &now);
	emit(r, &now);
}

static void carry_shape_contact(reshaping *r, const carom_surface_shape_contact *c)
{
	if (is_mesh(r->now))
		carry_to_mesh(r, c);
	else if (!has_passed(r, c))
		emit_shape(r, c);
}

// ---- All of them ----

static bool have_equal_triangles(const cr_shape *a, const cr_shape *b)
{
	if (!is_mesh(a) || !is_mesh(b))
		return false;
	const cr_topology *t = &a->mesh->topology, *u = &b->mesh->topology;
	return t->vertex_count == u->vertex_count && t->triangle_count == u->triangle_count &&
		(t->triangle_count == 0 ||
			memcmp(t->triangles, u->triangles, 3 * (size_t)t->triangle_count * sizeof *t->triangles) == 0);
}

static void carry_all(reshaping *r)
{
	const cr_surface_contacts *m = &r->world->surface_contacts;
	cr_carried_walk walk = { .part = r->part };
	for (const carom_surface_contact *c; (c = cr_next_remembered(r->world, &walk)) != NULL && !r->failed;)
		carry_contact(r, c);
	for (int64_t i = 0; i < m->carried.count && !r->failed; i++) {
		const carom_surface_contact *c = &m->carried.data[i];
		if (cr_part_a_of(c) == r->part || cr_part_b_of(c) == r->part)
			carry_contact(r, c);
	}
	walk = (cr_carried_walk){ .part = r->part };
	for (const carom_surface_shape_contact *c; (c = cr_next_remembered_shape(r->world, &walk)) != NULL && !r->failed;)
		carry_shape_contact(r, c);
	for (int64_t i = 0; i < m->carried_shapes.count && !r->failed; i++) {
		if (cr_shape_part_of(&m->carried_shapes.data[i]) == r->part)
			carry_shape_contact(r, &m->carried_shapes.data[i]);
	}
}

bool cr_carry_to_new_shape(carom_world *world, int32_t part, const cr_shape *now, const carom_pose *last, cr_carried *carried)
{
	const cr_body *body = &world->bodies.data[part];
	if (!cr_has_surface_memory(&world->surface_contacts))
		return true;
	reshaping r = { .world = world,
		.part = part,
		.before = &body->shape,
		.now = now,
		.pose_before = cr_last_pose(body),
		.seen = { .alive = true, .kind = body->kind, .shape = *now, .pose = *last },
		.keeps_numbers = have_equal_triangles(&body->shape, now),
		.carried = carried };
	r.slack = is_mesh(now) ? SAME_PLACE * v3d_length(cr_local_box_of(&r.seen).half) : 0;
	carry_all(&r);
	return !r.failed;
}
