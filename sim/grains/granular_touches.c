// Bodies of other kinds that touch spheres. A caller finds them (carom_world_sphere_contacts tells
// of meshes, volumes and cloth), the law of the walls makes the forces, and the caller hands the
// reactions to the bodies.
//
// A spring belongs to a sphere, a body and a place. Places have no names: a sphere that rolls over
// a mesh goes from triangle to triangle. So a touch takes the spring of the touch of that sphere
// and body in the step before whose normal is nearest to its own; where the normals differ by more
// than a right angle it begins without. Each spring is taken once, by the first touch in the
// caller's order that asks.
#include "sim/grains/granular_law.h"
#include "sim/grains/granular_memento.h"
#include "sim/grains/granular_share.h"

#include <math.h>
#include <string.h>

// ---- Memory ----

static void free_touches(sim_granular *g, granular_touches *t)
{
	const size_t room = (size_t)t->room;
	granular_free(g, t->reactions, room * sizeof *t->reactions);
	granular_free(g, t->taken, room);
	granular_free(g, t->springs, 3 * room * sizeof *t->springs);
	granular_free(g, t->touches, room * sizeof *t->touches);
	*t = (granular_touches){ 0 };
}

void granular_free_touches(sim_granular *g)
{
	free_touches(g, &g->touches);
	free_touches(g, &g->touches_before);
	granular_free(g, g->touch_rows, (size_t)g->total * sizeof *g->touch_rows);
}

bool granular_reserve_touches(sim_granular *g, granular_touches *t, int64_t count)
{
	if (count <= t->room)
		return true;
	granular_touches grown = { .room = count + count / 2 };
	const size_t room = (size_t)grown.room;
	const bool springs = g->against.tangential;
	grown.touches = granular_alloc(g, room * sizeof *grown.touches);
	grown.springs = springs ? granular_alloc(g, 3 * room * sizeof *grown.springs) : NULL;
	grown.taken = springs ? granular_alloc(g, room) : NULL;
	grown.reactions = granular_alloc(g, room * sizeof *grown.reactions);
	if (!grown.touches || !grown.reactions || (springs && !(grown.springs && grown.taken))) {
		free_touches(g, &grown);
		return false;
	}
	free_touches(g, t);
	*t = grown;
	return true;
}

// ---- Checks ----

static bool is_unit(const double n[3])
{
	const double squared = granular_dot(n, n);
	return squared > 1 - 1e-6 && squared < 1 + 1e-6;
}

static bool check_touch(const sim_granular *g, int64_t i, const sim_granular_touch *all, sim_error *error)
{
	const sim_granular_touch *t = &all[i];
	const long long n = (long long)i;
	if (t->sphere >= (uint64_t)g->total)
		return sim_fail(error, "touches[%lld].sphere: %u is not below %lld", n, (unsigned)t->sphere, (long long)g->total);
	if (i > 0 && t->sphere < all[i - 1].sphere)
		return sim_fail(error, "touches[%lld].sphere: %u comes after %u; they must be sorted", n, (unsigned)t->sphere,
			(unsigned)all[i - 1].sphere);
	if (!is_unit(t->normal))
		return sim_fail(
			error, "touches[%lld].normal: (%g, %g, %g) is not of length 1", n, t->normal[0], t->normal[1], t->normal[2]);
	if (!(t->overlap >= 0 && isfinite(t->overlap)))
		return sim_fail(error, "touches[%lld].overlap: %g is not a finite number of at least 0", n, t->overlap);
	if (!(isfinite(t->velocity[0]) && isfinite(t->velocity[1]) && isfinite(t->velocity[2])))
		return sim_fail(
			error, "touches[%lld].velocity: (%g, %g, %g) is not finite", n, t->velocity[0], t->velocity[1], t->velocity[2]);
	return true;
}

static bool check_touches(const sim_granular *g, int64_t count, const sim_granular_touch *touches, sim_error *error)
{
	if (!g->touch_rows && g->total > 0)
		return sim_fail(error, "touches: the definition of the simulation has none (sim_granular_def.touches)");
	if (count < 0 || count >= UINT32_MAX)
		return sim_fail(error, "count: %lld touches are not within 0 to %u", (long long)count, (unsigned)(UINT32_MAX - 1));
	if (count > 0 && !touches)
		return sim_fail(error, "touches: NULL, but the count is %lld", (long long)count);
	for (int64_t i = 0; i < count; i++) {
		if (!check_touch(g, i, touches, error))
			return false;
	}
	return true;
}

// ---- Springs ----

/// Put the spring that a touch continues into spring; zero where there is none. from: the first old
/// touch of that sphere. A spring that was taken belongs to nobody else.
static void take_spring(const granular_touches *old, int64_t from, const sim_granular_touch *touch, double spring[3])
{
	int64_t best = -1;
	double nearest = 0;
	for (int64_t i = from; i < old->count && old->touches[i].sphere == touch->sphere; i++) {
		const double along = granular_dot(old->touches[i].normal, touch->normal);
		if (old->touches[i].body == touch->body && !old->taken[i] && along > nearest) {
			nearest = along;
			best = i;
		}
	}
	memset(spring, 0, 3 * sizeof *spring);
	if (best < 0)
		return;
	memcpy(spring, &old->springs[3 * best], 3 * sizeof *spring);
	old->taken[best] = 1;
}

static void take_springs(const granular_touches *old, granular_touches *now)
{
	int64_t from = 0;
	if (old->count > 0)
		memset(old->taken, 0, (size_t)old->count);
	for (int64_t i = 0; i < now->count; i++) {
		while (from < old->count && old->touches[from].sphere < now->touches[i].sphere)
			from++;
		take_spring(old, from, &now->touches[i], &now->springs[3 * i]);
	}
}

// ---- Touches of a step ----

void granular_mark_touches(sim_granular *g, const granular_touches *t, bool on)
{
	for (int64_t i = t->count; i-- > 0;)
		g->touch_rows[t->touches[i].sphere] = on ? (uint32_t)i + 1 : 0;
}

bool sim_granular_set_touches(sim_granular *g, int64_t count, const sim_granular_touch *touches, sim_error *error)
{
	if (!check_touches(g, count, touches, error))
		return false;
	// Until then it is not known whose spheres are whose.
	if (g->share && g->total > 0 && !g->prepared)
		return sim_fail(error, "touches: on ranks they come after sim_granular_prepare");
	// Springs come from the last step's. Touches that no step has used yet are replaced.
	granular_touches *last = g->touches_fresh ? &g->touches_before : &g->touches;
	granular_touches *now = g->touches_fresh ? &g->touches : &g->touches_before;
	if (g->touches_fresh)
		granular_mark_touches(g, now, false);
	if (!granular_reserve_touches(g, now, count)) {
		if (g->touches_fresh)
			granular_mark_touches(g, now, true);
		return granular_no_memory("the bodies that touch spheres", error);
	}
	now->count = count;
	if (count > 0) {
		memcpy(now->touches, touches, (size_t)count * sizeof *touches);
		memset(now->reactions, 0, (size_t)count * sizeof *now->reactions);
	}
	if (g->against.tangential)
		take_springs(last, now);
	if (!g->touches_fresh) {
		const granular_touches swapped = g->touches;
		g->touches = g->touches_before;
		g->touches_before = swapped;
	}
	g->touches_fresh = true;
	granular_mark_touches(g, &g->touches, true);
	return true;
}

void granular_end_touches(sim_granular *g)
{
	if (g->touches_fresh)
		granular_mark_touches(g, &g->touches, false);
	else
		g->touches.count = 0;
	g->touches_fresh = false;
}

bool sim_granular_move_touches(sim_granular *g, sim_tape *tape, sim_error *error)
{
	if (g->share && !tape->writing)
		return sim_fail(error, "the simulation is shared by ranks");
	if (g->share && g->touch_rows && !granular_gather_touches(g, error))
		return false;
	granular_touches *t = g->share ? &g->touches_before : &g->touches;
	int64_t count = t->count;
	sim_tape_move(tape, &count, sizeof count);
	if (!tape->writing) {
		if (tape->failed || count < 0 || (uint64_t)count > tape->size / sizeof *t->touches || (count > 0 && !g->touch_rows))
			return sim_fail(error, "the touches do not fit");
		if (!granular_reserve_touches(g, t, count))
			return granular_no_memory("the bodies that touch spheres", error);
		t->count = count;
	}
	sim_tape_move(tape, t->touches, (size_t)count * sizeof *t->touches);
	if (g->against.tangential)
		sim_tape_move(tape, t->springs, 3 * (size_t)count * sizeof *t->springs);
	return tape->writing || count == 0 || check_touches(g, count, t->touches, error);
}

const sim_granular_reaction *sim_granular_get_reactions(const sim_granular *g) { return g->touches.reactions; }

void granular_add_touches(sim_granular *g, int64_t i, double *load, granular_tally *tally)
{
	const uint32_t id = g->ids[i];
	granular_touches *t = &g->touches;
	const granular_place *p = &g->places[i];
	for (int64_t k = (int64_t)g->touch_rows[id] - 1; k >= 0 && k < t->count && t->touches[k].sphere == id; k++) {
		const sim_granular_touch *touch = &t->touches[k];
		sim_granular_reaction *reaction = &t->reactions[k];
		double *spring = t->springs ? &t->springs[3 * k] : NULL;
		const granular_reply reply = granular_press_sphere(g, i, touch->normal, touch->overlap, touch->velocity, spring, load);
		const double lever = p->r - touch->overlap;
		const double centre[3] = { p->x, p->y, p->z };
		for (int c = 0; c < 3; c++) {
			reaction->point[c] = centre[c] - lever * touch->normal[c];
			reaction->force[c] = -reply.force[c];
			reaction->torque[c] = -reply.rolling[c];
		}
		tally->wall_contacts++;
	}
}

bool sim_granular_push(sim_granular *g, const double *impulses, const double *angular_impulses, sim_error *error)
{
	if (!g->def.touches)
		return sim_fail(error, "impulses: the definition of the simulation has no touches (sim_granular_def.touches)");
	if (g->share && g->prepared)
		return sim_fail(error, "impulses: other ranks know the present motions already (sim_granular_prepare)");
	// So no sphere lags behind (granular_update.c).
	for (int64_t i = 0; i < g->count; i++) {
		const double *p = impulses + 3 * (int64_t)g->ids[i];
		granular_motion *v = &g->motions[i];
		v->x += v->inverse_mass * p[0];
		v->y += v->inverse_mass * p[1];
		v->z += v->inverse_mass * p[2];
		if (!angular_impulses || !g->spins)
			continue;
		const double *q = angular_impulses + 3 * (int64_t)g->ids[i];
		granular_spin *w = &g->spins[i];
		w->x += w->inverse_inertia * q[0];
		w->y += w->inverse_inertia * q[1];
		w->z += w->inverse_inertia * q[2];
	}
	return true;
}
