/// Near stage: which triangles of a pair of meshes may meet.
///
/// A pair that remembers a list of near triangles measures those of the list that may have used up
/// their gaps; any other walks its two trees and makes a list for the next steps. Input: the pairs
/// that wait for this stage. Output: of each pair, the pairs of triangles that may meet now, and
/// how far apart the surfaces are at least where there are none. Parallel over pairs.

#include "base/parallel.h"
#include "contact/contact_vertices.h"
#include "contact/manifold.h"
#include "frame/memory.h"
#include <string.h>

enum {
	PAIRS_PER_TASK = 32,
	FIRST_NEAR = 32, // of a list, which begins with those that are read most
};

// Of the threshold of rays: lists of triangles cost more to keep than lists of samples, and less to
// make.
static const double NEAR_SHARE = 0.5;
// Of a list of triangles: where so many must be measured in a step, all gaps are brought up to date
// (avalanche at rest: flat from an eighth to a half).
static const float RENEW_SHARE = 0.25f;
// Where a list was empty the next one reaches farther by this.
static const double FAR_GROWTH = 2;
// Of the smaller body's diagonal: farther out no empty list reaches.
static const double FAR_SHARE = 0.1;
// A walk farther out that finds more is in vain: surfaces that run beside each other have far too
// many pairs to be kept.
enum { FAR_MOST = 1024 };
// No list is longer than LONG_LIST, and LONG_EACH for each triangle of both bodies: with more the
// reach is cut down to CUT_REACH of it. One that is at most 1 in EASY_SHARE as long may reach
// farther again.
enum { LONG_LIST = 4096, LONG_EACH = 4, EASY_SHARE = 32 };
static const double CUT_REACH = 0.25;
// Of the reach that was wanted: a list cut down to less is not worth keeping. So there are at most
// three cuts, where surfaces coincide.
static const double LEAST_REACH = 1.0 / 64;

/// Drop the candidates with a gap.
static void keep_meeting(cr_candidates *candidates)
{
	int32_t kept = 0;
	for (int32_t i = 0; i < candidates->count; i++) {
		if (candidates->data[i].gap == 0)
			candidates->data[kept++] = candidates->data[i];
	}
	candidates->count = kept;
}

/// The displacement that a list of near triangles shall bear from now on; 0: not worth keeping.
static double choose_reach(const cr_pipeline *p, const cr_pair_work *w)
{
	if (w->slot < 0)
		return 0;
	const cr_body *a = &p->bodies[w->a], *b = &p->bodies[w->b];
	if (!cr_pair_keeps_numbers(a, b))
		return 0;
	const cr_shared_region region = cr_find_shared_region(a, b);
	const double reach = cr_threshold_of(&p->settings, a, b, &region, NEAR_SHARE, false),
				 most = cr_memory_of(p, w)->near.most_reach;
	if (most == 0 || reach <= most)
		return reach;
	return most >= LEAST_REACH * reach && cr_is_threshold_useful(most, cr_last_motion(a, b, &region)) ? most : 0;
}

/// The longest list of near triangles that a pair may keep.
static int32_t longest_list(const cr_pipeline *p, const cr_pair_work *w)
{
	const int64_t triangles =
		(int64_t)p->bodies[w->a].shape.collider->triangle_count + p->bodies[w->b].shape.collider->triangle_count;
	const int64_t most = LONG_LIST + LONG_EACH * triangles;
	return most < INT32_MAX / 2 ? (int32_t)most : INT32_MAX / 2;
}

/// List the vertices of a pair that have a contact. Sets worker->failed, and returns false, when
/// out of memory.
static bool list_vertices(const cr_pipeline *p, cr_worker *worker, const cr_pair_work *w, cr_contact_vertices *v)
{
	const cr_raw_contact *contacts = cr_contacts_at(&p->frame, w->contacts.first);
	worker->failed |= !cr_list_contact_vertices(p, worker, w, contacts, w->contacts.count, v);
	return !worker->failed;
}

static bool skips(const void *user, int body, int32_t triangle) { return cr_is_spoken_for(user, body, triangle); }

/// Walk the two trees of a pair as far as it is planned, into worker->candidates. A walk that makes
/// no list for later steps leaves out triangles that a vertex with a contact speaks for.
static void walk_near(const cr_pipeline *p, cr_worker *worker, const cr_pair_work *w, const cr_near_walk *walk)
{
	cr_candidates *c = &worker->candidates;
	const cr_collider *a = p->bodies[w->a].shape.collider, *b = p->bodies[w->b].shape.collider;
	const cr_arena_mark mark = cr_arena_get_mark(&worker->arena);
	const bool leaves_out = w->beside && walk->reach == 0;
	cr_contact_vertices v;
	c->count = 0;
	c->most = walk->most;
	if (leaves_out && !list_vertices(p, worker, w, &v))
		return;
	c->skip = leaves_out ? skips : NULL;
	c->skip_user = &v;
	p->bvh->pairs(a, b, &w->b_to_a, &w->a_to_b, cr_round_up(walk->reach), c);
	worker->failed |= c->failed;
	c->skip = NULL;
	cr_arena_rewind(&worker->arena, &mark);
}

/// How often the memory budget has refused something. Lists that only serve later steps are left
/// out then.
static unsigned count_refusals(const cr_pipeline *p)
{
	return atomic_load_explicit(&p->context->refusals, memory_order_relaxed);
}

/// Let the next walk reach so far. Lists of one without a reach may be of any length.
static void reach_for(const cr_pipeline *p, const cr_pair_work *w, double reach, cr_near_walk *walk)
{
	walk->reach = reach;
	walk->most = reach > 0 ? longest_list(p, w) : 0;
}

void cr_begin_near_walk(const cr_pipeline *p, const cr_pair_work *w, cr_near_walk *walk)
{
	*walk = (cr_near_walk){ .refusals = count_refusals(p) };
	reach_for(p, w, choose_reach(p, w), walk);
}

/// After a walk: has it found a list that is not too long, or that fits in the memory budget? If
/// not, another one is planned that reaches less far.
static bool settle_walk(const cr_pipeline *p, cr_worker *worker, const cr_pair_work *w, cr_near_walk *walk)
{
	cr_candidates *c = &worker->candidates;
	cr_near_list *list = w->slot < 0 ? NULL : &cr_memory_of(p, w)->near;
	if (c->failed && (walk->reach == 0 || count_refusals(p) == walk->refusals))
		return true;
	if (c->failed) {
		// The list of the walk makes room.
		cr_arena_free(&worker->walked);
		worker->walked.peak = 0;
		*c = (cr_candidates){ .arena = &worker->walked };
		worker->failed = false;
		reach_for(p, w, 0, walk);
		return false;
	}
	if (walk->reach > 0 && c->count > walk->most) {
		list->most_reach = CUT_REACH * walk->reach;
		reach_for(p, w, choose_reach(p, w), walk);
		return false;
	}
	// Triangles that were cut off may have gone meanwhile.
	if (list && list->most_reach > 0 && c->count <= longest_list(p, w) / EASY_SHARE)
		list->most_reach /= CUT_REACH;
	return true;
}

/// Such walks cost little, and the pair is left alone for longer.
bool cr_plan_farther_walk(const cr_pipeline *p, const cr_pair_work *w, cr_near_walk *walk)
{
	const cr_collider *a = p->bodies[w->a].shape.collider, *b = p->bodies[w->b].shape.collider;
	const double most = FAR_SHARE * fmin(a->diagonal, b->diagonal);
	walk->reached = walk->reach;
	if (walk->reached == 0 || walk->reached >= most)
		return false;
	walk->farther = true;
	walk->reach = fmin(FAR_GROWTH * walk->reached, most);
	walk->most = FAR_MOST;
	return true;
}

bool cr_plan_near_walk(const cr_pipeline *p, cr_worker *worker, const cr_pair_work *w, cr_near_walk *walk)
{
	cr_candidates *c = &worker->candidates;
	if (walk->farther && c->count > FAR_MOST) {
		c->count = 0; // as the walk before it
		return false;
	}
	if (!walk->farther && !settle_walk(p, worker, w, walk))
		return true;
	walk->reached = walk->reach;
	return c->count == 0 && !worker->failed && cr_plan_farther_walk(p, w, walk);
}

/// Measure candidates again; gaps beyond enough are good enough.
static void separate(const cr_pipeline *p, const cr_pair_work *w, cr_candidates *c, double enough)
{
	const cr_collider *a = p->bodies[w->a].shape.collider, *b = p->bodies[w->b].shape.collider;
	p->kernels->separate(a, b, &w->b_to_a, c->data, c->count, (float)enough);
}

// ---- Numbers of two triangles in a word, where they fit ----

static int bits_of(const cr_collider *c)
{
	int bits = 0;
	while (bits < 31 && (c->topology->triangle_count - 1) >> bits > 0)
		bits++;
	return bits;
}

/// Choose how the numbers of a list are kept.
static void choose_words(const cr_collider *a, const cr_collider *b, cr_near_list *list)
{
	const int of_a = bits_of(a), of_b = bits_of(b);
	list->wide = of_a + of_b > 32;
	list->bits = (uint8_t)of_b;
}

/// The words of a list.
typedef struct near_words {
	uint32_t *data;
	int32_t behind; // where the numbers of b are, of a wide list; else 0
	int bits;
} near_words;

static near_words words_of(const cr_kept *kept, const cr_near_list *list)
{
	const int32_t behind = list->wide ? cr_lanes_of(list->pairs.count) : 0;
	return (near_words){ cr_near_at(kept, list->pairs.first), behind, list->bits };
}

static inline void pack(near_words w, int32_t at, int32_t a, int32_t b)
{
	w.data[at] = w.behind > 0 ? (uint32_t)a : (uint32_t)a << w.bits | (uint32_t)b;
	if (w.behind > 0)
		w.data[w.behind + at] = (uint32_t)b;
}

/// Without the gap.
static inline cr_candidate unpack(near_words w, int32_t at)
{
	if (w.behind > 0)
		return (cr_candidate){ (int32_t)w.data[at], (int32_t)w.data[w.behind + at], 0 };
	return (cr_candidate){ (int32_t)(w.data[at] >> w.bits), (int32_t)(w.data[at] & (((uint32_t)1 << w.bits) - 1)), 0 };
}

/// Keep worker->candidates with the pair, for the next steps: first those that may meet already,
/// which take longest to measure. false: the memory budget does not allow it, or the worker failed.
static bool remember_near(const cr_pipeline *p, cr_worker *worker, const cr_pair_work *w)
{
	const cr_candidates *walked = &worker->candidates;
	const unsigned refusals = count_refusals(p);
	cr_pair_memory *m = cr_memory_of(p, w);
	cr_near_list *list = &m->near;
	list->pairs = (cr_span){ 0 };
	list->holds = true;
	if (!cr_remember_pose(worker, m, CR_ROLE_NEAR, &w->now) || !cr_remember_pose(worker, m, CR_ROLE_GAPS, &w->now)) {
		worker->failed = count_refusals(p) == refusals;
		return false;
	}
	if (walked->count == 0)
		return true;
	p->kernels->enclose(p->bodies[w->b].shape.collider, walked->data, walked->count, list->lower, list->upper);
	choose_words(p->bodies[w->a].shape.collider, p->bodies[w->b].shape.collider, list);
	if (!cr_keep_near(worker->kept, &worker->kept_tails, walked->count, list)) {
		worker->failed = count_refusals(p) == refusals;
		return false;
	}
	const near_words words = words_of(worker->kept, list);
	float *gaps = cr_near_gaps_at(worker->kept, list->pairs.first);
	int32_t front = 0, back = walked->count;
	for (int32_t i = 0; i < walked->count; i++) {
		const int32_t at = walked->data[i].gap == 0 ? front++ : --back;
		pack(words, at, walked->data[i].a, walked->data[i].b);
		gaps[at] = walked->data[i].gap;
	}
	for (int32_t i = walked->count; i < cr_lanes_of(walked->count); i++) {
		gaps[i] = INFINITY;
		pack(words, i, 0, 0);
	}
	return true;
}

/// Let the gaps of the list count from now on, where so many have been used up by the motion since
/// they did that most are measured in each step. Gaps that are not measured now lose by it: the
/// bound on the way is longer than the way. Returns whether it was done.
static bool renew_gaps(cr_worker *worker, cr_pair_memory *m, float *gaps, const cr_reference *now, int32_t measured, float moved)
{
	const cr_near_list *list = &m->near;
	if (moved == 0 || measured < RENEW_SHARE * (float)list->pairs.count)
		return false;
	const cr_pose_set poses = m->poses;
	if (!cr_remember_pose(worker, m, CR_ROLE_GAPS, now)) {
		m->poses = poses;
		return false;
	}
	for (int32_t i = 0; i < list->pairs.count; i++) {
		const float left = (gaps[i] - moved) * (1 - 0x1p-22f);
		gaps[i] = left > 0 ? left : 0;
	}
	return true;
}

/// How far the triangles of a list may have moved against each other since their gaps were
/// measured.
static double listed_motion(const cr_pipeline *p, const cr_pair_work *w, const cr_pair_memory *m)
{
	const cr_body *a = &p->bodies[w->a], *b = &p->bodies[w->b];
	const cr_reference *then = cr_pose_for(p, m, CR_ROLE_GAPS);
	if (!cr_pair_deforms(a, b)) {
		const v3d low = v3d_from_floats(m->near.lower), high = v3d_from_floats(m->near.upper);
		const cr_part part = { v3d_scale(v3d_add(low, high), 0.5), v3d_scale(v3d_sub(high, low), 0.5) };
		return cr_part_displacement(&part, &w->now, then);
	}
	const cr_shared_region region = cr_find_shared_region(a, b);
	return cr_motion_of_parts(a, b, &region, m->near.allowed, then);
}

// ---- Pairs whose vertices have contacts (edges_beside.c) ----

/// The number of the set of vertices that have a contact, of a pair of which edges are looked for
/// beside them; else 0.
static uint64_t number_of_vertices(const cr_pipeline *p, const cr_pair_work *w)
{
	return w->beside ? cr_number_of_vertices(p, w, cr_contacts_at(&p->frame, w->contacts.first), w->contacts.count) : 0;
}

/// Measure triangles of the list again that were spoken for when others had contacts.
static void wake_spoken(cr_near_list *list, float *gaps, uint64_t number)
{
	if (list->spoken == number)
		return;
	for (int32_t i = 0; i < list->pairs.count && list->spoken != 0; i++)
		gaps[i] = gaps[i] == INFINITY ? 0 : gaps[i];
	list->spoken = 0;
}

/// Do the triangles that the vertices speak for stay the ones they are? Those of a mesh that
/// changes may become long.
static bool stays_spoken(const cr_pipeline *p, const cr_pair_work *w)
{
	const cr_body *a = &p->bodies[w->a], *b = &p->bodies[w->b];
	return !cr_pair_deforms(a, b) && !a->shape.mesh->moving && !b->shape.mesh->moving;
}

/// Drop candidates with a triangle that a vertex with a contact speaks for. number: of each in the
/// list; NULL: there is none. gaps: of the list, which become infinite; NULL: they stay.
static void drop_spoken(
	const cr_pipeline *p, cr_worker *worker, const cr_pair_work *w, cr_candidates *c, int32_t *number, float *gaps)
{
	cr_contact_vertices v;
	if (c->count == 0 || !w->beside)
		return;
	const cr_arena_mark mark = cr_arena_get_mark(&worker->arena);
	if (!list_vertices(p, worker, w, &v))
		return;
	int32_t kept = 0;
	for (int32_t i = 0; i < c->count; i++) {
		const cr_candidate found = c->data[i];
		const int32_t at = number ? number[i] : 0;
		if (cr_is_spoken_for(&v, 0, found.a) || cr_is_spoken_for(&v, 1, found.b)) {
			if (gaps)
				gaps[at] = INFINITY;
			continue;
		}
		if (number)
			number[kept] = at;
		c->data[kept++] = found;
	}
	c->count = kept;
	cr_arena_rewind(&worker->arena, &mark);
}

/// Of the list that the pair remembers, those that may meet now, into worker->candidates: a pair
/// that can have used up its gap by moving is measured again. Sets the gap of the pair. moved and
/// turn: since the step of the list, where the bodies could touch (cr_displacement), and cr_turn.
static void sift_near(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, double moved, double turn)
{
	// Points that are apart by a gap now may lie beyond where the bodies could touch by half of it
	// along each axis.
	const double kept_share = 1 - 0.5 * 1.7320508075688773 * turn;
	cr_pair_memory *m = cr_memory_of(p, w);
	cr_near_list *list = &m->near;
	const int32_t count = list->pairs.count;
	const near_words words = words_of(worker->kept, list);
	float *gaps = cr_near_gaps_at(worker->kept, list->pairs.first);
	cr_candidates *c = &worker->candidates;
	const uint64_t vertices = stays_spoken(p, w) ? number_of_vertices(p, w) : 0;
	wake_spoken(list, gaps, vertices);
	const cr_arena_mark mark = cr_arena_get_mark(&worker->arena);
	int32_t *number = cr_arena_alloc(&worker->arena, ((size_t)count + CR_WIDTH) * sizeof *number);
	c->count = 0;
	if (!number || (count > c->capacity && !cr_candidates_grow(c, count))) {
		worker->failed = true;
		return;
	}
	// No two triangles in the list have come nearer than that.
	const double listed_moved = count > 0 ? listed_motion(p, w, m) : 0;
	const float used = cr_round_up(listed_moved);
	float beyond;
	c->count = p->kernels->sift(gaps, count, used, number, &beyond);
	for (int32_t i = 0; i < c->count; i++)
		c->data[i] = unpack(words, number[i]);
	drop_spoken(p, worker, w, c, number, vertices ? gaps : NULL);
	separate(p, w, c, 0);
	w->gap = fmax(list->allowed * kept_share - moved, 0);
	const bool renewed = renew_gaps(worker, m, gaps, &w->now, c->count, used);
	int32_t kept = 0;
	for (int32_t i = 0; i < c->count; i++) {
		const cr_candidate found = c->data[i];
		float *listed = &gaps[number[i]];
		// Where the gaps were measured they were no nearer than that.
		const float then = renewed ? found.gap : (float)(found.gap - listed_moved);
		*listed = then > *listed ? then : *listed;
		w->gap = found.gap < w->gap ? found.gap : w->gap;
		if (found.gap == 0)
			c->data[kept++] = found;
	}
	c->count = kept;
	cr_arena_rewind(&worker->arena, &mark);
	// Those not measured.
	w->gap = fmin(fmax(beyond - listed_moved, 0), w->gap);
	list->spoken = vertices;
}

/// Of the triangles that the walks have found, those that may meet now, into worker->candidates;
/// and for the next steps those that come near. Sets the gap of the pair.
static void take_near(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, double reach)
{
	cr_pair_memory *m = cr_memory_of(p, w);
	cr_candidates *c = &worker->candidates;
	worker->pairs_completed++;
	if (worker->failed)
		return;
	if (reach == 0 || !remember_near(p, worker, w)) {
		if (m)
			m->near.holds = false;
		// A pair that remembers nothing needs no distance: the crossings stage is as quick to tell.
		drop_spoken(p, worker, w, c, NULL, NULL);
		if (m || w->beside) {
			separate(p, w, c, 0);
			keep_meeting(c);
		}
		return;
	}
	cr_near_list *list = &m->near;
	list->allowed = reach;
	list->spoken = 0;
	sift_near(p, worker, w, 0, 0);
	if (w->beside || c->count > 0 || list->pairs.count == 0)
		return;
	// Apart: the farther, as all measured now can tell, the longer it can be left alone.
	const near_words words = words_of(worker->kept, list);
	float *gaps = cr_near_gaps_at(worker->kept, list->pairs.first);
	for (int32_t i = 0; i < list->pairs.count; i++)
		c->data[i] = unpack(words, i);
	separate(p, w, &(cr_candidates){ .data = c->data, .count = list->pairs.count }, reach);
	// The least is a float: gcc 12.2 for 64-bit ARM dies where floats are reduced to a double
	// (vect_transform_reduction).
	float least = INFINITY;
	for (int32_t i = 0; i < list->pairs.count; i++) {
		const float gap = c->data[i].gap;
		gaps[i] = gap;
		least = gap < least ? gap : least;
	}
	w->gap = (double)least < reach ? (double)least : reach;
}

/// Does the list that the pair remembers bear its way since then, which is *moved?
static bool has_near(const cr_pipeline *p, const cr_pair_work *w, double *moved)
{
	const cr_pair_memory *m = cr_memory_of(p, w);
	const cr_body *a = &p->bodies[w->a], *b = &p->bodies[w->b];
	if (!m || !m->near.holds)
		return false;
	const cr_shared_region region = cr_find_shared_region(a, b);
	const cr_reference *then = cr_pose_for(p, m, CR_ROLE_NEAR);
	*moved = cr_displacement(a, b, &region, &w->now.rotation, then, m->near.allowed);
	return *moved <= m->near.allowed;
}

bool cr_needs_near_walk(const cr_pipeline *p, const cr_pair_work *w)
{
	double moved = 0;
	return !cr_are_hulls(p, w) && !has_near(p, w, &moved);
}

/// Fill worker->candidates from the list that the pair remembers. Returns false when the pair has
/// moved farther than the list bears: the caller then walks the trees.
static bool recall_near(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	const cr_pair_memory *m = cr_memory_of(p, w);
	const cr_body *a = &p->bodies[w->a], *b = &p->bodies[w->b];
	double moved = 0;
	if (!has_near(p, w, &moved))
		return false;
	worker->pairs_completed++;
	const cr_reference *then = cr_pose_for(p, m, CR_ROLE_NEAR);
	sift_near(p, worker, w, moved, cr_pair_deforms(a, b) ? 0 : cr_turn(&w->now.rotation, &then->rotation));
	return true;
}

/// Keep worker->candidates in the list, for the stages that follow.
static void keep_candidates(cr_worker *worker, cr_pair_work *w)
{
	const cr_candidates *found = &worker->candidates;
	cr_list_tail *tail = &worker->tails.meetings;
	if (!cr_list_open(&worker->frame->meetings, tail, (uint32_t)found->count)) {
		worker->failed = true;
		return;
	}
	w->meetings = (cr_span){ tail->next, found->count };
	if (found->count > 0)
		memcpy(cr_meetings_at(worker->frame, tail->next), found->data, (size_t)found->count * sizeof *found->data);
	tail->next += (uint32_t)found->count;
}

void cr_ask_near_ahead(const cr_pipeline *p, int64_t next, int64_t end)
{
	if (next + 1 < end) {
		const cr_pair_work *w = &p->work.data[p->taken.data[next + 1]];
		const cr_pair_memory *m = cr_memory_of(p, w);
		if (m)
			__builtin_prefetch(m);
		if (m)
			cr_prefetch(&m->near, sizeof m->near);
	}
	if (next >= end)
		return;
	const cr_pair_work *w = &p->work.data[p->taken.data[next]];
	const cr_pair_memory *m = cr_memory_of(p, w);
	if (!m || !m->near.holds)
		return;
	const cr_kept *kept = &p->memories[p->keeping];
	const cr_span near = m->near.pairs;
	const int32_t first = near.count < FIRST_NEAR ? near.count : FIRST_NEAR;
	cr_prefetch(cr_near_gaps_at(kept, near.first), (size_t)near.count * sizeof(float));
	cr_prefetch(cr_near_at(kept, near.first), (size_t)first * sizeof(uint32_t));
}

bool cr_begin_near(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, cr_next *next)
{
	w->looked = true;
	*next = CR_NEXT_CROSSINGS;
	if (cr_are_hulls(p, w) && cr_collide_hulls(p, worker, w)) {
		w->by_poses = w->contacts.count > 0;
		*next = CR_NEXT_NONE;
		return true;
	}
	if (!recall_near(p, worker, w))
		return false;
	if (w->beside && worker->candidates.count == 0)
		*next = CR_NEXT_NONE;
	else if (!worker->failed)
		keep_candidates(worker, w);
	return true;
}

void cr_end_near(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, const cr_near_walk *walk)
{
	take_near(p, worker, w, walk->reached);
	if (!worker->failed)
		keep_candidates(worker, w);
}

void cr_walk_near_to_end(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, cr_near_walk *walk)
{
	do {
		walk_near(p, worker, w, walk);
	} while (cr_plan_near_walk(p, worker, w, walk));
	cr_end_near(p, worker, w, walk);
}

static void near_task(int64_t begin, int64_t end, int worker, void *task)
{
	cr_pipeline *p = task;
	cr_worker *own = &p->workers[worker];
	for (int64_t i = begin; i < end && !own->failed; i++) {
		const int32_t number = p->taken.data[i];
		cr_pair_work *w = &p->work.data[number];
		cr_next next;
		cr_ask_near_ahead(p, i + 1, end);
		if (!cr_begin_near(p, own, w, &next)) {
			cr_near_walk walk;
			cr_begin_near_walk(p, w, &walk);
			cr_walk_near_to_end(p, own, w, &walk);
		}
		p->next.data[number] = (uint8_t)next;
	}
}

carom_result cr_stage_near(cr_pipeline *p)
{
	if (cr_take(p, CR_NEXT_NEAR) == 0)
		return CAROM_SUCCESS;
	cr_for_pairs(p, near_task, PAIRS_PER_TASK);
	return cr_check_workers(p, "the near triangles of a step");
}
