/// @file granular.h
/// Discrete elements: millions of spheres that push, rub and roll (Cundall and Strack, A discrete
/// numerical model for granular assemblies, 1979). Contacts come from carom_spheres, whose list of
/// neighbours is kept over many steps.
///
/// A trajectory is the same bits for any number of threads, method, skin, order of the arrays in
/// memory and time of their sorting: the forces on a sphere are summed over its neighbours in the
/// order of their ids. SI units throughout.
#ifndef SIM_GRANULAR_H
#define SIM_GRANULAR_H

#include "carom/grains.h"
#include "carom/spheres.h"
#include "sim/base/exact_sum.h"
#include "sim/base/sim_error.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The most moving walls.
#define SIM_GRANULAR_MAX_WALLS 10

/// Force along the line of the centres.
typedef enum sim_granular_normal {
	/// F = k d - c v with c = 2 b sqrt(k m), b = -ln e / sqrt(pi^2 + ln^2 e): two spheres that meet
	/// alone part with e times their speed (half a period of a damped oscillator; see Schwager and
	/// Poeschel 2007). d overlap, v speed of parting, m = m_a m_b / (m_a + m_b). The force may pull
	/// for the last moment of a contact.
	SIM_GRANULAR_LINEAR,
	/// F = 4/3 E sqrt(R) d^(3/2) - c v with c = 2 sqrt(5/6) b sqrt(S m), S = 2 E sqrt(R d), b as
	/// above (Tsuji, Tanaka and Ishida 1992; that this b gives the restitution e: Antypov and
	/// Elliott 2011). R = r_a r_b / (r_a + r_b); 1 / E = 2 (1 - nu^2) / young.
	SIM_GRANULAR_HERTZ,
} sim_granular_normal;

/// Force across it, at most friction times the normal force (Coulomb).
typedef enum sim_granular_tangential {
	SIM_GRANULAR_SMOOTH, ///< none
	/// A spring that is stretched by the sliding since the contact began (Cundall and Strack 1979)
	/// and turns with the contact (Luding, Cohesive, frictional powders, 2008), of tangential_ratio
	/// times the normal stiffness, and a dashpot with the damping ratio of the normal one. For
	/// SIM_GRANULAR_LINEAR.
	SIM_GRANULAR_SPRING,
	/// That spring with k = 8 G sqrt(R d), c = 2 sqrt(5/6) b sqrt(k m), 1 / G = 4 (2 - nu) (1 + nu)
	/// / young (Mindlin 1949, without slip, as in Tsuji et al. 1992). For SIM_GRANULAR_HERTZ.
	SIM_GRANULAR_MINDLIN,
} sim_granular_tangential;

/// A contact law. Between spheres, or between spheres and walls (there m, R are the sphere's and
/// the wall is of its material).
typedef struct sim_granular_law {
	sim_granular_normal normal;
	double stiffness; ///< N/m, above 0 (LINEAR)
	/// m; above 0: the stiffness is that of two such spheres and grows with R; 0: one for all
	double stiffness_radius;
	double young;       ///< Pa, above 0 (HERTZ)
	double poisson;     ///< above -1, at most 0.5 (HERTZ)
	double restitution; ///< 0 to 1
	sim_granular_tangential tangential;
	double tangential_ratio; ///< above 0 (SPRING); 2/7: both directions swing with the same period
	double friction;         ///< 0 or more
	/// Torque against rolling: this times R times the normal force, but no more than stops the
	/// rolling within the step (Ai, Chen, Rotter and Ooi 2011, model A). 0: none.
	double rolling_friction;
} sim_granular_law;

/// A plane that may move. Spheres are on the side to which normal points.
typedef struct sim_granular_wall {
	double point[3];
	double normal[3];   ///< any length above 0
	double velocity[3]; ///< of the wall, along itself too (a belt)
	/// it swings by amplitude * sin(frequency * t + phase) about point + velocity * t
	double amplitude[3];
	double frequency; ///< rad/s
	double phase;     ///< rad
} sim_granular_wall;

/// The fault of a time step above the bound of stability.
typedef enum sim_granular_stability {
	SIM_GRANULAR_REFUSE, ///< creation fails, with the bound in the text
	SIM_GRANULAR_REPORT, ///< sim_granular_info tells
} sim_granular_stability;

/// One of two spheres that touch.
typedef struct sim_granular_side {
	uint32_t id;
	double radius, mass;
	const double *centre;           ///< [3]
	const double *velocity;         ///< [3]
	const double *angular_velocity; ///< [3]
} sim_granular_side;

/// Replaces the law between spheres: force on a and torque on a (both [3], zero before), of b,
/// which touches it. normal: unit, from b to a (across a periodic border where it must be).
/// overlap: not negative. time_step: the s that will pass. history: three numbers kept while the
/// two touch, 0 at first; both (a, b) and (b, a) have theirs. Called for both, from the workers:
/// must be thread-safe, and opposite for opposite sides, or momentum is not kept.
typedef void sim_granular_force_fn(const sim_granular_side *a, const sim_granular_side *b, const double normal[3],
	double overlap, double time_step, double history[3], double force[3], double torque[3], void *user);

/// The definition of a simulation. Start from sim_default_granular_def. Everything is copied.
typedef struct sim_granular_def {
	int64_t count; ///< at most CAROM_MAX_SPHERES
	carom_strided centres;
	carom_strided radii;              ///< one value each, above 0
	carom_strided velocities;         ///< data NULL: at rest
	carom_strided angular_velocities; ///< rad/s; data NULL: none
	double density;                   ///< kg/m^3, above 0
	double time_step;                 ///< s, above 0
	double gravity[3];                ///< m/s^2
	double gravity_axis[3];           ///< gravity turns about this axis (any length above 0) ...
	double gravity_rate;              ///< ... by so many rad/s; 0: it does not
	sim_granular_law spheres;         ///< law between spheres
	sim_granular_law walls;           ///< law between spheres and walls
	double lower[3], upper[3];        ///< box, for its walls and periods
	/// is there a wall: low x, high x, low y, ... (a periodic axis has none)
	bool faces[6];
	bool periodic[3]; ///< does space repeat along the axis, with the box's length?
	sim_granular_wall moving[SIM_GRANULAR_MAX_WALLS];
	int32_t moving_count;
	/// Bodies of other kinds will touch spheres (sim_granular_set_touches). The law of the walls is
	/// theirs too.
	bool touches;
	sim_granular_force_fn *force; ///< replaces the law between spheres; NULL: none
	void *force_user;
	sim_granular_stability stability;
	/// Contacts of equal stiffness that the lightest sphere is supposed to have at once, for the
	/// bound: 1 is the exact bound of a pair alone; 6 is that of spheres without friction in a heap
	/// at rest; 12 no heap of equal spheres passes.
	double stability_contacts;
	/// For HERTZ, whose stiffness grows with the overlap: the largest overlap, as a part of the
	/// smaller radius, that the bound is made for. sim_granular_info tells the bound for the
	/// largest one met.
	double stability_overlap;
	carom_sphere_method method;
	/// Do the steps there (carom/grains.h): with the same bits where it rounds as the processor
	/// does. It knows no user's force and no touches, and a skin below 0 is 0.6 mean radii. Not of
	/// this simulation: the device must outlive it. NULL: the processor.
	carom_device *device;
	/// m, of the list of neighbours; below 0: chosen and adapted by measured times
	double skin;
	bool keep_order; ///< never sort the arrays in memory (for tests and measurements)
	/// for all the simulation's memory but the detector's; both functions NULL:
	/// carom_default_allocator
	carom_allocator allocator;
} sim_granular_def;

/// No spheres; gravity 9.81 m/s^2 along -y, density 2500, step 1e-5 s, LINEAR with 1000 N/m and
/// restitution 0.5, SMOOTH, poisson 0.25, young 1e7, ratio 2/7, no walls, unit box, REFUSE for 6
/// contacts and an overlap of 0.05, method AUTO, skin chosen. Thread-safe.
sim_granular_def sim_default_granular_def(void);

typedef struct sim_granular sim_granular;

/// A sphere that a body of another kind touches, as a caller has found it: a mesh, a box, cloth.
typedef struct sim_granular_touch {
	uint32_t sphere;    ///< its number in the definition
	uint64_t body;      ///< any number that tells the caller's bodies apart
	double normal[3];   ///< unit, from the body to the sphere
	double overlap;     ///< m, not negative
	double velocity[3]; ///< m/s, of the body's material where they touch
} sim_granular_touch;

/// The force of a sphere on a body that touches it.
typedef struct sim_granular_reaction {
	double point[3];  ///< on the surface of the body, where the force acts
	double force[3];  ///< N
	double torque[3]; ///< N m, of rolling friction, beside that of the force
} sim_granular_reaction;

/// Make a simulation. NULL, with the field (and sphere) at fault in error, when def is wrong or
/// memory is short. The context must outlive it.
sim_granular *sim_create_granular(carom_context *context, const sim_granular_def *def, sim_error *error);

/// Free everything. NULL does nothing.
void sim_destroy_granular(sim_granular *granular);

/// Counts and times of one step.
typedef struct sim_granular_step {
	int64_t step;          ///< its number, from 1
	double time;           ///< s, at its end
	int64_t contacts;      ///< touching pairs of spheres at its beginning
	int64_t wall_contacts; ///< touches of other bodies included
	double max_overlap;    ///< between spheres, largest, as a part of the smaller radius
	bool list_built;       ///< the list of neighbours was rebuilt
	bool sorted;           ///< the arrays in memory were sorted along the Morton curve
	double ms_build;       ///< milliseconds of the list and the sorting
	/// of the distances, the forces between spheres, and between crowded spheres and walls
	double ms_detection;
	double ms_update;    ///< of velocities, places, and the forces of walls on lone spheres
	double ms_obstacles; ///< of touches of other bodies; 0 unless a caller who finds them says it
} sim_granular_step;

/// Move on by one time step: v += dt F(x, v) / m, x += dt v (semi-implicit Euler, which keeps the
/// energy of springs bounded). step may be NULL. False, with the reason in error (a sphere whose
/// motion is not finite by its id), when that fails; the simulation can then only be destroyed.
bool sim_granular_advance(sim_granular *granular, sim_granular_step *step, sim_error *error);

/// Move on by count steps, none of which the caller looks at before the last: steps [count]
/// receives what sim_granular_advance would have told of each; it may be NULL. On a device up to 16
/// steps are one submission, walls that move and gravity that turns included, and the state has the
/// same bits. *done is the number of steps that were done, below count only on failure; it may be
/// NULL. False as of sim_granular_advance; also for more than one step with
/// sim_granular_def.touches, whose touches are those of one step.
bool sim_granular_advance_many(sim_granular *granular, int64_t count, sim_granular_step *steps, int64_t *done, sim_error *error);

/// Do now what the coming step would begin with: make the list of neighbours again if it no longer
/// holds, sort the arrays when that pays, and hand spheres over to other ranks (granular_ranks.h).
/// A caller who looks for touches does this first: sim_granular_get_view then shows the spheres
/// that the step will move. It changes no result, and does nothing where it was done for the coming
/// step already. Collective on ranks, which need it before touches are set. False as of
/// sim_granular_advance.
bool sim_granular_prepare(sim_granular *granular, sim_error *error);

/// Say which bodies of other kinds touch spheres at the beginning of the coming step, and in that
/// step alone: touches [count], sorted by sphere. The law of the walls decides the forces: the mass
/// of the body does not enter. A tangential spring lasts while sphere and body touch in each step;
/// where they touch at several places, each keeps the spring of the nearest normal. Space does not
/// repeat for these bodies. A rank tells the touches of its own spheres; those of others have no
/// effect. False, with the field at fault in error, when that fails; nothing has changed then.
/// Needs sim_granular_def.touches.
bool sim_granular_set_touches(sim_granular *granular, int64_t count, const sim_granular_touch *touches, sim_error *error);

/// The forces of the last step on the bodies that touched spheres then: one for each touch, in
/// their order. Valid until the next call that sets touches.
const sim_granular_reaction *sim_granular_get_reactions(const sim_granular *granular);

/// Push spheres between two steps: their velocities change at once. impulses [3*count] (N s) and
/// angular_impulses [3*count] (N m s, about each centre; NULL: none; without a tangential force
/// nothing turns, and they are left out), in the order of the definition. What is not finite is an
/// error of the next step. Each rank pushes its own spheres. False, with the reason in error: needs
/// sim_granular_def.touches, and on ranks comes before sim_granular_prepare.
bool sim_granular_push(sim_granular *granular, const double *impulses, const double *angular_impulses, sim_error *error);

/// Walls that have sums: the faces of the box in their order, then moving walls.
#define SIM_GRANULAR_WALL_SUMS (6 + SIM_GRANULAR_MAX_WALLS)

/// The forces of spheres on a wall times the time that they lasted.
typedef struct sim_granular_wall_sum {
	double impulse[3];         ///< N s, of the spheres on the wall
	double angular_impulse[3]; ///< N m s, about the origin, of rolling friction too
	int64_t touches;           ///< spheres that touched it, a sphere once for each step
} sim_granular_wall_sum;

/// From now on sum the forces on walls. It costs the sums in the touches of walls alone, and
/// changes no result. False, with the reason in error: memory is short, or the spheres are on a
/// device.
bool sim_granular_watch_walls(sim_granular *granular, sim_error *error);

/// The sums of all steps since the last call, or since sim_granular_watch_walls; zero for walls
/// that there are not. They have the same bits for any number of threads and ranks; NaN where a
/// force was beyond 2^38 N. Collective on ranks. False, with the reason in error: nobody watches
/// the walls, or a rank is lost.
bool sim_granular_take_wall_sums(sim_granular *granular, sim_granular_wall_sum sums[SIM_GRANULAR_WALL_SUMS], sim_error *error);

/// A sum of forces in steps of so many seconds, as that of a wall.
sim_granular_wall_sum sim_granular_read_sum(const sim_exact_sum *sum, double seconds);

/// The state and the sums of a simulation.
typedef struct sim_granular_info {
	int64_t count;
	int64_t steps;
	double time;
	double time_step;
	/// s, bound of stability with def.stability_contacts; INFINITY with def.force
	double step_limit;
	double step_limit_pair; ///< s, of two spheres (or one and a wall) alone
	/// s, as step_limit, for the largest overlap met so far (differs for HERTZ)
	double step_limit_met;
	double max_overlap; ///< largest of all steps
	int64_t list_builds, sorts;
	int64_t list_entries; ///< of the present list (each pair twice)
	double skin;          ///< m, in use
	double mean_radius, least_radius, largest_radius;
	double mass;  ///< kg, of all spheres
	size_t bytes; ///< held by the simulation beside the detector
	size_t bytes_detector;
	carom_sphere_stats detector; ///< of its last calls
	bool on_device;
	carom_grains_stats device; ///< of a simulation on a device
} sim_granular_info;

sim_granular_info sim_granular_get_info(const sim_granular *granular);

/// Energies and momentum, each summed in the order of the ids.
typedef struct sim_granular_energy {
	double kinetic;    ///< J, of the centres
	double rotational; ///< J
	/// J, -m g x with the present gravity; jumps when a sphere crosses a periodic border along it
	double potential;
	double elastic;             ///< J, of the springs of all contacts but touches of other bodies
	double momentum[3];         ///< kg m/s
	double angular_momentum[3]; ///< kg m^2/s about the origin, spins included
} sim_granular_energy;

/// Energies now. False, with the reason in error, when memory is short or the simulation failed
/// before. The elastic part is 0 with def.force. May rebuild the list of neighbours; motions do not
/// depend on when that happens.
bool sim_granular_get_energy(sim_granular *granular, sim_granular_energy *energy, sim_error *error);

/// Of a simulation on a device: bring its state here, so that calls that read it cannot fail. They
/// do it by themselves, but have no error to tell: where it fails, they give the last state that
/// was brought, and the next step fails. False, with the reason in error.
bool sim_granular_fetch(sim_granular *granular, sim_error *error);

/// Places and motions in the order of the definition. Each [3*count] ([count] radii) and NULL where
/// not wanted. Centres lie within the box along periodic axes.
void sim_granular_get_state(
	sim_granular *granular, double *centres, double *radii, double *velocities, double *angular_velocities);

/// The simulation's own arrays, as they lie in memory: sphere k has the id ids[k]. Valid until the
/// next step. Asking brings them up to now.
typedef struct sim_granular_view {
	int64_t count;
	const double *spheres;            ///< [4*count] x, y, z, radius
	const double *motions;            ///< [4*count] velocity, 1 / mass
	const double *angular_velocities; ///< [4*count] of which three, rad/s; NULL when nothing turns
	const uint32_t *ids;              ///< [count]
} sim_granular_view;

sim_granular_view sim_granular_get_view(sim_granular *granular);

/// Number of spheres that each sphere touches now: counts [count], in the order of the definition.
/// False, with the reason in error, when memory is short or the simulation failed before.
bool sim_granular_count_contacts(sim_granular *granular, int32_t *counts, sim_error *error);

/// Gravity now (it may turn).
void sim_granular_get_gravity(const sim_granular *granular, double gravity[3]);

/// Point of moving wall number i now.
void sim_granular_get_wall(const sim_granular *granular, int32_t i, double point[3]);

/// The largest numbers of the steps that a run has done, and the step of each.
typedef struct sim_granular_peaks {
	int64_t contacts, contacts_step;
	int64_t overlap_step, energy_step;
	double overlap; ///< between two spheres, as a part of the smaller radius
	double energy;  ///< kinetic, J, of the steps in which it was measured
} sim_granular_peaks;

/// Data that a program keeps with a simulation, for itself: checkpoints hold it and a continued
/// simulation gives it back. The motion does not depend on it. All zero at first.
typedef struct sim_granular_mark {
	uint64_t run; ///< tells the files of one run from another's
	/// a sum of the table of steps as far as it was written; 0: there is none
	uint64_t table;
	int64_t contacts, wall_contacts; ///< of the last step
	sim_granular_peaks peaks;        ///< all 0: not known
} sim_granular_mark;

void sim_granular_set_mark(sim_granular *granular, const sim_granular_mark *mark);
sim_granular_mark sim_granular_get_mark(const sim_granular *granular);

#ifdef __cplusplus
}
#endif
#endif
