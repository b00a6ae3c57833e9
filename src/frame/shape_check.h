/// Checks of shapes and poses that users give.
#ifndef CR_FRAME_SHAPE_CHECK_H
#define CR_FRAME_SHAPE_CHECK_H

#include "base/context.h"
#include "carom/shape.h"

/// Check a shape; the text names the function and the field. A mesh with a rounding is refused:
/// contacts, rays and nearest points see the mesh itself.
carom_result cr_check_shape(carom_context *context, const carom_shape *shape, const char *function);
/// Does so for calls to which a mesh may be given with a rounding.
carom_result cr_check_padded_shape(carom_context *context, const carom_shape *shape, const char *function);
/// Refuse a checked shape that is a mesh with a rounding.
carom_result cr_refuse_padding(carom_context *context, const carom_shape *shape, const char *function);
/// cr_check_padded_shape of one of several shapes of a call, which may be NULL: the text names the
/// argument too.
carom_result cr_check_given_shape(carom_context *context, const carom_shape *shape, const char *function, const char *argument);
/// Check and normalise a pose; the text names the function and the field.
carom_result cr_check_pose(
	carom_context *context, const carom_pose *pose, const char *function, const char *field, carom_pose *normalized);

#endif
