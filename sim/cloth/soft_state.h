/// @file soft_state.h
/// The data that the files of the cloth simulation share. Only sim/soft*.c include this.
#ifndef SIM_SOFT_STATE_H
#define SIM_SOFT_STATE_H

#include "sim/base/sim_error.h"
#include "sim/base/tape.h"
#include "sim/cloth/soft.h"

#include <math.h>

/// A pair of features and where they met: keeps sum(weight[i] * place[i]) along normal at least at
/// a gap.
typedef struct soft_contact {
	int32_t vertices[4];
	double weight[4]; ///< the first feature's sum to 1, the second's to -1
	double normal[3]; ///< from the second to the first
	double start;     ///< gap at the begin of the step
	/// metres that the features keep apart: less than elsewhere where they are one body's and
	/// nearer than that at rest
	double thickness;
	double inverse; ///< 1 / sum(weight^2 * inverse mass); 0: nothing can move
	double friction;
	double pushed;  ///< in this substep, metres
	double held[3]; ///< ways along the features that friction took back in this substep
	/// N s: what the features have been given in this part of the step, each vertex its weight of
	/// it; those that bodies carry take it to them
	double impulse[3];
	double corrected[3]; ///< kg m: likewise of corrections of places since the solver
	bool touching;       ///< closer than wanted at the begin already
	bool parted;         ///< was put apart after the solver
} soft_contact;

/// Impacts of a step, or constraints.
typedef struct soft_contacts {
	soft_contact *data;
	int64_t count, capacity;
} soft_contacts;

enum { SOFT_MOST_COLORS = 64 };

/// Constraints first[c] to first[c + 1] have colour c (soft_colors.h).
typedef struct soft_colors {
	int32_t count;
	int64_t first[SOFT_MOST_COLORS + 1];
} soft_colors;

typedef struct soft_edge {
	int32_t vertices[2];
	double length;
	double most; ///< length that it may have, INFINITY where nothing limits it
	double compliance;
	double force; ///< Lagrange multiplier of this substep
} soft_edge;

/// Two triangles at an edge: their bending is |sum(weight[i] * place[i])|.
typedef struct soft_hinge {
	int32_t vertices[4];
	double weight[4];
	double rest;
	double compliance;
	double force;
} soft_hinge;

/// How a solid moves: pose of its centre, velocity, angular momentum about the centre.
typedef struct soft_motion {
	carom_pose pose;
	carom_vec3 velocity, moment;
} soft_motion;

/// A rigid body with mass, in the frame that it had at the start, about its centre.
typedef struct soft_solid {
	/// of a led one, in the frame of the simulation that sends it
	carom_vec3 centre;
	double mass, inertia[6], inverse_inertia[6]; // as carom_mass has them
	soft_motion now, begin, committed;           ///< begin: of the part of the step in work
	carom_vec3 felt, felt_moment;                ///< N s, N m s: in the part so far
	carom_vec3 shift, turn;                      ///< corrections of places since the solver
	/// part of its mass that counts while places are corrected, a power of two
	double ease;
	carom_pose zoned; ///< where its zone has moved it
} soft_solid;

/// A body as the solver knows it.
typedef struct soft_part {
	sim_soft_kind kind;
	int32_t first_vertex, first_triangle, vertex_count, triangle_count;
	double friction;
	sim_soft_motion motion;
	sim_soft_frames frames; ///< places are those of the simulation
	bool rests;             ///< a rigid body that never moves
	/// a rigid body that moves from way.begin to way.end in the coming step, or a solid that
	/// another simulation sends on its way
	bool led;
	carom_motion way;
	carom_pose from, to;        ///< of a rigid body: poses of this step
	sim_soft_reaction reaction; ///< of a rigid body, in the last step
	soft_solid solid;           ///< of SIM_SOFT_SOLID
	double stretch_limit;       ///< of an edge, 0: none
	double tear_stretch;        ///< stretch at which an edge tears, 0: none
	/// vertices with the spare ones behind them; before the tears of a step
	int32_t vertex_room, whole_count;
	double volume, compliance; ///< of a deformable body; compliance 0: no volume to keep
	double shear;              ///< 0: it has no regions
	bool anchored;             ///< holds a vertex, or hangs together with a part that does
	char name[SIM_SOFT_NAME];
} soft_part;

typedef struct soft_detector soft_detector;
typedef struct soft_levels soft_levels;
typedef struct soft_regions soft_regions;
typedef struct soft_spheres soft_spheres;
typedef struct soft_apart soft_apart;

/// Counted by one worker, on a cache line of its own.
typedef struct soft_tally {
	int64_t count, pad[7];
} soft_tally;

struct sim_soft {
	carom_context *context;
	carom_allocator allocator;
	sim_soft_def def; ///< without bodies
	int64_t steps;
	double time;
	int32_t vertex_count, triangle_count, part_count, solid_count;
	/// are there led solids? Then corrections of places are no velocities (soft_limit.c)
	bool coupled;
	bool zoned; ///< has the part of the step in work merged zones?
	int64_t edge_count, hinge_count;
	char *memory; ///< all arrays that follow
	size_t memory_size;
	soft_part *parts;
	sim_key *keys; ///< [key_count] of all motions
	int64_t key_count;
	float *frame_places; ///< [frame_numbers] of all parts
	int64_t frame_numbers;
	int32_t *body_vertices, *body_triangles; ///< [part_count + 1]
	int32_t *triangles;
	/// [vertex_count + 1], [3*triangle_count]: triangles around each vertex
	int64_t *around_first;
	int32_t *around;
	int32_t *part_of; ///< [vertex_count]
	/// [vertex_count] rigid body that a vertex moves with: its own, or the one it is pinned to;
	/// SIM_SOFT_FREE; SIM_SOFT_PINNED.
	int32_t *carrier;
	double *inverse_mass; ///< [vertex_count], 0 where carried or held
	/// Of simulations with pins that let go: the time of each vertex, its carrier and its inverse
	/// mass when nothing holds it [vertex_count].
	double *until;
	int32_t *holder;
	double *let_go_mass;
	bool lets_go;    ///< are there such pins, or pins that break?
	double released; ///< pins up to this time have let go, seconds
	/// Pins that break, of all parts [break_count]: which one holds a vertex [vertex_count] (-1:
	/// none), the most that it bears (N), when it broke (s; INFINITY: it holds), and what pulled at
	/// it in this part of the step and in the step (N s, [3*break_count]).
	int32_t *pin_of;
	double *break_force, *broken_at, *pull_now, *pull;
	/// the edges, and hinges, with a vertex of such a pin; room for all
	int32_t *pull_edges, *pull_hinges;
	int32_t break_count, pull_edge_count, pull_hinge_count;
	double *blows; ///< [3*triangle_count] N, of simulations with wind
	double *local; ///< [3*vertex_count] of carried vertices, in the frame of their body
	double *rest;  ///< [3*vertex_count] places at the start
	/// [vertex_count] of a vertex that an animated collider carries: the vertex of it that takes it
	/// along; -1: none does
	int32_t *anchor;
	// Of simulations with cloth that tears:
	bool tears;
	/// A step tore and failed then, or the state came from a tape: what depends on triangles must
	/// be made again.
	bool half_torn, read_torn;
	int64_t torn;         ///< splits so far
	int32_t *torn_from;   ///< [vertex_count] of a vertex that was spare: its twin
	double *shown_places; ///< without spare vertices, as the arrays of a sim_soft_surface
	double *shown_velocities;
	int32_t *shown_triangles, *shown_vertices;
	sim_soft_body *bodies; ///< [part_count] as they were given, their arrays aside
	uint64_t shape;        ///< a hash of the surfaces as they were at the start
	soft_edge *edges;      ///< by colour
	bool *edge_held;       ///< was an edge too long in this part of the step?
	soft_hinge *hinges;    ///< by colour
	soft_colors edge_colors, hinge_colors, contact_colors;
	uint64_t *color_masks; ///< [vertex_count] scratch
	/// [contact_room] numbers of contacts by colour, and scratch behind them
	int32_t *contact_order;
	int64_t contact_room;
	soft_tally *tallies; ///< [worker_count]
	int32_t worker_count;
	// Of a step, [3*vertex_count] each. A step that fails leaves committed and committed_velocity
	// alone.
	double *committed, *committed_velocity;
	double *begin, *begin_velocity; ///< of the part of the step in work
	double *place, *velocity;
	double *before;        ///< of a substep
	double *solved;        ///< the solver's places, before corrections
	double *carried;       ///< places of carried vertices at the end
	int32_t *zone;         ///< [vertex_count] parent in a forest, -1: in no zone
	int32_t *zone_carrier; ///< [vertex_count] of roots
	/// [vertex_count] of roots: which body that is, for messages; SIM_SOFT_PINNED: a held vertex
	int32_t *zone_holder;
	/// [vertex_count] of roots that a body carries: the vertex of it that they met
	int32_t *zone_anchor;
	double *zone_sum;       ///< [4*vertex_count] of roots
	soft_contacts contacts; ///< constraints of the step
	soft_contacts found;    ///< by the last search
	soft_levels *levels;
	soft_regions *regions;
	soft_detector *rest_detector, *near_detector, *sure_detector;
	soft_spheres *spheres; ///< NULL: none were ever met
	double spheres_time;   ///< when they were met, seconds
	soft_apart *apart;     ///< NULL: nothing has ever crossed
	int64_t crossings;     ///< of edges and triangles at committed
	sim_soft_step step;
};

// ---- Memory ----

void *soft_alloc(const sim_soft *soft, size_t size);
void soft_free(const sim_soft *soft, void *pointer, size_t size);
/// Deal all edges and hinges to colours. False when memory is short.
bool soft_color_shapes(sim_soft *soft);
/// Deal the contacts to colours. False when memory is short.
bool soft_color_contacts(sim_soft *soft);
void soft_free_colors(sim_soft *soft);
/// A place for one more. NULL when memory is short.
soft_contact *soft_add_contact(const sim_soft *soft, soft_contacts *contacts);

// ---- Detection (soft_detector.c) ----

/// Finds impacts of the mesh of all parts. separation: how near is an impact. NULL, with the reason
/// in error, when memory is short.
soft_detector *soft_create_detector(const sim_soft *soft, double separation, double tolerance, sim_error *error);
void soft_destroy_detector(soft_detector *detector);
/// A part as a mesh of its own, at the present places. NULL with the reason in error.
carom_mesh *soft_make_mesh(const sim_soft *soft, const soft_part *part, sim_error *error);
/// All impacts between begin and end into soft->found, without those that no free vertex takes part
/// in. False with the reason in error.
/// Give a detector the surfaces that tear as they are now. False, with the reason in error, when
/// memory is short; then again.
bool soft_change_meshes(const sim_soft *soft, soft_detector *detector, sim_error *error);
bool soft_find(sim_soft *soft, soft_detector *detector, const double *begin, const double *end, sim_error *error);

// ---- Solver (soft_solver.c, soft_contact.c) ----

/// Places and velocities after duration, from begin (at a time) and begin_velocity, with the
/// contacts as constraints.
void soft_solve(sim_soft *soft, double time, double duration, int32_t substeps);
/// Correct places as the forces of one substep of so many seconds do, without regard to contacts.
/// A vertex without inverse mass stays.
void soft_hold_shapes(sim_soft *soft, double duration);
/// Keep the contacts' gaps in this substep of so many seconds: progress of the step is from 0 to 1.
/// again: the substep's pushes so far did not suffice.
void soft_push_contacts(sim_soft *soft, double progress, double duration, bool again);
/// Forget the impulses of contacts.
void soft_clear_impulses(sim_soft *soft);
/// Hand the impulses of contacts to the rigid bodies.
void soft_sum_reactions(sim_soft *soft);
/// An impulse on a rigid body at a place.
void soft_push_body(soft_part *part, const double place[3], const double impulse[3]);
/// Take away the velocity of parting of the contacts that were pushed.
void soft_damp_contacts(sim_soft *soft);
/// Put the features of contacts apart, once. Returns how many were too near.
int64_t soft_part_contacts(sim_soft *soft);
/// Take away the velocity at which features approach that were pushed or put apart.
void soft_slow_contacts(sim_soft *soft);
/// Shorten edges that are too long on the coarse levels, and take the vertices along: in a substep
/// of so many seconds, or, 0, after all of them. Returns how many tethers were too long.
int64_t soft_limit_levels(sim_soft *soft, double duration);
/// Correct places at the end of the step, without regard to forces, until edges keep their limits
/// and contacts their gaps, or it takes too long. Velocities stay, except of pairs with
/// spheres.
void soft_settle(sim_soft *soft, double duration);
/// Take away the velocities that break what soft_settle had to correct, in a part of the step of so
/// many seconds: those by which edges get longer and features approach.
void soft_settle_velocities(sim_soft *soft, double duration);
/// Straighten the normal of a contact that would catch at an edge within a plane. Places are those
/// of the impact at a time between begin and end. first: vertices of the first feature.
void soft_straighten_normal(const sim_soft *soft, const soft_contact *contact, int first, const double *begin,
	const double *end, double time, double normal[3]);
/// The mass that a contact moves, from those of its vertices: 1 / sum(weight^2 * inverse mass), or
/// 0.
double soft_weigh_contact(const sim_soft *soft, const soft_contact *contact);
/// The gap of a contact at some places.
double soft_gap(const soft_contact *contact, const double *places);

static inline void soft_clear_tallies(sim_soft *soft)
{
	for (int32_t i = 0; i < soft->worker_count; i++)
		soft->tallies[i].count = 0;
}

static inline int64_t soft_sum_tallies(const sim_soft *soft)
{
	int64_t sum = 0;
	for (int32_t i = 0; i < soft->worker_count; i++)
		sum += soft->tallies[i].count;
	return sum;
}

// ---- Spheres (soft_spheres.c) ----
// Without spheres these do nothing.

/// List the triangles near each sphere at the begin of a part of the step. False with the reason in
/// error.
bool soft_find_spheres(sim_soft *soft, double duration, sim_error *error);
/// Put the spheres where the part of the step begins.
void soft_start_spheres(sim_soft *soft);
/// No triangle is nearer than this to the centre of a sphere as a step begins. INFINITY without
/// spheres.
double soft_clear_of_spheres(const sim_soft *soft);
/// Let them move freely in a substep.
void soft_predict_spheres(sim_soft *soft, double duration);
/// Keep them and deforming bodies apart in this substep: progress of the part is from 0 to 1.
/// again: its pushes so far did not suffice.
void soft_push_spheres(sim_soft *soft, double progress, bool again);
void soft_take_sphere_velocities(sim_soft *soft, double duration);
/// Take away the velocity of parting of those that were pushed.
void soft_damp_spheres(sim_soft *soft);
/// Put them and deforming bodies apart, once, in a part of the step of so many seconds. Velocities
/// follow. Returns how many pairs were too near.
int64_t soft_part_spheres(sim_soft *soft, double duration);
/// The part is done. False, with the reason in error, where a sphere may have passed through a
/// surface.
bool soft_end_spheres(sim_soft *soft, sim_error *error);
/// Forget what was done since the begin of the part of the step, or of the step.
void soft_reset_spheres(sim_soft *soft, bool to_begin);
void soft_commit_spheres(sim_soft *soft);
bool soft_has_spheres(const sim_soft *soft);
void soft_destroy_spheres(sim_soft *soft);
/// Add the points where spheres were pushed in the last substep. False when memory is short.
bool soft_list_spheres(const sim_soft *soft, sim_contact_points *points);
/// Move what the spheres carry over to the next step. False, with the reason in error, when memory
/// is short.
bool soft_move_spheres(sim_soft *soft, sim_tape *tape, sim_error *error);

// ---- Solids (soft_solid.c) ----
// Without solids these do nothing.

/// Mass, inertia and shares of vertices of a solid, whose vertices have their areas for masses.
bool soft_make_solid(sim_soft *soft, soft_part *part, const sim_soft_body *body, sim_error *error);
/// Put the solids where the part of the step begins.
void soft_start_solids(sim_soft *soft);
/// Let them move freely in a substep.
void soft_predict_solids(sim_soft *soft, double duration);
/// Let them take the pushes that their vertices got in a substep.
void soft_push_solids(sim_soft *soft, double duration);
void soft_take_solid_velocities(sim_soft *soft, double duration);
/// Let them take what damping gave to the velocities of their vertices.
void soft_damp_solids(sim_soft *soft);
/// Let them follow corrections of places. full: those that are eased follow what was corrected in
/// full, as if the vertices that touch nothing had no mass.
void soft_correct_solids(sim_soft *soft, bool full);
/// Let another part of the mass of a solid count: a power of two.
void soft_ease_solid(sim_soft *soft, soft_part *part, double ease);
/// Momentum of corrections of places as velocities of a part of the step of so many seconds: its
/// product with the velocity, and with itself, joules.
void soft_weigh_correction(const soft_part *part, double duration, double *along, double *whole);
/// Take a share of the corrections of places as a velocity.
void soft_take_correction(sim_soft *soft, soft_part *part, double share, double duration);
/// The part of the step is done.
void soft_end_solids(sim_soft *soft, double duration);
void soft_begin_solids(sim_soft *soft);
/// Forget what was done since the begin of the part of the step, or of the step.
void soft_reset_solids(sim_soft *soft, bool to_begin);
void soft_commit_solids(sim_soft *soft);
double soft_solid_energy(const soft_part *part);

/// Is a part a body that keeps its form?
static inline bool soft_keeps_form(const soft_part *part)
{
	return part->kind == SIM_SOFT_RIGID || part->kind == SIM_SOFT_SOLID;
}

/// Is a part moved by another simulation, or as told?
static inline bool soft_is_told(const soft_part *part)
{
	return part->kind == SIM_SOFT_RIGID || (part->kind == SIM_SOFT_SOLID && part->led);
}

/// Other spheres are near other triangles: look for them in the surfaces as they are now.
bool soft_change_search(sim_soft *soft, sim_error *error);

// ---- Animated colliders (soft_frames.c) ----

/// Name of the first field of frames that is out of range, or NULL.
const char *soft_frames_fault(const sim_soft_body *body);
/// The frames of a body become our own, from a number of frame_places on. Returns the one behind
/// them.
int64_t soft_take_frames(const sim_soft *soft, soft_part *part, int64_t first);
/// Find the anchors of carried vertices, once local is known.
void soft_fill_anchors(sim_soft *soft);
/// Where a carried vertex is in the frame of its body at a time.
carom_vec3 soft_local_at(const sim_soft *soft, int32_t vertex, double time);
/// A hash of all frames.
uint64_t soft_hash_frames(const sim_soft *soft, uint64_t hash);

// ---- Pins that let go (soft_release.c) ----

/// Note the pins of a body that let go; its vertices begin at first, and its pins that break at
/// first_pin.
void soft_note_pins(sim_soft *soft, const sim_soft_body *body, int32_t first, int32_t first_pin);
/// Does something hold a vertex, now and for ever?
bool soft_is_held_for_good(const sim_soft *soft, int32_t vertex);
/// Set the inverse masses where vertices are let go: 0 of those that are held now.
void soft_hold_masses(sim_soft *soft);
/// Hold the vertices that are let go later, once constraints have their colours.
void soft_hold_pins(sim_soft *soft);
/// Edges or hinges are others: look for those at pins that break.
void soft_list_pulls(sim_soft *soft);
/// A part of the step begins: nothing has pulled yet.
void soft_clear_pulls(sim_soft *soft);
/// Add what edges and hinges have pulled in a substep of so many seconds.
void soft_add_pulls(sim_soft *soft, double duration);
/// A part of the step of so many seconds is done: add what contacts and weight have given.
void soft_end_pulls(sim_soft *soft, double duration);
/// The step is done: break the pins whose mean force in it was too large.
void soft_break_pins(sim_soft *soft);
/// Move which pins are broken. Those of a tape that is read let go in the next step.
void soft_move_pins(sim_soft *soft, sim_tape *tape);
/// Let the pins go that are due at a time. False when memory is short; nothing has changed then.
bool soft_release_pins(sim_soft *soft, double time);

// ---- Wind (soft_wind.c) ----

/// Name of the first field of the wind that is out of range, or NULL.
const char *soft_wind_fault(const sim_soft_wind *wind);
/// Give vertices the velocity that wind gives them in a substep of so many seconds, which ends at a
/// time. Without wind it does nothing.
void soft_blow(sim_soft *soft, double time, double duration);

// ---- Zones (soft_zone.c) ----

typedef enum soft_verdict { SOFT_DONE, SOFT_SQUEEZED, SOFT_FAILED } soft_verdict;
/// Let vertices that still meet move as one, until none do. SOFT_SQUEEZED: a zone would have to
/// follow two bodies that move differently; the reason is in error in either case of failure. The
/// part of the step has so many seconds.
soft_verdict soft_merge_zones(sim_soft *soft, double duration, sim_error *error);

static inline double soft_dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static inline void soft_cross(const double a[3], const double b[3], double c[3])
{
	c[0] = a[1] * b[2] - a[2] * b[1];
	c[1] = a[2] * b[0] - a[0] * b[2];
	c[2] = a[0] * b[1] - a[1] * b[0];
}

/// The root of the tree of i in a forest of parents; ways to it become shorter.
static inline int32_t soft_find_root(int32_t *parents, int32_t i)
{
	while (parents[i] != i) {
		parents[i] = parents[parents[i]];
		i = parents[i];
	}
	return i;
}

#endif
