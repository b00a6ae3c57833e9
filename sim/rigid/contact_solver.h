/// @file contact_solver.h
/// Impulses of contacts with friction between rigid bodies, from those of the last step. The same
/// bits for the same input; one thread.
#ifndef SIM_CONTACT_SOLVER_H
#define SIM_CONTACT_SOLVER_H

#include "carom/math.h"

#include <stdbool.h>
#include <stdint.h>

/// A body as its contacts see it: all in the world's frame, about the centre of mass.
typedef struct sim_solved_body {
	carom_vec3 centre;
	carom_vec3 velocity, spin; ///< with all that acts but contacts; then those after the step
	/// the solver's: by what the body is to move in the step; this takes penetrations back
	carom_vec3 moving, turning;
	carom_vec3 start_velocity, start_spin; ///< the solver's: those before
	bool touched;                          ///< the solver's: it has contacts that were solved
	double inverse_mass;                   ///< 0: contacts do not move it
	double inverse_inertia[6];             ///< xx, yy, zz, xy, xz, yz
	int32_t parent;                        ///< the solver's: of the same island
	bool awake;                            ///< false: at rest
} sim_solved_body;

/// A contact to be solved.
typedef struct sim_solved_contact {
	int32_t body_a, body_b;
	carom_vec3 point, normal; ///< normal: unit, from B towards A
	carom_vec3 along;         ///< unit, across the normal: friction acts along it first
	double depth;             ///< the caller's
	carom_vec3 surface;       ///< velocity of A's surface against B's beyond that of the bodies
	double speed;             ///< at which the two are to part along the normal in the step, m/s
	double speed_after;       ///< and after it: without what takes penetration back
	double friction;          ///< coefficient
	carom_vec3 impulse;       ///< on A, N s: a guess, then the answer
} sim_solved_contact;

typedef struct sim_contact_solver sim_contact_solver;

/// How to solve.
typedef struct sim_contact_rules {
	int iterations;         ///< at most, for each island
	double over_relaxation; ///< above 0 and below 2
	double softness;        ///< m/s for each N s of impulse
	double accuracy;        ///< m/s: an island is done when an iteration changes less than that
	bool springs;           ///< contacts are springs: what they do in the step is what stays
} sim_contact_rules;

/// Make a solver. NULL when memory is short.
sim_contact_solver *sim_create_contact_solver(void);

/// Free everything. NULL does nothing.
void sim_destroy_contact_solver(sim_contact_solver *solver);

/// Solve the contacts and change the velocities of the bodies. Contacts of islands without a body
/// that is awake have impulse 0 and change nothing. False when memory is short.
bool sim_solve_contacts(sim_contact_solver *solver, const sim_contact_rules *rules, sim_solved_body *bodies, int32_t body_count,
	sim_solved_contact *contacts, int32_t count);

#endif
