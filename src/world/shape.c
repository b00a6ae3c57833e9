/// Shapes of bodies: checks, and the data that detection derives from them.

#include "world/world.h"
#include "frame/shape_table.h"
#include "geom/convex_query.h"

static void set_bounds(cr_shape *shape, const double lower[3], const double upper[3])
{
	for (int k = 0; k < 3; k++) {
		shape->centre[k] = 0.5 * (lower[k] + upper[k]);
		shape->half[k] = 0.5 * (upper[k] - lower[k]);
	}
}

/// The box of a convex body.
static void bound_convex(cr_shape *shape)
{
	const m3d identity = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } };
	const cr_convex convex = cr_convex_of(&shape->def);
	double lower[3], upper[3];
	cr_convex_bounds(&convex, &identity, lower, upper);
	set_bounds(shape, lower, upper);
}

static void init_mesh(cr_shape *shape)
{
	shape->mesh = carom_retain_mesh(shape->def.mesh);
	shape->collider = &shape->mesh->collider;
	double lower[3] = { 0, 0, 0 }, upper[3] = { 0, 0, 0 };
	for (int k = 0; k < 3 && shape->collider->triangle_count > 0; k++) {
		lower[k] = shape->collider->lower[k];
		upper[k] = shape->collider->upper[k];
	}
	set_bounds(shape, lower, upper);
}

void cr_shape_init(const carom_shape *def, cr_shape *shape)
{
	*shape = (cr_shape){ .def = *def, .family = cr_family_of(def) };
	const double radius = def->radius, length = def->type == CAROM_CAPSULE ? def->half_length : 0;
	switch (shape->family) {
	case CR_FAMILY_ROUND:
		set_bounds(shape, (double[3]){ -radius, -radius, -radius - length }, (double[3]){ radius, radius, radius + length });
		break;
	case CR_FAMILY_BOX:
		for (int k = 0; k < 3; k++)
			shape->half[k] = def->half_extents[k];
		break;
	case CR_FAMILY_MESH: init_mesh(shape); break;
	case CR_FAMILY_PLANE:
		for (int k = 0; k < 3; k++)
			shape->half[k] = INFINITY;
		break;
	default:
		shape->mesh = def->type == CAROM_HULL ? carom_retain_mesh(def->mesh) : NULL;
		bound_convex(shape);
		break;
	}
}

void cr_shape_free(cr_shape *shape)
{
	carom_release_mesh(shape->mesh);
	shape->mesh = NULL;
	shape->collider = NULL;
}
