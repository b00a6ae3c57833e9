/// The stream of a recording, as docs/recording.md describes it: the common part of recorder and
/// replay.
#ifndef CR_WORLD_RECORDING_FORMAT_H
#define CR_WORLD_RECORDING_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define CR_RECORDING_MAGIC "CAROMREC"

enum {
	// 1 ended its world before temporal, and knew no CR_RECORD_FORGET; 2 ended it before sweep, its
	// bodies before self_collision, had no motion in its state, and knew no CR_RECORD_SET_VERTICES;
	// 3 ended its bodies before rounding, and knew no CR_RECORD_HULL, no CR_RECORD_SET_PAIR_DATA
	// and no materials; 4 ended its bodies before parts, and its state before free ranges; 5 knew
	// no CR_RECORD_SET_SHAPE, no CR_RECORD_SET_PARTS, no CR_RECORD_SET_MOTIONS, no
	// CR_RECORD_SET_MESH and no contacts that a filter left out in its steps, and ended its world
	// before toi_tolerance, its bodies before continuous, its motions before begin; 6 ended its
	// bodies before contacts, which no body that deforms had; 9 knew no granular bodies; 11 knew no
	// contacts of spheres that a filter left out, and no CR_RECORD_SET_LISTED_IMPULSE; 12 knew no
	// CR_RECORD_SET_SPHERE_BEGINS; 13 ended its world before max_contacts_per_body_pair, and knew
	// no CR_RECORD_SET_BODY_PAIRS and no CR_RECORD_SET_BODY_PAIR_DATA; 14 ended parts before
	// user_data, and knew no CR_RECORD_SET_PART_DATA; 15 knew no CR_RECORD_SET_TRAITS; 16 knew no
	// CR_RECORD_TRIM, no CR_RECORD_GENERATION, no CR_RECORD_SET_ASLEEP and no
	// CR_RECORD_SHIFT_ORIGIN, and ended its motions before asleep; 17 knew no
	// CR_RECORD_SET_SPHERES_BY_ID; 18 knew no part_room, which follows parts that there are, nor
	// how the trees of meshes were built, and did not read the rounding of spheres, capsules,
	// planes and meshes; 19 knew no materials of hulls; 20 wrote height fields as meshes, and knew
	// no CR_RECORD_ADD_BODY_WITH_ID and no CR_RECORD_FIELD.
	CR_RECORDING_VERSION = 21,
	CR_RECORDING_MAGIC_SIZE = 8,
	CR_RECORD_HEAD_SIZE = 12, // opcode, size of the payload
	CR_RECORD_CHECK_SIZE = 8,
};

typedef enum cr_opcode {
	CR_RECORD_END,
	CR_RECORD_WORLD,
	CR_RECORD_MESH,
	CR_RECORD_STATE,
	CR_RECORD_ADD_BODY,
	CR_RECORD_REMOVE_BODY,
	CR_RECORD_SET_POSES,
	CR_RECORD_SET_USER_DATA,
	CR_RECORD_SET_FILTER,
	CR_RECORD_SET_IMPULSE,
	CR_RECORD_STEP,
	CR_RECORD_FORGET,
	CR_RECORD_SET_VERTICES,
	CR_RECORD_HULL,
	CR_RECORD_SET_PAIR_DATA,
	CR_RECORD_SET_SHAPE,
	CR_RECORD_SET_PARTS,
	CR_RECORD_SET_MOTIONS,
	CR_RECORD_SET_MESH,
	CR_RECORD_SET_SPHERES,
	CR_RECORD_SET_LISTED_IMPULSE,
	CR_RECORD_SET_SPHERE_BEGINS,
	CR_RECORD_SET_BODY_PAIRS,
	CR_RECORD_SET_BODY_PAIR_DATA,
	CR_RECORD_SET_PART_DATA,
	CR_RECORD_SET_TRAITS,
	CR_RECORD_TRIM,
	CR_RECORD_GENERATION,
	CR_RECORD_SET_ASLEEP,
	CR_RECORD_SHIFT_ORIGIN,
	CR_RECORD_SET_SPHERES_BY_ID,
	CR_RECORD_ADD_BODY_WITH_ID,
	CR_RECORD_FIELD,
	CR_RECORD_OPCODES,
} cr_opcode;

/// The kinds of entries under a number in the record of the state.
enum { CR_RECORD_NO_BODY, CR_RECORD_BODY, CR_RECORD_FURTHER_PART };

/// The list of contacts that an impulse belongs to. Plain contacts have a record without it.
typedef enum cr_impulse_list {
	CR_IMPULSE_OF_CONTACT,
	CR_IMPULSE_OF_SURFACE,
	CR_IMPULSE_OF_SURFACE_SHAPE,
	CR_IMPULSE_OF_SPHERE,
} cr_impulse_list;

/// In the place of a broad phase: all pairs of bodies (carom_lab).
enum { CR_RECORD_BRUTE = 2 };

/// Which places a record of kind CR_RECORD_SET_VERTICES holds.
enum { CR_RECORD_HAS_BEGIN = 1, CR_RECORD_HAS_END = 2 };

/// Beside the resolution of the grid and the sides in a record of kind CR_RECORD_MESH.
#define CR_RECORD_HAS_MATERIALS 0x1000000u
/// And carom_mesh_def.build, in the bits from here on.
#define CR_RECORD_BUILD_SHIFT 25

/// A contact of a sphere of a granular body that the user's filter has left out.
typedef struct cr_sphere_drop {
	uint64_t pair; // numbers of the parts, the lower << 32 | the higher
	int32_t sphere;
	int32_t number; // among the contacts of the sphere with the part
} cr_sphere_drop;

/// The order of these in a record.
static inline int cr_compare_sphere_drops(const cr_sphere_drop *a, const cr_sphere_drop *b)
{
	if (a->pair != b->pair)
		return a->pair < b->pair ? -1 : 1;
	if (a->sphere != b->sphere)
		return a->sphere < b->sphere ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

#define CR_CHECK_SEED 0xcbf29ce484222325u

/// Sum of all bytes of the stream so far: FNV-1a, 64 bits.
static inline uint64_t cr_check_bytes(uint64_t check, const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check = (check ^ bytes[i]) * 0x100000001b3u;
	return check;
}

/// Little endian on every machine.
static inline void cr_store_le(uint8_t *bytes, uint64_t value, int count)
{
	for (int i = 0; i < count; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
}
static inline uint64_t cr_load_le(const uint8_t *bytes, int count)
{
	uint64_t value = 0;
	for (int i = 0; i < count; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

#endif
