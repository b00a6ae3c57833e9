/// The nearest point of a body's surface: by the tree of its mesh, by a closed form, or by the
/// search for convex bodies.

#include "frame/body_point.h"
#include "frame/shape_table.h"
#include "geom/convex_query.h"
#include "geom/volume.h"

const cr_collider *cr_asked_mesh(const cr_body *body)
{
	const cr_shape *shape = &body->shape;
	if (shape->def.type == CAROM_HULL && shape->def.rounding == 0)
		return &shape->mesh->collider;
	return shape->family == CR_FAMILY_MESH ? shape->collider : NULL;
}

bool cr_nearest_on_body(
	const cr_body *body, const cr_bvh_kernels *kernels, v3d point, double max_distance, cr_surface_point *nearest)
{
	const cr_collider *mesh = cr_asked_mesh(body);
	if (mesh)
		return cr_collider_closest_point(mesh, kernels, point, max_distance, nearest);
	*nearest = (cr_surface_point){ .triangle = 0 };
	if (body->shape.family == CR_FAMILY_CONVEX) {
		const cr_convex convex = cr_convex_of(&body->shape.def);
		nearest->distance = cr_convex_distance(&convex, point, &nearest->point, &nearest->normal);
	} else {
		nearest->distance = cr_volume_distance(&body->shape.def, point, &nearest->point, &nearest->normal);
	}
	return fabs(nearest->distance) <= max_distance;
}
