/// Room for rays: predicted before they are made, as a device must that cannot ask how many there
/// will be (Lehericey, Gouranton and Arnaldi, GPU Ray-Traced Collision Detection: Fine Pipeline
/// Reorganization, 2015, section 4).
///
/// Here lists grow, so nothing need be predicted: the modes exist to compare the strategies. Room
/// goes to pairs in their order, so the rays left out do not depend on the threads.

#include "lab/lab_state.h"

/// Room is predicted for the first round of a step. The rays of later ones are few.
static bool is_predicting(const cr_pipeline *p) { return p->round == 0; }

/// The paper's Eq. 1 or Eq. 2. Where the last step says nothing (it had no pairs or no rays, which
/// would predict none for ever) the room is boundless.
static int64_t predict_room(const cr_pipeline *p, int list)
{
	const cr_ray_rooms *r = &cr_lab_of(p)->plain.rooms;
	if (r->last_pairs == 0 || r->last_rays[list] == 0)
		return INT64_MAX;
	double rays = (double)r->last_rays[list] * p->settings.lab.buffer_confidence;
	if (p->settings.lab.ray_predictor == CAROM_PREDICTOR_PAIRS)
		rays *= (double)p->pairs.count / (double)r->last_pairs;
	return (int64_t)rays;
}

static int64_t count_rays(const cr_pipeline *p, int list)
{
	int64_t count = 0;
	for (int64_t i = 0; i < p->taken.count; i++) {
		const cr_pair_work *w = &p->work.data[p->taken.data[i]];
		if (w->iterative == (list == CR_LIST_ITERATIVE))
			count += w->rays[0].count + w->rays[1].count;
	}
	return count;
}

/// Cut a list of rays to its room, in the order of the pairs.
static void cut_list(cr_pipeline *p, int list)
{
	int64_t room = cr_lab_of(p)->plain.rooms.room[list];
	for (int64_t i = 0; i < p->taken.count; i++) {
		cr_pair_work *w = &p->work.data[p->taken.data[i]];
		if (w->iterative != (list == CR_LIST_ITERATIVE))
			continue;
		for (int side = 0; side < 2; side++) {
			const int32_t wanted = w->rays[side].count, got = wanted < room ? wanted : (int32_t)room;
			room -= got;
			if (got == wanted)
				continue;
			w->rays[side].count = got;
			p->rays_missed += wanted - got;
			// A full pair cannot remember samples that it has not seen.
			if (!w->iterative) {
				w->allowed = 0;
				w->cut = true;
			}
		}
	}
}

/// Predict the room of both lists of rays, and under CAROM_BUFFERS_IGNORE cut the iterative rays to
/// it.
static void plan_rays(cr_pipeline *p)
{
	cr_ray_rooms *r = &cr_lab_of(p)->plain.rooms;
	if (!is_predicting(p))
		return;
	for (int list = 0; list < CR_LIST_COUNT; list++)
		r->room[list] = predict_room(p, list);
	// Known before the rays are made, since the pairs remember them.
	r->last_rays[CR_LIST_ITERATIVE] = count_rays(p, CR_LIST_ITERATIVE);
	if (p->settings.lab.ray_buffers == CAROM_BUFFERS_IGNORE)
		cut_list(p, CR_LIST_ITERATIVE);
}

/// After the lists were filled: were they too long for the room, and is the stage to be done again?
/// Then forgets the rays.
static bool must_backtrack(cr_pipeline *p)
{
	cr_ray_rooms *r = &cr_lab_of(p)->plain.rooms;
	if (!is_predicting(p) || p->settings.lab.ray_buffers != CAROM_BUFFERS_BACKTRACK)
		return false;
	const int64_t length[CR_LIST_COUNT] = { count_rays(p, CR_LIST_FULL), r->last_rays[CR_LIST_ITERATIVE] };
	for (int list = 0; list < CR_LIST_COUNT; list++)
		p->rays_missed += length[list] > r->room[list] ? length[list] - r->room[list] : 0;
	if (p->rays_missed == 0)
		return false;
	p->backtracks++;
	for (int32_t i = 0; i < p->worker_count; i++) {
		cr_worker *w = &p->workers[i];
		w->runs.count = 0;
		w->vertices_tested = w->vertices_culled = w->vertices_watched = w->rays_iterative = 0;
	}
	return true;
}

/// Under CAROM_BUFFERS_IGNORE cut the full rays to their room. Notes the true lengths for the next
/// step.
static void cut_rays(cr_pipeline *p)
{
	if (!is_predicting(p))
		return;
	cr_ray_rooms *r = &cr_lab_of(p)->plain.rooms;
	r->last_pairs = p->pairs.count;
	r->last_rays[CR_LIST_FULL] = count_rays(p, CR_LIST_FULL);
	if (p->settings.lab.ray_buffers == CAROM_BUFFERS_IGNORE)
		cut_list(p, CR_LIST_FULL);
}

/// The vertex stage. A first round without rays is one too: the next step is predicted from it.
static carom_result predict_vertices(cr_pipeline *p)
{
	if (cr_take(p, CR_NEXT_RAYS) == 0 && p->round > 0)
		return CAROM_SUCCESS;
	plan_rays(p);
	cr_make_rays(p);
	if (must_backtrack(p))
		cr_make_rays(p);
	cut_rays(p);
	return cr_check_workers(p, "the rays of a step");
}

const cr_stages cr_predicting_stages = { "predicting", cr_open_stages, cr_stage_pairs, cr_stage_begin, cr_stage_near,
	cr_stage_crossings, predict_vertices, cr_stage_rays, cr_stage_finish, cr_stage_simple, cr_stage_reduce, NULL };
