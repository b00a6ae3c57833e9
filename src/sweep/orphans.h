/// Orphan sets (Tang, Manocha and Tong 2010, section 4).
#ifndef CR_SWEEP_ORPHANS_H
#define CR_SWEEP_ORPHANS_H

#include "sweep/sweep_scene.h"

/// Fill orphan_faces and orphan_edges of a scene that has its edges and incidences: (v, f) with v
/// not in f, where every triangle of v shares a vertex with f; (e, f) without a common vertex,
/// where every triangle of e shares a vertex with every triangle of f. The paper leaves the exact
/// rule open; this one makes its lemma true: adjacent pairs of triangles add no pair of features to
/// those of the pairs that share no vertex and the orphans. alone [vertex_count]: 1 where the mesh
/// of a vertex does not meet itself: no orphans are listed there; NULL: every mesh does. False when
/// out of memory.
bool cr_find_orphans(carom_context *context, cr_sweep_scene *scene, const uint8_t *alone);

#endif
