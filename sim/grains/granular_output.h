/// @file granular_output.h
/// The output of a simulation of spheres: its state in the order of the definition, sums that do
/// not depend on how it lies in memory.
#ifndef SIM_GRANULAR_OUTPUT_H
#define SIM_GRANULAR_OUTPUT_H

#include "sim/grains/granular.h"
#include "sim/base/contact_point.h"
#include "sim/base/sphere_cloud.h"

/// Places and motions in the order of the definition.
typedef struct sim_granular_frame {
	int64_t count;
	double *centres;            ///< [3*count]
	double *radii;              ///< [count]
	double *velocities;         ///< [3*count]
	double *angular_velocities; ///< [3*count], rad/s
} sim_granular_frame;

/// Copy the present state: 80 bytes a sphere. False when memory is short; *frame is empty then.
/// Give it back with sim_free_granular_frame.
bool sim_take_granular_frame(sim_granular *granular, sim_granular_frame *frame);

/// Free it. An empty (all zero) frame is fine.
void sim_free_granular_frame(sim_granular_frame *frame);

/// The frame for pictures and files; valid as long as the frame.
sim_sphere_cloud sim_granular_frame_cloud(const sim_granular_frame *frame);

/// A hash of all bits of the frame: equal for equal states.
uint64_t sim_hash_granular_frame(const sim_granular_frame *frame);

/// Add the points where spheres touch each other and walls now, and those where they met bodies of
/// other kinds in the last step (sim_granular_set_touches). now: the present state. A search of its
/// own finds them, and the coming steps do not depend on it. False, with the reason in error, when
/// memory is short.
bool sim_granular_list_contacts(
	sim_granular *granular, const sim_granular_frame *now, sim_contact_points *points, sim_error *error);

/// Spheres whose centre lies in a closed box.
int64_t sim_count_spheres_inside(const sim_granular_frame *frame, const double lower[3], const double upper[3]);

/// Kinetic energy of places and spins, J. Two passes over the simulation's arrays as they lie in
/// memory, summed in whole numbers: the same bits for any order of them (and cheaper than
/// sim_granular_get_energy, which sums by id, springs too). INFINITY when a sphere's is not finite.
double sim_granular_kinetic_energy(sim_granular *granular);

#endif
