/// @file run_points.h
/// Contacts of deforming bodies and of spheres as points: the files of `carom run --contacts`.
#ifndef CAROM_TOOL_RUN_POINTS_H
#define CAROM_TOOL_RUN_POINTS_H

#include "run.h"
#include "sim/grains/granular_output.h"

/// Write the points of the last step of deforming bodies, or of the spheres as they are now, into
/// a file in the folder of --out, where contacts are wanted. Where they are not, a file of that
/// name, left by an earlier run, is removed. Returns an exit code.
int run_write_deforming_points(const run *r, int64_t frame);
int run_write_sphere_points(const run *r, const sim_granular_frame *now);

#endif
