/// The stages in order, with times and counts.

#include "detect/pipeline.h"
#include "base/time.h"

static carom_result create_broad(cr_pipeline *p)
{
	switch (p->settings.broad_phase) {
	case CAROM_BROAD_SWEEP: return cr_broad_create_sweep(p->context, &p->broad);
	case CAROM_BROAD_BRUTE: return cr_broad_create_brute(p->context, &p->broad);
	default: return cr_broad_create_tree(p->context, &p->broad);
	}
}

carom_result cr_pipeline_init(cr_pipeline *p, carom_context *context, const carom_world_def *settings)
{
	*p = (cr_pipeline){ .context = context, .settings = *settings };
	p->bvh = cr_get_bvh_kernels(context->simd);
	p->detect = cr_get_detect_kernels(context->simd);
	p->workers = cr_alloc_zero(context, (size_t)context->thread_count * sizeof(cr_worker));
	if (!p->workers)
		return cr_fail_memory(context, "a world");
	for (int i = 0; i < context->thread_count; i++)
		cr_arena_init(&p->workers[i].arena, context);
	const carom_result result = create_broad(p);
	if (result != CAROM_SUCCESS)
		cr_pipeline_free(p);
	return result;
}

void cr_pipeline_free(cr_pipeline *p)
{
	for (int i = 0; p->workers && i < p->context->thread_count; i++)
		cr_arena_free(&p->workers[i].arena);
	if (p->workers)
		cr_free(p->context, p->workers, (size_t)p->context->thread_count * sizeof(cr_worker));
	if (p->broad)
		p->broad->destroy(p->broad);
	cr_array_free(p->context, &p->pairs);
	cr_array_free(p->context, &p->work);
	cr_array_free(p->context, &p->kept);
	p->workers = NULL;
	p->broad = NULL;
}

static void reset_workers(cr_pipeline *p)
{
	for (int i = 0; i < p->context->thread_count; i++) {
		cr_worker *w = &p->workers[i];
		const cr_arena arena = w->arena;
		*w = (cr_worker){ .arena = arena };
		cr_arena_reset(&w->arena);
		w->candidates.arena = &w->arena;
	}
}

static void add_counts(const cr_pipeline *p, carom_stats *stats)
{
	size_t scratch = 0;
	for (int i = 0; i < p->context->thread_count; i++) {
		const cr_worker *w = &p->workers[i];
		stats->vertices_tested += w->vertices_tested;
		stats->vertices_culled += w->vertices_culled;
		stats->rays_full += w->rays_full + w->rays_outward;
		stats->rays_outward += w->rays_outward;
		stats->triangle_tests += w->triangle_tests;
		stats->pairs_completed += w->pairs_completed;
		stats->pairs_crossing += w->pairs_crossing;
		scratch += w->arena.used;
	}
	stats->box_pairs = (int32_t)p->pairs.count;
	stats->narrow_pairs = (int32_t)p->kept.count;
	stats->scratch_peak = scratch > stats->scratch_peak ? scratch : stats->scratch_peak;
}

carom_result cr_pipeline_run(cr_pipeline *p, cr_body *bodies, int32_t body_count, carom_stats *stats)
{
	p->bodies = bodies;
	p->body_count = body_count;
	reset_workers(p);

	double start = cr_time_ms();
	// Two bodies within the speculative distance overlap when each box grows by half of it.
	cr_bodies_update(p->context, bodies, body_count, 0.5 * p->settings.speculative_distance);
	stats->ms_trees = cr_time_ms() - start;

	const struct {
		carom_result (*run)(cr_pipeline *);
		double *ms;
	} stages[] = {
		{ cr_stage_pairs, &stats->ms_pair },
		{ cr_stage_vertices, &stats->ms_vertex },
		{ cr_stage_rays, &stats->ms_ray },
		{ cr_stage_complete, &stats->ms_complete },
		{ cr_stage_reduce, &stats->ms_merge },
	};
	for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
		start = cr_time_ms();
		const carom_result result = stages[i].run(p);
		*stages[i].ms = cr_time_ms() - start;
		if (result != CAROM_SUCCESS)
			return result;
	}
	add_counts(p, stats);
	return CAROM_SUCCESS;
}
