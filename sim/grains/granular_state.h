/// @file granular_state.h
/// The data that the parts of the granular simulation share. Inside sim/ only.
///
/// Spheres lie in memory in any order (that of a Morton curve, mostly): index. Their ids are their
/// places in the definition. A sphere with neighbours in the list is crowded: its forces are
/// computed in a pass of their own, because its neighbours read where it was. The others are lone:
/// nobody reads them, so they move in the pass that reads them. Of these, the free cannot touch a
/// wall either, and may be some steps behind.
#ifndef SIM_GRANULAR_STATE_H
#define SIM_GRANULAR_STATE_H

#include "sim/base/exact_sum.h"
#include "sim/base/sim_error.h"
#include "sim/grains/granular.h"
#include "carom/grains.h"

// Records of 32 bytes: a neighbour costs one cache line.
typedef struct granular_place {
	double x, y, z, r;
} granular_place;

typedef struct granular_motion {
	double x, y, z, inverse_mass;
} granular_motion;

typedef struct granular_spin {
	double x, y, z, inverse_inertia;
} granular_spin;

/// Spheres in a block. Within one, each contact is computed once and its opposite given to the
/// other side: the larger, the fewer are computed twice (a step of a settled heap takes 2 % less
/// than with 1,024); a worker's desk must stay in the second-level cache.
enum { GRANULAR_BLOCK = 2048 };

/// Two spheres of the list. Locals count a block's spheres: the crowded ones, then its halo, the
/// spheres that they meet of other blocks. a is crowded.
typedef struct granular_job {
	uint32_t a, b;
	double mass_root; // of m_a m_b / (m_a + m_b): it would cost a division and a root each time
} granular_job;

/// Where in the list a job's two sides are; entries count from the block's first. GRANULAR_NO_TWIN:
/// b is of another block.
typedef struct granular_side_entry {
	uint32_t entry, twin; // of b in the row of a; of a in the row of b
} granular_side_entry;

#define GRANULAR_NO_TWIN UINT32_MAX

/// Where a block begins; one more at the end.
typedef struct granular_block {
	int64_t crowd; // in crowd
	int64_t entry; // in the list
	int64_t job;   // in jobs, and in near
	int64_t halo;  // in halo
	uint32_t halo_count, near_count;
} granular_block;

/// Numbers of a local on a worker's desk: place, motion and force, or force and torque.
enum { GRANULAR_DESK_WIDTH = 12 };

/// A law as the contacts use it, here and on a device.
typedef carom_grain_law granular_coefficients;

enum { GRANULAR_FACES = 6, GRANULAR_MAX_PLANES = GRANULAR_FACES + SIM_GRANULAR_MAX_WALLS };

/// A wall at the time of the step.
typedef struct granular_plane {
	double normal[3];
	double offset; // of its points along normal
	double velocity[3];
	uint32_t bit; // 1 << number of the wall: faces of the box first
	// of its history with a sphere: the two faces of an axis share one, since no sphere touches
	// both
	int32_t slot;
} granular_plane;

/// Histories of the contacts between spheres, whatever the order in memory and the list of
/// neighbours.
typedef struct granular_packed {
	int64_t *first;    // [count+1], by id; of a shared simulation by sim_granular.rows
	int64_t rows_room; // rows that first holds, and one more
	uint32_t *other;   // [first[count]] ids, ascending for each sphere
	double *values;    // [3*first[count]]
	int64_t room;      // contacts that other and values hold
} granular_packed;

/// The findings of a worker in a pass; joined by sums of integers and extremes, so that they do not
/// depend on the workers.
typedef struct granular_tally {
	int64_t contacts; // directed
	int64_t wall_contacts;
	double max_overlap;     // as a part of the smaller radius
	double fastest;         // largest squared speed relative to the reference
	double low[3], high[3]; // of the velocities
	int64_t lost;           // smallest id of a sphere whose motion is not finite; INT64_MAX: none
	sim_exact_sum *walls;   // [GRANULAR_MAX_PLANES] of this worker, by bit; NULL: nobody watches
	char pad[128 - 2 * 8 - 2 * 8 - 6 * 8 - 8 - sizeof(sim_exact_sum *)];
} granular_tally;

/// Chooses the skin by measured times (granular_skin.c).
typedef struct granular_skin {
	double least, most;   // allowed
	double ms;            // spent since the present list was asked for
	int64_t steps;        // done since
	double best, best_ms; // skin with the lowest time a step so far, and that time
	double factor;        // of the next trial
	int failures;         // trials without gain since the last gain
	int64_t rest;         // lists before the next trial
	int64_t rest_length;
} granular_skin;

/// Tells when sorting the arrays pays (granular_sort.c).
typedef struct granular_sorting {
	double ms; // of the last sorting
	// milliseconds of a step for a unit of work (crowded spheres and entries) right after it; 0:
	// not known
	double rate;
	double excess; // milliseconds lost since then
	int64_t steps; // since then
} granular_sorting;

/// Steps that free spheres stay behind, at most: memory is read and written for them once in so
/// many.
enum { GRANULAR_MOST_LAG = 16 };

/// Free spheres and the steps that they missed (granular_update.c).
typedef struct granular_lag {
	bool open;                          // it is known who is free
	int steps;                          // that the free are behind
	double gains[GRANULAR_MOST_LAG][3]; // of velocity by gravity in each
	// of free spheres to walls when it was found, and how far any has come since
	double margin, way;
	double low[3], high[3]; // of the velocities
	double speed;           // bound on those relative to the reference
	// by blocks, from the index of each block's first sphere on: lone but not free
	uint32_t *wary;
	uint32_t *wary_counts; // [block_count]
} granular_lag;

/// Bodies of other kinds that touch spheres in a step (granular_touches.c).
typedef struct granular_touches {
	sim_granular_touch *touches; // [count] by sphere
	double *springs;             // [3*count]; NULL where the law has none
	uint8_t *taken;              // [count] has a touch of the next step the spring? NULL likewise
	sim_granular_reaction *reactions;
	int64_t count, room;
} granular_touches;

/// What a simulation that is shared out to ranks keeps of that (granular_share.h).
typedef struct granular_share granular_share;

struct sim_granular {
	carom_context *context;
	carom_spheres *detector;
	carom_allocator allocator;
	sim_granular_def def;  // without the arrays
	int64_t count;         // of this rank's own spheres; ghosts come behind them
	int64_t total;         // of the spheres of all ranks; count where nothing is shared
	int64_t room;          // spheres that the arrays hold, ghosts included
	granular_share *share; // NULL: not shared
	size_t bytes;
	bool failed; // a step went wrong
	bool turns;  // spheres have spins

	granular_place *places;
	granular_motion *motions;
	granular_spin *spins; // NULL unless turns
	uint32_t *ids;
	// of a shared simulation: rows in packed, and whether other ranks have a ghost of a sphere
	uint32_t *rows;
	uint8_t *border;
	double mean_radius, least_radius, largest_radius, mass;

	granular_coefficients between, against; // spheres, walls
	int64_t steps;
	double gravity[3];
	double step_limit, step_limit_pair, max_overlap;

	granular_plane planes[GRANULAR_MAX_PLANES];
	int32_t plane_count;
	double inner_low[3], inner_high[3]; // a centre within touches no face
	// [count] bits of the walls touched in the last step; NULL when walls keep no history
	uint16_t *wall_touched;
	double *wall_history; // [3*wall_slots*count], of touched walls only
	int32_t wall_slots;

	// [total] by id: 1 and the number of the sphere's first touch; 0: none. NULL unless
	// def.touches.
	uint32_t *touch_rows;
	bool touches_fresh; // touches are of the coming step; else of the last one
	granular_touches touches, touches_before;

	carom_sphere_neighbours list;
	bool listed;     // there is a list
	uint32_t *crowd; // [crowd_count] crowded spheres, ascending
	// [load_width*crowd_count] force on each, and torque where spheres turn
	double *loads;
	int32_t load_width; // 4 (the last of no use), or 6 where spheres turn
	int64_t crowd_count, crowd_room;
	granular_block *blocks; // [block_count+1]
	int64_t block_count, block_room;
	// by blocks; each contact within a block once, each to another block in both
	granular_job *jobs;
	// those of them that can touch before near_moved is half near_skin; NULL where spheres turn
	granular_job *near;
	granular_side_entry *sides; // of the jobs; NULL without histories
	int64_t job_room;
	bool near_chosen, near_holds; // is there a choice; does it hold in this step?
	double near_skin, near_moved; // bound on the displacement since they were chosen
	uint32_t *halo;
	int64_t halo_room;
	double *desks; // [workers][desk_room]
	int64_t desk_room;
	bool with_history;    // contacts between spheres have histories
	uint8_t *touched;     // [entries] did the two touch in the last step?
	double *history;      // [3*entries], where touched
	int64_t history_room; // entries that they hold
	granular_packed packed;

	double skin;
	double moved;    // bound on the displacement since the list was made, beside a common one
	double extent;   // bound on the coordinates
	double drift[3]; // the common displacement since then
	// [3*count] places when the list was made; NULL: without a skin no list holds
	double *held;
	double reference[3]; // velocity that displacements are taken relative to
	granular_skin choice;
	granular_sorting sorting;
	int64_t list_builds, sorts;
	bool list_built, sorted; // in this step
	bool prepared;           // the list is that of the coming step (sim_granular_prepare)
	double ms_prepared;      // which took so long

	granular_lag lag;
	bool few_crowded; // a good part of the spheres, on all ranks, has no neighbours

	// Spheres on a device; and where the present state is: here, here with the springs of contacts,
	// there.
	carom_grains *grains; // NULL: everything is done here
	bool host_fresh, springs_fresh, device_fresh;

	sim_granular_mark mark; // the caller's

	granular_tally *tallies; // [workers]
	// [workers + 1][GRANULAR_MAX_PLANES], those of all steps first; NULL: nobody watches
	sim_exact_sum *wall_sums;
	granular_tally last; // all of them, of the last step
	int workers;
};

// ---- Memory (granular_memory.c) ----

/// Memory of the simulation's allocator: size bytes, aligned to a cache line; NULL when short.
/// Counted in bytes.
void *granular_alloc(sim_granular *granular, size_t size);
void granular_free(sim_granular *granular, void *pointer, size_t size);
/// Put "out of memory" into error; false.
bool granular_no_memory(const char *what, sim_error *error);

// ---- Definition (granular_check.c) ----

/// Check all but the spheres themselves; the field at fault in error.
bool granular_check(const sim_granular_def *def, sim_error *error);
/// Check the spheres; the first one at fault in error.
bool granular_check_spheres(const sim_granular_def *def, sim_error *error);
/// Number i of a strided array, component k.
double granular_read_scalar(const carom_strided *array, int64_t i, int components, int k);

// ---- Laws (granular_law.c) ----

granular_coefficients granular_make_coefficients(const sim_granular_law *law);
/// Bound on the time step for that many contacts of the lightest sphere, and overlaps up to this
/// part of its radius.
double granular_step_limit(const sim_granular *granular, double contacts, double overlap);

// ---- Walls (granular_walls.c) ----

/// Put the walls where they are now.
void granular_place_walls(sim_granular *granular);
/// Could this sphere, whose place is at hand, touch a wall, or did it in the last step (and its
/// history must end)?
static inline bool granular_near_wall_at(const sim_granular *g, const double place[3], int64_t index)
{
	const double x = place[0], y = place[1], z = place[2];
	if ((x < g->inner_low[0]) | (x > g->inner_high[0]) | (y < g->inner_low[1]) | (y > g->inner_high[1]) |
		(z < g->inner_low[2]) | (z > g->inner_high[2]))
		return true;
	return g->def.moving_count > 0 || (g->wall_touched && g->wall_touched[index]) ||
		(g->touch_rows && g->touch_rows[g->ids[index]]);
}
static inline bool granular_near_wall(const sim_granular *g, int64_t index)
{
	const granular_place *p = &g->places[index];
	return granular_near_wall_at(g, (const double[3]){ p->x, p->y, p->z }, index);
}
/// Add force and torque of all walls, and of the bodies that touch it, on a sphere to load
/// [load_width], and go on with its histories of these. Different spheres may run at the same time.
void granular_add_walls(sim_granular *granular, int64_t index, double *load, granular_tally *tally);
/// Energy of the springs between a sphere and the walls.
double granular_wall_energy(const sim_granular *granular, int64_t index);

// ---- Sums of walls (granular_wall_sums.c) ----

/// The step is done: add the workers' sums to those of all steps.
void granular_join_wall_sums(sim_granular *granular);
void granular_free_wall_sums(sim_granular *granular);

// ---- Touches (granular_touches.c) ----

/// Add force and torque of the bodies that touch a sphere to load [load_width], and note the
/// reactions. Different spheres may run at the same time.
void granular_add_touches(sim_granular *granular, int64_t index, double *load, granular_tally *tally);
/// Room for count touches; the content is lost when it grows. False when memory is short.
bool granular_reserve_touches(sim_granular *granular, granular_touches *touches, int64_t count);
/// Lead from spheres to their first touches, or no more.
void granular_mark_touches(sim_granular *granular, const granular_touches *touches, bool on);
/// The step is done: its touches are over.
void granular_end_touches(sim_granular *granular);
void granular_free_touches(sim_granular *granular);

// ---- Passes ----

/// Forces on all crowded spheres into loads (granular_forces.c).
void granular_compute_forces(sim_granular *granular);
/// Give both sides of each contact its history, of which one was kept up to date
/// (granular_forces.c).
void granular_mirror_histories(sim_granular *granular);
/// Energy of the springs of a sphere's contacts with others, half of each (granular_forces.c).
double granular_pair_energy(const sim_granular *granular, int64_t index, int32_t *contacts);
/// Velocities and places of all spheres except those that may lag behind (granular_update.c).
void granular_update(sim_granular *granular);
/// Bring those up to now (granular_update.c).
void granular_catch_up(sim_granular *granular);

/// Set all tallies back.
void granular_clear_tallies(sim_granular *granular);
/// All tallies in one, those of other ranks too.
granular_tally granular_join_tallies(sim_granular *granular);

// ---- Blocks (granular_blocks.c) ----

/// Index of a block's local.
static inline uint32_t granular_member(const sim_granular *g, const granular_block *block, uint32_t local)
{
	const int64_t crowd = block[1].crowd - block->crowd;
	return local < crowd ? g->crowd[block->crowd + local] : g->halo[block->halo + local - crowd];
}

/// Find the crowd, and cut the present list into blocks and jobs.
bool granular_make_blocks(sim_granular *granular, sim_error *error);
void granular_free_blocks(sim_granular *granular);

// ---- Order in memory (granular_sort.c) ----

/// Would sorting the arrays pay?
bool granular_sorting_pays(const sim_granular *granular);
/// Bring the arrays into the order of indices.
bool granular_permute(sim_granular *granular, const uint32_t *order);

// ---- List of neighbours (granular_list.c) ----

/// A detector in the space of the simulation. NULL, with the reason in error.
carom_spheres *granular_new_detector(const sim_granular *granular, carom_sphere_method method, double skin, sim_error *error);

/// Make sure that the list holds all that touches now. Sorts the arrays when that pays.
bool granular_keep_list(sim_granular *granular, sim_error *error);
/// Note the time of a step, for the choice of sorting and skin.
void granular_note_times(sim_granular *granular, double ms_detection, double ms_update);

// ---- Histories (granular_history.c) ----

/// Make room in granular->packed for a row of each sphere, and so many contacts; what grows loses
/// its content.
bool granular_pack_room(sim_granular *granular, int64_t contacts, sim_error *error);
/// Gather the histories by ids into granular->packed.
bool granular_pack_histories(sim_granular *granular, sim_error *error);
/// Give the present list's entries the packed histories.
bool granular_unpack_histories(sim_granular *granular, sim_error *error);
void granular_free_packed(sim_granular *granular);

// ---- Skin (granular_skin.c) ----

void granular_start_skin(sim_granular *granular);
/// The list is to be rebuilt: the skin it should have.
double granular_next_skin(sim_granular *granular);

// ---- On a device (granular_device.c) ----

/// Check what a device leaves out, and make spheres on it. After all else is made.
bool granular_open_device(sim_granular *granular, sim_error *error);
/// Steps there, into steps [count], which may be NULL. Adds to *done.
bool granular_steps_on_device(sim_granular *granular, int64_t count, sim_granular_step *steps, int64_t *done, sim_error *error);
/// Bring places and motions here, and the springs of contacts where asked to, if they are not.
bool granular_fetch(sim_granular *granular, bool springs, sim_error *error);

// ---- Making (granular.c) ----

/// Take arrays for granular->room spheres, all but their contents. False when memory is short:
/// then some are there.
bool granular_take_arrays(sim_granular *granular);
void granular_drop_arrays(sim_granular *granular);
/// A simulation that holds the spheres of the ids from first to last - 1 alone, and knows of the
/// others what sums and extremes tell; NULL with error.
sim_granular *granular_create_range(
	carom_context *context, const sim_granular_def *def, int64_t first, int64_t last, sim_error *error);

#endif
