/// @file interpenetration.h
/// How deep the bodies of a simulation lie in each other, as the papers' tables of interpenetration
/// have it (Lehericey, 2013, Tables 2.3 and 2.4): the cumulative length of all rays that a standard
/// cast finds.
#ifndef SCENE_INTERPENETRATION_H
#define SCENE_INTERPENETRATION_H

#include "scene/simulation.h"
#include "sim/base/sim_error.h"

/// Lengths in metres.
typedef struct scene_interpenetration {
	/// sum over all vertices of one mesh inside another: from the vertex against its normal to the
	/// other's surface
	double ray_length;
	int64_t rays_inside; ///< number of these vertices; one that is inside two meshes counts twice
	/// sum over all vertices of meshes below planes: their distance to the plane
	double plane_depth;
	int64_t plane_vertices;
} scene_interpenetration;

/// Measure at the present poses, in a world of its own: every vertex is cast with the full
/// algorithm along its normal, whatever the detection settings of the scene are; no ray is dropped,
/// shortened or left out, and pairs without a hit stay without one. The simulation is not changed.
/// False, with the reason in error, when that world cannot be made.
bool scene_measure_interpenetration(const scene_simulation *simulation, scene_interpenetration *result, sim_error *error);

#endif
