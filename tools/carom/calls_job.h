/// @file calls_job.h
/// Declarations that the parts of the replay that is looked at share: calls_stream.c (the file),
/// calls_bodies.c (the first pass: rigid bodies, and which others there are), calls_soft.c (the
/// second pass: deforming bodies and spheres), calls.c (the rest). Only these include it.
#ifndef CAROM_TOOL_CALLS_JOB_H
#define CAROM_TOOL_CALLS_JOB_H

#include "calls.h"
#include "progress.h"

#include "io/recording.h"
#include "io/vtk_file.h"
#include "sim/base/contact_point.h"

#include <cjson/cJSON.h>

// ---- Reading ----

typedef enum calls_part { CALLS_IN_HEAD, CALLS_IN_RECORD_HEAD, CALLS_IN_PAYLOAD, CALLS_IN_CHECK } calls_part;

/// A stream that is read. The library checks it; this only notes the moves of its origin.
typedef struct calls_reader {
	FILE *file;
	calls_part part;
	uint64_t left;           ///< bytes of the part
	unsigned char start[24]; ///< the first of them
	size_t held;
	uint64_t kind;    ///< of the record
	double origin[3]; ///< sum of all carom_world_shift_origin so far, m
	int64_t shifts;
} calls_reader;

/// A carom_read_fn; user is a calls_reader.
bool calls_read(void *bytes, size_t count, void *user);
/// Begin with the stream at a place of the file. False when the file cannot do that.
bool calls_rewind(calls_reader *reader, int64_t offset);

// ---- What there is ----

/// A rigid body, as long as its kind and its shape stay: a body of recording.h5.
typedef struct calls_body {
	carom_body_id id;
	uint64_t user_data;
	int32_t first_row, row_count;
	int64_t first_step, last_step;
} calls_body;

/// A deforming body, as long as its mesh stays: a surface of the frames.
typedef struct calls_surface {
	carom_body_id id;
	carom_body_kind kind;
	int32_t first_vertex, vertex_count, triangle_count;
	int32_t *triangles; ///< [3*triangle_count] owned
	double place[3];    ///< where its first vertex was last, or before it appears will be first
} calls_surface;

/// A granular body.
typedef struct calls_cluster {
	carom_body_id id;
	int64_t first_place, place_count; ///< of spheres: as many as it has at most
} calls_cluster;

/// What a number of the world, index1 - 1, stands for now.
typedef struct calls_slot {
	uint32_t generation; ///< 0: nothing
	int32_t number;      ///< in the list of its kind
	carom_body_kind kind;
	const carom_mesh *mesh; ///< of a deforming body
} calls_slot;

/// A mesh of the replay's world and its number in recording.h5.
typedef struct calls_mesh {
	const carom_mesh *mesh;
	int32_t number;
} calls_mesh;

typedef struct calls_job {
	const char *path, *folder;
	const calls_options *options;
	carom_context *context;
	calls_reader reader;
	calls_told *told;
	int status; ///< EXIT_FAILED after a message
	progress bar;
	carom_vec3 up;

	// The bodies of the step.
	carom_body_id *ids; ///< [id_count]
	bool *asleep;       ///< [id_count]
	int32_t id_count;
	int64_t id_room;

	calls_slot *slots;
	int64_t slot_room;

	// Rigid bodies.
	io_recorder *recorder;
	io_output_file stats;
	calls_mesh *meshes; ///< [mesh_room] a table of hashes
	int64_t mesh_room, mesh_count;
	calls_body *bodies;
	int64_t body_count, body_room;
	io_recorded_body *rows;
	carom_pose *poses; ///< of the rows, in the step
	int64_t row_count, row_room, pose_room;
	io_recorded_body *made; ///< the rows of a body as it is now
	int64_t made_room;
	io_recorded_contact *contacts;
	int64_t contact_room;

	// Others, which the second pass writes.
	calls_surface *surfaces;
	int64_t surface_count, surface_room;
	calls_cluster *clusters;
	int64_t cluster_count, cluster_room;
	int64_t vertex_count, triangle_count, place_count;
	int64_t surfaces_met, clusters_met; ///< in the second pass so far
	float *vertices;                    ///< [3*vertex_count] of a frame
	int32_t *triangles;                 ///< [3*triangle_count]
	float *spheres;                     ///< [4*place_count] of a frame, centres and then radii
	uint32_t *places;                   ///< [place_count] which of them are there
	io_vtk_series *series;
} calls_job;

/// Make room in an array for count elements and one more. False after a message.
bool calls_reserve(calls_job *job, void **data, int64_t *room, int64_t count, size_t size);
#define CALLS_RESERVE(job, data, room, count) calls_reserve(job, (void **)&(data), &(room), count, sizeof *(data))

/// Fail for a reason of the library, or for want of memory. Returns false.
bool calls_fail(calls_job *job);
bool calls_out_of_memory(calls_job *job);

/// Against up, which the first step tells, m/s^2.
carom_vec3 calls_gravity(const calls_job *job);

/// The path of a file of this name in the folder.
void calls_name_file(const calls_job *job, const char *name, char path[IO_PATH_MAX]);
/// Open such a file, and give it its name when it is whole. False after a message.
bool calls_open_file(calls_job *job, const char *name, io_output_file *file);
bool calls_commit_file(calls_job *job, io_output_file *file);

/// List the bodies of a world in job->ids, and make slots for their numbers. False after a message.
bool calls_list_bodies(calls_job *job, const carom_world *world);

/// The first pass: a carom_watch_fn; user is a calls_job.
bool calls_watch_bodies(carom_world *world, int64_t step, void *user);
/// Begin the files of the first pass; write what is known after it, and close them.
bool calls_open_bodies(calls_job *job);
bool calls_close_bodies(calls_job *job);

/// The second pass.
bool calls_watch_soft(carom_world *world, int64_t step, void *user);
bool calls_open_soft(calls_job *job);

/// Note a body that deforms, or spheres, in the first pass; in the second pass, find it.
calls_surface *calls_meet_surface(calls_job *job, const carom_body_def *def, carom_body_id id, bool learn);
calls_cluster *calls_meet_cluster(calls_job *job, const carom_body_def *def, carom_body_id id, bool learn);

#endif
