/// Volume, centre of mass and inertia of shapes and of lists of parts.
#include "carom/collide.h"
#include "frame/shape_check.h"
#include "frame/shape_mass.h"
#include "world/world.h"
#include <math.h>
#include <stdio.h>

/// *mass is written only on success.
static carom_result mass_of(carom_context *context, const carom_shape *shape, const char *name, carom_mass *mass)
{
	const carom_result result = cr_check_shape(context, shape, name);
	if (result != CAROM_SUCCESS)
		return result;
	if (shape->type == CAROM_PLANE)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: shape.type is CAROM_PLANE, which has no end, so no mass", name);
	if (shape->type != CAROM_MESH) {
		cr_convex_mass(shape, mass);
		return CAROM_SUCCESS;
	}
	const carom_mesh_report *report = &shape->mesh->report;
	if (!report->closed) {
		char why[CR_WHY_OPEN];
		cr_say_why_open(&shape->mesh->topology, report, why);
		return cr_fail(context, CAROM_INVALID_MESH, "%s: shape.mesh is open: %s", name, why);
	}
	if (!(report->volume != 0))
		return cr_fail(context, CAROM_INVALID_MESH, "%s: shape.mesh encloses no volume", name);
	cr_topology_mass(&shape->mesh->topology, mass);
	return CAROM_SUCCESS;
}

carom_result carom_shape_get_mass(carom_context *context, const carom_shape *shape, carom_mass *mass)
{
	static const char name[] = "carom_shape_get_mass";
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!shape || !mass)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, shape ? "mass" : "shape");
	return mass_of(context, shape, name, mass);
}

/// Add a part, of a density, to the sum.
static carom_result add_part(carom_context *context, const carom_part *part, double density, const char *name, carom_mass *sum)
{
	carom_pose pose;
	carom_mass mass;
	carom_result result = mass_of(context, &part->shape, name, &mass);
	if (result == CAROM_SUCCESS)
		result = cr_check_pose(context, &part->pose, name, "pose", &pose);
	if (result != CAROM_SUCCESS)
		return result;
	mass.mass *= density;
	for (int k = 0; k < 6; k++)
		mass.inertia[k] *= density;
	cr_add_mass(sum, &mass, &pose);
	return CAROM_SUCCESS;
}

carom_result carom_parts_get_mass(
	carom_context *context, const carom_part *parts, int32_t part_count, const double *densities, carom_mass *mass)
{
	static const char name[] = "carom_parts_get_mass";
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!parts || !mass)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, parts ? "mass" : "parts");
	if (part_count <= 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: part_count is %d; it must be above 0", name, (int)part_count);
	carom_mass sum = { 0 };
	for (int32_t i = 0; i < part_count; i++) {
		const double density = densities ? densities[i] : 1;
		if (!(density > 0 && density < INFINITY))
			return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: densities[%d] is %g; it must be above 0 and finite", name,
				(int)i, density);
		char text[64];
		snprintf(text, sizeof text, "%s: parts[%d]", name, (int)i);
		const carom_result result = add_part(context, parts + i, density, text, &sum);
		if (result != CAROM_SUCCESS)
			return result;
	}
	*mass = sum;
	return CAROM_SUCCESS;
}
