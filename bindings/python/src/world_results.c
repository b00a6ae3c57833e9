// Results of the last step: views, the earliest impacts, counts, and numbers handed back.
#include "binding.h"

/// A list of results: its records and how many there are.
typedef struct list {
	const void *data;
	int64_t count;
} list;

#define LIST(name)                                                     \
	static list list_##name(const carom_world *world)                  \
	{                                                                  \
		const carom_##name##_view view = carom_world_##name##s(world); \
		return (list){ view.data, view.count };                        \
	}
LIST(contact)
LIST(pair)
LIST(event)
LIST(impact)
LIST(shape_impact)
LIST(surface_contact)
LIST(surface_shape_contact)
LIST(sphere_contact)
LIST(body_impact)
LIST(body_pair)
LIST(body_event)
#undef LIST

static list list_sphere_pair(const carom_world *world)
{
	const carom_sphere_pair_view view = carom_world_sphere_pairs(world);
	return (list){ view.pairs, view.pair_count };
}

static list list_sphere_group(const carom_world *world)
{
	const carom_sphere_pair_view view = carom_world_sphere_pairs(world);
	return (list){ view.groups, view.group_count };
}

/// How to get a list, and what its records are.
typedef struct result_list {
	list (*get)(const carom_world *world);
	int layout;
} result_list;

static const result_list lists[] = { { list_contact, CP_contact }, { list_pair, CP_pair }, { list_event, CP_event },
	{ list_impact, CP_impact }, { list_shape_impact, CP_shape_impact }, { list_surface_contact, CP_surface_contact },
	{ list_surface_shape_contact, CP_surface_shape_contact }, { list_sphere_contact, CP_sphere_contact },
	{ list_body_impact, CP_body_impact }, { list_sphere_pair, CP_sphere_pair }, { list_sphere_group, CP_sphere_group },
	{ list_body_pair, CP_body_pair }, { list_body_event, CP_body_event } };

/// The results may be looked at. False with an exception.
static bool may_read(cp_world *world)
{
	if (!cp_is_open(world) || !cp_begin_read(&world->use, "world"))
		return false;
	cp_end_read(&world->use);
	return true;
}

static PyObject *get_list(PyObject *self, void *closure)
{
	cp_world *world = (cp_world *)self;
	const result_list *which = closure;
	if (!may_read(world))
		return NULL;
	const list all = which->get(world->world);
	return cp_view_records(self, &world->results, cp_state_of(self), which->layout, all.data, all.count);
}

static PyObject *get_sphere_contacts_by_pair(PyObject *self, void *none)
{
	(void)none;
	cp_world *world = (cp_world *)self;
	if (!may_read(world))
		return NULL;
	const carom_sphere_contact_view view = carom_world_sphere_contacts(world->world);
	return cp_view_numbers(self, &world->results, cp_state_of(self), CP_I32, view.by_pair, view.count, 0);
}

/// A record, or None for NULL.
static PyObject *record_or_none(PyObject *self, int layout, const void *data)
{
	return data ? cp_new_record(cp_state_of(self), layout, data, NULL) : Py_NewRef(Py_None);
}

static PyObject *earliest_impact(PyObject *self, PyObject *none)
{
	(void)none;
	cp_world *world = (cp_world *)self;
	return may_read(world) ? record_or_none(self, CP_impact, carom_world_earliest_impact(world->world)) : NULL;
}

static PyObject *earliest_shape_impact(PyObject *self, PyObject *none)
{
	(void)none;
	cp_world *world = (cp_world *)self;
	return may_read(world) ? record_or_none(self, CP_shape_impact, carom_world_earliest_shape_impact(world->world)) : NULL;
}

static PyObject *earliest_body_impact(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "id", NULL };
	cp_world *world = (cp_world *)self;
	PyObject *value;
	carom_body_id id = { 0, 0 };
	if (!cp_arguments("earliest_body_impact", args, count, keywords, names, 0, &value) || (value && !cp_get_id(value, &id)) ||
		!may_read(world))
		return NULL;
	return record_or_none(self, CP_body_impact, carom_world_earliest_body_impact(world->world, id));
}

/// An index for a call that takes one and a value. False with an exception. Converting either may
/// run code of the user's that closes the world: look whether it is open when both are converted.
static bool take_index(PyObject *const *args, Py_ssize_t count, const char *name, int64_t *index)
{
	if (count != 2) {
		PyErr_Format(PyExc_TypeError, "the call takes the number of a %s and a value (%zd given)", name, count);
		return false;
	}
	return cp_get_int(args[0], name, INT32_MIN, INT32_MAX, index);
}

/// A list of contacts whose impulses are handed back: how many there are, and the call for one.
typedef struct impulse_list {
	int64_t (*count)(const carom_world *world);
	carom_result (*set)(carom_world *world, int64_t contact, const float impulse[3]);
	carom_result (*set_all)(carom_world *world, int64_t count, const float *impulses);
} impulse_list;

/// The numbers of plain contacts have 32 bits; those beyond name none.
static carom_result set_contact(carom_world *world, int64_t contact, const float impulse[3])
{
	return carom_world_set_impulse(world, contact <= INT32_MAX ? (int32_t)contact : -1, impulse);
}

static int64_t count_contacts(const carom_world *world) { return carom_world_contacts(world).count; }
static int64_t count_surface(const carom_world *world) { return carom_world_surface_contacts(world).count; }
static int64_t count_surface_shape(const carom_world *world) { return carom_world_surface_shape_contacts(world).count; }
static int64_t count_sphere(const carom_world *world) { return carom_world_sphere_contacts(world).count; }

static PyObject *set_one(PyObject *self, PyObject *const *args, Py_ssize_t count, const impulse_list *kind)
{
	cp_world *world = (cp_world *)self;
	int64_t index;
	double impulse[3];
	if (!take_index(args, count, "contact", &index) || !cp_get_numbers(args[1], "impulse", 3, impulse) || !may_read(world))
		return NULL;
	const float floats[3] = { (float)impulse[0], (float)impulse[1], (float)impulse[2] };
	return cp_end_call(world, kind->set(world->world, index, floats), Py_NewRef(Py_None));
}

/// For each contact, in order: what a solver does once a step.
static PyObject *set_all(PyObject *self, PyObject *value, const impulse_list *kind)
{
	cp_world *world = (cp_world *)self;
	cp_input input;
	PyObject *made = NULL;
	if (cp_open_input(&input, value, "impulses", 3) && cp_as_floats(&input) && may_read(world) &&
		cp_has_rows(&input, kind->count(world->world))) {
		const float *impulses = (const float *)(const void *)input.data;
		made = cp_end_call(world, kind->set_all(world->world, input.rows, impulses), Py_NewRef(Py_None));
	}
	cp_close_input(&input);
	return made;
}

static PyObject *contact_corners(PyObject *self, PyObject *none)
{
	(void)none;
	cp_world *world = (cp_world *)self;
	cp_state *state = cp_state_of(self);
	if (!may_read(world))
		return NULL;
	const int32_t count = carom_world_contacts(world->world).count;
	cp_array *of_a = cp_new_records(state, CP_contact_corners, count);
	cp_array *of_b = of_a ? cp_new_records(state, CP_contact_corners, count) : NULL;
	PyObject *made = of_b ? Py_BuildValue("(OO)", (PyObject *)of_a, (PyObject *)of_b) : NULL;
	if (made)
		carom_world_get_contact_corners(
			world->world, 0, count, (carom_contact_corners *)(void *)of_a->data, (carom_contact_corners *)(void *)of_b->data);
	Py_XDECREF((PyObject *)of_a);
	Py_XDECREF((PyObject *)of_b);
	return made;
}

#define IMPULSES(name, counts, one, all)                                           \
	static const impulse_list name##_list = { counts, one, all };                  \
	static PyObject *name(PyObject *self, PyObject *const *args, Py_ssize_t count) \
	{                                                                              \
		return set_one(self, args, count, &name##_list);                           \
	}                                                                              \
	static PyObject *name##s(PyObject *self, PyObject *value) { return set_all(self, value, &name##_list); }
IMPULSES(set_impulse, count_contacts, set_contact, carom_world_set_impulses)
IMPULSES(set_surface_impulse, count_surface, carom_world_set_surface_impulse, carom_world_set_surface_impulses)
IMPULSES(set_surface_shape_impulse, count_surface_shape, carom_world_set_surface_shape_impulse,
	carom_world_set_surface_shape_impulses)
IMPULSES(set_sphere_impulse, count_sphere, carom_world_set_sphere_impulse, carom_world_set_sphere_impulses)
#undef IMPULSES

static PyObject *set_pair_data(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	cp_world *world = (cp_world *)self;
	int64_t index;
	uint64_t number;
	if (!take_index(args, count, "pair", &index) || !cp_get_u64(args[1], "user_data", &number) || !may_read(world))
		return NULL;
	return cp_end_call(world, carom_world_set_pair_data(world->world, (int32_t)index, number), Py_NewRef(Py_None));
}

static PyObject *set_body_pairs(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "listed", "max_contacts", NULL };
	cp_world *world = (cp_world *)self;
	PyObject *values[2];
	bool listed = true;
	int64_t most = 0;
	if (!cp_arguments("set_body_pairs", args, count, keywords, names, 0, values) ||
		(values[0] && !cp_get_bool(values[0], "listed", &listed)) ||
		(values[1] && !cp_get_int(values[1], "max_contacts", INT32_MIN, INT32_MAX, &most)) || !may_read(world))
		return NULL;
	return cp_end_call(world, carom_world_set_body_pairs(world->world, listed, (int32_t)most), Py_NewRef(Py_None));
}

static PyObject *set_body_pair_data(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	cp_world *world = (cp_world *)self;
	int64_t index;
	uint64_t number;
	if (!take_index(args, count, "pair", &index) || !cp_get_u64(args[1], "user_data", &number) || !may_read(world))
		return NULL;
	return cp_end_call(world, carom_world_set_body_pair_data(world->world, (int32_t)index, number), Py_NewRef(Py_None));
}

static PyObject *get_hash(PyObject *self, void *none)
{
	(void)none;
	cp_world *world = (cp_world *)self;
	return may_read(world) ? PyLong_FromUnsignedLongLong(carom_world_hash(world->world)) : NULL;
}

static PyObject *get_stats(PyObject *self, void *none)
{
	(void)none;
	cp_world *world = (cp_world *)self;
	if (!may_read(world))
		return NULL;
	const carom_stats stats = carom_world_stats(world->world);
	return cp_new_record(cp_state_of(self), CP_stats, &stats, NULL);
}

static PyObject *get_sweep_stats(PyObject *self, void *none)
{
	(void)none;
	cp_world *world = (cp_world *)self;
	if (!may_read(world))
		return NULL;
	const carom_sweep_stats stats = carom_world_sweep_stats(world->world);
	return cp_new_record(cp_state_of(self), CP_sweep_stats, &stats, NULL);
}

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL
PyMethodDef cp_world_results[] = {
	{ "earliest_impact", earliest_impact, METH_NOARGS, CP_DOC("earliest_impact($self, /)", carom_world_earliest_impact) },
	{ "earliest_shape_impact", earliest_shape_impact, METH_NOARGS,
		CP_DOC("earliest_shape_impact($self, /)", carom_world_earliest_shape_impact) },
	{ "earliest_body_impact", CP_NAMED(earliest_body_impact),
		CP_DOC("earliest_body_impact($self, /, id=0)", carom_world_earliest_body_impact) },
	{ "set_impulse", FAST(set_impulse), CP_DOC("set_impulse($self, contact, impulse, /)", carom_world_set_impulse) },
	{ "set_impulses", set_impulses, METH_O, CP_DOC("set_impulses($self, impulses, /)", carom_world_set_impulses) },
	{ "set_surface_impulse", FAST(set_surface_impulse),
		CP_DOC("set_surface_impulse($self, contact, impulse, /)", carom_world_set_surface_impulse) },
	{ "set_surface_impulses", set_surface_impulses, METH_O,
		CP_DOC("set_surface_impulses($self, impulses, /)", carom_world_set_surface_impulses) },
	{ "set_surface_shape_impulse", FAST(set_surface_shape_impulse),
		CP_DOC("set_surface_shape_impulse($self, contact, impulse, /)", carom_world_set_surface_shape_impulse) },
	{ "set_surface_shape_impulses", set_surface_shape_impulses, METH_O,
		CP_DOC("set_surface_shape_impulses($self, impulses, /)", carom_world_set_surface_shape_impulses) },
	{ "set_sphere_impulse", FAST(set_sphere_impulse),
		CP_DOC("set_sphere_impulse($self, contact, impulse, /)", carom_world_set_sphere_impulse) },
	{ "set_sphere_impulses", set_sphere_impulses, METH_O,
		CP_DOC("set_sphere_impulses($self, impulses, /)", carom_world_set_sphere_impulses) },
	{ "set_pair_data", FAST(set_pair_data), CP_DOC("set_pair_data($self, pair, user_data, /)", carom_world_set_pair_data) },
	{ "contact_corners", contact_corners, METH_NOARGS,
		CP_DOC("contact_corners($self, /)", carom_world_get_contact_corners) " Of all contacts: (those of A, those of B)." },
	{ "set_body_pairs", CP_NAMED(set_body_pairs),
		CP_DOC("set_body_pairs($self, /, listed=True, max_contacts=0)", carom_world_set_body_pairs) },
	{ "set_body_pair_data", FAST(set_body_pair_data),
		CP_DOC("set_body_pair_data($self, pair, user_data, /)", carom_world_set_body_pair_data) },
	{ NULL, NULL, 0, NULL },
};
PyGetSetDef cp_world_views[] = {
	{ "contacts", get_list, NULL, DOC_carom_world_contacts, (void *)&lists[0] },
	{ "pairs", get_list, NULL, DOC_carom_world_pairs, (void *)&lists[1] },
	{ "events", get_list, NULL, DOC_carom_world_events, (void *)&lists[2] },
	{ "impacts", get_list, NULL, DOC_carom_world_impacts, (void *)&lists[3] },
	{ "shape_impacts", get_list, NULL, DOC_carom_world_shape_impacts, (void *)&lists[4] },
	{ "surface_contacts", get_list, NULL, DOC_carom_world_surface_contacts, (void *)&lists[5] },
	{ "surface_shape_contacts", get_list, NULL, DOC_carom_world_surface_shape_contacts, (void *)&lists[6] },
	{ "sphere_contacts", get_list, NULL, DOC_carom_world_sphere_contacts, (void *)&lists[7] },
	{ "body_impacts", get_list, NULL, DOC_carom_world_body_impacts, (void *)&lists[8] },
	{ "sphere_pairs", get_list, NULL, DOC_carom_world_sphere_pairs, (void *)&lists[9] },
	{ "sphere_groups", get_list, NULL, "Groups of sphere_pairs: those of two granular bodies, or of one.", (void *)&lists[10] },
	{ "body_pairs", get_list, NULL, DOC_carom_world_body_pairs, (void *)&lists[11] },
	{ "body_events", get_list, NULL, DOC_carom_world_body_events, (void *)&lists[12] },
	{ "sphere_contacts_by_pair", get_sphere_contacts_by_pair, NULL,
		"Numbers of sphere_contacts, where those of a pair stand side by side, from its first_sphere_contact on.", NULL },
	{ "hash", get_hash, NULL, DOC_carom_world_hash, NULL },
	{ "stats", get_stats, NULL, DOC_carom_world_stats, NULL },
	{ "sweep_stats", get_sweep_stats, NULL, DOC_carom_world_sweep_stats, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
