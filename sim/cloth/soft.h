/// @file soft.h
/// Cloth and closed soft bodies in motion among rigid bodies that move as told: impacts by Carom,
/// so that no two triangles ever pass through each other.
///
/// Forces are solved as in extended position based dynamics with small steps (Macklin, Mueller and
/// Chentanez, XPBD, 2016; Macklin et al., Small Steps in Physics Simulation, 2019): stretching
/// along edges, bending over hinges (Bergou et al., A Quadratic Bending Model for Inextensible
/// Surfaces, 2006), the volume of closed bodies, and their form, region by region. Large sheets
/// are solved on coarse levels too (after Mueller, Hierarchical Position Based Dynamics, 2008), and
/// no edge gets longer than its limit. Impacts are answered without restitution and with Coulomb
/// friction (Bridson, Fedkiw and Anderson 2002): they become constraints of the solver, and
/// features that still meet are put apart, round after round. Vertices that meet even then move as
/// one with the features that they meet, as rigid impact zones do (Provot 1997); since vertices
/// move on straight lines between two rigid placements, a zone moves by an affine map at all times
/// in between, so it cannot pass through itself, and zones only grow: that ends.
///
/// All threads of the context work, on constraints in colours: the same bits for any number of
/// them.
#ifndef SIM_SOFT_H
#define SIM_SOFT_H

#include "carom/carom.h"
#include "sim/base/contact_point.h"
#include "sim/base/sim_error.h"
#include "sim/base/tape.h"
#include "sim/cloth/soft_motion.h"

/// Longest name of a body, its end mark included: that of a scene, and the number of a copy.
#define SIM_SOFT_NAME 80

typedef enum sim_soft_kind {
	SIM_SOFT_RIGID,      ///< moves as its motion says, whatever it meets
	SIM_SOFT_CLOTH,      ///< a surface, open or closed
	SIM_SOFT_DEFORMABLE, ///< closed, keeps its volume
	/// closed and rigid, with mass and the inertia of a uniform body: pushes and is pushed
	SIM_SOFT_SOLID,
} sim_soft_kind;

enum {
	SIM_SOFT_FREE = -1,                      ///< a vertex that nothing holds
	SIM_SOFT_PINNED = -2,                    ///< a vertex held where it is
	SIM_SOFT_MOST_VERTICES = INT32_MAX / 12, ///< of all bodies together, and most triangles
};

/// Forms that a rigid body takes one after the other: an animated collider. All zero: it keeps one
/// form.
typedef struct sim_soft_frames {
	/// [count][3*vertex_count] in the frame of the body; between two of them vertices go straight
	const float *places;
	int32_t count;
	double per_second; ///< above 0, at most 1e6
	double start;      ///< until then it has the first one, seconds; 0 or more
	bool loop;         ///< the first one follows the last; else the last one stays
} sim_soft_frames;

/// Where a vertex of frames with so many vertices is at a time (s), in the frame of the body.
void sim_soft_frame_place(const sim_soft_frames *frames, int32_t vertex_count, int32_t vertex, double time, double place[3]);

/// A body. Arrays are the caller's and are copied.
typedef struct sim_soft_body {
	const char *name; ///< for messages
	sim_soft_kind kind;
	int32_t vertex_count, triangle_count;
	/// [3*vertex_count] at the start, world frame; the reference of stretches and shape
	const double *places;
	const int32_t *triangles; ///< [3*triangle_count]
	double friction;          ///< a pair has the geometric mean of its two
	sim_soft_motion motion;   ///< of a rigid body; its pose at time 0 is the one of places
	/// of a rigid body that is not led; the first of them is the form of places
	sim_soft_frames frames;
	/// a rigid body that goes where sim_soft_lead says, or a solid that sim_soft_guide sends on its
	/// way; motion holds only its start
	bool led;
	bool fixed;  ///< a led body that never leaves its start: faster
	double mass; ///< of a solid, kg
	/// of a led solid: its mass, centre and inertia in the frame that is at motion.start; mass, and
	/// what its surface encloses, do not count
	carom_mass weighs;
	// Of the others:
	double density;   ///< kg/m2
	double stiffness; ///< against stretching, N/m
	/// most part by which an edge may get longer than at the start, where bodies that move do not
	/// pull it apart; 0: as far as it will, of a body with a shear modulus by half of it
	double stretch_limit;
	/// an edge of a cloth without a stretch_limit that is longer than at the start by more than
	/// this part tears; 0: none does
	double tear_stretch;
	double bending; ///< N m
	double bulk;    ///< of a deformable body, against change of volume, Pa
	/// of a deformable body, against change of form, Pa, as that of a solid; 0: a skin around a
	/// volume
	double shear;
	bool flat; ///< wants to be flat, not bent as at the start
	double velocity[3];
	/// [vertex_count]: SIM_SOFT_FREE, SIM_SOFT_PINNED or the number of a rigid body to move along
	/// with; NULL: all free.
	const int32_t *pins;
	/// [vertex_count] seconds at which the pin of a vertex lets go: in the first step that begins
	/// then or later. INFINITY: never, as with NULL
	const double *until;
	/// [break_count] N: pins of a cloth without a stretch_limit that break where its vertices
	/// pull at them with more than this, all vertices of one together. INFINITY: it never breaks
	const double *break_forces;
	int32_t break_count;
	/// [vertex_count] which of these pins holds a vertex; -1: none of them. NULL: none does
	const int32_t *pin_numbers;
} sim_soft_body;

/// Air in motion. All zero: there is none.
///
/// A face of area A that the air passes at the velocity u is pushed by
/// density / 2 * A * |u . n| * (drag * u + lift * (|u| n - (u . n) u / |u|)), its unit normal n on
/// the side away from the air: drag along the flow and lift across it (Keckeisen, Stoev, Feurer and
/// Strasser, Interactive Cloth Simulation in Virtual Environments, 2003). Closed surfaces feel it
/// where they face the air.
/// Rigid bodies and solids feel none.
typedef struct sim_soft_wind {
	double velocity[3]; ///< m/s
	double density;     ///< of air, kg/m3; 0: no wind
	double drag, lift;  ///< coefficients
	/// The speed is up to so much of it more or less (0 to 10), at random, over times of about
	/// period (s, above 0 where there are gusts). Gusts go through space with the wind.
	double gusts, period;
	uint64_t seed;
} sim_soft_wind;

/// How to make a simulation. Start from sim_default_soft_def.
typedef struct sim_soft_def {
	const sim_soft_body *bodies;
	int32_t body_count;
	double gravity[3];
	double time_step; ///< seconds; impacts are looked for over each step
	int32_t substeps; ///< of the solver in a step
	/// metres that surfaces keep apart, and at least half of it while rounds suffice
	double thickness;
	double damping; ///< part of the velocity lost in a second, 1/s
	sim_soft_wind wind;
	int32_t solves; ///< times that a step is solved again with the impacts found so far
	/// times that only places are corrected, after these; then zones move as one
	int32_t rounds;
	/// Bodies may cross at the start, and where two rigid ones leave them no place; and cloth that
	/// is held lets a body that moves as told pass which draws an edge to twice the length that it
	/// may have. They are led apart over some steps, the shortest way: on which side a surface ends
	/// up, nobody knows. False: the first two are errors, and the third draws the cloth along.
	bool lead_apart;
	/// NULL, or a device of the same context, which must outlive the simulation: it finds impacts,
	/// and the spheres near surfaces. Results are equal. All else is the processor's.
	carom_device *device;
	/// for all but the detector; both functions NULL: carom_default_allocator
	carom_allocator allocator;
} sim_soft_def;

/// Gravity along -y, 1/120 s in 16 substeps, 2 mm, damping 0.1, 2 solves, 12 rounds. No bodies.
/// Surfaces that cross are an error.
sim_soft_def sim_default_soft_def(void);
/// A cloth of 0.2 kg/m2, 2,000 N/m, 1e-5 N m, bulk 2e4 Pa, shear 4e3 Pa, friction 0.3, that keeps
/// its form and stretches by at most 3 %.
sim_soft_body sim_default_soft_body(void);

/// Counts of one step.
typedef struct sim_soft_step {
	int64_t step;              ///< from 1
	double time;               ///< at its end, seconds
	int64_t impacts;           ///< along the motion that nothing would hinder
	int64_t impacts_more;      ///< found in all rounds after that
	int64_t impacts_undecided; ///< of both
	int32_t searches;          ///< for impacts; the last one found none
	int32_t solves;
	int32_t zones; ///< that moved as one
	int32_t zone_vertices;
	int32_t halvings;      ///< times that a part of the step was halved
	int32_t leads;         ///< times that crossed surfaces were led apart before the step
	int32_t gave_way;      ///< parts of the step in which surfaces let others through
	int64_t crossings;     ///< of edges and triangles at the end, by exact tests
	double stretch_worst;  ///< of an edge: its length as part of that at rest, less 1; at least 0
	int32_t stretch_body;  ///< the body of that edge
	double stretch_mean;   ///< mean over all edges, with 0 for one that is shorter than at rest
	int32_t pins_broken;   ///< whose force was too large in this step: they let go in the next one
	double pin_force;      ///< N, the largest mean force over this step on a pin that may break
	int32_t tears;         ///< vertices that were split as the step began
	double kinetic_energy; ///< joules; without led solids
	double ms_total, ms_detection, ms_solver;
} sim_soft_step;

typedef struct sim_soft sim_soft;

/// What a rigid body feels of the bodies that deform.
typedef struct sim_soft_reaction {
	double impulse[3];         ///< N s, world frame
	double angular_impulse[3]; ///< N m s, about the body's origin at the end of the step
} sim_soft_reaction;

/// Make a simulation. NULL, with the reason in error (naming body and vertex where one is at
/// fault), when a number is out of range, bodies touch or cross each other at the start (with
/// lead_apart: where neither of two that cross can move), or memory is short. The context must
/// outlive it.
sim_soft *sim_create_soft(carom_context *context, const sim_soft_def *def, sim_error *error);
void sim_destroy_soft(sim_soft *soft);

/// Say where a led body is at the end of the next step. Without a word it stays. The caller sees to
/// it that body is the number of one in the definition.
void sim_soft_lead(sim_soft *soft, int32_t body, carom_pose end);

/// Send a led solid on its way: it gets the velocity and the spin by which it would be at end after
/// so many seconds (above 0), from where the last step left it. The steps that follow move it by
/// these, without gravity and damping, and by the bodies that it meets. So another simulation,
/// which knows all other forces on the body, says where it would go; afterwards it gives the body
/// the impulse of sim_soft_get_reaction and the pose of sim_soft_get_solid. Led solids do not meet
/// each other, nor bodies that move as told. The caller sees to it that body is the number of one
/// in the definition.
void sim_soft_guide(sim_soft *soft, int32_t body, carom_pose end, double duration);

/// What a rigid body felt in the last step: the opposite of what contacts with it gave to vertices,
/// friction too. Whoever leads the body may move it on with that: so momentum is kept. A solid has
/// moved with it already; its moments are about its centre.
sim_soft_reaction sim_soft_get_reaction(const sim_soft *soft, int32_t body);

/// A sphere that deforming bodies meet: a grain of another simulation.
typedef struct sim_soft_sphere {
	double radius, mass;
	double place[3], velocity[3], spin[3]; ///< m, m/s, rad/s
	double force[3];                       ///< N, on it beside deforming bodies: weight, neighbours
	/// a pair with a surface has the geometric mean of the two
	double friction;
} sim_soft_sphere;

/// How meeting deforming bodies has changed the motion of a sphere since sim_soft_meet.
typedef struct sim_soft_sphere_change {
	bool touched;              ///< else all is 0
	double impulse[3];         ///< N s
	double angular_impulse[3]; ///< N m s, about its centre
	double way[3];             ///< m, from where it was to where it is, free motion included
} sim_soft_sphere_change;

/// Say which spheres there are and how they move. In the steps that follow they move with what
/// deforms, push it, and are pushed, without restitution and with Coulomb friction; movers push
/// them too, led bodies do not. They do not meet each other. Surfaces keep half a thickness away
/// from them; a sphere that begins nearer is taken apart over some steps. No centre ever passes
/// through a surface.
///
/// The number of spheres and their radii stay those of the first call. False, with the field at
/// fault in error, when a number is out of range, when memory is short, or when a sphere is so far
/// from where the last step left it that it may have passed through a surface; nothing has changed
/// then.
bool sim_soft_meet(sim_soft *soft, int32_t count, const sim_soft_sphere *spheres, sim_error *error);

/// What the steps since sim_soft_meet did to a sphere, by its number there. Momentum is kept: what
/// deforms has got the opposite.
sim_soft_sphere_change sim_soft_get_change(const sim_soft *soft, int32_t sphere);

/// Do a step. False, with the reason in error, when memory is short (the step may be repeated) or
/// two rigid bodies press a deforming one from both sides, so that no place is left for it (not
/// with lead_apart), or when a sphere overlaps a surface at the start or is so fast that it may
/// pass through one.
bool sim_soft_advance(sim_soft *soft, sim_soft_step *step, sim_error *error);

/// All bodies as one mesh, rigid ones too, in the order of the definition.
typedef struct sim_soft_surface {
	int32_t vertex_count, triangle_count;
	const double *places;         ///< [3*vertex_count] at the end of the last step
	const double *velocities;     ///< [3*vertex_count] m/s
	const int32_t *triangles;     ///< [3*triangle_count]
	const int32_t *body_vertices; ///< [body_count + 1] first vertex of each body
	const int32_t *body_triangles;
	int32_t body_count;
	/// Times that a vertex was split. Cloth that tears gets vertices, behind those that it had;
	/// corners of triangles change, their number and order do not.
	int64_t tears;
	bool may_tear; ///< is there cloth that tears?
} sim_soft_surface;

/// Valid until the simulation is destroyed; places change with each step. Where cloth tears, all
/// but the numbers of bodies and triangles do.
sim_soft_surface sim_soft_get_surface(const sim_soft *soft);

/// The pose of the centre of a solid, turned from how it was at the start, and its velocity and
/// spin (rad/s). Of a led solid: turned as the frame of motion.start.
carom_pose sim_soft_get_solid(const sim_soft *soft, int32_t body, double velocity[3], double spin[3]);

/// Is a body, by its number in the definition, a rigid one that moves as told, or a led solid?
bool sim_soft_is_rigid(const sim_soft *soft, int32_t body);

/// Energy of edges, hinges, volumes and regions at the places of the last step, joules. Edges that
/// are longer than their limit hold by more than this: a limit has no energy.
double sim_soft_elastic_energy(const sim_soft *soft);

/// The kind and the name of a body, by its number in the definition.
sim_soft_kind sim_soft_get_kind(const sim_soft *soft, int32_t body);
const char *sim_soft_get_name(const sim_soft *soft, int32_t body);

/// Add the points where deforming bodies touched anything in the last step, or in the last part of
/// one that was halved, at the places of its end: contacts of features that began nearer than 1.1
/// thicknesses, impacts of those from farther away, and contacts with the spheres that it met.
/// Depths count from the thickness (with spheres, from half of it): a depth below 0 means that the
/// two ended farther apart. None before the first step. False when memory is short.
bool sim_soft_list_contacts(const sim_soft *soft, sim_contact_points *points);

/// A hash of all places and velocities, bit for bit.
uint64_t sim_soft_hash(const sim_soft *soft);

/// Move all that the coming steps depend on to a tape, or from one, between two steps. The state
/// must be one of a simulation of equal bodies. False, with the reason in error, when memory is
/// short or the tape is of other bodies; a simulation that was to be read can then only be
/// destroyed.
bool sim_soft_move_state(sim_soft *soft, sim_tape *tape, sim_error *error);

/// Pairs of triangles that share no vertex and intersect now, by an exact test of the places
/// rounded to float, as files hold them. False when memory is short.
bool sim_soft_count_crossings(const sim_soft *soft, int32_t *count);

#endif
