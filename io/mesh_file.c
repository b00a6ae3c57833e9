// Meshes from and to files: which format, welding, writing. OBJ, PLY, STL, OFF and baked meshes
// have readers of our own; assimp reads the rest.
#include "io/mesh_file.h"

#include "io/baked_file.h"
#include "io/foreign_mesh.h"
#include "io/obj_file.h"
#include "io/off_file.h"
#include "io/mesh_text.h"
#include "io/output_file.h"
#include "io/ply_file.h"
#include "io/stl_file.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// ---- Reading ----

typedef enum mesh_format { FORMAT_OBJ, FORMAT_PLY, FORMAT_STL, FORMAT_OFF, FORMAT_BAKED, FORMAT_OTHER } mesh_format;

/// Does a text begin, behind comments, with a word of OBJ files? A file that comes through a pipe
/// has no extension.
static bool is_obj(const char *text)
{
	static const char *const words[] = { "v", "vn", "vt", "o", "g", "s", "mtllib", "usemtl" };
	text += strspn(text, " \t\r\n");
	while (*text == '#') {
		text += strcspn(text, "\r\n");
		text += strspn(text, " \t\r\n");
	}
	const size_t length = strcspn(text, " \t\r\n");
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (length == strlen(words[i]) && memcmp(text, words[i], length) == 0)
			return true;
	}
	return false;
}

/// The format: baked meshes by their first bytes, whatever the path says; then by the extension of
/// the path, else by the look of the bytes.
static mesh_format format_of(const char *path, const char *bytes, size_t size)
{
	static const char *const extensions[] = { ".obj", ".ply", ".stl", ".off", IO_BAKED_EXTENSION };
	if (io_is_baked(bytes, size))
		return FORMAT_BAKED;
	for (int i = 0; i < FORMAT_OTHER; i++) {
		if (io_has_extension(path, extensions[i]))
			return (mesh_format)i;
	}
	if (strncmp(bytes, "ply", 3) == 0 && (bytes[3] == '\n' || bytes[3] == '\r'))
		return FORMAT_PLY;
	if (io_is_off(bytes))
		return FORMAT_OFF;
	return io_is_stl(bytes, size) ? FORMAT_STL : is_obj(bytes) ? FORMAT_OBJ : FORMAT_OTHER;
}

/// A regular file is read by assimp itself, since some formats name further files beside it.
static bool read_bytes(const io_input *input, char *bytes, size_t size, sim_mesh *mesh, sim_error *error)
{
	switch (format_of(input->path, bytes, size)) {
	case FORMAT_OBJ: return io_read_obj(bytes, size, mesh, error);
	case FORMAT_PLY: return io_read_ply(bytes, size, mesh, error);
	case FORMAT_OFF: return io_read_off(bytes, size, mesh, error);
	case FORMAT_BAKED: return io_read_baked(bytes, size, mesh, error);
	case FORMAT_OTHER: return io_read_foreign_mesh(input->path, input->regular ? NULL : bytes, size, mesh, error);
	case FORMAT_STL: break;
	}
	if (!io_read_stl(bytes, size, mesh, error))
		return false;
	if (io_weld_mesh(mesh))
		return true;
	sim_mesh_free(mesh);
	return sim_fail(error, "out of memory");
}

bool io_read_mesh(io_input *input, sim_mesh *mesh, sim_error *error)
{
	memset(mesh, 0, sizeof *mesh);
	size_t size;
	char *bytes = io_take_rest(input, &size, error);
	if (!bytes)
		return false;
	const bool done = read_bytes(input, bytes, size, mesh, error);
	free(bytes);
	if (!done || mesh->triangle_count > 0)
		return done;
	sim_fail(error, mesh->vertex_count ? "holds %d vertices but no triangles" : "holds no triangles", (int)mesh->vertex_count);
	sim_mesh_free(mesh);
	return false;
}

bool io_load_mesh(const char *path, sim_mesh *mesh, sim_error *error)
{
	memset(mesh, 0, sizeof *mesh);
	io_input input;
	if (!io_open_input(&input, path, error))
		return false;
	const bool done = io_read_mesh(&input, mesh, error);
	io_close_input(&input);
	return done;
}

// ---- Welding ----

/// The bits of a position, with -0 as 0.
static void position_key(const sim_mesh *mesh, int32_t vertex, uint64_t key[3])
{
	for (int axis = 0; axis < 3; axis++) {
		const size_t place = 3 * (size_t)vertex + (size_t)axis;
		double value = mesh->doubles ? mesh->doubles[place] : (double)mesh->vertices[place];
		value = value == 0 ? 0 : value;
		memcpy(&key[axis], &value, sizeof value);
	}
}

/// Move a vertex down over one that was left out.
static void move_vertex(sim_mesh *mesh, int32_t to, int32_t from)
{
	memmove(mesh->vertices + 3 * (size_t)to, mesh->vertices + 3 * (size_t)from, 3 * sizeof *mesh->vertices);
	if (mesh->doubles)
		memmove(mesh->doubles + 3 * (size_t)to, mesh->doubles + 3 * (size_t)from, 3 * sizeof *mesh->doubles);
}

/// The kept vertex at the position of vertex v; v becomes it when there is none. slots hold a
/// vertex number + 1, 0 when free.
static int32_t find_or_keep(sim_mesh *mesh, int32_t *slots, uint32_t mask, int32_t v)
{
	uint64_t key[3], other[3];
	position_key(mesh, v, key);
	// A step of splitmix64 for each number (Steele, Lea, Flood, Fast Splittable Pseudorandom Number
	// Generators, 2014).
	uint64_t hash = 0;
	for (int axis = 0; axis < 3; axis++) {
		hash = (hash + key[axis]) * 0xbf58476d1ce4e5b9u;
		hash = (hash ^ hash >> 29) * 0x94d049bb133111ebu;
		hash ^= hash >> 32;
	}
	for (uint32_t slot = (uint32_t)hash & mask;; slot = (slot + 1) & mask) {
		if (!slots[slot]) {
			move_vertex(mesh, mesh->vertex_count, v);
			slots[slot] = ++mesh->vertex_count;
			return mesh->vertex_count - 1;
		}
		position_key(mesh, slots[slot] - 1, other);
		if (memcmp(key, other, sizeof key) == 0)
			return slots[slot] - 1;
	}
}

bool io_weld_mesh(sim_mesh *mesh)
{
	const int32_t count = mesh->vertex_count;
	io_forget_baked(mesh);
	uint32_t capacity = 16;
	while (capacity < 2u * (uint32_t)count)
		capacity *= 2;
	int32_t *slots = calloc(capacity, sizeof *slots);
	int32_t *number = malloc(((size_t)count + 1) * sizeof *number);
	if (slots && number) {
		// Kept vertices move down over those that were left out: the write never passes the read.
		mesh->vertex_count = 0;
		for (int32_t v = 0; v < count; v++)
			number[v] = find_or_keep(mesh, slots, capacity - 1, v);
		for (int64_t i = 0; i < 3 * (int64_t)mesh->triangle_count; i++) {
			if (mesh->triangles[i] >= 0 && mesh->triangles[i] < count)
				mesh->triangles[i] = number[mesh->triangles[i]];
		}
	}
	const bool done = slots && number;
	free(slots);
	free(number);
	return done;
}

// ---- Writing ----

/// PLY and STL are little endian.
static void put_u32(FILE *file, uint32_t value)
{
	const unsigned char bytes[4] = { value & 255, value >> 8 & 255, value >> 16 & 255, value >> 24 & 255 };
	fwrite(bytes, 1, 4, file);
}

static void put_float(FILE *file, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	put_u32(file, bits);
}

static double coordinate(const sim_mesh *mesh, int64_t place)
{
	return mesh->doubles ? mesh->doubles[place] : (double)mesh->vertices[place];
}

static void put_double(FILE *file, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	put_u32(file, (uint32_t)bits);
	put_u32(file, (uint32_t)(bits >> 32));
}

/// In as few digits as a reader of doubles needs to get the very number: with nine, which bring a
/// float back, it could read another one.
static void put_text(FILE *file, double value)
{
	char text[40];
	for (int digits = 9; digits <= 17; digits += 4) {
		snprintf(text, sizeof text, " %.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	fputs(text, file);
}

static void write_obj(FILE *file, const sim_mesh *mesh)
{
	for (int32_t i = 0; i < mesh->vertex_count; i++) {
		fputc('v', file);
		for (int axis = 0; axis < 3; axis++)
			put_text(file, coordinate(mesh, 3 * (int64_t)i + axis));
		fputc('\n', file);
	}
	for (int32_t i = 0; i < mesh->triangle_count; i++) {
		const int32_t *t = mesh->triangles + 3 * (size_t)i;
		fprintf(file, "f %d %d %d\n", t[0] + 1, t[1] + 1, t[2] + 1);
	}
}

static void write_ply(FILE *file, const sim_mesh *mesh)
{
	const char *type = mesh->doubles ? "double" : "float";
	fprintf(file,
		"ply\nformat binary_little_endian 1.0\nelement vertex %d\nproperty %s x\nproperty %s y\nproperty %s z\n"
		"element face %d\nproperty list uchar int vertex_indices\nend_header\n",
		mesh->vertex_count, type, type, type, mesh->triangle_count);
	for (int64_t i = 0; i < 3 * (int64_t)mesh->vertex_count; i++) {
		if (mesh->doubles)
			put_double(file, mesh->doubles[i]);
		else
			put_float(file, mesh->vertices[i]);
	}
	for (int32_t i = 0; i < mesh->triangle_count; i++) {
		fputc(3, file);
		for (int k = 0; k < 3; k++)
			put_u32(file, (uint32_t)mesh->triangles[3 * (size_t)i + k]);
	}
}

/// Unit normal of a triangle; zero, as the format wants it, when it has no area.
static void face_normal(const float *a, const float *b, const float *c, float normal[3])
{
	const double u[3] = { (double)b[0] - a[0], (double)b[1] - a[1], (double)b[2] - a[2] };
	const double v[3] = { (double)c[0] - a[0], (double)c[1] - a[1], (double)c[2] - a[2] };
	const double n[3] = { u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0] };
	const double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
	for (int axis = 0; axis < 3; axis++)
		normal[axis] = length > 0 ? (float)(n[axis] / length) : 0.0f;
}

static void write_stl(FILE *file, const sim_mesh *mesh)
{
	const char header[80] = "binary STL"; // must not begin with "solid"
	fwrite(header, 1, sizeof header, file);
	put_u32(file, (uint32_t)mesh->triangle_count);
	for (int32_t i = 0; i < mesh->triangle_count; i++) {
		const float *corner[3];
		for (int k = 0; k < 3; k++)
			corner[k] = mesh->vertices + 3 * (size_t)mesh->triangles[3 * (size_t)i + k];
		float normal[3];
		face_normal(corner[0], corner[1], corner[2], normal);
		for (int axis = 0; axis < 3; axis++)
			put_float(file, normal[axis]);
		for (int k = 0; k < 9; k++)
			put_float(file, corner[k / 3][k % 3]);
		fwrite("\0", 1, 2, file);
	}
}

static bool indices_in_range(const sim_mesh *mesh, sim_error *error)
{
	for (int64_t i = 0; i < 3 * (int64_t)mesh->triangle_count; i++) {
		if (mesh->triangles[i] < 0 || mesh->triangles[i] >= mesh->vertex_count) {
			return sim_fail(error, "triangle %lld names vertex %d, and there are %d", (long long)(i / 3), mesh->triangles[i],
				mesh->vertex_count);
		}
	}
	return true;
}

static bool vertices_are_finite(const sim_mesh *mesh, bool as_floats, sim_error *error)
{
	for (int64_t i = 0; i < 3 * (int64_t)mesh->vertex_count; i++) {
		const double value = coordinate(mesh, i);
		if (!isfinite(value))
			return sim_fail(error, IO_UNFINITE, (long long)(i / 3), "xyz"[i % 3], io_unfinite_word(value));
		if (as_floats && !isfinite(mesh->vertices[i]))
			return sim_fail(error, "vertex %lld: %c is %g, which the floats of .stl do not hold; use .obj or .ply",
				(long long)(i / 3), "xyz"[i % 3], value);
	}
	return true;
}

bool io_save_mesh(const char *path, const sim_mesh *mesh, sim_error *error)
{
	static const struct {
		const char *extension;
		void (*write)(FILE *file, const sim_mesh *mesh);
	} formats[] = { { ".obj", write_obj }, { ".ply", write_ply }, { ".stl", write_stl } };
	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
		const bool text = i == 0 && io_is_device(path) && !io_has_extension(path, ".ply") && !io_has_extension(path, ".stl");
		if (!text && !io_has_extension(path, formats[i].extension))
			continue;
		io_output_file file;
		if (!indices_in_range(mesh, error) || !vertices_are_finite(mesh, formats[i].write == write_stl, error) ||
			!io_output_open(&file, path, error))
			return false;
		formats[i].write(file.stream, mesh);
		return io_output_commit(&file, error);
	}
	return sim_fail(error, "no mesh format has this extension; use .obj, .ply or .stl");
}
