/// Whether other parts of a body cover a contact of a part.
///
/// The parts of a body are one solid: their union. A contact at a point of a part's surface belongs
/// to the union only where the surface of the part is that of the union too. The side of a floor
/// tile beside another tile is not, nor is the edge over it.
///
/// The rule. Near a point, a facet of the part is bare where it goes on, away from the point, to
/// places that no other part covers (probes, four slops away): one that reaches them and goes on
/// beyond the facet's plane. So the top of a part that is there twice is bare. A normal belongs to
/// the surface if it is that of a bare facet, or lies between those of several: it is a sum of them
/// with factors of at least 0. A contact is covered when
/// - another part reaches its point, within the slop, and goes on from there to the side of the
///   normal, as no two parts do that meet at an outer edge;
/// - and its normal belongs to no bare facet.
///
/// So the foot of a wall that stands on a floor is not covered: its facet goes on upward. The edge
/// of a tile that sticks out by more than the slop is not either. The round surface of a part has
/// no facets: a point of it is covered where it lies deep in another part. An open mesh also has
/// its borders: where one goes on, bare, nothing is covered.
///
/// Cost: a few probes, and only for contacts within a slop of another part.

#include "contact/seams.h"
#include "frame/body_point.h"
#include "frame/shape_table.h"
#include "geom/triangle.h"

// How far probes go, in slops.
static const double REACH = 4;
// Normals that differ by no more count as one: sine of the angle.
static const double SAME_NORMAL = 0.01;
enum { MOST_NORMALS = CR_MOST_BARE_FACETS, MOST_TRIANGLES = 64, MOST_SWEEPS = 256 };

double cr_gap_of_point(const cr_bvh_kernels *kernels, const cr_body *body, v3d point, double most)
{
	cr_surface_point nearest;
	const v3d local = cr_point_to_body(body, point);
	if (cr_nearest_on_body(body, kernels, local, most, &nearest))
		return nearest.distance;
	const cr_collider *mesh = cr_asked_mesh(body);
	const bool inside = mesh ? cr_collider_contains(mesh, kernels, local) : nearest.distance < 0;
	return inside ? -most : INFINITY;
}

v3d cr_bring_to_body(const cr_bvh_kernels *kernels, const cr_body *body, v3d point)
{
	cr_surface_point nearest;
	const bool found = cr_nearest_on_body(body, kernels, cr_point_to_body(body, point), INFINITY, &nearest);
	return found && nearest.distance > 0 ? cr_point_to_world(body, nearest.point) : point;
}

bool cr_is_reached(const cr_cover *c, v3d point)
{
	for (int32_t i = 0; i < c->count; i++) {
		if (cr_gap_of_point(c->kernels, c->others[i], point, c->slop) <= c->slop)
			return true;
	}
	return false;
}

/// Does any other part reach a point of the part's frame?
static bool is_reached(const cr_cover *c, v3d point) { return cr_is_reached(c, cr_point_to_world(c->part, point)); }

// By descent along one of the vectors after the other (Hildreth 1957).
bool cr_is_in_cone(v3d normal, const v3d *units, int count)
{
	double factor[MOST_NORMALS] = { 0 };
	v3d rest = normal;
	for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
		bool changed = false;
		for (int i = 0; i < count; i++) {
			const double along = v3d_dot(units[i], rest), change = along > -factor[i] ? along : -factor[i];
			factor[i] += change;
			rest = v3d_mad(rest, -change, units[i]);
			changed = changed || fabs(change) > 1e-4 * SAME_NORMAL;
		}
		if (v3d_length(rest) <= SAME_NORMAL)
			return true;
		if (!changed)
			return false;
	}
	return true; // not decided
}

// ---- Facets near a point ----

/// A flat piece of a surface, counter-clockwise seen from outside; convex.
typedef struct facet {
	const v3d *corners;
	int count;
	v3d normal;
	unsigned borders; // bit k: no triangle lies across the edge from corner k
} facet;

typedef struct look look;
typedef void facet_fn(look *l, const facet *f);

/// The facets near a point.
struct look {
	const cr_cover *cover;
	const cr_body *part; // whose facets they are
	double slop;
	v3d point; // part's frame
	v3d normal;
	v3d normals[MOST_NORMALS];
	v3d corners[MOST_NORMALS]; // one of the facets that have them
	int count;
	bool any;     // there is one within a slop
	bool open;    // a bare border
	bool crowded; // more than are kept
	bool bare;    // one that has the normal is bare
	// of the bare facets the one whose normal is nearest to the given one; cosine 0: none
	double cosine;
	v3d best, corner;
	double depth; // of the point below the nearest facet that is bare over it; INFINITY: none
};

static v3d nearest_on_segment(v3d p, v3d a, v3d b) { return v3d_mad(a, cr_nearest_on_segment(p, a, b), v3d_sub(b, a)); }

static v3d end_of(const facet *f, int edge) { return f->corners[(edge + 1) % f->count]; }

/// The point of a facet next to p.
static v3d nearest_on_facet(const facet *f, v3d p)
{
	v3d best = v3d_mad(p, -v3d_dot(f->normal, v3d_sub(p, f->corners[0])), f->normal);
	double least = INFINITY;
	bool inside = true;
	for (int k = 0; k < f->count; k++) {
		const v3d along = v3d_sub(end_of(f, k), f->corners[k]);
		inside = inside && v3d_dot(v3d_cross(along, v3d_sub(p, f->corners[k])), f->normal) >= 0;
	}
	for (int k = 0; k < f->count && !inside; k++) {
		const v3d near = nearest_on_segment(p, f->corners[k], end_of(f, k));
		const double distance = v3d_length(v3d_sub(p, near));
		best = distance < least ? near : best;
		least = distance < least ? distance : least;
	}
	return best;
}

/// The place that lies a probe's way from one point towards another. false: they are too near.
static bool probe_towards(const look *l, v3d from, v3d to, v3d *place)
{
	const v3d way = v3d_sub(to, from);
	const double length = v3d_length(way), reach = REACH * l->slop;
	*place = v3d_mad(from, length > reach ? reach / length : 1, way);
	return length > l->slop;
}

/// Does a border go on to a bare place, towards a point?
static bool is_bare_border_towards(const look *l, v3d from, v3d to)
{
	v3d place;
	return probe_towards(l, from, to, &place) && !is_reached(l->cover, place);
}

/// Does a facet go on to a bare place, towards a point? A part that ends there in the facet's plane
/// leaves it bare.
static bool is_bare_towards(const look *l, const facet *f, v3d from, v3d to)
{
	v3d place;
	if (!probe_towards(l, from, to, &place))
		return false;
	const v3d point = cr_point_to_world(l->part, place), normal = cr_vector_to_world(l->part, f->normal);
	for (int32_t i = 0; i < l->cover->count; i++) {
		if (cr_covers(l->cover, l->cover->others[i], point, normal))
			return false;
	}
	return true;
}

/// Does a facet go on to a bare place: towards its corners, or straight towards one of its edges?
static bool is_bare(const look *l, const facet *f, v3d from)
{
	for (int k = 0; k < f->count; k++) {
		if (is_bare_towards(l, f, from, nearest_on_segment(from, f->corners[k], end_of(f, k))) ||
			is_bare_towards(l, f, from, f->corners[k]))
			return true;
	}
	return false;
}

/// Does a border near the point go on to a bare place?
static bool has_bare_border(const look *l, const facet *f)
{
	for (int k = 0; k < f->count; k++) {
		const v3d near = nearest_on_segment(l->point, f->corners[k], end_of(f, k));
		if ((f->borders >> k & 1) == 0 || v3d_length(v3d_sub(near, l->point)) > l->slop)
			continue;
		if (is_bare_border_towards(l, near, f->corners[k]) || is_bare_border_towards(l, near, end_of(f, k)))
			return true;
	}
	return false;
}

static bool has_normal(const look *l, const facet *f) { return v3d_length(v3d_sub(f->normal, l->normal)) <= SAME_NORMAL; }

static bool is_near(const look *l, const facet *f, v3d *near)
{
	*near = nearest_on_facet(f, l->point);
	return v3d_length(v3d_sub(*near, l->point)) <= l->slop;
}

static void add_normal(look *l, const facet *f)
{
	const v3d normal = f->normal;
	for (int i = 0; i < l->count; i++) {
		if (v3d_length(v3d_sub(normal, l->normals[i])) <= 1e-3 * SAME_NORMAL)
			return;
	}
	l->crowded = l->crowded || l->count == MOST_NORMALS;
	if (l->count == MOST_NORMALS)
		return;
	l->corners[l->count] = f->corners[0];
	l->normals[l->count++] = normal;
}

/// Look only whether a facet that has the normal is bare.
static void note_same(look *l, const facet *f)
{
	v3d near;
	l->bare = l->bare || (has_normal(l, f) && is_near(l, f, &near) && is_bare(l, f, near));
}

/// Add the normals of bare facets. Those that have the normal are known to be none.
static void note_bare(look *l, const facet *f)
{
	v3d near;
	if (!is_near(l, f, &near))
		return;
	l->any = true;
	l->open = l->open || (f->borders != 0 && has_bare_border(l, f));
	if (has_normal(l, f) || !is_bare(l, f, near))
		return;
	add_normal(l, f);
	if (v3d_dot(f->normal, l->normal) > l->cosine) {
		l->cosine = v3d_dot(f->normal, l->normal);
		l->best = f->normal;
		l->corner = f->corners[0];
	}
}

/// Add the normals of all facets.
static void note_all(look *l, const facet *f)
{
	v3d near;
	if (is_near(l, f, &near))
		add_normal(l, f);
}

static void visit_triangles(look *l, const cr_collider *mesh, facet_fn *fn)
{
	int32_t triangles[MOST_TRIANGLES];
	int32_t count = l->cover->kernels->around(mesh, l->point, l->slop, MOST_TRIANGLES, triangles);
	l->crowded = l->crowded || count > MOST_TRIANGLES;
	count = count < MOST_TRIANGLES ? count : MOST_TRIANGLES;
	for (int32_t i = 0; i < count; i++) {
		v3d corners[3];
		facet f = { .corners = corners, .count = 3, .normal = cr_collider_normal(mesh, triangles[i]) };
		cr_collider_triangle(mesh, triangles[i], corners);
		for (int k = 0; k < 3; k++)
			f.borders |= mesh->topology->neighbours[3 * (int64_t)triangles[i] + k] < 0 ? 1u << k : 0;
		fn(l, &f);
	}
}

/// Show the face of a convex body that faces a direction best.
static void visit_face(look *l, const cr_convex *convex, v3d direction, facet_fn *fn)
{
	cr_face face;
	cr_convex_face(convex, direction, &face);
	if (face.count > 2)
		fn(l, &(facet){ .corners = face.point, .count = face.count, .normal = face.normal });
}

/// Show the faces of a convex body; of a hull those whose planes lie within reach of the point.
static void visit_faces(look *l, const cr_convex *convex, double reach, facet_fn *fn)
{
	const cr_hull *hull = convex->hull;
	for (int32_t i = 0; hull && i < hull->face_count; i++) {
		const v3d corner = hull->vertices[hull->corners[hull->face_first[i]]];
		if (fabs(v3d_dot(hull->normals[i], v3d_sub(l->point, corner))) <= reach)
			visit_face(l, convex, hull->normals[i], fn);
	}
	for (int axis = convex->core == CR_CORE_BOX ? 0 : 2; axis < 3 && !hull; axis++) {
		const v3d direction = { axis == 0, axis == 1, axis == 2 };
		visit_face(l, convex, direction, fn);
		visit_face(l, convex, v3d_neg(direction), fn);
	}
}

/// Let the facet be the way out of the point, if it is nearer than that so far and bare there.
static void note_way(look *l, const facet *f)
{
	const double depth = v3d_dot(f->normal, v3d_sub(f->corners[0], l->point));
	if (depth < 0 || depth >= l->depth)
		return;
	const v3d over = cr_point_to_world(l->part, v3d_mad(l->point, depth, f->normal));
	if (cr_is_covered(l->cover, over, cr_vector_to_world(l->part, f->normal), NULL))
		return;
	l->depth = depth;
	l->normal = f->normal;
}

/// Show a triangle of each facet of a convex mesh of few facets.
static void visit_planes(look *l, const carom_mesh *mesh, facet_fn *fn)
{
	const cr_facets *facets = &mesh->facets;
	for (int32_t i = 0; facets->convex && facets->count <= CR_PATCH_FACETS && i < facets->count; i++) {
		v3d corners[3];
		cr_collider_triangle(&mesh->collider, facets->triangles[facets->data[i].first], corners);
		fn(l, &(facet){ .corners = corners, .count = 3, .normal = facets->data[i].normal });
	}
}

/// Has a shape a surface that is no facet?
static bool is_round(const cr_body *body)
{
	return body->shape.family == CR_FAMILY_PLANE || (body->shape.family != CR_FAMILY_MESH && cr_is_round(body));
}

/// Show the facets near the point, and maybe others.
static void visit_facets(look *l, facet_fn *fn)
{
	const cr_shape *shape = &l->part->shape;
	if (shape->family == CR_FAMILY_MESH) {
		visit_triangles(l, shape->collider, fn);
	} else if (shape->family != CR_FAMILY_PLANE && shape->def.rounding == 0) {
		const cr_convex convex = cr_convex_of(&shape->def);
		visit_faces(l, &convex, l->slop, fn);
	}
}

static look look_at(const cr_cover *c, const cr_body *part, v3d point, v3d normal)
{
	return (look){ .cover = c,
		.part = part,
		.slop = c->slop,
		.point = cr_point_to_body(part, point),
		.normal = cr_vector_to_body(part, normal) };
}

// ---- The rule ----

/// Does a part that reaches a point go on from there to the side of a normal?
static bool goes_on(const cr_cover *c, const cr_body *part, v3d point, v3d normal)
{
	look l = look_at(c, part, point, normal);
	if (part->shape.family == CR_FAMILY_PLANE)
		return l.normal.z < 1 - SAME_NORMAL * SAME_NORMAL;
	if (part->shape.family != CR_FAMILY_MESH) {
		const cr_convex convex = cr_convex_of(&part->shape.def);
		const v3d farthest = cr_convex_support(&convex, l.normal);
		return v3d_dot(v3d_sub(farthest, l.point), l.normal) + convex.rounding > c->slop;
	}
	visit_facets(&l, note_all);
	return !l.crowded && !cr_is_in_cone(l.normal, l.normals, l.count);
}

bool cr_covers(const cr_cover *c, const cr_body *other, v3d point, v3d normal)
{
	return cr_gap_of_point(c->kernels, other, point, c->slop) <= c->slop && goes_on(c, other, point, normal);
}

/// How deep a point lies in the deepest of the other parts that reach it and go on from there; less
/// than -slop: none does. Up to most.
static double depth_in_others(const cr_cover *c, v3d point, v3d normal, double most)
{
	double depth = -INFINITY;
	for (int32_t i = 0; i < c->count; i++) {
		const double gap = cr_gap_of_point(c->kernels, c->others[i], point, most);
		if (gap <= c->slop && -gap > depth && goes_on(c, c->others[i], point, normal))
			depth = -gap;
	}
	return depth;
}

int cr_list_bare_facets(const cr_cover *c, v3d point, v3d normal, cr_bare_facet facets[CR_MOST_BARE_FACETS])
{
	look l = look_at(c, c->part, point, normal);
	visit_facets(&l, note_bare);
	for (int i = 0; i < l.count; i++)
		facets[i] = (cr_bare_facet){ v3d_dot(l.normals[i], l.normal), cr_vector_to_world(c->part, l.normals[i]),
			cr_point_to_world(c->part, l.corners[i]) };
	return l.count;
}

bool cr_is_covered(const cr_cover *c, v3d at, v3d normal, cr_bare_facet *nearest)
{
	if (nearest)
		nearest->cosine = 0;
	if (c->part->shape.family == CR_FAMILY_PLANE)
		return false;
	const v3d point = cr_bring_to_body(c->kernels, c->part, at);
	look l = look_at(c, c->part, point, normal);
	visit_facets(&l, note_same);
	if (l.bare)
		return false;
	const double most = (REACH + 1) * c->slop, depth = depth_in_others(c, point, normal, most);
	if (depth < -c->slop)
		return false;
	if (depth > REACH * c->slop)
		return true;
	visit_facets(&l, note_bare);
	if (nearest)
		*nearest = (cr_bare_facet){ l.cosine, cr_vector_to_world(c->part, l.best), cr_point_to_world(c->part, l.corner) };
	return l.any && !l.open && !l.crowded && !is_round(c->part) && !cr_is_in_cone(l.normal, l.normals, l.count);
}

bool cr_find_bare_way(const cr_cover *c, v3d point, v3d *normal, double *depth)
{
	look l = look_at(c, c->part, point, (v3d){ 0, 0, 0 });
	l.depth = INFINITY;
	if (c->part->shape.family == CR_FAMILY_MESH) {
		visit_planes(&l, c->part->shape.mesh, note_way);
	} else if (!is_round(c->part)) {
		const cr_convex convex = cr_convex_of(&c->part->shape.def);
		visit_faces(&l, &convex, INFINITY, note_way);
	}
	*normal = cr_vector_to_world(c->part, l.normal);
	*depth = l.depth;
	return isfinite(l.depth);
}
