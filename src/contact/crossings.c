/// Crossings stage: triangle against triangle, exactly.
///
/// Vertex rays see only vertices inside the other body: edges that cross edges are missed (29 % of
/// the intersecting pairs of the recorded avalanche at rest). Here it is decided which of the
/// triangles that may meet cross (pierces.c), and their crossing edges give the contacts
/// (edge_contacts.c, manifold.c). Input: the pairs that the near stage has looked at, some before
/// their rays are cast, some after. Output: raw contacts, or the pair goes on to its rays. Parallel
/// over pairs.

#include "base/parallel.h"
#include "contact/crossing.h"
#include "contact/manifold.h"
#include "frame/memory.h"
#include "contact/near_contacts.h"

enum { PAIRS_PER_TASK = 32 };

/// With exit_distance_test all rays of a body, or of a piece of it, that lies wholly inside another
/// may have been dropped: cast them again without a limit until one finds the way out.
static void add_contained(cr_completion *c, int side)
{
	const int target = 1 - side;
	const cr_span range = c->work->rays[side];
	if (range.count == 0)
		return;
	const cr_casts casts = cr_casts_at(c->worker->frame, range.first);
	const cr_sample_rays *r = &casts.rays;
	for (int32_t i = 0; i < range.count; i++) {
		const float origin[3] = { r->origin[0][i], r->origin[1][i], r->origin[2][i] };
		cr_way_out way = { 0, { r->direction[0][i], r->direction[1][i], r->direction[2][i] }, -1 };
		if (!cr_cast_out(c, target, origin, &way) || !cr_is_inside(c->pipeline, c->collider[target], origin, way.direction))
			continue;
		cr_finish_way(c->pipeline, c->collider[side], c->collider[target], origin, &way);
		const cr_sample8 *block = &c->collider[side]->samples[r->sample[i] / CR_WIDTH];
		const int lane = r->sample[i] % CR_WIDTH;
		const v3d point = cr_to_a(c, side, (v3d){ block->point[0][lane], block->point[1][lane], block->point[2][lane] });
		const v3d out = cr_direction_to_a(c, target, (v3d){ way.direction[0], way.direction[1], way.direction[2] });
		cr_add_crossing_contact(c, side, point, v3d_normalize(out), way.depth, block->number[lane], way.triangle,
			side == 0 ? CAROM_VERTEX_A : CAROM_VERTEX_B);
		return;
	}
}

/// Decide which of the triangles that may meet cross, and make their contacts. Returns whether any
/// does.
static bool add_crossings(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	if (w->meetings.count == 0)
		return false;
	cr_completion c = cr_begin_completion(p, worker, w);
	cr_candidates crossing = { .data = cr_meetings_at(&p->frame, w->meetings.first), .count = w->meetings.count };
	if (!cr_find_crossings(&c, &crossing)) {
		worker->failed = true;
		return false;
	}
	w->meetings.count = crossing.count;
	w->tested = 0; // those that are left have moved up
	if (crossing.count == 0)
		return false;
	worker->pairs_crossing++;
	if (!cr_wants_manifold(p, w) || !cr_make_manifold(&c, &crossing))
		cr_add_crossing_contacts(&c, &crossing);
	return true;
}

/// A body that lies wholly inside another, whose rays were all dropped. Returns whether there is
/// one.
static bool add_containment(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	const int64_t before = worker->contacts.count;
	cr_completion c = cr_begin_completion(p, worker, w);
	add_contained(&c, 0);
	if (worker->contacts.count == before)
		add_contained(&c, 1);
	return worker->contacts.count > before;
}

/// A vertex of each body: is the pair, whose surfaces do not cross, one inside the other?
static bool is_contained(const cr_pipeline *p, const cr_pair_work *w)
{
	for (int side = 0; side < 2; side++) {
		const cr_collider *source = cr_source_of(p, w, side)->shape.collider;
		const cr_collider *target = cr_target_of(p, w, side)->shape.collider;
		const cr_transform *m = cr_to_target(w, side);
		if (!target->closed || source->sample_tree.block_count == 0)
			continue;
		const float *q[3] = { source->samples[0].point[0], source->samples[0].point[1], source->samples[0].point[2] };
		float origin[3];
		bool in_box = true;
		for (int k = 0; k < 3; k++) {
			origin[k] = ((m->r[k][0] * *q[0] + m->r[k][1] * *q[1]) + m->r[k][2] * *q[2]) + m->t[k];
			in_box = in_box && origin[k] >= target->lower[k] && origin[k] <= target->upper[k];
		}
		const float direction[3] = { 0.5f, 0.7f, 0.3f };
		if (in_box && cr_is_inside(p, target, origin, direction))
			return true;
	}
	return false;
}

/// Send a pair to its rays.
static cr_next cast_rays(const cr_pipeline *p, cr_pair_work *w)
{
	const cr_pair_memory *m = cr_memory_of(p, w);
	for (int side = 0; w->iterative && side < 2; side++)
		w->rays[side].count = m->watched[side].count;
	return CR_NEXT_RAYS;
}

bool cr_tests_meetings(const cr_pipeline *p, const cr_pair_work *w)
{
	const bool patches = cr_wants_manifold(p, w) && !(w->cast && w->again);
	return w->meetings.count > 0 && (patches || (w->cast && !w->touching));
}

/// A pair that did not touch when it was last looked at, or whose contacts are patches: while the
/// surfaces do not meet, and neither body lies inside the other, no ray needs to be cast.
static cr_next judge_surfaces(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	const double ahead = cr_wants_near_contacts(p) ? 0 : p->settings.world.speculative_distance;
	if (cr_wants_manifold(p, w) && add_crossings(p, worker, w)) {
		w->by_poses = true;
		return CR_NEXT_NONE;
	}
	if (w->meetings.count == 0 && (ahead == 0 || w->gap > ahead) && !is_contained(p, w))
		return CR_NEXT_NONE;
	if (!w->iterative && cr_memory_of(p, w))
		cr_choose_allowed(p, w);
	return cast_rays(p, w);
}

/// A pair of which pieces may lie inside, so that its rays were cast: where the surfaces meet,
/// patches take the place of their contacts. Returns whether they do.
static bool replace_by_patches(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	worker->contacts.count = 0;
	if (add_crossings(p, worker, w))
		return true;
	cr_load_contacts(worker, w->contacts);
	return false;
}

/// An iterative pair that found nothing by its memory, though it must touch: all of it again, as in
/// a full step.
static cr_next start_over(cr_worker *worker, cr_pair_work *w)
{
	w->again = true;
	w->iterative = false;
	w->allowed = 0;
	worker->contacts.count = 0; // speculative ones, which are found again
	return CR_NEXT_RAYS;
}

/// A pair whose rays were cast.
static cr_next judge_after_rays(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	if (!w->again && cr_wants_manifold(p, w) && replace_by_patches(p, worker, w)) {
		w->touching = w->by_poses = true;
		return CR_NEXT_NONE;
	}
	if (w->touching && w->beside && !worker->failed)
		cr_add_edges_beside_vertices(p, worker, w);
	if (w->touching || worker->failed || add_crossings(p, worker, w))
		return CR_NEXT_NONE;
	if (w->iterative)
		return w->dropped || is_contained(p, w) ? start_over(worker, w) : CR_NEXT_NONE;
	if (p->settings.lab.exit_distance_test && add_containment(p, worker, w))
		w->allowed = w->gap = 0;
	return CR_NEXT_NONE;
}

static cr_next judge(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	cr_load_contacts(worker, w->contacts);
	const cr_next next = w->cast ? judge_after_rays(p, worker, w) : judge_surfaces(p, worker, w);
	cr_keep_contacts(worker, &w->contacts);
	return next;
}

/// Judge a pair in memory that the next pair takes again.
static cr_next judge_and_rewind(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	const cr_arena_mark mark = cr_arena_get_mark(&worker->arena);
	const cr_raw_contact *contacts = worker->contacts.data;
	const cr_next next = judge(p, worker, w);
	cr_arena_rewind(&worker->arena, &mark);
	if (worker->contacts.data != contacts)
		worker->contacts = (cr_raw_contacts){ 0 };
	return next;
}

static void crossings_task(int64_t begin, int64_t end, int worker, void *task)
{
	cr_pipeline *p = task;
	for (int64_t i = begin; i < end && !p->workers[worker].failed; i++) {
		const int32_t number = p->taken.data[i];
		p->next.data[number] = (uint8_t)judge_and_rewind(p, &p->workers[worker], &p->work.data[number]);
	}
}

carom_result cr_judge_crossings(cr_pipeline *p)
{
	cr_for_pairs(p, crossings_task, PAIRS_PER_TASK);
	return cr_check_workers(p, "the contacts of a step");
}

carom_result cr_stage_crossings(cr_pipeline *p)
{
	return cr_take(p, CR_NEXT_CROSSINGS) == 0 ? CAROM_SUCCESS : cr_judge_crossings(p);
}
