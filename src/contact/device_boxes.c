/// The pair stage on a device: the boxes of all bodies are sorted along a curve, a tree is made or
/// refitted over them, and each goes through it (vulkan/gpu_sweep.h, where a box is the way of an
/// edge that shrinks to a point and goes from one corner to the other). See device_stages.h.
///
/// Boxes are sent in single precision and a little wider, so that no pair is missed. The processor
/// compares those that are found in double, asks the filters, and puts them in order. So the pairs
/// are those of any other broad phase. Bodies without bounds, and those beyond floats, are the
/// processor's: each is compared with all others.

#include "contact/device_stages.h"
#include "contact/pair_stage.h"
#include "vulkan/vk_commands.h"
#include <float.h>
#include <math.h>

enum { CANDIDATES_A_BODY = 8, DUMMY_FACES = 2 };

// Of the largest coordinate: boxes grow by so much where a device takes small numbers for 0.
#define BOX_MARGIN 0x1p-100f
#define MOST_COORDINATE 1e30
#define LEAST_SCALE 1e-30

typedef struct pair_finder {
	cr_pipeline *pipeline;
	cr_device_boxes *boxes;
	carom_device *device;
	float lower[3], upper[3]; // about all, as sent
} pair_finder;

void cr_free_boxes(carom_context *context, carom_device *device, cr_device_boxes *b)
{
	cr_gpu_free_sweep(device, &b->gpu);
	cr_array_free(context, &b->bodies);
	cr_array_free(context, &b->endless);
	cr_array_free(context, &b->corners);
	cr_array_free(context, &b->links);
	cr_array_free(context, &b->candidates);
	cr_array_free(context, &b->first);
	cr_array_free(context, &b->sorted);
}

// ---- Boxes ----

/// The largest coordinate of a box; INFINITY: it has no end, or is no number.
static double reach_of(const cr_body *body)
{
	double reach = 0;
	for (int k = 0; k < 3; k++)
		reach = fmax(reach, fmax(fabs(body->lower[k]), fabs(body->upper[k])));
	return reach <= MOST_COORDINATE ? reach : INFINITY;
}

/// Deal living bodies to the device and to the processor. Returns the largest coordinate of the
/// former; negative: out of memory.
static double deal_bodies(const cr_pipeline *p, cr_device_boxes *b)
{
	b->bodies.count = b->endless.count = 0;
	if (!cr_array_reserve_fresh(p->context, &b->bodies, p->body_count) ||
		!cr_array_reserve_fresh(p->context, &b->endless, p->body_count))
		return -1;
	double largest = 0;
	for (int32_t i = 0; i < p->body_count; i++) {
		if (!p->bodies[i].alive)
			continue;
		const double reach = reach_of(&p->bodies[i]);
		const bool ends = isfinite(reach) && p->bodies[i].shape.def.type != CAROM_PLANE;
		if (ends)
			b->bodies.data[b->bodies.count++] = i;
		else
			b->endless.data[b->endless.count++] = i;
		largest = ends ? fmax(largest, reach) : largest;
	}
	return largest;
}

/// Write the corners, scaled by a power of two so that none is beyond 1.
static void write_corners(pair_finder *f, double largest)
{
	int exponent;
	frexp(fmax(largest, LEAST_SCALE), &exponent);
	const double scale = ldexp(1, -exponent);
	cr_device_boxes *b = f->boxes;
	const int64_t count = b->bodies.count;
	for (int k = 0; k < 3; k++) {
		f->lower[k] = INFINITY;
		f->upper[k] = -INFINITY;
	}
	for (int64_t i = 0; i < count; i++) {
		const cr_body *body = &f->pipeline->bodies[b->bodies.data[i]];
		for (int k = 0; k < 3; k++) {
			const float low = (float)(body->lower[k] * scale), high = (float)(body->upper[k] * scale);
			b->corners.data[3 * i + k] = low;
			b->corners.data[3 * (count + i) + k] = high;
			f->lower[k] = fminf(f->lower[k], low);
			f->upper[k] = fmaxf(f->upper[k], high);
		}
	}
}

/// Bring the numbers of boxes, where they are others than before: each box is an edge whose two
/// ends are one vertex, and vertices have no group. The triangles are not searched.
static carom_result load_boxes(pair_finder *f)
{
	cr_device_boxes *b = f->boxes;
	const int64_t count = b->bodies.count;
	if (b->loaded == count)
		return CAROM_SUCCESS;
	b->loaded = 0;
	if (!cr_array_reserve_fresh(f->pipeline->context, &b->links, 3 * count))
		return cr_fail_memory(f->pipeline->context, "boxes for a device");
	for (int64_t i = 0; i < count; i++) {
		b->links.data[2 * i] = b->links.data[2 * i + 1] = (int32_t)i;
		b->links.data[2 * count + i] = 0;
	}
	static const int32_t FACES[3 * DUMMY_FACES] = { 0 };
	const cr_gpu_sweep_mesh mesh = { .faces = FACES,
		.edges = b->links.data,
		.groups = (const uint32_t *)b->links.data + 2 * count,
		.vertex_count = (uint32_t)count,
		.face_count = DUMMY_FACES,
		.edge_count = (uint32_t)count };
	const carom_result result = cr_gpu_load_sweep(f->device, &b->gpu, &mesh);
	b->loaded = result == CAROM_SUCCESS ? count : 0;
	return result;
}

// ---- Candidates ----

/// Append the finds of a window, as bodies a < b that meet and pass.
static carom_result take_window(pair_finder *f, uint64_t count)
{
	cr_pipeline *p = f->pipeline;
	cr_device_boxes *b = f->boxes;
	if (!cr_array_reserve_fresh(p->context, &b->candidates, (int64_t)count) ||
		!cr_array_reserve(p->context, &p->pairs, p->pairs.count + (int64_t)count))
		return cr_fail_memory(p->context, "the pairs of a step");
	const carom_result result =
		cr_gpu_download(f->device, &b->gpu.candidates, b->candidates.data, count * sizeof *b->candidates.data);
	for (uint64_t i = 0; i < count && result == CAROM_SUCCESS; i++) {
		const int32_t x = b->bodies.data[b->candidates.data[i].a], y = b->bodies.data[b->candidates.data[i].b];
		const cr_body_pair pair = { x < y ? x : y, x < y ? y : x };
		p->pairs.data[p->pairs.count++] = pair;
	}
	return result;
}

/// Find the pairs of boxes that meet in single precision, in no order. The device is locked.
static carom_result find_candidates(pair_finder *f)
{
	cr_device_boxes *b = f->boxes;
	const float *corners = b->corners.data;
	cr_gpu_sweep_step step = { .begin = corners, .end = corners + 3 * b->bodies.count, .margin = BOX_MARGIN, .unfiltered = true };
	for (int k = 0; k < 3; k++) {
		step.lower[k] = f->lower[k];
		step.upper[k] = f->upper[k];
	}
	carom_result result = load_boxes(f);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_move_sweep(f->device, &b->gpu, &step);
	cr_gpu_sweep_window window = { 0 };
	cr_gpu_sweep_counts counts = { 0 };
	const uint64_t before = b->found, least = CANDIDATES_A_BODY * (uint64_t)b->bodies.count;
	if (result == CAROM_SUCCESS)
		result = cr_gpu_start_sweep(
			f->device, &b->gpu, CR_GPU_SWEEP_EDGES, before + before / 8 > least ? before + before / 8 : least, &window);
	while (result == CAROM_SUCCESS && window.next < window.end) {
		uint64_t count = 0;
		result = cr_gpu_sweep_next(f->device, &b->gpu, &step, &window, &count, &counts);
		if (result == CAROM_SUCCESS)
			result = take_window(f, count);
	}
	b->found = counts.candidates;
	if (result != CAROM_SUCCESS)
		b->loaded = 0;
	return result;
}

/// Append the pairs of bodies without bounds, with each other too.
static bool add_endless(const pair_finder *f)
{
	cr_pipeline *p = f->pipeline;
	const cr_device_boxes *b = f->boxes;
	for (int64_t i = 0; i < b->endless.count; i++) {
		const int32_t x = b->endless.data[i];
		if (!cr_array_reserve(p->context, &p->pairs, p->pairs.count + p->body_count))
			return false;
		for (int64_t k = 0; k < b->bodies.count; k++) {
			const int32_t y = b->bodies.data[k];
			p->pairs.data[p->pairs.count++] = (cr_body_pair){ x < y ? x : y, x < y ? y : x };
		}
		for (int64_t k = i + 1; k < b->endless.count; k++)
			p->pairs.data[p->pairs.count++] = (cr_body_pair){ x, b->endless.data[k] };
	}
	return true;
}

/// Keep the pairs that meet and pass the filters.
static void keep_pairs(const pair_finder *f)
{
	cr_pipeline *p = f->pipeline;
	cr_broad *broad = p->broad;
	const int64_t count = p->pairs.count;
	p->pairs.count = broad->met = 0;
	broad->compared = count;
	for (int64_t i = 0; i < count; i++) {
		const cr_body_pair pair = p->pairs.data[i];
		const cr_body *a = &p->bodies[pair.a], *b = &p->bodies[pair.b];
		if (!cr_bodies_may_collide(a, b) || !cr_broad_meet(broad, a, b))
			continue;
		broad->met++;
		if (cr_broad_ask(broad, pair.a, pair.b))
			p->pairs.data[p->pairs.count++] = pair;
	}
}

/// Put the pairs in a list into that of the other one, by one of their bodies; equal ones keep
/// their order. first: [body_count + 1].
static void deal_pairs(const cr_body_pair *from, cr_body_pair *to, int64_t count, bool by_b, int64_t *first, int32_t bodies)
{
	for (int32_t i = 0; i <= bodies; i++)
		first[i] = 0;
	for (int64_t i = 0; i < count; i++)
		first[(by_b ? from[i].b : from[i].a) + 1]++;
	for (int32_t i = 0; i < bodies; i++)
		first[i + 1] += first[i];
	for (int64_t i = 0; i < count; i++)
		to[first[by_b ? from[i].b : from[i].a]++] = from[i];
}

/// Sort the pairs by a, then b.
static bool sort_pairs(const pair_finder *f)
{
	cr_pipeline *p = f->pipeline;
	cr_device_boxes *b = f->boxes;
	if (!cr_array_reserve_fresh(p->context, &b->sorted, p->pairs.count) ||
		!cr_array_reserve_fresh(p->context, &b->first, p->body_count + 1))
		return false;
	deal_pairs(p->pairs.data, b->sorted.data, p->pairs.count, true, b->first.data, p->body_count);
	deal_pairs(b->sorted.data, p->pairs.data, p->pairs.count, false, b->first.data, p->body_count);
	return true;
}

/// The pairs of the step, in order. On failure the list is empty.
static carom_result find_pairs(cr_pipeline *p, cr_device_part *part)
{
	pair_finder f = { .pipeline = p, .boxes = &part->boxes, .device = part->device };
	p->pairs.count = 0;
	const double largest = deal_bodies(p, f.boxes);
	const int64_t count = f.boxes->bodies.count;
	if (largest < 0 || !cr_array_reserve_fresh(p->context, &f.boxes->corners, 6 * count))
		return cr_fail_memory(p->context, "boxes for a device");
	carom_result result = CAROM_SUCCESS;
	if (count > 1) {
		write_corners(&f, largest);
		cr_lock_devices(p);
		result = cr_unlock_devices(p, find_candidates(&f));
	}
	if (result == CAROM_SUCCESS && !add_endless(&f))
		result = cr_fail_memory(p->context, "the pairs of a step");
	if (result == CAROM_SUCCESS) {
		keep_pairs(&f);
		result = sort_pairs(&f) ? CAROM_SUCCESS : cr_fail_memory(p->context, "the pairs of a step");
	}
	if (result != CAROM_SUCCESS)
		p->pairs.count = 0;
	return result;
}

// ---- The stage ----

/// The processor's broad phase has not seen the steps of the device: it begins again.
void cr_wake_broad(cr_pipeline *p)
{
	cr_device_state *d = p->on_device;
	if (d && d->paired && p->broad && p->broad->trim)
		p->broad->trim(p->broad);
	if (d)
		d->paired = false;
}

carom_result cr_pairs_on_device(cr_pipeline *p)
{
	cr_device_state *d = cr_state_on_device(p);
	if (!d)
		return cr_fail_memory(p->context, "a world on a device");
	cr_device_part *part = p->body_count > d->few_bodies ? cr_working_part(p) : NULL;
	// A broad phase that cannot begin again remembers nothing, or is the laboratory's.
	if (!part || !p->broad->trim) {
		cr_wake_broad(p);
		return cr_stage_pairs(p);
	}
	cr_open_pairs(p);
	const carom_result result = find_pairs(p, part);
	d->paired = true;
	if (result == CAROM_SUCCESS)
		return cr_part_pairs(p);
	cr_drop_part(p, part);
	if (!cr_working_part(p) && !cr_falls_back(p))
		return result;
	cr_wake_broad(p);
	return cr_stage_pairs(p);
}
