/// Batches of questions about two shapes (carom/batch.h).

#include "world/batch_loop.h"
#include "world/single_query.h"

enum { MIN_PAIRS = 4 }; // of a piece: pairs of meshes that overlap take milliseconds each

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
	const cr_batch batch = { p->context, function, "pairs", given, MIN_PAIRS, ask, p, p->answers, answer_size };
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
