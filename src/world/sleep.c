/// Rows of pairs that fall asleep and wake. See sleep.h.

#include "base/stable_sort.h"
#include "world/sleep_rows.h"
#include "world/world.h"
#include <string.h>

// Contacts left behind that are not worth tidying up.
enum { TIDY_CONTACTS = 4096 };

void cr_init_sleep(cr_sleep *s)
{
	*s = (cr_sleep){ 0 };
	cr_pair_store_init(&s->store);
	cr_pair_store_init(&s->body_store);
}

static void free_turning(carom_context *memory, cr_turning *t)
{
	cr_array_free(memory, &t->falling);
	cr_array_free(memory, &t->waking);
}

void cr_free_sleep(carom_context *memory, cr_sleep *s)
{
	cr_pair_store_free(memory, &s->store);
	cr_array_free(memory, &s->pairs);
	cr_array_free(memory, &s->contacts);
	cr_pair_store_free(memory, &s->body_store);
	cr_array_free(memory, &s->body_pairs);
	free_turning(memory, &s->rows);
	free_turning(memory, &s->body_rows);
	cr_results_free(memory, &s->then);
}

void cr_trim_sleep(carom_context *memory, cr_sleep *s)
{
	free_turning(memory, &s->rows);
	free_turning(memory, &s->body_rows);
	cr_results_free(memory, &s->then);
	cr_array_trim(memory, &s->contacts, 0);
}

// ---- Planning ----

/// A table of rows of the last step, and of stored ones: of pairs, or of pairs of bodies.
typedef struct table {
	cr_turning *turning;
	const cr_pair_store *store;
	cr_waking (*row)(const carom_world *world, int64_t row);
	cr_waking (*stored)(const carom_world *world, int32_t record);
	int64_t rows;
} table;

static cr_results *last_results(const carom_world *world) { return (cr_results *)&world->results[world->current]; }

static cr_waking pair_row(const carom_world *world, int64_t row)
{
	return cr_place_of_pair(&last_results(world)->pairs.data[row], 0);
}
static cr_waking body_row(const carom_world *world, int64_t row)
{
	return cr_place_of_bodies(&last_results(world)->body_pairs.data[row], 0);
}
static cr_waking stored_pair(const carom_world *world, int32_t record)
{
	return cr_place_of_pair(&world->sleep.pairs.data[record].pair, record);
}
static cr_waking stored_bodies(const carom_world *world, int32_t record)
{
	return cr_place_of_bodies(&world->sleep.body_pairs.data[record].pair, record);
}

static bool is_quiet_id(const carom_world *world, carom_body_id id)
{
	const int64_t i = (int64_t)id.index1 - 1;
	if (i >= world->bodies.count)
		return false;
	const cr_body *body = &world->bodies.data[i];
	return body->alive && body->generation == id.generation && cr_is_quiet(body);
}

/// false: out of memory.
static bool list_falling(carom_world *world, const table *t)
{
	t->turning->falling.count = 0;
	for (int64_t i = 0; i < t->rows; i++) {
		const cr_waking row = t->row(world, i);
		if (!is_quiet_id(world, row.body_a) || !is_quiet_id(world, row.body_b))
			continue;
		if (!cr_array_reserve_one(&world->memory, &t->turning->falling))
			return false;
		t->turning->falling.data[t->turning->falling.count++] = (int32_t)i;
	}
	return true;
}

/// List the stored pairs of a body or part that is awake. false: out of memory.
static bool list_pairs_of(carom_world *world, const table *t, int64_t body)
{
	for (cr_pair_link at = cr_first_stored(t->store, body); at >= 0; at = cr_next_stored(t->store, at)) {
		if (!cr_array_reserve_one(&world->memory, &t->turning->waking))
			return false;
		t->turning->waking.data[t->turning->waking.count++] = t->stored(world, at / 2);
	}
	return true;
}

static int compare_waking(const void *a, const void *b) { return cr_compare_places(a, b); }

/// List the stored pairs that wake, each once, in order. false: out of memory.
static bool list_waking(carom_world *world, const table *t)
{
	cr_turning *turning = t->turning;
	turning->waking.count = 0;
	const int64_t end = t->store->count > 0 ? t->store->first.count : 0;
	for (int64_t i = cr_next_change(&world->changes, 0, end); i < end; i = cr_next_change(&world->changes, i + 1, end)) {
		const bool rests = i < world->bodies.count && world->bodies.data[i].alive && cr_is_quiet(&world->bodies.data[i]);
		if (!rests && !list_pairs_of(world, t, i))
			return false;
	}
	if (turning->waking.count > 1)
		cr_sort_stably(turning->waking.data, turning->waking.count, sizeof *turning->waking.data, compare_waking);
	int64_t left = 0;
	for (int64_t i = 0; i < turning->waking.count; i++) {
		if (left == 0 || turning->waking.data[left - 1].record != turning->waking.data[i].record)
			turning->waking.data[left++] = turning->waking.data[i];
	}
	turning->waking.count = left;
	return true;
}

static bool list_turning(carom_world *world, const table *t) { return list_falling(world, t) && list_waking(world, t); }

static bool turns(const cr_turning *t) { return t->falling.count + t->waking.count > 0; }

/// How many steps a pair has missed that was listed last in one.
static int64_t steps_since(const carom_world *world, int64_t step) { return world->stats.step - step; }

static int32_t age_after(int32_t age, int64_t steps) { return steps < INT32_MAX - age ? age + (int32_t)steps : INT32_MAX; }

// ---- Room ----

/// Copy the stored contacts to other memory without those that are left behind, where these are
/// many. Without memory for that they stay.
static void tidy_contacts(carom_context *memory, cr_sleep *s)
{
	cr_contact_array tidy = { 0 };
	if (s->contacts.count <= 2 * s->contact_count + TIDY_CONTACTS || !cr_array_reserve(memory, &tidy, s->contact_count))
		return;
	for (int64_t i = 0; i < s->store.records.count; i++) {
		carom_pair *pair = &s->pairs.data[i].pair;
		if (s->store.records.data[i].a < 0 || pair->contact_count == 0)
			continue;
		memcpy(&tidy.data[tidy.count], &s->contacts.data[pair->first_contact], (size_t)pair->contact_count * sizeof *tidy.data);
		pair->first_contact = (int32_t)tidy.count;
		tidy.count += pair->contact_count;
	}
	cr_array_free(memory, &s->contacts);
	s->contacts = tidy;
}

static int64_t contacts_of_falling(const cr_sleep *s, const cr_results *last)
{
	int64_t count = 0;
	for (int64_t i = 0; i < s->rows.falling.count; i++)
		count += last->pairs.data[s->rows.falling.data[i]].contact_count;
	return count;
}

static int64_t contacts_of_waking(const cr_sleep *s)
{
	int64_t count = 0;
	for (int64_t i = 0; i < s->rows.waking.count; i++)
		count += s->pairs.data[s->rows.waking.data[i].record].pair.contact_count;
	return count;
}

/// Room for the rows that fall asleep. false: out of memory.
static bool reserve_stores(carom_world *world, int64_t contacts)
{
	cr_sleep *s = &world->sleep;
	const int64_t bodies = world->bodies.count, rows = s->rows.falling.count, body_rows = s->body_rows.falling.count;
	tidy_contacts(&world->memory, s);
	return s->contacts.count + contacts <= INT32_MAX && cr_pair_store_reserve(&world->memory, &s->store, bodies, rows) &&
		cr_array_reserve(&world->memory, &s->pairs, s->store.count + rows) &&
		cr_array_reserve(&world->memory, &s->contacts, s->contacts.count + contacts) &&
		cr_pair_store_reserve(&world->memory, &s->body_store, bodies, body_rows) &&
		cr_array_reserve(&world->memory, &s->body_pairs, s->body_store.count + body_rows);
}

/// Room for the results that the merge gets. false: out of memory.
static bool reserve_then(carom_world *world, int64_t falling, int64_t waking)
{
	const cr_sleep *s = &world->sleep;
	const cr_results *last = last_results(world);
	cr_results *then = &world->sleep.then;
	const int64_t contacts = last->contacts.count - falling + waking;
	return contacts <= INT32_MAX &&
		cr_array_reserve_fresh(&world->memory, &then->pairs, last->pairs.count - s->rows.falling.count + s->rows.waking.count) &&
		cr_array_reserve_fresh(&world->memory, &then->contacts, contacts) &&
		(last->local.count == 0 || cr_array_reserve_fresh(&world->memory, &then->local, contacts)) &&
		cr_array_reserve_fresh(
			&world->memory, &then->body_pairs, last->body_pairs.count - s->body_rows.falling.count + s->body_rows.waking.count);
}

// ---- The results of the last step for the merge ----

/// Append a row of the last step.
static void keep_row(carom_world *world, const carom_pair *row)
{
	const cr_results *last = last_results(world);
	cr_results *then = &world->sleep.then;
	carom_pair *to = &then->pairs.data[then->pairs.count++];
	const int64_t first = then->contacts.count;
	const size_t count = (size_t)row->contact_count;
	*to = *row;
	to->first_contact = (int32_t)first;
	then->contacts.count += row->contact_count;
	if (count > 0)
		memcpy(&then->contacts.data[first], &last->contacts.data[row->first_contact], count * sizeof *then->contacts.data);
	if (count > 0 && last->local.count > 0)
		memcpy(&then->local.data[first], &last->local.data[row->first_contact], count * sizeof *then->local.data);
}

/// Where contacts of a pair that wakes are in the frame of its body A, which has not moved since
/// then. Of a body that is gone nobody asks.
static void place_locally(const carom_world *world, const carom_pair *row, const carom_contact *contacts, cr_local_point *local)
{
	const int64_t part = (int64_t)row->body_a.index1 - 1 + row->shape_a;
	const carom_pose *pose = part < world->bodies.count ? cr_last_pose(&world->bodies.data[part]) : &(carom_pose){ 0 };
	const m3d rotation = m3d_from_quat(pose->orientation);
	for (int32_t i = 0; i < row->contact_count; i++)
		local[i] = cr_local_point_of(contacts[i].point, pose->position, &rotation);
}

/// Append a stored row, as old as if it had been looked at all the time.
static void wake_row(carom_world *world, const cr_sleeping_pair *stored)
{
	cr_results *then = &world->sleep.then;
	const int64_t steps = steps_since(world, stored->step), first = then->contacts.count;
	carom_pair *to = &then->pairs.data[then->pairs.count++];
	*to = stored->pair;
	to->age = age_after(to->age, steps);
	to->first_contact = (int32_t)first;
	for (int32_t i = 0; i < to->contact_count; i++) {
		carom_contact *contact = &then->contacts.data[then->contacts.count++];
		*contact = world->sleep.contacts.data[stored->pair.first_contact + i];
		contact->age = age_after(contact->age, steps);
	}
	if (last_results(world)->local.count > 0)
		place_locally(world, to, then->contacts.data + first, then->local.data + first);
}

static void wake_body_row(carom_world *world, const cr_sleeping_body_pair *stored)
{
	cr_results *then = &world->sleep.then;
	carom_body_pair *to = &then->body_pairs.data[then->body_pairs.count++];
	*to = stored->pair;
	to->age = age_after(to->age, steps_since(world, stored->step));
}

/// Fill the rows of pairs: those of the last step that stay, and those that wake, in order.
static void join_rows(carom_world *world)
{
	const cr_turning *t = &world->sleep.rows;
	const cr_results *last = last_results(world);
	cr_results *then = &world->sleep.then;
	int64_t next = 0, falling = 0;
	then->pairs.count = then->contacts.count = 0;
	for (int64_t i = 0; i <= last->pairs.count; i++) {
		const cr_waking place = i < last->pairs.count ? pair_row(world, i) : (cr_waking){ 0 };
		while (next < t->waking.count && (i == last->pairs.count || cr_compare_places(&t->waking.data[next], &place) < 0))
			wake_row(world, &world->sleep.pairs.data[t->waking.data[next++].record]);
		if (falling < t->falling.count && t->falling.data[falling] == i)
			falling++;
		else if (i < last->pairs.count)
			keep_row(world, &last->pairs.data[i]);
	}
	then->local.count = last->local.count > 0 ? then->contacts.count : 0;
}

/// Fill those of pairs of bodies, likewise.
static void join_body_rows(carom_world *world)
{
	const cr_turning *t = &world->sleep.body_rows;
	const cr_results *last = last_results(world);
	cr_results *then = &world->sleep.then;
	int64_t next = 0, falling = 0;
	then->body_pairs.count = 0;
	for (int64_t i = 0; i <= last->body_pairs.count; i++) {
		const cr_waking place = i < last->body_pairs.count ? body_row(world, i) : (cr_waking){ 0 };
		while (next < t->waking.count && (i == last->body_pairs.count || cr_compare_places(&t->waking.data[next], &place) < 0))
			wake_body_row(world, &world->sleep.body_pairs.data[t->waking.data[next++].record]);
		if (falling < t->falling.count && t->falling.data[falling] == i)
			falling++;
		else if (i < last->body_pairs.count)
			then->body_pairs.data[then->body_pairs.count++] = last->body_pairs.data[i];
	}
}

carom_result cr_plan_sleep(carom_world *world)
{
	cr_sleep *s = &world->sleep;
	const cr_results *last = last_results(world);
	s->turns = false;
	if (s->count == 0 && s->store.count == 0 && s->body_store.count == 0)
		return CAROM_SUCCESS;
	const table pairs = { &s->rows, &s->store, pair_row, stored_pair, last->pairs.count };
	const table bodies = { &s->body_rows, &s->body_store, body_row, stored_bodies, last->body_pairs.count };
	bool enough = list_turning(world, &pairs) && list_turning(world, &bodies);
	if (enough && (turns(&s->rows) || turns(&s->body_rows))) {
		const int64_t falling = contacts_of_falling(s, last), waking = contacts_of_waking(s);
		enough = reserve_stores(world, falling) && reserve_then(world, falling, waking);
		if (enough) {
			join_rows(world);
			join_body_rows(world);
			s->turns = true;
		}
	}
	return enough ? CAROM_SUCCESS : cr_fail_memory(world->context, "the pairs of bodies asleep");
}

cr_results *cr_results_before(carom_world *world) { return world->sleep.turns ? &world->sleep.then : last_results(world); }

// ---- After the step ----

static void store_row(cr_sleep *s, const carom_pair *row, const carom_contact *contacts, int64_t step)
{
	const int32_t record = cr_pair_store_add(
		&s->store, cr_number_of_part(row->body_a, row->shape_a), cr_number_of_part(row->body_b, row->shape_b));
	cr_sleeping_pair *stored = &s->pairs.data[record];
	*stored = (cr_sleeping_pair){ *row, step };
	stored->pair.first_contact = (int32_t)s->contacts.count;
	if (row->contact_count > 0)
		memcpy(&s->contacts.data[s->contacts.count], contacts, (size_t)row->contact_count * sizeof *contacts);
	s->contacts.count += row->contact_count;
	s->contact_count += row->contact_count;
}

static void store_body_row(cr_sleep *s, const carom_body_pair *row, int64_t step)
{
	const int32_t record =
		cr_pair_store_add(&s->body_store, cr_number_of_part(row->body_a, 0), cr_number_of_part(row->body_b, 0));
	s->body_pairs.data[record] = (cr_sleeping_body_pair){ *row, step };
}

void cr_finish_sleep(carom_world *world)
{
	cr_sleep *s = &world->sleep;
	const cr_results *last = last_results(world);
	for (int64_t i = 0; s->turns && i < s->rows.waking.count; i++) {
		const int32_t record = s->rows.waking.data[i].record;
		s->contact_count -= s->pairs.data[record].pair.contact_count;
		cr_pair_store_remove(&s->store, record);
	}
	for (int64_t i = 0; s->turns && i < s->rows.falling.count; i++) {
		const carom_pair *row = &last->pairs.data[s->rows.falling.data[i]];
		store_row(s, row, last->contacts.data + row->first_contact, world->stats.step);
	}
	for (int64_t i = 0; s->turns && i < s->body_rows.waking.count; i++)
		cr_pair_store_remove(&s->body_store, s->body_rows.waking.data[i].record);
	for (int64_t i = 0; s->turns && i < s->body_rows.falling.count; i++)
		store_body_row(s, &last->body_pairs.data[s->body_rows.falling.data[i]], world->stats.step);
	// A world that no longer lists them forgets them.
	if (!world->pipeline.settings.body_pairs && s->body_store.count > 0)
		cr_pair_store_clear(&s->body_store);
	s->turns = false;
}
