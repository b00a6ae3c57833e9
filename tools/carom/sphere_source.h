/// @file sphere_source.h
/// Files of spheres that the user named: loading, and the report of `carom info` on them.
#ifndef CAROM_TOOL_SPHERE_SOURCE_H
#define CAROM_TOOL_SPHERE_SOURCE_H

#include "io/sphere_file.h"

typedef struct sphere_source_options {
	double radius; ///< of all spheres of a file without radii; below 0: not given
	bool wide;     ///< take the numbers of CSV and PLY files as double
} sphere_source_options;

/// Load spheres. False after an error message; a radius that was given for a file with radii is an
/// error.
bool sphere_source_load(const char *path, const sphere_source_options *options, io_sphere_set *spheres);

/// `carom info` of an open file of spheres. Returns the exit code.
int sphere_source_show(io_input *input, bool json);

#endif
