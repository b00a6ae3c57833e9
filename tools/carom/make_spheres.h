/// @file make_spheres.h
/// `carom make spheres`.
#ifndef CAROM_TOOL_MAKE_SPHERES_H
#define CAROM_TOOL_MAKE_SPHERES_H

/// argv[0] is "spheres". Returns the exit code of the process.
int make_spheres(int argc, char **argv);

#endif
