// The recording of a run that is under way: PATH.part, a file that only grows. HDF5 cannot be that
// file: between two flushes it moves parts of the file to other places, and a run that is killed
// then leaves nothing that can be read.
//
// A head of 16 bytes (the word CAROMLOG, a version, a number that tells the byte order), then
// records: kind, a CRC-32 of kind and size, size; that many bytes; their CRC-32. Each is handed to
// the system whole before the run goes on, so a kill can only cost the record that is being written
// then. The reader leaves out a last record that is not whole; any other that does not have its sum
// is damage. When the run ends, recording_write.c makes the HDF5 file from the log, and the log
// goes.
#include "io/hdf5_file.h"
#include "io/output_file.h"
#include "io/recording_parts.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { LOG_VERSION = 1, BYTE_ORDER_MARK = 0x01020304 };

typedef enum record_kind { RECORD_INFO = 1, RECORD_MESH, RECORD_BODY, RECORD_FRAME } record_kind;

/// In front of each record.
typedef struct record_head {
	uint32_t kind;
	uint32_t sum; // of kind and size
	uint64_t size;
} record_head;

// The head of records.
typedef struct log_head {
	char word[8];
	uint32_t version, byte_order;
} log_head;

typedef struct info_record {
	int32_t version, contacts;
	double time_step, gravity[3];
	uint64_t name_size, text_size; // name and text follow
} info_record;

typedef struct mesh_record {
	char name[IO_RECORDING_NAME];
	int32_t vertex_count, triangle_count; // vertices and triangles follow
} mesh_record;

typedef struct frame_record {
	double time;
	int32_t body_count, contact_count; // poses and columns of contacts follow
} frame_record;

_Static_assert(sizeof(record_head) == 16 && sizeof(log_head) == 16 && sizeof(frame_record) == 16, "no gaps");

static uint32_t sum_of(const void *bytes, size_t size)
{
	uLong sum = crc32(0, NULL, 0);
	for (size_t done = 0; done < size;) {
		const size_t piece = size - done < UINT_MAX ? size - done : UINT_MAX;
		sum = crc32(sum, (const unsigned char *)bytes + done, (uInt)piece);
		done += piece;
	}
	return (uint32_t)sum;
}

static uint32_t sum_of_head(const record_head *head)
{
	const uint64_t numbers[2] = { head->kind, head->size };
	return sum_of(numbers, sizeof numbers);
}

// ---- Writing ----

struct io_recorder {
	io_output_file file; // it never takes its name: the HDF5 file does
	bool with_contacts;
	bool failed;
	int reason;   // errno of the failure
	char *buffer; // a record with its head and sum
	size_t room;
	int64_t written; // bytes of whole records
	int32_t body_count;
};

/// Room for a record of a size: where its bytes go. NULL when memory is short.
static char *new_record(io_recorder *recorder, record_kind kind, size_t size)
{
	const size_t needed = sizeof(record_head) + size + sizeof(uint32_t);
	if (needed > recorder->room) {
		char *larger = realloc(recorder->buffer, needed + needed / 2);
		if (!larger)
			return NULL;
		recorder->buffer = larger;
		recorder->room = needed + needed / 2;
	}
	record_head head = { .kind = kind, .size = size };
	head.sum = sum_of_head(&head);
	memcpy(recorder->buffer, &head, sizeof head);
	return recorder->buffer + sizeof head;
}

static bool hand_over(io_recorder *recorder, const void *bytes, size_t size)
{
	FILE *stream = recorder->file.stream;
	errno = 0;
	if (fwrite(bytes, 1, size, stream) == size && fflush(stream) == 0) {
		recorder->written += (int64_t)size;
		return true;
	}
	recorder->failed = true;
	recorder->reason = errno ? errno : EIO;
	return false;
}

/// Say why the file could not be written, now or before.
static bool say_failure(const io_recorder *recorder, sim_error *error)
{
	return sim_fail(error, "%s: cannot be written: %s; what was recorded before is in %s", recorder->file.path,
		strerror(recorder->reason), recorder->file.part);
}

/// Finish the record that new_record began. NULL stands for one that had no room.
static bool put_record(io_recorder *recorder, const char *bytes, sim_error *error)
{
	record_head head;
	if (!bytes)
		return recording_fail(recorder->file.path, error, "out of memory");
	if (recorder->failed)
		return say_failure(recorder, error);
	memcpy(&head, recorder->buffer, sizeof head);
	const uint32_t sum = sum_of(bytes, head.size);
	memcpy(recorder->buffer + sizeof head + head.size, &sum, sizeof sum);
	if (hand_over(recorder, recorder->buffer, sizeof head + head.size + sizeof sum))
		return true;
	return say_failure(recorder, error);
}

static bool put_info(io_recorder *recorder, const io_recording_info *info, sim_error *error)
{
	const char *name = info->scene_name ? info->scene_name : "", *text = info->scene_text ? info->scene_text : "";
	const log_head start = { .word = RECORDING_LOG_WORD, .version = LOG_VERSION, .byte_order = BYTE_ORDER_MARK };
	const info_record record = {
		.version = IO_RECORDING_VERSION,
		.contacts = info->contacts,
		.time_step = info->time_step,
		.gravity = { info->gravity.x, info->gravity.y, info->gravity.z },
		.name_size = strlen(name),
		.text_size = strlen(text),
	};
	char *bytes = new_record(recorder, RECORD_INFO, sizeof record + record.name_size + record.text_size);
	if (bytes) {
		memcpy(bytes, &record, sizeof record);
		memcpy(bytes + sizeof record, name, record.name_size);
		memcpy(bytes + sizeof record + record.name_size, text, record.text_size);
		hand_over(recorder, &start, sizeof start); // should it fail, so does the record
	}
	return put_record(recorder, bytes, error);
}

static void free_recorder(io_recorder *recorder)
{
	io_output_abandon(&recorder->file);
	free(recorder->buffer);
	free(recorder);
}

io_recorder *io_create_recorder(const char *path, const io_recording_info *info, sim_error *error)
{
	sim_error reason;
	io_recorder *recorder = calloc(1, sizeof *recorder);
	if (!recorder) {
		recording_fail(path, error, "out of memory");
		return NULL;
	}
	recorder->with_contacts = info->contacts;
	if (!io_output_open(&recorder->file, path, &reason))
		recording_fail(path, error, reason.text);
	else if (!recorder->file.part[0])
		recording_fail(path, error, "cannot be written: it is no regular file");
	else if (put_info(recorder, info, error))
		return recorder;
	free_recorder(recorder);
	return NULL;
}

bool io_recorder_add_mesh(io_recorder *recorder, const io_recorded_mesh *mesh, sim_error *error)
{
	mesh_record record = { .vertex_count = mesh->vertex_count, .triangle_count = mesh->triangle_count };
	const size_t vertices = 3 * (size_t)mesh->vertex_count * sizeof *mesh->vertices;
	const size_t triangles = 3 * (size_t)mesh->triangle_count * sizeof *mesh->triangles;
	snprintf(record.name, sizeof record.name, "%s", mesh->name);
	char *bytes = new_record(recorder, RECORD_MESH, sizeof record + vertices + triangles);
	if (bytes) {
		memcpy(bytes, &record, sizeof record);
		if (vertices)
			memcpy(bytes + sizeof record, mesh->vertices, vertices);
		if (triangles)
			memcpy(bytes + sizeof record + vertices, mesh->triangles, triangles);
	}
	return put_record(recorder, bytes, error);
}

bool io_recorder_add_body(io_recorder *recorder, const io_recorded_body *body, sim_error *error)
{
	const int columns = body->part != 0 ? RECORDING_BODY_COLUMNS : RECORDING_PLAIN_BODY_COLUMNS;
	char *bytes = new_record(recorder, RECORD_BODY, recording_record_size(recording_body_columns, columns));
	char *to = bytes;
	for (int i = 0; bytes && i < columns; i++) {
		recording_pack(&recording_body_columns[i], body, sizeof *body, 1, to);
		to += recording_row_size(&recording_body_columns[i]);
	}
	recorder->body_count++;
	return put_record(recorder, bytes, error);
}

bool io_recorder_add_frame(io_recorder *recorder, double time, const carom_pose *poses, const io_recorded_contact *contacts,
	int32_t contact_count, sim_error *error)
{
	const frame_record record = { time, recorder->body_count, recorder->with_contacts ? contact_count : 0 };
	const size_t pose_bytes = (size_t)record.body_count * sizeof *poses, rows = (size_t)record.contact_count;
	const size_t row_size = recording_record_size(recording_contact_columns, RECORDING_CONTACT_COLUMNS);
	char *bytes = new_record(recorder, RECORD_FRAME, sizeof record + pose_bytes + rows * row_size);
	if (bytes) {
		memcpy(bytes, &record, sizeof record);
		if (pose_bytes)
			memcpy(bytes + sizeof record, poses, pose_bytes);
		char *to = bytes + sizeof record + pose_bytes;
		for (int i = 0; rows && i < RECORDING_CONTACT_COLUMNS; i++) {
			recording_pack(&recording_contact_columns[i], contacts, sizeof *contacts, record.contact_count, to);
			to += rows * recording_row_size(&recording_contact_columns[i]);
		}
	}
	return put_record(recorder, bytes, error);
}

/// Make the HDF5 file from the log. The log stays when that fails.
static bool finish(const io_recorder *recorder, sim_error *error)
{
	const char *part = recorder->file.part;
	io_recording *log = io_open_recording(part, error);
	if (!log)
		return false;
	sim_error reason;
	const bool done = recording_write_hdf5(log, recorder->file.path, &reason);
	io_close_recording(log);
	if (done)
		remove(part);
	else
		sim_fail(error, "%s: %s; all that was recorded is in %s", recorder->file.path, reason.text, part);
	return done;
}

bool io_close_recorder(io_recorder *recorder, sim_error *error)
{
	if (!recorder)
		return true;
	bool done = !recorder->failed;
	if (!done) {
		say_failure(recorder, error);
		if (ftruncate(fileno(recorder->file.stream), (off_t)recorder->written) != 0)
			errno = 0; // its reader leaves out a last record that is not whole
	}
	done = fclose(recorder->file.stream) == 0 && done;
	recorder->file.stream = NULL; // the log is not to be removed
	done = done && finish(recorder, error);
	free_recorder(recorder);
	return done;
}

// ---- Reading ----

/// A log on its way in.
typedef struct log_reader {
	const recording_problem *problem;
	io_recording *recording;
	int64_t size; // of the file
	int64_t at;   // of the record at hand
	record_head head;
	char *bytes; // of the record at hand
	size_t room;
	int32_t mesh_room, body_room, frame_room;
} log_reader;

/// What is wrong, and in which frame or before which. Returns false.
static bool broken(const log_reader *l, const char *text)
{
	char object[80];
	snprintf(object, sizeof object, "the record behind frame %d (byte %lld)", (int)l->recording->frame_count, (long long)l->at);
	return recording_damaged(l->problem, object, text);
}

static bool out_of_memory(const log_reader *l) { return recording_fail(l->problem->path, l->problem->error, "out of memory"); }

/// Room for one more element of an array. False when memory is short.
static bool make_room(void **array, int32_t count, int32_t *room, size_t size)
{
	if (count < *room)
		return true;
	const size_t larger = *room ? 2 * (size_t)*room : 64;
	void *moved = larger > INT32_MAX ? NULL : realloc(*array, larger * size);
	if (!moved)
		return false;
	*array = moved;
	*room = (int32_t)larger;
	return true;
}

static bool take_info(log_reader *l)
{
	info_record record;
	io_recording *r = l->recording;
	if (r->scene_text || l->head.size < sizeof record)
		return broken(l, "is not what a recording begins with");
	memcpy(&record, l->bytes, sizeof record);
	const uint64_t rest = l->head.size - sizeof record;
	if (record.name_size > rest || record.text_size != rest - record.name_size || record.version != IO_RECORDING_VERSION)
		return broken(l, "is not what a recording begins with");
	r->info.contacts = record.contacts != 0;
	r->info.time_step = record.time_step;
	r->info.gravity = (carom_vec3){ record.gravity[0], record.gravity[1], record.gravity[2] };
	r->info.scene_name = r->scene_name = strndup(l->bytes + sizeof record, record.name_size);
	r->info.scene_text = r->scene_text = strndup(l->bytes + sizeof record + record.name_size, record.text_size);
	r->time = malloc(sizeof *r->time);
	r->first = r->info.contacts ? calloc(1, sizeof *r->first) : NULL;
	return (r->scene_name && r->scene_text && r->time && (r->first || !r->info.contacts)) || out_of_memory(l);
}

static bool take_mesh(log_reader *l)
{
	mesh_record record;
	io_recording *r = l->recording;
	if (l->head.size < sizeof record)
		return broken(l, "is no mesh");
	memcpy(&record, l->bytes, sizeof record);
	const uint64_t vertices = 12 * (uint64_t)(uint32_t)record.vertex_count;
	const uint64_t triangles = 12 * (uint64_t)(uint32_t)record.triangle_count;
	if (record.vertex_count < 0 || record.triangle_count < 0 || l->head.size != sizeof record + vertices + triangles)
		return broken(l, "is no mesh");
	if (!make_room((void **)&r->meshes, r->mesh_count, &l->mesh_room, sizeof *r->meshes))
		return out_of_memory(l);
	float *to = malloc((size_t)vertices + 1);
	int32_t *corners = malloc((size_t)triangles + 1);
	io_recorded_mesh *mesh = &r->meshes[r->mesh_count++];
	*mesh = (io_recorded_mesh){ .vertices = to, .triangles = corners };
	if (!to || !corners)
		return out_of_memory(l);
	memcpy(mesh->name, record.name, sizeof mesh->name - 1);
	memcpy(to, l->bytes + sizeof record, (size_t)vertices);
	memcpy(corners, l->bytes + sizeof record + vertices, (size_t)triangles);
	mesh->vertex_count = record.vertex_count;
	mesh->triangle_count = record.triangle_count;
	return recording_check_triangles(mesh) || broken(l, "is a mesh that names a vertex that is not there");
}

/// The number of columns of a body in so many bytes. 0: none.
static int body_columns_in(uint64_t size)
{
	static const int known[] = { RECORDING_OLD_BODY_COLUMNS, RECORDING_PLAIN_BODY_COLUMNS, RECORDING_BODY_COLUMNS };
	for (int i = 0; i < 3; i++) {
		if (size == recording_record_size(recording_body_columns, known[i]))
			return known[i];
	}
	return 0;
}

static bool take_body(log_reader *l)
{
	io_recording *r = l->recording;
	const int columns = body_columns_in(l->head.size);
	if (columns == 0)
		return broken(l, "is no body");
	if (!make_room((void **)&r->bodies, r->body_count, &l->body_room, sizeof *r->bodies))
		return out_of_memory(l);
	const char *from = l->bytes;
	io_recorded_body *body = &r->bodies[r->body_count++];
	memset(body, 0, sizeof *body);
	for (int i = 0; i < columns; i++) {
		recording_unpack(&recording_body_columns[i], from, sizeof *body, 1, body);
		from += recording_row_size(&recording_body_columns[i]);
	}
	return recording_check_body(l->problem, r, r->body_count - 1);
}

/// Room for a frame in three arrays that grow alike; `first` has one element more.
static bool make_frame_room(log_reader *l)
{
	io_recording *r = l->recording;
	int32_t room[3] = { l->frame_room, l->frame_room, l->frame_room };
	if (!make_room((void **)&r->frames, r->frame_count, &room[0], sizeof *r->frames) ||
		!make_room((void **)&r->time, r->frame_count, &room[1], sizeof *r->time) ||
		(r->info.contacts && !make_room((void **)&r->first, r->frame_count + 1, &room[2], sizeof *r->first)))
		return out_of_memory(l);
	l->frame_room = room[0];
	return true;
}

static bool take_frame(log_reader *l)
{
	frame_record record;
	io_recording *r = l->recording;
	if (l->head.size < sizeof record)
		return broken(l, "is no frame");
	memcpy(&record, l->bytes, sizeof record);
	const uint64_t poses = (uint64_t)r->body_count * sizeof(carom_pose);
	const uint64_t row_size = recording_record_size(recording_contact_columns, RECORDING_CONTACT_COLUMNS);
	if (record.body_count != r->body_count || record.contact_count < 0 || (record.contact_count > 0 && !r->info.contacts) ||
		l->head.size != sizeof record + poses + (uint64_t)record.contact_count * row_size)
		return broken(l, "is no frame");
	if (!make_frame_room(l))
		return false;
	const int64_t start = l->at + (int64_t)(sizeof(record_head) + sizeof record);
	r->frames[r->frame_count] = (recording_frame){ start, start + (int64_t)poses, record.body_count };
	r->time[r->frame_count] = record.time;
	if (r->first)
		r->first[r->frame_count + 1] = r->first[r->frame_count] + record.contact_count;
	r->frame_count++;
	return true;
}

static bool take_record(log_reader *l)
{
	if (!l->recording->scene_text && l->head.kind != RECORD_INFO)
		return broken(l, "is not what a recording begins with");
	switch (l->head.kind) {
	case RECORD_INFO: return take_info(l);
	case RECORD_MESH: return take_mesh(l);
	case RECORD_BODY: return take_body(l);
	case RECORD_FRAME: return take_frame(l);
	default: return broken(l, "is of an unknown kind");
	}
}

/// Read the record at l->at. *whole is false, without an error, when it is the last one and was not
/// written to its end.
static bool read_record(log_reader *l, bool *whole)
{
	FILE *file = l->recording->log;
	uint32_t sum;
	*whole = l->size - l->at >= (int64_t)sizeof l->head;
	if (!*whole)
		return true;
	if (fread(&l->head, sizeof l->head, 1, file) != 1)
		return broken(l, "cannot be read");
	if (l->head.sum != sum_of_head(&l->head))
		return broken(l, "has another sum than it was written with");
	const uint64_t rest = (uint64_t)(l->size - l->at) - sizeof l->head;
	*whole = l->head.size <= rest && rest - l->head.size >= sizeof sum;
	if (!*whole)
		return true;
	if (l->head.size >= l->room) {
		char *larger = realloc(l->bytes, (size_t)l->head.size + 1);
		if (!larger)
			return out_of_memory(l);
		l->bytes = larger;
		l->room = (size_t)l->head.size + 1;
	}
	if (fread(l->bytes, 1, (size_t)l->head.size, file) != l->head.size || fread(&sum, sizeof sum, 1, file) != 1)
		return broken(l, "cannot be read");
	return sum == sum_of(l->bytes, (size_t)l->head.size) || broken(l, "has another sum than it was written with");
}

static bool read_records(log_reader *l)
{
	bool whole = true;
	l->at = sizeof(log_head);
	while (l->at < l->size) {
		if (!read_record(l, &whole))
			return false;
		if (!whole)
			break;
		if (!take_record(l))
			return false;
		l->at += (int64_t)(sizeof l->head + l->head.size + sizeof(uint32_t));
	}
	return l->recording->scene_text ||
		recording_fail(l->problem->path, l->problem->error,
			"the run that wrote it was cut off before its first record was whole: there is nothing in it");
}

bool recording_open_log(const recording_problem *p, io_recording *recording)
{
	log_head head;
	log_reader l = { .problem = p, .recording = recording };
	recording->log = fopen(p->path, "rb");
	if (!recording->log)
		return recording_fail(p->path, p->error, strerror(errno));
	if (fseeko(recording->log, 0, SEEK_END) != 0 || (l.size = ftello(recording->log)) < 0 ||
		fseeko(recording->log, 0, SEEK_SET) != 0 || fread(&head, sizeof head, 1, recording->log) != 1)
		return recording_fail(p->path, p->error, "cannot be read");
	if (head.version != LOG_VERSION || head.byte_order != BYTE_ORDER_MARK)
		return recording_fail(p->path, p->error,
			"the recording of a run by another version or on a machine of another byte order: only there can it be read");
	const bool done = read_records(&l);
	free(l.bytes);
	snprintf(recording->note, sizeof recording->note,
		"the recording of a run that goes on or was cut off: %d frames of it are whole", (int)recording->frame_count);
	return done;
}

// ---- Access ----

static bool read_at(const io_recording *recording, int64_t at, void *bytes, size_t size)
{
	return fseeko(recording->log, (off_t)at, SEEK_SET) == 0 && fread(bytes, 1, size, recording->log) == size;
}

bool recording_log_poses(const io_recording *recording, int32_t frame, int32_t first, int32_t count, carom_pose *poses)
{
	const recording_frame *f = &recording->frames[frame];
	const int32_t left = f->body_count > first ? f->body_count - first : 0, there = left < count ? left : count;
	for (int32_t i = there; i < count; i++)
		poses[i] =
			(carom_pose){ { (double)NAN, (double)NAN, (double)NAN }, { (double)NAN, (double)NAN, (double)NAN, (double)NAN } };
	return there == 0 || read_at(recording, f->poses + first * (int64_t)sizeof *poses, poses, (size_t)there * sizeof *poses);
}

bool recording_log_contacts(const io_recording *recording, int32_t frame, void *packed)
{
	const size_t rows = (size_t)io_recording_contact_count(recording, frame);
	const size_t size = rows * recording_record_size(recording_contact_columns, RECORDING_CONTACT_COLUMNS);
	return read_at(recording, recording->frames[frame].contacts, packed, size);
}
