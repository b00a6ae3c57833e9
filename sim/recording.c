// Recordings in HDF5. Every array that grows is chunked along its first side; poses and contacts are compressed (shuffle +
// deflate, which every HDF5 has). A file is closed with all that is open in it (H5F_CLOSE_STRONG), so error paths need no list
// of handles.
#include "sim/recording.h"

#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_NAME "carom-recording"
#define POSE_CHUNK_FRAMES 16
#define POSE_CHUNK_BODIES 1024 // 16 frames of them are 896 KiB: within HDF5's cache of 1 MiB for a dataset
#define FLUSH_EVERY 60         // frames: what a killed run loses

// The columns of /bodies and /contacts: one dataset each.
enum { BODY_KIND, BODY_SHAPE, BODY_MESH, BODY_RADIUS, BODY_HALF_LENGTH, BODY_HALF_EXTENTS, BODY_COLUMNS };
enum {
	CONTACT_A,
	CONTACT_B,
	CONTACT_POINT,
	CONTACT_NORMAL,
	CONTACT_DEPTH,
	CONTACT_FEATURE_A,
	CONTACT_FEATURE_B,
	CONTACT_KIND,
	CONTACT_COLUMNS
};

typedef enum scalar { INT32, FLOAT32, FLOAT64, INT64 } scalar;

typedef struct column {
	const char *path;
	scalar type;
	int width;     // numbers in a row
	size_t offset; // of the first of them in the record
} column;

static const column body_columns[BODY_COLUMNS] = {
	{ "/bodies/kind", INT32, 1, offsetof(sim_recorded_body, kind) },
	{ "/bodies/shape", INT32, 1, offsetof(sim_recorded_body, type) },
	{ "/bodies/mesh", INT32, 1, offsetof(sim_recorded_body, mesh) },
	{ "/bodies/radius", FLOAT64, 1, offsetof(sim_recorded_body, radius) },
	{ "/bodies/half_length", FLOAT64, 1, offsetof(sim_recorded_body, half_length) },
	{ "/bodies/half_extents", FLOAT64, 3, offsetof(sim_recorded_body, half_extents) },
};
static const column contact_columns[CONTACT_COLUMNS] = {
	{ "/contacts/body_a", INT32, 1, offsetof(sim_recorded_contact, body_a) },
	{ "/contacts/body_b", INT32, 1, offsetof(sim_recorded_contact, body_b) },
	{ "/contacts/point", FLOAT64, 3, offsetof(sim_recorded_contact, point) },
	{ "/contacts/normal", FLOAT32, 3, offsetof(sim_recorded_contact, normal) },
	{ "/contacts/depth", FLOAT32, 1, offsetof(sim_recorded_contact, depth) },
	{ "/contacts/feature_a", INT32, 1, offsetof(sim_recorded_contact, feature_a) },
	{ "/contacts/feature_b", INT32, 1, offsetof(sim_recorded_contact, feature_b) },
	{ "/contacts/kind", INT32, 1, offsetof(sim_recorded_contact, kind) },
};
static const column time_column = { "/time", FLOAT64, 1, 0 };
static const column first_column = { "/contacts/first", INT64, 1, 0 };
static const column poses_column = { "/poses", FLOAT64, 7, 0 };

// Enums are read and written as 32-bit integers.
_Static_assert(sizeof(carom_body_kind) == 4 && sizeof(carom_shape_type) == 4, "enums of four bytes");

static hid_t memory_type(scalar type)
{
	switch (type) {
	case INT32: return H5T_NATIVE_INT32;
	case INT64: return H5T_NATIVE_INT64;
	case FLOAT32: return H5T_NATIVE_FLOAT;
	default: return H5T_NATIVE_DOUBLE;
	}
}

static hid_t file_type(scalar type)
{
	switch (type) {
	case INT32: return H5T_STD_I32LE;
	case INT64: return H5T_STD_I64LE;
	case FLOAT32: return H5T_IEEE_F32LE;
	default: return H5T_IEEE_F64LE;
	}
}

static size_t scalar_size(scalar type) { return type == INT32 || type == FLOAT32 ? 4 : 8; }

static bool fail(const char *path, char *error, size_t error_size, const char *what)
{
	snprintf(error, error_size, "%s: %s", path, what);
	return false;
}

// HDF5 prints a stack of its own on every error unless it is told not to.
static void silence(void) { H5Eset_auto2(H5E_DEFAULT, NULL, NULL); }

static hid_t file_access(void)
{
	const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
	H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
	return access;
}

// ---- Writing ----

struct sim_recorder {
	hid_t file;
	char *path;
	bool with_contacts;
	hid_t bodies[BODY_COLUMNS];
	hid_t contacts[CONTACT_COLUMNS];
	hid_t first;
	hid_t time;
	hid_t poses; // made with the first frame, when the number of bodies is known
	int32_t mesh_count;
	int32_t body_count;
	int64_t frame_count;
	int64_t contact_count;
};

// How datasets are made: without the time of their making, so that equal runs leave equal files.
static hid_t dataset_properties(void)
{
	const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_obj_track_times(properties, false);
	return properties;
}

// A dataset that grows along its first side (and the second, if that is given as growing).
static hid_t create_growing(hid_t file, const char *path, scalar type, int rank, const hsize_t *chunk, bool second_grows)
{
	hsize_t size[3] = { 0, rank > 1 ? chunk[1] : 0, rank > 2 ? chunk[2] : 0 };
	hsize_t most[3] = { H5S_UNLIMITED, second_grows ? H5S_UNLIMITED : size[1], size[2] };
	if (second_grows)
		size[1] = 0;
	const double nan_value = NAN;
	const hid_t space = H5Screate_simple(rank, size, most);
	const hid_t properties = dataset_properties();
	H5Pset_chunk(properties, rank, chunk);
	H5Pset_shuffle(properties);
	H5Pset_deflate(properties, 4);
	if (second_grows)
		H5Pset_fill_value(properties, H5T_NATIVE_DOUBLE, &nan_value);
	const hid_t set = H5Dcreate2(file, path, file_type(type), space, H5P_DEFAULT, properties, H5P_DEFAULT);
	H5Pclose(properties);
	H5Sclose(space);
	return set;
}

static hid_t create_column(hid_t file, const column *c)
{
	const hsize_t chunk[2] = { 4096, (hsize_t)c->width };
	return create_growing(file, c->path, c->type, c->width > 1 ? 2 : 1, chunk, false);
}

// Write rows first..first+count-1 of a column from packed numbers; the dataset grows to fit.
static bool write_rows(hid_t set, const column *c, int64_t first, int64_t count, const void *numbers)
{
	if (count == 0)
		return true;
	const int rank = c->width > 1 ? 2 : 1;
	const hsize_t size[2] = { (hsize_t)(first + count), (hsize_t)c->width };
	const hsize_t start[2] = { (hsize_t)first, 0 };
	const hsize_t rows[2] = { (hsize_t)count, (hsize_t)c->width };
	if (H5Dset_extent(set, size) < 0)
		return false;
	const hid_t space = H5Dget_space(set);
	const hid_t memory = H5Screate_simple(rank, rows, NULL);
	bool done = space >= 0 && memory >= 0;
	done = done && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, rows, NULL) >= 0;
	done = done && H5Dwrite(set, memory_type(c->type), memory, space, H5P_DEFAULT, numbers) >= 0;
	H5Sclose(memory);
	H5Sclose(space);
	return done;
}

// Write one column of an array of records: gathered into packed numbers first.
static bool write_records(hid_t set, const column *c, int64_t first, int64_t count, const void *records, size_t record_size)
{
	const size_t size = (size_t)c->width * scalar_size(c->type);
	char *packed = malloc((size_t)count * size + 1);
	if (!packed)
		return false;
	for (int64_t i = 0; i < count; i++)
		memcpy(packed + (size_t)i * size, (const char *)records + (size_t)i * record_size + c->offset, size);
	const bool done = write_rows(set, c, first, count, packed);
	free(packed);
	return done;
}

static bool write_attribute(hid_t object, const char *name, scalar type, int count, const void *values)
{
	const hsize_t size = (hsize_t)count;
	const hid_t space = count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &size, NULL);
	const hid_t attribute = H5Acreate2(object, name, file_type(type), space, H5P_DEFAULT, H5P_DEFAULT);
	const bool done = attribute >= 0 && H5Awrite(attribute, memory_type(type), values) >= 0;
	H5Aclose(attribute);
	H5Sclose(space);
	return done;
}

// A string of fixed length, UTF-8. HDF5 has none of length 0: the empty string becomes one zero byte.
static hid_t text_type(const char *text)
{
	const hid_t type = H5Tcopy(H5T_C_S1);
	H5Tset_size(type, *text ? strlen(text) : 1);
	H5Tset_strpad(type, H5T_STR_NULLPAD);
	H5Tset_cset(type, H5T_CSET_UTF8);
	return type;
}

static bool write_text_attribute(hid_t object, const char *name, const char *text)
{
	const hid_t type = text_type(text);
	const hid_t space = H5Screate(H5S_SCALAR);
	const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	const bool done = attribute >= 0 && H5Awrite(attribute, type, text) >= 0;
	H5Aclose(attribute);
	H5Sclose(space);
	H5Tclose(type);
	return done;
}

// The scene's text is a dataset: attributes end at 64 KiB.
static bool write_text(hid_t file, const char *path, const char *text)
{
	const hid_t type = text_type(text);
	const hid_t space = H5Screate(H5S_SCALAR);
	const hid_t properties = dataset_properties();
	const hid_t set = H5Dcreate2(file, path, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
	H5Pclose(properties);
	const bool done = set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0;
	H5Dclose(set);
	H5Sclose(space);
	H5Tclose(type);
	return done;
}

static bool create_group(hid_t file, const char *path)
{
	const hid_t group = H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	return group >= 0 && H5Gclose(group) >= 0;
}

static bool write_header(sim_recorder *recorder, const sim_recording_info *info)
{
	const hid_t file = recorder->file;
	const int32_t version = SIM_RECORDING_VERSION;
	const double gravity[3] = { info->gravity.x, info->gravity.y, info->gravity.z };
	bool done = write_text_attribute(file, "format", FORMAT_NAME) && write_attribute(file, "version", INT32, 1, &version) &&
		write_attribute(file, "gravity", FLOAT64, 3, gravity) &&
		write_attribute(file, "time_step", FLOAT64, 1, &info->time_step) &&
		write_text_attribute(file, "name", info->scene_name ? info->scene_name : "") &&
		write_text(file, "/scene", info->scene_text ? info->scene_text : "") && create_group(file, "/meshes") &&
		create_group(file, "/bodies");
	for (int i = 0; i < BODY_COLUMNS && done; i++)
		done = (recorder->bodies[i] = create_column(file, &body_columns[i])) >= 0;
	done = done && (recorder->time = create_column(file, &time_column)) >= 0;
	if (!done || !info->contacts)
		return done;
	const int64_t zero = 0;
	done = create_group(file, "/contacts");
	for (int i = 0; i < CONTACT_COLUMNS && done; i++)
		done = (recorder->contacts[i] = create_column(file, &contact_columns[i])) >= 0;
	return done && (recorder->first = create_column(file, &first_column)) >= 0 &&
		write_rows(recorder->first, &first_column, 0, 1, &zero);
}

sim_recorder *sim_create_recorder(const char *path, const sim_recording_info *info, char *error, size_t error_size)
{
	silence();
	sim_recorder *recorder = calloc(1, sizeof *recorder);
	if (!recorder || !(recorder->path = strdup(path))) {
		free(recorder);
		fail(path, error, error_size, "out of memory");
		return NULL;
	}
	recorder->with_contacts = info->contacts;
	recorder->poses = -1;
	const hid_t access = file_access();
	recorder->file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
	H5Pclose(access);
	if (recorder->file >= 0 && write_header(recorder, info))
		return recorder;
	fail(path, error, error_size,
		recorder->file < 0 ? "cannot be written: is the folder there and writable?" : "cannot be written: is the disk full?");
	if (recorder->file >= 0)
		H5Fclose(recorder->file);
	free(recorder->path);
	free(recorder);
	return NULL;
}

static bool write_failed(const sim_recorder *recorder, char *error, size_t error_size)
{
	return fail(recorder->path, error, error_size, "cannot be written: is the disk full?");
}

// A dataset of fixed size, [count, 3].
static bool write_triples(hid_t group, const char *name, scalar type, int32_t count, const void *data)
{
	const hsize_t size[2] = { (hsize_t)count, 3 };
	const hid_t space = H5Screate_simple(2, size, NULL);
	const hid_t properties = dataset_properties();
	const hid_t set = H5Dcreate2(group, name, file_type(type), space, H5P_DEFAULT, properties, H5P_DEFAULT);
	H5Pclose(properties);
	const bool done = set >= 0 && (count == 0 || H5Dwrite(set, memory_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
	H5Dclose(set);
	H5Sclose(space);
	return done;
}

bool sim_recorder_add_mesh(sim_recorder *recorder, const sim_recorded_mesh *mesh, char *error, size_t error_size)
{
	char path[SIM_RECORDING_NAME + 16];
	snprintf(path, sizeof path, "/meshes/%s", mesh->name);
	const hid_t group = H5Gcreate2(recorder->file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	const bool done = group >= 0 && write_attribute(group, "index", INT32, 1, &recorder->mesh_count) &&
		write_triples(group, "vertices", FLOAT32, mesh->vertex_count, mesh->vertices) &&
		write_triples(group, "triangles", INT32, mesh->triangle_count, mesh->triangles);
	H5Gclose(group);
	if (!done)
		return write_failed(recorder, error, error_size);
	recorder->mesh_count++;
	return true;
}

bool sim_recorder_add_body(sim_recorder *recorder, const sim_recorded_body *body, char *error, size_t error_size)
{
	for (int i = 0; i < BODY_COLUMNS; i++)
		if (!write_records(recorder->bodies[i], &body_columns[i], recorder->body_count, 1, body, sizeof *body))
			return write_failed(recorder, error, error_size);
	recorder->body_count++;
	return true;
}

static bool create_poses(sim_recorder *recorder)
{
	const int32_t bodies = recorder->body_count;
	const hsize_t across = bodies < 1 ? 1 : bodies > POSE_CHUNK_BODIES ? POSE_CHUNK_BODIES : (hsize_t)bodies;
	const hsize_t chunk[3] = { POSE_CHUNK_FRAMES, across, 7 };
	recorder->poses = create_growing(recorder->file, poses_column.path, FLOAT64, 3, chunk, true);
	return recorder->poses >= 0;
}

static bool write_poses(sim_recorder *recorder, const carom_pose *poses)
{
	_Static_assert(sizeof(carom_pose) == 7 * sizeof(double), "a pose is seven numbers: x y z, qx qy qz qw");
	const hsize_t count[3] = { 1, (hsize_t)recorder->body_count, 7 };
	const hsize_t size[3] = { (hsize_t)recorder->frame_count + 1, count[1], 7 };
	const hsize_t start[3] = { (hsize_t)recorder->frame_count, 0, 0 };
	if ((recorder->poses < 0 && !create_poses(recorder)) || H5Dset_extent(recorder->poses, size) < 0)
		return false;
	if (recorder->body_count == 0)
		return true;
	const hid_t space = H5Dget_space(recorder->poses);
	const hid_t memory = H5Screate_simple(3, count, NULL);
	bool done = space >= 0 && memory >= 0;
	done = done && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0;
	done = done && H5Dwrite(recorder->poses, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, poses) >= 0;
	H5Sclose(memory);
	H5Sclose(space);
	return done;
}

static bool write_contacts(sim_recorder *recorder, const sim_recorded_contact *contacts, int32_t count)
{
	for (int i = 0; i < CONTACT_COLUMNS; i++)
		if (!write_records(
				recorder->contacts[i], &contact_columns[i], recorder->contact_count, count, contacts, sizeof *contacts))
			return false;
	recorder->contact_count += count;
	return write_rows(recorder->first, &first_column, recorder->frame_count + 1, 1, &recorder->contact_count);
}

bool sim_recorder_add_frame(sim_recorder *recorder, double time, const carom_pose *poses, const sim_recorded_contact *contacts,
	int32_t contact_count, char *error, size_t error_size)
{
	bool done = write_rows(recorder->time, &time_column, recorder->frame_count, 1, &time) && write_poses(recorder, poses);
	if (done && recorder->with_contacts)
		done = write_contacts(recorder, contacts, contact_count);
	recorder->frame_count++;
	if (done && recorder->frame_count % FLUSH_EVERY == 0)
		done = H5Fflush(recorder->file, H5F_SCOPE_LOCAL) >= 0;
	return done || write_failed(recorder, error, error_size);
}

bool sim_close_recorder(sim_recorder *recorder, char *error, size_t error_size)
{
	if (!recorder)
		return true;
	bool done = recorder->poses >= 0 || create_poses(recorder);
	done = H5Fflush(recorder->file, H5F_SCOPE_LOCAL) >= 0 && done;
	done = H5Fclose(recorder->file) >= 0 && done;
	if (!done)
		write_failed(recorder, error, error_size);
	free(recorder->path);
	free(recorder);
	return done;
}

// ---- Reading ----

struct sim_recording {
	hid_t file;
	char *path;
	sim_recording_info info;
	char *scene_text;
	char *scene_name;
	int32_t mesh_count;
	int32_t body_count;
	int32_t frame_count;
	sim_recorded_mesh *meshes;
	sim_recorded_body *bodies;
	double *time;
	int64_t *first; // [frame_count + 1] in recordings with contacts
};

typedef struct problem {
	const char *path;
	char *error;
	size_t error_size;
} problem;

// What is wrong with an object of the file. Returns false.
static bool damaged(const problem *p, const char *object, const char *what)
{
	snprintf(p->error, p->error_size, "%s: damaged recording: %s %s", p->path, object, what);
	return false;
}

static bool is_kind_of(hid_t type, scalar wanted)
{
	const bool real = wanted == FLOAT32 || wanted == FLOAT64;
	return H5Tget_class(type) == (real ? H5T_FLOAT : H5T_INTEGER);
}

// Open a dataset of numbers and get its size; rank and the sizes of the sides after the first `free_sides` must be as wanted.
static hid_t open_numbers(
	const problem *p, hid_t file, const char *path, scalar type, int rank, int free_sides, const hsize_t *wanted, hsize_t *size)
{
	const hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
	if (set < 0) {
		damaged(p, path, "is missing");
		return -1;
	}
	const hid_t space = H5Dget_space(set);
	const hid_t stored = H5Dget_type(set);
	bool fine = is_kind_of(stored, type) && H5Sget_simple_extent_ndims(space) == rank;
	fine = fine && H5Sget_simple_extent_dims(space, size, NULL) == rank;
	for (int i = 0; fine && i < rank; i++)
		fine = i < free_sides ? size[i] <= INT32_MAX : size[i] == wanted[i];
	H5Tclose(stored);
	H5Sclose(space);
	if (fine)
		return set;
	damaged(p, path, "has another type or size than it must have");
	H5Dclose(set);
	return -1;
}

// Read a whole [rows] or [rows, width] dataset into new memory. *rows is -1 at first, or the number that is wanted.
static void *read_all(const problem *p, hid_t file, const column *c, int64_t *rows)
{
	const hsize_t wanted[2] = { 0, (hsize_t)c->width };
	hsize_t size[2] = { 0, 1 };
	const hid_t set = open_numbers(p, file, c->path, c->type, c->width > 1 ? 2 : 1, 1, wanted, size);
	if (set < 0)
		return NULL;
	void *data = NULL;
	if (*rows >= 0 && size[0] != (hsize_t)*rows) {
		damaged(p, c->path, "has another length than the arrays beside it");
	} else if (!(data = malloc((size_t)size[0] * (size_t)c->width * scalar_size(c->type) + 1))) {
		damaged(p, c->path, "does not fit into memory");
	} else if (H5Dread(set, memory_type(c->type), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
		damaged(p, c->path, "cannot be read");
		free(data);
		data = NULL;
	}
	*rows = (int64_t)size[0];
	H5Dclose(set);
	return data;
}

// A string of an open dataset or attribute of fixed or variable length, as new memory. NULL when it is none.
static char *read_text(hid_t object, bool attribute)
{
	const hid_t type = attribute ? H5Aget_type(object) : H5Dget_type(object);
	const hid_t space = attribute ? H5Aget_space(object) : H5Dget_space(object);
	char *text = NULL;
	if (H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 && H5Sget_simple_extent_npoints(space) == 1) {
		const size_t size = H5Tget_size(type);
		text = calloc(1, size + 1);
		const hid_t memory = H5Tcopy(type);
		if (text &&
			(attribute ? H5Aread(object, memory, text) : H5Dread(object, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, text)) < 0) {
			free(text);
			text = NULL;
		}
		H5Tclose(memory);
	}
	H5Sclose(space);
	H5Tclose(type);
	return text;
}

static char *read_text_attribute(hid_t object, const char *name)
{
	const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
	if (attribute < 0)
		return NULL;
	char *text = read_text(attribute, true);
	H5Aclose(attribute);
	return text;
}

static bool read_attribute(hid_t object, const char *name, scalar type, int count, void *values)
{
	const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
	if (attribute < 0)
		return false;
	const hid_t stored = H5Aget_type(attribute);
	const hid_t space = H5Aget_space(attribute);
	const bool done = is_kind_of(stored, type) && H5Sget_simple_extent_npoints(space) == count &&
		H5Aread(attribute, memory_type(type), values) >= 0;
	H5Sclose(space);
	H5Tclose(stored);
	H5Aclose(attribute);
	return done;
}

static bool read_header(const problem *p, sim_recording *recording)
{
	const hid_t file = recording->file;
	char *format = read_text_attribute(file, "format");
	const bool ours = format && !strcmp(format, FORMAT_NAME);
	free(format);
	if (!ours)
		return fail(p->path, p->error, p->error_size,
			"an HDF5 file, but not a recording of carom (attribute \"format\" is not \"" FORMAT_NAME "\")");
	int32_t version = 0;
	if (!read_attribute(file, "version", INT32, 1, &version))
		return damaged(p, "attribute \"version\"", "is missing");
	if (version != SIM_RECORDING_VERSION) {
		snprintf(p->error, p->error_size, "%s: recording of version %d; this program reads version %d", p->path, (int)version,
			SIM_RECORDING_VERSION);
		return false;
	}
	double gravity[3];
	if (!read_attribute(file, "gravity", FLOAT64, 3, gravity))
		return damaged(p, "attribute \"gravity\"", "is missing");
	if (!read_attribute(file, "time_step", FLOAT64, 1, &recording->info.time_step))
		return damaged(p, "attribute \"time_step\"", "is missing");
	recording->info.gravity = (carom_vec3){ gravity[0], gravity[1], gravity[2] };
	recording->scene_name = read_text_attribute(file, "name");
	const hid_t scene = H5Dopen2(file, "/scene", H5P_DEFAULT);
	if (scene >= 0) {
		recording->scene_text = read_text(scene, false);
		H5Dclose(scene);
	}
	if (!recording->scene_name || !recording->scene_text)
		return damaged(p, recording->scene_name ? "/scene" : "attribute \"name\"", "is missing");
	recording->info.scene_name = recording->scene_name;
	recording->info.scene_text = recording->scene_text;
	return true;
}

static bool check_triangles(const sim_recorded_mesh *mesh)
{
	for (int64_t i = 0; i < 3 * (int64_t)mesh->triangle_count; i++)
		if (mesh->triangles[i] < 0 || mesh->triangles[i] >= mesh->vertex_count)
			return false;
	return true;
}

static bool read_mesh(const problem *p, sim_recording *recording, hsize_t link)
{
	char name[SIM_RECORDING_NAME + 1] = "";
	char path[2][SIM_RECORDING_NAME + 32];
	const ssize_t length =
		H5Lget_name_by_idx(recording->file, "/meshes", H5_INDEX_NAME, H5_ITER_INC, link, name, sizeof name, H5P_DEFAULT);
	if (length < 1 || length >= SIM_RECORDING_NAME)
		return damaged(p, "/meshes", "holds a mesh without a usable name");
	snprintf(path[0], sizeof path[0], "/meshes/%s", name);
	int32_t index = -1;
	const hid_t group = H5Gopen2(recording->file, path[0], H5P_DEFAULT);
	const bool numbered = group >= 0 && read_attribute(group, "index", INT32, 1, &index);
	if (group >= 0)
		H5Gclose(group);
	if (!numbered || index < 0 || index >= recording->mesh_count || recording->meshes[index].vertices)
		return damaged(p, path[0], "has no valid attribute \"index\"");

	sim_recorded_mesh *mesh = &recording->meshes[index];
	int64_t vertex_count = -1, triangle_count = -1;
	snprintf(mesh->name, sizeof mesh->name, "%.63s", name);
	snprintf(path[0], sizeof path[0], "/meshes/%s/vertices", name);
	snprintf(path[1], sizeof path[1], "/meshes/%s/triangles", name);
	mesh->vertices = read_all(p, recording->file, &(column){ path[0], FLOAT32, 3, 0 }, &vertex_count);
	if (!mesh->vertices)
		return false;
	mesh->triangles = read_all(p, recording->file, &(column){ path[1], INT32, 3, 0 }, &triangle_count);
	if (!mesh->triangles)
		return false;
	mesh->vertex_count = (int32_t)vertex_count;
	mesh->triangle_count = (int32_t)triangle_count;
	return check_triangles(mesh) || damaged(p, path[1], "names a vertex that is not there");
}

static bool read_meshes(const problem *p, sim_recording *recording)
{
	H5G_info_t info;
	if (H5Gget_info_by_name(recording->file, "/meshes", &info, H5P_DEFAULT) < 0)
		return damaged(p, "/meshes", "is missing");
	if (info.nlinks > 1000000)
		return damaged(p, "/meshes", "holds more than a million meshes");
	recording->mesh_count = (int32_t)info.nlinks;
	recording->meshes = calloc((size_t)info.nlinks + 1, sizeof *recording->meshes);
	if (!recording->meshes)
		return damaged(p, "/meshes", "does not fit into memory");
	for (hsize_t i = 0; i < info.nlinks; i++)
		if (!read_mesh(p, recording, i))
			return false;
	return true;
}

static bool check_body(const problem *p, const sim_recording *recording, int32_t index)
{
	const sim_recorded_body *body = &recording->bodies[index];
	const bool is_mesh = body->type == CAROM_MESH;
	char name[48];
	snprintf(name, sizeof name, "body %d", (int)index);
	if ((int)body->kind < (int)CAROM_STATIC || (int)body->kind > (int)CAROM_DYNAMIC)
		return damaged(p, name, "has an unknown kind");
	if ((int)body->type < (int)CAROM_SPHERE || (int)body->type > (int)CAROM_MESH)
		return damaged(p, name, "has an unknown shape");
	if (is_mesh && (body->mesh < 0 || body->mesh >= recording->mesh_count))
		return damaged(p, name, "has a mesh that is not there");
	return true;
}

static bool read_bodies(const problem *p, sim_recording *recording)
{
	int64_t rows = -1;
	for (int i = 0; i < BODY_COLUMNS; i++) {
		const column *c = &body_columns[i];
		const size_t size = (size_t)c->width * scalar_size(c->type);
		char *data = read_all(p, recording->file, c, &rows);
		if (!data)
			return false;
		if (i == 0)
			recording->bodies = calloc((size_t)rows + 1, sizeof *recording->bodies);
		for (int64_t k = 0; recording->bodies && k < rows; k++)
			memcpy((char *)&recording->bodies[k] + c->offset, data + (size_t)k * size, size);
		free(data);
		if (!recording->bodies)
			return damaged(p, "/bodies", "does not fit into memory");
	}
	recording->body_count = (int32_t)rows;
	for (int32_t i = 0; i < recording->body_count; i++)
		if (!check_body(p, recording, i))
			return false;
	return true;
}

static bool read_frames(const problem *p, sim_recording *recording)
{
	int64_t frames = -1, firsts;
	recording->time = read_all(p, recording->file, &time_column, &frames);
	if (!recording->time)
		return false;
	recording->frame_count = (int32_t)frames;
	hsize_t size[3], wanted[3] = { (hsize_t)frames, (hsize_t)recording->body_count, 7 };
	const hid_t set = open_numbers(p, recording->file, poses_column.path, FLOAT64, 3, 2, wanted, size);
	if (set < 0)
		return false;
	H5Dclose(set);
	// Bodies added after the last frame have no column; a killed run may have more times than poses.
	if (size[0] != wanted[0] || size[1] > wanted[1] || (frames > 0 && size[1] < wanted[1]))
		return damaged(p, poses_column.path, "has another number of frames or bodies than /time and /bodies");

	recording->info.contacts = H5Lexists(recording->file, "/contacts", H5P_DEFAULT) > 0;
	if (!recording->info.contacts)
		return true;
	firsts = frames + 1;
	recording->first = read_all(p, recording->file, &first_column, &firsts);
	if (!recording->first)
		return false;
	for (int64_t i = 0; i < frames; i++)
		if (recording->first[i] < 0 || recording->first[i + 1] < recording->first[i] ||
			recording->first[i + 1] - recording->first[i] > INT32_MAX)
			return damaged(p, first_column.path, "does not rise");
	return true;
}

sim_recording *sim_open_recording(const char *path, char *error, size_t error_size)
{
	const problem p = { path, error, error_size };
	silence();
	FILE *stream = fopen(path, "rb");
	if (!stream) {
		fail(path, error, error_size, "cannot be opened: is the path right?");
		return NULL;
	}
	fclose(stream);
	if (H5Fis_hdf5(path) <= 0) {
		fail(path, error, error_size, "not an HDF5 file, so not a recording");
		return NULL;
	}
	sim_recording *recording = calloc(1, sizeof *recording);
	if (!recording || !(recording->path = strdup(path))) {
		fail(path, error, error_size, "out of memory");
		free(recording);
		return NULL;
	}
	const hid_t access = file_access();
	recording->file = H5Fopen(path, H5F_ACC_RDONLY, access);
	H5Pclose(access);
	if (recording->file < 0)
		fail(path, error, error_size, "damaged recording: HDF5 cannot open it (cut off, or still being written?)");
	else if (read_header(&p, recording) && read_meshes(&p, recording) && read_bodies(&p, recording) &&
		read_frames(&p, recording))
		return recording;
	sim_close_recording(recording);
	return NULL;
}

void sim_close_recording(sim_recording *recording)
{
	if (!recording)
		return;
	if (recording->file >= 0)
		H5Fclose(recording->file);
	for (int32_t i = 0; recording->meshes && i < recording->mesh_count; i++) {
		free((void *)recording->meshes[i].vertices);
		free((void *)recording->meshes[i].triangles);
	}
	free(recording->meshes);
	free(recording->bodies);
	free(recording->time);
	free(recording->first);
	free(recording->scene_text);
	free(recording->scene_name);
	free(recording->path);
	free(recording);
}

bool sim_is_recording_file(const char *path)
{
	silence();
	return H5Fis_hdf5(path) > 0;
}

const sim_recording_info *sim_recording_get_info(const sim_recording *recording) { return &recording->info; }

int32_t sim_recording_frame_count(const sim_recording *recording) { return recording->frame_count; }

int32_t sim_recording_body_count(const sim_recording *recording) { return recording->body_count; }

int32_t sim_recording_mesh_count(const sim_recording *recording) { return recording->mesh_count; }

const sim_recorded_body *sim_recording_get_body(const sim_recording *recording, int32_t index)
{
	return &recording->bodies[index];
}

const sim_recorded_mesh *sim_recording_get_mesh(const sim_recording *recording, int32_t index)
{
	return &recording->meshes[index];
}

double sim_recording_get_time(const sim_recording *recording, int32_t frame) { return recording->time[frame]; }

int32_t sim_recording_contact_count(const sim_recording *recording, int32_t frame)
{
	return recording->first ? (int32_t)(recording->first[frame + 1] - recording->first[frame]) : 0;
}

// Read a block of a dataset. start and count have one number for each side.
static bool read_block(
	hid_t file, const char *path, scalar type, int rank, const hsize_t *start, const hsize_t *count, void *data)
{
	const hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
	const hid_t space = H5Dget_space(set);
	const hid_t memory = H5Screate_simple(rank, count, NULL);
	bool done = set >= 0 && space >= 0 && memory >= 0 && H5Sget_simple_extent_ndims(space) == rank;
	done = done && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0;
	done = done && H5Sselect_valid(space) > 0;
	done = done && H5Dread(set, memory_type(type), memory, space, H5P_DEFAULT, data) >= 0;
	H5Sclose(memory);
	H5Sclose(space);
	H5Dclose(set);
	return done;
}

bool sim_recording_read_poses(sim_recording *recording, int32_t frame, carom_pose *poses, char *error, size_t error_size)
{
	const problem p = { recording->path, error, error_size };
	const hsize_t start[3] = { (hsize_t)frame, 0, 0 };
	const hsize_t count[3] = { 1, (hsize_t)recording->body_count, 7 };
	if (recording->body_count == 0 || read_block(recording->file, poses_column.path, FLOAT64, 3, start, count, poses))
		return true;
	return damaged(&p, poses_column.path, "cannot be read");
}

static bool read_contact_column(
	sim_recording *recording, const column *c, int64_t first, int32_t count, sim_recorded_contact *contacts)
{
	const hsize_t start[2] = { (hsize_t)first, 0 };
	const hsize_t rows[2] = { (hsize_t)count, (hsize_t)c->width };
	const size_t size = (size_t)c->width * scalar_size(c->type);
	char *packed = malloc((size_t)count * size);
	const bool done = packed && read_block(recording->file, c->path, c->type, c->width > 1 ? 2 : 1, start, rows, packed);
	for (int32_t i = 0; done && i < count; i++)
		memcpy((char *)&contacts[i] + c->offset, packed + (size_t)i * size, size);
	free(packed);
	return done;
}

bool sim_recording_read_contacts(
	sim_recording *recording, int32_t frame, sim_recorded_contact *contacts, char *error, size_t error_size)
{
	const problem p = { recording->path, error, error_size };
	const int32_t count = sim_recording_contact_count(recording, frame);
	if (count == 0)
		return true;
	for (int i = 0; i < CONTACT_COLUMNS; i++)
		if (!read_contact_column(recording, &contact_columns[i], recording->first[frame], count, contacts))
			return damaged(&p, contact_columns[i].path, "cannot be read");
	for (int32_t i = 0; i < count; i++)
		if (contacts[i].body_a < 0 || contacts[i].body_a >= recording->body_count || contacts[i].body_b < 0 ||
			contacts[i].body_b >= recording->body_count)
			return damaged(&p, "/contacts", "names a body that is not there");
	return true;
}
