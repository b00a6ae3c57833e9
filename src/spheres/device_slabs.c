/// The detector of spheres that several devices share (Lehericey 2016, 2.2.3: each does a part of
/// the work, which is parted so that little is needed twice).
///
/// A grid of CELLS cells is laid over the spheres, and the cells, in the order of the Morton curve,
/// are cut into slabs that hold about as many spheres each. A sphere is of the slab in whose cell
/// its centre is. A device has the spheres of its slab and, as guests, those of later slabs that
/// may touch them; it reports pairs of which at least one is its own.
///
/// Each pair is found once. Proof: let a and b touch, a in the earlier slab (or both in one). The
/// device of that slab has a. It has b, as its own or as a guest: no coordinate of a's centre is
/// farther from b's than R = r_b + the largest radius + skin + slack, so a's cell lies among those
/// that the box of half width R around b meets, since cells are computed by a function that does
/// not fall (make_cell), and guest_slabs looks at all of them, or takes all earlier slabs. A device
/// of a later slab has at most b of the two, one of another earlier slab at most both as guests.
///
/// Each device sorts its pairs, and the processor merges the lists.
#include "base/parallel.h"
#include "spheres/device_order.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	AXIS_BITS = 5,
	AXIS_CELLS = 1 << AXIS_BITS,
	CELLS = 1 << (3 * AXIS_BITS),
	MOST_CELLS = 512, // that one sphere looks at for slabs to be a guest of
	MERGED_PIECES = 64,
	TEXT = 256,
};

typedef struct device_slab {
	carom_device *device;
	cr_gpu_tree tree;
	cr_device_order order;
	CR_ARRAY(cr_sphere) spheres; // own ones, then guests
	CR_ARRAY(uint32_t) places;   // of the set
	CR_ARRAY(uint32_t) names;    // as cr_gpu_naming has them
	uint32_t own;
	cr_pair_array pairs;      // where the processor does not reach those of the device
	carom_sphere_pairs shown; // found last
	uint64_t found;           // last, those in doubt included
	double cost;
	cr_gpu_search search;
	carom_result result;
	char text[TEXT]; // of a failure: workers have texts of their own
} device_slab;

typedef struct device_slabs {
	carom_context *context;
	int32_t count;
	double lower[3], scale; // of cells
	uint8_t slab_of[CELLS]; // by code along the curve
	uint32_t counts[CELLS]; // of spheres, likewise
	device_slab slabs[CAROM_MAX_DEVICES];
} device_slabs;

// ---- Cells ----

static void lay_grid(device_slabs *s, const cr_sphere_set *set)
{
	double extent = 0;
	for (int k = 0; k < 3; k++) {
		s->lower[k] = set->lower[k];
		extent = fmax(extent, (double)set->upper[k] - set->lower[k]);
	}
	s->scale = extent > 0 ? AXIS_CELLS / extent : 0;
}

/// The cell along an axis: it does not fall where x grows.
static int make_cell(const device_slabs *s, int axis, double x)
{
	const double cell = (x - s->lower[axis]) * s->scale;
	return cell > 0 ? cell < AXIS_CELLS - 1 ? (int)cell : AXIS_CELLS - 1 : 0;
}

/// Five bits, two zeros between neighbours.
static uint32_t spread(int cell)
{
	uint32_t code = 0;
	for (int bit = 0; bit < AXIS_BITS; bit++)
		code |= ((uint32_t)cell >> bit & 1) << (3 * bit);
	return code;
}

static uint32_t make_code(const device_slabs *s, const cr_sphere *p)
{
	return spread(make_cell(s, 0, p->x)) | spread(make_cell(s, 1, p->y)) << 1 | spread(make_cell(s, 2, p->z)) << 2;
}

/// Cut the curve so that slabs hold about as many spheres each.
static void cut_curve(device_slabs *s, const cr_sphere_set *set)
{
	uint32_t *counts = s->counts;
	memset(s->counts, 0, sizeof s->counts);
	for (uint32_t i = 0; i < set->count; i++)
		counts[make_code(s, &set->spheres[i])]++;
	uint64_t before = 0;
	for (int code = 0; code < CELLS; code++) {
		// by the middle of the cell's spheres
		const uint64_t slab = (2 * before + counts[code]) * (uint64_t)s->count / (2 * (uint64_t)set->count);
		s->slab_of[code] = (uint8_t)(slab < (uint64_t)s->count ? slab : (uint64_t)s->count - 1);
		before += counts[code];
	}
}

// ---- Guests ----

/// The slabs before `own`, as bits, whose spheres this one may touch.
static uint32_t guest_slabs(const device_slabs *s, const cr_sphere_set *set, const cr_sphere *p, int own)
{
	const double at[3] = { p->x, p->y, p->z };
	const double reach = ((double)p->r + set->r_max + set->skin + set->slack) * (1 + 0x1p-20) + 0x1p-100;
	int low[3], high[3];
	int64_t cells = 1;
	for (int k = 0; k < 3; k++) {
		low[k] = make_cell(s, k, at[k] - reach);
		high[k] = make_cell(s, k, at[k] + reach);
		cells *= high[k] - low[k] + 1;
	}
	const uint32_t earlier = (1u << own) - 1;
	if (cells > MOST_CELLS)
		return earlier;
	uint32_t slabs = 0;
	for (int z = low[2]; z <= high[2]; z++) {
		for (int y = low[1]; y <= high[1]; y++) {
			for (int x = low[0]; x <= high[0]; x++)
				slabs |= 1u << s->slab_of[spread(x) | spread(y) << 1 | spread(z) << 2];
		}
	}
	return slabs & earlier;
}

static carom_result add_place(device_slabs *s, device_slab *to, const cr_sphere_set *set, uint32_t place)
{
	if (!cr_array_reserve_one(s->context, &to->spheres) || !cr_array_reserve_one(s->context, &to->places) ||
		!cr_array_reserve_one(s->context, &to->names))
		return cr_fail_memory(s->context, "spheres of a slab");
	to->spheres.data[to->spheres.count++] = set->spheres[place];
	to->places.data[to->places.count++] = place;
	to->names.data[to->names.count++] = place < set->real ? place : set->owner[place - set->real];
	return CAROM_SUCCESS;
}

static carom_result deal_spheres(device_slabs *s, const cr_sphere_set *set)
{
	carom_result result = CAROM_SUCCESS;
	for (int32_t k = 0; k < s->count; k++)
		s->slabs[k].spheres.count = s->slabs[k].places.count = s->slabs[k].names.count = 0;
	for (uint32_t i = 0; i < set->count && result == CAROM_SUCCESS; i++)
		result = add_place(s, &s->slabs[s->slab_of[make_code(s, &set->spheres[i])]], set, i);
	for (int32_t k = 0; k < s->count; k++)
		s->slabs[k].own = (uint32_t)s->slabs[k].places.count;
	for (int32_t k = 1; k < s->count; k++) {
		for (uint32_t i = 0; i < s->slabs[k].own && result == CAROM_SUCCESS; i++) {
			uint32_t slabs = guest_slabs(s, set, &s->slabs[k].spheres.data[i], k);
			for (int32_t to = 0; slabs != 0 && result == CAROM_SUCCESS; to++, slabs >>= 1) {
				if (slabs & 1)
					result = add_place(s, &s->slabs[to], set, s->slabs[k].places.data[i]);
			}
		}
	}
	return result;
}

// ---- All devices at once ----

typedef carom_result slab_fn(device_slab *slab, const cr_sphere_set *set, bool parallel);

typedef struct slab_task {
	device_slabs *slabs;
	const cr_sphere_set *set;
	slab_fn *fn;
} slab_task;

static void run_slab(int64_t begin, int64_t end, int worker, void *task_pointer)
{
	(void)worker;
	const slab_task *task = task_pointer;
	for (int64_t k = begin; k < end; k++) {
		device_slab *one = &task->slabs->slabs[k];
		cr_gpu_lock(one->device);
		one->result = cr_gpu_unlock(one->device, task->fn(one, task->set, task->slabs->count == 1));
		if (one->result != CAROM_SUCCESS)
			snprintf(one->text, sizeof one->text, "%s", carom_error_text(task->slabs->context));
	}
}

/// Do something on each device; the first failure is that of the call.
static carom_result run_slabs(device_slabs *s, const cr_sphere_set *set, slab_fn *fn)
{
	slab_task task = { s, set, fn };
	cr_parallel_for(s->context, run_slab, s->count, 1, &task);
	for (int32_t k = 0; k < s->count; k++) {
		if (s->slabs[k].result != CAROM_SUCCESS)
			return cr_fail(s->context, s->slabs[k].result, "%s", s->slabs[k].text);
	}
	return CAROM_SUCCESS;
}

// ---- Building ----

static carom_result build_slab(device_slab *slab, const cr_sphere_set *set, bool parallel)
{
	(void)parallel;
	return cr_gpu_build_tree(slab->device, &slab->tree, (const float *)(const void *)slab->spheres.data,
		(uint32_t)slab->spheres.count, set->lower, set->upper, cr_device_reach(set), false, &slab->cost);
}

static carom_result build(void **state_pointer, const cr_sphere_set *set)
{
	device_slabs *s = *state_pointer;
	if (!s) {
		s = cr_alloc_zero(set->context, sizeof *s);
		if (!s)
			return cr_fail_memory(set->context, "spheres on devices");
		s->context = set->context;
		s->count = set->device_count;
		for (int32_t k = 0; k < s->count; k++) {
			s->slabs[k].device = set->devices[k];
			s->slabs[k].tree.tier = set->devices[k]->def.tier;
		}
		*state_pointer = s;
	}
	lay_grid(s, set);
	cut_curve(s, set);
	const carom_result result = deal_spheres(s, set);
	return result == CAROM_SUCCESS ? run_slabs(s, set, build_slab) : result;
}

// ---- Pairs ----

static carom_result search_slab(device_slab *slab, const cr_sphere_set *set, bool parallel)
{
	const cr_device_places places = { .set = set,
		.naming = { slab->names.data, set->real, cr_owned_spheres(set), slab->own, !set->exact, set->skin },
		.places = slab->places.data,
		.parallel = parallel };
	const uint64_t want = cr_expected_pairs(slab->found, (uint64_t)slab->places.count);
	cr_sorted_search search = { .pairs = &slab->pairs };
	const carom_result result = cr_order_pairs(slab->device, &slab->tree, want, &places, &slab->order, &search, &slab->search);
	slab->found = slab->search.pairs;
	slab->shown = search.shown;
	return result != CAROM_SUCCESS || search.done
		? result
		: cr_fail(set->context, CAROM_OVER_BUDGET, "%s: there is no room for the %llu pairs of a slab", slab->device->info.name,
			  (unsigned long long)slab->found);
}

static carom_result search_slabs(device_slabs *s, const cr_sphere_set *set, int64_t *tests)
{
	const carom_result result = run_slabs(s, set, search_slab);
	*tests = 0;
	for (int32_t k = 0; k < s->count; k++)
		*tests += (int64_t)s->slabs[k].search.tests;
	return result;
}

typedef struct hand_task {
	const carom_sphere_pair *pairs;
	const cr_pair_sink *sink;
	atomic_bool stopped;
} hand_task;

static void hand_piece(int64_t begin, int64_t end, int worker, void *task_pointer)
{
	hand_task *task = task_pointer;
	for (int64_t i = begin; i < end && !atomic_load_explicit(&task->stopped, memory_order_relaxed); i += CR_PAIR_BATCH) {
		const int64_t count = end - i < CR_PAIR_BATCH ? end - i : CR_PAIR_BATCH;
		if (!task->sink->take(task->pairs + i, count, worker, task->sink->user))
			atomic_store_explicit(&task->stopped, true, memory_order_relaxed);
	}
}

static carom_result find_pairs(void *state_pointer, const cr_sphere_set *set, const cr_pair_sink *sink, int64_t *tests)
{
	device_slabs *s = state_pointer;
	const carom_result result = search_slabs(s, set, tests);
	hand_task task = { .sink = sink };
	for (int32_t k = 0; k < s->count && result == CAROM_SUCCESS; k++) {
		task.pairs = s->slabs[k].shown.pairs;
		cr_parallel_for(s->context, hand_piece, s->slabs[k].shown.count, CR_PAIR_BATCH, &task);
	}
	return result;
}

// ---- Merging ----

typedef struct merge_task {
	const device_slabs *slabs;
	uint32_t spheres;
	carom_sphere_pair *out;
} merge_task;

/// The first pair of a list whose a is not below this one.
static int64_t first_from(const carom_sphere_pairs *list, uint64_t a)
{
	int64_t low = 0;
	for (int64_t high = list->count; low < high;) {
		const int64_t middle = low + (high - low) / 2;
		if (list->pairs[middle].a < a)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool precedes(const carom_sphere_pair *p, const carom_sphere_pair *q)
{
	return p->a != q->a ? p->a < q->a : p->b < q->b;
}

/// A piece is a range of spheres: the pairs of each list whose a is in it.
static void merge_piece(int64_t begin, int64_t end, int worker, void *task_pointer)
{
	(void)worker;
	const merge_task *task = task_pointer;
	const device_slabs *s = task->slabs;
	const carom_sphere_pair *next[CAROM_MAX_DEVICES], *last[CAROM_MAX_DEVICES];
	const uint64_t from = (uint64_t)begin * task->spheres / MERGED_PIECES, to = (uint64_t)end * task->spheres / MERGED_PIECES;
	int64_t at = 0, left = 0;
	for (int32_t k = 0; k < s->count; k++) {
		const carom_sphere_pairs *list = &s->slabs[k].shown;
		const int64_t first = first_from(list, from), count = first_from(list, to) - first;
		next[k] = list->pairs + first;
		last[k] = next[k] + count;
		at += first;
		left += count;
	}
	for (; left > 0; left--) {
		int32_t least = -1;
		for (int32_t k = 0; k < s->count; k++) {
			if (next[k] < last[k] && (least < 0 || precedes(next[k], next[least])))
				least = k;
		}
		task->out[at++] = *next[least]++;
	}
}

static carom_result find_sorted(
	void *state_pointer, const cr_sphere_set *set, const cr_pair_sink *sink, cr_sorted_search *search, int64_t *tests)
{
	device_slabs *s = state_pointer;
	if (!search->pairs) // they are brought to the first device
		return find_pairs(s, set, sink, tests);
	const carom_result result = search_slabs(s, set, tests);
	if (result != CAROM_SUCCESS)
		return result;
	int64_t count = 0;
	for (int32_t k = 0; k < s->count; k++)
		count += s->slabs[k].shown.count;
	if (!cr_array_reserve_fresh(set->context, search->pairs, count))
		return cr_fail_memory(set->context, "pairs from devices");
	merge_task task = { s, set->real, search->pairs->data };
	cr_parallel_for(s->context, merge_piece, MERGED_PIECES, 1, &task);
	search->pairs->count = count;
	search->shown = (carom_sphere_pairs){ search->pairs->data, count };
	search->done = true;
	return CAROM_SUCCESS;
}

// ---- Further entries of the table ----

static double cost(const void *state_pointer)
{
	const device_slabs *s = state_pointer;
	double sum = 0;
	for (int32_t k = 0; k < s->count; k++)
		sum += s->slabs[k].cost;
	return sum;
}

static size_t bytes(const void *state_pointer)
{
	const device_slabs *s = state_pointer;
	size_t sum = sizeof *s;
	for (int32_t k = 0; k < s->count; k++) {
		const device_slab *one = &s->slabs[k];
		sum += cr_device_order_bytes(&one->order) + (size_t)one->spheres.capacity * sizeof *one->spheres.data +
			(size_t)(one->places.capacity + one->names.capacity) * sizeof(uint32_t) +
			(size_t)one->pairs.capacity * sizeof *one->pairs.data;
	}
	return sum;
}

static void release(carom_context *context, void *state_pointer)
{
	device_slabs *s = state_pointer;
	for (int32_t k = 0; k < s->count; k++) {
		device_slab *one = &s->slabs[k];
		cr_gpu_lock(one->device);
		cr_gpu_free_tree(one->device, &one->tree);
		cr_free_device_order(context, one->device, &one->order);
		cr_gpu_unlock(one->device, CAROM_SUCCESS);
		cr_array_free(context, &one->spheres);
		cr_array_free(context, &one->places);
		cr_array_free(context, &one->names);
		cr_array_free(context, &one->pairs);
	}
	cr_free(context, s, sizeof *s);
}

const cr_sphere_detector cr_slabs_detector = { build, NULL, find_pairs, cost, bytes, release, find_sorted };
