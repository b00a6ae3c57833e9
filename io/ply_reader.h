/// @file ply_reader.h
/// Header and values of PLY files (Turk, The PLY Polygon File Format, 1994), ASCII and binary of
/// either byte order: the common part of the readers of meshes (ply_file.c) and of points
/// (sphere_ply.c).
#ifndef SIM_PLY_READER_H
#define SIM_PLY_READER_H

#include "sim/base/sim_error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_PLY_PROPERTIES_MAX = 64, SIM_PLY_ELEMENTS_MAX = 16, SIM_PLY_WORD_SIZE = 64 };

typedef enum sim_ply_type {
	SIM_PLY_INT8,
	SIM_PLY_UINT8,
	SIM_PLY_INT16,
	SIM_PLY_UINT16,
	SIM_PLY_INT32,
	SIM_PLY_UINT32,
	SIM_PLY_FLOAT,
	SIM_PLY_DOUBLE,
	SIM_PLY_NO_TYPE
} sim_ply_type;

typedef enum sim_ply_format { SIM_PLY_ASCII, SIM_PLY_LITTLE, SIM_PLY_BIG } sim_ply_format;

typedef struct sim_ply_property {
	sim_ply_type type;
	sim_ply_type count_type; ///< SIM_PLY_NO_TYPE: a single value
	char name[SIM_PLY_WORD_SIZE];
} sim_ply_property;

typedef struct sim_ply_element {
	char name[SIM_PLY_WORD_SIZE];
	const char *place; ///< of its line in the header, for messages
	int64_t count;
	int property_count;
	sim_ply_property properties[SIM_PLY_PROPERTIES_MAX];
} sim_ply_element;

/// Where a reader stands. Made by sim_ply_make_reader.
typedef struct sim_ply_reader {
	const char *start;
	const char *at;
	const char *end;   ///< a zero must stand there
	const char *body;  ///< where the values begin; NULL in the header
	const char *place; ///< of the part in hand, for messages; NULL: they name none
	sim_ply_format format;
	int element_count;
	sim_ply_element elements[SIM_PLY_ELEMENTS_MAX];
	bool as_doubles; ///< numbers in text are read to the nearest double, whatever their type
	int64_t row;     ///< of the element being read, for messages
	sim_error *error;
} sim_ply_reader;

/// Make a reader of bytes, which a zero must follow. NULL, with a sentence in error, when memory
/// runs out. Free with free.
sim_ply_reader *sim_ply_make_reader(const char *bytes, size_t size, sim_error *error);

/// Say what is wrong (printf style), behind the line or, in a binary file, the byte. Returns false.
bool sim_ply_fail(sim_ply_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Read the header. The functions below read on from there, element after element. All return false
/// after sim_ply_fail.
bool sim_ply_read_header(sim_ply_reader *r);

/// Read a single value.
bool sim_ply_read_value(sim_ply_reader *r, const sim_ply_element *element, sim_ply_type type, double *value);

/// Read the length of a list.
bool sim_ply_read_list_count(
	sim_ply_reader *r, const sim_ply_element *element, const sim_ply_property *property, int64_t *count);

/// Read over a value or a list.
bool sim_ply_skip_property(sim_ply_reader *r, const sim_ply_element *element, const sim_ply_property *property);

/// Read over all rows of an element.
bool sim_ply_skip_element(sim_ply_reader *r, const sim_ply_element *element);

/// Check that the rows fit into the rest of the file: a row takes a byte for each property at
/// least, so that a damaged count cannot ask for much more memory than the file has bytes. False
/// after a message, which calls the rows by name.
bool sim_ply_check_room(sim_ply_reader *r, const sim_ply_element *element, const char *name);

#endif
