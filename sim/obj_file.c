// Vertices and faces of OBJ files, in file order, with the line of each mistake.
// tinyobjloader is not used: it turns coordinates that it cannot read, "nan" and "inf" among them, into 0 and reports success.
#include "sim/obj_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct obj_reader {
	sim_mesh mesh;
	int32_t vertex_capacity;
	int32_t triangle_capacity;
	int64_t line;
	char *error;
	size_t error_size;
} obj_reader;

static bool fail(obj_reader *reader, const char *what, const char *word)
{
	snprintf(reader->error, reader->error_size, "line %lld: %s%s%.40s", (long long)reader->line, what, *word ? ": " : "", word);
	return false;
}

// Make room for one more element of 3 * 4 bytes.
static bool reserve(obj_reader *reader, void **array, int32_t count, int32_t *capacity)
{
	if (count < *capacity)
		return true;
	if (*capacity > INT32_MAX / 4)
		return fail(reader, "more elements than 32-bit numbers can count", "");
	const int32_t larger = *capacity ? 2 * *capacity : 1024;
	void *memory = realloc(*array, (size_t)larger * 12);
	if (!memory)
		return fail(reader, "out of memory", "");
	*array = memory;
	*capacity = larger;
	return true;
}

// The next word of a line, ended by a zero, or NULL.
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t\r");
	if (!*word)
		return NULL;
	char *end = word + strcspn(word, " \t\r");
	*rest = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

static bool read_vertex(obj_reader *reader, char *rest)
{
	sim_mesh *mesh = &reader->mesh;
	if (!reserve(reader, (void **)&mesh->vertices, mesh->vertex_count, &reader->vertex_capacity))
		return false;
	for (int axis = 0; axis < 3; axis++) {
		const char *word = next_word(&rest);
		if (!word)
			return fail(reader, "a vertex needs three coordinates", "");
		char *end;
		mesh->vertices[3 * mesh->vertex_count + axis] = strtof(word, &end);
		if (*end)
			return fail(reader, "this coordinate is not a number", word);
	}
	mesh->vertex_count++;
	return true;
}

// `7`, `7/1`, `7//2` or `7/1/2`; negative numbers count back from the last vertex so far.
static bool read_corner(obj_reader *reader, const char *word, int32_t *vertex)
{
	char *end;
	const long long number = strtoll(word, &end, 10);
	if (end == word || (*end && *end != '/'))
		return fail(reader, "this corner of a face is not a vertex number", word);
	if (number == 0)
		return fail(reader, "vertex number 0; OBJ files count from 1", "");
	if (number > INT32_MAX)
		return fail(reader, "this vertex number is too large", word);
	if (number < -(long long)reader->mesh.vertex_count)
		return fail(reader, "this vertex number counts back beyond the first vertex", word);
	*vertex = (int32_t)(number > 0 ? number - 1 : reader->mesh.vertex_count + number);
	return true;
}

// A polygon as the fan of triangles about its first corner.
static bool read_face(obj_reader *reader, char *rest)
{
	sim_mesh *mesh = &reader->mesh;
	int32_t corner[3];
	int count = 0;
	for (const char *word; (word = next_word(&rest)); count++) {
		if (count > 2)
			corner[1] = corner[2];
		if (!read_corner(reader, word, &corner[count < 3 ? count : 2]))
			return false;
		if (count < 2)
			continue;
		if (!reserve(reader, (void **)&mesh->triangles, mesh->triangle_count, &reader->triangle_capacity))
			return false;
		memcpy(mesh->triangles + 3 * (size_t)mesh->triangle_count++, corner, sizeof corner);
	}
	return count >= 3 || fail(reader, "a face needs three corners", "");
}

static bool read_line(obj_reader *reader, char *line)
{
	line[strcspn(line, "#")] = '\0';
	const char *keyword = next_word(&line);
	if (keyword && strcmp(keyword, "v") == 0)
		return read_vertex(reader, line);
	if (keyword && strcmp(keyword, "f") == 0)
		return read_face(reader, line);
	return true;
}

// The end of a line that starts here; lines that end in a backslash go on in the next one.
static char *end_of_line(char *line, int64_t *count)
{
	char *end = line;
	for (;;) {
		end += strcspn(end, "\n");
		if (!*end)
			return end;
		++*count;
		char *last = end;
		if (last > line && last[-1] == '\r')
			last--;
		if (last == line || last[-1] != '\\')
			return end;
		memset(last - 1, ' ', (size_t)(end - last) + 2);
	}
}

bool sim_read_obj(char *text, sim_mesh *mesh, char *error, size_t error_size)
{
	obj_reader reader = { .error = error, .error_size = error_size };
	int64_t lines_read = 0;
	bool sound = true;
	while (sound && *text) {
		reader.line = lines_read + 1;
		char *end = end_of_line(text, &lines_read);
		char *next = *end ? end + 1 : end;
		*end = '\0';
		sound = read_line(&reader, text);
		text = next;
	}
	if (!sound)
		sim_mesh_free(&reader.mesh);
	*mesh = reader.mesh;
	return sound;
}
