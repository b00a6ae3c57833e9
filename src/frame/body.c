/// Bodies at the start of a step: rotations, world boxes, and which bodies may collide.

#include "base/parallel.h"
#include "frame/pipeline.h"
#include "frame/shape_table.h"
#include "geom/convex_query.h"
#include "geom/volume.h"

enum { BODIES_PER_TASK = 256 };

bool cr_bodies_may_collide(const cr_body *a, const cr_body *b)
{
	if (!(cr_is_free(a) || cr_is_free(b)) || !cr_has_contacts(a) || !cr_has_contacts(b))
		return false;
	return !cr_same_body(a, b) && !(cr_is_quiet(a) && cr_is_quiet(b)) && cr_filters_pass(a, b);
}

bool cr_filters_pass(const cr_body *a, const cr_body *b)
{
	if (a->group != 0 && a->group == b->group)
		return a->group > 0;
	return (a->category & b->mask) != 0 && (b->category & a->mask) != 0;
}

bool cr_plane_meets_box(const cr_body *plane, const cr_body *body, double margin)
{
	const m3d rotation = cr_rotation_of(plane);
	double height = 0, size = 0;
	for (int k = 0; k < 3; k++) {
		const double n = rotation.row[k].z, at = v3d_get(plane->pose.position, k);
		const double lowest = n > 0 ? body->lower[k] : body->upper[k];
		height += n * (lowest - at);
		size += fabs(n) * (fabs(lowest) + fabs(at));
	}
	// A box without end gives no number, and meets the plane. The last term is for roundings, here
	// and where contacts are made.
	return !(height > margin + size * 0x1p-46);
}

/// Grow a world box by a local box (centre, half extents): |R| maps the half extents (Arvo 1990).
static void grow_by_box(const cr_body *body, const double centre[3], const double half[3], double lower[3], double upper[3])
{
	m3d room;
	const m3d *rotation = cr_rotation_at(body, &room);
	const v3d c = m3d_mul(rotation, (v3d){ centre[0], centre[1], centre[2] });
	const double position[3] = { body->pose.position.x, body->pose.position.y, body->pose.position.z };
	for (int k = 0; k < 3; k++) {
		const v3d row = rotation->row[k];
		const double e = fabs(row.x) * half[0] + fabs(row.y) * half[1] + fabs(row.z) * half[2];
		const double middle = v3d_get(c, k) + position[k];
		// Adding rounds a few times. The box must hold every point of the body all the same.
		const double slack = (fabs(middle) + e) * 0x1p-50;
		lower[k] = fmin(lower[k], middle - e - slack);
		upper[k] = fmax(upper[k], middle + e + slack);
	}
}

/// The boxes two levels down the tree follow a turned mesh far closer than the corners of its one
/// box: on the recorded avalanche the pairs fall from 3,646 to 2,475 a step (phase C).
static void bound_mesh(const cr_body *body, carom_simd simd, double lower[3], double upper[3])
{
	const cr_collider *c = body->shape.collider;
	m3d room;
	const cr_transform rotation = cr_make_transform(cr_rotation_at(body, &room), (v3d){ 0, 0, 0 });
	float own_lower[3], own_upper[3];
	cr_get_contact_kernels(simd)->bounds(c, &rotation, own_lower, own_upper);
	const double position[3] = { body->pose.position.x, body->pose.position.y, body->pose.position.z };
	for (int k = 0; k < 3; k++) {
		const double slack = (fabs(position[k]) + c->scale) * 0x1p-50;
		lower[k] = position[k] + own_lower[k] - slack;
		upper[k] = position[k] + own_upper[k] + slack;
	}
}

/// Round volumes: the segment's ends grown by the radius.
static void bound_round(const cr_body *body, double lower[3], double upper[3])
{
	const double zero[3] = { 0, 0, 0 }, radius = cr_round_radius(&body->shape.def);
	const double length = body->shape.def.type == CAROM_CAPSULE ? body->shape.def.half_length : 0;
	for (int end = -1; end <= 1; end += 2) {
		const double tip[3] = { 0, 0, end * length };
		grow_by_box(body, tip, zero, lower, upper);
	}
	for (int k = 0; k < 3; k++) {
		// The ends' slack was added before the radius: another rounding for it.
		const double slack = (fabs(lower[k]) + fabs(upper[k]) + radius) * 0x1p-50;
		lower[k] -= radius + slack;
		upper[k] += radius + slack;
	}
}

static void bound_convex(const cr_body *body, double lower[3], double upper[3])
{
	const cr_convex convex = cr_convex_of(&body->shape.def);
	m3d room;
	cr_convex_bounds(&convex, cr_rotation_at(body, &room), lower, upper);
	for (int k = 0; k < 3; k++) {
		const double position = v3d_get(body->pose.position, k), slack = fabs(position) * 0x1p-50;
		lower[k] += position - slack;
		upper[k] += position + slack;
	}
}

static cr_local_box box_between(const double lower[3], const double upper[3])
{
	cr_local_box box;
	box.centre = (v3d){ 0.5 * (lower[0] + upper[0]), 0.5 * (lower[1] + upper[1]), 0.5 * (lower[2] + upper[2]) };
	box.half = (v3d){ 0.5 * (upper[0] - lower[0]), 0.5 * (upper[1] - lower[1]), 0.5 * (upper[2] - lower[2]) };
	return box;
}

/// The box of a body that deforms, as contacts see it: with the roundings of its form.
static cr_local_box box_of_surface(const cr_surface *s)
{
	double half[3];
	for (int k = 0; k < 3; k++) {
		half[k] = 0.5 * (s->upper[k] - s->lower[k]);
		half[k] = half[k] >= 0 ? half[k] + cr_surface_slack(s, k) : 0;
	}
	return (cr_local_box){ { 0, 0, 0 }, { half[0], half[1], half[2] } };
}

static cr_local_box box_of_mesh(const cr_shape *shape)
{
	const cr_collider *c = shape->collider;
	double lower[3] = { 0, 0, 0 }, upper[3] = { 0, 0, 0 };
	for (int k = 0; k < 3 && c && c->triangle_count > 0; k++) {
		lower[k] = c->lower[k];
		upper[k] = c->upper[k];
	}
	cr_local_box box = box_between(lower, upper);
	if (shape->centred)
		box.centre = (v3d){ 0, 0, 0 };
	return box;
}

/// The box of a convex body, to the bit as cr_convex_bounds finds it without a turn: by support
/// points, which are corners of it but for ellipsoids.
static cr_local_box box_of_convex(const carom_shape *shape)
{
	static const m3d identity = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } };
	const cr_convex convex = cr_convex_of(shape);
	double lower[3], upper[3];
	if (shape->type == CAROM_ELLIPSOID) {
		cr_convex_bounds(&convex, &identity, lower, upper);
		return box_between(lower, upper);
	}
	const bool round = shape->type == CAROM_CYLINDER || shape->type == CAROM_CONE;
	const cr_collider *hull = shape->type == CAROM_HULL ? &shape->mesh->collider : NULL;
	const double reach[3] = { round ? shape->radius : shape->half_extents[0], round ? shape->radius : shape->half_extents[1],
		round ? shape->half_length : shape->half_extents[2] };
	const double size = cr_convex_size(&convex);
	for (int k = 0; k < 3; k++) {
		lower[k] = (hull ? hull->lower[k] : -reach[k]) - convex.rounding;
		upper[k] = (hull ? hull->upper[k] : reach[k]) + convex.rounding;
		const double slack = (fabs(lower[k]) + fabs(upper[k]) + size + convex.rounding) * 0x1p-48;
		lower[k] -= slack;
		upper[k] += slack;
	}
	return box_between(lower, upper);
}

cr_local_box cr_local_box_of(const cr_body *body)
{
	const carom_shape *def = &body->shape.def;
	const v3d zero = { 0, 0, 0 };
	const cr_deforming *deforming = cr_deforming_of(body);
	if (deforming)
		return box_of_surface(&deforming->surface);
	switch (body->shape.family) {
	case CR_FAMILY_BOX: return (cr_local_box){ zero, { def->half_extents[0], def->half_extents[1], def->half_extents[2] } };
	case CR_FAMILY_MESH: return box_of_mesh(&body->shape);
	case CR_FAMILY_PLANE: return (cr_local_box){ zero, { INFINITY, INFINITY, INFINITY } };
	case CR_FAMILY_ROUND: {
		const double length = def->type == CAROM_CAPSULE ? def->half_length : 0, radius = cr_round_radius(def);
		return (cr_local_box){ zero, { radius, radius, radius + length } };
	}
	default: return box_of_convex(def);
	}
}

void cr_body_bounds(const cr_body *body, carom_simd simd, double lower[3], double upper[3])
{
	const cr_shape *shape = &body->shape;
	const cr_surface *surface = cr_deforming_of(body) ? &cr_deforming_of(body)->surface : NULL;
	const cr_granular *granular = cr_granular_of(body);
	const box3d *spheres = granular ? &granular->bounds : &BOX3D_NONE;
	for (int k = 0; k < 3; k++) {
		lower[k] = surface ? surface->lower[k] : spheres->lower[k];
		upper[k] = surface ? surface->upper[k] : spheres->upper[k];
	}
	if (surface || granular)
		return;
	switch (shape->family) {
	case CR_FAMILY_PLANE:
		for (int k = 0; k < 3; k++) {
			lower[k] = -INFINITY;
			upper[k] = INFINITY;
		}
		break;
	case CR_FAMILY_MESH:
		if (shape->collider->tree.node_count > 0)
			bound_mesh(body, simd, lower, upper);
		break;
	case CR_FAMILY_BOX: grow_by_box(body, (double[3]){ 0, 0, 0 }, shape->def.half_extents, lower, upper); break;
	case CR_FAMILY_ROUND: bound_round(body, lower, upper); break;
	default: bound_convex(body, lower, upper); break;
	}
}

typedef struct update {
	cr_body *bodies;
	const cr_changes *changes;
	carom_simd simd;
	double margin;
} update;

/// Work out how a body has turned that comes from elsewhere.
static void turn_course(const cr_body *body)
{
	if (!body->course)
		return;
	const m3d last = cr_last_rotation(body);
	body->course->rotation = cr_rotation_of(body);
	body->course->turned = true;
	body->course->turn = cr_turn(&body->course->rotation, &last);
}

static void update_body(const update *u, cr_body *body)
{
	turn_course(body);
	cr_body_bounds(body, u->simd, body->lower, body->upper);
	if (body->shape.family == CR_FAMILY_MESH || body->shape.family == CR_FAMILY_BOX)
		body->path = cr_path_after(body->path, (body->course ? cr_step_length(body) : 0) + body->stir);
	// A body that goes back to a snapshot has moved, but not its vertices.
	if (cr_deforming_of(body) && body->stir > 0)
		cr_parts_turn(&cr_deforming_of(body)->surface.parts);
	for (int k = 0; k < 3; k++) {
		const double slack = cr_deforming_of(body) ? cr_surface_slack(&cr_deforming_of(body)->surface, k) : 0;
		body->lower[k] -= u->margin + slack;
		body->upper[k] += u->margin + slack;
	}
}

static void update_bodies_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const update *u = task;
	for (int64_t i = cr_next_change(u->changes, begin, end); i < end; i = cr_next_change(u->changes, i + 1, end)) {
		if (u->bodies[i].alive && u->bodies[i].moved)
			update_body(u, &u->bodies[i]);
	}
}

void cr_bodies_update(carom_context *context, cr_body *bodies, const cr_changes *changes, int32_t count, double margin)
{
	update task = { bodies, changes, context->simd, margin };
	cr_parallel_for(context, update_bodies_task, count, BODIES_PER_TASK, &task);
}

void cr_relative_transform(const cr_body *a, const cr_body *b, m3d *rotation, v3d *translation)
{
	m3d room_a, room_b;
	const m3d *of_a = cr_rotation_at(a, &room_a), *of_b = cr_rotation_at(b, &room_b);
	*rotation = m3d_transpose_mul(of_a, of_b);
	*translation = m3d_tmul(of_a, v3d_sub(b->pose.position, a->pose.position));
}
