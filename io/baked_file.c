// Baked meshes as files. See baked_file.h.
#include "io/baked_file.h"

#include "io/output_file.h"

#include "carom/carom.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char MAGIC[] = "CAROMBAK";

bool io_is_baked(const char *bytes, size_t size) { return size >= strlen(MAGIC) && memcmp(bytes, MAGIC, strlen(MAGIC)) == 0; }

void io_forget_baked(sim_mesh *mesh)
{
	free(mesh->baked);
	mesh->baked = NULL;
	mesh->baked_size = 0;
}

// ---- Reading ----

carom_result io_load_baked(carom_context *context, const void *bytes, size_t size, carom_mesh **mesh, const char **error)
{
	static const char call[] = "carom_mesh_load: ";
	const carom_result result = carom_mesh_load(context, bytes, size, true, mesh);
	*error = carom_error_text(context);
	if (strncmp(*error, call, strlen(call)) == 0)
		*error += strlen(call);
	return result;
}

static void *copy_of(const void *data, size_t size)
{
	void *copy = malloc(size + 1);
	if (copy && size > 0)
		memcpy(copy, data, size);
	return copy;
}

static bool copy_materials(const carom_mesh *from, sim_mesh *mesh)
{
	mesh->materials = malloc((size_t)mesh->triangle_count * sizeof *mesh->materials + 1);
	uint32_t any = 0;
	for (int32_t i = 0; mesh->materials && i < mesh->triangle_count; i++) {
		carom_mesh_get_material(from, i, &mesh->materials[i]);
		any |= mesh->materials[i];
	}
	const bool done = mesh->materials != NULL;
	if (!any) {
		free(mesh->materials);
		mesh->materials = NULL;
	}
	return done;
}

static bool copy_mesh(const carom_mesh *from, const char *bytes, size_t size, sim_mesh *mesh)
{
	const carom_mesh_report *report = carom_mesh_get_report(from);
	const size_t numbers = 3 * (size_t)report->vertex_count;
	const double *doubles = carom_mesh_get_doubles(from);
	mesh->vertex_count = report->vertex_count;
	mesh->triangle_count = report->triangle_count;
	mesh->sides = (int32_t)carom_mesh_get_sides(from);
	mesh->vertices = copy_of(carom_mesh_get_vertices(from), numbers * sizeof *mesh->vertices);
	mesh->triangles = copy_of(carom_mesh_get_triangles(from), 3 * (size_t)report->triangle_count * sizeof *mesh->triangles);
	mesh->doubles = doubles ? copy_of(doubles, numbers * sizeof *doubles) : NULL;
	mesh->baked = copy_of(bytes, size);
	mesh->baked_size = size;
	return mesh->vertices && mesh->triangles && mesh->baked && (mesh->doubles || !doubles) && copy_materials(from, mesh);
}

bool io_read_baked(const char *bytes, size_t size, sim_mesh *mesh, sim_error *error)
{
	carom_context_def def = carom_default_context_def();
	carom_context *context;
	carom_mesh *loaded = NULL;
	const char *text = NULL;
	memset(mesh, 0, sizeof *mesh);
	def.thread_count = 1;
	carom_result result = carom_create_context(&def, &context);
	if (result != CAROM_SUCCESS)
		text = carom_error_text(NULL);
	else
		result = io_load_baked(context, bytes, size, &loaded, &text);
	if (result == CAROM_SUCCESS && !copy_mesh(loaded, bytes, size, mesh))
		result = CAROM_OUT_OF_MEMORY;
	if (result == CAROM_OUT_OF_MEMORY)
		text = "out of memory";
	const bool done = result == CAROM_SUCCESS;
	if (!done) {
		sim_fail(error, "%s", text);
		sim_mesh_free(mesh);
	}
	carom_release_mesh(loaded);
	carom_destroy_context(context);
	return done;
}

// ---- Making ----

carom_strided io_mesh_vertices(const sim_mesh *mesh)
{
	if (mesh->doubles)
		return (carom_strided){ .data = mesh->doubles, .type = CAROM_FLOAT64 };
	return (carom_strided){ .data = mesh->vertices, .type = CAROM_FLOAT32 };
}

carom_mesh_def io_mesh_def(const sim_mesh *mesh)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = io_mesh_vertices(mesh);
	def.vertex_count = mesh->vertex_count;
	def.triangles = mesh->triangles;
	def.triangle_count = mesh->triangle_count;
	def.sides = (carom_mesh_sides)mesh->sides;
	def.materials = mesh->material_names ? NULL : mesh->materials;
	return def;
}

carom_result io_create_mesh(
	carom_context *context, const sim_mesh *mesh, int32_t grid_resolution, carom_mesh_report *report, carom_mesh **made)
{
	const char *text;
	if (!mesh->baked || grid_resolution != CAROM_GRID_BY_SIZE) {
		carom_mesh_def def = io_mesh_def(mesh);
		def.grid_resolution = grid_resolution;
		return carom_create_mesh(context, &def, report, made);
	}
	const carom_result result = io_load_baked(context, mesh->baked, mesh->baked_size, made, &text);
	if (result == CAROM_SUCCESS && report)
		*report = *carom_mesh_get_report(*made);
	return result;
}

// ---- Writing ----

typedef struct tape {
	FILE *stream;
	size_t size;
	int failure; // an errno, 0: none
} tape;

static bool write_bytes(const void *bytes, size_t count, void *user)
{
	tape *t = user;
	t->size = count;
	errno = 0;
	if (fwrite(bytes, 1, count, t->stream) == count)
		return true;
	t->failure = errno ? errno : EIO;
	return false;
}

bool io_save_baked(carom_context *context, const carom_mesh *mesh, const char *path, size_t *size, sim_error *error)
{
	io_output_file file;
	if (!io_output_open(&file, path, error))
		return false;
	tape t = { .stream = file.stream };
	if (carom_mesh_save(mesh, write_bytes, &t) != CAROM_SUCCESS) {
		if (t.failure)
			sim_fail(error, "cannot be written: %s", strerror(t.failure));
		else
			sim_fail(error, "%s", carom_error_text(context));
		io_output_abandon(&file);
		return false;
	}
	*size = t.size;
	return io_output_commit(&file, error);
}
