/// @file binding.h
/// What the files of the module share: its state, tables of structs, objects, and the ways in and
/// out for numbers and arrays.
///
/// The module keeps to CPython's limited API of 3.11, so one file serves that version and all later
/// ones, and NumPy is needed neither to compile nor to import it. Names that cross files begin with
/// cp_.
#ifndef CP_BINDING_H
#define CP_BINDING_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "carom/carom.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// ---- Tables, made from the headers by tables.py ----

/// The type of a member.
typedef enum cp_kind {
	CP_BOOL,
	CP_I8,
	CP_U8,
	CP_I32,
	CP_U32,
	CP_I64,
	CP_U64,
	CP_SIZE,
	CP_F32,
	CP_F64,
	CP_ID,   ///< carom_body_id; in Python an int: generation * 2^32 + index1
	CP_ENUM, ///< in Python an IntEnum
	CP_STRUCT,
	CP_TEXT,        ///< an array of char
	CP_STATIC_TEXT, ///< a pointer to text that lasts
	CP_MESH,        ///< a pointer to a mesh; the record keeps its object
	CP_PARTS,       ///< the parts of a body; the record keeps them as a tuple
	CP_KEPT,        ///< an array that the record keeps as the object that was given
	CP_GIVEN_TEXT,  ///< a pointer to a text of the caller's, a str, which the record keeps
	CP_DEVICE,      ///< a pointer to a device; the record keeps its object
	CP_FUNCTION,    ///< a callback; the record keeps Python's function
	CP_OPAQUE,      ///< not seen in Python
} cp_kind;

/// A member of a struct.
typedef struct cp_member {
	const char *name;
	size_t offset;
	cp_kind kind;
	int count;        ///< of values: above 1 in Python a tuple
	int link;         ///< number of the enumeration or struct, else -1
	size_t limit;     ///< offset of the int32_t that tells how many of the values there are; 0: all
	const char *path; ///< for messages: "BodyDef.mask"
	const char *comment;
} cp_member;

/// A struct.
typedef struct cp_layout {
	const char *name; ///< in Python
	const char *c_name;
	size_t size;
	const cp_member *members;
	int count;
	PyGetSetDef *attributes;
	void (*start)(void *data); ///< writes the defaults
	bool exposed;              ///< is there a type of it in Python?
	bool has_defaults;         ///< its repr leaves out members that have their default
	const char *comment;
} cp_layout;

typedef struct cp_value {
	const char *name;
	int value;
	const char *comment;
} cp_value;

typedef struct cp_enum {
	const char *name;
	const cp_value *values;
	int count;
	const char *comment;
} cp_enum;

/// A name of C in the library's texts, and what Python calls it.
typedef struct cp_word {
	const char *c_name;
	const char *name;
} cp_word;

/// An attribute of a record, for the tables (record_object.c).
PyObject *cp_get_attribute(PyObject *self, void *member);

#include "carom_tables.h"

extern const cp_layout cp_layouts[CP_LAYOUT_COUNT];
extern const cp_enum cp_enums[CP_ENUM_COUNT];
extern const cp_word cp_words[]; ///< [cp_word_count] sorted by c_name
extern const int cp_word_count;

/// The docstring of a function: its signature as inspect reads it, and the comment of the header.
#define CP_DOC(signature, function) signature "\n--\n\n" DOC_##function

// ---- State of the module ----

typedef struct cp_context cp_context;

typedef struct cp_state {
	PyObject *error;                               ///< carom.Error
	PyObject *errors[CAROM_INVALID_RECORDING + 1]; ///< its subclass for each result
	PyTypeObject *records[CP_LAYOUT_COUNT];        ///< NULL: not exposed
	PyObject *enums[CP_ENUM_COUNT];                ///< classes
	PyObject *enum_values[CP_ENUM_COUNT];          ///< tuples of their members
	PyObject *dtypes[CP_LAYOUT_COUNT];             ///< of NumPy, made when needed
	PyObject *formats[CP_LAYOUT_COUNT];            ///< of the buffer protocol, made when needed
	PyTypeObject *array_type, *context_type, *mesh_type, *world_type, *snapshot_type, *sweep_type, *proximity_type,
		*spheres_type, *device_type, *grains_type;
	cp_context *default_context; ///< made when first needed
} cp_state;

/// The state, from an object of one of the module's types. None of them can be subclassed.
static inline cp_state *cp_state_of(PyObject *object) { return PyType_GetModuleState(Py_TYPE(object)); }

/// A method that takes positional and named arguments, for a table of methods.
#define CP_NAMED(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL | METH_KEYWORDS

/// Tables of methods as one, for a type whose methods several files hold; NULL ends the list. It
/// lives as long as the process. NULL with an exception.
PyMethodDef *cp_join_methods(PyMethodDef *first, ...);
PyGetSetDef *cp_join_attributes(PyGetSetDef *first, ...);

// ---- Errors (binding_errors.c) ----

/// Make the classes of errors. -1 with an exception.
int cp_add_errors(PyObject *module, cp_state *state);
/// Raise what a call of the library returned, with the text of context (NULL: of none). Returns
/// NULL, for `return cp_raise(...)`.
PyObject *cp_raise(cp_state *state, const carom_context *context, carom_result result);
/// Raise carom.Error's subclass of a result with a text.
PyObject *cp_raise_text(cp_state *state, carom_result result, const char *text);

// ---- Use of objects from several threads ----

/// Calls under way on an object that a call may change: written under the GIL alone. A call that
/// changes it must not overlap with any other one (carom/world.h), and the library does not look.
typedef struct cp_use {
	int readers;
	bool writing;
} cp_use;

/// A call that reads, or that changes, may begin: else false with RuntimeError. Its counterpart
/// ends it.
bool cp_begin_read(cp_use *use, const char *what);
bool cp_begin_write(cp_use *use, const char *what);
static inline void cp_end_read(cp_use *use) { use->readers--; }
static inline void cp_end_write(cp_use *use) { use->writing = false; }

/// Memory that views look at. A new generation ends the views of all earlier ones; it must not
/// begin while one of them is exported.
typedef struct cp_guard {
	uint64_t generation;
	Py_ssize_t exports;
} cp_guard;

/// Nothing is exported: else false with BufferError.
bool cp_is_free(const cp_guard *guard, const char *what);

// ---- Records (record_object.c) ----

/// A struct of the library as an immutable object; the struct follows the head.
typedef struct cp_record {
	PyObject_HEAD const cp_layout *layout;
	PyObject *keep; ///< NULL, or a dict: objects that members refer to
} cp_record;

static inline void *cp_record_data(cp_record *record) { return record + 1; }

/// Make the types of records and enumerations. -1 with an exception.
int cp_add_records(PyObject *module, cp_state *state);
/// A record with a copy of data; keep (NULL: nothing) is borrowed.
PyObject *cp_new_record(cp_state *state, int layout, const void *data, PyObject *keep);
/// The struct in a record of this layout; NULL without an exception where object is none.
void *cp_as_record(cp_state *state, int layout, PyObject *object);
/// A tuple of Part from a sequence of Part, or of (shape, pose). path names it in errors.
PyObject *cp_parts_tuple(cp_state *state, const char *path, PyObject *value);
/// Parts from a tuple of records, from malloc, and their number. NULL with an exception.
carom_part *cp_copy_parts(cp_state *state, PyObject *tuple, int32_t *count);
/// A member's value as an object.
PyObject *cp_get_member(cp_state *state, const cp_member *member, const char *data, PyObject *keep);
/// Write a member from an object; *keep becomes a dict where it is needed. False with an exception.
bool cp_set_member(cp_state *state, const cp_member *member, char *data, PyObject **keep, PyObject *value);
/// Write the member of this name. False with an exception, TypeError where there is none.
bool cp_set_named(cp_state *state, int layout, char *data, PyObject **keep, PyObject *name, PyObject *value);
/// The number of an enumeration's value from an IntEnum, an int or a name in any case.
bool cp_get_enum(cp_state *state, int number, PyObject *value, const char *path, int *result);
PyObject *cp_new_enum(cp_state *state, int number, int value);

// ---- Arrays out (array_object.c) ----

/// Records or numbers in memory of its own or of another object: exports the buffer protocol.
typedef struct cp_array {
	PyObject_HEAD PyObject *base; ///< whose memory it is; NULL: its own
	cp_guard *guard;              ///< of base; NULL: the memory is there as long as base
	uint64_t generation;
	int layout;   ///< of records; -1: numbers
	cp_kind kind; ///< of numbers
	int dimensions;
	Py_ssize_t shape[3], strides[3], item_size;
	char *data;
	bool is_readonly;
} cp_array;

int cp_add_array(PyObject *module, cp_state *state);
/// An array with zeroed memory of its own: count records, or count * columns numbers (columns 0:
/// one dimension).
cp_array *cp_new_records(cp_state *state, int layout, int64_t count);
cp_array *cp_new_numbers(cp_state *state, cp_kind kind, int64_t count, int columns);
/// The array's first count rows are all there are.
void cp_shorten(cp_array *array, int64_t count);
/// A read-only view of memory of base. guard may be NULL.
PyObject *cp_view_records(PyObject *base, cp_guard *guard, cp_state *state, int layout, const void *data, int64_t count);
PyObject *cp_view_numbers(
	PyObject *base, cp_guard *guard, cp_state *state, cp_kind kind, const void *data, int64_t count, int columns);

// ---- Numbers and arrays in (input.c, pose_input.c, array_input.c) ----

/// Positional and keyword arguments by names, which NULL ends: values [number of names], NULL where
/// one is not given. The first required ones must be there. False with TypeError.
bool cp_arguments(const char *function, PyObject *const *args, Py_ssize_t count, PyObject *keywords, const char *const *names,
	int required, PyObject **values);
/// Is an argument there, and not None?
static inline bool cp_is_given(PyObject *value) { return value && value != Py_None; }

bool cp_get_double(PyObject *value, const char *name, double *result);
bool cp_get_bool(PyObject *value, const char *name, bool *result);
bool cp_get_int(PyObject *value, const char *name, int64_t least, int64_t most, int64_t *result);
bool cp_get_u64(PyObject *value, const char *name, uint64_t *result);
bool cp_get_id(PyObject *value, carom_body_id *id);
PyObject *cp_new_id(carom_body_id id);
/// count numbers of a sequence or buffer.
bool cp_get_numbers(PyObject *value, const char *name, int count, double *result);
bool cp_get_vec3(PyObject *value, const char *name, carom_vec3 *result);
PyObject *cp_new_vec3(carom_vec3 v);
/// A Pose, (position, orientation), seven numbers, or a matrix of 4 x 4 or 3 x 4; None: the
/// identity.
bool cp_get_pose(cp_state *state, PyObject *value, const char *name, carom_pose *pose);
/// A Motion, a pair of poses, or 14 numbers; None: at rest at the identity.
bool cp_get_motion(cp_state *state, PyObject *value, const char *name, carom_motion *motion);
/// A Shape, or a Mesh for a shape of it. The struct lives as long as value.
bool cp_get_shape(cp_state *state, PyObject *value, const char *name, carom_shape *shape);
/// One Shape or Mesh for all of count queries, or a sequence with one for each: the structs, which
/// the caller frees, and a tuple that holds their objects. NULL with an exception; *held may be
/// set then.
carom_shape *cp_get_shapes(cp_state *state, PyObject *value, const char *name, int64_t count, bool *is_shared, PyObject **held);

/// The filter of a call, and the function of Python's that it asks.
typedef struct cp_filter {
	const carom_query_filter *given; ///< for the library: data, or NULL
	carom_query_filter data;
	PyObject *function; ///< of the record, which outlives the call; NULL: there is none
	PyObject *failure;  ///< the first exception that it raised
} cp_filter;

/// A QueryFilter; NULL or None: given becomes NULL. The filter stays where it is until the end.
bool cp_get_filter(cp_state *state, PyObject *value, cp_filter *filter);
/// The answer of the call, whose reference is taken; NULL where the function raised.
PyObject *cp_end_filter(cp_filter *filter, PyObject *answer);
/// Keep the exception that is raised, if it is the first one.
void cp_keep_failure(PyObject **failure);
/// The arguments of a call are a record of this layout and named members beside. data is started.
bool cp_get_settings(cp_state *state, int layout, const char *function, PyObject *record, PyObject *const *values,
	PyObject *keywords, void *data, PyObject **keep);

/// An array that is given: rows of columns values. No copy is made unless the values must be
/// converted. All zero: nothing is held.
typedef struct cp_input {
	Py_buffer buffer;
	bool has_buffer;
	PyObject *capsule; ///< of DLPack, which holds the memory
	void *copy;
	const char *data;
	int64_t rows;
	int64_t columns;
	int64_t breadth; ///< rows are a picture of so many columns; 0: a list
	Py_ssize_t row_stride, column_stride;
	char type; ///< 'f', 'i', 'u' or '?'
	int size;  ///< bytes of a value
	const char *name;
} cp_input;

/// Open an array of any type; columns 0: one dimension. False with TypeError, ValueError or
/// BufferError that names the argument. Closed by cp_close_input, also after a failure.
bool cp_open_input(cp_input *input, PyObject *value, const char *name, int columns);
/// Open one whose rows have any number of columns from least to most, told in input->columns.
bool cp_open_rows(cp_input *input, PyObject *value, const char *name, int least, int most);
void cp_close_input(cp_input *input);
/// Is it a buffer or a tensor, no sequence?
bool cp_is_array(PyObject *value);

/// The last dimensions of an array, which make up one row.
typedef struct cp_form {
	int dimensions; ///< 0 ends a list of forms
	int count;      ///< of numbers in all of them
	int last;       ///< the last length
} cp_form;

/// Open a buffer or a tensor whose rows have one of these forms, told by input->columns. leading:
/// how many dimensions may come before them, 1 or 2. wanted: the forms, for the error. As
/// cp_open_input.
bool cp_open_forms(cp_input *input, PyObject *value, const char *name, const cp_form *forms, int leading, const char *wanted);
/// Doubles from malloc, rows * columns, take the place of the values.
void cp_take_doubles(cp_input *input, double *owned, int64_t rows, int64_t columns);
/// Open poses (columns 7) or motions (14), in any form that cp_get_pose and cp_get_motion take, by
/// the array or in a sequence. The values are doubles then.
bool cp_open_places(cp_state *state, cp_input *input, PyObject *value, const char *name, int columns);
/// It has so many rows: else false with ValueError.
bool cp_has_rows(const cp_input *input, int64_t rows);
/// Its values, row after row, converted where they are of another type. NULL with an exception.
const double *cp_as_doubles(cp_input *input);
const float *cp_as_floats(cp_input *input);
/// Open the heights of a rectangle of a height field, values [0], and read where it begins, [1] and
/// [2]. The heights, which cp_close_input gives back in any case, or NULL with an error set.
const float *cp_open_region(cp_input *heights, PyObject *const values[3], carom_field_region *region);
const int32_t *cp_as_int32(cp_input *input);
const uint32_t *cp_as_uint32(cp_input *input);
const uint64_t *cp_as_uint64(cp_input *input);
/// Floats or doubles where they lie, whatever the stride of the rows. False with an exception.
bool cp_as_strided(cp_input *input, carom_strided *strided);
/// Rays (n, 8): origin, direction, t_min, t_max; (n, 6) without the last two; a picture of them,
/// (h, w, 6) or (h, w, 8); or origins and directions (n, 3) each. rays stays open; *owned, where it
/// is made, is to be freed.
bool cp_get_rays(cp_input *rays, PyObject *value, PyObject *directions, const carom_ray **result, carom_ray **owned);
/// A list of one answer for each row of input has the shape of input, a picture's too.
void cp_shape_as(cp_array *array, const cp_input *input);
/// Where results for each query are wanted: a writable array of int32 [count]. None: *results is
/// NULL.
bool cp_open_output(Py_buffer *buffer, PyObject *value, const char *name, int64_t count, carom_result **results);

// ---- Batches (batch_pieces.c) ----

/// Ask the queries of a batch from first on, count of them, without the GIL. Returns a result, or
/// CP_NO_MEMORY where memory of the binding ran out. A failure is told of the queries asked, and
/// with CP_TOLD_WHOLE added of those of the whole batch.
typedef int (*cp_ask_fn)(void *call, int64_t first, int64_t count);
enum { CP_NO_MEMORY = -1, CP_TOLD_WHOLE = 256 };
/// How many queries the first piece has. Rays and points take about a microsecond, so a batch that
/// is over soon is asked whole; one pair of meshes may take a second.
enum {
	CP_RAYS_AT_ONCE = 32768,
	CP_POINTS_AT_ONCE = 8192,
	CP_SHAPES_AT_ONCE = 64,
	CP_ON_DEVICE_AT_ONCE = 1 << 20,
	CP_ELEMENTS_AT_ONCE = 1 << 17
};
/// Ask all queries of a batch, in pieces between which signals are looked at. False with an
/// exception: of the library, whose text names the query, or of a handler (KeyboardInterrupt).
bool cp_ask_in_pieces(cp_state *state, const cp_context *context, int64_t count, int64_t first_piece, cp_ask_fn ask, void *call);
/// Ask count queries from first on, whose answers are lists: the first room of them go into
/// answers. ends [count + 1] counts from 0. Without the GIL.
typedef carom_result (*cp_list_fn)(const void *call, int64_t first, int64_t count, int64_t room, void *answers, int64_t *ends);
/// Ask all queries of a batch with lists of answers, in pieces; a piece is asked again where there
/// was too little room. layout: of their records; -1: ids of bodies. Returns (first, answers), or
/// NULL with an exception.
PyObject *cp_ask_lists(cp_state *state, const cp_context *context, int64_t count, int64_t first_piece, int layout,
	cp_list_fn ask, const void *call);
/// The settings of a batch for a piece of it.
carom_batch cp_piece_of(const carom_batch *batch, int64_t first, int64_t count);

// ---- Contexts (context_object.c) ----

struct cp_context {
	PyObject_HEAD carom_context *context; ///< NULL: closed
	carom_allocator next;                 ///< that has the memory
	_Atomic uint64_t used;                ///< bytes given out
	_Atomic uint64_t limit;               ///< 0: none
	PyObject *log;                        ///< NULL: none
	Py_ssize_t children;                  ///< objects made from it
};

int cp_add_context(PyObject *module, cp_state *state);
/// The context in an argument, or the module's own for NULL or None. A new reference; NULL with an
/// exception.
cp_context *cp_use_context(cp_state *state, PyObject *value);

// ---- Devices (device_object.c) ----

typedef struct cp_device {
	PyObject_HEAD carom_device *device; ///< NULL: closed
	cp_context *context;
	Py_ssize_t users; ///< objects that run on it
} cp_device;

int cp_add_device(PyObject *module, cp_state *state);
extern PyMethodDef cp_device_functions[];
/// A device that is open, from an argument; NULL with TypeError or ValueError.
cp_device *cp_get_device(cp_state *state, PyObject *value, const char *name);
/// The devices of a list or tuple, which the caller holds: how many, or -1 with an exception.
int32_t cp_get_devices(cp_state *state, PyObject *value, cp_device *devices[CAROM_MAX_DEVICES]);
/// Hold the device among the objects that settings keep, until cp_let_device_go; NULL: there is
/// none.
cp_device *cp_hold_device(PyObject *keep);
void cp_let_device_go(cp_device *device);

// ---- Meshes (mesh_object.c, mesh_queries.c) ----

typedef struct cp_mesh {
	PyObject_HEAD cp_context *context;
	carom_mesh *mesh;
} cp_mesh;

int cp_add_mesh(PyObject *module, cp_state *state);
extern PyMethodDef cp_mesh_queries[];
/// A carom_write_fn for what is written by one call: *user, a PyObject *, becomes the bytes. Works
/// with and without the GIL.
bool cp_write_bytes(const void *bytes, size_t count, void *user);
/// The mesh of an object; NULL with TypeError.
carom_mesh *cp_get_mesh(cp_state *state, PyObject *value, const char *name);
/// An object for a mesh whose reference it takes. On failure the reference is given up.
PyObject *cp_new_mesh(cp_state *state, cp_context *context, carom_mesh *mesh);
/// An object for a mesh of the library's structs, which takes a reference of its own.
PyObject *cp_share_mesh(cp_state *state, cp_context *context, const carom_mesh *mesh);

// ---- Worlds (world*.c) ----

typedef struct cp_world {
	PyObject_HEAD carom_world *world; ///< NULL: closed
	cp_context *context;
	cp_device *devices[CAROM_MAX_DEVICES]; ///< that its rays are cast on
	int32_t device_count;
	cp_use use;
	cp_guard results; ///< views of the last step
	cp_guard places;  ///< views of vertices and spheres
	PyObject *pair_filter, *contact_filter, *writer;
	PyObject *failure; ///< the first exception that a callback raised in this call
	int asking;        ///< filters of a step that wait for Python's answer; changed under the GIL
} cp_world;

int cp_add_world(PyObject *module, cp_state *state);
extern PyMethodDef cp_world_bodies[], cp_world_results[], cp_world_queries[], cp_world_batches[], cp_world_snapshots[];
extern PyGetSetDef cp_world_views[];
/// The world is open: else false with an exception.
bool cp_is_open(cp_world *world);
/// Value, whose reference is taken, as the answer of a call on a world; or NULL with the exception
/// of a callback, or of the result.
PyObject *cp_end_call(cp_world *world, carom_result result, PyObject *value);

int cp_add_snapshot(PyObject *module, cp_state *state);

// ---- For other modules of the package ----

/// What carom._sim uses of this module: the capsule "carom._carom._api". Both are built from one
/// tree; version and size tell those that were not.
typedef struct cp_api {
	size_t size;
	int layouts; ///< CP_LAYOUT_COUNT
	carom_version version;
	cp_state *state;
	PyObject *(*raise_text)(cp_state *state, carom_result result, const char *text);
	PyObject *(*new_record)(cp_state *state, int layout, const void *data, PyObject *keep);
	PyObject *(*new_enum)(cp_state *state, int number, int value);
	cp_array *(*new_numbers)(cp_state *state, cp_kind kind, int64_t count, int columns);
	PyObject *(*view_records)(PyObject *base, cp_guard *guard, cp_state *state, int layout, const void *data, int64_t count);
	PyObject *(*view_numbers)(
		PyObject *base, cp_guard *guard, cp_state *state, cp_kind kind, const void *data, int64_t count, int columns);
	bool (*begin_read)(cp_use *use, const char *what);
	bool (*begin_write)(cp_use *use, const char *what);
	bool (*is_free)(const cp_guard *guard, const char *what);
} cp_api;

#define CP_API_NAME "carom._carom._api"

// ---- Others ----

PyObject *cp_check_mesh(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords);
int cp_add_spheres(PyObject *module, cp_state *state);
int cp_add_grains(PyObject *module, cp_state *state);
int cp_add_sweep(PyObject *module, cp_state *state);
int cp_add_proximity(PyObject *module, cp_state *state);
/// An object of a detector's type with its settings in def and its context at an offset: the one
/// that is given, else that of its device, else the module's own. *keep becomes a dict of the
/// objects that the settings refer to, or NULL; the caller gives it back. NULL with an exception.
PyObject *cp_new_detector(
	PyTypeObject *type, PyObject *args, PyObject *keywords, int layout, void *def, size_t context_offset, PyObject **keep);
void cp_free_detector(PyObject *self, cp_context *context);
/// The mesh of a swept or proximity scene from the arguments of add_mesh; the caller closes the
/// arrays, also after a failure.
bool cp_open_scene_mesh(PyObject *const *args, Py_ssize_t count, PyObject *keywords, carom_sweep_mesh_def *def,
	cp_input *vertices, cp_input *triangles);
/// The arguments of set_filter: def has the defaults where one is not given.
bool cp_get_scene_filter(PyObject *const *args, Py_ssize_t count, PyObject *keywords, int32_t *mesh, carom_sweep_mesh_def *def);
extern PyMethodDef cp_shape_rays[], cp_shape_functions[], cp_element_functions[], cp_replay_functions[], cp_file_functions[];

#endif
