/// Second half of the merge stage: pairs with contacts become rows of the views; contacts are
/// matched with the last step's; pairs that begin, persist or end become events. The pairs of
/// meshes, the simple pairs and further ones come sorted and are joined in order, so every
/// view is in order as it is written (where bodies have parts, after one sort). Counting (in order)
/// gives each pair its place; filling is parallel over pairs.
///
/// Pairs, contacts and events are written over those of the last step, so that there is one array
/// of each. Users see these until the step has succeeded: so filling comes last, and cannot fail. A
/// pair notes its old contacts before it writes its new ones. That is enough while no pair writes
/// where another one's old contacts are. Rows are in order in both steps: so it holds where each
/// row begins neither before the old contacts of the rows above it end nor after its own old ones
/// begin (is_in_place). Mostly no count changes, and they are where they were. Otherwise all old
/// contacts are noted first.

#include "contact/merge.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/radix.h"
#include "contact/body_pairs.h"
#include "contact/material.h"
#include "contact/passing.h"
#include "contact/seams.h"
#include "frame/roll.h"
#include <string.h>

enum { PAIRS_PER_TASK = 256, FEW_CONTACTS = 64 };
// Of the smaller body.
static const double SHARE_OF_BODY = 0.1;

static bool is_sensor_pair(const cr_pipeline *p, const cr_found_pair *f)
{
	return cr_is_sensor_pair(&p->bodies[f->a], &p->bodies[f->b]);
}

static cr_further_pair *find_in(const cr_further_pairs *list, const cr_found_pair *f)
{
	int64_t low = 0, high = list->count;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		const cr_further_pair *s = &list->data[middle];
		if (s->a < f->a || (s->a == f->a && s->b < f->b))
			low = middle + 1;
		else
			high = middle;
	}
	return low < list->count && list->data[low].a == f->a && list->data[low].b == f->b ? &list->data[low] : NULL;
}

/// The further pair that was joined to those found; NULL: a pair of the stages.
static cr_further_pair *further_of(const cr_further_lists *further, const cr_found_pair *f)
{
	if (!further || !further->surfaces || f->contacts.count > 0 || f->reduced)
		return NULL;
	cr_further_pair *found = find_in(further->surfaces, f);
	return found ? found : find_in(further->grains, f);
}

/// Does the pair belong in the view? Sensors tell of overlap only, not of speculative contacts.
static bool is_listed(const cr_pipeline *p, const cr_further_lists *further, const cr_found_pair *f)
{
	if (f->contacts.count == 0)
		return f->reduced || further_of(further, f) != NULL;
	if (!is_sensor_pair(p, f))
		return true;
	const cr_raw_contact *contacts = cr_found_contacts(p, f);
	for (int32_t i = 0; i < f->contacts.count; i++) {
		if (contacts[i].depth >= 0)
			return true;
	}
	return false;
}

static int compare_pairs(const carom_pair *a, const carom_pair *b)
{
	int order = cr_compare_ids(a->body_a, b->body_a);
	if (order == 0)
		order = cr_compare_ids(a->body_b, b->body_b);
	if (order != 0)
		return order;
	if (a->shape_a != b->shape_a)
		return a->shape_a < b->shape_a ? -1 : 1;
	return (a->shape_b > b->shape_b) - (a->shape_b < b->shape_b);
}

/// What the rows of a pair are sorted by; nothing else of it is set.
static carom_pair key_of(const cr_pipeline *p, const cr_found_pair *f)
{
	return (carom_pair){
		.body_a = cr_id_of(p->bodies, f->a),
		.body_b = cr_id_of(p->bodies, f->b),
		.shape_a = p->bodies[f->a].part,
		.shape_b = p->bodies[f->b].part,
	};
}

/// Sorts p->found, which is in the order of parts, by bodies and then by parts, so that the pairs
/// of two bodies stand side by side. Returns false when out of memory.
static bool sort_by_bodies(cr_pipeline *p)
{
	const int64_t count = p->found.count;
	cr_arena *arena = &p->workers[0].arena;
	cr_key *keys = cr_arena_alloc(arena, (size_t)count * sizeof *keys);
	cr_key *scratch = cr_arena_alloc(arena, (size_t)count * sizeof *scratch);
	cr_found_pair *sorted = cr_arena_alloc(arena, (size_t)count * sizeof *sorted);
	if (!keys || !scratch || !sorted)
		return false;
	for (int64_t i = 0; i < count; i++) {
		const uint64_t a = (uint64_t)cr_first_part(p->bodies, p->found.data[i].a);
		keys[i] = (cr_key){ a << 32 | (uint64_t)cr_first_part(p->bodies, p->found.data[i].b), (uint32_t)i };
	}
	cr_radix_sort(keys, scratch, count, 64);
	for (int64_t i = 0; i < count; i++)
		sorted[i] = p->found.data[keys[i].value];
	memcpy(p->found.data, sorted, (size_t)count * sizeof *sorted);
	return true;
}

/// Does a pair, if there is one, belong behind that of two parts?
static bool is_after(const cr_found_pair *f, int32_t a, int32_t b) { return f && (f->a > a || (f->a == a && f->b > b)); }

/// Put the kept pairs of meshes among the simple pairs in p->found, in order. false: out of memory.
static bool join_meshes(cr_pipeline *p)
{
	int64_t i = p->met.count, j = p->found.count, end = i + j;
	if (j == 0) {
		cr_swap_found(p);
		return true;
	}
	if (!cr_array_reserve(p->context, &p->found, end))
		return false;
	p->found.count = end;
	// From the back, in place: once all pairs of meshes are in, the other simple pairs lie where
	// they belong.
	while (i > 0) {
		const cr_found_pair *met = &p->met.data[i - 1];
		const cr_found_pair *simple = j > 0 ? &p->found.data[j - 1] : NULL;
		if (is_after(simple, met->a, met->b)) {
			p->found.data[--end] = p->found.data[--j];
		} else {
			p->found.data[--end] = *met;
			i--;
		}
	}
	p->met.count = 0;
	return true;
}

/// Put further pairs among the others, likewise.
static bool join_further(cr_pipeline *p, const cr_further_pairs *list)
{
	int64_t i = list->count, j = p->found.count, end = i + j;
	if (!cr_array_reserve(p->context, &p->found, end))
		return false;
	p->found.count = end;
	while (i > 0) {
		const cr_further_pair *s = &list->data[i - 1];
		if (is_after(j > 0 ? &p->found.data[j - 1] : NULL, s->a, s->b)) {
			p->found.data[--end] = p->found.data[--j];
		} else {
			p->found.data[--end] = (cr_found_pair){ .a = s->a, .b = s->b };
			i--;
		}
	}
	return true;
}

/// How many contacts of a pair the view shows.
static int32_t shown_count(const cr_pipeline *p, const cr_found_pair *f)
{
	return is_sensor_pair(p, f) ? 0 : f->contacts.count;
}

/// Leave the pairs that belong in the view in p->found. Returns how many contacts there are. -1:
/// too many pairs.
static int64_t list_pairs(cr_pipeline *p, const cr_further_lists *further)
{
	int64_t count = 0, contacts = 0;
	for (int64_t i = 0; i < p->found.count; i++) {
		if (!is_listed(p, further, &p->found.data[i]))
			continue;
		contacts += shown_count(p, &p->found.data[i]);
		p->found.data[count++] = p->found.data[i];
	}
	p->found.count = count;
	return count > INT32_MAX ? -1 : contacts;
}

/// Both lists of pairs are sorted: one pass tells what each pair was in the last step. Returns how
/// many of the last step have ended.
static int64_t find_before(const cr_pipeline *p, const cr_results *then, int32_t *before)
{
	int64_t j = 0, ended = then->pairs.count;
	for (int64_t i = 0; i < p->found.count; i++) {
		const carom_pair key = key_of(p, &p->found.data[i]);
		int order = 1;
		while (j < then->pairs.count && (order = compare_pairs(&then->pairs.data[j], &key)) < 0)
			j++;
		before[i] = -1 - (int32_t)j;
		if (j == then->pairs.count || order != 0)
			continue;
		before[i] = (int32_t)j;
		ended--;
	}
	return ended;
}

// ---- Room ----

/// How many elements to make room for where want did not fit: a quarter more than there were, if
/// the memory allows it.
static int64_t roomy(const carom_context *context, int64_t capacity, int64_t want, size_t element)
{
	const int64_t more = capacity + capacity / 4;
	return more > want && cr_has_room(context, (size_t)more * element) ? more : want;
}

/// Do so many elements fit into the array of the last step?
#define FITS_OVER(then, want) ((then)->data && (want) <= (then)->capacity)
/// Make room for so many in an array of this step. false: out of memory.
#define MAKE_ROOM(context, now, then, want) \
	cr_array_reserve_fresh((context), (now), roomy((context), (then)->capacity, (want), sizeof *(now)->data))
/// Let this step have the array of the last one.
#define TAKE_OVER(context, now, then) \
	(cr_array_free((context), (now)), *(now) = *(then), (then)->data = NULL, (then)->count = (then)->capacity = 0)

static bool make_room_for_pairs(cr_merging *m)
{
	const int64_t count = m->pipeline->found.count;
	m->pairs_over = FITS_OVER(&m->then->pairs, count);
	return m->pairs_over || MAKE_ROOM(m->pipeline->context, &m->now->pairs, &m->then->pairs, count);
}

static bool make_room_for_contacts(cr_merging *m)
{
	cr_results *then = m->then, *now = m->now;
	carom_context *context = m->pipeline->context;
	m->with_local = m->pipeline->has_solids;
	m->contacts_over = FITS_OVER(&then->contacts, m->contacts) && (!m->with_local || FITS_OVER(&then->local, m->contacts));
	return m->contacts_over ||
		(MAKE_ROOM(context, &now->contacts, &then->contacts, m->contacts) &&
			(!m->with_local || MAKE_ROOM(context, &now->local, &then->local, m->contacts)));
}

static bool make_room_for_events(cr_merging *m)
{
	m->events_over = FITS_OVER(&m->then->events, m->events);
	return m->events_over || MAKE_ROOM(m->pipeline->context, &m->now->events, &m->then->events, m->events);
}

// ---- Pairs ----

/// Give a row its places in the views of the contacts of a further pair. s: NULL: it is none.
static void link_further(cr_further_pair *s, int32_t row, carom_pair *pair)
{
	if (s)
		s->row = row;
	pair->first_surface_contact = s ? (int32_t)s->contacts.first : 0;
	pair->surface_contact_count = s ? s->contacts.count : 0;
	pair->first_surface_shape_contact = s ? (int32_t)s->shape_contacts.first : 0;
	pair->surface_shape_contact_count = s ? s->shape_contacts.count : 0;
	pair->first_sphere_contact = s ? (int32_t)s->sphere_contacts.first : 0;
	pair->sphere_contact_count = s ? s->sphere_contacts.count : 0;
	pair->sphere_group = s ? s->sphere_group : -1;
}

/// Write a row, but for its contacts, which are those of last until it is filled. last: the row
/// that it continues, which it may be written over; NULL: it begins.
static void write_row(const cr_merging *m, int64_t row, const carom_pair *last)
{
	const cr_pipeline *p = m->pipeline;
	const cr_found_pair *f = &p->found.data[row];
	carom_pair *pair = &m->now->pairs.data[row];
	if (!last)
		*pair = key_of(p, f);
	else if (pair != last)
		*pair = *last;
	pair->age = last ? cr_next_age(pair->age) : 0;
	pair->user_data_a = p->bodies[f->a].user_data;
	pair->user_data_b = p->bodies[f->b].user_data;
	pair->found_count = is_sensor_pair(p, f) ? 0 : (int32_t)f->found;
	pair->body_pair = -1;
	link_further(further_of(&m->further, f), (int32_t)row, pair);
}

/// Write all rows, maybe over those of the last step. The rows that go on are in order in both.
/// Those that move down go first, the last one first; then those that move up or stay, the first
/// one first. So none is written over an old one that is still to be read: one that moves down
/// would have to pass a lower one, and one that moves up a higher one. Those that begin need no old
/// one.
static void write_pairs(cr_merging *m)
{
	carom_context *context = m->pipeline->context;
	const int32_t *before = m->before;
	const int64_t count = m->pipeline->found.count;
	const carom_pair *old = m->then->pairs.data;
	if (m->pairs_over)
		TAKE_OVER(context, &m->now->pairs, &m->then->pairs);
	for (int64_t i = count; i-- > 0;) {
		if (before[i] >= 0 && before[i] < i)
			write_row(m, i, &old[before[i]]);
	}
	for (int64_t i = 0; i < count; i++) {
		if (before[i] >= i)
			write_row(m, i, &old[before[i]]);
	}
	for (int64_t i = 0; i < count; i++) {
		if (before[i] < 0)
			write_row(m, i, NULL);
	}
	m->now->pairs.count = count;
	cr_array_free(context, &m->then->pairs);
}

// ---- Contacts ----

/// Does no pair write over old contacts of another one?
static bool is_in_place(const cr_merging *m)
{
	const cr_pipeline *p = m->pipeline;
	int64_t first = 0, old_end = 0;
	for (int64_t i = 0; i < p->found.count; i++) {
		const carom_pair *last = m->before[i] >= 0 ? &m->then->pairs.data[m->before[i]] : NULL;
		if (first < old_end || (last && first > last->first_contact))
			return false;
		if (last)
			old_end = (int64_t)last->first_contact + last->contact_count;
		first += shown_count(p, &p->found.data[i]);
	}
	return true;
}

static bool has_large_pairs(const cr_results *r)
{
	for (int64_t i = 0; i < r->pairs.count; i++) {
		if (r->pairs.data[i].contact_count > FEW_CONTACTS)
			return true;
	}
	return false;
}

/// Room for noting all old contacts, where they must be. false: out of memory.
static bool plan_past(cr_merging *m)
{
	if ((!m->contacts_over || is_in_place(m)) && !has_large_pairs(m->then))
		return true;
	cr_arena *arena = &m->pipeline->workers[0].arena;
	m->past = cr_arena_alloc(arena, (size_t)m->then->contacts.count * sizeof *m->past);
	m->used = cr_arena_alloc(arena, (size_t)m->then->contacts.count);
	return m->past && m->used;
}

/// Note the old contacts of a row that is not filled yet.
static void note_past(const cr_merging *m, int64_t row, cr_past_contact *past)
{
	const carom_pair *pair = &m->now->pairs.data[row];
	for (int32_t k = 0; k < pair->contact_count; k++) {
		past[k] = cr_past_of(&m->old[pair->first_contact + k]);
		if (m->old_local)
			past[k].at.local = m->old_local[pair->first_contact + k];
	}
}

static void note_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const cr_merging *m = task;
	for (int64_t row = begin; row < end; row++) {
		note_past(m, row, m->past + m->now->pairs.data[row].first_contact);
	}
}

/// Keep the place of a contact in the frame of its body A, where it will be asked for.
static void keep_local(const cr_merging *m, const cr_body *a, int64_t contact)
{
	if (!m->with_local)
		return;
	const m3d rotation = cr_rotation_of(a);
	m->now->local.data[contact] = cr_local_point_of(m->now->contacts.data[contact].point, a->pose.position, &rotation);
}

/// Let a row have its new place and number of contacts.
static void set_place(const cr_merging *m, int64_t row)
{
	m->now->pairs.data[row].first_contact = m->first[row];
	m->now->pairs.data[row].contact_count = shown_count(m->pipeline, &m->pipeline->found.data[row]);
}

/// Write the new contacts of a row.
static void fill_row(const cr_merging *m, int64_t row)
{
	set_place(m, row);
	const cr_pipeline *p = m->pipeline;
	const carom_pair *pair = &m->now->pairs.data[row];
	const cr_found_pair *found = &p->found.data[row];
	const cr_body *a = &p->bodies[found->a], *b = &p->bodies[found->b];
	cr_raw_contact made[CR_MAX_VOLUME_CONTACTS];
	if (found->late)
		cr_make_volume_contacts(p, a, b, made);
	const cr_raw_contact *contacts = found->late ? made : cr_found_contacts(p, found);
	for (int32_t k = 0; k < pair->contact_count; k++) {
		carom_contact *c = &m->now->contacts.data[pair->first_contact + k];
		*c = cr_contact_of(pair, &contacts[k]);
		c->pair = (int32_t)row;
		keep_local(m, a, pair->first_contact + k);
	}
	cr_set_materials(p, a, b, m->now->contacts.data + pair->first_contact, pair->contact_count);
}

/// How far the contact of an edge goes at most while bodies hardly move: its ends are farther apart
/// in bodies of few triangles.
static double way_along_edge(const cr_body *a, const cr_body *b)
{
	const cr_collider *of_a = a->shape.collider, *of_b = b->shape.collider;
	return of_a && of_b ? SHARE_OF_BODY * fminf(of_a->diagonal, of_b->diagonal) : 0;
}

/// The world place that a contact of the last step had.
static v3d past_point(const cr_past_set *then, const cr_past_contact *c)
{
	if (!then->local)
		return v3d_from_doubles(c->at.point);
	const m3d rotation = m3d_from_quat(then->pose->orientation);
	const v3d local = v3d_from_floats(c->at.local.p);
	return v3d_add(m3d_mul(&rotation, local), then->pose->position);
}

/// Match those that are left, where one of the bodies is round and may roll.
static void match_rolling_row(
	const cr_merging *m, const cr_found_pair *f, const cr_past_set *then, const cr_contact_set *now, const uint8_t *used)
{
	const cr_pipeline *p = m->pipeline;
	cr_rolled left[CR_MOST_ROLLING];
	carom_contact *new[CR_MOST_ROLLING];
	const cr_body *a = &p->bodies[f->a], *b = &p->bodies[f->b];
	cr_rolling r = { { a, b }, { true, true }, 0, p->settings.world.match_distance, left, 0, new, 0 };
	for (int32_t i = 0; i < now->count && r.now_count < CR_MOST_ROLLING; i++) {
		if (now->contacts[i].age == 0)
			new[r.now_count++] = &now->contacts[i];
	}
	if (r.now_count == 0)
		return;
	r.size = fmin(cr_radius_of(a), cr_radius_of(b));
	for (int32_t i = 0; i < then->count && r.then_count < CR_MOST_ROLLING; i++) {
		if (!used[i])
			left[r.then_count++] = (cr_rolled){ &then->contacts[i], past_point(then, &then->contacts[i]), false };
	}
	cr_match_rolling(&r);
}

/// Match the new contacts of a row with the old ones of the pair.
static void match_row(const cr_merging *m, int64_t row, const cr_past_contact *past, int32_t old_count, uint8_t *used)
{
	const cr_pipeline *p = m->pipeline;
	const carom_pair *pair = &m->now->pairs.data[row];
	const cr_body *a = &p->bodies[p->found.data[row].a], *b = &p->bodies[p->found.data[row].b];
	// Solids are seen with another pose in each step, which is none of a motion.
	const bool moves = !cr_deforming_of(a) && !cr_deforming_of(b);
	const cr_past_set then = { past, old_count, cr_last_pose(a), moves ? cr_last_pose(b) : NULL, m->old_local != NULL };
	const cr_contact_set now = { m->now->contacts.data + pair->first_contact, pair->contact_count, &a->pose, &b->pose };
	if (a->reshaped < CR_SHAPE_CHANGED && b->reshaped < CR_SHAPE_CHANGED) {
		cr_match_contacts(&then, &now, p->settings.world.match_distance, way_along_edge(a, b), used);
		if (cr_may_roll(a, b))
			match_rolling_row(m, &p->found.data[row], &then, &now, used);
	} else if (a->reshaped != CR_FRAME_CHANGED)
		cr_match_places(&then, &now, p->settings.world.match_distance, used);
}

bool cr_pair_has_parts(const cr_pipeline *p, const cr_found_pair *f)
{
	return p->has_parts &&
		(cr_compound_of(&p->bodies[cr_first_part(p->bodies, f->a)]) ||
			cr_compound_of(&p->bodies[cr_first_part(p->bodies, f->b)]));
}

static bool is_shown(const cr_raw_contact *raw, const carom_contact *c)
{
	return raw->kind == (int32_t)c->kind && raw->feature_a == c->feature_a && raw->feature_b == c->feature_b &&
		raw->depth == c->depth && memcmp(raw->point, c->point, sizeof c->point) == 0 &&
		memcmp(raw->normal, c->normal, sizeof c->normal) == 0;
}

/// Are the contacts of a row those that it had, where the last step may have shown others than were
/// found: some turned at seams, or with the depth of one that was left out?
static bool shows_found(const cr_merging *m, int64_t row)
{
	const cr_found_pair *found = &m->pipeline->found.data[row];
	if (found->late)
		return false;
	const cr_raw_contact *contacts = cr_found_contacts(m->pipeline, found);
	const carom_pair *pair = &m->now->pairs.data[row];
	// Not those that were found: a sensor shows none of them.
	for (int32_t k = 0; k < pair->contact_count; k++) {
		if (!is_shown(&contacts[k], &m->old[pair->first_contact + k]))
			return false;
	}
	return true;
}

/// Does a row that goes on keep the contacts that it had?
static bool stays(const cr_merging *m, int64_t row)
{
	const cr_found_pair *found = &m->pipeline->found.data[row];
	return found->rests && !m->past && m->now->pairs.data[row].contact_count == shown_count(m->pipeline, found) &&
		(!cr_pair_has_parts(m->pipeline, found) || shows_found(m, row));
}

/// Take over the contacts of such a row.
static void keep_row(const cr_merging *m, int64_t row)
{
	const carom_pair *pair = &m->now->pairs.data[row];
	const carom_contact *old = m->old + pair->first_contact;
	set_place(m, row);
	carom_contact *contacts = m->now->contacts.data + pair->first_contact;
	if (contacts != old && pair->contact_count > 0)
		memmove(contacts, old, (size_t)pair->contact_count * sizeof *contacts);
	for (int32_t k = 0; k < pair->contact_count; k++) {
		contacts[k].age = cr_next_age(contacts[k].age);
		contacts[k].pair = (int32_t)row;
		keep_local(m, &m->pipeline->bodies[m->pipeline->found.data[row].a], pair->first_contact + k);
	}
}

/// Write the new contacts of a row that goes on, after its old ones are noted, and match them.
static void renew_row(const cr_merging *m, int64_t row)
{
	const int32_t old_first = m->now->pairs.data[row].first_contact, old_count = m->now->pairs.data[row].contact_count;
	cr_past_contact few[FEW_CONTACTS], *past = m->past ? m->past + old_first : few;
	uint8_t few_used[FEW_CONTACTS], *used = m->past ? m->used + old_first : few_used;
	if (!m->past)
		note_past(m, row, few);
	fill_row(m, row);
	if (m->now->pairs.data[row].contact_count > 0 && old_count > 0)
		match_row(m, row, past, old_count, used);
}

static void fill_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const cr_merging *m = task;
	for (int64_t row = begin; row < end; row++) {
		if (row + 2 < end)
			__builtin_prefetch(cr_found_contacts(m->pipeline, &m->pipeline->found.data[row + 2]));
		if (m->now->pairs.data[row].age == 0)
			fill_row(m, row);
		else if (stays(m, row))
			keep_row(m, row);
		else
			renew_row(m, row);
	}
}

/// Fill the contacts, over the old ones or beside them. Afterwards then has none.
static void fill_contacts(cr_merging *m)
{
	carom_context *context = m->pipeline->context;
	cr_results *then = m->then, *now = m->now;
	m->old = then->contacts.data;
	m->old_local = then->local.count > 0 ? then->local.data : NULL;
	if (m->past)
		cr_parallel_for(context, note_task, now->pairs.count, PAIRS_PER_TASK, m);
	if (m->contacts_over)
		TAKE_OVER(context, &now->contacts, &then->contacts);
	if (m->contacts_over && m->with_local)
		TAKE_OVER(context, &now->local, &then->local);
	now->contacts.count = m->contacts;
	now->local.count = m->with_local ? m->contacts : 0;
	cr_parallel_for(context, fill_task, now->pairs.count, PAIRS_PER_TASK, m);
	cr_array_free(context, &then->contacts);
	cr_array_free(context, &then->local);
}

/// Where the contacts of each row go, in the memory of before.
static void place_contacts(cr_merging *m)
{
	int64_t contacts = 0;
	m->first = m->before;
	m->before = NULL;
	for (int64_t i = 0; i < m->now->pairs.count; i++) {
		m->first[i] = (int32_t)contacts;
		contacts += shown_count(m->pipeline, &m->pipeline->found.data[i]);
	}
}

// ---- Events ----

static carom_event event_of(const carom_pair *pair, carom_event_kind kind, int32_t row)
{
	return (carom_event){ pair->body_a, pair->body_b, pair->user_data_a, pair->user_data_b, kind, row, pair->user_data,
		pair->shape_a, pair->shape_b };
}

uint64_t cr_current_user_data(const cr_pipeline *p, carom_body_id id, uint64_t last)
{
	const int64_t i = (int64_t)id.index1 - 1;
	const bool lives = i >= 0 && i < p->body_count && p->bodies[i].alive && p->bodies[i].generation == id.generation;
	return lives ? p->bodies[i].user_data : last;
}

static carom_event end_of(const cr_pipeline *p, const carom_pair *pair)
{
	carom_event event = event_of(pair, CAROM_EVENT_END, -1);
	event.user_data_a = cr_current_user_data(p, pair->body_a, pair->user_data_a);
	event.user_data_b = cr_current_user_data(p, pair->body_b, pair->user_data_b);
	return event;
}

/// Write the events of pairs that have ended, one for each pair of the last step that has no row,
/// and leave a place for each row. The pairs of the last step are read here.
static void list_ended(cr_merging *m)
{
	const cr_results *then = m->then;
	if (m->events_over)
		TAKE_OVER(m->pipeline->context, &m->now->events, &m->then->events);
	carom_event *event = m->now->events.data;
	int64_t j = 0;
	for (int64_t i = 0; i <= m->pipeline->found.count; i++) {
		const int32_t before = i < m->pipeline->found.count ? m->before[i] : -1 - (int32_t)then->pairs.count;
		for (const int64_t end = before < 0 ? -1 - (int64_t)before : before; j < end; j++)
			*event++ = end_of(m->pipeline, &then->pairs.data[j]);
		j += before >= 0;
		if (i < m->pipeline->found.count)
			event++;
	}
	m->now->events.count = m->events;
	cr_array_free(m->pipeline->context, &m->then->events);
}

/// Write the events of the rows in the places that are left for them: behind i rows and the pairs
/// of the last step that have ended before.
static void list_rows(const cr_merging *m)
{
	int64_t going = 0;
	for (int64_t i = 0; i < m->now->pairs.count; i++) {
		const int32_t before = m->before[i];
		const int64_t ended = (before < 0 ? -1 - (int64_t)before : before) - going;
		m->now->events.data[i + ended] =
			event_of(&m->now->pairs.data[i], before >= 0 ? CAROM_EVENT_PERSIST : CAROM_EVENT_BEGIN, (int32_t)i);
		going += before >= 0;
	}
}

carom_result cr_begin_merge(cr_pipeline *p, const cr_further_lists *further, cr_results *then, cr_results *now, cr_merging *m)
{
	*m = (cr_merging){ .pipeline = p, .further = further ? *further : (cr_further_lists){ 0 }, .then = then, .now = now };
	if (!join_meshes(p) || (further && (!join_further(p, further->surfaces) || !join_further(p, further->grains))) ||
		(p->has_parts && p->found.count > 0 && !(sort_by_bodies(p) && cr_drop_seams(p) && cr_limit_bodies(p))))
		return cr_fail_memory(p->context, "the pairs of a step");
	m->contacts = list_pairs(p, further);
	if (m->contacts < 0)
		return cr_fail_memory(p->context, "the pairs of a step");
	m->before = cr_arena_alloc(&p->workers[0].arena, (size_t)p->found.count * sizeof *m->before);
	if (!m->before || !make_room_for_pairs(m))
		return cr_fail_memory(p->context, "the pairs of a step");
	m->events = p->found.count + find_before(p, then, m->before);
	if (p->has_parts && !cr_plan_passing(m))
		return cr_fail_memory(p->context, "the contacts of a step");
	if (m->contacts > INT32_MAX || !make_room_for_contacts(m) || !plan_past(m))
		return cr_fail_memory(p->context, "the contacts of a step");
	if (p->settings.body_pairs && !cr_reserve_body_pairs(p, then, now))
		return cr_fail_memory(p->context, "the pairs of bodies of a step");
	return make_room_for_events(m) ? CAROM_SUCCESS : cr_fail_memory(p->context, "the events of a step");
}

void cr_end_merge(cr_merging *m)
{
	list_ended(m);
	write_pairs(m);
	list_rows(m);
	place_contacts(m);
	fill_contacts(m);
	cr_pass_on(m);
	if (m->pipeline->settings.body_pairs)
		cr_list_body_pairs(m->pipeline, m->then, m->now);
	else
		m->now->body_pairs.count = m->now->body_events.count = 0;
}

void cr_results_free(carom_context *context, cr_results *r)
{
	cr_array_free(context, &r->contacts);
	cr_array_free(context, &r->local);
	cr_array_free(context, &r->pairs);
	cr_array_free(context, &r->events);
	cr_array_free(context, &r->body_pairs);
	cr_array_free(context, &r->body_events);
}

uint64_t cr_results_hash(const cr_results *r)
{
	uint64_t hash = cr_hash_u64(CR_HASH_SEED, (uint64_t)r->contacts.count);
	for (int64_t i = 0; i < r->contacts.count; i++) {
		const carom_contact *c = &r->contacts.data[i];
		hash = cr_hash_u64(hash, (uint64_t)c->body_a.index1 << 32 | c->body_b.index1);
		hash = cr_hash_u64(hash, (uint64_t)c->body_a.generation << 32 | c->body_b.generation);
		hash = cr_hash_u64(hash, (uint64_t)(uint32_t)c->feature_a << 32 | (uint32_t)c->feature_b);
		hash = cr_hash_u64(hash, (uint64_t)c->kind);
		for (int k = 0; k < 3; k++) {
			hash = cr_hash_double(hash, c->point[k]);
			hash = cr_hash_double(hash, c->normal[k]);
		}
		hash = cr_hash_double(hash, c->depth);
		// Only where there are some, so that hashes of worlds without materials are those of
		// earlier recordings.
		if (c->material_a != 0 || c->material_b != 0)
			hash = cr_hash_u64(hash, (uint64_t)c->material_a << 32 | c->material_b);
		// And those of worlds without parts.
		if (c->shape_a != 0 || c->shape_b != 0)
			hash = cr_hash_u64(hash, ~((uint64_t)c->shape_a << 32 | (uint32_t)c->shape_b));
	}
	return hash;
}
