// Vertices and faces of PLY files, in file order.
// Assimp is not used for it: files that end early or hold fewer elements than they say come back as
// meshes full of zeros, and coordinates in text are not read to the last digit.
#include "io/ply_file.h"

#include "io/mesh_text.h"
#include "io/ply_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct mesh_reader {
	io_ply_reader *ply;
	sim_mesh mesh; // without triangles before all is read
	io_face_list faces;
	int64_t vertex_count; // by the header
} mesh_reader;

static bool read_vertex(mesh_reader *r, const io_ply_element *element, const int place[IO_PLY_PROPERTIES_MAX])
{
	const int64_t vertex = 3 * r->ply->row;
	for (int i = 0; i < element->property_count; i++) {
		double value;
		if (place[i] < 0) {
			if (!io_ply_skip_property(r->ply, element, &element->properties[i]))
				return false;
		} else if (!io_ply_read_value(r->ply, element, element->properties[i].type, &value)) {
			return false;
		} else if (!isfinite(value)) {
			return io_ply_fail(r->ply, IO_UNFINITE, (long long)r->ply->row, "xyz"[place[i]], io_unfinite_word(value));
		} else if (r->mesh.doubles) {
			r->mesh.doubles[vertex + place[i]] = value;
		} else {
			r->mesh.vertices[vertex + place[i]] = (float)value;
		}
	}
	r->mesh.vertex_count++;
	return true;
}

/// Are all coordinates of a type that float holds? In text a number is as long as it is written.
static bool is_all_floats(const io_ply_reader *r, const io_ply_element *element, const int place[IO_PLY_PROPERTIES_MAX])
{
	for (int i = 0; i < element->property_count; i++) {
		const io_ply_type type = element->properties[i].type;
		if (place[i] >= 0 && (type == IO_PLY_INT32 || type == IO_PLY_UINT32 || type == IO_PLY_DOUBLE))
			return false;
	}
	return r->format != IO_PLY_ASCII;
}

static bool read_vertices(mesh_reader *r, const io_ply_element *element)
{
	r->ply->place = element->place;
	static const char *const axes[] = { "x", "y", "z" };
	int place[IO_PLY_PROPERTIES_MAX], found = 0;
	for (int i = 0; i < element->property_count; i++) {
		place[i] = -1;
		for (int axis = 0; axis < 3; axis++) {
			if (element->properties[i].count_type == IO_PLY_NO_TYPE && strcmp(element->properties[i].name, axes[axis]) == 0) {
				place[i] = axis;
				found |= 1 << axis;
			}
		}
	}
	if (found != 7)
		return io_ply_fail(r->ply, "the element vertex has no x, y and z");
	if (!io_ply_check_room(r->ply, element, "vertices"))
		return false;
	const size_t count = 3 * (size_t)element->count;
	const bool floats = is_all_floats(r->ply, element, place);
	if (floats)
		r->mesh.vertices = malloc(count * sizeof *r->mesh.vertices + 1);
	else
		r->mesh.doubles = malloc(count * sizeof *r->mesh.doubles + 1);
	if (!r->mesh.vertices && !r->mesh.doubles)
		return io_ply_fail(r->ply, "out of memory");
	for (r->ply->row = 0; r->ply->row < element->count; r->ply->row++) {
		if (!read_vertex(r, element, place))
			return false;
	}
	return floats || sim_mesh_round(&r->mesh) || io_ply_fail(r->ply, "out of memory");
}

static bool read_corner(mesh_reader *r, const io_ply_element *element, io_ply_type type)
{
	double value;
	if (!io_ply_read_value(r->ply, element, type, &value))
		return false;
	if (!(fabs(value) <= INT32_MAX) || value != floor(value))
		return io_ply_fail(r->ply, "face %lld: names vertex %.17g", (long long)r->ply->row, value);
	if (r->vertex_count == 0)
		return io_ply_fail(
			r->ply, "face %lld names vertex %lld; the file has no vertices", (long long)r->ply->row, (long long)value);
	if (value < 0 || value >= (double)r->vertex_count)
		return io_ply_fail(r->ply, IO_NO_VERTEX, (long long)r->ply->row, (long long)value, (int)r->vertex_count - 1);
	const char *reason = io_add_corner(&r->faces, (int32_t)value);
	return !reason || io_ply_fail(r->ply, "%s", reason);
}

static bool read_polygon(mesh_reader *r, const io_ply_element *element, const io_ply_property *property)
{
	int64_t count = 0;
	if (!io_ply_read_list_count(r->ply, element, property, &count))
		return false;
	if (count < 3)
		return io_ply_fail(r->ply, "face %lld: has %lld corners; a face needs three", (long long)r->ply->row, (long long)count);
	for (int64_t i = 0; i < count; i++) {
		if (!read_corner(r, element, property->type))
			return false;
	}
	const int32_t last = r->faces.corner[2];
	if (r->ply->format == IO_PLY_ASCII && r->ply->at == r->ply->end && io_mesh_text_maybe_cut(last, r->vertex_count))
		return io_ply_fail(r->ply, IO_MESH_TEXT_MAYBE_CUT, (long long)last);
	const char *reason = io_end_face(&r->faces);
	return !reason || io_ply_fail(r->ply, "%s", reason);
}

static bool read_faces(mesh_reader *r, const io_ply_element *element)
{
	r->ply->place = element->place;
	int list = -1;
	for (int i = 0; i < element->property_count; i++) {
		if (strcmp(element->properties[i].name, "vertex_indices") == 0 ||
			strcmp(element->properties[i].name, "vertex_index") == 0)
			list = i;
	}
	if (list < 0 || element->properties[list].count_type == IO_PLY_NO_TYPE)
		return io_ply_fail(r->ply, "the element face has no list vertex_indices");
	for (r->ply->row = 0; r->ply->row < element->count; r->ply->row++) {
		for (int i = 0; i < element->property_count; i++) {
			if (!(i == list ? read_polygon(r, element, &element->properties[i])
							: io_ply_skip_property(r->ply, element, &element->properties[i])))
				return false;
		}
	}
	return true;
}

static bool read_elements(mesh_reader *r)
{
	for (int i = r->ply->element_count - 1; i >= 0; i--) {
		if (strcmp(r->ply->elements[i].name, "vertex") == 0)
			r->vertex_count = r->ply->elements[i].count;
	}
	for (int i = 0; i < r->ply->element_count; i++) {
		const io_ply_element *element = &r->ply->elements[i];
		bool sound;
		if (strcmp(element->name, "vertex") == 0 && !r->mesh.vertices)
			sound = read_vertices(r, element);
		else if (strcmp(element->name, "face") == 0 && !r->faces.triangles)
			sound = read_faces(r, element);
		else
			sound = io_ply_skip_element(r->ply, element);
		if (!sound)
			return false;
	}
	return true;
}

bool io_read_ply(const char *bytes, size_t size, sim_mesh *mesh, sim_error *error)
{
	memset(mesh, 0, sizeof *mesh);
	mesh_reader r = { .ply = io_ply_make_reader(bytes, size, error) };
	if (!r.ply)
		return false;
	r.ply->as_doubles = true;
	bool done = io_ply_read_header(r.ply) && read_elements(&r);
	if (done && !io_take_faces(&r.faces, &r.mesh))
		done = sim_fail(error, "out of memory");
	io_free_faces(&r.faces);
	if (!done)
		sim_mesh_free(&r.mesh);
	*mesh = r.mesh;
	free(r.ply);
	return done;
}
