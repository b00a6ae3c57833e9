// Checkpoints of scenes of any sections: see run_checkpoint.h. Each part is a dataset of bytes, as
// the simulations keep their numbers in memory.
#include "scene/run_checkpoint.h"

#include "io/hdf5_file.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "carom-scene"
// 1 has no report: its sums stand among the states; 2 has a seed of the solver of rigid bodies.
enum { FORMAT_VERSION = 3 };

// ---- Writing ----

static bool write_attribute(hid_t file, const char *name, hid_t type, const void *data)
{
	const hid_t space = H5Screate(H5S_SCALAR);
	const hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	const bool written = attribute >= 0 && H5Awrite(attribute, type, data) >= 0;
	if (attribute >= 0)
		H5Aclose(attribute);
	H5Sclose(space);
	return written;
}

/// The name of the format, and its version.
static bool write_head(hid_t file)
{
	const hid_t type = H5Tcopy(H5T_C_S1);
	H5Tset_size(type, sizeof FORMAT);
	const int32_t version = FORMAT_VERSION;
	const bool written =
		write_attribute(file, "format", type, FORMAT) && write_attribute(file, "version", H5T_NATIVE_INT32, &version);
	H5Tclose(type);
	return written;
}

static bool write_part(hid_t file, const scene_checkpoint_part *part)
{
	const hsize_t size = part->tape.size;
	const hid_t space = size > 0 ? H5Screate_simple(1, &size, NULL) : H5Screate(H5S_NULL);
	const hid_t set = H5Dcreate2(file, part->name, H5T_STD_U8LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	const bool written =
		set >= 0 && (size == 0 || H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, part->tape.bytes) >= 0);
	H5Sclose(space);
	// HDF5 holds small arrays back until their set is closed: a full disk shows there.
	return set >= 0 && H5Dclose(set) >= 0 && written;
}

bool scene_write_checkpoint(const char *path, const scene_checkpoint_part *parts, int count, sim_error *error)
{
	char made[4096];
	if (snprintf(made, sizeof made, "%s.part", path) >= (int)sizeof made)
		return sim_fail(error, "%.80s...: the path is too long", path);
	const hid_t file = io_create_hdf5(made);
	if (file < 0)
		return sim_fail(error, "%s: %s", path, io_hdf5_reason("cannot be written"));
	bool written = write_head(file);
	for (int i = 0; i < count && written; i++)
		written = write_part(file, &parts[i]);
	return io_finish_hdf5(file, made, path, written) || sim_fail(error, "%s: cannot be written: is the disk full?", path);
}

// ---- Reading ----

/// What is wrong with the format; NULL: nothing.
static const char *read_head(hid_t file)
{
	char format[32] = "";
	int32_t version = 0;
	io_read_hdf5_format(file, format, sizeof format);
	if (strcmp(format, "carom-granular") == 0)
		return "is a checkpoint of a scene of spheres alone, and this scene holds more";
	if (strcmp(format, FORMAT) != 0)
		return "is no checkpoint";
	const hid_t number = H5Aopen(file, "version", H5P_DEFAULT);
	if (number >= 0) {
		H5Aread(number, H5T_NATIVE_INT32, &version);
		H5Aclose(number);
	}
	return version == FORMAT_VERSION ? NULL : "is a checkpoint of another version";
}

static const char *read_bytes(hid_t file, hid_t set, sim_tape *tape)
{
	const hid_t space = H5Dget_space(set);
	const hssize_t count = H5Sget_simple_extent_npoints(space);
	H5Sclose(space);
	if (count < 0 || !io_hdf5_holds(file, set, (uint64_t)count))
		return "is damaged";
	tape->bytes = malloc((size_t)count + 1);
	if (!tape->bytes)
		return "out of memory";
	tape->room = tape->size = (size_t)count;
	tape->bytes[count] = 0; // so that a text is one
	if (count > 0 && H5Dread(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, tape->bytes) < 0)
		return "is damaged";
	return NULL;
}

static bool read_part(hid_t file, const char *path, scene_checkpoint_part *part, sim_error *error)
{
	const hid_t set = H5Lexists(file, part->name, H5P_DEFAULT) > 0 ? H5Dopen2(file, part->name, H5P_DEFAULT) : -1;
	if (set < 0)
		return sim_fail(error, "%s: holds no \"%s\"; the scene does", path, part->name);
	const char *wrong = read_bytes(file, set, &part->tape);
	H5Dclose(set);
	return !wrong || sim_fail(error, "%s: %s", path, wrong);
}

bool scene_read_checkpoint(const char *path, scene_checkpoint_part *parts, int count, sim_error *error)
{
	const io_seal seal = io_check_seal(path);
	if (seal == IO_SEAL_BROKEN)
		return sim_fail(error, "%s: is damaged: its bytes do not have the digest that it begins with", path);
	const hid_t file = seal == IO_SEAL_WHOLE ? io_open_hdf5(path) : -1;
	if (file < 0)
		return sim_fail(error, "%s: %s", path, io_hdf5_reason("cannot be read, or is no checkpoint"));
	const char *wrong = read_head(file);
	bool done = !wrong || sim_fail(error, "%s: %s", path, wrong);
	for (int i = 0; i < count && done; i++)
		done = read_part(file, path, &parts[i], error);
	H5Fclose(file);
	return done;
}

// ---- Scenes ----

static bool trees_agree(const cJSON *a, const cJSON *b, char *path, size_t size);

/// Go into a child, whose name is put behind the path while it is compared, and stays there where
/// it differs.
static bool child_agrees(const cJSON *a, const cJSON *b, char *path, size_t size, const char *name)
{
	const size_t length = strlen(path);
	snprintf(path + length, size - length, "%s%s", length > 0 && name[0] != '[' ? "." : "", name);
	if (!a || !b || !trees_agree(a, b, path, size))
		return false;
	path[length] = 0;
	return true;
}

static bool objects_agree(const cJSON *a, const cJSON *b, char *path, size_t size)
{
	static const char *const free_fields[] = { "name", "steps", "output", "picture", "camera" };
	for (int side = 0; side < 2; side++) {
		const cJSON *from = side == 0 ? a : b, *item;
		cJSON_ArrayForEach(item, from)
		{
			bool skipped = false;
			for (size_t i = 0; i < sizeof free_fields / sizeof *free_fields; i++)
				skipped |= path[0] == 0 && strcmp(item->string, free_fields[i]) == 0;
			const cJSON *in_a = cJSON_GetObjectItemCaseSensitive(a, item->string);
			const cJSON *in_b = cJSON_GetObjectItemCaseSensitive(b, item->string);
			if (!skipped && !child_agrees(in_a, in_b, path, size, item->string))
				return false;
		}
	}
	return true;
}

static bool arrays_agree(const cJSON *a, const cJSON *b, char *path, size_t size)
{
	const cJSON *x = a->child, *y = b->child;
	for (int i = 0; x || y; i++) {
		char name[24];
		snprintf(name, sizeof name, "[%d]", i);
		if (!child_agrees(x, y, path, size, name))
			return false;
		x = x->next;
		y = y->next;
	}
	return true;
}

static bool trees_agree(const cJSON *a, const cJSON *b, char *path, size_t size)
{
	if ((a->type & 0xFF) != (b->type & 0xFF))
		return false;
	if (cJSON_IsNumber(a))
		return a->valuedouble == b->valuedouble;
	if (cJSON_IsString(a))
		return strcmp(a->valuestring, b->valuestring) == 0;
	if (cJSON_IsArray(a))
		return arrays_agree(a, b, path, size);
	return !cJSON_IsObject(a) || objects_agree(a, b, path, size);
}

bool scene_texts_agree(const char *a, const char *b, char *path, size_t size)
{
	cJSON *x = cJSON_Parse(a), *y = cJSON_Parse(b);
	path[0] = 0;
	const bool agree = x && y && trees_agree(x, y, path, size);
	if (!agree && path[0] == 0)
		snprintf(path, size, "the scene");
	cJSON_Delete(x);
	cJSON_Delete(y);
	return agree;
}
