/// @file granular_checkpoint.h
/// Checkpoints of simulations of spheres: a file from which a run goes on, bit for bit.
#ifndef SCENE_GRANULAR_CHECKPOINT_H
#define SCENE_GRANULAR_CHECKPOINT_H

#include "sim/base/sim_error.h"
#include "sim/grains/granular.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Write everything that the coming steps depend on, and the mark (HDF5 behind a digest of all
/// bytes: docs/scenes.md, "Checkpoints"). False, with path and reason in error, when that fails; a
/// file of that name is replaced only when everything was written.
bool scene_granular_write(sim_granular *granular, const char *path, sim_error *error);

/// Write it of a simulation that ranks share (sim/grains/granular_ranks.h): the same numbers in the
/// same form, so that any number of ranks, or one simulation that is not shared, goes on from it.
/// Collective: each rank writes the spheres of a range of ids into its part of the arrays; rank 0
/// writes the rest and the digest. False, with path and reason in error, when that fails; a file of
/// that name is replaced only when everything was written.
bool scene_granular_write_shared(sim_granular *granular, const char *path, sim_error *error);

/// Settings that a checkpoint cannot hold, or that may be others in the continued run without
/// changing its motion.
typedef struct scene_granular_resume {
	sim_granular_force_fn *force; ///< needed if the run that wrote it had one
	void *force_user;
	carom_sphere_method method;
	carom_device *device; ///< sim_granular_def.device
	double skin;
	carom_allocator allocator;
} scene_granular_resume;

/// No force, method AUTO, skin chosen, the C library's memory. Thread-safe.
scene_granular_resume scene_default_granular_resume(void);

/// Continue from a checkpoint, bit for bit. resume may be NULL for the defaults. NULL, with path
/// and what is wrong in error, when the file cannot be read, is no checkpoint, of another version,
/// or damaged (a digest covers all of it). Checkpoints of version 1 are read too; they hold no
/// mark.
sim_granular *scene_granular_read(
	carom_context *context, const char *path, const scene_granular_resume *resume, sim_error *error);

#ifdef __cplusplus
}
#endif
#endif
