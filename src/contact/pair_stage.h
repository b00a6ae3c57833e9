/// The parts of the pair stage (cr_stage_pairs), for back ends that find pairs in another way.
#ifndef CR_CONTACT_PAIR_STAGE_H
#define CR_CONTACT_PAIR_STAGE_H

#include "frame/pipeline.h"

/// Before pairs are found: put the lists in order.
void cr_open_pairs(cr_pipeline *pipeline);
/// Once they are in pipeline->pairs: part them, and look up the memory of each.
carom_result cr_part_pairs(cr_pipeline *pipeline);

#endif
