// Numbers between memory and a checkpoint's HDF5 file: see granular_transfer.h.
#include "scene/granular_transfer.h"

#include "sim/base/state_hash.h"
#include "io/hdf5_file.h"

#include <string.h>

/// A field of the definition: an attribute of the file.
typedef struct field {
	const char *name;
	granular_scalar type;
	size_t count;
	size_t offset;
} field;

#define FIELD(name, type, count)                             \
	{                                                        \
#name, type, count, offsetof(sim_granular_def, name) \
	}
#define LAW(name)                                                                                     \
	FIELD(name.normal, GRANULAR_INT32, 1), FIELD(name.stiffness, GRANULAR_FLOAT64, 1),                \
		FIELD(name.stiffness_radius, GRANULAR_FLOAT64, 1), FIELD(name.young, GRANULAR_FLOAT64, 1),    \
		FIELD(name.poisson, GRANULAR_FLOAT64, 1), FIELD(name.restitution, GRANULAR_FLOAT64, 1),       \
		FIELD(name.tangential, GRANULAR_INT32, 1), FIELD(name.tangential_ratio, GRANULAR_FLOAT64, 1), \
		FIELD(name.friction, GRANULAR_FLOAT64, 1), FIELD(name.rolling_friction, GRANULAR_FLOAT64, 1)

static const field FIELDS[] = {
	FIELD(count, GRANULAR_INT64, 1),
	FIELD(density, GRANULAR_FLOAT64, 1),
	FIELD(time_step, GRANULAR_FLOAT64, 1),
	FIELD(gravity, GRANULAR_FLOAT64, 3),
	FIELD(gravity_axis, GRANULAR_FLOAT64, 3),
	FIELD(gravity_rate, GRANULAR_FLOAT64, 1),
	LAW(spheres),
	LAW(walls),
	FIELD(lower, GRANULAR_FLOAT64, 3),
	FIELD(upper, GRANULAR_FLOAT64, 3),
	FIELD(moving_count, GRANULAR_INT32, 1),
	FIELD(moving, GRANULAR_FLOAT64, sizeof(sim_granular_wall) / sizeof(double) * SIM_GRANULAR_MAX_WALLS),
	FIELD(stability, GRANULAR_INT32, 1),
	FIELD(stability_contacts, GRANULAR_FLOAT64, 1),
	FIELD(stability_overlap, GRANULAR_FLOAT64, 1),
};
enum { FIELD_COUNT = sizeof FIELDS / sizeof *FIELDS };

_Static_assert(sizeof(sim_granular_wall) == 14 * sizeof(double), "a wall is numbers only");
_Static_assert(sizeof(sim_granular_normal) == 4 && sizeof(sim_granular_stability) == 4, "enums of four bytes");

static hid_t memory_type(granular_scalar type)
{
	switch (type) {
	case GRANULAR_UINT16: return H5T_NATIVE_UINT16;
	case GRANULAR_INT32: return H5T_NATIVE_INT32;
	case GRANULAR_UINT32: return H5T_NATIVE_UINT32;
	case GRANULAR_INT64: return H5T_NATIVE_INT64;
	default: return H5T_NATIVE_DOUBLE;
	}
}

static hid_t file_type(granular_scalar type)
{
	switch (type) {
	case GRANULAR_UINT16: return H5T_STD_U16LE;
	case GRANULAR_INT32: return H5T_STD_I32LE;
	case GRANULAR_UINT32: return H5T_STD_U32LE;
	case GRANULAR_INT64: return H5T_STD_I64LE;
	default: return H5T_IEEE_F64LE;
	}
}

size_t granular_scalar_size(granular_scalar type)
{
	return type == GRANULAR_UINT16 ? 2 : type == GRANULAR_INT32 || type == GRANULAR_UINT32 ? 4 : 8;
}

/// Each number as a word.
static void add_sum(granular_transfer *t, const void *data, granular_scalar type, size_t count)
{
	const size_t size = granular_scalar_size(type);
	for (size_t i = 0; i < count; i++) {
		uint64_t word = 0;
		uint32_t half = 0;
		uint16_t quarter = 0;
		const char *at = (const char *)data + i * size;
		if (size == 8)
			memcpy(&word, at, 8);
		else if (size == 4)
			memcpy(&half, at, 4);
		else
			memcpy(&quarter, at, 2);
		t->sum = sim_hash_word(t->sum, word + half + quarter);
	}
}

// ---- Attributes and arrays, either way ----

void granular_move_attribute(granular_transfer *t, const char *name, granular_scalar type, size_t count, void *data)
{
	if (t->failed)
		return;
	hsize_t size = count;
	hid_t attribute;
	if (t->writing) {
		const hid_t space = H5Screate_simple(1, &size, NULL);
		attribute = H5Acreate2(t->file, name, file_type(type), space, H5P_DEFAULT, H5P_DEFAULT);
		t->failed = attribute < 0 || H5Awrite(attribute, memory_type(type), data) < 0;
		H5Sclose(space);
	} else {
		attribute = H5Aopen(t->file, name, H5P_DEFAULT);
		const hid_t space = attribute < 0 ? H5I_INVALID_HID : H5Aget_space(attribute);
		t->failed = space < 0 || H5Sget_simple_extent_npoints(space) != (hssize_t)count ||
			H5Aread(attribute, memory_type(type), data) < 0;
		if (space >= 0)
			H5Sclose(space);
	}
	if (attribute >= 0)
		H5Aclose(attribute);
}

/// Rows of width numbers.
void granular_move_array(granular_transfer *t, const char *name, granular_scalar type, size_t rows, size_t width, void *data)
{
	if (t->failed || rows == 0)
		return;
	const hsize_t size[2] = { rows, width };
	hid_t set;
	if (t->writing) {
		const hid_t space = H5Screate_simple(width > 1 ? 2 : 1, size, NULL);
		set = H5Dcreate2(t->file, name, file_type(type), space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
		t->failed = set < 0 || H5Dwrite(set, memory_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0;
		H5Sclose(space);
	} else {
		set = H5Dopen2(t->file, name, H5P_DEFAULT);
		const hid_t space = set < 0 ? H5I_INVALID_HID : H5Dget_space(set);
		t->failed = space < 0 || H5Sget_simple_extent_npoints(space) != (hssize_t)(rows * width) ||
			H5Dread(set, memory_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0;
		if (space >= 0)
			H5Sclose(space);
	}
	// HDF5 holds small arrays back until their set is closed: a full disk shows there.
	t->failed |= set >= 0 && H5Dclose(set) < 0;
	if (!t->failed)
		add_sum(t, data, type, rows * width);
}

int64_t granular_place_array(granular_transfer *t, const char *name, granular_scalar type, size_t rows, size_t width)
{
	const hsize_t size[2] = { rows, width };
	if (t->failed || rows == 0)
		return 0;
	const hid_t space = H5Screate_simple(width > 1 ? 2 : 1, size, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_layout(creation, H5D_CONTIGUOUS);
	H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
	H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
	const hid_t set = H5Dcreate2(t->file, name, file_type(type), space, H5P_DEFAULT, creation, H5P_DEFAULT);
	const haddr_t place = set < 0 ? HADDR_UNDEF : H5Dget_offset(set);
	H5Pclose(creation);
	H5Sclose(space);
	t->failed = set < 0 || H5Dclose(set) < 0 || place == HADDR_UNDEF;
	return t->failed ? 0 : (int64_t)place;
}

bool granular_holds_array(const granular_transfer *t, const char *name, uint64_t bytes)
{
	if (t->failed || bytes == 0)
		return true; // moving it tells
	const hid_t set = H5Dopen2(t->file, name, H5P_DEFAULT);
	const bool holds = set >= 0 && io_hdf5_holds(t->file, set, bytes);
	if (set >= 0)
		H5Dclose(set);
	return holds;
}

void granular_write_format(granular_transfer *t)
{
	const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
	H5Tset_size(type, sizeof GRANULAR_FORMAT);
	const hid_t attribute = H5Acreate2(t->file, "format", type, space, H5P_DEFAULT, H5P_DEFAULT);
	t->failed = attribute < 0 || H5Awrite(attribute, type, GRANULAR_FORMAT) < 0;
	H5Aclose(attribute);
	H5Sclose(space);
	H5Tclose(type);
	int32_t version = GRANULAR_FORMAT_VERSION;
	granular_move_attribute(t, "version", GRANULAR_INT32, 1, &version);
}

static void move_peaks(granular_transfer *t, sim_granular_peaks *p)
{
	int64_t counts[4] = { p->contacts, p->contacts_step, p->overlap_step, p->energy_step };
	double numbers[2] = { p->overlap, p->energy };
	granular_move_attribute(t, "peak contacts, steps of contacts, overlap, energy", GRANULAR_INT64, 4, counts);
	granular_move_attribute(t, "peak overlap, energy", GRANULAR_FLOAT64, 2, numbers);
	*p = (sim_granular_peaks){ counts[0], counts[1], counts[2], counts[3], numbers[0], numbers[1] };
}

void granular_move_mark(granular_transfer *t, int32_t version, sim_granular_mark *mark)
{
	sim_granular_peaks peaks = mark->peaks;
	int64_t numbers[4] = { (int64_t)mark->run, (int64_t)mark->table, mark->contacts, mark->wall_contacts };
	granular_move_attribute(t, "run, table, last contacts, last wall_contacts", GRANULAR_INT64, 4, numbers);
	if (version > 2)
		move_peaks(t, &peaks);
	*mark = (sim_granular_mark){ (uint64_t)numbers[0], (uint64_t)numbers[1], numbers[2], numbers[3], peaks };
}

void granular_move_definition(granular_transfer *t, sim_granular_def *def)
{
	for (size_t k = 0; k < FIELD_COUNT; k++) {
		void *data = (char *)def + FIELDS[k].offset;
		granular_move_attribute(t, FIELDS[k].name, FIELDS[k].type, FIELDS[k].count, data);
		if (!t->failed)
			add_sum(t, data, FIELDS[k].type, FIELDS[k].count);
	}
	int32_t flags[9] = { 0 };
	for (int f = 0; f < 6; f++)
		flags[f] = def->faces[f];
	for (int k = 0; k < 3; k++)
		flags[6 + k] = def->periodic[k];
	granular_move_attribute(t, "faces, periodic", GRANULAR_INT32, 9, flags);
	add_sum(t, flags, GRANULAR_INT32, 9);
	for (int f = 0; f < 6; f++)
		def->faces[f] = flags[f] != 0;
	for (int k = 0; k < 3; k++)
		def->periodic[k] = flags[6 + k] != 0;
}

void granular_move_remainder(granular_transfer *t, granular_remainder *r)
{
	int64_t numbers[5] = { r->steps, r->contacts, r->wall_contacts, r->turns, r->custom };
	granular_move_attribute(t, "steps, contacts, wall_contacts, turns, custom", GRANULAR_INT64, 5, numbers);
	add_sum(t, numbers, GRANULAR_INT64, 5);
	granular_move_attribute(t, "max_overlap", GRANULAR_FLOAT64, 1, &r->max_overlap);
	add_sum(t, &r->max_overlap, GRANULAR_FLOAT64, 1);
	r->steps = numbers[0];
	r->contacts = numbers[1];
	r->wall_contacts = numbers[2];
	r->turns = numbers[3] != 0;
	r->custom = numbers[4] != 0;
}
