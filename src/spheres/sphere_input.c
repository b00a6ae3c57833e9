/// Sweeps over the caller's arrays. See spheres/sphere_input.h.
#include "spheres/sphere_input.h"
#include "mesh/strided.h"
#include "base/parallel.h"
#include "base/spin_lock.h"
#include "spheres/sphere_cookie.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum {
	// Spheres read at a time: 2 KB of double, which stay in the first-level cache.
	BLOCK = 64,
	// Least spheres of a piece: some ten microseconds of work.
	MIN_PIECE = 8192,
};

cr_sphere_space cr_make_space(const carom_spheres_def *def)
{
	cr_sphere_space space = { 0 };
	for (int k = 0; k < 3; k++) {
		if (!def->periodic[k])
			continue;
		space.periodic[k] = true;
		space.period[k] = def->period[k];
		int exponent;
		frexp(def->period[k], &exponent);
		space.grain[k] = ldexp(1, exponent - DBL_MANT_DIG);
	}
	return space;
}

/// Into 0..period (the end excluded), cut to the grain.
static double wrap(const cr_sphere_space *space, int axis, double x)
{
	const double period = space->period[axis], grain = space->grain[axis];
	// The second time for coordinates so far outside that their own last place is more than a
	// period.
	for (int round = 0; round < 2 && !(x >= 0 && x < period); round++)
		x -= period * floor(x / period);
	// rounding took it to the end, or there was no precision left at all
	if (!(x >= 0 && x < period))
		return 0;
	// below 2^53 grains; a power of two, so that both operations are exact
	return (double)(int64_t)(x / grain) * grain;
}

// ---- Reading ----

static cr_view_form find_form(const cr_sphere_view *view)
{
	if (view->double_centres || view->double_radii || (uintptr_t)view->centres % sizeof(float) != 0 ||
		(uintptr_t)view->radii % sizeof(float) != 0)
		return CR_VIEW_ANY;
	if (view->centre_stride == 3 * (int64_t)sizeof(float) && view->radius_stride == (int64_t)sizeof(float))
		return CR_VIEW_PACKED;
	if (view->centre_stride == (int64_t)sizeof(cr_sphere) && view->radius_stride == (int64_t)sizeof(cr_sphere) &&
		(uintptr_t)view->radii == (uintptr_t)view->centres + 3 * sizeof(float))
		return CR_VIEW_RECORDS;
	return CR_VIEW_ANY;
}

carom_result cr_view_input(carom_context *context, const carom_sphere_input *input, cr_sphere_view *view)
{
	if (input->cookie != CR_SPHERE_INPUT_COOKIE)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_sphere_input.cookie: start from carom_default_sphere_input");
	if (input->count < 0 || input->count > CAROM_MAX_SPHERES)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_sphere_input.count is %lld, not in 0 to %d",
			(long long)input->count, CAROM_MAX_SPHERES);
	carom_result result = cr_check_strided(context, "carom_sphere_input.centres", &input->centres, input->count, "spheres", 3);
	if (result == CAROM_SUCCESS)
		result = cr_check_strided(context, "carom_sphere_input.radii", &input->radii, input->count, "spheres", 1);
	if (result != CAROM_SUCCESS)
		return result;
	if (isnan(input->moved))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_sphere_input.moved is NaN");
	if (input->owned > input->count)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_sphere_input.owned is %lld, more than count %lld",
			(long long)input->owned, (long long)input->count);
	if (input->ids && input->ids64)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_sphere_input.ids and ids64 are both given");
	*view = (cr_sphere_view){
		.centres = input->centres.data,
		.radii = input->radii.data,
		.centre_stride = cr_strided_pitch(&input->centres, 3),
		.radius_stride = cr_strided_pitch(&input->radii, 1),
		.double_centres = input->centres.type == CAROM_FLOAT64,
		.double_radii = input->radii.type == CAROM_FLOAT64,
		.count = input->count,
	};
	view->form = find_form(view);
	return CAROM_SUCCESS;
}

static inline void read_any(const cr_sphere_view *view, int64_t i, double sphere[4])
{
	const char *centre = view->centres + i * view->centre_stride, *radius = view->radii + i * view->radius_stride;
	float narrow[3];
	if (view->double_centres) {
		memcpy(sphere, centre, 3 * sizeof(double));
	} else {
		memcpy(narrow, centre, sizeof narrow);
		for (int k = 0; k < 3; k++)
			sphere[k] = narrow[k];
	}
	if (view->double_radii) {
		memcpy(sphere + 3, radius, sizeof(double));
	} else {
		memcpy(narrow, radius, sizeof(float));
		sphere[3] = narrow[0];
	}
}

static void read_block(const cr_sphere_view *view, int64_t begin, int count, double block[][4])
{
	if (view->form == CR_VIEW_RECORDS) {
		const float *from = (const float *)(const void *)view->centres + 4 * begin;
		for (int i = 0; i < count; i++) {
			for (int k = 0; k < 4; k++)
				block[i][k] = from[4 * i + k];
		}
		return;
	}
	for (int i = 0; i < count; i++)
		read_any(view, begin + i, block[i]);
}

static void wrap_block(const cr_sphere_space *space, int count, double block[][4])
{
	for (int k = 0; k < 3; k++) {
		if (!space->periodic[k])
			continue;
		for (int i = 0; i < count; i++)
			block[i][k] = wrap(space, k, block[i][k]);
	}
}

// ---- Bounds ----

void cr_clear_bounds(cr_bounds4 *bounds)
{
	for (int k = 0; k < 4; k++) {
		bounds->lower[k] = INFINITY;
		bounds->upper[k] = -INFINITY;
	}
}

void cr_join_bounds(cr_bounds4 *bounds, const cr_bounds4 *other)
{
	for (int k = 0; k < 4; k++) {
		bounds->lower[k] = other->lower[k] < bounds->lower[k] ? other->lower[k] : bounds->lower[k];
		bounds->upper[k] = other->upper[k] > bounds->upper[k] ? other->upper[k] : bounds->upper[k];
	}
}

/// Also returns whether all are finite.
static bool bound_block(int count, double block[][4], cr_bounds4 *bounds)
{
	cr_bounds4 found = *bounds;
	double poison[4] = { 0 };
	for (int i = 0; i < count; i++) {
		for (int k = 0; k < 4; k++) {
			const double v = block[i][k];
			found.lower[k] = v < found.lower[k] ? v : found.lower[k];
			found.upper[k] = v > found.upper[k] ? v : found.upper[k];
			poison[k] += v * 0;
		}
	}
	*bounds = found;
	return poison[0] + poison[1] + poison[2] + poison[3] == 0;
}

enum { MAX_LANES = 16 };

/// Bounds of floats in lanes that alternate; count is a multiple of lanes, which is constant where
/// this is used.
static inline bool bound_lanes(const float *values, int64_t count, int lanes, float *low, float *high)
{
	float lower[MAX_LANES], upper[MAX_LANES], poison[MAX_LANES];
	for (int k = 0; k < lanes; k++) {
		lower[k] = INFINITY;
		upper[k] = -INFINITY;
		poison[k] = 0;
	}
	for (int64_t i = 0; i < count; i += lanes) {
		for (int k = 0; k < lanes; k++) {
			const float v = values[i + k];
			lower[k] = v < lower[k] ? v : lower[k];
			upper[k] = v > upper[k] ? v : upper[k];
			poison[k] += v * 0;
		}
	}
	float sum = 0;
	for (int k = 0; k < lanes; k++) {
		low[k] = lower[k];
		high[k] = upper[k];
		sum += poison[k];
	}
	return sum == 0;
}

/// Spheres that bound_quads takes at once: as many lanes of each form.
enum { QUAD = 4 };

/// Bounds of float32 input without a copy; begin..end-1 are a multiple of QUAD.
static bool bound_quads(const cr_sphere_view *view, int64_t begin, int64_t end, cr_bounds4 *bounds)
{
	float low[MAX_LANES], high[MAX_LANES], low_radius[QUAD], high_radius[QUAD];
	const float *centres = (const float *)(const void *)view->centres, *radii = (const float *)(const void *)view->radii;
	const bool records = view->form == CR_VIEW_RECORDS;
	bool finite;
	if (records) {
		finite = bound_lanes(centres + 4 * begin, 4 * (end - begin), 4 * QUAD, low, high);
	} else {
		finite = bound_lanes(centres + 3 * begin, 3 * (end - begin), 3 * QUAD, low, high);
		finite = bound_lanes(radii + begin, end - begin, QUAD, low_radius, high_radius) && finite;
	}
	for (int i = 0; i < QUAD; i++) {
		const float *l = low + (records ? 4 : 3) * i, *h = high + (records ? 4 : 3) * i;
		const cr_bounds4 lane = { { l[0], l[1], l[2], records ? l[3] : low_radius[i] },
			{ h[0], h[1], h[2], records ? h[3] : high_radius[i] } };
		cr_join_bounds(bounds, &lane);
	}
	return finite;
}

static bool within_limits(const cr_bounds4 *bounds)
{
	for (int k = 0; k < 3; k++) {
		if (bounds->lower[k] < -CAROM_MAX_COORDINATE || bounds->upper[k] > CAROM_MAX_COORDINATE)
			return false;
	}
	return !(bounds->lower[3] < 0) && !(bounds->upper[3] > CAROM_MAX_COORDINATE);
}

// ---- Measuring ----

/// A sweep; the results of the pieces are joined under a lock, which they need once each.
typedef struct measure_task {
	const cr_sphere_view *view;
	const cr_sphere_space *space;
	const cr_reference *reference;
	double shift[3];
	atomic_flag lock;
	cr_bounds4 bounds, motion;
	double distance2;
	int64_t first_bad; // view->count: none
} measure_task;

static measure_task begin_measure(const cr_sphere_view *view, const cr_sphere_space *space, const cr_reference *reference)
{
	measure_task task = {
		.view = view, .space = space, .reference = reference, .lock = ATOMIC_FLAG_INIT, .first_bad = view->count
	};
	cr_clear_bounds(&task.bounds);
	cr_clear_bounds(&task.motion);
	return task;
}

/// The block's motion: its centres less those of the reference.
static void subtract_reference(const measure_task *task, int64_t begin, int count, double block[][4])
{
	const cr_reference *reference = task->reference;
	wrap_block(task->space, count, block);
	for (int i = 0; reference->exact && i < count; i++) {
		for (int k = 0; k < 4; k++)
			block[i][k] -= reference->exact[4 * (begin + i) + k];
	}
	for (int i = 0; !reference->exact && i < count; i++) {
		const cr_sphere *was = &reference->spheres[begin + i];
		block[i][0] = block[i][0] - reference->origin[0] - was->x;
		block[i][1] = block[i][1] - reference->origin[1] - was->y;
		block[i][2] = block[i][2] - reference->origin[2] - was->z;
		block[i][3] -= was->r;
	}
	for (int k = 0; k < 3; k++) {
		for (int i = 0; task->space->periodic[k] && i < count; i++)
			block[i][k] = cr_nearest(task->space, k, block[i][k]);
	}
}

static const char *fault_of(const double sphere[4], int *axis)
{
	for (*axis = 0; *axis < 4; ++*axis) {
		const double v = sphere[*axis];
		if (isnan(v))
			return "NaN";
		if (isinf(v))
			return "infinite";
		if (fabs(v) > CAROM_MAX_COORDINATE)
			return "beyond CAROM_MAX_COORDINATE";
	}
	*axis = 3;
	return sphere[3] < 0 ? "negative" : NULL;
}

/// The first sphere at fault from begin on; one is.
static int64_t find_fault(const cr_sphere_view *view, int64_t begin, int64_t end)
{
	for (int64_t i = begin; i < end; i++) {
		double sphere[4];
		int axis;
		read_any(view, i, sphere);
		if (fault_of(sphere, &axis))
			return i;
	}
	return end;
}

static void measure_piece(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	measure_task *task = user;
	cr_bounds4 bounds, motion;
	cr_clear_bounds(&bounds);
	cr_clear_bounds(&motion);
	bool finite = true;
	int64_t i = begin;
	if (task->view->form != CR_VIEW_ANY && !task->reference && end - begin >= QUAD) {
		i = begin + (end - begin) / QUAD * QUAD;
		finite = bound_quads(task->view, begin, i, &bounds);
	}
	for (; i < end; i += BLOCK) {
		double block[BLOCK][4];
		const int count = end - i < BLOCK ? (int)(end - i) : BLOCK;
		read_block(task->view, i, count, block);
		finite = bound_block(count, block, &bounds) && finite;
		if (task->reference) {
			subtract_reference(task, i, count, block);
			bound_block(count, block, &motion);
		}
	}
	const int64_t bad = finite && within_limits(&bounds) ? task->view->count : find_fault(task->view, begin, end);
	cr_lock(&task->lock);
	cr_join_bounds(&task->bounds, &bounds);
	cr_join_bounds(&task->motion, &motion);
	task->first_bad = bad < task->first_bad ? bad : task->first_bad;
	cr_unlock(&task->lock);
}

carom_result cr_measure_input(carom_context *context, const cr_sphere_view *view, const cr_sphere_space *space,
	const cr_reference *reference, cr_bounds4 *bounds, cr_bounds4 *motion)
{
	*bounds = *motion = (cr_bounds4){ 0 };
	if (view->count == 0)
		return CAROM_SUCCESS;
	measure_task task = begin_measure(view, space, reference);
	cr_parallel_for(context, measure_piece, view->count, MIN_PIECE, &task);
	*bounds = task.bounds;
	*motion = task.motion;
	if (task.first_bad == view->count)
		return CAROM_SUCCESS;
	static const char *const names[4] = { "centres: x", "centres: y", "centres: z", "radii: the radius" };
	double sphere[4];
	int axis;
	read_any(view, task.first_bad, sphere);
	const char *fault = fault_of(sphere, &axis);
	return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_sphere_input.%s of sphere %lld is %s (%g)", names[axis],
		(long long)task.first_bad, fault, sphere[axis]);
}

static void distance_piece(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	measure_task *task = user;
	double largest = 0;
	for (int64_t i = begin; i < end; i += BLOCK) {
		double block[BLOCK][4];
		const int count = end - i < BLOCK ? (int)(end - i) : BLOCK;
		read_block(task->view, i, count, block);
		subtract_reference(task, i, count, block);
		for (int n = 0; n < count; n++) {
			const double x = block[n][0] - task->shift[0], y = block[n][1] - task->shift[1], z = block[n][2] - task->shift[2];
			const double d2 = x * x + y * y + z * z;
			largest = d2 > largest ? d2 : largest;
		}
	}
	cr_lock(&task->lock);
	task->distance2 = largest > task->distance2 ? largest : task->distance2;
	cr_unlock(&task->lock);
}

double cr_measure_distance(carom_context *context, const cr_sphere_view *view, const cr_sphere_space *space,
	const cr_reference *reference, const double shift[3])
{
	measure_task task = begin_measure(view, space, reference);
	memcpy(task.shift, shift, sizeof task.shift);
	cr_parallel_for(context, distance_piece, view->count, MIN_PIECE, &task);
	return sqrt(task.distance2);
}

double cr_mean_radius(const cr_sphere_view *view)
{
	const int64_t samples = view->count < 512 ? view->count : 512;
	double sum = 0;
	for (int64_t i = 0; i < samples; i++) {
		double sphere[4];
		read_any(view, i * view->count / samples, sphere);
		sum += sphere[3];
	}
	return samples > 0 ? sum / (double)samples : 0;
}

// ---- Copies ----

typedef struct copy_task {
	const cr_sphere_view *view;
	const cr_sphere_space *space;
	cr_sphere *spheres;
	double *exact;
} copy_task;

static void copy_single_piece(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	const copy_task *task = user;
	const cr_sphere_view *view = task->view;
	if (view->form == CR_VIEW_RECORDS) {
		memcpy(task->spheres + begin, view->centres + begin * view->centre_stride, (size_t)(end - begin) * sizeof(cr_sphere));
	} else if (view->form == CR_VIEW_PACKED) {
		const float *c = (const float *)(const void *)view->centres, *r = (const float *)(const void *)view->radii;
		for (int64_t i = begin; i < end; i++)
			task->spheres[i] = (cr_sphere){ c[3 * i], c[3 * i + 1], c[3 * i + 2], r[i] };
	} else {
		for (int64_t i = begin; i < end; i++) {
			memcpy(&task->spheres[i], view->centres + i * view->centre_stride, 3 * sizeof(float));
			memcpy(&task->spheres[i].r, view->radii + i * view->radius_stride, sizeof(float));
		}
	}
}

void cr_copy_single(carom_context *context, const cr_sphere_view *view, cr_sphere *spheres)
{
	copy_task task = { .view = view, .spheres = spheres };
	cr_parallel_for(context, copy_single_piece, view->count, MIN_PIECE, &task);
}

static void copy_double_piece(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	const copy_task *task = user;
	for (int64_t i = begin; i < end; i += BLOCK) {
		double block[BLOCK][4];
		const int count = end - i < BLOCK ? (int)(end - i) : BLOCK;
		read_block(task->view, i, count, block);
		wrap_block(task->space, count, block);
		memcpy(task->exact + 4 * i, block, (size_t)count * sizeof block[0]);
	}
}

void cr_copy_double(carom_context *context, const cr_sphere_view *view, const cr_sphere_space *space, double *exact)
{
	copy_task task = { .view = view, .space = space, .exact = exact };
	cr_parallel_for(context, copy_double_piece, view->count, MIN_PIECE, &task);
}

// ---- Images ----

/// In which axes an image of a wrapped sphere, a period lower, can touch a sphere that lies above
/// 0: a bit for each.
static inline uint32_t image_axes(const cr_sphere_space *space, const double centre[3], double reach)
{
	uint32_t axes = 0;
	for (int k = 0; k < 3; k++)
		axes |= (uint32_t)(space->periodic[k] && space->period[k] - centre[k] <= reach) << k;
	return axes;
}

typedef struct image_task {
	const cr_sphere_view *view;
	const cr_sphere_space *space;
	double reach;
	atomic_llong count;
} image_task;

static void count_piece(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	// of a set of axes, the empty one left out
	static const uint8_t subsets[8] = { 0, 1, 1, 3, 1, 3, 3, 7 };
	image_task *task = user;
	int64_t sum = 0;
	for (int64_t i = begin; i < end; i += BLOCK) {
		double block[BLOCK][4];
		const int count = end - i < BLOCK ? (int)(end - i) : BLOCK;
		read_block(task->view, i, count, block);
		wrap_block(task->space, count, block);
		for (int n = 0; n < count; n++)
			sum += subsets[image_axes(task->space, block[n], task->reach)];
	}
	atomic_fetch_add(&task->count, sum);
}

int64_t cr_count_images(carom_context *context, const cr_sphere_view *view, const cr_sphere_space *space, double reach)
{
	image_task task = { .view = view, .space = space, .reach = reach };
	cr_parallel_for(context, count_piece, view->count, MIN_PIECE, &task);
	return atomic_load(&task.count);
}

void cr_make_images(const cr_sphere_space *space, double reach, uint32_t count, double *exact, uint32_t *owner)
{
	double *image = exact + 4 * (size_t)count;
	for (uint32_t i = 0; i < count; i++) {
		const double *sphere = exact + 4 * (size_t)i;
		const uint32_t all = image_axes(space, sphere, reach);
		// All subsets but the empty one, from the largest down.
		for (uint32_t axes = all; axes != 0; axes = (axes - 1) & all) {
			for (int k = 0; k < 3; k++)
				image[k] = axes >> k & 1 ? sphere[k] - space->period[k] : sphere[k];
			image[3] = sphere[3];
			image += 4;
			*owner++ = cr_pack_owner(i, axes);
		}
	}
}

// ---- Rounding ----

typedef struct round_task {
	const double *exact;
	double origin[3];
	cr_sphere *spheres;
	atomic_flag lock;
	cr_bounds4 bounds;
} round_task;

static void round_piece(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	round_task *task = user;
	const double ox = task->origin[0], oy = task->origin[1], oz = task->origin[2];
	cr_bounds4 bounds;
	cr_clear_bounds(&bounds);
	for (int64_t i = begin; i < end; i += BLOCK) {
		double block[BLOCK][4];
		const int count = end - i < BLOCK ? (int)(end - i) : BLOCK;
		for (int n = 0; n < count; n++) {
			const double *s = task->exact + 4 * (i + n);
			const cr_sphere rounded = { (float)(s[0] - ox), (float)(s[1] - oy), (float)(s[2] - oz), (float)s[3] };
			task->spheres[i + n] = rounded;
			block[n][0] = rounded.x, block[n][1] = rounded.y, block[n][2] = rounded.z, block[n][3] = rounded.r;
		}
		bound_block(count, block, &bounds);
	}
	cr_lock(&task->lock);
	cr_join_bounds(&task->bounds, &bounds);
	cr_unlock(&task->lock);
}

void cr_round_spheres(
	carom_context *context, const double *exact, const double origin[3], uint32_t count, cr_sphere *spheres, cr_bounds4 *bounds)
{
	*bounds = (cr_bounds4){ 0 };
	if (count == 0)
		return;
	round_task task = {
		.exact = exact, .origin = { origin[0], origin[1], origin[2] }, .spheres = spheres, .lock = ATOMIC_FLAG_INIT
	};
	cr_clear_bounds(&task.bounds);
	cr_parallel_for(context, round_piece, count, MIN_PIECE, &task);
	*bounds = task.bounds;
}
