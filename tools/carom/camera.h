/// @file camera.h
/// The camera of a scene file as one that takes pictures.
#ifndef CAROM_TOOL_CAMERA_H
#define CAROM_TOOL_CAMERA_H

#include "scene/scene.h"
#include "view/renderer.h"

/// Only where the scene gives its position.
static inline view_camera camera_of_scene(const scene_camera *given)
{
	return (view_camera){ given->position, given->target, given->up, given->field_of_view };
}

#endif
