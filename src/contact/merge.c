/// Second half of the merge stage: pairs with contacts become rows of the views; contacts are
/// matched with the last step's; pairs that begin, persist or end become events. The pairs of
/// meshes and the simple pairs come sorted and are joined in order, so every view is in order as it
/// is written (where bodies have parts, after one sort). Counting (in order) gives each pair its
/// place; filling is parallel over pairs.

#include "contact/merge.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/radix.h"
#include "contact/material.h"
#include <string.h>

enum { PAIRS_PER_TASK = 256, FEW_CONTACTS = 64 };

static bool is_sensor_pair(const cr_pipeline *p, const cr_found_pair *f)
{
	return p->bodies[f->a].sensor || p->bodies[f->b].sensor;
}

/// Does the pair belong in the view? Sensors tell of overlap only, not of speculative contacts.
static bool is_listed(const cr_pipeline *p, const cr_found_pair *f)
{
	if (f->contacts.count == 0 || !is_sensor_pair(p, f))
		return f->contacts.count > 0;
	const cr_raw_contact *contacts = cr_contacts_at(&p->frame, f->contacts.first);
	for (int32_t i = 0; i < f->contacts.count; i++) {
		if (contacts[i].depth >= 0)
			return true;
	}
	return false;
}

static int compare_ids(carom_body_id a, carom_body_id b)
{
	if (a.index1 != b.index1)
		return a.index1 < b.index1 ? -1 : 1;
	return (a.generation > b.generation) - (a.generation < b.generation);
}

static int compare_pairs(const carom_pair *a, const carom_pair *b)
{
	int order = compare_ids(a->body_a, b->body_a);
	if (order == 0)
		order = compare_ids(a->body_b, b->body_b);
	if (order != 0)
		return order;
	if (a->shape_a != b->shape_a)
		return a->shape_a < b->shape_a ? -1 : 1;
	return (a->shape_b > b->shape_b) - (a->shape_b < b->shape_b);
}

/// Sorts p->found, which is in the order of parts, by bodies and then by parts, so that the pairs
/// of two bodies stand side by side. Returns false when out of memory.
static bool sort_by_bodies(cr_pipeline *p)
{
	const int64_t count = p->found.count;
	cr_arena *arena = &p->workers[0].arena;
	cr_key *keys = cr_arena_alloc(arena, (size_t)count * sizeof *keys);
	cr_key *scratch = cr_arena_alloc(arena, (size_t)count * sizeof *scratch);
	cr_found_pair *sorted = cr_arena_alloc(arena, (size_t)count * sizeof *sorted);
	if (!keys || !scratch || !sorted)
		return false;
	for (int64_t i = 0; i < count; i++) {
		const uint64_t a = (uint64_t)cr_first_part(p->bodies, p->found.data[i].a);
		keys[i] = (cr_key){ a << 32 | (uint64_t)cr_first_part(p->bodies, p->found.data[i].b), (uint32_t)i };
	}
	cr_radix_sort(keys, scratch, count, 64);
	for (int64_t i = 0; i < count; i++)
		sorted[i] = p->found.data[keys[i].value];
	memcpy(p->found.data, sorted, (size_t)count * sizeof *sorted);
	return true;
}

/// Put the kept pairs of meshes among the simple pairs in p->found, in order. false: out of memory.
static bool join_meshes(cr_pipeline *p)
{
	int64_t i = p->kept.count, j = p->found.count, end = i + j;
	if (!cr_array_reserve(p->context, &p->found, end))
		return false;
	p->found.count = end;
	// From the back, in place: once all pairs of meshes are in, the other simple pairs lie where
	// they belong.
	while (i > 0) {
		const cr_pair_work *w = &p->work.data[p->kept.data[i - 1]];
		const cr_found_pair *simple = j > 0 ? &p->found.data[j - 1] : NULL;
		if (simple && (simple->a > w->a || (simple->a == w->a && simple->b > w->b))) {
			p->found.data[--end] = p->found.data[--j];
		} else {
			p->found.data[--end] = (cr_found_pair){ w->a, w->b, w->contacts, w->found };
			i--;
		}
	}
	return true;
}

/// Leave the pairs that belong in the view in p->found, and make a row for each, with its place in
/// the view of contacts.
static carom_result list_pairs(cr_pipeline *p, cr_results *now)
{
	int64_t count = 0, contacts = 0;
	for (int64_t i = 0; i < p->found.count; i++) {
		if (is_listed(p, &p->found.data[i]))
			p->found.data[count++] = p->found.data[i];
	}
	p->found.count = count;
	if (count > INT32_MAX || !cr_array_reserve(p->context, &now->pairs, count))
		return cr_fail_memory(p->context, "the pairs of a step");
	now->pairs.count = count;
	for (int64_t i = 0; i < count; i++) {
		const cr_found_pair *f = &p->found.data[i];
		const int32_t listed = is_sensor_pair(p, f) ? 0 : f->contacts.count;
		now->pairs.data[i] = (carom_pair){
			.body_a = cr_id_of(p->bodies, f->a),
			.body_b = cr_id_of(p->bodies, f->b),
			.user_data_a = p->bodies[f->a].user_data,
			.user_data_b = p->bodies[f->b].user_data,
			.first_contact = (int32_t)contacts,
			.contact_count = listed,
			.found_count = f->found,
			.shape_a = p->bodies[f->a].part,
			.shape_b = p->bodies[f->b].part,
		};
		contacts += listed;
	}
	if (contacts > INT32_MAX || !cr_array_reserve(p->context, &now->contacts, contacts) ||
		!cr_array_reserve(p->context, &now->local, contacts))
		return cr_fail_memory(p->context, "the contacts of a step");
	now->contacts.count = now->local.count = contacts;
	return CAROM_SUCCESS;
}

/// Work of filling the rows of the pairs found.
typedef struct fill {
	cr_pipeline *pipeline;
	const cr_results *then;
	cr_results *now;
	const int32_t *before; // [pairs] row of the last step that the pair continues, or -1
} fill;

static void fill_contact(
	const fill *f, const cr_body *a, const cr_raw_contact *raw, const carom_pair *pair, int32_t row, int32_t k)
{
	carom_contact *c = &f->now->contacts.data[pair->first_contact + k];
	*c = cr_contact_of(pair, raw);
	c->pair = row;
	const v3d local = m3d_tmul(&a->rotation, v3d_sub((v3d){ raw->point[0], raw->point[1], raw->point[2] }, a->pose.position));
	f->now->local.data[pair->first_contact + k] = (cr_local_point){ { (float)local.x, (float)local.y, (float)local.z } };
}

static cr_contact_set contacts_of(const cr_results *r, const carom_pair *pair)
{
	return (cr_contact_set){ r->contacts.data + pair->first_contact, r->local.data + pair->first_contact, pair->contact_count };
}

static void fill_task(int64_t begin, int64_t end, int worker, void *task)
{
	const fill *f = task;
	cr_pipeline *p = f->pipeline;
	for (int64_t row = begin; row < end; row++) {
		carom_pair *pair = &f->now->pairs.data[row];
		if (row + 2 < end)
			__builtin_prefetch(cr_contacts_at(&p->frame, p->found.data[row + 2].contacts.first));
		const cr_found_pair *found = &p->found.data[row];
		const cr_raw_contact *contacts = cr_contacts_at(&p->frame, found->contacts.first);
		for (int32_t k = 0; k < pair->contact_count; k++)
			fill_contact(f, &p->bodies[found->a], &contacts[k], pair, (int32_t)row, k);
		cr_set_materials(
			p, &p->bodies[found->a], &p->bodies[found->b], f->now->contacts.data + pair->first_contact, pair->contact_count);
		if (f->before[row] < 0)
			continue;
		const carom_pair *last = &f->then->pairs.data[f->before[row]];
		pair->age = last->age < INT32_MAX ? last->age + 1 : last->age;
		if (pair->contact_count == 0 || last->contact_count == 0)
			continue;
		uint8_t few[FEW_CONTACTS], *used = few;
		if (last->contact_count > FEW_CONTACTS)
			used = cr_arena_alloc(&p->workers[worker].arena, (size_t)last->contact_count);
		if (!used) {
			p->workers[worker].failed = true;
			return;
		}
		const cr_contact_set then = contacts_of(f->then, last), now = contacts_of(f->now, pair);
		const cr_body *a = &p->bodies[found->a], *b = &p->bodies[found->b];
		if (a->reshaped < CR_SHAPE_CHANGED && b->reshaped < CR_SHAPE_CHANGED)
			cr_match_contacts(&then, &now, p->settings.world.match_distance, used);
		else if (a->reshaped != CR_FRAME_CHANGED)
			cr_match_places(&then, &now, p->settings.world.match_distance, used);
	}
}

static carom_event event_of(const carom_pair *pair, carom_event_kind kind, int32_t row)
{
	return (carom_event){ pair->body_a, pair->body_b, pair->user_data_a, pair->user_data_b, kind, row, pair->user_data,
		pair->shape_a, pair->shape_b };
}

/// Both lists of pairs are sorted: one pass gives the row that each pair continues. Returns how
/// many of the last step have ended.
static int64_t find_before(const cr_results *then, const cr_results *now, int32_t *before)
{
	int64_t j = 0, ended = then->pairs.count;
	for (int64_t i = 0; i < now->pairs.count; i++) {
		while (j < then->pairs.count && compare_pairs(&then->pairs.data[j], &now->pairs.data[i]) < 0)
			j++;
		const bool goes_on = j < then->pairs.count && compare_pairs(&then->pairs.data[j], &now->pairs.data[i]) == 0;
		before[i] = goes_on ? (int32_t)j : -1;
		ended -= goes_on;
	}
	return ended;
}

/// One event for each pair of this step or the last. Pairs that go on take their data along.
static carom_result list_events(cr_pipeline *p, const cr_results *then, cr_results *now, int32_t *before)
{
	if (!cr_array_reserve(p->context, &now->events, now->pairs.count + find_before(then, now, before)))
		return cr_fail_memory(p->context, "the events of a step");
	now->events.count = 0;
	int64_t j = 0;
	for (int64_t i = 0; i <= now->pairs.count; i++) {
		// Those that come before the next pair, or after the last, have ended.
		for (; j < then->pairs.count; j++) {
			if (i < now->pairs.count && compare_pairs(&then->pairs.data[j], &now->pairs.data[i]) >= 0)
				break;
			now->events.data[now->events.count++] = event_of(&then->pairs.data[j], CAROM_EVENT_END, -1);
		}
		if (i == now->pairs.count)
			break;
		now->pairs.data[i].user_data = before[i] >= 0 ? then->pairs.data[before[i]].user_data : 0;
		const carom_event_kind kind = before[i] >= 0 ? CAROM_EVENT_PERSIST : CAROM_EVENT_BEGIN;
		now->events.data[now->events.count++] = event_of(&now->pairs.data[i], kind, (int32_t)i);
		j += before[i] >= 0;
	}
	return CAROM_SUCCESS;
}

carom_result cr_merge(cr_pipeline *p, const cr_results *then, cr_results *now)
{
	if (!join_meshes(p) || (p->has_parts && p->found.count > 1 && !sort_by_bodies(p)))
		return cr_fail_memory(p->context, "the pairs of a step");
	carom_result result = list_pairs(p, now);
	if (result != CAROM_SUCCESS)
		return result;
	int32_t *before = cr_arena_alloc(&p->workers[0].arena, (size_t)now->pairs.count * sizeof *before);
	if (!before)
		return cr_fail_memory(p->context, "the pairs of a step");
	result = list_events(p, then, now, before);
	if (result != CAROM_SUCCESS)
		return result;
	fill task = { p, then, now, before };
	cr_parallel_for(p->context, fill_task, now->pairs.count, PAIRS_PER_TASK, &task);
	return cr_check_workers(p, "the contacts of a step");
}

void cr_results_free(carom_context *context, cr_results *r)
{
	cr_array_free(context, &r->contacts);
	cr_array_free(context, &r->local);
	cr_array_free(context, &r->pairs);
	cr_array_free(context, &r->events);
}

uint64_t cr_results_hash(const cr_results *r)
{
	uint64_t hash = cr_hash_u64(CR_HASH_SEED, (uint64_t)r->contacts.count);
	for (int64_t i = 0; i < r->contacts.count; i++) {
		const carom_contact *c = &r->contacts.data[i];
		hash = cr_hash_u64(hash, (uint64_t)c->body_a.index1 << 32 | c->body_b.index1);
		hash = cr_hash_u64(hash, (uint64_t)c->body_a.generation << 32 | c->body_b.generation);
		hash = cr_hash_u64(hash, (uint64_t)(uint32_t)c->feature_a << 32 | (uint32_t)c->feature_b);
		hash = cr_hash_u64(hash, (uint64_t)c->kind);
		for (int k = 0; k < 3; k++) {
			hash = cr_hash_double(hash, c->point[k]);
			hash = cr_hash_double(hash, c->normal[k]);
		}
		hash = cr_hash_double(hash, c->depth);
		// Only where there are some, so that hashes of worlds without materials are those of
		// earlier recordings.
		if (c->material_a != 0 || c->material_b != 0)
			hash = cr_hash_u64(hash, (uint64_t)c->material_a << 32 | c->material_b);
		// And those of worlds without parts.
		if (c->shape_a != 0 || c->shape_b != 0)
			hash = cr_hash_u64(hash, ~((uint64_t)c->shape_a << 32 | (uint32_t)c->shape_b));
	}
	return hash;
}
