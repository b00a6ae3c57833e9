/// @file soft_apart.h
/// Bodies that cross, and how they are led apart.
#ifndef SIM_SOFT_APART_H
#define SIM_SOFT_APART_H

#include "sim/cloth/soft_state.h"

/// Count the edges that cross triangles at s->place. stuck: NULL, or gets the parts of the first
/// crossing that nothing can lead apart, and stays as it is where there is none. False with the
/// reason in error.
bool soft_count_crossings(sim_soft *soft, int64_t *count, int32_t stuck[2], sim_error *error);
/// Lead apart the surfaces that cross at s->place, before a step. The step is told how many
/// crossings are left. False with the reason in error.
bool soft_lead_apart(sim_soft *soft, sim_error *error);
/// Shapes that leading has bent spring back. Let no body that was led gain energy of motion by
/// that: an impulse of a body that hits it in such a step is lost too.
void soft_calm_led(sim_soft *soft);
void soft_destroy_apart(sim_soft *soft);

#endif
