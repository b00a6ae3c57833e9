/// Do the contacts of a convex body and a mesh part the pair?
///
/// The contacts of a body were worked out triangle by triangle: together they need not bring it out
/// of all. Where neither the shortest move out of all of them does, nor the deepest one by itself,
/// contacts are added, never removed: a patch of contacts that pushes out of a floor must stay. Of
/// a body that is deep, only contacts of a few directions count together: others may be left out
/// where the contacts of a pair are reduced.
///
/// 1. The shortest move out of all contacts, each a half space of moves, is tried. While the body
///    meets triangles there, the one that it meets most deeply gets a contact.
/// 2. Where no such move is found, or contacts do not count together, one contact leads along the
///    shortest way out of all that is found: the move of 1, if there is one, is among them.
///
/// Cost: only bodies that are deep, or pushed in several directions, pay: a walk of the mesh's tree
/// and searches of separations for each trial.

#include "contact/convex_mesh.h"
#include "geom/convex_query.h"
#include "geom/half_spaces.h"

// The name on the body of a contact that is about the whole pair: no corner has it (geom/patch.h).
enum { WHOLE_PAIR = 0xffe };
enum { MOST_ROUNDS = 12, MOST_TRIALS = 64, MOST_MISSING = 4, FEW_WAYS = 3 };

// Of the body's size: a body that is less deep, and is pushed in one direction, is not asked
// whether it is parted; and the longest way out.
static const double DEEP = 0.02, MOST_WAY = 6;
// Half spaces whose normals have a cosine above this are one.
static const double ONE_PLANE = 1 - 1e-8;
// A way out does not run into a surface more steeply than so.
static const double AGAINST = -1e-3;

/// The mesh's triangles, seen from a body that is moved by shift.
static cr_relative moved_back(v3d shift)
{
	return (cr_relative){ { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } }, v3d_neg(shift) };
}

// ---- Ways along a direction ----

/// How far the body must move along n until it is beyond all of a triangle.
static double reach_past(const cr_convex_mesh_pair *c, const cr_near_triangle *t, v3d n)
{
	return cr_top_along(t, n) + cr_reach_along(c, v3d_neg(n));
}

/// The end of the way along n past the triangles that the body meets where it is moved by so much;
/// 0: it meets none.
static double end_of_meeting(const cr_convex_mesh_pair *c, v3d n, double moved)
{
	const v3d shift = v3d_scale(n, moved);
	const cr_relative at = moved_back(shift);
	int32_t few[CR_FEW_BLOCKS], count;
	const int32_t *blocks = cr_find_near_blocks(c, shift, few, &count);
	double end = 0;
	for (int32_t i = 0; i < count; i++) {
		const cr_tri8 *block = &c->collider->blocks[blocks[i]];
		for (int lane = 0; lane < block->count; lane++) {
			cr_near_triangle t;
			cr_separation s;
			if (!cr_place_triangle(c, block->number[lane], shift, 0, &t))
				continue;
			const double top = reach_past(c, &t, n);
			if (top <= fmax(moved, end) + CR_TOUCHES * c->size)
				continue;
			cr_convex_separation(&c->convex, &t.convex, &at, &s);
			if (s.gap < -CR_TOUCHES * c->size)
				end = fmax(end, cr_convex_exit(&c->convex, &t.convex, n, top));
		}
	}
	return end;
}

/// As end_of_meeting, but a body that meets no triangle because it lies wholly inside the mesh must
/// move on at least until its centre is at the surface.
static double end_of_way(const cr_convex_mesh_pair *c, v3d n, double moved)
{
	const double end = end_of_meeting(c, n, moved);
	v3d centre;
	cr_near_point near;
	if (end > moved || !cr_is_centre_inside(c, v3d_scale(n, moved), &centre, &near))
		return end;
	return moved + fmax(sqrt(near.distance2), CR_TOUCHES * c->size);
}

/// How far the body must move along n, at least from, so that the pair is parted there; infinite:
/// farther than most.
static double way_along(const cr_convex_mesh_pair *c, v3d n, double from, double most)
{
	double way = from;
	for (int i = 0; i < MOST_ROUNDS && way <= most; i++) {
		const double end = end_of_way(c, n, way);
		if (!(end > way))
			return way;
		way = end;
	}
	return INFINITY;
}

/// Of more half spaces than fit, those of the least reach are left out.
static void add_half_space(cr_half_spaces *spaces, v3d normal, double reach)
{
	int least = 0;
	for (int i = 0; i < spaces->count; i++) {
		if (v3d_dot(spaces->normal[i], normal) > ONE_PLANE) {
			spaces->reach[i] = fmax(spaces->reach[i], reach);
			return;
		}
		least = spaces->reach[i] < spaces->reach[least] ? i : least;
	}
	if (spaces->count < CR_MOST_HALF_SPACES)
		least = spaces->count++;
	else if (spaces->reach[least] >= reach)
		return;
	spaces->normal[least] = normal;
	spaces->reach[least] = reach;
}

static void add_contact_spaces(const cr_convex_mesh_pair *c, cr_half_spaces *spaces)
{
	const cr_raw_contacts *list = &c->worker->contacts;
	for (int64_t i = 0; i < list->count; i++) {
		if (list->data[i].depth > 0)
			add_half_space(spaces, cr_normal_in_body(c, &list->data[i]), list->data[i].depth);
	}
}

double cr_move_out_of_contacts(const cr_convex_mesh_pair *c, v3d *move)
{
	cr_half_spaces spaces = { .count = 0 };
	add_contact_spaces(c, &spaces);
	return cr_shortest_move(&spaces, 1e-9 * c->size, move);
}

double cr_depth_moved(const cr_convex_mesh_pair *c, const cr_near_triangle *t, v3d shift)
{
	const cr_relative at = moved_back(shift);
	cr_separation s;
	cr_convex_separation(&c->convex, &t->convex, &at, &s);
	return fmax(-s.gap, 0);
}

/// Does a direction lead into a surface that one of the half spaces is about?
static bool leads_into_surface(const cr_half_spaces *spaces, v3d n)
{
	for (int i = 0; i < spaces->count; i++) {
		if (v3d_dot(n, spaces->normal[i]) < AGAINST)
			return true;
	}
	return false;
}

/// The direction out of a triangle, for a body that is moved by shift, where the least way out
/// leads through the surface: the triangle's normal, or that of a half space, along which the rest
/// of the way is least. At a rim, one face has brought the body nearly out of the other.
static v3d direction_past(const cr_convex_mesh_pair *c, const cr_half_spaces *spaces, const cr_near_triangle *t, v3d shift)
{
	v3d best = t->normal;
	double least = reach_past(c, t, best) - v3d_dot(best, shift);
	for (int i = 0; i < spaces->count; i++) {
		const v3d n = spaces->normal[i];
		const double rest = reach_past(c, t, n) - v3d_dot(n, shift);
		if (rest < least) {
			least = rest;
			best = n;
		}
	}
	return best;
}

/// A contact with a triangle that the body, moved by shift, meets more deeply than depth; false:
/// not so deeply.
static bool way_out_of(
	const cr_convex_mesh_pair *c, const cr_half_spaces *spaces, int32_t number, v3d shift, double *depth, cr_convex_way *way)
{
	const cr_relative at = moved_back(shift);
	cr_near_triangle t;
	cr_separation s;
	if (!cr_place_triangle(c, number, shift, 0, &t))
		return false;
	const double over = v3d_dot(t.normal, t.convex.corner[0]) + cr_reach_along(c, v3d_neg(t.normal));
	if (over - v3d_dot(t.normal, shift) <= *depth)
		return false;
	cr_convex_separation(&c->convex, &t.convex, &at, &s);
	if (-s.gap <= *depth)
		return false;
	*depth = -s.gap;
	const bool through = v3d_dot(s.normal, t.normal) < AGAINST || leads_into_surface(spaces, s.normal);
	const v3d normal = through ? direction_past(c, spaces, &t, shift) : s.normal;
	const v3d low = v3d_mad(cr_convex_support(&c->convex, v3d_neg(normal)), -c->convex.rounding, normal);
	const double reach = (through ? reach_past(c, &t, normal) : v3d_dot(normal, shift) - s.gap) + CR_TOUCHES * c->size;
	*way = (cr_convex_way){ v3d_mad(through ? low : s.on_a, reach, normal), normal, reach, number };
	return true;
}

/// A contact with the triangle that the body meets most deeply where it is moved by shift; false:
/// it meets none there.
static bool find_left(const cr_convex_mesh_pair *c, const cr_half_spaces *spaces, v3d shift, cr_convex_way *way)
{
	int32_t few[CR_FEW_BLOCKS], count;
	const int32_t *blocks = cr_find_near_blocks(c, shift, few, &count);
	double deepest = CR_TOUCHES * c->size;
	bool found = false;
	for (int32_t i = 0; i < count; i++) {
		const cr_tri8 *block = &c->collider->blocks[blocks[i]];
		for (int lane = 0; lane < block->count; lane++)
			found |= way_out_of(c, spaces, block->number[lane], shift, &deepest, way);
	}
	return found;
}

// ---- Contacts that are missing ----

/// Contacts that are missing: with them, the shortest move out of all contacts parts the pair.
typedef struct missing {
	cr_convex_way data[MOST_MISSING];
	int count;
	int ways; // different directions of them and of the contacts
	v3d move;
} missing;

/// Moves the body out of its contacts, and, for as long as it meets triangles there, out of these
/// as well. false: no such move is found without a contact that is deeper than deepest.
static bool find_missing(const cr_convex_mesh_pair *c, double deepest, missing *m)
{
	cr_half_spaces spaces = { .count = 0 };
	add_contact_spaces(c, &spaces);
	for (m->count = 0;; m->count++) {
		m->ways = spaces.count;
		v3d centre;
		cr_near_point near;
		cr_convex_way left;
		if (!(cr_shortest_move(&spaces, 1e-9 * c->size, &m->move) < MOST_WAY * c->size))
			return false;
		if (!find_left(c, &spaces, m->move, &left))
			return !cr_is_centre_inside(c, m->move, &centre, &near);
		if (m->count == MOST_MISSING || !(left.depth > 0 && left.depth < deepest))
			return false;
		add_half_space(&spaces, left.normal, left.depth);
		m->data[m->count] = left;
	}
}

static void add_missing(cr_convex_mesh_pair *c, const missing *m)
{
	for (int i = 0; i < m->count; i++)
		cr_add_convex_way(c, &m->data[i], WHOLE_PAIR);
}

// ---- One way out of all ----

/// A direction and how far the body must move along it.
typedef struct way_along_normal {
	v3d normal;
	double length;
} way_along_normal;

/// Directions that are tried, each once.
typedef struct trials {
	v3d tried[MOST_TRIALS];
	int count;
	double from; // no way is shorter
	bool any;    // also into a surface that a contact is about
	cr_half_spaces contacts;
	way_along_normal best;
} trials;

static void try_normal(const cr_convex_mesh_pair *c, trials *t, v3d n)
{
	for (int i = 0; i < t->count; i++) {
		if (v3d_dot(t->tried[i], n) > CR_ALIKE)
			return;
	}
	if (t->count == MOST_TRIALS || (!t->any && leads_into_surface(&t->contacts, n)))
		return;
	t->tried[t->count++] = n;
	const double way = way_along(c, n, t->from, t->best.length);
	if (way < t->best.length)
		t->best = (way_along_normal){ n, way };
}

/// The normals of the contacts, their mean, those of the triangles near, and directions all around.
static void try_normals(const cr_convex_mesh_pair *c, trials *t)
{
	const cr_raw_contacts *list = &c->worker->contacts;
	v3d sum = { 0, 0, 0 };
	for (int64_t i = 0; i < list->count; i++) {
		sum = v3d_add(sum, cr_normal_in_body(c, &list->data[i]));
		try_normal(c, t, cr_normal_in_body(c, &list->data[i]));
	}
	if (v3d_dot(sum, sum) > 1e-2)
		try_normal(c, t, v3d_normalize(sum));
	for (int32_t i = 0; i < c->unsettled_count; i++) {
		if (c->unsettled[i].meets)
			try_normal(c, t, c->unsettled[i].normal);
	}
	if (c->nearest.depth > 0)
		try_normal(c, t, c->nearest.normal);
	// An open mesh has no outside to which any direction leads.
	for (int i = 0; i < 27 && c->collider->closed; i++) {
		const v3d d = { i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1 };
		if (i != 13)
			try_normal(c, t, v3d_normalize(m3d_mul(&c->mesh_in_body.rotation, d)));
	}
}

/// May the deepest contact lead the body out of the triangle that it was worked out for, but not
/// out of all? Not where the body touches lightly, all contacts have one normal and none of the
/// triangles is met more deeply than the contact tells.
static bool may_not_part(const cr_convex_mesh_pair *c, const cr_raw_contact *deepest)
{
	const cr_raw_contacts *list = &c->worker->contacts;
	const double depth = deepest->depth, most = depth > c->met ? depth : c->met;
	if (!(depth > 0))
		return false;
	if (most > DEEP * c->size || most > depth + CR_TOUCHES * c->size)
		return true;
	const v3d normal = cr_normal_in_body(c, deepest);
	for (int64_t i = 0; i < list->count; i++) {
		if (v3d_dot(normal, cr_normal_in_body(c, &list->data[i])) < CR_ALIKE)
			return true;
	}
	return false;
}

static double depth_met(const cr_convex_mesh_pair *c, const cr_raw_contact *deepest)
{
	return fmax((double)deepest->depth, c->met);
}

static bool is_deep(const cr_convex_mesh_pair *c, const cr_raw_contact *deepest)
{
	return depth_met(c, deepest) > DEEP * c->size;
}

/// A body that is clamped and not deep is left to its contacts: no short way leads out.
static double longest_way(const cr_convex_mesh_pair *c, const cr_raw_contact *deepest)
{
	return is_deep(c, deepest) ? MOST_WAY * c->size : CR_LONG_WAY * depth_met(c, deepest);
}

/// Is none of the contacts left out when those of a pair are reduced, as by default? What is found
/// does not depend on the limit that a world has.
static bool all_stay(const cr_convex_mesh_pair *c, const missing *m)
{
	return m->ways <= FEW_WAYS && c->worker->contacts.count + m->count <= CR_MAX_VOLUME_CONTACTS;
}

/// Adds the shortest way out of all that is found.
/// move: one that parts the pair; NULL: none is known.
static void add_whole_way(cr_convex_mesh_pair *c, const cr_raw_contact *deepest, const v3d *move)
{
	const bool deep = is_deep(c, deepest);
	const double limit = longest_way(c, deepest);
	trials t = { .from = deepest->depth, .best = { .length = limit } };
	cr_raw_contact contact = *deepest;
	add_contact_spaces(c, &t.contacts);
	if (move && v3d_length(*move) > 0)
		try_normal(c, &t, v3d_normalize(*move));
	try_normals(c, &t);
	if (deep && !(t.best.length < fmin(limit, 2 * depth_met(c, deepest)))) {
		t.any = true;
		try_normals(c, &t);
	}
	if (!(t.best.length < limit))
		return;
	const v3d n = v3d_scale(cr_vector_to_world(c->body, t.best.normal), c->body_is_a ? 1 : -1);
	for (int k = 0; k < 3; k++)
		contact.normal[k] = (float)v3d_get(n, k);
	contact.depth = (float)(t.best.length + CR_TOUCHES * c->size);
	*(c->body_is_a ? &contact.feature_a : &contact.feature_b) = WHOLE_PAIR;
	cr_add_contact(c->worker, &contact);
}

void cr_part_convex_mesh(cr_convex_mesh_pair *c)
{
	const cr_raw_contacts *list = &c->worker->contacts;
	int64_t number = 0;
	missing m;
	for (int64_t i = 1; i < list->count; i++)
		number = list->data[i].depth > list->data[number].depth ? i : number;
	if (list->count == 0 || !may_not_part(c, &list->data[number]))
		return;
	// A way through all of the body, or along the hole that it is in, does not make up for contacts
	// that small waves of a surface turn back, or that clamp it.
	const double most = longest_way(c, &list->data[number]);
	const bool parted = find_missing(c, most, &m), found = parted && (!is_deep(c, &list->data[number]) || all_stay(c, &m));
	if (found && m.count == 0)
		return;
	const cr_raw_contact deepest = list->data[number];
	if (!(end_of_way(c, cr_normal_in_body(c, &deepest), deepest.depth) > deepest.depth))
		return;
	if (found)
		add_missing(c, &m);
	else
		add_whole_way(c, &deepest, parted ? &m.move : NULL);
}
