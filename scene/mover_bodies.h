/// @file mover_bodies.h
/// Movers of a scene's section "deforming" that push its rigid bodies ("pushes_bodies"): closed
/// surfaces that move, and may change their form, as told. In the world of the rigid bodies each is
/// a body that deforms, so its contacts are those of the form that it has at that time.
#ifndef SCENE_MOVER_BODIES_H
#define SCENE_MOVER_BODIES_H

#include "scene/scene.h"

typedef struct scene_mover_bodies scene_mover_bodies;

/// How many movers of a scene push its rigid bodies.
int32_t scene_count_mover_bodies(const scene_description *scene);

/// Make them, where they are at time 0, and add them to a world, with first_number and so on as
/// user data. Scene and world must outlive them. NULL, with the reason in error, when a file of an
/// animation is not read, a surface is not closed, or memory is short.
scene_mover_bodies *scene_add_mover_bodies(
	carom_world *world, const scene_description *scene, int32_t first_number, sim_error *error);

/// Free them; their bodies in the world stay. NULL does nothing.
void scene_free_mover_bodies(scene_mover_bodies *movers);

/// The coefficient of friction of one.
double scene_mover_friction(const scene_mover_bodies *movers, int32_t mover);

/// Say how they move in the coming step of the solver, from where they are at one time (s) to where
/// they are at another.
void scene_aim_movers(scene_mover_bodies *movers, double from, double to);

/// The largest speed (m/s) of a vertex of one in that step.
double scene_mover_speed(const scene_mover_bodies *movers, int32_t mover);

/// Velocity (m/s, world frame) of the surface of one at a contact; is_a: it is body A of it.
carom_vec3 scene_mover_velocity(const scene_mover_bodies *movers, int32_t mover, const carom_contact *contact, bool is_a);

/// Put them where they are at the end of that step.
carom_result scene_place_movers(scene_mover_bodies *movers);

#endif
