/// Where covered contacts at the seams of a body lead instead (seams.c marks them).
///
/// A covered contact is turned to a bare facet of the part at its point that faces the same side.
/// Where there is none, and no other contact does its work, it leads out of the whole body
/// (union_way.c): the contacts of a convex volume with the plane of the exit take the place of
/// those of the row; of other bodies each covered contact is turned to the way of its own place. A
/// volume that is far deeper in the body than its contact tells leads out so at once.

#include "contact/seam_rows.h"

/// Let a contact of a row have another direction out of the body, by which its place on the other
/// body is so deep.
static void turn(const cr_seam_group *g, cr_seam_row *row, int32_t contact, v3d out, double depth)
{
	const cr_raw_contact *from = &row->contacts[contact];
	const size_t bytes = (size_t)row->found->contacts.count * sizeof *row->turned;
	if (!row->turned) {
		row->turned = cr_arena_alloc(&g->worker->arena, bytes);
		g->worker->failed = g->worker->failed || !row->turned;
		if (!row->turned)
			return;
		memcpy(row->turned, row->contacts, bytes);
		row->contacts = row->turned;
	}
	const bool on_a = cr_lies_on_a(g->pipeline, row, from);
	cr_contact_ends ends = cr_ends_if(from, on_a);
	ends.at[g->side] = v3d_mad(ends.at[1 - g->side], depth, out);
	const v3d point = ends.at[on_a ? 0 : 1];
	cr_raw_contact *c = &row->turned[contact];
	for (int k = 0; k < 3; k++) {
		c->point[k] = v3d_get(point, k);
		c->normal[k] = (float)(g->side == 0 ? -v3d_get(out, k) : v3d_get(out, k));
	}
	c->depth = (float)depth;
}

/// Let the contacts of a convex volume with a plane take the place of the covered ones of a row:
/// those over the part, or the deepest. like: one of the covered ones.
static void lead_volume(cr_seam_group *g, cr_seam_row *row, const cr_union_way *way, const cr_raw_contact *like, double slop)
{
	if (row->led)
		return; // it is led out already
	cr_raw_contact made[CR_MAX_VOLUME_CONTACTS];
	const bool is_a = g->side == 1;
	const cr_body *part = cr_seam_body(g, row, g->side);
	int32_t deepest = 0;
	const int32_t count = cr_make_plane_contacts(cr_seam_body(g, row, 1 - g->side), is_a, way->direction, way->exit, 0, made);
	row->led = cr_arena_alloc(&g->worker->arena, sizeof made);
	g->worker->failed = g->worker->failed || !row->led;
	for (int32_t i = 0; i < count; i++)
		deepest = made[i].depth > made[deepest].depth ? i : deepest;
	for (int32_t i = 0; i < count && row->led; i++) {
		made[i].feature_b = is_a ? like->feature_b : made[i].feature_a;
		made[i].feature_a = is_a ? made[i].feature_a : like->feature_a;
		const v3d on_plane = cr_ends_if(&made[i], is_a).at[g->side];
		if (cr_gap_of_point(g->pipeline->bvh, part, on_plane, slop) <= slop)
			row->led[row->led_count++] = made[i];
	}
	if (row->led && row->led_count == 0 && count > 0)
		row->led[row->led_count++] = made[deepest];
}

/// Does a contact with any part lead as far along a direction?
static bool is_led_as_far(const cr_seam_group *g, v3d direction, double depth)
{
	bool led = false;
	for (int32_t i = 0; i < g->count && !led; i++) {
		const cr_seam_row *row = g->rows[i];
		for (int32_t k = 0; k < row->found->contacts.count && !led; k++)
			led = (double)row->contacts[k].depth * v3d_dot(cr_seam_outward(g, &row->contacts[k]), direction) >= depth;
	}
	return led;
}

/// Does the lowest point of a convex volume along a way lie in the body, much deeper than a place
/// that is so deep, and than any contact tells?
static bool is_far_deeper(const cr_seam_group *g, const cr_seam_row *row, const cr_union_way *way, double depth, double slop)
{
	const cr_body *leaver = cr_seam_body(g, row, 1 - g->side);
	if (row->contacts[0].kind != CAROM_VOLUMES || !cr_is_convex_volume(leaver))
		return false;
	const v3d lowest = cr_lowest_point(leaver, way->direction);
	const cr_whole whole = cr_seam_whole(g->pipeline, row->found, g->side, slop);
	const double most = v3d_dot(way->direction, v3d_sub(way->exit, lowest)) - CR_SEAM_DEEP * slop;
	return most > depth && !is_led_as_far(g, way->direction, most) && cr_is_in_parts(&whole, lowest);
}

bool cr_turn_seam_contact(cr_seam_group *g, cr_seam_row *row, int32_t contact, const cr_bare_facet *facet, double slop)
{
	if (!(facet->cosine > CR_SEAM_SAME_SIDE))
		return false;
	const v3d place = cr_ends_of(g->pipeline, row, &row->contacts[contact]).at[1 - g->side];
	const double depth = v3d_dot(facet->normal, v3d_sub(facet->corner, place));
	if (depth < -g->pipeline->settings.world.speculative_distance)
		return false;
	const cr_union_way way = { facet->normal, v3d_mad(place, depth, facet->normal) };
	if (!is_far_deeper(g, row, &way, depth, slop)) {
		turn(g, row, contact, facet->normal, depth);
		return true;
	}
	cr_set_seam_state(g->worker, row, contact, CR_SEAM_DROPPED);
	lead_volume(g, row, &way, &row->contacts[contact], slop);
	return true;
}

/// Find the way out of the whole body for a contact of a row.
static bool find_way(cr_seam_group *g, const cr_seam_row *row, const cr_raw_contact *c, double slop, cr_union_way *way)
{
	const cr_whole whole = cr_seam_whole(g->pipeline, row->found, g->side, slop);
	const v3d place = cr_ends_of(g->pipeline, row, c).at[1 - g->side];
	return whole.count > 1 &&
		cr_find_union_way(&whole, g->worker, cr_seam_original(g->pipeline, row->found, g->side),
			cr_seam_body(g, row, 1 - g->side), place, way);
}

/// Let the deepest covered contact of a row say where a convex volume leaves the body.
static void lead_volume_out(cr_seam_group *g, cr_seam_row *row, double slop)
{
	int32_t deepest = -1;
	for (int32_t k = 0; k < row->found->contacts.count; k++) {
		if (cr_seam_state(row, k) == CR_SEAM_COVERED && (deepest < 0 || row->contacts[k].depth > row->contacts[deepest].depth))
			deepest = k;
	}
	cr_union_way way;
	const cr_raw_contact *like = &row->contacts[deepest];
	const bool found = deepest >= 0 && like->depth > 0 && find_way(g, row, like, slop, &way);
	if (found)
		lead_volume(g, row, &way, like, slop);
	for (int32_t k = 0; k < row->found->contacts.count; k++) {
		if (cr_seam_state(row, k) == CR_SEAM_COVERED)
			row->state[k] = row->led_count > 0 ? CR_SEAM_DROPPED : CR_SEAM_STAYS;
	}
}

/// Turn the covered contacts of a row, each to the way of its own place.
static void turn_out(cr_seam_group *g, cr_seam_row *row, double slop)
{
	for (int32_t k = 0; k < row->found->contacts.count; k++) {
		if (cr_seam_state(row, k) != CR_SEAM_COVERED)
			continue;
		row->state[k] = CR_SEAM_STAYS;
		cr_union_way way;
		if (!(row->contacts[k].depth > 0) || !find_way(g, row, &row->contacts[k], slop, &way))
			continue;
		const v3d place = cr_ends_of(g->pipeline, row, &row->contacts[k]).at[1 - g->side];
		turn(g, row, k, way.direction, v3d_dot(way.direction, v3d_sub(way.exit, place)));
	}
}

void cr_lead_out_of_seams(cr_seam_group *g, cr_seam_row *row)
{
	if (!row->state)
		return;
	const double slop = cr_seam_slop(g, row);
	const bool is_volume = row->found->contacts.count > 0 && row->contacts[0].kind == CAROM_VOLUMES;
	if (is_volume && cr_is_convex_volume(cr_seam_body(g, row, 1 - g->side)))
		lead_volume_out(g, row, slop);
	else
		turn_out(g, row, slop);
}
