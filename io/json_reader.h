/// @file json_reader.h
/// JSON text read field by field, with errors that name file, line and field:
///
///     scenes/pile.json:12: field "bodies[0].mesh": there is no mesh "bnuny"; did you mean "bunny"?
///
/// cJSON parses; it keeps no positions, so a node is known here by its place among its siblings,
/// from the root down, and its line is found by walking the text again. Walks go on where the last
/// one stopped: reading a list from its first element to its last, lines and all, takes time that
/// grows with the text. The first error stays; every read after it does nothing and returns false,
/// so a reader of many fields checks once at its end.
#ifndef IO_JSON_READER_H
#define IO_JSON_READER_H

#include "sim/base/sim_error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Deepest nesting of a document that is read.
#define IO_JSON_DEPTH 12

/// Where a walk along the children of an item, or of its text, stopped.
typedef struct io_json_cursor {
	const cJSON *parent;
	int index;
	const cJSON *item;
} io_json_cursor;

typedef struct io_json_place {
	const char *parent;
	int index;
	const char *child;
} io_json_place;

/// A parsed text.
typedef struct io_json {
	const char *file; ///< name for messages; not owned
	char *text;       ///< owned, ends with 0
	cJSON *root;      ///< owned
	sim_error *error; ///< the caller's, for the first error
	bool failed;
	io_json_cursor cursors[IO_JSON_DEPTH]; ///< of the last walk at each depth
	io_json_place places[IO_JSON_DEPTH];
	const char *counted; ///< the lines up to here are counted
	int line;
	int64_t steps; ///< siblings and bytes that walks have passed so far
} io_json;

/// A node of the document: its name, and its place.
typedef struct io_json_node {
	io_json *json;
	const cJSON *item;
	int depth;
	/// place[i]: number of the node's ancestor at depth i + 1 among its siblings
	int place[IO_JSON_DEPTH];
	char path[200]; ///< "bodies[0].mesh"; "" for the root
} io_json_node;

/// Parse text (copied; size bytes without an end mark). error receives the first error of this and
/// all later calls. False when it is not one JSON value. Give it back with io_json_close in both
/// cases.
bool io_json_parse(const char *file, const char *text, size_t size, sim_error *error, io_json *json, io_json_node *root);

/// Free the text and the tree.
void io_json_close(io_json *json);

/// Read a whole file as text that ends with 0; *size does not count that 0. NULL with the reason in
/// error. free() it.
char *io_read_text(const char *path, size_t *size, sim_error *error);

/// Record an error about a node (printf style) unless there is one already. Returns false.
bool io_json_error(const io_json_node *node, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Record an error about a member of an object, whether it is there or not. Returns false.
bool io_json_member_error(const io_json_node *object, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/// The line of the text where a node starts, from 1.
int io_json_line(const io_json_node *node);

/// Demand that node is an object that has no members but those named (the list ends with NULL) and
/// none twice.
bool io_json_fields(const io_json_node *node, const char *const *names);

/// Is there a member of this name?
bool io_json_has(const io_json_node *object, const char *name);

/// The member of an object; false when it is absent (no error).
bool io_json_member(const io_json_node *object, const char *name, io_json_node *member);

/// Number of elements of an array or members of an object; an error and 0 when node is of another
/// type (array tells which is wanted).
int io_json_count(const io_json_node *node, bool array);

/// Child number i of an array or object (0 <= i < count).
io_json_node io_json_child(const io_json_node *node, int i);

// Reading members. An absent member leaves *value as it is. Each returns false once an error is
// recorded.

/// A finite number, low <= value <= high.
bool io_json_number(const io_json_node *object, const char *name, double low, double high, double *value);
/// A finite number above 0, at most 1e9.
bool io_json_positive(const io_json_node *object, const char *name, double *value);
/// A whole number, low <= value <= high (both within 2^53).
bool io_json_integer(const io_json_node *object, const char *name, int64_t low, int64_t high, int64_t *value);
/// A whole number from 0 to 2^53, or text like "0xff00" for all 64 bits.
bool io_json_bits(const io_json_node *object, const char *name, uint64_t *value);
bool io_json_bool(const io_json_node *object, const char *name, bool *value);
/// Exactly count finite numbers, each within low..high.
bool io_json_numbers(const io_json_node *object, const char *name, int count, double low, double high, double *values);
/// As io_json_numbers; null becomes NaN.
bool io_json_numbers_or_nulls(const io_json_node *object, const char *name, int count, double low, double high, double *values);
/// The number of a word in words (ended by NULL).
bool io_json_choice(const io_json_node *object, const char *name, const char *const *words, int *value);
/// Text that is not empty, as a copy that the caller frees; the old text of *value is freed.
bool io_json_string(const io_json_node *object, const char *name, char **value);

#endif
