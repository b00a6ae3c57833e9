// Reading the VTK files that io/vtk_file.c writes. The head is searched for the few words that it
// has; every length is compared with the bytes that are there before memory is taken for it.
#include "io/vtk_reader.h"

#include "io/input_file.h"
#include "io/output_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool refuse(const char *path, const char *reason, sim_error *error) { return sim_fail(error, "%s: %s", path, reason); }

/// A whole file, with a zero behind it. NULL after an error.
static char *read_whole(const char *path, size_t *size, sim_error *error)
{
	io_input input;
	if (!io_open_input(&input, path, error)) {
		sim_fail_in(error, "%s: ", path);
		return NULL;
	}
	char *bytes = io_take_rest(&input, size, error);
	io_close_input(&input);
	if (!bytes)
		sim_fail_in(error, "%s: ", path);
	return bytes;
}

// ---- Collections ----

static bool make_room(io_vtk_list *list, int64_t lines)
{
	list->times = malloc((size_t)(lines + 1) * sizeof *list->times);
	list->steps = malloc((size_t)(lines + 1) * sizeof *list->steps);
	return list->times && list->steps;
}

/// Split the path of a collection into folder and name.
static bool split_path(const char *path, io_vtk_list *list, sim_error *error)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const size_t length = strlen(name);
	if (length < 5 || length - 4 >= sizeof list->name || strcmp(name + length - 4, ".pvd") != 0)
		return refuse(path, "is no collection NAME.pvd", error);
	snprintf(list->name, sizeof list->name, "%.*s", (int)(length - 4), name);
	list->folder = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
	return list->folder || refuse(path, "out of memory", error);
}

/// Take the lines of a collection; false when one that names a file is none of ours.
static bool take_lines(const char *text, io_vtk_list *list)
{
	const size_t length = strlen(list->name);
	for (const char *at = text; (at = strstr(at, "<DataSet ")); at++) {
		double time;
		int used = 0;
		if (sscanf(at, "<DataSet timestep=\"%lf\" part=\"0\" file=\"%n", &time, &used) != 1 || used == 0 || !isfinite(time))
			return false;
		if (strncmp(at + used, list->name, length) != 0 || at[used + (int)length] != '_')
			return false;
		list->times[list->count] = time;
		list->steps[list->count++] = strtoll(at + used + length + 1, NULL, 10);
	}
	return strstr(text, "</VTKFile>");
}

bool io_read_pvd(const char *path, io_vtk_list *list, sim_error *error)
{
	*list = (io_vtk_list){ 0 };
	size_t size;
	int64_t lines = 0;
	if (!split_path(path, list, error)) {
		io_free_vtk_list(list);
		return false;
	}
	char *text = read_whole(path, &size, error);
	for (const char *at = text; at && (at = strchr(at, '\n')); at++)
		lines++;
	const bool room = text && make_room(list, lines + 1);
	const bool good = room && take_lines(text, list);
	free(text);
	if (good)
		return true;
	io_free_vtk_list(list);
	if (!text)
		return false;
	return refuse(path, room ? "is damaged, or no collection of carom run" : "out of memory", error);
}

void io_free_vtk_list(io_vtk_list *list)
{
	free(list->times);
	free(list->steps);
	free(list->folder);
	*list = (io_vtk_list){ 0 };
}

// ---- Moments ----

/// The numbers of an array in the appended part: NULL when it is not there whole.
static const char *find_array(
	const char *head, const char *type, const char *name, const char *data, size_t size, uint64_t bytes)
{
	char words[80];
	snprintf(words, sizeof words, "<DataArray type=\"%s\" Name=\"%s\"", type, name);
	const char *array = strstr(head, words), *place = array ? strstr(array, "offset=\"") : NULL;
	if (!place)
		return NULL;
	const uint64_t offset = strtoull(place + 8, NULL, 10);
	uint64_t length;
	if (offset > size || size - offset < sizeof length)
		return NULL;
	memcpy(&length, data + offset, sizeof length);
	return length == bytes && size - offset - sizeof length >= bytes ? data + offset + sizeof length : NULL;
}

static bool is_our_machine(const char *head)
{
	const uint16_t one = 1;
	return strstr(head, *(const uint8_t *)&one ? "byte_order=\"LittleEndian\"" : "byte_order=\"BigEndian\"");
}

static void *copy_array(const char *from, size_t bytes)
{
	void *to = malloc(bytes + 1);
	if (to)
		memcpy(to, from, bytes);
	return to;
}

static bool ends_whole(const char *bytes, size_t size)
{
	static const char end[] = "</VTKFile>\n";
	return size >= sizeof end && !memcmp(bytes + size - (sizeof end - 1), end, sizeof end - 1);
}

/// Take the spheres out of a file's bytes. NULL, or the reason why that is not possible.
static const char *take_spheres(char *bytes, size_t size, io_vtk_spheres *spheres)
{
	static const char mark[] = "<AppendedData encoding=\"raw\">\n_";
	const char *points = strstr(bytes, "NumberOfPoints=\""); // the head ends before the first zero
	char *appended = strstr(bytes, mark);
	if (!points || !appended || points > appended || !is_our_machine(bytes))
		return "is no VTK file of carom run from a machine like this one";
	if (!ends_whole(bytes, size))
		return "is damaged: its end is missing";
	const long long count = strtoll(points + 16, NULL, 10);
	const char *data = appended + sizeof mark - 1;
	const size_t left = size - (size_t)(data - bytes);
	if (count < 0 || (uint64_t)count > left / 16)
		return "is damaged: it has fewer bytes than its spheres take";
	const char *centres = find_array(bytes, "Float32", "centre", data, left, 12 * (uint64_t)count);
	const char *radii = find_array(bytes, "Float32", "radius", data, left, 4 * (uint64_t)count);
	if (!centres || !radii)
		return "is damaged: its arrays are not there whole";
	const char *velocities = find_array(bytes, "Float32", "velocity", data, left, 12 * (uint64_t)count);
	const char *ids = find_array(bytes, "UInt32", "id", data, left, 4 * (uint64_t)count);
	spheres->count = count;
	const bool copied = (spheres->centres = copy_array(centres, 12 * (size_t)count)) &&
		(spheres->radii = copy_array(radii, 4 * (size_t)count)) &&
		(!velocities || (spheres->velocities = copy_array(velocities, 12 * (size_t)count))) &&
		(!ids || (spheres->ids = copy_array(ids, 4 * (size_t)count)));
	return copied ? NULL : "out of memory";
}

bool io_read_vtk_moment(const io_vtk_list *list, int64_t index, io_vtk_spheres *spheres, sim_error *error)
{
	char path[IO_PATH_MAX + 80];
	size_t size;
	*spheres = (io_vtk_spheres){ 0 };
	snprintf(path, sizeof path, "%s/%s_%09lld.vtp", list->folder, list->name, (long long)list->steps[index]);
	char *bytes = read_whole(path, &size, error);
	if (!bytes)
		return false;
	const char *reason = take_spheres(bytes, size, spheres);
	free(bytes);
	if (!reason)
		return true;
	io_free_vtk_spheres(spheres);
	return refuse(path, reason, error);
}

void io_free_vtk_spheres(io_vtk_spheres *spheres)
{
	free(spheres->centres);
	free(spheres->radii);
	free(spheres->velocities);
	free(spheres->ids);
	*spheres = (io_vtk_spheres){ 0 };
}
