// The list of neighbours cut into blocks and jobs: see granular_forces.c for what they are for.
#include "sim/granular_state.h"

#include <math.h>
#include <string.h>

enum { MIN_RANGE = 4 };

static inline bool in_block(int64_t block, uint32_t index) { return index / GRANULAR_BLOCK == block; }

static inline int64_t block_end(const sim_granular *g, int64_t block)
{
	const int64_t end = (block + 1) * GRANULAR_BLOCK;
	return end < g->count ? end : g->count;
}

// Counts of each block, where the sums will stand.
static void count_blocks(int64_t begin, int64_t end, int worker, void *granular)
{
	(void)worker;
	const sim_granular *g = granular;
	for (int64_t b = begin; b < end; b++) {
		int64_t crowd = 0, jobs = 0, e = g->list.first[b * GRANULAR_BLOCK];
		for (int64_t i = b * GRANULAR_BLOCK; i < block_end(g, b); i++) {
			const int64_t row_end = g->list.first[i + 1];
			crowd += row_end > e;
			for (; e < row_end; e++)
				jobs += (g->list.other[e] > i) | !in_block(b, g->list.other[e]);
		}
		g->blocks[b + 1] = (granular_block){ crowd, e, jobs };
	}
}

/// Where the jobs of a block wait for the row of their other sphere, which knows the twin: a chain for each sphere, linked by
/// the jobs' twins.
typedef struct waiting {
	uint32_t last[GRANULAR_BLOCK]; // job of each sphere that came last, from the block's first; NO_JOB: none
	uint32_t job[GRANULAR_BLOCK];  // job of each neighbour with the sphere at work
} waiting;

#define NO_JOB UINT32_MAX

// The jobs that wait for sphere i, by their first spheres.
static void find_waiting(const granular_job *jobs, int64_t first, int64_t i, waiting *wait)
{
	for (uint32_t q = wait->last[i - first]; q != NO_JOB; q = jobs[q].twin)
		wait->job[jobs[q].i - first] = q;
}

static void fill_row(const sim_granular *g, int64_t b, int64_t i, uint32_t *count, waiting *wait)
{
	const int64_t base = g->blocks[b].entry, first = b * GRANULAR_BLOCK;
	const uint32_t elsewhere = (uint32_t)(g->blocks[b + 1].entry - base);
	granular_job *jobs = &g->jobs[g->blocks[b].job];
	find_waiting(jobs, first, i, wait);
	for (int64_t e = g->list.first[i]; e < g->list.first[i + 1]; e++) {
		const uint32_t j = g->list.other[e], entry = (uint32_t)(e - base);
		const bool inside = in_block(b, j);
		if (inside && j < i) {
			jobs[wait->job[j - first]].twin = entry;
			continue;
		}
		const double mass_root = 1 / sqrt(g->motions[i].inverse_mass + g->motions[j].inverse_mass);
		jobs[*count] = (granular_job){ (uint32_t)i, j, entry, inside ? wait->last[j - first] : elsewhere, mass_root };
		if (inside)
			wait->last[j - first] = *count;
		++*count;
	}
}

static void fill_blocks(int64_t begin, int64_t end, int worker, void *granular)
{
	(void)worker;
	const sim_granular *g = granular;
	waiting wait;
	for (int64_t b = begin; b < end; b++) {
		int64_t crowd = g->blocks[b].crowd;
		uint32_t jobs = 0;
		memset(wait.last, 0xff, sizeof wait.last);
		for (int64_t i = b * GRANULAR_BLOCK; i < block_end(g, b); i++) {
			if (g->list.first[i + 1] == g->list.first[i])
				continue;
			g->crowd[crowd++] = (uint32_t)i;
			if (!g->def.force)
				fill_row(g, b, i, &jobs, &wait);
		}
	}
}

static void free_crowd(sim_granular *g)
{
	granular_free(g, g->crowd, (size_t)g->crowd_room * sizeof *g->crowd);
	granular_free(g, g->loads, (size_t)g->crowd_room * (size_t)g->load_width * sizeof *g->loads);
	g->crowd = NULL;
	g->loads = NULL;
	g->crowd_room = 0;
}

static bool reserve_crowd(sim_granular *g)
{
	if (g->crowd_count <= g->crowd_room)
		return true;
	free_crowd(g);
	const int64_t room = g->crowd_count + g->crowd_count / 4;
	g->crowd_room = room < g->count ? room : g->count;
	g->crowd = granular_alloc(g, (size_t)g->crowd_room * sizeof *g->crowd);
	g->loads = granular_alloc(g, (size_t)g->crowd_room * (size_t)g->load_width * sizeof *g->loads);
	return g->crowd && g->loads;
}

static bool reserve_jobs(sim_granular *g, int64_t count)
{
	count += GRANULAR_AHEAD;
	if (count <= g->job_room)
		return true;
	granular_free(g, g->jobs, (size_t)g->job_room * sizeof *g->jobs);
	g->job_room = count + count / 4;
	g->jobs = granular_alloc(g, (size_t)g->job_room * sizeof *g->jobs);
	return g->jobs;
}

static bool reserve_replies(sim_granular *g, int64_t entries)
{
	// Each worker's begins with a cache line of its own.
	const int64_t room = ((entries + 1) * g->load_width + 7) / 8 * 8;
	if (room <= g->reply_room)
		return true;
	granular_free(g, g->replies, (size_t)(g->workers * g->reply_room) * sizeof *g->replies);
	g->reply_room = room + room / 32 * 8;
	g->replies = granular_alloc(g, (size_t)(g->workers * g->reply_room) * sizeof *g->replies);
	return g->replies;
}

static bool make_blocks(sim_granular *g)
{
	g->block_count = (g->count + GRANULAR_BLOCK - 1) / GRANULAR_BLOCK;
	if (!g->blocks)
		g->blocks = granular_alloc(g, (size_t)(g->block_count + 1) * sizeof *g->blocks);
	if (!g->blocks)
		return false;
	g->blocks[0] = (granular_block){ 0 };
	carom_parallel_for(g->context, count_blocks, g->block_count, MIN_RANGE, g);
	int64_t entries = 0;
	for (granular_block *b = &g->blocks[1]; b <= &g->blocks[g->block_count]; b++) {
		b[0].crowd += b[-1].crowd;
		b[0].job += b[-1].job;
		entries = b[0].entry - b[-1].entry > entries ? b[0].entry - b[-1].entry : entries;
	}
	g->crowd_count = g->blocks[g->block_count].crowd;
	// A user's force goes by rows.
	if (!reserve_crowd(g) ||
		(!g->def.force && (!reserve_jobs(g, g->blocks[g->block_count].job) || !reserve_replies(g, entries))))
		return false;
	carom_parallel_for(g->context, fill_blocks, g->block_count, MIN_RANGE, g);
	if (!g->def.force)
		memset(&g->jobs[g->blocks[g->block_count].job], 0, GRANULAR_AHEAD * sizeof *g->jobs);
	return true;
}

bool granular_make_blocks(sim_granular *g, char *error, size_t error_size)
{
	return make_blocks(g) || granular_no_memory("forces", error, error_size);
}

void granular_free_blocks(sim_granular *g)
{
	free_crowd(g);
	granular_free(g, g->blocks, (size_t)(g->block_count + 1) * sizeof *g->blocks);
	granular_free(g, g->jobs, (size_t)g->job_room * sizeof *g->jobs);
	granular_free(g, g->replies, (size_t)(g->workers * g->reply_room) * sizeof *g->replies);
}
