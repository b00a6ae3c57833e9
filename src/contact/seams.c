/// Contacts at the seams of bodies with parts.
///
/// Input: the found pairs in the order of bodies, with their contacts sorted and reduced. Output:
/// these pairs, without the contacts that other parts of a body cover (covered.c). So a floor of
/// flush tiles has the contacts of one floor.
///
/// A covered contact is left out only where another one does its work:
/// - the same part of the other body has a contact with this body that is not covered;
/// - and where the covered one tells of an overlap, moving by such a contact takes its point out of
///   the part.
///
/// Others are turned: to a bare facet of the part at the point that faces the same side, or else,
/// where nothing replaces them, to the nearest bare facet. So no two bodies lose their last
/// contact. The part that covers a contact lies nearer to the other body than the contact does; so
/// it is among the parts that the same part of the other body touches, and no other one is asked. A
/// contact that leads out of the other body is an exception: all parts are asked (union_way.c).
///
/// Cost: only bodies that touch with several parts pay. There each contact asks the boxes of these
/// parts. Parallel over pairs of bodies.

#include "contact/seams.h"
#include "contact/body_pairs.h"
#include "contact/union_way.h"
#include "base/parallel.h"
#include "base/radix.h"

enum { PAIRS_PER_TASK = 64, FEW_ROWS = 32 };

// The slop, in lengths of the smaller of two parts: the part of one that is so near another one is
// flush with it.
static const double SLOP = 1e-3;
// The rounding of a mesh's vertices, in lengths of the largest coordinate, several times over.
static const double ROUNDING = 0x1p-21;
// How far boxes are grown that are to hold all that covered.c looks at, in slops.
static const double REACH = 8;
// Of half the least width of a body: one that is less deep does not lead out of it.
static const double THIN = 0.1;
// In slops: a contact that is less deep leads to no part that the other body does not touch.
static const double DEEP = 4;
// Cosine: a contact may be turned to a facet that faces the side of its normal by so much.
static const double SAME_SIDE = 0.1;

/// The state of a contact.
enum { CONTACT_STAYS, CONTACT_COVERED, CONTACT_DROPPED };

/// A found pair.
typedef struct seam_row {
	cr_found_pair *found;
	const cr_raw_contact *contacts;
	cr_raw_contact *turned; // a copy of the contacts, some of them turned; NULL: none is
	uint8_t *state;         // [found->contacts.count]; NULL: all stay
	cr_raw_contact *led;    // [led_count] contacts out of the body in the place of some; NULL: none
	int32_t led_count;
} seam_row;

/// Rows of one part and several parts of another body.
typedef struct seam_group {
	const cr_pipeline *pipeline;
	cr_worker *worker;
	seam_row **rows; // [count]
	int32_t count;
	int side; // of the body of several parts: 0 A, 1 B
	double rounding;
	// the others whose boxes are near that of the row in hand
	const cr_body **near;
	int32_t near_count;
	const cr_body **others; // room for those near a contact, and CR_MOST_COVERING
	// of many rows: by the lower ends of boxes along x, and the widest box; else NULL
	cr_key *order;
	double widest;
} seam_group;

static const cr_body *body_of(const seam_group *g, const seam_row *row, int side)
{
	return &g->pipeline->bodies[side == 0 ? row->found->a : row->found->b];
}

/// A part of a found pair, in the array where all others of its body stand beside it; NULL: it has
/// none.
static const cr_body *original_of(const cr_pipeline *p, const cr_found_pair *found, int side)
{
	const int32_t number = side == 0 ? found->a : found->b;
	return p->originals ? p->originals[number] : &p->bodies[number];
}

/// All parts of a body of a found pair.
static cr_whole whole_of(const cr_pipeline *p, const cr_found_pair *found, int side, double slop)
{
	const cr_body *part = original_of(p, found, side), *first = part ? part - part->part : NULL;
	return (cr_whole){ p->bvh, first, first ? cr_part_count(first) : 0, slop };
}

double cr_slop_of_sizes(double size_a, double size_b) { return SLOP * fmin(size_a, size_b); }

static double size_of(const cr_body *body) { return 2 * v3d_length(cr_local_box_of(body).half); }

static double slop_of(const seam_group *g, const seam_row *row)
{
	return cr_slop_of_sizes(size_of(body_of(g, row, 0)), size_of(body_of(g, row, 1))) + g->rounding;
}

double cr_part_rounding(const cr_body *part)
{
	const cr_local_box box = cr_local_box_of(part);
	const double scale = v3d_length(box.centre) + v3d_length(box.half);
	return isfinite(scale) ? ROUNDING * scale : 0;
}

/// How far rounding may move the surfaces of the parts.
static double rounding_of(const seam_group *g)
{
	double most = 0;
	for (int32_t i = 0; i < g->count; i++)
		most = fmax(most, cr_part_rounding(body_of(g, g->rows[i], g->side)));
	return most;
}

/// The points of both surfaces that a contact is about.
typedef struct contact_ends {
	v3d at[2]; // on A, on B
} contact_ends;

/// The ends of a contact whose point lies on A, or else on B.
static contact_ends ends_if(const cr_raw_contact *c, bool on_a)
{
	const v3d point = v3d_from_doubles(c->point), normal = v3d_from_floats(c->normal);
	contact_ends ends;
	ends.at[0] = on_a ? point : v3d_mad(point, -(double)c->depth, normal);
	ends.at[1] = on_a ? v3d_mad(point, (double)c->depth, normal) : point;
	return ends;
}

/// How far the ends lie from the surfaces that they should be on.
static double miss_of(const cr_pipeline *p, const seam_row *row, const contact_ends *ends)
{
	return fabs(cr_gap_of_point(p->bvh, &p->bodies[row->found->a], ends->at[0], INFINITY)) +
		fabs(cr_gap_of_point(p->bvh, &p->bodies[row->found->b], ends->at[1], INFINITY));
}

/// Does the point of a contact lie on A? Points of volumes may lie on either body, or beside one.
static bool lies_on_a(const cr_pipeline *p, const seam_row *row, const cr_raw_contact *c)
{
	if (c->kind == CAROM_VERTEX_A || c->kind == CAROM_EDGE_A)
		return true;
	if (c->kind == CAROM_VERTEX_B || c->kind == CAROM_EDGE_B)
		return false;
	const contact_ends if_a = ends_if(c, true), if_b = ends_if(c, false);
	return miss_of(p, row, &if_a) <= miss_of(p, row, &if_b);
}

static contact_ends ends_of(const cr_pipeline *p, const seam_row *row, const cr_raw_contact *c)
{
	return ends_if(c, lies_on_a(p, row, c));
}

/// Does a part lie within margin of a point, by its box?
static bool box_is_near(const cr_body *part, v3d point, double margin)
{
	bool near = true;
	for (int k = 0; k < 3; k++)
		near = near && v3d_get(point, k) >= part->lower[k] - margin && v3d_get(point, k) <= part->upper[k] + margin;
	return near;
}

bool cr_may_cover(const cr_body *part, v3d point, double slop) { return box_is_near(part, point, REACH * slop); }

static bool boxes_are_near(const cr_body *a, const cr_body *b, double margin)
{
	bool near = true;
	for (int k = 0; k < 3; k++)
		near = near && a->lower[k] <= b->upper[k] + margin && b->lower[k] <= a->upper[k] + margin;
	return near;
}

static void add_near(seam_group *g, const cr_body *part, const seam_row *other, double margin)
{
	const cr_body *candidate = body_of(g, other, g->side);
	if (candidate != part && boxes_are_near(part, candidate, margin))
		g->near[g->near_count++] = candidate;
}

/// Sort many rows by their boxes. false: out of memory.
static bool order_boxes(seam_group *g)
{
	g->order = NULL;
	if (g->count <= FEW_ROWS)
		return true;
	g->order = cr_arena_alloc(&g->worker->arena, 2 * (size_t)g->count * sizeof *g->order);
	g->widest = 0;
	for (int32_t i = 0; g->order && i < g->count; i++) {
		const cr_body *part = body_of(g, g->rows[i], g->side);
		g->order[i] = (cr_key){ cr_key_of_double(part->lower[0]), (uint32_t)i };
		g->widest = fmax(g->widest, part->upper[0] - part->lower[0]);
	}
	if (g->order)
		cr_radix_sort(g->order, g->order + g->count, g->count, 64);
	return g->order;
}

/// The first row in order whose box does not end before x.
static int32_t first_in_order(const seam_group *g, double x)
{
	return (int32_t)cr_first_key(g->order, g->count, cr_key_of_double(x - g->widest));
}

/// List the other parts that lie near that of a row.
static void list_near(seam_group *g, const seam_row *row, double slop)
{
	const cr_body *part = body_of(g, row, g->side);
	const double margin = REACH * slop;
	g->near_count = 0;
	if (!g->order) {
		for (int32_t i = 0; i < g->count; i++)
			add_near(g, part, g->rows[i], margin);
		return;
	}
	const uint64_t end = cr_key_of_double(part->upper[0] + margin);
	for (int32_t i = first_in_order(g, part->lower[0] - margin); i < g->count && g->order[i].key <= end; i++)
		add_near(g, part, g->rows[g->order[i].value], margin);
}

/// List those of them that may reach a point.
static int32_t list_others(const seam_group *g, v3d point, double slop)
{
	int32_t count = 0;
	for (int32_t i = 0; i < g->near_count; i++) {
		if (cr_may_cover(g->near[i], point, slop))
			g->others[count++] = g->near[i];
	}
	return count;
}

/// The normal of a contact, away from the body of the group's side.
static v3d outward(const seam_group *g, const cr_raw_contact *c)
{
	const v3d normal = v3d_from_floats(c->normal);
	return g->side == 0 ? v3d_neg(normal) : normal;
}

/// Does any of the near parts reach farther along the normal of a contact than its point?
static bool is_overtopped(const seam_group *g, const cr_raw_contact *c, double slop)
{
	const v3d out = outward(g, c);
	// Beyond both surfaces.
	const double height = v3d_dot(out, v3d_from_doubles(c->point)) + (c->depth > 0 ? (double)c->depth : 0) + slop;
	// World boxes are grown by this.
	const double grown = 0.5 * g->pipeline->settings.world.speculative_distance * (fabs(out.x) + fabs(out.y) + fabs(out.z));
	for (int32_t i = 0; i < g->near_count; i++) {
		const cr_body *part = g->near[i];
		double top = 0;
		for (int k = 0; k < 3; k++) {
			const double along = v3d_get(out, k);
			top += along == 0 ? 0 : along * (along > 0 ? part->upper[k] : part->lower[k]);
		}
		if (top - grown > height)
			return true;
	}
	return false;
}

/// No contact is buried in a body that is less deep.
static double least_buried(const cr_body *leaver)
{
	const v3d half = cr_local_box_of(leaver).half;
	return THIN * fmin(half.x, fmin(half.y, half.z));
}

/// Does a contact lead to a place that does not lie within the other body? Then this may not touch
/// the parts that cover the place. Places beside a corner that the body stands on lie within it.
static bool is_buried(const seam_group *g, const seam_row *row, const cr_raw_contact *c, double slop)
{
	const cr_body *leaver = body_of(g, row, 1 - g->side);
	if (!((double)c->depth > DEEP * slop) || leaver->shape.family == CR_FAMILY_PLANE ||
		!((double)c->depth > least_buried(leaver)))
		return false;
	const v3d exit = ends_of(g->pipeline, row, c).at[g->side], out = outward(g, c);
	if (!box_is_near(leaver, exit, slop))
		return true;
	const v3d to = v3d_sub(cr_point_to_world(leaver, cr_local_box_of(leaver).centre), exit);
	const v3d inward = v3d_mad(to, -v3d_dot(to, out), out);
	const double length = v3d_length(inward), most = 4 * slop;
	const v3d place = v3d_mad(exit, length > most ? most / length : 1, inward);
	return cr_gap_of_point(g->pipeline->bvh, leaver, place, 8 * slop) > -slop;
}

/// Is such a contact covered by any part of its body?
static bool is_covered_by_whole(
	const seam_group *g, const seam_row *row, const cr_raw_contact *c, double slop, cr_bare_facet *nearest)
{
	const cr_whole whole = whole_of(g->pipeline, row->found, g->side, slop);
	const cr_body *part = original_of(g->pipeline, row->found, g->side);
	const v3d exit = ends_of(g->pipeline, row, c).at[g->side];
	const int32_t count = whole.count > 1 ? cr_list_covering(&whole, part, exit, g->others) : 0;
	const cr_cover cover = { g->pipeline->bvh, part, g->others, count, slop };
	return count > 0 && cr_is_covered(&cover, exit, outward(g, c), nearest);
}

static bool is_covered(const seam_group *g, const seam_row *row, const cr_raw_contact *c, double slop, cr_bare_facet *nearest)
{
	const cr_body *part = body_of(g, row, g->side);
	if (is_buried(g, row, c, slop))
		return is_covered_by_whole(g, row, c, slop, nearest);
	if (g->near_count == 0 || !is_overtopped(g, c, slop))
		return false;
	v3d point = ends_of(g->pipeline, row, c).at[g->side];
	if (!box_is_near(part, point, 0))
		point = cr_bring_to_body(g->pipeline->bvh, part, point);
	const int32_t count = list_others(g, point, slop);
	if (count == 0)
		return false;
	const cr_cover cover = { g->pipeline->bvh, part, g->others, count, slop };
	return cr_is_covered(&cover, point, outward(g, c), nearest);
}

/// Let a contact of a row have another direction out of the body, by which its place on the other
/// body is so deep.
static void turn(const seam_group *g, seam_row *row, int32_t contact, v3d out, double depth)
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
	const bool on_a = lies_on_a(g->pipeline, row, from);
	contact_ends ends = ends_if(from, on_a);
	ends.at[g->side] = v3d_mad(ends.at[1 - g->side], depth, out);
	const v3d point = ends.at[on_a ? 0 : 1];
	cr_raw_contact *c = &row->turned[contact];
	for (int k = 0; k < 3; k++) {
		c->point[k] = v3d_get(point, k);
		c->normal[k] = (float)(g->side == 0 ? -v3d_get(out, k) : v3d_get(out, k));
	}
	c->depth = (float)depth;
}

static int state_of(const seam_row *row, int32_t contact) { return row->state ? row->state[contact] : CONTACT_STAYS; }

/// Note the state of a contact.
static void set_state(cr_worker *worker, seam_row *row, int32_t contact, uint8_t state)
{
	const size_t count = (size_t)row->found->contacts.count;
	if (!row->state) {
		row->state = cr_arena_alloc(&worker->arena, count);
		if (row->state)
			memset(row->state, CONTACT_STAYS, count);
	}
	if (row->state)
		row->state[contact] = state;
	worker->failed = worker->failed || !row->state;
}

/// Let the contacts of a convex volume with a plane take the place of the covered ones of a row:
/// those over the part, or the deepest. like: one of the covered ones.
static void lead_volume(seam_group *g, seam_row *row, const cr_union_way *way, const cr_raw_contact *like, double slop)
{
	if (row->led)
		return; // it is led out already
	cr_raw_contact made[CR_MAX_VOLUME_CONTACTS];
	const bool is_a = g->side == 1;
	const cr_body *part = body_of(g, row, g->side);
	int32_t deepest = 0;
	const int32_t count = cr_make_plane_contacts(body_of(g, row, 1 - g->side), is_a, way->direction, way->exit, 0, made);
	row->led = cr_arena_alloc(&g->worker->arena, sizeof made);
	g->worker->failed = g->worker->failed || !row->led;
	for (int32_t i = 0; i < count; i++)
		deepest = made[i].depth > made[deepest].depth ? i : deepest;
	for (int32_t i = 0; i < count && row->led; i++) {
		made[i].feature_b = is_a ? like->feature_b : made[i].feature_a;
		made[i].feature_a = is_a ? made[i].feature_a : like->feature_a;
		const v3d on_plane = ends_if(&made[i], is_a).at[g->side];
		if (cr_gap_of_point(g->pipeline->bvh, part, on_plane, slop) <= slop)
			row->led[row->led_count++] = made[i];
	}
	if (row->led && row->led_count == 0 && count > 0)
		row->led[row->led_count++] = made[deepest];
}

/// Does a contact with any part lead as far along a direction?
static bool is_led_as_far(const seam_group *g, v3d direction, double depth)
{
	bool led = false;
	for (int32_t i = 0; i < g->count && !led; i++) {
		const seam_row *row = g->rows[i];
		for (int32_t k = 0; k < row->found->contacts.count && !led; k++)
			led = (double)row->contacts[k].depth * v3d_dot(outward(g, &row->contacts[k]), direction) >= depth;
	}
	return led;
}

/// Does the lowest point of a convex volume along a way lie in the body, much deeper than a place
/// that is so deep, and than any contact tells?
static bool is_far_deeper(const seam_group *g, const seam_row *row, const cr_union_way *way, double depth, double slop)
{
	const cr_body *leaver = body_of(g, row, 1 - g->side);
	if (row->contacts[0].kind != CAROM_VOLUMES || !cr_is_convex_volume(leaver))
		return false;
	const v3d lowest = cr_lowest_point(leaver, way->direction);
	const cr_whole whole = whole_of(g->pipeline, row->found, g->side, slop);
	const double most = v3d_dot(way->direction, v3d_sub(way->exit, lowest)) - DEEP * slop;
	return most > depth && !is_led_as_far(g, way->direction, most) && cr_is_in_parts(&whole, lowest);
}

/// Turn a covered contact to a bare facet at its point, if one faces the same side and the contact
/// is not too far ahead of it. Where a volume is far deeper than the contact tells, it is led out.
static bool turns_to(seam_group *g, seam_row *row, int32_t contact, const cr_bare_facet *facet, double slop)
{
	if (!(facet->cosine > SAME_SIDE))
		return false;
	const v3d place = ends_of(g->pipeline, row, &row->contacts[contact]).at[1 - g->side];
	const double depth = v3d_dot(facet->normal, v3d_sub(facet->corner, place));
	if (depth < -g->pipeline->settings.world.speculative_distance)
		return false;
	const cr_union_way way = { facet->normal, v3d_mad(place, depth, facet->normal) };
	if (!is_far_deeper(g, row, &way, depth, slop)) {
		turn(g, row, contact, facet->normal, depth);
		return true;
	}
	set_state(g->worker, row, contact, CONTACT_DROPPED);
	lead_volume(g, row, &way, &row->contacts[contact], slop);
	return true;
}

/// Returns whether there are any.
static bool mark_covered(seam_group *g)
{
	bool any = false;
	for (int32_t i = 0; i < g->count; i++) {
		seam_row *row = g->rows[i];
		const double slop = slop_of(g, row);
		list_near(g, row, slop);
		for (int32_t k = 0; k < row->found->contacts.count; k++) {
			cr_bare_facet facet;
			if (state_of(row, k) == CONTACT_DROPPED || !is_covered(g, row, &row->contacts[k], slop, &facet) ||
				turns_to(g, row, k, &facet, slop))
				continue;
			set_state(g->worker, row, k, CONTACT_COVERED);
			any = true;
		}
	}
	return any && !g->worker->failed;
}

/// Does moving by a contact take a point out of a part?
static bool clears(const seam_group *g, const cr_raw_contact *by, const cr_body *part, v3d point, double slop)
{
	const double depth = by->depth > 0 ? (double)by->depth : 0;
	return cr_gap_of_point(g->pipeline->bvh, part, v3d_mad(point, depth, outward(g, by)), 2 * slop) > -2 * slop;
}

/// Does a contact that is not covered do the work of one that is?
static bool is_replaced(const seam_group *g, const seam_row *row, const cr_raw_contact *c, double slop)
{
	const cr_body *part = body_of(g, row, g->side);
	const v3d point = c->depth > 0 ? ends_of(g->pipeline, row, c).at[1 - g->side] : v3d_from_doubles(c->point);
	for (int32_t i = 0; i < g->count; i++) {
		const seam_row *other = g->rows[i];
		for (int32_t k = 0; k < other->found->contacts.count; k++) {
			if (state_of(other, k) == CONTACT_STAYS && (!(c->depth > 0) || clears(g, &other->contacts[k], part, point, slop)))
				return true;
		}
	}
	return false;
}

/// Find the way out of the whole body for a contact of a row.
static bool find_way(seam_group *g, const seam_row *row, const cr_raw_contact *c, double slop, cr_union_way *way)
{
	const cr_whole whole = whole_of(g->pipeline, row->found, g->side, slop);
	const v3d place = ends_of(g->pipeline, row, c).at[1 - g->side];
	return whole.count > 1 &&
		cr_find_union_way(
			&whole, g->worker, original_of(g->pipeline, row->found, g->side), body_of(g, row, 1 - g->side), place, way);
}

/// Let the deepest covered contact of a row say where a convex volume leaves the body.
static void lead_volume_out(seam_group *g, seam_row *row, double slop)
{
	int32_t deepest = -1;
	for (int32_t k = 0; k < row->found->contacts.count; k++) {
		if (state_of(row, k) == CONTACT_COVERED && (deepest < 0 || row->contacts[k].depth > row->contacts[deepest].depth))
			deepest = k;
	}
	cr_union_way way;
	const cr_raw_contact *like = &row->contacts[deepest];
	const bool found = deepest >= 0 && like->depth > 0 && find_way(g, row, like, slop, &way);
	if (found)
		lead_volume(g, row, &way, like, slop);
	for (int32_t k = 0; k < row->found->contacts.count; k++) {
		if (state_of(row, k) == CONTACT_COVERED)
			row->state[k] = row->led_count > 0 ? CONTACT_DROPPED : CONTACT_STAYS;
	}
}

/// Turn the covered contacts of a row, each to the way of its own place.
static void turn_out(seam_group *g, seam_row *row, double slop)
{
	for (int32_t k = 0; k < row->found->contacts.count; k++) {
		if (state_of(row, k) != CONTACT_COVERED)
			continue;
		row->state[k] = CONTACT_STAYS;
		cr_union_way way;
		if (!(row->contacts[k].depth > 0) || !find_way(g, row, &row->contacts[k], slop, &way))
			continue;
		const v3d place = ends_of(g->pipeline, row, &row->contacts[k]).at[1 - g->side];
		turn(g, row, k, way.direction, v3d_dot(way.direction, v3d_sub(way.exit, place)));
	}
}

/// Let covered contacts that no other one replaces lead out of the whole body.
static void lead_out(seam_group *g, seam_row *row)
{
	if (!row->state)
		return;
	const double slop = slop_of(g, row);
	const bool is_volume = row->found->contacts.count > 0 && row->contacts[0].kind == CAROM_VOLUMES;
	if (is_volume && cr_is_convex_volume(body_of(g, row, 1 - g->side)))
		lead_volume_out(g, row, slop);
	else
		turn_out(g, row, slop);
}

static void look_at_group(seam_group *g)
{
	g->rounding = rounding_of(g);
	if (!order_boxes(g)) {
		g->worker->failed = true;
		return;
	}
	if (!mark_covered(g))
		return;
	for (int32_t i = 0; i < g->count; i++) {
		seam_row *row = g->rows[i];
		const double slop = row->state ? slop_of(g, row) : 0;
		for (int32_t k = 0; row->state && k < row->found->contacts.count; k++) {
			if (row->state[k] == CONTACT_COVERED && is_replaced(g, row, &row->contacts[k], slop))
				row->state[k] = CONTACT_DROPPED;
		}
	}
	for (int32_t i = 0; i < g->count && !g->worker->failed; i++)
		lead_out(g, g->rows[i]);
}

// ---- Pairs of bodies ----

/// Let a row have the contacts that are left. The old ones stay where they are: the next step may
/// take them over.
static void keep_rest(const cr_pipeline *p, cr_worker *worker, const seam_row *row)
{
	cr_found_pair *f = row->found;
	const int32_t count = f->contacts.count;
	if (!row->state && !row->turned)
		return; // nor is any led out
	worker->contacts.count = 0;
	for (int32_t k = 0; k < count; k++) {
		if (state_of(row, k) != CONTACT_DROPPED)
			cr_add_contact(worker, &row->contacts[k]);
	}
	const uint32_t gone = (uint32_t)(count - (int32_t)worker->contacts.count);
	if ((gone == 0 && !row->turned) || worker->failed)
		return;
	f->found -= gone < f->found ? gone : f->found;
	for (int32_t i = 0; i < row->led_count; i++)
		cr_add_contact(worker, &row->led[i]);
	if (row->led_count > 0 && !worker->failed) {
		cr_reduce_contacts(p, worker, &p->bodies[f->a], &p->bodies[f->b], &worker->contacts);
		f->found += (uint32_t)row->led_count;
	}
	if (worker->failed)
		return;
	cr_renew_found(worker, f);
}

/// Fill a row in. false: out of memory.
static bool fill_row(const cr_pipeline *p, cr_worker *worker, cr_found_pair *f, seam_row *row)
{
	*row = (seam_row){ .found = f };
	if (!f->late) {
		row->contacts = cr_found_contacts(p, f);
		return true;
	}
	cr_raw_contact *made = cr_arena_alloc(&worker->arena, CR_MAX_VOLUME_CONTACTS * sizeof *made);
	if (made)
		cr_make_volume_contacts(p, &p->bodies[f->a], &p->bodies[f->b], made);
	row->contacts = made;
	return made;
}

/// May the one pair of a part of a body have a contact that a part in no pair covers?
static bool may_be_buried(const cr_pipeline *p, const cr_found_pair *f, int side)
{
	if (f->late || whole_of(p, f, side, 0).count <= 1)
		return false;
	const double least = least_buried(&p->bodies[side == 0 ? f->b : f->a]);
	const cr_raw_contact *contacts = cr_found_contacts(p, f);
	bool deep = false;
	for (int32_t k = 0; k < f->contacts.count; k++)
		deep = deep || (double)contacts[k].depth > least;
	return deep;
}

/// Look at the groups of one side, whose rows stand side by side.
static void look_at_side(seam_group *g, seam_row **rows, int32_t count)
{
	for (int32_t first = 0, end; first < count; first = end) {
		const cr_body *one = body_of(g, rows[first], 1 - g->side);
		for (end = first + 1; end < count && body_of(g, rows[end], 1 - g->side) == one; end++) {
		}
		g->rows = rows + first;
		g->count = end - first;
		if (g->count > 1 || may_be_buried(g->pipeline, rows[first]->found, g->side))
			look_at_group(g);
	}
}

/// Sort rows by B, then by A. false: out of memory.
static bool sort_by_b(cr_worker *worker, seam_row **rows, int32_t count)
{
	bool sorted = true;
	for (int32_t i = 1; i < count && sorted; i++)
		sorted = rows[i]->found->b >= rows[i - 1]->found->b;
	if (sorted)
		return true;
	cr_key *keys = cr_arena_alloc(&worker->arena, 2 * (size_t)count * sizeof *keys);
	seam_row **old = cr_arena_alloc(&worker->arena, (size_t)count * sizeof(seam_row *));
	if (!keys || !old)
		return false;
	memcpy(old, rows, (size_t)count * sizeof(seam_row *));
	for (int32_t i = 0; i < count; i++)
		keys[i] = (cr_key){ (uint32_t)old[i]->found->b, (uint32_t)i };
	if (count <= FEW_ROWS)
		cr_insertion_sort(keys, count);
	else
		cr_radix_sort(keys, keys + count, count, 32);
	for (int32_t i = 0; i < count; i++)
		rows[i] = old[keys[i].value];
	return true;
}

/// Look at the rows of two bodies. false: out of memory.
static bool look_at_bodies(cr_pipeline *p, cr_worker *worker, cr_found_pair *found, int32_t count)
{
	if (cr_is_sensor_pair(&p->bodies[found->a], &p->bodies[found->b]))
		return true;
	seam_row *rows = cr_arena_alloc(&worker->arena, (size_t)count * sizeof *rows);
	void **room = cr_arena_alloc(&worker->arena, (3 * (size_t)count + CR_MOST_COVERING) * sizeof *room);
	if (!rows || !room)
		return false;
	seam_row **order = (seam_row **)room;
	seam_group g = { .pipeline = p,
		.worker = worker,
		.side = 1,
		.near = (const cr_body **)(room + count),
		.others = (const cr_body **)(room + 2 * (size_t)count) };
	for (int32_t i = 0; i < count; i++) {
		order[i] = &rows[i];
		if (!fill_row(p, worker, &found[i], &rows[i]))
			return false;
	}
	look_at_side(&g, order, count);
	if (!sort_by_b(worker, order, count))
		return false;
	g.side = 0;
	look_at_side(&g, order, count);
	for (int32_t i = 0; i < count && !worker->failed; i++)
		keep_rest(p, worker, &rows[i]);
	return true;
}

/// Look at the bodies whose first row is among these.
static void seam_task(int64_t begin, int64_t end, int index, void *task)
{
	cr_pipeline *p = task;
	cr_worker *worker = &p->workers[index];
	cr_found_pair *found = p->found.data;
	for (int64_t i = cr_begin_of_bodies(p, begin, end), next; i < end && !worker->failed; i = next) {
		next = cr_end_of_bodies(p, i);
		if ((next > i + 1 || may_be_buried(p, &found[i], 0) || may_be_buried(p, &found[i], 1)) &&
			!look_at_bodies(p, worker, &found[i], (int32_t)(next - i)))
			worker->failed = true;
	}
}

bool cr_drop_seams(cr_pipeline *p)
{
	if (p->keeps_covered)
		return true;
	cr_parallel_for(p->context, seam_task, p->found.count, PAIRS_PER_TASK, p);
	for (int32_t i = 0; i < p->worker_count; i++) {
		if (p->workers[i].failed)
			return false;
	}
	return true;
}
