/// @file run_checkpoint.h
/// Checkpoints of scenes of any sections: one file of named parts, from which a run goes on, bit
/// for bit. (Scenes of spheres alone have a format of their own: granular_checkpoint.h.)
#ifndef SCENE_RUN_CHECKPOINT_H
#define SCENE_RUN_CHECKPOINT_H

#include "sim/base/sim_error.h"
#include "sim/base/tape.h"

enum { SCENE_MOST_PARTS = 8 };

/// The state of one part of a run.
typedef struct scene_checkpoint_part {
	const char *name;
	sim_tape tape;
} scene_checkpoint_part;

/// Write parts (HDF5 behind a digest of all bytes: docs/scenes.md, "Checkpoints"). False, with path
/// and reason in error, when that fails; a file of that name is replaced only when everything was
/// written.
bool scene_write_checkpoint(const char *path, const scene_checkpoint_part *parts, int count, sim_error *error);

/// Read parts: their names are given, their tapes must be empty and become those of the file, to be
/// freed by the caller in any case. False, with path and what is wrong in error, when the file
/// cannot be read, is no such checkpoint, of another version, damaged, or lacks a part.
bool scene_read_checkpoint(const char *path, scene_checkpoint_part *parts, int count, sim_error *error);

/// Compare the texts of two scenes, without what does not change the motion: name, steps, output,
/// picture and camera. Returns true where they are equal; else false, and path [size] names the
/// first field that differs, as "bodies.list[2].position[0]".
bool scene_texts_agree(const char *a, const char *b, char *path, size_t size);

#endif
