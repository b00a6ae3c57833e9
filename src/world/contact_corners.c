/// Corners of deforming bodies that contacts act on, with weights.
///
/// The feature of a contact names one, two or three vertices of the surface. The weights are those
/// of the nearest place of that feature to the point of the contact, which lies on one of the two
/// surfaces, or along the normal before it. Cost: O(1) for each contact.

#include "geom/triangle.h"
#include "world/world.h"

static const char *const corners_name = "carom_world_get_contact_corners";

/// The vertices that a feature of a contact names: of a vertex one, of an edge two, of a triangle
/// three.
static int32_t name_corners(const carom_contact *c, bool of_a, const int32_t *triangles, int32_t vertices[3])
{
	const int32_t feature = of_a ? c->feature_a : c->feature_b;
	if (c->kind == (of_a ? CAROM_VERTEX_A : CAROM_VERTEX_B)) {
		vertices[0] = feature;
		return 1;
	}
	if (c->kind == CAROM_EDGES || c->kind == (of_a ? CAROM_EDGE_A : CAROM_EDGE_B)) {
		const int32_t first = feature - feature % 3, corner = feature % 3;
		vertices[0] = triangles[feature];
		vertices[1] = triangles[first + (corner + 1) % 3];
		return 2;
	}
	for (int k = 0; k < 3; k++)
		vertices[k] = triangles[3 * (int64_t)feature + k];
	return 3;
}

static carom_contact_corners weigh(const carom_contact *c, bool of_a, const cr_surface *surface)
{
	carom_contact_corners corners = { 0 };
	corners.count = name_corners(c, of_a, surface->faces->triangles, corners.vertices);
	const v3d point = { c->point[0], c->point[1], c->point[2] };
	v3d at[3];
	for (int32_t k = 0; k < 3; k++)
		at[k] = cr_place_of(surface->end, corners.vertices[k < corners.count ? k : 0]);
	corners.weights[0] = 1;
	if (corners.count == 2) {
		corners.weights[1] = cr_nearest_on_segment(point, at[0], at[1]);
		corners.weights[0] = 1 - corners.weights[1];
	} else if (corners.count == 3) {
		const cr_triangle_point nearest = cr_closest_on_triangle(point, at);
		for (int k = 0; k < 3; k++)
			corners.weights[k] = nearest.weight[k];
	}
	return corners;
}

/// The surface that the features of a body's contacts number; NULL: it does not deform, has gone,
/// or has another mesh since the last step.
static const cr_surface *surface_of(const carom_world *world, carom_body_id id)
{
	if (!carom_world_is_body(world, id))
		return NULL;
	const cr_body *body = &world->bodies.data[id.index1 - 1];
	return cr_deforming_of(body) && body->reshaped <= CR_SHAPE_MOVED ? &cr_deforming_of(body)->surface : NULL;
}

carom_result carom_world_get_contact_corners(
	const carom_world *world, int32_t first, int32_t count, carom_contact_corners *corners_a, carom_contact_corners *corners_b)
{
	const carom_contact_view contacts = carom_world_contacts(world);
	if (first < 0 || count < 0 || first > contacts.count - count)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: first is %d and count is %d, but there are %d contacts",
			corners_name, first, count, contacts.count);
	for (int32_t i = 0; i < count; i++) {
		const carom_contact *c = &contacts.data[first + i];
		const cr_surface *of_a = corners_a ? surface_of(world, c->body_a) : NULL;
		const cr_surface *of_b = corners_b ? surface_of(world, c->body_b) : NULL;
		if (corners_a)
			corners_a[i] = of_a ? weigh(c, true, of_a) : (carom_contact_corners){ 0 };
		if (corners_b)
			corners_b[i] = of_b ? weigh(c, false, of_b) : (carom_contact_corners){ 0 };
	}
	return CAROM_SUCCESS;
}
