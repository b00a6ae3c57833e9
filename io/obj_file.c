// Vertices and faces of OBJ files, in file order, with the line of each mistake. tinyobjloader is
// not used: it turns coordinates that it cannot read, "nan" and "inf" among them, into 0 and
// reports success.
#include "io/obj_file.h"

#include "io/mesh_text.h"

#include <stdlib.h>
#include <string.h>

/// `7`, `7/1`, `7//2` or `7/1/2`; negative numbers count back from the last vertex so far.
static bool read_corner(io_mesh_text *text, const char *word, int32_t *vertex)
{
	char *end;
	const long long number = strtoll(word, &end, 10);
	if (end == word || (*end && *end != '/'))
		return io_mesh_text_fail(text, "this corner of a face is not a vertex number: %.40s", word);
	if (number == 0)
		return io_mesh_text_fail(text, "vertex number 0; OBJ files count from 1");
	if (number > INT32_MAX)
		return io_mesh_text_fail(text, "this vertex number is too large: %.40s", word);
	if (number < -(long long)text->mesh.vertex_count)
		return io_mesh_text_fail(text, "this vertex number counts back beyond the first vertex: %.40s", word);
	*vertex = (int32_t)(number > 0 ? number - 1 : text->mesh.vertex_count + number);
	return true;
}

/// A polygon as the fan of triangles about its first corner.
static bool read_face(io_mesh_text *text)
{
	int32_t corner[3];
	int count = 0;
	for (const char *word; (word = io_mesh_text_word(text)); count++) {
		if (count > 2)
			corner[1] = corner[2];
		if (!read_corner(text, word, &corner[count < 3 ? count : 2]))
			return false;
		if (count >= 2 && !io_mesh_text_add_triangle(text, corner))
			return false;
	}
	return count >= 3 || io_mesh_text_fail(text, "a face needs three corners");
}

// The materials of a file: numbers from 1 on in the order in which usemtl names them, 0 before.
typedef struct materials {
	uint32_t present;
	int32_t capacity;  // of the mesh's materials
	size_t names_size; // of the mesh's names
} materials;

/// Give the triangles from first on the present material. Without any usemtl nothing is kept.
static bool mark_triangles(io_mesh_text *text, materials *m, int32_t first)
{
	sim_mesh *mesh = &text->mesh;
	if (mesh->material_count == 0)
		return true;
	if (m->capacity < text->triangle_capacity) {
		uint32_t *larger = realloc(mesh->materials, (size_t)text->triangle_capacity * sizeof *larger);
		if (!larger)
			return io_mesh_text_fail(text, "out of memory");
		mesh->materials = larger;
		memset(larger + m->capacity, 0, (size_t)(text->triangle_capacity - m->capacity) * sizeof *larger);
		m->capacity = text->triangle_capacity;
	}
	for (int32_t i = first; i < mesh->triangle_count; i++)
		mesh->materials[i] = m->present;
	return true;
}

static bool use_material(io_mesh_text *text, materials *m)
{
	sim_mesh *mesh = &text->mesh;
	const char *word = io_mesh_text_word(text);
	if (!word)
		return true;
	const char *name = mesh->material_names;
	for (m->present = 1; m->present <= (uint32_t)mesh->material_count; m->present++, name += strlen(name) + 1) {
		if (strcmp(name, word) == 0)
			return true;
	}
	const size_t more = strlen(word) + 1;
	char *larger = realloc(mesh->material_names, m->names_size + more);
	if (!larger)
		return io_mesh_text_fail(text, "out of memory");
	memcpy(larger + m->names_size, word, more);
	mesh->material_names = larger;
	m->names_size += more;
	mesh->material_count++;
	return true;
}

static bool read_line(io_mesh_text *text, materials *m)
{
	const char *keyword = io_mesh_text_word(text);
	const int32_t first = text->mesh.triangle_count;
	if (keyword && strcmp(keyword, "v") == 0)
		return io_mesh_text_read_vertex(text);
	if (keyword && strcmp(keyword, "f") == 0)
		return read_face(text) && mark_triangles(text, m, first);
	if (keyword && strcmp(keyword, "usemtl") == 0)
		return use_material(text, m);
	return true;
}

bool io_read_obj(char *bytes, size_t size, sim_mesh *mesh, sim_error *error)
{
	io_mesh_text text;
	materials m = { 0 };
	bool sound = io_mesh_text_open(&text, bytes, size, error);
	while (sound && io_mesh_text_next_line(&text, true))
		sound = read_line(&text, &m);
	return io_mesh_text_close(&text, sound, mesh);
}
