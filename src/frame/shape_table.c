/// The table of shapes. See shape_table.h.

#include "frame/shape_table.h"
#include "geom/volume.h"

static const cr_shape_row ROWS[] = {
	[CAROM_SPHERE] = { "CAROM_SPHERE", CR_FAMILY_ROUND, CR_FIELD_RADIUS | CR_FIELD_ROUNDING, CR_CORE_POINT },
	[CAROM_BOX] = { "CAROM_BOX", CR_FAMILY_BOX, CR_FIELD_EXTENTS | CR_FIELD_ROUNDING, CR_CORE_BOX },
	[CAROM_CAPSULE] = { "CAROM_CAPSULE", CR_FAMILY_ROUND, CR_FIELD_RADIUS | CR_FIELD_ANY_LENGTH | CR_FIELD_ROUNDING,
		CR_CORE_SEGMENT },
	[CAROM_PLANE] = { "CAROM_PLANE", CR_FAMILY_PLANE, 0, 0 },
	[CAROM_MESH] = { "CAROM_MESH", CR_FAMILY_MESH, CR_FIELD_MESH | CR_FIELD_PADDING, 0 },
	[CAROM_HULL] = { "CAROM_HULL", CR_FAMILY_CONVEX, CR_FIELD_HULL | CR_FIELD_ROUNDING, CR_CORE_HULL },
	[CAROM_CYLINDER] = { "CAROM_CYLINDER", CR_FAMILY_CONVEX, CR_FIELD_RADIUS | CR_FIELD_LENGTH | CR_FIELD_ROUNDING,
		CR_CORE_CYLINDER },
	[CAROM_CONE] = { "CAROM_CONE", CR_FAMILY_CONVEX, CR_FIELD_RADIUS | CR_FIELD_LENGTH | CR_FIELD_ROUNDING, CR_CORE_CONE },
	[CAROM_ELLIPSOID] = { "CAROM_ELLIPSOID", CR_FAMILY_CONVEX, CR_FIELD_EXTENTS | CR_FIELD_ROUNDING, CR_CORE_ELLIPSOID },
};

const cr_shape_row *cr_shape_row_of(carom_shape_type type)
{
	return (int)type >= 0 && (size_t)type < sizeof ROWS / sizeof *ROWS ? &ROWS[type] : NULL;
}

cr_family cr_family_of(const carom_shape *shape)
{
	const cr_family family = (cr_family)ROWS[shape->type].family;
	return family == CR_FAMILY_BOX && shape->rounding > 0 ? CR_FAMILY_CONVEX : family;
}

cr_convex cr_convex_of(const carom_shape *shape)
{
	const cr_shape_row *row = &ROWS[shape->type];
	return (cr_convex){ .core = (cr_core)row->core,
		.rounding = row->family == CR_FAMILY_ROUND ? cr_round_radius(shape) : shape->rounding,
		.radius = shape->radius,
		.half_length = shape->half_length,
		.half = { shape->half_extents[0], shape->half_extents[1], shape->half_extents[2] },
		.hull = shape->type == CAROM_HULL ? &shape->mesh->hull->hull : NULL };
}

cr_mover cr_mover_of(const carom_shape *shape, cr_convex *convex)
{
	cr_mover mover = { .motion = { .begin = carom_pose_identity(), .axis = { 0, 0, 1 } } };
	if (shape->type == CAROM_MESH) {
		mover.collider = &shape->mesh->collider;
		mover.many_pieces = shape->mesh->report.components > 1;
		mover.padding = shape->rounding;
	} else if (shape->type != CAROM_PLANE) {
		*convex = cr_convex_of(shape);
		mover.convex = convex;
	}
	return mover;
}
