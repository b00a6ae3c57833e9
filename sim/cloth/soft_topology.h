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

static inline bool soft_has_corner(const int32_t corners[3], int32_t vertex)
{
	return corners[0] == vertex || corners[1] == vertex || corners[2] == vertex;
}

/// The masses of the vertices of a part, by its triangles at the present places. mass: of all
/// vertices of the simulation.
void soft_weigh_part(const sim_soft *soft, const soft_part *part, double density, double *mass);

/// At the present places.
double soft_triangle_area(const sim_soft *soft, int32_t triangle);

/// Is it a line up to the roundings of its corners, as turning it makes them? Its angles mean
/// nothing then.
bool soft_triangle_is_line(const sim_soft *soft, int32_t triangle);

#endif
