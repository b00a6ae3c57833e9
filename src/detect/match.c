/// Matching of contacts between steps. See match.h.

#include "detect/match.h"
#include <math.h>
#include <string.h>

// Patches with more unmatched contacts than this are not searched by distance: the search is quadratic, and a solver gets a few.
enum { SEARCH_LIMIT = 64 };

static void carry_over(carom_contact *now, const carom_contact *then)
{
	now->age = then->age < INT32_MAX ? then->age + 1 : then->age;
	memcpy(now->impulse, then->impulse, sizeof now->impulse);
}

static int compare_features(const carom_contact *a, const carom_contact *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->feature_a != b->feature_a)
		return a->feature_a < b->feature_a ? -1 : 1;
	return (a->feature_b > b->feature_b) - (a->feature_b < b->feature_b);
}

/// Both sets are sorted by features: one pass.
static void match_equal(const cr_contact_set *then, const cr_contact_set *now, uint8_t *used)
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

static bool same_vertex(const carom_contact *a, const carom_contact *b)
{
	if (a->kind != b->kind)
		return false;
	return (a->kind == CAROM_VERTEX_A && a->feature_a == b->feature_a) || (a->kind == CAROM_VERTEX_B && a->feature_b == b->feature_b);
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

static int32_t find_partner(const cr_contact_set *then, const cr_contact_set *now, int32_t i, double limit, const uint8_t *used)
{
	int32_t best = -1;
	for (int32_t j = 0; j < then->count; j++) {
		if (used[j])
			continue;
		if (same_vertex(&now->contacts[i], &then->contacts[j]))
			return j;
		const double d = squared_distance(&now->local[i], &then->local[j]);
		if (d <= limit) {
			limit = d;
			best = j;
		}
	}
	return best;
}

void cr_match_contacts(const cr_contact_set *then, const cr_contact_set *now, double distance, uint8_t *used)
{
	memset(used, 0, (size_t)then->count);
	match_equal(then, now, used);
	int32_t left = 0;
	for (int32_t j = 0; j < then->count; j++)
		left += !used[j];
	if (left == 0 || left > SEARCH_LIMIT)
		return;
	// A contact without a partner so far has age 0; searched at most as many times as there are old ones left.
	int32_t searched = 0;
	for (int32_t i = 0; i < now->count && left > 0 && searched < SEARCH_LIMIT; i++) {
		if (now->contacts[i].age > 0)
			continue;
		searched++;
		const int32_t j = find_partner(then, now, i, distance * distance, used);
		if (j >= 0) {
			carry_over(&now->contacts[i], &then->contacts[j]);
			used[j] = 1;
			left--;
		}
	}
}
