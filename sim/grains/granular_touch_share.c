// Touches of bodies of other kinds where ranks share the spheres: those of the last step, whose
// springs the next one goes on with, go from rank to rank with their sphere. Each sphere has its
// touches on one rank, in the order in which the caller gave them, and keeps that order.
#include "sim/grains/granular_memento.h"
#include "sim/grains/granular_share.h"

#include <stdlib.h>
#include <string.h>

/// A touch on its way.
typedef struct parcel {
	sim_granular_touch touch;
	double spring[3];
} parcel;

/// Where one has arrived.
typedef struct arrival {
	uint32_t sphere;
	int64_t at;
} arrival;

/// Room for a rank for each touch. NULL when memory is short.
static uint32_t *take_seats(sim_granular *g)
{
	granular_share *s = g->share;
	const size_t bytes = ((size_t)g->touches.count + 1) * sizeof(uint32_t);
	return granular_grow(g, &s->touch_seats, bytes, 0) ? (uint32_t *)(void *)s->touch_seats.data : NULL;
}

bool granular_seat_touches(sim_granular *g)
{
	const granular_share *s = g->share;
	const uint32_t *spheres = (const uint32_t *)(const void *)s->seats.data;
	const granular_touches *t = &g->touches;
	if (!g->touch_rows)
		return true;
	uint32_t *seats = take_seats(g);
	if (!seats)
		return false;
	granular_mark_touches(g, t, true);
	for (int64_t k = 0; k < t->count; k++)
		seats[k] = (uint32_t)s->ranks.rank; // of a sphere that is not here: nobody asks for it
	for (int64_t i = 0; i < g->count; i++) {
		const uint32_t id = g->ids[i];
		for (int64_t k = (int64_t)g->touch_rows[id] - 1; k >= 0 && k < t->count && t->touches[k].sphere == id; k++)
			seats[k] = spheres[i];
	}
	granular_mark_touches(g, t, false);
	return true;
}

/// Put the touches into parcels for the ranks of their seats.
static bool send_touches(sim_granular *g)
{
	granular_share *s = g->share;
	const granular_touches *t = &g->touches;
	const uint32_t *seats = (const uint32_t *)(const void *)s->touch_seats.data;
	memset(s->out.first, 0, ((size_t)s->ranks.count + 1) * sizeof *s->out.first);
	for (int64_t k = 0; k < t->count; k++)
		s->out.first[seats[k] + 1] += (int64_t)sizeof(parcel);
	if (!granular_lay_parcels(g, &s->out))
		return false;
	for (int64_t k = 0; k < t->count; k++) {
		parcel p = { .touch = t->touches[k] };
		if (t->springs)
			memcpy(p.spring, &t->springs[3 * k], sizeof p.spring);
		memcpy(s->out.bytes.data + s->out.first[seats[k]], &p, sizeof p);
		s->out.first[seats[k]] += (int64_t)sizeof p;
	}
	// Each first has come to the next one.
	memmove(s->out.first + 1, s->out.first, (size_t)s->ranks.count * sizeof *s->out.first);
	s->out.first[0] = 0;
	return true;
}

static int compare_arrivals(const void *a, const void *b)
{
	const arrival *x = a, *y = b;
	if (x->sphere != y->sphere)
		return x->sphere < y->sphere ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/// Put what has arrived into touches_before, sorted by sphere.
static bool receive_touches(sim_granular *g)
{
	const granular_share *s = g->share;
	granular_touches *to = &g->touches_before;
	const int64_t count = s->in.first[s->ranks.count] / (int64_t)sizeof(parcel);
	const size_t bytes = ((size_t)count + 1) * sizeof(arrival);
	arrival *arrivals = granular_alloc(g, bytes);
	const bool room = arrivals && granular_reserve_touches(g, to, count);
	for (int64_t k = 0; room && k < count; k++) {
		parcel p;
		memcpy(&p, s->in.bytes.data + k * (int64_t)sizeof p, sizeof p);
		arrivals[k] = (arrival){ p.touch.sphere, k };
	}
	if (room && count > 1)
		qsort(arrivals, (size_t)count, sizeof *arrivals, compare_arrivals);
	for (int64_t k = 0; room && k < count; k++) {
		parcel p;
		memcpy(&p, s->in.bytes.data + arrivals[k].at * (int64_t)sizeof p, sizeof p);
		to->touches[k] = p.touch;
		if (to->springs)
			memcpy(&to->springs[3 * k], p.spring, sizeof p.spring);
	}
	to->count = room ? count : 0;
	if (count > 0 && room)
		memset(to->reactions, 0, (size_t)count * sizeof *to->reactions);
	granular_free(g, arrivals, bytes);
	return room;
}

/// Send the touches to the ranks of their seats, and take what comes into touches_before.
static bool pass_touches(sim_granular *g, sim_error *error)
{
	if (!send_touches(g))
		return granular_no_memory("the bodies that touch spheres", error);
	if (!granular_swap_parcels(g, error))
		return false;
	return receive_touches(g) || granular_no_memory("the bodies that touch spheres", error);
}

bool granular_hand_touches(sim_granular *g, sim_error *error)
{
	if (!g->touch_rows)
		return true;
	if (!pass_touches(g, error))
		return false;
	const granular_touches swapped = g->touches;
	g->touches = g->touches_before;
	g->touches_before = swapped;
	g->touches_before.count = 0;
	return true;
}

bool granular_gather_touches(sim_granular *g, sim_error *error)
{
	uint32_t *seats = take_seats(g);
	if (!seats)
		return granular_no_memory("the bodies that touch spheres", error);
	memset(seats, 0, (size_t)g->touches.count * sizeof *seats);
	return pass_touches(g, error) && (granular_restore_parcels(g) || granular_no_memory("the bodies that touch spheres", error));
}

void granular_keep_touches(sim_granular *g, int64_t first, int64_t last)
{
	granular_touches *t = &g->touches;
	int64_t kept = 0;
	for (int64_t k = 0; k < t->count; k++) {
		if (t->touches[k].sphere < first || t->touches[k].sphere >= last)
			continue;
		t->touches[kept] = t->touches[k];
		if (t->springs)
			memmove(&t->springs[3 * kept], &t->springs[3 * k], 3 * sizeof *t->springs);
		kept++;
	}
	t->count = kept;
}
