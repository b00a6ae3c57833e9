/// @file report.h
/// The output of the command: errors and warnings on stderr, one JSON object on stdout, files that
/// are written whole or not at all.
#ifndef CAROM_TOOL_REPORT_H
#define CAROM_TOOL_REPORT_H

#include "carom/carom.h"
#include "io/output_file.h"

#include <cjson/cJSON.h>
#include <stdio.h>

/// Print `carom: error: FILE: text` (printf style; file may be NULL). Say what is wrong and how to
/// mend it. Returns EXIT_FAILED.
int report_error(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Most bytes of one message.
enum { REPORT_TEXT_MAX = 5000 };

/// Keep the first message of a failure for report_failure; file may be NULL.
void report_keep_failure(const char *file, const char *text);

/// Of a command that was asked for --json and failed (status is not EXIT_DONE) before it printed
/// its object: print `{"error": TEXT}` with the first message. Returns status.
int report_failure(int status);

/// Print `carom: warning: FILE: text`; returns nothing, for the work goes on.
void report_warning(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Make a context with the wanted number of threads (0: a thread for each core) and instruction
/// set; the library's warnings go to stderr as ours. NULL after an error message.
carom_context *report_create_context(int64_t threads, int simd);

/// The object as text, to be freed; in one line where people will not read it. NULL when memory is
/// short, or was for a part of some object since the last text: cJSON_Add... do not tell. object
/// may be NULL then.
char *report_json_text(const cJSON *object, bool in_one_line);

/// Print the object on stdout with a line end, and delete it. Returns EXIT_DONE, or EXIT_FAILED
/// with a message when stdout cannot take it. An object that is NULL (out of memory while it was
/// made) is a failure too.
int report_json(cJSON *object);

/// Flush stdout after text output. Returns EXIT_DONE, or EXIT_FAILED with a message when something
/// got lost.
int report_end_of_text(void);

/// Add an item to an object under a name, or to an array (name NULL); delete it where that fails.
void report_add(cJSON *to, const char *name, cJSON *item);

/// Add a hash as 16 hexadecimal digits: JSON numbers do not hold 64 bits.
void report_add_hash(cJSON *object, const char *name, uint64_t hash);

/// Add three numbers as an array.
void report_add_vector(cJSON *object, const char *name, const double v[3]);

/// Make a folder of one's own, PREFIX-XXXXXX, where TMPDIR says, or in /tmp. path [size] gets its
/// name. False, with errno set, when that fails.
bool report_make_temporary(const char *prefix, char *path, size_t size);

/// Write an object with a line end into a file, and delete it (NULL: memory was short). EXIT_DONE,
/// or EXIT_FAILED after a message.
int report_save_json(const char *path, cJSON *object);

/// Make a folder for --out, with those above it. EXIT_DONE (also when it is there), or EXIT_FAILED
/// after a message.
int report_make_folder(const char *path);

/// Open an output file (io/output_file.h). EXIT_DONE, or EXIT_FAILED after a message.
int report_open(io_output_file *file, const char *path);

/// Finish an output file and give it its name. EXIT_DONE, or EXIT_FAILED after a message; the file
/// is closed in both cases.
int report_commit(io_output_file *file);

/// Write one line of a list of contacts, without the step: `a b vertex triangle px py pz nx ny nz
/// depth` (docs/command.md). number_a and number_b are the numbers to print for the contact's
/// bodies; -1 is the ground.
void report_contact(FILE *stream, const carom_contact *contact, int64_t number_a, int64_t number_b);

#endif
