/// @file ply_reader.h
/// Header and values of PLY files (Turk, The PLY Polygon File Format, 1994), ASCII and binary of
/// either byte order: the common part of the readers of meshes (ply_file.c) and of points
/// (sphere_ply.c).
#ifndef IO_PLY_READER_H
#define IO_PLY_READER_H

#include "sim/base/sim_error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IO_PLY_PROPERTIES_MAX = 64, IO_PLY_ELEMENTS_MAX = 16, IO_PLY_WORD_SIZE = 64 };

typedef enum io_ply_type {
	IO_PLY_INT8,
	IO_PLY_UINT8,
	IO_PLY_INT16,
	IO_PLY_UINT16,
	IO_PLY_INT32,
	IO_PLY_UINT32,
	IO_PLY_FLOAT,
	IO_PLY_DOUBLE,
	IO_PLY_NO_TYPE
} io_ply_type;

typedef enum io_ply_format { IO_PLY_ASCII, IO_PLY_LITTLE, IO_PLY_BIG } io_ply_format;

typedef struct io_ply_property {
	io_ply_type type;
	io_ply_type count_type; ///< IO_PLY_NO_TYPE: a single value
	char name[IO_PLY_WORD_SIZE];
} io_ply_property;

typedef struct io_ply_element {
	char name[IO_PLY_WORD_SIZE];
	const char *place; ///< of its line in the header, for messages
	int64_t count;
	int property_count;
	io_ply_property properties[IO_PLY_PROPERTIES_MAX];
} io_ply_element;

/// Where a reader stands. Made by io_ply_make_reader.
typedef struct io_ply_reader {
	const char *start;
	const char *at;
	const char *end;   ///< a zero must stand there
	const char *body;  ///< where the values begin; NULL in the header
	const char *place; ///< of the part in hand, for messages; NULL: they name none
	io_ply_format format;
	int element_count;
	io_ply_element elements[IO_PLY_ELEMENTS_MAX];
	bool as_doubles; ///< numbers in text are read to the nearest double, whatever their type
	int64_t row;     ///< of the element being read, for messages
	sim_error *error;
} io_ply_reader;

/// Make a reader of bytes, which a zero must follow. NULL, with a sentence in error, when memory
/// runs out. Free with free.
io_ply_reader *io_ply_make_reader(const char *bytes, size_t size, sim_error *error);

/// Say what is wrong (printf style), behind the line or, in a binary file, the byte. Returns false.
bool io_ply_fail(io_ply_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Read the header. The functions below read on from there, element after element. All return false
/// after io_ply_fail.
bool io_ply_read_header(io_ply_reader *r);

/// Read a single value.
bool io_ply_read_value(io_ply_reader *r, const io_ply_element *element, io_ply_type type, double *value);

/// Read the length of a list.
bool io_ply_read_list_count(io_ply_reader *r, const io_ply_element *element, const io_ply_property *property, int64_t *count);

/// Read over a value or a list.
bool io_ply_skip_property(io_ply_reader *r, const io_ply_element *element, const io_ply_property *property);

/// Read over all rows of an element.
bool io_ply_skip_element(io_ply_reader *r, const io_ply_element *element);

/// Check that the rows fit into the rest of the file: a row takes a byte for each property at
/// least, so that a damaged count cannot ask for much more memory than the file has bytes. False
/// after a message, which calls the rows by name.
bool io_ply_check_room(io_ply_reader *r, const io_ply_element *element, const char *name);

#endif
