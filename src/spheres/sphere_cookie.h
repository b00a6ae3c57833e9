/// The values that mark a carom_spheres_def and a carom_sphere_input as started from
/// carom_default_spheres_def and carom_default_sphere_input.
#ifndef CR_SPHERES_SPHERE_COOKIE_H
#define CR_SPHERES_SPHERE_COOKIE_H

enum { CR_SPHERES_COOKIE = 0x53504852, CR_SPHERE_INPUT_COOKIE = 0x5350494e };

#endif
