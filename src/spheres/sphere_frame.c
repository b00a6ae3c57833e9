/// Looking at a frame, and cutting gaps out of it. See spheres/sphere_frame.h.
///
/// Gaps are found by bins: a pass notes of each bin of an axis how far down and up the intervals of
/// its spheres reach. Where all that lies below a bin ends before all from there on begins, there
/// is a gap; between gaps lie slabs. The next pass spreads the bins over the slabs, and so sees
/// gaps that are thousands of times narrower. Bins are joined by least and largest, so that nothing
/// depends on the threads.
#include "spheres/sphere_frame.h"
#include "base/array.h"
#include "base/parallel.h"
#include "base/spin_lock.h"
#include "spheres/sphere_cells.h"
#include <math.h>
#include <string.h>

enum {
	BINS = 1024, // of an axis, beside one for each slab
	MAX_PASSES = 8,
	MAX_SLABS = 1 << 16,
	MIN_PIECE = 8192,
	// pairs of a cube for each sphere, from where on a frame does not resolve its set
	CROWD = 4,
	SEEN_PAIRS = 8, // in the sample, at least: fewer may be chance
};

// Finest width that the detectors tell apart, as a share of the box: two cells of the Morton curve.
static const double CELL_SHARE = 0x1p-20;
// Errors of rounding about the middle are less than this share of the box.
static const double ROUNDING_SHARE = 0x1p-22;
// Below this squares vanish in single precision.
static const double LEAST_GRAIN = 0x1p-60;
// A cube this many times the grain wide along its diagonal.
static const double DIAGONAL = 1.7320509;

// ---- Looking ----

static double extent_of(const float lower[3], const float upper[3])
{
	double extent = 0;
	for (int k = 0; k < 3; k++)
		extent = fmax(extent, (double)upper[k] - lower[k]);
	return extent;
}

/// All in one cube of this width touch, so there is nothing to tell apart.
static bool all_touch(double grain, double r_min, double skin) { return grain * DIAGONAL <= 2 * r_min + skin; }

static bool is_crowded(cr_sphere_sample *sample, const cr_sphere_set *set)
{
	double grain = fmax(extent_of(sample->lower, sample->upper) * CELL_SHARE, LEAST_GRAIN);
	if (set->exact)
		grain = fmax(grain, extent_of(set->lower, set->upper) * ROUNDING_SHARE);
	const double pairs = cr_crowding(sample, grain, 0, INFINITY, false);
	return pairs > CROWD * (double)set->count && pairs > SEEN_PAIRS * sample->share * sample->share;
}

carom_result cr_check_frame(cr_sphere_set *set, bool *resolved)
{
	const double grain = fmax(extent_of(set->lower, set->upper) * CELL_SHARE, LEAST_GRAIN);
	*resolved = set->count < 2 || all_touch(grain, set->r_min, set->skin);
	if (*resolved)
		return CAROM_SUCCESS;
	cr_sphere_sample *sample = cr_alloc(set->context, sizeof *sample);
	if (!sample)
		return cr_fail_memory(set->context, "a sample of spheres");
	cr_take_sample(sample, set);
	*resolved = !is_crowded(sample, set);
	if (*resolved) {
		memcpy(set->lower, sample->lower, sizeof set->lower);
		memcpy(set->upper, sample->upper, sizeof set->upper);
	}
	cr_free(set->context, sample, sizeof *sample);
	return CAROM_SUCCESS;
}

// ---- Slabs ----

/// A stretch covered by the intervals of some spheres, with nothing but gaps around it.
typedef struct slab {
	double from;      // centres from here on, up to the next slab's
	double low, high; // ends of the covered stretch
	double inverse;   // bins for each unit of length from low on
	int32_t first_bin, bins;
	double shift; // that is subtracted in the end
} slab;

/// How far the spheres of a bin reach down and up.
typedef struct bin {
	double low, high;
} bin;

typedef struct axis {
	CR_ARRAY(slab) slabs, next;
	double covered; // by all slabs
	int32_t bins;
	bool done; // no pass finds more
} axis;

/// One cut on its way.
typedef struct cut_task {
	carom_context *context;
	const double *exact;
	double half_skin, least_gap[3];
	axis axes[3];
	bin *bins; // [workers][bins of all axes], one after the other
	int64_t bin_count, bin_capacity;
	cr_sphere *spheres;
	atomic_flag lock;
	cr_bounds4 bounds;
} cut_task;

/// The slab that a centre is in: the last one that begins at it or before.
static inline const slab *slab_of(const axis *a, double x)
{
	const slab *first = a->slabs.data;
	for (int64_t count = a->slabs.count; count > 1;) {
		const int64_t half = count / 2;
		first = first[half].from <= x ? first + half : first;
		count -= half;
	}
	return first;
}

/// Half of the interval that a sphere covers: see the claims in the header.
static inline double half_of(const cut_task *task, double radius)
{
	return (radius + task->half_skin) * (1 + 0x1p-40) + 0x1p-100;
}

static void bin_piece(int64_t begin, int64_t end, int worker, void *user)
{
	const cut_task *task = user;
	bin *bins = task->bins + worker * task->bin_count;
	for (int k = 0; k < 3; bins += task->axes[k++].bins) {
		const axis *a = &task->axes[k];
		for (int64_t i = begin; i < end && !a->done; i++) {
			const double x = task->exact[4 * i + k], h = half_of(task, task->exact[4 * i + 3]);
			const slab *s = slab_of(a, x);
			const double at = (x - s->low) * s->inverse;
			const double last = s->bins - 1;
			bin *b = &bins[s->first_bin + (int32_t)(at > 0 ? at < last ? at : last : 0)];
			b->low = x - h < b->low ? x - h : b->low;
			b->high = x + h > b->high ? x + h : b->high;
		}
	}
}

/// Bins for the slabs of an axis: more for wider ones.
static void share_bins(axis *a)
{
	a->bins = 0;
	for (int64_t i = 0; i < a->slabs.count; i++) {
		slab *s = &a->slabs.data[i];
		const double width = s->high - s->low;
		s->first_bin = a->bins;
		s->bins = 1 + (int32_t)(a->covered > 0 ? BINS * (width / a->covered) : 0);
		s->inverse = width > 0 ? s->bins / width : 0;
		a->bins += s->bins;
	}
}

static bool reserve_bins(cut_task *task)
{
	task->bin_count = 0;
	for (int k = 0; k < 3; k++) {
		share_bins(&task->axes[k]);
		task->bin_count += task->axes[k].bins;
	}
	const int64_t want = task->bin_count * task->context->thread_count;
	if (want > task->bin_capacity) {
		cr_free(task->context, task->bins, (size_t)task->bin_capacity * sizeof *task->bins);
		task->bins = cr_alloc_array(task->context, (size_t)want, sizeof *task->bins);
		task->bin_capacity = task->bins ? want : 0;
	}
	for (int64_t i = 0; task->bins && i < want; i++)
		task->bins[i] = (bin){ INFINITY, -INFINITY };
	return task->bins != NULL;
}

/// All workers' bins, into those of the first.
static void join_bins(cut_task *task)
{
	for (int64_t w = 1; w < task->context->thread_count; w++) {
		const bin *other = task->bins + w * task->bin_count;
		for (int64_t i = 0; i < task->bin_count; i++) {
			task->bins[i].low = fmin(task->bins[i].low, other[i].low);
			task->bins[i].high = fmax(task->bins[i].high, other[i].high);
		}
	}
}

/// New slabs from the bins of an axis: a bin's low becomes that of all from there on, so that a gap
/// shows where it exceeds the highest reach of the bins below. False when out of memory.
static bool find_slabs(cut_task *task, int k, bin *bins)
{
	axis *a = &task->axes[k];
	for (int32_t i = a->bins - 1; i-- > 0;)
		bins[i].low = fmin(bins[i].low, bins[i + 1].low);
	a->next.count = 0;
	a->covered = 0;
	double reached = -INFINITY;
	for (int32_t i = 0; i < a->bins; i++) {
		if (bins[i].high == -INFINITY)
			continue; // no sphere
		slab *last = a->next.count > 0 ? &a->next.data[a->next.count - 1] : NULL;
		if (!last || bins[i].low - reached > task->least_gap[k]) {
			if (!cr_array_reserve(task->context, &a->next, a->next.count + 1))
				return false;
			last = &a->next.data[a->next.count++];
			*last = (slab){ .from = a->next.count > 1 ? reached + (bins[i].low - reached) / 2 : -INFINITY, .low = bins[i].low };
		}
		reached = fmax(reached, bins[i].high);
		last->high = reached;
	}
	for (int64_t i = 0; i < a->next.count; i++)
		a->covered += a->next.data[i].high - a->next.data[i].low;
	a->done = a->next.count == a->slabs.count || a->next.count > MAX_SLABS;
	if (!cr_array_reserve(task->context, &a->slabs, a->next.count))
		return false;
	memcpy(a->slabs.data, a->next.data, (size_t)a->next.count * sizeof *a->slabs.data);
	a->slabs.count = a->next.count;
	return true;
}

/// One pass over all spheres. False when out of memory.
static bool refine_slabs(cut_task *task, uint32_t count)
{
	if (!reserve_bins(task))
		return false;
	cr_parallel_for(task->context, bin_piece, count, MIN_PIECE, task);
	join_bins(task);
	bin *bins = task->bins;
	for (int k = 0; k < 3; k++) {
		const int32_t used = task->axes[k].bins;
		if (!task->axes[k].done && !find_slabs(task, k, bins))
			return false;
		bins += used;
	}
	return true;
}

static bool all_done(const cut_task *task) { return task->axes[0].done && task->axes[1].done && task->axes[2].done; }

/// Each axis as one slab from the least to the largest centre.
static bool begin_slabs(cut_task *task, const cr_bounds4 *box)
{
	for (int k = 0; k < 3; k++) {
		axis *a = &task->axes[k];
		if (!cr_array_reserve(task->context, &a->slabs, 1))
			return false;
		const double h = half_of(task, box->upper[3]);
		a->slabs.data[a->slabs.count++] = (slab){ .from = -INFINITY, .low = box->lower[k] - h, .high = box->upper[k] + h };
		a->covered = a->slabs.data[0].high - a->slabs.data[0].low;
		task->least_gap[k] = fmax(fabs(box->lower[k]), fabs(box->upper[k])) * 0x1p-47 + 0x1p-49;
	}
	return true;
}

/// Where each slab goes: one after the other, half of the least gap between them, the middle at 0.
static void place_slabs(cut_task *task)
{
	for (int k = 0; k < 3; k++) {
		axis *a = &task->axes[k];
		const double gap = task->least_gap[k] / 2;
		double at = -(a->covered + gap * (double)(a->slabs.count - 1)) / 2;
		for (int64_t i = 0; i < a->slabs.count; i++) {
			slab *s = &a->slabs.data[i];
			s->shift = s->low - at;
			at += s->high - s->low + gap;
		}
	}
}

// ---- Rounding ----

static void round_piece(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	cut_task *task = user;
	cr_bounds4 bounds;
	cr_clear_bounds(&bounds);
	for (int64_t i = begin; i < end; i++) {
		const double *s = task->exact + 4 * i;
		float at[4] = { 0, 0, 0, (float)s[3] };
		for (int k = 0; k < 3; k++)
			at[k] = (float)(s[k] - slab_of(&task->axes[k], s[k])->shift);
		task->spheres[i] = (cr_sphere){ at[0], at[1], at[2], at[3] };
		for (int k = 0; k < 4; k++) {
			bounds.lower[k] = at[k] < bounds.lower[k] ? at[k] : bounds.lower[k];
			bounds.upper[k] = at[k] > bounds.upper[k] ? at[k] : bounds.upper[k];
		}
	}
	cr_lock(&task->lock);
	cr_join_bounds(&task->bounds, &bounds);
	cr_unlock(&task->lock);
}

static bool cut(cut_task *task, uint32_t count, const cr_bounds4 *box)
{
	if (!begin_slabs(task, box))
		return false;
	for (int pass = 0; pass < MAX_PASSES && !all_done(task); pass++) {
		if (!refine_slabs(task, count))
			return false;
		for (int k = 0; k < 3; k++) // no search where it would save nothing
			task->axes[k].done |= all_touch(task->axes[k].covered * CELL_SHARE, box->lower[3], 2 * task->half_skin);
	}
	place_slabs(task);
	cr_clear_bounds(&task->bounds);
	cr_parallel_for(task->context, round_piece, count, MIN_PIECE, task);
	return true;
}

carom_result cr_cut_gaps(
	carom_context *context, const double *exact, uint32_t count, double skin, cr_sphere *spheres, cr_bounds4 *bounds)
{
	cut_task task = { .context = context, .exact = exact, .half_skin = skin / 2, .spheres = spheres, .lock = ATOMIC_FLAG_INIT };
	const bool done = cut(&task, count, bounds);
	*bounds = task.bounds;
	for (int k = 0; k < 3; k++) {
		cr_array_free(context, &task.axes[k].slabs);
		cr_array_free(context, &task.axes[k].next);
	}
	cr_free(context, task.bins, (size_t)task.bin_capacity * sizeof *task.bins);
	return done ? CAROM_SUCCESS : cr_fail_memory(context, "the gaps between spheres");
}
