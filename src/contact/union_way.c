/// The least way out of a body of flush parts, for a body that is deep in one of them.
///
/// The least way out of one part may lead into the next one, and from there back. A body that is
/// small against the parts touches only the part that it is in, so contacts of a step do not tell.
/// Here all parts of the body are asked.
///
/// In: a place in a part. The ways are along the normals of the part's flat sides, or the axes of a
/// round part. Each is followed to where it leaves the part. Is that place covered (covered.c), the
/// way goes on through the part that covers it. Of all ways the shortest one so far is followed
/// first, as paths are (Dijkstra 1959); so the first one that comes out is the least, and a way
/// through many parts is not followed to its end.
///
/// The length of a way is the one by which the whole other body leaves the plane of the exit. A way
/// leaves a part by its flat sides, a round part by the box about it, and a mesh that is not convex
/// by its local box: there it may be longer than need be, and never too short.
///
/// Cost: O(parts) for each exit that is looked at, mostly two or three, and a few probes there.

#include "contact/union_way.h"
#include "base/arena.h"
#include "frame/body_point.h"
#include "frame/shape_table.h"

enum { MOST_EXITS = 1024 }; // that a search looks at

// Cosine: a way leaves a part by no side that it is so nearly along.
static const double ALONG = 1e-6;
// How far from a part a point may lie that the part helps to cover, in slops.
static const double REACH = 8;

int32_t cr_list_covering(const cr_whole *whole, const cr_body *except, v3d point, const cr_body *covering[CR_MOST_COVERING])
{
	const double margin = REACH * whole->slop;
	int32_t count = 0;
	for (int32_t i = 0; i < whole->count && count < CR_MOST_COVERING; i++) {
		const cr_body *part = &whole->parts[i];
		const cr_local_box box = cr_local_box_of(part);
		// Most lie farther away than their boxes are wide.
		const v3d from = v3d_sub(point, part->pose.position);
		const double reach = v3d_length(box.centre) + v3d_length(box.half) + margin;
		if (v3d_dot(from, from) > reach * reach)
			continue;
		const v3d p = v3d_sub(cr_point_to_body(part, point), box.centre);
		const bool near =
			fabs(p.x) <= box.half.x + margin && fabs(p.y) <= box.half.y + margin && fabs(p.z) <= box.half.z + margin;
		if (near && part != except)
			covering[count++] = part;
	}
	return count;
}

// ---- Sides of a part ----

/// A plane of a part's frame: normal . p = offset.
typedef struct side {
	v3d normal; // outward, unit
	double offset;
} side;

bool cr_is_convex_volume(const cr_body *body)
{
	return body->shape.family != CR_FAMILY_MESH && body->shape.family != CR_FAMILY_PLANE;
}

static bool is_convex_mesh(const cr_body *part)
{
	return part->shape.family == CR_FAMILY_MESH && part->shape.mesh->facets.convex &&
		part->shape.mesh->facets.count <= CR_PATCH_FACETS;
}

static int32_t count_sides(const cr_body *part)
{
	if (part->shape.family == CR_FAMILY_PLANE)
		return 1;
	if (is_convex_mesh(part))
		return part->shape.mesh->facets.count;
	return part->shape.def.type == CAROM_HULL ? part->shape.mesh->hull->hull.face_count : 6;
}

/// A side of the box about a part: number 2 * axis, and one more for the side below.
static side side_of_box(const cr_body *part, int32_t number)
{
	const cr_local_box box = cr_local_box_of(part);
	const int axis = number / 2;
	const double sign = number % 2 ? -1 : 1;
	const v3d normal = { axis == 0 ? sign : 0, axis == 1 ? sign : 0, axis == 2 ? sign : 0 };
	return (side){ normal, sign * v3d_get(box.centre, axis) + v3d_get(box.half, axis) };
}

static side side_of(const cr_body *part, int32_t number)
{
	if (part->shape.family == CR_FAMILY_PLANE)
		return (side){ { 0, 0, 1 }, 0 };
	if (is_convex_mesh(part)) {
		const carom_mesh *mesh = part->shape.mesh;
		const cr_facet *facet = &mesh->facets.data[number];
		v3d corners[3];
		cr_collider_triangle(&mesh->collider, mesh->facets.triangles[facet->first], corners);
		return (side){ facet->normal, v3d_dot(facet->normal, corners[0]) };
	}
	if (part->shape.def.type != CAROM_HULL)
		return side_of_box(part, number);
	const cr_hull *hull = &part->shape.mesh->hull->hull;
	const v3d normal = hull->normals[number];
	const v3d corner = hull->vertices[hull->corners[hull->face_first[number]]];
	return (side){ normal, v3d_dot(normal, corner) + part->shape.def.rounding };
}

/// How far a point (world frame) in a part has to go along a direction to leave it; INFINITY: it
/// never does.
static double way_out_of(const cr_body *part, v3d point, v3d direction)
{
	const v3d p = cr_point_to_body(part, point), d = cr_vector_to_body(part, direction);
	const int32_t count = count_sides(part);
	double least = INFINITY;
	for (int32_t i = 0; i < count; i++) {
		const side s = side_of(part, i);
		const double along = v3d_dot(s.normal, d);
		if (along > ALONG)
			least = fmin(least, (s.offset - v3d_dot(s.normal, p)) / along);
	}
	return least;
}

// ---- Ways ----

/// A way that has been followed to where it leaves a part.
typedef struct way {
	cr_union_way so_far;
	const cr_body *part; // that it leaves there
	double depth;        // of the leaver; INFINITY: it leads nowhere
} way;

v3d cr_lowest_point(const cr_body *volume, v3d direction)
{
	const cr_convex convex = cr_convex_of(&volume->shape.def);
	const v3d lowest = cr_convex_support(&convex, cr_vector_to_body(volume, v3d_neg(direction)));
	return v3d_mad(cr_point_to_world(volume, lowest), -convex.rounding, direction);
}

bool cr_is_in_parts(const cr_whole *whole, v3d point)
{
	const cr_body *near[CR_MOST_COVERING];
	const int32_t count = cr_list_covering(whole, NULL, point, near);
	bool in = false;
	for (int32_t i = 0; i < count && !in; i++)
		in = cr_gap_of_point(whole->kernels, near[i], point, whole->slop) <= 0;
	return in;
}

/// How high the leaver begins along a direction.
static double lowest_of(const cr_body *leaver, v3d place, v3d direction)
{
	return v3d_dot(direction, cr_is_convex_volume(leaver) ? cr_lowest_point(leaver, direction) : place);
}

/// Begin the ways through the sides of a part. Returns how many there are.
static int32_t begin_ways(const cr_whole *whole, const cr_body *part, const cr_body *leaver, v3d place, way *ways)
{
	const v3d p = cr_point_to_body(part, place);
	int32_t count = 0;
	for (int32_t i = 0; i < count_sides(part); i++) {
		const side s = side_of(part, i);
		const double depth = s.offset - v3d_dot(s.normal, p);
		if (depth < -whole->slop)
			continue;
		const v3d direction = cr_vector_to_world(part, s.normal), exit = v3d_mad(place, depth, direction);
		ways[count++] = (way){ { direction, exit }, part, v3d_dot(direction, exit) - lowest_of(leaver, place, direction) };
	}
	return count;
}

/// Follow a way on through the part that covers its exit and that it leaves last. false: the exit
/// is bare.
static bool follow(const cr_whole *whole, way *w)
{
	const cr_body *covering[CR_MOST_COVERING];
	const v3d exit = w->so_far.exit, direction = w->so_far.direction;
	const int32_t count = cr_list_covering(whole, w->part, exit, covering);
	const cr_cover cover = { whole->kernels, w->part, covering, count, whole->slop };
	if (count == 0 || !cr_is_covered(&cover, exit, direction, NULL))
		return false;
	double most = whole->slop;
	for (int32_t i = 0; i < count; i++) {
		const double length = cr_covers(&cover, covering[i], exit, direction) ? way_out_of(covering[i], exit, direction) : 0;
		if (length <= most)
			continue;
		most = length;
		w->part = covering[i];
	}
	w->so_far.exit = v3d_mad(exit, most, direction);
	w->depth += most;
	return most > whole->slop;
}

bool cr_find_union_way(
	const cr_whole *whole, cr_worker *worker, const cr_body *part, const cr_body *leaver, v3d place, cr_union_way *found)
{
	const bool has_sides =
		part->shape.family != CR_FAMILY_PLANE && (part->shape.family != CR_FAMILY_MESH || is_convex_mesh(part));
	way *ways = has_sides ? cr_arena_alloc(&worker->arena, (size_t)count_sides(part) * sizeof *ways) : NULL;
	worker->failed = worker->failed || (has_sides && !ways);
	const int32_t count = ways ? begin_ways(whole, part, leaver, place, ways) : 0;
	for (int exits = 0; count > 0 && exits < MOST_EXITS; exits++) {
		way *least = ways;
		for (int32_t i = 1; i < count; i++)
			least = ways[i].depth < least->depth ? &ways[i] : least;
		if (!isfinite(least->depth))
			return false;
		if (!follow(whole, least)) {
			*found = least->so_far;
			return true;
		}
	}
	return false;
}
