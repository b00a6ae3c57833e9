// Making the coarse levels. Vertices of a level are chosen greedily, held ones first, so that no
// two are nearer than three edges of the level below. Each vertex below belongs to the nearest
// chosen one; where such regions adjoin, their chosen vertices are neighbours in the level. A
// vertex follows the chosen vertices of its own region and of its neighbours', the nearer the more.
#include "sim/cloth/soft_levels.h"
#include "sim/cloth/soft_colors.h"
#include "sim/cloth/soft_geodesic.h"

#include <stdlib.h>
#include <string.h>

// Fewer vertices than this need no coarser level.
enum { LEAST_VERTICES = 16 };

// How far tethers let their ends go, as part of the limit of stretch.
static const double TETHER_PART = 0.1;

typedef struct vertex_pair {
	int32_t low, high;
} vertex_pair;

// A level, or the mesh, from which the next one is made.
typedef struct soft_builder {
	const sim_soft *soft;
	soft_geodesic *geodesic;
	int32_t count;
	int32_t *vertices;  // [count] of the mesh
	double *mass;       // [count], 0: held
	int64_t *first;     // [count + 1] in list
	int32_t *list;      // neighbours
	int32_t *owner;     // [count] the vertex that was chosen for it, -1: none
	int32_t *number;    // [count] of a chosen vertex in the new level, -1: not chosen
	int32_t *queue;     // [count]
	vertex_pair *pairs; // [pair_count] neighbours in the new level
	int64_t pair_count;
	double *distances; // [count]
	void *memory;
	size_t size;
} soft_builder;

// ---- Choosing ----

static bool is_near_chosen(const soft_builder *b, int32_t v)
{
	if (b->number[v] >= 0)
		return true;
	for (int64_t i = b->first[v]; i < b->first[v + 1]; i++) {
		const int32_t u = b->list[i];
		if (b->number[u] >= 0)
			return true;
		for (int64_t k = b->first[u]; k < b->first[u + 1]; k++) {
			if (b->number[b->list[k]] >= 0)
				return true;
		}
	}
	return false;
}

/// Choose vertices without one nearer than three edges. Returns how many.
static int32_t choose(soft_builder *b)
{
	int32_t chosen = 0;
	for (int32_t i = 0; i < b->count; i++)
		b->number[i] = -1;
	for (int held = 1; held >= 0; held--) {
		for (int32_t i = 0; i < b->count; i++) {
			const bool lone = b->first[i] == b->first[i + 1];
			if (!lone && (b->mass[i] == 0) == (held == 1) && !is_near_chosen(b, i))
				b->number[i] = chosen++;
		}
	}
	return chosen;
}

/// Give each vertex to the chosen one that the fewest edges lead to.
static void share_out(soft_builder *b)
{
	int32_t end = 0;
	for (int32_t i = 0; i < b->count; i++) {
		b->owner[i] = b->number[i] >= 0 ? i : -1;
		if (b->number[i] >= 0)
			b->queue[end++] = i;
	}
	for (int32_t i = 0; i < end; i++) {
		const int32_t v = b->queue[i];
		for (int64_t k = b->first[v]; k < b->first[v + 1]; k++) {
			if (b->owner[b->list[k]] >= 0)
				continue;
			b->owner[b->list[k]] = b->owner[v];
			b->queue[end++] = b->list[k];
		}
	}
}

static int compare_pairs(const void *a, const void *b)
{
	const vertex_pair *p = a, *q = b;
	if (p->low != q->low)
		return p->low < q->low ? -1 : 1;
	return (p->high > q->high) - (p->high < q->high);
}

/// The neighbours in the new level, each pair once, in order.
static void list_pairs(soft_builder *b)
{
	int64_t count = 0, kept = 0;
	for (int32_t v = 0; v < b->count; v++) {
		for (int64_t i = b->first[v]; i < b->first[v + 1]; i++) {
			const int32_t p = b->owner[v], q = b->owner[b->list[i]];
			if (b->list[i] > v && p >= 0 && q >= 0 && p != q) {
				const int32_t m = b->number[p], n = b->number[q];
				b->pairs[count++] = (vertex_pair){ m < n ? m : n, m < n ? n : m };
			}
		}
	}
	qsort(b->pairs, (size_t)count, sizeof *b->pairs, compare_pairs);
	for (int64_t i = 0; i < count; i++) {
		if (i == 0 || compare_pairs(&b->pairs[i], &b->pairs[i - 1]) != 0)
			b->pairs[kept++] = b->pairs[i];
	}
	b->pair_count = kept;
}

// ---- Following ----

static double square_between(const soft_builder *b, int32_t v, int32_t u)
{
	const double *p = b->soft->place + 3 * (int64_t)b->vertices[v], *q = b->soft->place + 3 * (int64_t)b->vertices[u];
	const double d[3] = { p[0] - q[0], p[1] - q[1], p[2] - q[2] };
	return soft_dot(d, d);
}

/// Let a vertex follow a chosen one, in place of the farthest of its parents if it has all.
static void add_parent(const soft_builder *b, soft_parents *of, int *count, int32_t v, int32_t chosen)
{
	const double square = square_between(b, v, chosen);
	int last = *count;
	for (int i = 0; i < *count; i++) {
		if (of->parent[i] == b->number[chosen])
			return;
	}
	if (*count == SOFT_MOST_PARENTS) {
		if (square >= of->weight[--last])
			return;
	} else {
		++*count;
	}
	for (; last > 0 && of->weight[last - 1] > square; last--) {
		of->weight[last] = of->weight[last - 1];
		of->parent[last] = of->parent[last - 1];
	}
	of->weight[last] = square;
	of->parent[last] = b->number[chosen];
}

static soft_parents find_parents(const soft_builder *b, int32_t v)
{
	soft_parents of = { { 0 }, { 0 } };
	int count = 0;
	if (b->owner[v] < 0)
		return of;
	if (b->owner[v] == v)
		return (soft_parents){ { b->number[v] }, { 1 } };
	add_parent(b, &of, &count, v, b->owner[v]);
	for (int64_t i = b->first[v]; i < b->first[v + 1]; i++)
		add_parent(b, &of, &count, v, b->owner[b->list[i]]);
	double sum = 0;
	for (int i = 0; i < count; i++) {
		of.weight[i] = 1 / (of.weight[i] + 1e-300);
		sum += of.weight[i];
	}
	for (int i = 0; i < count; i++)
		of.weight[i] /= sum;
	return of;
}

// ---- A level ----

static void *take(char **memory, size_t bytes)
{
	void *array = *memory;
	*memory += (bytes + 15) / 16 * 16;
	return array;
}

static bool allocate_level(const soft_builder *b, soft_level *level, int32_t chosen)
{
	const size_t n = (size_t)chosen, below = (size_t)b->count, pairs = (size_t)b->pair_count;
	level->size = n * (sizeof(int32_t) + 7 * sizeof(double)) + below * sizeof(soft_parents) + pairs * sizeof(soft_tether) + 256;
	char *memory = level->memory = soft_alloc(b->soft, level->size);
	if (!memory)
		return false;
	level->count = chosen;
	level->below = b->count;
	level->tether_count = b->pair_count;
	level->parents = take(&memory, below * sizeof *level->parents);
	level->tethers = take(&memory, pairs * sizeof *level->tethers);
	level->inverse_mass = take(&memory, n * sizeof *level->inverse_mass);
	level->place = take(&memory, 3 * n * sizeof *level->place);
	level->shift = take(&memory, 3 * n * sizeof *level->shift);
	level->vertices = take(&memory, n * sizeof *level->vertices);
	return true;
}

/// Find vertices, masses and parents of a level. A held vertex gives no mass to its parents, and a
/// chosen vertex that is held stays where it is.
static void fill_vertices(const soft_builder *b, soft_level *level)
{
	for (int32_t i = 0; i < level->count; i++)
		level->inverse_mass[i] = 0;
	for (int32_t v = 0; v < b->count; v++) {
		level->parents[v] = find_parents(b, v);
		for (int i = 0; i < SOFT_MOST_PARENTS; i++)
			level->inverse_mass[level->parents[v].parent[i]] += level->parents[v].weight[i] * b->mass[v];
	}
	for (int32_t v = 0; v < b->count; v++) {
		if (b->number[v] < 0)
			continue;
		double *inverse = &level->inverse_mass[b->number[v]];
		level->vertices[b->number[v]] = b->vertices[v];
		*inverse = b->mass[v] > 0 ? 1 / *inverse : 0;
	}
}

/// The distances along the surface of each vertex to its neighbours of higher number.
static bool fill_tethers(const soft_builder *b, soft_level *level)
{
	const sim_soft *s = b->soft;
	for (int64_t i = 0, end; i < b->pair_count; i = end) {
		const int32_t from = level->vertices[b->pairs[i].low];
		const double stretch = s->parts[s->part_of[from]].stretch_limit;
		for (end = i; end < b->pair_count && b->pairs[end].low == b->pairs[i].low; end++)
			b->queue[end - i] = level->vertices[b->pairs[end].high];
		if (!soft_find_distances(b->geodesic, from, b->queue, (int32_t)(end - i), b->distances))
			return false;
		for (int64_t k = i; k < end; k++) {
			level->tethers[k] = (soft_tether){ { b->pairs[k].low, b->pairs[k].high },
				(1 + TETHER_PART * stretch) * b->distances[k - i], (1 + stretch) * b->distances[k - i] };
		}
	}
	return soft_sort_things(
		s, level->tethers, sizeof *level->tethers, 2, level->tether_count, level->inverse_mass, level->count, &level->colors);
}

// ---- From level to level ----

/// The neighbours of each vertex, from pairs of them.
static void connect(soft_builder *b, const vertex_pair *pairs, int64_t count)
{
	memset(b->first, 0, ((size_t)b->count + 1) * sizeof *b->first);
	for (int64_t i = 0; i < count; i++) {
		b->first[pairs[i].low + 1]++;
		b->first[pairs[i].high + 1]++;
	}
	for (int32_t i = 0; i < b->count; i++)
		b->first[i + 1] += b->first[i];
	for (int64_t i = 0; i < count; i++) {
		b->list[b->first[pairs[i].low]++] = pairs[i].high;
		b->list[b->first[pairs[i].high]++] = pairs[i].low;
	}
	for (int32_t i = b->count; i > 0; i--)
		b->first[i] = b->first[i - 1];
	b->first[0] = 0;
}

/// The mesh itself. Edges without a limit do not count, so what has only those is in no level.
static void start(soft_builder *b)
{
	const sim_soft *s = b->soft;
	int64_t count = 0;
	b->count = s->vertex_count;
	for (int32_t i = 0; i < s->vertex_count; i++) {
		b->vertices[i] = i;
		b->mass[i] = s->inverse_mass[i] > 0 ? 1 / s->inverse_mass[i] : 0;
	}
	for (int64_t i = 0; i < s->edge_count; i++) {
		if (s->parts[s->part_of[s->edges[i].vertices[0]]].stretch_limit > 0)
			b->pairs[count++] = (vertex_pair){ s->edges[i].vertices[0], s->edges[i].vertices[1] };
	}
	connect(b, b->pairs, count);
}

/// The new level is what the next one is made from.
static void climb(soft_builder *b, const soft_level *level)
{
	b->count = level->count;
	for (int32_t i = 0; i < level->count; i++) {
		b->vertices[i] = level->vertices[i];
		b->mass[i] = level->inverse_mass[i] > 0 ? 1 / level->inverse_mass[i] : 0;
	}
	connect(b, b->pairs, b->pair_count);
}

static bool allocate_builder(soft_builder *b)
{
	const size_t n = (size_t)b->soft->vertex_count + 1, edges = (size_t)b->soft->edge_count + 1;
	b->size = n * (4 * sizeof(int32_t) + 2 * sizeof(double) + sizeof(int64_t)) +
		edges * (sizeof(vertex_pair) + 2 * sizeof(int32_t)) + 256;
	char *memory = b->memory = soft_alloc(b->soft, b->size);
	if (!memory)
		return false;
	b->mass = take(&memory, n * sizeof *b->mass);
	b->distances = take(&memory, n * sizeof *b->distances);
	b->first = take(&memory, n * sizeof *b->first);
	b->pairs = take(&memory, edges * sizeof *b->pairs);
	b->list = take(&memory, 2 * edges * sizeof *b->list);
	b->vertices = take(&memory, n * sizeof *b->vertices);
	b->owner = take(&memory, n * sizeof *b->owner);
	b->number = take(&memory, n * sizeof *b->number);
	b->queue = take(&memory, n * sizeof *b->queue);
	return true;
}

/// Make one level more. *more: is it worth having, and may there be another one?
static bool add_level(soft_builder *b, soft_levels *levels, bool *more)
{
	const int32_t chosen = choose(b);
	share_out(b);
	list_pairs(b);
	*more = chosen >= LEAST_VERTICES && b->pair_count > 0 && chosen < b->count;
	if (!*more)
		return true;
	soft_level *level = &levels->level[levels->count++];
	if (!allocate_level(b, level, chosen))
		return false;
	fill_vertices(b, level);
	if (!fill_tethers(b, level))
		return false;
	climb(b, level);
	*more = levels->count < SOFT_MOST_LEVELS;
	return true;
}

soft_levels *soft_create_levels(const sim_soft *s)
{
	soft_builder b = { .soft = s, .geodesic = soft_create_geodesic(s) };
	soft_levels *levels = soft_alloc(s, sizeof *levels);
	bool done = b.geodesic && levels && allocate_builder(&b), more = done;
	if (levels)
		*levels = (soft_levels){ .count = 0 };
	if (done)
		start(&b);
	while (done && more)
		done = add_level(&b, levels, &more);
	soft_destroy_geodesic(b.geodesic);
	soft_free(s, b.memory, b.size);
	if (done)
		return levels;
	soft_destroy_levels(s, levels);
	return NULL;
}

void soft_destroy_levels(const sim_soft *s, soft_levels *levels)
{
	for (int32_t i = 0; levels && i < levels->count; i++)
		soft_free(s, levels->level[i].memory, levels->level[i].size);
	soft_free(s, levels, sizeof *levels);
}
