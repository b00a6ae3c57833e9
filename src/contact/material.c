/// Materials of contacts. See material.h.
///
/// A feature names its triangle, and so its material, with one exception: patches name a facet of a
/// convex mesh by any of its triangles (manifold_points.c), since depth and normal are those of the
/// facet. Their materials may differ, so the triangle at the contact is looked for: one walk of the
/// mesh's tree, only where the mesh is convex and has materials.
///
/// A hull's contacts are made of its polygons, and their features are names of points. So the
/// triangle is looked for at the contact's place on the hull (cr_hull_triangle_at).

#include "contact/material.h"
#include "contact/manifold.h"
#include "geom/triangle.h"

// Of the mesh's coordinates: a point this near to a triangle's edge lies in the triangle.
static const double NEAR = 1e-5;

/// The distance of a triangle from a point (the mesh's frame).
static double distance_to(const cr_collider *collider, int32_t triangle, v3d point)
{
	v3d corners[3];
	cr_feature feature;
	cr_collider_triangle(collider, triangle, corners);
	return v3d_length(v3d_sub(cr_closest_point_triangle(point, corners[0], corners[1], corners[2], &feature), point));
}

/// The triangle of a facet that is nearest to a point (the mesh's frame): for points beyond the
/// rim.
static int32_t nearest_of_facet(const cr_collider *collider, const cr_facets *facets, const cr_facet *facet, v3d point)
{
	double least = INFINITY;
	int32_t best = cr_triangle_in_facet(facets, facet, 0);
	for (int32_t i = 0; i < facet->count; i++) {
		const int32_t triangle = cr_triangle_in_facet(facets, facet, i);
		const double distance = distance_to(collider, triangle, point);
		if (distance < least) {
			least = distance;
			best = triangle;
		}
	}
	return best;
}

/// The triangle of a convex body's facet where a contact touches it. sign: 1 where the contact's
/// point moves along the normal to the surface of the body, -1 where against it.
static int32_t triangle_at(const cr_pipeline *p, const cr_body *body, const carom_contact *c, int32_t triangle, double sign)
{
	const cr_collider *collider = body->shape.collider;
	const cr_facets *facets = &body->shape.mesh->facets;
	const int32_t number = facets->of_triangle[triangle];
	if (number < 0 || cr_facet_size(facets, number) == 1)
		return triangle;
	const v3d normal = { c->normal[0], c->normal[1], c->normal[2] };
	const v3d on = v3d_mad((v3d){ c->point[0], c->point[1], c->point[2] }, sign * c->depth, normal);
	const v3d own = cr_point_to_body(body, on);
	const int32_t found = cr_triangle_of_facet_at(p->bvh, collider, facets, number, own, NEAR * collider->scale);
	return found >= 0 ? found : nearest_of_facet(collider, facets, &facets->data[number], own);
}

/// Is the box around a triangle farther from a point than this?
static bool is_farther(const cr_topology *t, int32_t triangle, v3d point, double distance)
{
	const int32_t *corners = &t->triangles[3 * (int64_t)triangle];
	const float *a = &t->vertices[3 * (int64_t)corners[0]], *b = &t->vertices[3 * (int64_t)corners[1]],
				*c = &t->vertices[3 * (int64_t)corners[2]];
	double sum = 0;
	for (int k = 0; k < 3; k++) {
		const float low = a[k] < b[k] ? a[k] : b[k], high = a[k] < b[k] ? b[k] : a[k], p = c[k];
		const double lower = p < low ? p : low, upper = p > high ? p : high, at = v3d_get(point, k);
		const double beside = at < lower ? lower - at : at > upper ? at - upper : 0;
		sum += beside * beside;
	}
	return sum > distance * distance;
}

int32_t cr_hull_triangle_at(const carom_mesh *hull, v3d point, v3d normal)
{
	const cr_topology *t = &hull->topology;
	const double tolerance = NEAR * hull->collider.scale;
	double least = INFINITY, best = -INFINITY;
	int32_t found = 0;
	for (int32_t i = 0; i < t->triangle_count; i++)
		least = is_farther(t, i, point, least) ? least : fmin(least, distance_to(&hull->collider, i, point));
	for (int32_t i = 0; i < t->triangle_count; i++) {
		if (is_farther(t, i, point, least + tolerance) || distance_to(&hull->collider, i, point) > least + tolerance)
			continue;
		const double alike = v3d_dot(cr_face_normal(t, i), normal);
		// Triangles of one face have normals that differ by rounding.
		if (alike > best + 1e-9) {
			best = alike;
			found = i;
		}
	}
	return found;
}

uint32_t cr_material_at(const cr_body *body, int32_t triangle, v3d point, v3d normal)
{
	const carom_mesh *mesh = body->shape.mesh;
	if (!mesh || !mesh->materials)
		return 0;
	if (body->shape.def.type != CAROM_HULL)
		return triangle >= 0 ? mesh->materials[triangle] : 0;
	if (mesh->one_material)
		return mesh->materials[0];
	const v3d on_core = v3d_mad(point, -body->shape.def.rounding, normal);
	return mesh->materials[cr_hull_triangle_at(mesh, cr_point_to_body(body, on_core), cr_vector_to_body(body, normal))];
}

/// The material of a hull, A (side 0) or B (side 1), at a contact.
static uint32_t material_of_hull(const cr_body *body, const carom_contact *c, int side)
{
	const v3d normal = { c->normal[0], c->normal[1], c->normal[2] }, point = { c->point[0], c->point[1], c->point[2] };
	return cr_material_at(body, -1, v3d_mad(point, side == 0 ? 0 : c->depth, normal), side == 0 ? v3d_neg(normal) : normal);
}

/// The material of the feature of body A (side 0) or B (side 1), whose mesh has materials.
static uint32_t material_of(const cr_pipeline *p, const cr_body *body, const carom_contact *c, int side)
{
	const carom_mesh *mesh = body->shape.mesh;
	const int32_t feature = side == 0 ? c->feature_a : c->feature_b;
	if (body->shape.def.type == CAROM_HULL)
		return material_of_hull(body, c, side);
	switch (c->kind) {
	case CAROM_VERTEX_A:
	case CAROM_VERTEX_B:
		if ((c->kind == CAROM_VERTEX_A) == (side == 0))
			return mesh->vertex_materials[feature];
		break;
	case CAROM_EDGE_A:
	case CAROM_EDGE_B:
		if ((c->kind == CAROM_EDGE_A) == (side == 0))
			return mesh->materials[feature / 3];
		break;
	case CAROM_FACES:
	case CAROM_VOLUMES: return mesh->materials[feature];
	case CAROM_EDGES: return mesh->materials[feature / 3];
	}
	return mesh->materials[mesh->facets.convex ? triangle_at(p, body, c, feature, side == 1 ? 1 : -1) : feature];
}

static bool has_materials(const cr_body *body) { return body->shape.mesh && body->shape.mesh->materials; }

void cr_set_materials(const cr_pipeline *p, const cr_body *a, const cr_body *b, carom_contact *contacts, int32_t count)
{
	const bool of_a = has_materials(a), of_b = has_materials(b);
	for (int32_t i = 0; i < count && (of_a || of_b); i++) {
		carom_contact *c = &contacts[i];
		if (of_a)
			c->material_a = material_of(p, a, c, 0);
		if (of_b)
			c->material_b = material_of(p, b, c, 1);
	}
}
