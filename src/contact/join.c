/// Contacts of one pair at one place that push alike become one.
///
/// They come from features that meet there, such as the triangles around a corner. At rest,
/// rounding tells which of these features have a contact. So the one that is left is named by the
/// first of their features, and has place, normal and depth of the deepest.
///
/// Contacts are taken in the order of their features. Each joins the first one before it that is
/// near, has not joined one itself, and pushes alike. So which are one depends on places and order;
/// it must not depend on which body is A. Where the caller says so, the features of B come first in
/// that order, and the places are those on B. Few contacts are compared with all that are
/// left so far; of many, with those that are as far along a direction that few surfaces are across.
/// Cost: a sort, and for each contact those beside it.

#include "base/radix.h"
#include "contact/contact.h"
#include <string.h>

enum { FEW_CONTACTS = 32 };

typedef struct joining {
	const cr_raw_contact *data; // sorted
	int32_t count;
	double distance;
	bool on_b;     // places are those on B's surface
	int32_t *into; // [count] the first one that each joins, or itself
	// of many: in order along the direction
	cr_key *keys;  // [count]
	int32_t *rank; // [count] of each contact in keys
	double *along; // [count] of each contact
} joining;

/// A coordinate of the place of a contact.
static double place_of(const joining *j, const cr_raw_contact *c, int k)
{
	return j->on_b ? c->point[k] + (double)c->depth * (double)c->normal[k] : c->point[k];
}

static bool are_one(const joining *j, int32_t a, int32_t b)
{
	double sum = 0;
	for (int k = 0; k < 3; k++) {
		const double d = place_of(j, &j->data[a], k) - place_of(j, &j->data[b], k);
		sum += d * d;
	}
	return sum <= j->distance * j->distance && cr_push_alike(&j->data[a], &j->data[b]);
}

static int32_t first_of_few(const joining *j, int32_t number)
{
	for (int32_t i = 0; i < number; i++) {
		if (j->into[i] == i && are_one(j, i, number))
			return i;
	}
	return number;
}

static double place_along(const joining *j, const cr_raw_contact *c)
{
	return 0.53 * place_of(j, c, 0) + 0.62 * place_of(j, c, 1) + 0.58 * place_of(j, c, 2);
}

/// Make keys, rank and along. false: out of memory.
static bool sort_along(joining *j, cr_arena *arena)
{
	const size_t count = (size_t)j->count;
	j->keys = cr_arena_alloc(arena, 2 * count * sizeof *j->keys);
	j->rank = cr_arena_alloc(arena, count * sizeof *j->rank);
	j->along = cr_arena_alloc(arena, count * sizeof *j->along);
	if (!j->keys || !j->rank || !j->along)
		return false;
	for (int32_t i = 0; i < j->count; i++) {
		j->along[i] = place_along(j, &j->data[i]);
		j->keys[i] = (cr_key){ cr_key_of_double(j->along[i]), (uint32_t)i };
	}
	cr_radix_sort(j->keys, j->keys + count, j->count, 64);
	for (int32_t i = 0; i < j->count; i++)
		j->rank[j->keys[i].value] = i;
	return true;
}

static int32_t first_of_many(const joining *j, int32_t number)
{
	// The direction is a little longer than 1, and places have rounding.
	const double reach = 1.001 * j->distance + 1e-15 * fabs(j->along[number]);
	int32_t first = number;
	for (int way = -1; way <= 1; way += 2) {
		for (int32_t at = j->rank[number] + way; at >= 0 && at < j->count; at += way) {
			const int32_t other = (int32_t)j->keys[at].value;
			if (fabs(j->along[other] - j->along[number]) > reach)
				break;
			if (other < first && j->into[other] == other && are_one(j, other, number))
				first = other;
		}
	}
	return first;
}

/// Let each first one have what the deepest of its group has. Returns how many are left.
static int64_t take_deepest(const joining *j, cr_raw_contact *data, int32_t *deepest)
{
	for (int32_t i = 0; i < j->count; i++) {
		const int32_t first = j->into[i];
		deepest[i] = i;
		if (data[i].depth > data[deepest[first]].depth)
			deepest[first] = i;
	}
	int64_t kept = 0;
	for (int32_t i = 0; i < j->count; i++) {
		if (j->into[i] != i)
			continue;
		cr_raw_contact contact = data[deepest[i]];
		contact.kind = data[i].kind;
		contact.feature_a = data[i].feature_a;
		contact.feature_b = data[i].feature_b;
		data[kept++] = contact; // over one that was read before
	}
	return kept;
}

/// Exchange the features of A and B.
static void exchange_features(cr_raw_contacts *contacts)
{
	for (int64_t i = 0; i < contacts->count; i++) {
		cr_raw_contact *c = &contacts->data[i];
		const int32_t feature = c->feature_a;
		c->feature_a = c->feature_b;
		c->feature_b = feature;
	}
}

static void join(cr_worker *worker, cr_raw_contacts *contacts, double distance, bool on_b)
{
	cr_arena *arena = &worker->arena;
	joining j = { .data = contacts->data, .count = (int32_t)contacts->count, .distance = distance, .on_b = on_b };
	j.into = cr_arena_alloc(arena, 2 * (size_t)j.count * sizeof *j.into);
	if (!j.into || (j.count > FEW_CONTACTS && !sort_along(&j, arena))) {
		worker->failed = true;
		return;
	}
	bool joined = false;
	for (int32_t i = 0; i < j.count; i++) {
		j.into[i] = j.count > FEW_CONTACTS ? first_of_many(&j, i) : first_of_few(&j, i);
		joined |= j.into[i] != i;
	}
	if (joined)
		contacts->count = take_deepest(&j, contacts->data, j.into + j.count);
}

void cr_join_contacts(cr_worker *worker, cr_raw_contacts *contacts, double distance, bool on_b)
{
	if (on_b)
		exchange_features(contacts);
	cr_sort_contacts(contacts);
	if (contacts->count >= 2) {
		const cr_arena_mark mark = cr_arena_get_mark(&worker->arena);
		join(worker, contacts, distance, on_b);
		cr_arena_rewind(&worker->arena, &mark);
	}
	if (on_b) {
		exchange_features(contacts);
		cr_sort_contacts(contacts);
	}
}
