/// Ways out of a body: is a point inside it, and how far is the surface from there, in which
/// direction? The stages that make contacts of vertices and edges ask.

#include "contact/contact_normal.h"
#include "geom/triangle.h"

enum { MOST_ROUND = 32 }; // triangles round a corner that a descent looks at, in each direction

// Of the diagonal of the smaller body's box: below this the depth of a contact does no harm, and
// most contacts are spared the search.
static const double SHORT_RAY = 0.02;

/// The surface is at least this far from a point.
static float distance_by_grid(const cr_grid *g, const float point[3])
{
	if (!g->cells)
		return 0;
	int32_t cell[3];
	const int distance = (g->cells[cr_cell_of(g, point, cell)] & CR_CELL_DISTANCE) - 1;
	return distance > 0 ? (float)distance * g->cell * 0.999f : 0;
}

bool cr_is_inside(const cr_pipeline *p, const cr_collider *c, const float point[3], const float direction[3])
{
	const int side = cr_side_of(c, point);
	return side != 0 ? side > 0 : p->bvh->winding(c, point, direction) != 0;
}

/// Set the way to a point of the way's triangle.
static void set_way_to(const cr_collider *target, v3d origin, v3d point, cr_way_out *way)
{
	const v3d d = v3d_sub(point, origin);
	const double length = v3d_length(d);
	// On the surface itself the way out is that triangle's, and it is no way at all.
	const v3d out = length > 0 ? v3d_scale(d, 1 / length) : cr_collider_normal(target, way->triangle);
	*way = (cr_way_out){ (float)length, { (float)out.x, (float)out.y, (float)out.z }, way->triangle };
}

/// The way to the nearest surface point instead, if one is within reach. Returns whether it is.
static bool take_nearest(const cr_pipeline *p, const cr_collider *target, const float origin[3], float reach, cr_way_out *way)
{
	int32_t triangle;
	if (!isfinite(p->bvh->nearest(target, origin, reach, &triangle)))
		return false;
	v3d t[3];
	cr_collider_triangle(target, triangle, t);
	const v3d o = v3d_from_floats(origin);
	way->triangle = triangle;
	set_way_to(target, o, cr_closest_on_triangle(o, t).point, way);
	return true;
}

static float smaller(float a, float b) { return b < a ? b : a; }

/// How near the surface must be to an origin to take the place of its way
/// (carom_lab.max_depth_ratio); 0: the way stays.
static float nearest_limit(
	const cr_pipeline *p, const cr_collider *source, const cr_collider *target, const float origin[3], const cr_way_out *way)
{
	const double ratio = p->settings.lab.max_depth_ratio;
	if (ratio == 0 || way->depth < SHORT_RAY * smaller(source->diagonal, target->diagonal))
		return 0;
	const float reach = (float)(way->depth / ratio);
	return distance_by_grid(&target->grid, origin) > reach ? 0 : reach;
}

/// A search for the surface point that is nearest to a point, by steps from triangle to triangle.
typedef struct descent {
	const cr_collider *target;
	v3d point;
	int32_t triangle; // the nearest so far
	cr_triangle_point on;
	double distance2;
} descent;

/// Go to a triangle if it is nearer. Returns whether it is.
static bool step_to(descent *d, int32_t triangle)
{
	v3d t[3];
	cr_collider_triangle(d->target, triangle, t);
	const cr_triangle_point on = cr_closest_on_triangle(d->point, t);
	const v3d way = v3d_sub(on.point, d->point);
	const double distance2 = v3d_dot(way, way);
	if (distance2 >= d->distance2)
		return false;
	d->triangle = triangle;
	d->on = on;
	d->distance2 = distance2;
	return true;
}

/// Go to the first triangle round a corner of this one that is nearer, if there is one.
static bool step_round(descent *d, int corner)
{
	const cr_topology *topology = d->target->topology;
	for (int forward = 0; forward < 2; forward++) {
		int32_t at = d->triangle;
		int k = corner;
		for (int i = 0; i < MOST_ROUND && cr_next_in_fan(topology, forward, &at, &k) && at != d->triangle; i++) {
			if (step_to(d, at))
				return true;
		}
	}
	return false;
}

/// Go over the edge, or round the corner, on which the nearest point lies. Returns false where that
/// leads no nearer.
static bool step_on(descent *d)
{
	const int feature = (int)d->on.feature;
	if (feature == CR_FEATURE_FACE)
		return false;
	if (feature >= CR_FEATURE_A)
		return step_round(d, feature - CR_FEATURE_A);
	const int32_t across = d->target->topology->neighbours[3 * d->triangle + feature - CR_FEATURE_EDGE_AB];
	return across >= 0 && step_to(d, across);
}

/// The way to the surface point that is nearest to its origin, as far as steps that come nearer
/// lead there from the way's triangle.
static void descend(const cr_collider *target, v3d origin, cr_way_out *way)
{
	descent d = { .target = target, .point = origin, .distance2 = INFINITY };
	step_to(&d, way->triangle);
	while (step_on(&d)) {
	}
	way->triangle = d.triangle;
	set_way_to(target, origin, d.on.point, way);
}

/// Turn a way to the normal of its triangle, where it then ends on the triangle; else to the
/// nearest surface point around that.
static void straighten(const cr_collider *target, const float origin[3], cr_way_out *way)
{
	cr_way_out straight = *way;
	v3d t[3];
	cr_collider_triangle(target, way->triangle, t);
	const v3d o = v3d_from_floats(origin), n = cr_triangle_normal(t);
	cr_turn_way(n, &straight);
	const v3d end = v3d_mad(o, straight.depth, v3d_from_floats(straight.direction));
	for (int k = 0; k < 3; k++) {
		if (v3d_dot(v3d_cross(v3d_sub(t[(k + 1) % 3], t[k]), v3d_sub(end, t[k])), n) < 0) {
			descend(target, o, way);
			return;
		}
	}
	*way = straight;
}

void cr_finish_way(
	const cr_pipeline *p, const cr_collider *source, const cr_collider *target, const float origin[3], cr_way_out *way)
{
	const float limit = nearest_limit(p, source, target, origin, way);
	const bool replaced = limit > 0 && take_nearest(p, target, origin, limit, way);
	if (p->settings.world.contact_normal == CAROM_NORMAL_TRIANGLE)
		cr_project_way(target, way);
	else if (p->settings.world.contact_normal == CAROM_NORMAL_PATCH && !replaced)
		straighten(target, origin, way);
}
