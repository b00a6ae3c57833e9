/// The values that mark definitions as started from their default functions.
#ifndef CR_SWEEP_SWEEP_COOKIES_H
#define CR_SWEEP_SWEEP_COOKIES_H

enum { CR_SWEEP_COOKIE = 0x53574550, CR_SWEEP_MESH_COOKIE = 0x53574d53 };

#endif
