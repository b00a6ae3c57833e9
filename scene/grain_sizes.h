/// @file grain_sizes.h
/// Radii of random spheres by a distribution ("radius" of a random source of spheres).
#ifndef SCENE_GRAIN_SIZES_H
#define SCENE_GRAIN_SIZES_H

#include "scene/scene.h"

/// The next radius of a source. *state is its seed at first. The same bits on every machine.
double scene_next_radius(const scene_sphere_source *source, uint64_t *state);

/// May radii be drawn? False where the cut-offs are more than so many deviations from the middle,
/// on one side.
enum { SCENE_MOST_DEVIATIONS = 6 };
/// Works out low and high of its sizes.
bool scene_find_cut_offs(scene_sphere_source *source);

#endif
