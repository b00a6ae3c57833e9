// Spheres that are known to be far from all obstacles: see clear_spheres.h.
//
// A distance changes by no more than the sphere's way and the ways of all points of the obstacles.
// The greatest way of each substep is summed up in path. A body moves by no more than its origin
// does, and 2 |q - q'| times the distance of its farthest point from there (q, q' are unit
// quaternions of its turns, one of them negated if need be): the chord of a turn by t is 2 sin(t/2)
// <= 4 sin(t/4), and |q - q'| = 2 sin(t/4).
//
// A sphere whose centre is inside a closed obstacle touches it, and is not asked about: outside of
// the surface it stays while it does not cross it.
#include "scene/clear_spheres.h"

#include "sim/base/vectors.h"

#include <stdlib.h>
#include <string.h>

// In radii: how far is looked. A sphere that is farther away is looked at again after that way.
static const double SKIN = 4;
// Of lengths: far more than their rounding. Of the size of an obstacle: the distance from a convex
// body is searched.
static const double ROUNDING = 1e-12, SEARCHED = 1e-7;

static double square_of_difference(carom_quat p, carom_quat q, double sign)
{
	const double x = p.x - sign * q.x, y = p.y - sign * q.y, z = p.z - sign * q.z, w = p.w - sign * q.w;
	return x * x + y * y + z * z + w * w;
}

/// The distance from the origin of a body to its farthest point at most.
static double radius_of(const carom_pose *pose, const carom_aabb *box)
{
	const carom_vec3 a = sim_subtract(box->lower, pose->position), b = sim_subtract(box->upper, pose->position);
	return sim_length((carom_vec3){ fmax(fabs(a.x), fabs(b.x)), fmax(fabs(a.y), fabs(b.y)), fmax(fabs(a.z), fabs(b.z)) });
}

static double way_of(const carom_pose *now, const carom_pose *then, double radius)
{
	const double way = sim_length(sim_subtract(now->position, then->position));
	const double turn = 2 *
		sqrt(fmin(square_of_difference(now->orientation, then->orientation, 1),
			square_of_difference(now->orientation, then->orientation, -1)));
	return (way + (turn > 0 ? (turn + ROUNDING) * radius : 0)) * (1 + ROUNDING);
}

static void forget(scene_clear_spheres *clear)
{
	clear->path = 0;
	for (int64_t i = 0; i < clear->count; i++)
		clear->places[i].until = -INFINITY;
}

bool scene_clear_follow(scene_clear_spheres *clear, int32_t count, const carom_pose *poses, const carom_aabb *boxes)
{
	const bool known = clear->then && clear->body_count == count;
	if (!known) {
		free(clear->then);
		clear->then = malloc(((size_t)count + 1) * sizeof *clear->then);
		if (!clear->then)
			return false;
		clear->body_count = count;
	}
	double most = known ? 0 : INFINITY;
	clear->size = 0;
	for (int32_t i = 0; i < count; i++) {
		const double radius = radius_of(&poses[i], &boxes[i]);
		most = known ? fmax(most, way_of(&poses[i], &clear->then[i], radius)) : most;
		clear->size = isfinite(radius) ? fmax(clear->size, radius) : clear->size;
		clear->then[i] = poses[i];
	}
	clear->path += most;
	if (!(clear->path < INFINITY))
		forget(clear);
	return true;
}

/// Places by number, from those in the order of before. NULL when out of memory.
static scene_clear_place *places_by_number(const scene_clear_spheres *clear, int64_t room)
{
	scene_clear_place *places = malloc((size_t)room * sizeof *places);
	for (int64_t i = 0; places && i < room; i++)
		places[i] = (scene_clear_place){ .until = -INFINITY };
	for (int64_t i = 0; places && i < clear->count; i++) {
		if (clear->numbers[i] < room)
			places[clear->numbers[i]] = clear->places[i];
	}
	return places;
}

bool scene_clear_order(scene_clear_spheres *clear, int64_t count, const uint32_t *numbers)
{
	const size_t bytes = (size_t)count * sizeof *numbers;
	if (count == clear->count && (count == 0 || memcmp(clear->numbers, numbers, bytes) == 0))
		return true;
	int64_t room = 0;
	for (int64_t i = 0; i < count; i++)
		room = numbers[i] >= room ? (int64_t)numbers[i] + 1 : room;
	scene_clear_place *by_number = places_by_number(clear, room + 1);
	scene_clear_place *places = malloc(((size_t)count + 1) * sizeof *places);
	uint32_t *kept = malloc(bytes + 1);
	if (by_number && places && kept) {
		for (int64_t i = 0; i < count; i++)
			places[i] = by_number[numbers[i]];
		memcpy(kept, numbers, bytes);
		free(clear->places);
		free(clear->numbers);
		clear->places = places;
		clear->numbers = kept;
		clear->count = count;
		free(by_number);
		return true;
	}
	free(by_number);
	free(places);
	free(kept);
	return false;
}

static bool reserve_points(scene_clear_spheres *clear, int64_t count)
{
	if (count <= clear->point_room)
		return true;
	clear->point_room = 0;
	free(clear->points);
	free(clear->closest);
	clear->points = malloc((size_t)count * sizeof *clear->points);
	clear->closest = malloc((size_t)count * sizeof *clear->closest);
	if (!clear->points || !clear->closest)
		return false;
	clear->point_room = count;
	return true;
}

/// The place of a sphere whose distance from the obstacles is known.
static void note(scene_clear_spheres *clear, const scene_asked_sphere *s, double distance)
{
	const double *p = s->sphere;
	const double slack =
		ROUNDING * (fabs(p[0]) + fabs(p[1]) + fabs(p[2]) + distance + clear->path) + (SEARCHED + ROUNDING) * clear->size;
	const double free = distance - slack;
	clear->places[s->place] = (scene_clear_place){ { p[0], p[1], p[2] }, free > p[3] ? free + clear->path : (double)-INFINITY };
}

bool scene_clear_ask(
	scene_clear_spheres *clear, const carom_world *world, carom_body_id own, int64_t count, const scene_asked_sphere *spheres)
{
	double farthest = 0;
	int64_t asked = 0;
	if (!reserve_points(clear, count))
		return false;
	for (int64_t i = 0; i < count; i++) {
		const double *p = spheres[i].sphere;
		if (spheres[i].touches)
			continue;
		clear->points[asked++] = (carom_vec3){ p[0], p[1], p[2] };
		farthest = fmax(farthest, (1 + SKIN) * p[3]);
	}
	carom_query_filter filter = carom_default_query_filter();
	filter.ignore = own;
	const carom_batch batch = { .count = asked, .filter = &filter };
	if (asked > 0 && carom_world_closest_points(world, &batch, clear->points, farthest, clear->closest) != CAROM_SUCCESS)
		return false;
	for (int64_t i = 0, k = 0; i < count; i++) {
		if (spheres[i].touches)
			clear->places[spheres[i].place].until = -INFINITY;
		else
			note(clear, &spheres[i], fmin(clear->closest[k++].distance, farthest));
	}
	return true;
}

void scene_clear_free(scene_clear_spheres *clear)
{
	free(clear->places);
	free(clear->numbers);
	free(clear->then);
	free(clear->points);
	free(clear->closest);
	*clear = (scene_clear_spheres){ 0 };
}
