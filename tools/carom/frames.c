// Frames of a deforming mesh. See frames.h.
#include "frames.h"

#include "report.h"

#include "io/input_file.h"
#include "io/mesh_file.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *path_of(const frames *f, int64_t number) { return f->source.paths[f->source.mesh ? 0 : number]; }

const char *frames_first_path(const frames *f) { return path_of(f, f->first); }
const char *frames_present_path(const frames *f) { return path_of(f, f->number); }
const char *frames_last_path(const frames *f) { return path_of(f, f->first + f->count - 1); }

int frames_error(const frames *f, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (f->source.mesh)
		return report_error(path_of(f, f->number), "frame %lld: %s", (long long)f->number, text);
	return report_error(path_of(f, f->number), "%s", text);
}

// ---- Checks ----

static bool vertices_are_sound(const frames *f)
{
	for (int64_t i = 0; i < 3 * (int64_t)f->mesh.vertex_count; i++) {
		const double value = f->mesh.doubles ? f->mesh.doubles[i] : (double)f->mesh.vertices[i];
		if (fabs(value) <= CAROM_MAX_COORDINATE)
			continue;
		if (isfinite(value))
			frames_error(f, "vertex %lld: %g is beyond %g", (long long)(i / 3), value, CAROM_MAX_COORDINATE);
		else
			frames_error(f, "vertex %lld: %g is not finite", (long long)(i / 3), value);
		return false;
	}
	return true;
}

/// Impacts between frames have a meaning only where a vertex number is the same point of the same
/// surface in both.
static bool faces_are_same(const frames *f, const sim_mesh *next)
{
	const sim_mesh *mesh = &f->mesh;
	const char *first = frames_first_path(f);
	if (next->vertex_count != mesh->vertex_count) {
		frames_error(f, "has %d vertices, but %s has %d", (int)next->vertex_count, first, (int)mesh->vertex_count);
		return false;
	}
	for (int32_t i = 0; i < mesh->triangle_count && i < next->triangle_count; i++) {
		const int32_t *a = mesh->triangles + 3 * (size_t)i, *b = next->triangles + 3 * (size_t)i;
		if (memcmp(a, b, 3 * sizeof *a) != 0) {
			frames_error(f, "face %d has the vertices %d %d %d, but %d %d %d in %s; all frames must have the same faces",
				(int)i, (int)b[0], (int)b[1], (int)b[2], (int)a[0], (int)a[1], (int)a[2], first);
			return false;
		}
	}
	if (next->triangle_count == mesh->triangle_count)
		return true;
	const bool fewer = next->triangle_count < mesh->triangle_count;
	frames_error(f, "face %d is in %s only (%d faces against %d); all frames must have the same faces",
		(int)(fewer ? next->triangle_count : mesh->triangle_count), fewer ? first : "this file", (int)next->triangle_count,
		(int)mesh->triangle_count);
	return false;
}

// ---- Reading ----

static bool load_mesh(frames *f, const char *path, sim_mesh *mesh)
{
	sim_error error;
	if (!io_load_mesh(path, mesh, &error)) {
		report_error(path, "%s", error.text);
		return false;
	}
	if (f->source.scalar == SCALAR_FLOAT32)
		mesh_input_drop_doubles(mesh);
	f->has_doubles = f->has_doubles || mesh->doubles;
	return true;
}

/// The next mesh file; its vertices become those of the mesh.
static bool read_mesh_frame(frames *f)
{
	sim_mesh next;
	if (!load_mesh(f, path_of(f, f->number), &next))
		return false;
	const bool same = faces_are_same(f, &next);
	if (same) {
		const sim_mesh last = f->mesh;
		f->mesh = next;
		next = last;
	}
	sim_mesh_free(&next);
	return same;
}

/// Bytes of a number in the file of positions.
static size_t bytes_of_number(const frames *f)
{
	const frames_source *s = &f->source;
	const bool doubles = s->scalar == SCALAR_FLOAT64 || (s->scalar == SCALAR_AUTO && io_has_extension(s->paths[0], ".f64"));
	return doubles ? sizeof(double) : sizeof(float);
}

/// Turn little-endian numbers into those of this machine, in place.
static void order_bytes(void *numbers, size_t count, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		unsigned char bytes[8];
		uint64_t bits = 0;
		memcpy(bytes, (char *)numbers + i * size, size);
		for (size_t k = 0; k < size; k++)
			bits |= (uint64_t)bytes[k] << 8 * k;
		const uint32_t low = (uint32_t)bits;
		memcpy((char *)numbers + i * size, size == sizeof bits ? (const void *)&bits : &low, size);
	}
}

/// The next frame of the file of positions, whatever the byte order of this machine.
static bool read_positions(frames *f)
{
	sim_mesh *mesh = &f->mesh;
	const size_t values = 3 * (size_t)mesh->vertex_count, size = bytes_of_number(f);
	if (size == sizeof(double)) {
		free(mesh->vertices);
		mesh->vertices = NULL;
		if (!mesh->doubles && !(mesh->doubles = malloc(values * size))) {
			frames_error(f, "out of memory");
			return false;
		}
	} else {
		mesh_input_drop_doubles(mesh);
	}
	void *numbers = mesh->doubles ? (void *)mesh->doubles : mesh->vertices;
	errno = 0;
	if (fread(numbers, size, values, f->positions) != values) {
		frames_error(f, "cannot be read: %s", errno ? strerror(errno) : "the file ends");
		return false;
	}
	order_bytes(numbers, values, size);
	if (mesh->doubles && !sim_mesh_round(mesh)) {
		frames_error(f, "out of memory");
		return false;
	}
	f->has_doubles = f->has_doubles || mesh->doubles;
	return true;
}

bool frames_next(frames *f)
{
	f->number++;
	return (f->source.mesh ? read_positions(f) : read_mesh_frame(f)) && vertices_are_sound(f);
}

// ---- Opening ----

static bool choose_range(frames *f)
{
	const char *file = f->source.mesh ? f->source.paths[0] : NULL;
	const option_range *range = &f->source.range;
	f->first = range->first;
	f->count = (range->end < f->total ? range->end : f->total) - range->first;
	if (f->total < 2)
		report_error(file, "holds %lld frame%s; two are needed at least", (long long)f->total, f->total == 1 ? "" : "s");
	else if (range->first >= f->total || (range->end > f->total && range->end != INT64_MAX))
		report_error(file, "--frames asks for frame %lld, and there are %lld, from 0",
			(long long)(range->first >= f->total ? range->first : range->end - 1), (long long)f->total);
	else if (f->count < 2)
		report_error(file, "--frames gives one frame; two are needed at least");
	else
		return true;
	return false;
}

/// Open the file of positions and count its frames.
static bool open_positions(frames *f)
{
	const char *path = f->source.paths[0];
	struct stat status;
	f->positions = fopen(path, "rb");
	if (!f->positions || fstat(fileno(f->positions), &status) != 0) {
		report_error(path, "cannot be opened: %s", strerror(errno));
		return false;
	}
	const int vertex_bytes = 3 * (int)bytes_of_number(f);
	const int64_t frame_size = vertex_bytes * (int64_t)f->mesh.vertex_count;
	if (!S_ISREG(status.st_mode)) {
		report_error(path, "is no regular file");
		return false;
	}
	if (status.st_size % frame_size != 0) {
		report_error(path, "holds %lld bytes, which are not whole frames of %lld bytes: %s has %d vertices of %d bytes",
			(long long)status.st_size, (long long)frame_size, f->source.mesh, (int)f->mesh.vertex_count, vertex_bytes);
		return false;
	}
	f->total = status.st_size / frame_size;
	return true;
}

static bool open_sequence(frames *f)
{
	if (!load_mesh(f, f->source.mesh, &f->mesh) || !open_positions(f) || !choose_range(f))
		return false;
	f->has_doubles = false; // of the mesh only its faces count
	const int64_t frame_size = 3 * (int64_t)bytes_of_number(f) * f->mesh.vertex_count;
	if (fseeko(f->positions, (off_t)(frame_size * f->first), SEEK_SET) != 0) {
		report_error(f->source.paths[0], "cannot be read: %s", strerror(errno));
		return false;
	}
	f->number = f->first - 1;
	return frames_next(f);
}

static bool open_meshes(frames *f)
{
	f->total = f->source.path_count;
	if (!choose_range(f))
		return false;
	f->number = f->first;
	return load_mesh(f, frames_first_path(f), &f->mesh) && vertices_are_sound(f);
}

bool frames_open(frames *f, const frames_source *source)
{
	*f = (frames){ .source = *source };
	if (source->mesh ? open_sequence(f) : open_meshes(f))
		return true;
	frames_close(f);
	return false;
}

void frames_close(frames *f)
{
	if (f->positions)
		fclose(f->positions);
	sim_mesh_free(&f->mesh);
	*f = (frames){ 0 };
}
