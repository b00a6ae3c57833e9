/// The search of a step: traversal from the root or along the front, elementary tests with it,
/// orphans. In: boxes of the step. Out: the impacts, in the lists of the workers; the front for the
/// next step.
///
/// From the root the bounding volume test tree is opened, in order, until it has some hundred
/// tasks; workers take them as they come (MCCD does the same with blocks of the front). The worker
/// of a task changes nothing: impacts are sorted, blocks of the front carry their task's number,
/// and counters are sums.
#include "base/parallel.h"
#include "base/time.h"
#include "sweep/device_sweep.h"

#include <math.h>
#include <string.h>

enum {
	// Tasks of a traversal from the root: some hundred for each of many workers, opened in about a
	// tenth of a millisecond.
	ROOT_TASKS = 1024,
	// A front that was too large is kept again when it is smaller than the bound by a quarter.
	SHRUNK_PARTS = 3,
	ALL_PARTS = 4,
	// Parts of the search for the earliest impact: 1/64, 1/16, 1/4 of the tasks, and the rest.
	EARLIEST_ROUNDS = 4,
	// Boxes that a worker passes from at a time.
	LINE_PIECE = 256,
	// Orphans tested by one worker at a time.
	ORPHANS_AT_ONCE = 512,
	// The front is pruned when a sample shows that of a hundred of its nodes more are stale: below
	// nodes that are apart. It is rebuilt when more than the second are: the root then takes fewer
	// tests than pruning (kick, where fronts of 13 million nodes are left by a leap).
	PRUNE_STALE = 25,
	REBUILD_STALE = 50,
};

/// A step that ends this much earlier is worth new boxes: they cost a twentieth of a search.
#define WORTH_BOUNDING 0.5

// ---- Tasks ----

/// Replace every task whose boxes overlap by its children, in order. False when out of memory.
static bool open_tasks(carom_sweep *s, int64_t *opened)
{
	const cr_sweep_kernels *kernels = s->job.kernels;
	*opened = 0;
	s->next_tasks.count = 0;
	for (int64_t i = 0; i < s->tasks.count; i++) {
		const cr_sweep_pair p = s->tasks.data[i];
		cr_sweep_pair children[3];
		int count = 0;
		if (p.a == p.b || kernels->overlap(&s->tree, p.a, p.b))
			count = cr_sweep_children(&s->tree, p, children);
		*opened += count > 0;
		s->stats.volume_tests += p.a != p.b;
		if (count == 0)
			children[count++] = p;
		if (!cr_array_reserve(&s->context, &s->next_tasks, s->next_tasks.count + count))
			return false;
		memcpy(s->next_tasks.data + s->next_tasks.count, children, (size_t)count * sizeof *children);
		s->next_tasks.count += count;
	}
	return true;
}

static bool make_tasks(carom_sweep *s, int64_t enough)
{
	if (!cr_array_reserve(&s->context, &s->tasks, 1))
		return false;
	s->tasks.data[0] = (cr_sweep_pair){ 0, 0 };
	s->tasks.count = 1;
	for (int64_t opened = 1; s->tasks.count < enough && opened > 0;) {
		if (!open_tasks(s, &opened))
			return false;
		const __typeof__(s->tasks) last = s->tasks;
		s->tasks.data = s->next_tasks.data;
		s->tasks.count = s->next_tasks.count;
		s->tasks.capacity = s->next_tasks.capacity;
		s->next_tasks.data = last.data;
		s->next_tasks.count = last.count;
		s->next_tasks.capacity = last.capacity;
	}
	return true;
}

/// The earliest impact is looked for in rounds: a few of the tasks, or blocks of the front, spread
/// over all; four times as many; and so on. An impact found ends the step: the boxes of later
/// rounds hold the motion until then alone.
static int round_of(int64_t task)
{
	int64_t part = (int64_t)1 << 2 * (EARLIEST_ROUNDS - 1);
	for (int round = 0; round < EARLIEST_ROUNDS - 1; round++, part /= 4) {
		if (task % part == 0)
			return round;
	}
	return EARLIEST_ROUNDS - 1;
}

static bool is_due(const carom_sweep *s, int64_t task) { return s->round < 0 || round_of(task) == s->round; }

/// Is the front pruned in this step? Not in rounds: a pair may be dropped only if its ancestor's
/// boxes are the same for all blocks, and in rounds they are not.
static bool prunes(const carom_sweep *s) { return s->def.prune_front && s->round < 0 && s->front_stale; }

static void run_tasks(int64_t begin, int64_t end, int worker, void *context)
{
	carom_sweep *s = context;
	for (int64_t i = begin; i < end; i++) {
		if (is_due(s, i))
			cr_sweep_worker_walk(s->workers[worker], (int32_t)i, s->tasks.data[i]);
	}
}

static void run_blocks(int64_t begin, int64_t end, int worker, void *context)
{
	carom_sweep *s = context;
	cr_sweep_worker *w = s->workers[worker];
	w->walk.prune = prunes(s);
	for (int64_t i = begin; i < end; i++) {
		if (is_due(s, i))
			cr_sweep_worker_follow(w, (int32_t)i, &s->front.blocks.data[i]);
	}
}

static void finish_workers(int64_t begin, int64_t end, int worker, void *context)
{
	(void)worker;
	const carom_sweep *s = context;
	for (int64_t i = begin; i < end; i++)
		cr_sweep_worker_finish(s->workers[i]);
}

/// Orphan faces, then orphan edges.
static void run_orphans(int64_t begin, int64_t end, int worker, void *context)
{
	carom_sweep *s = context;
	const int64_t faces = s->scene.orphan_faces.count;
	for (int64_t i = begin; i < end; i++) {
		const cr_feature_pair *pair = i < faces ? &s->scene.orphan_faces.data[i] : &s->scene.orphan_edges.data[i - faces];
		cr_sweep_worker_add(s->workers[worker], i < faces ? CR_SWEPT_VERTEX_FACE : CR_SWEPT_EDGE_EDGE, pair);
	}
}

// ---- The front ----

static void drop_front(carom_sweep *s)
{
	cr_front_free(&s->context, &s->front);
	s->front_held = false;
	s->front_due = s->front_stale = false;
}

static bool wants_front(const carom_sweep *s)
{
	if (s->def.method != CAROM_SWEEP_AUTO && s->def.method != CAROM_SWEEP_FRONT)
		return false;
	return !s->front_over || s->front_size <= s->job.front_limit / ALL_PARTS * SHRUNK_PARTS;
}

/// Keep the front that the workers made, unless it was lost on the way.
static void take_front(carom_sweep *s, bool followed)
{
	cr_front_blocks *lists[CR_MAX_WORKERS];
	const int count = s->context.thread_count;
	for (int i = 0; i < count; i++)
		lists[i] = &s->workers[i]->blocks;
	if (atomic_load(&s->job.front_lost)) {
		for (int i = 0; i < count; i++)
			cr_front_free_blocks(&s->context, lists[i]);
		drop_front(s);
		s->front_over = true;
		return;
	}
	s->front_held = cr_front_replace(&s->context, &s->front, lists, count);
	s->front_over = !s->front_held;
	if (!followed || !s->front_held) {
		s->front_due = false;
		s->sum_sprouted = s->sum_replaced = 0;
	}
}

/// Without pruning (MCCD, section 4.5): too much of the front has sprouted since it was made, or
/// been replaced. With it: too much is stale.
static void judge_front(carom_sweep *s)
{
	if (!s->front_held)
		return;
	int64_t sampled = 0, stale = 0;
	for (int i = 0; i < s->context.thread_count; i++) {
		sampled += s->workers[i]->walk.sampled;
		stale += s->workers[i]->walk.stale;
	}
	const double nodes = (double)s->front.nodes;
	if (!s->def.prune_front || s->job.earliest) {
		s->front_due = (double)s->sum_sprouted > s->def.rebuild_sprouted * nodes ||
			(double)s->sum_replaced > s->def.rebuild_replaced * nodes;
		return;
	}
	s->front_due = !prunes(s) && 100 * stale > REBUILD_STALE * sampled;
	s->front_stale = !prunes(s) && 100 * stale > PRUNE_STALE * sampled;
}

// ---- The search ----

static bool make_workers(carom_sweep *s)
{
	const size_t count = (size_t)s->context.thread_count;
	if (!s->workers)
		s->workers = cr_alloc_zero(&s->context, count * sizeof *s->workers);
	for (size_t i = 0; s->workers && i < count; i++) {
		if (!s->workers[i])
			s->workers[i] = cr_make_sweep_worker(&s->context, (int)i);
		if (!s->workers[i])
			return false;
	}
	return s->workers != NULL;
}

carom_result cr_check_found(carom_sweep *s, const char *call, const char *name)
{
	int64_t total = 0;
	for (int i = 0; s->workers && i < s->context.thread_count; i++)
		total += s->workers[i]->total;
	if (s->def.max_hits == 0 || total <= s->def.max_hits)
		return CAROM_SUCCESS;
	return cr_fail(&s->context, CAROM_OVER_BUDGET, "%s: there are %lld %s; max_hits is %lld", call, (long long)total, name,
		(long long)s->def.max_hits);
}

void cr_free_sweep_workers(carom_sweep *s)
{
	for (int i = 0; s->workers && i < s->context.thread_count; i++)
		cr_free_sweep_worker(&s->context, s->workers[i]);
	cr_free(&s->context, s->workers, (size_t)s->context.thread_count * sizeof *s->workers);
	s->workers = NULL;
}

/// Is there a pair of meshes that filters may keep apart?
static bool is_filtered(const carom_sweep *s)
{
	bool filtered = s->verdict != NULL;
	for (int64_t i = 0; i < s->filters.count && !filtered; i++) {
		const cr_sweep_filter *f = &s->filters.data[i];
		filtered = f->category != 1 || f->mask != UINT64_MAX || f->group != 0;
	}
	return filtered;
}

static void start_job(carom_sweep *s, bool earliest)
{
	cr_sweep_job *job = &s->job;
	job->context = &s->context;
	job->tree = &s->tree;
	job->kernels = cr_get_sweep_kernels(s->context.simd);
	job->order = &s->order;
	job->begin = s->scene_begin;
	job->end = s->scene_end;
	job->halves = s->halves.count > 0 ? s->halves.data : NULL;
	job->most_thickness = cr_sweep_thickness(s);
	job->options = cr_swept_options_of(&s->def, s->context.simd);
	job->taker = s->taker;
	job->every = !s->def.orphan_sets;
	job->earliest = earliest;
	job->most_found = s->def.max_hits > 0 ? s->def.max_hits : INT64_MAX;
	job->mesh_vertices = s->mesh_vertices.data;
	job->mesh_count = (int32_t)s->meshes.count;
	job->filters = is_filtered(s) ? s->filters.data : NULL;
	job->bulge = earliest ? 0 : cr_sweep_bulge(s);
	job->arcs = job->bulge > 0 ? s->arcs.data : NULL;
	job->verdict = s->verdict;
	job->verdict_user = s->verdict_user;
	const double never = INFINITY;
	unsigned long long bits;
	memcpy(&bits, &never, sizeof bits);
	atomic_store(&job->earliest_bits, bits);
	job->front_limit =
		s->def.front_budget && (uint64_t)s->def.front_budget < INT64_MAX ? (int64_t)s->def.front_budget : INT64_MAX;
	atomic_store(&job->front_bytes, 0);
	atomic_store(&job->front_lost, false);
}

static void sum_workers(carom_sweep *s, bool followed)
{
	carom_sweep_stats *stats = &s->stats;
	int64_t stops = 0, leaf_stops = 0, adjacent = 0, replaced = 0;
	for (int i = 0; i < s->context.thread_count; i++) {
		const cr_sweep_walk *walk = &s->workers[i]->walk;
		stats->volume_tests += walk->tests;
		stats->front_sprouted += walk->sprouted;
		stats->front_kept += walk->kept;
		stats->front_pruned += walk->pruned;
		stats->leaf_pairs += s->workers[i]->leaf_pairs;
		stops += walk->stop_total;
		leaf_stops += walk->leaf_stop_total;
		adjacent += walk->adjacent;
		replaced += walk->replaced;
	}
	s->sum_sprouted += stats->front_sprouted;
	s->sum_replaced += replaced;
	s->front_size = cr_front_block_bytes(stops - leaf_stops, leaf_stops);
	if (!followed)
		s->adjacent = adjacent;
	stats->adjacent_pairs = s->adjacent;
	// With orphan sets no traversal hands on pairs that share a vertex; without them they are
	// always met.
	if (s->job.every)
		stats->leaf_pairs -= s->adjacent;
}

static void count_tests(carom_sweep *s)
{
	carom_sweep_stats *stats = &s->stats;
	for (int i = 0; i < s->context.thread_count; i++) {
		cr_swept_stats sum = { 0 };
		const cr_sweep_worker *w = s->workers[i];
		cr_swept_add_stats(&sum, &w->tests[CR_SWEPT_VERTEX_FACE]);
		cr_swept_add_stats(&sum, &w->tests[CR_SWEPT_EDGE_EDGE]);
		stats->tests_vf += w->tests[CR_SWEPT_VERTEX_FACE].queries;
		stats->tests_ee += w->tests[CR_SWEPT_EDGE_EDGE].queries;
		stats->filtered += sum.by_axes + sum.by_diagonals + sum.by_cubic;
	}
}

/// The part of a worker's time that tests took so far.
static double mean_test_time(const carom_sweep *s)
{
	double sum = 0;
	for (int i = 0; i < s->context.thread_count; i++)
		sum += s->workers[i]->ms_tests;
	return sum / s->context.thread_count;
}

/// Where candidates come from.
typedef enum source { FROM_ROOT, FROM_FRONT, FROM_LINE } source;

static int32_t leaf_count(const carom_sweep *s) { return s->tree.node_count / 2 + 1; }

/// Boxes may change places from round to round, so the last one passes along the whole line.
static void run_pieces(int64_t begin, int64_t end, int worker, void *context)
{
	carom_sweep *s = context;
	const int32_t count = leaf_count(s);
	for (int64_t i = begin; i < end; i++) {
		const int32_t first = (int32_t)i * LINE_PIECE;
		if (s->round < 0 || s->round == EARLIEST_ROUNDS - 1 || round_of(i) == s->round)
			s->def.lab->pass(s->job.kernels, &s->workers[worker]->walk, s->line, first,
				count - first < LINE_PIECE ? count : first + LINE_PIECE);
	}
}

/// False when out of memory.
static bool run_round(carom_sweep *s, source from)
{
	if (from == FROM_LINE && !s->def.lab->sort(&s->context, &s->tree, &s->line))
		return false;
	if (from == FROM_FRONT)
		cr_parallel_for(&s->context, run_blocks, s->front.blocks.count, 1, s);
	else if (from == FROM_ROOT)
		cr_parallel_for(&s->context, run_tasks, s->tasks.count, 1, s);
	else
		cr_parallel_for(&s->context, run_pieces, (leaf_count(s) + LINE_PIECE - 1) / LINE_PIECE, 1, s);
	cr_parallel_for(&s->context, finish_workers, s->context.thread_count, 1, s);
	return true;
}

/// The time of the earliest impact so far; infinite when there is none.
static double earliest_so_far(const carom_sweep *s)
{
	const unsigned long long bits = atomic_load(&s->job.earliest_bits);
	double time;
	memcpy(&time, &bits, sizeof time);
	return time;
}

/// Follow the front, walk from the root, or pass along the line; false when out of memory.
static bool traverse(carom_sweep *s, source from, bool keep)
{
	for (int i = 0; i < s->context.thread_count; i++)
		cr_start_sweep_worker(s->workers[i], &s->job, keep);
	if (from == FROM_ROOT && !make_tasks(s, s->def.method == CAROM_SWEEP_PHC ? s->def.lab->phc_tasks : ROOT_TASKS))
		return false;
	// The times of a test that proves nothing say nothing about where the boxes are.
	const bool rounds = s->job.earliest && !s->job.options.solve;
	s->round = rounds ? 0 : -1;
	bool done = run_round(s, from);
	double until = 1;
	for (int round = 1; done && rounds && round < EARLIEST_ROUNDS; round++) {
		const double earliest = earliest_so_far(s);
		if (earliest < WORTH_BOUNDING * until) {
			until = earliest;
			cr_bound_sweep(s, until);
			s->bounded = false; // for another search of this step
		}
		s->round = round;
		done = run_round(s, from);
	}
	s->round = -1;
	return done;
}

static bool any_failed(const carom_sweep *s)
{
	for (int i = 0; i < s->context.thread_count; i++) {
		if (s->workers[i]->failed)
			return true;
	}
	return false;
}

bool cr_search_sweep(carom_sweep *s, bool earliest)
{
	if (!make_workers(s))
		return false;
	const double start = cr_time_ms();
	start_job(s, earliest);
	const bool keep = wants_front(s), follow = keep && s->front_held && !s->front_due;
	s->stats.front_rebuilt = keep && !follow && s->front_held;
	if (!follow)
		drop_front(s);
	if (!traverse(s, follow ? FROM_FRONT : s->def.method == CAROM_SWEEP_SORT ? FROM_LINE : FROM_ROOT, keep))
		return false;
	if (keep)
		take_front(s, follow);
	sum_workers(s, follow);
	judge_front(s);
	s->steps++;
	const double walked = cr_time_ms();
	s->stats.ms_tests = mean_test_time(s);
	s->stats.ms_front = walked - start - s->stats.ms_tests;
	if (s->def.orphan_sets) {
		cr_parallel_for(&s->context, run_orphans, s->scene.orphan_faces.count + s->scene.orphan_edges.count, ORPHANS_AT_ONCE, s);
		cr_parallel_for(&s->context, finish_workers, s->context.thread_count, 1, s);
	}
	s->stats.ms_orphans = cr_time_ms() - walked;
	count_tests(s);
	s->stats.front = s->front_held ? s->front.nodes : 0;
	s->stats.front_over_budget = s->front_over;
	s->stats.bytes_front = cr_front_bytes(&s->front);
	return !any_failed(s);
}

bool cr_walk_sweep_leaves(carom_sweep *s, cr_sweep_taker taker)
{
	if (!make_workers(s))
		return false;
	start_job(s, false);
	s->job.taker = taker;
	s->job.every = true;
	return traverse(s, FROM_ROOT, false) && !any_failed(s);
}

#ifdef CR_HAVE_VULKAN
carom_result cr_search_sweep_on_device(carom_sweep *s, bool earliest)
{
	if (!make_workers(s))
		return cr_fail_memory(&s->context, "the impacts of a sweep");
	const double start = cr_time_ms();
	start_job(s, earliest);
	for (int i = 0; i < s->context.thread_count; i++)
		cr_start_sweep_worker(s->workers[i], &s->job, false);
	const carom_result result = cr_find_on_device(s);
	if (result != CAROM_SUCCESS)
		return result;
	cr_parallel_for(&s->context, finish_workers, s->context.thread_count, 1, s);
	s->steps++;
	carom_sweep_stats *stats = &s->stats;
	const int64_t vf = stats->tests_vf, ee = stats->tests_ee;
	stats->tests_vf = stats->tests_ee = 0;
	count_tests(s);
	stats->device_left = stats->tests_vf + stats->tests_ee;
	stats->filtered += vf + ee - stats->device_left;
	stats->tests_vf = vf;
	stats->tests_ee = ee;
	stats->ms_tests = mean_test_time(s);
	stats->ms_front = cr_time_ms() - start - stats->ms_tests;
	return any_failed(s) ? cr_fail_memory(&s->context, "the impacts of a sweep") : CAROM_SUCCESS;
}
#else
carom_result cr_search_sweep_on_device(carom_sweep *s, bool earliest)
{
	(void)earliest; // nobody has a device
	return cr_fail(&s->context, CAROM_UNSUPPORTED, "this library was built without Vulkan (CAROM_VULKAN=OFF)");
}
#endif
