/// @file late_library.h
/// Libraries of others that the command loads at the first call of one of their functions. HDF5 and
/// assimp bring 33 further libraries; a process that has neither starts in a quarter of the time.
/// Beside the command lie modules without code, each linked with one library. late_hdf5.c and
/// late_assimp.c define the functions that io/ and scene/ call, and hand each call over. The
/// command is linked with these, other programs with the libraries themselves (late_linked.c).
#ifndef IO_LATE_LIBRARY_H
#define IO_LATE_LIBRARY_H

typedef enum io_late {
	IO_LATE_HDF5,
	IO_LATE_ASSIMP,
} io_late;

/// A function or variable of the library, which the first call loads, by one thread; it stays. NULL
/// where it cannot be loaded or has no such name.
void *io_late_symbol(io_late library, const char *name);

/// Why a library could not be loaded, one sentence; NULL where it could, or was not asked for.
const char *io_late_problem(io_late library);

#endif
