/// @file life.h
/// The whole life of two worlds that are told the same (fuzz_life.c): what its files share.
/// World 0 has one thread, the widest kernels and memory that may fail; world 1 has four threads, scalar kernels and another broad
/// phase. All that they tell must be equal, to the bit.
#ifndef TESTS_FUZZ_LIFE_H
#define TESTS_FUZZ_LIFE_H

#include "fuzz.h"

enum { LIFE_MESHES = 16, LIFE_BODIES = 24, LIFE_SLOTS = 3, LIFE_PARTS = 4, LIFE_SPHERES = 40 };

/// Kinds of bodies, as bits for life_id_of.
enum {
	LIFE_RIGID = 1 << CAROM_STATIC | 1 << CAROM_KINEMATIC | 1 << CAROM_DYNAMIC,
	LIFE_SOFT = 1 << CAROM_DEFORMABLE | 1 << CAROM_CLOTH,
	LIFE_GRAINS = 1 << CAROM_GRANULAR,
};

/// Bytes of a recording or a snapshot.
typedef struct life_tape {
	uint8_t *bytes;
	size_t size, room, at;
} life_tape;
bool life_write(const void *bytes, size_t count, void *user);
bool life_read(void *bytes, size_t count, void *user);

/// Where the numbers come from: the input's bytes, and random ones behind their end.
typedef struct life_stream {
	fuzz_bytes bytes;
	uint64_t random;
} life_stream;

typedef struct life {
	carom_context *context[2];
	carom_world *world[2];
	carom_mesh *mesh[2][LIFE_MESHES];
	carom_snapshot *slot[2][LIFE_SLOTS]; ///< slot 0: of a rewind; 1: what is kept; 2: for comparisons
	bool kept;                           ///< slot 1 holds a state
	carom_body_id ids[LIFE_BODIES];      ///< the oldest ones of these may be gone
	int id_count;
	carom_body_id kept_ids[LIFE_BODIES];
	int kept_count;
	life_stream stream;
	carom_world_def def;
	bool failing;   ///< memory of world 0 fails now and then
	bool rewinding; ///< within a rewind, which may not begin another one or a recording
	bool recording;
	life_tape tape[2];
	const char *action; ///< the name of the one under way
	int calls;
} life;

// ---- Numbers ----

uint64_t life_random(life *l);
int life_choose(life *l, int count);
/// In [-1, 1].
double life_signed(life *l);
carom_vec3 life_vector(life *l, double size);
/// Most often near others and on a coarse lattice, so that faces lie flush; now and then a wrong one.
carom_pose life_pose(life *l);
/// A length from 0.05 to 1; now and then one that is known for trouble.
double life_length(life *l);
/// A shape; its mesh is that of world 0 (life_shape_of).
carom_shape life_shape(life *l);
/// The shape as world w takes it, with the mesh of its context.
carom_shape life_shape_of(const life *l, carom_shape shape, int w);
/// How a body takes part, and whom it meets.
void life_read_traits(life *l, carom_body_def *def);
void life_read_filter(life *l, carom_body_def *def);
/// Mesh number of a world, of 0 to LIFE_MESHES - 1: equal ones for equal seeds.
carom_mesh *life_make_mesh(life *l, int w, int number, uint64_t seed);
/// Some id that was given; the body may be gone.
carom_body_id life_id(life *l);
/// An id of a body of one of these kinds (bits 1 << kind), null if a few tries found none.
carom_body_id life_id_of(life *l, unsigned kinds);

// ---- Calls ----

/// The state of a world: all that a snapshot compares.
uint64_t life_state(life *l, int w);
void life_arm(life *l, int w, bool armed);

/// Make a call, in which w is the number of the world, on both worlds: equal answers. A call of world 0 that found no memory has
/// changed nothing; it is made again and must then do what it should.
#define LIFE_BOTH(l, result, call)                                                                                      \
	do {                                                                                                                \
		for (int w = 0; w < 2; w++) {                                                                                   \
			const bool fails = (l)->failing && w == 0;                                                                  \
			const uint64_t before = fails ? life_state(l, 0) : 0;                                                       \
			life_arm(l, w, fails);                                                                                      \
			(result)[w] = (call);                                                                                       \
			life_arm(l, w, false);                                                                                      \
			if (!fails || (result)[w] == CAROM_SUCCESS)                                                                 \
				continue;                                                                                               \
			FUZZ_REQUIRE(                                                                                               \
				life_state(l, 0) == before, "%s: a call that failed (%d) changed something", (l)->action, (result)[w]); \
			if ((result)[w] == CAROM_OUT_OF_MEMORY)                                                                     \
				(result)[w] = (call);                                                                                   \
		}                                                                                                               \
		FUZZ_REQUIRE((result)[0] == (result)[1], "%s: %d %s and %d %s", (l)->action, (result)[0],                       \
			carom_error_text((l)->context[0]), (result)[1], carom_error_text((l)->context[1]));                         \
	} while (0)

/// An action of the table: its name, and how many of 100 or so choices are of it.
typedef struct life_action {
	const char *name;
	void (*run)(life *l);
	int weight;
} life_action;
/// The tables end with an action without a name.
extern const life_action life_body_actions[], life_setting_actions[], life_query_actions[], life_surface_actions[];

/// Check the results of a step of both worlds.
void life_check_step(life *l);

#endif
