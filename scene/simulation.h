/// @file simulation.h
/// A scene in motion: detection by Carom, response by ODE, a recording beside. One call a step.
///
/// A step is made of equal substeps: find the contacts at the present poses, solve them, move on.
/// There are scene.substeps of them, or as many more (up to scene.max_substeps) as keep the fastest
/// body from passing scene.substep_travel in one. The recording sees the first detection of each
/// step. Bodies of sources join in the step that the scene names; until then they do not exist.
#ifndef SCENE_SIMULATION_H
#define SCENE_SIMULATION_H

#include "carom/carom.h"
#include "io/recording.h"
#include "scene/scene.h"
#include "sim/base/sim_error.h"
#include "sim/base/tape.h"

#include <stdio.h>

typedef struct scene_simulation scene_simulation;

/// Counts and times of one step.
typedef struct scene_step {
	int64_t step; ///< number, from 0
	double time;  ///< at its start, seconds
	int32_t substeps;
	carom_stats detection; ///< counts of the last substep; milliseconds of all
	double ms_response;    ///< milliseconds of the solver and the hand-over, all substeps
	double ms_recording;   ///< milliseconds of writing the frame
	double deepest;        ///< deepest contact of all substeps, metres; 0 without contacts
	/// the same as part of the size of the smaller moving body of the pair, the largest of all
	/// contacts
	double deepest_relative;
	double kinetic_energy; ///< at its end, joules
	/// lowest centre of mass of the dynamic bodies along gravity's opposite at its end, metres
	double lowest;
} scene_step;

/// Counts and times of a run.
typedef struct scene_summary {
	int32_t bodies; ///< dynamic ones that are there
	int32_t others; ///< static and kinematic ones
	int64_t steps;
	int64_t substeps; ///< of all steps
	/// dynamic bodies whose centre of mass is on the outer side of all static planes; without
	/// planes,
	int32_t bodies_above_ground;
	///< higher than the lowest point of all static bodies; without that, all
	/// of a body against a static plane, made to count these: bodies times planes at most
	int64_t plane_tests;
	double deepest_penetration; ///< of all steps, metres
	int64_t deepest_penetration_step;
	/// the largest part of a body's size (the longest side of its box)
	double deepest_penetration_relative;
	int64_t deepest_penetration_relative_step;
	double final_penetration; ///< of the last step
	double final_penetration_relative;
	double kinetic_energy_peak; ///< joules
	int64_t kinetic_energy_peak_step;
	double kinetic_energy_final;
	int32_t contacts_peak;
	int32_t pairs_peak; ///< colliding pairs
	double ms_total;
	double ms_detection;
	double ms_response;
	double ms_recording;
	size_t memory_peak; ///< of the world, bytes
	/// of the contacts of all steps and the final poses: equal for equal motions
	uint64_t hash;
} scene_summary;

/// Make a simulation: meshes are made or loaded, bodies put in place. The scene must outlive it;
/// the context too. recording is the path of the recording to write, or NULL. NULL, with the reason
/// in error ("FILE:LINE: field …: …" where a field is at fault), when that fails.
scene_simulation *scene_create_simulation(
	carom_context *context, const scene_description *scene, const char *recording, sim_error *error);

/// Do one step. step may be NULL. False, with the reason in error, when detection fails, a body's
/// motion is no longer finite, or the recording cannot be written; the simulation can then only be
/// destroyed.
bool scene_simulate_step(scene_simulation *simulation, scene_step *step, sim_error *error);

/// Change the velocities of a body of the scene at once, as sim_dynamics_kick does.
void scene_simulation_kick(scene_simulation *simulation, int32_t body, carom_vec3 impulse, carom_vec3 angular_impulse);

/// Put a dynamic or kinematic body of the scene that is there elsewhere; its velocity stays. False,
/// with the reason in error, when the pose is not valid.
bool scene_simulation_place(scene_simulation *simulation, int32_t body, const carom_pose *pose, sim_error *error);

/// Velocity of the centre of mass of a body that is there (m/s), angular velocity (rad/s), and the
/// centre (m), all in the world frame. Zero, and the body's origin, of static bodies.
carom_vec3 scene_simulation_velocity(const scene_simulation *simulation, int32_t body);
carom_vec3 scene_simulation_angular_velocity(const scene_simulation *simulation, int32_t body);
carom_vec3 scene_simulation_centre(const scene_simulation *simulation, int32_t body);

/// Mass, centre and inertia of a dynamic body of the scene, in the frame of its pose.
carom_mass scene_simulation_mass(const scene_simulation *simulation, int32_t body);

/// Move all that the coming steps depend on to a tape, or from one, between two steps, and the sums
/// so far. Reading is for a simulation of an equal scene that has done no step. False, with the
/// reason in error, when meshes or bodies are others, or memory is short; a simulation that was to
/// be read can then only be destroyed.
bool scene_simulation_move_state(scene_simulation *simulation, sim_tape *tape, sim_error *error);

/// The sums over the steps so far. Asks the world for boxes: not for every step.
scene_summary scene_summarise(const scene_simulation *simulation);

/// Close the recording: everything is in the file afterwards. False, with path and reason in error,
/// when that fails.
bool scene_finish_recording(scene_simulation *simulation, sim_error *error);

/// Free everything; a recording that is still open is closed. NULL does nothing.
void scene_destroy_simulation(scene_simulation *simulation);

/// The world, with the bodies at their present poses and the contacts of the last detection.
const carom_world *scene_simulation_world(const scene_simulation *simulation);

/// Bodies that are there: the first ones of the scene. The others belong to sources and are still
/// to come.
int32_t scene_simulation_body_count(const scene_simulation *simulation);

/// Body number i of the scene as a world would take it, at its present pose (that of its start if
/// it is still to come).
carom_body_def scene_simulation_body_def(const scene_simulation *simulation, int32_t i);

/// Ids of the scene's bodies, in its order: [scene_simulation_body_count]. The array stays where it
/// is; its rest is null ids.
const carom_body_id *scene_simulation_ids(const scene_simulation *simulation);

/// Their poses, in the same order; valid until the simulation is destroyed, with the values of the
/// last step.
const carom_pose *scene_simulation_poses(const scene_simulation *simulation);

/// The contacts of the last detection, which saw the bodies before they moved on, as a recording
/// has them: bodies are rows, one for each shape. Valid until the next step.
const io_recorded_contact *scene_simulation_contacts(const scene_simulation *simulation, int32_t *count);

/// Shape k of body i of a scene, as a recording has it: bodies come in their order, each with a row
/// for each of its shapes.
io_recorded_body scene_recorded_body(const scene_description *scene, int32_t i, int32_t k);

/// Names of the columns of a table of steps, and one step as a row of it (CSV, a line end each).
void scene_write_step_names(FILE *file);
void scene_write_step(FILE *file, const scene_step *step);

#endif
