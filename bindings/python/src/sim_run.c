// The module carom._sim: scenes that are run (scene/scene_run.h), for carom/sim.py. Its one type
// hands out numbers and views; names, records and messages are made of them in Python.
//
// It links the simulations and what they need (ODE, HDF5), and a library of its own: nothing of
// carom._carom's library goes in, and meshes go out as bytes. Arrays and records are those of
// carom._carom, made by its functions (cp_api).
#include "binding.h"

#include "scene/granular_checkpoint.h"
#include "scene/scene_resume.h"
#include "scene/scene_run.h"

#include <stdlib.h>

// ODE and HDF5 have state of the process: runs that use them take turns.
static PyThread_type_lock packages;

typedef struct sim_run {
	PyObject_HEAD const cp_api *api;
	PyObject *core;  ///< the module carom._carom
	PyObject *error; ///< carom.sim.SceneError
	scene_description scene;
	scene_run run; ///< context NULL: closed
	scene_run_step last;
	cp_use use;
	cp_guard results; ///< views of what a step changes
	cp_guard fixed;   ///< views of what stays until the end
	bool failed;
} sim_run;

// ---- Errors and use ----

/// Raise the text of a call: OutOfMemory where it ends so, else SceneError. Returns NULL.
static PyObject *raise_scene(const sim_run *run, const sim_error *error)
{
	static const char memory[] = "out of memory";
	const size_t length = strlen(error->text), end = sizeof(memory) - 1;
	if (length >= end && !strcmp(error->text + length - end, memory))
		return run->api->raise_text(run->api->state, CAROM_OUT_OF_MEMORY, error->text);
	PyObject *text = PyUnicode_DecodeFSDefault(error->text);
	PyObject *made = text ? PyObject_CallFunctionObjArgs(run->error, text, NULL) : NULL;
	if (made)
		PyErr_SetObject(run->error, made);
	Py_XDECREF(made);
	Py_XDECREF(text);
	return NULL;
}

static bool is_open(const sim_run *run)
{
	if (run->run.context)
		return true;
	PyErr_SetString(PyExc_ValueError, "the run is closed");
	return false;
}

/// The state may be looked at. False with an exception.
static bool may_read(sim_run *run)
{
	if (!is_open(run) || !run->api->begin_read(&run->use, "run"))
		return false;
	run->use.readers--;
	return true;
}

/// A call that may change the run begins; it ends where it sets use.writing to false.
static bool begin(sim_run *run) { return is_open(run) && run->api->begin_write(&run->use, "run"); }

/// Let go of the interpreter's lock, and wait for the turn at the packages.
static PyThreadState *leave(void)
{
	PyThreadState *state = PyEval_SaveThread();
	PyThread_acquire_lock(packages, WAIT_LOCK);
	return state;
}

static void come_back(PyThreadState *state)
{
	PyThread_release_lock(packages);
	PyEval_RestoreThread(state);
}

// ---- Life ----

/// What a run is made with, beside the scene.
typedef struct sim_wishes {
	PyObject *text;   ///< bytes of the scene; None: the file is read
	PyObject *meshes; ///< tuple of bytes, "NAME=FILE"
	const char *file, *recording, *checkpoint;
	int thread_count;
	double resolution;
	long long count;
} sim_wishes;

static bool load(sim_run *run, const sim_wishes *wishes, sim_error *error)
{
	scene_description *scene = &run->scene;
	if (wishes->text == Py_None)
		return scene_load(wishes->file, scene, error);
	return scene_parse(wishes->file, PyBytes_AsString(wishes->text), (size_t)PyBytes_Size(wishes->text), scene, error);
}

/// A wish for a section that the scene does not have: better said than ignored.
static bool check(const sim_run *run, const sim_wishes *wishes, sim_error *error)
{
	const scene_description *scene = &run->scene;
	const struct {
		const char *name;
		bool given, has;
		const char *section;
	} all[] = { { "record", wishes->recording != NULL, scene->has_bodies, "bodies" },
		{ "sphere_count", wishes->count > 0, scene->has_spheres, "spheres" },
		{ "resolution", wishes->resolution > 0, scene->has_deforming, "deforming" } };
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (all[i].given && !all[i].has)
			return sim_fail(
				error, "%s: %s is for scenes with \"%s\"; this one has none", scene->file, all[i].name, all[i].section);
	}
	if (wishes->checkpoint && wishes->count > 0 && scene_is_of_spheres(scene))
		return sim_fail(error, "%s: sphere_count: a checkpoint has its spheres already", scene->file);
	return true;
}

static bool apply(sim_run *run, const sim_wishes *wishes, sim_error *error)
{
	scene_description *scene = &run->scene;
	for (Py_ssize_t i = 0; i < PyTuple_Size(wishes->meshes); i++) {
		if (!scene_replace_mesh(scene, PyBytes_AsString(PyTuple_GetItem(wishes->meshes, i)), error))
			return sim_fail_in(error, "%s: meshes: ", scene->file);
	}
	if (wishes->count > 0 && !scene_set_sphere_count(scene, wishes->count, error))
		return false;
	if (wishes->resolution > 0)
		scene->deforming.resolution = wishes->resolution;
	scene->output.contacts |= wishes->recording != NULL;
	return true;
}

/// All that takes time, without the interpreter's lock. Python objects are only read: the caller
/// holds them.
static bool set_up(sim_run *run, const sim_wishes *wishes, sim_error *error)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = wishes->thread_count;
	run->run.scene = &run->scene;
	if (carom_create_context(&def, &run->run.context) != CAROM_SUCCESS)
		return sim_fail(error, "%s: %s", run->scene.file, carom_error_text(NULL));
	return scene_run_add_all(&run->run, wishes->recording, wishes->checkpoint, error);
}

static bool start(sim_run *run, const sim_wishes *wishes)
{
	sim_error error;
	if (!load(run, wishes, &error) || !check(run, wishes, &error) || !apply(run, wishes, &error)) {
		raise_scene(run, &error);
		return false;
	}
	PyThreadState *state = leave();
	const bool made = set_up(run, wishes, &error);
	come_back(state);
	if (!made)
		raise_scene(run, &error);
	return made;
}

static const cp_api *find_api(PyObject *core)
{
	PyObject *capsule = PyObject_GetAttrString(core, "_api");
	const cp_api *api = capsule ? PyCapsule_GetPointer(capsule, CP_API_NAME) : NULL;
	const carom_version own = carom_get_version();
	Py_XDECREF(capsule); // the module holds it
	if (api && (api->size != sizeof(*api) || api->layouts != CP_LAYOUT_COUNT || memcmp(&api->version, &own, sizeof(own)) != 0)) {
		PyErr_SetString(PyExc_ImportError, "carom._sim and carom._carom were not built together");
		return NULL;
	}
	return api;
}

/// Bytes, or None for NULL. A path ends at no null byte but its last.
static bool take_path(PyObject *value, const char **path)
{
	char *text;
	if (value == Py_None)
		return true;
	if (PyBytes_AsStringAndSize(value, &text, NULL) < 0)
		return false;
	*path = text;
	return true;
}

static PyObject *run_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	(void)keywords;
	sim_wishes wishes = { .text = NULL };
	PyObject *core, *error, *recording, *checkpoint;
	if (!PyArg_ParseTuple(args, "OOOyO!OOidL", &core, &error, &wishes.text, &wishes.file, &PyTuple_Type, &wishes.meshes,
			&recording, &checkpoint, &wishes.thread_count, &wishes.resolution, &wishes.count) ||
		!take_path(recording, &wishes.recording) || !take_path(checkpoint, &wishes.checkpoint))
		return NULL;
	const cp_api *api = find_api(core);
	allocfunc function = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	sim_run *run = api ? (sim_run *)function(type, 0) : NULL; // zeroed
	if (!run)
		return NULL;
	run->api = api;
	run->core = Py_NewRef(core);
	run->error = Py_NewRef(error);
	if (start(run, &wishes))
		return (PyObject *)run;
	Py_DECREF((PyObject *)run);
	return NULL;
}

/// Free everything. False, with the reason in error, when the recording could not be finished.
static bool end_run(sim_run *run, sim_error *error)
{
	PyThreadState *state = leave();
	const bool done = !run->run.simulation || scene_finish_recording(run->run.simulation, error);
	scene_run_end(&run->run);
	carom_destroy_context(run->run.context);
	run->run.context = NULL;
	come_back(state);
	run->results.generation++;
	run->fixed.generation++;
	return done;
}

static void run_dealloc(PyObject *self)
{
	sim_run *run = (sim_run *)self;
	PyTypeObject *type = Py_TYPE(self);
	end_run(run, NULL);
	scene_destroy(&run->scene);
	Py_XDECREF(run->core);
	Py_XDECREF(run->error);
	freefunc function = (freefunc)PyType_GetSlot(type, Py_tp_free);
	function(self);
	Py_DECREF(type);
}

static PyObject *run_close(PyObject *self, PyObject *none)
{
	(void)none;
	sim_run *run = (sim_run *)self;
	sim_error error;
	if (!run->run.context)
		Py_RETURN_NONE;
	if (!run->api->is_free(&run->results, "state of the run") || !run->api->is_free(&run->fixed, "meshes of the run") ||
		!run->api->begin_write(&run->use, "run"))
		return NULL;
	const bool done = end_run(run, &error);
	run->use.writing = false;
	return done ? Py_NewRef(Py_None) : raise_scene(run, &error);
}

// ---- Steps ----

/// One step. Runs of spheres or cloth alone need no package, and do not wait for others.
static bool advance(sim_run *run, sim_error *error)
{
	PyThreadState *state = PyEval_SaveThread();
	const bool waits = run->run.simulation != NULL;
	if (waits)
		PyThread_acquire_lock(packages, WAIT_LOCK);
	const bool done = scene_run_step_all(&run->run, &run->last, error);
	if (waits)
		PyThread_release_lock(packages);
	PyEval_RestoreThread(state);
	return done;
}

static PyObject *run_step(PyObject *self, PyObject *args)
{
	sim_run *run = (sim_run *)self;
	sim_error error;
	long long count;
	if (!PyArg_ParseTuple(args, "L", &count))
		return NULL;
	if (count < 0)
		return PyErr_Format(PyExc_ValueError, "count is %lld; it must not be negative", count);
	if (run->failed)
		return PyErr_Format(PyExc_ValueError, "an earlier step of the run failed: it can only be looked at and closed");
	if (!run->api->is_free(&run->results, "state of the run") || !begin(run))
		return NULL;
	bool done = true, interrupted = false;
	for (long long i = 0; i < count && done && !interrupted; i++) {
		run->results.generation++;
		done = advance(run, &error);
		interrupted = done && PyErr_CheckSignals() < 0;
	}
	run->use.writing = false;
	run->failed = !done;
	if (!done)
		return raise_scene(run, &error);
	return interrupted ? NULL : Py_NewRef(Py_None);
}

static PyObject *run_hash(PyObject *self, PyObject *none)
{
	(void)none;
	sim_run *run = (sim_run *)self;
	sim_error error;
	uint64_t hash;
	if (!begin(run))
		return NULL;
	PyThreadState *state = PyEval_SaveThread();
	const bool done = scene_run_hash(&run->run, &hash, &error);
	PyEval_RestoreThread(state);
	run->use.writing = false;
	return done ? PyLong_FromUnsignedLongLong(hash) : raise_scene(run, &error);
}

/// The mark tells `carom run` what it prints of the last step.
static bool write_spheres(sim_run *run, const char *path, sim_error *error)
{
	sim_granular_mark mark = sim_granular_get_mark(run->run.granular);
	mark.table = 0;
	mark.contacts = run->last.spheres.contacts;
	mark.wall_contacts = run->last.spheres.wall_contacts;
	mark.peaks = (sim_granular_peaks){ 0 }; // of the steps done here nobody keeps them
	sim_granular_set_mark(run->run.granular, &mark);
	return scene_granular_write(run->run.granular, path, error);
}

static PyObject *run_checkpoint(PyObject *self, PyObject *args)
{
	sim_run *run = (sim_run *)self;
	sim_error error;
	const char *path;
	if (!PyArg_ParseTuple(args, "y", &path) || !is_open(run))
		return NULL;
	if (run->failed)
		return PyErr_Format(PyExc_ValueError, "an earlier step of the run failed: it has no state to go on from");
	if (!begin(run))
		return NULL;
	PyThreadState *state = leave();
	const bool done =
		scene_is_of_spheres(&run->scene) ? write_spheres(run, path, &error) : scene_save_run(&run->run, path, NULL, &error);
	come_back(state);
	run->use.writing = false;
	return done ? Py_NewRef(Py_None) : raise_scene(run, &error);
}

// ---- Views ----

static PyObject *view(sim_run *run, cp_kind kind, const void *data, int64_t count, int columns)
{
	return run->api->view_numbers((PyObject *)run, &run->results, run->api->state, kind, data, count, columns);
}

static PyObject *view_fixed(sim_run *run, cp_kind kind, const void *data, int64_t count, int columns)
{
	return run->api->view_numbers((PyObject *)run, &run->fixed, run->api->state, kind, data, count, columns);
}

/// Columns of rows of four numbers: three of them, or with first 3 the last one.
static PyObject *view_quads(sim_run *run, const double *data, int64_t count, int first)
{
	cp_array *array = data ? (cp_array *)view(run, CP_F64, data + first, count, 3) : (cp_array *)Py_NewRef(Py_None);
	if (!array || !data)
		return (PyObject *)array;
	array->strides[0] = 4 * (Py_ssize_t)sizeof(double);
	array->dimensions = first ? 1 : 2;
	return (PyObject *)array;
}

static PyObject *get_poses(PyObject *self, void *none)
{
	(void)none;
	sim_run *run = (sim_run *)self;
	if (!may_read(run))
		return NULL;
	const scene_simulation *s = run->run.simulation;
	return s ? view(run, CP_F64, scene_simulation_poses(s), scene_simulation_body_count(s), 7) : Py_NewRef(Py_None);
}

static PyObject *get_ids(PyObject *self, void *none)
{
	(void)none;
	sim_run *run = (sim_run *)self;
	if (!may_read(run))
		return NULL;
	const scene_simulation *s = run->run.simulation;
	return s ? view(run, CP_U64, scene_simulation_ids(s), scene_simulation_body_count(s), 0) : Py_NewRef(Py_None);
}

static PyObject *get_contacts(PyObject *self, void *none)
{
	(void)none;
	sim_run *run = (sim_run *)self;
	if (!may_read(run))
		return NULL;
	if (!run->run.simulation)
		Py_RETURN_NONE;
	const carom_contact_view all = carom_world_contacts(scene_simulation_world(run->run.simulation));
	return run->api->view_records(self, &run->results, run->api->state, CP_contact, all.data, all.count);
}

/// (n, 6): velocity of the centre of mass and angular velocity, a copy.
static PyObject *get_motions(PyObject *self, void *none)
{
	(void)none;
	sim_run *run = (sim_run *)self;
	if (!may_read(run))
		return NULL;
	const scene_simulation *s = run->run.simulation;
	if (!s)
		Py_RETURN_NONE;
	const int32_t count = scene_simulation_body_count(s);
	cp_array *motions = run->api->new_numbers(run->api->state, CP_F64, count, 6);
	for (int32_t i = 0; motions && i < count; i++) {
		const carom_vec3 both[2] = { scene_simulation_velocity(s, i), scene_simulation_angular_velocity(s, i) };
		memcpy(motions->data + (size_t)i * sizeof(both), both, sizeof(both));
	}
	return (PyObject *)motions;
}

/// (centres, radii, velocities, angular velocities or None, ids), as they lie in memory.
static PyObject *get_spheres(PyObject *self, void *none)
{
	(void)none;
	sim_run *run = (sim_run *)self;
	if (!may_read(run))
		return NULL;
	if (!run->run.granular)
		Py_RETURN_NONE;
	const sim_granular_view all = sim_granular_get_view(run->run.granular);
	return Py_BuildValue("(NNNNN)", view_quads(run, all.spheres, all.count, 0), view_quads(run, all.spheres, all.count, 3),
		view_quads(run, all.motions, all.count, 0), view_quads(run, all.angular_velocities, all.count, 0),
		view(run, CP_U32, all.ids, all.count, 0));
}

/// (centres, radii, velocities, angular velocities) in the order of the scene, copies.
static PyObject *sphere_state(PyObject *self, PyObject *none)
{
	(void)none;
	sim_run *run = (sim_run *)self;
	if (!may_read(run))
		return NULL;
	if (!run->run.granular)
		Py_RETURN_NONE;
	const int64_t count = sim_granular_get_info(run->run.granular).count;
	cp_array *all[4];
	bool good = true;
	for (int i = 0; i < 4; i++) {
		all[i] = run->api->new_numbers(run->api->state, CP_F64, count, i == 1 ? 0 : 3);
		good = good && all[i];
	}
	if (good)
		sim_granular_get_state(run->run.granular, (double *)(void *)all[0]->data, (double *)(void *)all[1]->data,
			(double *)(void *)all[2]->data, (double *)(void *)all[3]->data);
	PyObject *made = good ? PyTuple_Pack(4, all[0], all[1], all[2], all[3]) : NULL;
	for (int i = 0; i < 4; i++)
		Py_XDECREF((PyObject *)all[i]);
	return made;
}

/// (places, velocities, triangles, first vertices, first triangles) of deforming bodies.
static PyObject *get_deforming(PyObject *self, void *none)
{
	(void)none;
	sim_run *run = (sim_run *)self;
	if (!may_read(run))
		return NULL;
	if (!run->run.soft)
		Py_RETURN_NONE;
	const sim_soft_surface s = sim_soft_get_surface(run->run.soft);
	return Py_BuildValue("(NNNNN)", view(run, CP_F64, s.places, s.vertex_count, 3),
		view(run, CP_F64, s.velocities, s.vertex_count, 3),
		(s.may_tear ? view : view_fixed)(run, CP_I32, s.triangles, s.triangle_count, 3),
		(s.may_tear ? view : view_fixed)(run, CP_I32, s.body_vertices, s.body_count + 1, 0),
		view_fixed(run, CP_I32, s.body_triangles, s.body_count + 1, 0));
}

// ---- Bodies ----

/// The shape of a body's definition, or of one of its parts.
static const carom_shape *shape_of(const carom_body_def *def, int32_t part)
{
	return def->part_count > 0 ? &def->parts[part].shape : &def->shape;
}

static bool find_body(sim_run *run, PyObject *args, const char *format, int *body, int *part)
{
	if (!PyArg_ParseTuple(args, format, body, part) || !may_read(run))
		return false;
	const int32_t count = run->run.simulation ? scene_simulation_body_count(run->run.simulation) : 0;
	const bool is_there = *body >= 0 && *body < count;
	if (!is_there)
		PyErr_Format(PyExc_IndexError, "body %d is not below the number of bodies, %d", *body, (int)count);
	return is_there;
}

/// (type, radius, half_length, half_extents, rounding, number of its mesh or -1, pose or None).
static PyObject *describe_shape(const sim_run *run, const carom_body_def *def, int32_t number, int32_t k)
{
	const carom_shape *shape = shape_of(def, k);
	const scene_shape *source = scene_shape_of(&run->scene, &run->scene.rigid.bodies[number], k);
	const double *h = shape->half_extents;
	const double *p = def->part_count > 0 ? (const double *)(const void *)&def->parts[k].pose : NULL;
	PyObject *pose = p ? Py_BuildValue("((ddd)(dddd))", p[0], p[1], p[2], p[3], p[4], p[5], p[6]) : Py_NewRef(Py_None);
	const bool has_mesh = shape->type == CAROM_MESH || shape->type == CAROM_HULL;
	return Py_BuildValue("(idd(ddd)diN)", (int)shape->type, shape->radius, shape->half_length, h[0], h[1], h[2],
		shape->rounding, has_mesh ? (int)source->mesh : -1, pose);
}

/// (name, kind, category, mask, group, shapes) of a body.
static PyObject *describe_body(PyObject *self, PyObject *args)
{
	sim_run *run = (sim_run *)self;
	int number, none = 0;
	if (!find_body(run, args, "i|i", &number, &none))
		return NULL;
	const carom_body_def def = scene_simulation_body_def(run->run.simulation, number);
	const scene_body *body = &run->scene.rigid.bodies[number];
	PyObject *shapes = PyTuple_New(def.part_count > 0 ? def.part_count : 1);
	for (int32_t k = 0; shapes && k < PyTuple_Size(shapes); k++) {
		PyObject *shape = describe_shape(run, &def, number, k);
		if (!shape)
			Py_CLEAR(shapes);
		else
			PyTuple_SetItem(shapes, k, shape);
	}
	if (!shapes)
		return NULL;
	return Py_BuildValue("(siKKiN)", body->name, (int)def.kind, (unsigned long long)def.category, (unsigned long long)def.mask,
		(int)def.group, shapes);
}

typedef struct pieces {
	char *bytes;
	size_t size, room;
} pieces;

static bool add_piece(const void *bytes, size_t count, void *user)
{
	pieces *all = user;
	if (all->size + count > all->room) {
		const size_t room = 2 * all->room + count;
		char *larger = realloc(all->bytes, room);
		if (!larger)
			return false;
		all->bytes = larger;
		all->room = room;
	}
	memcpy(all->bytes + all->size, bytes, count);
	all->size += count;
	return true;
}

/// The mesh of a body's shape as the bytes of carom.Mesh.save.
static PyObject *save_mesh(PyObject *self, PyObject *args)
{
	sim_run *run = (sim_run *)self;
	int number, part;
	if (!find_body(run, args, "ii", &number, &part))
		return NULL;
	const carom_body_def def = scene_simulation_body_def(run->run.simulation, number);
	if (part < 0 || part >= (def.part_count > 0 ? def.part_count : 1) || !shape_of(&def, part)->mesh)
		return PyErr_Format(PyExc_IndexError, "body %d has no mesh in shape %d", number, part);
	pieces all = { NULL, 0, 0 };
	const bool saved = carom_mesh_save(shape_of(&def, part)->mesh, add_piece, &all) == CAROM_SUCCESS;
	PyObject *bytes = saved ? PyBytes_FromStringAndSize(all.bytes, (Py_ssize_t)all.size) : PyErr_NoMemory();
	free(all.bytes);
	return bytes;
}

// ---- What else there is to know ----

static PyObject *stats_of_bodies(const sim_run *run)
{
	const scene_step *s = &run->last.bodies;
	PyObject *detection = run->api->new_record(run->api->state, CP_stats, &s->detection, NULL);
	return Py_BuildValue("{s:i,s:N,s:d,s:d,s:d,s:d,s:d,s:d}", "substeps", (int)s->substeps, "detection", detection,
		"deepest_penetration", s->deepest, "deepest_penetration_relative", s->deepest_relative, "kinetic_energy",
		s->kinetic_energy, "lowest_centre", s->lowest, "ms_response", s->ms_response, "ms_recording", s->ms_recording);
}

static PyObject *stats_of_deforming(const sim_soft_step *s)
{
	return Py_BuildValue("{s:L,s:L,s:L,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:L,s:i,s:d,s:i,s:d,s:d,s:d,s:d,s:d,s:d}", "impacts",
		(long long)s->impacts, "impacts_more", (long long)s->impacts_more, "undecided", (long long)s->impacts_undecided,
		"searches", (int)s->searches, "solves", (int)s->solves, "zones", (int)s->zones, "zone_vertices", (int)s->zone_vertices,
		"halvings", (int)s->halvings, "leads", (int)s->leads, "gave_way", (int)s->gave_way, "crossings",
		(long long)s->crossings, "pins_broken", (int)s->pins_broken, "pin_force", s->pin_force, "tears", (int)s->tears,
		"stretch_worst", s->stretch_worst, "stretch_mean", s->stretch_mean, "kinetic_energy", s->kinetic_energy, "ms_detection",
		s->ms_detection, "ms_solver", s->ms_solver, "ms_total", s->ms_total);
}

static PyObject *stats_of_spheres(const sim_granular_step *s)
{
	return Py_BuildValue("{s:L,s:L,s:d,s:O,s:O,s:d,s:d,s:d}", "contacts", (long long)s->contacts, "wall_contacts",
		(long long)s->wall_contacts, "max_overlap", s->max_overlap, "list_built", s->list_built ? Py_True : Py_False, "sorted",
		s->sorted ? Py_True : Py_False, "ms_build", s->ms_build, "ms_detection", s->ms_detection, "ms_update", s->ms_update);
}

static PyObject *get_stats(PyObject *self, void *none)
{
	(void)none;
	sim_run *run = (sim_run *)self;
	if (!may_read(run))
		return NULL;
	PyObject *all = PyDict_New();
	const struct {
		const char *name;
		PyObject *stats;
	} parts[] = { { "bodies", run->run.simulation ? stats_of_bodies(run) : NULL },
		{ "deforming", run->run.soft ? stats_of_deforming(&run->last.deforming) : NULL },
		{ "spheres", run->run.granular ? stats_of_spheres(&run->last.spheres) : NULL } };
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (all && parts[i].stats && PyDict_SetItemString(all, parts[i].name, parts[i].stats) < 0)
			Py_CLEAR(all);
		Py_XDECREF(parts[i].stats);
	}
	if (PyErr_Occurred())
		Py_CLEAR(all);
	return all;
}

static PyObject *get_frame(PyObject *self, void *none)
{
	(void)none;
	return may_read((sim_run *)self) ? PyLong_FromLongLong(((sim_run *)self)->run.steps) : NULL;
}

/// (name, file, time step, steps, gravity), which stay.
static PyObject *get_settings(PyObject *self, void *none)
{
	(void)none;
	const scene_description *scene = &((sim_run *)self)->scene;
	const carom_vec3 g = scene->gravity;
	return Py_BuildValue("(sNdL(ddd))", scene->name, PyUnicode_DecodeFSDefault(scene->file), scene->time_step,
		(long long)scene->steps, g.x, g.y, g.z);
}

static PyObject *is_closed(PyObject *self, void *none)
{
	(void)none;
	return PyBool_FromLong(!((sim_run *)self)->run.context);
}

// ---- The type and the module ----

static PyMethodDef methods[] = {
	{ "step", run_step, METH_VARARGS, "step($self, count, /)\n--\n\nDo steps." },
	{ "hash", run_hash, METH_NOARGS, "hash($self, /)\n--\n\nThe hash of the steps and the state." },
	{ "checkpoint", run_checkpoint, METH_VARARGS, "checkpoint($self, path, /)\n--\n\nWrite a checkpoint." },
	{ "sphere_state", sphere_state, METH_NOARGS, "sphere_state($self, /)\n--\n\nThe spheres in the order of the scene." },
	{ "describe_body", describe_body, METH_VARARGS, "describe_body($self, number, /)\n--\n\nWhat a body is." },
	{ "save_mesh", save_mesh, METH_VARARGS, "save_mesh($self, number, part, /)\n--\n\nBytes for carom.Mesh.load." },
	{ "close", run_close, METH_NOARGS, "close($self, /)\n--\n\nFree everything." },
	{ NULL, NULL, 0, NULL },
};
static PyGetSetDef attributes[] = {
	{ "settings", get_settings, NULL, "(name, file, time step, steps, gravity).", NULL },
	{ "frame", get_frame, NULL, "Steps done.", NULL },
	{ "closed", is_closed, NULL, "Was it closed?", NULL },
	{ "poses", get_poses, NULL, "Poses of rigid bodies, or None.", NULL },
	{ "motions", get_motions, NULL, "Velocities of rigid bodies, or None.", NULL },
	{ "ids", get_ids, NULL, "Ids of rigid bodies, or None.", NULL },
	{ "contacts", get_contacts, NULL, "Contacts of rigid bodies, or None.", NULL },
	{ "spheres", get_spheres, NULL, "Arrays of the spheres, or None.", NULL },
	{ "deforming", get_deforming, NULL, "Arrays of deforming bodies, or None.", NULL },
	{ "stats", get_stats, NULL, "Counts of the last step.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
static PyType_Slot slots[] = { { Py_tp_new, (void *)run_new }, { Py_tp_dealloc, (void *)run_dealloc },
	{ Py_tp_methods, methods }, { Py_tp_getset, attributes }, { Py_tp_doc, "A scene that is run: see carom.sim.Run." },
	{ 0, NULL } };
static PyType_Spec spec = { "carom._sim.Run", sizeof(sim_run), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots };

static int start_module(PyObject *module)
{
	if (!packages && !(packages = PyThread_allocate_lock())) {
		PyErr_NoMemory();
		return -1;
	}
	PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
	const int failed = type ? PyModule_AddObjectRef(module, "Run", type) : -1;
	Py_XDECREF(type);
	return failed;
}

static PyModuleDef_Slot module_slots[] = { { Py_mod_exec, (void *)start_module }, { 0, NULL } };
static struct PyModuleDef definition = { PyModuleDef_HEAD_INIT, "carom._sim", "Scenes that are run, for carom.sim.", 0, NULL,
	module_slots, NULL, NULL, NULL };

PyMODINIT_FUNC PyInit__sim(void) { return PyModuleDef_Init(&definition); }
