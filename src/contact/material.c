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
#include "bvh/collider_query.h"
#include "contact/manifold.h"
#include "geom/triangle.h"

// Triangles at a point of a hull. Where a corner has more, all are searched without the tree.
enum { MOST_NEAR = 64 };

// Of the mesh's coordinates: a point this near to a triangle's edge lies in the triangle.
static const double NEAR = 1e-5;
// Triangles of one face have normals that differ by rounding.
static const double ALIKE = 1e-9;

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

// ---- Hulls ----

/// A triangle of a hull near a point.
typedef struct near_triangle {
	int32_t triangle;
	double distance;
} near_triangle;

/// Those within a distance, which falls to little more than that of the nearest one.
typedef struct near_search {
	v3d point;
	double tolerance;
	double within;
	near_triangle found[MOST_NEAR]; // by their numbers
	int32_t count;
} near_search;

static bool is_box_near(const void *user, const double lower[3], const double upper[3])
{
	const near_search *s = user;
	double sum = 0;
	for (int k = 0; k < 3; k++) {
		const double at = v3d_get(s->point, k), beside = at < lower[k] ? lower[k] - at : at > upper[k] ? at - upper[k] : 0;
		sum += beside * beside;
	}
	return sum <= s->within * s->within;
}

/// Drops those that are too far away by now.
static void drop_far(near_search *s)
{
	int32_t kept = 0;
	for (int32_t i = 0; i < s->count; i++) {
		if (s->found[i].distance <= s->within)
			s->found[kept++] = s->found[i];
	}
	s->count = kept;
}

/// Returns whether there are too many.
static bool keep_near(void *user, int32_t triangle, const v3d corners[3])
{
	near_search *s = user;
	cr_feature feature;
	const v3d on = cr_closest_point_triangle(s->point, corners[0], corners[1], corners[2], &feature);
	const double distance = v3d_length(v3d_sub(on, s->point));
	if (!(distance <= s->within))
		return false;
	s->within = fmin(s->within, distance + 2 * s->tolerance);
	if (s->count == MOST_NEAR)
		drop_far(s);
	if (s->count == MOST_NEAR)
		return true;
	int32_t at = s->count++;
	for (; at > 0 && s->found[at - 1].triangle > triangle; at--)
		s->found[at] = s->found[at - 1];
	s->found[at] = (near_triangle){ triangle, distance };
	return false;
}

/// Finds the triangles that are farther from a point than the nearest one by up to tolerance, and
/// maybe others. Returns the least distance; INFINITY: there are too many, or the point is far off.
/// Mostly the point lies on the hull, so that one short walk of the tree finds them.
static double search_near(const cr_collider *collider, near_search *s)
{
	static const double growth = 16, farthest = 1e3;
	for (double reach = 4 * s->tolerance; reach < farthest * collider->scale; reach *= growth) {
		double least = INFINITY;
		s->within = reach;
		s->count = 0;
		if (cr_collider_walk(collider, &(cr_query_walk){ is_box_near, keep_near, s }))
			return INFINITY;
		for (int32_t i = 0; i < s->count; i++)
			least = fmin(least, s->found[i].distance);
		if (least + s->tolerance < 0.99 * reach) // else some may lie beyond
			return least;
	}
	return INFINITY;
}

/// The triangle whose normal is most like a given one. Triangles are shown in the order of their
/// numbers.
typedef struct alike_search {
	v3d normal;
	double best;
	int32_t triangle;
} alike_search;

static void show(alike_search *a, const cr_topology *t, int32_t triangle)
{
	const double alike = v3d_dot(cr_face_normal(t, triangle), a->normal);
	if (alike > a->best + ALIKE) {
		a->best = alike;
		a->triangle = triangle;
	}
}

/// The triangle that a search without the tree finds, in the order of numbers.
static int32_t search_all(const carom_mesh *hull, v3d point, v3d normal, double tolerance)
{
	const cr_topology *t = &hull->topology;
	alike_search found = { normal, -INFINITY, 0 };
	double least = INFINITY;
	for (int32_t i = 0; i < t->triangle_count; i++)
		least = fmin(least, distance_to(&hull->collider, i, point));
	for (int32_t i = 0; i < t->triangle_count; i++) {
		if (!(distance_to(&hull->collider, i, point) > least + tolerance))
			show(&found, t, i);
	}
	return found.triangle;
}

int32_t cr_hull_triangle_at(const carom_mesh *hull, v3d point, v3d normal)
{
	const double tolerance = NEAR * hull->collider.scale;
	near_search s = { .point = point, .tolerance = tolerance };
	const double least = search_near(&hull->collider, &s);
	alike_search found = { normal, -INFINITY, 0 };
	if (least == INFINITY)
		return search_all(hull, point, normal, tolerance);
	for (int32_t i = 0; i < s.count; i++) {
		if (!(s.found[i].distance > least + tolerance))
			show(&found, &hull->topology, s.found[i].triangle);
	}
	return found.triangle;
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
