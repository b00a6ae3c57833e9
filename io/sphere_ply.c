// Spheres from the points of PLY files: x, y, z and radius, r or scale of the element "vertex"; all
// else is skipped.
#include "io/ply_reader.h"
#include "io/sphere_parts.h"

#include <stdlib.h>
#include <string.h>

static const char *const NAMES[][4] = { { "x" }, { "y" }, { "z" }, { "radius", "r", "scale" } };

/// The meaning of a property: 0 to 3 for x, y, z, radius; -1: nothing here.
static int meaning(const io_ply_property *property)
{
	if (property->count_type != IO_PLY_NO_TYPE)
		return -1;
	for (int k = 0; k < 4; k++) {
		for (int i = 0; NAMES[k][i]; i++) {
			if (strcmp(property->name, NAMES[k][i]) == 0)
				return k;
		}
	}
	return -1;
}

static bool read_point(io_ply_reader *r, const io_ply_element *element, double xyzr[4])
{
	for (int i = 0; i < element->property_count; i++) {
		const io_ply_property *property = &element->properties[i];
		const int k = meaning(property);
		if (!(k < 0 ? io_ply_skip_property(r, element, property) : io_ply_read_value(r, element, property->type, &xyzr[k])))
			return false;
	}
	return true;
}

static bool read_points(
	io_ply_reader *r, const io_ply_element *element, const io_sphere_reading *reading, io_sphere_set *spheres)
{
	int found[4] = { 0, 0, 0, 0 };
	r->place = element->place;
	for (int i = 0; i < element->property_count; i++) {
		const int k = meaning(&element->properties[i]);
		if (k >= 0)
			found[k]++;
	}
	if (!found[0] || !found[1] || !found[2])
		return io_ply_fail(r, "the element vertex has no x, y and z");
	if (!found[3] && reading->default_radius < 0)
		return io_ply_fail(r, "has no radii: no property radius, r or scale");
	for (int k = 0; k < 4; k++) {
		if (found[k] > 1)
			return io_ply_fail(r, "the element vertex has more than one %s", NAMES[k][0]);
	}
	if (!io_ply_check_room(r, element, "points"))
		return false;
	if (element->count > CAROM_MAX_SPHERES)
		return io_ply_fail(r, "holds %lld points; at most %d can be read", (long long)element->count, CAROM_MAX_SPHERES);
	if (!io_allocate_spheres(spheres, element->count, reading->wide))
		return io_ply_fail(r, "out of memory");
	spheres->has_radii = found[3] > 0;
	for (r->row = 0; r->row < element->count; r->row++) {
		double xyzr[4] = { 0, 0, 0, reading->default_radius };
		if (!read_point(r, element, xyzr))
			return false;
		const char *wrong = io_put_sphere(spheres, r->row, xyzr);
		if (wrong)
			return io_ply_fail(r, "vertex %lld: %s", (long long)r->row, wrong);
	}
	return true;
}

bool io_read_sphere_ply(
	const char *bytes, size_t size, const io_sphere_reading *reading, io_sphere_set *spheres, sim_error *error)
{
	io_ply_reader *r = io_ply_make_reader(bytes, size, error);
	if (!r)
		return false;
	bool sound = io_ply_read_header(r), found = false;
	for (int i = 0; sound && !found && i < r->element_count; i++) {
		const io_ply_element *element = &r->elements[i];
		found = strcmp(element->name, "vertex") == 0;
		sound = found ? read_points(r, element, reading, spheres) : io_ply_skip_element(r, element);
	}
	if (sound && !found) {
		r->place = NULL; // it is said of the whole file
		sound = io_ply_fail(r, "holds no points: there is no element vertex");
	}
	free(r);
	return sound;
}

bool io_ply_holds_points(const char *bytes, size_t size)
{
	io_ply_reader *r = io_ply_make_reader(bytes, size, NULL);
	bool points = false, faces = false;
	if (r && io_ply_read_header(r)) {
		for (int i = 0; i < r->element_count; i++) {
			points = points || strcmp(r->elements[i].name, "vertex") == 0;
			faces = faces || strcmp(r->elements[i].name, "face") == 0;
		}
	}
	free(r);
	return points && !faces;
}
