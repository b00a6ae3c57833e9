/// The stages of the mesh check, each one file: read the vertices, weld them, leave out triangles,
/// match edges. cr_topology_build runs them in this order on one working set.
#ifndef CR_MESH_CHECK_H
#define CR_MESH_CHECK_H

#include "base/radix.h"
#include "mesh/topology.h"

/// The working set of one check. The arrays of the topology are filled stage by stage.
typedef struct cr_mesh_scan {
	carom_context *context;
	const carom_mesh_def *def;
	carom_mesh_report *report;
	// [3*vertex_count] the vertices as they were given, to be judged instead of those of the
	// topology, or NULL
	const double *exact;
	// of the same triangles before they moved, or NULL: see cr_topology_build_moved
	const cr_topology *before;
	cr_topology topology;
	// [triangle_count] 1: three distinct positions and no duplicate, so its edges count (a flat
	// one's too)
	uint8_t *carries;
	// [edge_count] one for each side of a carrying triangle: key = edge, value = 3 * triangle +
	// side; sorted
	cr_key *edges;
	int64_t edge_count;
	// [triangle_count] unit normals of the triangles in use, once the vertices have theirs
	v3d *face_normals;
} cr_mesh_scan;

/// Note a finding: only the first one of a report is kept (printf). element as
/// carom_mesh_report.first_element.
void cr_mesh_finding(carom_mesh_report *report, int32_t element, const char *format, ...) CR_PRINTF_LIKE(3, 4);

/// Check the fields of a definition: CAROM_INVALID_ARGUMENT names the field. Reads no vertex and no
/// triangle.
carom_result cr_mesh_check_def(carom_context *context, const carom_mesh_def *def);

/// A definition whose vertices are those of another one, about its centre, and welded by its
/// weld_distance.
typedef struct cr_welded_def {
	carom_mesh_def def;
	double *vertices; // [3*def.vertex_count] those of def, owned; NULL: def is the other one's
} cr_welded_def;

/// Put the vertices of a definition (NULL: none) that is sound about its centre, and weld them;
/// leave one that has neither centre nor weld_distance as it is, and one that is not sound, for its
/// check to refuse. def itself stays, and so does its centre in the result. Returns the definition
/// to go on with: def or &welded->def; NULL: out of memory, with the error of the context set. End
/// with cr_end_weld in any case. (weld_near.c)
const carom_mesh_def *cr_begin_weld(carom_context *context, const carom_mesh_def *def, cr_welded_def *welded);
void cr_end_weld(carom_context *context, cr_welded_def *welded);

/// Copy vertices (as float) and triangles, and find the faults that make a mesh unusable. Fills
/// topology.vertices, .triangles. False when out of memory, as all stages below.
bool cr_mesh_read(cr_mesh_scan *scan);

/// Find equal positions, degenerate and duplicate triangles, unreferenced vertices, box and area.
/// Fills topology.weld, .used and scan->carries.
bool cr_mesh_weld(cr_mesh_scan *scan);

/// Match the sides of triangles and judge edges, fans and pieces. Fills topology.neighbours and
/// scan->edges.
bool cr_mesh_match_edges(cr_mesh_scan *scan);

/// One edge: the run first..end-1 of scan->edges that starts at first.
int64_t cr_mesh_edge_end(const cr_mesh_scan *scan, int64_t first);

/// An array of count elements, NULL for none. *ok becomes false when out of memory, so that several
/// can be checked at once.
static inline void *cr_mesh_alloc(carom_context *context, int64_t count, size_t size, bool *ok)
{
	void *memory = count > 0 ? cr_alloc_array(context, (size_t)count, size) : NULL;
	*ok = *ok && (count == 0 || memory != NULL);
	return memory;
}

#endif
