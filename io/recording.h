/// @file recording.h
/// Recordings of simulations in HDF5: meshes once, poses of each frame, contacts when wanted.
/// docs/scenes.md ("Recordings") lists groups, types and units; h5py reads them without our code. A
/// frame holds the poses that the detection of its step saw, and the contacts that it found.
///
/// A run that is under way writes PATH.part, a file that only grows; when it ends, PATH is made
/// from it and appears whole. A run that was killed leaves PATH.part, which is opened like a
/// finished recording. Finished ones begin with a digest of all their bytes, which is compared
/// before anything of them is believed.
#ifndef IO_RECORDING_H
#define IO_RECORDING_H

#include "carom/carom.h"
#include "sim/base/sim_error.h"

/// Version of the layout that is written, and the only one that is read.
#define IO_RECORDING_VERSION 1

/// Longest name of a mesh, its end mark included.
#define IO_RECORDING_NAME 64

/// Of the whole recording.
typedef struct io_recording_info {
	carom_vec3 gravity;
	double time_step; ///< seconds between frames
	bool contacts;    ///< are contacts recorded?
	/// text of the scene file, "" if there is none. As read: valid while the recording is open.
	const char *scene_text;
	const char *scene_name;
} io_recording_info;

/// A mesh. When read, the arrays belong to the recording and are valid while it is open.
typedef struct io_recorded_mesh {
	char name[IO_RECORDING_NAME]; ///< letters, digits, '_' and '-'
	int32_t vertex_count;
	int32_t triangle_count;
	const float *vertices;    ///< [3*vertex_count]
	const int32_t *triangles; ///< [3*triangle_count]
} io_recorded_mesh;

/// A body of one shape, or a part of a body. The parts of a body follow each other; they have its
/// kind, and in each frame its pose.
typedef struct io_recorded_body {
	carom_body_kind kind;
	carom_shape_type type;
	int32_t mesh; ///< number of the mesh that it is, or is the hull of; -1 for the others
	double radius;
	double half_length;
	double half_extents[3];
	double rounding; ///< 0 in recordings of earlier versions
	/// 0: a body of one shape, at its own pose; else the number of the part in its body, from 1
	int32_t part;
	carom_pose place; ///< of a part: in the frame of its body
} io_recorded_body;

/// A contact, with body numbers of the recording.
typedef struct io_recorded_contact {
	int32_t body_a;
	int32_t body_b;
	double point[3];
	float normal[3];
	float depth;
	int32_t feature_a;
	int32_t feature_b;
	int32_t kind; ///< carom_contact_kind
} io_recorded_contact;

// ---- Writing ----

typedef struct io_recorder io_recorder;

/// Begin a recording. It is written as PATH.part; a file at PATH stays until the recording is
/// closed. NULL, with path and reason in error, when that fails.
io_recorder *io_create_recorder(const char *path, const io_recording_info *info, sim_error *error);

/// Add a mesh; its number is the count of the meshes before it. False, with path and reason in
/// error, when that fails.
bool io_recorder_add_mesh(io_recorder *recorder, const io_recorded_mesh *mesh, sim_error *error);

/// Add a body, also between frames; in the frames before it its pose is NaN.
bool io_recorder_add_body(io_recorder *recorder, const io_recorded_body *body, sim_error *error);

/// Add a frame: the poses of all bodies added so far, NaN for one that has gone, and contacts
/// (ignored unless the recording holds them). On return it is in the hands of the system: a kill of
/// the program does not cost it.
bool io_recorder_add_frame(io_recorder *recorder, double time, const carom_pose *poses, const io_recorded_contact *contacts,
	int32_t contact_count, sim_error *error);

/// Finish and close: PATH is made from PATH.part, which goes. False, with path and reason in error,
/// when not everything could be written; PATH is as before then, and PATH.part holds all frames
/// that came before the failure. The recorder is gone in both cases. NULL does nothing and returns
/// true.
bool io_close_recorder(io_recorder *recorder, sim_error *error);

// ---- Reading ----

typedef struct io_recording io_recording;

/// Open a recording, finished or not. The whole file is read and compared with its digest first.
/// NULL, with path and what is wrong in error, when the file cannot be read, is no recording, of
/// another version, or damaged.
io_recording *io_open_recording(const char *path, sim_error *error);

/// Close it. NULL does nothing.
void io_close_recording(io_recording *recording);

/// Do the first bytes of a file (520 of them, where it has so many) look like those of a recording,
/// finished or not, or of HDF5?
bool io_starts_like_recording(const void *start, size_t size);

/// The hint for a user who asks for a recording that is not there: that the one of a run that was
/// cut off is. NULL: nothing.
const char *io_missing_recording_hint(const char *path);

/// The warning about an opened recording, without its path: that it is unfinished, or has no
/// digest. NULL: nothing. Valid while it is open.
const char *io_recording_note(const io_recording *recording);

/// Was it closed by its run? If not, the run goes on or was cut off.
bool io_recording_is_finished(const io_recording *recording);

const io_recording_info *io_recording_get_info(const io_recording *recording);
int32_t io_recording_frame_count(const io_recording *recording);
/// Rows of bodies: bodies of one shape, and parts of the others.
int32_t io_recording_body_count(const io_recording *recording);
/// Bodies, each once, however many parts it has: all, and the dynamic ones among them.
int32_t io_recording_whole_count(const io_recording *recording);
int32_t io_recording_moving_count(const io_recording *recording);
int32_t io_recording_mesh_count(const io_recording *recording);
/// index below the count of its kind.
const io_recorded_body *io_recording_get_body(const io_recording *recording, int32_t index);
const io_recorded_mesh *io_recording_get_mesh(const io_recording *recording, int32_t index);
/// Seconds since the start.
double io_recording_get_time(const io_recording *recording, int32_t frame);
/// Number of contacts in a frame; 0 in recordings without contacts.
int32_t io_recording_contact_count(const io_recording *recording, int32_t frame);

/// Poses of all bodies in a frame: poses [body count]. The position of a body that is not there is
/// NaN.
bool io_recording_read_poses(io_recording *recording, int32_t frame, carom_pose *poses, sim_error *error);

/// Contacts of a frame: contacts [io_recording_contact_count]. Their body numbers are checked.
bool io_recording_read_contacts(io_recording *recording, int32_t frame, io_recorded_contact *contacts, sim_error *error);

#endif
