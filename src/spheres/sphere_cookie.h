/// The value that marks a carom_spheres_def as started from carom_default_spheres_def.
#ifndef CR_SPHERES_SPHERE_COOKIE_H
#define CR_SPHERES_SPHERE_COOKIE_H

enum { CR_SPHERES_COOKIE = 0x53504852 };

#endif
