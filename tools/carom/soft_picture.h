/// @file soft_picture.h
/// Pictures of cloth: the surfaces as they are now, in a world made for the picture.
#ifndef SIM_SOFT_PICTURE_H
#define SIM_SOFT_PICTURE_H

#include "sim/base/sim_error.h"
#include "view/image.h"
#include "view/renderer.h"
#include "scene/soft_scene.h"

/// The scene's camera, or one that sees all that deforms.
sim_camera sim_soft_camera(const sim_soft_scene *scene, const sim_soft *soft);

/// Draw the present state; threads: 0: one for each core. Free *image with sim_destroy_image. False with the reason in error.
bool sim_draw_soft(carom_context *context, const sim_soft_scene *scene, const sim_soft *soft, const sim_camera *camera,
	const char *caption, int threads, sim_image *image, sim_error *error);

#endif
