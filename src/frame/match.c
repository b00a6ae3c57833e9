/// Matching of contacts between steps. See match.h.

#include "frame/match.h"
#include <math.h>
#include <string.h>

// Patches with more unmatched contacts than this are not searched by distance: the search is
// quadratic, and a solver gets a few.
enum { SEARCH_LIMIT = 64 };

static void carry_over(carom_contact *now, const cr_past_contact *then)
{
	now->age = cr_next_age(then->age);
	memcpy(now->impulse, then->impulse, sizeof now->impulse);
}

static int compare_features(const cr_past_contact *a, const carom_contact *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->feature_a != b->feature_a)
		return a->feature_a < b->feature_a ? -1 : 1;
	return (a->feature_b > b->feature_b) - (a->feature_b < b->feature_b);
}

/// Both sets are sorted by features: one pass.
static void match_equal(const cr_past_set *then, const cr_contact_set *now, uint8_t *used)
{
	for (int32_t i = 0, j = 0; i < now->count && j < then->count;) {
		const int order = compare_features(&then->contacts[j], &now->contacts[i]);
		if (order == 0) {
			carry_over(&now->contacts[i++], &then->contacts[j]);
			used[j++] = 1;
		} else if (order < 0) {
			j++;
		} else {
			i++;
		}
	}
}

/// The first of sorted contacts that is of a kind or a later one. kinds: that of the first; each
/// other one is stride bytes on.
static int32_t first_of_kind(const void *kinds, size_t stride, int32_t count, carom_contact_kind kind)
{
	int32_t i = 0;
	while (i < count && *(const carom_contact_kind *)((const char *)kinds + (size_t)i * stride) < kind)
		i++;
	return i;
}

static int32_t first_now(const cr_contact_set *set, carom_contact_kind kind)
{
	return first_of_kind(&set->contacts->kind, sizeof *set->contacts, set->count, kind);
}

static int32_t first_then(const cr_past_set *set, carom_contact_kind kind)
{
	return first_of_kind(&set->contacts->kind, sizeof *set->contacts, set->count, kind);
}

/// Vertices of A that moved on to another triangle: contacts of this kind are sorted by their
/// vertex, so one pass again.
static void match_vertices_of_a(const cr_past_set *then, const cr_contact_set *now, uint8_t *used)
{
	int32_t i = first_now(now, CAROM_VERTEX_A), j = first_then(then, CAROM_VERTEX_A);
	while (i < now->count && j < then->count && now->contacts[i].kind == CAROM_VERTEX_A &&
		then->contacts[j].kind == CAROM_VERTEX_A) {
		const int32_t vertex = now->contacts[i].feature_a, old_vertex = then->contacts[j].feature_a;
		if (old_vertex < vertex || (old_vertex == vertex && used[j])) {
			j++;
		} else if (old_vertex > vertex || now->contacts[i].age > 0) {
			i++;
		} else {
			carry_over(&now->contacts[i++], &then->contacts[j]);
			used[j++] = 1;
		}
	}
}

/// Vertices of B: sorted by the triangle of A first, so each looks through the old ones of its
/// kind. A vertex gives one contact a pair.
static void match_vertices_of_b(const cr_past_set *then, const cr_contact_set *now, uint8_t *used)
{
	const int32_t first = first_then(then, CAROM_VERTEX_B), end = first_then(then, CAROM_VERTEX_B + 1);
	for (int32_t i = first_now(now, CAROM_VERTEX_B); i < now->count && now->contacts[i].kind == CAROM_VERTEX_B; i++) {
		if (now->contacts[i].age > 0)
			continue;
		for (int32_t j = first; j < end; j++) {
			if (used[j] || then->contacts[j].feature_b != now->contacts[i].feature_b)
				continue;
			carry_over(&now->contacts[i], &then->contacts[j]);
			used[j] = 1;
			break;
		}
	}
}

static double squared_distance(const cr_local_point *a, const cr_local_point *b)
{
	double sum = 0;
	for (int k = 0; k < 3; k++) {
		const double d = (double)a->p[k] - b->p[k];
		sum += d * d;
	}
	return sum;
}

/// The old contacts that no new one has continued, with their places in the frame of body A.
typedef struct leftovers {
	int32_t number[SEARCH_LIMIT];
	cr_local_point local[SEARCH_LIMIT];
	int32_t count;
} leftovers;

static void list_leftovers(const cr_past_set *then, const uint8_t *used, leftovers *left)
{
	const m3d rotation = then->pose ? m3d_from_quat(then->pose->orientation) : (m3d){ 0 };
	left->count = 0;
	for (int32_t j = 0; j < then->count; j++) {
		if (used[j])
			continue;
		const cr_past_contact *c = &then->contacts[j];
		left->number[left->count] = j;
		left->local[left->count++] = then->pose ? cr_local_point_of(c->at.point, then->pose->position, &rotation) : c->at.local;
	}
}

/// Take the nearest one off the list, which stays in order. Returns its number; -1: none is within
/// the distance.
static int32_t take_nearest(leftovers *left, const cr_local_point *local, double distance)
{
	int32_t best = -1;
	double limit = distance * distance;
	for (int32_t i = 0; i < left->count; i++) {
		const double d = squared_distance(local, &left->local[i]);
		if (d <= limit) {
			limit = d;
			best = i;
		}
	}
	if (best < 0)
		return -1;
	const int32_t number = left->number[best], after = --left->count - best;
	memmove(&left->number[best], &left->number[best + 1], (size_t)after * sizeof *left->number);
	memmove(&left->local[best], &left->local[best + 1], (size_t)after * sizeof *left->local);
	return number;
}

/// Whatever has no partner yet, by distance. Places are worked out here alone: mostly one of the
/// two steps has nothing left.
static void match_nearest(const cr_past_set *then, const cr_contact_set *now, double distance, const uint8_t *used)
{
	int32_t old_left = 0, new_left = 0;
	for (int32_t j = 0; j < then->count; j++)
		old_left += !used[j];
	for (int32_t i = 0; i < now->count; i++)
		new_left += now->contacts[i].age == 0;
	if (old_left == 0 || new_left == 0 || old_left > SEARCH_LIMIT || new_left > SEARCH_LIMIT)
		return;
	leftovers left;
	list_leftovers(then, used, &left);
	const m3d rotation = m3d_from_quat(now->pose->orientation);
	for (int32_t i = 0; i < now->count && left.count > 0; i++) {
		if (now->contacts[i].age > 0)
			continue;
		const cr_local_point local = cr_local_point_of(now->contacts[i].point, now->pose->position, &rotation);
		const int32_t j = take_nearest(&left, &local, distance);
		if (j >= 0)
			carry_over(&now->contacts[i], &then->contacts[j]);
	}
}

void cr_match_places(const cr_past_set *then, const cr_contact_set *now, double distance, uint8_t *used)
{
	memset(used, 0, (size_t)then->count);
	match_nearest(then, now, distance, used);
}

void cr_match_contacts(const cr_past_set *then, const cr_contact_set *now, double distance, uint8_t *used)
{
	memset(used, 0, (size_t)then->count);
	match_equal(then, now, used);
	match_vertices_of_a(then, now, used);
	match_vertices_of_b(then, now, used);
	match_nearest(then, now, distance, used);
}
