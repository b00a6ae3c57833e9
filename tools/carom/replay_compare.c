// Contacts of two worlds as sorted lists of keys, walked side by side.
//
// A contact is known by its pair, its kind, and the vertex or edge that touches; not by the
// triangle that is touched, which may be one or the other where a ray goes through an edge or near
// it. An edge may have several contacts with a body: the deepest of one world goes with the deepest
// of the other.
#include "replay_compare.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct replay_key {
	uint32_t a, b; // body indices
	int32_t kind;
	int32_t feature, second; // second: only where no side has a vertex or edge of its own
	float depth;
} replay_key;

static replay_key key_of(const carom_contact *c)
{
	replay_key key = { c->body_a.index1, c->body_b.index1, (int32_t)c->kind, 0, 0, c->depth };
	switch (c->kind) {
	case CAROM_VERTEX_A:
	case CAROM_EDGE_A: key.feature = c->feature_a; break;
	case CAROM_VERTEX_B:
	case CAROM_EDGE_B: key.feature = c->feature_b; break;
	case CAROM_FACES:
	case CAROM_VOLUMES:
	case CAROM_EDGES:
		key.feature = c->feature_a;
		key.second = c->feature_b;
		break;
	}
	return key;
}

#define ORDER(x, y) \
	if ((x) != (y)) \
	return (x) < (y) ? -1 : 1

static int compare_keys(const replay_key *p, const replay_key *q)
{
	ORDER(p->a, q->a);
	ORDER(p->b, q->b);
	ORDER(p->kind, q->kind);
	ORDER(p->feature, q->feature);
	ORDER(p->second, q->second);
	return 0;
}

/// Order by keys, then the deeper first.
static int compare_for_sort(const void *p, const void *q)
{
	const replay_key *x = p, *y = q;
	const int order = compare_keys(x, y);
	return order ? order : (x->depth < y->depth) - (x->depth > y->depth);
}

static bool make_keys(replay_compare *c, int side, carom_contact_view contacts)
{
	if (contacts.count > c->capacity[side]) {
		replay_key *grown = realloc(c->keys[side], 2 * (size_t)contacts.count * sizeof *grown);
		if (!grown)
			return false;
		c->keys[side] = grown;
		c->capacity[side] = 2 * contacts.count;
	}
	for (int32_t i = 0; i < contacts.count; i++)
		c->keys[side][i] = key_of(&contacts.data[i]);
	if (contacts.count > 0)
		qsort(c->keys[side], (size_t)contacts.count, sizeof *c->keys[side], compare_for_sort);
	return true;
}

static void compare_contacts(const replay_compare *c, int32_t count, int32_t full_count, replay_differences *d)
{
	d->contacts = full_count;
	for (int32_t i = 0, k = 0; i < count || k < full_count;) {
		const int order = i == count ? 1 : k == full_count ? -1 : compare_keys(&c->keys[0][i], &c->keys[1][k]);
		if (order < 0) {
			d->extra++;
		} else if (order > 0) {
			d->missing++;
			if ((double)c->keys[1][k].depth > d->deepest_missing)
				d->deepest_missing = (double)c->keys[1][k].depth;
		}
		i += order <= 0;
		k += order >= 0;
	}
}

/// Pairs come sorted.
static void compare_pairs(carom_pair_view pairs, carom_pair_view full, replay_differences *d)
{
	d->pairs = full.count;
	for (int32_t i = 0, k = 0; i < pairs.count || k < full.count;) {
		int order = i == pairs.count ? 1 : -1;
		if (i < pairs.count && k < full.count) {
			const carom_pair *p = &pairs.data[i], *q = &full.data[k];
			const replay_key x = { .a = p->body_a.index1, .b = p->body_b.index1 };
			const replay_key y = { .a = q->body_a.index1, .b = q->body_b.index1 };
			order = compare_keys(&x, &y);
		}
		d->pairs_extra += order < 0;
		d->pairs_missing += order > 0;
		i += order <= 0;
		k += order >= 0;
	}
}

void replay_compare_note(replay_compare *c, const carom_world *world)
{
	const carom_stats s = carom_world_stats(world);
	c->steps_since_full = s.pairs_full == 0 && s.pairs_iterative > 0 ? c->steps_since_full + 1 : 0;
}

bool replay_compare_add(replay_compare *c, const carom_world *world, const carom_world *full)
{
	const carom_contact_view contacts = carom_world_contacts(world), of_full = carom_world_contacts(full);
	if (!make_keys(c, 0, contacts) || !make_keys(c, 1, of_full))
		return false;
	replay_differences *last = &c->last, *all = &c->all;
	*last = (replay_differences){ 0 };
	compare_contacts(c, contacts.count, of_full.count, last);
	compare_pairs(carom_world_pairs(world), carom_world_pairs(full), last);
	all->contacts += last->contacts;
	all->missing += last->missing;
	all->extra += last->extra;
	all->pairs += last->pairs;
	all->pairs_missing += last->pairs_missing;
	all->pairs_extra += last->pairs_extra;
	if (last->deepest_missing > all->deepest_missing)
		all->deepest_missing = last->deepest_missing;
	return true;
}

void replay_compare_print_json(const replay_compare *c, cJSON *json)
{
	cJSON *object = cJSON_AddObjectToObject(json, "against_full");
	cJSON_AddNumberToObject(object, "contacts", (double)c->all.contacts);
	cJSON_AddNumberToObject(object, "missing", (double)c->all.missing);
	cJSON_AddNumberToObject(object, "extra", (double)c->all.extra);
	cJSON_AddNumberToObject(object, "deepest_missing", c->all.deepest_missing);
	cJSON_AddNumberToObject(object, "pairs", (double)c->all.pairs);
	cJSON_AddNumberToObject(object, "pairs_missing", (double)c->all.pairs_missing);
	cJSON_AddNumberToObject(object, "pairs_extra", (double)c->all.pairs_extra);
	cJSON_AddNumberToObject(object, "contacts_last_step", (double)c->last.contacts);
	cJSON_AddNumberToObject(object, "missing_last_step", (double)c->last.missing);
	cJSON_AddNumberToObject(object, "extra_last_step", (double)c->last.extra);
	cJSON_AddNumberToObject(object, "deepest_missing_last_step", c->last.deepest_missing);
	cJSON_AddNumberToObject(object, "iterative_steps_since_full", (double)c->steps_since_full);
}

static void print_differences(const char *when, const replay_differences *d)
{
	printf(
		"  %-10s %lld of %lld contacts missing (%.4g %%), the deepest %.4g m; %lld extra; pairs: %lld of %lld missing, %lld extra\n",
		when, (long long)d->missing, (long long)d->contacts,
		d->contacts > 0 ? 100.0 * (double)d->missing / (double)d->contacts : 0, d->deepest_missing, (long long)d->extra,
		(long long)d->pairs_missing, (long long)d->pairs, (long long)d->pairs_extra);
}

void replay_compare_print_text(const replay_compare *c)
{
	printf("\nagainst full steps (%lld steps since a pair was done in full)\n", (long long)c->steps_since_full);
	print_differences("all steps", &c->all);
	print_differences("last step", &c->last);
}

void replay_compare_free(replay_compare *c)
{
	free(c->keys[0]);
	free(c->keys[1]);
}
