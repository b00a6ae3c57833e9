/// Second half of the merge stage: pairs with contacts become rows of the views; contacts are
/// matched with the last step's; pairs that begin, persist or end become events. The pairs of
/// meshes, the simple pairs and those of surfaces come sorted and are joined in order, so every
/// view is in order as it is written (where bodies have parts, after one sort). Counting (in order)
/// gives each pair its place; filling is parallel over pairs.
///
/// Contacts and events are written over those of the last step, so that there is one array of each.
/// Users see these until the step has succeeded: so filling comes last, and cannot fail. A pair
/// notes its old contacts before it writes its new ones. That is enough while no pair writes where
/// another one's old contacts are. Rows are in order in both steps: so it holds where each row
/// begins neither before the old contacts of the rows above it end nor after its own old ones
/// begin (is_in_place). Mostly no count changes, and they are where they were. Otherwise all old
/// contacts are noted first.

#include "contact/merge.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/radix.h"
#include "contact/material.h"
#include <string.h>

enum { PAIRS_PER_TASK = 256, CONTACTS_PER_TASK = 4096, FEW_CONTACTS = 64 };

static bool is_sensor_pair(const cr_pipeline *p, const cr_found_pair *f)
{
	return p->bodies[f->a].sensor || p->bodies[f->b].sensor;
}

/// The contacts of a pair that was found.
static const cr_raw_contact *raw_of(const cr_pipeline *p, const cr_found_pair *f)
{
	return f->simple ? cr_simple_contacts_at(&p->frame, f->contacts.first) : cr_contacts_at(&p->frame, f->contacts.first);
}

/// The pair of surfaces that was joined to those found; NULL: a pair of the stages.
static cr_surface_pair *surface_of(const cr_surface_pairs *surfaces, const cr_found_pair *f)
{
	int64_t low = 0, high = surfaces && f->contacts.count == 0 ? surfaces->count : 0;
	const int64_t count = high;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		const cr_surface_pair *s = &surfaces->data[middle];
		if (s->a < f->a || (s->a == f->a && s->b < f->b))
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && surfaces->data[low].a == f->a && surfaces->data[low].b == f->b ? &surfaces->data[low] : NULL;
}

/// Does the pair belong in the view? Sensors tell of overlap only, not of speculative contacts.
static bool is_listed(const cr_pipeline *p, const cr_surface_pairs *surfaces, const cr_found_pair *f)
{
	if (f->contacts.count == 0)
		return surface_of(surfaces, f) != NULL;
	if (!is_sensor_pair(p, f))
		return true;
	const cr_raw_contact *contacts = raw_of(p, f);
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

/// Does a pair, if there is one, belong behind that of two parts?
static bool is_after(const cr_found_pair *f, int32_t a, int32_t b) { return f && (f->a > a || (f->a == a && f->b > b)); }

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
		if (is_after(simple, w->a, w->b)) {
			p->found.data[--end] = p->found.data[--j];
		} else {
			p->found.data[--end] = (cr_found_pair){ w->a, w->b, w->contacts, (uint32_t)w->found & INT32_MAX, 0 };
			i--;
		}
	}
	return true;
}

/// Put the pairs of surfaces among the others, likewise.
static bool join_surfaces(cr_pipeline *p, const cr_surface_pairs *surfaces)
{
	int64_t i = surfaces->count, j = p->found.count, end = i + j;
	if (!cr_array_reserve(p->context, &p->found, end))
		return false;
	p->found.count = end;
	while (i > 0) {
		const cr_surface_pair *s = &surfaces->data[i - 1];
		if (is_after(j > 0 ? &p->found.data[j - 1] : NULL, s->a, s->b)) {
			p->found.data[--end] = p->found.data[--j];
		} else {
			p->found.data[--end] = (cr_found_pair){ .a = s->a, .b = s->b };
			i--;
		}
	}
	return true;
}

/// Give the row of a pair of surfaces its places in the views of surface contacts.
static void link_surface(cr_surface_pair *s, int32_t row, carom_pair *pair)
{
	s->row = row;
	pair->first_surface_contact = (int32_t)s->contacts.first;
	pair->surface_contact_count = s->contacts.count;
	pair->first_surface_shape_contact = (int32_t)s->shape_contacts.first;
	pair->surface_shape_contact_count = s->shape_contacts.count;
}

/// Leave the pairs that belong in the view in p->found, and make a row for each, with its place in
/// the view of contacts. Returns how many contacts there are. -1: out of memory.
static int64_t list_pairs(cr_pipeline *p, const cr_surface_pairs *surfaces, cr_results *now)
{
	int64_t count = 0, contacts = 0;
	for (int64_t i = 0; i < p->found.count; i++) {
		if (is_listed(p, surfaces, &p->found.data[i]))
			p->found.data[count++] = p->found.data[i];
	}
	p->found.count = count;
	if (count > INT32_MAX || !cr_array_reserve(p->context, &now->pairs, count))
		return -1;
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
			.found_count = (int32_t)f->found,
			.shape_a = p->bodies[f->a].part,
			.shape_b = p->bodies[f->b].part,
		};
		cr_surface_pair *surface = surface_of(surfaces, f);
		if (surface)
			link_surface(surface, (int32_t)i, &now->pairs.data[i]);
		contacts += listed;
	}
	return contacts;
}

// ---- Room ----

/// How many elements to make room for where want did not fit: a quarter more than there were, if
/// the memory allows it.
static int64_t roomy(const carom_context *context, int64_t capacity, int64_t want, size_t element)
{
	const int64_t more = capacity + capacity / 4;
	return more > want && cr_has_room(context, (size_t)more * element) ? more : want;
}

/// Do so many elements fit into the array of the last step?
#define FITS_OVER(then, want) ((then)->data && (want) <= (then)->capacity)
/// Make room for so many in an array of this step. false: out of memory.
#define MAKE_ROOM(context, now, then, want) \
	cr_array_reserve_fresh((context), (now), roomy((context), (then)->capacity, (want), sizeof *(now)->data))
/// Let this step have the array of the last one.
#define TAKE_OVER(context, now, then) \
	(cr_array_free((context), (now)), *(now) = *(then), (then)->data = NULL, (then)->count = (then)->capacity = 0)

static bool make_room_for_contacts(cr_merging *m)
{
	cr_results *then = m->then, *now = m->now;
	carom_context *context = m->pipeline->context;
	m->contacts_over = FITS_OVER(&then->contacts, m->contacts) && FITS_OVER(&then->local, m->contacts);
	return m->contacts_over ||
		(MAKE_ROOM(context, &now->contacts, &then->contacts, m->contacts) &&
			MAKE_ROOM(context, &now->local, &then->local, m->contacts));
}

static bool make_room_for_events(cr_merging *m)
{
	m->events_over = FITS_OVER(&m->then->events, m->events);
	return m->events_over || MAKE_ROOM(m->pipeline->context, &m->now->events, &m->then->events, m->events);
}

// ---- Contacts ----

/// Does no pair write over old contacts of another one?
static bool is_in_place(const cr_merging *m)
{
	int32_t old_end = 0;
	for (int64_t i = 0; i < m->now->pairs.count; i++) {
		const int32_t first = m->now->pairs.data[i].first_contact;
		if (first < old_end)
			return false;
		if (m->before[i] < 0)
			continue;
		const carom_pair *last = &m->then->pairs.data[m->before[i]];
		if (first > last->first_contact)
			return false;
		old_end = last->first_contact + last->contact_count;
	}
	return true;
}

static bool has_large_pairs(const cr_results *r)
{
	for (int64_t i = 0; i < r->pairs.count; i++) {
		if (r->pairs.data[i].contact_count > FEW_CONTACTS)
			return true;
	}
	return false;
}

/// Room for noting all old contacts, where they must be. false: out of memory.
static bool plan_past(cr_merging *m)
{
	if ((!m->contacts_over || is_in_place(m)) && !has_large_pairs(m->then))
		return true;
	cr_arena *arena = &m->pipeline->workers[0].arena;
	m->past = cr_arena_alloc(arena, (size_t)m->then->contacts.count * sizeof *m->past);
	m->used = cr_arena_alloc(arena, (size_t)m->then->contacts.count);
	return m->past && m->used;
}

/// Note old contacts from first on.
static void note_past(const cr_merging *m, int32_t first, int32_t count, cr_past_contact *past)
{
	for (int32_t k = 0; k < count; k++)
		past[k] = cr_past_of(&m->old[first + k], &m->old_local[first + k]);
}

static void note_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const cr_merging *m = task;
	note_past(m, (int32_t)begin, (int32_t)(end - begin), m->past + begin);
}

static void fill_contact(
	const cr_merging *m, const cr_body *a, const cr_raw_contact *raw, const carom_pair *pair, int32_t row, int32_t k)
{
	carom_contact *c = &m->now->contacts.data[pair->first_contact + k];
	*c = cr_contact_of(pair, raw);
	c->pair = row;
	const v3d local = m3d_tmul(&a->rotation, v3d_sub((v3d){ raw->point[0], raw->point[1], raw->point[2] }, a->pose.position));
	m->now->local.data[pair->first_contact + k] = (cr_local_point){ { (float)local.x, (float)local.y, (float)local.z } };
}

/// Write the new contacts of a row.
static void fill_row(const cr_merging *m, int64_t row)
{
	const cr_pipeline *p = m->pipeline;
	const carom_pair *pair = &m->now->pairs.data[row];
	const cr_found_pair *found = &p->found.data[row];
	const cr_body *a = &p->bodies[found->a], *b = &p->bodies[found->b];
	const cr_raw_contact *contacts = raw_of(p, found);
	for (int32_t k = 0; k < pair->contact_count; k++)
		fill_contact(m, a, &contacts[k], pair, (int32_t)row, k);
	cr_set_materials(p, a, b, m->now->contacts.data + pair->first_contact, pair->contact_count);
}

/// Match the new contacts of a row with the old ones of the pair.
static void match_row(const cr_merging *m, int64_t row, const cr_past_set *then, uint8_t *used)
{
	const cr_pipeline *p = m->pipeline;
	const carom_pair *pair = &m->now->pairs.data[row];
	const cr_contact_set now = { m->now->contacts.data + pair->first_contact, m->now->local.data + pair->first_contact,
		pair->contact_count };
	const cr_body *a = &p->bodies[p->found.data[row].a], *b = &p->bodies[p->found.data[row].b];
	if (a->reshaped < CR_SHAPE_CHANGED && b->reshaped < CR_SHAPE_CHANGED)
		cr_match_contacts(then, &now, p->settings.world.match_distance, used);
	else if (a->reshaped != CR_FRAME_CHANGED)
		cr_match_places(then, &now, p->settings.world.match_distance, used);
}

static void fill_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const cr_merging *m = task;
	for (int64_t row = begin; row < end; row++) {
		if (row + 2 < end)
			__builtin_prefetch(raw_of(m->pipeline, &m->pipeline->found.data[row + 2]));
		carom_pair *pair = &m->now->pairs.data[row];
		if (m->before[row] < 0) {
			fill_row(m, row);
			continue;
		}
		const carom_pair *last = &m->then->pairs.data[m->before[row]];
		pair->age = last->age < INT32_MAX ? last->age + 1 : last->age;
		cr_past_contact few[FEW_CONTACTS], *past = m->past ? m->past + last->first_contact : few;
		uint8_t few_used[FEW_CONTACTS], *used = m->past ? m->used + last->first_contact : few_used;
		if (!m->past)
			note_past(m, last->first_contact, last->contact_count, few);
		fill_row(m, row);
		if (pair->contact_count > 0 && last->contact_count > 0)
			match_row(m, row, &(cr_past_set){ past, last->contact_count }, used);
	}
}

/// Fill the contacts, over the old ones or beside them. Afterwards then has none.
static void fill_contacts(cr_merging *m)
{
	carom_context *context = m->pipeline->context;
	cr_results *then = m->then, *now = m->now;
	m->old = then->contacts.data;
	m->old_local = then->local.data;
	if (m->past)
		cr_parallel_for(context, note_task, then->contacts.count, CONTACTS_PER_TASK, m);
	if (m->contacts_over) {
		TAKE_OVER(context, &now->contacts, &then->contacts);
		TAKE_OVER(context, &now->local, &then->local);
	}
	now->contacts.count = now->local.count = m->contacts;
	cr_parallel_for(context, fill_task, now->pairs.count, PAIRS_PER_TASK, m);
	cr_array_free(context, &then->contacts);
	cr_array_free(context, &then->local);
}

// ---- Events ----

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

/// Write one event for each pair of this step or the last. Pairs that go on take their data along.
static void list_events(cr_merging *m)
{
	const cr_results *then = m->then;
	cr_results *now = m->now;
	if (m->events_over)
		TAKE_OVER(m->pipeline->context, &now->events, &m->then->events);
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
		now->pairs.data[i].user_data = m->before[i] >= 0 ? then->pairs.data[m->before[i]].user_data : 0;
		const carom_event_kind kind = m->before[i] >= 0 ? CAROM_EVENT_PERSIST : CAROM_EVENT_BEGIN;
		now->events.data[now->events.count++] = event_of(&now->pairs.data[i], kind, (int32_t)i);
		j += m->before[i] >= 0;
	}
	cr_array_free(m->pipeline->context, &m->then->events);
}

carom_result cr_begin_merge(cr_pipeline *p, cr_surface_pairs *surfaces, cr_results *then, cr_results *now, cr_merging *m)
{
	*m = (cr_merging){ .pipeline = p, .then = then, .now = now };
	if (!join_meshes(p) || (surfaces && !join_surfaces(p, surfaces)) ||
		(p->has_parts && p->found.count > 1 && !sort_by_bodies(p)))
		return cr_fail_memory(p->context, "the pairs of a step");
	m->contacts = list_pairs(p, surfaces, now);
	if (m->contacts < 0)
		return cr_fail_memory(p->context, "the pairs of a step");
	m->before = cr_arena_alloc(&p->workers[0].arena, (size_t)now->pairs.count * sizeof *m->before);
	if (!m->before)
		return cr_fail_memory(p->context, "the pairs of a step");
	m->events = now->pairs.count + find_before(then, now, m->before);
	if (m->contacts > INT32_MAX || !make_room_for_contacts(m) || !plan_past(m))
		return cr_fail_memory(p->context, "the contacts of a step");
	return make_room_for_events(m) ? CAROM_SUCCESS : cr_fail_memory(p->context, "the events of a step");
}

void cr_end_merge(cr_merging *m)
{
	list_events(m);
	fill_contacts(m);
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
