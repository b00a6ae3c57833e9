/// Ray stage: cast or walk the rays of each pair and turn the hits into contacts, and into the
/// watches of the pair from now on.
///
/// Input: the two lists of rays. Output: raw contacts, watched samples.
/// - Full: a ray reports a collision when the first surface it meets is a back face, that is, its
///   origin lies inside the target; the winding number confirms it where the grid did not know,
///   because on a silhouette rounding may put the back face before the front face. (Hermann, Faure,
///   Raffin, Ray-traced collision detection for deformable bodies, 2008.) A line that comes from
///   outside is followed backward too: its hit there is ahead of the vertex, to be watched or to be
///   a speculative contact (Lehericey 2013, predictive rays).
/// - Iterative: the walk goes over the target's triangles from the one met last; the sign of t
///   tells whether the vertex is inside. Walks that find nothing, or a front face, are lost, and
///   cast again.
/// Parallel over runs of iterative rays, then over pairs.

#include "base/parallel.h"
#include "contact/contact_normal.h"
#include "contact/manifold.h"
#include "frame/memory.h"
#include "geom/triangle.h"
#include <string.h>

enum { PAIRS_PER_TASK = 64 };

void cr_cast(const cr_pipeline *p, const cr_body *target, const carom_ray_batch *rays, int32_t begin, int32_t end,
	const carom_hit_batch *hits)
{
	if (p->hooks.cast)
		p->hooks.cast(p, target, rays, begin, end, hits);
	else
		p->bvh->cast(target->shape.collider, rays, begin, end, hits);
}

static carom_ray_batch batch_of(const cr_sample_rays *r, int32_t count)
{
	return (carom_ray_batch){ count, { r->origin[0], r->origin[1], r->origin[2] },
		{ r->direction[0], r->direction[1], r->direction[2] }, r->t_max };
}

/// Cast ray i the other way, for methods that only look forward.
static void cast_behind(
	const cr_pipeline *p, const cr_body *target, const carom_ray_batch *rays, int32_t i, float reach, const cr_line_hits *hits)
{
	const float origin[3] = { rays->origin[0][i], rays->origin[1][i], rays->origin[2][i] };
	const float outward[3] = { -rays->direction[0][i], -rays->direction[1][i], -rays->direction[2][i] };
	const carom_ray_batch ray = { 1, { &origin[0], &origin[1], &origin[2] }, { &outward[0], &outward[1], &outward[2] }, &reach };
	const carom_hit_batch hit = { hits->behind_triangle + i, hits->behind_t + i, hits->behind_back + i };
	cr_cast(p, target, &ray, 0, 1, &hit);
	hits->behind_back[i] = !hits->behind_back[i];
	// A hit at the origin is ahead of it.
	if (hits->behind_t[i] == 0)
		hits->behind_triangle[i] = -1;
}

/// Lines begin..end-1 in both directions.
static void cast_both_ways(const cr_pipeline *p, const cr_body *target, const carom_ray_batch *rays, int32_t begin, int32_t end,
	float reach, const cr_line_hits *hits)
{
	if (!p->hooks.cast && reach > 0) {
		p->bvh->cast_lines(target->shape.collider, rays, begin, end, reach, hits);
		return;
	}
	const carom_hit_batch forward = { hits->triangle, hits->t, hits->back };
	cr_cast(p, target, rays, begin, end, &forward);
	for (int32_t i = begin; i < end; i++) {
		hits->behind_triangle[i] = -1;
		if (reach > 0)
			cast_behind(p, target, rays, i, reach, hits);
	}
}

void cr_cast_lines(const cr_pipeline *p, const cr_body *target, const cr_casts *casts, int32_t count, float reach)
{
	const carom_ray_batch rays = batch_of(&casts->rays, count);
	cast_both_ways(p, target, &rays, 0, count, reach, &casts->hits);
}

/// One side of a pair while its rays are worked on.
typedef struct ray_side {
	const cr_pipeline *pipeline;
	cr_worker *worker;
	cr_pair_work *work;
	int side;
	const cr_body *source;
	const cr_body *target;
	const cr_sample_rays *rays; // of the side: count of them
	int32_t count;
	bool turned;                  // the rotations of the two bodies are known
	m3d turn_source, turn_target; // worked out at the first contact
} ray_side;

static void know_turns(ray_side *s)
{
	if (s->turned)
		return;
	m3d room;
	s->turn_source = *cr_rotation_at(s->source, &room);
	s->turn_target = *cr_rotation_at(s->target, &room);
	s->turned = true;
}

/// Add the contact of a sample. way is in the target's frame; for a plain ray it points along the
/// sample's inward normal.
static void add_sample_contact(ray_side *s, int32_t sample, const cr_way_out *way)
{
	const cr_sample8 *block = &s->source->shape.collider->samples[sample / CR_WIDTH];
	const int lane = sample % CR_WIDTH;
	const v3d point = { block->point[0][lane], block->point[1][lane], block->point[2][lane] };
	know_turns(s);
	const v3d world = v3d_add(m3d_mul(&s->turn_source, point), s->source->pose.position);
	// The way takes the source out; the normal is the way out of A.
	const v3d direction = { way->direction[0], way->direction[1], way->direction[2] };
	const v3d out = v3d_scale(v3d_normalize(m3d_mul(&s->turn_target, direction)), s->side == 0 ? 1 : -1);
	const int32_t number = block->number[lane];
	const cr_raw_contact contact = {
		{ world.x, world.y, world.z },
		{ (float)out.x, (float)out.y, (float)out.z },
		way->depth,
		s->side == 0 ? number : way->triangle,
		s->side == 0 ? way->triangle : number,
		s->side == 0 ? CAROM_VERTEX_A : CAROM_VERTEX_B,
	};
	cr_add_contact(s->worker, &contact);
}

/// Is the origin of ray i inside the target?
static bool confirm_inside(const ray_side *s, int32_t i)
{
	const cr_sample_rays *r = s->rays;
	if (r->side[i] != 0)
		return r->side[i] > 0;
	const float origin[3] = { r->origin[0][i], r->origin[1][i], r->origin[2][i] };
	const cr_collider *target = s->target->shape.collider;
	const float direction[3] = { r->direction[0][i], r->direction[1][i], r->direction[2][i] };
	return cr_is_inside(s->pipeline, target, origin, direction);
}

/// The contact of a ray that met a back face, t along its direction.
static void add_inward(ray_side *s, int32_t i, float t, int32_t triangle)
{
	const cr_sample_rays *r = s->rays;
	const float origin[3] = { r->origin[0][i], r->origin[1][i], r->origin[2][i] };
	cr_way_out way = { t, { r->direction[0][i], r->direction[1][i], r->direction[2][i] }, triangle };
	cr_finish_way(s->pipeline, s->source->shape.collider, s->target->shape.collider, origin, &way);
	add_sample_contact(s, r->sample[i], &way);
	s->work->touching = true;
}

/// The speculative contact of a sample outside, t before the surface.
static void add_ahead(ray_side *s, int32_t i, float t, int32_t triangle)
{
	const cr_sample_rays *r = s->rays;
	cr_way_out way = { -t, { r->direction[0][i], r->direction[1][i], r->direction[2][i] }, triangle };
	if (s->pipeline->settings.world.contact_normal != CAROM_NORMAL_RAY)
		cr_project_way(s->target->shape.collider, &way);
	add_sample_contact(s, r->sample[i], &way);
}

static bool same_point(const cr_raw_contact *a, const cr_raw_contact *b)
{
	return a->point[0] == b->point[0] && a->point[1] == b->point[1] && a->point[2] == b->point[2];
}

static bool is_shorter(const cr_raw_contact *a, const cr_raw_contact *b)
{
	if (fabsf(a->depth) != fabsf(b->depth))
		return fabsf(a->depth) < fabsf(b->depth);
	return a->feature_a != b->feature_a ? a->feature_a < b->feature_a : a->feature_b < b->feature_b;
}

/// Edges and corners of a box cast a ray for each face around them: of contacts at one point the
/// shortest tells the way out. The contacts from first on are the box's own.
static void keep_shortest(cr_raw_contacts *contacts, int64_t first)
{
	cr_raw_contact *data = contacts->data;
	int64_t kept = first;
	for (int64_t i = first; i < contacts->count; i++) {
		int64_t at = first;
		while (at < kept && !same_point(&data[at], &data[i]))
			at++;
		if (at == kept || is_shorter(&data[i], &data[at]))
			data[at] = data[i];
		kept += at == kept;
	}
	contacts->count = kept;
}

// ---- Full rays ----

/// The outcome of one line.
typedef enum line_result { LINE_NOTHING, LINE_INSIDE, LINE_AHEAD } line_result;

/// The contact, if any, of a line that was cast: ray i, hit number at. triangle: the one to watch.
static line_result judge_line(ray_side *s, int32_t i, const cr_line_hits *hits, int32_t at, int32_t *triangle)
{
	if (hits->triangle[at] >= 0 && hits->back[at] && confirm_inside(s, i)) {
		*triangle = hits->triangle[at];
		add_inward(s, i, hits->t[at], *triangle);
		return LINE_INSIDE;
	}
	if (hits->behind_triangle[at] < 0 || !hits->behind_back[at])
		return LINE_NOTHING;
	*triangle = hits->behind_triangle[at];
	if (hits->behind_t[at] <= s->pipeline->settings.world.speculative_distance)
		add_ahead(s, i, hits->behind_t[at], *triangle);
	return LINE_AHEAD;
}

/// Is a sample outside near enough to enter? Then it is watched, even with no triangle ahead of it
/// (-1), as vertices are that come in sideways. Completes its entry.
static bool predict_entry(const ray_side *s, int32_t i, cr_watch *watch)
{
	const cr_sample_rays *r = s->rays;
	if (r->side[i] < 0) {
		watch->gap = r->gap[i];
		return true;
	}
	const float origin[3] = { r->origin[0][i], r->origin[1][i], r->origin[2][i] };
	const float inward[3] = { r->direction[0][i], r->direction[1][i], r->direction[2][i] };
	// Inside, but its ray left its own body first: the gap stays negative, so that it is followed
	// in every step.
	if (s->pipeline->settings.lab.exit_distance_test && cr_is_inside(s->pipeline, s->target->shape.collider, origin, inward)) {
		watch->place = -1;
		return true;
	}
	if (r->gap[i] > 0) {
		watch->gap = r->gap[i];
		return true;
	}
	int32_t nearest;
	watch->gap = s->pipeline->bvh->nearest(s->target->shape.collider, origin, cr_entry_reach(s->pipeline, s->work), &nearest);
	return nearest >= 0;
}

/// Judge a ray. Returns whether its sample is to be watched, inside or so near that it may enter,
/// and by which entry.
static bool judge_cast(ray_side *s, const cr_line_hits *hits, int32_t i, bool predict, cr_watch *watch)
{
	int32_t triangle = -1;
	const line_result result = judge_line(s, i, hits, i, &triangle);
	*watch = (cr_watch){ s->rays->sample[i], triangle < 0 ? -1 : s->target->shape.collider->place[triangle], -1 };
	if (result == LINE_INSIDE || s->work->extension == 0)
		return result == LINE_INSIDE;
	s->worker->rays_outward++;
	s->worker->rays_predictive += predict;
	return predict && predict_entry(s, i, watch);
}

/// Keep the entries of a full side in the kept memory.
static void keep_watches(const ray_side *s, const cr_watch *list, int32_t count)
{
	if (count == 0)
		return;
	cr_pair_memory *m = cr_memory_of(s->pipeline, s->work);
	if (!cr_keep_watches(s->worker->kept, &s->worker->kept_tails, count, &m->watched[s->side])) {
		s->worker->failed = true;
		return;
	}
	memcpy(cr_watched(s->pipeline, m, s->side), list, (size_t)count * sizeof *list);
	s->worker->vertices_watched += count;
}

static void judge_full(ray_side *s, const cr_line_hits *hits)
{
	const cr_pair_work *w = s->work;
	const bool remember = w->allowed > 0, predict = remember && s->pipeline->settings.predict;
	cr_watch *list = remember ? cr_arena_alloc(&s->worker->arena, (size_t)s->count * sizeof *list) : NULL, unused;
	if (remember && !list) {
		s->worker->failed = true;
		return;
	}
	s->worker->rays_full += s->count;
	int32_t watched = 0;
	for (int32_t i = 0; i < s->count; i++) {
		const bool watch = judge_cast(s, hits, i, predict, remember ? &list[watched] : &unused);
		watched += remember && watch;
	}
	if (remember)
		keep_watches(s, list, watched);
}

// ---- Iterative rays ----

/// A walk that found nothing: the whole line again. triangle: where the next walk may begin, unless
/// there is nothing.
static line_result recast(ray_side *s, int32_t i, int32_t *triangle)
{
	const cr_sample_rays *r = s->rays;
	const carom_ray_batch ray = { 1, { r->origin[0] + i, r->origin[1] + i, r->origin[2] + i },
		{ r->direction[0] + i, r->direction[1] + i, r->direction[2] + i }, r->t_max + i };
	int32_t number, behind_number;
	float t, behind_t;
	uint8_t back, behind_back;
	const cr_line_hits hits = { &number, &t, &back, &behind_number, &behind_t, &behind_back };
	cast_both_ways(s->pipeline, s->target, &ray, 0, 1, s->work->extension, &hits);
	s->worker->rays_full++;
	s->worker->rays_recast++;
	return judge_line(s, i, &hits, 0, triangle);
}

/// The contact, if any, of a walk that ended at a back face.
static line_result judge_walk(ray_side *s, const cr_walks *walks, int32_t i)
{
	const float t = walks->t[i];
	const int32_t place = walks->place[i];
	if (t < 0) {
		if (-t <= s->pipeline->settings.world.speculative_distance)
			add_ahead(s, i, -t, cr_place_number(s->target->shape.collider, place));
		return LINE_AHEAD;
	}
	if (!confirm_inside(s, i))
		return LINE_NOTHING;
	if (t <= s->rays->t_max[i])
		add_inward(s, i, t, cr_place_number(s->target->shape.collider, place));
	else
		s->work->dropped = true;
	return LINE_INSIDE;
}

/// Is the sample known to be outside, and nothing ahead of it to be told? Then no ray is needed:
/// most that are judged again have come out beside the surface that their walks know (avalanche at
/// rest: nine of ten).
static bool is_surely_outside(const ray_side *s, int32_t i)
{
	const cr_sample_rays *r = s->rays;
	const float origin[3] = { r->origin[0][i], r->origin[1][i], r->origin[2][i] };
	return s->pipeline->settings.world.speculative_distance == 0 && cr_side_of(s->target->shape.collider, origin) < 0;
}

/// A watched sample whose walk found nothing, or had nowhere to begin, or says that a sample that
/// was inside has come out: judged by the whole line, unless it is known to be outside.
static void judge_again(ray_side *s, const cr_walks *walks, int32_t i, cr_watch *watch)
{
	if (is_surely_outside(s, i)) {
		// A walk that ended ahead of the sample is where the next one begins.
		if (walks->end[i] == CR_WALK_BACK)
			watch->place = walks->place[i];
		watch->gap = fmaxf(watch->gap, 0);
		return;
	}
	int32_t triangle;
	const line_result result = recast(s, i, &triangle);
	watch->place = result == LINE_NOTHING ? -1 : s->target->shape.collider->place[triangle];
	watch->gap = result == LINE_INSIDE ? -1 : 0;
}

static void judge_walks(ray_side *s, const cr_walks *walks)
{
	cr_watch *watched = cr_watched(s->pipeline, cr_memory_of(s->pipeline, s->work), s->side);
	const bool cast_again = s->pipeline->settings.lab.lost_rays == CAROM_LOST_RECAST;
	for (int32_t i = 0; i < s->count; i++) {
		cr_watch *watch = &watched[walks->entry[i]];
		const cr_watch before = *watch;
		const bool found = walks->end[i] == CR_WALK_BACK, began = watch->place >= 0;
		s->worker->rays_lost += began && !found;
		const bool was_inside = watch->gap < 0;
		if (found && !(cast_again && was_inside && walks->t[i] < 0)) {
			watch->place = walks->place[i];
			watch->gap = judge_walk(s, walks, i) == LINE_INSIDE ? -1 : watch->gap;
		} else if (cast_again || !began) {
			judge_again(s, walks, i, watch);
		}
		s->work->changed |= watch->place != before.place || watch->gap != before.gap;
	}
}

// ---- The stage ----

cr_next cr_after_rays(const cr_pipeline *p, cr_pair_work *w)
{
	w->cast = true;
	const bool patches = cr_wants_manifold(p, w);
	w->beside = w->touching && !patches && cr_looks_beside_vertices(p, w);
	const bool is_done = w->touching && !w->beside;
	if (w->again)
		return is_done ? CR_NEXT_NONE : CR_NEXT_NEAR;
	if (w->looked)
		return is_done ? CR_NEXT_NONE : CR_NEXT_CROSSINGS;
	return patches || (p->settings.lab.complete && !is_done) ? CR_NEXT_NEAR : CR_NEXT_NONE;
}

void cr_judge_side(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, int side)
{
	const cr_span range = w->rays[side];
	cr_pair_memory *m = cr_memory_of(p, w);
	if (m && !w->iterative)
		m->watched[side].count = 0;
	if (range.count == 0)
		return;
	const int64_t before = worker->contacts.count;
	ray_side s = { p, worker, w, side, cr_source_of(p, w, side), cr_target_of(p, w, side), .count = range.count };
	if (w->iterative) {
		const cr_walks walks = cr_walks_at(&p->frame, range.first);
		s.rays = &walks.rays;
		judge_walks(&s, &walks);
	} else {
		const cr_casts casts = cr_casts_at(&p->frame, range.first);
		s.rays = &casts.rays;
		judge_full(&s, &casts.hits);
	}
	if (s.source->shape.def.type == CAROM_BOX)
		keep_shortest(&worker->contacts, before);
}

/// Cast the rays of one side of a pair, unless they were walked.
static void cast_side(const cr_pipeline *p, const cr_pair_work *w, int side)
{
	const cr_span range = w->rays[side];
	if (w->iterative || range.count == 0)
		return;
	const cr_casts casts = cr_casts_at(&p->frame, range.first);
	cr_cast_lines(p, cr_target_of(p, w, side), &casts, range.count, w->extension);
}

void cr_walk_range(
	const cr_pipeline *p, cr_worker *worker, const cr_collider *target, const cr_walks *walks, int32_t begin, int32_t end)
{
	const cr_sample_rays *r = &walks->rays;
	const cr_walk_lines lines = { { r->origin[0], r->origin[1], r->origin[2] },
		{ r->direction[0], r->direction[1], r->direction[2] }, walks->place, walks->t, walks->end };
	p->bvh->walk(target, &lines, begin, end, p->settings.lab.max_walk, &worker->walk_steps);
}

static void walk_worker(const cr_pipeline *p, cr_worker *worker)
{
	for (int64_t i = 0; i < worker->runs.count; i++) {
		const cr_ray_run *run = &worker->runs.data[i];
		const cr_walks walks = cr_walks_at(&p->frame, run->range.first);
		cr_walk_range(p, worker, p->bodies[run->target].shape.collider, &walks, 0, run->range.count);
	}
	worker->runs.count = 0;
}

static void walk_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const cr_pipeline *p = task;
	for (int64_t i = begin; i < end; i++)
		walk_worker(p, &p->workers[i]);
}

/// Prefetch the watches of a pair: they were read last when its rays were made, many pairs ago.
static void ask_for_watches(const cr_pipeline *p, const cr_pair_work *w)
{
	const cr_pair_memory *m = cr_memory_of(p, w);
	if (!w->iterative)
		return;
	for (int side = 0; side < 2; side++)
		cr_prefetch_watched(p, m, side);
}

/// Judge the taken pairs begin..end-1; cast: cast their rays before.
static void judge_pairs(const cr_pipeline *p, cr_worker *worker, int64_t begin, int64_t end, bool cast)
{
	for (int64_t i = begin; i < end && !worker->failed; i++) {
		cr_pair_work *w = &p->work.data[p->taken.data[i]];
		if (i + 1 < end)
			ask_for_watches(p, &p->work.data[p->taken.data[i + 1]]);
		cr_load_contacts(worker, w->contacts);
		for (int side = 0; side < 2; side++) {
			if (cast)
				cast_side(p, w, side);
			cr_judge_side(p, worker, w, side);
		}
		cr_keep_contacts(worker, &w->contacts);
		p->next.data[p->taken.data[i]] = (uint8_t)cr_after_rays(p, w);
	}
}

static void ray_task(int64_t begin, int64_t end, int worker, void *task)
{
	const cr_pipeline *p = task;
	judge_pairs(p, &p->workers[worker], begin, end, true);
}

static void judge_task(int64_t begin, int64_t end, int worker, void *task)
{
	const cr_pipeline *p = task;
	judge_pairs(p, &p->workers[worker], begin, end, false);
}

static void walk_all(cr_pipeline *p)
{
	// A worker's runs stay together: they were dealt out in small pieces already.
	cr_parallel_for(p->context, walk_task, p->worker_count, 1, p);
}

carom_result cr_judge_rays(cr_pipeline *p)
{
	cr_for_pairs(p, judge_task, PAIRS_PER_TASK);
	return cr_check_workers(p, "the contacts of a step");
}

carom_result cr_stage_rays(cr_pipeline *p)
{
	if (cr_take(p, CR_NEXT_RAYS) == 0)
		return CAROM_SUCCESS;
	walk_all(p);
	cr_for_pairs(p, ray_task, PAIRS_PER_TASK);
	return cr_check_workers(p, "the contacts of a step");
}
