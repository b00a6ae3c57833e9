/// Batches of queries of a world (carom/batch.h). The tree over the bodies, and the forms of bodies
/// that deform, are made under a lock by the first query that needs it; the others wait.

#include "world/batch_loop.h"
#include "world/single_query.h"
#include <string.h>

enum {
	MIN_RAYS = 16, // rays and points of a piece: some microseconds
	MIN_SHAPES = 4,
};

/// A batch of any kind.
typedef struct world_batch {
	const carom_world *world;
	const carom_batch *given;
	const void *records;
	double distance; // of points: the farthest; of casts: the tolerance
	void *answers;
	cr_batch_lists lists;
	cr_mover_scratch *scratch; // [workers]
} world_batch;

/// The filter of a query. room: for a filter of its own.
static const carom_query_filter *filter_of(const world_batch *b, int64_t i, carom_query_filter *room)
{
	if (!b->given->ignore)
		return b->given->filter;
	*room = b->given->filter ? *b->given->filter : carom_default_query_filter();
	room->ignore = b->given->ignore[i];
	return room;
}

typedef carom_result ask_fn(void *user, int64_t i, int worker, const char *name);

static carom_result run(
	world_batch *b, const char *function, const char *records, int64_t min_range, size_t answer_size, ask_fn *ask)
{
	const cr_batch batch = { b->world->context, function, records, b->given, min_range, ask, NULL, b, b->answers, answer_size };
	return cr_run_batch(&batch);
}

/// Checks a batch with one answer for each query. check: of the distance; NULL: there is none.
static carom_result check_answers(const world_batch *b, const char *function, const char *records, const char *answers,
	size_t answer_size, carom_result (*check)(carom_context *context, double distance, const char *function))
{
	if (!b->world)
		return CAROM_INVALID_ARGUMENT;
	const cr_batch_array arrays[] = { { b->records, records }, { b->answers, answers } };
	carom_result result = cr_check_batch(b->world->context, function, b->given, arrays, 2);
	if (result != CAROM_SUCCESS || !check)
		return result;
	result = check(b->world->context, b->distance, function);
	return result == CAROM_SUCCESS ? result : cr_fail_batch(b->given, b->answers, answer_size, result);
}

// ---- Rays ----

static carom_result ask_ray(void *user, int64_t i, int worker, const char *name)
{
	(void)worker;
	world_batch *b = user;
	carom_query_filter room;
	bool found;
	carom_ray_hit *hit = (carom_ray_hit *)b->answers + i;
	const carom_result result =
		cr_ask_ray(b->world, (const carom_ray *)b->records + i, filter_of(b, i, &room), name, &found, hit);
	if (result == CAROM_SUCCESS && !found)
		*hit = cr_no_ray_hit();
	return result;
}

carom_result carom_world_cast_rays(
	const carom_world *world, const carom_batch *batch, const carom_ray *rays, carom_ray_hit *hits)
{
	static const char *const name = "carom_world_cast_rays";
	world_batch b = { .world = world, .given = batch, .records = rays, .answers = hits };
	const carom_result result = check_answers(&b, name, "rays", "hits", sizeof *hits, NULL);
	return result == CAROM_SUCCESS ? run(&b, name, "rays", MIN_RAYS, sizeof *hits, ask_ray) : result;
}

static carom_result ask_any_hit(void *user, int64_t i, int worker, const char *name)
{
	(void)worker;
	world_batch *b = user;
	carom_query_filter room;
	return cr_ask_any_hit(b->world, (const carom_ray *)b->records + i, filter_of(b, i, &room), name, (bool *)b->answers + i);
}

carom_result carom_world_cast_rays_any(const carom_world *world, const carom_batch *batch, const carom_ray *rays, bool *found)
{
	static const char *const name = "carom_world_cast_rays_any";
	world_batch b = { .world = world, .given = batch, .records = rays, .answers = found };
	const carom_result result = check_answers(&b, name, "rays", "found", sizeof *found, NULL);
	return result == CAROM_SUCCESS ? run(&b, name, "rays", MIN_RAYS, sizeof *found, ask_any_hit) : result;
}

// ---- Answers of any length ----

/// Checks the arrays of a batch that tells lists. first is zero where it fails and is there.
static carom_result check_lists(const world_batch *b, const char *function, const char *records, const cr_list_output *out)
{
	const cr_batch_array array = { b->records, records };
	return b->world ? cr_check_list_batch(b->world->context, function, b->given, &array, out) : CAROM_INVALID_ARGUMENT;
}

/// Checks a batch that tells lists and runs it. first is zero where it runs and fails.
static carom_result run_checked_lists(
	world_batch *b, const char *function, const char *records, int64_t min_range, ask_fn *ask, const cr_list_output *out)
{
	b->answers = out->first;
	carom_result result = cr_open_lists(&b->lists, b->world->context, b->given->count, out->item_size);
	if (result != CAROM_SUCCESS)
		return cr_fail_batch(b->given, out->first, sizeof *out->first, result);
	result = run(b, function, records, min_range, sizeof *out->first, ask);
	if (result == CAROM_SUCCESS)
		cr_write_items(&b->lists, out->capacity, out->items, out->first);
	cr_close_lists(&b->lists);
	return result;
}

static carom_result run_lists(
	world_batch *b, const char *function, const char *records, int64_t min_range, ask_fn *ask, const cr_list_output *out)
{
	const carom_result result = check_lists(b, function, records, out);
	return result == CAROM_SUCCESS ? run_checked_lists(b, function, records, min_range, ask, out) : result;
}

/// Keeps the items of a query.
static carom_result keep_items(world_batch *b, int64_t i, int worker, const void *items, int64_t count)
{
	if (count == 0)
		return CAROM_SUCCESS;
	void *kept = cr_append_items(&b->lists, i, worker, count);
	if (!kept)
		return CAROM_OUT_OF_MEMORY;
	memcpy(kept, items, (size_t)count * b->lists.item_size);
	return CAROM_SUCCESS;
}

static carom_result ask_all_hits(void *user, int64_t i, int worker, const char *name)
{
	world_batch *b = user;
	carom_query_filter room;
	cr_hit_list hits = { .count = 0 };
	carom_result result = cr_ask_all_hits(b->world, (const carom_ray *)b->records + i, filter_of(b, i, &room), name, &hits);
	if (result == CAROM_SUCCESS)
		result = keep_items(b, i, worker, hits.data, hits.count);
	cr_array_free(b->world->context, &hits);
	return result;
}

carom_result carom_world_cast_rays_all(const carom_world *world, const carom_batch *batch, const carom_ray *rays,
	int64_t capacity, carom_ray_hit *hits, int64_t *first)
{
	world_batch b = { .world = world, .given = batch, .records = rays };
	const cr_list_output out = { capacity, hits, "hits", sizeof *hits, first };
	return run_lists(&b, "carom_world_cast_rays_all", "rays", MIN_RAYS, ask_all_hits, &out);
}

/// Keeps the ids of bodies, and frees their list.
static carom_result keep_bodies(world_batch *b, int64_t i, int worker, cr_body_list *list)
{
	if (list->count == 0)
		return CAROM_SUCCESS;
	carom_body_id *ids = cr_append_items(&b->lists, i, worker, list->count);
	for (int64_t k = 0; k < list->count && ids; k++)
		ids[k] = cr_id_of(b->world->bodies.data, list->data[k]);
	cr_array_free(b->world->context, list);
	return ids ? CAROM_SUCCESS : CAROM_OUT_OF_MEMORY;
}

static carom_result ask_overlap(void *user, int64_t i, int worker, const char *name)
{
	world_batch *b = user;
	carom_query_filter room;
	cr_body_list list;
	const carom_placed_shape *at = (const carom_placed_shape *)b->records + i;
	const carom_result result = cr_ask_overlap(b->world, at->shape, &at->pose, filter_of(b, i, &room), name, &list);
	return result == CAROM_SUCCESS ? keep_bodies(b, i, worker, &list) : result;
}

static carom_result ask_overlap_box(void *user, int64_t i, int worker, const char *name)
{
	world_batch *b = user;
	carom_query_filter room;
	cr_body_list list;
	const carom_result result =
		cr_ask_overlap_box(b->world, (const carom_aabb *)b->records + i, filter_of(b, i, &room), name, &list);
	return result == CAROM_SUCCESS ? keep_bodies(b, i, worker, &list) : result;
}

carom_result carom_world_overlap_aabbs(const carom_world *world, const carom_batch *batch, const carom_aabb *boxes,
	int64_t capacity, carom_body_id *bodies, int64_t *first)
{
	world_batch b = { .world = world, .given = batch, .records = boxes };
	const cr_list_output out = { capacity, bodies, "bodies", sizeof *bodies, first };
	return run_lists(&b, "carom_world_overlap_aabbs", "boxes", MIN_RAYS, ask_overlap_box, &out);
}

carom_result carom_world_overlap_shapes(const carom_world *world, const carom_batch *batch, const carom_placed_shape *shapes,
	int64_t capacity, carom_body_id *bodies, int64_t *first)
{
	world_batch b = { .world = world, .given = batch, .records = shapes };
	const cr_list_output out = { capacity, bodies, "bodies", sizeof *bodies, first };
	return run_lists(&b, "carom_world_overlap_shapes", "shapes", MIN_SHAPES, ask_overlap, &out);
}

static carom_result ask_contacts(void *user, int64_t i, int worker, const char *name)
{
	world_batch *b = user;
	carom_query_filter room;
	cr_contact_list contacts = { .count = 0 };
	const carom_placed_shape *at = (const carom_placed_shape *)b->records + i;
	carom_result result = cr_ask_contacts(b->world, at->shape, &at->pose, filter_of(b, i, &room), name, &contacts);
	if (result == CAROM_SUCCESS)
		result = keep_items(b, i, worker, contacts.data, contacts.count);
	cr_array_free(b->world->context, &contacts);
	return result;
}

carom_result carom_world_collide_shapes(const carom_world *world, const carom_batch *batch, const carom_placed_shape *shapes,
	int64_t capacity, carom_contact *contacts, int64_t *first)
{
	world_batch b = { .world = world, .given = batch, .records = shapes };
	const cr_list_output out = { capacity, contacts, "contacts", sizeof *contacts, first };
	return run_lists(&b, "carom_world_collide_shapes", "shapes", MIN_SHAPES, ask_contacts, &out);
}

// ---- Nearest points and bodies, shape casts ----

static carom_result ask_closest_point(void *user, int64_t i, int worker, const char *name)
{
	(void)worker;
	world_batch *b = user;
	carom_query_filter room;
	bool found;
	carom_closest_point *closest = (carom_closest_point *)b->answers + i;
	const carom_result result = cr_ask_closest_point(
		b->world, ((const carom_vec3 *)b->records)[i], b->distance, filter_of(b, i, &room), name, &found, closest);
	if (result == CAROM_SUCCESS && !found)
		*closest = cr_no_closest_point();
	return result;
}

carom_result carom_world_closest_points(const carom_world *world, const carom_batch *batch, const carom_vec3 *points,
	double max_distance, carom_closest_point *closest)
{
	static const char *const name = "carom_world_closest_points";
	world_batch b = { .world = world, .given = batch, .records = points, .distance = max_distance, .answers = closest };
	const carom_result result = check_answers(&b, name, "points", "closest", sizeof *closest, cr_check_max_distance);
	return result == CAROM_SUCCESS ? run(&b, name, "points", MIN_RAYS, sizeof *closest, ask_closest_point) : result;
}

static carom_result ask_closest_body(void *user, int64_t i, int worker, const char *name)
{
	(void)worker;
	world_batch *b = user;
	carom_query_filter room;
	bool found;
	const carom_placed_shape *at = (const carom_placed_shape *)b->records + i;
	carom_closest_body *closest = (carom_closest_body *)b->answers + i;
	const carom_result result =
		cr_ask_closest_body(b->world, at->shape, &at->pose, b->distance, filter_of(b, i, &room), name, &found, closest);
	if (result == CAROM_SUCCESS && !found)
		*closest = cr_no_closest_body();
	return result;
}

carom_result carom_world_closest_bodies(const carom_world *world, const carom_batch *batch, const carom_placed_shape *shapes,
	double max_distance, carom_closest_body *closest)
{
	static const char *const name = "carom_world_closest_bodies";
	world_batch b = { .world = world, .given = batch, .records = shapes, .distance = max_distance, .answers = closest };
	const carom_result result = check_answers(&b, name, "shapes", "closest", sizeof *closest, cr_check_max_distance);
	return result == CAROM_SUCCESS ? run(&b, name, "shapes", MIN_SHAPES, sizeof *closest, ask_closest_body) : result;
}

static carom_result ask_cast(void *user, int64_t i, int worker, const char *name)
{
	world_batch *b = user;
	carom_query_filter room;
	bool found;
	const carom_shape_cast *cast = (const carom_shape_cast *)b->records + i;
	carom_shape_hit *hit = (carom_shape_hit *)b->answers + i;
	const carom_result result = cr_ask_cast(
		b->world, cast->shape, &cast->motion, b->distance, filter_of(b, i, &room), &b->scratch[worker], name, &found, hit);
	if (result == CAROM_SUCCESS && !found)
		*hit = cr_no_shape_hit();
	return result;
}

static carom_result ask_cast_all(void *user, int64_t i, int worker, const char *name)
{
	world_batch *b = user;
	carom_query_filter room;
	cr_shape_hit_list hits = { .count = 0 };
	const carom_shape_cast *cast = (const carom_shape_cast *)b->records + i;
	carom_result result = cr_ask_cast_all(
		b->world, cast->shape, &cast->motion, b->distance, filter_of(b, i, &room), &b->scratch[worker], name, &hits);
	if (result == CAROM_SUCCESS)
		result = keep_items(b, i, worker, hits.data, hits.count);
	cr_array_free(b->world->context, &hits);
	return result;
}

/// Makes the scratch of the workers. False: there is no memory for it.
static bool make_scratch(world_batch *b)
{
	b->scratch = cr_alloc_array(b->world->context, (size_t)b->world->context->thread_count, sizeof *b->scratch);
	return b->scratch != NULL;
}

static void free_scratch(world_batch *b)
{
	cr_free(b->world->context, b->scratch, (size_t)b->world->context->thread_count * sizeof *b->scratch);
}

carom_result carom_world_cast_shapes_all(const carom_world *world, const carom_batch *batch, const carom_shape_cast *casts,
	double tolerance, int64_t capacity, carom_shape_hit *hits, int64_t *first)
{
	static const char *const name = "carom_world_cast_shapes_all";
	world_batch b = { .world = world, .given = batch, .records = casts, .distance = tolerance };
	const cr_list_output out = { capacity, hits, "hits", sizeof *hits, first };
	carom_result result = check_lists(&b, name, "casts", &out);
	if (result != CAROM_SUCCESS)
		return result;
	result = cr_check_cast_tolerance(world->context, tolerance, name);
	if (result == CAROM_SUCCESS && !make_scratch(&b))
		result = cr_fail_memory(world->context, "shape casts");
	if (result != CAROM_SUCCESS)
		return cr_fail_batch(batch, first, sizeof *first, result);
	result = run_checked_lists(&b, name, "casts", MIN_SHAPES, ask_cast_all, &out);
	free_scratch(&b);
	return result;
}

carom_result carom_world_cast_shapes(
	const carom_world *world, const carom_batch *batch, const carom_shape_cast *casts, double tolerance, carom_shape_hit *hits)
{
	static const char *const name = "carom_world_cast_shapes";
	world_batch b = { .world = world, .given = batch, .records = casts, .distance = tolerance, .answers = hits };
	carom_result result = check_answers(&b, name, "casts", "hits", sizeof *hits, cr_check_cast_tolerance);
	if (result != CAROM_SUCCESS || batch->count == 0)
		return result;
	if (!make_scratch(&b))
		return cr_fail_batch(batch, hits, sizeof *hits, cr_fail_memory(world->context, "shape casts"));
	result = run(&b, name, "casts", MIN_SHAPES, sizeof *hits, ask_cast);
	free_scratch(&b);
	return result;
}
