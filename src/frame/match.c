/// Matching of contacts between steps. See match.h.

#include "frame/match.h"
#include <math.h>
#include <string.h>

// Patches with more unmatched contacts than this are not searched by distance: the search is
// quadratic, and a solver gets a few.
// Features that more contacts share are matched in order.
enum { SEARCH_LIMIT = 64, MOST_NAMESAKES = 16 };

static int compare_features(const cr_past_contact *a, const carom_contact *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->feature_a != b->feature_a)
		return a->feature_a < b->feature_a ? -1 : 1;
	return (a->feature_b > b->feature_b) - (a->feature_b < b->feature_b);
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

static v3d in_frame(const carom_pose *pose, const float n[3])
{
	const m3d rotation = m3d_from_quat(pose->orientation);
	return m3d_tmul(&rotation, v3d_from_floats(n));
}

/// Is the normal more than 90 degrees away, in the world and in the frame of A? Mostly the world
/// alone tells that it is not.
static bool is_turned(const cr_past_set *then, const cr_past_contact *old, const cr_contact_set *now, const carom_contact *new)
{
	return v3d_dot(v3d_from_floats(old->normal), v3d_from_floats(new->normal)) < 0 &&
		v3d_dot(in_frame(then->pose, old->normal), in_frame(now->pose, new->normal)) < 0;
}

// ---- Equal features ----

/// Places of contacts in the frame of body A. The rotations are worked out when they are asked for.
typedef struct places {
	const cr_past_set *then;
	const cr_contact_set *now;
	double distance;
	bool turned, moved;      // the rotations of A are known, and the motion of B in its frame
	m3d turn_then, turn_now; // of body A
	m3d turn_b[2];           // of body B in the frame of A: then and now
	v3d place_b[2];
} places;

static void begin_places(const cr_past_set *then, const cr_contact_set *now, double distance, places *p)
{
	p->then = then;
	p->now = now;
	p->distance = distance;
	p->turned = p->moved = false;
}

static void know_turns(places *p)
{
	if (p->turned)
		return;
	p->turned = true;
	p->turn_then = m3d_from_quat(p->then->pose->orientation);
	p->turn_now = m3d_from_quat(p->now->pose->orientation);
}

static cr_local_point place_then(const places *p, int32_t number)
{
	const cr_past_contact *c = &p->then->contacts[number];
	return p->then->local ? c->at.local : cr_local_point_of(c->at.point, p->then->pose->position, &p->turn_then);
}

static cr_local_point place_now(const places *p, int32_t number)
{
	return cr_local_point_of(p->now->contacts[number].point, p->now->pose->position, &p->turn_now);
}

/// Where a place on body B is now that was there then.
static cr_local_point carry_along(places *p, const cr_local_point *at)
{
	if (!p->then->pose_b || !p->now->pose_b)
		return *at;
	if (!p->moved) {
		cr_relative_pose(p->then->pose, p->then->pose_b, &p->turn_b[0], &p->place_b[0]);
		cr_relative_pose(p->now->pose, p->now->pose_b, &p->turn_b[1], &p->place_b[1]);
		p->moved = true;
	}
	const v3d on_b = m3d_tmul(&p->turn_b[0], v3d_sub((v3d){ at->p[0], at->p[1], at->p[2] }, p->place_b[0]));
	const v3d now = v3d_add(m3d_mul(&p->turn_b[1], on_b), p->place_b[1]);
	return (cr_local_point){ { (float)now.x, (float)now.y, (float)now.z } };
}

/// Contacts with equal features: first ones, and how many.
typedef struct namesakes {
	int32_t then, old_count;
	int32_t now, new_count;
} namesakes;

static bool may_go_on(const places *p, int32_t then, int32_t now)
{
	return !is_turned(p->then, &p->then->contacts[then], p->now, &p->now->contacts[now]);
}

static void go_on(const places *p, int32_t then, int32_t now, uint8_t *used)
{
	cr_carry_over(&p->now->contacts[now], &p->then->contacts[then]);
	used[then] = 1;
}

/// Let namesakes go on that are within a limit of where the old one is looked for, the nearest two
/// first. Returns how many did.
static int32_t match_nearest_namesakes(const places *p, const namesakes *n, const cr_local_point *old,
	const cr_local_point *new, const double *limit, uint8_t *used)
{
	for (int32_t matched = 0;; matched++) {
		int32_t best_old = -1, best_new = -1;
		double best = INFINITY;
		for (int32_t i = 0; i < n->new_count; i++) {
			for (int32_t j = 0; j < n->old_count && p->now->contacts[n->now + i].age == 0; j++) {
				const double d = squared_distance(&new[i], &old[j]);
				if (used[n->then + j] || !(d <= limit[j] * limit[j]) || !(d < best) || !may_go_on(p, n->then + j, n->now + i))
					continue;
				best = d;
				best_old = n->then + j;
				best_new = n->now + i;
			}
		}
		if (best_old < 0)
			return matched;
		go_on(p, best_old, best_new, used);
	}
}

/// Let namesakes go on that are within distance of where they were. Then those that are where body
/// B would have taken them: a contact that lies on both bodies moves with neither, about as far as
/// B does, so that much is allowed as well. Returns how many are left that could go on.
static int32_t match_by_place(places *p, const namesakes *n, uint8_t *used)
{
	cr_local_point old[MOST_NAMESAKES], new[MOST_NAMESAKES];
	double limit[MOST_NAMESAKES];
	know_turns(p);
	for (int32_t j = 0; j < n->old_count; j++) {
		old[j] = place_then(p, n->then + j);
		limit[j] = p->distance;
	}
	for (int32_t i = 0; i < n->new_count; i++)
		new[i] = place_now(p, n->now + i);
	int32_t left = n->old_count < n->new_count ? n->old_count : n->new_count;
	left -= match_nearest_namesakes(p, n, old, new, limit, used);
	if (left == 0)
		return 0;
	for (int32_t j = 0; j < n->old_count; j++) {
		const cr_local_point was = old[j];
		old[j] = carry_along(p, &was);
		limit[j] += sqrt(squared_distance(&was, &old[j]));
	}
	return left - match_nearest_namesakes(p, n, old, new, limit, used);
}

/// The contacts with the features of a first one of either step.
static namesakes namesakes_of(const places *p, int32_t then, int32_t now)
{
	const cr_past_contact *old = &p->then->contacts[then];
	const carom_contact *new = &p->now->contacts[now];
	const int32_t old_left = p->then->count - then, new_left = p->now->count - now;
	namesakes n = { then, 1, now, 1 };
	while (n.old_count < old_left && compare_features(&old[n.old_count], new) == 0)
		n.old_count++;
	while (n.new_count < new_left && compare_features(old, &new[n.new_count]) == 0)
		n.new_count++;
	return n;
}

/// Does a contact lie within distance of where it was?
static bool is_near(places *p, int32_t then, int32_t now)
{
	know_turns(p);
	const cr_local_point was = place_then(p, then), is = place_now(p, now);
	return squared_distance(&was, &is) <= p->distance * p->distance;
}

/// The contacts of an edge, from a first one of either step. Returns how many are left of those
/// that could go on. Inlined it would take the registers of the pass.
static __attribute__((noinline)) int32_t match_edge(places *p, int32_t then, int32_t now, namesakes *n, uint8_t *used)
{
	*n = namesakes_of(p, then, now);
	if (n->old_count + n->new_count == 2 && !may_go_on(p, then, now))
		return 0;
	if (n->old_count + n->new_count == 2 && is_near(p, then, now)) {
		go_on(p, then, now, used);
		return 0;
	}
	if (n->old_count <= MOST_NAMESAKES && n->new_count <= MOST_NAMESAKES)
		return match_by_place(p, n, used);
	for (int32_t k = 0; k < n->old_count && k < n->new_count; k++) {
		if (may_go_on(p, then + k, now + k))
			go_on(p, then + k, now + k, used);
	}
	return 0;
}

static bool is_of_edge(carom_contact_kind kind) { return kind == CAROM_EDGE_A || kind == CAROM_EDGE_B; }

/// Both sets are sorted by features: one pass. Returns how many are left with equal features.
static int32_t match_equal(places *p, uint8_t *used)
{
	int32_t left = 0;
	for (int32_t i = 0, j = 0; i < p->now->count && j < p->then->count;) {
		const int order = compare_features(&p->then->contacts[j], &p->now->contacts[i]);
		if (order < 0) {
			j++;
		} else if (order > 0) {
			i++;
		} else if (!is_of_edge(p->now->contacts[i].kind)) {
			if (may_go_on(p, j, i))
				go_on(p, j, i, used);
			j++;
			i++;
		} else {
			namesakes n;
			left += match_edge(p, j, i, &n, used);
			j += n.old_count;
			i += n.new_count;
		}
	}
	return left;
}

/// May the contact have gone so far? Any way where the bodies slide fast: then names are all that
/// tells. Else not from one end of an edge to the other.
static bool may_have_gone(places *p, int32_t then, int32_t now, double far)
{
	const cr_local_point was = place_then(p, then), is = place_now(p, now), carried = carry_along(p, &was);
	return squared_distance(&was, &carried) > p->distance * p->distance || squared_distance(&was, &is) <= far * far;
}

/// Equal features of those that are left.
static __attribute__((noinline)) void match_left(places *p, double far, uint8_t *used)
{
	know_turns(p);
	for (int32_t i = 0, j = 0; i < p->now->count && j < p->then->count;) {
		const int order = compare_features(&p->then->contacts[j], &p->now->contacts[i]);
		if (order < 0 || used[j]) {
			j++;
		} else if (order > 0 || p->now->contacts[i].age > 0) {
			i++;
		} else {
			if (may_go_on(p, j, i) && may_have_gone(p, j, i, far))
				go_on(p, j, i, used);
			i++;
			j++;
		}
	}
}

// ---- Vertices on another triangle ----

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
		} else if (is_turned(then, &then->contacts[j], now, &now->contacts[i])) {
			j++;
		} else {
			cr_carry_over(&now->contacts[i++], &then->contacts[j]);
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
			if (used[j] || then->contacts[j].feature_b != now->contacts[i].feature_b ||
				is_turned(then, &then->contacts[j], now, &now->contacts[i]))
				continue;
			cr_carry_over(&now->contacts[i], &then->contacts[j]);
			used[j] = 1;
			break;
		}
	}
}

// ---- The nearest ----

/// The old contacts that no new one has continued, with their places in the frame of body A.
typedef struct leftovers {
	int32_t number[SEARCH_LIMIT];
	cr_local_point local[SEARCH_LIMIT];
	int32_t count;
} leftovers;

static void list_leftovers(const cr_past_set *then, const uint8_t *used, leftovers *left)
{
	const m3d rotation = m3d_from_quat(then->pose->orientation);
	left->count = 0;
	for (int32_t j = 0; j < then->count; j++) {
		if (used[j])
			continue;
		const cr_past_contact *c = &then->contacts[j];
		left->number[left->count] = j;
		left->local[left->count++] = then->local ? c->at.local : cr_local_point_of(c->at.point, then->pose->position, &rotation);
	}
}

/// Take the nearest one off the list that a contact may continue; the list stays in order. Returns
/// its number; -1: none is within the distance.
static int32_t take_nearest(const cr_past_set *then, leftovers *left, const cr_contact_set *now, const carom_contact *contact,
	const cr_local_point *local, double distance)
{
	int32_t best = -1;
	double limit = distance * distance;
	for (int32_t i = 0; i < left->count; i++) {
		const double d = squared_distance(local, &left->local[i]);
		if (d <= limit && !is_turned(then, &then->contacts[left->number[i]], now, contact)) {
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
static void match_nearest(const cr_past_set *then, const cr_contact_set *now, double distance, uint8_t *used)
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
		const int32_t j = take_nearest(then, &left, now, &now->contacts[i], &local, distance);
		if (j < 0)
			continue;
		cr_carry_over(&now->contacts[i], &then->contacts[j]);
		used[j] = 1;
	}
}

void cr_match_places(const cr_past_set *then, const cr_contact_set *now, double distance, uint8_t *used)
{
	memset(used, 0, (size_t)then->count);
	match_nearest(then, now, distance, used);
}

void cr_match_contacts(const cr_past_set *then, const cr_contact_set *now, double distance, double far, uint8_t *used)
{
	memset(used, 0, (size_t)then->count);
	places p;
	begin_places(then, now, distance, &p);
	const int32_t left = match_equal(&p, used);
	match_vertices_of_a(then, now, used);
	match_vertices_of_b(then, now, used);
	match_nearest(then, now, distance, used);
	if (left > 0)
		match_left(&p, far, used);
}
