// The fields of a mesh definition, the reading of its data, and the public check. Faults that make
// a mesh unusable are found here: coordinates that are not numbers or too large, and triangles that
// name vertices which do not exist.
#include "mesh/mesh_check.h"
#include "mesh/cookies.h"
#include "mesh/strided.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_GRID_RESOLUTION = 1024 };

carom_mesh_def carom_default_mesh_def(void)
{
	carom_mesh_def def;
	memset(&def, 0, sizeof def);
	def.cookie = CR_MESH_COOKIE;
	def.grid_resolution = CAROM_GRID_BY_SIZE;
	return def;
}

void cr_mesh_finding(carom_mesh_report *report, int32_t element, const char *format, ...)
{
	if (report->first_finding[0] != '\0') {
		return;
	}
	report->first_element = element;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(report->first_finding, sizeof report->first_finding, format, arguments);
	va_end(arguments);
}

static carom_result check_vertices(carom_context *context, const carom_mesh_def *def)
{
	if (def->vertex_count < 0) {
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_mesh_def.vertex_count is %d, below 0", def->vertex_count);
	}
	return cr_check_strided(context, "carom_mesh_def.vertices", &def->vertices, def->vertex_count, "vertices", 3);
}

static carom_result check_centre(carom_context *context, const carom_vec3 *centre)
{
	const double place[3] = { centre->x, centre->y, centre->z };
	for (int axis = 0; axis < 3; axis++) {
		if (!isfinite(place[axis]))
			return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_mesh_def.centre: %c is %g; it must be finite", "xyz"[axis],
				place[axis]);
	}
	return CAROM_SUCCESS;
}

carom_result cr_mesh_check_def(carom_context *context, const carom_mesh_def *def)
{
	// Sides of triangles are numbered in 31 bits.
	const int32_t max_triangles = INT32_MAX / 3;
	if (def == NULL) {
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_mesh_def is NULL");
	}
	if (def->cookie != CR_MESH_COOKIE) {
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_mesh_def.cookie: start from carom_default_mesh_def");
	}
	carom_result result = check_vertices(context, def);
	if (result != CAROM_SUCCESS) {
		return result;
	}
	if (def->triangle_count < 0 || def->triangle_count > max_triangles) {
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_mesh_def.triangle_count is %d, not in 0 to %d",
			def->triangle_count, max_triangles);
	}
	if (def->triangle_count > 0 && def->triangles == NULL) {
		return cr_fail(
			context, CAROM_INVALID_ARGUMENT, "carom_mesh_def.triangles is NULL, but triangle_count is %d", def->triangle_count);
	}
	if (def->grid_resolution < CAROM_GRID_BY_SIZE || def->grid_resolution > MAX_GRID_RESOLUTION) {
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"carom_mesh_def.grid_resolution is %d, not in 0 to %d and not CAROM_GRID_BY_SIZE", def->grid_resolution,
			MAX_GRID_RESOLUTION);
	}
	if ((int)def->sides < 0 || def->sides > CAROM_SIDES_CONTAINER) {
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_mesh_def.sides is %d, not in 0 to %d", (int)def->sides,
			(int)CAROM_SIDES_CONTAINER);
	}
	if ((int)def->build < 0 || def->build > CAROM_MESH_PLOC) {
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_mesh_def.build is %d, not in 0 to %d", (int)def->build,
			(int)CAROM_MESH_PLOC);
	}
	if (!(def->weld_distance >= 0) || isinf(def->weld_distance)) {
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_mesh_def.weld_distance is %g; it must be finite and not below 0",
			def->weld_distance);
	}
	return check_centre(context, &def->centre);
}

void cr_read_vertex(const carom_strided *view, int64_t vertex, double point[3]) { cr_read_strided(view, 3, vertex, point); }

// The first axis whose coordinate fails the test, or -1. huge: beyond the limit; else: not finite.
static int bad_axis(const double point[3], bool huge)
{
	for (int axis = 0; axis < 3; axis++) {
		bool finite = point[axis] - point[axis] == 0;
		if (huge ? finite && fabs(point[axis]) > CAROM_MAX_COORDINATE : !finite) {
			return axis;
		}
	}
	return -1;
}

static void round_vertex(carom_mesh_report *report, const double point[3], float *rounded)
{
	bool differs = false;
	for (int axis = 0; axis < 3; axis++) {
		rounded[axis] = (float)point[axis];
		const double change = fabs(point[axis] - (double)rounded[axis]);
		differs = differs || change > 0;
		report->rounding = change > report->rounding ? change : report->rounding;
	}
	report->rounded_vertices += differs;
}

static void read_vertices(cr_mesh_scan *scan)
{
	static const char axis_name[3] = { 'x', 'y', 'z' };
	carom_mesh_report *report = scan->report;
	int32_t huge_vertex = -1;
	for (int32_t vertex = 0; vertex < report->vertex_count; vertex++) {
		double point[3];
		cr_read_vertex(&scan->def->vertices, vertex, point);
		int axis = bad_axis(point, false);
		if (axis >= 0) {
			report->nonfinite_vertices++;
			cr_mesh_finding(
				report, vertex, "vertex %d: %c is %s", vertex, axis_name[axis], isnan(point[axis]) ? "NaN" : "infinite");
			continue;
		}
		if (bad_axis(point, true) >= 0) {
			huge_vertex = report->huge_vertices++ == 0 ? vertex : huge_vertex;
			continue;
		}
		round_vertex(report, point, scan->topology.vertices + 3 * (int64_t)vertex);
	}
	if (huge_vertex >= 0) {
		double point[3];
		cr_read_vertex(&scan->def->vertices, huge_vertex, point);
		int axis = bad_axis(point, true);
		cr_mesh_finding(report, huge_vertex, "vertex %d: %c is %g, beyond the limit of %g", huge_vertex, axis_name[axis],
			point[axis], CAROM_MAX_COORDINATE);
	}
}

static void read_triangles(cr_mesh_scan *scan)
{
	carom_mesh_report *report = scan->report;
	int32_t vertex_count = report->vertex_count;
	for (int32_t triangle = 0; triangle < report->triangle_count; triangle++) {
		const int32_t *corner = scan->def->triangles + 3 * (int64_t)triangle;
		int32_t *copy = scan->topology.triangles + 3 * (int64_t)triangle;
		int bad = -1;
		for (int k = 2; k >= 0; k--) {
			copy[k] = corner[k];
			bad = corner[k] < 0 || corner[k] >= vertex_count ? k : bad;
		}
		if (bad >= 0) {
			report->out_of_range_triangles++;
			cr_mesh_finding(report, triangle, "triangle %d: corner %d has index %d, but there are %d vertices", triangle, bad,
				corner[bad], vertex_count);
		}
	}
}

bool cr_mesh_read(cr_mesh_scan *scan)
{
	cr_topology *topology = &scan->topology;
	carom_mesh_report *report = scan->report;
	topology->vertex_count = report->vertex_count;
	topology->triangle_count = report->triangle_count;
	bool ok = true;
	topology->vertices = cr_mesh_alloc(scan->context, 3 * (int64_t)report->vertex_count, sizeof(float), &ok);
	topology->triangles = cr_mesh_alloc(scan->context, 3 * (int64_t)report->triangle_count, sizeof(int32_t), &ok);
	if (!ok) {
		return false;
	}
	read_vertices(scan);
	read_triangles(scan);
	report->usable = report->nonfinite_vertices == 0 && report->huge_vertices == 0 && report->out_of_range_triangles == 0;
	return true;
}

carom_result carom_check_mesh(carom_context *context, const carom_mesh_def *def, carom_mesh_report *report)
{
	if (context == NULL) {
		return CAROM_INVALID_ARGUMENT;
	}
	if (report == NULL) {
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_check_mesh: report is NULL");
	}
	cr_welded_def welded;
	const carom_mesh_def *used = cr_begin_weld(context, def, &welded);
	if (used == NULL && def != NULL) {
		memset(report, 0, sizeof *report);
		report->first_element = -1;
		return CAROM_OUT_OF_MEMORY;
	}
	const carom_result result = cr_topology_build(context, used, report, NULL);
	cr_end_weld(context, &welded);
	return result;
}
