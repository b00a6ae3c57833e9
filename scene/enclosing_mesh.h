/// @file enclosing_mesh.h
/// Triangles around a basic volume of a scene, for simulations that know meshes alone.
#ifndef SCENE_ENCLOSING_MESH_H
#define SCENE_ENCLOSING_MESH_H

#include "scene/scene.h"

/// Add a mesh around a shape of the scene to one that is begun (all zero: empty), in the frame that
/// pose places the shape in. Boxes and hulls are as they are. Around others no point is farther out
/// than tolerance (m), or a 2000th of the size where that is more; rounding to float aside nothing
/// of the shape sticks out. A plane becomes a square of side 2 * reach about the point of it that
/// is nearest to middle (frame of pose). Height fields are the surface of the library.
///
/// False, with the reason in error, when the shape cannot be made or memory is short; free *mesh
/// with sim_free_form_mesh in both cases.
bool scene_enclose_shape(carom_context *context, const scene_description *scene, const scene_shape *shape,
	const carom_pose *pose, double tolerance, carom_vec3 middle, double reach, sim_form_mesh *mesh, sim_error *error);

/// Is a point behind all triangles from the first one on? Inside of one convex mesh, that is, or
/// below a plane.
bool scene_is_behind(const sim_form_mesh *mesh, int32_t first_triangle, const double point[3]);

#endif
