/// Room for rays: predicted before they are made, as a device must that cannot ask how many there will be (Lehericey, Gouranton
/// and Arnaldi, GPU Ray-Traced Collision Detection: Fine Pipeline Reorganization, 2015, section 4).
///
/// Here lists grow, so nothing need be predicted: the modes exist to compare the strategies. Room goes to pairs in their order,
/// so the rays left out do not depend on the threads.

#include "detect/pipeline.h"

/// Room is predicted for the first round of a step. The rays of later ones are few.
static bool is_predicting(const cr_pipeline *p) { return p->settings.ray_buffers != CAROM_BUFFERS_EXACT && p->round == 0; }

/// The paper's Eq. 1 or Eq. 2. Where the last step says nothing (it had no pairs or no rays, which would predict none for ever)
/// the room is boundless.
static int64_t predict_room(const cr_pipeline *p, int list)
{
	const cr_ray_rooms *r = &p->rooms;
	if (r->last_pairs == 0 || r->last_rays[list] == 0)
		return INT64_MAX;
	double rays = (double)r->last_rays[list] * p->settings.buffer_confidence;
	if (p->settings.ray_predictor == CAROM_PREDICTOR_PAIRS)
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
	int64_t room = p->rooms.room[list];
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
			p->rooms.missed += wanted - got;
			// A full pair cannot remember samples that it has not seen.
			if (!w->iterative) {
				w->allowed = 0;
				w->cut = true;
			}
		}
	}
}

void cr_plan_rays(cr_pipeline *p)
{
	cr_ray_rooms *r = &p->rooms;
	if (p->round == 0)
		r->missed = r->backtracks = 0;
	if (!is_predicting(p))
		return;
	for (int list = 0; list < CR_LIST_COUNT; list++)
		r->room[list] = predict_room(p, list);
	// Known before the rays are made, since the pairs remember them.
	r->last_rays[CR_LIST_ITERATIVE] = count_rays(p, CR_LIST_ITERATIVE);
	if (p->settings.ray_buffers == CAROM_BUFFERS_IGNORE)
		cut_list(p, CR_LIST_ITERATIVE);
}

bool cr_must_backtrack(cr_pipeline *p)
{
	cr_ray_rooms *r = &p->rooms;
	if (!is_predicting(p) || p->settings.ray_buffers != CAROM_BUFFERS_BACKTRACK)
		return false;
	const int64_t length[CR_LIST_COUNT] = { count_rays(p, CR_LIST_FULL), r->last_rays[CR_LIST_ITERATIVE] };
	for (int list = 0; list < CR_LIST_COUNT; list++)
		r->missed += length[list] > r->room[list] ? length[list] - r->room[list] : 0;
	if (r->missed == 0)
		return false;
	r->backtracks++;
	for (int32_t i = 0; i < p->worker_count; i++) {
		cr_worker *w = &p->workers[i];
		w->runs.count = 0;
		w->vertices_tested = w->vertices_culled = w->vertices_watched = w->rays_iterative = 0;
	}
	return true;
}

void cr_cut_rays(cr_pipeline *p)
{
	if (!is_predicting(p))
		return;
	p->rooms.last_pairs = p->pairs.count;
	p->rooms.last_rays[CR_LIST_FULL] = count_rays(p, CR_LIST_FULL);
	if (p->settings.ray_buffers == CAROM_BUFFERS_IGNORE)
		cut_list(p, CR_LIST_FULL);
}
