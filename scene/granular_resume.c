// Continuing from a checkpoint (see granular_checkpoint.c). The file is checked in this order: the
// digest of all bytes, the format and its version, the sizes, the check sum of the arrays, and last
// everything that a definition is checked for.
#include "scene/granular_checkpoint.h"
#include "scene/granular_transfer.h"
#include "io/hdf5_file.h"

#include <stdlib.h>
#include <string.h>

enum { FACES = 6 }; // of the box, which come before the moving walls

scene_granular_resume scene_default_granular_resume(void) { return (scene_granular_resume){ .skin = -1 }; }

/// The arrays of a checkpoint while it is read.
typedef struct contents {
	sim_granular_def def;
	granular_remainder rest;
	sim_granular_mark mark;
	double *centres, *radii, *velocities, *angular_velocities;
	int64_t *first;
	uint32_t *other;
	double *springs;
	uint16_t *wall_touched;
	double *wall_springs;
} contents;

static void free_contents(contents *c)
{
	free(c->centres);
	free(c->radii);
	free(c->velocities);
	free(c->angular_velocities);
	free(c->first);
	free(c->other);
	free(c->springs);
	free(c->wall_touched);
	free(c->wall_springs);
}

static bool keeps_pairs(const contents *c) { return c->rest.custom || c->def.spheres.tangential != SIM_GRANULAR_SMOOTH; }

static bool keeps_walls(const contents *c)
{
	bool walls = c->def.moving_count > 0;
	for (int f = 0; f < FACES; f++)
		walls |= c->def.faces[f];
	return walls && c->def.walls.tangential != SIM_GRANULAR_SMOOTH;
}

/// Room for rows of width numbers, read. False when memory is short. A file that is too short fails
/// before that.
static bool read_array(
	granular_transfer *t, const char *name, granular_scalar type, int64_t rows, size_t width, size_t size, void *array)
{
	t->failed |= !granular_holds_array(t, name, (uint64_t)rows * width * size);
	void *data = malloc(t->failed ? 1 : (size_t)rows * width * size + 1);
	memcpy(array, &data, sizeof data); // cppcheck-suppress uninitdata
	if (data)
		granular_move_array(t, name, type, (size_t)rows, width, data);
	return data;
}

static bool read_arrays(granular_transfer *t, contents *c)
{
	const int64_t n = c->def.count, m = c->rest.contacts;
	if (!read_array(t, "centres", GRANULAR_FLOAT64, n, 3, 8, &c->centres) ||
		!read_array(t, "radii", GRANULAR_FLOAT64, n, 1, 8, &c->radii) ||
		!read_array(t, "velocities", GRANULAR_FLOAT64, n, 3, 8, &c->velocities))
		return false;
	if (c->rest.turns && !read_array(t, "angular_velocities", GRANULAR_FLOAT64, n, 3, 8, &c->angular_velocities))
		return false;
	if (keeps_pairs(c) &&
		(!read_array(t, "contact_first", GRANULAR_INT64, n + 1, 1, 8, &c->first) ||
			!read_array(t, "contact_other", GRANULAR_UINT32, m, 1, 4, &c->other) ||
			!read_array(t, "contact_springs", GRANULAR_FLOAT64, m, 3, 8, &c->springs)))
		return false;
	return !keeps_walls(c) ||
		(read_array(t, "wall_touched", GRANULAR_UINT16, n, 1, 2, &c->wall_touched) &&
			read_array(t, "wall_springs", GRANULAR_FLOAT64, c->rest.wall_contacts, 3, 8, &c->wall_springs));
}

/// Do the arrays fit together? The checksum tells damage, not a program that wrote nonsense.
static bool fits(const contents *c)
{
	const int64_t n = c->def.count;
	if (c->first && (c->first[0] != 0 || c->first[n] != c->rest.contacts))
		return false;
	for (int64_t i = 0; c->first && i < n; i++) {
		if (c->first[i] > c->first[i + 1])
			return false;
	}
	int64_t walls = 0;
	for (int64_t i = 0; c->wall_touched && i < n; i++) {
		uint32_t known = 0;
		for (int f = 0; f < FACES; f++)
			known |= (uint32_t)c->def.faces[f] << f;
		known |= ((1u << c->def.moving_count) - 1) << FACES;
		if (c->wall_touched[i] & ~known)
			return false;
		for (uint32_t bits = c->wall_touched[i]; bits; bits &= bits - 1)
			walls++;
	}
	return !c->wall_touched || walls == c->rest.wall_contacts;
}

/// What is wrong with the file; NULL: nothing.
static const char *read_format(granular_transfer *t, int32_t *version)
{
	char format[sizeof GRANULAR_FORMAT] = "";
	*version = 0;
	const hid_t type = H5Tcopy(H5T_C_S1), attribute = H5Aopen(t->file, "format", H5P_DEFAULT);
	H5Tset_size(type, sizeof format);
	const bool known =
		attribute >= 0 && H5Aread(attribute, type, format) >= 0 && !memcmp(format, GRANULAR_FORMAT, sizeof format);
	if (attribute >= 0)
		H5Aclose(attribute);
	H5Tclose(type);
	if (!known)
		return "is no checkpoint of a granular simulation";
	granular_move_attribute(t, "version", GRANULAR_INT32, 1, version);
	return t->failed || *version < 1 || *version > GRANULAR_FORMAT_VERSION ? "is a checkpoint of another version" : NULL;
}

static const char *read_contents(granular_transfer *t, contents *c)
{
	int32_t version;
	const char *wrong = read_format(t, &version);
	if (wrong)
		return wrong;
	if (version > 1)
		granular_move_mark(t, version, &c->mark);
	granular_move_definition(t, &c->def);
	granular_move_remainder(t, &c->rest);
	const granular_remainder *r = &c->rest;
	const int64_t most = (int64_t)1 << 40;
	if (t->failed || c->def.count < 0 || c->def.count > CAROM_MAX_SPHERES || c->def.moving_count < 0 ||
		c->def.moving_count > SIM_GRANULAR_MAX_WALLS || r->contacts < 0 || r->contacts > most || r->wall_contacts < 0 ||
		r->wall_contacts > most || r->steps < 0)
		return "is damaged";
	if (!read_arrays(t, c))
		return "out of memory";
	const uint64_t sum = t->sum;
	int64_t written = 0;
	granular_move_attribute(t, "checksum", GRANULAR_INT64, 1, &written);
	return t->failed || (uint64_t)written != sum || !fits(c) ? "is damaged" : NULL;
}

static sim_granular *make_from(carom_context *context, contents *c, const scene_granular_resume *resume, sim_error *error)
{
	if (c->rest.custom && !resume->force) {
		sim_fail(error, "resume.force: the run that wrote it had a force of its own");
		return NULL;
	}
	sim_granular_def *def = &c->def;
	def->centres.data = c->centres;
	def->radii.data = c->radii;
	def->velocities.data = c->velocities;
	def->angular_velocities.data = c->angular_velocities;
	def->force = c->rest.custom ? resume->force : NULL;
	def->force_user = resume->force_user;
	def->method = resume->method;
	def->skin = resume->skin;
	def->device = resume->device;
	def->allocator = resume->allocator;
	sim_granular *g = sim_create_granular(context, def, error);
	if (!g)
		return NULL;
	sim_granular_set_mark(g, &c->mark);
	const sim_granular_memento memento = {
		.steps = c->rest.steps,
		.max_overlap = c->rest.max_overlap,
		.turns = c->rest.turns,
		.contact_first = c->first,
		.contact_other = c->other,
		.contact_springs = c->springs,
		.wall_touched = c->wall_touched,
		.wall_springs = c->wall_springs,
		.wall_contacts = c->rest.wall_contacts,
	};
	if (sim_granular_restore_memento(g, &memento, error))
		return g;
	sim_destroy_granular(g);
	return NULL;
}

sim_granular *scene_granular_read(
	carom_context *context, const char *path, const scene_granular_resume *resume, sim_error *error)
{
	const scene_granular_resume defaults = scene_default_granular_resume();
	// those of version 1 have none, but a sum of their own
	const io_seal seal = io_check_seal(path);
	if (seal == IO_SEAL_BROKEN) {
		sim_fail(error, "%s: is damaged: its bytes do not have the digest that it begins with", path);
		return NULL;
	}
	granular_transfer t = { .file = seal == IO_SEAL_WHOLE || seal == IO_SEAL_NONE ? io_open_hdf5(path) : -1 };
	if (t.file < 0) {
		sim_fail(error, "%s: %s", path, io_hdf5_reason("cannot be read, or is no HDF5 file"));
		return NULL;
	}
	contents c = { .def = sim_default_granular_def() };
	const char *wrong = read_contents(&t, &c);
	H5Fclose(t.file);
	sim_granular *g = NULL;
	if (wrong) {
		sim_fail(error, "%s: %s", path, wrong);
	} else {
		g = make_from(context, &c, resume ? resume : &defaults, error);
		if (!g)
			sim_fail_in(error, "%s: ", path);
	}
	free_contents(&c);
	return g;
}
