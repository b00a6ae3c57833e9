// Reading finished recordings. The seal has been looked at before; a file may still be hostile, or
// made by another program: its claims are compared with its content before memory is taken for it.
#include "io/hdf5_file.h"
#include "io/recording_parts.h"

#include <stdlib.h>
#include <string.h>

hid_t recording_memory_type(recording_scalar type)
{
	switch (type) {
	case RECORDING_INT32: return H5T_NATIVE_INT32;
	case RECORDING_INT64: return H5T_NATIVE_INT64;
	case RECORDING_FLOAT32: return H5T_NATIVE_FLOAT;
	default: return H5T_NATIVE_DOUBLE;
	}
}

static bool is_kind_of(hid_t type, recording_scalar wanted)
{
	const bool real = wanted == RECORDING_FLOAT32 || wanted == RECORDING_FLOAT64;
	return H5Tget_class(type) == (real ? H5T_FLOAT : H5T_INTEGER);
}

// ---- Datasets ----

/// Open a dataset of numbers and get its size; rank and the sizes of the sides after the first
/// `free_sides` must be as wanted.
static hid_t open_numbers(const recording_problem *p, hid_t file, const char *path, recording_scalar type, int rank,
	int free_sides, const hsize_t *wanted, hsize_t *size)
{
	const hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
	if (set < 0) {
		recording_damaged(p, path, "is missing");
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
	recording_damaged(p, path, "has another type or size than it must have");
	H5Dclose(set);
	return -1;
}

/// Read a whole [rows] or [rows, width] dataset into new memory. *rows is -1 at first, or the
/// number that is wanted.
static void *read_all(const recording_problem *p, hid_t file, const recording_column *c, int64_t *rows)
{
	const hsize_t wanted[2] = { 0, (hsize_t)c->width };
	hsize_t size[2] = { 0, 1 };
	const hid_t set = open_numbers(p, file, c->path, c->type, c->width > 1 ? 2 : 1, 1, wanted, size);
	if (set < 0)
		return NULL;
	void *data = NULL;
	const uint64_t bytes = size[0] * recording_row_size(c);
	if (*rows >= 0 && size[0] != (hsize_t)*rows) {
		recording_damaged(p, c->path, "has another length than the arrays beside it");
	} else if (!io_hdf5_holds(file, set, bytes)) {
		recording_damaged(p, c->path, "claims more than the file holds");
	} else if (!(data = malloc((size_t)bytes + 1))) {
		sim_fail(p->error, "%s: %s does not fit into memory", p->path, c->path);
	} else if (H5Dread(set, recording_memory_type(c->type), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
		recording_damaged(p, c->path, "cannot be read");
		free(data);
		data = NULL;
	}
	*rows = (int64_t)size[0];
	H5Dclose(set);
	return data;
}

/// Read a block of a dataset. start and count have one number for each side.
static bool read_block(
	hid_t file, const char *path, recording_scalar type, int rank, const hsize_t *start, const hsize_t *count, void *data)
{
	const hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
	const hid_t space = H5Dget_space(set);
	const hid_t memory = H5Screate_simple(rank, count, NULL);
	bool done = set >= 0 && space >= 0 && memory >= 0 && H5Sget_simple_extent_ndims(space) == rank;
	done = done && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0;
	done = done && H5Sselect_valid(space) > 0;
	done = done && H5Dread(set, recording_memory_type(type), memory, space, H5P_DEFAULT, data) >= 0;
	H5Sclose(memory);
	H5Sclose(space);
	H5Dclose(set);
	return done;
}

// ---- Attributes and texts ----

/// A string of an open dataset or attribute of fixed length, as new memory. NULL when it is none,
/// or longer than the file. *is_short becomes true where there is no memory for it.
static char *read_text(hid_t file, hid_t object, bool attribute, bool *is_short)
{
	const hid_t type = attribute ? H5Aget_type(object) : H5Dget_type(object);
	const hid_t space = attribute ? H5Aget_space(object) : H5Dget_space(object);
	char *text = NULL;
	if (H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 && H5Sget_simple_extent_npoints(space) == 1) {
		const size_t size = H5Tget_size(type);
		const bool there =
			attribute ? H5Aget_storage_size(object) == size && size <= 1 << 16 : io_hdf5_holds(file, object, size);
		text = there ? calloc(1, size + 1) : NULL;
		*is_short |= there && !text;
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

static char *read_text_attribute(hid_t object, const char *name, bool *is_short)
{
	const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
	if (attribute < 0)
		return NULL;
	char *text = read_text(object, attribute, true, is_short);
	H5Aclose(attribute);
	return text;
}

static bool read_attribute(hid_t object, const char *name, recording_scalar type, int count, void *values)
{
	const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
	if (attribute < 0)
		return false;
	const hid_t stored = H5Aget_type(attribute);
	const hid_t space = H5Aget_space(attribute);
	const bool done = is_kind_of(stored, type) && H5Sget_simple_extent_npoints(space) == count &&
		H5Aread(attribute, recording_memory_type(type), values) >= 0;
	H5Sclose(space);
	H5Tclose(stored);
	H5Aclose(attribute);
	return done;
}

// ---- The parts of a recording ----

static bool read_format(const recording_problem *p, hid_t file)
{
	bool is_short = false;
	char *format = read_text_attribute(file, "format", &is_short);
	const bool ours = format && !strcmp(format, RECORDING_FORMAT);
	free(format);
	if (is_short)
		return recording_fail(p->path, p->error, "out of memory");
	if (!ours)
		return recording_fail(p->path, p->error,
			"an HDF5 file, but not a recording of carom (attribute \"format\" is not \"" RECORDING_FORMAT "\")");
	int32_t version = 0;
	if (!read_attribute(file, "version", RECORDING_INT32, 1, &version))
		return recording_damaged(p, "attribute \"version\"", "is missing");
	if (version == IO_RECORDING_VERSION)
		return true;
	return sim_fail(
		p->error, "%s: recording of version %d; this program reads version %d", p->path, (int)version, IO_RECORDING_VERSION);
}

static bool read_header(const recording_problem *p, io_recording *recording)
{
	const hid_t file = recording->file;
	double gravity[3];
	bool is_short = false;
	if (!read_format(p, file))
		return false;
	if (!read_attribute(file, "gravity", RECORDING_FLOAT64, 3, gravity))
		return recording_damaged(p, "attribute \"gravity\"", "is missing");
	if (!read_attribute(file, "time_step", RECORDING_FLOAT64, 1, &recording->info.time_step))
		return recording_damaged(p, "attribute \"time_step\"", "is missing");
	recording->info.gravity = (carom_vec3){ gravity[0], gravity[1], gravity[2] };
	recording->scene_name = read_text_attribute(file, "name", &is_short);
	const hid_t scene = H5Dopen2(file, "/scene", H5P_DEFAULT);
	if (scene >= 0) {
		recording->scene_text = read_text(file, scene, false, &is_short);
		H5Dclose(scene);
	}
	if (is_short)
		return recording_fail(p->path, p->error, "out of memory");
	if (!recording->scene_name || !recording->scene_text)
		return recording_damaged(p, recording->scene_name ? "/scene" : "attribute \"name\"", "is missing");
	recording->info.scene_name = recording->scene_name;
	recording->info.scene_text = recording->scene_text;
	return true;
}

static bool read_mesh(const recording_problem *p, io_recording *recording, hsize_t link)
{
	char name[IO_RECORDING_NAME + 1] = "";
	char path[2][IO_RECORDING_NAME + 32];
	const ssize_t length =
		H5Lget_name_by_idx(recording->file, "/meshes", H5_INDEX_NAME, H5_ITER_INC, link, name, sizeof name, H5P_DEFAULT);
	if (length < 1 || length >= IO_RECORDING_NAME)
		return recording_damaged(p, "/meshes", "holds a mesh without a usable name");
	snprintf(path[0], sizeof path[0], "/meshes/%s", name);
	int32_t index = -1;
	const hid_t group = H5Gopen2(recording->file, path[0], H5P_DEFAULT);
	const bool numbered = group >= 0 && read_attribute(group, "index", RECORDING_INT32, 1, &index);
	if (group >= 0)
		H5Gclose(group);
	if (!numbered || index < 0 || index >= recording->mesh_count || recording->meshes[index].vertices)
		return recording_damaged(p, path[0], "has no valid attribute \"index\"");

	io_recorded_mesh *mesh = &recording->meshes[index];
	int64_t vertex_count = -1, triangle_count = -1;
	snprintf(mesh->name, sizeof mesh->name, "%.63s", name);
	snprintf(path[0], sizeof path[0], "/meshes/%s/vertices", name);
	snprintf(path[1], sizeof path[1], "/meshes/%s/triangles", name);
	mesh->vertices = read_all(p, recording->file, &(recording_column){ path[0], RECORDING_FLOAT32, 3, 0 }, &vertex_count);
	if (!mesh->vertices)
		return false;
	mesh->triangles = read_all(p, recording->file, &(recording_column){ path[1], RECORDING_INT32, 3, 0 }, &triangle_count);
	if (!mesh->triangles)
		return false;
	mesh->vertex_count = (int32_t)vertex_count;
	mesh->triangle_count = (int32_t)triangle_count;
	return recording_check_triangles(mesh) || recording_damaged(p, path[1], "names a vertex that is not there");
}

static bool read_meshes(const recording_problem *p, io_recording *recording)
{
	H5G_info_t info;
	hsize_t size = 0;
	if (H5Gget_info_by_name(recording->file, "/meshes", &info, H5P_DEFAULT) < 0)
		return recording_damaged(p, "/meshes", "is missing");
	if (info.nlinks > 1000000)
		return recording_damaged(p, "/meshes", "holds more than a million meshes");
	if (H5Fget_filesize(recording->file, &size) < 0 || info.nlinks > size)
		return recording_damaged(p, "/meshes", "claims more than the file holds");
	recording->mesh_count = (int32_t)info.nlinks;
	recording->meshes = calloc((size_t)info.nlinks + 1, sizeof *recording->meshes);
	if (!recording->meshes)
		return sim_fail(p->error, "%s: /meshes does not fit into memory", p->path);
	for (hsize_t i = 0; i < info.nlinks; i++) {
		if (!read_mesh(p, recording, i))
			return false;
	}
	return true;
}

static bool has_column(hid_t file, int column) { return H5Lexists(file, recording_body_columns[column].path, H5P_DEFAULT) > 0; }

static int count_body_columns(hid_t file)
{
	if (!has_column(file, RECORDING_OLD_BODY_COLUMNS))
		return RECORDING_OLD_BODY_COLUMNS;
	return has_column(file, RECORDING_PLAIN_BODY_COLUMNS) ? RECORDING_BODY_COLUMNS : RECORDING_PLAIN_BODY_COLUMNS;
}

static bool read_bodies(const recording_problem *p, io_recording *recording)
{
	int64_t rows = -1;
	const int columns = count_body_columns(recording->file);
	for (int i = 0; i < columns; i++) {
		char *data = read_all(p, recording->file, &recording_body_columns[i], &rows);
		if (!data)
			return false;
		if (i == 0)
			recording->bodies = calloc((size_t)rows + 1, sizeof *recording->bodies);
		if (recording->bodies)
			recording_unpack(&recording_body_columns[i], data, sizeof *recording->bodies, rows, recording->bodies);
		free(data);
		if (!recording->bodies)
			return sim_fail(p->error, "%s: /bodies does not fit into memory", p->path);
	}
	recording->body_count = (int32_t)rows;
	for (int32_t i = 0; i < recording->body_count; i++) {
		if (!recording_check_body(p, recording, i))
			return false;
	}
	return true;
}

/// Poses are read frame by frame later; here it is checked that they are there.
static bool check_poses(const recording_problem *p, const io_recording *recording)
{
	const hsize_t frames = (hsize_t)recording->frame_count, bodies = (hsize_t)recording->body_count;
	hsize_t size[3], wanted[3] = { frames, bodies, 7 };
	const char *path = recording_poses_column.path;
	const hid_t set = open_numbers(p, recording->file, path, RECORDING_FLOAT64, 3, 2, wanted, size);
	if (set < 0)
		return false;
	const bool stored = io_hdf5_holds(recording->file, set, frames * bodies * sizeof(carom_pose));
	H5Dclose(set);
	// Bodies added after the last frame have no column; a killed run of an early version may have
	// more times than poses.
	if (size[0] != frames || size[1] > bodies || (frames > 0 && size[1] < bodies))
		return recording_damaged(p, path, "has another number of frames or bodies than /time and /bodies");
	return stored || recording_damaged(p, path, "claims more than the file holds");
}

static bool read_frames(const recording_problem *p, io_recording *recording)
{
	int64_t frames = -1, firsts;
	recording->time = read_all(p, recording->file, &recording_time_column, &frames);
	if (!recording->time)
		return false;
	recording->frame_count = (int32_t)frames;
	if (!check_poses(p, recording))
		return false;
	recording->info.contacts = H5Lexists(recording->file, "/contacts", H5P_DEFAULT) > 0;
	if (!recording->info.contacts)
		return true;
	firsts = frames + 1;
	recording->first = read_all(p, recording->file, &recording_first_column, &firsts);
	if (!recording->first)
		return false;
	for (int64_t i = 0; i < frames; i++) {
		if (recording->first[i] < 0 || recording->first[i + 1] < recording->first[i] ||
			recording->first[i + 1] - recording->first[i] > INT32_MAX)
			return recording_damaged(p, recording_first_column.path, "does not rise");
	}
	return true;
}

/// The columns of contacts have as many rows as /contacts/first says, and the file holds them.
static bool check_contacts(const recording_problem *p, const io_recording *recording)
{
	const hsize_t rows = recording->first ? (hsize_t)recording->first[recording->frame_count] : 0;
	for (int i = 0; recording->first && i < RECORDING_CONTACT_COLUMNS; i++) {
		const recording_column *c = &recording_contact_columns[i];
		const hid_t set = H5Dopen2(recording->file, c->path, H5P_DEFAULT);
		if (set < 0)
			return recording_damaged(p, c->path, "is missing");
		const bool stored = rows <= UINT64_MAX / 64 && io_hdf5_holds(recording->file, set, rows * recording_row_size(c));
		H5Dclose(set);
		if (!stored)
			return recording_damaged(p, c->path, "claims more than the file holds");
	}
	return true;
}

bool recording_open_hdf5(const recording_problem *p, io_recording *recording)
{
	recording->file = io_open_hdf5(p->path);
	if (recording->file < 0)
		return recording_fail(p->path, p->error, io_hdf5_reason("damaged recording: HDF5 cannot open it"));
	return read_header(p, recording) && read_meshes(p, recording) && read_bodies(p, recording) && read_frames(p, recording) &&
		check_contacts(p, recording);
}

bool recording_hdf5_poses(const io_recording *recording, int32_t frame, int32_t first, int32_t count, carom_pose *poses)
{
	const hsize_t start[3] = { (hsize_t)frame, (hsize_t)first, 0 };
	const hsize_t size[3] = { 1, (hsize_t)count, 7 };
	return read_block(recording->file, recording_poses_column.path, RECORDING_FLOAT64, 3, start, size, poses);
}

bool recording_hdf5_contacts(const io_recording *recording, int32_t frame, void *packed)
{
	char *to = packed;
	const int32_t count = io_recording_contact_count(recording, frame);
	for (int i = 0; i < RECORDING_CONTACT_COLUMNS; i++) {
		const recording_column *c = &recording_contact_columns[i];
		const hsize_t start[2] = { (hsize_t)recording->first[frame], 0 };
		const hsize_t rows[2] = { (hsize_t)count, (hsize_t)c->width };
		if (!read_block(recording->file, c->path, c->type, c->width > 1 ? 2 : 1, start, rows, to))
			return false;
		to += (size_t)count * recording_row_size(c);
	}
	return true;
}
