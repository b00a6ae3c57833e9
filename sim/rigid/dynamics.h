/// @file dynamics.h
/// Rigid bodies that move under gravity and contacts: ODE behind a few calls, and a solver of
/// contacts. Contacts come from outside, as Carom finds them; no collision code of ODE is used. The
/// same input gives the same motion, bit for bit, run after run.
#ifndef SIM_DYNAMICS_H
#define SIM_DYNAMICS_H

#include "carom/carom.h"
#include "sim/base/sim_error.h"
#include "sim/base/tape.h"

/// How bodies answer to contacts.
typedef struct sim_solver_settings {
	int iterations;         ///< of the velocity solver in each step, in all of its small steps
	double small_step;      ///< longest that steps are cut into, with their contacts, s; 0: any
	double over_relaxation; ///< of the solver, above 0 and below 2
	/// part of the penetration that is taken back in a small step, 0 to 1
	double error_reduction;
	/// m/s for each N of contact force (ODE's constraint force mixing)
	double softness;
	/// of contacts as springs, N/m; above 0: in place of the two above
	double stiffness;
	double damping;              ///< of these springs, N s/m
	double slop;                 ///< penetration that is left alone, metres
	double max_correcting_speed; ///< of taking penetration back, m/s; INFINITY: any
	double friction;             ///< coefficient, for bodies without their own
	double restitution;          ///< 0 to 1, for bodies without their own
	double restitution_speed;    ///< impacts slower than this do not bounce, m/s
	double linear_damping;       ///< part of the velocity lost in a second, 1/s
	double angular_damping;      ///< 1/s
	double max_angular_speed;    ///< rad/s; INFINITY: any
	bool sleep;                  ///< let bodies at rest sleep
	double sleep_linear_speed;   ///< m/s
	double sleep_angular_speed;  ///< rad/s
	double sleep_time;           ///< seconds below both
} sim_solver_settings;

typedef struct sim_dynamics sim_dynamics;

/// A body to be moved.
typedef struct sim_dynamic_body {
	carom_body_kind kind;
	carom_pose pose; ///< of the detection frame
	/// mass and inertia (kg, kg m2) about the centre, in the detection frame; for dynamic bodies
	carom_mass mass;
	carom_vec3 velocity;         ///< of the centre of mass, m/s
	carom_vec3 angular_velocity; ///< rad/s, world frame
	double friction;
	double restitution;
} sim_dynamic_body;

/// Make a world without bodies. NULL when memory is short.
sim_dynamics *sim_create_dynamics(const sim_solver_settings *settings, carom_vec3 gravity);

/// Free everything. NULL does nothing.
void sim_destroy_dynamics(sim_dynamics *dynamics);

/// Add a body; its number is the count of the bodies before it. False, with the reason in error,
/// when mass or inertia are not those of a solid (dynamic bodies) or memory is short.
bool sim_dynamics_add_body(sim_dynamics *dynamics, const sim_dynamic_body *body, sim_error *error);

int32_t sim_dynamics_body_count(const sim_dynamics *dynamics);

/// A contact between two bodies, as Carom reports it, with their numbers here.
typedef struct sim_dynamic_contact {
	int32_t body_a;
	int32_t body_b;
	double point[3];
	double normal[3]; ///< unit, from B towards A
	double depth;     ///< metres; negative: apart by that much
	/// m/s by which the surface of A moves there against that of B, beyond what the motions of the
	/// two bodies say: of belts, and of surfaces that change their form. All zero: none
	double surface[3];
	/// on A, N: a guess (that of this contact in the last step, or 0), then the answer
	float force[3];
} sim_dynamic_contact;

/// The largest speed of a point at radii[i] from the centre of mass of body i, over all bodies that
/// are not static: |v| + |w| r, m/s.
double sim_dynamics_fastest(const sim_dynamics *dynamics, const double *radii);

/// Change the velocities of a dynamic body at once: an impulse (N s, world frame), and an angular
/// one (N m s) about its centre of mass. Other bodies take none.
void sim_dynamics_kick(sim_dynamics *dynamics, int32_t body, carom_vec3 impulse, carom_vec3 angular_impulse);

/// Solve the contacts and move all bodies on by step seconds. Contacts between bodies that both do
/// not move by themselves are skipped. False, with the number of the body in *lost, when a body's
/// pose or velocity is no longer finite; with -1 there when memory is short.
bool sim_dynamics_step(sim_dynamics *dynamics, double step, sim_dynamic_contact *contacts, int32_t count, int32_t *lost);

/// Mass, centre and inertia of a dynamic body, in the detection frame.
carom_mass sim_dynamics_get_mass(const sim_dynamics *dynamics, int32_t body);

/// Pose of a body's detection frame.
carom_pose sim_dynamics_get_pose(const sim_dynamics *dynamics, int32_t body);

/// Put a body that is not static elsewhere; its velocity stays.
void sim_dynamics_set_pose(sim_dynamics *dynamics, int32_t body, const carom_pose *pose);

/// Give a kinematic body other velocities, for the steps to come; angular_velocity: rad/s, world
/// frame. Bodies that sleep are not woken.
void sim_dynamics_set_velocity(sim_dynamics *dynamics, int32_t body, carom_vec3 velocity, carom_vec3 angular_velocity);

/// Velocity and centre of mass (world frame) of a body; zero velocity and the frame's origin for
/// static bodies.
carom_vec3 sim_dynamics_get_velocity(const sim_dynamics *dynamics, int32_t body);
carom_vec3 sim_dynamics_get_angular_velocity(const sim_dynamics *dynamics, int32_t body);
carom_vec3 sim_dynamics_get_centre(const sim_dynamics *dynamics, int32_t body);

/// Kinetic energy of all dynamic bodies, translation and rotation, joules.
double sim_dynamics_kinetic_energy(const sim_dynamics *dynamics);

/// Move all that the coming steps depend on to a tape, or from one, between two steps: bit for bit.
/// Both must have equal settings, and equal bodies, added in one order; else the tape fails.
void sim_dynamics_move_state(sim_dynamics *dynamics, sim_tape *tape);

#endif
