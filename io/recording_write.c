// Making the finished recording (HDF5) from the log of its run. Every array that grows is chunked
// along its first side; poses and contacts are compressed (shuffle + deflate, which every HDF5
// has). Chunks of poses are written whole, one after another.
#include "io/hdf5_file.h"
#include "io/output_file.h"
#include "io/recording_parts.h"

#include <stdlib.h>
#include <string.h>

// 16 frames of 1024 bodies are 896 KiB: within HDF5's cache of 1 MiB for a dataset.
#define POSE_CHUNK_FRAMES 16
#define POSE_CHUNK_BODIES 1024

static hid_t file_type(recording_scalar type)
{
	switch (type) {
	case RECORDING_INT32: return H5T_STD_I32LE;
	case RECORDING_INT64: return H5T_STD_I64LE;
	case RECORDING_FLOAT32: return H5T_IEEE_F32LE;
	default: return H5T_IEEE_F64LE;
	}
}

/// How datasets are made: without the time of their making, so that equal runs leave equal files.
static hid_t dataset_properties(void)
{
	const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_obj_track_times(properties, false);
	return properties;
}

/// An empty dataset that may grow along its first `growing` sides; the others have the sizes of the
/// chunk.
static hid_t create_growing(hid_t file, const char *path, recording_scalar type, int rank, int growing, const hsize_t *chunk)
{
	hsize_t size[3], most[3];
	for (int i = 0; i < rank; i++) {
		size[i] = i < growing ? 0 : chunk[i];
		most[i] = i < growing ? H5S_UNLIMITED : chunk[i];
	}
	const hid_t space = H5Screate_simple(rank, size, most);
	const hid_t properties = dataset_properties();
	H5Pset_chunk(properties, rank, chunk);
	H5Pset_shuffle(properties);
	H5Pset_deflate(properties, 4);
	const hid_t set = H5Dcreate2(file, path, file_type(type), space, H5P_DEFAULT, properties, H5P_DEFAULT);
	H5Pclose(properties);
	H5Sclose(space);
	return set;
}

static hid_t create_column(hid_t file, const recording_column *c)
{
	const hsize_t chunk[2] = { 4096, (hsize_t)c->width };
	return create_growing(file, c->path, c->type, c->width > 1 ? 2 : 1, 1, chunk);
}

/// Write a block of a dataset that has room for it.
static bool write_block(
	hid_t set, recording_scalar type, int rank, const hsize_t *start, const hsize_t *count, const void *numbers)
{
	const hid_t space = H5Dget_space(set);
	const hid_t memory = H5Screate_simple(rank, count, NULL);
	bool done = space >= 0 && memory >= 0;
	done = done && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0;
	done = done && H5Dwrite(set, recording_memory_type(type), memory, space, H5P_DEFAULT, numbers) >= 0;
	H5Sclose(memory);
	H5Sclose(space);
	return done;
}

/// Write rows first..first+count-1 of a column from packed numbers; the dataset grows to fit.
static bool write_rows(hid_t set, const recording_column *c, int64_t first, int64_t count, const void *numbers)
{
	const hsize_t size[2] = { (hsize_t)(first + count), (hsize_t)c->width };
	const hsize_t start[2] = { (hsize_t)first, 0 };
	const hsize_t rows[2] = { (hsize_t)count, (hsize_t)c->width };
	return count == 0 ||
		(H5Dset_extent(set, size) >= 0 && write_block(set, c->type, c->width > 1 ? 2 : 1, start, rows, numbers));
}

/// A whole column: made, written, closed.
static bool write_column(hid_t file, const recording_column *c, int64_t count, const void *numbers)
{
	const hid_t set = create_column(file, c);
	const bool done = set >= 0 && write_rows(set, c, 0, count, numbers);
	return H5Dclose(set) >= 0 && done;
}

// ---- Attributes, texts, groups ----

static bool write_attribute(hid_t object, const char *name, recording_scalar type, int count, const void *values)
{
	const hsize_t size = (hsize_t)count;
	const hid_t space = count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &size, NULL);
	const hid_t attribute = H5Acreate2(object, name, file_type(type), space, H5P_DEFAULT, H5P_DEFAULT);
	const bool done = attribute >= 0 && H5Awrite(attribute, recording_memory_type(type), values) >= 0;
	H5Aclose(attribute);
	H5Sclose(space);
	return done;
}

/// A string of fixed length, UTF-8. HDF5 has none of length 0: the empty string becomes one zero
/// byte.
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

/// The scene's text is a dataset: attributes end at 64 KiB.
static bool write_text(hid_t file, const char *path, const char *text)
{
	const hid_t type = text_type(text);
	const hid_t space = H5Screate(H5S_SCALAR);
	const hid_t properties = dataset_properties();
	const hid_t set = H5Dcreate2(file, path, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
	H5Pclose(properties);
	const bool done = set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0;
	H5Sclose(space);
	H5Tclose(type);
	return set >= 0 && H5Dclose(set) >= 0 && done; // what was held back is written
}

static bool create_group(hid_t file, const char *path)
{
	const hid_t group = H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	return group >= 0 && H5Gclose(group) >= 0;
}

/// A dataset of fixed size, [count, 3].
static bool write_triples(hid_t group, const char *name, recording_scalar type, int32_t count, const void *data)
{
	const hsize_t size[2] = { (hsize_t)count, 3 };
	const hid_t space = H5Screate_simple(2, size, NULL);
	const hid_t properties = dataset_properties();
	const hid_t set = H5Dcreate2(group, name, file_type(type), space, H5P_DEFAULT, properties, H5P_DEFAULT);
	H5Pclose(properties);
	const bool done =
		set >= 0 && (count == 0 || H5Dwrite(set, recording_memory_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
	H5Sclose(space);
	return set >= 0 && H5Dclose(set) >= 0 && done;
}

// ---- The parts of a recording ----

static bool write_header(hid_t file, const io_recording_info *info)
{
	const int32_t version = IO_RECORDING_VERSION;
	const double gravity[3] = { info->gravity.x, info->gravity.y, info->gravity.z };
	return write_text_attribute(file, "format", RECORDING_FORMAT) &&
		write_attribute(file, "version", RECORDING_INT32, 1, &version) &&
		write_attribute(file, "gravity", RECORDING_FLOAT64, 3, gravity) &&
		write_attribute(file, "time_step", RECORDING_FLOAT64, 1, &info->time_step) &&
		write_text_attribute(file, "name", info->scene_name) && write_text(file, "/scene", info->scene_text);
}

static bool write_meshes(hid_t file, const io_recording *from)
{
	bool done = create_group(file, "/meshes");
	for (int32_t i = 0; i < from->mesh_count && done; i++) {
		const io_recorded_mesh *mesh = &from->meshes[i];
		char path[IO_RECORDING_NAME + 16];
		snprintf(path, sizeof path, "/meshes/%s", mesh->name);
		const hid_t group = H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
		done = group >= 0 && write_attribute(group, "index", RECORDING_INT32, 1, &i) &&
			write_triples(group, "vertices", RECORDING_FLOAT32, mesh->vertex_count, mesh->vertices) &&
			write_triples(group, "triangles", RECORDING_INT32, mesh->triangle_count, mesh->triangles);
		H5Gclose(group);
	}
	return done;
}

static bool has_parts(const io_recording *from)
{
	for (int32_t i = 0; i < from->body_count; i++) {
		if (from->bodies[i].part != 0)
			return true;
	}
	return false;
}

static bool write_bodies(hid_t file, const io_recording *from)
{
	char *packed = malloc((size_t)from->body_count * sizeof(carom_pose) + 1); // the widest column
	const int columns = has_parts(from) ? RECORDING_BODY_COLUMNS : RECORDING_PLAIN_BODY_COLUMNS;
	bool done = packed && create_group(file, "/bodies");
	for (int i = 0; i < columns && done; i++) {
		recording_pack(&recording_body_columns[i], from->bodies, sizeof *from->bodies, from->body_count, packed);
		done = write_column(file, &recording_body_columns[i], from->body_count, packed);
	}
	free(packed);
	return done;
}

static hsize_t least(hsize_t a, hsize_t b) { return a < b ? a : b; }

/// A chunk after another: 16 frames of up to 1024 bodies.
static bool write_pose_chunks(hid_t set, const io_recording *from, hsize_t across, carom_pose *chunk)
{
	const hsize_t frames = (hsize_t)from->frame_count, bodies = (hsize_t)from->body_count;
	bool done = true;
	for (hsize_t frame = 0; frame < frames && done; frame += POSE_CHUNK_FRAMES) {
		for (hsize_t body = 0; body < bodies && done; body += across) {
			const hsize_t start[3] = { frame, body, 0 };
			const hsize_t count[3] = { least(POSE_CHUNK_FRAMES, frames - frame), least(across, bodies - body), 7 };
			for (hsize_t i = 0; i < count[0] && done; i++)
				done = recording_log_poses(from, (int32_t)(frame + i), (int32_t)body, (int32_t)count[1], chunk + i * count[1]);
			done = done && write_block(set, RECORDING_FLOAT64, 3, start, count, chunk);
		}
	}
	return done;
}

static bool write_poses(hid_t file, const io_recording *from)
{
	const hsize_t bodies = (hsize_t)from->body_count, across = bodies < 1 ? 1 : least(bodies, POSE_CHUNK_BODIES);
	const hsize_t size[3] = { (hsize_t)from->frame_count, bodies, 7 };
	const hsize_t chunk[3] = { POSE_CHUNK_FRAMES, across, 7 };
	carom_pose *poses = malloc(POSE_CHUNK_FRAMES * across * sizeof *poses);
	const hid_t set = create_growing(file, recording_poses_column.path, RECORDING_FLOAT64, 3, 2, chunk);
	bool done = poses && set >= 0 && H5Dset_extent(set, size) >= 0 && write_pose_chunks(set, from, across, poses);
	done = H5Dclose(set) >= 0 && done;
	free(poses);
	return done;
}

/// The contacts of a frame into the columns.
static bool write_frame_contacts(const hid_t *sets, const io_recording *from, int32_t frame, char *packed)
{
	const int32_t count = io_recording_contact_count(from, frame);
	bool done = count == 0 || recording_log_contacts(from, frame, packed);
	for (int i = 0; i < RECORDING_CONTACT_COLUMNS && done; i++) {
		const recording_column *c = &recording_contact_columns[i];
		done = write_rows(sets[i], c, from->first[frame], count, packed);
		packed += (size_t)count * recording_row_size(c);
	}
	return done;
}

static bool write_contacts(hid_t file, const io_recording *from)
{
	hid_t sets[RECORDING_CONTACT_COLUMNS];
	int made = 0;
	int32_t most = 0;
	if (!from->first)
		return true;
	for (int32_t i = 0; i < from->frame_count; i++) {
		if (io_recording_contact_count(from, i) > most)
			most = io_recording_contact_count(from, i);
	}
	char *packed = malloc((size_t)most * recording_record_size(recording_contact_columns, RECORDING_CONTACT_COLUMNS) + 1);
	bool done = packed && create_group(file, "/contacts") &&
		write_column(file, &recording_first_column, (int64_t)from->frame_count + 1, from->first);
	while (made < RECORDING_CONTACT_COLUMNS && done) {
		sets[made] = create_column(file, &recording_contact_columns[made]);
		done = sets[made] >= 0;
		made += done;
	}
	for (int32_t i = 0; i < from->frame_count && done; i++)
		done = write_frame_contacts(sets, from, i, packed);
	while (made > 0)
		done = H5Dclose(sets[--made]) >= 0 && done;
	free(packed);
	return done;
}

bool recording_write_hdf5(io_recording *from, const char *path, sim_error *error)
{
	char made[IO_PATH_MAX + 8];
	snprintf(made, sizeof made, "%s.new", path);
	const hid_t file = io_create_hdf5(made);
	if (file < 0) {
		return sim_fail(error, "%s", io_hdf5_reason("cannot be written: is the disk full?"));
	}
	const bool complete = write_header(file, &from->info) && write_meshes(file, from) && write_bodies(file, from) &&
		write_column(file, &recording_time_column, from->frame_count, from->time) && write_poses(file, from) &&
		write_contacts(file, from);
	if (io_finish_hdf5(file, made, path, complete))
		return true;
	return sim_fail(error, "cannot be written: is the disk full, or the memory?");
}
