/// Solids that deform, as contacts see them: for the time of a step each has the form of a mesh of
/// its own, whose vertices are where the step ends, at a pose without turning.
#ifndef CR_WORLD_SOLIDS_H
#define CR_WORLD_SOLIDS_H

#include "frame/body.h"

/// Put the forms of all solids in the place of their shapes. Returns whether there is a solid.
/// Takes no memory: a form that is out of date has no mesh until cr_make_form.
bool cr_show_solids(carom_world *world);
/// Put the shapes back.
void cr_hide_solids(carom_world *world);
/// Give all solids that are shown and need a form theirs, on all threads: the mesh of the last one
/// refitted, O(n), or a new one. user: the carom_world. On failure those without one have none.
carom_result cr_make_forms(void *user);
/// Make the facets of those whose form has put them off and that need them, on all threads.
/// O(n log n). user: the carom_world.
carom_result cr_make_form_facets(void *user);
/// A solid between steps as contacts see it at its present places: a rigid body, whose mesh *made
/// is the caller's to release (NULL: that of the last step serves). memory pays. O(n log n). Any
/// thread.
carom_result cr_see_solid(carom_context *memory, const cr_body *solid, cr_body *seen, carom_mesh **made);
/// What a deforming body encloses at the places set last. O(triangles).
carom_enclosed cr_measure_enclosed(const cr_deforming *deforming);
/// The mesh whose triangles face outward at the places set last: that at rest, or the same one
/// turned round where the solid is inside out. The solid keeps it. Any thread.
carom_result cr_see_outward(cr_deforming *deforming, const carom_mesh **mesh);
/// The mesh of the form of a solid at its present places, refitted if need be, for queries: it
/// serves until places are set. NULL: it has none that can be refitted, or can no longer. *result
/// tells a failure. Any thread.
const carom_mesh *cr_see_form(cr_deforming *deforming, carom_result *result);
/// Free the mesh of a form.
void cr_drop_form(carom_world *world, cr_deforming *deforming);

#endif
