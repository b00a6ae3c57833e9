// Meshes that the user named: loading, and messages about them.
#include "mesh_input.h"

#include "report.h"
#include "io/mesh_file.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const mesh_scalar_words[] = { "auto", "float32", "float64", NULL };
const char *const mesh_build_words[] = { "sah", "hlbvh", "lbvh", "trbvh", "ploc", NULL };
const char *const mesh_sides_words[] = { "auto", "front", "both", "container", NULL };

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
	if (mesh->doubles)
		io_forget_baked(mesh);
	free(mesh->doubles);
	mesh->doubles = NULL;
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

/// Rounding to float that is felt: by more than a millionth of the size of the mesh.
static void append_rounding(const carom_mesh_report *r, char *text, size_t size)
{
	double diagonal = 0;
	for (int axis = 0; axis < 3; axis++)
		diagonal += (r->upper[axis] - r->lower[axis]) * (r->upper[axis] - r->lower[axis]);
	diagonal = sqrt(diagonal);
	if (r->rounding > 1e-6 * diagonal)
		append(text, size, "coordinates rounded to float by up to %.3g, beside a size of %.3g", r->rounding, diagonal);
}

bool mesh_input_is_container(const carom_mesh_report *r)
{
	return !r->closed && r->area > 0 && r->border_edges + r->inconsistent_edges + r->unbalanced_edges == 0;
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
	append_count(
		text, size, r->unbalanced_edges, "edge more often one way than the other", "edges more often one way than the other");
	append_count(text, size, r->normalless_vertices, "vertex without a normal (casts no rays)",
		"vertices without a normal (cast no rays)");
	if (r->inverted)
		append(text, size, "%s",
			r->closed ? "facing inwards (turned round to a solid; --sides container of bake makes it hold what is in it)"
					  : "facing outwards (turned round to a container)");
	if (!r->closed && !mesh_input_is_container(r))
		append(text, size, "not closed, so it has no inside: what lies wholly within it is not found");
}

static void scale_mesh(sim_mesh *mesh, double scale)
{
	io_forget_baked(mesh);
	for (int64_t i = 0; i < 3 * (int64_t)mesh->vertex_count; i++) {
		if (mesh->doubles)
			mesh->doubles[i] *= scale;
		mesh->vertices[i] = (float)(mesh->doubles ? mesh->doubles[i] : scale * (double)mesh->vertices[i]);
	}
}

/// The vertices of a mesh with doubles less the middle of their box; none of another mesh.
static bool move_to_middle(const sim_mesh *mesh, sim_mesh *moved, double middle[3])
{
	double lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY };
	const int64_t values = 3 * (int64_t)mesh->vertex_count;
	middle[0] = middle[1] = middle[2] = 0;
	if (!mesh->doubles)
		return true;
	for (int64_t i = 0; i < values; i++) {
		lower[i % 3] = fmin(lower[i % 3], mesh->doubles[i]);
		upper[i % 3] = fmax(upper[i % 3], mesh->doubles[i]);
	}
	for (int axis = 0; axis < 3; axis++) {
		const double value = 0.5 * lower[axis] + 0.5 * upper[axis];
		// A mesh that cannot be used stays as it is, so that its finding names it.
		middle[axis] = fabs(value) <= CAROM_MAX_COORDINATE ? value : 0;
	}
	moved->vertex_count = mesh->vertex_count;
	moved->doubles = malloc((size_t)values * sizeof *moved->doubles + 1);
	for (int64_t i = 0; moved->doubles && i < values; i++)
		moved->doubles[i] = mesh->doubles[i] - middle[i % 3];
	return moved->doubles != NULL;
}

static void warn(const char *path, const char *findings, cJSON *warnings)
{
	char text[4800];
	if (!findings[0])
		return;
	report_warning(path, "%s", findings);
	snprintf(text, sizeof text, "%s: %s", path, findings);
	if (warnings)
		cJSON_AddItemToArray(warnings, cJSON_CreateString(text));
}

static void warn_of_mesh(const mesh_input *input, const carom_mesh_report *report)
{
	char findings[640];
	mesh_input_findings(report, findings, sizeof findings);
	if (!input->middle && !input->by_doubles)
		append_rounding(report, findings, sizeof findings);
	warn(input->path, findings, input->warnings);
}

void mesh_input_warn_of_motion(carom_context *context, const char *path, const sim_mesh *mesh, cJSON *warnings)
{
	char findings[640] = "";
	double middle[3];
	sim_mesh moved = { 0 };
	carom_mesh_def def = io_mesh_def(mesh);
	carom_mesh_report r = { 0 };
	// Out of memory, the search itself will say so.
	if (!move_to_middle(mesh, &moved, middle))
		return;
	if (moved.doubles)
		def.vertices = io_mesh_vertices(&moved);
	if (carom_check_mesh(context, &def, &r) == CAROM_SUCCESS && r.usable) {
		append_count(findings, sizeof findings, r.degenerate_triangles, "triangle without area", "triangles without area");
		append_count(findings, sizeof findings, r.duplicate_triangles, "duplicate triangle", "duplicate triangles");
		append_count(findings, sizeof findings, r.duplicate_vertices,
			"vertex at the position of another one (features of the two meet at once; make them one vertex)",
			"vertices at the position of another one (features of the two meet at once; make them one vertex)");
		append_count(findings, sizeof findings, r.nonmanifold_edges, "edge of more than two triangles",
			"edges of more than two triangles");
	}
	warn(path, findings, warnings);
	sim_mesh_free(&moved);
}

carom_mesh *mesh_input_load(carom_context *context, const mesh_input *input, sim_mesh *source)
{
	sim_error error;
	sim_mesh mesh;
	if (!io_load_mesh(input->path, &mesh, &error)) {
		report_error(input->path, "%s", error.text);
		return NULL;
	}
	if (input->scalar == SCALAR_FLOAT32)
		mesh_input_drop_doubles(&mesh);
	if (input->weld && !io_weld_mesh(&mesh)) {
		report_error(input->path, "out of memory");
		sim_mesh_free(&mesh);
		return NULL;
	}
	if (input->scale != 1)
		scale_mesh(&mesh, input->scale);
	sim_mesh moved = { 0 };
	if (input->middle && !move_to_middle(&mesh, &moved, input->middle)) {
		report_error(input->path, "out of memory");
		sim_mesh_free(&moved);
		sim_mesh_free(&mesh);
		return NULL;
	}
	sim_mesh shown = mesh; // owns nothing
	if (moved.doubles) {
		shown.doubles = moved.doubles;
		shown.baked = NULL;
	}
	carom_mesh_report report;
	carom_mesh *made;
	const carom_result result = io_create_mesh(context, &shown, input->grid_resolution, &report, &made);
	sim_mesh_free(&moved);
	if (result == CAROM_INVALID_MESH)
		report_error(input->path, "%s; correct the file, `carom info` lists all that is wrong with it", report.first_finding);
	else if (result != CAROM_SUCCESS)
		report_error(input->path, "%s", carom_error_text(context));
	else
		warn_of_mesh(input, &report);
	if (result == CAROM_SUCCESS && source)
		*source = mesh;
	else
		sim_mesh_free(&mesh);
	return result == CAROM_SUCCESS ? made : NULL;
}
