/// @file recording_parts.h
/// Declarations that the parts of recordings share: recording.c (access), recording_log.c (the file
/// of a run that is under way), recording_hdf5.c (reading the finished file), recording_write.c
/// (making it from a log). Only these include it.
#ifndef IO_RECORDING_PARTS_H
#define IO_RECORDING_PARTS_H

#include "io/recording.h"
#include "sim/base/sim_error.h"

#include <hdf5.h>
#include <stddef.h>
#include <stdio.h>

#define RECORDING_FORMAT "carom-recording"
#define RECORDING_LOG_WORD "CAROMLOG" ///< the first bytes of a log

// ---- Columns: a dataset each in HDF5, a packed array each in a log ----

typedef enum recording_scalar { RECORDING_INT32, RECORDING_FLOAT32, RECORDING_FLOAT64, RECORDING_INT64 } recording_scalar;

typedef struct recording_column {
	const char *path; ///< of its dataset
	recording_scalar type;
	int width;     ///< numbers in a row
	size_t offset; ///< of the first of them in the record
} recording_column;

/// Bodies have seven columns; those of early versions six, and those of recordings with parts nine.
enum {
	RECORDING_OLD_BODY_COLUMNS = 6,
	RECORDING_PLAIN_BODY_COLUMNS = 7,
	RECORDING_BODY_COLUMNS = 9,
	RECORDING_CONTACT_COLUMNS = 8
};
extern const recording_column recording_body_columns[RECORDING_BODY_COLUMNS];
extern const recording_column recording_contact_columns[RECORDING_CONTACT_COLUMNS];
extern const recording_column recording_time_column, recording_first_column, recording_poses_column;

/// Bytes of a row of a column.
size_t recording_row_size(const recording_column *column);
/// Bytes of a row of all columns.
size_t recording_record_size(const recording_column *columns, int count);
/// Gather one column of an array of records (record_size bytes each) into packed numbers.
void recording_pack(const recording_column *column, const void *records, size_t record_size, int64_t count, void *packed);
/// The way back.
void recording_unpack(const recording_column *column, const void *packed, size_t record_size, int64_t count, void *records);

hid_t recording_memory_type(recording_scalar type);

// ---- A recording that is open for reading ----

/// A frame of a log.
typedef struct recording_frame {
	int64_t poses;    ///< where they lie in the file
	int64_t contacts; ///< where those lie
	int32_t body_count;
} recording_frame;

struct io_recording {
	char *path;
	io_recording_info info;
	char *scene_text;
	char *scene_name;
	int32_t mesh_count;
	int32_t body_count;
	int32_t frame_count;
	io_recorded_mesh *meshes; ///< their arrays are owned
	io_recorded_body *bodies;
	double *time;
	int64_t *first; ///< [frame_count + 1] in recordings with contacts
	char note[160];
	hid_t file;              ///< HDF5; below 0: a log
	FILE *log;               ///< NULL: HDF5
	recording_frame *frames; ///< of a log
};

/// Where an error goes.
typedef struct recording_problem {
	const char *path;
	sim_error *error;
} recording_problem;

/// Say `PATH: text`. Returns false.
bool recording_fail(const char *path, sim_error *error, const char *text);
/// Say what is wrong with an object of the file. Returns false.
bool recording_damaged(const recording_problem *problem, const char *object, const char *text);
/// Check what a body says of itself; index is its number. An error and false when that cannot be.
bool recording_check_body(const recording_problem *problem, const io_recording *recording, int32_t index);
/// Tell whether all corners of a mesh are vertices of it.
bool recording_check_triangles(const io_recorded_mesh *mesh);

/// Fill a recording from its path, of which is known that it is HDF5, or a log. False after an
/// error.
bool recording_open_hdf5(const recording_problem *problem, io_recording *recording);
bool recording_open_log(const recording_problem *problem, io_recording *recording);

/// Read the poses of bodies first..first+count-1 in a frame.
bool recording_hdf5_poses(const io_recording *recording, int32_t frame, int32_t first, int32_t count, carom_pose *poses);
bool recording_log_poses(const io_recording *recording, int32_t frame, int32_t first, int32_t count, carom_pose *poses);
/// Read the contacts of a frame: packed columns, one behind the other.
bool recording_hdf5_contacts(const io_recording *recording, int32_t frame, void *packed);
bool recording_log_contacts(const io_recording *recording, int32_t frame, void *packed);

/// Make the finished file from a recording, at its place once it is whole. False after an error; a
/// file that lay there stays then.
bool recording_write_hdf5(io_recording *from, const char *path, sim_error *error);

#endif
