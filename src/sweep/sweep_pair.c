/// The elementary test of one pair of features, by itself: no tree, no front, nothing kept.
#include "sweep/sweep_state.h"

#include <math.h>
#include <string.h>

cr_swept_options cr_swept_options_of(const carom_sweep_def *def, carom_simd simd)
{
	cr_swept_options options = cr_swept_default_options(NULL);
	options.tolerance = def->tolerance;
	options.min_separation = def->min_separation;
	options.relative_separation = def->relative_separation;
	options.simd = simd;
	options.method = def->test == CAROM_SWEEP_INCLUSION ? CR_SWEPT_INCLUSION : CR_SWEPT_CERTIFIED;
	options.solve = def->test == CAROM_SWEEP_CUBIC ? def->lab->solve : NULL;
	return options;
}

carom_sweep_status cr_sweep_status_of(uint8_t swept_status)
{
	return swept_status == CR_SWEPT_IMPACT  ? CAROM_SWEEP_IMPACT
		: swept_status == CR_SWEPT_TOUCHING ? CAROM_SWEEP_TOUCHING
											: CAROM_SWEEP_UNDECIDED;
}

static carom_result check_places(carom_context *context, const char *name, const double places[4][3])
{
	for (int k = 0; k < 12; k++) {
		if (!(fabs(places[k / 3][k % 3]) <= CAROM_MAX_COORDINATE))
			return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_sweep_test_pair: %c of %s[%d] is %g, not finite or beyond %g",
				'x' + k % 3, name, k / 3, places[k / 3][k % 3], CAROM_MAX_COORDINATE);
	}
	return CAROM_SUCCESS;
}

void cr_fill_pair_hit(const cr_swept_impact *impact, carom_sweep_kind kind, carom_sweep_hit *hit)
{
	*hit = (carom_sweep_hit){ .kind = kind,
		.status = cr_sweep_status_of(impact->status),
		.vertices = { 0, 1, 2, 3 },
		.triangle = kind == CAROM_SWEEP_VERTEX_FACE ? 0 : -1,
		.time = impact->time };
	memcpy(hit->weight, impact->weight, sizeof hit->weight);
	memcpy(hit->normal, impact->normal, sizeof hit->normal);
}

carom_result carom_sweep_test_pair(carom_context *context, const carom_sweep_def *def, carom_sweep_kind kind,
	const double begin[4][3], const double end[4][3], bool *found, carom_sweep_hit *hit)
{
	static const int32_t in_order[1][4] = { { 0, 1, 2, 3 } };
	const carom_sweep_def defaults = carom_default_sweep_def();
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!begin || !end || !found || !hit)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_sweep_test_pair: %s is NULL",
			!begin      ? "begin"
				: !end  ? "end"
				: found ? "hit"
						: "found");
	*found = false;
	if (kind != CAROM_SWEEP_VERTEX_FACE && kind != CAROM_SWEEP_EDGE_EDGE)
		return cr_fail(
			context, CAROM_INVALID_ARGUMENT, "carom_sweep_test_pair: kind is %d, none of carom_sweep_kind", (int)kind);
	carom_result result = cr_check_sweep_def(context, def ? def : &defaults);
	if (result == CAROM_SUCCESS)
		result = check_places(context, "begin", begin);
	if (result == CAROM_SUCCESS)
		result = check_places(context, "end", end);
	if (result != CAROM_SUCCESS)
		return result;
	cr_swept_options options = cr_swept_options_of(def ? def : &defaults, context->simd);
	options.boxes = cr_alloc(context, sizeof *options.boxes);
	if (!options.boxes)
		return cr_fail_memory(context, "a pair of features");
	const cr_swept_queries query = { .kind = kind == CAROM_SWEEP_VERTEX_FACE ? CR_SWEPT_VERTEX_FACE : CR_SWEPT_EDGE_EDGE,
		.begin = begin[0],
		.end = end[0],
		.vertices = in_order };
	cr_swept_impact impact;
	cr_swept_stats stats = { 0 };
	*found = cr_swept_find(&query, 0, 1, &options, &impact, &stats) > 0;
	if (*found)
		cr_fill_pair_hit(&impact, kind, hit);
	cr_free(context, options.boxes, sizeof *options.boxes);
	return CAROM_SUCCESS;
}
