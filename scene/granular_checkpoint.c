// Writing a checkpoint of the granular simulation (HDF5): all that the coming steps depend on, by ids, so that neither the
// order in memory nor the list of neighbours is in it. docs/scenes.md ("Checkpoints") lists groups and types.
#include "scene/granular_checkpoint.h"
#include "scene/granular_transfer.h"
#include "io/hdf5_file.h"

#include <stdio.h>
#include <string.h>

static bool say(const char *path, const char *what, sim_error *error) { return sim_fail(error, "%s: %s", path, what); }

/// Springs of the walls by ids, then by walls. values: NULL to count only.
static int64_t gather_wall_histories(const sim_granular *g, const uint32_t *index, double *values)
{
	int64_t count = 0;
	for (int64_t id = 0; g->wall_touched && id < g->count; id++) {
		for (int w = 0; w < g->plane_count; w++) {
			if (!(g->wall_touched[index[id]] & g->planes[w].bit))
				continue;
			if (values)
				memcpy(&values[3 * count], &g->wall_history[3 * ((int64_t)index[id] * g->wall_slots + g->planes[w].slot)],
					3 * sizeof *values);
			count++;
		}
	}
	return count;
}

static void write_walls(
	granular_transfer *t, const sim_granular *g, const uint32_t *index, uint16_t *touched, double *values, int64_t count)
{
	if (!g->wall_touched)
		return;
	for (int64_t id = 0; id < g->count; id++)
		touched[id] = g->wall_touched[index[id]];
	gather_wall_histories(g, index, values);
	granular_move_array(t, "wall_touched", GRANULAR_UINT16, (size_t)g->count, 1, touched);
	granular_move_array(t, "wall_springs", GRANULAR_FLOAT64, (size_t)count, 3, values);
}

static void write_spheres(granular_transfer *t, sim_granular *g, double *numbers)
{
	const size_t count = (size_t)g->count;
	sim_granular_get_state(g, numbers, NULL, NULL, NULL);
	granular_move_array(t, "centres", GRANULAR_FLOAT64, count, 3, numbers);
	sim_granular_get_state(g, NULL, numbers, NULL, NULL);
	granular_move_array(t, "radii", GRANULAR_FLOAT64, count, 1, numbers);
	sim_granular_get_state(g, NULL, NULL, numbers, NULL);
	granular_move_array(t, "velocities", GRANULAR_FLOAT64, count, 3, numbers);
	if (g->turns) {
		sim_granular_get_state(g, NULL, NULL, NULL, numbers);
		granular_move_array(t, "angular_velocities", GRANULAR_FLOAT64, count, 3, numbers);
	}
	if (g->with_history) {
		const size_t contacts = (size_t)g->packed.first[g->count];
		granular_move_array(t, "contact_first", GRANULAR_INT64, count + 1, 1, g->packed.first);
		granular_move_array(t, "contact_other", GRANULAR_UINT32, contacts, 1, g->packed.other);
		granular_move_array(t, "contact_springs", GRANULAR_FLOAT64, contacts, 3, g->packed.values);
	}
}

static bool write_all(granular_transfer *t, sim_granular *g)
{
	const size_t count = (size_t)g->count + 1; // one more, so that none has no bytes
	uint32_t *index = granular_alloc(g, count * sizeof *index);
	uint16_t *touched = granular_alloc(g, count * sizeof *touched);
	double *numbers = granular_alloc(g, 3 * count * sizeof *numbers);
	for (int64_t i = 0; index && i < g->count; i++)
		index[g->ids[i]] = (uint32_t)i;
	const int64_t walls = index ? gather_wall_histories(g, index, NULL) : 0;
	const size_t wall_size = (3 * (size_t)walls + 1) * sizeof(double);
	double *values = granular_alloc(g, wall_size);
	const bool room = index && touched && numbers && values;
	if (room) {
		granular_remainder r = { g->steps, g->with_history ? g->packed.first[g->count] : 0, walls, g->turns,
			g->def.force != NULL, g->max_overlap };
		granular_move_mark(t, &g->mark);
		granular_move_definition(t, &g->def);
		granular_move_remainder(t, &r);
		write_spheres(t, g, numbers);
		write_walls(t, g, index, touched, values, walls);
		int64_t sum = (int64_t)t->sum;
		granular_move_attribute(t, "checksum", GRANULAR_INT64, 1, &sum);
	}
	granular_free(g, values, wall_size);
	granular_free(g, numbers, 3 * count * sizeof *numbers);
	granular_free(g, touched, count * sizeof *touched);
	granular_free(g, index, count * sizeof *index);
	return room;
}

static void write_format(granular_transfer *t)
{
	const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
	H5Tset_size(type, sizeof GRANULAR_FORMAT);
	const hid_t attribute = H5Acreate2(t->file, "format", type, space, H5P_DEFAULT, H5P_DEFAULT);
	t->failed = attribute < 0 || H5Awrite(attribute, type, GRANULAR_FORMAT) < 0;
	H5Aclose(attribute);
	H5Sclose(space);
	H5Tclose(type);
}

bool sim_granular_write(sim_granular *g, const char *path, sim_error *error)
{
	if (g->failed)
		return say(path, "the simulation failed before", error);
	if (g->with_history && g->list.count > 0 && !granular_pack_histories(g, error))
		return false;
	char part[4096];
	if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
		return say(path, "the path is too long", error);
	granular_transfer t = { .writing = true, .file = sim_create_hdf5(part) };
	if (t.file < 0)
		return say(path, "cannot be written", error);
	int32_t version = GRANULAR_FORMAT_VERSION;
	write_format(&t);
	granular_move_attribute(&t, "version", GRANULAR_INT32, 1, &version);
	const bool room = write_all(&t, g);
	return sim_finish_hdf5(t.file, part, path, room && !t.failed) ||
		say(path, room ? "cannot be written: is the disk full?" : "out of memory", error);
}
