/// @file bench_velocity.h
/// The parts of `carom bench velocity-rays`: what rays along velocities find beside the sweep, and
/// a cloth that answers to nothing but such rays.
#ifndef CAROM_TOOL_BENCH_VELOCITY_H
#define CAROM_TOOL_BENCH_VELOCITY_H

#include "bench.h"

/// Cloth of 20 x 20 nodes on a capsule, its self-collision answered by velocity rays alone (Li and
/// Yamaguchi, Figures 15 and 16). Adds a table. EXIT_DONE, or EXIT_FAILED after a message.
int bench_drape_by_rays(bench *b, bench_report *report);

#endif
