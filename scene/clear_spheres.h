/// @file clear_spheres.h Spheres that are known to be far from all obstacles: the world of the
/// obstacles does not get them. A sphere that a substep asked about, and that touched nothing, is
/// left out until it, or the obstacles, have moved so far that it may touch one.
#ifndef SCENE_CLEAR_SPHERES_H
#define SCENE_CLEAR_SPHERES_H

#include "carom/carom.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/// A sphere of radius r at p touches no obstacle while the distance from p to the place, r and
/// scene_clear_spheres.path have a sum below until.
typedef struct scene_clear_place {
	double at[3];
	double until; ///< -INFINITY: nothing is known
} scene_clear_place;

/// Of one list of obstacles. Zero: nothing is known.
typedef struct scene_clear_spheres {
	scene_clear_place *places; ///< [count] in the order of the spheres in memory
	uint32_t *numbers;         ///< [count] of these spheres
	int64_t count;
	carom_pose *then; ///< [body_count] where the obstacles were
	int32_t body_count;
	double path;        ///< the sum of the greatest ways of obstacles
	double size;        ///< of the largest obstacle with an end
	carom_vec3 *points; ///< [point_room]
	carom_closest_point *closest;
	int64_t point_room;
} scene_clear_spheres;

/// Follow the obstacles to poses [count], in boxes [count]. False when out of memory.
bool scene_clear_follow(scene_clear_spheres *clear, int32_t count, const carom_pose *poses, const carom_aabb *boxes);

/// Bring the places into the order of the spheres in memory, whose numbers [count] these are. False
/// when out of memory.
bool scene_clear_order(scene_clear_spheres *clear, int64_t count, const uint32_t *numbers);

/// May sphere i (x, y, z, radius) in memory be left out?
static inline bool scene_is_clear(const scene_clear_spheres *clear, int64_t i, const double *sphere)
{
	const scene_clear_place *p = &clear->places[i];
	const double x = sphere[0] - p->at[0], y = sphere[1] - p->at[1], z = sphere[2] - p->at[2];
	const double way = p->until - sphere[3] - clear->path;
	return way > 0 && x * x + y * y + z * z < way * way;
}

/// A sphere that is asked about.
typedef struct scene_asked_sphere {
	double sphere[4]; ///< x, y, z, radius
	uint32_t number;
	int64_t place; ///< in memory
	bool touches;  ///< an obstacle
} scene_asked_sphere;

/// Find out how far spheres [count] are from all bodies of a world but one, their own. Nothing is
/// known of those that touch. False when a query fails, or when out of memory.
bool scene_clear_ask(
	scene_clear_spheres *clear, const carom_world *world, carom_body_id own, int64_t count, const scene_asked_sphere *spheres);

void scene_clear_free(scene_clear_spheres *clear);

#endif
