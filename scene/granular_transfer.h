/// @file granular_transfer.h
/// Numbers between memory and a checkpoint's HDF5 file, either way: attributes, arrays, the
/// definition. Inside scene/ only.
#ifndef SCENE_GRANULAR_TRANSFER_H
#define SCENE_GRANULAR_TRANSFER_H

#include "sim/grains/granular_memento.h"

#include <hdf5.h>

#define GRANULAR_FORMAT "carom-granular"
// 1 has neither a digest of the file nor a mark, 2 has a mark without peaks.
enum { GRANULAR_FORMAT_VERSION = 3 };

typedef enum granular_scalar {
	GRANULAR_UINT16,
	GRANULAR_INT32,
	GRANULAR_UINT32,
	GRANULAR_INT64,
	GRANULAR_FLOAT64
} granular_scalar;

/// A file on its way in or out. The first failure stands; later calls do nothing.
typedef struct granular_transfer {
	hid_t file;
	bool writing;
	bool failed;
	uint64_t sum; // of all numbers so far
} granular_transfer;

/// The content of a checkpoint beside the definition and the arrays.
typedef struct granular_remainder {
	int64_t steps;
	int64_t contacts;      // with histories
	int64_t wall_contacts; // with histories
	bool turns, custom;
	double max_overlap;
} granular_remainder;

/// count numbers as an attribute of the file; not part of the sum.
void granular_move_attribute(granular_transfer *transfer, const char *name, granular_scalar type, size_t count, void *data);
/// rows of width numbers as a dataset. None without rows.
void granular_move_array(
	granular_transfer *transfer, const char *name, granular_scalar type, size_t rows, size_t width, void *data);
/// Make room for such a dataset that others will write. Returns its place in the file; 0 without
/// rows, or when it has failed.
int64_t granular_place_array(granular_transfer *transfer, const char *name, granular_scalar type, size_t rows, size_t width);
/// Bytes of a number.
size_t granular_scalar_size(granular_scalar type);
/// Write the name of the format, and its version.
void granular_write_format(granular_transfer *transfer);
/// Tell whether a file that is read holds so many bytes of a dataset: to be asked before memory is
/// taken for it.
bool granular_holds_array(const granular_transfer *transfer, const char *name, uint64_t bytes);
/// version: of the file; peaks come with 3.
void granular_move_mark(granular_transfer *transfer, int32_t version, sim_granular_mark *mark);
void granular_move_definition(granular_transfer *transfer, sim_granular_def *def);
void granular_move_remainder(granular_transfer *transfer, granular_remainder *remainder);

#endif
