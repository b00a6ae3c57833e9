/// @file motion.h
/// Recorded motions of either kind, as one: files of equal bodies over a plane (io/trajectory.h)
/// and recordings of `carom run` (io/recording.h). All functions report their own errors.
#ifndef CAROM_TOOL_MOTION_H
#define CAROM_TOOL_MOTION_H

#include "carom/carom.h"
#include "io/input_file.h"

/// The kind of a file, by its first bytes.
typedef enum file_kind {
	FILE_UNREADABLE, ///< cannot be opened; reported
	FILE_TRAJECTORY, ///< RBTRAJ1, gzipped or not
	FILE_RECORDING,  ///< HDF5
	FILE_CALLS,      ///< recorded library calls (carom_world_record)
	FILE_OTHER,      ///< a mesh, perhaps
} file_kind;

file_kind motion_kind_of(const io_input *input);
file_kind motion_file_kind(const char *path);

/// Say why a file cannot be read, or, where it is the recording of a run that was cut off, which
/// file to take in its place. Returns EXIT_FAILED.
int motion_unreadable(const char *path, const char *error);

typedef struct motion_options {
	/// mesh of the bodies of a trajectory; NULL for recordings, which hold theirs
	const char *mesh;
	bool ground;             ///< add the ground of a trajectory
	int64_t grid_resolution; ///< -1: the library's default
} motion_options;

typedef struct motion {
	int64_t body_count;  ///< without the ground
	int64_t other_count; ///< of these, static and kinematic ones
	int64_t frame_count;
	struct motion_source *source;
} motion;

/// Open a FILE_TRAJECTORY or FILE_RECORDING and make its meshes. Returns OPTIONS_GO_ON, or the exit
/// code after a message. Close it in any case.
int motion_open(carom_context *context, const char *path, file_kind kind, const motion_options *options, motion *opened);

/// Close. All zero does nothing. Worlds keep their meshes.
void motion_close(motion *opened);

/// Bring the bodies of each world to their poses in a frame; those that the worlds lack are added,
/// and those that the frame lacks are removed.
/// A body's user data is its number in the file, that of the ground is (uint64_t)-1. The same
/// worlds must be given each time, empty the first time.
bool motion_apply(motion *opened, carom_world *const *worlds, int world_count, int64_t frame);

#endif
