/// Classes of radii, each twice as wide as the next finer one, each with a grid of its own (Eitz
/// and Gu, Hierarchical Spatial Hashing for Real-Time Collision Detection, 2007). Levels with few
/// spheres join the next coarser one. All spheres are sorted at once, by level and cell
/// (sphere_cells.c); the cells' table is hashed where a level has more of them than it may have
/// memory. Of two levels one looks into the other, whichever costs less: many small spheres into
/// the few cells of a coarse level, a few large ones into the many of a fine level.
/// A level's cells are wide where its spheres are sparse, so that few lie across a border; but no
/// wider than a sample of its spheres says that they are spread, down to the width of the largest.
/// So heaps in empty space are searched like anything else.
/// Ghosts have levels of their own, which do not look into each other: two ghosts never meet.

#include "spheres/level_grid.h"
#include "base/parallel.h"
#include "spheres/sphere_kernels.h"
#include <math.h>
#include <string.h>

enum { RADIUS_BINS = 256 };

/// Spheres by the exponent of their radius.
typedef struct radius_bins {
	uint32_t count[RADIUS_BINS];
	float largest[RADIUS_BINS];
} radius_bins;

/// A class of radii.
typedef struct size_class {
	float smallest, largest; // bounds of its radii
	int64_t count;
	double width; // of its cells
} size_class;

typedef struct size_classes {
	size_class of[CR_LEVELS]; // those of ghosts last; of each kind coarse to fine
	int32_t count, owned;     // all, and those before the ghosts'
	int32_t level_of[RADIUS_BINS], ghost_level_of[RADIUS_BINS];
} size_classes;

typedef struct level_grid {
	cr_level_grid cells;
	cr_level_grid ghosts; // for cr_cells_sort alone
	cr_sphere_sample sample;
	cr_pair_batch *batches; // one for each worker
	radius_bins *bins;      // two for each worker: of spheres, of ghosts
	int workers;
} level_grid;

// ---- Classes ----

static inline int bin_of(float radius)
{
	uint32_t bits;
	memcpy(&bits, &radius, sizeof bits);
	return bits >> 23 & 0xff;
}

static void add_to_bins(radius_bins *bins, const cr_sphere *spheres, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		const int bin = bin_of(spheres[i].r);
		bins->count[bin]++;
		bins->largest[bin] = spheres[i].r > bins->largest[bin] ? spheres[i].r : bins->largest[bin];
	}
}

/// Classes with less than this many spheres may lie in cells that are too wide for them: even if
/// all were in one, comparing them with each other would cost no more than the rest.
static int64_t small_class(int64_t count) { return 64 + (int64_t)(4 * sqrt((double)count)); }

/// Is the bin to go to the class of larger spheres before it? The skin counts: sizes that differ by
/// less than it are alike.
static bool joins(const size_class *class, const radius_bins *bins, int bin, const cr_sphere_set *set)
{
	const int64_t small = small_class(set->count), count = bins->count[bin];
	if (class->count + count <= small || count <= small / 8)
		return true;
	const double pad = set->skin + set->slack;
	return 2.0 * class->largest + pad < 1.5 * (2.0 * bins->largest[bin] + pad);
}

/// Add the classes of some bins behind those that there are, up to `most` in all.
static void add_classes(
	size_classes *classes, int32_t most, const radius_bins *bins, const cr_sphere_set *set, int32_t level_of[RADIUS_BINS])
{
	const int32_t first = classes->count;
	for (int bin = RADIUS_BINS - 1; bin >= 0; bin--) {
		if (bins->count[bin] > 0) {
			const bool join =
				classes->count > first && (classes->count == most || joins(&classes->of[classes->count - 1], bins, bin, set));
			if (!join)
				classes->of[classes->count++] = (size_class){ .largest = bins->largest[bin] };
			size_class *class = &classes->of[classes->count - 1];
			class->count += bins->count[bin];
			const uint32_t bits = (uint32_t)bin << 23;
			memcpy(&class->smallest, &bits, sizeof bits);
		}
		level_of[bin] = classes->count > first ? classes->count - 1 : first;
	}
}

/// bins: [2] of spheres, of ghosts.
static void make_classes(size_classes *classes, const radius_bins *bins, const cr_sphere_set *set)
{
	classes->count = 0;
	add_classes(classes, set->ghosts > 0 ? CR_LEVELS / 2 : CR_LEVELS, &bins[0], set, classes->level_of);
	classes->owned = classes->count;
	if (set->ghosts > 0)
		add_classes(classes, CR_LEVELS, &bins[1], set, classes->ghost_level_of);
}

/// The least width of a level's cells: spheres that touch are at most one row apart. Rounding moves
/// a centre and a border by less than 2^-21 of the extent together.
static double least_width(const cr_sphere_set *set, const cr_sphere_sample *sample, float largest)
{
	double extent = 0;
	for (int k = 0; k < 3; k++)
		extent = fmax(extent, (double)sample->upper[k] - sample->lower[k]);
	return ((double)largest + cr_reach_pad(set, largest)) * (1 + 0x1p-18) + extent * 0x1p-20 + 0x1p-100;
}

// pairs in the same cube for each sphere; 1 where two spheres share a cube on average, at random
enum { CROWDED = 4 };

/// Two spheres in a cube of cells if they are spread evenly; narrower if they are not.
static double choose_width(const cr_sphere_set *set, cr_sphere_sample *sample, const size_class *class)
{
	const double least = least_width(set, sample, class->largest);
	double volume = 1, width = least;
	for (int k = 0; k < 3; k++)
		volume *= fmax((double)sample->upper[k] - sample->lower[k], least);
	while (width * width * width * (double)class->count < 2 * volume)
		width *= 1.25;
	while (width > least && cr_crowding(sample, width, class->smallest, class->largest, false) > CROWDED * (double)class->count)
		width /= 2;
	return width > least ? width : least;
}

// ---- The table of cells ----

/// Buckets of a level: a power of two, a quarter to half of its spheres.
static int64_t bucket_count(int64_t spheres)
{
	int64_t buckets = 1;
	while (4 * buckets < spheres)
		buckets *= 2;
	return buckets;
}

static uint32_t cell_limit(uint32_t count) { return 2 * count + 2 * CR_LEVELS * CR_STRIP_CELLS; }

/// The level's grid, from this bucket on; returns the number of its buckets.
static int64_t lay_out_level(cr_level_grid *grid, int32_t level, const cr_sphere_sample *sample, const size_class *class)
{
	double dim[3];
	for (int k = 0; k < 3; k++) {
		const double step = k == 0 ? class->width / 2 : class->width;
		dim[k] = floor(((double)sample->upper[k] - sample->lower[k]) / step) + 1;
	}
	grid->inverse[level] = (float)(1 / class->width);
	grid->inverse_x[level] = (float)(2 / class->width);
	grid->width[level] = (float)(class->width * (1 - 0x1p-22));
	grid->last_x[level] = (float)(dim[0] - 1);
	grid->last_y[level] = (float)(dim[1] - 1);
	grid->last_z[level] = (float)(dim[2] - 1);
	const int64_t buckets = bucket_count(class->count);
	const double strips = floor((dim[0] - 1) / CR_STRIP_CELLS) + 1;
	const bool fits = strips * dim[1] * dim[2] <= (double)buckets;
	grid->stride_y[level] = fits ? (int32_t)strips : 0;
	grid->stride_z[level] = fits ? (int32_t)(strips * dim[1]) : 0;
	grid->mask[level] = (int32_t)(buckets - 1);
	return buckets;
}

/// Returns the number of cells.
static uint32_t lay_out(
	cr_level_grid *grid, const cr_sphere_set *set, const cr_sphere_sample *sample, const size_classes *classes)
{
	int64_t bucket = 0;
	memcpy(grid->lower, sample->lower, sizeof grid->lower);
	memcpy(grid->level_of, classes->level_of, sizeof grid->level_of);
	grid->level_count = classes->count;
	for (int32_t level = 0; level < classes->count; level++) {
		grid->first_bucket[level] = (int32_t)bucket;
		bucket += lay_out_level(grid, level, sample, &classes->of[level]);
		grid->reach_pad[level] = cr_reach_pad(set, classes->of[level].largest);
	}
	return bucket > 0 ? (uint32_t)bucket * CR_STRIP_CELLS : 1;
}

// ---- Which level looks into which ----

// Costs in distances computed: a sphere that looks into the next cells of its own or a coarser
// level, one that looks into a finer one, and there a strip. Measured on a million spheres whose
// numbers fall with the square and the cube of their radius.
static const double LOOK_AROUND = 12, LOOK_FINER = 40, LOOK_INTO_STRIP = 6;
// And a comparison with spheres in a row, whatever their number.
static const double COMPARE_ALL = 0.6;

typedef struct look {
	cr_level_search fine, coarse; // the side of the search that each level takes
	double cost;                  // without the comparisons
} look;

static look choose_look(const cr_sphere_set *set, const size_class *fine, const size_class *coarse)
{
	const double reach = (double)coarse->largest + cr_reach_pad(set, fine->largest);
	const double rows = 2 * reach / fine->width + 1;
	const double up = LOOK_AROUND * (double)fine->count;
	const double down = (double)coarse->count * (LOOK_FINER + LOOK_INTO_STRIP * rows * rows * (rows / 2 + 1));
	const double all = COMPARE_ALL * (double)fine->count * (double)coarse->count;
	if (all <= up && all <= down) {
		return fine->count < coarse->count ? (look){ CR_LEVEL_ALL, CR_LEVEL_NOT, all }
										   : (look){ CR_LEVEL_NOT, CR_LEVEL_ALL, all };
	}
	return up <= down ? (look){ CR_LEVEL_COARSE, CR_LEVEL_NOT, up } : (look){ CR_LEVEL_NOT, CR_LEVEL_FINE, down };
}

static void plan_search(cr_level_grid *grid, const cr_sphere_set *set, const size_classes *classes)
{
	for (int32_t a = 0; a < classes->count; a++) {
		grid->search[a][a] = a < classes->owned ? CR_LEVEL_COARSE : CR_LEVEL_NOT;
		for (int32_t b = 0; b < a; b++) {
			look l = { CR_LEVEL_NOT, CR_LEVEL_NOT, 0 };
			const bool a_fine = classes->of[a].largest <= classes->of[b].largest;
			const int32_t fine = a_fine ? a : b, coarse = a_fine ? b : a;
			if (b < classes->owned) // else both hold ghosts
				l = choose_look(set, &classes->of[fine], &classes->of[coarse]);
			grid->search[fine][coarse] = (uint8_t)l.fine;
			grid->search[coarse][fine] = (uint8_t)l.coarse;
		}
	}
}

// ---- The detector ----

static carom_result make_state(level_grid **state, carom_context *context)
{
	level_grid *grid = *state ? *state : cr_alloc_zero(context, sizeof *grid);
	if (!grid)
		return cr_fail_memory(context, "the levels of spheres");
	*state = grid;
	grid->workers = context->thread_count;
	if (!grid->batches)
		grid->batches = cr_alloc_array(context, (size_t)grid->workers, sizeof *grid->batches);
	if (!grid->bins)
		grid->bins = cr_alloc_array(context, 2 * (size_t)grid->workers, sizeof *grid->bins);
	return grid->batches && grid->bins ? CAROM_SUCCESS : cr_fail_memory(context, "the levels of spheres");
}

typedef struct bins_task {
	const cr_sphere_set *set;
	radius_bins *bins;
} bins_task;

static void bin_part(int64_t begin, int64_t end, int worker, void *task)
{
	const bins_task *b = task;
	for (int64_t i = begin, run; i < end; i = run) {
		run = cr_run_end(b->set, i, end);
		add_to_bins(&b->bins[2 * worker + cr_is_ghost(b->set, (uint32_t)i)], b->set->spheres + i, run - i);
	}
}

static void join_bins(radius_bins *sum, const radius_bins *more)
{
	for (int b = 0; b < RADIUS_BINS; b++) {
		sum->count[b] += more->count[b];
		sum->largest[b] = more->largest[b] > sum->largest[b] ? more->largest[b] : sum->largest[b];
	}
}

/// All radii, in the first worker's bins.
static void fill_bins(level_grid *grid, const cr_sphere_set *set)
{
	memset(grid->bins, 0, 2 * (size_t)grid->workers * sizeof *grid->bins);
	bins_task task = { set, grid->bins };
	cr_parallel_for(set->context, bin_part, set->count, 8192, &task);
	for (int w = 2; w < 2 * grid->workers; w++)
		join_bins(&grid->bins[w % 2], &grid->bins[w]);
}

static carom_result build(void **state, const cr_sphere_set *set)
{
	carom_context *context = set->context;
	level_grid *grid = *state;
	const carom_result result = make_state(&grid, context);
	*state = grid;
	if (result != CAROM_SUCCESS)
		return result;
	cr_cells *cells = &grid->cells.cells;
	if (!cr_cells_reserve(cells, context, set->count, cell_limit(set->count), true))
		return cr_fail_memory(context, "the levels of spheres");
	size_classes classes;
	cr_take_sample(&grid->sample, set);
	fill_bins(grid, set);
	make_classes(&classes, grid->bins, set);
	for (int32_t level = 0; level < classes.count; level++)
		classes.of[level].width = choose_width(set, &grid->sample, &classes.of[level]);
	const uint32_t cell_count = lay_out(&grid->cells, set, &grid->sample, &classes);
	plan_search(&grid->cells, set, &classes);
	cr_level_grid *ghosts = &grid->ghosts; // the levels of ghosts' radii, else alike
	if (set->ghosts > 0) {
		*ghosts = grid->cells;
		memcpy(ghosts->level_of, classes.ghost_level_of, sizeof ghosts->level_of);
	}
	cr_cells_sort(cells, set, cell_count, cr_get_sphere_kernels(context->simd)->locate_levels, &grid->cells, ghosts);
	for (int32_t level = 0; level < classes.count; level++)
		grid->cells.begin[level] = (int32_t)cells->start[grid->cells.first_bucket[level] * CR_STRIP_CELLS];
	grid->cells.begin[classes.count] = (int32_t)set->count;
	return CAROM_SUCCESS;
}

typedef struct find_task {
	const level_grid *grid;
	const cr_sphere_set *set;
	const cr_pair_sink *sink;
	int32_t level;
} find_task;

static void find_part(int64_t begin, int64_t end, int worker, void *task)
{
	const find_task *f = task;
	const cr_sphere_search search = { f->set, f->sink, &f->grid->batches[worker], worker };
	const int64_t first = f->grid->cells.begin[f->level];
	if (!search.batch->stopped)
		cr_get_sphere_kernels(f->set->context->simd)
			->find_in_level(&f->grid->cells, &search, f->level, first + begin, first + end);
}

static carom_result find(void *state, const cr_sphere_set *set, const cr_pair_sink *sink, int64_t *tests)
{
	const level_grid *grid = state;
	cr_clear_batches(grid->batches, grid->workers);
	for (int32_t level = 0; level < grid->cells.level_count; level++) {
		const int64_t count = grid->cells.begin[level + 1] - grid->cells.begin[level];
		find_task task = { grid, set, sink, level };
		// Spheres of coarse levels, which are few, may have much to do.
		cr_parallel_for(set->context, find_part, count, count < 65536 ? 32 : 1024, &task);
	}
	*tests = cr_sum_tests(grid->batches, grid->workers);
	return CAROM_SUCCESS;
}

static size_t bytes(const void *state)
{
	const level_grid *grid = state;
	return sizeof *grid + cr_cells_bytes(&grid->cells.cells) +
		(size_t)grid->workers * (sizeof *grid->batches + 2 * sizeof *grid->bins);
}

static void release(carom_context *context, void *state)
{
	level_grid *grid = state;
	if (!grid)
		return;
	cr_cells_free(&grid->cells.cells, context);
	cr_free(context, grid->batches, (size_t)grid->workers * sizeof *grid->batches);
	cr_free(context, grid->bins, 2 * (size_t)grid->workers * sizeof *grid->bins);
	cr_free(context, grid, sizeof *grid);
}

const cr_sphere_detector cr_levels_detector = { build, NULL, find, NULL, bytes, release, NULL };

// ---- Expectation ----

double cr_levels_expected_tests(const cr_sphere_set *set)
{
	level_grid *grid = cr_alloc(set->context, sizeof *grid);
	if (!grid)
		return INFINITY;
	cr_sphere_sample *sample = &grid->sample;
	radius_bins bins[2] = { 0 }; // ghosts are taken for spheres like the others
	cr_take_sample(sample, set);
	add_to_bins(&bins[0], sample->spheres, sample->count);
	for (int b = 0; b < RADIUS_BINS; b++)
		bins[0].count[b] = (uint32_t)(bins[0].count[b] * sample->share);
	// The sample may lack the largest sphere, which must not be taken for as small as the others.
	add_to_bins(&bins[0], &(cr_sphere){ .r = set->r_max }, 1);
	size_classes classes;
	make_classes(&classes, bins, set);
	double tests = 0;
	for (int32_t level = 0; level < classes.count; level++) {
		size_class *class = &classes.of[level];
		class->width = choose_width(set, sample, class);
		// Finer spheres look at all cells around, those of the level at half of them; but they do
		// not reach as far.
		const double reach = 2.0 * class->largest + set->skin, compared = cr_compared(reach / class->width, 2);
		tests += compared * cr_crowding(sample, class->width, class->smallest, class->largest, false);
		tests += compared * cr_crowding(sample, class->width, class->smallest, class->largest, true);
		for (int32_t coarse = 0; coarse < level; coarse++)
			tests += choose_look(set, class, &classes.of[coarse]).cost;
	}
	cr_free(set->context, grid, sizeof *grid);
	return tests;
}
