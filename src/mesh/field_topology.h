/// The topology of a height field without holes, which is known: no edges need be matched and no
/// vertices welded.
#ifndef CR_MESH_FIELD_TOPOLOGY_H
#define CR_MESH_FIELD_TOPOLOGY_H

#include "mesh/topology.h"

/// Fill the topology and the report of a closed field with the bits that cr_topology_build gives
/// them. def: packed floats, first those of columns times rows samples, row by row; two triangles
/// for each cell first, as world/height_field.c lists them, then any that close it. *done: false
/// where something is not as a field has it, as a coordinate out of range: cr_topology_build tells
/// what. On failure, and then, the topology is empty. O(n).
carom_result cr_field_topology(carom_context *context, int32_t columns, int32_t rows, const carom_mesh_def *def,
	carom_mesh_report *report, cr_topology *topology, bool *done);

#endif
