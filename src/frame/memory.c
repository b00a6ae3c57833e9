/// The memory of pairs of meshes: whether it still holds, and its renewal. See temporal.h.

#include "frame/memory.h"
#include <string.h>

/// Are the bodies of the memory these, with the shapes that they had?
static bool is_of_bodies(const cr_body *a, const cr_body *b, const cr_pair_memory *m)
{
	return m->generation[0] == a->generation && m->generation[1] == b->generation && a->reshaped <= CR_SHAPE_MOVED &&
		b->reshaped <= CR_SHAPE_MOVED;
}

/// Have the samples and the triangles of a body their numbers and places from step to step? The
/// mesh of a solid that is made once more has others.
static bool keeps_numbers(const cr_body *body) { return !cr_deforming_of(body) || cr_deforming_of(body)->form_refits; }

bool cr_pair_keeps_numbers(const cr_body *a, const cr_body *b) { return keeps_numbers(a) && keeps_numbers(b); }

void cr_claim_memory(const cr_body *a, const cr_body *b, cr_pair_memory *m)
{
	if (is_of_bodies(a, b, m)) {
		const bool keeps = cr_pair_keeps_numbers(a, b);
		m->valid &= keeps;
		m->near.holds &= keeps;
		return;
	}
	// That a pair touched only decides which stage is first. It stays with the vertices.
	const bool same = m->generation[0] == a->generation && m->generation[1] == b->generation &&
		a->reshaped < CR_SHAPE_CHANGED && b->reshaped < CR_SHAPE_CHANGED;
	*m = (cr_pair_memory){ .touched = same && m->touched,
		.ungrouped = m->ungrouped,
		.group = m->group,
		.generation = { a->generation, b->generation },
		.poses = m->poses };
}

bool cr_is_known_apart(const cr_body *a, const cr_body *b, const cr_pair_memory *m)
{
	return m->apart && a->path + b->path <= m->apart_until && is_of_bodies(a, b, m);
}

bool cr_remember_pose(cr_worker *worker, cr_pair_memory *m, cr_role role, const cr_reference *now)
{
	cr_pose_set *poses = &m->poses;
	int free = -1, none = -1;
	for (int k = CR_ROLES - 1; k >= 0; k--) {
		if (poses->kept[k] == 0) {
			none = k;
		} else if (!cr_needs_pose(m, k, role)) {
			free = k;
		} else if (memcmp(cr_kept_pose(worker->kept, m, k), now, sizeof *now) == 0) {
			poses->of[role] = (uint8_t)k;
			return true;
		}
	}
	if (free < 0) {
		uint32_t number;
		if (!cr_keep_pose(worker->kept, &worker->kept_tails, &number))
			return false;
		free = none;
		poses->kept[free] = number + 1;
	}
	poses->of[role] = (uint8_t)free;
	*cr_kept_pose(worker->kept, m, free) = *now;
	return true;
}

bool cr_is_still_apart(const cr_pipeline *p, const cr_body *a, const cr_body *b, const cr_shared_region *region,
	const m3d *now_rotation, cr_pair_memory *m)
{
	if (!m->apart)
		return false;
	const cr_reference *then = cr_pose_for(p, m, CR_ROLE_APART);
	const double left = m->apart_allowed - cr_displacement(a, b, region, now_rotation, then, m->apart_allowed);
	const double turn = cr_pair_deforms(a, b) ? 0 : cr_turn(now_rotation, &then->rotation);
	m->apart_until = cr_path_until(a->path + b->path, left, turn);
	m->apart = left >= 0;
	return m->apart;
}

bool cr_parts_are_still_apart(const cr_pipeline *p, const cr_body *a, const cr_body *b, cr_pair_memory *m)
{
	if (!m->apart || !is_of_bodies(a, b, m))
		return false;
	const cr_shared_region region = cr_find_shared_region(a, b);
	return cr_is_still_apart(p, a, b, &region, &cr_pose_for(p, m, CR_ROLE_APART)->rotation, m);
}

void cr_choose_allowed(const cr_pipeline *p, cr_pair_work *w)
{
	const cr_settings *d = &p->settings;
	const cr_body *a = &p->bodies[w->a], *b = &p->bodies[w->b];
	if (!cr_pair_keeps_numbers(a, b))
		return;
	const cr_shared_region region = cr_find_shared_region(a, b);
	w->allowed = cr_threshold_of(d, a, b, &region, 1, d->predict);
	if (!d->predict || w->allowed == 0)
		return;
	// A vertex that enters within the allowed motion was that near before, and a speculative one
	// farther out.
	if (d->lab.distance_extension > 0)
		w->allowed = fmin(w->allowed, d->lab.distance_extension);
	const double extension = d->lab.distance_extension > 0 ? d->lab.distance_extension : w->allowed;
	w->extension = cr_round_up(fmax(extension, w->allowed + d->world.speculative_distance));
}

cr_motion_since cr_motion_since_full(const cr_pipeline *p, const cr_pair_work *w, int side, cr_transform *then)
{
	const cr_pair_memory *m = cr_memory_of(p, w);
	const cr_reference *full = cr_pose_for(p, m, CR_ROLE_FULL);
	const cr_body *a = &p->bodies[w->a], *b = &p->bodies[w->b];
	if (cr_pair_deforms(a, b)) {
		const cr_shared_region region = cr_find_shared_region(a, b);
		return (cr_motion_since){ .any = cr_round_up(cr_displacement(a, b, &region, &w->now.rotation, full, m->full_allowed)) };
	}
	*then = cr_reference_transform(full, side);
	return (cr_motion_since){ .then = then };
}

float cr_entry_reach(const cr_pipeline *p, const cr_pair_work *w)
{
	return cr_round_up((p->settings.predict ? w->allowed : 0) + p->settings.world.speculative_distance);
}

void cr_remember_apart(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, double gap)
{
	cr_pair_memory *m = cr_memory_of(p, w);
	const cr_body *a = &p->bodies[w->a], *b = &p->bodies[w->b];
	m->apart_allowed = gap - p->settings.world.speculative_distance;
	m->apart = m->apart_allowed > 0 && cr_remember_pose(worker, m, CR_ROLE_APART, &w->now);
	m->apart_until = cr_path_until(a->path + b->path, m->apart_allowed, 0);
}

/// The memory of a pair that was worked out, in full or with nothing found: the full step that
/// holds from now on, and how long the pair stays apart.
static void renew_memory(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	cr_pair_memory *m = cr_memory_of(p, w);
	if (!w->iterative) {
		m->valid = w->allowed > 0 && cr_remember_pose(worker, m, CR_ROLE_FULL, &w->now);
		m->full_allowed = w->allowed;
	}
	if (w->contacts.count > 0 || w->cut)
		return;
	// Without the complete pass a pair counts as apart, as in the paper, when nothing is watched.
	if (!p->settings.lab.complete)
		w->gap = m->valid && !w->iterative && m->watched[0].count + m->watched[1].count == 0 ? w->allowed : 0;
	cr_remember_apart(p, worker, w, w->gap);
}

void cr_update_memory(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, bool touched)
{
	cr_pair_memory *m = cr_memory_of(p, w);
	m->touched = touched;
	if (w->touching && w->iterative)
		return;
	if (w->touching && w->allowed == 0)
		m->valid = false;
	else
		renew_memory(p, worker, w);
}
