/// Batches of questions about two shapes (carom/batch.h).
///
/// Contacts: a worker gathers some pairs and lets them go through the stages together, each as two
/// bodies that meet nothing else. So the stages begin once for many pairs. Contacts of a pair do
/// not depend on the others, nor on how the pairs are shared out.

#include "world/batch_loop.h"
#include "world/shape_contacts.h"
#include "world/single_query.h"
#include <string.h>

enum {
	MIN_PAIRS = 4,                // of a piece: pairs of meshes that overlap take milliseconds each
	MIN_CONTACTS = 8,             // of a piece whose contacts are asked
	PAIRS_TOGETHER = 16,          // through the stages: 64 take concave meshes a fifth longer
	OF_PAIR = CAROM_MAX_MANIFOLD, // contacts at most
};

typedef struct pair_batch {
	carom_context *context;
	const void *pairs;
	double distance; // margin or tolerance
	void *answers;
} pair_batch;

/// Checks a batch and runs it. check: of the distance; NULL: there is none.
static carom_result run(pair_batch *p, const char *function, const carom_batch *given, const char *answers_name,
	size_t answer_size, carom_result (*check)(carom_context *context, double distance, const char *function),
	carom_result (*ask)(void *user, int64_t i, int worker, const char *name))
{
	const cr_batch_array arrays[] = { { p->pairs, "pairs" }, { p->answers, answers_name } };
	const cr_batch batch = { p->context, function, "pairs", given, MIN_PAIRS, ask, NULL, p, p->answers, answer_size };
	if (!p->context)
		return CAROM_INVALID_ARGUMENT;
	carom_result result = cr_check_shape_batch(p->context, function, given, arrays, 2, p->answers, answer_size);
	if (result != CAROM_SUCCESS)
		return result;
	result = check ? check(p->context, p->distance, function) : CAROM_SUCCESS;
	return result == CAROM_SUCCESS ? cr_run_batch(&batch) : cr_fail_batch(given, p->answers, answer_size, result);
}

static carom_result ask_distance(void *user, int64_t i, int worker, const char *name)
{
	(void)worker;
	const pair_batch *p = user;
	const carom_shape_pair *pair = (const carom_shape_pair *)p->pairs + i;
	return cr_ask_distance(p->context, pair->a, &pair->pose_a, pair->b, &pair->pose_b, name, (carom_separation *)p->answers + i);
}

carom_result carom_distances(
	carom_context *context, const carom_batch *batch, const carom_shape_pair *pairs, carom_separation *separations)
{
	pair_batch p = { context, pairs, 0, separations };
	return run(&p, "carom_distances", batch, "separations", sizeof *separations, NULL, ask_distance);
}

static carom_result ask_overlap(void *user, int64_t i, int worker, const char *name)
{
	(void)worker;
	const pair_batch *p = user;
	const carom_shape_pair *pair = (const carom_shape_pair *)p->pairs + i;
	return cr_ask_pair_overlap(p->context, pair->a, &pair->pose_a, pair->b, &pair->pose_b, name, (bool *)p->answers + i);
}

carom_result carom_overlaps(carom_context *context, const carom_batch *batch, const carom_shape_pair *pairs, bool *overlap)
{
	pair_batch p = { context, pairs, 0, overlap };
	return run(&p, "carom_overlaps", batch, "overlap", sizeof *overlap, NULL, ask_overlap);
}

static carom_result ask_manifold(void *user, int64_t i, int worker, const char *name)
{
	(void)worker;
	const pair_batch *p = user;
	const carom_shape_pair *pair = (const carom_shape_pair *)p->pairs + i;
	return cr_ask_manifold(
		p->context, pair->a, &pair->pose_a, pair->b, &pair->pose_b, p->distance, name, (carom_manifold *)p->answers + i);
}

carom_result carom_manifolds(
	carom_context *context, const carom_batch *batch, const carom_shape_pair *pairs, double margin, carom_manifold *manifolds)
{
	pair_batch p = { context, pairs, margin, manifolds };
	return run(&p, "carom_manifolds", batch, "manifolds", sizeof *manifolds, cr_check_margin, ask_manifold);
}

static carom_result ask_impact(void *user, int64_t i, int worker, const char *name)
{
	(void)worker;
	const pair_batch *p = user;
	const carom_motion_pair *pair = (const carom_motion_pair *)p->pairs + i;
	int64_t work = INT64_MAX;
	return cr_ask_impact(
		p->context, pair->a, &pair->motion_a, pair->b, &pair->motion_b, p->distance, &work, name, (carom_toi *)p->answers + i);
}

carom_result carom_times_of_impact(
	carom_context *context, const carom_batch *batch, const carom_motion_pair *pairs, double tolerance, carom_toi *impacts)
{
	pair_batch p = { context, pairs, tolerance, impacts };
	return run(&p, "carom_times_of_impact", batch, "impacts", sizeof *impacts, cr_check_tolerance, ask_impact);
}

// ---- Contacts ----

/// The pairs that a worker has gathered.
typedef struct gathered {
	cr_contact_query *query; // NULL: none
	int64_t pairs[PAIRS_TOGETHER];
	int32_t count;
	char padding[CR_CACHE_LINE];
} gathered;

/// Where contacts wait until those of all pairs are counted:
/// - with room for the most that all pairs can have: those of pair i from contacts[8 i] on, so that
///   nothing is copied to lists, and no memory taken;
/// - without any room: nowhere;
/// - else in lists.
typedef struct contact_batch {
	carom_context *context;
	const carom_shape_pair *pairs;
	double margin;
	carom_contact *contacts;
	int64_t *first; // of each pair until the end: how many it has
	bool has_room;
	bool has_lists;
	cr_batch_lists lists;
	gathered *workers; // [workers of the context]
} contact_batch;

/// Where the contacts of a pair go; NULL: out of memory.
static carom_contact *place_contacts(contact_batch *b, int64_t pair, int worker, int32_t count)
{
	return b->has_room ? b->contacts + OF_PAIR * pair : cr_append_items(&b->lists, pair, worker, count);
}

/// Keeps the contacts of the gathered pairs.
static carom_result keep_contacts(contact_batch *b, int worker)
{
	const gathered *g = &b->workers[worker];
	const cr_results *found = &g->query->results;
	for (int64_t i = 0; i < found->pairs.count; i++) {
		const carom_pair *pair = &found->pairs.data[i];
		const int64_t number = g->pairs[(pair->body_a.index1 - 1) / 2];
		b->first[number] = pair->contact_count;
		if (pair->contact_count == 0 || !(b->has_room || b->has_lists))
			continue;
		carom_contact *contacts = place_contacts(b, number, worker, pair->contact_count);
		if (!contacts)
			return CAROM_OUT_OF_MEMORY;
		memcpy(contacts, &found->contacts.data[pair->first_contact], (size_t)pair->contact_count * sizeof *contacts);
		// That of the single call, whose pair is the only one.
		for (int32_t k = 0; k < pair->contact_count; k++)
			contacts[k].pair = 0;
	}
	return CAROM_SUCCESS;
}

/// From the numbers of contacts to where they begin, and moves those that stand apart together.
static void join_contacts(const contact_batch *b, int64_t count)
{
	int64_t begin = 0;
	for (int64_t i = 0; i < count; i++) {
		const int64_t of_pair = b->first[i];
		if (b->has_room && of_pair > 0 && begin < OF_PAIR * i)
			memmove(b->contacts + begin, b->contacts + OF_PAIR * i, (size_t)of_pair * sizeof *b->contacts);
		b->first[i] = begin;
		begin += of_pair;
	}
	b->first[count] = begin;
}

/// Finds the contacts of the pairs that a worker has gathered: as cr_batch.end_piece.
static carom_result find_contacts(void *user, int worker)
{
	contact_batch *b = user;
	gathered *g = &b->workers[worker];
	if (g->count == 0)
		return CAROM_SUCCESS;
	carom_result result = cr_find_pair_contacts(g->query, b->margin);
	if (result == CAROM_SUCCESS)
		result = keep_contacts(b, worker);
	g->count = 0;
	cr_rest_contacts(&g->query);
	return result;
}

static carom_result ask_contacts(void *user, int64_t i, int worker, const char *name)
{
	contact_batch *b = user;
	gathered *g = &b->workers[worker];
	const carom_shape_pair *given = &b->pairs[i];
	cr_shape_pair pair;
	bool added;
	carom_result result = cr_check_contact_pair(b->context, name, (const carom_shape *[2]){ given->a, given->b },
		(const carom_pose *[2]){ &given->pose_a, &given->pose_b }, &pair);
	if (result == CAROM_SUCCESS)
		result = cr_add_contact_pair(b->context, &pair, b->margin, PAIRS_TOGETHER, &g->query, &added);
	if (result != CAROM_SUCCESS || !added)
		return result;
	g->pairs[g->count++] = i;
	return g->count < PAIRS_TOGETHER ? CAROM_SUCCESS : find_contacts(b, worker);
}

static carom_result run_loop(contact_batch *b, const char *function, const carom_batch *given)
{
	const size_t size = (size_t)b->context->thread_count * sizeof *b->workers;
	const cr_batch batch = { b->context, function, "pairs", given, MIN_CONTACTS, ask_contacts, find_contacts, b, b->first,
		sizeof *b->first };
	b->workers = cr_alloc_zero(b->context, size);
	if (!b->workers)
		return cr_fail_batch(given, b->first, sizeof *b->first, cr_fail_memory(b->context, "the contacts of a batch"));
	const carom_result result = cr_run_batch(&batch);
	for (int i = 0; i < b->context->thread_count; i++) {
		if (b->workers[i].query)
			cr_end_contacts(b->workers[i].query);
	}
	cr_free(b->context, b->workers, size);
	return result;
}

/// Runs a checked batch. first is zero where it fails.
static carom_result run_contacts(contact_batch *b, const char *function, const carom_batch *given, const cr_list_output *out)
{
	b->has_room = out->capacity / OF_PAIR >= given->count;
	b->has_lists = !b->has_room && out->capacity > 0;
	carom_result result = b->has_lists ? cr_open_lists(&b->lists, b->context, given->count, out->item_size) : CAROM_SUCCESS;
	if (result != CAROM_SUCCESS)
		return cr_fail_batch(given, out->first, sizeof *out->first, result);
	result = run_loop(b, function, given);
	if (result == CAROM_SUCCESS && b->has_lists)
		cr_write_items(&b->lists, out->capacity, out->items, out->first);
	else if (result == CAROM_SUCCESS)
		join_contacts(b, given->count);
	if (b->has_lists)
		cr_close_lists(&b->lists);
	return result;
}

carom_result carom_collide_pairs(carom_context *context, const carom_batch *batch, const carom_shape_pair *pairs, double margin,
	int64_t capacity, carom_contact *contacts, int64_t *first)
{
	static const char *const name = "carom_collide_pairs";
	contact_batch b = { .context = context, .pairs = pairs, .margin = margin, .contacts = contacts, .first = first };
	const cr_list_output out = { capacity, contacts, "contacts", sizeof *contacts, first };
	const cr_batch_array array = { pairs, "pairs" };
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	carom_result result = cr_check_list_batch(context, name, batch, &array, &out);
	if (result != CAROM_SUCCESS)
		return result;
	result = cr_check_shape_batch(context, name, batch, &array, 1, first, sizeof *first);
	if (result != CAROM_SUCCESS)
		return result;
	result = cr_check_contact_margin(context, margin, name);
	if (result != CAROM_SUCCESS)
		return cr_fail_batch(batch, first, sizeof *first, result);
	return run_contacts(&b, name, batch, &out);
}
