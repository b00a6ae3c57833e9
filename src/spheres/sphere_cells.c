/// A stable counting sort in two steps, each with few places to write to at a time. First pieces of
/// the input go to buckets, ranges of cells of some thousand spheres; then each bucket, which fits
/// the second-level cache, is sorted by cell. Pieces are cut by the count alone and keep their
/// order, so the result does not depend on the threads. Cost: two readings of the input, one
/// writing and two readings of 24 bytes a sphere, one writing of the columns.
#include "spheres/sphere_cells.h"
#include "base/parallel.h"
#include <math.h>
#include <string.h>

enum {
	MAX_PIECES = 256,
	MIN_PIECE = 8192,
	// Spheres in a bucket on average: 2048 to 8192 are as fast (a million spheres).
	BUCKET_SPHERES = 4096,
	MAX_BUCKETS = 1024,
	CHUNK = 256, // cells computed at a time
};

/// Beside each sphere in its bucket.
typedef struct bucket_key {
	uint32_t id, cell;
} bucket_key;

typedef struct cell_sort {
	cr_cells *cells;
	const cr_sphere_set *set;
	cr_locate_fn *locate;
	const void *map, *ghost_map;
	int64_t piece; // spheres in a piece
	int32_t pieces;
	uint32_t buckets;
	int shift;          // cell >> shift is the bucket
	uint32_t *count;    // [pieces * buckets], then the place of the next sphere
	uint32_t *first;    // [buckets + 1] places of the buckets
	cr_sphere *spheres; // [count] by bucket
	bucket_key *keys;   // [count]
	uint32_t *tags;     // [count] or NULL
} cell_sort;

static size_t round_up(size_t size) { return (size + CR_CACHE_LINE - 1) & ~(size_t)(CR_CACHE_LINE - 1); }

static size_t column_bytes(uint32_t count) { return round_up(((size_t)count + CR_CELL_PAD) * sizeof(float)); }

static int64_t piece_size(int64_t count)
{
	const int64_t piece = (count + MAX_PIECES - 1) / MAX_PIECES;
	return piece > MIN_PIECE ? piece : MIN_PIECE;
}

static int32_t piece_count(int64_t count) { return (int32_t)((count + piece_size(count) - 1) / piece_size(count)); }

static uint32_t bucket_limit(uint32_t count)
{
	const uint32_t buckets = count / BUCKET_SPHERES + 1;
	return buckets < MAX_BUCKETS ? buckets : MAX_BUCKETS;
}

/// pointer is the address of a pointer of any type: copied as bytes, which is allowed for any. The
/// content of the block may be lost.
static bool reserve_block(carom_context *context, void *pointer, size_t *bytes, size_t want)
{
	if (*bytes >= want)
		return true;
	void *block;
	memcpy(&block, pointer, sizeof block);
	cr_free(context, block, *bytes);
	block = cr_alloc(context, want);
	memcpy(pointer, &block, sizeof block);
	*bytes = block ? want : 0;
	return block != NULL;
}

/// Where the parts of the scratch memory begin, in bytes: spheres, keys, tags, counts, buckets; at
/// last its size.
static void lay_out_scratch(uint32_t count, bool tags, size_t at[6])
{
	const size_t buckets = bucket_limit(count);
	at[0] = 0;
	at[1] = at[0] + round_up((size_t)count * sizeof(cr_sphere));
	at[2] = at[1] + round_up((size_t)count * sizeof(bucket_key));
	at[3] = at[2] + (tags ? round_up((size_t)count * sizeof(uint32_t)) : 0);
	at[4] = at[3] + round_up((size_t)piece_count(count) * buckets * sizeof(uint32_t));
	at[5] = at[4] + round_up((buckets + 1) * sizeof(uint32_t));
}

static void use_scratch(cell_sort *s, const cr_cells *cells)
{
	size_t at[6];
	lay_out_scratch(cells->count, cells->tag != NULL, at);
	s->spheres = (cr_sphere *)(void *)(cells->scratch + at[0]);
	s->keys = (bucket_key *)(void *)(cells->scratch + at[1]);
	s->tags = cells->tag ? (uint32_t *)(void *)(cells->scratch + at[2]) : NULL;
	s->count = (uint32_t *)(void *)(cells->scratch + at[3]);
	s->first = (uint32_t *)(void *)(cells->scratch + at[4]);
}

bool cr_cells_reserve(cr_cells *cells, carom_context *context, uint32_t count, uint32_t cell_count, bool tags)
{
	size_t at[6];
	lay_out_scratch(count, tags, at);
	const size_t column = column_bytes(count);
	if (!reserve_block(context, &cells->memory, &cells->memory_bytes, (tags ? 6 : 5) * column) ||
		!reserve_block(context, &cells->scratch, &cells->scratch_bytes, at[5]) ||
		!reserve_block(context, &cells->start, &cells->start_bytes, ((size_t)cell_count + 1) * sizeof *cells->start))
		return false;
	float **columns[4] = { &cells->x, &cells->y, &cells->z, &cells->r };
	for (int k = 0; k < 4; k++)
		*columns[k] = (float *)(void *)(cells->memory + (size_t)k * column);
	cells->id = (uint32_t *)(void *)(cells->memory + 4 * column);
	cells->tag = tags ? (uint32_t *)(void *)(cells->memory + 5 * column) : NULL;
	cells->count = count;
	return true;
}

size_t cr_cells_bytes(const cr_cells *cells) { return cells->memory_bytes + cells->scratch_bytes + cells->start_bytes; }

void cr_cells_free(cr_cells *cells, carom_context *context)
{
	cr_free(context, cells->memory, cells->memory_bytes);
	cr_free(context, cells->scratch, cells->scratch_bytes);
	cr_free(context, cells->start, cells->start_bytes);
	*cells = (cr_cells){ 0 };
}

// ---- The sort ----

static int64_t piece_end(const cell_sort *s, int64_t piece)
{
	const int64_t end = (piece + 1) * s->piece;
	return end < s->set->count ? end : s->set->count;
}

/// Cells and tags of spheres first to first + count - 1, CHUNK at most.
static void locate_chunk(const cell_sort *s, int64_t first, int64_t count, uint32_t *cell, uint32_t *tag)
{
	for (int64_t i = first, end; i < first + count; i = end) {
		end = cr_run_end(s->set, i, first + count);
		const void *map = cr_is_ghost(s->set, (uint32_t)i) ? s->ghost_map : s->map;
		s->locate(map, s->set->spheres + i, end - i, cell + (i - first), s->tags ? tag + (i - first) : NULL);
	}
}

static void count_pieces(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const cell_sort *s = task;
	uint32_t cell[CHUNK], tag[CHUNK];
	for (int64_t p = begin; p < end; p++) {
		uint32_t *count = s->count + (size_t)p * s->buckets;
		memset(count, 0, s->buckets * sizeof *count);
		for (int64_t i = p * s->piece; i < piece_end(s, p); i += CHUNK) {
			const int64_t n = piece_end(s, p) - i < CHUNK ? piece_end(s, p) - i : CHUNK;
			locate_chunk(s, i, n, cell, tag);
			for (int64_t k = 0; k < n; k++)
				count[cell[k] >> s->shift]++;
		}
	}
}

/// From counts to places: bucket after bucket, within a bucket piece after piece.
static void place_pieces(const cell_sort *s)
{
	uint32_t place = 0;
	for (uint32_t b = 0; b < s->buckets; b++) {
		s->first[b] = place;
		for (int32_t p = 0; p < s->pieces; p++) {
			uint32_t *count = &s->count[(size_t)p * s->buckets + b];
			const uint32_t n = *count;
			*count = place;
			place += n;
		}
	}
	s->first[s->buckets] = place;
}

/// The lines that a bucket's next spheres go to. There are more buckets than streams that the
/// machine would see by itself: without this the step takes twice as long (a million spheres, 173
/// buckets).
static inline void prefetch_ahead(const cell_sort *s, uint32_t place)
{
	__builtin_prefetch(&s->spheres[place + 8], 1);
	__builtin_prefetch(&s->keys[place + 16], 1);
}

static void fill_buckets(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const cell_sort *s = task;
	uint32_t cell[CHUNK], tag[CHUNK];
	for (int64_t p = begin; p < end; p++) {
		uint32_t *next = s->count + (size_t)p * s->buckets;
		for (int64_t i = p * s->piece; i < piece_end(s, p); i += CHUNK) {
			const int64_t n = piece_end(s, p) - i < CHUNK ? piece_end(s, p) - i : CHUNK;
			locate_chunk(s, i, n, cell, tag);
			for (int64_t k = 0; k < n; k++) {
				const uint32_t place = next[cell[k] >> s->shift]++;
				prefetch_ahead(s, place);
				s->spheres[place] = s->set->spheres[i + k];
				s->keys[place] = (bucket_key){ (uint32_t)(i + k), cell[k] };
				if (s->tags)
					s->tags[place] = tag[k];
			}
		}
	}
}

/// While a bucket is sorted, start[c+1] is the place of cell c's next sphere; in the end that is
/// where cell c+1 starts.
static void sort_bucket(const cell_sort *s, uint32_t bucket)
{
	cr_cells *cells = s->cells;
	const uint32_t first_cell = bucket << s->shift;
	uint64_t last_cell = (uint64_t)(bucket + 1) << s->shift;
	if (last_cell > cells->cell_count)
		last_cell = cells->cell_count;
	uint32_t *next = cells->start + 1;
	memset(next + first_cell, 0, (size_t)(last_cell - first_cell) * sizeof *next);
	const uint32_t begin = s->first[bucket], end = s->first[bucket + 1];
	for (uint32_t i = begin; i < end; i++)
		next[s->keys[i].cell]++;
	uint32_t place = begin;
	for (uint64_t c = first_cell; c < last_cell; c++) {
		const uint32_t n = next[c];
		next[c] = place;
		place += n;
	}
	// Places first, columns then: one scattered write of four bytes and gathered reads are cheaper
	// than five scattered writes.
	for (uint32_t i = begin; i < end; i++)
		cells->id[next[s->keys[i].cell]++] = i;
	for (uint32_t to = begin; to < end; to++) {
		const uint32_t from = cells->id[to];
		const cr_sphere sphere = s->spheres[from];
		cells->x[to] = sphere.x;
		cells->y[to] = sphere.y;
		cells->z[to] = sphere.z;
		cells->r[to] = sphere.r;
		cells->id[to] = s->keys[from].id;
		if (s->tags)
			cells->tag[to] = s->tags[from];
	}
}

static void sort_buckets(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	for (int64_t b = begin; b < end; b++)
		sort_bucket(task, (uint32_t)b);
}

static void clear_padding(cr_cells *cells)
{
	const size_t bytes = CR_CELL_PAD * sizeof(float);
	float *columns[4] = { cells->x, cells->y, cells->z, cells->r };
	for (int k = 0; k < 4; k++)
		memset(columns[k] + cells->count, 0, bytes);
	memset(cells->id + cells->count, 0, bytes);
	if (cells->tag)
		memset(cells->tag + cells->count, 0, bytes);
}

void cr_cells_sort(cr_cells *cells, const cr_sphere_set *set, uint32_t cell_count, cr_locate_fn *locate, const void *map,
	const void *ghost_map)
{
	cell_sort s = { .cells = cells, .set = set, .locate = locate, .map = map, .ghost_map = ghost_map };
	cells->count = set->count;
	cells->cell_count = cell_count;
	use_scratch(&s, cells);
	s.piece = piece_size(set->count);
	s.pieces = piece_count(set->count);
	const uint32_t limit = bucket_limit(set->count);
	while ((cell_count - 1) >> s.shift >= limit)
		s.shift++;
	s.buckets = ((cell_count - 1) >> s.shift) + 1;
	cells->start[0] = 0;
	cr_parallel_for(set->context, count_pieces, s.pieces, 1, &s);
	place_pieces(&s);
	cr_parallel_for(set->context, fill_buckets, s.pieces, 1, &s);
	cr_parallel_for(set->context, sort_buckets, s.buckets, 1, &s);
	clear_padding(cells);
}

// ---- Samples ----

/// splitmix64's output function (Steele, Lea and Flood 2014).
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

enum { FAR_OUT = CR_SAMPLE / 1024 }; // of a full sample, at each end of an axis

/// Keep the FAR_OUT + 1 lowest values in order.
static void keep_lowest(float lowest[FAR_OUT + 1], float value)
{
	int at = FAR_OUT + 1;
	while (at > 0 && value < lowest[at - 1])
		at--;
	for (int i = FAR_OUT; i > at; i--)
		lowest[i] = lowest[i - 1];
	if (at <= FAR_OUT)
		lowest[at] = value;
}

static void bound_sample(cr_sphere_sample *sample)
{
	const uint32_t skip = sample->count * FAR_OUT / CR_SAMPLE;
	for (int k = 0; k < 3; k++) {
		float lowest[FAR_OUT + 1], highest[FAR_OUT + 1]; // the highest with their signs turned
		for (int i = 0; i <= FAR_OUT; i++)
			lowest[i] = highest[i] = INFINITY;
		for (uint32_t i = 0; i < sample->count; i++) {
			const float *centre = (const float *)(sample->spheres + i);
			keep_lowest(lowest, centre[k]);
			keep_lowest(highest, -centre[k]);
		}
		sample->lower[k] = sample->count > 0 ? lowest[skip] : 0;
		sample->upper[k] = sample->count > 0 ? -highest[skip] : 0;
	}
}

void cr_take_sample(cr_sphere_sample *sample, const cr_sphere_set *set)
{
	sample->count = set->count < CR_SAMPLE ? set->count : CR_SAMPLE;
	sample->share = sample->count > 0 ? (double)set->count / sample->count : 1;
	// One of each of equal parts, so that none is taken twice.
	for (uint64_t i = 0; i < sample->count; i++) {
		const uint64_t begin = set->count * i / sample->count, end = set->count * (i + 1) / sample->count;
		sample->spheres[i] = set->spheres[begin + mix(i) % (end - begin)];
	}
	bound_sample(sample);
}

/// The entry of a sphere's cube in the table; never 0 spheres in a used one.
static uint32_t find_cube(cr_sphere_sample *sample, const cr_sphere *sphere, double inverse)
{
	uint64_t key = 0;
	for (int k = 0; k < 3; k++) {
		const double at = floor(((double)(&sphere->x)[k] - sample->lower[k]) * inverse);
		key = mix(key ^ (uint64_t)(int64_t)fmax(fmin(at, 0x1p60), -0x1p60));
	}
	uint32_t entry = (uint32_t)(key % CR_SAMPLE_TABLE);
	while (sample->counts[entry] > 0 && sample->keys[entry] != key)
		entry = (entry + 1) % CR_SAMPLE_TABLE;
	sample->keys[entry] = key;
	return entry;
}

double cr_crowding(cr_sphere_sample *sample, double width, float r_low, float r_high, bool below)
{
	const double inverse = 1 / width;
	double pairs = 0;
	memset(sample->counts, 0, sizeof sample->counts);
	for (uint32_t i = 0; i < sample->count; i++) {
		const cr_sphere *sphere = &sample->spheres[i];
		if (sphere->r < r_low || sphere->r > r_high)
			continue;
		uint32_t *count = &sample->counts[find_cube(sample, sphere, inverse)];
		if (!below)
			pairs += *count;
		++*count;
	}
	for (uint32_t i = 0; below && i < sample->count; i++) {
		if (sample->spheres[i].r < r_low)
			pairs += sample->counts[find_cube(sample, &sample->spheres[i], inverse)];
	}
	return pairs * sample->share * sample->share;
}
