// What the kernels of a granular step share (gpu_grains.h): the setup, which is one buffer, and the
// words that steer the steps.
//
// Numbers of the motion are doubles, and each operation on them is `precise`: nothing is contracted,
// so the roundings are those of the processor, on a device whose double is that of IEEE 754
// (arithmetic.comp finds out).
//
// address: 0 setup.

struct Law {
	double stiffness, modulus, shear, damping, damping_root;
	double tangential_stiffness, tangential_damping, friction, rolling_friction;
	uint flags, none;
};
const uint HERTZ = 1, SCALED = 2, TANGENTIAL = 4, ROLLING = 8;

// As cr_grains_setup of gpu_grains.c has it.
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Setup
{
	uint64_t places, motions, spins, loads, held;
	uint64_t floats, in_order, order, nodes;
	uint64_t counts, sums, slots;
	uint64_t first[2], other[2], springs[2];
	uint64_t wall_marks, wall_springs;
	uint64_t tallies, control, moments, results, groups, wanted;
	double time_step;
	double origin[3], lower[3], upper[3];
	Law between, against;
	uint64_t room[2]; // entries of rows
	uint count, flags, wall_slots, group_count;
	uint list_slots, all_slots; // of the table of groups: those of the list come first
	float allowed;              // largest coordinate that the margins are for, from the origin
	float add, near, far;       // gpu_tree.h
	float most_moved;           // squared displacement with which the list still holds
	float widest;               // reach of the largest box
};
const uint PERIODIC = 1; // and 2, 4: by axes
const uint TURNS = 8, HISTORIES = 16, ORDERED = 32;

Setup setup = Setup(arguments.address[0]);

layout(buffer_reference, std430, buffer_reference_align = 32) buffer Fours { dvec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Doubles { double at[]; };

// Words of control.
const uint STOP = 0, CURRENT = 1, HAS_LIST = 2, MOVED = 3, BUILT = 4, STEP = 5, LISTS = 6, EXTENT = 7;
const uint STOP_ROOM = 1, STOP_EXTENT = 2, STOP_LOST = 4;

Words control() { return Words(setup.control); }

// An entry of a row: the number of the other sphere, with TOUCHED where the two touched in the last
// step, and so have a spring.
const uint TOUCHED = 1u << 31;

struct Plane {
	double normal[3], offset, velocity[3];
	uint bit, slot;
};
// What a step is given.
struct Moment {
	double gravity[3];
	uint plane_count, none;
	Plane planes[16];
};
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Moments { Moment at[]; };

// What a step has done.
struct Result {
	double overlap;
	uint contacts, wall_contacts, lost, built;
	float moved;
	uint none;
};
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Results { Result at[]; };

// What a workgroup has found.
struct Tally {
	double overlap;
	uint contacts, wall_contacts, lost;
	float moved;
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Tallies { Tally at[]; };

const uint NONE_LOST = ~0u;
