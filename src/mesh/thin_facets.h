/// Thin facets (cr_facets_thin): made directly, and brought up to date where vertices moved, in
/// time that goes by the facets there.
#ifndef CR_MESH_THIN_FACETS_H
#define CR_MESH_THIN_FACETS_H

#include "mesh/facets.h"

/// Make the facets of a topology with the bits of cr_facets_build and cr_facets_thin, in less
/// memory and time where most have one triangle. false: out of memory, with empty facets.
bool cr_thin_facets_build(carom_context *context, const cr_topology *topology, bool closed, cr_facets *facets);
/// Copy thin facets, for a topology with equal triangles. On failure the copy is empty.
bool cr_copy_thin_facets(carom_context *context, const cr_facets *from, const cr_topology *topology, cr_facets *facets);

/// Facets that are to change, until all else that may fail has been done.
typedef struct cr_facet_change cr_facet_change;

/// Grow the facets again that a change may alter, with the bits of cr_facets_build and
/// cr_facets_thin. Only the numbers of facets may be others. The facets stay as they are. lower,
/// upper: the box of the triangles in use, before and after. CAROM_INVALID_MESH where they have to
/// be built whole, and CAROM_OUT_OF_MEMORY: both without a text, and there is nothing to end. Else
/// end with cr_take_facet_change or cr_drop_facet_change.
carom_result cr_plan_facet_change(carom_context *context, const cr_change *change, const float lower[3], const float upper[3],
	cr_facets *facets, cr_facet_change **plan);
/// List the triangles around all corners of triangles that were grown again, by turning about each
/// corner. False where a corner has a border or no memory is left: then there are none, and
/// cr_vertices_of_facet_change tells where to look. Only for a topology whose vertices have one fan
/// each. End with cr_surroundings_free.
bool cr_surroundings_of_facet_change(cr_facet_change *plan, cr_surroundings *around);
/// The vertices whose creases are to be looked at: the corners of the triangles that were grown
/// again. around: the triangles in use with a corner at one of them, ascending, and perhaps others.
const int32_t *cr_vertices_of_facet_change(const cr_facet_change *plan, int32_t *count);
void cr_mark_facet_change(cr_facet_change *plan, const cr_surroundings *around);
/// Let the facets be the new ones, and end the change. Takes no memory.
void cr_take_facet_change(cr_facet_change *plan);
/// Leave the facets as they were.
void cr_drop_facet_change(cr_facet_change *plan);

#endif
