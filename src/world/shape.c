/// Shapes of bodies: checks, and the data that detection derives from them.

#include "world/world.h"
#include "frame/shape_table.h"
#include "geom/convex_query.h"

void cr_shape_init(const carom_shape *def, cr_shape *shape)
{
	*shape = (cr_shape){ .def = *def, .family = cr_family_of(def) };
	if (cr_has_mesh(def))
		shape->mesh = carom_retain_mesh(def->mesh);
	if (shape->family == CR_FAMILY_MESH)
		shape->collider = &shape->mesh->collider;
}

void cr_shape_free(cr_shape *shape)
{
	carom_release_mesh(shape->mesh);
	shape->mesh = NULL;
	shape->collider = NULL;
}
