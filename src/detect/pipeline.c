/// The stages in order, with times and counts.

#include "detect/pipeline.h"
#include "base/time.h"
#include <string.h>

// Lists left behind that are not worth tidying up.
enum { TIDY_BYTES = 1 << 18 };

const cr_stages cr_cpu_stages = { "cpu", cr_stage_pairs, cr_stage_near, cr_stage_crossings, cr_stage_vertices, cr_stage_rays,
	cr_stage_finish, cr_stage_simple, cr_stage_reduce };
const cr_stages cr_naive_stages = { "naive", cr_stage_pairs, cr_stage_near, cr_stage_crossings, NULL, cr_stage_naive,
	cr_stage_finish, cr_stage_simple, cr_stage_reduce };

/// Two bodies within the speculative distance overlap when each box grows by half of it.
static double box_margin(const cr_pipeline *p) { return 0.5 * p->settings.speculative_distance; }

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
	p->stages = settings->stages == CAROM_STAGES_NAIVE ? &cr_naive_stages : &cr_cpu_stages;
	p->bvh = cr_get_bvh_kernels(context->simd);
	p->detect = cr_get_detect_kernels(context->simd);
	p->worker_count = settings->worker_groups > context->thread_count ? settings->worker_groups : context->thread_count;
	cr_frame_init(&p->frame, context);
	p->workers = cr_alloc_zero(context, (size_t)p->worker_count * sizeof(cr_worker));
	if (!p->workers)
		return cr_fail_memory(context, "a world");
	for (int i = 0; i < p->worker_count; i++) {
		cr_arena_init(&p->workers[i].arena, context);
		cr_arena_init(&p->workers[i].walked, context);
		cr_arena_init(&p->workers[i].kept[0], context);
		cr_arena_init(&p->workers[i].kept[1], context);
	}
	const carom_result result = create_broad(p);
	if (result != CAROM_SUCCESS)
		cr_pipeline_free(p);
	else
		p->broad->margin = box_margin(p);
	return result;
}

void cr_pipeline_free(cr_pipeline *p)
{
	for (int i = 0; p->workers && i < p->worker_count; i++) {
		cr_arena_free(&p->workers[i].arena);
		cr_arena_free(&p->workers[i].walked);
		cr_arena_free(&p->workers[i].kept[0]);
		cr_arena_free(&p->workers[i].kept[1]);
	}
	if (p->workers)
		cr_free(p->context, p->workers, (size_t)p->worker_count * sizeof(cr_worker));
	cr_frame_free(&p->frame);
	cr_temporal_free(p->context, &p->temporal);
	if (p->broad)
		p->broad->destroy(p->broad);
	cr_array_free(p->context, &p->pairs);
	cr_array_free(p->context, &p->simple);
	cr_array_free(p->context, &p->found);
	cr_array_free(p->context, &p->work);
	cr_array_free(p->context, &p->kept);
	cr_array_free(p->context, &p->next);
	cr_array_free(p->context, &p->order);
	cr_array_free(p->context, &p->taken);
	p->workers = NULL;
	p->broad = NULL;
}

/// Forget the last step's scratch.
static void reset_workers(cr_pipeline *p)
{
	for (int i = 0; i < p->worker_count; i++) {
		cr_worker *w = &p->workers[i];
		const cr_arena arena = w->arena, walked = w->walked, kept[2] = { w->kept[0], w->kept[1] };
		*w = (cr_worker){ .arena = arena, .walked = walked, .kept = { kept[0], kept[1] }, .frame = &p->frame };
		cr_arena_reset(&w->arena);
		cr_arena_reset(&w->walked);
		w->candidates.arena = &w->walked;
	}
	cr_frame_reset(&p->frame);
}

static size_t kept_bytes(const cr_pipeline *p)
{
	size_t bytes = 0;
	for (int i = 0; i < p->worker_count; i++)
		bytes += p->workers[i].kept[p->keeping].used;
	return bytes;
}

/// Copy a list into tidy memory; false: out of memory.
static bool move_list(cr_arena *to, void *list_pointer, int32_t count, size_t element)
{
	void **list = list_pointer;
	if (count == 0)
		return true;
	void *copy = cr_arena_alloc(to, (size_t)count * element);
	if (!copy)
		return false;
	memcpy(copy, *list, (size_t)count * element);
	*list = copy;
	return true;
}

/// Full pairs leave their old lists behind. When these outweigh what is in use, copy the latter to the other memory of its
/// worker: a group's stays with the group.
static bool tidy_kept(cr_pipeline *p)
{
	if (kept_bytes(p) <= 2 * p->live_kept + TIDY_BYTES)
		return true;
	const int to = 1 - p->keeping;
	for (int64_t i = 0; i < p->temporal.slot.count; i++) {
		cr_pair_memory *m = &p->temporal.slots.data[p->temporal.slot.data[i]];
		cr_arena *arena = &p->workers[p->settings.worker_groups > 0 ? m->group : 0].kept[to];
		m->near.count = m->near.holds ? m->near.count : 0;
		if (!m->valid)
			m->watched_count[0] = m->watched_count[1] = 0;
		if (!move_list(arena, &m->watched[0], m->watched_count[0], sizeof *m->watched[0]) ||
			!move_list(arena, &m->watched[1], m->watched_count[1], sizeof *m->watched[1]) ||
			!move_list(arena, &m->near.data, m->near.count, sizeof *m->near.data) ||
			!move_list(arena, &m->near.gap, cr_lanes_of(m->near.count), sizeof *m->near.gap))
			return false;
	}
	p->keeping = to;
	p->live_kept = kept_bytes(p);
	for (int i = 0; i < p->worker_count; i++)
		cr_arena_reset(&p->workers[i].kept[1 - to]);
	return true;
}

void cr_pipeline_forget(cr_pipeline *p)
{
	cr_temporal_forget(&p->temporal);
	for (int i = 0; i < p->worker_count; i++) {
		cr_arena_reset(&p->workers[i].kept[0]);
		cr_arena_reset(&p->workers[i].kept[1]);
	}
	p->live_kept = 0;
	p->rooms = (cr_ray_rooms){ 0 };
}

static void add_counts(const cr_pipeline *p, carom_stats *stats)
{
	size_t scratch = cr_frame_used(&p->frame);
	int64_t simple = 0;
	for (int i = 0; i < p->worker_count; i++) {
		const cr_worker *w = &p->workers[i];
		stats->vertices_tested += w->vertices_tested;
		stats->vertices_culled += w->vertices_culled;
		stats->rays_full += w->rays_full;
		stats->rays_outward += w->rays_outward;
		stats->rays_iterative += w->rays_iterative;
		stats->rays_predictive += w->rays_predictive;
		stats->rays_lost += w->rays_lost;
		stats->rays_recast += w->rays_recast;
		stats->walk_steps += w->walk_steps;
		stats->pairs_full += w->pairs_full;
		stats->pairs_iterative += w->pairs_iterative;
		stats->pairs_apart += w->pairs_apart;
		stats->vertices_watched += w->vertices_watched;
		stats->triangle_tests += w->triangle_tests;
		stats->pairs_completed += w->pairs_completed;
		stats->pairs_crossing += w->pairs_crossing;
		simple += w->pairs_simple;
		scratch += w->arena.used + w->walked.used;
	}
	stats->rays_missed = p->rooms.missed;
	stats->backtracks = p->rooms.backtracks;
	stats->box_pairs = p->broad->met < INT32_MAX ? (int32_t)p->broad->met : INT32_MAX;
	stats->narrow_pairs = (int32_t)(p->kept.count + simple);
	stats->scratch_peak = scratch > stats->scratch_peak ? scratch : stats->scratch_peak;
}

static void finish_groups(cr_pipeline *p)
{
	for (int32_t g = 0; g < p->settings.worker_groups; g++)
		p->groups[g].rays = p->workers[g].rays_full + p->workers[g].rays_iterative;
}

/// Run a stage, if there is one, after those before it have succeeded, and charge it to a clock.
static void run(cr_pipeline *p, carom_result (*stage)(cr_pipeline *), double *ms, carom_result *result)
{
	if (*result != CAROM_SUCCESS || !stage)
		return;
	const double start = cr_time_ms();
	*result = stage(p);
	*ms += cr_time_ms() - start;
}

static bool is_waiting(cr_pipeline *p) { return cr_take(p, CR_NEXT_NONE) < p->order.count; }

static carom_result run_stages(cr_pipeline *p, carom_stats *stats)
{
	const cr_stages *s = p->stages;
	carom_result result = CAROM_SUCCESS;
	run(p, s->pairs, &stats->ms_pair, &result);
	for (p->round = 0; result == CAROM_SUCCESS && is_waiting(p); p->round++) {
		run(p, s->near, &stats->ms_complete, &result);
		run(p, s->crossings, &stats->ms_complete, &result);
		run(p, s->vertices, &stats->ms_vertex, &result);
		run(p, s->rays, &stats->ms_ray, &result);
	}
	run(p, s->finish, &stats->ms_complete, &result);
	run(p, s->simple, &stats->ms_complete, &result);
	run(p, s->reduce, &stats->ms_merge, &result);
	if (result == CAROM_SUCCESS && p->settings.temporal == CAROM_TEMPORAL_ITERATIVE &&
		!cr_temporal_keep(p->context, &p->temporal, &p->pairs))
		return cr_fail_memory(p->context, "what pairs remember");
	return result;
}

carom_result cr_pipeline_run(cr_pipeline *p, cr_body *bodies, int32_t body_count, carom_stats *stats)
{
	p->bodies = bodies;
	p->body_count = body_count;
	reset_workers(p);
	if (!tidy_kept(p)) {
		cr_pipeline_forget(p);
		return cr_fail_memory(p->context, "what pairs remember");
	}
	const double start = cr_time_ms();
	cr_bodies_update(p->context, bodies, body_count, box_margin(p));
	stats->ms_trees = cr_time_ms() - start;
	const carom_result result = run_stages(p, stats);
	if (result != CAROM_SUCCESS) {
		// The memories may be of two steps: start over.
		cr_pipeline_forget(p);
		return result;
	}
	add_counts(p, stats);
	finish_groups(p);
	return CAROM_SUCCESS;
}
