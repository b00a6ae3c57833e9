/// Spheres on a device, for the files that make them (gpu_grains.c), bring their state there and
/// back (gpu_grains_state.c) and do their steps (gpu_grains_steps.c). See carom/grains.h, and
/// shaders/grains.glsl for the kernels.
#ifndef CR_VULKAN_GPU_GRAINS_H
#define CR_VULKAN_GPU_GRAINS_H

#include "carom/grains.h"
#include "vulkan/gpu_tree.h"
#include "vulkan/vk_kernels.h"

enum {
	GRAINS_COOKIE = 0x43677231,
	BATCH = 16,          // steps of a submission
	ROW_GUESS = 8,       // entries of a row, of the first list
	SLOTS = 24,          // grains_rows.glsl
	MOST_ROOM = 1 << 30, // entries of all rows: numbers of springs have 32 bits
};

/// As grains.glsl has it.
typedef struct grains_law {
	double stiffness, modulus, shear, damping, damping_root;
	double tangential_stiffness, tangential_damping, friction, rolling_friction;
	uint32_t flags, none;
} grains_law;
enum { HERTZ = 1, SCALED = 2, TANGENTIAL = 4, ROLLING = 8 };

typedef struct grains_setup {
	uint64_t places, motions, spins, loads, held;
	uint64_t floats, in_order, order, nodes;
	uint64_t counts, sums, slots;
	uint64_t first[2], other[2], springs[2];
	uint64_t wall_marks, wall_springs;
	uint64_t tallies, control, moments, results, groups, wanted;
	double time_step;
	double origin[3], lower[3], upper[3];
	grains_law between, against;
	uint64_t room[2];
	uint32_t count, flags, wall_slots, group_count;
	uint32_t list_slots, all_slots;
	float allowed, add, near, far, most_moved, widest;
} grains_setup;
enum { PERIODIC = 1, TURNS = 8, HISTORIES = 16, ORDERED = 32 };

enum { STOP, CURRENT, HAS_LIST, MOVED, BUILT, STEP, LISTS, EXTENT, CONTROLS };
enum { STOP_ROOM = 1, STOP_EXTENT = 2, STOP_LOST = 4 };
enum { BEGIN, CHECK, FLIP }; // of grains_steer.comp

typedef struct grains_plane {
	double normal[3], offset, velocity[3];
	uint32_t bit, slot;
} grains_plane;

typedef struct grains_moment {
	double gravity[3];
	uint32_t plane_count, none;
	grains_plane planes[CAROM_GRAINS_MAX_WALLS];
} grains_moment;

typedef struct grains_result {
	double overlap;
	uint32_t contacts, wall_contacts, lost, built;
	float moved;
	uint32_t none;
} grains_result;

enum { TALLY_BYTES = 24 };
_Static_assert(sizeof(grains_plane) == 64 && sizeof(grains_moment) == 32 + 16 * 64, "as std430 has it");
_Static_assert(sizeof(grains_result) == 32 && sizeof(grains_law) == 80, "as std430 has it");

/// Where the spheres are, and how large.
typedef struct grains_span {
	double origin[3], extent, largest_radius; // a coordinate is at most extent from the origin
} grains_span;

struct carom_grains {
	carom_context *context;
	carom_device *device;
	carom_grains_def def;
	uint32_t count;
	bool failed;    // the state on the device is not known
	bool histories; // contacts of spheres have springs
	grains_span span;
	cr_gpu_tree tree; // its first, counts are used, its slots are not
	cr_gpu_buffer places, motions, spins, loads, held, slots;
	cr_gpu_buffer first[2], other[2], springs[2];
	cr_gpu_buffer wall_marks, wall_springs;
	cr_gpu_buffer tallies, control, moments, results, groups, wanted, setup;
	uint64_t room[2];
	uint32_t current; // which rows hold; the device's word for it as it was read last
	bool moved;       // the next step makes a list
	uint32_t lists;   // the device's count of them, likewise
	grains_setup last_setup;
	cr_gpu_gate gate;
	uint32_t last_wanted[CR_GPU_GATE_SLOTS][3];
	uint32_t last_slots;
	carom_grains_stats stats;
};

/// Workgroups that a step's kernels have.
static inline uint32_t cr_grains_groups(const carom_grains *g) { return (g->count + CR_GPU_THREADS - 1) / CR_GPU_THREADS; }

/// Room in one set of rows. Its entries are lost.
carom_result cr_grains_reserve_rows(carom_grains *grains, int which, uint64_t entries);
/// Refuses grains whose state is not known.
carom_result cr_grains_check_ready(carom_grains *grains);
/// Add the bytes copied since `before` to the counts.
void cr_grains_count_bytes(carom_grains *grains, const carom_device_stats *before, bool step);

/// The longest period; and the part of a length that single precision may lose.
double cr_grains_longest_period(const carom_grains *grains);
double cr_grains_slack(const carom_grains *grains);
/// Refuses spheres that single precision cannot tell apart, so far from the origin.
carom_result cr_grains_check_extent(carom_grains *grains);

#endif
