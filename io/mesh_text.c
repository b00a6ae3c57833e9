// Lines, words and growing meshes. See mesh_text.h.
#include "io/mesh_text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool io_mesh_text_open(io_mesh_text *text, char *bytes, size_t size, sim_error *error)
{
	*text = (io_mesh_text){ .at = bytes, .end = bytes + size, .rest = bytes + size, .line = 1, .error = error };
	const char *zero = memchr(bytes, 0, size);
	if (zero) {
		for (const char *c = bytes; c < zero; c++)
			text->line += *c == '\n';
		return io_mesh_text_fail(text, "holds a zero byte, which no text does: the file is damaged");
	}
	if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
		text->at += 3;
	return true;
}

bool io_mesh_text_fail(io_mesh_text *text, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	sim_fail_list(text->error, format, arguments);
	va_end(arguments);
	return sim_fail_in(text->error, "line %lld: ", (long long)text->line);
}

// ---- Lines and words ----

/// Find the end of the line that starts at *at, put a zero there and let *at go on to the next one.
/// Lines end as on Unix, Windows or old Macintoshes. Where joined is true lines that end in a
/// backslash become one.
static void cut_line(io_mesh_text *text, bool joined)
{
	char *line = text->at, *end = line;
	for (;;) {
		end += strcspn(end, "\r\n");
		char *next = end + (end[0] == '\r' && end[1] == '\n' ? 2 : end < text->end);
		text->lines++;
		if (joined && next > end && end > line && end[-1] == '\\') {
			memset(end - 1, ' ', (size_t)(next - end) + 1);
			end = next;
			continue;
		}
		*end = '\0';
		text->at = next;
		return;
	}
}

bool io_mesh_text_next_line(io_mesh_text *text, bool joined)
{
	if (text->at == text->end)
		return false;
	text->line = text->lines + 1;
	char *line = text->at;
	cut_line(text, joined);
	line[strcspn(line, "#")] = '\0';
	text->rest = line;
	return true;
}

char *io_mesh_text_word(io_mesh_text *text)
{
	char *word = text->rest + strspn(text->rest, " \t\v\f");
	if (!*word)
		return NULL;
	char *end = word + strcspn(word, " \t\v\f");
	text->rest = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

bool io_mesh_text_number(const char *word, double *value)
{
	char *end;
	*value = strtod(word, &end);
	return end > word && *end == '\0';
}

// ---- The mesh ----

/// Make room for one more vertex.
static bool reserve(io_mesh_text *text)
{
	if (text->mesh.vertex_count < text->vertex_capacity)
		return true;
	if (text->vertex_capacity > INT32_MAX / 4)
		return io_mesh_text_fail(text, "more elements than 32-bit numbers can count");
	const int32_t larger = text->vertex_capacity ? 2 * text->vertex_capacity : 1024;
	double *memory = realloc(text->mesh.doubles, (size_t)larger * 3 * sizeof *memory);
	if (!memory)
		return io_mesh_text_fail(text, "out of memory");
	text->mesh.doubles = memory;
	text->vertex_capacity = larger;
	return true;
}

bool io_mesh_text_add_vertex(io_mesh_text *text, const double vertex[3])
{
	sim_mesh *mesh = &text->mesh;
	for (int axis = 0; axis < 3; axis++) {
		if (!isfinite(vertex[axis]))
			return io_mesh_text_fail(
				text, IO_UNFINITE, (long long)mesh->vertex_count, "xyz"[axis], io_unfinite_word(vertex[axis]));
	}
	if (!reserve(text))
		return false;
	memcpy(mesh->doubles + 3 * (size_t)mesh->vertex_count++, vertex, 3 * sizeof *vertex);
	return true;
}

bool io_mesh_text_add_corner(io_mesh_text *text, int32_t vertex)
{
	const char *reason = io_add_corner(&text->faces, vertex);
	return !reason || io_mesh_text_fail(text, "%s", reason);
}

bool io_mesh_text_end_face(io_mesh_text *text)
{
	const char *reason = io_end_face(&text->faces);
	return !reason || io_mesh_text_fail(text, "%s", reason);
}

bool io_mesh_text_read_vertex(io_mesh_text *text)
{
	double vertex[3];
	for (int axis = 0; axis < 3; axis++) {
		const char *word = io_mesh_text_word(text);
		if (!word)
			return io_mesh_text_fail(text, "a vertex needs three coordinates");
		if (!io_mesh_text_number(word, &vertex[axis]))
			return io_mesh_text_fail(text, "this coordinate is not a number: %.40s", word);
	}
	return io_mesh_text_add_vertex(text, vertex);
}

bool io_mesh_text_close(io_mesh_text *text, bool sound, sim_mesh *mesh)
{
	if (sound && (!io_take_faces(&text->faces, &text->mesh) || !sim_mesh_round(&text->mesh))) {
		sim_fail(text->error, "out of memory");
		sound = false;
	}
	if (!sound) {
		io_free_faces(&text->faces);
		sim_mesh_free(&text->mesh);
	}
	*mesh = text->mesh;
	return sound;
}
