// Triangles of STL files (3D Systems, StereoLithography Interface Specification, 1989), in file
// order, with the place of each mistake. Assimp is not used for it: it takes a text that is cut
// behind a facet or within a number, and does not read numbers to the last digit.
#include "io/stl_file.h"

#include "io/mesh_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// A binary file: 80 bytes of anything, the number of triangles, then for each its normal, three
// corners (float[3] each) and an attribute (u16), all little endian.
enum { HEADER_BYTES = 84, TRIANGLE_BYTES = 50, NORMAL_BYTES = 12 };

static uint32_t get_u32(const char *bytes)
{
	uint32_t value = 0;
	for (int i = 0; i < 4; i++)
		value |= (uint32_t)(unsigned char)bytes[i] << 8 * i;
	return value;
}

static bool has_binary_size(const char *bytes, size_t size)
{
	return size >= HEADER_BYTES && size - HEADER_BYTES == (uint64_t)get_u32(bytes + 80) * TRIANGLE_BYTES;
}

/// A text begins with solid; but so do the 80 bytes of some binary files. Then the zeros in the
/// number of triangles tell, if not the size.
static bool is_text(const char *bytes, size_t size)
{
	const char *word = bytes + strspn(bytes, " \t\r\n");
	return strncasecmp(word, "solid", 5) == 0 && !has_binary_size(bytes, size) &&
		!memchr(bytes, 0, size < HEADER_BYTES ? size : HEADER_BYTES);
}

bool io_is_stl(const char *bytes, size_t size) { return is_text(bytes, size) || has_binary_size(bytes, size); }

// ---- Binary ----

static bool fail_at(sim_error *error, size_t byte, const char *what, uint32_t number, uint32_t count)
{
	return sim_fail(error, "byte %zu: %s %u of %u", byte, what, (unsigned)number, (unsigned)count);
}

static bool read_binary(const char *bytes, size_t size, sim_mesh *mesh, sim_error *error)
{
	if (size < HEADER_BYTES) {
		return sim_fail(error, "byte %zu: ends too early, in its header of %d bytes", size, HEADER_BYTES);
	}
	const uint32_t count = get_u32(bytes + 80);
	const uint64_t there = (size - HEADER_BYTES) / TRIANGLE_BYTES;
	if (there < count)
		return fail_at(error, size, "ends too early, in triangle", (uint32_t)there, count);
	if (!has_binary_size(bytes, size))
		return fail_at(error, HEADER_BYTES + (size_t)count * TRIANGLE_BYTES, "goes on behind triangle", count, count);
	if (count > INT32_MAX / 9) {
		return sim_fail(error, "holds more triangles than 32-bit numbers can count");
	}
	mesh->vertices = malloc((size_t)count * 36 + 1);
	mesh->triangles = malloc((size_t)count * 12 + 1);
	if (!mesh->vertices || !mesh->triangles) {
		sim_mesh_free(mesh);
		return sim_fail(error, "out of memory");
	}
	mesh->triangle_count = (int32_t)count;
	mesh->vertex_count = 3 * mesh->triangle_count;
	for (int32_t v = 0; v < mesh->vertex_count; v++) {
		const char *from = bytes + HEADER_BYTES + (size_t)(v / 3) * TRIANGLE_BYTES + NORMAL_BYTES + (size_t)(v % 3) * 12;
		for (int axis = 0; axis < 3; axis++) {
			const uint32_t bits = get_u32(from + 4 * axis);
			float *value = &mesh->vertices[3 * (size_t)v + (size_t)axis];
			memcpy(value, &bits, sizeof bits);
			if (isfinite(*value))
				continue;
			sim_fail(error, "byte %zu: triangle %d: %c of corner %d is %s", (size_t)(from - bytes) + 4 * (size_t)axis, v / 3,
				"xyz"[axis], v % 3, io_unfinite_word((double)*value));
			sim_mesh_free(mesh);
			return false;
		}
		mesh->triangles[v] = v;
	}
	return true;
}

// ---- Text ----

/// The next word, in whatever line. NULL at the end of the text.
static const char *next_word(io_mesh_text *text)
{
	for (;;) {
		const char *word = io_mesh_text_word(text);
		if (word || !io_mesh_text_next_line(text, false))
			return word;
	}
}

static bool expect(io_mesh_text *text, const char *wanted)
{
	const char *word = next_word(text);
	if (!word)
		return io_mesh_text_fail(text, "ends too early, where %s must stand", wanted);
	return strcasecmp(word, wanted) == 0 || io_mesh_text_fail(text, "%s must stand here, not: %.40s", wanted, word);
}

static bool read_numbers(io_mesh_text *text, double values[3])
{
	for (int i = 0; i < 3; i++) {
		const char *word = next_word(text);
		if (!word)
			return io_mesh_text_fail(text, "ends too early, where a number must stand");
		if (!io_mesh_text_number(word, &values[i]))
			return io_mesh_text_fail(text, "this is not a number: %.40s", word);
	}
	return true;
}

/// The part behind the word facet.
static bool read_facet(io_mesh_text *text)
{
	double values[3];
	if (!expect(text, "normal") || !read_numbers(text, values) || !expect(text, "outer") || !expect(text, "loop"))
		return false;
	for (int k = 0; k < 3; k++) {
		if (!expect(text, "vertex") || !read_numbers(text, values) || !io_mesh_text_add_vertex(text, values) ||
			!io_mesh_text_add_corner(text, text->mesh.vertex_count - 1))
			return false;
	}
	return expect(text, "endloop") && expect(text, "endfacet") && io_mesh_text_end_face(text);
}

/// One solid after the other, each with a name, or anything, behind its first and its last word.
static bool read_text(io_mesh_text *text)
{
	bool inside = false;
	for (const char *word; (word = next_word(text)) != NULL;) {
		if (inside && strcasecmp(word, "facet") == 0) {
			if (!read_facet(text))
				return false;
		} else if (strcasecmp(word, inside ? "endsolid" : "solid") == 0) {
			inside = !inside;
			text->rest += strlen(text->rest);
		} else {
			return io_mesh_text_fail(text, "%s must stand here, not: %.40s", inside ? "facet or endsolid" : "solid", word);
		}
	}
	return !inside || io_mesh_text_fail(text, "ends too early, where facet or endsolid must stand");
}

bool io_read_stl(char *bytes, size_t size, sim_mesh *mesh, sim_error *error)
{
	memset(mesh, 0, sizeof *mesh);
	if (!is_text(bytes, size))
		return read_binary(bytes, size, mesh, error);
	io_mesh_text text;
	const bool sound = io_mesh_text_open(&text, bytes, size, error) && read_text(&text);
	return io_mesh_text_close(&text, sound, mesh);
}
