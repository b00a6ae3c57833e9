/// Facets of a mesh: its triangles joined to flat polygons, whatever their number, and which edges
/// and vertices are real.
///
/// A cube is six facets, twelve creases and eight corners, be it made of 12 triangles or of 3,072.
/// Contacts are made of these, so that they do not depend on how a surface was cut into triangles.
/// Made once with the mesh: O(n log n).
#ifndef CR_MESH_FACETS_H
#define CR_MESH_FACETS_H

#include "mesh/refit.h"

/// Hulls of so many corners can be asked for all of them.
enum { CR_FEW_CORNERS = 32 };

/// A flat polygon, perhaps with holes: triangles joined through edges that lie in one plane up to
/// rounding.
typedef struct cr_facet {
	v3d normal; // outward, unit; plane: normal . p = offset
	double offset;
	double area;
	int32_t first; // in cr_facets.triangles
	int32_t count;
} cr_facet;

typedef struct cr_facets {
	cr_facet *data; // [count] the facet of the largest triangle first
	int32_t count;
	int32_t *of_triangle; // [triangle_count] -1: left out
	int32_t *triangles;   // [triangle_count] by facet
	// [triangle_count] bit k: edge k is a border or lies between two facets
	uint8_t *crease;
	// [vertex_count] of a vertex as welded: 1 where creases meet or end or bend
	uint8_t *corner;
	int32_t few[CR_FEW_CORNERS]; // the vertices with corner set, if there are no more than fit
	int32_t few_count;           // 0: more
	int32_t triangle_count;
	int32_t vertex_count;
	bool convex; // the mesh is closed, and no vertex lies in front of a facet
} cr_facets;

/// Make the facets of a topology. Returns false when out of memory: then they are empty.
bool cr_facets_build(carom_context *context, const cr_topology *topology, bool closed, cr_facets *facets);
/// Make the facets of a topology that was refitted from those before, with the bits that
/// cr_facets_build gives them: what is near the change is grown again, the rest copied. lower,
/// upper: the box of the triangles in use, before and after; there are some. CAROM_INVALID_MESH
/// where facets farther away would change too: then they have to be built. CAROM_OUT_OF_MEMORY
/// comes without a text. On failure the facets are empty.
carom_result cr_facets_refit(carom_context *context, const cr_topology *topology, const cr_change *change,
	const cr_facets *from, const float lower[3], const float upper[3], bool closed, cr_facets *facets);
/// Free the facets that cr_facets_build or cr_facets_refit made.
void cr_facets_free(carom_context *context, cr_facets *facets);
/// Bytes held.
size_t cr_facets_bytes(const cr_facets *facets);

/// Is edge k of a triangle a crease?
static inline bool cr_is_crease(const cr_facets *f, int32_t half_edge) { return f->crease[half_edge / 3] >> half_edge % 3 & 1; }

#endif
