/// @file sphere_meeting.h
/// Spheres of a scene that meet its rigid bodies ("obstacles" of the section "spheres").
///
/// The bodies have done the scene's step already. While the spheres follow in their substeps, each
/// body goes along its way through the step. Where it touches spheres, the law of the walls pushes
/// both (sim_granular_set_touches). With "two_way" a dynamic body answers at once: its velocity
/// changes, and it departs from its way. The next step of the bodies begins where it then is.
/// Momentum is kept: a body gets the opposite of the impulses that its spheres get.
///
/// Ranks may share the spheres (sim/grains/granular_ranks.h) where no body answers: each has all
/// bodies, and takes them through the same steps.
#ifndef SCENE_SPHERE_MEETING_H
#define SCENE_SPHERE_MEETING_H

#include "scene/simulation.h"
#include "sim/grains/granular.h"

typedef struct scene_sphere_meeting scene_sphere_meeting;

/// Prepare the obstacles of a scene; all three must outlive it. NULL, with the reason in error,
/// when that fails.
scene_sphere_meeting *scene_create_sphere_meeting(
	const scene_description *scene, scene_simulation *simulation, sim_granular *granular, sim_error *error);

/// NULL does nothing.
void scene_destroy_sphere_meeting(scene_sphere_meeting *meeting);

/// Move the spheres on by one substep of their section, against the bodies. substep counts from 0
/// in each step of the scene, whose bodies have done that step; the last one puts bodies that were
/// pushed where they have come to. step as of sim_granular_advance. False, with the reason in
/// error, when that fails.
bool scene_meeting_advance(scene_sphere_meeting *meeting, int32_t substep, sim_granular_step *step, sim_error *error);

/// Move what the next step depends on to a tape, or from one, between two steps of the scene.
void scene_meeting_move_state(scene_sphere_meeting *meeting, sim_tape *tape);

/// Forget which spheres are known to be far from all bodies: the next substep asks about all that
/// are in the boxes of bodies. It changes no result.
void scene_meeting_forget(scene_sphere_meeting *meeting);

/// Impulse (N s, world frame) that spheres have given obstacle number i in the last step of the
/// scene, whether or not it answers. On ranks: the spheres of this one.
carom_vec3 scene_meeting_get_impulse(const scene_sphere_meeting *meeting, int32_t i);

/// The effect of the spheres on obstacle number i since the last call: as that on a wall, but the
/// torque is about the origin of the body, where it was in each substep. It has equal bits for any
/// number of ranks. Collective on ranks. False, with the reason in error, when a rank is lost.
bool scene_meeting_take_sum(scene_sphere_meeting *meeting, int32_t i, sim_granular_wall_sum *sum, sim_error *error);

#endif
