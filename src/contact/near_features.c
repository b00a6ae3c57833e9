/// Which corners and edges of two convex bodies that touch may complete their patch
/// (near_contacts.c).
///
/// Two prisms of 62 sides that stand on each other have ten thousand pairs of triangles within
/// reach, and nothing is near beside their patch. Here each corner and each edge is asked first
/// whether it can be, by the planes of the other body's facets. The others go the way of all
/// triangles, so the contacts are those that it finds without this file, to the bit.
///
/// A place beside the patch parts the bodies along a direction d within BESIDE of the normal n of a
/// contact: |d - n| <= CONE. So these are left out:
/// - a corner or an edge from which an edge of its body leads toward the other one, against d;
/// - a corner inside the other body, by more than rounding, and an edge between two such corners:
///   a place beside the patch is outside of the other body. Of two edges this is asked of A's;
/// - a corner beyond the reach over a plane of the other body, and an edge beyond one plane;
/// - a corner whose nearest point on the other body lies in another direction, as mostly the planes
///   tell that lead down from it;
/// - two edges whose common normal is no such d, or leads from A to B instead.
/// Cost: corners x planes, and edges of A x edges of B with few operations, of bodies of at most
/// MOST_TRIANGLES.

#include "contact/near_contacts.h"
#include "mesh/facets.h"
#include <string.h>

enum { MOST_TRIANGLES = 512, MOST_PLANES = CR_PATCH_FACETS, PROJECTIONS = 4 };

// Cosine up to which a direction counts as that of a contact (near_contacts.c), less the
// error of rounding.
static const double BESIDE = 0.99;
// The length of the difference of two unit vectors of that angle, and more.
static const double CONE = 0.15;
// Sine of the angle by which a surface may come nearer all the same.
static const double LEVEL = 0.1;
// Of the coordinates: the error of a height. A convex body has dents of the
// tolerance of facets, which is less (mesh/facets.c).
static const double MARGIN = 2e-5;
// Less than the sine of the angle between edges that have nearest points within both
// (near_contacts.c).
static const double PARALLEL = 0.99e-4;
// Of its length: how far an edge may end before the place where it passes another.
static const double SLACK = 1e-3;
// Margins by which the surface may be farther than a place that counts as inside.
static const double DENT = 10;
// Of the margin: from this distance on two points have a direction.
static const double DISTANCE = 1e-3;

typedef enum place_of { PLACE_UNKNOWN, PLACE_INSIDE, PLACE_BEYOND, PLACE_NEAR } place_of;

/// A corner of a body.
typedef struct near_corner {
	v3d at; // A's frame
	place_of place;
	int plane;        // the other body's plane that it is beyond
	uint32_t normals; // bits of the contacts' normals that it may part the bodies along
} near_corner;

/// An edge between two facets, from corner to corner.
typedef struct near_edge {
	int32_t half_edge;
	uint32_t normals;
	v3d from, along; // A's frame
	double low[3], high[3];
} near_edge;

typedef struct near_side {
	const cr_completion *completion;
	const cr_topology *topology;
	const cr_facets *facets;
	near_corner *corners; // [vertex_count]
	near_edge *edges;
	int32_t edge_count;
	// the planes of its facets, A's frame, filled up to a multiple of CR_WIDTH
	int filled;
	double normal[3][MOST_PLANES], offset[MOST_PLANES];
} near_side;

typedef struct near_test {
	near_side side[2];
	double reach, margin;
	const v3d *normals; // out of B, A's frame
	int normal_count;
	cr_near_features *found;
} near_test;

// ---- The bodies ----

static void place_planes(near_side *s, int number)
{
	const cr_completion *c = s->completion;
	for (int k = 0; k < s->facets->count; k++) {
		const cr_facet *f = &s->facets->data[k];
		const v3d n = cr_direction_to_a(c, number, f->normal);
		for (int x = 0; x < 3; x++)
			s->normal[x][k] = v3d_get(n, x);
		s->offset[k] = f->offset + (number == 0 ? 0 : v3d_dot(n, c->translation));
	}
	for (s->filled = s->facets->count; s->filled % CR_WIDTH != 0; s->filled++) {
		s->normal[0][s->filled] = s->normal[1][s->filled] = s->normal[2][s->filled] = 0;
		s->offset[s->filled] = INFINITY;
	}
}

/// The bits of the normals that an edge allows: those that it does not lead against from one of its
/// ends, or, for a contact of its own, that are across it.
static uint32_t allowed_by(const near_test *t, int side, v3d along, bool across)
{
	const double length = v3d_length(along);
	uint32_t bits = 0;
	for (int i = 0; i < t->normal_count; i++) {
		// From the other body to this one.
		const double rise = side == 0 ? v3d_dot(along, t->normals[i]) : -v3d_dot(along, t->normals[i]);
		const bool allowed = across ? fabs(rise) <= CONE * length : rise >= -(LEVEL + CONE) * length;
		bits |= (uint32_t)allowed << i;
	}
	return bits;
}

static void list_edge(near_test *t, int side, int32_t half_edge)
{
	near_side *s = &t->side[side];
	const int32_t *v = &s->topology->triangles[3 * (int64_t)(half_edge / 3)];
	near_corner *ends[2] = { &s->corners[v[half_edge % 3]], &s->corners[v[(half_edge % 3 + 1) % 3]] };
	const v3d along = v3d_sub(ends[1]->at, ends[0]->at);
	ends[0]->normals &= allowed_by(t, side, along, false);
	ends[1]->normals &= allowed_by(t, side, v3d_neg(along), false);
	near_edge *e = &s->edges[s->edge_count];
	*e = (near_edge){ .half_edge = half_edge, .from = ends[0]->at, .along = along };
	e->normals = allowed_by(t, side, along, true);
	s->edge_count += e->normals != 0;
	for (int x = 0; x < 3; x++) {
		const double a = v3d_get(ends[0]->at, x), b = v3d_get(ends[1]->at, x);
		e->low[x] = a < b ? a : b;
		e->high[x] = a < b ? b : a;
	}
}

/// Corners in place, and the creases. false: out of memory.
static bool begin_side(near_test *t, const cr_completion *c, int number)
{
	near_side *s = &t->side[number];
	cr_arena *arena = &c->worker->arena;
	s->completion = c;
	s->topology = c->collider[number]->topology;
	s->facets = &c->body[number]->shape.mesh->facets;
	s->edge_count = 0;
	s->corners = cr_arena_alloc(arena, (size_t)s->topology->vertex_count * sizeof *s->corners);
	s->edges = cr_arena_alloc(arena, 3 * (size_t)s->topology->triangle_count * sizeof *s->edges);
	if (!s->corners || !s->edges)
		return false;
	for (int32_t i = 0; i < s->topology->vertex_count; i++) {
		const v3d at = cr_to_a(c, number, v3d_from_floats(&s->topology->vertices[3 * (int64_t)i]));
		s->corners[i] = (near_corner){ at, PLACE_UNKNOWN, -1, (1u << t->normal_count) - 1 };
	}
	for (int32_t i = 0; i < 3 * s->topology->triangle_count; i++) {
		const int32_t across = s->topology->neighbours[i];
		if (cr_is_crease(s->facets, i) && (across < 0 || across > i / 3))
			list_edge(t, number, i);
	}
	place_planes(s, number);
	return true;
}

// ---- Corners ----

static double height_over(const near_side *s, int plane, v3d at)
{
	return s->normal[0][plane] * at.x + s->normal[1][plane] * at.y + s->normal[2][plane] * at.z - s->offset[plane];
}

static v3d plane_normal(const near_side *s, int plane)
{
	return (v3d){ s->normal[0][plane], s->normal[1][plane], s->normal[2][plane] };
}

/// The plane that a point is highest above.
static int highest_plane(const near_side *s, v3d at, double *most)
{
	const double *const normal[3] = { s->normal[0], s->normal[1], s->normal[2] };
	return s->completion->pipeline->kernels->highest(normal, s->offset, s->filled, at, most);
}

/// Where a corner lies: inside the other body, beyond one of its planes, or near. *last: the plane
/// that the corner before it was beyond.
static place_of find_place(const near_test *t, int side, near_corner *corner, int *last)
{
	const near_side *other = &t->side[1 - side];
	double most;
	if (corner->place != PLACE_UNKNOWN)
		return corner->place;
	corner->plane = *last;
	corner->place = PLACE_BEYOND;
	if (height_over(other, *last, corner->at) > t->reach + t->margin)
		return PLACE_BEYOND;
	corner->plane = highest_plane(other, corner->at, &most);
	corner->place = most < -t->margin ? PLACE_INSIDE : most > t->reach + t->margin ? PLACE_BEYOND : PLACE_NEAR;
	if (corner->place == PLACE_BEYOND)
		*last = corner->plane;
	return corner->place;
}

/// A place in the other body, led there from a corner by its planes. false: none was found soon.
static bool find_inside(const near_test *t, const near_side *other, v3d at, v3d *inside)
{
	for (int i = 0; i < PROJECTIONS; i++) {
		double most;
		const int k = highest_plane(other, at, &most);
		*inside = at;
		if (most <= t->margin)
			return true;
		at = v3d_mad(at, -most, plane_normal(other, k));
	}
	return false;
}

/// Is a near corner so high above a plane, and some place of the other body so near, that the
/// nearest one is in no direction of the contacts? Over the plane the corner is as high as its
/// distance times the cosine at most.
static bool is_high_beside(const near_test *t, int side, const near_corner *corner)
{
	const near_side *other = &t->side[1 - side];
	const v3d n = plane_normal(other, corner->plane);
	v3d inside;
	if (!find_inside(t, other, corner->at, &inside))
		return false;
	const double distance = v3d_length(v3d_sub(corner->at, inside)) + DENT * t->margin;
	const double height = height_over(other, corner->plane, corner->at) - t->margin;
	for (int i = 0; i < t->normal_count; i++) {
		if ((corner->normals >> i & 1) && height <= distance * ((side == 0 ? 1 : -1) * v3d_dot(n, t->normals[i]) + CONE))
			return false;
	}
	return true;
}

/// Is the nearest point of the other body to a near corner in no direction of the contacts?
static bool is_led_aside(const near_test *t, int side, const near_corner *corner)
{
	const cr_completion *c = t->side[side].completion;
	if (is_high_beside(t, side, corner))
		return true;
	cr_near_point near;
	const v3d at = cr_from_a(c, 1 - side, corner->at);
	if (!c->pipeline->bvh->closest(c->collider[1 - side], at, INFINITY, true, &near))
		return false;
	const v3d out = cr_direction_to_a(c, 1 - side, v3d_sub(at, near.on.point));
	const double distance = v3d_length(out);
	if (!(distance > DISTANCE * t->margin))
		return false;
	for (int i = 0; i < t->normal_count; i++) {
		if ((corner->normals >> i & 1) && (side == 0 ? 1 : -1) * v3d_dot(out, t->normals[i]) > BESIDE * distance)
			return false;
	}
	return true;
}

static void take_corners(near_test *t, int side)
{
	near_side *s = &t->side[side];
	int last = 0;
	for (int32_t i = 0; i < s->topology->vertex_count; i++) {
		near_corner *corner = &s->corners[i];
		if (!corner->normals || !cr_holds_point(s->completion->body[side], s->topology->weld[i]))
			continue;
		const bool taken = find_place(t, side, corner, &last) == PLACE_NEAR && !is_led_aside(t, side, corner);
		t->found->corners[side][i] = taken;
		t->found->any = t->found->any || taken;
	}
}

// ---- Edges ----

/// Leave out the edges that cannot be near.
static void sift_edges(near_test *t, int side)
{
	near_side *s = &t->side[side];
	const near_side *other = &t->side[1 - side];
	int32_t kept = 0;
	int last = 0;
	for (int32_t i = 0; i < s->edge_count; i++) {
		const near_edge *e = &s->edges[i];
		const int32_t *v = &s->topology->triangles[3 * (int64_t)(e->half_edge / 3)];
		near_corner *a = &s->corners[v[e->half_edge % 3]], *b = &s->corners[v[(e->half_edge % 3 + 1) % 3]];
		const place_of place = find_place(t, side, a, &last);
		const bool inside = side == 0 && place == PLACE_INSIDE && find_place(t, side, b, &last) == PLACE_INSIDE;
		const bool beyond = place == PLACE_BEYOND && height_over(other, a->plane, b->at) > t->reach + t->margin;
		if (!inside && !beyond)
			s->edges[kept++] = *e;
	}
	s->edge_count = kept;
}

/// Are the boxes of two edges farther apart than a distance?
static bool are_apart(const near_edge *a, const near_edge *b, double distance)
{
	for (int x = 0; x < 3; x++) {
		if (a->low[x] > b->high[x] + distance || b->low[x] > a->high[x] + distance)
			return true;
	}
	return false;
}

/// May two edges be nearest within both, and A's point be in front of the triangle of B's edge? n:
/// across both.
static bool pass_within(const near_test *t, const near_edge *a, const near_edge *b, v3d n)
{
	const v3d apart = v3d_sub(b->from, a->from);
	const double area = v3d_dot(n, n);
	const double u = v3d_dot(v3d_cross(apart, b->along), n) / area, v = v3d_dot(v3d_cross(apart, a->along), n) / area;
	if (!(u > -SLACK && u < 1 + SLACK && v > -SLACK && v < 1 + SLACK))
		return false;
	const v3d across = v3d_sub(v3d_mad(apart, v, b->along), v3d_scale(a->along, u));
	return v3d_dot(plane_normal(&t->side[1], t->side[1].facets->of_triangle[b->half_edge / 3]), across) < t->margin;
}

/// May two edges be nearest along a contact's normal?
static bool may_meet(const near_test *t, const near_edge *a, const near_edge *b)
{
	const uint32_t normals = a->normals & b->normals;
	if (!normals || are_apart(a, b, t->reach + t->margin))
		return false;
	const v3d n = v3d_cross(a->along, b->along), apart = v3d_sub(b->from, a->from);
	const double length = v3d_length(n), height = v3d_dot(n, apart);
	if (fabs(height) > (t->reach + t->margin) * length || !(length > PARALLEL * v3d_length(a->along) * v3d_length(b->along)))
		return false;
	// From B to A.
	const double sign = height > 0 ? -1 : 1;
	bool along = fabs(height) <= t->margin * length;
	for (int i = 0; i < t->normal_count; i++)
		along = along || ((normals >> i & 1) && sign * v3d_dot(n, t->normals[i]) > BESIDE * length);
	return along && pass_within(t, a, b, n);
}

static void take_edges(near_test *t)
{
	const near_side *a = &t->side[0], *b = &t->side[1];
	for (int32_t i = 0; i < a->edge_count; i++) {
		for (int32_t k = 0; k < b->edge_count; k++) {
			if (!may_meet(t, &a->edges[i], &b->edges[k]))
				continue;
			t->found->edges[0][a->edges[i].half_edge] = t->found->edges[1][b->edges[k].half_edge] = 1;
			t->found->any = true;
		}
	}
}

bool cr_find_near_features(const cr_completion *c, double reach, const v3d *normals, int normal_count, cr_near_features *found)
{
	*found = (cr_near_features){ .any = true };
	for (int side = 0; side < 2; side++) {
		const cr_facets *f = &c->body[side]->shape.mesh->facets;
		if (!f->convex || f->count > MOST_PLANES || c->collider[side]->topology->triangle_count > MOST_TRIANGLES)
			return true;
	}
	near_test *t = cr_arena_alloc(&c->worker->arena, sizeof *t);
	if (!t)
		return false;
	t->reach = reach;
	t->margin = MARGIN * ((double)c->collider[0]->scale + c->collider[1]->scale);
	t->normals = normals;
	t->normal_count = normal_count;
	t->found = found;
	for (int side = 0; side < 2; side++) {
		const cr_topology *topology = c->collider[side]->topology;
		const size_t corners = (size_t)topology->vertex_count, edges = 3 * (size_t)topology->triangle_count;
		t->margin += c->body[side]->shape.mesh->facets.slack;
		found->corners[side] = cr_arena_alloc(&c->worker->arena, corners + edges);
		if (!found->corners[side] || !begin_side(t, c, side))
			return false;
		memset(found->corners[side], 0, corners + edges);
		found->edges[side] = found->corners[side] + corners;
	}
	found->any = false;
	take_corners(t, 0);
	take_corners(t, 1);
	sift_edges(t, 0);
	sift_edges(t, 1);
	take_edges(t);
	return true;
}
