/// Wide kernels of the grid of many levels. Compiled once for each instruction set (CR_ISA); see
/// math/simd.h for why the bits agree, and spheres/sphere_tasks.h for the steps of a search.

#include "spheres/sphere_isa.h"
#include "spheres/sphere_tasks.h"
#include <string.h>

enum { STRIP_BITS = 2, STRIP_MASK = CR_STRIP_CELLS - 1 };
_Static_assert(1 << STRIP_BITS == CR_STRIP_CELLS, "strips are cut by shifts");

// A tag has 11 bits of the strip and 10 bits of y and z each.
enum { TAG_STRIPS = 2000, TAG_ROWS = 1000 };

static inline uint32_t tag_of(uint32_t strip, uint32_t y, uint32_t z)
{
	return (strip & 0x7ff) | (y & 0x3ff) << 11 | (z & 0x3ff) << 21;
}

static inline i8 tags_of(i8 strip, i8 y, i8 z)
{
	const i8 bits = i8_set1(0x3ff);
	return i8_add(i8_and(strip, i8_set1(0x7ff)), i8_add(i8_shift_left(i8_and(y, bits), 11), i8_shift_left(i8_and(z, bits), 21)));
}

// Blocks of 2 x 4 x 4 strips are hashed (multipliers of Teschner et al. 2003, mixing of Wang), the
// strips of a block lie together.
enum { HASH_X = 73856093, HASH_Y = 19349663, HASH_Z = 83492791, HASH_MIX = 0x2c1b3c6d, BLOCK_BITS = 5 };

static inline uint32_t hash_of(uint32_t strip, uint32_t y, uint32_t z)
{
	uint32_t h = (strip >> 1) * HASH_X ^ (y >> 2) * HASH_Y ^ (z >> 2) * HASH_Z;
	h = (h ^ h >> 15) * HASH_MIX;
	return (h ^ h >> 13) << BLOCK_BITS | (strip & 1) | (y & 3) << 1 | (z & 3) << 3;
}

static inline i8 hashes_of(i8 strip, i8 y, i8 z)
{
	const i8 x = i8_mul(i8_shift_right(strip, 1), i8_set1(HASH_X));
	i8 h = i8_xor(i8_xor(x, i8_mul(i8_shift_right(y, 2), i8_set1(HASH_Y))), i8_mul(i8_shift_right(z, 2), i8_set1(HASH_Z)));
	h = i8_mul(i8_xor(h, i8_shift_right(h, 15)), i8_set1(HASH_MIX));
	h = i8_xor(h, i8_shift_right(h, 13));
	const i8 three = i8_set1(3);
	const i8 inside =
		i8_add(i8_and(strip, i8_set1(1)), i8_add(i8_shift_left(i8_and(y, three), 1), i8_shift_left(i8_and(z, three), 3)));
	return i8_add(i8_shift_left(h, BLOCK_BITS), inside);
}

// ---- Which cell ----

static inline void locate_eight(const cr_level_grid *grid, const cr_sphere *spheres, int32_t cell[8], int32_t tag[8])
{
	f8 p[4];
	float radius[8];
	int32_t bits[8];
	f8_load_fours(&spheres->x, p);
	f8_store(radius, p[3]);
	memcpy(bits, radius, sizeof bits);
	const i8 level = i8_gather(grid->level_of, i8_and(i8_shift_right(i8_load(bits), 23), i8_set1(0xff)));
	const f8 inverse = f8_gather(grid->inverse, level);
	const i8 x =
		i8_truncate(cell_along(p[0], grid->lower[0], f8_gather(grid->inverse_x, level), f8_gather(grid->last_x, level)));
	const i8 y = i8_truncate(cell_along(p[1], grid->lower[1], inverse, f8_gather(grid->last_y, level)));
	const i8 z = i8_truncate(cell_along(p[2], grid->lower[2], inverse, f8_gather(grid->last_z, level)));
	const i8 strip = i8_shift_right(x, STRIP_BITS), stride_z = i8_gather(grid->stride_z, level);
	const i8 straight = i8_add(strip, i8_add(i8_mul(y, i8_gather(grid->stride_y, level)), i8_mul(z, stride_z)));
	const i8 hashed = i8_and(hashes_of(strip, y, z), i8_gather(grid->mask, level));
	const i8 bucket = i8_select(i8_lt(i8_set1(0), stride_z), straight, hashed);
	const i8 number = i8_shift_left(i8_add(bucket, i8_gather(grid->first_bucket, level)), STRIP_BITS);
	i8_store(cell, i8_add(number, i8_and(x, i8_set1(STRIP_MASK))));
	i8_store(tag, tags_of(strip, y, z));
}

void CR_ISA_NAME(cr_locate_levels)(const void *map, const cr_sphere *spheres, int64_t count, uint32_t *cell, uint32_t *tag)
{
	int64_t i = 0;
	for (; i + 8 <= count; i += 8)
		locate_eight(map, spheres + i, (int32_t *)cell + i, (int32_t *)tag + i);
	if (i == count)
		return;
	const size_t rest = (size_t)(count - i);
	cr_sphere last[8] = { 0 };
	int32_t cells[8], tags[8];
	memcpy(last, spheres + i, rest * sizeof *last);
	locate_eight(map, last, cells, tags);
	memcpy(cell + i, cells, rest * sizeof *cells);
	memcpy(tag + i, tags, rest * sizeof *tags);
}

// ---- Into the same level, or a coarser one ----

/// A level that is being looked into.
typedef struct target_level {
	const cr_level_grid *grid;
	int32_t index;
	const int32_t *start; // of its first cell
	f8 inverse, inverse_x, width;
	f8 last[3];
} target_level;

static target_level use_level(const cr_level_grid *grid, int32_t index)
{
	return (target_level){ grid, index, (const int32_t *)grid->cells.start + (int64_t)grid->first_bucket[index] * CR_STRIP_CELLS,
		f8_set1(grid->inverse[index]), f8_set1(grid->inverse_x[index]), f8_set1(grid->width[index]),
		{ f8_set1(grid->last_x[index]), f8_set1(grid->last_y[index]), f8_set1(grid->last_z[index]) } };
}

static inline i8 cells_x(const target_level *t, f8 x)
{
	return i8_truncate(cell_along(x, t->grid->lower[0], t->inverse_x, t->last[0]));
}

/// Where the strips' cells begin. The mask keeps rows outside of the grid, which hold nothing,
/// inside of the table.
static inline i8 first_cells(const target_level *t, i8 strip, i8 y, i8 z)
{
	const int32_t stride_y = t->grid->stride_y[t->index], stride_z = t->grid->stride_z[t->index];
	const i8 bucket = stride_z > 0 ? i8_add(strip, i8_add(i8_mul(y, i8_set1(stride_y)), i8_mul(z, i8_set1(stride_z))))
								   : hashes_of(strip, y, z);
	return i8_shift_left(i8_and(bucket, i8_set1(t->grid->mask[t->index])), STRIP_BITS);
}

/// Eight spheres and where they are in the target level.
typedef struct eight {
	m8 live;
	i8 place;
	f8 x, square; // centre along x, reach squared
	i8 cell[2];   // y, z
	f8 gap[2][3]; // squared, along y and z, to the row before, the own one (0) and the next
	f8 reach;
} eight;

/// Roundings move a centre by less than 2^-22 of its distance from the origin of the cells, and one
/// cell's border by as much.
static inline void locate_in(const target_level *t, eight *e, int k, f8 p)
{
	const f8 at = f8_mul(f8_sub(p, f8_set1(t->grid->lower[k])), t->inverse);
	const f8 cell = cell_along(p, t->grid->lower[k], t->inverse, t->last[k]);
	const f8 error = f8_mul(f8_add(f8_abs(at), f8_set1(2)), f8_set1(0x1p-21f));
	const f8 inside = f8_sub(at, cell);
	e->cell[k - 1] = i8_truncate(cell);
	e->gap[k - 1][0] = gap_square(f8_mul(f8_sub(inside, error), t->width));
	e->gap[k - 1][1] = f8_set1(0);
	e->gap[k - 1][2] = gap_square(f8_mul(f8_sub(f8_sub(f8_set1(1), inside), error), t->width));
}

static inline void load_eight(const target_level *t, eight *e, int32_t place, int32_t end)
{
	const cr_cells *cells = &t->grid->cells;
	e->place = i8_add(i8_load(CR_LANES), i8_set1(place));
	e->live = i8_lt(e->place, i8_set1(end));
	e->x = f8_load(cells->x + place);
	e->reach = f8_add(f8_load(cells->r + place), f8_set1(t->grid->reach_pad[t->index]));
	e->square = reach_square(e->reach);
	locate_in(t, e, 1, f8_load(cells->y + place));
	locate_in(t, e, 2, f8_load(cells->z + place));
}

/// Tasks for cells first to last of a row; they are in one strip or in two.
static inline void add_strips(const target_level *t, task_list *tasks, const eight *e, m8 live, i8 first, i8 last, i8 y, i8 z)
{
	const i8 inside = i8_set1(STRIP_MASK);
	const i8 strip = i8_shift_right(first, STRIP_BITS), next = i8_shift_right(last, STRIP_BITS);
	const m8 two = i8_lt(strip, next);
	const i8 end = i8_and(last, inside);
	const i8 cell = first_cells(t, strip, y, z);
	const i8 begin_at = i8_gather(t->start, i8_add(cell, i8_and(first, inside)));
	const i8 end_at = i8_gather(t->start + 1, i8_add(cell, i8_select(two, inside, end)));
	add_tasks(tasks, live, e->place, begin_at, end_at, tags_of(strip, y, z), true);
	const m8 both = m8_and(live, two);
	if (m8_bits(both) == 0)
		return;
	const i8 next_cell = first_cells(t, next, y, z);
	add_tasks(tasks, both, e->place, i8_gather(t->start, next_cell), i8_gather(t->start + 1, i8_add(next_cell, end)),
		tags_of(next, y, z), true);
}

/// The row dy, dz away (0: before, 1: the own one, 2: behind).
static inline void add_row(const target_level *t, task_list *tasks, const eight *e, int dy, int dz)
{
	const f8 rest = f8_sub(f8_sub(e->square, e->gap[0][dy]), e->gap[1][dz]);
	const m8 live = m8_and(e->live, f8_le(f8_set1(0), rest));
	if (m8_bits(live) == 0)
		return;
	// The root of a square that underflows is far too large, and would not be covered by two
	// strips.
	const f8 half = f8_min(f8_sqrt(f8_max(rest, f8_set1(0))), e->reach);
	add_strips(t, tasks, e, live, cells_x(t, f8_sub(e->x, half)), cells_x(t, f8_add(e->x, half)),
		i8_add(e->cell[0], i8_set1(dy - 1)), i8_add(e->cell[1], i8_set1(dz - 1)));
}

/// The own row, from the sphere itself on: later spheres of its strip, and the next strip.
static inline void add_own_row(const target_level *t, task_list *tasks, const eight *e)
{
	const i8 inside = i8_set1(STRIP_MASK);
	const i8 y = e->cell[0], z = e->cell[1];
	const i8 last = cells_x(t, f8_add(e->x, e->reach));
	const i8 strip = i8_shift_right(cells_x(t, e->x), STRIP_BITS), next = i8_shift_right(last, STRIP_BITS);
	const m8 two = i8_lt(strip, next);
	const i8 end = i8_select(two, inside, i8_and(last, inside));
	add_tasks(tasks, e->live, e->place, i8_add(e->place, i8_set1(1)),
		i8_gather(t->start + 1, i8_add(first_cells(t, strip, y, z), end)), tags_of(strip, y, z), true);
	const m8 both = m8_and(e->live, two);
	if (m8_bits(both) == 0)
		return;
	const i8 cell = first_cells(t, next, y, z);
	add_tasks(tasks, both, e->place, i8_gather(t->start, cell), i8_gather(t->start + 1, i8_add(cell, i8_and(last, inside))),
		tags_of(next, y, z), true);
}

/// Within a level each pair is met once: forward in the own row, and in the four neighbouring rows
/// that come later.
static inline void add_forward(const target_level *t, task_list *tasks, int32_t place, int32_t end)
{
	eight e;
	load_eight(t, &e, place, end);
	add_own_row(t, tasks, &e);
	add_row(t, tasks, &e, 2, 1);
	for (int dy = 0; dy < 3; dy++)
		add_row(t, tasks, &e, dy, 2);
}

static inline void add_around(const target_level *t, task_list *tasks, int32_t place, int32_t end)
{
	eight e;
	load_eight(t, &e, place, end);
	for (int dz = 0; dz < 3; dz++) {
		for (int dy = 0; dy < 3; dy++)
			add_row(t, tasks, &e, dy, dz);
	}
}

static void search_coarse(const cr_level_grid *grid, const cr_sphere_search *search, task_list *tasks, hit_list *hits,
	int32_t level, int32_t target, int32_t begin, int32_t end)
{
	const target_level t = use_level(grid, target);
	const margins m = make_margins(search->set);
	for (int32_t place = begin; place < end; place += 8) {
		if (level == target)
			add_forward(&t, tasks, place, end);
		else
			add_around(&t, tasks, place, end);
		if (tasks->count > CR_TASKS)
			run_tasks(&grid->cells, search, m, tasks, hits, true);
	}
	run_tasks(&grid->cells, search, m, tasks, hits, true);
}

// ---- Into a finer level ----

/// One sphere in a finer level, along one axis.
typedef struct span {
	float at, error; // in cells
	int32_t first, last;
} span;

static int32_t scalar_cell(float p, float lower, float inverse, float last)
{
	float at = (p - lower) * inverse;
	at = at > 0 ? at : 0;
	return (int32_t)(at < last ? at : last);
}

static span make_span(const cr_level_grid *grid, int32_t target, int k, float p, float half)
{
	const float inverse = k == 0 ? grid->inverse_x[target] : grid->inverse[target];
	const float last = k == 0 ? grid->last_x[target] : k == 1 ? grid->last_y[target] : grid->last_z[target];
	span s = { .at = (p - grid->lower[k]) * inverse };
	s.first = scalar_cell(p - half, grid->lower[k], inverse, last);
	s.last = scalar_cell(p + half, grid->lower[k], inverse, last);
	s.error = (fabsf(s.at) + (float)(s.last - s.first) + 2) * 0x1p-21f;
	return s;
}

/// Square of how far row c is away, at least. Rows at the border of the grid go on for ever.
static float row_gap(const cr_level_grid *grid, int32_t target, const span *s, int32_t c, float border)
{
	const float below = (float)c < border ? s->at - (float)(c + 1) : 0, above = c > 0 ? (float)c - s->at : 0;
	const float gap = ((below > above ? below : above) - s->error) * grid->width[target];
	return gap > 0 ? gap * gap : 0;
}

static inline int32_t scalar_first_cell(const cr_level_grid *grid, int32_t target, uint32_t strip, uint32_t y, uint32_t z)
{
	const uint32_t stride_y = (uint32_t)grid->stride_y[target], stride_z = (uint32_t)grid->stride_z[target];
	const uint32_t bucket = stride_z > 0 ? strip + y * stride_y + z * stride_z : hash_of(strip, y, z);
	return (int32_t)(bucket & (uint32_t)grid->mask[target]) << STRIP_BITS;
}

/// One task at once.
static inline void compare_run(const cr_cells *cells, const cr_sphere_search *search, margins m, hit_list *hits, int32_t place,
	int32_t begin, int32_t end, const int32_t *tag)
{
	hits->count = run_task(cells, search, m, hits, hits->count, place, begin, end, tag);
	search->batch->tests += end - begin;
}

/// All strips of one row from cell first to cell last.
static void search_fine_row(const target_level *t, const cr_sphere_search *search, margins m, hit_list *hits, int32_t place,
	int32_t first, int32_t last, uint32_t y, uint32_t z)
{
	for (int32_t strip = first >> STRIP_BITS; strip <= last >> STRIP_BITS; strip++) {
		const int32_t cell = scalar_first_cell(t->grid, t->index, (uint32_t)strip, y, z);
		const int32_t from = strip == first >> STRIP_BITS ? first & STRIP_MASK : 0;
		const int32_t to = strip == last >> STRIP_BITS ? last & STRIP_MASK : STRIP_MASK;
		const int32_t begin = t->start[cell + from], end = t->start[cell + to + 1];
		const int32_t tag = (int32_t)tag_of((uint32_t)strip, y, z);
		compare_run(&t->grid->cells, search, m, hits, place, begin, end, &tag);
	}
}

/// All that sphere `place` meets in a finer level: row by row within its remaining reach there.
static void search_fine_cells(const target_level *t, const cr_sphere_search *search, margins m, hit_list *hits, int32_t place)
{
	const cr_level_grid *grid = t->grid;
	const cr_cells *cells = &grid->cells;
	const int32_t target = t->index;
	const float reach = cells->r[place] + grid->reach_pad[target];
	const float square = reach * reach * (1 + CR_BAND) + CR_TINY;
	const span x = make_span(grid, target, 0, cells->x[place], reach), y = make_span(grid, target, 1, cells->y[place], reach),
			   z = make_span(grid, target, 2, cells->z[place], reach);
	const double rows = (y.last - y.first + 1.0) * (z.last - z.first + 1.0);
	const int32_t strips = ((x.last - x.first) >> STRIP_BITS) + 2;
	const int32_t begin = grid->begin[target], end = grid->begin[target + 1];
	if (rows * strips > 0.25 * (end - begin) || strips > TAG_STRIPS || y.last - y.first > TAG_ROWS ||
		z.last - z.first > TAG_ROWS) {
		compare_run(cells, search, m, hits, place, begin, end, NULL);
		return;
	}
	for (int32_t c = z.first; c <= z.last; c++) {
		const float left = square - row_gap(grid, target, &z, c, grid->last_z[target]);
		for (int32_t b = y.first; b <= y.last; b++) {
			const float rest = left - row_gap(grid, target, &y, b, grid->last_y[target]);
			if (rest < 0)
				continue;
			const float root = sqrtf(rest), half = root < reach ? root : reach; // as in add_row
			const span row = make_span(grid, target, 0, cells->x[place], half);
			search_fine_row(t, search, m, hits, place, row.first, row.last, (uint32_t)b, (uint32_t)c);
		}
	}
}

static void search_fine(
	const cr_level_grid *grid, const cr_sphere_search *search, hit_list *hits, int32_t target, int32_t begin, int32_t end)
{
	const target_level t = use_level(grid, target);
	const margins m = make_margins(search->set);
	for (int32_t place = begin; place < end && !search->batch->stopped; place++)
		search_fine_cells(&t, search, m, hits, place);
}

static void search_all(
	const cr_level_grid *grid, const cr_sphere_search *search, hit_list *hits, int32_t target, int32_t begin, int32_t end)
{
	const margins m = make_margins(search->set);
	for (int32_t place = begin; place < end && !search->batch->stopped; place++)
		compare_run(&grid->cells, search, m, hits, place, grid->begin[target], grid->begin[target + 1], NULL);
}

void CR_ISA_NAME(cr_find_in_level)(
	const cr_level_grid *grid, const cr_sphere_search *search, int32_t level, int64_t begin, int64_t end)
{
	task_list tasks;
	hit_list hits;
	tasks.count = hits.count = 0;
	for (int32_t target = 0; target < grid->level_count && !search->batch->stopped; target++) {
		switch ((cr_level_search)grid->search[level][target]) {
		case CR_LEVEL_NOT: break;
		case CR_LEVEL_COARSE: search_coarse(grid, search, &tasks, &hits, level, target, (int32_t)begin, (int32_t)end); break;
		case CR_LEVEL_FINE: search_fine(grid, search, &hits, target, (int32_t)begin, (int32_t)end); break;
		case CR_LEVEL_ALL: search_all(grid, search, &hits, target, (int32_t)begin, (int32_t)end); break;
		}
	}
	hand_on_hits(&hits, search);
}
