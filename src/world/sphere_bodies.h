/// Granular bodies: where their spheres are.
#ifndef CR_WORLD_SPHERE_BODIES_H
#define CR_WORLD_SPHERE_BODIES_H

#include "frame/body.h"

/// Check the spheres of a definition, and that nothing else is set that a granular body cannot
/// have; the text names the function and the field.
carom_result cr_check_granular(carom_context *context, const carom_body_def *def, const char *function);
/// The spheres of a checked definition, put where a pose says, for carom_world_add_body. They are
/// not counted yet.
carom_result cr_create_granular(const carom_world *world, const carom_body_def *def, const carom_pose *pose, cr_granular **made);
/// A body of count spheres, which are the caller's to fill. NULL: out of memory.
cr_granular *cr_make_granular(carom_context *memory, int32_t count);
/// The box of a sphere, x, y, z, radius.
void cr_sphere_bounds(const double sphere[4], double lower[3], double upper[3]);
/// The spheres [4*count] were filled: find their bounds. Queries see them.
void cr_measure_granular(cr_granular *granular);
/// Give back the memory that the spheres do not need, and the tree that queries made. continuous:
/// the body has it.
void cr_trim_granular(carom_context *memory, cr_granular *granular, bool continuous);
void cr_free_granular(carom_context *memory, cr_granular *granular);

#endif
