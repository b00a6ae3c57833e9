/// Contacts that pass from one part of a body to another one.
///
/// A body that rolls over a floor of parts leaves one pair of parts and begins another one.
/// Contacts are matched within pairs of parts; so its contact would be new at each seam. Here those
/// of pairs that have lost all contacts are matched with the new ones of other pairs of the two
/// bodies, as contacts that roll (frame/roll.c). The part that rolls must be one and no other.
///
/// The old contacts are copied before the new ones are written over them. That is little: a body
/// rarely leaves a part. Cost otherwise: a pass over the pairs of both steps, of worlds with parts.

#include "contact/passing.h"
#include "contact/body_pairs.h"
#include "frame/roll.h"

static int compare_bodies(const carom_pair *pair, const cr_pipeline *p, const cr_found_pair *f)
{
	const int order = cr_compare_ids(pair->body_a, cr_id_of(p->bodies, f->a));
	return order != 0 ? order : cr_compare_ids(pair->body_b, cr_id_of(p->bodies, f->b));
}

static bool are_of_same_bodies(const carom_pair *a, const carom_pair *b)
{
	return cr_compare_ids(a->body_a, b->body_a) == 0 && cr_compare_ids(a->body_b, b->body_b) == 0;
}

/// May contacts of two bodies pass on? No sensor has any.
static bool may_pass(const cr_pipeline *p, const cr_found_pair *f)
{
	const cr_body *a = &p->bodies[f->a], *b = &p->bodies[f->b];
	return cr_pair_has_parts(p, f) && cr_is_rigid(a) && cr_is_rigid(b) && a->reshaped < CR_SHAPE_CHANGED &&
		b->reshaped < CR_SHAPE_CHANGED && !cr_is_sensor_pair(a, b);
}

static bool add_giver(cr_merging *m, const carom_pair *pair, int64_t first, int64_t end)
{
	cr_arena *arena = &m->pipeline->workers[0].arena;
	if (!m->givers)
		m->givers = cr_arena_alloc(arena, (size_t)m->then->pairs.count * sizeof *m->givers);
	cr_past_contact *contacts = m->givers ? cr_arena_alloc(arena, (size_t)pair->contact_count * sizeof *contacts) : NULL;
	if (!contacts)
		return false;
	for (int32_t k = 0; k < pair->contact_count; k++)
		contacts[k] = cr_past_of(&m->then->contacts.data[pair->first_contact + k]);
	m->givers[m->giver_count++] =
		(struct cr_giver){ contacts, pair->contact_count, { pair->shape_a, pair->shape_b }, first, end };
	return true;
}

/// Look at the pairs of two bodies: old ones, and rows now.
static bool look_at_bodies(cr_merging *m, int64_t old, int64_t old_end, int64_t first, int64_t end)
{
	const cr_found_pair *found = m->pipeline->found.data;
	int64_t row = first;
	for (int64_t j = old; j < old_end; j++) {
		while (row < end && m->before[row] < (int32_t)j)
			row++;
		const bool keeps = row < end && m->before[row] == (int32_t)j && found[row].contacts.count > 0;
		const carom_pair *pair = &m->then->pairs.data[j];
		if (!keeps && pair->contact_count > 0 && !add_giver(m, pair, first, end))
			return false;
	}
	return true;
}

bool cr_plan_passing(cr_merging *m)
{
	const cr_pipeline *p = m->pipeline;
	const carom_pair *then = m->then->pairs.data;
	const cr_found_pair *found = p->found.data;
	for (int64_t old = 0, old_end, row = 0, end; old < m->then->pairs.count; old = old_end, row = end) {
		for (old_end = old + 1; old_end < m->then->pairs.count && are_of_same_bodies(&then[old], &then[old_end]); old_end++) {
		}
		while (row < p->found.count && compare_bodies(&then[old], p, &found[row]) > 0)
			row++;
		const bool both = row < p->found.count && compare_bodies(&then[old], p, &found[row]) == 0;
		end = both ? cr_end_of_bodies(p, row) : row;
		if (end > row && may_pass(p, &found[row]) && !look_at_bodies(m, old, old_end, row, end))
			return false;
	}
	return true;
}

// ---- Taking ----

/// The part of a row on a side.
static const cr_body *part_of(const cr_merging *m, int64_t row, int side)
{
	const cr_found_pair *f = &m->pipeline->found.data[row];
	return &m->pipeline->bodies[side == 0 ? f->a : f->b];
}

/// List the new contacts of a part on a side, in the rows of a giver.
static void list_new(const cr_merging *m, const struct cr_giver *giver, int side, cr_rolling *r)
{
	for (int64_t row = giver->first; row < giver->end; row++) {
		if (part_of(m, row, side)->part != giver->parts[side])
			continue;
		const carom_pair *pair = &m->now->pairs.data[row];
		for (int32_t k = 0; k < pair->contact_count && r->now_count < CR_MOST_ROLLING; k++) {
			carom_contact *c = &m->now->contacts.data[pair->first_contact + k];
			if (c->age > 0)
				continue;
			r->bodies[0] = part_of(m, row, 0);
			r->bodies[1] = part_of(m, row, 1);
			r->now[r->now_count++] = c;
		}
	}
}

/// Let a part on a side roll on, whose first giver this is.
static void pass_side(const cr_merging *m, int64_t number, int side)
{
	const struct cr_giver *first = &m->givers[number];
	cr_rolled then[CR_MOST_ROLLING];
	carom_contact *now[CR_MOST_ROLLING];
	cr_rolling r = {
		.wheels = { side == 0, side == 1 }, .distance = m->pipeline->settings.world.match_distance, .then = then, .now = now
	};
	list_new(m, first, side, &r);
	if (r.now_count == 0 || !cr_may_roll(r.bodies[0], r.bodies[1]))
		return;
	for (int64_t i = number; i < m->giver_count && m->givers[i].first == first->first; i++) {
		const struct cr_giver *giver = &m->givers[i];
		for (int32_t k = 0; giver->parts[side] == first->parts[side] && k < giver->count && r.then_count < CR_MOST_ROLLING; k++)
			then[r.then_count++] = (cr_rolled){ &giver->contacts[k], v3d_from_doubles(giver->contacts[k].at.point), false };
	}
	r.size = cr_radius_of(r.bodies[side]);
	cr_match_rolling(&r);
}

/// Is a giver the first one of its part on a side?
static bool is_first(const cr_merging *m, int64_t number, int side)
{
	const struct cr_giver *giver = &m->givers[number];
	for (int64_t i = number - 1; i >= 0 && m->givers[i].first == giver->first; i--) {
		if (m->givers[i].parts[side] == giver->parts[side])
			return false;
	}
	return true;
}

void cr_pass_on(const cr_merging *m)
{
	for (int64_t i = 0; i < m->giver_count; i++) {
		for (int side = 0; side < 2; side++) {
			if (is_first(m, i, side))
				pass_side(m, i, side);
		}
	}
}
