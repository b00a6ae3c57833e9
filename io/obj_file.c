// Vertices and faces of OBJ files, in file order, with the line of each mistake. tinyobjloader is
// not used: it turns coordinates that it cannot read, "nan" and "inf" among them, into 0 and
// reports success.
#include "io/obj_file.h"

#include "io/mesh_text.h"

#include <stdlib.h>
#include <string.h>

// Corners that name vertices which come later in the file. The first line at fault is that of the
// first corner beyond the last vertex, so those corners are kept that are larger than all before.
typedef struct late_corner {
	int32_t vertex;
	int64_t line;
} late_corner;

typedef struct obj_reader {
	io_mesh_text text;
	late_corner *late; // vertices ascend
	int32_t late_count, late_capacity;
	// The materials of a file: numbers from 1 on in the order in which usemtl names them, 0 before.
	uint32_t material;
	int32_t material_capacity; // of the mesh's materials
	size_t names_size;         // of the mesh's names
} obj_reader;

// ---- Faces ----

static bool note_late_corner(obj_reader *r, int32_t vertex)
{
	if (vertex < r->text.mesh.vertex_count || (r->late_count > 0 && vertex <= r->late[r->late_count - 1].vertex))
		return true;
	if (r->late_count == r->late_capacity) {
		const int32_t larger = r->late_capacity ? 2 * r->late_capacity : 64;
		late_corner *memory = realloc(r->late, (size_t)larger * sizeof *memory);
		if (!memory)
			return io_mesh_text_fail(&r->text, "out of memory");
		r->late = memory;
		r->late_capacity = larger;
	}
	r->late[r->late_count++] = (late_corner){ vertex, r->text.line };
	return true;
}

/// Do all corners name vertices of the whole file?
static bool check_late_corners(obj_reader *r)
{
	const int32_t count = r->text.mesh.vertex_count;
	for (int32_t i = 0; i < r->late_count; i++) {
		if (r->late[i].vertex < count)
			continue;
		r->text.line = r->late[i].line;
		return io_mesh_text_fail(
			&r->text, "this face names vertex %lld; the file has %d", (long long)r->late[i].vertex + 1, (int)count);
	}
	return true;
}

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

static bool read_face(obj_reader *r)
{
	int32_t vertex = 0;
	for (const char *word; (word = io_mesh_text_word(&r->text));) {
		if (!read_corner(&r->text, word, &vertex) || !note_late_corner(r, vertex) || !io_mesh_text_add_corner(&r->text, vertex))
			return false;
	}
	if (r->text.faces.corners < 3)
		return io_mesh_text_fail(&r->text, "a face needs three corners");
	return io_mesh_text_end_face(&r->text);
}

// ---- Materials ----

/// Give the triangles from first on the present material. Without any usemtl nothing is kept.
static bool mark_triangles(obj_reader *r, int32_t first)
{
	sim_mesh *mesh = &r->text.mesh;
	const io_face_list *faces = &r->text.faces;
	if (mesh->material_count == 0)
		return true;
	if (r->material_capacity < faces->capacity) {
		uint32_t *larger = realloc(mesh->materials, (size_t)faces->capacity * sizeof *larger);
		if (!larger)
			return io_mesh_text_fail(&r->text, "out of memory");
		mesh->materials = larger;
		memset(larger + r->material_capacity, 0, (size_t)(faces->capacity - r->material_capacity) * sizeof *larger);
		r->material_capacity = faces->capacity;
	}
	for (int32_t i = first; i < faces->count; i++)
		mesh->materials[i] = r->material;
	return true;
}

static bool use_material(obj_reader *r)
{
	sim_mesh *mesh = &r->text.mesh;
	const char *word = io_mesh_text_word(&r->text);
	if (!word)
		return true;
	const char *name = mesh->material_names;
	for (r->material = 1; r->material <= (uint32_t)mesh->material_count; r->material++, name += strlen(name) + 1) {
		if (strcmp(name, word) == 0)
			return true;
	}
	const size_t more = strlen(word) + 1;
	char *larger = realloc(mesh->material_names, r->names_size + more);
	if (!larger)
		return io_mesh_text_fail(&r->text, "out of memory");
	memcpy(larger + r->names_size, word, more);
	mesh->material_names = larger;
	r->names_size += more;
	mesh->material_count++;
	return true;
}

static bool read_line(obj_reader *r)
{
	const char *keyword = io_mesh_text_word(&r->text);
	const int32_t first = r->text.faces.count;
	if (keyword && strcmp(keyword, "v") == 0)
		return io_mesh_text_read_vertex(&r->text);
	if (keyword && strcmp(keyword, "f") == 0)
		return read_face(r) && mark_triangles(r, first);
	if (keyword && strcmp(keyword, "usemtl") == 0)
		return use_material(r);
	return true;
}

bool io_read_obj(char *bytes, size_t size, sim_mesh *mesh, sim_error *error)
{
	obj_reader r = { .late = NULL };
	bool sound = io_mesh_text_open(&r.text, bytes, size, error);
	while (sound && io_mesh_text_next_line(&r.text, true))
		sound = read_line(&r);
	sound = sound && check_late_corners(&r);
	free(r.late);
	return io_mesh_text_close(&r.text, sound, mesh);
}
