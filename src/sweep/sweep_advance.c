/// The end of a step where nothing has met (carom_sweep_advance).
///
/// Proof. Let b be the places at the beginning and p those that are handed out: whatever doubles
/// they are, the motion from b to p on straight lines was searched, and no impact was found up to
/// time 1 inclusive. The search misses none (geom/swept.h), so no features come as near as the
/// separation, or touch, on that motion, its end included. Where vertices do not move, p = b, they
/// are where they began, whatever was found.
///
/// p is the rounded place at a time t of the wanted motion, so p differs from it by roundings. A
/// search of the wanted motion says nothing about them: near an impact they may lie beyond. That is
/// why p is searched. It seldom fails where t is a part of the way to the impact: the features are
/// then farther apart than roundings. The first part that is left out is 2^-10 of the way; each
/// failure leaves out more.
#include "sweep/sweep_state.h"

#include <math.h>
#include <string.h>

enum {
	MOST_TRIES = 12,
	LEAST_PART = 10, // 2^-10 of the way to an impact is left out
	PART_GROWTH = 2, // four times as much after each failure, up to half of the way
};

/// How much of the way to an impact is taken at a try, from 0.
static double part_of(int tried)
{
	const int exponent = LEAST_PART - PART_GROWTH * tried;
	return 1 - ldexp(1, -(exponent > 1 ? exponent : 1));
}

/// Let a mesh end at a time of the wanted motion. A place never lies outside of its way: roundings
/// are cut off, so a coordinate that rests does so to the bit.
static void end_mesh_at(carom_sweep *s, cr_sweep_mesh *m, double time)
{
	const int64_t first = 3 * (int64_t)m->own_first;
	m->largest_end = 0;
	for (int64_t i = first; i < first + 3 * (int64_t)m->vertex_count; i++) {
		const double from = s->begin.data[i], to = s->wanted.data[i], at = from + time * (to - from);
		const double low = from < to ? from : to, high = from < to ? to : from;
		const double end = time >= 1 ? to : at < low ? low : at > high ? high : at;
		s->end.data[i] = end;
		m->largest_end = fmax(m->largest_end, fabs(end));
	}
}

static void end_at(carom_sweep *s, double time)
{
	s->bounded = false;
	for (int64_t i = 0; i < s->meshes.count; i++)
		end_mesh_at(s, &s->meshes.data[i], time);
}

/// Try times until the motion is proved clear. On a failure the ends are those that were wanted.
static carom_result find_clear_time(carom_sweep *s, double *time)
{
	if (!cr_array_reserve(&s->context, &s->wanted, s->end.count))
		return cr_fail_memory(&s->context, "the places of a sweep");
	if (s->end.count > 0)
		memcpy(s->wanted.data, s->end.data, (size_t)s->end.count * sizeof *s->end.data);
	for (int tried = 1;; tried++) {
		end_at(s, *time);
		if (!(*time > 0))
			return CAROM_SUCCESS;
		const cr_sweep_impact *impact;
		const carom_result result = cr_find_earliest_impact(s, &impact);
		if (result != CAROM_SUCCESS) {
			end_at(s, 1);
			return result;
		}
		if (!impact)
			return CAROM_SUCCESS;
		*time = tried < MOST_TRIES ? *time * impact->time * part_of(tried) : 0;
	}
}

static carom_result check_advance(carom_sweep *s, double time, const double *used)
{
	static const char *const name = "carom_sweep_advance";
	if (!used)
		return cr_fail(&s->context, CAROM_INVALID_ARGUMENT, "%s: used is NULL", name);
	if (!(time >= 0 && time <= 1))
		return cr_fail(&s->context, CAROM_INVALID_ARGUMENT, "%s: time is %g, not in 0 to 1", name, time);
	if (s->def.test == CAROM_SWEEP_CUBIC)
		return cr_fail(
			&s->context, CAROM_INVALID_ARGUMENT, "%s: carom_sweep_def.test is CAROM_SWEEP_CUBIC, which proves nothing", name);
	if (!s->swept)
		return cr_fail(&s->context, CAROM_INVALID_ARGUMENT,
			"%s: the step was not searched for impacts: call carom_sweep_find or carom_sweep_find_earliest", name);
	return CAROM_SUCCESS;
}

carom_result carom_sweep_advance(carom_sweep *sweep, double time, double *used)
{
	if (!sweep)
		return CAROM_INVALID_ARGUMENT;
	carom_result result = check_advance(sweep, time, used);
	if (result != CAROM_SUCCESS)
		return result;
	*used = 0;
	sweep->hits.count = 0;
	double until = sweep->earliest <= 1 ? fmin(time, sweep->earliest * part_of(0)) : time;
	result = until < 1 ? find_clear_time(sweep, &until) : CAROM_SUCCESS;
	sweep->searched = sweep->swept = result == CAROM_SUCCESS;
	if (result != CAROM_SUCCESS)
		return result;
	sweep->earliest = INFINITY;
	*used = until;
	return CAROM_SUCCESS;
}

carom_result carom_sweep_get_places(carom_sweep *sweep, int32_t mesh, double *places)
{
	static const char *const name = "carom_sweep_get_places";
	const carom_result result = cr_check_sweep_mesh_number(sweep, name, mesh);
	if (result != CAROM_SUCCESS)
		return result;
	if (!places)
		return cr_fail(&sweep->context, CAROM_INVALID_ARGUMENT, "%s: places is NULL", name);
	const cr_sweep_mesh *m = &sweep->meshes.data[mesh];
	if (m->vertex_count > 0)
		memcpy(places, sweep->end.data + 3 * (int64_t)m->own_first, 3 * (size_t)m->vertex_count * sizeof *places);
	return CAROM_SUCCESS;
}
