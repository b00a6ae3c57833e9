/// Pairs of features that may come nearer than a distance during a step
/// (carom_sweep_find_candidates).
///
/// The search is that for impacts with the distance as its separation. In place of the tests each
/// pair goes through the filters of geom/swept.h. Pairs that these rule out stay farther apart than
/// the distance, and they would rule out the pairs that boxes tell apart as well
/// (sweep/sweep_tree.h). So the list depends on the motion alone, not on tree, front or device.
#include "base/parallel.h"
#include "sweep/sweep_state.h"

#include <math.h>

enum { CANDIDATES_AT_ONCE = 1024 };

/// A cr_sweep_take_fn: keep the pairs that filters leave.
static bool take_pairs(void *user, int worker, const cr_swept_queries *queries, const int32_t *triangles, int32_t count)
{
	(void)triangles; // the worker knows them
	const carom_sweep *s = user;
	cr_sweep_worker *w = s->workers[worker];
	bool enough = true;
	for (int32_t first = 0; first < count && enough; first += CR_SWEPT_PIECE) {
		const int32_t here = count - first < CR_SWEPT_PIECE ? count - first : CR_SWEPT_PIECE;
		int32_t left[CR_SWEPT_PIECE];
		cr_swept_stats counted = { 0 };
		const int32_t kept = cr_swept_filter(queries, first, here, w->options.min_separation, w->options.simd, left, &counted);
		counted.queries = 0; // the worker has counted them
		cr_swept_add_stats(&w->tests[queries->kind], &counted);
		for (int32_t i = 0; i < kept; i++)
			w->impacts[i] = (cr_swept_impact){ .query = first + left[i] };
		enough = cr_sweep_worker_keep(w, queries, w->impacts, kept);
	}
	return enough;
}

static void fill_candidates(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	carom_sweep *s = task;
	for (int64_t i = begin; i < end; i++) {
		const carom_sweep_hit hit = cr_make_sweep_hit(s, s->found.data[s->keys.data[i].value]);
		s->candidates.data[i] = (carom_sweep_candidate){ .kind = hit.kind,
			.mesh_a = hit.mesh_a,
			.mesh_b = hit.mesh_b,
			.vertices = { hit.vertices[0], hit.vertices[1], hit.vertices[2], hit.vertices[3] },
			.triangle = hit.triangle };
	}
}

static carom_result list_candidates(carom_sweep *s, double distance)
{
	carom_result result = cr_search_candidates(s, distance, (cr_sweep_taker){ .take = take_pairs, .user = s, .moves = true });
	if (result == CAROM_SUCCESS && s->triangle_numbers.count > 0)
		result = cr_check_found(s, "carom_sweep_find_candidates", "candidates");
	if (result != CAROM_SUCCESS || s->triangle_numbers.count == 0)
		return result;
	if (!cr_sort_sweep_impacts(s) || !cr_array_reserve_fresh(&s->context, &s->candidates, s->found.count))
		return cr_fail_memory(&s->context, "the candidates of a sweep");
	s->candidates.count = s->found.count;
	cr_parallel_for(&s->context, fill_candidates, s->candidates.count, CANDIDATES_AT_ONCE, s);
	return CAROM_SUCCESS;
}

carom_result carom_sweep_find_candidates(carom_sweep *sweep, double distance, carom_sweep_candidates *candidates)
{
	static const char *const name = "carom_sweep_find_candidates";
	if (!sweep)
		return CAROM_INVALID_ARGUMENT;
	if (!candidates)
		return cr_fail(&sweep->context, CAROM_INVALID_ARGUMENT, "%s: candidates is NULL", name);
	if (!(distance > 0 && distance <= CAROM_MAX_COORDINATE))
		return cr_fail(&sweep->context, CAROM_INVALID_ARGUMENT, "%s: distance is %g, not above 0 and at most %g", name,
			distance, CAROM_MAX_COORDINATE);
	*candidates = (carom_sweep_candidates){ 0 };
	sweep->candidates.count = 0;
	const carom_result result = list_candidates(sweep, distance);
	if (result == CAROM_SUCCESS)
		*candidates = (carom_sweep_candidates){ sweep->candidates.data, sweep->candidates.count };
	return result;
}
