/// @file soft_topology.h
/// Edges and hinges of the surfaces of a cloth simulation, as its constraints.
#ifndef SIM_SOFT_TOPOLOGY_H
#define SIM_SOFT_TOPOLOGY_H

#include "sim/cloth/soft_state.h"

/// Append the edges and hinges of a part to those of the simulation, which has room for three of
/// each for a triangle, at the places of the start. *closed: does every edge have two triangles
/// that agree on the outside? False when memory is short.
bool soft_connect_part(sim_soft *soft, const soft_part *part, const sim_soft_body *body, bool *closed);

/// Find the triangles around each vertex.
void soft_list_around(sim_soft *soft);

/// At the present places.
double soft_triangle_area(const sim_soft *soft, int32_t triangle);

/// Is it a line up to the roundings of its corners, as turning it makes them? Its angles mean
/// nothing then.
bool soft_triangle_is_line(const sim_soft *soft, int32_t triangle);

#endif
