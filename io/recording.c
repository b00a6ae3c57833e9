// Recordings as their users see them, whichever file they lie in: a finished one
// (recording_hdf5.c), or the log of a run that is under way or was cut off (recording_log.c).
// recording_parts.h lists the parts.
#include "io/recording_parts.h"

#include "io/hdf5_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- Columns ----

const recording_column recording_body_columns[RECORDING_BODY_COLUMNS] = {
	{ "/bodies/kind", RECORDING_INT32, 1, offsetof(io_recorded_body, kind) },
	{ "/bodies/shape", RECORDING_INT32, 1, offsetof(io_recorded_body, type) },
	{ "/bodies/mesh", RECORDING_INT32, 1, offsetof(io_recorded_body, mesh) },
	{ "/bodies/radius", RECORDING_FLOAT64, 1, offsetof(io_recorded_body, radius) },
	{ "/bodies/half_length", RECORDING_FLOAT64, 1, offsetof(io_recorded_body, half_length) },
	{ "/bodies/half_extents", RECORDING_FLOAT64, 3, offsetof(io_recorded_body, half_extents) },
	// Earlier versions had none.
	{ "/bodies/rounding", RECORDING_FLOAT64, 1, offsetof(io_recorded_body, rounding) },
	// These two only where some body has parts.
	{ "/bodies/part", RECORDING_INT32, 1, offsetof(io_recorded_body, part) },
	{ "/bodies/place", RECORDING_FLOAT64, 7, offsetof(io_recorded_body, place) },
};
const recording_column recording_contact_columns[RECORDING_CONTACT_COLUMNS] = {
	{ "/contacts/body_a", RECORDING_INT32, 1, offsetof(io_recorded_contact, body_a) },
	{ "/contacts/body_b", RECORDING_INT32, 1, offsetof(io_recorded_contact, body_b) },
	{ "/contacts/point", RECORDING_FLOAT64, 3, offsetof(io_recorded_contact, point) },
	{ "/contacts/normal", RECORDING_FLOAT32, 3, offsetof(io_recorded_contact, normal) },
	{ "/contacts/depth", RECORDING_FLOAT32, 1, offsetof(io_recorded_contact, depth) },
	{ "/contacts/feature_a", RECORDING_INT32, 1, offsetof(io_recorded_contact, feature_a) },
	{ "/contacts/feature_b", RECORDING_INT32, 1, offsetof(io_recorded_contact, feature_b) },
	{ "/contacts/kind", RECORDING_INT32, 1, offsetof(io_recorded_contact, kind) },
};
const recording_column recording_time_column = { "/time", RECORDING_FLOAT64, 1, 0 };
const recording_column recording_first_column = { "/contacts/first", RECORDING_INT64, 1, 0 };
const recording_column recording_poses_column = { "/poses", RECORDING_FLOAT64, 7, 0 };

// Enums are read and written as 32-bit integers.
_Static_assert(sizeof(carom_body_kind) == 4 && sizeof(carom_shape_type) == 4, "enums of four bytes");
_Static_assert(sizeof(carom_pose) == 7 * sizeof(double), "a pose is seven numbers: x y z, qx qy qz qw");

size_t recording_row_size(const recording_column *column)
{
	const bool small = column->type == RECORDING_INT32 || column->type == RECORDING_FLOAT32;
	return (size_t)column->width * (small ? 4 : 8);
}

size_t recording_record_size(const recording_column *columns, int count)
{
	size_t size = 0;
	for (int i = 0; i < count; i++)
		size += recording_row_size(&columns[i]);
	return size;
}

void recording_pack(const recording_column *column, const void *records, size_t record_size, int64_t count, void *packed)
{
	if (count == 0)
		return; // records may be NULL
	const size_t size = recording_row_size(column);
	const char *from = (const char *)records + column->offset;
	for (int64_t i = 0; i < count; i++)
		memcpy((char *)packed + (size_t)i * size, from + (size_t)i * record_size, size);
}

void recording_unpack(const recording_column *column, const void *packed, size_t record_size, int64_t count, void *records)
{
	if (count == 0)
		return;
	const size_t size = recording_row_size(column);
	char *to = (char *)records + column->offset;
	for (int64_t i = 0; i < count; i++)
		memcpy(to + (size_t)i * record_size, (const char *)packed + (size_t)i * size, size);
}

// ---- Errors and checks ----

bool recording_fail(const char *path, sim_error *error, const char *text) { return sim_fail(error, "%s: %s", path, text); }

bool recording_damaged(const recording_problem *p, const char *object, const char *text)
{
	return sim_fail(p->error, "%s: damaged recording: %s %s", p->path, object, text);
}

bool recording_check_triangles(const io_recorded_mesh *mesh)
{
	for (int64_t i = 0; i < 3 * (int64_t)mesh->triangle_count; i++) {
		if (mesh->triangles[i] < 0 || mesh->triangles[i] >= mesh->vertex_count)
			return false;
	}
	return true;
}

bool recording_check_body(const recording_problem *p, const io_recording *recording, int32_t index)
{
	const io_recorded_body *body = &recording->bodies[index];
	const bool is_mesh = body->type == CAROM_MESH || body->type == CAROM_HULL;
	char name[48];
	snprintf(name, sizeof name, "body %d", (int)index);
	if ((int)body->kind < (int)CAROM_STATIC || (int)body->kind > (int)CAROM_DYNAMIC)
		return recording_damaged(p, name, "has an unknown kind");
	if ((int)body->type < (int)CAROM_SPHERE || (int)body->type > (int)CAROM_ELLIPSOID)
		return recording_damaged(p, name, "has an unknown shape");
	if (is_mesh && (body->mesh < 0 || body->mesh >= recording->mesh_count))
		return recording_damaged(p, name, "has a mesh that is not there");
	if (body->part < 0 || (body->part > 1 && (index == 0 || body[-1].part != body->part - 1 || body[-1].kind != body->kind)))
		return recording_damaged(p, name, "is a part that does not follow the part before it");
	return true;
}

// ---- Opening ----

static bool is_log(const char *path)
{
	char head[sizeof RECORDING_LOG_WORD] = "";
	FILE *file = fopen(path, "rb");
	const bool found = file && fread(head, sizeof head - 1, 1, file) == 1 && !strcmp(head, RECORDING_LOG_WORD);
	if (file)
		fclose(file);
	return found;
}

const char *io_missing_recording_hint(const char *path)
{
	char part[4096];
	const int length = snprintf(part, sizeof part, "%s.part", path);
	if (access(path, F_OK) == 0 || length >= (int)sizeof part || !is_log(part))
		return NULL;
	return "is not there, but that of a run that goes on or was cut off is, under this name with .part behind it: take that";
}

static bool is_missing(const recording_problem *p)
{
	const char *hint = io_missing_recording_hint(p->path);
	return recording_fail(p->path, p->error, hint ? hint : "cannot be opened: is the path right?");
}

static bool open_any(const recording_problem *p, io_recording *recording)
{
	if (is_log(p->path))
		return recording_open_log(p, recording);
	switch (io_check_seal(p->path)) {
	case IO_SEAL_UNREAD: return errno == ENOMEM ? recording_fail(p->path, p->error, "out of memory") : is_missing(p);
	case IO_SEAL_FOREIGN: return recording_fail(p->path, p->error, "not an HDF5 file, so not a recording");
	case IO_SEAL_BROKEN:
		return recording_fail(p->path, p->error,
			"damaged recording: its bytes do not have the digest that it begins with (or another program has changed them)");
	case IO_SEAL_NONE:
		snprintf(recording->note, sizeof recording->note,
			"it has no digest, as recordings of earlier versions: damage within it may go unnoticed");
		break;
	case IO_SEAL_WHOLE: break;
	}
	return recording_open_hdf5(p, recording);
}

io_recording *io_open_recording(const char *path, sim_error *error)
{
	const recording_problem p = { path, error };
	io_recording *recording = calloc(1, sizeof *recording);
	if (!recording || !(recording->path = strdup(path))) {
		recording_fail(path, error, "out of memory");
		free(recording);
		return NULL;
	}
	recording->file = -1;
	if (open_any(&p, recording))
		return recording;
	io_close_recording(recording);
	return NULL;
}

void io_close_recording(io_recording *recording)
{
	if (!recording)
		return;
	if (recording->file >= 0)
		H5Fclose(recording->file);
	if (recording->log)
		fclose(recording->log);
	for (int32_t i = 0; recording->meshes && i < recording->mesh_count; i++) {
		free((void *)recording->meshes[i].vertices);
		free((void *)recording->meshes[i].triangles);
	}
	free(recording->meshes);
	free(recording->bodies);
	free(recording->time);
	free(recording->first);
	free(recording->frames);
	free(recording->scene_text);
	free(recording->scene_name);
	free(recording->path);
	free(recording);
}

bool io_starts_like_recording(const void *start, size_t size)
{
	static const char signature[] = "\x89HDF\r\n\x1a\n";
	const char *bytes = start;
	if (size < 8)
		return false;
	// Behind a digest that is damaged HDF5 still begins.
	return !memcmp(bytes, signature, 8) || !memcmp(bytes, IO_SEAL_WORD, 8) || !memcmp(bytes, RECORDING_LOG_WORD, 8) ||
		(size >= IO_SEAL_SIZE + 8 && !memcmp(bytes + IO_SEAL_SIZE, signature, 8));
}

// ---- Content ----

const io_recording_info *io_recording_get_info(const io_recording *recording) { return &recording->info; }

const char *io_recording_note(const io_recording *recording) { return recording->note[0] ? recording->note : NULL; }

bool io_recording_is_finished(const io_recording *recording) { return recording->log == NULL; }

int32_t io_recording_frame_count(const io_recording *recording) { return recording->frame_count; }

int32_t io_recording_body_count(const io_recording *recording) { return recording->body_count; }

int32_t io_recording_whole_count(const io_recording *recording)
{
	int32_t count = 0;
	for (int32_t i = 0; i < recording->body_count; i++)
		count += recording->bodies[i].part <= 1;
	return count;
}

int32_t io_recording_moving_count(const io_recording *recording)
{
	int32_t count = 0;
	for (int32_t i = 0; i < recording->body_count; i++)
		count += recording->bodies[i].part <= 1 && recording->bodies[i].kind == CAROM_DYNAMIC;
	return count;
}

int32_t io_recording_mesh_count(const io_recording *recording) { return recording->mesh_count; }

const io_recorded_body *io_recording_get_body(const io_recording *recording, int32_t index)
{
	return &recording->bodies[index];
}

const io_recorded_mesh *io_recording_get_mesh(const io_recording *recording, int32_t index)
{
	return &recording->meshes[index];
}

double io_recording_get_time(const io_recording *recording, int32_t frame) { return recording->time[frame]; }

int32_t io_recording_contact_count(const io_recording *recording, int32_t frame)
{
	return recording->first ? (int32_t)(recording->first[frame + 1] - recording->first[frame]) : 0;
}

bool io_recording_read_poses(io_recording *recording, int32_t frame, carom_pose *poses, sim_error *error)
{
	const recording_problem p = { recording->path, error };
	const int32_t count = recording->body_count;
	if (count == 0)
		return true;
	if (recording->log ? recording_log_poses(recording, frame, 0, count, poses)
					   : recording_hdf5_poses(recording, frame, 0, count, poses))
		return true;
	return recording_damaged(&p, recording_poses_column.path, "cannot be read");
}

static bool unpack_contacts(
	const recording_problem *p, const io_recording *recording, const char *packed, int32_t count, io_recorded_contact *contacts)
{
	for (int i = 0; i < RECORDING_CONTACT_COLUMNS; i++) {
		const recording_column *c = &recording_contact_columns[i];
		recording_unpack(c, packed, sizeof *contacts, count, contacts);
		packed += (size_t)count * recording_row_size(c);
	}
	for (int32_t i = 0; i < count; i++) {
		if (contacts[i].body_a < 0 || contacts[i].body_a >= recording->body_count || contacts[i].body_b < 0 ||
			contacts[i].body_b >= recording->body_count)
			return recording_damaged(p, "/contacts", "names a body that is not there");
	}
	return true;
}

bool io_recording_read_contacts(io_recording *recording, int32_t frame, io_recorded_contact *contacts, sim_error *error)
{
	const recording_problem p = { recording->path, error };
	const int32_t count = io_recording_contact_count(recording, frame);
	if (count == 0)
		return true;
	char *packed = malloc((size_t)count * recording_record_size(recording_contact_columns, RECORDING_CONTACT_COLUMNS));
	bool done = packed != NULL;
	if (!done)
		recording_fail(recording->path, error, "out of memory");
	else if (!(done = recording->log ? recording_log_contacts(recording, frame, packed)
									 : recording_hdf5_contacts(recording, frame, packed)))
		recording_damaged(&p, "/contacts", "cannot be read");
	done = done && unpack_contacts(&p, recording, packed, count, contacts);
	free(packed);
	return done;
}
