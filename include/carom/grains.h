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

/// The law of a contact of two spheres, or of a sphere and a wall. In its formulas d is the overlap
/// and v the speed of parting; m = m_a m_b / (m_a + m_b) and R = r_a r_b / (r_a + r_b), or for a
/// wall the mass and radius of the sphere.
typedef struct carom_grain_law {
	/// The normal force.
	/// - False, linear: k s d - damping_root sqrt(m s) v, with k = stiffness, and s = R with
	///   scaled, else 1.
	/// - True, Hertz: 2/3 S d - damping sqrt(S m) v, with S = 2 modulus sqrt(R d).
	bool hertz;
	bool scaled;
	/// True: there is a tangential force, of a spring and a dashpot, together at most friction
	/// times the normal force. The spring is stretched by the sliding since the contact began, and
	/// turns with the contact.
	/// - Linear: the spring has the stiffness tangential_stiffness s, the dashpot
	///   tangential_damping times the normal one.
	/// - Hertz: the spring has the stiffness T = 8 shear sqrt(R d), the dashpot is damping sqrt(T
	///   m).
	bool tangential;
	/// True: there is a torque against rolling, rolling_friction times R times the normal force,
	/// but no more than stops the rolling within the step.
	bool rolling;
	double stiffness;
	double modulus, shear;
	double damping, damping_root;
	double tangential_stiffness, tangential_damping;
	double friction, rolling_friction;
} carom_grain_law;

/// A plane; spheres are on the side to which its normal points.
typedef struct carom_grain_wall {
	double normal[3];   ///< unit
	double offset;      ///< distance from the origin along the normal
	double velocity[3]; ///< of its material
	/// Below CAROM_GRAINS_MAX_WALLS; each wall has another one. Springs of a wall belong to its
	/// number.
	uint32_t number;
	/// The place of its springs, below carom_grains_def.wall_springs. Walls that no sphere can
	/// touch at once may share one.
	uint32_t spring;
} carom_grain_wall;

/// How to make grains. Start from carom_default_grains_def.
typedef struct carom_grains_def {
	int cookie;           ///< set by carom_default_grains_def; do not touch
	carom_device *device; ///< of the same context; must have doubles, and outlive the grains
	int64_t count;        ///< 0 to CAROM_GRAINS_MAX_COUNT
	double time_step;     ///< above 0
	/// Added to every sum of radii in the list of neighbours, which holds while no sphere has moved
	/// by more than half of it. Not negative; 0: a list is made in each step.
	double skin;
	/// The axes along which space repeats, with the length of the box: there lower < upper, more
	/// than 4 * (largest radius + skin) apart. Along other axes the box is not read.
	bool periodic[3];
	double lower[3], upper[3];
	carom_grain_law spheres, walls;
	/// Spheres have spins. Tangential and rolling laws need this.
	bool turns;
	/// Places for springs of walls, for each sphere; 0: walls have no springs.
	int32_t wall_springs;
} carom_grains_def;

/// No spheres, no device, no skin, not periodic, all coefficients of laws 0. Thread-safe.
CAROM_API carom_grains_def carom_default_grains_def(void);

/// Spheres on a device, with all that their steps need there. Calls on one of them must not
/// overlap.
typedef struct carom_grains carom_grains;

/// Make spheres on a device. All are points at rest until carom_grains_set_state.
/// CAROM_INVALID_ARGUMENT names the field. CAROM_UNSUPPORTED: the device has no doubles, or no
/// buffers as large. CAROM_OUT_OF_MEMORY, CAROM_OVER_BUDGET, CAROM_DEVICE_FAILED. On failure
/// *grains is NULL. Thread-safe.
CAROM_API carom_result carom_create_grains(
	carom_context *context, const carom_grains_def *def, carom_grains **grains);

/// Destroy grains, before their device. NULL does nothing.
CAROM_API void carom_destroy_grains(carom_grains *grains);

/// All that later steps depend on. Springs are stored by sphere, so both spheres of a contact have
/// an entry.
typedef struct carom_grains_state {
	double *places;  ///< [4*count] x, y, z, radius (above 0); within the box along periodic axes
	double *motions; ///< [4*count] velocity, 1 / mass
	double *spins;   ///< [4*count] angular velocity, 1 / moment of inertia; NULL without turns
	/// [count] a bit for each wall number that the sphere touched in the last step. NULL: none when
	/// set, not wanted when read.
	uint32_t *wall_marks;
	/// [3*wall_springs*count] springs of walls, of use where the bit of the wall is set. NULL if
	/// wall_marks is.
	double *wall_springs;
	/// [count+1] contacts of sphere i are first[i] to first[i+1]-1. NULL: none when set, not wanted
	/// when read. Only with a tangential force between spheres.
	int64_t *first;
	uint32_t *other; ///< [first[count]] the other sphere, ascending for each sphere
	double *springs; ///< [3*first[count]] one vector for each contact
} carom_grains_state;

/// Copy a state to the device; the arrays are only read. The next step makes a list of neighbours.
/// CAROM_INVALID_ARGUMENT names the array, or the sphere at fault.
CAROM_API carom_result carom_grains_set_state(
	carom_grains *grains, const carom_grains_state *state);

/// Tell how many entries carom_grains_get_state will write to other and springs (three numbers
/// each). Reads the rows from the device.
CAROM_API carom_result carom_grains_count_springs(carom_grains *grains, int64_t *count);

/// Read the state from the device into those arrays of the caller's that are not NULL. other and
/// springs must have room for carom_grains_count_springs entries.
CAROM_API carom_result carom_grains_get_state(carom_grains *grains, carom_grains_state *state);

/// Gravity and walls of a step.
typedef struct carom_grains_moment {
	double gravity[3];
	int32_t wall_count;
	const carom_grain_wall *walls; ///< [wall_count]
} carom_grains_moment;

/// Counts of one step.
typedef struct carom_grains_step {
	int64_t contacts; ///< touching pairs at its beginning
	int64_t wall_contacts;
	double max_overlap; ///< of spheres, as a part of the smaller radius
	bool list_built;
} carom_grains_step;

/// Do count steps, with moments [count], one for each: v += dt F(x, v) / m, then x += dt v. steps
/// [count] receives their counts; it may be NULL. *done is the number of steps that were done,
/// which is below count only on failure; it may be NULL. Up to 16 steps are one submission, at
/// whose end the processor reads 32 bytes of each. Lists that do not fit get more room by
/// themselves.
///
/// CAROM_INVALID_ARGUMENT names the argument, or a sphere whose motion is not finite or which has
/// gone too far for its radius.
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
	/// A trial has shown that the device adds, multiplies, divides and takes square roots as IEEE
	/// 754 says, and fuses nothing. Then a trajectory has the bits of the processor's.
	bool exact;
} carom_grains_stats;

/// Counts since the grains were made. Thread-safe while no call uses the grains.
CAROM_API carom_grains_stats carom_grains_get_stats(const carom_grains *grains);

/// The buffers of the grains. carom_grains_state tells their contents, with one difference: rows
/// hold all neighbours, touching or not. first has [count+1] numbers of 64 bits. An entry of other
/// has CAROM_GRAINS_TOUCHED set where the two touched in the last step; only there springs are of
/// use.
typedef struct carom_grains_buffers {
	carom_device_buffer places, motions, spins, wall_marks, wall_springs;
	carom_device_buffer first, other, springs;
	carom_device_buffer loads; ///< [6*count] force and torque of the last step, doubles
} carom_grains_buffers;

/// The bit of an entry of other that says that both spheres touched in the last step. The other
/// bits are the number of the sphere.
#define CAROM_GRAINS_TOUCHED 0x80000000u

/// Tell the buffers; they are valid until the next call on the grains. The library's work on them
/// is done by then. A caller who writes to places must call carom_grains_set_moved before the next
/// step.
CAROM_API carom_result carom_grains_get_buffers(
	carom_grains *grains, carom_grains_buffers *buffers);

/// Say that kernels of the caller's have moved spheres: the next step makes a list.
CAROM_API void carom_grains_set_moved(carom_grains *grains);

#ifdef __cplusplus
}
#endif
#endif
