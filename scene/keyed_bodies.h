/// @file keyed_bodies.h
/// Rigid bodies that go from key to key, in the hands of the solver of rigid bodies: it is given
/// the velocities of the way, so contacts feel them, and then the exact end of it.
#ifndef SCENE_KEYED_BODIES_H
#define SCENE_KEYED_BODIES_H

#include "scene/scene.h"

/// Give the keyed bodies of a scene the velocities that take them from where the keys have them at
/// one time to where these have them at another one (seconds). first: the solver's number of body 0
/// of the scene.
void scene_aim_keyed(const scene_description *scene, sim_dynamics *dynamics, int32_t first, double from, double to);

/// Put the keyed bodies where the keys have them at a time, after the solver has moved all bodies.
void scene_place_keyed(const scene_description *scene, sim_dynamics *dynamics, int32_t first, double time);

#endif
