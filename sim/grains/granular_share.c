// A simulation that ranks share: its beginning, and spheres that go from rank to rank. See
// granular_share.h.
#include "sim/grains/granular_share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Memory ----

bool granular_grow(sim_granular *g, granular_buffer *buffer, size_t size, size_t kept)
{
	if (size <= buffer->room)
		return true;
	const size_t room = size + size / 4;
	char *data = granular_alloc(g, room);
	if (!data)
		return false;
	if (kept > 0)
		memcpy(data, buffer->data, kept);
	granular_free(g, buffer->data, buffer->room);
	*buffer = (granular_buffer){ data, room };
	return true;
}

/// Let `to` have the arrays of `from`.
static void hand_arrays(sim_granular *to, const sim_granular *from)
{
	to->room = from->room;
	to->places = from->places;
	to->motions = from->motions;
	to->spins = from->spins;
	to->ids = from->ids;
	to->rows = from->rows;
	to->border = from->border;
	to->held = from->held;
	to->wall_touched = from->wall_touched;
	to->wall_history = from->wall_history;
	to->lag.wary = from->lag.wary;
	to->lag.wary_counts = from->lag.wary_counts;
}

/// Copy own spheres. What is derived from lists is of no use any more.
static void copy_spheres(sim_granular *g, const sim_granular *from)
{
	const size_t count = (size_t)g->count;
	if (count == 0)
		return;
	memcpy(g->places, from->places, count * sizeof *g->places);
	memcpy(g->motions, from->motions, count * sizeof *g->motions);
	memcpy(g->ids, from->ids, count * sizeof *g->ids);
	if (g->spins)
		memcpy(g->spins, from->spins, count * sizeof *g->spins);
	if (g->rows && from->rows)
		memcpy(g->rows, from->rows, count * sizeof *g->rows);
	if (g->border && from->border)
		memcpy(g->border, from->border, count * sizeof *g->border);
	if (!g->wall_touched)
		return;
	const size_t width = 3 * (size_t)g->wall_slots;
	memcpy(g->wall_touched, from->wall_touched, count * sizeof *g->wall_touched);
	for (size_t i = 0; i < count; i++) {
		if (g->wall_touched[i])
			memcpy(&g->wall_history[i * width], &from->wall_history[i * width], width * sizeof *g->wall_history);
	}
}

static bool resize(sim_granular *g, int64_t room)
{
	const sim_granular none = { .room = room };
	sim_granular other = { 0 };
	hand_arrays(&other, g);
	hand_arrays(g, &none);
	const bool taken = granular_take_arrays(g);
	if (taken)
		copy_spheres(g, &other);
	// The ones that go are freed as those of g, which counts their bytes.
	sim_granular stay = { 0 };
	hand_arrays(&stay, taken ? g : &other);
	if (taken)
		hand_arrays(g, &other);
	granular_drop_arrays(g);
	hand_arrays(g, &stay);
	return taken;
}

bool granular_grow_arrays(sim_granular *g, int64_t room) { return room <= g->room || resize(g, room + room / 8); }

static void *take(sim_granular *g, size_t count, size_t size)
{
	void *data = granular_alloc(g, count * size);
	if (data)
		memset(data, 0, count * size);
	return data;
}

static bool open_share(sim_granular *g, const sim_ranks *ranks)
{
	// The record itself is counted as the simulation's own is: not at all.
	granular_share *s = g->share = calloc(1, sizeof *s);
	if (!s)
		return false;
	const size_t n = (size_t)ranks->count;
	s->ranks = *ranks;
	s->cuts = take(g, n, sizeof *s->cuts);
	s->out.first = take(g, n + 1, sizeof *s->out.first);
	s->in.first = take(g, n + 1, sizeof *s->in.first);
	s->sent_first = take(g, n + 1, sizeof *s->sent_first);
	s->ghost_first = take(g, n + 1, sizeof *s->ghost_first);
	s->told = take(g, 2 * n, sizeof *s->told);
	s->boxes = take(g, 7 * n, sizeof *s->boxes);
	// All that is there goes on as if it were shared.
	g->rows = granular_alloc(g, (size_t)g->room * sizeof *g->rows);
	g->border = granular_alloc(g, (size_t)g->room * sizeof *g->border);
	if (g->room > 0 && (!g->rows || !g->border))
		return false;
	return s->cuts && s->out.first && s->in.first && s->sent_first && s->ghost_first && s->told && s->boxes;
}

static void drop_buffer(sim_granular *g, granular_buffer *buffer) { granular_free(g, buffer->data, buffer->room); }

void granular_free_share(sim_granular *g)
{
	granular_share *s = g->share;
	if (!s)
		return;
	const size_t n = (size_t)s->ranks.count;
	granular_free(g, s->cuts, n * sizeof *s->cuts);
	granular_free(g, s->out.first, (n + 1) * sizeof *s->out.first);
	granular_free(g, s->in.first, (n + 1) * sizeof *s->in.first);
	granular_free(g, s->sent_first, (n + 1) * sizeof *s->sent_first);
	granular_free(g, s->ghost_first, (n + 1) * sizeof *s->ghost_first);
	granular_free(g, s->told, 2 * n * sizeof *s->told);
	granular_free(g, s->boxes, 7 * n * sizeof *s->boxes);
	drop_buffer(g, &s->seats);
	drop_buffer(g, &s->bins);
	drop_buffer(g, &s->touch_seats);
	drop_buffer(g, &s->sent);
	drop_buffer(g, &s->out.bytes);
	drop_buffer(g, &s->in.bytes);
	free(s);
	g->share = NULL;
}

// ---- Ranks together ----

bool granular_lost_ranks(sim_granular *g, sim_error *error)
{
	if (!g->share || !g->share->broken)
		return false;
	g->failed = true;
	sim_fail(error, "another rank has failed, or the connection to it");
	return true;
}

void granular_join_ranks(sim_granular *g, granular_tally *t)
{
	granular_share *s = g->share;
	// The least of numbers is the most of their opposites. Ids are exact as doubles.
	double most[9] = { t->max_overlap, t->fastest, t->lost == INT64_MAX ? -INFINITY : -(double)t->lost };
	int64_t sums[2] = { t->contacts, t->wall_contacts };
	for (int k = 0; k < 3; k++) {
		most[3 + k] = -t->low[k];
		most[6 + k] = t->high[k];
	}
	s->broken = s->broken || !s->ranks.most(s->ranks.user, 9, most) || !s->ranks.sum(s->ranks.user, 2, sums);
	if (s->broken)
		return;
	t->max_overlap = most[0];
	t->fastest = most[1];
	t->lost = most[2] == -INFINITY ? INT64_MAX : (int64_t)-most[2];
	t->contacts = sums[0];
	t->wall_contacts = sums[1];
	for (int k = 0; k < 3; k++) {
		t->low[k] = -most[3 + k];
		t->high[k] = most[6 + k];
	}
}

/// The outcome of a call to other ranks.
static bool told(sim_granular *g, bool done, sim_error *error)
{
	g->share->broken |= !done;
	return !granular_lost_ranks(g, error);
}

bool granular_agree_on_times(sim_granular *g, sim_error *error)
{
	granular_share *s = g->share;
	return g->def.skin >= 0 || told(g, s->ranks.most(s->ranks.user, 1, &g->choice.ms), error);
}

bool granular_weigh_ranks(sim_granular *g, sim_error *error)
{
	granular_share *s = g->share;
	sim_granular_balance *b = &s->balance;
	const double entries = (double)g->list.first[g->list.count];
	double most[3] = { entries, (double)g->count, (double)s->ghosts };
	int64_t sums[5] = { (int64_t)entries, s->ghosts, g->crowd_count, s->sent_first[s->ranks.count], s->arrived };
	const bool done = s->ranks.most(s->ranks.user, 3, most) && s->ranks.sum(s->ranks.user, 5, sums);
	if (!told(g, done, error))
		return false;
	g->few_crowded = 4 * sums[2] < 3 * g->total;
	if (b->lists++ > 0)
		b->moved += sums[4];
	b->entries = sums[0];
	b->own_most = (int64_t)most[1];
	b->ghosts = sums[1];
	b->ghosts_most = (int64_t)most[2];
	b->bytes_step = sums[3] * (int64_t)sizeof(double) * (g->turns ? 9 : 6);
	b->imbalance = sums[0] > 0 ? most[0] * s->ranks.count / (double)sums[0] : 1;
	if (b->lists > 2 && b->imbalance > b->worst_imbalance)
		b->worst_imbalance = b->imbalance;
	return true;
}

bool granular_lay_parcels(sim_granular *g, granular_parcels *p)
{
	for (int r = 0; r < g->share->ranks.count; r++)
		p->first[r + 1] += p->first[r];
	return granular_grow(g, &p->bytes, (size_t)p->first[g->share->ranks.count], 0);
}

bool granular_swap_parcels(sim_granular *g, sim_error *error)
{
	granular_share *s = g->share;
	const sim_ranks *ranks = &s->ranks;
	for (int r = 0; r < ranks->count; r++)
		s->told[r] = s->out.first[r + 1] - s->out.first[r];
	if (!told(g, ranks->tell(ranks->user, s->told, s->told + ranks->count), error))
		return false;
	s->in.first[0] = 0;
	memcpy(s->in.first + 1, s->told + ranks->count, (size_t)ranks->count * sizeof *s->told);
	if (!granular_lay_parcels(g, &s->in))
		return granular_no_memory("spheres of other ranks", error);
	return told(g, ranks->swap(ranks->user, s->out.bytes.data, s->out.first, s->in.bytes.data, s->in.first), error);
}

// ---- From rank to rank ----

/// A sphere on its way. Behind it come the ids of the spheres that it touches, their springs, and,
/// if it touches walls, the springs of these.
typedef struct traveller {
	granular_place place;
	granular_motion motion;
	granular_spin spin;
	uint32_t id, contacts, walls, unused;
} traveller;

static uint32_t contacts_of(const sim_granular *g, int64_t i)
{
	return g->with_history ? (uint32_t)(g->packed.first[g->rows[i] + 1] - g->packed.first[g->rows[i]]) : 0;
}

static size_t wall_bytes(const sim_granular *g, uint32_t walls)
{
	return walls ? 3 * (size_t)g->wall_slots * sizeof *g->wall_history : 0;
}

static size_t traveller_bytes(const sim_granular *g, uint32_t contacts, uint32_t walls)
{
	return sizeof(traveller) + contacts * (sizeof(uint32_t) + 3 * sizeof(double)) + wall_bytes(g, walls);
}

static void put(char **at, const void *data, size_t size)
{
	if (size > 0)
		memcpy(*at, data, size);
	*at += size;
}

static void see_off(const sim_granular *g, int64_t i, char **at)
{
	traveller t = { .place = g->places[i], .motion = g->motions[i], .id = g->ids[i], .contacts = contacts_of(g, i) };
	if (g->spins)
		t.spin = g->spins[i];
	if (g->wall_touched)
		t.walls = g->wall_touched[i];
	put(at, &t, sizeof t);
	if (t.contacts > 0) {
		const int64_t first = g->packed.first[g->rows[i]];
		put(at, &g->packed.other[first], t.contacts * sizeof *g->packed.other);
		put(at, &g->packed.values[3 * first], 3 * t.contacts * sizeof *g->packed.values);
	}
	if (t.walls)
		put(at, &g->wall_history[3 * i * g->wall_slots], wall_bytes(g, t.walls));
}

static void move_sphere(sim_granular *g, int64_t from, int64_t to)
{
	g->places[to] = g->places[from];
	g->motions[to] = g->motions[from];
	g->ids[to] = g->ids[from];
	g->rows[to] = g->rows[from];
	if (g->spins)
		g->spins[to] = g->spins[from];
	if (!g->wall_touched)
		return;
	g->wall_touched[to] = g->wall_touched[from];
	if (g->wall_touched[to])
		memmove(&g->wall_history[3 * to * g->wall_slots], &g->wall_history[3 * from * g->wall_slots],
			wall_bytes(g, g->wall_touched[to]));
}

/// Find the rank of each sphere, and the bytes that go to each.
static bool choose_seats(sim_granular *g)
{
	granular_share *s = g->share;
	if (!granular_grow(g, &s->seats, (size_t)g->count * sizeof(uint32_t), 0))
		return false;
	uint32_t *seats = (uint32_t *)(void *)s->seats.data;
	memset(s->out.first, 0, ((size_t)s->ranks.count + 1) * sizeof *s->out.first);
	for (int64_t i = 0; i < g->count; i++) {
		seats[i] = (uint32_t)granular_rank_of(s, &g->places[i]);
		if (seats[i] != (uint32_t)s->ranks.rank)
			s->out.first[seats[i] + 1] +=
				(int64_t)traveller_bytes(g, contacts_of(g, i), g->wall_touched ? g->wall_touched[i] : 0);
	}
	return granular_lay_parcels(g, &s->out);
}

/// Pack the spheres that go, and close the gaps that they leave.
static void part(sim_granular *g)
{
	granular_share *s = g->share;
	const uint32_t *seats = (const uint32_t *)(const void *)s->seats.data;
	int64_t kept = 0;
	for (int64_t i = 0; i < g->count; i++) {
		if (seats[i] == (uint32_t)s->ranks.rank) {
			if (kept != i)
				move_sphere(g, i, kept);
			kept++;
			continue;
		}
		char *at = s->out.bytes.data + s->out.first[seats[i]];
		see_off(g, i, &at);
		s->out.first[seats[i]] = at - s->out.bytes.data;
	}
	// Each first has come to the next one.
	memmove(s->out.first + 1, s->out.first, (size_t)s->ranks.count * sizeof *s->out.first);
	s->out.first[0] = 0;
	g->count = kept;
}

static void count_arrivals(const sim_granular *g, int64_t *spheres, int64_t *contacts)
{
	const granular_share *s = g->share;
	*spheres = *contacts = 0;
	for (int64_t at = 0; at < s->in.first[s->ranks.count]; ++*spheres) {
		traveller t;
		memcpy(&t, s->in.bytes.data + at, sizeof t);
		at += (int64_t)traveller_bytes(g, t.contacts, t.walls);
		*contacts += t.contacts;
	}
}

static void take_in(sim_granular *g, const char *at, int64_t row)
{
	const int64_t i = g->count++;
	traveller t;
	memcpy(&t, at, sizeof t);
	at += sizeof t;
	g->places[i] = t.place;
	g->motions[i] = t.motion;
	g->ids[i] = t.id;
	g->rows[i] = (uint32_t)row;
	if (g->spins)
		g->spins[i] = t.spin;
	if (g->with_history) {
		const int64_t first = g->packed.first[row];
		g->packed.first[row + 1] = first + t.contacts;
		if (t.contacts > 0) {
			memcpy(&g->packed.other[first], at, t.contacts * sizeof *g->packed.other);
			memcpy(&g->packed.values[3 * first], at + t.contacts * sizeof *g->packed.other,
				3 * t.contacts * sizeof *g->packed.values);
		}
	}
	if (!g->wall_touched)
		return;
	g->wall_touched[i] = (uint16_t)t.walls;
	if (t.walls)
		memcpy(
			&g->wall_history[3 * i * g->wall_slots], at + traveller_bytes(g, t.contacts, 0) - sizeof t, wall_bytes(g, t.walls));
}

/// Their rows come behind those in packed that are of this rank's spheres of before.
static bool welcome(sim_granular *g, int64_t rows)
{
	granular_share *s = g->share;
	int64_t spheres, contacts;
	count_arrivals(g, &spheres, &contacts);
	s->arrived = spheres;
	if (!granular_grow_arrays(g, g->count + spheres))
		return false;
	if (g->with_history && !granular_pack_more(g, rows, spheres, contacts))
		return false;
	for (int64_t at = 0; at < s->in.first[s->ranks.count];) {
		traveller t;
		memcpy(&t, s->in.bytes.data + at, sizeof t);
		take_in(g, s->in.bytes.data + at, rows++);
		at += (int64_t)traveller_bytes(g, t.contacts, t.walls);
	}
	return true;
}

bool granular_share_out(sim_granular *g, sim_error *error)
{
	granular_share *s = g->share;
	const int64_t rows = g->count;
	s->ghosts = 0;
	if (!granular_balance_cuts(g, error))
		return false;
	if (!choose_seats(g) || !granular_seat_touches(g))
		return granular_no_memory("spheres of other ranks", error);
	part(g);
	if (!granular_swap_parcels(g, error))
		return false;
	if (!welcome(g, rows))
		return granular_no_memory("spheres of other ranks", error);
	return granular_hand_touches(g, error);
}

// ---- The beginning ----

/// Keep the spheres of some ids alone. They lie in the order of ids still.
static bool keep_range(sim_granular *g, int64_t first, int64_t last)
{
	const int64_t count = last - first;
	granular_packed all = g->packed;
	for (int64_t i = 0; i < g->count; i++)
		g->rows[i] = (uint32_t)i;
	for (int64_t i = 0; i < count; i++)
		move_sphere(g, first + i, i);
	g->count = count;
	granular_keep_touches(g, first, last);
	if (!resize(g, count + count / 8 + 1))
		return false;
	if (!g->with_history)
		return true;
	g->packed = (granular_packed){ 0 };
	const int64_t begin = all.first[first], contacts = all.first[last] - begin;
	const bool room = granular_pack_room(g, contacts, NULL);
	if (room) {
		for (int64_t i = 0; i <= count; i++)
			g->packed.first[i] = all.first[first + i] - begin;
		for (int64_t i = 0; i < count; i++)
			g->rows[i] = (uint32_t)i;
	}
	if (room && contacts > 0) {
		memcpy(g->packed.other, all.other + begin, (size_t)contacts * sizeof *all.other);
		memcpy(g->packed.values, all.values + 3 * begin, 3 * (size_t)contacts * sizeof *all.values);
	}
	const granular_packed own = g->packed;
	g->packed = all;
	granular_free_packed(g);
	g->packed = own;
	return room;
}

static bool check_share(const sim_granular_def *def, const sim_ranks *ranks, sim_error *error)
{
	if (def->force)
		return sim_fail(error, "force: a user's force is not known on several ranks");
	if (def->device)
		return sim_fail(error, "device: a simulation on a device is not shared");
	if (ranks->count < 1 || ranks->rank < 0 || ranks->rank >= ranks->count)
		return sim_fail(error, "ranks: %d of %d", ranks->rank, ranks->count);
	return true;
}

/// The first id of a rank, at the beginning. Its last one is before that of the next rank.
static int64_t first_of(int64_t spheres, const sim_ranks *ranks, int rank) { return spheres * rank / ranks->count; }

bool sim_granular_share(sim_granular *g, const sim_ranks *ranks, sim_error *error)
{
	if (!check_share(&g->def, ranks, error))
		return false;
	if (g->share || g->listed || g->sorts > 0)
		return sim_fail(error, "the simulation is shared already, or has done steps");
	if (!open_share(g, ranks) ||
		!keep_range(g, first_of(g->count, ranks, ranks->rank), first_of(g->count, ranks, ranks->rank + 1))) {
		g->failed = true;
		return granular_no_memory("the share of a rank", error);
	}
	return true;
}

sim_granular *sim_create_granular_share(
	carom_context *context, const sim_granular_def *def, const sim_ranks *ranks, sim_error *error)
{
	if (!check_share(def, ranks, error))
		return NULL;
	const int64_t first = first_of(def->count, ranks, ranks->rank), last = first_of(def->count, ranks, ranks->rank + 1);
	sim_granular *g = granular_create_range(context, def, first, last, error);
	if (!g)
		return NULL;
	if (!open_share(g, ranks)) {
		granular_no_memory("the share of a rank", error);
		sim_destroy_granular(g);
		return NULL;
	}
	for (int64_t i = 0; i < g->count; i++)
		g->rows[i] = (uint32_t)i;
	return g;
}

const sim_ranks *sim_granular_get_ranks(const sim_granular *g) { return g->share ? &g->share->ranks : NULL; }

sim_granular_balance sim_granular_get_balance(const sim_granular *g)
{
	return g->share ? g->share->balance : (sim_granular_balance){ .imbalance = 1 };
}
