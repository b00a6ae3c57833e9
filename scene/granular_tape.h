/// @file granular_tape.h
/// The state of the spheres of a scene as a part of a checkpoint: what differs from the scene.
#ifndef SCENE_GRANULAR_TAPE_H
#define SCENE_GRANULAR_TAPE_H

#include "scene/granular_fill.h"
#include "sim/base/tape.h"

/// Write the state of the spheres between two steps. Where ranks share them that is collective: the
/// tape of rank 0 gets all, those of others nothing of use. False, with the reason in error.
bool scene_save_granular(sim_granular *granular, sim_tape *tape, sim_error *error);

/// Make the simulation of a scene go on from such a state. The filling is that of the scene; its
/// centres and velocities become those of the state. NULL, with the reason in error, when the
/// spheres are others, the state does not fit, or memory is short.
sim_granular *scene_load_granular(
	carom_context *context, const scene_description *scene, scene_granular_filling *filling, sim_tape *tape, sim_error *error);

#endif
