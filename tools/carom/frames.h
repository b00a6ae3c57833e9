/// @file frames.h
/// The frames of a deforming mesh, read one after another: a mesh file for each, or one mesh file
/// and a file of positions.
#ifndef CAROM_TOOL_FRAMES_H
#define CAROM_TOOL_FRAMES_H

#include "mesh_input.h"
#include "options.h"

#include <stdio.h>

/// Where frames come from. The texts stay the caller's.
typedef struct frames_source {
	/// Mesh files, frame 0 first; or, with a mesh, the one file of positions: for each frame x, y,
	/// z of all vertices as little-endian floats or doubles (sequence_type), and nothing else.
	const char **paths;
	int path_count;
	const char *mesh;   ///< file with the faces of all frames, or NULL
	option_range range; ///< the frames to read; { 0, INT64_MAX }: all
	/// SCALAR_FLOAT32 rounds mesh files to float. Positions are floats, or doubles by
	/// SCALAR_FLOAT64 or by a name that ends in .f64.
	int scalar;
} frames_source;

typedef struct frames {
	frames_source source;
	int64_t total;    ///< frames there are
	int64_t first;    ///< of those to read
	int64_t count;    ///< frames to read, at least two
	int64_t number;   ///< of the frame read last, from 0
	sim_mesh mesh;    ///< the frame read last; the faces stay
	bool has_doubles; ///< some frame so far had a number that a float does not hold
	FILE *positions;
} frames;

/// Open the source and read the first frame. Every frame must have the vertices and faces of the
/// first, coordinates that are finite and at most CAROM_MAX_COORDINATE, and corners in range. False
/// after an error message that names the file, and the frame if the file holds several; nothing
/// needs closing then.
bool frames_open(frames *f, const frames_source *source);

/// Read the next frame; there must be one. False after an error message.
bool frames_next(frames *f);

/// Print an error about the frame read last (printf style). Returns EXIT_FAILED.
int frames_error(const frames *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// The file of the first frame, of the frame read last, or of the last one, for output.
const char *frames_first_path(const frames *f);
const char *frames_present_path(const frames *f);
const char *frames_last_path(const frames *f);

void frames_close(frames *f);

#endif
