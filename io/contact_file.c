// Files of contact points: see contact_file.h.
#include "io/contact_file.h"

#include "io/input_file.h"
#include "io/output_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char NAMES[] = "kind,x,y,z,nx,ny,nz,depth";
static const char *const FIELDS[] = { "x", "y", "z", "nx", "ny", "nz", "depth" };
enum { NUMBERS = 7 };

bool io_save_contacts(const char *path, const sim_contact_points *points, sim_error *error)
{
	io_output_file file;
	if (!io_output_open(&file, path, error))
		return false;
	fprintf(file.stream, "%s\n", NAMES);
	for (int64_t i = 0; i < points->count; i++) {
		const sim_contact_point *c = &points->data[i];
		fprintf(file.stream, "%s,%.9g,%.9g,%.9g,%.6g,%.6g,%.6g,%.6g\n", sim_contact_word(c->kind), c->point[0], c->point[1],
			c->point[2], c->normal[0], c->normal[1], c->normal[2], c->depth);
	}
	return io_output_commit(&file, error);
}

// ---- Reading ----

static bool read_kind(char **at, sim_contact_kind *kind)
{
	for (int k = 0; k < SIM_CONTACT_KINDS; k++) {
		const char *word = sim_contact_word((sim_contact_kind)k);
		if (strncmp(*at, word, strlen(word)) != 0)
			continue;
		*kind = (sim_contact_kind)k;
		*at += strlen(word);
		return true;
	}
	return false;
}

/// A line after the first one.
static bool read_point(char *at, int64_t line, sim_contact_point *point, sim_error *error)
{
	double numbers[NUMBERS];
	if (!read_kind(&at, &point->kind))
		return sim_fail(error, "line %lld: kind: is none of impact, cloth, sphere", (long long)line);
	for (int k = 0; k < NUMBERS; k++) {
		char *end = at + 1;
		numbers[k] = *at == ',' ? strtod(at + 1, &end) : NAN;
		if (!isfinite(numbers[k]) || end == at + 1)
			return sim_fail(error, "line %lld: %s: is no finite number", (long long)line, FIELDS[k]);
		at = end;
	}
	memcpy(point->point, numbers, sizeof point->point);
	memcpy(point->normal, numbers + 3, sizeof point->normal);
	point->depth = numbers[6];
	return *at == '\0' || sim_fail(error, "line %lld: has more than %d fields", (long long)line, NUMBERS + 1);
}

/// All lines; the text is overwritten. Each must have its end: a cut file would be read as another.
static bool read_lines(char *text, const char *text_end, sim_contact_points *points, sim_error *error)
{
	int64_t line = 1;
	for (char *end; text < text_end; text = end + 1, line++) {
		sim_contact_point point;
		end = memchr(text, '\n', (size_t)(text_end - text));
		if (!end)
			return sim_fail(error, "line %lld: has no end: the file was cut off", (long long)line);
		*end = '\0';
		if (line == 1 && strcmp(text, NAMES) != 0)
			return sim_fail(error, "line 1: must be %s", NAMES);
		if (line > 1 && !read_point(text, line, &point, error))
			return false;
		if (line > 1 && !sim_add_contact_point(points, &point))
			return sim_fail(error, "out of memory");
	}
	return true;
}

bool io_load_contacts(const char *path, sim_contact_points *points, sim_error *error)
{
	io_input input;
	size_t size;
	if (!io_open_input(&input, path, error))
		return false;
	char *text = io_take_rest(&input, &size, error);
	io_close_input(&input);
	const bool read = text && read_lines(text, text + size, points, error);
	free(text);
	if (!read)
		sim_free_contact_points(points);
	return read;
}
