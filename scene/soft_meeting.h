/// @file soft_meeting.h
/// Spheres of a scene that meet deforming bodies ("deforming" of the section "spheres").
///
/// The solver of the deforming bodies does the scene's step first, and holds the spheres as
/// particles that move with the force of the step before (sim_soft_meet). The spheres follow: in
/// their substeps they get the impulses that they got there, dealt over the step so that alone they
/// end where they were left. Momentum is kept: the deforming bodies have got the opposite.
#ifndef SCENE_SOFT_MEETING_H
#define SCENE_SOFT_MEETING_H

#include "scene/scene.h"

typedef struct scene_soft_meeting scene_soft_meeting;

/// Prepare the meeting of a scene; all three must outlive it. NULL, with the reason in error, when
/// memory is short.
scene_soft_meeting *scene_create_soft_meeting(
	const scene_description *scene, sim_soft *soft, sim_granular *granular, sim_error *error);

/// NULL does nothing.
void scene_destroy_soft_meeting(scene_soft_meeting *meeting);

/// Hand the spheres to deforming bodies, before it does a step of the scene. False, with the reason
/// in error, when that fails.
bool scene_soft_meeting_begin(scene_soft_meeting *meeting, sim_error *error);

/// Push the spheres, before each substep of their section in that step. substep counts from 0 in
/// each step of the scene.
bool scene_soft_meeting_push(scene_soft_meeting *meeting, int32_t substep, sim_error *error);

/// Move what the next step depends on to a tape, or from one, between two steps of the scene.
void scene_soft_meeting_move_state(scene_soft_meeting *meeting, sim_tape *tape);

/// Sum of the impulses (N s) that the deforming bodies have given spheres in the last step of the
/// scene.
carom_vec3 scene_soft_meeting_get_impulse(const scene_soft_meeting *meeting);

#endif
