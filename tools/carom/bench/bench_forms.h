/// @file bench_forms.h
/// What stands for a rigid body of a motion when it is detected again: the body itself, a solid
/// that waves as it goes, or the convex pieces that a method for convex shapes needs.
#ifndef CAROM_TOOL_BENCH_FORMS_H
#define CAROM_TOOL_BENCH_FORMS_H

#include "bench_motion.h"

typedef enum bench_form {
	BENCH_RIGID,    ///< as the scene has it
	BENCH_REFITTED, ///< waves: a solid whose vertices are set in each frame
	BENCH_REMADE,   ///< waves: a rigid body that gets a mesh made again in each frame
	BENCH_PIECES,   ///< the hulls of parts of its surface
} bench_form;

/// The forms of all bodies of a motion.
typedef struct bench_forms bench_forms;

/// build: of the meshes that are made (BENCH_REMADE). pieces: hulls of a body (BENCH_PIECES), 1 to
/// 64. The context must outlive the forms. NULL after a message.
bench_forms *bench_open_forms(
	const bench_motion *motion, carom_context *context, bench_form form, carom_mesh_build build, int pieces);
void bench_close_forms(bench_forms *forms);

/// Change the definition of a body of the motion that is about to be added.
void bench_form_define(const bench_forms *forms, int32_t body, carom_body_def *def);

/// Put bodies [count] of the world at their poses of a frame. Adds milliseconds to *update: those
/// in which meshes were made.
carom_result bench_form_move(bench_forms *forms, carom_world *world, int32_t count, const int32_t *bodies,
	const carom_body_id *ids, int frame, double *update);

#endif
