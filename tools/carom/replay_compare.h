/// @file replay_compare.h
/// `carom replay --against-full`: the results of a world that reuses the last steps, against those
/// of one that works everything out in full.
#ifndef CAROM_TOOL_REPLAY_COMPARE_H
#define CAROM_TOOL_REPLAY_COMPARE_H

#include "report.h"

/// Differences of one step, or of many.
typedef struct replay_differences {
	int64_t contacts; ///< of the full world
	int64_t missing;  ///< of these, contacts that the other has not
	int64_t extra;    ///< contacts that only the other has
	int64_t pairs;    ///< colliding, of the full world
	int64_t pairs_missing;
	int64_t pairs_extra;
	double deepest_missing; ///< metres; 0: none
} replay_differences;

/// Start from all zero.
typedef struct replay_compare {
	replay_differences all;
	replay_differences last; ///< of the last step compared
	/// Steps on end, up to the last, in which no pair was done in full though pairs of meshes were
	/// there.
	int64_t steps_since_full;
	struct replay_key *keys[2];
	int32_t capacity[2];
} replay_compare;

/// Note that the measured world made a step, compared or not.
void replay_compare_note(replay_compare *compare, const carom_world *world);

/// Compare the last steps of both, made at the same poses and without reduction of contacts. False:
/// out of memory.
bool replay_compare_add(replay_compare *compare, const carom_world *world, const carom_world *full);

/// Add the object "against_full".
void replay_compare_print_json(const replay_compare *compare, cJSON *json);
void replay_compare_print_text(const replay_compare *compare);

void replay_compare_free(replay_compare *compare);

#endif
