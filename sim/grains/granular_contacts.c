// The points where spheres touch now, for pictures and files. A search of its own finds them from
// the places: the list of the steps may be old, or on a device, and a new one would count as one of
// theirs in the table of the run.
#include "sim/grains/granular_law.h"
#include "sim/grains/granular_output.h"

#include <math.h>

static bool add(sim_contact_points *points, const double point[3], const double normal[3], double depth)
{
	const sim_contact_point p = { SIM_CONTACT_SPHERE, { point[0], point[1], point[2] }, { normal[0], normal[1], normal[2] },
		depth };
	return sim_add_contact_point(points, &p);
}

/// The middle of the overlap of two spheres, by the nearest image of the second.
static bool add_pair(
	const sim_granular *g, const sim_granular_frame *frame, const carom_sphere_pair *pair, sim_contact_points *points)
{
	const double *a = frame->centres + 3 * (size_t)pair->a, *b = frame->centres + 3 * (size_t)pair->b;
	double away[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] }, point[3];
	granular_nearest_image(g, away);
	const double length = sqrt(granular_dot(away, away)), depth = frame->radii[pair->a] + frame->radii[pair->b] - length;
	for (int k = 0; k < 3; k++) {
		away[k] = length > 0 ? away[k] / length : k == 2;
		point[k] = a[k] - (frame->radii[pair->a] - 0.5 * depth) * away[k];
	}
	return add(points, point, away, depth);
}

static bool add_pairs(const sim_granular *g, const sim_granular_frame *frame, carom_spheres *detector,
	sim_contact_points *points, sim_error *error)
{
	carom_sphere_pairs pairs;
	carom_sphere_input input = carom_default_sphere_input();
	input.count = frame->count;
	input.centres = (carom_strided){ frame->centres, 0, CAROM_FLOAT64 };
	input.radii = (carom_strided){ frame->radii, 0, CAROM_FLOAT64 };
	if (carom_spheres_update(detector, &input) != CAROM_SUCCESS || carom_spheres_find_pairs(detector, &pairs) != CAROM_SUCCESS)
		return sim_fail(error, "%s", carom_error_text(g->context));
	for (int64_t i = 0; i < pairs.count; i++) {
		if (!add_pair(g, frame, &pairs.pairs[i], points))
			return sim_fail(error, "out of memory");
	}
	return true;
}

static bool find_pairs(const sim_granular *g, const sim_granular_frame *frame, sim_contact_points *points, sim_error *error)
{
	carom_spheres *detector = granular_new_detector(g, CAROM_SPHERES_AUTO, 0, error);
	const bool found = detector && add_pairs(g, frame, detector, points, error);
	carom_destroy_spheres(detector);
	return found;
}

static bool add_walls_of(const sim_granular *g, const double centre[3], double radius, sim_contact_points *points)
{
	for (int w = 0; w < g->plane_count; w++) {
		const double *n = g->planes[w].normal;
		const double height = n[0] * centre[0] + n[1] * centre[1] + n[2] * centre[2] - g->planes[w].offset;
		const double point[3] = { centre[0] - height * n[0], centre[1] - height * n[1], centre[2] - height * n[2] };
		if (height <= radius && !add(points, point, n, radius - height))
			return false;
	}
	return true;
}

/// Walls where they are now, and the other bodies that the last step met.
static bool add_others(sim_granular *g, const sim_granular_frame *frame, sim_contact_points *points)
{
	const granular_touches *t = &g->touches;
	bool room = true;
	granular_place_walls(g);
	for (int64_t i = 0; i < frame->count && room; i++)
		room = add_walls_of(g, frame->centres + 3 * i, frame->radii[i], points);
	for (int64_t k = 0; k < t->count && room && !g->touches_fresh && g->steps > 0; k++)
		room = add(points, t->reactions[k].point, t->touches[k].normal, t->touches[k].overlap);
	return room;
}

bool sim_granular_list_contacts(sim_granular *g, const sim_granular_frame *now, sim_contact_points *points, sim_error *error)
{
	if (g->share)
		return sim_fail(error, "points of contact of a simulation that ranks share are not known: gather it first");
	return find_pairs(g, now, points, error) && (add_others(g, now, points) || sim_fail(error, "out of memory"));
}
