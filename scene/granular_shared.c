// Writing a checkpoint of spheres that ranks share. HDF5 is told by rank 0 alone which arrays there
// are, and takes room for them; then each rank writes its part of each at the place that HDF5 says.
// The check sum goes over the numbers in their order, so it goes from rank to rank.
#include "scene/granular_checkpoint.h"
#include "scene/granular_transfer.h"
#include "io/hdf5_file.h"
#include "sim/grains/granular_output.h"
#include "sim/grains/granular_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// An array of the file, and this rank's part of it.
typedef struct shared_array {
	const char *name;
	granular_scalar type;
	int64_t width;
	int64_t rows, first, all; // here, before those of this rank, in the file
	const void *data;
} shared_array;

enum { MOST_ARRAYS = 9 };

/// What is written.
typedef struct shared_state {
	sim_granular *granular;
	const sim_ranks *ranks;
	sim_granular_frame frame;
	sim_granular_memento springs;
	int64_t first_id, contacts_before, contacts, walls_before, walls;
	shared_array arrays[MOST_ARRAYS];
	int count;
} shared_state;

static void add_array(shared_state *s, const char *name, granular_scalar type, int64_t width, int64_t rows, int64_t first,
	int64_t all, const void *data)
{
	s->arrays[s->count++] = (shared_array){ name, type, width, rows, first, all, data };
}

/// The arrays in the order of the file (granular_checkpoint.c).
static void list_arrays(shared_state *s)
{
	const sim_granular_frame *f = &s->frame;
	const sim_granular_memento *m = &s->springs;
	const int64_t n = f->count, first = s->first_id, all = sim_granular_get_def(s->granular)->count;
	add_array(s, "centres", GRANULAR_FLOAT64, 3, n, first, all, f->centres);
	add_array(s, "radii", GRANULAR_FLOAT64, 1, n, first, all, f->radii);
	add_array(s, "velocities", GRANULAR_FLOAT64, 3, n, first, all, f->velocities);
	if (m->turns)
		add_array(s, "angular_velocities", GRANULAR_FLOAT64, 3, n, first, all, f->angular_velocities);
	if (m->contact_first) {
		// The last rank has the end of the last row too.
		const int64_t rows = n + (s->ranks->rank == s->ranks->count - 1), contacts = m->contact_first[n];
		for (int64_t i = 0; i <= n; i++)
			m->contact_first[i] += s->contacts_before;
		add_array(s, "contact_first", GRANULAR_INT64, 1, rows, first, all + 1, m->contact_first);
		add_array(s, "contact_other", GRANULAR_UINT32, 1, contacts, s->contacts_before, s->contacts, m->contact_other);
		add_array(s, "contact_springs", GRANULAR_FLOAT64, 3, contacts, s->contacts_before, s->contacts, m->contact_springs);
	}
	if (m->wall_touched) {
		add_array(s, "wall_touched", GRANULAR_UINT16, 1, n, first, all, m->wall_touched);
		add_array(s, "wall_springs", GRANULAR_FLOAT64, 3, m->wall_contacts, s->walls_before, s->walls, m->wall_springs);
	}
}

/// The number of each rank before this one, and of all.
static bool add_up(const sim_ranks *ranks, int64_t mine, int64_t *before, int64_t *all)
{
	const size_t n = (size_t)ranks->count;
	int64_t *numbers = malloc(2 * n * sizeof *numbers);
	for (size_t r = 0; numbers && r < n; r++)
		numbers[r] = mine;
	const bool done = numbers && ranks->tell(ranks->user, numbers, numbers + n);
	*before = *all = 0;
	for (int r = 0; done && r < ranks->count; r++) {
		*before += r < ranks->rank ? numbers[n + (size_t)r] : 0;
		*all += numbers[n + (size_t)r];
	}
	free(numbers);
	return done;
}

static bool gather(shared_state *s, sim_error *error)
{
	sim_granular_memento *m = &s->springs;
	if (!sim_granular_spread_frame(s->granular, &s->frame, &s->first_id, error) ||
		!sim_granular_spread_springs(s->granular, m, error))
		return false;
	const int64_t contacts = m->contact_first ? m->contact_first[s->frame.count] : 0;
	if (!add_up(s->ranks, contacts, &s->contacts_before, &s->contacts) ||
		!add_up(s->ranks, m->wall_touched ? m->wall_contacts : 0, &s->walls_before, &s->walls))
		return sim_fail(error, "another rank has failed, or the connection to it");
	list_arrays(s);
	return true;
}

/// All but the arrays and their sum.
static void write_head(const shared_state *s, granular_transfer *t)
{
	sim_granular_def def = *sim_granular_get_def(s->granular);
	sim_granular_mark mark = sim_granular_get_mark(s->granular);
	const sim_granular_memento *m = &s->springs;
	granular_remainder rest = { m->steps, s->contacts, s->walls, m->turns, false, m->max_overlap };
	granular_write_format(t);
	granular_move_mark(t, GRANULAR_FORMAT_VERSION, &mark);
	granular_move_definition(t, &def);
	granular_move_remainder(t, &rest);
}

/// Begin the file on rank 0: places get those of the arrays. Collective. False when that, or
/// another rank, has failed.
static bool begin_file(const shared_state *s, const char *made, int64_t places[MOST_ARRAYS])
{
	const bool first = sim_is_first_rank(s->ranks);
	granular_transfer t = { .writing = true, .file = first ? io_create_hdf5(made) : -1 };
	t.failed = first && t.file < 0;
	if (first && !t.failed)
		write_head(s, &t);
	int64_t sum = 0;
	memcpy(&sum, &t.sum, sizeof sum);
	bool done = s->ranks->sum(s->ranks->user, 1, &sum); // others have none
	memcpy(&t.sum, &sum, sizeof sum);
	for (int i = 0; i < s->count && done; i++) {
		const shared_array *a = &s->arrays[i];
		if (a->all > 0)
			done = sim_hash_over_ranks(s->ranks, a->data, granular_scalar_size(a->type), a->rows * a->width, &t.sum);
		places[i] = first ? granular_place_array(&t, a->name, a->type, (size_t)a->all, (size_t)a->width) : 0;
	}
	memcpy(&sum, &t.sum, sizeof sum);
	if (first)
		granular_move_attribute(&t, "checksum", GRANULAR_INT64, 1, &sum);
	if (t.file >= 0)
		t.failed |= !io_close_hdf5(t.file);
	return done && s->ranks->sum(s->ranks->user, s->count, places) && sim_all_ranks(s->ranks, !t.failed);
}

static bool write_arrays(const shared_state *s, const char *made, const int64_t places[MOST_ARRAYS])
{
	sim_piece pieces[MOST_ARRAYS];
	int count = 0;
	for (int i = 0; i < s->count; i++) {
		const shared_array *a = &s->arrays[i];
		const int64_t row = a->width * (int64_t)granular_scalar_size(a->type);
		if (a->rows > 0)
			pieces[count++] = (sim_piece){ places[i] + a->first * row, a->data, a->rows * row };
	}
	return sim_all_ranks(s->ranks, s->ranks->write(s->ranks->user, made, true, 0, count, pieces));
}

static bool write_file(const shared_state *s, const char *path, sim_error *error)
{
	char made[4096];
	int64_t places[MOST_ARRAYS];
	if (snprintf(made, sizeof made, "%s.part", path) >= (int)sizeof made)
		return sim_fail(error, "%s: the path is too long", path);
	const bool wrote = begin_file(s, made, places) && write_arrays(s, made, places);
	const bool sealed = !sim_is_first_rank(s->ranks) || io_seal_hdf5(made, path, wrote);
	if (wrote && sim_all_ranks(s->ranks, sealed))
		return true;
	return sim_fail(error, "%s: cannot be written: is the disk full?", path);
}

bool scene_granular_write_shared(sim_granular *g, const char *path, sim_error *error)
{
	shared_state s = { .granular = g, .ranks = sim_granular_get_ranks(g) };
	const bool gathered = gather(&s, error);
	const bool done = gathered ? write_file(&s, path, error) : sim_fail_in(error, "%s: ", path);
	sim_free_granular_frame(&s.frame);
	sim_free_granular_springs(&s.springs);
	return done;
}
