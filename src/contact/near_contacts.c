/// See near_contacts.h.
///
/// The triangles within the speculative distance are found by a walk of both trees. Of these each
/// vertex looks for its nearest point on the other surface, and each edge for edges that cross it
/// beside. Such a pair of points is a contact where the distance has a minimum: where, seen from
/// either point, the surface around it falls away from the other one. A surface that falls away by
/// too little counts too (LEVEL), so that a body over another one that is nearly parallel has its
/// whole patch; each contact tells the true distance of its own two points. The nearest pair of all
/// is a minimum, so it is always among them: its depth is the distance of the two meshes, its
/// normal the direction of the nearest points. Cost: fifteen pairs of features for each pair of
/// triangles; only for pairs of bodies that near. Everything in double in A's frame.
///
/// Bodies that touch have their patch already (manifold.c), which ends where the surfaces leave
/// each other. A crate that stands on one edge has only that edge's contacts. Corners and edges
/// that are near beside the patch complete it: pairs of points that part the bodies along the
/// normal of a contact, or nearly so, and lie outside of each other's body.

#include "contact/near_contacts.h"
#include "contact/contact_normal.h"
#include "geom/triangle.h"
#include "mesh/facets.h"
#include <string.h>

enum {
	MOST_NORMALS = 8, // of the contacts of a pair that touches
	// Of pairs of triangles: where more are near, as of two fine surfaces side by side, the nearest
	// points of the two bodies are the contact.
	MOST_PAIRS = 1 << 15,
	FEW_CONTACTS = 256, // a new place is compared with those of so many contacts at most
	MOST_KNOWN = 64,    // triangles of a body whose features are at hand; a power of two
};

// Sine: a surface that comes nearer around a vertex above a face, or around edges that cross, by
// less than that counts as level.
static const double LEVEL = 0.1;
// Sine, around a vertex that is nearest to an edge or a vertex: a place beside a face is no part of
// the face's patch.
static const double SHARP_LEVEL = 1e-3;
// Sine of the angle between edges that have nearest points within both.
static const double PARALLEL = 1e-4;
// Cosine: a feature beside a patch completes it where it parts the bodies along the patch's normal
// within 5.7 degrees.
static const double BESIDE = 0.995;
// Of the smaller body's diagonal: a point as near as this to one of the patch is the patch's.
static const double SAME_PLACE = 1e-3;
// Of the coordinates: nearer than this the line between two points has no direction.
static const double TOUCHING = 1e-9;

/// Two points that are near each other: a vertex or an edge of a body, and a place on the other.
typedef struct near_pair {
	double distance; // infinite: none
	v3d own;         // A's frame
	v3d across;      // unit, from there to the other body
	int side;        // whose vertex or edge it is
	int32_t own_feature;
	int32_t other; // triangle
	carom_contact_kind kind;
	bool minimum;
} near_pair;

typedef struct near_search {
	cr_completion *completion;
	double reach;
	double tolerance;
	double same_place; // contacts nearer than this are one
	int64_t first;     // with which contacts from here on they are compared
	double internal_cosine;
	bool touching;             // only features beside a contact's patch are looked for
	v3d normals[MOST_NORMALS]; // of these contacts, A's frame, out of B
	int normal_count;
	cr_near_features features; // of bodies that touch: those that may be near beside the patch
	bool fronted[2];           // is a body open, with a side that nothing comes near it from?
	near_pair *vertices[2];
	int32_t *table[2]; // by vertex: 1 + place in vertices; 0: empty
	int32_t count[2];
	int32_t room[2]; // of the table, a power of two
	near_pair best;  // of all, minimum or not
	struct {
		int32_t triangle; // -1: none
		unsigned features;
	} known[2][MOST_KNOWN]; // by triangle
} near_search;

bool cr_wants_near_contacts(const cr_pipeline *p)
{
	return p->settings.world.speculative_distance > 0 && p->settings.lab.complete &&
		p->settings.world.contact_normal == CAROM_NORMAL_PATCH;
}

// ---- Minima ----

/// Does a direction from a corner lead away from the other body, or toward it by so little that it
/// counts as level? d: unit, to the other body.
static bool falls_away(v3d along, v3d d, double level) { return v3d_dot(along, d) <= level * v3d_length(along); }

static bool corners_fall_away(const cr_completion *c, int side, int32_t triangle, int corner, v3d d, double level)
{
	v3d p[3];
	cr_triangle_in_a(c, side, triangle, p);
	return falls_away(v3d_sub(p[(corner + 1) % 3], p[corner]), d, level) &&
		falls_away(v3d_sub(p[(corner + 2) % 3], p[corner]), d, level);
}

/// Does the surface around a vertex fall away?
static bool vertex_is_minimum(const cr_completion *c, int side, int32_t triangle, int corner, v3d d, double level)
{
	if (!corners_fall_away(c, side, triangle, corner, d, level))
		return false;
	for (int forward = 1; forward >= 0; forward--) {
		int32_t at = triangle;
		int k = corner;
		const cr_topology *t = c->collider[side]->topology;
		// The bound is for folds where two triangles share two edges: there a walk may never come
		// back to where it began.
		for (int32_t i = 0; i < t->triangle_count && cr_next_in_fan(t, forward, &at, &k) && at != triangle; i++) {
			if (!corners_fall_away(c, side, at, k, d, level))
				return false;
		}
	}
	return true;
}

/// Does the surface on both sides of an edge fall away?
static bool edge_is_minimum(const cr_completion *c, int side, int32_t half_edge, v3d d, double level)
{
	const cr_topology *t = c->collider[side]->topology;
	v3d p[3], q[3];
	cr_triangle_in_a(c, side, half_edge / 3, p);
	const int k = half_edge % 3;
	const v3d edge = v3d_sub(p[(k + 1) % 3], p[k]);
	v3d beside = v3d_sub(p[(k + 2) % 3], p[k]);
	beside = v3d_mad(beside, -v3d_dot(beside, edge) / v3d_dot(edge, edge), edge);
	if (!falls_away(beside, d, level))
		return false;
	const int32_t across = t->neighbours[half_edge];
	if (across < 0)
		return true;
	cr_triangle_in_a(c, side, across, q);
	// The corner across is the one farthest from the edge.
	double most = -1;
	for (int j = 0; j < 3; j++) {
		v3d other = v3d_sub(q[j], p[k]);
		other = v3d_mad(other, -v3d_dot(other, edge) / v3d_dot(edge, edge), edge);
		if (v3d_dot(other, other) > most) {
			most = v3d_dot(other, other);
			beside = other;
		}
	}
	return falls_away(beside, d, level);
}

/// May anything come near a triangle of a body from along d? Not from behind an open mesh that has
/// a front.
static bool is_seen(const near_search *s, int side, int32_t triangle, v3d d)
{
	const cr_completion *c = s->completion;
	if (!s->fronted[side])
		return true;
	return v3d_dot(cr_direction_to_a(c, side, cr_collider_normal(c->collider[side], triangle)), d) >= -LEVEL;
}

/// Is a point of a triangle a minimum, seen along d to the other body?
static bool point_is_minimum(const near_search *s, int side, int32_t triangle, cr_feature feature, v3d d, double level)
{
	const cr_completion *c = s->completion;
	switch (feature) {
	case CR_FEATURE_FACE: return true;
	case CR_FEATURE_EDGE_AB: return edge_is_minimum(c, side, 3 * triangle, d, level);
	case CR_FEATURE_EDGE_BC: return edge_is_minimum(c, side, 3 * triangle + 1, d, level);
	case CR_FEATURE_EDGE_CA: return edge_is_minimum(c, side, 3 * triangle + 2, d, level);
	default: return vertex_is_minimum(c, side, triangle, (int)(feature - CR_FEATURE_A), d, level);
	}
}

// ---- Features ----

static void note_best(near_search *s, const near_pair *pair)
{
	if (pair->distance < s->best.distance)
		s->best = *pair;
}

/// The record of a vertex; a new one has an infinite distance.
static near_pair *record_of(near_search *s, int side, int32_t vertex)
{
	uint32_t at = (uint32_t)vertex * 0x9e3779b1u & (uint32_t)(s->room[side] - 1);
	for (; s->table[side][at] != 0; at = (at + 1) & (uint32_t)(s->room[side] - 1)) {
		near_pair *pair = &s->vertices[side][s->table[side][at] - 1];
		if (pair->own_feature == vertex)
			return pair;
	}
	near_pair *pair = &s->vertices[side][s->count[side]++];
	s->table[side][at] = s->count[side];
	*pair = (near_pair){ .distance = INFINITY, .side = side, .own_feature = vertex };
	return pair;
}

/// Is a point farther than reach from the plane of a triangle? n: across it, of any length.
static bool is_above(const near_search *s, v3d point, v3d corner, v3d n)
{
	const double height = v3d_dot(n, v3d_sub(point, corner));
	return height * height > s->reach * s->reach * v3d_dot(n, n) * (1 + 1e-9);
}

/// A corner of a triangle of a body, and the other body's triangle: the nearest so far of the
/// vertex.
static void take_vertex(near_search *s, int side, int32_t triangle, int corner, v3d at, int32_t other, const v3d t[3])
{
	const cr_completion *c = s->completion;
	const cr_topology *topology = c->collider[side]->topology;
	cr_feature feature;
	const v3d nearest = cr_closest_point_triangle(at, t[0], t[1], t[2], &feature), d = v3d_sub(nearest, at);
	const double distance = v3d_length(d);
	if (!(distance <= s->reach))
		return;
	v3d across = v3d_scale(d, 1 / distance);
	if (distance <= s->tolerance)
		across = v3d_neg(cr_direction_to_a(c, 1 - side, cr_collider_normal(c->collider[1 - side], other)));
	if (!is_seen(s, side, triangle, across) || !is_seen(s, 1 - side, other, v3d_neg(across)))
		return;
	near_pair *pair = record_of(s, side, topology->weld[topology->triangles[3 * (int64_t)triangle + corner]]);
	if (distance >= pair->distance)
		return;
	const double level = feature == CR_FEATURE_FACE ? LEVEL : SHARP_LEVEL;
	pair->distance = distance;
	pair->own = at;
	pair->across = across;
	pair->other = other;
	pair->kind = side == 0 ? CAROM_VERTEX_A : CAROM_VERTEX_B;
	pair->minimum = cr_holds_point(c->body[side], pair->own_feature) &&
		point_is_minimum(s, side, triangle, (cr_feature)(CR_FEATURE_A + corner), across, level) &&
		point_is_minimum(s, 1 - side, other, feature, v3d_neg(across), level);
	note_best(s, pair);
}

static bool is_internal(const near_search *s, int side, int32_t half_edge)
{
	const cr_collider *c = s->completion->collider[side];
	const int32_t across = c->topology->neighbours[half_edge];
	return across >= 0 &&
		cr_edge_is_internal(
			c, half_edge, cr_collider_normal(c, half_edge / 3), cr_collider_normal(c, across), s->internal_cosine);
}

static void add_pair(const near_search *s, const near_pair *pair)
{
	cr_add_crossing_contact(s->completion, pair->side, pair->own, v3d_neg(pair->across), -pair->distance, pair->own_feature,
		pair->other, pair->kind);
}

/// The normals of the contacts of a pair that touches, each once.
static void take_normals(near_search *s)
{
	const cr_raw_contacts *list = &s->completion->worker->contacts;
	for (int64_t i = 0; i < list->count && s->normal_count < MOST_NORMALS; i++) {
		const v3d world = { list->data[i].normal[0], list->data[i].normal[1], list->data[i].normal[2] };
		const v3d n = cr_vector_to_body(s->completion->body[0], world);
		bool known = false;
		for (int k = 0; k < s->normal_count; k++)
			known = known || v3d_dot(n, s->normals[k]) > BESIDE;
		if (!known)
			s->normals[s->normal_count++] = n;
	}
}

/// Is a pair a contact ahead? Of bodies that touch only one that lies outside of the other body and
/// is parted along the normal of a contact.
static bool is_ahead(const near_search *s, const near_pair *pair)
{
	if (!s->touching)
		return true;
	const cr_completion *c = s->completion;
	const v3d surface = cr_direction_to_a(c, 1 - pair->side, cr_collider_normal(c->collider[1 - pair->side], pair->other));
	if (!(v3d_dot(surface, pair->across) < 0))
		return false;
	const v3d out = v3d_scale(pair->across, pair->side == 0 ? -1 : 1);
	for (int i = 0; i < s->normal_count; i++) {
		if (v3d_dot(out, s->normals[i]) > BESIDE)
			return true;
	}
	return false;
}

/// Is there a contact at a place already, with a vertex over a vertex seen from the other one?
static bool is_told(const near_search *s, const near_pair *pair)
{
	const cr_raw_contacts *list = &s->completion->worker->contacts;
	if (list->count - s->first > FEW_CONTACTS)
		return false;
	const cr_body *a = s->completion->body[0];
	const v3d own = cr_point_to_world(a, pair->own);
	const v3d other = v3d_mad(own, pair->distance, cr_vector_to_world(a, pair->across));
	for (int64_t i = s->first; i < list->count; i++) {
		const v3d at = { list->data[i].point[0], list->data[i].point[1], list->data[i].point[2] };
		if (v3d_length(v3d_sub(at, other)) <= s->same_place || v3d_length(v3d_sub(at, own)) <= s->same_place)
			return true;
	}
	return false;
}

/// Two edges with nearest points within both.
static void take_edges(near_search *s, int32_t edge_a, const v3d a[3], int32_t edge_b, const v3d b[3])
{
	const int i = edge_a % 3, j = edge_b % 3;
	const v3d e = v3d_sub(a[(i + 1) % 3], a[i]), f = v3d_sub(b[(j + 1) % 3], b[j]), n = v3d_cross(e, f);
	if (!(v3d_dot(n, n) > PARALLEL * PARALLEL * v3d_dot(e, e) * v3d_dot(f, f)))
		return;
	const double height = v3d_dot(n, v3d_sub(b[j], a[i]));
	if (height * height > s->reach * s->reach * v3d_dot(n, n))
		return;
	v3d on_a, on_b;
	double u, v;
	const double distance = sqrt(cr_closest_segments(a[i], a[(i + 1) % 3], b[j], b[(j + 1) % 3], &u, &v, &on_a, &on_b));
	if (!(distance <= s->reach && distance > s->tolerance) || !(u > 0 && u < 1 && v > 0 && v < 1))
		return;
	const v3d across = v3d_scale(v3d_sub(on_b, on_a), 1 / distance);
	if (!is_seen(s, 0, edge_a / 3, across) || !is_seen(s, 1, edge_b / 3, v3d_neg(across)))
		return;
	const near_pair pair = { distance, on_a, across, 0, edge_a, edge_b / 3, CAROM_EDGE_A, true };
	note_best(s, &pair);
	if (!is_ahead(s, &pair) || is_internal(s, 0, edge_a) || is_internal(s, 1, edge_b))
		return;
	if (edge_is_minimum(s->completion, 0, edge_a, across, LEVEL) &&
		edge_is_minimum(s->completion, 1, edge_b, v3d_neg(across), LEVEL) && !(s->touching && is_told(s, &pair)))
		add_pair(s, &pair);
}

/// An edge is taken by the lower of its triangles, which is as near as the other.
static bool owns_edge(const cr_completion *c, int side, int32_t half_edge)
{
	const int32_t across = c->collider[side]->topology->neighbours[half_edge];
	return across < 0 || across > half_edge / 3;
}

/// The corners (bits 0 to 2) and creases (bits 3 to 5) of a triangle.
static unsigned find_features(const near_search *s, int side, int32_t triangle)
{
	const cr_completion *c = s->completion;
	const cr_facets *facets = &c->body[side]->shape.mesh->facets;
	const cr_topology *t = c->collider[side]->topology;
	unsigned features = (unsigned)facets->crease[triangle] << 3;
	for (int32_t k = 0; k < 3; k++)
		features |= (unsigned)cr_holds_point(c->body[side], t->weld[t->triangles[3 * (int64_t)triangle + k]]) << k;
	const uint8_t *corners = s->features.corners[side], *edges = s->features.edges[side];
	for (int64_t k = 0; k < 3 && corners; k++) {
		const unsigned near =
			(unsigned)corners[t->triangles[3 * (int64_t)triangle + k]] | (unsigned)edges[3 * (int64_t)triangle + k] << 3;
		features &= ~(9u << k) | near << k;
	}
	return features;
}

/// Which vertices (bits 0 to 2) and edges (bits 3 to 5) of a triangle are to be looked at: of
/// bodies that touch the corners and creases of their facets. A triangle is near many others: the
/// answers for the last ones are kept.
static unsigned features_of(near_search *s, int side, int32_t triangle)
{
	if (!s->touching)
		return 63;
	const int32_t at = triangle & (MOST_KNOWN - 1);
	if (s->known[side][at].triangle != triangle) {
		s->known[side][at].triangle = triangle;
		s->known[side][at].features = find_features(s, side, triangle);
	}
	return s->known[side][at].features;
}

/// Have two triangles a corner, or both a crease, to be looked at?
static bool have_features(near_search *s, const cr_candidate *pair)
{
	const unsigned of_a = features_of(s, 0, pair->a);
	if (of_a & 7)
		return true;
	const unsigned of_b = features_of(s, 1, pair->b);
	return (of_b & 7) || (of_a && of_b);
}

/// Of bodies that touch, drop the pairs of triangles within their facets: the faces of two fine
/// cubes consist of these.
static void drop_plain(near_search *s, cr_candidates *near)
{
	int32_t kept = 0;
	for (int32_t i = 0; i < near->count; i++) {
		if (have_features(s, &near->data[i]))
			near->data[kept++] = near->data[i];
	}
	near->count = kept;
}

static void take_triangles(near_search *s, int32_t number_a, int32_t number_b)
{
	const cr_completion *c = s->completion;
	const unsigned of_a = features_of(s, 0, number_a), of_b = features_of(s, 1, number_b);
	v3d a[3], b[3];
	cr_triangle_in_a(c, 0, number_a, a);
	cr_triangle_in_a(c, 1, number_b, b);
	const v3d across_a = v3d_cross(v3d_sub(a[1], a[0]), v3d_sub(a[2], a[0])),
			  across_b = v3d_cross(v3d_sub(b[1], b[0]), v3d_sub(b[2], b[0]));
	for (int i = 0; i < 3; i++) {
		if ((of_a >> i & 1) && !is_above(s, a[i], b[0], across_b))
			take_vertex(s, 0, number_a, i, a[i], number_b, b);
		if ((of_b >> i & 1) && !is_above(s, b[i], a[0], across_a))
			take_vertex(s, 1, number_b, i, b[i], number_a, a);
		for (int j = 0; j < 3 && (of_a >> (3 + i) & 1) && owns_edge(c, 0, 3 * number_a + i); j++) {
			if ((of_b >> (3 + j) & 1) && owns_edge(c, 1, 3 * number_b + j))
				take_edges(s, 3 * number_a + i, a, 3 * number_b + j, b);
		}
	}
}

// ---- The pair ----

/// Room for the vertices of so many pairs of triangles. false: out of memory.
static bool make_room(near_search *s, int32_t pairs)
{
	cr_arena *arena = &s->completion->worker->arena;
	for (int side = 0; side < 2; side++) {
		const int32_t vertices = s->completion->collider[side]->topology->vertex_count;
		const int32_t most = vertices < 3 * pairs ? vertices : 3 * pairs;
		s->room[side] = 16;
		while (s->room[side] < 2 * most)
			s->room[side] *= 2;
		s->vertices[side] = cr_arena_alloc(arena, (size_t)most * sizeof *s->vertices[side]);
		s->table[side] = cr_arena_alloc(arena, (size_t)s->room[side] * sizeof *s->table[side]);
		if (!s->vertices[side] || !s->table[side])
			return false;
		for (int32_t i = 0; i < s->room[side]; i++)
			s->table[side][i] = 0;
	}
	return true;
}

static void add_vertices(near_search *s)
{
	for (int side = 0; side < 2; side++) {
		for (int32_t i = 0; i < s->count[side]; i++) {
			const near_pair *pair = &s->vertices[side][i];
			if (pair->minimum && is_ahead(s, pair) && !is_told(s, pair))
				add_pair(s, pair);
		}
	}
}

/// The nearest pair of all, where it is none of the contacts: an edge within a smooth surface, or a
/// vertex within a flat one.
static void add_best(near_search *s)
{
	const cr_raw_contacts *list = &s->completion->worker->contacts;
	float least = INFINITY; // not a double: see find_near in near.c
	for (int64_t i = s->first; i < list->count; i++) {
		const float ahead = -list->data[i].depth;
		least = ahead < least ? ahead : least;
	}
	const double rounding = 1e-6 * s->best.distance + s->tolerance;
	if (isfinite(s->best.distance) && s->best.distance < least - rounding)
		add_pair(s, &s->best);
}

/// The one contact at the nearest points.
static void add_nearest(const near_search *s, const cr_collider_gap *gap)
{
	const v3d d = v3d_sub(gap->on_b.point, gap->on_a.point);
	const double distance = sqrt(gap->distance2);
	if (distance > s->tolerance)
		cr_add_crossing_contact(
			s->completion, 0, gap->on_a.point, v3d_scale(d, -1 / distance), -distance, gap->a, gap->b, CAROM_FACES);
}

/// List the pairs of triangles within reach. Where they are too many, those nearly as near as the
/// nearest points, which are made the contact where these are too many as well; bodies that touch
/// have contacts enough then. Returns whether there are pairs to be looked at.
static bool find_pairs(near_search *s)
{
	const cr_completion *c = s->completion;
	const cr_bvh_kernels *kernels = c->pipeline->bvh;
	cr_candidates *near = &c->worker->candidates;
	for (int narrowed = 0; narrowed < 2; narrowed++) {
		near->count = 0;
		near->most = MOST_PAIRS;
		kernels->pairs(c->collider[0], c->collider[1], &c->work->b_to_a, &c->work->a_to_b, cr_round_up(s->reach), near);
		if (near->failed || near->count <= MOST_PAIRS)
			break;
		cr_collider_gap gap;
		if (s->touching || !kernels->gap(c->collider[0], c->collider[1], &c->rotation, c->translation, s->reach, &gap))
			return false;
		if (narrowed)
			add_nearest(s, &gap);
		s->reach = fmin(s->reach, (1 + LEVEL) * sqrt(gap.distance2));
	}
	c->worker->failed |= near->failed;
	return !near->failed && near->count <= MOST_PAIRS;
}

/// Of convex bodies that touch, find the features that may be near beside the patch. false: out of
/// memory.
static bool find_features_beside(near_search *s)
{
	const cr_completion *c = s->completion;
	s->features.any = true;
	// Without small hulls each triangle is asked, as the oracle of both.
	return !c->pipeline->settings.lab.hull_pairs ||
		cr_find_near_features(c, s->reach, s->normals, s->normal_count, &s->features);
}

void cr_add_near_contacts(cr_completion *c, bool touching)
{
	const cr_pipeline *p = c->pipeline;
	cr_candidates *near = &c->worker->candidates;
	near_search s = { .completion = c,
		.reach = p->settings.world.speculative_distance,
		.tolerance = TOUCHING * ((double)c->collider[0]->scale + c->collider[1]->scale),
		.internal_cosine = cr_internal_cosine(p->settings.world.internal_edge_angle),
		.fronted = { !c->collider[0]->closed && cr_has_front(c->body[0]), !c->collider[1]->closed && cr_has_front(c->body[1]) },
		.best = { .distance = INFINITY },
		.touching = touching,
		.first = touching ? 0 : c->worker->contacts.count };
	const double a = c->collider[0]->diagonal, b = c->collider[1]->diagonal;
	s.same_place = touching ? SAME_PLACE * (a < b ? a : b) : s.tolerance;
	memset(s.known, 0xff, touching ? sizeof s.known : 0); // no triangle
	if (touching) {
		take_normals(&s);
		if (!find_features_beside(&s))
			c->worker->failed = true;
		if (c->worker->failed || !s.features.any)
			return;
	}
	if (!find_pairs(&s))
		return;
	if (touching)
		drop_plain(&s, near);
	if (!make_room(&s, near->count)) {
		c->worker->failed = true;
		return;
	}
	p->kernels->separate(c->collider[0], c->collider[1], &c->work->b_to_a, near->data, near->count, cr_round_up(s.reach));
	for (int32_t i = 0; i < near->count; i++) {
		if (near->data[i].gap <= s.reach)
			take_triangles(&s, near->data[i].a, near->data[i].b);
	}
	add_vertices(&s);
	if (!touching)
		add_best(&s);
}
