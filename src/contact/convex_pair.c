/// Pairs of two convex volumes of which one at least is of the convex family, and of such a body
/// and a plane.

#include "contact/contact.h"
#include "frame/shape_table.h"
#include "geom/convex_contacts.h"

static void add_contact(cr_worker *worker, v3d point, v3d normal, double depth, int32_t name)
{
	const cr_raw_contact contact = {
		{ point.x, point.y, point.z },
		{ (float)normal.x, (float)normal.y, (float)normal.z },
		(float)depth,
		name,
		0,
		CAROM_VOLUMES,
	};
	cr_add_contact(worker, &contact);
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
		add_contact(worker, point, cr_vector_to_world(a, contacts[i].normal), contacts[i].depth, contacts[i].name);
	}
}

void cr_collide_convex_plane(const cr_pipeline *p, cr_worker *worker, const cr_body *a, const cr_body *b)
{
	const bool plane_is_a = a->shape.family == CR_FAMILY_PLANE;
	const cr_body *plane = plane_is_a ? a : b, *body = plane_is_a ? b : a;
	const cr_convex convex = cr_convex_of(&body->shape.def);
	const v3d up = cr_vector_to_world(plane, (v3d){ 0, 0, 1 });
	const double height = v3d_dot(up, v3d_sub(plane->pose.position, body->pose.position));
	cr_volume_contact contacts[CR_MAX_VOLUME_CONTACTS];
	const int count = cr_convex_plane_contacts(
		&convex, cr_vector_to_body(body, up), height, p->settings.world.speculative_distance, contacts);
	for (int i = 0; i < count; i++) {
		const double depth = contacts[i].depth;
		const v3d core = cr_point_to_world(body, contacts[i].point);
		// The point lies on A's surface, which is the plane where that comes first.
		const v3d point = v3d_mad(core, plane_is_a ? depth - convex.rounding : -convex.rounding, up);
		add_contact(worker, point, plane_is_a ? v3d_neg(up) : up, depth, contacts[i].name);
	}
}
