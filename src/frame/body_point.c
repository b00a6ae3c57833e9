/// The nearest point of a body's surface: by the tree of its mesh, by a closed form, or by the
/// search for convex bodies.

#include "frame/body_point.h"
#include "frame/shape_table.h"
#include "geom/convex_query.h"
#include "geom/volume.h"
#include <math.h>

const cr_collider *cr_asked_mesh(const cr_body *body)
{
	const cr_shape *shape = &body->shape;
	if (shape->def.type == CAROM_HULL && shape->def.rounding == 0)
		return &shape->mesh->collider;
	return shape->family == CR_FAMILY_MESH ? shape->collider : NULL;
}

// Of the largest coordinate: a point that is nearer to a surface lies on it, as far as doubles
// tell.
static const double ON_SURFACE = 1e-12;

static double largest_of(v3d p) { return fmax(fabs(p.x), fmax(fabs(p.y), fabs(p.z))); }

/// At an edge or a corner of a mesh the surface has no normal of its own: the direction to the
/// point takes its place, for a point inside the opposite one.
static void turn_to_point(v3d point, cr_surface_point *nearest)
{
	const v3d d = v3d_sub(point, nearest->point);
	const double distance = nearest->distance;
	if (fabs(distance) > ON_SURFACE * fmax(largest_of(point), largest_of(nearest->point)))
		nearest->normal = (v3d){ d.x / distance, d.y / distance, d.z / distance };
}

bool cr_nearest_on_body(
	const cr_body *body, const cr_bvh_kernels *kernels, v3d point, double max_distance, cr_surface_point *nearest)
{
	const cr_collider *mesh = cr_asked_mesh(body);
	if (mesh) {
		const bool found = cr_collider_closest_point(mesh, kernels, point, max_distance, nearest);
		if (found)
			turn_to_point(point, nearest);
		return found;
	}
	*nearest = (cr_surface_point){ .triangle = 0 };
	if (body->shape.family == CR_FAMILY_CONVEX) {
		const cr_convex convex = cr_convex_of(&body->shape.def);
		nearest->distance = cr_convex_distance(&convex, point, &nearest->point, &nearest->normal);
	} else {
		nearest->distance = cr_volume_distance(&body->shape.def, point, &nearest->point, &nearest->normal);
	}
	return fabs(nearest->distance) <= max_distance;
}
