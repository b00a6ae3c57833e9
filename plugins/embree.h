/// @file embree.h
/// A ray plug-in over Intel Embree 3. Built only where its package is found (Debian:
/// libembree-dev); the library itself does not know it.
#ifndef CAROM_PLUGIN_EMBREE_H
#define CAROM_PLUGIN_EMBREE_H

#include "carom/lab.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Make a plug-in for carom_lab.ray_plugin (with CAROM_RAYS_PLUGIN): Embree's nearest hit in a
/// robust scene, one scene for each mesh. NULL when Embree cannot be started. It must outlive every
/// world that uses it. Embree takes its memory from its own allocator, not from that of the
/// context. Where two triangles are hit at the same distance (a ray through an edge or a corner) it
/// may name the other one than CAROM_RAYS_WIDE does, and t may differ in its last digits. Embree's
/// rays are open at their start: a surface at exactly t = 0 is not hit.
const carom_ray_plugin *carom_create_embree_plugin(void);

/// Destroy a plug-in when no world uses it any more. NULL does nothing.
void carom_destroy_embree_plugin(const carom_ray_plugin *plugin);

#ifdef __cplusplus
}
#endif
#endif
