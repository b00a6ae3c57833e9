// Meshes that the user named: loading, and what to say about them.
#include "mesh_input.h"

#include "report.h"
#include "sim/mesh_file.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const mesh_scalar_words[] = { "auto", "float32", "float64", NULL };

carom_strided mesh_input_vertices(const sim_mesh *mesh)
{
	if (mesh->doubles)
		return (carom_strided){ .data = mesh->doubles, .type = CAROM_FLOAT64 };
	return (carom_strided){ .data = mesh->vertices, .type = CAROM_FLOAT32 };
}

double mesh_input_coordinate(const sim_mesh *mesh, int32_t vertex, int axis)
{
	const size_t place = 3 * (size_t)vertex + (size_t)axis;
	return mesh->doubles ? mesh->doubles[place] : (double)mesh->vertices[place];
}

const char *mesh_input_scalar(const sim_mesh *mesh)
{
	return mesh_scalar_words[mesh->doubles ? SCALAR_FLOAT64 : SCALAR_FLOAT32];
}

void mesh_input_drop_doubles(sim_mesh *mesh)
{
	free(mesh->doubles);
	mesh->doubles = NULL;
}

carom_mesh_def mesh_input_def(const sim_mesh *mesh)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = mesh_input_vertices(mesh);
	def.vertex_count = mesh->vertex_count;
	def.triangles = mesh->triangles;
	def.triangle_count = mesh->triangle_count;
	return def;
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size, const char *format, ...)
{
	const size_t used = strlen(text);
	va_list arguments;
	va_start(arguments, format);
	if (used)
		snprintf(text + used, size - used, ", ");
	const size_t start = strlen(text);
	vsnprintf(text + start, size - start, format, arguments);
	va_end(arguments);
}

static void append_count(char *text, size_t size, int32_t count, const char *one, const char *many)
{
	if (count)
		append(text, size, "%d %s", count, count == 1 ? one : many);
}

void mesh_input_findings(const carom_mesh_report *r, char *text, size_t size)
{
	text[0] = '\0';
	append_count(text, size, r->degenerate_triangles, "triangle without area (left out)", "triangles without area (left out)");
	append_count(text, size, r->duplicate_triangles, "duplicate triangle (left out)", "duplicate triangles (left out)");
	append_count(text, size, r->border_edges, "border edge", "border edges");
	append_count(text, size, r->nonmanifold_edges, "edge of more than two triangles", "edges of more than two triangles");
	append_count(text, size, r->inconsistent_edges, "edge with clashing orientation", "edges with clashing orientation");
	append_count(text, size, r->nonmanifold_vertices, "vertex where parts of the surface only touch",
		"vertices where parts of the surface only touch");
	if (r->inverted)
		append(text, size, "turned inside out (put right)");
	if (!r->closed)
		append(text, size, "not closed, so it has no inside: what lies wholly within it is not found");
}

static void scale_mesh(sim_mesh *mesh, double scale)
{
	for (int64_t i = 0; i < 3 * (int64_t)mesh->vertex_count; i++) {
		if (mesh->doubles)
			mesh->doubles[i] *= scale;
		mesh->vertices[i] = (float)(mesh->doubles ? mesh->doubles[i] : scale * (double)mesh->vertices[i]);
	}
}

static void warn(const mesh_input *input, const carom_mesh_report *report)
{
	char findings[512], text[4800];
	mesh_input_findings(report, findings, sizeof findings);
	if (!findings[0])
		return;
	report_warning(input->path, "%s", findings);
	snprintf(text, sizeof text, "%s: %s", input->path, findings);
	if (input->warnings)
		cJSON_AddItemToArray(input->warnings, cJSON_CreateString(text));
}

carom_mesh *mesh_input_load(carom_context *context, const mesh_input *input, sim_mesh *source)
{
	char error[512];
	sim_mesh mesh;
	if (!sim_load_mesh(input->path, &mesh, error, sizeof error)) {
		report_error(input->path, "%s", error);
		return NULL;
	}
	if (input->scalar == SCALAR_FLOAT32)
		mesh_input_drop_doubles(&mesh);
	if (input->weld && !sim_weld_mesh(&mesh)) {
		report_error(input->path, "out of memory");
		sim_mesh_free(&mesh);
		return NULL;
	}
	if (input->scale != 1)
		scale_mesh(&mesh, input->scale);
	carom_mesh_def def = mesh_input_def(&mesh);
	if (input->grid_resolution >= 0)
		def.grid_resolution = input->grid_resolution;
	carom_mesh_report report;
	carom_mesh *made;
	const carom_result result = carom_create_mesh(context, &def, &report, &made);
	if (result == CAROM_INVALID_MESH)
		report_error(input->path, "%s; correct the file, `carom info` lists all that is wrong with it", report.first_finding);
	else if (result != CAROM_SUCCESS)
		report_error(input->path, "%s", carom_error_text(context));
	else
		warn(input, &report);
	if (result == CAROM_SUCCESS && source)
		*source = mesh;
	else
		sim_mesh_free(&mesh);
	return result == CAROM_SUCCESS ? made : NULL;
}
