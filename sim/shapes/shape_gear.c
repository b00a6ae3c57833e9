// Spur gears: straight flanks, a bore, the axis along z. All have one module of 0.1, so that any
// two mesh when their centres are 0.05 * (teeth of both) apart: n teeth have a pitch radius of 0.05
// n.
#include "sim/shapes/shape_parts.h"

// Points of a tooth and the gap behind it; lengths, and shares of a pitch.
enum { TOOTH_POINTS = 4, LEAST_TEETH = 6 };
static const double PITCH_RADIUS = 0.05, ADDENDUM = 0.08, DEDENDUM = 0.1, HALF_HEIGHT = 0.1;
static const double ROOT_SHARE = 0.3, TIP_SHARE = 0.17; // half of a tooth's width there

/// Point i of the outline, of 4 to a tooth: root, tip, tip, root. Tooth 0 points along x.
static carom_vec3 outline(int32_t i, int32_t teeth, double height)
{
	static const double sides[TOOTH_POINTS] = { -1, -1, 1, 1 };
	const int32_t tooth = i / TOOTH_POINTS, at = i % TOOTH_POINTS;
	const bool tip = at == 1 || at == 2;
	const double radius = PITCH_RADIUS * teeth + (tip ? ADDENDUM : -DEDENDUM);
	double s, c;
	sim_sincos((tooth + sides[at] * (tip ? TIP_SHARE : ROOT_SHARE)) / teeth, &s, &c);
	return (carom_vec3){ radius * c, radius * s, height };
}

/// Point i of the bore, at even angles.
static carom_vec3 bore(int32_t i, int32_t teeth, double height)
{
	const double radius = 0.5 * PITCH_RADIUS * teeth;
	double s, c;
	sim_sincos((i - 1.5) / (TOOTH_POINTS * teeth), &s, &c);
	return (carom_vec3){ radius * c, radius * s, height };
}

/// Two triangles between two rings of points.
static void join(int32_t *triangles, int32_t i, int32_t count, int32_t ring, int32_t other)
{
	const int32_t next = (i + 1) % count;
	const int32_t corners[6] = { ring + i, ring + next, other + next, ring + i, other + next, other + i };
	for (int k = 0; k < 6; k++)
		triangles[k] = corners[k];
}

bool sim_make_gear(int32_t triangles, sim_surface *surface, sim_error *error)
{
	const int32_t teeth = triangles / (8 * TOOTH_POINTS), count = TOOTH_POINTS * teeth;
	const int32_t unit = 8 * TOOTH_POINTS, below = unit * teeth;
	if (teeth < LEAST_TEETH)
		return sim_fail(
			error, "a gear has 32 triangles for each of 6 teeth or more, not %d: take %d", triangles, unit * LEAST_TEETH);
	if (triangles != below)
		return sim_fail(error, "a gear has 32 triangles for each of 6 teeth or more, not %d: take %d or %d", triangles, below,
			below + unit);
	if (!sim_surface_alloc(surface, 4 * count, triangles))
		return false;
	for (int32_t i = 0; i < count; i++) {
		surface->points[i] = outline(i, teeth, -HALF_HEIGHT);
		surface->points[count + i] = outline(i, teeth, HALF_HEIGHT);
		surface->points[2 * count + i] = bore(i, teeth, HALF_HEIGHT);
		surface->points[3 * count + i] = bore(i, teeth, -HALF_HEIGHT);
		// Flanks, top, bore, bottom: each ring is joined to the next one.
		for (int32_t ring = 0; ring < 4; ring++)
			join(surface->triangles + 6 * (4 * (size_t)i + (size_t)ring), i, count, ring * count, (ring + 1) % 4 * count);
	}
	return true;
}
