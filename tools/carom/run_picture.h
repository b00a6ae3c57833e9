/// @file run_picture.h
/// Pictures of a run: of all parts of the scene at once, in a world made for the picture.
#ifndef CAROM_TOOL_RUN_PICTURE_H
#define CAROM_TOOL_RUN_PICTURE_H

#include "run.h"
#include "sim/grains/granular_output.h"
#include "view/renderer.h"

/// Up in the scene's pictures: against gravity. Gravity that turns has no up; its axis has.
carom_vec3 run_up(const run *r);

/// The box of the rigid bodies that move, or where none does of all; false when there are but
/// planes, or memory is short.
bool run_rigid_bounds(const run *r, carom_aabb *box);

/// The box that a picture should show: all that deforms, the rigid bodies that move, and the box of
/// the spheres.
carom_aabb run_bounds(const run *r);

/// The scene's camera, or one that sees all that moves.
view_camera run_camera(const run *r);

/// Size and threads of the scene's pictures.
view_picture_options run_picture_options(const run *r);

/// The state of all spheres, on ranks for the first one alone: collective. EXIT_DONE, or
/// EXIT_FAILED after a message. Free *frame with sim_free_granular_frame.
int run_take_spheres(const run *r, sim_granular_frame *frame);

/// Draw the deforming bodies and everything else that the scene has, as it is now. EXIT_DONE, or
/// EXIT_FAILED after a message. Free *image with view_destroy_image. Collective on ranks, of which
/// the first one draws.
int run_draw_all(const run *r, const view_camera *camera, view_image *image);

#endif
