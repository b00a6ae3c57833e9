// Spheres from and to CSV: one in a line, x, y, z and its radius, or the columns that a header line
// names. Columns are parted by commas, else semicolons, else blanks; the first line decides. Lines
// that are empty or begin with # are skipped.
#include "io/sphere_parts.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { COLUMNS_MAX = 256 };

typedef struct csv_reader {
	char *at; // of the next line
	const io_sphere_reading *reading;
	io_sphere_set *spheres;
	int64_t capacity;
	int64_t line;
	char separator;           // comma, semicolon, or a blank for any number of blanks
	int column_count;         // of every line
	int column[4];            // of x, y, z, radius; -1: there is none
	char *cells[COLUMNS_MAX]; // of the present line
	sim_error *error;
} csv_reader;

__attribute__((format(printf, 2, 3))) static bool fail(csv_reader *r, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	sim_fail_list(r->error, format, arguments);
	va_end(arguments);
	return sim_fail_in(r->error, "line %lld: ", (long long)r->line);
}

// ---- Lines and cells ----

/// The next line that holds anything, ended by a zero; NULL at the end.
static char *next_line(csv_reader *r)
{
	while (*r->at) {
		char *line = r->at + strspn(r->at, " \t");
		const size_t length = strcspn(r->at, "\r\n");
		char *end = r->at + length;
		r->line++;
		r->at = end + (end[0] == '\r' && end[1] == '\n' ? 2 : end[0] != '\0');
		*end = '\0';
		if (line < end && *line != '#')
			return line;
	}
	return NULL;
}

/// Split a line into r->cells, without blanks and quotation marks about them. Returns their number;
/// cells behind the last that there is room for are not looked at.
static int split(csv_reader *r, char *line)
{
	const bool blanks = r->separator == ' ';
	const char separator[] = { r->separator, blanks ? '\t' : '\0', '\0' };
	int count = 0;
	for (;;) {
		line += strspn(line, " \t");
		const bool quoted = *line == '"';
		char *cell = line + quoted, *end = cell + strcspn(cell, quoted ? "\"" : separator);
		line = end + (quoted && *end);
		line += strcspn(line, separator);
		while (!quoted && end > cell && strchr(" \t", end[-1]))
			end--;
		const bool last = blanks ? line[strspn(line, " \t")] == '\0' : *line == '\0';
		line += *line != '\0';
		*end = '\0';
		r->cells[count++] = cell;
		if (last || count == COLUMNS_MAX)
			return count;
	}
}

/// A number and nothing else, to the nearest float unless doubles are wanted: by way of double it
/// could be rounded twice.
static bool parse_number(const csv_reader *r, const char *cell, double *value)
{
	char *end;
	*value = r->reading->wide ? strtod(cell, &end) : (double)strtof(cell, &end);
	return end > cell && *end == '\0';
}

// ---- The first line ----

/// The meaning of each column, by the names that programs give them; ParaView's are Points:0 and so
/// on.
static bool read_names(csv_reader *r)
{
	static const char *const names[][4] = { { "x", "points:0", "points_0" }, { "y", "points:1", "points_1" },
		{ "z", "points:2", "points_2" }, { "radius", "r", "scale" } };
	for (int c = 0; c < r->column_count; c++) {
		for (int k = 0; k < 4; k++) {
			for (int i = 0; i < 4 && names[k][i]; i++) {
				if (strcasecmp(r->cells[c], names[k][i]) != 0)
					continue;
				if (r->column[k] >= 0)
					return fail(r, "names two columns %s", names[k][0]);
				r->column[k] = c;
			}
		}
	}
	for (int k = 0; k < 3; k++) {
		if (r->column[k] < 0)
			return fail(r, "names no column %s; columns x, y, z and r are wanted", names[k][0]);
	}
	return true;
}

/// Does the line name columns? Else it is the first sphere: then three or four columns are known by
/// their places.
static bool read_first_line(csv_reader *r, bool *names)
{
	double value;
	*names = true;
	for (int c = 0; c < r->column_count; c++)
		*names = *names && !parse_number(r, r->cells[c], &value);
	for (int k = 0; k < 4; k++)
		r->column[k] = *names || k >= r->column_count ? -1 : k;
	if (!*names && (r->column_count < 3 || r->column_count > 4))
		return fail(r, "has %d column%s; x, y, z and perhaps the radius are wanted, or a line before that names the columns",
			r->column_count, r->column_count == 1 ? "" : "s");
	if (*names && !read_names(r))
		return false;
	r->spheres->has_radii = r->column[3] >= 0;
	if (!r->spheres->has_radii && r->reading->default_radius < 0)
		return fail(r, "has no radii: there is no column r");
	return true;
}

// ---- Spheres ----

static bool reserve(csv_reader *r)
{
	if (r->spheres->count < r->capacity)
		return true;
	if (r->spheres->count == CAROM_MAX_SPHERES)
		return fail(r, "is one sphere too many; at most %d can be read", CAROM_MAX_SPHERES);
	r->capacity = r->capacity ? 2 * r->capacity : 1024;
	if (r->capacity > CAROM_MAX_SPHERES)
		r->capacity = CAROM_MAX_SPHERES;
	void *larger = realloc(r->spheres->values, (size_t)r->capacity * 4 * (r->reading->wide ? sizeof(double) : sizeof(float)));
	if (!larger)
		return fail(r, "out of memory");
	r->spheres->values = larger;
	return true;
}

static bool read_sphere(csv_reader *r)
{
	double xyzr[4] = { 0, 0, 0, r->reading->default_radius };
	for (int k = 0; k < 4; k++) {
		if (r->column[k] < 0)
			continue;
		const char *cell = r->cells[r->column[k]];
		if (!parse_number(r, cell, &xyzr[k]))
			return fail(r, "this is not a number: %.40s", cell);
	}
	if (!reserve(r))
		return false;
	const char *wrong = io_put_sphere(r->spheres, r->spheres->count++, xyzr);
	return !wrong || fail(r, "%s", wrong);
}

bool io_read_sphere_csv(char *text, size_t size, const io_sphere_reading *reading, io_sphere_set *spheres, sim_error *error)
{
	if (strlen(text) != size) {
		return sim_fail(error, "is not a file of spheres: it is neither SPHERES1 nor PLY nor text");
	}
	// the byte order mark that some programs put before UTF-8
	text += 3 * (strncmp(text, "\xef\xbb\xbf", 3) == 0);
	csv_reader r = { .at = text, .reading = reading, .spheres = spheres, .error = error };
	spheres->wide = reading->wide;
	for (char *line; (line = next_line(&r)) != NULL;) {
		if (!r.separator)
			r.separator = strchr(line, ',') ? ',' : strchr(line, ';') ? ';' : ' ';
		const int count = split(&r, line);
		if (!r.column_count) {
			r.column_count = count;
			bool names;
			if (!read_first_line(&r, &names))
				return false;
			if (names)
				continue;
		}
		if (count != r.column_count)
			return fail(&r, "has %d column%s; the first line has %d", count, count == 1 ? "" : "s", r.column_count);
		if (!read_sphere(&r))
			return false;
	}
	if (r.column_count)
		return true;
	return sim_fail(error, "holds no spheres");
}

void io_write_sphere_csv(FILE *stream, const io_sphere_set *spheres)
{
	fputs("x,y,z,r\n", stream);
	const int digits = spheres->wide ? 17 : 9;
	for (int64_t i = 0; i < spheres->count; i++) {
		double s[4];
		io_get_sphere(spheres, i, s);
		fprintf(stream, "%.*g,%.*g,%.*g,%.*g\n", digits, s[0], digits, s[1], digits, s[2], digits, s[3]);
	}
}
