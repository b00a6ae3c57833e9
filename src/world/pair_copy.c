/// Copying the memory of pairs out of a pipeline and back. See pair_copy.h.
///
/// The lists of a memory (watched samples, near triangles, contacts that may be taken over, poses)
/// lie one after the other in one block of bytes. Lists that no longer hold are left out. Cost:
/// O(pairs + their lists).

#include "world/pair_copy.h"
#include <string.h>

static void copy_bytes(void *to, const void *from, size_t bytes)
{
	if (bytes > 0)
		memcpy(to, from, bytes);
}

enum { LISTS = 5 + CR_ROLES };

typedef struct list {
	void *data;
	size_t bytes;
} list;

/// contacts: the list that holds the contacts which the pair may take over.
static void get_lists(const cr_kept *kept, const cr_list *contacts, const cr_pair_memory *m, list lists[LISTS])
{
	for (int side = 0; side < 2; side++)
		lists[side] = (list){ cr_watches_at(kept, m->watched[side].first), (size_t)m->watched[side].count * sizeof(cr_watch) };
	const cr_span near = m->near.pairs;
	lists[2] = (list){ cr_near_at(kept, near.first), (size_t)cr_near_room(&m->near, near.count) * sizeof(uint32_t) };
	lists[3] = (list){ cr_near_gaps_at(kept, near.first), (size_t)cr_lanes_of(near.count) * sizeof(float) };
	const cr_span rest = m->rest.contacts;
	lists[4] = (list){ cr_list_at(contacts, 0, rest.first), (size_t)rest.count * sizeof(cr_raw_contact) };
	for (int k = 0; k < CR_ROLES; k++)
		lists[5 + k] = m->poses.kept[k] ? (list){ cr_kept_pose(kept, m, k), sizeof(cr_reference) } : (list){ 0 };
}

/// A memory without the lists that no longer hold. Of the contacts that may be taken over run is 1.
static cr_pair_memory trim(const cr_pipeline *p, const cr_pair_memory *memory)
{
	cr_pair_memory m = *memory;
	cr_trim_memory(&m);
	if (m.rest.run == p->run)
		m.rest.run = 1;
	else
		m.rest = (cr_rest){ 0 };
	return m;
}

static const cr_list *last_contacts(const cr_pipeline *p) { return &p->frame.contacts[p->frame.now]; }

static bool is_body(const cr_copy_source *from, int32_t number) { return number < from->count && from->bodies[number].alive; }

/// Is the memory of a pair to be copied?
static bool is_live(const cr_copy_source *from, int32_t a, int32_t b) { return is_body(from, a) && is_body(from, b); }

static int64_t count_list_bytes(const cr_pipeline *p, int32_t slot)
{
	const cr_pair_memory m = trim(p, &p->temporal.slots.data[slot]);
	list lists[LISTS];
	get_lists(&p->memories[p->keeping], last_contacts(p), &m, lists);
	size_t bytes = 0;
	for (int k = 0; k < LISTS; k++)
		bytes += lists[k].bytes;
	return (int64_t)bytes;
}

bool cr_reserve_pair_copy(carom_context *context, const cr_copy_source *from, cr_pair_copy *s)
{
	const cr_temporal *t = &from->pipeline->temporal;
	int64_t pairs = 0, bytes = 0;
	for (int64_t i = 0; i < t->pairs.count; i++) {
		if (!is_live(from, t->pairs.data[i].a, t->pairs.data[i].b))
			continue;
		pairs++;
		bytes += count_list_bytes(from->pipeline, t->slot.data[i]);
	}
	for (int64_t i = 0; i < t->parked.records.count; i++) {
		const cr_stored_pair *pair = &t->parked.records.data[i];
		if (pair->a < 0 || !is_live(from, pair->a, pair->b))
			continue;
		pairs++;
		bytes += count_list_bytes(from->pipeline, t->parked_slot.data[i]);
	}
	return cr_array_reserve(context, &s->pairs, pairs) && cr_array_reserve(context, &s->memories, pairs) &&
		cr_array_reserve(context, &s->parked, 2 * (int64_t)t->parked.count) && cr_array_reserve(context, &s->lists, bytes);
}

int64_t cr_pair_copy_bytes(const cr_pair_copy *s)
{
	return s->pairs.capacity * (int64_t)sizeof *s->pairs.data + s->memories.capacity * (int64_t)sizeof *s->memories.data +
		s->parked.capacity * (int64_t)sizeof *s->parked.data + s->lists.capacity;
}

void cr_free_pair_copy(carom_context *context, cr_pair_copy *s)
{
	cr_array_free(context, &s->pairs);
	cr_array_free(context, &s->memories);
	cr_array_free(context, &s->parked);
	cr_array_free(context, &s->lists);
}

static void copy_memory(const cr_copy_source *from, cr_body_pair pair, int32_t slot, cr_pair_copy *s)
{
	const cr_pipeline *p = from->pipeline;
	if (!is_live(from, pair.a, pair.b))
		return;
	cr_pair_memory *to = &s->memories.data[s->memories.count++];
	*to = trim(p, &p->temporal.slots.data[slot]);
	s->pairs.data[s->pairs.count++] = pair;
	list lists[LISTS];
	get_lists(&p->memories[p->keeping], last_contacts(p), to, lists);
	for (int k = 0; k < LISTS; k++) {
		copy_bytes(s->lists.data + s->lists.count, lists[k].data, lists[k].bytes);
		s->lists.count += (int64_t)lists[k].bytes;
	}
}

static uint64_t key_of(cr_body_pair pair) { return (uint64_t)pair.a << 32 | (uint32_t)pair.b; }

/// List the parked pairs in order. There is room for them and for as much scratch.
static void sort_parked(const cr_temporal *t, cr_pair_copy *s)
{
	s->parked.count = 0;
	for (int64_t i = 0; i < t->parked.records.count; i++) {
		const cr_stored_pair *pair = &t->parked.records.data[i];
		if (pair->a >= 0)
			s->parked.data[s->parked.count++] =
				(cr_key){ key_of((cr_body_pair){ pair->a, pair->b }), (uint32_t)t->parked_slot.data[i] };
	}
	if (s->parked.count > 0)
		cr_radix_sort(s->parked.data, s->parked.data + s->parked.count, s->parked.count, 64);
}

/// All memories in the order of pairs, whether these are parked or not: the first step after they
/// are laid back parks those of bodies at rest.
void cr_fill_pair_copy(const cr_copy_source *from, cr_pair_copy *s)
{
	const cr_temporal *t = &from->pipeline->temporal;
	int64_t next = 0;
	s->pairs.count = s->memories.count = s->lists.count = 0;
	sort_parked(t, s);
	for (int64_t i = 0; i <= t->pairs.count; i++) {
		for (; next < s->parked.count && (i == t->pairs.count || s->parked.data[next].key < key_of(t->pairs.data[i])); next++) {
			const cr_key *parked = &s->parked.data[next];
			const cr_body_pair pair = { (int32_t)(parked->key >> 32), (int32_t)(uint32_t)parked->key };
			copy_memory(from, pair, (int32_t)parked->value, s);
		}
		if (i < t->pairs.count)
			copy_memory(from, t->pairs.data[i], t->slot.data[i], s);
	}
}

/// Where the lists of memories are laid: those of a pipeline that are not in use.
typedef struct laying {
	cr_kept *kept;
	cr_kept_tails tails;
	cr_list *contacts;
	cr_list_tail contact_tail;
	uint64_t run;
} laying;

/// Copy the lists of one memory there and let the memory name them; false: out of memory.
static bool lay_lists(laying *l, cr_pair_memory *m, const uint8_t **bytes)
{
	cr_kept *kept = l->kept;
	cr_kept_tails *tails = &l->tails;
	if (!cr_list_open(l->contacts, &l->contact_tail, (uint32_t)m->rest.contacts.count))
		return false;
	m->rest.contacts.first = l->contact_tail.next;
	l->contact_tail.next += (uint32_t)m->rest.contacts.count;
	m->rest.run = m->rest.run > 0 ? l->run : 0;
	if (!cr_keep_watches(kept, tails, m->watched[0].count, &m->watched[0]) ||
		!cr_keep_watches(kept, tails, m->watched[1].count, &m->watched[1]) ||
		!cr_keep_near(kept, tails, m->near.pairs.count, &m->near))
		return false;
	for (int k = 0; k < CR_ROLES; k++) {
		uint32_t number;
		if (m->poses.kept[k] == 0)
			continue;
		if (!cr_keep_pose(kept, tails, &number))
			return false;
		m->poses.kept[k] = number + 1;
	}
	list lists[LISTS];
	get_lists(kept, l->contacts, m, lists);
	for (int k = 0; k < LISTS; k++) {
		copy_bytes(lists[k].data, *bytes, lists[k].bytes);
		*bytes += lists[k].bytes;
	}
	return true;
}

bool cr_reserve_for_pairs(cr_pipeline *p, const cr_pair_copy *s)
{
	cr_temporal *t = &p->temporal;
	return cr_array_reserve(p->context, &t->pairs, s->pairs.count) &&
		cr_array_reserve(p->context, &t->slots, s->memories.count) && cr_array_reserve(p->context, &t->slot, s->pairs.count);
}

bool cr_lay_pairs(cr_pipeline *p, cr_pair_copy *s, cr_kept_tails *tails)
{
	// Contacts of run 0 are none. A world that has done no step may take those of another over.
	if (p->run == 0)
		p->run = 1;
	laying l = { .kept = &p->memories[1 - p->keeping], .contacts = &p->frame.contacts[1 - p->frame.now], .run = p->run };
	const uint8_t *bytes = s->lists.data;
	cr_list_reset(l.contacts);
	for (int64_t i = 0; i < s->memories.count; i++) {
		if (!lay_lists(&l, &s->memories.data[i], &bytes)) {
			cr_kept_reset(l.kept);
			return false;
		}
	}
	*tails = l.tails;
	return true;
}

void cr_adopt_pairs(cr_pipeline *p, const cr_pair_copy *s, cr_kept_tails tails)
{
	p->resting[0].run = p->resting[1].run = 0;
	cr_temporal *t = &p->temporal;
	t->pairs.count = t->slot.count = s->pairs.count;
	t->slots.count = s->memories.count;
	copy_bytes(t->pairs.data, s->pairs.data, (size_t)s->pairs.count * sizeof *s->pairs.data);
	copy_bytes(t->slots.data, s->memories.data, (size_t)s->memories.count * sizeof *s->memories.data);
	for (int64_t i = 0; i < s->pairs.count; i++)
		t->slot.data[i] = (int32_t)i;
	t->free.count = t->next_slot.count = 0;
	cr_pair_store_clear(&t->parked);
	cr_change_kept(p, tails);
	cr_frame_turn(&p->frame);
}
