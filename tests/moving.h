/// Bodies that move as a function of the step alone, over a height field, a large mesh and an open sheet: what the tests of temporal coherence run.
/// Each motion is one that a memory of pairs can get wrong.
#ifndef TESTS_MOVING_H
#define TESTS_MOVING_H

#include "fixture.h"

typedef enum moving_kind {
	MOVING_REST,
	MOVING_JITTER,   // a tenth of a millimetre about the place of rest
	MOVING_SETTLE,   // comes to rest
	MOVING_SLIDE,    // slowly along
	MOVING_ROLL,     // over the ground
	MOVING_SPIN,     // turns in place
	MOVING_RETURN,   // leaves, and comes back
	MOVING_FLY,      // fast, to and fro
	MOVING_TELEPORT, // elsewhere every ten steps
	MOVING_KINDS,
} moving_kind;

enum { MOVING_FIXED = 3, MOVING_BODIES = 27, MOVING_MESHES = 8 };

typedef struct moving_scene {
	carom_context *context;
	carom_mesh *meshes[MOVING_MESHES];
	int count; // of bodies; the first MOVING_FIXED are static
	carom_shape shape[MOVING_BODIES];
	carom_pose rest[MOVING_BODIES];
	moving_kind kind[MOVING_BODIES];
} moving_scene;

/// Open the scene in a context that it takes over: all kinds of motion, or every body of one kind (MOVING_KINDS: all). scenery: with the static
/// bodies.
void moving_open(moving_scene *scene, carom_context *context, moving_kind kind, bool scenery);
void moving_close(moving_scene *scene);
/// Pose of a body in a step: a function of these alone.
carom_pose moving_pose(const moving_scene *scene, int body, int step);

/// A world with all bodies of the scene at their places in a step. ids: [MOVING_BODIES], or NULL.
carom_world *moving_world(const moving_scene *scene, const carom_world_def *def, int step, carom_body_id *ids);
/// Put all bodies of a world of this scene at their places. Ids are as given by moving_world.
void moving_place(const moving_scene *scene, carom_world *world, const carom_body_id *ids, int step);

/// What one world found that another did not, summed over steps.
typedef struct moving_difference {
	int64_t pairs;         // colliding in the full world
	int64_t pairs_missing; // of these, not in the other
	int64_t pairs_added;
	int64_t contacts; // of the full world, of depth 0 or more
	int64_t contacts_missing;
	double deepest_missing;
} moving_difference;

/// Compare the last steps of two worlds of the same bodies. Two contacts are the same when they come from the same vertex, or the same features if
/// there is none. Keep all contacts of a pair (max_contacts_per_pair 0).
void moving_compare(const carom_world *full, const carom_world *other, moving_difference *difference);

#endif
