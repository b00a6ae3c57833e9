// The state of a simulation that ranks share, in the order of the ids: each rank gets those of a
// range of ids, whoever owns them.
#include "sim/grains/granular_share.h"

#include "sim/base/state_hash.h"

#include <stdlib.h>
#include <string.h>

/// First id of a rank's range.
static int64_t range_of(const sim_granular *g, int rank)
{
	if (g->share->to_first)
		return rank > 0 ? g->total : 0;
	return g->total * rank / g->share->ranks.count;
}

/// The rank in whose range an id is.
static int rank_of_id(const sim_granular *g, int64_t id)
{
	int rank = g->share->to_first ? 0 : (int)(id * g->share->ranks.count / g->total);
	while (range_of(g, rank) > id)
		rank--;
	while (range_of(g, rank + 1) <= id)
		rank++;
	return rank;
}

/// A sphere as it goes to the rank of its id.
typedef struct named {
	int64_t id;
	double centre[3], radius, velocity[3], spin[3];
} named;

static named name_sphere(const sim_granular *g, int64_t i)
{
	const granular_place *p = &g->places[i];
	const granular_motion *v = &g->motions[i];
	named n = { g->ids[i], { p->x, p->y, p->z }, p->r, { v->x, v->y, v->z }, { 0, 0, 0 } };
	if (g->spins)
		memcpy(n.spin, &g->spins[i], sizeof n.spin);
	return n;
}

static bool send_named(sim_granular *g)
{
	granular_share *s = g->share;
	memset(s->out.first, 0, ((size_t)s->ranks.count + 1) * sizeof *s->out.first);
	for (int64_t i = 0; i < g->count; i++)
		s->out.first[rank_of_id(g, g->ids[i]) + 1] += (int64_t)sizeof(named);
	if (!granular_lay_parcels(g, &s->out))
		return false;
	for (int64_t i = 0; i < g->count; i++) {
		const named n = name_sphere(g, i);
		const int rank = rank_of_id(g, n.id);
		memcpy(s->out.bytes.data + s->out.first[rank], &n, sizeof n);
		s->out.first[rank] += (int64_t)sizeof n;
	}
	memmove(s->out.first + 1, s->out.first, (size_t)s->ranks.count * sizeof *s->out.first);
	s->out.first[0] = 0;
	return true;
}

static bool open_frame(sim_granular_frame *f, int64_t count)
{
	const size_t n = (size_t)count;
	*f = (sim_granular_frame){ .count = count,
		.centres = malloc(3 * n * sizeof(double) + 1),
		.radii = malloc(n * sizeof(double) + 1),
		.velocities = malloc(3 * n * sizeof(double) + 1),
		.angular_velocities = malloc(3 * n * sizeof(double) + 1) };
	return f->centres && f->radii && f->velocities && f->angular_velocities;
}

static void fill_frame(const sim_granular *g, sim_granular_frame *f, int64_t first)
{
	const granular_share *s = g->share;
	for (int64_t at = 0; at < s->in.first[s->ranks.count]; at += (int64_t)sizeof(named)) {
		named n;
		memcpy(&n, s->in.bytes.data + at, sizeof n);
		const int64_t k = n.id - first;
		memcpy(&f->centres[3 * k], n.centre, sizeof n.centre);
		memcpy(&f->velocities[3 * k], n.velocity, sizeof n.velocity);
		memcpy(&f->angular_velocities[3 * k], n.spin, sizeof n.spin);
		f->radii[k] = n.radius;
	}
}

bool sim_granular_spread_frame(sim_granular *g, sim_granular_frame *part, int64_t *first, sim_error *error)
{
	granular_share *s = g->share;
	*part = (sim_granular_frame){ 0 };
	if (g->failed)
		return sim_fail(error, "the simulation failed before");
	granular_catch_up(g);
	if (!send_named(g))
		return granular_no_memory("the state", error);
	if (!granular_swap_parcels(g, error))
		return false;
	*first = range_of(g, s->ranks.rank);
	if (!open_frame(part, range_of(g, s->ranks.rank + 1) - *first)) {
		sim_free_granular_frame(part);
		return granular_no_memory("the state", error);
	}
	fill_frame(g, part, *first);
	return granular_restore_parcels(g) || granular_no_memory("the state", error);
}

static uint64_t word_of(const char *at, size_t width)
{
	uint64_t word = 0;
	uint32_t half;
	uint16_t quarter;
	if (width == sizeof word) {
		memcpy(&word, at, sizeof word);
		return word;
	}
	if (width == sizeof half) {
		memcpy(&half, at, sizeof half);
		return half;
	}
	memcpy(&quarter, at, sizeof quarter);
	return quarter;
}

bool sim_hash_over_ranks(const sim_ranks *ranks, const void *numbers, size_t width, int64_t count, uint64_t *hash)
{
	for (int r = 0; r < ranks->count; r++) {
		int64_t word = 0;
		if (r == ranks->rank) {
			uint64_t mine = *hash;
			for (int64_t i = 0; i < count; i++)
				mine = sim_hash_word(mine, word_of((const char *)numbers + (size_t)i * width, width));
			memcpy(&word, &mine, sizeof word);
		}
		if (!ranks->sum(ranks->user, 1, &word))
			return false;
		memcpy(hash, &word, sizeof word);
	}
	return true;
}

bool sim_granular_hash_ranks(sim_granular *g, uint64_t *hash, sim_error *error)
{
	sim_granular_frame f;
	int64_t first;
	*hash = SIM_HASH_START;
	if (!sim_granular_spread_frame(g, &f, &first, error))
		return false;
	const sim_ranks *ranks = &g->share->ranks;
	const bool done = sim_hash_over_ranks(ranks, f.centres, 8, 3 * f.count, hash) &&
		sim_hash_over_ranks(ranks, f.radii, 8, f.count, hash) &&
		sim_hash_over_ranks(ranks, f.velocities, 8, 3 * f.count, hash) &&
		sim_hash_over_ranks(ranks, f.angular_velocities, 8, 3 * f.count, hash);
	sim_free_granular_frame(&f);
	g->share->broken |= !done;
	return !granular_lost_ranks(g, error);
}

// ---- Springs ----

/// Behind it come the ids of the spheres that it touches, their springs, and those of walls.
typedef struct sprung {
	int64_t id;
	uint32_t contacts, walls;
} sprung;

static int64_t row_of(const sim_granular *g, int64_t i) { return g->with_history ? g->packed.first[g->rows[i]] : 0; }

static sprung spring_sphere(const sim_granular *g, int64_t i)
{
	const int64_t end = g->with_history ? g->packed.first[g->rows[i] + 1] : 0;
	return (sprung){ g->ids[i], (uint32_t)(end - row_of(g, i)), g->wall_touched ? g->wall_touched[i] : 0 };
}

static uint32_t count_bits(uint32_t bits)
{
	uint32_t count = 0;
	for (; bits; bits &= bits - 1)
		count++;
	return count;
}

enum { SPRING_BYTES = 3 * sizeof(double) };

static size_t sprung_bytes(const sprung *s)
{
	return sizeof *s + s->contacts * (sizeof(uint32_t) + SPRING_BYTES) + count_bits(s->walls) * SPRING_BYTES;
}

static void put_springs(const sim_granular *g, int64_t i, const sprung *s, char *at)
{
	memcpy(at, s, sizeof *s);
	at += sizeof *s;
	if (s->contacts > 0) {
		memcpy(at, &g->packed.other[row_of(g, i)], s->contacts * sizeof(uint32_t));
		at += s->contacts * sizeof(uint32_t);
		memcpy(at, &g->packed.values[3 * row_of(g, i)], s->contacts * SPRING_BYTES);
		at += s->contacts * SPRING_BYTES;
	}
	for (int w = 0; w < g->plane_count && s->walls; w++) {
		if (!(s->walls & g->planes[w].bit))
			continue;
		memcpy(at, &g->wall_history[3 * (i * g->wall_slots + g->planes[w].slot)], SPRING_BYTES);
		at += SPRING_BYTES;
	}
}

static bool send_springs(sim_granular *g)
{
	granular_share *s = g->share;
	memset(s->out.first, 0, ((size_t)s->ranks.count + 1) * sizeof *s->out.first);
	for (int64_t i = 0; i < g->count; i++) {
		const sprung one = spring_sphere(g, i);
		s->out.first[rank_of_id(g, one.id) + 1] += (int64_t)sprung_bytes(&one);
	}
	if (!granular_lay_parcels(g, &s->out))
		return false;
	for (int64_t i = 0; i < g->count; i++) {
		const sprung one = spring_sphere(g, i);
		int64_t *at = &s->out.first[rank_of_id(g, one.id)];
		put_springs(g, i, &one, s->out.bytes.data + *at);
		*at += (int64_t)sprung_bytes(&one);
	}
	memmove(s->out.first + 1, s->out.first, (size_t)s->ranks.count * sizeof *s->out.first);
	s->out.first[0] = 0;
	return true;
}

/// Rows of the spheres of this rank's range, and where the springs of their walls begin.
static bool open_springs(const sim_granular *g, sim_granular_memento *m, int64_t *wall_first, int64_t first, int64_t count)
{
	const granular_share *s = g->share;
	m->contact_first = calloc((size_t)count + 1, sizeof *m->contact_first);
	m->wall_touched = calloc((size_t)count + 1, sizeof *m->wall_touched);
	if (!m->contact_first || !m->wall_touched)
		return false;
	memset(wall_first, 0, ((size_t)count + 1) * sizeof *wall_first);
	for (int64_t at = 0; at < s->in.first[s->ranks.count];) {
		sprung one;
		memcpy(&one, s->in.bytes.data + at, sizeof one);
		at += (int64_t)sprung_bytes(&one);
		m->contact_first[one.id - first + 1] = one.contacts;
		m->wall_touched[one.id - first] = (uint16_t)one.walls;
		wall_first[one.id - first + 1] = count_bits(one.walls);
	}
	for (int64_t i = 0; i < count; i++) {
		m->contact_first[i + 1] += m->contact_first[i];
		wall_first[i + 1] += wall_first[i];
	}
	m->wall_contacts = wall_first[count];
	const size_t contacts = (size_t)m->contact_first[count];
	m->contact_other = malloc(contacts * sizeof *m->contact_other + 1);
	m->contact_springs = malloc(contacts * SPRING_BYTES + 1);
	m->wall_springs_size = (size_t)m->wall_contacts * SPRING_BYTES + 1;
	m->wall_springs = malloc(m->wall_springs_size);
	return m->contact_other && m->contact_springs && m->wall_springs;
}

static void fill_springs(const sim_granular *g, sim_granular_memento *m, const int64_t *wall_first, int64_t first)
{
	const granular_share *s = g->share;
	for (int64_t at = 0; at < s->in.first[s->ranks.count];) {
		sprung one;
		const char *from = s->in.bytes.data + at;
		memcpy(&one, from, sizeof one);
		at += (int64_t)sprung_bytes(&one);
		from += sizeof one;
		const int64_t row = m->contact_first[one.id - first], walls = wall_first[one.id - first];
		memcpy(m->contact_other + row, from, one.contacts * sizeof *m->contact_other);
		from += one.contacts * sizeof *m->contact_other;
		memcpy(m->contact_springs + 3 * row, from, one.contacts * SPRING_BYTES);
		from += one.contacts * SPRING_BYTES;
		memcpy(m->wall_springs + 3 * walls, from, count_bits(one.walls) * SPRING_BYTES);
	}
}

void sim_free_granular_springs(sim_granular_memento *m)
{
	free(m->contact_first);
	free(m->contact_other);
	free(m->contact_springs);
	free(m->wall_touched);
	free(m->wall_springs);
	*m = (sim_granular_memento){ 0 };
}

/// Arrays of which the simulation has none are none.
static void drop_unused(const sim_granular *g, sim_granular_memento *m)
{
	if (!g->with_history) {
		free(m->contact_first);
		free(m->contact_other);
		free(m->contact_springs);
		m->contact_first = NULL;
		m->contact_other = NULL;
		m->contact_springs = NULL;
	}
	if (!g->wall_touched) {
		free(m->wall_touched);
		free(m->wall_springs);
		m->wall_touched = NULL;
		m->wall_springs = NULL;
	}
}

bool sim_granular_spread_springs(sim_granular *g, sim_granular_memento *m, sim_error *error)
{
	const int rank = g->share->ranks.rank;
	const int64_t first = range_of(g, rank), count = range_of(g, rank + 1) - first;
	*m = (sim_granular_memento){ .steps = g->steps, .max_overlap = g->max_overlap, .turns = g->turns };
	if (g->failed)
		return sim_fail(error, "the simulation failed before");
	if (g->with_history && g->listed && !granular_pack_histories(g, error))
		return false;
	if (!send_springs(g))
		return granular_no_memory("the state", error);
	if (!granular_swap_parcels(g, error))
		return false;
	int64_t *wall_first = malloc(((size_t)count + 1) * sizeof *wall_first);
	const bool room = wall_first && open_springs(g, m, wall_first, first, count);
	if (room) {
		fill_springs(g, m, wall_first, first);
		drop_unused(g, m);
	}
	free(wall_first);
	if (room && granular_restore_parcels(g))
		return true;
	sim_free_granular_springs(m);
	return granular_no_memory("the state", error);
}

// ---- All on rank 0 ----

bool sim_granular_gather_state(sim_granular *g, sim_granular_frame *frame, sim_granular_memento *springs, sim_error *error)
{
	int64_t first;
	*springs = (sim_granular_memento){ 0 };
	g->share->to_first = true;
	const bool done = sim_granular_spread_frame(g, frame, &first, error) && sim_granular_spread_springs(g, springs, error);
	g->share->to_first = false;
	if (!done)
		sim_free_granular_frame(frame);
	return done;
}

/// The arrays of a frame with the numbers of each per sphere.
enum { FRAME_ARRAYS = 4 };

static void list_arrays(const sim_granular_frame *f, double *arrays[FRAME_ARRAYS], int64_t widths[FRAME_ARRAYS])
{
	arrays[0] = f->centres;
	arrays[1] = f->radii;
	arrays[2] = f->velocities;
	arrays[3] = f->angular_velocities;
	for (int a = 0; a < FRAME_ARRAYS; a++)
		widths[a] = a == 1 ? 1 : 3;
}

/// Take an array of all ranks together on rank 0. part: this rank's; whole: NULL on the others.
static bool gather_array(const sim_granular *g, const double *part, int64_t width, double *whole)
{
	granular_share *s = g->share;
	const int64_t bytes = width * (int64_t)sizeof(double);
	const int64_t mine = (range_of(g, s->ranks.rank + 1) - range_of(g, s->ranks.rank)) * bytes;
	for (int r = 0; r < s->ranks.count; r++) {
		s->out.first[r + 1] = mine;
		s->in.first[r + 1] = s->ranks.rank == 0 ? range_of(g, r + 1) * bytes : 0;
	}
	return s->ranks.swap(s->ranks.user, part, s->out.first, whole, s->in.first);
}

static bool gather_arrays(sim_granular *g, const sim_granular_frame *part, const sim_granular_frame *whole)
{
	double *from[FRAME_ARRAYS], *to[FRAME_ARRAYS];
	int64_t widths[FRAME_ARRAYS];
	bool done = true;
	list_arrays(part, from, widths);
	list_arrays(whole, to, widths);
	for (int a = 0; a < FRAME_ARRAYS && done; a++)
		done = gather_array(g, from[a], widths[a], to[a]);
	return done;
}

bool sim_granular_gather_frame(sim_granular *g, sim_granular_frame *frame, sim_error *error)
{
	sim_granular_frame part;
	int64_t first;
	*frame = (sim_granular_frame){ 0 };
	if (!sim_granular_spread_frame(g, &part, &first, error))
		return false;
	bool done = g->share->ranks.rank > 0 || open_frame(frame, g->total) || granular_no_memory("the state", error);
	if (done) {
		g->share->broken |= !gather_arrays(g, &part, frame);
		done = !granular_lost_ranks(g, error) && (granular_restore_parcels(g) || granular_no_memory("the state", error));
	}
	sim_free_granular_frame(&part);
	if (!done)
		sim_free_granular_frame(frame);
	return done;
}
