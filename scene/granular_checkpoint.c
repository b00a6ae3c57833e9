// Writing a checkpoint of the granular simulation (HDF5): all that the coming steps depend on, by
// ids, so that neither the order in memory nor the list of neighbours is in it. docs/scenes.md
// ("Checkpoints") lists groups and types.
#include "scene/granular_checkpoint.h"
#include "scene/granular_transfer.h"
#include "io/hdf5_file.h"

#include <stdio.h>
#include <string.h>

static bool say(const char *path, const char *what, sim_error *error) { return sim_fail(error, "%s: %s", path, what); }

static void write_spheres(granular_transfer *t, sim_granular *g, const sim_granular_memento *m, double *numbers)
{
	const size_t count = (size_t)sim_granular_get_def(g)->count;
	sim_granular_get_state(g, numbers, NULL, NULL, NULL);
	granular_move_array(t, "centres", GRANULAR_FLOAT64, count, 3, numbers);
	sim_granular_get_state(g, NULL, numbers, NULL, NULL);
	granular_move_array(t, "radii", GRANULAR_FLOAT64, count, 1, numbers);
	sim_granular_get_state(g, NULL, NULL, numbers, NULL);
	granular_move_array(t, "velocities", GRANULAR_FLOAT64, count, 3, numbers);
	if (m->turns) {
		sim_granular_get_state(g, NULL, NULL, NULL, numbers);
		granular_move_array(t, "angular_velocities", GRANULAR_FLOAT64, count, 3, numbers);
	}
}

static void write_springs(granular_transfer *t, size_t count, const sim_granular_memento *m)
{
	if (m->contact_first) {
		const size_t contacts = (size_t)m->contact_first[count];
		granular_move_array(t, "contact_first", GRANULAR_INT64, count + 1, 1, m->contact_first);
		granular_move_array(t, "contact_other", GRANULAR_UINT32, contacts, 1, m->contact_other);
		granular_move_array(t, "contact_springs", GRANULAR_FLOAT64, contacts, 3, m->contact_springs);
	}
	if (m->wall_touched) {
		granular_move_array(t, "wall_touched", GRANULAR_UINT16, count, 1, m->wall_touched);
		granular_move_array(t, "wall_springs", GRANULAR_FLOAT64, (size_t)m->wall_contacts, 3, m->wall_springs);
	}
}

/// False when memory is short.
static bool write_all(granular_transfer *t, sim_granular *g, const sim_granular_memento *m)
{
	sim_granular_def def = *sim_granular_get_def(g);
	sim_granular_mark mark = sim_granular_get_mark(g);
	const size_t count = (size_t)def.count, size = 3 * (count + 1) * sizeof(double);
	const carom_allocator memory = def.allocator.allocate ? def.allocator : carom_default_allocator();
	double *numbers = memory.allocate(size, _Alignof(double), memory.user);
	if (!numbers)
		return false;
	granular_remainder r = { m->steps, m->contact_first ? m->contact_first[count] : 0, m->wall_contacts, m->turns,
		def.force != NULL, m->max_overlap };
	granular_move_mark(t, GRANULAR_FORMAT_VERSION, &mark);
	granular_move_definition(t, &def);
	granular_move_remainder(t, &r);
	write_spheres(t, g, m, numbers);
	write_springs(t, count, m);
	int64_t sum = (int64_t)t->sum;
	granular_move_attribute(t, "checksum", GRANULAR_INT64, 1, &sum);
	memory.release(numbers, size, _Alignof(double), memory.user);
	return true;
}

static bool write_file(sim_granular *g, const sim_granular_memento *m, const char *path, sim_error *error)
{
	char part[4096];
	if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
		return say(path, "the path is too long", error);
	granular_transfer t = { .writing = true, .file = io_create_hdf5(part) };
	if (t.file < 0)
		return say(path, io_hdf5_reason("cannot be written"), error);
	granular_write_format(&t);
	const bool room = write_all(&t, g, m);
	return io_finish_hdf5(t.file, part, path, room && !t.failed) ||
		say(path, room ? "cannot be written: is the disk full?" : "out of memory", error);
}

bool scene_granular_write(sim_granular *g, const char *path, sim_error *error)
{
	sim_granular_memento memento;
	if (!sim_granular_take_memento(g, &memento, error))
		return sim_fail_in(error, "%s: ", path);
	const bool written = write_file(g, &memento, path, error);
	sim_granular_drop_memento(g, &memento);
	return written;
}
