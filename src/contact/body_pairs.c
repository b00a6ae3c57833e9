/// The views of pairs of bodies and of their events (carom_world_set_body_pairs).
///
/// Input: the view of pairs, sorted by bodies, and the pairs of bodies of the last step, sorted
/// likewise. A run of pairs of two bodies is one row, whatever parts these are of. One pass over
/// both lists tells which rows begin, go on or have ended. Cost: O(pairs), on one thread; nothing
/// in a world that does not ask for them.

#include "contact/body_pairs.h"
#include "contact/merge.h"

static bool has_bodies_of(const cr_pipeline *p, const cr_found_pair *f, const cr_found_pair *other)
{
	return cr_first_part(p->bodies, f->a) == cr_first_part(p->bodies, other->a) &&
		cr_first_part(p->bodies, f->b) == cr_first_part(p->bodies, other->b);
}

int64_t cr_begin_of_bodies(const cr_pipeline *p, int64_t begin, int64_t end)
{
	const cr_found_pair *found = p->found.data;
	while (begin > 0 && begin < end && has_bodies_of(p, &found[begin - 1], &found[begin]))
		begin++;
	return begin;
}

int64_t cr_end_of_bodies(const cr_pipeline *p, int64_t i)
{
	const cr_found_pair *found = p->found.data;
	int64_t end = i + 1;
	while (end < p->found.count && has_bodies_of(p, &found[i], &found[end]))
		end++;
	return end;
}

static int compare_bodies(const carom_body_pair *a, const carom_body_pair *b)
{
	const int order = cr_compare_ids(a->body_a, b->body_a);
	return order != 0 ? order : cr_compare_ids(a->body_b, b->body_b);
}

bool cr_reserve_body_pairs(const cr_pipeline *p, const cr_results *then, cr_results *now)
{
	int64_t rows = 0, going = 0, j = 0;
	for (int64_t i = 0; i < p->found.count; i = cr_end_of_bodies(p, i), rows++) {
		const carom_body_pair key = { .body_a = cr_id_of(p->bodies, p->found.data[i].a),
			.body_b = cr_id_of(p->bodies, p->found.data[i].b) };
		int order = 1;
		while (j < then->body_pairs.count && (order = compare_bodies(&then->body_pairs.data[j], &key)) < 0)
			j++;
		going += order == 0;
	}
	return cr_array_reserve_fresh(p->context, &now->body_pairs, rows) &&
		cr_array_reserve_fresh(p->context, &now->body_events, rows + then->body_pairs.count - going);
}

/// The row of the pairs of two bodies that begin at i, without its past, and their number of it.
static carom_body_pair row_of(const cr_results *now, int64_t i, int32_t row)
{
	carom_pair *pairs = now->pairs.data;
	carom_body_pair made = {
		.body_a = pairs[i].body_a,
		.body_b = pairs[i].body_b,
		.user_data_a = pairs[i].user_data_a,
		.user_data_b = pairs[i].user_data_b,
		.first_pair = (int32_t)i,
		.first_contact = pairs[i].first_contact,
	};
	for (; i < now->pairs.count && cr_compare_ids(pairs[i].body_a, made.body_a) == 0 &&
		 cr_compare_ids(pairs[i].body_b, made.body_b) == 0;
		 i++) {
		pairs[i].body_pair = row;
		made.pair_count++;
		made.contact_count += pairs[i].contact_count;
		made.found_count += pairs[i].found_count;
	}
	return made;
}

static void add_event(cr_results *now, const carom_body_pair *pair, carom_event_kind kind, int32_t row)
{
	now->body_events.data[now->body_events.count++] =
		(carom_body_event){ pair->body_a, pair->body_b, pair->user_data_a, pair->user_data_b, kind, row, pair->user_data };
}

static void add_end(const cr_pipeline *p, cr_results *now, const carom_body_pair *old)
{
	carom_body_pair pair = *old;
	pair.user_data_a = cr_current_user_data(p, pair.body_a, pair.user_data_a);
	pair.user_data_b = cr_current_user_data(p, pair.body_b, pair.user_data_b);
	add_event(now, &pair, CAROM_EVENT_END, -1);
}

void cr_list_body_pairs(const cr_pipeline *p, const cr_results *then, cr_results *now)
{
	const carom_body_pair *old = then->body_pairs.data, *const end = old + then->body_pairs.count;
	now->body_pairs.count = now->body_events.count = 0;
	for (int64_t i = 0; i < now->pairs.count;) {
		const int32_t number = (int32_t)now->body_pairs.count++;
		carom_body_pair *row = &now->body_pairs.data[number];
		*row = row_of(now, i, number);
		for (; old < end && compare_bodies(old, row) < 0; old++)
			add_end(p, now, old);
		const bool goes_on = old < end && compare_bodies(old, row) == 0;
		if (goes_on) {
			row->age = cr_next_age(old->age);
			row->user_data = old++->user_data;
		}
		add_event(now, row, goes_on ? CAROM_EVENT_PERSIST : CAROM_EVENT_BEGIN, number);
		i += row->pair_count;
	}
	for (; old < end; old++)
		add_end(p, now, old);
}
