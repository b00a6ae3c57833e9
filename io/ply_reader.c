// Header and values of PLY files. See ply_reader.h.
#include "io/ply_reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const int TYPE_SIZE[] = { 1, 1, 2, 2, 4, 4, 4, 8, 0 };

io_ply_reader *io_ply_make_reader(const char *bytes, size_t size, sim_error *error)
{
	io_ply_reader *r = calloc(1, sizeof *r);
	if (!r) {
		sim_fail(error, "out of memory");
		return NULL;
	}
	r->start = r->at = bytes;
	r->end = bytes + size;
	r->error = error;
	return r;
}

/// Put the place before a message: its line, or its byte behind the header of a binary file.
/// Returns false.
static bool add_place(const io_ply_reader *r)
{
	if (!r->place) {
		return false;
	}
	if (r->body && r->place >= r->body && r->format != IO_PLY_ASCII) {
		return sim_fail_in(r->error, "byte %lld: ", (long long)(r->place - r->start));
	}
	int64_t line = 1;
	for (const char *c = r->start; c < r->place; c++) {
		line += *c == '\n';
	}
	return sim_fail_in(r->error, "line %lld: ", (long long)line);
}

bool io_ply_fail(io_ply_reader *r, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	sim_fail_list(r->error, format, arguments);
	va_end(arguments);
	return add_place(r);
}

// ---- Header ----

static io_ply_type type_of(const char *word)
{
	static const char *const names[][2] = { { "char", "int8" }, { "uchar", "uint8" }, { "short", "int16" },
		{ "ushort", "uint16" }, { "int", "int32" }, { "uint", "uint32" }, { "float", "float32" }, { "double", "float64" } };
	for (int i = 0; i < IO_PLY_NO_TYPE; i++) {
		if (strcmp(word, names[i][0]) == 0 || strcmp(word, names[i][1]) == 0)
			return (io_ply_type)i;
	}
	return IO_PLY_NO_TYPE;
}

/// Words of one line of the header, at most five; returns their number, or -1 at the end of the
/// file.
static int header_words(io_ply_reader *r, char words[5][IO_PLY_WORD_SIZE])
{
	r->place = r->at;
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
		for (; r->at < stop && *r->at != ' ' && *r->at != '\t' && *r->at != '\r'; r->at++) {
			if (length < IO_PLY_WORD_SIZE - 1)
				words[count][length++] = *r->at;
		}
		words[count++][length] = '\0';
	}
	r->at = stop + 1;
	return count;
}

static bool parse_format(io_ply_reader *r, const char *word)
{
	static const char *const names[] = { "ascii", "binary_little_endian", "binary_big_endian" };
	for (int i = 0; i < 3; i++) {
		if (strcmp(word, names[i]) == 0) {
			r->format = (io_ply_format)i;
			return true;
		}
	}
	return io_ply_fail(r, "the header names an unknown format: %s", word);
}

static bool parse_element(io_ply_reader *r, const char *name, const char *number)
{
	char *end;
	const long long count = strtoll(number, &end, 10);
	if (*end || end == number || count < 0 || count > INT32_MAX)
		return io_ply_fail(r, "the header has a bad number of elements: element %s %s", name, number);
	if (r->element_count == IO_PLY_ELEMENTS_MAX)
		return io_ply_fail(r, "the header has more than %d kinds of elements", IO_PLY_ELEMENTS_MAX);
	io_ply_element *element = &r->elements[r->element_count++];
	strcpy(element->name, name);
	element->place = r->place;
	element->count = count;
	return true;
}

static bool parse_property(io_ply_reader *r, int count, char words[5][IO_PLY_WORD_SIZE])
{
	if (r->element_count == 0)
		return io_ply_fail(r, "the header has a property before any element");
	io_ply_element *element = &r->elements[r->element_count - 1];
	if (element->property_count == IO_PLY_PROPERTIES_MAX)
		return io_ply_fail(r, "the header gives the element %s more than %d properties", element->name, IO_PLY_PROPERTIES_MAX);
	io_ply_property *property = &element->properties[element->property_count++];
	const bool list = strcmp(words[1], "list") == 0;
	if (count != (list ? 5 : 3))
		return io_ply_fail(r, "the header has an incomplete property in the element %s", element->name);
	property->type = type_of(words[list ? 3 : 1]);
	property->count_type = list ? type_of(words[2]) : IO_PLY_NO_TYPE;
	strcpy(property->name, words[count - 1]);
	if (property->type == IO_PLY_NO_TYPE || (list && property->count_type == IO_PLY_NO_TYPE))
		return io_ply_fail(r, "the header gives the property %s an unknown type", property->name);
	return true;
}

bool io_ply_read_header(io_ply_reader *r)
{
	char words[5][IO_PLY_WORD_SIZE];
	if (header_words(r, words) != 1 || strcmp(words[0], "ply") != 0) {
		r->place = NULL;
		return io_ply_fail(r, "is not a PLY file: it does not begin with a line \"ply\"");
	}
	bool formatted = false;
	for (;;) {
		const int count = header_words(r, words);
		if (count < 0)
			return io_ply_fail(r, "the header has no end_header");
		bool sound = true;
		if (count == 0 || strcmp(words[0], "comment") == 0 || strcmp(words[0], "obj_info") == 0)
			continue;
		if (strcmp(words[0], "end_header") == 0) {
			if (!formatted)
				return io_ply_fail(r, "the header has no format");
			r->body = r->at;
			r->place = NULL;
			return true;
		}
		if (strcmp(words[0], "format") == 0 && count >= 2)
			sound = formatted = parse_format(r, words[1]);
		else if (strcmp(words[0], "element") == 0 && count == 3)
			sound = parse_element(r, words[1], words[2]);
		else if (strcmp(words[0], "property") == 0 && count >= 3)
			sound = parse_property(r, count, words);
		else
			sound = io_ply_fail(r, "the header has a line that is not understood: %s", words[0]);
		if (!sound)
			return false;
	}
}

// ---- Values ----

static bool ends_early(io_ply_reader *r, const io_ply_element *element)
{
	r->place = r->end;
	return io_ply_fail(r, "ends too early, in %s %lld of %lld", element->name, (long long)r->row, (long long)element->count);
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static bool read_text_value(io_ply_reader *r, const io_ply_element *element, io_ply_type type, double *value)
{
	while (r->at < r->end && is_blank(*r->at))
		r->at++;
	if (r->at == r->end)
		return ends_early(r, element);
	r->place = r->at;
	char *end;
	// Straight to the nearest float: by way of double it could be rounded twice.
	*value = type == IO_PLY_FLOAT && !r->as_doubles ? (double)strtof(r->at, &end) : strtod(r->at, &end);
	if (end < r->end && *end == '\0')
		return io_ply_fail(r, "holds a zero byte, which no text does: the file is damaged");
	if (end == r->at || (end < r->end && !is_blank(*end)))
		return io_ply_fail(r, "%s %lld: this is not a number: %.*s", element->name, (long long)r->row,
			(int)strcspn(r->at, " \t\r\n") % IO_PLY_WORD_SIZE, r->at);
	r->at = end;
	return true;
}

static bool read_binary_value(io_ply_reader *r, const io_ply_element *element, io_ply_type type, double *value)
{
	const int size = TYPE_SIZE[type];
	if (r->end - r->at < size)
		return ends_early(r, element);
	r->place = r->at;
	uint64_t bits = 0;
	for (int i = 0; i < size; i++)
		bits |= (uint64_t)(unsigned char)r->at[i] << 8 * (r->format == IO_PLY_BIG ? size - 1 - i : i);
	r->at += size;
	const uint32_t low = (uint32_t)bits;
	float number;
	switch (type) {
	case IO_PLY_INT8: *value = (double)(int8_t)low; break;
	case IO_PLY_INT16: *value = (double)(int16_t)low; break;
	case IO_PLY_INT32: *value = (double)(int32_t)low; break;
	case IO_PLY_FLOAT:
		memcpy(&number, &low, sizeof number);
		*value = (double)number;
		break;
	case IO_PLY_DOUBLE: memcpy(value, &bits, sizeof bits); break;
	default: *value = (double)low; break;
	}
	return true;
}

bool io_ply_read_value(io_ply_reader *r, const io_ply_element *element, io_ply_type type, double *value)
{
	return (r->format == IO_PLY_ASCII ? read_text_value : read_binary_value)(r, element, type, value);
}

bool io_ply_read_list_count(io_ply_reader *r, const io_ply_element *element, const io_ply_property *property, int64_t *count)
{
	double number;
	if (!io_ply_read_value(r, element, property->count_type, &number))
		return false;
	if (!(number >= 0 && number <= INT32_MAX) || number != floor(number))
		return io_ply_fail(r, "%s %lld: a list of %g elements", element->name, (long long)r->row, number);
	*count = (int64_t)number;
	return true;
}

bool io_ply_skip_property(io_ply_reader *r, const io_ply_element *element, const io_ply_property *property)
{
	int64_t count = 1;
	if (property->count_type != IO_PLY_NO_TYPE && !io_ply_read_list_count(r, element, property, &count))
		return false;
	double value;
	for (int64_t i = 0; i < count; i++) {
		if (!io_ply_read_value(r, element, property->type, &value))
			return false;
	}
	return true;
}

bool io_ply_skip_element(io_ply_reader *r, const io_ply_element *element)
{
	for (r->row = 0; r->row < element->count && element->property_count > 0; r->row++) {
		for (int i = 0; i < element->property_count; i++) {
			if (!io_ply_skip_property(r, element, &element->properties[i]))
				return false;
		}
	}
	return true;
}

bool io_ply_check_room(io_ply_reader *r, const io_ply_element *element, const char *name)
{
	if (element->property_count == 0 || element->count <= (r->end - r->at) / element->property_count)
		return true;
	r->place = r->end;
	return io_ply_fail(r, "ends too early: %lld %s do not fit in it", (long long)element->count, name);
}
