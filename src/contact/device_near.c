/// The near stage on a device: it walks the trees of the pairs that remember no list that holds
/// (shaders/mesh_near.glsl), of all at once, and once more of those that need another walk. Its
/// finds have no order; here they are put in that of the processor's walk. See device_stages.h.

#include "contact/device_stages.h"
#include "base/parallel.h"
#include "base/radix.h"
#include "vulkan/vk_commands.h"

enum {
	PAIRS_PER_TASK = 32, // as near.c has it
	FEW_FINDS = 48,      // are sorted by insertion
	RANK_BITS = 29,      // of the number of a block: there are at most 2^31 places
	LANE_BITS = 3,
};

// ---- Pairs ----

static void begin_task(int64_t begin, int64_t end, int worker, void *task)
{
	cr_pipeline *p = task;
	cr_worker *own = &p->workers[worker];
	for (int64_t i = begin; i < end && !own->failed; i++) {
		const int32_t number = p->taken.data[i];
		cr_next next;
		cr_ask_near_ahead(p, i + 1, end);
		if (cr_begin_near(p, own, &p->work.data[number], &next))
			p->next.data[number] = (uint8_t)next;
	}
}

bool cr_add_near_item(const cr_pipeline *p, cr_near_batch *batch, int32_t work, bool waits)
{
	if (!cr_array_reserve_one(p->context, &batch->items))
		return false;
	batch->items.data[batch->items.count++] = (cr_near_item){ .work = work, .job = CR_NO_JOB, .waits = waits };
	return true;
}

/// List the taken pairs that still wait for the stage. false: out of memory.
static bool list_items(cr_pipeline *p, cr_device_state *d)
{
	d->near.items.count = 0;
	for (int64_t i = 0; i < p->taken.count; i++) {
		const int32_t number = p->taken.data[i];
		if (p->next.data[number] == CR_NEXT_NEAR && !cr_add_near_item(p, &d->near, number, false))
			return false;
	}
	return true;
}

static void plan_task(int64_t begin, int64_t end, int worker, void *context)
{
	(void)worker;
	const cr_near_task *task = context;
	for (int64_t i = begin; i < end; i++) {
		cr_near_item *item = &task->batch->items.data[i];
		cr_begin_near_walk(task->pipeline, &task->pipeline->work.data[item->work], &item->walk);
	}
}

static const cr_collider *collider_of(const cr_pipeline *p, const cr_near_item *item, int side)
{
	return cr_source_of(p, &p->work.data[item->work], side)->shape.collider;
}

// ---- Jobs ----

/// The job of a walk of an item. Where its meshes are is set later.
static cr_gpu_near_job job_of(const cr_pipeline *p, const cr_near_item *item, const cr_near_walk *walk)
{
	const cr_pair_work *w = &p->work.data[item->work];
	const cr_collider *a = collider_of(p, item, 0), *b = collider_of(p, item, 1);
	const cr_transform *m = cr_is_b_source(a, b) ? &w->b_to_a : &w->a_to_b;
	cr_gpu_near_job job = { .reach = cr_round_up(walk->reach), .most = (uint32_t)walk->most, .after = CR_GPU_NO_JOB };
	job.margin = cr_pair_margin(a, b, job.reach);
	job.growth = job.margin + job.reach;
	for (int k = 0; k < 3; k++) {
		for (int l = 0; l < 3; l++)
			job.rotation[k][l] = m->r[k][l];
		job.translation[k] = m->t[k];
	}
	return job;
}

/// May a device do a walk of an item?
static bool can_go(const cr_pipeline *p, const cr_device_part *part, const cr_near_item *item, const cr_near_walk *walk)
{
	const cr_collider *a = collider_of(p, item, 0), *b = collider_of(p, item, 1);
	const cr_gpu_near_job job = job_of(p, item, walk);
	const float lengths[] = { job.reach, job.growth, job.margin };
	// The margins of uneven meshes differ from place to place.
	return !cr_is_uneven(a) && !cr_is_uneven(b) && cr_is_on_device(part, a) && cr_is_on_device(part, b) &&
		!cr_has_odd_float(job.rotation[0], 9, CR_GPU_MESH_EXPONENT) &&
		!cr_has_odd_float(job.translation, 3, CR_GPU_MESH_EXPONENT) && !cr_has_odd_float(lengths, 3, CR_GPU_MESH_EXPONENT);
}

/// How many walks of an item a device may do: the next one, and those that follow where nothing is
/// found. One that may not be wanted goes alone: its pair has just touched.
static int32_t count_walks(const cr_pipeline *p, const cr_device_part *part, const cr_near_item *item)
{
	cr_near_walk walk = item->walk;
	const int32_t most = item->waits ? 1 : CR_GPU_NEAR_WAVES;
	int32_t count = 0;
	bool more = !item->done;
	while (more && count < most && can_go(p, part, item, &walk)) {
		count++;
		more = cr_plan_farther_walk(p, &p->work.data[item->work], &walk);
	}
	return count;
}

static void choose_task(int64_t begin, int64_t end, int worker, void *context)
{
	(void)worker;
	const cr_near_task *task = context;
	for (int64_t i = begin; i < end; i++) {
		cr_near_item *item = &task->batch->items.data[task->first + i];
		item->walks = count_walks(task->pipeline, task->part, item);
		item->job = item->last = CR_NO_JOB;
	}
}

/// Note the jobs of a wave, which follow those of the items in the wave before it. Returns the
/// number of jobs so far.
static uint32_t deal_wave(cr_near_batch *batch, int64_t first, int64_t last, int32_t wave, uint32_t count)
{
	for (int64_t i = first; i < last; i++) {
		cr_near_item *item = &batch->items.data[i];
		if (item->walks <= wave)
			continue;
		const int32_t job = (int32_t)count++;
		batch->next.data[job] = CR_NO_JOB;
		*(wave == 0 ? &item->job : &batch->next.data[item->last]) = job;
		item->last = job;
	}
	return count;
}

bool cr_deal_near_jobs(const cr_near_task *task, int64_t last)
{
	cr_pipeline *p = task->pipeline;
	cr_near_batch *batch = task->batch;
	cr_gpu_near_list *list = &batch->list;
	cr_near_task choose = *task;
	cr_parallel_for(p->context, choose_task, last - task->first, PAIRS_PER_TASK, &choose);
	*list = (cr_gpu_near_list){ 0 };
	int64_t jobs = 0;
	for (int64_t i = task->first; i < last; i++) {
		const cr_near_item *item = &batch->items.data[i];
		if (item->walks == 0)
			continue;
		const cr_collider *a = collider_of(p, item, 0), *b = collider_of(p, item, 1);
		const uint32_t depth = (uint32_t)(cr_is_b_source(a, b) ? b : a)->tree.depth;
		list->levels = depth > list->levels ? depth : list->levels;
		list->waves = (uint32_t)item->walks > list->waves ? (uint32_t)item->walks : list->waves;
		jobs += item->walks;
	}
	if (!cr_array_reserve_fresh(p->context, &batch->next, jobs) || !cr_array_reserve_fresh(p->context, &batch->jobs, jobs))
		return false;
	for (uint32_t wave = 0; wave < list->waves; wave++)
		list->first[wave + 1] = deal_wave(batch, task->first, last, (int32_t)wave, list->first[wave]);
	list->jobs = batch->jobs.data;
	return true;
}

/// Write the jobs of an item.
static void pack_item(const cr_near_task *task, const cr_near_item *item)
{
	const cr_pipeline *p = task->pipeline;
	const cr_collider *a = collider_of(p, item, 0), *b = collider_of(p, item, 1);
	const bool b_first = cr_is_b_source(a, b);
	const cr_mesh_addresses source = cr_addresses_of(task->part, b_first ? b : a),
							target = cr_addresses_of(task->part, b_first ? a : b);
	cr_near_walk walk = item->walk;
	uint32_t after = CR_GPU_NO_JOB;
	for (int32_t number = item->job; number != CR_NO_JOB; number = task->batch->next.data[number]) {
		cr_gpu_near_job job = job_of(p, item, &walk);
		job.source_nodes = source.nodes;
		job.source_blocks = source.blocks;
		job.target_nodes = target.nodes;
		job.target_blocks = target.blocks;
		job.target_head = target.head;
		job.after = after;
		job.touched = item->waits && after == CR_GPU_NO_JOB ? (uint32_t)(item - task->batch->items.data) + 1 : 0;
		task->batch->jobs.data[number] = job;
		after = (uint32_t)number;
		cr_plan_farther_walk(p, &p->work.data[item->work], &walk);
	}
}

static void pack_task(int64_t begin, int64_t end, int worker, void *context)
{
	(void)worker;
	const cr_near_task *task = context;
	for (int64_t i = begin; i < end; i++) {
		const cr_near_item *item = &task->batch->items.data[task->first + i];
		if (item->job != CR_NO_JOB)
			pack_item(task, item);
	}
}

void cr_pack_near_jobs(const cr_near_task *task, int64_t last)
{
	cr_near_task pack = *task;
	cr_parallel_for(task->pipeline->context, pack_task, last - task->first, PAIRS_PER_TASK, &pack);
}

// ---- Finds ----

/// How many finds of a job are there?
static int64_t written_finds(const cr_gpu_near_job *job, const cr_gpu_near_state *state)
{
	return job->most > 0 && state->count > job->most ? job->most : state->count;
}

/// Put the numbers of the finds in the order of their jobs.
bool cr_order_near_finds(const cr_near_task *task)
{
	carom_context *context = task->pipeline->context;
	const cr_gpu_near *near = task->near;
	cr_near_batch *batch = task->batch;
	const int64_t jobs = batch->list.first[batch->list.waves], finds = near->found_count;
	if (!cr_array_reserve_fresh(context, &batch->first, jobs + 1) || !cr_array_reserve_fresh(context, &batch->order, finds))
		return false;
	// of each job; in the end where the next job begins
	int64_t *next = batch->first.data + 1, sum = 0;
	batch->first.data[0] = 0;
	for (int64_t j = 0; j < jobs; j++) {
		next[j] = sum;
		sum += written_finds(&batch->jobs.data[j], &near->outcomes[j]);
	}
	for (int64_t i = 0; i < finds; i++)
		batch->order.data[next[near->found[i].job]++] = (uint32_t)i;
	return true;
}

/// The finds of a job as the processor's walk lists them.
static void load_finds(const cr_near_task *task, cr_worker *worker, const cr_near_item *item, int32_t job)
{
	const cr_pipeline *p = task->pipeline;
	const cr_gpu_near *near = task->near;
	const cr_collider *a = collider_of(p, item, 0), *b = collider_of(p, item, 1);
	const bool b_first = cr_is_b_source(a, b);
	const cr_collider *source = b_first ? b : a, *target = b_first ? a : b;
	const int32_t *source_rank = cr_ranks_of(task->part, source), *target_rank = cr_ranks_of(task->part, target);
	const int64_t first = task->batch->first.data[job];
	const int32_t count = (int32_t)(task->batch->first.data[job + 1] - first);
	cr_candidates *c = &worker->candidates;
	c->count = 0;
	if (count == 0)
		return;
	const cr_arena_mark mark = cr_arena_get_mark(&worker->arena);
	cr_key *keys = cr_arena_alloc(&worker->arena, 2 * (size_t)count * sizeof *keys);
	if (!keys || (count > c->capacity && !cr_candidates_grow(c, count))) {
		worker->failed = c->failed = true;
		return;
	}
	for (int32_t i = 0; i < count; i++) {
		const uint32_t number = task->batch->order.data[first + i];
		const cr_gpu_near_find *f = &near->found[number];
		const uint64_t ranks =
			(uint64_t)source_rank[f->source / CR_WIDTH] << RANK_BITS | (uint64_t)target_rank[f->target / CR_WIDTH];
		keys[i] = (cr_key){ (ranks << LANE_BITS | f->source % CR_WIDTH) << LANE_BITS | f->target % CR_WIDTH, number };
	}
	if (count <= FEW_FINDS)
		cr_insertion_sort(keys, count);
	else
		cr_radix_sort(keys, keys + count, count, 2 * (RANK_BITS + LANE_BITS));
	for (int32_t i = 0; i < count; i++) {
		const cr_gpu_near_find *f = &near->found[keys[i].value];
		const int32_t own = cr_place_number(source, (int32_t)f->source), other = cr_place_number(target, (int32_t)f->target);
		c->data[i] = b_first ? (cr_candidate){ other, own, f->gap } : (cr_candidate){ own, other, f->gap };
	}
	c->count = count;
	cr_arena_rewind(&worker->arena, &mark);
}

/// Take the finds of one walk of an item. Returns whether there is another one to be made.
static bool take_walk(const cr_near_task *task, cr_worker *worker, cr_near_item *item, int32_t job)
{
	const cr_pipeline *p = task->pipeline;
	cr_pair_work *w = &p->work.data[item->work];
	const cr_gpu_near_state *state = &task->near->outcomes[job];
	worker->near_on_device++;
	if (state->doubtful) {
		worker->near_returned++;
		cr_walk_near_to_end(p, worker, w, &item->walk);
		return false;
	}
	if (item->walk.most > 0 && state->count > (uint32_t)item->walk.most)
		worker->candidates.count = item->walk.most + 1; // which is all that is asked of them
	else
		load_finds(task, worker, item, job);
	if (cr_plan_near_walk(p, worker, w, &item->walk))
		return true;
	cr_end_near(p, worker, w, &item->walk);
	return false;
}

/// Take the finds of the walks of an item that were made. Another walk, of which that was not
/// foreseen, is the device's once more.
static void take_finds(const cr_near_task *task, cr_worker *worker, cr_near_item *item)
{
	for (int32_t job = item->job; job != CR_NO_JOB && !item->done; job = task->batch->next.data[job]) {
		if (task->near->outcomes[job].doubtful & CR_GPU_NEAR_LEFT_OUT)
			return;
		item->done = !take_walk(task, worker, item, job);
	}
}

static void take_task(int64_t begin, int64_t end, int worker, void *context)
{
	const cr_near_task *task = context;
	cr_pipeline *p = task->pipeline;
	cr_worker *own = &p->workers[worker];
	for (int64_t i = begin; i < end && !own->failed; i++) {
		cr_near_item *item = &task->batch->items.data[task->first + i];
		if (item->done)
			continue;
		if (item->job != CR_NO_JOB) {
			take_finds(task, own, item);
		} else {
			cr_walk_near_to_end(p, own, &p->work.data[item->work], &item->walk);
			item->done = true;
		}
		if (item->done)
			p->next.data[item->work] = CR_NEXT_CROSSINGS;
	}
}

/// Take the finds of the first submission of the step for these items, if their walk is the one
/// that was foreseen.
static void recall_task(int64_t begin, int64_t end, int worker, void *context)
{
	const cr_near_task *task = context; // of the items that were sent ahead
	cr_pipeline *p = task->pipeline;
	cr_device_state *d = p->on_device;
	cr_worker *own = &p->workers[worker];
	for (int64_t i = begin; i < end && !own->failed; i++) {
		cr_near_item *item = &d->near.items.data[i];
		const int32_t number = d->ahead_of.data[item->work];
		const cr_near_item *sent = number == CR_NO_JOB ? NULL : &task->batch->items.data[number];
		if (!sent || sent->job == CR_NO_JOB || sent->walk.reach != item->walk.reach || sent->walk.most != item->walk.most)
			continue;
		item->job = sent->job;
		take_finds(task, own, item);
		item->job = CR_NO_JOB;
		if (item->done)
			p->next.data[item->work] = CR_NEXT_CROSSINGS;
	}
}

// ---- Walks ----

bool cr_want_near_meshes(const cr_near_task *task, int64_t last)
{
	const cr_collider *last_ones[2] = { NULL, NULL }; // neighbours in the list share meshes
	for (int64_t i = task->first; i < last; i++) {
		const cr_near_item *item = &task->batch->items.data[i];
		for (int side = 0; side < 2 && !item->done; side++) {
			const cr_collider *c = collider_of(task->pipeline, item, side);
			if (c != last_ones[0] && c != last_ones[1] && !cr_want_mesh(task->pipeline, task->part, c))
				return false;
			last_ones[side] = c;
		}
	}
	return true;
}

/// Make the next walks of items first..last-1, as far as the device may. *fits: see
/// cr_gpu_find_near. The devices are locked.
static carom_result walk_items(cr_pipeline *p, cr_device_state *d, cr_device_part *part, int64_t first, int64_t last, bool *fits)
{
	const cr_near_task task = { p, &d->near, part, &part->near, first };
	*fits = true;
	if (!cr_want_near_meshes(&task, last) || !cr_deal_near_jobs(&task, last))
		return cr_fail_memory(p->context, "near triangles for a device");
	if (d->near.list.waves == 0)
		return CAROM_SUCCESS;
	carom_result result = cr_put_meshes(p, part);
	if (result != CAROM_SUCCESS)
		return result;
	cr_pack_near_jobs(&task, last);
	result = cr_gpu_find_near(part->device, &part->near, &d->near.list, fits);
	if (result == CAROM_SUCCESS && *fits && !cr_order_near_finds(&task))
		result = cr_fail_memory(p->context, "near triangles for a device");
	return result;
}

/// Make one walk of items on the first device that can do it. part: which has done it.
static carom_result walk_somewhere(
	cr_pipeline *p, cr_device_state *d, int64_t first, int64_t last, bool *fits, cr_device_part **part)
{
	carom_result result = CAROM_SUCCESS;
	cr_lock_devices(p);
	*part = cr_working_part(p);
	if (!*part)
		result = cr_fail_devices(p);
	while (*part) {
		result = walk_items(p, d, *part, first, last, fits);
		if (result == CAROM_SUCCESS)
			break;
		cr_drop_part(p, *part);
		*part = cr_working_part(p);
	}
	return cr_unlock_devices(p, result);
}

static int64_t count_left(const cr_device_state *d, int64_t first, int64_t last)
{
	int64_t left = 0;
	for (int64_t i = first; i < last; i++)
		left += !d->near.items.data[i].done;
	return left;
}

/// Take the finds of a device, and let the processor walk the items that have no job: all, where
/// part is NULL.
static carom_result take_items(cr_pipeline *p, cr_device_state *d, cr_device_part *part, int64_t first, int64_t last)
{
	cr_near_task task = { p, &d->near, part, part ? &part->near : NULL, first };
	for (int64_t i = first; i < last && !part; i++)
		d->near.items.data[i].job = CR_NO_JOB;
	cr_parallel_for(p->context, take_task, last - first, PAIRS_PER_TASK, &task);
	return cr_check_workers(p, "the near triangles of a step");
}

/// Make all walks of items from first on, up to *last. Where there are too many finds for the
/// lists, half of the items go at once, and *last says so; a single one is the processor's.
static carom_result do_items(cr_pipeline *p, cr_device_state *d, int64_t first, int64_t *last)
{
	const int64_t chunk = *last - first, all = d->near.items.count; // of the stage
	bool begun = false;
	for (int64_t left = count_left(d, first, *last); left > 0; left = count_left(d, first, *last)) {
		bool fits = true;
		cr_device_part *part = NULL;
		carom_result result = CAROM_SUCCESS;
		if (begun ? left * all > d->few_walks * chunk : all > d->few_first)
			result = walk_somewhere(p, d, first, *last, &fits, &part);
		if (result != CAROM_SUCCESS && !cr_falls_back(p))
			return result;
		if (result == CAROM_SUCCESS && !fits && *last - first > 1) {
			*last = first + (*last - first) / 2;
			continue;
		}
		result = take_items(p, d, result == CAROM_SUCCESS && fits ? part : NULL, first, *last);
		if (result != CAROM_SUCCESS)
			return result;
		begun = true;
	}
	return CAROM_SUCCESS;
}

/// Begin the stage for the pairs that wait for it, and list those whose trees are to be walked.
static carom_result begin_items(cr_pipeline *p, cr_device_state *d)
{
	d->near.items.count = 0;
	if (cr_take(p, CR_NEXT_NEAR) == 0)
		return CAROM_SUCCESS;
	cr_for_pairs(p, begin_task, PAIRS_PER_TASK);
	const carom_result result = cr_check_workers(p, "the near triangles of a step");
	if (result != CAROM_SUCCESS)
		return result;
	if (!list_items(p, d))
		return cr_fail_memory(p->context, "near triangles for a device");
	cr_near_task task = { .pipeline = p, .batch = &d->near };
	cr_parallel_for(p->context, plan_task, d->near.items.count, PAIRS_PER_TASK, &task);
	return CAROM_SUCCESS;
}

carom_result cr_near_on_device(cr_pipeline *p)
{
	cr_device_state *d = cr_state_on_device(p);
	carom_result result = d ? begin_items(p, d) : cr_fail_memory(p->context, "near triangles for a device");
	if (result == CAROM_SUCCESS && p->round == 0)
		result = cr_send_ahead(p, d);
	if (result != CAROM_SUCCESS)
		return result;
	cr_near_task task = { p, &d->ahead, &d->parts[0], &d->parts[0].ahead, 0 };
	cr_parallel_for(p->context, recall_task, d->near.items.count, PAIRS_PER_TASK, &task);
	result = cr_check_workers(p, "the near triangles of a step");
	for (int64_t first = 0; first < d->near.items.count && result == CAROM_SUCCESS;) {
		const int64_t left = d->near.items.count - first;
		int64_t last = first + (left < CR_GPU_MOST_NEAR_WALKS ? left : CR_GPU_MOST_NEAR_WALKS);
		result = do_items(p, d, first, &last);
		first = last;
	}
	return result;
}
