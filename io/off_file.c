// Vertices and faces of OFF files (Geomview manual, 4.2.5: OFF files), in file order, with the line
// of each mistake:
//   [ST][C][N]OFF, then the numbers of vertices, faces and edges, then a line for each vertex and
//   each face; # begins a comment.
// Assimp is not used for it: it takes files that end anywhere behind their vertices, and gigabytes
// of memory for the claims of a header.
#include "io/off_file.h"

#include "io/mesh_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// How many numbers a line of a vertex may hold behind its coordinates.
typedef struct extra_numbers {
	int least, most;
} extra_numbers;

// ---- Header ----

// Parts of the keyword, in the order that they must have. Files that give vertices more than three
// coordinates are not read.
static const struct {
	const char *letters;
	extra_numbers numbers;
} parts[] = { { "ST", { 2, 2 } }, { "C", { 3, 4 } }, { "N", { 3, 3 } } };

/// Take the keyword off the start of a word and tell the numbers that it gives each vertex. Returns
/// where it ends, or NULL when it is none.
static const char *take_keyword(const char *word, extra_numbers *extra)
{
	*extra = (extra_numbers){ 0, 0 };
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		const size_t length = strlen(parts[i].letters);
		if (strncmp(word, parts[i].letters, length) != 0)
			continue;
		word += length;
		extra->least += parts[i].numbers.least;
		extra->most += parts[i].numbers.most;
	}
	return strncmp(word, "OFF", 3) == 0 ? word + 3 : NULL;
}

bool io_is_off(const char *bytes)
{
	extra_numbers extra;
	const char *end = take_keyword(bytes, &extra);
	return end && (isspace((unsigned char)*end) || isdigit((unsigned char)*end) || *end == '#' || *end == '\0');
}

/// The next word, in whatever line. NULL at the end of the text.
static char *word_of_header(io_mesh_text *text)
{
	for (;;) {
		char *word = io_mesh_text_word(text);
		if (word || !io_mesh_text_next_line(text, false))
			return word;
	}
}

static bool read_count(io_mesh_text *text, const char *word, const char *what, int64_t *count)
{
	if (!word)
		return io_mesh_text_fail(text, "ends before the number of %s", what);
	char *end;
	*count = strtoll(word, &end, 10);
	if (end == word || *end || *count < 0 || *count > INT32_MAX)
		return io_mesh_text_fail(text, "this is not a number of %s: %.40s", what, word);
	return true;
}

/// Can so many lines follow? Their memory is asked for as they are read, so this is for a message
/// that tells of a damaged count. It leaves rows that are a little too short to those who can name
/// them.
static bool has_room(io_mesh_text *text, int64_t vertices, int64_t faces)
{
	static const int least_row = 4;
	if (vertices + faces <= (text->end - text->at) / least_row)
		return true;
	return io_mesh_text_fail(
		text, "ends too early: %lld vertices and %lld faces do not fit in it", (long long)vertices, (long long)faces);
}

static bool read_header(io_mesh_text *text, extra_numbers *extra, int64_t *vertices, int64_t *faces)
{
	const char *word = word_of_header(text);
	const char *behind = word ? take_keyword(word, extra) : NULL;
	if (!behind || (*behind && !isdigit((unsigned char)*behind)))
		return io_mesh_text_fail(text,
			"is not an OFF file with three coordinates a vertex: it does not begin with OFF, COFF, NOFF, "
			"CNOFF or one of these with ST before it");
	// Some programs leave out the blank or the end of the line behind the keyword.
	word = *behind ? behind : word_of_header(text);
	if (word && strcmp(word, "BINARY") == 0)
		return io_mesh_text_fail(text, "is a binary OFF file; only OFF files in text are read");
	int64_t edges; // not used by any program, and not always there
	if (!read_count(text, word, "vertices", vertices) || !read_count(text, word_of_header(text), "faces", faces))
		return false;
	word = io_mesh_text_word(text);
	if (word && !read_count(text, word, "edges", &edges))
		return false;
	if (io_mesh_text_word(text))
		return io_mesh_text_fail(text, "holds more than the numbers of vertices, faces and edges");
	return has_room(text, *vertices, *faces);
}

// ---- Vertices and faces ----

/// The next line that holds anything; its first word is left to be taken.
static bool next_line(io_mesh_text *text)
{
	while (io_mesh_text_next_line(text, false)) {
		if (text->rest[strspn(text->rest, " \t\v\f")])
			return true;
	}
	return false;
}

/// The numbers behind the coordinates or the corners, which mean nothing here.
static bool skip_numbers(io_mesh_text *text, extra_numbers extra, const char *whose)
{
	int count = 0;
	double value;
	for (const char *word; (word = io_mesh_text_word(text)); count++) {
		if (!io_mesh_text_number(word, &value))
			return io_mesh_text_fail(text, "this is not a number: %.40s", word);
	}
	if (count >= extra.least && count <= extra.most)
		return true;
	char range[32];
	snprintf(range, sizeof range, extra.least < extra.most ? "%d to %d" : "%d", extra.least, extra.most);
	return io_mesh_text_fail(text, "%d numbers follow %s; by the first line of the file there are %s", count, whose, range);
}

static bool read_vertices(io_mesh_text *text, int64_t count, extra_numbers extra)
{
	for (int64_t i = 0; i < count; i++) {
		if (!next_line(text))
			return io_mesh_text_fail(text, "ends too early, behind vertex %lld of %lld", (long long)i, (long long)count);
		if (!io_mesh_text_read_vertex(text) || !skip_numbers(text, extra, "the coordinates"))
			return false;
	}
	return true;
}

static bool read_corner(io_mesh_text *text, int64_t face)
{
	const char *word = io_mesh_text_word(text);
	if (!word)
		return io_mesh_text_fail(text, "a face has fewer corners than its first number says");
	char *end;
	const long long number = strtoll(word, &end, 10);
	if (end == word || *end || number < INT32_MIN || number > INT32_MAX)
		return io_mesh_text_fail(text, "this corner of a face is not a vertex number: %.40s", word);
	if (text->mesh.vertex_count == 0)
		return io_mesh_text_fail(text, "face %lld names vertex %lld; the file has no vertices", (long long)face, number);
	if (number < 0 || number >= text->mesh.vertex_count)
		return io_mesh_text_fail(text, IO_NO_VERTEX, (long long)face, number, text->mesh.vertex_count - 1);
	if (end == text->end && io_mesh_text_maybe_cut(number, text->mesh.vertex_count))
		return io_mesh_text_fail(text, IO_MESH_TEXT_MAYBE_CUT, number);
	return io_mesh_text_add_corner(text, (int32_t)number);
}

/// Corners, then at most the four numbers of a colour.
static bool read_face(io_mesh_text *text, int64_t face)
{
	int64_t count = 0;
	if (!read_count(text, io_mesh_text_word(text), "corners", &count))
		return false;
	if (count < 3)
		return io_mesh_text_fail(text, "a face needs three corners");
	for (int64_t i = 0; i < count; i++) {
		if (!read_corner(text, face))
			return false;
	}
	return io_mesh_text_end_face(text) && skip_numbers(text, (extra_numbers){ 0, 4 }, "the corners");
}

static bool read_faces(io_mesh_text *text, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		if (!next_line(text))
			return io_mesh_text_fail(text, "ends too early, behind face %lld of %lld", (long long)i, (long long)count);
		if (!read_face(text, i))
			return false;
	}
	return !next_line(text) || io_mesh_text_fail(text, "goes on behind the last of its %lld faces", (long long)count);
}

bool io_read_off(char *bytes, size_t size, sim_mesh *mesh, sim_error *error)
{
	io_mesh_text text;
	extra_numbers extra = { 0, 0 };
	int64_t vertices = 0, faces = 0;
	const bool sound = io_mesh_text_open(&text, bytes, size, error) && read_header(&text, &extra, &vertices, &faces) &&
		read_vertices(&text, vertices, extra) && read_faces(&text, faces);
	return io_mesh_text_close(&text, sound, mesh);
}
