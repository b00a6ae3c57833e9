/// @file granular_memento.h
/// All that the coming steps of a simulation of spheres depend on, beside its definition and the
/// places and motions of the spheres: for checkpoints. It is by ids, so that neither the order in
/// memory nor the list of neighbours is in it.
#ifndef SIM_GRANULAR_MEMENTO_H
#define SIM_GRANULAR_MEMENTO_H

#include "sim/base/tape.h"
#include "sim/grains/granular.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Springs of the contacts, and how far the simulation has come. Arrays are NULL where such
/// contacts have no springs.
typedef struct sim_granular_memento {
	int64_t steps;
	double max_overlap; ///< deepest so far, as a part of the smaller radius
	bool turns;         ///< spheres have angular velocities
	/// [count + 1] springs of sphere i are numbers first[i] to first[i + 1] - 1
	int64_t *contact_first;
	uint32_t *contact_other; ///< [contact_first[count]] the other sphere, ascending for each
	double *contact_springs; ///< [3*contact_first[count]] m
	/// [count] a bit for each wall that a sphere touches: low x, high x, low y, ..., then moving
	/// ones
	uint16_t *wall_touched;
	double *wall_springs;     ///< [3*wall_contacts] m, by spheres, then by walls
	int64_t wall_contacts;    ///< bits that are set
	size_t wall_springs_size; ///< bytes taken for them
} sim_granular_memento;

/// The definition of a simulation, without the arrays of its spheres. Valid as long as the
/// simulation.
const sim_granular_def *sim_granular_get_def(const sim_granular *granular);

/// Gather the memento of the present state. False, with the reason in error, when memory is short
/// or the simulation failed before; nothing is held then. The arrays are the simulation's and hold
/// until its next step; give them back with sim_granular_drop_memento before that.
bool sim_granular_take_memento(sim_granular *granular, sim_granular_memento *memento, sim_error *error);
void sim_granular_drop_memento(sim_granular *granular, sim_granular_memento *memento);

/// Make a simulation that has done no step yet go on from a memento of an equal definition, with
/// equal spheres. The arrays are copied; those that the simulation keeps must be there, and fit
/// together. False, with the reason in error, when memory is short; the simulation can then only be
/// destroyed.
bool sim_granular_restore_memento(sim_granular *granular, const sim_granular_memento *memento, sim_error *error);

/// Move the springs of the bodies that touch spheres (sim_granular_set_touches) to a tape, or from
/// one, between two steps: no memento holds them. Of a simulation that ranks share they can be
/// written alone: collective, all on rank 0 and none on the others. False, with the reason in
/// error, when memory is short, they do not fit, or a rank is lost.
bool sim_granular_move_touches(sim_granular *granular, sim_tape *tape, sim_error *error);

#ifdef __cplusplus
}
#endif
#endif
