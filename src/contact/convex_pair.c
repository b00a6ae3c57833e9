/// Pairs of two convex volumes of which one at least is of the convex family, and of such a body
/// and a plane.

#include "contact/contact.h"
#include "frame/shape_table.h"
#include "geom/convex_contacts.h"

static cr_raw_contact raw_contact(v3d point, v3d normal, double depth, int32_t name)
{
	return (cr_raw_contact){
		{ point.x, point.y, point.z },
		{ (float)normal.x, (float)normal.y, (float)normal.z },
		(float)depth,
		name,
		0,
		CAROM_VOLUMES,
	};
}

void cr_collide_convex(const cr_pipeline *p, cr_worker *worker, const cr_body *a, const cr_body *b)
{
	const cr_convex convex_a = cr_convex_of(&a->shape.def), convex_b = cr_convex_of(&b->shape.def);
	cr_relative b_in_a;
	cr_relative_transform(a, b, &b_in_a.rotation, &b_in_a.position);
	cr_volume_contact contacts[CR_MAX_VOLUME_CONTACTS];
	const int count = cr_convex_contacts(&convex_a, &convex_b, &b_in_a, p->settings.world.speculative_distance, contacts);
	for (int i = 0; i < count; i++) {
		const v3d point = cr_point_to_world(a, contacts[i].point);
		const v3d normal = cr_vector_to_world(a, contacts[i].normal);
		const cr_raw_contact contact = raw_contact(point, normal, contacts[i].depth, contacts[i].name);
		cr_add_contact(worker, &contact);
	}
}

int cr_make_plane_contacts(
	const cr_body *body, bool body_is_a, v3d up, v3d on_plane, double margin, cr_raw_contact contacts[CR_MAX_VOLUME_CONTACTS])
{
	const cr_convex convex = cr_convex_of(&body->shape.def);
	cr_volume_contact made[CR_MAX_VOLUME_CONTACTS];
	const double height = v3d_dot(up, v3d_sub(on_plane, body->pose.position));
	const int count = cr_convex_plane_contacts(&convex, cr_vector_to_body(body, up), height, margin, made);
	for (int i = 0; i < count; i++) {
		const v3d core = cr_point_to_world(body, made[i].point);
		// The point lies on A's surface, which is the plane where that comes first.
		const v3d point = v3d_mad(core, body_is_a ? -convex.rounding : made[i].depth - convex.rounding, up);
		contacts[i] = raw_contact(point, body_is_a ? up : v3d_neg(up), made[i].depth, made[i].name);
	}
	return count;
}

void cr_collide_convex_plane(const cr_pipeline *p, cr_worker *worker, const cr_body *a, const cr_body *b)
{
	const bool plane_is_a = a->shape.family == CR_FAMILY_PLANE;
	const cr_body *plane = plane_is_a ? a : b, *body = plane_is_a ? b : a;
	const v3d up = cr_vector_to_world(plane, (v3d){ 0, 0, 1 });
	cr_raw_contact contacts[CR_MAX_VOLUME_CONTACTS];
	const int count =
		cr_make_plane_contacts(body, !plane_is_a, up, plane->pose.position, p->settings.world.speculative_distance, contacts);
	for (int i = 0; i < count; i++)
		cr_add_contact(worker, &contacts[i]);
}
