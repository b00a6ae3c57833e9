// Vertices and faces of PLY files, in file order (Turk, The PLY Polygon File Format, 1994).
// Assimp is not used for it: files that end early or hold fewer elements than they say come back as meshes full of zeros, and
// coordinates in text are not rounded to the nearest float.
#include "sim/ply_file.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROPERTIES_MAX = 64, ELEMENTS_MAX = 16, WORD_SIZE = 64 };

typedef enum ply_type {
	PLY_INT8,
	PLY_UINT8,
	PLY_INT16,
	PLY_UINT16,
	PLY_INT32,
	PLY_UINT32,
	PLY_FLOAT,
	PLY_DOUBLE,
	PLY_NO_TYPE
} ply_type;

static const int type_size[] = { 1, 1, 2, 2, 4, 4, 4, 8, 0 };

typedef enum ply_format { PLY_ASCII, PLY_LITTLE, PLY_BIG } ply_format;

typedef struct ply_property {
	ply_type type;
	ply_type count_type; // PLY_NO_TYPE: a single value
	char name[WORD_SIZE];
} ply_property;

typedef struct ply_element {
	char name[WORD_SIZE];
	int64_t count;
	int property_count;
	ply_property properties[PROPERTIES_MAX];
} ply_element;

typedef struct ply_reader {
	const char *at;
	const char *end;
	ply_format format;
	int element_count;
	ply_element elements[ELEMENTS_MAX];
	int64_t triangle_capacity;
	int64_t row; // of the element being read
	sim_mesh mesh;
	char *error;
	size_t error_size;
} ply_reader;

__attribute__((format(printf, 2, 3))) static bool fail(ply_reader *r, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(r->error, r->error_size, format, arguments);
	va_end(arguments);
	return false;
}

// ---- Header ----

static ply_type type_of(const char *word)
{
	static const char *const names[][2] = { { "char", "int8" }, { "uchar", "uint8" }, { "short", "int16" },
		{ "ushort", "uint16" }, { "int", "int32" }, { "uint", "uint32" }, { "float", "float32" }, { "double", "float64" } };
	for (int i = 0; i < PLY_NO_TYPE; i++)
		if (strcmp(word, names[i][0]) == 0 || strcmp(word, names[i][1]) == 0)
			return (ply_type)i;
	return PLY_NO_TYPE;
}

// Words of one line of the header, at most five; returns their number, or -1 at the end of the file.
static int header_words(ply_reader *r, char words[5][WORD_SIZE])
{
	const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
	if (!stop)
		return -1;
	int count = 0;
	while (count < 5) {
		while (r->at < stop && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
			r->at++;
		if (r->at == stop)
			break;
		size_t length = 0;
		for (; r->at < stop && *r->at != ' ' && *r->at != '\t' && *r->at != '\r'; r->at++)
			if (length < WORD_SIZE - 1)
				words[count][length++] = *r->at;
		words[count++][length] = '\0';
	}
	r->at = stop + 1;
	return count;
}

static bool parse_format(ply_reader *r, const char *word)
{
	static const char *const names[] = { "ascii", "binary_little_endian", "binary_big_endian" };
	for (int i = 0; i < 3; i++)
		if (strcmp(word, names[i]) == 0) {
			r->format = (ply_format)i;
			return true;
		}
	return fail(r, "the header names an unknown format: %s", word);
}

static bool parse_element(ply_reader *r, const char *name, const char *number)
{
	char *end;
	const long long count = strtoll(number, &end, 10);
	if (*end || end == number || count < 0 || count > INT32_MAX)
		return fail(r, "the header has a bad number of elements: element %s %s", name, number);
	if (r->element_count == ELEMENTS_MAX)
		return fail(r, "the header has more than %d kinds of elements", ELEMENTS_MAX);
	ply_element *element = &r->elements[r->element_count++];
	strcpy(element->name, name);
	element->count = count;
	return true;
}

static bool parse_property(ply_reader *r, int count, char words[5][WORD_SIZE])
{
	if (r->element_count == 0)
		return fail(r, "the header has a property before any element");
	ply_element *element = &r->elements[r->element_count - 1];
	if (element->property_count == PROPERTIES_MAX)
		return fail(r, "the header gives the element %s more than %d properties", element->name, PROPERTIES_MAX);
	ply_property *property = &element->properties[element->property_count++];
	const bool list = strcmp(words[1], "list") == 0;
	if (count != (list ? 5 : 3))
		return fail(r, "the header has an incomplete property in the element %s", element->name);
	property->type = type_of(words[list ? 3 : 1]);
	property->count_type = list ? type_of(words[2]) : PLY_NO_TYPE;
	strcpy(property->name, words[count - 1]);
	if (property->type == PLY_NO_TYPE || (list && property->count_type == PLY_NO_TYPE))
		return fail(r, "the header gives the property %s an unknown type", property->name);
	return true;
}

static bool parse_header(ply_reader *r)
{
	char words[5][WORD_SIZE];
	if (header_words(r, words) != 1 || strcmp(words[0], "ply") != 0)
		return fail(r, "is not a PLY file: it does not begin with a line \"ply\"");
	bool formatted = false;
	for (;;) {
		const int count = header_words(r, words);
		if (count < 0)
			return fail(r, "the header has no end_header");
		bool sound = true;
		if (count == 0 || strcmp(words[0], "comment") == 0 || strcmp(words[0], "obj_info") == 0)
			continue;
		if (strcmp(words[0], "end_header") == 0)
			return formatted || fail(r, "the header has no format");
		if (strcmp(words[0], "format") == 0 && count >= 2)
			sound = formatted = parse_format(r, words[1]);
		else if (strcmp(words[0], "element") == 0 && count == 3)
			sound = parse_element(r, words[1], words[2]);
		else if (strcmp(words[0], "property") == 0 && count >= 3)
			sound = parse_property(r, count, words);
		else
			sound = fail(r, "the header has a line that is not understood: %s", words[0]);
		if (!sound)
			return false;
	}
}

// ---- Values ----

static bool ends_early(ply_reader *r, const ply_element *element)
{
	return fail(r, "ends too early, in %s %lld of %lld", element->name, (long long)r->row, (long long)element->count);
}

static bool read_text_value(ply_reader *r, const ply_element *element, ply_type type, double *value)
{
	while (r->at < r->end && strchr(" \t\r\n", *r->at))
		r->at++;
	if (r->at == r->end)
		return ends_early(r, element);
	char *end;
	// Straight to the nearest float: by way of double it could be rounded twice.
	*value = type == PLY_FLOAT ? (double)strtof(r->at, &end) : strtod(r->at, &end);
	if (end == r->at || (end < r->end && !strchr(" \t\r\n", *end)))
		return fail(r, "%s %lld: this is not a number: %.*s", element->name, (long long)r->row,
			(int)strcspn(r->at, " \t\r\n") % WORD_SIZE, r->at);
	r->at = end;
	return true;
}

static bool read_binary_value(ply_reader *r, const ply_element *element, ply_type type, double *value)
{
	const int size = type_size[type];
	if (r->end - r->at < size)
		return ends_early(r, element);
	uint64_t bits = 0;
	for (int i = 0; i < size; i++)
		bits |= (uint64_t)(unsigned char)r->at[i] << 8 * (r->format == PLY_BIG ? size - 1 - i : i);
	r->at += size;
	const uint32_t low = (uint32_t)bits;
	float number;
	switch (type) {
	case PLY_INT8: *value = (double)(int8_t)low; break;
	case PLY_INT16: *value = (double)(int16_t)low; break;
	case PLY_INT32: *value = (double)(int32_t)low; break;
	case PLY_FLOAT:
		memcpy(&number, &low, sizeof number);
		*value = (double)number;
		break;
	case PLY_DOUBLE: memcpy(value, &bits, sizeof bits); break;
	default: *value = (double)low; break;
	}
	return true;
}

static bool read_value(ply_reader *r, const ply_element *element, ply_type type, double *value)
{
	return (r->format == PLY_ASCII ? read_text_value : read_binary_value)(r, element, type, value);
}

static bool read_list_count(ply_reader *r, const ply_element *element, const ply_property *property, int64_t *count)
{
	double number;
	if (!read_value(r, element, property->count_type, &number))
		return false;
	if (!(number >= 0 && number <= INT32_MAX) || number != floor(number))
		return fail(r, "%s %lld: a list of %g elements", element->name, (long long)r->row, number);
	*count = (int64_t)number;
	return true;
}

static bool skip_property(ply_reader *r, const ply_element *element, const ply_property *property)
{
	int64_t count = 1;
	if (property->count_type != PLY_NO_TYPE && !read_list_count(r, element, property, &count))
		return false;
	double value;
	for (int64_t i = 0; i < count; i++)
		if (!read_value(r, element, property->type, &value))
			return false;
	return true;
}

// ---- Vertices and faces ----

static bool read_vertex(ply_reader *r, const ply_element *element, const int place[PROPERTIES_MAX])
{
	float *vertex = r->mesh.vertices + 3 * r->row;
	for (int i = 0; i < element->property_count; i++) {
		double value;
		if (place[i] < 0) {
			if (!skip_property(r, element, &element->properties[i]))
				return false;
		} else if (!read_value(r, element, element->properties[i].type, &value)) {
			return false;
		} else {
			vertex[place[i]] = (float)value;
		}
	}
	r->mesh.vertex_count++;
	return true;
}

static bool read_vertices(ply_reader *r, const ply_element *element)
{
	static const char *const axes[] = { "x", "y", "z" };
	int place[PROPERTIES_MAX], found = 0;
	for (int i = 0; i < element->property_count; i++) {
		place[i] = -1;
		for (int axis = 0; axis < 3; axis++)
			if (element->properties[i].count_type == PLY_NO_TYPE && strcmp(element->properties[i].name, axes[axis]) == 0) {
				place[i] = axis;
				found |= 1 << axis;
			}
	}
	if (found != 7)
		return fail(r, "the element vertex has no x, y and z");
	// A row takes three bytes at least: a damaged count cannot ask for much more memory than the file has bytes.
	if (element->count > (r->end - r->at) / 3)
		return fail(r, "ends too early: %lld vertices do not fit in it", (long long)element->count);
	r->mesh.vertices = malloc((size_t)element->count * 12 + 1);
	if (!r->mesh.vertices)
		return fail(r, "out of memory");
	for (r->row = 0; r->row < element->count; r->row++)
		if (!read_vertex(r, element, place))
			return false;
	return true;
}

static bool add_triangle(ply_reader *r, const int32_t corner[3])
{
	if (r->mesh.triangle_count == r->triangle_capacity) {
		r->triangle_capacity = r->triangle_capacity ? 2 * r->triangle_capacity : 1024;
		int32_t *larger =
			r->triangle_capacity > INT32_MAX / 3 ? NULL : realloc(r->mesh.triangles, (size_t)r->triangle_capacity * 12);
		if (!larger)
			return fail(r, "out of memory, or more triangles than 32-bit numbers can count");
		r->mesh.triangles = larger;
	}
	memcpy(r->mesh.triangles + 3 * (int64_t)r->mesh.triangle_count++, corner, 12);
	return true;
}

// The polygon as a fan about its first corner.
static bool read_polygon(ply_reader *r, const ply_element *element, const ply_property *property)
{
	int64_t count = 0;
	if (!read_list_count(r, element, property, &count))
		return false;
	if (count < 3)
		return fail(r, "face %lld: has %lld corners; a face needs three", (long long)r->row, (long long)count);
	int32_t corner[3] = { 0, 0, 0 };
	for (int64_t i = 0; i < count; i++) {
		double value;
		if (!read_value(r, element, property->type, &value))
			return false;
		if (!(fabs(value) <= INT32_MAX) || value != floor(value))
			return fail(r, "face %lld: names vertex %.17g", (long long)r->row, value);
		if (i > 2)
			corner[1] = corner[2];
		corner[i < 2 ? i : 2] = (int32_t)value;
		if (i >= 2 && !add_triangle(r, corner))
			return false;
	}
	return true;
}

static bool read_faces(ply_reader *r, const ply_element *element)
{
	int list = -1;
	for (int i = 0; i < element->property_count; i++)
		if (strcmp(element->properties[i].name, "vertex_indices") == 0 ||
			strcmp(element->properties[i].name, "vertex_index") == 0)
			list = i;
	if (list < 0 || element->properties[list].count_type == PLY_NO_TYPE)
		return fail(r, "the element face has no list vertex_indices");
	for (r->row = 0; r->row < element->count; r->row++)
		for (int i = 0; i < element->property_count; i++)
			if (!(i == list ? read_polygon : skip_property)(r, element, &element->properties[i]))
				return false;
	return true;
}

static bool skip_element(ply_reader *r, const ply_element *element)
{
	for (r->row = 0; r->row < element->count && element->property_count > 0; r->row++)
		for (int i = 0; i < element->property_count; i++)
			if (!skip_property(r, element, &element->properties[i]))
				return false;
	return true;
}

static bool read_elements(ply_reader *r)
{
	for (int i = 0; i < r->element_count; i++) {
		const ply_element *element = &r->elements[i];
		bool sound;
		if (strcmp(element->name, "vertex") == 0 && !r->mesh.vertices)
			sound = read_vertices(r, element);
		else if (strcmp(element->name, "face") == 0 && !r->mesh.triangles)
			sound = read_faces(r, element);
		else
			sound = skip_element(r, element);
		if (!sound)
			return false;
	}
	return true;
}

bool sim_read_ply(const char *bytes, size_t size, sim_mesh *mesh, char *error, size_t error_size)
{
	memset(mesh, 0, sizeof *mesh);
	ply_reader *r = calloc(1, sizeof *r);
	if (!r) {
		snprintf(error, error_size, "out of memory");
		return false;
	}
	r->at = bytes;
	r->end = bytes + size;
	r->error = error;
	r->error_size = error_size;
	const bool done = parse_header(r) && read_elements(r);
	if (done)
		*mesh = r->mesh;
	else
		sim_mesh_free(&r->mesh);
	free(r);
	return done;
}
