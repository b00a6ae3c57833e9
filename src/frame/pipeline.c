/// The stages in order, with times and counts.

#include "frame/laboratory.h"
#include "base/parallel.h"
#include "base/radix.h"
#include "base/time.h"
#include <string.h>

// Lists left behind that are not worth tidying up.
enum { TIDY_BYTES = 1 << 18 };
// Lists that are given back once they are tidied up: to fill them took far longer than that.
enum { MANY_BYTES = 1 << 24 };
// Pairs of meshes that pass the stages together: their records take 10 MB. A device gets all, since
// each part costs it submissions, and so does the laboratory, which looks at whole steps.
enum { PAIRS_OF_PART = 1 << 15 };

int64_t cr_take(cr_pipeline *p, cr_next next)
{
	const int32_t *order = p->order.data;
	const uint8_t *waits = p->next.data;
	int32_t *taken = p->taken.data;
	int64_t count = 0;
	for (int64_t i = 0; i < p->order.count; i++) {
		if (waits[order[i]] == next)
			taken[count++] = order[i];
	}
	return p->taken.count = count;
}

void cr_for_pairs(cr_pipeline *p, carom_task_fn *task_fn, int64_t min_range)
{
	if (p->hooks.for_pairs)
		p->hooks.for_pairs(p, task_fn, min_range);
	else
		cr_parallel_for(p->context, task_fn, p->taken.count, min_range, p);
}

carom_result cr_check_workers(const cr_pipeline *p, const char *what)
{
	for (int32_t i = 0; i < p->worker_count; i++) {
		if (p->workers[i].failed)
			return cr_fail_memory(p->context, what);
	}
	return CAROM_SUCCESS;
}

/// Two bodies within the speculative distance overlap when each box grows by half of it.
static double box_margin(const cr_pipeline *p) { return 0.5 * p->settings.world.speculative_distance; }

carom_result cr_pipeline_init(cr_pipeline *p, carom_context *context, const cr_settings *settings, const cr_stages *stages)
{
	*p = (cr_pipeline){ .context = context, .settings = *settings, .stages = stages, .most = PAIRS_OF_PART };
	cr_temporal_init(&p->temporal);
	p->worker_count = settings->lab.worker_groups > context->thread_count ? settings->lab.worker_groups : context->thread_count;
	cr_frame_init(&p->frame, context);
	cr_kept_init(&p->memories[0], context);
	cr_kept_init(&p->memories[1], context);
	p->workers = cr_alloc_zero(context, (size_t)p->worker_count * sizeof(cr_worker));
	if (!p->workers)
		return cr_fail_memory(context, "a world");
	for (int i = 0; i < p->worker_count; i++) {
		cr_arena_init(&p->workers[i].arena, context);
		cr_arena_init(&p->workers[i].walked, context);
	}
	carom_result result = settings->lab.tools ? settings->lab.tools->open(p) : CAROM_SUCCESS;
	if (result == CAROM_SUCCESS)
		result = p->stages->open(p);
	if (result != CAROM_SUCCESS)
		cr_pipeline_free(p);
	else
		cr_pipeline_set(p, settings);
	return result;
}

void cr_pipeline_set(cr_pipeline *p, const cr_settings *settings)
{
	p->settings = *settings;
	p->broad->margin = box_margin(p);
}

static void close_stages(cr_pipeline *p)
{
	if (p->stages->close)
		p->stages->close(p);
}

void cr_pipeline_move(cr_pipeline *p, const cr_stages *stages, carom_device *const *devices, int32_t count)
{
	close_stages(p);
	p->stages = stages;
	p->device_count = count;
	for (int32_t i = 0; i < CAROM_MAX_DEVICES; i++)
		p->devices[i] = i < count ? devices[i] : NULL;
}

/// Free the arrays of a step, and the pairs at rest.
static void free_lists(cr_pipeline *p)
{
	cr_array_free(p->context, &p->pairs);
	cr_array_free(p->context, &p->simple);
	cr_array_free(p->context, &p->found);
	cr_array_free(p->context, &p->work);
	cr_array_free(p->context, &p->kept);
	cr_array_free(p->context, &p->met);
	for (int i = 0; i < 2; i++) {
		cr_array_free(p->context, &p->resting[i].pairs);
		cr_array_free(p->context, &p->resting[i].contacts);
	}
	cr_array_free(p->context, &p->next);
	cr_array_free(p->context, &p->order);
	cr_array_free(p->context, &p->taken);
}

static void free_arenas(cr_pipeline *p)
{
	for (int i = 0; p->workers && i < p->worker_count; i++) {
		cr_arena_free(&p->workers[i].arena);
		cr_arena_free(&p->workers[i].walked);
	}
}

static bool reserve_lists(cr_pipeline *p, int64_t pairs)
{
	carom_context *context = p->context;
	// Pairs of meshes pass in parts, unless all are to pass at once.
	const int64_t part = pairs < p->most || p->lab || p->device_count > 0 ? pairs : p->most;
	cr_temporal *t = &p->temporal;
	return cr_array_reserve(context, &p->pairs, pairs) && cr_array_reserve(context, &p->simple, pairs) &&
		cr_array_reserve(context, &p->found, 2 * pairs) && cr_array_reserve(context, &p->met, pairs) &&
		cr_array_reserve(context, &p->work, part) && cr_array_reserve(context, &p->kept, part) &&
		cr_array_reserve(context, &p->next, part) && cr_array_reserve(context, &p->order, part) &&
		cr_array_reserve(context, &p->taken, part) && cr_array_reserve(context, &t->pairs, pairs) &&
		cr_array_reserve(context, &t->slots, 2 * pairs) && cr_array_reserve(context, &t->free, 2 * pairs) &&
		cr_array_reserve(context, &t->slot, pairs) && cr_array_reserve(context, &t->next_slot, pairs);
}

/// The room that the merge stage and the stages of volumes take of an arena.
static size_t scratch_bytes(int64_t pairs, int64_t contacts)
{
	enum { OF_PAIR = 2 * sizeof(cr_key) + sizeof(cr_found_pair) + sizeof(int32_t), OF_CONTACT = 48, MORE = 1 << 18 };
	return (size_t)pairs * OF_PAIR + (size_t)contacts * OF_CONTACT + MORE;
}

bool cr_pipeline_reserve(cr_pipeline *p, int64_t bodies, int64_t pairs, int64_t contacts)
{
	bool made = reserve_lists(p, pairs) && (!p->broad->reserve || p->broad->reserve(p->broad, bodies, pairs));
	for (int i = 0; made && i < p->worker_count; i++)
		made = cr_arena_reserve(&p->workers[i].arena, scratch_bytes(i == 0 ? pairs : 0, i == 0 ? contacts : 0));
	return made && cr_frame_reserve(&p->frame, contacts, p->worker_count);
}

void cr_pipeline_trim(cr_pipeline *p)
{
	free_arenas(p);
	free_lists(p);
	p->resting[0].run = p->resting[1].run = 0;
	cr_frame_trim(&p->frame);
	cr_kept_free(&p->memories[1 - p->keeping]);
	if (p->broad->trim)
		p->broad->trim(p->broad);
}

void cr_pipeline_free(cr_pipeline *p)
{
	close_stages(p);
	free_arenas(p);
	if (p->workers)
		cr_free(p->context, p->workers, (size_t)p->worker_count * sizeof(cr_worker));
	cr_frame_free(&p->frame);
	cr_kept_free(&p->memories[0]);
	cr_kept_free(&p->memories[1]);
	cr_temporal_free(p->context, &p->temporal);
	if (p->lab)
		p->settings.lab.tools->close(p);
	if (p->broad)
		p->broad->destroy(p->broad);
	free_lists(p);
	p->workers = NULL;
	p->broad = NULL;
}

/// Forget the last step's scratch.
static void reset_workers(cr_pipeline *p)
{
	for (int i = 0; i < p->worker_count; i++) {
		cr_worker *w = &p->workers[i];
		*w = (cr_worker){ .arena = w->arena,
			.walked = w->walked,
			.frame = &p->frame,
			.kept = &p->memories[p->keeping],
			.kept_tails = w->kept_tails };
		cr_arena_reset(&w->arena);
		cr_arena_reset(&w->walked);
		w->candidates.arena = &w->walked;
	}
	if (p->settings.world.temporal != CAROM_TEMPORAL_NONE)
		cr_frame_turn(&p->frame);
	cr_frame_reset(&p->frame);
	p->run++;
}

bool cr_move_memory(cr_pair_memory *m, const cr_kept *from, cr_kept *to, cr_kept_tails *tails)
{
	for (int side = 0; side < 2; side++) {
		const cr_span old = m->watched[side];
		if (old.count == 0)
			continue;
		if (!cr_keep_watches(to, tails, old.count, &m->watched[side]))
			return false;
		memcpy(cr_watches_at(to, m->watched[side].first), cr_watches_at(from, old.first), (size_t)old.count * sizeof(cr_watch));
	}
	for (int k = 0; k < CR_ROLES; k++) {
		uint32_t number;
		if (m->poses.kept[k] == 0)
			continue;
		if (!cr_keep_pose(to, tails, &number))
			return false;
		const cr_reference *old_pose = cr_kept_pose(from, m, k);
		m->poses.kept[k] = number + 1;
		*cr_kept_pose(to, m, k) = *old_pose;
	}
	const cr_span old = m->near.pairs;
	if (old.count == 0)
		return true;
	if (!cr_keep_near(to, tails, old.count, &m->near))
		return false;
	const uint32_t first = m->near.pairs.first;
	const size_t room = (size_t)cr_near_room(&m->near, old.count);
	memcpy(cr_near_at(to, first), cr_near_at(from, old.first), room * sizeof(uint32_t));
	memcpy(cr_near_gaps_at(to, first), cr_near_gaps_at(from, old.first), (size_t)cr_lanes_of(old.count) * sizeof(float));
	return true;
}

void cr_change_kept(cr_pipeline *p, cr_kept_tails tails)
{
	cr_kept *old = &p->memories[p->keeping];
	if (cr_kept_used(old) >= MANY_BYTES)
		cr_kept_free(old);
	else
		cr_kept_reset(old);
	p->keeping = 1 - p->keeping;
	for (int i = 0; i < p->worker_count; i++) {
		p->workers[i].kept = &p->memories[p->keeping];
		p->workers[i].kept_tails = (cr_kept_tails){ 0 };
	}
	p->workers[0].kept_tails = tails;
	p->live_kept = cr_kept_used(&p->memories[p->keeping]);
}

/// Entries of the kept lists that memories hold.
typedef struct live {
	int64_t watches;
	int64_t near;
	int64_t poses;
} live;

/// Forget the lists of memories that no longer hold, and count the others.
static live trim_memories(cr_pipeline *p)
{
	live l = { 0 };
	for (int64_t i = 0; i < cr_count_memories(&p->temporal); i++) {
		cr_pair_memory *m = cr_memory_at(&p->temporal, i);
		if (!m)
			continue;
		cr_trim_memory(m);
		l.watches += m->watched[0].count + m->watched[1].count;
		l.near += cr_near_room(&m->near, m->near.pairs.count);
		for (int k = 0; k < CR_ROLES; k++)
			l.poses += m->poses.kept[k] != 0;
	}
	return l;
}

/// Is a list much longer than its entries that are held?
static bool is_untidy(const cr_kept *kept, size_t held) { return cr_kept_used(kept) > 2 * held + TIDY_BYTES; }

/// Full pairs leave their old lists behind. When these outweigh the lists in use, copy the latter
/// to the other lists, which have room for them and for a quarter more.
static bool tidy_kept(cr_pipeline *p)
{
	const cr_kept *from = &p->memories[p->keeping];
	if (!is_untidy(from, p->live_kept))
		return true;
	const live l = trim_memories(p);
	p->live_kept = (size_t)l.watches * sizeof(cr_watch) + (size_t)l.near * (sizeof(uint32_t) + sizeof(float)) +
		(size_t)l.poses * sizeof(cr_reference);
	// Where there are many new pairs nothing was left behind.
	if (!is_untidy(from, p->live_kept))
		return true;
	cr_kept_reserve(&p->memories[1 - p->keeping], l.watches + l.watches / 4, l.near + l.near / 4, l.poses + l.poses / 4);
	cr_kept_tails tails = { 0 };
	for (int64_t i = 0; i < cr_count_memories(&p->temporal); i++) {
		cr_pair_memory *m = cr_memory_at(&p->temporal, i);
		if (m && !cr_move_memory(m, from, &p->memories[1 - p->keeping], &tails))
			return false;
	}
	cr_change_kept(p, tails);
	return true;
}

void cr_pipeline_forget_rests(cr_pipeline *p)
{
	p->resting[0].run = p->resting[1].run = 0;
	for (int64_t i = 0; i < cr_count_memories(&p->temporal); i++) {
		cr_pair_memory *memory = cr_memory_at(&p->temporal, i);
		if (memory)
			memory->rest = (cr_rest){ 0 };
	}
}

void cr_pipeline_forget(cr_pipeline *p)
{
	cr_temporal_forget(&p->temporal);
	cr_kept_reset(&p->memories[0]);
	cr_kept_reset(&p->memories[1]);
	p->resting[0].run = p->resting[1].run = 0;
	for (int i = 0; i < p->worker_count; i++)
		p->workers[i].kept_tails = (cr_kept_tails){ 0 };
	p->live_kept = 0;
	if (p->lab)
		p->settings.lab.tools->forget(p);
}

static void add_counts(const cr_pipeline *p, carom_stats *stats)
{
	const size_t last = cr_frame_used(&p->frame);
	size_t scratch = p->part_peak > last ? p->part_peak : last;
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
		stats->rays_on_device += w->rays_on_device;
		stats->walks_on_device += w->walks_on_device;
		stats->rays_returned += w->rays_returned;
		stats->tests_on_device += w->tests_on_device;
		stats->tests_returned += w->tests_returned;
		stats->near_on_device += w->near_on_device;
		stats->near_returned += w->near_returned;
		stats->walk_steps += w->walk_steps;
		stats->pairs_full += w->pairs_full;
		stats->pairs_iterative += w->pairs_iterative;
		stats->pairs_apart += w->pairs_apart;
		stats->vertices_watched += w->vertices_watched;
		stats->triangle_tests += w->triangle_tests;
		stats->pairs_completed += w->pairs_completed;
		stats->pairs_crossing += w->pairs_crossing;
		simple += w->pairs_simple;
		scratch += w->arena.peak + w->walked.peak;
	}
	stats->rays_missed = p->rays_missed;
	stats->backtracks = p->backtracks;
	stats->device_fallbacks = p->fallbacks;
	stats->box_pairs = p->broad->met < INT32_MAX ? (int32_t)p->broad->met : INT32_MAX;
	stats->narrow_pairs = (int32_t)(p->met.count + simple);
	stats->scratch_peak = scratch > stats->scratch_peak ? scratch : stats->scratch_peak;
}

/// The clock, for those whose milliseconds are read: two dozen looks at it took a tenth of the time
/// of a single pair of cubes.
static double time_now(const cr_pipeline *p) { return p->untimed ? 0 : cr_time_ms(); }

/// Run a stage, if there is one, after those before it have succeeded, and charge it to a clock.
static void run(cr_pipeline *p, carom_result (*stage)(cr_pipeline *), double *ms, carom_result *result)
{
	if (*result != CAROM_SUCCESS || !stage)
		return;
	const double start = time_now(p);
	*result = stage(p);
	*ms += time_now(p) - start;
}

/// Forget the scratch of the part before.
static void reset_part(cr_pipeline *p)
{
	const size_t used = cr_frame_used(&p->frame);
	p->part_peak = used > p->part_peak ? used : p->part_peak;
	for (int i = 0; i < p->worker_count; i++) {
		cr_worker *w = &p->workers[i];
		cr_arena_reset(&w->arena);
		cr_arena_reset(&w->walked);
		w->tails.casts = w->tails.walks = w->tails.meetings = (cr_list_tail){ 0 };
		w->runs.data = NULL;
		w->runs.count = w->runs.capacity = 0;
		w->candidates = (cr_candidates){ .arena = &w->walked };
		w->contacts = (cr_raw_contacts){ 0 };
		w->staging_count = 0;
	}
	cr_frame_reset_part(&p->frame);
}

/// Note the kept pairs of the part, with their contacts.
static void note_met(cr_pipeline *p)
{
	for (int64_t i = 0; i < p->kept.count; i++) {
		const cr_pair_work *w = &p->work.data[p->kept.data[i]];
		const uint32_t found = (uint32_t)w->found & CR_MOST_FOUND;
		p->met.data[p->met.count++] = (cr_found_pair){ w->a, w->b, w->contacts, found, .rests = w->rests };
	}
	p->kept.count = 0;
}

static bool is_waiting(cr_pipeline *p) { return cr_take(p, CR_NEXT_NONE) < p->order.count; }

/// Run the stages for a part of the pairs.
static carom_result run_part(cr_pipeline *p, bool last, carom_stats *stats)
{
	const cr_stages *s = p->stages;
	carom_result result = CAROM_SUCCESS;
	run(p, s->begin, &stats->ms_pair, &result);
	for (p->round = 0; result == CAROM_SUCCESS && is_waiting(p); p->round++) {
		run(p, s->near, &stats->ms_complete, &result);
		run(p, s->crossings, &stats->ms_complete, &result);
		run(p, s->vertices, &stats->ms_vertex, &result);
		run(p, s->rays, &stats->ms_ray, &result);
	}
	run(p, s->finish, &stats->ms_complete, &result);
	if (last)
		run(p, s->simple, &stats->ms_complete, &result);
	run(p, s->reduce, &stats->ms_merge, &result);
	if (result == CAROM_SUCCESS)
		note_met(p);
	return result;
}

static carom_result run_parts(cr_pipeline *p, carom_stats *stats)
{
	const int64_t most = p->most;
	if (p->device_count > 0 || p->lab || p->most > p->pairs.count)
		p->most = p->pairs.count;
	// Without pairs there is a part too.
	carom_result result = CAROM_SUCCESS;
	bool last = false;
	for (p->first = 0; result == CAROM_SUCCESS && !last; p->first += p->most) {
		last = p->pairs.count - p->first <= p->most;
		if (p->first > 0)
			reset_part(p);
		result = run_part(p, last, stats);
	}
	p->most = most;
	return result;
}

static carom_result run_stages(cr_pipeline *p, carom_stats *stats)
{
	carom_result result = CAROM_SUCCESS;
	if (p->met.capacity < p->found.capacity)
		cr_swap_found(p);
	p->found.count = p->met.count = 0;
	p->part_peak = 0;
	run(p, p->stages->pairs, &stats->ms_pair, &result);
	if (result == CAROM_SUCCESS && !cr_array_reserve_fresh(p->context, &p->met, p->pairs.count))
		result = cr_fail_memory(p->context, "the pairs of a step");
	if (result == CAROM_SUCCESS)
		result = run_parts(p, stats);
	if (result == CAROM_SUCCESS && p->settings.world.temporal != CAROM_TEMPORAL_NONE &&
		!cr_temporal_keep(p->context, &p->temporal, &p->pairs))
		return cr_fail_memory(p->context, "what pairs remember");
	return result;
}

carom_result cr_pipeline_run(cr_pipeline *p, cr_body *bodies, int32_t body_count, carom_stats *stats)
{
	p->bodies = bodies;
	p->body_count = body_count;
	p->broad->changes = p->changes;
	p->rays_missed = p->backtracks = p->fallbacks = 0;
	reset_workers(p);
	if (!tidy_kept(p)) {
		cr_pipeline_forget(p);
		return cr_fail_memory(p->context, "what pairs remember");
	}
	const double start = time_now(p);
	cr_bodies_update(p->context, bodies, p->changes, body_count, box_margin(p));
	stats->ms_trees = time_now(p) - start;
	const carom_result result = run_stages(p, stats);
	if (result != CAROM_SUCCESS) {
		// The memories may be of two steps: start over.
		cr_pipeline_forget(p);
		return result;
	}
	add_counts(p, stats);
	if (p->lab)
		p->settings.lab.tools->end_step(p);
	return CAROM_SUCCESS;
}
