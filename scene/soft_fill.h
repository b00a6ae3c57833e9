/// @file soft_fill.h
/// The deforming bodies and movers of a scene, and their simulation.
#ifndef SCENE_SOFT_FILL_H
#define SCENE_SOFT_FILL_H

#include "scene/scene.h"
#include "scene/simulation.h"

/// Make the bodies of the section "deforming" and the simulation of them. Its last bodies are the
/// obstacles of the section, in their order: rigid ones that are led (sim_soft_lead). NULL with the
/// reason in error.
sim_soft *scene_start_deforming(carom_context *context, const scene_description *scene, sim_error *error);

/// Like it, beside the simulation of the scene's rigid bodies: with "two_way" its dynamic obstacles
/// are led solids (sim_soft_guide). simulation: NULL as without.
sim_soft *scene_start_deforming_among(
	carom_context *context, const scene_description *scene, const scene_simulation *simulation, sim_error *error);

/// The surface of a mover, by the number of its source, in its own frame: *mesh, for
/// sim_free_form_mesh, and the forms of its animation in *forms [count][3*vertex_count], for
/// free(); NULL: it keeps its form. False, with the reason in error, and both still to be freed.
bool scene_make_mover(const scene_description *scene, int32_t number, sim_form_mesh *mesh, float **forms, sim_error *error);

#endif
