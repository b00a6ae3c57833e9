/// @file granular_smooth.h
/// The pass over the contacts between spheres that do not turn. Inside sim/ only.
#ifndef SIM_GRANULAR_SMOOTH_H
#define SIM_GRANULAR_SMOOTH_H

#include "sim/grains/granular_law.h"

/// A task over the blocks that puts the forces on their crowded spheres into loads, walls included:
/// for the simulation's law and the context's instructions.
carom_task_fn *granular_smooth_pass(const sim_granular *granular);

#endif
