/// @file soft_tear.h
/// Cloth that tears. Without such cloth these do nothing.
#ifndef SIM_SOFT_TEAR_H
#define SIM_SOFT_TEAR_H

#include "sim/cloth/soft_state.h"

/// How many vertices a body may get: as many again as it has, and a few, but never more than each
/// triangle with three of its own has.
int32_t soft_spare_vertices(const sim_soft_body *body);
/// Lay up the spare vertices of a part: nothing has them for a corner, and nothing moves them.
void soft_lay_up_spares(sim_soft *soft, const soft_part *part);
/// Tear what the places at the end of the last step ask for. False, with the reason in error, when
/// memory is short; the next call goes on then.
bool soft_tear(sim_soft *soft, sim_error *error);
/// The surface as others see it: without spare vertices.
void soft_show(sim_soft *soft);
/// Move what is torn, ahead of places. What depends on it is made in the next soft_tear. False,
/// with the reason in error, where a tape does not fit.
bool soft_move_tears(sim_soft *soft, sim_tape *tape, sim_error *error);

#endif
