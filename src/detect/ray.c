/// Ray stage: cast the rays of each pair and turn the hits into contacts.
///
/// Input: ray ranges of the pairs. Output: raw contacts. A ray reports a collision when the first surface it meets is a back face,
/// that is, its origin lies inside the target; the winding number confirms it where the grid did
/// not know, because on a silhouette rounding may put the back face before the front face. With a speculative distance, samples
/// outside cast a second ray outward. Parallel over pairs. (Hermann, Faure, Raffin, Ray-traced collision detection for deformable bodies, 2008.)

#include "base/parallel.h"
#include "detect/pipeline.h"
#include "geom/triangle.h"

enum { PAIRS_PER_TASK = 64 };

// Of the diagonal of the smaller body's box: below this the depth of a contact does no harm, and most contacts are spared the search.
static const double SHORT_RAY = 0.02;

void cr_add_contact(cr_worker *worker, cr_pair_work *work, const cr_raw_contact *contact)
{
	cr_raw_contacts *list = &work->contacts;
	if (list->count == list->capacity) {
		const int64_t capacity = list->capacity ? 2 * list->capacity : 8;
		cr_raw_contact *data = cr_arena_alloc(&worker->arena, (size_t)capacity * sizeof *data);
		if (!data) {
			worker->failed = true;
			return;
		}
		for (int64_t i = 0; i < list->count; i++)
			data[i] = list->data[i];
		list->data = data;
		list->capacity = capacity;
	}
	list->data[list->count++] = *contact;
}

void cr_cast_collider(const cr_bvh_kernels *kernels, carom_ray_method method, const cr_collider *c, const carom_ray_batch *rays,
	int32_t begin, int32_t end, const carom_hit_batch *hits)
{
	switch (method) {
	case CAROM_RAYS_BINARY: cr_cast_binary(c, rays, begin, end, hits); break;
	case CAROM_RAYS_BASIC: cr_cast_basic(c, rays, begin, end, hits); break;
	case CAROM_RAYS_MOLLER_TRUMBORE: cr_cast_moller_trumbore(c, rays, begin, end, hits); break;
	default: kernels->cast(c, rays, begin, end, hits); break;
	}
}

void cr_cast(const cr_pipeline *p, const cr_body *target, const carom_ray_batch *rays, int32_t begin, int32_t end,
	const carom_hit_batch *hits)
{
	if (p->settings.ray_method != CAROM_RAYS_PLUGIN) {
		cr_cast_collider(p->bvh, p->settings.ray_method, target->shape.collider, rays, begin, end, hits);
		return;
	}
	const carom_ray_batch part = { end - begin, { rays->origin[0] + begin, rays->origin[1] + begin, rays->origin[2] + begin },
		{ rays->direction[0] + begin, rays->direction[1] + begin, rays->direction[2] + begin }, rays->t_max + begin };
	const carom_hit_batch to = { hits->triangle + begin, hits->t + begin, hits->back_face + begin };
	p->settings.ray_plugin->cast(target->shape.plugin_state, &part, &to, p->settings.ray_plugin->user);
}

static carom_ray_batch batch_of(const cr_ray_chunk *chunk)
{
	const cr_sample_rays *r = &chunk->rays;
	return (carom_ray_batch){ chunk->count, { r->origin[0], r->origin[1], r->origin[2] },
		{ r->direction[0], r->direction[1], r->direction[2] }, r->t_max };
}

/// One side of a pair while its rays are worked on.
typedef struct ray_side {
	const cr_pipeline *pipeline;
	cr_worker *worker;
	cr_pair_work *work;
	int side;
	const cr_body *source;
	const cr_body *target;
	const cr_ray_range *range;
} ray_side;

/// Add the contact of a sample. way is in the target's frame; for a plain ray it points along the sample's inward normal.
static void add_sample_contact(const ray_side *s, int32_t sample, const cr_way_out *way)
{
	const cr_sample8 *block = &s->source->shape.collider->samples[sample / CR_WIDTH];
	const int lane = sample % CR_WIDTH;
	const v3d point = { block->point[0][lane], block->point[1][lane], block->point[2][lane] };
	const v3d world = v3d_add(m3d_mul(&s->source->rotation, point), s->source->pose.position);
	// The way takes the source out; the normal is the way out of A.
	const v3d direction = { way->direction[0], way->direction[1], way->direction[2] };
	const v3d out = v3d_scale(v3d_normalize(m3d_mul(&s->target->rotation, direction)), s->side == 0 ? 1 : -1);
	const int32_t number = block->number[lane];
	const cr_raw_contact contact = {
		{ world.x, world.y, world.z },
		{ (float)out.x, (float)out.y, (float)out.z },
		way->depth,
		s->side == 0 ? number : way->triangle,
		s->side == 0 ? way->triangle : number,
		s->side == 0 ? CAROM_VERTEX_A : CAROM_VERTEX_B,
	};
	cr_add_contact(s->worker, s->work, &contact);
}

void cr_limit_depth(
	const cr_pipeline *p, const cr_collider *source, const cr_collider *target, const float origin[3], cr_way_out *way)
{
	const double ratio = p->settings.max_depth_ratio;
	if (ratio == 0 || way->depth < SHORT_RAY * fminf(source->diagonal, target->diagonal))
		return;
	int32_t triangle;
	if (!isfinite(p->bvh->nearest(target, origin, (float)(way->depth / ratio), &triangle)))
		return;
	v3d corners[3];
	cr_feature feature;
	cr_collider_triangle(target, triangle, corners);
	const v3d o = { origin[0], origin[1], origin[2] };
	const v3d d = v3d_sub(cr_closest_point_triangle(o, corners[0], corners[1], corners[2], &feature), o);
	const double length = v3d_length(d);
	// On the surface itself there is no direction: the ray's stays.
	if (length > 0)
		*way = (cr_way_out){ (float)length, { (float)(d.x / length), (float)(d.y / length), (float)(d.z / length) }, triangle };
}

/// Is the origin of ray i inside the target?
static bool confirm_inside(const ray_side *s, int32_t i)
{
	const cr_ray_chunk *chunk = s->range->chunk;
	if (chunk->rays.certain[i])
		return true;
	const cr_sample_rays *r = &chunk->rays;
	const float origin[3] = { r->origin[0][i], r->origin[1][i], r->origin[2][i] };
	const float direction[3] = { r->direction[0][i], r->direction[1][i], r->direction[2][i] };
	return s->pipeline->bvh->winding(s->target->shape.collider, origin, direction) != 0;
}

/// Rays that found no way in: the same lines outward, to the speculative distance.
static void cast_outward(const ray_side *s, int32_t i)
{
	const cr_sample_rays *r = &s->range->chunk->rays;
	const float origin[3] = { r->origin[0][i], r->origin[1][i], r->origin[2][i] };
	const float outward[3] = { -r->direction[0][i], -r->direction[1][i], -r->direction[2][i] };
	const float reach = (float)s->pipeline->settings.speculative_distance;
	const carom_ray_batch ray = { 1, { &origin[0], &origin[1], &origin[2] }, { &outward[0], &outward[1], &outward[2] }, &reach };
	int32_t triangle;
	float t;
	uint8_t back;
	const carom_hit_batch hit = { &triangle, &t, &back };
	cr_cast(s->pipeline, s->target, &ray, 0, 1, &hit);
	s->worker->rays_outward++;
	if (triangle >= 0 && !back) {
		const cr_way_out way = { -t, { r->direction[0][i], r->direction[1][i], r->direction[2][i] }, triangle };
		add_sample_contact(s, r->sample[i], &way);
	}
}

/// The contact of a ray that met a back face.
static void add_inward(const ray_side *s, int32_t i)
{
	const cr_ray_chunk *chunk = s->range->chunk;
	const cr_sample_rays *r = &chunk->rays;
	const float origin[3] = { r->origin[0][i], r->origin[1][i], r->origin[2][i] };
	cr_way_out way = { chunk->t[i], { r->direction[0][i], r->direction[1][i], r->direction[2][i] }, chunk->triangle[i] };
	cr_limit_depth(s->pipeline, s->source->shape.collider, s->target->shape.collider, origin, &way);
	add_sample_contact(s, r->sample[i], &way);
}

static bool same_point(const cr_raw_contact *a, const cr_raw_contact *b)
{
	return a->point[0] == b->point[0] && a->point[1] == b->point[1] && a->point[2] == b->point[2];
}

/// Edges and corners of a box cast a ray for each face around them: of contacts at one point the shortest tells the way out, of equally short
/// ones that of the first sample. The contacts from first on are the box's own.
static void keep_shortest(cr_pair_work *w, int64_t first)
{
	cr_raw_contact *data = w->contacts.data;
	int64_t kept = first;
	for (int64_t i = first; i < w->contacts.count; i++) {
		int64_t at = first;
		while (at < kept && !same_point(&data[at], &data[i]))
			at++;
		if (at == kept || fabsf(data[i].depth) < fabsf(data[at].depth))
			data[at] = data[i];
		kept += at == kept;
	}
	w->contacts.count = kept;
}

static void cast_side(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, int side)
{
	const cr_ray_range *range = &w->rays[side];
	if (range->count == 0)
		return;
	const int64_t before = w->contacts.count;
	const ray_side s = { p, worker, w, side, &p->bodies[side == 0 ? w->a : w->b], &p->bodies[side == 0 ? w->b : w->a], range };
	const cr_ray_chunk *chunk = range->chunk;
	const carom_ray_batch rays = batch_of(chunk);
	const carom_hit_batch hits = { chunk->triangle, chunk->t, chunk->back };
	const int32_t end = range->first + range->count;
	cr_cast(p, s.target, &rays, range->first, end, &hits);
	worker->rays_full += range->count;
	for (int32_t i = range->first; i < end; i++) {
		if (chunk->triangle[i] >= 0 && chunk->back[i] && confirm_inside(&s, i)) {
			add_inward(&s, i);
			w->touching = true;
		} else if (p->settings.speculative_distance > 0 && !chunk->rays.certain[i]) {
			cast_outward(&s, i);
		}
	}
	if (s.source->shape.def.type == CAROM_BOX)
		keep_shortest(w, before);
}

static void ray_task(int64_t begin, int64_t end, int worker, void *task)
{
	const cr_pipeline *p = task;
	for (int64_t i = begin; i < end; i++) {
		cr_pair_work *w = &p->work.data[p->kept.data[i]];
		cast_side(p, &p->workers[worker], w, 0);
		cast_side(p, &p->workers[worker], w, 1);
	}
}

carom_result cr_stage_rays(cr_pipeline *p)
{
	cr_parallel_for(p->context, ray_task, p->kept.count, PAIRS_PER_TASK, p);
	for (int i = 0; i < p->context->thread_count; i++) {
		if (p->workers[i].failed)
			return cr_fail_memory(p->context, "the contacts of a step");
	}
	return CAROM_SUCCESS;
}
