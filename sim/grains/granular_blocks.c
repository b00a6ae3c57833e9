// The list of neighbours cut into blocks and jobs: see granular_forces.c for their purpose.
//
// A block's jobs stand in the order of their pairs of ids, the lower one first: so each sphere
// meets its neighbours in the order of their ids, whatever its own, and adds up in that order
// although each pair is looked at once.
#include "sim/grains/granular_state.h"

#include <math.h>
#include <string.h>

enum { MIN_RANGE = 4, DIGIT_BITS = 11, FEW_LOCALS = 48 };

/// Ghosts, which come behind all own spheres, are in no block.
static inline bool in_block(const sim_granular *g, int64_t block, uint32_t index)
{
	return index / GRANULAR_BLOCK == block && index < g->count;
}

static inline int64_t block_end(const sim_granular *g, int64_t block)
{
	const int64_t end = (block + 1) * GRANULAR_BLOCK;
	return end < g->count ? end : g->count;
}

/// Counts of each block, where the sums will stand; halo: an upper bound.
static void count_blocks(int64_t begin, int64_t end, int worker, void *granular)
{
	(void)worker;
	const sim_granular *g = granular;
	for (int64_t b = begin; b < end; b++) {
		int64_t crowd = 0, inside = 0, outside = 0, e = g->list.first[b * GRANULAR_BLOCK];
		for (int64_t i = b * GRANULAR_BLOCK; i < block_end(g, b); i++) {
			const int64_t row_end = g->list.first[i + 1];
			crowd += row_end > e;
			for (; e < row_end; e++) {
				const bool here = in_block(g, b, g->list.other[e]);
				inside += here;
				outside += !here;
			}
		}
		g->blocks[b + 1] = (granular_block){ .crowd = crowd, .entry = e, .job = inside / 2 + outside, .halo = outside };
	}
}

// ---- Jobs of a block ----

/// A local sphere by its id.
typedef struct name {
	uint32_t id, local;
} name;

/// The room of a worker that makes the jobs of a block. Locals: the block's crowded spheres, then
/// those of other blocks.
typedef struct workshop {
	uint32_t crowd, locals;
	uint32_t own[GRANULAR_BLOCK]; // local of each sphere of the block
	uint32_t mask;                // of table
	// index of a sphere of another block << 32 | its local; 0: free, since 0 is no such local
	uint64_t *table;
	uint32_t *local_of;   // [entries] of the entry's sphere
	uint32_t *ids;        // [locals]
	double *inverse_mass; // [locals]
	// [locals] number, then place of the next, of the jobs whose lower id is the local's
	uint32_t *next;
	uint32_t *next_twin; // [locals] the first of them whose other side is not known yet
	name *names, *spare; // [locals]
} workshop;

/// Rooms of a workshop.
typedef struct workshop_size {
	int64_t table, entries, locals;
} workshop_size;

static uint32_t table_size(int64_t outside)
{
	uint32_t size = 16;
	while (size < 2 * outside)
		size *= 2;
	return size;
}

static uint32_t find_halo(const sim_granular *g, workshop *w, uint32_t index, uint32_t *halo)
{
	uint32_t at = (index * 2654435769u >> 7) & w->mask;
	while (w->table[at] != 0) {
		if (w->table[at] >> 32 == index)
			return (uint32_t)w->table[at];
		at = (at + 1) & w->mask;
	}
	const uint32_t local = w->locals++;
	w->table[at] = (uint64_t)index << 32 | local;
	halo[local - w->crowd] = index;
	w->ids[local] = g->ids[index];
	w->inverse_mass[local] = g->motions[index].inverse_mass;
	w->next[local] = 0;
	return local;
}

/// The locals, and how many jobs have each as the one of lower id.
static void find_locals(const sim_granular *g, int64_t b, workshop *w)
{
	const granular_block *block = &g->blocks[b];
	const uint32_t *crowd = &g->crowd[block->crowd];
	const int64_t base = block->entry;
	w->crowd = w->locals = (uint32_t)(block[1].crowd - block->crowd);
	w->mask = table_size(block[1].halo - block->halo) - 1;
	memset(w->table, 0, ((size_t)w->mask + 1) * sizeof *w->table);
	for (uint32_t k = 0; k < w->crowd; k++) {
		w->own[crowd[k] % GRANULAR_BLOCK] = k;
		w->ids[k] = g->ids[crowd[k]];
		w->inverse_mass[k] = g->motions[crowd[k]].inverse_mass;
		w->next[k] = 0;
	}
	for (uint32_t k = 0; k < w->crowd; k++) {
		for (int64_t e = g->list.first[crowd[k]]; e < g->list.first[crowd[k] + 1]; e++) {
			const uint32_t j = g->list.other[e];
			const bool inside = in_block(g, b, j);
			const uint32_t other = inside ? w->own[j % GRANULAR_BLOCK] : find_halo(g, w, j, &g->halo[block->halo]);
			w->local_of[e - base] = other;
			const bool first = w->ids[k] < w->ids[other];
			w->next[first ? k : other] += first | !inside;
		}
	}
	g->blocks[b].halo_count = w->locals - w->crowd;
}

static void sort_few(name *names, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		const name moving = names[i];
		uint32_t k = i;
		for (; k > 0 && names[k - 1].id > moving.id; k--)
			names[k] = names[k - 1];
		names[k] = moving;
	}
}

/// The locals in the order of their ids.
static const name *sort_names(const sim_granular *g, const workshop *w)
{
	name *from = w->names, *to = w->spare;
	for (uint32_t k = 0; k < w->locals; k++)
		from[k] = (name){ w->ids[k], k };
	if (w->locals <= FEW_LOCALS) {
		sort_few(from, w->locals);
		return from;
	}
	for (int shift = 0; shift < 32 && (g->total - 1) >> shift != 0; shift += DIGIT_BITS) {
		uint32_t count[1 << DIGIT_BITS] = { 0 }, sum = 0;
		const uint32_t mask = (1u << DIGIT_BITS) - 1;
		for (uint32_t k = 0; k < w->locals; k++)
			count[from[k].id >> shift & mask]++;
		for (uint32_t digit = 0; digit <= mask; digit++) {
			const uint32_t here = count[digit];
			count[digit] = sum;
			sum += here;
		}
		for (uint32_t k = 0; k < w->locals; k++)
			to[count[from[k].id >> shift & mask]++] = from[k];
		name *swap = from;
		from = to;
		to = swap;
	}
	return from;
}

/// Where the jobs of each local begin.
static void place_jobs(const name *names, workshop *w)
{
	uint32_t sum = 0;
	for (uint32_t k = 0; k < w->locals; k++) {
		uint32_t *next = &w->next[names[k].local];
		const uint32_t here = *next;
		*next = w->next_twin[names[k].local] = sum;
		sum += here;
	}
}

/// Jobs of the row of a crowded sphere, which comes behind those of lower ids.
static void fill_row(const sim_granular *g, const granular_block *block, uint32_t k, workshop *w)
{
	granular_job *jobs = &g->jobs[block->job];
	granular_side_entry *sides = g->sides ? &g->sides[block->job] : NULL;
	const uint32_t i = g->crowd[block->crowd + k];
	for (int64_t e = g->list.first[i]; e < g->list.first[i + 1]; e++) {
		const uint32_t entry = (uint32_t)(e - block->entry), other = w->local_of[entry];
		const bool first = w->ids[k] < w->ids[other];
		if (first || other >= w->crowd) {
			const uint32_t q = w->next[first ? k : other]++;
			jobs[q] = (granular_job){ k, other, 1 / sqrt(w->inverse_mass[k] + w->inverse_mass[other]) };
			if (sides)
				sides[q] = (granular_side_entry){ entry, GRANULAR_NO_TWIN };
		} else if (sides) {
			uint32_t *q = &w->next_twin[other];
			while (jobs[*q].b >= w->crowd)
				++*q;
			sides[(*q)++].twin = entry;
		}
	}
}

static void find_crowd(const sim_granular *g, int64_t b)
{
	int64_t crowd = g->blocks[b].crowd;
	for (int64_t i = b * GRANULAR_BLOCK; i < block_end(g, b); i++) {
		if (g->list.first[i + 1] > g->list.first[i])
			g->crowd[crowd++] = (uint32_t)i;
	}
}

/// The making of all blocks.
typedef struct blocks_task {
	sim_granular *g;
	workshop *shops; // [workers]; NULL: a user's force goes by rows
} blocks_task;

static void fill_blocks(int64_t begin, int64_t end, int worker, void *task)
{
	const blocks_task *t = task;
	for (int64_t b = begin; b < end; b++) {
		find_crowd(t->g, b);
		// Without any crowd there may be no array of it.
		if (!t->shops || t->g->blocks[b + 1].crowd == t->g->blocks[b].crowd)
			continue;
		workshop *w = &t->shops[worker];
		find_locals(t->g, b, w);
		const name *names = sort_names(t->g, w);
		place_jobs(names, w);
		for (uint32_t k = 0; k < w->locals; k++) {
			if (names[k].local < w->crowd)
				fill_row(t->g, &t->g->blocks[b], names[k].local, w);
		}
	}
}

// ---- Memory ----

static void close_workshop(sim_granular *g, workshop *w, const workshop_size *s)
{
	granular_free(g, w->table, (size_t)s->table * sizeof *w->table);
	granular_free(g, w->local_of, (size_t)s->entries * sizeof *w->local_of);
	granular_free(g, w->ids, (size_t)s->locals * sizeof *w->ids);
	granular_free(g, w->inverse_mass, (size_t)s->locals * sizeof *w->inverse_mass);
	granular_free(g, w->next, (size_t)s->locals * sizeof *w->next);
	granular_free(g, w->next_twin, (size_t)s->locals * sizeof *w->next_twin);
	granular_free(g, w->names, (size_t)s->locals * sizeof *w->names);
	granular_free(g, w->spare, (size_t)s->locals * sizeof *w->spare);
}

static bool open_workshop(sim_granular *g, workshop *w, const workshop_size *s)
{
	w->table = granular_alloc(g, (size_t)s->table * sizeof *w->table);
	w->local_of = granular_alloc(g, (size_t)s->entries * sizeof *w->local_of);
	w->ids = granular_alloc(g, (size_t)s->locals * sizeof *w->ids);
	w->inverse_mass = granular_alloc(g, (size_t)s->locals * sizeof *w->inverse_mass);
	w->next = granular_alloc(g, (size_t)s->locals * sizeof *w->next);
	w->next_twin = granular_alloc(g, (size_t)s->locals * sizeof *w->next_twin);
	w->names = granular_alloc(g, (size_t)s->locals * sizeof *w->names);
	w->spare = granular_alloc(g, (size_t)s->locals * sizeof *w->spare);
	return w->table && w->local_of && w->ids && w->inverse_mass && w->next && w->next_twin && w->names && w->spare;
}

static bool fill_with_workshops(sim_granular *g, const workshop_size *size)
{
	const size_t bytes = (size_t)g->workers * sizeof(workshop);
	workshop *shops = granular_alloc(g, bytes);
	if (!shops)
		return false;
	memset(shops, 0, bytes);
	bool open = true;
	for (int k = 0; k < g->workers; k++)
		open = open && open_workshop(g, &shops[k], size);
	if (open)
		carom_parallel_for(g->context, fill_blocks, g->block_count, MIN_RANGE, &(blocks_task){ g, shops });
	for (int k = 0; k < g->workers; k++)
		close_workshop(g, &shops[k], size);
	granular_free(g, shops, bytes);
	return open;
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

static void free_jobs(sim_granular *g)
{
	granular_free(g, g->jobs, (size_t)g->job_room * sizeof *g->jobs);
	granular_free(g, g->near, (size_t)g->job_room * sizeof *g->near);
	granular_free(g, g->sides, (size_t)g->job_room * sizeof *g->sides);
	g->jobs = g->near = NULL;
	g->sides = NULL;
	g->job_room = 0;
}

static bool reserve_jobs(sim_granular *g, int64_t count)
{
	if (count <= g->job_room)
		return true;
	free_jobs(g);
	g->job_room = count + count / 4;
	g->jobs = granular_alloc(g, (size_t)g->job_room * sizeof *g->jobs);
	if (!g->turns)
		g->near = granular_alloc(g, (size_t)g->job_room * sizeof *g->near);
	if (g->with_history)
		g->sides = granular_alloc(g, (size_t)g->job_room * sizeof *g->sides);
	return g->jobs && (g->turns || g->near) && (!g->with_history || g->sides);
}

static bool reserve_halo(sim_granular *g, int64_t count)
{
	if (count <= g->halo_room)
		return true;
	granular_free(g, g->halo, (size_t)g->halo_room * sizeof *g->halo);
	g->halo_room = count + count / 4;
	g->halo = granular_alloc(g, (size_t)g->halo_room * sizeof *g->halo);
	return g->halo;
}

static bool reserve_desks(sim_granular *g, int64_t locals)
{
	// Each worker's begins with a cache line of its own.
	const int64_t room = (locals * GRANULAR_DESK_WIDTH + 7) / 8 * 8;
	if (room <= g->desk_room)
		return true;
	granular_free(g, g->desks, (size_t)(g->workers * g->desk_room) * sizeof *g->desks);
	g->desk_room = room + room / 32 * 8;
	g->desks = granular_alloc(g, (size_t)(g->workers * g->desk_room) * sizeof *g->desks);
	return g->desks;
}

static bool make_blocks(sim_granular *g)
{
	g->block_count = (g->count + GRANULAR_BLOCK - 1) / GRANULAR_BLOCK;
	if (g->block_count >= g->block_room) {
		granular_free(g, g->blocks, (size_t)g->block_room * sizeof *g->blocks);
		g->block_room = g->block_count + 1;
		g->blocks = granular_alloc(g, (size_t)g->block_room * sizeof *g->blocks);
	}
	if (!g->blocks)
		return false;
	g->blocks[0] = (granular_block){ 0 };
	carom_parallel_for(g->context, count_blocks, g->block_count, MIN_RANGE, g);
	workshop_size size = { 16, 1, 1 };
	for (granular_block *b = &g->blocks[1]; b <= &g->blocks[g->block_count]; b++) {
		const int64_t table = table_size(b->halo), entries = b->entry - b[-1].entry, locals = b->crowd + b->halo;
		size.table = table > size.table ? table : size.table;
		size.entries = entries > size.entries ? entries : size.entries;
		size.locals = locals > size.locals ? locals : size.locals;
		b->crowd += b[-1].crowd;
		b->job += b[-1].job;
		b->halo += b[-1].halo;
	}
	const granular_block *end = &g->blocks[g->block_count];
	g->crowd_count = end->crowd;
	g->few_crowded = 4 * g->crowd_count < 3 * g->count;
	g->near_chosen = false;
	if (!reserve_crowd(g))
		return false;
	if (g->def.force) {
		carom_parallel_for(g->context, fill_blocks, g->block_count, MIN_RANGE, &(blocks_task){ g, NULL });
		return true;
	}
	if (!reserve_jobs(g, end->job) || !reserve_halo(g, end->halo) || !reserve_desks(g, size.locals))
		return false;
	return fill_with_workshops(g, &size);
}

bool granular_make_blocks(sim_granular *g, sim_error *error) { return make_blocks(g) || granular_no_memory("forces", error); }

void granular_free_blocks(sim_granular *g)
{
	free_crowd(g);
	free_jobs(g);
	granular_free(g, g->halo, (size_t)g->halo_room * sizeof *g->halo);
	granular_free(g, g->blocks, (size_t)g->block_room * sizeof *g->blocks);
	granular_free(g, g->desks, (size_t)(g->workers * g->desk_room) * sizeof *g->desks);
}
