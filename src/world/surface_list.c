/// Surface contacts in the order of their pairs, and the pairs.
///
/// In: the pairs of a search, those of them that are contacts (listed, judged), and deep contacts.
/// Out: contacts in the order of the view, where those of a pair stand side by side, and the list
/// of pairs that is merged with the pairs of the stages.
///
/// The search gives its pairs by kind first, then by meshes. So the contacts of two parts are three
/// runs at most: vertices of each against faces of the other, and edges. Only runs are sorted. Deep
/// contacts are few: they are sorted by themselves and let in. Cost: O(contacts + runs log
/// contacts).
#include "base/parallel.h"
#include "base/radix.h"
#include "proximity/proximity_state.h"
#include "world/surface_contacts.h"
#include "world/world.h"

// ---- Order ----

static uint64_t join_numbers(int32_t high, int32_t low) { return (uint64_t)high << 32 | (uint64_t)low; }

/// The lower part in front of the higher one.
static uint64_t key_of_parts(int32_t a, int32_t b) { return a < b ? join_numbers(a, b) : join_numbers(b, a); }

static uint64_t key_of_pair(const carom_surface_contact *c) { return key_of_parts(cr_part_a_of(c), cr_part_b_of(c)); }

int cr_compare_surface_contacts(const carom_surface_contact *a, const carom_surface_contact *b)
{
	const uint64_t pair_a = key_of_pair(a), pair_b = key_of_pair(b);
	if (pair_a != pair_b)
		return pair_a < pair_b ? -1 : 1;
	int order = cr_compare_numbers(a->kind, b->kind);
	if (order == 0)
		order = cr_compare_numbers(cr_part_a_of(a), cr_part_a_of(b));
	for (int k = 0; k < 4 && order == 0; k++)
		order = cr_compare_numbers(a->vertices[k], b->vertices[k]);
	return order;
}

// ---- Runs ----

/// Are two entries of a list of one run?
typedef bool same_run_fn(const void *list, int64_t i, int64_t j);

/// The end of the run that begins at an entry. O(log of its length).
static int64_t end_of_run(const void *list, int64_t begin, int64_t count, same_run_fn *same)
{
	int64_t last = begin, step = 1; // last is of the run
	for (; last + step < count && same(list, begin, last + step); step *= 2)
		last += step;
	int64_t end = last + step < count ? last + step : count;
	while (end - last > 1) {
		const int64_t middle = last + (end - last) / 2;
		if (same(list, begin, middle))
			last = middle;
		else
			end = middle;
	}
	return end;
}

static bool is_same_run(const void *list, int64_t i, int64_t j)
{
	const carom_surface_contact *a = (const carom_surface_contact *)list + i, *b = (const carom_surface_contact *)list + j;
	return a->kind == b->kind && cr_part_a_of(a) == cr_part_a_of(b) && cr_part_b_of(a) == cr_part_b_of(b);
}

static bool is_same_pair(const void *list, int64_t i, int64_t j)
{
	const carom_surface_contact *contacts = list;
	return key_of_pair(&contacts[i]) == key_of_pair(&contacts[j]);
}

static bool is_same_shape_pair(const void *list, int64_t i, int64_t j)
{
	const carom_surface_shape_contact *a = (const carom_surface_shape_contact *)list + i,
									  *b = (const carom_surface_shape_contact *)list + j;
	return a->body_a.index1 == b->body_a.index1 && a->body_b.index1 == b->body_b.index1 && a->shape_b == b->shape_b;
}

static bool is_same_search_run(const void *list, int64_t i, int64_t j)
{
	const carom_proximity_pair *a = (const carom_proximity_pair *)list + i, *b = (const carom_proximity_pair *)list + j;
	return a->kind == b->kind && a->mesh_a == b->mesh_a && a->mesh_b == b->mesh_b;
}

int64_t cr_end_of_surface_pair(const carom_surface_contact *contacts, int64_t begin, int64_t count)
{
	return end_of_run(contacts, begin, count, is_same_pair);
}

int64_t cr_end_of_surface_shape_pair(const carom_surface_shape_contact *contacts, int64_t begin, int64_t count)
{
	return end_of_run(contacts, begin, count, is_same_shape_pair);
}

static bool append_run(carom_world *world, const cr_surface_run *run)
{
	cr_surface_runs *runs = &world->surface_contacts.runs;
	if (!cr_array_reserve_one(&world->memory, runs))
		return false;
	runs->data[runs->count++] = *run;
	return true;
}

/// Room in order for count keys, and behind them for their sort.
static bool reserve_order(carom_world *world, int64_t count)
{
	cr_surface_contacts *m = &world->surface_contacts;
	if (!cr_array_reserve_fresh(&world->memory, &m->order, 2 * count))
		return false;
	m->order.count = count;
	return true;
}

static void sort_order(cr_surface_contacts *m)
{
	cr_radix_sort(m->order.data, m->order.data + m->order.count, m->order.count, 64);
}

/// Let order name the runs, sorted by a key of their parts. False when out of memory.
static bool order_runs(carom_world *world, uint64_t (*key)(int32_t part_a, int32_t part_b))
{
	cr_surface_contacts *m = &world->surface_contacts;
	if (!reserve_order(world, m->runs.count))
		return false;
	for (int64_t i = 0; i < m->runs.count; i++)
		m->order.data[i] = (cr_key){ key(m->runs.data[i].part_a, m->runs.data[i].part_b), (uint32_t)i };
	sort_order(m);
	return true;
}

bool cr_list_last_runs(carom_world *world)
{
	cr_surface_contacts *m = &world->surface_contacts;
	const carom_surface_contact *found = m->found.data;
	m->runs.count = 0;
	for (int64_t i = 0, end; i < m->known; i = end) {
		end = end_of_run(found, i, m->known, is_same_run);
		const cr_surface_run run = { i, end, found[i].kind, cr_part_a_of(&found[i]), cr_part_b_of(&found[i]) };
		if (run.kind == CAROM_SWEEP_VERTEX_FACE && !append_run(world, &run))
			return false;
	}
	return order_runs(world, join_numbers);
}

/// The runs of a search, in the order of the view of contacts. Sorting is stable: of two parts they
/// come by kind, and by the part of the first feature.
static bool list_search_runs(carom_world *world, const carom_proximity_view *view)
{
	cr_surface_contacts *m = &world->surface_contacts;
	const cr_member *members = m->members.list.data;
	m->runs.count = 0;
	for (int64_t i = 0, end; i < view->pair_count; i = end) {
		const carom_proximity_pair *pair = &view->pairs[i];
		end = end_of_run(view->pairs, i, view->pair_count, is_same_search_run);
		const cr_surface_run run = { i, end, pair->kind, members[pair->mesh_a].body, members[pair->mesh_b].body };
		if (!append_run(world, &run))
			return false;
	}
	return order_runs(world, key_of_parts);
}

// ---- Contacts ----

static uint64_t key_of(const carom_surface_contact *c, int part)
{
	switch (part) {
	case 0: return join_numbers(c->vertices[2], c->vertices[3]);
	case 1: return join_numbers(c->vertices[0], c->vertices[1]);
	case 2: return join_numbers(c->kind, cr_part_a_of(c));
	default: return key_of_pair(c);
	}
}

/// Let deep_order name contacts in the order of the view.
static bool sort_contacts(carom_world *world, const cr_surface_contact_list *contacts)
{
	enum { PARTS = 4 };
	cr_surface_contacts *m = &world->surface_contacts;
	const int64_t count = contacts->count;
	if (!cr_array_reserve_fresh(&world->memory, &m->deep_order, 2 * count))
		return false;
	for (int64_t i = 0; i < count; i++)
		m->deep_order.data[i].value = (uint32_t)i;
	for (int part = 0; part < PARTS; part++) {
		for (int64_t i = 0; i < count; i++)
			m->deep_order.data[i].key = key_of(&contacts->data[m->deep_order.data[i].value], part);
		cr_radix_sort(m->deep_order.data, m->deep_order.data + count, count, 64);
	}
	return true;
}

/// Append to a list with room, unless it is there: several walks may have led to one triangle. One
/// that leaves with a region takes the place of another.
static void put(cr_surface_contact_list *list, const carom_surface_contact *c)
{
	carom_surface_contact *last = list->count > 0 ? &list->data[list->count - 1] : NULL;
	if (!last || cr_compare_surface_contacts(last, c) != 0)
		list->data[list->count++] = *c;
	else if (c->led && !last->led)
		*last = *c;
}

bool cr_put_in_order(carom_world *world, cr_surface_contact_list *contacts)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	cr_surface_contact_list sorted = { 0 };
	if (!sort_contacts(world, contacts) || !cr_array_reserve(&world->memory, &sorted, contacts->count))
		return false;
	for (int64_t i = 0; i < contacts->count; i++)
		put(&sorted, &contacts->data[m->deep_order.data[i].value]);
	cr_array_free(&world->memory, contacts);
	*contacts = sorted;
	return true;
}

static const carom_surface_contact *deep_at(const cr_surface_contacts *m, int64_t i)
{
	return &m->deep.data[m->deep_order.data[i].value];
}

bool cr_order_surface_contacts(carom_world *world, const carom_proximity_view *view)
{
	cr_surface_contacts *m = &world->surface_contacts;
	int64_t count = m->deep.count, deep = 0;
	for (int64_t i = 0; i < view->pair_count; i++)
		count += m->listed.data[i];
	if (count > INT32_MAX || !list_search_runs(world, view) || !sort_contacts(world, &m->deep) ||
		!cr_array_reserve_fresh(&world->memory, &m->next, count))
		return false;
	m->next.count = 0;
	for (int64_t r = 0; r < m->runs.count; r++) {
		const cr_surface_run *run = &m->runs.data[m->order.data[r].value];
		for (int64_t i = run->first; i < run->end; i++) {
			if (!m->listed.data[i])
				continue;
			for (; deep < m->deep.count && cr_compare_surface_contacts(deep_at(m, deep), &m->judged.data[i]) < 0; deep++)
				put(&m->next, deep_at(m, deep));
			put(&m->next, &m->judged.data[i]);
		}
	}
	for (; deep < m->deep.count; deep++)
		put(&m->next, deep_at(m, deep));
	return true;
}

// ---- Impulses ----

enum { CONTACTS_PER_TASK = 1024, MOST_LEFT = 64 };

static bool is_same_vertex(const carom_surface_contact *a, const carom_surface_contact *b)
{
	return a->kind == b->kind && cr_part_a_of(a) == cr_part_a_of(b) && cr_part_b_of(a) == cr_part_b_of(b) &&
		a->vertices[0] == b->vertices[0];
}

/// The first contact of the last step that does not come before those of a vertex with a surface.
static int64_t find_then(const cr_surface_contacts *m, const carom_surface_contact *now)
{
	carom_surface_contact first = *now;
	first.vertices[1] = first.vertices[2] = first.vertices[3] = -1;
	int64_t low = 0, high = m->known;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		if (cr_compare_surface_contacts(&m->found.data[middle], &first) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/// Do contacts of one vertex, count of now, still have one with a triangle?
static bool has_triangle(const carom_surface_contact *now, int64_t count, int32_t triangle)
{
	bool found = false;
	for (int64_t i = 0; i < count && !found; i++)
		found = now[i].triangle == triangle && now[i].age > 0;
	return found;
}

/// Contacts of one vertex with one surface, count of now: each that is new takes over the impulse
/// of an old one that is left, of the nearest normal. Each old one is used once.
static void follow(const carom_world *world, carom_surface_contact *now, int64_t count)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const carom_surface_contact *left[MOST_LEFT];
	int lefts = 0;
	for (int64_t i = find_then(m, now); i < m->known && is_same_vertex(&m->found.data[i], now) && lefts < MOST_LEFT; i++) {
		if (cr_is_remembered(world, &m->found.data[i]) && !has_triangle(now, count, m->found.data[i].triangle))
			left[lefts++] = &m->found.data[i];
	}
	for (int64_t i = 0; i < count && lefts > 0; i++) {
		if (now[i].age > 0)
			continue;
		int best = 0;
		for (int k = 1; k < lefts; k++)
			best = v3d_dot(left[k]->normal, now[i].normal) > v3d_dot(left[best]->normal, now[i].normal) ? k : best;
		if (v3d_dot(left[best]->normal, now[i].normal) < CR_MOST_TURN)
			continue;
		for (int k = 0; k < 3; k++)
			now[i].impulse[k] = left[best]->impulse[k];
		left[best] = left[--lefts];
	}
}

/// The vertices whose contacts come first within the range.
static void follow_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const carom_world *world = task;
	const cr_surface_contact_list *list = &world->surface_contacts.next;
	while (begin > 0 && begin < end && is_same_vertex(&list->data[begin - 1], &list->data[begin]))
		begin++;
	for (int64_t i = begin, after; i < end; i = after) {
		bool is_new = false;
		for (after = i; after < list->count && is_same_vertex(&list->data[i], &list->data[after]); after++)
			is_new = is_new || list->data[after].age == 0;
		if (is_new && list->data[i].kind == CAROM_SWEEP_VERTEX_FACE)
			follow(world, &list->data[i], after - i);
	}
}

void cr_follow_impulses(carom_world *world)
{
	if (world->surface_contacts.known > 0)
		cr_parallel_for(&world->memory, follow_task, world->surface_contacts.next.count, CONTACTS_PER_TASK, world);
}

// ---- Pairs ----

bool cr_append_further_pair(carom_world *world, cr_further_pairs *pairs, const cr_further_pair *pair)
{
	if (!cr_array_reserve_one(&world->memory, pairs))
		return false;
	pairs->data[pairs->count++] = *pair;
	return true;
}

cr_further_pair cr_pair_of_parts(int32_t a, int32_t b)
{
	return (cr_further_pair){ .a = a < b ? a : b, .b = a < b ? b : a, .sphere_group = -1 };
}

static cr_span span_of(int64_t begin, int64_t end) { return (cr_span){ (uint32_t)begin, (int32_t)(end - begin) }; }

static bool append_pairs(carom_world *world)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	bool enough = true;
	for (int64_t i = 0, end; i < m->next.count && enough; i = end) {
		const carom_surface_contact *c = &m->next.data[i];
		end = end_of_run(m->next.data, i, m->next.count, is_same_pair);
		cr_further_pair pair = cr_pair_of_parts(cr_part_a_of(c), cr_part_b_of(c));
		pair.contacts = span_of(i, end);
		enough = cr_append_further_pair(world, &world->surface_contacts.pairs, &pair);
	}
	for (int64_t i = 0, end; i < m->next_shapes.count && enough; i = end) {
		const carom_surface_shape_contact *c = &m->next_shapes.data[i];
		end = end_of_run(m->next_shapes.data, i, m->next_shapes.count, is_same_shape_pair);
		cr_further_pair pair = cr_pair_of_parts((int32_t)c->body_a.index1 - 1, cr_shape_part_of(c));
		pair.shape_contacts = span_of(i, end);
		enough = cr_append_further_pair(world, &world->surface_contacts.pairs, &pair);
	}
	return enough;
}

bool cr_sort_further_pairs(carom_world *world, cr_further_pairs *pairs)
{
	cr_surface_contacts *m = &world->surface_contacts;
	const int64_t count = pairs->count;
	if (!reserve_order(world, count) || !cr_array_reserve(&world->memory, pairs, 2 * count))
		return false;
	cr_further_pair *unsorted = pairs->data + count;
	for (int64_t i = 0; i < count; i++) {
		unsorted[i] = pairs->data[i];
		m->order.data[i] = (cr_key){ join_numbers(unsorted[i].a, unsorted[i].b), (uint32_t)i };
	}
	sort_order(m);
	pairs->count = 0;
	for (int64_t i = 0; i < count; i++) {
		if (i == 0 || m->order.data[i].key != m->order.data[i - 1].key)
			pairs->data[pairs->count++] = unsorted[m->order.data[i].value];
	}
	return true;
}

bool cr_note_sensed(carom_world *world, int32_t part_a, int32_t part_b)
{
	cr_surface_contacts *m = &world->surface_contacts;
	if (!cr_array_reserve_one(&world->memory, &m->sensed))
		return false;
	m->sensed.data[m->sensed.count++] = (cr_body_pair){ part_a < part_b ? part_a : part_b, part_a < part_b ? part_b : part_a };
	return true;
}

bool cr_list_surface_pairs(carom_world *world)
{
	cr_surface_contacts *m = &world->surface_contacts;
	m->pairs.count = 0;
	if (!append_pairs(world) || (world->def.contact_filter && !cr_filter_surface_contacts(world)))
		return false;
	for (int64_t i = 0; i < m->sensed.count; i++) {
		const cr_further_pair pair = cr_pair_of_parts(m->sensed.data[i].a, m->sensed.data[i].b);
		if (!cr_append_further_pair(world, &world->surface_contacts.pairs, &pair))
			return false;
	}
	return cr_sort_further_pairs(world, &m->pairs);
}

void cr_number_surface_contacts(cr_surface_contacts *m)
{
	for (int64_t i = 0; i < m->pairs.count; i++) {
		const cr_further_pair *pair = &m->pairs.data[i];
		for (int32_t k = 0; k < pair->contacts.count; k++)
			m->next.data[pair->contacts.first + (uint32_t)k].pair = pair->row;
		for (int32_t k = 0; k < pair->shape_contacts.count; k++)
			m->next_shapes.data[pair->shape_contacts.first + (uint32_t)k].pair = pair->row;
	}
}
