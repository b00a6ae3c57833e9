/// The contacts of a pair sorted, and reduced to the wanted number.
///
/// The kept contacts: the one farthest from the first, then one after the other the contact
/// farthest from all kept ones, in position and in normal, deep ones preferred (farthest-point
/// sampling, Gonzalez 1985, in six dimensions). So the patch keeps its extent, each patch of a pair
/// that touches in several places keeps a point, and no direction of pushing is lost, which a
/// careless subset does (Lehericey 2013, Fig. 2.8 b). The greatest depth is kept: the deepest
/// contact takes the place of its neighbour, or gives it its depth. Cost per pair: found * kept.
///
/// A body at rest trembles, and must keep its contacts, since their impulses are the solver's first
/// guess. So the choice begins at a contact that features alone tell, ties go by the order of
/// features, and small differences of depth do not count. It depends on no earlier step.

#include "contact/contact.h"

enum {
	FEW_CONTACTS = 16,
	MANY_CONTACTS = 128, // whose keys fit on the stack
	RUN_CONTACTS = 8,    // sorted by insertion before they are merged
};

// Contacts are equally good within this share of their score. They are equally deep within this
// share of their depth, or within that part of the patch's diagonal.
static const double ALIKE = 0.01, ALIKE_SIZE = 1e-4;
// From this share of the deepest contact's depth on, deeper ones are not preferred.
static const double DEEP = 0.1;

/// By point and normal.
static int compare_places(const cr_raw_contact *a, const cr_raw_contact *b)
{
	for (int k = 0; k < 3; k++) {
		if (a->point[k] != b->point[k])
			return a->point[k] < b->point[k] ? -1 : 1;
	}
	for (int k = 0; k < 3; k++) {
		if (a->normal[k] != b->normal[k])
			return a->normal[k] < b->normal[k] ? -1 : 1;
	}
	return 0;
}

/// A direction that few edges are across. Two features have two contacts where an edge enters and
/// leaves.
static double place_in_order(const cr_raw_contact *c) { return 0.53 * c->point[0] + 0.62 * c->point[1] + 0.58 * c->point[2]; }

static int compare_contacts(const cr_raw_contact *a, const cr_raw_contact *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->feature_a != b->feature_a)
		return a->feature_a < b->feature_a ? -1 : 1;
	if (a->feature_b != b->feature_b)
		return a->feature_b < b->feature_b ? -1 : 1;
	const double place_a = place_in_order(a), place_b = place_in_order(b);
	if (place_a != place_b)
		return place_a < place_b ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth > b->depth ? -1 : 1;
	// Two features may have two contacts of one depth. The order in which they are found depends on
	// trees, and those of a replay may be others.
	return compare_places(a, b);
}

static void sift_down(cr_raw_contact *data, int64_t root, int64_t count)
{
	const cr_raw_contact moved = data[root];
	for (int64_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
		if (child + 1 < count && compare_contacts(&data[child], &data[child + 1]) < 0)
			child++;
		if (compare_contacts(&moved, &data[child]) >= 0)
			break;
		data[root] = data[child];
		root = child;
	}
	data[root] = moved;
}

/// Faster than a heap for the few that most pairs have.
static void sort_few(cr_raw_contact *data, int64_t count)
{
	for (int64_t i = 1; i < count; i++) {
		const cr_raw_contact moved = data[i];
		int64_t at = i;
		for (; at > 0 && compare_contacts(&moved, &data[at - 1]) < 0; at--)
			data[at] = data[at - 1];
		data[at] = moved;
	}
}

/// Heap sort: in place, no allocation, O(n log n) for any input. Contacts that compare equal are
/// equal in all that is compared, and come from one thread in a fixed order.
static void sort_by_heap(cr_raw_contact *data, int64_t count)
{
	for (int64_t i = count / 2 - 1; i >= 0; i--)
		sift_down(data, i, count);
	for (int64_t end = count - 1; end > 0; end--) {
		const cr_raw_contact largest = data[0];
		data[0] = data[end];
		data[end] = largest;
		sift_down(data, 0, end);
	}
}

/// A contact while its pair is sorted: its kind and its feature of A, which tell most apart, in one
/// number, and where it stands.
typedef struct contact_key {
	uint64_t first;
	int32_t at;
} contact_key;

static contact_key key_of(const cr_raw_contact *data, int32_t at)
{
	const uint64_t kind = (uint32_t)data[at].kind ^ 0x80000000u, feature = (uint32_t)data[at].feature_a ^ 0x80000000u;
	return (contact_key){ kind << 32 | feature, at };
}

static bool is_before(const cr_raw_contact *data, const contact_key *a, const contact_key *b)
{
	return a->first != b->first ? a->first < b->first : compare_contacts(&data[a->at], &data[b->at]) < 0;
}

/// Sort the keys begin..end-1 by insertion.
static void sort_run(const cr_raw_contact *data, contact_key *keys, int32_t begin, int32_t end)
{
	for (int32_t i = begin + 1; i < end; i++) {
		const contact_key moved = keys[i];
		int32_t at = i;
		for (; at > begin && is_before(data, &moved, &keys[at - 1]); at--)
			keys[at] = keys[at - 1];
		keys[at] = moved;
	}
}

/// Merge the sorted keys begin..middle-1 and middle..end-1 of one array into another.
static void merge_runs(
	const cr_raw_contact *data, const contact_key *from, contact_key *to, int32_t begin, int32_t middle, int32_t end)
{
	int32_t a = begin, b = middle;
	for (int32_t i = begin; i < end; i++) {
		const bool from_b = b < end && (a == middle || is_before(data, &from[b], &from[a]));
		to[i] = from_b ? from[b++] : from[a++];
	}
}

/// Let each contact go where its key is.
static void take_order(cr_raw_contact *data, contact_key *keys, int32_t count)
{
	for (int32_t i = 0; i < count; i++) {
		if (keys[i].at == i)
			continue;
		const cr_raw_contact first = data[i];
		int32_t to = i;
		for (int32_t from = keys[i].at; from != i; from = keys[to].at) {
			data[to] = data[from];
			keys[to].at = to;
			to = from;
		}
		data[to] = first;
		keys[to].at = to;
	}
}

/// Merge sort of keys a third as long as contacts, which move once.
static void sort_by_keys(cr_raw_contact *data, int32_t count)
{
	contact_key room[2][MANY_CONTACTS], *keys = room[0], *other = room[1];
	for (int32_t i = 0; i < count; i++)
		keys[i] = key_of(data, i);
	for (int32_t begin = 0; begin < count; begin += RUN_CONTACTS)
		sort_run(data, keys, begin, begin + RUN_CONTACTS < count ? begin + RUN_CONTACTS : count);
	for (int32_t run = RUN_CONTACTS; run < count; run *= 2) {
		for (int32_t begin = 0; begin < count; begin += 2 * run) {
			const int32_t middle = begin + run < count ? begin + run : count;
			merge_runs(data, keys, other, begin, middle, middle + run < count ? middle + run : count);
		}
		contact_key *const merged = other;
		other = keys;
		keys = merged;
	}
	take_order(data, keys, count);
}

static void sort_contacts(cr_raw_contact *data, int64_t count)
{
	if (count <= FEW_CONTACTS)
		sort_few(data, count);
	else if (count <= MANY_CONTACTS)
		sort_by_keys(data, (int32_t)count);
	else
		sort_by_heap(data, count);
}

/// Square of the length by which two opposite normals count as far apart: the diagonal of the
/// patch.
static double patch_scale(const cr_raw_contact *data, int64_t count)
{
	double sum = 0;
	for (int k = 0; k < 3; k++) {
		double lower = INFINITY, upper = -INFINITY;
		for (int64_t i = 0; i < count; i++) {
			const double x = data[i].point[k];
			lower = x < lower ? x : lower;
			upper = x > upper ? x : upper;
		}
		sum += (upper - lower) * (upper - lower);
	}
	return sum;
}

double cr_normals_apart(const cr_raw_contact *a, const cr_raw_contact *b)
{
	double sum = 0;
	for (int k = 0; k < 3; k++) {
		const double n = (double)a->normal[k] - b->normal[k];
		sum += n * n;
	}
	return sum;
}

/// scale 0: by position alone.
static double distance_of(const cr_raw_contact *a, const cr_raw_contact *b, double scale)
{
	double points = 0;
	for (int k = 0; k < 3; k++) {
		const double p = a->point[k] - b->point[k];
		points += p * p;
	}
	return points + 0.25 * scale * cr_normals_apart(a, b);
}

static int64_t find_deepest(const cr_raw_contact *data, int64_t count)
{
	int64_t deepest = 0;
	for (int64_t i = 1; i < count; i++)
		deepest = data[i].depth > data[deepest].depth ? i : deepest;
	return deepest;
}

/// The contact that lies farthest from the first one: at the rim of the patch.
static int64_t find_farthest(const cr_raw_contact *data, int64_t count)
{
	int64_t farthest = 0;
	double most = 0;
	for (int64_t i = 1; i < count; i++) {
		const double apart = distance_of(&data[i], &data[0], 0);
		const bool farther = apart > (1 + ALIKE) * most;
		most = farther ? apart : most;
		farthest = farther ? i : farthest;
	}
	return farthest;
}

bool cr_push_alike(const cr_raw_contact *a, const cr_raw_contact *b) { return cr_normals_apart(a, b) <= 1e-6; }

/// A deepest contact that was not chosen takes the place of the chosen one that is nearest to it.
/// Where that is as deep and pushes alike, it stays and takes the greater depth instead. slack: so
/// much less deep is as deep.
static void keep_deepest(cr_raw_contact *data, int32_t *rows, int64_t count, int64_t keep, double scale, double slack)
{
	const int64_t deepest = find_deepest(data, count);
	if (deepest < keep)
		return;
	int64_t nearest = 0;
	for (int64_t i = 1; i < keep; i++) {
		if (distance_of(&data[i], &data[deepest], scale) < distance_of(&data[nearest], &data[deepest], scale))
			nearest = i;
	}
	const double least = data[deepest].depth - fmax(ALIKE * fabs((double)data[deepest].depth), slack);
	if (data[nearest].depth >= least && cr_push_alike(&data[nearest], &data[deepest])) {
		data[nearest].depth = data[deepest].depth;
		return;
	}
	data[nearest] = data[deepest];
	if (rows)
		rows[nearest] = rows[deepest];
}

/// How deep a contact is, from 0 to 1: fully from the depth full on. One that is ahead counts for
/// less the farther off it is, also where the deepest one just touches.
static double share_of_depth(double depth, double full, double slack)
{
	if (depth >= full)
		return 1;
	if (depth > 0)
		return (depth + slack) / (full + slack);
	const double touching = slack / (full + slack);
	return slack > 0 ? touching * slack / (slack - depth) : 0;
}

static void swap_rows(int32_t *rows, int64_t a, int64_t b)
{
	const int32_t row = rows[a];
	rows[a] = rows[b];
	rows[b] = row;
}

void cr_choose_contacts(cr_worker *worker, cr_raw_contact *data, int32_t *rows, int64_t count, int64_t keep)
{
	const cr_arena_mark mark = cr_arena_get_mark(&worker->arena);
	double *distance = cr_arena_alloc(&worker->arena, (size_t)count * sizeof *distance);
	if (!distance) {
		worker->failed = true;
		return;
	}
	const double scale = patch_scale(data, count), slack = ALIKE_SIZE * sqrt(scale);
	const double full = DEEP * fabs((double)data[find_deepest(data, count)].depth);
	int64_t next = find_farthest(data, count);
	for (int64_t i = 0; i < count; i++)
		distance[i] = INFINITY;
	// Chosen contacts move to the front; each choice updates the distances of the rest.
	for (int64_t chosen = 0;;) {
		const cr_raw_contact swapped = data[next];
		data[next] = data[chosen];
		distance[next] = distance[chosen];
		if (rows)
			swap_rows(rows, next, chosen);
		data[chosen++] = swapped;
		if (chosen == keep)
			break;
		double best = -1; // every score is better
		for (int64_t i = chosen; i < count; i++) {
			const double to_last = distance_of(&data[i], &swapped, scale);
			distance[i] = to_last < distance[i] ? to_last : distance[i];
			// The second contact is chosen for the extent of the patch alone.
			const double apart = chosen == 1 ? distance_of(&data[i], &swapped, 0) : distance[i];
			const double score = apart * (0.25 + 0.75 * share_of_depth((double)data[i].depth, full, slack));
			const bool better = score > (1 + ALIKE) * best;
			best = better ? score : best;
			next = better ? i : next;
		}
	}
	cr_arena_rewind(&worker->arena, &mark);
	keep_deepest(data, rows, count, keep, scale, slack);
}

static bool are_sorted(const cr_raw_contacts *contacts)
{
	for (int64_t i = 1; i < contacts->count; i++) {
		if (compare_contacts(&contacts->data[i - 1], &contacts->data[i]) > 0)
			return false;
	}
	return true;
}

void cr_sort_contacts(cr_raw_contacts *contacts)
{
	if (!are_sorted(contacts))
		sort_contacts(contacts->data, contacts->count);
}

/// The most contacts that two parts keep; 0: all. Two bodies get no more than their limit from a
/// pair of parts. The vertices of a solid carry each other little, so each keeps its contact.
static int64_t limit_of(const cr_settings *settings, bool deforms)
{
	const int64_t of_pair = deforms ? 0 : settings->world.max_contacts_per_pair,
				  of_bodies = settings->max_contacts_per_body_pair;
	return of_bodies > 0 && (of_pair == 0 || of_bodies < of_pair) ? of_bodies : of_pair;
}

/// Exchange the features of each contact.
static void swap_features(cr_raw_contact *data, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		const int32_t a = data[i].feature_a;
		data[i].feature_a = data[i].feature_b;
		data[i].feature_b = a;
	}
}

/// Is B a convex shape on the mesh A? The names of its points come first then: rounding tells which
/// triangle has a point above an edge.
static bool goes_by_b(const cr_body *a, const cr_body *b)
{
	return a->shape.family == CR_FAMILY_MESH && b->shape.family == CR_FAMILY_CONVEX;
}

int32_t cr_reduce_contacts(
	const cr_pipeline *p, cr_worker *worker, const cr_body *a, const cr_body *b, cr_raw_contacts *contacts)
{
	const int64_t found = contacts->count, most = limit_of(&p->settings, cr_pair_deforms(a, b));
	cr_sort_contacts(contacts);
	if (most > 0 && found > most) {
		const bool by_b = goes_by_b(a, b);
		if (by_b) {
			swap_features(contacts->data, found);
			sort_contacts(contacts->data, found);
		}
		cr_choose_contacts(worker, contacts->data, NULL, found, most);
		contacts->count = most;
		if (by_b)
			swap_features(contacts->data, most);
		sort_contacts(contacts->data, most);
	}
	return (int32_t)found;
}
