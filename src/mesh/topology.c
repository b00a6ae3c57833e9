// Drives the stages of the mesh check and adds two things that rays need: the turn of an inverted
// mesh and the normals of vertices and edges.
#include "mesh/mesh_check.h"
#include "geom/triangle.h"
#include "math/trig.h"
#include <string.h>

static v3d position_of(const cr_topology *topology, int32_t vertex)
{
	return v3d_from_floats(topology->vertices + 3 * (int64_t)vertex);
}

// Signed volume by tetrahedra from the middle of the box, where the least is lost.
static double enclosed_volume(const cr_mesh_scan *scan)
{
	const cr_topology *topology = &scan->topology;
	const double *lower = scan->report->lower, *upper = scan->report->upper;
	v3d middle = { 0.5 * (lower[0] + upper[0]), 0.5 * (lower[1] + upper[1]), 0.5 * (lower[2] + upper[2]) };
	double sum = 0, size = 0;
	for (int32_t triangle = 0; triangle < topology->triangle_count; triangle++) {
		if (!topology->used[triangle]) {
			continue;
		}
		const int32_t *corner = topology->triangles + 3 * (int64_t)triangle;
		v3d a = v3d_sub(position_of(topology, corner[0]), middle);
		v3d b = v3d_sub(position_of(topology, corner[1]), middle);
		v3d c = v3d_sub(position_of(topology, corner[2]), middle);
		double volume = v3d_dot(a, v3d_cross(b, c)) / 6;
		sum += volume;
		size += fabs(volume);
	}
	return fabs(sum) > CR_VOLUME_NOISE * size ? sum : 0;
}

static void judge_volume(cr_mesh_scan *scan)
{
	carom_mesh_report *report = scan->report;
	const bool container = scan->def->sides == CAROM_SIDES_CONTAINER;
	if (scan->before) {
		report->closed = report->closed && !container;
	}
	if (!report->closed || scan->before) {
		return;
	}
	report->volume = enclosed_volume(scan);
	report->inverted = container ? report->volume > 0 : report->volume < 0;
	if (report->inverted) {
		cr_mesh_finding(report, -1, "the triangles face %s (volume %g) and are turned round",
			container ? "out of the container" : "inwards", report->volume);
	}
	if (container && report->volume != 0) {
		report->closed = false;
		report->volume = 0;
	}
}

// The angles at the corners of a triangle.
static void corner_angles(const v3d corner[3], double angles[3])
{
	v3d side[3];
	double cosines[3];
	for (int k = 0; k < 3; k++)
		side[k] = v3d_normalize(v3d_sub(corner[(k + 1) % 3], corner[k]));
	for (int k = 0; k < 3; k++)
		cosines[k] = -v3d_dot(side[k], side[(k + 2) % 3]);
	cr_acos_three(cosines, angles);
}

static void points_of(const cr_topology *topology, int32_t triangle, v3d points[3])
{
	const int32_t *corner = topology->triangles + 3 * (int64_t)triangle;
	for (int k = 0; k < 3; k++)
		points[k] = position_of(topology, corner[k]);
}

v3d cr_face_normal(const cr_topology *topology, int32_t triangle)
{
	v3d points[3];
	points_of(topology, triangle, points);
	return cr_triangle_normal(points);
}

void cr_triangle_angles(const cr_topology *topology, int32_t triangle, v3d *normal, double angles[3])
{
	v3d points[3];
	points_of(topology, triangle, points);
	*normal = cr_triangle_normal(points);
	corner_angles(points, angles);
}

void cr_corner_cosine(const cr_topology *topology, int32_t triangle, int corner, v3d *normal, double *cosine)
{
	v3d points[3];
	points_of(topology, triangle, points);
	*normal = cr_triangle_normal(points);
	const v3d from = points[(corner + 2) % 3], at = points[corner], to = points[(corner + 1) % 3];
	// As in corner_angles.
	*cosine = -v3d_dot(v3d_normalize(v3d_sub(to, at)), v3d_normalize(v3d_sub(at, from)));
}

void cr_sum_corner_normals(const cr_topology *topology, v3d *face_normals, v3d *sums)
{
	for (int32_t triangle = 0; triangle < topology->triangle_count; triangle++) {
		if (!topology->used[triangle]) {
			continue;
		}
		const int32_t *corner = topology->triangles + 3 * (int64_t)triangle;
		double angles[3];
		cr_triangle_angles(topology, triangle, &face_normals[triangle], angles);
		for (int k = 0; k < 3; k++) {
			v3d *sum = &sums[topology->weld[corner[k]]];
			*sum = v3d_mad(*sum, angles[k], face_normals[triangle]);
		}
	}
}

static v3d unit_of_sum(v3d sum) { return v3d_length(sum) > 1e-9 ? v3d_normalize(sum) : (v3d){ 0, 0, 0 }; }

static void store(float *target, v3d value)
{
	target[0] = (float)value.x;
	target[1] = (float)value.y;
	target[2] = (float)value.z;
}

void cr_store_normal(v3d sum, float normal[3]) { store(normal, unit_of_sum(sum)); }

// Find the vertices whose normals cancel out, among those of triangles that take part.
static bool judge_vertex_normals(cr_mesh_scan *scan)
{
	const cr_topology *topology = &scan->topology;
	uint8_t *seen = cr_alloc_zero(scan->context, (size_t)topology->vertex_count);
	int32_t first = -1;
	if (topology->vertex_count > 0 && seen == NULL) {
		return false;
	}
	for (int64_t i = 0; i < 3 * (int64_t)topology->triangle_count; i++) {
		int32_t vertex = topology->triangles[i];
		const float *normal = topology->normals + 3 * (int64_t)vertex;
		if (!topology->used[i / 3] || seen[vertex] || normal[0] != 0 || normal[1] != 0 || normal[2] != 0) {
			continue;
		}
		seen[vertex] = 1;
		first = first < 0 || vertex < first ? vertex : first;
		scan->report->normalless_vertices++;
	}
	cr_free(scan->context, seen, (size_t)topology->vertex_count);
	if (first >= 0) {
		cr_mesh_finding(scan->report, first, "vertex %d has no normal: those of the triangles around it cancel out", first);
	}
	return true;
}

static bool make_vertex_normals(cr_mesh_scan *scan)
{
	cr_topology *topology = &scan->topology;
	bool ok = true;
	topology->normals = cr_mesh_alloc(scan->context, 3 * (int64_t)topology->vertex_count, sizeof(float), &ok);
	scan->face_normals = cr_mesh_alloc(scan->context, topology->triangle_count, sizeof *scan->face_normals, &ok);
	v3d *sums = cr_mesh_alloc(scan->context, topology->vertex_count, sizeof *sums, &ok);
	if (ok) {
		for (int32_t vertex = 0; vertex < topology->vertex_count; vertex++) {
			sums[vertex] = (v3d){ 0, 0, 0 };
			store(topology->normals + 3 * (int64_t)vertex, sums[vertex]);
		}
		cr_sum_corner_normals(topology, scan->face_normals, sums);
		// Only corners of triangles get a normal: other vertices cast no rays, even at a position
		// that is in use.
		for (int64_t i = 0; i < 3 * (int64_t)topology->triangle_count; i++) {
			int32_t vertex = topology->triangles[i];
			cr_store_normal(sums[topology->weld[vertex]], topology->normals + 3 * (int64_t)vertex);
		}
	}
	cr_free(scan->context, sums, (size_t)topology->vertex_count * sizeof *sums);
	return ok;
}

// At a border the sum is the one face's own normal; where more than two faces meet, all of them
// count (the pseudonormal of Baerentzen, Aanaes, Signed Distance Computation Using the Angle
// Weighted Pseudonormal, 2005). Two faces are neighbours, and their sum is made when it is asked
// for: stored ones took a tenth of the memory of a mesh.
v3d cr_edge_normal(const cr_topology *topology, int32_t half_edge)
{
	const int32_t triangle = half_edge / 3, across = topology->neighbours[half_edge];
	float normal[3] = { 0, 0, 0 };
	if (topology->edge_normals)
		return v3d_from_floats(&topology->edge_normals[3 * (int64_t)half_edge]);
	if (topology->used[triangle]) {
		const v3d own = cr_face_normal(topology, triangle);
		cr_store_normal(across < 0 ? own : v3d_add(own, cr_face_normal(topology, across)), normal);
	}
	return v3d_from_floats(normal);
}

v3d cr_edge_normal_of(bool border, v3d own, v3d across)
{
	float normal[3];
	cr_store_normal(border ? own : v3d_add(own, across), normal);
	return v3d_from_floats(normal);
}

static bool make_edge_normals(cr_mesh_scan *scan)
{
	cr_topology *topology = &scan->topology;
	int64_t values = 9 * (int64_t)topology->triangle_count;
	bool ok = true;
	if (scan->report->nonmanifold_edges == 0) {
		return true;
	}
	topology->edge_normals = cr_mesh_alloc(scan->context, values, sizeof(float), &ok);
	if (!ok) {
		return false;
	}
	for (int64_t i = 0; i < values; i++) {
		topology->edge_normals[i] = 0;
	}
	for (int64_t first = 0, end; first < scan->edge_count; first = end) {
		end = cr_mesh_edge_end(scan, first);
		v3d sum = { 0, 0, 0 };
		for (int64_t i = first; i < end; i++) {
			int32_t triangle = (int32_t)(scan->edges[i].value / 3);
			sum = topology->used[triangle] ? v3d_add(sum, scan->face_normals[triangle]) : sum;
		}
		for (int64_t i = first; i < end; i++) {
			uint32_t side = scan->edges[i].value;
			if (topology->used[side / 3]) {
				cr_store_normal(sum, topology->edge_normals + 3 * (int64_t)side);
			}
		}
	}
	return true;
}

// 0 - x, not -x: an undefined normal stays a plain zero.
static void negate(float *values, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		values[i] = 0 - values[i];
	}
}

static void swap_floats(float *a, float *b, int count)
{
	for (int i = 0; i < count; i++) {
		float value = a[i];
		a[i] = b[i];
		b[i] = value;
	}
}

static void swap_indices(int32_t *a, int32_t *b)
{
	int32_t value = *a;
	*a = *b;
	*b = value;
}

// Exchanging the second and third corner exchanges the first and third side.
static void turn_round(cr_topology *topology)
{
	for (int64_t triangle = 0; triangle < topology->triangle_count; triangle++) {
		swap_indices(&topology->triangles[3 * triangle + 1], &topology->triangles[3 * triangle + 2]);
		swap_indices(&topology->neighbours[3 * triangle], &topology->neighbours[3 * triangle + 2]);
		if (topology->edge_normals) {
			swap_floats(&topology->edge_normals[9 * triangle], &topology->edge_normals[9 * triangle + 6], 3);
		}
	}
	negate(topology->normals, 3 * (int64_t)topology->vertex_count);
	negate(topology->edge_normals, topology->edge_normals ? 9 * (int64_t)topology->triangle_count : 0);
}

// The stages in order. False when out of memory.
static bool run_stages(cr_mesh_scan *scan, bool with_edge_normals)
{
	if (!cr_mesh_read(scan)) {
		return false;
	}
	if (!scan->report->usable) {
		return true;
	}
	if (!cr_mesh_weld(scan) || !cr_mesh_match_edges(scan) || !make_vertex_normals(scan) || !judge_vertex_normals(scan)) {
		return false;
	}
	judge_volume(scan);
	if (!with_edge_normals) {
		return true;
	}
	if (!make_edge_normals(scan)) {
		return false;
	}
	if (scan->report->inverted) {
		turn_round(&scan->topology);
	}
	return true;
}

static carom_result build(carom_context *context, const carom_mesh_def *def, const cr_topology *before,
	carom_mesh_report *report, cr_topology *topology)
{
	memset(report, 0, sizeof *report);
	report->first_element = -1;
	if (topology != NULL) {
		memset(topology, 0, sizeof *topology);
	}
	carom_result result = cr_mesh_check_def(context, def);
	if (result != CAROM_SUCCESS) {
		return result;
	}
	report->vertex_count = def->vertex_count;
	report->triangle_count = def->triangle_count;
	cr_mesh_scan scan;
	memset(&scan, 0, sizeof scan);
	scan.context = context;
	scan.def = def;
	scan.before = before;
	scan.report = report;
	bool done = run_stages(&scan, topology != NULL);
	cr_free(context, scan.face_normals, (size_t)def->triangle_count * sizeof *scan.face_normals);
	cr_free(context, scan.carries, (size_t)def->triangle_count);
	cr_free(context, scan.edges, 3 * (size_t)def->triangle_count * sizeof *scan.edges);
	if (done && report->usable && topology != NULL) {
		*topology = scan.topology;
	} else {
		cr_topology_free(context, &scan.topology);
	}
	return done ? CAROM_SUCCESS : cr_fail_memory(context, "the topology of a mesh");
}

carom_result cr_topology_build(
	carom_context *context, const carom_mesh_def *def, carom_mesh_report *report, cr_topology *topology)
{
	return build(context, def, NULL, report, topology);
}

carom_result cr_topology_build_moved(carom_context *context, const carom_mesh_def *def, const cr_topology *before,
	carom_mesh_report *report, cr_topology *topology)
{
	return build(context, def, before, report, topology);
}

void cr_topology_free(carom_context *context, cr_topology *topology)
{
	size_t vertices = (size_t)topology->vertex_count, triangles = (size_t)topology->triangle_count;
	cr_free(context, topology->vertices, 3 * vertices * sizeof(float));
	cr_free(context, topology->triangles, 3 * triangles * sizeof(int32_t));
	cr_free(context, topology->weld, vertices * sizeof(int32_t));
	cr_free(context, topology->used, triangles * sizeof(uint8_t));
	cr_free(context, topology->neighbours, 3 * triangles * sizeof(int32_t));
	cr_free(context, topology->normals, 3 * vertices * sizeof(float));
	cr_free(context, topology->edge_normals, 9 * triangles * sizeof(float));
	memset(topology, 0, sizeof *topology);
}

bool cr_next_in_fan(const cr_topology *t, bool forward, int32_t *triangle, int *corner)
{
	const int32_t from = *triangle, next = t->neighbours[3 * from + (forward ? (*corner + 2) % 3 : *corner)];
	if (next < 0)
		return false;
	// Which of them it is cannot be foretold: so there are no branches.
	const int32_t *back = &t->neighbours[3 * next];
	const int j = (2 - (back[1] == from)) & -(int)(back[0] != from);
	if (back[j] != from)
		return false;
	*triangle = next;
	*corner = forward ? j : j + 1 - 3 * (j == 2);
	return true;
}

size_t cr_topology_bytes(const cr_topology *topology)
{
	size_t per_vertex = 6 * sizeof(float) + sizeof(int32_t);
	size_t per_triangle = 6 * sizeof(int32_t) + sizeof(uint8_t) + (topology->edge_normals ? 9 * sizeof(float) : 0);
	return (size_t)topology->vertex_count * per_vertex + (size_t)topology->triangle_count * per_triangle;
}

bool cr_is_solid(const carom_mesh_report *r) { return r->closed && r->volume != 0; }
