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
/// Of a round body it is turned only where none does (seam_round.c).
/// Others lead another way (seam_ways.c), so no two bodies lose their last contact. The part that
/// covers a contact lies nearer to the other body than the contact does; so it is among the parts
/// that the same part of the other body touches, and no other one is asked. A contact that leads
/// out of the other body is an exception: all parts are asked (union_way.c).
///
/// Cost: only bodies that touch with several parts pay. There each contact asks the boxes of these
/// parts. Parallel over pairs of bodies.

#include "contact/seam_rows.h"
#include "contact/body_pairs.h"
#include "base/parallel.h"
#include "base/radix.h"

enum { PAIRS_PER_TASK = 64, FEW_ROWS = 32 };

// How far boxes are grown that are to hold all that covered.c looks at, in slops.
static const double REACH = 8;
// Of half the least width of a body: one that is less deep does not lead out of it.
static const double THIN = 0.1;

/// How far rounding may move the surfaces of the parts.
static double rounding_of(const cr_seam_group *g)
{
	double most = 0;
	for (int32_t i = 0; i < g->count; i++)
		most = fmax(most, cr_part_rounding(cr_seam_body(g, g->rows[i], g->side)));
	return most;
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

static void add_near(cr_seam_group *g, const cr_body *part, const cr_seam_row *other, double margin)
{
	const cr_body *candidate = cr_seam_body(g, other, g->side);
	if (candidate != part && boxes_are_near(part, candidate, margin))
		g->near[g->near_count++] = candidate;
}

/// Sort many rows by their boxes. false: out of memory.
static bool order_boxes(cr_seam_group *g)
{
	g->order = NULL;
	if (g->count <= FEW_ROWS)
		return true;
	g->order = cr_arena_alloc(&g->worker->arena, 2 * (size_t)g->count * sizeof *g->order);
	g->widest = 0;
	for (int32_t i = 0; g->order && i < g->count; i++) {
		const cr_body *part = cr_seam_body(g, g->rows[i], g->side);
		g->order[i] = (cr_key){ cr_key_of_double(part->lower[0]), (uint32_t)i };
		g->widest = fmax(g->widest, part->upper[0] - part->lower[0]);
	}
	if (g->order)
		cr_radix_sort(g->order, g->order + g->count, g->count, 64);
	return g->order;
}

/// The first row in order whose box does not end before x.
static int32_t first_in_order(const cr_seam_group *g, double x)
{
	return (int32_t)cr_first_key(g->order, g->count, cr_key_of_double(x - g->widest));
}

/// List the other parts that lie near that of a row.
static void list_near(cr_seam_group *g, const cr_seam_row *row, double slop)
{
	const cr_body *part = cr_seam_body(g, row, g->side);
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
static int32_t list_others(const cr_seam_group *g, v3d point, double slop)
{
	int32_t count = 0;
	for (int32_t i = 0; i < g->near_count; i++) {
		if (cr_may_cover(g->near[i], point, slop))
			g->others[count++] = g->near[i];
	}
	return count;
}

/// Does any of the near parts reach farther along the normal of a contact than its point?
static bool is_overtopped(const cr_seam_group *g, const cr_raw_contact *c, double slop)
{
	const v3d out = cr_seam_outward(g, c);
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
static bool is_buried(const cr_seam_group *g, const cr_seam_row *row, const cr_raw_contact *c, double slop)
{
	const cr_body *leaver = cr_seam_body(g, row, 1 - g->side);
	if (!((double)c->depth > CR_SEAM_DEEP * slop) || leaver->shape.family == CR_FAMILY_PLANE ||
		!((double)c->depth > least_buried(leaver)))
		return false;
	const v3d exit = cr_ends_of(g->pipeline, row, c).at[g->side], out = cr_seam_outward(g, c);
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
	const cr_seam_group *g, const cr_seam_row *row, const cr_raw_contact *c, double slop, cr_bare_facet *nearest)
{
	const cr_whole whole = cr_seam_whole(g->pipeline, row->found, g->side, slop);
	const cr_body *part = cr_seam_original(g->pipeline, row->found, g->side);
	const v3d exit = cr_ends_of(g->pipeline, row, c).at[g->side];
	const int32_t count = whole.count > 1 ? cr_list_covering(&whole, part, exit, g->others) : 0;
	const cr_cover cover = { g->pipeline->bvh, part, g->others, count, slop };
	return count > 0 && cr_is_covered(&cover, exit, cr_seam_outward(g, c), nearest);
}

static bool is_covered(
	const cr_seam_group *g, const cr_seam_row *row, const cr_raw_contact *c, double slop, cr_bare_facet *nearest)
{
	const cr_body *part = cr_seam_body(g, row, g->side);
	if (is_buried(g, row, c, slop))
		return is_covered_by_whole(g, row, c, slop, nearest);
	if (g->near_count == 0 || !is_overtopped(g, c, slop))
		return false;
	v3d point = cr_ends_of(g->pipeline, row, c).at[g->side];
	if (!box_is_near(part, point, 0))
		point = cr_bring_to_body(g->pipeline->bvh, part, point);
	const int32_t count = list_others(g, point, slop);
	if (count == 0)
		return false;
	const cr_cover cover = { g->pipeline->bvh, part, g->others, count, slop };
	return cr_is_covered(&cover, point, cr_seam_outward(g, c), nearest);
}

/// Give a covered contact its state, or turn it.
static void mark(cr_seam_group *g, cr_seam_row *row, int32_t k, const cr_bare_facet *facet, double slop)
{
	const cr_raw_contact *c = &row->contacts[k];
	int state = CR_SEAM_COVERED;
	if (facet->cosine > CR_SEAM_SAME_SIDE && cr_is_smooth(cr_seam_body(g, row, 1 - g->side))) {
		const cr_contact_ends ends = cr_ends_of(g->pipeline, row, c);
		const int32_t others = list_others(g, ends.at[g->side], slop);
		state = others > 0 ? cr_round_seam_state(g, row, c, &ends, others, facet, slop) : CR_SEAM_COVERED;
	}
	if (state == CR_SEAM_LEANS || (state == CR_SEAM_COVERED && !cr_turn_seam_contact(g, row, k, facet, slop)))
		cr_set_seam_state(g->worker, row, k, (uint8_t)state);
}

static void mark_covered(cr_seam_group *g)
{
	for (int32_t i = 0; i < g->count; i++) {
		cr_seam_row *row = g->rows[i];
		const double slop = cr_seam_slop(g, row);
		list_near(g, row, slop);
		for (int32_t k = 0; k < row->found->contacts.count && !g->worker->failed; k++) {
			cr_bare_facet facet;
			if (cr_seam_state(row, k) != CR_SEAM_DROPPED && is_covered(g, row, &row->contacts[k], slop, &facet))
				mark(g, row, k, &facet, slop);
		}
	}
}

/// Does moving by a contact take a point out of a part?
static bool clears(const cr_seam_group *g, const cr_raw_contact *by, const cr_body *part, v3d point, double slop)
{
	const double depth = by->depth > 0 ? (double)by->depth : 0;
	return cr_gap_of_point(g->pipeline->bvh, part, v3d_mad(point, depth, cr_seam_outward(g, by)), 2 * slop) > -2 * slop;
}

/// Does a contact that is not covered do the work of one that is?
static bool is_replaced(const cr_seam_group *g, const cr_seam_row *row, const cr_raw_contact *c, double slop)
{
	const cr_body *part = cr_seam_body(g, row, g->side);
	const v3d point = c->depth > 0 ? cr_ends_of(g->pipeline, row, c).at[1 - g->side] : v3d_from_doubles(c->point);
	for (int32_t i = 0; i < g->count; i++) {
		const cr_seam_row *other = g->rows[i];
		for (int32_t k = 0; k < other->found->contacts.count; k++) {
			if (cr_seam_state(other, k) == CR_SEAM_STAYS &&
				(!(c->depth > 0) || clears(g, &other->contacts[k], part, point, slop)))
				return true;
		}
	}
	return false;
}

/// Drop the covered contacts whose work others do.
static void drop_replaced(const cr_seam_group *g)
{
	for (int32_t i = 0; i < g->count; i++) {
		cr_seam_row *row = g->rows[i];
		const double slop = row->state ? cr_seam_slop(g, row) : 0;
		for (int32_t k = 0; row->state && k < row->found->contacts.count; k++) {
			if ((row->state[k] == CR_SEAM_COVERED || row->state[k] == CR_SEAM_LEANS) &&
				is_replaced(g, row, &row->contacts[k], slop))
				row->state[k] = CR_SEAM_DROPPED;
		}
	}
}

/// Turn those that lean and are left.
static void turn_leaning(cr_seam_group *g)
{
	for (int32_t i = 0; i < g->count; i++) {
		cr_seam_row *row = g->rows[i];
		bool near = false;
		for (int32_t k = 0; row->state && k < row->found->contacts.count && !g->worker->failed; k++) {
			if (row->state[k] != CR_SEAM_LEANS)
				continue;
			const double slop = cr_seam_slop(g, row);
			if (!near)
				list_near(g, row, slop);
			near = true;
			cr_bare_facet facet = { 0 };
			row->state[k] = CR_SEAM_STAYS;
			if (is_covered(g, row, &row->contacts[k], slop, &facet) && !cr_turn_seam_contact(g, row, k, &facet, slop))
				row->state[k] = CR_SEAM_COVERED;
		}
	}
}

static void look_at_group(cr_seam_group *g)
{
	g->rounding = rounding_of(g);
	if (!order_boxes(g)) {
		g->worker->failed = true;
		return;
	}
	mark_covered(g);
	if (g->worker->failed)
		return;
	drop_replaced(g);
	turn_leaning(g);
	for (int32_t i = 0; i < g->count && !g->worker->failed; i++)
		cr_lead_out_of_seams(g, g->rows[i]);
	cr_drop_seam_twins(g);
}

// ---- Pairs of bodies ----

/// Let a row have the contacts that are left. The old ones stay where they are: the next step may
/// take them over.
static void keep_rest(const cr_pipeline *p, cr_worker *worker, const cr_seam_row *row)
{
	cr_found_pair *f = row->found;
	const int32_t count = f->contacts.count;
	if (!row->state && !row->turned)
		return; // nor is any led out
	worker->contacts.count = 0;
	for (int32_t k = 0; k < count; k++) {
		if (cr_seam_state(row, k) != CR_SEAM_DROPPED)
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
static bool fill_row(const cr_pipeline *p, cr_worker *worker, cr_found_pair *f, cr_seam_row *row)
{
	*row = (cr_seam_row){ .found = f };
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
	if (f->late || cr_seam_whole(p, f, side, 0).count <= 1)
		return false;
	const double least = least_buried(&p->bodies[side == 0 ? f->b : f->a]);
	const cr_raw_contact *contacts = cr_found_contacts(p, f);
	bool deep = false;
	for (int32_t k = 0; k < f->contacts.count; k++)
		deep = deep || (double)contacts[k].depth > least;
	return deep;
}

/// Look at the groups of one side, whose rows stand side by side.
static void look_at_side(cr_seam_group *g, cr_seam_row **rows, int32_t count)
{
	for (int32_t first = 0, end; first < count; first = end) {
		const cr_body *one = cr_seam_body(g, rows[first], 1 - g->side);
		for (end = first + 1; end < count && cr_seam_body(g, rows[end], 1 - g->side) == one; end++) {
		}
		g->rows = rows + first;
		g->count = end - first;
		if (g->count > 1 || may_be_buried(g->pipeline, rows[first]->found, g->side))
			look_at_group(g);
	}
}

/// Sort rows by B, then by A. false: out of memory.
static bool sort_by_b(cr_worker *worker, cr_seam_row **rows, int32_t count)
{
	bool sorted = true;
	for (int32_t i = 1; i < count && sorted; i++)
		sorted = rows[i]->found->b >= rows[i - 1]->found->b;
	if (sorted)
		return true;
	cr_key *keys = cr_arena_alloc(&worker->arena, 2 * (size_t)count * sizeof *keys);
	cr_seam_row **old = cr_arena_alloc(&worker->arena, (size_t)count * sizeof(cr_seam_row *));
	if (!keys || !old)
		return false;
	memcpy(old, rows, (size_t)count * sizeof(cr_seam_row *));
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
	cr_seam_row *rows = cr_arena_alloc(&worker->arena, (size_t)count * sizeof *rows);
	void **room = cr_arena_alloc(&worker->arena, (3 * (size_t)count + CR_MOST_COVERING) * sizeof *room);
	if (!rows || !room)
		return false;
	cr_seam_row **order = (cr_seam_row **)room;
	cr_seam_group g = { .pipeline = p,
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
