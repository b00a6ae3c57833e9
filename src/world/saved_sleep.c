/// The pairs of bodies asleep in snapshots: in the order of rows, so that equal worlds have equal
/// snapshots whatever fell asleep first.

#include "base/stable_sort.h"
#include "world/sleep_rows.h"
#include "world/world.h"
#include <string.h>

bool cr_reserve_saved_sleep(carom_context *memory, cr_saved_sleep *saved, const cr_sleep *s)
{
	return cr_array_reserve(memory, &saved->pairs, s->store.count) &&
		cr_array_reserve(memory, &saved->contacts, s->contact_count) &&
		cr_array_reserve(memory, &saved->body_pairs, s->body_store.count);
}

static int compare_pairs(const void *x, const void *y)
{
	const cr_sleeping_pair *pairs[2] = { x, y };
	const cr_waking a = cr_place_of_pair(&pairs[0]->pair, 0), b = cr_place_of_pair(&pairs[1]->pair, 0);
	return cr_compare_places(&a, &b);
}

static int compare_body_pairs(const void *x, const void *y)
{
	const cr_sleeping_body_pair *pairs[2] = { x, y };
	const cr_waking a = cr_place_of_bodies(&pairs[0]->pair, 0), b = cr_place_of_bodies(&pairs[1]->pair, 0);
	return cr_compare_places(&a, &b);
}

void cr_save_sleep(cr_saved_sleep *saved, const cr_sleep *s)
{
	saved->pairs.count = saved->contacts.count = saved->body_pairs.count = 0;
	for (int64_t i = 0; i < s->store.records.count; i++) {
		if (s->store.records.data[i].a >= 0)
			saved->pairs.data[saved->pairs.count++] = s->pairs.data[i];
	}
	for (int64_t i = 0; i < s->body_store.records.count; i++) {
		if (s->body_store.records.data[i].a >= 0)
			saved->body_pairs.data[saved->body_pairs.count++] = s->body_pairs.data[i];
	}
	if (saved->pairs.count > 1)
		cr_sort_stably(saved->pairs.data, saved->pairs.count, sizeof *saved->pairs.data, compare_pairs);
	if (saved->body_pairs.count > 1)
		cr_sort_stably(saved->body_pairs.data, saved->body_pairs.count, sizeof *saved->body_pairs.data, compare_body_pairs);
	for (int64_t i = 0; i < saved->pairs.count; i++) {
		carom_pair *pair = &saved->pairs.data[i].pair;
		if (pair->contact_count > 0)
			memcpy(&saved->contacts.data[saved->contacts.count], &s->contacts.data[pair->first_contact],
				(size_t)pair->contact_count * sizeof *saved->contacts.data);
		pair->first_contact = (int32_t)saved->contacts.count;
		saved->contacts.count += pair->contact_count;
	}
}

void cr_free_saved_sleep(carom_context *memory, cr_saved_sleep *saved)
{
	cr_array_free(memory, &saved->pairs);
	cr_array_free(memory, &saved->contacts);
	cr_array_free(memory, &saved->body_pairs);
}

/// Room for so many pairs in a store that will be emptied.
static bool reserve_store(carom_context *memory, cr_pair_store *store, int64_t bodies, int64_t pairs)
{
	return cr_pair_store_reserve(memory, store, bodies, pairs > store->count ? pairs - store->count : 0);
}

bool cr_reserve_sleep(carom_context *memory, cr_sleep *s, const cr_saved_sleep *saved, int64_t bodies)
{
	return reserve_store(memory, &s->store, bodies, saved->pairs.count) &&
		cr_array_reserve(memory, &s->pairs, saved->pairs.count) &&
		cr_array_reserve(memory, &s->contacts, saved->contacts.count) &&
		reserve_store(memory, &s->body_store, bodies, saved->body_pairs.count) &&
		cr_array_reserve(memory, &s->body_pairs, saved->body_pairs.count);
}

void cr_restore_sleep(cr_sleep *s, const cr_saved_sleep *saved)
{
	cr_pair_store_clear(&s->store);
	cr_pair_store_clear(&s->body_store);
	for (int64_t i = 0; i < saved->pairs.count; i++) {
		const carom_pair *pair = &saved->pairs.data[i].pair;
		s->pairs.data[cr_pair_store_add(&s->store, cr_number_of_part(pair->body_a, pair->shape_a),
			cr_number_of_part(pair->body_b, pair->shape_b))] = saved->pairs.data[i];
	}
	for (int64_t i = 0; i < saved->body_pairs.count; i++) {
		const carom_body_pair *pair = &saved->body_pairs.data[i].pair;
		s->body_pairs
			.data[cr_pair_store_add(&s->body_store, cr_number_of_part(pair->body_a, 0), cr_number_of_part(pair->body_b, 0))] =
			saved->body_pairs.data[i];
	}
	if (saved->contacts.count > 0)
		memcpy(s->contacts.data, saved->contacts.data, (size_t)saved->contacts.count * sizeof *saved->contacts.data);
	s->contacts.count = s->contact_count = saved->contacts.count;
}

static bool names_part(carom_body_id id, int32_t part, int64_t bodies)
{
	return id.index1 >= 1 && part >= 0 && (int64_t)id.index1 - 1 + part < bodies;
}

bool cr_is_saved_sleep_sound(const cr_saved_sleep *saved, int64_t bodies)
{
	int64_t contacts = 0;
	for (int64_t i = 0; i < saved->pairs.count; i++) {
		const carom_pair *pair = &saved->pairs.data[i].pair;
		if (!names_part(pair->body_a, pair->shape_a, bodies) || !names_part(pair->body_b, pair->shape_b, bodies) ||
			pair->first_contact != contacts || pair->contact_count < 0 ||
			(i > 0 && compare_pairs(&saved->pairs.data[i - 1], &saved->pairs.data[i]) >= 0))
			return false;
		contacts += pair->contact_count;
	}
	for (int64_t i = 0; i < saved->body_pairs.count; i++) {
		const carom_body_pair *pair = &saved->body_pairs.data[i].pair;
		if (!names_part(pair->body_a, 0, bodies) || !names_part(pair->body_b, 0, bodies) ||
			(i > 0 && compare_body_pairs(&saved->body_pairs.data[i - 1], &saved->body_pairs.data[i]) >= 0))
			return false;
	}
	return contacts == saved->contacts.count;
}
