/// @file calls.h
/// Recordings of library calls (carom_world_record) as runs: the recording is replayed, and what
/// its world held after each step goes into a folder like that of `carom run --out`, which export,
/// render and info read.
#ifndef CAROM_TOOL_CALLS_H
#define CAROM_TOOL_CALLS_H

#include "carom/carom.h"
#include "io/output_file.h"

#include <stdio.h>

// ---- The recordings in a file ----

enum { CALLS_KINDS = 40 };

/// One recording. A program may write several into one file, one behind the other.
typedef struct calls_stream {
	int64_t offset; ///< in the file, bytes
	uint32_t version;
	int64_t counts[CALLS_KINDS]; ///< of its records, by their kind; the last one: all other kinds
	bool whole;                  ///< it has its end mark
} calls_stream;

/// Kinds of records (docs/recording.md).
enum {
	CALLS_END = 0,
	CALLS_MESH = 2,
	CALLS_ADD_BODY = 4,
	CALLS_REMOVE_BODY = 5,
	CALLS_STEP = 10,
	CALLS_HULL = 13,
	CALLS_SHIFT_ORIGIN = 29,
	CALLS_ADD_BODY_WITH_ID = 31,
	CALLS_FIELD = 32,
};

typedef struct calls_list {
	calls_stream *data; ///< [count]
	int64_t count;
} calls_list;

/// Delivers up to size bytes; fewer at the end.
typedef size_t calls_take_fn(void *from, void *bytes, size_t size);

/// List the recordings of a file from its beginning, by the heads of their records: what is in
/// these is not looked at. False when memory is short. Free the list with free(list->data).
bool calls_list_streams(calls_take_fn *take, void *from, calls_list *list);

// ---- A replay that is looked at ----

/// What the command line asks.
typedef struct calls_options {
	int64_t number;   ///< of the recording in its file, from 0
	double time_step; ///< seconds between two steps
	const char *up;   ///< three numbers, or NULL: guessed from the bodies at rest
} calls_options;

/// The values of the command line, for all commands that take recordings of calls.
extern calls_options calls_given;

// clang-format off
/// The rows of the table of options.
#define CALLS_OPTIONS \
	{ .name = "recording", .argument = "N", .kind = OPTION_INTEGER, .value = &calls_given.number, .maximum = 1e9, \
		.help = "library calls: take recording N of the file, where a program wrote several into it (0)" }, \
	{ .name = "time-step", .argument = "S", .kind = OPTION_REAL, .value = &calls_given.time_step, .maximum = 1e6, .above = true, \
		.help = "library calls: seconds of a step, which a recording does not tell (1/60)" }, \
	{ .name = "up", .argument = "X,Y,Z", .kind = OPTION_TEXT, .value = &calls_given.up, \
		.help = "library calls: the direction that is up (across a plane, or the widest flat body at rest; else z)" }
// clang-format on

/// Judge the values. Returns OPTIONS_GO_ON, or EXIT_USAGE after a message.
int calls_check_options(const char *command);

/// What a replay has shown.
typedef struct calls_told {
	carom_replay_result replay;
	char broken[600];   ///< why it ended before its end; "": it did not
	int64_t recordings; ///< in the file
	// Of all bodies that were there in a step.
	int64_t bodies;    ///< rigid, each form that a body has had counts
	int64_t deforming; ///< surfaces, likewise
	int64_t spheres;   ///< places for spheres of granular bodies
	// Sums over the steps.
	int64_t contacts, surface_contacts, sphere_contacts, sphere_pairs, impacts;
} calls_told;

/// Replay a recording alone. Of told only replay, broken and recordings are filled.
int calls_replay(carom_context *context, const char *path, const calls_options *options, calls_told *told);

/// Replay a recording and write a run into a folder, which is there. A recording that is damaged or
/// cut off gives the steps before that, and told->broken. EXIT_DONE, or EXIT_FAILED after a
/// message, also where not one step is whole.
int calls_write_run(
	carom_context *context, const char *path, const calls_options *options, const char *folder, calls_told *told);

/// A folder for temporary files. All zero: none.
typedef struct calls_folder {
	char *path;
	int guard; ///< the process that removes it where this one is killed; 0: none
	int line;  ///< that ends when this process does
} calls_folder;

/// As calls_write_run, into a new folder for temporary files, with a context of so many threads.
/// Remove it with calls_remove_folder whatever the result is.
int calls_unpack(const char *path, int64_t threads, calls_folder *folder);
void calls_remove_folder(calls_folder *folder);

/// Is a file a recording of library calls?
bool calls_is_recording(const char *path);

#endif
