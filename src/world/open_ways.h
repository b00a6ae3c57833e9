/// Impacts at seams of flush parts, and the ways on from there.
#ifndef CR_WORLD_OPEN_WAYS_H
#define CR_WORLD_OPEN_WAYS_H

#include "bvh/mover.h"
#include "world/world.h"

/// Do two movers, which stand for parts, meet at a place that other parts of its body cover? Then
/// this adds the direction along which these carry the other one, and the search is to be made once
/// more, with it. Any thread.
bool cr_find_open_way(
	const carom_world *world, const int32_t part[2], const cr_mover movers[2], const cr_impact *impact, cr_open_ways *ways);

#endif
