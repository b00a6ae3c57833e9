/// See folds.h.
///
/// A ray from a point inside a solid ends where it first leaves the surface. That is the way out
/// where the surface winds around the point once. Where a solid is folded it overlaps itself, and
/// winds around the overlap twice; a part that is inside out has a winding number below zero. There
/// the first layer is not the last one: behind it the point is still in the solid.
///
/// 1. Deep contacts of the other body's points are asked how often the surface winds around the
///    point, and around its end. A pair whose answers are all 0 or 1 stays as it is.
/// 2. Else each contact of such a point is looked at. One whose point is outside was made by a
///    layer that is inside out: it is left out. Where the winding number is not 0 at its end, the
///    contact gets the least way that ends where it is: along its own normal, against it, or along
///    the normal of another contact of the pair. Each way is followed from layer to layer. Where
///    it leaves the solid, the normal of that triangle is tried as well.
///
/// Nothing is remembered. Ways that are equally short keep their order, so nothing depends on
/// threads. Cost of 1: two winding numbers for each deep contact. Of 2: for each contact a ray and
/// a winding number for each layer along each way.

#include "contact/folds.h"

#include <math.h>

enum { MOST_WAYS = 12, MOST_LAYERS = 16 };

// Of the solid's diagonal: contacts that are less deep do not ask for folds, so that solids at rest
// on each other pay nothing (docs/measured/deforming.md).
static const double DEEP = 0.005;
// Of the diagonal: so far behind a layer the winding number is looked at.
static const double BEHIND = 1e-3;
// Square of the distance between the ends of two normals that count as one.
static const double ALIKE = 1e-4;

/// The points of the other body in a solid.
typedef struct fold {
	const cr_pipeline *pipeline;
	const cr_body *solid;
	int side; // of the solid
	double diagonal;
	v3d way[MOST_WAYS]; // out of the solid, unit
	int way_count;
} fold;

/// Is a contact one of a point of the other body?
static bool is_of_other(const fold *f, const cr_raw_contact *c)
{
	if (c->kind == CAROM_FACES)
		return false;
	return f->side == 0 ? c->kind == CAROM_VERTEX_B || c->kind == CAROM_EDGE_B
						: c->kind == CAROM_VERTEX_A || c->kind == CAROM_EDGE_A;
}

/// The place of a contact's point in the frame of the solid, which is not turned.
static v3d place_of(const fold *f, const cr_raw_contact *c)
{
	return v3d_sub(v3d_from_doubles(c->point), f->solid->pose.position);
}

/// The way that a contact leads a point of the other body.
static v3d way_of(const fold *f, const cr_raw_contact *c)
{
	return v3d_scale(v3d_from_floats(c->normal), f->side == 0 ? -1 : 1);
}

static int winding_at(const fold *f, v3d place)
{
	const float origin[3] = { (float)place.x, (float)place.y, (float)place.z }, direction[3] = { 0.5f, 0.7f, 0.3f };
	return f->pipeline->bvh->winding(f->solid->shape.collider, origin, direction);
}

/// The place where a contact leads its point, a little behind that layer.
static v3d end_of(const fold *f, const cr_raw_contact *c)
{
	return v3d_mad(place_of(f, c), (double)c->depth + BEHIND * f->diagonal, way_of(f, c));
}

static bool is_simple(int winding) { return winding == 0 || winding == 1; }

/// Does the surface wind around the point of a deep contact, or around its end, as no simple
/// surface does?
static bool shows_fold(const fold *f, const cr_raw_contact *c)
{
	if (!is_of_other(f, c) || !((double)c->depth > DEEP * f->diagonal))
		return false;
	return !is_simple(winding_at(f, place_of(f, c))) || !is_simple(winding_at(f, end_of(f, c)));
}

static bool is_folded(const fold *f, const cr_raw_contacts *contacts)
{
	bool folded = false;
	for (int64_t i = 0; i < contacts->count && !folded; i++)
		folded = shows_fold(f, &contacts->data[i]);
	return folded;
}

/// The next layer along a way from a place. *at: from there; -1: there is none.
static int32_t next_layer(const fold *f, v3d from, v3d way, double *at)
{
	const float origin[3] = { (float)from.x, (float)from.y, (float)from.z };
	const float direction[3] = { (float)way.x, (float)way.y, (float)way.z }, reach = INFINITY;
	const carom_ray_batch ray = { 1, { &origin[0], &origin[1], &origin[2] }, { &direction[0], &direction[1], &direction[2] },
		&reach };
	int32_t triangle;
	float t;
	uint8_t back;
	const carom_hit_batch hit = { &triangle, &t, &back };
	f->pipeline->bvh->cast(f->solid->shape.collider, &ray, 0, 1, &hit);
	*at = (double)t;
	return triangle;
}

/// A way out of all layers.
typedef struct whole_way {
	v3d direction;
	double depth; // infinite: none
	int32_t triangle;
} whole_way;

/// Follow a way to where the surface winds around it no more.
static whole_way follow(const fold *f, v3d from, v3d direction, double most)
{
	const double behind = BEHIND * f->diagonal;
	whole_way way = { direction, INFINITY, -1 };
	double along = 0;
	for (int i = 0; i < MOST_LAYERS && along < most; i++) {
		double at;
		const int32_t triangle = next_layer(f, v3d_mad(from, along, direction), direction, &at);
		if (triangle < 0)
			return way;
		const double there = along + at;
		along = there + behind;
		if (winding_at(f, v3d_mad(from, along, direction)) != 0)
			continue;
		way.depth = there;
		way.triangle = triangle;
		return way;
	}
	return way;
}

static void try_way(const fold *f, v3d from, v3d direction, whole_way *best)
{
	const whole_way way = follow(f, from, direction, best->depth);
	if (way.depth < best->depth)
		*best = way;
}

/// The normal of a triangle, turned along a direction.
static v3d normal_along(const fold *f, int32_t triangle, v3d direction)
{
	const v3d n = cr_collider_normal(f->solid->shape.collider, triangle);
	return v3d_dot(n, direction) < 0 ? v3d_neg(n) : n;
}

/// The least way out of the solid from a place, whose own way is given.
static whole_way find_way(const fold *f, v3d from, v3d own)
{
	whole_way best = { own, INFINITY, -1 };
	try_way(f, from, own, &best);
	try_way(f, from, v3d_neg(own), &best);
	for (int i = 0; i < f->way_count; i++)
		try_way(f, from, f->way[i], &best);
	if (best.triangle >= 0)
		try_way(f, from, normal_along(f, best.triangle, best.direction), &best);
	return best;
}

/// Note the ways of contacts, each once.
static void note_ways(fold *f, const cr_raw_contacts *contacts)
{
	for (int64_t i = 0; i < contacts->count && f->way_count < MOST_WAYS; i++) {
		const v3d way = way_of(f, &contacts->data[i]);
		bool known = false;
		for (int k = 0; k < f->way_count && !known; k++) {
			const v3d apart = v3d_sub(way, f->way[k]);
			known = v3d_dot(apart, apart) < ALIKE;
		}
		if (!known)
			f->way[f->way_count++] = way;
	}
}

/// Does a point of the other body lie outside of the solid? On the surface it does not.
static bool is_outside(const fold *f, const cr_raw_contact *c)
{
	const v3d from = place_of(f, c), aside = v3d_scale(way_of(f, c), BEHIND * f->diagonal);
	return winding_at(f, from) == 0 && winding_at(f, v3d_add(from, aside)) == 0 && winding_at(f, v3d_sub(from, aside)) == 0;
}

/// Give a contact a way out of all layers, where its own ends within one.
static void lead_out(const fold *f, cr_raw_contact *c)
{
	if (winding_at(f, end_of(f, c)) == 0)
		return;
	const whole_way way = find_way(f, place_of(f, c), v3d_normalize(way_of(f, c)));
	if (way.triangle < 0)
		return;
	const v3d normal = v3d_scale(way.direction, f->side == 0 ? -1 : 1);
	c->normal[0] = (float)normal.x;
	c->normal[1] = (float)normal.y;
	c->normal[2] = (float)normal.z;
	c->depth = (float)way.depth;
	*(f->side == 0 ? &c->feature_a : &c->feature_b) = way.triangle;
}

/// Lead all points of the other body out. Contacts of those that are outside are left out, since a
/// layer that is inside out makes them, as long as one contact stays.
static void lead_all_out(const fold *f, cr_raw_contacts *contacts)
{
	int64_t kept = 0;
	for (int64_t i = 0; i < contacts->count; i++) {
		cr_raw_contact *c = &contacts->data[i];
		const bool is_last = kept == 0 && i == contacts->count - 1;
		if (is_of_other(f, c)) {
			if (!is_last && is_outside(f, c))
				continue;
			lead_out(f, c);
		}
		contacts->data[kept++] = *c;
	}
	contacts->count = kept;
}

void cr_lead_out_of_folds(const cr_pipeline *p, const cr_body *a, const cr_body *b, cr_raw_contacts *contacts)
{
	for (int side = 0; side < 2; side++) {
		const cr_body *solid = side == 0 ? a : b;
		if (!cr_deforming_of(solid) || !solid->shape.collider || !solid->shape.collider->closed)
			continue;
		fold f = { .pipeline = p, .solid = solid, .side = side, .diagonal = (double)solid->shape.collider->diagonal };
		if (!is_folded(&f, contacts))
			continue;
		note_ways(&f, contacts);
		lead_all_out(&f, contacts);
	}
}
