/// The value that marks a carom_mesh_def as started from carom_default_mesh_def.
#ifndef CR_MESH_COOKIES_H
#define CR_MESH_COOKIES_H

enum { CR_MESH_COOKIE = 0x4d455348 };

#endif
