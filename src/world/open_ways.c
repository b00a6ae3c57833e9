/// Where a body slides over flush parts of another one, it meets the next part at its side, though
/// that is no surface of the whole body. In: an impact of two parts. Out: whether other parts cover
/// the place that is touched (contact/covered.c), and a direction along which the two may be near
/// each other. With it touching.c goes on from there.
///
/// An impact is given up only where all of this holds. P is the part that is touched, C the other
/// body.
/// 1. Other parts cover the place, on the side from which C comes.
/// 2. P or one of these parts has a bare facet there, with the normal n. The place lies below the
///    plane of the facet, and another part reaches the point of the plane over it: the surfaces are
///    flush. So a tile that is higher by more than the slop stops a body that slides.
/// 3. P reaches no farther beyond the plane than the slop, if the facet is another part's. So a
///    wall that stands on a tile stops it too.
/// 4. C is nowhere deeper below the plane than MOST_SUNK tolerances, or four times the depth to
///    which it may sink in, if that is less: P is nothing but floor to C.
/// 5. C is at the plane, within the tolerance, when the step begins: one that comes from above
///    meets P from above.
/// Then n is a guard of the two (head of bvh/touching.c), with the level that C has at the
/// beginning or at the impact, whichever is higher. P convex: C and P overlap in the slab below the
/// plane alone, as deep as the guard says. P a mesh: each triangle of it has to be clear by itself,
/// so C meets a wall of that mesh.
///
/// Cost: an impact with a body of several parts asks the boxes of all of them.

#include "world/open_ways.h"
#include "contact/seams.h"

enum { MOST_OTHERS = 32, MOST_SUNK = 8 };

static const double ALIKE = 0.999; // cosine: two ways count as one

/// A place on a part that an impact touches, in the world at the end of the step.
typedef struct place {
	const carom_world *world;
	const cr_mover *own, *other;
	const cr_body *part;
	bool of_b;
	double time;
	v3d point;
	v3d out; // unit: from the part to the other body
	double slop;
	const cr_body *near[MOST_OTHERS]; // the part itself is the first
	int32_t count;
} place;

/// A plane that is fixed to a part.
typedef struct level {
	v3d normal; // unit, frame of the part
	v3d point;
} level;

/// List the parts of the body that may cover the place. false: there are none, or too many.
static bool list_near(place *p, const cr_body *first)
{
	p->count = 0;
	p->near[p->count++] = p->part;
	double rounding = cr_part_rounding(p->part);
	for (int32_t i = 0; i < cr_part_count(first); i++) {
		const cr_body *part = &first[i];
		if (part == p->part || !cr_may_cover(part, p->point, p->slop))
			continue;
		if (p->count == MOST_OTHERS)
			return false;
		p->near[p->count++] = part;
		rounding = fmax(rounding, cr_part_rounding(part));
	}
	p->slop += rounding;
	return p->count > 1;
}

static double size_of(const cr_mover *mover) { return 2 * v3d_length(cr_mover_bounds(mover).extent); }

/// Find the place of an impact on one side. false: its body has no other parts there.
static bool set_place(
	const carom_world *world, const int32_t part[2], const cr_mover movers[2], const cr_impact *impact, int side, place *p)
{
	const cr_body *body = &world->bodies.data[part[side]], *first = body - body->part;
	if (cr_part_count(first) < 2)
		return false;
	const double t = impact->separation_time;
	const carom_pose own = cr_motion_at(&movers[side].motion, t), a = cr_motion_at(&movers[0].motion, t);
	const m3d rotation = m3d_from_quat(own.orientation);
	const v3d seen = v3d_sub(a.position, own.position); // separations are told from A's place
	const v3d at = v3d_add(side == 0 ? impact->separation.on_a : impact->separation.on_b, seen);
	const v3d out = side == 0 ? v3d_neg(impact->separation.normal) : impact->separation.normal;
	*p = (place){ .world = world,
		.own = &movers[side],
		.other = &movers[1 - side],
		.part = body,
		.of_b = side == 1,
		.time = t,
		.point = cr_point_to_world(body, m3d_tmul(&rotation, at)),
		.out = cr_vector_to_world(body, m3d_tmul(&rotation, out)),
		.slop = cr_slop_of_sizes(size_of(&movers[0]), size_of(&movers[1])) };
	p->point = cr_bring_to_body(world->pipeline.bvh, body, p->point);
	return list_near(p, first);
}

/// How high the lowest point of a body lies over a plane of a part at a time of their ways.
static double height_over(const place *p, const level *plane, double t)
{
	const carom_pose own = cr_motion_at(&p->own->motion, t), pose = cr_motion_at(&p->other->motion, t);
	const v3d up = carom_rotate(own.orientation, plane->normal);
	const m3d rotation = m3d_from_quat(pose.orientation);
	const v3d local = m3d_tmul(&rotation, up);
	const v3d ground = v3d_add(own.position, carom_rotate(own.orientation, plane->point));
	double least = INFINITY;
	if (p->other->convex) {
		const v3d lowest = cr_convex_support(p->other->convex, v3d_neg(local));
		least = v3d_dot(local, lowest) - p->other->convex->rounding;
	}
	const cr_collider *mesh = p->other->collider;
	for (int32_t i = 0; mesh && i < mesh->triangle_count; i++) {
		v3d corners[3];
		cr_collider_triangle(mesh, i, corners);
		for (int k = 0; k < 3; k++)
			least = fmin(least, v3d_dot(local, corners[k]));
	}
	return v3d_dot(up, v3d_sub(pose.position, ground)) + least;
}

/// The other parts near the place as one of them sees them.
static cr_cover cover_of(const place *p, int32_t owner, const cr_body *room[MOST_OTHERS])
{
	cr_cover cover = { p->world->pipeline.bvh, p->near[owner], room, 0, p->slop };
	for (int32_t i = 0; i < p->count; i++) {
		if (i != owner)
			room[cover.count++] = p->near[i];
	}
	return cover;
}

/// A point near the place that lies inside a part of flat sides.
static v3d point_inside(const place *p, const cr_body *part)
{
	const v3d way = v3d_sub(cr_point_to_world(part, cr_local_box_of(part).centre), p->point);
	const double length = v3d_length(way);
	return v3d_mad(p->point, length > p->slop ? p->slop / length : 1, way);
}

/// List the bare sides of one of the parts near the place that end flush with another part, as
/// planes in the world. Returns how many.
static int list_sides(const place *p, int32_t owner, level sides[CR_MOST_BARE_FACETS])
{
	const cr_body *room[MOST_OTHERS];
	const cr_cover cover = cover_of(p, owner, room);
	cr_bare_facet facets[CR_MOST_BARE_FACETS];
	int listed = cr_list_bare_facets(&cover, p->point, p->out, facets), count = 0;
	for (int i = 0; i < listed; i++) {
		const double depth = v3d_dot(facets[i].normal, v3d_sub(facets[i].corner, p->point));
		sides[i] = (level){ facets[i].normal, v3d_mad(p->point, depth, facets[i].normal) };
	}
	const v3d inside = point_inside(p, p->near[owner]);
	double depth;
	if (listed == 0 && cr_find_bare_way(&cover, inside, &sides[0].normal, &depth)) {
		sides[0].point = v3d_mad(inside, depth, sides[0].normal);
		listed = 1;
	}
	for (int i = 0; i < listed; i++) {
		if (cr_is_reached(&cover, sides[i].point))
			sides[count++] = sides[i];
	}
	return count;
}

/// Does the part reach beyond the plane of another one by no more than the slop?
static bool is_below(const place *p, const level *side)
{
	if (!p->own->convex)
		return false;
	const v3d farthest = cr_convex_support(p->own->convex, cr_vector_to_body(p->part, side->normal));
	const double over = v3d_dot(side->normal, v3d_sub(cr_point_to_world(p->part, farthest), side->point));
	return over + p->own->convex->rounding <= p->slop;
}

/// Is a guard new, of those of the other side of the two too?
static bool is_new(const place *p, const cr_open_ways *ways, v3d local)
{
	for (int i = 0; i < ways->count; i++) {
		if (ways->guard[i].of_b == p->of_b && v3d_dot(ways->guard[i].local, local) > ALIKE)
			return false;
	}
	return true;
}

/// Let the other body be carried by a side, if it is.
static bool add_way(const place *p, const level *side, cr_open_ways *ways)
{
	const level plane = { cr_vector_to_body(p->part, side->normal), cr_point_to_body(p->part, side->point) };
	const double tolerance = p->world->def.toi_tolerance, begin = height_over(p, &plane, 0),
				 now = height_over(p, &plane, p->time);
	const double most = fmin(MOST_SUNK * tolerance, 4 * cr_sinking_of(p->own, p->other, tolerance));
	if (!(now >= -most) || !(begin <= tolerance))
		return false;
	const v3d local = p->of_b ? plane.normal : v3d_neg(plane.normal); // from B to A
	if (!is_new(p, ways, local))
		return false;
	ways->guard[ways->count++] = (cr_guard){ local, p->of_b, fmin(0.5 * tolerance, fmax(begin, now)) };
	return true;
}

/// Let the other body be carried by one of the sides of a part near the place.
static bool add_way_of(const place *p, int32_t owner, cr_open_ways *ways)
{
	level sides[CR_MOST_BARE_FACETS];
	const int count = list_sides(p, owner, sides);
	for (int i = 0; i < count; i++) {
		if ((owner == 0 || is_below(p, &sides[i])) && add_way(p, &sides[i], ways))
			return true;
	}
	return false;
}

static bool is_covered(const place *p)
{
	const cr_body *room[MOST_OTHERS];
	const cr_cover cover = cover_of(p, 0, room);
	return cr_is_covered(&cover, p->point, p->out, NULL);
}

bool cr_find_open_way(
	const carom_world *world, const int32_t part[2], const cr_mover movers[2], const cr_impact *impact, cr_open_ways *ways)
{
	const cr_body *a = &world->bodies.data[part[0]], *b = &world->bodies.data[part[1]];
	const bool solid = (movers[0].convex || movers[0].collider) && (movers[1].convex || movers[1].collider);
	if (ways->count == CR_MOST_OPEN_WAYS || !solid || a->sensor || b->sensor)
		return false;
	for (int side = 1; side >= 0; side--) {
		place p;
		if (!set_place(world, part, movers, impact, side, &p) || !is_covered(&p))
			continue;
		for (int32_t i = 0; i < p.count; i++) {
			if (add_way_of(&p, i, ways))
				return true;
		}
	}
	return false;
}
