/// @file plugin.h
/// A further ray algorithm behind the ray stage: three functions; the library does the rest.
#ifndef CAROM_PLUGIN_H
#define CAROM_PLUGIN_H

#include "carom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Rays of one batch against one mesh, in the mesh's frame: arrays of count elements each.
typedef struct carom_ray_batch {
	int32_t count;
	const float *origin[3];
	const float *direction[3]; ///< need not be unit; t counts in their lengths
	const float *t_max;        ///< hits beyond are not wanted; may be infinite
} carom_ray_batch;

/// Where to write results: arrays of count elements each.
typedef struct carom_hit_batch {
	int32_t *triangle; ///< number of the nearest triangle hit with 0 <= t <= t_max, or -1
	float *t;
	uint8_t *back_face; ///< 1 when direction . (e1 x e2) > 0
} carom_hit_batch;

/// A ray algorithm. plugins/embree.c is one. Its functions run inside calls on the world and must
/// not call that world.
typedef struct carom_ray_plugin {
	const char *name;
	/// Prepare a mesh with at least one triangle (a mesh that has none is not handed to a plug-in):
	/// vertices [3*vertex_count], triangles [3*triangle_count] (degenerate ones left out; number[i]
	/// is the number to report for triangle i). vertices stay valid until destroy, the two other
	/// arrays until build returns. Returns its state, or NULL on failure: the body is then not
	/// added, CAROM_OUT_OF_MEMORY. Called by carom_world_add_body on its thread.
	void *(*build)(const float *vertices, int32_t vertex_count, const int32_t *triangles,
		const int32_t *number, int32_t triangle_count, void *user);
	/// Find the nearest hit of each ray. Called from several threads at once.
	void (*cast)(void *state, const carom_ray_batch *rays, const carom_hit_batch *hits, void *user);
	/// Free a state: its last body left and no snapshot of the world holds one, or the world is
	/// being destroyed.
	void (*destroy)(void *state, void *user);
	void *user;
} carom_ray_plugin;

#ifdef __cplusplus
}
#endif
#endif
