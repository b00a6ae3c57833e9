/// @file grains.h
/// Spheres that live on a graphics device: places, motions, spins and the springs of their contacts
/// stay there, and whole steps of the discrete element method run there. The list of neighbours is
/// made again where the device finds that its skin is used up. Nothing goes to and fro within a
/// step; the state is read when it is asked for, and buffers can be handed to kernels of the
/// caller's.
///
/// Each sphere sums the forces on it over its neighbours in the order of their numbers, then over
/// the walls in the order given, in double precision, from the state before the step. So a
/// trajectory depends on no skin, list, subgroup size or driver, as long as the device rounds as
/// IEEE 754 says (carom_grains_stats.exact tells).
///
/// The unit system is the caller's.
#ifndef CAROM_GRAINS_H
#define CAROM_GRAINS_H

#include "carom/vulkan.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The most spheres, and the most walls.
#define CAROM_GRAINS_MAX_COUNT 50000000
#define CAROM_GRAINS_MAX_WALLS 16

/// The law of a contact of two spheres, or of a sphere and a wall. d: overlap; v: speed of parting;
/// m = m_a m_b / (m_a + m_b), R = r_a r_b / (r_a + r_b), of a wall the sphere's own.
typedef struct carom_grain_law {
	/// Normal force. False (linear): k s d - damping_root sqrt(m s) v, with k = stiffness and s = R
	/// where scaled, else 1. True (Hertz): 2/3 S d - damping sqrt(S m) v, with
	/// S = 2 modulus sqrt(R d).
	bool hertz;
	bool scaled;
	/// Is there a tangential force: a spring, stretched by the sliding since the contact began and
	/// turned with the contact, and a dashpot, together at most friction times the normal force?
	/// Linear: stiffness tangential_stiffness s, dashpot tangential_damping times the normal one.
	/// Hertz: stiffness T = 8 shear sqrt(R d), dashpot damping sqrt(T m).
	bool tangential;
	/// Is there a torque against rolling: rolling_friction times R times the normal force, but no
	/// more than stops the rolling within the step?
	bool rolling;
	double stiffness;
	double modulus, shear;
	double damping, damping_root;
	double tangential_stiffness, tangential_damping;
	double friction, rolling_friction;
} carom_grain_law;

/// A plane with spheres on the side to which its normal points.
typedef struct carom_grain_wall {
	double normal[3];   ///< unit
	double offset;      ///< of its points along the normal
	double velocity[3]; ///< of its material
	uint32_t number;    ///< below CAROM_GRAINS_MAX_WALLS, of one wall each: whose springs it has
	/// Place of its springs, below carom_grains_def.wall_springs. Walls that no sphere can touch at
	/// once may share one.
	uint32_t spring;
} carom_grain_wall;

/// Start from carom_default_grains_def.
typedef struct carom_grains_def {
	int cookie;           ///< set by carom_default_grains_def; do not touch
	carom_device *device; ///< of the same context; must have doubles, and outlive the grains
	int64_t count;        ///< 0 to CAROM_GRAINS_MAX_COUNT
	double time_step;     ///< above 0
	/// Of the list of neighbours, which holds while no sphere has moved by more than half of it; 0:
	/// it is made in each step. Not negative.
	double skin;
	/// Along which axes space repeats, with the length of the box; there lower < upper, more than
	/// 4 * (largest radius + skin) apart. Other axes do not read the box.
	bool periodic[3];
	double lower[3], upper[3];
	carom_grain_law spheres, walls;
	bool turns;           ///< do spheres have spins? Laws across the normal need them
	int32_t wall_springs; ///< places for springs of walls, for each sphere; 0: walls have none
} carom_grains_def;

/// No spheres, no device, no skin, laws of zeros. Thread-safe.
CAROM_API carom_grains_def carom_default_grains_def(void);

/// Spheres on a device, with all that their steps need there.
typedef struct carom_grains carom_grains;

/// Make spheres on a device. All are points at rest until carom_grains_set_state.
/// CAROM_INVALID_ARGUMENT names the field. CAROM_UNSUPPORTED: the device has no doubles, or no
/// buffers as large. CAROM_OUT_OF_MEMORY, CAROM_OVER_BUDGET, CAROM_DEVICE_FAILED. On failure
/// *grains is NULL. Thread-safe.
CAROM_API carom_result carom_create_grains(
	carom_context *context, const carom_grains_def *def, carom_grains **grains);

/// Destroy them. NULL does nothing.
CAROM_API void carom_destroy_grains(carom_grains *grains);

/// All that coming steps depend on. Arrays of contacts, rows of each sphere, hold both sides of a
/// contact.
typedef struct carom_grains_state {
	double *places;  ///< [4*count] x, y, z, radius (above 0); within the box along periodic axes
	double *motions; ///< [4*count] velocity, 1 / mass
	double *spins;   ///< [4*count] angular velocity, 1 / moment of inertia; NULL without turns
	/// [count] a bit for each wall that the sphere touched in the last step. NULL: none, and not
	/// wanted.
	uint32_t *wall_marks;
	/// [3*wall_springs*count], of use where the bit is set. NULL together with wall_marks.
	double *wall_springs;
	/// [count+1] contacts of sphere i are first[i] to first[i+1]-1. NULL: none, and not wanted.
	/// Only with a tangential force between spheres.
	int64_t *first;
	uint32_t *other; ///< [first[count]] ascending for each sphere
	double *springs; ///< [3*first[count]]
} carom_grains_state;

/// Bring a state to the device; it is only read. The next step makes a list.
/// CAROM_INVALID_ARGUMENT names the array, or the sphere at fault.
CAROM_API carom_result carom_grains_set_state(
	carom_grains *grains, const carom_grains_state *state);

/// How many contacts have springs now: the room that carom_grains_get_state needs in other and
/// springs. Reads the rows from the device.
CAROM_API carom_result carom_grains_count_springs(carom_grains *grains, int64_t *count);

/// Read the state, where an array of the caller's is given. other and springs must have room for
/// carom_grains_count_springs.
CAROM_API carom_result carom_grains_get_state(carom_grains *grains, carom_grains_state *state);

/// Gravity and walls of a step.
typedef struct carom_grains_moment {
	double gravity[3];
	int32_t wall_count;
	const carom_grain_wall *walls; ///< [wall_count]
} carom_grains_moment;

/// Counts of a step.
typedef struct carom_grains_step {
	int64_t contacts; ///< touching pairs at its beginning
	int64_t wall_contacts;
	double max_overlap; ///< of spheres, as a part of the smaller radius
	bool list_built;
} carom_grains_step;

/// Do count steps, one for each moment: v += dt F(x, v) / m, x += dt v. Up to 16 steps are one
/// submission, at whose end the processor reads 32 bytes of each. steps [count] may be NULL. *done:
/// how many were done, where that fails; may be NULL. CAROM_INVALID_ARGUMENT also where the motion
/// of a sphere is not finite, or it has gone too far for its radius; the text names it. Lists that
/// do not fit make room and go on.
CAROM_API carom_result carom_grains_advance(carom_grains *grains, int32_t count,
	const carom_grains_moment *moments, carom_grains_step *steps, int32_t *done);

/// Counts since the grains were made.
typedef struct carom_grains_stats {
	int64_t steps, lists;
	int64_t entries;              ///< of the last list, each pair twice
	int64_t submissions;          ///< of steps
	int64_t retries;              ///< submissions that a list ended which did not fit
	int64_t bytes_up, bytes_down; ///< of all calls
	int64_t step_up, step_down;   ///< of carom_grains_advance alone
	uint64_t bytes;               ///< of device memory
	/// A trial has shown that the device adds, multiplies, divides, draws roots as IEEE 754 wants,
	/// and fuses nothing. Then a trajectory has the bits of the processor's.
	bool exact;
} carom_grains_stats;

/// Counts. Thread-safe while no call uses the grains.
CAROM_API carom_grains_stats carom_grains_get_stats(const carom_grains *grains);

/// A buffer of Vulkan for kernels of the caller's. buffer: the VkBuffer. 0 where there is none.
typedef struct carom_device_buffer {
	uint64_t buffer;
	uint64_t address; ///< of the device
	uint64_t size;    ///< bytes
} carom_device_buffer;

/// The buffers of the grains, in the order of carom_grains_state: its comments tell the contents.
/// Rows hold all neighbours, whether they touch or not: first [count+1] of 64 bits, other with
/// CAROM_GRAINS_TOUCHED where both touched in the last step; only there springs are of use.
typedef struct carom_grains_buffers {
	carom_device_buffer places, motions, spins, wall_marks, wall_springs;
	carom_device_buffer first, other, springs;
	carom_device_buffer loads; ///< [6*count] force and torque of the last step, doubles
} carom_grains_buffers;

/// The mark in an entry of other: both spheres touched in the last step. Other bits: the number.
#define CAROM_GRAINS_TOUCHED 0x80000000u

/// The buffers, valid until the next call on the grains. All work of the library on them is done by
/// then. Who writes to places must call carom_grains_set_moved before the next step.
CAROM_API carom_result carom_grains_get_buffers(
	carom_grains *grains, carom_grains_buffers *buffers);

/// The caller's kernels have moved spheres: the next step makes a list.
CAROM_API void carom_grains_set_moved(carom_grains *grains);

#ifdef __cplusplus
}
#endif
#endif
