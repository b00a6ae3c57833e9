/// @file scene_run.h
/// The parts of a scene that is run, with one clock: rigid bodies, deforming bodies, spheres.
/// `carom run` and the Python package take a scene through its steps by these calls.
#ifndef SCENE_SCENE_RUN_H
#define SCENE_SCENE_RUN_H

#include "scene/granular_fill.h"
#include "scene/scene.h"
#include "scene/simulation.h"
#include "scene/soft_meeting.h"
#include "scene/sphere_meeting.h"
#include "sim/base/ranks.h"
#include "sim/base/tape.h"

/// A scene that is run. Begin with all zero but scene, context and ranks, which must outlive it.
typedef struct scene_run {
	const scene_description *scene;
	carom_context *context;
	const sim_ranks *ranks;               ///< that share its spheres from the beginning; NULL: none
	scene_simulation *simulation;         ///< NULL: no rigid bodies
	sim_soft *soft;                       ///< NULL: nothing deforms
	sim_granular *granular;               ///< NULL: no spheres
	scene_sphere_meeting *sphere_meeting; ///< NULL: spheres meet no rigid bodies
	scene_soft_meeting *soft_meeting;     ///< NULL: spheres do not meet deforming bodies
	carom_pose *obstacles;                ///< of deforming bodies: where they are before its step
	sim_soft_reaction *reactions;         ///< [obstacle_count + 1] what obstacles felt in the step
	int64_t steps;                        ///< done, those before a checkpoint included
} scene_run;

/// Counts and times of one step. A part that the scene does not have is all zero.
typedef struct scene_run_step {
	scene_step bodies;
	sim_soft_step deforming;
	sim_granular_step spheres;
} scene_run_step;

/// Make the rigid bodies. recording: path of a recording to write, or NULL. False, with the reason
/// in error, when that fails.
bool scene_run_add_bodies(scene_run *run, const char *recording, sim_error *error);

/// Make deforming bodies, after the rigid bodies. False, with the reason in error, when that fails.
bool scene_run_add_deforming(scene_run *run, sim_error *error);

/// Make the spheres, after the other parts: from the scene, from a checkpoint (path, or NULL) of a
/// scene of spheres alone, or from their state in another checkpoint (grains, or NULL). Those of
/// the scene are shared by run->ranks; those of a checkpoint are the caller's to share. With
/// keep_copies, filling gets the numbers of the copies' first spheres; the caller gives it back.
/// False, with the reason in error, when that fails.
bool scene_run_add_spheres(scene_run *run, const char *checkpoint, sim_tape *grains, bool keep_copies,
	scene_granular_filling *filling, sim_error *error);

/// Make all parts that the scene has. checkpoint: path of one to go on from, of whichever form the
/// scene has (scene_save_run, scene_granular_write), or NULL.
bool scene_run_add_all(scene_run *run, const char *recording, const char *checkpoint, sim_error *error);

/// Do the step of one part. Parts go in the order bodies, deforming, spheres; then the caller
/// counts the step. A step is the sum of its substeps: counts and times are sums, extremes are the
/// largest, the rest is that of the last one. False, with the reason in error, when that fails; the
/// run can then only be ended. Spheres may go ahead by several steps [count], 1 in scenes that hold
/// other parts, where nobody looks at the state before the last of them.
bool scene_run_step_deforming(scene_run *run, sim_soft_step *step, sim_error *error);
bool scene_run_step_spheres(scene_run *run, int32_t count, sim_granular_step *steps, sim_error *error);

/// Do a step of all parts, and count it. step may be NULL.
bool scene_run_step_all(scene_run *run, scene_run_step *step, sim_error *error);

/// The hash of all steps and of the present state, as `carom run` prints it. False, with the reason
/// in error, when memory is short.
bool scene_run_hash(const scene_run *run, uint64_t *hash, sim_error *error);

/// Free the parts; scene and context stay. A recording that is open is closed.
void scene_run_end(scene_run *run);

#endif
