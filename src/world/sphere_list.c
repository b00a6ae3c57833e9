/// The pairs of granular bodies, the contacts of each, and what contacts carry over from the last
/// step.
///
/// In: the contacts of spheres in the order of the view, the sensors that spheres touch, and the
/// groups of pairs of spheres. Out: the list of pairs that is merged with those of the stages, and
/// the numbers of contacts in the order of their pairs. The view itself keeps the order of the
/// spheres, which solvers of grains go by.
///
/// Once pairs have their rows, contacts name them, and are matched with those of the last step.
/// Both views have the contacts of a sphere with a part side by side, so one pass in parallel finds
/// those that belong together. Where spheres of a body got other numbers (sphere_ids.h), a table of
/// the old numbers leads to their contacts. Cost: a sort of numbers, then O(contacts + spheres).
#include "base/parallel.h"
#include "world/sphere_ids.h"
#include "world/world.h"

enum { CONTACTS_PER_TASK = 4096, MOST_NEAR = 64 };

// A contact goes on over so much of the radius, 29 degrees: a grain may be so small that a distance
// alone would reach from any wall to any other.
static const double MOST_OF_RADIUS = 0.5;

// ---- Pairs ----

static int32_t part_b_of(const carom_sphere_contact *c) { return (int32_t)c->body_b.index1 - 1 + c->shape_b; }

/// Sort the numbers of contacts by their pairs, which are numbered by granular body and near part.
static bool sort_by_pair(carom_world *world)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	const int64_t count = m->next.contacts.count;
	if (count > INT32_MAX || !cr_array_reserve_fresh(&world->memory, &m->keys, count) ||
		!cr_array_reserve_fresh(&world->memory, &m->spare_keys, count) ||
		!cr_array_reserve_fresh(&world->memory, &m->next.by_pair, count))
		return false;
	int64_t grains = 0;
	for (int64_t i = 0; i < count; i++) {
		const carom_sphere_contact *c = &m->next.contacts.data[i];
		while (m->bodies.data[grains] != (int32_t)c->body_a.index1 - 1)
			grains++;
		m->keys.data[i] = (cr_key){ (uint64_t)(grains * m->near.count + m->near_of.data[part_b_of(c)]), (uint32_t)i };
	}
	if (count > 0)
		cr_radix_sort(m->keys.data, m->spare_keys.data, count, cr_bits_of((uint64_t)(m->bodies.count * m->near.count)));
	m->next.by_pair.count = count;
	for (int64_t i = 0; i < count; i++)
		m->next.by_pair.data[i] = (int32_t)m->keys.data[i].value;
	return true;
}

static bool append_contact_pairs(carom_world *world)
{
	const cr_sphere_contacts *m = &world->sphere_contacts;
	bool enough = true;
	for (int64_t i = 0, end; i < m->next.by_pair.count && enough; i = end) {
		const carom_sphere_contact *c = &m->next.contacts.data[m->next.by_pair.data[i]];
		for (end = i + 1; end < m->next.by_pair.count && m->keys.data[end].key == m->keys.data[i].key;)
			end++;
		cr_further_pair pair = cr_pair_of_parts((int32_t)c->body_a.index1 - 1, part_b_of(c));
		pair.sphere_contacts = (cr_span){ (uint32_t)i, (int32_t)(end - i) };
		enough = cr_append_further_pair(world, &world->sphere_contacts.pairs, &pair);
	}
	return enough;
}

static bool append_sensors(carom_world *world)
{
	const cr_sphere_contacts *m = &world->sphere_contacts;
	bool enough = true;
	for (int64_t i = 0; i < m->touched.count && enough; i++) {
		if (!atomic_load_explicit(&m->touched.data[i], memory_order_relaxed))
			continue;
		const cr_further_pair pair =
			cr_pair_of_parts(m->bodies.data[i % m->bodies.count], m->near.data[i / m->bodies.count].part);
		enough = cr_append_further_pair(world, &world->sphere_contacts.pairs, &pair);
	}
	return enough;
}

/// The results that hold the groups of this step: those of the last one, where nothing has changed.
static cr_sphere_results *groups_of(cr_sphere_contacts *m) { return m->searched ? &m->next : &m->found; }

static bool append_groups(carom_world *world)
{
	const cr_sphere_results *r = groups_of(&world->sphere_contacts);
	bool enough = true;
	for (int64_t i = 0; i < r->groups.count && enough; i++) {
		const carom_sphere_group *g = &r->groups.data[i];
		cr_further_pair pair = cr_pair_of_parts((int32_t)g->body_a.index1 - 1, (int32_t)g->body_b.index1 - 1);
		pair.sphere_group = (int32_t)i;
		enough = cr_append_further_pair(world, &world->sphere_contacts.pairs, &pair);
	}
	return enough;
}

// ---- Spheres with other numbers ----

/// The first contact of the last step whose granular body does not come before one.
static int64_t first_of_body(const cr_sphere_results *then, int32_t body)
{
	int64_t low = 0, high = then->contacts.count;
	while (low < high) {
		const int64_t middle = low + (high - low) / 2;
		if ((int32_t)then->contacts.data[middle].body_a.index1 - 1 < body)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/// List where the contacts of each sphere of a body began at the last step, by the number that it
/// had; and behind it where the last ones ended. False: out of memory.
static bool list_firsts(carom_world *world, int32_t body, int64_t *table)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	const carom_sphere_contact *then = m->found.contacts.data;
	const int64_t begin = first_of_body(&m->found, body), end = first_of_body(&m->found, body + 1);
	const int64_t numbers = begin < end ? then[end - 1].sphere + (int64_t)1 : 0;
	*table = m->then.count;
	if (!cr_array_reserve(&world->memory, &m->then, m->then.count + numbers + 2))
		return false;
	int64_t *to = &m->then.data[m->then.count], sphere = 0;
	to[sphere++] = numbers;
	for (int64_t i = begin; i < end; i++) {
		while (sphere <= then[i].sphere + (int64_t)1)
			to[sphere++] = i;
	}
	to[sphere++] = end;
	m->then.count += sphere;
	return true;
}

static bool list_tables(carom_world *world)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	m->then.count = 0;
	bool enough = cr_array_reserve(&world->memory, &m->tables, m->bodies.count);
	for (int64_t k = 0; k < m->bodies.count && enough; k++) {
		m->tables.data[k] = -1;
		if (cr_granular_of(&world->bodies.data[m->bodies.data[k]])->was.count > 0)
			enough = list_firsts(world, m->bodies.data[k], &m->tables.data[k]);
	}
	return enough;
}

bool cr_list_sphere_pairs(carom_world *world)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	m->pairs.count = 0;
	return sort_by_pair(world) && append_contact_pairs(world) && append_sensors(world) && append_groups(world) &&
		cr_sort_further_pairs(world, &m->pairs) && list_tables(world);
}

// ---- Rows ----

/// Let contacts name their pairs: a range in the order of the list of pairs with contacts.
static void number_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	cr_sphere_contacts *m = task;
	for (int64_t i = begin; i < end; i++) {
		const cr_further_pair *pair = &m->pairs.data[i];
		for (int32_t k = 0; k < pair->sphere_contacts.count; k++)
			m->next.contacts.data[m->next.by_pair.data[pair->sphere_contacts.first + (uint32_t)k]].pair = pair->row;
		if (pair->sphere_group >= 0)
			groups_of(m)->groups.data[pair->sphere_group].pair = pair->row;
	}
}

// ---- Matching ----

/// By sphere and part: the order of the view, without that of triangles. sphere_b: the sphere of b,
/// by its number at the step of a.
static int compare_touches(const carom_sphere_contact *a, const carom_sphere_contact *b, int32_t sphere_b)
{
	int order = cr_compare_ids(a->body_a, b->body_a);
	if (order == 0)
		order = cr_compare_numbers(a->sphere, sphere_b);
	if (order == 0)
		order = cr_compare_ids(a->body_b, b->body_b);
	return order ? order : cr_compare_numbers(a->shape_b, b->shape_b);
}

/// Contacts of one sphere with one part, in this step and in the last one.
typedef struct touch {
	carom_sphere_contact *now;
	const carom_sphere_contact *then;
	int64_t now_count, then_count;
	uint64_t used; // of then, the first MOST_NEAR: they have a partner
} touch;

static void carry_over(touch *t, int64_t i, int64_t j)
{
	cr_go_on(&t->then[j].age, t->then[j].impulse, &t->now[i].age, t->now[i].impulse);
	if (j < MOST_NEAR)
		t->used |= (uint64_t)1 << j;
}

/// Contacts with the triangles of before. Both are sorted by these. A sphere that is on the other
/// side of its triangle now has a new one.
static void match_triangles(touch *t)
{
	for (int64_t i = 0, j = 0; i < t->now_count && j < t->then_count;) {
		const int order = cr_compare_numbers(t->now[i].triangle, t->then[j].triangle);
		if (order == 0 && v3d_dot(t->now[i].normal, t->then[j].normal) >= 0)
			carry_over(t, i, j);
		i += order <= 0;
		j += order >= 0;
	}
}

/// How far the point has moved over the sphere, squared.
static double moved_by(const carom_sphere_contact *a, const carom_sphere_contact *b, double radius)
{
	const v3d way = v3d_sub((v3d){ a->normal.x, a->normal.y, a->normal.z }, (v3d){ b->normal.x, b->normal.y, b->normal.z });
	return radius * radius * v3d_dot(way, way);
}

/// What has no partner yet, by distance.
static void match_nearest(touch *t, double radius, double distance)
{
	if (t->now_count > MOST_NEAR || t->then_count > MOST_NEAR)
		return;
	for (int64_t i = 0; i < t->now_count; i++) {
		int64_t best = -1;
		double limit = distance * distance;
		for (int64_t j = 0; j < t->then_count && t->now[i].age == 0; j++) {
			const double d = moved_by(&t->now[i], &t->then[j], radius);
			if (d > limit || (t->used >> j & 1))
				continue;
			limit = d;
			best = j;
		}
		if (best >= 0)
			carry_over(t, i, best);
	}
}

static void match_touch(const carom_world *world, touch *t)
{
	const cr_body *bodies = world->bodies.data;
	const double *sphere = &cr_granular_of(&bodies[t->now->body_a.index1 - 1])->spheres.data[4 * (int64_t)t->now->sphere];
	if (bodies[part_b_of(t->now)].reshaped < CR_SHAPE_CHANGED)
		match_triangles(t);
	match_nearest(t, sphere[3], fmin(world->def.match_distance, MOST_OF_RADIUS * sphere[3]));
}

/// The number that the sphere of a contact had at the last step; -1: it was not there.
static int32_t sphere_then(const carom_world *world, const carom_sphere_contact *now)
{
	return cr_sphere_then(cr_granular_of(&world->bodies.data[now->body_a.index1 - 1]), now->sphere);
}

/// The first contact of the last step that does not come before one of this step, whose sphere had
/// the number sphere then.
static int64_t find_then(const cr_sphere_contacts *m, const carom_sphere_contact *now, int32_t sphere)
{
	int64_t low = 0, high = m->found.contacts.count;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		if (compare_touches(&m->found.contacts.data[middle], now, sphere) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int64_t end_of_touch(const carom_sphere_contact *contacts, int64_t begin, int64_t count)
{
	int64_t end = begin + 1;
	while (end < count && compare_touches(&contacts[begin], &contacts[end], contacts[end].sphere) == 0)
		end++;
	return end;
}

/// Where the contacts of a sphere began at the last step, by the table of its body (list_firsts);
/// where it had none, where all end.
static int64_t look_up_then(const cr_sphere_contacts *m, int64_t table, int32_t sphere)
{
	const int64_t *firsts = &m->then.data[table];
	return sphere >= 0 && sphere < firsts[0] ? firsts[1 + sphere] : m->found.contacts.count;
}

/// The first contact of the last step that does not come before one of this step. *grains: the
/// place of its body among those listed; *old: where it was sought last. Both go forward; where
/// spheres have other numbers, the search begins at their own contacts.
static int64_t walk_then(
	const cr_sphere_contacts *m, const carom_sphere_contact *now, int32_t sphere, int64_t *grains, int64_t *old)
{
	while (m->bodies.data[*grains] != (int32_t)now->body_a.index1 - 1)
		++*grains;
	const int64_t table = m->tables.data[*grains];
	int64_t at = table >= 0 ? look_up_then(m, table, sphere) : *old;
	while (at < m->found.contacts.count && compare_touches(&m->found.contacts.data[at], now, sphere) < 0)
		at++;
	if (table < 0)
		*old = at;
	return at;
}

/// The contacts whose sphere and part come first within the range.
static void match_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const carom_world *world = task;
	const cr_sphere_contacts *m = &world->sphere_contacts;
	carom_sphere_contact *now = m->next.contacts.data;
	const carom_sphere_contact *then = m->found.contacts.data;
	while (begin > 0 && begin < end && compare_touches(&now[begin - 1], &now[begin], now[begin].sphere) == 0)
		begin++;
	int64_t walked = begin < end ? find_then(m, &now[begin], sphere_then(world, &now[begin])) : 0, grains = 0;
	for (int64_t i = begin, after; i < end; i = after) {
		after = end_of_touch(now, i, m->next.contacts.count);
		const int32_t sphere = sphere_then(world, &now[i]);
		const int64_t old = walk_then(m, &now[i], sphere, &grains, &walked);
		if (sphere < 0 || old == m->found.contacts.count || compare_touches(&then[old], &now[i], sphere) != 0)
			continue;
		touch t = { &now[i], &then[old], after - i, end_of_touch(then, old, m->found.contacts.count) - old, 0 };
		match_touch(world, &t);
	}
}

void cr_number_sphere_contacts(carom_world *world)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	cr_parallel_for(&world->memory, number_task, m->pairs.count, 1, m);
	cr_parallel_for(&world->memory, match_task, m->next.contacts.count, CONTACTS_PER_TASK, world);
}
