/// The contacts of a pair sorted, and reduced to the wanted number.
///
/// The kept contacts: the deepest one, then one after the other the contact farthest from all kept
/// ones, in position and in normal, deep ones preferred (farthest-point sampling, Gonzalez 1985, in
/// six dimensions). So the patch keeps its extent, each patch of a pair that touches in several
/// places keeps a point, and no direction of pushing is lost, which a careless subset does
/// (Lehericey 2013, Fig. 2.8 b). Cost per pair: found * kept.

#include "contact/contact.h"

enum { FEW_CONTACTS = 16 };

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

static int compare_contacts(const cr_raw_contact *a, const cr_raw_contact *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->feature_a != b->feature_a)
		return a->feature_a < b->feature_a ? -1 : 1;
	if (a->feature_b != b->feature_b)
		return a->feature_b < b->feature_b ? -1 : 1;
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
static void sort_contacts(cr_raw_contact *data, int64_t count)
{
	if (count <= FEW_CONTACTS) {
		sort_few(data, count);
		return;
	}
	for (int64_t i = count / 2 - 1; i >= 0; i--)
		sift_down(data, i, count);
	for (int64_t end = count - 1; end > 0; end--) {
		const cr_raw_contact largest = data[0];
		data[0] = data[end];
		data[end] = largest;
		sift_down(data, 0, end);
	}
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

/// scale 0: by position alone.
static double distance_of(const cr_raw_contact *a, const cr_raw_contact *b, double scale)
{
	double points = 0, normals = 0;
	for (int k = 0; k < 3; k++) {
		const double p = a->point[k] - b->point[k], n = (double)a->normal[k] - b->normal[k];
		points += p * p;
		normals += n * n;
	}
	return points + 0.25 * scale * normals;
}

static void keep_some(cr_worker *worker, cr_raw_contacts *contacts, int64_t keep)
{
	cr_raw_contact *data = contacts->data;
	const int64_t count = contacts->count;
	const cr_arena_mark mark = cr_arena_get_mark(&worker->arena);
	double *distance = cr_arena_alloc(&worker->arena, (size_t)count * sizeof *distance);
	if (!distance) {
		worker->failed = true;
		return;
	}
	int64_t next = 0;
	for (int64_t i = 1; i < count; i++)
		next = data[i].depth > data[next].depth ? i : next;
	const double scale = patch_scale(data, count);
	const double deepest = fabs((double)data[next].depth);
	for (int64_t i = 0; i < count; i++)
		distance[i] = INFINITY;
	// Chosen contacts move to the front; each choice updates the distances of the rest.
	for (int64_t chosen = 0;;) {
		const cr_raw_contact swapped = data[next];
		data[next] = data[chosen];
		distance[next] = distance[chosen];
		data[chosen++] = swapped;
		if (chosen == keep)
			break;
		double best = -1;
		for (int64_t i = chosen; i < count; i++) {
			const double to_last = distance_of(&data[i], &swapped, scale);
			distance[i] = to_last < distance[i] ? to_last : distance[i];
			// The second contact is chosen for the extent of the patch alone. A contact at no depth
			// counts a quarter of the deepest.
			const double apart = chosen == 1 ? distance_of(&data[i], &swapped, 0) : distance[i];
			const double depth = data[i].depth > 0 ? (double)data[i].depth : 0;
			const double score = apart * (0.25 + (deepest > 0 ? 0.75 * depth / deepest : 0));
			const bool better = score > best;
			best = better ? score : best;
			next = better ? i : next;
		}
	}
	cr_arena_rewind(&worker->arena, &mark);
	contacts->count = keep;
	sort_contacts(data, keep);
}

void cr_sort_contacts(cr_raw_contacts *contacts)
{
	if (contacts->count > 1)
		sort_contacts(contacts->data, contacts->count);
}

int32_t cr_reduce_contacts(const cr_pipeline *p, cr_worker *worker, cr_raw_contacts *contacts)
{
	const int64_t found = contacts->count, most = p->settings.world.max_contacts_per_pair;
	cr_sort_contacts(contacts);
	if (most > 0 && found > most)
		keep_some(worker, contacts, most);
	return (int32_t)found;
}
