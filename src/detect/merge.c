/// Second half of the merge stage: pairs with contacts become rows of the views; contacts are matched with the last step's;
/// pairs that begin, persist or end become events. The kept pairs come sorted, so every view is in order as it is written.
/// Counting (in order) gives each pair its place; filling is parallel over pairs.

#include "detect/merge.h"
#include "base/hash.h"
#include "base/parallel.h"

enum { PAIRS_PER_TASK = 256 };

static carom_body_id id_of(const cr_pipeline *p, int32_t body)
{
	return (carom_body_id){ (uint32_t)body + 1, p->bodies[body].generation };
}

static bool is_sensor_pair(const cr_pipeline *p, const cr_pair_work *w)
{
	return p->bodies[w->a].sensor || p->bodies[w->b].sensor;
}

/// Does the pair belong in the view? Sensors tell of overlap only, not of what is ahead (speculative contacts).
static bool is_listed(const cr_pipeline *p, const cr_pair_work *w)
{
	if (!is_sensor_pair(p, w))
		return w->contacts.count > 0;
	for (int64_t i = 0; i < w->contacts.count; i++) {
		if (w->contacts.data[i].depth >= 0)
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
	const int order = compare_ids(a->body_a, b->body_a);
	return order != 0 ? order : compare_ids(a->body_b, b->body_b);
}

/// One row for each pair with contacts, with its place in the view of contacts.
static carom_result list_pairs(cr_pipeline *p, cr_results *now)
{
	if (!cr_array_reserve(p->context, &now->pairs, p->kept.count))
		return cr_fail_memory(p->context, "the pairs of a step");
	now->pairs.count = 0;
	int64_t contacts = 0;
	for (int64_t i = 0; i < p->kept.count; i++) {
		const cr_pair_work *w = &p->work.data[p->kept.data[i]];
		if (!is_listed(p, w))
			continue;
		const bool sensor = is_sensor_pair(p, w);
		now->pairs.data[now->pairs.count++] = (carom_pair){
			.body_a = id_of(p, w->a),
			.body_b = id_of(p, w->b),
			.user_data_a = p->bodies[w->a].user_data,
			.user_data_b = p->bodies[w->b].user_data,
			.first_contact = (int32_t)contacts,
			.contact_count = sensor ? 0 : (int32_t)w->contacts.count,
			.found_count = w->found,
		};
		contacts += sensor ? 0 : w->contacts.count;
	}
	if (contacts > INT32_MAX || !cr_array_reserve(p->context, &now->contacts, contacts) ||
		!cr_array_reserve(p->context, &now->local, contacts))
		return cr_fail_memory(p->context, "the contacts of a step");
	now->contacts.count = now->local.count = contacts;
	return CAROM_SUCCESS;
}

/// Work of filling: which kept pair is which row, and which row of the last step it continues.
typedef struct fill {
	cr_pipeline *pipeline;
	const cr_results *then;
	cr_results *now;
	const int32_t *kept;   // [pairs] index into pipeline->kept
	const int32_t *before; // [pairs] row of the last step, or -1
} fill;

static void fill_contact(const fill *f, const cr_pair_work *w, const carom_pair *pair, int32_t row, int32_t k)
{
	const cr_raw_contact *raw = &w->contacts.data[k];
	const cr_body *a = &f->pipeline->bodies[w->a];
	carom_contact *c = &f->now->contacts.data[pair->first_contact + k];
	*c = (carom_contact){
		.body_a = pair->body_a,
		.body_b = pair->body_b,
		.point = { raw->point[0], raw->point[1], raw->point[2] },
		.normal = { raw->normal[0], raw->normal[1], raw->normal[2] },
		.depth = raw->depth,
		.feature_a = raw->feature_a,
		.feature_b = raw->feature_b,
		.kind = (carom_contact_kind)raw->kind,
		.pair = row,
	};
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
		const cr_pair_work *w = &p->work.data[p->kept.data[f->kept[row]]];
		if (row + 2 < end)
			__builtin_prefetch(p->work.data[p->kept.data[f->kept[row + 2]]].contacts.data);
		for (int32_t k = 0; k < pair->contact_count; k++)
			fill_contact(f, w, pair, (int32_t)row, k);
		if (f->before[row] < 0)
			continue;
		const carom_pair *last = &f->then->pairs.data[f->before[row]];
		pair->age = last->age < INT32_MAX ? last->age + 1 : last->age;
		if (pair->contact_count == 0 || last->contact_count == 0)
			continue;
		uint8_t *used = cr_arena_alloc(&p->workers[worker].arena, (size_t)last->contact_count);
		if (!used) {
			p->workers[worker].failed = true;
			return;
		}
		const cr_contact_set then = contacts_of(f->then, last), now = contacts_of(f->now, pair);
		cr_match_contacts(&then, &now, p->settings.match_distance, used);
	}
}

static carom_event event_of(const carom_pair *pair, carom_event_kind kind, int32_t row)
{
	return (carom_event){ pair->body_a, pair->body_b, pair->user_data_a, pair->user_data_b, kind, row };
}

/// Both lists of pairs are sorted: one pass gives the events and the row that each pair continues.
static carom_result list_events(cr_pipeline *p, const cr_results *then, cr_results *now, int32_t *before)
{
	if (!cr_array_reserve(p->context, &now->events, then->pairs.count + now->pairs.count))
		return cr_fail_memory(p->context, "the events of a step");
	now->events.count = 0;
	int64_t i = 0, j = 0;
	while (i < now->pairs.count || j < then->pairs.count) {
		const carom_pair *new_pair = i < now->pairs.count ? &now->pairs.data[i] : NULL;
		const carom_pair *old_pair = j < then->pairs.count ? &then->pairs.data[j] : NULL;
		const int order = !old_pair ? 1 : !new_pair ? -1 : compare_pairs(old_pair, new_pair);
		carom_event *event = &now->events.data[now->events.count++];
		if (order < 0) {
			*event = event_of(old_pair, CAROM_EVENT_END, -1);
			j++;
			continue;
		}
		*event = event_of(new_pair, order == 0 ? CAROM_EVENT_PERSIST : CAROM_EVENT_BEGIN, (int32_t)i);
		before[i++] = order == 0 ? (int32_t)j : -1;
		j += order == 0;
	}
	return CAROM_SUCCESS;
}

carom_result cr_merge(cr_pipeline *p, const cr_results *then, cr_results *now)
{
	carom_result result = list_pairs(p, now);
	if (result != CAROM_SUCCESS)
		return result;
	const size_t rows = (size_t)now->pairs.count;
	int32_t *kept = cr_arena_alloc(&p->workers[0].arena, rows * sizeof *kept);
	int32_t *before = cr_arena_alloc(&p->workers[0].arena, rows * sizeof *before);
	if (!kept || !before)
		return cr_fail_memory(p->context, "the pairs of a step");
	int64_t row = 0;
	for (int64_t i = 0; i < p->kept.count; i++) {
		if (is_listed(p, &p->work.data[p->kept.data[i]]))
			kept[row++] = (int32_t)i;
	}
	result = list_events(p, then, now, before);
	if (result != CAROM_SUCCESS)
		return result;
	fill task = { p, then, now, kept, before };
	cr_parallel_for(p->context, fill_task, now->pairs.count, PAIRS_PER_TASK, &task);
	for (int i = 0; i < p->context->thread_count; i++) {
		if (p->workers[i].failed)
			return cr_fail_memory(p->context, "the contacts of a step");
	}
	return CAROM_SUCCESS;
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
	}
	return hash;
}
