/// Round bodies at the seams of a body with parts (seams.c).
///
/// A ball on flush parts touches one surface, at one point. Beside a seam it also comes near the
/// edge of the next part, and has a contact there that leans back to its centre. On one surface
/// there is no such contact. Turning it to the side of the part, as for a body with corners, would
/// leave a second contact off the lowest point: the surface of a ball that rolls comes down there,
/// so such a contact brakes it. Hence, for a leaver whose surface is smooth at the contact:
/// - A contact stands as it is where its normal lies between the bare facets of all parts at its
///   point: the ball is over a ridge.
/// - Else it leans. It is dropped if another contact does its work (seams.c), and turned if none
///   does.
/// - Of two contacts at one place with one normal, of two parts, the less deep one is dropped.
///   Those of a ball or an ellipsoid are at one place wherever their points are.
///
/// A part that rises above its neighbour, by more than a tenth of the slop, is a step: contacts
/// with its edge are treated as those of any body.

#include "contact/seam_rows.h"
#include "frame/body_point.h"

// Of the slop: a part that rises no higher above the next one is level with it.
static const double LEVEL = 0.1;
// Cosine: a cylinder whose axis is nearer to a normal stands.
static const double STANDS = 0.9;
// Sine: a normal that leans by more is none of the facet's.
static const double LEANS = 1e-6;
// Sine, of a place of a cylinder that lies: it is beside the line that touches.
static const double BESIDE = 1e-3;
// Normals that differ by no more count as one: sine of the angle.
static const double SAME_NORMAL = 0.01;

static bool is_turned(const cr_body *body)
{
	return body->shape.def.type == CAROM_CYLINDER || body->shape.def.type == CAROM_CONE;
}

/// The sine by which a normal (world frame) leads past the axis of a cylinder or cone that lies, at
/// a place of its surface. At a rim normals turn, but none leads past it.
static double past_axis(const cr_body *leaver, v3d place, v3d normal)
{
	const v3d at = cr_point_to_body(leaver, place), n = cr_vector_to_body(leaver, normal);
	const double radial = hypot(at.x, at.y);
	return fabs(n.z) < STANDS && radial > 0 ? fabs(at.x * n.y - at.y * n.x) / radial : 0;
}

/// Does the normal of a contact lean off that of a facet?
static bool leans(const cr_body *leaver, v3d place, v3d out, v3d facet)
{
	return (is_turned(leaver) ? past_axis(leaver, place, facet) : v3d_length(v3d_cross(out, facet))) > LEANS;
}

/// Is a point of the edge of a part level with another part, seen along the normal of a facet?
static bool is_level(const cr_seam_group *g, v3d point, v3d facet, int32_t count, double slop)
{
	const double most = g->rounding + LEVEL * (slop - g->rounding);
	for (int32_t i = 0; i < count; i++) {
		const cr_body *other = g->others[i];
		cr_surface_point nearest;
		if (cr_nearest_on_body(other, g->pipeline->bvh, cr_point_to_body(other, point), slop, &nearest) &&
			v3d_dot(facet, v3d_sub(point, cr_point_to_world(other, nearest.point))) <= most)
			return true;
	}
	return false;
}

/// Add the normals of the bare facets of a part at a point. Returns how many there are.
static int add_facets(const cr_cover *cover, v3d point, int count, v3d units[CR_MOST_BARE_FACETS])
{
	cr_bare_facet facets[CR_MOST_BARE_FACETS];
	const int more = cr_list_bare_facets(cover, point, (v3d){ 0, 0, 0 }, facets);
	for (int i = 0; i < more && count < CR_MOST_BARE_FACETS; i++)
		units[count++] = facets[i].normal;
	return count;
}

/// Does a normal lie between those of the bare facets of all parts at a point?
static bool is_of_all_parts(const cr_seam_group *g, const cr_body *part, v3d point, v3d out, int32_t count, double slop)
{
	v3d units[CR_MOST_BARE_FACETS];
	const cr_cover cover = { g->pipeline->bvh, part, g->others, count, slop };
	int found = add_facets(&cover, point, 0, units);
	for (int32_t i = 0; i < count; i++) {
		const cr_body *other = g->others[i];
		g->others[i] = part; // the others of this one
		const cr_cover of_other = { g->pipeline->bvh, other, g->others, count, slop };
		found = add_facets(&of_other, point, found, units);
		g->others[i] = other;
	}
	return cr_is_in_cone(out, units, found);
}

int cr_round_seam_state(cr_seam_group *g, const cr_seam_row *row, const cr_raw_contact *c, const cr_contact_ends *ends,
	int32_t others, const cr_bare_facet *facet, double slop)
{
	const cr_body *part = cr_seam_body(g, row, g->side), *leaver = cr_seam_body(g, row, 1 - g->side);
	const v3d point = cr_bring_to_body(g->pipeline->bvh, part, ends->at[g->side]), out = cr_seam_outward(g, c);
	if (!leans(leaver, ends->at[1 - g->side], out, facet->normal) || !is_level(g, point, facet->normal, others, slop))
		return CR_SEAM_COVERED;
	return is_of_all_parts(g, part, point, out, others, slop) ? CR_SEAM_STAYS : CR_SEAM_LEANS;
}

// ---- Contacts that stand twice ----

static bool have_one_normal(const cr_raw_contact *a, const cr_raw_contact *b)
{
	return v3d_length(v3d_sub(v3d_from_floats(a->normal), v3d_from_floats(b->normal))) <= SAME_NORMAL;
}

/// Has a body one lowest point only, whatever the direction?
static bool is_egg(const cr_body *body)
{
	return body->shape.def.type == CAROM_SPHERE || body->shape.def.type == CAROM_ELLIPSOID;
}

/// Are two contacts one, at one place of the leaver?
static bool are_one(
	const cr_seam_group *g, const cr_seam_row *a, const cr_raw_contact *of_a, const cr_seam_row *b, const cr_raw_contact *of_b)
{
	if (!have_one_normal(of_a, of_b))
		return false;
	const cr_body *leaver = cr_seam_body(g, a, 1 - g->side);
	if (is_egg(leaver))
		return true;
	const double near = SAME_NORMAL * cr_round_radius(&leaver->shape.def) + cr_seam_slop(g, a);
	const v3d at_a = cr_ends_of(g->pipeline, a, of_a).at[1 - g->side];
	return v3d_length(v3d_sub(at_a, cr_ends_of(g->pipeline, b, of_b).at[1 - g->side])) <= near;
}

/// How far the place of a contact lies from the surface of the leaver.
static double miss_of(const cr_seam_group *g, const cr_seam_row *row, const cr_raw_contact *c)
{
	const cr_body *leaver = cr_seam_body(g, row, 1 - g->side);
	return fabs(cr_gap_of_point(g->pipeline->bvh, leaver, cr_ends_of(g->pipeline, row, c).at[1 - g->side], INFINITY));
}

/// Of two contacts that are one, is b the better one? The deeper one is. Contacts may have the
/// depth of a facet beside the lowest point: of two as deep, that on the surface of the leaver is.
static bool is_better(
	const cr_seam_group *g, const cr_seam_row *a, const cr_raw_contact *of_a, const cr_seam_row *b, const cr_raw_contact *of_b)
{
	const double alike = LEVEL * cr_seam_slop(g, a);
	if (fabs((double)of_a->depth - of_b->depth) <= alike) {
		const double miss = miss_of(g, a, of_a) - miss_of(g, b, of_b);
		if (fabs(miss) > LEVEL * LEVEL * alike)
			return miss > 0;
	}
	return of_b->depth > of_a->depth;
}

/// Drop the worse one of each two contacts that are one, of two rows.
static void drop_twins_of(cr_seam_group *g, cr_seam_row *a, cr_seam_row *b)
{
	for (int32_t i = 0; i < a->found->contacts.count; i++) {
		for (int32_t k = 0; k < b->found->contacts.count && cr_seam_state(a, i) != CR_SEAM_DROPPED; k++) {
			const cr_raw_contact *of_a = &a->contacts[i], *of_b = &b->contacts[k];
			if (cr_seam_state(b, k) == CR_SEAM_DROPPED || !are_one(g, a, of_a, b, of_b))
				continue;
			if (is_better(g, a, of_a, b, of_b))
				cr_set_seam_state(g->worker, a, i, CR_SEAM_DROPPED);
			else
				cr_set_seam_state(g->worker, b, k, CR_SEAM_DROPPED);
		}
	}
}

/// Does a contact of a cylinder or cone lie beside the line that touches?
static bool is_beside(const cr_seam_group *g, const cr_seam_row *row, const cr_raw_contact *c)
{
	const v3d place = cr_ends_of(g->pipeline, row, c).at[1 - g->side];
	return past_axis(cr_seam_body(g, row, 1 - g->side), place, cr_seam_outward(g, c)) > BESIDE;
}

/// Is there a contact on that line with the normal of one beside it, no less deep?
static bool is_on_line_elsewhere(const cr_seam_group *g, const cr_seam_row *row, const cr_raw_contact *c)
{
	const double alike = LEVEL * cr_seam_slop(g, row);
	for (int32_t i = 0; i < g->count; i++) {
		const cr_seam_row *other = g->rows[i];
		for (int32_t k = 0; other != row && k < other->found->contacts.count; k++) {
			const cr_raw_contact *on = &other->contacts[k];
			if (cr_seam_state(other, k) != CR_SEAM_DROPPED && have_one_normal(on, c) && on->depth >= c->depth - alike &&
				!is_beside(g, other, on))
				return true;
		}
	}
	return false;
}

/// A cylinder may have contacts with the corner of a part that its line does not meet, with the
/// normal of the face there.
static void drop_beside(cr_seam_group *g)
{
	for (int32_t i = 0; i < g->count; i++) {
		cr_seam_row *row = g->rows[i];
		for (int32_t k = 0; k < row->found->contacts.count && !g->worker->failed && !row->led; k++) {
			const cr_raw_contact *c = &row->contacts[k];
			if (cr_seam_state(row, k) != CR_SEAM_DROPPED && is_beside(g, row, c) && is_on_line_elsewhere(g, row, c))
				cr_set_seam_state(g->worker, row, k, CR_SEAM_DROPPED);
		}
	}
}

void cr_drop_seam_twins(cr_seam_group *g)
{
	const cr_body *leaver = cr_seam_body(g, g->rows[0], 1 - g->side);
	if (g->count < 2 || !cr_is_smooth(leaver))
		return;
	if (is_turned(leaver))
		drop_beside(g);
	for (int32_t i = 0; i < g->count; i++) {
		for (int32_t k = i + 1; k < g->count && !g->worker->failed; k++) {
			if (!g->rows[i]->led && !g->rows[k]->led)
				drop_twins_of(g, g->rows[i], g->rows[k]);
		}
	}
}
