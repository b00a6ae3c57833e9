/// @file picture.h
/// A moment of a scene as a world that is made to be drawn: rigid bodies, surfaces that deform,
/// spheres, and a ground below them. `carom run` draws the state that it is in, `carom render` the
/// files that a run left.
#ifndef CAROM_TOOL_PICTURE_H
#define CAROM_TOOL_PICTURE_H

#include "scene/scene.h"
#include "view/renderer.h"

/// A surface, or a part of one. Nothing is owned.
typedef struct picture_surface {
	carom_strided places; ///< x, y, z of each vertex; world frame, metres
	int32_t vertex_count;
	const int32_t *triangles; ///< [3*triangle_count] numbers of vertices, from first_vertex on
	int32_t triangle_count;
	int32_t first_vertex;
} picture_surface;

/// All zero is closed.
typedef struct picture {
	carom_context *context; ///< the caller's
	carom_world *world;
	view_look *looks; ///< of the bodies and their parts, in the order of the world
	int32_t look_count, look_room;
	view_smooth_mesh *smooth; ///< of the surfaces
	int32_t surface_count;
} picture;

/// Begin a picture, with room for so many looks and surfaces. EXIT_DONE, or EXIT_FAILED after a
/// message; picture_close is due in both cases. The context must outlive it.
int picture_open(picture *p, carom_context *context, int64_t looks, int64_t surfaces);
void picture_close(picture *p);

/// Take a world that holds bodies already, and their looks [count], in the place of the empty one.
void picture_take_world(picture *p, carom_world *world, const view_look *looks, int32_t count);

/// Add a body, with a look for each of its shapes [count]. EXIT_DONE, or EXIT_FAILED after a
/// message; so with the functions below.
int picture_add_body(picture *p, const carom_body_def *def, const view_look *looks, int32_t count);

/// Add a surface; smooth: with smooth normals.
int picture_add_surface(picture *p, const picture_surface *surface, view_look look, bool smooth);

/// Add a level ground, a little below the lowest point of what is in a box. lowest: of
/// picture_lower, about the middle of the box; INFINITY adds nothing.
int picture_add_ground(picture *p, const carom_aabb *box, carom_vec3 up, double lowest);

/// Add spheres, the last of all: their colours follow their numbers. radii are single values.
int picture_add_spheres(picture *p, int64_t count, const carom_strided *centres, const carom_strided *radii);

/// The height along up (unit) of the lowest of points, or of spheres where radii are given, from a
/// point in the middle; or lowest, where that is below.
double picture_lower(
	double lowest, int64_t count, const carom_strided *places, const carom_strided *radii, carom_vec3 up, carom_vec3 middle);

// ---- Boxes ----

/// The box of nothing: that of any point is larger.
carom_aabb picture_empty_box(void);
bool picture_box_is_empty(const carom_aabb *box);
/// Unite a box with points, or with spheres where radii are given.
void picture_widen_box_by(carom_aabb *box, int64_t count, const carom_strided *places, const carom_strided *radii);
carom_vec3 picture_middle_of(const carom_aabb *box);

/// The look of a shape of a body of a scene; number chooses the colour.
view_look picture_scene_look(const scene_description *scene, int32_t body, int32_t shape, int number);

#endif
