/// @file record.h
/// Recording of every call that changes a world, for bug reports and regression tests.
#ifndef CAROM_RECORD_H
#define CAROM_RECORD_H

#include "carom/world.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Recording of every call, for bug reports and regression tests ----

/// Delivers exactly count bytes, those after the call before; returns false at the end of the
/// stream or on error. Called on the thread that replays. It may use other worlds; it must not
/// destroy the context.
typedef bool carom_read_fn(void *bytes, size_t count, void *user);

/// Write every following call that changes the world, and the hash after each step, to a stream
/// (docs/recording.md describes it). The present state goes first. A pair filter is not recorded:
/// its verdicts are.
/// - write is called on the thread of the recorded call, while that call runs. On that world it may
///   call carom_world_context and nothing else: calls that change the world fail there
///   (CAROM_INVALID_ARGUMENT), this one among them.
/// - A recording that runs is ended first, even if the new one cannot begin.
/// - write NULL only ends it. CAROM_INVALID_RECORDING tells that its writer had given up, or that
///   memory had run out on the way.
/// - With a new writer the result is that of the new recording: CAROM_INVALID_RECORDING when its
///   writer gave up or memory ran out at once, and nothing is being recorded then. The log tells
///   how the old one ended.
/// - A replay begins without memory of pairs, so a recording that begins makes the world drop it:
///   the next step works all pairs out in full, which costs time and may give other contacts than a
///   step without the recording. Sides, ages and impulses of surface contacts are dropped too:
///   begin a recording while nothing is on the wrong side. Spheres that are new in a continuous
///   granular body count as at rest from then on.
CAROM_API carom_result carom_world_record(carom_world *world, carom_write_fn *write, void *user);

/// How far a replay got.
typedef struct carom_replay_result {
	int64_t steps;            ///< steps replayed
	int64_t first_difference; ///< step whose hash differs from the recorded one, or -1
	uint64_t hash;            ///< of the last step
} carom_replay_result;

/// Run a recording in a new world of the context and compare the hash of each step.
/// CAROM_INVALID_RECORDING: the stream is damaged, or a hash differs; result then tells how far the
/// replay got. CAROM_UNSUPPORTED: the recorded world left rays out (carom/lab.h).
CAROM_API carom_result carom_replay_recording(
	carom_context *context, carom_read_fn *read, void *user, carom_replay_result *result);

/// Called after each step of a replay, step from 0, on the thread that replays. The world is that
/// of the replay, as the recorded one was after that step: its results, bodies and shapes may be
/// read, and queries be asked. Calls that change the world or save it fail
/// (CAROM_INVALID_ARGUMENT). The world ends with the replay. Returns false to end that here.
typedef bool carom_watch_fn(carom_world *world, int64_t step, void *user);

/// As carom_replay_recording, and watch is called after each step with watch_user: to find the step
/// in which something goes wrong and look at its contacts, or to draw the bodies. A step whose hash
/// differs is shown too, before the replay fails. CAROM_SUCCESS where watch ended the replay:
/// result then counts the steps so far.
CAROM_API carom_result carom_watch_recording(carom_context *context, carom_read_fn *read,
	void *user, carom_watch_fn *watch, void *watch_user, carom_replay_result *result);

#ifdef __cplusplus
}
#endif
#endif
