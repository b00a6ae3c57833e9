/// @file volumes.h
/// Volumes of scenes and recordings, and the hulls of meshes among them.
#ifndef SCENE_VOLUMES_H
#define SCENE_VOLUMES_H

#include "carom/carom.h"
#include "io/recording.h"

/// The hull of a mesh's vertices, made when *hull is NULL. The caller releases it.
carom_result scene_hull_of(carom_context *context, const carom_mesh *mesh, carom_mesh **hull);

/// Give a body that begins at a row of a recording its kind and its shape or parts. hulls [meshes]
/// is a cache of their hulls (NULL: not made yet). The parts belong to the caller, who frees
/// def->parts (NULL: none) whatever the result is.
carom_result scene_recorded_def(carom_context *context, const io_recording *recording, int32_t row, carom_mesh *const *meshes,
	carom_mesh **hulls, carom_body_def *def);

/// Rows of the body that begins at a row: its parts, or 1.
int32_t scene_recorded_rows(const io_recording *recording, int32_t row);

#endif
