/// Checks of shapes and poses that users give.

#include "frame/shape_check.h"
#include "frame/shape_table.h"
#include <math.h>

static carom_result check_length(
	carom_context *context, double value, bool zero_allowed, const char *function, const char *field)
{
	if (value > 0 || (zero_allowed && value == 0)) {
		if (value <= CAROM_MAX_COORDINATE)
			return CAROM_SUCCESS;
	}
	return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is %g; it must be %s 0 and at most %g", function, field, value,
		zero_allowed ? "at least" : "above", CAROM_MAX_COORDINATE);
}

static carom_result check_half_extents(carom_context *context, const carom_shape *shape, const char *function)
{
	static const char *const sides[3] = { "shape.half_extents[0]", "shape.half_extents[1]", "shape.half_extents[2]" };
	carom_result result = CAROM_SUCCESS;
	for (int k = 0; k < 3 && result == CAROM_SUCCESS; k++)
		result = check_length(context, shape->half_extents[k], false, function, sides[k]);
	return result;
}

/// The mesh of a mesh or hull.
static carom_result check_mesh(carom_context *context, const carom_shape *shape, const char *function)
{
	if (!shape->mesh)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: shape.mesh is NULL", function);
	if (shape->mesh->context != context)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: shape.mesh was made from another context", function);
	if (shape->type == CAROM_HULL && !shape->mesh->hull)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: shape.mesh is no hull: carom_create_hull makes one", function);
	return CAROM_SUCCESS;
}

/// The rounding of a shape: types that have none must not be given one, so that none is ignored.
static carom_result check_rounding(carom_context *context, const carom_shape *shape, int fields, const char *function)
{
	if (fields & (CR_FIELD_ROUNDING | CR_FIELD_PADDING))
		return check_length(context, shape->rounding, true, function, "shape.rounding");
	return shape->rounding == 0
		? CAROM_SUCCESS
		: cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: shape.rounding is %g; it must be 0, for shape.type is CAROM_PLANE",
			  function, shape->rounding);
}

carom_result cr_check_padded_shape(carom_context *context, const carom_shape *shape, const char *function)
{
	const cr_shape_row *row = cr_shape_row_of(shape->type);
	if (!row)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: shape.type is %d, which is no shape", function, (int)shape->type);
	// So looks a shape that was never set.
	if (shape->type == CAROM_SPHERE && shape->radius == 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"%s: shape.radius is 0; it must be above 0 (shape.type is 0, a sphere: is the shape set?)", function);
	carom_result result = CAROM_SUCCESS;
	if (row->fields & (CR_FIELD_MESH | CR_FIELD_HULL))
		result = check_mesh(context, shape, function);
	if (result == CAROM_SUCCESS && row->fields & CR_FIELD_RADIUS)
		result = check_length(context, shape->radius, false, function, "shape.radius");
	if (result == CAROM_SUCCESS && row->fields & (CR_FIELD_LENGTH | CR_FIELD_ANY_LENGTH))
		result = check_length(context, shape->half_length, row->fields & CR_FIELD_ANY_LENGTH, function, "shape.half_length");
	if (result == CAROM_SUCCESS && row->fields & CR_FIELD_EXTENTS)
		result = check_half_extents(context, shape, function);
	return result == CAROM_SUCCESS ? check_rounding(context, shape, row->fields, function) : result;
}

carom_result cr_refuse_padding(carom_context *context, const carom_shape *shape, const char *function)
{
	if (shape->type != CAROM_MESH || shape->rounding == 0)
		return CAROM_SUCCESS;
	return cr_fail(context, CAROM_INVALID_ARGUMENT,
		"%s: shape.rounding is %g, but shape.type is CAROM_MESH: overlaps, distances, casts and times of impact take a mesh "
		"with a rounding, this call does not",
		function, shape->rounding);
}

carom_result cr_check_shape(carom_context *context, const carom_shape *shape, const char *function)
{
	const carom_result result = cr_check_padded_shape(context, shape, function);
	return result == CAROM_SUCCESS ? cr_refuse_padding(context, shape, function) : result;
}

/// Appends as much of a text as has room. Returns where it ends.
static char *append(char *at, const char *end, const char *text)
{
	while (*text && at < end)
		*at++ = *text++;
	*at = 0;
	return at;
}

/// The name is put together by hand: printf takes several times as long as the test of two shapes.
carom_result cr_check_given_shape(carom_context *context, const carom_shape *shape, const char *function, const char *argument)
{
	char name[96], *const end = name + sizeof name - 1;
	if (!shape)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", function, argument);
	append(append(append(name, end, function), end, ": "), end, argument);
	return cr_check_padded_shape(context, shape, name);
}

carom_result cr_check_pose(
	carom_context *context, const carom_pose *pose, const char *function, const char *field, carom_pose *normalized)
{
	const carom_vec3 p = pose->position;
	const carom_quat q = pose->orientation;
	if (!isfinite(p.x) || !isfinite(p.y) || !isfinite(p.z))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s.position is (%g, %g, %g); it must be finite", function, field,
			p.x, p.y, p.z);
	if (!(fabs(p.x) <= CAROM_MAX_POSITION && fabs(p.y) <= CAROM_MAX_POSITION && fabs(p.z) <= CAROM_MAX_POSITION))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s.position is (%g, %g, %g); it must lie within %g of the origin",
			function, field, p.x, p.y, p.z, CAROM_MAX_POSITION);
	const double length = sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
	if (!(fabs(length - 1) <= 1e-3))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s.orientation has length %g; it must be a unit quaternion",
			function, field, length);
	*normalized = (carom_pose){ p, { q.x / length, q.y / length, q.z / length, q.w / length } };
	return CAROM_SUCCESS;
}
