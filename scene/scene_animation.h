/// @file scene_animation.h
/// The files of an animated collider of a scene.
#ifndef SCENE_SCENE_ANIMATION_H
#define SCENE_SCENE_ANIMATION_H

#include "scene/scene.h"

/// Read all files of an animation: *first has the triangles and the places of the first one,
/// *frames [count][3*vertex_count] the places of all. sim_mesh_free and free() give them back. On
/// failure false, with the path and the reason in error, and nothing to give back: a file is not
/// read, or differs from the first one in more than places.
bool scene_load_animation(const scene_animation *animation, sim_mesh *first, float **frames, sim_error *error);

#endif
