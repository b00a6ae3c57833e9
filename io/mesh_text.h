/// @file mesh_text.h
/// The common part of the readers of mesh files: lines and words of a text, a mesh that grows, and
/// messages that name the line.
#ifndef IO_MESH_TEXT_H
#define IO_MESH_TEXT_H

#include "io/face_list.h"
#include "sim/base/sim_error.h"
#include "sim/shapes/shapes.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Where a reader stands in a text. Made by io_mesh_text_open.
typedef struct io_mesh_text {
	sim_mesh mesh; ///< without triangles before it is closed
	int32_t vertex_capacity;
	io_face_list faces;
	char *at;      ///< of the next line
	char *end;     ///< a zero stands there
	char *rest;    ///< of the present line, behind the words that were taken
	int64_t line;  ///< number of the present line, from 1; of its first part where it is continued
	int64_t lines; ///< that were read
	sim_error *error;
} io_mesh_text;

/// Begin with a text, which must end with a zero and is overwritten while it is read. A byte order
/// mark is skipped. False, with the line in error, when the text holds a zero byte: a text with a
/// lost block must not end there in silence.
bool io_mesh_text_open(io_mesh_text *text, char *bytes, size_t size, sim_error *error);

/// Say what is wrong in the present line (printf style). Returns false.
bool io_mesh_text_fail(io_mesh_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Go to the next line; comments from # on are cut off, and lines that end in a backslash go on in
/// the next one where joined is true. Returns false at the end of the text.
bool io_mesh_text_next_line(io_mesh_text *text, bool joined);

/// The next word of the present line, ended by a zero, or NULL.
char *io_mesh_text_word(io_mesh_text *text);

/// Read a whole word as a coordinate: the nearest double; nan and inf are numbers. False, without a
/// message, when it is something else.
bool io_mesh_text_number(const char *word, double *value);

/// Read three coordinates from the present line and append them as a vertex. False after a message.
bool io_mesh_text_read_vertex(io_mesh_text *text);

/// Append a vertex. False after a message when a coordinate is not finite, memory runs out or
/// 32-bit numbers cannot count it.
bool io_mesh_text_add_vertex(io_mesh_text *text, const double vertex[3]);

/// Add a corner to the face in hand, or end that face. False after a message.
bool io_mesh_text_add_corner(io_mesh_text *text, int32_t vertex);
bool io_mesh_text_end_face(io_mesh_text *text);

/// What a coordinate is that is not finite, as carom_check_mesh says it: "vertex 2: y is NaN".
#define IO_UNFINITE "vertex %lld: %c is %s"
static inline const char *io_unfinite_word(double value) { return isnan(value) ? "NaN" : "infinite"; }

/// A face that names a vertex which is not there.
#define IO_NO_VERTEX "face %lld names vertex %lld; vertices go from 0 to %d"

/// Could the last number of a text that no end of line ends be the beginning of a longer one? Then
/// a cut file would have another number there. limit: numbers from there on are not sound, so a
/// number of which ten times as much is beyond them is whole.
#define IO_MESH_TEXT_MAYBE_CUT \
	"the file may be cut within its last number, %lld: nothing ends this line; if it is whole, end it"
static inline bool io_mesh_text_maybe_cut(int64_t number, int64_t limit) { return number > 0 && 10 * number < limit; }

/// Hand the mesh over if sound, with its polygons cut and with floats (sim_mesh_round), else free
/// it. Corners must name vertices. Returns sound, or false after a message when out of memory.
bool io_mesh_text_close(io_mesh_text *text, bool sound, sim_mesh *mesh);

#endif
